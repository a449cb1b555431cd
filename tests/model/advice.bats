#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# advice.bats - `iot-analyze explain`, `files` and `fsync` of runs whose calls and files the test knows: the file and the calls that they
# name, the advice, and the bytes that the advised change saves when it is made.

load ../lib/helper

setup() { own_run; }

# The answer about the newest run, which is asked for once.
explained() {
	[ explained -nt "$store" ] || "$analyze" explain "$store" --format tsv >explained
	cat explained
}

# The sentences about something of the newest run, and the experiments
said() { explained | awk -F'\t' -v a="$1" '$1 == a { print $2 }'; }
advised() { explained | awk -F'\t' -v a="$1" '$1 == a { print $7 }'; }
saving() { explained | awk -F'\t' -v a="$1" '$1 == a { n += $8 } END { print n + 0 }'; }

# No advice of what the run did not do
fits() { # FS
	local all

	all=$(explained | cut -f7)
	[ "$1" = ext4 ] || ! grep -q 'fast_commit\|has_journal' <<<"$all" || fail "ext4's advice on $1: $all"
	[ "$(q "SELECT COALESCE(SUM(ops), 0) FROM c WHERE kind IN ('fsync', 'fdatasync', 'msync') AND owner > 2")" != 0 ] ||
		! grep -q 'fewer syncs' <<<"$all" || fail "fewer syncs than none: $all"
	# what somebody else has the journal of another disk write is not known to be no part of what the command read there
	! said nobody | grep -q . || [ "$(total bytes "kind = 'block_write' AND dev <> '$IOT_DEVNO' AND owner = 0")" != 0 ] || fail "$(said nobody)"
}

@test "300 reads that update times of access: noatime is advised, and saves that" {
	for fs in $(by_turns ext4 xfs btrfs); do
		[ "$fs" = ext4 ] || grep -qw "$fs" /proc/filesystems || continue
		body() {
			mkdir "$IOT_MNT/d"
			for i in $(seq 300); do echo "$i" >"$IOT_MNT/d/f$i"; done
			sync -f "$IOT_MNT"
			mount -o remount,strictatime "$IOT_MNT"
			sleep 1.1
			traced -- sh -c "cat $IOT_MNT/d/* | wc -c" >/dev/null
			about=journal
			[ "$fs" != btrfs ] || about=metadata
			said $about | grep -q "read of [^ ]*/d/f# (300 files)" || fail "$(said $about)"
			said $about | grep -q 'times of access: reading writes' || fail "$(said $about)"
			advised $about | grep -q noatime || fail "$(advised $about)"
			said own | grep -q '^No file data are among the ' || fail "$(said own)"
			fits $fs
			saves=$(saving journal)
			saves=$((saves + $(saving metadata)))
			before=$(written "dev = '$IOT_DEVNO' AND owner > 2")
			sync -f "$IOT_MNT"
			for i in $(seq 300); do echo "$i" >"$IOT_MNT/d/f$i"; done
			mount -o remount,noatime "$IOT_MNT"
			sync -f "$IOT_MNT"
			sleep 1.1
			traced -- sh -c "cat $IOT_MNT/d/* | wc -c" >/dev/null
			after=$(written "dev = '$IOT_DEVNO' AND owner > 2")
			between "what noatime saves, of $saves" "$((before - after))" $((saves * 9 / 10)) $((saves * 11 / 10))
		}
		with_fs $fs 512M -- body
	done
}

@test "a log synced after each record: its syncs are named, fewer save what was said" {
	cat >log.py <<-'P'
		import os, sys
		f = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
		for i in range(200):
		    os.write(f, b'e' * 480)
		    if i % int(sys.argv[2]) == int(sys.argv[2]) - 1:
		        os.fsync(f)
	P
	body() {
		traced -- python3 log.py "$IOT_MNT/log" 1
		said journal | grep -q "Committed by syncs: 200 of 200 are of $IOT_MNT/log" || fail "$(said journal)"
		said "file data" | grep -q "$IOT_MNT/log, of which devices wrote .* for 93.8 KiB that calls wrote in 200 calls with 200 syncs" || fail "$(said "file data")"
		advised journal | grep -q "^fewer syncs of $IOT_MNT/log" || fail "$(advised journal)"
		same "what most of the sentence is" "$(explained | awk -F'\t' 'NR == 3 { print $1 }')" journal
		fits ext4
		saves=$(($(saving journal) + $(saving "file data")))
		before=$(written "dev = '$IOT_DEVNO' AND owner > 2")
		traced -- python3 log.py "$IOT_MNT/other" 100
		after=$(written "dev = '$IOT_DEVNO' AND owner > 2")
		between "what fewer syncs save, of $saves" "$((before - after))" $((saves * 8 / 10)) "$saves"
		# what somebody had thrown out of the page cache is read again: a library of python3 may come before it
		same "the log is the written file that cost most" "$("$analyze" files "$store" --run 1 --table files --format tsv | awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["B"] > 0 { print $1; exit }')" "$IOT_MNT/log"
	}
	with_fs ext4 64M -- body
}

