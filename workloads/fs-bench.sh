#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# fs-bench.sh - device bytes of single operations made durable, per file system and mode, next to published numbers.
#
# usage: workloads/fs-bench.sh [--count N] [--operations NAME,...] [--tsv] [FILESYSTEM...]     default: all rows of both tables below
# Every row has a fresh loop device; every operation starts settled. Bytes come from /sys/block/DEV/stat, at three
# moments: when the last call returned, after syncfs, and after the file system was frozen and thawed, which writes
# its journal back (checkpoint). A published number (papers.tsv) stands next to its operation.
# IOT_TRACE=path of iot-trace: every operation is traced into $IOT_STORE (default fs-bench.sqlite), labelled
# "fs-bench FILESYSTEM OPERATION", so that `iot-analyze breakdown` says where the bytes went, device by device.
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=workloads/scenario.sh
. "$here/scenario.sh"
# shellcheck source=workloads/packages.bash disable=SC1091
. "$here/packages.bash"
say() { echo "fs-bench.sh: $*" >&2; }

# name             type   mkfs options       mount options
filesystems='
ext2               ext2   -                  -
ext4               ext4   -                  data=ordered
ext4-writeback     ext4   -                  data=writeback
ext4-journal       ext4   -                  data=journal
ext4-fast-commit   ext4   -O,fast_commit     data=ordered
ext4-no-journal    ext4   -O,^has_journal    -
xfs                xfs    -                  -
btrfs              btrfs  -                  -
f2fs               f2fs   -                  -
'
# An overwrite changes the inode only when the clock has ticked since the last: without a tick its fsync has no journal
# to commit. The published figures are of overwrites that each committed: they stand next to overwrite-paced.
# operation     function   bytes asked for, each     cache
operations='
overwrite       overwrite  4096  warm
overwrite-paced overwrite_paced 4096 warm
append          append     4096  warm
cold-read       pread      4096  cold
warm-read       pread      4096  warm
create          create     0     warm
mkdir           mkdir      0     warm
rename          rename     0     warm
unlink          unlink     0     warm
'
columns=(filesystem operation count read_per_op at_ack_per_op after_sync_per_op after_checkpoint_per_op flushes_per_op ratio
	published device size_bytes mkfs mkfs_version mount kernel)

usage() {
	sed -n 's/^# usage: /usage: /p' "$0" >&2
	exit 2
}

row_or_die() { grep -q "^$1 " <<<"$2" || { echo "fs-bench.sh: no row '$1'" >&2 && exit 2; }; } # NAME TABLE

count=101
tsv=
chosen=()
only=()
while [ $# -gt 0 ]; do
	case $1 in
	--count) [ $# -ge 2 ] || usage; count=$2 && shift ;;
	--operations) [ $# -ge 2 ] || usage; IFS=, read -ra only <<<"$2" && shift ;;
	--tsv) tsv=1 ;;
	-*) usage ;;
	*) chosen+=("$1") ;;
	esac
	shift
done
for name in ${chosen[@]+"${chosen[@]}"}; do row_or_die "$name" "$filesystems"; done
for name in ${only[@]+"${only[@]}"}; do row_or_die "$name" "$operations"; done
[[ $count =~ ^[1-9][0-9]*$ ]] && [ "$count" -le 128 ] || { echo "fs-bench.sh: --count is 1 to 128" >&2 && exit 2; }

# Figures of papers on this file system and operation: "4.00 x (M1)", joined with "; ".
published() { # FILESYSTEM OPERATION
	awk -F '\t' -v fs="$1" -v op="$2" '
		$3 == fs && ((op == "overwrite-paced" && ($4 ~ /^4K overwrite/ || $4 ~ /^4K O_DIRECT randwrite/)) || (op == "append" && $4 ~ /^any small synced write/)) {
			text = text (text == "" ? "" : "; ") $5 " " $6 " " $7 " (" $1 ")"
		}
		END { print text == "" ? "-" : text }' "$here/papers.tsv"
}

# A file system that was thawed has checkpointed its journal. Where it cannot be frozen, syncfs is all there is.
checkpoint() {
	timeout 60 fsfreeze -f "$IOT_MNT" 2>/dev/null && timeout 60 fsfreeze -u "$IOT_MNT"
	lim 120 sync -f "$IOT_MNT"
}

settled() {
	lim 120 sync -f "$IOT_MNT"
	checkpoint || :
	lim 120 sync -f "$IOT_MNT"
}

# timeout: a file system that hangs must not hang the bench.
perform() { # FUNCTION LABEL
	local command=(timeout 300 /usr/bin/python3 "$here/fs_ops.py" "$1" "$IOT_MNT" "$count")

	[ -z "${IOT_TRACE:-}" ] || command=("$IOT_TRACE" -q -o "${IOT_STORE:-fs-bench.sqlite}" --label "$2" -- "${command[@]}")
	"${command[@]}"
}

per_op() { awk -v a="$1" -v b="$2" -v n="$count" 'BEGIN { printf "%.1f", (b - a) / n }'; }

