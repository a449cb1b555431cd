#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# changed.bats - one change in a real system: `compare` finds the difference, and the sentences of `explain` name the change.

load ../lib/stacks
load ../lib/helper

setup() { own_run; }

# Three repeats on fresh file systems, into one store, with a label.
repeats() { # LABEL STORE MKFS_OPTION COMMAND...
	local n label=$1 store=$2 option=$3

	shift 3
	for n in 1 2 3; do
		body() { cd "$IOT_MNT" && "$trace" -q --no-events --label "$label" -o "$store" -- "$@"; cd /; }
		# shellcheck disable=SC2086 # options
		with_fs ext4 128M $option -- body "$@"
	done
}

said() { # STORE RUN ABOUT
	"$analyze" explain "$1" --run "$2" --format tsv | awk -F '\t' -v a="$3" '$1 == a { print $2 }'
}


@test "SQLite, WAL for DELETE: the rollback journal before, and the log after" {
	need sqlite3 sqlite3
	script='for i in $(seq 60); do echo "INSERT INTO t VALUES(randomblob(2000));"; done | sqlite3 x.db'
	repeats before "$PWD/s.sqlite" "" sh -c "sqlite3 x.db 'CREATE TABLE t(x)'; $script"
	repeats after "$PWD/s.sqlite" "" sh -c "sqlite3 x.db 'PRAGMA journal_mode=WAL; CREATE TABLE t(x)' >/dev/null; $script"
	"$analyze" compare s.sqlite:before s.sqlite:after | tee compared
	grep -q 'device bytes: .* -> .*, -' compared
	[[ $(said s.sqlite before undo) == *"are the rollback journal of sqlite"* ]]
	[[ $(said s.sqlite after wal) == *"are the write-ahead log of sqlite"* ]]
	empty "a rollback journal after" "$(said s.sqlite after undo | grep '[2-9][0-9] % of the device')"
}

@test "ext4, with fast commit: the journal's sentence says so" {
	only_long "each time SQLite with another journal"
	need_root
	load='for i in $(seq 40); do echo x >>f; sync f; done'
	repeats before "$PWD/s.sqlite" "" sh -c "$load"
	repeats after "$PWD/s.sqlite" "-O fast_commit" sh -c "$load"
	"$analyze" compare s.sqlite:before s.sqlite:after --force | tee compared
	grep -q 'device bytes: .* -> .*, -' compared
	[[ $(said s.sqlite before journal) == *"blocks a commit"* ]]
	[[ $(said s.sqlite after journal) == *"fast commit"* ]]
}

# Each of 150 commits changes a row of another page (seven rows lie in one), the first time after a checkpoint; each run others of these pages.
@test "PostgreSQL without full_page_writes (IOT_CHANGED=all): no whole pages in the log" {
	[ "${IOT_CHANGED:-}" = all ] || skip "IOT_CHANGED=all runs it: half a minute"
	need_root
	bin=$(dirname "$(compgen -G '/usr/lib/postgresql/*/bin/postgres' | sort -V | tail -n 1)")
	[ -x "$bin/initdb" ] || skip "a program is missing: install the Debian package postgresql"
	as_postgres=(setpriv --reuid=postgres --regid=postgres --init-groups)
	body() {
		local m n label row=0

		run=$IOT_MNT/run
		install -d -o postgres -g postgres -m 700 "$IOT_MNT/data" "$run"
		(cd / && "${as_postgres[@]}" "$bin/initdb" -D "$IOT_MNT/data" -A trust -N >/dev/null)
		"${as_postgres[@]}" "$bin/postgres" -D "$IOT_MNT/data" -c listen_addresses= -c port=55437 -c unix_socket_directories="$run" -c autovacuum=off \
			-c checkpoint_timeout=1h >server.log 2>&1 3>&- &
		server=$!
		ask() { psql -X -q -At -h "$run" -p 55437 -U postgres "$@"; }
		for _ in $(seq 100); do ask -c 'SELECT 1' >/dev/null 2>&1 && break; sleep 0.2; done
		changed_log || failed=yes
		kill -INT "$server"
		wait "$server" || :
		[ -z "${failed:-}" ]
	}
	changed_log() {
		ask -c "CREATE TABLE t(id int PRIMARY KEY, v text)" -c "ALTER TABLE t ALTER v SET STORAGE plain" \
			-c "INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 3000) i" || return
		for label in before after; do
			ask -c "ALTER SYSTEM SET full_page_writes = $([ $label = before ] && echo on || echo off)" -c "SELECT pg_reload_conf()" >/dev/null || return
			for n in 1 2 3; do
				row=$((row + 1))
				for m in $(seq 150); do echo "UPDATE t SET v = v WHERE id = $((m * 14 + row));"; done >load.sql
				ask -c CHECKPOINT && sync -f "$IOT_MNT" || return
				"$trace" -q --no-events --label $label --all --system postgresql --dev "$IOT_DEV" -o p.sqlite -- psql -X -q -h "$run" -p 55437 -U postgres -f load.sql || return
			done
		done
	}
	with_fs ext4 512M -- body
	"$analyze" compare p.sqlite:before p.sqlite:after --force | tee compared
	grep -q 'device bytes: .* -> .*, -' compared
	said p.sqlite before wal
	said p.sqlite after wal
	[[ $(said p.sqlite before wal) == *"that is what whole pages in the log look like (full_page_writes)"* ]]
	[[ $(said p.sqlite after wal) == *"are the write-ahead log of postgresql"* && $(said p.sqlite after wal) != *"whole pages in the log"* ]]
}
