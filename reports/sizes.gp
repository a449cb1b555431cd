# SPDX-License-Identifier: GPL-3.0-only
# sizes.gp: above, amplification against the size of objects; below, for each system and operation, bytes a layer and what the device bytes are.
eval sprintf(canvas, 1400, 1150)
file = "sizes.tsv"
stats file index 1 using 0 nooutput
series = STATS_records
stats file index 6 using 0 nooutput
parts = STATS_records
panels = series > 4 ? 4 : series
all = series
stats file index 1 using (all = $3, 1) nooutput
set output "sizes." . kind
array tint[8] = [BLUE, ORANGE, GREEN, RED, PINK, SKY, GREY, BLACK]
# 1048576 -> "1 MiB": sizes are powers of two there, and plain numbers below.
unit(x) = x < 1024 || x != 1024 * floor(x / 1024) ? sprintf("%.0f B", x) : x < 1048576 || x != 1048576 * floor(x / 1048576) ? sprintf("%.0f KiB", x / 1024) : sprintf("%.0f MiB", x / 1048576)
array series_name[8]
array slope[8]
do for [k = 1:8] { series_name[k] = ""; slope[k] = "" }
do for [k = 1:(series > 8 ? 8 : series)] {
	stats file index 1 every ::(k - 1)::(k - 1) using (series_name[k] = strcol(1), 1) nooutput
	stats file index 3 every ::(k - 1)::(k - 1) using (slope[k] = strcol(2), 1) nooutput
}
set multiplot

set label 1 "Amplification against the size of objects" . (all > 8 ? sprintf(": the first 8 of %d", all) : "") at screen 0.02, 0.982 left font ",17" textcolor rgb "#111111"
set label 2 "device bytes/payload: waf_e2e = B/L written, raf_e2e = B_r/L_r read; median and range of the repeats; the idle control is subtracted in marginal_* only" at screen 0.02, 0.96 left textcolor rgb "#444444"
set lmargin at screen 0.09
set rmargin at screen 0.735
set tmargin at screen 0.94
set bmargin at screen 0.645
set logscale xy 10
set format x ""
set format y ""
set xtics scale 0.5
set ytics scale 0.5
unset mxtics
unset mytics
set xtics ("1 B" 1, "10 B" 10, "100 B" 100, "1 kB" 1e3, "10 kB" 1e4, "100 kB" 1e5, "1 MB" 1e6, "10 MB" 1e7, "100 MB" 1e8, "1 GB" 1e9)
set ytics ("0.001" 0.001, "0.01" 0.01, "0.1" 0.1, "1" 1, "10" 10, "100" 100, "1 000" 1e3, "10 000" 1e4, "100 000" 1e5, "1 000 000" 1e6)
set grid xtics ytics linecolor rgb "#dddddd"
set xlabel "payload of one object" offset 0, 0.4
set ylabel "device bytes/payload" offset -0.5
set offsets 0, 0, 0, 0
set key at screen 0.755, 0.945 left top vertical Left reverse samplen 2.5 spacing 1.5 noautotitle
set autoscale
largest = 1
stats file index 7 using (largest = ($2 > largest ? $2 : largest), 1) nooutput
set xrange [0.6:largest * 1.6]
set style line 100 linecolor rgb "#888888" dashtype 3
plot 1 with lines linestyle 100 notitle, \
     for [k = 1:(series > 8 ? 8 : series)] file index 2 using ($1 == k ? $2 : NaN):3:4:5 with yerrorbars linecolor rgb tint[k] linewidth 1.5 pointtype (k % 2 ? 7 : 5) pointsize 0.9 notitle, \
     for [k = 1:(series > 8 ? 8 : series)] file index 2 using ($1 == k ? $2 : NaN):3 with linespoints linecolor rgb tint[k] linewidth 2 pointtype (k % 2 ? 7 : 5) pointsize 0.9 \
         title series_name[k] . ": " . slope[k]

