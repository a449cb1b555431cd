#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# mariadb.sh - one MariaDB server (InnoDB, binary log) on one loop device. See system.bash for the commands.
# shellcheck source=/dev/null disable=SC2034,SC2153,SC2154
. "$(dirname "$0")/system.bash"
SYSTEM=mariadb PORT=53306 SERVICE_USER=mysql COLD=restart
# profile    operation  count  size     clients
PROFILES='
bulk         write      32     1048576  1
small        write      2000   1024     4
small-one    write      1000   1024     1
read-cold    read-cold  5000   1024     1
read-warm    read-warm  5000   1024     1
overwrite    overwrite  1000   1024     4
mixed        mixed      1000   1024     4
write        write      500    1024     1
read         read-cold  500    1024     1
'

sys_need() { need mariadbd mariadb-server; need mariadb mariadb-client; }

sys_create() {
	install -d -o mysql -g mysql -m 700 "$WORK/mnt/d1/data"
	lim 120 mariadb-install-db --no-defaults --user=mysql --datadir="$WORK/mnt/d1/data" \
		--auth-root-authentication-method=normal --skip-test-db
}

sys_start() {
	become
	serve server "${BECOME[@]}" mariadbd --no-defaults --datadir="$WORK/mnt/d1/data" --socket="$WORK/run/s.sock" \
		--pid-file="$WORK/run/pid" --bind-address=127.0.0.1 --port="$PORT" --log-bin=binlog --server-id=1 --sync-binlog=1 \
		--innodb-buffer-pool-size=128M --max-allowed-packet=1G --innodb-log-file-size=256M \
		--innodb-buffer-pool-dump-at-shutdown=OFF --innodb-buffer-pool-load-at-startup=OFF
	wait_for 60 "mariadbd answers" sql -e 'select 1' || return 1
	sql -e 'create database if not exists iot'
}

sql() { lim "$LIMIT" mariadb --no-defaults -u root -S "$WORK/run/s.sock" -N -B "$@"; }
sys_ready() { sql -e 'use iot'; }
sys_client() { CLIENT=(mysqlkv "socket=$WORK/run/s.sock"); }

dirty_pages() { sql -e "show global status like 'Innodb_buffer_pool_pages_dirty'" | cut -f2; }
clean() { [ "$(dirty_pages)" = 0 ]; }
sys_flush() {
	sql -e 'set global innodb_max_dirty_pages_pct_lwm = 0, innodb_max_dirty_pages_pct = 0'
	wait_for 120 "all pages are flushed" clean
	sql -e 'set global innodb_max_dirty_pages_pct = 90'
}

sys_engine() {
	sql -e 'show global status' | grep -E '^(Innodb|Binlog|Com_(insert|replace|select|commit)|Queries|Uptime|Handler)' >"$1/status.kv"
	sql -r -e 'show engine innodb status' | sed -n 's/^\(Log sequence number\|Log flushed up to\|Pages flushed up to\|Last checkpoint at\) */\1\t/p' >"$1/innodb.kv"
	sql -e 'show binary logs' | awk '{ n++; s += $2 } END { printf "files\t%d\nbytes\t%.0f\n", n, s }' >"$1/binlog.kv"
}

system_main "$@"
