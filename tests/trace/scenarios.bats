# SPDX-License-Identifier: GPL-3.0-only
# scenarios.bats - from known work to the store, end to end: every byte against a counter that iot does not keep:
# /sys/block/DEV/stat read by the test, debugfs on the image, iot-io's ledgers, /proc/PID/io.
# Tests whose names begin with "guest:" run in the virtual machines of vm.bats too.

load ../lib/helper

setup() { own_run; }

# At least 99.9 % of what the device wrote has an owner.
attributed() {
	local all none

	all=$(written 1)
	none=$(written 'owner = 0')
	[ "$((none * 1000))" -le "$all" ] || fail "$none of $all device bytes have no owner"
}

# The device's bytes are the kernel's, by the test's own reading, and what the run stored says the same.
covered() { # DEVICE_DELTA
	same "device bytes" "$(written 1)" "$1"
	same "the stored counter" "$(sql "SELECT end_value - begin_value FROM truth
		WHERE source = '/sys/block/${IOT_DEV#/dev/}/stat' AND what = 'write_bytes' AND run = (SELECT MAX(run) FROM run)")" "$1"
}

# One value of a report in CSV: csv_value COLUMN CONDITION < report.csv
csv_value() {
	sqlite3 :memory: -cmd '.mode csv' -cmd '.import /dev/stdin t' -cmd '.mode list' "SELECT $1 FROM t WHERE $2;"
}