set label 2 "Bytes of one operation, layer by layer" . (all > 4 ? sprintf(": the first 4 of %d; the tables have all, --system draws one", all) : "") at screen 0.02, 0.575 left font ",13" textcolor rgb "#111111"
left(p) = 0.09 + (p - 1) * (0.735 - 0.09) / panels
right(p) = 0.09 + p * (0.735 - 0.09) / panels - 0.012
# The last label would run into the next panel.
set xtics ("1 B" 1, "" 10, "" 100, "1 kB" 1e3, "" 1e4, "" 1e5, "1 MB" 1e6, "" 1e7, "" 1e8, "1 GB" 1e9)
set ytics ("1 B" 1, "10 B" 10, "100 B" 100, "1 kB" 1e3, "10 kB" 1e4, "100 kB" 1e5, "1 MB" 1e6, "10 MB" 1e7, "100 MB" 1e8, "1 GB" 1e9, "10 GB" 1e10)
array layer[5] = ["L payload", "S calls", "D dirtied, or missed in the cache", "F file system", "B devices"]
array layer_tint[5] = [BLACK, SKY, GREEN, YELLOW, RED]
array layer_dash[5] = [2, 1, 1, 1, 1]
array layer_width[5] = [1.5, 1.5, 1.5, 6, 2]
low = 1
high = 10
do for [c = 3:7] { stats file index 4 using (column(c) > 0 && column(c) < low ? low = column(c) : 1, high = (column(c) > high ? column(c) : high), 1) nooutput }
set yrange [low * 0.6:high * 2]
set tmargin at screen 0.535
set bmargin at screen 0.335
do for [p = 1:panels] {
	set label 1 series_name[p] at screen left(p) + 0.005, 0.547 left font ",11" textcolor rgb "#111111"
	set lmargin at screen left(p)
	set rmargin at screen right(p)
	if (p > 1) {
		unset ylabel
		set format y ""
		set ytics ("" 1, "" 10, "" 100, "" 1e3, "" 1e4, "" 1e5, "" 1e6, "" 1e7, "" 1e8, "" 1e9, "" 1e10)
		unset key
	} else {
		set ylabel "bytes of one operation" offset -1
		set key at screen 0.755, 0.54 left top vertical Left reverse samplen 2.5 spacing 1.5 noautotitle
	}
	plot for [c = 1:5] file index 4 using ($1 == p ? $2 : NaN):(column(c + 2) > 0 ? column(c + 2) : NaN) with linespoints linecolor rgb layer_tint[c] dashtype layer_dash[c] \
	         linewidth layer_width[c] pointtype 7 pointsize 0.5 title layer[c]
	unset label 2
}

unset logscale
unset key
set autoscale
set label 2 "What the device bytes are" . (all > 4 ? sprintf(": the first 4 of %d", all) : "") at screen 0.02, 0.275 left font ",13" textcolor rgb "#111111"
set tmargin at screen 0.235
set bmargin at screen 0.075
stats file index 7 using 0 nooutput
places = STATS_records
set xrange [-0.6:places - 0.4]
set yrange [0:1]
set format x ""
set xtics () rotate by 90 right scale 0
# As many names as there is room for, a line of text each.
every_nth = ceil(places * panels / 56.0)
do for [i = 0:places - 1] {
	stats file index 7 every ::i::i using (name = unit($2), 1) nooutput
	if (i % every_nth == 0) { set xtics add (name i) }
}
unset xlabel
set grid noxtics ytics linecolor rgb "#dddddd"
do for [p = 1:panels] {
	set label 1 series_name[p] at screen left(p) + 0.005, 0.247 left font ",11" textcolor rgb "#111111"
	set lmargin at screen left(p)
	set rmargin at screen right(p)
	if (p > 1) {
		unset ylabel
		set ytics ("" 0, "" 0.25, "" 0.5, "" 0.75, "" 1)
		unset label 3
	} else {
		set ylabel "share of device bytes" offset -1
		set ytics ("0" 0, "0.25" 0.25, "0.5" 0.5, "0.75" 0.75, "1" 1)
	}
	plot file index 5 using ($1 == p ? $2 : NaN):3:($2 - 0.4):($2 + 0.4):3:4:(paint($5)) with boxxyerror linecolor rgb variable notitle
	unset label 2
}
# The names of the parts, in the place of a key.
unset label 1
set lmargin at screen 0.755
set rmargin at screen 0.99
unset border
unset xtics
unset ytics
unset ylabel
set grid noxtics noytics
set xrange [0:1]
set yrange [(parts > 9 ? parts : 9):-0.6]
plot file index 6 using (0.03):0:(paint($2)) with points pointtype 5 pointsize 1.4 linecolor rgb variable notitle, \
     file index 6 using (0.09):0:1 with labels left font ",11" textcolor rgb "#111111" notitle
unset multiplot
