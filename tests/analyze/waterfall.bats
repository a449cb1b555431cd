#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# waterfall.bats - waterfall and perop: the bytes that each hop added, and the cost of one operation. Answers worked out by hand from
# fixtures/analyze_base.sql (analyze.bats describes it).

load ../lib/analyze

# steps TABLE WHO: "step:bytes" a step
steps() { kept "$ANALYZE" waterfall "$S" --format tsv --table "$1" "${@:3}" | awk -F'\t' -v w="$2" '$2 == w { print $5 ":" $6 }' | tr ' ' _ | paste -sd' '; }

@test "dd: 10485760 by calls, 16384 of journal, 8192 of metadata, 10510336 on devices" {
	[ "$(steps written dd)" = "S_calls:10485760 fs_journal:16384 fs_metadata:8192 residue:0 B_devices:10510336" ]
}

@test "absorbed and cancelled bytes are below 0, rounding above; steps sum to B" {
	sqlite3 "$S" "UPDATE agg_total SET bytes = bytes - 1000 WHERE owner = 3 AND kind = (SELECT id FROM kind WHERE name = 'write') AND dev IS NOT NULL;
		UPDATE agg_total SET touched = touched + 8192 WHERE owner = 3 AND kind = (SELECT id FROM kind WHERE name = 'write') AND dev IS NOT NULL;
		UPDATE ledger SET absorbed = 4096, dirtied = dirtied + 12288, cancelled = 8192, dirty_end = 4096"
	[ "$(steps written dd)" = "S_calls:10484760 rounded_up_to_blocks:9192 overwritten_in_the_cache:-4096 dirtied_through_mappings:8192 deleted_before_writeback:-8192 still_dirty_at_the_end:-4096 fs_journal:16384 fs_metadata:8192 residue:0 B_devices:10510336" ]
	# a byte that the ledger does not explain is the residue, and the last step
	sqlite3 "$S" "UPDATE ledger SET cancelled = 8193"
	[[ "$(steps written dd)" == *"deleted_before_writeback:-8193 "*" residue:1 B_devices:10510336" ]]
	"$ANALYZE" waterfall "$S" --format tsv | awk -F'\t' '$5 == "residue" { r = $7 } $5 == "B devices" { exit !(r == $6 && $7 == $6) }'
}

@test "without the ledger one step is T to W; without a layer one goes around it" {
	sqlite3 "$S" "DELETE FROM ledger; UPDATE agg_total SET touched = touched + 4096 WHERE owner = 3 AND kind = (SELECT id FROM kind WHERE name = 'write') AND dev IS NOT NULL"
	[ "$(steps written dd)" = "S_calls:10485760 rounded_up_to_blocks:4096 T_to_W,_not_told_apart:-4096 fs_journal:16384 fs_metadata:8192 B_devices:10510336" ]
	sqlite3 "$S" "UPDATE run SET layers = 'syscall,uring,cache,block'"
	[ "$(steps written dd)" = "S_calls:10485760 rounded_up_to_blocks:4096 T_to_B,_not_told_apart:20480 B_devices:10510336" ]
	sqlite3 "$S" "UPDATE run SET layers = 'fs,block'"
	[ "$(steps written dd)" = "W:10485760 fs_journal:16384 fs_metadata:8192 B_devices:10510336" ]
}

@test "with a payload it begins at L, and --system has that system alone" {
	[ "$("$ANALYZE" waterfall "$S" --format tsv --logical-bytes 10000000 | awk -F'\t' '$2 == "all traced" { print $5 ":" $6 }' | paste -sd' ')" = "L payload:10000000 application:485760 fs journal:16384 fs metadata:8192 residue:0 B devices:10510336" ]
	sqlite3 "$S" "UPDATE process SET system = 'etcd' WHERE comm = 'dd'"
	[[ "$(steps written etcd --system etcd --logical-bytes 10000000)" == "L_payload:10000000 application:485760 "* ]]
	[ "$("$ANALYZE" waterfall "$S" --system etcd --format tsv | cut -f2 | sort -u | paste -sd' ')" = "etcd who" ]
	[ -z "$("$ANALYZE" waterfall "$S" --system etcd --format tsv --table read | sed 1d)" ]
}

