# SPDX-License-Identifier: GPL-3.0-only
# vfs_same.bats - in a guest, operations of the VFS as the calls imply them and as its functions did them, by each mechanism. One guest
# serves all tests; tests/lib/vfs-same has the loads. IOT_KERNELS chooses one kernel, a row of tests/vm/kernels.

load ../lib/helper

kernel=${IOT_KERNELS:-6.12}

setup_file() {
	[ -z "${IOT_ALL_VMS-}" ] || boot
}

setup() {
	[ -n "${IOT_ALL_VMS-}" ] || skip "IOT_ALL_VMS=1 is missing: this guest is not run each time"
	need_root
	[ ! -e "$BATS_FILE_TMPDIR/reason" ] || skip "$(<"$BATS_FILE_TMPDIR/reason")"
	said=$BATS_FILE_TMPDIR/said
	grep -q '^fact up-lost' "$said" || fail "the guest: $(tail -n 20 "$BATS_FILE_TMPDIR/errors")"
}

boot() {
	local one

	for one in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio; do
		command -v "${one%:*}" >/dev/null || { echo "${one%:*} is missing: install the Debian package ${one#*:}" >"$BATS_FILE_TMPDIR/reason"; return; }
	done
	"$root/tests/vm/fetch" "$kernel" >/dev/null || { echo "kernel $kernel is missing: no download" >"$BATS_FILE_TMPDIR/reason"; return; }
	make -s -C "$root" drivers
	# shellcheck disable=SC2016 # the guest's shell
	(cd "$root" && tests/vm/run -t 1500 -m 2G "$kernel" -- bash -c 'for how in fentry kprobe; do echo "== $how"; tests/lib/vfs-same $how; done') \
		>"$BATS_FILE_TMPDIR/said" 2>"$BATS_FILE_TMPDIR/errors" || :
}

of() { # MECHANISM WORDS: the lines that begin with these words
	sed -n "/^== $1\$/,/^== /p" "$said" | grep "^$2 " || :
}

@test "in a guest the calls imply what the VFS did: each call of iot-io on one file" {
	for how in fentry kprobe; do
		empty "$how: differ" "$(of "$how" 'differ plain')"
		same "$how: lost" "$(of "$how" 'fact plain-lost')" "fact plain-lost 0"
		between "$how: operations" "$(of "$how" 'fact plain-operations' | awk '{ print $3 }')" 5000 50000
	done
}

# Inside, 5 of these calls read and 4 write 23 x 4099 bytes; splice-read moves them on to /dev/null, which is no file.
@test "in a guest splice, sendfile and copy_file_range read and write inside" {
	for how in fentry kprobe; do
		same "$how: differ" "$(of "$how" 'differ moving')" "differ moving vfs_read $((5 * 23)) $((5 * 94277))
differ moving vfs_write $((4 * 23)) $((4 * 94277))
differ moving vfs_splice 23 94277"
	done
}

@test "in a guest the calls of random programs imply what the VFS did" {
	for how in fentry kprobe; do
		same "$how: programs" "$(of "$how" 'fact random-stores')" "fact random-stores 1"
		empty "$how: differ" "$(of "$how" 'differ random')"
		empty "$how: failed" "$(of "$how" 'fact random-failed')"
	done
}

@test "in a guest a copy-up of overlayfs is 69,637 bytes that no call asked for" {
	for how in fentry kprobe; do
		same "$how: written" "$(of "$how" 'apart up dd vfs_write')" "apart up dd vfs_write 2 $((17 * 4096 + 5))"
		empty "$how: differ" "$(of "$how" 'differ up')"
	done
}
