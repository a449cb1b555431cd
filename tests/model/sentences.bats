#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# sentences.bats - every sentence of `iot-analyze explain` and of the first screen against the run itself: sentences.py makes the runs,
# and knows their calls, files and syncs. IOT_SENTENCES=1: all of them on each file system; else those that are not heavy, each on one.

load ../lib/helper

setup() {
	own_run
	export IOT_TMPFS=$BATS_TEST_TMPDIR/memory
	mkdir memory
	mount -t tmpfs tmpfs memory
}

teardown() {
	umount "$IOT_TMPFS" || umount --lazy "$IOT_TMPFS"
	repeat_skipped
}

sentences() { # FS [CASE...]
	local fs=$1

	shift
	grep -qw "$fs" /proc/filesystems || skip "$fs is missing in this kernel"
	# the first run of a day would write times of access of the interpreter's files, to another disk
	body() {
		# shellcheck disable=SC2016 # the inner shell's
		unshare --mount sh -c 'mount -o remount,bind,noatime / && exec python3 "$@"' sh "$root/tests/model/sentences.py" check "$fs" "$IOT_MNT" "${IOT_DEV#/dev/}" "$store" "$@" ||
			fail "sentences that a run contradicts"
	}
	with_fs "$fs" 512M -- body "$@"
}

@test "on ext4 no sentence of its runs says what a run did not do" {
	sentences ext4
}

@test "on XFS no sentence of its runs says what a run did not do" {
	sentences xfs
}

@test "on btrfs no sentence of its runs says what a run did not do" {
	sentences btrfs
}
