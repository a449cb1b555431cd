# SPDX-License-Identifier: GPL-3.0-only
# trace_run.bats - runs of iot-trace from begin to end: statuses, signals, failing outputs, scope, privileges, the text.

load ../lib/helper

setup() {
	own_run
	tracer=
	mounted=
}

teardown() {
	if [ -n "$tracer" ]; then kill -KILL "$tracer" 2> /dev/null || :; fi
	if [ -n "$mounted" ]; then umount --lazy "$mounted"; fi
}

# Starts the tracer in the background and waits until it says that it records.
start() { # TRACER OPTIONS
	"$trace" "$@" > out.log 2> trace.log 3>&- &
	tracer=$!
	for _ in $(seq 200); do
		if grep -q "recording, attached" trace.log; then return; fi
		kill -0 "$tracer" || fail "the tracer ended: $(cat trace.log)"
		sleep 0.1
	done
	fail "not attached: $(cat trace.log)"
}

# Waits for the tracer: its status is in $status.
finished() {
	status=0
	wait "$tracer" || status=$?
	tracer=
}

complete() { tail -n 1 "$1" | grep -q '"t":"end"'; }

@test "the tracer runs before those whom it traces, and its command as it would without" {
	traced -- sh -c "ps -o ni= -p \$PPID >tracer; ps -o ni= -p \$\$ >command"
	same "nice" "$(tr -d ' ' <tracer) $(tr -d ' ' <command)" "-15 $(ps -o ni= -p $$ | tr -d ' ')"
}

@test "the status of the command is returned and said" {
	status=0
	"$trace" --layers syscall -o run.jsonl -- sh -c 'exit 7' 2> err.log || status=$?
	same status "$status" 7
	grep -q "status 7" err.log
	grep -q '"status":7' run.jsonl
	complete run.jsonl
}

@test "a command killed by a signal is 128 and the signal's number" {
	status=0
	"$trace" -q --layers syscall -o run.jsonl -- sh -c 'kill -TERM $$' 2> err.log || status=$?
	same status "$status" 143
	complete run.jsonl
	empty "messages" "$(messages err.log)"
}

@test "a run without duration or command ends completely with SIGINT and SIGTERM" {
	for signal in INT TERM; do
		start -o "$signal.jsonl"
		kill "-$signal" "$tracer"
		finished
		same "status after $signal" "$status" 0
		complete "$signal.jsonl"
	done
}

@test "a second SIGINT ends at once with 130 and an incomplete run" {
	start -o run.jsonl --settle 600
	kill -INT "$tracer"
	sleep 0.5
	kill -0 "$tracer"
	kill -INT "$tracer"
	finished
	same status "$status" 130
	grep -q incomplete trace.log
	if grep -q '"t":"end"' run.jsonl; then fail "there is an end"; fi
}

@test "with a duration and a command the run ends first, and the command runs on" {
	"$trace" -d 0.5 --layers syscall --settle none -o run.jsonl -- sh -c 'echo $$ > pid; exec sleep 300' 2> err.log
	complete run.jsonl
	pid=$(cat pid)
	grep -q "still runs as process $pid" err.log
	kill "$pid"
	if grep -q '"status":' run.jsonl; then fail "a status that is not known"; fi
}

@test "a duration ends although events come faster than a store takes them" {
	status=0
	timeout 100 "$trace" -q -d 1 --layers syscall --settle none -o run.sqlite -- sh -c 'echo $$ > pid; exec dd if=/dev/zero of=/dev/null bs=1' || status=$?
	kill "$(cat pid)"
	same status "$status" 0
	same "seconds" "$(sql 'SELECT MIN(sec), COUNT(DISTINCT sec) >= 1 FROM agg')" "0 1"
}

@test "a reader that leaves ends the run quietly with 141" {
	status=0
	timeout 120 bash -c 'set -o pipefail; "$0" -q --layers syscall -o - | head -n 1 > first.txt; exit "${PIPESTATUS[0]}"' "$trace" 2> err.log || status=$?
	same status "$status" 141
	grep -q '"t":"run"' first.txt
	empty "messages" "$(messages err.log)"
}

@test "when one output fails the others get a complete run, and the status is 1" {
	mkdir small
	mount -t tmpfs -o size=64k none small
	mounted=$PWD/small
	status=0
	"$trace" -q --layers syscall -o small/run.jsonl -o run.sqlite -- dd if=/dev/zero of=/dev/null bs=1 count=20000 status=none 2> err.log || status=$?
	same status "$status" 1
	same "lines" "$(messages err.log | wc -l)" 1
	grep -q "small/run.jsonl" err.log
	if grep -q '"t":"end"' small/run.jsonl; then fail "an end in a full file"; fi
	same "ends in the store" "$(sql 'SELECT COUNT(*) FROM run_end')" 1
}

