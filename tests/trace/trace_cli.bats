# SPDX-License-Identifier: GPL-3.0-only
# trace_cli.bats - the command line of iot-trace: wrong usage is one line with its exit status.

load ../lib/helper

setup() {
	cd "$BATS_TEST_TMPDIR"
	pids=()
}

teardown() {
	[ "${#pids[@]}" = 0 ] || kill "${pids[@]}"
}

# One line on stderr that names the thing, nothing on stdout, and this status.
refuses() { # STATUS TEXT ARGS...
	local want=$1 text=$2 status=0

	shift 2
	timeout 60 "$trace" "$@" > out.log 2> err.log || status=$?
	same "status of $*" "$status" "$want"
	same "lines for $*" "$(wc -l < err.log)" 1
	grep -qF -- "$text" err.log || fail "$*: '$(cat err.log)' does not say '$text'"
	empty "output" "$(cat out.log)"
}

@test "--help lists each option of the table exactly once, and each is taken" {
	"$trace" --help > help.txt
	mapfile -t names < <(sed -nE "s/^\t\{ ('.'|0), \"([a-z-]+)\".*/\2/p" "$root/tracer/options/options.c")
	[ "${#names[@]}" -ge 18 ]
	for name in "${names[@]}"; do
		same "--$name in the help" "$(grep -cE -- "--$name([ =[]|\$)" help.txt)" 1
		"$trace" "--$name" '' -- > /dev/null 2> err.log || :
		if grep -q "unknown option" err.log; then fail "--$name is unknown"; fi
	done
	same "options in the help" "$(grep -cE '^ +(-., )?--' help.txt)" "${#names[@]}"
}

@test "the manual describes each option that --help lists" {
	"$trace" --help | sed -nE 's/^ +(-., )?(--[a-z-]+).*/\2/p' > options.txt
	[ -s options.txt ]
	while read -r option; do
		grep -qF -- "$(sed 's/-/\\-/g' <<< "$option")" "$root/tracer/iot-trace.8" || fail "$option is not in iot-trace.8"
	done < options.txt
}

@test "--version: the version, then whose the objects, program, libbpf and types are" {
	"$trace" --version >version.txt
	[[ $(head -n 1 version.txt) =~ ^iot-trace\ [0-9]+\.[0-9]+$ ]]
	grep -qE '^kernel objects: clang [0-9.]+[^ ]*, for (x86|arm64)(, prebuilt)?$' version.txt
	grep -qE '^program: (gcc|.*[Cc]lang) .*, headers of libbpf [0-9]+\.[0-9]+$' version.txt
	grep -qE '^libbpf: [0-9]+\.[0-9]+' version.txt
	grep -qxF "kernel types: /sys/kernel/btf/vmlinux of Linux $(uname -r)" version.txt || [ ! -r /sys/kernel/btf/vmlinux ]
}

@test "an unknown option, layer or format, or a word too many, is status 2" {
	refuses 2 "unknown option '--nonsense'" --nonsense
	refuses 2 "unknown option '-Z'" -Z
	refuses 2 "unknown option '-qZv'" -qZv
	refuses 2 "unknown option '--dur'" --dur 5 -- true
	refuses 2 "unknown layer 'disc'" --layers block,disc
	refuses 2 "unknown layer ''" --layers block,
	refuses 2 "unknown format 'xml'" --format xml
	refuses 2 "'dd' is not an option" dd
	refuses 2 "'-' is not an option" -
	refuses 2 "no command" --
	refuses 2 "option --duration needs a value: SECONDS" -d
	refuses 2 "option --duration needs a value: SECONDS" -qd
	refuses 2 "takes no value" --all=1
}

@test "a value stands behind its option or behind =; letters may stand together" {
	refuses 2 "no file of rules '/none'" --systems /none
	refuses 2 "no file of rules '/none'" --systems=/none
	refuses 2 "name of a file of rules is empty" --systems ''
	refuses 2 "unknown layer '--'" --systems -l -- true
	refuses 2 "unknown layer '--'" -qvl--
	refuses 2 "no command behind --" --label -- --
	[[ $("$trace" --systems --version) == iot-trace* ]]
}

@test "a duration that is not a number of seconds above 0 is refused with status 2" {
	for d in abc '' -1 +1 1s 1e3 0x10 0 0.0 ' 5' '5 ' 1. .5 1..2 1,5 99999999999999999999 400000000 nan inf; do
		refuses 2 "duration '$d'" -d "$d" -- true
		refuses 2 "duration '$d'" --duration="$d"
	done
}

@test "a settle or a ring size that is not a number is refused with status 2" {
	for s in soon '' -1 0 1x; do refuses 2 "settle '$s'" --settle "$s"; done
	for r in 3M 0 1 -4K 4T 16MM 18446744073709551616 2G ''; do refuses 2 "ring size '$r'" --ring "$r"; done
}

@test "an output of unknown format, named twice, or nameless is status 2" {
	refuses 2 "run.txt" -o run.txt
	refuses 2 "given twice" -o a.jsonl -o a.jsonl
	refuses 2 "empty" -o ''
	[ ! -e run.txt ] && [ ! -e a.jsonl ]
}

@test "a process, disk, control group, system or rules that do not exist are status 2" {
	refuses 2 "there is no process 4194305" --pid 4194305
	refuses 2 "process id '1x'" --pid 1x
	refuses 2 "process id '0'" --pid 0
	refuses 2 "1 to 15 bytes" --comm a-name-of-16-byte
	refuses 2 "1 to 15 bytes" --comm ''
	refuses 2 "there is no disk 'nodisk'" --dev nodisk
	refuses 2 "there is no disk '4095:1'" --dev 4095:1
	refuses 2 "'../vda' is not the name of a disk" --dev ../vda
	disk=$(for d in /sys/block/*/mq; do basename "${d%/mq}"; break; done) # one that has requests
	refuses 2 "two disks, $disk and $disk" --dev "$disk" --dev "$disk"
	if grep -q ' - cgroup2 ' /proc/self/mountinfo; then refuses 2 "no control group 'no/such'" --cgroup no/such; fi
	refuses 2 "no file of rules 'no/such.json'" --systems no/such.json
	refuses 2 "the name of a file of rules is empty" --systems=
	refuses 2 "unknown storage system 'nonesuch'" --system nonesuch -- true
	refuses 2 "unknown storage system 'nonesuch'" --system nonesuch --systems
}

@test "--systems with --system lists only that system's processes, by any alias" {
	local name others

	need objcopy binutils
	printf 'PostmasterMain etcd Version: %%s' >mark
	for name in postgres etcd; do
		objcopy --add-section .go.buildinfo=mark "$(readlink -f "$(command -v sleep)")" "$name"
		"./$name" 30 &
		pids+=($!)
		timeout 10 sh -c 'until grep -qx "$1" "/proc/$2/comm"; do sleep 0.05; done' sh "$name" "$!"
	done
	"$trace" --systems >all
	"$trace" --systems --system pg >one
	grep -q "^${pids[0]} .*postgresql" all && grep -q "^${pids[1]} .*etcd" all || fail "$(cat all)"
	grep -q "^${pids[0]} .*postgresql" one || fail "$(cat one)"
	others=$(awk '$1 ~ /^[0-9]+$/ && $2 != "of" && $2 != "postgresql" && $2 != "(postgresql)"' one) # in brackets: another test's, which claims to be one
	empty "other systems" "$others"
	grep -qE '^[1-9][0-9]* of [0-9]+ processes belong to postgresql$' one || fail "$(cat one)"
}

@test "without root the missing capabilities are named, with status 1" {
	need_root
	need setpriv util-linux
	chmod 711 .
	status=0
	setpriv --reuid=65534 --regid=65534 --clear-groups "$trace" -d 1 -o - > out.log 2> err.log || status=$?
	same status "$status" 1
	grep -q "CAP_BPF and CAP_PERFMON missing" err.log
	same "lines" "$(wc -l < err.log)" 1
	empty "output" "$(cat out.log)"
}

@test "root without one capability is told which, with status 1" {
	need_root
	need setpriv util-linux
	status=0
	setpriv --bounding-set=-perfmon "$trace" -d 1 -o run.jsonl 2> err.log || status=$?
	same status "$status" 1
	grep -q "CAP_PERFMON missing" err.log
	if grep -q CAP_BPF err.log; then fail "CAP_BPF is there"; fi
	[ ! -e run.jsonl ]
}

@test "CAP_BPF and CAP_PERFMON are enough to record" {
	need_tracer
	need setpriv util-linux
	setpriv --bounding-set=-all,+bpf,+perfmon "$trace" -q -o run.jsonl -- true
	tail -n 1 run.jsonl | grep -q '"t":"end"'
}

@test "a kernel without types is named, with status 1" {
	need_root
	[ -d /sys/kernel/btf ] || skip "BTF is missing: this kernel has no /sys/kernel/btf"
	status=0
	unshare --mount sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$0" -d 1 -o -' "$trace" > out.log 2> err.log || status=$?
	same status "$status" 1
	grep -q /sys/kernel/btf/vmlinux err.log
	same "lines" "$(wc -l < err.log)" 1
}

@test "a command that does not exist is 127, one that cannot run 126; no output" {
	need_root
	echo old > run.jsonl
	echo 'true' > not-executable
	for c in no-such-command ./no-such-command /no/such/command not-executable/x ''; do
		refuses 127 "cannot run command '$c'" -o run.jsonl -- "$c"
	done
	for c in ./not-executable "$PWD"; do refuses 126 "cannot run command '$c'" -o run.jsonl -- "$c"; done
	same "the old file" "$(cat run.jsonl)" old
}

@test "a script whose interpreter does not exist is 127 with its name" {
	need_tracer
	printf '#!/no/such/interpreter\n' > script
	chmod +x script
	status=0
	"$trace" -q -o a.jsonl -- ./script 2> err.log || status=$?
	same status "$status" 127
	grep -q "cannot run command './script'" err.log
}

@test "an output folder that does not exist or cannot be written is named: status 1" {
	need_root
	for format in jsonl sqlite; do
		refuses 1 "no/such/run.$format" -o "no/such/run.$format" -- true
		refuses 1 "/proc/run.$format" -o "/proc/run.$format" -- true
	done
	mkdir folder.jsonl
	refuses 1 folder.jsonl -o folder.jsonl -- true
	status=0
	unshare --mount sh -c 'mkdir ro && mount -t tmpfs -o ro none ro && exec "$0" -o ro/run.jsonl -- true' "$trace" 2> err.log || status=$?
	same status "$status" 1
	grep -q "ro/run.jsonl" err.log
}

@test "an output through a planted symlink is refused, in the folder and in the name" {
	need_root
	mkdir -m 1777 shared
	mkdir mine
	echo precious > mine/file.jsonl
	ln -s "$PWD/mine" shared/folder
	ln -s "$PWD/mine/file.jsonl" shared/run.jsonl
	ln -s "$PWD/mine/new.sqlite" shared/run.sqlite
	chown -h 65534 shared/folder shared/run.jsonl shared/run.sqlite
	for path in shared/folder/file.jsonl shared/folder/new.sqlite shared/run.jsonl shared/run.sqlite; do
		refuses 1 "$path" -o "$path" -- true
	done
	same "the file behind" "$(cat mine/file.jsonl)" precious
	[ ! -e mine/new.sqlite ]
}

@test "a file with a second name is not written over" {
	need_root
	echo precious > file
	ln file run.jsonl
	refuses 1 "run.jsonl" -o run.jsonl -- true
	same "the file" "$(cat file)" precious
}

@test "a foreign file is not taken for a store, with status 1" {
	need_root
	echo "not a database, but a file of somebody's" > run.sqlite
	status=0
	timeout 60 "$trace" -o run.sqlite -- true 2> err.log || status=$?
	same status "$status" 1
	grep -q "run.sqlite" err.log
	same "the file" "$(cat run.sqlite)" "not a database, but a file of somebody's"
}

@test "without iot-analyze a run without outputs is refused before it starts" {
	need_root
	cp "$trace" ./alone
	status=0
	PATH=/usr/sbin:/sbin ./alone -- /usr/bin/touch ran 2> err.log || status=$?
	if PATH=/usr/sbin:/sbin command -v iot-analyze > /dev/null; then skip "iot-analyze is installed"; fi
	same status "$status" 1
	grep -q iot-analyze err.log
	[ ! -e ran ]
}

@test "working_trace.sh with three arguments says how it is used, with status 2" {
	status=0
	"$root/working_trace.sh" 5 a b 2> err.log || status=$?
	same status "$status" 2
	grep -q "usage: working_trace.sh \[DURATION \[OUTFILE\]\]" err.log
	status=0
	"$root/working_trace.sh" soon out.txt 2> err.log || status=$?
	same status "$status" 2
	grep -q "duration 'soon'" err.log
}

@test "an ordinary user is prompted by sudo; the output belongs to that user" {
	need_root
	need setpriv util-linux
	setpriv=$(command -v setpriv)
	chmod 711 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_TEST_TMPDIR"
	mkdir -m 777 his
	mkdir bin
	# shellcheck disable=SC2016 # the other shell expands them
	printf '#!/bin/sh\necho "as root: $*"\n' >bin/sudo
	chmod 755 bin bin/sudo
	cp "$root/working_trace.sh" bin/
	as_user() { (cd his && env PATH="$1" "$setpriv" --reuid=65534 --regid=65534 --clear-groups "${@:2}"); }
	as_user "$PATH" test -x ../bin/sudo || skip "the folder of this test cannot be entered by others"
	as_user "$BATS_TEST_TMPDIR/bin:$PATH" ../bin/working_trace.sh
	same "asked" "$(cat his/trace.txt)" "as root: -- iot-trace -d 5 --format text -o -"
	same "whose it is" "$(stat -c '%u %a' his/trace.txt)" "65534 600"
	as_user "$BATS_TEST_TMPDIR/bin:$PATH" env IOT_STORE=run.sqlite ../bin/working_trace.sh 0.5 "a b"
	same "asked" "$(cat "his/a b")" "as root: -- iot-trace -d 0.5 --format text -o - -o run.sqlite"
	# a file of the user is created again, for the user alone; a file without content is written through; a stranger's is refused
	chmod 666 his/trace.txt
	as_user "$BATS_TEST_TMPDIR/bin:$PATH" ../bin/working_trace.sh 7
	same "anew" "$(cat his/trace.txt) $(stat -c '%u %a' his/trace.txt)" "as root: -- iot-trace -d 7 --format text -o - 65534 600"
	as_user "$BATS_TEST_TMPDIR/bin:$PATH" ../bin/working_trace.sh 7 /dev/null
	mkdir -m 1777 sticky
	: >other
	chmod 666 other
	mkfifo -m 666 sticky/fifo
	: >sticky/file
	ln -s ../other sticky/link
	ln -s nowhere sticky/none
	chown -h 1 sticky/* other
	chmod 666 sticky/file
	for name in fifo file link none; do
		status=0
		as_user "$BATS_TEST_TMPDIR/bin:$PATH" timeout 10 ../bin/working_trace.sh 7 ../sticky/$name 2>err.log || status=$?
		same "status of $name" "$status" 1
		grep -q "will not write to .*sticky/$name, which belongs to somebody else" err.log
	done
	[ ! -s sticky/file ] && [ ! -s other ] && [ ! -e sticky/nowhere ]
	# who comes between the look and the opening gets not a byte
	sed '/^umask 077$/s|$|; echo >../go; read -r _ <../done|' bin/working_trace.sh >bin/slow.sh
	chmod 755 bin/slow.sh
	mkfifo -m 666 go done
	(
		read -r _ <go
		"$setpriv" --reuid=1 --regid=1 --clear-groups mkfifo -m 666 sticky/late
		echo >done
		"$setpriv" --reuid=1 --regid=1 --clear-groups timeout 10 cat sticky/late >late.txt
	) 3>&- &
	status=0
	as_user "$BATS_TEST_TMPDIR/bin:$PATH" timeout 10 ../bin/slow.sh 7 ../sticky/late 2>err.log || status=$?
	wait $!
	empty "what the stranger read" "$(cat late.txt)"
	same "status of what came late" "$status" 1
	grep -q "will not write to .*sticky/late, which belongs to somebody else" err.log
	mkdir empty
	for program in sh id dirname readlink stat; do ln -s "$(command -v $program)" empty/; done
	chmod 755 empty
	status=0
	as_user "$BATS_TEST_TMPDIR/empty" /bin/sh ../bin/working_trace.sh 1 none.txt 2>err.log || status=$?
	same status "$status" 1
	grep -q "there is no sudo to ask" err.log
	[ ! -e his/none.txt ]
}

@test "the manual says how much memory of the kernel a run takes, to a twentieth" {
	need_tracer
	[ "$(cat /sys/devices/system/cpu/possible)" = 0-1 ] || skip "a machine with two processors is missing: the figure is of one"
	! losetup -n -l | grep -q . || skip "a machine without loop devices that are attached is missing: what is written to them has a larger table then"
	! grep -qE ' (xfs|btrfs) ' /proc/mounts || skip "a machine without XFS and btrfs is missing: their tables come when one is mounted"
	said=$(sed -nE 's/.*The kernel holds ([0-9]+) MiB.*/\1/p' "$root/tracer/iot-trace.8")
	has=$("$IOT_BUILD/iot-trace" --probes | awk '$1 == "memory" { print int($2 + 0.5) }')
	((has * 100 >= said * 95 && has * 100 <= said * 105)) || fail "the manual says $said MiB, a run takes $has MiB"
}

@test "a closed standard descriptor is given to no file, and its output is an error" {
	need_tracer
	cd "$BATS_TEST_TMPDIR"
	printf '#!/bin/sh\necho "a word"\necho "a word" >&2\nexit 7\n' >speak
	chmod +x speak
	for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
		rm -rf run.* again.sqlite
		status=0
		eval "\"\$trace\" -v -o run.jsonl -o run.sqlite -- ./speak $closed" >out 2>err || status=$?
		same "status with $closed" "$status" 7
		same "runs with $closed" "$(sqlite3 run.sqlite 'SELECT COUNT(*) FROM run_end')" 1
		eval "\"\$analyze\" ingest again.sqlite run.jsonl $closed" || fail "the stream of a run with $closed"
		same "words with $closed" "$(grep -c 'a word' run.jsonl run.sqlite | paste -sd' ')" "run.jsonl:0 run.sqlite:0"
	done
	for command in '"$trace" -q -o - -- true' '"$trace" --probes' '"$trace" --help' '"$analyze" runs run.sqlite' '"$analyze" --help' '"$analyze" ingest new.sqlite <&-'; do
		status=0
		eval "$command >&-" 2>err || status=$?
		same "status of $command" "$status" 1
		grep -q 'Bad file descriptor' err || fail "$command: $(cat err)"
	done
}

@test "a limit of 64 descriptors is the command's: the tracer has what it needs" {
	need_tracer
	(ulimit -Sn 64; exec "$trace" -q -o run.sqlite -- sh -c 'ulimit -Sn; ulimit -Hn') > limits.txt
	same "limits of the command" "$(tr '\n' ' ' < limits.txt)" "64 $(ulimit -Hn) "
}

@test "a umask of 777 is the command's, not the outputs'; a small stack holds a message" {
	need_tracer
	(umask 777; exec "$trace" -q -o run.sqlite -o run.jsonl -- sh -c 'umask >&2') 2> umask.txt
	same "modes" "$(stat -c %a run.sqlite run.jsonl | tr '\n' ' ')" "600 600 "
	same "umask of the command" "$(messages umask.txt)" 0777
	need_plain "$trace" "its frames are larger"
	run bash -c 'ulimit -s 64; exec "$@"' - "$trace" --nope
	same "message" "$status $output" "2 iot-trace: unknown option '--nope': try 'iot-trace --help'"
}
