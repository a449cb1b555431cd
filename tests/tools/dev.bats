# SPDX-License-Identifier: GPL-3.0-only
# dev.bats - `make dev` finds the tests that a change touches.

load ../lib/helper

# A clone of its own with one commit, in which files may change.
cloned() {
	need git git
	mkdir "$BATS_TEST_TMPDIR/clone"
	cd "$BATS_TEST_TMPDIR/clone"
	git init -q
	cp -r "$root/tests" .
	mkdir -p tracer/platform analyzer bpf/fs
	echo >tracer/platform/settle.c; echo >analyzer/x.c; echo >bpf/fs/xfs.h; echo >README.md
	git add -A
	git -c user.name=a -c user.email=a@b commit -qm first
	git branch -f -m main
}

touched() { same "tests of $1" "$(tests/tools/dev -n | paste -sd ' ')" "$2"; } # WHAT WANTED

@test "every row of the table names tests that are there" {
	cd "$BATS_TEST_TMPDIR"
	grep -vE '^(#|$)' "$root/tests/tools/touched.txt" >rows || fail "no rows"
	[ "$(wc -l <rows)" -gt 30 ]
	while read -r pattern tests; do
		for one in $tests; do
			file=$root/tests/${one%%:*}.bats
			[ -e "$file" ] || fail "$pattern: there is no $one"
			[ "${one#*:}" = "$one" ] || grep -qF -- "$(tr _ ' ' <<<"${one#*:}")" <(grep '^@test ' "$file") || fail "$pattern: no test has the name $one"
		done
	done <rows
}

@test "a change of one source runs its own tests and those of its folder" {
	cloned
	empty "nothing changed" "$(tests/tools/dev -n | grep -v 'nothing differs' || :)"
	echo x >>tracer/platform/settle.c
	touched "a source with tests of its name" "trace/settle tools/style trace/ready trace/trace_cli trace/scenarios:dd_of_10_MiB trace/trace_run"
	git checkout -q .
	echo x >>tests/fs/xfs-log.py
	touched "a program of tests" "fs/xfs tools/dev tools/style"
	git checkout -q .
	echo x >>tests/trace/io.bats
	touched "a test file" "trace/io tools/style"
	git checkout -q .
	touch analyzer/new.c
	[[ $(tests/tools/dev -n) = *analyze/analyze* ]]
}

@test "commits of a branch count as well as what is not yet committed" {
	cloned
	git checkout -q -b work
	echo x >>README.md
	git -c user.name=a -c user.email=a@b commit -qam second
	touched "the branch" "tools/style trace/readme"
	touch bpf/fs/xfs.h
	echo x >>bpf/fs/xfs.h
	[[ $(tests/tools/dev -n | paste -sd ' ') = *"fs/xfs:53_writes"*"trace/readme"* ]]
	same "since HEAD" "$(tests/tools/dev -n HEAD | grep -c readme || :)" 0
}
