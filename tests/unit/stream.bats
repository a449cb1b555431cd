# SPDX-License-Identifier: GPL-3.0-only
# stream.bats - JSON Lines and the store, both with bad input too. The dirty ledger is in stream_ledger.bats.
# shellcheck shell=bash

load ../lib/stream

@test "the writer writes back every line that it wrote, byte for byte" {
	gen 3000 >run.jsonl
	"$tool" copy <run.jsonl | cmp - run.jsonl
	"$tool" careful-copy <run.jsonl | cmp - run.jsonl
}

# The text of fields that are as before is kept (jsonl.c).
@test "numbers of every width are written as they were read, each event with its own" {
	{
		python3 "$root/tests/unit/widths.py" write 4000
		python3 - <<-'END'
			names = ["ts_ns", "dur_ns", "queue_ns", "offset", "size", "bytes", "task", "tid", "owner", "file", "dev", "flags", "err", "cpu",
			         "kind", "cause", "how", "sub", "component"]
			words = {"dev": ["7:1", "7:2"], "kind": ["read", "write"], "cause": ["data", "metadata"], "how": ["exact", "inode"],
			         "sub": ["regular", "pipe"], "component": ["log", "metadata"]}
			usual = {n: words.get(n, [11])[0] for n in names}
			def line(e):
			    print('{"t":"event",' + ",".join('"%s":%s' % (n, '"%s"' % e[n] if n in words else e[n]) + (',"layer":"syscall"' if n == "kind" else "")
			                                     for n in names if e[n]) + "}")
			for n in names:
			    for other in words[n][1:] if n in words else [12, 10, 255, 256]:
			        for e in usual, {**usual, n: other}, usual:
			            line(e)
			for digits in range(20):
			    for n in "ts_ns", "bytes":
			        for d in -1, 0:
			            line({**usual, n: 10 ** digits + d or 3})
		END
	} >events
	{ run_line; cat events; end_line; } | "$tool" copy | grep '"event"' | cmp - events
	{ run_line; cat events; end_line; } | "$asan" copy | grep '"event"' | cmp - events
}

@test "scanner and careful parser make the same store, of a shuffled, escaped copy too" {
	gen 3000 --systems >run.jsonl
	"$tool" ingest fast.sqlite <run.jsonl
	"$tool" careful careful.sqlite <run.jsonl
	"$root/tests/unit/shuffle.py" 7 <run.jsonl >foreign.jsonl
	! cmp -s run.jsonl foreign.jsonl
	"$tool" ingest foreign.sqlite <foreign.jsonl
	dump fast.sqlite >fast
	[ "$(wc -l <fast)" -gt 3000 ]
	dump careful.sqlite | cmp - fast
	dump foreign.sqlite | cmp - fast
}

@test "every event of a generated run is read by the fast scanner, none by the fallback" {
	gen 1000 | grep '"event"' >events
	sed 's/{/{ /' events >slow
	"$asan" scan <events | grep -qx "$(wc -l <events) of $(wc -l <events)"
	"$asan" scan <slow | grep -qx "0 of $(wc -l <slow)"
}

@test "event lines have layer, system, comm, container, path; readers ignore these five" {
	cat >x.jsonl <<-'END'
		{"t":"event","ts_ns":1,"owner":7,"file":5,"kind":"read"}
		{"t":"process","id":7,"pid":70,"start_ns":1,"comm":"et\u001bcd","container":"one","kthread":0,"system":"etcd"}
		{"t":"file","id":5,"dev":"7:1","ino":9,"gen":1,"path":"/a\"b\udcff"}
		{"t":"event","ts_ns":2,"owner":7,"file":5,"kind":"block_write","cause":"journal"}
		{"t":"event","ts_ns":2,"owner":7,"file":5,"kind":"block_write","cause":"journal"}
		{"t":"process","id":7,"pid":70,"start_ns":1,"comm":"x","kthread":0}
		{"t":"file","id":5,"dev":"7:1","ino":9,"gen":1,"path":"/b"}
		{"t":"event","ts_ns":2,"owner":7,"file":5,"kind":"block_write","cause":"journal"}
	END
	said() { { run_line; cat x.jsonl; end_line; } | "$asan" "$1" | grep '"event"' | sed 's/.*"file":5//'; }
	same "usual" "$(said copy)" ',"kind":"read","layer":"syscall"}
,"kind":"block_write","layer":"block","cause":"journal","system":"etcd"}
,"kind":"block_write","layer":"block","cause":"journal","system":"etcd"}
,"kind":"block_write","layer":"block","cause":"journal"}'
	same "wide" "$(said wide)" ',"kind":"read","layer":"syscall"}
