# SPDX-License-Identifier: GPL-3.0-only
# atime.bats - reads that write: access times that a file system puts into its journal, charged to the reader.

load ../lib/helper

setup() { own_run; }

# Access times that processes of one name changed: "sums events files".
changed() { # COMM
	q "SELECT COALESCE((SELECT SUM(ops) FROM c WHERE kind = 'atime' AND comm = '$1'), 0), COUNT(*), COUNT(DISTINCT e.file)
		FROM event e JOIN r ON r.run = e.run JOIN kind k ON k.id = e.kind JOIN process p ON p.run = e.run AND p.id = e.owner
		WHERE k.name = 'atime' AND p.comm = '$1'"
}

# 211 files that were written after they were read last.
prepare() {
	local n

	mkdir "$IOT_MNT/d"
	for n in {1..211}; do echo "$n" >"$IOT_MNT/d/$n"; done
	sync -f "$IOT_MNT"
	sleep 0.1 # the clock of access times moves by ticks
}

reads_write() {
	prepare
	traced --layers default,fs -- cat "$IOT_MNT"/d/* >/dev/null
	same "relatime, first" "$(changed cat)" "211 211 211"
	traced --layers default,fs -- cat "$IOT_MNT"/d/* >/dev/null
	same "relatime, again" "$(changed cat)" "0 0 0"
	mount -o remount,noatime "$IOT_MNT"
	for n in {1..211}; do echo "$n" >"$IOT_MNT/d/$n"; done
	traced --layers default,fs -- cat "$IOT_MNT"/d/* >/dev/null
	same "noatime" "$(changed cat)" "0 0 0"
}

@test "211 files read are 211 access times; again, or with noatime, none (ext4)" {
	MOUNT_OPTS=atime,relatime with_fs ext4 64M -- reads_write
}

@test "211 files read are 211 access times; again, or with noatime, none (XFS)" {
	need mkfs.xfs xfsprogs
	MOUNT_OPTS=atime,relatime with_fs xfs 320M -- reads_write
}

@test "211 files read are 211 access times; again, or with noatime, none (btrfs)" {
	need mkfs.btrfs btrfs-progs
	MOUNT_OPTS=atime,relatime with_fs btrfs 320M -- reads_write
}

@test "a run that does not name layer fs counts access times in the journal alone" {
	body() {
		prepare
		traced -- cat "$IOT_MNT"/d/* >/dev/null
		same "operations" "$(changed cat)" "0 0 0"
		"$analyze" explain "$store" | grep -q noatime || fail "explain does not name the cure"
	}
	MOUNT_OPTS=atime,relatime with_fs ext4 64M -- body
}
