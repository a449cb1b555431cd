# SPDX-License-Identifier: GPL-3.0-only
# tables.bats - the kernel side's tables hold live objects: a million short processes fill none, and a full table has a name.

load ../lib/helper

setup() {
	own_run
	forker=$IOT_BUILD/forker
	built forker
	head -c 4096 /dev/zero >small
}

# Processes of a name, those that others stand for too.
programs() { # NAME
	sql "SELECT SUM(n) FROM (SELECT MAX(COALESCE(folded, 1)) AS n FROM process WHERE comm = '$1' AND fold IS NULL GROUP BY pid, start_ns)"
}

# Every check of processes is equal, and how many there are.
processes_agree() {
	"$analyze" verify "$store" --format csv --by pid >verify.csv || :
	empty "verify" "$(grep -E '^process bytes (read|written),' verify.csv | grep -v ',OK,' || :)"
	grep -cE '^process bytes (read|written),' verify.csv
}

@test "8,000 small programs fill no table: a later 16 MiB is exact (defects 21, 56)" {
	body() {
		dev_mark
		traced --no-events -- sh -c '$0 8000 exec /bin/true; dd if=/dev/zero of=$IOT_MNT/f bs=1M count=16 conv=fsync status=none' "$forker"
		delta=$(dev_wrote)
		nothing_lost
		same "dd's S" "$(total bytes "kind = 'write' AND comm = 'dd'")" 16777216
		same "dd's data" "$(written "cause = 'data' AND comm = 'dd'")" 16777216
		same "device bytes" "$(written 1)" "$delta"
		[ "$(processes_agree)" -gt 4000 ]
		# a /bin/true for each line that `folded` does not say more of
		same "programs" "$(programs true)" 8000
		between "rows of processes" "$(sql "SELECT COUNT(*) FROM process")" 4096 5500
	}
	with_fs ext4 128M -- body
}

@test "small processes that ended are one row by name and parent, with their sums" {
	for events in --no-events ''; do
		rm -f run.sqlite*
		# shellcheck disable=SC2086
		traced $events --table told=32 -- "$forker" 3000 read "$PWD/small"
		nothing_lost
		same "reads" "$(total bytes "kind = 'read' AND comm = 'forker'")" 300000
		same "opens" "$(total ops "kind = 'open' AND comm = 'forker'")" 3000
		same "children" "$(programs forker)" 3001
		same "rows with sums" "$(sql "SELECT COUNT(DISTINCT owner) < 200 FROM agg_total")" 1
		processes_agree >/dev/null
		same "the line of the report" "$("$analyze" amplification run.sqlite --table summary --format csv | grep -c '^process,forker,300[01] procs,')" 1
	done
	same "every owner of an event has a row" "$(sql "SELECT COUNT(*) FROM event WHERE owner > 2 AND owner NOT IN (SELECT id FROM process)")" 0
	same "those that are folded say into which" "$(sql "SELECT COUNT(*) > 2000 FROM process p JOIN process f ON f.run = p.run AND f.id = p.fold WHERE f.folded > 1")" 1
	same "a line for each in --by pid: none for the folded" "$(("$(\
		"$analyze" amplification run.sqlite --by pid --table summary --format csv | wc -l)" < 200))" 1
}

@test "folded processes keep late bytes: pages of 2,000 are written back as theirs" {
	body() {
		mkdir "$IOT_MNT/d"
		dev_mark
		traced --no-events --table told=32 -- "$forker" 2000 write "$IOT_MNT/d"
		delta=$(dev_wrote)
		nothing_lost
		same "S" "$(total bytes "kind = 'write' AND comm = 'forker'")" 2000
		same "data" "$(written "cause = 'data' AND comm = 'forker'")" $((2000 * 4096))
		same "device bytes" "$(written 1)" "$delta"
		same "nobody's" "$(written "owner = 0")" 0
	}
	with_fs ext4 128M -- body
}

@test "the disk of a process that was forgotten is settled before the run ends" {
	body() {
		traced --no-events --table told=32 --table cells=1024 -- sh -c 'dd if=/dev/zero of=$IOT_MNT/f bs=64k count=8 status=none; $0 2000 exec /bin/true; sleep 2' "$forker"
		same "dd's data" "$(written "cause = 'data' AND comm = 'dd'")" 524288
	}
	MOUNT_OPTS=commit=300 with_fs ext4 64M -- body # the journal's own commit, each 5 s, would tell the disk anew
}

