#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# rocksdb.sh - db_bench of RocksDB on one loop device; the engine lives in the client. See system.bash for the commands.
# shellcheck source=/dev/null disable=SC2034,SC2153,SC2154
. "$(dirname "$0")/system.bash"
SYSTEM=rocksdb PORT=0
KEY=16
# Size is that of the value; a key of 16 bytes counts as payload too, but not in write and read, whose payload is that of a sweep.
# profile    operation    count   size  clients
PROFILES='
bulk         fill         200000  1024  1
compact      compacted    200000  1024  1
small        sync         2000    1024  1
read-cold    random-cold 5000    1024  1
read-warm    random-warm 5000    1024  1
overwrite    update       20000   1024  1
mixed        mix          20000   1024  1
write        put          500     1024  1
read         get-cold     500     1024  1
'

sys_need() { need db_bench rocksdb-tools; }
sys_start() { :; }
sys_ready() { :; }
sys_client() { CLIENT=(); }
# Its tickers begin at every open: the load's own are those found after it.
sys_engine() { [ ! -e "$WORK/run/tickers" ] || mv "$WORK/run/tickers" "$1/statistics.kv"; }

sys_forget() { rm -f "$WORK/run/tickers"; }

database() { echo "$WORK/mnt/d1/${IOT_SET:-$PROFILE}"; }

# bench OPTIONS...: a database a profile, or the one that IOT_SET names. The tickers "rocksdb.NAME COUNT : N" of --statistics go
# where sys_engine finds them.
bench() {
	local db log=$WORK/log/db_bench

	db=$(database)
	lim "$LIMIT" db_bench --db="$db" --wal_dir="$db" --value_size="$SIZE" --key_size=$KEY --compression_type=none \
		--write_buffer_size=8388608 --statistics --stats_interval=0 --threads="$CLIENTS" "$@" >"$log" 2>&1 ||
		{ tail -n 3 "$log" >&2; return 1; }
	sed -n 's/^\(rocksdb\.[a-z.0-9-]*\) COUNT : \([0-9]*\)$/\1\t\2/p' "$log" >"$WORK/run/tickers"
}

ticker() { awk -v t="rocksdb.$1" '$1 == t { n = $2 } END { printf "%.0f", n }' "$WORK/run/tickers"; }

# The engine's counts of bytes written and read by its user: keys are written, values are read.
acknowledged() {
	local written

	written=$(ticker number.keys.written)
	printf '{"write_ops":%s,"logical_write_bytes":%s,"read_ops":%s,"logical_read_bytes":%s,"value_bytes":%s,"errors":0}\n' \
		"$written" $((written * (SIZE + KEY))) "$(ticker number.keys.read)" "$(ticker bytes.read)" "$SIZE"
}

KEYS=200000
base() { rm -rf "$(database)" && bench --benchmarks=fillrandom,flush,waitforcompaction --num=$KEYS; }
existing() { bench --use_existing_db=1 --num=$KEYS --benchmarks="$1" "${@:2}" && acknowledged; }

load_fill() { rm -rf "$(database)" && bench --benchmarks=fillrandom --num="$COUNT" && acknowledged; }
# Until nothing is left to flush or to compact: a compaction that the end interrupts is in no ticker.
load_compacted() { rm -rf "$(database)" && bench --benchmarks=fillrandom,flush,waitforcompaction --num="$COUNT" && acknowledged; }
load_sync() { bench --benchmarks=fillrandom --num="$COUNT" --sync=1 && acknowledged; }
prepare_random-cold() { base; }
prepare_random-warm() { base; }
prepare_update() { base; }
prepare_mix() { base; }
load_random-cold() { existing readrandom --reads="$COUNT"; }
load_random-warm() { existing readrandom --reads="$COUNT"; }
load_update() { existing overwrite --writes="$COUNT"; }
load_mix() { existing readrandomwriterandom --readwritepercent=50 --reads="$COUNT"; }

# Each key once, durable, in random order; then all of them by one MultiGet from the first key on: no key is read twice.
# Its cold read pays for the open too: what only the log holds is replayed into a table.
put() { rm -rf "$(database)" && bench --benchmarks=filluniquerandom --num="$COUNT" --sync=1; }
load_put() { put && values write "$(ticker number.keys.written)"; }
prepare_get-cold() { put; }
load_get-cold() {
	bench --use_existing_db=1 --benchmarks=multireadrandom --num="$COUNT" --reads="$COUNT" --batch_size="$COUNT" --multiread_stride=1 &&
		values read "$(ticker number.multiget.keys.found)"
}
values() { # write|read OPERATIONS
	printf '{"%s_ops":%s,"logical_%s_bytes":%s,"value_bytes":%s,"errors":%s}\n' "$1" "$2" "$1" $(($2 * SIZE)) "$SIZE" $(($2 != COUNT))
}

system_main "$@"
