# SPDX-License-Identifier: GPL-3.0-only
# loads-sweep.bats - the sweep over object sizes, fs-bench, and workloads with bad input.

load ../lib/loads

setup() {
	need_root
	export IOT_IMG_DIR=${IOT_IMG_DIR:-/dev/shm}
	sweep=$root/workloads/sweep.sh bench=$root/workloads/fs-bench.sh
}

@test "a sweep has a row a size, operation, repeat (IOT_LONG: 2), payload, idle control" {
	command -v etcd >/dev/null || need etcd etcd-server
	local repeats rows

	repeats=$(sized 1 2)
	rows=$((repeats * 4))
	"$sweep" etcd --sizes 10,1024 --repeats "$repeats" >"$BATS_TEST_TMPDIR/rows" 2>"$BATS_TEST_TMPDIR/err" || fail "$(cat "$BATS_TEST_TMPDIR/err")"
	rows() { sqlite3 :memory: -cmd '.mode tabs' -cmd ".import '$BATS_TEST_TMPDIR/rows' t" "$1"; }
	same "rows" "$(rows 'SELECT COUNT(*) FROM t')" "$rows"
	same "payload" "$(rows 'SELECT operation, size, MIN(logical_bytes), MAX(logical_bytes) FROM t GROUP BY 1, 2 ORDER BY 1, size + 0' | tr '\t\n' ' ;')" \
		"read 10 1000 1000;read 1024 102400 102400;write 10 1000 1000;write 1024 102400 102400;"
	same "idle as long as the load, or longer" "$(rows 'SELECT COUNT(*) FROM t WHERE idle_s + 0 >= window_s + 0')" "$rows"
	same "small objects cost more a byte" "$(rows "SELECT MIN(w) > MAX(v) FROM (SELECT device_write_bytes * 1.0 / logical_bytes AS w FROM t
		WHERE operation = 'write' AND size = 10), (SELECT device_write_bytes * 1.0 / logical_bytes AS v FROM t WHERE operation = 'write' AND size = 1024)")" 1
}

@test "a traced sweep keeps its ledgers in the store; the report has all its sizes" {
	need_tracer
	command -v etcd >/dev/null || need etcd etcd-server
	export store=$BATS_TEST_TMPDIR/sweep.sqlite
	IOT_TRACE=$trace IOT_STORE=$store "$sweep" etcd --sizes 10,10240 --repeats 1 >"$BATS_TEST_TMPDIR/rows" 2>"$BATS_TEST_TMPDIR/err" || fail "$(cat "$BATS_TEST_TMPDIR/err")"
	table() { "$analyze" sizes "$store" --format csv --table "$1" >"$BATS_TEST_TMPDIR/$1.csv"; }
	for t in sizes layers reads shares marginal; do table $t; done
	asked() { sqlite3 :memory: -cmd '.mode csv' -cmd ".import $BATS_TEST_TMPDIR/$1.csv $1" -cmd '.mode tabs' -cmd ".import $BATS_TEST_TMPDIR/rows r" -cmd '.mode list' -cmd '.separator " "' "$2"; }
	same "rows" "$(asked sizes 'SELECT system, operation, size, repeats, failed, ops, payload, bound FROM sizes')" "etcd write 10 1 0 100 1000 exact
etcd write 10240 1 0 100 1024000 exact
etcd read 10 1 0 100 1000 exact
etcd read 10240 1 0 100 1024000 exact"
	same "the sweep's own rows" "$(asked sizes "SELECT COUNT(*) FROM sizes s JOIN r ON r.operation = s.operation AND r.size = s.size AND r.logical_bytes = s.payload
		AND CASE s.operation WHEN 'read' THEN r.device_read_bytes ELSE r.device_write_bytes END = s.counted")" 4
	# the tracer runs a little longer than the load: what the server did since it was prepared is written by the first sync
	same "device bytes, by the tracer and by the workload" "$(asked sizes 'SELECT COUNT(*) FROM sizes WHERE device - counted BETWEEN 0 AND 65536 AND device > 0')" 4
	same "an idle control" "$(asked sizes "SELECT COUNT(*) FROM sizes WHERE idle <> 'n/a'")" 4
	same "shares" "$(asked shares "SELECT operation, size, SUM(bytes) FROM shares GROUP BY 1, 2 ORDER BY 1, size + 0")" \
		"$(asked sizes 'SELECT operation, size, device FROM sizes ORDER BY 1, size + 0')"
	between "share of the log in small writes" "$(asked shares "SELECT share FROM shares WHERE operation = 'write' AND size = 10 AND part = 'wal'")" 0.4 0.95
	between "marginal_waf" "$(asked marginal "SELECT value FROM marginal WHERE ratio = 'marginal_waf'")" 2 8
	same "layers" "$(asked layers 'SELECT COUNT(*) FROM layers WHERE S + 0 >= L + 0 AND T + 0 >= S + 0 AND W + 0 > 0 AND journal + 0 > 0 AND B + 0 >= W + 0')" 2
	# D needs every call: a libaio request of another program that was never reaped is a gap, and D is then absent
	whole=$(sqlite3 "$store" "SELECT COUNT(*) FROM run r WHERE label LIKE 'sweep etcd write %' AND NOT EXISTS (SELECT 1 FROM lost l WHERE l.run = r.run AND l.n > 0)")
	dirtied=$(asked layers "SELECT COUNT(*) FROM layers WHERE D <> 'n/a' AND D + 0 > 0")
	[ "$dirtied" -ge "$whole" ] || fail "D is known of $dirtied sizes, $whole runs lost nothing"
	same "reads" "$(asked reads 'SELECT COUNT(*) FROM reads WHERE S_r + 0 >= L_r + 0 AND B_r + 0 >= L_r + 0')" 2
	mkdir "$BATS_TEST_TMPDIR/out"
	"$analyze" sizes "$store" --table marginal --plot "$BATS_TEST_TMPDIR/out" >/dev/null
	grep -q "marginal_waf of etcd write" "$BATS_TEST_TMPDIR/out/sizes.svg"
}

