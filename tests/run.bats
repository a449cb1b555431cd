# SPDX-License-Identifier: GPL-3.0-only
# run.bats - the runner of the tests: it ends, it counts, and it tells what a test left behind.

load helper

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR"
}

# The runner on its own, with nothing of the run that this test belongs to.
runs() { env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$HOME" timeout 300 "$root/tests/run" "$@" > out.log 2>&1; }

@test "a process that a test left behind is named, ended and a failure, also when it holds the runner's output" {
	printf '@test "holds it" { sleep 1009 & }\n@test "does not" { sleep 1013 >/dev/null 2>&1 3>&- & }\n' > left.bats
	if runs left.bats; then fail "no failure: $(cat out.log)"; fi
	for seconds in 1009 1013; do
		same "process" "$(grep -cE "^process [0-9]+: sleep $seconds" out.log)" 1
		if pgrep -fx "sleep $seconds"; then fail "still runs"; fi
	done
	same "last line" "$(tail -n 1 out.log)" "2 passed, 1 failed, 0 skipped"
}

@test "passed, failed and skipped tests are counted; a test that never reported has failed" {
	printf '@test "a" { true; }\n@test "b" { false; }\n@test "c" { skip "x is missing"; }\n' > some.bats
	if runs some.bats; then fail "no failure"; fi
	same "last line" "$(tail -n 1 out.log)" "1 passed, 1 failed, 1 skipped"
	printf '@test "a" { true; }\n' > good.bats
	runs good.bats
	same "last line" "$(tail -n 1 out.log)" "1 passed, 0 failed, 0 skipped"
}
