# SPDX-License-Identifier: GPL-3.0-only
# helper.bash - loaded by most test files: skips that name what is missing, comparisons, and questions to a store.
# shellcheck shell=bash

# shellcheck source=tests/lib/build.bash
. "${BASH_SOURCE[0]%/*}/build.bash"
trace=$IOT_BUILD/iot-trace analyze=$IOT_BUILD/iot-analyze io=$IOT_BUILD/iot-io
export trace analyze io
# Images in memory: what reaches the loop device is then all that is measured, and nothing waits for a disk.
export IOT_IMG_DIR=${IOT_IMG_DIR:-/dev/shm}
# shellcheck source=workloads/scenario.sh disable=SC2154 # build.bash knows root
. "$root/workloads/scenario.sh"

need() { # PROGRAM PACKAGE
	command -v "$1" >/dev/null || skip "$1 is missing: install the Debian package $2"
}

# Some tests are about what sanitizers change.
need_plain() { # PROGRAM WHY
	! grep -q __asan_init "$1" || skip "a build without sanitizers is missing: $2"
}

# The begin of a test that traces: programs that it needs next to a tracer, and a folder of its own for its store.
own_run() { # [PROGRAM:PACKAGE...]
	local one

	need_tracer
	for one; do need "${one%:*}" "${one#*:}"; done
	cd "$BATS_TEST_TMPDIR" || return 1
	store=$BATS_TEST_TMPDIR/run.sqlite
}

need_root() {
	[ "$(id -u)" = 0 ] || skip "root is missing: loop devices and BPF need it"
}

# Everything that an end-to-end test takes for granted.
need_tracer() {
	need_root
	[ -r /sys/kernel/btf/vmlinux ] || skip "BTF is missing: this kernel has no /sys/kernel/btf/vmlinux"
	[ -e /dev/loop-control ] || modprobe loop 2>/dev/null || skip "loop devices are missing"
	need sqlite3 sqlite3
}

# The programs of a file system in a module are loaded when the first is mounted.
need_unmounted() { # TYPE
	local one

	for one in "/sys/fs/$1"/*; do
		case ${one##*/} in features | stats | debug | '*') ;; *) skip "a file system of type $1 is mounted already: ${one##*/}" ;; esac
	done
}

fail() {
	echo "$*" >&2
	return 1
}