# The journal on the device has the blocks, kind by kind, that the run says it wrote there.
journal_agrees() { # AFTER_TRANSACTION
	local image store_says

	image=$(journal_kinds "$IOT_DEV" "$1")
	store_says=$(q "SELECT sub, SUM(bytes) / 4096 FROM c WHERE kind = 'block_write' AND cause = 'journal' AND dev = '$IOT_DEVNO'
		AND sub <> 'journal_super' GROUP BY sub ORDER BY sub")
	same "journal blocks by kind" "$store_says" "$image"
}

@test "guest: dd of 10 MiB with fdatasync is 10485760 bytes: the device's, and dd's" {
	body() {
		dev_mark
		traced -- dd if=/dev/zero of="$IOT_MNT/f" bs=1M count=10 conv=fdatasync status=none
		delta=$(dev_wrote)
		same "S" "$(total bytes "layer = 'syscall' AND dir = 'w' AND sub = 'regular' AND comm = 'dd'")" 10485760
		same "write calls" "$(total ops "kind = 'write' AND comm = 'dd'")" 10
		covered "$delta"
		same "dd's data" "$(written "cause = 'data' AND comm = 'dd'")" 10485760
		between "waf_sys" "$(awk -v b="$delta" 'BEGIN { print b / 10485760 }')" 1.000 1.020
		same "bytes of nobody's" "$(written "NOT (comm = 'dd' OR (cause IN ('journal', 'metadata') AND owner > 2))")" 0
		nothing_lost "$STRANGERS"
		"$analyze" amplification "$store" --table volumes --format csv > report.csv
		same "S and B of the report" "$(csv_value "S || ' ' || B" "who = 'dd'" < report.csv)" "10485760 $(written "comm = 'dd'")"
	}
	with_fs ext4 256M -- body
}

@test "guest: A wrote 8 MiB, B 4 MiB, C called sync: each is charged its own, C nothing" {
	body() {
		ln -s "$io" alpha
		ln -s "$io" beta
		dev_mark
		traced -- sh -c './alpha --api write --file $IOT_MNT/a --count 128 --size 64k > /dev/null
			./beta --api write --file $IOT_MNT/b --count 64 --size 64k > /dev/null; exec sync'
		delta=$(dev_wrote)
		covered "$delta"
		attributed
		same "A's data" "$(written "cause = 'data' AND comm = 'alpha'")" 8388608
		same "B's data" "$(written "cause = 'data' AND comm = 'beta'")" 4194304
		same "C's data" "$(written "cause = 'data' AND comm = 'sync'")" 0
		nothing_lost "$STRANGERS"
	}
	with_fs ext4 256M -- body
}

@test "guest: processes that take turns on the processors lose no call" {
	body() {
		dd if=/dev/zero of="$IOT_MNT/f" bs=64k count=1 status=none
		for i in 1 2 3 4 5 6; do ln -s "$io" "turn$i"; done
		traced --settle none -- sh -c 'for i in 1 2 3 4 5 6; do
			"./turn$i" --api pread --file $IOT_MNT/f --count 5000 --size 512 --span 128 > "ledger$i" & done; wait'
		for i in 1 2 3 4 5 6; do
			same "reads of turn$i" "$(total ops "kind = 'pread64' AND comm = 'turn$i'") $(total bytes "kind = 'pread64' AND comm = 'turn$i'")" \
				"$(ledger "ledger$i" read_ops) $(ledger "ledger$i" read)"
		done
		empty "lost" "$(q "SELECT layer, what, n FROM lost WHERE n > 0 AND layer = 'syscall' AND run = (SELECT run FROM r)")"
	}
	with_fs ext4 64M -- body
}

@test "500 overwrites of 8 KiB in a file of large folios dirty 4096000 bytes" {
	body() {
		dd if=/dev/zero of="$IOT_MNT/f" bs=4M count=2 conv=fdatasync status=none
		sync -f "$IOT_MNT" # or what dd left in the journal is written between the mark and the run, now and then
		dev_mark
		traced -- "$io" --api pwrite --file "$IOT_MNT/f" --count 500 --size 8k --sync fdatasync --every 1 > ledger.json
		delta=$(dev_wrote)
		same "D" "$(q "SELECT SUM(dirtied) FROM l WHERE dev = '$IOT_DEVNO' AND comm = 'iot-io'")" 4096000
		same "data on the device" "$(written "cause = 'data' AND comm = 'iot-io'")" 4096000
		same "ledger" "$(q "SELECT SUM(absorbed), SUM(cancelled), SUM(dirty_end), SUM(unexpected) FROM l WHERE dev = '$IOT_DEVNO'")" "0 0 0 0"
		covered "$delta"
	}
	with_fs ext4 256M -- body
}

@test "101 overwrites of 4 KiB with fsync are 101 data blocks and 101 commits" {
	body() {
		"$io" --api pwrite --file "$IOT_MNT/f" --count 1 --sync fsync > /dev/null
		sync -f "$IOT_MNT"
		last=$(journal_last "$IOT_DEV")
		dev_mark
		traced -- "$io" --api pwrite --file "$IOT_MNT/f" --count 101 --pattern fixed --pause 10 --sync fsync --every 1 > ledger.json
		delta=$(dev_wrote)
		covered "$delta"
		same "data" "$(written "cause = 'data'")" 413696
		for kind in descriptor inode_table commit; do
			same "$kind" "$(written "cause = 'journal' AND sub = '$kind'")" 413696
		done
		same "commits" "$(total ops "kind = 'commit' AND dev = '$IOT_DEVNO'")" 101
		same "fsyncs" "$(total ops "kind = 'fsync' AND comm = 'iot-io'")" 101
		"$analyze" amplification "$store" --table ratios --format csv > report.csv
		same "commits_per_fsync" "$(csv_value value "who = 'iot-io' AND ratio = 'commits_per_fsync'" < report.csv)" 1.000
		fs_umount
		journal_agrees "$last"
	}
	with_fs ext4 256M -- body
}

@test "101 appends of 4 KiB with fsync: the journal by kind of block is debugfs's" {
	body() {
		sync -f "$IOT_MNT" # what mounting left in the journal is nobody's
		last=$(journal_last "$IOT_DEV")
		dev_mark
		traced -- "$io" --api append --file "$IOT_MNT/f" --count 101 --pause 10 --sync fsync --every 1 > ledger.json
		delta=$(dev_wrote)
		covered "$delta"
		attributed
		same "data" "$(written "cause = 'data'")" 413696
		fs_umount
		journal_agrees "$last"
	}
	with_fs ext4 256M -J size=64 -- body
}

@test "101 files created, synced, renamed: the journal by kind of block is debugfs's" {
	body() {
		sync -f "$IOT_MNT" # what mounting left in the journal is nobody's
		last=$(journal_last "$IOT_DEV")
		dev_mark
		traced -- "$io" --api create-rename --file "$IOT_MNT/n" --count 101 > ledger.json
		delta=$(dev_wrote)
		covered "$delta"
		attributed
		same "data" "$(written "cause = 'data'")" 413696
		same "renames" "$(total ops "kind = 'rename' AND comm = 'iot-io'")" 101
		same "commit blocks" "$(($(written "cause = 'journal' AND sub = 'commit'") / 4096))" \
			"$(total ops "kind = 'commit' AND dev = '$IOT_DEVNO'")"
		fs_umount
		journal_agrees "$last"
	}
	with_fs ext4 256M -J size=64 -- body
}

# Every row of the ledgers in the folder against the same process's aggregates, where a call returns bytes or syncs. The
# ledger does not count its own printing: one write into a pipe. msync has no descriptor, and so no type of file.
ledgers_agree() {
	local file rows

	for file in ledger.*.json; do
		rows=$(sql "WITH r AS (SELECT MAX(run) AS run FROM run),
			want AS (SELECT json_extract(value, '\$.kind') AS kind,
					CASE WHEN json_extract(value, '\$.kind') = 'msync' THEN 'none'
						WHEN json_extract(value, '\$.type') = 'socket' THEN 'net_unix' -- a pair of them
						ELSE json_extract(value, '\$.type') END AS type,
					json_extract(value, '\$.ops') AS ops, json_extract(value, '\$.bytes') AS bytes,
					json_extract(value, '\$.errors') AS errors
				FROM json_each(readfile('$file'), '\$.calls')
				WHERE kind NOT IN ('load', 'store', 'open', 'close', 'mmap', 'rename', 'unlink', 'truncate')
				UNION ALL SELECT 'write', 'pipe', 1, length(readfile('$file')), 0),
			wanted AS (SELECT kind, type, SUM(ops) AS ops, SUM(bytes) AS bytes, SUM(errors) AS errors FROM want GROUP BY kind, type),
			got AS (SELECT k.name AS kind, s.name AS type, SUM(t.ops) AS ops, SUM(t.bytes) AS bytes, SUM(t.errors) AS errors
				FROM agg_total t JOIN r ON r.run = t.run JOIN process p ON p.run = t.run AND p.id = t.owner
				JOIN kind k ON k.id = t.kind JOIN layer y ON y.id = k.layer JOIN sub s ON s.id = t.sub
				WHERE p.pid = json_extract(readfile('$file'), '\$.pid') AND y.name IN ('syscall', 'uring') AND k.dir IN ('r', 'w', 's')
				GROUP BY k.name, s.name)
			SELECT 'ledger', w.*, 'store', g.ops, g.bytes, g.errors FROM wanted w LEFT JOIN got g ON g.kind = w.kind AND g.type = w.type
			WHERE g.ops IS NOT w.ops OR g.bytes IS NOT w.bytes OR g.errors IS NOT w.errors
			UNION ALL SELECT 'ledger has none, store', g.*, '', '', '', '' FROM got g LEFT JOIN wanted w ON w.kind = g.kind AND w.type = g.type
			WHERE w.kind IS NULL;")
		empty "$file" "$rows"
	done
}

# One traced run of many iot-io, each with its ledger in a file; read through a pipe, so that ledgers are not file I/O.
run_apis() { # DIRECTION SIZE OPTIONS...
	local direction=$1 size=$2

	shift 2
	cat > apis.sh <<-SCRIPT
		set -e
		cd "$IOT_MNT"
		"$io" --list | while read -r api dir; do
			[ "\$dir" = "$direction" ] || continue
			case \$api in create-rename | uring-fixed-vector*) continue ;; direct*) [ "$size" != 4099 ] || continue ;; esac # EINVAL
			file=f
			[ "$direction" = r ] || file=f.\$api
			"$io" --api "\$api" --file "\$file" --from src --count 23 --size "$size" $* | cat > "$BATS_TEST_TMPDIR/ledger.\$api.json"
		done
	SCRIPT
	dev_mark
	traced -- bash apis.sh
	delta=$(dev_wrote)
	delta_read=$(dev_read)
}