,"kind":"block_write","layer":"block","cause":"journal","system":"etcd","comm":"et\u001bcd","container":"one","path":"/a\"b\udcff"}
,"kind":"block_write","layer":"block","cause":"journal","system":"etcd","comm":"et\u001bcd","container":"one","path":"/a\"b\udcff"}
,"kind":"block_write","layer":"block","cause":"journal","comm":"x","path":"/b"}'
	gen 3000 --systems >run.jsonl
	sed '/"t":"event"/s/,"\(layer\|system\)":"[a-z]*"//g' run.jsonl >bare.jsonl
	"$tool" wide <run.jsonl >wide.jsonl
	[ "$(grep -c '"event".*"comm":.*"path":' wide.jsonl)" -gt 2000 ]
	for lines in run bare wide; do
		for way in ingest careful; do
			"$tool" $way $lines-$way.sqlite <$lines.jsonl
			dump $lines-$way.sqlite >$lines-$way.dump
			cmp run-ingest.dump $lines-$way.dump
		done
	done
	# the fast way reads all of them
	grep '"t":"event"' wide.jsonl >events
	"$asan" scan <events | grep -qx "$(wc -l <events) of $(wc -l <events)"
	# names as long as there are, through a buffer that is full
	{ run_line; python3 -c '
for n in range(300):
    print("{\"t\":\"file\",\"id\":%d,\"dev\":\"7:1\",\"ino\":%d,\"gen\":1,\"path\":\"/%s\"}" % (n + 1, n + 1, "\\u0001" * 4000))
    print("{\"t\":\"event\",\"ts_ns\":%d,\"file\":%d,\"kind\":\"read\"}" % (n + 1, n + 1))'; end_line; } >long.jsonl
	"$asan" wide <long.jsonl >longer.jsonl
	same "long" "$(awk '/"event"/ && length($0) > 24000 && /}$/' longer.jsonl | wc -l)" 300
	"$tool" ingest long.sqlite <long.jsonl
	"$tool" ingest longer.sqlite <longer.jsonl
	[ "$(dump long.sqlite)" = "$(dump longer.sqlite)" ]
}

@test "0, 2^53+1, 2^63 and 2^64-1 survive in every 64-bit column of events and records" {
	for v in 0 9007199254740993 9223372036854775808 18446744073709551615; do
		{
			run_line
			printf '{"t":"agg","sec":%s,"kind":"write","owner":1,"cause":"none","how":"none","sub":"none","flags":0,' $v
			printf '"ops":%s,"errors":0,"bytes":%s,"touched":0,"lat_ns":%s,"max_ns":%s}\n' $v $v $v $v
			printf '{"t":"event","ts_ns":%s,"dur_ns":%s,"offset":%s,"size":%s,"bytes":%s,"kind":"read","layer":"syscall"}\n' $v $v $v $v $v
			end_line
		} >x.jsonl
		"$tool" copy <x.jsonl | sed 's/"[a-z_]*":0,//g' >written
		sed 's/"[a-z_]*":0,//g' x.jsonl | cmp - written
		rm -f x.sqlite y.sqlite
		"$tool" ingest x.sqlite <x.jsonl
		"$tool" careful y.sqlite <x.jsonl
		[ "$(dump x.sqlite)" = "$(dump y.sqlite)" ]
		signed=$(printf '%d' "$(python3 -c "v = $v; print(v - (v >> 63 << 64))")")
		same "agg of $v" "$(sqlite3 x.sqlite 'SELECT sec, ops, bytes, max_ns FROM agg')" "$signed|$signed|$signed|$signed"
		same "agg_total of $v" "$(sqlite3 x.sqlite 'SELECT ops, bytes, lat_ns, max_ns FROM agg_total')" "$signed|$signed|$signed|$signed"
		same "event of $v" "$(sqlite3 x.sqlite 'SELECT ts_ns, ifnull(dur_ns, 0), ifnull(offset, 0) FROM event')" "$signed|$signed|$signed"
	done
}

@test "-2^63 and 2^63-1 survive in a signed column" {
	for v in -9223372036854775808 9223372036854775807 -1; do
		run_line | sed "s/\"utc_offset_s\":0/\"utc_offset_s\":$v/" >x.jsonl
		grep -q -- "$v" x.jsonl
		"$tool" copy <x.jsonl 2>/dev/null | cmp - x.jsonl
	done
}

