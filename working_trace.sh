#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-only
# working_trace.sh DURATION OUTFILE - records for DURATION seconds and writes every operation as one line of text into
# OUTFILE. With IOT_STORE=FILE.sqlite in the environment the same run also goes into a store.
set -eu

if [ $# -ne 2 ]; then
	echo "usage: working_trace.sh DURATION OUTFILE" >&2
	exit 2
fi
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
case $2 in
/*) outfile=$2 ;;
*) outfile=./$2 ;;
esac
exec "$trace" -d "$1" --format text -o "$outfile" ${IOT_STORE:+-o "$IOT_STORE"}
