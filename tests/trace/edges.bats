# SPDX-License-Identifier: GPL-3.0-only
# edges.bats - runs that begin and end amid requests of others: sums stay exact, and requests cut by the edges have a name.

load ../lib/helper
bats_require_minimum_version 1.5.0

setup() { own_run fio:fio; }

teardown() {
	repeat_skipped
	[ ! -e "$BATS_TEST_TMPDIR/writer.pid" ] || kill "$(<"$BATS_TEST_TMPDIR/writer.pid")" 2>/dev/null || :
}

# One line of verify about the device: traced, kernel, difference, result.
check_of() { # WHAT
	awk -F, -v what="$1" -v dev="${IOT_DEV#/dev/}" '$1 == what && $2 == dev { print $3, $4, $5, $6 }' verify.csv
}

@test "a device never idle: each of 6 runs (IOT_LONG: 20) is exact, edges have a name" {
	local runs

	runs=$(sized 6 20)
	body() {
		fio --name=busy --filename="$IOT_DEV" --direct=1 --rw=randrw --bs=4k --ioengine=psync --numjobs=2 --thread --rate_iops=1500 --time_based --runtime=100 >fio.log 2>&1 &
		echo $! >"$BATS_TEST_TMPDIR/writer.pid"
		for n in $(seq "$runs"); do
			rm -f run.sqlite*
			traced --no-events --layers block --settle none -- sleep 0.1
			"$analyze" verify run.sqlite --format csv >verify.csv || :
			for what in "device bytes read" "device bytes written"; do
				read -r got counted difference result < <(check_of "$what") || fail "run $n: no line of $what: $(cat verify.csv fio.log)"
				[ "$got $difference $result" = "$counted 0 OK" ] && [ "$got" -gt 0 ] || fail "run $n: $(grep -F ",${IOT_DEV#/dev/}," verify.csv)"
			done
			# The kernel's own numbers are stored as they were read.
			same "the kernel's counter" "$counted" "$(sql "SELECT end_value - begin_value FROM truth WHERE what = 'write_bytes' AND source LIKE '%/${IOT_DEV#/dev/}/%'")"
			outside=$((${outside:-0} + $(sql "SELECT SUM(outside) FROM truth WHERE source LIKE '%/${IOT_DEV#/dev/}/%'")))
			early=$((${early:-0} + $(total bytes "kind = 'block_write' AND dev = '$IOT_DEVNO' AND cause = 'before_run'")))
		done
		writer=$(<"$BATS_TEST_TMPDIR/writer.pid")
		kill "$writer" && wait "$writer" || :
		rm "$BATS_TEST_TMPDIR/writer.pid" # the number may be another's from here on
		# so many runs during 6000 requests a second: is none of them between a counter's reading and the gate?
		[ "$outside" -gt 0 ] || fail "nothing was outside of any run"
		same "owners of what began before a run" "$(sql "SELECT COUNT(*) FROM agg_total t JOIN cause c ON c.id = t.cause WHERE c.name = 'before_run' AND t.owner <> 0")" 0
		echo "outside $outside, begun before $early"
	}
	with_fs none 64M -- body
}

@test "nothing is outside a run whose device nobody else uses, or under way at its end" {
	body() {
		traced --no-events --layers block --settle none -- dd if=/dev/zero of="$IOT_DEV" bs=64k count=16 oflag=direct status=none
		same "dd's bytes" "$(total bytes "kind = 'block_write' AND dev = '$IOT_DEVNO' AND cause = 'direct'")" 1048576
		same "under way" "$(sql "SELECT COALESCE(SUM(under_way), 0), COALESCE(SUM(outside), 0) FROM truth WHERE source LIKE '%/${IOT_DEV#/dev/}/%'")" "0 0"
	}
	with_fs none 64M -- body
}

@test "zeros that the kernel writes for a call, and mkfs: the caller's, and D" {
	body() {
		# of the disk of this test: what file systems are made elsewhere at the same time, and zeroed for it, is not dd's
		local dev=$((${IOT_DEVNO%:*} << 20 | ${IOT_DEVNO#*:}))

		traced -- blkdiscard --force --zeroout --length 8M "$IOT_DEV"
		verified zeroout
		same "zeroed" "$(sql "SELECT SUM(t.bytes), MIN(p.comm), MAX(p.comm) FROM agg_total t JOIN kind k ON k.id = t.kind JOIN sub s ON s.id = t.sub JOIN process p ON p.id = t.owner
			WHERE k.name = 'fs_write' AND s.name = 'zeroed' AND t.dev = $dev")" "8388608 blkdiscard blkdiscard"
		same "D of it" "$(sql "SELECT SUM(direct) FROM ledger")" 8388608
		same "its name" "$("$analyze" waterfall run.sqlite --format csv --table written | grep '^process,blkdiscard,.*zeroed' | cut -d, -f5,6)" "zeroed by the kernel,8388608"
		rm -f run.sqlite*
		traced -- mkfs.ext4 -q -F "$IOT_DEV"
		verified mkfs
		[ "$(written "sub = 'zeroed' AND comm = 'mkfs.ext4'")" -le "$(written "sub = 'none'")" ] ||
			"$analyze" run.sqlite | tr -s ' \n' ' ' | grep -q 'finding mkfs.ext4 .* from Of that [^(]*([0-9.]* %) are zeros that the kernel wrote for it' || fail "$("$analyze" run.sqlite)"
		# waits for each of its 17 bios itself, as what zeroes does (defect 73)
		for with in "oflag=direct" "oflag=direct,dsync" "oflag=direct conv=fsync"; do
			rm -f run.sqlite*
			traced -- dd if=/dev/zero of="$IOT_DEV" bs=8192 count=17 $with status=none
			verified "dd $with"
			same "direct, dirtied by dd $with" "$(sql "SELECT SUM(direct), SUM(dirtied) FROM ledger")" "139264 0"
			same "zeroed by dd $with" "$(total bytes "sub = 'zeroed' AND (dev = '$IOT_DEVNO' OR comm = 'dd')")" 0
		done
	}
	verified() { # WHAT
		"$analyze" verify run.sqlite >verify.txt || fail "$1: $(grep MISMATCH verify.txt)"
		grep -q '^ledger: unexplained.* OK ' verify.txt || fail "$1: $(grep ^ledger verify.txt)"
	}
	with_fs none 64M -- body
}

@test "data that overlayfs copies up at an open is D of the opener: the ledger closes" {
	body() {
		(cd "$IOT_MNT" && mkdir lower upper work over && head -c 3M /dev/urandom >lower/f && sync -f .)
		traced -- sh -c 'mount -t overlay overlay -o "lowerdir=$0/lower,upperdir=$0/upper,workdir=$0/work" "$0/over" && echo x >>"$0/over/f" && sync -f "$0" && umount "$0/over"' "$IOT_MNT"
		"$analyze" verify run.sqlite >verify.txt || fail "$(grep MISMATCH verify.txt)"
		same "D" "$(sql "SELECT SUM(l.dirtied), SUM(l.written) FROM ledger l JOIN file f ON f.id = l.file WHERE f.path = '$IOT_MNT/over/f'")" "3149824 3149824"
		same "S" "$(total bytes "kind = 'write' AND comm = 'sh' AND sub = 'regular'")" 2
	}
	with_fs ext4 64M -- body
}

@test "sendfile, splice, copy_file_range into O_DSYNC from mid-page: D, and the ledger" {
	body() {
		head -c 300k /dev/urandom >"$IOT_MNT/src" && sync -f "$IOT_MNT"
		traced -- python3 -c '
import os, sys
def out(name): return os.open(f"{sys.argv[1]}/{name}", os.O_RDWR | os.O_CREAT | os.O_DSYNC)
src = os.open(sys.argv[1] + "/src", os.O_RDONLY)
assert os.sendfile(out("sent"), src, 100, 100000) == 100000
assert os.copy_file_range(src, out("copied"), 100000, 100) == 100000
r, w = os.pipe()
assert os.splice(src, w, 50000, 100) == os.splice(r, out("spliced"), 50000)' "$IOT_MNT"
		"$analyze" verify run.sqlite >verify.txt || fail "$(grep MISMATCH verify.txt)"
		same "unexpected" "$(sql "SELECT SUM(unexpected) FROM ledger")" 0
		same "more than once" "$(sql "SELECT SUM(l.dirtied) > 208896 AND SUM(l.dirtied) = SUM(l.written) FROM ledger l JOIN file f ON f.id = l.file WHERE f.path LIKE '$IOT_MNT/%'")" 1
	}
	with_fs ext4 64M -- body
}

@test "parallel writes of parts of blocks of one file: D is W, within 2 % on XFS, btrfs" {
	local fs

	need mkfs.xfs xfsprogs
	need mkfs.btrfs btrfs-progs
	scene() { # FILE SYSTEM, PAGES
		local percent

		case $1 in ext4*) percent=0 ;; *) percent=2 ;; esac # XFS tells nothing of blocks of a folio that is dirty already; btrfs: iot-trace(8)
		same "$1, $2 pages: D, W, unexpected, still dirty" "$(sql "WITH t AS (SELECT SUM(l.dirtied) AS d, SUM(l.written) AS w, SUM(l.unexpected) AS u, SUM(l.dirty_end) AS e,
			SUM(l.dirty_start) AS s FROM ledger l JOIN file f ON f.id = l.file WHERE f.path = '$IOT_MNT/$2/f')
			SELECT 100 * abs(d - w) <= $percent * w, 100 * u <= $percent * w, 100 * e <= $percent * w, 100 * s <= $percent * w, d > 0 FROM t")" "1 1 1 1 1"
	}
	body() {
		rm -f run.sqlite*
		mkdir "$IOT_MNT/16" "$IOT_MNT/300"
		traced -- sh -c '"$0" "$1/16" 16 1,100,3000,5000,9000 && "$0" "$1/300" 300 100,9000,200000,600000' "$root/tests/lib/parallel-writes.py" "$IOT_MNT"
		scene "$1" 16
		scene "$1" 300
		empty "$1: lost" "$(q "SELECT what, n FROM lost JOIN r USING (run) WHERE n > 0")"
	}
	for fs in $(by_turns ext4 xfs btrfs); do with_fs $fs 512M -- body $fs; done
	with_fs ext4 512M -b 1024 -- body "ext4, 1 KiB"
	! long || with_fs xfs 512M -b size=1024 -- body "XFS, 1 KiB"
}

# truncate(2) of a large file drops its pages, which takes some time, and is reported then. The write, which began before, waits for it.
@test "a write that waits for a truncate dirties the bytes behind: D is W and cancelled" {
	local fs

	need mkfs.xfs xfsprogs
	need mkfs.btrfs btrfs-progs
	cat >cut.py <<-'P'
		import os, sys, time
		for name in "abc":
		    f = os.open(sys.argv[1] + "/" + name, os.O_RDWR | os.O_CREAT)
		    for i in range(96):
		        os.write(f, bytes(1 << 20))
		    child = os.fork()
		    if not child:
		        time.sleep(0.002)
		        os.pwrite(f, bytes(65536), 0)
		        os.fsync(f)
		        os._exit(0)
		    os.ftruncate(f, 0)
		    os.waitpid(child, 0)
		    os.unlink(sys.argv[1] + "/" + name)
	P
	body() {
		traced -- python3 cut.py "$IOT_MNT"
		same "$1: D without W and what was cut off, unexpected" "$(sql "SELECT SUM(l.dirtied) - SUM(l.written) - SUM(l.cancelled) - SUM(l.dirty_end), SUM(l.unexpected) FROM ledger l
			JOIN file f ON f.id = l.file WHERE f.path GLOB '$IOT_MNT/[abc]'")" "0 0"
		rm -f run.sqlite*
	}
	for fs in $(by_turns ext4 xfs btrfs); do with_fs $fs 512M -- body $fs; done
}

# The first request fails: its address is nobody's. The second is longer, appends to the page that another had begun, and is written back.
@test "the first of two requests of an io_submit fails: the second has its own bytes" {
	body() {
		traced -- sh -c 'printf 1234567 >"$0/f"; exec python3 -c "$1" "$0/f"' "$IOT_MNT" '
import ctypes as c, os, platform, struct, sys
setup, submit, events = (0, 2, 4) if platform.machine() == "aarch64" else (206, 209, 208)
call = c.CDLL(None, use_errno=True).syscall
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_DSYNC)
data, done, ring = c.create_string_buffer(1024), c.create_string_buffer(64), c.c_ulong()
iocb = lambda address, size: c.create_string_buffer(struct.pack("=QIIHhIQQqQII", 0, 0, 0, 1, 0, fd, address, size, 0, 0, 0, 0), 64)
cb = iocb(1, 39), iocb(c.addressof(data), 1024)
assert call(setup, 2, c.byref(ring)) == 0
assert call(submit, ring, c.c_long(2), (c.c_void_p * 2)(*map(c.addressof, cb))) == 2
assert call(events, ring, c.c_long(2), c.c_long(2), done, None) == 2
assert sorted(struct.unpack("=QQqqQQqq", done)[2::4]) == [-14, 1024]'
		"$analyze" verify run.sqlite >verify.txt || fail "$(grep MISMATCH verify.txt)"
		same "W" "$(sql "SELECT p.comm, i.write_bytes, i.fs_write_bytes FROM file_io i JOIN process p ON p.id = i.owner JOIN file f ON f.id = i.file
			WHERE f.path = '$IOT_MNT/f' ORDER BY 1" | tr '\n' ' ')" "python3 1024 4096 sh 7 0 "
	}
	with_fs ext4 64M -- body
}

# A core of a process, and how much of it was written. Cores are named by a setting of the whole kernel: the name has the process's own in it.
dumped() { # COMMAND...
	local before

	before=$(cat /proc/sys/kernel/core_pattern)
	echo 'core' >/proc/sys/kernel/core_pattern
	(cd "$IOT_MNT" && traced -- sh -c 'ulimit -c unlimited; python3 -c "import os; x = b\"a\" * 3000000; os.abort()"; sync -f .') || true
	echo "$before" >/proc/sys/kernel/core_pattern
}

@test "a core dump is D of the dying process, and no call: the ledger closes" {
	local fs

	body() {
		local core

		rm -f run.sqlite*
		dumped
		core=$(stat -c %s "$IOT_MNT/core")
		"$analyze" verify run.sqlite --by pid >verify.txt || fail "$fs: $(grep MISMATCH verify.txt)"
		same "$fs: D" "$(sql "SELECT SUM(l.dirtied) = SUM(l.written) AND SUM(l.dirtied) BETWEEN $core / 2 AND $core + 65536
			FROM ledger l JOIN process p ON p.id = l.owner WHERE p.comm = 'python3' AND l.dirtied > 1000000")" 1
		same "$fs: OK" "$(grep -c '^process bytes written *python3 .* OK' verify.txt)" 1
	}
	for fs in $(by_turns ext4 xfs); do
		with_fs "$fs" 512M -- body
	done
}

@test "copy_file_range: shared extents are no D, bytes copied after a flush are dirty" {
	local fs

	body() {
		rm -f run.sqlite*
		(cd "$IOT_MNT" && seq 20000 >src && split -l 1000 src part. && head -c 1M /dev/urandom >whole && sync -f .)
		traced -- python3 -c '
import os, sys
os.chdir(sys.argv[1])
def copy(name, out, at):
    f = os.open(name, os.O_RDONLY)
    left = os.fstat(f).st_size
    while left:
        n = os.copy_file_range(f, out, left, None, at)
        at, left = at + n, left - n
    return at
at, out = 0, os.open("joined", os.O_WRONLY | os.O_CREAT)
for name in sorted(n for n in os.listdir(".") if n.startswith("part.")):
    at = copy(name, out, at)
copy("whole", os.open("shared", os.O_WRONLY | os.O_CREAT), 0)
dirty = os.open("dirty", os.O_WRONLY | os.O_CREAT)
os.write(dirty, bytes(1 << 20))
copy("whole", dirty, 0)
' "$IOT_MNT"
		"$analyze" verify run.sqlite >verify.txt || fail "$fs: $(grep MISMATCH verify.txt)"
		same "$fs: S" "$(total bytes "kind = 'copy_out' AND comm = 'python3'")" $((2 * 1048576 + $(stat -c %s "$IOT_MNT/src")))
		same "$fs: shared, D" "$(sql "SELECT COALESCE(SUM(l.dirtied), 0) FROM ledger l JOIN file f ON f.id = l.file WHERE f.path = '$IOT_MNT/shared'")" "$1"
		same "$fs: flags" "$(sql "SELECT COUNT(*) > 0 FROM v_event WHERE kind = 'copy_out' AND flags & 16384")" "$2"
	}
	need mkfs.xfs xfsprogs
	need mkfs.btrfs btrfs-progs
	fs=btrfs with_fs btrfs 512M -- body 0 1
	fs=xfs with_fs xfs 512M -- body 0 1
	fs=ext4 with_fs ext4 512M -- body 1048576 0
}

@test "ext4 with data in journal or inode: direct writes go through the cache" {
	body() {
		rm -f run.sqlite*
		traced -- sh -c 'cd "$0" && dd if=/dev/zero of=direct bs=64k count=16 oflag=direct status=none &&
			fio --name=x --filename=aio --size=4M --ioengine=libaio --rw=randwrite --bs=4k --iodepth=8 --fsync=50 --output=/dev/null &&
			fio --name=x --filename=uring --size=1M --ioengine=io_uring --direct=1 --rw=randwrite --bs=4k --iodepth=8 --output=/dev/null &&
			for i in $(seq 50); do echo $i >small.$i; echo $i >>small.$i; done &&
			for engine in libaio io_uring; do
				fio --name=x --filename=small.$engine --size=100 --ioengine=$engine --fallocate=none --rw=write --bs=100 --output=/dev/null
			done && echo x >small.direct && dd if=/dev/zero of=small.direct bs=512 count=1 oflag=direct conv=notrunc status=none && sync -f .' "$IOT_MNT"
		"$analyze" verify run.sqlite >verify.txt || fail "$1: $(grep MISMATCH verify.txt)"
		same "$1: inline" "$(sql "SELECT COALESCE(SUM(bytes), 0) FROM v_event WHERE kind = 'fs_packed' AND sub = 'inline' AND path LIKE '%/small.%'")" "$2"
		same "$1: in place" "$(sql "SELECT SUM(bytes) >= 4194304 AND SUM(owner_comm = 'fio') = COUNT(*) FROM v_event
			WHERE kind = 'fs_write' AND cause = 'data' AND path LIKE '%/aio'")" 1
	}
	MOUNT_OPTS=data=journal with_fs ext4 256M -- body journal 0
	with_fs ext4 256M -O inline_data -I 1024 -- body inline $((104 * 4096))
}

@test "ext4: inline data moved to a block by a call's write is the call's D" {
	body() {
		traced -- sh -c 'cd "$0" && for api in append pwrite pwritev libaio uring uring-async; do
				head -c 100 /dev/zero >small.$api && "$1" --api $api --file small.$api --at 64k --count 4 >/dev/null
			done
			# the large folios of a hole that was read are not dirty as a whole because the flag of the inode is still there
			put() { dd if=/dev/zero of=small.hole bs=$2 count=1 seek=$1 oflag=seek_bytes conv=notrunc status=none; }
			put 0 100; put 4M 4k; cat small.hole small.hole >/dev/null; put 300000 100; put 1300000 5000
			sync -f .' "$IOT_MNT" "$io"
		"$analyze" verify run.sqlite >verify.txt || fail "$(grep MISMATCH verify.txt)"
		same "nobody's" "$(sql "SELECT COUNT(DISTINCT f.ino), SUM(dirty_start), SUM(unexpected), SUM(l.dirtied - l.written) FROM ledger l JOIN file f ON f.id = l.file
			WHERE f.path LIKE '%/small.%'")" "7 0 0 0"
		same "first blocks" "$(sql "SELECT owner_comm, COUNT(*) FROM v_event WHERE kind = 'fs_write' AND cause = 'data' AND offset = 0 AND path LIKE '%/small.%'
			GROUP BY 1 ORDER BY 1")" $'dd 1\niot-io 6'
	}
	with_fs ext4 256M -O inline_data -- body
}

@test "ext4, data=journal: stores, reads into maps, holes, zeros: the ledger closes" {
	cat >journalled.py <<-'P'
		import ctypes, mmap, os, socket, sys
		os.chdir(sys.argv[2])
		size, libc = 64 << 10, ctypes.CDLL(None)
		def area(name):
		    return mmap.mmap(os.open(name, os.O_RDWR), size)
		def fallocate(mode, off, fresh):
		    f = os.open("new" if fresh else "old", os.O_RDWR | os.O_CREAT)
		    if fresh:
		        os.pwrite(f, bytes(size), 0)
		    assert not libc.fallocate(f, mode, ctypes.c_long(off), ctypes.c_long(16384))
		def recv(m):
		    one, two = socket.socketpair()
		    one.sendall(bytes(20 << 10))
		    at = 0
		    while at < 20 << 10:
		        at += two.recv_into(memoryview(m)[at:])
		def swap(f, data):
		    page = mmap.mmap(-1, size + 4096)
		    os.fchmod(f, 0o600)
		    os.write(f, memoryview(page)[48:48 + size]) # not aligned, and not there: cut short page by page
		    os.fsync(f)
		{"store": lambda: area("old").write(bytes(size)),
		 "read": lambda: os.preadv(os.open("src", os.O_RDONLY), [area("old")], 0),
		 "direct": lambda: os.preadv(os.open("src", os.O_RDONLY | os.O_DIRECT), [area("old")], 0),
		 "recv": lambda: recv(area("old")),
		 "hole": lambda: fallocate(3, 8193, False), "fresh_hole": lambda: fallocate(3, 8193, True),
		 "zero": lambda: fallocate(16, 8193, False), "fresh_zero": lambda: fallocate(16, 8193, True),
		 "collapse": lambda: fallocate(8, 8192, True), "insert": lambda: fallocate(32, 8192, True),
		 "behind": lambda: os.pwrite(os.open("end", os.O_RDWR), b"x", 8200),
		 "short": lambda: swap(os.open("new", os.O_RDWR | os.O_CREAT), 0)}[sys.argv[1]]()
	P
	# each in a folder and under a name of its own
	scene() { # WHAT, D, W and dropped bytes of the file
		same "$1: D, W, dropped" "$(sql "SELECT SUM(l.dirtied), SUM(l.written), SUM(l.cancelled), MIN(p.comm), MAX(p.comm) FROM ledger l
			JOIN file f ON f.id = l.file JOIN process p ON p.id = l.owner WHERE f.path GLOB '$IOT_MNT/$1/*' AND f.path NOT GLOB '*/src'")" "$2 $3 $4 $1 $1"
		same "$1: in place" "$(total bytes "kind = 'fs_write' AND cause = 'data' AND dev = '$IOT_DEVNO' AND comm = '$1'")" "$3"
	}
	body() {
		local one all='store read direct recv hole fresh_hole zero fresh_zero collapse insert short'

		all+=' behind' # the rest of the block that the file ended in is zeroed, on some kernels: its D is known to the check alone
		for one in $all; do
			named "$one"
			(mkdir "$IOT_MNT/$one" && cd "$IOT_MNT/$one" && head -c 64K /dev/urandom >old && head -c 64K /dev/urandom >src && head -c 100 src >end)
		done
		sync -f "$IOT_MNT"
		traced -- sh -ec 'for one in $1; do "./$one" journalled.py $one "$0/$one"; sync -f "$0"; done' "$IOT_MNT" "$all"
		"$analyze" verify run.sqlite >verify.txt || fail "$(grep MISMATCH verify.txt)"
		scene store 65536 65536 0
		scene read 65536 65536 0
		scene direct 65536 65536 0
		scene recv 20480 20480 0
		scene hole 8192 8192 0
		scene fresh_hole 73728 73728 0 # written before, then the two blocks at its ends
		scene zero 8192 8192 0
		scene fresh_zero 73728 73728 0
		scene collapse 65536 53248 12288
		scene insert 65536 65536 0
		scene short 65536 65536 0
	}
	MOUNT_OPTS=data=journal with_fs ext4 256M -- body
}

@test "ext4, data=journal: pages put back by the flusher keep their owner" {
	local flags events

	body() {
		for flags in append append,direct; do
			for events in '' --no-events; do
				rm -f run.sqlite* "$IOT_MNT/log"
				traced ${events:+"$events"} -- sh -c 'for i in 1 2 3 4; do cp "$(command -v dd)" "$2/dd$i"
					"$2/dd$i" if=/dev/zero of="$0/log" bs=4k count=8 "oflag=$1" conv=notrunc status=none; done' "$IOT_MNT" $flags "$PWD"
				same "$flags $events: W of each" "$(q "SELECT comm, SUM(bytes) FROM c WHERE kind = 'fs_write' AND cause = 'data' AND dev = '$IOT_DEVNO'
					GROUP BY comm ORDER BY comm" | tr '\n' ' ')" "dd1 32768 dd2 32768 dd3 32768 dd4 32768 "
			done
		done
	}
	MOUNT_OPTS=data=journal with_fs ext4 256M -- body
}

@test "ext4: a range taken out of a file drops its dirty bytes but in the first folio" {
	local fs

	body() {
		rm -f run.sqlite* "$IOT_MNT/f"
		traced -- python3 -c '
import ctypes, os, sys
f = os.open(sys.argv[1] + "/f", os.O_RDWR | os.O_CREAT)
order = range(15, -1, -1) if sys.argv[2] == "pages" else [0]
for n in order:
    os.pwrite(f, bytes(65536 // len(order)), n * 4096)
libc = ctypes.CDLL(None)
assert libc.fallocate(f, 8, ctypes.c_long(0), ctypes.c_long(65536)) # refused: nothing of it is dropped
assert not libc.fallocate(f, 8, ctypes.c_long(8192), ctypes.c_long(16384))
' "$IOT_MNT" "$1"
		"$analyze" verify run.sqlite >verify.txt || fail "$1: $(grep MISMATCH verify.txt)"
		same "$1: all is written or dropped" "$(sql "SELECT SUM(l.dirtied), SUM(l.written) + SUM(l.cancelled), SUM(l.unexpected) FROM ledger l JOIN file f ON f.id = l.file
			WHERE f.path = '$IOT_MNT/f'")" "65536 65536 0"
	}
	for fs in pages whole; do
		with_fs ext4 256M -- body $fs
	done
}

@test "ext4: zeros, a cut end, pages made writable in a folio stored to before are D" {
	body() {
		traced -- python3 -c '
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None)
f = os.open(sys.argv[1] + "/f", os.O_RDWR | os.O_CREAT)
for page in range(4):
    os.pwrite(f, bytes(4096), page * 4096)
os.fsync(f)
def store(page):
    area = mmap.mmap(f, 16384)
    area[page * 4096] = 1
    area.flush()
    return area
store(0)
assert not libc.fallocate(f, 16, ctypes.c_long(10), ctypes.c_long(100))
os.fsync(f)
assert not store(1).madvise(23, 4096, 4096) # MADV_POPULATE_WRITE
os.fsync(f)
store(2)
os.ftruncate(f, 8202)
os.fsync(f)
' "$IOT_MNT"
		"$analyze" verify run.sqlite >verify.txt || fail "$(grep MISMATCH verify.txt)"
		same "D, W, unexpected" "$(sql "SELECT SUM(l.dirtied), SUM(l.written), SUM(l.unexpected) FROM ledger l JOIN file f ON f.id = l.file
			WHERE f.path = '$IOT_MNT/f'")" "40960 40960 0"
	}
	with_fs ext4 256M -- body
}

@test "blocks of 1 KiB: T, D and W of files made, written and read in the run" {
	local fs

	need mkfs.xfs xfsprogs
	body() {
		rm -f run.sqlite* run.jsonl again.sqlite*
		traced -o run.jsonl -- python3 -c '
import os, sys
f = os.open(sys.argv[1] + "/made", os.O_RDWR | os.O_CREAT)
for at in 0, 2047, 5000, 13000: # 1, 2, 1 and 1 blocks
    os.pwrite(f, b"x" * 101, at)
os.rename(sys.argv[1] + "/made", sys.argv[1] + "/named")
' "$IOT_MNT"
		"$analyze" ingest again.sqlite <run.jsonl 2>/dev/null
		for store in "$PWD/run.sqlite" "$PWD/again.sqlite"; do
			"$analyze" verify "$store" >verify.txt || fail "$fs: $(grep MISMATCH verify.txt)"
			same "$fs: block, T, D, W" "$(sql "SELECT f.block, SUM(l.touched), SUM(l.dirtied), SUM(l.written) FROM ledger l JOIN file f ON f.id = l.file
				WHERE f.path LIKE '$IOT_MNT/%'")" "1024 5120 5120 5120"
		done
		store=$PWD/run.sqlite
	}
	fs=ext4
	with_fs ext4 256M -b 1024 -- body
	fs=XFS
	with_fs xfs 320M -b size=1k -- body
}

@test "a store of a few bytes to a mapped file is D and W of its 1 KiB blocks" {
	local fs size

	need mkfs.xfs xfsprogs
	body() {
		rm -f run.sqlite*
		for size in 100 1024 2500; do head -c "$size" /dev/urandom >"$IOT_MNT/f$size"; done
		sync -f "$IOT_MNT"
		traced -- python3 -c '
import mmap, os, sys
for size in 100, 1024, 2500:
    fd = os.open(sys.argv[1] + "/f%d" % size, os.O_RDWR)
    mmap.mmap(fd, size)[size // 2] = 1
    os.fsync(fd)
' "$IOT_MNT"
		"$analyze" verify run.sqlite >verify.txt || fail "$fs: $(grep MISMATCH verify.txt)"
		same "$fs: D, W, still dirty" "$(sql "SELECT SUM(l.dirtied), SUM(l.written), SUM(l.dirty_end) FROM ledger l JOIN file f ON f.id = l.file
			JOIN process p ON p.id = l.owner WHERE f.path LIKE '$IOT_MNT/f%' AND p.comm = 'python3'")" "5120 5120 0"
	}
	fs=ext4
	with_fs ext4 256M -b 1024 -- body
	fs=XFS
	with_fs xfs 512M -b size=1024 -- body
}

@test "blocks smaller and larger than pages are dirtied and written, in JSON Lines too" {
	local spec

	need mkfs.xfs xfsprogs
	cat >load.py <<-'P'
		import mmap, os, sys
		def new(name, flags=0): return os.open(sys.argv[1] + "/" + name, os.O_RDWR | os.O_CREAT | flags)
		source = new("source")
		os.write(source, b"x" * 60000)
		os.write(new("small"), b"x" * 100)
		os.pwrite(new("synced", os.O_DSYNC), b"x" * 100, 40000)
		os.sendfile(new("sent"), source, 0, 8192)
		os.copy_file_range(source, new("copied"), 8192, 0)
		r, w = os.pipe()
		os.splice(source, w, 5000, 0)
		os.splice(r, new("spliced"), 5000)
		f = new("cut")
		os.write(f, b"x" * 65536)
		os.fsync(f)
		os.ftruncate(f, 20000)
		f = new("mapped")
		os.ftruncate(f, 65536)
		mmap.mmap(f, 65536)[40000] = 1
	P
	body() {
		rm -rf run.sqlite* run.jsonl again.sqlite*
		traced -o run.jsonl -- python3 load.py "$IOT_MNT"
		"$analyze" ingest again.sqlite run.jsonl
		for store in run.sqlite again.sqlite; do
			"$analyze" verify "$store" >verify.txt || fail "$spec, $store: $(grep MISMATCH verify.txt)"
			same "$spec, $store: D, W, the rest" "$(sql "SELECT SUM(l.dirtied), SUM(l.written), SUM(l.unexpected + l.dirty_end + l.cancelled) FROM ledger l JOIN file f ON f.id = l.file
				WHERE f.path LIKE '$IOT_MNT/%'")" "$wanted $wanted 0"
		done
	}
	# source, small, synced, sent, copied, spliced, cut and what is zeroed of it, mapped
	b=1024 page=4096
	wanted=$((60000 / b * b + b + b + b + 8192 + 8192 + 5 * b + 65536 + b + page))
	spec="ext4 1k" && with_fs ext4 256M -b 1024 -- body
	spec="XFS 1k" && with_fs xfs 512M -b size=1024 -m reflink=0 -- body
	b=16384
	wanted=$((4 * b + b + b + b + b + b + 4 * b + b + b))
	[ "$(uname -r | awk -F. '{ print $1 * 100 + $2 }')" -lt 612 ] && return
	spec="XFS 16k" && with_fs xfs 512M -b size=16k -m reflink=0 -- body
	b=65536
	wanted=$((9 * b))
	spec="XFS 64k" && with_fs xfs 1G -b size=64k -- body
}

@test "data that a call reads into a mapped file is D of the reader: the ledger closes" {
	local fs

	need mkfs.xfs xfsprogs
	body() {
		rm -f run.sqlite*
		(cd "$IOT_MNT" && head -c 64K /dev/urandom >src && for n in 1 2 3; do truncate -s 64K "f$n"; done && sync -f .)
		traced -- python3 -c '
import mmap, os, socket, sys
os.chdir(sys.argv[1])
size = 64 << 10
def area(name):
    return mmap.mmap(os.open(name, os.O_RDWR), size)
one, two = socket.socketpair()
one.sendall(bytes(20 << 10))
m, at = area("f1"), 0
while at < 20 << 10:
    at += two.recv_into(memoryview(m)[at:])
os.preadv(os.open("src", os.O_RDONLY), [area("f2")], 0)
os.preadv(os.open("src", os.O_RDONLY | os.O_DIRECT), [area("f3")], 0)
' "$IOT_MNT"
		"$analyze" verify run.sqlite >verify.txt || fail "$fs: $(grep MISMATCH verify.txt)"
		same "$fs: D, W" "$(sql "SELECT SUM(l.dirtied), SUM(l.written), MIN(p.comm), MAX(p.comm) FROM ledger l JOIN file f ON f.id = l.file JOIN process p ON p.id = l.owner
			WHERE f.path LIKE '$IOT_MNT/f_'")" "151552 151552 python3 python3"
	}
	for fs in $(by_turns ext4 xfs); do
		with_fs "$fs" 512M -- body
	done
}

@test "data that io_uring and libaio read into a mapped file is D of the reader" {
	local fs engine direct

	need mkfs.xfs xfsprogs
	need mkfs.btrfs btrfs-progs
	cat >readers <<-'S'
		for engine in io_uring libaio; do
			for direct in 0 1; do
				fio --name=x --filename="$1/src" --size=1M --ioengine=$engine --direct=$direct --rw=read --bs=16k --iodepth=4 \
					--iomem=mmapshared:"$1/$engine.$direct" --output=fio.log || exit
			done
		done
	S
	body() {
		rm -f run.sqlite*
		(cd "$IOT_MNT" && head -c 1M /dev/urandom >src && truncate -s 256K {io_uring,libaio}.{0,1} && sync -f .)
		traced -- sh readers "$IOT_MNT"
		"$analyze" verify run.sqlite >verify.txt || fail "$fs: $(grep MISMATCH verify.txt)"
		for engine in io_uring libaio; do
			for direct in 0 1; do
				same "$fs, $engine, $direct: D is W, all is fio's" "$(sql "SELECT SUM(l.dirtied) = SUM(l.written), SUM(l.dirtied) >= 65536, MIN(p.comm), MAX(p.comm)
					FROM ledger l JOIN file f ON f.id = l.file JOIN process p ON p.id = l.owner WHERE f.path = '$IOT_MNT/$engine.$direct'")" "1 1 fio fio"
			done
		done
	}
	for fs in $(by_turns ext4 xfs btrfs); do
		with_fs "$fs" 512M -- body
	done
}

@test "data that a call reads over another's dirty mapped pages is the reader's" {
	local fs

	need mkfs.xfs xfsprogs
	body() {
		rm -f run.sqlite*
		traced -- sh -c 'dd if=/dev/zero of="$0/f" bs=64k count=1 status=none && exec python3 -c "
import mmap, os, socket, sys
m = mmap.mmap(os.open(sys.argv[1] + \"/f\", os.O_RDWR), 64 << 10)
one, two = socket.socketpair()
one.sendall(bytes(20 << 10))
at = 0
while at < 20 << 10:
    at += two.recv_into(memoryview(m)[at:])
" "$0"' "$IOT_MNT"
		[ "$(total bytes "kind = 'fs_write' AND cause = 'data' AND dev = '$IOT_DEVNO' AND comm = 'dd'")" -le $((44 << 10)) ] || fail "$fs: dd has what was written over"
		[ "$(total bytes "kind = 'fs_write' AND cause = 'data' AND dev = '$IOT_DEVNO' AND comm = 'python3'")" -ge 4096 ] || fail "$fs: the page of the fault is not who reads into it"
		same "$fs: in all" "$(total bytes "kind = 'fs_write' AND cause = 'data' AND dev = '$IOT_DEVNO'")" 65536
	}
	for fs in $(by_turns ext4 xfs); do
		with_fs "$fs" 512M -- body
	done
}

@test "data that a direct read puts over another's dirty mapped pages is the reader's" {
	local fs engine

	need mkfs.xfs xfsprogs
	need mkfs.btrfs btrfs-progs
	body() {
		for _ in 1 2 3 4 5; do # unless somebody's sync came in between
			rm -f run.sqlite*
			(cd "$IOT_MNT" && rm -f map.* && head -c 1M /dev/urandom >src && sync -f .)
			traced -- sh -c 'for engine in psync libaio io_uring; do
				dd if=/dev/zero of="$0/map.$engine" bs=64k count=4 status=none && fio --name=x --filename="$0/src" --size=1M --ioengine=$engine \
					--direct=1 --rw=read --bs=64k --iodepth=1 --iomem=mmapshared:"$0/map.$engine" --output=fio.log || exit
				done' "$IOT_MNT"
			[ "$(sql "SELECT COUNT(*) FROM (SELECT path FROM v_event WHERE kind = 'fs_write' AND path GLOB '$IOT_MNT/map.*' GROUP BY path HAVING SUM(bytes) = 262144)")" != 3 ] || break
		done
		"$analyze" verify run.sqlite >verify.txt || fail "$fs: $(grep MISMATCH verify.txt)"
		for engine in psync libaio io_uring; do
			same "$fs, $engine: W of both" "$(sql "SELECT owner_comm || ' ' || SUM(bytes) FROM v_event WHERE kind = 'fs_write' AND cause = 'data'
				AND path = '$IOT_MNT/map.$engine' GROUP BY owner_comm ORDER BY 1" | tr '\n' ' ')" "dd 196608 fio 65536 "
		done
	}
	for fs in $(by_turns ext4 xfs btrfs); do
		with_fs "$fs" 512M -- body
	done
}

@test "direct I/O of a block device with shared memory is direct, and its caller's" {
	body() {
		head -c 256K /dev/urandom >other
		traced -- python3 -c '
import mmap, os, sys
device = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
shared = mmap.mmap(-1, 256 << 10)
shared[:] = os.urandom(256 << 10)
os.pwritev(device, [shared], 0)
os.pwritev(device, [mmap.mmap(os.open("other", os.O_RDWR), 256 << 10)], 1 << 20)
os.preadv(device, [shared], 1 << 20)
' "$IOT_DEV"
		for kind in fs_write block_write; do
			same "$kind" "$(total bytes "kind = '$kind' AND cause = 'direct' AND dev = '$IOT_DEVNO' AND comm = 'python3'")" $((512 << 10))
		done
		same read "$(total bytes "kind = 'block_read' AND cause = 'direct' AND dev = '$IOT_DEVNO' AND comm = 'python3'")" $((256 << 10))
		same "no file's" "$(total bytes "kind LIKE 'fs_%' AND cause = 'data' AND dev = '$IOT_DEVNO'")" 0
	}
	with_fs none 64M -- body
}

@test "XFS that is shut down in the run: owners stay, verify agrees, all is unmounted" {
	need mkfs.xfs xfsprogs
	body() {
		echo "$IOT_MNT" > where
		traced --dev "${IOT_DEV#/dev/}" -- sh -c "dd if=/dev/zero of=$IOT_MNT/a bs=64k count=16 conv=fsync status=none
			xfs_io -x -c shutdown $IOT_MNT
			dd if=/dev/zero of=$IOT_MNT/b bs=64k count=16 conv=fsync status=none || :" 2> said
		same "data" "$(written "cause = 'data' AND comm = 'dd'")" $((1 << 20))
		"$analyze" verify "$store"
	}
	with_fs xfs 320M -- body
	! grep -F " $(<where) " /proc/self/mounts || fail "it is still mounted"
}

@test "31 pages stored to through a mapping are dirtied once each, in both block sizes" {
	local type

	body() {
		traced -- python3 -c "
import mmap, os
f = os.open('$IOT_MNT/f', os.O_RDWR | os.O_CREAT)
os.ftruncate(f, 1 << 20)
m = mmap.mmap(f, 1 << 20)
for page in range(31): m[page * 8 * 4096] = 5
m.flush()"
		same "$type: sums" "$(q "SELECT SUM(ops), SUM(bytes) FROM c WHERE kind = 'dirty_mmap' AND comm = 'python3' AND dev = '$IOT_DEVNO'")" "31 126976"
		same "$type: events" "$(sql "SELECT COUNT(*), SUM(bytes) FROM v_event WHERE kind = 'dirty_mmap' AND owner_comm = 'python3' AND path = '$IOT_MNT/f'")" "31 126976"
		same "$type: ledger" "$(q "SELECT SUM(dirtied), SUM(written) FROM l WHERE path = '$IOT_MNT/f'")" "126976 126976"
		rm "$store"*
	}
	for type in "ext4 64M -b 4096" "ext4 64M -b 1024" "xfs 400M"; do
		# shellcheck disable=SC2086 # a type, a size and options
		with_fs $type -- body
	done
}
