#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# repeat.bats - workloads/repeat.sh: a command N times, each on a fresh file system, labelled for compare, and an idle control.

load ../lib/helper
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR"
	store=$BATS_TEST_TMPDIR/repeat.sqlite
	export IOT_TRACE=$trace
}

@test "two runs of one label on fresh file systems, and a control of the whole device" {
	need_tracer
	# shellcheck disable=SC2016 # for the shell in there
	"$root/workloads/repeat.sh" 2 --store "$store" --size 64M --label once --idle 1 --prepare 'echo made > prepared' \
		-- sh -c 'cat prepared; [ "$PWD" = "$IOT_MNT" ] && [ ! -e x ] && dd if=/dev/zero of=x bs=4k count=23 oflag=direct status=none' > out 2> log || fail "$(cat log)"
	same "labels" "$(sql "SELECT group_concat(label, ', ') FROM run")" "once, once, once idle"
	same "commands that failed" "$(sql "SELECT COUNT(*) FROM run_end WHERE status <> 0")" 0
	same "prepared, and seen by the command" "$(grep -c '^made$' log)" 2
	same "filters" "$(sql "SELECT group_concat(COALESCE(substr(filters, 1, 7), '-'), ', ') FROM run")" "command, command, dev=$(sql "SELECT substr(filters, 5, 3) FROM run WHERE run = 3")"
	"$analyze" runs "$store" >&2
	same "the same bytes by calls" "$("$analyze" amplification "$store" --run 1 --format tsv --table volumes | awk -F'\t' '$2 == "dd" { print $5 }')" 94208
	run -1 "$analyze" compare "$store" "$store:3"
	run -2 "$analyze" compare "$store"
	[[ $output == *"only once is there"* ]] || fail "$output"
}

@test "a command that fails ends it with its status" {
	need_tracer
	run -3 "$root/workloads/repeat.sh" 5 --store "$store" --size 64M --idle 0 -- sh -c 'exit 3'
	[[ $output == *"run 1 of 5 failed with status 3"* ]] || fail "$output"
	same "runs" "$(sql "SELECT COUNT(*) FROM run")" 1
}

@test "what cannot be read is refused before anything is made" {
	for args in "" "0 -- true" "x -- true" "3" "3 --" "3 true" "3 --label" "3 --nothing x -- true" "3 --idle x -- true" "99999 -- true"; do
		# shellcheck disable=SC2086
		run -2 "$root/workloads/repeat.sh" $args
		[[ $output == "usage: workloads/repeat.sh N"* ]] || fail "$args: $output"
	done
	IOT_TRACE=/nowhere/iot-trace run -2 "$root/workloads/repeat.sh" 1 -- true
	[[ $output == *"there is no iot-trace"* ]] || fail "$output"
}
