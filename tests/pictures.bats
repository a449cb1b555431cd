#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# pictures.bats - how pictures look: sizes, labels, colours, hostile names. What they show is in the tests of their reports.

load analyze_lib

setup() {
	cd "$BATS_TEST_TMPDIR"
	S=run.sqlite
	store_with "$S"
	mapfile -t charts < <(cd "$ROOT/reports" && grep -l '^-- chart: ' -- *.sql | sed 's/\.sql$//')
}

# Names of every kind, and so many systems, programs and components that not all have a place.
crowd() {
	sqlite3 "$S" <<-'END'
		INSERT INTO process (run, id, pid, start_ns, comm, kthread, system) SELECT 1, 100 + value, 5000 + value, value,
			CASE value % 5 WHEN 0 THEN 'a-name-of-a-program-that-is-as-long-as-no-kernel-allows-' || value WHEN 1 THEN '`touch pwned`"$(touch pwned)' || value
			WHEN 2 THEN '<script>touch("pwned")</script>]]>&amp;' || value WHEN 3 THEN x'ff1b5b33316d' || 'äЩŒЩ文' || char(10) || value ELSE '=cmd|x' || value END, 0,
			iif(value % 3 = 0, 'system ' || value || ' <b>&', NULL)
			FROM json_each('[' || (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) SELECT group_concat(i) FROM n) || ']');
		INSERT INTO agg_total SELECT t.run, t.kind, p.id, t.dev, t.cause, t.how, t.sub, t.flags, t.ops, t.errors, t.bytes * (p.id - 99), t.touched * (p.id - 99), t.timed, t.lat_ns, t.max_ns
			FROM agg_total t JOIN process p ON p.id > 100 WHERE t.owner IN (3, 5) AND t.run = 1;
		INSERT INTO agg SELECT t.run, p.id % 7, t.kind, p.id, t.dev, t.cause, t.how, t.sub, t.flags, t.ops, t.errors, t.bytes * (p.id - 99), t.touched * (p.id - 99), t.timed, t.lat_ns, t.max_ns
			FROM agg_total t JOIN process p ON p.id > 100 WHERE t.owner IN (3, 5) AND t.run = 1;
		INSERT INTO file_io SELECT 1, 1, p.id, c.id, 3, 4096 * c.id, 5, 8192 * c.id, 1, 4096 * c.id, 8192 * c.id, 4096 * c.id, 8192 * c.id FROM process p JOIN component c WHERE p.id > 100;
		INSERT INTO hist SELECT 1, k.id, iif(v.value % 2, NULL, 'system 6 <b>&'), NULL, h.bucket, h.low_ns, h.high_ns, h.n FROM hist h JOIN kind k ON k.id BETWEEN 3 AND 14 JOIN json_each('[1, 2]') v WHERE h.run = 1
			ON CONFLICT DO NOTHING;
	END
}

# draw SIZE: every report that has a chart, as SVG: bitmaps and PDF take longest
draw() {
	local report
	mkdir -p "out/$1" bin
	# shellcheck disable=SC2016 # the script's own
	printf '%s\n' '#!/bin/sh' "[ \"\$4\" != svg ] || exec $(command -v gnuplot) \"\$@\"" 'touch "${3%.gp}.$4"' >bin/gnuplot
	chmod +x bin/gnuplot
	for report in "${charts[@]}"; do
		# what needs more than this store has is in the tests of its report
		PATH=$PWD/bin:$PATH "$ANALYZE" "$report" "$S" --plot "out/$1" --size "$1" >/dev/null 2>err || grep -q 'nothing to draw' err
	done
}

