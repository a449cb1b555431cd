#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# vfs.bats - layer vfs traced whole: every call on names, attributes and mappings, with its paths and flags. Counts are those of tests/lib/namer.c.

load ../lib/helper

setup() {
	own_run
	built namer
	export IOT_BUILD
}

teardown() {
	fs_down
	repeat_skipped
}

# namer in a folder of a file system of its own.
names_of() { # TRACER OPTIONS -- VERB...
	local options=()

	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	mkdir "$IOT_MNT/w"
	(cd "$IOT_MNT/w" && traced --settle none "${options[@]}" -- "$IOT_BUILD/namer" "$@")
}

# Operations and failed ones of a call of namer.
count() { # KIND
	q "SELECT COALESCE(SUM(ops), 0), COALESCE(SUM(errors), 0) FROM c WHERE comm = 'named' AND kind = '$1'"
}

# Events of namer, by condition on v_event.
events() { # CONDITION
	sql "SELECT COUNT(*) FROM v_event WHERE owner_comm = 'named' AND ($1)"
}

counts="stat 44 5
access 9 2
chmod 12 0
chown 11 0
utimensat 16 0
setxattr 5 0
getxattr 8 1
mkdir 41 0
chdir 47 1
rmdir 37 0
mknod 29 0
unlink 31 2
getdents 3 0
link 13 0
symlink 11 0
readlink 7 0
rename 9 1
mmap 6 0
munmap 5 0
mremap 1 0
msync 15 0
madvise 35 0
fadvise 5 0
flock 8 0
fallocate 3 0
vmsplice 11 0
tee 3 0
open 32 10
truncate 10 0"

@test "vfs: every call is counted, failed ones too, with and without events" {
	body() {
		local kind ops errors how

		for how in '' --no-events; do
			rm -rf "$IOT_MNT/w" "$store"
			names_of --layers default,vfs ${how:+"$how"} -- all
			while read -r kind ops errors; do same "$kind $how" "$(count "$kind")" "$ops $errors"; done <<<"$counts"
			same "bytes of vmsplice $how" "$(total bytes "comm = 'named' AND kind = 'vmsplice'")" $((11 * 997))
			same "bytes of tee $how" "$(total bytes "comm = 'named' AND kind = 'tee'")" $((3 * 997))
			nothing_lost
		done
	}
	with_fs ext4 128M -- body
}

