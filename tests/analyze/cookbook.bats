#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# cookbook.bats - help for a question, completion, SQL from the command line, and the cookbook, each of whose examples is run.

load ../lib/helper
load ../lib/analyze

setup_file() { make_base; }

setup() { run_store; }

options() { "$analyze" --help | grep -oE '^ +(--[a-z-]+|-[a-z])\b' | tr -d ' '; }
commands() { "$analyze" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }

@test "help: every report answers a question, and every answer is a valid command" {
	"$analyze" help | sed -n 's/^    iot-analyze //p' >answers
	for report in $(reports | grep -vE '^(headline|seed)$'); do # STORE alone, and --seed
		grep -q "^$report STORE" answers || fail "no question leads to $report"
	done
	for report in $(reports); do
		grep -qE "^\.BR? $report\$" "$root/analyzer/command/iot-analyze.1" || fail "the manual does not say what $report is"
	done
	while read -r command options; do
		[ "$command" = STORE ] || { reports; commands; } | grep -qx "$command" || fail "no command is called $command"
		for option in $(grep -oE '(^| )--?[a-z-]+' <<<"$options"); do
			options | grep -qx -- "$option" || fail "$command: no option is called $option"
		done
	done <answers
}

@test "help QUESTION: words find the question in any order; no match is status 2" {
	first() { "$analyze" help "$@" | sed -n '2s/^    iot-analyze //p'; }
	same "random" "$(first "is my workload random")" "pattern STORE"
	same "two words" "$(first fsync cost)" "fsync STORE"
	same "a plural, and capitals" "$(first WHICH FILES)" "files STORE"
	same "did it matter" "$(first did my change matter?)" "compare BEFORE AFTER"
	while IFS='|' read -r words command; do
		# shellcheck disable=SC2086 # words
		same "$words" "$("$analyze" help $words | grep '^    iot-' | tail -n 1 | sed 's|^ *||')" "$command"
	done <<-'E'
		docker|iot-analyze breakdown STORE --by container
		which container wrote it|iot-analyze breakdown STORE --by container
		csv|iot-analyze amplification STORE --format csv
		pandas|iot-analyze amplification STORE --format csv
		latex|iot-analyze amplification STORE --format latex
		ssd wear|iot-analyze amplification STORE
		wear|iot-analyze amplification STORE
		atime|iot-analyze journal STORE --table operations
		reading wears the disk|iot-analyze journal STORE --table operations
		live|iot-trace -d 10 --format text
		top|iot-trace -d 10 --format text
		kworker|iot-analyze carriers STORE
		who writes while nobody writes|iot-analyze carriers STORE
		which requests went to a worker|iot-analyze uring STORE
		sqlite page size|iot-analyze explain STORE
		14 bytes become 73 thousand|iot-analyze explain STORE
		mmap journald|iot-analyze explain STORE
		was it read again|iot-analyze explain STORE
		which log makes most fsyncs|iot-analyze fsync STORE --table files
		health checks rewrite json|iot-analyze files STORE
		one dd starves another|iot-analyze slow STORE
		which counter is right|iot-analyze verify STORE
		everything counts twice luks|iot-analyze stack STORE
	E
	same "all" "$("$analyze" help | grep -c '^    iot-')" "$(grep -c '^QUESTION(' "$root/analyzer/command/questions.def")"
	same "nothing but words of all questions" "$("$analyze" help what does | wc -l)" "$("$analyze" help | wc -l)"
	run --separate-stderr -2 "$analyze" help xyzzy
	same "lines" "${#stderr_lines[@]}" 1
	run --separate-stderr -2 "$analyze" help '$(touch pwned)' '%s%n'
	[ ! -e pwned ]
}

@test "help WORD says what a word means, with a command that shows it" {
	same "a ratio" "$("$analyze" help waf_sys | head -n 4)" "waf_sys
    B/S: how many bytes devices wrote for each that calls wrote; what the kernel
    stack adds
    iot-analyze amplification STORE --table summary"
	same "a volume" "$("$analyze" help T | head -n 2 | tail -n 1)" "    file bytes that writes touched, rounded out to blocks of the file system: 1"
	same "no volume" "$("$analyze" help t | grep -c 'bytes that writes touched')" 0
	same "all that begin so" "$("$analyze" help 'hop_*' | grep -c '^hop_')" 7
	same "a share" "$("$analyze" help share_journal | head -n 1)" share_
	same "in capitals" "$("$analyze" help HORIZON | head -n 1)" horizon
	# every ratio that there is, and words that were once missing
	for word in $("$analyze" sql "$S" "SELECT ratio FROM v_ratio_def WHERE ratio NOT LIKE '% %'" --format tsv | sed 's/seed_op_amp_[rw]/seed_op_amp/; 1d') \
		S T D W F B P L V N S_r B_r horizon leaf owner carrier cause residual residue absorbed cancelled nobody; do
		"$analyze" help "$word" | sed -n 2p | grep -q '^    [A-Za-z0-9(]' || fail "$word means nothing"
	done
	# what stands behind is there: a report, and a table of it
	sed -n 's/^.*"\([^"]*\)")$/\1/p' "$root/analyzer/command/terms.def" | sort -u >behind
	[ "$(wc -l <behind)" -gt 20 ]
	while read -r report store options; do
		same "$report" "$store" STORE
		reports | grep -qx "$report" || fail "no report is called $report"
		table=$(sed -n 's/.*--table \([a-z]*\).*/\1/p' <<<"$options")
		[ -z "$table" ] || grep -qE "^-- (table|words): $table(:|\$)" "$root/reports/$report.sql" || fail "$report has no table $table"
	done <behind
}

