# SPDX-License-Identifier: GPL-3.0-only
# rings.bats - io_uring and libaio beyond single requests: the owner of each page on the device, D is W, and nothing is unexplained.
# Every test runs on each file system.

load ../lib/helper

setup() {
	own_run python3:python3-minimal mkfs.xfs:xfsprogs mkfs.btrfs:btrfs-progs
	export WANT=$PWD/want
}

# Runs scene.py, in a folder of each file system, and compares with what it wanted.
scene() { # DIRECT [BESIDE]: bytes of D that are direct, but for btrfs, where there are checksums; bytes by which a file may be beside it
	local fs beside=${2-0}

	body() {
		rm -f "$WANT" run.sqlite*
		(cd "$IOT_MNT" && FS=$1 PYTHONPATH=$root/tests/lib PYTHONDONTWRITEBYTECODE=1 traced -- python3 "$BATS_TEST_TMPDIR/scene.py")
		same "$1: unexpected, still dirty, D is W" \
			"$(q "SELECT path, SUM(unexpected), SUM(dirty_end), SUM(dirtied) - SUM(written) FROM l WHERE path GLOB '$IOT_MNT/*'
				GROUP BY path HAVING SUM(unexpected) > $beside OR SUM(dirty_end) > $beside OR abs(SUM(dirtied) - SUM(written)) > $beside")" ""
		same "$1: direct" "$(q "SELECT SUM(direct) FROM l WHERE path GLOB '$IOT_MNT/*'")" "$([ "$1" = btrfs ] && echo 0 || echo "$2")"
		empty "$1: lost" "$(q "SELECT what, n FROM lost JOIN r USING (run) WHERE n > 0")"
		[ ! -e "$WANT" ] || empty "$1: W that others have" "$(q ", want AS (SELECT substr(v, 1, instr(v, ' ') - 1) AS path, CAST(substr(v, instr(v, ' ') + 1) AS INTEGER) AS pid,
				SUM(substr(v, instr(v, ' ') + 1 + instr(substr(v, instr(v, ' ') + 1), ' '))) AS bytes
				FROM (SELECT value AS v FROM json_each('[\"' || replace(trim(readfile('$WANT'), char(10)), char(10), '\",\"') || '\"]')) GROUP BY 1, 2),
			got AS (SELECT f.path, p.pid, SUM(e.bytes) AS bytes FROM event e JOIN r ON r.run = e.run JOIN kind k ON k.id = e.kind
				JOIN cause z ON z.id = e.cause JOIN file f ON f.run = e.run AND f.id = e.file JOIN process p ON p.run = e.run AND p.id = e.owner
				WHERE k.name = 'fs_write' AND z.name IN ('data', 'direct') GROUP BY 1, 2)
			SELECT path, pid, 'wanted', want.bytes, 'got', got.bytes FROM want LEFT JOIN got USING (path, pid) WHERE got.bytes IS NULL OR abs(want.bytes - got.bytes) > $beside;")"
	}
	for fs in $(by_turns ext4 xfs btrfs); do with_fs $fs 500M -- body $fs "$1"; done
}

