#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# stores.bats - stores of older versions, several streams at once, prune, and interrupted writers.

load ../lib/analyze

setup() {
	cd "$BATS_TEST_TMPDIR"
}

teardown() {
	exec 7>&-
	! mountpoint -q "$BATS_TEST_TMPDIR/small" || umount "$BATS_TEST_TMPDIR/small"
}

gen() { "$ROOT/tests/lib/gen-run.py" "$@"; }
older() { sqlite3 "$1" <"$BATS_TEST_DIRNAME/../fixtures/format4.sql"; } # STORE
same() { [ "$2" = "$3" ] || { echo "$1: got '$2', wanted '$3'" >&2; false; }; }
one_line() { # STATUS TEXT COMMAND...
	local status=$1 text=$2

	shift 2
	run --separate-stderr "-$status" "$@"
	[ "${#stderr_lines[@]}" = 1 ] && [[ $stderr == *"$text"* ]] || { echo "$stderr" >&2; false; }
}
reports() { (cd "$ROOT/reports" && printf '%s\n' *.sql | sed 's/\.sql$//' | grep -vxE 'check|seed|sizes|runs|hosts'); }
# Every report, but the name of the store in it.
answers() { # STORE
	local r

	for r in headline amplification files journal verify waterfall; do
		echo "== $r"
		"$ANALYZE" "$r" "$1" --format json | sed "s/$1/STORE/g"
	done
	"$ANALYZE" timeline "$1" --by cause --step 100 | sed "s/$1/STORE/g"
}

@test "every report reads format 4: exact where recorded, n/a where not" {
	older old.sqlite
	# 23 blocks of 4099 bytes are 94277
	same "waf_sys" "$(ratio old.sqlite dd waf_sys | cut -d' ' -f3-4)" "151552 94277"
	same "hop_page" "$(ratio old.sqlite dd hop_page | cut -d' ' -f3-4)" "188416 94277"
	run -0 "$ANALYZE" journal old.sqlite --table operations --format csv
	[[ ${lines[1]} == loop*",process,dd,2 procs,n/a,n/a,n/a,n/a,n/a,"[1-9]*",n/a,n/a,n/a" ]]
	"$ANALYZE" report old.sqlite -o page.html
	"$ROOT/tests/lib/page.py" page.html
}

@test "an older store is brought to this format: it answers as before, takes new runs" {
	older old.sqlite
	chmod 640 old.sqlite
	answers old.sqlite >before
	gen 300 >run.jsonl
	one_line 1 "was written by an older version of iot (format 4, this is 5): \`iot-analyze migrate\` brings it to this one, or give a new file" "$ANALYZE" ingest old.sqlite run.jsonl
	"$ANALYZE" migrate old.sqlite
	same "mode" "$(stat -c %a old.sqlite)" 640
	answers old.sqlite >after
	diff before after
	same "user_version" "$(sqlite3 old.sqlite "PRAGMA user_version")" 5
	same "whole" "$(sqlite3 old.sqlite "PRAGMA integrity_check")" ok
	"$ANALYZE" ingest old.sqlite run.jsonl
	same "runs" "$("$ANALYZE" runs old.sqlite --format csv | cut -d, -f1,2 | tail -n 2 | paste -sd ' ')" "1,format 4 2,synthetic"
	"$ANALYZE" migrate old.sqlite # what is of this format stays as it is
	same "runs" "$("$ANALYZE" runs old.sqlite --format csv | wc -l)" 3
}

@test "a row that no version of iot wrote stops migrate and prune, and is named" {
	gen 40 | "$ANALYZE" ingest x.sqlite
	sqlite3 x.sqlite ".dbconfig defensive off" "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') WHERE type = 'table';
		PRAGMA writable_schema = RESET; UPDATE agg_total SET ops = 'abc'"
	cp x.sqlite before
	for command in migrate "prune --events"; do
		# shellcheck disable=SC2086 # words
		one_line 1 "a row of table 'agg_total' cannot be: cannot store TEXT value in INTEGER column agg_total.ops" "$ANALYZE" $command x.sqlite
		cmp before x.sqlite
	done
	sqlite3 x.sqlite "UPDATE agg_total SET ops = 1; UPDATE event SET bytes = 'abc' WHERE rowid = 3"
	one_line 1 "a row of table 'event' cannot be: cannot store TEXT value in INTEGER column event.bytes" "$ANALYZE" migrate x.sqlite
}

