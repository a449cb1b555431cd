# SPDX-License-Identifier: GPL-3.0-only
# cache.bats - the page cache traced whole: hits, misses, removals and faults of a known number of pages, beside what the kernel
# counted. Tests whose names begin with "guest:" run in the virtual machines of vm.bats, too.

load ../lib/helper

setup() {
	own_run
	built pages
	pages=$IOT_BUILD/pages
	export pages
}

teardown() {
	local mount

	for mount in $(awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/mounts); do
		[ ! -d "$mount/iot-cache-$$" ] || rmdir "$mount/iot-cache-$$"
	done
	repeat_skipped
}

# A file of so many pages, on the device and not in the cache.
cold_file() { # FILE PAGES
	dd if=/dev/urandom of="$1" bs=4096 count="$2" conv=fsync status=none
	"$pages" drop "$1"
}

# Sums of a kind, of processes of one name on the device under test: "pages operations"; with a third argument, of one operation
# (1: store).
counted() { # COMM KIND [OP]
	q "SELECT COALESCE(SUM(t.bytes), 0) / 4096, COALESCE(SUM(t.ops), 0) FROM agg_total t JOIN r ON r.run = t.run
		JOIN kind k ON k.id = t.kind LEFT JOIN process p ON p.run = t.run AND p.id = t.owner
		WHERE k.name = '$2' AND COALESCE(p.comm, '') LIKE '$1' AND t.dev = $(device_number)${3:+ AND COALESCE(t.op, 0) = $3}"
}

# The number of the device, or of the file system on it where that has one of its own, as btrfs.
device_number() {
	local major minor

	[ "${own_number-}" = "" ] || { q "SELECT DISTINCT f.dev FROM file f JOIN r ON r.run = f.run WHERE f.path LIKE '$IOT_MNT/%'"; return; }

	IFS=: read -r major minor <"/sys/block/${IOT_DEV#/dev/}/dev"
	echo $((major << 20 | minor))
}

# The events of a kind on files of the device: "pages events".
sent() { # KIND
	q "SELECT COALESCE(SUM(e.size), 0) / 4096, COUNT(*) FROM event e JOIN r ON r.run = e.run JOIN kind k ON k.id = e.kind
		WHERE k.name = '$1' AND e.dev = $(device_number)"
}

whole() { # COMMAND...
	traced --layers default,cache --dev "${IOT_DEV#/dev/}" -- "$@"
}

@test "guest: 1009 random cold reads are 1009 misses, 0 hits; again, 1009 hits" {
	body() {
		ln -s "$pages" cold
		ln -s "$pages" warm
		for _ in 1 2 3 4 5; do
			cold_file "$IOT_MNT/file" 16381
			before=$(refaults)
			whole sh -ec './cold cold "$1" 1009; ./warm warm "$1" 1009' sh "$IOT_MNT/file"
			[ "$(counted warm miss)" != "0 0" ] && [ "$(refaults)" != "$before" ] || break
		done
		same "missed, cold" "$(counted cold miss)" "1009 1009"
		same "hits, cold" "$(counted cold hit)" "0 0"
		same "missed, warm" "$(counted warm miss)" "0 0"
		same "hits, warm" "$(counted warm hit)" "1009 1009"
		same "events of misses" "$(sent miss)" "1009 1009"
		same "events of hits" "$(sent hit)" "1009 1009"
		same "size of the file, in pages" "$(q "SELECT DISTINCT e.arg FROM event e JOIN r ON r.run = e.run JOIN kind k ON k.id = e.kind
			WHERE k.name = 'hit' AND e.dev = $(device_number)")" 16381
		same "pages of events" "$(q "SELECT COUNT(DISTINCT COALESCE(e.offset, 0)), SUM(e.offset % 4096) FROM event e
			JOIN r ON r.run = e.run JOIN kind k ON k.id = e.kind WHERE k.name = 'miss' AND e.dev = $(device_number)")" "1009 0"
	}
	with_fs ext4 128M -- body
}

@test "guest: a cold sequential read has no hits: all is missed, or read ahead and used" {
	body() {
		local missed used

		cold_file "$IOT_MNT/file" 4096
		whole "$pages" sequential "$IOT_MNT/file"
		read -r missed _ <<<"$(counted pages miss)"
		read -r used _ <<<"$(counted pages readahead_used)"
		same "hits" "$(counted pages hit)" "0 0"
		same "missed and used" $((missed + used)) 4096
		read -r used _ <<<"$(q "SELECT SUM(e.bytes) / 4096 FROM event e JOIN r ON r.run = e.run JOIN kind k ON k.id = e.kind
			WHERE k.name IN ('miss', 'readahead_used') AND e.dev = $(device_number)")"
		same "missed and used, of events" "$used" 4096
	}
	with_fs ext4 128M -- body
}

