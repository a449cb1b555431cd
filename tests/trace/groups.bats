#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# groups.bats - containers, control groups, units and users: the owners of bytes, also of a process that moves, in each line and filter.
# The groups are made by hand where runtimes make theirs: no runtime is needed.

bats_require_minimum_version 1.5.0
load ../lib/helper

setup() {
	need_tracer
	need sqlite3 sqlite3
	cd "$BATS_TEST_TMPDIR"
	two=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	one=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
	[ -n "$two" ] || skip "no control groups of version 2 are mounted"
	top=iot-test-$$
	mkdir "$two/$top" "$two/$top/demo.slice" "$two/$top/demo.slice/x.service" "$two/$top/other.service"
	id=$(printf %064d $$)
}

teardown() {
	local g

	for g in "$two/$top"/{docker-*.scope,leaf.slice,lxc.payload.*} "$two/$top"/demo.slice/x.service "$two/$top"/{demo.slice,other.service} "$two/$top" ${one:+"$one/docker/$id"}; do
		[ ! -d "$g" ] || rmdir "$g" || :
	done
	repeat_skipped
}

# A shell that goes into a group, and writes there.
in_group() { # FOLDER FILE BYTES
	# shellcheck disable=SC2016 # the inner shell's
	bash -c 'echo $$ >"$1/cgroup.procs"; exec head -c "$3" /dev/zero >"$2"' sh "$@"
}

# Records everything that passes the filters while a function runs.
record() { # FUNCTION [OPTIONS]
	local tracer

	"$trace" -q --ready ready -o run.sqlite --settle sync "${@:2}" &
	tracer=$!
	while [ ! -e ready ] && kill -0 "$tracer" 2>/dev/null; do sleep 0.05; done
	"$1"
	kill -INT "$tracer"
	wait "$tracer"
	rm ready
}

# S and B of the lines of --by, but of those that have not written: NAME S B
lines() { # BY
	"$analyze" amplification run.sqlite --by "$1" --table summary --format tsv |
		awk -F'\t' '$1 == "group" && $4 > 0 && $2 ~ /iot-test|x.service|other.service|'"$id"'|carl/ { print $2, $4 }' | sort
}

work() {
	in_group "$two/$top/demo.slice/x.service" a 50021
	in_group "$two/$top/other.service" b 7013
	head -c 1237 /dev/zero >c
}

