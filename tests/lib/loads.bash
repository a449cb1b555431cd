# SPDX-License-Identifier: GPL-3.0-only
# shellcheck shell=bash disable=SC2154
# loads.bash - shared by the tests of storage workloads: an instance a test file, ledgers, known ratios.

load ../lib/helper

# Its own state directory: the account of a server must be able to pass through, so not below the tests' own.
system_up() { # SYSTEM
	need_root
	export IOT_WORK=/var/tmp/iot-test-$1-$$ IOT_IMG_DIR=${IOT_IMG_DIR:-/dev/shm}
	local status=0

	"$root/workloads/$1.sh" up >"$BATS_FILE_TMPDIR/up" 2>&1 || status=$?
	[ "$status" != 77 ] || skip "$(sed -n 's/.*skipped: //p' "$BATS_FILE_TMPDIR/up")"
	[ "$status" = 0 ] || fail "$(cat "$BATS_FILE_TMPDIR/up")"
	export IOT_TEST_SYSTEM=$1
}

system_down() {
	[ -z "${IOT_TEST_SYSTEM-}" ] || "$root/workloads/$IOT_TEST_SYSTEM.sh" down
	[ ! -e "${IOT_WORK:-/nonexistent}" ] || fail "$IOT_WORK was left behind"
}

all_systems() {
	[ "${IOT_SYSTEMS-}" = all ] || skip "IOT_SYSTEMS=all is missing: only PostgreSQL and etcd are run each time"
}

# Loads a profile; its ledger is then asked by `led`. $delta, $delta_read: what the devices wrote and read meanwhile, by the test's own
# reading: what the ledger says, and what the server did before and after the ledger's own readings. Not what the preparation did: the
# kernel may have taken some of a file's pages back by then.
loaded() { # PROFILE [COUNT [SIZE [CLIENTS]]]
	local status=0 read wrote

	ledger_file=$BATS_TEST_TMPDIR/ledger.json
	"$root/workloads/$IOT_TEST_SYSTEM.sh" prepare "$@"
	read -r read wrote < <(devices_moved)
	"$root/workloads/$IOT_TEST_SYSTEM.sh" load "$@" >"$ledger_file" || status=$?
	read -r delta_read delta < <(devices_moved)
	delta=$((delta - wrote)) delta_read=$((delta_read - read))
	[ "$(last_horizon device_write_bytes)" -le "$delta" ] || fail "the devices wrote $delta, the ledger says $(last_horizon device_write_bytes)"
	return $status
}

led() { sqlite3 :memory: "SELECT json_extract(readfile('$ledger_file'), '\$.$1');"; } # PATH
last_horizon() { sqlite3 :memory: "SELECT COALESCE(json_extract(readfile('$ledger_file'), '\$.after_checkpoint.$1'),
	json_extract(readfile('$ledger_file'), '\$.after_sync.$1'));"; } # KEY

# Bytes that the devices of the instance read and wrote since they were made, by the test's own reading.
devices_moved() {
	local dev

	awk '$1 == "loop" { print $3 }' "$IOT_WORK/undo" | while read -r dev; do
		dev_bytes "$dev"
	done | awk '{ read += $1; wrote += $2 } END { printf "%.0f %.0f\n", read, wrote }'
}
devices_wrote() { devices_moved | cut -d' ' -f2; }

# Device bytes / acknowledged bytes of the last load lies between two reals, by the ledger and by /sys/block.
waf_between() {
	between "waf_e2e" "$(last_horizon waf_e2e)" "$1" "$2"
	between "bytes of /sys/block / payload" "$(awk -v b="$delta" -v l="$(led logical_write_bytes)" 'BEGIN { print b / l }')" "$1" "$2"
}
raf_between() { between "raf_e2e" "$(last_horizon raf_e2e)" "$1" "$2"; }

acknowledged_all() { # BYTES
	same "acknowledged bytes" "$(led logical_write_bytes)" "$1"
	same "errors" "$(led errors)" 0
}
