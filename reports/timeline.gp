# SPDX-License-Identifier: GPL-3.0-only
# timeline.gp: bytes a second; above, what calls wrote and devices wrote by cause, below the same for reads.
file = "timeline.tsv"
stats file index 0 using (head = strcol(1), horizon = strcol(2), 1) nooutput
stats file index 1 using 1 nooutput
last = STATS_max
set output "timeline." . kind
set multiplot
set label 1 "Bytes a second: calls (line) and devices (area, by cause)" at screen 0.02, 0.965 left font ",17" textcolor rgb "#111111"
set label 2 line(head) at screen 0.02, 0.925 left textcolor rgb "#444444"
set label 3 line(horizon) at screen 0.02, 0.895 left textcolor rgb "#444444"
set lmargin at screen 0.1
set rmargin at screen 0.98
set xrange [-0.5:last + 0.5]
step = last < 20 ? 1 : last < 60 ? 5 : last < 240 ? 20 : 10 ** ceil(log10(last / 20.0))
set xtics 0, step
set key horizontal outside right top samplen 1.5 width 1 noautotitle

# Ticks that read as bytes, for a panel whose largest value is `most`.
tick_of(most) = most / 10 ** floor(log10(most)) < 2 ? 10 ** floor(log10(most)) / 4 : most / 10 ** floor(log10(most)) < 5 ? 10 ** floor(log10(most)) / 2 : 10 ** floor(log10(most))
set tmargin at screen 0.82
set bmargin at screen 0.46
set key at screen 0.98, 0.865
most = 1
stats file index 1 using (most = ($2 > most ? $2 : most), most = ($4 + $5 + $6 + $7 > most ? $4 + $5 + $6 + $7 : most), 1) nooutput
set yrange [0:most * 1.1]
set ytics ("0" 0)
do for [i = 1:9] { if (i * tick_of(most) <= most * 1.1) { set ytics add (bytes(i * tick_of(most)) i * tick_of(most)) } }
set ylabel "written a second" offset 0.5
set format x ""
plot file index 1 using 1:($4 + $5 + $6 + $7):(1) with boxes linecolor rgb GREY title "other", \
     file index 1 using 1:($4 + $5 + $6):(1) with boxes linecolor rgb RED title "metadata", \
     file index 1 using 1:($4 + $5):(1) with boxes linecolor rgb ORANGE title "journal", \
     file index 1 using 1:4:(1) with boxes linecolor rgb SKY title "data", \
     file index 1 using ($1 - 0.5):2:(1):(0) with vectors nohead linewidth 2 linecolor rgb BLACK title "calls (S)"
unset label 1
unset label 2
unset label 3
set tmargin at screen 0.39
set bmargin at screen 0.1
set key at screen 0.98, 0.43
most = 1
stats file index 1 using (most = ($3 > most ? $3 : most), most = ($8 > most ? $8 : most), 1) nooutput
set yrange [0:most * 1.1]
set ytics ("0" 0)
do for [i = 1:9] { if (i * tick_of(most) <= most * 1.1) { set ytics add (bytes(i * tick_of(most)) i * tick_of(most)) } }
set ylabel "read a second" offset 0.5
set xlabel "seconds since the start of the run"
set format x "%.0f"
plot file index 1 using 1:8:(1) with boxes linecolor rgb GREEN title "devices (B_r)", \
     file index 1 using ($1 - 0.5):3:(1):(0) with vectors nohead linewidth 2 linecolor rgb BLACK title "calls (S_r)"
unset multiplot
