#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# explain.bats - `iot-analyze explain`: what device bytes are, in sentences. Answers worked out by hand from fixtures/analyze_base.sql: dd's 10510336
# device bytes are 10485760 of data (99.77 %), 16384 of journal (2 blocks of inode table, a descriptor, a commit), 8192 of structures.

load analyze_lib

# The sentences about something, each on its line, without what they rest on
said() { # ABOUT [OPTIONS]
	"$ANALYZE" explain "$S" --format tsv "${@:2}" | awk -F'\t' -v a="$1" '$1 == a { print $2 }' | sed 's/\. Rests on: .*//'
}

# Multiplies bytes of aggregates of a kind and a cause
times() { # FACTOR KIND CAUSE
	sqlite3 "$S" "UPDATE agg_total SET bytes = bytes * $1 WHERE kind = (SELECT id FROM kind WHERE name = '$2') AND cause = (SELECT id FROM cause WHERE name = '$3')"
}

@test "the largest part comes first; what is less than a hundredth is one sentence" {
	[ "$(said "file data")" = "100 % of the device bytes (10.0 MiB of 10.0 MiB) are the file data of dd" ]
	[ "$(said others)" = "24.0 KiB are parts of less than a hundredth: journal, metadata" ]
	[ "$("$ANALYZE" explain "$S" --format tsv | awk -F'\t' 'NR == 2 { print $1, $3, $4, $5, $6 }')" = "file data 10485760 0.998 exact breakdown, table owners" ]
}

@test "a journal: 100 times its bytes are 14 %, 400 blocks in 25 commits of 16 blocks; by sync and by acknowledged write" {
	times 100 block_write journal
	sqlite3 "$S" "UPDATE agg_total SET ops = ops * 100 WHERE kind = (SELECT id FROM kind WHERE name = 'block_write') AND cause = (SELECT id FROM cause WHERE name = 'journal');
		UPDATE agg_total SET ops = 25 WHERE kind = (SELECT id FROM kind WHERE name = 'commit'); UPDATE agg_total SET ops = 50 WHERE kind = (SELECT id FROM kind WHERE name = 'fsync');
		UPDATE device SET fs = 'ext4'"
	# 1638400/(10485760 + 1638400 + 8192) = 13.5 %
	[ "$(said journal)" = "14 % of the device bytes (1.56 MiB of 11.6 MiB) are the journal of ext4 on loop0: 16.0 blocks a commit (8.0 inode table, 4.0 commit, 4.0 descriptor), 25 commits, 0.50 a sync" ]
	sqlite3 "$S" "UPDATE device SET fs = NULL; INSERT INTO device (run, dev, name, type, leaf, parent, fs) VALUES (1, 1048577, 'part1', 'part', 0, 7340032, 'ext4')"
	[[ "$(said journal)" == *" are the journal of ext4 on loop0: "* ]] # of the partition on it
	sqlite3 "$S" "INSERT INTO device (run, dev, name, type, leaf, parent, fs) VALUES (1, 1048578, 'part2', 'part', 0, 7340032, 'xfs')"
	[[ "$(said journal)" == *" are the journal of the file system on loop0: "* ]]
	sqlite3 "$S" "DELETE FROM device WHERE name LIKE 'part_'; UPDATE device SET fs = 'ext4'"
	"$ANALYZE" explain "$S" | tr -s ' \n' ' ' | grep -q 'Rests on: breakdown, table journal. To confirm: mkfs.ext4 -O fast_commit, or -O ^has_journal, or fewer syncs\.'
	sqlite3 "$S" "INSERT INTO load (run, system, logical_write_bytes, write_ops) VALUES (1, 'sys', 1000, 20)"
	[[ "$(said journal)" == *"25 commits, 0.50 a sync, 1.25 an acknowledged write" ]]
	sqlite3 "$S" "UPDATE agg_total SET sub = (SELECT MIN(id) FROM sub WHERE name = 'fast_commit') WHERE sub = (SELECT MIN(id) FROM sub WHERE name = 'inode_table')"
	[[ "$(said journal)" == *": 25 full commits, and fast commits between them: 200 fast commit, 100 commit, 100 descriptor, 0.50 a sync, 1.25 an acknowledged write" ]]
	"$ANALYZE" explain "$S" | tr -s ' \n' ' ' | grep -q 'To confirm: the same on a file system without -O fast_commit\.'
	sqlite3 "$S" "DELETE FROM agg_total WHERE kind = (SELECT id FROM kind WHERE name = 'commit')"
	[[ "$(said journal)" == *"on loop0: 200 fast commit, 100 commit, 100 descriptor" ]]
}

