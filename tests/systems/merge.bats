#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# merge.bats - runs of several hosts as one: two real nodes of a replicating store, and synthetic ones whose answers are known.

bats_require_minimum_version 1.5.0
load ../lib/stacks
load ../lib/helper

setup() {
	cd "$BATS_TEST_TMPDIR"
	pids=()
}

teardown() {
	local n pid

	repeat_skipped
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || :; done
	for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || :; done
	for n in 1 2; do
		[ ! -e "netns$n" ] || ip netns delete "iotm$n-$$"
		[ ! -e "group$n" ] || rmdir "$(cat "group$n")" || :
	done
	[ ! -e group ] || rmdir "$(cat group)" || :
	stack_down "$BATS_TEST_TMPDIR"/m[12]
}

# A store of one host: gen NAME HOST SEED SECONDS_LATER
gen() {
	"$root/tests/lib/gen-run.py" 300 --seed "$3" --systems | sed "1s/\"host\":\"node1\"/\"host\":\"$2\"/; 1s/\"wall_ns\":1764000000/\"wall_ns\":$((1764000000 + $4))/" |
		"$analyze" ingest "$1"
}

number() { # STORE WHO COLUMN
	"$analyze" amplification "$1" --table summary --format csv "${@:4}" | awk -F, -v who="$2" -v c="$3" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == c) at = i } $2 == who { print $at }'
}

@test "two hosts are one run: numbers add up, nothing collides, each host has its line" {
	gen a.sqlite alpha 1 0
	gen b.sqlite beta 2 3
	sqlite3 b.sqlite "UPDATE device SET server = (SELECT MAX(id) FROM process) WHERE name = 'loop0'; UPDATE process SET comm = 'served' WHERE id = (SELECT MAX(id) FROM process)" # as if it were FUSE
	"$analyze" merge all.sqlite a.sqlite b.sqlite
	served="SELECT p.pid, p.comm FROM device d JOIN process p ON p.id = d.server"
	same "the daemon of a mount" "$(sqlite3 all.sqlite "$served")" "$(sqlite3 b.sqlite "$served")"
	for c in S B S_r B_r; do
		same "$c" "$(number all.sqlite 'all traced' $c)" $(($(number a.sqlite 'all traced' $c) + $(number b.sqlite 'all traced' $c)))
		same "$c of alpha" "$(number all.sqlite alpha $c --by host)" "$(number a.sqlite 'all traced' $c)"
		same "$c of beta" "$(number all.sqlite beta $c --by host)" "$(number b.sqlite 'all traced' $c)"
	done
	for t in process file event flow agg ledger file_io device; do
		same "rows of $t" "$(sqlite3 all.sqlite "SELECT COUNT(*) FROM $t")" \
			$(($(sqlite3 a.sqlite "SELECT COUNT(*) FROM $t") + $(sqlite3 b.sqlite "SELECT COUNT(*) FROM $t") - $([ $t = process ] && echo 1 || echo 0)))
	done
	same "devices" "$(sqlite3 all.sqlite "SELECT group_concat(name) FROM (SELECT name FROM device ORDER BY host, name)")" "alpha:loop0,alpha:vda,beta:loop0,beta:vda"
	run -0 "$analyze" verify all.sqlite
	printf '{"ledger": 1, "system": "minio", "logical_write_bytes": 4096, "devices": [{"dev": "7:0"}]}' >ledger.json
	run -0 "$analyze" amplification a.sqlite --ledger ledger.json
	run "$analyze" amplification all.sqlite --ledger ledger.json
	[[ $status = 1 && $output == *"its devices (7:0) are one host's, and the run has several: give --payload and --copies in its place"* ]] || fail "$status: $output"
	run -0 "$analyze" hosts a.sqlite --format csv
	[[ ${lines[1]} == "alpha,synthetic,6.1.0-18-amd64,n/a,0.000,"*",0.000,0.000,the run is one host's,$(for c in S S_r B B_r; do number a.sqlite 'all traced' $c; done | paste -sd ,)" ]]
	cp a.sqlite ring.sqlite
	sqlite3 ring.sqlite "UPDATE run SET layers = replace(layers, 'uring,', '');
		UPDATE agg_total SET kind = (SELECT id FROM kind WHERE name = 'uring_other') WHERE rowid = (SELECT MIN(rowid) FROM agg_total WHERE owner > 2)"
	same "calls of who used io_uring, which was not measured" "$("$analyze" hosts ring.sqlite --format csv | awk -F, 'NR == 2 { print $10, $11, ($12 > 0) }')" "n/a n/a 1"
	run -0 "$analyze" hosts all.sqlite --format csv
	[[ ${lines[1]} == "alpha,synthetic,6.1.0-18-amd64,n/a,0.000,"*",0.000,0.000,the clock of the merged run,"* ]]
	[[ ${lines[2]} == "beta,synthetic,6.1.0-18-amd64,n/a,3.000,"*",n/a,n/a,\"the hosts' own clocks: no connection between them was recorded whole"* ]]
	for report in headline amplification breakdown components explain files journal latency network perop pictures timeline verify waterfall; do
		"$analyze" $report all.sqlite --by host >/dev/null
	done
}