@test "every label is inside of the canvas and none on another, in column, page and screen size and in a given one, of names that fit and of many that do not" {
	for size in column screen 500x400; do
		draw $size
		"$ROOT/tests/pictures.py" out/$size/*.svg
	done
	crowd
	for size in column page screen; do
		draw $size
		"$ROOT/tests/pictures.py" out/$size/*.svg
	done
	grep -q '[0-9] others' out/column/waterfall.svg
	[ -z "$(find . -name 'pwned*')" ]
}

@test "pictures are as large as was asked for: 85 and 178 mm, 1200 pixels, or WIDTHxHEIGHT; bitmaps of papers have 300 dots an inch" {
	size() { sed -n 's/^ width="\([0-9]*\)" height="\([0-9]*\)"$/\1x\2/p' out/waterfall.svg; }
	png() { head -c 20 out/waterfall.png | tail -c 4 | od -An -tu1 | awk '{ print $3 * 256 + $4 }'; }
	mkdir out
	for of in column:321:1003 page:673:2103 screen:1200:1200; do
		IFS=: read -r name width dots <<<"$of"
		"$ANALYZE" waterfall "$S" --plot out --size "$name" >/dev/null
		[[ $(size) == "$width"x* ]]
		[ $(($(png) - dots)) -ge -1 ]
		[ $(($(png) - dots)) -le 1 ]
		[ "$(head -c 5 out/waterfall.pdf)" = %PDF- ]
	done
	"$ANALYZE" waterfall "$S" --plot out --size 640x360 >/dev/null
	[ "$(size) $(png)" = "640x360 640" ]
	for size in 10x10 600 600x x600 600x400x 600x-400 999999x400 Column ''; do
		run --separate-stderr -2 "$ANALYZE" waterfall "$S" --plot out --size "$size"
		[[ $stderr == *"--size: '$size' is neither column, page or screen, nor WIDTHxHEIGHT"* ]]
	done
}

@test "--title and --no-head; without them nothing names the machine, the command or a file" {
	mkdir out
	sqlite3 "$S" "UPDATE run SET host = 'secrethost', command = '/home/secret/cmd'"
	words() { sed -n 's/.*<text[^>]*>\(.*\)<\/text>/\1/p' out/waterfall.svg; }
	for report in "${charts[@]}"; do
		"$ANALYZE" "$report" "$S" --plot out >/dev/null 2>err || grep -q 'nothing to draw' err
	done
	! grep -lE 'secret' out/*.svg out/*.dat out/*.gp
	"$ANALYZE" waterfall "$S" --plot out --title 'Mine: <a> & `b`' >/dev/null
	[ "$(words | head -n 1)" = 'Mine: &lt;a> &amp; `b`' ]
	"$ANALYZE" waterfall "$S" --plot out --no-head >/dev/null
	[ "$(words | head -n 1)" = "Bytes written, each step from S to B (steps to the left saved some)" ]
}

@test "the palette: no two words look alike, every component and every system has a row, and a word looks the same in all pictures" {
	[ -z "$(sed -n 's/^PAINT("[^"]*", *//p' "$ROOT/analyzer/palette.def" | sort | uniq -d)" ]
	[ -z "$(sed -n 's/^PAINT(\("[^"]*"\).*/\1/p' "$ROOT/analyzer/palette.def" | sort | uniq -d)" ]
	for word in $(sed -n 's/^COMPONENT([A-Z]*, *"\([a-z]*\)".*/\1/p' "$ROOT/stream/components.def") \
		$(python3 -c 'import json, sys; print(*(s["name"] for s in json.load(open(sys.argv[1]))["systems"]))' "$ROOT/tracer/systems/systems.json"); do
		grep -q "^PAINT(\"$word\"," "$ROOT/analyzer/palette.def"
	done
}

@test "every report has a picture or says why none fits" {
	for report in "$ROOT"/reports/*.sql; do
		grep -qE '^-- (chart|no picture): ' "$report" || { echo "$report"; false; }
	done
	run --separate-stderr -2 "$ANALYZE" verify "$S" --plot .
	[ "$stderr" = "iot-analyze: report 'verify' has no picture: its rows are checks that agree or not" ]
}

@test "files: the nine that cost devices most and '91 others' sum to all of them" {
	sqlite3 "$S" "INSERT INTO file (run, id, dev, ino, gen, path) SELECT 1, 1000 + value, 7340032, value, 1, '/mnt/f' || value FROM json_each('[' ||
		(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT group_concat(i) FROM n) || ']');
		INSERT INTO file_io SELECT 1, id, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 4096 * (id - 1000) FROM file WHERE id > 1000"
	mkdir out
	"$ANALYZE" files "$S" --plot out >/dev/null
	rows() { awk -F'\t' '/^# row/ { on = 1; next } NF && on' out/files.tsv; }
	[ "$(rows | head -n 1)" = "/mnt/f100	written	unclassified	409600" ]
	[ "$(rows | tail -n 1)" = "91 others	written	unclassified	$((4096 * 91 * 92 / 2))" ]
	[ "$(rows | wc -l)" = 10 ]
	grep -q '>91 others</text>' out/files.svg
}
