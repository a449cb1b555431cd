#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# filesums.bats - bytes by file and component, equal with events, without, and with a ring that loses most of them.

load ../lib/helper

setup() { own_run python3:python3-minimal; }

modes=("--ring 16M" "--no-events" "--ring 64K")

# answers SQL COMMAND...: what the query says of a run of each kind must be one answer, printed once. % in the command is the number of the run.
answers() {
	local mode i=0 first=''

	for mode in "${modes[@]}"; do
		i=$((i + 1))
		# shellcheck disable=SC2086 # options
		traced $mode -- "${@:2:1}" $i "${@:3}"
		run_no=$i q "$1" | sed "s/-run$i-/-run-/g" >answer$i
		[ -s answer$i ] || fail "no answer with $mode"
		[ $i = 1 ] || diff answer1 answer$i >&2 || fail "$mode answers otherwise than events"
	done
	cat answer1
}

# One report of a run as CSV lines: report RUN NAME TABLE
report() { "$analyze" "$2" "$store" --run "$1" --table "$3" --format csv; }

# Sums by file of whom is traced, without the files of the system, by name.
by_file="SELECT replace(f.path, rtrim(f.path, replace(f.path, '/', '')), '') AS name, SUM(i.write_bytes), SUM(i.write_ops), SUM(i.sync_ops), SUM(i.read_bytes),
	SUM(i.fs_write_bytes), SUM(i.fs_read_bytes), SUM(i.dev_write_bytes), SUM(i.dev_read_bytes)
	FROM r JOIN file_io i ON i.run = r.run JOIN file f ON f.run = i.run AND f.id = i.file WHERE f.path LIKE '%iot-mnt%' AND i.owner > 2 GROUP BY f.path ORDER BY 1"

# Sums by component of processes of a system.
by_component() { # SYSTEM
	echo "SELECT COALESCE(n.name, f.component, '-'), SUM(i.write_bytes), SUM(i.write_ops), SUM(i.sync_ops), SUM(i.read_bytes), SUM(i.fs_write_bytes), SUM(i.dev_write_bytes)
		FROM r JOIN file_io i ON i.run = r.run JOIN process p ON p.run = i.run AND p.id = i.owner JOIN file f ON f.run = i.run AND f.id = i.file
		LEFT JOIN component n ON n.id = i.component WHERE p.system = '$1' AND f.path LIKE '%iot-mnt%' GROUP BY 1 ORDER BY 1"
}

# Sums by file over all that is traced equal the aggregates: S, S_r, W and B.
complete() { # RUN
	same "S, S_r, W, W_r of run $1" "$(run_no=$1 q "SELECT SUM(write_bytes), SUM(write_ops), SUM(read_bytes), SUM(read_ops), SUM(fs_write_bytes), SUM(fs_read_bytes)
		FROM r JOIN file_io i ON i.run = r.run WHERE i.owner > 2")" \
		"$(run_no=$1 q "SELECT SUM(CASE WHEN f AND dir = 'w' THEN bytes ELSE 0 END), SUM(CASE WHEN f AND dir = 'w' THEN ops ELSE 0 END), SUM(CASE WHEN f AND dir = 'r' THEN bytes ELSE 0 END),
			SUM(CASE WHEN f AND dir = 'r' THEN ops ELSE 0 END), SUM(CASE WHEN d AND kind = 'fs_write' THEN bytes ELSE 0 END), SUM(CASE WHEN d AND kind = 'fs_read' THEN bytes ELSE 0 END)
			FROM (SELECT *, layer IN ('syscall', 'uring') AND sub IN ('regular', 'blockdev') AS f, cause IN ('data', 'direct', 'readahead') AS d FROM c WHERE owner > 2)")"
	same "B, B_r of run $1" "$(run_no=$1 q "SELECT SUM(dev_write_bytes), SUM(dev_read_bytes) FROM r JOIN file_io i ON i.run = r.run WHERE i.owner > 2")" \
		"$(run_no=$1 q "SELECT SUM(CASE kind WHEN 'block_write' THEN bytes ELSE 0 END), SUM(CASE kind WHEN 'block_read' THEN bytes ELSE 0 END) FROM c
			WHERE owner > 2 AND cause IN ('data', 'direct', 'readahead') AND layer = 'block'")"
}

