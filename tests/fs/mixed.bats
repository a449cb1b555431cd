# SPDX-License-Identifier: GPL-3.0-only
# mixed.bats - four kinds of work at once on ext4, XFS and btrfs: small files with fsync, rename and unlink, stores to mapped files,
# direct writes, a ring. Device bytes are the kernel's, nearly all of them have an owner, and each writer's data is its ledger's.
#
# IOT_MIX=60 runs each for 60 s instead of 4, and prints the bytes without an owner.

load ../lib/helper

setup() { own_run python3:python3-minimal; }

load_make() {
	cat > small.py <<-'P'
		import os, sys, time
		top, end, n = sys.argv[1], time.time() + float(sys.argv[2]), 0
		while time.time() < end:
		    name = "%s/f%d" % (top, n)
		    f = os.open(name, os.O_CREAT | os.O_WRONLY)
		    os.write(f, b"x" * (3000 + n % 7 * 2500))
		    if n % 3 == 0:
		        os.fsync(f)
		    os.close(f)
		    os.rename(name, name + "r")
		    if n >= 40:
		        os.unlink("%s/f%dr" % (top, n - 40))
		    n += 1
	P
	cat > again <<-'P'
		end=$(($(date +%s) + $1)) name=$2 file=$3 n=0
		shift 3
		while [ "$(date +%s)" -lt "$end" ]; do
			ledgers="$ledgers$("./$name" "$@" --file "$file$n")" || exit 1 # into no file: its pages would be dirtied here, too
			n=$((n + 1))
		done
		dirtied=$(sed -n 's/^write_bytes: //p' "/proc/$$/io")
		echo "$dirtied" > "$name.dirtied"
		echo "$ledgers" > "$name.json"
	P
	for name in mapper director ringer; do ln -sf "$io" $name; done
}

# Sums of a writer's ledgers.
acknowledged() { # NAME BYTES_OF_ONE
	echo $(($(grep -o '"written"' "$1.json" | wc -l) * $2))
}

submitted() { total bytes "kind = 'fs_write' AND cause IN ('data', 'direct') AND comm = '$1'"; } # NAME

mixed_on() { # FILE_SYSTEM SIZE UNKNOWN_OF_100000 [MORE_OF_SMALL_FILES]
	body() { # FILE_SYSTEM UNKNOWN_OF_100000 [MORE_OF_SMALL_FILES]
		local s=${IOT_MIX:-4} more=${3-} delta nobody dirtied

		load_make
		for i in "" $more; do mkdir "$IOT_MNT/s$i"; done
		# puts in place what those folders changed: in a slow guest the log's worker would do that in the run, and nobody's it would be
		fsfreeze --freeze "$IOT_MNT"
		fsfreeze --unfreeze "$IOT_MNT"
		traced --ring 64M --dev "${IOT_DEV#/dev/}" -- sh -c "
			for i in '' $more; do python3 small.py $IOT_MNT/s\$i $s & done
			sh again $s mapper $IOT_MNT/m --api mmap --count 1004 --pattern rand --sync native --every 251 --end unlink &
			sh again $s director $IOT_MNT/d --api direct --count 503 --size 8k --pattern rand --end unlink &
			sh again $s ringer $IOT_MNT/u --api uring --count 1500 --pattern rand --depth 16 --sync fdatasync --every 500 --end unlink &
			wait"
		# of the run: btrfs goes on behind it
		delta=$(sql "SELECT end_value - begin_value - outside FROM truth WHERE what = 'write_bytes' AND source = '/sys/block/${IOT_DEV#/dev/}/stat'")
		nobody=$(written 'owner = 0')
		same "device bytes" "$(written 1)" "$delta"
		[ -z "${IOT_MIX-}" ] || echo "# $1: $nobody of $delta bytes have no owner" >&3
		[ $((100000 * nobody)) -le $(($2 * delta)) ] || fail "$nobody of $delta bytes have no owner: $(
			q "SELECT cause, sub, how, SUM(bytes) FROM c WHERE kind = 'block_write' AND dev = '$IOT_DEVNO' AND owner = 0 GROUP BY 1, 2, 3"
			q "SELECT layer, what, n FROM lost WHERE n > 0 AND run = (SELECT run FROM r)")"
		same "director's data" "$(submitted director)" "$(acknowledged director $((503 * 8192)))"
		same "ringer's data" "$(submitted ringer)" "$(acknowledged ringer $((1500 * 4096)))"
		# a fault may make a folio of several pages dirty, and a flush for others may write a page back between two stores: the kernel's
		# accounting of the processes that have ended says so (and on btrfs has its trees, too)
		dirtied=$(q "SELECT SUM(dirtied) FROM l WHERE comm = 'mapper' AND written > 0")
		same "mapper's data" "$(submitted mapper)" "$dirtied"
		between "mapper's dirty pages" "$dirtied" "$(acknowledged mapper $((1004 * 4096)))" "$(<mapper.dirtied)"
		"$analyze" verify "$store" > verify.txt 2>&1 || fail "verify, status $?: $(grep MISMATCH verify.txt || cat verify.txt)"
	}
	with_fs "$1" "$2" -- body "$1" "$3" "${4-}"
}