@test "the glossary is a manual made of the same rows, one each" {
	"$root/packaging/glossary" man "$root/analyzer/command/terms.def" >iot-glossary.7
	same "terms" "$(grep -c '^\.TP' iot-glossary.7)" "$(grep -c '^TERM(' "$root/analyzer/command/terms.def")"
	[ "$(grep -c '^TERM(' "$root/analyzer/command/terms.def")" -gt 60 ]
	need man man-db
	LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l iot-glossary.7 2>warnings | col -bx >page
	empty "warnings" "$(cat warnings)"
	grep -q '^ *hop_fs *F/W: what the file system adds' page
	empty "too wide" "$(LC_ALL=C.UTF-8 grep -E '^.{81,}' page || :)"
}

@test "doc/GLOSSARY.md is what its make target makes of the words of help" {
	"$root/packaging/glossary" markdown "$root/analyzer/command/terms.def" >GLOSSARY.md
	same "words" "$(grep -c '^- \*\*`[^`]' GLOSSARY.md)" "$(grep -c '^TERM(' "$root/analyzer/command/terms.def")"
	diff "$root/doc/GLOSSARY.md" GLOSSARY.md
	# a word of the terminal is the word of the page
	grep -qF "**\`horizon\`**: $("$analyze" help horizon | sed -n '2,/iot-analyze/p' | sed '$d; s/^ *//' | paste -sd' ')" GLOSSARY.md
}

@test "help by people's words leads to a command that there is" {
	while read -r wanted words; do
		# shellcheck disable=SC2086 # words
		"$analyze" help $words | grep -qE "^    iot-[a-z]+ .*$wanted" || fail "$words: not $wanted but $("$analyze" help $words)"
	done <<-'W'
		container docker
		container container
		container cgroup
		csv csv
		csv pandas
		latex latex
		amplification ssd wear
		journal atime
		breakdown who
		text live
		text top
		carriers kworker
		carriers jbd2
		fsync fsync slow
		components sqlite
	W
	"$root/tests/lib/gen-run.py" 100 --systems | "$analyze" ingest gen.sqlite
	"$analyze" breakdown gen.sqlite --by container | grep -q '^who '
}

@test "--help of a command: its usage, its tables, its options alone, an example" {
	for report in $(reports); do
		"$analyze" "$report" --help >out
		head -n 1 out | grep -qE "^usage: iot-analyze ($report |)STORE \[OPTIONS\]$" || fail "$(head -n 1 out)"
		same "tables of $report" "$(sed -n '/^tables/,/^$/s/^  \([a-z0-9_][a-z0-9_]*\).*/\1/p' out | paste -sd' ')" \
			"$(sed -nE 's/^-- (table|words): ([a-z0-9_]*).*/\2/p' "$root/reports/$report.sql" | paste -sd' ')"
		grep -q -- '--format' out
		same "pictures of $report" "$(grep -c -- '--plot=' out)" "$(grep -qE '^-- chart: ' "$root/reports/$report.sql" && echo 1 || echo 0)"
	done
	for command in $(commands); do
		"$analyze" "$command" --help | head -n 1 | grep -q "^usage: iot-analyze $command" || fail "$command"
	done
	own() { "$analyze" "$1" --help | grep -oE '^ +(--[a-z-]+|-[a-z])\b' | tr -d ' ' | paste -sd' '; }
	same "of prune" "$(own prune)" "--events --older --to"
	same "of attach" "$(own attach)" "--run"
	same "of ingest" "$(own ingest)" ""
	[[ " $(own timeline) " == *" --step "* && " $(own files) " != *" --step "* ]]
	"$analyze" files --help | grep -qx 'example: iot-analyze files STORE'
	same "of a store" "$("$analyze" "$S" files --help)" "$("$analyze" files --help)"
}

@test "a store may stand before its command" {
	same "a report" "$("$analyze" "$S" files --format csv)" "$("$analyze" files "$S" --format csv)"
	same "sql" "$("$analyze" "$S" sql "SELECT 7 AS n" --format csv | paste -sd' ')" "n 7"
	cp "$S" explain
	same "a file that is called as a report" "$("$analyze" files explain --format csv)" "$("$analyze" files "$S" --format csv)"
	run --separate-stderr -2 "$analyze" "$S" nothing
	same lines "${#stderr_lines[@]}" 1
}