@test "writes, direct writes, O_DSYNC, reads are their files', with or without events" {
	body() {
		cat >load <<-END
			#!/bin/sh -e
			dd if=/dev/zero of=$IOT_MNT/buffered bs=4099 count=23 conv=fsync status=none
			dd if=/dev/zero of=$IOT_MNT/direct bs=8192 count=7 oflag=direct status=none
			dd if=/dev/zero of=$IOT_MNT/dsync bs=4096 count=5 oflag=dsync status=none
			dd if=$IOT_MNT/direct of=/dev/null bs=4096 count=3 iflag=direct status=none
			rm $IOT_MNT/buffered $IOT_MNT/direct $IOT_MNT/dsync
		END
		chmod +x load
		# name S ops syncs S_r W W_r B B_r
		same "files" "$(answers "$by_file" ./load)" "buffered 94277 23 1 0 98304 0 98304 0
direct 57344 7 0 12288 57344 12288 57344 12288
dsync 20480 5 5 0 20480 0 20480 0"
		for run in 1 2 3; do
			complete $run
			same "report of run $run" "$(report $run files files | grep '/buffered,.*,dd,' | cut -d, -f6-8,14-16)" "94277,23,1,98304,98304,0"
		done
		same "D with events" "$(report 1 files files | grep '/buffered,.*,dd,' | cut -d, -f9,10)" "188416,98304"
		same "D without" "$(report 2 files files | grep '/buffered,.*,dd,' | cut -d, -f9-13)" "n/a,n/a,n/a,n/a,n/a"
	}
	with_fs ext4 64M -- body
}

@test "a file with one page synced 10 times and one twice is rewritten 5.5 times" {
	body() {
		cat >load <<-END
			#!/bin/sh -e
			for i in 1 2 3 4 5 6 7 8 9 10; do dd if=/dev/zero of=$IOT_MNT/log bs=4096 count=1 conv=notrunc,fsync status=none; done
			dd if=/dev/zero of=$IOT_MNT/log bs=4096 count=1 seek=1 conv=notrunc,fsync status=none
			dd if=/dev/zero of=$IOT_MNT/once bs=4096 count=7 conv=fsync status=none
			dd if=$IOT_MNT/log of=/dev/null bs=4096 count=1 status=none
		END
		chmod +x load
		dd if=/dev/zero of="$IOT_MNT/log" bs=4096 count=16 conv=fsync status=none
		for mode in "--ring 16M" --no-events; do
			# shellcheck disable=SC2086 # options
			traced $mode -- ./load
		done
		columns() { # RUN
			"$analyze" files "$store" --run "$1" --table files --format csv | python3 -c '
import csv, sys
for row in csv.DictReader(sys.stdin):
    if row["who"] == "dd" and "/iot-mnt" in row["path"]: print(row["path"].split("/")[-1], row["W"], row["rewrite_dev"])' | LC_ALL=C sort | tr '\n' ' '
		}
		empty "lost" "$(sql "SELECT what, n FROM lost WHERE run = 1 AND n > 0 AND effect IN ('events', 'bytes')")"
		same "with events" "$(columns 1)" "log 45056 5.500 once 28672 1.000 "
		same "without" "$(columns 2)" "log 45056 n/a once 28672 n/a "
		sqlite3 "$store" "INSERT INTO lost VALUES (1, 'fs', 'event ring full', 'events', 1)"
		same "with one lost" "$(columns 1)" "log 45056 n/a once 28672 n/a "
	}
	with_fs ext4 64M -- body
}

@test "SQLite's components are the same with events, without, and with a ring of 64 KiB" {
	need sqlite3 sqlite3
	body() {
		cat >load <<-END
			#!/bin/sh -e
			sqlite3 "$IOT_MNT/x-run\$1-.db" "PRAGMA journal_mode = WAL; CREATE TABLE t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
				INSERT INTO t SELECT randomblob(3000) FROM n; UPDATE t SET a = randomblob(3000) WHERE rowid % 7 = 0" >/dev/null
		END
		chmod +x load
		answers "$(by_component sqlite)" ./load >all
		awk '$1 == "wal" && $2 > 1500000 && $6 > 0 { w = 1 } $1 == "data" && $2 > 1500000 && $6 >= $2 { d = 1 } END { exit !(w && d) }' all || fail "$(cat all)"
		for run in 1 2 3; do
			complete $run
			same "unclassified in run $run" "$(report $run components components | awk -F, '/unclassified|not/ { n += $5 + $8 } END { print n + 0 }')" 0
		done
	}
	with_fs ext4 64M -- body
}

