# SPDX-License-Identifier: GPL-3.0-only
# breakdown.gp: bytes that devices wrote and read, by owner, stacked by cause.
file = "breakdown.tsv"
stats file index 0 using (head = strcol(1), horizon = strcol(2), 1) nooutput
stats file index 1 using 0 nooutput
rows = STATS_records
set output "breakdown." . kind
set label 1 "Whose device bytes, and why" at screen 0.02, 0.965 left font ",17" textcolor rgb "#111111"
set label 2 line(head) at screen 0.02, 0.925 left textcolor rgb "#444444"
set label 3 line(horizon) at screen 0.02, 0.895 left textcolor rgb "#444444"
apart = ""
stats file index 2 using (apart = strcol(1) eq "NaN" ? "" : strcol(1), 1) nooutput
set label 4 apart at screen 0.02, 0.02 left font ",10" textcolor rgb "#666666"
set lmargin at screen 0.25
set rmargin at screen 0.9
set tmargin at screen 0.8
set bmargin at screen 0.12
set key horizontal outside at screen 0.98, 0.855 right top samplen 1.2 width 1 noautotitle
written(i) = column(2) + column(3) + column(4) + column(5) + column(6)
most = 1
stats file index 1 using (most = (written(0) > most ? written(0) : most), most = (column(7) > most ? column(7) : most), 1) nooutput
set xrange [0:most * 1.12]
set yrange [rows - 0.4:-0.6]
unset ytics
set grid noytics xtics linecolor rgb "#dddddd"
tick = 10 ** floor(log10(most))
tick = most / tick < 2 ? tick / 4 : most / tick < 5 ? tick / 2 : tick
set xtics ("0" 0)
do for [i = 1:9] { if (i * tick <= most * 1.1) { set xtics add (bytes(i * tick) i * tick) } }
set xlabel "bytes at the device: upper bar written, by cause; lower bar read"
array colour[5] = [SKY, BLUE, ORANGE, RED, GREY]
array name[5] = ["data", "direct I/O", "journal", "metadata", "other"]
from(k) = k == 1 ? 0 : k == 2 ? column(2) : k == 3 ? column(2) + column(3) : k == 4 ? column(2) + column(3) + column(4) : column(2) + column(3) + column(4) + column(5)
plot for [k = 1:5] file index 1 using (0):($0):(from(k)):(from(k) + column(k + 1)):($0 - 0.36):($0 + 0.1) with boxxyerror linecolor rgb colour[k] title name[k], \
     file index 1 using (0):($0):(0):7:($0 + 0.13):($0 + 0.36) with boxxyerror linecolor rgb GREEN title "read", \
     file index 1 using (written(0)):($0 - 0.13):(written(0) > 0 ? bytes(written(0)) : "") with labels left offset 0.6, 0 font ",10" textcolor rgb "#222222", \
     file index 1 using 7:($0 + 0.245):($7 > 0 ? bytes($7) : "") with labels left offset 0.6, 0 font ",10" textcolor rgb "#222222", \
     file index 1 using (0):($0):1 with labels right offset -1, 0 font ",12" textcolor rgb "#111111"
