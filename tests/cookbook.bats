#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# cookbook.bats - ways to the answer: help for a question, completion, statements of one's own, and the cookbook, each of whose examples is run.

load helper
load analyze_lib

setup_file() { make_base; }

setup() { run_store; }

reports() { "$analyze" --help | sed -n '/^reports:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }
options() { "$analyze" --help | grep -oE '^ +(--[a-z-]+|-[a-z])\b' | tr -d ' '; }
commands() { "$analyze" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }

@test "help: every report answers a question, every answer is a command that there is, with options that it takes" {
	"$analyze" help | sed -n 's/^    iot-analyze //p' >answers
	for report in $(reports | grep -vE '^(headline|seed)$'); do # STORE alone, and --seed
		grep -q "^$report STORE" answers || fail "no question leads to $report"
	done
	for report in $(reports); do
		grep -qE "^\.BR? $report\$" "$root/analyzer/iot-analyze.1" || fail "the manual does not say what $report is"
	done
	while read -r command options; do
		[ "$command" = STORE ] || { reports; commands; } | grep -qx "$command" || fail "no command is called $command"
		for option in $(grep -oE '(^| )--?[a-z-]+' <<<"$options"); do
			options | grep -qx -- "$option" || fail "$command: no option is called $option"
		done
	done <answers
}

@test "help QUESTION: words find the question, in any order and number; no word, all of them; none, exit status 2" {
	first() { "$analyze" help "$@" | sed -n '2s/^    iot-analyze //p'; }
	same "random" "$(first "is my workload random")" "pattern STORE"
	same "two words" "$(first fsync cost)" "fsync STORE"
	same "a plural, and capitals" "$(first WHICH FILES)" "files STORE"
	same "did it matter" "$(first did my change matter?)" "compare BEFORE AFTER"
	same "all" "$("$analyze" help | grep -c '^    iot-analyze ')" "$(grep -c '^QUESTION(' "$root/analyzer/questions.def")"
	same "nothing but words of all questions" "$("$analyze" help what does | wc -l)" "$("$analyze" help | wc -l)"
	run --separate-stderr -2 "$analyze" help xyzzy
	same "lines" "${#stderr_lines[@]}" 1
	run --separate-stderr -2 "$analyze" help '$(touch pwned)' '%s%n'
	[ ! -e pwned ]
}

# complete WORDS...: what bash offers for the last of them
complete_words() {
	(
		eval "$("$analyze" completion bash)"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_iot_analyze
		printf '%s\n' "${COMPREPLY[@]}"
	)
}

@test "completion in bash: commands and reports, options, their values, the tables of a report" {
	touch some.sqlite
	same "a report" "$(complete_words iot-analyze wat)" waterfall
	same "all" "$(complete_words iot-analyze "" | grep -vx 'run.sqlite\|some.sqlite' | sort | paste -sd' ')" "$({ reports; commands; } | sort | paste -sd' ')"
	same "a store" "$(complete_words iot-analyze pattern some)" some.sqlite
	touch "with a blank.sqlite" "with*.sqlite"
	same "names as they are" "$(complete_words iot-analyze pattern with | sort)" $'with a blank.sqlite\nwith*.sqlite'
	mkdir "with a folder"
	same "a folder" "$(complete_words iot-analyze pattern --plot with)" "with a folder"
	rm -r with*
	same "an option" "$(complete_words iot-analyze pattern some.sqlite --tab)" --table
	same "options" "$(complete_words iot-analyze pattern - | grep -c '^--')" "$(options | grep -c '^--')"
	same "formats" "$(complete_words iot-analyze pattern some.sqlite --format j | paste -sd' ')" "json junit"
	same "tables" "$(complete_words iot-analyze pattern some.sqlite --table "" | paste -sd' ')" "layers owners files"
	same "a shell" "$(complete_words iot-analyze completion z)" zsh
	same "a value of which nothing is known" "$(complete_words iot-analyze pattern --title "")" ""
}

@test "completion in zsh is a script that zsh reads, with every command and option" {
	"$analyze" completion zsh >_iot-analyze
	for word in $(reports) $(commands); do
		grep -q "^		'$word:" _iot-analyze || fail "$word"
	done
	same "options" "$(grep -cE "^	'-" _iot-analyze)" "$(options | wc -l)"
	run --separate-stderr -2 "$analyze" completion fish
	need zsh zsh
	zsh -n _iot-analyze
}

@test "make install: completions and manuals are where shells and man look for them" {
	make -s -C "$root" install DESTDIR="$PWD/d" PREFIX=/usr >/dev/null
	bash -n d/usr/share/bash-completion/completions/iot-analyze
	head -n 1 d/usr/share/zsh/site-functions/_iot-analyze | grep -qx '#compdef iot-analyze'
	[ -s d/usr/share/man/man7/iot-cookbook.7 ]
}

@test "sql: statements of the command line and of standard input, with views, formats and the run that is meant; nothing is written" {
	same "a view" "$("$analyze" sql "$S" "SELECT who, S FROM v_volume WHERE who = 'dd'" --format csv | paste -sd' ')" "who,S dd,10485760"
	same "from standard input, one over two lines, the last without a semicolon" \
		"$(printf "SELECT ';' AS a; SELECT\n2 AS b;\n-- nothing;\n\nSELECT 3 AS c" | "$analyze" sql "$S" --format csv | paste -sd' ')" "a ; b 2 c 3"
	same "the run" "$("$analyze" sql "$S" --run dd "SELECT run FROM v_run" --format tsv | paste -sd' ')" "run 1"
	same "a table of one's own for the next statement" "$("$analyze" sql "$S" "CREATE TEMP TABLE x AS SELECT 7 AS n; SELECT n FROM x" --format csv | paste -sd' ')" "n 7"
	same "nothing asked" "$("$analyze" sql "$S" " ; -- no" | wc -l)" 0
	[[ $("$analyze" sql "$S" .views) == *"v_volume "*"The volumes of METRICS section 1"* ]]
	before=$(sha256sum "$S")
	for sql in "DELETE FROM run" "UPDATE process SET comm = 'x'" "DROP TABLE event" "PRAGMA user_version = 7; DELETE FROM run" "ATTACH 'other.sqlite' AS o; CREATE TABLE o.x(a)" "SELECT load_extension('x')" \
		"SELEC 1" "SELECT * FROM nowhere" "PRAGMA query_only = OFF; INSERT INTO run(run) VALUES (9)" "VACUUM INTO 'copy.sqlite'" "SELECT writefile('x', 'y')"; do
		run --separate-stderr -1 "$analyze" sql "$S" "$sql"
		same "lines of $sql" "${#stderr_lines[@]}" 1
	done
	same "the store" "$(sha256sum "$S")" "$before"
	same "files" "$(find . -type f ! -name 'separate-stderr-*' | sort | paste -sd' ')" "./run.sqlite"
	run --separate-stderr -2 "$analyze" sql "$S" "SELECT 1" --system nobody
	run --separate-stderr -1 "$analyze" sql none.sqlite "SELECT 1"
	run --separate-stderr -1 "$analyze" sql "$S" <.
	same "a folder to read from" "$stderr" "iot-analyze: cannot read standard input: Is a directory"
	run --separate-stderr -1 bash -c 'printf "SELECT 1;\nSELEC 2;\nSELECT 3;\n" | "$0" sql "$1" --format csv' "$analyze" "$S"
	same "what stands before an error" "$output" $'1\n1'
	sqlite3 "$S" "UPDATE process SET comm = char(27) || '[31m' WHERE comm = 'dd'"
	! "$analyze" sql "$S" "SELECT comm FROM v_process" | grep -q "$(printf '\033')"
}

@test "the cookbook: every example answers, and what it names of views is there" {
	"$root/tests/gen-run.py" 400 --systems | "$analyze" ingest gen.sqlite
	mv gen.sqlite run.sqlite
	sqlite3 run.sqlite "INSERT INTO lost VALUES (1, 'block', 'request longer than the walk', 'owner', 7)" # so that some ratios are bounds
	columns=kind,owner,how,sub,flags,ops,errors,bytes,touched,lat_ns,max_ns
	for table in agg_total:run agg:run,sec; do
		sqlite3 run.sqlite "INSERT OR IGNORE INTO ${table%:*} (${table#*:}, dev, cause, $columns) SELECT ${table#*:}, 266338304, (SELECT id FROM cause WHERE name = 'loopback'), $columns
			FROM ${table%:*} WHERE kind = (SELECT id FROM kind WHERE name = 'block_write') AND cause = (SELECT id FROM cause WHERE name = 'data')"
	done
	awk '/^\.nf/ { n++; on = 1; next } /^\.fi/ { on = 0 } on { gsub(/\\-/, "-"); print >("example." n) }' "$root/analyzer/iot-cookbook.7"
	same "examples" "$(find . -name 'example.*' | wc -l)" "$(grep -c '^\.SS ' "$root/analyzer/iot-cookbook.7")"
	for example in example.*; do
		PATH=$root/build:$PATH bash -eu "$example" >out 2>err || fail "$(cat "$example" err)"
		empty "errors of $example" "$(cat err)"
		[ "$(wc -l <out)" -ge 2 ] || fail "no answer: $(cat "$example" out)"
	done
	# bytes of a loop device come again on the disk below, and are summed once
	bytes=$(grep -lE "(FROM|JOIN) (agg|agg_total) " example.* | while read -r example; do PATH=$root/build:$PATH bash -eu "$example"; done | awk -F'|' '{ n += $NF } END { print n }')
	[ "$bytes" -gt 0 ]
	same "bytes, in two examples" "$bytes" $(($("$analyze" sql run.sqlite "SELECT B FROM v_volume WHERE what = 'total'" --format csv | tail -n 1) * 2))
	"$analyze" sql run.sqlite .views | awk '{ print $1 }' >views
	for view in $(sed -n '/^\.SH VIEWS/,/^\.SH EX/s/^\(v_[a-z_]*\)\t.*/\1/p' "$root/analyzer/iot-cookbook.7"); do
		[ "$view" = v_event ] || grep -qx "$view" views || fail "$view is no view"
	done
}
