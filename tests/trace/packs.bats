#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# packs.bats - equal calls share one record of the ring, and each is still an event with its own time, place and bytes: before an equal
# call and before another, on a processor that is idle for long, and when the ring has no room.

load ../lib/helper

setup() {
	own_run
	for name in loop here there seldom; do head -c 500003 /dev/zero >$name.dat; done
}

# A process in a loop on one file, one that goes to and fro between two, and one that reads now and then, and waits in a pipe for longer than
# 2^32 ns. For each file: its reads, their bytes, the sum of their offsets, how many were short, and the bytes asked for.
readers() {
	python3 - <<-'EOF'
		import os, time
		size = os.path.getsize("loop.dat")
		def reads(calls):
		    """calls: (name, offset, bytes asked for)"""
		    fds, sums = {}, {}
		    for name, at, want in calls:
		        if name not in fds:
		            fds[name] = os.open(name, os.O_RDONLY)
		        got, s = len(os.pread(fds[name], want, at)), sums.setdefault(name, [0] * 5)
		        for i, n in enumerate((1, got, at, got < want, want)):
		            s[i] += n
		    for name in sums:
		        os.write(1, " ".join(map(str, [name, *sums[name]])).encode() + b"\n")
		def waits():
		    r, w = os.pipe()
		    for _ in range(20):
		        os.write(w, b"x")
		        os.read(r, 1)
		    if os.fork() == 0:
		        while open(f"/proc/{os.getppid()}/stat").read().rpartition(") ")[2][0] != "S":
		            time.sleep(0.01) # it does not wait yet
		        time.sleep(4.5)
		        os.write(w, b"x")
		        os._exit(0)
		    os.read(r, 1)
		def slowly():
		    for i in range(101):
		        yield "seldom.dat", i * 4096, 4096
		        time.sleep(0.02)
		def work(what):
		    if os.fork() == 0:
		        what()
		        os._exit(0)
		work(lambda: reads(("loop.dat", i * 4099 % size, 4099) for i in range(50021)))
		work(lambda: reads((("here.dat", "there.dat")[i % 2], i % 13, 1 + i % 7) for i in range(10007)))
		work(lambda: reads(slowly()))
		work(waits)
		try:
		    while True:
		        os.wait()
		except ChildProcessError:
		    pass
	EOF
}

# Calls and bytes by the events.
events() {
	sql "SELECT f.name || '', COUNT(*), SUM(e.bytes), SUM(e.offset), SUM(e.flags & (SELECT id FROM flag WHERE name = 'SHORT') <> 0), SUM(e.size)
		FROM (SELECT *, replace(path, rtrim(path, replace(path, '/', '')), '') AS name FROM v_event WHERE kind = 'pread64' AND task = owner) e
		JOIN (SELECT value AS name FROM json_each('[\"loop.dat\", \"here.dat\", \"there.dat\", \"seldom.dat\"]')) f ON f.name = e.name GROUP BY 1 ORDER BY 1"
}

@test "batches read while they are written: each event comes once, or is counted" {
	built packs
	for seed in 1 2 3; do
		said=$("$IOT_BUILD/packs" 300000 $seed) || fail "$said"
		read -r from_ring from_packs missing <<<"$said"
		[ "$from_ring" -gt 0 ] && [ "$from_packs" -gt 0 ] && [ "$missing" -gt 0 ] || fail "one way was not tried: $said"
	done
}

@test "guest: calls that are alike are one event each, whatever comes between" {
	export -f readers
	traced --ring 64M -- bash -c readers >ledger
	same "lost" "$(q "SELECT SUM(n) FROM lost WHERE run = (SELECT run FROM r)")" 0
	same "reads" "$(events)" "$(sort ledger)"
	same "processes of each file" "$(sql "SELECT COUNT(DISTINCT owner) FROM v_event WHERE path LIKE '%.dat' AND kind = 'pread64' GROUP BY path" | sort -u)" 1
	same "events of calls, against their sums" "$(sql "SELECT kind, owner, COUNT(*), SUM(bytes) FROM v_event WHERE layer = 'syscall' AND owner > 2 GROUP BY 1, 2 ORDER BY 1, 2")" \
		"$(sql "SELECT k.name, t.owner, SUM(t.ops), SUM(t.bytes) FROM agg_total t JOIN kind k ON k.id = t.kind JOIN layer l ON l.id = k.layer
			WHERE l.name = 'syscall' AND t.owner > 2 GROUP BY 1, 2 ORDER BY 1, 2")"
	longest=$(sql "SELECT MAX(dur_ns) FROM v_event WHERE kind = 'read' AND size = 1 AND bytes = 1")
	[ "$longest" -gt 4400000000 ] || fail "the call that waited took $longest ns"
}

@test "the first loss of events is said at once, with the ring that had held them" {
	export -f readers
	loses() {
		local try

		readers >/dev/null
		for try in $(seq 100); do
			grep -q 'the ring is full: --ring [0-9]*M had held the [0-9]* events' said && return
			sleep 0.1
		done
		return 1
	}
	export -f loses
	"$trace" --ring 4K -o "$store" -- bash -c loses 2>said || fail "nothing was said before the end: $(cat said)"
	same "times that it was said" "$(grep -c 'the ring is full' said)" 1
}

@test "a full ring: recorded and lost events are all calls, and none comes twice" {
	export -f readers
	traced --ring 4K -- bash -c readers >ledger
	lost=$(q "SELECT COALESCE(SUM(n), 0) FROM lost WHERE layer = 'syscall' AND effect = 'events' AND run = (SELECT run FROM r)")
	[ "$lost" -gt 0 ] || fail "nothing was lost: the ring is not tiny enough for this test"
	same "calls" "$(sql "SELECT COUNT(*) + $lost FROM v_event WHERE layer = 'syscall' AND owner > 2")" \
		"$(sql "SELECT SUM(t.ops) FROM agg_total t JOIN kind k ON k.id = t.kind JOIN layer l ON l.id = k.layer WHERE l.name = 'syscall' AND t.owner > 2")"
	same "events that came twice" "$(sql "SELECT COUNT(*) - COUNT(DISTINCT ts_ns || ' ' || tid || ' ' || offset) FROM v_event WHERE kind = 'pread64'")" 0
}
