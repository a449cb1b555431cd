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
here=$(dirname "$(readlink -f "$0")")
# Root may have a copy of this script in a folder that others can write: what lies beside it there may be a stranger's.
is_ours() {
	case $(stat -L -c %u "$1") in
	0 | "$(id -u)" | "$(stat -L -c %u "$0")") ;;
	*) return 1 ;;
	esac
}
for trace in "$here/build/iot-trace" "$here/../sbin/iot-trace" iot-trace; do
	case $trace in
	/*) ! [ -x "$trace" ] || ! is_ours "${trace%/*}" || ! is_ours "$trace" || break ;;
	esac
done
case $outfile in
/*) ;;
*) outfile=./$outfile ;;
esac
if [ "$(id -u)" = 0 ]; then
	exec "$trace" -d "$duration" --format text -o "$outfile" ${IOT_STORE:+-o "$IOT_STORE"}
fi
if ! command -v sudo >/dev/null; then
	echo "working_trace.sh: only root can trace, and there is no sudo to ask: run it as root" >&2
	exit 1
fi
# This shell opens the file, so it is made as its user, where he may. It holds what others do: nobody else reads it, also not who was there
# first with a file, a FIFO or a link of that name.
for way in '' -L; do
	if [ -e "$outfile" ] || [ -L "$outfile" ]; then
		case $(stat $way -c %u "$outfile") in
		0 | "$(id -u)") ;;
		*)
			echo "working_trace.sh: will not write to $outfile, which belongs to somebody else: remove it, or give another name" >&2
			exit 1
			;;
		esac
	fi
done
[ ! -f "$outfile" ] || rm -f "$outfile"
umask 077
set -C
exec sudo -- "$trace" -d "$duration" --format text -o - ${IOT_STORE:+-o "$IOT_STORE"} >"$outfile"
