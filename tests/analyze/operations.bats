#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# operations.bats - the report operations: derived beside measured, and the kernel's own. Answers worked out by hand.

load ../lib/helper
load ../lib/analyze

setup() { cd "$BATS_TEST_TMPDIR"; }

begin() { # MEMBERS
	printf '{"t":"run","schema":5,"uuid":"u","host":"h","kernel":"k","machine":"m","cpus":1,"tool":"t"%s,"tier":"full","events":0,"settle":"none","wall_ns":1,"boot_ns":1,"utc_offset_s":0}\n' "$1"
	echo '{"t":"device","dev":"7:0","name":"loop0","type":"loop","leaf":1}'
	echo '{"t":"process","id":3,"pid":7,"start_ns":1,"comm":"db","kthread":0}'
	echo '{"t":"process","id":4,"pid":8,"start_ns":1,"comm":"dumped","kthread":0}'
}

agg() { # OWNER KIND SUB OPS ERRORS BYTES [CAUSE]
	printf '{"t":"agg","sec":0,"kind":"%s","owner":%s,"dev":"7:0","cause":"%s","how":"exact","sub":"%s","flags":0,"ops":%s,"errors":%s,"bytes":%s,"touched":0,"timed":%s,"lat_ns":%s,"max_ns":1000}\n' \
		"$2" "$1" "${7-none}" "$3" "$4" "$5" "$6" "$4" $(($4 * 1000))
}

calls() {
	agg 3 pwrite64 regular 11 1 10090
	agg 3 write pipe 5 0 500
	agg 3 sendfile_out regular 2 0 999
	agg 3 rename none 41 3 0
	agg 3 chdir none 6 0 0
	agg 3 stat none 17 0 0
}

measured() {
	agg 3 vfs_write regular 13 1 11089
	agg 3 vfs_write pipe 5 0 500
	agg 3 vfs_rename none 38 0 0
	agg 3 vfs_getattr none 17 0 0
	agg 3 vfs_write kernel 7 0 458752 loopback
	agg 4 vfs_write kernel 3 1 8192
	agg 4 vfs_close kernel 4 0 0
}

end() { echo '{"t":"end","dur_ns":1000000000,"horizon":"at_ack","events":0}'; }

row() { # TABLE OPERATION
	"$ANALYZE" operations run.sqlite --format tsv --table "$1" | sed 1d | sed 's,n/a,-,g' | tr '\t' ':' | grep "^${2:+$2:}"
}

@test "operations: derived, measured and their difference; n/a where no function is" {
	{
		begin ',"layers":"syscall,vfs","whole":"vfs"'
		echo '{"t":"probe","name":"operation__vfs_chdir","layer":"vfs","target":"syscall,uring","chosen":0,"reason":"no function"}'
		calls
		measured
		end
	} | "$ANALYZE" ingest run.sqlite
	# 10 calls of pwrite64 succeeded, 12 writes; 3 renames failed at the name
	same compared "$(for o in write rename getattr chdir mkdir; do row compared "vfs_$o"; done)" "vfs_write:10:12:2:10090:11089:999:
vfs_rename:38:38:0:-:-:-:
vfs_getattr:17:17:0:-:-:-:
vfs_chdir:6:-:-:-:-:-:no function
vfs_mkdir:0:0:0:-:-:-:"
	same operations "$(for o in write rename chdir; do row operations "vfs_$o"; done)" "vfs_write:13:1:11089:1.000:1.000:measured::-
vfs_rename:38:0:-:1.000:1.000:measured::-
vfs_chdir:6:0:-:1.000:1.000:derived::0"
	same "of the kernel itself" "$("$ANALYZE" operations run.sqlite --format tsv --table kernel | sed '1d; s,n/a,-,g' | tr '\t' ':' | sort)" "db:7:vfs_write:loopback:7:0:458752
dumped:8:vfs_close:none:4:0:-
dumped:8:vfs_write:none:3:1:8192"
}

@test "operations: a VFS that is not measured has no column of zeros, but the reason" {
	{
		begin ',"layers":"syscall,vfs","whole":"vfs"'
		echo '{"t":"probe","name":"vfs__derived","layer":"vfs","target":"syscall,uring","chosen":0,"reason":"fentry: refused"}'
		calls
		end
	} | "$ANALYZE" ingest run.sqlite
	same derived "$(row compared '')" "all:-:-:-:-:-:-:fentry: refused"
	same "of the kernel itself" "$("$ANALYZE" operations run.sqlite --format tsv --table kernel | sed 1d)" ""
	rm run.sqlite
	{
		begin ',"layers":"syscall"'
		calls
		end
	} | "$ANALYZE" ingest run.sqlite
	same "not asked for" "$(row compared '')" "all:-:-:-:-:-:-:recorded with --layers vfs"
}
