#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# analyze.bats: every number of a report against a store whose answers were worked out by hand.
#
# fixtures/analyze_base.sql, run 1: dd writes 10 x 1 MiB to a file (and 8 bytes to a pipe) and calls fsync once. Its device bytes are
# 10485760 data + 16384 journal + 8192 metadata = 10510336; 4096 bytes of metadata have no owner. cat reads 16384 bytes in 4 calls
# and missed 4096 of them. The loop device's 10514432 bytes appear again on vda, where the tracer wrote 65536 of its own.

load ../lib/analyze

setup() {
	S=$BATS_TEST_TMPDIR/run.sqlite
	store_with "$S"
}

@test "10485760 bytes written that cost 10510336 are a waf_sys of 1.002" {
	[ "$(ratio "$S" dd waf_sys)" = "exact 1.002 10510336 10485760" ]
}

@test "the hops are B/F, F/W, W/D, D/T and T/S of the same volumes" {
	sqlite3 "$S" "UPDATE agg_total SET touched = 12582912 WHERE touched = 10485760; UPDATE ledger SET dirtied = 11534336, absorbed = 1048576, cancelled = 1048576"
	[ "$(ratio "$S" dd hop_page)" = "exact 1.200 12582912 10485760" ]
	[ "$(ratio "$S" dd hop_coalesce)" = "exact 0.917 11534336 12582912" ]
	[ "$(ratio "$S" dd hop_flush)" = "exact 0.909 10485760 11534336" ]
	[ "$(ratio "$S" dd hop_fs)" = "exact 1.002 10510336 10485760" ]
	[ "$(ratio "$S" dd hop_blk)" = "exact 1.000 10510336 10510336" ]
	[ -z "$(ratio "$S" dd "hop_coalesce x hop_flush")" ]
}

@test "reads: 16384 from the device, 4096 missed of 16384 asked for" {
	[ "$(ratio "$S" cat raf_dev)" = "exact 1.000 16384 16384" ]
	[ "$(ratio "$S" cat raf_miss)" = "exact 4.000 16384 4096" ]
	[ "$(ratio "$S" cat hit_ratio)" = "exact 0.750 4096 16384" ]
	[ "$(ratio "$S" cat ra_waste)" = "exact 1.000 12288 12288" ]
}

# aggregate KIND SUB BYTES [OWNER [FLAGS [CAUSE]]]: one more, of cat, on loop0
aggregate() {
	sqlite3 "$S" "INSERT INTO agg_total (run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, timed, lat_ns, max_ns)
		SELECT 1, k.id, ${4:-5}, 7340032, c.id, 1, s.id, ${5:-0}, 1, 0, $3, 0, 0, 0, 0 FROM kind k, cause c, sub s WHERE k.name = '$1' AND s.name = '$2' AND c.name = '${6:-none}'"
}

@test "read-ahead and used bytes: 8192 of 12288; unknown use, or no owner, is a bound" {
	aggregate readahead_used regular 8192
	[ "$(ratio "$S" cat ra_waste)" = "exact 0.333 4096 12288" ]
	[ "$(ratio "$S" cat hit_ratio)" = "exact 0.250 12288 16384" ] # what was read ahead came from the device, too
	[ "$(cell "$S" amplification reads who cat unused)" = 4096 ]
	aggregate readahead_unknown regular 1024
	[ "$(ratio "$S" cat ra_waste)" = ">= 0.250 3072 12288 use of 1024 of 12288 bytes of readahead is not known: mapped files" ]
	[ "$(ratio "$S" cat hit_ratio)" = "<= 0.250 12288 16384 1024 more bytes may have come from devices for it" ]
	sqlite3 "$S" "DELETE FROM agg_total WHERE kind = (SELECT id FROM kind WHERE name = 'readahead_unknown'); INSERT INTO lost VALUES (1, 'cache', 'use of readahead not followed', 'names', 1)"
	[ "$(ratio "$S" cat ra_waste)" = "<= 0.333 4096 12288 some use of readahead was not followed" ]
	[ "$(ratio "$S" cat hit_ratio)" = "<= 0.250 12288 16384 missed or read ahead lost records" ]
}

@test "bytes read for faults are in no ratio with S_r, and have a volume of their own" {
	aggregate miss for_fault 1000000000
	aggregate block_read for_fault 1000000000 5 0 data
	[ "$(ratio "$S" cat raf_dev)" = "exact 1.000 16384 16384" ]
	[ "$(ratio "$S" cat hit_ratio)" = "exact 0.750 4096 16384" ]
	[ "$(ratio "$S" cat raf_miss)" = "exact 1.000 1000016384 1000004096" ]
	[ "$(cell "$S" amplification reads who cat missed_fault)" = 1000000000 ]
	[ "$(cell "$S" amplification summary who cat B_r)" = 1000016384 ]
}

@test "what a write reads of its file is wra, and no miss of a read" {
	aggregate write regular 100
	aggregate miss for_write 100
	aggregate block_read for_write 4096 5 0 data
	[ "$(ratio "$S" cat wra)" = "exact 40.960 4096 100" ]
	[ "$(ratio "$S" cat hit_ratio)" = "exact 0.750 4096 16384" ]
	[ "$(cell "$S" amplification reads who cat missed_write)" = 100 ]
	[ "$(cell "$S" amplification reads who cat missed_fault)" = 0 ]
}

@test "writes with O_SYNC and O_DSYNC are syncs next to fsync calls; both are printed" {
	aggregate write regular 1 3 2
	aggregate pwritev regular 1 3 4
	aggregate write pipe 1 3 4
	[ "$(ratio "$S" dd flush_amp)" = "exact 0.667 2 3 syncs: 1 calls, 2 synchronous writes" ]
	[ "$(ratio "$S" dd commits_per_fsync)" = "exact 0.333 1 3 syncs: 1 calls, 2 synchronous writes" ]
	[ "$("$ANALYZE" amplification "$S" --format csv --table syncs | grep ,dd,)" = "process,dd,812,1,2,3,1,2" ]
}

@test "each call of the fsync family is one sync; sync_file_range is none" {
	calls=1
	for kind in fdatasync sync syncfs msync aio_fsync uring_fsync; do
		aggregate $kind regular 0 3
		calls=$((calls + 1))
		[ "$(cell "$S" amplification syncs who dd calls)" = "$calls" ]
	done
	aggregate sync_file_range regular 0 3
	[ "$(cell "$S" amplification syncs who dd calls)" = "$calls" ]
}

@test "direct reads are in raf_dev, and not in raf_miss and hit_ratio" {
	sqlite3 "$S" "INSERT INTO agg_total (run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
		SELECT 1, k.id, 5, 7340032, c.id, 1, s.id, 1, 1, 0, 32768, 0, 0, 0 FROM kind k, cause c, sub s
		WHERE (k.name, c.name, s.name) IN (('pread64', 'none', 'regular'), ('block_read', 'direct', 'none'))"
	[ "$(ratio "$S" cat raf_dev)" = "exact 1.000 49152 49152" ]
	[ "$(ratio "$S" cat raf_miss)" = "exact 4.000 16384 4096" ]
	[ "$(ratio "$S" cat hit_ratio)" = "exact 0.750 4096 16384" ]
}

@test "2 flushes and 1 commit for 1 fsync" {
	[ "$(ratio "$S" dd flush_amp)" = "exact 2.000 2 1" ]
	[ "$(ratio "$S" dd commits_per_fsync)" = "exact 1.000 1 1" ]
}

@test "seed_op_amp is (VFS + block operations) / system calls" {
	[ "$(ratio "$S" dd seed_op_amp_w)" = "exact 3.500 35 10" ]
	[ "$(ratio "$S" cat seed_op_amp_r)" = "exact 1.500 6 4" ]
}

@test "the total is every device byte: owners, unattributed, the tracer; loop is apart" {
	[ "$(cell "$S" amplification volumes what total B)" = $((10510336 + 4096 + 65536)) ]
	[ "$(cell "$S" amplification volumes what unattributed B)" = 4096 ]
	[ "$(cell "$S" amplification volumes what self B)" = 65536 ]
	[ "$(cell "$S" amplification volumes what all B)" = 10510336 ]
	[ "$(cell "$S" amplification again who "loop devices, on the device below" written)" = 10514432 ]
}

@test "the bytes of a volume are in no total: they stand apart, and B reached the disk" {
	before=$(cell "$S" amplification summary who dd B)
	sqlite3 "$S" "INSERT INTO device (run, dev, name, type, leaf) VALUES (1, 265289728, 'dm-0', 'dm', 0)"
	sqlite3 "$S" "INSERT INTO agg_total (run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, timed, lat_ns, max_ns)
		SELECT 1, k.id, 3, 265289728, c.id, 1, 0, 0, 1, 0, 1048576, 0, 0, 0, 0 FROM kind k, cause c WHERE k.name = 'block_write' AND c.name = 'data'"
	[ "$before" -gt 10485760 ]
	[ "$(cell "$S" amplification summary who dd B)" = "$before" ]
	[ "$(cell "$S" amplification again who 'partitions, device mapper, md' written)" = 1048576 ]
}

@test "sockets, pipes and character devices are not in S" {
	[ "$(cell "$S" amplification volumes who dd S)" = 10485760 ]
	[ "$(cell "$S" amplification layers layer "syscall, not files" bytes | paste -sd' ')" = "10485760 8" ]
}

@test "the VFS is derived and says so, until it is measured" {
	[ "$(cell "$S" amplification layers layer vfs source | sort -u)" = derived ]
	[ "$(cell "$S" amplification volumes who dd V)" = 10485760 ]
	sqlite3 "$S" "INSERT INTO agg_total (run, kind, owner, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
		SELECT 1, id, 3, 0, 1, 0, 0, 11, 0, 10485961, 0, 0, 0 FROM kind WHERE name = 'vfs_write'"
	[ "$(cell "$S" amplification layers layer vfs source | sort -u)" = measured ]
	[ "$(cell "$S" amplification volumes who dd V)" = 10485961 ]
}

@test "without events D is n/a with the reason, and W/T is one factor" {
	sqlite3 "$S" "DELETE FROM ledger; UPDATE run SET events = 0"
	[ "$(ratio "$S" dd hop_coalesce)" = "n/a n/a n/a 10485760 D needs events, and the run recorded none" ]
	[ "$(ratio "$S" dd "hop_coalesce x hop_flush")" = "exact 1.000 10485760 10485760" ]
	[ "$(cell "$S" amplification volumes who dd D)" = n/a ]
	[ "$(ratio "$S" dd waf_sys)" = "exact 1.002 10510336 10485760" ]
}

@test "a layer that was not measured is n/a, never 0" {
	sqlite3 "$S" "UPDATE run SET layers = 'syscall,uring,block'; DELETE FROM agg_total WHERE kind IN (SELECT k.id FROM kind k JOIN layer l ON l.id = k.layer WHERE l.name IN ('fs', 'cache'))"
	[ "$(cell "$S" amplification volumes who dd W)" = n/a ]
	[ "$(cell "$S" amplification reads who cat missed)" = n/a ]
	[ "$(ratio "$S" dd hop_fs)" = "n/a n/a n/a n/a layer fs was not measured" ]
	[ "$(ratio "$S" cat raf_miss)" = "n/a n/a 16384 n/a layer cache was not measured" ]
}

