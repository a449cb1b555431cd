#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# picture.sh - draw a picture in the terminal, where the terminal answers that it can: kitty's graphics, or sixel by gnuplot.
#
# usage: workloads/picture.sh FILE.png ROWS
# Exit status: 0 when it was drawn, 1 when this terminal draws none.
set -eu -o pipefail

# The terminal's answer to a query, which ends with a letter: at most half a second is waited for each part of it.
ask() { # QUERY LAST
	local answer='' part

	printf '%b' "$1" >/dev/tty
	while IFS= read -r -s -n 1 -t 0.5 part </dev/tty; do
		answer=$answer$part
		[ "$part" != "$2" ] || break
	done
	printf '%q' "$answer"
}

# Escapes that a terminal does not know may be shown by it: it is asked for its kind first, which each one that answers at all knows.
kind() {
	local attributes

	attributes=$(ask '\033[c' c)
	case $attributes in
	*\[\?*';4;'* | *\[\?*';4c'*) echo sixel ;;
	*\[\?*c*) ! grep -q 'Gi=31;OK' <<<"$(ask '\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\\033[c' c)" || echo kitty ;;
	esac
}

# shellcheck disable=SC1003 # ESC \ ends a command
# Pictures travel in pieces of 4096 characters; the terminal keeps the proportions.
kitty() { # FILE ROWS
	local piece first="f=100,a=T,r=$2,"

	base64 -w 4096 "$1" | while IFS= read -r piece; do
		printf '\033_G%sq=2,m=1;%s\033\\' "$first" "$piece"
		first=''
	done
	printf '\033_Gq=2,m=0;\033\\\n'
}

sixel() { # FILE ROWS
	local cell high=18 width height

	cell=$(ask '\033[16t' t)
	[[ ! $cell =~ \[6\;([0-9]+)\;[0-9]+t ]] || high=${BASH_REMATCH[1]}
	read -r width height < <(od -A n -t u1 -j 16 -N 8 "$1" | awk '{ print $3 * 256 + $4, $7 * 256 + $8 }')
	high=$((high * $2))
	gnuplot -e "set terminal sixelgd truecolor size $((width * high / height)),$high; unset border; unset tics; unset key;
		set margins 0, 0, 0, 0; set autoscale fix; plot '/dev/stdin' binary filetype=png with rgbimage" <"$1"
}

[ -t 1 ] && [ -r /dev/tty ] && [ -r "$1" ] || exit 1
state=$(stty -g </dev/tty)
trap 'stty "$state" </dev/tty' EXIT
stty -echo -icanon </dev/tty
case $(kind) in
kitty) kitty "$@" ;;
sixel) sixel "$@" ;;
*) exit 1 ;;
esac