@test "a sum of aggregates beyond 64 bits is an error, not a wrong number" {
	{ run_line; agg_line 0 18446744073709551615; agg_line 1 1; end_line; } >x.jsonl
	run "$tool" ingest x.sqlite <x.jsonl
	[ "$status" = 1 ]
	[[ $output = *"does not fit in 64 bits"* ]]
}

@test "names not in UTF-8, with quotes, controls, escapes, come back as the same bytes" {
	python3 - >x.jsonl 2>/dev/null <<-'PY'
		import json, sys
		names = [bytes(range(1, 256)), "é€😀".encode(), b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b'"\\/\x7f', b"\xe2\x82"]
		print('{"t":"run","schema":5,"uuid":"u","host":"h","kernel":"k","machine":"m","cpus":1,"tool":"t","layers":"l","tier":"full",'
		      '"events":0,"settle":"none","wall_ns":1,"boot_ns":1,"utc_offset_s":0}')
		for i, n in enumerate(names):
		    open("name%d" % i, "wb").write(n)
		    print(json.dumps({"t": "file", "id": i, "dev": "7:0", "ino": 1, "gen": 0, "path": n.decode("utf-8", "surrogateescape")}))
		print('{"t":"end","dur_ns":1,"horizon":"at_ack","events":0}')
	PY
	"$tool" ingest x.sqlite <x.jsonl
	"$tool" copy <x.jsonl >y.jsonl
	python3 -c 'import sys; open(sys.argv[1], "rb").read().decode("utf-8")' y.jsonl
	"$tool" ingest y.sqlite <y.jsonl
	for i in 0 1 2 3 4 5 6 7; do
		for db in x y; do
			sqlite3 $db.sqlite "SELECT hex(CAST(path AS BLOB)) FROM file WHERE id = $i" >got
			same "name $i of $db" "$(cat got)" "$(od -An -v -tx1 name$i | tr -d ' \n' | tr a-f A-F)"
		done
	done
}

# Every line below is put behind a good run, process and event; what is said about it is the same from both readers,
# the good records are kept, and the sanitizers have nothing to say.
refused() { # MESSAGE LINE
	printf '%s\n' "$2" >line
	{ run_line; good_lines; cat line; end_line; } >x.jsonl
	for way in "$tool ingest" "$tool careful" "$asan ingest"; do
		rm -f x.sqlite
		run $way x.sqlite <x.jsonl
		[ "$status" = 1 ] || fail "$way took: $2"
		same "lines of stderr for $2" "${#lines[@]}" 1
		[[ $output = *": stdin: line 5 "*"$1"* ]] || fail "$way said '$output' of $2"
		same "kept before $2" "$(sqlite3 x.sqlite 'SELECT (SELECT count(*) FROM event) || (SELECT count(*) FROM process) || (SELECT count(*) FROM run_end)')" 210
	done
}

