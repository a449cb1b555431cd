# SPDX-License-Identifier: GPL-3.0-only
# pen.gp: how the strokes of a picture are drawn. In front of it stand the picture's name and size, behind it the strokes (analyzer/pen.c).
# gnuplot NAME.gp draws NAME.svg from NAME.dat; gnuplot -c NAME.gp png, or pdf, draws the others.
kind = exists("ARG1") && (ARG1 eq "png" || ARG1 eq "pdf") ? ARG1 : "svg"
data = picture . ".dat"
unit = width / across
# Lines of a bitmap that are not rounded begin with a spike.
# Terminals measure text, lines and dashes differently: so that all are as large as in the SVG, whose unit is the pixel of CSS, 1/96 inch.
if (kind eq "svg") {
	set terminal svg name id noenhanced size width, height background "#ffffff"
	letters = unit; thick = unit; dash = 2 * unit; lift = 0.327
}
if (kind eq "png") {
	set terminal pngcairo rounded noenhanced size floor(width * zoom + 0.5), floor(height * zoom + 0.5) fontscale zoom linewidth zoom background "#ffffff"
	letters = 0.75 * unit; thick = unit; dash = 4 * unit; lift = 0.37
}
if (kind eq "pdf") {
	set terminal pdfcairo noenhanced size width / 96.0, height / 96.0 fontscale 1 linewidth 1 background "#ffffff"
	letters = 0.5625 * unit; thick = 1.5 * unit; dash = 4 * unit; lift = 0.42
}
# The SVG terminal copies a font's name into an attribute and knows no bold: the names end it and say so, and give viewers without the font a choice.
face(size) = sprintf(kind eq "svg" ? "DejaVu Sans&#44; Verdana&#44; sans-serif,%.2f" : "DejaVu Sans,%.2f", size * letters)
bold(size) = sprintf(kind eq "svg" ? "DejaVu Sans&#44; Verdana&#44; sans-serif\" font-weight=\"bold,%.2f" : "DejaVu Sans:Bold,%.2f", size * letters)
# Labels are centred on their place: that of their baseline is known.
baseline(y, size) = y - lift * size
# A bitmap or a PDF in which a character is in no font is covered by a box of gnuplot 5.4 that is larger than all of it: these take the fourth column,
# with U+FFFD for what DejaVu Sans does not have. Who looks at an SVG may have more fonts.
words = kind eq "svg" ? 3 : 4
set encoding utf8
set datafile separator "\t"
unset border; unset tics; unset key
set lmargin at screen 0; set rmargin at screen 1; set tmargin at screen 1; set bmargin at screen 0
set xrange [0:across]; set yrange [height / unit:0]
set output picture . "." . kind
