# SPDX-License-Identifier: GPL-3.0-only
# faulty.bats - one call of a program fails, the next time another one: the files that it leaves are sound, and its messages are right.
# IOT_FAULTS=all: every n of every call, 336,000 faults in an hour; IOT_FAULTS=CALL (faulty.c): every n of that one,
# IOT_FAULTS="CALL FIRST STEP": FIRST, and each STEP after it.
# shellcheck shell=bash

load ../lib/helper

setup_file() {
	built faulty.so faulty-run
}

setup() {
	need_root
	need_plain "$analyze" "they must be the first library"
	place=$(mktemp -d "$IOT_IMG_DIR/faulty.XXXXXX")
	cd "$place" || return 1
	for uuid in a b; do
		"$root/tests/lib/gen-run.py" 40 --uuid $uuid >$uuid.jsonl
	done
}

teardown() {
	cd /
	rm -rf "$place"
}

@test "ingest and readers with one fault each: sound stores, honest status, run again" {
	# shellcheck disable=SC2086 # words
	"$IOT_BUILD/faulty-run" "$IOT_BUILD/faulty.so" "$analyze" a.jsonl b.jsonl . ${IOT_FAULTS-} >said || { cat said; false; }
	tail -n 1 said | sed 's/^/# /' >&3
	[ -n "${IOT_FAULTS-}" ] || grep -qE '^[0-9]{3,} faults: ' said
}

# Such a store is looked at column by column: what it lacks reads as NULL, and what could not be read must not. Later reads are those of the report.
@test "a store with its own view: a read that fails is an error, not a missing column" {
	local n status errors=0

	"$analyze" ingest x.sqlite a.jsonl b.jsonl
	sqlite3 x.sqlite "CREATE VIEW more AS SELECT 1"
	"$analyze" headline x.sqlite >whole
	for n in $(seq 51 "$(sized 5 1)" "$(sized 101 400)"); do
		status=0
		FAULTY="read $n 5" LD_PRELOAD=$IOT_BUILD/faulty.so "$analyze" headline x.sqlite >said 2>err 99>/dev/null || status=$?
		[ "$status" = 0 ] || { errors=$((errors + 1)); continue; }
		cmp said whole >&2 || fail "read $n: exit status 0, but another answer"
	done
	[ "$errors" -gt 3 ]
}

@test "killed at every write and sync of its end, a run has its ledger, or no end" {
	local n=0 status ends=0
	"$analyze" ingest whole.sqlite b.jsonl
	wanted=$(sqlite3 whole.sqlite 'SELECT count(*), (SELECT count(*) FROM ledger), (SELECT count(*) FROM file_io) FROM run_end')
	[[ $wanted == 1\|[1-9]*\|[1-9]* ]]
	while :; do
		n=$((n + 1))
		rm -f x.sqlite*
		status=0
		FAULTY="fsync $n -1" LD_PRELOAD=$IOT_BUILD/faulty.so "$analyze" ingest x.sqlite b.jsonl 2>/dev/null 99>&1 || status=$?
		[ "$status" != 0 ] || break
		same status "$status" 137
		[ -s x.sqlite ] || continue
		got=$(sqlite3 x.sqlite 'SELECT (SELECT count(*) FROM run_end), (SELECT count(*) FROM ledger), (SELECT count(*) FROM file_io)' 2>/dev/null) || got=new
		case $got in
		"$wanted") ends=$((ends + 1)) ;;
		new | 0\|0\|*) "$analyze" ingest x.sqlite b.jsonl ;;
		*) fail "killed at sync $n: $got" ;;
		esac
	done
	[ "$n" -gt 4 ] && [ "$ends" -gt 0 ]
}

# Files that a command leaves next to its stores when it is killed at each such call, on a file system with O_TMPFILE or without.
killed_at() { # CALL LEFT COMMAND...
	local call=$1 left=$2 n=0 status

	shift 2
	while :; do
		n=$((n + 1)) status=0
		rm -f new.sqlite
		FAULTY="$call $n -1" LD_PRELOAD=$IOT_BUILD/faulty.so "$@" 2>err 99>&1 || status=$?
		same "killed at $call $n: the store" "$(sqlite3 a.sqlite 'PRAGMA quick_check; SELECT count(*) FROM run_end')" $'ok\n1'
		[ ! -e new.sqlite ] || same "the new one" "$(sqlite3 new.sqlite 'PRAGMA quick_check; SELECT count(*) FROM run_end')" $'ok\n1'
		[ "$status" != 0 ] || break
		same "killed at $call $n: status" "$status" 137
		[ "$(find . -name '.iot-*' | wc -l)" -le "$left" ] || fail "killed at $call $n of $*: $(find . -name '.iot-*')"
		kills=$((kills + 1))
	done
	[ -z "$(find . -name '.iot-*')" ]
}

@test "killed at each call, migrate, prune and merge leave nothing for long" {
	local kills=0
	"$analyze" ingest a.sqlite a.jsonl
	sed '1s/node1/node2/' b.jsonl | "$analyze" ingest b.sqlite
	for call in pwrite fsync unlink; do
		killed_at $call 0 "$analyze" migrate a.sqlite
		killed_at $call 0 "$analyze" prune a.sqlite --older 100000
		killed_at $call 0 "$analyze" merge new.sqlite a.sqlite b.sqlite
	done
	killed_at link 1 "$analyze" migrate a.sqlite
	killed_at link 0 "$analyze" merge new.sqlite a.sqlite b.sqlite
	echo "# $kills kills" >&3
	[ "$kills" -gt 20 ]
}