@test "vfs: each event has the call's paths, made absolute, and its flags in words" {
	body() {
		local w=$IOT_MNT/w

		names_of --layers default,vfs -- all
		same "without a path" "$(sql "SELECT kind, COUNT(*) FROM v_event WHERE owner_comm = 'named' AND layer = 'syscall' AND path IS NULL
			AND kind NOT IN ('close', 'vmsplice', 'tee', 'read') GROUP BY 1")" ""
		same "stat" "$(events "kind = 'stat' AND path = '$w/a'")" 39
		same "failed stat" "$(events "kind = 'stat' AND path = '$w/none' AND err = 2")" 5
		same "stat of the link itself" "$(events "kind = 'stat' AND args = 'AT_SYMLINK_NOFOLLOW'")" 3
		same "access" "$(events "kind = 'access' AND path = '$w/a' AND args = 'W_OK|R_OK'")$(events "kind = 'access' AND args = 'F_OK' AND err = 2")" 72
		same "chmod by name" "$(events "kind = 'chmod' AND path = '$w/a' AND arg = 416")" 5
		same "chmod by descriptor" "$(events "kind = 'chmod' AND path = '$w/a' AND arg = 384")" 7
		same "attribute" "$(events "kind = 'setxattr' AND path = '$w/a' AND attribute = 'user.one'")" 3
		same "attribute by descriptor" "$(events "kind = 'setxattr' AND path = '$w/a' AND attribute = 'user.two'")" 2
		same "attribute that is not there" "$(events "kind = 'getxattr' AND attribute = 'user.none' AND err = 61")" 1
		same "into the folder" "$(events "kind = 'chdir' AND path = '$w/sub'")" 23
		same "and back" "$(events "kind = 'chdir' AND path = '$w'")" 23
		same "not entered" "$(events "kind = 'chdir' AND path = '$w/none' AND err = 2")" 1
		same "removed folders" "$(sql "SELECT COUNT(DISTINCT path) FROM v_event WHERE owner_comm = 'named' AND kind = 'rmdir' AND path LIKE '$w/d%'")" 37
		same "by unlinkat" "$(events "kind = 'rmdir' AND args = 'AT_REMOVEDIR'")" 17
		same "folder read" "$(events "kind = 'getdents' AND path = '$w'")" 3
		same "and closed" "$(events "kind = 'close' AND path = '$w'")" 1
		same "fifo" "$(events "kind = 'mknod' AND path LIKE '$w/p%' AND args = 'S_IFIFO'")" 29
		same "hard links" "$(sql "SELECT COUNT(DISTINCT path2) FROM v_event WHERE owner_comm = 'named' AND kind = 'link' AND path = '$w/l' AND path2 LIKE '$w/h%'")" 13
		same "symbolic links" "$(sql "SELECT COUNT(DISTINCT path2) FROM v_event WHERE owner_comm = 'named' AND kind = 'symlink' AND path = 'l' AND path2 LIKE '$w/s%'")" 11
		same "renames" "$(events "kind = 'rename' AND substr(path, length('$w/h') + 1) = substr(path2, length('$w/r') + 1) AND path LIKE '$w/h%' AND path2 LIKE '$w/r%'")" 5
		same "exchanges" "$(events "kind = 'rename' AND path = '$w/l' AND path2 = '$w/m' AND args = 'RENAME_EXCHANGE'")" 3
		same "failed rename" "$(events "kind = 'rename' AND path = '$w/none' AND path2 = '$w/sub/none' AND err = 2")" 1
		same "truncate by name" "$(events "kind = 'truncate' AND path = '$w/a' AND offset BETWEEN 100 AND 104")" 5
		same "openat2" "$(events "kind = 'open' AND path = '$w/a' AND args = 'O_RDONLY|O_CLOEXEC'")" 13
		same "creat" "$(events "kind = 'open' AND path = '$w/c' AND args = 'O_WRONLY|O_CREAT|O_TRUNC'")" 3
		same "failed open" "$(events "kind = 'open' AND path = '$w/none' AND args = 'O_RDWR|O_SYNC' AND err = 2")" 7
		same "a name that is not in memory" "$(events "kind = 'open' AND path = '?' AND err = 14")" 3
	}
	with_fs ext4 128M -- body
}

@test "vfs: mappings, advice, locks have file, offset, length, protection and flags" {
	body() {
		local w=$IOT_MNT/w

		names_of --layers default,vfs -- all
		same "mmap" "$(events "kind = 'mmap' AND path = '$w/map' AND args = 'MAP_SHARED|PROT_READ|PROT_WRITE' AND size = 65536")" 5
		same "offsets of mmap" "$(sql "SELECT group_concat(DISTINCT offset / 65536) FROM v_event WHERE owner_comm = 'named' AND kind = 'mmap' AND size = 65536")" 0,1,2,3,4
		same "msync" "$(events "kind = 'msync' AND path = '$w/map' AND args = 'MS_SYNC' AND size = 8192 AND offset % 65536 = 4096")" 15
		same "madvise" "$(events "kind = 'madvise' AND path = '$w/map' AND args = 'MADV_RANDOM' AND size = 65536 AND offset % 65536 = 0")" 35
		same "munmap" "$(events "kind = 'munmap' AND path = '$w/map' AND size = 65536 AND offset % 65536 = 0")" 5
		same "mremap" "$(events "kind = 'mremap' AND path = '$w/map' AND args = 'MREMAP_MAYMOVE' AND size = 12288")" 1
		same "fadvise" "$(events "kind = 'fadvise' AND path = '$w/map' AND args = 'POSIX_FADV_SEQUENTIAL' AND offset = 4096 AND size = 8192")" 3
		same "readahead" "$(events "kind = 'fadvise' AND path = '$w/map' AND args LIKE '%readahead' AND size = 4096")" 2
		same "flock" "$(events "kind = 'flock' AND path = '$w/lock' AND args = 'LOCK_EX|LOCK_NB'")" 5
		same "a locked range" "$(events "kind = 'flock' AND path = '$w/lock' AND args = 'LOCK_EX|F_SETLK' AND offset = 100 AND size = 11")" 3
		same "fallocate" "$(events "kind = 'fallocate' AND path = '$w/lock' AND args = 'FALLOC_FL_KEEP_SIZE' AND size = 65536")" 2
		same "punch" "$(events "kind = 'fallocate' AND args = 'FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE' AND size = 4096")" 1
	}
	with_fs ext4 128M -- body
}

