# SPDX-License-Identifier: GPL-3.0-only
# container.bats - a byte counts in a container as outside: overlayfs over ext4 over a loop device, or over dm-crypt over one, in PID,
# mount, control group and network namespaces, against equal work on plain ext4. vm.bats runs the tests "guest:" where there is dm-crypt.

load ../lib/helper
load ../lib/stacks

setup() {
	own_run unshare:util-linux
	mkdir merged plain below
	grep -qw overlay /proc/filesystems || modprobe overlay 2>/dev/null || skip "overlayfs is missing"
}

teardown() {
	repeat_skipped
	stack_down "$PWD/below" "$PWD/plain"
	[ -z "${periodic-}" ] || echo "$periodic" >/proc/sys/vm/dirty_writeback_centisecs
}

# The work, in a folder: 23 blocks of 64 KiB by dd, and a database that is written with a rollback journal. Each stays for a moment.
work() { # DIR
	(head -c 1507328 /dev/zero; sleep 0.3) | dd of="$1/f" bs=64K iflag=fullblock conv=fdatasync status=none
	printf '%s\n' 'PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL;' 'CREATE TABLE t(a);' 'INSERT INTO t VALUES (zeroblob(40000));' \
		'UPDATE t SET a = zeroblob(80000);' '.shell sleep 0.3' | sqlite3 "$1/x.db" >/dev/null
}

# The work of a PostgreSQL in a folder that is made before: one process that writes tables, an index, its log and a checkpoint.
work_postgres() { # DIR
	printf '%s\n' "create table t as select i, repeat(md5(i::text), 20) as s from generate_series(1, 1000) i" \
		"update t set i = i + 1 where i % 3 = 0" checkpoint "create index on t(i)" |
		(cd / && setpriv --reuid=postgres --regid=postgres --init-groups env -i LC_ALL=C.UTF-8 "$postgres" --single -D "$1/pg" postgres >/dev/null 2>&1)
}

