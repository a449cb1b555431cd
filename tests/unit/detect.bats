#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# detect.bats - detection of storage systems: rules, processes, threads, files, real servers, hostile input. No tracing here.

load ../lib/build

setup_file() { built tests/detect tests/detect-asan; }

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	detect=$IOT_BUILD/tests/detect
	asan=$IOT_BUILD/tests/detect-asan
	T=$BATS_TEST_TMPDIR
	pids=()
}

teardown() {
	local p
	for p in "${pids[@]}"; do
		kill -TERM "$p" 2>/dev/null || true
	done
	for p in "${pids[@]}"; do
		wait_gone "$p"
	done
}

alive() { [ -d "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }

wait_gone() {
	local i
	for i in {1..100}; do
		alive "$1" || return 0
		sleep 0.1
	done
	kill -KILL "$1" 2>/dev/null || true
}

# Waits until a command succeeds, 10 s at most.
wait_for() {
	local i
	for i in {1..100}; do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	echo "waited in vain for: $*" >&2
	return 1
}

# A real server is installed where it is missing, as the workloads do; else the test is skipped with the reason.
server() { # COMMAND PACKAGE...
	local status=0 said

	said=$(
		say() { echo "$*"; }
		. "$BATS_TEST_DIRNAME/../../workloads/packages.bash"
		need "$@"
	) || status=$?
	[ $status = 0 ] || skip "${said##*skipped: }"
}

needs() {
	local c
	for c; do
		command -v "$c" >/dev/null || skip "$c is not installed"
	done
}

# entry JSON...: a rule file with these entries
rules() {
	local IFS=,
	printf '{"systems":[%s]}' "$*" >"$T/rules.json"
}

entry() { printf '{"name":"%s","title":"x","tested":false%s}' "$1" "${2:+,$2}"; }

# refused TEXT: the rule file is refused with exactly one line that holds TEXT
refused() {
	run timeout 20 "$asan" rules "$T/rules.json"
	echo "$output"
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 1 ]
	[[ "$output" == *"$T/rules.json"*"$1"* ]]
}

# system, role, evidence and sureness of a running process
ident() { "$detect" ident "$1" | cut -f1-4; }

@test "recorded processes of every system are recognised with role and evidence" {
	run "$detect" processes tests/fixtures/processes.tsv
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "threads tell the role and, inside BlueStore and RocksDB, the component" {
	run "$detect" threads tests/fixtures/threads.tsv
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "a substring match on the thread's name misses GlusterFS, Ceph, half of RocksDB" {
	run "$detect" bytes tests/fixtures/thread-bytes.tsv
	echo "$output"
	[ "${lines[0]}" = "gluster all 52789248 substring 0 iot 52789248" ]
	[ "${lines[1]}" = "ceph all 230 substring 0 iot 230" ]
	[ "${lines[2]}" = "rocksdb all 115470473 substring 62248837 iot 115470473" ]
	[ "${lines[3]}" = "redis all 5660672 substring 0 iot 5660672" ]
}

@test "all fifteen systems are there and say whether they were ever run" {
	run "$detect" rules
	[ "$(cut -f1 <<<"$output" | tr '\n' ' ')" = "minio ceph etcd postgresql gluster mariadb redis leveldb rocksdb sqlite mongodb cassandra elasticsearch kafka clickhouse " ]
	[ "$(grep -c 'never run' <<<"$output")" -eq 5 ]
	[ "$("$detect" name postgres)" = postgresql ]
	[ "$("$detect" name valkey)" = redis ]
	[ "$("$detect" name postgre)" = - ]
}

@test "a workload calls its system what reports call it, not by an alias" {
	local script name
	for script in $(grep -l '^system_main ' workloads/*.sh); do
		name=$(sed -nE 's/^SYSTEM=([a-z]+)( NAME=([a-z]+))?( .*)?$/\3 \1/p' "$script" | awk '{ print $1 }')
		[ -n "$name" ]
		[[ " $name - " == *" $("$detect" name "$name") "* ]] || { echo "$script: $name is an alias"; return 1; }
	done
}

@test "every rule that the manual describes is a key, and every key is in the manual" {
	local key
	for key in $(grep -oE '(OPT|REQ)\([a-z_]+, KEY_[A-Z]+, [a-z]+\)|NOT\([a-z_]+, [a-z]+,|LIST\([a-z]+,' tracer/process/systems/keys.c | sed -E 's/.*[ (]([a-z]+)[),].*/\1/'); do
		grep -qE "^\.B \"?$key" tracer/iot-systems.5 || { echo "iot-systems.5 does not describe $key"; return 1; }
	done
	for key in $(sed -nE 's/^COMPONENT\([A-Z]+, *"([a-z]+)".*/\1/p' stream/components.def); do
		grep -q "^\.B $key\$" tracer/iot-systems.5 || { echo "iot-systems.5 does not describe component $key"; return 1; }
	done
}

@test "patterns: stars stop at a slash, double stars do not, classes count" {
	[ "$("$detect" pattern '*a' 'xa')" = yes ]
	[ "$("$detect" pattern '*a' 'x/a')" = no ]
	[ "$("$detect" pattern '**a' 'x/a')" = yes ]
	[ "$("$detect" pattern 'a/**/b' 'a/b')" = yes ]
	[ "$("$detect" pattern 'a/**/b' 'a/x/y/b')" = yes ]
	[ "$("$detect" pattern 'a/**/b' 'a/xb')" = no ]
	[ "$("$detect" pattern '**/b' 'xb')" = no ]
	[ "$("$detect" pattern '?[!a-c]\*' 'xd*')" = yes ]
	[ "$("$detect" pattern '?[!a-c]\*' 'xb*')" = no ]
	[ "$("$detect" pattern '[]-]x' ']x')" = yes ]
	[ "$("$detect" pattern '{hex:24}' 0000000100000000000000AB)" = yes ]
	[ "$("$detect" pattern '{hex:24}' 0000000100000000000000A)" = no ]
	[ "$("$detect" pattern '{uuid}x{digits}/p' 01234567-89ab-cdef-0123-456789abcdefx12/p)" = yes ]
	[ "$("$detect" pattern '{uuid}x{digits}/p' 01234567-89ab-cdef-0123-456789abcdefx/p)" = no ]
}

@test "a pattern that makes a backtracking matcher run for years ends at once" {
	local p s
	p=$(printf '**a%.0s' {1..80})
	s=$(printf 'a%.0s' {1..4000})
	run timeout 20 "$asan" pattern "${p}b" "$s"
	[ "$output" = no ]
	run timeout 20 "$asan" pattern "$p" "$s"
	[ "$output" = yes ]
}

@test "container ids come from cgroup paths of docker, containerd, cri-o, podman, lxc" {
	local id
	id=$(printf 'ab%.0s' {1..32})
	for g in "/docker/$id" "/system.slice/docker-$id.scope" "/kubepods.slice/kubepods-pod1.slice/cri-containerd-$id.scope" \
		"/x/ceph-f@osd.0.service/libpod-payload-$id" \
		"/kubepods/besteffort/pod1/$id" "/machine.slice/libpod-$id.scope/container" "/x/crio-$id.scope"; do
		[ "$("$detect" container "$g")" = "$id" ]
	done
	for g in "/system.slice/nerdctl-$id.scope" "/kubepods/pod1/crio-$id" "/libpod_parent/libpod-$id"; do
		[ "$("$detect" container "$g")" = "$id" ]
	done
	[ "$("$detect" container /lxc.payload.web/system.slice)" = web ]
	[ "$("$detect" container /lxc/101/ns/system.slice)" = 101 ] # Proxmox VE
	[ "$("$detect" container /lxc.payload/web/init.scope)" = web ]
	[ "$("$detect" container /lxc)" = none ]
	[ "$("$detect" container /lxc.monitor.web)" = none ]
	[ "$("$detect" container "/lxc.payload.web/docker/$id")" = "$id" ]
	[ "$("$detect" container /machine.slice/machine-db.scope)" = db ]
	[ "$("$detect" container /system.slice/etcd.service)" = none ]
	[ "$("$detect" container "/docker/${id}0")" = none ]
}

@test "the name of a container is taken from what docker and podman keep" {
	local id d=$T/var/lib/docker/containers p=$T/var/lib/containers/storage/overlay-containers
	id=$(printf 'ab%.0s' {1..32})
	[ "$("$asan" container-name "$T" "$id")" = none ]
	mkdir -p "$p" "$d/$id"
	echo '[{"id":"x"},{"id":"'"$id"'","names":["pod"]}]' >"$p/containers.json"
	[ "$("$asan" container-name "$T" "$id")" = pod ]
	echo '{"Name":"/web","State":{}}' >"$d/$id/config.v2.json"
	[ "$("$asan" container-name "$T" "$id")" = web ]
	echo '[[[' >"$d/$id/config.v2.json"
	[ "$("$asan" container-name "$T" "$id")" = pod ]
	[ "$("$asan" container-name "$T" ../../x)" = none ]
}

# --- files ---

# expect SYSTEM COMPONENT ENGINE ROOT EVIDENCE, of line $1
line_is() {
	local want
	want=$(printf '%s\t%s\t%s\t%s\t%s' "${@:2}")
	[ "${lines[$1]}" = "$want" ] || { echo "line $1: ${lines[$1]}, want $want"; return 1; }
}

@test "PostgreSQL: two clusters are told apart; a database folder is no cluster" {
	mkdir -p "$T"/{a,b}/{base/5,global,pg_wal}
	touch "$T"/{a,b}/PG_VERSION "$T"/{a,b}/base/5/PG_VERSION
	run "$asan" file none "$T/a/base/5/16388.1" "$T/b/base/5/16388" "$T/a/base/5/16388_fsm" "$T/b/pg_wal/0000000100000000000000AB" \
		"$T/a/pg_wal/xlogtemp.31 (deleted)" "$T/a/base/pgsql_tmp/pgsql_tmp7.0" "$T/a/base/5/t3_16390" "$T/a/global/pg_control" /ts/PG_15_202209061/5/16388
	line_is 0 postgresql data - "$T/a" root
	line_is 1 postgresql data - "$T/b" root
	line_is 2 postgresql metadata - "$T/a" root
	line_is 3 postgresql wal - "$T/b" root
	line_is 4 postgresql wal - "$T/a" root
	line_is 5 postgresql temp - "$T/a" root
	line_is 6 postgresql temp - "$T/a" root
	line_is 7 postgresql metadata - "$T/a" root
	line_is 8 postgresql data - /ts layout
}

@test "MinIO: an object keeps its component through the rename; xl.meta may be inline" {
	local u=01234567-89ab-cdef-0123-456789abcdef v=fedcba98-89ab-cdef-0123-456789abcdef h
	h=$(printf 'ab%.0s' {1..32})
	mkdir -p "$T/d/.minio.sys"
	touch "$T/d/.minio.sys/format.json"
	run "$asan" file minio:server "$T/d/.minio.sys/tmp/$u/$v/part.1" "$T/d/bucket/key/$v/part.1" "$T/d/.minio.sys/tmp/$u/xl.meta" \
		"$T/d/bucket/key/xl.meta" "$T/d/.minio.sys/tmp/$v/xl.meta" "$T/d/bucket/small/xl.meta" \
		"$T/d/.minio.sys/multipart/$h/${u}x17/$v/part.3" "$T/d/.minio.sys/multipart/$h/${u}x17/$v/part.3.meta" \
		"$T/d/.minio.sys/buckets/b/.usage-cache.bin/xl.meta" "$T/d/.minio.sys/tmp/$v" /gone/.minio.sys/tmp/$v/xl.meta
	line_is 0 minio object - "$T/d" root
	line_is 1 minio object - "$T/d" root
	line_is 2 minio metadata - "$T/d" root
	line_is 3 minio metadata - "$T/d" root
	line_is 4 minio inline - "$T/d" root
	line_is 5 minio inline - "$T/d" root
	line_is 6 minio object - "$T/d" root
	line_is 7 minio metadata - "$T/d" root
	line_is 8 minio heal - "$T/d" root
	line_is 9 minio temp - "$T/d" root
	line_is 10 minio inline - /gone layout
}

@test "etcd: segments, the tree, a defragmentation, its rename, a log folder elsewhere" {
	mkdir -p "$T"/e/member/{wal,snap}
	run "$asan" file etcd:server "$T/e/member/wal/0000000000000001-000000000000a1b2.wal" "$T/e/member/wal/1.tmp" "$T/e/member/snap/db.tmp.8812" \
		"$T/e/member/snap/db" "$T/e/member/snap/0000000000000002-0000000000000005.snap" /ssd/0000000000000001-000000000000a1b2.wal /ssd/other
	line_is 0 etcd wal - "$T/e" root
	line_is 1 etcd wal - "$T/e" root
	line_is 2 etcd compaction - "$T/e" root
	line_is 3 etcd data - "$T/e" root
	line_is 4 etcd snapshot - "$T/e" root
	line_is 5 etcd wal - - user
	line_is 6 - - - - -
}

@test "Ceph: a monitor's store is Ceph's and RocksDB's; an OSD's device needs an OSD" {
	mkdir -p "$T/mon/store.db"
	touch "$T"/mon/{kv_backend,store.db/CURRENT,store.db/IDENTITY}
	run "$asan" file ceph-mon:mon "$T/mon/store.db/000012.log" "$T/mon/store.db/000013.sst" /dev/loop5
	line_is 0 ceph wal rocksdb "$T/mon" root
	line_is 1 ceph data rocksdb "$T/mon" root
	line_is 2 - - - - -
	run "$asan" file ceph-osd:osd /dev/loop5
	line_is 0 ceph object - - user
}

@test "GlusterFS: a brick is known by its attribute; hard-link reads are object bytes" {
	needs setfattr
	mkdir -p "$T/brick"
	setfattr -n trusted.glusterfs.volume-id -v 0x0123456789abcdef0123456789abcdef "$T/brick" || skip "trusted.* attributes cannot be set here"
	run "$asan" file glusterfsd:brick "$T/brick/dir/f" "$T/brick/.glusterfs/ab/cd/01234567-89ab-cdef-0123-456789abcdef" "$T/brick/.glusterfs/indices/xattrop/x" \
		"$T/brick/.glusterfs/brick.db"
	line_is 0 gluster object - "$T/brick" root
	line_is 1 gluster object - "$T/brick" root
	line_is 2 gluster heal - "$T/brick" root
	line_is 3 gluster metadata - "$T/brick" root
}

@test "MariaDB and Redis: redo, binlog, undo, tables, append-only files, their rewrite" {
	mkdir -p "$T/m/mysql" "$T/r/appendonlydir"
	touch "$T/m/ibdata1"
	run "$asan" file none "$T/m/ib_logfile0" "$T/m/ibdata1" "$T/m/shop/t.ibd" "$T/m/binlog.000001" "$T/m/shop/#sql-alter-1.ibd" "$T/m/mysql/x.MAI" \
		"$T/r/appendonlydir/appendonly.aof.1.incr.aof" "$T/r/temp-rewriteaof-bg-12.aof" "$T/r/appendonlydir/appendonly.aof.2.base.rdb" "$T/r/dump.rdb"
	[ "$(cut -f1,2 <<<"$output" | tr '\t\n' '  ')" = "mariadb wal mariadb undo mariadb data mariadb binlog mariadb temp mariadb index redis wal redis compaction redis snapshot redis snapshot " ]
}

@test "engines are known by their files: RocksDB, LevelDB, and SQLite by its companions" {
	mkdir -p "$T/rocks" "$T/level"
	touch "$T"/rocks/{CURRENT,IDENTITY,LOCK} "$T"/level/{CURRENT,LOCK} "$T"/{a,b,c}.db "$T/a.db-wal"
	run "$asan" file none "$T/rocks/000012.log" "$T/rocks/000013.sst" "$T/level/000003.log" "$T/level/000005.ldb" "$T/a.db" "$T/a.db-wal" "$T/b.db" \
		"$T/b.db-journal" "$T/b.db" "$T/c.db" "$T/none-wal"
	line_is 0 rocksdb wal rocksdb "$T/rocks" root
	line_is 1 rocksdb data rocksdb "$T/rocks" root
	line_is 2 leveldb wal leveldb "$T/level" root
	line_is 3 leveldb data leveldb "$T/level" root
	line_is 4 sqlite data sqlite "$T/a.db" sibling
	line_is 5 sqlite wal sqlite "$T/a.db" sibling
	line_is 6 - - - - -
	line_is 7 sqlite undo sqlite "$T/b.db" sibling
	line_is 8 sqlite data sqlite "$T/b.db" sibling
	line_is 9 - - - - -
	line_is 10 - - - - -
}

@test "a data root in another mount namespace is found through the process that uses it" {
	needs unshare
	mkdir "$T/m"
	unshare -m sh -c 'mount -t tmpfs none "$1/m" && mkdir "$1/m/base" "$1/m/global" && touch "$1/m/PG_VERSION" "$1/m/ready" && exec sleep 60' sh "$T" &
	pids+=($!)
	wait_for test -e "/proc/$!/root$T/m/ready" || skip "no mount namespaces here"
	run "$asan" file "none@$!" "$T/m/pg_xyz/f"
	line_is 0 postgresql metadata - "$T/m" root
	run "$asan" file none "$T/m/pg_xyz/f"
	line_is 0 - - - - -
}

@test "a FUSE file system that never answers is not touched" {
	needs python3
	[ -c /dev/fuse ] || skip "/dev/fuse is not there"
	mkdir "$T/hung" "$T/base" "$T/global"
	touch "$T/PG_VERSION"
	python3 -c '
import ctypes, os, sys, time
fd = os.open("/dev/fuse", os.O_RDWR)
options = "fd=%d,rootmode=40000,user_id=0,group_id=0" % fd
if ctypes.CDLL(None).mount(b"hung", sys.argv[1].encode(), b"fuse", 0, options.encode()):
    sys.exit(1)
open(sys.argv[2], "w").close()
time.sleep(60)' "$T/hung" "$T/ready" &
	pids+=($!)
	wait_for test -e "$T/ready" || skip "FUSE cannot be mounted here"
	run timeout -s KILL 20 "$detect" file none "$T/hung/base/f" "$T/hung/x-wal" "$T/base/1/2"
	kill "$!"
	wait_gone "$!"
	umount -l "$T/hung"
	echo "$output"
	[ "$status" -eq 0 ]
	line_is 2 postgresql data - "$T" root
}

@test "twenty thousand paths of 4000 bytes fit into 64 MB" {
	if grep -q __asan_init "$detect"; then skip "a build without sanitizers is missing: they take address space"; fi
	run bash -c 'ulimit -v 65536 && timeout 120 "$1" flood 20000' sh "$detect"
	[ "$output" = "20000 paths" ]
}

@test "a data root made later is found, and one that is gone gives way to its successor" {
	mkdir -p "$T/d"
	run "$asan" file none "$T/d/000001.log" "touch:$T/d/CURRENT" "touch:$T/d/LOCK" sleep:2 "$T/d/000001.log"
	line_is 0 - - - - -
	line_is 1 leveldb wal leveldb "$T/d" root
	run "$asan" file none "$T/d/000001.log" "touch:$T/d/IDENTITY" sleep:11 "$T/d/000001.log"
	line_is 0 leveldb wal leveldb "$T/d" root
	line_is 1 rocksdb wal rocksdb "$T/d" root
}

# --- rule files ---

@test "a rule file adds a system, and replaces one of the same name" {
	rules "$(entry mystore '"processes":[{"name":"mystored","role":"server"}]')" "$(entry redis)"
	run "$asan" rules "$T/rules.json"
	[ "$status" -eq 0 ]
	grep -qP "^mystore\tx\tnever run\t$T/rules.json$" <<<"$output"
	grep -qP "^redis\tx\tnever run" <<<"$output"
	[ "${#lines[@]}" -eq 16 ]
}

@test "a wrong, missing or double key names the rules' file, entry and key" {
	local marker
	rules "$(entry a '"colour":1')"
	refused "system 'a': colour: unknown key"
	rules "$(entry a '"files":[{"path":"x","component":"wal","colour":1}]')"
	refused "system 'a': files[0].colour: unknown key"
	rules "$(entry a '"processes":{"name":"x"}')"
	refused "system 'a': processes: wants a list, not an object"
	rules "$(entry a '"processes":[{"name":[1],"role":"x"}]')"
	refused "system 'a': processes[0].name: wants text in its list, not a number"
	rules "$(entry a '"files":[{"path":"x"}]')"
	refused "system 'a': files[0]: the key \"component\" is missing"
	rules "$(entry a '"files":[{"path":"x","component":"wall"}]')"
	refused "system 'a': files[0].component: \"wall\" is no component"
	rules "$(entry a '"engine":true,"engine":true')"
	refused "system 'a': engine: the key is given twice"
	rules "$(entry a '"processes":[{"name":"x","role":"y","tested":"no"}]')"
	refused "system 'a': processes[0].tested: wants true or false, not text"
	rules '{"title":"x","tested":true}'
	refused "system number 1: the key \"name\" is missing"
	rules 7
	refused "system number 1: a system is an object, not a number"
	rules "$(entry 'A B')"
	refused "name: \"A B\" is no name"
	rules "$(entry a '"aliases":"postgres"')"
	refused "the name \"postgres\" already belongs to system postgresql"
	rules "$(entry a)" "$(entry b)" "$(entry a '"engine":true')"
	refused "system 'a': the file holds two systems of this name"
	for marker in ../x a/../b .. '!../x' /x xattr: ''; do
		rules "$(entry a "\"roots\":[{\"all\":[\"ok\",\"$marker\"]}]")"
		refused "system 'a': roots[0]: marker \"$marker\" is no path below the root"
	done
	rules "$(entry a '"roots":[{"all":["..x","x../","!y","xattr:user.a","a/b"]}]')"
	"$asan" rules "$T/rules.json"
}

@test "malformed JSON is refused with line and column; no control character passes" {
	printf '{"systems":[\n{"name":"a",}\n]}' >"$T/rules.json"
	refused "near line 2, column 1"
	: >"$T/rules.json"
	refused "line 1, column 1: not JSON"
	printf '{"systems":[]} x' >"$T/rules.json"
	refused "line 1, column 16: not JSON"
	head -c 300000 /dev/zero | tr '\0' '[' >"$T/rules.json"
	refused "not JSON"
	printf '{"systems":[{"name":"a","title":"\\u0000"}]}' >"$T/rules.json"
	refused "NUL"
	rules "$(entry a '"\u001b[31mred":1')"
	refused '\x1b[31mred: unknown key'
	printf '[]' >"$T/rules.json"
	refused 'wants an object with the key "systems", not a list'
}

@test "bad patterns are refused, and say why" {
	local p
	for p in '[a' '{nope}' '***' 'a\\' '[z-a]' '{hex:999}' ''; do
		rules "$(entry a "\"files\":[{\"path\":\"$p\",\"component\":\"wal\"}]")"
		refused "system 'a': files[0].path: pattern"
	done
}

@test "a million entries, 100 MB, a folder, a FIFO or no file end at once with one line" {
	python3 -c 'print("{\"systems\":[" + ",".join(["1"] * 300000) + "]}")' >"$T/rules.json"
	refused 'more than 256 entries'
	python3 -c 'print("{\"systems\":[{\"name\":\"a\",\"title\":\"x\",\"tested\":true,\"files\":[" + ",".join(["1"] * 300000) + "]}]}")' >"$T/rules.json"
	refused 'files: has more than 512 elements'
	python3 -c 'print("{\"systems\":[" + ",".join("{\"name\":\"a%d\",\"title\":\"x\",\"tested\":true}" % i for i in range(1000000)) + "]}")' >"$T/rules.json"
	refused 'larger than 1 MiB'
	truncate -s 100M "$T/rules.json"
	refused 'larger than 1 MiB'
	rm "$T/rules.json"
	refused 'cannot read: No such file'
	mkdir "$T/rules.json"
	refused 'cannot read: not a regular file'
	rmdir "$T/rules.json"
	mkfifo "$T/rules.json"
	refused 'cannot read: not a regular file'
}

@test "patterns that are many and long are refused before they cost memory or time" {
	python3 -c '
import json
f = [{"path": ["{hex:250}" + str(i)] * 1, "component": "wal"} for i in range(400)]
print(json.dumps({"systems": [{"name": "a", "title": "x", "tested": True, "files": f}]}))' >"$T/rules.json"
	refused 'all systems together may have 65536 states'
}

@test "damaged rules, scribbled names and paths crash nothing under sanitizers" {
	for seed in 1 ${IOT_LONG:+2 3}; do
		run timeout 120 "$asan" fuzz "$seed" 1500
		[ "$status" -eq 0 ] || { tail -5 <<<"$output"; return 1; }
		[[ "$output" == *"1500 rounds" ]]
	done
}

# --- real processes ---

# program_of SYSTEM FROM TO: a copy of a program that holds what only the system's own programs hold
program_of() {
	needs objcopy
	case $1 in
	ceph) printf 'libceph-common.so' ;;
	redis) printf 'rdbSaveBackground' ;;
	postgresql) printf 'PostmasterMain' ;;
	etcd) printf 'path\tgo.etcd.io/etcd\n' ;;
	esac >"$T/mark"
	objcopy --add-section ".go.buildinfo=$T/mark" "$(readlink -f "$(command -v "$2")")" "$3"
}