@test "a store whose events have no types takes more runs as it is, record by record" {
	gen 3000 --systems >a.jsonl
	gen 40 --uuid b | "$ANALYZE" ingest x.sqlite
	run sqlite3 x.sqlite "UPDATE event SET bytes = 'abc'"
	[[ $output == *"cannot store TEXT value in INTEGER column event.bytes"* ]]
	sqlite3 x.sqlite ".dbconfig defensive off" "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') WHERE name = 'event'; PRAGMA writable_schema = RESET"
	cp x.sqlite y.sqlite
	"$ANALYZE" ingest x.sqlite a.jsonl
	same "its events are as they were" "$(sqlite3 x.sqlite "SELECT strict FROM pragma_table_list('event')")" 0
	"$ANALYZE" migrate y.sqlite
	same "and brought to this version" "$(sqlite3 y.sqlite "SELECT strict FROM pragma_table_list('event')")" 1
	"$ANALYZE" ingest y.sqlite a.jsonl
	for store in x y; do sqlite3 $store.sqlite 'SELECT * FROM event' >$store.events; done
	[ "$(wc -l <x.events)" -gt 3000 ]
	cmp x.events y.events
}

@test "a store of today is the same after migrate, row by row" {
	gen 3000 --systems | "$ANALYZE" ingest now.sqlite
	sqlite3 now.sqlite .dump | sort >before
	"$ANALYZE" migrate now.sqlite
	sqlite3 now.sqlite .dump | sort | diff before -
}

@test "no store of ours, damaged, or before format 4: refused in one line, unchanged" {
	refused() { # TEXT
		local sum

		sum=$(sha256sum <x.sqlite)
		for command in migrate "prune --events"; do
			# shellcheck disable=SC2086 # words
			one_line 1 "$1" "$ANALYZE" $command x.sqlite
			same "the file" "$(sha256sum <x.sqlite)" "$sum"
			[ -z "$(find . -name '.iot*')" ]
		done
	}
	one_line 1 "cannot open none.sqlite: No such file" "$ANALYZE" migrate none.sqlite
	[ ! -e none.sqlite ]
	seq 1000 >x.sqlite
	refused "x.sqlite is not a store of iot"
	rm x.sqlite
	sqlite3 x.sqlite "CREATE TABLE run(run)"
	refused "another program made this SQLite file"
	rm x.sqlite
	older x.sqlite
	sqlite3 x.sqlite "PRAGMA user_version = 3"
	refused "was written by an older version of iot (format 3, this is 5): read it with that version, or record it again"
	sqlite3 x.sqlite "PRAGMA user_version = 4; DROP TABLE agg_total"
	refused "no such table: agg_total"
	rm x.sqlite
	older x.sqlite
	sqlite3 x.sqlite "UPDATE kind SET name = 'swapped' WHERE name = 'write'"
	refused "x.sqlite is not as a version of iot made it: its table 'kind'"
	rm x.sqlite
	older x.sqlite
	sqlite3 x.sqlite "DROP VIEW v_event; DROP VIEW v_agg; DROP VIEW v_total; ALTER TABLE process DROP COLUMN comm"
	refused "its table 'process' has no column 'comm'"
	rm x.sqlite
	older x.sqlite
	sqlite3 x.sqlite ".dbconfig defensive off" "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') WHERE name = 'agg'"
	sqlite3 x.sqlite "UPDATE agg SET ops = 'many' WHERE rowid = 1"
	refused "a row of table 'agg' cannot be"
	rm x.sqlite
	older x.sqlite
	dd if=/dev/urandom of=x.sqlite bs=4096 seek=5 count=2 conv=notrunc status=none
	run --separate-stderr -1 "$ANALYZE" migrate x.sqlite
	[ "${#stderr_lines[@]}" = 1 ]
}

