# SPDX-License-Identifier: GPL-3.0-only
# ratios.bats - traced scenes with known volumes give the ratios of METRICS, on a file system of the test's own.
# Tests whose names begin with "guest:" run in the virtual machines of vm.bats too.

load ../lib/helper

setup() { own_run; }

# Nothing of the scenario's file system is in the page cache; programs are.
cold() {
	sync -f "$IOT_MNT"
	mount -o remount "$IOT_MNT"
	echo 1 > /proc/sys/vm/drop_caches
	cat "$io" /bin/dd /bin/cp /bin/cat > /dev/null
}

# Bytes of a kind on the scenario's device, of a program and a detail: of KIND COMM SUB
of() { total bytes "kind = '$1' AND comm = '$2' AND sub = '$3' AND dev = '$IOT_DEVNO'"; }

# One value of a ratio: ratio COMM NAME COLUMN [OPTIONS]
ratio() {
	local comm=$1 name=$2 column=$3
	shift 3
	"$analyze" amplification "$store" --table ratios --format tsv --by pid "$@" |
		awk -F'\t' -v w="$comm" -v n="$name" -v c="$column" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $at["who"] == w && $at["ratio"] == n { print $at[c] }'
}

# A file of 8 MiB that is not cached.
cold_file() {
	dd if=/dev/urandom of="$IOT_MNT/f" bs=1M count=8 conv=fsync status=none
	cold
}

@test "guest: cp's source is no wra: 0 of 8 MiB; a partial overwrite's is (defect 24)" {
	body() {
		cold_file
		traced -- cp "$IOT_MNT/f" "$IOT_MNT/g"
		same "bytes copied" "$(total bytes "dir = 'w' AND sub = 'regular' AND comm = 'cp'")" 8388608
		same "read of the source" "$(of block_read cp none)" 8388608
		same "data read for a write" "$(total bytes "kind = 'block_read' AND cause = 'data' AND sub = 'for_write' AND dev = '$IOT_DEVNO'")" 0
		between "wra of cp" "$(ratio cp wra value)" 0 0.01 # bitmaps, when room is looked for
		cold
		traced -- dd if=/dev/zero of="$IOT_MNT/f" bs=100 count=1 seek=50 conv=notrunc status=none
		same "read for the write" "$(total bytes "kind = 'block_read' AND cause = 'data' AND sub = 'for_write' AND dev = '$IOT_DEVNO'")" 4096
		same "missed by reads" "$(of miss dd regular)" 0
		cold
		traced -- "$io" --api sendfile --from "$IOT_MNT/f" --file "$IOT_MNT/h" --count 23 --size 4096 > /dev/null
		same "data read for a write by sendfile" "$(total bytes "kind = 'block_read' AND cause = 'data' AND sub = 'for_write' AND dev = '$IOT_DEVNO'")" 0
	}
	with_fs ext4 64M -- body
}

@test "guest: a cold sequential read of 40 KiB misses its first call alone" {
	body() {
		cold_file
		traced -- dd if="$IOT_MNT/f" of=/dev/null bs=4k count=10 status=none
		missed=$(of miss dd regular) ahead=$(of readahead dd regular) used=$(of readahead_used dd regular)
		same "missed and used" "$((missed + used))" 40960
		same "read" "$((missed + ahead))" "$(total bytes "kind = 'block_read' AND cause IN ('data', 'readahead') AND comm = 'dd' AND dev = '$IOT_DEVNO'")"
		same "hit_ratio" "$(ratio dd hit_ratio numerator)" 40960
		same "ra_waste" "$(ratio dd ra_waste numerator) $(ratio dd ra_waste denominator) $(ratio dd ra_waste bound)" "$((ahead - used)) $ahead exact"
		same "unknown" "$(of readahead_unknown dd regular)" 0
	}
	with_fs ext4 64M -- body
}

@test "guest: hit_ratio is 0 of a cold read, half where half is cached, then 1" {
	body() {
		cold_file
		reads 0.000 --pattern seq --size 65536 --count 128
		reads 1.000 --pattern seq --size 65536 --count 128
		cold
		head -c 4M "$IOT_MNT/f" >/dev/null
		python3 -c "import os; os.posix_fadvise(os.open('$IOT_MNT/f', os.O_RDONLY), 4 << 20, 0, os.POSIX_FADV_DONTNEED)" # what was read ahead of that
		reads 0.500 --pattern seq --size 65536 --count 128
		cold
		reads 0.000 --pattern rand --size 4096 --count 100
	}
	reads() { # HIT_RATIO OPTIONS
		local hit=$1 before
		shift
		for _ in 1 2 3 4 5; do
			rm -f "$store"*
			before=$(refaults)
			traced -- "$io" --api pread --file "$IOT_MNT/f" "$@" >/dev/null
			[ "$(ratio iot-io hit_ratio value | head -n 1)" != "$hit" ] && [ "$(refaults)" != "$before" ] || break
		done
		missed=$(ratio iot-io hit_ratio numerator | head -n 1)
		same "$*" "$(ratio iot-io hit_ratio value | head -n 1) $(ratio iot-io hit_ratio bound | head -n 1)" "$hit exact"
		# the device says so too, but for what was read ahead and not used
		same "$*: from the device" "$(total bytes "kind = 'block_read' AND cause IN ('data', 'readahead') AND comm = 'iot-io' AND dev = '$IOT_DEVNO'")" \
			"$((missed + $(of readahead iot-io regular) - $(of readahead_used iot-io regular)))"
	}
	with_fs ext4 64M -- body
}