@test "vfs: operations derived from the calls, and n/a where calls were not asked for" {
	body() {
		local want

		names_of --layers default,vfs --prefer derived -- all
		"$analyze" operations "$store" --table lines --format csv > lines.csv
		for want in getattr,44,5 access,9,2 setattr,39,0 getxattr,8,1 setxattr,5,0 mkdir,41,0 rmdir,37,0 chdir,47,1 mknod,29,0 unlink,31,2 \
			readdir,3,0 link,13,0 symlink,11,0 rename,9,1 munmap,5,0 msync,15,0 madvise,35,0 flock,8,0 fallocate,3,0 vmsplice,11,0 open,32,10; do
			grep -q "^named,[0-9]*,vfs_$want," lines.csv || fail "vfs_$want: $(grep "vfs_${want%%,*}," lines.csv)"
		done
		"$analyze" operations "$store" --table operations --format csv > whole.csv
		grep -q '^vfs_sync,0,0,n/a,n/a,n/a,derived,' whole.csv || fail "nobody called sync(2): $(grep vfs_sync whole.csv)"
		rm -rf "$IOT_MNT/w" "$store"
		names_of -- all
		"$analyze" operations "$store" --table operations --format csv > default.csv
		grep -q '^vfs_getattr,n/a,n/a,n/a,n/a,n/a,n/a,recorded with --layers vfs' default.csv || fail "$(grep getattr default.csv)"
		grep -q '^vfs_rmdir,37,0,.*,derived,' default.csv || fail "$(grep rmdir default.csv)"
		same "paths of a default run" "$(sql "SELECT COUNT(*) FROM event_path")" 0
		same "calls of a default run" "$(count stat)" "0 0"
	}
	with_fs ext4 128M -- body
}

@test "vfs: a path of 4,090 bytes is whole, a longer one says what was given" {
	body() {
		names_of --layers default,vfs -- long
		same "stat" "$(events "kind = 'stat' AND path = '$IOT_MNT/w/zz' AND err IS NULL")" 1
		same "access" "$(events "kind = 'access' AND path = '$IOT_MNT/w/zz' AND err IS NULL")" 1
		same "too long" "$(events "kind = 'access' AND err = 36 AND path LIKE '$IOT_MNT/w/qqqq%'")" 1
	}
	with_fs ext4 128M -- body
}