# Pages of a file that were cached just before they were removed, as cachestat(2) said; before 6.5 all of them.
held() { # FILE PAGES
	local n

	n=$(sed -n 's/^cached //p' "$1.held")
	[ "$n" != -1 ] || n=$2
	between "cached pages of $1" "$n" $(($2 - 3)) "$2" >&2
	echo "$n $n"
}

# Again where the kernel took back pages of these files meanwhile.
removals() {
	for _ in 1 2 3 4 5; do
		dd if=/dev/urandom of="$IOT_MNT/a" bs=4096 count=1009 conv=fsync status=none
		dd if=/dev/urandom of="$IOT_MNT/b" bs=4096 count=503 conv=fsync status=none
		dd if=/dev/urandom of="$IOT_MNT/c" bs=4096 count=211 conv=fsync status=none
		whole sh -ec 'for f in a b c; do "$pages" cached "$1/$f" >$f.held; done
			"$pages" drop "$1/a"; "$pages" truncate "$1/b" 0; "$pages" unlink "$1/c"' sh "$IOT_MNT"
		awk '$2 >= 0 { n += $2; some = 1 } END { exit some && n < 1009 + 503 + 211 - 9 }' a.held b.held c.held && [ "$(counted % reclaim)" = "0 0" ] && break
	done
	same "dropped" "$(counted pages drop | cut -d' ' -f1) $(sent drop | cut -d' ' -f1)" "$(held a 1009)"
	same "invalidated" "$(counted pages invalidate | cut -d' ' -f1) $(sent invalidate | cut -d' ' -f1)" "$(held b 503)"
	same "evicted" "$(counted pages evict | cut -d' ' -f1) $(sent evict | cut -d' ' -f1)" "$(held c 211)"
	same "reclaimed" "$(counted % reclaim)" "0 0"
}

@test "guest: fadvise drops 1009 pages, truncate invalidates 503, unlink evicts 211" {
	with_fs ext4 64M -- removals
}

@test "fadvise drops 1009 pages, truncate invalidates 503, unlink evicts 211 (XFS)" {
	need mkfs.xfs xfsprogs
	with_fs xfs 320M -- removals
}

@test "fadvise drops 1009 pages, truncate invalidates 503, unlink evicts 211 (btrfs)" {
	need mkfs.btrfs btrfs-progs
	own_number=1 with_fs btrfs 256M -- removals
}

@test "drop_caches drops pages, a direct write invalidates those it writes over" {
	body() {
		cold_file "$IOT_MNT/file" 131
		"$pages" sequential "$IOT_MNT/file"
		ln -s "$(command -v dd)" over
		whole sh -ec './over if=/dev/zero of="$1/file" bs=4096 count=32 oflag=direct conv=notrunc status=none; echo 1 >/proc/sys/vm/drop_caches' \
			sh "$IOT_MNT"
		same "invalidated" "$(counted over invalidate | cut -d' ' -f1)" 32
		same "dropped" "$(q "SELECT SUM(e.size) / 4096 FROM event e JOIN r ON r.run = e.run JOIN kind k ON k.id = e.kind
			JOIN file f ON f.run = e.run AND f.id = e.file WHERE k.name = 'drop' AND f.path LIKE '%/file'")" 99
	}
	[ -w /proc/sys/vm/drop_caches ] || skip "the right to write /proc/sys/vm/drop_caches is missing"
	with_fs ext4 64M -- body
}

@test "53 loads of cold pages are 53 major faults, 53 of cached ones 53 minor" {
	body() {
		need_faults
		cold_file "$IOT_MNT/file" 1021
		ln -s "$pages" first
		ln -s "$pages" again
		ln -s "$pages" third
		whole sh -ec './first load "$1" 53 >first.txt; ./again load "$1" 53 >again.txt; ./third store "$1" 31 >third.txt' sh "$IOT_MNT/file"
		same "the kernel, cold" "$(tr '\n' ' ' <first.txt)" "major 53 minor 0 "
		same "the kernel, cached" "$(tr '\n' ' ' <again.txt)" "major 0 minor 53 "
		same "the kernel, stores" "$(tr '\n' ' ' <third.txt)" "major 0 minor 31 "
		same "major" "$(counted first fault_major 0 | cut -d' ' -f2) $(counted again fault_major | cut -d' ' -f2)" "53 0"
		same "minor" "$(counted first fault_minor | cut -d' ' -f2) $(counted again fault_minor 0 | cut -d' ' -f2)" "0 53"
		same "stores" "$(counted third fault_minor 1 | cut -d' ' -f2) $(counted third fault_major | cut -d' ' -f2)" "31 0"
		same "places" "$(q "SELECT COUNT(DISTINCT COALESCE(e.offset, 0)), SUM(e.offset % (19 * 4096)) FROM event e JOIN r ON r.run = e.run
			JOIN kind k ON k.id = e.kind WHERE k.name = 'fault_major' AND e.dev = $(device_number)")" "53 0"
	}
	with_fs ext4 64M -- body
}

