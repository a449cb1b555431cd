# SPDX-License-Identifier: GPL-3.0-only
# settle.bats - the settle at the end of a run writes out names, attributes and journals, against the device's counter and the bytes
# that are written afterwards.

load ../lib/helper

setup() { own_run; }

# A command that moves no byte of a file.
attributes() { # FILE_SYSTEM
	local fs=$1

	body() {
		local call

		touch "$IOT_MNT/f" "$IOT_MNT/gone" && sync -f "$IOT_MNT" && sync -f "$IOT_MNT"
		for call in "chmod 0700 $IOT_MNT/f" "mv $IOT_MNT/f $IOT_MNT/g" "rm $IOT_MNT/gone" "mkdir $IOT_MNT/d"; do
			rm -f run.sqlite*
			dev_mark
			# shellcheck disable=SC2086 # words
			traced --dev "${IOT_DEV#/dev/}" -- $call
			wrote=$(dev_wrote)
			same "$call: device bytes" "$(written 1)" "$wrote"
			[ "$wrote" -gt 0 ] || fail "$call: nothing was written out"
			same "$call: its own" "$(written "comm = '${call%% *}'")" "$wrote"
			[[ $fs != xfs || $call != rm* ]] || continue # XFS frees inodes in the background
			sync -f "$IOT_MNT"
			same "$call: left behind" "$(dev_wrote)" "$wrote"
		done
	}
	with_fs "$1" 512M -- body
}

@test "a command that only changes names and attributes is written out: its own, ext4" { attributes ext4; }

@test "a command that only changes names and attributes is written out: its own, XFS" {
	need mkfs.xfs xfsprogs
	attributes xfs
}

@test "a command that only changes names and attributes is written out: its own, btrfs" {
	only_long "ext4 and XFS each time"
	only_long "each time ext4 and XFS"
	need mkfs.btrfs btrfs-progs
	attributes btrfs
}

load_some() {
	for i in 1 2 3 4 5 6 7; do
		head -c 5000 /dev/zero >"$1/f$i"
		mv "$1/f$i" "$1/g$i"
	done
	mkdir "$1/d"
	chmod 0700 "$1/g3"
}

checkpointed() { # FILE_SYSTEM
	local fs=$1

	body() {
		sync -f "$IOT_MNT"
		dev_mark
		traced --dev "${IOT_DEV#/dev/}" --settle checkpoint -- bash -c "$(declare -f load_some); load_some '$IOT_MNT'"
		wrote=$(dev_wrote)
		same "horizon" "$(sql "SELECT horizon FROM run_end")" after_checkpoint
		same "device bytes" "$(written 1)" "$wrote"
		same "without owner" "$(written "owner = 0")" 0
		same "data" "$(written "cause = 'data'")" $((7 * 8192))
		[ "$(written "cause = 'metadata' AND comm IN ('bash', 'mv', 'mkdir', 'chmod')")" -ge 8192 ] || fail "nothing in place"
		"$analyze" amplification run.sqlite | grep -q 'horizon after_checkpoint' || fail "no horizon"
		"$analyze" verify run.sqlite >verify.txt || fail "$(grep MISMATCH verify.txt)"
		"emptied_$fs"
	}
	with_fs "$1" 512M -- body
}

emptied_ext4() {
	same "the journal's beginning" "$(dumpe2fs -h "$IOT_DEV" 2>/dev/null | awk '/^Journal start/ { print $3 }')" 0
}

# To freeze it is to have it put all in place.
emptied_btrfs() {
	fsfreeze -f "$IOT_MNT" && fsfreeze -u "$IOT_MNT"
	same "left behind" "$(dev_wrote)" "$wrote"
}

# The head of the log stands where its tail is, but for the record that says so.
emptied_xfs() {
	local head tail

	IFS=: read -r _ head <"/sys/fs/xfs/${IOT_DEV#/dev/}/log/log_head_lsn"
	IFS=: read -r _ tail <"/sys/fs/xfs/${IOT_DEV#/dev/}/log/log_tail_lsn"
	between "blocks of the log that are in use" $((head - tail)) 0 4
}

@test "--settle checkpoint: ext4's journal is put in place in the run, with its owner" { checkpointed ext4; }

@test "--settle checkpoint: XFS's log is put in place in the run, with its owner" {
	need mkfs.xfs xfsprogs
	checkpointed xfs
}

@test "--settle checkpoint: of btrfs nothing is left behind a commit" {
	need mkfs.btrfs btrfs-progs
	checkpointed btrfs
}

@test "--settle checkpoint: a file system frozen by others stays so: after_sync" {
	need mkfs.xfs xfsprogs
	body() {
		"$trace" -q --settle checkpoint -o run.sqlite -- bash -c 'echo x >"$0/f" && sync -f "$0" && fsfreeze -f "$0"' "$IOT_MNT" 2>err || fail "$(<err)"
		fsfreeze -u "$IOT_MNT" || fail "it was thawed"
		grep -q "cannot have what the journal of the file system at $IOT_MNT holds put in place: Device or resource busy" err || fail "$(<err)"
		same "horizon" "$(sql "SELECT horizon FROM run_end")" after_sync
	}
	with_fs xfs 512M -- body
}

@test "--settle checkpoint: iot-trace or its helper killed leave it thawed" {
	need mkfs.xfs xfsprogs
	need cc gcc
	cat >slow.c <<-'C'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <fcntl.h>
		#include <linux/fs.h>
		#include <stdarg.h>
		#include <string.h>
		#include <unistd.h>
		/* prctl(2) is refused to helpers */
		static int is_helper(void)
		{
			char name[16] = "";
			int fd = open("/proc/self/comm", O_RDONLY);
			long n = read(fd, name, sizeof(name) - 1);

			close(fd);
			return n > 0 && !strcmp(name, "iot-trace-look\n");
		}
		int ioctl(int fd, unsigned long what, ...)
		{
			va_list args;
			void *arg;

			va_start(args, what);
			arg = va_arg(args, void *);
			va_end(args);
			if (what == FITHAW && is_helper())
				sleep(60);
			return ((int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl"))(fd, what, arg);
		}
	C
	cc -shared -fPIC -o slow.so slow.c -ldl
	# The helper that sleeps before it thaws.
	asleep() {
		for helper in $(pgrep -x iot-trace-look); do
			! grep -q nanosleep "/proc/$helper/wchan" || return 0
		done
		return 1
	}
	body() {
		local whom tracer helper

		for whom in tracer helper; do
			LD_PRELOAD=$PWD/slow.so "$trace" -q --settle checkpoint -o run.sqlite -- bash -c 'unset LD_PRELOAD; echo x >"$0/f"' "$IOT_MNT" 2>/dev/null &
			tracer=$!
			helper=
			wait_for asleep
			kill -KILL "${!whom}"
			timeout 20 touch "$IOT_MNT/g" || { fsfreeze -u "$IOT_MNT"; kill -KILL "$tracer"; fail "it is frozen after the end of the $whom"; }
			kill -KILL "$tracer" 2>/dev/null || :
			wait "$tracer" 2>/dev/null || :
		done
	}
	with_fs xfs 512M -- body
}
