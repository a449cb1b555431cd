# SPDX-License-Identifier: GPL-3.0-only
# blocks.bats - block devices of a guest: NVMe with several queues and paths, md, bcache, zram, swap. One boot for all tests: blocks.sh has
# the work, whose bytes are known, and the kernel's counters after each part of it.

load ../lib/helper

setup_file() {
	[ -z "${IOT_ALL_VMS-}" ] || boot
}

setup() {
	[ -n "${IOT_ALL_VMS-}" ] || skip "IOT_ALL_VMS=1 is missing: this guest is not run each time"
	need_root
	need sqlite3 sqlite3
	cd "$BATS_FILE_TMPDIR"
	[ ! -e reason ] || skip "$(<reason)"
	store=$BATS_FILE_TMPDIR/out/run.sqlite
	[ -s "$store" ] || fail "$(cat said)"
}

# Leaves the store and the ledger in out/, or the reason why there are none.
boot() {
	local one

	cd "$BATS_FILE_TMPDIR"
	for one in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio mdadm:mdadm make-bcache:bcache-tools; do
		command -v "${one%:*}" >/dev/null || { echo "${one%:*} is missing: install the Debian package ${one#*:}" >reason; return; }
	done
	"$root/tests/vm/fetch" 6.1 >/dev/null || { echo "kernel 6.1 is missing: no download" >reason; return; }
	truncate -s 2G disk
	truncate -s 64M paths
	VM_QEMU="-drive file=$PWD/disk,if=none,id=q,format=raw,cache=unsafe -device nvme,serial=queues,drive=q,max_ioqpairs=4
		-drive file=$PWD/paths,if=none,id=p,format=raw,cache=unsafe -device nvme-subsys,id=s,nqn=s
		-device nvme,id=c0,serial=paths,subsys=s -device nvme,id=c1,serial=paths,subsys=s -device nvme-ns,drive=p,bus=c0,shared=on,nsid=1" \
		"$root/tests/vm/run" -s 2 -t 900 -o out 6.1 -- "$root/tests/machine/blocks.sh" "$trace" >said 2>&1 || echo "status $?" >>said
	rm -f disk paths
}

# Bytes by which a counter rose between two parts of the work.
grew() { # PART-BEFORE PART DEVICE read|written
	awk -v from="$1" -v to="$2" -v dev="$3" -v what="$4" '
		{ n = what == "read" ? $3 : $4 }
		$2 == dev && $1 == from { a = n }
		$2 == dev && $1 == to { b = n }
		END { printf "%.0f\n", b - a }' out/ledger
}

# Bytes of a process on devices with requests.
wrote() { total bytes "kind = 'block_write' AND comm = '$1'"; }
has_read() { total bytes "kind = 'block_read' AND comm = '$1'"; }
submitted() { total bytes "kind = 'fs_write' AND comm = '$1'"; }

@test "NVMe, two queues: each writer's bytes are its own, and the disk's counter agrees" {
	between "queues" "$(wc -w <out/queues)" 2 64
	same "the first" "$(submitted q0),$(wrote q0)" 7340032,7340032
	same "the second" "$(submitted q1),$(wrote q1)" 5242880,5242880
	same "the counter" "$(grew begin queues nvme0n1 written)" $((7340032 + 5242880))
	"$analyze" verify "$store" --format csv >verify.csv || :
	empty "verify" "$(grep ,MISMATCH, verify.csv)"
	same "disk" "$(grep -cE '^device bytes (read|written),nvme0n1,.*,OK,' verify.csv)" 2
	nothing_lost
}

@test "md 0, 1, 5 and 10: P is 1, 2, 1.5 and 2 times B, of who wrote" {
	same "raid0" "$(submitted r0),$(wrote r0)" 4194304,4194304
	same "raid1" "$(submitted r1),$(wrote r1)" 4194304,8388608
	same "raid5" "$(submitted r5),$(wrote r5)" 4194304,6291456
	same "its parity" "$(total bytes "kind = 'block_write' AND comm = 'r5' AND sub = 'parity'")" 2097152
	same "raid10, data" "$(total bytes "kind = 'fs_write' AND comm = 'r10' AND cause = 'data'"),$(total bytes "kind = 'block_write' AND comm = 'r10' AND cause = 'data'")" 4194304,8388608
	same "raid10, all" "$(wrote r10)" $((2 * $(submitted r10)))
	# md writes its superblocks, 512 or 1024 bytes each, of nobody
	between "the counter" "$(grew queues arrays nvme0n1 written)" $((4194304 + 8388608 + 6291456 + 8388608)) $((4194304 + 8388608 + 6291456 + 8388608 + 131072))
	"$analyze" stack "$store" --table levels --format csv >levels.csv
	same "a level on partitions" "$(grep -c '^0,md90 (raid0),"nvme0n1p1, nvme0n1p2",,4194304,n/a,n/a,.*,bytes of partitions are counted with their disk' levels.csv)" 1
}

@test "bcache: what it writes through, keeps and reads is of who asked" {
	same "type" "$(sql "SELECT type FROM device WHERE name = 'bcache0'")" bcache
	same "submitted" "$(submitted through),$(submitted back)" 4194304,4194304
	between "written through, and to the cache" "$(wrote through)" 4194304 8388608
	same "behind" "$(grew arrays through nvme0n1p10 written)" 4194304
	same "kept" "$(wrote back)" 4194304
	same "missed" "$(has_read miss)" 1048576
	same "hit" "$(has_read hit)" 1048576
	same "the counters" "$(($(grew clean reads nvme0n1p10 read) + $(grew clean reads nvme0n1p11 read)))" 2097152
	same "written back later, of nobody" "$(total bytes "kind = 'block_write' AND owner = 0 AND cause = 'unknown'")" 4194304
	between "behind" "$(grew through clean nvme0n1p10 written)" 4194304 $((4194304 + 65536)) # with superblocks
}

@test "NVMe with two paths: submitted once; completed on a path, of its writer" {
	same "submitted" "$(submitted paths)" 8388608
	same "completed" "$(wrote paths)" 8388608
}

@test "zram has no requests: its bytes are submitted, in no total of devices" {
	same "submitted" "$(submitted ram)" 4194304
	same "completed" "$(wrote ram)" 0
	same "the counter" "$(grew reads ram zram0 written)" 4194304
}

@test "swap: out is of who filled the memory, in of who touched it; counters agree" {
	local parent child status

	read -r parent child status <out/pids
	same "status" "$status" 0
	same "out, of eater" "$(wrote eater)" "$(grew ram swap nvme0n1p12 written)"
	same "in, of eater" "$(has_read eater)" "$(grew ram swap nvme0n1p12 read)"
	same "of nobody" "$(total bytes "cause = 'swap' AND owner = 0")" 0
	between "out, of the parent" "$(total bytes "kind = 'block_write' AND pid = $parent")" 8388608 200000000
	between "out, of the child" "$(total bytes "kind = 'block_write' AND pid = $child")" 0 1048576
	between "in, for the child" "$(total bytes "kind = 'block_read' AND pid = $child")" 8388608 200000000
	same "in, for a call" "$(total bytes "kind = 'block_read' AND cause = 'swap' AND sub <> 'for_fault'")" 0
}