@test "a process that only calls itself ceph-osd is a claim; a program of Ceph is none" {
	(exec -a ceph-osd sleep 60) &
	pids+=($!)
	wait_for grep -q ceph-osd "/proc/$!/cmdline"
	[ "$(ident $!)" = "$(printf 'ceph\tosd\targv\tclaim')" ]
	[[ "$("$detect" ident $!)" == *'says it is Ceph: argv[0] "ceph-osd"; not confirmed: program '*'is not Ceph'* ]]
	cp "$(readlink -f "$(command -v sleep)")" "$T/ceph-osd"
	"$T/ceph-osd" 60 &
	pids+=($!)
	wait_for grep -q ceph-osd "/proc/$!/cmdline"
	[ "$(ident $!)" = "$(printf 'ceph\tosd\tcomm\tclaim')" ]
	run "$detect" list
	echo "$output"
	[ "$(grep -cE "^[0-9]+ +\(ceph\) +\(osd\) +claim +says it is Ceph" <<<"$output")" -eq 2 ]
	[ "$(grep -cE "^[0-9]+ +ceph " <<<"$output")" -eq 0 ]
	program_of ceph sleep "$T/ceph-mon"
	"$T/ceph-mon" 60 &
	pids+=($!)
	wait_for grep -q ceph-mon "/proc/$!/cmdline"
	[ "$(ident $!)" = "$(printf 'ceph\tmon\tcomm\tprogram')" ]
	[[ "$("$detect" ident $!)" == *"program $T/ceph-mon"* ]]
}