# vm.bats runs this one each time under another kernel: one attach serves all three.
@test "guest: one run on ext4, XFS and btrfs: all programs are loaded, bytes are exact" {
	local fs programs
	local -A disk=() no=() mnt=() before=() wrote=()
	local every=/proc/sys/fs/xfs/xfssyncd_centisecs usual

	need mkfs.xfs xfsprogs
	need mkfs.btrfs btrfs-progs
	mounted() { # TYPE: it is the last of them
		disk[$1]=$IOT_DEV no[$1]=$IOT_DEVNO mnt[$1]=$IOT_MNT
		case $1 in
		ext4) with_fs xfs 320M -- mounted xfs ;;
		xfs) with_fs btrfs 320M -- mounted btrfs ;;
		btrfs) all_three ;;
		esac
	}
	all_three() {
		for fs in ext4 xfs btrfs; do
			sync -f "${mnt[$fs]}"
			before[$fs]=$(dev_bytes "${disk[$fs]}" | cut -d' ' -f2)
		done
		# shellcheck disable=SC2016 # the traced shell's
		traced -- sh -ec 'dd if=/dev/zero of="$0/f" bs=1M count=10 conv=fdatasync status=none
			"$3" --api odsync --file "$1/f" --count 53 && "$3" --api odsync --file "$2/f" --count 53' "${mnt[ext4]}" "${mnt[xfs]}" "${mnt[btrfs]}" "$io" >ledger.json
		for fs in ext4 xfs btrfs; do
			wrote[$fs]=$(($(dev_bytes "${disk[$fs]}" | cut -d' ' -f2) - ${before[$fs]}))
		done
		for fs in ext4 xfs btrfs; do
			IOT_DEVNO=${no[$fs]}
			same "$fs: device bytes" "$(written 1)" "${wrote[$fs]}"
			same "$fs: bytes without an owner" "$(written 'owner = 0')" 0
			case $fs in
			ext4) same "$fs: data" "$(written "cause = 'data' AND comm = 'dd'")" 10485760 ;;
			*) same "$fs: data" "$(written "cause = 'data' AND comm = 'iot-io'")" $((53 * 4096)) ;;
			esac
			same "$fs: direct" "$(written "cause = 'direct'")" 0
			case $fs in
			xfs) between "$fs: log" "$(written "cause = 'journal' AND comm = 'iot-io'")" $((53 * 1024)) $((56 * 2048)) ;;
			btrfs) between "$fs: log trees" "$(written "cause = 'journal' AND sub = 'log_tree'")" $((50 * 65536)) $((53 * 65536)) ;;
			esac
		done
		nothing_lost
		"$analyze" verify "$store" >verify.txt || fail "$(grep MISMATCH verify.txt)"
		same "tier" "$(sql "SELECT tier FROM run")" full
		same "of each file system" "$(sql "SELECT COUNT(*) FROM probe WHERE chosen AND name IN ('ext4__mark', 'xfs__commit', 'btrfs__copy')")" 3
		empty "refused" "$(sql "SELECT name, reason FROM probe WHERE reason LIKE '%failed to load%' OR reason LIKE '%of this type%'")"
		programs=$(sql "SELECT COUNT(*) FROM probe WHERE chosen")
		echo "# of ext4, XFS and btrfs: $programs programs, none refused" >&3
	}
	# the log's worker of XFS, which reads its delay at the mount, would write after 30 seconds, as long as a slow guest attaches
	[ -e "$every" ] || modprobe xfs
	usual=$(cat "$every")
	(
		trap 'echo "$usual" > "$every"' EXIT
		echo 720000 > "$every"
		with_fs ext4 256M -- mounted ext4
	)
}

@test "guest: four kinds of work at once on ext4: 99.9 % has an owner (IOT_MIX=SECONDS)" {
	mixed_on ext4 2G 100
}

@test "guest: four kinds of work at once on XFS: 99.9 % has an owner" {
	need mkfs.xfs xfsprogs
	mixed_on xfs 2G 100
}

@test "guest: four kinds of work at once on btrfs: 99.5 % has an owner" {
	need mkfs.btrfs btrfs-progs
	mixed_on btrfs 2G 500
}

# A kernel that preempts programs and skips them for others (7.0) does so most often for these processes.
@test "guest: six processes on one processor do the same, and no less has an owner" {
	need mkfs.xfs xfsprogs
	need mkfs.btrfs btrfs-progs
	taskset -pc 0 $BASHPID > taskset
	for fs in $(by_turns ext4:100 xfs:100 btrfs:500); do
		rm -f ./*.json "$store"
		mixed_on "${fs%:*}" 2G "${fs#*:}" "2 3"
	done
}