@test "dd of 20 MiB is its own bytes, without advice; 14 bytes are all file system" {
	body() {
		traced -- dd if=/dev/zero of="$IOT_MNT/f" bs=1M count=20 status=none
		said own | grep -q "^20 MiB of the .*.* are the application's own bytes, written once: $IOT_MNT/f 20 MiB" || fail "$(said own)"
		same "advice" "$(explained | awk -F'\t' '$1 == "journal" || $1 == "file data" || $1 == "metadata" { print $7 }' | tr -d '\n')" ""
		fits "$fs"
		traced -- sh -c "echo 'Hello, world!' >$IOT_MNT/example.txt"
		fits "$fs"
		same "advice" "$(explained | awk -F'\t' '$1 == "journal" || $1 == "file data" || $1 == "metadata" { print $7 }' | tr -d '\n')" ""
		traced -- sh -c : # nothing of the disk was used
		fits "$fs"
	}
	for fs in $(by_turns ext4 xfs btrfs); do
		[ "$fs" = ext4 ] || grep -qw "$fs" /proc/filesystems || continue
		with_fs $fs 512M -- body
	done
}

@test "an SQLite journal made 100 times is one row, the first; read files come last" {
	cat >db.py <<-'P'
		import sqlite3, sys
		c = sqlite3.connect(sys.argv[1], isolation_level=None)
		c.execute('CREATE TABLE t(x)')
		for i in range(99):
		    c.execute('INSERT INTO t VALUES(?)', (i,))
	P
	body() {
		sync -f "$IOT_MNT"
		traced -- python3 db.py "$IOT_MNT/app.db"
		same "the first rows" "$("$analyze" files "$store" --table files --format csv | sed -n '2,3p' | cut -d, -f1,5,8,19 | paste -sd' ')" \
			"$IOT_MNT/app.db-journal,sqlite,$((2 * 100)),100 $IOT_MNT/app.db,sqlite,100,1"
		advised undo | grep -q '^PRAGMA journal_mode=WAL$' || fail "$(advised undo)"
		fits ext4
	}
	with_fs ext4 64M -- body
}

# Bytes that the rows with advice promise to save: said_to_save PATTERN
said_to_save() { explained | awk -F'\t' -v p="$1" '$7 ~ p { n += $8 } END { print n + 0 }'; }
cost() { written "dev = '$IOT_DEVNO' AND owner > 2"; }

# A run, what is advised, and the run with that done: it saves something, and no more than was said.
keeps_its_word() { # ADVICE BEFORE_COMMAND -- AFTER_COMMAND
	local advice=$1 before after saves first=()

	shift
	while [ "$1" != -- ]; do
		first+=("$1")
		shift
	done
	shift
	sync -f "$IOT_MNT"
	traced -- "${first[@]}"
	before=$(cost) saves=$(said_to_save "$advice")
	[ "$saves" -gt 0 ] || fail "nobody advises $advice: $(explained | cut -f1,7,8)"
	sync -f "$IOT_MNT"
	traced -- "$@"
	after=$(cost)
	echo "$advice: $before -> $after bytes, $((before - after)) saved, $saves said"
	[ "$((before - after))" -gt 0 ] && [ "$((before - after))" -le "$saves" ] || fail "$advice: $before -> $after bytes, which is not at most $saves"
}

@test "larger writes for small O_DSYNC ones save something, and no more than was said" {
	body() {
		keeps_its_word 'larger writes to .*, each of which is a sync' dd if=/dev/zero of="$IOT_MNT/a" bs=256 count=128 oflag=dsync status=none -- \
			dd if=/dev/zero of="$IOT_MNT/b" bs=32768 count=1 oflag=dsync status=none
	}
	with_fs ext4 64M -- body
}

@test "SQLite: WAL for a journal, small pages for large save no more than was said" {
	cat >db.py <<-'P'
		import sqlite3, sys
		c = sqlite3.connect(sys.argv[1], isolation_level=None)
		for pragma in ('page_size=' + sys.argv[2], 'journal_mode=' + sys.argv[3], 'synchronous=FULL'):
		    c.execute('PRAGMA ' + pragma).fetchall()
		c.execute('CREATE TABLE t(i INTEGER PRIMARY KEY, x)')
		for i in range(60):
		    c.execute('INSERT OR REPLACE INTO t VALUES(?, ?)', (i % 7, 'x' * 90))
	P
	body() {
		keeps_its_word 'PRAGMA journal_mode=WAL' python3 db.py "$IOT_MNT/a.db" 4096 DELETE -- python3 db.py "$IOT_MNT/b.db" 4096 WAL
		keeps_its_word 'PRAGMA page_size=4096' python3 db.py "$IOT_MNT/c.db" 65536 WAL -- python3 db.py "$IOT_MNT/d.db" 4096 WAL
	}
	with_fs ext4 128M -- body
}

@test "mkfs.ext4 -O fast_commit saves a log no more than was said, and something" {
	cat >log.py <<-'P'
		import os, sys
		f = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
		for i in range(100):
		    os.write(f, b'e' * 480)
		    os.fsync(f)
	P
	plain() {
		sync -f "$IOT_MNT"
		traced -- python3 log.py "$IOT_MNT/log"
		said_to_save fast_commit >saves
		cost >before
	}
	fast() {
		sync -f "$IOT_MNT"
		traced -- python3 log.py "$IOT_MNT/log"
		cost >after
		! "$analyze" explain "$store" | grep -q 'fast_commit$\|O fast_commit' || fail "advised where it is: $("$analyze" explain "$store")"
	}
	with_fs ext4 64M -- plain
	with_fs ext4 64M -O fast_commit -- fast
	[ "$(<saves)" -gt 0 ]
	echo "$(<before) -> $(<after), $(<saves) said"
	[ "$(($(<before) - $(<after)))" -gt 0 ] && [ "$(($(<before) - $(<after)))" -le "$(<saves)" ]
}