@test "without O_TMPFILE, migrate and merge use a name that the next one removes" {
	local n=0
	"$analyze" ingest a.sqlite a.jsonl
	sed '1s/node1/node2/' b.jsonl | "$analyze" ingest b.sqlite
	for command in "migrate a.sqlite" "merge new.sqlite a.sqlite b.sqlite"; do
		# shellcheck disable=SC2086 # words
		FAULTY="tmpfile 1 95+" LD_PRELOAD=$IOT_BUILD/faulty.so timeout -s KILL 60 strace -o /dev/null -e trace=renameat,renameat2 -e inject=renameat,renameat2:error=EIO:signal=KILL \
			"$analyze" $command 99>/dev/null || :
		n=$((n + $(find . -name '.iot-*' | wc -l)))
		FAULTY="tmpfile 1 95+" LD_PRELOAD=$IOT_BUILD/faulty.so "$analyze" $command 99>/dev/null
		[ -z "$(find . -name '.iot-*')" ]
	done
	same "left by two kills" "$n" 2
	same "the new one" "$(sqlite3 new.sqlite 'PRAGMA quick_check; SELECT count(*) FROM run_end')" $'ok\n1'
}

@test "a run given again replaces the incomplete one once complete; its load stays" {
	"$analyze" ingest x.sqlite a.jsonl
	head -n 100 b.jsonl | "$analyze" ingest x.sqlite && false
	sqlite3 x.sqlite "INSERT INTO load(run, system) VALUES(2, 'etcd')"
	head -n 50 b.jsonl | "$analyze" ingest x.sqlite && false
	same "both attempts are there" "$(sqlite3 x.sqlite 'SELECT count(*), count(DISTINCT uuid) FROM run')" "3|3"
	"$analyze" ingest x.sqlite b.jsonl
	same "one is left" "$(sqlite3 x.sqlite 'SELECT group_concat(uuid), (SELECT count(*) FROM run_end) FROM (SELECT uuid FROM run ORDER BY uuid)')" "a,b|2"
	for table in event agg agg_total process file ledger file_io; do
		same "rows of $table" "$(sqlite3 x.sqlite "SELECT count(*) FROM $table WHERE run NOT IN (SELECT run FROM run_end)")" 0
	done
	same load "$(sqlite3 x.sqlite "SELECT system, uuid FROM load JOIN run USING (run)")" "etcd|b"
	run "$analyze" ingest x.sqlite b.jsonl
	[ "$status" = 1 ] && [[ $output == *"run b is already in this store" ]]
}

# Each command, while memory ends at the n-th call for it and is not to be had again.
ends_of_memory() { # NAME COMMAND...
	local n=1 status name=$1

	shift
	while :; do
		cp base.sqlite x.sqlite
		rm -f new.sqlite
		status=0
		: >fired
		FAULTY="malloc $n 12+" LD_PRELOAD=$IOT_BUILD/faulty.so "$@" >said 2>err 99>fired </dev/null || status=$?
		[ -s fired ] || break
		if [ "$status" = 0 ]; then
			cmp said whole >&2 || fail "$name, from malloc $n on: exit status 0, but another answer"
		else
			same "$name, from malloc $n on: status" "$status" 1
			grep -qi memory err || fail "$name, from malloc $n on: '$(cat err)'"
			same "$name, from malloc $n on: integrity" "$(sqlite3 x.sqlite 'PRAGMA integrity_check; SELECT count(*) FROM run_end')" $'ok\n2'
		fi
		n=$((n + n / more + 1)) faults=$((faults + 1))
	done
}

@test "memory that is gone from any call on: a message, status 1, and a whole store" {
	local faults=0 words more

	more=$(sized 1 2)
	"$analyze" ingest base.sqlite a.jsonl b.jsonl
	head -n 100 a.jsonl >cut.jsonl
	printf '{"ledger": 1, "system": "sys", "payload_bytes": 5000000}' >load.json
	while read -ra words; do
		cp base.sqlite x.sqlite
		rm -f new.sqlite
		"$analyze" "${words[@]}" >whole 2>err
		ends_of_memory "${words[*]}" "$analyze" "${words[@]}"
	done <<-END
		amplification x.sqlite --ledger load.json
		files x.sqlite --where S>4KiB --sort B --format json
		timeline x.sqlite --plot .
		report x.sqlite -o page.html
		compare x.sqlite:1 x.sqlite:2
		sql x.sqlite .views
		completion zsh
		ingest new.sqlite a.jsonl
		prune x.sqlite --older 100000
		migrate x.sqlite
	END
	"$trace" --systems >whole # processes come and go
	while read -r n; do
		run env FAULTY="malloc $n 12+" LD_PRELOAD="$IOT_BUILD/faulty.so" "$trace" --systems 99>/dev/null
		[ "$status" = 1 ] && [[ $output == *[Mm]emory* && $output != *"not JSON"* ]] || fail "--systems, from malloc $n on: $status $output"
	done < <(seq 1 "$(sized 194 97)" 2500)
	echo "# $faults faults" >&3
	[ "$faults" -gt 100 ]
}