@test "components are named as their system calls them, with the calls that wrote them; whole pages in the log only where syncs have room for them" {
	sqlite3 "$S" "UPDATE process SET system = 'postgresql', comm = 'postgres' WHERE comm = 'dd'; UPDATE file SET component = 'wal';
		INSERT INTO file_io (run, file, owner, component, read_ops, read_bytes, write_ops, write_bytes, sync_ops, fs_read_bytes, fs_write_bytes, dev_read_bytes, dev_write_bytes)
		VALUES (1, 1, 3, 1, 0, 0, 10, 5242880, 640, 0, 10485760, 0, 10485760)"
	[ "$(said wal)" = "100 % of the device bytes (10.0 MiB of 10.0 MiB) are the write-ahead log of postgresql: calls wrote 5.00 MiB to it in 10 calls, devices 2.00 times as much, 640 syncs, 8.00 KiB each" ]
	sqlite3 "$S" "UPDATE file_io SET sync_ops = 320"
	[[ "$(said wal)" == *"320 syncs, 16.0 KiB each; a page of 8 KiB and more besides: that is what whole pages in the log look like (full_page_writes)" ]]
	"$ANALYZE" explain "$S" | tr -s ' \n' ' ' | grep -q 'Rests on: components. To confirm: full_page_writes=off on a scratch copy'
	sqlite3 "$S" "UPDATE process SET system = 'sqlite' WHERE system = 'postgresql'; UPDATE file SET component = 'undo'; UPDATE file_io SET component = 2"
	[[ "$(said undo)" == *" are the rollback journal of sqlite: "*"320 syncs, 16.0 KiB each" ]]
	[[ "$(said undo --system sqlite)" == "100 %"* ]]
}

@test "what is more than calls wrote: 10485760 bytes in 12582912 of blocks, 1.05 times F on devices, 12288 bytes of readahead unused" {
	sqlite3 "$S" "UPDATE agg_total SET touched = 12582912 WHERE touched = 10485760"
	[ "$(said rounding)" = "2.00 MiB more than the 10.0 MiB that calls wrote lie in the blocks that they touched: 1048576.0 bytes a call, hop_page (T/S) = 1.200" ]
	[ "$(said readahead)" = "12.0 KiB of 12.0 KiB that were read ahead were not used by calls: ra_waste = 1.000" ]
	[ "$(said flushes)" = "Devices were flushed 2 times for 1 sync: flush_amp = 2.000" ]
	[ -z "$(said below)" ]
	times 2 block_write data
	[ "$(said below)" = "10.0 MiB more were written by devices than file systems submitted: hop_blk (B/F) = 1.998" ]
}

@test "a bound is said as one, and has no share; what was not measured is said, and so are devices that wrote nothing" {
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'block', 'request longer than the walk', 'owner', 7)"
	[ "$(said "file data")" = "At least 10.0 MiB of the device bytes are the file data of dd" ]
	[ "$("$ANALYZE" explain "$S" --format tsv | awk -F'\t' 'NR == 2 { print $4, $5 }')" = "n/a >=" ]
	[ "$(said others)" = "At least 24.0 KiB are parts of less than a hundredth: journal, metadata" ]
	[ "$("$ANALYZE" explain "$S" --format tsv | awk -F'\t' '$1 == "others" { print $5 }')" = ">=" ]
	[ -z "$(said flushes)" ]
	store_with "$S" "UPDATE agg_total SET bytes = 1048576 WHERE owner = 0 AND bytes = 4096" # a tenth of what the device wrote has no owner
	[[ "$(said "file data")" == "At least 10.0 MiB"* ]]
	# the headline says the same
	[ "$(said nobody)" = "Nobody is known to own 1.00 MiB on the devices that wrote 10.0 MiB for them: what is said above is a bound" ]
	"$ANALYZE" "$S" | tr -s ' \n' ' ' | grep -q 'owners of 1.00 MiB on the devices that wrote 10.0 MiB for them'
	# what another device wrote for nobody is not theirs
	sqlite3 "$S" "INSERT INTO agg_total SELECT run, kind, owner, 266338304, cause, how, sub, carrier, flags, ops, errors, 1000000000, touched, timed, lat_ns, max_ns FROM agg_total WHERE owner = 0 AND kind = (SELECT id FROM kind WHERE name = 'block_write')"
	[[ "$(said nobody)" == "Nobody is known to own 1.00 MiB "* ]]
	"$ANALYZE" "$S" | tr -s ' \n' ' ' | grep -q 'owners of 1.00 MiB on'
	# of nobody known, it is all
	sqlite3 "$S" "DELETE FROM agg_total WHERE owner > 2"
	[[ "$(said nobody)" == "Nobody is known to own 955 MiB of the 955 MiB that devices wrote (100"* ]]
	store_with "$S" "UPDATE run SET layers = 'syscall'"
	[ "$(said nothing)" = "What devices wrote was not measured: layer block is missing" ]
	store_with "$S" "DELETE FROM agg_total"
	[ "$(said nothing)" = "Devices wrote nothing for the traced processes" ]
}

@test "lines have at most 80 columns, also with long and hostile names" {
	sqlite3 "$S" "UPDATE process SET comm = char(27) || '[31m' || 'väry' || char(10) || 'long' WHERE comm = 'dd'"
	"$ANALYZE" explain "$S" >out
	! grep -q "$(printf '\033')" out
	[ "$(sed '1,3d; /^Shares/,$d' out | LC_ALL=C.UTF-8 awk '{ if (length($0) > 80) n++ } END { print n + 0 }')" = 0 ]
}

@test "one call, one sync and one flush are said as one" {
	"$ROOT/tests/gen-run.py" 1 --systems | "$ANALYZE" ingest one.sqlite
	sqlite3 one.sqlite "UPDATE file_io SET write_ops = 1"
	S=one.sqlite
	[[ "$(said wal)" == *" in 1 call, devices 3.48 times as much, 1 sync" ]]
	[ "$(said flushes)" = "Devices were flushed 1 time for 1 sync: flush_amp = 1.000" ]
}
