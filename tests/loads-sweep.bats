# SPDX-License-Identifier: GPL-3.0-only
# loads-sweep.bats - the sweep over object sizes, fs-bench, and what the workloads do with bad input.

load loads_lib

setup() {
	need_root
	export IOT_IMG_DIR=${IOT_IMG_DIR:-/dev/shm}
	sweep=$root/workloads/sweep.sh bench=$root/workloads/fs-bench.sh
}

@test "a sweep has a row a size, operation and repeat, with the payload exact and an idle control beside it" {
	command -v etcd >/dev/null || need etcd etcd-server
	"$sweep" etcd --sizes 10,1024 --repeats 2 >"$BATS_TEST_TMPDIR/rows" 2>"$BATS_TEST_TMPDIR/err" || fail "$(cat "$BATS_TEST_TMPDIR/err")"
	rows() { sqlite3 :memory: -cmd '.mode tabs' -cmd ".import '$BATS_TEST_TMPDIR/rows' t" "$1"; }
	same "rows" "$(rows 'SELECT COUNT(*) FROM t')" 8
	same "payload" "$(rows 'SELECT operation, size, MIN(logical_bytes), MAX(logical_bytes) FROM t GROUP BY 1, 2 ORDER BY 1, size + 0' | tr '\t\n' ' ;')" \
		"read 10 1000 1000;read 1024 102400 102400;write 10 1000 1000;write 1024 102400 102400;"
	same "idle as long as the load, or longer" "$(rows 'SELECT COUNT(*) FROM t WHERE idle_s + 0 >= window_s + 0')" 8
	same "small objects cost more a byte" "$(rows "SELECT MIN(w) > MAX(v) FROM (SELECT device_write_bytes * 1.0 / logical_bytes AS w FROM t
		WHERE operation = 'write' AND size = 10), (SELECT device_write_bytes * 1.0 / logical_bytes AS v FROM t WHERE operation = 'write' AND size = 1024)")" 1
}

@test "an overwrite of 4 KiB whose clock ticked is four blocks on ext4: data, descriptor, inode table, commit" {
	"$bench" --tsv --count 53 ext4 >"$BATS_TEST_TMPDIR/rows"
	cell() { awk -F '\t' -v op="$1" -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $2 == op { print $at[name] }' "$BATS_TEST_TMPDIR/rows"; }
	between "overwrite-paced" "$(cell overwrite-paced ratio)" 3.9 4.2
	[[ $(cell overwrite-paced published) == *"4.00 x (M1)"* ]] || fail "no published number beside it"
	same "warm read" "$(cell warm-read read_per_op)" 0.0
	between "cold read" "$(cell cold-read ratio)" 1.0 1.4
}

@test "without a journal an overwrite is one block" {
	"$bench" --tsv --count 53 ext4-no-journal >"$BATS_TEST_TMPDIR/rows"
	between "overwrite" "$(awk -F '\t' '$2 == "overwrite" { print $9 }' "$BATS_TEST_TMPDIR/rows")" 1.0 1.15
}

@test "an unknown system, size, file system or profile is refused with one line" {
	run "$sweep" nosuch
	same "status" "$status" 2
	run "$sweep" etcd --sizes 1,x
	same "status" "$status" 2
	run "$bench" nosuchfs
	same "status" "$status" 2
	[[ $output == *"no row 'nosuchfs'"* ]] || fail "$output"
	IOT_WORK=$BATS_TEST_TMPDIR/w run "$root/workloads/etcd.sh" load small
	same "status" "$status" 1
	[[ $output == *"not up"* ]] || fail "$output"
}

@test "a state directory that belongs to someone else is refused" {
	install -d -o nobody "$BATS_TEST_TMPDIR/w"
	IOT_WORK=$BATS_TEST_TMPDIR/w run "$root/workloads/sqlite.sh" up
	same "status" "$status" 1
	[[ $output == *"is not a directory of ours alone"* ]] || fail "$output"
}

@test "a package that is missing and must not be installed is a skip that names it" {
	mkdir -p "$BATS_TEST_TMPDIR/w"
	sed 's/need sqlite3 sqlite3/need no-such-engine no-such-package/' "$root/workloads/sqlite.sh" >"$BATS_TEST_TMPDIR/sqlite.sh"
	ln -s "$root"/workloads/*.bash "$root"/workloads/*.py "$BATS_TEST_TMPDIR/"
	IOT_NO_INSTALL=1 IOT_WORK=$BATS_TEST_TMPDIR/w run bash "$BATS_TEST_TMPDIR/sqlite.sh" up
	same "status" "$status" 77
	[[ $output == *"needs no-such-engine (Debian: no-such-package)"* ]] || fail "$output"
}

@test "a drive that cannot be made leaves no loop device and no image behind" {
	sed 's/DRIVE_SIZE=1G/DRIVE_SIZE=17K/' "$root/workloads/sqlite.sh" >"$BATS_TEST_TMPDIR/sqlite.sh"
	ln -s "$root"/workloads/*.bash "$root"/workloads/*.py "$BATS_TEST_TMPDIR/"
	mkdir -p "$BATS_TEST_TMPDIR/img"
	IOT_IMG_DIR=$BATS_TEST_TMPDIR/img IOT_WORK=$BATS_TEST_TMPDIR/w run bash "$BATS_TEST_TMPDIR/sqlite.sh" up
	[ "$status" != 0 ] || fail "it came up: $output"
	empty "images" "$(ls "$BATS_TEST_TMPDIR/img")"
	empty "loop devices" "$(losetup -nO BACK-FILE | grep -F "$BATS_TEST_TMPDIR" || :)"
	[ ! -e "$BATS_TEST_TMPDIR/w" ] || fail "$(ls -R "$BATS_TEST_TMPDIR/w")"
}
