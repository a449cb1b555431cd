#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# explain.bats - `iot-analyze explain` says in sentences which bytes devices wrote beyond the application's own. Answers worked out by
# hand from fixtures/analyze_base.sql: dd's 10510336 device bytes are 10485760 of data, which calls wrote once (99.77 %), 16384 of
# journal (2 blocks of inode table, a descriptor, a commit), 8192 of structures: 24576 are beyond its own.

load ../lib/analyze

# The sentences about something, each on its line, without what they rest on
said() { # ABOUT [OPTIONS]
	kept "$ANALYZE" explain "$S" --format tsv "${@:2}" | awk -F'\t' -v a="$1" '$1 == a { print $2 }' | sed 's/\. Rests on: .*//'
}

# Multiplies bytes of aggregates of a kind and a cause
times() { # FACTOR KIND CAUSE
	sqlite3 "$S" "UPDATE agg_total SET bytes = bytes * $1 WHERE kind = (SELECT id FROM kind WHERE name = '$2') AND cause = (SELECT id FROM cause WHERE name = '$3')"
}

# The advice on a subject, and the most that it saves
advised() { # ABOUT [OPTIONS]
	kept "$ANALYZE" explain "$S" --format tsv "${@:2}" | awk -F'\t' -v a="$1" '$1 == a { print $7 "|" $8 }'
}

@test "own bytes come first, then the largest beyond them; 1.002 has no advice" {
	[ "$(said own)" = "10 MiB of the 10 MiB that devices wrote (100 %) are the application's own bytes, written once; 24 KiB are beyond that" ]
	[[ "$(said journal)" == "67 % of what devices wrote beyond that (16 KiB of 24 KiB) are the journal of the file system on loop0 for dd: "* ]]
	[ "$(said metadata)" = "33 % of what devices wrote beyond that (8 KiB of 24 KiB) are structures of the file system, written in place on loop0 for dd" ]
	[ "$(kept "$ANALYZE" explain "$S" --format tsv | awk -F'\t' 'NR > 1 { printf "%s ", $1 }')" = "own journal metadata readahead syncs flushes " ]
	[ "$(kept "$ANALYZE" explain "$S" --format tsv | awk -F'\t' 'NR == 3 { print $1, $3, $4, $5 }')" = "journal 16384 0.667 exact" ]
	[ "$(advised journal) $(advised metadata) $(advised own) $(advised flushes)" = "|n/a |n/a |n/a |n/a" ]
}

@test "a journal: 100 times its bytes are 14 %, 400 blocks in 25 commits of 16 blocks" {
	times 100 block_write journal
	sqlite3 "$S" "UPDATE agg_total SET ops = ops * 100 WHERE kind = (SELECT id FROM kind WHERE name = 'block_write') AND cause = (SELECT id FROM cause WHERE name = 'journal');
		UPDATE agg_total SET ops = 25 WHERE kind = (SELECT id FROM kind WHERE name = 'commit'); UPDATE agg_total SET ops = 50 WHERE kind = (SELECT id FROM kind WHERE name = 'fsync');
		UPDATE device SET fs = 'ext4'"
	# 1638400/(1638400 + 8192) = 99.5 %
	[ "$(said journal)" = "100 % of what devices wrote beyond that (1.56 MiB of 1.57 MiB) are the journal of ext4 on loop0 for dd: 16.0 blocks a commit (8.0 inode table, 4.0 commit, 4.0 descriptor), 25 commits, 0.50 a sync" ]
	[ "$(said others)" = "8 KiB are in parts of less than a hundredth: metadata" ]
	sqlite3 "$S" "UPDATE device SET fs = NULL; INSERT INTO device (run, dev, name, type, leaf, parent, fs) VALUES (1, 1048577, 'part1', 'part', 0, 7340032, 'ext4')"
	[[ "$(said journal)" == *" are the journal of ext4 on loop0 for dd: "* ]] # of the partition on it
	sqlite3 "$S" "INSERT INTO device (run, dev, name, type, leaf, parent, fs) VALUES (1, 1048578, 'part2', 'part', 0, 7340032, 'xfs')"
	[[ "$(said journal)" == *" are the journal of the file system on loop0 for dd: "* ]]
	sqlite3 "$S" "DELETE FROM device WHERE name LIKE 'part_'; UPDATE device SET fs = 'ext4'"
	[ "$(advised journal)" = "|n/a" ] # no file is known whose syncs these are
	sqlite3 "$S" "INSERT INTO file_io VALUES (1, 1, 3, 0, 0, 0, 10, 10485760, 50, 0, 10485760, 0, 10485760)"
	[[ "$(said journal)" == *", 0.50 a sync. Committed by syncs: 50 of 50 are of /mnt/out" ]]
	[ "$(advised journal)" = "fewer syncs of /mnt/out, fdatasync of space that was written before, or mkfs.ext4 -O fast_commit|1638400" ]
	sqlite3 "$S" "INSERT INTO load (run, system, logical_write_bytes, write_ops) VALUES (1, 'sys', 1000, 20)"
	[[ "$(said journal)" == *"25 commits, 0.50 a sync, 1.25 an acknowledged write"* ]]
	sqlite3 "$S" "UPDATE agg_total SET sub = (SELECT MIN(id) FROM sub WHERE name = 'fast_commit') WHERE sub = (SELECT MIN(id) FROM sub WHERE name = 'inode_table')"
	[[ "$(said journal)" == *": 25 full commits, and fast commits between them: 200 fast commit, 100 commit, 100 descriptor, 0.50 a sync, 1.25 an acknowledged write"* ]]
	[ "$(advised journal)" = "fewer syncs of /mnt/out, or fdatasync of space that was written before|1638400" ]
	sqlite3 "$S" "DELETE FROM agg_total WHERE kind = (SELECT id FROM kind WHERE name = 'commit')"
	[[ "$(said journal)" == *"on loop0 for dd: 200 fast commit, 100 commit, 100 descriptor"* ]]
}

