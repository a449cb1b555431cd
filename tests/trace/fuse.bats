# SPDX-License-Identifier: GPL-3.0-only
# fuse.bats - bytes through FUSE: those of the callers, and next to them those of the daemon behind the mount.

load ../lib/helper

setup() { own_run bindfs:bindfs; }

writes() { echo dd if=/dev/zero "of=$IOT_MNT/over/$1" bs=64k count=20 conv=fsync status=none; }

tells() { grep -qs fuse_connection /proc/"$1"/fdinfo/*; } # PID

table() { "$analyze" amplification run.sqlite --table fuse --format csv | tail -n 1 | cut -d, -f3-; }

@test "the daemon of an earlier FUSE mount: its S is the callers' bytes, B is its own" {
	body() {
		local pid

		mkdir "$IOT_MNT/below" "$IOT_MNT/over"
		bindfs "$IOT_MNT/below" "$IOT_MNT/over"
		pid=$(pgrep -f -x "bindfs $IOT_MNT/below $IOT_MNT/over")
		tells "$pid" || { umount "$IOT_MNT/over"; return 77; }
		# shellcheck disable=SC2046 # words
		traced --all -- $(writes f)
		umount "$IOT_MNT/over"
		B=$(written "comm = 'bindfs'")
		[ "$B" -ge 1310720 ] || fail "B of the daemon is $B"
		same "side by side" "$(table)" "1310720,0,bindfs,$pid,1310720,$B,0,0"
		# `all` has the callers and the daemon: 1310720 bytes of its S are there twice, and B once
		"$analyze" amplification run.sqlite --table ratios --format csv >ratios.csv
		grep -q '^all,.*waf_sys,B/S,>=,.*1.25 MiB of S are calls of FUSE, whose daemon moved them once more' ratios.csv || fail "$(grep waf_sys ratios.csv)"
		! grep -v '^all,' ratios.csv | grep 'of FUSE' || fail "another line than all"
		"$analyze" run.sqlite | tr -s ' \n' ' ' | grep -q 'All together wrote [^.]*[^(]*(of that 1.25 MiB were calls of FUSE, whose daemon wrote them once more), and devices' || fail "$("$analyze" run.sqlite)"
	}
	run with_fs ext4 64M -- body
	[ "$status" != 77 ] || skip "the kernel does not say who serves a FUSE mount (since 6.16)"
	[ "$status" = 0 ] || fail "$output"
}

@test "a FUSE daemon that is started and ended in the run, and one that is not traced" {
	body() {
		mkdir "$IOT_MNT/below" "$IOT_MNT/over"
		bindfs "$IOT_MNT/below" "$IOT_MNT/over"
		tells "$(pgrep -f -x "bindfs $IOT_MNT/below $IOT_MNT/over")" || status=77
		umount "$IOT_MNT/over"
		[ "${status-}" != 77 ] || return 77
		traced -- sh -c "bindfs $IOT_MNT/below $IOT_MNT/over && $(writes f); umount $IOT_MNT/over"
		same "callers, the daemon, its S" "$(table | cut -d, -f1-3,5)" "1310720,0,bindfs,1310720"
		rm -f run.sqlite*
		bindfs "$IOT_MNT/below" "$IOT_MNT/over"
		# shellcheck disable=SC2046 # words
		traced -- $(writes g)
		umount "$IOT_MNT/over"
		same "not traced" "$(table)" "1310720,0,n/a,n/a,n/a,n/a,n/a,n/a"
	}
	run with_fs ext4 64M -- body
	[ "$status" != 77 ] || skip "the kernel does not say who serves a FUSE mount (since 6.16)"
	[ "$status" = 0 ] || fail "$output"
}
