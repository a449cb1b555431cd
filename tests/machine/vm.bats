# SPDX-License-Identifier: GPL-3.0-only
# vm.bats - the scenarios under other kernels, where file systems are modules, and the guest runner itself.

load ../lib/helper

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

# Tests in a guest. What they say is kept in the folder IOT_VM_SAID, for tests/tools/check-vm.
guest() { # SERIES SECONDS FILTER FILE...
	local series=$1 seconds=$2 filter=$3 status=0 said=${IOT_VM_SAID:-$BATS_TEST_TMPDIR}/$1.tap

	kernel "$series"
	shift 3
	"$root/tests/vm/run" -t "$seconds" -m 2G -s 2 "$series" -- env IOT_IMG_DIR=/dev/shm bats --formatter tap --filter "$filter" "$@" \
		>> "$said" 2> "$BATS_TEST_TMPDIR/errors" || status=$?
	cat "$said" "$BATS_TEST_TMPDIR/errors"
	return "$status"
}

scenarios() { # SERIES
	guest "$1" 1500 '^guest:' tests/trace/scenarios.bats tests/trace/net.bats tests/trace/defects.bats tests/trace/packs.bats
}

# Each time a volume, an array and a disk that fails; with IOT_ALL_VMS all of them.
volumes() { # SERIES
	local some='^guest: (two writers of alternate pages|16 MiB on a mirror|a disk that fails:)'

	same "tests of those names" "$(grep -hE "^@test \"${some#^}" tests/fs/stacks.bats tests/fs/disks.bats | wc -l)" 3
	[ -z "${IOT_ALL_VMS-}" ] || some='^guest(, long)?:'
	guest "$1" 1500 "$some" tests/fs/stacks.bats tests/fs/disks.bats tests/trace/groups.bats
}

file_systems() { # SERIES
	guest "$1" 1700 '^guest:' tests/fs/xfs.bats tests/fs/btrfs.bats tests/fs/mixed.bats tests/fs/folios.bats tests/model/random.bats
}

@test "check-vm runs every test of this file: a kernel in its name, or 'a guest'" {
	empty "no part of check-vm" "$(sed -n 's/^@test "\(.*\)" {$/\1/p' tests/machine/vm.bats | grep -vE "under [0-9]+\.[0-9]+( |,|$)|^a guest|^check-vm")"
}

not_each_time() {
	[ -n "${IOT_ALL_VMS-}" ] || skip "IOT_ALL_VMS=1 is missing: this kernel is not run each time"
}

# A command in a guest whose output and status several tests look at: it boots once for them. Sets status and output.
once() { # NAME SECONDS CPUS SERIES COMMAND...
	local kept=$BATS_FILE_TMPDIR/$1

	if [ ! -e "$kept.status" ]; then
		run tests/vm/run -t "$2" -m 2G -s "$3" "$4" -- "${@:5}"
		echo "$output" >"$kept"
		echo "$status" >"$kept.status"
	fi
	output=$(<"$kept") status=$(<"$kept.status")
}

clock_and_status() { # in a guest whose status is 42
	# shellcheck disable=SC2016 # the guest's shell
	once small 300 1 6.1 sh -c 'uname -r; echo "a  b"; cat /proc/cmdline; dmesg | grep "tsc: "; exit 42'
}

@test "a guest runs the kernel that was asked for and hands back output and exit status" {
	kernel 6.1
	clock_and_status
	mapfile -t lines <<<"$output"
	[[ $status = 42 && ${lines[0]} = 6.1.* && ${lines[1]} = "a  b" ]]
}

near_the_clock() { # WHAT MHZ
	[ -s "$BATS_TEST_TMPDIR/khz" ] || { cc -O2 -o "$BATS_TEST_TMPDIR/tsc" "$root/tests/vm/tsc.c" && "$BATS_TEST_TMPDIR/tsc" >"$BATS_TEST_TMPDIR/khz"; }
	between "$1, in MHz" "$2" "$(awk '{ print $1 / 1000 * 0.999 }' "$BATS_TEST_TMPDIR/khz")" "$(awk '{ print $1 / 1000 * 1.001 }' "$BATS_TEST_TMPDIR/khz")"
}

# A kernel that measures its clock while it boots took every second for many where the emulator had to wait, and complained of what hung for so long.
@test "a guest is told how fast its clock goes" {
	kernel 6.1
	grep -q '^flags.* constant_tsc' /proc/cpuinfo || skip "a time stamp counter of one frequency is missing"
	clock_and_status
	same "status" "$status" 42
	near_the_clock "told" "$(sed -n 's/.* tsc_early_khz=\([0-9]*\).*/\1/p' <<<"$output" | awk '{ print $1 / 1000 }')"
	empty "measured" "$(grep -E 'calibrate against|using .* reference' <<<"$output")"
	near_the_clock "used" "$(sed -n 's/.*tsc: Detected \([0-9.]*\) MHz.*/\1/p' <<<"$output")"
}

