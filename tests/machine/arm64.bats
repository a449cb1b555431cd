# SPDX-License-Identifier: GPL-3.0-only
# arm64.bats - another architecture: one header names the processor's registers, and dd's scenario holds on an emulated machine with
# Debian's kernel. That machine, and the compiler for it, only with IOT_ARM64=1: two minutes, and some packages are installed.

load ../lib/helper

setup() {
	cd "$root"
	store=$BATS_TEST_TMPDIR/run.sqlite
}

@test "registers, and numbers of 32-bit calls, are named in bpf/core/arch.h alone" {
	empty "names" "$(git grep -nEw 'orig_ax|orig_x0|syscallno|user_regs|TS_COMPAT|TIF_32BIT|thread_info|r->(di|si|dx|r10|r8|r9|ax)' -- bpf ':!bpf/core/arch.h')"
}

@test "the kernel side compiles for arm64" {
	need clang clang
	for file in object/calls object/pages reduced/reduced_calls reduced/reduced_block; do
		clang -std=gnu11 -O2 -target bpf -mcpu=v3 -D__IOT_KERNEL__ -D__TARGET_ARCH_arm64 -Wall -Werror -Wno-unused-function -Ibpf \
			$(printf -- '-I%s ' bpf/*/) -I"/usr/include/$(cc -dumpmachine)" -fsyntax-only "bpf/$file.bpf.c"
	done
}

@test "arm64: dd of 10 MiB is 10485760 bytes at every layer, counters agree" {
	local out=$BATS_TEST_TMPDIR/out

	[ -n "${IOT_ARM64-}" ] || skip "IOT_ARM64=1 is missing: this machine is not run each time"
	need_root
	need sqlite3 sqlite3
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends qemu-system-arm gcc-aarch64-linux-gnu libc6-dev-arm64-cross >&2
	tests/vm/arm64 build >&2
	cat > "$BATS_TEST_TMPDIR/script" <<-'SCRIPT'
		set -e
		iot-trace --probes > probes.txt
		iot-trace -o run.sqlite -- dd if=/dev/zero of=/mnt/f bs=1M count=10 conv=fsync 2> /dev/null
		iot-analyze verify run.sqlite > verify.txt
		iot-trace -o run.sqlite -- iot-io --api pwrite --file /mnt/g --size 4096 --count 23 --direct --sync fsync > ledger
		iot-analyze verify run.sqlite > verify2.txt
	SCRIPT
	tests/vm/arm64 run "$BATS_TEST_TMPDIR/script" "$out" || fail "$(cat "$out/log" "$out/verify.txt")"
	cp "$out/run.sqlite" "$store"
	grep -q '^tier  *full$' "$out/probes.txt" || fail "$(cat "$out/probes.txt")"
	grep -qE 'device bytes written +vda .* OK ' "$out/verify.txt" || fail "$(cat "$out/verify.txt")"
	run_no=1
	same "dd's S" "$(total bytes "layer = 'syscall' AND dir = 'w' AND sub = 'regular' AND comm = 'dd'")" 10485760
	same "dd's data" "$(total bytes "kind = 'block_write' AND cause = 'data' AND comm = 'dd'")" 10485760
	same "bytes of nobody's" "$(total bytes "kind = 'block_write' AND owner = 0")" 0
	run_no=2
	same "iot-io's S" "$(total bytes "kind = 'pwrite64' AND comm = 'iot-io'")" 94208
	same "iot-io's direct data" "$(total bytes "kind = 'block_write' AND cause = 'direct' AND comm = 'iot-io'")" 94208
	same "bytes of nobody's" "$(total bytes "kind = 'block_write' AND owner = 0")" 0
	empty "lost" "$(q "SELECT layer, what, n FROM lost WHERE n > 0")"
}