@test "guest: 100 random reads of 4 KiB are 100 pages: missed, or read ahead and used" {
	body() {
		for api in pread sendfile-read; do
			cold_file
			pattern=rand
			[ $api = pread ] || pattern=seq
			traced -- "$io" --api $api --file "$IOT_MNT/f" --count 100 --size 4096 --pattern $pattern > /dev/null
			same "$api: pages" "$(($(of miss iot-io regular) + $(of readahead_used iot-io regular)))" 409600
			[ "$(of readahead iot-io regular)" -ge "$(of readahead_used iot-io regular)" ]
			rm "$store"*
		done
	}
	with_fs ext4 64M -- body
}

@test "guest: pages read ahead by one process and read by another are used, once" {
	body() {
		cold_file
		traced -- sh -c "dd if=$IOT_MNT/f of=/dev/null bs=4k count=1 status=none; cat $IOT_MNT/f > /dev/null; cat $IOT_MNT/f > /dev/null"
		used=$(total bytes "kind = 'readahead_used' AND dev = '$IOT_DEVNO'") ahead=$(total bytes "kind = 'readahead' AND dev = '$IOT_DEVNO'")
		same "used" "$used" "$ahead"
		same "whose" "$(of readahead_used dd regular)" "$(of readahead dd regular)"
		cold
		traced -- sh -c "dd if=$IOT_MNT/f of=/dev/null bs=4k count=1 status=none; sync; echo 1 > /proc/sys/vm/drop_caches; dd if=$IOT_MNT/f of=/dev/null bs=4k count=8 status=none"
		first=$(of miss dd regular)
		same "missed and used" "$((first + $(of readahead_used dd regular)))" $((4096 + 32768))
	}
	with_fs ext4 64M -- body
}

@test "guest: loads of a mapping read for faults; calls' ratios stay (defect 24)" {
	body() {
		cold_file
		traced -- "$io" --api mmap-read --file "$IOT_MNT/f" --count 10 --size 4096 > /dev/null
		[ "$(of block_read iot-io for_fault)" -ge 40960 ] || fail "$(q "SELECT kind, sub, bytes FROM c WHERE kind = 'block_read'")"
		same "by calls" "$(of miss iot-io regular)" 0
		same "read by calls" "$(of block_read iot-io none)" "$(total bytes "kind = 'block_read' AND comm = 'iot-io' AND sub = 'none' AND cause = 'metadata' AND dev = '$IOT_DEVNO'")"
		cold
		traced -- python3 -c "
import mmap, os
f = os.open('$IOT_MNT/f', os.O_RDONLY)
os.pread(f, 4096, 0)
m = mmap.mmap(f, 0, prot=mmap.PROT_READ)
m[8192]"
		[ "$(of readahead python3 regular)" -gt 0 ]
		same "unknown" "$(of readahead_unknown python3 regular)" "$(of readahead python3 regular)"
		same "at least nothing is no bound" "$(ratio python3 ra_waste bound | head -n 1)" "n/a"
	}
	with_fs ext4 64M -- body
}

@test "readahead(2) and posix_fadvise are no misses: read ahead, and used when read" {
	body() {
		cold_file
		traced -- python3 -c "
import os
f = os.open('$IOT_MNT/f', os.O_RDONLY)
os.posix_fadvise(f, 0, 65536, os.POSIX_FADV_WILLNEED)
os.pread(f, 4096, 8192)"
		same "missed" "$(of miss python3 regular)" 0
		same "ahead" "$(of readahead python3 regular)" 65536
		same "used" "$(of readahead_used python3 regular)" 4096
	}
	with_fs ext4 64M -- body
}

@test "guest: 23 writes with O_DSYNC, O_SYNC or RWF_DSYNC are 23 syncs (defect 27)" {
	body() {
		for api in odsync osync pwritev2-dsync; do
			traced -- "$io" --api $api --file "$IOT_MNT/f" --count 23 --size 4096 > /dev/null
			same "$api" "$("$analyze" amplification "$store" --table syncs --format csv | awk -F, '$2 == "iot-io" { print $4, $5, $6 }')" "0 23 23"
			same "$api: den" "$(ratio iot-io flush_amp denominator)" 23
			rm "$store"*
		done
	}
	with_fs ext4 64M -- body
}

