# SPDX-License-Identifier: GPL-3.0-only
# journal.bats - the contents of the journals of file systems: the report `journal` against the store of fixtures/analyze_base.sql, and
# of real runs on ext4 and XFS with the same columns.

load ../lib/analyze

setup() {
	S=$BATS_TEST_TMPDIR/run.sqlite
	store_with "$S"
}

@test "journal: 16384 of dd's 10510336 device bytes, one commit for one fsync" {
	[ "$(cell "$S" journal lines who dd journal)" = 16384 ]
	[ "$(cell "$S" journal lines who dd share_journal)" = 0.002 ]
	[ "$(cell "$S" journal lines who dd commits_per_fsync)" = 1.000 ]
	[ "$(cell "$S" journal lines who dd journal_per_fsync)" = 16384.000 ]
}

@test "journal: an owner's bytes by structure; a commit of 4 blocks is 16384 bytes" {
	[ "$("$ANALYZE" journal "$S" --format csv --table owners | sed 1d | cut -d, -f3,5,7,9,10 | paste -sd' ')" = \
		"dd,inode_table,8192,2.000,1 dd,commit,4096,1.000,1 dd,descriptor,4096,1.000,1" ]
	[ "$(cell "$S" journal commit structure total bytes_per_commit)" = 16384.000 ]
	sqlite3 "$S" "UPDATE agg_total SET ops = 2 WHERE kind = (SELECT id FROM kind WHERE name = 'commit')"
	[ "$(cell "$S" journal commit structure total bytes_per_commit)" = 8192.000 ]
	[ "$(cell "$S" journal commit structure descriptor blocks_per_commit)" = 0.500 ]
	[ "$(cell "$S" journal lines who dd commits_per_fsync)" = 2.000 ]
}

@test "journal: what was not measured is n/a, never 0" {
	[ "$(cell "$S" journal lines who dd wal)" = n/a ]
	sqlite3 "$S" "UPDATE run SET layers = replace(layers, ',block', '')"
	[ "$(cell "$S" journal lines who dd journal)" = n/a ]
	[ "$(cell "$S" journal lines who dd commits)" = 1 ]
	sqlite3 "$S" "UPDATE run SET layers = replace(layers, ',fs', '')"
	[ "$(cell "$S" journal lines who dd commits_per_fsync)" = n/a ]
}

# ---- which calls, on which files ----

# Programs of one call each, at once, under the names of their calls, 31 times each.
loops() { # FOLDER
	cat > loops.py <<-'P'
		import os, sys
		what, top, n = sys.argv[1], sys.argv[2], 31
		def made(i):
		    return "%s/%s%d" % (top, what, i)
		f = os.open(made(0), os.O_RDWR)
		for i in range(n):
		    if what == "chmod":
		        os.chmod(made(0), 0o600 + i % 2 * 0o40)
		    elif what == "setxattr":
		        os.setxattr(made(0), "user.a", b"%d" % i)
		    elif what == "mkdir":
		        os.mkdir(made(i) + "d")
		    elif what == "rename":
		        os.rename(made(i), made(i) + "r")
		    elif what == "link":
		        os.link(made(0), made(i) + "l")
		    elif what == "unlink":
		        os.unlink(made(i))
		    elif what == "ftruncate":
		        os.ftruncate(f, i * 4096)
	P
	for call in $calls; do
		ln -sf "$(python3 -c 'import sys; print(sys.executable)')" "j.$call"
		for i in $(seq 0 30); do : > "$1/$call$i"; done
	done
	sync -f "$1"
}

calls="chmod setxattr mkdir rename link unlink ftruncate"

# of_call CALL COLUMN: of the program of that call, summed
of_call() {
	"$ANALYZE" journal "$S" --by comm --format tsv --table operations |
		awk -F'\t' -v p="j.$1" -v k="$1" -v c="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
			$at["who"] == p && ($at["call"] == k || k == "all") { s += $at[c] } END { print s + 0 }'
}