@test "a title of PostgreSQL with a folder like a cluster is a claim; its program not" {
	mkdir -p "$T"/pg/{base/1,global}
	touch "$T/pg/PG_VERSION" "$T/pg/base/1/1"
	(exec -a "postgres: alice shop [local] INSERT" sleep 60) 3<>"$T/pg/base/1/1" &
	pids+=($!)
	wait_for grep -q alice "/proc/$!/cmdline"
	run "$detect" list
	echo "$output"
	grep -qE "^$! +\(postgresql\) +\(backend\) +claim +says it is PostgreSQL: argv\[0\] " <<<"$output"
	program_of postgresql sleep "$T/kept"
	"$T/kept" 60 3<>"$T/pg/base/1/1" &
	pids+=($!)
	wait_for grep -q kept "/proc/$!/cmdline"
	run "$detect" list
	echo "$output"
	grep -qE "^$! +postgresql +postmaster +files +uses PostgreSQL files in $T/pg$" <<<"$output"
}

@test "a server cannot hide behind the name of a client or of another server" {
	program_of redis sleep "$T/redis-server"
	for name in psql ceph-osd; do
		(exec -a $name "$T/redis-server" 60) &
		pids+=($!)
		wait_for grep -q $name "/proc/$!/cmdline"
		[ "$(ident $!)" = "$(printf 'redis\tserver\tcomm\tprogram')" ]
	done
	# whatever the program is called: a client is one by its program, not by what it says
	mv "$T/redis-server" "$T/kept"
	(exec -a psql "$T/kept" 60) &
	pids+=($!)
	wait_for grep -q psql "/proc/$!/cmdline"
	[ "$("$detect" ident $! | cut -f5)" = - ]
}

