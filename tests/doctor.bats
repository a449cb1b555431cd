# SPDX-License-Identifier: GPL-3.0-only
# doctor.bats - where the kernel, or the rights of who asks, are not enough: what is said, and with which status.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR"
	need_tracer
}

# The tracer, by a kernel that refuses a program.
refusing() { # PROGRAM ARGS...
	need cc gcc
	need_plain "$trace" "they must be the first library"
	[ -e refuse.so ] || cc -shared -fPIC -D_GNU_SOURCE -o refuse.so "$root/tests/refuse.c"
	status=0
	IOT_REFUSE=$1 LD_PRELOAD=$PWD/refuse.so "$trace" "${@:2}" >out.log 2>err.log || status=$?
}

@test "a refused program that bytes come from is an error that names it, and no output is left" {
	local name

	for name in syscall__exit block__queue uring__complete; do
		refusing "$name" -q -o run.jsonl -o run.sqlite -- touch ran
		same "status without $name" "$status" 1
		grep -qE "^iot-trace: Linux $(uname -r) refuses program $name of layer [a-z]+ \(made by .*\): Permission denied: 1009: \(85\) refused for a test\$" err.log ||
			fail "$(cat err.log)"
		grep -q -- '--partial for bounds' err.log
		same "lines of $name" "$(wc -l <err.log)" 2
		empty "output" "$(cat out.log)$(ls run.* ran 2>/dev/null || :)"
	done
}

@test "--partial records what is left: n/a where nothing was measured, with the reason" {
	refusing syscall__exit -q --partial -o run.sqlite -- dd if=/dev/zero of=f bs=4099 count=23 status=none
	same status "$status" 0
	store=run.sqlite
	same "calls" "$(total ops "layer = 'syscall'")" 0
	same "loss" "$(sql "SELECT layer, n FROM lost WHERE what = 'program refused by the kernel' AND n > 0")" "syscall 1"
	"$analyze" amplification run.sqlite --table summary --format csv >summary.csv
	same "S" "$(awk -F, '$1 == "all" { print $4 }' summary.csv)" n/a
	"$analyze" amplification run.sqlite --table ratios --format csv >ratios.csv
	grep -q ',waf_sys,.*,n/a,.*layer syscall was not measured (syscall__exit: Permission denied: 1009' ratios.csv || fail "$(cat ratios.csv)"
}

@test "--partial: ratios are bounds where a file system's program was refused" {
	body() {
		refusing ext4__mark -q --partial -o run.sqlite -- dd if=/dev/zero of="$IOT_MNT/f" bs=4099 count=23 conv=fsync status=none
		same status "$status" 0
		store=run.sqlite
		same "S" "$(total bytes "kind = 'write' AND comm = 'dd' AND sub = 'regular'")" 94277
		same "loss" "$(sql "SELECT layer, n FROM lost WHERE what = 'program refused by the kernel' AND n > 0")" "fs 1"
		"$analyze" amplification run.sqlite --table ratios --format csv >ratios.csv
		grep -qE '^process,dd,[0-9]+,waf_sys,[^,]*,>=?,' ratios.csv || fail "$(cat ratios.csv)"
	}
	with_fs ext4 128M -- body
}

@test "a program without which no byte is missing, or that nobody asked for, is no error" {
	refusing core__rename -q -o run.jsonl -- true
	same "status without core__rename" "$status" 0
	refusing block__queue -q --layers syscall -o run.jsonl -- true
	same "status without block__queue" "$status" 0
}

@test "a program refused when a file system is mounted during the run: status 1, and bounds" {
	need mkfs.xfs xfsprogs
	need_unmounted xfs
	truncate -s 320M "$IOT_IMG_DIR/late.img"
	mkfs.xfs -q "$IOT_IMG_DIR/late.img"
	mkdir mnt
	printf 'mount -o loop "$1" mnt && sleep 3; umount mnt\n' >script
	refusing xfs__commit -q -o run.sqlite -- unshare --mount sh script "$IOT_IMG_DIR/late.img"
	rm "$IOT_IMG_DIR/late.img"
	same status "$status" 1
	grep -q 'a file system was mounted during the run, and the kernel refuses xfs__commit: Permission denied: 1009' err.log || fail "$(cat err.log)"
	store=run.sqlite
	same "loss" "$(sql "SELECT layer, n FROM lost WHERE what = 'program refused by the kernel' AND n > 0")" "fs 1"
	[[ $(sql "SELECT reason FROM probe WHERE name = 'late__xfs'") == "xfs__commit: Permission denied"* ]]
}
