# SPDX-License-Identifier: GPL-3.0-only
# compare.gp: the difference of each quantity in percent, with its 95 % interval; filled where the runs differ.
file = "compare.tsv"
stats file index 0 using (head = strcol(1), horizon = strcol(2), 1) nooutput
stats file index 1 using 0 nooutput
rows = STATS_records
eval sprintf(canvas, 1200, 190 + 27 * (rows < 8 ? 8 : rows))
height = 190.0 + 27 * (rows < 8 ? 8 : rows)
set output "compare." . kind
line_at(pixels) = 1 - pixels / height
key_at = line_at(105)
set label 1 "Difference of medians, with 95 % interval" at screen 0.02, line_at(27) left font ",17" textcolor rgb "#111111"
set label 2 line(head) at screen 0.02, line_at(57) left textcolor rgb "#444444"
set label 3 line(horizon) at screen 0.02, line_at(80) left textcolor rgb "#444444"
set lmargin at screen 0.33
set rmargin at screen 0.80
set tmargin at screen line_at(125)
set bmargin at screen 55 / height
set key horizontal at screen 0.98, key_at right top samplen 1.2 width 1 noautotitle
low = -1; high = 1
stats file index 1 using (low = ($3 < low ? $3 : low), high = ($4 > high ? $4 : high), 1) nooutput
# One that grew a hundredfold would hide all others: its bar ends at the border.
low = low < -100 ? -100 : low
high = high > 300 ? 300 : high
room = (high - low) * 0.05
set xrange [low - room:high + room]
set yrange [rows - 0.4:-0.6]
unset ytics
set grid noytics xtics linecolor rgb "#dddddd"
set format x "%+.0f %%"
if (high - low < 8) { set format x "%+.1f %%" }
set xlabel "from A"
set arrow 1 from first 0, graph 0 to first 0, graph 1 nohead linecolor rgb "#555555" linewidth 1.5
cut(x) = x < low ? low : x > high ? high : x
array tint[8] = [BLUE, RED, GREEN, ORANGE, PINK, SKY, BLACK, GREY]
paint_set(n) = tint[1 + (int(n) - 1) % 8]
plot file index 1 using (cut($3)):0:(cut($4) - cut($3)):(0):($5 == 1 ? paint_set($6) : 0x999999) with vectors nohead linewidth 3 linecolor rgb variable, \
     file index 1 using ($5 == 1 ? cut($2) : NaN):0:(paint_set($6)) with points pointtype 7 pointsize 1.5 linecolor rgb variable, \
     file index 1 using ($5 == 1 ? NaN : cut($2)):0 with points pointtype 6 pointsize 1.5 linewidth 2 linecolor rgb 0x777777, \
     file index 1 using (low - room):0:(strlen(strcol(1)) > 48 ? strcol(1)[1:47] . "…" : strcol(1)) with labels right offset -1, 0 font ",11" textcolor rgb "#111111", \
     file index 1 using (high + room):0:7 with labels left offset 1, 0 font ",10" textcolor rgb "#444444", \
     NaN with points pointtype 7 linecolor rgb BLUE title "differs", \
     NaN with points pointtype 6 linewidth 2 linecolor rgb 0x777777 title "no difference shown"
