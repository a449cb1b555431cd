# SPDX-License-Identifier: GPL-3.0-only
# io.bats - iot-io does the calls that it reports: its ledger against strace, file sizes and /proc/self/io; the scenario runner.

load ../lib/helper

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# Sum of what the calls in a strace log returned, errors left out.
strace_sum() { # CALLS_REGEX FILE
	awk -v calls="^($1)\\\\(" '{ sub(/^[0-9]+ +/, "") } $0 ~ calls { v = $0; sub(/.* = /, "", v); if (v + 0 > 0) sum += v } END { print sum + 0 }' "$2"
}

@test "23 writes of 4099 bytes are 94277 bytes in ledger, strace, file, by every call" {
	need strace strace
	head -c 200000 /dev/urandom > src
	for api in write pwrite writev pwritev pwritev2 pwritev2-dsync osync odsync append sendfile splice copy; do
		rm -f f
		strace -f -o log -e trace='write,pwrite64,writev,pwritev,pwritev2,sendfile,splice,copy_file_range' \
			"$io" --api "$api" --file f --from src --count 23 --size 4099 > ledger.json
		same "$api written" "$(ledger ledger.json written)" 94277
		same "$api file size" "$(stat -c %s f)" 94277
		# Left out of strace's sum: the pipe is filled by write, and the ledger is printed by it.
		calls='write|pwrite64|writev|pwritev|pwritev2|sendfile|copy_file_range'
		[ "$api" != splice ] || calls=splice
		grep -v 'write(1,' log > log.io
		same "$api in strace" "$(strace_sum "$calls" log.io)" 94277
	done
}

@test "23 reads of 4099 bytes are 94277 bytes in ledger and strace, by every call" {
	need strace strace
	head -c 94277 /dev/urandom > f
	for api in read pread readv preadv preadv2 sendfile-read splice-read; do
		strace -f -o log -e trace='read,pread64,readv,preadv,preadv2,sendfile,splice' \
			"$io" --api "$api" --file f --count 23 --size 4099 > ledger.json
		same "$api read" "$(ledger ledger.json read)" 94277
		sum=$(strace_sum 'read|pread64|readv|preadv|preadv2|sendfile' log)
		[ "$api" != splice-read ] || sum=$(($(strace_sum splice log) / 2)) # into the pipe, and out of it
		same "$api in strace" "$sum" 94277
	done
}

@test "libaio and io_uring move the ledger's bytes, several in flight, three threads" {
	for api in libaio uring uring-sqpoll uring-async; do
		rm -f f
		"$io" --api "$api" --file f --count 101 --size 4099 --pattern rand --seed 7 --depth 5 --threads 3 > ledger.json
		same "$api written" "$(ledger ledger.json written)" 413999
		same "$api file size" "$(stat -c %s f)" 413999
		"$io" --api "$api-read" --file f --count 101 --size 4099 --depth 7 > ledger.json
		same "$api read" "$(ledger ledger.json read)" 413999
	done
}

@test "a random order visits every slot exactly once and the seed fixes it" {
	need strace strace
	for n in 1 2; do
		strace -o log$n -e trace=pwrite64 "$io" --api pwrite --file f --count 97 --size 1000 --pattern rand --seed 5 > /dev/null
		sed -n 's/.*, \([0-9]*\)) = .*/\1/p' log$n > order$n
	done
	cmp order1 order2
	same "distinct offsets" "$(sort -un order1 | wc -l)" 97
	if cmp -s order1 <(sort -n order1); then fail "the order is not random"; fi
}

@test "syncs happen after every K operations, or once at the end" {
	"$io" --api pwrite --file f --count 23 --sync fsync --every 7 > ledger.json
	same "every 7 of 23" "$(ledger ledger.json syncs)" 3
	"$io" --api pwrite --file f --count 23 --sync fdatasync > ledger.json
	same "at the end" "$(ledger ledger.json syncs)" 1
	"$io" --api libaio --file f --count 23 --sync native --every 5 --depth 4 > ledger.json
	same "through libaio" "$(ledger ledger.json syncs)" 4
	"$io" --api uring --file f --count 23 --sync native --every 23 > ledger.json
	same "through io_uring" "$(ledger ledger.json syncs)" 1
}

@test "failed, short and empty calls are operations without bytes" {
	head -c 10000 /dev/urandom > f
	"$io" --api bad-fd --count 13 > ledger.json
	same "EBADF" "$(ledger ledger.json errors) $(ledger ledger.json written)" "26 0"
	"$io" --api short-read --file f --count 13 --size 4098 > ledger.json
	same "short" "$(ledger ledger.json short) $(ledger ledger.json read)" "13 26637"
	"$io" --api end-read --file f --count 13 > ledger.json
	same "end of file" "$(ledger ledger.json read_ops) $(ledger ledger.json read)" "13 0"
	"$io" --api zero --file f --count 13 > ledger.json
	same "no bytes asked for" "$(ledger ledger.json write_ops) $(ledger ledger.json written)" "13 0"
}