@test "what there is not: which one may have been meant, and which there are" {
	meant() { # TEXT ARGUMENTS...
		run --separate-stderr -2 "$analyze" "${@:2}"
		same "lines for ${*:2}" "${#stderr_lines[@]}" 1
		[[ $stderr == *"$1"* ]] || fail "${*:2}: $stderr"
	}
	meant "unknown command 'expain' (did you mean explain?)" expain "$S"
	meant "unknown command 'mrege' (did you mean merge?)" mrege "$S"
	meant "unknown command 'zzzzzz' (--help" zzzzzz "$S"
	meant "unknown option '--tpo' (did you mean --top?)" files "$S" --tpo 3
	meant "unknown option '--formt=csv' (did you mean --format?)" files "$S" --formt=csv
	meant "no table 'ledgr' (did you mean ledger?); there are: files, io, ledger" files "$S" --table ledgr
	meant "no such column (did you mean path?) (there are path, device" files "$S" --where pth=x
	meant "no such column (did you mean dirtied?) (there are path, device" files "$S" --sort dirtid
	meant "unknown value 'fil' (did you mean file?) (there are system, instance" files "$S" --by fil
	meant "no ratio is called 'waf_sy' (did you mean waf_sys?); there are: attributed, waf_sys, waf_e2e" check "$S" --max waf_sy=3
	meant "no question has these words (did you mean waf_sys?)" help wafsys
	meant "no question has these words (\`iot" help xyzzy
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

@test "completion in bash: commands and reports, options, values, tables of a report" {
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

@test "sql: statements from arguments or input, views, formats, the run; writes nothing" {
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
	"$root/tests/lib/gen-run.py" 400 --systems | "$analyze" ingest gen.sqlite
	mv gen.sqlite run.sqlite
	sqlite3 run.sqlite "INSERT INTO lost VALUES (1, 'block', 'request longer than the walk', 'owner', 7)" # so that some ratios are bounds
	columns=kind,owner,how,sub,flags,ops,errors,bytes,touched,lat_ns,max_ns
	for table in agg_total:run agg:run,sec; do
		sqlite3 run.sqlite "INSERT OR IGNORE INTO ${table%:*} (${table#*:}, dev, cause, $columns) SELECT ${table#*:}, 266338304, (SELECT id FROM cause WHERE name = 'loopback'), $columns
			FROM ${table%:*} WHERE kind = (SELECT id FROM kind WHERE name = 'block_write') AND cause = (SELECT id FROM cause WHERE name = 'data')"
	done
	awk '/^\.nf/ { n++; on = 1; next } /^\.fi/ { on = 0 } on { gsub(/\\-/, "-"); print >("example." n) }' "$root/analyzer/command/iot-cookbook.7"
	same "examples" "$(find . -name 'example.*' | wc -l)" "$(grep -c '^\.SS ' "$root/analyzer/command/iot-cookbook.7")"
	for example in example.*; do
		PATH=$IOT_BUILD:$PATH bash -eu "$example" >out 2>err || fail "$(cat "$example" err)"
		empty "errors of $example" "$(cat err)"
		[ "$(wc -l <out)" -ge 2 ] || fail "no answer: $(cat "$example" out)"
	done
	# bytes of a loop device come again on the disk below, and are summed once
	bytes=$(grep -lE "(FROM|JOIN) (agg|agg_total) " example.* | while read -r example; do PATH=$IOT_BUILD:$PATH bash -eu "$example"; done | awk -F'|' '{ n += $NF } END { print n }')
	[ "$bytes" -gt 0 ]
	same "bytes, in two examples" "$bytes" $(($("$analyze" sql run.sqlite "SELECT B FROM v_volume WHERE what = 'total'" --format csv | tail -n 1) * 2))
	"$analyze" sql run.sqlite .views | awk '{ print $1 }' >views
	for view in $(sed -n '/^\.SH VIEWS/,/^\.SH EX/s/^\(v_[a-z_]*\)\t.*/\1/p' "$root/analyzer/command/iot-cookbook.7"); do
		grep -qx "$view" views || fail "$view is no view"
		"$analyze" sql run.sqlite "SELECT * FROM $view LIMIT 1" >one || fail "$view does not open"
	done
	# those of the store itself, in words: one event a row, and sums of the same operations
	same "events" "$("$analyze" sql run.sqlite "SELECT COUNT(*), COUNT(layer) FROM v_event" --format tsv | sed -n '2s/\t/ /p')" "$(sqlite3 run.sqlite "SELECT COUNT(*) || ' ' || COUNT(*) FROM event")"
	same "sums" "$("$analyze" sql run.sqlite "SELECT SUM(ops) FROM v_agg UNION ALL SELECT SUM(ops) FROM v_total" --format tsv | sed 1d | paste -sd' ')" \
		"$(sqlite3 run.sqlite "SELECT SUM(ops) FROM agg UNION ALL SELECT SUM(ops) FROM agg_total" | paste -sd' ')"
}
