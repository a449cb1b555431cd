# SPDX-License-Identifier: GPL-3.0-only
# names.bats - hostile names come out as themselves, harmless, in every output, picture and message.

load ../lib/analyze
load ../lib/helper
bats_require_minimum_version 1.5.0

@test "57 hostile names are themselves in text, CSV, TSV, JSON, pictures and messages" {
	need python3 python3-minimal
	need gnuplot gnuplot-nox
	make_base
	store_with "$BATS_TEST_TMPDIR/run.sqlite"
	built stream-tool
	cd "$BATS_TEST_TMPDIR"
	python3 "$root/tests/analyze/names.py" check "$IOT_BUILD/iot-analyze" "$IOT_BUILD/stream-tool" "$PWD/run.sqlite" "$PWD" > cases.txt || { cat cases.txt; false; }
	grep -q '^57 names in 8 outputs: 456 cases, 0 failed$' cases.txt
}

# A program under each name writes 7 bytes; dd writes 23 x 4099 under its own.
named_programs() {
	python3 -c '
import os, subprocess, sys
names = {bytes.fromhex(n.strip())[:15].split(b"/")[0] for n in sys.stdin}
for name in sorted(n for n in names if n and n not in (b".", b"..")):
    os.symlink(sys.argv[1].encode(), b"bin/" + name)
    subprocess.run([b"bin/" + name, "if=seven", b"of=out-" + name, "status=none"], check=True)
subprocess.run(["dd", "if=/dev/zero", "of=f", "bs=4099", "count=23", "status=none"], check=True)
print(len(os.listdir("bin")), file=open("count", "w"))' "$(readlink -f "$(command -v dd)")"
}

@test "the first users' sums of the text trace are moved by no name of process or file" {
	need_tracer
	need python3 python3-minimal
	cd "$BATS_TEST_TMPDIR"
	mkdir bin
	printf '1234567' > seven
	python3 "$root/tests/analyze/names.py" names > names.txt
	"$trace" -q -o out.txt --format text -o run.sqlite -- bash -c "$(declare -f named_programs); named_programs" < names.txt
	rm -rf -- bin out-*
	mkdir bin
	"$trace" -q --settle none -o table.txt --format table -- bash -c "$(declare -f named_programs); named_programs" < names.txt
	[ "$(cat count)" -gt 45 ]
	for word in APPLICATION STORAGE_SVC OS FILESYSTEM DEVICE; do
		same "$word" "$(grep -c "$word" out.txt)" "$(awk -v w="$word" '$2 == w || $3 == w' out.txt | wc -l)"
	done
	for word in APP_WRITE APP_READ DEV_BIO_SUBMIT VFS_WRITE; do
		same "$word" "$(grep -cw "$word" out.txt)" "$(awk -v w="$word" '$3 == w' out.txt | wc -l)"
	done
	same "dd's bytes" "$(grep "APPLICATION.* dd .*WRITE" out.txt | awk '{ sum += $5 } END { print sum }')" 94277
	same "written" "$(grep "APPLICATION.*WRITE" out.txt | awk '{ sum += $5 } END { print sum }')" "$((94277 + 7 * $(cat count) + $(wc -c < count)))"
	same "written, by flags" "$(grep "APPLICATION.*\[WRITE\]" out.txt | awk '{ sum += $4 } END { print sum }')" "$((94277 + 7 * $(cat count) + $(wc -c < count)))"
	same "device bytes" "$(grep "DEVICE" out.txt | awk '{ sum += $5 } END { print sum + 0 }')" "$(awk '$2 == "DEVICE" { sum += $5 } END { print sum + 0 }' out.txt)"
	same "lines of another shape" "$(awk 'NR > 2 && ($8 !~ /^\[[A-Z]+\]$/ || $4 !~ /^[0-9]+$/)' out.txt)" ""
	same "calls in the table" "$(grep -c SYSCALL_WRITE table.txt)" "$(awk '$3 == "SYSCALL_WRITE"' table.txt | wc -l)"
	same "lines of another shape in the table" "$(awk 'NR > 1 && NF != 10' table.txt)" ""
	python3 - <<-'END'
		import sqlite3, unicodedata
		names = {bytes.fromhex(n.strip())[:15].split(b"/")[0] for n in open("names.txt")} - {b"", b".", b".."}
		for f in "out.txt", "table.txt":
		    text = open(f, "rb").read().decode("utf-8")
		    bad = {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf")}
		    assert not bad, (f, bad)
		db = sqlite3.connect("run.sqlite")
		db.text_factory = bytes
		comms = {row[0] for row in db.execute("SELECT comm FROM process")}
		paths = {row[0].split(b"/")[-1] for row in db.execute("SELECT path FROM file WHERE path IS NOT NULL")}
		assert not names - comms, names - comms
		assert not {b"out-" + n for n in names} - paths, {b"out-" + n for n in names} - paths
	END
}

@test "a message that names a path of 4095 bytes still says why" {
	long=$(printf '/%0250d' $(seq 16))
	run -1 "$trace" -o "${long:0:4000}/run.txt" --format text -- true
	[[ $output == *"${long:0:4000}/run.txt"*": "[A-Z]* ]] || fail "$output"
	same "lines" "${#lines[@]}" 1
}

@test "no file system is asked for others' programs, but for a remark of the kernel" {
	need_tracer
	need strace strace
	export ASAN_OPTIONS=detect_leaks=0 # that cannot be traced
	cd "$BATS_TEST_TMPDIR"
	cp "$(command -v sleep)" ./deleted
	cp "$(command -v sleep)" './really (deleted)'
	# they live for three seconds: a tracer that is traced itself looks late
	strace -f --seccomp-bpf -e trace=stat,newfstatat,statx,execve -o calls "$trace" -q -o run.sqlite -- sh -c './deleted 3 &
		while [ "$(readlink /proc/$!/exe)" != "$PWD/deleted" ]; do :; done
		rm deleted
		"./really (deleted)" 3
		wait'
	asked=$(awk '/execve/ && !tracer { tracer = $1 } $1 == tracer && /\/proc\/[0-9]+\/exe/' calls)
	[ "$(grep -c . <<<"$asked")" -le 2 ] || fail "asked: $asked"
	store=run.sqlite
	same "what was taken away has its name" "$(sql "SELECT DISTINCT exe FROM process WHERE exe GLOB '*/deleted'")" "$PWD/deleted"
	same "what is called so has its own" "$(sql "SELECT DISTINCT exe FROM process WHERE exe GLOB '*/really*'")" "$PWD/really (deleted)"
}
