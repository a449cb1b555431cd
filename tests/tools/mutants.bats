# SPDX-License-Identifier: GPL-3.0-only
# mutants.bats - two of the faults that `make check-mutants` plants, so that the planting works when it is needed.

load ../lib/helper

@test "faults that are planted are caught by the tests that name them" {
	need_root
	cd "$BATS_TEST_TMPDIR"
	"$root/tests/tools/mutants" quick >log 2>&1 || fail "$(cat log)"
	tail -n 1 log | sed 's/^/# /' >&3
}

@test "each fault can still be planted: its edit changes a line" {
	cd "$BATS_TEST_TMPDIR"
	while read -r word rest; do
		case $word in
		file) files=$rest ;;
		edit)
			for file in "$root"/$files; do sed "$rest" "$file" | diff "$file" - || :; done >changes
			[ -s changes ] || fail "nothing of $files is changed by $rest"
			;;
		esac
	done <"$root/tests/tools/mutants.txt"
}
