# SPDX-License-Identifier: GPL-3.0-only
# only.bats - the filters of --only: which events are recorded, and that sums stay whole.

load ../lib/helper

setup() { own_run python3:python3; }

# Number and bytes of the events of a kind; of all kinds without one.
events() { # [KIND]
	sql "SELECT COUNT(*) || ' ' || ifnull(SUM(e.bytes), 0) FROM event e JOIN kind k ON k.id = e.kind WHERE ifnull(e.owner, 3) > 2${1:+ AND k.name = '$1'}"
}
# Number and bytes of the operations of dd, from the sums.
sums() { # KIND
	sql "SELECT SUM(a.ops) || ' ' || SUM(a.bytes) FROM agg_total a JOIN kind k ON k.id = a.kind JOIN process p ON p.id = a.owner WHERE k.name = '$1' AND p.comm = 'dd'"
}
dd_twice='dd if=/dev/zero of=f bs=4099 count=23 conv=fsync status=none; dd if=/dev/zero of=g bs=101 count=7 status=none'

@test "op, min-size: 23 writes of 4099 bytes are the events; sums have all 30" {
	traced --only op=write --only op=fsync --only min-size=4K -- sh -c "$dd_twice"
	same "writes" "$(events write)" "23 94277"
	same "all" "$(events)" "23 94277"
	same "sums" "$(sums write)" "30 94984"
	same "syncs in sums" "$(sums fsync)" "1 0"
	same "the run" "$(sql "SELECT only || '|' || events FROM run")" "op=write op=fsync min-size=4K|2"
	same "ledger" "$(sql 'SELECT COUNT(*) FROM ledger')" 0
}

@test "what needs all events is n/a with the reason; the streams have those there are" {
	traced --only op=write -- sh -c "$dd_twice"
	"$analyze" amplification "$store" > said
	grep -q 'events were recorded only with op=write: sums have every operation' said
	"$analyze" slow "$store" | grep -q 'needs all events, and the run recorded only those with op=write$'
	same "D" "$("$analyze" amplification "$store" --table ratios --format csv | grep ,hop_coalesce, | grep -cv n/a || :)" 0
	"$analyze" export "$store" out > /dev/null
	same "stream" "$(awk -F, '$2 == "WRITE" && $5 == "dd"' out/fs.csv | wc -l)" 30
	"$analyze" verify "$store" > verified
}

@test "path and inode: only the events of those files, from their first one on" {
	touch h
	traced --only "path=*/f" --only "path=*/nothing" -- sh -c "$dd_twice"
	same "writes" "$(events write)" "23 94277"
	same "files" "$(sql "SELECT COUNT(DISTINCT p.path) FROM event e JOIN file p ON p.id = e.file WHERE p.path NOT LIKE '%/f'")" 0
	same "no other" "$(sql 'SELECT COUNT(*) FROM event WHERE file IS NULL')" 0
	same "sums" "$(sums write)" "30 94984"
	rm "$store"
	traced --only "inode=$(stat -c %i h)" -- sh -c "$dd_twice; dd if=f of=h bs=1009 count=11 conv=notrunc status=none"
	same "writes" "$(events write)" "11 11099"
	same "reads" "$(events read)" "0 0"
}

@test "min-latency: every event took so long, in a unit that is given" {
	traced --only min-latency=2ms --only op=fsync --only op=write -- sh -c "$dd_twice"
	same "shorter" "$(sql 'SELECT COUNT(*) FROM event WHERE ifnull(dur_ns, 0) < 2000000')" 0
	run "$trace" --only min-latency=2 -- true
	same "status" "$status" 2
}

@test "exe and uid choose processes, in sums too" {
	cp "$(command -v dd)" other
	traced --only exe=other -- sh -c 'dd if=/dev/zero of=f bs=4099 count=23 status=none; ./other if=/dev/zero of=g bs=101 count=7 status=none'
	same "writes" "$(events write)" "7 707"
	same "sums" "$(sql "SELECT SUM(a.ops) FROM agg_total a JOIN kind k ON k.id = a.kind WHERE k.name = 'write' AND a.owner > 2")" 7
	same "filters" "$(sql 'SELECT filters FROM run')" "command exe=other"
	rm "$store"
	chmod 777 .
	traced --only uid=nobody -- sh -c 'dd if=/dev/zero of=f bs=4099 count=23 status=none; setpriv --reuid=nobody --clear-groups ./other if=/dev/zero of=h bs=103 count=11 status=none'
	same "writes" "$(events write)" "11 1133"
}

@test "tid: the calls of this thread, not those of another one or of a child" {
	cat > threads.py <<-'END'
		import os, sys, threading, time
		def work(name, count, ready, go):
		    fd = os.open(name, os.O_CREAT | os.O_WRONLY)
		    print(threading.get_native_id(), file=open(name + ".tid", "w"))
		    ready.set()
		    go.wait()
		    for _ in range(count): os.write(fd, b"x" * 4099)
		    if name == "a" and os.fork() == 0:
		        for _ in range(17): os.write(fd, b"y" * 101)
		        os._exit(0)
		go, ts = threading.Event(), []
		for name, count in (("a", 23), ("b", 29)):
		    ready = threading.Event()
		    ts.append(threading.Thread(target=work, args=(name, count, ready, go)))
		    ts[-1].start()
		    ready.wait()
		open("there", "w")
		while not os.path.exists("begin"): time.sleep(0.01)
		go.set()
		for t in ts: t.join()
		os.wait()
	END
	python3 threads.py 3>&- &
	threads=$!
	for _ in $(seq 500); do [ ! -e there ] || break; sleep 0.01; done
	"$trace" -q -o "$store" --settle sync --only tid="$(cat a.tid)" -- sh -c 'touch begin; tail --pid='$threads' -f /dev/null'
	wait "$threads"
	same "writes" "$(events write)" "23 94277"
	same "sums" "$(sql "SELECT SUM(a.ops) FROM agg_total a JOIN kind k ON k.id = a.kind WHERE k.name = 'write' AND a.owner > 2")" 23
}

@test "filters that are none are refused in a sentence" {
	for filter in size=4 op= op=writes min-size=0 min-latency=5 tid=0 tid=x uid=no-such-user exe=/bin/dd inode=-1 =x path; do
		run "$trace" --only "$filter" -- true
		same "$filter" "$status" 2
		[[ $output = *"--only"* ]]
	done
	run "$trace" --no-events --only op=write -o "$store" -- true
	same "no events" "$status" 2
	[[ $output = *"--no-events"* ]]
}

@test "files of the command come first, though another was written more" {
	body() {
		exec 6>"$IOT_MNT/strange" # it is open, so its name is known
		head -c 1048576 /dev/zero >&6
		traced -- sh -c 'dd if=/dev/zero of=$IOT_MNT/own bs=4099 count=23 conv=fsync status=none; sync -f $IOT_MNT' 6>&-
		exec 6>&-
		for rows in 1 50; do
			"$analyze" files "$store" --table files --top $rows --format csv | cut -d , -f 1 | sed "s|.*/||" >order.csv
			same "the first of $rows" "$(sed -n 2p order.csv)" own
		done
		grep -q '^strange$' order.csv
		same "in table io" "$("$analyze" files "$store" --table io --format csv | grep -oE "mnt[^,]*/(own|strange)" | head -n 1 | sed 's|.*/||')" own
	}
	with_fs ext4 64M -- body
}