@test "a script of a server's name is a claim; that name as an argument is nothing" {
	printf '#!/bin/sh\nsleep 60 & trap "kill $!" TERM\nwait\n' >"$T/etcd"
	chmod +x "$T/etcd"
	"$T/etcd" &
	pids+=($!)
	wait_for grep -q etcd "/proc/$!/comm"
	[ "$(ident $!)" = "$(printf 'etcd\tserver\tcomm\tclaim')" ]
	[[ "$("$detect" ident $!)" == *"it is run by "* ]]
	tail -f "$T/etcd" /dev/null >/dev/null &
	pids+=($!)
	[ "$(ident $!)" = "$(printf -- '-\t-\t-\t-')" ]
}

@test "a server of several drives is named by all of them in one order (defect 36)" {
	local d
	mkdir -p "$T"/d{1,2,3}/.minio.sys/tmp
	for d in 1 2 3; do touch "$T/d$d/.minio.sys/format.json" "$T/d$d/.minio.sys/tmp/f"; done
	needs objcopy
	printf 'path\tgithub.com/minio/minio\n' >"$T/mark"
	objcopy --add-section ".go.buildinfo=$T/mark" "$(readlink -f "$(command -v awk)")" "$T/minio"
	mkfifo "$T/never"
	for d in 2 3 1; do
		"$T/minio" -v f="$T/never" 'BEGIN { getline < f }' server 3<>"$T/d$d/.minio.sys/tmp/f" 4<>"$T/d2/.minio.sys/tmp/f" "$T/d{1...3}" &
		pids+=($!)
		wait_for grep -q server "/proc/$!/cmdline"
	done
	run "$detect" list
	echo "$output"
	[ "$(grep -cE "^[0-9]+ +minio +server +files +.*; uses $T/d\{1,2,3\}$" <<<"$output")" -eq 3 ]
}

