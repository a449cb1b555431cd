# SPDX-License-Identifier: GPL-3.0-only
# poke.bats - a process writes into the memory of another, which is a mapped file whose pages a third one has dirtied: the bytes are the
# writer's, or a loss where it cannot be determined.

load ../lib/helper

setup() {
	own_run python3:python3-minimal
	export place=$BATS_TEST_TMPDIR
	poker >poker.py
	export -f filled poked
}

# Maps FOLDER/a and FOLDER/b, has a child that does so too and waits, and writes there.
poker() {
	cat <<-'EOF'
		import ctypes, mmap, os, sys
		libc, page = ctypes.CDLL(None, use_errno=True), 4096
		libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
		libc.mmap.restype = ctypes.c_void_p
		libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
		data = ctypes.create_string_buffer(b"x" * 65536, 65536)
		base = ctypes.addressof(data)

		def area(name):
		    mapped = mmap.mmap(os.open(sys.argv[1] + name, os.O_RDWR), 64 << 10)
		    areas.append(mapped)
		    return ctypes.addressof(ctypes.c_char.from_buffer(mapped))

		def vectors(*pairs):
		    return (ctypes.c_size_t * (2 * len(pairs)))(*[n for pair in pairs for n in pair])

		def put(local, *remote, to=None):
		    return libc.process_vm_writev(to or child, local, ctypes.c_ulong(len(local) // 2), vectors(*remote), ctypes.c_ulong(len(remote)), ctypes.c_ulong(0))

		def low(text=b""): # MAP_32BIT
		    at = libc.mmap(None, ctypes.c_size_t(page), 7, 0x62, -1, ctypes.c_size_t(0))
		    ctypes.memmove(at, bytes(text), len(bytes(text)))
		    return at

		def memory(flags=0):
		    return os.open("/proc/%d/mem" % child, os.O_RDWR | flags)

		def stopped(*pokes):
		    assert not libc.ptrace(16, child, None, None) # PTRACE_ATTACH
		    os.waitpid(child, 0)
		    assert not any(libc.ptrace(request, child, at, 1) for request, at in pokes)
		    libc.ptrace(17, child, None, None) # PTRACE_DETACH

		# Each writes page 2 to 4 of a and page 1 of b, if it says nothing else.
		def several(): # of both files, of none, and of memory that is no file's
		    assert put(vectors((base, 5000), (base, 20000)), (a + 2 * page, 2 * page), (b + page + 100, 10), (a, 0), (own, 5000), (a + 4 * page, 7)) == 2 * page + 5017
		def partial(): # the next vector, and the bytes behind the end of a's area, are no memory; b is not written
		    assert put(vectors((base, 4 * page)), (a + 2 * page, page), (8, page), (b + page, page)) == page
		    assert libc.munmap(a + 8 * page, 8 * page) == 0
		    assert put(vectors((base, 4 * page)), (a + 6 * page, 4 * page), (b + page, page), to=os.getpid()) == 2 * page
		def many(): # vectors
		    assert put(vectors((base, 4 * 200)), *[(a + 2 * page + 61 * n, 4) for n in range(199)], (b + page, 4)) == 800
		def more(): # than are looked at in one call
		    assert put(vectors((base, 4 * 1024)), *[(a + 2 * page + 12 * n, 4) for n in range(1024)]) == 4096
		def pwrite():
		    assert os.pwrite(memory(), data.raw[:3 * page], a + 2 * page) == 3 * page
		    assert os.pwrite(memory(os.O_APPEND), b"x", b + page) == 1
		def pwritev():
		    assert os.pwritev(memory(), [data.raw[:page], data.raw[:2 * page]], a + 2 * page) == 3 * page
		    assert os.pwritev(memory(), [b"x"], b + page, 0) == 1
		def write():
		    file = memory()
		    os.lseek(file, a + 2 * page, 0)
		    assert [os.write(file, data.raw[:page]) for _ in range(3)] == [page] * 3
		    os.lseek(file, b + page, 0)
		    assert os.writev(file, [b"x", b"y"]) == 2
		def itself():
		    assert os.pwrite(os.open("/proc/self/mem", os.O_RDWR), data.raw[:3 * page], a + 2 * page) == 3 * page
		    assert put(vectors((base, 9)), (b + page, 9), to=os.getpid()) == 9
		def ptrace():
		    stopped((5, a + 2 * page), (4, a + 3 * page), (5, a + 4 * page + 8), (5, b + page)) # PTRACE_POKEDATA, PTRACE_POKETEXT
		def populate(): # so that the stores have no fault
		    for area, first, n in (areas[0], 2, 3), (areas[1], 1, 1):
		        area.madvise(22, 0, 16 * page) # MADV_POPULATE_READ
		        area.madvise(23, first * page, n * page) # MADV_POPULATE_WRITE
		        area[first * page:(first + n) * page] = data.raw[:n * page]
		def beside(): # calls of that kind that write nothing
		    assert put(vectors((base, page)), (8, page)) == -1
		    assert libc.ptrace(5, child, a, 1) == -1
		    stopped((0x4200, 0)) # PTRACE_SETOPTIONS
		    os.close(memory())
		def ptrace32(): # int $0x80, with addresses that fit
		    code = bytes.fromhex("53b81a00000089fb89f1cd805bc3")
		    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int)(low(code))
		    assert not libc.ptrace(16, child, None, None)
		    os.waitpid(child, 0)
		    assert call(5, child, before) == 0 and call(4, child, before) == 0
		    libc.ptrace(17, child, None, None)
		def writev32():
		    code = bytes.fromhex("5355b85c01000089fb87ce4489c731edcd805d5bc3")
		    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int)(low(code))
		    at = low((ctypes.c_uint32 * 2)(before, 8))
		    assert call(child, at, 1, at, 1) == 8
		def uring(): # WRITE, and what it completes with
		    class sqe(ctypes.Structure):
		        _fields_ = [("opcode", ctypes.c_uint8), ("flags", ctypes.c_uint8), ("ioprio", ctypes.c_uint16), ("fd", ctypes.c_int32),
		            ("off", ctypes.c_uint64), ("addr", ctypes.c_uint64), ("len", ctypes.c_uint32), ("rest", ctypes.c_uint8 * 36)]
		    parameters = (ctypes.c_uint32 * 30)()
		    ring = libc.syscall(425, 4, parameters)
		    sq, cq = parameters[10:20], parameters[20:30] # head, tail, ring_mask, ring_entries, flags, dropped, array; of cq the sixth is cqes
		    queue, requests = mmap.mmap(ring, 4096), mmap.mmap(ring, 4096, offset=0x10000000)
		    sqe.from_buffer(requests).opcode = 23
		    sqe.from_buffer(requests).fd = memory()
		    sqe.from_buffer(requests).off = a
		    sqe.from_buffer(requests).addr = base
		    sqe.from_buffer(requests).len = page
		    ctypes.c_uint32.from_buffer(queue, sq[6]).value = 0
		    ctypes.c_uint32.from_buffer(queue, sq[1]).value = 1
		    assert libc.syscall(426, ring, 1, 1, 1, None, 0) == 1 # IORING_ENTER_GETEVENTS
		    assert ctypes.c_int32.from_buffer(queue, cq[5] + 8).value == page
		def gone(): # what is written is where the vectors were
		    remote = vectors((0, 16), (a, 1))
		    remote[0] = ctypes.addressof(remote)
		    zeros = ctypes.create_string_buffer(17)
		    assert libc.process_vm_writev(os.getpid(), vectors((ctypes.addressof(zeros), 17)), ctypes.c_ulong(1), remote, ctypes.c_ulong(2), ctypes.c_ulong(0)) == 17

		areas = []
		a, b = area("/a"), area("/b")
		areas.append(mmap.mmap(-1, 8192))
		own = ctypes.addressof(ctypes.c_char.from_buffer(areas[-1]))
		before = low()
		wait, end = os.pipe()
		child = os.fork()
		if not child:
		    os.close(end)
		    os.read(wait, 1)
		    os._exit(0)
		for how in sys.argv[2:]:
		    globals()[how]()
		os.close(end)
		os.waitpid(child, 0)
	EOF
}

