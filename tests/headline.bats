#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# headline.bats - `iot-analyze STORE`: what happened, in words. Answers worked out by hand from fixtures/analyze_base.sql (analyze.bats says
# what happens there: dd writes 10 MiB that cost 10510336 bytes, cat reads 16384).

load analyze_lib

# The sentences about something, each on its line
said() { # ABOUT [OPTIONS]
	"$ANALYZE" "$S" --format tsv "${@:2}" | awk -F'\t' -v a="$1" '$1 == a { print $2 }'
}

@test "who wrote and read what, with the ratios: 10510336/10485760 = 1.002, 16384/16384 = 1" {
	[ "$(said writes)" = "dd [812] wrote 10.0 MiB by calls; devices wrote 10.0 MiB for that: waf_sys (B/S) = 1.002." ]
	[ "$(said reads)" = "cat [813] read 16.0 KiB by calls; devices read 16.0 KiB for that: raf_dev (B_r without faults/S_r) = 1.000." ]
}

@test "what devices read for faults is said apart: of 1000016384 bytes 16384 are for calls" {
	sqlite3 "$S" "INSERT INTO agg_total (run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, timed, lat_ns, max_ns)
		SELECT 1, k.id, 5, 7340032, c.id, 1, s.id, 0, 1, 0, 1000000000, 0, 0, 0, 0 FROM kind k, cause c, sub s
		WHERE k.name = 'block_read' AND s.name = 'for_fault' AND c.name = 'data'"
	[ "$(said reads)" = "cat [813] read 16.0 KiB by calls; devices read 16.0 KiB for that and 954 MiB for faults: raf_dev (B_r without faults/S_r) = 1.000." ]
}

@test "the largest causes: 10485760 of 10510336 bytes are data (99.8 %), 16384 journal (0.2 %)" {
	[ "$(said cause)" = "The largest part of what devices wrote for them is file data: 10.0 MiB of 10.0 MiB, 99.8 %.
Then the journal of the file system: 16.0 KiB of 10.0 MiB, 0.2 %." ]
}

@test "the ledger closes, and does not with one byte more; then the exit status is 1 and verify comes first" {
	[ "$(said ledger)" = "Closes: 9 checks against counters of the kernel, none differs; 1 cannot be compared." ]
	"$ANALYZE" "$S" >/dev/null
	sqlite3 "$S" "UPDATE truth SET end_value = end_value + 1 WHERE what = 'read_bytes'"
	run -1 "$ANALYZE" "$S"
	[ "$(said ledger)" = "Does NOT close: of 9 checks 1 differ, such as device bytes read, loop0: 16384 traced, 16385 by the kernel." ]
	[ "$(said next | head -n 1)" = "iot-analyze verify run.sqlite  # what does not agree" ]
}

@test "what is missing is named: layers, records, events, what was not settled, owners; else nothing" {
	[ "$(said missing)" = "nothing: each layer was measured and no record was lost." ]
	sqlite3 "$S" "UPDATE run SET layers = 'syscall,fs,block', events = 0; INSERT INTO lost VALUES (1, 'block', 'request longer than the walk', 'owner', 7);
		UPDATE run_end SET horizon = 'at_ack', dirty_bytes = 1536; INSERT INTO probe (run, name, layer, target, chosen, reason) VALUES
		(1, 'cache__miss', 'cache', 't', 0, 'layer not asked for');
		UPDATE agg_total SET bytes = 1048576 WHERE owner = 0 AND bytes = 4096"
	[ "$(said missing)" = "what had not been written back: nothing was settled, and 1.50 KiB were dirty at the end; 7 records of layer block that were lost; layer uring (not measured); layer cache (not asked for); events, and with them what became dirty (D); owners of 1.00 MiB on the devices that wrote 10.0 MiB for them." ]
}

@test "a bound is said as one, a ratio that is not known is n/a with the reason, and who wrote nothing has none" {
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'block', 'request longer than the walk', 'owner', 7)"
	[ "$(said writes)" = "dd [812] wrote 10.0 MiB by calls; devices wrote at least 10.0 MiB for that: waf_sys (B/S) >= 1.002 (B lost records)." ]
	[ "$(said cause)" = "Of what devices wrote for them at least 10.0 MiB are file data.
Of what devices wrote for them at least 16.0 KiB are the journal of the file system." ]
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'syscall', 'libaio request table full', 'bytes', 7)"
	[[ $(said writes) == "dd [812] wrote at least 10.0 MiB by calls; devices wrote at least 10.0 MiB for that: waf_sys (B/S) n/a "* ]]
	sqlite3 "$S" "UPDATE run SET layers = 'fs,block'"
	[ "$(said writes)" = "dd [812] wrote n/a by calls; devices wrote at least 10.0 MiB for that: waf_sys (B/S) n/a (layer syscall was not measured)." ]
	sqlite3 "$S" "DELETE FROM agg_total; UPDATE run SET layers = 'syscall,block'"
	[ "$(said writes)" = "Nobody wrote to files." ]
	sqlite3 "$S" "UPDATE run SET layers = 'block'"
	[ "$(said writes)" = "Devices wrote nothing for anybody who was traced." ]
	sqlite3 "$S" "UPDATE run SET layers = 'cache'"
	[ "$(said writes)" = "What was written was not measured." ]
}

@test "the commands to go on with run as they are printed, also with --run and --system; a name that a shell would read is STORE" {
	said next | while read -r line; do
		PATH=$(dirname "$ANALYZE"):$PATH sh -c "$line" | grep -q '^run 1 (dd)'
	done
	sqlite3 "$S" "UPDATE process SET system = 'etcd' WHERE comm = 'dd'"
	[ "$(said next --system etcd | head -n 1)" = "iot-analyze amplification run.sqlite --system etcd  # every hop from S to B" ]
	# shellcheck disable=SC2016 # the name itself
	for name in '$(touch canary).sqlite' 'a b.sqlite' "it's.sqlite" '`id`.sqlite'; do
		cp "$S" "$name"
		[ "$("$ANALYZE" "./$name" --format tsv | awk -F'\t' '$1 == "next" { print $2 }' | head -n 1)" = "iot-analyze amplification STORE  # every hop from S to B" ]
	done
	[ ! -e canary ]
}

@test "lines have at most 80 columns, also with long and hostile names; words are not cut" {
	sqlite3 "$S" "UPDATE process SET comm = char(27) || '[31m' || 'väry' || char(10) || 'long' WHERE comm = 'dd'"
	"$ANALYZE" "$S" >out
	! grep -q "$(printf '\033')" out
	[ "$(sed 1,3d out | LC_ALL=C.UTF-8 awk '{ if (length($0) > 80) n++ } END { print n + 0 }')" = 0 ]
	[ "$(sed 1,3d out | sed 's/^[a-z]*  *//; s/^  *//' | tr '\n' ' ' | grep -c 'devices wrote 10.0 MiB for that: waf_sys (B/S) = 1.002.')" = 1 ]
}

@test "a command and what it answers are two blanks apart also in text" {
	[ "$("$ANALYZE" "$S" | grep -c 'sqlite  # ')" = 3 ]
}

@test "a name alone that is no store and no report is refused; headline is a report like others" {
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
