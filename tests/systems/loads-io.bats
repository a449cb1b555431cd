# SPDX-License-Identifier: GPL-3.0-only
# loads-io.bats - fio and dd as workloads: their own counts, the ledger, and the devices.

load ../lib/loads

setup() { need_root; }
teardown() { system_down; }

# run_profile PROFILE [COUNT [SIZE [CLIENTS]]]: loads it, and compares with the device's own counters around the load.
run_profile() {
	"$root/workloads/$IOT_TEST_SYSTEM.sh" prepare "$@"
	# twice: the first commit may dirty metadata
	sync -f "$IOT_WORK/mnt/d1"
	sync -f "$IOT_WORK/mnt/d1"
	loaded "$@"
	same "bytes written: ledger and device" "$(led after_sync.device_write_bytes)" "$delta"
	same "bytes read: ledger and device" "$(led after_sync.device_read_bytes)" "$delta_read"
	same "errors" "$(led errors)" 0
}

# A number of fio's own document, summed over its jobs: fio_counted write.io_bytes
fio_counted() {
	sqlite3 :memory: "SELECT SUM(json_extract(value, '\$.$1')) FROM json_each(readfile('$ledger_file'), '\$.engine.after.fio.jobs')"
}

# counts WRITES READS SIZE: operations and bytes as asked for, in the ledger and in what the program counted itself.
counts() {
	local direction n

	for direction in write read; do
		n=$1
		[ $direction = write ] || n=$2
		same "${direction}s in the ledger" "$(led ${direction}_ops) $(led logical_${direction}_bytes)" "$n $((n * $3))"
		same "${direction}s by fio's count" "$(fio_counted $direction.total_ios) $(fio_counted $direction.io_bytes)" "$n $((n * $3))"
	done
}

# Leaves 40 MiB of the drive, of which ext4 keeps some 16 for itself, to a load of 67 MiB.
full_disk() {
	# free, not available: root may use what is reserved
	fallocate -l $(($(stat -f -c '%f * %S' "$IOT_WORK/mnt/d1") - (40 << 20))) "$IOT_WORK/mnt/d1/filler"
	status=0
	loaded bulk 67 2>"$BATS_TEST_TMPDIR/err" || status=$?
	same "status" "$status" 1
	size=$(stat -c %s "$IOT_WORK"/mnt/d1/bulk-*)
	between "bytes of the file" "$size" 10000000 42000000
}

@test "fio: 67 MiB and 101 synced appends: counts, ledger and device agree" {
	need fio fio
	system_up fio
	run_profile bulk 67
	counts 67 0 1048576
	waf_between 1.000 1.005
	run_profile small 101
	counts 101 0 4096
	# data, descriptor, inode table, group descriptor, block bitmap, commit
	waf_between 6.0 7.2
}

@test "fio: 1009 random reads are read once from a cold cache, never from a warm one" {
	need fio fio
	system_up fio
	export IOT_SET=both
	run_profile read-cold 1009 4096 3
	counts 0 1009 4096
	same "jobs" "$(led 'engine.after.fio.jobs[0].read.total_ios') $(led 'engine.after.fio.jobs[2].read.total_ios')" "336 337"
	raf_between 1.000 1.01
	run_profile read-warm 1009
	counts 0 1009 4096
	raf_between 0 0.01
}

@test "fio: overwrites write each record once; a mixed load is fio's 101 operations" {
	need fio fio
	system_up fio
	run_profile overwrite 101 65536
	counts 101 0 65536
	# each fsync may commit: descriptor, inode table, commit
	waf_between 1.000 1.22
	run_profile mixed 101
	writes=$(led write_ops)
	between "writes, one half" "$writes" 35 66
	counts "$writes" $((101 - writes)) 4096
}

@test "fio: a full disk is an error in the ledger, which holds what fio wrote before" {
	need fio fio
	system_up fio
	full_disk
	same "errors" "$(led errors) $(led error)" "1 client0: No space left on device"
	same "bytes" "$(led logical_write_bytes)" "$size"
	same "bytes by fio's count" "$(led logical_write_bytes)" "$(fio_counted write.io_bytes)"
}

