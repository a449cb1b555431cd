#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# leveldb.sh - a LevelDB on one loop device; the engine lives in the client. See system.bash for the commands.
# shellcheck source=/dev/null disable=SC2034,SC2153,SC2154
. "$(dirname "$0")/system.bash"
SYSTEM=leveldb PORT=0
# profile    operation  count   size  clients
PROFILES='
bulk         fill       100000  1024  1
small        write      2000    1024  1
read-cold    read-cold  10000   1024  1
read-warm    read-warm  10000   1024  1
overwrite    overwrite  2000    1024  1
mixed        mixed      2000    1024  1
write        write      500     1024  1
read         read-cold  500     1024  1
'

sys_need() { need /usr/bin/python3 python3-minimal; need '/usr/lib/*/libleveldb.so*' libleveldb1d; }
sys_start() { :; }
sys_ready() { :; }
# A database a profile: the compactions of one are not charged to another.
sys_client() { CLIENT=(leveldb "path=$WORK/mnt/d1/$PROFILE" "stats=$WORK/run/stats" sync=1); }

# In key order nothing is compacted: bulk writes its keys in random order, without fsync, into an empty database. A key of
# 16 bytes counts as payload too.
prepare_fill() { :; }
load_fill() {
	rm -rf "$WORK/mnt/d1/$PROFILE"
	lim "$LIMIT" /usr/bin/python3 "$HERE/leveldb.py" fill "$WORK/mnt/d1/$PROFILE" "$COUNT" "$SIZE" "$WORK/run/stats"
}

# Its counters begin at every open: the load's own are those found after it.
sys_engine() {
	[ ! -e "$WORK/run/stats" ] || mv "$WORK/run/stats" "$1/leveldb_stats.kv"
}
sys_forget() { rm -f "$WORK/run/stats"; }

system_main "$@"
