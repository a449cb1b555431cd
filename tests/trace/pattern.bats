#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# pattern.bats - reports of single accesses: pattern, iosize, heatmap, fsync. Answers worked out by hand, and fio in a known order.
# IOT_FIO=all tests/run pattern runs all 24 cases of fio (6 engines, sequential or random, read or write), io_uring and mmap.

load ../lib/helper
load ../lib/analyze

setup_file() { make_base; }

setup() {
	run_store
	mkdir out
}

# Events of dd, one a line: KIND TS OFFSET BYTES TID CAUSE SUB FILE OWNER DEV DUR; what is - is absent.
events() {
	sed -E 's/ +/,/g; s/(^|,)-(,|$)/\1\2/g; s/(^|,)-(,|$)/\1\2/g' >events.csv
	sqlite3 "$S" "CREATE TEMP TABLE line (kind, ts, offset, bytes, tid, cause, sub, file, owner, dev, dur)" ".mode csv" ".import events.csv line --schema temp" \
		"INSERT INTO event (run, ts_ns, dur_ns, offset, bytes, task, tid, owner, file, dev, kind, cause, sub)
			SELECT 1, ts, NULLIF(dur, ''), NULLIF(offset, ''), NULLIF(bytes, ''), 3, NULLIF(tid, ''), COALESCE(NULLIF(owner, ''), 3), NULLIF(file, ''),
				COALESCE(NULLIF(dev, ''), 7340032), k.id, (SELECT id FROM cause WHERE name = l.cause), (SELECT MIN(id) FROM sub WHERE name = l.sub)
			FROM line l JOIN kind k ON k.name = l.kind ORDER BY l.rowid"
}

# table REPORT TABLE COLUMNS: rows of it, blanks as _, cells with :
table() {
	"$ANALYZE" "$1" "$S" --format tsv --table "$2" "${@:4}" | awk -F'\t' -v want="$3" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = split(want, name, " "); next }
		{ for (i = 1; i <= n; i++) { cell = $at[name[i]]; gsub(/ /, "_", cell); printf "%s%s", cell, i < n ? ":" : " " } }'
}

# Two threads share the file: 10 goes on where it was, 11 from 1 MiB on, 12 where 11 was. What arrives late is in its place; what moved nothing, or
# is no file, is no access.
accesses() {
	events <<-'END'
		pwrite64 1000 0 4096 10 - regular 1 - - -
		pwrite64 2000 4096 4096 10 - regular 1 - - -
		pwrite64 4000 1048576 4096 11 - regular 1 - - -
		pwrite64 3000 8192 4096 10 - regular 1 - - -
		pwrite64 5000 12288 4096 10 - regular 1 - - -
		pwrite64 6000 1052672 4096 11 - regular 1 - - -
		pwrite64 7000 1056768 4096 12 - regular 1 - - -
		pwrite64 8000 500 100 10 - regular 1 - - -
		pwrite64 9000 600 0 10 - regular 1 - - -
		write 9500 600 4096 10 - chardev - - - -
		read 9600 0 10 10 - regular - - - -
		block_write 10000 4096 4096 - data none 1 - - -
		block_write 12000 16384 4096 - journal descriptor - - - -
		block_write 11000 8192 8192 - data none 1 - - -
		block_write 13000 20480 4096 - journal commit - - - -
		block_write 14000 16384 512 - direct none 1 - - -
		block_write 15000 77777 512 - loopback none - - 266338304 -
	END
}

