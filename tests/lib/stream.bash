# SPDX-License-Identifier: GPL-3.0-only
# stream.bash - shared by the tests of the stream library: its drivers, and lines to feed them.
# shellcheck shell=bash

# shellcheck source=tests/lib/build.bash
. "${BASH_SOURCE[0]%/*}/build.bash"
tool=$IOT_BUILD/stream-tool
asan=$IOT_BUILD/stream-tool-asan
export tool asan
export ASAN_OPTIONS=detect_leaks=1

setup_file() {
	built stream-tool stream-tool-asan
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
	if mountpoint -q "$BATS_TEST_TMPDIR/small"; then
		umount "$BATS_TEST_TMPDIR/small"
	fi
}

fail() {
	echo "$*" >&2
	return 1
}

same() { # WHAT GOT WANTED
	[ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"
}

gen() { "$root/tests/lib/gen-run.py" "$@"; }

# All rows of a store, in an order that does not depend on how they came in.
dump() { sqlite3 "$1" .dump | sort; }

run_line() { # [EVENTS]
	printf '{"t":"run","schema":5,"uuid":"u-1","host":"h","kernel":"k","machine":"m","cpus":1,"tool":"t",'
	printf '"layers":"syscall,uring,cache,fs,block","tier":"full","events":%s,"settle":"sync","wall_ns":1,"boot_ns":1,"utc_offset_s":0}\n' "${1:-1}"
}

end_line() { echo '{"t":"end","dur_ns":1,"horizon":"after_sync","events":2}'; }

# One process and two events.
good_lines() {
	echo '{"t":"process","id":3,"pid":7,"start_ns":1,"comm":"dd","kthread":0}'
	echo '{"t":"event","ts_ns":1,"bytes":1,"kind":"read"}'
	echo '{"t":"event","ts_ns":2,"bytes":1,"kind":"read"}'
}

agg_line() { # SEC OPS
	printf '{"t":"agg","sec":%s,"kind":"write","owner":3,"cause":"none","how":"none","sub":"none","flags":0,"ops":%s,' "$1" "$2"
	printf '"errors":0,"bytes":0,"touched":0,"lat_ns":0,"max_ns":0}\n'
}
