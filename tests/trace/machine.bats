#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# machine.bats - facts about the machine: each equals what /proc, /sys and the tools of file systems say, and what cannot be read is absent.

load ../lib/helper

setup() { own_run; }

teardown() {
	fs_down
	repeat_skipped
}

fact() { # PART NAME KEY
	q "SELECT group_concat(value, '|') FROM machine JOIN r USING (run) WHERE part = '$1' AND COALESCE(name, '') = '$2' AND key = '$3'"
}

# A file of /sys or /proc must be a fact as it is; where it cannot be read there is none.
as_file() { # PART NAME KEY FILE
	same "$1 $2 $3" "$(fact "$1" "$2" "$3")" "$(sed -n '1s/ *$//p' "$4" 2>/dev/null || :)"
}

@test "machine: memory, kernel, distribution, settings are what /proc says" {
	traced --no-events --settle none -d 0.1
	same "memory" "$(fact memory '' bytes)" $(($(awk '/^MemTotal/ { print $2 }' /proc/meminfo) * 1024))
	same "page" "$(fact memory '' page_bytes)" "$(getconf PAGESIZE)"
	same "release" "$(fact kernel '' release)" "$(uname -r)"
	same "architecture" "$(fact kernel '' architecture)" "$(uname -m)"
	as_file kernel '' command_line /proc/cmdline
	as_file kernel '' clocksource /sys/devices/system/clocksource/clocksource0/current_clocksource
	same "distribution" "$(fact os '' name)" "$(. /etc/os-release && echo "$PRETTY_NAME")"
	same "its version" "$(fact os '' version)" "$(. /etc/os-release && echo "${VERSION_ID-}")"
	for one in dirty_bytes dirty_ratio dirty_background_bytes dirty_background_ratio dirty_expire_centisecs dirty_writeback_centisecs swappiness; do
		as_file sysctl '' "vm.$one" "/proc/sys/vm/$one"
	done
	same "huge pages" "$(fact memory '' transparent_huge_pages)" "$(sed 's/.*\[\(.*\)\].*/\1/' /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null || :)"
	same "processors" "$(fact cpu '' online)" "$(getconf _NPROCESSORS_ONLN)"
	same "model" "$(fact cpu '' model)" "$([ "$(uname -m)" != x86_64 ] || sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1 | sed 's/ *$//')"
	same "cores" "$(fact cpu '' cores)" "$(cat /sys/devices/system/cpu/cpu*/topology/thread_siblings_list | sort -u | wc -l)"
	same "sockets" "$(fact cpu '' sockets)" "$(cat /sys/devices/system/cpu/cpu*/topology/physical_package_id | sort -u | wc -l)"
	same "a fact once" "$(q "SELECT COUNT(*) FROM (SELECT 1 FROM machine JOIN r USING (run) GROUP BY part, name, key HAVING COUNT(*) > 1)")" 0
}