@test "a guest that panics and a guest that hangs have exit status 125" {
	kernel 6.1
	run tests/vm/run 6.1 -- sh -c 'echo c > /proc/sysrq-trigger'
	same "panic" "$status" 125
	run tests/vm/run -t 15 6.1 -- sleep 600
	same "hang" "$status" 125
}

# Two tests look at what is run each time under 6.1: one run of the tracer on all three file systems.
one_run() {
	kernel 6.1
	need mkfs.xfs xfsprogs
	need mkfs.btrfs btrfs-progs
	once one_run 900 2 6.1 env IOT_IMG_DIR=/dev/shm bats --formatter tap --filter '^guest: one run on ext4, XFS and btrfs' tests/fs/mixed.bats
	[ "$status" = 0 ] || fail "status $status: $output"
	empty "skipped" "$(grep -E '^ok .*# skip' <<<"$output" || :)"
}

@test "the scenarios hold under 6.1, where ext4 is a module; IOT_ALL_VMS: all of them" {
	[ -z "${IOT_ALL_VMS-}" ] || { scenarios 6.1; return; }
	one_run
	same "tests that passed" "$(grep -cE '^ok [0-9]+ guest: one run on ext4, XFS and btrfs' <<<"$output")" 1
}

# Those that the kernel lacks have another of the same work, which it has.
loaded() { # SERIES
	kernel "$1"
	need mkfs.xfs xfsprogs
	need mkfs.btrfs btrfs-progs
	# shellcheck disable=SC2016 # the guest's shell expands them
	run tests/vm/run -t 600 "$1" -- bash -ec '
		for fs in ext4 xfs btrfs; do
			truncate -s 512M "/dev/shm/$fs"
			"mkfs.$fs" -q "/dev/shm/$fs" >&2
			mkdir "/tmp/$fs"
			mount -t "$fs" -o loop "/dev/shm/$fs" "/tmp/$fs"
		done
		"$0" --probes' "$trace"
	same "status" "$status" 0
	empty "refused" "$(grep -E 'failed to load|of this type' <<<"$output" || :)"
	grep -q '^tier  *full$' <<<"$output"
	grep -q '^fs .* ext4__mark .* yes' <<<"$output"
	grep -q '^fs .* btrfs__copy .* yes' <<<"$output"
	grep -q '^fs .* xfs__commit .* yes' <<<"$output"
}

@test "under 7.2 all programs of ext4, XFS and btrfs, modules there, are loaded" {
	not_each_time
	loaded 7.2
}

@test "all programs of ext4, XFS and btrfs are loaded under 6.1" {
	[ -z "${IOT_ALL_VMS-}" ] || { loaded 6.1; return; }
	one_run
	same "programs" "$(grep -c '^# of ext4, XFS and btrfs: [1-9][0-9]* programs, none refused$' <<<"$output")" 1
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
	guest 6.12 1500 '^guest:' tests/trace/container.bats
}

# The guest has no network: the package is downloaded before, from where this machine has its own.
@test "apt-get install of 57 MB on XFS on LVM is apt's and dpkg's under 6.12" {
	not_each_time
	need lvcreate lvm2
	need apt-get apt
	export IOT_DEBS=$BATS_TEST_TMPDIR/debs
	mkdir "$IOT_DEBS"
	(cd "$IOT_DEBS" && apt-get -qq -o APT::Sandbox::User=root download fonts-noto-cjk) || skip "the package fonts-noto-cjk is missing: no download"
	guest 6.12 1500 '^guest, apt:' tests/machine/packages.bats
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

@test "XFS and btrfs, modules, and the mixed load hold under 6.1" {
	not_each_time
	file_systems 6.1
}

@test "XFS and btrfs, modules, and the mixed load hold under 6.12" {
	not_each_time
	file_systems 6.12
}

@test "XFS and btrfs, modules, and the mixed load hold under 6.17" {
	not_each_time
	file_systems 6.17
}

@test "XFS and btrfs, modules, and the mixed load hold under 7.2" {
	not_each_time
	file_systems 7.2
}

@test "calls and devices are exact under 5.10, and the rest is n/a" {
	not_each_time
	guest 5.10 900 '^guest:' tests/trace/reduced.bats
}