@test "a renamed OSD or monitor is Ceph's once it uses its data root, by any option" {
	local how i roles=(server osd osd mon mon)
	mkdir "$T/osd"
	touch "$T"/osd/{type,whoami,ceph_fsid}
	mkfifo "$T/never"
	program_of ceph awk "$T/storaged"
	for how in "--id 0" "-n osd.0" "--name osd.0" "-n mon.a" "--name mon.a"; do
		# shellcheck disable=SC2086
		"$T/storaged" -v f="$T/never" 'BEGIN { getline < f }' $how 3<>"$T/osd/whoami" &
		pids+=($!)
		wait_for grep -q storaged "/proc/$!/comm"
	done
	run "$detect" list
	echo "$output"
	for i in "${!roles[@]}"; do
		grep -qE "^${pids[i]} +ceph +${roles[i]} +files +arguments like those of the Ceph ${roles[i]}; program $T/storaged; uses $T/osd; rules from documentation, untested$" <<<"$output"
	done
}

@test "the list says how many threads of a server have which role" {
	needs python3
	printf '%s\n' 'import sys, threading, time
def name(tid, comm):
    open("/proc/self/task/%d/comm" % tid, "w").write(comm)
for comm in ["bio_aof", "bio_aof_fsync", "io_thd_1", "jemalloc_bg_thd", "io_thd_2", "x"]:
    thread = threading.Thread(target=time.sleep, args=(60,), daemon=True)
    thread.start()
    name(thread.native_id, comm)
open(sys.argv[1], "w").close()
time.sleep(60)' >"$T/threads.py"
	program_of redis "$(python3 -c 'import sys; print(sys.executable)')" "$T/redis-server"
	PYTHONHOME=$(python3 -c 'import sys; print(sys.prefix)') "$T/redis-server" "$T/threads.py" "$T/ready" &
	pids+=($!)
	wait_for test -e "$T/ready"
	run "$detect" list
	echo "$output"
	grep -A1 "^$! " <<<"$output" | grep -qxE " +threads: 2 aof-fsync, 2 network, 3 of no known role"
}