@test "several streams go into a store at once; an unreadable one stops no other" {
	for n in 1 2 3; do gen 100 --seed $n >$n.jsonl; done
	head -c 3000 3.jsonl >cut.jsonl
	"$ANALYZE" ingest all.sqlite 1.jsonl 2.jsonl 3.jsonl
	for n in 1 2 3; do
		"$ANALYZE" ingest one$n.sqlite $n.jsonl
		same "run $n" "$("$ANALYZE" amplification all.sqlite --run $n --format csv)" "$("$ANALYZE" amplification one$n.sqlite --format csv)"
	done
	run --separate-stderr -1 "$ANALYZE" ingest some.sqlite 1.jsonl none.jsonl 1.jsonl cut.jsonl 2.jsonl
	[[ $stderr == *"cannot open none.jsonl"*"is already in this store"*"run marked incomplete"* ]]
	same "states" "$("$ANALYZE" runs some.sqlite --format csv | awk -F, 'NR > 1 { print $11 }' | paste -sd ' ')" "complete incomplete complete"
}

@test "prune takes out events or runs, gives the space back, and keeps every sum" {
	for n in 1 2 3; do
		gen 10000 --seed $n | sed "1s/\"label\":\"synthetic\"/\"label\":\"l$n\"/; 1s/\"wall_ns\":1764000000/\"wall_ns\":176400000$n/" | "$ANALYZE" ingest s.sqlite
	done
	size() { stat -c %s s.sqlite; }
	sums() { "$ANALYZE" amplification s.sqlite --run "$1" --format csv --table ratios; "$ANALYZE" files s.sqlite --run "$1" --format csv; "$ANALYZE" verify s.sqlite --run "$1" --format csv; }
	one_line 2 "prune what?" "$ANALYZE" prune s.sqlite
	one_line 2 "no run" "$ANALYZE" prune s.sqlite:9
	# which would take them out of all runs
	one_line 2 "--run is not for prune: a run of a store is STORE:RUN" "$ANALYZE" prune s.sqlite --run 2 --events
	one_line 2 "--system is not for prune" "$ANALYZE" prune s.sqlite --system etcd --events
	one_line 2 "--run is not for merge" "$ANALYZE" merge m.sqlite s.sqlite s.sqlite --run 2
	one_line 2 "--events belongs to the command 'prune'" "$ANALYZE" migrate s.sqlite --events
	one_line 2 "-o belongs to the command 'report'" "$ANALYZE" files s.sqlite -o files.txt
	same "events are there" "$(sqlite3 s.sqlite "SELECT COUNT(DISTINCT run) FROM event")" 3
	full=$(size)
	for n in 1 2 3; do sums $n >before$n; done
	run -0 "$ANALYZE" prune s.sqlite:2 --events
	[[ $output == "s.sqlite: 0 runs taken out, events of 1 more; 3 runs are left; "*" MiB before, now "* ]]
	[ "$(size)" -lt $((full * 9 / 10)) ]
	same "events" "$(sqlite3 s.sqlite "SELECT run, COUNT(*) > 0 FROM event GROUP BY run" | paste -sd ' ')" "1|1 3|1"
	for n in 1 2 3; do sums $n | diff before$n -; done
	"$ANALYZE" headline s.sqlite --run 2 | grep -q 'missing   events: they were pruned'
	for report in pattern iosize heatmap fsync; do
		"$ANALYZE" $report s.sqlite --run 2 | grep -q 'it needs events, and those of the run were pruned'
	done
	sqlite3 s.sqlite "UPDATE run_end SET events = 1000001 WHERE run = 2"
	"$ANALYZE" report s.sqlite --run 2 -o page.html
	same "reports of events in the page" "$(grep -c 'Not measured, because it needs events, and those of the run were pruned.' page.html)" 4
	"$ANALYZE" prune s.sqlite --older 100000 # none is so old
	same "runs" "$(sqlite3 s.sqlite "SELECT COUNT(*) FROM run")" 3
	sqlite3 s.sqlite "UPDATE run SET wall_ns = (unixepoch() - 300 * 86400) * 1000000000 WHERE run = 1"
	sqlite3 s.sqlite "UPDATE run SET wall_ns = (unixepoch() - 100 * 86400) * 1000000000 WHERE run = 2; UPDATE run SET wall_ns = (unixepoch() - 86400) * 1000000000 WHERE run = 3"
	"$ANALYZE" prune s.sqlite --older 200
	same "runs" "$(sqlite3 s.sqlite "SELECT group_concat(run) FROM run")" 2,3
	"$ANALYZE" prune s.sqlite:l2
	same "runs" "$(sqlite3 s.sqlite "SELECT group_concat(run) FROM run")" 3
	sums 3 | sed 's/^//' >after3
	diff <(cut -d, -f1-9 before3) <(cut -d, -f1-9 after3)
	same "whole" "$(sqlite3 s.sqlite "PRAGMA integrity_check")" ok
	empty_size=$(size)
	for n in 4 5; do gen 10000 --seed $n | "$ANALYZE" ingest s.sqlite; done
	"$ANALYZE" prune s.sqlite --to $((empty_size + 400000))
	[ "$(size)" -le $((empty_size + 400000)) ]
	same "the newest keep their events" "$(sqlite3 s.sqlite "SELECT group_concat(DISTINCT run) FROM event")" "$(sqlite3 s.sqlite "SELECT run FROM run ORDER BY wall_ns DESC LIMIT 1")"
	one_line 1 "s.sqlite: nothing was changed: " "$ANALYZE" prune s.sqlite --to 1KiB
	cp s.sqlite $'\033[31m.sqlite'
	run -0 "$ANALYZE" prune $'\033[31m.sqlite' --events
	[[ $output == '\x1b[31m.sqlite: 0 runs taken out, '* ]]
	[ -z "$(find . -name '.iot*')" ]
}