@test "a process that moved a MiB is itself, whatever the others were" {
	body() {
		traced --no-events --table told=32 -- sh -c '$0 200 read $1; for i in 1 2 3; do dd if=/dev/zero of=$IOT_MNT/f$i bs=64k count=$((16 * i)) status=none; done; $0 200 read $1' "$forker" "$PWD/small"
		same "each dd" "$(q "SELECT SUM(bytes) FROM c WHERE comm = 'dd' AND kind = 'write' GROUP BY pid ORDER BY 1" | paste -sd' ')" "1048576 2097152 3145728"
		same "none is folded" "$(sql "SELECT COUNT(*) FROM process WHERE comm = 'dd' AND folded > 1")" 0
	}
	with_fs ext4 64M -- body
}

@test "processes of many names are few rows: by name and parent, by name, then one" {
	traced --no-events --table told=32 -- "$forker" 6000 rename "$PWD/small"
	nothing_lost
	same "reads" "$(total bytes "kind = 'read' AND owner > 2 AND pid <> (SELECT MIN(pid) FROM process WHERE comm = 'forker')")" 600000
	between "rows" "$(sql "SELECT COUNT(*) FROM process")" 3000 3500
	same "the rest" "$(sql "SELECT folded > 2000 FROM process WHERE comm = '(ended processes)'")" 1
	processes_agree >/dev/null
}

@test "a full table of aggregates has a name: B is exact, no MISMATCH (defect 56)" {
	body() {
		dev_mark
		# 400 at once, each with aggregates of its own
		traced --no-events --table cells=1024 -- sh -c 'for i in $(seq 400); do (read -r x < $1; sleep 3) & done; sleep 1.5
			dd if=/dev/zero of=$IOT_MNT/f bs=1M count=4 conv=fsync status=none; wait' - "$PWD/small"
		delta=$(dev_wrote)
		same "the loss" "$(q "SELECT effect FROM lost WHERE what = 'aggregate table full' AND n > 0 AND run = (SELECT run FROM r)")" owner
		same "device bytes" "$(written 1)" "$delta"
		same "S of all" "$(total bytes "kind = 'write' AND owner <> 1 AND dev = '$IOT_DEVNO'")" 4194304
		"$analyze" verify run.sqlite --format csv --by pid >verify.csv
		same "mismatches" "$(grep -c MISMATCH verify.csv || :)" 0
		grep -q '^process bytes read,.*,n/a,' verify.csv
		"$analyze" amplification run.sqlite --table ratios --format csv | grep '^process,sh,.*,exact,' >exact.csv || :
		# the file may have left the page cache: a ratio of misses is exact if none of them lost its owner
		[ "$(total bytes "kind IN ('miss', 'block_read') AND owner = 0")" != 0 ] || sed -i '/,raf_miss,/d' exact.csv
		empty "exact ratios of processes" "$(cat exact.csv)"
	}
	with_fs ext4 64M -- body
}

@test "a full table of processes has a name; it has room again when they have ended" {
	traced --no-events --table procs=128 --all --comm sh -- sh -c 'for i in $(seq 200); do (read -r x < $0; sleep 2) & done; wait; sleep 4
		for i in $(seq 20); do (read -r x < $0); done' "$PWD/small" || :
	same "the loss" "$(q "SELECT effect FROM lost WHERE what = 'process table full' AND n > 0 AND run = (SELECT run FROM r)")" owner
	[ "$(sql "SELECT COUNT(*) FROM process WHERE comm = 'sh'")" -gt 50 ] # strangers take places too
	last=$(sql "SELECT COUNT(*) FROM (SELECT a.owner FROM agg a JOIN kind k ON k.id = a.kind WHERE k.name = 'read' AND a.owner > 2 AND a.sec >= 6 GROUP BY a.owner)")
	[ "$last" -ge 20 ] || fail "$last of the last 20 have an owner"
}