@test "write-through requests of io_uring are their process's: linked, draining, timed" {
	cat > scene.py <<-'P'
		import ctypes, os, rings, struct, threading
		from rings import *
		def through(name, flags=0, setup=0, n=4):
		    over(name)
		    ring, fd = Ring(flags=setup), opened(name, os.O_DSYNC)
		    for i in range(n):
		        ring.q(WRITE, fd, 4 * i * PAGE, PAGE, flags if i < n - 1 else flags & ~(LINK | HARDLINK))
		    assert ring.go() == [PAGE] * n
		    want(name, n)
		through("plain")
		through("linked", LINK)
		through("hard", HARDLINK)
		through("draining", DRAIN)
		through("async", LINK | ASYNC)
		through("polled", LINK, SQPOLL)
		through("deferred", LINK, DEFER | SINGLE)
		through("wide", LINK, SQE128 | CQE32)
		# one after the other, into two files
		over("a"), over("b")
		ring, a, b, c = Ring(), opened("a", os.O_DSYNC), opened("b", os.O_DSYNC), opened("c")
		ring.q(WRITE, a, 0, 3 * PAGE, LINK)
		ring.q(WRITE, b, 8 * PAGE, 5 * PAGE, LINK)
		ring.q(WRITE, c, 0, PAGE, LINK)
		ring.q(FSYNC, c)
		assert ring.go() == [3 * PAGE, 5 * PAGE, PAGE, 0]
		want("a", 3), want("b", 5), want("c", 1)
		# each with a timeout
		over("timeout")
		fd, ts = opened("timeout", os.O_DSYNC), ctypes.create_string_buffer(struct.pack("QQ", 100, 0))
		for i in range(3):
		    ring.q(WRITE, fd, 4 * i * PAGE, PAGE, LINK)
		    ring.q(LINK_TIMEOUT, -1, 0, 1, where=ctypes.addressof(ts))
		assert ring.go()[::2] == [PAGE] * 3
		want("timeout", 3)
		# calls of a thread that has a request under way, and what waits for that
		over("called"), over("waits")
		called, waits, (r, w), first = opened("called", os.O_DSYNC), opened("waits", os.O_DSYNC), os.pipe(), ring.number
		ring.q(READ, r, 0, 100, LINK)
		ring.q(WRITE, waits, 0, 2 * PAGE, LINK)
		ring.q(WRITE, waits, 8 * PAGE, PAGE)
		ring.submit()
		for i in range(4):
		    os.pwrite(called, bytes(PAGE), 4 * i * PAGE)
		os.write(w, bytes(100))
		assert ring.wait(range(first, first + 3)) == [100, 2 * PAGE, PAGE]
		want("called", 4), want("waits", 3)
		# one pending alone: a thread that waits for events, and writes by calls
		over("events")
		events, first = opened("events", os.O_DSYNC), ring.number
		ring.q(READ, r, 0, 100)
		ring.submit()
		for i in range(4):
		    os.pwrite(events, bytes(PAGE), 4 * i * PAGE)
		os.write(w, bytes(100))
		ring.wait([first])
		want("events", 4)
		# by a child, and by threads
		over("shared")
		shared = opened("shared", os.O_DSYNC)
		def two(at):
		    first = ring.number
		    ring.q(WRITE, shared, at * PAGE, PAGE)
		    ring.q(WRITE, shared, (at + 2) * PAGE, PAGE)
		    ring.submit()
		    assert ring.wait([first, first + 1]) == [PAGE] * 2
		want("shared", 2, child(lambda: two(0)))
		for n in 1, 2:
		    t = threading.Thread(target=two, args=(8 * n,))
		    t.start(), t.join()
		want("shared", 4)
	P
	scene 0
}

