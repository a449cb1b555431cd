#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# blocks.sh - in a guest with an NVMe disk of several queues and one of two paths: arrays, bcache, zram and swap on
# their partitions, one traced run on all of them, and the kernel's counters after each part of it.
#
# usage: blocks.sh IOT-TRACE      leaves run.sqlite, ledger ("PART DEVICE READ WRITTEN", in bytes), queues, pids in $VM_OUT
set -eu

trace=$1
disk=/dev/nvme0n1
export disk

part() { echo "${disk}p$1"; }

# The disk with twelve partitions is the one of 2 GiB.
find_disks() {
	[ "$(</sys/block/nvme0n1/size)" = 4194304 ] || { echo "nvme0n1 is not the disk" >&2; return 1; }
	ls /sys/block/nvme0n1/mq >"$VM_OUT/queues"
	for i in {1..12}; do addpart $disk "$i" $((2048 + (i - 1) * 98304)) 96256; done
}

array() { # NUMBER LEVEL PARTITION...
	local number=$1 level=$2 options=()

	shift 2
	[ "$level" = 1 ] || options+=(--chunk=64)
	[ "$level" = 0 ] || options+=(--assume-clean)
	mdadm --quiet --create "/dev/md$number" --run --metadata=1.2 --level="$level" "${options[@]}" --raid-devices=$# "$@"
}

cache_up() { # BACKING CACHE
	make-bcache -B "$1" -C "$2" --block 4k --bucket 32k >/dev/null
	echo "$1" >/sys/fs/bcache/register
	echo "$2" >/sys/fs/bcache/register
	for _ in {1..100}; do [ ! -e "/sys/block/bcache0/slaves/${2#/dev/}" ] || break; sleep 0.1; done
	echo 0 >/sys/block/bcache0/bcache/sequential_cutoff
	echo 0 >"/sys/block/bcache0/bcache/cache/congested_read_threshold_us"
	echo 0 >"/sys/block/bcache0/bcache/cache/congested_write_threshold_us"
}

swap_up() {
	echo 64M >/sys/block/zram0/disksize
	echo 8M >/sys/block/zram1/disksize
	mkswap /dev/zram1 >/dev/null
	mkswap "$(part 12)" >/dev/null
	swapon -p 10 /dev/zram1
	swapon -p 5 "$(part 12)"
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir /sys/fs/cgroup/small
	echo 24M >/sys/fs/cgroup/small/memory.max
}

write_work() {
	for name in q0 q1 r0 r1 r5 r10 through back miss hit paths ram; do cp "$(command -v dd)" $name; done
	cp "$(python3 -c 'import sys; print(sys.executable)')" eater
	cat >eat.py <<-'P'
		import os
		size = 40 << 20
		old = bytearray(size)
		for at in range(0, size, 1 << 20): old[at:at + (1 << 20)] = os.urandom(1 << 20)
		child = os.fork()
		if child == 0: # reads what its parent has filled
		    os._exit(0 if sum(old[at] for at in range(0, size, 4096)) > 0 else 1)
		print(os.getpid(), child, os.waitpid(child, 0)[1], flush=True)
	P
	cat >work.sh <<-'W'
		set -eu
		count() { # PART
		    (cd /sys/block
		    for d in */ nvme0n1/nvme0n1p*/; do
		        read -r _ _ read _ _ _ written _ <"$d/stat"
		        d=${d%/}
		        echo "$1 ${d##*/} $((read * 512)) $((written * 512))"
		    done) >>ledger
		}
		begins() { count begin; }
		begins
		taskset 1 ./q0 if=/dev/zero of=$disk seek=1160 bs=1M count=7 oflag=direct status=none &
		taskset 2 ./q1 if=/dev/zero of=$disk seek=1170 bs=1M count=5 oflag=direct status=none
		wait
		count queues
		for n in 0 1 5; do ./r$n if=/dev/zero of=/dev/md9$n bs=256k count=16 oflag=direct status=none; done
		./r10 if=/dev/zero of=m10/f bs=256k count=16 conv=fsync status=none
		count arrays
		./through if=/dev/zero of=/dev/bcache0 bs=256k count=16 oflag=direct status=none
		count through
		echo writeback >/sys/block/bcache0/bcache/cache_mode
		./back if=/dev/zero of=/dev/bcache0 seek=64 bs=256k count=16 oflag=direct status=none
		count back
		echo 0 >/sys/block/bcache0/bcache/writeback_percent
		for i in {1..60}; do [ "$(</sys/block/bcache0/bcache/state)" != clean ] || break; sleep 0.5; done
		count clean
		./miss if=/dev/bcache0 of=/dev/null skip=128 bs=256k count=4 iflag=direct status=none
		sleep 1
		./hit if=/dev/bcache0 of=/dev/null skip=128 bs=256k count=4 iflag=direct status=none
		count reads
		./paths if=/dev/zero of=/dev/nvme1n1 bs=1M count=8 oflag=direct status=none
		./ram if=/dev/zero of=/dev/zram0 bs=256k count=16 oflag=direct status=none
		count ram
		sh -c 'echo $$ >/sys/fs/cgroup/small/cgroup.procs; exec ./eater eat.py' >pids
		count swap
	W
}

cd "$(mktemp -d)"
modprobe -a nvme raid0 raid1 raid10 raid456 bcache
modprobe zram num_devices=2
find_disks
array 90 0 "$(part 1)" "$(part 2)"
array 91 1 "$(part 3)" "$(part 4)"
array 95 5 "$(part 5)" "$(part 6)" "$(part 7)"
array 99 10 "$(part 8)" "$(part 9)"
cache_up "$(part 10)" "$(part 11)"
swap_up
write_work
mkdir m10
mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 /dev/md99
mount -o noatime /dev/md99 m10
sync
sleep 6 # what ext4 and md have to write after that
sync
"$trace" -q --no-events -o run.sqlite -- bash work.sh
cp run.sqlite ledger pids "$VM_OUT/"
