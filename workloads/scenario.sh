#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# scenario.sh - loop devices with a file system for known work, made and released; device counters; journal dumps.
#
# usage: workloads/scenario.sh with_fs TYPE SIZE [MKFS OPTIONS...] -- COMMAND [ARGS...]
#        workloads/scenario.sh dev_bytes DEVICE | dev_count DEVICE NAME | journal DEVICE
#   or:  . workloads/scenario.sh      and call the functions
#
# with_fs makes an image of SIZE (sparse, in IOT_IMG_DIR, default /var/tmp), a loop device, a file system of
# TYPE (none: no file system) and mounts it with noatime; COMMAND finds IOT_DEV (/dev/loop0), IOT_DEVNO (7:0),
# IOT_IMG and IOT_MNT in its environment. Mount, device and image are released when COMMAND ends, fails or is
# interrupted. The exit status is COMMAND's. MOUNT_OPTS adds mount options. Works in a guest of tests/vm too.
# Each step that makes or releases them has a time limit, and one that exceeds it is status 124; COMMAND has none.
# shellcheck source=workloads/limit.bash disable=SC1091
. "$(dirname "${BASH_SOURCE[0]}")/limit.bash"

# The Debian package that has mkfs.TYPE.
declare -A mkfs_package=([ext2]=e2fsprogs [ext3]=e2fsprogs [ext4]=e2fsprogs [xfs]=xfsprogs [btrfs]=btrfs-progs [f2fs]=f2fs-tools)

# A command, up to three times: mkfs.btrfs asks each loop device for its file, and fails where somebody releases one at that moment.
mkfs_again() { # COMMAND...
	local try status=0

	for try in 1 2 3; do
		"$@" && return
		status=$?
		[ "$status" = 1 ] || break
		sleep "0.$try"
	done
	return "$status"
}

# Background initialisation would write to the device whenever it likes; small ext4 images would get blocks of 1 KiB.
# Array IOT_MKFS: the words of the call, for those who say how the file system was made.
fs_make() { # TYPE MKFS_OPTIONS...
	local type=$1

	shift
	case $type in
	none) return ;;
	ext2 | ext3 | ext4) IOT_MKFS=("mkfs.$type" -q -F -b 4096 -E 'lazy_itable_init=0,lazy_journal_init=0') ;;
	xfs | btrfs | f2fs) IOT_MKFS=("mkfs.$type" -q -f) ;;
	*)
		echo "scenario: file system $type is not known (none, ext2, ext3, ext4, xfs, btrfs, f2fs)" >&2
		return 2
		;;
	esac
	command -v "${IOT_MKFS[0]}" >/dev/null || {
		echo "scenario: ${IOT_MKFS[0]} is missing: install the Debian package ${mkfs_package[$type]}" >&2
		return 127
	}
	IOT_MKFS+=("$@")
	mkfs_again lim 120 "${IOT_MKFS[@]}" "$IOT_DEV" >&2 # btrfs prints a note, even so
}

fs_up() { # TYPE SIZE MKFS_OPTIONS...
	local type=$1 size=$2

	shift 2
	IOT_IMG=$(mktemp "${IOT_IMG_DIR:-/var/tmp}/iot-img.XXXXXX")
	truncate -s "$size" "$IOT_IMG"
	IOT_DEV=$(lim 30 losetup --find --show "$IOT_IMG")
	IOT_DEVNO=$(tr -d '\n' < "/sys/block/${IOT_DEV#/dev/}/dev")
	export IOT_IMG IOT_DEV IOT_DEVNO IOT_MNT
	fs_make "$type" "$@"
	if [ "$type" = none ]; then
		return
	fi
	IOT_MNT=$(mktemp -d "${IOT_IMG_DIR:-/var/tmp}/iot-mnt.XXXXXX")
	lim 60 mount -t "$type" -o "noatime${MOUNT_OPTS:+,$MOUNT_OPTS}" "$IOT_DEV" "$IOT_MNT"
	lim 120 sync -f "$IOT_MNT"
}

# Unmounts early, for a look at the image while the device is still there.
fs_umount() {
	# mountpoint(1) asks the file system, which may be shut down; the list has other names where a folder of the path is a link
	if [ -n "${IOT_MNT-}" ] && { mountpoint -q "$IOT_MNT" || grep -qF " $IOT_MNT " /proc/self/mounts; }; then
		lim 60 umount "$IOT_MNT"
	fi
}

# A process that ends may hold the mount a moment longer. What is busy after that is detached, not leaked.
fs_down() {
	local try

	for try in 1 2 3 4 5 6 7 8 9 10; do
		fs_umount 2>/dev/null && break
		[ "$try" -lt 10 ] || lim 60 umount --lazy "$IOT_MNT"
		sleep 0.2
	done
	[ -z "${IOT_MNT-}" ] || rmdir "$IOT_MNT" 2>/dev/null || :
	[ -z "${IOT_DEV-}" ] || lim 30 losetup --detach "$IOT_DEV" || :
	[ -z "${IOT_IMG-}" ] || rm -f "$IOT_IMG"
	IOT_MNT='' IOT_DEV='' IOT_IMG=''
}

