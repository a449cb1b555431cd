# SPDX-License-Identifier: GPL-3.0-only
# uring.bats - each opcode of io_uring by its name, its file, its result, and how it ran: against the completions that
# tests/trace/uring_ops.c took out of its rings.

load ../lib/helper

setup() {
	own_run
	built uring-ops
	export ops=$IOT_BUILD/uring-ops
}

# Runs the cases in an ext4 of their own; the ledger is in `ledger`.
rings() { # CASE [TRACER OPTIONS]
	local which=$1

	shift
	body() {
		traced --layers uring --settle none "$@" -- "$ops" "$IOT_MNT" "$which" >ledger
		[ -s ledger ] || fail "no ledger"
		echo "$IOT_MNT" >mount
	}
	with_fs ext4 64M -- body "$@"
	same "lost" "$(q "SELECT what, n FROM lost JOIN r USING (run) WHERE n > 0")" ""
}

# Rows of requests: a splice has two events, of which the one of its target counts.
REQUESTS="FROM event e JOIN r ON r.run = e.run JOIN kind k ON k.id = e.kind AND k.name LIKE 'uring%'
	JOIN op_name n ON n.run = e.run AND n.scope = 'uring' AND n.op = COALESCE(e.op, 0)
	JOIN process p ON p.run = e.run AND p.id = e.owner LEFT JOIN file f ON f.run = e.run AND f.id = e.file
	WHERE NOT (n.name = 'SPLICE' AND k.name = 'uring_read')"

# Words of flags of requests, and how many have them.
flags() { # CONDITION
	q "SELECT COALESCE((SELECT group_concat(x.name, '|') FROM (SELECT name FROM flag WHERE e.flags & id ORDER BY id) x), '-'),
		COUNT(*) $REQUESTS AND $1 GROUP BY e.flags ORDER BY 1" | paste -sd' '
}

@test "guest: each opcode has its name, completions, bytes, errors: sums and events" {
	rings all
	same "sums" "$(q "SELECT c.comm, n.name, SUM(a.ops), SUM(a.bytes), SUM(a.errors) FROM agg_total a JOIN r ON r.run = a.run
			JOIN kind k ON k.id = a.kind AND k.name LIKE 'uring%' JOIN process c ON c.run = a.run AND c.id = a.owner
			JOIN op_name n ON n.run = a.run AND n.scope = 'uring' AND n.op = COALESCE(a.op, 0)
			WHERE NOT (n.name = 'SPLICE' AND k.name = 'uring_read') GROUP BY 1, 2 ORDER BY 1, 2")" \
		"$(awk '{ print $1, $2, $4, $5, $6 }' ledger | LC_ALL=C sort)"
	same "events" "$(q "SELECT p.comm, n.name, SUM(NOT COALESCE(e.flags, 0) & (SELECT id FROM flag WHERE name = 'MORE')), COUNT(*),
			COALESCE(SUM(e.bytes), 0), SUM(e.err IS NOT NULL) $REQUESTS GROUP BY 1, 2 ORDER BY 1, 2")" "$(LC_ALL=C sort ledger)"
}

@test "a request has the file it opened, closed, read; registered files too" {
	rings all
	of() {
		q "SELECT COALESCE(replace(f.path, rtrim(f.path, replace(f.path, '/', '')), ''), '-'), COUNT(*)
			$REQUESTS AND p.comm = '$1' AND n.name = '$2' GROUP BY 1" | paste -sd' '
	}
	same "OPENAT" "$(of by_name OPENAT)" "- 2 data 11" # two failed
	same "CLOSE" "$(of by_name CLOSE)" "data 11"
	same "OPENAT2" "$(of by_name OPENAT2)" "data 5"
	same "FSETXATTR" "$(of by_name FSETXATTR)" "data 5"
	same "FALLOCATE" "$(of files FALLOCATE)" "data 7"
	same "registered" "$(of others READ)" "data 7"
	same "OPENAT into a place" "$(of others OPENAT)" "data 2"
	same "CLOSE of a place" "$(of others CLOSE)" "data 2"
	same "SQPOLL" "$(of polled WRITE)" "data 31"
}

