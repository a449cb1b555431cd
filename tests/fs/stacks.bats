# SPDX-License-Identifier: GPL-3.0-only
# stacks.bats - stacked devices: bytes that a file system submits count once, where it submits them; their owner is kept down to the
# leaf, through dm, md, loop and partitions; bytes of the leaf are those of /sys/block. Failing requests are here, too.
# Tests whose names begin with "guest:" run in the virtual machines of vm.bats too, where there is device-mapper.

load ../lib/helper
load ../lib/stacks

setup() {
	need_stacks
	mnt=$BATS_TEST_TMPDIR/mnt
	mkdir "$mnt"
	full='' zones=''
}

teardown() {
	repeat_skipped
	stack_down "$mnt"
	[ -z "$zones" ] || modprobe -r null_blk
	[ -z "$full" ] || umount "$full"
}

mark() { IOT_DEV=$leaf dev_mark; }
wrote() { IOT_DEV=$leaf dev_wrote; }
on_leaf() { total bytes "kind = '$1' AND dev = '$leaf_no' AND $2"; }
on_top() { total bytes "kind = '$1' AND dev = '$volume_no' AND $2"; }

# ./one and ./two, and turns.py for them. DIR write N: every second page of DIR/f from page N on, 64 of them. DIR direct: 64 KiB of DIR/d
# at each place that a page has in a chunk of 64 KiB, with O_DIRECT; DIR again: reads them.
in_turns() {
	local python

	python=$(python3 -c 'import sys; print(sys.executable)')
	cp "$python" ./one
	cp "$python" ./two
	cat >turns.py <<'PY'
import mmap, os, sys
to, what = sys.argv[1:3]
if what == "write":
    f = os.open(to + "/f", os.O_CREAT | os.O_WRONLY)
    for i in range(int(sys.argv[3]), 128, 2): os.pwrite(f, bytes(4096), 4096 * i)
else:
    d, m = os.open(to + "/d", os.O_CREAT | os.O_RDWR | os.O_DIRECT), mmap.mmap(-1, 65536)
    for i in range(16): os.pwritev(d, [m], 69632 * i) if what == "direct" else os.preadv(d, [m], 69632 * i)
PY
}

