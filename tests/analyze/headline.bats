#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# headline.bats - `iot-analyze STORE` says what happened. Answers worked out by hand from fixtures/analyze_base.sql (analyze.bats
# describes it: dd writes 10 MiB that cost 10510336 bytes, cat reads 16384).

load ../lib/analyze

# The sentences about something, each on its line
said() { # ABOUT [OPTIONS]
	kept "$ANALYZE" "$S" --format tsv "${@:2}" | awk -F'\t' -v a="$1" '$1 == a { print $2 }'
}

@test "the finding: dd wrote 10 MiB, devices 10510336 bytes, 1.002 times as much" {
	[ "$(said finding)" = "dd [812] wrote 10 MiB, and devices wrote 10 MiB on its behalf: 1.002 times as much (waf_sys = B/S)." ]
	[ -z "$(said writes)$(said reads)" ]
	# what was read stands where nothing was written
	sqlite3 "$S" "DELETE FROM agg_total WHERE owner <> 5"
	[ "$(said finding)" = "cat [813] read 16 KiB by calls; devices read 16 KiB for them: 1.000 times as much (raf_dev = B_r without faults/S_r)." ]
	[ "$(said writes)" = "No traced program wrote to a file." ]
}

@test "device reads for faults are apart: of 1000016384 bytes 16384 are for calls" {
	sqlite3 "$S" "INSERT INTO agg_total (run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, timed, lat_ns, max_ns)
		SELECT 1, k.id, 5, 7340032, c.id, 1, s.id, 0, 1, 0, 1000000000, 0, 0, 0, 0 FROM kind k, cause c, sub s
		WHERE k.name = 'block_read' AND s.name = 'for_fault' AND c.name = 'data'"
	[ "$(said reads)" = "cat [813] read 16 KiB by calls; devices read 16 KiB for them and 954 MiB for pages of mapped files and programs: 1.000 times as much (raf_dev = B_r without faults/S_r)." ]
}

@test "the finding is of the line whose bytes grew most; the others and a sum follow" {
	# cat wrote 100 bytes, and devices 8192 + 1048576 of the journal for them
	sqlite3 "$S" "INSERT INTO agg_total (run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, timed, lat_ns, max_ns)
		SELECT run, kind, 5, dev, cause, how, sub, flags, ops, errors, CASE name WHEN 'write' THEN 100 ELSE 1048576 END, 4096, timed, lat_ns, max_ns
		FROM agg_total JOIN kind k ON k.id = kind WHERE owner = 3 AND (k.name = 'write' AND bytes > 8 OR k.name = 'block_write' AND bytes = 8192)"
	[ "$(said finding)" = "cat [813] wrote 100 bytes, and devices wrote 2 MiB on its behalf: 20971.520 times as much (waf_sys = B/S)." ]
	[ "$(said writes)" = "dd [812] wrote 10 MiB, and devices wrote 10 MiB on its behalf: 1.002 times as much (waf_sys = B/S).
All together wrote 10 MiB, and devices wrote 12 MiB on their behalf: 1.202 times as much." ]
	[ "$(said from)" = "Of that 1 MiB (50.0 %) are the journal of the file system on loop0, 1 MiB (50.0 %) are structures of the file system itself." ]
}

@test "the causes, the file with calls, syncs and journal, and the submitting threads" {
	[ "$(said from)" = "Of that 10 MiB (99.8 %) are file data." ]
	sqlite3 "$S" "UPDATE device SET fs = 'ext4' WHERE name = 'loop0'; DELETE FROM agg_total WHERE owner = 0; UPDATE agg_total SET bytes = bytes * 100 WHERE kind IN (SELECT id FROM kind WHERE name IN ('block_write', 'fs_write')) AND bytes BETWEEN 1 AND 8192;
		INSERT INTO file (run, id, dev, ino, gen, path) VALUES (1, 2, 7340032, 13, 1, '/mnt/out'), (1, 3, 7340032, 14, 1, '/mnt/small');
		INSERT INTO file_io SELECT 1, column1, 3, 0, 0, 0, column2, column3, column4, 0, column3, 0, column3 FROM (VALUES (1, 9, 9437184, 0), (2, 1, 1048576, 1), (3, 0, 0, 0));
		INSERT INTO put VALUES (1, 3, 7340032, 'fsync', 1, 0, 1, 3, 3), (1, 3, 7340032, 'openat', 3, 0, 1, 1, 1);
		UPDATE agg_total SET carrier = (SELECT r.id FROM carrier r JOIN cause c ON c.id = agg_total.cause
			WHERE r.name = CASE c.name WHEN 'data' THEN 'itself' WHEN 'journal' THEN 'jbd2' ELSE 'none' END)"
	# 1638400 of the journal: three quarters are for /mnt/out, by fsync
	[ "$(said from)" = "Of that 10 MiB (81.0 %) are file data, 1.56 MiB (12.7 %) are the journal of ext4 on loop0, 800 KiB (6.3 %) are structures of ext4 itself.
It spent most on /mnt/out (2 files had that name): 10 calls wrote 10 MiB to it, with 1 sync; devices wrote 10 MiB of it, and its share of the journal is 1.17 MiB, put there by fsync() for the most part.
Handed to the device by dd itself (10 MiB), jbd2 (1.56 MiB)." ]
}

@test "the ledger closes; with one byte more it does not: status 1, and verify first" {
	[ "$(said ledger)" = "The bytes add up: 10 comparisons with counters of the kernel, none differs; 1 cannot be made." ]
	"$ANALYZE" "$S" >/dev/null
	sqlite3 "$S" "UPDATE truth SET end_value = end_value + 1 WHERE what = 'read_bytes'"
	run -1 "$ANALYZE" "$S"
	[ "$(said ledger)" = "The bytes do NOT add up: 1 of 10 comparisons differs, such as device bytes read, loop0: 16384 traced, 16385 expected." ]
	[ "$(said next | head -n 1)" = "iot-analyze verify run.sqlite  # what does not agree" ]
}

@test "what is missing is named: layers, records, events, the settle, owners" {
	[ "$(said missing)" = "nothing: each layer was measured and no record was lost." ]
	sqlite3 "$S" "UPDATE run SET layers = 'syscall,fs,block', events = 0; INSERT INTO lost VALUES (1, 'block', 'request longer than the walk', 'owner', 7);
		UPDATE run_end SET horizon = 'at_ack', dirty_bytes = 1536; INSERT INTO probe (run, name, layer, target, chosen, reason) VALUES
		(1, 'cache__miss', 'cache', 't', 0, 'layer not asked for');
		UPDATE agg_total SET bytes = 1048576 WHERE owner = 0 AND bytes = 4096"
	[ "$(said missing)" = "what had not been written back: the run did not wait for that, and 1.5 KiB were dirty at the end; 7 records of layer block that were lost; layer uring (not measured); layer cache (not asked for); events, and with them how much became dirty (D); owners of 1 MiB on the devices that wrote 10 MiB for them." ]
}

@test "a bound is said as one, an unknown ratio is n/a with the reason" {
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'block', 'request longer than the walk', 'owner', 7)"
	[ "$(said finding)" = "dd [812] wrote 10 MiB, and devices wrote at least 10 MiB on its behalf: at least 1.002 times as much (waf_sys = B/S; B lost records)." ]
	[ "$(said from)" = "Of that at least 10 MiB are file data." ]
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'syscall', 'libaio request table full', 'bytes', 7)"
	[[ $(said finding) == "dd [812] wrote at least 10 MiB, and devices wrote at least 10 MiB on its behalf: how many times as much is not known ("* ]]
	sqlite3 "$S" "UPDATE run SET layers = 'fs,block'"
	[ "$(said finding)" = "dd [812] wrote n/a, and devices wrote at least 10 MiB on its behalf: how many times as much is not known (layer syscall was not measured)." ]
	sqlite3 "$S" "DELETE FROM agg_total; UPDATE run SET layers = 'syscall,block'"
	[ "$(said finding)" = "No traced program wrote to a file." ]
	sqlite3 "$S" "UPDATE run SET layers = 'block'"
	[ "$(said finding)" = "Devices wrote nothing for any traced program." ]
	sqlite3 "$S" "UPDATE run SET layers = 'cache'"
	[ "$(said finding)" = "What was written was not measured." ]
}