@test "interrupted or killed at any moment, a store is the old one or the new one whole" {
	gen 60000 | "$ANALYZE" ingest s.sqlite
	gen 60000 --seed 2 | sed '1s/node1/node2/' | "$ANALYZE" ingest t.sqlite
	sum=$(sha256sum <s.sqlite)
	done=0
	for ms in 5 20 40 60 90 130 180; do
		for signal in INT KILL; do
			for command in "migrate s.sqlite" "prune s.sqlite --to 1KiB" "merge new.sqlite s.sqlite t.sqlite"; do
				# shellcheck disable=SC2086 # words
				run timeout --foreground -s $signal 0.$(printf %03d $ms) "$ANALYZE" $command
				same "whole" "$(sqlite3 -readonly s.sqlite "SELECT COUNT(*) > 60000 FROM event")" 1
				[ ! -e s.sqlite-journal ]
				if [ -e new.sqlite ]; then
					same "merged" "$(sqlite3 new.sqlite "SELECT COUNT(*) > 120000 FROM event; PRAGMA quick_check" | paste -sd ' ')" "1 ok"
					rm new.sqlite
				fi
				[ $signal = KILL ] || [ -z "$(find . -name '.iot*')" ]
			done
		done
	done
	"$ANALYZE" verify s.sqlite
	"$ANALYZE" migrate t.sqlite
	[ -z "$(find . -name '.iot*')" ]
}

@test "a store that somebody writes or has open is not replaced under him" {
	gen 300 >run.jsonl
	"$ANALYZE" ingest s.sqlite run.jsonl
	exec 5<s.sqlite
	flock 5
	one_line 1 "another iot is writing to this store" "$ANALYZE" migrate s.sqlite
	exec 5<&-
	sqlite3 s.sqlite "PRAGMA journal_mode = WAL" >/dev/null
	coproc reader { sqlite3 -readonly s.sqlite; }
	printf 'BEGIN; SELECT COUNT(*) FROM run;\n' >&"${reader[1]}"
	read -r _ <&"${reader[0]}"
	run --separate-stderr "$ANALYZE" prune s.sqlite --events
	printf '.quit\n' >&"${reader[1]}"
	# shellcheck disable=SC2154 # set by coproc
	wait "$reader_PID" || :
	[ "$status" = 1 ]
	same "events are there" "$(sqlite3 s.sqlite "SELECT COUNT(*) > 0 FROM event")" 1
	"$ANALYZE" prune s.sqlite --events
	same "events are gone" "$(sqlite3 s.sqlite "SELECT COUNT(*) FROM event")" 0
	[ ! -e s.sqlite-wal ]
}

