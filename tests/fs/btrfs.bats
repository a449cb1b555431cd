# SPDX-License-Identifier: GPL-3.0-only
# btrfs.bats - btrfs: the owners of its tree blocks, and their trees, against btrfs inspect-internal, the device's own counter and
# counts worked out by hand.

load ../lib/helper

setup() { own_run mkfs.btrfs:btrfs-progs; }

generation() { btrfs inspect-internal dump-super "$IOT_IMG" | awk '$1 == "generation" { print $2 }'; }

# Blocks of each tree that the run wrote to a device, by the size of one and how many copies it has there.
trees_in_store() { # COPIES DEVNO
	q "SELECT sub, SUM(bytes) / 16384.0 / $1 FROM c WHERE kind = 'block_write' AND dev = '$2' AND sub LIKE '%tree' GROUP BY sub" |
		sed 's/\.0$//' | sort
}

# Three commits, each with names, large files and an fsync, and what the image holds after each step in `dumps`. The file system's own
# call: syncfs(2) writes blocks that are changed again, and go elsewhere, before they are committed.
load_of_steps() {
	cat > steps <<-S
		for i in 1 2 3; do
			for j in \$(seq 67); do echo \$i > "$IOT_MNT/n\$i.\$j"; done
			"$io" --api pwrite --file "$IOT_MNT/f\$i" --count 53 --size 64k > /dev/null
			"$io" --api pwrite --file "$IOT_MNT/g" --count 5 --sync fsync --every 5 > /dev/null
			btrfs inspect-internal dump-tree "$IOT_DEV" >> dumps
			btrfs filesystem sync "$IOT_MNT"
			btrfs inspect-internal dump-tree "$IOT_DEV" >> dumps
		done
	S
}

# Traces the steps, until trees are as they are dumped. A sync(2) of a neighbour writes blocks that change again and go elsewhere before
# they are committed: then there are more than in any dump, and it is tried again.
trees_are_dumped() { # COPIES_ON_THE_DEVICE TRACER_OPTIONS...
	local try copies=$1

	shift
	load_of_steps
	for try in 1 2 3 4; do
		btrfs filesystem sync "$IOT_MNT"
		before=$(generation)
		rm -f dumps "$store"
		dev_mark
		traced "$@" -- sh steps
		delta=$(dev_wrote)
		got=$(trees_in_store "$copies" "$IOT_DEVNO") wanted=$("$root/tests/fs/btrfs-trees.py" "$before" < dumps | sort)
		[ "$got" != "$wanted" ] || break
	done
	: "$try"
	same "trees" "$got" "$wanted"
	grep -q '^log_tree ' <<< "$got" || fail "no log tree: $got"
	same "commits, as generations" "$(total ops "kind = 'commit' AND dev = '$IOT_DEVNO'")" $(($(generation) - before))
}

@test "guest: btrfs: 53 writes of 4 KiB with O_DSYNC are data, log tree, superblock" {
	body() {
		dev_mark
		traced --dev "${IOT_DEV#/dev/}" -- "$io" --api odsync --file "$IOT_MNT/f" --count 53 > ledger.json
		all_known "$(dev_wrote)"
		same "data" "$(written "cause = 'data' AND comm = 'iot-io'")" $((53 * 4096))
		same "direct" "$(written "cause = 'direct'")" 0
		same "others" "$(written "comm <> 'iot-io'")" 0
		# the log's root and a leaf, two copies
		between "log trees" "$(written "cause = 'journal' AND sub = 'log_tree'")" $((50 * 65536)) $((53 * 65536))
		between "superblocks" "$(written "sub = 'superblock'")" $((53 * 4096)) $((58 * 8192))
	}
	with_fs btrfs 320M -- body
}

@test "guest: btrfs: blocks of each tree are dump-tree's, in DUP and single copies" {
	body() {
		trees_are_dumped 2 --dev "${IOT_DEV#/dev/}"
		all_known "$delta"
		fs_umount
		mkfs_again mkfs.btrfs -q -f -m single "$IOT_DEV" 2> mkfs.txt
		mount -o noatime "$IOT_DEV" "$IOT_MNT"
		trees_are_dumped 1 --dev "${IOT_DEV#/dev/}"
		all_known "$delta"
	}
	with_fs btrfs 512M -- body
}