@test "a layer that was not asked for is no loss; io_uring used then makes S n/a" {
	sqlite3 "$S" "UPDATE run SET layers = 'syscall,block'; DELETE FROM agg_total WHERE kind IN (SELECT k.id FROM kind k JOIN layer l ON l.id = k.layer WHERE l.name IN ('fs', 'cache'));
		INSERT INTO probe VALUES (1, 'block__queue', 'block', 't', 1, NULL), (1, 'ext4__handle', 'fs', 't', 1, NULL), (1, 'cache__dirty', 'cache', 't', 1, NULL),
			(1, 'uring__submit', 'uring', 't', 0, 'layer not asked for'), (1, 'syscall__exit', 'syscall', 't', 1, NULL)"
	[ "$(ratio "$S" dd waf_sys)" = "exact 1.002 10510336 10485760" ]
	[ "$(ratio "$S" dd hop_fs)" = "n/a n/a n/a n/a layer fs not recorded" ]
	[ "$(ratio "$S" cat hit_ratio)" = "n/a n/a n/a 16384 layer cache not recorded" ]
	[[ "$("$ANALYZE" amplification "$S")" == *"lost: nothing"* ]]
	aggregate uring_other none 0 3
	[ "$(ratio "$S" dd waf_sys)" = "n/a n/a 10510336 n/a layer uring not recorded, and io_uring was used" ]
	[ "$(ratio "$S" cat raf_dev)" = "exact 1.000 16384 16384" ]
}

@test "verify with --dev compares that disk only (defect 60)" {
	sqlite3 "$S" "UPDATE truth SET end_value = end_value + 77824 WHERE source LIKE '%vda%'"
	run -1 "$ANALYZE" verify "$S"
	sqlite3 "$S" "UPDATE run SET filters = 'command dev=loop0'"
	run -0 "$ANALYZE" verify "$S" --format csv
	[[ $output == *"device bytes written,loop0,10514432,10514432,0,OK"* ]] && [[ $output != *vda* ]]
	sqlite3 "$S" "UPDATE run SET filters = 'dev=7:0'"
	run -0 "$ANALYZE" verify "$S"
}

@test "memory-mapped stores: B without S is no ratio, with the reason" {
	sqlite3 "$S" "DELETE FROM agg_total WHERE owner = 3 AND kind IN (SELECT id FROM kind WHERE name = 'write')"
	[ "$(ratio "$S" dd waf_sys)" = "n/a n/a 10510336 0 S is 0" ]
}

@test "losses in the numerator's layer give >=, in the denominator's <=, in both none" {
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'block', 'request longer than the walk', 'owner', 7)"
	[ "$(ratio "$S" dd waf_sys)" = ">= 1.002 10510336 10485760 B lost records" ]
	[ "$(ratio "$S" dd hop_page)" = "exact 1.000 10485760 10485760" ]
	sqlite3 "$S" "UPDATE lost SET layer = 'syscall', what = 'libaio request table full', effect = 'bytes'"
	[ "$(ratio "$S" dd waf_sys)" = "<= 1.002 10510336 10485760 S lost records" ]
	sqlite3 "$S" "UPDATE lost SET layer = 'all', what = 'aggregate not found'"
	[ "$(ratio "$S" dd waf_sys)" = "n/a n/a 10510336 10485760 B lost records, and S lost records" ]
	run -0 "$ANALYZE" amplification "$S"
	[[ $output == *"lost: 7 x all: aggregate not found (bytes)"* ]]
}

@test "lost events leave every ratio from aggregates exact, and bound D" {
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'syscall', 'ring full', 'events', 999983)"
	[ "$(ratio "$S" dd hop_coalesce)" = "n/a n/a n/a 10485760 D needs all events, and some were lost" ] # nobody says who else wrote the file
	sqlite3 "$S" "INSERT INTO file_io(run, file, owner, component, read_ops, read_bytes, write_ops, write_bytes, sync_ops, fs_read_bytes, fs_write_bytes, dev_read_bytes, dev_write_bytes)
		SELECT run, file, owner, 0, 0, 0, 1, dirtied, 0, 0, written, 0, written FROM ledger"
	[ "$(ratio "$S" dd waf_sys)" = "exact 1.002 10510336 10485760" ]
	[ "$(ratio "$S" dd hop_coalesce)" = ">= 1.000 10485760 10485760 D lost records" ]
	[ "$(ratio "$S" dd hop_flush)" = "<= 1.000 10485760 10485760 D lost records" ]
	[[ "$("$ANALYZE" amplification "$S")" == *"lost: 999983 x syscall: ring full (events)"* ]]
}

