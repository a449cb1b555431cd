#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# pictures.bats - the look of pictures: sizes, labels, colours, hostile names. The tests of the reports check their contents.

load ../lib/analyze

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
		INSERT INTO agg_total SELECT t.run, t.kind, p.id, t.dev, t.cause, t.how, t.sub, t.carrier, t.flags, t.op, t.ops, t.errors, t.bytes * (p.id - 99), t.touched * (p.id - 99), t.timed, t.lat_ns, t.max_ns
			FROM agg_total t JOIN process p ON p.id > 100 WHERE t.owner IN (3, 5) AND t.run = 1;
		INSERT INTO agg SELECT t.run, p.id % 7, t.kind, p.id, t.dev, t.cause, t.how, t.sub, t.carrier, t.flags, t.op, t.ops, t.errors, t.bytes * (p.id - 99), t.touched * (p.id - 99), t.timed, t.lat_ns, t.max_ns
			FROM agg_total t JOIN process p ON p.id > 100 WHERE t.owner IN (3, 5) AND t.run = 1;
		INSERT INTO file_io SELECT 1, 1, p.id, c.id, 3, 4096 * c.id, 5, 8192 * c.id, 1, 4096 * c.id, 8192 * c.id, 4096 * c.id, 8192 * c.id FROM process p JOIN component c WHERE p.id > 100;
		INSERT INTO hist SELECT 1, k.id, iif(v.value % 2, NULL, 'system 6 <b>&'), NULL, h.bucket, h.low_ns, h.high_ns, h.n FROM hist h JOIN kind k ON k.id BETWEEN 3 AND 14 JOIN json_each('[1, 2]') v WHERE h.run = 1
			ON CONFLICT DO NOTHING;
	END
}

# draw SIZE [OPTION...]: every report that has a chart, as SVG: bitmaps and PDF take longest
draw() {
	local report
	mkdir -p "out/$1" bin
	# shellcheck disable=SC2016 # the script's own
	printf '%s\n' '#!/bin/sh' "[ \"\$4\" != svg ] || exec $(command -v gnuplot) \"\$@\"" 'touch "${3%.gp}.$4"' >bin/gnuplot
	chmod +x bin/gnuplot
	for report in "${charts[@]}"; do
		# what needs more than this store has is in the tests of its report
		PATH=$PWD/bin:$PATH "$ANALYZE" "$report" "$S" --plot "out/$1" --size "$@" >/dev/null 2>err || grep -q 'nothing to draw' err
	done
}

@test "every label is inside of the canvas and none on another, in every size" {
	for size in column screen 500x400; do
		draw $size
		"$ROOT/tests/lib/pictures.py" out/$size/*.svg
	done
	crowd
	for size in column page screen; do
		draw $size
		"$ROOT/tests/lib/pictures.py" out/$size/*.svg
	done
	grep -q '[0-9] others' out/column/waterfall.svg
	# none is higher than a page of a paper
	[ "$(sed -n 's/^ width="[0-9]*" height="\([0-9]*\)"$/\1/p' out/column/*.svg out/page/*.svg | sort -n | tail -n 1)" -le 900 ]
	[ -z "$(find . -name 'pwned*')" ]
}

@test "pictures have the size asked for: 85 and 178 mm, pixels; bitmaps have 300 dpi" {
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

@test "--title and --no-head; without them nothing names machine, command or file" {
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

@test "every component and every system has a row of the palette, and no word two" {
	[ -z "$(sed -n 's/^PAINT(\("[^"]*"\).*/\1/p' "$ROOT/analyzer/chart/palette.def" | sort | uniq -d)" ]
	for word in $(sed -n 's/^COMPONENT([A-Z]*, *"\([a-z]*\)".*/\1/p' "$ROOT/stream/components.def") \
		$(python3 -c 'import json, sys; print(*(s["name"] for s in json.load(open(sys.argv[1]))["systems"]))' "$ROOT/tracer/process/systems/systems.json"); do
		grep -q "^PAINT(\"$word\"," "$ROOT/analyzer/chart/palette.def"
	done
}

