# SPDX-License-Identifier: GPL-3.0-only
# breakdown.gp: bytes that devices wrote (upper bar) and read (lower bar), by owner, stacked by component and cause.
file = "breakdown.tsv"
stats file index 0 using (head = strcol(1), horizon = strcol(2), 1) nooutput
stats file index 2 using 0 nooutput
rows = STATS_records
stats file index 3 using 0 nooutput
parts = STATS_records
set output "breakdown." . kind
set label 1 "Whose device bytes, and why" at screen 0.02, 0.965 left font ",17" textcolor rgb "#111111"
set label 2 line(head) at screen 0.02, 0.925 left textcolor rgb "#444444"
set label 3 line(horizon) at screen 0.02, 0.895 left textcolor rgb "#444444"
apart = ""
stats file index 4 using (apart = strcol(1) eq "NaN" ? "" : strcol(1), 1) nooutput
set label 4 apart at screen 0.02, 0.02 left font ",10" textcolor rgb "#666666"
set lmargin at screen 0.25
set rmargin at screen 0.98
set tmargin at screen 0.86
set bmargin at screen 0.12
unset key
most = 1
stats file index 2 using (most = ($2 > most ? $2 : most), most = ($3 > most ? $3 : most), 1) nooutput
set xrange [0:most * 1.4]
set yrange [rows - 0.4:-0.6]
unset ytics
set grid noytics xtics linecolor rgb "#dddddd"
set xtics ("0" 0)
do for [i = 1:9] { if (i * tick_of(most) <= most * 1.1) { set xtics add (bytes(i * tick_of(most)) i * tick_of(most)) } }
set xlabel "bytes at the device: upper bar written, lower bar read"
# The names of the parts stand below each other at the right, from above.
place(i) = -0.6 + (rows + 0.2) * (i + 0.5) / (parts > 20.0 ? parts : 20.0)
plot file index 1 using (0):($1):3:4:1:2:(paint($5)) with boxxyerror linecolor rgb variable, \
     file index 2 using 2:($0 - 0.13):($2 > 0 ? bytes($2) : "") with labels left offset 0.6, 0 font ",10" textcolor rgb "#222222", \
     file index 2 using 3:($0 + 0.245):($3 > 0 ? bytes($3) : "") with labels left offset 0.6, 0 font ",10" textcolor rgb "#222222", \
     file index 2 using (0):($0):1 with labels right offset -1, 0 font ",12" textcolor rgb "#111111", \
     file index 3 using (most * 1.2):(place($0)):(paint($2)) with points pointtype 5 pointsize 1.4 linecolor rgb variable, \
     file index 3 using (most * 1.2):(place($0)):1 with labels left offset 1.5, 0 font ",11" textcolor rgb "#111111"
