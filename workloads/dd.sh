#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# dd.sh - dd on one loop device with ext4: files and nothing above them, not a storage system. See system.bash for the commands.
# The payload is what dd itself counted: its records and bytes are in the ledger as the engine's statistics.
# shellcheck source=/dev/null disable=SC2034,SC2153,SC2154
. "$(dirname "$0")/system.bash"
SYSTEM=dd PORT=0
# A set is one file of COUNT records of SIZE bytes, read and written in order. Clients are processes, each with its part of the file;
# mixed reads the second half of the part and writes it over the first. Every write is durable (O_SYNC), those of bulk by one fsync.
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

sys_need() { need dd coreutils; }
sys_start() { :; }
sys_ready() { :; }
sys_client() { CLIENT=(); }
# Below snap: what the preparation left there is gone when a measurement begins.
sys_engine() { [ ! -e "$WORK/snap/dd.kv" ] || cp "$WORK/snap/dd.kv" "$1"; }

# run_dd OP SET CLIENT FIRST COUNT: one process, over COUNT records of the set from the FIRST.
run_dd() {
	local file=$WORK/mnt/d1/$2 durable=conv=notrunc,fsync args

	case $PROFILE/$1 in
	small/write | write/write | */overwrite | */mixed) durable="conv=notrunc oflag=sync" ;;
	esac
	case $1 in
	write | overwrite) args=(if=/dev/zero of="$file" seek="$4" count="$5") ;;
	read) args=(if="$file" of=/dev/null skip="$4" count="$5") durable='' ;;
	mixed) args=(if="$file" of="$file" skip=$(($4 + $5 - $5 / 2)) seek="$4" count=$(($5 / 2))) ;;
	esac
	# shellcheck disable=SC2086
	lim "$LIMIT" dd bs="$SIZE" iflag=fullblock "${args[@]}" $durable 2>"$WORK/log/dd.$3"
}

sys_perform() {
	local i share at=0 pids=() status=0

	mkdir -p "$WORK/snap"
	rm -f "$WORK"/log/dd.*
	for ((i = 0; i < CLIENTS; i++)); do
		share=$(((COUNT + i) / CLIENTS))
		run_dd "$1" "$2" $i $at $share &
		pids+=($!)
		at=$((at + share))
	done
	for i in "${pids[@]}"; do
		wait "$i" || status=$?
	done
	records "$1"
	return $status
}

# Counts of the processes, as the client's part of a ledger: "N+M records out", whole and partial ones, and the bytes copied.
# A process that was killed counted nothing that is known: then there is no sum.
records() {
	awk -v op="$1" -v size="$SIZE" -v clients="$CLIENTS" -v kv="$WORK/snap/dd.kv" '
		/ records (in|out)$/ { split($1, part, "+"); n[$3] += part[1] + part[2] }
		/ copied, / { bytes += $1; ended++ }
		/^dd: / { errors++; error = $0; gsub(/["\\]/, "", error) }
		END {
			if (ended < clients && !errors) { errors = clients - ended; error = "dd was killed" }
			printf "{\"errors\":%d,\"value_bytes\":%.0f,\"clients\":%d", errors, size, clients
			if (errors) printf ",\"error\":\"%s\"", error
			if (ended == clients) {
				printf "records_in: %.0f\nrecords_out: %.0f\nbytes: %.0f\n", n["in"], n["out"], bytes >kv
				if (op != "read") printf ",\"write_ops\":%.0f,\"logical_write_bytes\":%.0f", n["out"], bytes
				if (op == "read" || op == "mixed") printf ",\"read_ops\":%.0f,\"logical_read_bytes\":%.0f", n["in"], bytes
			}
			print "}"
		}' "$WORK"/log/dd.*
}

system_main "$@"