@test "etcd: real, renamed, wrapped, in its own namespaces; etcdctl is no server" {
	server etcd etcd-server
	local port=$((20000 + RANDOM % 10000)) n=0 how
	cp "$(command -v etcd)" "$T/kvstore"
	printf '#!/bin/sh\n%s "$@"\n' "$(command -v etcd)" >"$T/start.sh"
	chmod +x "$T/start.sh"
	for how in etcd "$T/kvstore" "unshare -n -C etcd"; do
		port=$((port + 2)) n=$((n + 1))
		GOMAXPROCS=1 setsid timeout 60 $how --data-dir "$T/e$n" --listen-client-urls "http://127.0.0.1:$port" \
			--advertise-client-urls "http://127.0.0.1:$port" --listen-peer-urls "http://127.0.0.1:$((port + 1))" \
			--initial-advertise-peer-urls "http://127.0.0.1:$((port + 1))" --initial-cluster "default=http://127.0.0.1:$((port + 1))" \
			>"$T/log$n" 2>&1 </dev/null &
		pids+=($!)
		wait_for test -e "$T/e$n/member/snap/db"
	done
	run "$detect" list
	echo "$output"
	grep -qE "^[0-9]+ +etcd +server +files +comm \"etcd\" and program [^ ]*etcd; uses $T/e1$" <<<"$output"
	grep -qE "^[0-9]+ +etcd +server +files +arguments like those of the etcd server; program $T/kvstore; uses $T/e2$" <<<"$output"
	grep -qE "^[0-9]+ +etcd +server +files +comm \"etcd\" and program [^ ]*etcd; uses $T/e3$" <<<"$output"
	[ "$(grep -c "$T/e" <<<"$output")" -eq 3 ]
}