@test "a number that one host does not have is n/a for both, not the other's" {
	gen a.sqlite alpha 1 0
	gen b.sqlite beta 2 3
	for s in a b; do
		sqlite3 $s.sqlite "UPDATE run_end SET dirty_bytes = 4096, probe_cpu_ns = 7;
			INSERT INTO agg_total SELECT 1, id, 0, NULL, 0, 0, 0, NULL, 0, NULL, 3, 0, 30, 0, 3, 300, 200 FROM kind WHERE name IN ('read', 'write')"
	done
	sqlite3 b.sqlite "UPDATE run SET map_bytes = NULL, attach_ns = NULL; UPDATE run_end SET self_cpu_ns = NULL, rss_bytes = NULL, dirty_bytes = NULL;
		UPDATE agg_total SET timed = NULL WHERE kind = (SELECT id FROM kind WHERE name = 'write') AND owner = 0"
	for order in "a.sqlite b.sqlite" "b.sqlite a.sqlite"; do
		rm -f all.sqlite
		# shellcheck disable=SC2086
		"$analyze" merge all.sqlite $order
		same "of the run" "$(sqlite3 all.sqlite "SELECT map_bytes IS NULL, attach_ns IS NULL, probe_cpu_ns, self_cpu_ns IS NULL, rss_bytes IS NULL, dirty_bytes IS NULL FROM run JOIN run_end")" "1|1|14|1|1|1"
		same "of a key that both have" "$(sqlite3 all.sqlite "SELECT k.name, a.ops, a.bytes, ifnull(a.timed, 'n/a'), a.lat_ns, a.max_ns FROM agg_total a JOIN kind k ON k.id = a.kind
			WHERE a.owner = 0 AND k.name IN ('read', 'write') ORDER BY k.name")" $'read|6|60|6|600|200\nwrite|6|60|n/a|600|200'
	done
}

@test "a merged run says where its sums by second and process counters fall short" {
	gen a.sqlite alpha 1 0
	gen b.sqlite beta 2 3
	"$analyze" merge whole.sqlite a.sqlite b.sqlite
	run -0 "$analyze" timeline whole.sqlite
	[[ $output != *"moved by whole seconds"* ]]
	sqlite3 b.sqlite "UPDATE run SET wall_ns = wall_ns + 250000000"
	"$analyze" merge part.sqlite a.sqlite b.sqlite
	run -0 "$analyze" timeline part.sqlite
	[[ $output == *"merged: sums by second were moved by whole seconds, up to 0.250 s beside their time"* ]]
	run -0 "$analyze" verify part.sqlite
	[[ $output == *"counters of processes are not merged"* ]]
}

