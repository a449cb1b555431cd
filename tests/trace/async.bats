# SPDX-License-Identifier: GPL-3.0-only
# async.bats - every byte of io_uring and libaio, by their ledgers, fio and the devices, whichever thread reaps the completion.

load ../lib/helper

setup() { own_run; }

# Rows of the ledger's calls of io_uring and libaio that the run has otherwise, and rows that only the run has.
differences() { # LEDGER COMM
	q ", want AS (SELECT value ->> 'kind' AS kind, value ->> 'type' AS sub, value ->> 'ops' AS ops, value ->> 'bytes' AS bytes,
			value ->> 'errors' AS errors FROM json_each(readfile('$1'), '\$.calls')
			WHERE value ->> 'kind' GLOB 'uring_*' OR value ->> 'kind' GLOB 'aio_*'),
		got AS (SELECT kind, sub, SUM(ops) AS ops, SUM(bytes) AS bytes, SUM(errors) AS errors FROM c
			WHERE comm = '$2' AND (kind IN ('uring_read', 'uring_write', 'uring_fsync') OR kind GLOB 'aio_*') GROUP BY 1, 2)
		SELECT 'ledger', * FROM (SELECT * FROM want EXCEPT SELECT * FROM got)
		UNION ALL SELECT 'run', * FROM (SELECT * FROM got EXCEPT SELECT * FROM want);"
}

lost() { q "SELECT what, n FROM lost JOIN r USING (run) WHERE n > 0;"; }

# Runs iot-io for every line "API ARGS..." on standard input, each under a name and on a file of its own, in one traced run with these
# options, and compares all that they did. An API that reads takes the file that was written by the line before.
exact() { # TRACER OPTIONS
	local n=0 file api args reads name

	{
		echo set -e
		while read -r api args; do
			n=$((n + 1))
			case $api in *-read) ;; *) file=${IOT_MNT:-$PWD}/f$n ;; esac
			ln -sf "$io" "io$n"
			echo "'$PWD/io$n' --file '$file' --from '$PWD/run.sh' --api $api $args > $PWD/$n.json"
			echo "$api $args" > "$n.what"
		done
	} > run.sh
	n=$(grep -c json run.sh)
	rm -f run.sqlite
	traced --no-events "$@" -- sh run.sh
	while [ "$n" -gt 0 ]; do
		name=$(cat "$n.what")
		empty "$name: ledger against run" "$(differences "$n.json" "io$n")"
		same "$name: blocks touched" \
			"$(total touched "comm = 'io$n' AND (kind GLOB 'uring_*' OR kind GLOB 'aio_*')")" "$(ledger "$n.json" touched)"
		n=$((n - 1))
	done
	empty "lost" "$(lost)"
}

both() { # ARGS... : every API of standard input, writing and reading
	while read -r api; do
		printf '%s\n' "$api $*" "$api-read $*"
	done
}

@test "509 io_uring requests of 4099 bytes are 2086391 bytes in every form (defect 14)" {
	body() {
		printf 'uring%s\n' '' -sqpoll -async -skip -overflow -vector -fixed -position | both --count 509 --size 4099 --depth 37 | exact
		same "bytes of one" "$(total bytes "comm = 'io7' AND kind = 'uring_write'")" 2086391
	}
	with_fs ext4 64M -- body
}

@test "vectors of registered buffers are counted (defect 16)" {
	"$io" --api uring-fixed-vector --file f --count 1 --size 4099 > /dev/null || skip "vectors of registered buffers are missing: Linux before 6.15"
	echo uring-fixed-vector | both --count 509 --size 4099 --depth 37 | exact
}

@test "direct io_uring and libaio: requests of 8192 bytes, any order, any submitter" {
	body() {
		printf '%s\n' uring uring-sqpoll uring-async uring-skip uring-overflow uring-fixed libaio libaio-user |
			both --count 509 --size 8192 --depth 37 --pattern rand --direct | exact
	}
	with_fs ext4 128M -- body
}

@test "splice by io_uring has two sides, and appends are at the old end (defect 16)" {
	printf '%s --count 101 --size 4099\n' uring-append uring-splice uring-splice-read | exact
}

