# SPDX-License-Identifier: GPL-3.0-only
# helpers.bats - a second user who makes root's tracer wait: for the memory of a process, for the file of its program, for a mount.
# The tracer does not wait: helpers look (ask.h), and are left behind where they hang.

load ../lib/helper
bats_require_minimum_version 1.5.0

STRANGER=12345 # a number is enough: no account

setup() {
	need_tracer
	need bindfs bindfs
	need unshare util-linux
	need cc gcc
	place=$(mktemp -d "$IOT_IMG_DIR/helpers.XXXXXX")
	store=$place/run.sqlite
	cd "$place" || return 1
	mkdir r v up work over
	chmod 711 .
	chown $STRANGER:$STRANGER r v up work over
	cc -D_GNU_SOURCE -o "$place/stuck" "$root/tests/trace/stuck.c" -pthread
	setpriv --reuid=$STRANGER --regid=$STRANGER --clear-groups unshare -Urm true 2>/dev/null || skip "users may not make namespaces here"
}

teardown() {
	exec 7>&- 8<&-
	# shellcheck disable=SC2046 # numbers
	[ ! -s "$place/daemon" ] || kill -CONT $(cat "$place/daemon") 2>/dev/null || :
	# shellcheck disable=SC2046 # numbers
	[ ! -s "$place/daemon" ] || kill $(cat "$place/daemon") 2>/dev/null || :
	[ -z "${stranger-}" ] || kill -KILL -- "-$stranger" 2>/dev/null || :
	umount -l "$place"/v* 2>/dev/null || :
	cd /
	rm -rf --one-file-system "$place"
	repeat_skipped
}

# Runs a script of the stranger, in namespaces of his own, where `v` is a FUSE file system; it reads commands from 7, and answers on 8.
stranger() { # SCRIPT
	mkfifo told said
	chown $STRANGER told said
	printf 'touch r/f\nbindfs -f r v >/dev/null 2>&1 &\necho $! >&9\nuntil grep -q " $PWD/v fuse" /proc/self/mounts; do sleep 0.1; done\n%s\n' "$1" >script
	setsid setpriv --reuid=$STRANGER --regid=$STRANGER --clear-groups unshare -Urm --propagation private \
		sh -eu script <told >said 9>daemon 3>&- &
	stranger=$!
	exec 7>told 8<said
	wait_for test -s daemon
	daemon=$(cat daemon)
}

hear() { # WORD: the next line that he says
	local word

	read -r -t 30 -u 8 word
	same "he says" "$word" "$1"
}

# Memory that is locked: see stuck.c.
lock_memory() {
	stranger './stuck v/f'
	hear dirty
	kill -STOP "$daemon"
	echo >&7
	hear stuck
}

# Somebody else is recorded meanwhile, by name and whole.
somebody() { ln -sf "$io" "$place/somebody"; echo "$place/somebody" --api write --file "$place/data" --size 4099 --count 23 --pause 20; }

whole() {
	same "bytes" "$(sql "SELECT SUM(t.bytes) FROM agg_total t JOIN kind k ON k.id = t.kind JOIN sub s ON s.id = t.sub JOIN process p ON p.id = t.owner
		WHERE k.name = 'write' AND s.name = 'regular' AND p.comm = 'somebody'")" 94277
	same "name" "$(sql "SELECT DISTINCT exe FROM process WHERE comm = 'somebody' AND exe LIKE '%/iot-io'")" "$(readlink -f "$io")"
	same "events lost" "$(sql "SELECT SUM(n) FROM lost WHERE effect = 'events'")" 0
}

@test "a process with locked memory: the run ends in time and says it was not examined" {
	lock_memory
	run timeout -s KILL 3 cat /proc/*/cmdline
	[ "$status" = 137 ] || skip "memory of processes cannot be locked like this here"
	# shellcheck disable=SC2046 # words
	timeout 60 "$trace" --layers syscall --all --ring 64M -d 5 -o "$store" -- $(somebody) >/dev/null 2>said.txt || fail "status $?: $(<said.txt)"
	whole
	timeout 60 "$trace" --systems >list 2>said.txt || fail "status $?"
	grep -q 'does not let itself be looked at' said.txt || fail "$(<said.txt)"
}

# A helper of this test's tracer is there: other lanes have tracers of their own.
helped() {
	local comm

	for comm in $(grep -ls '^iot-trace-' /proc/[0-9]*/comm); do
		! grep -qszxF "IOT_OF=$place" "${comm%comm}environ" || return 0
	done
	return 1
}

@test "a process whose memory is locked: signals end a run, and no helper stays" {
	lock_memory
	IOT_OF=$place "$trace" --layers syscall --all -o "$store" 2>said.txt 3>&- &
	pid=$!
	wait_for grep -q recording said.txt
	helped
	kill -INT $pid
	kill -INT $pid 2>/dev/null || : # the second comes while helpers are waited for, or when it is over
	wait_for eval "! kill -0 $pid"
	wait $pid
	wait_for eval '! helped'
}

