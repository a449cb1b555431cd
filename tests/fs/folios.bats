# SPDX-License-Identifier: GPL-3.0-only
# folios.bats - parts of a large folio are dirtied, redirtied or truncated, and the rest of a block is zeroed: the ledger of each file
# closes.
#
# A file system keeps one to 512 pages of a file as one folio, in its own way and not under every kernel. So each scene is something
# that a program may do, and its answer does not depend on the folios.

load ../lib/helper

setup() { own_run python3:python3-minimal mkfs.xfs:xfsprogs mkfs.btrfs:btrfs-progs; }

# Runs scenes in a file system, each in a folder of its own. What was dirtied was written, but for what each of these files has dropped, in bytes.
scenes() { # FS FILE=BYTES...
	local fs=$1 dropped

	shift
	dropped=$*
	body() {
		rm -f run.sqlite*
		# shellcheck disable=SC2016 # the traced shell expands it
		(cd "$IOT_MNT" && mkdir "${names[@]}" && PYTHONPATH=$BATS_TEST_TMPDIR PYTHONDONTWRITEBYTECODE=1 traced -- bash -ec '
			for scene in "$@"; do (cd "$scene"; python3 "$0/$scene.py"); done' "$BATS_TEST_TMPDIR" "${names[@]}")
		same "$1: unexpected, still dirty" "$(q "SELECT path, SUM(unexpected), SUM(dirty_end) FROM l WHERE path GLOB '$IOT_MNT/*'
			GROUP BY path HAVING SUM(unexpected) OR SUM(dirty_end)")" ""
		same "$1: dropped" "$(q "SELECT replace(path, '$IOT_MNT/', '') || '=' || SUM(dirtied - written) FROM l WHERE path GLOB '$IOT_MNT/*'
			GROUP BY path HAVING SUM(dirtied) <> SUM(written) ORDER BY path" | tr '\n' ' ')" "$dropped${dropped:+ }"
		empty "$1: lost" "$(q "SELECT what, n FROM lost JOIN r USING (run) WHERE n > 0")"
		same "$1: files" "$(q "SELECT COUNT(DISTINCT path) FROM l WHERE path GLOB '$IOT_MNT/*'")" "$(cat "${names[@]/%/.py}" | grep -c 'new(')"
	}
	cat > folios.py <<-'P'
		import ctypes, mmap, os
		PAGE, PAGES = 4096, 64
		libc = ctypes.CDLL(None, use_errno=True)
		def new(name):
		    """A file that is on the device, and in the cache."""
		    fd = os.open(name, os.O_RDWR | os.O_CREAT)
		    os.pwrite(fd, bytes(PAGES * PAGE), 0)
		    os.fsync(fd)
		    return fd
		def write(fd, page, size=PAGE):
		    os.pwrite(fd, bytes(size), page * PAGE)
		def allocate(fd, mode, off, size):
		    assert not libc.fallocate(fd, mode, ctypes.c_long(off), ctypes.c_long(size)), os.strerror(ctypes.get_errno())
		HOLE, ZERO = 3, 16
	P
	with_fs "$fs" 500M -- body "$fs"
}

pages() {
	cat > pages.py <<-'P'
		from folios import *
		fd = new("page"); write(fd, 10); os.fsync(fd)
		fd = new("part"); write(fd, 10, 100); os.fsync(fd)
		fd = new("two"); write(fd, 10); write(fd, 5); os.fsync(fd)
		fd = new("last"); write(fd, 63); write(fd, 0); os.fsync(fd)
		fd = new("again"); write(fd, 5); write(fd, 10); libc.sync_file_range(fd, ctypes.c_long(5 * PAGE), ctypes.c_long(PAGE), 7); write(fd, 5); os.fsync(fd)
		fd = new("store"); m = mmap.mmap(fd, PAGES * PAGE); m[10 * PAGE] = 1; m.flush()
		fd = new("stores"); m = mmap.mmap(fd, PAGES * PAGE)
		for pages in (3, 10, 12), (3, 10, 12, 13):
		    for n in pages: m[n * PAGE] = 1
		    m.flush()
		fd = new("both"); m = mmap.mmap(fd, PAGES * PAGE); write(fd, 5); m[10 * PAGE] = 1; m.flush()
		fd = new("into"); m = mmap.mmap(fd, PAGES * PAGE); write(fd, 5, 10)
		os.preadv(os.open("both", os.O_RDONLY), [memoryview(m)[20 * PAGE:24 * PAGE]], 0); os.fsync(fd)
		fd = new("copied"); write(fd, 5, 10); os.pwrite(fd, os.pread(os.open("both", os.O_RDONLY), 9 * PAGE, PAGE), 0); os.fsync(fd)
		fd = new("direct"); write(fd, 5, 10); d = os.open("direct", os.O_RDWR | os.O_DIRECT); m = mmap.mmap(-1, 2 * PAGE)
		os.pwrite(d, m, 5 * PAGE); os.pwrite(d, m, 9 * PAGE); os.fsync(fd)
	P
}

cut() {
	cat > cut.py <<-'P'
		from folios import *
		fd = new("clean"); os.ftruncate(fd, 60000); os.fsync(fd)
		fd = new("before"); write(fd, 5); os.ftruncate(fd, 60000); os.fsync(fd)
		fd = new("behind"); write(fd, 30); os.ftruncate(fd, 60000); os.fsync(fd)
		fd = new("both"); write(fd, 3); write(fd, 30); os.ftruncate(fd, 60000); os.fsync(fd)
		fd = new("grows"); write(fd, 30); os.ftruncate(fd, 60000); os.ftruncate(fd, PAGES * PAGE); os.fsync(fd)
		fd = new("goes_on"); write(fd, 30); os.ftruncate(fd, 60000); write(fd, 40); os.fsync(fd)
		fd = new("empty"); write(fd, 30); os.ftruncate(fd, 0); write(fd, 0); os.fsync(fd)
		fd = new("removed"); write(fd, 30); os.unlink("removed"); os.close(fd)
		fd = new("end"); os.ftruncate(fd, 60000); os.fsync(fd); write(fd, 0, 10); os.pwrite(fd, bytes(100), 70000); os.fsync(fd)
		fd = new("synced"); os.ftruncate(fd, 60000); os.fsync(fd); write(fd, 0, 10); os.pwrite(os.open("synced", os.O_RDWR | os.O_DSYNC), bytes(100), 70000); os.fsync(fd)
	P
}

zeroed() {
	cat > zeroed.py <<-'P'
		from folios import *
		fd = new("hole"); allocate(fd, HOLE, 2000, 5000); os.fsync(fd)
		fd = new("zero"); allocate(fd, ZERO, 2000, 5000); os.fsync(fd)
		fd = new("wide_hole"); allocate(fd, HOLE, 20000, 30 * PAGE + 100); os.fsync(fd)
		fd = new("wide_zero"); allocate(fd, ZERO, 20000, 30 * PAGE + 100); os.fsync(fd)
		fd = new("dirty_hole"); write(fd, 0); write(fd, 60); allocate(fd, HOLE, 2000, 5000); os.fsync(fd)
		fd = new("dirty_zero"); write(fd, 1); write(fd, 60); allocate(fd, ZERO, 2000, 5000); os.fsync(fd)
		fd = new("beside"); write(fd, 50); allocate(fd, HOLE, 20000, 30 * PAGE + 100); os.fsync(fd)
	P
}

# One run for all: a guest takes longer to begin to trace than to do what is traced.
all() { # FS
	local names=(pages cut zeroed)

	pages
	cut
	zeroed
	scenes "$1" cut/{behind,both,empty,goes_on,grows,removed}=4096
}

@test "guest: ext4: parts of a folio are written, cut off and zeroed: the ledger closes" { all ext4; }
@test "guest: XFS: parts of a folio are written, cut off and zeroed: the ledger closes" { all xfs; }
@test "guest: btrfs: parts of a folio are written, cut and zeroed: the ledger closes" { only_long "ext4 and XFS each time"; all btrfs; }

# Pages that were dirty before the run are nobody's until they are stored over: then they are the storing process's, as with a write.
over() { # FS
	body() {
		local try

		for try in 1 2 3; do # a sync(2) of somebody else on this machine cleans the page that is to be dirty before the run
			rm -f run.sqlite*
			(cd "$IOT_MNT" && python3 "$BATS_TEST_TMPDIR/before.py")
			(cd "$IOT_MNT" && traced -- python3 "$BATS_TEST_TMPDIR/scene.py")
			[ "$(q "SELECT COALESCE(SUM(dirty_start), 0) FROM l WHERE path GLOB '$IOT_MNT/left'")" = 0 ] || break
		done
		: "$try"
		same "$1: dirtied, written, dirty before, unexpected, still dirty" "$(q "SELECT SUM(dirtied), SUM(written), SUM(dirty_start), SUM(unexpected), SUM(dirty_end)
			FROM l WHERE path GLOB '$IOT_MNT/*' GROUP BY path ORDER BY path" | tr '\n' ',')" "4096 4096 0 0 0,0 4096 4096 0 0,4096 4096 0 0 0,"
		same "$1: of nobody" "$(q "SELECT SUM(written) FROM l WHERE owner = 0 AND path GLOB '$IOT_MNT/*'")" 4096
	}
	cat > before.py <<-'P'
		for name in "into", "left", "stored": open(name, "wb").write(bytes(4096))
	P
	cat > scene.py <<-'P'
		import mmap, os
		into, left, stored = (os.open(name, os.O_RDWR) for name in ("into", "left", "stored"))
		m = mmap.mmap(stored, 4096); m[100] = 1; m.flush()
		m = mmap.mmap(into, 4096); os.preadv(left, [memoryview(m)], 0); m.flush()
		os.fsync(left)
	P
	with_fs "$1" 500M -- body "$1"
}

@test "ext4: pages dirty before the run are of who stores or reads into them: D is W" { over ext4; }
@test "XFS: pages dirty before the run are of who stores or reads into them: D is W" { over xfs; }
@test "btrfs: pages dirty before the run are of who stores or reads into them: D is W" { only_long "ext4 and XFS each time"; over btrfs; }
