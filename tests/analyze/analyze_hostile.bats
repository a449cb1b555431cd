#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# analyze_hostile.bats - hostile names, broken stores and wrong usage of iot-analyze.

load ../lib/analyze

setup() {
	S=$BATS_TEST_TMPDIR/run.sqlite
	store_with "$S"
	cd "$BATS_TEST_TMPDIR"
}

# name_dd TEXT: dd is called TEXT
name_dd() {
	sqlite3 "$S" "UPDATE process SET comm = CAST(X'$(printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n')' AS TEXT) WHERE id = 3; UPDATE run SET label = (SELECT comm FROM process WHERE id = 3), command = (SELECT comm FROM process WHERE id = 3)"
}

# one_line STATUS TEXT COMMAND...: fails with that status and exactly one line that holds TEXT
one_line() {
	local status_wanted=$1 text=$2
	shift 2
	run --separate-stderr "-$status_wanted" "$@"
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr == "iot-analyze: "*"$text"* ]] || { echo "said: $stderr"; false; }
}

@test "control characters, bad UTF-8 and reordering characters do not reach a terminal" {
	name_dd $'\e]0;owned\a\nTOTAL \x9b31m\xff\u202e\u009b'
	run -0 "$ANALYZE" amplification "$S"
	! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' <<<"$output"
	! LC_ALL=C grep -qP '\xff|\xe2\x80\xae|\xc2\x9b|(?<!\xc2)\x9b' <<<"$output"
	[[ $output == *'\x1b]0;owned\x07\nTOTAL \x9b31m\xff\u{202e}\u{9b}'* ]]
}

@test "a formula in a csv cell is defused, a negative number is not text" {
	for name in '=1+1' '+1' '-1' '@A1' $'\t=1'; do
		name_dd "$name"
		"$ANALYZE" amplification "$S" --format csv --table summary | python3 -c '
import csv, sys
rows = list(csv.reader(sys.stdin))
assert rows[1][1] == "\x27" + sys.argv[1], rows[1]' "$name"
	done
	sqlite3 "$S" "UPDATE truth SET begin_value = begin_value + 7 WHERE what = 'read_bytes'"
	[ "$(cell "$S" verify checks what "device bytes read" difference)" = 7 ]
	sqlite3 "$S" "UPDATE truth SET begin_value = begin_value - 14 WHERE what = 'read_bytes'"
	[ "$("$ANALYZE" verify "$S" --format csv | grep "device bytes read" | cut -d, -f5)" = -7 ]
}

@test "quotes, commas and line ends survive csv, tsv and json unchanged" {
	name=$'a"b,c\n\'d\\e</script>;DROP TABLE run;--'
	name_dd "$name"
	"$ANALYZE" amplification "$S" --format csv --table summary | python3 -c 'import csv, sys; assert list(csv.reader(sys.stdin))[1][1] == sys.argv[1]' "$name"
	"$ANALYZE" amplification "$S" --format tsv --table summary | python3 -c '
import sys
assert sys.stdin.read().split("\n")[1].split("\t")[1] == "a\"b,c\\n\x27d\\\\e</script>;DROP TABLE run;--"'
	"$ANALYZE" amplification "$S" --format json | python3 -c 'import json, sys; assert json.load(sys.stdin)["tables"]["summary"][0]["who"] == sys.argv[1]' "$name"
	[ "$(sqlite3 "$S" "SELECT COUNT(*) FROM run")" = 1 ]
}

@test "bytes that are not UTF-8 make valid json, as surrogate escapes" {
	name_dd $'x\xff\xc3'
	"$ANALYZE" amplification "$S" --format json | python3 -c '
import json, sys
assert json.loads(sys.stdin.buffer.read().decode("utf-8"))["tables"]["summary"][0]["who"] == "x\udcff\udcc3"'
}

