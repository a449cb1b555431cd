#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# limits.bats - `iot-analyze check` fails a nightly run whose ratios exceed limits. Answers worked out by hand from
# fixtures/analyze_base.sql: B/S = 10510336/10485760 = 1.00234375; 4096 of 10579968 device bytes have no owner: attributed = 0.999612853.

load ../lib/analyze

setup_file() {
	make_store "$BATS_FILE_TMPDIR/base.sqlite"
	sqlite3 "$BATS_FILE_TMPDIR/base.sqlite" < "$BATS_TEST_DIRNAME/../fixtures/analyze_base.sql"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	S=run.sqlite
	store_with "$S"
}

# rows: "RESULT RATIO WHO VALUE LIMIT THAN NOTE" of each
rows() { "$ANALYZE" check "$S" --format tsv "$@" | awk -F'\t' 'NR > 1 { print $1, $2, $3, $6, $7, $8, $9 }' | sed 's/ *$//'; }

@test "limits that are kept: exit status 0" {
	"$ANALYZE" check "$S" --max waf_sys=1.0024 --min attributed=0.9996 >out
	[ "$(rows --max waf_sys=1.0024 --min attributed=0.9996)" = "OK waf_sys all traced 1.002 at most 1.0024
OK attributed all device bytes 1.000 at least 0.9996" ]
}

@test "a limit that is not kept comes first, with all digits of the value: status 1" {
	run -1 "$ANALYZE" check "$S" --min hop_fs=1 --max waf_sys=1.0023
	[ "$(rows --min hop_fs=1 --max waf_sys=1.0023)" = "BROKEN waf_sys all traced 1.002 at most 1.0023 1.00234375
OK hop_fs all traced 1.002 at least 1" ]
	run -1 "$ANALYZE" check "$S" --min attributed=0.9997
	[ "$(rows --min attributed=0.9997)" = "BROKEN attributed all device bytes 1.000 at least 0.9997 0.999612853" ]
	"$ANALYZE" check "$S" --min waf_sys=1.00234375 --max waf_sys=1.00234375 # equal is inside
}

@test "a bound decides where it can: >= 1.002 breaks 1, keeps 1, leaves 3 open" {
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'block', 'request longer than the walk', 'owner', 7)"
	[ "$(rows --max waf_sys=1)" = "BROKEN waf_sys all traced 1.002 at most 1 1.00234375; B lost records" ]
	[ "$(rows --min waf_sys=1)" = "OK waf_sys all traced 1.002 at least 1 B lost records" ]
	[ "$(rows --max waf_sys=3)" = "UNKNOWN waf_sys all traced 1.002 at most 3 B lost records" ]
	run -1 "$ANALYZE" check "$S" --max waf_sys=3
	run -1 "$ANALYZE" check "$S" --min attributed=0.5
	[ "$(rows --min attributed=0.5)" = "UNKNOWN attributed all device bytes n/a at least 0.5 B lost records" ]
}

@test "what was not measured keeps no limit" {
	[ "$(rows --max waf_e2e=9)" = "UNKNOWN waf_e2e (nobody has it) n/a at most 9" ]
	run -1 "$ANALYZE" check "$S" --max waf_e2e=9
	"$ANALYZE" check "$S" --max waf_e2e=9 --logical-bytes 10485760
	sqlite3 "$S" "UPDATE run SET layers = 'syscall'"
	run -1 "$ANALYZE" check "$S" --min attributed=0
	[ "$(rows --min attributed=0)" = "UNKNOWN attributed all device bytes n/a at least 0 layer block was not measured" ]
}

@test "a run that is incomplete passes nothing" {
	sqlite3 "$S" "DELETE FROM run_end"
	run -1 "$ANALYZE" check "$S" --max waf_sys=3
}

@test "with --by each line is held to it, with --system those of the system" {
	sqlite3 "$S" "UPDATE process SET system = 'etcd' WHERE comm = 'dd'"
	[ "$(rows --max waf_sys=1 --by comm)" = "BROKEN waf_sys dd 1.002 at most 1 1.00234375" ]
	[ "$(rows --max waf_sys=1 --system etcd)" = "BROKEN waf_sys etcd 1.002 at most 1 1.00234375" ]
	[ "$(rows --max raf_dev=2 --by pid)" = "OK raf_dev cat 1.000 at most 2" ]
}

@test "JUnit: a case a limit, failed, in error or passed, for another parser; verify" {
	command -v python3 >/dev/null || skip "python3 is missing: install the Debian package python3-minimal"
	sqlite3 "$S" "UPDATE process SET comm = 'a<b>&\"' || char(27) || ']]>' WHERE comm = 'dd'"
	"$ANALYZE" check "$S" --max waf_sys=1 --max waf_e2e=1 --min hop_fs=1 --by comm --format junit >check.xml || true
	"$ANALYZE" verify "$S" --format junit >verify.xml
	python3 - <<-'E'
	import xml.etree.ElementTree as x
	root = x.parse("check.xml").getroot()
	assert root.attrib == {"name": "iot-analyze check", "tests": "3", "failures": "1", "errors": "1", "skipped": "0"}, root.attrib
	cases = [(c.get("name"), [k.tag for k in c]) for c in root]
	assert cases[0] == ('waf_sys a<b>&"\\x1b]]> at most 1', ["failure"]), cases
	assert cases[1] == ("waf_e2e (nobody has it) at most 1", ["error"]) and cases[2][1] == [], cases
	assert "1.00234375" in root[0][0].get("message")
	root = x.parse("verify.xml").getroot()
	assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("11", "0", "1"), root.attrib
	E
	run --separate-stderr -2 "$ANALYZE" amplification "$S" --format junit
	[[ $stderr == *"has no cases"* ]]
}

@test "a limit that cannot be read, of no ratio, or of another command is refused" {
	for bad in waf_sys waf_sys= =3 waf_sys=-1 waf_sys=1e3 waf_sys=3x waf_sys=1.2.3 waf_sys=nan "waf_sys= 3"; do
		run --separate-stderr -2 "$ANALYZE" check "$S" --max "$bad"
		[[ $stderr == *"is not RATIO=N"* ]] || { echo "$bad: $stderr"; false; }
	done
	run --separate-stderr -2 "$ANALYZE" check "$S" --max waf=3
	[[ $stderr == *"no ratio is called 'waf'"* ]]
	run --separate-stderr -2 "$ANALYZE" check "$S" --max "'; DROP TABLE run; --=3"
	[[ $stderr == *"no ratio is called"* ]]
	run --separate-stderr -2 "$ANALYZE" check "$S"
	[[ $stderr == *"give --max RATIO=N, --min RATIO=N or --against BASE"* ]]
	run --separate-stderr -2 "$ANALYZE" amplification "$S" --max waf_sys=3
	[[ $stderr == *"belong to the command 'check'"* ]]
	run --separate-stderr -2 "$ANALYZE" check "$S" $(printf -- '--max waf_sys=3 %.0s' {1..33})
	[[ $stderr == *"more than 32 limits"* ]]
}

@test "--against holds ratios to the base: 1.00234375 is within 5 % of 1.05, not 1 %" {
	cp "$S" base.sqlite
	"$ANALYZE" check "$S" --against base.sqlite --within 0%
	[ "$(rows --against base.sqlite --within 0% | awk '{ print $1 }' | sort -u)" = OK ]
	sqlite3 base.sqlite "UPDATE agg_total SET bytes = bytes + 499712 WHERE bytes = 10485760 AND kind = (SELECT id FROM kind WHERE name = 'block_write')"
	[ "$(rows --against base.sqlite --within 1% | grep waf_sys)" = "BROKEN waf_sys all traced 1.002 within 1 % of 1.05 1.00234375" ]
	[ "$(rows --against base.sqlite --within 1% | grep -c '^OK raf_dev all traced 1.000 within 1 % of 1$')" = 1 ]
	run -1 "$ANALYZE" check "$S" --against base.sqlite --within 1%
	"$ANALYZE" check "$S" --against base.sqlite --within 5%
	"$ANALYZE" check "$S" --against base.sqlite
	run -1 "$ANALYZE" check "$S" --against base.sqlite --max waf_sys=1
	[ "$(rows --against base.sqlite --max waf_sys=1 | head -n 1)" = "BROKEN waf_sys all traced 1.002 at most 1 1.00234375" ]
}

@test "--against: unknown on either side is UNKNOWN; lines are held to their own" {
	cp "$S" base.sqlite
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'block', 'request longer than the walk', 'owner', 7)"
	run --separate-stderr -1 "$ANALYZE" check "$S" --against base.sqlite
	[[ $stderr == *"not comparable: records lost: 7 x block: request longer than the walk (owner)"* ]]
	[ "$(rows --against base.sqlite --force | grep waf_sys)" = "UNKNOWN waf_sys all traced 1.002 within 5 % of 1.00234375 B lost records" ]
	sqlite3 base.sqlite "UPDATE agg_total SET bytes = 1048576 WHERE bytes = 10485760 AND kind = (SELECT id FROM kind WHERE name = 'block_write')"
	[ "$(rows --against base.sqlite --force | grep waf_sys)" = "BROKEN waf_sys all traced 1.002 within 5 % of 0.10234375 1.00234375; B lost records" ]
	store_with "$S"
	store_with base.sqlite "UPDATE run SET events = 0; DELETE FROM ledger"
	! rows --against base.sqlite --force | grep hop_flush
	! rows --against base.sqlite --force | grep BROKEN
	run -1 "$ANALYZE" check base.sqlite --against "$S"
	[ "$("$ANALYZE" check base.sqlite --against "$S" --format tsv | awk -F'\t' '$2 == "hop_flush" { print $1, $8 }')" = "UNKNOWN 5 % of 1" ]
	store_with base.sqlite
	[ "$(rows --against base.sqlite --by comm | grep waf_sys)" = "OK waf_sys dd 1.002 within 5 % of 1.00234375" ]
}

@test "--against: another kernel, several labels, no store, bad percentage: refused" {
	cp "$S" base.sqlite
	sqlite3 base.sqlite "UPDATE run SET kernel = 'other'"
	run --separate-stderr -1 "$ANALYZE" check "$S" --against base.sqlite
	[[ $stderr == *"not comparable: kernel: 6.1.0 in run.sqlite (run.sqlite:1), other in dd (base.sqlite:1)"* ]]
	"$ANALYZE" check "$S" --against base.sqlite --force
	run --separate-stderr -2 "$ANALYZE" check "$S" --against nothing.sqlite
	for bad in 5 % -5% x% 1e3% 5%% .5%; do
		run --separate-stderr -2 "$ANALYZE" check "$S" --against base.sqlite --within "$bad"
		[[ $stderr == *"is not a percentage"* ]]
	done
	run --separate-stderr -2 "$ANALYZE" check "$S" --max waf_sys=3 --within 5%
	[[ $stderr == *"--within belongs to --against"* ]]
	run --separate-stderr -2 "$ANALYZE" amplification "$S" --against base.sqlite
	[[ $stderr == *"--against belongs to the command 'check'"* ]]
}