@test "Redis: program redis-check-rdb, a saving child, a renamed server by its files" {
	server redis-server redis-server redis-tools
	local port=$((30000 + RANDOM % 10000)) server=
	mkdir -p "$T/r1" "$T/r2"
	redis-server --bind 127.0.0.1 --port "$port" --dir "$T/r1" --appendonly yes --save "" --rdb-key-save-delay 200000 >"$T/log1" 2>&1 </dev/null &
	server=$!
	pids+=($server)
	cp "$(readlink -f "$(command -v redis-server)")" "$T/cachestore"
	"$T/cachestore" --bind 127.0.0.1 --port "$((port + 1))" --dir "$T/r2" --appendonly yes --save "" >"$T/log2" 2>&1 </dev/null &
	pids+=($!)
	wait_for redis-cli -p "$port" ping
	wait_for redis-cli -p "$((port + 1))" ping
	[ "$(ident "$server")" = "$(printf 'redis\tserver\tcomm\tprogram')" ]
	for i in {1..50}; do echo "SET k$i v$i"; done | redis-cli -p "$port" >/dev/null
	redis-cli -p "$port" bgsave >/dev/null
	run "$detect" list
	echo "$output"
	grep -qE "^$server +redis +server +files .*uses $T/r1$" <<<"$output"
	grep -qE "^[0-9]+ +redis +bgsave .*forked by comm \"redis-server\"" <<<"$output"
	grep -qE "^[0-9]+ +redis +server +files +arguments like those of the Redis/Valkey server; program $T/cachestore; uses $T/r2$" <<<"$output"
}

