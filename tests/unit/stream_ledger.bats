# SPDX-License-Identifier: GPL-3.0-only
# stream_ledger.bats - the dirty ledger (METRICS section 3): answers worked out by hand.
# shellcheck shell=bash

load ../lib/stream

# Makes the ledger of the events on stdin by every way there is (while they pass, and from the store again) and prints its
# rows: file|owner|touched|dirtied|absorbed|written|direct|cancelled|dirty_end|unexpected.
ledger_of() { # [RECORDS BEFORE THE EVENTS]
	rm -f x.sqlite
	{ run_line "${events:-1}"; printf '%s' "${1-}"; cat; end_line; } | "$asan" ingest x.sqlite
	rows >first
	"$asan" ledger x.sqlite 1
	rows | cmp - first
	cat first
}

rows() {
	sqlite3 x.sqlite 'SELECT file, owner, touched, dirtied, absorbed, written, direct, cancelled, dirty_end, unexpected FROM ledger ORDER BY 1, 2'
}

ts=0
ev() { # KIND OFFSET BYTES [OWNER [FILE [MORE]]]
	ts=$((ts + 10))
	printf '{"t":"event","ts_ns":%s,"offset":%s,"size":%s,"bytes":%s,"task":%s,"owner":%s,"file":%s,%s"kind":"%s"%s}\n' \
		$ts "$2" "$3" "$3" "${4:-3}" "${4:-3}" "${5:-1}" "${6-}" "$1" "$(tail_of "$1")"
}

tail_of() {
	case $1 in
	fs_write) echo ',"cause":"data"' ;;
	*write* | *out) echo ',"sub":"regular"' ;;
	esac
}

@test "500 x 8 KiB written back is 4096000 dirtied, however large the folios are" {
	for ((i = 0; i < 500; i++)); do ev pwrite64 $((i * 8192)) 8192; ev fs_write $((i * 8192)) 8192; done >e
	same ledger "$(ledger_of <e)" "1|3|4096000|4096000|0|4096000|0|0|0|0"
}

@test "a write is rounded out to blocks; bytes written again while dirty are absorbed" {
	{ ev write 100 50; ev write 4000 200; ev write 0 4096; ev fs_write 0 8192; } >e
	# blocks 0 | 0 and 1, of which 0 is dirty | 0 again
	same ledger "$(ledger_of <e)" "1|3|16384|8192|8192|8192|0|0|0|0"
}

@test "a block stays with who dirtied it, whoever writes it again or the bio names" {
	{ ev write 0 8192 3; ev write 4096 8192 4; ev fs_write 0 12288 5; } >e
	same ledger "$(ledger_of <e)" "$(printf '1|3|8192|8192|0|8192|0|0|0|0\n1|4|8192|4096|4096|4096|0|0|0|0')"
}

@test "bio bytes that nobody dirtied are unexpected; bytes in no bio end up dirty" {
	{ ev write 0 4096; ev write 40960 4096; ev fs_write 0 12288 4; } >e
	same ledger "$(ledger_of <e)" "$(printf '1|3|8192|8192|0|4096|0|0|4096|0\n1|4|0|0|0|8192|0|0|0|8192')"
}

@test "truncated, punched and unlinked bytes are cancelled; a block cut through stays" {
	{ ev write 0 40960; ev fs_truncate 10000 0; } >e
	same truncate "$(ledger_of <e)" "1|3|40960|40960|0|0|0|28672|12288|0"
	{ ev write 0 40960; ev fs_punch 4000 13000; } >e
	same punch "$(ledger_of <e | cut -d'|' -f8,9)" "12288|28672" # blocks 1 to 3 lie inside 4000 .. 17000
	{ ev write 0 40960; ev fs_evict 0 0; ev write 0 40960 3 2; } >e
	same evict "$(ledger_of <e)" "$(printf '1|3|40960|40960|0|0|0|40960|0|0\n2|3|40960|40960|0|0|0|0|40960|0')"
}

@test "direct I/O counts as dirtied and written at once, outside of the simulation" {
	{ ev write 0 4096; ev write 0 8192 3 1 '"flags":1,'; ev fs_write 0 4096; } >e
	same ledger "$(ledger_of <e)" "1|3|12288|4096|0|4096|8192|0|0|0"
}

