# SPDX-License-Identifier: GPL-3.0-only
# ready.bats - a program that waits for the begin of recording gets its notice then, not earlier, and in no other way.

load ../lib/helper

setup() {
	own_run
	pids=()
}

teardown() {
	[ "${#pids[@]}" = 0 ] || kill "${pids[@]}" 2>/dev/null || :
}

lacks() { [ ! -e "$1" ]; }

@test "a descriptor gets one line, and the command does not have it" {
	"$trace" --layers syscall -q --ready 5 -o run.jsonl -- sh -c '[ ! -e /proc/self/fd/5 ]; echo $? >status' 5>line
	grep -qE '^ready [0-9]+\.[0-9]{2}$' line || fail "$(<line)"
	same "lines" "$(wc -l <line)" 1
	same "the command has it" "$(<status)" 0
	"$trace" --layers syscall -q --ready 1 -o run.jsonl -- true >line
	grep -qE '^ready [0-9]+\.[0-9]{2}$' line || fail "standard output: $(<line)"
}

@test "a file appears when recording has begun; all from then on is recorded" {
	echo "ready 7.00" >began
	mkfifo wait
	"$trace" --layers syscall -q --ready began -o wait --format jsonl -o "$store" --settle none 3>&- &
	pids+=($!)
	until_true lacks began
	sleep 0.3
	[ ! -e began ] || fail "it is there before the outputs are open"
	cat wait >run.jsonl 3>&- &
	until_true test -e began
	cp "$(command -v dd)" dd-ready # everybody is traced, other tests' dd too
	./dd-ready if=/dev/zero of=f bs=4099 count=23 status=none
	kill -INT "${pids[0]}"
	wait "${pids[0]}"
	pids=()
	same "bytes" "$(total bytes "kind = 'write' AND comm = 'dd-ready' AND sub = 'regular'")" 94277
	grep -qE '^ready [0-9]+\.[0-9]{2}$' began || fail "$(<began)"
	same "mode" "$(stat -c %a began)" 600
}

@test "a FIFO gets the line; who does not wait any more does not end the run" {
	mkfifo fifo
	cat fifo >line 3>&- &
	pids+=($!)
	"$trace" --layers syscall -q --ready fifo -o run.jsonl -- true
	wait "${pids[0]}"
	pids=()
	grep -qE '^ready [0-9]+\.[0-9]{2}$' line || fail "$(<line)"
	exec 5> >(:)
	sleep 0.3
	"$trace" --layers syscall --ready 5 -o run.jsonl -- true 2>err
	exec 5>&-
	grep -q "nobody waits any more at --ready 5" err
}

@test "a notice that cannot be given is refused before anything is recorded" {
	echo "ready or not" >earlier
	echo mine >mine
	mkdir folder
	ln -s nowhere/x dangling
	for case in "2 '' is empty" "2 9 9=is not open" "2 3 cannot be written" "1 mine is there already" "1 none/x No such file" \
		"1 folder Is a directory" "1 dangling No such file" "1 run.jsonl is there already"; do
		read -r status name said <<<"$case"
		[ "$name" != "''" ] || name=
		echo kept >run.jsonl
		got=0
		"$trace" --layers syscall -q --ready "$name" -o run.jsonl -- touch ran 2>err 3</dev/null 9>&- || got=$?
		same "status of '$name'" "$got" "$status"
		same "lines of '$name'" "$(wc -l <err)" 1
		grep -qF -- "${said#9=}" err || fail "'$name': $(<err)"
		same "output" "$(<run.jsonl)" kept
	done
	same "mine" "$(<mine)" mine
	[ ! -e ran ]
	got=0
	"$trace" --layers syscall --ready a --ready b -- true 2>err || got=$?
	same "status of two" "$got" 2
	grep -q "given twice" err
	"$trace" --layers syscall -q --ready earlier -o run.jsonl -- true
	grep -qE '^ready [0-9]+\.[0-9]{2}$' earlier
}

@test "a run that cannot begin leaves no file, and removes none but an earlier run's" {
	mkdir small
	"$trace" --layers syscall -q --ready began -o run.jsonl -- ./none 2>err || :
	[ ! -e began ]
	printf 'x' >broken
	chmod +x broken
	got=0
	"$trace" --layers syscall -q --ready began -o none/run.jsonl -- true 2>err || got=$?
	same status "$got" 1
	[ ! -e began ]
}

# The message that a service manager gets in its socket, as one line; "nothing" when the tracer has ended.
manager() { # ADDRESS TRACER-ARGUMENTS...
	python3 - "$@" <<'PY'
import os, socket, subprocess, sys
address = sys.argv[1]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\0" + address[1:] if address[0] == "@" else address)
subprocess.run(sys.argv[2:], env=dict(os.environ, NOTIFY_SOCKET=address), check=True)
s.settimeout(0)
try:
    print(s.recv(4096).decode().replace("\n", "|"))
except BlockingIOError:
    print("nothing")
PY
}

@test "the service manager hears READY=1 once; with a command nothing" {
	need python3 python3-minimal
	for address in "$PWD/socket" "@iot-ready-$$-$BATS_TEST_NUMBER"; do
		[[ $(manager "$address" "$trace" --layers syscall -q -d 0.1 -o run.jsonl) =~ ^READY=1\|STATUS=recording,\ attached\ in\ [0-9.]+\ s\|$ ]]
	done
	rm socket
	same "with a command" "$(manager "$PWD/socket" "$trace" --layers syscall -q -o run.jsonl -- true)" nothing
	rm socket
	for address in "$PWD/none" relative "/$(printf '%0200d' 1)"; do
		NOTIFY_SOCKET=$address "$trace" --layers syscall -d 0.1 -o run.jsonl 2>err
		grep -q "manager of services" err || fail "$address: $(<err)"
	done
}

@test "-q says when recording began if that took more than a second, and only then" {
	mkfifo wait
	"$trace" --layers syscall -q -o wait --format jsonl -- true 2>err 3>&- &
	pids+=($!)
	sleep 1.1
	cat wait >run.jsonl
	wait "${pids[0]}"
	pids=()
	same "said" "$(sed -E 's/[1-9][0-9]*\.[0-9]{2} s/N s/' err)" "iot-trace: recording, attached in N s"
	"$trace" --layers syscall -q -o run.jsonl -- true 2>err
	[ ! -s err ] || grep -qE '^iot-trace: recording, attached in [1-9][0-9]*\.[0-9]{2} s$' err || fail "$(<err)"
}
