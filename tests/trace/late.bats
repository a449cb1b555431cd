#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# late.bats - --system and a process that is recognised midway, by a file that it opens then: it counts from its first call on.

bats_require_minimum_version 1.5.0
load ../lib/helper

setup() { own_run python3:python3-minimal; }

# Writes 8 MiB, is nobody known for as long as is said, opens a database, and writes 1 MiB more: 9,437,184 bytes.
late() { # SECONDS
	cat >late.py <<-P
		import os, sqlite3, time
		f = os.open('$IOT_MNT/plain', os.O_WRONLY | os.O_CREAT)
		os.write(f, b'x' * (8 << 20))
		os.fsync(f)
		time.sleep($1)
		c = sqlite3.connect('$IOT_MNT/a.db', isolation_level=None)
		c.execute('CREATE TABLE t(x)')
		c.execute('INSERT INTO t VALUES(1)')
		time.sleep(1)
		os.write(f, b'y' * (1 << 20))
		os.fsync(f)
	P
	"$trace" --system sqlite --settle sync -o run.sqlite -d 300 2>err &
	tracer=$!
	wait_for grep -q recording err
	python3 late.py
	kill -INT "$tracer"
	wait "$tracer" || :
	"$analyze" verify run.sqlite >verify.txt || fail "$(grep MISMATCH verify.txt)"
}

# The events of 2.5 s of the whole machine wait: others may push out some, which the run says.
said_late() { sql "SELECT COUNT(*) FROM lost WHERE n > 0 AND effect = 'owner' AND what LIKE 'done long before%'"; }

@test "a process recognised 2.5 s after its first write has that in S, T, D, W and B" {
	body() {
		store=run.sqlite
		for _ in 1 2 3 4 5; do
			rm -f "$IOT_MNT"/{plain,a.db} run.sqlite*
			late 2.5
			[ "$(said_late)" -gt 0 ] || break
		done
		file="f.path = '$IOT_MNT/plain'"
		same "T, D, W" "$(sql "SELECT SUM(l.touched), SUM(l.dirtied), SUM(l.written) FROM ledger l JOIN file f ON f.id = l.file WHERE $file")" "9437184 9437184 9437184"
		"$analyze" files run.sqlite --table files --where 'path~/plain' --format csv >files.csv
		same "S, T, D, W, B" "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { print $at["S"], $at["T"], $at["D"], $at["W"], $at["B"] }' files.csv)" \
			"9437184 9437184 9437184 9437184 9437184"
	}
	with_fs ext4 64M -- body
}

@test "a process recognised 8 s after its first write says that its start is missing" {
	body() {
		late 8
		store=run.sqlite
		same "losses" "$(said_late)" 1
		[[ $("$analyze" run.sqlite) != *"missing   nothing"* ]]
	}
	with_fs ext4 64M -- body
}