@test "direct writes of 512 bytes touch whole blocks; their padding is counted in W" {
	direct() { ev fs_write "$@" | sed 's/"cause":"data"/"cause":"direct"/'; }
	{ ev write 0 512 3 1 '"flags":1,'; direct 81920 4096; ev write 512 512 3 1 '"flags":1,'; direct 82432 512; } >e
	same ledger "$(ledger_of <e)" "1|3|8192|0|0|0|8192|0|0|0"
	same submitted "$(sqlite3 x.sqlite 'SELECT submitted FROM ledger')" 4608
}

@test "blocks dirtied after settling had begun are late; those left from before are not" {
	{ ev write 0 4096 3; ev write 8192 4096 3 2; ev write 4096 4096 4; ev write 0 8192 4; ev write 16384 4096 4 2; ev fs_write 16384 4096 4 2; } >e
	{ run_line; cat e; end_line | sed 's/"horizon"/"settle_ns":'$((ts - 35))',"horizon"/'; } >x.jsonl
	rm -f x.sqlite
	"$asan" ingest x.sqlite <x.jsonl
	same late "$(sqlite3 x.sqlite 'SELECT file, owner, dirty_end, dirty_late, written FROM ledger ORDER BY 1, 2' | tr '\n' ' ')" "1|3|4096|0|0 1|4|4096|4096|0 2|3|4096|0|0 2|4|0|0|4096 "
	same closes "$(sqlite3 x.sqlite 'SELECT count(*) FROM ledger WHERE dirty_start + dirtied + unexpected <> written + cancelled + dirty_end')" 0
}


@test "file systems whose folios never go dirty have none: memory, or pass-through" {
	probe='{"t":"probe","name":"p","layer":"cache","target":"tp_btf/writeback_dirty_folio","chosen":1}'
	file() { printf '{"t":"file","id":%s,"dev":"%s","ino":%s,"gen":0}\n' "$@"; }
	files() { file 1 0:30 1; file 2 0:31 2; file 3 7:0 3; }
	dirty=$(agg_line 0 1 | sed 's/"write"/"dirty","dev":"0:31"/')
	{ for file in 1 2 3; do ev write 0 8192 3 $file; ev write 0 4096 3 $file; done; ev fs_evict 0 0 3 1; } >e
	held() { printf '%s|3|12288|8192|4096|0|0|%s|%s|0\n' "$@"; }
	# 0:31 had a folio that went dirty, and a disk's pages may have been dirty from before
	same rule "$(ledger_of "$(printf '%s\n' "$probe" "$(files)" "$dirty")
" <e)" "$(echo '1|3|12288|0|12288|0|0|0|0|0'; held 2 0 8192; held 3 0 8192)"
	# unless nobody watched
	same unwatched "$(ledger_of "$(printf '%s\n' "${probe/chosen\":1/chosen\":0}" "$(files)" "$dirty")
" <e)" "$(held 1 8192 0; held 2 0 8192; held 3 0 8192)"
}

@test "block sizes are those of the file's record, early or late; 4 KiB without one" {
	file() { printf '{"t":"file","id":1,"dev":"7:0","ino":1,"gen":0%s}\n' "${1:+,\"block\":$1}"; }
	{ ev write 0 1500; ev write 1500 100; ev fs_write 0 2048; ev write 4096 3000; ev fs_truncate 5000 0; } >e
	# of 1 KiB: 0 and 1, again 1 | 4 to 6, of which a cut in 4 leaves 4
	small="1|3|6144|5120|1024|2048|0|2048|1024|0"
	same before "$(ledger_of "$(file 1024)
" <e)" "$small"
	same after "$({ cat e; file 1024; } | ledger_of)" "$small"
	same corrected "$({ cat e; file 1024; } | ledger_of "$(file 4096)
")" "$small"
	for none in '' 0 4096 1000 131072 18446744073709551615; do
		same "$none" "$(ledger_of "$(file $none)
" <e)" "1|3|12288|8192|4096|2048|0|0|6144|0"
	done
}