@test "a program on overlay over a dead FUSE: neither a run nor --systems waits" {
	cp "$(command -v sleep)" r/redis-server
	chmod 755 r/redis-server
	# shellcheck disable=SC2016 # his words
	stranger 'mount -t overlay overlay -o lowerdir=v,upperdir=up,workdir=work over || { echo none; exit; }
		cp "$(command -v sleep)" over/etcd 2>/dev/null || :
		over/redis-server 60 & echo started; read -r _; over/redis-server 61 & wait'
	read -r -t 30 -u 8 word
	[ "$word" = started ] || skip "an overlay over FUSE cannot be mounted by users here"
	sleep 0.3
	echo 3 >/proc/sys/vm/drop_caches
	kill -STOP "$daemon"
	timeout 60 "$trace" --systems >list 2>said.txt || fail "status $?"
	# shellcheck disable=SC2046 # words
	timeout 60 "$trace" --layers syscall --all --ring 64M -d 5 -o "$store" -- $(somebody) >/dev/null 2>said.txt || fail "status $?: $(<said.txt)"
	whole
}

@test "a used file system that no longer answers is given up, and the horizon says so" {
	bindfs -f r v 3>&- &
	echo $! >daemon
	wait_for mountpoint -q v
	timeout 60 "$trace" -a -o "$store" -- sh -c "echo x >v/f; kill -STOP $(cat daemon)" 2>said.txt || fail "status $?: $(<said.txt)"
	same "horizon" "$(sql "SELECT horizon FROM run_end")" at_ack
	grep -q "cannot sync the file system at $place/v: Connection timed out" said.txt || fail "$(<said.txt)"
}

@test "seven dead file systems are given up together; one on a disk is settled first" {
	local i
	for i in 1 2 3 4 5 6 7; do
		mkdir "r$i" "v$i"
		bindfs -f "r$i" "v$i" 3>&- &
		echo $! >>daemon
		wait_for mountpoint -q "v$i"
	done
	body() {
		# shellcheck disable=SC2046 # numbers
		timeout 60 "$trace" -a -o "$store" -- sh -c "for i in 1 2 3 4 5 6 7; do echo x >v\$i/f; done; kill -STOP $(paste -sd' ' daemon); echo y >$IOT_MNT/f" 2>said.txt ||
			fail "status $?: $(<said.txt)"
		same "written" "$(sql "SELECT SUM(t.bytes) FROM agg_total t JOIN kind k ON k.id = t.kind JOIN cause c ON c.id = t.cause JOIN device d ON d.dev = t.dev
			WHERE k.name = 'block_write' AND c.name = 'data' AND d.mount = '$IOT_MNT'")" 4096
	}
	with_fs ext4 64M -- body
	same "horizon" "$(sql "SELECT horizon FROM run_end")" at_ack
	same "given up" "$(grep -c "cannot sync the file system at $place/v[1-7]: Connection timed out" said.txt)" 7
}

@test "a disk that completes nothing any more is given up while another goes on" {
	local disk
	bindfs -f r v 3>&- &
	echo $! >daemon
	wait_for mountpoint -q v
	truncate -s 64M r/image
	mkdir m
	body() {
		disk=$(losetup -f --show v/image)
		mkfs.ext4 -qF "$disk"
		mount "$disk" m
		while [ ! -e stop ]; do dd if=/dev/zero of="$IOT_MNT/f" bs=64k count=3 conv=fsync status=none; sleep 0.2; done 3>&- &
		timeout 60 "$trace" -a -o "$store" -- sh -c "dd if=/dev/zero of=m/f bs=1M count=3 status=none; kill -STOP $(cat daemon)" 2>said.txt && echo 0 >status || echo $? >status
		touch stop
		wait $!
		kill -CONT "$(cat daemon)"
		wait_for umount m # the helper that was left behind ends first
		losetup -d "$disk" # when nobody has it open any more; another test may have its number then
		wait_for eval "! losetup -l --noheadings -O BACK-FILE | grep -qF '$place/v/image'"
	}
	with_fs ext4 64M -- body
	same "status" "$(<status)" 0
	same "given up" "$(grep -c "cannot sync the file system at $place/m: Connection timed out" said.txt)" 1
	same "horizon" "$(sql "SELECT horizon FROM run_end")" at_ack
}

@test "where /proc hides processes of others, the traced ones have names all the same" {
	# shellcheck disable=SC2016,SC2046 # its own words
	unshare -m --propagation private sh -c 'mount -t proc -o hidepid=2 proc /proc && exec "$@"' sh "$trace" -q --layers syscall -o "$store" -- $(somebody) >/dev/null
	whole
}

@test "who looks is not root, and keeps the capabilities for looking and nothing else" {
	"$trace" -q --layers syscall -o "$store" -- sh -c 'keeper=$(pgrep -P $PPID -x iot-trace-keep); for p in $keeper $(pgrep -P $keeper -x iot-trace-look); do
		cat /proc/$p/status; done' >status.txt
	of() { awk -v name="$1" -v field="$2:" '$1 == "Name:" { is = $2 == name } is && $1 == field { print $2 }' status.txt | sort -u; }
	same "the keeper's" "$(of iot-trace-keep CapPrm)" 00000000000800e6
	same "a helper's" "$(of iot-trace-look CapPrm)" 0000000000080004
	of iot-trace-look Uid >uids
	[ "$(grep -c . uids)" -ge 1 ] || fail "nobody looks"
	same "root's helpers" "$(grep -cx 0 uids || :)" 0
}
