#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# slow.bats - `iot-analyze slow` and `fsync`, table files: the slowest calls by the time they waited, and syncs by file. Answers worked
# out by hand.

load ../lib/analyze

# An event: NAME TS DUR OWNER TID FILE DEV BYTES CAUSE QUEUE SUB
happened() {
	sqlite3 "$S" "INSERT INTO event(run, kind, ts_ns, dur_ns, owner, tid, file, dev, bytes, cause, queue_ns, sub)
		SELECT 1, k.id, $2, $3, $4, $5, nullif($6, 0), $7, nullif($8, 0), c.id, nullif(${10}, 0), (SELECT MIN(id) FROM sub WHERE name = '${11:-none}')
		FROM kind k JOIN cause c ON c.name = '$9' WHERE k.name = '$1'"
}

loop0=7340032 vda=266338304

# Of a table of slow these columns of each row
of_slow() { # TABLE COLUMNS [OPTIONS]
	"$ANALYZE" slow "$S" --table "$1" --format csv "${@:3}" | python3 -c 'import csv, sys
for r in csv.DictReader(sys.stdin): print(*(r[c] for c in sys.argv[1].split()))' "$2"
}

@test "a sync of 1000 us: enter 100, queue 100, data 200, commit 300, flush 200" {
	happened fsync 1000000 1000000 5 50 1 $loop0 0 none 0 regular
	happened block_write 1200000 300000 3 99 0 $loop0 1048576 data 100000
	happened block_write 1150000 800000 3 99 0 $vda 4194304 data 0
	happened commit 1400000 400000 3 98 0 $loop0 0 none 0
	happened block_write 1500000 100000 5 98 0 $loop0 8192 journal 0
	happened block_flush 1700000 200000 5 98 0 $loop0 0 flush 0
	happened write 3000000 50000 3 30 1 $loop0 4096 none 0 regular
	happened block_write 3010000 20000 5 98 0 $loop0 4096 data 0
	happened write 2500000 2000000 3 30 0 5242885 8 none 0 pipe # no file
	parts="call took_us before_us queue_us data_us commit_us flush_us rest_us who path waited_for"
	[ "$(of_slow calls "$parts")" = "fsync 1000.000 100.000 100.000 200.000 300.000 200.000 100.000 cat /mnt/out commit of the journal
write 50.000 50.000 0.000 0.000 0.000 0.000 0.000 dd /mnt/out entering, locks, pages" ] || { of_slow calls "$parts"; false; }
	[ "$(of_slow syncs "call meanwhile")" = "fsync 1 MiB data of dd, 8 KiB journal of cat" ]
	[ "$(of_slow calls call --top 1)" = fsync ]
	[ "$("$ANALYZE" slow "$S" 1 --table calls --format csv)" = "$("$ANALYZE" slow "$S" --top 1 --table calls --format csv)" ]
	[ "$("$ANALYZE" "$S" slow 1)" = "$("$ANALYZE" slow "$S" --top 1)" ]
	[[ "$("$ANALYZE" slow "$S" 0 2>&1)" == *"at least one"* ]]
	[ "$(of_slow kinds "call calls share_commit share_flush")" = "fsync 1 0.300 0.200
write 1 0.000 0.000" ]
	"$ANALYZE" help who makes my fsync stall | grep -q 'slow STORE'
}

@test "a write waits for its thread's and its file's requests: 30 of 100 us, 10 queued" {
	happened pwrite64 1000000 100000 3 30 1 $loop0 4096 none 0 regular
	happened block_write 1020000 10000 3 30 0 $loop0 4096 direct 10000
	happened block_read 1050000 10000 3 99 1 $loop0 4096 data 0
	happened block_write 1070000 20000 5 99 1 $loop0 4096 data 0
	[ "$(of_slow calls "before_us queue_us data_us rest_us")" = "10.000 10.000 20.000 60.000" ] || { of_slow calls "before_us queue_us data_us rest_us"; false; }
	[ -z "$(of_slow syncs call | grep . | grep -v '^$')" ]
}

@test "a run without events says so, and one whose calls were not timed" {
	sqlite3 "$S" "UPDATE run SET events = 0"
	[[ "$(of_slow calls note)" == "it needs events, and the run recorded none" ]]
	sqlite3 "$S" "UPDATE run SET events = 1, latency = 'none'"
	[ "$(of_slow calls note)" = "no call was timed (--latency none)" ]
}

@test "syncs by file: 200 of a log and 21 of a database, with data, journal and time" {
	sqlite3 "$S" "DELETE FROM file; DELETE FROM ledger; WITH RECURSIVE n(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < 21)
		INSERT INTO file(run, id, dev, ino, gen, path) SELECT 1, n, $loop0, n, 1, '/d/db-journal' FROM n;
		INSERT INTO file(run, id, dev, ino, gen, path) VALUES (1, 1, $loop0, 1, 1, '/d/log'), (1, 30, $loop0, 30, 1, '/d/read');
		INSERT INTO file_io SELECT 1, id, 3, 0, 0, 0, 2, 5000, 2, 0, 8192, 0, 8192 FROM file WHERE id BETWEEN 2 AND 21;
		INSERT INTO file_io VALUES (1, 1, 3, 0, 0, 0, 1000, 480000, 200, 0, 819200, 0, 819200), (1, 30, 5, 0, 4, 16384, 0, 0, 0, 0, 0, 0, 0);
		INSERT INTO put(run, owner, dev, call, file, sub, txns, blocks, weight) VALUES (1, 3, $loop0, 'fsync', 1, 0, 1, 3, 3), (1, 3, $loop0, 'unlink', 2, 0, 1, 1, 1)"
	happened fsync 1000000 100000 3 30 1 $loop0 0 none 0 regular
	happened fdatasync 2000000 300000 3 30 1 $loop0 0 none 0 regular
	happened fsync 3000000 600000 3 30 7 $loop0 0 none 0 regular
	# journal: 16384 bytes of dd on loop0, three quarters of it the log's
	[ "$("$ANALYZE" fsync "$S" --table files --format csv)" = "path,syncs,bytes,data,journal,mean_us,max_us,share_time,S,S_per_sync,files,who,note
/d/log,200,831488,819200,12288,200.000,300.000,0.400,480000,2400.000,1,dd,2 timed
/d/db-journal,40,167936,163840,4096,600.000,600.000,0.600,100000,2500.000,20,dd,1 timed" ] || { "$ANALYZE" fsync "$S" --table files --format csv; false; }
	[ "$("$ANALYZE" fsync "$S" --table files --by directory --format csv | cut -d, -f1,2 | tail -n 1)" = "/d,240" ]
	"$ANALYZE" fsync "$S" --by file >/dev/null
	sqlite3 "$S" "DELETE FROM event; UPDATE run SET events = 0"
	"$ANALYZE" fsync "$S" --table files --format csv | grep -q '^/d/log,200,831488,819200,12288,n/a,n/a,n/a,.*"times: needs events, and the run recorded none"$'
}
