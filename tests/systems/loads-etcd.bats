# SPDX-License-Identifier: GPL-3.0-only
# loads-etcd.bats - the etcd workload: the bytes that it reports as acknowledged, against the server and the devices.

load ../lib/loads

setup_file() { load ../lib/loads; system_up etcd; }
teardown_file() { load ../lib/loads; system_down; }

@test "1009 puts of 1 KiB are 10.3 times their payload within 40 %, a log fsync each" {
	loaded small-one 1009
	acknowledged_all 1033216
	waf_between 6.2 14.4
	syncs=$(led 'engine.change.metrics.etcd_disk_wal_fsync_duration_seconds_count')
	[ "$syncs" -ge 1009 ] && [ "$syncs" -le 1109 ] || fail "$syncs fsyncs of the log"
	puts=$(led 'engine.change.metrics.etcd_debugging_mvcc_put_total')
	same "puts by the server's count" "$puts" 1009
}

@test "eight clients share commits: less than one client's amplification" {
	loaded small-one 1000
	one=$(last_horizon waf_e2e)
	loaded small 1000
	awk -v one="$one" -v eight="$(last_horizon waf_e2e)" 'BEGIN { exit !(eight < one) }' || fail "one $one, eight $(last_horizon waf_e2e)"
}

@test "2003 puts of 1 KiB by eight clients are 6.61 times their payload within 40 %" {
	loaded small 2003
	acknowledged_all 2051072
	waf_between 3.97 9.25
}

@test "warm reads touch no device: the bytes come from a mapped file" {
	loaded read-warm 500
	same "acknowledged bytes" "$(led logical_read_bytes)" 512000
	same "device reads" "$(led at_ack.device_read_bytes)" 0
}

@test "a cold read is measured with the start of the server" {
	loaded read-cold 500
	raf_between 1.0 1000
	same "errors" "$(led errors)" 0
	same "servers that run" "$("$root/workloads/etcd.sh" status | grep -c ' runs$')" 1
}

@test "a killed server is reported with its acknowledged bytes; down releases all" {
	kill -KILL "$(awk '{ print $2 }' "$IOT_WORK/pids")"
	run "$root/workloads/etcd.sh" load small 10
	[ "$status" = 1 ] || fail "status $status"
	[[ $output == *'"errors": '[1-9]* && $output == *'"logical_write_bytes": 0'* ]] || fail "$output"
	images=$(awk '$1 == "image" { print $2 }' "$IOT_WORK/undo")
	"$root/workloads/etcd.sh" down
	[ ! -e "$images" ] && [ -z "$(losetup -j "$images")" ] || fail "$images is still there"
}

@test "a server that does not answer ends the load in time, and is stopped" {
	export IOT_WORK=$IOT_WORK-a IOT_PORT=52479
	"$root/workloads/etcd.sh" up
	member=$(awk '{ print $2 }' "$IOT_WORK/pids")
	kill -STOP "$member"
	IOT_LIMIT=2 run "$root/workloads/etcd.sh" load small 10
	[ "$status" = 1 ] || fail "status $status"
	same "last line" "${lines[-1]}" "etcd.sh: load small: etcd did not answer in time; the ledger holds what was acknowledged"
	images=$(awk '$1 == "image" { print $2 }' "$IOT_WORK/undo")
	run "$root/workloads/etcd.sh" down
	same "down" "$status $output" "0 "
	same "state" "$(awk '$1 == "State:" && $2 != "Z" { print $2 }' "/proc/$member/status" 2>/dev/null)" ""
	[ ! -e "$images" ] && [ -z "$(losetup -j "$images")" ] || fail "left behind: $images"
	IOT_WORK=${IOT_WORK%-a}
}

@test "a server whose port is taken does not start: one line, status 1, no leftovers" {
	images() { find "$IOT_IMG_DIR" -name 'iot-etcd-*' | sort; }
	IOT_WORK=$IOT_WORK-a IOT_PORT=52479 "$root/workloads/etcd.sh" up
	before=$(images)
	IOT_WORK=$IOT_WORK-b IOT_PORT=52479 run "$root/workloads/etcd.sh" up
	[ "$status" = 1 ] || fail "status $status: $output"
	same "message" "$output" "etcd.sh: port 52479 is taken by another program: set IOT_PORT"
	[ ! -e "$IOT_WORK-b" ] || fail "$IOT_WORK-b is still there"
	same "images" "$(images)" "$before"
	IOT_WORK=$IOT_WORK-a "$root/workloads/etcd.sh" down
}

@test "a server that ends while it starts: its last words, status 1, no leftovers" {
	# A data folder that is a file: `up` makes the drive first, so the server finds it there.
	sed 's|--data-dir "$WORK/mnt/d1/data"|--data-dir "$WORK/undo"|' "$root/workloads/etcd.sh" >"$BATS_TEST_TMPDIR/etcd.sh"
	ln -s "$root"/workloads/*.bash "$root"/workloads/*.py "$BATS_TEST_TMPDIR/"
	IOT_WORK=$IOT_WORK-a IOT_PORT=52479 run bash "$BATS_TEST_TMPDIR/etcd.sh" up
	[ "$status" = 1 ] || fail "status $status: $output"
	[[ $output == *"member ended:"*"error listing data dir"* ]] || fail "$output"
	[ ! -e "$IOT_WORK-a" ] || fail "$IOT_WORK-a is still there"
}

@test "a server that never answers does not start: in time, status 1, no leftovers" {
	cat >"$BATS_TEST_TMPDIR/minio" <<-'END'
		#!/usr/bin/python3
		import re, socket, sys, time
		at = re.search(r":(\d+)\b", " ".join(sys.argv[1:]))
		listening = socket.create_server(("127.0.0.1", int(at[1])))
		time.sleep(120)
	END
	chmod +x "$BATS_TEST_TMPDIR/minio"
	IOT_LIMIT=5 IOT_WORK=$IOT_WORK-a IOT_PORT=52479 MINIO_BIN=$BATS_TEST_TMPDIR/minio run "$root/workloads/minio.sh" up
	[ "$status" = 1 ] || fail "status $status: $output"
	same "message" "${lines[0]}" "minio.sh: gave up waiting until minio answers"
	[ ! -e "$IOT_WORK-a" ] || fail "$IOT_WORK-a is still there"
}

@test "two instances at once: other state directory, other port" {
	IOT_WORK=$IOT_WORK-a IOT_PORT=52479 "$root/workloads/etcd.sh" up
	IOT_WORK=$IOT_WORK-b IOT_PORT=52579 "$root/workloads/etcd.sh" up
	IOT_WORK=$IOT_WORK-a IOT_PORT=52479 "$root/workloads/etcd.sh" load small 100 >"$BATS_TEST_TMPDIR/a"
	IOT_WORK=$IOT_WORK-b IOT_PORT=52579 "$root/workloads/etcd.sh" load small 50 >"$BATS_TEST_TMPDIR/b"
	IOT_WORK=$IOT_WORK-a "$root/workloads/etcd.sh" down
	IOT_WORK=$IOT_WORK-b "$root/workloads/etcd.sh" down
	same "a" "$(ledger_file=$BATS_TEST_TMPDIR/a; led write_ops)" 100
	same "b" "$(ledger_file=$BATS_TEST_TMPDIR/b; led write_ops)" 50
}

teardown() {
	for work in "$IOT_WORK-a" "$IOT_WORK-b"; do
		IOT_WORK=$work "$root/workloads/etcd.sh" down
	done
}