@test "guest: 0.4 s in a pipe is no slow file read; strangers have none (defect 25)" {
	body() {
		dd if=/dev/zero of="$IOT_MNT/f" bs=64k count=4 status=none
		(for _ in $(seq 20); do sleep 0.1; done) & # reads nothing, but its shell does
		traced -- sh -c "for i in 1 2 3 4 5; do sleep 0.4; echo x; done | cat > /dev/null; cat $IOT_MNT/f > /dev/null"
		wait
		"$analyze" latency "$store" --format csv --table latency > lat.csv
		csv() { sqlite3 :memory: -cmd '.mode csv' -cmd '.import lat.csv t' -cmd '.mode list' "SELECT $1 FROM t WHERE operation = 'read' AND layer = '$2'"; }
		between "p999 of file reads" "$(csv p999_us syscall)" 0 100000
		between "p999 of others" "$(csv p999_us 'syscall, not files')" 300000 3000000
		same "file reads that were timed" "$(csv timed syscall)" "$(total ops "kind = 'read' AND sub IN ('regular', 'blockdev', 'dir', 'none') AND owner > 2")"
		same "sampled" "$(sql 'SELECT latency FROM run')" all
	}
	with_fs ext4 64M -- body
}

@test "guest: 200 direct writes of 512 bytes: D is blocks, W is submitted (defect 31)" {
	body() {
		fallocate -l 1M "$IOT_MNT/f"
		sync -f "$IOT_MNT"
		traced -- dd if=/dev/zero of="$IOT_MNT/f" bs=512 count=200 oflag=direct conv=notrunc status=none
		same "S" "$(total bytes "kind = 'write' AND comm = 'dd' AND sub = 'regular'")" 102400
		same "D" "$(q "SELECT SUM(direct) FROM l WHERE comm = 'dd'")" 819200
		same "W" "$(q "SELECT SUM(submitted) FROM l WHERE comm = 'dd'")" "$(total bytes "kind = 'fs_write' AND cause = 'direct' AND comm = 'dd'")"
		run "$analyze" verify "$store" --format csv
		empty "mismatches of the ledger" "$(grep '^ledger.*MISMATCH' <<<"$output" || :)"
		between "hop_flush" "$(ratio dd hop_flush value)" 0.1 1.0
	}
	with_fs ext4 64M -- body
}

@test "--layers syscall,block: waf_sys stands, the rest is no loss (defect 28)" {
	body() {
		traced --layers syscall,block -- dd if=/dev/zero of="$IOT_MNT/f" bs=64k count=16 conv=fsync status=none
		[ "$(ratio dd waf_sys bound)" = exact ] || fail "$("$analyze" amplification "$store")"
		same "hop_fs" "$(ratio dd hop_fs note)" "layer fs not recorded"
		[[ "$("$analyze" amplification "$store")" == *"lost: nothing"* ]]
		rm "$store"*
		traced --layers syscall,block -- "$io" --api uring --file "$IOT_MNT/g" --count 7 --size 4096 > /dev/null
		same "io_uring, unseen" "$(ratio iot-io waf_sys note)" "layer uring not recorded, and io_uring was used"
		rm "$store"*
		traced --layers vfs -- dd if=/dev/zero of="$IOT_MNT/f" bs=64k count=16 status=none
		same "V, derived" "$("$analyze" amplification "$store" --table layers --format csv | awk -F, '$2 == "dd" && $4 == "vfs" && $5 == "write" { print $8, $9 }')" "1048576 derived"
	}
	with_fs ext4 64M -- body
}

@test "a neighbour's dirtying after the settle is theirs: no mismatch (defect 32)" {
	body() {
		ln -s "$io" neighbour
		./neighbour --api write --file "$IOT_MNT/n" --count 100000 --size 4096 --pause 1 > /dev/null &
		writer=$!
		traced --all --ring 128M -- dd if=/dev/zero of="$IOT_MNT/f" bs=4k count=100 status=none || :
		kill "$writer"
		wait "$writer" || :
		[ "$(q "SELECT COUNT(*) FROM lost WHERE n > 0 AND effect IN ('events', 'bytes')")" = 0 ] || skip "events were lost: the machine is busy"
		"$analyze" verify "$store" --format csv > verify.csv || :
		empty "mismatches of the ledger" "$(grep '^ledger.*MISMATCH' verify.csv || :)"
		[ "$(q "SELECT COALESCE(SUM(dirty_late), 0) FROM l")" -gt 0 ] || fail "nothing was late: $(q "SELECT comm, dirty_end, dirty_late FROM l")"
	}
	with_fs ext4 256M -- body
}

@test "verify of a run with --dev compares that disk alone (defect 60)" {
	body() {
		traced --dev "$IOT_DEV" -- sh -c "dd if=/dev/zero of=$IOT_MNT/f bs=4k count=100 conv=fsync status=none; dd if=/dev/zero of=here bs=4k count=10 conv=fsync status=none"
		"$analyze" verify "$store" --format csv > verify.csv || fail "$(grep MISMATCH verify.csv)"
		same "disks" "$(awk -F, '/^device bytes (read|written),/ { print $2 }' verify.csv | sort -u)" "${IOT_DEV#/dev/}"
	}
	with_fs ext4 64M -- body
}
