#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# groups.bats - containers, control groups, units and users: whose bytes are whose, also of a process that moves, in each line and each filter.
# The groups are made by hand where runtimes make theirs: no runtime has to be there.

bats_require_minimum_version 1.5.0
load helper

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

	for g in "$two/$top/docker-$id.scope" "$two/$top"/demo.slice/x.service "$two/$top"/{demo.slice,other.service} "$two/$top" ${one:+"$one/docker/$id"}; do
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

@test "50021 and 7013 bytes are of the groups and units that wrote them, also of processes that lived a moment" {
	record work --cgroup "/$top"
	[ "$(lines cgroup)" = "/$top/demo.slice/x.service 50021
/$top/other.service 7013" ]
	[ "$(lines unit)" = "other.service 7013
x.service 50021" ]
	"$analyze" verify run.sqlite
}

@test "a filter holds for a group and all below it, for a unit with or without .service, and for nobody else" {
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

@test "a process that moves is counted where it was: 3001 bytes in one group, 7001 and 1009 in the next, W and B too" {
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

# A process with 4 threads that write in turns with whoever moves it, which it is told by its input.
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

@test "all threads of a process move with it: 403600 bytes of four in one group, 801200 in the other" {
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

@test "a container is one line and one filter, in version 2 and by the memory controller of version 1" {
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