@test "components have their system's words and calls; whole pages need room in syncs" {
	sqlite3 "$S" "UPDATE process SET system = 'postgresql', comm = 'postgres' WHERE comm = 'dd'; UPDATE file SET component = 'wal';
		INSERT INTO file_io (run, file, owner, component, read_ops, read_bytes, write_ops, write_bytes, sync_ops, fs_read_bytes, fs_write_bytes, dev_read_bytes, dev_write_bytes)
		VALUES (1, 1, 3, 1, 0, 0, 10, 5242880, 640, 0, 10485760, 0, 10485760)"
	# devices wrote 10485760 for 5242880, and the ledger does not know how often each block was written
	[ "$(said wal)" = "100 % of what devices wrote beyond that (5 MiB of 5.02 MiB) are the write-ahead log of postgresql: /mnt/out, of which devices wrote 10 MiB for 5 MiB that calls wrote in 10 calls with 640 syncs, 8 KiB each; the same blocks again, or blocks that were written in part" ]
	[ "$(advised wal)" = "|n/a" ] # of ten calls
	sqlite3 "$S" "UPDATE file_io SET sync_ops = 320, write_ops = 320"
	[[ "$(said wal)" == *"320 syncs, 16 KiB each; the same blocks again, or blocks that were written in part; a page of 8 KiB and more besides: that is what whole pages in the log look like (full_page_writes)" ]]
	[ "$(advised wal)" = "full_page_writes=off on a scratch copy, a longer checkpoint_timeout, or wal_compression=on|5242880" ]
	sqlite3 "$S" "UPDATE process SET system = 'sqlite' WHERE system = 'postgresql'; UPDATE file SET component = 'undo'; UPDATE file_io SET component = 2"
	[[ "$(said undo)" == *" are the rollback journal of sqlite: "*"320 syncs, 16 KiB each"* ]]
	[ "$(advised undo)" = "PRAGMA journal_mode=WAL|5242880" ]
	[[ "$(said undo --system sqlite)" == "100 %"* ]]
	# with a write-ahead log this is no advice
	sqlite3 "$S" "INSERT INTO file(run, id, dev, ino, gen, path, component) VALUES (1, 2, 7340032, 13, 1, '/mnt/wal', 'wal');
		INSERT INTO file_io VALUES (1, 2, 3, 1, 0, 0, 1, 4096, 1, 0, 4096, 0, 4096)"
	[ "$(advised undo)" = "|n/a" ]
}

@test "rewrites and rounding: 64 KiB to 16 KiB are 4 times; 1.06 has no advice" {
	sqlite3 "$S" "INSERT INTO file_io VALUES (1, 1, 3, 0, 0, 0, 1000, 10485760, 50, 0, 10485760, 0, 10485760);
		UPDATE ledger SET covered = 2621440"
	[ "$(said "file data")" = "100 % of what devices wrote beyond that (7.5 MiB of 7.52 MiB) are file data of dd: /mnt/out, of which devices wrote 10 MiB for 10 MiB that calls wrote in 1000 calls with 50 syncs, 205 KiB each; 7.5 MiB are the same blocks written again" ]
	[ "$(advised "file data")" = "fewer syncs of /mnt/out|7864320" ]
	[[ "$(said own)" == "2.5 MiB of the 10 MiB that devices wrote (25 %) are the application's own bytes, written once: /mnt/out 2.5 MiB; 7.52 MiB are beyond that" ]]
	# 1000 calls of 1000 bytes in blocks of 4096, once each
	sqlite3 "$S" "UPDATE ledger SET covered = 10485760; UPDATE file_io SET write_bytes = 1000000, sync_ops = 0"
	[[ "$(said "file data")" == *"; 9.05 MiB are the rest of blocks that were written in part" ]]
	[ "$(advised "file data")" = "writes of whole blocks, or a buffer in front of them|9485760" ]
	# one call cannot be larger
	sqlite3 "$S" "UPDATE file_io SET write_ops = 1"
	[ "$(advised "file data")" = "|n/a" ]
	sqlite3 "$S" "UPDATE file_io SET write_bytes = 9900000, write_ops = 1000, sync_ops = 50"
	[ "$(advised "file data")" = "|n/a" ]
}