@test "a store on a full disk is an error that names it, and its run is incomplete" {
	mkdir small
	mount -t tmpfs -o size=2m none small
	mounted=$PWD/small
	store=$PWD/small/run.sqlite
	status=0
	"$trace" -q --layers syscall -o "$store" -- dd if=/dev/zero of=/dev/null bs=1 count=200000 status=none 2> err.log || status=$?
	same status "$status" 1
	grep -q "small/run.sqlite" err.log
	same "ends" "$(sqlite3 "$store" 'SELECT COUNT(*) FROM run_end')" 0
}

@test "after kill -9 the store holds the committed seconds; the run is incomplete" {
	start -o "$store"
	seconds() { [ "$(sql 'SELECT COUNT(DISTINCT sec) FROM agg' 2> /dev/null || echo 0)" -ge 3 ]; }
	until_true seconds
	kill -KILL "$tracer"
	finished
	same "check" "$(sqlite3 "$store" 'PRAGMA integrity_check')" ok
	[ "$(sql 'SELECT COUNT(DISTINCT sec) FROM agg')" -ge 3 ]
	same "ends" "$(sql 'SELECT COUNT(*) FROM run_end')" 0
	"$analyze" amplification "$store" > report.txt || :
	grep -qi incomplete report.txt
}

@test "without an output the end says in words what happened, and how to keep it" {
	mkdir tmp
	status=0
	# a file system of its own: others write to the disk of the tests
	body() {
		: >"$IOT_MNT/f"
		sync -f "$IOT_MNT"
		TMPDIR=$PWD/tmp "$trace" -- sh -c "head -c 8195 /dev/zero >>'$IOT_MNT/f'; exit 3" >words.txt 2> err.log
	}
	with_fs ext4 64M -- body || status=$?
	same status "$status" 3
	same title "$(head -n 1 words.txt)" "What happened, in short"
	tr -s ' \n' ' ' <words.txt | grep -q ' finding head \[[0-9]*\] wrote 8 KiB, and devices wrote .*(waf_sys = B/S' || fail "$(<words.txt)"
	grep -q '^next      iot-trace -o run.sqlite -- COMMAND  # the same, kept in a store$' words.txt
	grep -qF "$PWD/tmp" words.txt && fail "names what is removed"
	TMPDIR=$PWD/tmp "$trace" -d 0.2 >words.txt
	grep -q '^next      iot-trace -o run.sqlite -d SECONDS  # the same, kept in a store$' words.txt
	empty "left behind" "$(ls -A tmp)"
}

@test "the command keeps privileges, environment and input; the tracer drops its own" {
	grep -E 'Cap(Prm|Eff|Bnd)|NoNewPrivs|SigBlk' /proc/self/status > mine
	echo input > input
	start -o run.jsonl -- sh -c "grep -E 'Cap(Prm|Eff|Bnd)|NoNewPrivs|SigBlk' /proc/self/status > command; echo \$\$ > pid; exec sleep 300"
	until_true test -s pid
	same "the command's" "$(cat command)" "$(cat mine)"
	same "the tracer's" "$(awk '/CapEff/ { print $2 }' "/proc/$tracer/status")" 0000000000000000
	grep -q 'NoNewPrivs:.*1' "/proc/$tracer/status"
	[ "$(awk '/^Uid/ { print $2 }' "/proc/$tracer/status")" != 0 ] || fail "the tracer is root while it records"
	kill "$(cat pid)"
	finished
	"$trace" -q --layers syscall -o run.jsonl -- cat < input > output
	same "input" "$(cat output)" input
}

@test "with data on standard output the command's output goes to standard error" {
	"$trace" -q --layers syscall -o - -- echo from-the-command > out.jsonl 2> err.log
	same "stderr" "$(messages err.log)" from-the-command
	if grep -q from-the-command <(grep -v cmdline out.jsonl | grep -v '"command"'); then fail "mixed"; fi
	same "broken lines" "$(sqlite3 :memory: "CREATE TABLE t(j)" ".mode ascii" ".separator '	' '
'" ".import out.jsonl t" "SELECT COUNT(*) FROM t WHERE NOT json_valid(j)")" 0
	complete out.jsonl
}

@test "several outputs get the same run" {
	"$trace" -q -o run.jsonl -o "$store" -- dd if=/dev/zero of=f bs=4099 count=23 status=none
	"$analyze" ingest other.sqlite < run.jsonl
	for f in "$store" other.sqlite; do sqlite3 "$f" .dump | sort > "$(basename "$f").dump"; done
	cmp run.sqlite.dump other.sqlite.dump
}

@test "with --no-events there are sums and no events" {
	traced --no-events -- dd if=/dev/zero of=f bs=4099 count=23 status=none
	same "bytes" "$(total bytes "kind = 'write' AND comm = 'dd' AND sub = 'regular'")" 94277
	same "events" "$(sql 'SELECT COUNT(*) FROM event')" 0
	same "the run says" "$(sql 'SELECT events FROM run')" 0
}

