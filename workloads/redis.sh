#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# redis.sh - one Redis server with an append-only file on one loop device. IOT_FSYNC=always|everysec|no.
# See system.bash for the commands.
# shellcheck source=/dev/null disable=SC2034,SC2153,SC2154
. "$(dirname "$0")/system.bash"
# All data is in memory: the only cold read is the start, which loads the append-only file.
SYSTEM=redis PORT=56379 COLD=start DRIVE_SIZE=1G
# profile    operation  count  size     clients
PROFILES='
bulk         write      64     1048576  1
small        write      5000   1024     8
small-one    write      1000   1024     1
read-cold    read-cold  10000  1024     1
read-warm    read-warm  10000  1024     1
overwrite    overwrite  2000   1024     8
mixed        mixed      2000   1024     8
rewrite      rewrite    10000  1024     8
write        write      1000   1024     1
read         read-cold  1000   1024     1
'

sys_need() { need redis-server redis-server; need redis-cli redis-tools; }

sys_start() {
	mkdir -p "$WORK/mnt/d1/data"
	serve server redis-server --bind 127.0.0.1 --port "$PORT" --dir "$WORK/mnt/d1/data" --appendonly yes \
		--appendfsync "${IOT_FSYNC:-always}" --save '' --auto-aof-rewrite-percentage 0
}

cli() { lim "$LIMIT" redis-cli -h 127.0.0.1 -p "$PORT" "$@"; }
# While it loads the file it answers an error, with exit status 0.
sys_ready() { [ "$(cli ping)" = PONG ]; }
sys_client() { CLIENT=(resp "port=$PORT"); }
sys_engine() { [ ! -s "$WORK/pids" ] || cli info all | tr -d '\r' >"$1/info.kv"; }

prepare_rewrite() { perform write "$(data_set)"; }
load_rewrite() {
	cli bgrewriteaof >&2 && wait_for 120 "the rewrite ends" rewritten &&
		echo '{"rewrites":1,"errors":0}'
}
rewritten() { [ "$(cli info persistence | grep -cE '^aof_rewrite_(in_progress|scheduled):0')" = 2 ]; }

system_main "$@"
