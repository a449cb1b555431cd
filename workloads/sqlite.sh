#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# sqlite.sh - a SQLite file on one loop device; the engine lives in the client. See system.bash for the commands.
# shellcheck source=/dev/null disable=SC2034,SC2153,SC2154
. "$(dirname "$0")/system.bash"
SYSTEM=sqlite PORT=0 DRIVE_SIZE=1G
# profile    operation  count  size  clients
PROFILES='
bulk         write      20000  1024  1
bulk-delete  write      20000  1024  1
small        write      1000   1024  1
small-delete write      1000   1024  1
read-cold    read-cold  10000  1024  1
read-warm    read-warm  10000  1024  1
overwrite    overwrite  1000   1024  1
mixed        mixed      1000   1024  1
write        write      500    1024  1
read         read-cold  500    1024  1
'

sys_need() { need /usr/bin/python3 python3-minimal; need sqlite3 sqlite3; }
sys_start() { :; }
sys_ready() { :; }

# bulk is one transaction; *-delete has the rollback journal instead of the write-ahead log.
sys_client() {
	local journal=wal batch=1

	case $PROFILE in *-delete) journal=delete ;; esac
	case $PROFILE in bulk*) batch=0 ;; esac
	CLIENT=(sqlitekv "path=$WORK/mnt/d1/$journal.db" "journal=$journal" "batch=$batch")
}

sys_engine() {
	local db

	for db in "$WORK"/mnt/d1/*.db; do
		[ ! -e "$db" ] || lim 30 sqlite3 -readonly "$db" "select json_object('page_size', (select page_size from pragma_page_size),
			'page_count', (select page_count from pragma_page_count), 'freelist_count', (select freelist_count from pragma_freelist_count),
			'file_bytes', $(stat -c %s "$db"), 'version', sqlite_version())" >"$1/$(basename "$db").json"
	done
}

system_main "$@"
