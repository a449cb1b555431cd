#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# dev_filter.bats - --dev takes all that belongs to one disk: its requests, and the calls, pages and syncs of files that are on it,
# through any devices in between. Bytes of other disks are in no volume of any line.

bats_require_minimum_version 1.5.0
load ../lib/helper
load ../lib/stacks

value() { # WHO RATIO
	"$analyze" amplification "$store" --table ratios --format csv | awk -F, -v who="$1" -v ratio="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } index($0, who) && $at["ratio"] == ratio { print $at["value"]; exit }'
}

# Bytes written by what /sys/block/*/stat said when the command began: XFS writes its log once more while the tracer attaches.
written() { awk '{ printf "%.0f", $7 * 512 }' "$1"; }

disk_up() { # TYPE NAME: a disk with a file system, mounted in ./NAME; $leaf and $leaf_no
	leaf_up 600M # blocks of 4 KiB
	mkdir "$2"
	make_fs "$1" "$leaf"
	mount -o noatime "$leaf" "$2"
	mounts+=("$PWD/$2")
	sync -f "$2"
}

agrees() {
	"$analyze" verify "$store" >verify.txt || fail "verify: $(cat verify.txt)"
	grep -q "^device bytes written .*${1#/dev/} .* OK" verify.txt
	grep -q '^ledger: dirtied .* OK' verify.txt
}

# 100 pages to the disk that is named, 300 to another, and a sync of each.
@test "--dev: calls, pages and syncs of files on other disks are in no volume" {
	local one kind before

	for kind in ext4 xfs btrfs; do
		disk_up $kind other
		disk_up $kind named
		one=$leaf
		traced --dev "$(basename "$one")" -- sh -c 'cat "/sys/block/$0/stat" >begin; dd if=/dev/zero of=named/x bs=4k count=100 conv=fsync status=none
			dd if=/dev/zero of=other/y bs=4k count=300 conv=fsync status=none; cp named/x other/z; sync other/z' "$(basename "$one")"
		before=$(($(counter "$one") - $(written begin)))
		same "$kind: S" "$(total bytes "kind = 'write' AND sub = 'regular'")" 409600
		same "$kind: T" "$(total touched "kind = 'write' AND sub = 'regular'")" 409600
		same "$kind: D" "$(q "SELECT SUM(dirtied) FROM l")" 409600
		same "$kind: S_r" "$(total bytes "dir = 'r' AND comm = 'cp' AND sub = 'regular' AND layer = 'syscall'")" 409600
		same "$kind: syncs" "$(total ops "kind IN ('fsync', 'fdatasync') AND layer = 'syscall'")" 1
		same "$kind: events" "$(sql "SELECT COUNT(*) FROM event e JOIN kind k ON k.id = e.kind WHERE k.name = 'write' AND e.bytes = 4096")" 100
		same "$kind: sums by file" "$(q "SELECT SUM(write_bytes) FROM file_io JOIN r USING (run)")" 409600
		same "$kind: B" "$(total bytes "kind = 'block_write'")" "$before"
		same "$kind: W" "$(total bytes "kind IN ('fs_write', 'fs_packed') AND cause = 'data'")" 409600
		between "$kind: dd, waf_sys" "$(value dd waf_sys)" 1 2
		agrees "$one"
		nest_down
		rm "$store"
	done
}

@test "--dev: requests of io_uring and libaio on files of other disks are in no volume" {
	local api

	disk_up ext4 other
	disk_up ext4 named
	for api in io_uring libaio; do
		run "$io" --api $api --file probe --count 1
		[ "$status" = 0 ] || continue
		traced --dev "$leaf" -- sh -c "'$io' --api $api --file named/x --count 11 >x.json; '$io' --api $api --file other/y --count 17 >y.json"
		same "$api" "$(total bytes "kind IN ('uring_write', 'aio_write')")" $((11 * 4096))
		same "$api: events" "$(q "SELECT COUNT(*) FROM event e JOIN kind k ON k.id = e.kind JOIN r ON r.run = e.run WHERE k.name IN ('uring_write', 'aio_write')")" 11
	done
}

# Pages that are stored to, before and after another has written them; the file is open and mapped since before the run.
@test "--dev: stores through mappings of files on other disks dirty nothing" {
	need python3 python3-minimal
	disk_up ext4 other
	disk_up ext4 named
	truncate -s 1M named/m other/m
	traced --dev "$leaf" -- python3 -c '
import mmap
for name, pages in (("named", 7), ("other", 13)):
    f = open(name + "/m", "r+b")
    m = mmap.mmap(f.fileno(), 0)
    for i in range(pages): m[i * 8192] = 1
    m.flush()'
	same "stored to" "$(q "SELECT DISTINCT f.path FROM event e JOIN kind k ON k.id = e.kind JOIN r ON r.run = e.run JOIN file f ON f.run = e.run AND f.id = e.file WHERE k.name = 'dirty_mmap'")" "$PWD/named/m"
	same "D" "$(q "SELECT SUM(dirtied) FROM l")" $((7 * 4096))
	agrees "$leaf"
}

