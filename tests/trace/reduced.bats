# SPDX-License-Identifier: GPL-3.0-only
# reduced.bats - the reduced tier, by --reduced on this kernel and in a virtual machine whose kernel has no other: calls and devices are
# exact, and all else is n/a with its reason, never 0. Tests whose names begin with "guest:" run there too.

load ../lib/helper

setup() { own_run; }

# Numbers that both tiers must get right: S by the ledger of the load, B and the processes by the kernel's counters.
exact() { # DEVICE_DELTA
	same "tier" "$(sql 'SELECT tier FROM run')" reduced
	same "layers" "$(sql 'SELECT layers FROM run')" syscall,block
	same "device bytes" "$(total bytes "kind = 'block_write' AND dev = '$IOT_DEVNO'")" "$1"
	empty "lost" "$(q "SELECT layer, what, n FROM lost WHERE n > 0")"
	"$analyze" verify "$store" > verify.txt || [ -z "${VM_KERNEL-}" ] || fail "$(cat verify.txt)"
	# newer kernels do not tell of every request of a disk, which the full tier knows
	empty "mismatches" "$(grep -w MISMATCH verify.txt | grep -vE "^OK|^(device bytes|ext4 session)" ; grep -w MISMATCH verify.txt | grep -w "${IOT_DEV#/dev/}")"
	[ "$(grep -c ' OK ' verify.txt)" -ge 4 ] || fail "$(cat verify.txt)"
}

# No number in any report that was not measured: of owners of device bytes, of the cache and of the file system.
nothing_guessed() { # COMM
	"$analyze" amplification "$store" --table summary --format csv > summary.csv
	same "B and waf_sys" "$(awk -F, -v comm="$1" '$2 == comm { print $5, $7; exit }' summary.csv)" "n/a n/a"
	"$analyze" amplification "$store" --table ratios --format csv > ratios.csv
	empty "ratios" "$(awk -F, 'NR > 1 && $4 != "hop_page" && $0 !~ /,n\/a,/' ratios.csv)"
	grep -q 'waf_sys.*nobody is known as an owner of device bytes: ' ratios.csv
	grep -q 'hop_fs.*layer fs was not measured (block__queue: ' ratios.csv
	grep -q 'hit_ratio.*layer cache was not measured (block__queue: ' ratios.csv
	"$analyze" amplification "$store" --table volumes --format csv > volumes.csv
	same "D, W, F of all" "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $1 == "total" { print $at["D"], $at["W"], $at["F"] }' volumes.csv)" "n/a n/a n/a"
	"$analyze" files "$store" --table io --format csv > files.csv
	empty "device bytes of files" "$(awk -F, 'NR > 1 && $NF != "n/a"' files.csv)"
}

@test "guest: reduced: dd of 10 MiB with fdatasync is 10485760 bytes of S; B is exact" {
	body() {
		sync -f "$IOT_MNT"
		dev_mark
		traced --reduced -- dd if=/dev/zero of="$IOT_MNT/f" bs=1M count=10 conv=fdatasync status=none
		exact "$(dev_wrote)"
		same "S" "$(total bytes "layer = 'syscall' AND dir = 'w' AND sub = 'regular' AND comm = 'dd'")" 10485760
		same "syncs" "$(total ops "kind = 'fdatasync' AND comm = 'dd'")" 1
		nothing_guessed dd
	}
	with_fs ext4 128M -- body
}

@test "guest: reduced: fio by calls and by libaio has its own count as S; B is exact" {
	need fio fio
	body() {
		local engine said

		for engine in psync libaio ${VM_KERNEL:+pvsync2 mmap}; do
			rm -f "$store"
			dd if=/dev/zero of="$IOT_MNT/$engine" bs=1M count=2 conv=fsync status=none # or fio would write it first, and not count that
			sync -f "$IOT_MNT"
			dev_mark
			traced --reduced -- fio --name=f --filename="$IOT_MNT/$engine" --ioengine="$engine" --rw=randrw --bs=4k --size=2M \
				--iodepth="$([ "$engine" = libaio ] && echo 8 || echo 1)" --direct="$([ "$engine" = libaio ] && echo 1 || echo 0)" \
				--fallocate=none --end_fsync=1 --thread --output-format=json --output=fio.json > /dev/null
			exact "$(dev_wrote)"
			[ "$engine" != mmap ] || continue # its stores are no calls
			said=$(sqlite3 :memory: "SELECT json_extract(readfile('fio.json'), '\$.jobs[0].read.io_bytes') || ' ' ||
				json_extract(readfile('fio.json'), '\$.jobs[0].write.io_bytes')")
			same "$engine" "$(q "SELECT SUM(c.bytes) FILTER (WHERE dir = 'r'), SUM(c.bytes) FILTER (WHERE dir = 'w') FROM c
				WHERE comm = 'fio' AND layer = 'syscall' AND sub = 'regular' AND dev = '$IOT_DEVNO'")" "$said"
		done
	}
	with_fs ext4 128M -- body
}

@test "guest: reduced: SQLite's calls are the kernel's accounting; B is exact" {
	body() {
		sync -f "$IOT_MNT"
		dev_mark
		traced --reduced -- sqlite3 "$IOT_MNT/db" "PRAGMA journal_mode = WAL; CREATE TABLE t(x); WITH RECURSIVE n(i) AS
			(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1009) INSERT INTO t SELECT zeroblob(997) FROM n"
		exact "$(dev_wrote)"
		grep -q 'process bytes written  *sqlite3 .* OK ' verify.txt
		[ "$(total bytes "comm = 'sqlite3' AND dir = 'w' AND sub = 'regular'")" -gt 1000000 ]
		nothing_guessed sqlite
	}
	with_fs ext4 128M -- body
}

@test "guest: reduced: --probes says the tier of each layer and file system, and why" {
	"$trace" --reduced --probes > probes.txt
	grep -qE '^tier +reduced$' probes.txt
	for name in layer__uring layer__cache layer__fs layer__net block__owners tier__ext4 tier__xfs; do
		grep -qE "^[a-z]+ +$name +[^ ]+ +no +.+" probes.txt || fail "$name: $(grep "$name" probes.txt)"
	done
	if grep -qE ' (layer__syscall|layer__block) ' probes.txt; then fail "$(grep layer__ probes.txt)"; fi
	awk 'NR > 1 && !NF { exit } NR > 1 && $4 != "yes" && ($4 != "no" || NF < 5) { print; bad = 1 } END { exit bad }' probes.txt
}

@test "guest: reduced: io_uring is not measured: S is n/a with the reason" {
	body() {
		"$io" --api uring --file "$IOT_MNT/f" --count 23 > ledger || skip "io_uring is missing"
		traced --reduced -- "$io" --api uring --file "$IOT_MNT/f" --count 23 > ledger
		"$analyze" amplification "$store" --table summary --format csv > summary.csv
		same "S" "$(awk -F, '$1 == "all" { print $4 }' summary.csv)" n/a
	}
	with_fs ext4 128M -- body
}

@test "a layer that no program measures has no zeros, but the reason (defect 43)" {
	need cc gcc
	cc -shared -fPIC -D_GNU_SOURCE -o refuse.so "$root/tests/lib/refuse.c"
	need_plain "$trace" "they must be the first library"
	body() {
		IOT_REFUSE=block__complete LD_PRELOAD=$PWD/refuse.so "$trace" -q --partial -o "$store" -- dd if=/dev/zero of="$IOT_MNT/f" bs=4099 count=23 \
			conv=fsync status=none
		same "layers" "$(sql 'SELECT layers FROM run')" syscall,uring,cache,fs,net
		"$analyze" amplification "$store" --table ratios --format csv > ratios.csv
		grep -q '^process,dd,[0-9]*,waf_sys,.*,n/a,.*layer block was not measured (block__complete: Permission denied' ratios.csv
		same "S" "$(total bytes "kind = 'write' AND comm = 'dd' AND sub = 'regular'")" 94277
	}
	with_fs ext4 128M -- body
}