@test "a bio's bytes of no known writer were dirty before the run" {
	probe='{"t":"probe","name":"p","layer":"cache","target":"tp_btf/writeback_dirty_folio","chosen":1}'
	starts() { sqlite3 x.sqlite 'SELECT owner, written, dirty_start, unexpected FROM ledger ORDER BY 1' | tr '\n' ' '; }
	{ ev write 0 4096; ev fs_write 0 12288 0; ev fs_write 40960 4096 4; } >e
	ledger_of "$probe
" <e >/dev/null
	same "known" "$(starts)" "0|8192|8192|0 3|4096|0|0 4|4096|0|4096 "
	ledger_of <e >/dev/null
	same "not watched" "$(starts)" "0|8192|0|8192 3|4096|0|0 4|4096|0|4096 "
	for owner in 0 3; do
		ledger_of "$probe
$(agg_line 0 1 | sed "s/\"write\",\"owner\":3/\"dirty\",\"owner\":$owner/")
" <e >/dev/null
		same "dirtied by $owner" "$(starts)" "0|8192|$((owner ? 8192 : 0))|$((owner ? 0 : 8192)) 3|4096|0|0 4|4096|0|4096 "
	done
	same closes "$(sqlite3 x.sqlite 'SELECT count(*) FROM ledger WHERE dirty_start + dirtied + unexpected <> written + cancelled + dirty_end')" 0
}

@test "a bio's bytes of a file without a record were dirty before the run" {
	probe='{"t":"probe","name":"p","layer":"cache","target":"tp_btf/writeback_dirty_folio","chosen":1}'
	device() { printf '{"t":"device","dev":"%s","name":"%s","type":"%s","leaf":1%s}\n' "$1" "$2" "$3" "${4:+,\"parent\":\"$4\"}"; }
	{ ev fs_write 0 8192 0 1 '"dev":"7:1",'; ev fs_write 8192 4096 0 1 '"dev":"7:2",'; ev fs_write 0 4096 0 0 '"dev":"7:2",'; } >e
	starts() { # DEVICE on which something of unknown origin went dirty
		ledger_of "$probe
$(device 7:1 loop1 loop; device 7:2 loop2 loop; device 259:1 loop1p1 partition 7:1; device 252:0 dm-0 dm)
$(agg_line 0 1 | sed "s/\"write\",\"owner\":3/\"dirty\",\"owner\":0${1:+,\"dev\":\"$1\"}/")
" <e >/dev/null
		sqlite3 x.sqlite 'SELECT file, written, dirty_start, unexpected FROM ledger ORDER BY 1' | tr '\n' ' '
	}
	same "its own" "$(starts 7:1)" "0|4096|4096|0 1|12288|4096|8192 "
	same "another" "$(starts 7:2)" "0|4096|0|4096 1|12288|8192|4096 "
	same "its partition" "$(starts 259:1)" "0|4096|4096|0 1|12288|4096|8192 "
	same "on nobody knows which" "$(starts 252:0)$(starts '')" "0|4096|0|4096 1|12288|0|12288 0|4096|0|4096 1|12288|0|12288 "
}

@test "mmap dirties without touching; sockets, pipes, failed calls, the VFS do nothing" {
	{
		ev dirty_mmap 4096 8192
		ev fs_write 4096 8192
		ev write 0 4096 | sed 's/regular/socket/'
		ev write 0 4096 | sed 's/regular/pipe/'
		ev write 0 0
		ev vfs_write 0 4096
		ev fs_write 0 4096 | sed 's/"data"/"journal"/'
		ev block_write 0 4096
		ev read 0 4096
	} >e
	same ledger "$(ledger_of <e)" "1|3|0|8192|0|8192|0|0|0|0"
}

@test "bytes that may be dirty count as far as a known owner's bio has them" {
	{
		ev dirty_mmap 0 4096 | sed 's/"size":4096/"size":40960/' # block 0 is dirty, 1 to 9 may be
		ev fs_write 0 12288                                     # 1 and 2 were
		ev write 12288 4096 4                                   # 3 is another's now
		ev fs_truncate 32768 0                                  # 8 and 9 are gone
		ev fs_write 12288 8192                                  # 4 was
		ev fs_write 20480 4096 5                                # 5 was, and is another's by now
		ev fs_write 24576 4096 0                                # whose 6 is, nobody said
		ev fs_write 32768 4096                                  # nor 8
		ev dirty_mmap 20480 0 | sed 's/"size":0/"size":4096/'
	} >e
	same ledger "$(ledger_of <e)" "$(printf '1|0|0|0|0|4096|0|0|0|4096\n1|3|0|16384|0|20480|0|0|0|4096\n1|4|4096|4096|0|4096|0|0|0|0\n1|5|0|4096|0|4096|0|0|0|0')"
	same closes "$(sqlite3 x.sqlite 'SELECT count(*) FROM ledger WHERE dirty_start + dirtied + unexpected <> written + cancelled + dirty_end')" 0
}