@test "machine: disks, partitions and interfaces are what /sys says, without addresses" {
	local one key file n=0

	traced --no-events --settle none -d 0.1
	for one in /sys/block/*; do
		[ "$(cat "$one/size")" != 0 ] || continue
		case ${one##*/} in loop* | dm-* | md* | zram*) continue ;; esac
		n=$((n + 1))
		same "bytes of ${one##*/}" "$(fact disk "${one##*/}" bytes)" $(($(cat "$one/size") * 512))
		same "scheduler" "$(fact disk "${one##*/}" scheduler)" "$(sed 's/.*\[\(.*\)\].*/\1/' "$one/queue/scheduler")"
		while read -r key file; do
			as_file disk "${one##*/}" "$key" "$one/$file"
		done <<-'E'
			model device/model
			write_cache queue/write_cache
			rotational queue/rotational
			logical_block_bytes queue/logical_block_size
			physical_block_bytes queue/physical_block_size
			queue_requests queue/nr_requests
		E
	done
	[ "$n" -gt 0 ] || skip "a disk is missing: this machine has none"
	same "disks" "$(q "SELECT COUNT(DISTINCT name) FROM machine JOIN r USING (run) WHERE part = 'disk' AND name NOTNULL")" "$n"
	for one in /sys/class/net/*; do
		[ -d "$one" ] || continue
		as_file net "${one##*/}" mtu "$one/mtu"
		same "driver of ${one##*/}" "$(fact net "${one##*/}" driver)" "$([ ! -e "$one/device/driver" ] || basename "$(readlink "$one/device/driver")")"
		empty "addresses" "$(q "SELECT value FROM machine WHERE value = '$(cat "$one/address")' AND value <> ''")"
	done
}

@test "machine: features of file systems are those that their own tools name" {
	local at

	need dumpe2fs e2fsprogs
	for type in ext4 xfs btrfs; do
		command -v "mkfs.$type" >/dev/null || continue
		fs_up "$type" 400M
		at=$(basename "$IOT_DEV")
		rm -f "$store"
		traced --no-events --settle none -d 0.1
		same "type" "$(fact fs "$IOT_MNT" type)" "$type"
		same "device" "$(fact fs "$IOT_MNT" device)" "$at"
		[[ ,$(fact fs "$IOT_MNT" mount_options), = *,noatime,* ]]
		same "kind of the device" "$(fact loop "$at" file)" "$(cat "/sys/block/$at/loop/backing_file")"
		case $type in
		ext4)
			dumpe2fs -h "$IOT_DEV" 2>/dev/null >dump.txt
			same "features" "$(fact fs "$IOT_MNT" features | tr , '\n' | sort)" "$(sed -n 's/^Filesystem features: *//p' dump.txt | tr ' ' '\n' | sort)"
			same "block" "$(fact fs "$IOT_MNT" block_bytes)" "$(sed -n 's/^Block size: *//p' dump.txt)"
			same "inode" "$(fact fs "$IOT_MNT" inode_bytes)" "$(sed -n 's/^Inode size:[[:blank:]]*//p' dump.txt)"
			same "journal" "$(fact fs "$IOT_MNT" journal_bytes)" "$(numfmt --from=iec "$(sed -n 's/^Total journal size: *//p' dump.txt)")"
			same "options" "$(fact fs "$IOT_MNT" options)" "$(paste -sd , "/proc/fs/ext4/$at/options")"
			;;
		xfs)
			xfs_info "$IOT_MNT" >dump.txt
			for one in crc finobt sparse rmapbt reflink bigtime inobtcount; do
				grep -q "$one=" dump.txt || continue
				same "$one" "$([[ ,$(fact fs "$IOT_MNT" features), = *,$one,* ]] && echo 1 || echo 0)" "$(grep -o "$one=[01]" dump.txt | cut -d= -f2)"
			done
			same "block" "$(fact fs "$IOT_MNT" block_bytes)" "$(sed -n 's/^data .*bsize=\([0-9]*\).*/\1/p' dump.txt)"
			same "journal" "$(fact fs "$IOT_MNT" journal_bytes)" "$(awk -F'[=, ]+' '/^log/ { for (i = 1; i < NF; i++) if ($i == "bsize") b = $(i + 1); else if ($i == "blocks") n = $(i + 1) } END { print b * n }' dump.txt)"
			;;
		btrfs)
			same "node" "$(fact fs "$IOT_MNT" node_bytes)" "$(btrfs inspect-internal dump-super "$IOT_DEV" | awk '$1 == "nodesize" { print $2 }')"
			same "profile of metadata" "$(fact fs "$IOT_MNT" metadata_profile)" "$(btrfs filesystem df "$IOT_MNT" | sed -n 's/^Metadata, \([^:]*\):.*/\L\1/p')"
			;;
		esac
		fs_down
	done
}

@test "machine: a mount point of hostile bytes is a name; a covered one is left out" {
	need unshare util-linux
	name=$'a b\n"quoted"\\ \xff;--'
	mkdir -p "$name" covered
	trace=$trace name=$name unshare --mount sh -euc 'mount -t tmpfs -o size=4096k upper "$name"
		mount -t tmpfs -o size=4097k lower covered; mount -t tmpfs -o size=4098k upper covered
		exec "$trace" -q -o run.sqlite --no-events --settle none -d 0.1'
	same "hostile" "$(q "SELECT COUNT(*) FROM machine JOIN r USING (run) WHERE part = 'fs' AND key = 'device' AND value = 'upper'
		AND name = CAST(X'$(printf %s "$PWD/$name" | od -An -v -tx1 | tr -d ' \n')' AS TEXT)")" 1
	same "covered" "$(fact fs "$PWD/covered" device)" upper
	"$analyze" machine run.sqlite --format json --table facts | python3 -c 'import json, sys; json.loads(sys.stdin.buffer.read().decode("utf-8", "surrogateescape"))'
}