@test "files beyond the table have numbers and rows; their ledger is one (defect 41)" {
	body() {
		mkdir "$IOT_MNT/d"
		traced --table files=64 -- "$forker" 3000 files "$IOT_MNT/d"
		nothing_lost
		same "files of events without a row" "$(sql "SELECT COUNT(DISTINCT e.file) FROM v_event e WHERE e.file > 0 AND e.dev = '$IOT_DEVNO' AND NOT EXISTS (SELECT 1 FROM file f WHERE f.run = e.run AND f.id = e.file)")" 0
		same "numbers are more than files" "$(sql "SELECT COUNT(*) > COUNT(DISTINCT dev || '/' || ino || '/' || gen) FROM file")" 1
		same "the ledger" "$(q "SELECT SUM(dirtied), SUM(written), SUM(dirty_end), SUM(unexpected) FROM l WHERE dev = '$IOT_DEVNO' AND file > 0")" "12288000 12288000 0 0"
		same "paths" "$(sql "SELECT COUNT(DISTINCT path) FROM file WHERE path GLOB '$IOT_MNT/d/*'")" 3000
		same "rows without a path" "$(sql "SELECT COUNT(*) FROM file WHERE path IS NULL AND dev = $((${IOT_DEVNO%:*} << 20 | ${IOT_DEVNO#*:})) AND ino > 11")" 0
	}
	with_fs ext4 128M -- body
}

@test "aggregates that the index has no element for are counted, and given back" {
	body() {
		traced --no-events --table cell_index=64 -- sh -c 'for i in $(seq 40); do dd if=/dev/zero of=$IOT_MNT/f$i bs=1009 count=17 conv=fsync status=none; done; sleep 3'
		nothing_lost
		same "S of 40 programs" "$(total bytes "kind = 'write' AND comm = 'dd'")" $((40 * 17 * 1009))
		same "data" "$(written "cause = 'data' AND comm = 'dd'")" $((40 * 5 * 4096))
		[ "$(sql "SELECT COUNT(*) FROM agg_total")" -gt 64 ] || fail "the index had room for all"
	}
	with_fs ext4 64M -- body
}

@test "a table that does not exist, or whose size is nobody's choice, is refused" {
	for table in nothing=4096 groups=4096 cells=1 cells=x cells; do
		run "$trace" --table "$table" --no-events -o - -- true
		[ "$status" != 0 ] && [[ $output = *table* ]] || fail "$table: status $status, $output"
	done
}

@test "a soak: 40,000 processes and 60,000 files leave the tables empty (defect 22)" {
	only_long "tests/trace/soak.bats each time"
	need_plain "$trace" "they keep memory that was freed"
	body() {
		mkdir "$IOT_MNT/d" "$IOT_MNT/d/first"
		# first what has a bound is filled: SQLite's cache (8 MiB), and of tables of a fixed size (33 MiB) what so many processes in a second touch: the second 20,000 take
		# up to 13 MiB more on a busy machine, the third 2 MiB
		"$trace" -v --no-events --all -o run.sqlite -- sh -c 'echo $PPID >pid; $0 20000 read $2; $0 20000 read $2; $0 10000 files $1/first; sleep 2; grep RssAnon /proc/$PPID/status >rss1; $0 20000 read $2
			$0 50000 files $1; sleep 13
			for n in $(seq 30); do # a slow machine has not read them all yet
				grep RssAnon /proc/$PPID/status >rss2
				[ $(($(tr -dc 0-9 <rss2) - $(tr -dc 0-9 <rss1))) -ge 10240 ] || break
				sleep 1
			done' "$forker" "$IOT_MNT/d" "$PWD/small" 2>trace.log || cat trace.log
		grow=$(($(tr -dc 0-9 <rss2) - $(tr -dc 0-9 <rss1)))
		[ "$grow" -lt 10240 ] || fail "the tracer grew by $grow KiB"
		read -r cells procs < <(sed -n 's/.*cells \([0-9]*\),.*procs \([0-9]*\),.*/\1 \2/p' trace.log)
		[ "$cells" -lt 4000 ] && [ "$procs" -lt 4000 ] || fail "$(grep 'tables in use' trace.log)"
		echo "grew by $grow KiB; $(grep 'tables in use' trace.log)"
	}
	with_fs ext4 512M -- body
}
