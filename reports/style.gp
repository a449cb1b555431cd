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
# What device bytes are (analyzer/palette.def): 1 to 13 and 21 to 28 components, in the order of components.def; 14 journal and 15 metadata of the file system, 16 file data of no known
# component, 17 anything else; 18 file data, 19 direct I/O and 20 readahead of programs that have no components.
array palette[28] = [BLUE, SKY, GREEN, YELLOW, PINK, 0x332288, 0x88ccee, 0x117733, 0xddcc77, 0xaa4499, 0x44aa99, 0x882255, 0x661100, ORANGE, RED, GREY, 0xcccccc, 0xb3a2d6, 0x6a51a3, 0xa9c7a0, 0x999933, 0xcc6677, 0x6699cc, 0xeecc66, 0x994455, 0x997700, 0x004488, 0xee99aa]
paint(n) = n == n ? palette[int(n)] : 0xffffff
# Ticks that read as bytes, for an axis whose largest value is `most`.
tick_of(most) = most / 10 ** floor(log10(most)) < 2 ? 10 ** floor(log10(most)) / 4 : most / 10 ** floor(log10(most)) < 5 ? 10 ** floor(log10(most)) / 2 : 10 ** floor(log10(most))
set border 3 linecolor rgb "#555555"
set tics nomirror out textcolor rgb "#333333"
set grid ytics linecolor rgb "#dddddd" linewidth 1
set style fill solid 0.95 noborder
# 12582912 -> "12.6 MB"
bytes(x) = x != x ? "n/a" : abs(x) < 1e3 ? sprintf("%.0f B", x) : abs(x) < 1e6 ? sprintf("%.3g kB", x / 1e3) : abs(x) < 1e9 ? sprintf("%.3g MB", x / 1e6) : abs(x) < 1e12 ? sprintf("%.3g GB", x / 1e9) : sprintf("%.3g TB", x / 1e12)
# One line of a picture's head; the text of a report has it whole.
line(text) = strlen(text) <= 150 ? text : text[1:149] . "…"
