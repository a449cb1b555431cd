# SPDX-License-Identifier: GPL-3.0-only
# neighbour.bats - a hostile unprivileged user on the same machine and file system: failing calls on files of others, many short
# processes, many small files, names of others. The bytes, components and ratios of the traced programs do not change.
#
# IOT_NEIGHBOUR=full: 100,000 processes and 300,000 files.

load ../lib/helper

setup() {
	own_run setpriv:util-linux fio:fio
	postgres=$(find /usr/lib/postgresql/*/bin/postgres 2>/dev/null | tail -1)
	[ -n "$postgres" ] || skip "postgres is missing: install the Debian package postgresql"
	built forker
	processes=1500 files=10000 calls=2000
	[ "${IOT_NEIGHBOUR-}" != full ] || processes=50000 files=300000 calls=100000
	export BATS_TEST_TIMEOUT=3600
}

teardown() {
	repeat_skipped
	[ -z "${neighbour-}" ] || kill -KILL "$neighbour" 2>/dev/null || :
}

as_nobody() { (cd / && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"); }

# The neighbour, in a folder of its own: it begins when $theirs/go is there and says when it is done. $1: the folder of the others.
nuisance() { # FOLDER OF THE OTHERS
	local name

	cd "$theirs"
	until [ -e go ]; do sleep 0.05; done
	./forker "$calls" pwrite "$1/dd" &                                 # fails: its descriptor is for reading
	./forker "$calls" pwrite "$1/fio" &
	./iot-io --api libaio-bad --file aio --count "$calls" >/dev/null & # fails
	./forker "$processes" read small &
	./forker "$processes" rename small &
	mkdir many
	./forker "$files" files many &
	for name in redis-server etcd 'postgres: checkpointer ' ceph-osd; do
		(exec -a "$name" dd if=/dev/zero of=imitated bs=4k count=50 status=none)
	done
	mkdir -p base global pg_wal
	echo 15 >PG_VERSION
	: >global/pg_control
	./postgres if=/dev/zero of=pg_wal/000000010000000000000001 bs=8k count=20 status=none # a copy of dd
	wait
	: >done
}

# The others: what they do is the same each time, also the number that a server writes into its lock file. They do it while the neighbour does
# its own, and again when it has done that.
load_of() { # FOLDER
	local part

	set -o pipefail
	: >"$theirs/go"
	for part in 1 2; do
		printf '%s\n' "create table t$part as select i, repeat(md5(i::text), 20) as s from generate_series(1, 1000) i" "update t$part set i = i + 1 where i % 3 = 0" checkpoint
		dd if=/dev/zero of="$1/dd" bs=64k count=80 conv=fsync,notrunc status=none
		fio --name=x --filename="$1/fio" --rw=randwrite --bs=4k --size=4M --ioengine=libaio --direct=1 --iodepth=8 --thread --randseed=1 >/dev/null
		fio --name=x --filename="$1/fio2" --rw=randwrite --bs=4k --size=4M --ioengine=psync --end_fsync=1 --fallocate=none --thread --randseed=1 >/dev/null
		until [ -e "$theirs/done" ]; do sleep 0.1; done
	done |
		unshare --pid --fork setpriv --reuid=postgres --regid=postgres --init-groups env -i LC_ALL=C.UTF-8 "$postgres" --single -D "$1/pg" postgres >/dev/null 2>&1
}

# Processes of the load, as rows (id, pid). Those that have children live as long as it does: numbers of the others may be used again, by strangers.
ours() {
	echo "WITH RECURSIVE o(id, pid, start_ns, parent) AS (SELECT p.id, p.pid, p.start_ns, 1 FROM process p JOIN r ON r.run = p.run WHERE p.cmdline GLOB '*load_in=$IOT_MNT/run*'
		UNION SELECT p.id, p.pid, p.start_ns, p.cmdline GLOB '*load_in=$IOT_MNT/run*' OR p.comm = 'unshare' FROM o JOIN process p ON o.parent AND p.ppid = o.pid AND p.start_ns >= o.start_ns
			JOIN r ON r.run = p.run) SELECT id, pid FROM o"
}

# The measurement of the others: calls, and bytes of file data under writeback. The journal is left out, where their blocks meet those
# of the neighbour, and so is the number of requests: the room on the disk is shared.
calls_of() {
	q "SELECT comm, kind, cause, sub, CASE WHEN layer IN ('syscall', 'uring') THEN SUM(ops) END, SUM(errors), SUM(bytes), SUM(touched) FROM c WHERE owner IN (SELECT id FROM ($(ours)))
		AND (layer IN ('syscall', 'uring') AND sub IN ('regular', 'blockdev') AND dir = 'w' OR dev = '$IOT_DEVNO' AND kind IN ('fs_write', 'block_write') AND cause IN ('data', 'direct'))
		GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
}

# Their files, without the folder's name.
files_of() { # FOLDER
	q "SELECT substr(f.path, length('$1') + 1), COALESCE(f.component, '-'), p.comm, COALESCE(p.system, '-'), SUM(i.write_bytes), SUM(i.write_ops), SUM(i.sync_ops), SUM(i.fs_write_bytes),
			SUM(i.dev_write_bytes)
		FROM r JOIN file f ON f.run = r.run JOIN file_io i ON i.run = f.run AND i.file = f.id JOIN process p ON p.run = i.run AND p.id = i.owner
		WHERE f.path LIKE '$1/%' AND i.write_bytes + i.dev_write_bytes > 0 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
}

# Their ratios, without numbers of processes; those with the journal in them are only exact or not.
ratios() { # RUN
	local pids

	pids=$(run_no=$1 q "SELECT DISTINCT pid FROM ($(ours))" | tr '\n' ' ')
	"$analyze" amplification "$store" --run "$1" --by pid --table ratios --format tsv | awk -F'\t' -v pids="$pids" '
		BEGIN { n = split(pids, p, " "); for (i = 1; i <= n; i++) ours[p[i]] }
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		$at["pid"] in ours && $at["ratio"] ~ /^(hop_page|hop_coalesce|hop_flush)/ { print $at["who"], $at["ratio"], $at["bound"], $at["numerator"], $at["denominator"] }
		$at["pid"] in ours && $at["ratio"] ~ /^(waf_sys|hop_fs|hop_blk)/ { print $at["who"], $at["ratio"], $at["bound"] }' | sort
}

lost() { q "SELECT COALESCE(SUM(n), 0) FROM lost JOIN r ON r.run = lost.run WHERE effect = '$1'"; } # EFFECT

# Ratios without those of D, which needs events; where owners were lost all are bounds.
without_losses() { # RUN
	if [ "$(run_no=$1 lost owner)" = 0 ]; then
		grep -vE 'hop_(coalesce|flush)'
	else
		grep -vE 'hop_(coalesce|flush)' | sed -E 's/ (exact|[<>]=|n\/a)( |$)/\2/'
	fi
}

# One run of the load: with [OPTIONS...] of the tracer, and with the neighbour or without.
run_of() { # NUMBER yes|no OPTIONS...
	local folder=$IOT_MNT/run$1 n=$1 with=$2

	shift 2
	cp -a "$IOT_MNT/made" "$folder"
	theirs=$IOT_MNT/theirs$n
	install -d -o nobody -m 755 "$theirs"
	cp "$IOT_BUILD/forker" "$io" "$theirs"
	cp "$(command -v dd)" "$theirs/postgres"
	cp "$root/Makefile" "$theirs/small"
	sync -f "$IOT_MNT"
	export theirs postgres processes files calls
	if [ "$with" = yes ]; then
		as_nobody bash -eu -c "$(declare -f nuisance); nuisance '$folder'" >nuisance.log 2>&1 3>&- &
		neighbour=$!
	else
		: >"$theirs/done"
	fi
	traced "$@" -- bash -eu -c "load_in=$folder; $(declare -f load_of); load_of '$folder'"
	if [ "$with" = yes ]; then
		wait "$neighbour" || fail "the neighbour: $(cat nuisance.log)"
		neighbour=
	fi
	run_no=$n calls_of >calls$n
	run_no=$n files_of "$folder" >files$n
	ratios "$n" >ratios$n
	"$analyze" verify "$store" --run "$n" >verify || fail "run $n: $(grep MISMATCH verify)"
	rm -r "$folder" "$theirs"
}

@test "a hostile neighbour changes no byte of the traced (defects 2, 4, 20, 21)" {
	body() {
		chmod 711 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/* "$PWD" 2>/dev/null || :
		install -d -m 755 "$IOT_MNT/made"
		: >"$IOT_MNT/made/dd"
		: >"$IOT_MNT/made/fio"
		install -d -o postgres -g postgres -m 700 "$IOT_MNT/made/pg"
		(cd / && setpriv --reuid=postgres --regid=postgres --init-groups env -i LC_ALL=C.UTF-8 "${postgres%/*}/initdb" -D "$IOT_MNT/made/pg" -A trust --no-sync >/dev/null)
		run_of 1 no
		run_of 2 yes
		run_of 3 yes --all --no-events
		for comm in dd fio postgres; do grep -q "^$comm block_write" calls1 && grep -q "^$comm waf_sys exact" ratios1 || fail "nothing of $comm: $(cat calls1 ratios1)"; done
		for component in wal data metadata; do grep -q " $component postgres postgresql " files1 || fail "no $component: $(cat files1)"; done
		for what in calls files ratios; do diff ${what}1 ${what}2 || fail "a neighbour that is not traced changes $what of others"; done
		empty "lost" "$(run_no=2 q "SELECT layer, what, n FROM lost JOIN r ON r.run = lost.run WHERE n > 0")"
		# With --all the tables hold the neighbour too, and the run says what it lost of names and, of 100,000 processes, of owners.
		for n in 1 2 3; do empty "bytes lost" "$(run_no=$n q "SELECT layer, what, n FROM lost JOIN r ON r.run = lost.run WHERE n > 0 AND effect = 'bytes'")"; done
		diff calls1 calls3 || fail "a neighbour that is traced changes calls of others"
		diff <(without_losses 3 <ratios1) <(without_losses 3 <ratios3) || fail "a neighbour that is traced changes ratios of others"
		[ "$(run_no=3 lost names)" -gt 0 ] || diff files1 files3 || fail "a neighbour that is traced changes files of others"
		empty "systems of the neighbour" "$(run_no=3 q "SELECT p.system, p.comm, p.exe, p.cmdline, p.folded, p.matched, i.write_bytes, f.path FROM r JOIN file f ON f.run = r.run JOIN file_io i ON i.run = f.run AND i.file = f.id
			JOIN process p ON p.run = i.run AND p.id = i.owner WHERE p.system IS NOT NULL AND f.path LIKE '$IOT_MNT/theirs3/%' AND i.write_bytes > 0 LIMIT 5")"
	}
	with_fs ext4 2G -N 700000 -- body
}