@test "the commands to go on with run as printed, also with --run and --system" {
	said next | while read -r line; do
		PATH=$(dirname "$ANALYZE"):$PATH sh -c "$line" | grep -q '^run 1 (dd)'
	done
	sqlite3 "$S" "UPDATE process SET system = 'etcd' WHERE comm = 'dd'"
	[ "$(said next --system etcd | head -n 1)" = "iot-analyze explain run.sqlite --system etcd  # why, and what would change it" ]
	# shellcheck disable=SC2016 # the name itself
	for name in '$(touch canary).sqlite' 'a b.sqlite' "it's.sqlite" '`id`.sqlite'; do
		cp "$S" "$name"
		[ "$("$ANALYZE" "./$name" --format tsv | awk -F'\t' '$1 == "next" { print $2 }' | head -n 1)" = "iot-analyze explain STORE  # why, and what would change it" ]
	done
	[ ! -e canary ]
}

@test "for a store that is removed next, the commands say how to keep one" {
	sqlite3 "$S" "UPDATE truth SET end_value = end_value + 1 WHERE what = 'read_bytes'"
	"$ANALYZE" headline "$S" --once >out
	grep -q 'do NOT add up' out
	[ "$(said next --once)" = "iot-trace -o run.sqlite -- COMMAND  # the same, kept in a store
iot-analyze explain run.sqlite  # then why, and what would change it" ]
	run --separate-stderr -2 "$ANALYZE" files "$S" --once
}

@test "lines have at most 80 columns, with long and hostile names; no word is cut" {
	sqlite3 "$S" "UPDATE process SET comm = char(27) || '[31m' || 'väry' || char(10) || 'long' WHERE comm = 'dd'"
	"$ANALYZE" "$S" >out
	! grep -q "$(printf '\033')" out
	[ "$(sed 1,3d out | sed "s|ä|a|g" | awk '{ if (length($0) > 80) n++ } END { print n + 0 }')" = 0 ]
	[ "$(sed 1,3d out | sed 's/^[a-z]*  *//; s/^  *//' | tr '\n' ' ' | grep -c 'devices wrote 10 MiB on its behalf: 1.002 times as much (waf_sys = B/S).')" = 1 ]
}

@test "a command and what it answers are two blanks apart also in text" {
	[ "$("$ANALYZE" "$S" | grep -c 'sqlite  # ')" = 3 ]
}

@test "a name that is no store and no report is refused; headline is a report" {
	run --separate-stderr -2 "$ANALYZE" nothing
	[[ $stderr == *"unknown command 'nothing'"* ]]
	run --separate-stderr -1 "$ANALYZE" nothing.sqlite
	[[ $stderr == *"cannot open nothing.sqlite"* ]]
	run --separate-stderr -2 "$ANALYZE" runs
	[[ $stderr == *"usage: iot-analyze runs STORE"* ]]
	cp "$S" plain
	[ "$("$ANALYZE" plain | head -n 1)" = "What happened, in short" ]
	[ "$("$ANALYZE" headline "$S" | sed '/sqlite/d')" = "$("$ANALYZE" "$S" | sed '/sqlite/d')" ]
}
