#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# demo.sh - real programs on a loop device with ext4, traced: the amplification table and its charts.
#
# usage: workloads/demo.sh [FOLDER]     default: build/demo; the store and the charts are left there
set -eu -o pipefail

say() { echo "demo: $*" >&2; }

# What runs under the tracer. Bulk first, then what every storage paper warns of: small synchronous writes.
load() {
	cd "$IOT_MNT"
	say "dd: 64 MiB in 1 MiB writes, one fdatasync"
	dd if=/dev/zero of=bulk bs=1M count=64 conv=fdatasync status=none
	say "dd: 200 synchronous writes of 4 KiB"
	dd if=/dev/zero of=small bs=4k count=200 oflag=sync status=none
	say "fio: 1000 random writes of 4 KiB, fsync after each"
	fio --name=rw --filename=fio.dat --size=32M --rw=randwrite --bs=4k --number_ios=1000 --fsync=1 --fallocate=none \
		--thread --output=/dev/null
	say "fio: 16 MiB of random reads from a cold cache, through io_uring"
	fio --name=rr --filename=bulk --size=64M --io_size=16M --rw=randread --bs=4k --ioengine=io_uring --iodepth=8 \
		--invalidate=1 --thread --output=/dev/null
	say "sqlite3: 300 transactions of one row, with a write-ahead log"
	{
		echo "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT);"
		printf 'INSERT INTO t VALUES(%d, hex(randomblob(100)));\n' {1..300}
	} | sqlite3 db > /dev/null
}

report() {
	local name

	for name in breakdown amplification; do
		"$analyze" "$name" "$out/run.sqlite" --plot "$out" > "$out/$name.txt"
	done
	echo "Journal anatomy: what the file system's journal wrote for them"
	"$analyze" breakdown "$out/run.sqlite" --table journal | grep -E "^(device|${IOT_DEV#/dev/}) "
	echo
	sed '/^Ratios/,$d' "$out/amplification.txt"
	echo "whole reports: $out/amplification.txt, $out/breakdown.txt"
	echo "charts: $out/amplification.svg, $out/breakdown.svg"
}

body() {
	sync # what others left dirty is not the demo's
	"$trace" --label demo -o "$out/run.sqlite" -- "$root/workloads/demo.sh" --load
	report
}

# Before anything else: what runs under the tracer should be the load, not this script's own start.
if [ "${1-}" = --load ]; then
	load
	exit
fi
root=$(dirname "$(dirname "$(readlink -f "$0")")")
. "$root/workloads/scenario.sh"
trace=${IOT_BUILD:-$root/build}/iot-trace analyze=${IOT_BUILD:-$root/build}/iot-analyze
out=${1:-$root/build/demo}
[ "$(id -u)" = 0 ] || { echo "demo: run it as root: loop devices and BPF need it" >&2; exit 1; }
mkdir -p "$out"
rm -f "$out"/run.sqlite* "$out"/*.svg
with_fs ext4 512M -- body