# Every line of verify that is of the run or of a device of this test is equal; what it says of the file system on DEVICE is known.
agrees() { # DEVICE
	local name

	"$analyze" verify "$store" --format csv >verify.csv || :
	grep -E "^(ledger|process)" verify.csv >ours.csv || :
	for name in "${leaves[@]#/dev/}" "${1#/dev/}" "${volume#/dev/}"; do
		[ -z "$name" ] || grep ",$name," verify.csv >>ours.csv || :
	done
	empty "verify" "$(grep ,MISMATCH, ours.csv)"
	if [ $# -gt 0 ]; then
		same "ext4's counter" "$(grep "^ext4 session_write_bytes,${1#/dev/}," verify.csv | cut -d, -f6)" OK
	fi
}

# B of dd is what it had submitted to the volume, and P as many times that as there are copies; the level passes on as much.
stacked() { # COPIES HOW
	local b

	b=$(on_top fs_write "comm = 'dd'")
	same "B of dd" "$(cell amplification summary dd B)" "$b"
	same "P of dd" "$(cell amplification summary dd P)" "$(total bytes "kind = 'block_write' AND comm = 'dd'")"
	same "P/B" "$(printf %.3f "$(cell stack owners dd hop_stack)")" "$1.000"
	grep -q "(hop_stack = P/B = $1.000)" <("$analyze" "$store" | tr -s ' \n' ' ') || [ "$1" = 1 ] || fail "$("$analyze" "$store")"
	"$analyze" stack "$store" --format csv --table levels >levels.csv
	same "level" "$(grep -c "^0,${volume#/dev/} ($2)," levels.csv)" 1
}

# 16 MiB written by dd and synced: submitted once, at the top; at the leaf with dd's name, and what the leaf's counter says.
sixteen() { # DATA BYTES AT THE LEAF
	mark
	traced -- dd if=/dev/zero of="$mnt/f" bs=1M count=16 conv=fsync status=none
	same "the leaf's bytes" "$(on_leaf block_write 1)" "$(wrote)"
	same "W, all devices" "$(total bytes "kind = 'fs_write' AND cause = 'data'")" 16777216
	same "W on the volume" "$(on_top fs_write "cause = 'data' AND comm = 'dd'")" 16777216
	same "submitted to the leaf" "$(on_leaf fs_write 1)" 0
	same "the leaf's data" "$(on_leaf block_write "cause = 'data' AND comm = 'dd'")" "${1:-16777216}"
	same "nobody's bytes" "$(on_leaf block_write "owner = 0")" "${2:-0}"
	nothing_lost
}

@test "guest: 16 MiB on dm-linear are submitted once, and are dd's (defect 11)" {
	need_dm
	leaf_up 256M
	volume_up linear linear "$leaf"
	ext4_on "$volume"
	sixteen
	same "F is B" "$(on_top fs_write 1)" "$(on_leaf block_write 1)"
	stacked 1 dm
	agrees "$volume"
}

@test "guest: 16 MiB that are read through dm-linear are missed once (defect 11)" {
	need_dm
	leaf_up 256M
	volume_up linear linear "$leaf"
	ext4_on "$volume"
	dd if=/dev/zero of="$mnt/f" bs=1M count=16 conv=fsync status=none
	umount "$mnt"
	mount -o noatime "$volume" "$mnt"
	traced -- dd if="$mnt/f" of=/dev/null bs=1M status=none
	same "missed and read ahead" "$(total bytes "kind IN ('miss', 'readahead') AND comm = 'dd' AND dev IN ('$volume_no', '$leaf_no')")" 16777216
	same "data read from the leaf" "$(on_leaf block_read "cause IN ('data', 'readahead') AND comm = 'dd'")" 16777216
	same "demanded at the leaf" "$(on_leaf block_read "cause = 'data'")" "$(total bytes "kind = 'miss' AND dev = '$volume_no'")"
	agrees
}

@test "guest: 8 MiB direct on dm-delay, submitted by its thread, are dd's (defect 12)" {
	need_dm dm_delay
	leaf_up 256M
	volume_up delay delay "$leaf" "" 5
	ext4_on "$volume"
	mark
	traced -- dd if=/dev/zero of="$mnt/f" bs=1M count=8 oflag=direct status=none
	same "the leaf's bytes" "$(on_leaf block_write 1)" "$(wrote)"
	same "W" "$(total bytes "kind = 'fs_write' AND cause = 'direct' AND comm = 'dd'")" 8388608
	same "the leaf's data" "$(on_leaf block_write "cause = 'direct' AND comm = 'dd'")" 8388608
	same "nobody's bytes" "$(on_leaf block_write "owner = 0")" 0
	nothing_lost
	agrees "$volume"
}

# From now on a write to the first volume takes this long.
delay() { # MILLISECONDS
	dmsetup suspend "${volumes[0]}"
	dmsetup reload "${volumes[0]}" --table "0 $(blockdev --getsz "$volume") delay $leaf 0 0 $leaf 0 $1 $leaf 0 0"
	dmsetup resume "${volumes[0]}"
}

@test "guest: pages that wait for a slow device stay with who dirtied them" {
	need_dm dm_delay
	leaf_up 256M
	volume_up delay delay "$leaf" "" 0
	ext4_on "$volume"
	cp "$(command -v dd)" ./one
	cp "$(command -v dd)" ./two
	delay 2500
	mark
	# a table of which more than an eighth is full is swept each second
	traced --table claims=512 -- sh -c './one if=/dev/zero of="$1/f" bs=4096 count=100 conv=notrunc status=none
		./two if=/dev/zero of="$1/f" bs=4096 count=100 seek=100 conv=notrunc status=none; sleep 5; sync "$1/f"' sh "$mnt"
	delay 0
	same "of the one" "$(on_leaf block_write "cause = 'data' AND comm = 'one'")" 409600
	same "of the two" "$(on_leaf block_write "cause = 'data' AND comm = 'two'")" 409600
	nothing_lost
	agrees "$volume"
}

@test "guest: 16 MiB on dm-crypt, which submits other pages, are dd's (defect 12)" {
	need_dm dm_crypt
	leaf_up 256M
	crypt_up crypt "$leaf"
	ext4_on "$volume"
	sixteen
	agrees "$volume"
}

@test "guest: two writers of alternate pages have their own below dm-crypt, dm-linear" {
	local half

	need_dm dm_crypt
	leaf_up 256M
	crypt_up crypt "$leaf"
	half=$(($(blockdev --getsz "$volume") / 2 - 333 * 8))
	printf '0 %s linear %s 0\n%s %s linear %s %s\n' $half "$volume" $half "$(($(blockdev --getsz "$volume") - half))" "$volume" $half |
		dmsetup create "iot$$-two"
	volumes+=("iot$$-two")
	volume=/dev/$(basename "$(readlink -f "/sys/dev/block/$(dmsetup info -c --noheadings -o major,minor "iot$$-two")")")
	volume_no=$(<"/sys/block/${volume#/dev/}/dev")
	ext4_on "$volume"
	in_turns
	mark
	# shellcheck disable=SC2016 # expanded by the command
	traced -- sh -c './one turns.py "$1" write 0; ./two turns.py "$1" write 1; sync "$1/f"' sh "$mnt"
	same "the leaf's bytes" "$(on_leaf block_write 1)" "$(wrote)"
	same "of the one" "$(on_leaf block_write "cause = 'data' AND comm = 'one'")" 262144
	same "of the two" "$(on_leaf block_write "cause = 'data' AND comm = 'two'")" 262144
	same "submitted" "$(total bytes "kind = 'fs_write' AND cause = 'data'")" 524288
	nothing_lost
	agrees "$volume"
}

array_up() { # LEVEL MODULE MEMBERS [MDADM'S OPTIONS]: an array of md with ext4
	local i

	modprobe -q "$2" 2>/dev/null || :
	[ -e /proc/mdstat ] || skip "md is missing: this kernel has none (vm.bats runs this in a guest)"
	need mdadm mdadm
	for ((i = 0; i < $3; i++)); do leaf_up 128M; done
	mdadm --quiet --create /dev/md77 --run --level="$1" --raid-devices="$3" "${@:4}" "${leaves[@]}"
	arrays+=(/dev/md77)
	volume=/dev/md77 volume_no=$(</sys/block/md77/dev)
	ext4_on "$volume"
}

dm_array_up() { # TYPE "ITS PARAMETERS" MEMBERS SECTORS: an array of dm, as LVM makes them, with ext4. Each member has its metadata in front
	local i table="0 $4 raid $1 $2 $3"

	need_dm dm_raid
	for ((i = 0; i < $3; i++)); do
		leaf_up 128M
		printf '0 64 linear %s 0\n' "$leaf" | dmsetup create "iot$$-meta$i"
		printf '0 245760 linear %s 64\n' "$leaf" | dmsetup create "iot$$-data$i"
		volumes+=("iot$$-meta$i" "iot$$-data$i")
		table+=" /dev/mapper/iot$$-meta$i /dev/mapper/iot$$-data$i"
	done
	printf '%s\n' "$table" | dmsetup create "iot$$-array"
	volumes+=("iot$$-array")
	volume=/dev/$(basename "$(readlink -f "/sys/dev/block/$(dmsetup info -c --noheadings -o major,minor "iot$$-array")")")
	volume_no=$(<"/sys/block/${volume#/dev/}/dev")
	ext4_on "$volume"
}

# 64 KiB at each place that a page has in a chunk of 64 KiB, written by one and read by two; pages of the two in turns, which are written back
# together; and 8 MiB. What each wrote is its own on the members.
array_is_right() { # COPIES
	in_turns
	# shellcheck disable=SC2016 # expanded by the command
	traced -- sh -c './one turns.py "$1" direct; ./two turns.py "$1" again; ./one turns.py "$1" write 0; ./two turns.py "$1" write 1
		sync "$1/f"; dd if=/dev/zero of="$1/g" bs=1M count=8 conv=fsync status=none' sh "$mnt"
	same "submitted directly" "$(on_top fs_write "cause = 'direct'")" 1048576
	same "submitted" "$(total bytes "kind = 'fs_write' AND cause = 'data'")" $((524288 + 8388608))
	same "the members', directly" "$(total bytes "kind = 'block_write' AND cause = 'direct' AND comm = 'one'")" $(($1 * 1048576))
	same "read of the members" "$(total bytes "kind = 'block_read' AND cause = 'direct' AND comm = 'two'")" 1048576
	same "of the one" "$(total bytes "kind = 'block_write' AND cause = 'data' AND comm = 'one'")" $(($1 * 262144))
	same "of the two" "$(total bytes "kind = 'block_write' AND cause = 'data' AND comm = 'two'")" $(($1 * 262144))
	same "of dd" "$(total bytes "kind = 'block_write' AND cause = 'data' AND comm = 'dd'")" $(($1 * 8388608))
	same "journal" "$(total bytes "kind = 'block_write' AND cause = 'journal'")" $(($1 * $(total bytes "kind = 'fs_write' AND cause = 'journal'")))
	same "nobody's" "$(total bytes "kind IN ('block_write', 'block_read') AND owner = 0 AND cause <> 'metadata'")" 0
	agrees
}

# Half of what dd wrote, on three members, or more where a stripe was not written at once.
parity_is_right() {
	between "parity of dd" "$(total bytes "kind = 'block_write' AND sub = 'parity' AND comm = 'dd' AND how = 'exact'")" 4194304 6291456
	between "parity of what both wrote" "$(total bytes "kind = 'block_write' AND sub = 'parity' AND (owner = 0 OR comm = 'two')")" 1 524288
}

@test "guest: 16 MiB on a striped array are submitted once, written once by members" {
	array_up 0 raid0 2 --chunk=64
	traced -- dd if=/dev/zero of="$mnt/f" bs=1M count=16 conv=fsync status=none
	same "W" "$(total bytes "kind = 'fs_write' AND cause = 'data'")" 16777216
	same "W on the volume" "$(on_top fs_write "cause = 'data' AND comm = 'dd'")" 16777216
	same "the members' data" "$(total bytes "kind = 'block_write' AND cause = 'data' AND comm = 'dd'")" 16777216
	same "F is B" "$(on_top fs_write 1)" "$(total bytes "kind = 'block_write' AND cause IN ('data', 'journal', 'metadata') AND owner <> 0")"
	agrees
}

@test "guest: writes across chunks of a striped array are their owner's on both members" {
	array_up 0 raid0 2 --chunk=64
	array_is_right 1
}

@test "guest: an array with parity: each writer's data and parity are its own" {
	array_up 5 raid456 3 --chunk=64 --assume-clean
	array_is_right 1
	parity_is_right
}

@test "guest: an array with parity assembled in the run: writes are their owner's" {
	array_up 5 raid456 3 --chunk=64 --assume-clean
	umount "$mnt"
	mdadm --quiet --stop /dev/md77
	# shellcheck disable=SC2016 # expanded by the command
	traced -- bash -c 'mdadm --quiet --assemble /dev/md77 "${@:2}" && mount /dev/md77 "$1" && dd if=/dev/zero of="$1/f" bs=1M count=4 conv=fsync status=none' \
		bash "$mnt" "${leaves[@]}"
	same "of dd" "$(total bytes "kind = 'block_write' AND cause = 'data' AND comm = 'dd'")" 4194304
	agrees
}

@test "guest: a mirror of dm hides its clones: each writer's is its own on both" {
	dm_array_up raid1 "4 0 region_size 1024 nosync" 2 245760
	array_is_right 2
}

@test "guest: the bitmap that a mirror writes with a journal is the mirror's own" {
	dm_array_up raid1 "6 0 region_size 1024 nosync daemon_sleep 50" 2 245760
	# shellcheck disable=SC2016 # expanded by the command
	traced -- sh -c 'for i in 1 2 3 4 5 6; do sleep 0.5; : >"$1/f$i"; sync "$1/f$i"; done' sh "$mnt"
	between "of the bitmap" "$(total ops "kind = 'block_write' AND cause = 'metadata' AND owner = 0")" 6 1000
	same "journal" "$(total bytes "kind = 'block_write' AND cause = 'journal'")" $((2 * $(on_top fs_write "cause = 'journal'")))
	same "submitted beside the volume" "$(total bytes "kind = 'fs_write' AND dev <> '$volume_no'")" 0
	agrees
}

@test "guest: an array of dm with parity: each writer's data and parity are its own" {
	dm_array_up raid5_ls "4 128 region_size 1024 nosync" 3 491520
	array_is_right 1
	parity_is_right
}

@test "guest: 16 MiB on a mirror are submitted once, written by both members as dd's" {
	modprobe -q raid1 2>/dev/null || :
	[ -e /proc/mdstat ] || skip "md is missing: this kernel has none (vm.bats runs this in a guest)"
	need mdadm mdadm
	leaf_up 128M
	leaf_up 128M
	mdadm --quiet --create /dev/md78 --run --assume-clean --level=1 --metadata=1.2 --raid-devices=2 "${leaves[@]}"
	arrays+=(/dev/md78)
	volume=/dev/md78 volume_no=$(</sys/block/md78/dev)
	ext4_on "$volume"
	mark
	traced -- dd if=/dev/zero of="$mnt/f" bs=1M count=16 conv=fsync status=none
	wrote=$(wrote) # md writes its superblock, 512 bytes, when the array is clean again: before the run begins, or after it
	between "the second member's bytes" "$(on_leaf block_write 1)" $((wrote - 1024)) "$wrote"
	same "W" "$(total bytes "kind = 'fs_write' AND cause = 'data'")" 16777216
	same "the second member's data" "$(on_leaf block_write "cause = 'data' AND comm = 'dd'")" 16777216
	same "both members' data" "$(total bytes "kind = 'block_write' AND cause = 'data' AND comm = 'dd'")" 33554432
	stacked 2 raid1
	same "data of nobody's" "$(total bytes "kind = 'block_write' AND cause <> 'metadata' AND owner = 0")" 0
	agrees
}

@test "guest: on a partition ext4's own counter and the disk's agree (defect 13)" {
	leaf_up 256M --partscan
	partx --add --nr 1 "$leaf" 2>/dev/null || addpart "$leaf" 1 2048 400000 || skip "partitions are missing: this kernel makes none on loop devices"
	[ -e "${leaf}p1" ] || fail "no ${leaf}p1"
	volume=${leaf}p1 volume_no=$leaf_no
	ext4_on "$volume"
	mark
	traced -- dd if=/dev/zero of="$mnt/f" bs=1M count=16 conv=fsync status=none
	same "the disk's bytes" "$(on_leaf block_write 1)" "$(wrote)"
	same "W" "$(on_leaf fs_write "cause = 'data' AND comm = 'dd'")" 16777216
	agrees "$volume"
	same "its number" "$(grep "^ext4 session_write_bytes,${volume#/dev/}," verify.csv | cut -d, -f3)" "$(wrote)"
}

@test "on a loop device over a file of another, dd's bytes are dd's, counted once" {
	local inner lower lower_no

	leaf_up 256M
	ext4_on "$leaf"
	lower=$leaf lower_no=$leaf_no
	truncate -s 100M "$mnt/image"
	inner=$(losetup --find --show "$mnt/image")
	traced -- dd if=/dev/zero of="$inner" bs=1M count=8 conv=fsync status=none
	losetup --detach "$inner"
	same "W" "$(total bytes "kind = 'fs_write' AND cause = 'data' AND comm = 'dd'")" 8388608
	same "on the lower" "$(total bytes "kind = 'block_write' AND cause = 'loopback' AND comm = 'dd' AND dev = '$lower_no'")" 8388608
	: "$lower"
	agrees
}

@test "writes that fail for want of room count as the kernel counts them (defect 30)" {
	local image

	full=$BATS_TEST_TMPDIR/full
	mkdir "$full"
	mount -t tmpfs -o size=8m none "$full"
	image=$full/image
	truncate -s 64M "$image"
	leaf=$(losetup --find --show "$image")
	leaves+=("$leaf")
	leaf_no=$(<"/sys/block/${leaf#/dev/}/dev")
	mark
	run traced -- dd if=/dev/zero of="$leaf" bs=1M count=9 oflag=direct status=none
	same "the leaf's bytes" "$(on_leaf block_write 1)" "$(wrote)"
	between "failed requests" "$(total errors "kind = 'block_write' AND dev = '$leaf_no'")" 1 9
	same "bytes of dd" "$(on_leaf block_write "comm = 'dd' AND cause = 'direct'")" "$(wrote)"
	agrees
}

@test "write-zeroes are no bytes, and the kernel's count of them agrees (defect 30)" {
	need blkdiscard util-linux
	leaf_up 64M
	mark
	traced -- blkdiscard --zeroout --length 4194304 "$leaf"
	same "ranges" "$(total touched "kind = 'block_zeroes' AND dev = '$leaf_no'")" 4194304
	same "their bytes" "$(total bytes "kind = 'block_zeroes'")" 0
	"$analyze" verify "$store" --format csv >verify.csv || :
	same "the kernel's" "$(grep "^device bytes written,${leaf#/dev/}," verify.csv | cut -d, -f3,6)" "$(wrote),OK"
	same "that failed" "$("$analyze" breakdown "$store" --table zeroes --format csv | grep "^${leaf#/dev/},")" "${leaf#/dev/},process,blkdiscard,$(q "SELECT pid FROM process JOIN r USING (run) WHERE comm = 'blkdiscard'" | head -n 1),block_zeroes,1,1,0,4194304"
	same "both" "$(($(on_leaf block_write 1) + 4194304))" "$(wrote)" # a file in memory refuses them: pages of zeros follow
}

# A device of 64 zones of 16 MiB, in memory: $leaf and $leaf_no.
zones_up() {
	[ ! -e /dev/nullb0 ] || skip "a null_blk device of this machine's own is in use"
	null=(nr_devices=1 gb=1 zoned=1 zone_size=16 memory_backed=1)
	modprobe -q null_blk "${null[@]}" 2>/dev/null || skip "null_blk is missing: this kernel has none (vm.bats runs this in a guest)"
	zones=1
	leaf=/dev/nullb0
	leaf_no=$(</sys/block/nullb0/dev)
	same "zones" "$(</sys/block/nullb0/queue/zoned)" host-managed
}

# The line of verify on the leaf's written bytes: the kernel's count, and whether the run agrees.
leaf_agrees() { # BYTES
	"$analyze" verify "$store" --format csv >verify.csv || :
	same "the kernel's" "$(grep "^device bytes written,${leaf#/dev/}," verify.csv | cut -d, -f3-4,6)" "$1,$1,OK"
}

@test "guest: appends to zones are dd's; zone management moves no bytes (defect 30)" {
	local bytes

	need blkzone util-linux
	need mkfs.btrfs btrfs-progs
	zones_up
	mkfs_again mkfs.btrfs -q -f -O zoned -d single -m single "$leaf" >/dev/null
	mount -t btrfs -o noatime "$leaf" "$mnt"
	sync -f "$mnt"
	mark
	traced -- dd if=/dev/urandom of="$mnt/f" bs=1M count=16 conv=fsync status=none
	bytes=$(wrote)
	same "the leaf's bytes" "$(on_leaf block_write 1)" "$bytes"
	same "dd's data" "$(on_leaf block_write "cause = 'data' AND comm = 'dd'")" 16777216
	leaf_agrees "$bytes"
	umount "$mnt"
	mark
	traced -- sh -c "blkzone open -o 0x1f8000 -c 1 $leaf; blkzone finish -o 0x1f8000 -c 1 $leaf; blkzone reset -o 0x1f8000 -c 1 $leaf"
	same "bytes" "$(on_leaf block_write 1),$(wrote)" 0,0
	same "operations" "$(total ops "kind = 'block_zone' AND comm = 'blkzone' AND dev = '$leaf_no'")" 3
}

@test "a flush has no offset (defect 29)" {
	leaf_up 64M
	ext4_on "$leaf"
	traced -- dd if=/dev/zero of="$mnt/f" bs=4k count=3 oflag=sync status=none
	[ "$(total ops "kind = 'block_flush' AND dev = '$leaf_no'")" -gt 0 ] || fail "no flush"
	same "offsets" "$(sql "SELECT COUNT(*) FROM event WHERE (offset < 0 OR offset > 67108864) AND (dev >> 20) || ':' || (dev & 1048575) = '$leaf_no'")" 0
}

@test "a device with iostats off is n/a, with the reason (defect 30)" {
	leaf_up 64M
	ext4_on "$leaf"
	echo 0 >"/sys/block/${leaf#/dev/}/queue/iostats"
	traced -- dd if=/dev/zero of="$mnt/f" bs=1M count=4 conv=fsync status=none
	same "data" "$(on_leaf block_write "cause = 'data'")" 4194304
	agrees
	same "result" "$(grep "^device bytes written,${leaf#/dev/}," verify.csv | cut -d, -f6-)" "n/a,the kernel was told not to count: iostats is 0"
	same "ext4's" "$(grep "^ext4 session_write_bytes,${leaf#/dev/}," verify.csv | cut -d, -f6)" "n/a"
}

@test "a page that comes back from swap is swap, not direct I/O" {
	local swap

	need python3 python3-minimal
	[ -e /proc/swaps ] || skip "swap is missing: this kernel has none"
	leaf_up 128M
	mkswap -q "$leaf" 2>/dev/null || mkswap "$leaf" >/dev/null
	swapon "$leaf" 2>/dev/null || skip "swap is missing: swapon is refused here"
	run traced -- python3 -c '
import ctypes, mmap, time
m = mmap.mmap(-1, 16 << 20)
for i in range(0, len(m), 4096): m[i] = 1
libc = ctypes.CDLL(None)
a = ctypes.addressof(ctypes.c_char.from_buffer(m))
for _ in range(4): # MADV_PAGEOUT: first they are written, then they go
    assert libc.madvise(ctypes.c_void_p(a), ctypes.c_size_t(len(m)), 21) == 0
    time.sleep(0.5)
assert sum(m[i] for i in range(0, len(m), 4096)) == 4096'
	swap=$status
	swapoff "$leaf"
	same "status" "$swap" 0
	[ "$(on_leaf block_read 1)" -gt 0 ] || skip "nothing was read from swap"
	same "read as direct I/O" "$(on_leaf block_read "cause = 'direct'")" 0
	same "read as swap" "$(on_leaf block_read "cause = 'swap'")" "$(on_leaf block_read 1)"
}

@test "swap is of who filled it, also after a fork, and is read for who waits" {
	local swap group=/sys/fs/cgroup/memory/iot-swap.$$ limit=memory.limit_in_bytes

	need python3 python3-minimal
	[ -e /proc/swaps ] || skip "swap is missing: this kernel has none"
	[ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ] || group=/sys/fs/cgroup/iot-swap.$$ limit=memory.max
	leaf_up 128M
	# all of the image has its memory before: the group of whoever swaps to it is never charged for it
	dd if=/dev/urandom of="${images[-1]}" bs=1M count=128 conv=notrunc status=none
	mkdir "$group" 2>/dev/null && [ -e "$group/$limit" ] || skip "a control group with a limit of memory is missing here"
	mkswap -q "$leaf" 2>/dev/null || mkswap "$leaf" >/dev/null
	swapon --priority 99 "$leaf" 2>/dev/null || { rmdir "$group"; skip "swap is missing: swapon is refused here"; }
	echo 24M >"$group/$limit"
	named filler
	named eater
	cat >fill.py <<-'PY'
		import os
		def fill(what):
		    for at in range(0, len(what), 4096): what[at] = 1 + at // 4096 % 251
		    assert sum(what[at] for at in range(0, len(what), 4096)) > 0
		old = bytearray(20 << 20)
		fill(old)
		if os.fork() == 0:
		    os.execl("./eater", "eater", "-c", "own = bytearray(40 << 20)\nfor at in range(0, len(own), 4096): own[at] = 1")
		if os.fork() == 0: # has a copy of what the parent filled, and leaves it alone
		    fill(bytearray(20 << 20))
		    os._exit(0)
		os.wait(); os.wait()
		print(os.getpid(), sum(old[at] for at in range(0, len(old), 4096)), file=open("pid", "w"))
	PY
	# A swap device that is slow for a moment is no reason to end who waits for it.
	# shellcheck disable=SC2016 # the command's
	run traced -- sh -c 'echo -1000 >/proc/self/oom_score_adj; echo $$ >"$0/cgroup.procs" && exec ./filler fill.py' "$group"
	swap=$status
	swapoff "$leaf"
	rmdir "$group"
	same "status" "$swap" 0
	[ "$(on_leaf block_write "cause = 'swap'")" -gt 0 ] || skip "nothing was written to swap"
	# 40 MiB, and 20 and 20, do not fit into 24
	between "of who ran another program" "$(on_leaf block_write "cause = 'swap' AND comm = 'eater'")" 16777216 134217728
	between "of the parent and its child" "$(on_leaf block_write "cause = 'swap' AND comm = 'filler'")" 16777216 134217728
	between "of the parent" "$(on_leaf block_write "cause = 'swap' AND pid = $(cut -d' ' -f1 pid)")" 4096 67108864
	# memory of files in /dev/shm goes to swap too, and has no owner
	between "of nobody" "$(on_leaf block_write "cause = 'swap' AND owner = 0")" 0 16777216
	[ "$(on_leaf block_read "cause = 'swap' AND comm = 'filler'")" -gt 0 ] || fail "nothing came back"
	same "read for a call" "$(on_leaf block_read "cause = 'swap' AND sub <> 'for_fault'")" 0
}