# A program that does with a RocksDB what its threads do: one flushes a table, one compacts into another, the first one appends to the log. In the
# table 11 two threads write, one after the other.
cat_rocks() {
	cat <<-'END'
		import ctypes, os, sys, threading, time
		prctl = ctypes.CDLL(None).prctl
		root = sys.argv[2] + "/db" + sys.argv[1]
		os.mkdir(root)
		for name in "CURRENT", "IDENTITY":
		    open(root + "/" + name, "w").close()
		wal = os.open(root + "/000003.log", os.O_CREAT | os.O_WRONLY)
		os.write(wal, bytes(8192))
		time.sleep(0.3)

		def thread(comm, name, at, n):
		    def body():
		        prctl(15, comm, 0, 0, 0)
		        fd = os.open(root + "/" + name, os.O_CREAT | os.O_RDWR)
		        for i in range(n):
		            os.pwrite(fd, bytes(4096), at + 4096 * i)
		        os.fsync(fd)
		        if len(sys.argv) > 3:
		            time.sleep(0.7) # events have no name: it is read when they have arrived
		    t = threading.Thread(target=body)
		    t.start()
		    t.join()

		thread(b"rocksdb:high0", "000007.sst", 0, 17)
		thread(b"rocksdb:low1", "000009.sst", 0, 13)
		if len(sys.argv) > 3:
		    thread(b"rocksdb:high0", "000011.sst", 0, 5)
		    thread(b"rocksdb:low1", "000011.sst", 20480, 3)
		for i in range(11):
		    os.write(wal, bytes(4096))
		    os.fdatasync(wal)
	END
}

@test "threads of a RocksDB are told apart with events, without, with a ring of 64 KiB" {
	body() {
		cat_rocks >rocks.py
		# component S ops syncs S_r W B; syncs are what the file is
		same "components" "$(answers "$(by_component rocksdb)" python3 rocks.py "$IOT_MNT" | sed 's/python3 //')" "compaction 53248 13 0 0 53248 53248
data 0 0 2 0 0 0
flush 69632 17 0 0 69632 69632
wal 53248 12 11 0 53248 53248"
		for run in 1 2 3; do complete $run; done
	}
	answers() {
		local i=0 mode

		for mode in "${modes[@]}"; do
			i=$((i + 1))
			# shellcheck disable=SC2086 # options
			traced $mode -- "$2" "$3" $i "$4"
			run_no=$i q "$1" >answer$i
			[ $i = 1 ] || diff answer1 answer$i >&2 || fail "$mode answers otherwise than events"
		done
		cat answer1
	}
	with_fs ext4 64M -- body
}

@test "a file of two threads is split where events tell, and one row where not" {
	body() {
		local table shared

		cat_rocks >rocks.py
		traced -- python3 rocks.py 1 "$IOT_MNT" more
		traced --no-events -- python3 rocks.py 2 "$IOT_MNT" more
		complete 1
		complete 2
		table="SELECT COALESCE(n.name, '-'), SUM(i.write_bytes), SUM(i.fs_write_bytes), SUM(i.dev_write_bytes) FROM r JOIN file_io i ON i.run = r.run
			JOIN file f ON f.run = i.run AND f.id = i.file LEFT JOIN component n ON n.id = i.component
			WHERE f.path LIKE '%/000011.sst' AND i.write_bytes + i.fs_write_bytes > 0 GROUP BY 1 ORDER BY 1"
		empty "lost" "$(sql "SELECT what, n FROM lost WHERE run = 1 AND n > 0 AND effect IN ('events', 'bytes')")"
		same "with events" "$(run_no=1 q "$table" | tr '\n' ',')" "compaction 12288 12288 12288,flush 20480 20480 20480,"
		same "calls without" "$(run_no=2 q "$table" | awk '$2 { print $1, $2 }' | tr '\n' ',')" "compaction 12288,flush 20480,"
		same "the whole without" "$(run_no=2 q "$table" | awk '{ n += $3; m += $4 } END { print n, m }')" "32768 32768"
		# where a second ended between the two, what the first one wrote is its own
		shared=$(run_no=2 q "$table" | awk '$1 == "shared" { print $4 }')
		[ "$shared" = 12288 ] || [ "$shared" = 32768 ] || fail "'$shared' bytes are shared: $(run_no=2 q "$table")"
		same "its line" "$(report 2 components components | grep ,shared, | cut -d, -f2,4,8)" "rocksdb,shared,$shared"
	}
	with_fs ext4 64M -- body
}

