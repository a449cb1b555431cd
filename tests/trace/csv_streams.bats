# SPDX-License-Identifier: GPL-3.0-only
# csv_streams.bats - CSV streams of a traced run: the sums that scripts of earlier tools make of them.

load ../lib/helper

setup() { own_run; }

# The sum of a column over the rows of a command with an operation.
sum() { # FILE COLUMN OPERATION COMMAND
	awk -F, -v c="$2" -v op="$3" -v comm="$4" '$2 == op && $5 == comm { sum += $c } END { print sum + 0 }' "out/$1.csv"
}

@test "sums of the streams are the bytes of dd: 23 writes of 4099, and requests" {
	"$trace" -q -o out/ --format csv-streams -o run.jsonl -- dd if=/dev/zero of=f bs=4099 count=23 conv=fsync status=none
	same "written by calls" "$(sum fs 9 WRITE dd)" 94277
	same "writes" "$(grep -c ',WRITE,[0-9]*,[0-9]*,dd,' out/fs.csv)" 23
	same "syncs" "$(grep -c ',FSYNC,[0-9]*,[0-9]*,dd,' out/fs.csv)" 1
	same "requests" "$(sum block 7 WRITE dd)" \
		"$(jq -s 'map(select(.t == "event" and .kind == "block_write" and .bytes > 0)) | map(.bytes) | add' run.jsonl)"
	[ "$(sum block 7 WRITE dd)" -ge 98304 ]
	[ ! -e out/nw_conn.csv ]
	complete=$("$analyze" runs out/run.sqlite --format csv | grep -c complete)
	same "the store" "$complete" 1
}

@test "the same sums come from the streams and from the text" {
	"$trace" -q -o out/ -o out.txt --format text -- sh -c 'dd if=/dev/zero of=f bs=4099 count=23 status=none; cat f > g; dd if=f of=/dev/null bs=101 count=7 status=none'
	same "dd writes" "$(sum fs 9 WRITE dd)" "$(grep "APPLICATION.*dd.*WRITE" out.txt | awk '$7 == "dd" { sum += $4 } END { print sum }')"
	same "dd reads" "$(awk -F, '$2 == "READ" && $5 == "dd" && $6 ~ /\/f$/ { sum += $9 } END { print sum }' out/fs.csv)" 707
	same "device" "$(awk -F, 'NR > 1 && ($2 == "READ" || $2 == "WRITE") { sum += $7 } END { print sum + 0 }' out/block.csv)" \
		"$(grep "DEVICE" out.txt | awk '{ sum += $5 } END { print sum + 0 }')"
}

@test "a folder of streams goes with events only, once, and another tool's store stays" {
	run "$trace" -o out/ --no-events -- true
	same "status" "$status" 2
	[[ $output = *"CSV streams are events"* ]]
	run "$trace" -o a/ -o b/ -- true
	same "status" "$status" 2
	run "$trace" --format csv-streams -- true
	same "status" "$status" 2
	[[ $output = *"-o FOLDER/"* ]]
	mkdir out
	echo "not a store" > out/run.sqlite
	run "$trace" -q -o out/ -- true
	same "status" "$status" 1
	same "the file" "$(cat out/run.sqlite)" "not a store"
	status=0
	"$trace" -q -o new/ -- ./nothing-there || status=$?
	same "status" "$status" 127
}

# A count or a sum over the rows of a stream, by a parser that is not ours: rows for which the expression is true.
rows() { # STREAM EXPRESSION [COLUMN]
	python3 -c 'import csv, sys
rows = [r for r in csv.DictReader(open(f"out/{sys.argv[1]}.csv", newline="", errors="surrogateescape")) if eval(sys.argv[2], {}, {"r": r})]
print(sum(int(r[sys.argv[3]]) for r in rows) if len(sys.argv) > 3 else len(rows))' "$@"
}

