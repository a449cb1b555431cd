#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# timeline.bats - timeline --by and --step, latency --cdf, and the pictures of earlier tools. Answers worked out by hand from fixtures/analyze_base.sql.

load ../lib/analyze

# by WHAT [OPTIONS]: "second way part bytes requests" a row
by() { kept "$ANALYZE" timeline "$S" --by "$1" --format tsv --table by "${@:2}" | sed 1d | tr '\t ' ':_' | paste -sd' '; }

@test "timeline --by: cause, owner, system and device have the same 10514432 and 16384" {
	[ "$(by cause)" = "0.000:written:file_data:10485760:20 0.000:written:fs_journal:16384:3 0.000:written:fs_metadata:12288:3 0.000:read:readahead:12288:1 0.000:read:file_data:4096:1" ]
	[ "$(by owner)" = "0.000:written:dd_[812]:10510336:25 0.000:written:unattributed:4096:1 0.000:read:cat_[813]:16384:2" ]
	[ "$(by device)" = "0.000:written:loop0:10514432:26 0.000:read:loop0:16384:2" ]
	sqlite3 "$S" "UPDATE process SET system = 'etcd' WHERE comm = 'dd'"
	[ "$(by system)" = "0.000:written:etcd:10510336:25 0.000:written:unattributed:4096:1 0.000:read:(none):16384:2" ]
	[ "$(by cause --system etcd)" = "0.000:written:file_data:10485760:20 0.000:written:fs_journal:16384:3 0.000:written:fs_metadata:8192:2" ]
}

# Requests of dd at 5, 12 and 2345 ms, one of the tracer, one that the file system submitted of a log
events() {
	sqlite3 "$S" "UPDATE file SET component = 'wal'; INSERT INTO event (run, ts_ns, bytes, task, owner, file, dev, kind, cause, sub)
		SELECT 1, v.column1, v.column2, 3, v.column3, 1, 7340032, k.id, c.id, (SELECT MIN(id) FROM sub WHERE name = 'none') FROM kind k, cause c, (VALUES (5000000, 4096, 3, 'block_write', 'data'), (12000000, 8192, 3, 'block_write', 'journal'),
			(12500000, 4096, NULL, 'block_write', 'metadata'), (2345000000, 16384, 3, 'block_read', 'readahead'), (5000000, 999, 1, 'block_write', 'data'),
			(11000000, 4096, 3, 'fs_write', 'data'), (12000000, 8192, 3, 'fs_write', 'journal'), (12000000, 8192, 3, 'commit', 'journal')) v
		WHERE k.name = v.column4 AND c.name = v.column5"
}

@test "timeline --step 10: events count where they began; one lost event leaves nothing" {
	events
	[ "$(by cause --step 10)" = "0.000:written:file_data:4096:1 0.010:written:fs_journal:8192:1 0.010:written:fs_metadata:4096:1 2.340:read:readahead:16384:1" ]
	[ "$(by component --step 10)" = "0.010:written:fs_journal:8192:1 0.010:written:wal:4096:1" ]
	[ "$(by owner --step 1000)" = "0.000:written:dd_[812]:12288:2 0.000:written:unattributed:4096:1 2.000:read:dd_[812]:16384:1" ]
	mkdir out
	"$ANALYZE" timeline "$S" --by cause --step 10 --plot out >/dev/null
	# bytes a second: 4096 in 10 ms
	grep -q "^written	0.000	0.010	file data	409600.000	0	" out/timeline.tsv
	grep -q "^written	0.010	0.010	journal commit	0	2	" out/timeline.tsv
	grep -q "steps of 10 ms, by events" out/timeline.svg
	"$ROOT/tests/lib/pictures.py" out/timeline.svg
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'block', 'event ring full', 'events', 1)"
	[ "$(by cause --step 10)" = "" ]
	[[ "$(by cause)" == *"file_data:10485760:20"* ]]
}

@test "timeline: steps are 10 ms to a day, 20000 at most; --by and --step are its own" {
	for step in 9 0 86400001 x -5 1.5; do
		run --separate-stderr -2 "$ANALYZE" timeline "$S" --step "$step"
		[ "${#stderr_lines[@]}" = 1 ]
	done
	for args in "waterfall $S --by cause" "breakdown $S --step 100" "compare $S --by device" "report $S -o x --by pidx"; do
		# shellcheck disable=SC2086
		run --separate-stderr -2 "$ANALYZE" $args
		[ "${#stderr_lines[@]}" = 1 ]
	done
	events
	# a run of 2000 s has steps of 100 ms at least
	sqlite3 "$S" "UPDATE run_end SET dur_ns = 2000000000000"
	[ "$(by cause --step 10)" = "0.000:written:fs_journal:8192:1 0.000:written:file_data:4096:1 0.000:written:fs_metadata:4096:1 2.300:read:readahead:16384:1" ]
}