@test "PostgreSQL: two clusters are two instances, roles of processes, psql a client" {
	local bin r
	[ "$(id -u)" -eq 0 ] || skip "not root"
	server '/usr/lib/postgresql/*/bin/postgres' postgresql
	bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/* "$T" 2>/dev/null || true
	cd /
	r="timeout 60 setpriv --reuid=postgres --regid=postgres --init-groups env -i HOME=/tmp PATH=$bin:/usr/bin:/bin LC_ALL=C.UTF-8"
	for n in 1 2; do
		install -d -o postgres -g postgres -m 700 "$T/pg$n"
		$r initdb -D "$T/pg$n" -A trust --no-sync >"$T/initdb$n" 2>&1 || skip "initdb does not work here: $(tail -1 "$T/initdb$n")"
		$r postgres -D "$T/pg$n" -c listen_addresses= -c unix_socket_directories="$T/pg$n" >"$T/log$n" 2>&1 </dev/null &
		pids+=($!)
		wait_for $r pg_isready -h "$T/pg$n"
	done
	$r psql -h "$T/pg1" -d postgres -c 'select pg_sleep(20)' >/dev/null 2>&1 &
	local client=$!
	wait_for grep -lq pg_sleep /proc/[0-9]*/cmdline
	wait_for bash -c "'$detect' list | grep -q 'postgresql *backend.*$T/pg1'"
	run "$detect" list
	echo "$output"
	for n in 1 2; do
		for role in postmaster checkpointer bgwriter walwriter; do
			[ "$(grep -cE "^[0-9]+ +postgresql +$role +files .*uses $T/pg$n$" <<<"$output")" -eq 1 ]
		done
	done
	grep -qE "^[0-9]+ +postgresql +backend .*forked by .*$T/pg1$" <<<"$output"
	[ "$(grep -c psql <<<"$output")" -eq 0 ]
	kill "$client" 2>/dev/null || true
}

@test "an unknown program with an open SQLite or RocksDB database belongs to the engine" {
	needs python3
	mkdir "$T/rocks"
	touch "$T"/rocks/{CURRENT,IDENTITY,000004.log}
	python3 -c '
import sqlite3, sys, time
d = sqlite3.connect(sys.argv[1])
d.execute("pragma journal_mode=wal")
d.execute("create table t(a)")
d.commit()
f = open(sys.argv[2])
open(sys.argv[3], "w").close()
time.sleep(60)' "$T/a.db" /dev/null "$T/ready" &
	pids+=($!)
	sleep 60 3<>"$T/rocks/000004.log" &
	pids+=($!)
	wait_for test -e "$T/ready"
	run "$detect" list
	echo "$output"
	grep -qE "^${pids[0]} +sqlite +embedded +files +uses SQLite files in $T/a.db$" <<<"$output"
	grep -qE "^${pids[1]} +rocksdb +embedded +files +uses RocksDB files in $T/rocks$" <<<"$output"
}