@test "zeros that the kernel submits where no call wrote are D" {
	ev fs_write 512 8192 | sed 's/"cause":"data"/"cause":"direct","sub":"zeroed"/' >e
	same ledger "$(ledger_of <e)" "1|3|12288|0|0|0|12288|0|0|0"
	same submitted "$(sqlite3 x.sqlite 'SELECT submitted FROM ledger')" 8192
}

@test "every way of writing counts: libaio, io_uring, vectors, sendfile, splice, copies" {
	i=0
	for kind in write pwrite64 writev pwritev sendfile_out splice_out copy_out aio_write uring_write; do
		ev $kind $((i * 4096)) 4096
		i=$((i + 1))
	done >e
	ev write $((i * 4096)) 4096 | sed 's/regular/blockdev/' >>e
	same ledger "$(ledger_of <e | cut -d'|' -f3,4)" "40960|40960"
}

@test "ids of one (dev, ino, gen) are one file" {
	files='{"t":"file","id":5,"dev":"7:0","ino":9,"gen":1}
{"t":"file","id":6,"dev":"7:0","ino":9,"gen":1}
{"t":"file","id":7,"dev":"7:0","ino":9,"gen":2}
'
	{ ev write 0 4096 3 5; ev fs_write 0 4096 3 6; ev write 0 4096 3 7; } >e
	same ledger "$(ledger_of "$files" <e)" "$(printf '5|3|4096|4096|0|4096|0|0|0|0\n7|3|4096|4096|0|0|0|0|4096|0')"
}

@test "an event without a file is not simulated, and what its bios carry is unexpected" {
	{ ev write 0 4096 3 0; ev fs_write 0 4096 3 0; } >e
	same ledger "$(ledger_of <e)" "0|3|4096|0|0|4096|0|0|0|4096"
}

@test "the order is that in which operations began, also when one ends 200000 later" {
	python3 - >e <<-'PY'
		# The write began first and is reported last: in the order of the lines its bio would be unexpected.
		print('{"t":"event","ts_ns":2,"offset":0,"bytes":4096,"owner":3,"file":1,"kind":"fs_write","cause":"data"}')
		for i in range(200000):
		    print('{"t":"event","ts_ns":%d,"offset":0,"bytes":1,"owner":4,"file":2,"kind":"write","sub":"regular"}' % (10 + i))
		print('{"t":"event","ts_ns":1,"dur_ns":9,"offset":0,"bytes":4096,"owner":3,"file":1,"kind":"write","sub":"regular"}')
	PY
	same ledger "$(ledger_of <e)" "$(printf '1|3|4096|4096|0|4096|0|0|0|0\n2|4|819200000|4096|819195904|0|0|0|4096|0')"
}

@test "a write that waited before it dirtied pages stands where it dirtied them" {
	ts=0
	# the second begins before the first bio, and is dirty 5 after that
	{ ev write 0 4096; ev write 0 4096 3 1 '"queue_ns":15,'; ev fs_write 0 4096; ev fs_write 0 4096; } >e
	same ledger "$(ledger_of <e)" "1|3|8192|8192|0|8192|0|0|0|0"
}

@test "a call that writes back in parts dirties a block again where two parts meet" {
	parts() { { ev "$1" 0 16384 3 1 "\"dur_ns\":25,$2"; ev fs_write 0 8192 "${3-}"; ev fs_write 4096 12288 "${3-}"; ev fs_write 4096 4096; } >e; ledger_of <e; }

	for kind in sendfile_out splice_out copy_out aio_write; do
		same "$kind" "$(parts $kind '"flags":4,')" "1|3|16384|20480|0|24576|0|0|0|4096"
	done
	same "in the cache" "$(parts sendfile_out '')" "1|3|16384|16384|0|24576|0|0|0|8192"
	same "another's" "$(parts sendfile_out '"flags":4,' 4)" "$(printf '1|3|16384|16384|0|20480|0|0|0|4096\n1|4|0|0|0|4096|0|0|0|4096')"
}

@test "a write reported after the bio of its bytes was first if it began first" {
	{
		echo '{"t":"event","ts_ns":2,"offset":0,"bytes":4096,"owner":3,"file":1,"kind":"fs_write","cause":"data"}'
		echo '{"t":"event","ts_ns":1,"dur_ns":9,"offset":0,"bytes":4096,"owner":3,"file":1,"kind":"write","sub":"regular"}'
	} >e
	same ledger "$(ledger_of <e)" "1|3|4096|4096|0|4096|0|0|0|0"
}