@test "what cannot be merged is refused in a sentence, and leaves nothing behind" {
	gen a.sqlite alpha 1 0
	gen b.sqlite beta 2 3
	says() { # SENTENCE ARGUMENTS
		local want=$1

		shift
		run --separate-stderr -1 "$analyze" merge "$@"
		[[ $stderr == *"$want"* ]] || fail "$stderr"
		[ ! -e new.sqlite ]
		empty "left" "$(find . -name '.iot*')"
	}
	says "a.sqlite is there already" a.sqlite a.sqlite b.sqlite
	says "a.sqlite and a.sqlite hold the same run" new.sqlite a.sqlite a.sqlite
	says "cannot open none.sqlite" new.sqlite a.sqlite none.sqlite
	run -2 "$analyze" merge new.sqlite a.sqlite
	"$analyze" merge all.sqlite a.sqlite b.sqlite
	says "is merged already" new.sqlite all.sqlite b.sqlite
	gen c.sqlite alpha 3 0
	sqlite3 c.sqlite "UPDATE run SET wall_ns = wall_ns + 100, boot_ns = boot_ns + 100"
	says "are of one machine, and both have bytes of device 7:0" new.sqlite a.sqlite c.sqlite
	for s in a b; do
		sqlite3 $s.sqlite "INSERT INTO load(run, system, logical_write_bytes) VALUES(1, 'etcd', length('$s') + (SELECT COUNT(*) FROM run WHERE host = 'beta'))"
	done
	says "hold different ledgers" new.sqlite a.sqlite b.sqlite
	printf 'rubbish' >bad.sqlite
	says "bad.sqlite is not a store of iot" new.sqlite a.sqlite bad.sqlite
}

# A connection of 3 requests of 100 bytes and their answers, as one end saw it: "LOCAL PORT REMOTE PORT", role, which it did first, and when, in ms, each.
connect() { # STORE LOCAL PORT REMOTE PORT ROLE FIRST SECOND FIRST_MS LATER_MS
	sqlite3 "$1" "DELETE FROM event; DELETE FROM flow;
		INSERT INTO flow(run, owner, family, protocol, local, local_port, remote, remote_port, role, loopback, sent_bytes, recv_bytes, sends, recvs)
			VALUES(1, 3, 'ipv4', 'tcp', '$2', $3, '$4', $5, '$6', 0, 300, 300, 3, 3);
		WITH n(n) AS (VALUES(0), (1), (2)), d(kind, late) AS (VALUES('$7', 0), ('$8', 1))
		INSERT INTO event(run, ts_ns, kind, owner, offset, bytes, sub)
			SELECT 1, (10 + n.n * 100 + $9 + d.late * ${10}) * 1000000, (SELECT id FROM kind WHERE name = d.kind), 3, $3 * 65536 + $5, 100,
				(SELECT id FROM sub WHERE name = 'net_remote') FROM n JOIN d"
}

@test "a host's clock offset follows from messages both ways; its times are set back" {
	gen a.sqlite alpha 1 0
	gen b.sqlite beta 2 0
	# 2 ms on the way, 6 ms until the answer, 4 ms back: alpha sends at 10 and has the answer at 22; beta has it at 12 and answers at 18. Beta's clock: 5000 ms more.
	connect a.sqlite 10.0.0.1 4000 10.0.0.2 5000 client net_send net_recv 0 12
	connect b.sqlite 10.0.0.2 5000 10.0.0.1 4000 server net_recv net_send 5002 6
	"$analyze" merge all.sqlite a.sqlite b.sqlite
	# between 5000 - 4 and 5000 + 2
	same "clock" "$(sqlite3 all.sqlite "SELECT clock_ns / 1000000, clock_error_ns / 1000000, begin_ns / 1000000 FROM node WHERE host = 'alpha' UNION ALL
		SELECT clock_ns / 1000000, clock_error_ns / 1000000, begin_ns / 1000000 FROM node WHERE host = 'beta'")" $'0|0|4999\n4999|3|0'
	same "the first request, and when it came" "$(sqlite3 all.sqlite "SELECT group_concat(ts, ' ') FROM (SELECT MIN(ts_ns) / 1000000 AS ts FROM event GROUP BY owner ORDER BY 1)")" "5009 5012"
	# an event is missing: the flow is not whole, and says nothing
	sqlite3 b.sqlite "DELETE FROM event WHERE rowid = 1"
	rm all.sqlite
	"$analyze" merge all.sqlite a.sqlite b.sqlite
	same "clock" "$(sqlite3 all.sqlite "SELECT clock_ns IS NULL, clock_error_ns IS NULL FROM node WHERE host = 'beta'")" "1|1"
	# one way only
	connect a.sqlite 10.0.0.1 4000 10.0.0.2 5000 client net_send net_recv 0 12
	connect b.sqlite 10.0.0.2 5000 10.0.0.1 4000 server net_recv net_send 5002 6
	sqlite3 a.sqlite "DELETE FROM event WHERE kind = (SELECT id FROM kind WHERE name = 'net_recv'); UPDATE flow SET recv_bytes = 0"
	sqlite3 b.sqlite "DELETE FROM event WHERE kind = (SELECT id FROM kind WHERE name = 'net_send'); UPDATE flow SET sent_bytes = 0"
	rm all.sqlite
	"$analyze" merge all.sqlite a.sqlite b.sqlite
	same "clock" "$(sqlite3 all.sqlite "SELECT clock_ns / 1000000, clock_error_ns IS NULL FROM node WHERE host = 'beta'")" "5002|1"
}

