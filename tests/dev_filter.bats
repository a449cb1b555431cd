#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# dev_filter.bats - --dev takes the requests of one disk: what calls did on others is in no ratio with them.

bats_require_minimum_version 1.5.0
load helper

setup() {
	cd "$BATS_TEST_TMPDIR"
	need_tracer
}

value() { # WHO RATIO
	"$analyze" amplification "$store" --table ratios --format csv | awk -F, -v who="$1" -v ratio="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } index($0, who) && $at["ratio"] == ratio { print $at["value"]; exit }'
}

@test "--dev: who wrote to another disk has no ratio with this one's requests" {
	body() {
		other=$IOT_MNT
		with_fs ext4 64M -- inner
	}
	inner() {
		traced --dev "$(basename "$IOT_DEV")" -- bash -c "dd if=/dev/zero of=$IOT_MNT/x bs=4k count=100 conv=fsync status=none
			cp $IOT_MNT/x $other/y; sync $other/y"
		same "S, T of cp are there" "$(total bytes "comm = 'cp' AND kind IN ('write', 'copy_file_range') AND dir = 'w' AND sub = 'regular'")" 409600
		same "cp, waf_sys" "$(value cp waf_sys)" n/a
		same "cp, hop_flush" "$(value cp hop_flush)" n/a
		same "cp, hop_page" "$(value cp hop_page)" 1.000
		between "dd, waf_sys" "$(value dd waf_sys)" 1 1.2
	}
	with_fs ext4 64M -- body
}