@test "without events or their layers there are no rows; without writes, a row of zeros" {
	ev write 0 4096 >e
	same none "$(events=0 ledger_of </dev/null)" ""
	lost() { printf '{"t":"lost","layer":"%s","what":"ring full","effect":"%s","n":%s}\n' "$@"; }
	same lost "$(ledger_of "$(lost fs events 1)
" <e | cut -d'|' -f4)" 4096
	same lost "$(ledger_of "$(lost syscall bytes 1)
" <e | cut -d'|' -f4)" 4096
	same "not lost" "$(ledger_of "$(lost fs events 0; lost block events 5; lost cache owner 5)
" <e | cut -d'|' -f4)" 4096
	same nothing "$(ev read 0 1 | ledger_of)" "0|0|0|0|0|0|0|0|0|0"
	{ run_line | sed 's/syscall,uring,cache,fs/syscall/'; cat e; end_line; } | "$asan" ingest y.sqlite
	same layers "$(sqlite3 y.sqlite 'SELECT count(*) FROM ledger')" 0
	{ run_line; cat e; } | "$asan" ingest z.sqlite || [ $? = 3 ]
	same incomplete "$(sqlite3 z.sqlite 'SELECT count(*) FROM ledger')" 0
}

@test "offsets and lengths at the end of 64 bits do no harm" {
	{ ev write 18446744073709551615 1; ev write 0 9223372036854775807; ev fs_write 18446744073709547520 18446744073709551615; } >e
	{ run_line; cat e; end_line; } | "$asan" ingest x.sqlite
	same closes "$(sqlite3 x.sqlite 'SELECT count(*) FROM ledger WHERE dirty_start + dirtied + unexpected <> written + cancelled + dirty_end')" 0
}

@test "random writes, bios, cuts and punches agree with a simulation of single blocks" {
	for seed in 1 2 3 4; do
		python3 "$root/tests/unit/ledger-model.py" $seed events >e
		python3 "$root/tests/unit/ledger-model.py" $seed rows >wanted
		[ "$(wc -l <wanted)" -gt 5 ]
		ledger_of <e | diff - wanted
	done
}