# Bytes of one ledger on the device: api_bytes API KIND CAUSES
api_bytes() {
	total bytes "kind = '$2' AND dev = '$IOT_DEVNO' AND cause IN ($3) AND pid = $(ledger "ledger.$1.json" pid)"
}

@test "every writing call, 23 times 4099 bytes, is in S as its ledger says" {
	body() {
		head -c 200000 /dev/urandom > "$IOT_MNT/src"
		sync -f "$IOT_MNT"
		run_apis w 4099 --sync fsync
		ledgers_agree
		covered "$delta"
		attributed
		same "T of write" "$(total touched "kind = 'write' AND pid = $(ledger ledger.write.json pid)")" "$(ledger ledger.write.json touched)"
	}
	with_fs ext4 256M -- body
}

@test "every writing call, 23 times 8 KiB, brings its 188416 bytes to the device" {
	body() {
		head -c 200000 /dev/urandom > "$IOT_MNT/src"
		sync -f "$IOT_MNT"
		run_apis w 8k --sync fsync
		ledgers_agree
		covered "$delta"
		for file in ledger.*.json; do
			api=$(ledger "$file" api)
			case $api in zero | bad-address) continue ;; esac
			same "$api" "$(api_bytes "$api" block_write "'data', 'direct'")" 188416
		done
	}
	with_fs ext4 256M -- body
}

@test "every writing call with O_DIRECT and several in flight is charged as direct I/O" {
	body() {
		head -c 200000 /dev/urandom > "$IOT_MNT/src"
		sync -f "$IOT_MNT"
		run_apis w 8k --direct --depth 5 --sync native
		ledgers_agree
		covered "$delta"
		for api in write pwrite writev pwritev libaio uring uring-sqpoll uring-async; do
			same "$api" "$(api_bytes "$api" block_write "'direct'")" 188416
		done
	}
	with_fs ext4 256M -- body
}

@test "every reading call of an uncached file is in S and fetches the file once" {
	body() {
		head -c 188416 /dev/urandom > "$IOT_MNT/f"
		sync -f "$IOT_MNT"
		run_apis r 8k --cold
		ledgers_agree
		same "device bytes read" "$(total bytes "kind = 'block_read' AND dev = '$IOT_DEVNO'")" "$delta_read"
		for file in ledger.*.json; do
			api=$(ledger "$file" api)
			case $api in short-read | end-read) continue ;; esac
			same "$api" "$(api_bytes "$api" block_read "'data', 'readahead', 'direct'")" 188416
		done
	}
	with_fs ext4 256M -- body
}