@test "bad lines: duplicate keys, wrong types, odd numbers, garbage: one answer each" {
	e='{"t":"event","ts_ns":1,"kind":"read"'
	n() { printf '{"t":"event","ts_ns":1,"bytes":%s,"tid":%s,"cpu":%s,"kind":"read"}' "$@"; } # in the scanner's own order
	refused "has a 'bytes' beyond 64 bits" "$(n 18446744073709551616 1 1)"
	refused "has a 'bytes' beyond 64 bits" "$(n 99999999999999999999999 1 1)"
	refused "has a 'tid' beyond 32 bits" "$(n 1 4294967296 1)"
	refused "has a 'cpu' beyond 16 bits" "$(n 1 1 65536)"
	refused "has a number with a leading zero" "$(n 01 1 1)"
	refused "has a number with a leading zero" "$(n 00 1 1)"
	refused "is not a non-negative integer: 1e400" "$(n 1e400 1 1)"
	refused "is not a non-negative integer: -1" "$(n -1 1 1)"
	refused "is not JSON" "$(n '' 1 1)"
	refused "is not JSON" "$(n 1 1 1)x"
	refused "has the key 'bytes' twice" "$e,\"bytes\":1,\"bytes\":1}"
	refused "has the key 't' twice" "$e,\"t\":\"event\"}"
	refused "has a 'bytes' that is not a number" "$e,\"bytes\":\"1\"}"
	refused "has a 'bytes' that is not a number" "$e,\"bytes\":true}"
	refused "has a kind that this version does not know: 'reed'" '{"t":"event","ts_ns":1,"kind":"reed"}'
	refused "has a 'layer' that is not a string" '{"t":"event","ts_ns":1,"kind":"read","layer":1}'
	refused "has the key 'path' twice" '{"t":"event","ts_ns":1,"kind":"read","path":"a","path":"b"}'
	refused "has a key that this version does not know: 'layer'" '{"t":"file","id":5,"dev":"7:1","ino":9,"gen":1,"layer":"fs"}'
	refused "has a 'kind' that is not a name" '{"t":"event","ts_ns":1,"kind":1}'
	refused "has a cause that this version does not know: 'fate'" "$e,\"cause\":\"fate\"}"
	refused "has a 'bytes' beyond 64 bits" "$e,\"bytes\":18446744073709551616}"
	refused "has a 'bytes' beyond 64 bits" "$e,\"bytes\":99999999999999999999999999999999999999}"
	refused "has a 'tid' beyond 32 bits" "$e,\"tid\":4294967296}"
	refused "has a 'cpu' beyond 16 bits" "$e,\"cpu\":65536}"
	refused "is not a non-negative integer: -1" "$e,\"bytes\":-1}"
	refused "is not a non-negative integer: 1e400" "$e,\"bytes\":1e400}"
	refused "is not a non-negative integer: 1.5" "$e,\"bytes\":1.5}"
	refused "has a number with a leading zero" "$e,\"bytes\":01}"
	refused "is not JSON" "$e,\"bytes\":NaN}"
	refused "is not JSON" "$e,\"bytes\":+1}"
	refused "is not JSON" "$e} trailing"
	refused "is not JSON" "$e}}"
	refused "is not JSON" "$e},"
	refused "is not one flat JSON object" "$e}{}"
	refused "is not JSON" "$e,}"
	refused "ends in the middle of a record" "$e"
	refused "ends in the middle of a record" "$e,\"sub"
	refused "is not one flat JSON object" "$e,\"bytes\":[1]}"
	refused "is not one flat JSON object" "$e,\"bytes\":{}}"
	refused "is not a JSON object" '[1,2]'
	refused "is not a JSON object" '17'
	refused "is not a JSON object" 'hello'
	refused "is not a JSON object" ':'
	refused "is not a JSON object" "$(printf '\357\273\277')$e}"
	refused "has no type" '{}'
	refused "has no type" '{"t":1}'
	refused "has a type that this version does not know: 'evnt'" '{"t":"evnt"}'
	refused "has a key that this version does not know: 'byte'" "$e,\"byte\":1}"
	refused "is a record 'event' without its 'kind'" '{"t":"event","ts_ns":1}'
	refused "is a record 'event' without its 'ts_ns'" '{"t":"event","ts_ns":null,"kind":"read"}'
	refused "is a record 'file' without its 'ino'" '{"t":"file","id":1,"dev":"1:2","gen":0}'
	refused "not a device number" "$e,\"dev\":\"7\"}"
	refused "not a device number" "$e,\"dev\":\"4096:0\"}"
	refused "not a device number" "$e,\"dev\":\"7:01\"}"
	refused "not a device number" "$e,\"dev\":\"7:1048576\"}"
	refused "begins a run inside a run" "$(run_line)"
	refused "has half a surrogate pair" '{"t":"lost","layer":"\ud800","what":"x","effect":"y","n":1}'
	refused "has half a surrogate pair" '{"t":"lost","layer":"\udc7f","what":"x","effect":"y","n":1}'
	refused "has a malformed Unicode escape" '{"t":"lost","layer":"\u12x4","what":"x","effect":"y","n":1}'
	refused "has a NUL in a string" '{"t":"lost","layer":"\u0000","what":"x","effect":"y","n":1}'
	refused "has an unknown escape" '{"t":"lost","layer":"\x","what":"x","effect":"y","n":1}'
	refused "has a raw control character" "$(printf '{"t":"lost","layer":"\001","what":"x","effect":"y","n":1}')"
	refused "has a string that is not UTF-8" "$(printf '{"t":"lost","layer":"\377","what":"x","effect":"y","n":1}')"
	refused "has a string that is not UTF-8" "$(printf '{"t":"event","ts_ns":1,"kind":"re\355\240\200"}')"
	refused "has too many keys" "{$(printf '"a":1,%.0s' {1..300})\"t\":\"event\"}"
}