@test "back-ticks, quotes and markup in names are neither run nor drawn as markup" {
	name_dd $'`touch pwned`"; system("touch pwned2") #$(touch pwned3)\n@{/=40 x}<script>&_^%d%s\\'
	mkdir out
	for report in amplification breakdown latency timeline; do
		run -0 "$ANALYZE" "$report" "$S" --plot out
		python3 -c 'import sys, xml.dom.minidom as m; d = m.parse(sys.argv[1]); assert not d.getElementsByTagName("script")' "out/$report.svg"
		[ "$(head -c 8 "out/$report.png" | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ]
		[ -s "out/$report.tsv" ] && [ -s "out/$report.dat" ] && ! grep -q 'pwned' "out/$report.gp" && [ "$(head -c 5 "out/$report.pdf")" = %PDF- ]
	done
	grep -q "touch pwned" out/breakdown.svg
	[ -z "$(find . -name 'pwned*')" ]
	[ "$(find out -type f | wc -l)" = 24 ]
	[ -z "$(find out ! -perm 0600 -type f)" ]
}

@test "--plot goes through no symlink, and makes its folder, but none above it" {
	mkdir out
	echo precious > target
	ln -s ../target out/breakdown.svg
	run -0 "$ANALYZE" breakdown "$S" --plot out
	[ "$(cat target)" = precious ]
	[ ! -L out/breakdown.svg ]
	mkdir real shared
	chmod 1777 shared
	ln -s ../real shared/planted
	chown -h 65534 shared/planted
	run --separate-stderr -1 "$ANALYZE" breakdown "$S" --plot shared/planted
	[[ $stderr == "iot-analyze: cannot write pictures to shared/planted: will not write through a symbolic link that somebody else made "* ]]
	[ -z "$(ls -A real)" ]
	run -0 "$ANALYZE" breakdown "$S" --plot made
	[ -s made/breakdown.svg ]
	run --separate-stderr -1 "$ANALYZE" breakdown "$S" --plot no/where
	[ "$stderr" = "iot-analyze: cannot write pictures to no/where: No such file or directory" ]
	run --separate-stderr -1 "$ANALYZE" breakdown "$S" --plot target
	[ "$stderr" = "iot-analyze: cannot write pictures to target: Not a directory" ]
}

@test "without gnuplot: no picture, no page, status 1, one line that names its package" {
	mkdir out empty
	for args in "breakdown $S --plot out" "report $S -o out/page.html"; do
		# shellcheck disable=SC2086
		run --separate-stderr -1 env PATH=$PWD/empty "$ANALYZE" $args
		[ "$stderr" = "iot-analyze: cannot draw: gnuplot is missing: install the Debian package 'gnuplot-nox'" ]
		[ -z "$(ls -A out)" ]
	done
}

@test "a gnuplot that fails, or ends half way, leaves no picture and is quoted" {
	mkdir out bin
	printf '%s\n' '#!/bin/sh' 'echo half >breakdown.$4; [ $4 != pdf ] || { echo "no more paper" >&2; exit 3; }' >bin/gnuplot
	chmod +x bin/gnuplot
	run --separate-stderr -1 env PATH="$PWD/bin:$PATH" "$ANALYZE" breakdown "$S" --plot out
	[ "$stderr" = "iot-analyze: gnuplot failed on picture 'breakdown': no more paper" ]
	[ -z "$(ls -A out)" ]
	printf '%s\n' '#!/bin/sh' 'exit 3' >bin/gnuplot
	run --separate-stderr -1 env PATH="$PWD/bin:$PATH" "$ANALYZE" breakdown "$S" --plot out
	[ "$stderr" = "iot-analyze: gnuplot failed on picture 'breakdown': it ended with status 3" ]
}

@test "a picture is drawn again from its script and data, the same in every format" {
	mkdir out
	name_dd '`touch pwned`"; system("touch pwned2")'
	"$ANALYZE" breakdown "$S" --plot out --title '"; system("touch pwned3") #`touch pwned4`' >/dev/null
	cp -r out first
	rm out/*.svg out/*.png
	(cd out && gnuplot breakdown.gp && gnuplot -c breakdown.gp png && gnuplot -c breakdown.gp pdf)
	cmp out/breakdown.svg first/breakdown.svg
	cmp out/breakdown.png first/breakdown.png
	[ "$(head -c 5 out/breakdown.pdf)" = %PDF- ]
	[ -z "$(find . -name 'pwned*')" ]
	# what stands in front of and behind the fixed part: of text only numbers with units, which are ticks, and colours
	[ "$(head -n 1 out/breakdown.gp | tr -d '0-9.')" = 'picture = "breakdown"; id = "breakdown"; width = ; height = ; zoom = ; across = ; font = ' ]
	sed -n "2,$(($(wc -l <"$ROOT/reports/chart.gp") + 1))p" out/breakdown.gp | cmp - "$ROOT/reports/chart.gp"
	sed "1,$(($(wc -l <"$ROOT/reports/chart.gp") + 1))d" out/breakdown.gp >plots
	[ "$(wc -l <plots)" -gt 20 ]
	sed -E 's/"(#[0-9a-f]{6}|-?[0-9.e+]+( ([KMGTPE]i)?B)?|)"//g' plots | grep -n '["`!'"'"'$]\|system' && false
	[ "$(sed -E 's/ *(plot|    ) *data index.*//; s/;.*//; s/^(set|unset) .*//' plots | sort -u | tr -d '\n')" = "" ]
}

@test "a character in no font does not cover a bitmap (gnuplot 5.4 draws a large box)" {
	mkdir out
	name_dd $'x\u6587y\U1f4a9\u0915z'
	"$ANALYZE" breakdown "$S" --plot out >/dev/null
	grep -q $'<text>x\u6587y\U1f4a9\u0915z \[812\]' out/breakdown.svg
	cut -f4 out/breakdown.dat | grep -qx $'x\ufffdy\ufffd\ufffdz \[812\]'
	! cut -f4 out/breakdown.dat | grep -q $'\u6587'
	# boxes would have other numbers in them
	name_dd $'x\u3042y\U1f4aa\u0916z'
	cp out/breakdown.png first.png
	"$ANALYZE" breakdown "$S" --plot out >/dev/null
	cmp out/breakdown.png first.png
}

@test "nothing to draw is said, not drawn" {
	mkdir out
	sqlite3 "$S" "DELETE FROM agg"
	run --separate-stderr -1 "$ANALYZE" timeline "$S" --plot out
	[[ $stderr == *"nothing to draw"* ]]
	[ -z "$(ls -A out)" ]
}

@test "a missing, empty, foreign, newer or older store, or a folder: one line, status 1" {
	one_line 1 "cannot open none.sqlite: No such file" "$ANALYZE" amplification none.sqlite
	: > empty.sqlite
	one_line 1 "empty.sqlite is empty" "$ANALYZE" amplification empty.sqlite
	one_line 1 ". is not a regular file" "$ANALYZE" amplification .
	seq 1000 > text.sqlite
	one_line 1 "text.sqlite is not a store of iot" "$ANALYZE" amplification text.sqlite
	sqlite3 foreign.sqlite "CREATE TABLE run (run INTEGER)"
	one_line 1 "foreign.sqlite is not a store of iot: another program" "$ANALYZE" amplification foreign.sqlite
	sqlite3 "$S" "PRAGMA user_version = 99"
	one_line 1 "was written by a newer version of iot (format 99" "$ANALYZE" amplification "$S"
	sqlite3 "$S" "PRAGMA user_version = 1; DROP TABLE flow"
	one_line 1 "was written by an older version of iot (format 1, this is 5): read it with that version, or record it again" "$ANALYZE" amplification "$S"
	one_line 1 ":memory:: No such file" "$ANALYZE" amplification :memory:
}

@test "a truncated or damaged store is one line, status 1, no half answer (IOT_LONG)" {
	head -c 20000 "$S" > cut.sqlite
	run --separate-stderr -1 "$ANALYZE" amplification cut.sqlite
	[ -z "$output" ] && [ "${#stderr_lines[@]}" = 1 ]
	# every page but the first is overwritten, one at a time; the reports take turns, with IOT_LONG=1 each reads each store
	local reports=(amplification breakdown latency verify files) turn=()
	pages=$(($(stat -c %s "$S") / 4096))
	for page in $(seq 2 "$pages"); do
		cp "$S" bad.sqlite
		head -c 4096 /dev/urandom | dd of=bad.sqlite bs=4096 seek=$((page - 1)) conv=notrunc status=none
		turn=("${reports[page % 5]}")
		if long; then turn=("${reports[@]}"); fi
		for report in "${turn[@]}"; do
			run --separate-stderr timeout 20 "$ANALYZE" "$report" bad.sqlite
			[ "$status" -le 1 ]
			[ "${#stderr_lines[@]}" -le 1 ]
		done
	done
}

@test "a store without a table, or without a run, is one line" {
	sqlite3 "$S" "DELETE FROM run"
	one_line 1 "holds no run" "$ANALYZE" amplification "$S"
	store_with "$S" "DROP TABLE agg_total"
	one_line 1 "no such table: agg_total" "$ANALYZE" amplification "$S"
}

@test "a store with views and triggers of a stranger runs none of them" {
	sqlite3 "$S" "DROP TABLE lost; CREATE VIEW lost AS SELECT 1 AS run, 'x' AS layer, writefile('pwned', 'x') AS what, 'bytes' AS effect, 1 AS n" || true
	run "$ANALYZE" amplification "$S"
	[ ! -e pwned ]
	[ "$status" -le 1 ]
}

@test "a store may be read by a user who cannot write beside it" {
	chmod 711 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_TEST_TMPDIR"
	chmod 644 "$S"
	mkdir locked && cp "$S" locked/run.sqlite && chmod 555 locked
	command -v setpriv || skip "setpriv (util-linux) is missing"
	sqlite3 locked/run.sqlite "PRAGMA journal_mode = WAL" && rm -f locked/run.sqlite-wal locked/run.sqlite-shm
	cp "$ANALYZE" . && chmod 755 iot-analyze
	setpriv --reuid=65534 --clear-groups test -r locked/run.sqlite || skip "the folder of this test cannot be entered by others"
	run -0 setpriv --reuid=65534 --clear-groups ./iot-analyze amplification locked/run.sqlite
	[[ $output == *waf_sys* ]]
	[ "$(ls locked)" = run.sqlite ]
}

@test "wrong usage is one line, exit status 2" {
	one_line 2 "what shall I do" "$ANALYZE"
	one_line 2 "unknown command 'amplificate'" "$ANALYZE" amplificate "$S"
	one_line 2 "unknown command '../reports/verify'" "$ANALYZE" ../reports/verify "$S" --reports "$ROOT/reports"
	one_line 2 "unknown command 'views'" "$ANALYZE" views "$S"
	one_line 2 "unknown option '--fast'" "$ANALYZE" amplification "$S" --fast
	one_line 2 "option --run needs a value" "$ANALYZE" amplification "$S" --run
	one_line 2 "option --seed takes no value" "$ANALYZE" amplification "$S" --seed=1
	one_line 2 "option -o needs a value" "$ANALYZE" report "$S" -o
	one_line 2 "unknown option '--versio'" "$ANALYZE" --versio
	one_line 2 "unknown command '--version'" "$ANALYZE" -- --version "$S"
	one_line 2 "--format: unknown value 'xml' (there are text, csv, tsv, json, junit, latex, markdown)" "$ANALYZE" amplification "$S" --format xml
	one_line 2 "usage: iot-analyze amplification STORE" "$ANALYZE" amplification
	one_line 2 "usage: iot-analyze amplification STORE" "$ANALYZE" amplification "$S" "$S"
	one_line 2 "has no table 'none'" "$ANALYZE" amplification "$S" --table none
	one_line 2 "report 'runs' has no picture: it lists runs" "$ANALYZE" runs "$S" --plot .
	for n in "" -1 +1 1k 0x10 1.5 " 1" 99999999999999999999; do
		one_line 2 "--logical-bytes: '$n' is not a whole number" "$ANALYZE" amplification "$S" --logical-bytes "$n"
	done
	one_line 2 "usage: iot-analyze ingest" "$ANALYZE" ingest
	one_line 2 "too many arguments" "$ANALYZE" amplification a b c
}

@test "a name with a line end in an error stays one line" {
	one_line 1 'cannot open a\nb\x1b[2J: No such file' "$ANALYZE" amplification $'a\nb\e[2J'
}

@test "ingest: a cut stream is incomplete, status 1; a run twice, no file: a line each" {
	python3 "$BATS_TEST_DIRNAME/../lib/gen-run.py" 1000 > run.jsonl
	run -0 "$ANALYZE" ingest whole.sqlite run.jsonl
	run -0 "$ANALYZE" verify whole.sqlite
	one_line 1 "is already in this store" "$ANALYZE" ingest whole.sqlite run.jsonl
	head -c -100 run.jsonl > cut.jsonl
	one_line 1 "cut.jsonl: line" "$ANALYZE" ingest cut.sqlite cut.jsonl
	[ "$("$ANALYZE" runs cut.sqlite --format csv | sed 1d | cut -d, -f11)" = incomplete ]
	one_line 1 "cannot open none.jsonl: No such file" "$ANALYZE" ingest cut.sqlite none.jsonl
}

@test "UTF-16 text, which SQLite mixes up in views, is refused by readers and writers" {
	"$BATS_TEST_DIRNAME/../lib/gen-run.py" 60 >run.jsonl
	for encoding in UTF-16le UTF-16be; do
		rm -f other.sqlite
		sqlite3 "$S" .dump >dump
		sqlite3 other.sqlite "PRAGMA encoding = '$encoding'" ".read dump" "PRAGMA application_id = $(sqlite3 "$S" 'PRAGMA application_id')" \
			"PRAGMA user_version = $(sqlite3 "$S" 'PRAGMA user_version')"
		for command in amplification timeline migrate ingest; do
			one_line 1 "other.sqlite is not a store of iot: its text is in UTF-16" "$ANALYZE" $command other.sqlite <run.jsonl
		done
	done
}

@test "a newer store is not for a new file to answer: migrate says what to update" {
	local format

	format=$(sqlite3 "$S" "PRAGMA user_version; PRAGMA user_version = 99")
	one_line 1 "was written by a newer version of iot (format 99, this is $format): update iot-analyze" "$ANALYZE" migrate "$S"
}

@test "a stack of 64 KiB holds a message and a page" {
	local stack=64

	# SQLite 3.46 needs 72 for its parser, and gnuplot 6.0 for itself 128
	printf '%s\n' 3.46 "$(sqlite3 --version)" | sort -VC && stack=128
	! grep -q __asan_init "$ANALYZE" || skip "a build without sanitizers is missing: their frames are larger"
	bash -c "ulimit -s $stack; "'exec "$@"' - "$ANALYZE" report "$S" -o page.html
	[ -s page.html ]
	one_line 2 "has no run 'none'" bash -c "ulimit -s $stack; "'exec "$@"' - "$ANALYZE" runs "$S" --run none
}

@test "a store that lacks descriptors says so, and does not blame permissions" {
	"$BATS_TEST_DIRNAME/../lib/gen-run.py" 60 >run.jsonl
	for n in {6..24}; do
		rm -f few.sqlite*
		run bash -c 'ulimit -n "$0"; exec "$@"' $n "$ANALYZE" ingest few.sqlite run.jsonl
		[ "$status" = 0 ] || [[ $output == *"Too many open files"* ]] || { echo "$n: $output"; false; }
	done
}

@test "--help lists every command, report and option" {
	run -0 "$ANALYZE" --help
	for word in ingest amplification breakdown latency verify systems timeline files runs; do
		[[ $output == *" $word "* ]]
	done
	for option in run system by format table plot logical-bytes seed reports; do
		[[ $output == *" --$option"[=\ ]* ]]
	done
	run -0 "$ANALYZE" --version
}

@test "a reader that leaves is no message, a full disk is" {
	run --separate-stderr bash -c 'set -o pipefail; "$0" amplification "$1" | head -1; exit 0' "$ANALYZE" "$S"
	[ "${#lines[@]}" = 1 ] && [ -z "$stderr" ]
	run --separate-stderr -1 bash -c '"$0" amplification "$1" > /dev/full' "$ANALYZE" "$S"
	[ "$stderr" = "iot-analyze: cannot write the answer: No space left on device" ]
}

@test "a report and a chart are added by adding files" {
	mkdir mine out
	cat > mine/owners.sql <<-'SQL'
		-- title: Mine
		-- table: owners: Who
		SELECT who, B FROM v_volume WHERE what = 'process' AND :run = 1 ORDER BY who;
	SQL
	printf '%s\n' '-- plot: owners' '-- chart: bars' '-- unit: bytes' 'SELECT who AS "row", who AS part, B AS value FROM v_volume WHERE B > 0;' >>mine/owners.sql
	run -0 "$ANALYZE" owners "$S" --reports mine --format csv --plot out
	[ "$output" = $'who,B\ncat,0\ndd,10510336' ]
	grep -q '>10 MiB<' out/owners.svg
	[[ "$("$ANALYZE" --help --reports mine)" == *owners*Mine* ]]
	printf -- '-- title: Broken\n-- table: x\nSELECT a FROM nowhere;\n' > mine/runs.sql
	one_line 1 "no such table: nowhere" "$ANALYZE" runs "$S" --reports mine
}

@test "a report cannot write to the store" {
	mkdir mine
	printf -- '-- title: Evil\n-- table: x\nDELETE FROM run;\n' > mine/evil.sql
	run -1 "$ANALYZE" evil "$S" --reports mine
	[ "$(sqlite3 "$S" "SELECT COUNT(*) FROM run")" = 1 ]
}

@test "a report names views in any way of SQL; comments and strings end nothing" {
	mkdir mine
	printf '%s\n' '-- title: Mine' '-- table: one' "/* it's; v_nothing */ SELECT ';' AS semicolon, COUNT(*) AS n FROM V_Volume JOIN \"v_run\" JOIN [v_lost_text];" \
		'-- plot: two' "SELECT 'it''s;' AS x; -- table: three" '-- table: three' 'SELECT 3 AS n -- no end' >mine/mine.sql
	[ "$("$ANALYZE" mine "$S" --reports mine --table one --format csv | sed -n 's/^;,[1-9].*/rows/p')" = rows ]
	[ "$("$ANALYZE" mine "$S" --reports mine --table three --format csv | tail -n 1)" = 3 ]
}

@test "reports read views only, and one file of the analyzer knows SQLite" {
	run grep -nEi '\b(FROM|JOIN)[[:space:]]+(run|run_end|probe|device|process|file|agg|agg_total|hist|lost|truth|event|ledger)\b' "$ROOT"/reports/*.sql
	[ "$status" = 1 ] || { echo "$output"; false; }
	[ "$(grep -l 'sqlite3\.h' "$ROOT"/analyzer/*/* | xargs -n 1 basename | paste -sd " ")" = "fold.c functions.c order.c overlap.c query.c sizes.c" ]
	! grep -nE 'include.*(libbpf|bpf/)' "$ROOT"/analyzer/*/*
}

@test "the manual has OVERHEAD, CAVEATS and every option" {
	for word in OVERHEAD CAVEATS 'EXIT STATUS'; do
		grep -q "^\.SH $word" "$ROOT/analyzer/command/iot-analyze.1"
	done
	"$ANALYZE" --help | sed -nE 's/^ +(-., )?(--[a-z-]+).*/\2/p' > options.txt
	[ "$(wc -l < options.txt)" -gt 20 ]
	while read -r option; do
		sed 's/\\-/-/g' "$ROOT/analyzer/command/iot-analyze.1" | grep -q -- "$option" || { echo "$option"; exit 1; }
	done < options.txt
}

