#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# five.sh - five real storage systems under one tracer: MinIO, Ceph, etcd, PostgreSQL and GlusterFS, in one run of one store.
#
# usage: workloads/five.sh [FOLDER]      (default: build/five in a clone, else iot-five here)
# Starts all five, each on loop devices of its own, then traces the same short load on each after the other: 500 writes of
# 4 KiB and 200 mixed reads and writes of 64 KiB, by one client. Only they and their clients are recorded, whatever else
# the machine does. FOLDER then holds run.sqlite, the ledger of each load (SYSTEM-PROFILE.json), the reports and their charts;
# the tables that compare the systems are printed. A system that is not there is named and left out.
# Environment: IOT_PORT (first of 600 ports, default 20000), IOT_BUILD (folder of the programs, where they are not found), and those of system.bash.
set -euo pipefail

systems=(minio ceph etcd postgres gluster)
loads=("write 500 4096 1" "mixed 200 65536 1")

say() { printf 'five.sh: %s\n' "$*" >&2; }

# one SYSTEM COMMAND...: a workload with a state directory and ports of its own. GlusterFS has fixed ones.
one() {
	local i

	for i in "${!systems[@]}"; do
		[ "${systems[i]}" != "$1" ] || break
	done
	[ "$1" != gluster ] || { IOT_PORT='' IOT_WORK=$work/$1 "$here/$1.sh" "${@:2}"; return; }
	IOT_PORT=$((first_port + 120 * i)) IOT_WORK=$work/$1 "$here/$1.sh" "${@:2}"
}

load() {
	local system profile

	for system in $running; do
		for profile in "${loads[@]}"; do
			say "$system: $profile"
			# shellcheck disable=SC2086
			one "$system" load $profile >"$out/$system-${profile%% *}.json"
		done
	done
}

# MinIO and Ceph are never idle: what is under way when a run ends is in some of its numbers and not in others. They are
# stopped while the tracer settles, and `down` lets them go on.
hold() {
	local system

	for system in minio ceph; do
		[ ! -s "$work/$system/pids" ] || awk '{ print $2 }' "$work/$system/pids" | xargs kill -STOP
	done
}

down() {
	local system

	trap - EXIT
	for system in "${systems[@]}"; do
		one "$system" down || say "$system was not released: see $work/$system"
	done
	rmdir "$work"
}

up() {
	local system status

	for system in "${systems[@]}"; do
		status=0
		one "$system" up || status=$?
		[ "$status" = 0 ] || [ "$status" = 77 ] || exit "$status"
		[ "$status" = 77 ] || running="$running $system"
	done
}

# Numbers of all server processes, as options of the tracer.
servers() {
	local system

	for system in $running; do
		awk '{ print "--pid", $2 }' "$work/$system/pids"
	done
}

# Pages that were dirty before the run have no known writer. Twice: the first commit may dirty metadata.
settle() {
	local system mount

	for system in $running $running; do
		awk '$1 == "mount" { print $2 }' "$work/$system/undo" | while read -r mount; do timeout 120 sync -f "$mount"; done
	done
}

report() {
	local name

	for name in amplification breakdown components latency network timeline; do
		"$analyze" "$name" "$out/run.sqlite" --plot "$out" >"$out/$name.txt" || say "report $name: status $?"
	done
	for name in systems files verify; do
		"$analyze" "$name" "$out/run.sqlite" >"$out/$name.txt" || say "report $name: status $?"
	done
	echo "Operations, the way earlier tools counted them"
	"$analyze" systems "$out/run.sqlite" --table systems
	echo
	echo "Bytes by system: S returned by calls, B written to devices; S_r and B_r are reads"
	"$analyze" amplification "$out/run.sqlite" --table summary
	echo
	echo "Bytes by system and by component"
	"$analyze" components "$out/run.sqlite" --table components
	say "the store, whole reports and charts: $out"
}

here=$(dirname "$(readlink -f "$0")")
first_port=${IOT_PORT:-20000}
if [ "${1-}" = --load ]; then
	out=$2 work=$3 running=$4
	load
	hold
	exit
fi
[ $# -le 1 ] || { say "usage: workloads/five.sh [FOLDER]"; exit 2; }
[ "$(id -u)" = 0 ] || { say "run it as root: loop devices and BPF need it"; exit 1; }
# shellcheck source=workloads/programs.bash disable=SC1091
. "$here/programs.bash"
trace=$(program iot-trace)
analyze=$(program iot-analyze)
out=$here/../build/five
[ -d "$here/../build" ] || out=iot-five
out=$(readlink -m "${1:-$out}")
mkdir -p "$out"
rm -f "$out"/run.sqlite* "$out"/*.svg "$out"/*.png "$out"/*.pdf "$out"/*.json "$out/log"
# A tmpfs holds the images, where there is one: what reaches a loop device is then all that is measured.
[ -n "${IOT_IMG_DIR-}" ] || ! mountpoint -q /dev/shm || export IOT_IMG_DIR=/dev/shm
work=$(mktemp -d /var/tmp/iot-five.XXXXXX)
chmod 711 "$work"
running=
trap down EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
up
[ -n "$running" ] || { say "none of the five systems is there"; exit 77; }
settle
# shellcheck disable=SC2046
"$trace" --label five --ring 64M -o "$out/run.sqlite" $(servers) -- "$here/five.sh" --load "$out" "$work" "$running"
down
report
