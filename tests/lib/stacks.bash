# SPDX-License-Identifier: GPL-3.0-only
# stacks.bash - loop devices, volumes of device-mapper on them, and file systems on those, for the tests that need several.
# shellcheck shell=bash disable=SC2119,SC2120,SC2154 # arguments that tests give, variables of helper.bash

export DM_DISABLE_UDEV=1
images=() leaves=() volumes=() arrays=() leaf='' leaf_no='' volume='' volume_no=''
mounts=() upper=() disk='' disk_no='' top='' top_no='' at='' nest_options='' # of nest

# For tests that need several devices: the store and everything else is in the test's own folder.
need_stacks() { own_run losetup:mount; }

# A file of tests that needs no more than that, and nest, has no setup() and teardown() of its own.
setup() { need_stacks; }

teardown() {
	repeat_skipped
	nest_down
}

# Releases all of it; of MOUNTs, the one that was made last comes first.
stack_down() { # MOUNT...
	local m try v

	for m in "$@"; do
		for try in 1 2 3 4 5; do umount "$m" 2>/dev/null || mountpoint -q "$m" || break; sleep 0.3; done
	done
	: "$try"
	for ((v = ${#volumes[@]} - 1; v >= 0; v--)); do dmsetup remove --retry "${volumes[v]}" || :; done
	for v in "${arrays[@]}"; do mdadm --quiet --stop "$v" || :; done
	for v in "${leaves[@]}"; do
		echo 1 >"/sys/block/${v#/dev/}/queue/iostats" # outlives the image
		losetup --detach "$v"
	done
	for v in "${images[@]}"; do rm -f "$v"; done
}

need_dm() { # TARGET...
	need dmsetup dmsetup
	modprobe -qa dm_mod "$@" 2>/dev/null || :
	[ -e /dev/mapper/control ] || skip "device-mapper is missing: this kernel has none (vm.bats runs this in a guest)"
	dmsetup targets >/dev/null || skip "device-mapper is missing"
}

# One more loop device, the last of `leaves`; $leaf and $leaf_no are the newest.
leaf_up() { # SIZE [LOSETUP OPTIONS]
	local image size=$1

	shift
	image=$(mktemp "$IOT_IMG_DIR/iot-img.XXXXXX")
	images+=("$image")
	truncate -s "$size" "$image"
	leaf=$(losetup --find --show "$@" "$image")
	leaves+=("$leaf")
	leaf_no=$(<"/sys/block/${leaf#/dev/}/dev")
}

# A volume of one target over a device: $volume and $volume_no are the newest.
volume_up() { # NAME TARGET DEVICE [WHAT COMES BEFORE, AND BEHIND, THE DEVICE IN THE TABLE]
	local sectors

	sectors=$(blockdev --getsz "$3")
	printf '0 %s %s %s %s 0 %s\n' "$sectors" "$2" "${4-}" "$3" "${5-}" | dmsetup create "iot$$-$1"
	volumes+=("iot$$-$1")
	volume=/dev/$(basename "$(readlink -f "/sys/dev/block/$(dmsetup info -c --noheadings -o major,minor "iot$$-$1")")")
	volume_no=$(<"/sys/block/${volume#/dev/}/dev")
}

crypt_up() { volume_up "$1" crypt "$2" "aes-cbc-plain64 00112233445566778899aabbccddeeff 0"; }

ext4_on() { # DEVICE [MOUNT]
	local at=${2:-$mnt}

	mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 "$1"
	mount -o noatime "$1" "$at"
	sync -f "$at"
}

make_fs() { # TYPE DEVICE
	case $1 in
	ext4) need mkfs.ext4 e2fsprogs && mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$2" ;;
	xfs) need mkfs.xfs xfsprogs && mkfs.xfs -q -f "$2" ;;
	btrfs) need mkfs.btrfs btrfs-progs && mkfs.btrfs -q -f "$2" ;;
	esac
}

# File systems one in the other, on loop devices made with $nest_options, the first on the disk: $disk, $top (the device of the last), $at (where that is mounted).
nest() { # TYPE...
	local type n=0 size=1600

	leaf_up ${size}M
	disk=$leaf top=$leaf disk_no=$leaf_no
	for type; do
		if [ $n -gt 0 ]; then
			size=$((size - 400))
			truncate -s ${size}M "$at/image"
			# shellcheck disable=SC2086 # words
			top=$(losetup --find --show $nest_options "$at/image")
			upper[${#mounts[@]}]=$top
		fi
		at=$BATS_TEST_TMPDIR/at$n
		mkdir "$at"
		make_fs "$type" "$top"
		mount -o noatime "$top" "$at"
		mounts+=("$at")
		n=$((n + 1))
	done
	top_no=$(<"/sys/block/${top#/dev/}/dev")
	for ((n = ${#mounts[@]} - 1; n >= 0; n--)); do sync -f "${mounts[n]}"; done
	sleep 0.5 # btrfs has more to write when extents were entered into its trees
	for n in 1 2; do sync -f "${mounts[0]}"; done
}

counter() { dev_bytes "$1" | cut -d' ' -f2; }

cell() { # REPORT TABLE WHO COLUMN
	"$analyze" "$1" "$store" --format csv --table "$2" |
		awk -F, -v who="$3" -v column="$4" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i } $2 == who { print $at }'
}

# Releases the file systems that nest made, or that a test put into `mounts` itself.
nest_down() {
	local i

	for ((i = ${#mounts[@]} - 1; i >= 0; i--)); do
		umount "${mounts[i]}" || { sleep 1 && umount "${mounts[i]}"; } || :
		[ -z "${upper[i]-}" ] || losetup --detach "${upper[i]}" || :
		rm -rf --one-file-system "${mounts[i]}"
	done
	stack_down
	mounts=() upper=() leaves=() images=()
}
