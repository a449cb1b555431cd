# SPDX-License-Identifier: GPL-3.0-only
# every.bats - every report of real runs in every format, read by independent parsers (every.py), and every other command.
# IOT_EVERY=all tests/run every: dd, fio, PostgreSQL, MinIO and etcd, three repeats of each; else a few reports of dd, with IOT_LONG=1 one more.

load ../lib/loads
bats_require_minimum_version 1.5.0

setup() {
	need_tracer
	need python3 python3-minimal
	need gnuplot gnuplot-nox
	need pdflatex texlive-latex-base
	cd "$BATS_TEST_TMPDIR"
	mkdir pictures
}

teardown() { system_down; }

# Three runs of a load, of two labels, each with its ledger.
three_runs() { # SYSTEM PROFILE COUNT
	local n

	system_up "$1"
	for n in 1 2 3; do
		"$root/workloads/$1.sh" prepare "$2" "$3" >/dev/null
		"$trace" -q --all --ring 64M -o run.sqlite --label "label$((n / 3))" -- "$root/workloads/$1.sh" load "$2" "$3" >ledger.json
		"$analyze" attach run.sqlite ledger.json
	done
	system_down
	unset IOT_TEST_SYSTEM
}

answers() { # REPORT...: none: all
	run --separate-stderr python3 "$root/tests/analyze/every.py" "$analyze" run.sqlite pictures "$@"
	[ "$status" = 0 ] || fail "$stderr"
	echo "# $BATS_TEST_DESCRIPTION: $output" >&3
	(cd pictures && pdflatex -interaction=batchmode -halt-on-error -no-shell-escape paper.tex >/dev/null) || fail "$(grep -A5 '^!' pictures/paper.log)"
}

# All other questions to a store, and changes to it.
commands() {
	local form

	# by force: what else is on the machine, such as other devices, may come and go
	for form in $(sized "text json latex" "text csv tsv json latex markdown"); do
		"$analyze" compare run.sqlite:1-2 run.sqlite:3 --force --format $form >compare.$form
	done
	python3 -c 'import json; json.load(open("compare.json"))'
	"$analyze" report run.sqlite -o page.html
	python3 "$root/tests/lib/page.py" page.html >page.txt
	"$analyze" sql run.sqlite "SELECT COUNT(*) FROM v_ratio" --format json | python3 -c 'import json, sys; json.load(sys.stdin)'
	cp run.sqlite less.sqlite
	"$analyze" prune less.sqlite:2-3 --events
	"$analyze" prune less.sqlite:1
	"$analyze" runs less.sqlite --format csv >runs.csv
	same "runs that are left" "$(grep -c . runs.csv)" 3
}

all_of() { # SYSTEM PROFILE COUNT
	[ "${IOT_EVERY-}" = all ] || skip "IOT_EVERY=all is missing: a minute a system"
	three_runs "$@"
	answers
	commands
}

@test "dd: two reports (IOT_LONG: three) in every format, and every other command" {
	three_runs dd small 50
	answers $(sized "waterfall check" "amplification waterfall check")
	commands
}

@test "dd: every report in every format" { all_of dd small 200; }
@test "fio: every report in every format" { all_of fio small 200; }
@test "PostgreSQL: every report in every format" { all_of postgres small-one 500; }
@test "MinIO: every report in every format" { all_of minio small 100; }
@test "etcd: every report in every format" { all_of etcd small-one 500; }