need_faults() {
	local attached

	attached=$("$trace" --probes --layers cache | grep -c '^cache *pagecache__fault .* yes ') || :
	[ "$attached" = 1 ] || skip "tracepoint mm_filemap_fault is missing: Linux before 6.12"
}

@test "pages that were read ahead and dropped before a call returned them are wasted" {
	body() {
		local asked held wasted

		cold_file "$IOT_MNT/file" 1009
		whole sh -ec 'dd if="$1" of=/dev/null bs=4096 count=1 status=none; "$pages" cached "$1" >held; "$pages" drop "$1"' sh "$IOT_MNT/file"
		read -r _ held <held
		[ "$held" -ge 0 ] || skip "cachestat(2) is missing: Linux before 6.5"
		read -r asked _ <<<"$(counted dd readahead)"
		read -r wasted _ <<<"$(counted dd readahead_wasted)"
		[ "$asked" -gt 0 ] || fail "the kernel read nothing ahead"
		same "cached" "$held" $((asked + 1))
		same "wasted" "$wasted" "$asked"
		same "dropped" "$(counted pages drop | cut -d' ' -f1)" "$held"
		same "used" "$(counted dd readahead_used)" "0 0"
	}
	with_fs ext4 64M -- body
}

@test "dirty and writeback events of 503 pages, of as many as the sums have" {
	body() {
		whole dd if=/dev/zero of="$IOT_MNT/file" bs=4096 count=503 conv=fsync status=none
		same "dirtied" "$(sent dirty | cut -d' ' -f1)" 503
		same "begun" "$(q "SELECT SUM(e.bytes) / 4096 FROM event e JOIN r ON r.run = e.run JOIN kind k ON k.id = e.kind WHERE k.name = 'writeback_begin'")" 503
		same "ended" "$(q "SELECT SUM(e.bytes) / 4096 FROM event e JOIN r ON r.run = e.run JOIN kind k ON k.id = e.kind WHERE k.name = 'writeback_end'")" 503
		same "operations" "$(sent dirty | cut -d' ' -f2)" "$(counted dd dirty | cut -d' ' -f2)"
	}
	with_fs ext4 64M -- body
}

@test "--sample cache=4 records whole spans of 64 pages, about 1 in 4, and sums of all" {
	body() {
		local spans

		cold_file "$IOT_MNT/file" 16384
		traced --layers default,cache --sample cache=4 --dev "${IOT_DEV#/dev/}" -- "$pages" cold "$IOT_MNT/file" 16384
		same "rate" "$(q "SELECT cache_sample FROM r")" 4
		same "hits and misses" "$(($(counted pages miss | cut -d' ' -f1) + $(counted pages hit | cut -d' ' -f1)))" 16384
		read -r spans _ <<<"$(q "SELECT COUNT(DISTINCT COALESCE(e.offset, 0) / 262144) FROM event e JOIN r ON r.run = e.run JOIN kind k ON k.id = e.kind
			WHERE k.name IN ('hit', 'miss') AND e.dev = $(device_number)")"
		between "spans of 256" "$spans" 32 96
		same "pages of the spans" "$(($(sent miss | cut -d' ' -f1) + $(sent hit | cut -d' ' -f1)))" $((spans * 64))
	}
	with_fs ext4 128M -- body
}

# A control group with 16 MiB of memory, of the version that has the memory controller: $group.
small_group() {
	local two one

	two=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	one=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
	group=${one:-$two}/iot-cache-$$
	[ -n "${one:-$two}" ] && mkdir "$group" || skip "a control group is missing: none can be made here"
	for file in memory.max memory.limit_in_bytes; do
		[ ! -w "$group/$file" ] || { echo $((16 << 20)) >"$group/$file" && return; }
	done
	rmdir "$group"
	[ -w "$group/memory.max" ] || skip "the memory controller is missing in the control groups of this machine"
}

@test "64 MiB read in a group of 16 MiB: what is not cached was reclaimed" {
	body() {
		local group cached missed ahead

		small_group
		cold_file "$IOT_MNT/file" 16384
		whole sh -ec '(echo 0 >"$2/cgroup.procs"; exec "$pages" sequential "$1" 65536) >/dev/null; "$pages" cached "$1" >held' \
			sh "$IOT_MNT/file" "$group"
		cached=$(sed -n 's/^cached //p' held)
		[ "$cached" != -1 ] || skip "cachestat(2) is missing: Linux before 6.5"
		read -r missed _ <<<"$(counted pages miss)"
		read -r ahead _ <<<"$(counted pages readahead)"
		[ "$cached" -lt 8192 ] || fail "$cached pages of 16384 stayed"
		same "reclaimed" "$(counted pages reclaim | cut -d' ' -f1)" $((missed + ahead - cached))
		same "of nobody" "$(counted '' reclaim)" "0 0"
	}
	with_fs ext4 128M -- body
}

@test "without --layers cache no program of it is attached" {
	same "attached" "$("$trace" --probes | awk '$2 ~ /^pagecache__/ && $4 != "no"')" ""
}
