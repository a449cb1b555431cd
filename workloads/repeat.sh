#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# repeat.sh - a command N times, each on a fresh file system, and an idle control: runs that `iot-analyze compare` takes.
#
# usage: workloads/repeat.sh N [OPTIONS] -- COMMAND [ARGS...]
#   --label NAME      of the runs (default: the name of the command); the control is "NAME idle"
#   --store FILE      that gets the runs (default: repeat.sqlite)
#   --fs TYPE         file system: ext4 (default), xfs, ext2, ext3, btrfs, f2fs
#   --size SIZE       of its device (default: 1G)
#   --mkfs OPTION     for mkfs, may be given often: --mkfs -O --mkfs fast_commit
#   --mount OPTIONS   for mount, such as data=journal
#   --prepare TEXT    what a shell does in the file system first, untraced
#   --trace OPTIONS   for iot-trace, blank separated, such as --no-events
#   --idle SECONDS    length of the control (default: as long as the last run, 0: none)
#
# COMMAND runs in the root of the file system, which it finds as IOT_MNT too. Every run has a new image, loop device and file system, made
# before it and synced; only COMMAND and what it starts is traced. The control traces all that reaches such a device while nothing is
# done. What is compared should be run in turn, so that a machine that changes changes both:
#   for i in 1 2 3 4 5; do for mode in off on; do
#       workloads/repeat.sh 1 --store wal.sqlite --label "$mode" --idle 0 -- ./bench --wal=$mode
#   done; done; iot-analyze compare wal.sqlite off on
# IOT_TRACE: path of iot-trace (default: build/iot-trace of this clone, or what is installed with this script).
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=workloads/scenario.sh
. "$here/scenario.sh"
# shellcheck source=workloads/programs.bash disable=SC1091
. "$here/programs.bash"
trace=${IOT_TRACE:-$(program iot-trace)}

usage() {
	sed -n 's/^# usage: /usage: /p' "$0" >&2
	exit 2
}

[[ ${1-} =~ ^[1-9][0-9]{0,3}$ ]] || usage
count=$1
shift
label='' store=repeat.sqlite type=ext4 size=1G prepare='' idle='' mkfs=() options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	[ $# -ge 2 ] || usage
	case $1 in
	--label) label=$2 ;;
	--store) store=$2 ;;
	--fs) type=$2 ;;
	--size) size=$2 ;;
	--mkfs) mkfs+=("$2") ;;
	--mount) export MOUNT_OPTS=$2 ;;
	--prepare) prepare=$2 ;;
	--trace) read -ra options <<<"$2" ;;
	--idle) idle=$2 ;;
	*) usage ;;
	esac
	shift 2
done
[ $# -ge 2 ] && [[ $idle =~ ^[0-9]*$ ]] || usage
shift
label=${label:-$(basename "$1")}
store=$(realpath -m "$store")
trace=$(realpath "$(command -v "$trace")" 2>/dev/null) || {
	echo "repeat.sh: there is no iot-trace: say where with IOT_TRACE" >&2
	exit 2
}

# In a file system of its own: traced LABEL OPTIONS -- COMMAND
traced() {
	local status=0

	cd "$IOT_MNT"
	if [ -n "$prepare" ]; then
		sh -euc "$prepare" >&2
		lim 120 sync -f .
	fi
	"$trace" -q -o "$store" --label "$1" "${options[@]}" "${@:2}" || status=$?
	cd /
	return $status
}
control() { traced "$label idle" --no-events --all --dev "$IOT_DEVNO" -- sleep "$idle"; }

began=$SECONDS
for ((i = 1; i <= count; i++)); do
	began=$SECONDS
	with_fs "$type" "$size" "${mkfs[@]}" -- traced "$label" -- "$@" >&2 || {
		status=$?
		echo "repeat.sh: run $i of $count failed with status $status" >&2
		exit "$status"
	}
done
idle=${idle:-$((SECONDS - began < 1 ? 1 : SECONDS - began))}
[ "$idle" = 0 ] || with_fs "$type" "$size" "${mkfs[@]}" -- control >&2
