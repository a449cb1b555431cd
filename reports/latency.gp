# SPDX-License-Identifier: GPL-3.0-only
# latency.gp: the share of operations that took at most so long, one curve a kind of operation.
file = "latency.tsv"
stats file index 0 using (head = strcol(1), horizon = strcol(2), 1) nooutput
stats file index 1 using 1 nooutput
series = int(STATS_max)
array name[series]
stats file index 1 using (name[int(column(1))] = strcol(2), 1) nooutput
set output "latency." . kind
set label 1 "Latency: share of operations that took at most this long" at screen 0.02, 0.965 left font ",17" textcolor rgb "#111111"
set label 2 line(head) at screen 0.02, 0.925 left textcolor rgb "#444444"
set label 3 line(horizon) at screen 0.02, 0.895 left textcolor rgb "#444444"
set lmargin at screen 0.08
set rmargin at screen 0.8
set tmargin at screen 0.85
set bmargin at screen 0.1
set key at screen 0.815, 0.84 left top Left reverse samplen 2 spacing 1.25 noautotitle
set logscale x 10
duration(us) = us < 1 ? sprintf("%.3g ns", us * 1e3) : us < 1e3 ? sprintf("%.3g µs", us) : us < 1e6 ? sprintf("%.3g ms", us / 1e3) : sprintf("%.3g s", us / 1e6)
stats file index 1 using 3 nooutput
first = floor(log10(STATS_min > 0 ? STATS_min : 0.001)); last = ceil(log10(STATS_max > 0 ? STATS_max : 1))
last = last > first ? last : first + 1
set xrange [10 ** first:10 ** last]
set xtics ()
do for [e = first:last] { set xtics add (duration(10.0 ** e) 10.0 ** e) }
set xlabel "duration (middle of its bucket, at most 6.25 % off)"
set yrange [0:103]
set ytics 0, 10
set format y "%.0f %%"
set ylabel "operations" offset 1
set grid xtics ytics linecolor rgb "#dddddd"
array colour[8] = [BLUE, RED, GREEN, ORANGE, PINK, SKY, BLACK, GREY]
plot for [k = 1:series] file index 1 using ($1 == k ? $3 : NaN):4 with steps linewidth 2.5 linecolor rgb colour[k] title name[k], \
     for [k = 1:series] file index 1 using ($1 == k ? $3 : NaN):4 with points pointtype 7 pointsize 0.35 linecolor rgb colour[k]
