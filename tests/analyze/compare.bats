#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# compare.bats - `iot-analyze compare` finds the differences between sets of repeats. lib/gen-pair.py makes pairs of sets from
# fixtures/analyze_base.sql: runs 2 to 6 have label a, 7 to 11 label b. Without noise dd writes 10485760 bytes in each, and devices
# write 10510336: 10485760 of data, 16384 of journal, 8192 of structures.

load ../lib/analyze

setup_file() {
	command -v python3 >/dev/null || skip "python3 is missing: install the Debian package python3-minimal"
	make_base
	built stats
	pair plain 1 --noise 0 0 --effect 0.5
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	S=run.sqlite
	cp "$BATS_FILE_TMPDIR/plain.sqlite" "$S"
}

pair() { # NAME GEN-PAIR-OPTIONS
	cp "$BATS_FILE_TMPDIR/base.sqlite" "$BATS_FILE_TMPDIR/$1.sqlite"
	"$BATS_TEST_DIRNAME/../lib/gen-pair.py" "${@:2}" | sqlite3 "$BATS_FILE_TMPDIR/$1.sqlite"
}

# Prints what compare says, which is asked once as long as no store of this folder changes.
compared() { # ARGUMENTS
	local also

	also=$(find . -name '*.sqlite' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
	kept "$ANALYZE" compare "$@" --format tsv
}

# The sentences about something, each on its line
said() { # ABOUT ARGUMENTS
	compared "${@:2}" --table words | awk -F'\t' -v a="$1" '$1 == a { print $2 }'
}

# of QUANTITY COLUMNS ARGUMENTS: these columns of a row of table differences
of() {
	compared "${@:3}" | awk -F'\t' -v q="$1" -v cols="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = split(cols, c, " "); next }
		$at["quantity"] == q { for (i = 1; i <= n; i++) printf "%s%s", $at[c[i]], i < n ? " " : "\n" }'
}

@test "a difference in words: 10510336 -> 15765504 bytes are +50 %, waf_sys 1.504" {
	[ "$(said answer "$S")" = "device bytes: 10 MiB -> 15 MiB, +50 % [+50, +50], 5 runs each.
device bytes read: 16 KiB -> 16 KiB, equal in every run, 5 runs each.
waf_sys (B/S): 1.002 -> 1.504, +50 % [+50, +50], 5 runs each.
raf_dev (B_r/S_r, without faults): 1.000 -> 1.000, equal in every run, 5 runs each." ]
	[ "$(of B "verdict bound_a a a_low a_high bound_b b percent low high p runs_a runs_b" "$S")" = \
		"differs exact 10510336 10510336 10510336 exact 15765504 50.000 50.000 50.000 0.008 5 5" ]
	[ "$(of "B journal" "verdict a b percent" "$S")" = "differs 16384 24576 50.000" ]
	[ "$(of "B direct" "verdict a b percent p" "$S")" = "equal 0 0 n/a n/a" ]
}

@test "medians of different values: the largest difference comes first" {
	for n in "2 100" "3 103" "4 101" "7 90" "8 99" "9 80"; do
		sqlite3 "$S" "UPDATE agg_total SET bytes = ${n#* } * 1048576 WHERE run = ${n% *} AND bytes = 10485760 AND kind = (SELECT id FROM kind WHERE name = 'write')"
	done
	[ "$(of S "a b percent" "$S:2-4" "$S:7,8,9")" = "$((101 * 1048576)) $((90 * 1048576)) -10.891" ]
	"$ANALYZE" compare "$S:2-4" "$S:7,8,9" --format tsv | awk -F'\t' 'NR > 1 && $15 != "n/a" { v = $15 < 0 ? -$15 : $15; if ($1 == last && v > before) exit 1; before = v; last = $1 }'
}

@test "fewer than five runs have ranges, never intervals; five have intervals" {
	for n in "2 100" "3 103" "4 101" "7 90" "8 99" "9 80"; do
		sqlite3 "$S" "UPDATE agg_total SET bytes = ${n#* } * 1048576 WHERE run = ${n% *} AND bytes = 10485760 AND kind = (SELECT id FROM kind WHERE name = 'write')"
	done
	# 80/103 = 0.7767, 99/100 = 0.99
	[ "$(of S "span a_low a_high b_low b_high low high" "$S:2-4" "$S:7,8,9")" = "range $((100 * 1048576)) $((103 * 1048576)) $((80 * 1048576)) $((99 * 1048576)) -22.330 -1.000" ]
	[ "$(said answer "$S:2-4" "$S:7,8,9" | head -n 1)" = "device bytes: 10 MiB -> 15 MiB, +50 % (+50 to +50), 3 runs each." ]
	! "$ANALYZE" compare "$S:2-4" "$S:7-9" | grep -q -e interval -e '\[[-+0-9]'
	! "$ANALYZE" compare "$S:2-5" "$S:7-10" | grep -q -e '\[[-+0-9]' -e '95 %'
	[ "$(of S "span" "$S")" = interval ]
}

@test "sets are stores, folders, runs by number and label, and labels of earlier stores" {
	want=$(of B "a b runs_a runs_b" "$S")
	[ "$want" = "10510336 15765504 5 5" ]
	mkdir one two
	cp "$S" one/x.sqlite
	sqlite3 one/x.sqlite "DELETE FROM run WHERE label = 'b'"
	cp "$S" two/y.sqlite
	sqlite3 two/y.sqlite "DELETE FROM run WHERE label = 'a'"
	for sets in "$S:a $S:b" "$S a b" "$S:2-6 $S:7-11" "$S:2,3-5,6 $S:b" "one two" "one/x.sqlite two/y.sqlite" "one two a b" "a b" "one:a two:b" "."; do
		# shellcheck disable=SC2086
		same=$(of B "a b runs_a runs_b" $sets)
		[ "$same" = "$want" ] || { echo "$sets: $same"; false; }
	done
	cp one/x.sqlite one/z.sqlite # the repeats of a label may be in several stores, but a run counts once
	run --separate-stderr -2 "$ANALYZE" compare one two
	[[ $stderr == *"run 2 of one/x.sqlite is there twice, as run 2 of one/z.sqlite"* ]]
	sqlite3 one/z.sqlite "UPDATE run SET uuid = 'other ' || run"
	[ "$(of B "runs_a runs_b" one two)" = "10 5" ]
}

@test "three sets are each compared with the first; controls are in no set, and named" {
	sqlite3 "$S" "UPDATE run SET label = 'c' WHERE run IN (4, 5); UPDATE run SET label = 'a idle' WHERE run = 6"
	[ "$("$ANALYZE" compare "$S" --format tsv | awk -F'\t' '$3 == "B" { print $5, $6, $19, $20 }' | sort)" = "a b 2 5
a c 2 2" ]
	[ "$(said answer "$S" | grep -c '^a -> c: device bytes: 10 MiB -> 10 MiB, equal in every run, 2 runs each.$')" = 1 ]
	[ "$(said idle "$S")" = "10 MiB in a, subtracted from nothing." ]
}

# A cell of forced.json: of the row of a table in which a column has this value.
forced() { # TABLE COLUMN VALUE COLUMN
	sqlite3 :memory: "SELECT json_extract(value, '\$.$4') FROM json_each(readfile('forced.json'), '\$.tables.$1') WHERE json_extract(value, '\$.$2') = '$3'"
}

@test "runs that are not comparable are refused with the reason; --force compares them" {
	while IFS='|' read -r change why; do
		cp "$BATS_FILE_TMPDIR/plain.sqlite" "$S"
		sqlite3 "$S" "$change"
		run --separate-stderr -1 "$ANALYZE" compare "$S"
		[ -z "$output" ]
		[ "$stderr" = "iot-analyze: not comparable: $why (--force compares them nevertheless, and says so)" ] || { echo "$stderr"; false; }
		"$ANALYZE" compare "$S" --force --format json >forced.json
		[ "$(forced words about FORCED words)" = "$why" ] || { cat forced.json; false; }
		[ "$(forced differences quantity B forced)" = forced ]
	done <<-E
		UPDATE run SET kernel = '6.2.0' WHERE run = 9|kernel: 6.2.0 in b (run.sqlite:9), 6.1.0 in a (run.sqlite:2)
		UPDATE device SET size = 1073741824 WHERE run > 6 AND name = 'loop0'|device: loop, 1 GiB in b (run.sqlite:7), loop in a (run.sqlite:2)
		UPDATE device SET fs = iif(run > 6, 'xfs', 'ext4') WHERE name = 'loop0'|file system: xfs in b (run.sqlite:7), ext4 in a (run.sqlite:2)
		UPDATE run SET filters = 'comm=dd' WHERE run = 3|filters: comm=dd in a (run.sqlite:3), none in a (run.sqlite:2)
		UPDATE run SET layers = 'syscall,block' WHERE run = 11|layers: syscall,block in b (run.sqlite:11), syscall,uring,cache,fs,block in a (run.sqlite:2)
		UPDATE run_end SET horizon = 'at_ack' WHERE run = 7|horizon: at_ack in b (run.sqlite:7), after_sync in a (run.sqlite:2)
		UPDATE run_end SET status = 1 WHERE run = 2|exit status of the command: 1 in a (run.sqlite:2)
		INSERT INTO lost VALUES (5, 'block', 'request longer than the walk', 'owner', 7)|records lost: 7 x block: request longer than the walk (owner) in a (run.sqlite:5)
		DELETE FROM run_end WHERE run = 8|state: incomplete in b (run.sqlite:8); horizon: unknown: the run is incomplete in b (run.sqlite:8), after_sync in a (run.sqlite:2)
		UPDATE run SET cpus = 8 WHERE run > 6; UPDATE run SET kernel = 'k' WHERE run = 7|kernel: k in b (run.sqlite:7), 6.1.0 in a (run.sqlite:2); machine: x86_64, 8 CPUs in b (run.sqlite:7), x86_64, 2 CPUs in a (run.sqlite:2)
	E
}

@test "numbers of processes, names and mounts of devices may differ between repeats" {
	sqlite3 "$S" "UPDATE run SET filters = 'pid=' || run || ' comm=dd dev=loop' || run; UPDATE device SET name = 'loop' || run, mount = '/mnt/' || run WHERE name = 'loop0'"
	[ "$(of B verdict "$S")" = differs ]
	sqlite3 "$S" "UPDATE run SET filters = 'pid=1 pid=2 comm=dd dev=loop0' WHERE run = 3"
	run -1 "$ANALYZE" compare "$S"
}

@test "a disk that programs were loaded from is not compared; one with half of B_r is" {
	sqlite3 "$S" "UPDATE agg_total SET dev = 266338304, bytes = 4194304 WHERE run = 3 AND kind = (SELECT id FROM kind WHERE name = 'block_read')"
	[ "$(of B verdict "$S")" = differs ] # 8 of 18 MiB
	sqlite3 "$S" "UPDATE agg_total SET bytes = 6291456 WHERE run = 3 AND kind = (SELECT id FROM kind WHERE name = 'block_read')"
	run --separate-stderr -1 "$ANALYZE" compare "$S" # 12 of 22
	[[ $stderr == *"not comparable: device: disk; loop in a (run.sqlite:3), loop in a (run.sqlite:2)"* ]]
}

@test "unmeasured values stay n/a, and a bound is not compared as if it were exact" {
	sqlite3 "$S" "UPDATE run SET events = 0; DELETE FROM ledger WHERE run = 9"
	[ "$(of D "verdict a bound_b b percent p note" "$S")" = "not compared 10485760 n/a n/a n/a n/a D needs events, and the run recorded none" ]
	[ "$(of hop_coalesce "verdict b" "$S")" = "not compared n/a" ]
	[ "$(of B "verdict percent" "$S")" = "differs 50.000" ]
	said n/a "$S" | grep -q 'bytes made dirty (D) (D needs events, and the run recorded none)'
	sqlite3 "$S" "INSERT INTO lost VALUES (5, 'block', 'request longer than the walk', 'owner', 7)"
	[ "$(of B "verdict bound_a a bound_b b percent p note" "$S" --force)" = "not compared >= 10510336 exact 15765504 n/a n/a B lost records" ]
	[ "$(said answer "$S" --force | head -n 1)" = "device bytes: >= 10 MiB -> 15 MiB, not compared: B lost records, 5 runs each." ]
	[ "$(of S "verdict a" "$S" --force)" = "equal 10485760" ]
}

@test "too few runs differ in nothing: 1, 2 and 3 each; 4 do in the first family" {
	for n in 1 2 3; do
		[ "$(of B "verdict percent" "$S:2-$((n + 1))" "$S:7-$((n + 6))")" = "too few runs 50.000" ]
	done
	[ "$(of B "low high" "$S:2" "$S:7")" = "n/a n/a" ]
	said test "$S:2-4" "$S:7-9" | grep -q '^Ranges of the runs, least to most. Whether that is more than chance so few cannot show: of runs that are alike 10 of 100 comparisons look like this; give 5 each or more.$'
	[ "$(of B "verdict p" "$S:2-5" "$S:7-10")" = "differs 0.029" ]
}

@test "--by compares each line that is in every run; --system filters; pid is refused" {
	sqlite3 "$S" "UPDATE process SET system = 'etcd' WHERE comm = 'dd'; DELETE FROM process WHERE run = 4 AND comm = 'cat'"
	[ "$(of B "who verdict percent" "$S" --by comm | sort)" = "cat not compared n/a
dd differs 50.000
process 5, name lost not compared n/a" ] || { of B "who verdict percent" "$S" --by comm; false; }
	[ "$(of waf_sys "who verdict percent" "$S" --system etcd)" = "etcd differs 50.000" ]
	[ "$(said answer "$S" --system etcd | head -n 1)" = "etcd: device bytes: 10 MiB -> 15 MiB, +50 % [+50, +50], 5 runs each." ]
	run --separate-stderr -2 "$ANALYZE" compare "$S" --by pid
	[[ $stderr == *"of one run only"* ]]
	run --separate-stderr -2 "$ANALYZE" compare "$S" --system minio
	[[ $stderr == *"has no system 'minio'"* ]]
}

@test "CSV, TSV and JSON are exact with hostile labels, and values has each run" {
	command -v gnuplot >/dev/null || skip "gnuplot is missing: install the Debian package gnuplot-nox"
	# shellcheck disable=SC2016
	sqlite3 "$S" "UPDATE run SET label = '=cmd|' || char(27) || '[31m\`touch canary\`\$(touch canary)\"<script>' || char(10) || x'ff' WHERE label = 'b'"
	"$ANALYZE" compare "$S" >text
	! grep -q "$(printf '\033')" text
	"$ANALYZE" compare "$S" --format json --plot . >out.json
	"$ANALYZE" compare "$S" --format csv >out.csv
	"$ANALYZE" compare "$S" --format csv --table values >values.csv
	python3 - <<-'E'
	import csv, json, xml.dom.minidom
	rows = json.load(open("out.json"))["tables"]["differences"]
	assert [r["b"] for r in rows if r["quantity"] == "B"] == [15765504], rows
	table = list(csv.DictReader(open("out.csv", encoding="utf-8", errors="surrogateescape", newline="")))
	assert [r["b"] for r in table if r["quantity"] == "B"] == ["15765504"]
	assert table[0]["to"].startswith("'=cmd|"), table[0]
	values = list(csv.DictReader(open("values.csv", encoding="utf-8", errors="surrogateescape", newline="")))
	assert [v["value"] for v in values if v["quantity"] == "B"] == ["10510336"] * 5 + ["15765504"] * 5
	xml.dom.minidom.parse("compare.svg")
	E
	[ -s compare.png ] && [ -s compare.pdf ]
	"$ANALYZE" compare "$PWD/$S:1-5" "$PWD/$S:6-10" --plot . --size column --title Mine >text
	grep -q '^ width="321" ' compare.svg
	grep -q '>Mine<' compare.svg
	run -1 grep -F "$PWD" compare.svg compare.gp compare.dat
	[ ! -e canary ]
}

@test "--where, --sort and --top are for compare as for reports" {
	[ "$("$ANALYZE" compare "$S" a b --table differences --where quantity=waf_sys --format csv | wc -l)" = 2 ]
	[ "$("$ANALYZE" compare "$S" a b --table differences --sort quantity --top 2 --format csv | wc -l)" = 3 ]
	"$ANALYZE" compare "$S" a b --top 1 | grep -qE '^\([0-9]+ others\)$'
	run --separate-stderr -2 "$ANALYZE" compare "$S" a b --sort nothing
	[[ $stderr == *"report 'compare' has no such column (there are "* ]]
}

@test "what names no runs is refused" {
	while IFS='|' read -r args why; do
		# shellcheck disable=SC2086
		run --separate-stderr "$ANALYZE" compare $args
		[ "$status" -ge 1 ] && [ "$status" -le 2 ]
		[[ $stderr == *"$why"* ]] || { echo "$args: $stderr"; false; }
		[ "$(wc -l <<<"$stderr")" = 1 ]
	done <<-E
		$S:a|compare with what? only $S:a is there
		$S c a|has no run 'c'
		$S:3-|has no run '3-'
		$S:99 $S:2|has no run '99'
		$S:2-4 $S:4-6|run 4 of $S is there twice
		$S:a ./$S:a|run 2 of $S is there twice, as run 2 of ./$S
		$S $S:a|holds runs that are no repeats of each other, labelled 'a' and 'b'
		nothing a|'nothing' is neither a store or folder that is there, nor the label of a run
		/nowhere/x.sqlite a|'/nowhere/x.sqlite' is neither a store
		/dev/null /dev/zero|/dev/null
		$S --run 3|STORE:RUN
		$S --max waf_sys=1|compare
	E
	# labels alone are looked for in every store of this folder; what is called like a store is no label
	echo text >other.sqlite
	run --separate-stderr -2 "$ANALYZE" compare notes/x.sqlite:3 a
	[ "$stderr" = "iot-analyze: 'notes/x.sqlite' is neither a store nor a folder that is there: No such file or directory" ]
	run --separate-stderr -2 "$ANALYZE" compare $S: a
	[ "$stderr" = "iot-analyze: '$S:' names no runs: a label or numbers stand behind the colon" ]
	run --separate-stderr -2 "$ANALYZE" amplification "$S" --force
	[[ $stderr == *"--force belongs to the command 'compare'"* ]]
}

@test "p of two sets without overlap: 2 of 252 for 5 + 5, 2 of 70 for 4 + 4, 1 of 56" {
	stats=$IOT_BUILD/stats
	[ "$("$stats" p 5 1 2 3 4 5 11 12 13 14 15)" = 0.007937 ]
	[ "$("$stats" p 4 1 2 3 4 11 12 13 14)" = 0.028571 ]
	[ "$("$stats" p 3 1 2 3 11 12 13 14 15)" = 0.017857 ]
	[ "$("$stats" p 5 1 1 1 1 1 2 2 2 2 2)" = 0.007937 ]
	[ "$("$stats" p 5 7 7 7 7 7 7 7 7 7 7)" = 1.000000 ]
	[ "$("$stats" p 5 1 2 3 4 5 5 4 3 2 1)" = 1.000000 ]
	[ "$("$stats" span 3 100 101 102 110 111 112)" = "0.0784 0.1200" ] # 110/102 - 1, 112/100 - 1
	[ "$("$stats" span 1 5 6)" = n/a ]
}

@test "of 500 pairs of equal runs at most 6 % differ, and 94 % of intervals hold" {
	read -r _ _ _ wrong _ covered < <("$IOT_BUILD/stats" 500 5 0.015 0 20 1)
	echo "wrong $wrong, covered $covered"
	[ "$wrong" -le 30 ] && [ "$wrong" -ge 10 ] && [ "$covered" -ge 470 ]
}

@test "of 400 pairs 5 % apart with a noise of 1.5 %, five repeats find 95 % at least" {
	read -r _ found _ < <("$IOT_BUILD/stats" 400 5 0.015 0.05 2 2)
	echo "found $found"
	[ "$found" -ge 380 ]
}

# verdicts SEED-FROM SEED-UPTO GEN-PAIR-OPTIONS: of each pair, the verdict on B and how many quantities differ
verdicts() {
	local seed
	for ((seed = $1; seed <= $2; seed++)); do
		pair "noise-$seed" "$seed" --journal 640 "${@:3}"
		"$ANALYZE" compare "$BATS_FILE_TMPDIR/noise-$seed.sqlite" --format tsv | awk -F'\t' '$3 == "B" { b = $1 } $1 == "differs" { n++ } END { print b ": " n + 0 }'
		rm "$BATS_FILE_TMPDIR/noise-$seed.sqlite"
	done
}

@test "stores: equal pairs do not differ in 95 %, and 5 % more B is found in 95" {
	n=3 most=0
	[ "${IOT_COMPARE:-}" != all ] || { n=100; most=5; }
	verdicts 1 "$n" >equal
	verdicts 1001 "$((1000 + n))" --effect 0.05 >planted
	wrong=$(grep -vc ': 0$' equal || :)
	found=$(grep -c '^differs' planted || :)
	echo "of $n: $wrong wrong, $found found"
	[ "$wrong" -le "$most" ] && [ "$found" -ge $((n - most)) ]
}