@test "every report has a picture or says why none fits" {
	for report in "$ROOT"/reports/*.sql; do
		grep -qE '^-- (chart|no picture): ' "$report" || { echo "$report"; false; }
	done
	run --separate-stderr -2 "$ANALYZE" verify "$S" --plot .
	[ "$stderr" = "iot-analyze: report 'verify' has no picture: its rows are checks that agree or not" ]
}

@test "ticks of bytes below one unit are round in the unit below; panels without room" {
	mkdir out
	"$ROOT/tests/lib/gen-run.py" 600 --processes 5 | "$ANALYZE" ingest five.sqlite
	"$ANALYZE" waterfall five.sqlite --by pid --plot out --size column >/dev/null
	[ "$(grep -o 'not drawn[^<]*' out/waterfall.svg | sort -u)" = "not drawn: 1 other (the tables have them)" ]
	sqlite3 five.sqlite "CREATE TEMP TABLE w AS SELECT k.id, SUM(t.bytes) AS n FROM agg_total t JOIN kind k ON k.id = t.kind WHERE k.name = 'block_write';
		UPDATE agg_total SET bytes = iif(kind = (SELECT id FROM w), CAST(bytes * 1181116006.0 / (SELECT n FROM w) AS INTEGER), 0)"
	"$ANALYZE" breakdown five.sqlite --by all --plot out --size screen >/dev/null
	[ -z "$(grep -oE '>(102|205|307|410|614|819) MiB<' out/breakdown.svg)" ]
	grep -qE '>(64|128|256) MiB<' out/breakdown.svg
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

@test "a panel of which every curve is left out is not drawn empty" {
	cp -r "$ROOT/reports" own
	mkdir out
	cat >own/crowded.sql <<-'END'
		-- title: Many curves
		-- table: none
		SELECT 1 AS one;
		-- plot: curves
		-- chart: lines
		-- heading: Curves
		SELECT iif(n.value = 40, 'few of them', 'most of them') AS panel, 'curve ' || n.value AS part, x.value AS x, (41 - n.value) * x.value AS value
		FROM json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40]') n JOIN json_each('[1,2,3]') x
	END
	"$ANALYZE" crowded "$S" --reports own --plot out --size column >/dev/null
	grep -q 'most of them' out/crowded.svg
	grep -q 'not drawn: [0-9]* others' out/crowded.svg
	! grep -q 'few of them' out/crowded.svg
}

@test "a dashed rule goes through no number: these stand behind it" {
	cp -r "$ROOT/reports" own
	mkdir out
	cat >own/ruled.sql <<-'END'
		-- title: Ruled
		-- table: none
		SELECT 1 AS one;
		-- plot: ruled
		-- chart: bars
		-- rule: 1
		SELECT 'row ' || value AS "row", 'part' AS part, iif(value % 2, 2.0, 0.98) AS value FROM json_each('[1, 2, 3, 4, 5]')
	END
	for size in column page screen; do
		"$ANALYZE" ruled "$S" --reports own --plot out --size $size >/dev/null
		"$ROOT/tests/lib/pictures.py" out/ruled.svg
		[ "$(grep -o "stroke-dasharray='[^']*'  d='[^']*'" out/ruled.svg | grep -o M | wc -l)" = 1 ]
	done
}

@test "a scale has two numbers at least, also from -4 to 9 % in a column" {
	cp -r "$ROOT/reports" own
	mkdir out
	cat >own/scale.sql <<-'END'
		-- title: Scale
		-- table: none
		SELECT 1 AS one;
		-- plot: scale
		-- chart: bars
		-- unit: percent
		SELECT 'a row with a name ' || value AS "row", 'part' AS part, -4.0 AS low, 9.1 AS high, value AS value, '10485760 -> 10485761' AS label FROM json_each('[1, 2]')
	END
	for size in column page screen 300x200; do
		"$ANALYZE" scale "$S" --reports own --plot out --size $size >/dev/null
		[ "$(grep -cE '>-?[0-9.]+ %<' out/scale.svg)" -ge 2 ] || { echo "$size"; false; }
	done
}

@test "logarithmic ticks of bytes are powers of 1024, all others powers of ten" {
	cp -r "$ROOT/reports" own
	mkdir out
	cat >own/powers.sql <<-'END'
		-- title: Powers
		-- table: none
		SELECT 1 AS one;
		-- plot: powers
		-- chart: lines
		-- unit: ratio
		-- across unit: bytes
		-- log: values across
		SELECT 'part' AS part, 10 << (4 * value) AS x, 1000 >> (2 * value) AS value FROM json_each('[0, 1, 2, 3, 4]')
	END
	for size in column page screen; do
		"$ANALYZE" powers "$S" --reports own --plot out --size $size >/dev/null
		[ "$(grep -cE '>(1|4|16|64|256) ([KMG]i)?B<' out/powers.svg)" -ge 3 ] || { echo "$size"; false; }
		[ -z "$(grep -oE '>[0-9.]* [KMG]?i?B<' out/powers.svg | grep -vE '>(1|4|16|64|256) ')" ]
		[ "$(grep -cE '>(1|10|100|1000)<' out/powers.svg)" = 4 ]
	done
}

# A report of one chart: SQL, and what its comments say.
own_chart() { # NAME SQL LINE...
	[ -d own ] || cp -r "$ROOT/reports" own
	printf -- '-- title: %s\n-- table: none\nSELECT 1 AS one;\n-- plot: %s\n' "$1" "$1" >"own/$1.sql"
	printf -- '-- %s\n' "${@:3}" >>"own/$1.sql"
	echo "$2" >>"own/$1.sql"
	mkdir -p out
	"$ANALYZE" "$1" "$S" --reports own --plot out --size column >/dev/null
	"$ROOT/tests/lib/pictures.py" "out/$1.svg"
}

@test "each decade has a tick, and numbers of one unit as many digits on an axis" {
	own_chart decades "SELECT 'part' AS part, value * value * value * value * value AS x, 100.0 / value AS value FROM json_each('[1, 2, 4, 8, 16]')" \
		"chart: lines" "unit: percent" "across unit: us" "log: values across"
	# from 1 us to 1048576 us: eight decades; of 100 % to 6.25 % two
	[ "$(sed -n 's/^set xtics [^(]*(\(.*\))$/\1/p' out/decades.gp | tr ',' '\n' | grep -c '"')" = 8 ]
	[ "$(sed -n 's/^set xtics [^(]*(\(.*\))$/\1/p' out/decades.gp | tr ',' '\n' | grep -c '"[0-9]')" -ge 4 ]
	[ "$(grep -cE '>(1|10|100) %<' out/decades.svg)" = 3 ]
	own_chart digits "SELECT 'row ' || value AS \"row\", 'part' AS part, value * 0.55 AS value FROM json_each('[1, 2, 3, 4]')" "chart: bars" "unit: ratio"
	[ "$(sed -n 's/^set xtics [^(]*(\(.*\))$/\1/p' out/digits.gp | grep -oE '"[0-9.]+"' | tr -d '"' | paste -sd' ')" = "0.0 0.5 1.0 1.5 2.0" ]
}

@test "panels below each other begin at one place, whatever their numbers are" {
	own_chart panels "SELECT 'panel ' || p.value AS panel, x.value AS x, 1 AS bin, 0 AS low, p.value AS high, 1000 AS value FROM json_each('[7, 1000000000]') p
		JOIN json_each('[1, 2, 3]') x" "chart: cells" "unit: bytes" "own: yes"
	[ "$(grep -A1 -n 'set lmargin' out/panels.gp | grep -c 'set border 3')" = 2 ]
	[ "$(grep -B1 'set border 3' out/panels.gp | grep -o 'set lmargin at screen X([0-9.]*)' | sort -u | wc -l)" = 1 ]
}

@test "a flow in a column has the amount of each name, below it where both are too wide" {
	own_chart flow "SELECT 'an owner with a name ' || value AS part, 'a carrier with a name ' || (value % 2) AS \"row\", 'dev' || (value % 3) AS bar,
		value * 1048576 AS value FROM json_each('[1, 2, 3, 4, 5]')" "chart: flow" "unit: bytes"
	[ "$(grep -oE '>(dev[0-2] )?[0-9]+ MiB<' out/flow.svg | wc -l)" = 10 ]
	[ "$(grep -oE '>(dev[0-2] )?[0-9]+ MiB<' out/flow.svg | grep -oE '[0-9]+ MiB' | awk '{ sum += $1 } END { print sum }')" = 45 ]
}

@test "a histogram has each of its 22 sizes; what is in no panel has no key" {
	"$ROOT/tests/lib/gen-run.py" 3000 | "$ANALYZE" ingest sizes.sqlite
	sqlite3 sizes.sqlite "UPDATE event SET bytes = 1 << (rowid % 22) WHERE kind = (SELECT id FROM kind WHERE name = 'pwrite64')"
	for size in column page screen; do
		mkdir $size
		"$ANALYZE" iosize sizes.sqlite --plot $size --size $size >/dev/null
		[ "$(awk -F'\t' '$1 == "calls written"' $size/iosize.tsv | wc -l)" = 22 ]
		awk -F'\t' '$1 == "calls written" { print $2 }' $size/iosize.tsv | while read -r name; do
			grep -q ">$name<" $size/iosize.svg || { echo "$size: $name"; false; }
		done
	done
	cp -r "$ROOT/reports" own
	mkdir out
	cat >own/halves.sql <<-'END'
		-- title: Halves
		-- table: none
		SELECT 1 AS one;
		-- plot: halves
		-- chart: bars
		SELECT 'panel ' || value AS panel, 'row' AS "row", 'part ' || value AS part, 100 - value AS value FROM json_each('[1, 2, 3, 4, 5, 6, 7]')
	END
	"$ANALYZE" halves "$S" --reports own --plot out --size column >/dev/null
	[ "$(grep -o '>part [0-9]<' out/halves.svg | sort -u | tr -dc '0-9\n' | paste -sd' ')" = "1 2 3 4 5 6" ]
	# nor has a part that is 0 in each bar
	sed -i "/^SELECT 'panel/s/.*/SELECT 'row' AS \"row\", 'part ' || value AS part, 100 * value AS value FROM json_each('[0, 1, 2]')/" own/halves.sql
	"$ANALYZE" halves "$S" --reports own --plot out --size column --grey >/dev/null
	[ "$(grep -o '>part [0-9]<' out/halves.svg | sort -u | tr -dc '0-9\n' | paste -sd' ')" = "1 2" ]
}