# Two files of 16 pages for each way to write into memory, which dd dirties.
filled() { # FOLDER HOW...
	local how

	for how in "${@:2}"; do
		mkdir -p "$1/$how"
		dd if=/dev/zero of="$1/$how/a" bs=64k count=1 status=none
		dd if=/dev/zero of="$1/$how/b" bs=64k count=1 status=none
	done
}

poked() { # FOLDER HOW...
	local how

	for how in "${@:2}"; do
		python3 "$place/poker.py" "$1/$how" "$how"
	done
}

# Both in one run. Again, if somebody's sync came in between.
both_traced() { # TRACER OPTIONS -- HOW...
	local options=()

	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	for _ in 1 2 3 4 5; do
		rm -rf run.sqlite* "$IOT_MNT"/*
		sync -f "$IOT_MNT"
		# shellcheck disable=SC2016 # the shell that is traced expands them
		traced ${options[@]+"${options[@]}"} -- bash -ec 'for how; do filled "$0" "$how"; poked "$0" "$how"; done' "$IOT_MNT" "$@"
		[ "$(total bytes "kind = 'fs_write' AND cause = 'data' AND dev = '$IOT_DEVNO'")" != $(($# * 131072)) ] || break
	done
}

# Bytes on the device by writer, of each file and of all.
w_by_file() {
	sql "SELECT substr(path, length('$IOT_MNT/') + 1), owner_comm, SUM(bytes) FROM v_event WHERE kind = 'fs_write' AND cause = 'data'
		AND path LIKE '$IOT_MNT/%' GROUP BY 1, 2 ORDER BY 1, 2"
}
w_in_all() {
	q "SELECT comm, SUM(bytes) FROM c WHERE kind = 'fs_write' AND cause = 'data' AND comm IN ('dd', 'python3') GROUP BY 1 ORDER BY 1" | paste -sd ' '
}

lost() { q "SELECT COALESCE(SUM(n), 0) FROM lost JOIN r ON r.run = lost.run WHERE what LIKE 'memory of a process%'"; }

of_who_puts_it() { # FILE SYSTEM
	local how

	body() {
		both_traced -- several many pwrite pwritev write itself ptrace populate partial beside
		for how in several many pwrite pwritev write itself ptrace populate; do
			printf '%s\n' "$how/a dd 53248" "$how/a python3 12288" "$how/b dd 61440" "$how/b python3 4096"
		done >wanted
		printf '%s\n' "partial/a dd 53248" "partial/a python3 12288" "partial/b dd 65536" "beside/a dd 65536" "beside/b dd 65536" >>wanted
		w_by_file >got
		diff <(sort wanted) <(sort got) >&2
		same "lost" "$(lost)" 0
		both_traced --no-events -- several pwrite ptrace
		same "no events: W" "$(w_in_all)" "dd 344064 python3 49152"
		same "no events: lost" "$(lost)" 0
	}
	with_fs "$1" 512M -- body
}

@test "data put over another's dirty mapped pages is of who puts it there, on ext4" {
	of_who_puts_it ext4
}

@test "data put over another's dirty mapped pages is of who puts it there, on XFS" {
	need mkfs.xfs xfsprogs
	of_who_puts_it xfs
}

@test "data put over another's dirty mapped pages is of who puts it there, on btrfs" {
	only_long "ext4 and XFS each time"
	need mkfs.btrfs btrfs-progs
	of_who_puts_it btrfs
}

@test "data put over a stranger's dirty pages is dirtied by it, and the ledger closes" {
	body() {
		rm -f go done
		(until [ -e go ]; do sleep 0.05; done; filled "$IOT_MNT" several pwrite ptrace; : >done) 3>&- &
		# shellcheck disable=SC2016 # the shell that is traced expands them
		traced -- bash -ec ': >go; until [ -e done ]; do sleep 0.05; done; poked "$0" several pwrite ptrace' "$IOT_MNT"
		wait $!
		same "$1: W" "$(w_in_all)" "python3 49152"
		same "$1: D" "$(q "SELECT SUM(dirtied) FROM l WHERE comm = 'python3'")" 49152
		"$analyze" verify run.sqlite >verify.txt || fail "$1: $(grep MISMATCH verify.txt)"
		rm run.sqlite
	}
	need mkfs.xfs xfsprogs
	need mkfs.btrfs btrfs-progs
	for fs in $(by_turns ext4 xfs btrfs); do with_fs "$fs" 512M -- body "$fs"; done
}

@test "data that cannot be found when the call has returned is a loss of its caller" {
	body() {
		both_traced -- gone
		same "lost" "$(lost)" 1
		both_traced -- more
		same "more than are looked at: lost" "$(lost)" 1
		both_traced -- uring
		same "io_uring: lost" "$(lost)" 1
		python3 poker.py "$IOT_MNT/uring" ptrace32 || skip "32-bit calls are missing: this kernel has none"
		both_traced -- ptrace32
		same "32-bit ptrace: lost" "$(lost)" 2
		both_traced -- writev32
		same "32-bit process_vm_writev: lost" "$(lost)" 1
		# A stranger's are no loss.
		rm -f go done
		(until [ -e go ]; do sleep 0.05; done; poked "$IOT_MNT" writev32; : >done) 3>&- &
		traced -- bash -c ': >go; until [ -e done ]; do sleep 0.05; done'
		wait $!
		same "a stranger's: lost" "$(lost)" 0
	}
	with_fs ext4 512M -- body
}