@test "vfs: hostile names come out as they are, from JSON Lines too" {
	body() {
		local hex

		names_of --layers default,vfs -- hostile
		for hex in 6E65770A6C696E65 6279FF74C3 6573631B5B33316D 7175226F2774655C 3F 2D7266 73702061636520; do
			[ "$hex" != 73702061636520 ] || hex=7370206163 # "sp ac"
			same "mkdir, rename, rename, rmdir of $hex" "$(sql "SELECT COUNT(*) FROM v_event WHERE owner_comm = 'named' AND kind IN ('mkdir', 'rename', 'rmdir')
				AND (hex(path) LIKE '%2F$hex%' OR hex(path2) LIKE '%2F$hex%')")" 4
		done
		rm -rf "$IOT_MNT/w"
		mkdir "$IOT_MNT/w"
		(cd "$IOT_MNT/w" && "$trace" -q --settle none --layers default,vfs --format jsonl -o "$BATS_TEST_TMPDIR/x.jsonl" -- "$IOT_BUILD/namer" hostile)
		"$analyze" ingest again.sqlite x.jsonl
		store=$BATS_TEST_TMPDIR/again.sqlite
		same "from JSON Lines" "$(sql "SELECT COUNT(*) FROM v_event WHERE owner_comm = 'named' AND kind = 'rename' AND hex(path) LIKE '%2F6279FF74C3'")" 1
		grep -q '"kind":"mkdir".*"args":"0700"' x.jsonl || fail "no mode in words: $(grep -m1 '"kind":"mkdir"' x.jsonl)"
	}
	with_fs ext4 128M -- body
}

@test "vfs: each of 1,009 renames in a loop has both of its paths" {
	body() {
		names_of --layers default,vfs -- rename 1009
		same "renames" "$(events "kind = 'rename' AND path LIKE '$IOT_MNT/w/r%' AND CAST(substr(path2, length('$IOT_MNT/w/r') + 1) AS INTEGER)
			= CAST(substr(path, length('$IOT_MNT/w/r') + 1) AS INTEGER) + 1")" 1009
		same "names" "$(sql "SELECT COUNT(DISTINCT path) FROM v_event WHERE owner_comm = 'named' AND kind = 'rename'")" 1009
	}
	with_fs ext4 128M -- body
}

# mkdir(2) of x86-32 on a 64-bit machine, 7 times: int $0x80 with 39 in eax; and 3 that fail.
thirty_two() {
	python3 -c "
import ctypes, mmap, sys
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex('53b82700000089fb89f1cd805bc3'))
call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
low = libc.mmap(None, 4096, 3, 0x62, -1, 0) # MAP_32BIT
for i in range(10):
    ctypes.memmove(low, b'dir%d' % min(i, 6) + bytes(1), 5)
    sys.exit(3) if (call(low, 0o700) == 0) != (i < 7) else 0"
}

@test "vfs: a run says how many 32-bit calls are not among its operations" {
	need python3 python3-minimal
	(mkdir probe && cd probe && thirty_two) || skip "32-bit calls are missing: this kernel has none"
	traced --layers default,vfs --settle none -- bash -c "$(declare -f thirty_two); thirty_two"
	[ -d dir6 ] || fail "no folder"
	same "not counted" "$(q "SELECT n FROM lost JOIN r ON r.run = lost.run WHERE what = '32-bit system call not among the operations'")" 10
	same "no operation" "$(total ops "kind = 'mkdir' AND owner > 2")" 0
	traced --settle none -- bash -c "rmdir dir?; $(declare -f thirty_two); thirty_two"
	same "of a default run" "$(q "SELECT n FROM lost JOIN r ON r.run = lost.run WHERE what = '32-bit system call not among the operations'")" 0
}

@test "vfs: with --system paths of calls of other processes are not recorded" {
	need sqlite3 sqlite3
	"$trace" --system sqlite --layers default,vfs --settle none -o "$store" -d 300 2>said &
	tracer=$!
	wait_for grep -q recording said
	for _ in 1 2 3 4 5; do mkdir stranger; rmdir stranger; done
	sqlite3 t.db "CREATE TABLE a(b)"
	kill -INT "$tracer"
	wait "$tracer"
	same "paths of strangers" "$(sql "SELECT COUNT(*) FROM event_path WHERE path LIKE '%/stranger'")" 0
	same "without an event" "$(sql "SELECT COUNT(*) FROM event_path x WHERE NOT EXISTS (SELECT 1 FROM event e WHERE e.ts_ns = x.ts_ns AND e.tid = x.tid)")" 0
	[ "$(sql "SELECT COUNT(*) FROM event_path")" -gt 0 ]
}