@test "--dev: a loop device on a file of the disk belongs to it: B there, P on the disk" {
	local inner outer

	disk_up ext4 other
	nest xfs ext4
	traced --dev "$disk" -- sh -c 'cat "$1/stat" >inner; cat "$2/stat" >outer
		dd if=/dev/zero of=$0/x bs=4k count=50 oflag=sync status=none; dd if=/dev/zero of=other/y bs=4k count=30 status=none' "$at" "/sys/block/${top#/dev/}" "/sys/block/${disk#/dev/}"
	inner=$(($(counter "$top") - $(written inner))) outer=$(($(counter "$disk") - $(written outer)))
	same "S" "$(total bytes "kind = 'write' AND sub = 'regular'")" 204800
	same "B" "$(total bytes "kind = 'block_write' AND dev = '$top_no'")" "$inner"
	same "P" "$(total bytes "kind = 'block_write' AND dev = '$disk_no'")" "$outer"
	same "hop_stack" "$(printf %.3f "$(value dd hop_stack)")" "$(awk -v p="$outer" -v b="$inner" 'BEGIN { printf "%.3f", p / b }')"
	agrees "$disk"
}

@test "--dev: of a loop device on a disk P is not known, nor said to be 0" {
	nest ext4 ext4
	traced --dev "$top" -- dd if=/dev/zero of="$at/x" bs=4k count=10 conv=fsync status=none
	same "P" "$("$analyze" amplification "$store" --format csv --table summary | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "P") at = i } $2 == "dd" { print $at }')" n/a
	same "gave on" "$("$analyze" stack "$store" --format csv --table levels | grep -c "^0,${top#/dev/} (loop),.*,0,0" || :)" 0
	! "$analyze" "$store" | grep -q 'disks below'
	agrees "$top"
}

@test "--dev: a partition, and a mount on a loop device made later, belong to the disk" {
	leaf_up 400M --partscan
	partx --add --nr 1 "$leaf" 2>/dev/null || addpart "$leaf" 1 2048 400000 || skip "partitions are missing: this kernel makes none on loop devices"
	make_fs ext4 "${leaf}p1"
	mkdir part late
	mounts+=("$PWD/part")
	mount -o noatime "${leaf}p1" part
	truncate -s 100M part/image
	disk_up ext4 other
	traced --dev "${leaves[0]}" -- sh -c 'l=$(losetup --find --show part/image); mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 $l
		mount -o noatime $l late; dd if=/dev/zero of=late/x bs=4k count=20 conv=fsync status=none
		for i in 1 2 3 4 5; do ! umount late || break; sleep 0.5; done # a tracer of another lane may sync it just now
		losetup --detach $l
		dd if=/dev/zero of=part/x bs=4k count=40 conv=fsync status=none; dd if=/dev/zero of=other/x bs=4k count=80 conv=fsync status=none'
	same "S" "$(total bytes "kind = 'write' AND sub = 'regular' AND comm = 'dd'")" $((60 * 4096))
	same "W" "$(total bytes "kind = 'fs_write' AND cause = 'data' AND comm = 'dd'")" $((60 * 4096))
	"$analyze" stack "$store" --format csv --table levels >levels.csv
	same "the level of the partition" "$(grep -c ",${leaves[0]#/dev/}p1 (partition),${leaves[0]#/dev/}," levels.csv)" 1
	same "the other disk's" "$(grep -c "${leaves[1]#/dev/}" levels.csv || :)" 0
}

@test "--dev: a disk without a file system, and one that goes away during the run" {
	leaf_up 64M
	disk_up ext4 other
	traced --dev "${leaves[0]}" -- sh -c "dd if=/dev/zero of=${leaves[0]} bs=4k count=21 conv=fsync status=none
		losetup --detach ${leaves[0]}; dd if=/dev/zero of=other/x bs=4k count=8 status=none"
	same "S" "$(total bytes "kind = 'write' AND comm = 'dd' AND sub IN ('regular', 'blockdev')")" $((21 * 4096))
	same "B" "$(total bytes "kind = 'block_write' AND comm = 'dd'")" $((21 * 4096))
	leaves=("${leaves[@]:1}")
}