@test "a raw NUL in a line is refused" {
	{ run_line; good_lines; printf '{"t":"event","ts_ns":1,"kind":"re\0ad"}\n'; end_line; } >x.jsonl
	for way in "$tool ingest" "$tool careful" "$asan ingest"; do
		rm -f x.sqlite
		run $way x.sqlite <x.jsonl
		[ "$status" = 1 ]
		[[ $output = *"line 5 has a NUL byte"* ]]
	done
}

@test "a line of 10 MB is refused with its number, one of 8 MiB is read" {
	long() { head -c "$1" /dev/zero | tr '\0' ' '; }
	{ run_line; good_lines; long 10000000; echo; end_line; } >x.jsonl
	run "$asan" ingest x.sqlite <x.jsonl
	[ "$status" = 1 ]
	[[ $output = *"line 5 is longer than 8 MiB"* ]]
	{ run_line; good_lines; printf '{"t":"end","dur_ns":1,"horizon":"at_ack",'; long 8388000; echo '"events":2}'; } >y.jsonl
	"$asan" ingest y.sqlite <y.jsonl
}

@test "a stream that is cut anywhere keeps its whole lines and is marked incomplete" {
	{ run_line; good_lines; end_line; } >whole.jsonl
	size=$(stat -c %s whole.jsonl)
	first=$(run_line | wc -c)
	# how many lines are whole where it is cut
	python3 - "$first" "$size" >wanted <<-'END'
		import json, sys
		text = open("whole.jsonl").read()
		for at in range(int(sys.argv[1]), int(sys.argv[2]) - 1, 7):
		    n = 0
		    for l in text[:at].splitlines():
		        try: json.loads(l); n += 1
		        except ValueError: pass
		    print(at, n)
	END
	[ "$(wc -l <wanted)" -gt 20 ]
	while read -r at n <&8; do
		head -c "$at" whole.jsonl >cut.jsonl
		rm -f x.sqlite
		run "$tool" ingest x.sqlite <cut.jsonl
		[ "$status" = 3 ] || fail "cut at $at: status $status, $output"
		[[ $output = *"run marked incomplete"* ]]
		same "lines" "${#lines[@]}" 1
		same "rows and ends, cut at $at" "$(sqlite3 x.sqlite 'SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM process) + (SELECT count(*) FROM event),
			(SELECT count(*) FROM run_end)')" "$n|0"
	done 8<wanted
	head -c $((size - 1)) whole.jsonl | "$tool" ingest y.sqlite # only the last newline is missing
}

@test "an empty stream, none without a run, records after the end: one sentence each" {
	run "$tool" ingest x.sqlite </dev/null
	[ "$status" = 1 ] && [[ $output = *"stdin: holds no run" ]]
	run "$tool" ingest x.sqlite <<<'{"t":"run'
	[ "$status" = 1 ] && [[ $output = *"line 1 ends in the middle of a record" ]]
	[ ! -e x.sqlite ] || fail "a store was made for nothing"
	{ end_line; } >x.jsonl
	run "$tool" ingest x.sqlite <x.jsonl
	[ "$status" = 1 ] && [[ $output = *"line 1 comes before the record 'run'" ]]
	{ run_line; end_line; end_line; } >x.jsonl
	run "$tool" ingest x.sqlite <x.jsonl
	[ "$status" = 1 ] && [[ $output = *"line 3 follows the end of the run" ]]
	run_line | sed 's/"schema":5/"schema":6,"colour":"red"/' >x.jsonl
	run "$tool" ingest y.sqlite <x.jsonl
	[ "$status" = 1 ] && [[ $output = *"newer version of iot"* ]]
}

@test "several runs in a stream are several in the store; the same run twice is refused" {
	{ gen 100 --uuid a; gen 200 --uuid b; } | "$tool" ingest x.sqlite
	same runs "$(sqlite3 x.sqlite 'SELECT run, uuid FROM run JOIN run_end USING (run)' | tr '\n' ' ')" "1|a 2|b "
	dump x.sqlite >before
	gen 100 --uuid b >again.jsonl
	run "$tool" ingest x.sqlite <again.jsonl
	[ "$status" = 1 ] && [[ $output = *"x.sqlite: run b is already in this store" ]]
	dump x.sqlite | cmp - before
}

@test "random damage to lines gets one answer from both readers, none from sanitizers" {
	gen 40 --systems >run.jsonl
	python3 "$root/tests/unit/damage.py" "$tool" "$asan" "${DAMAGE:-$(sized 75 150)}" <run.jsonl
}