@test "io_uring on /proc is no file I/O (defect 16)" {
	echo uring-proc --count 13 | exact
	same "bytes of files" "$(total bytes "comm = 'io1' AND kind = 'uring_read' AND sub IN ('regular', 'blockdev')")" 0
}

@test "requests of io_uring that fail move nothing" {
	echo uring-bad --count 13 | exact
	same "errors" "$(total errors "comm = 'io1' AND kind = 'uring_write'")" 26
}

@test "io_submit of 1, 37, 2048 and 2049 requests, reaped in each way (defect 15)" {
	for depth in 1 37 2048 2049; do
		printf '%s\n' libaio libaio-user libaio-vector | both --count 4100 --size 4099 --depth "$depth"
	done | exact
}

@test "libaio is exact without a clock too" {
	printf '%s\n' libaio libaio-user | both --count 4100 --size 4099 --depth 37 | exact --latency none
}

@test "failing calls of libaio, a stranger's or one's own, are no loss (defects 15, 20)" {
	ln -sf "$io" "$BATS_TEST_TMPDIR/stranger"
	"$BATS_TEST_TMPDIR/stranger" --api libaio-bad --count 100000 --pause 1 & # no function: that is a shell, which is killed in its place
	stranger=$!
	printf '%s\n' 'libaio --count 509 --size 4099 --depth 37' 'libaio-bad --count 101' | exact
	kill -0 "$stranger"
	kill "$stranger"
	wait "$stranger" || :
}

# Bytes that the file system submitted for a path, of one cause.
submitted() { # KIND CAUSE PATH
	q "SELECT COALESCE(SUM(e.bytes), 0) FROM event e JOIN r ON r.run = e.run JOIN kind k ON k.id = e.kind JOIN cause z ON z.id = e.cause
		JOIN file f ON f.run = e.run AND f.id = e.file WHERE k.name = '$1' AND z.name = '$2' AND f.path = '$3';"
}

@test "direct I/O of io_uring and libaio has its file, by any thread (defect 16)" {
	body() {
		local apis='uring uring-sqpoll uring-async uring-fixed libaio direct'

		for api in $apis; do
			"$io" --api write --file "$IOT_MNT/$api" --count 101 --size 8192 --sync fsync > /dev/null
			echo "'$io' --api $api --file '$IOT_MNT/$api' --count 101 --size 8192 --direct > /dev/null"
		done > run.sh
		traced --dev "$IOT_DEV" -- sh run.sh
		for api in $apis; do
			same "$api" "$(submitted fs_write direct "$IOT_MNT/$api")" 827392
		done
	}
	with_fs ext4 64M -- body
}

@test "direct I/O on a block device has its node" {
	body() {
		fs_umount
		for api in uring libaio; do
			rm -f run.sqlite
			traced -- "$io" --api "$api" --file "$IOT_DEV" --count 101 --size 8192 --depth 11 --direct > /dev/null
			same "$api" "$(submitted fs_write direct "$IOT_DEV")" 827392
		done
	}
	with_fs ext4 64M -- body
}

@test "a file opened before the run and used by io_uring alone has its path (defect 16)" {
	"$io" --api uring --file "$PWD/early" --count 10000 --pause 20 > /dev/null &
	pid=$!
	sleep 0.5
	traced -d 1 --pid "$pid"
	kill -0 "$pid" # it was there all the time
	kill "$pid"
	wait "$pid" || :
	same "path" "$(q "SELECT path FROM file JOIN r USING (run) WHERE path GLOB '*/early';")" "$PWD/early"
	empty "lost" "$(lost)"
}

# Bytes of file data that reached the device, by owner.
data_of() { # COMM
	total bytes "comm = '$1' AND kind = 'block_write' AND cause = 'data' AND dev = '$2'"
}