@test "pattern: an access is sequential for its process or thread, device and direction" {
	accesses
	# devices completed 28 requests and 31, of which there are 5 events and 1: any of the others may have come in between
	[[ $(table pattern layers 'layer device accesses sequential bound share note') == *"device:loop0:5:3:>=:0.000:23_requests_on_it_are_in_no_event device:vda:1:0:>=:0.000:30_requests_on_it_are_in_no_event " ]]
	sqlite3 "$S" "DELETE FROM agg_total WHERE kind IN (SELECT id FROM kind WHERE name IN ('block_read', 'block_write'))" \
		"INSERT INTO agg_total (run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
			SELECT 1, id, 2, 7340032, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0 FROM kind WHERE name = 'block_write'"
	# one more than there are events: of 4 judged and it, at least 2 of the 3 that look so
	[[ $(table pattern layers 'layer device bound share note') == *"device:loop0:>=:0.400:1_requests_on_it_are_in_no_event device:vda:exact:n/a: " ]]
	sqlite3 "$S" "UPDATE agg_total SET ops = 5 WHERE kind = (SELECT id FROM kind WHERE name = 'block_write')"
	[ "$(table pattern layers 'layer way part device accesses sequential random not_judged bound share')" = "calls:read:::1:0:0:1:exact:n/a calls:written:::8:5:2:1:exact:0.714 \
vfs:read:::1:0:0:1:exact:n/a vfs:written:::8:5:2:1:exact:0.714 block:written:file_data:loop0:3:2:0:1:exact:1.000 block:written:fs_journal:loop0:2:1:0:1:exact:1.000 \
device:written::loop0:5:3:1:1:exact:0.750 device:written::vda:1:0:0:1:exact:n/a " ]
	[ "$(table pattern files 'path layer way accesses sequential random share bytes')" = "/mnt/out:calls:written:8:5:2:0.714:28772 /mnt/out:vfs:written:8:5:2:0.714:28772 \
/mnt/out:block:written:3:2:0:1.000:12800 " ]
	[ "$(table pattern owners 'who pid layer way accesses sequential random' | tr ' ' '\n' | grep calls | paste -sd' ')" = "dd:812:calls:read:1:0:0 dd:812:calls:written:8:5:2" ]
	"$ANALYZE" pattern "$S" --plot out >/dev/null
	"$ROOT/tests/lib/pictures.py" out/pattern.svg
	grep -q '>71.4 % of 7<' out/pattern.svg
}

@test "pattern: one event, lost records, only sums, a missing layer, an empty store" {
	events <<<"pwrite64 1000 0 4096 10 - regular 1 - - -"
	[ "$(table pattern layers 'layer way accesses sequential share note')" = "calls:written:1:0:n/a: vfs:written:1:0:n/a:derived_from_calls block::n/a:n/a:n/a:nothing_was_moved_there device::n/a:n/a:n/a:nothing_was_moved_there " ]
	store_with "$S"
	accesses
	# of 7 judged and 1 lost, at least 3 are sequential: 5 look so, and the lost one may have come before two of them, in the stream and in its thread
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'syscall', 'ring full', 'events', 1), (1, 'all', 'ring full: process or path', 'names', 9)"
	[[ $(table pattern layers 'layer way bound share note') == *"calls:written:>=:0.375:1_records_were_lost "*"vfs:written:>=:0.375:derived_from_calls;_1_records_were_lost block:written:exact:1.000: "* ]]
	[[ $(table pattern files 'layer way bound share') == "calls:written:>=:0.375 "* ]]
	# the one that was lost is the third: what looks sequential is not, and the bound holds
	sqlite3 "$S" "DELETE FROM event"
	events <<-'END'
		pwrite64 1000 0 4096 10 - regular 1 - - -
		pwrite64 2000 4096 4096 10 - regular 1 - - -
	END
	[[ $(table pattern layers 'layer way accesses sequential bound share') == "calls:written:2:1:>=:0.000 "* ]]
	"$ANALYZE" pattern "$S" --plot out >/dev/null
	"$ROOT/tests/lib/pictures.py" out/pattern.svg
	sqlite3 "$S" "UPDATE run SET events = 0; DELETE FROM event"
	for table in "pattern layers note" "iosize sizes note" "heatmap devices note" "fsync concurrency note"; do
		# shellcheck disable=SC2086
		[[ " $(table $table)" == *needs_events,_and_the_run_recorded_none* ]]
	done
	for report in pattern iosize heatmap fsync; do
		run --separate-stderr "$ANALYZE" "$report" "$S" --plot out
		[ "$status" = 0 ] || [ "$stderr" = "iot-analyze: nothing to draw: report '$report' has no rows for this run" ]
	done
	sqlite3 "$S" "UPDATE run SET events = 1, layers = 'syscall'"
	[[ $(table pattern layers 'layer note') == *"block:layer_block_was_not_measured device:layer_block_was_not_measured "* ]]
	[[ $(table heatmap devices note) == "layer_block_was_not_measured " ]]
	[[ $(table fsync concurrency note) == "layer_block_was_not_measured " ]]
	make_store empty.sqlite
	for report in pattern iosize heatmap fsync; do
		run --separate-stderr -1 "$ANALYZE" "$report" empty.sqlite
		[[ $stderr == *"holds no run"* ]]
	done
}