@test "files that had one name after another are one row: no share is above 100 %" {
	"$ROOT/tests/lib/gen-run.py" 3000 | "$ANALYZE" ingest names.sqlite
	sqlite3 names.sqlite "UPDATE file SET path = '/mnt/iot/log'"
	mkdir out
	"$ANALYZE" pattern names.sqlite --plot out --size page >/dev/null
	grep -q '>100 %<' out/pattern.svg
	! grep -qE '>(1[1-9]|[2-9][0-9])[0-9]+ %<' out/pattern.svg
}

# A store in which most reports have rows.
rich() {
	"$ROOT/tests/lib/gen-run.py" 3000 --systems | "$ANALYZE" ingest rich.sqlite
	S=rich.sqlite
}

@test "colours are plain; patterns and dashes come with --grey, without any colour" {
	rich
	draw screen
	! grep -l 'fs pattern' out/screen/*.gp
	! grep -lE 'with (lines|steps) lw thick\*[0-9.]+ lc rgb "#[0-9a-f]*" dt \(' out/screen/*.gp
	rm -r out
	draw page --grey
	grep -q 'fs pattern' out/page/breakdown.gp
	grep -qE 'with steps .* dt \(' out/page/timeline.gp
	[ -z "$(sed -s '/^set multiplot/,$!d' out/page/*.gp | grep -oE '#[0-9a-f]{6}' | grep -vE '#(..)\1\1')" ]
	"$ROOT/tests/lib/pictures.py" out/page/*.svg
}

@test "no bar stands on a logarithmic scale: it has dots, at the values" {
	rich
	draw screen
	cp -r "$ROOT/reports" own
	cat >own/dots.sql <<-'END'
		-- title: Dots
		-- table: none
		SELECT 1 AS one;
		-- plot: dots
		-- chart: bars
		-- log: values
		SELECT 'row ' || value AS "row", 'part' AS part, 3 * value * value * value AS value FROM json_each('[1, 2, 30]')
	END
	"$ANALYZE" dots "$S" --reports own --plot out/screen >/dev/null
	python3 - out/screen/*.gp <<-'END'
		import re, sys
		seen = 0
		for path in sys.argv[1:]:
		    for plot in re.split(r"(?=set lmargin)", open(path).read())[1:]:
		        if "set logscale x" in plot:
		            seen += 1
		            assert not re.search("with (boxxyerror|boxes)", plot), (path, plot)
		assert seen > 3, seen
	END
	grep -q 'with circles' out/screen/dots.gp
	[ "$(grep -E '^[0-9.]+	[0-9.]+	[0-9]+$' out/screen/dots.dat | cut -f1 | tail -n 3 | paste -sd' ')" = "3 24 81000" ]
}

@test "the values drawn are those of the table: bars, areas, curves, flows" {
	rich
	draw page
	python3 - <<-'END'
		import re
		def blocks(name, ending):
		    return [b.split("\n") for b in re.split(r"\n\n\n+", open("out/page/%s.%s" % (name, ending)).read())]
		def rows(block, n):
		    cells = [r.split("\t") for r in block if r.count("\t") == n - 1]
		    return [[float(c) for c in r] for r in cells if all(re.fullmatch(r"-?[0-9.e+]+", c) for c in r)]
		def table(name, head):
		    return [r.split("\t") for b in blocks(name, "tsv") if b[0].lstrip("# ").split("\t") == head.split() for r in b[1:]]
		near = lambda a, b: abs(a - b) <= 1e-6 * max(abs(a), abs(b), 1)
		# bars: from each rectangle's begin to its end
		drawn = sum(r[3] - r[2] for b in blocks("breakdown", "dat") for r in rows(b, 6))
		want = sum(float(r[3]) for r in table("breakdown", "row bar part value"))
		assert want > 0 and near(drawn, want), (drawn, want)
		# areas: the highest of a panel is the sum of its parts
		areas = [max(r[1] for r in rows(b, 2)) for b in blocks("timeline", "dat") if rows(b, 2)]
		parts = [r for r in table("timeline", "x bin part value line late") if r[4] == "0"]
		assert near(max(areas), sum(float(r[3]) for r in parts)), (areas, parts)
		# curves: each starts at 100 % and falls
		want = {}
		for panel, part, x, value in table("latency", "panel part x value"):
		    want.setdefault((panel, part), []).append((float(x), float(value)))
		curves = [[tuple(r) for r in rows(b, 2)] for b in blocks("latency", "dat")]
		for curve in want.values():
		    assert curve[0][1] == 100 and curve == sorted(curve, key=lambda p: -p[1]), curve
		    assert any(len(c) == len(curve) and all(abs(a - b) <= 0.001 for p, q in zip(c, curve) for a, b in zip(p, q)) for c in curves), curve
		# a flow: what leaves the owners is what arrives at the devices
		nodes = [rows(b, 6) for b in blocks("carriers", "dat") if rows(b, 6)][:3]
		sums = [sum(r[5] - r[4] for r in n) for n in nodes]
		assert all(abs(s - sums[0]) < 0.1 for s in sums), sums
	END
	"$ANALYZE" carriers "$S" --format csv >carriers.csv
	"$ANALYZE" carriers "$S" --format csv --table whole --bytes | awk -F, 'NR > 1 { print $1 }' | grep -v total | while read -r carrier; do
		grep -q ">$carrier [0-9.]* [KM]iB<" out/page/carriers.svg || { echo "$carrier"; false; }
	done
}

@test "ratios of few bytes are not drawn but named" {
	sqlite3 "$S" "UPDATE agg_total SET bytes = bytes * 1000 WHERE owner = 3"
	mkdir out
	"$ANALYZE" amplification "$S" --plot out --size page >/dev/null
	grep -q '>1 ratio of less than 1 MiB is not drawn: cat \[813\] read<' out/amplification.svg
	! awk -F'\t' '$1 == "read: raf_dev"' out/amplification.tsv | grep -q cat
}
