# SPDX-License-Identifier: GPL-3.0-only
# journal.bats - what file systems put into their journals: the report `journal` against the store of fixtures/analyze_base.sql, and of
# real runs on ext4 and XFS with the same columns.

load analyze_lib

setup_file() { make_base; }

setup() {
	S=$BATS_TEST_TMPDIR/run.sqlite
	store_with "$S"
}

@test "journal: 16384 of dd's 10510336 device bytes are journal, in one commit for one fsync" {
	[ "$(cell "$S" journal lines who dd journal)" = 16384 ]
	[ "$(cell "$S" journal lines who dd share_journal)" = 0.002 ]
	[ "$(cell "$S" journal lines who dd commits_per_fsync)" = 1.000 ]
	[ "$(cell "$S" journal lines who dd journal_per_fsync)" = 16384.000 ]
}

@test "journal: an owner's bytes by structure, in blocks; a commit of 4 blocks has 16384 bytes" {
	[ "$("$ANALYZE" journal "$S" --format csv --table owners | sed 1d | cut -d, -f3,5,7,9,10 | paste -sd' ')" = \
		"dd,inode_table,8192,2.000,1 dd,commit,4096,1.000,1 dd,descriptor,4096,1.000,1" ]
	[ "$(cell "$S" journal commit structure total bytes_per_commit)" = 16384.000 ]
	sqlite3 "$S" "UPDATE agg_total SET ops = 2 WHERE kind = (SELECT id FROM kind WHERE name = 'commit')"
	[ "$(cell "$S" journal commit structure total bytes_per_commit)" = 8192.000 ]
	[ "$(cell "$S" journal commit structure descriptor blocks_per_commit)" = 0.500 ]
	[ "$(cell "$S" journal lines who dd commits_per_fsync)" = 2.000 ]
}

@test "journal: what was not measured is n/a, never 0" {
	[ "$(cell "$S" journal lines who dd wal)" = n/a ]
	sqlite3 "$S" "UPDATE run SET layers = replace(layers, ',block', '')"
	[ "$(cell "$S" journal lines who dd journal)" = n/a ]
	[ "$(cell "$S" journal lines who dd commits)" = 1 ]
	sqlite3 "$S" "UPDATE run SET layers = replace(layers, ',fs', '')"
	[ "$(cell "$S" journal lines who dd commits_per_fsync)" = n/a ]
}