@test "50021 and 7013 bytes are of the groups and units that wrote them" {
	record work --cgroup "/$top"
	[ "$(lines cgroup)" = "/$top/demo.slice/x.service 50021
/$top/other.service 7013" ]
	[ "$(lines unit)" = "other.service 7013
x.service 50021" ]
	"$analyze" verify run.sqlite
}

@test "a filter holds for a group and all below it, for a unit, and for nobody else" {
	local filter

	for filter in "--cgroup /$top/demo.slice" "--cgroup $two/$top/demo.slice/" "--unit x" "--unit x.service" "--unit demo.slice"; do
		rm -f run.sqlite
		# shellcheck disable=SC2086 # an option and its value
		record work $filter
		[ "$(sqlite3 run.sqlite "SELECT SUM(write_bytes) FROM file_io i JOIN file f ON f.id = i.file AND f.path LIKE '%/a'")" = 50021 ]
		[ "$(sqlite3 run.sqlite "SELECT COUNT(*) FROM file WHERE path LIKE '$PWD/b' OR path LIKE '$PWD/c'")" = 0 ]
	done
	rm run.sqlite
	record work --unit x --unit other
	[ "$(lines unit)" = "other.service 7013
x.service 50021" ]
}

moving() {
	# shellcheck disable=SC2016 # the inner shell's
	bash -c 'echo $$ >"$1/cgroup.procs"; printf %03001d 1 >a; echo $$ >"$2/cgroup.procs"; printf %07001d 1 >b; printf %01009d 1 >>a' \
		sh "$two/$top/demo.slice/x.service" "$two/$top/other.service"
}

@test "a process that moves counts where it was: 3001 bytes, then 7001 and 1009" {
	record moving --cgroup "/$top"
	# with what tells the kernel its number: five digits or less, and a newline
	sqlite3 run.sqlite "SELECT p.cgroup, f.path, i.write_bytes FROM file_io i JOIN file f ON f.id = i.file JOIN process p ON p.id = i.owner
		WHERE f.path IN ('$PWD/a', '$PWD/b') AND i.write_bytes > 0 ORDER BY 1, 2" >got
	[ "$(cat got)" = "/$top/demo.slice/x.service|$PWD/a|3001
/$top/other.service|$PWD/a|1009
/$top/other.service|$PWD/b|7001" ]
	[ "$(sqlite3 run.sqlite "SELECT COUNT(DISTINCT id) FROM process WHERE comm = 'bash' AND cgroup LIKE '/$top%'")" = 2 ]
	"$analyze" verify run.sqlite
}

# A process with 4 threads that write before and after it moves itself to each of two groups.
threads() {
	# shellcheck disable=SC2016 # the inner shell's
	python3 - "$two/$top/demo.slice/x.service" "$two/$top/other.service" <<-'E'
	import os, sys, threading
	def write(bar, name):
	    f = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600)
	    for size in (1009, 2003):
	        bar.wait()
	        for _ in range(100):
	            os.write(f, bytes(size))
	        bar.wait()
	bar = threading.Barrier(5)
	for n in range(4):
	    threading.Thread(target=write, args=(bar, "t%d" % n)).start()
	for group in sys.argv[1:]:
	    with open(group + "/cgroup.procs", "w") as g:
	        g.write(str(os.getpid()))
	    bar.wait()
	    bar.wait()
	E
}

@test "all threads move with their process: 403600 bytes in one group, then 801200" {
	need python3 python3
	record threads
	[ "$(sqlite3 run.sqlite "SELECT p.cgroup, SUM(i.write_bytes) FROM file_io i JOIN file f ON f.id = i.file JOIN process p ON p.id = i.owner
		WHERE f.path GLOB '$PWD/t[0-3]' GROUP BY 1 ORDER BY 1")" = "/$top/demo.slice/x.service|403600
/$top/other.service|801200" ]
}

contained() {
	in_group "$two/$top/docker-$id.scope" a 30011
	[ -z "$one" ] || in_group "$one/docker/$id" b 20011
	in_group "$two/$top/other.service" c 7013
}

@test "a container is one line and one filter, in cgroups of version 2 and 1" {
	local want=$((30011 + (${#one} > 0 ? 20011 : 0)))

	mkdir "$two/$top/docker-$id.scope" ${one:+"$one/docker/$id"} -p
	record contained
	lines container; [ "$(lines container)" = "$id $want" ]
	rm run.sqlite
	record contained --container "$id"
	[ "$(lines container)" = "$id $want" ]
	[ "$(lines cgroup | grep -c other.service)" = 0 ]
}

again() {
	in_group "$two/$top/other.service" a 5003
	rmdir "$two/$top/other.service"
	mkdir "$two/$top/other.service"
	in_group "$two/$top/other.service" b 6007
}

@test "a unit that is made again under its path is followed" {
	record again --unit other
	[ "$(lines unit)" = "other.service 11010" ]
}

users() {
	setpriv --reuid=12345 --regid=12345 --clear-groups head -c 4001 /dev/zero >carl1
	head -c 3001 /dev/zero >root1
}

@test "a line a user: by the machine's names, else by the number" {
	need setpriv util-linux
	record users
	"$analyze" amplification run.sqlite --by user --table summary --format tsv | awk -F'\t' '$2 == "uid 12345" { print $4 }' >got
	[ "$(cat got)" = 4001 ]
	"$analyze" amplification run.sqlite --by user --table summary --format tsv | awk -F'\t' '$2 == "root" && $4 >= 3001 { found = 1 } END { exit !found }'
}

# Two containers write 61 and 37 pieces of 64 KiB each, in each of four ways, each from a mount namespace of its own.
ways=(buffered fsync direct mmap)
matrix() {
	local way name

	for way in "${ways[@]}"; do
		for name in "$way-a 61" "$way-b 37"; do
			contain "${name% *}" "$way" "${name#* }"
		done
	done
	sync -f "$IOT_MNT"
}

contain() { # NAME WAY PIECES
	local api=write

	[ "$2" = buffered ] || [ "$2" = fsync ] || api=$2
	mkdir "$two/$top/lxc.payload.$1"
	# shellcheck disable=SC2016 # the inner shells'
	bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec unshare --mount --propagation private bash -c '\''
		mount --bind "$1" /mnt
		shift
		exec "$io" "$@"'\'' sh "$@"' sh "$two/$top/lxc.payload.$1" "$into" \
		--api "$api" --file "/mnt/$1" --size 64k --count "$3" $([ "$2" != fsync ] || echo --sync fsync) >/dev/null
	rmdir "$two/$top/lxc.payload.$1"
}

# A row a container: NAME S FILE_DATA, of what is written to the devices.
cells() {
	local name

	"$analyze" breakdown run.sqlite --by container --table owners --format tsv >owners.tsv
	"$analyze" amplification run.sqlite --by container --table summary --format tsv >summary.tsv
	for name in "${ways[@]/%/-a}" "${ways[@]/%/-b}"; do
		echo "$name $(awk -F'\t' -v who="$name" '$2 == who { print $4 }' summary.tsv)" \
			"$(awk -F'\t' -v who="$name" '$2 == who && ($4 == "data" || $4 == "direct") { n += $6 } END { print n + 0 }' owners.tsv)"
	done | sort
}

# The sum of all groups; journals and structures of all lines sum to the device's own counter.
measure_matrix() { # FOLDER
	into=$1
	dev_mark
	record matrix --cgroup "/$top"
	wrote=$(dev_wrote)
	same "containers" "$(cells)" "buffered-a 3997696 3997696
buffered-b 2424832 2424832
direct-a 3997696 3997696
direct-b 2424832 2424832
fsync-a 3997696 3997696
fsync-b 2424832 2424832
mmap-a 0 3997696
mmap-b 0 2424832"
	same "the device, by lines" "$("$analyze" sql run.sqlite "SELECT SUM(amount) FROM v_amount WHERE sym = 'B' AND devno(dev) = '$IOT_DEVNO'" --by container --format tsv | tail -n 1)" "$wrote"
	same "journal of nobody" "$(store=run.sqlite written "cause = 'journal' AND owner = 0")" 0
	"$analyze" verify run.sqlite
}

@test "ext4: two containers, buffered, fsync, direct, mmap: bytes of each, journal too" {
	body() { measure_matrix "$IOT_MNT"; }
	with_fs ext4 128M -- body
}

@test "overlay on ext4: two containers in four ways have the same bytes as on ext4" {
	body() {
		mkdir "$IOT_MNT"/{lower,upper,work,merged}
		mount -t overlay -o "lowerdir=$IOT_MNT/lower,upperdir=$IOT_MNT/upper,workdir=$IOT_MNT/work" overlay "$IOT_MNT/merged" || exit 1
		trap 'umount "$IOT_MNT/merged"' EXIT
		measure_matrix "$IOT_MNT/merged"
	}
	grep -qw overlay /proc/filesystems || skip "overlayfs is missing"
	with_fs ext4 128M -- body
}

@test "XFS: two containers in four ways have the same bytes as on ext4" {
	need mkfs.xfs xfsprogs
	body() { measure_matrix "$IOT_MNT"; }
	with_fs xfs 320M -- body
}

@test "btrfs: two containers in four ways have the same bytes as on ext4" {
	need mkfs.btrfs btrfs-progs
	body() { measure_matrix "$IOT_MNT"; }
	with_fs btrfs 256M -- body
}

# Bytes of the device in the group's own file, since the group was made: rbytes and wbytes.
charged() { # GROUP
	awk -v dev="$IOT_DEVNO" '$1 == dev { sub("rbytes=", "", $2); sub("wbytes=", "", $3); print $2, $3 }' "$two/$1/io.stat"
}

# Row of the report: COLUMN... of a group, by name.
row() { # GROUP COLUMN...
	"$analyze" groups run.sqlite --format tsv | awk -F'\t' -v group="$1" -v names="${*:2}" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = split(names, name, " ") }
		$1 == group { for (i = 1; i <= n; i++) printf "%s%s", $at[name[i]], i < n ? " " : "\n" }'
}

# 4 MiB that their writer syncs, 3 MiB past the cache, 2 MiB that a sync writes back; then a group that goes, and one that comes again.
charge() {
	in_group_run "$two/$top/demo.slice/x.service" dd if=/dev/zero of="$IOT_MNT/a" bs=1M count=4 conv=fsync status=none
	in_group_run "$two/$top/other.service" dd if=/dev/zero of="$IOT_MNT/b" bs=1M count=3 oflag=direct status=none
	in_group_run "$two/$top/leaf.slice" dd if=/dev/zero of="$IOT_MNT/c" bs=1M count=2 status=none
	sync -f "$IOT_MNT"
	rmdir "$two/$top/demo.slice/x.service" "$two/$top/other.service"
	mkdir "$two/$top/other.service"
}

in_group_run() { # FOLDER COMMAND...
	# shellcheck disable=SC2016 # the inner shell's
	bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$@"
}

io_controller() {
	grep -qw io "$two/cgroup.controllers" || skip "controller io of version 2 is missing here: a guest has it (tests/machine/vm.bats)"
	echo "+io +memory" >"$two/cgroup.subtree_control"
	echo "+io +memory" >"$two/$top/cgroup.subtree_control"
	echo "+io +memory" >"$two/$top/demo.slice/cgroup.subtree_control"
}

@test "guest: io.stat is beside P: 9 MiB of data, no journal; n/a of a group that went" {
	io_controller
	mkdir "$two/$top/leaf.slice"
	body() {
		record charge --cgroup "/$top"
		same "as the kernel has it" "$(row "/$top/leaf.slice" io_stat_r io_stat)" "$(charged "$top/leaf.slice")"
		same "written back" "$(row "/$top/leaf.slice" S io_stat note)" "$((2 << 20)) $((2 << 20)) "
		same "that went" "$(row "/$top/demo.slice/x.service" S io_stat note)" \
			"$((4 << 20)) n/a the control group was removed before the end of the run: the one above has what was charged to it"
		same "above it" "$(row "/$top/demo.slice" S io_stat)" "$((4 << 20)) $((4 << 20))"
		same "that came again" "$(row "/$top/other.service" S io_stat note)" \
			"$((3 << 20)) n/a the control group was removed and made again in the run: the counters are those of the last one"
		same "all" "$(row "/$top" S io_stat)" "$((9 << 20)) $((9 << 20))"
		same "what differs" "$(row "/$top" difference)" "-$(row "/$top" journal)"
		[ "$(row "/$top" journal)" -gt 0 ]
		"$analyze" verify run.sqlite
	}
	with_fs ext4 64M -- body
}

@test "without controller io of version 2 io.stat is n/a, with the reason" {
	! grep -qw io "$two/cgroup.controllers" || skip "a kernel without controller io of version 2 is missing"
	record work --cgroup "/$top"
	same "S and note" "$(row "/$top/demo.slice/x.service" S io_stat note)" \
		"50021 n/a version 2 of control groups, which has io.stat, is not mounted here with controller io"
	same "with what is below" "$(row "/$top" S)" 57034
	run -2 "$analyze" groups run.sqlite --by container
	[[ "$output" == *"groups has a line a cgroup"*"breakdown STORE --by container"* ]]
}

@test "of a store of before io.stat is n/a: it has no counters of control groups" {
	sqlite3 run.sqlite <"$BATS_TEST_DIRNAME/../fixtures/format4.sql"
	run -0 "$analyze" groups run.sqlite --format csv
	[[ "$output" == *,n/a,*"recorded by an older version, or merged"* ]]
	empty "known" "$("$analyze" groups run.sqlite --format csv --where io_stat'>'=0 | sed 1d)"
}

# Writes, is renamed while it does, and goes on.
renamed() {
	mkdir "$one/$top"
	in_group_run "$one/$top" sh -c 'head -c 5003 /dev/zero >a; while [ ! -e go ]; do sleep 0.05; done; head -c 6007 /dev/zero >>a' &
	while [ "$(stat -c %s a 2>/dev/null)" != 5003 ]; do sleep 0.05; done
	mv "$one/$top" "$one/$top-new"
	touch go
	wait $!
	rmdir "$one/$top-new"
}

@test "a version 1 control group renamed while it writes is one line: 11010 bytes" {
	[ -n "$one" ] || skip "the memory controller of version 1 is missing"
	record renamed
	[ "$(sqlite3 run.sqlite "SELECT COUNT(DISTINCT p.cgroup), SUM(i.write_bytes) FROM file_io i JOIN file f ON f.id = i.file AND f.path = '$PWD/a' JOIN process p ON p.id = i.owner")" = "1|11010" ]
	"$analyze" verify run.sqlite
}

# A container that ends in the run, as docker run --rm: its group goes with it. It is there for as long as it takes to look for its path.
ended() {
	mkdir "$two/$top/lxc.payload.web-1"
	in_group_run "$two/$top/lxc.payload.web-1" sh -c 'head -c 4001 /dev/zero >a; sleep 1'
	rmdir "$two/$top/lxc.payload.web-1"
}

@test "a container that begins and ends in the run has its name and its bytes" {
	record ended
	[ "$("$analyze" amplification run.sqlite --by container --table summary --format tsv | awk -F'\t' '$2 == "web-1" { print $4 }')" = 4001 ]
	[ "$(row "/$top/lxc.payload.web-1" container S io_stat)" = "web-1 4001 n/a" ]
}

@test "--container takes whole names, or first digits of one id; else it lists them" {
	local a b

	a=$(printf 'abcd%060d' 1) b=$(printf 'abcd%060d' 2)
	mkdir "$two/$top"/lxc.payload.web-{1,2} "$two/$top"/docker-{"$a","$b"}.scope
	run -2 "$trace" --container web
	[[ "$output" == *"no container 'web' runs here; there are "*"web-1"*"web-2"* || "$output" == *"web-2"*"web-1"* ]]
	run -2 "$trace" --container abcd
	[[ "$output" == *"the ids of several containers begin with 'abcd'"*"$a"* ]]
	run -0 "$trace" -q --container "$a" -d 1 -o run.sqlite
	rm run.sqlite
	record ended_web --container web-1
	[ "$(lines cgroup | grep -c other.service)" = 0 ]
	[ "$("$analyze" amplification run.sqlite --by container --table summary --format tsv | awk -F'\t' '$2 ~ /^web/ { print $2, $4 }')" = "web-1 4001" ]
	rmdir "$two/$top"/lxc.payload.web-{1,2} "$two/$top"/docker-{"$a","$b"}.scope
}

ended_web() {
	in_group "$two/$top/lxc.payload.web-1" a 4001
	in_group "$two/$top/lxc.payload.web-2" b 3001
	in_group "$two/$top/other.service" c 7013
}

@test "what is not there is a usage error that names what there is" {
	run -2 "$trace" --unit no-such-unit
	[[ "$output" == *"no unit 'no-such-unit' runs here; there"*"x.service"* ]]
	run -2 "$trace" --container no-such-container
	[[ "$output" == *"no container 'no-such-container' runs here"* ]]
	run -2 "$trace" --cgroup /no/such/group
	[[ "$output" == *"there is no control group '/no/such/group' below "* ]]
	run -2 "$trace" --unit ''
	[[ "$output" == *"must not be empty"* ]]
}