@test "fio that is killed leaves a ledger that says so" {
	need fio fio
	system_up fio
	mkdir "$BATS_TEST_TMPDIR/bin"
	printf '#!/bin/sh\nkill -KILL $$\n' >"$BATS_TEST_TMPDIR/bin/fio"
	chmod +x "$BATS_TEST_TMPDIR/bin/fio"
	# system.bash puts its own folders before PATH
	sed "s|lim \"\$LIMIT\" fio|lim \"\$LIMIT\" $BATS_TEST_TMPDIR/bin/fio|" "$root/workloads/fio.sh" >"$BATS_TEST_TMPDIR/fio.sh"
	ln -s "$root"/workloads/*.bash "$root"/workloads/*.py "$BATS_TEST_TMPDIR/"
	status=0
	bash "$BATS_TEST_TMPDIR/fio.sh" load small 11 >"$BATS_TEST_TMPDIR/ledger.json" 2>/dev/null || status=$?
	ledger_file=$BATS_TEST_TMPDIR/ledger.json
	same "status" "$status" 1
	same "errors" "$(led errors)" 1
	empty "payload" "$(led logical_write_bytes)"
}

@test "dd: what it counted, the ledger and the device agree for every profile" {
	system_up dd
	run_profile bulk 67
	same "bulk" "$(led write_ops) $(led logical_write_bytes) $(led engine.after.dd.bytes)" "67 70254592 70254592"
	waf_between 1.000 1.005
	run_profile small 101 4096 3
	same "small" "$(led write_ops) $(led logical_write_bytes) $(led engine.after.dd.records_out)" "101 413696 101"
	waf_between 3.0 7.2
	run_profile read-cold 1009
	same "read-cold" "$(led read_ops) $(led logical_read_bytes) $(led engine.after.dd.records_in)" "1009 4132864 1009"
	raf_between 1.000 1.05
	run_profile read-warm 1009
	same "read-warm" "$(led read_ops) $(led logical_read_bytes)" "1009 4132864"
	raf_between 0 0.01
	run_profile overwrite 101 65536
	same "overwrite" "$(led write_ops) $(led logical_write_bytes)" "101 6619136"
	waf_between 1.000 1.22
	run_profile mixed 202
	same "mixed" "$(led write_ops) $(led read_ops) $(led logical_write_bytes) $(led logical_read_bytes)" "101 101 413696 413696"
}

@test "dd: a full disk is an error in the ledger, which holds what dd wrote before" {
	system_up dd
	full_disk
	[[ $(led error) == *"No space left on device" ]] || fail "$(led error)"
	same "bytes" "$(led logical_write_bytes) $(led engine.after.dd.bytes)" "$size $size"
}

@test "a traced load of fio: calls and bytes are fio's, its ledger gives waf_e2e" {
	need fio fio
	need_tracer
	system_up fio
	ledger_file=$BATS_TEST_TMPDIR/ledger.json
	traced -- "$root/workloads/fio.sh" load small 101 >"$ledger_file"
	same "calls and bytes" "$(total ops "comm = 'fio' AND kind = 'pwrite64'") $(total bytes "comm = 'fio' AND kind = 'pwrite64'")" \
		"$(fio_counted write.total_ios) $(fio_counted write.io_bytes)"
	same "fsync" "$(total ops "comm = 'fio' AND kind = 'fsync'")" 101
	e2e() { "$analyze" amplification "$store" --table ratios --format csv "$@" | awk -F, '$4 == "waf_e2e" { print $8, $9 }'; }
	named=$(e2e --ledger "$ledger_file")
	"$analyze" attach "$store" "$ledger_file"
	same "attached" "$(e2e)" "$named"
	same "payload" "${named#* }" 413696
	# the tracer runs a little longer than the load
	between "device bytes" "$((${named% *} - $(led after_sync.device_write_bytes)))" 0 65536
	same "name in the store" "$(sql 'SELECT system FROM load')" fio
	same "fio is no storage system" "$(sql "SELECT COUNT(*) FROM process WHERE comm = 'fio' AND system IS NOT NULL")" 0
}

# swept SYSTEM: one step's objects are what the next reads, each once, and nearly nothing else is read.
swept() {
	"$root/workloads/sweep.sh" "$1" --sizes 10000 --repeats 1 >"$BATS_TEST_TMPDIR/rows" 2>"$BATS_TEST_TMPDIR/err" || fail "$(cat "$BATS_TEST_TMPDIR/err")"
	same "rows of $1" "$(cut -f1-3,5-7 "$BATS_TEST_TMPDIR/rows" | sed 1d | tr '\t\n' ' ;')" \
		"$1 write 10000 100 0 1000000;$1 read 10000 100 0 1000000;"
	between "cold read of $1" "$(awk -F '\t' '$2 == "read" { print $9 / $7 }' "$BATS_TEST_TMPDIR/rows")" 1.0 "$2"
}

@test "a sweep works with fio and dd: each record of one step is read in the next" {
	need fio fio
	swept fio 1.05
	swept dd 1.05
}

@test "a sweep works with RocksDB: what one step wrote the other reads, each value once" {
	need db_bench rocksdb-tools
	# the log, read at the open, has a header and a key for each value
	swept rocksdb 1.15
}

@test "every system has the profiles for comparison, and those of a sweep" {
	mapfile -t scripts < <(grep -l '^system_main ' "$root"/workloads/*.sh)
	[ ${#scripts[@]} -ge 12 ] || fail "${#scripts[@]} systems"
	for script in "${scripts[@]}"; do
		for profile in bulk small read-cold read-warm overwrite mixed write read; do
			sed -n "/^PROFILES='/,/^'/p" "$script" | grep -qE "^$profile +[a-z-]+ +[0-9]+ +[0-9]+ +[0-9]+$" || fail "${script##*/} has no profile $profile"
		done
	done
}