# Makes N files of 4096 bytes in DIR.
files_of() { # DIR N
	python3 - "$@" <<-'END'
		import os, sys
		page = bytes(4096)
		for i in range(int(sys.argv[2])):
		    fd = os.open(sys.argv[1] + "/%d" % i, os.O_CREAT | os.O_WRONLY)
		    os.write(fd, page)
		    os.close(fd)
	END
}

# Waits until a process that was stopped has done what there was to do: it takes hardly any processor time for half a second.
calm() { # PID
	local ticks last=-100 try quiet=0

	for try in {1..100}; do
		ticks=$(awk '{ print $14 + $15 }' "/proc/$1/stat")
		quiet=$((ticks - last > 1 ? 0 : quiet + 1)) last=$ticks
		[ "$quiet" -lt 5 ] || return 0
		sleep 0.1
	done
}

# Sums that one user can have: three quarters of those that are not kept in reserve.
places=23808

@test "50,000 files while nobody reads the sums: complete, one row each (defect 23)" {
	body() {
		"$trace" -q --no-events -o "$store" -- bash -c "$(declare -f files_of)
			kill -STOP \$PPID
			files_of $IOT_MNT 50000
			kill -CONT \$PPID"
		complete 1
		same "S of the files" "$(q "SELECT SUM(i.write_bytes) FROM r JOIN file_io i ON i.run = r.run WHERE i.owner > 2")" "$(total bytes "owner > 2 AND dir = 'w' AND layer = 'syscall' AND sub = 'regular'")"
		[ "$(total bytes "owner > 2 AND dir = 'w' AND layer = 'syscall' AND sub = 'regular'")" -ge $((50000 * 4096)) ]
		[ "$(sql "SELECT n FROM lost WHERE what = 'table of sums by file full'")" -gt 0 ] || fail "no loss is named"
		"$analyze" files "$store" --format csv >files
		same "rows" "$(grep -c '^(file not known),.*,python3,' files) $(grep -c '^(name not known),.*,python3,' files)" "1 1"
		between "bytes of files that have no place" "$(grep '^(file not known),.*,python3,' files | cut -d, -f6)" $(((50000 - places) * 4096)) $(((50000 - places / 3) * 4096)) # others have places too
		same "waf_sys" "$("$analyze" amplification "$store" --table ratios --format csv | grep -c '^all traced,.*waf_sys,.*[<>]=')" 0
	}
	with_fs ext4 512M -N 60000 -- body
}

@test "a neighbour that makes 32,000 files takes no place from a server, and no name" {
	body() {
		cat_rocks >rocks.py
		chmod 777 "$IOT_MNT"
		mkdir -m 777 "$IOT_MNT/theirs"
		"$trace" -q --no-events -o "$store" -- bash -c "$(declare -f files_of)
			kill -STOP \$PPID
			export -f files_of
			setpriv --reuid=65534 --clear-groups bash -c 'files_of $IOT_MNT/theirs 32000'
			kill -CONT \$PPID
			$(declare -f calm)
			calm \$PPID # what its threads do is told apart from when it has been looked at: that is not what is asked here
			python3 rocks.py 1 $IOT_MNT"
		complete 1
		[ "$(sql "SELECT n FROM lost WHERE what = 'table of sums by file full'")" -gt 0 ] || fail "the table had room for all"
		same "components" "$(q "$(by_component rocksdb)" | tr '\n' ',')" "compaction 53248 13 0 0 53248 53248,data 0 0 2 0 0 0,flush 69632 17 0 0 69632 69632,wal 53248 12 11 0 53248 53248,"
	}
	with_fs ext4 512M -N 60000 -- body
}

