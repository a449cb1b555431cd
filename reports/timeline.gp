# SPDX-License-Identifier: GPL-3.0-only
# timeline.gp: bytes a second; above, what calls wrote and devices wrote by component and cause, below the same for reads.
file = "timeline.tsv"
stats file index 0 using (head = strcol(1), horizon = strcol(2), 1) nooutput
stats file index 1 using 1 nooutput
last = STATS_max
stats file index 3 using 0 nooutput
parts = STATS_records
set output "timeline." . kind
set multiplot
set label 1 "Bytes a second: calls (line) and devices (area, by component and cause)" at screen 0.02, 0.965 left font ",17" textcolor rgb "#111111"
set label 2 line(head) at screen 0.02, 0.925 left textcolor rgb "#444444"
set label 3 line(horizon) at screen 0.02, 0.895 left textcolor rgb "#444444"
note = ""
stats file index 4 using (note = strcol(1), 1) nooutput
set label 4 note at screen 0.02, 0.865 left textcolor rgb "#666666"
set lmargin at screen 0.1
set rmargin at screen 0.84
set xrange [-0.5:last + 0.5]
step = last < 20 ? 1 : last < 60 ? 5 : last < 240 ? 20 : 10 ** ceil(log10(last / 20.0))
set xtics 0, step
set key horizontal outside right top samplen 1.5 width 1 noautotitle

set tmargin at screen 0.82
set bmargin at screen 0.46
set key at screen 0.84, 0.865
most = 1
stats file index 1 using (most = ($2 > most ? $2 : most), 1) nooutput
stats file index 2 using (most = ($3 > most ? $3 : most), 1) nooutput
set yrange [0:most * 1.1]
set ytics ("0" 0)
do for [i = 1:9] { if (i * tick_of(most) <= most * 1.1) { set ytics add (bytes(i * tick_of(most)) i * tick_of(most)) } }
set ylabel "written a second" offset 0.5
set format x ""
plot file index 2 using 1:2:($1 - 0.5):($1 + 0.5):2:3:(paint($4)) with boxxyerror linecolor rgb variable, \
     file index 1 using ($1 - 0.5):2:(1):(0) with vectors nohead linewidth 2 linecolor rgb BLACK title "calls (S)"
unset label 1
unset label 2
unset label 3
unset label 4
set tmargin at screen 0.39
set bmargin at screen 0.1
set key at screen 0.84, 0.43
most = 1
stats file index 1 using (most = ($3 > most ? $3 : most), most = ($4 > most ? $4 : most), 1) nooutput
set yrange [0:most * 1.1]
set ytics ("0" 0)
do for [i = 1:9] { if (i * tick_of(most) <= most * 1.1) { set ytics add (bytes(i * tick_of(most)) i * tick_of(most)) } }
set ylabel "read a second" offset 0.5
set xlabel "seconds since the start of the run"
set format x "%.0f"
plot file index 1 using 1:4:(1) with boxes linecolor rgb 0x54708c title "devices (B_r)", \
     file index 1 using ($1 - 0.5):3:(1):(0) with vectors nohead linewidth 2 linecolor rgb BLACK title "calls (S_r)"
# The names of the parts, in the place of a key.
set lmargin at screen 0.855
set rmargin at screen 0.99
set tmargin at screen 0.82
set bmargin at screen 0.1
unset border
unset xtics
unset ytics
unset xlabel
unset ylabel
set grid noxtics noytics
set xrange [0:1]
set yrange [(parts > 20 ? parts : 20):-0.6]
plot file index 3 using (0.05):0:(paint($2)) with points pointtype 5 pointsize 1.4 linecolor rgb variable, \
     file index 3 using (0.14):0:1 with labels left font ",11" textcolor rgb "#111111"
unset multiplot