# Of a device of so many KiB: the status says whether the store is one file, and nothing that was committed is lost.
on_small() { # KIB
	local status=0

	mount -o remount,size="$1"k small
	"$ANALYZE" ingest small/x.sqlite big.jsonl 2>err || status=$?
	[ -e small/x.sqlite ] || { [ "$status" = 1 ] && grep -q "no space left" err; return; }
	if [ ! -e small/x.sqlite-wal ]; then
		same "$1 KiB: one file" "$(sqlite3 small/x.sqlite "PRAGMA quick_check")" ok
		[ "$status" = 0 ] || grep -q "no space left" err
		return
	fi
	same "$1 KiB: status" "$status" 1
	grep -q 'x.sqlite: no space left on the device to put small/x.sqlite-wal into it: .* make room, then `iot-analyze migrate small/x.sqlite` ' err
	apart=$((apart + 1))
	before=$("$ANALYZE" runs small/x.sqlite --format csv)
	mount -o remount,size=8000k small
	"$ANALYZE" migrate small/x.sqlite
	[ ! -e small/x.sqlite-wal ]
	same "$1 KiB: runs" "$("$ANALYZE" runs small/x.sqlite --format csv)" "$before"
	same "$1 KiB: whole" "$(sqlite3 small/x.sqlite "PRAGMA integrity_check")" ok
}