@test "how a request ran: worker and why, poll, SQPOLL, links, registered, multishot" {
	rings all
	same "asked for" "$(flags "p.comm = 'ways' AND n.name = 'READ' AND e.size = 1039")" "WORKER|ASYNC 5"
	same "would block" "$(flags "p.comm = 'ways' AND n.name = 'READ' AND e.size = 61 AND e.err IS NULL")" "POLLED 3"
	same "cancelled" "$(q "SELECT e.err, COUNT(*) $REQUESTS AND p.comm = 'ways' AND n.name = 'READ' AND e.err > 0 GROUP BY 1")" "125 1"
	same "of a broken chain" "$(q "SELECT e.err, COUNT(*) $REQUESTS AND p.comm = 'ways' AND n.name = 'NOP' AND e.err > 0 GROUP BY 1")" "125 1"
	same "linked fsyncs always need a worker" "$(flags "p.comm = 'ways' AND n.name = 'FSYNC'")" "WORKER|BLOCKS|LINK 3"
	same "drain" "$(q "SELECT COUNT(*) $REQUESTS AND p.comm = 'ways' AND n.name = 'NOP' AND e.flags & (SELECT id FROM flag WHERE name = 'DRAIN')")" 1
	same "SQPOLL" "$(q "SELECT COUNT(*) $REQUESTS AND p.comm = 'polled' AND e.flags & (SELECT id FROM flag WHERE name = 'SQPOLL')")" 33
	same "registered file" "$(flags "p.comm = 'others' AND n.name = 'READ'")" "FIXED_FILE 7"
	same "registered buffer" "$(flags "p.comm = 'files' AND n.name = 'READ_FIXED'")" "FIXED_BUF 17"
	same "provided buffers, several completions" "$(flags "p.comm = 'multishot' AND n.name = 'RECV'")" "POLLED|MORE|PROVIDED 7 POLLED|PROVIDED 1"
	same "in the sums" "$(q "SELECT SUM(a.ops) FROM agg_total a JOIN r ON r.run = a.run JOIN kind k ON k.id = a.kind JOIN process c ON c.run = a.run
		AND c.id = a.owner WHERE c.comm = 'ways' AND k.name = 'uring_read' AND a.flags & (SELECT id FROM flag WHERE name = 'WORKER')")" 5
}

@test "the argument of a request is the one of its submission entry" {
	rings all
	args() { q "SELECT COALESCE(e.arg, 0), COUNT(*) $REQUESTS AND n.name = '$1' AND p.comm <> 'refused' GROUP BY 1" | paste -sd' '; }
	same "mode of FALLOCATE" "$(args FALLOCATE)" "1 7"
	same "IORING_FSYNC_DATASYNC" "$(args FSYNC)" "0 5 1 1"
	same "mode of MKDIRAT" "$(args MKDIRAT)" "493 5"
	same "AT_REMOVEDIR" "$(args UNLINKAT)" "0 7 512 5"
	same "EPOLL_CTL_ADD and DEL" "$(args EPOLL_CTL)" "1 3 2 3"
}

