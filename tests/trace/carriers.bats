# SPDX-License-Identifier: GPL-3.0-only
# carriers.bats - the thread that submitted device bytes, next to their owner: the process itself, writeback, threads of file systems.

load ../lib/helper

setup() { own_run; }

# Bytes written to the device by carrier, cause and owner, as the report's table has them; empty: any.
carried() { # CARRIER CAUSE WHO
	"$analyze" carriers "$store" --format csv --table carriers |
		awk -F, -v c="$1" -v cause="$2" -v who="$3" 'NR > 1 && $1 != "total" && (c == "" || $1 == c) && (cause == "" || $5 == cause) && (who == "" || $3 == who) { n += $6 } END { print n + 0 }'
}

# 4 MiB that their writer syncs, 3 MiB that another process has written back, 2 MiB past the cache.
scene() {
	dd if=/dev/zero of="$1/synced" bs=1M count=4 conv=fsync status=none
	dd if=/dev/zero of="$1/left" bs=1M count=3 status=none
	sync -f "$1"
	dd if=/dev/zero of="$1/direct" bs=1M count=2 oflag=direct status=none
}
export -f scene

measure() {
	dev_mark
	traced --dev "${IOT_DEV#/dev/}" -- bash -c 'scene "$1"' bash "$IOT_MNT"
	wrote=$(dev_wrote)
	same "all carriers" "$(carried "" "" "")" "$wrote"
	same "all carriers, a row each" "$("$analyze" carriers "$store" --format csv --table whole | awk -F, 'NR > 1 { n += $2 } END { print n }')" "$wrote"
	same "synced by its writer, and past the cache" "$(($(carried itself data dd) + $(carried itself direct dd)))" $((6 << 20))
	same "synced by another" "$(carried writeback data dd)" $((3 << 20))
	same "without a carrier" "$(carried "(not known)" "" "")" 0
}

@test "ext4: fsync is run by the process, sync by writeback, the journal by jbd2" {
	body() {
		measure
		[ "$(carried jbd2 journal dd)" -gt 0 ]
		same "journal of others" "$(carried jbd2 journal "")" "$(carried "" journal "")"
		same "jbd2 by event" "$(sql "SELECT COUNT(*) FROM event e JOIN carrier r ON r.id = e.carrier JOIN process p ON p.run = e.run AND p.id = e.task
			WHERE r.name = 'jbd2' AND p.comm NOT LIKE 'jbd2/%'")" 0
		same "files" "$("$analyze" carriers "$store" --table families --format csv | grep -c '/left,1,3145728,events$')" 1
	}
	with_fs ext4 64M -- body
}

@test "XFS: what each carrier wrote sums to the device's own counter" {
	need mkfs.xfs xfsprogs
	body() { measure; }
	with_fs xfs 320M -- body
}

@test "btrfs: what each carrier wrote sums to the device's own counter" {
	need mkfs.btrfs btrfs-progs
	body() { measure; }
	with_fs btrfs 256M -- body
}

@test "an older store has no carriers: n/a with the same bytes; files come from sums" {
	sqlite3 run.sqlite <"$BATS_TEST_DIRNAME/../fixtures/format4.sql"
	same "bytes" "$(carried n/a "" "")" "$("$analyze" breakdown "$store" --format csv --table causes | awk -F, '$1 == "total" { print $2 }')"
	[ "$("$analyze" carriers "$store" --table families --format csv | grep -c '^n/a,.*sums by file')" -gt 0 ]
	"$analyze" migrate "$store"
	same "afterwards" "$(carried n/a "" "")" "$("$analyze" breakdown "$store" --format csv --table causes | awk -F, '$1 == "total" { print $2 }')"
}

@test "the table of causes of jbd2's writes: dd, its fsync, all the journal's bytes" {
	body() {
		measure
		"$analyze" carriers "$store" --table journals --format csv >journals.csv
		same "carriers and owners" "$(awk -F, 'NR > 1 { print $1, $3 }' journals.csv | sort -u)" "jbd2 dd"
		between "all" "$(awk -F, 'NR > 1 { n += $11 } END { print n }' journals.csv)" "$(($(carried jbd2 journal dd) - 20))" "$(($(carried jbd2 journal dd) + 20))"
		grep -q ",fsync,[^,]*/synced," journals.csv
	}
	with_fs ext4 64M -- body
}

@test "--by carrier is a line a carrier in reports of devices, and sums to the device" {
	local report

	bats_require_minimum_version 1.5.0
	body() {
		measure
		"$analyze" breakdown "$store" --by carrier --table owners --format csv >lines.csv
		same "all" "$(awk -F, 'NR > 1 && $1 != "total" { n += $6 } END { print n }' lines.csv)" "$wrote"
		same "writeback" "$(awk -F, '$2 == "writeback" && $4 == "data" { print $6 }' lines.csv)" $((3 << 20))
		same "jbd2" "$(awk -F, '$2 == "jbd2" { print $4 }' lines.csv)" journal
		same "by second" "$("$analyze" timeline "$store" --by carrier --table by --format csv | awk -F, '$2 == "written" && $3 == "writeback" { n += $4 } END { print n }')" $((3 << 20))
		same "P" "$("$analyze" stack "$store" --by carrier --table owners --format csv | awk -F, '$2 == "all traced" { print $5 }')" "$wrote"
		same "carriers are as ever" "$("$analyze" carriers "$store" --by carrier)" "$("$analyze" carriers "$store")"
		for report in amplification files fsync waterfall headline groups; do
			run -2 "$analyze" "$report" "$store" --by carrier
			[[ "$output" == *"--by carrier: $report has what calls did as well"*"breakdown, carriers, stack and timeline"* ]]
		done
		run -2 "$analyze" report "$store" -o p.html --by carrier
		run -2 "$analyze" compare "$store" "$store" --by carrier
	}
	with_fs ext4 64M -- body
}

@test "help finds the report by kworker, jbd2, xfsaild, iotop and who makes" {
	for word in kworker jbd2 xfsaild iotop "who makes" "who makes jbd2 write"; do
		# shellcheck disable=SC2086 # words
		"$analyze" help $word | grep -q "carriers STORE" || fail "$word"
	done
}

@test "process.uid is the user whose process it is" {
	body() {
		chmod 777 "$IOT_MNT"
		traced --dev "${IOT_DEV#/dev/}" -- setpriv --reuid 65534 --clear-groups dd if=/dev/zero of="$IOT_MNT/f" bs=4k count=2 conv=fsync status=none
		same "dd" "$(sql "SELECT uid FROM process WHERE comm = 'dd'")" 65534
		same "threads of the kernel" "$(sql "SELECT COUNT(uid) FROM process WHERE kthread")" 0
	}
	with_fs ext4 64M -- body
}