# Ends the command, if it is what a signal interrupted, then releases what was made. Keeps the exit status.
fs_end() {
	if [ -n "${fs_child-}" ] && kill "$fs_child" 2>/dev/null; then
		wait "$fs_child" 2>/dev/null || :
	fi
	fs_down
}

# with_fs in the shell itself. The command runs in the background, so that a signal is acted on at once.
with_fs_here() { # TYPE SIZE [MKFS OPTIONS] -- COMMAND
	local args=() errexit=${-//[!e]/}

	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		args+=("$1")
		shift
	done
	[ ${#args[@]} -ge 2 ] && [ $# -ge 2 ] || { echo "usage: with_fs TYPE SIZE [MKFS OPTIONS] -- COMMAND" >&2; return 2; }
	shift
	IOT_MNT='' IOT_DEV='' IOT_IMG='' fs_child=''
	trap fs_end EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	set -e
	fs_up "${args[@]}"
	[ -n "$errexit" ] || set +e
	"$@" <&0 &
	fs_child=$!
	wait "$fs_child"
}

with_fs() { (with_fs_here "$@"); }

# Fields of /sys/block/DEV/stat, in order: Documentation/block/stat.rst.
dev_fields="reads read_merges read_sectors read_ms writes write_merges write_sectors write_ms in_flight io_ms queue_ms \
discards discard_merges discard_sectors discard_ms flushes flush_ms"

# One counter of a device: dev_count /dev/loop0 writes
dev_count() { # DEVICE NAME
	local values field i=0

	read -ra values < "/sys/block/${1#/dev/}/stat"
	for field in $dev_fields; do
		if [ "$field" = "$2" ]; then
			echo "${values[i]}"
			return
		fi
		i=$((i + 1))
	done
	echo "scenario: no counter $2" >&2
	return 2
}

# Bytes read and bytes written since the device was made.
dev_bytes() { # DEVICE
	echo "$(($(dev_count "$1" read_sectors) * 512)) $(($(dev_count "$1" write_sectors) * 512))"
}

# Every journal block of an ext4 device that its journal still holds, one a line: transaction, what it is
# (descriptor, revoke, commit or block), and the home block of a `block`. Checkpointed transactions too, so
# it can be asked after umount. The device is read around the page cache, so it may still be mounted.
journal() { # DEVICE
	lim 120 debugfs -D -R 'logdump -aO' "$1" 2>/dev/null | awk '
		/^Found .*sequence/ {
			match($0, /sequence [0-9]+/)
			tid = substr($0, RSTART + 9, RLENGTH - 9)
			if (/descriptor block/) print tid, "descriptor"
			if (/revoke table/) print tid, "revoke"
			if (/commit block/) print tid, "commit"
		}
		/FS block [0-9]+ logged at/ {
			match($0, /FS block [0-9]+/)
			print tid, "block", substr($0, RSTART + 9, RLENGTH - 9)
		}'
}

# Number of the last transaction that is in the journal; 0 when it is empty.
journal_last() { # DEVICE
	journal "$1" | awk '$1 > last { last = $1 } END { print last + 0 }'
}

# The use of each block of an ext4 device: block ranges and the names of bpf/kinds.def, from dumpe2fs.
# Anything that no line names holds files, directories, extents or attributes.
journal_geometry() { # DEVICE
	lim 120 dumpe2fs "$1" 2>/dev/null | awk '
		function range(name, text,   part) {
			if (match(text, /[0-9]+(-[0-9]+)?/)) {
				split(substr(text, RSTART, RLENGTH), part, "-")
				print part[1], (part[2] == "" ? part[1] : part[2]), name
			}
		}
		/ superblock at / {
			match($0, /superblock at [0-9]+/); range("superblock", substr($0, RSTART, RLENGTH))
			if (match($0, /Group descriptors at [0-9]+(-[0-9]+)?/)) range("group_desc", substr($0, RSTART, RLENGTH))
		}
		/Block bitmap at / { match($0, /Block bitmap at [0-9]+/); range("block_bitmap", substr($0, RSTART, RLENGTH)) }
		/Inode bitmap at / { match($0, /Inode bitmap at [0-9]+/); range("inode_bitmap", substr($0, RSTART, RLENGTH)) }
		/Inode table at / { match($0, /Inode table at [0-9]+-[0-9]+/); range("inode_table", substr($0, RSTART, RLENGTH)) }'
}

# Journal blocks by kind, transactions after FIRST only: "kind blocks" lines.
journal_kinds() { # DEVICE AFTER_TRANSACTION
	{
		journal_geometry "$1" | sed 's/^/range /'
		journal "$1"
	} | awk -v after="$2" '
		$1 == "range" { from[n] = $2; to[n] = $3; name[n++] = $4; next }
		$1 <= after { next }
		$2 != "block" { count[$2]++; next }
		{
			kind = "directory"
			for (i = 0; i < n; i++) if ($3 >= from[i] && $3 <= to[i]) kind = name[i]
			count[kind]++
		}
		END { for (kind in count) print kind, count[kind] }' | sort
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	set -eu -o pipefail
	case ${1-} in
	with_fs) with_fs_here "${@:2}" ;;
	dev_bytes | dev_count | journal | journal_kinds) "$@" ;;
	*)
		sed -n 's/^# \(usage:\|  *workloads\)/\1/p' "$0" >&2
		exit 2
		;;
	esac
fi
