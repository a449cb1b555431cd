# SPDX-License-Identifier: GPL-3.0-only
# xfs.bats - XFS: the owners of its log and of its structures in place, and their kinds, against xfs_logprint, the device's own counter
# and counts worked out by hand.

load ../lib/helper

setup() { own_run mkfs.xfs:xfsprogs; }

# The log on the image, by structure, without the LOG_RECORDS from before.
log_on_image() { # LOG_RECORDS
	xfs_logprint "$IOT_DEV" 2>/dev/null | "$root/tests/fs/xfs-log.py" "$@" | sort
}

# The log by structure, as the run says.
log_in_store() {
	q "SELECT sub, SUM(bytes) FROM c WHERE kind = 'block_write' AND cause = 'journal' AND dev = '$IOT_DEVNO' GROUP BY sub
		UNION ALL SELECT 'checkpoints', SUM(ops) FROM c WHERE kind = 'commit' AND dev = '$IOT_DEVNO'" | sort
}

@test "guest: XFS: 53 writes of 4 KiB with O_DSYNC are data and log, all the writer's" {
	body() {
		dev_mark
		traced --dev "${IOT_DEV#/dev/}" -- "$io" --api odsync --file "$IOT_MNT/f" --count 53 > ledger.json
		all_known "$(dev_wrote)"
		same "data" "$(written "cause = 'data' AND comm = 'iot-io'")" $((53 * 4096))
		same "direct" "$(written "cause = 'direct'")" 0
		same "others" "$(written "comm <> 'iot-io'")" 0
		between "log" "$(written "cause = 'journal' AND comm = 'iot-io'")" $((53 * 1024)) $((56 * 2048))
		between "commits" "$(total ops "kind = 'commit' AND comm = 'iot-io'")" 53 56
	}
	with_fs xfs 320M -- body
}

# The last records, of umount, are in the run too: the file system is unmounted inside it.
@test "guest: XFS: 101 writes, creates and renames: the log is what xfs_logprint lists" {
	cat > load.py <<-'P'
		import os, sys, time
		top, block = sys.argv[1], b"x" * 4096
		f, d = os.open(top + "/f", os.O_RDWR | os.O_CREAT), os.open(top, os.O_RDONLY)
		for i in range(101):
		    os.pwrite(f, block, 4096 * (i % 16))
		    os.fsync(f)
		    time.sleep(0.012)  # file times have the grain of a timer tick: without a new one there is nothing to log
		for i in range(101):
		    os.lseek(f, 0, 2)
		    os.write(f, block)
		    os.fsync(f)
		for i in range(101):
		    n = os.open(top + "/c%d" % i, os.O_WRONLY | os.O_CREAT)
		    os.write(n, block)
		    os.fsync(n)
		    os.close(n)
		for i in range(101):
		    os.rename(top + "/c%d" % i, top + "/r%d" % i)
		    os.fsync(d)
	P
	need xfs_logprint xfsprogs
	need python3 python3-minimal
	body() {
		fs_umount
		before=$(log_on_image)
		mount -o noatime "$IOT_DEV" "$IOT_MNT"
		dev_mark
		traced --dev "${IOT_DEV#/dev/}" -- sh -c "python3 load.py $IOT_MNT && umount $IOT_MNT"
		all_known "$(dev_wrote)"
		same "log" "$(log_in_store)" "$(log_on_image "$before")"
		for kind in inode btree directory ag_header; do
			log_in_store | grep -q "^$kind " || fail "$kind: not in the log"
		done
		between "checkpoints" "$(total ops "kind = 'commit'")" 404 700
		same "metadata in place of nobody" "$(written "cause = 'metadata' AND owner = 0")" 0
		between "metadata in place" "$(written "cause = 'metadata'")" 16384 1048576
	}
	with_fs xfs 320M -- body
}

