# SPDX-License-Identifier: GPL-3.0-only
# disks.bats - outputs on a disk that fails all at once (dm-error), that fails to write (dm-flakey), and that is full: the messages, and
# the files that are left. In the virtual machines of vm.bats, where there is device-mapper.

load ../lib/helper
load ../lib/stacks
bats_require_minimum_version 1.5.0

setup() {
	need_tracer
	need_dm flakey
	need python3 python3-minimal
	cd "$BATS_TEST_TMPDIR"
	mnt=$BATS_TEST_TMPDIR/mnt
	mkdir "$mnt"
	for uuid in a b; do "$root/tests/lib/gen-run.py" 1000 --uuid $uuid >$uuid.jsonl; done
	leaf_up 48M
	volume_up disk linear "$leaf"
	ext4_on "$volume"
}

teardown() {
	repeat_skipped
	stack_down "$mnt"
}

# From now on the volume is that of TABLE, whatever is under way.
become() { # TARGET [ARGUMENTS]
	local target=$1

	shift
	dmsetup suspend --nolockfs --noflush "iot$$-disk"
	echo "0 $(blockdev --getsz "$leaf") $target $*" | dmsetup load "iot$$-disk"
	dmsetup resume "iot$$-disk"
}

breaks() { # error|flakey|full
	case $1 in
	error) become error ;;
	flakey) become flakey "$leaf" 0 0 3600 1 error_writes ;;
	full) head -c 1G /dev/zero 2>/dev/null >"$mnt/fill" || : ;;
	esac
}

mends() { # the same
	case $1 in
	full) rm "$mnt/fill" ;;
	*)
		become linear "$leaf" 0
		umount "$mnt"
		e2fsck -fy "$volume" >fsck.log 2>&1 || [ $? -le 3 ]
		mount "$volume" "$mnt"
		;;
	esac
}

runs_of() { sqlite3 "$1" "SELECT uuid, (SELECT COUNT(*) FROM run_end e WHERE e.run = r.run), (SELECT COUNT(*) FROM event e WHERE e.run = r.run) FROM run r WHERE uuid = '$2'"; }

# One sentence of one line, of the program that says it.
one_line() { # FILE PROGRAM
	[[ $(messages "$1" | wc -l) = 1 && $(messages "$1") == "$2: "* ]] || fail "$(cat "$1")"
}

broken_disk() { # error|flakey|full
	local wanted status=0

	"$analyze" ingest "$mnt/x.sqlite" a.jsonl
	sync -f "$mnt"
	wanted=$(runs_of "$mnt/x.sqlite" a)
	[[ $wanted == a\|1\|[1-9]* ]]
	breaks "$1"
	"$analyze" ingest "$mnt/x.sqlite" b.jsonl 2>err || status=$?
	same "status of an append" "$status" 1
	one_line err iot-analyze
	echo "# $1: $(cat err)" >&3
	status=0
	"$trace" -q -o "$mnt/t.sqlite" -o good.sqlite -- true 2>err || status=$?
	same "status of a run" "$status" 1
	one_line err iot-trace
	mends "$1"
	same "what was acknowledged" "$(runs_of "$mnt/x.sqlite" a)" "$wanted"
	same "what was not has no end" "$(runs_of "$mnt/x.sqlite" b | cut -d'|' -f2 | grep -c 1 || :)" 0
	same sound "$(sqlite3 "$mnt/x.sqlite" 'PRAGMA integrity_check')" ok
	"$analyze" ingest "$mnt/x.sqlite" b.jsonl
	same "it can be given again" "$(runs_of "$mnt/x.sqlite" b)" "b|1|${wanted##*|}"
}

# The disk breaks while a run is recorded: that output ends alone, its run has no end, and the other is whole.
breaks_within() { # error|flakey|full
	local status=0

	export -f breaks become
	export leaf mnt
	"$trace" -q -o "$mnt/t.sqlite" -o "$mnt/t.jsonl" -o good.sqlite -- bash -c "dd if=/dev/zero of=/dev/null bs=1 count=2000 status=none; sleep 1.5
		$(declare -f breaks become | sed "s/\\\$\\\$/$$/g"); breaks $1
		dd if=/dev/zero of=/dev/null bs=1 count=20000 status=none; sleep 1.5; exit 7" 2>err || status=$?
	same "status" "$status" 1
	grep -q "t.sqlite: " err || fail "$(cat err)"
	sed "s/^/# $1: /" err >&3
	same "the whole one" "$(sqlite3 good.sqlite 'SELECT status FROM run_end')" 7
	same "its calls" "$(sqlite3 good.sqlite "SELECT SUM(ops) FROM agg a JOIN kind k ON k.id = a.kind JOIN process p ON p.run = a.run AND p.id = a.owner WHERE k.name = 'write' AND p.comm = 'dd'")" 22000
	mends "$1"
	[ ! -s "$mnt/t.sqlite" ] || same "ends" "$(sqlite3 "$mnt/t.sqlite" 'SELECT COUNT(*) FROM run_end' 2>&1 | sed 's/.*no such table.*/0/')" 0
	if grep -q '"t":"end"' "$mnt/t.jsonl"; then fail "an end in what failed"; fi
}

@test "guest: a disk that fails: one line, status 1, acknowledged data is there" { broken_disk error; }
@test "guest: a disk that fails to write: the same" { broken_disk flakey; }
@test "guest: a disk that is full: the same" { broken_disk full; }
@test "guest, long: a disk that fails midway: that output ends alone, without an end" { breaks_within error; }
@test "guest, long: a disk that fails to write midway: that output ends alone" { breaks_within flakey; }
@test "guest, long: a disk that fills midway: that output ends alone" { breaks_within full; }