@test "a process and a file that come twice: the last one stands" {
	{
		run_line
		echo '{"t":"process","id":3,"pid":7,"start_ns":1,"comm":"first","exe":"/a","kthread":0}'
		echo '{"t":"process","id":3,"pid":7,"start_ns":1,"comm":"second","kthread":0}'
		echo '{"t":"file","id":1,"dev":"7:0","ino":5,"gen":1}'
		echo '{"t":"file","id":1,"dev":"7:0","ino":5,"gen":1,"path":"/p"}'
		end_line
	} | "$tool" ingest x.sqlite
	same process "$(sqlite3 x.sqlite "SELECT comm, ifnull(exe, 'none') FROM process")" "second|none"
	same file "$(sqlite3 x.sqlite "SELECT path FROM file")" "/p"
}

@test "agg_total is agg without seconds: sums, and the maximum (defect 33)" {
	gen 20000 | "$tool" ingest x.sqlite
	same difference "$(sqlite3 x.sqlite 'SELECT count(*) FROM (
		SELECT run, kind, owner, dev, cause, how, sub, carrier, flags, op, sum(ops), sum(errors), sum(bytes), sum(touched), sum(timed), sum(lat_ns), max(max_ns)
		FROM agg GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 EXCEPT SELECT * FROM agg_total)')" 0
	same rows "$(sqlite3 x.sqlite 'SELECT count(*) > 20 FROM agg_total')" 1
	{ run_line; agg_line 0 5; agg_line 1 6; agg_line 2 7 | sed 's/"owner"/"dev":"0:0","owner"/'; end_line; } | "$tool" ingest y.sqlite
	{ run_line; agg_line 0 5 | sed 's/"lat_ns":0/"timed":2,"lat_ns":7/'; agg_line 1 6; agg_line 2 7 | sed 's/"lat_ns":0/"timed":3,"lat_ns":9/'; end_line; } | "$tool" ingest z.sqlite
	same "timed" "$(sqlite3 z.sqlite 'SELECT ops, timed, lat_ns FROM agg_total')" "18||16"
	same "absent and zero device" "$(sqlite3 y.sqlite "SELECT ifnull(dev, 'none'), ops FROM agg_total ORDER BY 1" | tr '\n' ' ')" "0|7 none|11 "
}

@test "the store explains itself: units, dictionaries, identity and version" {
	gen 100 | "$tool" ingest x.sqlite
	same id "$(sqlite3 x.sqlite 'PRAGMA application_id; PRAGMA user_version; PRAGMA page_size' | tr '\n' ' ')" "1768911921 5 16384 "
	sqlite3 x.sqlite .schema >schema
	grep -q 'dur_ns INTEGER,  -- ns: how long it took' schema
	grep -q 'rchar INTEGER,  -- bytes: task accounting' schema
	for t in run probe device process file agg hist event lost truth load run_end agg_total ledger layer kind cause how sub flag; do
		grep -q "^CREATE TABLE $t(" schema || fail "no table $t"
	done
	same kinds "$(sqlite3 x.sqlite 'SELECT count(*) FROM kind')" "$(grep -c '^KIND(' "$root/bpf/kinds.def")"
	same flag "$(sqlite3 x.sqlite "SELECT id FROM flag WHERE name = 'FUA'")" 32
	same mode "$(stat -c %a x.sqlite)" 600
	same views "$(sqlite3 x.sqlite "SELECT count(*) FROM v_event UNION ALL SELECT sum(ops) FROM v_agg UNION ALL SELECT sum(ops) FROM v_total" | sort -u | wc -l)" 1
	same words "$(sqlite3 x.sqlite "SELECT DISTINCT layer, kind, dir, cause, sub, dev FROM v_event WHERE kind = 'fdatasync'")" "syscall|fdatasync|s|none|regular|7:0"
}

@test "an event takes at most 48 bytes of store" {
	gen 50000 | "$tool" ingest x.sqlite
	bytes=$(sqlite3 x.sqlite "SELECT (SELECT sum(pgsize) FROM dbstat WHERE name = 'event') / (SELECT count(*) FROM event)")
	[ "$bytes" -gt 20 ] && [ "$bytes" -le 48 ]
}

# From one event to more than one transaction can hold (batch.c).
@test "numbers of every width, absent values and sizes come back from table event" {
	for n in 1 2 500 700 200000; do
		rm -f x.sqlite
		{ run_line; python3 "$root/tests/unit/widths.py" write "$n"; end_line; } | "$tool" late x.sqlite
		same "integrity of $n" "$(sqlite3 x.sqlite 'PRAGMA integrity_check')" ok
		same "$n events" "$(python3 "$root/tests/unit/widths.py" check "$n" x.sqlite)" "$n events as they were given"
	done
}