@test "with lost events D counts only files that one line wrote; the rest is n/a" {
	cd "$BATS_TEST_TMPDIR"
	python3 - "$ROOT/tests/lib/gen-run.py" <<-'E'
		import subprocess, sys
		lines = subprocess.run([sys.argv[1], "3000"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
		lossy = [l for i, l in enumerate(lines) if '"t":"event"' not in l or i % 3]
		lossy.insert(-1, '{"t":"lost","layer":"fs","what":"ring full","effect":"events","n":1000}')
		for name, all_ in ("full", lines), ("lossy", [l.replace("0000-4000", "0001-4000") for l in lossy]):
		    open(name + ".jsonl", "w").write("\n".join(all_) + "\n")
	E
	for name in full lossy; do "$ANALYZE" ingest $name.sqlite <$name.jsonl; done
	d() { cell "$1.sqlite" amplification volumes who "$2" "${3:-D}" "${@:4}"; }
	whole=$(sqlite3 lossy.sqlite "SELECT SUM(dirtied) FROM ledger g WHERE owner = 3 AND 1 = (SELECT COUNT(DISTINCT owner) FROM file_io i WHERE i.file = g.file AND write_bytes > 0)")
	[ "$whole" -gt 0 ]
	[ "$whole" -lt "$(sqlite3 lossy.sqlite "SELECT SUM(dirtied) FROM ledger WHERE owner = 3")" ]
	[ "$(d lossy postgres)" = "$whole" ]
	[ "$(d lossy postgres)" -lt "$(d full postgres)" ]
	[ "$(d lossy "all processes" D --by all)" -gt "$whole" ] # together they are one line
	[ "$(d lossy "all processes" D --by all)" -lt "$(d full "all processes" D --by all)" ]
	[ "$(d lossy postgres absorbed),$(d lossy postgres cancelled),$(d lossy postgres dirty_end)" = n/a,n/a,n/a ]
	[[ "$(ratio lossy.sqlite postgres hop_coalesce)" == ">= "*" D lost records" ]]
	[[ "$(ratio lossy.sqlite postgres hop_flush)" == "<= "*" D lost records" ]]
	[[ "$(ratio lossy.sqlite postgres "hop_coalesce x hop_flush")" == "exact 1.000 "* ]] || ratio lossy.sqlite postgres "hop_coalesce x hop_flush"
	[[ "$("$ANALYZE" verify lossy.sqlite --format csv)" != *MISMATCH* ]]
	# a file that nobody can name may be any file
	sqlite3 lossy.sqlite "UPDATE file_io SET file = 0 WHERE owner = 4 AND file = (SELECT MAX(file) FROM file_io WHERE owner = 4)"
	[ "$(d lossy postgres)" = 0 ]
}

@test "over 1 % of device bytes without an owner makes waf_sys a bound, 1 % does not" {
	# 1 % of dd's 10510336 bytes: 105103.36
	sqlite3 "$S" "UPDATE agg_total SET bytes = 105103 WHERE owner = 0 AND bytes = 4096"
	[[ "$(ratio "$S" dd waf_sys)" == "exact 1.002 10510336 10485760" ]]
	[[ "$("$ANALYZE" amplification "$S")" == *"no owner: 103 KiB of 10.1 MiB that devices wrote (0.99 %): it makes no bound"* ]]
	sqlite3 "$S" "DELETE FROM carrier WHERE name = 'lazyinit'" # as in a store of before that was one
	[[ "$("$ANALYZE" amplification "$S")" == *"no owner: 103 KiB of 10.1 MiB that devices wrote (0.99 %): it makes no bound"* ]]
	sqlite3 "$S" "UPDATE agg_total SET bytes = 105104 WHERE owner = 0 AND bytes = 105103"
	[ "$(ratio "$S" dd waf_sys)" = ">= 1.002 10510336 10485760 103 KiB of B on its devices have no owner" ]
	[[ "$("$ANALYZE" amplification "$S")" != *"no owner: "* ]]
}

@test "bytes without an owner make bounds of lines alone that used their device" {
	local block="kind IN (SELECT id FROM kind WHERE name IN ('block_write', 'fs_write'))"
	# structures on vda, where dd wrote nothing; then where it wrote a block
	sqlite3 "$S" "UPDATE agg_total SET bytes = 1000000000, dev = 266338304 WHERE owner = 0 AND bytes = 4096"
	[ "$(ratio "$S" dd waf_sys)" = "exact 1.002 10510336 10485760" ]
	sqlite3 "$S" "UPDATE agg_total SET dev = 266338304 WHERE owner = 3 AND bytes = 4096"
	[ "$(ratio "$S" dd waf_sys)" = ">= 1.002 10510336 10485760 954 MiB of B on its devices have no owner" ]
	# contents of files there are none of dd's, which wrote to no file there; of vda's they may be
	sqlite3 "$S" "UPDATE agg_total SET cause = (SELECT id FROM cause WHERE name = 'data') WHERE owner = 0 AND $block"
	[ "$(ratio "$S" dd waf_sys)" = "exact 1.002 10510336 10485760" ]
	sqlite3 "$S" "UPDATE agg_total SET dev = 266338304 WHERE owner = 3 AND kind = (SELECT id FROM kind WHERE name = 'write') AND dev = 7340032"
	[ "$(ratio "$S" dd waf_sys)" = ">= 1.002 10510336 10485760 954 MiB of B on its devices have no owner" ]
	# queued before the run: nobody's, and of no call that the run saw
	sqlite3 "$S" "UPDATE agg_total SET cause = (SELECT id FROM cause WHERE name = 'before_run') WHERE owner = 0 AND $block"
	[ "$(ratio "$S" dd waf_sys)" = "exact 1.002 10510336 10485760" ]
}

@test "an owner that was lost makes no bound where nobody's bytes are few" {
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'fs', 'structure of a file system whose programs were not attached', 'owner', 31), (1, 'block', 'bio table full', 'owner', 7)"
	[ "$(ratio "$S" dd waf_sys)" = "exact 1.002 10510336 10485760" ]
	[ -z "$("$ANALYZE" amplification "$S" --format tsv --table ratios | awk -F'\t' '$6 ~ /[<>]=/')" ]
	sqlite3 "$S" "UPDATE agg_total SET bytes = 1048576 WHERE owner = 0 AND bytes = 4096"
	[ "$(ratio "$S" dd waf_sys)" = ">= 1.002 10510336 10485760 1 MiB of B on its devices have no owner" ]
}

@test "contents of files without a known owner bound the writers of these files only" {
	# 30 MB of nobody's contents on the device: of a file that dd did not write, then half of them of the one that it wrote
	sqlite3 "$S" "INSERT INTO agg_total SELECT run, kind, 0, dev, cause, how, sub, carrier, flags, op, ops, errors, 30000000, touched, timed, lat_ns, max_ns FROM agg_total
		WHERE owner = 3 AND bytes = 10485760 AND kind IN (SELECT id FROM kind WHERE name IN ('block_write', 'fs_write'));
		DELETE FROM agg_total WHERE owner = 0 AND bytes = 4096; DELETE FROM file_io;
		INSERT INTO file_io VALUES (1, 1, 3, 0, 0, 0, 10, 10485760, 0, 0, 10485760, 0, 10485760), (1, 7, 0, 0, 0, 0, 0, 0, 0, 0, 30000000, 0, 30000000)"
	[ "$(ratio "$S" dd waf_sys)" = "exact 1.002 10510336 10485760" ]
	sqlite3 "$S" "UPDATE file_io SET fs_write_bytes = 15000000, dev_write_bytes = 15000000 WHERE file = 7; INSERT INTO file_io VALUES (1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 15000000, 0, 15000000)"
	[ "$(ratio "$S" dd waf_sys)" = ">= 1.002 10510336 10485760 14.3 MiB of B on its devices have no owner" ]
	# of a file that is not known it may be
	sqlite3 "$S" "DELETE FROM file_io WHERE owner = 0; INSERT INTO file_io VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 30000000, 0, 30000000)"
	[ "$(ratio "$S" dd waf_sys)" = ">= 1.002 10510336 10485760 28.6 MiB of B on its devices have no owner" ]
}

@test "requests of libaio that were lost are those of lines that made some" {
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'syscall', 'libaio request table full', 'bytes', 7)
		; INSERT INTO agg_total(run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
		SELECT 1, k.id, 5, 7340032, 0, 1, s.id, 0, 1, 0, 4096, 4096, 0, 0 FROM kind k JOIN sub s ON s.name = 'regular' WHERE k.name = 'aio_write'"
	[ "$(ratio "$S" dd waf_sys)" = "exact 1.002 10510336 10485760" ]
	[[ "$(ratio "$S" cat raf_dev)" == "<= "*" S_r lost records" ]]
}

@test "mapped stores have a volume, and no ratio over S above 1 % of D" {
	mapped() { sqlite3 "$S" "DELETE FROM agg_total WHERE kind = (SELECT id FROM kind WHERE name = 'dirty_mmap')
		; INSERT INTO agg_total(run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
		SELECT 1, k.id, 3, 7340032, 0, 1, s.id, 0, 1, 0, $1, 0, 0, 0 FROM kind k JOIN sub s ON s.name = '$2' WHERE k.name = 'dirty_mmap'"; }
	mapped 104857 for_fault # of 10485760
	[ "$(cell "$S" amplification volumes who dd mapped)" = 104857 ]
	[ "$(ratio "$S" dd waf_sys)" = "exact 1.002 10510336 10485760" ]
	mapped 104858 for_fault
	for name in waf_sys hop_page hop_coalesce wra; do
		[[ "$(ratio "$S" dd $name)" == "n/a n/a "*" 102 KiB were stored through mappings, which S does not hold" ]]
	done
	[[ "$(ratio "$S" dd hop_flush)" == "exact 1.000 "* ]]
	mapped 104858 regular # what a call made dirty beside what it wrote
	[ "$(ratio "$S" dd waf_sys)" = "exact 1.002 10510336 10485760" ]
}

@test "a ledger that leaves more than 1 % of D unexplained bounds the ratios of D" {
	sqlite3 "$S" "UPDATE ledger SET unexpected = 104858"
	[ "$(ratio "$S" dd hop_flush)" = "<= 1.000 10485760 10485760 the ledger leaves 104858 of 10485760 bytes of D unexplained" ]
	sqlite3 "$S" "UPDATE ledger SET unexpected = 104857"
	[ "$(ratio "$S" dd hop_flush)" = "exact 1.000 10485760 10485760" ]
}

@test "still dirty after a settle is unexplained, still dirty without one is not" {
	sqlite3 "$S" "UPDATE ledger SET dirty_end = 1048576, written = 9437184"
	[[ "$(ratio "$S" dd hop_coalesce)" == ">= "* ]]
	sqlite3 "$S" "UPDATE run_end SET horizon = 'at_ack', dirty_bytes = 1234567"
	[[ "$(ratio "$S" dd hop_coalesce)" == "exact "* ]]
	[[ "$("$ANALYZE" amplification "$S")" == *"nothing was settled: 1234567 bytes were still dirty in the whole machine"* ]]
}

@test "--logical-bytes gives waf_e2e and hop_app, and without it they are not there" {
	[ "$(ratio "$S" "all traced" waf_e2e --logical-bytes 5000000)" = "exact 2.102 10510336 5000000" ]
	[ "$(ratio "$S" "all traced" hop_app --logical-bytes 5000000)" = "exact 2.097 10485760 5000000" ]
	[ -z "$(ratio "$S" "all traced" waf_e2e)" ]
	[ "$(ratio "$S" "all traced" waf_e2e --logical-bytes 0)" = "n/a n/a 10510336 0 L is 0" ]
}

two_systems="UPDATE process SET system = 'PostgreSQL' WHERE id IN (3, 5);
	INSERT INTO process (run, id, pid, start_ns, comm, kthread) VALUES (1, 6, 900, 9, 'dd', 0);
	INSERT INTO agg_total (run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
	SELECT 1, id, 6, 7340032, 0, 1, 1, 0, 3, 0, 3000, 12288, 0, 0 FROM kind WHERE name = 'write';
	UPDATE agg_total SET owner = 4 WHERE cause = (SELECT id FROM cause WHERE name = 'metadata') AND owner = 3"

@test "processes of one system are one line, kernel threads and others have their own" {
	sqlite3 "$S" "$two_systems"
	[ "$("$ANALYZE" amplification "$S" --format csv --table summary | cut -d, -f1-5 | sed 1d | paste -sd' ')" = \
		"system,PostgreSQL,2 procs,10485760,10502144 process,dd,900,3000,0 kthread,jbd2/loop0-8,300,0,8192 all,all traced,,10488760,10510336 unattributed,unattributed,,0,4096 self,iot-trace itself,,0,65536 total,total,,10488760,10579968" ]
}

@test "--by comm, pid and all" {
	sqlite3 "$S" "$two_systems"
	[ "$(cell "$S" amplification summary who dd pid --by comm)" = "2 procs" ]
	[ "$(cell "$S" amplification summary who dd S --by comm)" = 10488760 ]
	[ "$(cell "$S" amplification summary who dd S --by pid | paste -sd' ')" = "10485760 3000" ]
	[ "$(cell "$S" amplification summary who "all processes" S --by all)" = 10488760 ]
	[ "$(cell "$S" amplification summary what kthread B --by all)" = 8192 ]
}

@test "--system shows that system only, and gives it the logical bytes" {
	sqlite3 "$S" "$two_systems"
	[ "$("$ANALYZE" amplification "$S" --system PostgreSQL --format csv --table summary | sed 1d | cut -d, -f1-5)" = "system,PostgreSQL,2 procs,10485760,10502144" ]
	[ "$(ratio "$S" PostgreSQL waf_e2e --system PostgreSQL --logical-bytes 5000000)" = "exact 2.100 10502144 5000000" ]
	run -2 "$ANALYZE" amplification "$S" --system MinIO
	[ "$output" = "iot-analyze: run 1 has no system 'MinIO' (\`iot-analyze systems\` lists them)" ]
}

@test "--system takes an alias of a built-in system; a name of the run itself wins" {
	sqlite3 "$S" "UPDATE process SET system = 'postgresql' WHERE id = 3; UPDATE process SET system = 'mysql' WHERE id = 5"
	for name in postgresql postgres pg; do
		[ "$("$ANALYZE" amplification "$S" --system $name --format csv --table summary | sed 1d | cut -d, -f1-4)" = "system,postgresql,812,10485760" ]
		[ "$("$ANALYZE" timeline "$S" --system $name --format csv | sed 1d | cut -d, -f1-3)" = "0,10485760,0" ]
	done
	[ "$("$ANALYZE" amplification "$S" --system mysql --format csv --table summary | sed 1d | cut -d, -f1-3)" = "system,mysql,813" ]
	run -2 "$ANALYZE" components "$S" --system sqlite3
	[ "$output" = "iot-analyze: run 1 has no system 'sqlite3' (\`iot-analyze systems\` lists them)" ]
}

@test "a process named like a line of the report stays apart from it" {
	sqlite3 "$S" "UPDATE process SET comm = 'unattributed' WHERE id = 3"
	[ "$(cell "$S" amplification volumes who unattributed B | paste -sd' ')" = "10510336 4096" ]
	[ "$(cell "$S" amplification volumes what unattributed B)" = 4096 ]
}

@test "an owner without a process record has a line that says so" {
	sqlite3 "$S" "DELETE FROM process WHERE id = 3"
	[ "$(cell "$S" amplification volumes who "process 3, name lost" B)" = 10510336 ]
}

@test "every ratio stands with horizon, losses and residual" {
	[ "$("$ANALYZE" amplification "$S" --format csv --table ratios | sed -n 2p)" = \
		"process,dd,812,waf_sys,B/S,exact,1.00234375,10510336,10485760,,after_sync,nothing,4096,0" ]
	# 4096 of loop0's bytes have no owner, and may be dd's
}

@test "the csv of --seed has the header and the values that its users know" {
	run -0 "$ANALYZE" amplification "$S" --seed --format csv
	[ "${lines[0]}" = "System,Read_Amplification,Write_Amplification,Syscall_Reads,Syscall_Writes,Backend_Reads,Backend_Writes,Read_Bytes,Write_Bytes,Avg_Read_Latency_us,Avg_Write_Latency_us,Total_Operations" ]
	[ "${lines[1]}" = "(none),1.500,3.500,4,10,6,35,16384,10485760,100.000,2000.000,55" ]
}

@test "systems prints the table that its users know" {
	sqlite3 "$S" "$two_systems"
	run -0 "$ANALYZE" systems "$S"
	[[ $output == *$'\n'"SYSTEM      SYS_R  SYS_W  VFS_R  VFS_W  BLK_R  BLK_W  R_AMP  W_AMP"$'\n'* ]]
	[ "$("$ANALYZE" systems "$S" --format csv | sed -n 2p)" = "PostgreSQL,4,10,4,10,2,23,1.500,3.300" ]
	[ "$("$ANALYZE" systems "$S" --format csv | sed -n 3p)" = "(none),0,3,0,3,0,2,n/a,1.6666666666666667" ]
}

@test "breakdown: owners and causes sum to the device's bytes" {
	[ "$(cell "$S" breakdown owners who total written)" = 10579968 ]
	[ "$("$ANALYZE" breakdown "$S" --format csv | awk -F, 'NR > 1 && $1 != "total" { s += $6 } END { printf "%d", s }')" = 10579968 ]
	[ "$(cell "$S" breakdown causes cause journal written)" = 16384 ]
	[ "$(cell "$S" breakdown causes cause metadata written)" = 12288 ]
	[ "$(cell "$S" breakdown devices device vda written_again)" = 10514432 ]
	[ "$(cell "$S" breakdown owners cause journal how)" = transaction ]
}

@test "breakdown: a commit of 4 journal blocks is 2 inode table, 1 descriptor, 1 commit" {
	[ "$("$ANALYZE" breakdown "$S" --format csv --table journal | sed 1d | cut -d, -f2,3,5,6 | paste -sd' ')" = \
		"inode_table,8192,2.000,2.000 commit,4096,1.000,1.000 descriptor,4096,1.000,1.000 total,16384,4.000,4.000" ]
	sqlite3 "$S" "UPDATE agg_total SET ops = 2 WHERE kind = (SELECT id FROM kind WHERE name = 'commit')"
	[ "$(cell "$S" breakdown journal structure total blocks_per_commit)" = 2.000 ]
	[ "$(cell "$S" breakdown journal structure descriptor blocks_per_commit)" = 0.500 ]
}

# picture STORE REPORT FIRST-COLUMN COLUMNS: these columns of one block of the picture's data, a word a row
picture() {
	rm -rf "$BATS_TEST_TMPDIR/out"
	mkdir "$BATS_TEST_TMPDIR/out"
	"$ANALYZE" "$2" "$1" --plot "$BATS_TEST_TMPDIR/out" >/dev/null
	awk -F '\t' -v first="# $3" '/^#/ { on = index($0, first) == 1; next } NF && on' "$BATS_TEST_TMPDIR/out/$2.tsv" |
		cut -f"$4" --output-delimiter=: | tr ' ' _ | paste -sd' '
}

# 8 MiB of what dd wrote are of a log, 2 MiB of no known component.
of_a_log="UPDATE file SET component = 'wal' WHERE id = 1; INSERT INTO file (run, id, dev, ino, gen, path) VALUES (1, 9, 7340032, 9, 1, '/mnt/other');
	INSERT INTO file_io VALUES (1, 1, 3, 0, 0, 0, 8, 8388608, 1, 0, 8388608, 0, 8388608), (1, 9, 3, 0, 0, 0, 2, 2097152, 0, 0, 2097152, 0, 2097152)"

@test "the picture of breakdown stacks components, else causes, and sums to B" {
	bars() { picture "$S" breakdown "row	bar" 1-4 | tr ' ' '\n' | grep "^dd_.*:written:" | cut -d: -f3- | paste -sd' '; }
	[ "$(bars)" = "file_data:10485760 fs_journal:16384 fs_metadata:8192" ]
	store_with "$S" "$of_a_log"
	[ "$(bars)" = "wal:8388608 unclassified:2097152 fs_journal:16384 fs_metadata:8192" ]
	[[ $(picture "$S" breakdown apart 1) == "not_drawn:_iot-trace_itself_(64_KiB_written,_0_bytes_read)"* ]]
}

@test "a picture adds up components without a place and names the sum (defect 34)" {
	sqlite3 "$S" "INSERT INTO file_io SELECT 1, 1, 3, id, 0, 0, 1, 4096 * id, 0, 0, 4096 * id, 0, 4096 * id FROM component WHERE id BETWEEN 1 AND 16"
	for report in breakdown components; do
		[ "$(picture "$S" $report "row	bar" 2,3 | tr ' ' '\n' | grep -c ^written)" -gt 16 ]
		[ "$(grep -c '>[0-9]* others</text>' "$BATS_TEST_TMPDIR/out/$report.svg")" = 1 ]
	done
}

# Of 6 MiB that the file system submits in second 0, 4 are of the log; 4 MiB of the log follow in second 1. seconds VALUES: what the device completed
seconds() {
	store_with "$S" "$of_a_log; DELETE FROM agg WHERE kind = (SELECT id FROM kind WHERE name = 'block_write') AND owner = 3 AND dev = 7340032;
		INSERT INTO agg SELECT 1, v.column1, k.id, 3, 7340032, c.id, 1, 0, NULL, 0, NULL, 1, 0, v.column2, 0, 0, 0, 0 FROM kind k, cause c, (VALUES $1) v
			WHERE k.name = 'block_write' AND c.name = 'data';
		INSERT INTO event (run, ts_ns, bytes, task, owner, file, dev, kind, cause) SELECT 1, v.column1, v.column2, 3, 3, v.column3, 7340032, k.id, c.id
			FROM kind k, cause c, (VALUES (1000, 4194304, 1), (2000, 2097152, NULL), (1500000000, 4194304, 1)) v WHERE k.name = 'fs_write' AND c.name = 'data'"
}

@test "the picture of timeline has components by second and sums to the run's B" {
	# 4096 bytes of metadata have no owner
	areas() { picture "$S" timeline "x	bin" 1,3,4 | tr ' ' '\n' | grep -vE "metadata|calls|B_r" | paste -sd' '; }
	seconds "(0, 3000000), (1, 7485760)"
	[ "$(areas)" = "0:wal:4194304 1:unclassified:2097152 1:wal:4194304" ]
	[ "$(picture "$S" timeline "x	bin" 1,3,4 | tr ' ' '\n' | grep metadata)" = 0:fs_metadata:4096 ]
	[ "$(picture "$S" timeline note 1)" = file_data_of_a_component_is_in_the_second_in_which_the_file_system_submitted_it ]
	# the aggregates of a second were read late, and hold bytes of the next
	seconds "(0, 10485760), (1, 0)"
	[ "$(areas)" = "0:unclassified:2097152 0:wal:4194304 1:wal:4194304" ]
}

@test "latency: 100 durations in 4 buckets give the middles of the right buckets" {
	[ "$("$ANALYZE" latency "$S" --format csv | grep ,syscall,write, | cut -d, -f5-)" = "10,100,20000.000,2000.000,0.000,1.088,4.352,69.632,65.536,73.728,1114.112,4000.000" ]
}

@test "latency: calls on pipes have their own lines, other processes none (defect 25)" {
	sqlite3 "$S" "INSERT INTO hist (run, kind, other, bucket, low_ns, high_ns, n) SELECT 1, id, 1, 64, 1024, 1152, 5 FROM kind WHERE name = 'write';
		INSERT INTO agg_total (run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
		SELECT 1, k.id, 2, 7340032, 0, 1, 1, 0, 1000, 0, 0, 0, 96000000000, 96000000 FROM kind k WHERE k.name = 'write'"
	[ "$("$ANALYZE" latency "$S" --format csv | grep ,syscall,write, | cut -d, -f5-)" = "10,100,20000.000,2000.000,0.000,1.088,4.352,69.632,65.536,73.728,1114.112,4000.000" ]
	[ "$("$ANALYZE" latency "$S" --format csv | grep 'not files.*,write,' | cut -d, -f6-)" = "1,5,1.000,1.000,0.000,1.000,1.000,1.000,1.024,1.152,1.000,1.000" ]
}

@test "latency: sampled sums are marked as estimates, untimed calls are n/a (defect 29)" {
	sqlite3 "$S" "UPDATE run SET latency = 'sampled'; UPDATE agg_total SET timed = 2, lat_ns = 5000 WHERE lat_ns = 20000000"
	[ "$("$ANALYZE" latency "$S" --format csv | grep ,syscall,write, | cut -d, -f4-8)" = "sum estimated,10,100,25.000,2.500" ]
	sqlite3 "$S" "UPDATE run SET latency = 'none'; UPDATE agg_total SET timed = 0, lat_ns = 0, max_ns = 0 WHERE lat_ns > 0; DELETE FROM hist"
	[ "$("$ANALYZE" latency "$S" --format csv | grep ,syscall,write, | cut -d, -f4-9)" = ",10,0,n/a,n/a,n/a" ]
	[ "$("$ANALYZE" seed "$S" --format csv 2>/dev/null | tail -n 1 | cut -d, -f10,11)" = "n/a,n/a" ] ||
		[ "$("$ANALYZE" amplification "$S" --seed --format csv | tail -n 1 | cut -d, -f10,11)" = "n/a,n/a" ]
}

# 50 of 1.088 us, 45 of 4.352, 4 of 69.632 and one of 1114.112: variance 12470312587.6 ns2; of 400, three of four can err:
# 1.96 * sqrt(12470312587.6 / 100 * 0.75) = 18955 ns. Ranks 99 -+ 1.96 * sqrt(100 * 0.99 * 0.01 * 0.75): 97.3, of the 4, and 100.7, of none.
@test "latency: with 100 of 400 timed, mean and p99 have the error of that sample" {
	sqlite3 "$S" "UPDATE run SET latency = 'sampled'; UPDATE agg_total SET ops = 400, timed = 100 WHERE lat_ns = 20000000"
	[ "$("$ANALYZE" latency "$S" --format csv | grep ,syscall,write, | awk -F, -v OFS=, '{ printf "%s,%d,%d,%.3f,%.3f,%.3f,%.3f,%s\n", $4, $5, $6, $7, $8, $9, $13, $14 }')" = "sum estimated,400,100,80000.000,200.000,18.955,65.536,n/a" ]
	sqlite3 "$S" "UPDATE hist SET n = 2; UPDATE agg_total SET timed = 8 WHERE lat_ns = 20000000"
	[ "$("$ANALYZE" latency "$S" --format csv | grep ,syscall,write, | cut -d, -f5,6,9)" = "400,8,n/a" ]
}

@test "latency: calls of which it is not said how many were timed all count in the mean" {
	sqlite3 "$S" "UPDATE run SET latency = 'sampled'; DELETE FROM hist; UPDATE agg_total SET timed = 2, lat_ns = 5000 WHERE lat_ns = 20000000;
		INSERT INTO agg_total SELECT run, kind, owner, dev, cause, how, sub, carrier, flags + 1, op, 3, 0, 0, 0, NULL, 15000, max_ns FROM agg_total WHERE lat_ns = 5000"
	[ "$("$ANALYZE" latency "$S" --format csv | grep ,syscall,write, | cut -d, -f4-8)" = "sum estimated,13,n/a,52.000,4.000" ]
}

@test "what was not recorded is no 0: an incomplete run, a process without a counter" {
	sqlite3 "$S" "INSERT INTO process(run, id, pid, start_ns, comm, kthread, rchar, wchar) SELECT run, 901, 9901, 5, 'twice', 0, 7, 7 FROM run;
		INSERT INTO process(run, id, pid, start_ns, comm, kthread, rchar) SELECT run, 902, 9901, 5, 'twice', 0, 7 FROM run"
	"$ANALYZE" verify "$S" --format csv >"$BATS_TEST_TMPDIR/verify.csv" || :
	[ "$(grep 'twice \[9901\]' "$BATS_TEST_TMPDIR/verify.csv" | cut -d, -f1,2,4)" = "process bytes read,twice [9901],14" ]
	sqlite3 "$S" "DELETE FROM run_end"
	[ "$("$ANALYZE" runs "$S" --format tsv | awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "events") at = i } NR == 2 { print $at }')" = n/a ]
}

@test "latency: an operation without a histogram has exact numbers and no percentiles" {
	[ "$("$ANALYZE" latency "$S" --format csv | grep ,fsync, | cut -d, -f5-)" = "1,n/a,30000.000,30000.000,n/a,n/a,n/a,n/a,n/a,n/a,n/a,30000.000" ]
}

@test "latency: a percentile is never above the exact maximum" {
	sqlite3 "$S" "UPDATE agg_total SET max_ns = 1100000 WHERE max_ns = 4000000"
	[ "$("$ANALYZE" latency "$S" --format csv | grep ,syscall,write, | cut -d, -f15,16)" = "1100.000,1100.000" ]
}

@test "latency: queue and device apart, and fsync split into its parts" {
	sqlite3 "$S" "INSERT INTO agg_total (run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
		SELECT 1, id, 3, 7340032, 0, 1, 0, 0, 1, 0, 0, 0, CASE name WHEN 'fs_sync' THEN 1000 WHEN 'fs_sync_data' THEN 700 WHEN 'fs_sync_commit' THEN 200 ELSE 100 END, 1
		FROM kind WHERE name LIKE 'fs_sync%'"
	[ "$(cell "$S" latency latency part queue operation)" = queue_write ]
	[ "$(cell "$S" latency latency part device operation | paste -sd' ')" = "block_read block_write block_flush" ]
	[ "$("$ANALYZE" latency "$S" --format csv --table fsync | sed 1d | cut -d, -f2,5 | paste -sd' ')" = \
		"whole fsync,1.000 data writeback,0.700 journal commit,0.200 device flush,0.100" ]
}

@test "verify: everything agrees, exit status 0" {
	run -0 "$ANALYZE" verify "$S" --format csv
	[[ $output != *,MISMATCH,* ]]
	[ "$("$ANALYZE" verify "$S" --format csv | grep -c ,OK,)" = 10 ]
}

# mismatch SQL SUBJECT WHAT [WHAT]
mismatch() {
	store_with "$S" "$1"
	run -1 "$ANALYZE" verify "$S" --format csv
	[ "$(grep ,MISMATCH, <<<"$output" | cut -d, -f1,2)" = "$3,$2${4:+
$4,$2}" ]
}

@test "verify: one byte of difference in any independent counter is a mismatch" {
	mismatch "UPDATE truth SET end_value = end_value + 1 WHERE what = 'read_bytes'" loop0 "device bytes read"
	mismatch "UPDATE truth SET end_value = end_value - 512 WHERE dev = 266338304" vda "P: bytes written to the disk at the bottom" "device bytes written"
	mismatch "UPDATE truth SET begin_value = begin_value + 1 WHERE what = 'write_bytes' AND dev = 7340032" loop0 "device bytes written"
	mismatch "UPDATE process SET wchar = 10485767 WHERE id = 3" "dd [812]" "process bytes written"
	mismatch "UPDATE process SET rchar = 10485759 WHERE id = 3" "dd [812]" "process bytes read"
	mismatch "UPDATE truth SET end_value = end_value + 1024 WHERE what = 'session_write_bytes'" loop0 "ext4 session_write_bytes"
	mismatch "UPDATE ledger SET cancelled = 1" run "ledger: dirtied = written + cancelled + still dirty"
	mismatch "UPDATE ledger SET unexpected = 200000, cancelled = 200000" run "ledger: unexplained (at most 1 % of D)"
	mismatch "UPDATE ledger SET written = written - 1, cancelled = 1" run "ledger: file data submitted"
}

@test "verify: bytes completed between a counter's reading and the run are named" {
	sqlite3 "$S" "UPDATE truth SET end_value = end_value + 8192, outside = 8192, under_way = 12288, unseen = 4096 WHERE what = 'write_bytes' AND dev = 7340032"
	run -0 "$ANALYZE" verify "$S" --format csv
	[[ $output == *"device bytes written,loop0,10522624,10522624,0,OK,"* ]]
	[[ $output == *'"device bytes written, outside the run",loop0,8192,n/a,n/a,n/a,'* ]]
	[[ $output == *'"device bytes written, under way at its end",loop0,12288,n/a,n/a,n/a,'* ]]
	[[ $output == *'"device bytes written, completion not told",loop0,4096,n/a,n/a,n/a,'* ]]
	mismatch "UPDATE truth SET end_value = end_value + 8192, outside = 4096 WHERE what = 'write_bytes' AND dev = 7340032" loop0 "device bytes written"
	mismatch "UPDATE truth SET outside = 512 WHERE what = 'write_bytes' AND dev = 7340032" loop0 "device bytes written"
}

@test "verify: what cannot be compared says why" {
	sqlite3 "$S" "DELETE FROM ledger; UPDATE run SET events = 0; UPDATE process SET rchar = NULL, wchar = NULL; UPDATE run SET layers = 'syscall,fs'"
	run -0 "$ANALYZE" verify "$S" --format csv
	[[ $output == *"device bytes written,loop0,n/a,10514432,n/a,n/a,layer block was not measured"* ]]
	[[ $output == *"n/a,\"needs events, and the run recorded none\""* ]]
	[[ $output == *"2 processes,n/a,n/a,n/a,n/a,"* ]]
}

@test "verify: a process that called exec is one process, not compared while it lives" {
	sqlite3 "$S" "INSERT INTO process (run, id, pid, start_ns, comm, kthread, rchar, wchar) VALUES (1, 9, 812, 5, 'bash', 0, 0, 0);
		UPDATE process SET wchar = wchar + 77 WHERE id = 3;
		INSERT INTO agg_total (run, kind, owner, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
		SELECT 1, k.id, 9, 0, 1, s.id, 0, 1, 0, 77, 0, 0, 0 FROM kind k, sub s WHERE k.name = 'write' AND s.name = 'pipe'"
	run -0 "$ANALYZE" verify "$S" --format csv
	[[ $output == *"process bytes written,bash [812],10485845,10485845,0,OK,"* ]]
	sqlite3 "$S" "UPDATE process SET rchar = NULL, wchar = NULL WHERE id = 3"
	run -0 "$ANALYZE" verify "$S" --format csv
	[[ $output != *"[812]"* && $output == *"2 processes,n/a,n/a,n/a,n/a,"* ]]
}

@test "verify: an earlier process is exact, n/a at the edge, or a mismatch if too large" {
	sqlite3 "$S" "INSERT INTO truth (run, source, what, pid, begin_value, end_value) VALUES (1, '/proc/813/io', 'rchar', 813, 1000, 17384)"
	run -0 "$ANALYZE" verify "$S" --format csv
	[[ $output == *"process bytes read,cat [813],16384,16384,0,OK,rchar"* ]]
	[[ $output != *"1 processes"* ]]
	sqlite3 "$S" "UPDATE truth SET end_value = 17385 WHERE pid = 813"
	run -0 "$ANALYZE" verify "$S" --format csv
	[[ $output == *"process bytes read,cat [813],16384,16385,-1,n/a,it ran while tracing began or ended: 16384 of 16385 bytes traced"* ]]
	sqlite3 "$S" "UPDATE truth SET end_value = 17383 WHERE pid = 813"
	run -1 "$ANALYZE" verify "$S" --format csv
	[[ $output == *"process bytes read,cat [813],16384,16383,1,MISMATCH,rchar"* ]]
}

@test "verify: ranges of write-zeroes count as traced; one byte more is a mismatch" {
	sqlite3 "$S" "INSERT INTO agg_total (run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
		SELECT 1, k.id, 2, 7340032, c.id, 1, 0, 0, 19, 0, 0, 1048576, 0, 0 FROM kind k, cause c WHERE (k.name, c.name) = ('block_zeroes', 'discard');
		UPDATE truth SET end_value = end_value + 1048576 WHERE dev = 7340032 AND what IN ('write_bytes', 'session_write_bytes')"
	run -0 "$ANALYZE" verify "$S" --format csv
	[ "$(grep -c "loop0,11563008,11563008,0,OK" <<<"$output")" = 2 ]
	sqlite3 "$S" "UPDATE truth SET end_value = end_value + 1 WHERE dev = 7340032 AND what = 'write_bytes'"
	run -1 "$ANALYZE" verify "$S"
}

@test "verify: no leaf, or iostats off, is n/a; ext4 on a volume has the tracer's count" {
	sqlite3 "$S" "UPDATE truth SET end_value = end_value + 4096 WHERE dev = 7340032 AND what = 'write_bytes'"
	run -1 "$ANALYZE" verify "$S"
	sqlite3 "$S" "UPDATE truth SET uncounted = 1 WHERE dev = 7340032 AND what = 'write_bytes'"
	run -0 "$ANALYZE" verify "$S" --format csv
	[[ $output == *"n/a,the kernel was told not to count: iostats is 0"* ]]
	sqlite3 "$S" "UPDATE truth SET uncounted = NULL; UPDATE device SET leaf = 0 WHERE dev = 7340032"
	run -0 "$ANALYZE" verify "$S" --format csv
	[[ $output == *"n/a,no leaf: the devices below it count its bytes"* ]]
	sqlite3 "$S" "UPDATE truth SET traced = end_value - begin_value - 4096 WHERE what = 'session_write_bytes'"
	run -1 "$ANALYZE" verify "$S" --format csv
	sqlite3 "$S" "UPDATE truth SET traced = end_value - begin_value WHERE what = 'session_write_bytes'"
	run -0 "$ANALYZE" verify "$S" --format csv
}

@test "ratios leave out programs that read a few cached bytes; summary and --by pid not" {
	sqlite3 "$S" "INSERT INTO process (run, id, pid, start_ns, comm, kthread) VALUES (1, 6, 900, 9, 'tiny', 0), (1, 7, 901, 9, 'warm', 0);
		INSERT INTO agg_total (run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
		SELECT 1, id, 6, 7340032, 0, 1, 1, 0, 1, 0, 16, 0, 0, 0 FROM kind WHERE name = 'read'
		UNION ALL SELECT 1, id, 7, 7340032, 0, 1, 1, 0, 1, 0, 1000000, 0, 0, 0 FROM kind WHERE name = 'read'"
	[ -z "$(ratio "$S" tiny raf_dev)" ]
	[ "$(ratio "$S" tiny raf_dev --by pid)" = "exact 0.000 0 16" ]
	[ "$(ratio "$S" warm hit_ratio)" = "exact 1.000 0 1000000" ]
	[ "$(cell "$S" amplification summary who tiny S_r)" = 16 ]
}

@test "verify: a file system mounted inside the run counts less than its device" {
	sqlite3 "$S" "UPDATE truth SET end_value = 4096 WHERE what = 'session_write_bytes'"
	run -0 "$ANALYZE" verify "$S" --format csv
	[[ $output == *"ext4 session_write_bytes,loop0,10514432,4096,10510336,n/a,mounted inside the run: it counts from then on"* ]]
	# mkfs wrote before the recording, with the programs attached: that was before the mount too
	sqlite3 "$S" "UPDATE truth SET end_value = 10514432, outside = 8192 WHERE what = 'session_write_bytes'"
	run "$ANALYZE" verify "$S" --format csv
	[[ $output == *"ext4 session_write_bytes,loop0,10522624,10514432,8192,n/a,mounted inside the run: it counts from then on"* ]]
}

@test "verify: libaio, io_uring and splice are not in wchar" {
	sqlite3 "$S" "INSERT INTO agg_total (run, kind, owner, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
		SELECT 1, k.id, 3, 0, 1, s.id, 0, 1, 0, 4099, 8192, 0, 0 FROM kind k, sub s WHERE k.name IN ('aio_write', 'uring_write', 'splice_out') AND s.name = 'regular'"
	[ "$(cell "$S" amplification volumes who dd S)" = $((10485760 + 3 * 4099)) ]
	run -0 "$ANALYZE" verify "$S" --table checks
	[[ $output == *"process bytes written"*"dd [812]  "*"10485768  10485768"* ]]
}

@test "the newest run is the default, --run takes a number or a label" {
	sqlite3 "$S" "CREATE TEMP TABLE two AS SELECT * FROM run WHERE run = 1;
		UPDATE two SET run = 2, uuid = 'u2', label = 'second';
		INSERT INTO run SELECT * FROM two;
		INSERT INTO run_end (run, dur_ns, horizon, events) VALUES (2, 1, 'after_sync', 0)"
	[[ "$("$ANALYZE" amplification "$S")" == *"run 2 (second)"* ]]
	[[ "$("$ANALYZE" amplification "$S" --run 1)" == *"run 1 (dd)"* ]]
	[[ "$("$ANALYZE" amplification "$S" --run=dd)" == *"run 1 (dd)"* ]]
	run -2 "$ANALYZE" amplification "$S" --run 3
	[ "${#lines[@]}" = 1 ]
	[[ $output == *"has no run '3' (the newest is 2"* ]]
	[ "$("$ANALYZE" runs "$S" --format csv | cut -d, -f1,2 | sed 1d | paste -sd' ')" = "1,dd 2,second" ]
}

@test "a run without an end is answered, called incomplete, and the exit status is 1" {
	sqlite3 "$S" "DELETE FROM run_end"
	run --separate-stderr -1 "$ANALYZE" amplification "$S" --format csv --table summary
	[ "${#lines[@]}" = 7 ]
	[[ $stderr == "iot-analyze: run 1 of "*"is incomplete"* ]]
	[[ "$("$ANALYZE" amplification "$S" 2>&1)" == *"horizon unknown"* ]]
}

@test "integers of 64 bits are exact in every format" {
	sqlite3 "$S" "UPDATE agg_total SET bytes = 9007199254740993 WHERE owner = 3 AND bytes = 10485760 AND kind = (SELECT id FROM kind WHERE name = 'block_write') AND dev = 7340032"
	[ "$("$ANALYZE" amplification "$S" --format json | grep -oE '"B":[[:space:]]*9007199254765569' | head -1 | tr -d '[:space:]')" = '"B":9007199254765569' ]
	[ "$(cell "$S" amplification summary who dd B)" = 9007199254765569 ]
	[[ "$("$ANALYZE" amplification "$S")" == *9007199254765569* ]]
}

@test "--table leaves one table in json too" {
	[ "$("$ANALYZE" files "$S" --table ledger --top 1 --format json |
		python3 -c 'import json, sys; t = json.load(sys.stdin)["tables"]; print(*t, *(len(rows) for rows in t.values()))')" = "ledger 1" ]
}

@test "json is one document with run, losses and tables" {
	"$ANALYZE" amplification "$S" --format json | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["report"] == "amplification" and d["run"]["run"] == 1 and d["run"]["horizon"] == "after_sync" and d["lost"] == []
r = {(x["who"], x["ratio"]): x for x in d["tables"]["ratios"]}
assert r["dd", "waf_sys"]["numerator"] == 10510336 and r["dd", "waf_sys"]["value"] == 1.00234375 == 10510336 / 10485760 # all digits
assert r["dd", "wra"]["value"] == 0
assert r["cat", "ra_waste"]["value"] == 1'
}

@test "timeline has a line for every second, also for those in which nothing happened" {
	sqlite3 "$S" "UPDATE agg SET sec = 3 WHERE owner = 5"
	[ "$("$ANALYZE" timeline "$S" --format csv | cut -d, -f1-3,8 | sed 1d | paste -sd' ')" = "0,10485760,0,0 1,0,0,0 2,0,0,0 3,0,16384,16384" ]
}

@test "files names what the ledger knows, and inodes above 2^63" {
	sqlite3 "$S" "UPDATE file SET ino = -1"
	[ "$("$ANALYZE" files "$S" --table ledger --format csv | sed -n 2p)" = "/mnt/out,loop0,18446744073709551615,n/a,dd,10485760,10485760,0,10485760,0,0,0,0,0" ]
}

@test "--where keeps rows, --sort orders them, --top says how many it leaves out" {
	sqlite3 "$S" "DELETE FROM ledger; DELETE FROM file; WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 150)
		INSERT INTO file(run, id, dev, ino, gen, path) SELECT 1, n, 7340032, n, 1, '/f/' || n FROM n;
		INSERT INTO file_io SELECT 1, id, 3, 0, 0, 0, 1, 1024 * id, 0, 0, 0, 0, 0 FROM file"
	[ "$(names path | wc -l)" = 100 ]
	[ "$(names path --sort S | sed -n '1p;150p')" = "/f/150
/f/1" ]
	[ "$(names path --sort S:asc --top 2)" = "/f/1
/f/2" ]
	[ "$(names "path S" --where 'S<=2KiB' --sort path:desc)" = "/f/2 2048
/f/1 1024" ]
	[ "$(names path --where path~9 --where 'S>100000' --where path!=/f/149 --sort path)" = "/f/109
/f/119
/f/129
/f/139
/f/98
/f/99" ]
	[ "$(names path --where component=n/a | wc -l)" = 150 ]
	[ "$(names path --where 'component>0' | wc -l)" = 0 ]
	[ "$("$ANALYZE" files "$S" --table files --top 3 | tail -n 1)" = "(147 others)" ]
	[ "$("$ANALYZE" files "$S" --table files --top 149 | tail -n 1)" = "(1 other)" ]
	[ "$("$ANALYZE" files "$S" --table files --where path=/f/7 | grep -c other)" = 0 ]
	[ "$("$ANALYZE" files "$S" --table files --where path=/f/7 | wc -l)" = 2 ]
	[ "$(names path --where S=nan | wc -l)" = 0 ]
	# a number is found as it is printed, also where it has more decimals, and a time with a unit
	[ "$("$ANALYZE" amplification "$S" --table ratios --where value=1.002 --where ratio=waf_sys --format csv | cut -d, -f2,7)" = "who,value
dd,1.00234375
all traced,1.00234375" ]
	[ "$("$ANALYZE" amplification "$S" --table ratios --where value!=1.002 --where ratio=waf_sys --format csv | wc -l)" = 1 ]
	[ "$("$ANALYZE" latency "$S" --table latency --where 'max_us>=800us' --where 'max_us<4ms' --format tsv | cut -f3 | paste -sd' ')" = "operation block_write read" ]
	run -2 "$ANALYZE" latency "$S" --where 'ops>1ms'
	sqlite3 "$S" "UPDATE file_io SET write_bytes = 9007199254740992 + (file = 1) WHERE file <= 2" # a double has 53 bits
	[ "$(names path --where S=9007199254740993)" = /f/1 ]
	[ "$(names path --sort S:asc | tail -n 2 | paste -sd ' ')" = "/f/2 /f/1" ]
	while IFS='|' read -r args why; do
		# shellcheck disable=SC2086
		run --separate-stderr -2 "$ANALYZE" $args
		[[ $stderr == "iot-analyze: $why"* ]] || { echo "$args: $stderr"; false; }
	done <<-E
		files $S --where nothing|--where: 'nothing' is not COLUMN=VALUE
		files $S --where =1|--where: '=1' is not COLUMN=VALUE
		files $S --where S>large|--where: 'large' is not a number
		files $S --where foo=1|--where foo=1: report 'files' has no such column (there are path, device, ino,
		files $S --table io --sort rewrite|--sort rewrite: report 'files' has no such column (there are path
		files $S --sort S:up|--sort: 'S:up' is neither COLUMN nor
		files $S --top 0|--top: at least one row
		merge x a b --top 3|--top is for reports and compare
	E
	# what fails is not hidden by what is printed
	sqlite3 "$S" "UPDATE truth SET end_value = end_value + 4096"
	run -1 "$ANALYZE" verify "$S" --where result=OK
	run -1 "$ANALYZE" check "$S" --max waf_sys=0.1 --top 1
}

# on_terminal COLUMNS COMMAND...: what it writes to a terminal of that width
on_terminal() {
	python3 - "$@" <<-'E'
	import fcntl, os, pty, struct, sys, termios
	pid, fd = pty.fork()
	if not pid:
	    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
	    os.execvp(sys.argv[2], sys.argv[2:])
	try:
	    while True:
	        data = os.read(fd, 65536)
	        sys.stdout.buffer.write(data.replace(b"\r\n", b"\n"))
	        if not data:
	            break
	except OSError:
	    pass
	sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	E
}

@test "on a terminal: units, bold heads, red failures, cut names; elsewhere none of it" {
	export TERM=xterm
	unset NO_COLOR COLUMNS
	long=/srv/$(printf 'd%.0s' {1..40})/ü$(printf 'x%.0s' {1..40})/end.log
	sqlite3 "$S" "UPDATE file SET path = '$long'"
	ledger=("$ANALYZE" files "$S" --table ledger)
	[ "$("${ledger[@]}" | sed -n 2p | awk '{ print $1, $6, $7, $8 }')" = "$long 10485760 10485760 0" ]
	[ "$(on_terminal 400 "${ledger[@]}" | sed -n 2p | awk '{ print $1, $6 $7, $8 $9, $10 $11 }')" = $'\e[0m'"$long 10MiB 10MiB 0B" ]
	[ "$(on_terminal 400 "${ledger[@]}" --bytes | sed -n 2p | awk '{ print $6 }')" = 10485760 ]
	[ "$(NO_COLOR=1 on_terminal 400 "${ledger[@]}" | sed -n 2p | cut -d' ' -f1)" = "$long" ]
	[ "$(TERM=dumb on_terminal 400 "${ledger[@]}" | sed -n 2p | cut -d' ' -f1)" = "$long" ]
	[[ "$(on_terminal 400 "${ledger[@]}" | head -n 1)" == $'\e[1mpath '* ]]
	# 13 other columns and what is between: the rest is the name's, cut in its middle, also next to a letter of two bytes
	for width in 200 196 195 194; do
		on_terminal $width "${ledger[@]}" --bytes | sed 's/\x1b\[[0-9;]*m//g' >"$BATS_TEST_TMPDIR/cut"
		[ "$(LC_ALL=C.UTF-8 awk '{ if (length > n) n = length } END { print n }' "$BATS_TEST_TMPDIR/cut")" -le $width ] || { cat "$BATS_TEST_TMPDIR/cut"; false; }
		[[ "$(sed -n 2p "$BATS_TEST_TMPDIR/cut")" == "/srv/dddd"*..*"/end.log "* ]]
		iconv -f UTF-8 -t UTF-8 "$BATS_TEST_TMPDIR/cut" >/dev/null
	done
	[ "$(on_terminal 24 "${ledger[@]}" | sed -n 2p)" = $'\e[0m/srv/dddddd..xxx/end.log' ]
	[ "$(on_terminal 80 "$ANALYZE" latency "$S" --table latency --where operation=fsync | sed -n 2p | grep -c ' [0-9.]* [µm]s ')" = 1 ]
	[[ "$(on_terminal 80 "$ANALYZE" check "$S" --max waf_sys=0.1 || :)" == *$'\e[1;31mBROKEN '* ]]
	on_terminal 80 "${ledger[@]}" --format csv | grep -q ',10485760,'
}

@test "on a terminal a share of bytes has no unit; bytes of sockets and places have one" {
	unset COLUMNS
	[ "$(TERM=dumb on_terminal 80 "$ANALYZE" sql "$S" "SELECT 0.5 AS share_bytes, 1024 AS from_byte, 2048 AS sent, 3072 AS below_bytes" | grep -A1 share_bytes)" = \
'share_bytes  from_byte   sent  below_bytes
      0.500      1 KiB  2 KiB        3 KiB' ]
}

@test "no line is wider than the terminal: wide tables stand in blocks, columns stay" {
	export TERM=xterm
	unset NO_COLOR COLUMNS
	# each report on one of the widths; with IOT_LONG=1 on each
	local at=0
	for report in files amplification latency verify explain breakdown; do
		at=$((at + 1))
		for width in $(sized "$((at % 3 == 0 ? 132 : at % 3 == 1 ? 80 : 60))" "60 80 132"); do
			on_terminal $width "$ANALYZE" "$report" "$S" | sed 's/\x1b\[[0-9;]*m//g' >"$BATS_TEST_TMPDIR/wide"
			run env LC_ALL=C.UTF-8 grep -E "^.{$((width + 1)),}" "$BATS_TEST_TMPDIR/wide"
			[ -z "$output" ] || { echo "$report on $width: $output"; false; }
		done
	done
	all() { tr -s ' ' '\n' | grep . | LC_ALL=C sort; }
	table=("$ANALYZE" amplification "$S" --table ratios --bytes)
	TERM=dumb on_terminal 60 "${table[@]}" >"$BATS_TEST_TMPDIR/blocks"
	[ "$(grep -c '^$' "$BATS_TEST_TMPDIR/blocks")" -ge 1 ]
	# each block has a line of heads and as many rows; rows are in the same order in each
	awk -v RS= '{ n = split($0, line, "\n"); print n }' "$BATS_TEST_TMPDIR/blocks" | sort -u | wc -l | grep -qx 1
	[ "$(awk -v RS= -F'\n' '{ print $1 }' "$BATS_TEST_TMPDIR/blocks" | all | uniq)" = "$(TERM=dumb on_terminal 400 "${table[@]}" | head -n 1 | all)" ]
	[ "$(awk -v RS= -F'\n' 'NR == 1 { n = split($1, h, " +"); for (i = 1; i <= n; i++) if (h[i] == "ratio") at = i } { print $1 }' "$BATS_TEST_TMPDIR/blocks" | grep -cw ratio)" = \
		"$(awk -v RS= 'END { print NR }' "$BATS_TEST_TMPDIR/blocks")" ]
	on_terminal 40 "$ANALYZE" explain "$S" --table explain | grep -q 'MiB that$'
}

@test "a report without a row says so" {
	[ "$("$ANALYZE" sizes "$S" | sed -n 3p)" = "The store holds no run of a sweep: workloads/sweep.sh makes them." ]
	[ "$("$ANALYZE" network "$S" | sed -n 5p)" = "No payload moved on sockets, or layer net was not measured." ]
	sqlite3 "$S" "DELETE FROM ledger; DELETE FROM agg_total"
	[ "$("$ANALYZE" files "$S" | sed -n 5p)" = "There is nothing of this kind to show." ]
}

# names COLUMNS OPTIONS: of each row of files these columns
names() {
	kept "$ANALYZE" files "$S" --format csv "${@:2}" | python3 -c 'import csv, sys
for r in csv.DictReader(sys.stdin): print(*(r[c] for c in sys.argv[1].split()))' "$1"
}

@test "files by directory, pattern and component sum the rows by file; rewrites too" {
	sqlite3 "$S" "DELETE FROM ledger; DELETE FROM file;
		INSERT INTO file(run, id, dev, ino, gen, path, component) VALUES (1, 1, 7340032, 11, 1, '/d/a/0001.log', 'wal'), (1, 2, 7340032, 12, 1, '/d/a/0002.log', 'wal'),
			(1, 3, 7340032, 13, 1, '/d/b/deadbeef-cafe-41d4-a716-446655440000', 'data'), (1, 4, 7340032, 14, 1, '/d/b/550e8400-e29b-41d4-beef-44665544abcd', NULL),
			(1, 5, 7340032, 15, 1, NULL, NULL), (1, 6, 7340032, 16, 1, NULL, NULL), (1, 7, 7340032, 17, 1, '/top', NULL), (1, 1048577, 7340032, 18, 1, '/d/a/x', NULL);
		INSERT INTO file_io SELECT 1, value, 3, 0, 0, 0, 1, 1000 * value, 0, 0, 4096 * value, 0, 4096 * value FROM json_each('[0, 1, 2, 3, 4, 5, 6, 7, 1048577]');
		UPDATE file_io SET write_bytes = 100, fs_write_bytes = 0, dev_write_bytes = 0 WHERE file = 1048577;
		INSERT INTO ledger SELECT 1, value, 3, 12288 * value, 4096 * value, 8192 * value, 4096 * value, 0, 0, 0, 0, 0, 0, 0, 2048 * value FROM json_each('[1, 2, 3]');
		INSERT INTO put(run, owner, dev, call, file, sub, txns, blocks, weight) SELECT 1, 3, 7340032, 'write', value, 0, 1, 3 * value, 3 * value FROM json_each('[1, 2]')
			UNION ALL SELECT 1, 3, 7340032, 'unlink', 2, 0, 1, 3, 3"
	journal=$("$ANALYZE" journal "$S" --table operations --format csv | awk -F, 'NR > 1 { n += $10 } END { print n }')
	[ "$journal" -gt 0 ]
	one=$((journal / 4))
	[ "$(names "path files S B component rewrite journal journal_blocks" | LC_ALL=C sort)" = "(file not known) 1 0 0 n/a n/a n/a n/a
(name not known) 2 11000 45056 n/a n/a n/a n/a
/d/a/0001.log 1 1000 4096 wal 3.000 $one 3
/d/a/0002.log 1 2000 8192 wal 3.000 $((journal - one)) 9
/d/a/x 1 100 0 n/a n/a 0 0
/d/b/550e8400-e29b-41d4-beef-44665544abcd 1 4000 16384 n/a n/a 0 0
/d/b/deadbeef-cafe-41d4-a716-446655440000 1 3000 12288 data 3.000 0 0
/top 1 7000 28672 n/a n/a 0 0" ] || { names "path files S B component rewrite journal journal_blocks" | LC_ALL=C sort; false; }
	# W of the files 1, 2 and 3 by the ledger is 4096, 8192 and 12288; the part of them that it went to is half of that, of the third not known in all
	[ "$(names "path rewrite_dev" | LC_ALL=C sort | tr '\n' ' ')" = "(file not known) n/a (name not known) n/a /d/a/0001.log 2.000 /d/a/0002.log 2.000 /d/a/x n/a /d/b/550e8400-e29b-41d4-beef-44665544abcd n/a /d/b/deadbeef-cafe-41d4-a716-446655440000 2.000 /top n/a " ]
	sqlite3 "$S" "UPDATE ledger SET covered = 8192 WHERE file = 2; UPDATE ledger SET covered = NULL WHERE file = 3"
	[ "$(names "path rewrite_dev" --by directory | LC_ALL=C sort | tr '\n' ' ')" = "(file not known) n/a (name not known) n/a / n/a /d/a 1.200 /d/b n/a " ]
	[ "$(names "path files S B journal" --by file)" = "$(names "path files S B journal")" ]
	[ "$(names "path files S B ino component journal_blocks" --by directory | LC_ALL=C sort)" = "(file not known) 1 0 0 n/a n/a n/a
(name not known) 2 11000 45056 n/a n/a n/a
/ 1 7000 28672 17 n/a 0
/d/a 3 3100 12288 n/a wal 12
/d/b 2 7000 28672 n/a data 0" ]
	[ "$(names "path files S" --by pattern | LC_ALL=C sort)" = "(file not known) 1 0
(name not known) 2 11000
/d/a/#.log 2 3000
/d/a/x 1 100
/d/b/# 2 7000
/top 1 7000" ]
	[ "$(names "path files S" --by component | LC_ALL=C sort)" = "data 1 3000
unclassified 6 22100
wal 2 3000" ]
	# a file that two components write: what is known of the whole file alone is no component's
	sqlite3 "$S" "INSERT INTO file_io SELECT run, file, owner, (SELECT id FROM component WHERE name = 'checkpoint'), 0, 0, 1, 50, 0, 0, 0, 0, 0 FROM file_io WHERE file = 3"
	[ "$(names "path S T D rewrite" --by component | LC_ALL=C sort)" = "checkpoint 50 n/a n/a n/a
data 3000 n/a n/a n/a
unclassified 22100 0 0 n/a
wal 3000 36864 12288 3.000" ] || { names "path S T D rewrite" --by component; false; }
	# one that another component writes than its name says is all that one's
	sqlite3 "$S" "UPDATE file_io SET component = (SELECT id FROM component WHERE name = 'checkpoint') WHERE file = 2;
		DELETE FROM file_io WHERE file = 3 AND write_bytes = 50"
	[ "$(names "path S T D" --by component | LC_ALL=C sort | tr '\n' ' ')" = "checkpoint 2000 24576 8192 data 3000 36864 12288 unclassified 22100 0 0 wal 1000 12288 4096 " ]
	run --separate-stderr -2 "$ANALYZE" breakdown "$S" --by pattern
	[ "$stderr" = "iot-analyze: --by pattern belongs to the commands 'files' and 'fsync'" ]
	run --separate-stderr -2 "$ANALYZE" breakdown "$S" --by component
	[ "$stderr" = "iot-analyze: --by component belongs to the commands 'timeline' and 'files'" ]
	run --separate-stderr -2 "$ANALYZE" files "$S" --by cause
	[ "$stderr" = "iot-analyze: --by cause belongs to the command 'timeline'" ]
	run --separate-stderr -2 "$ANALYZE" timeline "$S" --by directory
	[ "$stderr" = "iot-analyze: --by directory belongs to the commands 'files' and 'fsync'" ]
	sqlite3 "$S" "DELETE FROM put"
	[ "$(names "journal journal_blocks" | sort -u)" = "n/a n/a" ]
}

@test "files: a path with 300 inodes is one row, and the most expensive is first" {
	cd "$BATS_TEST_TMPDIR"
	sqlite3 "$S" "DELETE FROM ledger; DELETE FROM file; DELETE FROM file_io;
		WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 300)
		INSERT INTO file(run, id, dev, ino, gen, path) SELECT 1, n, 7340032, n, 1, '/d/app.db-journal' FROM n;
		INSERT INTO file(run, id, dev, ino, gen, path) VALUES (1, 301, 7340032, 301, 1, '/d/app.db'), (1, 302, 7340032, 302, 1, '/lib/read.pyc'), (1, 303, 266338304, 1, 1, '/d/app.db'),
			(1, 304, 7340032, 304, 1, NULL);
		INSERT INTO file_io SELECT 1, id, 3, 0, 0, 0, 2, 8000, 1, 0, 16384, 0, 16384 FROM file WHERE id <= 300;
		INSERT INTO file_io VALUES (1, 301, 3, 0, 0, 0, 300, 1228800, 300, 0, 1228800, 0, 1228800), (1, 302, 5, 0, 9, 99999999, 0, 0, 0, 0, 0, 0, 0),
			(1, 303, 3, 0, 0, 0, 1, 4096, 0, 0, 4096, 0, 4096), (1, 301, 5, 0, 1, 100, 0, 0, 0, 0, 0, 0, 0), (1, 304, 0, 0, 0, 0, 0, 0, 0, 0, 9000000, 0, 9000000);
		INSERT INTO ledger(run, file, owner, touched, dirtied, absorbed, written, direct, submitted, cancelled, dirty_end, dirty_late, dirty_start, unexpected)
		SELECT 1, id, 3, 24576, 16384, 8192, 16384, 0, 0, 0, 0, 0, 0, 0 FROM file WHERE id <= 300
		UNION ALL VALUES (1, 301, 3, 0, 8192, 0, 8192, 0, 0, 0, 0, 0, 0, 0), (1, 303, 3, 4096, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)"
	[ "$(names "path device ino who files S syncs B rewrite")" = "/d/app.db-journal loop0 n/a dd 300 2400000 300 4915200 1.500
/d/app.db loop0 301 cat + dd 1 1228800 300 1228800 n/a
/d/app.db vda 1 dd 1 4096 0 4096 n/a
/lib/read.pyc loop0 302 cat 1 0 0 0 n/a
(name not known) n/a n/a unattributed 1 0 0 9000000 n/a" ] || { names "path device ino who files S syncs B rewrite"; false; }
	# in text and on 80 columns of a terminal the answer is in sight
	[[ "$("$ANALYZE" files "$S" --table files --top 1 | sed -n '1s/  */ /gp')" == "path B rewrite journal S syncs files who "* ]]
	TERM=dumb on_terminal 80 "$ANALYZE" files "$S" --table files >terminal
	[[ "$(sed -n '1s/  */ /gp' terminal)" == "path B rewrite journal S syncs files"* ]]
	# the two other tables are of paths too
	[ "$("$ANALYZE" files "$S" --table io --format csv | grep -c app.db-journal)" = 1 ]
	[ "$("$ANALYZE" files "$S" --table ledger --format csv | grep app.db-journal | cut -d, -f3,6)" = "n/a,$((300 * 24576))" ]
}

@test "files --by pattern: names that differ in numbers or long ids are one family" {
	sqlite3 "$S" "DELETE FROM ledger; DELETE FROM file; DELETE FROM file_io;
		INSERT INTO file(run, id, dev, ino, gen, path) SELECT 1, key + 1, 7340032, key + 1, 1, value FROM json_each(
			'[\"/d/f9\", \"/d/f99\", \"/d/f100\", \"/d/f1000\", \"/d/1\", \"/d/3fa94b2c\", \"/d/12345678\", \"/d/facade00\", \"/d/deadbeef\", \"/d/3fa94b2\", \"/d/000000010000000A\", \"/d/x3fa94b2c.log\"]');
		INSERT INTO file_io SELECT 1, id, 3, 0, 0, 0, 1, 1000, 0, 0, 0, 0, 0 FROM file"
	[ "$(names "path files" --by pattern | LC_ALL=C sort)" = "/d/# 5
/d/#fa#b# 1
/d/deadbeef 1
/d/f# 4
/d/x#fa#b#c.log 1" ] || { names "path files" --by pattern; false; }
}

@test "on a terminal names that differ in any place are cut so that they still differ" {
	cd "$BATS_TEST_TMPDIR"
	sqlite3 "$S" "DELETE FROM ledger; DELETE FROM file; DELETE FROM file_io;
		INSERT INTO file(run, id, dev, ino, gen, path)
		SELECT 1, key + 1, 7340032, key + 1, 1, '/a/very/long/folder/that/says/nothing/' || value || '/and/a/name/that/is/in/all.of.them'
			FROM json_each('[\"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\", \"10\", \"11\", \"12\"]');
		INSERT INTO file_io SELECT 1, id, 3, 0, 0, 0, 1, 1000 * id, 0, 0, 4096 * id, 0, 4096 * id FROM file"
	for width in 80 100; do
		TERM=dumb on_terminal $width "$ANALYZE" files "$S" --table files >terminal
		[ "$(sed -n '2,/^$/p' terminal | sed '/^$/d' | awk '{ print $1 }' | sort -u | wc -l)" = 12 ] || { cat terminal; false; }
		[ "$(awk -v w=$width 'length($0) > w' terminal | wc -l)" = 0 ]
	done
	sqlite3 "$S" "UPDATE file SET path = '/root/.pyenv/versions/3.11.7/lib/python3.11/__pycache__/module' || id || '.cpython-311.pyc'"
	TERM=dumb on_terminal 80 "$ANALYZE" files "$S" --table files >terminal
	[ "$(sed -n '2,/^$/p' terminal | sed '/^$/d' | awk '{ print $1 }' | sort -u | wc -l)" = 12 ] || { cat terminal; false; }
}

@test "lines of every volume sum to all and to total, and devices of a line to the line" {
	cd "$BATS_TEST_TMPDIR"
	mkdir mine
	cat >mine/sums.sql <<-'E'
		-- title: Sums
		-- table: sums
		SELECT l.gid, l.rank, a.sym, a.amount FROM v_line_amount a JOIN v_line l ON l.gid = a.gid;
		-- table: devices
		SELECT gid, sym, dev, amount FROM v_amount;
		-- table: columns
		SELECT sym, COUNT(*) AS n FROM v_sym JOIN pragma_table_info('v_volume') c ON c.name = sym WHERE EXISTS (SELECT 1 FROM v_volume) GROUP BY sym;
	E
	"$ROOT/tests/lib/gen-run.py" 3000 --systems | "$ANALYZE" ingest gen.sqlite
	sqlite3 gen.sqlite "UPDATE agg_total SET owner = (SELECT MIN(id) FROM process WHERE kthread) WHERE owner = 4" # lines of every kind
	for store in "$S" gen.sqlite; do
		for by in system pid comm all; do
			for table in sums devices columns; do
				"$ANALYZE" sums "$store" --reports mine --by $by --table $table --format csv >$by.$table
			done
		done
		python3 - "$ROOT/stream/volumes.def" <<-'E'
			import collections, csv, re, sys
			wanted = set(re.findall(r"^(?:VOLUME|ALSO)\((\w+),", open(sys.argv[1]).read(), re.M))
			whole = {}
			for by in "system", "pid", "comm", "all":
			    lines, all_, total, device = (collections.Counter() for _ in range(4))
			    own = {}
			    traced = collections.Counter()
			    for r in csv.DictReader(open(by + ".sums")):
			        n = int(r["amount"] if r["amount"] not in ("", "n/a") else 0)
			        if r["gid"] in ("all:", "total:"):
			            (all_ if r["gid"] == "all:" else total)[r["sym"]] = n
			            continue
			        own[r["gid"], r["sym"]] = n
			        lines[r["sym"]] += n
			        traced[r["sym"]] += n if int(r["rank"]) < 4 else 0
			    for r in csv.DictReader(open(by + ".devices")):
			        device[r["gid"], r["sym"]] += int(r["amount"])
			    assert +total == +lines, (by, total - lines, lines - total)
			    assert +all_ == +traced, (by, all_ - traced, traced - all_)
			    for (gid, sym), n in device.items():
			        assert own[gid, sym] == n, (by, gid, sym, n)
			    assert whole.setdefault("total", +total) == +total and whole.setdefault("all", +all_) == +all_, by
			    columns = {r["sym"]: r["n"] for r in csv.DictReader(open(by + ".columns"))}
			    assert wanted <= set(columns) and set(columns.values()) == {"1"}, (wanted - set(columns), columns)
			assert len(+whole["total"]) > 15, whole["total"]
		E
	done
}

@test "write-zeroes and discards have rows of their own, are in no B; verify says so" {
	sqlite3 "$S" "INSERT INTO agg_total(run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
		SELECT 1, k.id, 3, 7340032, c.id, 1, s.id, 0, 2, v.column3, 0, v.column4, 0, 0 FROM (VALUES ('block_zeroes', 'none', 0, 8192), ('block_zeroes', 'failed', 2, 512),
			('block_discard', 'none', 0, 1048576)) v JOIN kind k ON k.name = v.column1 JOIN cause c ON c.name = 'discard' JOIN sub s ON s.name = v.column2
		; UPDATE truth SET end_value = end_value + 8704 WHERE source LIKE '%loop0/stat' AND what = 'write_bytes'"
	[ "$("$ANALYZE" amplification "$S" --table zeroes --format csv | grep dd)" = "process,dd,812,8192,512,1048576,0" ]
	[ "$("$ANALYZE" breakdown "$S" --table zeroes --format csv | tail -n +2)" = "loop0,process,dd,812,block_discard,2,0,1048576,0
loop0,process,dd,812,block_zeroes,4,2,8192,512" ]
	[ "$(ratio "$S" dd waf_sys)" = "exact 1.002 10510336 10485760" ]
	[ "$(cell "$S" verify checks what "device bytes written" note | head -n 1)" = "/sys/block/loop0/stat; 8704 of them are ranges that were zeroed or erased, no bytes of B" ]
	[ "$(cell "$S" verify checks what "device bytes written" result | head -n 1)" = OK ]
	"$ANALYZE" "$S" | tr -s ' \n' ' ' | grep -q 'Beside that devices zeroed 8 KiB when asked to (8 KiB for dd): no bytes of B'
}

@test "zeros of ext4lazyinit are named and nobody's, and so they are as a range" {
	aggregate block_write zeroed 33554432 0 0 metadata
	"$ANALYZE" "$S" | tr -s ' \n' ' ' >"$BATS_TEST_TMPDIR/before"
	grep -q 'missing owners of 32' "$BATS_TEST_TMPDIR/before" || { cat "$BATS_TEST_TMPDIR/before"; false; }
	! grep -q 'ext4lazyinit' "$BATS_TEST_TMPDIR/before" || { cat "$BATS_TEST_TMPDIR/before"; false; }
	sqlite3 "$S" "UPDATE agg_total SET carrier = (SELECT id FROM carrier WHERE name = 'lazyinit') WHERE bytes = 33554432"
	"$ANALYZE" "$S" | tr -s ' \n' ' ' >"$BATS_TEST_TMPDIR/words"
	grep -q "Beside that ext4lazyinit wrote 32 MiB of zeros: inode tables that mkfs left for after the mount. They are nobody's." "$BATS_TEST_TMPDIR/words" || { cat "$BATS_TEST_TMPDIR/words"; false; }
	! grep -q 'owners of' "$BATS_TEST_TMPDIR/words" || { cat "$BATS_TEST_TMPDIR/words"; false; }
	[ "$(ratio "$S" dd waf_sys)" = "exact 1.002 10510336 10485760" ]
	sqlite3 "$S" "UPDATE agg_total SET kind = (SELECT id FROM kind WHERE name = 'block_zeroes'), sub = 0, bytes = 0, touched = 33554432,
		cause = (SELECT id FROM cause WHERE name = 'discard') WHERE bytes = 33554432"
	"$ANALYZE" "$S" | tr -s ' \n' ' ' | grep -q 'devices zeroed 32 MiB when asked to (32 MiB by ext4lazyinit: inode tables that mkfs left): no bytes of B'
}

@test "swap, and zeros that no call wrote, are parts of the finding" {
	aggregate block_write none 67108864 3 0 swap
	aggregate block_read for_fault 33554432 3 0 swap
	aggregate block_write zeroed 16777216 3 0 direct
	"$ANALYZE" "$S" | tr -s ' \n' ' ' >"$BATS_TEST_TMPDIR/words"
	grep -q 'Of that 64 MiB ([0-9.]* %) are memory that went to swap, 16 MiB ([0-9.]* %) are zeros that the kernel wrote for it, as when a file system is made, ' "$BATS_TEST_TMPDIR/words" || { cat "$BATS_TEST_TMPDIR/words"; false; }
	grep -q 'and 32 MiB back from swap' "$BATS_TEST_TMPDIR/words" || { cat "$BATS_TEST_TMPDIR/words"; false; }
	"$ANALYZE" explain "$S" | tr -s ' \n' ' ' >"$BATS_TEST_TMPDIR/words"
	grep -q 'are memory that did not fit and went to swap, of dd; 32 MiB came back. Rests on: breakdown. To confirm: more memory' "$BATS_TEST_TMPDIR/words" || { cat "$BATS_TEST_TMPDIR/words"; false; }
	grep -q '; 32 MiB of it back from swap' "$BATS_TEST_TMPDIR/words" || { cat "$BATS_TEST_TMPDIR/words"; false; }
	[ "$(ratio "$S" dd raf_dev)" = "n/a n/a 0 0 S_r is 0" ] || { ratio "$S" dd raf_dev; false; }
}

@test "verify: mismatches come first, largest first; equal processes are one line" {
	sqlite3 "$S" "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 23)
		INSERT INTO process(run, id, pid, start_ns, comm, kthread, rchar, wchar) SELECT 1, 1000 + n, 1000 + n, n, 'p' || n, 0, iif(n < 3, n, 0), 0 FROM n"
	run -1 "$ANALYZE" verify "$S" --format csv
	[ "$(sed -n 2,4p <<<"$output" | cut -d, -f1-6)" = "process bytes read,p2 [1002],0,2,-2,MISMATCH
process bytes read,p1 [1001],0,1,-1,MISMATCH
device bytes read,loop0,16384,16384,0,OK" ]
	[ "$(grep '^process bytes read,.* processes,' <<<"$output")" = "process bytes read,22 processes,10485760,10485760,0,OK,rchar" ] # 21 and dd
	[ "$("$ANALYZE" verify "$S" --format csv --by pid | grep -c '^process bytes read,p')" = 23 ]
	! grep -q '^process bytes read,dd' <<<"$output"
}

@test "verify: what a filtered run is not about is no mismatch of it" {
	# a disk that nobody of it used, a file that nobody of it wrote; of one byte that it is about it is one
	local other="INSERT INTO device (run, dev, name, type, leaf) VALUES (1, 8388624, 'sdb', 'disk', 1)
		; INSERT INTO truth(run, source, what, dev, begin_value, end_value) VALUES (1, '/sys/block/sdb/stat', 'write_bytes', 8388624, 0, 1)
		; INSERT INTO file(run, id, dev, ino, gen, path) VALUES (1, 2, 8388624, 13, 1, '/neighbour')
		; INSERT INTO ledger(run, file, owner, touched, dirtied, absorbed, written, direct, submitted, cancelled, dirty_end, dirty_late, dirty_start, unexpected)
			VALUES (1, 2, 0, 0, 0, 0, 0, 0, 0, 1470464, 0, 0, 0, 1470464)"
	store_with "$S" "$other; UPDATE run SET filters = 'command'"
	run -0 "$ANALYZE" verify "$S" --format csv
	[ "$(grep '^device bytes written,sdb,' <<<"$output" | cut -d, -f5-)" = "-1,n/a,not what the run is about: nobody who was traced used it" ]
	"$ANALYZE" "$S" | grep -q '^ledger *The bytes add up: '
	store_with "$S" "$other"
	run -1 "$ANALYZE" verify "$S" --format csv
	[ "$(grep -c ,MISMATCH, <<<"$output")" = 2 ]
	store_with "$S" "UPDATE run SET filters = 'command'; UPDATE ledger SET unexpected = 104858"
	run -1 "$ANALYZE" verify "$S" --format csv
	store_with "$S" "UPDATE run SET filters = 'command'; UPDATE truth SET end_value = end_value + 1 WHERE what = 'read_bytes'"
	run -1 "$ANALYZE" verify "$S" --format csv
}

@test "verify: a process recognised midway counts from then on, no more than /proc" {
	store_with "$S" "UPDATE run SET filters = 'system=sqlite'; UPDATE process SET system = 'sqlite', rchar = rchar + 23 WHERE id = 3"
	run -0 "$ANALYZE" verify "$S" --format csv
	[ "$(grep '^process bytes read,dd' <<<"$output" | cut -d, -f6-)" = "n/a,recognised as sqlite in its middle: counted from then on" ]
	sqlite3 "$S" "UPDATE process SET rchar = rchar - 24 WHERE id = 3"
	run -1 "$ANALYZE" verify "$S" --format csv
}