@test "XFS: a checkpoint's log is of those whose transactions it has, not of the caller" {
	body() {
		printf 'import os, sys\nfor i in range(211):\n    os.close(os.open(sys.argv[1] + "/%%d" %% i, os.O_CREAT))\n' > many.py
		named many
		mkdir "$IOT_MNT/d"
		sync -f "$IOT_MNT"
		dev_mark
		traced --dev "${IOT_DEV#/dev/}" -- sh -c "./many many.py $IOT_MNT/d; $io --api pwrite --file $IOT_MNT/f --count 1 --sync fsync > ledger.json"
		all_known "$(dev_wrote)"
		maker=$(written "cause = 'journal' AND comm = 'many'")
		syncer=$(written "cause = 'journal' AND comm = 'iot-io'")
		[ "$maker" -gt $((10 * syncer)) ] || fail "log: $maker bytes of who made 211 files, $syncer of who forced it"
		[ "$syncer" -gt 0 ] || fail "log: nothing of who forced it"
	}
	need python3 python3-minimal
	with_fs xfs 320M -- body
}

@test "XFS: two processes with a folder each are both charged for structures in place" {
	body() {
		printf 'import os, sys\nfor i in range(101):\n    os.close(os.open(sys.argv[1] + "/%%d" %% i, os.O_CREAT))\n' > many.py
		named alpha
		named beta
		mkdir "$IOT_MNT/a" "$IOT_MNT/b"
		fs_umount
		mount -o noatime "$IOT_DEV" "$IOT_MNT"
		dev_mark
		traced --dev "${IOT_DEV#/dev/}" -- sh -c "./alpha many.py $IOT_MNT/a & ./beta many.py $IOT_MNT/b; wait; umount $IOT_MNT"
		all_known "$(dev_wrote)"
		a=$(written "cause = 'metadata' AND sub = 'inode' AND comm = 'alpha'")
		b=$(written "cause = 'metadata' AND sub = 'inode' AND comm = 'beta'")
		# 101 inodes of 512 bytes each, in clusters
		between "alpha's clusters of inodes" "$a" $((101 * 512)) $((202 * 512))
		between "beta's" "$b" $((101 * 512)) $((202 * 512))
	}
	need python3 python3-minimal
	with_fs xfs 320M -- body
}

# Counters of the kernel: forces that XFS counts, and those of xfsaild, which it counts apart, and among the others if nothing waited to be
# logged.
forces_counted() { # FILE
	awk '$1 == "log" { n += $5 } $1 == "push_ail" { n += $NF } END { print n }' "$1"
}

# Forces that the report tells.
forced() { # COMM REASON
	"$analyze" journal "$store" --table forces --by comm --format tsv |
		awk -F'\t' -v d="${IOT_DEV#/dev/}" -v w="$1" -v r="$2" '$1 == d && $3 == w && $5 == r { n += $7 } END { print n + 0 }'
}