@test "pages that io_uring writes over are its own, without completions too" {
	body() {
		local dev apis='uring uring-async uring-skip uring-overflow uring-dsync libaio'

		dev=$(lsblk -nro MAJ:MIN "$IOT_DEV" | tr -d ' ')
		ln -sf "$io" first
		for api in $apis; do
			ln -sf "$io" "$api"
			echo "'$PWD/first' --api write --file '$IOT_MNT/$api' --count 64 --size 4096 > /dev/null"
			echo "'$PWD/$api' --api $api --file '$IOT_MNT/$api' --count 16 --size 4096 --depth 16 > /dev/null"
		done > run.sh
		echo "sync -f '$IOT_MNT'" >> run.sh
		traced --no-events -- sh run.sh
		same "of the first" "$(data_of first "$dev")" $((6 * 48 * 4096))
		for api in $apis; do
			same "$api" "$(data_of "$api" "$dev")" $((16 * 4096))
		done
	}
	with_fs ext4 64M -- body
}

# fio's own numbers of bytes, without layout and threads' start: "read written".
fio_bytes() { sqlite3 -separator ' ' :memory: "SELECT json_extract(readfile('$1'), '\$.jobs[0].read.io_bytes'), json_extract(readfile('$1'), '\$.jobs[0].write.io_bytes');"; } # FILE

# One process dirties 32 pages of a file, another writes to it by one io_submit of 5 requests, each of which is on the device before the
# next one is copied. FLAGS: s O_SYNC, a O_APPEND, x O_DIRECT, and not aligned.
several_in_one() { # FLAGS LENGTH STEP FIRST PAGES_THAT_THE_SECOND_WRITES
	local all="kind = 'fs_write' AND cause = 'data'"

	rm -f run.sqlite
	traced -- sh -c "./first several.py $IOT_MNT/f; ./second several.py $IOT_MNT/f $1 $2 $3 $4; sync -f $IOT_MNT"
	same "$1 $2 $3 $4: W of the second" "$(total bytes "$all AND comm = 'second'")" $(($5 * 4096))
	same "$1 $2 $3 $4: unexpected or still dirty" "$(q "SELECT SUM(unexpected) + SUM(dirty_end) FROM l WHERE comm IN ('first', 'second')")" 0
	same "$1 $2 $3 $4: D is W" "$(q "SELECT SUM(dirtied) FROM l WHERE comm IN ('first', 'second')")" "$(total bytes "$all AND comm IN ('first', 'second')")"
}

@test "several write-through requests of one io_submit are each its writer's; D is W" {
	need python3 python3-minimal
	cat > several.py <<-'P'
		import ctypes, mmap, os, struct, sys
		path, flags = sys.argv[1], (sys.argv[2:] + [""])[0]
		fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_SYNC * ("s" in flags) | os.O_APPEND * ("a" in flags) | os.O_DIRECT * ("x" in flags))
		if not flags: sys.exit(os.pwrite(fd, b"x" * 131072, 0) != 131072)
		size, step, at = map(int, sys.argv[3:])
		libc, m, io, events = ctypes.CDLL(None), mmap.mmap(-1, size), ctypes.c_uint64(0), ctypes.create_string_buffer(5 * 32)
		memory = ctypes.addressof(ctypes.c_char.from_buffer(m))
		blocks = [ctypes.create_string_buffer(struct.pack("QIiHhIQQqQII", n, 0, 0, 1, 0, fd, memory, size, at + n * step, 0, 0, 0)) for n in range(5)]
		assert libc.syscall(206, 5, ctypes.byref(io)) == 0  # io_setup
		assert libc.syscall(209, io, ctypes.c_long(5), (ctypes.c_void_p * 5)(*map(ctypes.addressof, blocks))) == 5  # io_submit
		assert libc.syscall(208, io, ctypes.c_long(5), ctypes.c_long(5), events, None) == 5  # io_getevents
		assert all(struct.unpack_from("q", events, 32 * n + 16)[0] == size for n in range(5))
	P
	for name in first second; do ln -sf "$(python3 -c 'import sys; print(sys.executable)')" $name; done
	body() {
		several_in_one s 4096 8192 0 5
		several_in_one s 8192 4096 100 15 # three pages each
		several_in_one sa 4096 0 0 5
		[ "$1" != btrfs ] || several_in_one x 4096 12288 1 10 # two pages each
	}
	for fs in $(by_turns ext4 xfs btrfs); do
		command -v mkfs.$fs > where || continue
		with_fs $fs 400M -- body $fs
	done
}

