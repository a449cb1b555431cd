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
for trace in "$here/build/iot-trace" "$here/../sbin/iot-trace" iot-trace; do
	if command -v "$trace" >/dev/null; then
		break
	fi
done
case $2 in
/*) outfile=$2 ;;
*) outfile=./$2 ;;
esac
exec "$trace" -d "$1" --format text -o "$outfile" ${IOT_STORE:+-o "$IOT_STORE"}
