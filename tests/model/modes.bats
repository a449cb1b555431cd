# SPDX-License-Identifier: GPL-3.0-only
# modes.bats - equal answers with events, without events, and with a ring of 64 KiB. Three tracers, one inside the other, see one load,
# so commits and writeback are equal too: every sum is compared, and figures that need D are n/a and say why.

load ../lib/helper

setup() {
	need_tracer
	cd "$BATS_TEST_TMPDIR"
	modes=(events sums ring)
}

# Buffered, direct, mapped, by io_uring and libaio, in turns and at once; a database; reads from the device and from the cache; more calls
# than a ring of 64 KiB can hold.
load_of() { # FOLDER
	cat <<-END
		#!/bin/sh -e
		dd if=/dev/zero of=$1/buffered bs=4099 count=230 conv=fsync status=none
		$io --api direct --file $1/direct --count 101 --size 8192 >/dev/null
		$io --api mmap --file $1/mapped --count 53 --size 8192 --sync native >/dev/null
		$io --api uring --file $1/uring --count 101 --size 4099 --depth 11 --sync fsync >/dev/null
		$io --api uring --direct --file $1/uring-direct --count 101 --size 8192 --depth 11 >/dev/null
		$io --api libaio --direct --file $1/libaio --count 101 --size 8192 --depth 11 >/dev/null
		for i in 1 2 3 4; do dd if=/dev/zero of=$1/at-once\$i bs=1009 count=\${i}00 status=none & done
		wait
		$io --api direct-read --file $1/direct --count 53 --size 8192 >/dev/null
		$io --api pread --file $1/buffered --count 53 --size 4099 >/dev/null
		sqlite3 $1/x.db "PRAGMA journal_mode = WAL; CREATE TABLE t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
			INSERT INTO t SELECT zeroblob(3000) FROM n; UPDATE t SET a = zeroblob(3000) WHERE rowid % 7 = 0" >/dev/null
		dd if=/dev/zero of=$1/many bs=1 count=40009 status=none
	END
}

# A table of a report, the lines of other programs than those of the load left out: report MODE NAME TABLE COLUMNS
report() {
	"$analyze" "$2" "$1.sqlite" --table "$3" --by pid --format tsv |
		awk -F'\t' -v columns="$4" 'NR == 1 { n = split(columns, want, ","); for (i = 1; i <= NF; i++) at[$i] = i; for (i = 1; i <= n; i++) if (!at[want[i]]) { print "no column " want[i] >"/dev/stderr"; exit 1 } }
			NR > 1 { line = ""; for (i = 1; i <= n; i++) line = line $at[want[i]] "\t"; print line }' >lines || fail "$1: $2, $3"
	grep -E "$ours" lines | grep -v iot-trace | sort || :
}

# One table is the same in all three.
one_answer() { # WHAT REPORT TABLE COLUMNS [LINES THAT ARE LEFT OUT]
	local mode

	for mode in "${modes[@]}"; do
		report "$mode" "$2" "$3" "$4" | grep -vE "${5:-^$}" >"$mode.$1"
		[ -s "$mode.$1" ] || fail "$1: $mode has no line"
		diff "events.$1" "$mode.$1" >&2 || { puts; fail "$1: $mode answers otherwise than events"; }
	done
}

# Bytes that calls put into the journal: a row of a file may have nothing but its share of them.
puts() {
	local mode

	for mode in "${modes[@]}"; do
		sqlite3 -separator ' ' "$mode.sqlite" "SELECT '$mode', w.comm, w.pid, p.call, f.path, s.name, p.txns, p.blocks, p.weight
			FROM put p JOIN process w ON w.id = p.owner JOIN sub s ON s.id = p.sub LEFT JOIN file f ON f.id = p.file ORDER BY 2, 3, 4, 5, 6" >&2
	done
}

@test "a mixed load is the same with events, without, in a tiny ring (defect 23)" {
	need sqlite3 sqlite3
	body() {
		ours='dd|iot-io|sqlite|iot-mnt'
		load_of "$IOT_MNT" >load
		chmod +x load
		"$trace" -q --ring 64M -o events.jsonl -- "$trace" -q --no-events -o sums.jsonl -- "$trace" -q --ring 64K -o ring.jsonl -- ./load
		for mode in "${modes[@]}"; do "$analyze" ingest "$mode.sqlite" <"$mode.jsonl"; done
		one_answer volumes amplification ratios who,pid,ratio,formula,numerator,denominator 'hop_coalesce|hop_flush'
		one_answer ratios amplification ratios who,pid,ratio,bound,value 'hop_coalesce|hop_flush|raf_|hit_ratio|ra_waste|wra' # reads of programs are on a disk that others use
		one_answer layers amplification layers who,pid,layer,op,ops,bytes
		one_answer syncs amplification syncs who,pid,calls,writes,syncs,commits,flushes
		one_answer components components components who,pid,component,S,ops_w,syncs,B,S_r
		ours=iot-mnt one_answer files files files path,who,component,S,ops_w,syncs,W,B,S_r,ops_r,B_r
		[ "$(wc -l <events.components)" -ge 4 ] && [ "$(wc -l <events.files)" -ge 12 ] || fail "$(cat events.components events.files)"
		grep -q 'waf_sys.exact' events.ratios
		# what needs events
		same "lost with events" "$(sqlite3 events.sqlite "SELECT COUNT(*) FROM lost WHERE n > 0")" 0
		[ "$(sqlite3 ring.sqlite "SELECT SUM(n) FROM lost WHERE effect = 'events'")" -gt 0 ] || fail "the ring lost nothing"
		same "D with events" "$(report events amplification ratios ratio,who,bound | grep "hop_coalesce.dd" | cut -f3 | sort -u)" exact
		same "D without" "$(report sums amplification ratios ratio,who,value,note | grep hop_coalesce.dd | cut -f3,4 | sort -u)" "n/a	D needs events, and the run recorded none"
		# of a dd whose records of D were all lost, which depends on when the ring was full, nothing is known
		same "D with losses" "$(report ring amplification ratios ratio,who,bound,note | grep '^hop_coalesce	dd' | cut -f3,4 | sort -u | grep -vx 'n/a	D lost records')" ">=	D lost records"
		same "W/T without D" "$(for mode in sums ring; do report $mode amplification ratios ratio,who,bound | grep 'hop_coalesce x hop_flush.dd' | cut -f3 | sort -u; done)" "exact
exact"
		for mode in "${modes[@]}"; do "$analyze" verify "$mode.sqlite" >verify || fail "$mode: $(grep MISMATCH verify)"; done
	}
	with_fs ext4 128M -- body
}