@test "fio's bytes are the run's: libaio and io_uring, direct and not, reaped both ways" {
	need fio fio
	body() {
		head -c 8M /dev/zero > "$IOT_MNT/fio"
		cat >ways <<-EOF
			aio --ioengine=libaio --iodepth=16 --direct=1
			aio-buffered --ioengine=libaio --iodepth=16 --direct=0
			aio-user --ioengine=libaio --iodepth=16 --direct=1 --userspace_reap
			aio-user-buf --ioengine=libaio --iodepth=16 --direct=0 --userspace_reap
			uring --ioengine=io_uring --iodepth=16 --direct=1
			uring-buffered --ioengine=io_uring --iodepth=16 --direct=0
			uring-fixed --ioengine=io_uring --iodepth=16 --direct=1 --registerfiles --fixedbufs
			uring-sqpoll --ioengine=io_uring --iodepth=16 --direct=1 --sqthread_poll
		EOF
		# each under a name of its own
		while read -r name _; do ln -sf "$(command -v fio)" "$name"; done <ways
		# shellcheck disable=SC2016 # the traced shell's
		traced --no-events -- sh -ec 'while read -r name options; do
			"./$name" --name=x --filename="$0/fio" --rw=randrw --bs=4k --size=8M --io_size=4M --thread=0 --output-format=json --output="$name.json" $options
		done <ways' "$IOT_MNT"
		while read -r name _; do
			same "$name" "$(total bytes "comm = '$name' AND layer IN ('syscall', 'uring') AND kind IN ('aio_read', 'uring_read')") $(
				total bytes "comm = '$name' AND kind IN ('aio_write', 'uring_write')")" "$(fio_bytes "$name.json")"
		done <ways
		empty "lost" "$(lost)"
	}
	with_fs ext4 64M -- body
}

@test "linked io_uring requests: a page that 16 write through is D 16 times" {
	local fs

	need mkfs.xfs xfsprogs
	need mkfs.btrfs btrfs-progs
	body() {
		rm -f "$BATS_TEST_TMPDIR"/run.sqlite*
		traced -- "$io" --api uring-dsync --file "$IOT_MNT/f" --count 16 --size 4096 --pattern fixed --depth 16 >/dev/null
		"$analyze" verify run.sqlite >verify.txt || fail "$fs: $(grep MISMATCH verify.txt)"
		same "$fs: D, W, unexplained" "$(sql "SELECT SUM(l.dirtied), SUM(l.written), SUM(l.unexpected) FROM ledger l JOIN file f ON f.id = l.file WHERE f.path = '$IOT_MNT/f'")" "65536 65536 0"
	}
	cd "$BATS_TEST_TMPDIR"
	for fs in $(by_turns ext4 xfs btrfs); do
		MOUNT_OPTS=$([ "$fs" != btrfs ] || echo max_inline=0) with_fs "$fs" 512M -- body
	done
}

# A request that begins before a page is submitted, waits for that, and makes it dirty again is no part of what was submitted.
@test "four processes write and sync one file by libaio: all of W was dirtied" {
	local fs depth

	need mkfs.xfs xfsprogs
	need mkfs.btrfs btrfs-progs
	body() {
		truncate -s 4M "$IOT_MNT/f"
		for depth in 1 8; do
			rm -f "$BATS_TEST_TMPDIR"/run.sqlite*
			traced -- fio --name=x --filename="$IOT_MNT/f" --ioengine=libaio --rw=randwrite --norandommap --bs=1000 --ba=1000 --size=4M --io_size=2M \
				--numjobs=4 --iodepth=8 --iodepth_batch=8 --iodepth_batch_complete_min=$depth --fsync=32 --fallocate=none --output=fio.txt
			same "$fs, $depth: D is W, unexpected, still dirty" "$(sql "SELECT SUM(l.dirtied) = SUM(l.written), SUM(l.unexpected), SUM(l.dirty_end)
				FROM ledger l JOIN file f ON f.id = l.file WHERE f.path = '$IOT_MNT/f'")" "1 0 0"
		done
	}
	cd "$BATS_TEST_TMPDIR"
	for fs in $(by_turns ext4 xfs btrfs); do
		MOUNT_OPTS=$([ "$fs" != btrfs ] || echo max_inline=0) with_fs "$fs" 512M -- body
	done
}

