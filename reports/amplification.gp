# SPDX-License-Identifier: GPL-3.0-only
# amplification.gp: above, the volumes of METRICS by program; below, what each step added or saved.
file = "amplification.tsv"
stats file index 0 using (head = strcol(1), horizon = strcol(2), 1) nooutput
stats file index 1 using 0 nooutput
groups = STATS_records
set output "amplification." . kind
set multiplot

set label 1 "Amplification: from the bytes that calls wrote to the bytes that devices wrote" at screen 0.02, 0.975 left font ",17" textcolor rgb "#111111"
set label 2 line(head) at screen 0.02, 0.94 left textcolor rgb "#444444"
set label 3 line(horizon) at screen 0.02, 0.912 left textcolor rgb "#444444"
set lmargin at screen 0.1
set rmargin at screen 0.98
set tmargin at screen 0.83
set bmargin at screen 0.52
set key horizontal outside at screen 0.98, 0.875 right top maxrows 1 samplen 1.2 width -1 noautotitle
unset xtics
set format y ""
set ytics scale 0.5
set ylabel "bytes written" offset -0.5
width = 0.13
slot(k) = (k - 2.5) * 0.145
# Names that are longer than the room of a group stand on two lines.
fit = 150 / (groups > 0 ? groups : 1)
stagger(i, s) = strlen(s) <= fit || strstrt(s, " [") == 0 ? s : s[1:strstrt(s, " [") - 1] . "\n" . s[strstrt(s, " [") + 1:*]
label_size = groups > 2 ? ",9" : ",10"
turn = groups > 3 ? 90 : 0
top = 1
do for [c = 2:7] { stats file index 1 using (top = (column(c) > top ? column(c) : top), 1) nooutput }
set xrange [-0.5:groups - 0.5]
set yrange [0:top * (turn ? 1.45 : 1.18)]
tick = 10 ** floor(log10(top > 0 ? top : 1))
tick = top / tick < 2 ? tick / 4 : top / tick < 5 ? tick / 2 : tick
set ytics ("0" 0)
do for [i = 1:9] { if (i * tick <= top * 1.15) { set ytics add (bytes(i * tick) i * tick) } }
array colour[6] = [SKY, GREEN, YELLOW, ORANGE, RED, PINK]
array name[6] = ["S calls", "T blocks", "D dirtied", "W file data", "F file system", "B devices"]
# Six groups leave no room for upright labels.
if (turn) {
	PLACE = "with labels rotate by 90 left offset 0, 0.4"
} else {
	PLACE = "with labels offset 0, 0.6"
}
plot for [k = 1:6] file index 1 using ($0 + slot(k - 1)):(column(k + 1)):(width) with boxes linecolor rgb colour[k] title name[k], \
     for [k = 1:6] file index 1 using ($0 + slot(k - 1)):(column(k + 1) == column(k + 1) ? column(k + 1) : 0):(bytes(column(k + 1))) \
         @PLACE font label_size textcolor rgb "#222222" notitle, \
     file index 1 using 0:(0):(stagger($0, strcol(1))) with labels offset 0, -0.9 font (groups > 4 ? ",10" : ",12") textcolor rgb "#111111" notitle

unset label 1
unset label 2
unset label 3
set autoscale
whose = "nobody"
ratio = ""
stats file index 3 using (whose = strcol(1), ratio = strcol(2), 1) nooutput
stats file index 2 using 0 nooutput
steps = STATS_records
set label 4 "What each step added or saved: " . whose . "; " . ratio at screen 0.02, 0.425 left font ",13" textcolor rgb "#111111"
set tmargin at screen 0.375
set bmargin at screen 0.07
unset key
low = 1
stats file index 2 using (low = ($3 > low ? $3 : low), 1) nooutput
set xrange [-0.6:steps - 0.4]
set yrange [0:low * 1.22]
tick = 10 ** floor(log10(low > 0 ? low : 1))
tick = low / tick < 2 ? tick / 2 : low / tick < 5 ? tick : 2 * tick
set ytics ("0" 0)
do for [i = 1:9] { if (i * tick <= low * 1.15) { set ytics add (bytes(i * tick) i * tick) } }
shade(c, d) = c == 0 ? SKY : d == 0 ? GREY : c == 1 ? RED : GREEN
sign(x) = x > 0 ? "+" . bytes(x) : x < 0 ? "-" . bytes(-x) : "0"
max2(a, b) = a > b ? a : b
min2(a, b) = a < b ? a : b
# A step is at least a line high, or it would not be seen beside millions of bytes.
thin = low * 0.004
plot file index 2 using ($0):(0):($0 - 0.3):($0 + 0.3):(min2($2, $3)):(max2(max2($2, $3), min2($2, $3) + thin)):(shade($4, $5)) with boxxyerror linecolor rgb variable, \
     file index 2 using ($0 + 0.3):3:(0.4):(0) with vectors nohead linecolor rgb "#777777" dashtype 2, \
     file index 2 using 0:(max2($2, $3)):($4 == 0 ? bytes($5) : sign($5)) with labels offset 0, 0.7 font ",11" textcolor rgb "#111111", \
     file index 2 using 0:(0):1 with labels offset 0, -0.9 font ",10" textcolor rgb "#111111"
unset multiplot