@test "on a nearly full device a store is one whole file, or the status says so" {
	[ "$(id -u)" = 0 ] || skip "root is needed to mount a small file system"
	local apart=0

	gen 30000 >big.jsonl
	mkdir small
	mount -t tmpfs -o size=8000k tmpfs small
	for kib in 300 600 850 950 1100 1400 1700 2000 2400 2800 3200 3600 5000; do
		on_small $kib
		rm -f small/*
	done
	[ "$apart" -gt 1 ]
}

# A program that has a read transaction open until descriptor 7 is closed.
begin_reading() { # STORE
	rm -f go
	mkfifo go
	python3 -c 'import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("BEGIN")
c.execute("SELECT COUNT(*) FROM run").fetchall()
open("reads", "w")
sys.stdin.readline()' "$1" <go 3>&- &
	reader=$!
	exec 7>go
	until [ -e reads ]; do sleep 0.05; done
	rm reads
}

@test "a reader is named by the writer that waits for it; a WAL store takes runs" {
	gen 300 >a.jsonl
	gen 300 --uuid b >b.jsonl
	gen 300 --uuid c >c.jsonl
	"$ANALYZE" ingest s.sqlite a.jsonl
	begin_reading s.sqlite
	one_line 1 "s.sqlite: python3 (process $reader) is reading it, and nothing can be written before it has done so: end that, or give a new file" \
		"$ANALYZE" ingest s.sqlite b.jsonl
	exec 7>&-
	wait "$reader"
	(sed 's/"uuid":"[^"]*"/"uuid":"w"/' a.jsonl; until [ -e end ]; do sleep 0.05; done) | "$ANALYZE" ingest s.sqlite 2>err 7>&- &
	writer=$!
	until [ -e s.sqlite-wal ]; do sleep 0.05; done
	begin_reading s.sqlite
	: >end
	wait "$writer"
	grep -q 's.sqlite: python3 (process '"$reader"') has it open, so the last of it stays in s.sqlite-wal, .* `iot-analyze migrate s.sqlite` ' err
	same "runs of both files" "$("$ANALYZE" runs s.sqlite --format csv | wc -l)" 3
	for uuid in b c; do
		run --separate-stderr -0 "$ANALYZE" ingest s.sqlite $uuid.jsonl
		[[ $stderr == *"s.sqlite-wal, which belongs to it"* ]]
	done
	exec 7>&-
	wait "$reader"
	"$ANALYZE" migrate s.sqlite
	[ ! -e s.sqlite-wal ]
	same "runs" "$(sqlite3 -readonly s.sqlite "SELECT COUNT(*) FROM run_end")" 4
}

@test "each writer of a store says in one sentence that RLIMIT_FSIZE ends it" {
	gen 3000 >a.jsonl
	"$ANALYZE" ingest s.sqlite a.jsonl
	gen 300 --uuid b | sed "1s/node1/node2/" | "$ANALYZE" ingest t.sqlite
	cp s.sqlite before
	for limit in 2000 20000 100000 200000 400000; do
		for command in "ingest new.sqlite a.jsonl" "migrate s.sqlite" "prune s.sqlite --events" "merge new.sqlite s.sqlite t.sqlite"; do
			# shellcheck disable=SC2086 # words
			one_line 1 "File too large: none may have more than $limit bytes here; raise that limit (ulimit -f)" \
				prlimit --fsize=$limit "$ANALYZE" $command
			[ ! -e new.sqlite ]
			cmp before s.sqlite
		done
	done
	[ -z "$(find . -name '.iot*')" ]
}

@test "leftovers of a killed run are removed by the next run, and nothing else is" {
	gen 300 >a.jsonl
	"$ANALYZE" ingest s.sqlite a.jsonl
	for name in .iot-0000000000000000 .iot-00000000000000a1 .iot-00000000000000a2; do cp s.sqlite $name; done
	: >.iot-0000000000000000-journal
	exec 7<.iot-00000000000000a1
	flock 7
	ln .iot-00000000000000a2 other # two names
	ln -s s.sqlite .iot-00000000000000a3
	touch .iot-0 .iot-000000000000000g .iot-00000000000000000 iot-0000000000000000
	"$ANALYZE" migrate s.sqlite
	same "what is left" "$(find . -name '*iot-*' | sort | paste -sd ' ')" \
		"./.iot-0 ./.iot-00000000000000000 ./.iot-000000000000000g ./.iot-00000000000000a1 ./.iot-00000000000000a2 ./.iot-00000000000000a3 ./iot-0000000000000000"
	exec 7>&-
	"$ANALYZE" prune s.sqlite --events
	[ ! -e .iot-00000000000000a1 ]
	same "the store" "$(sqlite3 s.sqlite "PRAGMA quick_check")" ok
}

@test "a signal while ingest sets up a store ends it, also where its input says nothing" {
	gen 300 >a.jsonl
	mkfifo silent
	exec 7<>silent
	head -n 1 a.jsonl >&7
	run timeout -s KILL 20 strace -o /dev/null -e trace=flock -e inject=flock:signal=INT:when=1 "$ANALYZE" ingest new.sqlite silent
	same "status" "$status" 130
}

@test "a file that a run writes takes at most 230 bytes of the writer's memory" {
	! grep -q __asan_init "$ANALYZE" || skip "sanitizers have memory of their own"
	gen 300 >run.jsonl
	cat >more.py <<-'END'
		import resource, subprocess, sys
		FILE = '{"t":"file","id":%d,"dev":"7:0","ino":%d,"gen":1,"path":"/mnt/iot/%d"}\n'
		EVENT = ('{"t":"event","ts_ns":%d,"dur_ns":9,"offset":0,"size":%d,"bytes":%d,"task":4,"tid":4,"owner":4,"file":%d,'
		         '"dev":"7:0","kind":"%s"}\n')
		lines = open("run.jsonl").readlines()
		def peak(files):
		    with open("more.jsonl", "w") as f:
		        f.writelines(lines[:-1])
		        for i in range(1000, 1000 + files):
		            f.write(FILE % (i, i, i) + EVENT % (5000000 + i, 100, 100, i, 'pwrite64","sub":"regular') +
		                    EVENT % (5000001 + i, 4096, 4096, i, 'fs_write","cause":"data'))
		        f.write(lines[-1])
		    subprocess.run([sys.argv[1], "ingest", "%d.sqlite" % files, "more.jsonl"], check=True)
		    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
		few, many = peak(10000), peak(200000)
		print((many - few) // 190000)
	END
	bytes=$(python3 more.py "$ANALYZE")
	echo "# $bytes bytes a file" >&3
	[ "$bytes" -le 230 ]
}
