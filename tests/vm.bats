# SPDX-License-Identifier: GPL-3.0-only
# vm.bats - the same scenarios under other kernels, where file systems are modules; and that the guest runner is honest.

load helper

setup() {
	need_root
	need qemu-system-x86_64 qemu-system-x86
	need busybox busybox-static
	need cpio cpio
	cd "$root"
}

# Skips when the kernel cannot be downloaded, which is not the fault of what is tested.
kernel() { # SERIES
	"$root/tests/vm/fetch" "$1" >/dev/null || skip "kernel $1 is missing: no download"
}

scenarios() { # SERIES
	kernel "$1"
	"$root/tests/vm/run" -t 1500 -m 2G -s 2 "$1" -- env IOT_IMG_DIR=/dev/shm bats --formatter tap --filter '^guest:' tests/scenarios.bats tests/net.bats tests/defects.bats
}

volumes() { # SERIES
	kernel "$1"
	"$root/tests/vm/run" -t 1500 -m 2G -s 2 "$1" -- env IOT_IMG_DIR=/dev/shm bats --formatter tap --filter "^guest${IOT_ALL_VMS:+(, long)?}:" \
		tests/stacks.bats tests/disks.bats
}

not_each_time() {
	[ -n "${IOT_ALL_VMS-}" ] || skip "IOT_ALL_VMS=1 is missing: this kernel is not run each time"
}

@test "a guest runs the kernel that was asked for and hands back output and exit status" {
	kernel 6.1
	run tests/vm/run 6.1 -- sh -c 'uname -r; echo "a  b"; exit 42'
	[[ $status = 42 && ${lines[0]} = 6.1.* && ${lines[1]} = "a  b" ]]
}

@test "a guest that panics and a guest that hangs have exit status 125" {
	kernel 6.1
	run tests/vm/run 6.1 -- sh -c 'echo c > /proc/sysrq-trigger'
	same "panic" "$status" 125
	run tests/vm/run -t 15 6.1 -- sleep 600
	same "hang" "$status" 125
}

@test "the scenarios hold under 6.1, where ext4 is a module" {
	scenarios 6.1
}

@test "what is on dm, md and partitions holds under 6.1" {
	not_each_time
	volumes 6.1
}

@test "what is on dm, md and partitions holds under 6.12" {
	volumes 6.12
}

@test "a container on overlayfs on dm-crypt is measured as plain ext4 under 6.12" {
	not_each_time
	kernel 6.12
	"$root/tests/vm/run" -t 1500 -m 2G -s 2 6.12 -- env IOT_IMG_DIR=/dev/shm bats --formatter tap --filter '^guest:' tests/container.bats
}

@test "what is on dm, md and partitions holds under 7.2" {
	not_each_time
	volumes 7.2
}

@test "the scenarios hold under 6.12" {
	not_each_time
	scenarios 6.12
}

@test "the scenarios hold under 6.17" {
	not_each_time
	scenarios 6.17
}

@test "the scenarios hold under 7.2" {
	not_each_time
	scenarios 7.2
}

@test "calls and devices are exact under 5.10, and the rest is n/a" {
	not_each_time
	kernel 5.10
	"$root/tests/vm/run" -t 900 -m 2G -s 2 5.10 -- env IOT_IMG_DIR=/dev/shm bats --formatter tap --filter '^guest:' tests/reduced.bats
}