@test "latency --cdf: 50 of 100 writes took at most 1088 ns, 95 4352, 99 69632" {
	[ "$("$ANALYZE" latency "$S" --cdf --format tsv --table cdf | sed 1d | tr '\t' : | paste -sd' ')" = \
		"calls on files:write:1.088:50:50.000 calls on files:write:4.352:95:95.000 calls on files:write:69.632:99:99.000 calls on files:write:1114.112:100:100.000" ]
	[[ $("$ANALYZE" latency "$S") != *calls\ on\ files* ]]
	run --separate-stderr -2 "$ANALYZE" files "$S" --cdf
	[[ $stderr == *"--cdf belongs to the command 'latency'"* ]]
}

@test "pictures as earlier tools counted: calls, backend, bytes by layer, amplification" {
	sqlite3 "$S" "UPDATE process SET system = 'etcd' WHERE comm = 'dd'"
	[ "$("$ANALYZE" pictures "$S" --format tsv | sed -n '2,3p' | cut -f1-15 | tr '\t' : | paste -sd' ')" = \
		"etcd:n/a:3.500:0:10:0:10:0:25:0:10485760:0:10485760:0:10510336 (none):1.500:n/a:4:0:4:0:2:0:16384:0:16384:0:16384:0" ]
	mkdir out
	"$ANALYZE" pictures "$S" --plot out >/dev/null
	[ "$(grep -c '>etcd<' out/pictures.svg)" -ge 4 ]
}

