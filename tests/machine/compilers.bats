# SPDX-License-Identifier: GPL-3.0-only
# compilers.bats - the kernel side of other compilers: the verifier accepts each program, and the numbers are the same.
#
# Each time: a second compiler, on the running kernel; with IOT_LONG=1 its bytes on XFS and btrfs too. IOT_COMPILERS=all: all that are installed, and whole files of tests with each;
# tests/tools/check-compilers has the other kernels.

load ../lib/helper

setup() {
	need_tracer
	need mkfs.xfs xfsprogs
	need mkfs.btrfs btrfs-progs
	mapfile -t others < <(for one in clang-19 clang-17 clang-16 clang-15 clang-14; do
		! command -v "$one" >/dev/null || [ "$("$one" -dumpversion)" = "$(clang -dumpversion)" ] || echo "$one"
	done)
	[ "${#others[@]}" -gt 0 ] || skip "a second compiler is missing: install the Debian package clang-19 (on Debian 13 clang-17)"
	[ "${IOT_COMPILERS-}" = all ] || others=("${others[0]}")
}

@test "the running kernel accepts every program of a second compiler" {
	need_plain "$trace" "the objects of other compilers are linked to one"
	IOT_KERNELS=running run "$root/tests/tools/check-compilers" "${others[@]}"
	same "status" "$status" 0
	for one in "${others[@]}"; do
		grep -qE "^[0-9.]+ +$one +[0-9]+ +0 " <<<"$output" || fail "$output"
	done
}

@test "a second compiler's programs count the same bytes on ext4 (IOT_LONG: XFS, btrfs)" {
	need_plain "$trace" "the objects of other compilers are linked to one"
	for one in "${others[@]}"; do
		make --no-print-directory -s -C "$root" B="$(realpath --relative-to="$root" "$IOT_BUILD")" \
			"$(realpath --relative-to="$root" "$IOT_BUILD")/$one/iot-trace"
		mkdir "$BATS_TEST_TMPDIR/$one"
		ln -s "$IOT_BUILD"/* "$BATS_TEST_TMPDIR/$one"
		ln -sfn "$IOT_BUILD/$one/iot-trace" "$BATS_TEST_TMPDIR/$one/iot-trace"
		if [ "${IOT_COMPILERS-}" = all ]; then
			only=. files=("$root"/tests/{trace/{scenarios,async,net},fs/{xfs,btrfs,fio}}.bats)
		else
			only='^(guest: dd of 10 MiB|101 overwrites of 4 KiB|every writing call, 23 times 4099|stores into a mapping|guest: XFS: 53 writes|guest: btrfs: 53)'
			files=("$root"/tests/{trace/scenarios,fs/{xfs,btrfs}}.bats)
			long || files=("$root/tests/trace/scenarios.bats")
		fi
		env -u BATS_TEST_NAME IOT_BUILD="$BATS_TEST_TMPDIR/$one" bats --filter "$only" "${files[@]}" || fail "$one"
	done
}