# ---- two nodes ----

node_up() { # NUMBER
	local hierarchy

	hierarchy=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
	[ -w "${hierarchy:-/nonexistent}/cgroup.procs" ] || skip "a writable hierarchy of control groups (version 2) is missing"
	[ -e group ] || { mkdir "$hierarchy/iotm-$$" && echo "$hierarchy/iotm-$$" >group; }
	mkdir "$hierarchy/iotm-$$/$1"
	echo "$hierarchy/iotm-$$/$1" >"group$1"
	ip netns add "iotm$1-$$" || skip "network namespaces are missing"
	touch "netns$1"
	mkdir -p "m$1"
	if [ -n "${raw:-}" ]; then # the disk is the system's own, and what it keeps beside that is on none
		leaf_up "$raw"
		mount -t tmpfs tmpfs "m$1"
	else
		leaf_up 128M
		mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$leaf"
		mount "$leaf" "m$1"
	fi
	mkdir "m$1/data"
}

# On a node: in its control group and network namespace. In place of this shell.
on() { # NUMBER COMMAND...
	local n=$1

	shift
	# shellcheck disable=SC2016 # the other shell expands them
	exec sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec ip netns exec "$@"' sh "$(cat "group$n")" "iotm$n-$$" "$@"
}

# As on a host of that name.
tracer() { # NAME OPTIONS
	# shellcheck disable=SC2016 # the other shell expands them
	unshare -u sh -c 'echo "$1" >/proc/sys/kernel/hostname; shift; exec "$@"' sh "$1" "$trace" -q -o "$1.sqlite" --settle none -d 300 --ring 64M "${@:2}" 3>&- &
	pids+=($!)
	printf -v "tracer_$1" %s $!
}

recording() { # STORE
	local i

	for i in $(seq 200); do
		[ "$(sqlite3 -readonly "$1" "SELECT COUNT(*) FROM run" 2>/dev/null)" = 1 ] && return
		sleep 0.1
	done
	: "$i"
	fail "$1 records nothing"
}

# Two nodes, with a wire between them, and their tracers; the third sees both.
nodes_up() { # [OPTIONS OF THE THIRD]
	need_tracer
	need ip iproute2
	node_up 1
	node_up 2
	ip -n iotm1-$$ link add iotv type veth peer name iotw netns iotm2-$$ || skip "veth is missing: the kernel has no such device"
	ip -n iotm1-$$ addr add 198.18.79.1/30 dev iotv
	ip -n iotm2-$$ addr add 198.18.79.2/30 dev iotw
	for n in 1 2; do ip -n iotm$n-$$ link set lo up; done
	ip -n iotm1-$$ link set iotv up
	ip -n iotm2-$$ link set iotw up
	sync
	tracer node1 --cgroup "$(cat group1)" --dev "${leaves[0]}"
	tracer node2 --cgroup "$(cat group2)" --dev "${leaves[1]}"
	tracer both "$@"
	for s in node1 node2 both; do recording $s.sqlite; done
	sleep 1
}

# Until no namespace has the file systems mounted any more: then nothing writes to them, whenever a tracer ends.
unmounted() { # DEVICE...
	local i d

	for d in "$@"; do
		for i in $(seq 300); do [ -e "/sys/fs/ext4/$d" ] || continue 2; sleep 0.1; done
		fail "$d is still mounted somewhere after $i looks"
	done
}