# Nothing of the sweep that wrote $1 to standard error is left: no state, no server, no device.
nothing_left_of() { # FILE
	local work

	work=$(sed -n 's/.* up in \([^,]*\),.*/\1/p' "$1" | tail -n 1)
	empty "state" "$(ls -d "${work:-/var/tmp/iot-sweep.none}" 2>/dev/null || :)"
	empty "servers" "$(pgrep -fa "${work:-iot-sweep.none}" || :)"
	empty "devices" "$(losetup -nO NAME,BACK-FILE | grep -F "$IOT_IMG_DIR" || :)"
	empty "images" "$(ls "$IOT_IMG_DIR")"
}

@test "^C in the middle of a sweep ends it and leaves nothing behind" {
	command -v etcd >/dev/null || need etcd etcd-server
	export IOT_IMG_DIR=$BATS_TEST_TMPDIR/img
	mkdir "$IOT_IMG_DIR"
	setsid env --default-signal=INT "$sweep" etcd --sizes 10,1024 --repeats 9 >"$BATS_TEST_TMPDIR/rows" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	pid=$!
	until [ "$(wc -l <"$BATS_TEST_TMPDIR/rows")" -ge 2 ] || ! kill -0 $pid; do sleep 0.1; done
	sleep 0.3
	kill -INT -- -$pid
	status=0
	wait $pid || status=$?
	same "status" "$status" 130
	nothing_left_of "$BATS_TEST_TMPDIR/err"
}

