# SPDX-License-Identifier: GPL-3.0-only
# defects.bats - repaired defects stay repaired: each row of defects.txt has a test that carries its number, here or with its subject.

load ../lib/helper

setup() {
	cd "$BATS_TEST_TMPDIR"
	store=$BATS_TEST_TMPDIR/run.sqlite
}

# Bytes of file data that reached the device, of an owner.
data_of() { total bytes "kind = 'block_write' AND cause = 'data' AND dev = '$IOT_DEVNO' AND $1"; }

ratio_of() { # COMM RATIO COLUMN
	"$analyze" amplification "$store" --by comm --table ratios --format tsv |
		awk -F'\t' -v w="$1" -v n="$2" -v c="$3" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $at["who"] == w && $at["ratio"] == n { print $at[c] }'
}

@test "each defect of the list has a test with its number, and each number is listed" {
	cd "$root/tests"
	grep -hoE '\(defects? [0-9]+(, [0-9]+)*\)' -- */*.bats model/random-cases.txt | grep -oE '[0-9]+' | sort -nu >"$BATS_TEST_TMPDIR/tested"
	grep -oE '^[0-9]+' trace/defects.txt | sort -n >"$BATS_TEST_TMPDIR/listed"
	same "given twice" "$(uniq -d "$BATS_TEST_TMPDIR/listed")" ""
	diff "$BATS_TEST_TMPDIR/listed" "$BATS_TEST_TMPDIR/tested"
}

@test "64 MiB dirty before a 10-byte append are nobody's, and a bound (defect 1)" {
	need_tracer
	body() {
		# what anybody's sync wrote before the run was not dirty in it: then once more
		for try in 1 2 3 4 5; do
			dd if=/dev/zero of="$IOT_MNT/f" bs=1M count=64 conv=notrunc status=none
			rm -f run.sqlite*
			traced -- "$io" --api append --file "$IOT_MNT/f" --count 1 --size 10 --sync fsync >/dev/null
			echo "written in the run: $(data_of 1) bytes of data"
			[ "$(data_of 1)" -lt 67112960 ] || break
		done
		same "S" "$(total bytes "kind = 'write' AND comm = 'iot-io' AND sub = 'regular' AND dev = '$IOT_DEVNO'")" 10
		same "the append's" "$(data_of "comm = 'iot-io'")" 4096
		same "nobody's" "$(data_of "owner = 0")" 67108864
		same "bound" "$(ratio_of iot-io waf_sys bound)" ">="
	}
	with_fs ext4 256M -- body
}

# A bio has up to 256 folios of 2 MiB: more pages than a probe looks up one by one.
@test "of one write of 33 MiB to the device each page is its own writer's" {
	need_tracer
	body() {
		"$io" --api write --file "$IOT_MNT/f" --count 64 --size 1048576 >/dev/null
		"$io" --api append --file "$IOT_MNT/f" --count 1 --size 4096 --sync fsync >/dev/null # in a folio of its own
		traced -- sh -c "ln -s $io first; ln -s $io second; ./first --api pwrite --file $IOT_MNT/f --count 64 --size 1048576 >/dev/null
			./second --api pwrite --file $IOT_MNT/f --at 67108864 --count 1 --size 10 --sync fsync >/dev/null; ./second --api pwrite --file $IOT_MNT/f --at 5000000 --count 1 --size 10 >/dev/null"
		same "the first one's" "$(data_of "comm = 'first'")" 67108864
		same "the second one's" "$(data_of "comm = 'second'")" 8192
		same "lost" "$(q "SELECT GROUP_CONCAT(what) FROM lost WHERE n > 0")" ""
		[ "$(q "SELECT MAX(bytes) FROM event JOIN kind ON kind.id = kind WHERE name = 'fs_write'")" -ge 33554432 ] || skip "the device got it in smaller writes"
	}
	with_fs ext4 256M -- body
}

@test "a full table of page owners is a loss; one page stays one page (defect 3)" {
	need_tracer
	body() {
		truncate -s 32M "$IOT_MNT/f"
		traced --table claims=256 -- sh -c "ln -s $io first; ln -s $io second; ./first --api pwrite --file $IOT_MNT/f --count 1 --size 1 >/dev/null
			./second --api pwrite --file $IOT_MNT/f --at 4096 --count 4000 --span 8000 --pattern rand --size 4096 >/dev/null"
		between "the first one's" "$(data_of "comm = 'first'")" 0 4096
		second=$(data_of "comm = 'second'") nobody=$(data_of "owner = 0")
		same "all" "$(data_of 1)" $((16384000 + 4096))
		[ $((second + nobody)) -ge 16384000 ] || fail "the second's $second, nobody's $nobody"
		[ "$nobody" -gt 0 ] || fail "the table had room for all"
		[ "$(q "SELECT SUM(n) FROM lost JOIN r ON r.run = lost.run WHERE what = 'page writer table full'")" -gt 0 ] || fail "no loss is named: $(q "SELECT what, n FROM lost WHERE n > 0")"
		same "bound" "$(ratio_of second waf_sys bound)" ">="
	}
	with_fs ext4 256M -- body
}

@test "one read of 128 segments of 8 KiB misses as one of 1 MiB does (defect 5)" {
	need_tracer
	need python3 python3-minimal
	body() {
		dd if=/dev/urandom of="$IOT_MNT/f" bs=1M count=4 conv=fsync status=none
		for call in "preadv(f, [bytearray(8192) for _ in range(128)], 0)" "pread(f, 1 << 20, 0)"; do
			sync -f "$IOT_MNT"
			echo 1 >/proc/sys/vm/drop_caches
			traced -- python3 -c "import os; f = os.open('$IOT_MNT/f', os.O_RDONLY); assert len(os.preadv.__name__); r = os.$call; assert (r if isinstance(r, int) else len(r)) == 1 << 20"
			q "SELECT kind, SUM(bytes) FROM c WHERE comm = 'python3' AND dev = '$IOT_DEVNO' AND kind IN ('miss', 'readahead', 'readahead_used') AND sub = 'regular' GROUP BY 1" >"got.${call%%(*}"
		done
		same "used" "$(awk '$1 == "miss" || $1 == "readahead_used" { n += $2 } END { print n }' got.preadv)" 1048576
		diff got.pread got.preadv
	}
	with_fs ext4 64M -- body
}

@test "appends, and vectors at -1, touch the blocks that they wrote (defects 6, 7)" {
	need_tracer
	need python3 python3-minimal
	traced -- python3 -c "
import os
block = bytes(4096)
a = os.open('append', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for i in range(23): os.pwrite(a, block, 100)
p = os.open('position', os.O_WRONLY | os.O_CREAT)
for i in range(29): os.pwritev(p, [block, block], -1, os.RWF_DSYNC)
r = os.open('rwf', os.O_WRONLY | os.O_CREAT)
for i in range(31): os.pwritev(r, [block], 100, 0x10) # RWF_APPEND"
	same "appends" "$(total touched "kind = 'pwrite64' AND comm = 'python3' AND sub = 'regular'")" $((23 * 4096))
	same "vectors" "$(total touched "kind = 'pwritev' AND comm = 'python3' AND sub = 'regular'")" $((29 * 8192 + 31 * 4096))
	same "bytes" "$(total bytes "kind IN ('pwrite64', 'pwritev') AND comm = 'python3' AND sub = 'regular'")" $((23 * 4096 + 29 * 8192 + 31 * 4096))
}

@test "a stale argument register is no flag; a file made again is another (defect 9)" {
	need_tracer
	need python3 python3-minimal
	body() {
		traced -- python3 -c "
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
class iovec(ctypes.Structure): _fields_ = [('base', ctypes.c_char_p), ('len', ctypes.c_size_t)]
v = iovec(bytes(4096), 4096)
SYNC_DSYNC_APPEND = 0x16
f = os.open('$IOT_MNT/f', os.O_RDWR | os.O_CREAT)
for i in range(23): # no such argument: pwritev is 296, preadv 295
    assert libc.syscall(296, f, ctypes.byref(v), 1, ctypes.c_ulong(4096 * i), ctypes.c_ulong(0), SYNC_DSYNC_APPEND) == 4096
    assert libc.syscall(295, f, ctypes.byref(v), 1, ctypes.c_ulong(4096 * i), ctypes.c_ulong(0), SYNC_DSYNC_APPEND) == 4096
for n in 4096, 8192:
    g = os.open('$IOT_MNT/again', os.O_RDWR | os.O_CREAT)
    os.write(g, bytes(n))
    os.close(g)
    os.unlink('$IOT_MNT/again')"
		same "calls with flags" "$(total ops "kind IN ('pwritev', 'preadv') AND comm = 'python3' AND dev = '$IOT_DEVNO' AND flags <> 0")" 0
		same "calls" "$(total ops "kind = 'pwritev' AND comm = 'python3' AND dev = '$IOT_DEVNO'")" 23
		same "syncs" "$("$analyze" amplification "$store" --by comm --table syncs --format csv | awk -F, '$2 == "python3" { print $6 }' | grep -v '^0$' || :)" ""
		same "files" "$(sql "SELECT SUM(i.write_bytes) FROM file f JOIN file_io i ON i.run = f.run AND i.file = f.id WHERE f.path = '$IOT_MNT/again' GROUP BY f.id ORDER BY 1" | paste -sd ,)" 4096,8192
		same "their numbers and generations" "$(sql "SELECT COUNT(DISTINCT ino), COUNT(DISTINCT gen) FROM file WHERE path = '$IOT_MNT/again'")" "1 2"
	}
	with_fs ext4 64M -- body
}

# A 32-bit write on a 64-bit machine: int $0x80 with 4 in eax.
thirty_two() { # FILE
	python3 -c "
import ctypes, mmap, os, sys
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex('53b80400000089fb89f1cd805bc3'))
call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
low = libc.mmap(None, 4096, 3, 0x62, -1, 0) # MAP_32BIT
f = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for i in range(23):
    sys.exit(3) if call(f, low, 4096) != 4096 else 0" "$1"
}

@test "32-bit calls are a loss of their caller, and of no stranger (defect 20)" {
	need_tracer
	need python3 python3-minimal
	thirty_two probe || skip "32-bit calls are missing: this kernel has none"
	lost32() { q "SELECT COALESCE(SUM(n), 0) FROM lost JOIN r ON r.run = lost.run WHERE what = '32-bit system call not decoded'"; }
	traced -- bash -c "$(declare -f thirty_two); thirty_two $PWD/own"
	same "own" "$(lost32)" 23
	(until [ -e go ]; do sleep 0.05; done; thirty_two "$PWD/theirs"; : >done) 3>&- &
	traced -- bash -c ': >go; until [ -e done ]; do sleep 0.05; done'
	wait $!
	same "a stranger's" "$(lost32)" 0
}

@test "a call that was not timed has no time in the text, one that was has (defect 29)" {
	need_tracer
	for how in none all; do
		"$trace" -q --layers syscall --latency $how --format text -o text.$how -- dd if=/dev/zero of=f bs=4k count=3 status=none
		awk '$3 == "APP_WRITE" && $7 == "dd" { print ($6 == "-" ? "none" : $6 > 0 ? "all" : $6) }' text.$how | sort | uniq -c >lat.$how
		same "latency $how" "$(awk '{ print $1, $2 }' lat.$how)" "3 $how"
	done
}

@test "a server's child that runs another program is no unknown server (defect 36)" {
	need_tracer
	need objcopy binutils
	printf 'path\tgo.etcd.io/etcd\n' >mark
	objcopy --add-section .go.buildinfo=mark "$(readlink -f "$(command -v bash)")" etcd
	mkdir -p data/member/{snap,wal}
	cp "$(command -v dd)" dd
	sync dd
	dd if=dd iflag=nocache count=0 status=none
	# the first child writes while nothing tells whose files these are; the second reads its program before it is another
	traced -- "$PWD/etcd" -c 'sleep 0.3; (echo x >early; :); for i in 1 2 3; do ./dd if=/dev/zero of=data/file$i bs=4k count=3 status=none; done; echo x >data/member/wal/0.wal; sleep 0.3'
	same "instances" "$("$analyze" amplification "$store" --by instance --table summary --format csv | grep etcd | cut -d, -f2 | sort -u)" "etcd $PWD/data"
}

@test "guest: programs are doubled where the kernel skips them, from 7.0 on (defect 46)" {
	need_tracer
	"$trace" --probes >probes
	wanted=no
	[ "$(uname -r | cut -d. -f1)" -lt 7 ] || wanted=yes
	same "programs of calls" "$(awk '$2 ~ /^syscall__(enter|exit)_twin$/ { print $4 }' probes | xargs)" "$wanted $wanted"
	# all that are attached to a tracepoint by its types
	copied=$(awk '$3 ~ /^tp_btf/ && $1 != "syscall" && $4 == "yes"' probes | wc -l)
	[ $wanted = yes ] || copied=
	same "the others" "$(awk '$1 == "copies" { print $2 }' probes)" "$copied"
}

@test "too many dirty files: those without a place are a loss and a bound (defect 41)" {
	need_tracer
	built forker
	body() {
		mkdir "$IOT_MNT/d"
		traced --table writers=1024 -- sh -c "$IOT_BUILD/forker 3000 files $IOT_MNT/d; dd if=/dev/zero of=$IOT_MNT/f bs=4k count=100 status=none"
		same "data of all" "$(data_of 1)" $((3000 * 4096 + 409600)) ||
			fail "$(q "SELECT kind, cause, comm, SUM(ops), SUM(bytes) FROM c WHERE layer = 'block' GROUP BY 1, 2, 3"; q "SELECT what, n FROM lost JOIN r ON r.run = lost.run WHERE n > 0")"
		same "of others" "$(data_of "owner > 0 AND comm NOT IN ('forker', 'dd')")" 0
		between "of dd" "$(data_of "comm = 'dd'")" 0 409600
		[ "$(data_of "owner = 0")" -gt 0 ] || fail "the table had room for all"
		[ "$(q "SELECT SUM(n) FROM lost JOIN r ON r.run = lost.run WHERE what = 'writer table full'")" -gt 0 ] || fail "no loss is named"
		same "bound" "$(ratio_of forker waf_sys bound)" ">="
		"$analyze" verify "$store" >verify || :
		empty "verify" "$(grep MISMATCH verify | grep -v ^OK: || :)"
	}
	with_fs ext4 128M -- body
}