@test "streams of sockets: calls, ports, addresses, flags, latency of netcalls.c" {
	need python3 python3-minimal
	built netcalls
	"$trace" -q -o out/ --settle none --layers default,net -- "$IOT_BUILD/netcalls"
	of() { rows "$1" "r['command'] == '$2' and ($3)" ${4:+"$4"}; }
	same "sockets made" "$(of nw_conn n_tcp "r['event_type'] == 'SOCKET_CREATE' and r['domain'] == 'AF_INET' and 'SOCK_STREAM' in r['sock_type']")" 12
	same "accepted, and not" "$(of nw_conn n_tcpsrv "r['event_type'] == 'ACCEPT'") $(of nw_conn n_tcpsrv "r['event_type'] == 'ACCEPT' and r['return_value'] == '-11'")" "14 3"
	same "connected" "$(of nw_conn n_tcp "r['event_type'] == 'CONNECT' and r['local_addr'] == r['remote_addr'] == '127.0.0.1' and 0 < int(r['sport']) < 65536 and 0 < int(r['dport']) < 65536 and int(r['latency_ns']) > 0")" 11
	same "refused" "$(of nw_conn n_fail "r['event_type'] == 'CONNECT' and r['return_value'] == '-111'")" 3
	same "backlog" "$(of nw_conn n_tcp "r['event_type'] == 'LISTEN'" backlog)" 17
	same "shut down" "$(of nw_conn n_tcp "r['event_type'] == 'SHUTDOWN' and r['shutdown_how'] == 'SHUT_WR'")" 11
	same "later" "$(of nw_conn n_later "r['event_type'] == 'CONNECT'") $(of nw_conn n_later "r['event_type'] == 'CONNECT_RESULT'")" "5 5"
	same "options" "$(of nw_sockopt n_tcp "r['level'] == 'IPPROTO_TCP' and r['option_name'] == 'TCP_NODELAY'")" 77
	same "polls" "$(of nw_epoll n_poll "r['event_type'] == 'POLL'" ready_count)" "$((19 + 3 * 2))"
	same "epoll_ctl" "$(of nw_epoll n_poll "r['operation'] == 'EPOLL_CTL_ADD'") $(of nw_epoll n_poll "r['operation'] == 'EPOLL_CTL_DEL'")" "14 13"
	same "sent and received" "$(of nw n_tcp "r['direction'] == 'send'" size) $(of nw n_tcpsrv "r['direction'] == 'receive'" size) $(of nw n_udp "r['direction'] == 'send'" size)" "198154 198154 12683"
	same "with ports and addresses" "$(of nw n_tcp "r['direction'] == 'send' and r['source_addr'] == '127.0.0.1' and r['protocol'] == 'TCP' and 0 < int(r['source_port']) < 65536 and 0 < int(r['dest_port']) < 65536" size)" 198154
	same "failed" "$(of nw n_tcp "r['error_code'] == '11' and r['size'] == '0'")" 33
	same "flags of sends" "$(of nw n_tcp "r['msg_flags'] == 'MSG_NOSIGNAL' and int(r['latency_ns']) > 0")" $((11 * 13))
	"$analyze" export out/run.sqlite again > said
	for file in out/*.csv; do cmp "$file" "again/${file#out/}"; done
}

@test "streams of files, cache, faults and rings: names, flags in words, sums" {
	need python3 python3-minimal
	built uring-ops
	cat > files.py <<-'END'
		import mmap, os
		os.rename("a b", 'c,"d')
		fd = os.open('c,"d', os.O_RDWR | os.O_CLOEXEC)
		os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
		m = mmap.mmap(fd, 7 * 4096)
		print(sum(m[n * 4096] for n in range(7)))
		os.pread(fd, 1009, 0)
		try: os.open("nothing", os.O_RDONLY)
		except OSError: pass
	END
	head -c $((7 * 4096)) /dev/zero > 'a b'
	sync 'a b'
	body() { "$trace" -q -o out/ --settle none --layers all -- sh -c 'python3 files.py; "$0" "$1" all > ledger' "$IOT_BUILD/uring-ops" "$IOT_MNT"; }
	with_fs ext4 64M -- body
	here=$PWD
	same "both names" "$(rows fs "r['operation'] == 'RENAME' and r['command'] == 'python3' and r['filename'] == '$here/a b -> $here/c,\"d'")" 1
	same "flags" "$(rows fs "r['operation'] == 'OPEN' and r['flags'] == 'O_RDWR|O_CLOEXEC' and r['filename'].endswith('/c,\"d')")" 1
	same "protection" "$(rows fs "r['operation'] == 'MMAP' and r['mmap_prot'] == 'PROT_READ|PROT_WRITE' and r['mmap_flags'] == 'MAP_SHARED' and r['filename'].endswith('/c,\"d')")" 1
	same "the failed open" "$(rows fs "r['operation'] == 'OPEN' and r['errno'] == '2' and r['filename'] == '$here/nothing'")" 1
	same "read" "$(rows fs "r['operation'] == 'READ' and r['filename'].endswith('/c,\"d')" bytes_completed)" 1009
	# a splice has a row of either side
	same "completions" "$(rows iouring "r['opcode'] != 'SPLICE'")" "$(awk '$2 != "SPLICE" { n += $4 } END { print n }' ledger)"
	same "opcodes by name" "$(python3 -c 'import csv
print(*sorted({r["opcode"] for r in csv.DictReader(open("out/iouring.csv"))}), sep="\n")')" "$(awk '{ print $2 }' ledger | LC_ALL=C sort -u)"
	store=$PWD/out/run.sqlite
	for kind in hit:HIT miss:MISS dirty:DIRTY drop:DROP evict:EVICT readahead:READAHEAD writeback_begin:WRITEBACK_START; do
		same "$kind" "$(rows cache "r['event_type'] == '${kind#*:}'")" "$(sql "SELECT COUNT(*) FROM v_event WHERE kind = '${kind%:*}' AND owner IS NOT 1 AND owner IS NOT 2")"
	done
	same "faults" "$(rows pagefault "r['severity'] == 'MAJOR'") $(rows pagefault "r['severity'] == 'MINOR'")" \
		"$(sql "SELECT SUM(kind = 'fault_major'), SUM(kind = 'fault_minor') FROM v_event WHERE owner IS NULL OR owner > 2")"
}
