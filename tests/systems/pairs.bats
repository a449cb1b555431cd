#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# pairs.bats - real pairs of runs that differ in one known thing: compare finds it, and the sentences of explain name the change.
# Each run is on a fresh file system (workloads/repeat.sh), and those of a pair are run in turn. IOT_SYSTEMS=all: all pairs.

load ../lib/helper

setup() {
	need_tracer
	cd "$BATS_TEST_TMPDIR"
	store=$BATS_TEST_TMPDIR/pair.sqlite
	export IOT_TRACE=$trace
}

all_systems() { [ "${IOT_SYSTEMS:-}" = all ] || skip "IOT_SYSTEMS=all is not set: this pair takes a minute"; }

# once LABEL [OPTIONS] -- COMMAND: one run more
once() {
	"$root/workloads/repeat.sh" 1 --store "$store" --size "${size:-64M}" --idle 0 --label "$@" >log 2>&1 || fail "$(cat log)"
}

# of QUANTITY: "VERDICT PERCENT" of the whole run
of() { "$analyze" compare "$store" --format tsv | awk -F'\t' -v q="$1" '$3 == q { printf "%s %.0f\n", $1, $15 }'; }

# Sentence PLACE about what the newest run of a label is
sentence() { "$analyze" explain "$store" --run "$1" --format tsv | awk -F'\t' -v n="$2" 'NR == n + 1 { print $1 ": " $2 }'; }
about() { "$analyze" explain "$store" --run "$1" --format tsv | awk -F'\t' -v a="$2" '$1 == a { print $2 }'; }

has() { # TEXT PATTERN
	# shellcheck disable=SC2053 # a pattern
	[[ $1 == $2 ]] || fail "got '$1', wanted '$2'"
}

sqlite_run() { # MODE
	local i

	echo "PRAGMA journal_mode=$1; PRAGMA synchronous=FULL; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);" > "$1.sql"
	for ((i = 0; i < 23; i++)); do
		echo "INSERT INTO t(v) VALUES (hex(zeroblob(97)));"
	done >> "$1.sql"
	# the statements lie on the device of the run: what strangers write to the disk of $PWD is in no volume of it
	once "$1" --prepare "cp '$PWD/$1.sql' load.sql" -- sh -c 'sqlite3 t.db < load.sql > /dev/null'
}

@test "SQLite: with a write-ahead log devices write less, and explain names the journal" {
	for _ in 1 2 3 4; do
		sqlite_run DELETE
		sqlite_run WAL
	done
	"$analyze" compare "$store" | tee words >&2
	has "$(of B)" "differs -*"
	has "$(of waf_sys)" "differs ?*"
	grep -q '^answer    device bytes: .* 4 runs each\.$' <(tr -s '\n' ' ' < words | sed 's/  */ /g; s/^.*answer /answer    /; s/4 runs each\..*/4 runs each./')
	has "$(about DELETE undo)" "* the rollback journal of sqlite: *PRAGMA journal_mode=WAL*"
	has "$(about WAL wal)" "* the write-ahead log of sqlite: *PRAGMA synchronous=NORMAL*"
}

@test "ext4: with fast commits devices write less, and explain names journal blocks" {
	all_systems
	for _ in 1 2 3 4 5; do
		once plain -- dd if=/dev/zero of=x bs=4k count=101 oflag=sync status=none
		once fast --mkfs -O --mkfs fast_commit -- dd if=/dev/zero of=x bs=4k count=101 oflag=sync status=none
	done
	"$analyze" compare "$store" >&2
	has "$(of B)" "differs -[4-7]?"
	has "$(of "B journal")" "differs -[5-9]?"
	has "$(of S)" "equal 0"
	has "$(sentence plain 1)" "journal: * the journal of ext4 on *: 5.? blocks a commit (1.0 block bitmap, 1.0 commit, *, 1.00 a sync.*mkfs.ext4 -O fast_commit*"
	has "$(sentence fast 1)" "journal: * full commits, and fast commits between them: * fast commit, *"
}

@test "PostgreSQL: without full_page_writes the log is smaller, and explain says why" {
	all_systems
	bin=$(echo /usr/lib/postgresql/*/bin)
	[ -x "$bin/postgres" ] || skip "postgres is missing: install the Debian package postgresql"
	size=512M
	{
		for c in 1 2 3; do
			echo "CHECKPOINT;"
			for ((i = 1; i <= 60; i++)); do
				echo "UPDATE t SET n = n + 1 WHERE id = $((i * 10 + c));"
			done
		done
	} > load.sql
	echo "CREATE TABLE t WITH (fillfactor = 60) AS SELECT g AS id, 0 AS n, repeat('x', 700) AS v FROM generate_series(1, 700) g;" > make.sql
	chmod 755 . "$BATS_RUN_TMPDIR" "$(dirname "$BATS_TEST_TMPDIR")"
	as="setpriv --reuid=postgres --regid=postgres --clear-groups"
	for _ in 1 2 3 4 5; do
		for mode in on off; do
			once "$mode" --prepare "mkdir pg && chown postgres pg && $as $bin/initdb -D pg -A trust -N >/dev/null && $as $bin/postgres --single -D pg postgres < '$PWD/make.sql' >/dev/null" \
				-- sh -c "$as $bin/postgres --single -D pg -c full_page_writes=$mode -c wal_init_zero=off -c min_wal_size=32MB postgres < '$PWD/load.sql' >/dev/null"
		done
	done
	"$analyze" compare "$store" >&2
	has "$(of B)" "differs -*"
	has "$(of S)" "differs -*"
	has "$(about on wal)" "* the write-ahead log of postgresql: *(full_page_writes)*full_page_writes=off*"
	! about off wal | grep -q '(full_page_writes)'
}