loops_on() { # FILE_SYSTEM SIZE
	body() { # FILE_SYSTEM
		local call n all journal least causes="'journal'"

		[ "$1" != btrfs ] || causes="'journal', 'metadata') AND sub NOT IN ('superblock'" # which is no tree
		loops "$IOT_MNT"
		traced --dev "${IOT_DEV#/dev/}" -- sh -c "for c in $calls; do ./j.\$c loops.py \$c $IOT_MNT & done; wait; sync -f $IOT_MNT"
		for call in $calls; do
			n=$(of_call "$call" txns) least=31
			[ "$1 $call" != "btrfs chmod" ] || least=1 # what joins a transaction that has changed the same inode is not told
			[ "$n" -ge "$least" ] || fail "$call: $n transactions of 31 calls: $("$ANALYZE" journal "$S" --table operations)"
			case $1\ $call in
			btrfs\ chmod) ;;
			*\ chmod | *\ rename | *\ link) [ "$n" -eq 31 ] || fail "$call: $n transactions of 31 calls" ;;
			esac
			case $1\ $call in btrfs\ ftruncate) ;; btrfs\ *) continue ;; esac # only calls on descriptors have a name there
			[ "$1 $call" = "xfs mkdir" ] && continue # a new folder has no name yet when its transaction ends: the one above has it
			[ "$("$ANALYZE" journal "$S" --by comm --format tsv --table operations | awk -F'\t' -v p="j.$call" -v k="$call" '$3 == p && $5 == k && $6 ~ k' | wc -l)" -ge 1 ] ||
				fail "$call: its files have no name: $("$ANALYZE" journal "$S" --table operations)"
		done
		# what calls put in sums to the journal's bytes
		all=$("$ANALYZE" journal "$S" --format tsv --table operations | awk -F'\t' 'NR > 1 { s += $10 } END { print s }')
		journal=$(q "SELECT SUM(bytes) FROM c WHERE kind = 'fs_write' AND cause IN ($causes) AND dev = '$IOT_DEVNO' AND owner > 2")
		between "bytes of all calls" "$all" $((journal - 50)) $((journal + 50))
		empty "losses" "$(q "SELECT what FROM lost WHERE n > 0 AND what LIKE '%journals%' AND run = (SELECT run FROM r)")"
	}
	with_fs "$@" -- body "$1"
}

real_run() {
	load ../lib/helper
	need_tracer
	need python3 python3-minimal
	cd "$BATS_TEST_TMPDIR"
	store=$BATS_TEST_TMPDIR/real.sqlite S=$store
}

@test "journal: seven programs on ext4: each call has its transactions and files" {
	real_run
	loops_on ext4 400M
}

@test "journal: the same on XFS, with structures" {
	real_run
	need mkfs.xfs xfsprogs
	loops_on xfs 400M
	"$ANALYZE" journal "$S" --table structures --format tsv | awk -F'\t' '$5 == "mkdir" && $7 == "inode" { found = 1 } END { exit !found }'
}

@test "journal: the same on btrfs, of its trees" {
	only_long "ext4 and XFS each time"
	real_run
	need mkfs.btrfs btrfs-progs
	loops_on btrfs 400M
}

@test "journal: a kernel thread's work for nobody's file is not the next file's" {
	real_run
	body() {
		dd if=/dev/zero of="$IOT_MNT/before" bs=4k count=4 status=none
		traced -- sh -c "sync '$IOT_MNT/before'; for i in 1 2 3 4 5 6; do dd if=/dev/zero of='$IOT_MNT/after'\$i bs=4k count=4 conv=fsync status=none; done"
		same "files that blocks were allocated for" "$(sqlite3 "$store" "SELECT f.path, SUM(p.txns) FROM put p JOIN file f ON f.id = p.file
			WHERE p.call = 'writeback' AND p.owner > 2 GROUP BY f.path ORDER BY f.path" | sed 's/.*\///' | tr '\n' ' ')" "after1|1 after2|1 after3|1 after4|1 after5|1 after6|1 "
	}
	with_fs ext4 200M -- body
}
