# SPDX-License-Identifier: GPL-3.0-only
# loads-postgres.bats - the PostgreSQL workload: the bytes that it reports as acknowledged, against the server and the devices.

load ../lib/loads

setup_file() { load ../lib/loads; system_up postgres; }
teardown_file() { load ../lib/loads; system_down; }

psql_() { setpriv --reuid=postgres --regid=postgres --init-groups psql -X -At -h "$IOT_WORK/run" -p 55432 -U postgres -c "$1"; }

# First, and in this order: the copy writes the segments of the log for the first time, and the commits after it find them made.
@test "a copy of 64 MiB is 3.54 times its payload within 40 %, small commits 7.14" {
	loaded bulk
	acknowledged_all 67108864
	waf_between 2.12 4.96
	loaded small
	acknowledged_all 10240000
	waf_between 4.28 10.00
	psql_ 'truncate small' >/dev/null
}

@test "the ledger's device bytes are /sys/block's, and pgbench's commits are rows" {
	loaded small 1000
	before=$(devices_wrote)
	loaded small 1000
	# The ledger's window is inside the test's: only the file system's own writes before it may be outside.
	between "device bytes" "$(last_horizon device_write_bytes)" $(($(devices_wrote) - before - 65536)) $(($(devices_wrote) - before))
	acknowledged_all 1024000
	same "rows" "$(psql_ 'select count(*), sum(length(v)) from small')" "2000|2048000"
}

@test "1009 synchronous commits of 1 KiB are 10.5 times their payload within 40 %" {
	loaded small-one 1009
	acknowledged_all 1033216
	waf_between 6.3 14.7
}

@test "pg_stat_wal of the ledger grew by at least the payload" {
	loaded small 1000
	wal=$(led engine.change.pg_stat_wal.wal_bytes)
	[ "$wal" -ge 1024000 ] || fail "wal_bytes grew by $wal"
	same "records" "$(($(led engine.after.pg_stat_wal.wal_records) - $(led engine.before.pg_stat_wal.wal_records)))" "$(led engine.change.pg_stat_wal.wal_records)"
}

@test "a cold scan reads at least its payload from the device, a warm one nothing" {
	loaded read-cold 8192
	same "acknowledged bytes" "$(led logical_read_bytes)" 8388608
	raf_between 1.0 1.6
	loaded read-warm 8192
	same "device reads" "$(led at_ack.device_read_bytes)" 0
}

@test "1000 cold reads by key of 64 MiB read 9.63 times their bytes within 40 %" {
	loaded read-pk
	same "acknowledged bytes" "$(led logical_read_bytes)" 1024000
	raf_between 5.78 13.48
}

@test "values that are read back are compared with what was written" {
	loaded mixed 100
	same "writes and reads" "$(led write_ops) $(led read_ops)" "50 50"
	IOT_SET=compared loaded write 10
	psql_ "update kv set v = 'x' where k = 'compared-0000003'" >/dev/null
	IOT_SET=compared run "$root/workloads/postgres.sh" load read 10
	[ "$status" = 1 ] || fail "status $status"
	[[ $output == *"compared-0000003 is not what was written"* ]] || fail "$output"
}
