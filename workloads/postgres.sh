#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# postgres.sh - one PostgreSQL cluster on one loop device. See system.bash for the commands.
# IOT_SERVER_ARGS adds options to the server, such as '-c wal_init_zero=off'.
# shellcheck source=/dev/null disable=SC2034,SC2153,SC2154
. "$(dirname "$0")/system.bash"
SYSTEM=postgres NAME=postgresql PORT=55432 SERVICE_USER=postgres COLD=restart STOP_SIGNAL=INT
# profile    operation   count  size  clients
PROFILES='
bulk         copy        65536  1024  1
small        insert      10000  1024  4
small-one    insert      2000   1024  1
read-cold    scan-cold   65536  1024  1
read-warm    scan-warm   65536  1024  1
read-random  read-cold   5000   1024  1
read-pk      pk-cold     1000   1024  1
overwrite    overwrite   2000   1024  4
mixed        mixed       2000   1024  4
tpcb         tpcb        5000   0     4
write        write       1000   1024  1
read         read-cold   1000   1024  1
'

sys_need() {
	need '/usr/lib/postgresql/*/bin/postgres' postgresql
	need psql postgresql-client
}

pg_bin() { dirname "$(compgen -G '/usr/lib/postgresql/*/bin/postgres' | sort -V | tail -n 1)"; }

sys_create() {
	local data=$WORK/mnt/d1/data

	install -d -o postgres -g postgres -m 700 "$data"
	as_service "$(pg_bin)/initdb" -D "$data" -A trust -E UTF8 --locale=C.UTF-8 -N
}

# A checkpoint only when asked for, and no vacuum: nothing but the load writes.
sys_start() {
	become
	# shellcheck disable=SC2086
	serve postmaster "${BECOME[@]}" "$(pg_bin)/postgres" -D "$WORK/mnt/d1/data" -c listen_addresses=127.0.0.1 -c port="$PORT" \
		-c unix_socket_directories="$WORK/run" -c checkpoint_timeout=1h -c max_wal_size=4GB -c autovacuum=off \
		-c track_io_timing=on ${IOT_SERVER_ARGS:-}
}

sql() { as_service env PGOPTIONS='-c client_min_messages=warning' psql -X -q -At -v ON_ERROR_STOP=1 -h "$WORK/run" -p "$PORT" -U postgres "$@"; }
sys_ready() { sql -c 'select 1'; }
sys_flush() { sql -c checkpoint; }
sys_client() { CLIENT=(libpq "conninfo=host=$WORK/run port=$PORT user=postgres dbname=postgres"); }

sys_engine() {
	local view

	for view in pg_stat_wal pg_stat_bgwriter pg_stat_database pg_stat_archiver; do
		sql -c "select row_to_json(v) from $view v$([ $view != pg_stat_database ] || echo " where datname = 'postgres'")" >"$1/$view.json"
	done
	sql -c "select json_build_object('lsn_bytes', pg_current_wal_lsn() - '0/0', 'insert_lsn_bytes', pg_current_wal_insert_lsn() - '0/0',
		'wal_files', (select count(*) from pg_ls_waldir()), 'database_bytes', pg_database_size('postgres'),
		'relations', (select json_object_agg(relname, pg_relation_size(oid)) from pg_class where relnamespace = 'public'::regnamespace
		and relkind in ('r', 'i')), 'version', current_setting('server_version'))" >"$1/cluster.json"
}

# Plain storage: neither TOAST nor compression, so the payload is what is stored.
new_table() {
	sql -c "create table if not exists $1 (id bigserial primary key, v text); alter table $1 alter v set storage plain"
}

acknowledged() { printf '{"%s_ops":%d,"logical_%s_bytes":%d,"value_bytes":%d,"clients":%d,"errors":0}\n' "$1" "$2" "$1" "$(($2 * SIZE))" "$SIZE" "$CLIENTS"; }

prepare_copy() { new_table bulk; }
load_copy() {
	kv lines "$COUNT" "$SIZE" | sql -c 'copy bulk (v) from stdin' &&
		acknowledged write "$COUNT"
}

prepare_insert() { new_table small; }
load_insert() {
	local script=$WORK/run/insert.sql committed

	[ $((SIZE % 32)) = 0 ] || die "SIZE must be a multiple of 32 for this profile"
	echo "insert into small (v) values (repeat(md5(random()::text), $((SIZE / 32))));" >"$script"
	committed=$(bench -t $((COUNT / CLIENTS)) -f "$script") &&
		acknowledged write "$committed"
}

# bench OPTIONS...: prints how many transactions were committed.
bench() {
	as_service pgbench -h "$WORK/run" -p "$PORT" -U postgres -n -c "$CLIENTS" -j "$((CLIENTS < 2 ? 1 : 2))" "$@" postgres |
		sed -n 's|^number of transactions actually processed: \([0-9]*\).*|\1|p'
}

prepare_scan-cold() { sql -c 'drop table if exists bulk'; prepare_copy; load_copy; sql -c 'vacuum bulk' -c checkpoint; }
load_scan-cold() {
	local rows

	rows=$(sql -c 'copy bulk (v) to stdout' | wc -l) &&
		acknowledged read "$rows"
}
prepare_scan-warm() { prepare_scan-cold; }
load_scan-warm() { load_scan-cold; }

# Few rows of a table as large as bulk: each is a page of the table, and what of the index leads to it.
pk_rows=65536
prepare_pk-cold() {
	new_table pk
	kv lines $pk_rows "$SIZE" | sql -c 'copy pk (v) from stdin'
	sql -c 'vacuum pk' -c checkpoint
}
load_pk-cold() {
	local script=$WORK/run/pk.sql read

	printf '\\set id random(1, %d)\nselect v from pk where id = :id;\n' $pk_rows >"$script"
	read=$(bench -t $((COUNT / CLIENTS)) -f "$script") &&
		acknowledged read "$read"
}

prepare_tpcb() { bench_init; }
bench_init() { as_service pgbench -h "$WORK/run" -p "$PORT" -U postgres -i -q -s 5 postgres 2>/dev/null; }
load_tpcb() {
	local committed

	committed=$(bench -t $((COUNT / CLIENTS))) &&
		printf '{"transactions":%d,"clients":%d,"errors":0}\n' "$committed" "$CLIENTS"
}

system_main "$@"
