# SPDX-License-Identifier: GPL-3.0-only
# run.bats - the runner of the tests: it ends, counts, and reports what a test left behind.

load ../lib/helper

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR"
}

# The runner on its own, with nothing of the run that this test belongs to.
alone() { exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$HOME" "$@" > out.log 2>&1; }
runs() { (alone timeout 300 "$root/tests/run" "$@"); }

@test "a process that a test left behind is named, ended and a failure" {
	printf '@test "holds it" { sleep 1009 & }\n@test "does not" { sleep 1013 >/dev/null 2>&1 3>&- & }\n' > left.bats
	if runs left.bats; then fail "no failure: $(cat out.log)"; fi
	for seconds in 1009 1013; do
		same "process" "$(grep -cE "^process [0-9]+: sleep $seconds" out.log)" 1
		if pgrep -fx "sleep $seconds"; then fail "still runs"; fi
	done
	same "last line" "$(tail -n 1 out.log)" "2 passed, 1 failed, 0 skipped"
}

@test "passed, failed and skipped tests are counted; an unreported test has failed" {
	printf '@test "a" { true; }\n@test "b" { false; }\n@test "c" { skip "x is missing"; }\n' > some.bats
	if runs some.bats; then fail "no failure"; fi
	same "last line" "$(tail -n 1 out.log)" "1 passed, 1 failed, 1 skipped" || { cat out.log; false; }
	same "said again" "$(grep -c '^# not ok 2 b in ' out.log)" 1
	printf '@test "a" { true; }\n' > good.bats
	runs good.bats
	same "last line" "$(tail -n 1 out.log)" "1 passed, 0 failed, 0 skipped"
}

# A copy of the runner without the Makefile's drivers, in which the other lanes take what these tests make.
copied() {
	mkdir -p copy/tests machine unit
	cp "$root/tests/run" copy/tests/run
	printf '.PHONY: drivers\ndrivers:\n' > copy/Makefile
}

@test "the folder of a test file says its lane, and every folder that has one is there" {
	copied
	sed -n 's/^declare -A lane_of=(\(.*\))$/\1/p' "$root/tests/run" | grep -oE '\[[a-z]+\]=(compute|machines)' | tr -d '[]' > named
	[ "$(wc -l < named)" -ge 4 ]
	empty "twice" "$(cut -d= -f1 named | sort | uniq -d)"
	while IFS== read -r folder lane; do
		compgen -G "$root/tests/$folder/*.bats" >/dev/null || fail "no tests in $folder"
		mkdir -p "$folder"
		printf '@test "%s" { [[ $IOT_IMG_DIR = */%s && $(nice) -ge 10 ]]; }\n' "$folder" "$lane" > "$folder/one.bats"
	done < named
	mkdir trace
	printf '@test "a" { [[ $IOT_IMG_DIR = */first ]]; }\n' > trace/first.bats
	runs trace/first.bats */one.bats || { cat out.log; false; }
	same "last line" "$(tail -n 1 out.log)" "$(($(wc -l < named) + 1)) passed, 0 failed, 0 skipped"
}

@test "a test file is found by its name alone, and one that is nowhere is an error" {
	copied
	mkdir copy/tests/fs
	printf '@test "a" { true; }\n' > copy/tests/fs/some.bats
	for name in some some.bats tests/some.bats; do
		(alone copy/tests/run "$name") || { cat out.log; false; }
		same "last line of $name" "$(tail -n 1 out.log)" "1 passed, 0 failed, 0 skipped"
	done
	if runs none.bats; then fail "no failure: $(cat out.log)"; fi
	same "message" "$(cat out.log)" "tests/run: there is no test file none.bats"
}

@test "three lanes are one count; failures and leftovers of any lane are failures" {
	copied
	printf '@test "a" { sleep 3; }\n@test "b  of  two" { skip "x is missing"; }\n' > first.bats
	printf '@test "c  of  two" { true; }\n@test "d" { [ "$(nice)" -ge 10 ]; }\n' > unit/growth.bats
	printf '@test "h" { [ "$(nice)" -ge 10 ]; }\n' > machine/vm.bats
	root=$PWD/copy runs machine/vm.bats first.bats unit/growth.bats || { cat out.log; false; }
	same "last lines" "$(tail -n 2 out.log | paste -sd '/')" "1..5/4 passed, 0 failed, 1 skipped"
	same "numbers" "$(sed -nE 's/^(not )?ok ([0-9]+).*/\2/p' out.log | paste -sd ' ')" "1 2 3 4 5"
	same "lanes" "$(sed -nE 's/^# lane ([a-z]+): [0-9]+ s: (.*)$/\1 \2/p' out.log | sort | sed 's/ [0-9]*$//' | paste -sd ';')" \
		"compute unit/growth;first first;machines machine/vm"
	grep -q '^ok 3 c  of  two in ' out.log
	grep -q '^ok 5 h in ' out.log
	printf '@test "e" { false; }\n@test "f" { sleep 1019 >/dev/null 2>&1 3>&- & }\n@test "g" { kill -KILL $PPID; }\n' > unit/growth.bats
	if root=$PWD/copy runs first.bats unit/growth.bats; then fail "no failure: $(cat out.log)"; fi
	grep -q '^not ok 3 e ' out.log
	same "process" "$(grep -cE "^process [0-9]+: sleep 1019" out.log)" 1
	[[ $(tail -n 1 out.log) =~ ^[0-9]+\ passed,\ [1-9][0-9]*\ failed,\ 1\ skipped$ ]]
}

@test "who ends the runner ends all lanes" {
	copied
	printf '@test "a" { exec sleep 1021; }\n' > first.bats
	printf '@test "b" { timeout 1000 sleep 1031; }\n' > unit/growth.bats
	printf '@test "c" { sleep 1041; }\n' > machine/vm.bats
	mkdir images
	alone IOT_IMG_DIR="$PWD/images" copy/tests/run first.bats unit/growth.bats machine/vm.bats 3>&- &
	runner=$!
	for _ in $(seq 100); do
		[ "$(pgrep -fxc 'sleep 10[234]1')" = 3 ] && break
		sleep 0.2
	done
	same "asleep" "$(pgrep -fxc 'sleep 10[234]1')" 3
	kill -TERM "$runner"
	sleep 0.1
	kill -TERM "$runner" 2>/dev/null || : # as timeout does: to the child, and to its group
	status=0
	wait "$runner" || status=$?
	same "status" "$status" 143
	empty "still asleep" "$(pgrep -fx 'sleep 10[234]1')"
	empty "left behind" "$(ls images)"
}

@test "the clock of a test that ended before it began is nobody's" {
	copied
	printf '@test "a" { sleep 901 >/dev/null 2>&1 3>&- & }\n' > first.bats
	root=$PWD/copy runs first.bats || { cat out.log; false; }
	same "last line" "$(tail -n 1 out.log)" "1 passed, 0 failed, 0 skipped"
}
