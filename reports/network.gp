# SPDX-License-Identifier: GPL-3.0-only
# network.gp: payload bytes that processes sent and received on sockets, loopback apart.
file = "network.tsv"
stats file index 0 using (head = strcol(1), horizon = strcol(2), 1) nooutput
stats file index 1 using 0 nooutput
rows = STATS_records
set output "network." . kind
set label 1 "Payload bytes on sockets" at screen 0.02, 0.965 left font ",17" textcolor rgb "#111111"
set label 2 line(head) at screen 0.02, 0.925 left textcolor rgb "#444444"
set label 3 line(horizon) at screen 0.02, 0.895 left textcolor rgb "#444444"
set lmargin at screen 0.25
set rmargin at screen 0.9
set tmargin at screen 0.8
set bmargin at screen 0.09
set key horizontal outside at screen 0.98, 0.855 right top samplen 1.2 width 1 noautotitle
most = 1
stats file index 1 using (most = ($2 + $3 > most ? $2 + $3 : most), most = ($4 + $5 > most ? $4 + $5 : most), 1) nooutput
set xrange [0:most * 1.12]
set yrange [rows - 0.4:-0.6]
unset ytics
set grid noytics xtics linecolor rgb "#dddddd"
tick = 10 ** floor(log10(most))
tick = most / tick < 2 ? tick / 4 : most / tick < 5 ? tick / 2 : tick
set xtics ("0" 0)
do for [i = 1:9] { if (i * tick <= most * 1.1) { set xtics add (bytes(i * tick) i * tick) } }
set xlabel "bytes: upper bar sent, lower bar received"
array colour[4] = [BLUE, SKY, RED, ORANGE]
array name[4] = ["sent", "sent, loopback", "received", "received, loopback"]
from(k) = k == 2 ? column(2) : k == 4 ? column(4) : 0
plot for [k = 1:4] file index 1 using (0):($0):(from(k)):(from(k) + column(k + 1)):(k < 3 ? $0 - 0.34 : $0 + 0.02):(k < 3 ? $0 - 0.02 : $0 + 0.34) \
     with boxxyerror linecolor rgb colour[k] title name[k], \
     file index 1 using ($2 + $3):($0 - 0.18):(bytes($2 + $3)) with labels left offset 0.6, 0 font ",10" textcolor rgb "#222222", \
     file index 1 using ($4 + $5):($0 + 0.18):(bytes($4 + $5)) with labels left offset 0.6, 0 font ",10" textcolor rgb "#222222", \
     file index 1 using (0):($0):1 with labels right offset -1, 0 font ",12" textcolor rgb "#111111"