@test "a cached file is read without device bytes: S counts, the device does not" {
	body() {
		head -c 188416 /dev/urandom > "$IOT_MNT/f"
		sync -f "$IOT_MNT"
		for try in 1 2 3 4 5; do # the kernel may take pages away at any time: its own counter says whether it did
			cat "$IOT_MNT/f" > /dev/null
			dev_mark
			traced -- "$io" --api pread --file "$IOT_MNT/f" --count 23 --size 8k > ledger.json
			fetched=$(dev_read)
			same "S" "$(total bytes "kind = 'pread64' AND sub = 'regular' AND comm = 'iot-io'")" 188416
			same "device" "$(total bytes "kind = 'block_read' AND dev = '$IOT_DEVNO'")" "$fetched"
			[ "$fetched" != 0 ] || break
		done
		same "fetched, in try $try" "$fetched" 0
		same "misses" "$(total bytes "kind = 'miss' AND comm = 'iot-io' AND dev = '$IOT_DEVNO'")" 0 # its program may be read from another disk
	}
	with_fs ext4 256M -- body
}

@test "failed, short and empty calls, sockets, pipes, /proc: operations, no S" {
	body() {
		head -c 20000 /dev/urandom > "$IOT_MNT/f"
		cat > calls.sh <<-SCRIPT
			for api in bad-fd bad-address zero short-read end-read socket pipe proc; do
				"$io" --api \$api --file "$IOT_MNT/f" --count 23 --size 4098 | cat > ledger.\$api.json
			done
		SCRIPT
		traced -- bash calls.sh
		ledgers_agree
		same "S" "$(total bytes "layer = 'syscall' AND dir = 'w' AND sub IN ('regular', 'blockdev') AND dev = '$IOT_DEVNO'")" 0
		same "S_r" "$(total bytes "layer = 'syscall' AND dir = 'r' AND sub IN ('regular', 'blockdev') AND dev = '$IOT_DEVNO'")" 47127
		same "errors" "$(total errors "layer = 'syscall' AND dir IN ('r', 'w') AND comm = 'iot-io'")" 69
	}
	with_fs ext4 256M -- body
}

@test "stores into a mapping have no call bytes, and are of who stored them" {
	body() {
		"$io" --api pwrite --file "$IOT_MNT/f" --count 101 --size 4k --sync fsync > /dev/null
		sync -f "$IOT_MNT" # metadata that was dirty before the run would have no owner
		traced -- "$io" --api mmap --file "$IOT_MNT/f" --count 101 --size 4k --sync native > ledger.json
		same "S" "$(total bytes "layer = 'syscall' AND dir = 'w' AND sub = 'regular' AND dev = '$IOT_DEVNO'")" 0
		same "data" "$(written "cause = 'data' AND comm = 'iot-io'")" 413696
		attributed
	}
	with_fs ext4 256M -- body
}

