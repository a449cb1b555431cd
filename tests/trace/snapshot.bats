#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# snapshot.bats - files before the run and at intervals: what find(1) lists, to a depth, within one file system; what is left out is said.

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
	"$trace" -q --no-events --settle none --snapshot-fs tree -o "$store" -d 0.1
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
		"$1" -q --no-events --settle none --snapshot-fs tree:0 --snapshot-fs tree:9 --snapshot-fs colon:7:1 -o run.sqlite -d 0.1' sh "$trace"
	same "entries" "$(q "SELECT group_concat(entries) FROM fs_snapshot JOIN r USING (run)")" 1,2,1
	same "hidden" "$(q "SELECT COUNT(*) FROM fs_entry JOIN r USING (run) WHERE path GLOB '*hidden*'")" 0
}

@test "snapshot: of 70000 names 65536 entries are listed, and the cut is said" {
	mkdir many
	python3 -c 'for i in range(70000): open("many/%d" % i, "w").close()'
	"$trace" --no-events --settle none --snapshot-fs many -o "$store" -d 0.1 2>err.log
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

@test "snapshot: walks at intervals and at the end say what is new, gone, grown" {
	mkdir -p tree/deep
	printf '%4099d' 7 >tree/grows
	printf '%4099d' 7 >tree/deep/shrinks
	echo 1 >tree/goes
	echo 1 >tree/again
	echo 1 >tree/touched
	echo 1 >tree/stays
	"$trace" -q --no-events --snapshot-fs tree --snapshot-every 1 -o run.jsonl -o "$store" -- bash -euc '
		printf "%8209d" 7 >tree/grows
		printf "%11d" 7 >tree/deep/shrinks
		rm tree/goes
		echo 1 >tree/other
		mv tree/other tree/again
		touch -d @1000000007 tree/touched
		head -c 4099 /dev/zero >"tree/deep/"$'"'new\nline'"'
		for i in {1..600}; do [ "$(grep -c "\"fs_snapshot\"" run.jsonl)" -lt 2 ] || break; sleep 0.1; done'
	between "walks" "$(q "SELECT COUNT(*) FROM fs_snapshot JOIN r USING (run) WHERE cut IS NULL AND unread = 0")" 3 600
	same "numbers" "$(q "SELECT COUNT(*) - 1 - MAX(walk) FROM fs_snapshot JOIN r USING (run)")" 0
	same "before the run" "$(q "SELECT COUNT(*) FROM fs_snapshot JOIN r USING (run) WHERE ts_ns IS NULL")" 1
	same "at the end" "$(q "SELECT COUNT(*) FROM fs_entry JOIN r USING (run) WHERE walk = (SELECT MAX(walk) FROM fs_entry) AND path GLOB '*/new*'")" 1
	"$analyze" snapshot "$store" --table changes --format json >changes.json
	python3 - <<'E2'
import json
rows = json.load(open("changes.json"))
rows = rows["tables"]["changes"]
got = {}
for r in rows:
    name = r["path"].rsplit("/", 1)[1]
    assert name not in got, r
    got[name] = (r["change"], r["size_before"], r["size"])
assert got == {"grows": ("grown", 4099, 8209), "shrinks": ("shrunk", 4099, 11), "goes": ("gone", 2, None),
               "again": ("replaced", 2, 2), "touched": ("changed", 2, 2), "new\nline": ("new", None, 4099)}, got
E2
	"$analyze" snapshot "$store" --table walks --format csv | awk -F, 'NR > 1 { new += $5; gone += $6; grown += $7; size += $11 } END { exit !(new == 1 && gone == 1 && grown == 1 && size == 4099 + 4110 - 4088 - 2) }'
}

@test "snapshot: a folder that is gone at a walk is said; the run goes on" {
	mkdir tree
	"$trace" -q --no-events --snapshot-fs tree --snapshot-every 100 -o "$store" -- rmdir tree
	same "walks" "$(q "SELECT entries || ' ' || COALESCE(cut, 'whole') FROM fs_snapshot JOIN r USING (run) ORDER BY walk")" "1 whole
0 No such file or directory"
	same "change" "$("$analyze" snapshot "$store" --table walks --format csv | tail -n 1 | cut -d, -f4-6)" "0,0,n/a"
	run "$trace" -q --snapshot-every 1 -o other.sqlite -d 0.1
	same "without a folder" "$status" 2
}

@test "snapshot: a file system that stops answering is said; others are walked on" {
	local daemon

	need bindfs bindfs
	mkdir behind dead lives
	touch behind/one
	bindfs -f behind dead 3>&- &
	daemon=$!
	wait_for mountpoint -q dead || { kill "$daemon"; return 1; }
	timeout 60 "$trace" --no-events --settle none --snapshot-fs dead --snapshot-fs lives --snapshot-every 600 -o "$store" -- \
		sh -c "kill -STOP $daemon; touch lives/new" 2>said.txt || true
	kill -KILL "$daemon"
	umount -l dead
	same "walks" "$(q "SELECT entries || ' ' || COALESCE(cut, 'whole') FROM fs_snapshot JOIN r USING (run) ORDER BY walk")" "2 whole
1 whole
0 no answer for 10 seconds
2 whole"
	grep -q 'dead: cut: no answer for 10 seconds' said.txt || fail "$(<said.txt)"
	same "gone" "$("$analyze" snapshot "$store" --table changes --format csv | cut -d, -f4 | tail -n +2)" new
}
