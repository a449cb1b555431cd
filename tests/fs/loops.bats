# SPDX-License-Identifier: GPL-3.0-only
# loops.bats - loop devices on files: P is the disk's bytes for the users of the loop device, with the journal and metadata of the file
# system that holds the file. The disk is a loop device on a file in memory; its own counter is the oracle.

load ../lib/helper
load ../lib/stacks

# Runs a command, and holds what it is said to have cost against both counters: its own device's, and the disk's.
measure() { # WHO COMMAND...
	local who=$1 inner outer

	shift
	inner=$(counter "$top") outer=$(counter "$disk")
	traced -- "$@"
	inner=$(($(counter "$top") - inner)) outer=$(($(counter "$disk") - outer))
	same "B, the device that it uses" "$(total bytes "kind = 'block_write' AND dev = '$top_no'")" "$inner"
	same "P, the disk" "$(total bytes "kind = 'block_write' AND dev = '$disk_no'")" "$outer"
	same "B of $who" "$(cell amplification summary "$who" B)" "$inner"
	same "P of $who" "$(cell amplification summary "$who" P)" "$outer" ||
		fail "$(q "SELECT comm, cause, sub, SUM(bytes) FROM c WHERE kind = 'block_write' AND dev = '$disk_no' GROUP BY 1, 2, 3")"
	same "hop_stack" "$(printf %.3f "$(cell stack owners "$who" hop_stack)")" "$(awk -v p="$outer" -v b="$inner" 'BEGIN { printf "%.3f", p / b }')"
	same "without an owner below" "$(total bytes "kind = 'block_write' AND dev = '$disk_no' AND owner = 0")" 0
	"$analyze" verify "$store" >verify.txt || fail "verify: $(grep MISMATCH verify.txt)"
	grep -q "${disk#/dev/} .*OK" verify.txt
}

@test "a loop device on a file of ext4, XFS, btrfs: P is the disk's (defect 69)" {
	local outer

	for outer in $(by_turns ext4 xfs btrfs); do
		nest $outer ext4
		measure dd dd if=/dev/zero of="$at/x" bs=4k count=50 oflag=sync status=none
		[ "$(total bytes "kind = 'block_write' AND cause = 'loop_journal' AND comm = 'dd'")" -gt 0 ] || fail "$outer: no journal"
		same "by carrier" "$("$analyze" carriers "$store" --format csv --table carriers | awk -F, '$3 == "dd" { n += $8 } END { print n }')" \
			"$(total bytes "kind = 'block_write' AND dev = '$disk_no'")"
		same "B has none of it" "$(total bytes "kind = 'block_write' AND cause IN ('journal', 'metadata') AND dev = '$disk_no'")" 0
		"$analyze" "$store" | tr -s ' \n' ' ' | grep -q 'the disks below .* for that'
		nest_down
	done
}

@test "two writers of a loop device on ext4, btrfs: P is the disk's, each has its own" {
	local outer outers before direct

	outers=$(by_turns ext4 btrfs)
	for direct in on off; do
		nest_options=--direct-io=$direct
		for outer in $outers; do
			nest $outer ext4
			same "$outer: direct I/O" "$(<"/sys/block/${top#/dev/}/loop/dio")" $([ $direct = on ] && echo 1 || echo 0)
			ln -sf "$io" alpha
			ln -sf "$io" beta
			before=$(counter "$disk")
			traced -- sh -c './alpha --api odsync --file "$0/a" --count 64 >a.json & ./beta --api odsync --file "$0/b" --count 48 >b.json; wait' "$at"
			before=$(($(counter "$disk") - before))
			same "$outer, direct $direct: P" "$(total bytes "kind = 'block_write' AND dev = '$disk_no'")" "$before"
			contents() { total bytes "kind = 'block_write' AND dev = '$disk_no' AND cause = 'loopback' AND how = 'inode' AND comm = '$1'"; }
			between "$outer, direct $direct: alpha's" "$(contents alpha)" $((64 * 4096)) $((64 * 4096 + 65536))
			between "$outer, direct $direct: beta's" "$(contents beta)" $((48 * 4096)) $((48 * 4096 + 65536))
			"$analyze" verify "$store" >verify.txt || fail "verify: $(grep MISMATCH verify.txt)"
			grep -q "^P: .* ${disk#/dev/} .* OK .*${top#/dev/}" verify.txt
			nest_down
		done
	done
}

@test "btrfs on a loop device on btrfs: P is the disk's counter, and nobody else's" {
	nest btrfs btrfs
	measure dd dd if=/dev/zero of="$at/x" bs=64k count=20 conv=fsync status=none
}

@test "loop devices three deep: settling reaches the disk, and P is its counter" {
	local d own

	nest ext4 xfs ext4
	measure dd dd if=/dev/zero of="$at/x" bs=4k count=30 oflag=sync status=none
	# loop devices of others may be in the run, too
	own=$(for d in "$disk" "${upper[@]}"; do echo "${d#/dev/}"; done)
	same "levels" "$("$analyze" stack "$store" --format csv --table levels | grep '^[012],loop' | cut -d, -f2 | grep -cwF "$own")" 3
}

@test "bytes still dirty at the end are settled to the disk: 8 MiB are 8 MiB there" {
	nest ext4 ext4
	measure dd dd if=/dev/zero of="$at/x" bs=1M count=8 status=none
	same "contents at the device" "$(total bytes "kind = 'block_write' AND cause = 'data' AND dev = '$top_no' AND comm = 'dd'")" $((8 << 20))
	between "contents at the disk" "$(total bytes "kind = 'block_write' AND cause = 'loopback' AND comm = 'dd'")" $((8 << 20)) $((9 << 20))
}

@test "two writers of one loop device have their own data below, together all" {
	local before

	nest ext4 ext4
	before=$(counter "$disk")
	ln -sf "$io" alpha
	ln -sf "$io" beta
	traced -- sh -c "./alpha --api write --file '$at/a' --count 512 >a.json; sync -f '$at'; ./beta --api write --file '$at/b' --count 256 >b.json; sync -f '$at'"
	before=$(($(counter "$disk") - before))
	same "all" "$(total bytes "kind = 'block_write' AND dev = '$disk_no'")" "$before"
	same "nobody's" "$(total bytes "kind = 'block_write' AND dev = '$disk_no' AND owner = 0")" 0
	contents() { total bytes "kind = 'block_write' AND dev = '$disk_no' AND cause = 'loopback' AND comm = '$1'"; }
	between alpha "$(contents alpha)" $((512 * 4096)) $((512 * 4096 + 400000))
	between beta "$(contents beta)" $((256 * 4096)) $((256 * 4096 + 400000))
}

@test "without a loop device below P is B, and no line says more" {
	leaf_up 64M
	mkdir at
	mounts=("$PWD/at")
	ext4_on "$leaf" at
	traced -- dd if=/dev/zero of=at/x bs=4k count=10 conv=fsync status=none
	same "P" "$(cell amplification summary dd P)" "$(cell amplification summary dd B)"
	same "hop_stack" "$("$analyze" amplification "$store" --format csv --table ratios | grep -c ',dd,.*hop_stack' || :)" 0
	! "$analyze" "$store" | grep -q 'disks below'
}
