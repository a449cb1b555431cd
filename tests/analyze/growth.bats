# SPDX-License-Identifier: GPL-3.0-only
# growth.bats - the cost of a report of a larger store in steps of SQLite's virtual machine, the cost of a run's end in processor time
# against that of a smaller one, never by a clock, and the memory of ingest.

load ../lib/helper
load ../lib/analyze

setup_file() {
	need sqlite3 sqlite3
	need python3 python3
	"$root/tests/lib/gen-run.py" 2000 --systems | "$analyze" ingest "$BATS_FILE_TMPDIR/base.sqlite"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	cp "$BATS_FILE_TMPDIR/base.sqlite" .
}

# A store with so many more processes, files and flows than base.sqlite.
grown() { # FILE PROCESSES FILES FLOWS
	cp base.sqlite "$1"
	sqlite3 "$1" "
		CREATE TEMP TABLE n AS WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 200000) SELECT n FROM n;
		INSERT INTO process(run, id, pid, start_ns, ppid, comm, kthread, rchar, wchar) SELECT 1, 1000 + n, 10000 + n, 1000000 + n, 1, 'p' || n, 0, 4096, 4096 FROM n WHERE n <= $2;
		INSERT INTO agg_total(run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
			SELECT t.run, t.kind, p.id, t.dev, t.cause, t.how, t.sub, t.flags, 1, 0, 4096, 4096, 10, 10 FROM agg_total t JOIN process p
			WHERE t.owner = 4 AND p.id > 1000;
		INSERT INTO agg(run, sec, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
			SELECT run, owner % 60, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns FROM agg_total WHERE owner > 1000;
		INSERT INTO file(run, id, dev, ino, gen, path, component) SELECT 1, 1000 + n, 7 << 20, 9000 + n, 1, '/d/f' || n, 'data' FROM n WHERE n <= $3;
		INSERT INTO ledger(run, file, owner, touched, dirtied, absorbed, written, direct, submitted, cancelled, dirty_end, dirty_late, dirty_start, unexpected)
			SELECT 1, id, 4, 4096, 4096, 0, 4096, 0, 0, 0, 0, 0, 0, 0 FROM file WHERE id > 1000;
		INSERT INTO file_io(run, file, owner, component, read_ops, read_bytes, write_ops, write_bytes, sync_ops, fs_read_bytes, fs_write_bytes, dev_read_bytes, dev_write_bytes)
			SELECT 1, id, 4, 0, 1, 1, 1, 1, 0, 0, 4096, 0, 4096 FROM file WHERE id > 1000;
		INSERT INTO flow(run, owner, family, protocol, local, local_port, remote, remote_port, role, loopback, sent_bytes, recv_bytes, sends, recvs)
			SELECT 1, 4 + n % 2, 'ipv4', 'tcp', '127.0.0.1', CASE n % 2 WHEN 0 THEN 9000 ELSE 10000 + n / 2 END, '127.0.0.1',
			       CASE n % 2 WHEN 0 THEN 9999 + n / 2 ELSE 9000 END, CASE n % 2 WHEN 0 THEN 'server' ELSE 'client' END, 1, 10, 10, 1, 1 FROM n WHERE n <= $4;"
}

steps() { # REPORT STORE
	local limit=()
	[ "$1" != check ] || limit=(--max waf_sys=99)
	IOT_STEPS=1 "$analyze" "$1" "$2" --format csv "${limit[@]}" 2>&1 >/dev/null | sed -n 's/^\([0-9]*\) steps$/\1/p'
}


# No report takes more than 2.5 times the steps for each doubling from 1 to 8 thousand, with IOT_LONG=1 from 1 to 4 and from 4 to 16.
grows_gently() { # PROCESSES FILES FLOWS, each a number or N: so many thousands
	local sizes now before n

	read -ra sizes < <(sized "1000 8000" "1000 4000 16000")
	for n in "${sizes[@]}"; do
		grown "$n.sqlite" "${1/N/$n}" "${2/N/$n}" "${3/N/$n}"
	done
	for report in $(reports); do
		before=$(steps "$report" 1000.sqlite)
		for n in "${sizes[@]:1}"; do
			now=$(steps "$report" "$n.sqlite")
			[ $((now * 10000)) -le $((before * $(sized 156250 62500))) ] || fail "$report: $now steps at $n, $before at $(sized "an eighth" "a quarter") of it"
			before=$now
		done
		[ "$before" -gt 0 ]
	done
}

@test "twice as many processes: no report costs more than 2.5 times as much" {
	grows_gently N 10 10
}

@test "twice as many files: no report costs more than 2.5 times as much" {
	grows_gently 10 N 10
}

@test "files: a file that is not shown costs at most 650 steps, in all three tables" {
	for n in 4000 16000; do
		grown "$n.sqlite" 10 "$n" 10
		sqlite3 "$n.sqlite" "UPDATE file_io SET write_bytes = file WHERE file > 1000"
	done
	n=$((($(steps files 16000.sqlite) - $(steps files 4000.sqlite)) / 12000))
	[ "$n" -ge 100 ] && [ "$n" -le 650 ] || fail "$n steps a file"
}

@test "30,000 files of which three are asked for are counted, not kept in memory" {
	need_plain "$analyze" "they take memory themselves"
	sums() { # FILES
		grown "$1.sqlite" 10 "$1" 10
		sqlite3 "$1.sqlite" "UPDATE file_io SET write_bytes = 1000000 * file WHERE file > 1000"
		python3 -c '
import resource, subprocess, sys
print(subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=True).stdout.decode())
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$analyze" files "$1.sqlite" --table files --sort S --where 'S>1000000000' --where files=1 --top 3
	}
	sums 3000 >small
	sums 30000 >large
	cat small large
	same "the largest" "$(grep -o '/d/f[0-9]*' large | paste -sd' ')" "/d/f30000 /d/f29999 /d/f29998"
	same "others" "$(grep -ho '([0-9]* others)' small large | paste -sd' ')" "(2997 others) (29997 others)"
	[ $(($(tail -n 1 large) - $(tail -n 1 small))) -le 40960 ] || fail "$(tail -n 1 small) and $(tail -n 1 large) KiB"
}