# io FILE COMPONENT S W: a sum of the kernel's, of which all that was submitted reached the device
io() { printf '{"t":"file_io","file":%s,"owner":3,"component":"%s","read_ops":0,"read_bytes":0,"write_ops":1,"write_bytes":%s,"sync_ops":0,"fs_read_bytes":0,"fs_write_bytes":%s,"dev_read_bytes":0,"dev_write_bytes":%s}\n' "$1" "$2" "$3" "$4" "$4"; }
parts() { sqlite3 x.sqlite "SELECT COALESCE(n.name, '-'), i.owner, i.write_bytes, i.fs_write_bytes, i.dev_write_bytes FROM file_io i LEFT JOIN component n ON n.id = i.component
	WHERE i.write_bytes + i.fs_write_bytes + i.dev_write_bytes > 0 ORDER BY 1, i.file" | tr '\n' ' '; }
event() { ev "$1" "$2" "$3" 3 "${5:-1}" | sed "s/}\$/${4:+,\"component\":\"$4\"}}/"; }

@test "written-back bytes have the component of the thread that wrote the range last" {
	# before any component is known | wal | 100 bytes of the table's second block | again, by a thread of no rule | one bio over all
	{
		event write 0 4096 ''
		event write 4096 8192 wal
		event write 16484 100 flush
		event write 8192 4096 ''
		event write 0 4096 '' 2
		event fs_write 0 20480 ''
		event fs_write 0 4096 '' 2
		io 1 none 8192 0
		io 1 wal 8192 0
		io 1 flush 100 0
		io 1 shared 0 20480
		io 2 none 4096 4096
	} >e
	ledger_of <e >/dev/null
	# blocks 0, 2, 3 of file 1 and block 0 of file 2 | block 4 | block 1
	same parts "$(parts)" "-|3|8192|12288|12288 -|3|4096|4096|4096 flush|3|100|4096|4096 wal|3|8192|4096|4096 "
	# An event that writes back one component says so; one over several is what its file is.
	told() { sqlite3 x.sqlite "SELECT e.file, e.offset, COALESCE(n.name, '-') FROM event e JOIN kind k ON k.id = e.kind LEFT JOIN component n ON n.id = e.component
		WHERE k.name = 'fs_write'" | tr '\n' ' '; }
	same told "$(told)" "1||- 2||- "
	# A direct request says itself what it is; the same range written again is the last one's.
	{
		event write 0 8192 wal
		event write 0 4096 flush
		event fs_write 0 8192 ''
		event fs_write 4096 4096 ''
		event fs_write 0 4096 ''
		ev fs_write 40960 4096 | sed 's/"cause":"data"/"cause":"direct","component":"object"/'
		io 1 wal 8192 0
		io 1 flush 4096 0
		io 1 object 0 4096
		io 1 shared 0 16384
	} >e
	ledger_of <e >/dev/null
	same "again" "$(parts)" "flush|3|4096|8192|8192 object|3|0|4096|4096 wal|3|8192|8192|8192 "
	same "told again" "$(told)" "1||- 1|4096|wal 1||flush 1|40960|object "
}

@test "bytes of several components stay shared where events are missing" {
	{
		event write 0 4096 wal
		event write 4096 4096 flush
		event fs_write 0 8192 ''
		io 1 wal 4096 0
		io 1 flush 4096 0
	} >e
	{ cat e; io 1 shared 0 8192; } >whole
	ledger_of <whole >/dev/null
	same whole "$(parts)" "flush|3|4096|4096|4096 wal|3|4096|4096|4096 "
	{ cat whole; echo '{"t":"lost","layer":"syscall","what":"ring full","effect":"events","n":1}'; } >lossy
	ledger_of <lossy >/dev/null
	same lossy "$(parts)" "flush|3|4096|0|0 shared|3|0|8192|8192 wal|3|4096|0|0 "
	{ cat e; io 1 shared 0 12288; } >more
	ledger_of <more >/dev/null
	same more "$(parts)" "flush|3|4096|0|0 shared|3|0|12288|12288 wal|3|4096|0|0 "
	# the name of a thread was not read before it ended
	{ sed '2s/,"component":"flush"//' e; io 1 shared 0 8192; } >nameless
	ledger_of <nameless >/dev/null
	same nameless "$(parts)" "flush|3|4096|0|0 shared|3|0|8192|8192 wal|3|4096|0|0 "
	# 4096 bytes were not on the device yet when the run ended: which, nobody knows
	{ cat e; io 1 shared 0 8192 | sed 's/"dev_write_bytes":8192/"dev_write_bytes":4096/'; } >late
	ledger_of <late >/dev/null
	same late "$(parts)" "flush|3|4096|4096|0 shared|3|0|0|4096 wal|3|4096|4096|0 "
}

# Device bytes of each file and owner, and how many of them went there for the first time.
covered() { sqlite3 x.sqlite "SELECT file, owner, written + submitted, ifnull(covered, 'not known') FROM ledger ORDER BY 1, 2" | tr '\n' ' '; }

@test "a file's device bytes count once, whoever wrote them: 11 pages to two owners" {
	ts=0
	both() { ev pwrite64 "$1" 4096 "$2"; ev fs_write "$1" 4096 "$2"; }
	{
		for _ in {1..10}; do both 0 3; done
		both 4096 4
		for i in 0 1 2; do echo '{"t":"event","ts_ns":'$((1000 + i))',"offset":'$((31744 + i * 512))',"bytes":1024,"owner":3,"file":2,"kind":"fs_write","cause":"direct"}'; done
		ts=1100
		for i in 0 1 0; do ev fs_write $((i * 1048576)) 1048576 4 3; done
		ev fs_write 0 4096 3 0
	} >e
	ledger_of <e >/dev/null
	same "covered" "$(covered)" "0|3|4096|not known 1|3|40960|4096 1|4|4096|4096 2|3|3072|2048 3|4|3145728|2097152 "
}

@test "24 GiB that lie together are remembered; beyond them is said to be unknown" {
	ts=0
	{
		for i in {0..23}; do ev fs_write $((i << 30)) $((1 << 30)); done
		ev fs_write $((5 << 30)) 8192
		ev fs_write 0 4096 3 2
	} >e
	ledger_of <e >/dev/null
	same "covered" "$(covered)" "1|3|$(((24 << 30) + 8192))|$((24 << 30)) 2|3|4096|not known "
}
