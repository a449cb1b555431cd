# SPDX-License-Identifier: GPL-3.0-only
# style.gp: how every picture looks; put in front of each script. gnuplot NAME.gp draws NAME.svg from NAME.tsv, gnuplot -c NAME.gp png NAME.png.
# Colours: Okabe and Ito, which people with colour-blindness can tell apart. Names are data: never markup, never code.
kind = exists("ARG1") && ARG1 eq "png" ? "png" : "svg"
# A picture that needs another size says `eval sprintf(canvas, WIDTH, HEIGHT)`.
if (kind eq "png") {
	canvas = 'set terminal pngcairo noenhanced size %d,%d font "DejaVu Sans,11" background "#ffffff"'
} else {
	canvas = 'set terminal svg noenhanced size %d,%d font "DejaVu Sans,13" background "#ffffff"'
}
eval sprintf(canvas, 1200, 760)
set datafile separator "\t"
set datafile missing "NaN"
set encoding utf8
BLUE = 0x0072b2; SKY = 0x56b4e9; GREEN = 0x009e73; YELLOW = 0xf0e442; ORANGE = 0xe69f00; RED = 0xd55e00; PINK = 0xcc79a7; BLACK = 0x000000; GREY = 0x999999
set border 3 linecolor rgb "#555555"
set tics nomirror out textcolor rgb "#333333"
set grid ytics linecolor rgb "#dddddd" linewidth 1
set style fill solid 0.95 noborder
# 12582912 -> "12.6 MB"
bytes(x) = x != x ? "n/a" : abs(x) < 1e3 ? sprintf("%.0f B", x) : abs(x) < 1e6 ? sprintf("%.3g kB", x / 1e3) : abs(x) < 1e9 ? sprintf("%.3g MB", x / 1e6) : abs(x) < 1e12 ? sprintf("%.3g GB", x / 1e9) : sprintf("%.3g TB", x / 1e12)
# One line of a picture's head; the text of a report has it whole.
line(text) = strlen(text) <= 150 ? text : text[1:149] . "…"