@test "a command's whole tree is recorded and nobody else, and --all lifts that" {
	dd if=/dev/zero of=other bs=4099 count=1000000 status=none 3>&- &
	other=$!
	traced -- sh -c '(dd if=/dev/zero of=f bs=4099 count=23 status=none & wait)'
	same "bytes of the tree" "$(total bytes "kind = 'write' AND comm = 'dd' AND sub = 'regular'")" 94277
	same "filters" "$(sql 'SELECT filters FROM run')" command
	run_no=2 traced --all --settle none -- sleep 0.3
	kill "$other" && wait "$other" || :
	run_no=2
	[ "$(total bytes "kind = 'write' AND comm = 'dd' AND pid = $other")" -gt 0 ]
}

@test "--pid follows the process, its present descendants and its later children" {
	mkfifo go1 go2
	sh -c '(read -r line < go1; dd if=/dev/zero of=f1 bs=4099 count=23 status=none) & read -r line < go2
		dd if=/dev/zero of=f2 bs=4099 count=29 status=none; wait' 3>&- &
	parent=$!
	start -o "$store" --pid "$parent"
	echo > go1
	echo > go2
	wait "$parent"
	dd if=/dev/zero of=f3 bs=4099 count=31 status=none
	kill -INT "$tracer"
	finished
	same status "$status" 0
	same "dd's bytes" "$(total bytes "kind = 'write' AND comm = 'dd' AND sub = 'regular'")" "$(((23 + 29) * 4099))"
}

@test "--comm is the exact name of the leader" {
	traced --comm dd -- sh -c 'dd if=/dev/zero of=f bs=4099 count=23 status=none; echo more > g'
	same "owners" "$(q "SELECT DISTINCT comm FROM c WHERE owner > 2 AND layer = 'syscall'")" dd
	same "bytes" "$(total bytes "kind = 'write' AND comm = 'dd' AND sub = 'regular'")" 94277
}

@test "--layers measures what it names, and the run says so" {
	traced --layers syscall -- dd if=/dev/zero of=f bs=4099 count=23 conv=fsync status=none
	same "layers" "$(sql 'SELECT layers FROM run')" syscall
	same "others" "$(total ops "layer NOT IN ('syscall')")" 0
	same "bytes" "$(total bytes "kind = 'write' AND comm = 'dd' AND sub = 'regular'")" 94277
}

@test "--layers is strict: each alone stores nothing else; storage adds components" {
	local layer
	body() {
		for layer in syscall uring cache fs block net; do
			rm -f "$store"*
			traced --layers $layer -- dd if=/dev/zero of="$IOT_MNT/f" bs=4099 count=23 conv=fsync status=none
			same "layers ($layer)" "$(sql 'SELECT layers FROM run')" $layer
			empty "sums ($layer)" "$(q "SELECT DISTINCT layer, kind FROM c WHERE layer <> '$layer'")"
			empty "events ($layer)" "$(sql "SELECT DISTINCT l.name FROM event e JOIN kind k ON k.id = e.kind JOIN layer l ON l.id = k.layer WHERE l.name <> '$layer'")"
			empty "histograms ($layer)" "$(sql "SELECT DISTINCT l.name FROM hist e JOIN kind k ON k.id = e.kind JOIN layer l ON l.id = k.layer WHERE l.name <> '$layer'")"
			case $layer in
			syscall) same "S" "$(sql "SELECT SUM(write_bytes), SUM(fs_write_bytes), SUM(dev_write_bytes) FROM file_io i JOIN process p ON p.id = i.owner WHERE p.comm = 'dd'")" "94277 0 0" ;;
			block) same "B" "$(sql "SELECT SUM(write_bytes), SUM(fs_write_bytes) FROM file_io")" "0 0" ;;
			uring | net) same "files ($layer)" "$(sql 'SELECT COUNT(*) FROM file_io')" 0 ;;
			esac
		done
		rm -f "$store"*
		traced --layers storage -- dd if=/dev/zero of="$IOT_MNT/f" bs=4099 count=23 conv=fsync status=none
		same "of storage" "$(sql 'SELECT layers FROM run')" syscall,uring,fs,block
		same "S of storage" "$(total bytes "kind = 'write' AND comm = 'dd' AND sub = 'regular'")" 94277
	}
	with_fs ext4 64M -- body
}