@test "pattern: --system, hostile names, huge numbers, and 20,001 files" {
	accesses
	sqlite3 "$S" "UPDATE process SET system = 'etcd' WHERE comm = 'cat'"
	[ "$(table pattern layers 'layer accesses note' --system etcd)" = "calls:n/a:no_call_moved_bytes_of_a_file;_loads_and_stores_through_mappings_are_no_calls \
vfs:n/a:no_call_moved_bytes_of_a_file;_loads_and_stores_through_mappings_are_no_calls block:n/a:nothing_was_moved_there " ]
	sqlite3 "$S" "UPDATE file SET path = '<b>\`touch pwned\`\$(touch pwned)\"; =cmd|' || x'ff1b5b33316d'"
	"$ANALYZE" pattern "$S" --plot out >/dev/null
	"$ROOT/tests/lib/pictures.py" out/pattern.svg
	[ ! -e pwned ]
	[ ! -e out/pwned ]
	sqlite3 "$S" "INSERT INTO event (run, ts_ns, offset, bytes, owner, file, kind, sub, dev) SELECT 1, 1, 0, 10, 3, n.value + 10, k.id, s.id, 7340032
		FROM json_each('[' || (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20001) SELECT group_concat(i) FROM n) || ']') n
		JOIN kind k ON k.name = 'read' JOIN sub s ON s.id = (SELECT MIN(id) FROM sub WHERE name = 'regular')"
	[[ $(table pattern layers 'layer way accesses not_judged') == *"calls:read:20002:20002 "* ]]
	sqlite3 "$S" "INSERT INTO event (run, ts_ns, offset, bytes, owner, file, kind, sub, dev) SELECT 1, 1, 9223372036854775807, 9223372036854775807, 3, 4294967296, k.id, s.id, -1
		FROM kind k JOIN sub s ON s.id = (SELECT MIN(id) FROM sub WHERE name = 'regular') WHERE k.name = 'read'"
	run --separate-stderr -1 "$ANALYZE" pattern "$S"
	[[ $stderr == *"a number of an event is beyond its field"* ]]
}

@test "iosize: sizes by powers of two, by layer; means of the sums" {
	accesses
	[ "$(table iosize sizes 'layer way part from_bytes accesses upto bytes')" = "calls:read::8:1:1.000:10 calls:written::64:1:0.125:100 calls:written::4096:7:1.000:28672 \
vfs:read::8:1:1.000:10 vfs:written::64:1:0.125:100 vfs:written::4096:7:1.000:28672 fs:::n/a:n/a:n/a:n/a \
block:written:file_data:512:1:0.333:512 block:written:file_data:4096:1:0.667:4096 block:written:file_data:8192:1:1.000:8192 block:written:fs_journal:4096:2:1.000:8192 " ]
	# of the sums: 10 writes of 1 MiB, 4 reads of 4 KiB
	[[ $(table iosize means 'layer way accesses mean_bytes largest_bytes') == "calls:read:4:4096.000:10 calls:written:10:1048576.000:4096 "* ]]
	# what has no known owner counts where the run is about all processes
	events <<-'END'
		fs_write 16000 0 4096 - data none 1 0 - -
		fs_write 17000 0 8192 - data none 1 - - -
	END
	sizes() { table iosize sizes 'layer from_bytes accesses' | tr ' ' '\n' | grep ^fs | paste -sd ' '; table iosize means 'layer way accesses' | tr ' ' '\n' | grep block:written; }
	same "of all" "$(sizes)" $'fs:4096:1 fs:8192:1\nblock:written:26'
	sqlite3 "$S" "UPDATE run SET filters = 'dev=loop0'"
	same "of a disk" "$(sizes)" $'fs:4096:1 fs:8192:1\nblock:written:26'
	sqlite3 "$S" "UPDATE run SET filters = 'command dev=loop0'"
	same "of some" "$(sizes)" $'fs:8192:1\nblock:written:25'
	"$ANALYZE" iosize "$S" --plot out >/dev/null
	"$ROOT/tests/lib/pictures.py" out/iosize.svg
}