@test "30,000 files dirtied by a stranger before the run are no loss (defect 21)" {
	built forker
	body() {
		for try in 1 2 3 4 5; do # a sync of somebody else may come before the run
			mkdir -m 777 "$IOT_MNT/theirs"
			setpriv --reuid=65534 --clear-groups "$IOT_BUILD/forker" 30000 files "$IOT_MNT/theirs"
			traced --no-events -- bash -c "$(declare -f files_of)
				sync -f $IOT_MNT
				mkdir $IOT_MNT/own
				files_of $IOT_MNT/own 500"
			[ "$(total bytes "kind = 'block_write' AND cause = 'data' AND owner = 0 AND dev = '$IOT_DEVNO'")" -lt $((20000 * 4096)) ] || break
			rm -r "$IOT_MNT/theirs" "$IOT_MNT/own"
		done
		[ "$(total bytes "kind = 'block_write' AND dev = '$IOT_DEVNO'")" -ge $((20000 * 4096)) ] || skip "somebody else's sync came before each of $try runs"
		empty "lost" "$(q "SELECT what, n FROM lost JOIN r ON r.run = lost.run WHERE n > 0")"
		between "nobody's files" "$(total bytes "kind = 'block_write' AND cause = 'data' AND owner = 0 AND dev = '$IOT_DEVNO'")" $((20000 * 4096)) $((30000 * 4096))
		same "files with a name" "$(q "SELECT COUNT(*), SUM(i.write_bytes), SUM(i.dev_write_bytes) FROM r JOIN file_io i ON i.run = r.run JOIN file f ON f.run = i.run AND f.id = i.file
			WHERE f.path LIKE '$IOT_MNT/own/%' AND i.write_bytes > 0")" "500 2048000 2048000"
	}
	with_fs ext4 1G -N 40000 -- body
}

@test "quiet files leave the table: 33,000 in three steps fit into 23,808 places" {
	body() {
		traced --no-events --settle none -- bash -c "$(declare -f files_of)
			for step in 1 2 3; do mkdir $IOT_MNT/\$step; files_of $IOT_MNT/\$step 11000; sync -f $IOT_MNT; [ \$step = 3 ] || sleep 8; done" # what is written back later would be sums again
		complete 1
		empty "lost" "$(sql "SELECT what, n FROM lost WHERE n > 0 AND what LIKE 'table of sums%'")"
		same "files" "$(q "SELECT COUNT(DISTINCT i.file) >= 33000 FROM r JOIN file_io i ON i.run = r.run WHERE i.owner > 2 AND i.write_bytes = 4096")" 1
	}
	with_fs ext4 1G -N 60000 -- body
}

@test "a name that the ring lost comes back while the file is used, or at the end" {
	body() {
		local deep # paths of a thousand bytes, of which 4 MiB are full

		deep=$IOT_MNT/$(printf '%0240d/%0240d/%0240d/%0240d' 1 2 3 4)
		mkdir -p "$deep"
		"$trace" -q --no-events --settle none -o run.sqlite -- bash -c "$(declare -f files_of)
			kill -STOP \$PPID
			files_of $deep 6000
			exec 3>$IOT_MNT/used 4>$IOT_MNT/open
			echo 1 >&3
			echo 1 >&4
			kill -CONT \$PPID
			for i in 1 2 3 4 5 6; do sleep 0.5; echo 1 >&3; done
			setsid sleep 100 3>&- &
			echo \$! >sleeper" 4>/dev/null
		[ "$(sql "SELECT n FROM lost WHERE what = 'ring full: process or path'")" -gt 0 ] || fail "nothing was lost"
		same "names" "$(q "SELECT replace(path, '$IOT_MNT/', '') FROM r JOIN file f ON f.run = r.run WHERE path IN ('$IOT_MNT/used', '$IOT_MNT/open') ORDER BY 1" | tr '\n' ' ')" "open used "
		same "rows without a name" "$("$analyze" files "$store" --format csv | grep -c '^(name not known),.*,python3,')" 1
		kill "$(cat sleeper)"
		wait_for test ! -e "/proc/$(cat sleeper)"
	}
	with_fs ext4 64M -- body
}

@test "JSON Lines carry the sums by file: ingested, they are the rows of the store" {
	body() {
		cat_rocks >rocks.py
		for mode in "--ring 16M" "--no-events"; do
			rm -f run.* again.sqlite
			# shellcheck disable=SC2086 # options
			"$trace" -q -o run.sqlite -o run.jsonl $mode -- python3 rocks.py "${mode#--}" "$IOT_MNT" more
			"$analyze" ingest again.sqlite <run.jsonl
			for one in run again; do sqlite3 $one.sqlite "SELECT * FROM file_io ORDER BY run, file, owner, component" >$one.rows; done
			[ "$(wc -l <run.rows)" -gt 5 ] || fail "few rows: $(cat run.rows)"
			diff run.rows again.rows || fail "ingest gives other rows with $mode"
		done
	}
	with_fs ext4 64M -- body
}
