# SPDX-License-Identifier: GPL-3.0-only
# requests.bats - what a request says beside its bytes: its partition, zone commands, commands of drivers.
# Tests whose names begin with "guest:" need modules that machines of vm.bats have.

load ../lib/helper
load ../lib/stacks

setup() {
	need_stacks
	mnt=$BATS_TEST_TMPDIR/mnt
	mkdir "$mnt"
	module=
}

teardown() {
	stack_down "$mnt"
	[ -z "$module" ] || modprobe -r "$module"
}

# The requests of dd that wrote, by the minor number of their partition; - is the whole disk.
by_partition() {
	sql "SELECT ifnull(e.arg & 1048575, '-') || ' ' || SUM(e.bytes) FROM event e JOIN kind k ON k.id = e.kind JOIN process p ON p.id = e.owner
		WHERE k.name = 'block_write' AND p.comm = 'dd' GROUP BY e.arg ORDER BY 1"
}

@test "a request has the partition that it was submitted to; on the whole disk none" {
	leaf_up 64M --partscan
	addpart "$leaf" 1 2048 40000 || skip "partitions are missing: this kernel makes none on loop devices"
	addpart "$leaf" 2 43008 40000
	traced -- sh -c "dd if=/dev/zero of=${leaf}p1 bs=4k count=23 oflag=direct status=none
		dd if=/dev/zero of=${leaf}p2 bs=4k count=29 oflag=direct status=none
		dd if=/dev/zero of=$leaf bs=4k count=31 seek=512 oflag=direct status=none"
	minor() { echo $(($(stat -c 0x%T "$1"))); }
	same "bytes" "$(by_partition)" "$(printf '%s\n' "- $((31 * 4096))" "$(minor "${leaf}p1") $((23 * 4096))" "$(minor "${leaf}p2") $((29 * 4096))" | sort)"
	"$analyze" export "$store" out --table block > /dev/null
	number=$((0x$(stat -c %t "${leaf}p1"))):$(minor "${leaf}p1")
	same "the stream" "$(awk -F, -v d="$number" '$2 == "WRITE" && $9 == d { sum += $7 } END { print sum }' out/block.csv)" $((23 * 4096))
	same "sums are the disk's" "$(total bytes "kind = 'block_write' AND comm = 'dd' AND dev = '$leaf_no'")" $((83 * 4096))
	for part in 1 2; do delpart "$leaf" $part; done
}

@test "guest: 7 commands of a program to a SCSI disk are passthrough, and no bytes" {
	[ ! -e /sys/bus/pseudo/drivers/scsi_debug ] || skip "a scsi_debug device of this machine's own is in use"
	modprobe -q sd_mod 2>/dev/null || :
	modprobe -q scsi_debug dev_size_mb=16 2>/dev/null || skip "scsi_debug is missing: this kernel has none (vm.bats runs this in a guest)"
	module=scsi_debug
	for _ in $(seq 100); do compgen -G '/sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*:0/block/*' > found && break; sleep 0.1; done
	cat > inquire.py <<-'PY'
		import ctypes, fcntl, os, sys
		class Header(ctypes.Structure): # struct sg_io_hdr
		    _fields_ = [("id", ctypes.c_int), ("direction", ctypes.c_int), ("cmd_len", ctypes.c_ubyte),
		        ("sense_len", ctypes.c_ubyte), ("vectors", ctypes.c_ushort), ("len", ctypes.c_uint),
		        ("data", ctypes.c_void_p), ("cmd", ctypes.c_void_p), ("sense", ctypes.c_void_p),
		        ("timeout", ctypes.c_uint), ("rest", ctypes.c_ubyte * 48)]
		disk = os.open(sys.argv[1], os.O_RDWR)
		for _ in range(7): # INQUIRY of 96 bytes by SG_IO
		    data, sense = ctypes.create_string_buffer(96), ctypes.create_string_buffer(32)
		    cmd = ctypes.create_string_buffer(bytes([0x12, 0, 0, 0, 96, 0]), 6)
		    fcntl.ioctl(disk, 0x2285, Header(ord("S"), -3, 6, 32, 0, 96, *map(ctypes.addressof, (data, cmd, sense)), 20000))
	PY
	traced -a -- python3 inquire.py "/dev/$(basename "$(head -n 1 found)")"
	same "commands" "$(sql "SELECT SUM(e.bytes IS NULL) || ' ' || SUM(e.op = 34) FROM event e JOIN kind k ON k.id = e.kind WHERE k.name = 'block_passthrough' AND e.size = 96")" "7 7"
	same "offsets" "$(sql "SELECT COUNT(e.offset) FROM event e JOIN kind k ON k.id = e.kind WHERE k.name = 'block_passthrough'")" 0
	same "other" "$(total ops "kind = 'block_other'")" 0
}
