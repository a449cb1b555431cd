#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# merge.bats - runs of several hosts as one: two real nodes of a replicating store, and made-up ones whose answers are known.

bats_require_minimum_version 1.5.0
load stacks_lib
load helper

setup() {
	cd "$BATS_TEST_TMPDIR"
	pids=()
}

teardown() {
	local n pid

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
	"$root/tests/gen-run.py" 300 --seed "$3" --systems | sed "1s/\"host\":\"node1\"/\"host\":\"$2\"/; 1s/\"wall_ns\":1764000000/\"wall_ns\":$((1764000000 + $4))/" |
		"$analyze" ingest "$1"
}

number() { # STORE WHO COLUMN
	"$analyze" amplification "$1" --table summary --format csv "${@:4}" | awk -F, -v who="$2" -v c="$3" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == c) at = i } $2 == who { print $at }'
}

@test "two hosts are one run: numbers add up, nothing collides, each host has its line" {
	gen a.sqlite alpha 1 0
	gen b.sqlite beta 2 3
	"$analyze" merge all.sqlite a.sqlite b.sqlite
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
	run -0 "$analyze" hosts all.sqlite --format csv
	[[ ${lines[1]} == "alpha,synthetic,6.1.0-18-amd64,n/a,0.000,"*",0.000,0.000,the clock of the merged run,"* ]]
	[[ ${lines[2]} == "beta,synthetic,6.1.0-18-amd64,n/a,3.000,"*",n/a,n/a,\"the hosts' own clocks: no connection between them was recorded whole"* ]]
	for report in headline amplification breakdown components explain files journal latency network perop pictures timeline verify waterfall; do
		"$analyze" $report all.sqlite --by host >/dev/null 2>&1 || "$analyze" $report all.sqlite >/dev/null
	done
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

@test "how far a host's clock is ahead follows from what it was sent and what it sent, and its times are set back by that" {
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
	leaf_up 128M
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$leaf"
	mkdir -p "m$1"
	mount "$leaf" "m$1"
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
	unshare -u sh -c 'echo "$1" >/proc/sys/kernel/hostname; shift; exec "$@"' sh "$1" "$trace" -q -o "$1.sqlite" --settle none -d 60 --ring 64M "${@:2}" 3>&- &
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

@test "two nodes that replicate, a store each, merged: waf_norm and naf_int are those of one store that saw both" {
	need_tracer
	need redis-server redis-server
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
	tracer both
	for s in node1 node2 both; do recording $s.sqlite; done
	sleep 1
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
	umount m1 m2
	sync
	sleep 0.5
	kill -INT "$tracer_node1" "$tracer_node2" "$tracer_both"
	wait "$tracer_node1" "$tracer_node2" "$tracer_both" || :
	pids=()
	"$analyze" merge merged.sqlite node1.sqlite node2.sqlite
	"$analyze" hosts merged.sqlite --format csv >hosts
	for s in merged both; do
		"$analyze" network $s.sqlite --system redis --payload $((23 * 4099)) --copies 2 --table ratios --format csv | grep naf_ >naf.$s
		"$analyze" amplification $s.sqlite --system redis --payload $((23 * 4099)) --copies 2 --table ratios --format csv | grep -E 'waf_(norm|e2e|sys)' | grep -v '^all' >waf.$s
	done
	cat naf.* waf.* hosts
	grep -q '^naf_int,N_int/L,exact,1\.' naf.both
	run -0 "$analyze" verify merged.sqlite --format csv
	same "checks of the nodes' disks" "$(grep -cE '^device bytes written,node[12]:loop.*,0,OK,' <<<"$output")" 2
	grep -q ',waf_norm,B/(L x R),' waf.both
	same "naf" "$(cat naf.merged)" "$(cat naf.both)"
	same "waf" "$(cut -d, -f4-10 waf.merged)" "$(cut -d, -f4-10 waf.both)"
	# their clocks are one
	awk -F, '$1 == "node2" { found = $7 + $8 >= 0 && $7 - $8 <= 0 && $8 > 0 && $8 < 1000 } END { exit !found }' hosts
}