@test "io_uring requests without completions, at a file's end and position: D is W" {
	cat > scene.py <<-'P'
		import os, rings, time
		from rings import *
		SIZE = 5 * PAGE // 2
		def until(fd, size):
		    while os.fstat(fd).st_size < size:
		        time.sleep(0.01)
		def skipped(name, flags, *mode):
		    ring, fd = Ring(), opened(name, *mode)
		    for n in range(4):  # the structs are used again
		        for i in range(8):
		            ring.q(WRITE, fd, -1, SIZE, flags | (LINK if i < 7 and not mode else 0))
		        ring.submit()
		        until(fd, 8 * SIZE * (n + 1))
		    want(name, 8 * 4 * SIZE // PAGE)
		skipped("end", SKIP, os.O_APPEND)
		skipped("async", SKIP | ASYNC, os.O_APPEND)
		skipped("position", SKIP | ASYNC)
		# too many completions; the ring ends with them
		ring, fd = Ring(entries=2, cq=2), opened("many", os.O_APPEND)
		for n in range(10):
		    for i in range(2):
		        ring.q(WRITE, fd, -1, 3 * PAGE, ASYNC)
		    ring.submit()
		    until(fd, 6 * PAGE * (n + 1))
		want("many", 60)
	P
	scene 0
}

@test "io_uring requests that cut a file, zero it, make a hole: the rest of blocks is D" {
	cat > scene.py <<-'P'
		import os, rings
		from rings import *
		ring = Ring()
		for name, *request in ("cut", FTRUNCATE, 5000), ("grow", FTRUNCATE, 50000), ("zero", FALLOCATE, 5000, 16), ("hole", FALLOCATE, 5000, 3):
		    fd = opened(name)
		    os.pwrite(fd, bytes(10000), 0)
		    os.fsync(fd)
		    ring.q(request[0], fd, request[1], *request[2:], where=2000 if request[2:] else 0)
		    if ring.go()[0] == -22:  # before 6.9
		        os.ftruncate(fd, request[1])
		    os.fsync(fd)
	P
	scene 0
}

@test "direct writes of io_uring, unaligned ones through the cache, in every form" {
	cat > scene.py <<-'P'
		import os, rings, time
		from rings import *
		btrfs = os.environ["FS"] == "btrfs"
		def direct(name, flags=0, setup=0):
		    at = 512 if btrfs else 0
		    over(name, 64)
		    ring, fd = Ring(flags=setup), opened(name, os.O_DIRECT)
		    for i in range(8):
		        ring.q(WRITE, fd, 8 * i * PAGE + at, PAGE, flags if i < 7 else flags & ~LINK)
		    if flags & SKIP:
		        ring.submit()
		        time.sleep(0.5)
		    else:
		        assert ring.go() == [PAGE] * 8
		    want(name, 16 if at else 8)
		direct("plain")
		direct("linked", LINK)
		direct("draining", DRAIN)
		direct("async", ASYNC)
		direct("skipped", SKIP)
		direct("deferred", 0, DEFER | SINGLE)
		direct("deferred_linked", LINK, DEFER | SINGLE)
		direct("polled", LINK, SQPOLL)
	P
	scene $((8 * 8 * 4096))
}

@test "one io_submit with refused requests: D is W, and each other has its own" {
	cat > scene.py <<-'P'
		import os, rings, time
		from rings import *
		def some(name, mode, at, size, bad, before=0):
		    plain, fd = opened(name, 0, mode)
		    if before:
		        os.pwrite(plain, bytes(before), 0)
		        os.fsync(plain)
		    wanted = [REFUSED if n in bad else size for n in range(6)]
		    assert aio([(fd, at + 2 * n * size, size, 0, NOWHERE if n in bad else address(memory)) for n in range(6)]) == wanted
		some("end", 0, 0, PAGE, (1, 3, 5))
		some("synced", os.O_DSYNC, 0, PAGE, (1, 3, 5))
		some("parts", os.O_DSYNC, 10000, 3000, (1, 3, 5), 9000)
		some("all", os.O_DSYNC, 5000, PAGE, range(6), 5000)
		some("append", os.O_APPEND, 0, PAGE, (1, 3, 5), 5000)
		for i in range(4):
		    time.sleep(0.2)  # until a ring that is gone gives its context to the next
		    some("append_synced%d" % i, os.O_APPEND | os.O_DSYNC, 0, PAGE, (1, 3, 5), 5000)
		# what another has dirty
		over("over")
		fd = opened("over", os.O_DSYNC)
		assert aio([(fd, 4 * n * PAGE, 2 * PAGE, 0, NOWHERE if n % 2 else address(memory)) for n in range(8)]) == [2 * PAGE, REFUSED] * 4
		want("over", 8)
	P
	scene 0
}

@test "an empty first vector of libaio, a long chain of io_uring: each has its own" {
	cat > scene.py <<-'P'
		import ctypes, os, rings, struct
		from rings import *
		over("vectors")
		fd = opened("vectors", os.O_DSYNC)
		vectors = ctypes.create_string_buffer(struct.pack("4Q", 0, 0, address(memory), PAGE))
		assert aio([(fd, 4 * n * PAGE, 2, 0, ctypes.addressof(vectors)) for n in range(3)], PWRITEV) == [PAGE] * 3
		want("vectors", 3)
		over("long", 100)
		ring, fd = Ring(), opened("long", os.O_DSYNC)
		for n in range(24):
		    ring.q(WRITE, fd, 4 * n * PAGE, PAGE, LINK if n < 23 else 0)
		assert ring.go() == [PAGE] * 24
		want("long", 24)
	P
	scene 0
}

@test "thousands of synced writes of parts of blocks by three processes: D is W" {
	cat > scene.py <<-'P'
		import os, rings
		from rings import *
		def many(name):
		    fd = opened(name, os.O_DSYNC)
		    assert aio([(fd, 100 * n, 100, 0) for n in range(2000)]) == [100] * 2000
		names = "a", "b", "c"
		for name in names:
		    if not os.fork():
		        many(name)
		        os._exit(0)
		for name in names:
		    assert os.wait()[1] == 0
	P
	scene 0
	body() {
		rm -f run.sqlite*
		(cd "$IOT_MNT" && PYTHONPATH=$root/tests/lib PYTHONDONTWRITEBYTECODE=1 traced --table aio_times=32 -- python3 "$BATS_TEST_TMPDIR/scene.py")
		same "lost" "$(q "SELECT what, SUM(n > 1000) FROM lost JOIN r USING (run) WHERE n > 0 GROUP BY 1")" "libaio: when requests wrote, table full 1"
		same "not above W" "$(q "SELECT SUM(dirtied) < SUM(written) FROM l WHERE path GLOB '$IOT_MNT/*'")" 1
	}
	with_fs xfs 500M -- body
}

# A page that is written over between being taken for writeback and being submitted goes to the later writer (iot-trace(8), CAVEATS).
@test "two rings write through into one file over shared folios: owners are exact" {
	cat > scene.py <<-'P'
		import os, rings
		from rings import *
		def chain(name, first, gate):
		    ring, fd = Ring(), opened(name, os.O_DSYNC)
		    for n in range(8):
		        ring.q(WRITE, fd, (4 * n + first) * PAGE, PAGE, LINK if n < 7 else 0)
		    os.read(gate, 1)
		    assert ring.go() == [PAGE] * 8
		for n in range(40):
		    name, (gate, opens), pids = "f%d" % n, os.pipe(), []
		    if n % 2:
		        over(name, 64)
		    else:
		        fd = opened(name)
		        os.pwrite(fd, bytes(64 * PAGE), 0)
		        os.fsync(fd)
		    for first in 0, 2:
		        pid = os.fork()
		        if not pid:
		            chain(name, first, gate)
		            os._exit(0)
		        pids.append(pid)
		    os.write(opens, b"xx")
		    for pid in pids:
		        assert os.waitpid(pid, 0)[1] == 0
		        want(name, 8, pid)
	P
	scene 0 8192
}

@test "one io_submit of direct, synced and buffered writes to several files: D is W" {
	cat > scene.py <<-'P'
		import os, random, rings
		from rings import *
		for seed in range(24):
		    r, files, direct = random.Random(seed), [], 0
		    for n in range(3):
		        name = "%d.%d" % (seed, n)
		        plain, synced, through = opened(name, 0, os.O_DSYNC, os.O_DIRECT)
		        os.pwrite(plain, bytes(r.choice((200000, 100000, 65536))), 0)
		        os.fsync(plain)
		        files.append((plain, synced, through))
		    writes = []
		    for n in range(r.choice((3, 6, 12))):
		        fds, kind, at, size = r.choice(files), r.randrange(3), r.randrange(80) * PAGE, r.choice((1, 2, 3)) * PAGE
		        if kind < 2 and r.random() < 0.5:
		            at, size = at + r.randrange(PAGE), size - r.randrange(PAGE)
		        writes.append((fds[kind], at, size, 0))
		    assert aio(writes) == [w[2] for w in writes]
		    for fds in files:
		        for fd in fds: os.close(fd)
	P
	scene 479232
}

@test "four fio jobs over io_uring on one btrfs file: D is W within 1 %" {
	local how

	need mkfs.btrfs btrfs-progs
	need fio fio
	body() {
		for how in "--bs=1k-9k --bs_unaligned --fdatasync=7" "--bs=4k-64k --direct=1 --sync=dsync"; do
			dd if=/dev/zero of="$IOT_MNT/f" bs=64k count=16 status=none
			sync -f "$IOT_MNT"
			rm -f run.sqlite*
			# shellcheck disable=SC2086 # several options
			traced -- fio --name=x --filename="$IOT_MNT/f" --size=1M --io_size=2M --numjobs=4 --overwrite=1 --rw=randwrite --ioengine=io_uring --iodepth=8 $how > fio.out
			same "$how: D is W, unexpected, still dirty" "$(q "SELECT 100 * abs(SUM(dirtied) - SUM(written)) <= SUM(written), 100 * SUM(unexpected) <= SUM(written),
				100 * SUM(dirty_end) <= SUM(written) FROM l WHERE path = '$IOT_MNT/f'")" "1 1 1"
		done
	}
	with_fs btrfs 500M -- body
}