# calls KIND...: rows of `put`, each of a call with its weight as CALL:WEIGHT, and commits and syncs of the store
calls() { # COMMITS SYNCS CALL:WEIGHT...
	sqlite3 "$S" "DELETE FROM put; DELETE FROM file_io; UPDATE agg_total SET ops = $1 WHERE kind = (SELECT id FROM kind WHERE name = 'commit');
		INSERT INTO file_io VALUES (1, 1, 3, 0, 0, 0, 10, 1000, $2, 0, 1000, 0, 1000)"
	for call in "${@:3}"; do
		sqlite3 "$S" "INSERT INTO put(run, owner, dev, call, file, sub, txns, blocks, weight) VALUES (1, 3, 7340032, '${call%:*}', 1, 0, 1, ${call#*:}, ${call#*:})"
	done
}

@test "the experiment fits the calls behind journal and file system" {
	times 100 block_write journal
	while IFS='|' read -r fs commits syncs calls experiment; do
		sqlite3 "$S" "UPDATE device SET fs = '$fs' WHERE name = 'loop0'"
		# shellcheck disable=SC2086 # words
		calls "$commits" "$syncs" $calls
		[ "$(advised journal | sed 's/|.*//')" = "$experiment" ] || { echo "$fs $commits $syncs $calls: $(advised journal), not $experiment"; false; }
		[ "$syncs" != 0 ] || ! "$ANALYZE" explain "$S" | tr -s ' \n' ' ' | grep -q 'fewer syncs'
		[ "$fs" = ext4 ] || ! "$ANALYZE" explain "$S" | grep -q 'mkfs.ext4\|fast_commit'
	done <<-'E'
		ext4|1|0|read:90 openat:1|the same on a file system mounted with -o noatime, or with -o lazytime
		xfs|1|0|read:90 openat:1|the same on a file system mounted with -o noatime, or with -o lazytime
		btrfs|1|0|getdents64:50 read:40 openat:1|the same on a file system mounted with -o noatime
		ext4|50|50|fsync:50 write:20 writeback:20|fewer syncs of /mnt/out, fdatasync of space that was written before, or mkfs.ext4 -O fast_commit
		xfs|50|50|fsync:50 write:20 writeback:20|fewer syncs of /mnt/out, or fdatasync of space that was written before
		btrfs|50|50|fsync:50 write:20|fewer syncs of /mnt/out
		ext4|50|50|rename:20 openat:20 unlink:20 fsync:10|writing only what has changed, in place of a new file that is renamed
		ext4|50|50|unlink:60 write:20|keeping the file and writing it again, in place of removing it
		ext4|3|2|ftruncate:60 fault:30|no ftruncate where the length stays, or one that allocates more at a time
		ext4|1|0|openat:60 writeback:30|
		xfs|1|0|openat:60 write:30|
		ext4|5|0|write:60 writeback:30|
		ext4|1|1|write:60 fsync:30|
	E
	# a run of half a minute knows what another interval between commits would change
	sqlite3 "$S" "UPDATE run_end SET dur_ns = 30000000000; UPDATE device SET fs = 'ext4' WHERE name = 'loop0'"
	calls 5 0 write:60 writeback:30
	[ "$(advised journal | sed 's/|.*//')" = "a longer time between commits (-o commit=60)" ]
}

@test "SQLite's log with large pages: page_size is the advice; with small ones not" {
	sqlite3 "$S" "UPDATE process SET system = 'sqlite' WHERE comm = 'dd'; UPDATE file SET component = 'wal';
		INSERT INTO file_io VALUES (1, 1, 3, 1, 0, 0, 320, $((160 * 65560)), 160, 0, 10485760, 0, 10485760)"
	[ "$(said pages)" = "10 MiB that sqlite itself wrote to the log are 160 whole pages of 64 KiB, 1.0 a sync, whatever of them had changed" ]
	[ "$(advised pages)" = "a smaller page, set before the log is in use (PRAGMA page_size=4096, then VACUUM)|$((10485760 - 160 * 4120))" ]
	sqlite3 "$S" "UPDATE file_io SET write_ops = 5120"
	[ -z "$(said pages)" ]
}