@test "machine: of 140 file systems 128 are described, and the others counted" {
	need unshare util-linux
	unshare --mount sh -euc 'for i in $(seq 140); do mkdir "m$i"; mount -t tmpfs -o size=4k "t$i" "m$i"; done
		exec "$1" -q -o run.sqlite --no-events --settle none -d 0.1' sh "$trace"
	said=$(q "SELECT COUNT(DISTINCT name) FROM machine JOIN r USING (run) WHERE part = 'fs' AND name NOTNULL")
	same "described" "$said" 128
	[ "$(fact fs '' left_out)" -ge 12 ]
}

@test "machine: a paragraph for a paper and a table, in every format" {
	fs_up ext4 64M
	"$trace" -q -o "$store" -- "$io" --api pwrite --file "$IOT_MNT/f" --count 17 --sync fsync >/dev/null
	"$analyze" machine "$store" >text.txt
	tr -s '\n ' ' ' <text.txt >line.txt
	grep -qF "Linux $(uname -r) ($(uname -m))" line.txt
	grep -qF "$(basename "$IOT_DEV") is a loop device of" line.txt
	grep -qE "is ext4 on $(basename "$IOT_DEV"), mounted rw,[a-z,]* with rw,.*and has a journal of [0-9.]+ [KM]iB" line.txt
	grep -qF "vm.dirty_expire_centisecs = $(cat /proc/sys/vm/dirty_expire_centisecs)" line.txt
	for format in csv tsv json markdown latex; do
		"$analyze" machine "$store" --format "$format" >"of.$format"
		[ -s "of.$format" ] || fail "$format is empty"
	done
	grep -q 'begin{tabular}' of.latex
	grep -qF 'item[set{-}up]' of.latex
}

@test "machine: it is read before the gate opens, and nothing of it is in the sums" {
	need strace strace
	strace -f -qq -e trace=openat,bpf -o calls.txt "$trace" -q -o "$store" --no-events --settle none -d 0.1
	last=$(grep -n '/proc/sys/vm/dirty_ratio\|"/sys/class/net"' calls.txt | tail -n 1 | cut -d: -f1)
	load=$(grep -n 'BPF_PROG_LOAD' calls.txt | sed -n '$p' | cut -d: -f1)
	[ "$last" -lt "$load" ] || fail "line $last of the calls is behind $load, the last program that was loaded"
}

@test "machine: a merged run has both hosts' machines; an older store has none" {
	for host in one two; do
		printf '%s\n' '{"t":"run","schema":5,"uuid":"'$host'","host":"'$host'","kernel":"6.1","machine":"x86_64","cpus":1,"tool":"0.1","layers":"syscall","tier":"full","events":0,"settle":"none","wall_ns":1,"boot_ns":1,"utc_offset_s":0}' \
			'{"t":"machine","part":"kernel","key":"release","value":"6.1-'$host'"}' \
			'{"t":"machine","part":"disk","name":"sda","key":"bytes","value":"1048576"}' \
			'{"t":"end","dur_ns":1,"horizon":"at_ack","events":0}' | "$analyze" ingest "$host.sqlite"
	done
	"$analyze" merge both.sqlite one.sqlite two.sqlite
	same "facts" "$(sqlite3 both.sqlite "SELECT group_concat(host || ' ' || value, ',') FROM (SELECT * FROM machine WHERE part = 'kernel' ORDER BY host)")" "one 6.1-one,two 6.1-two"
	"$analyze" machine both.sqlite >both.txt
	same "paragraphs" "$(grep -cE '^(one|two) +The host runs Linux 6.1-(one|two)' both.txt)" 2
	sqlite3 one.sqlite 'DROP TABLE machine'
	"$analyze" machine one.sqlite | tr -s '\n ' ' ' | grep -qF 'The machine is not in the store: an earlier version of iot recorded the run.'
	"$analyze" migrate one.sqlite
	same "migrated" "$(sqlite3 one.sqlite 'SELECT COUNT(*) FROM machine')" 0
}