# The counters are read inside the run and around it: what the run has is between, should somebody else sync at that time. Whose log is
# written by that just then has nothing to force.
@test "guest: XFS: log forces are those that the kernel counts, each with its caller" {
	body() {
		local stats=/sys/fs/xfs/${IOT_DEV#/dev/}/stats/stats n inside outside
		local every=/proc/sys/fs/xfs/xfssyncd_centisecs usual

		usual=$(cat "$every")
		fs_umount
		echo 100 > "$every" # the log's worker comes after a second: it reads its delay at the mount, and each time that it came
		mount -o noatime "$IOT_DEV" "$IOT_MNT" || n=$?
		ln -sf "$io" syncs
		ln -sf "$io" osyncs
		ln -sf "$io" rings
		sync -f "$IOT_MNT"
		cat "$stats" > outside.before
		cat > load.sh <<-P
			cat $stats > inside.before
			./syncs --api pwrite --file $IOT_MNT/a --count 11 --sync fsync --every 1 --pause 12
			./osyncs --api odsync --file $IOT_MNT/b --count 13 --pause 12
			./rings --api uring-dsync --file $IOT_MNT/c --count 17
			./rings --api uring --file $IOT_MNT/d --count 7 --sync native --every 1
			sync -f $IOT_MNT
			n=\$(awk '\$1 == "log" { print \$5 }' $stats)
			for i in \$(seq 100); do
				[ "\$(awk '\$1 == "log" { print \$5 }' $stats)" = "\$n" ] || break
				sleep 0.3
			done
			cat $stats > inside.after
		P
		[ -n "${n-}" ] || traced --dev "${IOT_DEV#/dev/}" -- sh load.sh > ledgers.json || n=$?
		echo "$usual" > "$every"
		same "mount and run" "${n:-0}" 0
		cat "$stats" > outside.after
		inside=$(($(forces_counted inside.after) - $(forces_counted inside.before)))
		outside=$(($(forces_counted outside.after) - $(forces_counted outside.before)))
		between "forces of the run" "$(q "SELECT SUM(ops) FROM c WHERE kind = 'log_force' AND dev = '$IOT_DEVNO'")" "$inside" "$outside"
		between "fsync" "$(forced syncs fsync)" 9 11
		between "O_DSYNC" "$(forced osyncs sync_write)" 11 13
		between "a ring's writes" "$(forced rings sync_write)" 15 17
		between "a ring's syncs" "$(forced rings fsync)" 5 7
		same "sync" "$(forced sync sync)" 1
		n=$(q "SELECT COALESCE(SUM(ops), 0) FROM c WHERE kind = 'log_force' AND sub = 'log_worker' AND dev = '$IOT_DEVNO'")
		[ "$n" -ge 1 ] || fail "the log's worker: none"
		# on a slow machine the worker may come between a write and its fsync
		between "commits per fsync" "$("$analyze" amplification "$store" --table ratios --by comm --format csv | awk -F, '$2 == "syncs" && /commits_per_fsync/ { print $7 }')" 0.8 "$(awk "BEGIN { print 1 + $n / 11 }")"
	}
	need sync coreutils
	with_fs xfs 320M -- body
}

@test "XFS: an unmount empties the log, and says so" {
	body() {
		# a tracer, also one of another test, may look into the folder at that moment, and then it is busy
		traced --dev "${IOT_DEV#/dev/}" -- sh -c "$io --api pwrite --file $IOT_MNT/f --count 1 > ledger.json
			for try in 1 2 3 4 5 6 7 8 9 10; do umount $IOT_MNT && exit; sleep 0.5; done; exit 1"
		[ "$(forced umount unmount)" -ge 1 ] || fail "unmount: none: $("$analyze" journal "$store" --table forces)"
		same "other reasons" "$(q "SELECT SUM(ops) FROM c WHERE kind = 'log_force' AND sub IN ('other_force', 'none')")" ""
	}
	with_fs xfs 320M -- body
}

# An XFS with a second disk: as its log or its realtime device.
second_disk() { # log|rt MKFS_OPTIONS, in which SECOND stands for it
	local how=$1

	shift
	truncate -s 512M second.img
	other=$(losetup --find --show "$PWD/second.img")
	otherno=$(tr -d '\n' < "/sys/block/${other#/dev/}/dev")
	trap 'fs_umount; losetup -d "$other"' EXIT
	fs_umount
	mkfs.xfs -q -f "${@/SECOND/$other}" "$IOT_DEV"
	mount -o "noatime,${how}dev=$other" "$IOT_DEV" "$IOT_MNT" 2> mount.txt || { grep -q ': Function not' mount.txt && exit 77; }
	sync -f "$IOT_MNT"
}

# 53 x 64 KiB, 7 x 4 KiB with fsync, 4 x 64 KiB directly; with a clone, 2 x 7 x 4 KiB and directly 3 x 64 KiB of what is shared.
two_kinds_of_writes() {
	cat > writes.py <<-'P'
		import fcntl, mmap, os, sys
		top, m = sys.argv[1], mmap.mmap(-1, 65536)
		def opened(name, flags=0): return os.open(top + "/" + name, os.O_CREAT | os.O_RDWR | flags)
		f, g, d = opened("f"), opened("g"), opened("d", os.O_DIRECT)
		for i in range(53): os.write(f, b"x" * 65536)
		os.fsync(f)
		for i in range(7): os.write(g, b"y" * 4096); os.fsync(g)
		for i in range(4): os.pwrite(d, m, 65536 * i)
		if len(sys.argv) > 2:
		    fcntl.ioctl(opened("clone"), 0x40049409, f)  # FICLONE
		    for name in ("f", "clone"):
		        c = opened(name)
		        for i in range(7): os.pwrite(c, b"z" * 4096, 65536 * i + 8192)
		        os.fsync(c)
		    c = opened("clone", os.O_DIRECT)
		    for i in range(3): os.pwrite(c, m, 65536 * (20 + i))
	P
	named writer
}

@test "XFS: writes over shared extents are copied, and the writer's data, also direct" {
	body() {
		two_kinds_of_writes
		dev_mark
		traced --dev "${IOT_DEV#/dev/}" -- sh -c "./writer writes.py $IOT_MNT clone; umount $IOT_MNT"
		all_known "$(dev_wrote)"
		same "data" "$(written "cause = 'data' AND comm = 'writer'")" $((53 * 65536 + 7 * 4096 + 2 * 7 * 4096))
		same "direct" "$(written "cause = 'direct' AND comm = 'writer'")" $((7 * 65536))
		same "data of others" "$(written "cause IN ('data', 'direct') AND comm <> 'writer'")" 0
	}
	need python3 python3-minimal
	with_fs xfs 320M -m reflink=1 -- body
}

@test "XFS with its log on another disk: that disk has the log alone, the writer's" {
	body() {
		second_disk log -l "logdev=SECOND,size=64m"
		two_kinds_of_writes
		dev_mark
		before=$(dev_count "$other" write_sectors)
		traced -- sh -c "./writer writes.py $IOT_MNT; umount $IOT_MNT"
		all_known "$(dev_wrote)"
		same "log here" "$(written "cause = 'journal'")" 0
		same "data" "$(written "cause IN ('data', 'direct') AND comm = 'writer'")" $((57 * 65536 + 7 * 4096))
		log=$((($(dev_count "$other" write_sectors) - before) * 512))
		same "log there" "$(total bytes "kind = 'block_write' AND dev = '$otherno' AND cause = 'journal' AND owner > 2")" "$log"
		between "log" "$log" $((8 * 1024)) $((12 * 4096))
	}
	need python3 python3-minimal
	with_fs xfs 320M -- body
}

@test "XFS with a realtime disk: its writer's file data there, log and structures here" {
	body() {
		second_disk rt -r rtdev=SECOND -m reflink=0,rmapbt=0
		xfs_io -c 'chattr +t' "$IOT_MNT"
		two_kinds_of_writes
		dev_mark
		before=$(dev_count "$other" write_sectors)
		traced -- sh -c "./writer writes.py $IOT_MNT; umount $IOT_MNT"
		all_known "$(dev_wrote)"
		same "data here" "$(written "cause IN ('data', 'direct')")" 0
		same "there" "$(((($(dev_count "$other" write_sectors) - before) * 512)))" $((57 * 65536 + 7 * 4096))
		same "data there" "$(total bytes "kind = 'block_write' AND dev = '$otherno' AND cause IN ('data', 'direct') AND comm = 'writer'")" $((57 * 65536 + 7 * 4096))
	}
	need python3 python3-minimal
	status=0
	with_fs xfs 320M -- body || status=$?
	[ "$status" != 77 ] || skip "CONFIG_XFS_RT is missing: this kernel has no realtime devices"
	return "$status"
}

@test "guest: XFS mounted in the run: programs within two seconds, writes have owners" {
	need_unmounted xfs
	body() {
		fs_umount
		mount_and_wait
		traced --dev "${IOT_DEV#/dev/}" -- sh mounts 11 "$IOT_DEV" "$IOT_MNT" sh -c "$io --api odsync --file $IOT_MNT/f --count 23; umount $IOT_MNT" > ledger.json
		between "log" "$(written "cause = 'journal' AND comm = 'iot-io'")" $((23 * 1024)) $((26 * 2048))
		[[ $(q "SELECT reason FROM probe WHERE name = 'xfs__commit' AND run = (SELECT run FROM r)") == *"what it did before is not known" ]]
		between "log of what mount itself changed" "$(written "cause = 'journal' AND owner = 0")" 0 4096
		same "direct" "$(written "cause = 'direct'")" 0
	}
	with_fs xfs 320M -- body
}

@test "XFS whose programs are not there: the log is the log, and nobody's" {
	claims_nothing xfs
}