mkfs_version() { "${IOT_MKFS[0]}" -V 2>&1 | sed -n 1p; }

# Those in force. ext4 tells of its data mode among the mount's options only where it is not the default.
mount_options() {
	local list

	list=$(findmnt -no OPTIONS "$IOT_MNT")
	[[ $list == *data=* ]] || list+=$(sed -n 's/^data=/,&/p' "/proc/fs/ext4/${IOT_DEV#/dev/}/options" 2>/dev/null || :)
	echo "$list"
}

# Is NAME in the list? An empty list has every name.
among() { # NAME LIST...
	[ $# = 1 ] || [[ " ${*:2} " == *" $1 "* ]]
}

one_operation() { # FILESYSTEM OPERATION FUNCTION BYTES CACHE
	local begin ack synced checkpointed='' flushed read0 read1 ratio=-

	settled
	[ "$5" != cold ] || echo 3 >/proc/sys/vm/drop_caches
	[ "$2" != warm-read ] || cat "$IOT_MNT/data" >/dev/null
	read -r read0 begin < <(dev_bytes "$IOT_DEV")
	flushed=$(dev_count "$IOT_DEV" flushes)
	perform "$3" "fs-bench $1 $2"
	read -r read1 ack < <(dev_bytes "$IOT_DEV")
	# The tracer synced before it ended: what was there before that is not known.
	[ -z "${IOT_TRACE:-}" ] || ack=
	flushed=$(per_op "$flushed" "$(dev_count "$IOT_DEV" flushes)")
	lim 120 sync -f "$IOT_MNT"
	read -r _ synced < <(dev_bytes "$IOT_DEV")
	! checkpoint || read -r _ checkpointed < <(dev_bytes "$IOT_DEV")
	case $2 in
	*-read) ratio=$(awk -v b="$((read1 - read0))" -v s="$(($4 * count))" 'BEGIN { printf "%.3f", b / s }') ;;
	overwrite* | append) ratio=$(awk -v b="$((synced - begin))" -v s="$(($4 * count))" 'BEGIN { printf "%.3f", b / s }') ;;
	esac
	printf '%s\t' "$1" "$2" "$count" "$(per_op "$read0" "$read1")" "${ack:+$(per_op "$begin" "$ack")}" "$(per_op "$begin" "$synced")" \
		"${checkpointed:+$(per_op "$begin" "$checkpointed")}" "$flushed" "$ratio" "$(published "$1" "$2")" \
		"${IOT_DEV#/dev/}" "$(($(<"/sys/block/${IOT_DEV#/dev/}/size") * 512))" "${IOT_MKFS[*]}" "$(mkfs_version)" "$(mount_options)"
	uname -r
}

all_operations() { # FILESYSTEM
	local operation function bytes cache

	timeout 300 /usr/bin/python3 "$here/fs_ops.py" prepare "$IOT_MNT"
	while read -r operation function bytes cache; do
		[ -z "$operation" ] || ! among "$operation" "${only[@]}" || one_operation "$@" "$operation" "$function" "$bytes" "$cache"
	done <<<"$operations"
}

one_filesystem() { # NAME TYPE MKFS MOUNT
	local mkfs=() reason=''
	local MOUNT_OPTS=${4#-}

	[ "$3" = - ] || IFS=, read -ra mkfs <<<"$3"
	if ! grep -qw "$2" /proc/filesystems && ! modprobe "$2" 2>/dev/null; then
		reason="this kernel has no $2"
	elif ! (need "mkfs.$2" "${mkfs_package[$2]}"); then
		reason="mkfs.$2 is missing"
	fi
	if [ -n "$reason" ]; then
		say "$1 left out: $reason"
		return 0
	fi
	with_fs "$2" 1G "${mkfs[@]}" -- all_operations "$1"
}

# For people: the same rows, columns aligned, an empty field as n/a, and how each file system was made and mounted below them.
aligned() {
	if [ -n "$tsv" ]; then
		cat
		return
	fi
	awk -F '\t' -v OFS='\t' -v table="column -t -s '\t'" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR > 1 && !($1 in how) {
			order[++n] = $1
			how[$1] = sprintf("%s (%s) on %d MiB; %s; Linux %s", $at["mkfs"], $at["mkfs_version"], $at["size_bytes"] / 1048576, $at["mount"], $at["kernel"])
		}
		{
			NF = at["device"]
			for (i = 1; i <= NF; i++) if ($i == "") $i = "n/a"
			print | table
		}
		END {
			close(table)
			for (i = 1; i <= n; i++) print order[i] ": " how[order[i]]
		}'
}

[ "$(id -u)" = 0 ] || { echo "fs-bench.sh: needs root: loop devices and mounts" >&2 && exit 77; }
{
	(IFS=$'\t' && echo "${columns[*]}")
	while read -r name type mkfs mount; do
		[ -n "$name" ] || continue
		among "$name" "${chosen[@]}" || continue
		one_filesystem "$name" "$type" "$mkfs" "$mount" </dev/null
	done <<<"$filesystems"
} | aligned