# When the servers have ended: one store of the two, and that its answers for a system are those of the one that saw both. That one also
# sees the machine's own disk, where programs and mount points lie, and who else runs here: its bytes are taken of the nodes' disks, and of
# their control groups. What it lost of others makes its ratios bounds.
nodes_agree() { # SYSTEM PAYLOAD
	local s written

	umount m1 m2
	unmounted "${leaves[@]##*/}"
	kill -INT "$tracer_node1" "$tracer_node2" "$tracer_both"
	wait "$tracer_node1" "$tracer_node2" "$tracer_both" || :
	pids=()
	"$analyze" merge merged.sqlite node1.sqlite node2.sqlite
	"$analyze" hosts merged.sqlite --format csv >hosts
	for s in merged both; do
		"$analyze" network $s.sqlite --system "$1" --payload "$2" --copies 2 --table ratios --format csv | grep naf_ >naf.$s
		"$analyze" amplification $s.sqlite --system "$1" --payload "$2" --copies 2 --table ratios --format csv | grep -E 'waf_(norm|e2e|sys)' | grep -v '^all' >waf.$s
	done
	sqlite3 -readonly both.sqlite "SELECT k.name, d.name, c.name, SUM(t.bytes) FROM agg_total t JOIN kind k ON k.id = t.kind JOIN layer l ON l.id = k.layer JOIN sub s ON s.id = t.sub
		JOIN cause c ON c.id = t.cause LEFT JOIN device d ON d.dev = t.dev JOIN process p ON p.id = t.owner WHERE p.system = '$1' AND p.cgroup LIKE '%/iotm-$$/%'
		AND (k.name = 'block_write' OR l.name = 'syscall' AND k.dir = 'w' AND s.name IN ('regular', 'blockdev')) GROUP BY 1, 2, 3" | tee wrote
	cat naf.* waf.* hosts
	written=$(awk -F '|' -v a="${leaves[0]##*/}" -v b="${leaves[1]##*/}" '$1 == "block_write" && ($2 == a || $2 == b) { n += $4 } END { print n }' wrote)
	run -0 "$analyze" verify merged.sqlite --format csv
	same "checks of the nodes' disks" "$(grep -cE '^device bytes written,node[12]:loop.*,0,OK,' <<<"$output")" 2
	same "naf" "$(cut -d, -f1,2,4-6 naf.merged)" "$(cut -d, -f1,2,4-6 naf.both)"
	same "waf_norm" "$(grep waf_norm waf.merged | cut -d, -f4-9 | awk -F, -v OFS=, '{ $4 = sprintf("%.3f", $4) } 1')" "waf_norm,B/(L x R),exact,$(awk -v n="$written" -v d=$((2 * $2)) 'BEGIN { printf "%.3f", n / d }'),$written,$((2 * $2))"
	same "S" "$(grep waf_sys waf.merged | cut -d, -f9)" "$(awk -F '|' '$1 != "block_write" { n += $4 } END { print n }' wrote)"
}

@test "two replicating nodes merged: waf_norm and naf_int are those of one store" {
	need redis-server redis-server
	nodes_up
	redis="--appendonly yes --appendfsync always --repl-diskless-sync-delay 0 --protected-mode no --port 6390 --daemonize no --loglevel warning"
	# shellcheck disable=SC2086 # options
	{
		(on 1 redis-server $redis --bind 198.18.79.1 --dir "$PWD/m1/data" >/dev/null 2>&1 3>&-) &
		pids+=($!) server1=$!
		(on 2 redis-server $redis --bind 198.18.79.2 --dir "$PWD/m2/data" --replicaof 198.18.79.1 6390 >/dev/null 2>&1 3>&-) &
		pids+=($!) server2=$!
	}
	# 23 values of 4099 bytes, when the replica is there; each is on both before the next
	(on 1 python3 - >ledger.json) <<-'END'
		import json, socket, time
		def talk():
		    for _ in range(200):
		        try:
		            return socket.create_connection(("198.18.79.1", 6390))
		        except OSError:
		            time.sleep(0.1)
		c = talk()
		f = c.makefile("rb")
		def call(*words):
		    c.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
		    line = f.readline()
		    return f.read(int(line[1:]) + 2) if line[:1] == b"$" else line
		for _ in range(200):
		    if b"state=online" in call(b"INFO", b"replication"):
		        break
		    time.sleep(0.1)
		begin = time.time_ns()
		for n in range(23):
		    assert call(b"SET", b"key%d" % n, b"x" * 4099) == b"+OK\r\n"
		    assert call(b"WAIT", b"1", b"5000") == b":1\r\n"
		print(json.dumps({"begin": begin, "end": time.time_ns()}))
	END
	kill "$server1"
	wait "$server1" || :
	kill "$server2"
	wait "$server2" || :
	nodes_agree redis $((23 * 4099))
	grep -q '^naf_int,N_int/L,exact,1\.' naf.both
	# their clocks are one
	awk -F, '$1 == "node2" { found = $7 + $8 >= 0 && $7 - $8 <= 0 && $8 > 0 && $8 < 1000 } END { exit !found }' hosts
}

