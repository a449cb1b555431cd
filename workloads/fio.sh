#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# fio.sh - fio on one loop device with ext4: files and nothing above them, not a storage system. See system.bash for the commands.
# The payload is what fio itself counted; its whole JSON is in the ledger as the engine's statistics.
# shellcheck source=/dev/null disable=SC2034,SC2153,SC2154
. "$(dirname "$0")/system.bash"
SYSTEM=fio PORT=0
# A set is one file of COUNT records of SIZE bytes, written in order, else taken in a random order, each once. Clients are fio's
# jobs, each with its part of the file. Every write is made durable by fsync, those of bulk by one at the end.
# profile    operation  count  size     clients
PROFILES='
bulk         write      64     1048576  1
small        write      1000   4096     1
read-cold    read-cold  10000  4096     1
read-warm    read-warm  10000  4096     1
overwrite    overwrite  1000   4096     1
mixed        mixed      1000   4096     1
write        write      500    4096     1
read         read-cold  500    4096     1
'
declare -A PATTERN=([write]=write [read]=randread [overwrite]=randwrite [mixed]=randrw)

sys_need() { need fio fio; need /usr/bin/python3 python3-minimal; }
sys_start() { :; }
sys_ready() { :; }
sys_client() { CLIENT=(); }
# Below snap: what the preparation left there is gone when a measurement begins.
sys_engine() { [ ! -e "$WORK/snap/fio.json" ] || cp "$WORK/snap/fio.json" "$1"; }

# --end_fsync: --fsync=1 leaves the last write out. --invalidate=0: system.bash says what is cold. A colon would end a file's name.
sys_perform() {
	local file=$WORK/mnt/d1/$2 i share at=0 status=0
	local args=(--output-format=json --rw="${PATTERN[$1]}" --bs="$SIZE" --end_fsync=1 --fallocate=none --invalidate=0 --filename="${file//:/\\:}")

	case $PROFILE/$1 in
	small/write | write/write | */overwrite | */mixed) args+=(--fsync=1) ;;
	esac
	for ((i = 0; i < CLIENTS; i++)); do
		share=$(((COUNT + i) / CLIENTS))
		[ $share = 0 ] || args+=(--name="client$i" --offset=$((at * SIZE)) --size=$((share * SIZE)))
		at=$((at + share))
	done
	mkdir -p "$WORK/snap"
	lim "$LIMIT" fio "${args[@]}" >"$WORK/log/fio" 2>"$WORK/log/fio.err" || status=$?
	/usr/bin/python3 "$HERE/fio_result.py" "$WORK/log/fio" "$WORK/snap/fio.json" "$SIZE" "$CLIENTS" "$status" || tail -n 3 "$WORK/log/fio.err" >&2
	return $status
}

system_main "$@"
