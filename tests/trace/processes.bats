#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# processes.bats - samples of processes: each equals what the process says of itself, and without the option there is none.

load ../lib/helper

# The process says it into a file in memory: its own words would else be bytes that it wrote.
setup() {
	own_run
	said=$(mktemp -u "$IOT_IMG_DIR/said.XXXXXX")
}

teardown() {
	[ -z "${pid-}" ] || kill "$pid" 2>/dev/null || :
	rm -f "$said" "$said.new"
	fs_down
	repeat_skipped
}

# A process with 3 threads that holds 64 MiB, writes 17 blocks, says what it used, and sleeps; go: begins the work.
worker() { # FILE
	python3 - "$1" "$said" <<'E' &
import os, resource, sys, threading, time
while not os.path.exists("go"):
    time.sleep(0.05)
for _ in range(2):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
held = bytearray(64 << 20)
f = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for i in range(17):
    os.write(f, bytes(4096))
os.fsync(f)
until = time.process_time() + 0.3
while time.process_time() < until:
    pass
io = dict(line.split(": ") for line in open("/proc/self/io").read().split("\n") if line)
use = resource.getrusage(resource.RUSAGE_SELF)
with open(sys.argv[2] + ".new", "w") as out:
    print(int(use.ru_utime * 1e9), int(use.ru_stime * 1e9), io["write_bytes"], file=out)
os.rename(sys.argv[2] + ".new", sys.argv[2])
time.sleep(600)
E
	pid=$!
}

@test "process samples: the last equals what the process says of itself" {
	fs_up ext4 64M
	worker "$IOT_MNT/f"
	"$trace" -q --settle none --sample-processes 1 --pid "$pid" -o "$store" -d 6 &
	tracer=$!
	until [ -e "$store" ] && [ "$(sqlite3 -readonly "$store" 'SELECT COUNT(*) FROM run' 2>/dev/null || echo 0)" = 1 ]; do sleep 0.2; done
	touch go
	wait "$tracer"
	[ -e "$said" ] || skip "a machine that is not so busy is missing: the work took longer than the run"
	read -r user system written <"$said"
	last() { q "SELECT $1 FROM process_sample s JOIN r USING (run) JOIN process p ON p.run = s.run AND p.id = s.owner WHERE p.pid = $pid ORDER BY ts_ns DESC LIMIT 1"; }
	same "written" "$(last write_bytes)" "$written"
	same "threads" "$(last threads)" 3
	same "state" "$(last state)" S
	between "memory" "$(last rss_bytes)" $((64 << 20)) $((128 << 20))
	# the kernel divides ticks between the two
	between "processor time" "$(last 'user_ns + system_ns')" $((user + system - 50000000)) $((user + system + 50000000))
	[ "$(q "SELECT COUNT(*) FROM process_sample s JOIN r USING (run)")" -ge 3 ]
	same "other processes" "$(q "SELECT COUNT(*) FROM process_sample s JOIN r USING (run) JOIN process p ON p.run = s.run AND p.id = s.owner WHERE p.pid <> $pid")" 0
	"$analyze" processes "$store" --format tsv --table processes >rows.tsv
	same "a row" "$(sed 1d rows.tsv | cut -f 2)" "$pid"
	[ "$("$analyze" processes "$store" --format tsv --table samples | sed 1d | wc -l)" -ge 3 ]
}

@test "process samples: without the option none; intervals below a second are refused" {
	traced --no-events -d 0.3
	same "samples" "$(q 'SELECT COUNT(*) FROM process_sample')" 0
	"$analyze" processes "$store" >text.txt
	for value in 0 0.5 -1 x ''; do
		run "$trace" --sample-processes "$value" -o "$store" -d 1
		same "status of '$value'" "$status" 2
		[[ $output = *"no number of seconds from 1 on"* ]]
	done
}

@test "process samples: an exec is another process, and only the later one goes on" {
	"$trace" -q --sample-processes 1 -o "$store" -- sh -c 'echo > a; exec sh -c "echo > b; sleep 2.5; echo > c"'
	same "owners that go on" "$(q "SELECT COUNT(DISTINCT owner) FROM process_sample s JOIN r USING (run) JOIN process p ON p.run = s.run AND p.id = s.owner
		WHERE ts_ns > 1500000000 AND p.comm = 'sh'")" 1
}