@test "cat reads 16384: 4096 missed, 12288 read ahead; unused, 12288 are too much" {
	[ "$(steps read cat)" = "S_r_calls:16384 from_the_page_cache:-12288 read_ahead,_not_used:12288 residue:0 B_r_devices:16384" ]
	sqlite3 "$S" "INSERT INTO agg_total SELECT run, (SELECT id FROM kind WHERE name = 'readahead_used'), owner, dev, cause, how, sub, carrier, flags, op, ops, errors, bytes, touched, timed, lat_ns, max_ns
		FROM agg_total WHERE kind = (SELECT id FROM kind WHERE name = 'readahead')"
	[ "$(steps read cat)" = "S_r_calls:16384 residue:0 B_r_devices:16384" ]
	sqlite3 "$S" "UPDATE agg_total SET bytes = 100 WHERE owner = 5 AND kind = (SELECT id FROM kind WHERE name = 'read')"
	[ "$(steps read cat)" = "S_r_calls:100 rounded_up_to_pages:16284 residue:0 B_r_devices:16384" ]
	sqlite3 "$S" "UPDATE run SET layers = 'syscall,uring,fs,block'"
	[ "$(steps read cat)" = "S_r_calls:100 S_r_to_B_r,_not_told_apart:16284 B_r_devices:16384" ]
}

# op COLUMN [OPTIONS]: that cell of dd's row, or of the row of all
op() { cell "$S" perop writes who "${WHO:-dd}" "$@"; }

@test "perop: 10 writes cost 1/10 each of bytes, commit, sync and two flushes" {
	[ "$(op ops) $(op by)" = "10 calls" ]
	[ "$(op S) $(op W) $(op journal) $(op metadata) $(op B)" = "1048576.000 1048576.000 1638.400 819.200 1051033.600" ]
	[ "$(op blocks) $(op journal_blocks) $(op commits) $(op syncs) $(op flushes)" = "256.600 0.400 0.100 0.100 0.200" ]
	[ "$(cell "$S" perop reads who cat ops) $(cell "$S" perop reads who cat B_r)" = "4 4096.000" ]
	[ -z "$(op note)" ]
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'block', 'request longer than the walk', 'owner', 7)"
	[[ $(op note) == *"B lost records"* ]]
	[[ $(cell "$S" perop reads who cat note) == *"B_r lost records"* ]]
}

@test "perop: --ops is the operations acknowledged, of all or --system, or a ledger's" {
	[ "$(WHO="all traced" op ops --ops 4) $(WHO="all traced" op by --ops 4) $(WHO="all traced" op journal_blocks --ops 4)" = "4 given 1.000" ]
	sqlite3 "$S" "UPDATE process SET system = 'etcd' WHERE comm = 'dd'"
	[ "$(WHO=etcd op ops --ops 4 --system etcd) $(WHO=etcd op commits --ops 4 --system etcd)" = "4 0.250" ]
	echo '{"ledger": 1, "system": "etcd", "write_ops": 5, "read_ops": 2, "logical_write_bytes": 5000}' >ledger
	[ "$(WHO=etcd op ops --ledger ledger) $(WHO=etcd op by --ledger ledger) $(WHO=etcd op flushes --ledger ledger)" = "5 ledger 0.400" ]
	run --separate-stderr -2 "$ANALYZE" waterfall "$S" --ops 3
	[[ $stderr == *"--ops belongs to the command 'perop'"* ]]
	run --separate-stderr -2 "$ANALYZE" perop "$S" --ops=-1
	[[ $stderr == *"--ops: '-1' is not a whole number"* ]]
	[ "$(WHO="all traced" op B --ops 0)" = n/a ]
}

@test "perop: journal blocks of unknown size are n/a, and so is an unmeasured layer" {
	sqlite3 "$S" "UPDATE agg_total SET bytes = 4000 WHERE sub = (SELECT id FROM sub WHERE name = 'commit')"
	[ "$(op journal_blocks)" = n/a ]
	sqlite3 "$S" "UPDATE run SET layers = 'syscall,uring,cache,block'"
	[ "$(op W) $(op journal) $(op commits) $(op flushes)" = "n/a n/a n/a 0.200" ]
}
