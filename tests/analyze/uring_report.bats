#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# uring_report.bats - the report uring: requests by opcode, file and how they ran. Answers worked out by hand.

load ../lib/helper
load ../lib/analyze

# One process, one file. Flags by kinds.def: WORKER 1024, SQPOLL 512, POLLED 65536, ASYNC 131072, BLOCKS 262144, MORE 2097152.
lines() { # WHOLE
	printf '{"t":"run","schema":5,"uuid":"u","host":"h","kernel":"k","machine":"m","cpus":1,"tool":"t","layers":"uring"%s,"tier":"full","events":%s,"settle":"none","wall_ns":1,"boot_ns":1,"utc_offset_s":0}\n' "$1" "${2-1}"
	echo '{"t":"op_name","scope":"uring","op":0,"name":"NOP"}'
	echo '{"t":"op_name","scope":"uring","op":22,"name":"READ"}'
	echo '{"t":"op_name","scope":"uring","op":27,"name":"RECV"}'
	echo '{"t":"op_name","scope":"uring","op":30,"name":"SPLICE"}'
	echo '{"t":"device","dev":"7:0","name":"loop0","type":"loop","leaf":1}'
	echo '{"t":"process","id":3,"pid":7,"start_ns":1,"comm":"db","kthread":0}'
	echo '{"t":"file","id":1,"dev":"7:0","ino":5,"gen":1,"path":"/d/a"}'
}

event() { # TS DUR KIND OP BYTES FLAGS [MORE]
	printf '{"t":"event","ts_ns":%s,"dur_ns":%s,"bytes":%s,"task":3,"tid":7,"owner":3,"kind":"%s","op":%s,"flags":%s%s}\n' "$1" "$2" "$5" "$3" "$4" "$6" "${7-}"
}

reads() {
	local n

	# a hundred of 10 us to 1 ms by a worker, three of which were asked for; one waited for a pipe, one was cancelled
	for n in $(seq 97); do event "$n" $((n * 10000)) uring_read 22 4096 1024 ',"file":1'; done
	for n in 98 99 100; do event "$n" $((n * 10000)) uring_read 22 4096 $((1024 + 131072)) ',"file":1'; done
	event 200 5000 uring_read 22 61 65536
	event 201 7000 uring_read 22 0 65536 ',"err":125'
	event 202 1000 uring_other 0 0 $((1024 + 262144))
	event 203 3000 uring_write 30 500 0
	event 203 3000 uring_read 30 500 0 ',"file":1'
	# a receive with three completions, the last of which failed
	event 300 1000 uring_other 27 53 2097152
	event 300 9000 uring_other 27 53 2097152
	event 300 11000 uring_other 27 0 0 ',"err":105'
	printf '{"t":"agg","sec":0,"kind":"uring_read","owner":3,"cause":"none","how":"exact","sub":"regular","flags":1024,"op":22,"ops":100,"errors":1,"bytes":409600,"touched":0,"timed":100,"lat_ns":50500000,"max_ns":1000000}\n'
}

end() { echo '{"t":"end","dur_ns":1000000000,"horizon":"at_ack","events":108}'; }

rows() { "$ANALYZE" uring run.sqlite --format tsv --table "$1" | sed 1d | tr '\t' ':'; }

setup() { cd "$BATS_TEST_TMPDIR"; }

@test "uring: requests, completions, bytes and ranks by opcode, file, way and reason" {
	{ lines ',"whole":"uring"'; reads; end; } | "$ANALYZE" ingest run.sqlite
	# nearest rank of 97 durations: the 49th and the 97th; of three: the 2nd and the 3rd
	same rows "$(rows requests)" "READ:/d/a:worker:would have blocked:97:97:397312:0:490.000:970.000:970.000:db:7
READ:/d/a:worker:asked for (IOSQE_ASYNC):3:3:12288:0:990.000:1000.000:1000.000:db:7
RECV::inline::1:3:106:1:11.000:11.000:11.000:db:7
NOP::worker:the operation always needs one, or a request drained:1:1:0:0:1.000:1.000:1.000:db:7
READ::cancelled::1:1:0:1:7.000:7.000:7.000:db:7
READ::poll::1:1:61:0:5.000:5.000:5.000:db:7
SPLICE::inline::1:1:500:0:3.000:3.000:3.000:db:7
SPLICE (source):/d/a:inline::0:0:500:0:3.000:3.000:3.000:db:7"
	same workers "$(rows workers)" "READ:would have blocked:97:0.951:1:970.000
READ:asked for (IOSQE_ASYNC):3:0.029:1:1000.000
NOP:the operation always needs one, or a request drained:1:1.000:0:1.000"
	same sums "$(rows opcodes)" "READ:process:db:7:100:409600:1:505.000:1000.000:100:0"
}

@test "uring: of a run without the whole layer the reason is n/a, and so are workers" {
	{ lines ''; reads; end; } | "$ANALYZE" ingest run.sqlite
	same reason "$(rows requests | sed -n 1p | cut -d: -f1-5)" "READ:/d/a:worker:n/a:100"
	same sums "$(rows opcodes | cut -d: -f10-11)" "n/a:n/a"
}

@test "uring: a run without events has its sums" {
	{ lines ',"whole":"uring"' 0; reads | grep agg; end; } | "$ANALYZE" ingest run.sqlite
	same requests "$(rows requests)" ""
	same sums "$(rows opcodes | cut -d: -f1,5)" "READ:100"
}