@test "a sweep of a system that does not start says so, and leaves nothing behind" {
	mkdir "$BATS_TEST_TMPDIR/w" "$BATS_TEST_TMPDIR/img"
	cp "$root"/workloads/*.{sh,bash,py} "$BATS_TEST_TMPDIR/w/"
	sed -i 's/serve member etcd/serve member false/' "$BATS_TEST_TMPDIR/w/etcd.sh"
	command -v etcd >/dev/null || need etcd etcd-server
	export IOT_IMG_DIR=$BATS_TEST_TMPDIR/img
	status=0
	"$BATS_TEST_TMPDIR/w/sweep.sh" etcd --sizes 10 --repeats 1 >"$BATS_TEST_TMPDIR/rows" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	same "status" "$status" 1
	grep -q "etcd.sh: did not start" "$BATS_TEST_TMPDIR/err" || fail "$(cat "$BATS_TEST_TMPDIR/err")"
	nothing_left_of "$BATS_TEST_TMPDIR/err"
}

@test "a size whose server dies has a row that says so, and the sweep goes on" {
	mkdir "$BATS_TEST_TMPDIR/w"
	cp "$root"/workloads/*.{sh,bash,py} "$BATS_TEST_TMPDIR/w/"
	# the 51st value of 100 bytes kills the server
	sed -i "s/^    def put(self, key, value):/&\n        if len(value) == 100 and key.endswith('50'): __import__('os').kill(int(open(__import__('os').environ['IOT_WORK'] + '\/pids').read().split()[1]), 9)/" "$BATS_TEST_TMPDIR/w/etcdkv.py"
	command -v etcd >/dev/null || need etcd etcd-server
	"$BATS_TEST_TMPDIR/w/sweep.sh" etcd --sizes 100,1000 --repeats 1 >"$BATS_TEST_TMPDIR/rows" 2>"$BATS_TEST_TMPDIR/err" || fail "$(cat "$BATS_TEST_TMPDIR/err")"
	same "rows" "$(cut -f2,3,6 "$BATS_TEST_TMPDIR/rows" | sed 1d | tr '\t\n' ' ;')" "write 100 1;read 100 1;write 1000 0;read 1000 0;"
	same "acknowledged before" "$(awk -F '\t' '$2 == "write" && $3 == 100 { print $5, $7 }' "$BATS_TEST_TMPDIR/rows")" "50 5000"
	[ -n "$(awk -F '\t' '$2 == "write" && $3 == 100 { print $17 }' "$BATS_TEST_TMPDIR/rows")" ] || fail "no reason"
}

# A cell of the rows of fs-bench --tsv.
cell() { # FILESYSTEM OPERATION COLUMN
	awk -F '\t' -v fs="$1" -v op="$2" -v name="$3" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $1 == fs && $2 == op { print $at[name] }' "$BATS_TEST_TMPDIR/rows"
}

@test "an overwrite of 4 KiB whose clock ticked is four times its bytes on ext4" {
	"$bench" --tsv --count 53 ext4 >"$BATS_TEST_TMPDIR/rows"
	between "overwrite-paced" "$(cell ext4 overwrite-paced ratio)" 3.9 4.2
	[[ $(cell ext4 overwrite-paced published) == *"4.00 x (M1)"* ]] || fail "no published number beside it"
	same "warm read" "$(cell ext4 warm-read read_per_op)" 0.0
	between "cold read" "$(cell ext4 cold-read ratio)" 1.0 1.4
}

@test "breakdown of a traced fs-bench: 53 overwrites are 53 blocks of each structure" {
	need_tracer
	store=$BATS_TEST_TMPDIR/bench.sqlite
	IOT_TRACE=$trace IOT_STORE=$store "$bench" --tsv --count 53 --operations overwrite-paced ext4 >"$BATS_TEST_TMPDIR/rows"
	# Lines "part bytes" of a table, of the device that the row names: other devices of the machine are in it too.
	of_device() {
		"$analyze" breakdown "$store" --run "fs-bench ext4 overwrite-paced" --format tsv --table "$1" |
			awk -F '\t' -v dev="$(cell ext4 overwrite-paced device)" '$1 == dev { print $2, $3 }'
	}
	same "blocks" "$(of_device anatomy | grep -E '^(data|journal: (commit|descriptor|inode_table)) ')" "data 217088
journal: commit 217088
journal: descriptor 217088
journal: inode_table 217088"
	same "journal" "$(of_device journal | grep -E '^(commit|descriptor|inode_table) ')" "commit 217088
descriptor 217088
inode_table 217088"
	# The journal's superblock, and the inode in its place, when all is synced at the end.
	total=$(of_device anatomy | sed -n 's/^total //p')
	between "all of it" "$total" $((4 * 217088)) $((4 * 217088 + 16384))
	same "by the device's own counter, each" "$(awk -v bytes="$total" 'BEGIN { printf "%.1f", bytes / 53 }')" "$(cell ext4 overwrite-paced after_sync_per_op)"
}

# The other rows: file system, its type, operations, bounds of overwrite-paced, the option in force that makes it what it is.
# ext2: data, inode. data=journal: the data twice. Fast commit: data, one block of the journal. XFS: data, 1 KiB of its log.
# f2fs has no bounds: none of the kernels at hand has it.
other_rows='
ext2             ext2  2  1.95 2.1  rw
ext4-writeback   ext4  2  3.9  4.2  data=writeback
ext4-journal     ext4  2  4.9  5.3  data=journal
ext4-fast-commit ext4  2  2.0  2.4  data=ordered
xfs              xfs   9  1.2  1.9  rw
btrfs            btrfs 9  18   26   space_cache=v2
f2fs             f2fs  9  -    -    rw
'

@test "every row of fs-bench has its operations and options, or a reason" {
	only_long "each time one operation, traced and not"
	export IOT_NO_INSTALL=1
	{
		"$bench" --tsv --count 29 --operations overwrite-paced,append ext2 ext4-writeback ext4-journal ext4-fast-commit &&
			"$bench" --tsv --count 29 xfs btrfs f2fs
	} >"$BATS_TEST_TMPDIR/rows" 2>"$BATS_TEST_TMPDIR/err" || fail "$(cat "$BATS_TEST_TMPDIR/err")"
	while read -r name type operations low high option; do
		[ -n "$name" ] || continue
		if ! grep -qw "$type" /proc/filesystems; then
			same "$name" "$(grep "^fs-bench.sh: $name left out" "$BATS_TEST_TMPDIR/err")" "fs-bench.sh: $name left out: this kernel has no $type"
			same "rows of $name" "$(grep -c "^$name	" "$BATS_TEST_TMPDIR/rows" || :)" 0
			continue
		fi
		if ! command -v "mkfs.$type" >/dev/null; then
			same "$name" "$(grep "^fs-bench.sh: $name left out" "$BATS_TEST_TMPDIR/err")" "fs-bench.sh: $name left out: mkfs.$type is missing"
			continue
		fi
		same "operations of $name" "$(grep -c "^$name	" "$BATS_TEST_TMPDIR/rows")" "$operations"
		[ "$low" = - ] || between "$name" "$(cell "$name" overwrite-paced ratio)" "$low" "$high"
		[[ ,$(cell "$name" append mount), == *,"$option",* ]] || fail "$name is mounted with $(cell "$name" append mount)"
		[[ $(cell "$name" append mkfs) == "mkfs.$type -"* && -n $(cell "$name" append mkfs_version) ]] || fail "$name: $(cell "$name" append mkfs)"
		same "size" "$(cell "$name" append size_bytes)" 1073741824
	done <<<"$other_rows"
	same "fast commit" "$(cell ext4-fast-commit append mkfs)" "mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 -O fast_commit"
}

@test "without --tsv each file system has a line with mkfs, its version, its options" {
	"$bench" --count 7 --operations append ext4-no-journal >"$BATS_TEST_TMPDIR/text"
	same "lines" "$(wc -l <"$BATS_TEST_TMPDIR/text")" 3
	[[ $(tail -n 1 "$BATS_TEST_TMPDIR/text") == "ext4-no-journal: mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 -O ^has_journal (mke2fs "*") on 1024 MiB; rw,noatime; Linux $(uname -r)" ]] ||
		fail "$(cat "$BATS_TEST_TMPDIR/text")"
}

@test "without a journal an overwrite is one block" {
	"$bench" --tsv --count 53 ext4-no-journal >"$BATS_TEST_TMPDIR/rows"
	between "overwrite" "$(awk -F '\t' '$2 == "overwrite" { print $9 }' "$BATS_TEST_TMPDIR/rows")" 1.0 1.5 # and the inode, once a second
}

@test "an unknown system, size, file system or profile is refused with one line" {
	run "$sweep" nosuch
	same "status" "$status" 2
	run "$sweep" etcd --sizes 1,x
	same "status" "$status" 2
	run "$bench" nosuchfs
	same "status" "$status" 2
	[[ $output == *"no row 'nosuchfs'"* ]] || fail "$output"
	run "$bench" --operations append,nosuchop ext4
	same "status" "$status" 2
	[[ $output == *"no row 'nosuchop'"* ]] || fail "$output"
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
