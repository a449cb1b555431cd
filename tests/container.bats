# SPDX-License-Identifier: GPL-3.0-only
# container.bats - a byte in a container is counted as a byte outside: overlayfs over ext4 over a loop device, in PID, mount, control
# group and network namespaces, against the same work on plain ext4.

load helper

setup() {
	need_tracer
	need unshare util-linux
	cd "$BATS_TEST_TMPDIR"
	store=$BATS_TEST_TMPDIR/run.sqlite
	grep -qw overlay /proc/filesystems || modprobe overlay 2>/dev/null || skip "overlayfs is missing"
}

# The work, in a folder: 23 blocks of 64 KiB by dd, and a database that is written with a rollback journal. Each stays for a moment.
work() { # DIR
	(head -c 1507328 /dev/zero; sleep 0.3) | dd of="$1/f" bs=64K iflag=fullblock conv=fdatasync status=none
	printf '%s\n' 'PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL;' 'CREATE TABLE t(a);' 'INSERT INTO t VALUES (zeroblob(40000));' \
		'UPDATE t SET a = zeroblob(80000);' '.shell sleep 0.3' | sqlite3 "$1/x.db" >/dev/null
}

# Makes the container's root out of an overlay and goes there, as runtimes do; LOWER and UPPER lie on the device.
contained() { # MOUNT MERGED COMMAND
	local d

	mount -t overlay overlay -o "lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/work" "$2"
	for d in bin sbin usr lib lib64 etc dev; do
		[ -e "/$d" ] || continue
		mkdir -p "$2/$d"
		mount --rbind "/$d" "$2/$d"
	done
	mkdir -p "$2/proc" "$2/sys" "$2/data" "$2/old"
	mount -t proc proc "$2/proc"
	cd "$2"
	pivot_root . old
	cd /
	umount -l old
	shift 2
	"$@"
}

# The tracer in there, around the same work.
traced_inside() {
	mount -t sysfs sysfs /sys
	/trace -q -o /data/run.sqlite -- bash -c "$(declare -f work); work /data"
}

# What was measured of one program: a line of numbers. p: the folder that its paths begin with.
measured() { # RUN COMM FOLDER
	run_no=$1 q "SELECT 'S ' || (SELECT COALESCE(SUM(bytes), 0) FROM c WHERE layer = 'syscall' AND dir = 'w' AND sub = 'regular' AND comm = '$2')
		UNION ALL SELECT 'D ' || (SELECT COALESCE(SUM(dirtied), 0) FROM l WHERE comm = '$2')
		UNION ALL SELECT 'W ' || (SELECT COALESCE(SUM(touched), 0) FROM c WHERE dir = 'w' AND comm = '$2')
		UNION ALL SELECT 'F ' || (SELECT COALESCE(SUM(bytes), 0) FROM c WHERE kind = 'fs_write' AND cause = 'data' AND comm = '$2' AND dev = '$IOT_DEVNO')
		UNION ALL SELECT 'B ' || (SELECT COALESCE(SUM(bytes), 0) FROM c WHERE kind = 'block_write' AND cause = 'data' AND comm = '$2' AND dev = '$IOT_DEVNO')"
}

# Files that it wrote, with their components and bytes, below their folder.
files_of() { # RUN FOLDER
	run_no=$1 q "SELECT substr(f.path, length('$2') + 1), COALESCE(f.component, '-'), SUM(i.write_bytes), SUM(i.fs_write_bytes) FROM r JOIN file f ON f.run = r.run
		JOIN file_io i ON i.run = f.run AND i.file = f.id WHERE substr(f.path, 1, length('$2')) = '$2' AND i.write_bytes > 0 GROUP BY 1, 2 ORDER BY 1"
}

body() {
	local comm

	mkdir -p "$IOT_MNT"/{lower,upper,work,plain} merged
	sync -f "$IOT_MNT"
	sync -f "$IOT_MNT"
	traced -- bash -c "$(declare -f work); work '$IOT_MNT/plain'"
	traced -- unshare -p -m -C -n -f bash -c "set -eu; $(declare -f work contained); contained '$IOT_MNT' '$PWD/merged' work /data"
	for comm in dd sqlite3; do
		measured 1 $comm >"plain.$comm"
		measured 2 $comm >"contained.$comm"
		grep -vq ' 0$' "plain.$comm" || fail "nothing was measured of $comm: $(cat "plain.$comm")"
		diff "plain.$comm" "contained.$comm" || fail "$comm is measured otherwise in a container"
	done
	files_of 1 "$IOT_MNT/plain" >plain.files
	files_of 2 /data >contained.files
	[ "$(wc -l <plain.files)" -ge 3 ] || fail "files: $(cat plain.files)"
	diff plain.files contained.files || fail "files are others in a container"
	same "systems" "$(sql "SELECT run, comm, role FROM process WHERE system = 'sqlite' AND exe IS NOT NULL ORDER BY run" | uniq)" \
		"$(printf '1 sqlite3 shell\n2 sqlite3 shell')"
	for run_no in 1 2; do
		"$analyze" verify "$store" --run $run_no >verify || fail "run $run_no: $(cat verify)"
	done
}

@test "dd and SQLite in a container on overlayfs: S, D, W, F, B, paths, components and owners are those on plain ext4, and verify agrees" {
	need sqlite3 sqlite3
	with_fs ext4 256M -- body
}

@test "the tracer inside such a container measures the same" {
	need sqlite3 sqlite3
	inside() {
		mkdir -p "$IOT_MNT"/{lower,upper,work} merged
		sync -f "$IOT_MNT"
		sync -f "$IOT_MNT"
		cp "$trace" "$IOT_MNT/lower/trace"
		unshare -p -m -C -n -f bash -c "set -eu; $(declare -f work contained traced_inside); contained '$IOT_MNT' '$PWD/merged' traced_inside"
		store=$IOT_MNT/upper/data/run.sqlite
		same "bytes of dd" "$(q "SELECT SUM(bytes) FROM c WHERE kind = 'write' AND comm = 'dd' AND sub = 'regular'")" 1507328
		same "file data of dd" "$(q "SELECT SUM(bytes) FROM c WHERE kind = 'block_write' AND cause = 'data' AND comm = 'dd'")" 1507328
		same "path" "$(sql "SELECT COUNT(*) FROM file WHERE path = '/data/f'")" 1
		same "components" "$(sql "SELECT DISTINCT component FROM file WHERE path IN ('/data/x.db', '/data/x.db-journal') ORDER BY path" | paste -sd ,)" data,undo
		same "executable" "$(sql "SELECT COUNT(*) FROM process WHERE comm = 'dd' AND pid > 1 AND exe LIKE '/usr/bin/%'")" 1
	}
	with_fs ext4 256M -- inside
}
