#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-only
# working_trace.sh [DURATION [OUTFILE]] - records for DURATION seconds (default: 5) and writes every operation as one line of text into
# OUTFILE (default: trace.txt). Whoever is not root is asked by sudo; the file is his. With IOT_STORE=FILE.sqlite in the environment the
# same run also goes into a store.
set -eu

if [ $# -gt 2 ]; then
	echo "usage: working_trace.sh [DURATION [OUTFILE]]     default: 5 trace.txt" >&2
	exit 2
fi
duration=${1-5}
outfile=${2-trace.txt}
# What root's search path leads to may be a stranger's, who is asked for nothing here: first where the system keeps its programs.
given=$PATH
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
[ "$(id -u)" = 0 ] || PATH=$given
here=$(dirname "$(readlink -f "$0")")
# Files next to a copy of this script, or on a search path, may be a stranger's. Trusted are root, us, whose script this is,
# and the group that can write it.
is_ours() { # PROGRAM or folder
	is=$(stat -c '%u %g %A' "$1") && own=$(stat -L -c '%u %g %A' "$0") || return 1
	# shellcheck disable=SC2086 # words of both
	set -- $is $own
	case $1 in
	0 | "$(id -u)" | "$4") ;;
	*) return 1 ;;
	esac
	case $3 in
	d???????w[tT] | ????????-?) ;;
	*) return 1 ;;
	esac
	case $2:$3:$5:$6 in
	*:?????-????:* | "$(id -g)":* | "$5":*:?????w????) ;;
	*) return 1 ;;
	esac
}
# Prints what the name leads to when it is a program, and ours as well as every folder on the way to it.
trusted() { # NAME
	[ -f "$1" ] && [ -x "$1" ] && program=$(readlink -f "$1") || return 1
	at=$program
	while [ -n "$at" ]; do
		is_ours "$at" || return 1
		at=${at%/*}
	done
	echo "$program"
}
trace=$(trusted "$here/build/iot-trace" || trusted "$here/../sbin/iot-trace" || echo iot-trace)
case $outfile in
/*) ;;
*) outfile=./$outfile ;;
esac
if [ "$(id -u)" = 0 ]; then
	if ! trace=$(trusted "$trace" || trusted "$(command -v iot-trace)"); then
		echo "working_trace.sh: there is no iot-trace that only root can write, in folders that only root can write: \`make install\` makes one" >&2
		exit 127
	fi
	exec "$trace" -d "$duration" --format text -o "$outfile" ${IOT_STORE:+-o "$IOT_STORE"}
fi
if ! command -v sudo >/dev/null; then
	echo "working_trace.sh: only root can trace, and there is no sudo to ask: run it as root" >&2
	exit 1
fi
# This shell opens the file, so it is made as its user, where he may. It holds what others do: nobody else reads it, also not who was there
# first with a file, a FIFO or a link of that name.
keep_off() { # OWNER
	case $1 in
	0 | "$(id -u)") ;;
	*)
		echo "working_trace.sh: will not write to $outfile, which belongs to somebody else: remove it, or give another name" >&2
		exit 1
		;;
	esac
}
for way in '' -L; do
	if [ -e "$outfile" ] || [ -L "$outfile" ]; then
		keep_off "$(stat $way -c %u "$outfile")"
	fi
done
[ ! -f "$outfile" ] || rm -f "$outfile"
umask 077
set -C
exec 3>"$outfile"
keep_off "$(stat -L -c %u /dev/fd/3)" # who was quicker since
exec sudo -- "$trace" -d "$duration" --format text -o - ${IOT_STORE:+-o "$IOT_STORE"} >&3 3>&-