# A scene of Python with tests/lib/rings.py, traced, and its ledger: D is W, nothing is unexplained or still dirty, and S, D that is direct.
ring_scene() { # NAME S DIRECT
	rm -f "$BATS_TEST_TMPDIR"/run.sqlite*
	(cd "$IOT_MNT" && PYTHONPATH=$root/tests/lib PYTHONDONTWRITEBYTECODE=1 traced -- python3 "$BATS_TEST_TMPDIR/scene.py")
	same "$1: S" "$(total bytes "comm = 'python3' AND sub = 'regular' AND kind IN ('pwrite64', 'aio_write', 'uring_write')")" "$2"
	same "$1: unexpected, still dirty, D is W, direct" \
		"$(q "SELECT SUM(unexpected), SUM(dirty_end), SUM(dirtied) = SUM(written), SUM(direct) FROM l WHERE path GLOB '$IOT_MNT/*'")" "0 0 1 $3"
}

@test "one io_submit of direct, synced and buffered writes: each is what it is, D is W" {
	cat > scene.py <<-'P'
		import os, rings
		def opened(name, *flags):
		    fd = os.open(name, os.O_RDWR | os.O_CREAT)
		    os.pwrite(fd, b"x" * 200000, 0)
		    os.fsync(fd)
		    return [os.open(name, os.O_RDWR | f) for f in flags]
		plain, synced, direct = opened("one", 0, os.O_DSYNC, os.O_DIRECT)
		assert rings.aio([(synced, 176128, 100, 0), (synced, 241664, 65536, 0), (plain, 118494, 20000, rings.RWF_SYNC),
		                  (direct, 32768, 12288, 0)]) == [100, 65536, 20000, 12288]
		# each grows its file, of which the rest of the last block is zeroed
		files = [opened("several%d" % n, 0, os.O_DSYNC, os.O_DIRECT) for n in range(3)]
		assert rings.aio([(f[n], 245760 + 4096 * n, 8192, 0) for n, f in enumerate(files)] * 2) == [8192] * 6
		# two files in turn
		(a,), (b,) = opened("a", 0), opened("b", 0)
		assert rings.aio([(fd, 221184 - 16384 * n, 4096, 0) for n in range(3) for fd in (a, b)]) == [4096] * 6
	P
	body() {
		ring_scene "$1" $((6 * 200000 + 97924 + 6 * 8192 + 6 * 4096)) $((12288 + 2 * 8192))
	}
	with_fs ext4 400M -- body ext4
}

@test "a linked io_uring read into a mapped file makes D, and writes nothing" {
	cat > scene.py <<-'P'
		import mmap, os, rings, sys
		source, into, beside = (os.open(name, os.O_RDWR | os.O_CREAT) for name in ("source", "into", "beside"))
		os.pwrite(source, b"x" * 65536, 0)
		os.truncate("into", 65536)
		mapped = mmap.mmap(into, 65536)
		ring = rings.Ring()
		for flags in 0, rings.ASYNC:
		    ring.q(rings.READ, source, 0, 20480, flags | rings.LINK, mapped, 32768 if flags else 0)
		    ring.q(rings.WRITE, beside, 0, 8192, flags | rings.LINK)
		    ring.q(rings.FSYNC, beside, flags=flags)
		    assert ring.go() == [20480, 8192, 0]
	P
	body() {
		ring_scene "$1" $((65536 + 2 * 8192)) 0
		same "$1: D of what it reads into" "$(q "SELECT SUM(dirtied), SUM(written) FROM l WHERE path = '$IOT_MNT/into'")" "40960 40960"
		same "$1: S_r" "$(total bytes "comm = 'python3' AND sub = 'regular' AND kind = 'uring_read'")" 40960
	}
	for fs in ext4 xfs; do with_fs $fs 400M -- body $fs; done
}