@test "reads: 954 MiB for 16 KiB of calls, and which file; memory alone saves nothing" {
	sqlite3 "$S" "UPDATE agg_total SET bytes = 1000000000 WHERE owner = 5 AND kind = (SELECT id FROM kind WHERE name = 'block_read') AND bytes = 12288;
		INSERT INTO file_io VALUES (1, 1, 5, 0, 4, 16384, 0, 0, 0, 0, 0, 999000000, 0)"
	[ "$(said reads)" = "954 MiB were read from devices where calls read 16 KiB: raf_dev = 61035.406; most of /mnt/out 953 MiB" ]
	sqlite3 "$S" "UPDATE ledger SET absorbed = 1048576"
	[ "$(said saved)" = "1 MiB of blocks were written to again while they were dirty: the cache let devices write these once" ]
	[ "$(advised saved)" = "|n/a" ]
	sqlite3 "$S" "UPDATE device SET fs = 'tmpfs'"
	[ -z "$(said saved)" ]
}

@test "1.05 times F on devices, 12288 bytes of readahead unused, flushes and syncs" {
	[ "$(said readahead)" = "12 KiB of 12 KiB that were read ahead were not used by calls: ra_waste = 1.000" ]
	[ "$(said flushes)" = "Devices were flushed 2 times for 1 sync: flush_amp = 2.000" ]
	[ "$(said syncs)" = "1 sync, 30.000 ms each on average, 30.000 ms the longest" ]
	[ -z "$(said below)" ]
	times 2 block_write data
	[ "$(said below)" = "100 % of what devices wrote beyond that (10 MiB of 10 MiB) are what devices wrote and no file system submitted: hop_blk (B/F) = 1.998" ]
}

@test "a bound has no share; unmeasured layers and devices without writes are named" {
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'block', 'request longer than the walk', 'owner', 7)"
	[ "$(said own)" = "At least 10 MiB of the 10 MiB that devices wrote are the application's own bytes, written once" ]
	[[ "$(said journal)" == "At least 16 KiB of what devices wrote beyond that are the journal of "* ]]
	[ "$(kept "$ANALYZE" explain "$S" --format tsv | awk -F'\t' 'NR == 2 { print $4, $5 }')" = "n/a >=" ]
	[ -z "$(said flushes)" ]
	store_with "$S" "UPDATE agg_total SET bytes = 1048576 WHERE owner = 0 AND bytes = 4096" # a tenth of what the device wrote has no owner
	[[ "$(said own)" == "At least 10 MiB"* ]]
	# the headline says the same
	[ "$(said nobody)" = "Nobody is known to own 1 MiB on the devices that wrote 10 MiB for them: what is said above is a bound" ]
	"$ANALYZE" "$S" | tr -s ' \n' ' ' | grep -q 'owners of 1 MiB on the devices that wrote 10 MiB for them'
	# what another device wrote for nobody is not theirs
	sqlite3 "$S" "INSERT INTO agg_total SELECT run, kind, owner, 266338304, cause, how, sub, carrier, flags, op, ops, errors, 1000000000, touched, timed, lat_ns, max_ns FROM agg_total WHERE owner = 0 AND kind = (SELECT id FROM kind WHERE name = 'block_write')"
	[[ "$(said nobody)" == "Nobody is known to own 1 MiB "* ]]
	"$ANALYZE" "$S" | tr -s ' \n' ' ' | grep -q 'owners of 1 MiB on'
	# of nobody known, it is all of the machine, but nothing of a command that used no disk
	sqlite3 "$S" "DELETE FROM agg_total WHERE owner > 2"
	[ -z "$(said nobody)" ]
	sqlite3 "$S" "UPDATE run SET command = NULL"
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
	[ "$(sed '1,3d; /^own: /,$d' out | LC_ALL=C.UTF-8 wc -L)" -le 80 ]
}

@test "one call, one sync and one flush are said as one" {
	"$ROOT/tests/lib/gen-run.py" 1 --systems | "$ANALYZE" ingest one.sqlite
	sqlite3 one.sqlite "UPDATE file_io SET write_ops = 1"
	S=one.sqlite
	[[ "$(said wal)" == *" in 1 call with 1 sync"* ]]
	[ "$(said flushes)" = "Devices were flushed 1 time for 1 sync: flush_amp = 1.000" ]
}

@test "a disk with 0.05 % of nobody's bytes is no bound: no sentence says at least" {
	sqlite3 "$S" "UPDATE agg_total SET bytes = 5000 WHERE owner = 0 AND bytes = 4096"
	! "$ANALYZE" explain "$S" | grep -qi 'at least'
}