need_postgres() {
	postgres=$(find /usr/lib/postgresql/*/bin/postgres 2>/dev/null | tail -1)
	[ -n "$postgres" ] || skip "postgres is missing: install the Debian package postgresql"
	export postgres
}

# One cluster, copied into each DIR.
clusters() { # DIR...
	local dir

	chmod 711 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/* "$PWD" 2>/dev/null || :
	install -d -o postgres -g postgres made
	(cd / && setpriv --reuid=postgres --regid=postgres --init-groups env -i LC_ALL=C.UTF-8 "${postgres%/*}/initdb" -D "$OLDPWD/made/pg" -A trust --no-sync >/dev/null)
	for dir in "$@"; do cp -a made/pg "$dir"; done
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

# The measurement of one program: a line of numbers. F is what the file system submitted to its volume, B what its disk wrote. S is without
# lock files: they hold the number of a process, which has fewer digits in a container, and the name of a folder.
measured() { # RUN COMM VOLUME DISK
	run_no=$1 q "SELECT 'S ' || ((SELECT COALESCE(SUM(bytes), 0) FROM c WHERE layer = 'syscall' AND dir = 'w' AND sub = 'regular' AND comm = '$2') -
			(SELECT COALESCE(SUM(i.write_bytes), 0) FROM r JOIN file f ON f.run = r.run JOIN file_io i ON i.run = f.run AND i.file = f.id
				JOIN process p ON p.run = i.run AND p.id = i.owner WHERE f.path LIKE '%.pid' AND p.comm = '$2'))
		UNION ALL SELECT 'D ' || (SELECT COALESCE(SUM(dirtied), 0) FROM l WHERE comm = '$2')
		UNION ALL SELECT 'T ' || (SELECT COALESCE(SUM(touched), 0) FROM c WHERE dir = 'w' AND comm = '$2')
		UNION ALL SELECT 'F ' || (SELECT COALESCE(SUM(bytes), 0) FROM c WHERE kind = 'fs_write' AND cause = 'data' AND comm = '$2' AND dev = '$3')
		UNION ALL SELECT 'W ' || (SELECT COALESCE(SUM(bytes), 0) FROM c WHERE kind = 'fs_write' AND cause = 'data' AND comm = '$2')
		UNION ALL SELECT 'B ' || (SELECT COALESCE(SUM(bytes), 0) FROM c WHERE kind = 'block_write' AND cause = 'data' AND comm = '$2' AND dev = '$4')"
}

# Files that it wrote, with their components and bytes, below their folder.
files_of() { # RUN FOLDER
	run_no=$1 q "SELECT substr(f.path, length('$2') + 1), COALESCE(f.component, '-'), SUM(i.write_bytes), SUM(i.fs_write_bytes), SUM(i.dev_write_bytes) FROM r JOIN file f ON f.run = r.run
		JOIN file_io i ON i.run = f.run AND i.file = f.id WHERE substr(f.path, 1, length('$2')) = '$2' AND i.write_bytes > 0
		AND f.path NOT LIKE '%.pid' GROUP BY 1, 2 ORDER BY 1"
}

# WORKs in a folder of a mounted file system, then in /data of a container on another: $one and $two are the devices, "VOLUME DISK".
compare() { # "WORK..." PLAIN BELOW COMM...
	local all comm plain=$2 below=$3

	# shellcheck disable=SC2086 # several words
	all="$(declare -f $1); all() { $(for comm in $1; do echo "$comm \"\$1\";"; done) }"
	shift 3
	sync -f "$plain"
	sync -f "$below"
	traced -- bash -c "$all; all '$plain/plain'"
	traced -- unshare -p -m -C -n -f bash -c "set -eu; $all; $(declare -f contained); contained '$below' '$PWD/merged' all /data"
	for comm in "$@"; do
		# shellcheck disable=SC2086 # two words
		measured 1 "$comm" $one >"plain.$comm"
		# shellcheck disable=SC2086 # two words
		measured 2 "$comm" $two >"contained.$comm"
		! grep -q ' 0$' "plain.$comm" || fail "nothing was measured of $comm: $(cat "plain.$comm")"
		diff "plain.$comm" "contained.$comm" || fail "$comm is measured otherwise in a container"
	done
	files_of 1 "$plain/plain" >plain.files
	files_of 2 /data >contained.files
	[ "$(wc -l <plain.files)" -ge 3 ] || fail "files: $(cat plain.files)"
	diff plain.files contained.files || fail "files are others in a container"
	empty "files without a component" "$(grep -vE '^/f ' plain.files | grep ' - ' || :)"
	empty "lost" "$(sql "SELECT run, what, n FROM lost WHERE n > 0")"
	for run_no in 1 2; do
		"$analyze" verify "$store" --run $run_no >verify || fail "run $run_no: $(cat verify)"
	done
}

sqlite_too() {
	same "systems" "$(sql "SELECT run, comm, role FROM process WHERE system = 'sqlite' AND exe IS NOT NULL ORDER BY run" | uniq)" \
		"$(printf '1 sqlite3 shell\n2 sqlite3 shell')"
}

postgres_too() { # PLAIN; the instance of a container says where the folder lies
	same "systems" "$(sql "SELECT DISTINCT run, comm, role, instance FROM process WHERE system = 'postgresql' ORDER BY run" | sed 's/ \[[0-9: ]*\]$//')" \
		"$(printf '1 postgres single %s/plain/pg\n2 postgres single /data/pg' "$1")"
}

# Two file systems of one size, alike but for what is below them: ext4 on a loop device, and on dm-crypt on another. Nothing is written back
# but by syncs.
plain_and_crypt() { # SIZE
	need_dm dm_crypt
	leaf_up "$1"
	ext4_on "$leaf" "$PWD/plain"
	one="$leaf_no $leaf_no"
	leaf_up "$1"
	crypt_up crypt "$leaf"
	ext4_on "$volume" "$PWD/below"
	two="$volume_no $leaf_no"
	# periodic writeback would come between two writes of a block now here, now there
	mount -o remount,commit=600 "$PWD/plain"
	mount -o remount,commit=600 "$PWD/below"
	periodic=$(</proc/sys/vm/dirty_writeback_centisecs)
	echo 0 >/proc/sys/vm/dirty_writeback_centisecs
}

@test "dd and SQLite on overlayfs in a container: all is as on plain ext4 (defect 18)" {
	need sqlite3 sqlite3
	body() {
		one="$IOT_DEVNO $IOT_DEVNO" two=$one
		mkdir -p "$IOT_MNT"/{lower,upper,work,plain}
		compare work "$IOT_MNT" "$IOT_MNT" dd sqlite3
		sqlite_too
	}
	with_fs ext4 256M -- body
}

@test "PostgreSQL in such a container: the same (defect 18)" {
	need_postgres
	body() {
		one="$IOT_DEVNO $IOT_DEVNO" two=$one
		mkdir -p "$IOT_MNT"/{lower,upper,work,plain}
		mkdir "$IOT_MNT/upper/data"
		clusters "$IOT_MNT/plain" "$IOT_MNT/upper/data"
		compare work_postgres "$IOT_MNT" "$IOT_MNT" postgres
		postgres_too "$IOT_MNT"
	}
	with_fs ext4 512M -- body
}

@test "guest: a container on overlayfs and dm-crypt is as plain ext4 (defects 12, 18)" {
	need sqlite3 sqlite3
	need_postgres
	plain_and_crypt 256M
	mkdir -p below/{lower,upper/data,work} plain/plain
	clusters "$PWD/plain/plain" "$PWD/below/upper/data"
	compare "work work_postgres" "$PWD/plain" "$PWD/below" dd sqlite3 postgres
	sqlite_too
	postgres_too "$PWD/plain"
}

@test "the tracer inside such a container measures the same" {
	need sqlite3 sqlite3
	inside() {
		mkdir -p "$IOT_MNT"/{lower,upper,work}
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