@test "no store is refused and left as it is: foreign, newer, truncated, a folder" {
	gen 3000 --uuid a >a.jsonl
	gen 300 --uuid b >b.jsonl
	"$tool" ingest good.sqlite <a.jsonl
	sqlite3 foreign.sqlite 'CREATE TABLE t(x)'
	cp good.sqlite newer.sqlite && sqlite3 newer.sqlite 'PRAGMA user_version = 99'
	cp good.sqlite older.sqlite && sqlite3 older.sqlite 'DROP TABLE file_io; PRAGMA user_version = 1'
	cp good.sqlite other.sqlite && sqlite3 other.sqlite "UPDATE kind SET name = 'scribble' WHERE id = 3"
	head -c 100000 /dev/zero | tr '\0' 'x' >text.sqlite
	head -c 65536 good.sqlite >truncated.sqlite
	cp good.sqlite corrupt.sqlite
	root_page=$(sqlite3 good.sqlite "SELECT rootpage FROM sqlite_schema WHERE name = 'process'")
	head -c 16384 /dev/urandom | dd of=corrupt.sqlite bs=16384 seek=$((root_page - 1)) conv=notrunc status=none
	cp good.sqlite schema.sqlite && head -c 4000 /dev/urandom | dd of=schema.sqlite bs=1 seek=100 conv=notrunc status=none
	mkdir folder.sqlite
	refused_store() { # FILE MESSAGE
		cp -r "$1" saved
		run "$asan" ingest "$1" <b.jsonl
		[ "$status" = 1 ] && [ "${#lines[@]}" = 1 ] || fail "$1: status $status, $output"
		[[ $output = *"$1"*"$2"* ]] || fail "$1: $output"
		[ -d "$1" ] || cmp "$1" saved
		rm -rf saved
	}
	refused_store foreign.sqlite "is not a store of iot: another program made this SQLite file"
	refused_store newer.sqlite "was written by a newer version of iot (format 99, this is 5)"
	refused_store older.sqlite "was written by an older version of iot (format 1, this is 5): read it with that version, or record it again"
	refused_store other.sqlite "its table 'kind' differs"
	refused_store text.sqlite "is not a store of iot: it is not a SQLite file"
	refused_store truncated.sqlite "is damaged"
	refused_store corrupt.sqlite "is damaged"
	refused_store schema.sqlite "is damaged"
	refused_store folder.sqlite "Is a directory"
	for f in foreign newer older text truncated corrupt; do
		run "$asan" check $f.sqlite
		[ "$status" = 1 ] && [ "${#lines[@]}" = 1 ] || fail "check of $f: $output"
	done
	run "$tool" check none.sqlite
	[ "$status" = 1 ] && [[ $output = *"none.sqlite: No such file"* ]]
	: >empty.sqlite
	run "$tool" check empty.sqlite
	[ "$status" = 1 ]
	"$tool" ingest empty.sqlite <b.jsonl
	"$tool" check empty.sqlite
	"$tool" ingest good.sqlite <b.jsonl
	"$tool" check good.sqlite
}

@test "a store that another iot is writing is refused; readers are not kept out" {
	gen 20000 --uuid a >a.jsonl
	gen 100 --uuid b >b.jsonl
	mkfifo pipe
	"$tool" slow x.sqlite <pipe >commits &
	writer=$!
	exec 7>pipe
	head -n 15000 a.jsonl >&7
	until grep -q committed commits; do kill -0 $writer; sleep 0.05; done
	run "$tool" ingest x.sqlite <b.jsonl
	[ "$status" = 1 ] && [[ $output = *"another iot is writing to this store" ]]
	"$tool" check x.sqlite
	[ "$(sqlite3 x.sqlite 'SELECT count(*) FROM event')" -ge 8192 ]
	tail -n +15001 a.jsonl >&7
	exec 7>&-
	wait $writer
	same events "$(sqlite3 x.sqlite 'SELECT count(*) FROM event')" "$(grep -c '"t":"event"' a.jsonl)"
}