@test "a word has one colour in all pictures, and no two words of a key share one" {
	sqlite3 "$S" "UPDATE process SET system = 'etcd' WHERE comm = 'dd'; UPDATE file SET component = 'wal';
		INSERT INTO file_io VALUES (1, 1, 3, 0, 0, 0, 8, 8388608, 1, 0, 8388608, 0, 8388608)"
	for report in breakdown components timeline waterfall amplification pictures perop; do
		"$ANALYZE" "$report" "$S" --plot out >/dev/null
	done
	python3 - out/*.gp <<-'END'
		import re, sys
		looks = {}
		for path in sys.argv[1:]:
		    blocks = re.split(r"\n\n\n+", open(path[:-2] + "dat").read())
		    for key in re.split(r"\nplot ", open(path).read())[1:]:
		        parts = re.findall(r"data index (\d+) using \(-9\).*?rgb \"(#\w+)\".*title columnheader", key)
		        assert len({colour for _, colour in parts}) == len(parts), (path, parts)
		        for n, colour in parts:
		            looks.setdefault(blocks[int(n)].split("\t")[0], set()).add(colour)
		shared = [w for w in ("wal", "fs journal", "fs metadata", "S calls") if w in looks]
		assert len(shared) == 4, looks.keys()
		assert all(len(looks[w]) == 1 for w in shared), {w: looks[w] for w in shared if len(looks[w]) > 1}
	END
}

# The timelines of a run, by everything, and those of one system.
timelines() { # STORE
	local by

	for by in cause owner system device; do
		"$ANALYZE" timeline "$1" --by $by --table by --format csv
		"$ANALYZE" timeline "$1" --by $by --system etcd --format csv
	done
	"$ANALYZE" timeline "$1" --format csv
}

@test "sums by second say what all aggregates say; sums that miss the run are not used" {
	"$ROOT/tests/lib/gen-run.py" 3000 --systems --processes 100 | "$ANALYZE" ingest kept.sqlite
	# another name and system after its sums came, nobody's, a device that is not named, and a second in which only the cache was used
	sqlite3 kept.sqlite "UPDATE process SET comm = 'mystery', system = NULL WHERE id = 8;
		INSERT INTO agg SELECT run, sec, kind, 0, dev, cause, how, sub, carrier, flags, op, ops, errors, bytes, touched, timed, lat_ns, max_ns FROM agg WHERE owner = 9;
		INSERT INTO agg SELECT run, sec, kind, owner, 8 << 20, cause, how, sub, carrier, flags, op, ops, errors, bytes, touched, timed, lat_ns, max_ns FROM agg WHERE owner = 10;
		INSERT INTO agg SELECT run, 7, (SELECT id FROM kind WHERE name = 'dirty'), owner, dev, cause, how, sub, carrier, flags, op, 1, 0, 4096, 0, NULL, 0, 0 FROM agg WHERE owner = 11 LIMIT 1;
		DELETE FROM agg_total; INSERT INTO agg_total SELECT run, kind, owner, dev, cause, how, sub, carrier, flags, op, SUM(ops), SUM(errors), SUM(bytes), SUM(touched), SUM(timed),
			SUM(lat_ns), MAX(max_ns) FROM agg GROUP BY run, kind, owner, dev, cause, how, sub, flags"
	timelines kept.sqlite >stale
	sqlite3 kept.sqlite "DELETE FROM agg_second"
	timelines kept.sqlite >all
	diff all stale
	"$ANALYZE" migrate kept.sqlite
	[ "$(sqlite3 kept.sqlite "SELECT COUNT(*) * 5 < (SELECT COUNT(*) FROM agg), COUNT(*) > 0 FROM agg_second")" = "1|1" ]
	timelines kept.sqlite >kept
	diff all kept
	grep -q mystery kept
	# it is they that are read: their sum right, their seconds wrong
	sqlite3 kept.sqlite "UPDATE agg_second SET sec = sec + 1"
	timelines kept.sqlite >kept
	if diff -q all kept; then echo "they are not read"; false; fi
	sqlite3 kept.sqlite "UPDATE agg_second SET bytes = bytes + 1 WHERE rowid = (SELECT MIN(rowid) FROM agg_second WHERE bytes > 0)"
	timelines kept.sqlite >kept
	diff all kept
}

@test "--top keeps the seconds and disks with most bytes, not the first ones" {
	sqlite3 "$S" "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 30)
		INSERT INTO agg SELECT run, n, kind, owner, dev, cause, how, sub, carrier, flags, op, ops, errors, 1000 * (n * 7 % 31), touched, timed, lat_ns, max_ns
			FROM agg, n WHERE sec = 0 AND kind = (SELECT id FROM kind WHERE name = 'block_write') AND owner = 3 AND bytes = 10485760;
		DELETE FROM agg WHERE sec = 0"
	# 7 n modulo 31 is 30 at n = 22, 29 at 13, 28 at 4
	[ "$("$ANALYZE" timeline "$S" --format csv --top 3 | cut -d, -f1 | paste -sd' ')" = "sec 22 13 4" ]
	[ "$("$ANALYZE" timeline "$S" --by cause --table by --format csv --top 2 | cut -d, -f1 | paste -sd' ')" = "at_s 22.000 13.000" ]
	[ "$("$ANALYZE" timeline "$S" --format csv --top 2 --sort sec:asc | cut -d, -f1 | paste -sd' ')" = "sec 0 1" ]
	# a disk whose name comes first and that wrote little
	sqlite3 "$S" "INSERT INTO device (run, dev, name, type, leaf) VALUES (1, 8388608, 'aaa', 'disk', 1);
		INSERT INTO agg_total SELECT run, kind, owner, 8388608, cause, how, sub, carrier, flags, op, ops, errors, 4096, touched, timed, lat_ns, max_ns FROM agg_total
			WHERE owner = 3 AND kind = (SELECT id FROM kind WHERE name = 'block_write') AND cause IN (SELECT id FROM cause WHERE name IN ('data', 'journal'))"
	for table in anatomy journal; do
		[ "$("$ANALYZE" breakdown "$S" --table $table --format csv --top 1 | tail -n 1 | cut -d, -f1)" = loop0 ]
	done
}

@test "breakdown of one command has no other process, tracer or bytes of other disks" {
	sqlite3 "$S" "INSERT INTO device (run, dev, name, type, leaf) VALUES (1, 8388608, 'aaa', 'disk', 1);
		INSERT INTO agg_total SELECT run, kind, v.column1, 8388608, cause, how, sub, carrier, flags, op, ops, errors, 4096, touched, timed, lat_ns, max_ns FROM agg_total, (VALUES (0), (2)) v
			WHERE owner = 3 AND kind = (SELECT id FROM kind WHERE name = 'block_write') AND cause = (SELECT id FROM cause WHERE name = 'data')"
	[ "$("$ANALYZE" breakdown "$S" --table owners --format csv | grep -c 'other processes\|iot-trace itself')" = 2 ]
	sqlite3 "$S" "UPDATE run SET filters = 'command'"
	[ "$("$ANALYZE" breakdown "$S" --table owners --format csv | cut -d, -f2 | sort -u | paste -sd' ')" = "cat dd total unattributed who" ]
	[ "$("$ANALYZE" breakdown "$S" --table owners --format csv | grep unattributed | cut -d, -f6)" = 4096 ]
	[ "$("$ANALYZE" breakdown "$S" --table devices --format csv | cut -d, -f1 | paste -sd' ')" = "device loop0 vda" ] # vda: dd's bytes again, below the loop device
}