@test "guest: a file mapped over a process's copied memory: stores there are its own" {
	need python3 python3-minimal
	cat >shared.py <<-'EOF'
		import ctypes, mmap, os, sys
		libc, PAGE, PAGES, STORED = ctypes.CDLL(None), 4096, 16, 5
		libc.mmap.restype = ctypes.c_void_p
		libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
		RW, FIXED = mmap.PROT_READ | mmap.PROT_WRITE, 16
		file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
		place = libc.mmap(None, PAGES * PAGE, RW, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
		ctypes.memset(place, 1, PAGES * PAGE)
		os.pwrite(file, b"p" * (PAGES * PAGE), 0)
		child = os.fork()
		if child == 0:
		    for page in range(PAGES):
		        ctypes.memset(place + page * PAGE, 2, 1)  # a copy
		    libc.mmap(place, PAGES * PAGE, RW, mmap.MAP_SHARED | FIXED, file, 0)
		    assert ctypes.string_at(place, PAGES * PAGE) == b"p" * (PAGES * PAGE)
		    for page in range(STORED):
		        ctypes.memset(place + page * PAGE, 3, 1)  # is mapped, and dirty: only the fault tells
		    os.fsync(file)
		    os._exit(0)
		os.waitpid(child, 0)
	EOF
	body() {
		traced -- python3 shared.py "$IOT_MNT/f"
		same "bytes of child and parent" "$(q "SELECT SUM(bytes) FROM c WHERE kind = 'block_write' AND cause = 'data' AND dev = '$IOT_DEVNO'
			GROUP BY pid ORDER BY 1" | paste -sd ' ')" "20480 45056"
	}
	with_fs ext4 64M -- body
}

@test "101 overwrites of one block before a single fsync: 100 are absorbed by the cache" {
	body() {
		traced -- "$io" --api pwrite --file "$IOT_MNT/f" --count 101 --pattern fixed --sync fsync > ledger.json
		same "S" "$(total bytes "kind = 'pwrite64' AND comm = 'iot-io'")" 413696
		same "data" "$(written "cause = 'data'")" 4096
		same "ledger" "$(q "SELECT SUM(dirtied), SUM(absorbed), SUM(written) FROM l WHERE dev = '$IOT_DEVNO' AND comm = 'iot-io'")" \
			"4096 409600 4096"
	}
	with_fs ext4 256M -- body
}

@test "a file deleted before writeback is cancelled, and brings no data (defect 32)" {
	body() {
		dev_mark
		traced -- "$io" --api write --file "$IOT_MNT/f" --count 101 --size 4k --end unlink > ledger.json
		delta=$(dev_wrote)
		same "cancelled" "$(q "SELECT SUM(dirtied), SUM(cancelled), SUM(dirty_end) FROM l WHERE dev = '$IOT_DEVNO'")" "413696 413696 0"
		same "data" "$(written "cause = 'data'")" 0
		covered "$delta"
	}
	with_fs ext4 256M -- body
}

@test "a file truncated before writeback is cancelled" {
	body() {
		traced -- "$io" --api write --file "$IOT_MNT/f" --count 101 --size 4k --end truncate > ledger.json
		same "cancelled" "$(q "SELECT SUM(dirtied), SUM(cancelled), SUM(dirty_end) FROM l WHERE dev = '$IOT_DEVNO'")" "413696 413696 0"
		same "data" "$(written "cause = 'data'")" 0
	}
	with_fs ext4 256M -- body
}

@test "two writers of one file are each charged the blocks that they wrote" {
	body() {
		ln -s "$io" alpha
		ln -s "$io" beta
		traced -- sh -c './alpha --api pwrite --file $IOT_MNT/f --count 151 --size 4k > /dev/null
			./beta --api pwrite --file $IOT_MNT/f --at 618496 --count 101 --size 4k > /dev/null'
		same "alpha" "$(written "cause = 'data' AND comm = 'alpha'")" 618496
		same "beta" "$(written "cause = 'data' AND comm = 'beta'")" 413696
		attributed
	}
	with_fs ext4 256M -- body
}

@test "bytes dirty before the run are apart from unexplained ones (defects 1, 32)" {
	body() {
		nobodys() { q "SELECT SUM(c.bytes) FROM c WHERE c.kind = 'fs_write' AND c.cause = 'data' AND c.owner = 0 $1"; }
		# A sync of somebody else may come before the run. New files, as ext4 writes at once what replaces a file.
		for try in 1 2 3 4 5; do
			dd if=/dev/zero of="$IOT_MNT/before$try" bs=1M count=3 status=none
			traced --all --ring 64M -- sh -c 'dd if=/dev/zero of="$IOT_MNT/$1" bs=1M count=2 status=none; sync -f "$IOT_MNT"' sh "f$try"
			[ -z "$(nobodys "AND c.dev = '$IOT_DEVNO'")" ] || break
		done
		empty "lost" "$(q "SELECT what FROM lost WHERE n > 0 AND effect <> 'bytes' AND what <> '$STRANGERS' AND run = (SELECT run FROM r)")" # others may have requests under way
		same "dirtied, written, unexplained" "$(q "SELECT SUM(dirtied), SUM(written - dirty_start), SUM(unexpected + dirty_end) FROM l WHERE dev = '$IOT_DEVNO'")" "2097152 2097152 0"
		# the whole machine is traced: bytes that others left dirty on other devices are apart, too
		same "of nobody's, here" "$(nobodys "AND c.dev = '$IOT_DEVNO'")" 3145728
		same "dirty before, and unexplained, of nobody's" "$(sql "SELECT SUM(dirty_start), SUM(unexpected) FROM ledger
			WHERE owner = 0 AND run = (SELECT MAX(run) FROM run)")" "$(nobodys '') 0"
	}
	with_fs ext4 256M -- body
}

@test "on blocks of 1 KiB T and D are in those blocks, and the ledger closes" {
	body() {
		dev_mark
		traced -- sh -c 'for i in $(seq 31); do head -c 1500 /dev/zero > "$IOT_MNT/$i"; done
			"$0" --api pwrite --file "$IOT_MNT/f" --count 101 --size 512 > /dev/null
			"$0" --api libaio --direct --file "$IOT_MNT/g" --count 7 --size 1k > /dev/null
			"$0" --api uring --file "$IOT_MNT/h" --count 5 --size 1500 > /dev/null' "$io"
		covered "$(dev_wrote)"
		nothing_lost
		"$analyze" verify "$store" > verify.txt || fail "$(grep MISMATCH verify.txt)"
		# 31 files of 2 blocks | 51 blocks, all but the last dirtied by the first of two | 7 blocks | 5 writes in 8 blocks: of 2, 2, 3, 2 and 3
		same "touched, dirtied, direct" "$(sql "SELECT SUM(touched) / 1024, SUM(dirtied) / 1024, SUM(direct) / 1024 FROM ledger")" "$((62 + 101 + 7 + 12)) $((62 + 51 + 8)) 7"
		same "touched, by call" "$(q "SELECT SUM(c.touched) / 1024 FROM c WHERE c.dev = '$IOT_DEVNO'")" "$((62 + 101 + 7 + 12))"
	}
	with_fs ext4 64M -b 1024 -- body
}

@test "300 processes in one transaction of the journal are each charged their part" {
	body() {
		dev_mark
		traced -- sh -c 'for i in $(seq 300); do cp /dev/null "$IOT_MNT/$i"; done; sync -f "$IOT_MNT"'
		covered "$(dev_wrote)"
		nothing_lost
		attributed
		# the 5 s between two commits may end within them
		between "commits" "$(total ops "kind = 'commit' AND dev = '$IOT_DEVNO'")" 1 9
		same "processes with a part of the journal" "$(q "SELECT COUNT(DISTINCT c.owner) FROM c
			WHERE c.kind = 'block_write' AND c.cause = 'journal' AND c.dev = '$IOT_DEVNO' AND c.comm = 'cp' AND c.bytes > 0")" 300
	}
	with_fs ext4 256M -- body
}

@test "the text trace of dd answers the three user commands with exact bytes" {
	body() {
		dd=dd$RANDOM # a name of its own, should another dd run on this machine
		cp "$(command -v dd)" "$dd"
		others_before=$(cat /sys/block/*/stat | awk '{ sum += $3 + $7 } END { printf "%.0f", sum }')
		dev_mark
		"$root/working_trace.sh" 8 "$PWD/out.txt" 2> trace.log &
		tracer=$!
		for _ in $(seq 50); do [ ! -s trace.log ] || break; sleep 0.1; done
		"./$dd" if=/dev/zero of="$IOT_MNT/f" bs=1M count=10 conv=fdatasync status=none
		"./$dd" if=/dev/zero of="$IOT_MNT/g" bs=4k count=10 oflag=sync status=none
		wait "$tracer"
		delta=$(dev_wrote)
		others=$(($(cat /sys/block/*/stat | awk '{ sum += $3 + $7 } END { printf "%.0f", sum }') - others_before))
		same "App bytes" "$(grep "APPLICATION.*$dd.*WRITE" out.txt | awk '{sum+=$5} END {print "App bytes:", sum}')" "App bytes: 10526720"
		same "write lines" "$(grep -c "APPLICATION.*$dd.*WRITE" out.txt)" 20
		for layer in APPLICATION OS FILESYSTEM DEVICE; do
			[ "$(grep -c "$layer" out.txt)" -gt 0 ] || fail "no line of layer $layer"
		done
		# dd's own lines carry its data, and no more than the device wrote.
		dd_bytes=$(grep "DEVICE.* $dd .*WRITE" out.txt | awk '{sum+=$5} END {print sum}')
		between "dd's device bytes" "$dd_bytes" 10526720 "$delta"
		# The user's sum has every device; it can be compared where no other device worked meanwhile.
		if [ "$((others * 512))" = "$delta" ]; then
			same "Device bytes" "$(grep "DEVICE" out.txt | awk '{sum+=$5} END {print "Device bytes:", sum}')" "Device bytes: $delta"
		fi
		[[ $(head -n 1 out.txt) = "TIME             LAYER        EVENT  "*"SIZE ALIGNED LAT(μs) COMM            FLAGS" ]]
	}
	with_fs ext4 256M -- body
}