@test "guest: a request has its paths, made absolute, failed ones too, and its flags" {
	rings all
	of() { # OPCODE CONDITION
		sql "SELECT COUNT(*) FROM v_event WHERE layer = 'uring' AND op_name = '$1' AND ($2)"
	}
	mnt=$(<mount) at="path = '$mnt" to="path2 = '$mnt"
	same "without a path" "$(sql "SELECT DISTINCT op_name FROM v_event WHERE layer = 'uring' AND path IS NULL AND op_name IN ('OPENAT', 'OPENAT2', 'STATX', 'RENAMEAT', 'UNLINKAT', 'MKDIRAT', 'SYMLINKAT', 'LINKAT',
		'SETXATTR', 'GETXATTR', 'FSETXATTR', 'FGETXATTR', 'FALLOCATE')")" ""
	same "OPENAT" "$(of OPENAT "$at/data' AND args = 'O_RDONLY' AND err IS NULL")" 15 # 11, 2 of the polling thread, 2 into a place
	same "failed" "$(of OPENAT "$at/none' AND err = 2")" 2
	same "too long" "$(of OPENAT "path LIKE '$mnt/qqq%' AND length(path) > 4000 AND err = 36")" 2
	same "not in memory" "$(of OPENAT "path = '?' AND err = 14")" 3
	same "OPENAT2" "$(of OPENAT2 "$at/data' AND args = 'O_RDONLY'")" 5
	same "STATX" "$(of STATX "$at/data'")" 13
	same "4,095 bytes" "$(of STATX "path = '/none' AND err = 2")" 1
	same "MKDIRAT" "$(of MKDIRAT "$at/ud' AND arg = 493")" 5
	same "of a folder" "$(of UNLINKAT "$at/ud' AND args = 'AT_REMOVEDIR' AND sub = 'dir'")" 5
	same "relative to a folder" "$(of UNLINKAT "$at/sub' AND args = 'AT_REMOVEDIR' AND err = 22")" 5
	same "a flag that is none" "$(of UNLINKAT "$at/sub/none' AND arg = 1 AND err = 22")" 2
	same "RENAMEAT" "$(of RENAMEAT "$at/ua' AND $to/ub'") $(of RENAMEAT "$at/ub' AND $to/ua'")" "2 1"
	same "failed RENAMEAT" "$(of RENAMEAT "$at/sub/none' AND $to/sub/../new' AND err = 2")" 2
	same "refused RENAMEAT" "$(of RENAMEAT "$at/data' AND path2 = '?' AND err = 14")" 3
	same "LINKAT" "$(of LINKAT "$at/ub' AND $to/ul'")" 7
	same "SYMLINKAT" "$(of SYMLINKAT "path = 'ub' AND $to/us'")" 2
	same "attributes" "$(of SETXATTR "$at/data' AND attribute = 'user.a'") $(of FSETXATTR "$at/data' AND attribute = 'user.a'")" "3 5"
	same "none such" "$(of GETXATTR "$at/sub' AND attribute = 'user.none' AND err = 61")" 1
	same "FALLOCATE" "$(of FALLOCATE "$at/data' AND args = 'FALLOC_FL_KEEP_SIZE'")" 7
	same "FSYNC" "$(of FSYNC "args = 'IORING_FSYNC_DATASYNC'")" 1
	same "refused READ" "$(of READ "err = 22 AND bytes = 0")" 3
}

@test "operations: requests are operations of the VFS, and how many they are is said" {
	local row

	rings all --layers default,vfs,uring --prefer derived # functions of the VFS do not say which request called them
	"$analyze" operations "$store" --table lines --format csv >lines.csv
	same "columns" "$(head -1 lines.csv)" "who,pid,operation,ops,errors,bytes,mean_us,max_us,how,by_uring"
	for row in open,19,2,18 getattr,14,0,13 mkdir,5,0,5 rmdir,5,0,5 unlink,9,0,7 rename,3,0,3 link,7,0,7 symlink,2,0,2 setxattr,8,0,8 getxattr,9,0,9; do
		# printf(3) has its output described
		IFS=, read -r operation ops errors requests <<<"$row"
		same "$operation" "$(awk -F, -v o="vfs_$operation" '$1 == "by_name" && $3 == o { print $4, $5, $10 }' lines.csv)" "$ops $errors $requests"
	done
	same "splice" "$(awk -F, '$1 == "pipes" && $3 == "vfs_splice" { print $4, $6, $10 }' lines.csv)" "7 3493 7"
}

@test "without --layers uring opcodes have names, and what is no file is not followed" {
	body() { traced --settle none -- "$ops" "$IOT_MNT" all >ledger; }
	with_fs ext4 64M -- body
	same "names" "$(q "SELECT COUNT(DISTINCT op), SUM(name = 'STATX') FROM op_name JOIN r USING (run)")" "$(awk '{ print $2 }' ledger | sort -u | wc -l) 1"
	same "poll" "$(q "SELECT chosen, reason FROM probe JOIN r USING (run) WHERE name = 'uring__poll'")" "0 only where --layers names its layer"
	same "sums" "$(q "SELECT SUM(a.ops) FROM agg_total a JOIN r ON r.run = a.run JOIN kind k ON k.id = a.kind JOIN process c ON c.run = a.run AND c.id = a.owner
		WHERE k.name = 'uring_write' AND c.comm = 'polled'")" 31
}

@test "text: each request on a line that names its opcode" {
	body() { "$trace" -q --layers uring --settle none --format text -o out -- "$ops" "$IOT_MNT" by_name >ledger; }
	with_fs ext4 64M -- body
	same "lines" "$(awk '$3 ~ /^APP_URING_/ { n[toupper($3)]++ } END { for (e in n) print e, n[e] }' out | LC_ALL=C sort)" \
		"$(awk '{ print "APP_URING_" $2, $4 }' ledger | LC_ALL=C sort)"
}