@test "twice as many flows: no report costs more than 2.5 times as much" {
	grows_gently 10 10 N
}

@test "fifty times as many events: no report costs more, they are answered from sums" {
	cp base.sqlite many.sqlite
	stored=$(sqlite3 many.sqlite "SELECT group_concat(name) FROM pragma_table_info('event')")
	sqlite3 many.sqlite "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 49) INSERT INTO event($stored) SELECT $stored FROM n CROSS JOIN event"
	for report in $(reports | grep -vE '^(pattern|iosize|heatmap|fsync|slow|carriers|explain|uring)$'); do # those are of events: tests/trace/pattern.bats
		same "steps of $report" "$(steps "$report" many.sqlite)" "$(steps "$report" base.sqlite)"
	done
}

# Steps of timeline for each aggregate that 4000.sqlite has more than 10.sqlite.
steps_an_aggregate() { # WHAT
	local n

	n=$(for s in 10 4000; do IOT_STEPS=1 "$analyze" timeline "$s.sqlite" --by "$1" 2>&1 >/dev/null | tail -n 1 | cut -d' ' -f1; done | paste -sd' ')
	echo $(((${n#* } - ${n% *}) / rows))
}

@test "timeline: names of 4,000 processes of one name cost at most a fifth of its sums" {
	for n in 10 4000; do
		grown "$n.sqlite" "$n" 10 10
		sqlite3 "$n.sqlite" "UPDATE process SET comm = 'p' WHERE id > 1000;
			INSERT INTO agg SELECT $(sqlite3 "$n.sqlite" "SELECT group_concat(iif(name = 'sec', 'n.value', 'a.' || name)) FROM pragma_table_info('agg')")
				FROM agg a JOIN json_each('[0,1,2,3,4,5,6,7,8,9]') n WHERE owner > 1000"
	done
	rows=$(($(sqlite3 4000.sqlite "SELECT COUNT(*) FROM agg") - $(sqlite3 10.sqlite "SELECT COUNT(*) FROM agg")))
	cause=$(steps_an_aggregate cause)
	for by in system owner; do
		n=$(steps_an_aggregate $by)
		[ "$n" -ge "$cause" ] && [ $((n * 100)) -le $((cause * 120)) ] || fail "--by $by: $n steps an aggregate, --by cause $cause"
	done
}

@test "timeline: 1,000 processes of five names cost sums by second, 20 steps each" {
	"$root/tests/lib/gen-run.py" 100000 --systems --processes 1000 | "$analyze" ingest kept.sqlite
	saved=$(sqlite3 kept.sqlite "SELECT (SELECT COUNT(*) FROM agg) - (SELECT COUNT(*) FROM agg_second)")
	[ "$saved" -gt 10000 ]
	cp kept.sqlite all.sqlite
	sqlite3 all.sqlite "DELETE FROM agg_second"
	for by in cause owner; do
		n=$(for s in all kept; do IOT_STEPS=1 "$analyze" timeline $s.sqlite --by "$by" 2>&1 >/dev/null | tail -n 1 | cut -d' ' -f1; done | paste -sd' ')
		[ $((${n% *} - ${n#* })) -ge $((saved * 20)) ] || fail "--by $by: $n steps, $saved rows less"
	done
}

# Steps for each event that many.sqlite has more.
steps_an_event() { # REPORT [OPTION...]
	local report=$1 few many

	shift
	few=$(IOT_STEPS=1 "$analyze" "$report" base.sqlite "$@" 2>&1 >/dev/null | awk '/ steps$/ { n += $1 } END { print n }')
	many=$(IOT_STEPS=1 "$analyze" "$report" many.sqlite "$@" 2>&1 >/dev/null | awk '/ steps$/ { n += $1 } END { print n }')
	echo $(((many - few) / ($(sqlite3 many.sqlite "SELECT COUNT(*) FROM event") - $(sqlite3 base.sqlite "SELECT COUNT(*) FROM event"))))
}

@test "each event is looked at once by a report, at 10 to 40 steps" {
	cp base.sqlite many.sqlite
	stored=$(sqlite3 many.sqlite "SELECT group_concat(name) FROM pragma_table_info('event')")
	sqlite3 many.sqlite "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 29) INSERT INTO event($stored) SELECT $stored FROM n CROSS JOIN event"
	for report in fsync pattern iosize heatmap explain "timeline --by cause --step 20" "timeline --by owner --step 20" "timeline --by component --step 20"; do
		n=$(steps_an_event $report)
		[ "$n" -ge 8 ] && [ "$n" -le 40 ] || fail "$report: $n steps"
	done
	need gnuplot gnuplot
	n=$(steps_an_event timeline --plot .)
	[ "$n" -le 25 ] || fail "timeline with its pictures: $n steps"
	n=$(steps_an_event report -o page.html)
	[ "$n" -le 160 ] || fail "report: $n steps"
}

@test "lines beyond the 500 with the most bytes are one: nothing is left out of it" {
	grown many.sqlite 3000 10 10
	"$analyze" amplification many.sqlite --table summary --format csv >lines.csv
	same "lines" "$(grep -c '^process,' lines.csv)" 501
	same "sum of the lines" "$(awk -F, '$1 == "process" || $1 == "system" || $1 == "kthread" { sum += $4 } END { printf "%d", sum }' lines.csv)" \
		"$(sqlite3 many.sqlite "SELECT SUM(t.bytes) FROM agg_total t JOIN kind k ON k.id = t.kind JOIN layer l ON l.id = k.layer JOIN sub s ON s.id = t.sub
			WHERE k.dir = 'w' AND l.name IN ('syscall', 'uring') AND s.name IN ('regular', 'blockdev') AND t.owner > 2")"
}

@test "a report of 60,000 processes costs at most 1,200 steps for each" {
	grown huge.sqlite 60000 10 10
	n=$(steps amplification huge.sqlite)
	[ "$n" -le $((60000 * 1200)) ] || fail "amplification: $n steps"
	n=$(steps verify huge.sqlite)
	[ "$n" -le $((60000 * 2300)) ] || fail "verify: $n steps"
}

# Resident KiB that ingest needs for a run with so many files, each written, written back and never seen again.
ingest_kib() { # FILES
	python3 - "$1" "$root/tests/lib/gen-run.py" >"$1.jsonl" <<-'E'
		import subprocess, sys
		n = int(sys.argv[1])
		base = subprocess.run([sys.argv[2], "200"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
		at = next(i for i, l in enumerate(base) if '"t":"event"' in l)
		put = sys.stdout.write
		put("\n".join(base[:at]) + "\n")
		event = next(l for l in base[at:] if '"kind":"fs_write"' in l and '"cause":"data"' in l)
		write = next(l for l in base[at:] if '"kind":"pwrite64"' in l)
		import json
		w, b = json.loads(write), json.loads(event)
		lines = ""
		for e in (w, b):
		    e.update(file=-1, offset=0, bytes=4096, size=4096, ts_ns=-2)
		    lines += json.dumps(e, separators=(",", ":")).replace("%", "%%").replace(":-1", ":%d").replace(":-2", ":%d") + "\n"
		file_first = lines.index('"file":') < lines.index('"ts_ns":')
		for i in range(n):
		    f, ts = 1000 + i, 10**9 + i * 1000
		    put('{"t":"file","id":%d,"dev":"7:0","ino":%d,"gen":1,"path":"/mnt/iot/f%d"}\n' % (f, f, f))
		    put(lines % ((f, ts, f, ts + 500) if file_first else (ts, f, ts + 500, f)))
		put(base[-1] + "\n")
	E
	python3 -c '
import resource, subprocess, sys
subprocess.run([sys.argv[1], "ingest", sys.argv[2]], stdin=open(sys.argv[3]), check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$analyze" "in$1.sqlite" "$1.jsonl"
}

@test "ingest needs no more memory for the ledger of four times the files (defect 22)" {
	need_plain "$analyze" "they take memory themselves"
	small=$(ingest_kib 50000)
	large=$(ingest_kib 200000)
	same "the ledger" "$(sqlite3 in200000.sqlite "SELECT COUNT(*), SUM(dirtied) - SUM(written), SUM(unexpected), SUM(dirty_end) FROM ledger WHERE file >= 1000")" "200000|0|0|0"
	# the sums by file (stream/dirty/fileio.c) hold at most 80 MiB
	[ "$large" -le $((small + 80 * 1024)) ] || fail "$small KiB for 50,000 files, $large KiB for 200,000"
	echo "$small KiB for 50,000 files, $large KiB for 200,000"
}

# A stream with N files of a file system that makes its device up, and N sums of processes; the number of dirtied pages is watched.
many() { # N
	"$root/tests/lib/gen-run.py" 300 --systems | awk -v n="$1" '{ print }
		/"t":"probe"/ && !seen++ { print "{\"t\":\"probe\",\"name\":\"cache__dirty\",\"layer\":\"cache\",\"target\":\"tp_btf/writeback_dirty_folio\",\"chosen\":1}" }
		/"t":"device"/ && !files++ { for (i = 1; i <= n; i++) {
			print "{\"t\":\"file\",\"id\":" 1000 + i ",\"dev\":\"0:50\",\"ino\":" 9000 + i ",\"gen\":1,\"path\":\"/d/f" i "\"}"
			print "{\"t\":\"process\",\"id\":" 1000 + i ",\"pid\":" 10000 + i ",\"start_ns\":1000,\"comm\":\"p\",\"kthread\":0}"
			print "{\"t\":\"agg\",\"sec\":0,\"kind\":\"fs_write\",\"owner\":" 1000 + i ",\"dev\":\"7:0\",\"cause\":\"none\",\"how\":\"none\",\"sub\":\"none\",\"flags\":0,\"ops\":1,\"errors\":0,\"bytes\":4096,\"touched\":0,\"timed\":0,\"lat_ns\":0,\"max_ns\":0}" } }'
}

# Processor time of a command, in ms.
cpu_ms() { # COMMAND...
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdin=sys.stdin, check=True)
print(round(1000 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime))' "$@"
}

@test "four times the files and processes: the final ledger does not cost their product" {
	for n in 5000 20000; do
		many $n >$n.jsonl
		cpu_ms "$analyze" ingest $n.sqlite <$n.jsonl >$n.ms
		[ "$(sqlite3 $n.sqlite "SELECT COUNT(*) > 0 FROM ledger")" = 1 ] || fail "there is no ledger"
	done
	# a product would be 16 times as much, and half a minute
	[ "$(<20000.ms)" -le $((9 * $(<5000.ms) + 500)) ] || fail "$(<20000.ms) ms for 20000, $(<5000.ms) for 5000"
}