same() { # WHAT GOT WANTED
	[ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"
}

between() { # WHAT GOT LOW HIGH (reals)
	awk -v v="$2" -v low="$3" -v high="$4" 'BEGIN { exit !(v != "" && v >= low && v <= high) }' ||
		fail "$1: got '$2', wanted $3 to $4"
}

# Pages of files that the kernel had taken back and that were read again, in the whole machine. Some machines take back pages at any time, of
# files that were just read, too: a test that needs a page to stay tries again where it was missed and this number rose.
refaults() { awk '$1 == "workingset_refault_file" { print $2 }' /proc/vmstat; }

# Messages, without the one that a machine under load adds to those of a run with -q.
messages() { # FILE
	sed '/^iot-trace: recording, attached in /d' "$1"
}

empty() { # WHAT TEXT
	[ -z "$2" ] || fail "$1: $2"
}

# The kernel does not call the programs for every request that completes, and since 7.0 it skips some (iot-trace(8), CAVEATS): what that takes is
# a bound in the report, and a test that asks for every byte fails. Where the store says it, the test is repeated: on a busy machine
# that is one run of seven. A file with a teardown of its own calls this in it.
repeat_skipped() {
	local one skipped=0

	[ -z "${BATS_TEST_COMPLETED-}" ] || return 0
	for one in "$BATS_TEST_TMPDIR"/*.sqlite "${store:-$BATS_TEST_TMPDIR/run.sqlite}"; do
		[ ! -f "$one" ] || skipped=$((skipped + $(sqlite3 -readonly "$one" "SELECT (SELECT COUNT(*) FROM truth WHERE unseen > 0) +
			(SELECT COUNT(*) FROM lost WHERE what = 'program skipped by the kernel' AND n > 0)" 2>/dev/null || echo 0)))
	done
	[ "$skipped" -gt 0 ] || return 0
	BATS_TEST_RETRIES=2
	echo "# failed, and the kernel skipped a program (try $BATS_TEST_TRY_NUMBER of 3): $BATS_TEST_DESCRIPTION" >&3
}

teardown() { repeat_skipped; }

# With IOT_LONG=1 all of these, as file systems that a test is repeated on; else one of them, another for another test.
by_turns() { # WORD...
	local one

	if long; then echo "$*"; return; fi
	one=$(($(cksum <<<"$BATS_TEST_NAME" | cut -d' ' -f1) % $# + 1))
	echo "# ${!one} alone of $* (IOT_LONG=1: all): $BATS_TEST_DESCRIPTION" >&3
	echo "${!one}"
}

# Runs the tracer into $store (default: run.sqlite of this test), quietly.
traced() { # TRACER OPTIONS -- COMMAND
	store=${store:-$BATS_TEST_TMPDIR/run.sqlite}
	"$trace" -q -o "$store" "$@"
}

# A query on a run of $store, the newest unless $run_no says which. Table c: every aggregate in words, with
# the owner's comm and pid and the device as "major:minor"; table l: the dirty ledger; table r: the run.
q() { # SQL
	sqlite3 -readonly -separator ' ' "$store" "
		WITH r AS (SELECT * FROM run WHERE run = COALESCE(${run_no:-NULL}, (SELECT MAX(run) FROM run))),
		c AS (SELECT y.name AS layer, k.name AS kind, k.dir AS dir, z.name AS cause, h.name AS how, s.name AS sub, t.flags,
				t.owner, p.comm, p.pid, (t.dev >> 20) || ':' || (t.dev & 1048575) AS dev,
				t.ops, t.errors, t.bytes, t.touched, t.lat_ns
			FROM agg_total t JOIN r ON r.run = t.run
			JOIN kind k ON k.id = t.kind JOIN layer y ON y.id = k.layer
			JOIN cause z ON z.id = t.cause JOIN how h ON h.id = t.how JOIN sub s ON s.id = t.sub
			LEFT JOIN process p ON p.run = t.run AND p.id = t.owner),
		l AS (SELECT g.*, p.comm, p.pid, f.path, f.ino, (f.dev >> 20) || ':' || (f.dev & 1048575) AS dev FROM ledger g
			JOIN r ON r.run = g.run
			LEFT JOIN process p ON p.run = g.run AND p.id = g.owner
			LEFT JOIN file f ON f.run = g.run AND f.id = g.file)
		$1"
}

# Any query on $store.
sql() { sqlite3 -readonly -separator ' ' "$store" "$1"; }

# Sum of a column of c over rows that match, 0 for none: total bytes "kind = 'write'".
total() { # COLUMN CONDITION
	q "SELECT COALESCE(SUM($1), 0) FROM c WHERE $2;"
}

# Bytes written to the scenario's device, by condition.
written() { total bytes "kind = 'block_write' AND dev = '$IOT_DEVNO' AND $1"; }

# The device's own counter says the same, every byte has an owner, and no check of the run fails.
all_known() { # DEVICE_DELTA
	same "device bytes" "$(written 1)" "$1"
	same "bytes without an owner" "$(written 'owner = 0')" 0
	"$analyze" verify "$store" > verify.txt 2>&1 || fail "verify, status $?: $(grep MISMATCH verify.txt || cat verify.txt)"
}

# The loss of a run of the whole machine in which another test mounts a file system of another type. For tests that hold each byte of their
# own devices to its owner.
STRANGERS='structure of a file system whose programs were not attached'

# The run lost nothing, but for losses of these names.
nothing_lost() { # [NAME...]
	local names

	names=$(printf ", '%s'" "$@")
	empty "lost" "$(q "SELECT layer, what, n FROM lost WHERE n > 0 AND what NOT IN (''$names) AND run = (SELECT run FROM r)")"
}

# A file system whose programs are not attached: its own bytes are named as what they are, have no owner, and the run says so.
claims_nothing() { # TYPE
	need_unmounted "$1"
	body() {
		fs_umount
		traced --dev "${IOT_DEV#/dev/}" -- sh -c "mount $IOT_DEV $IOT_MNT; $io --api odsync --file $IOT_MNT/f --count 3; umount $IOT_MNT" > ledger.json
		same "direct" "$(written "cause = 'direct'")" 0
		same "data" "$(written "cause = 'data'")" $((3 * 4096))
		lost=$(q "SELECT n FROM lost WHERE what LIKE 'structure of a file system%' AND run = (SELECT run FROM r)")
		[ "${lost:-0}" -gt 0 ] || fail "not said: $(q "SELECT layer, what, n FROM lost WHERE n > 0")"
	}
	with_fs "$1" 320M -- body
}

# The reports of the analyzer, one a line.
reports() { "$analyze" --help | sed -n '/^reports:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }

# A number of an iot-io ledger: ledger FILE written
ledger() { # FILE KEY
	sqlite3 :memory: "SELECT json_extract(readfile('$1'), '\$.$2');"
}

# Python under a name that tells its process from others.
named() {
	ln -sf "$(python3 -c 'import sys; print(sys.executable)')" "$1"
}

wait_for() { # COMMAND: until it succeeds, 10 s at most
	local i

	for i in {1..100}; do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	: "$i"
	fail "waited in vain for: $*"
}

until_true() { # COMMAND: until it succeeds, 60 s at most
	local i

	for i in {1..1200}; do
		! "$@" || return 0
		sleep 0.05
	done
	: "$i"
	fail "never true: $*"
}

# Device bytes written since dev_mark.
# An earlier change, such as a mkdir, is written out first: its commit would come within five seconds, before a slow machine has attached.
dev_mark() {
	[ -z "${IOT_MNT-}" ] || sync -f "$IOT_MNT"
	read -r mark_read mark_write < <(dev_bytes "$IOT_DEV")
}
dev_wrote() {
	local now_read now_write

	read -r now_read now_write < <(dev_bytes "$IOT_DEV")
	: "$now_read"
	echo $((now_write - mark_write))
}
dev_read() {
	local now_read now_write

	read -r now_read now_write < <(dev_bytes "$IOT_DEV")
	: "$now_write"
	echo $((now_read - mark_read))
}

# iot-io under another name, so that a test can tell writers apart: as alpha --api ...
as() { # NAME ARGS...
	local name=$1

	shift
	ln -sf "$io" "$BATS_TEST_TMPDIR/$name"
	"$BATS_TEST_TMPDIR/$name" "$@"
}

# Makes the script `mounts` for the traced command: it mounts, waits until the tracer's watcher has attached so many programs, which it
# loads then, and becomes the rest of its arguments: sh mounts PROGRAMS DEVICE MOUNT COMMAND...
mount_and_wait() {
	cat >mounts <<-'S'
		watcher=$(pgrep -P "$PPID" -x iot-trace-watch)
		held() { ls -l "/proc/$watcher/fd" | grep -c bpf_link; }
		wanted=$(($(held) + $1))
		mount "$2" "$3"
		end=$(($(date +%s) + 300)) # of an emulated machine that others keep busy
		while [ "$(held)" -lt "$wanted" ] && [ "$(date +%s)" -lt "$end" ]; do
			sleep 0.1
		done
		sleep 0.5
		shift 3
		"$@"
	S
}