@test "calls like the one before are counted as it was, empty writes touch nothing" {
	need python3 python3-minimal
	body() {
		traced -- python3 -c "import os
f = os.open('$IOT_MNT/f', os.O_CREAT | os.O_RDWR)
for n in range(7): os.pwrite(f, b'x' * 100, 1)
for n in range(5): os.pwrite(f, b'', 1)
for n in range(3): os.pread(f, 4096, 0)
for n in range(11): os.pread(f, 4096, 8192)
os.close(f)
f = os.open('$IOT_MNT/g', os.O_CREAT | os.O_WRONLY)
for n in range(13): os.pwrite(f, b'x' * 4096, 4096 * n)
os.fsync(f)"
		same "writes of f, g" "$(q "SELECT i.write_ops, i.write_bytes FROM r JOIN file f ON f.run = r.run JOIN file_io i ON i.run = f.run AND i.file = f.id
			WHERE f.path IN ('$IOT_MNT/f', '$IOT_MNT/g') AND i.write_ops > 0 ORDER BY f.path" | paste -sd /)" "12 700/13 53248"
		same "reads of f" "$(q "SELECT SUM(i.read_ops), SUM(i.read_bytes) FROM r JOIN file f ON f.run = r.run JOIN file_io i ON i.run = f.run AND i.file = f.id
			WHERE f.path = '$IOT_MNT/f'")" "14 303"
		same "blocks touched" "$(q "SELECT SUM(touched) FROM c WHERE kind = 'pwrite64' AND dev = '$IOT_DEVNO'")" "$(((7 + 13) * 4096))"
		same "data of f and g" "$(total bytes "kind = 'block_write' AND cause = 'data' AND comm = 'python3' AND dev = '$IOT_DEVNO'")" "$((4096 + 13 * 4096))"
	}
	with_fs ext4 128M -- body
}

@test "instructions that the verifier looks at, most of attaching, are below limits" {
	"$trace" --probes >probes.txt
	grep -q verified: probes.txt || skip "this kernel does not tell"
	empty "programs beyond 90,000 instructions" "$(awk '/verified:/ && $NF > 90000 { print $2, $NF }' probes.txt)"
	# without those of file systems that may be mounted here
	[ "$(awk '/verified:/ && $2 !~ /^(xfs|btrfs)__/ { n += $NF } END { print n }' probes.txt)" -lt 400000 ] || fail "$(sort -k 6 -rn probes.txt)"
}

