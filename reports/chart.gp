# SPDX-License-Identifier: GPL-3.0-only
# chart.gp: how every picture looks. In front of it stand the picture's name and size, behind it its
# plots (analyzer/chart/chart.c). gnuplot NAME.gp draws NAME.svg from NAME.dat; gnuplot -c NAME.gp png, or pdf,
# draws the others. Names are data and never part of a script: gnuplot runs back-ticks.
kind = exists("ARG1") && (ARG1 eq "png" || ARG1 eq "pdf") ? ARG1 : "svg"
data = picture . ".dat"
unit = width / across
# Terminals measure text, lines and dashes differently: so that all are as large as in the SVG, whose
# unit is the pixel of CSS, 1/96 inch.
if (kind eq "svg") {
	set terminal svg name id noenhanced size width, height font sprintf("DejaVu Sans,%.2f", font * unit) background "#ffffff"
	letters = unit; thick = unit; dash = 2 * unit; lift = 0.35; row = 0.96
}
if (kind eq "png") {
	set terminal pngcairo rounded noenhanced size floor(width * zoom + 0.5), floor(height * zoom + 0.5) font sprintf("DejaVu Sans,%.2f", 0.75 * font * unit) fontscale zoom linewidth zoom background "#ffffff"
	letters = 0.75 * unit; thick = unit; dash = 4 * unit; lift = 0.1; row = 1.27
}
if (kind eq "pdf") {
	set terminal pdfcairo noenhanced size width / 96.0, height / 96.0 font sprintf("DejaVu Sans,%.2f", 0.5625 * font * unit) fontscale 1 linewidth 1 background "#ffffff"
	letters = 0.5625 * unit; thick = 1.5 * unit; dash = 4 * unit; lift = 0.1; row = 1.27
}
# The SVG terminal copies a font's name into an attribute and knows no bold: the names end it and say
# so, and give viewers without the font a choice.
face(size) = sprintf(kind eq "svg" ? "DejaVu Sans&#44; Verdana&#44; sans-serif,%.2f" : "DejaVu Sans,%.2f", size * letters)
bold(size) = sprintf(kind eq "svg" ? "DejaVu Sans&#44; Verdana&#44; sans-serif\" font-weight=\"bold,%.2f" : "DejaVu Sans:Bold,%.2f", size * letters)
small = face(0.9 * font)
# A bitmap or a PDF in which a character is in no font is covered by a box of gnuplot 5.4 that is larger
# than all of it: these take the cell behind, with U+FFFD for what DejaVu Sans does not have. Viewers of
# an SVG may have more fonts.
words = kind eq "svg" ? 3 : 4
# Places on the canvas, from its upper left corner.
X(x) = x / across
Y(y) = 1 - y * unit / height
set encoding utf8
set datafile separator "\t"
set output picture . "." . kind
set style circle radius screen X(font * 0.3) noclip
set tics nomirror out
set palette defined (0 "#fde49a", 1 "#fdb93c", 2 "#f0801f", 3 "#b83a0a", 4 "#4d1705")
set multiplot