@test "heatmap: a request is in the cell of its time and place" {
	accesses
	# from 4096 to 20480 in 64 lines: 512 bytes each; as high as the largest request: 8192. 14000 ns in 128 columns: 128 ns each
	[ "$(table heatmap devices 'device touched_from touched_to cell_bytes cell_s')" = "loop0:4096:24576:8192:0.000 vda:77777:78289:512:0.000 " ]
	[ "$(table heatmap cells 'device way from_byte to_byte ops bytes')" = "loop0:written:0:8192:1:4096 loop0:written:8192:16384:1:8192 loop0:written:16384:24576:1:4096 \
loop0:written:16384:24576:1:4096 loop0:written:16384:24576:1:512 vda:written:77312:77824:1:512 " ]
	# what is far away, and late, is in the same map, and nothing is lost
	events <<-'END'
		block_write 9000000 1048576000 4096 - data none 1 - - -
		block_read 8000000 0 4096 - data none 1 - - -
	END
	[ "$(table heatmap devices 'touched_from touched_to cell_bytes')" = "0:1048580096:16777216 77777:78289:512 " ]
	[ "$(table heatmap cells 'way from_byte ops bytes')" = "written:0:5:20992 written:1040187392:1:4096 read:0:1:4096 written:77312:1:512 " ]
	"$ANALYZE" heatmap "$S" --plot out >/dev/null
	"$ROOT/tests/lib/pictures.py" out/heatmap.svg
	# the scale of colours goes from below 512 bytes to above 20 KiB, and the cells drawn are those of the table
	grep -q '>256 B<' out/heatmap.svg
	grep -q '>64 KiB<' out/heatmap.svg
	[ "$(awk -F'\t' 'NF == 7 { n++; sum += $7 } END { print n, sum }' out/heatmap.dat)" = "4 29696" ]
}

# Two syncs that overlap from 200 to 300: the first alone from 100 to 200, the second alone from 300 to 400. A third one at 1000 alone.
syncs() {
	events <<-'END'
		fsync 100 - - 10 - regular 1 - - 200
		fdatasync 200 - - 11 - regular 1 - - 200
		fsync 1000 - - 10 - regular 1 - - 100
		block_write 50 0 1000 - data none 1 - - -
		block_write 150 0 4096 - data none 1 - - -
		block_write 250 0 8192 - journal commit - - - -
		block_write 250 0 512 - metadata none - - - -
		block_write 350 0 1024 - data none 1 - - -
		block_write 450 0 2048 - data none 1 - - -
		block_write 1050 0 4096 - direct none 1 - - -
		block_write 1050 0 4096 - loopback none - - 266338304 -
		block_flush 260 - - - flush none - - - -
		commit 210 - 8192 - journal none - - - 60
	END
}

@test "fsync: overlapping syncs divide their bytes, and sum to the whole with the rest" {
	syncs
	# of the two that overlap, 200 ns each with 2 under way for 100 of them: level 1.5, rounded 2
	[ "$(table fsync concurrency 'under_way syncs bytes data journal metadata commits flushes mean_us p50_us max_us')" = \
		"1:1:4096.000:4096.000:0.000:0.000:0.000:0.000:0.100:0.100:0.100 2:2:6912.000:2560.000:4096.000:256.000:0.500:0.500:0.200:0.200:0.200 " ]
	[ "$(table fsync whole 'under_way syncs bytes data journal metadata commits flushes')" = "1:1:4096.000:4096.000:0.000:0.000:0.000:0.000 \
2:2:13824.000:5120.000:8192.000:512.000:1.000:1.000 nobody_waited:n/a:3048.000:3048.000:0.000:0.000:0.000:0.000 " ]
	# of the sums: one fsync, 10510336 bytes of dd, 16384 of the journal, one commit, two flushes
	[ "$(table fsync lines 'who pid syncs bytes journal commits flushes mean_us')" = "dd:812:1:10510336.000:16384.000:1.000:2.000:30000.000 " ]
	"$ANALYZE" fsync "$S" --plot out >/dev/null
	"$ROOT/tests/lib/pictures.py" out/fsync.svg
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'block', 'request longer than the walk', 'owner', 7)"
	[[ $(table fsync lines 'note') == *B_lost_records* ]]
	sqlite3 "$S" "UPDATE run SET latency = 'none'"
	[ "$(table fsync concurrency 'under_way note')" = ":no_call_was_timed_(--latency_none) " ]
	store_with "$S"
	[ "$(table fsync concurrency 'under_way note')" = ":nobody_synced_a_file " ]
}