@test "no program takes more stack than kernels up to 6.1 have, with what it calls" {
	need llvm-objdump llvm
	need python3 python3-minimal
	"$root/tests/trace/stack.py" "$IOT_BUILD"/bpf/*.bpf.o >stack.txt
	[ "$(wc -l <stack.txt)" -gt 100 ] || fail "$(cat stack.txt)"
	empty "programs beyond 512 bytes" "$(awk '$1 > 512' stack.txt)"
}

@test "--probes says for each probe what was chosen, or why not, and what it takes" {
	"$trace" --probes > probes.txt
	head -n 1 probes.txt | grep -qE '^LAYER +PROBE +TARGET +CHOSEN +REASON$'
	awk 'NR > 1 && !NF { exit } NR > 1 { if ($4 != "yes" && ($4 != "no" || NF < 5)) { print; bad = 1 } n++ } END { exit bad || n < 20 }' probes.txt
	grep -qE '^tier +(full|reduced)$' probes.txt
	between "MiB in the kernel" "$(awk '/^memory/ { print $2 }' probes.txt)" 1 192
	grep -qE '^attached +in [0-9.]+ s$' probes.txt
}

@test "a refused program is left out with the reason; -v and -vv show its log" {
	need cc gcc
	cc -shared -fPIC -D_GNU_SOURCE -o refuse.so "$root/tests/lib/refuse.c"
	need_plain "$trace" "they must be the first library"
	export IOT_REFUSE=core__rename # no byte is missing without it
	LD_PRELOAD=$PWD/refuse.so "$trace" --probes > probes.txt
	grep -qE '^all +core__rename +tp_btf/task_rename +no +Permission denied: 1009: \(85\) refused for a test$' probes.txt
	LD_PRELOAD=$PWD/refuse.so "$trace" -q -o "$store" -- dd if=/dev/zero of=f bs=4099 count=23 status=none
	same "bytes" "$(total bytes "kind = 'write' AND comm = 'dd' AND sub = 'regular'")" 94277
	LD_PRELOAD=$PWD/refuse.so "$trace" -v -o run.jsonl -- true 2> brief.log
	[ "$(wc -l < brief.log)" -lt 70 ] || fail "$(wc -l < brief.log) lines"
	grep -qE '^\[[0-9]+ lines are left out: -vv prints them\]$' brief.log
	grep -q '^1009: ' brief.log
	if grep -q '^7: ' brief.log; then fail "the begin of the log"; fi
	LD_PRELOAD=$PWD/refuse.so "$trace" -vv -o run.jsonl -- true 2> whole.log
	same "lines of the log" "$(grep -c '^[0-9]*: (85) refused for a test$' whole.log)" 1009
	if grep -q 'left out' whole.log; then fail "not whole"; fi
	if grep -q 'tier reduced' whole.log; then fail "the full tier does without it"; fi
	IOT_REFUSE=block__complete LD_PRELOAD=$PWD/refuse.so "$trace" --partial -o "$store" -- true 2> reduced.log
	grep -q '^iot-trace: partial: Linux .* refuses program block__complete of layer block .*: Permission denied' reduced.log
	"$analyze" amplification "$store" | grep -q 'horizon .*; tier reduced'
}

@test "a flood of events needs less than 64 MiB of the tracer's memory" {
	need_plain "$trace" "they take memory themselves"
	"$trace" -q -o /dev/null --format jsonl -o "$store" -- dd if=/dev/zero of=/dev/null bs=1 count=1000000 status=none
	between "resident bytes" "$(sql 'SELECT rss_bytes FROM run_end')" 1 67108864
}

@test "the store knows the command, its executable, arguments and accounting" {
	printf 'dd if=/dev/zero of=f bs=4099 count=23 status=none\nsleep 0.5\n' > script
	traced -- sh -e script
	same "command" "$(sql 'SELECT command FROM run')" "sh -e script"
	same "process" "$(sql "SELECT DISTINCT comm, exe, cmdline FROM process WHERE comm = 'sh' AND exe IS NOT NULL AND rchar IS NOT NULL")" \
		"sh $(readlink -f "$(command -v sh)") sh -e script"
	same "wchar" "$(sql "SELECT MAX(wchar) FROM process WHERE comm = 'dd'")" 94277
	same "path" "$(sql "SELECT COUNT(*) FROM file WHERE path = '$PWD/f'")" 1
}

@test "equal reads before an exec are in a program's accounting when it ends" {
	need python3 python3-minimal
	head -c 65536 /dev/zero >f
	traced -- python3 -c 'import os; fd = os.open("f", 0); [os.pread(fd, 1021, i * 1021) for i in range(23)]; os.execv("/bin/true", ["true"])'
	"$analyze" verify "$store" --by pid >verify || fail "$(grep MISMATCH verify)"
	grep -q '^process bytes read .*true \[.* OK' verify || fail "$(cat verify)"
}

@test "a process of a storage system is recognised with its files and latencies" {
	need sqlite3 sqlite3
	sqlite3 known.db 'CREATE TABLE t(a);' > created
	traced -- sqlite3 known.db 'PRAGMA synchronous = FULL; INSERT INTO t VALUES (1);' > inserted
	same "system" "$(sql "SELECT DISTINCT system, matched LIKE 'comm \"sqlite3\"%' FROM process WHERE comm = 'sqlite3'")" "sqlite 1"
	same "component" "$(sql "SELECT DISTINCT component FROM file WHERE path = '$PWD/known.db'")" data
	[ "$(sql "SELECT SUM(n) FROM hist WHERE system = 'sqlite'")" -gt 0 ]
}

@test "a run says that the rules of a system were never run, in the store too" {
	cp "$io" mongod
	traced -- ./mongod --api write --file collection-1.wt --count 3 --size 4096 >/dev/null
	[[ "$(sql "SELECT matched FROM process WHERE system = 'mongodb'")" == *"; rules from documentation, untested" ]]
	"$analyze" components "$store" --table instances --format csv > instances
	grep -q '^mongodb,.*; rules from documentation, untested"\?$' instances || fail "$(cat instances)"
}

# In a mount namespace of its own, where docker keeps the name of the container, if NAME is given.
in_container() { # ID [NAME]
	local group=$hierarchy/docker-$1.scope

	cat >contained <<-'END'
		set -eu
		[ -z "${4:-}" ] || { mount -t tmpfs none /var/lib; mkdir -p "/var/lib/docker/containers/$2"; echo "{\"Name\":\"/$4\"}" >"/var/lib/docker/containers/$2/config.v2.json"; }
		exec "$3" -q -o run.sqlite -- sh -c 'echo $$ >"$1/cgroup.procs"; exec ./redis-server --api write --file f --count 7 --pause 50 --size 4096' sh "$1"
	END
	mkdir "$group"
	unshare -m sh contained "$group" "$1" "$trace" "${2:-}" >/dev/null || { rmdir "$group"; fail "not traced"; }
	rmdir "$group"
	"$analyze" components "$store" --table instances --format csv >instances
}

@test "a process in a container has its id, or the name that docker keeps" {
	local id

	hierarchy=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
	[ -w "${hierarchy:-/nonexistent}/cgroup.procs" ] || skip "a writable hierarchy of control groups (version 2) is missing"
	id=$(printf '%064x' "$BASHPID")
	need objcopy binutils
	printf rdbSaveBackground >mark
	objcopy --add-section .go.buildinfo=mark "$io" redis-server
	in_container "$id"
	same "process" "$(sql "SELECT container FROM process WHERE run = 1 AND comm = 'redis-server'")" "$id"
	grep -q "^redis,(unknown),server,$id,1," instances || fail "$(cat instances)"
	same "others" "$(sql "SELECT COUNT(*) FROM process WHERE container IS NOT NULL AND comm NOT IN ('sh', 'redis-server')")" 0
	in_container "$id" cache
	same "process" "$(sql "SELECT container FROM process WHERE run = 2 AND comm = 'redis-server'")" cache
	grep -q "^redis,(unknown),server,cache,1," instances || fail "$(cat instances)"
}

# Writes a database NAME under a journal that lives for a moment, after some seconds in which it only wrote the database.
keeper() { # NAME SECONDS
	python3 -c '
import os, sys, time
name, journal = sys.argv[1], sys.argv[1] + "-journal"
f = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
os.pwrite(f, bytes(4096), 0)
time.sleep(float(sys.argv[2]))
j = os.open(journal, os.O_RDWR | os.O_CREAT, 0o600)
os.pwrite(j, bytes(512), 0)
os.close(j)
os.unlink(journal)
os.pwrite(f, bytes(4096), 4096)
os.fsync(f)' "$@"
}

@test "an unknown program's database is known by a short-lived journal, at any time" {
	need python3 python3-minimal
	for seconds in 0 5; do
		run_no=$((seconds ? 2 : 1))
		traced -- bash -c "$(declare -f keeper); keeper $PWD/ledger$seconds $seconds"
		same "components" "$(sql "SELECT substr(path, length('$PWD/') + 1), component FROM file WHERE path LIKE '$PWD/ledger$seconds%' AND run = $run_no ORDER BY 1" | paste -sd ,)" \
			"ledger$seconds data,ledger$seconds-journal undo"
		same "process" "$(sql "SELECT DISTINCT system, role, instance FROM process WHERE system IS NOT NULL AND run = $run_no")" "sqlite embedded $PWD/ledger$seconds"
		same "bytes of data" "$(sql "SELECT SUM(i.write_bytes) FROM file_io i JOIN file f ON f.run = i.run AND f.id = i.file WHERE f.component = 'data' AND i.run = $run_no")" 8192
	done
}

@test "a database in memory below /dev is no device: known by a short-lived journal" {
	local dir

	need python3 python3-minimal
	mountpoint -q /dev/shm || skip "/dev/shm is missing"
	dir=$(mktemp -d /dev/shm/iot-test.XXXXXX)
	traced -- bash -c "$(declare -f keeper); keeper $dir/ledger 0" || fail "status $?"
	rm -r "$dir"
	same "components" "$(sql "SELECT substr(path, length('$dir/') + 1), component FROM file WHERE path LIKE '$dir/%' ORDER BY 1" | paste -sd ,)" \
		"ledger data,ledger-journal undo"
	same "process" "$(sql "SELECT DISTINCT system, role, instance FROM process WHERE system IS NOT NULL")" "sqlite embedded $dir/ledger"
}

@test "a process that makes a database and ends at once is known by it" {
	cat > make.py <<-'END'
		import sys, time
		log = open(sys.argv[1] + "/000003.log", "wb", buffering=0)
		log.write(bytes(4099))
		time.sleep(0.4) # it is looked at now: no database yet
		for name in "CURRENT", "LOCK":
		    open(sys.argv[1] + "/" + name, "w").close()
		log.write(bytes(1009))
	END
	mkdir db
	"$trace" -q -o "$store" -- python3 make.py db
	same "system" "$(sql "SELECT system, role FROM process WHERE cmdline LIKE '%make.py db' AND system IS NOT NULL")" "leveldb embedded"
	same "component" "$(sql "SELECT component FROM file WHERE path LIKE '%/db/000003.log'")" wal
}

@test "losses are in every run, those that did not happen as 0" {
	traced -- true
	same "rows" "$(sql 'SELECT COUNT(*) FROM lost')" "$(grep -c '^LOSS(' "$root/bpf/kinds.def")"
}

@test "the text has the layer's word in its own column only, for any process name" {
	cp "$(command -v dd)" 'my OS DEVICE'
	"$trace" -q -o out.txt --format text -- './my OS DEVICE' if=/dev/zero of=f bs=4099 count=23 conv=fsync status=none
	for word in APPLICATION STORAGE_SVC OS FILESYSTEM DEVICE; do
		same "$word" "$(grep -c "$word" out.txt)" "$(awk -v w="$word" '$2 == w' out.txt | wc -l)"
	done
	same "bytes" "$(grep "APPLICATION.*my_os_device.*WRITE" out.txt | awk '{ sum += $5 } END { print sum }')" 94277
	same "OS lines are the application's reads and writes" "$(awk '$2 == "OS"' out.txt | wc -l)" \
		"$(awk '$2 == "APPLICATION" && $8 ~ /READ|WRITE/' out.txt | wc -l)"
}

@test "times never go back, although processors deliver out of order" {
	"$trace" -q -o out.txt --format table -- sh -c 'for f in 1 2 3; do dd if=/dev/zero of=f$f bs=1 count=20011 status=none & done; wait'
	[ "$(grep -c SYSCALL_WRITE out.txt)" -ge 60033 ]
	awk 'NR > 1 { print $1 }' out.txt | sort -c
}

@test "the text's columns are those of its header, its times never go back" {
	"$trace" -q -o out.txt --format text -- dd if=/dev/zero of=f bs=4k count=501 oflag=sync status=none
	same "header" "$(head -n 1 out.txt)" "TIME             LAYER        EVENT                        SIZE ALIGNED LAT(μs) COMM            FLAGS"
	same "line" "$(sed -n 2p out.txt)" "$(printf '=%.0s' $(seq 72))"
	awk 'NR > 2 { if ($1 !~ /^[0-9][0-9]:[0-9][0-9]:[0-9][0-9]\.[0-9][0-9][0-9]$/ || NF < 8 || $4 !~ /^[0-9]+$/ || $5 !~ /^[0-9]+$/ ||
		$6 !~ /^([0-9]+\.[0-9][0-9]|-)$/ || $8 !~ /^\[[A-Z]+\]$/) { print; bad = 1 } } END { exit bad }' out.txt
	awk 'NR > 2' out.txt | cut -c1-12 | sort -c
	same "writes" "$(grep -c 'APPLICATION.*APP_WRITE ' out.txt)" 501
}

@test "calls on components have lines of their own that move no other sum" {
	body() {
		"$trace" -q -o "$store" -o out.txt --format text -- sh -c '
			sqlite3 "$IOT_MNT/t.db" "PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(40990)); INSERT INTO t VALUES(1)"
			dd if=/dev/zero of="$IOT_MNT/f" bs=4096 count=23 oflag=direct status=none' >sqlite.log
		# the lines of writes, and of the same calls in the store
		lines() { awk -v layer="$1" '$2 == layer && $7 == "sqlite3" && $8 == "[WRITE]" { n++; size += $4; aligned += $5 } END { print n, size, aligned }' out.txt; }
		called=$(sql "SELECT COUNT(*), SUM(bytes), SUM(bytes) FROM v_event WHERE system = 'sqlite' AND layer = 'syscall' AND dir = 'w' AND sub = 'regular' AND component IS NOT NULL")
		same "lines of the system" "$(lines STORAGE_SVC)" "$called"
		same "lines of calls" "$(lines APPLICATION)" "$(sql "SELECT COUNT(*), SUM(bytes), SUM(bytes) FROM v_event WHERE owner_comm = 'sqlite3' AND layer = 'syscall'
			AND dir = 'w' AND sub = 'regular'")"
		same "events of the layer" "$(sql "SELECT COUNT(*), SUM(bytes), SUM(bytes) FROM v_storage WHERE kind = 'svc_write'")" "$called"
		same "sums of the layer" "$(sql "SELECT SUM(write_ops), SUM(write_bytes), SUM(write_bytes) FROM v_storage_total WHERE system = 'sqlite'")" "$called"
		same "events by kind" "$(sql "SELECT kind, COUNT(*) FROM v_storage GROUP BY 1")" "$(awk '$2 == "STORAGE_SVC" { n[tolower($3)]++ } END { for (k in n) print k, n[k] }' out.txt | sort)"
		same "rows of the report" "$("$analyze" amplification "$store" --table layers --format tsv | awk -F'\t' '$4 == "storage" && $5 == "write" { print $6, $8, $8, $9 }')" "$called derived"
		same "S, where the layer is in no total" "$("$analyze" sql "$store" "SELECT S FROM v_volume WHERE what = 'all'" --format tsv | tail -n 1)" \
			"$(sql "SELECT SUM(bytes) FROM v_event WHERE owner > 2 AND layer = 'syscall' AND dir = 'w' AND sub = 'regular'")"
		grep -qE '^[0-9:.]+ STORAGE_SVC  SVC_WRITE +[0-9]+ +[0-9]+ +[0-9.]+ sqlite3 +\[WRITE\] sqlite wal$' out.txt
		grep -qE '^[0-9:.]+ STORAGE_SVC  SVC_SYNC .* sqlite data$' out.txt
		for layer in APPLICATION OS FILESYSTEM DEVICE; do
			same "$layer" "$(grep -c "$layer" out.txt)" "$(awk -v l="$layer" '$2 == l' out.txt | wc -l)"
		done
		dd=$(sql "SELECT pid FROM process WHERE comm = 'dd' LIMIT 1")
		same "dd's own requests: $(grep -m 2 "DEVICE .* dd " out.txt), $dd" "$(grep -cE "DEVICE .* dd .* direct by $dd$" out.txt)" 23
		empty "requests without a thread" "$(grep DEVICE out.txt | grep -v ' by [0-9][0-9]*$' || :)"
	}
	need sqlite3 sqlite3
	with_fs ext4 256M -- body
}

@test "a database is known by its log, which is gone before the tracer looks for it" {
	need sqlite3 sqlite3
	# shellcheck disable=SC2016 # the traced shell's
	"$trace" -q -o "$store" -o out.txt --format text -- sh -c 'kill -STOP $PPID
		sqlite3 t.db "PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(40990))" >/dev/null
		kill -CONT $PPID; sleep 0.6'
	same "lines" "$(awk '$2 == "STORAGE_SVC" && $7 == "sqlite3" && $8 == "[WRITE]" { n++; size += $4 } END { print n, size }' out.txt)" \
		"$(sql "SELECT COUNT(*), SUM(bytes) FROM v_storage WHERE kind = 'svc_write'")"
	same "of the database" "$(awk '$2 == "STORAGE_SVC" && $8 == "[WRITE]" && / sqlite data$/ { n++ } END { print (n > 0) }' out.txt)" 1
}

@test "the table has a line for each operation: bytes asked for and returned" {
	"$trace" -q -o out.txt --format table -- sh -c 'dd if=/dev/zero of=f bs=4099 count=23 status=none; cat nothing-there 2> /dev/null || :'
	same "header" "$(head -n 1 out.txt | tr -s ' ')" "TIME SYSTEM EVENT_TYPE PID TID COMM SIZE OFFSET LAT(us) RET"
	same "writes" "$(awk '$3 == "SYSCALL_WRITE" && $6 == "dd" && $7 == 4099 && $10 == 4099' out.txt | wc -l)" 23
	[ "$(awk '$3 == "SYSCALL_OPEN" && $6 == "cat" && $10 == -2' out.txt | wc -l)" -ge 1 ]
}

@test "working_trace.sh writes text and a store of the same run, from any folder" {
	ln -s "$root/working_trace.sh" trace-here
	IOT_STORE=$store ./trace-here 1.5 out.txt 2> err.log
	same "lines on stderr that say it records" "$(grep -c 'recording, attached' err.log)" 1
	[ "$(wc -l < out.txt)" -ge 2 ]
	same "ends" "$(sql 'SELECT COUNT(*) FROM run_end')" 1
	same "mode" "$(stat -c %a out.txt)" 600
}

@test "an old JSON Lines file is written anew, and a store gets one more run" {
	for _ in 1 2; do "$trace" -q -o run.jsonl -o "$store" -- true; done
	same "runs in the file" "$(grep -c '"t":"run"' run.jsonl)" 1
	same "runs in the store" "$(sql 'SELECT COUNT(*) FROM run')" 2
}

@test "files in memory never go dirty: D is 0, and the ledger closes" {
	mkdir small
	mount -t tmpfs none small
	mounted=$PWD/small
	"$trace" -q -o "$store" -- dd if=/dev/zero of=small/file bs=4096 count=100 status=none
	same "D" "$(sql "SELECT SUM(touched), SUM(dirtied), SUM(dirty_end) FROM ledger")" "409600 0 0"
	"$analyze" verify "$store" > verify.txt || fail "$(grep MISMATCH verify.txt)"
}

@test "devices carry their type, file system, mount and parent" {
	body() {
		traced -- dd if=/dev/zero of="$IOT_MNT/f" bs=4099 count=23 conv=fsync status=none
		same "device" "$(sql "SELECT name, type, leaf, fs, mount FROM device WHERE name = '${IOT_DEV#/dev/}'")" \
			"${IOT_DEV#/dev/} loop 1 ext4 $IOT_MNT"
		same "counters" "$(sql "SELECT COUNT(*) FROM truth t JOIN device d ON d.dev = t.dev AND d.run = t.run
			WHERE d.name = '${IOT_DEV#/dev/}' AND t.what IN ('read_bytes', 'write_bytes', 'session_write_bytes')")" 3
	}
	with_fs ext4 64M -- body
}

@test "a long trace does not push the measured pages out of the page cache" {
	need fincore util-linux-extra
	body() {
		dd if=/dev/zero of=cached bs=1M count=1 status=none
		"$trace" -q -o "$IOT_MNT/run.jsonl" -- "$io" --api pread --file cached --count 1500000 --span 256 > /dev/null
		size=$(stat -c %s "$IOT_MNT/run.jsonl")
		between "bytes of the trace" "$size" 270000000 400000000
		between "bytes of it in memory" "$(fincore -nrbo RES "$IOT_MNT/run.jsonl")" 0 $((size * 2 / 3))
		between "events" "$(grep -c '"kind":"pread64"' "$IOT_MNT/run.jsonl")" 1500000 1501000 # and those that load it
	}
	with_fs ext4 1G -- body
}
