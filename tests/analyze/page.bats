#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# page.bats - iot-analyze report: a run as one page of HTML.

load ../lib/analyze

page() { "$ANALYZE" report "$S" -o page.html "$@"; }

# The words of a section, without markup
section() { sed -n "/<section id=\"$1\"/,/<\/section>/p" page.html | sed 's/<[^>]*>/ /g' | tr -s ' \n' ' '; }

@test "a page is whole for another parser, loads nothing, and has every figure" {
	page
	[ "$("$ROOT/tests/lib/page.py" page.html)" = "8 figures, 38 tables" ] || { "$ROOT/tests/lib/page.py" page.html; false; }
	"$ROOT/tests/lib/pictures.py" page.html
	for report in waterfall amplification breakdown perop timeline latency pictures; do
		[[ $(section $report) == *"iot-analyze $report run.sqlite --run 1 --plot ."* ]]
	done
	[ "$(grep -c '<figcaption>' page.html)" = 8 ]
	[[ $(section headline) == *"dd [812] wrote 10 MiB, and devices wrote 10 MiB on its behalf: 1.002 times as much (waf_sys = B/S)."*"The bytes add up: 10 comparisons"* ]]
	[[ $(section run) == *"kernel 6.1.0"*"loop0 loop"* ]]
}

@test "the run stands at the top, then what happened, with links in reading order" {
	page
	sed '/<nav>/q' page.html | grep -qxF '<p class="dim">run 1 (dd) on vm, Linux 6.1.0, 2023-11-14T22:13:20Z, 2.500 s: dd bs=1M count=10</p>'
	[ "$(grep -o '<section id="[a-z]*"' page.html | cut -d'"' -f2 | head -n 6 | paste -sd' ')" = "headline explain waterfall amplification breakdown files" ]
	[ "$(grep -o '<section id="[a-z]*"' page.html | cut -d'"' -f2 | tail -n 2 | paste -sd' ')" = "verify run" ]
	for link in waterfall:finding explain:from verify:ledger run:missing; do
		grep -qxF "<dt><a href=\"#${link%:*}\">${link#*:}</a></dt>" page.html
	done
	grep -qxF '<dd><a href="#explain"><code>iot-analyze explain run.sqlite  # why, and what would change it</code></a></dd>' page.html
}

@test "of verify the page lists what differs or was not compared, and counts the rest" {
	page
	[[ $(section verify) == *" 10 comparisons with what the kernel counted: equal, and not listed here. "*"(1 rows)"* ]]
	! [[ $(section verify) == *" OK "* ]]
	sqlite3 "$S" "UPDATE truth SET end_value = end_value + 1 WHERE what = 'read_bytes'"
	run page
	[[ $(section verify) == *" 9 comparisons "*"(2 rows)"*" 16384 16385 -1 MISMATCH "* ]]
	! [[ $(section verify) == *" OK "* ]]
}

@test "what is not there says why" {
	page
	[[ $(section network) == *"Not measured, because layer net was not recorded."* ]]
	[[ $(section pattern) == *"Not measured, because no call moved bytes of a file; loads and stores through mappings are no calls."* ]]
	[[ $(section fsync) == *"Not measured, because nobody synced a file."* ]]
	[[ $(section components) == *"Not measured, because no process of a known storage system and no file of one was seen."* ]]
	sqlite3 "$S" "DELETE FROM agg; DELETE FROM hist; DELETE FROM agg_total WHERE kind IN (SELECT id FROM kind WHERE name LIKE 'block%' OR name LIKE 'queue%'); UPDATE agg_total SET lat_ns = 0; UPDATE run SET latency = 'none', layers = 'syscall,cache,fs'"
	page
	[[ $(section timeline) == *"Not measured, because the run has no sums by second."* ]]
	[[ $(section breakdown) == *"Not measured, because layer block was not recorded."* ]]
	"$ROOT/tests/lib/page.py" page.html
	store_with "$S" "UPDATE run_end SET events = 5000001"
	page
	for report in pattern iosize heatmap; do
		[[ $(section $report) == *"Not drawn, because the run has more than 5000000 events, each of which would be read:"*"iot-analyze $report run.sqlite --run 1 --plot ."* ]]
	done
	"$ROOT/tests/lib/page.py" page.html
}

@test "of several sets of runs the page says what differs, or why none is comparable" {
	python3 "$ROOT/tests/lib/gen-pair.py" 1 --effect 0.05 | sqlite3 "$S"
	run page
	"$ROOT/tests/lib/page.py" page.html
	"$ROOT/tests/lib/pictures.py" page.html
	[[ $(section compare) == *"device bytes: 10 MiB -&gt; 10.5 MiB, +5.2 %"*"5 runs each."* ]]
	[[ $(section compare) == *"iot-analyze compare run.sqlite --plot ."* ]]
	[[ $(section run) == *"All runs of the store"* ]]
	sqlite3 "$S" "UPDATE run SET kernel = '5.10.0' WHERE label = 'b'"
	run page
	[[ $(section compare) == *"Not compared, because the runs are not comparable: "*kernel* ]]
	store_with "$S"
	page
	! grep -q 'id="compare"' page.html
	! grep -qF '\n' page.html
}

@test "in a real browser each figure is seen: light, dark, phone, paper; no loads" {
	browser=$(command -v "${IOT_BROWSER:-chromium-headless-shell}" || command -v chromium) || skip "a browser is missing: install the Debian package chromium-headless-shell"
	python3 "$ROOT/tests/lib/gen-run.py" 3000 --systems | "$ANALYZE" ingest real.sqlite
	python3 "$ROOT/tests/lib/gen-run.py" 3000 --systems --seed 2 | sed '1s/"synthetic"/"other"/' | "$ANALYZE" ingest real.sqlite
	S=real.sqlite
	page
	figures=$(grep -c '<figure>' page.html)
	[ "$figures" -ge 8 ]
	mkdir shots
	"$ROOT/tests/analyze/browser.py" "$browser" page.html shots >said || { cat said; false; }
	cat said
	[ "$(grep -c ": $figures figures, " said)" = 4 ]
	grep -qE "^print: ([1-9]|1[0-2]) pages$" said
	[ "$(head -c 5 shots/page.pdf)" = "%PDF-" ]
	# it can fail
	sed 's|d=h.dataset.d|d=0*h.dataset.d|; s|<p class="dim">Made|<script>console.log("loud")</script><img src="http://192.0.2.1/x.png"><p style="width:2000px;color:#eee;background:#fff">wide</p>&|; s|default-src .none.;||; s|; script-src [^"]*||; s|<div class="narrow">|<div>|' page.html >bad.html
	IOT_WAYS=light run "$ROOT/tests/analyze/browser.py" "$browser" bad.html
	[ "$status" = 1 ]
	for fault in "is not sorted by" "console: loud" "asked for: http://192.0.2.1/x.png" "leaves the window" "2 pictures are seen" "has a contrast of"; do
		[[ $output == *"$fault"* ]] || { echo "not found: $fault"; false; }
	done
	sed 's|<details>|<details open>|g; s|--em:[0-9]*|--em:1|g; s|<td class="n">|&1000000000|g' page.html >broad.html
	IOT_WAYS=print run -1 "$ROOT/tests/analyze/browser.py" "$browser" broad.html
	[[ $output == *"print: on paper, "*" is cut off"* ]]
}

@test "a check that does not agree is marked, status 1, and the page is written" {
	sqlite3 "$S" "UPDATE truth SET end_value = end_value + 1 WHERE what = 'read_bytes'"
	run --separate-stderr -1 page
	[ "$stderr" = "iot-analyze: a check does not agree: see the page, or iot-analyze verify" ]
	grep -q '<section id="verify" class="wrong">' page.html
	[[ $(section headline) == *"do NOT add up"* ]]
	"$ROOT/tests/lib/page.py" page.html
	rm page.html
	store_with "$S" "DELETE FROM run_end"
	run --separate-stderr -1 page
	[ "$stderr" = "iot-analyze: run 1 of $S is incomplete: its tracer did not end it, the answer covers what was committed" ]
	[[ $(section headline) == *"missing"*"the end of the run"* ]]
}

@test "names of strangers are text on the page: markup, scripts, escapes, bad UTF-8" {
	name() { sqlite3 "$S" "UPDATE process SET comm = CAST(x'$(printf '%s' "$2" | od -An -tx1 | tr -d ' \n')' AS TEXT) WHERE id = $1"; }
	# 3 writes, 5 reads
	while IFS= read -r first && IFS= read -r second; do
		name 3 "$first"
		name 5 "$second"
		page
		"$ROOT/tests/lib/page.py" page.html
		"$ROOT/tests/lib/pictures.py" page.html
	done < <(printf '%s\n' '<script>touch("pwned")</script>' '"><img src=x onerror=alert(1)>' '`touch pwned`$(touch pwned)' $'\xff\xfe\e[31m\xef\xbf\xbf' \
		']]></svg></style><b>' "' onload='x")
	sqlite3 "$S" "UPDATE run SET label = '<b>&', command = '</title><script>x', host = '<i>'; UPDATE file SET path = '/<script>' || char(10)"
	page --title '</title><script>alert(1)</script>'
	"$ROOT/tests/lib/page.py" page.html
	[ -z "$(find . -name 'pwned*')" ]
	[ "$(grep -o '<script' page.html | wc -l)" = 1 ]
}

@test "a page is written whole or not at all, through no link; - is standard output" {
	run --separate-stderr -2 "$ANALYZE" report "$S"
	[ "$stderr" = "iot-analyze: report: where to? give -o FILE.html" ]
	run --separate-stderr -1 "$ANALYZE" report "$S" -o nowhere/page.html
	[ "$stderr" = "iot-analyze: cannot write to nowhere: No such file or directory" ]
	run --separate-stderr -2 "$ANALYZE" report "$S" -o ./
	echo precious >target
	ln -s target page.html
	page
	[ "$(cat target)" = precious ]
	[ ! -L page.html ]
	"$ANALYZE" report "$S" -o - | cmp - page.html
	mkdir tmp
	TMPDIR=$PWD/tmp "$ANALYZE" report "$S" -o - | true
	[ -z "$(ls tmp)" ]
	# root could replace /dev/null by a page
	mkdir a.html pattern.svg
	mkfifo b.html
	ln -s b.html c.html
	ln -s /dev/null d.html
	[ "$(id -u)" != 0 ] || mknod e.html c 1 7
	before=$(stat -c '%n %i %F' ./[a-e].html)
	for name in [a-e].html; do
		run --separate-stderr -1 "$ANALYZE" report "$S" -o "$name"
		[ "$stderr" = "iot-analyze: cannot write ./$name: it is there, and no regular file" ]
	done
	run --separate-stderr -1 "$ANALYZE" pattern "$S" --plot .
	[[ $stderr == *"cannot write ./pattern.svg: it is there, and no regular file" ]]
	[ "$before" = "$(stat -c '%n %i %F' ./[a-e].html)" ]
	rm -r [a-e].html pattern.svg
	echo old >page.html
	sqlite3 "$S" "DROP TABLE file_io"
	run -1 page
	[ "$(cat page.html)" = old ]
	[ "$(find . -name '.iot*' | wc -l)" = 0 ]
}