@test "reports of events look at each event: twice as many cost twice as much" {
	"$root/tests/lib/gen-run.py" 4000 | "$analyze" ingest one.sqlite
	cp one.sqlite two.sqlite
	stored=$(sqlite3 one.sqlite "SELECT group_concat(name) FROM pragma_table_info('event')")
	sqlite3 two.sqlite "INSERT INTO event($stored) SELECT $stored FROM event"
	sqlite3 one.sqlite "SELECT COUNT(*) FROM event"
	n=$(sqlite3 one.sqlite "SELECT COUNT(*) FROM event")
	steps() { IOT_STEPS=1 "$analyze" "$1" "$2" --format csv 2>&1 >/dev/null | sed -n 's/^\([0-9]*\) steps$/\1/p'; }
	for report in pattern iosize heatmap fsync; do
		more=$(($(steps $report two.sqlite) - $(steps $report one.sqlite)))
		echo "$report: $((more / n)) steps an event"
		[ "$more" -gt 0 ]
		[ "$more" -le $((n * 50)) ]
	done
}

# One case of fio on a file that is there, whole and in one piece, and not in the cache: a 32nd of its 16 MiB, so that what is written at random does not
# become one piece in the cache, which writeback then carries in its order. Shares of its calls and requests.
fio_case() { # ENGINE RW [OPTIONS]
	[ -e "$IOT_MNT/f" ] || head -c 16M /dev/zero >"$IOT_MNT/f"
	sync "$IOT_MNT/f"
	for try in 1 2 3; do # where the machine is too busy, records are lost, and the share is a bound
		rm -f run.sqlite*
		traced -- fio --name=x --filename="$IOT_MNT/f" --rw="$2" --bs=4k --size=16M --io_size=512k --ioengine="$1" --invalidate=1 --randseed=7 --allow_file_create=0 "${@:3}" >fio.log 2>&1
		[ "$(sql "SELECT COUNT(*) FROM lost WHERE n > 0 AND effect IN ('events', 'bytes')")" != 0 ] || break
	done
	: "$try"
	way=written
	[[ $2 == *write ]] || way=read
	S=$store
	path=$(sql "SELECT path FROM file WHERE path LIKE '%/f' LIMIT 1")
	table pattern files 'path layer way accesses sequential random share' | tr ' ' '\n' | grep -F "$path:" | grep ":$way:" | sed 's|^.*/f:||' >shares
}

# exactly 1 or clearly below it, at the VFS and at the block layer
fio_says() { # ENGINE RW VFS_ACCESSES [OPTIONS]
	fio_case "$1" "$2" "${@:4}"
	cat shares
	if [ "$3" -gt 0 ]; then
		IFS=: read -r _ _ n sequential random _ < <(grep ^vfs: shares)
		if [[ $2 == rand* ]]; then
			between "$1 $2: random at the VFS" "$(awk -v s="$sequential" -v r="$random" 'BEGIN { print s / (s + r) }')" 0 0.2
		else
			same "$1 $2: accesses and random at the VFS" "$n $random" "$3 0"
		fi
	fi
	IFS=: read -r _ _ _ sequential random share < <(grep ^block: shares)
	if [[ $2 == rand* ]]; then
		between "$1 $2: at the block layer" "$(awk -v s="$sequential" -v r="$random" 'BEGIN { print s / (s + r) }')" 0 0.5
	else
		same "$1 $2: random at the block layer" "$random" 0
		[ "$share" = 1.000 ] || [ "$share" = n/a ] # one request is in no order
	fi
}

cases() {
	for engine in libaio posixaio sync psync vsync pvsync2; do
		for rw in read randread write randwrite; do
			echo "$engine $rw"
		done
	done
}

@test "fio: sequential is exactly 1, random clearly below, in VFS and block layer" {
	need_tracer
	need fio fio
	run_cases() {
		while read -r engine rw; do
			direct=0
			[[ $engine != libaio && $rw != randread ]] || direct=1
			case $engine in
			mmap) n=0 ;;
			vsync) n=16 ;;
			*) n=128 ;;
			esac
			depth=(--iodepth=1)
			case $engine in
			libaio | posixaio | io_uring) depth=(--iodepth=8) ;;
			vsync) depth=(--iodepth=8 --iodepth_batch=8) ;;
			esac
			fio_says "$engine" "$rw" "$n" --direct=$direct "${depth[@]}"
		done
	}
	list=$'libaio write\npsync read\nsync randwrite\nio_uring randread\n'
	[ "${IOT_FIO:-}" != all ] || list=$(cases; printf '%s\n' io_uring\ {read,randread,write,randwrite} mmap\ {read,randread,write,randwrite})$'\n'
	with_fs ext4 64M -- run_cases <<<"${list%$'\n'}"
}
