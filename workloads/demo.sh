#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# demo.sh - real programs on a loop device with ext4, traced: the amplification table and its charts.
#
# usage: workloads/demo.sh [FOLDER]     default: build/demo; the store and the charts are left there
set -eu -o pipefail

root=$(dirname "$(dirname "$(readlink -f "$0")")")
. "$root/workloads/scenario.sh"
bin=${IOT_BUILD:-$root/build}
out=${1:-$root/build/demo}

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
		for n in $(seq 300); do
			echo "INSERT INTO t VALUES($n, hex(randomblob(100)));"
		done
	} | sqlite3 db > /dev/null
}

report() {
	local name

	"$bin/iot-analyze" amplification "$out/run.sqlite"
	echo
	"$bin/iot-analyze" breakdown "$out/run.sqlite"
	echo
	for name in amplification breakdown; do
		"$bin/iot-analyze" "$name" "$out/run.sqlite" --plot "$out" > /dev/null
	done
	echo "charts:"
	find "$out" -name '*.svg' | sort | sed 's/^/  /'
}

body() {
	"$bin/iot-trace" --label demo -o "$out/run.sqlite" -- "$root/workloads/demo.sh" --load
	report
}

if [ "${1-}" = --load ]; then
	load
	exit
fi
[ "$(id -u)" = 0 ] || { echo "demo: run it as root: loop devices and BPF need it" >&2; exit 1; }
mkdir -p "$out"
rm -f "$out"/run.sqlite* "$out"/*.svg
with_fs ext4 512M -- body