@test "btrfs: RAID1 over two devices: blocks once on each, W is one copy and F both" {
	body() {
		local no f w

		truncate -s 512M other.img
		other=$(losetup --find --show "$PWD/other.img")
		no=$(tr -d '\n' < "/sys/block/${other#/dev/}/dev")
		release() { fs_umount; losetup -d "$other"; }
		trap release EXIT
		fs_umount
		mkfs_again mkfs.btrfs -q -f -m raid1 -d raid1 "$IOT_DEV" "$other" 2> mkfs.txt
		btrfs device scan "$other" > scan.txt
		mount -o noatime "$IOT_DEV" "$IOT_MNT"
		trees_are_dumped 1
		same "trees on the other" "$(trees_in_store 1 "$no")" "$(trees_in_store 1 "$IOT_DEVNO")"
		f=$((3 * 53 * 65536 + 3 * 5 * 4096))
		same "data" "$(total bytes "kind = 'block_write' AND cause = 'data' AND dev = '$IOT_DEVNO' AND owner > 2")" "$f"
		same "data on the other" "$(total bytes "kind = 'block_write' AND cause = 'data' AND dev = '$no' AND owner > 2")" "$f"
		same "of nobody" "$(total bytes "kind = 'block_write' AND owner = 0 AND dev IN ('$no', '$IOT_DEVNO')")" 0
		w=$("$analyze" amplification "$store" --format tsv --table volumes | awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
			$at["who"] == "iot-io" { print $at["W"], $at["D"] }')
		same "W and D" "$w" "$f $f"
		"$analyze" amplification "$store" --table ratios | grep "^iot-io .*hop_fs .* $f bytes of F are other copies of W"
		"$analyze" verify "$store" > verify.txt 2>&1 || fail "verify, status $?: $(grep MISMATCH verify.txt || cat verify.txt)"
	}
	with_fs btrfs 512M -- body
}

# A btrfs over several disks of this size, of which IOT_DEV is the first; `devices`: their numbers, as a list of SQL.
over_disks() { # PROFILE DISKS SIZE
	local n one

	others=() devices="'$IOT_DEVNO'"
	release() {
		fs_umount
		for one in "${others[@]}"; do losetup -d "$one"; done
	}
	trap release EXIT
	fs_umount
	for n in $(seq 2 "$2"); do
		truncate -s "$3" "disk$n.img"
		one=$(losetup --find --show "$PWD/disk$n.img")
		others+=("$one")
		devices+=", '$(tr -d '\n' < "/sys/block/${one#/dev/}/dev")'"
	done
	mkfs_again mkfs.btrfs -q -f -m "$1" -d "$1" "$IOT_DEV" "${others[@]}" 2> mkfs.txt
	btrfs device scan "${others[@]}" > scan.txt
	mount -o noatime,commit=300 "$IOT_DEV" "$IOT_MNT" # nothing is written beside the run
	sync -f "$IOT_MNT"
	sync -f "$IOT_MNT"
}

# Bytes that moved on all of them, by condition.
on_disks() { # KIND CONDITION
	total bytes "kind = '$1' AND dev IN ($devices) AND $2"
}

# The counters of the devices themselves.
disks_wrote() {
	local one sum=0

	for one in "$IOT_DEV" "${others[@]}"; do sum=$((sum + $(dev_count "$one" write_sectors) * 512)); done
	echo "$sum"
}

# One process, 53 x 64 KiB without and 7 x 4 KiB with fsync, and 4 x 64 KiB directly.
load_of_one() {
	before=$(disks_wrote)
	traced -- "$(type -P python3)" - "$IOT_MNT" "$@" <<-'P' || fail "the tracer, or the load, ended with $?"
		import mmap, os, subprocess, sys
		top = sys.argv[1]
		f = os.open(top + "/f", os.O_CREAT | os.O_RDWR)
		for i in range(53): os.write(f, b"x" * 65536)
		g = os.open(top + "/g", os.O_CREAT | os.O_RDWR)
		for i in range(7): os.write(g, b"y" * 4096); os.fsync(g)
		d, m = os.open(top + "/d", os.O_CREAT | os.O_RDWR | os.O_DIRECT), mmap.mmap(-1, 65536)
		for i in range(4): os.pwrite(d, m, 65536 * i)
		os.sync()
		for command in sys.argv[2:]: subprocess.run(command, shell=True, check=True)
	P
	written=$((53 * 65536 + 7 * 4096 + 4 * 65536))
	same "device bytes" "$(on_disks block_write 1)" $(($(disks_wrote) - before))
	empty "bytes without an owner: cause, part, bytes" "$(q "SELECT cause, sub, SUM(bytes) FROM c WHERE kind = 'block_write' AND dev IN ($devices) AND owner = 0 GROUP BY 1, 2")"
	"$analyze" verify "$store" > verify.txt 2>&1 || fail "verify, status $?: $(grep MISMATCH verify.txt || cat verify.txt)"
}

# W of one who has written, of all that the run has of it.
w_of() { # COMM_LIKE
	"$analyze" amplification "$store" --format tsv --table volumes | awk -F'\t' -v who="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		index($at["who"], who) == 1 { print $at["W"] }'
}

@test "btrfs: RAID10 and RAID5: W is one copy, F has copies or parity, the writer's" {
	only_long "each time RAID1 alone"
	body() {
		over_disks raid10 4 512M
		load_of_one
		same "data" "$(on_disks block_write "cause IN ('data', 'direct') AND sub = 'none' AND comm LIKE 'python%'")" $written
		same "other copies" "$(on_disks block_write "sub = 'copy' AND comm LIKE 'python%'")" $written
		same "W" "$(w_of python)" $written
		release
		over_disks raid5 4 512M # where direct writes go through the cache on newer kernels
		rm "$store"
		load_of_one
		same "data" "$(on_disks block_write "cause IN ('data', 'direct') AND comm LIKE 'python%'")" $written
		same "W" "$(w_of python)" $written
		# at least one block for three of data, at most one for each
		between "parity" "$(on_disks block_write "sub = 'parity' AND comm LIKE 'python%'")" $((written / 3)) $((2 * written))
		same "what is read for it, and is not for a write" "$(on_disks block_read "sub <> 'for_write' AND comm LIKE 'python%'")" 0
	}
	need python3 python3-minimal
	with_fs btrfs 512M -- body
}

@test "btrfs: bytes of balance and scrub are apart, and no file's data counts twice" {
	only_long "balance and scrub are not run each time"
	body() {
		over_disks raid1 2 512M
		load_of_one "btrfs balance start --full-balance $IOT_MNT > balance.txt" "btrfs filesystem sync $IOT_MNT" "btrfs scrub start -B $IOT_MNT > scrub.txt"
		same "data" "$(on_disks block_write "cause IN ('data', 'direct') AND sub = 'none' AND comm LIKE 'python%'")" $written
		same "moved" "$(on_disks block_write "sub = 'relocated' AND comm = 'btrfs'")" $((2 * written))
		same "read to be moved" "$(on_disks block_read "sub = 'relocated' AND comm = 'btrfs'")" $written
		same "W of who moves" "$(on_disks fs_write "cause <> 'metadata' AND comm = 'btrfs'")" 0
		same "dirtied or dropped by who moves" "$(total bytes "kind = 'dirty_mmap' AND comm = 'btrfs'")" 0
		# data and trees on both disks: what it says, and the rest of the 64 KiB where they are
		said=$(btrfs scrub status -R "$IOT_MNT" | awk '/data_bytes_scrubbed|tree_bytes_scrubbed/ { n += $2 } END { printf "%.0f", n }')
		[ "$said" -gt $((2 * written)) ] || fail "scrub saw $said bytes"
		between "read by scrub" "$(on_disks block_read "sub = 'scrub' AND comm = 'btrfs'")" "$said" $((said + 20 * 65536))
	}
	need python3 python3-minimal
	with_fs btrfs 512M -- body
}

@test "btrfs: a clone moves no data; writes to clone, snapshot or origin are copied" {
	cat > shared.py <<-'P'
		import fcntl, os, subprocess, sys
		top, what = sys.argv[1], sys.argv[2]
		f = os.open(top + "/v/f", os.O_CREAT | os.O_RDWR)
		if what == "make":
		    for i in range(53): os.write(f, b"x" * 65536)
		    os.fsync(f)
		elif what == "share":
		    fcntl.ioctl(os.open(top + "/v/clone", os.O_CREAT | os.O_RDWR), 0x40049409, f)  # FICLONE
		    assert os.copy_file_range(f, os.open(top + "/v/copy", os.O_CREAT | os.O_RDWR), 53 * 65536, 0, 0) == 53 * 65536
		    subprocess.run(["btrfs", "-q", "subvolume", "snapshot", top + "/v", top + "/snapshot"], check=True)
		else:
		    for name in sys.argv[3:]:
		        f = os.open(top + "/" + name, os.O_RDWR)
		        for i in range(7): os.pwrite(f, b"z" * 4096, 65536 * i + 8192)
		    os.sync()
	P
	body() {
		named maker && named sharer && named changer
		btrfs -q subvolume create "$IOT_MNT/v"
		sync -f "$IOT_MNT"
		dev_mark
		traced --dev "${IOT_DEV#/dev/}" -- sh -c "./maker shared.py $IOT_MNT make; ./sharer shared.py $IOT_MNT share; ./changer shared.py $IOT_MNT change v/f v/clone snapshot/f snapshot/copy"
		all_known "$(dev_wrote)"
		same "data of who made it" "$(written "cause = 'data' AND comm = 'maker'")" $((53 * 65536))
		same "data of who shared it" "$(written "cause = 'data' AND comm = 'sharer'")" 0
		same "data of who changed it" "$(written "cause = 'data' AND comm = 'changer'")" $((4 * 7 * 4096))
		[ "$(written "cause = 'metadata' AND comm = 'sharer'")" -gt 0 ] || fail "no tree of who shared it"
	}
	need python3 python3-minimal
	with_fs btrfs 512M -- body
}

@test "btrfs: a commit is charged to those whose changes are in it, a log to fsync" {
	body() {
		printf 'import os, sys\nfor i in range(211):\n    os.close(os.open(sys.argv[1] + "/%%d" %% i, os.O_CREAT))\n' > many.py
		named many
		mkdir "$IOT_MNT/d"
		: > "$IOT_MNT/f"
		sync -f "$IOT_MNT"
		dev_mark
		traced --dev "${IOT_DEV#/dev/}" -- sh -c "./many many.py $IOT_MNT/d; $io --api pwrite --file $IOT_MNT/f --count 1 --sync fsync > ledger.json
			btrfs filesystem sync $IOT_MNT"
		all_known "$(dev_wrote)"
		maker=$(written "cause = 'metadata' AND comm = 'many'")
		syncer=$(written "cause = 'metadata' AND comm = 'iot-io'")
		[ "$maker" -gt $((5 * syncer)) ] || fail "trees: $maker bytes of who made 211 files, $syncer of who wrote one"
		[ "$syncer" -gt 0 ] || fail "trees: nothing of who wrote one"
		same "trees of who asked for the commit" "$(written "comm = 'btrfs'")" 0
		[ "$(written "cause = 'journal' AND comm = 'iot-io'")" -gt 0 ] || fail "no log tree of who called fsync"
		same "log tree of others" "$(written "cause = 'journal' AND comm <> 'iot-io'")" 0
	}
	need python3 python3-minimal
	with_fs btrfs 320M -- body
}

# Extents that are free again lose their checksums when somebody runs what the transaction has put off: the one who asks for its commit.
@test "btrfs: sync removes checksums of overwritten data on behalf of the writer" {
	only_long "one of many orders of syncs"
	body() {
		ln -sf "$io" changer
		"$io" --api pwrite --file "$IOT_MNT/f" --count 211 --size 8k --sync fsync > ledger.json
		sync -f "$IOT_MNT"
		dev_mark
		traced --dev "${IOT_DEV#/dev/}" -- sh -c "./changer --api pwrite --file $IOT_MNT/f --count 211 --size 8k --sync fsync > ledger.json
			sync -f $IOT_MNT"
		all_known "$(dev_wrote)"
		same "who asked for the commit" "$(written "comm = 'sync'")" 0
		[ "$(written "cause = 'metadata' AND sub = 'checksum_tree' AND comm = 'changer'")" -gt 0 ] || fail "no checksums of who overwrote"
	}
	with_fs btrfs 320M -- body
}

@test "btrfs: blocks of trees for direct writes are their writer's, not an earlier's" {
	only_long "one of many orders of direct and cached writes"
	body() {
		ln -sf "$io" first
		ln -sf "$io" director
		mkdir "$IOT_MNT/d"
		chattr +C "$IOT_MNT/d" # since 6.15 direct writes to files with checksums go through the page cache
		traced --dev "${IOT_DEV#/dev/}" -- sh -c "./first --api pwrite --file $IOT_MNT/d/f --count 11 --size 8k --sync fsync > /dev/null
			btrfs filesystem sync $IOT_MNT
			./director --api direct --count 503 --size 8k --pattern rand --file $IOT_MNT/d/f > /dev/null
			btrfs filesystem sync $IOT_MNT"
		same "direct" "$(written "cause = 'direct' AND comm = 'director'")" $((503 * 8192))
		[ "$(written "cause = 'metadata' AND sub = 'extent_tree' AND comm = 'director'")" -gt 0 ] || fail "no extent is his"
	}
	with_fs btrfs 320M -- body
}

@test "btrfs: cut, punched, inline, mapped, direct, compressed files: the ledger closes" {
	cat > all.py <<-'P'
		import ctypes, mmap, os, sys
		top, block = sys.argv[1], b"x" * 4096
		def made(name, flags=0): return os.open(top + "/" + name, os.O_CREAT | os.O_RDWR | flags)
		for i in range(23):
		    f = made("s%d" % i)
		    os.write(f, b"y" * (100 + i * 80))  # the last has 1860 bytes: all are inline
		    os.close(f)
		f = made("cut")
		os.write(f, block * 100); os.ftruncate(f, 4096 * 50 + 100); os.fsync(f); os.ftruncate(f, 10000); os.write(f, block * 3)
		f = made("again")
		os.write(f, block * 100); os.close(os.open(top + "/again", os.O_TRUNC | os.O_RDWR)); os.write(f, block); os.truncate(top + "/again", 4096 * 60)
		f = made("beyond")
		os.write(f, b"z" * 5000); os.fsync(f); os.pwrite(f, block, 50000); os.fsync(f)
		f = made("gone")
		os.write(f, block * 33); os.unlink(top + "/gone"); os.close(f)
		f, m = made("direct", os.O_DIRECT), mmap.mmap(-1, 8192)
		for i in range(20): os.pwrite(f, m, 8192 * i)
		f = made("mapped")
		os.ftruncate(f, 40960); m = mmap.mmap(f, 40960); m[0:5] = b"hello"; m[20000:20005] = b"hello"; m.flush()
		f = made("hole")
		os.write(f, block * 20); os.fsync(f); os.write(f, block * 20)
		c = ctypes.CDLL(None)
		c.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
		assert not c.fallocate(f, 3, 4096 * 25 + 100, 4096 * 5)
	P
	body() {
		local w

		traced -- sh -c "python3 all.py $IOT_MNT; sync -f $IOT_MNT"
		"$analyze" verify "$store" > verify.txt 2>&1 || fail "verify, status $?: $(grep MISMATCH verify.txt || cat verify.txt)"
		grep -q '^ledger: unexplained .* OK ' verify.txt || fail "$(grep ledger verify.txt)"
		same "inline" "$(total bytes "kind = 'fs_packed' AND sub = 'inline' AND comm LIKE 'python%'")" $((23 * 4096))
		fs_umount
		mount -o noatime,compress=zstd "$IOT_DEV" "$IOT_MNT"
		dev_mark
		rm "$store"
		traced --dev "${IOT_DEV#/dev/}" -- sh -c "yes a line of text | head -c $((53 * 65536)) > $IOT_MNT/c; btrfs filesystem sync $IOT_MNT"
		all_known "$(dev_wrote)"
		same "W" "$(total bytes "kind = 'fs_packed' AND comm = 'head'")" $((53 * 65536))
		w=$(written "cause = 'data' AND comm = 'head' AND sub = 'compressed'")
		between "compressed" "$w" 4096 $((53 * 8192))
		"$analyze" amplification "$store" --table ratios | grep "^head .*hop_fs .* 0\.[0-9]* .*the file system compresses: $((53 * 65536)) bytes became $w"
	}
	need python3 python3-minimal
	with_fs btrfs 512M -- body
}

@test "btrfs: pages that a direct write has written back are of who dirtied them" {
	cat > direct.py <<-'P'
		import ctypes, mmap, os, subprocess, sys
		for name in "plain", "room":
		    path = sys.argv[1] + "/" + name
		    f = os.open(path, os.O_CREAT | os.O_RDWR)
		    os.pwrite(f, bytes(8192), 0)
		    os.fsync(f)
		    if name == "room": assert not ctypes.CDLL(None).fallocate(f, 1, ctypes.c_long(16077), ctypes.c_long(1651))
		    # what is in one extent with the page before, when that is written
		    subprocess.check_call(["dd", "if=/dev/zero", "of=" + path, "bs=4789", "count=1", "oflag=seek_bytes", "seek=8192", "conv=notrunc", "status=none"])
		    d = os.open(path, os.O_RDWR | os.O_DIRECT)
		    assert os.pwritev(d, [mmap.mmap(-1, 8192)], 4096) == 8192
		    assert os.pwritev(d, [mmap.mmap(-1, 4096)], 12288) == 4096
	P
	body() {
		named maker
		traced -- ./maker direct.py "$IOT_MNT"
		same "W of the last page, twice in each file" "$(sql "SELECT owner_comm, SUM(bytes) FROM v_event WHERE kind = 'fs_write' AND cause = 'data'
			AND offset >= 12288 AND path LIKE '$IOT_MNT/%' GROUP BY path, owner_comm ORDER BY path, owner_comm" | paste -sd ' ')" \
			"dd 4096 maker 4096 dd 4096 maker 4096"
		same "D, W, unexpected" "$(q "SELECT SUM(dirtied), SUM(written), SUM(unexpected) FROM l WHERE comm IN ('dd', 'maker')")" "49152 49152 0"
	}
	need python3 python3-minimal
	with_fs btrfs 320M -- body
}

@test "guest: btrfs: of direct writes to a file, unaligned ones are not direct" {
	cat > direct.py <<-'P'
		import mmap, os, sys
		page = mmap.mmap(-1, 131072)
		d = os.open(sys.argv[1] + "/d/f", os.O_CREAT | os.O_RDWR | os.O_DIRECT)
		for turn in range(3):
		    for n in range(2): assert os.pwrite(d, memoryview(page)[:4096], 1 + turn * 262144 + n * 4096) == 4096
		    for n in range(4): assert os.pwrite(d, memoryview(page)[:16384], 65536 + turn * 262144 + n * 16384) == 16384
	P
	body() {
		mkdir "$IOT_MNT/d"
		chattr +C "$IOT_MNT/d" # since 6.15 direct writes to files with checksums go through the page cache
		named maker
		traced -- ./maker direct.py "$IOT_MNT"
		same "S of direct calls, and of others" "$(total bytes "kind = 'pwrite64' AND flags & 1 AND comm = 'maker'") $(
			total bytes "kind = 'pwrite64' AND NOT flags & 1 AND comm = 'maker'")" "$((12 * 16384)) $((6 * 4096))"
		same "W" "$(total bytes "kind = 'fs_write' AND cause = 'direct' AND comm = 'maker'")" $((12 * 16384))
		same "unexpected" "$(q "SELECT SUM(unexpected) FROM l WHERE comm = 'maker'")" 0
	}
	need python3 python3-minimal
	with_fs btrfs 320M -- body
}

# Runs a script that writes three files d/f0 .. d/f2, whose data has no checksums: direct writes to others go through the page cache since 6.15.
in_place() { # SCRIPT
	body() {
		mkdir "$IOT_MNT/d"
		chattr +C "$IOT_MNT/d"
		named maker
		PYTHONPATH=$root/tests/lib PYTHONDONTWRITEBYTECODE=1 traced -- ./maker "$1" "$IOT_MNT"
		same "of each: D is W, unexpected, still dirty" "$(q "SELECT SUM(dirtied) - SUM(written), SUM(unexpected), SUM(dirty_end) FROM l
			WHERE path GLOB '$IOT_MNT/*' GROUP BY path")" "$(printf '0 0 0\n0 0 0\n0 0 0')"
	}
	need python3 python3-minimal
	with_fs btrfs 320M -- body "$1"
}

@test "btrfs: a direct libaio append inside a block goes through the cache: D is W" {
	only_long "one of many orders of direct and cached writes"
	cat > append.py <<-'P'
		import os, sys
		from rings import *
		os.chdir(sys.argv[1])
		for number, size in enumerate((200000, 4097, 100000)):
		    fd = os.open("d/f%d" % number, os.O_CREAT | os.O_WRONLY)
		    os.pwrite(fd, bytes(size), 0)
		    os.fsync(fd)
		    d = os.open("d/f%d" % number, os.O_WRONLY | os.O_DIRECT | os.O_APPEND)
		    assert aio([(d, 0, 3 * PAGE, 0)]) == [3 * PAGE]
		    assert aio([(d, 0, PAGE, 0), (d, 0, 2 * PAGE, 0)]) == [PAGE, 2 * PAGE]
	P
	in_place append.py
}

@test "btrfs: a synced direct io_uring write behind the end zeroes its block: D is W" {
	only_long "one of many orders of direct and cached writes"
	cat > beyond.py <<-'P'
		import os, sys
		from rings import *
		os.chdir(sys.argv[1])
		for number, size in enumerate((1000, 200000, 4097)):
		    fd = os.open("d/f%d" % number, os.O_CREAT | os.O_WRONLY)
		    os.pwrite(fd, bytes(size), 0)
		    os.fsync(fd)
		    d, ring = os.open("d/f%d" % number, os.O_WRONLY | os.O_DIRECT | os.O_SYNC), Ring()
		    ring.q(WRITE, d, (size // PAGE + 9) * PAGE, PAGE)
		    assert ring.go() == [PAGE]
	P
	in_place beyond.py
	same "direct" "$(q "SELECT SUM(direct) FROM l WHERE path GLOB '*/d/f?'")" $((3 * 4096))
}

# Memory that was not touched before is copied part by part: each waits for its pages to be there.
@test "btrfs: direct writes partly through the cache, next to writeback: D is W" {
	only_long "one of many orders of direct and cached writes"
	cat > parts.py <<-'P'
		import mmap, os, sys
		path, size = sys.argv[1] + "/f", 1 << 20
		f = os.open(path, os.O_CREAT | os.O_RDWR)
		os.write(f, bytes(size))
		os.fsync(f)
		child = os.fork()
		if not child:
		    while os.getppid() != 1 and not os.path.exists(sys.argv[1] + "/over"): os.fdatasync(f)
		    os._exit(0)
		d = os.open(path, os.O_RDWR | os.O_DIRECT)
		for n in range(150):
		    assert os.pwrite(d, mmap.mmap(-1, 69632), n * 40960 % (size - 69632) & -4096) == 69632
		os.close(os.open(sys.argv[1] + "/over", os.O_CREAT))
		os.waitpid(child, 0)
	P
	body() {
		traced -- python3 parts.py "$IOT_MNT"
		same "D that is not W, unexpected, still dirty" "$(q "SELECT SUM(dirtied) - SUM(written), SUM(unexpected), SUM(dirty_end) FROM l WHERE path = '$IOT_MNT/f'")" "0 0 0"
	}
	need python3 python3-minimal
	with_fs btrfs 320M -- body
}

# Kernels differ in the files that they put into the tree: the image tells.
@test "guest: btrfs: small files are inline where dump-tree shows it: W is D" {
	cat > small.py <<-'P'
		import fcntl, os, sys
		def made(name, data, flags=0, reserved=0):
		    f = os.open(sys.argv[1] + "/" + name, os.O_CREAT | os.O_RDWR)
		    if flags: fcntl.ioctl(f, 0x40086602, flags.to_bytes(8, "little")) # FS_IOC_SETFLAGS
		    if reserved: os.posix_fallocate(f, 0, reserved)
		    os.write(f, data)
		    if name in ("tree", "place", "reserved"): os.fsync(f)
		    os.close(f)
		made("tree", b"x" * 1009)
		made("place", b"x" * 1009, 0x00800000) # FS_NOCOW_FL
		made("reserved", b"x" * 1009, reserved=100)
		for i in range(23): made("s%d" % i, b"y" * (2500 + i * 50))  # the first has more than the 2048 bytes that go inline as they are
		for i in range(7): made("r%d" % i, os.urandom(2500 + i * 50))
	P
	body() {
		local n

		named maker
		mount -o remount,compress=zstd "$IOT_MNT"
		mkdir "$IOT_MNT/compressed" "$IOT_MNT/plain"
		traced -- sh -c "./maker small.py $IOT_MNT; sync -f $IOT_MNT; '$root/tests/lib/parallel-writes.py' $IOT_MNT/compressed 16 1,100,3000,5000,9000
			mount -o remount,compress=no $IOT_MNT; '$root/tests/lib/parallel-writes.py' $IOT_MNT/plain 16 1,100,3000,5000,9000"
		btrfs filesystem sync "$IOT_MNT"
		n=$(btrfs inspect-internal dump-tree -t 5 "$IOT_DEV" | grep -c 'type 0 (inline)')
		[ "$n" -gt 1 ] || fail "$n files are inline"
		same "inline" "$(total bytes "kind = 'fs_packed' AND sub = 'inline' AND comm = 'maker'")" $((n * 4096))
		same "extents" "$(total bytes "kind = 'fs_write' AND cause = 'data' AND comm = 'maker'")" $(((33 - n) * 4096))
		same "D, and what is unexpected or still dirty" "$(q "SELECT SUM(dirtied), SUM(unexpected) + SUM(dirty_end) FROM l WHERE comm = 'maker'")" "$((33 * 4096)) 0"
		same "of one folio: D that is not W, unexpected, still dirty" "$(q "SELECT path, SUM(dirtied) - SUM(written), SUM(unexpected), SUM(dirty_end)
			FROM l WHERE path GLOB '$IOT_MNT/*/f' GROUP BY path" | sed 's/.*mnt[^/]*//' | tr '\n' ' ')" "/compressed/f 0 0 0 /plain/f 0 0 0 "
	}
	need python3 python3-minimal
	with_fs btrfs 320M -- body
}

@test "guest: btrfs: reclaimed pages of a dirty file are not dropped, cut ones are" {
	only_long "each time the same of ext4"
	body() {
		"$io" --api pwrite --file "$IOT_MNT/f" --count 16 --size 64k --sync fsync --every 16 > /dev/null
		traced -- sh -c "dd if=/dev/zero of=$IOT_MNT/f bs=4k seek=128 count=1 conv=notrunc status=none
			dd if=$IOT_MNT/f of=/dev/null bs=64k count=8 iflag=nocache status=none"
		same "dropped by a reclaim" "$(total ops "kind = 'fs_punch'")" 0
		same "D, and what is unexpected or still dirty" "$(q "SELECT SUM(dirtied), SUM(unexpected), SUM(dirty_end) FROM l WHERE path = '$IOT_MNT/f'")" "4096 0 0"
		cat "$IOT_MNT/f" > /dev/null
		traced -- sh -c "dd if=/dev/zero of=$IOT_MNT/f bs=4k seek=128 count=1 conv=notrunc status=none; truncate -s 512k $IOT_MNT/f"
		[ "$(total ops "kind = 'fs_punch'")" -gt 0 ] || fail "nothing was dropped"
		same "D and W of what was cut off" "$(q "SELECT SUM(dirtied), SUM(written), SUM(unexpected), SUM(dirty_end) FROM l WHERE path = '$IOT_MNT/f'")" "4096 0 0 0"
	}
	with_fs btrfs 320M -- body
}

@test "guest: btrfs mounted in the run: programs within two seconds, writes have owners" {
	need_unmounted btrfs
	body() {
		fs_umount
		modprobe -q -r btrfs || : # where it is a module, it is loaded in the run too
		mount_and_wait
		traced --dev "${IOT_DEV#/dev/}" -- sh mounts 11 "$IOT_DEV" "$IOT_MNT" "$io" --api odsync --file "$IOT_MNT/f" --count 23 > ledger.json
		between "log trees" "$(written "cause = 'journal' AND comm = 'iot-io'")" $((20 * 65536)) $((23 * 65536))
		[[ $(q "SELECT reason FROM probe WHERE name = 'btrfs__unlock' AND run = (SELECT run FROM r)") == *"what it did before is not known" ]]
		same "direct" "$(written "cause = 'direct'")" 0
	}
	with_fs btrfs 320M -- body
}

@test "btrfs whose programs are not there: trees are metadata, and nobody's" {
	claims_nothing btrfs
}
