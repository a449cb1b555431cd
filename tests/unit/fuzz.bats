# SPDX-License-Identifier: GPL-3.0-only
# fuzz.bats - damaged input: records, rules, patterns, ledgers, options, stores, reports. `make fuzz` does the same for longer.

load ../lib/helper

@test "damaged input crashes nobody, and both scanners read the same (9 s; IOT_FUZZ)" {
	need clang clang
	need python3 python3-minimal
	echo 'int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n) { return 0; }' > "$BATS_TEST_TMPDIR/try.c"
	cd "$BATS_TEST_TMPDIR"
	clang -fsanitize=fuzzer try.c -o try 2> try.log || skip "libFuzzer is missing: install the Debian package libclang-rt-dev"
	IOT_FUZZ=${IOT_FUZZ:-9} make -s -j 2 -C "$root" B="$(realpath -m --relative-to="$root" "$IOT_BUILD")" fuzz > "$BATS_TEST_TMPDIR/fuzz.log" 2>&1 || fail "$(cat "$BATS_TEST_TMPDIR/fuzz.log")"
	tail -n 1 "$BATS_TEST_TMPDIR/fuzz.log" >&3
}