@test "no answer depends on the parent's SIGCHLD, umask, closed descriptors or name" {
	"$ANALYZE" runs "$S" >wanted
	run -0 env --ignore-signal=CHLD "$ANALYZE" timeline "$S" --plot .
	[ -s timeline.svg ]
	(umask 777; exec "$ANALYZE" report "$S" -o page.html)
	[ "$(stat -c %a page.html)" = 600 ]
	for fd in 0 1 2; do
		bash -c "exec $fd>&-; exec \"\$@\"" - "$ANALYZE" runs "$S" >closed 2>/dev/null || [ $fd = 1 ]
		[ $fd = 1 ] || cmp wanted closed
	done
	run -2 bash -c 'exec -a "$0" "$@"' $'\e[31m' "$ANALYZE" --nope
	[ "$output" = "\\x1b[31m: unknown option '--nope': try '\\x1b[31m --help'" ]
	ARGP_HELP_FMT=rmargin=3 timeout 60 "$ANALYZE" --help | grep -q -- --by=WHAT
	IOT_LIMIT_S=x run -1 "$ANALYZE" runs "$S"
	[ "$output" = "iot-analyze: IOT_LIMIT_S: 'x' is not a number of seconds" ]
	printf '#!/bin/sh\necho "libcairo: cannot open" >&2\nexit 127\n' >gnuplot
	chmod 755 gnuplot
	PATH=$PWD:$PATH run -1 "$ANALYZE" timeline "$S" --plot . --format csv
	[[ $output == *"gnuplot failed on picture 'timeline': libcairo: cannot open"* ]] || { echo "$output"; false; }
}