@test "two runs into one store are two runs, and --run selects" {
	traced --label first -- true
	traced --label second -- true
	same "runs" "$(sql 'SELECT COUNT(*), COUNT(DISTINCT uuid) FROM run')" "2 2"
	"$analyze" amplification "$store" > newest.txt
	"$analyze" amplification "$store" --run 1 > first.txt
	grep -q second newest.txt
	grep -q first first.txt
}

@test "a flood of 1000000 one-byte writes into a tiny ring: exact sums, counted losses" {
	body() {
		dev_mark
		traced --ring 64K -- "$io" --api write --file "$IOT_MNT/f" --count 1000000 --size 1 --sync fsync > ledger.json
		delta=$(dev_wrote)
		same "ops" "$(total ops "kind = 'write' AND dev = '$IOT_DEVNO'")" 1000000
		same "S" "$(total bytes "kind = 'write' AND sub = 'regular' AND dev = '$IOT_DEVNO'")" 1000000
		covered "$delta"
		lost=$(q "SELECT SUM(n) FROM lost WHERE effect = 'events' AND run = (SELECT run FROM r)")
		[ "${lost:-0}" -gt 0 ] || fail "nothing was lost: the ring is not tiny enough for this test"
		seen=$(sql "SELECT COUNT(*) FROM event e JOIN kind k ON k.id = e.kind WHERE k.name = 'write'
			AND e.owner IN (SELECT id FROM process WHERE comm = 'iot-io')")
		[ "$seen" -lt 1000000 ] || fail "no write event is missing"
		"$analyze" amplification "$store" > report.txt
		grep -qi lost report.txt
	}
	with_fs ext4 256M -- body
}

@test "an idle run on the device of its own store charges none of it to others" {
	body() {
		store=$IOT_MNT/run.sqlite
		traced -d 5
		# The store was made before the run: the commit and the checkpoint of that are nobody's, and so is a page of it that was dirty when the
		# run began and is not written over: one, on a machine that has much to do. Tracers of other tests read its superblock when they start.
		empty "bytes of others" "$(q "SELECT owner, comm, kind, cause, how, sub, ops, bytes FROM c WHERE layer IN ('syscall', 'block') AND bytes > 0
			AND dev = '$IOT_DEVNO' AND owner <> 1 AND NOT (owner = 0 AND (cause IN ('journal', 'metadata') OR cause = 'data' AND bytes = 4096))
			AND NOT (comm = 'iot-trace' AND kind IN ('pread64', 'block_read') AND bytes = ops * 1024)")"
		[ "$(total bytes "kind = 'block_write' AND dev = '$IOT_DEVNO' AND owner = 1")" -gt 0 ] || fail "nothing is the tracer's"
		same "rows of the tracer as somebody else" "$(q "SELECT COUNT(*) FROM c WHERE owner <> 1 AND
			pid = (SELECT p.pid FROM process p JOIN r ON r.run = p.run WHERE p.id = 1)")" 0
	}
	with_fs ext4 256M -- body
}

@test "bytes of a process that lived inside the run are the kernel's accounting" {
	body() {
		traced -- sh -c "'$io' --api write --file '$IOT_MNT/f' --count 23 --size 4099 > /dev/null
			'$io' --api read --file '$IOT_MNT/f' --count 23 --size 4099 --threads 3 > /dev/null
			'$io' --api write --file '$IOT_MNT/g' --count 23 --size 4099 --threads 3 > /dev/null"
		rows=$(q "SELECT p.pid, p.wchar - (SELECT COALESCE(SUM(bytes), 0) FROM c WHERE c.owner = p.id AND c.layer = 'syscall' AND c.dir = 'w'),
				p.rchar - (SELECT COALESCE(SUM(bytes), 0) FROM c WHERE c.owner = p.id AND c.layer = 'syscall' AND c.dir = 'r')
			FROM process p JOIN r ON r.run = p.run WHERE p.comm = 'iot-io'")
		same "processes" "$(echo "$rows" | wc -l)" 3
		while read -r pid written read; do
			same "wchar of $pid" "$written" 0
			between "rchar of $pid" "$read" 0 4096
		done <<< "$rows"
	}
	with_fs ext4 64M -- body
}

@test "bytes overwritten before writeback are cancelled, and verify agrees" {
	need sqlite3 sqlite3
	cat >load.sh <<-'EOF'
		(echo 'PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(80000));'; sleep 0.5) |
			sqlite3 "$1/x.db" >/dev/null
		: >"$1/written"
		until [ -e "$1/over" ]; do sleep 0.1; done
	EOF
	body() {
		for filter in "--all --system sqlite" ""; do
			rm -f "$IOT_MNT"/{x.db,written,over} run.sqlite
			(until [ -e "$IOT_MNT/written" ]; do sleep 0.1; done
				dd if=/dev/zero of="$IOT_MNT/x.db" bs=4096 count=3 seek=4 conv=notrunc status=none
				: >"$IOT_MNT/over") &
			# shellcheck disable=SC2086
			traced $filter --settle sync -- sh load.sh "$IOT_MNT"
			wait $!
			same "cancelled, unexplained" "$(q "SELECT SUM(cancelled), SUM(unexpected + dirty_end) FROM l WHERE path = '$IOT_MNT/x.db'")" "12288 0"
		done
		"$analyze" verify "$store" --format csv >verify.csv || :
		empty "ledger" "$(grep '^ledger.*MISMATCH' verify.csv)"
	}
	with_fs ext4 64M -- body
}

@test "reads of failed execs are no call's, and the kernel's accounting agrees" {
	need python3 python3-minimal
	cat >fails.py <<-'EOF'
		import os, sys
		def fail(times):
		    for _ in range(times):
		        try:
		            os.execv("./plain", ["plain"])
		        except OSError as e:
		            assert e.errno == 8 # ENOEXEC, after it was looked at
		def read(n):
		    f = os.open("plain", os.O_RDONLY)
		    assert len(os.read(f, n)) == n
		    os.close(f)
		if len(sys.argv) > 1: # the same after an exec that succeeds
		    fail(3)
		    read(41)
		    sys.exit()
		for how in "first", "last", "between", "again":
		    if os.fork() == 0:
		        if how != "last": fail(5)
		        read(37)
		        if how == "between": fail(7)
		        read(31)
		        fail(how == "last")
		        if how == "again": os.execv(sys.executable, [sys.executable, sys.argv[0], "x"])
		        os._exit(0)
		    os.wait()
	EOF
	printf 'no program\n%4000s\n' "" >plain
	chmod +x plain
	traced -- python3 fails.py
	"$analyze" verify "$store" --format csv --by pid >verify.csv || :
	same "processes" "$(grep -c '^process bytes read,python3' verify.csv)" 5
	empty "differ" "$(grep '^process bytes' verify.csv | grep -v ,OK,)"
}

@test "a block that a checkpoint wrote and another dirties is written for the other" {
	need python3 python3-minimal
	cat >checkpoint.py <<-'EOF'
		import fcntl, os, struct, sys
		def change(name):
		    fd = os.open(sys.argv[1] + "/" + name, os.O_RDWR)
		    os.fchmod(fd, 0o600) # the inodes of both are in one block
		    os.fsync(fd)
		    return fd
		fcntl.ioctl(change("a"), 0x4004662B, struct.pack("I", 0)) # EXT4_IOC_CHECKPOINT: writes buffers, and leaves their folios dirty
		if os.fork() == 0:
		    change("b")
		    os._exit(0)
		os.wait()
	EOF
	body() {
		touch "$IOT_MNT/a" "$IOT_MNT/b"
		sync -f "$IOT_MNT"
		traced -- python3 checkpoint.py "$IOT_MNT"
		same "metadata, by process" "$(q "SELECT SUM(bytes) FROM c WHERE kind = 'fs_write' AND cause = 'metadata' AND dev = '$IOT_DEVNO' AND comm = 'python3'
			GROUP BY owner ORDER BY owner" | paste -sd ,)" 4096,4096
	}
	with_fs ext4 256M -- body
}

@test "a process whose threads end at once on several processors keeps all bytes" {
	# io_uring's workers are threads of the process, and end with it; the ledger that iot-io prints is what it wrote by a call
	traced -- bash -c 'for _ in $(seq 60); do "$0" --api uring-async --file "$PWD/f" --count 16 --depth 16 > /dev/null; done' "$io"
	same "processes, without bytes" "$(sql "SELECT COUNT(*), SUM(wchar = 0) FROM process WHERE comm = 'iot-io' AND wchar IS NOT NULL")" "60 0"
}

@test "guest: a thread that leaves long after the last live one is remembered" {
	built leaver
	body() {
		mkfifo go
		cat > leave.sh <<-EOF
			exec 3<> go # for reading too: it waits for nobody
			trap 'fsfreeze -u "$IOT_MNT" 2> /dev/null' EXIT
			"$IOT_BUILD/leaver" "$IOT_MNT/word" out < go > ready &
			for i in \$(seq 3000); do [ -s ready ] && break; sleep 0.01; done
			sync -f "$IOT_MNT"
			fsfreeze -f "$IOT_MNT"
			echo >&3
			sleep 3
			fsfreeze -u "$IOT_MNT"
			wait
			sleep 4 # what is known of a process is kept for some seconds
		EOF
		traced --dev "${IOT_DEV#/dev/}" -- sh leave.sh
		same "wchar" "$(sql "SELECT wchar FROM process WHERE comm = 'leaver' AND wchar IS NOT NULL")" $((5000 + 300 + 6))
		"$analyze" verify "$store"
	}
	with_fs ext4 128M -- body
}

@test "fio's own count of its bytes is iot's, for four engines" {
	need fio fio
	body() {
		dd if=/dev/zero of="$IOT_MNT/f" bs=1M count=2 conv=fsync status=none # or fio would write it first, and not count that
		for engine in psync pvsync libaio io_uring; do ln -sf "$(command -v fio)" "$BATS_TEST_TMPDIR/x-$engine"; done
		# shellcheck disable=SC2016 # the traced shell's
		traced -- sh -ec 'for engine in psync pvsync libaio io_uring; do
			"$1/x-$engine" --name=job --filename="$0/f" --ioengine="$engine" --rw=randrw --bs=4k --size=2M \
				--fallocate=none --thread --output-format=json --output="$1/$engine.json" >/dev/null; done' "$IOT_MNT" "$BATS_TEST_TMPDIR"
		for engine in psync pvsync libaio io_uring; do
			want=$(sqlite3 :memory: "SELECT json_extract(readfile('$BATS_TEST_TMPDIR/$engine.json'), '\$.jobs[0].read.io_bytes') || ' ' ||
				json_extract(readfile('$BATS_TEST_TMPDIR/$engine.json'), '\$.jobs[0].write.io_bytes')")
			files=$(q "SELECT COALESCE(SUM(CASE WHEN dir = 'r' THEN bytes END), 0), COALESCE(SUM(CASE WHEN dir = 'w' THEN bytes END), 0)
				FROM c WHERE layer IN ('syscall', 'uring') AND sub = 'regular' AND dev = '$IOT_DEVNO' AND comm = 'x-$engine'")
			same "$engine" "$files" "$want"
		done
	}
	with_fs ext4 256M -- body
}

@test "verify says that the counters agree" {
	body() {
		traced -- dd if=/dev/zero of="$IOT_MNT/f" bs=64k count=101 conv=fsync status=none
		"$analyze" verify "$store"
	}
	with_fs ext4 256M -- body
}

@test "guest: ext4 first mounted in the run: programs are attached, writes have owners" {
	need_unmounted ext4
	body() {
		fs_umount
		modprobe -q -r ext4 || : # where it is a module, it is loaded in the run too
		mount_and_wait
		traced --dev "${IOT_DEV#/dev/}" -- sh mounts 14 "$IOT_DEV" "$IOT_MNT" sh -c "$io --api odsync --file $IOT_MNT/f --count 23; umount $IOT_MNT" > ledger.json
		between "journal" "$(written "cause = 'journal' AND comm = 'iot-io'")" $((23 * 3 * 4096)) $((23 * 7 * 4096)) # inode, bitmaps, a descriptor, a commit
		[[ $(q "SELECT reason FROM probe WHERE name = 'ext4__mark' AND run = (SELECT run FROM r)") == *"what it did before is not known" ]]
		same "data" "$(written "cause = 'data' AND comm = 'iot-io'")" $((23 * 4096))
		same "tier" "$(q "SELECT tier FROM run WHERE run = (SELECT run FROM r)")" full
	}
	with_fs ext4 256M -- body
}
