#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# snapshot.bats - files before the run: what find(1) lists, to a depth, within one file system; what is left out is said.

load ../lib/helper

setup() { own_run; }

# A list of the rows like that of find.
rows() { q "SELECT hex(path) || ' ' || substr(type, 1, 1) || ' ' || size || ' ' || allocated || ' ' || ino || ' ' || links || ' ' || (mtime_ns / 1000000000) FROM fs_entry JOIN r USING (run)" | sort; }

@test "snapshot: hostile names too, sizes, times and links are what lstat says" {
	mkdir -p tree/a/b/c/d tree/other
	truncate -s 1M tree/sparse
	printf '%4099d' 7 >tree/a/b/file
	ln tree/a/b/file tree/a/hard
	ln -s ../../.. tree/a/up
	touch -d @1000000007 "tree/a/"$'new\nline "quote" \\ \xff;--'
	mkfifo tree/pipe
	"$trace" -q --no-events --snapshot-fs tree -o "$store" -d 0.1
	python3 - tree <<'E' | sort >wanted.txt
import os, stat, sys
def line(path):
    s = os.lstat(path)
    kind = "f" if stat.S_ISREG(s.st_mode) or stat.S_ISDIR(s.st_mode) else "l" if stat.S_ISLNK(s.st_mode) else "p"
    print(os.path.realpath(os.path.dirname(path) or b".").join([b"", b"/" + os.path.basename(path)]).hex().upper(), kind, s.st_size, s.st_blocks * 512, s.st_ino, s.st_nlink, int(s.st_mtime_ns // 1000000000))
def walk(path, depth):
    line(path)
    if depth and stat.S_ISDIR(os.lstat(path).st_mode):
        for name in os.listdir(path):
            walk(path + b"/" + name, depth - 1)
walk(sys.argv[1].encode(), 3)
E
	rows >got.txt
	diff wanted.txt got.txt
	same "said" "$(q "SELECT depth || ' ' || entries || ' ' || unread || ' ' || COALESCE(cut, 'whole') FROM fs_snapshot JOIN r USING (run)")" "3 $(wc -l <wanted.txt) 0 whole"
	"$analyze" snapshot "$store" >text.txt
	"$analyze" snapshot "$store" --format json >/dev/null
}

@test "snapshot: depth 0 is the folder alone; another file system is not entered" {
	need unshare util-linux
	mkdir -p tree/mounted/inside 'colon:7'
	unshare --mount sh -euc 'mount -t tmpfs none tree/mounted; mkdir tree/mounted/hidden
		"$1" -q --no-events --snapshot-fs tree:0 --snapshot-fs tree:9 --snapshot-fs colon:7:1 -o run.sqlite -d 0.1' sh "$trace"
	same "entries" "$(q "SELECT group_concat(entries) FROM fs_snapshot JOIN r USING (run)")" 1,2,1
	same "hidden" "$(q "SELECT COUNT(*) FROM fs_entry JOIN r USING (run) WHERE path GLOB '*hidden*'")" 0
}

@test "snapshot: of 70000 names 65536 entries are listed, and the cut is said" {
	mkdir many
	python3 -c 'for i in range(70000): open("many/%d" % i, "w").close()'
	"$trace" --no-events --snapshot-fs many -o "$store" -d 0.1 2>err.log
	grep -q 'cut: more than 65536 entries' err.log
	same "entries" "$(q "SELECT entries || ' ' || cut FROM fs_snapshot JOIN r USING (run)")" "65536 more than 65536 entries"
	same "rows" "$(q "SELECT COUNT(*) FROM fs_entry JOIN r USING (run)")" 65536
}

@test "snapshot: a folder that is none, and depths beyond 32, end it before the run" {
	touch file
	for path in none file tree:33; do
		run "$trace" -q --snapshot-fs "$path" -o "$store" -d 0.1
		same "status of $path" "$status" 1
		[[ $output = *"--snapshot-fs $path"* ]] || fail "$output"
		[ ! -e "$store" ] || fail "$path: a store is there"
	done
}