@test "kill -9 while storing (IOT_LONG: 6 times): all committed events, incomplete" {
	gen 60000 >run.jsonl
	for round in $(sized "1 3 6" "1 2 3 4 5 6"); do
		rm -f x.sqlite* commits
		: >commits
		(head -n $((round * 9000 + 500)) run.jsonl; sleep 5) | "$tool" slow x.sqlite >commits &
		writer=$!
		until [ "$(wc -l <commits)" -ge $round ]; do sleep 0.01; done
		kill -9 "$writer"
		wait "$writer" || : # not every child: the runner's own time limit is one
		committed=$(awk 'END { print $2 }' commits)
		[ "$committed" -gt 0 ]
		"$tool" check x.sqlite
		same "integrity" "$(sqlite3 x.sqlite 'PRAGMA integrity_check')" ok
		[ "$(sqlite3 x.sqlite 'SELECT count(*) FROM event')" -ge "$committed" ] || fail "events were lost"
		same "incomplete" "$(sqlite3 x.sqlite 'SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM run_end), (SELECT count(*) FROM ledger)')" "1|0|0"
		gen 50 --uuid next | "$tool" ingest x.sqlite
		same "goes on" "$(sqlite3 x.sqlite 'SELECT count(*) FROM run_end')" 1
	done
}

@test "a full disk is one clear line, and what was committed stays" {
	[ "$(id -u)" = 0 ] || skip "root is missing: a small file system must be mounted"
	mkdir small
	mount -t tmpfs -o size=6m none small
	gen 300000 >run.jsonl
	run "$tool" ingest small/x.sqlite <run.jsonl
	echo "$output"
	[ "$status" = 1 ] && [ "${#lines[@]}" = 1 ] && [[ $output = *"small/x.sqlite"*"no space left on the device"* ]]
	gen 1000 --uuid a >a.jsonl
	rm small/*
	"$tool" ingest small/x.sqlite <a.jsonl
	dump small/x.sqlite >before
	run "$tool" ingest small/x.sqlite <run.jsonl
	[ "$status" = 1 ] && [[ $output = *"no space left on the device"* ]]
	cp small/x.sqlite* .
	same "integrity" "$(sqlite3 x.sqlite 'PRAGMA integrity_check')" ok
	dump x.sqlite | comm -13 - before >missing
	[ ! -s missing ] || fail "lost: $(head -n 3 missing)"
}

@test "a pipe whose reader left ends the writer without a word" {
	gen 30000 >run.jsonl
	(trap '' PIPE; "$tool" copy <run.jsonl 2>err || echo $? >status) | head -n 1 >/dev/null
	[ "$(cat status)" = 1 ]
	[ ! -s err ]
}

@test "a full disk under JSON Lines is one clear line" {
	gen 3000 >run.jsonl
	"$tool" copy <run.jsonl >/dev/full 2>err || status=$?
	[ "$status" = 1 ]
	same message "$(cat err)" "stream-tool: stdout: cannot write: No space left on device"
}

@test "a symlink planted where others can write is not followed; our own is" {
	[ "$(id -u)" = 0 ] || skip "root is missing: a file of another user must be made"
	mkdir shared safe && chmod 777 shared # no sticky bit: the kernel's own protection is off
	echo precious >victim
	ln -s "$PWD/victim" shared/trap
	ln -s "$PWD/safe" shared/folder
	ln -s "$PWD/victim" shared/ours
	ln -s "$PWD/victim" safe/any
	ln -s "$PWD/shared/trap" safe/chain
	chown -h nobody shared/trap shared/folder safe/any
	for path in shared/trap shared/folder/new.sqlite safe/chain; do
		run "$asan" open "$path"
		[ "$status" = 1 ] && [[ $output = *"$path: will not write through a symbolic link"* ]] || fail "$path: $output"
		run "$tool" ingest "$path" < <(run_line)
		[ "$status" = 1 ] && [[ $output = *"will not write through a symbolic link"* ]] || fail "$path: $output"
	done
	same victim "$(cat victim)" precious
	[ -z "$(ls safe | grep -v -e any -e chain)" ]
	"$asan" open safe/any && same followed "$(cat victim)" x
	echo precious >victim
	"$asan" open shared/ours && same followed "$(cat victim)" x
	"$asan" open shared/new && same mode "$(stat -c %a shared/new)" 600
	mkdir -p nobodys && chown nobody nobodys && ln -s "$PWD/victim" nobodys/trap && chown -h nobody nobodys/trap
	run "$asan" open nobodys/trap
	[ "$status" = 1 ]
	echo data | { run "$asan" open /dev/fd/3; [ "$status" = 0 ]; } 3>through
	same through "$(cat through)" x
	ln -s loop1 safe/loop2 && ln -s loop2 safe/loop1
	run "$asan" open safe/loop1
	[ "$status" = 1 ] && [[ $output = *"Too many levels of symbolic links"* ]]
}
