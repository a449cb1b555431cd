# SPDX-License-Identifier: GPL-3.0-only
# fio.bats - fio's engines on ext4, XFS and btrfs, in each direction, in order and at random, through the cache and directly: bytes are
# those that fio counted and those of /sys/block, and each has its owner. IOT_FIO=all: all 56 cases of each, not every other (XFS, btrfs: every fourth).

load ../lib/helper

setup() { own_run fio:fio python3:python3-minimal; }

# One program a case, under a name that tells it, each on a file of its own; cases.tsv: name, engine, direction, direct, bytes by fio's count.
cases() { # FOLDER
	cat > cases.py <<-'P'
		import itertools, json, os, shutil, subprocess, sys
		top, what, fio, size = sys.argv[1], sys.argv[2], shutil.which("fio"), 192 * 1024
		ENGINES = "psync", "pvsync2", "libaio", "posixaio", "io_uring", "mmap", "sync"
		rows = []
		for n, (engine, rw, direct) in enumerate(itertools.product(ENGINES, ("write", "read", "randwrite", "randread"), "01")):
		    if os.environ.get("IOT_FIO") != "all" and ((n >> 3 ^ n >> 1 ^ n) & 1 or int(sys.argv[3]) == 14 and (n >> 3 ^ n >> 2) & 1):
		        continue
		    name = "fio%d" % n
		    path = top + "/" + name
		    if what == "files":
		        with open(path, "wb") as f:
		            f.write(b"x" * size)
		            os.fsync(f.fileno())
		            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
		        os.path.lexists(name) or os.symlink(fio, name)
		        continue
		    said = subprocess.run(["./" + name, "--name=x", "--filename=" + path, "--ioengine=" + engine, "--rw=" + rw, "--direct=" + direct,
		                           "--bs=4k", "--size=%d" % size, "--iodepth=4", "--thread", "--invalidate=0", "--fallocate=none",
		                           "--output-format=json"] + ["--end_fsync=1"] * ("write" in rw), stdout=subprocess.PIPE, check=True).stdout
		    job = json.loads(said[said.index(b"{"):])["jobs"][0]
		    way = "write" if "write" in rw else "read"
		    assert not job["error"] and job[way]["io_bytes"] == size, (engine, rw, direct, job["error"], job[way]["io_bytes"])
		    rows.append((name, engine, rw, direct, way, job[way]["io_bytes"]))
		if rows:
		    with open("cases.tsv", "w") as f:
		        f.writelines("\t".join(map(str, row)) + "\n" for row in rows)
	P
	python3 cases.py "$1" files "$some"
	sync -f "$1"
}

# Calls, and file data on the device, by program: the run's numbers next to fio's. A store has no call. btrfs reads the first
# pages of a file through the cache, also where all of it is read directly; the device's counter has them too.
all_counted() {
	q "SELECT comm, SUM(iif(layer IN ('syscall', 'uring') AND dir = 'w' AND sub = 'regular', bytes, 0)),
			SUM(iif(layer IN ('syscall', 'uring') AND dir = 'r' AND sub = 'regular', bytes, 0)),
			SUM(iif(kind = 'fs_write' AND cause IN ('data', 'direct') AND sub NOT IN ('copy', 'compressed_copy'), bytes, 0)),
			SUM(iif(kind = 'fs_read' AND cause IN ('data', 'readahead', 'direct') AND sub NOT IN ('copy', 'compressed_copy'), bytes, 0))
		FROM c WHERE dev IN ('$IOT_DEVNO', '$(mountpoint -d "$IOT_MNT")') AND comm LIKE 'fio%' GROUP BY comm" > run.txt
	awk -F'\t' -v fs="$1" -v cases="$([ "${IOT_FIO-}" = all ] && echo 56 || echo "$some")" 'function r_of(name, n) { split(run[name], part, " "); return part[n] }
		NR == FNR { split($0, r, " "); run[r[1]] = r[2] " " r[3] " " r[4] " " r[5]; next }
		{ n++
		  read = $2 == "mmap" ? $6 : 0 # its pages are read before they are stored to
		  call = $2 == "mmap" ? 0 : $6
		  want = $5 == "write" ? call " 0 " $6 " " read : "0 " call " 0 " $6
		  if (fs == "btrfs" && $3 ~ /read$/ && $4 == 1 && r_of($1, 4) > $6 && r_of($1, 4) <= 2 * $6)
			want = "0 " call " 0 " r_of($1, 4)
		  if (run[$1] != want) print $2, $3, "direct " $4 ": " run[$1] ", not " want }
		END { if (n != cases) print n " cases" }' run.txt cases.tsv > wrong.txt
	[ ! -s wrong.txt ] || fail "$1: S, S_r, W, W_r: $(cat wrong.txt)"
}

# The run by the counters of /sys/block.
counter() { # WHAT
	sql "SELECT end_value - begin_value - outside FROM truth WHERE what = '$1' AND source = '/sys/block/${IOT_DEV#/dev/}/stat'"
}

engines_on() { # FILE_SYSTEM SIZE CASES
	local some=$3

	body() {
		cases "$IOT_MNT"
		fs_umount # what is written later of what was made before the run is nobody's
		mount -o noatime "$IOT_DEV" "$IOT_MNT"
		traced --ring 64M --dev "${IOT_DEV#/dev/}" -- python3 cases.py "$IOT_MNT" run "$some"
		same "device writes" "$(total bytes "kind = 'block_write' AND dev = '$IOT_DEVNO'")" "$(counter write_bytes)"
		same "device reads" "$(total bytes "kind = 'block_read' AND dev = '$IOT_DEVNO'")" "$(counter read_bytes)"
		# threads of the kernel read structures ahead of whoever will need them
		same "bytes without an owner" "$(total bytes "kind IN ('block_write', 'block_read') AND dev = '$IOT_DEVNO' AND owner = 0
			AND NOT (kind = 'block_read' AND cause = 'metadata')")" 0
		all_counted "$1"
		"$analyze" verify "$store" > verify.txt || fail "$(grep MISMATCH verify.txt)"
	}
	with_fs "$1" "$2" -- body "$1"
}

@test "fio on ext4: seven engines, any order and direction: bytes have owners" {
	engines_on ext4 256M 28
}

@test "fio on XFS: the same" {
	need mkfs.xfs xfsprogs
	engines_on xfs 400M 14
}

@test "fio on btrfs: the same" {
	need mkfs.btrfs btrfs-progs
	engines_on btrfs 400M 14
}