# A glusterd of its own state, on a node, and what it starts.
glusterd_up() { # NUMBER
	local dir=$PWD/m$1/data/state

	mkdir -p "$dir/lib" "$dir/log"
	# shellcheck disable=SC2016 # the other shell expands them
	(on "$1" sh -c 'mount -t tmpfs tmpfs /run && mkdir /run/gluster && mount --bind "$1/lib" /var/lib/glusterd && mount --bind "$1/log" /var/log/glusterfs &&
		echo $$ >"$2" && exec glusterd -N -l "$1/log/glusterd.log"' sh "$dir" "$PWD/glusterd$1" >/dev/null 2>&1 </dev/null 3>&-) &
	pids+=($!)
	for _ in $(seq 300); do inside "$1" gluster --mode=script pool list >/dev/null 2>&1 && return; sleep 0.2; done
	fail "glusterd $1 does not answer: $(tail -n 3 "$dir/log/glusterd.log")"
}

# A command where glusterd of a node is.
inside() { # NUMBER COMMAND...
	# shellcheck disable=SC2016 # the other shell expands them
	sh -c 'echo $$ >"$1/cgroup.procs" && exec timeout 120 nsenter -m -n -t "$2" sh -c '\''shift; exec "$@"'\'' "$@"' sh "$(cat "group$1")" "$(cat "glusterd$1")" "${@:2}" 3>&-
}

gluster_down() {
	local n pid try

	for n in 1 2; do
		for try in 1 2 3; do
			while read -r pid; do kill "-$([ $try = 1 ] && echo TERM || echo KILL)" "$pid" || :; done <"$(cat "group$n")/cgroup.procs"
			sleep 1
		done
	done
}

@test "two GlusterFS nodes (IOT_MERGE=all) merged have the ratios of one store of both" {
	[ "${IOT_MERGE:-}" = all ] || skip "IOT_MERGE=all runs it: a minute"
	need glusterd glusterfs-server
	need /sbin/mount.glusterfs glusterfs-client
	nodes_up --no-events
	glusterd_up 1
	glusterd_up 2
	inside 1 gluster --mode=script peer probe 198.18.79.2
	for _ in $(seq 50); do inside 1 gluster pool list | grep -q 'Connected.*' && [ "$(inside 1 gluster pool list | grep -c Connected)" = 2 ] && break; sleep 0.3; done
	inside 1 gluster --mode=script volume create gv replica 2 "198.18.79.1:$PWD/m1/data/brick" "198.18.79.2:$PWD/m2/data/brick" force
	inside 1 gluster --mode=script volume start gv
	mkdir gv
	inside 1 mount -t glusterfs 198.18.79.1:/gv "$PWD/gv"
	inside 1 python3 - "$PWD/gv" <<-'END'
		import os, sys
		for n in range(23):
		    fd = os.open("%s/file%d" % (sys.argv[1], n), os.O_CREAT | os.O_WRONLY, 0o600)
		    assert os.write(fd, b"x" * 4099) == 4099
		    os.fsync(fd)
		    os.close(fd)
	END
	same "objects of each brick" "$(find m[12]/data/brick -name 'file*' -size 4099c | wc -l)" 46
	inside 1 umount "$PWD/gv"
	gluster_down
	nodes_agree gluster $((23 * 4099))
	grep -q '^naf_int,N_int/L,' naf.both
}

# The monitor is on node 1, an OSD on each. min_size: both have written what is acknowledged.
ceph_conf() {
	cat <<-END
	[global]
	fsid = 6f3a1c52-7c0e-4b19-9d0f-0a1b2c3d4e5f
	mon_host = [v2:198.18.79.1:33300,v1:198.18.79.1:33301]
	mon_initial_members = a
	auth_cluster_required = none
	auth_service_required = none
	auth_client_required = none
	ms_bind_ipv6 = false
	public_network = 198.18.79.0/30
	run_dir = $PWD/m1/data
	admin_socket =
	log_file = $PWD/\$name.log
	mon_data = $PWD/m1/data/mon
	crash_dir = $PWD/m1/data/crash
	osd_objectstore = bluestore
	osd_crush_chooseleaf_type = 0
	osd_pool_default_size = 2
	osd_pool_default_min_size = 2
	osd_pool_default_pg_autoscale_mode = off
	mon_data_avail_warn = 1
	mon_data_avail_crit = 1
	bluestore_cache_autotune = false
	bluestore_cache_size = 67108864
	[mon]
	public_addr = 198.18.79.1
	[osd.0]
	public_addr = 198.18.79.1
	osd_data = $PWD/m1/data/osd
	[osd.1]
	public_addr = 198.18.79.2
	osd_data = $PWD/m2/data/osd
	END
}

# A command of Ceph on a node; cluster commands would wait for ever.
ceph_on() { (on "$1" timeout 120 "${@:2}" -c "$PWD/ceph.conf" 2>>"$PWD/ceph.log" </dev/null 3>&-); }

# In the background, until it is told to end.
ceph_serve() { # NUMBER PROGRAM ARGUMENTS
	(on "$1" "${@:2}" -f -c "$PWD/ceph.conf" >>"$PWD/ceph.log" 2>&1 </dev/null 3>&-) &
	pids+=($!)
	servers+=($!)
}

osd_up() { # NUMBER
	local id=$(($1 - 1)) dir=$PWD/m$1/data/osd uuid

	uuid=$(</proc/sys/kernel/random/uuid)
	same "number of the OSD" "$(ceph_on 1 ceph --connect-timeout 20 osd new "$uuid")" $id
	mkdir "$dir"
	ln -s "${leaves[id]}" "$dir/block"
	ceph_on "$1" ceph-osd -i $id --mkfs --osd-uuid "$uuid" --no-mon-config >>ceph.log || fail "$(tail -n 3 ceph.log)"
	ceph_serve "$1" ceph-osd -i $id
}

ceph_up() {
	ceph_conf >ceph.conf
	monmaptool --create --clobber --addv a '[v2:198.18.79.1:33300,v1:198.18.79.1:33301]' --fsid 6f3a1c52-7c0e-4b19-9d0f-0a1b2c3d4e5f monmap >>ceph.log
	ceph_on 1 ceph-mon --mkfs -i a --monmap "$PWD/monmap" >>ceph.log || fail "$(tail -n 3 ceph.log)"
	ceph_serve 1 ceph-mon -i a
	for _ in $(seq 30); do ceph_on 1 ceph --connect-timeout 5 -s >/dev/null && break; sleep 0.5; done
	osd_up 1
	osd_up 2
	for _ in $(seq 120); do ceph_on 1 ceph osd stat -f json | grep -q '"num_up_osds":2' && break; sleep 0.5; done
	ceph_on 1 ceph osd pool create bench 8 8
}

# Of a Ceph that is at rest: what its log said last shall not be under way.
ceph_down() {
	local pid

	for pid in "${servers[@]}"; do kill "$pid" || :; done
	for pid in "${servers[@]}"; do wait "$pid" || :; done
}

@test "two Ceph nodes (IOT_MERGE=all) merged have the ratios of one store of both" {
	[ "${IOT_MERGE:-}" = all ] || skip "IOT_MERGE=all runs it: a minute"
	need ceph-mon ceph-mon
	need ceph-osd ceph-osd
	need rados ceph-common
	raw=4G servers=()
	nodes_up --no-events
	ceph_up
	head -c 4099 /dev/urandom >object
	for n in $(seq 23); do ceph_on 1 rados -p bench put "object$n" "$PWD/object"; done
	same "objects" "$(ceph_on 1 rados -p bench ls | wc -l)" 23
	ceph_down
	nodes_agree ceph $((23 * 4099))
	grep -q '^naf_int,N_int/L,' naf.both
}