@test "bytes on sockets and pipes are in the calls but not in the totals of the ledger" {
	for api in socket pipe; do
		"$io" --api "$api" --count 23 --size 4099 > ledger.json
		same "$api total" "$(ledger ledger.json written)" 0
		same "$api call" "$(ledger ledger.json 'calls[1].bytes')" 94277
		same "$api type" "$(ledger ledger.json 'calls[1].type')" "$api"
	done
}

@test "an unknown call, option or number, or no file: one line that names it" {
	run "$io" --api wirte --file f
	[[ $status = 2 && $output = *wirte* ]]
	run "$io" --api write --file f --count 12x
	[[ $status = 1 && $output = *12x* ]]
	run "$io" --api write --file f --count -1
	[[ $status = 1 && $output = *-1* ]]
	run "$io" --api write --file f --size 99999999999999999999
	[ "$status" = 1 ]
	run "$io" --api read --file /nonexistent/f
	[[ $status = 1 && $output = */nonexistent/f* && ${#lines[@]} = 1 ]]
	run "$io" --api write --count 3
	[[ $status = 1 && $output = *--file* ]]
}

@test "a full disk is an error in the ledger and in the exit status" {
	need_root
	body() {
		run "$io" --api write --file "$IOT_MNT/f" --count 101 --size 1M --sync fsync
		[ "$status" = 1 ]
		[[ $output = *"No space left"* ]]
	}
	with_fs ext4 16M -- body
}

@test "with_fs releases mount, loop device and image when the command fails or dies" {
	need_root
	seen=$BATS_TEST_TMPDIR/seen
	body() { echo "$IOT_DEV $IOT_MNT $IOT_IMG" > "$seen"; return 7; }
	gone() {
		[[ -n $img && ! -e $img && ! -e $mnt ]]
		if losetup --noheadings --output BACK-FILE "$dev" 2>/dev/null | grep -F "$img"; then return 1; fi
	}
	run with_fs ext4 16M -- body
	same "exit status" "$status" 7
	read -r dev mnt img < "$seen"
	gone
	rm "$seen"
	"$root/workloads/scenario.sh" with_fs ext4 16M -- sh -c "echo \$IOT_DEV \$IOT_MNT \$IOT_IMG > $seen.new; mv $seen.new $seen; exec sleep 60" &
	pid=$!
	for _ in $(seq 100); do [ ! -e "$seen" ] || break; sleep 0.1; done
	read -r dev mnt img < "$seen"
	mountpoint -q "$mnt"
	kill "$pid"
	status=0
	wait "$pid" || status=$?
	same "exit status" "$status" 143
	gone
}

@test "a mkfs, mount or loop device that never answers is status 124, and is released" {
	need_root
	export IOT_LIMIT=2 IOT_IMG_DIR=$BATS_TEST_TMPDIR/img
	mkdir "$IOT_IMG_DIR"
	for call in losetup mkfs.ext4 mount; do
		mkdir "$BATS_TEST_TMPDIR/$call"
		printf '#!/bin/sh\nexec sleep 1000\n' > "$BATS_TEST_TMPDIR/$call/$call"
		chmod +x "$BATS_TEST_TMPDIR/$call/$call"
		PATH=$BATS_TEST_TMPDIR/$call:$PATH run timeout -s KILL 30 "$root/workloads/scenario.sh" with_fs ext4 16M -- true
		same "status of $call" "$status" 124
		empty "images and mount points" "$(ls "$IOT_IMG_DIR")"
		empty "loop devices" "$(losetup -nO BACK-FILE | grep -F "$IOT_IMG_DIR" || :)"
	done
}

@test "journal_kinds lists what debugfs finds in the journal, block for block" {
	need_root
	body() {
		"$io" --api pwrite --file "$IOT_MNT/f" --count 7 --sync fsync > /dev/null
		sync -f "$IOT_MNT"
		last=$(journal_last "$IOT_DEV")
		"$io" --api pwrite --file "$IOT_MNT/f" --count 7 --pause 20 --sync fsync --every 1 > /dev/null
		fs_umount
		journal_kinds "$IOT_DEV" "$last" > kinds
		grep -qx 'commit 7' kinds
		grep -qx 'descriptor 7' kinds
		grep -qx 'inode_table 7' kinds
	}
	with_fs ext4 64M -- body
}
