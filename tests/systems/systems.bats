# SPDX-License-Identifier: GPL-3.0-only
# systems.bats - real storage systems under the real tracer: recognised, charged with every byte, split into components, and
# compared with the devices' own counters and with what each engine says about itself.

load ../lib/loads
bats_require_minimum_version 1.5.0

setup() { own_run; }

teardown() {
	local work

	rmdir "/sys/kernel/tracing/instances/iot-test-$$" 2>/dev/null || :
	system_down
	for work in "${IOT_WORK:-/nonexistent}"-a "${IOT_WORK:-/nonexistent}"-b; do
		[ ! -e "$work" ] || IOT_WORK=$work "$root/workloads/$(cat "$work/system" 2>/dev/null || echo "$IOT_TEST_SYSTEM").sh" down
	done
}

# Loads a profile of the system that is up, everything traced and settled; its ledger is then asked by `led`.
traced_load() { # [TRACER OPTIONS --] PROFILE [COUNT [SIZE [CLIENTS]]]
	local options=()

	while [[ " $* " == *" -- "* ]]; do
		[ "$1" = -- ] || options+=("$1")
		shift
	done
	ledger_file=$BATS_TEST_TMPDIR/ledger.json
	settled "$IOT_WORK"
	mark=$(devices_wrote)
	traced --all --ring 64M "${options[@]}" -- "$root/workloads/$IOT_TEST_SYSTEM.sh" load "$@" >"$ledger_file"
	delta=$(($(devices_wrote) - mark))
	[ "$(q "SELECT COUNT(*) > 0 FROM r JOIN process p ON p.run = r.run WHERE p.system = '$(led system)'")" = 1 ] || fail "the ledger is of '$(led system)', which the run has not"
}

# Pages that were dirty before a run have no known writer. Twice: the first commit may dirty metadata.
settled() { # IOT_WORK...
	local work

	for work in "$@"; do
		[ ! -d "$work/mnt/d1/brick" ] || bricks_rest "$work"
		synced "$work"
		synced "$work"
	done
}

synced() { # IOT_WORK
	local mount

	while read -r mount; do sync -f "$mount"; done < <(awk '$1 == "mount" { print $2 }' "$1/undo")
}

# GlusterFS goes on making directories once it is up, and each brick writes a health check every 30 s, the first after as
# long: a run begins just after a check, and when nothing was written for a second.
bricks_rest() { # IOT_WORK
	local since=$BATS_TEST_TMPDIR/since file tries wrote

	touch "$since"
	for file in "$1"/mnt/*/brick/.glusterfs/health_check; do
		[ ! -e "$file" ] || for ((tries = 0; tries < 350; tries++)); do
			[ ! "$file" -nt "$since" ] || break
			sleep 0.1
		done
	done
	for ((tries = 0; tries < 30; tries++)); do
		synced "$1"
		wrote=$(IOT_WORK=$1 devices_wrote)
		sleep 1
		synced "$1"
		[ "$(IOT_WORK=$1 devices_wrote)" != "$wrote" ] || return 0
	done
	fail "the bricks are written all the time"
}

# The devices of the instance as SQL wants them: '7:0', '7:1'.
device_list() {
	awk '$1 == "loop" { print $3 }' "${1:-$IOT_WORK}/undo" | while read -r dev; do
		printf "%s'%s'" "${comma-}" "$(cat "/sys/block/${dev#/dev/}/dev")"
		comma=,
	done
}

# Bytes written to the instance's devices by condition on c, p (the owner's process).
wrote() { # CONDITION
	q "SELECT COALESCE(SUM(c.bytes), 0) FROM c LEFT JOIN process p ON p.run = (SELECT run FROM r) AND p.id = c.owner
		WHERE c.kind = 'block_write' AND c.dev IN ($(device_list)) AND $1"
}

# Sum of a column of file_io by component, of a system's processes.
component() { # COLUMN SYSTEM COMPONENT [ROLE]
	q "SELECT COALESCE(SUM(i.$1), 0) FROM r JOIN file_io i ON i.run = r.run JOIN process p ON p.run = i.run AND p.id = i.owner
		JOIN file f ON f.run = i.run AND f.id = i.file LEFT JOIN component n ON n.id = i.component
		WHERE p.system = '$2' AND COALESCE(n.name, f.component, 'unclassified') = '$3' ${4:+AND p.role = '$4'}"
}

# One report as CSV in a table t: report_sql REPORT TABLE "SELECT ..."
report_sql() {
	"$analyze" "$1" "$store" --table "$2" --format csv >"$BATS_TEST_TMPDIR/report.csv"
	sqlite3 :memory: -cmd '.mode csv' -cmd ".import $BATS_TEST_TMPDIR/report.csv t" -cmd '.mode list' "$3"
}

# Requests of libaio that are under way when a run ends leave no gap in the devices' bytes: this loss is none here.
UNDER_WAY='libaio completion never seen'

# Bytes that an idle server writes to a drive: some commits. One of btrfs is at least two blocks of log trees, in two copies, and the superblock.
declare -gA idle_bytes=([ext4]=65536 [xfs]=65536 [btrfs]=262144)

# $kernel: bytes that the kernel counted on the instance's devices from the start of the run to its end, without what completed
# between a reading of its counters and the run; the test's own reading, which began before and ended after it, is that or
# the little more that an idle server writes. XFS brings what is in its log to its place when the log's worker says so, every 30 s,
# also between the run and the test's reading: there the load's own reading, which is inside of the run, is the least.
counted() {
	local least=$((delta - ${idle_bytes[${IOT_FS:-ext4}]} * $(grep -c "^loop" "$IOT_WORK/undo"))) inside

	if [ "${IOT_FS-}" = xfs ] && [ -n "${ledger_file-}" ]; then
		inside=$(last_horizon device_write_bytes)
		[ "$inside" -ge "$least" ] || least=$inside
	fi
	sum=$(q "SELECT SUM(t.end_value - t.begin_value - COALESCE(t.outside, 0)) FROM truth t JOIN r ON r.run = t.run WHERE t.what = 'write_bytes'
		AND (t.dev >> 20) || ':' || (t.dev & 1048575) IN ($(device_list))")
	[ "$sum" -le "$delta" ] && [ "$sum" -ge "$least" ] || fail "the run's reading of the devices is $sum, the test's $delta, at least $least"
	kernel=$sum
}

# In a thousand bytes, how many nobody is known of at most. The first commit of btrfs in a run may hold blocks that were changed before it.
declare -gA unknown_permille=([ext4]=1 [xfs]=1 [btrfs]=5)

# Nothing that verify says of the run's processes and of the instance's devices differs, and of what was dirtied there nothing is unexplained.
# The lines about the whole run are about all who wrote at that time, on any disk.
verified() {
	local names

	names=$(awk '$1 == "loop" { sub("/dev/", "", $3); print $3 }' "$IOT_WORK/undo" | paste -sd '|')
	"$analyze" verify "$store" --format csv >verify.csv || :
	empty "verify" "$(grep -E "^(process|\"?(device|ext4) [^,]*,($names),)" verify.csv | grep ,MISMATCH, || :)"
	grep -qE "^\"?device bytes written,($names),.*,OK," verify.csv || fail "nothing was compared: $(cat verify.csv)"
	[ "$(q "SELECT MAX(events) FROM r")" = 1 ] || return 0
	grep -q " $(realpath "$IOT_WORK")/mnt/" /proc/mounts || return 0 # devices without a file system: no files
	same "unexplained" "$(q "SELECT SUM(unexpected + MAX(dirty_end - dirty_late, 0)) * 100 > SUM(dirtied + direct) FROM l JOIN device d ON d.run = l.run
		JOIN file f ON f.run = l.run AND f.id = l.file AND f.dev = d.dev WHERE d.mount GLOB '$(realpath "$IOT_WORK")/mnt/*'")" 0
}

# Equal to /sys/block; at least 99 % the system's, nobody else's but what is named; components sum to the whole.
charged_to() { # SYSTEM
	local all mine

	nothing_lost "$UNDER_WAY" "$STRANGERS"
	all=$(wrote 1)
	mine=$(wrote "p.system = '$1'")
	counted
	same "device bytes" "$all" "$kernel"
	[ "$all" -gt 0 ] || fail "nothing was written"
	[ $((mine * 100)) -ge $((all * 99)) ] || fail "$mine of $all bytes are charged to $1; others: $(q "SELECT c.owner, p.comm, c.cause, SUM(c.bytes)
		FROM c LEFT JOIN process p ON p.run = (SELECT run FROM r) AND p.id = c.owner WHERE c.kind = 'block_write' AND c.dev IN ($(device_list)) GROUP BY 1, 2, 3")"
	[ $(($(wrote "c.owner = 0") * 1000)) -le $((all * ${unknown_permille[${IOT_FS:-ext4}]})) ] || fail "$(wrote "c.owner = 0") of $all bytes are nobody's"
	components_sum "$1"
	verified
}

components_sum() { # SYSTEM
	same "components of $1" "$(report_sql breakdown components "SELECT SUM(written) = SUM(CASE component WHEN 'total' THEN 2 * written ELSE 0 END)
		FROM t WHERE who = '$1'")" 1
	same "the whole of $1" "$(report_sql breakdown components "SELECT written FROM t WHERE who = '$1' AND component = 'total'")" \
		"$(q "SELECT SUM(c.bytes) FROM c JOIN process p ON p.run = (SELECT run FROM r) AND p.id = c.owner WHERE c.kind = 'block_write' AND p.system = '$1'
			AND c.cause <> 'loopback'")"
	# File data that reached the devices, by file and by device, are the same bytes.
	same "file data of $1" "$(q "SELECT SUM(i.dev_write_bytes) FROM r JOIN file_io i ON i.run = r.run JOIN process p ON p.run = i.run AND p.id = i.owner
		WHERE p.system = '$1'")" "$(q "SELECT SUM(c.bytes) FROM c JOIN process p ON p.run = (SELECT run FROM r) AND p.id = c.owner
		WHERE c.kind = 'block_write' AND c.cause IN ('data', 'direct') AND p.system = '$1'")"
}

unclassified_at_most() { # PERCENT SYSTEM
	between "unclassified share of $2" "$(report_sql components components "SELECT COALESCE(SUM(B) * 100.0 / (SELECT SUM(B) FROM t WHERE who = '$2'), 0)
		FROM t WHERE who = '$2' AND component IN ('unclassified', 'shared', '(name not known)')")" 0 "$1"
}

# Programs of the processes that the system was found in, one a line.
programs_of() { q "SELECT DISTINCT exe FROM process WHERE run = (SELECT run FROM r) AND system = '$1' AND exe IS NOT NULL"; }

# A segment that is prepared for later is synced once when it is filled with zeroes, which pg_stat_wal does not count. The walwriter flushes
# what nobody waits for, also before the server's own first reading and after its last: those may be outside of what is counted.
flushes_of_wal() {
	local counted all alone

	counted=$(led engine.change.pg_stat_wal.wal_sync)
	all=$(component sync_ops postgresql wal)
	alone=$(component sync_ops postgresql wal walwriter)
	between "flushes of the wal, $alone of them the walwriter's" "$all" "$counted" $((counted + 1 + alone))
}

@test "PostgreSQL, bulk: every device byte is its own, and wal is pg_stat_wal's" {
	only_long "small commits each time"
	IOT_SERVER_ARGS='-c wal_init_zero=off' system_up postgres
	traced_load bulk 32768
	acknowledged_all 33554432
	charged_to postgresql
	unclassified_at_most 0.1 postgresql
	wal=$(led engine.change.pg_stat_wal.wal_bytes)
	between "wal bytes against $wal" "$(component fs_write_bytes postgresql wal)" "$((wal * 98 / 100))" "$((wal * 102 / 100))"
	[[ $(programs_of postgresql) =~ ^/usr/lib/postgresql/[0-9]+/bin/postgres$ ]] || fail "charged too: $(programs_of postgresql)"
	same "psql" "$(q "SELECT COUNT(*), COUNT(system) FROM process WHERE run = (SELECT run FROM r) AND exe LIKE '%/psql'")" \
		"$(q "SELECT COUNT(*), 0 FROM process WHERE run = (SELECT run FROM r) AND exe LIKE '%/psql'")"
	for role in backend checkpointer; do
		[ "$(q "SELECT COUNT(*) FROM process WHERE run = (SELECT run FROM r) AND system = 'postgresql' AND role = '$role'")" -gt 0 ] || fail "no $role"
	done
}

@test "PostgreSQL, small commits: wal, data, metadata and journal are the device's" {
	system_up postgres
	"$root/workloads/postgres.sh" prepare small 1000
	traced_load small 1000
	charged_to postgresql
	flushes_of_wal
	# Tables reach the device by the checkpointer, whose writes of table files are the checkpoint.
	for part in wal checkpoint metadata; do
		[ "$(component fs_write_bytes postgresql $part)" -gt 0 ] || fail "nothing was written to $part"
	done
	[ "$(component write_bytes postgresql data)" -gt 0 ] || fail "no backend wrote to a table"
	# Over time too: the picture's parts sum to the text's B, its components to those of the run, the checkpoint among them.
	mkdir out
	"$analyze" timeline "$store" --system postgresql --format csv --plot out >text.csv
	parts() { awk -F '\t' -v want="$1" '/^# / { on = !seen && /^# x\tbin\tpart/; seen += on; next } NF && on && !$5 && $3 ~ want { n += $4 } END { printf "%d", n }' out/timeline.tsv; }
	same "bytes over time" "$(parts .)" "$(awk -F, 'NR > 1 { n += $4 + $5 + $6 + $7 } END { printf "%d", n }' text.csv)"
	same "components over time" "$(parts '^[a-z]+$')" "$(report_sql components components "SELECT SUM(B) FROM t WHERE who = 'postgresql' AND component NOT LIKE 'fs %'")"
	[ "$(parts '^checkpoint$')" -gt 0 ] || fail "no checkpoint in the picture over time"
	[ "$(report_sql breakdown components "SELECT written FROM t WHERE who = 'postgresql' AND component = 'fs journal'")" -gt 0 ]
	same "numerator of waf_sys" "$(report_sql amplification components "SELECT SUM(B) FROM t WHERE who = 'postgresql'")" \
		"$(report_sql amplification ratios "SELECT numerator FROM t WHERE who = 'postgresql' AND ratio = 'waf_sys'")"
	same "write operations" "$(report_sql systems systems "SELECT SYS_W FROM t WHERE SYSTEM = 'postgresql'")" \
		"$(q "SELECT SUM(c.ops) FROM c JOIN process p ON p.run = (SELECT run FROM r) AND p.id = c.owner WHERE p.system = 'postgresql'
			AND c.layer = 'syscall' AND c.dir = 'w' AND c.sub IN ('regular', 'blockdev')")"
	[ "$(sql "SELECT COUNT(*) FROM hist WHERE system = 'postgresql'")" -gt 0 ] || fail "no latencies of postgresql"
}

@test "without events a system is charged the same, and so are its components" {
	system_up postgres
	traced_load --no-events -- small 200
	charged_to postgresql
	unclassified_at_most 1 postgresql # its log of messages
	flushes_of_wal
	for part in wal checkpoint metadata; do
		[ "$(component dev_write_bytes postgresql $part)" -gt 0 ] || fail "nothing was written to $part"
	done
	same "S of components" "$(report_sql components components "SELECT SUM(CAST(S AS INTEGER)) FROM t WHERE who = 'postgresql'")" \
		"$(report_sql amplification summary "SELECT S FROM t WHERE who = 'postgresql'")"
	same "D" "$(report_sql files files "SELECT DISTINCT D FROM t")" "n/a"
}

# Writes to and reads from devices of an instance, by the owner's instance or name: moved DIRECTION DEVICES CONDITION
moved() {
	q "SELECT COALESCE(SUM(c.bytes), 0) FROM c LEFT JOIN process p ON p.run = (SELECT run FROM r) AND p.id = c.owner
		WHERE c.kind = 'block_$1' AND c.dev IN ($2) AND $3"
}

# At least 99 % of what was written to devices is the part's.
mostly() { # WHAT DEVICES CONDITION
	local part all

	part=$(moved write "$2" "$3")
	all=$(moved write "$2" 1)
	[ "$all" -gt 0 ] && [ $((part * 100)) -ge $((all * 99)) ] || fail "$1: $part of $all: $(q "SELECT c.owner, p.comm, p.system, p.role, p.instance, c.cause, SUM(c.bytes)
		FROM c LEFT JOIN process p ON p.run = (SELECT run FROM r) AND p.id = c.owner WHERE c.kind = 'block_write' AND c.dev IN ($2) GROUP BY 1, 2, 3, 4, 5, 6")"
}

@test "two PostgreSQL clusters and a pg_basebackup are apart, each with its device" {
	export IOT_WORK=/var/tmp/iot-test-postgres-$$ IOT_TEST_SYSTEM=postgres
	IOT_WORK=$IOT_WORK-a IOT_PORT=55632 "$root/workloads/postgres.sh" up
	IOT_WORK=$IOT_WORK-b IOT_PORT=55732 "$root/workloads/postgres.sh" up
	body() {
		# The copy is a data root of its own, so its writer is another instance than the cluster that it is of.
		chmod 711 "$IOT_MNT"
		install -d -o postgres -g postgres -m 700 "$IOT_MNT/copy"
		settled "$IOT_WORK-a" "$IOT_WORK-b"
		sync -f "$IOT_MNT" && sync -f "$IOT_MNT"
		dev_mark
		traced --all --ring 64M -- sh -c "IOT_WORK=$IOT_WORK-a IOT_PORT=55632 '$root/workloads/postgres.sh' load small 400 > a.json
			IOT_WORK=$IOT_WORK-b IOT_PORT=55732 '$root/workloads/postgres.sh' load small 200 > b.json &
			cd / && setpriv --reuid=postgres --regid=postgres --init-groups $(ls -d /usr/lib/postgresql/*/bin | tail -n 1)/pg_basebackup \
				-h $IOT_WORK-a/run -p 55632 -U postgres -D $IOT_MNT/copy -X fetch -c fast || exit 1
			wait"
		nothing_lost "$UNDER_WAY"
		for one in a b; do
			data=$(cd "$IOT_WORK-$one/mnt/d1/data" && pwd -P)
			mostly "bytes of $one" "$(device_list "$IOT_WORK-$one")" "p.instance = '$data'"
			same "lines of $one" "$("$analyze" amplification "$store" --by instance --table summary --format csv | grep -cF "postgresql $data")" 1
		done
		same "bytes of the copy" "$(moved write "'$IOT_DEVNO'" 1)" "$(dev_wrote)"
		mostly "the copy is its client's" "'$IOT_DEVNO'" "p.comm = 'pg_basebackup' AND p.role = 'basebackup' AND p.instance = '$IOT_MNT/copy'"
		same "the servers' part of the copy" "$(moved write "'$IOT_DEVNO'" "p.comm <> 'pg_basebackup'")" 0
		# The server's own process read the contents of the copy, and no other process did.
		size=$(du -sb --exclude=backup_manifest "$IOT_MNT/copy" | cut -f1)
		read=$(q "SELECT SUM(i.read_bytes) FROM r JOIN file_io i ON i.run = r.run JOIN process p ON p.run = i.run AND p.id = i.owner
			WHERE p.role = 'walsender' AND p.instance = '$IOT_WORK-a/mnt/d1/data'")
		between "bytes that the server read for the copy" "$read" "$((size * 98 / 100))" "$((size * 102 / 100))"
		same "reads of the client in the server's files" "$(q "SELECT COUNT(*) FROM r JOIN file_io i ON i.run = r.run JOIN process p ON p.run = i.run AND p.id = i.owner
			JOIN file f ON f.run = i.run AND f.id = i.file WHERE p.comm = 'pg_basebackup' AND f.path GLOB '$IOT_WORK-[ab]/*'")" 0
	}
	with_fs ext4 512M -- body
	for one in a b; do IOT_WORK=$IOT_WORK-$one "$root/workloads/postgres.sh" down; done
}

@test "etcd: every device byte is its own, parts sum to it, fsync counts are equal" {
	system_up etcd
	traced_load small-one 1009
	acknowledged_all 1033216
	charged_to etcd
	unclassified_at_most 0.1 etcd
	same "fsyncs of the log" "$(component sync_ops etcd wal)" "$(led 'engine.change.metrics.etcd_disk_wal_fsync_duration_seconds_count')"
	same "programs" "$(programs_of etcd)" "$(readlink -f "$(command -v etcd)")"
}

# A wrapper, as packages have them, around etcd under another name: starts it, puts eleven keys, stops it.
wrapped_etcd() { # FIRST COMMAND
	cp "$(command -v etcd)" kvstore
	cat >serve <<-END
		#!/bin/sh
		$1
		"$PWD/kvstore" --name t0 --data-dir "$IOT_MNT/data" --listen-client-urls http://127.0.0.1:53379 \\
			--advertise-client-urls http://127.0.0.1:53379 --listen-peer-urls http://127.0.0.1:53380 \\
			--initial-advertise-peer-urls http://127.0.0.1:53380 --initial-cluster t0=http://127.0.0.1:53380 2>server.log &
		server=\$!
		export ETCDCTL_API=3
		i=0
		until etcdctl --endpoints=127.0.0.1:53379 put key value >/dev/null 2>&1; do i=\$((i + 1)); [ \$i -lt 100 ] || break; sleep 0.1; done
		for i in 1 2 3 4 5 6 7 8 9 10; do etcdctl --endpoints=127.0.0.1:53379 put key\$i value; done
		readlink /proc/\$server/ns/net /proc/\$server/ns/cgroup > namespaces
		kill \$server
		wait \$server
		exit 0
	END
	chmod +x serve
	dev_mark
}

# All that its device wrote is etcd's, whose only program is the renamed one.
is_etcd_by_another_name() {
	same "device bytes" "$(q "SELECT SUM(bytes) FROM c WHERE kind = 'block_write' AND dev = '$IOT_DEVNO'")" "$(dev_wrote)"
	mostly "bytes of etcd" "'$IOT_DEVNO'" "p.system = 'etcd'"
	same "programs of etcd" "$(programs_of etcd)" "$PWD/kvstore"
	[ "$(component fs_write_bytes etcd wal)" -gt 0 ]
	components_sum etcd
}

@test "a renamed etcd behind a wrapper, started in the run, is etcd; etcdctl is not" {
	need etcd etcd-server
	need etcdctl etcd-client
	body() {
		wrapped_etcd ":"
		traced --ring 64M -- ./serve
		is_etcd_by_another_name
		[ "$(sql "SELECT COUNT(*) FROM process WHERE comm = 'etcdctl' AND system IS NULL")" -gt 0 ] || fail "no etcdctl"
	}
	with_fs ext4 256M -- body
}

@test "etcd in network and cgroup namespaces is etcd; --cgroup finds it" {
	need etcd etcd-server
	need etcdctl etcd-client
	need ip iproute2
	hierarchy=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
	[ -w "${hierarchy:-/nonexistent}/cgroup.procs" ] || skip "a writable hierarchy of control groups (version 2) is missing"
	body() {
		wrapped_etcd "ip link set lo up"
		traced --ring 64M -- unshare -n -C ./serve
		is_etcd_by_another_name
		for ns in net cgroup; do
			if grep -qxF "$(readlink /proc/self/ns/$ns)" namespaces; then fail "the server ran in the namespace of the test: $ns"; fi
		done
		# Once more, with its group as the filter: the wrapper joins it, and so what it starts.
		mkdir "$group"
		rm -rf "$IOT_MNT/data"
		sync -f "$IOT_MNT" && sync -f "$IOT_MNT"
		wrapped_etcd "ip link set lo up; echo \$\$ > $group/cgroup.procs"
		traced --ring 64M --all --cgroup "$group" -- unshare -n -C ./serve
		is_etcd_by_another_name
		same "others" "$(sql "SELECT COUNT(*) FROM process WHERE run = 2 AND comm IN ('systemd', 'unshare')")" 0
	}
	group=$hierarchy/iot-test-$$
	status=0
	with_fs ext4 256M -- body || status=$?
	[ ! -d "$group" ] || rmdir "$group"
	return $status
}

# etcd as the body of a command that is traced: starts it as process $server, on data folder $1, and waits for its answer.
etcd_functions='
	export ETCDCTL_API=3
	etcd_up() {
		etcd --name t0 --data-dir "$1" --listen-client-urls http://127.0.0.1:53579 --advertise-client-urls http://127.0.0.1:53579 \
			--listen-peer-urls http://127.0.0.1:53580 --initial-advertise-peer-urls http://127.0.0.1:53580 --initial-cluster t0=http://127.0.0.1:53580 2>>server.log &
		server=$!
		echo $server >>servers
		for i in $(seq 100); do
			if etcdctl --endpoints=127.0.0.1:53579 put key value >/dev/null 2>&1; then return; fi
			sleep 0.1
		done
		exit 1
	}
	put_many() { for i in $(seq "$1"); do etcdctl --endpoints=127.0.0.1:53579 put "key$i" value >/dev/null 2>&1 || break; done; }'

@test "a server killed in mid-load and started again: two processes, one data root" {
	need etcd etcd-server
	need etcdctl etcd-client
	body() {
		dev_mark
		traced --ring 64M -- sh -c "$etcd_functions"'
			etcd_up "$IOT_MNT/data"
			put_many 1000 &
			load=$!
			sleep 1
			kill -KILL $server
			wait $server
			echo $? >status
			wait $load
			etcd_up "$IOT_MNT/data"
			put_many 10
			kill $server
			wait $server
			exit 0'
		same "status of the first server" "$(cat status)" 137
		nothing_lost "$UNDER_WAY"
		same "device bytes" "$(moved write "'$IOT_DEVNO'" 1)" "$(dev_wrote)"
		mostly "bytes of etcd" "'$IOT_DEVNO'" "p.system = 'etcd' AND p.instance = '$IOT_MNT/data'"
		for pid in $(cat servers); do
			[ "$(moved write "'$IOT_DEVNO'" "p.pid = $pid AND p.system = 'etcd'")" -gt 0 ] || fail "server $pid wrote nothing"
		done
		same "servers" "$(sql "SELECT COUNT(*), COUNT(DISTINCT pid), COUNT(DISTINCT instance) FROM process WHERE system = 'etcd'")" "2 2 1"
		same "ends" "$(sql "SELECT COUNT(*) FROM run_end")" 1
		same "lines of the instance" "$("$analyze" amplification "$store" --by instance --table summary --format csv | grep -cF "etcd $IOT_MNT/data")" 1
	}
	with_fs ext4 256M -- body
}

# The folder of a group that limits memory, of either version, and the file that counts its kills; or a skip.
memory_group() {
	local v2

	v2=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
	if [ -n "$v2" ] && grep -qw memory "$v2/cgroup.subtree_control"; then
		group=$v2/iot-test-$$ limit=memory.max kills=memory.events
	elif [ -w /sys/fs/cgroup/memory/cgroup.procs ]; then
		group=/sys/fs/cgroup/memory/iot-test-$$ limit=memory.limit_in_bytes kills=memory.oom_control
	fi
	[ -n "${group-}" ] || skip "a control group that limits memory is missing"
}

@test "a server killed for its memory: the run is complete, its bytes are its own" {
	need etcd etcd-server
	need etcdctl etcd-client
	memory_group
	body() {
		mkdir "$group"
		echo 40M >"$group/$limit"
		dev_mark
		GROUP=$group traced --ring 64M -- sh -c "$etcd_functions"'
			etcd_up "$IOT_MNT/data"
			echo $server >"$GROUP/cgroup.procs"
			for i in $(seq 500); do
				head -c 1000000 /dev/zero | tr "\0" x | etcdctl --endpoints=127.0.0.1:53579 --command-timeout=1s put "key$i" >/dev/null 2>&1 || break
			done
			kill -KILL $server 2>/dev/null # it is gone: else this counts as no kill for memory below
			wait $server
			echo $? >status'
		same "status of the server" "$(cat status)" 137
		[ "$(awk '$1 == "oom_kill" { print $2 }' "$group/$kills")" -gt 0 ] || fail "not killed for its memory: $(cat "$group/$kills")"
		same "device bytes" "$(moved write "'$IOT_DEVNO'" 1)" "$(dev_wrote)"
		mostly "bytes of etcd" "'$IOT_DEVNO'" "p.system = 'etcd' AND p.pid = $(cat servers)"
		same "ends" "$(sql "SELECT COUNT(*) FROM run_end")" 1
	}
	status=0
	with_fs ext4 512M -- body || status=$?
	[ ! -d "$group" ] || rmdir "$group"
	return $status
}

@test "a storm of 240 backends of one commit each: every byte, every backend" {
	only_long "loads of few backends each time"
	system_up postgres
	port=$(sed -n 4p "$IOT_WORK/mnt/d1/data/postmaster.pid")
	asking=(setpriv --reuid=postgres --regid=postgres --init-groups env -i HOME=/tmp)
	"${asking[@]}" psql -X -q -h "$IOT_WORK/run" -p "$port" -U postgres -c "CREATE TABLE storm(v text)"
	echo "insert into storm values (repeat('x', 500));" >"$BATS_FILE_TMPDIR/storm.sql"
	chmod a+rX "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_FILE_TMPDIR/storm.sql" && chmod a+x "$(dirname "$BATS_FILE_TMPDIR")"
	settled "$IOT_WORK"
	mark=$(devices_wrote)
	traced --all --ring 64M -- sh -c "cd / && ${asking[*]} pgbench -h $IOT_WORK/run -p $port -U postgres -n -C -c 12 -j 2 -t 20 -f $BATS_FILE_TMPDIR/storm.sql postgres >&2
		while read -r what mount; do [ \$what != mount ] || sync -f \$mount; done < $IOT_WORK/undo"
	delta=$(($(devices_wrote) - mark))
	charged_to postgresql
	[ "$(sql "SELECT COUNT(*) FROM process WHERE system = 'postgresql' AND role = 'backend' AND instance = '$IOT_WORK/mnt/d1/data'")" -ge 240 ] ||
		fail "backends: $(sql "SELECT role, instance, COUNT(*) FROM process WHERE system = 'postgresql' GROUP BY 1, 2")"
	between "commits in the log" "$(component sync_ops postgresql wal)" 1 260
}

@test "--system keeps one system and lumps the rest; an unknown name is refused" {
	system_up etcd
	traced_load --system etcd -- small-one 1009
	nothing_lost "$UNDER_WAY"
	counted
	same "device bytes" "$(wrote 1)" "$kernel"
	[ $(($(wrote "p.system = 'etcd'") * 100)) -ge $((delta * 99)) ] || fail "$(wrote "p.system = 'etcd'") of $delta: $(q "SELECT c.owner, c.comm, c.cause, SUM(c.bytes) FROM c
		WHERE c.kind = 'block_write' AND c.dev IN ($(device_list)) GROUP BY 1, 2, 3"); $(sql "SELECT id, pid, comm, system FROM process")"
	same "others" "$(sql "SELECT COUNT(*) FROM process WHERE NOT kthread AND system IS NOT 'etcd' AND id > 2")" 0
	same "events of others" "$(sql "SELECT COUNT(*) FROM event e LEFT JOIN process p ON p.run = e.run AND p.id = e.owner JOIN kind k ON k.id = e.kind
		WHERE p.system IS NOT 'etcd' AND NOT (e.owner = 2 AND k.name IN ('fs_truncate', 'fs_punch', 'fs_evict'))")" 0
	same "files that etcd did not use" "$(sql "SELECT COUNT(*), group_concat(path) FROM file WHERE id NOT IN (SELECT file FROM event WHERE file > 0 UNION SELECT file FROM file_io)")" "0 "
	same "other systems' latencies" "$(sql "SELECT COUNT(*) FROM hist WHERE system IS NOT 'etcd'")" 0
	same "filter" "$(sql "SELECT filters FROM run")" "system=etcd"
	components_sum etcd
	"$trace" --system postgres -q -o alias.sqlite -- true
	run -2 --separate-stderr "$trace" --system nonesuch -- true
	same "message" "${#stderr_lines[@]} ${stderr_lines[0]%% (*}" "1 iot-trace: unknown storage system 'nonesuch'"
}

@test "--systems lists what runs and why; --systems FILE adds a system" {
	system_up etcd
	"$trace" --systems >list
	grep -E "^$(awk '$1 == "member" { print $2 }' "$IOT_WORK/pids") +etcd +server +files +.*etcd" list || fail "$(cat list)"
	cat >mine.json <<-'END'
		{"systems": [{"name": "mine", "title": "Mine", "tested": true, "processes": [{"name": "iot-io", "role": "writer"}],
			"paths": [{"path": "**/*.log", "component": "wal"}]}]}
	END
	traced --systems mine.json -- "$io" --api write --file x.log --count 3 --size 4096
	same "process" "$(sql "SELECT DISTINCT comm, role FROM process WHERE system = 'mine'")" "iot-io writer"
	same "bytes" "$(component write_bytes mine wal)" 12288
	run -2 "$trace" --systems nonesuch.json -- true
	same "lines" "${#lines[@]}" 1
}

@test "a file that is renamed while it is written has the component of its last name" {
	body() {
		cat >mine.json <<-'END'
			{"systems": [{"name": "mine", "title": "Mine", "tested": true, "processes": [{"name": "python3*", "role": "writer"}],
				"paths": [{"path": "**/*.tmp", "component": "temp"}, {"path": "**/*.log", "component": "wal"}]}]}
		END
		traced --systems mine.json -- python3 -c "
import os
f = open('$IOT_MNT/a.tmp', 'wb', buffering=0)
f.write(bytes(4096))
os.rename('$IOT_MNT/a.tmp', '$IOT_MNT/a.log')
f.write(bytes(4096))
f.close()
g = open('$IOT_MNT/b.tmp', 'wb', buffering=0)
g.write(bytes(4096))
g.close()"
		same "wal" "$(component write_bytes mine wal)" 8192
		same "temp" "$(component write_bytes mine temp)" 4096
		same "wal on the device" "$(component fs_write_bytes mine wal)" 8192
	}
	need python3 python3-minimal
	with_fs ext4 64M -- body
}

@test "an unknown program that writes an SQLite database is SQLite's from the start" {
	need sqlite3 sqlite3
	body() {
		cp "$(command -v sqlite3)" ledgerd
		traced -- ./ledgerd "$IOT_MNT/x.db" "PRAGMA journal_mode = WAL; CREATE TABLE t(a); INSERT INTO t VALUES(1);"
		same "process" "$(sql "SELECT comm, role FROM process WHERE system = 'sqlite'")" "ledgerd embedded"
		[ "$(component fs_write_bytes sqlite wal)" -ge 0 ]
		components_sum sqlite
	}
	with_fs ext4 64M -- body
}

@test "a raw device's threads tell components; those of no rule are unclassified" {
	body() {
		local api part

		cat >raw.json <<-'END'
			{"systems": [{"name": "raw", "title": "Raw", "tested": true, "processes": [{"name": ["osdlike*", "stranger"], "role": "osd"}],
				"threads": [{"comm": "osdlike-kv", "of": "object", "buffered": true, "op": "write", "component": "wal"},
					{"comm": "osdlike-kv", "of": "object", "direct": true, "mixed": true, "op": "write", "component": "journal"},
					{"comm": "osdlike-op", "of": "object", "op": "write", "direct": true, "component": "object"},
					{"comm": "osdlike-op", "of": "object", "op": "read", "component": "metadata"}],
				"paths": [{"path": "/dev/**", "component": "object", "threads": true}]}]}
		END
		cat >load <<-END
			#!/bin/sh -e
			# sync is the first to use the device: what that says about it must not stay
			sync $IOT_DEV
			exec 3>/dev/null
			./osdlike-op --api libaio --direct --depth 8 --file $IOT_DEV --count 23 >&3
			./osdlike-op --api direct --file $IOT_DEV --at 1M --count 7 >&3
			./osdlike-op --api libaio-read --direct --depth 4 --file $IOT_DEV --count 11 >&3
			./osdlike-kv --api libaio --direct --depth 2 --file $IOT_DEV --at 2M --count 13 >&3
			./osdlike-kv --api pwritev --file $IOT_DEV --at 4M --count 17 --sync fdatasync >&3
			./stranger --api libaio --direct --depth 8 --file $IOT_DEV --at 8M --count 5 >&3
			./stranger --api write --file $IOT_DEV --at 9M --count 3 --sync fsync >&3
		END
		chmod +x load
		for part in osdlike-op osdlike-kv stranger; do cp "$io" $part; done
		dev_mark
		traced --systems raw.json -- ./load
		nothing_lost "$UNDER_WAY"
		same "device bytes" "$(q "SELECT SUM(bytes) FROM c WHERE kind = 'block_write' AND dev = '$IOT_DEVNO'")" "$(dev_wrote)"
		same "object" "$(component fs_write_bytes raw object) $(component write_bytes raw object)" "122880 122880"
		same "wal" "$(component fs_write_bytes raw wal) $(component write_bytes raw wal)" "69632 69632"
		# No buffered write of the same process came before: nothing says what its direct ones are.
		same "journal" "$(component fs_write_bytes raw journal)" 0
		same "unclassified" "$(component fs_write_bytes raw unclassified) $(component write_bytes raw unclassified)" "86016 86016"
		same "read" "$(component fs_read_bytes raw metadata) $(component read_bytes raw metadata)" "45056 45056"
		same "files" "$("$analyze" files "$store" --table io --format csv | grep "^$IOT_DEV," | cut -d, -f4 | sort | tr '\n' ' ')" "metadata n/a n/a object wal "
		components_sum raw
		"$trace" -q -o run.jsonl --systems raw.json -- ./load
		"$analyze" ingest again.sqlite <run.jsonl
		same "by stream" "$(sqlite3 again.sqlite "SELECT n.name, SUM(i.fs_write_bytes) FROM file_io i JOIN component n ON n.id = i.component GROUP BY 1 ORDER BY 1" | tr '\n' ' ')" \
			"metadata|0 object|122880 wal|69632 "
	}
	with_fs none 64M -- body
}

@test "a process that only calls itself ceph-osd is charged as a program: a claim" {
	body() {
		ln -sf "$io" ceph-osd
		dev_mark
		traced -- ./ceph-osd --api libaio --direct --pause 5 --file "$IOT_DEV" --count 101 >/dev/null
		same "device bytes" "$(q "SELECT SUM(bytes) FROM c WHERE kind = 'block_write' AND dev = '$IOT_DEVNO'")" "$(dev_wrote)"
		same "process" "$(sql "SELECT COALESCE(system, '-'), COALESCE(role, '-'), matched FROM process WHERE comm = 'ceph-osd' ORDER BY id DESC LIMIT 1")" \
			"- - says it is Ceph: comm \"ceph-osd\"; not confirmed: program $(readlink -f "$io") is not Ceph"
		same "instances" "$(report_sql components instances "SELECT COUNT(*) FROM t WHERE system = 'ceph'")" 0
		same "bytes" "$(q "SELECT SUM(bytes) FROM c WHERE kind = 'block_write' AND comm = 'ceph-osd' AND dev = '$IOT_DEVNO'")" 413696
	}
	with_fs none 64M -- body
}

# --- Ceph ---

# Drives that do not rotate, whatever their images are on: deferred writes reach their place seconds later, also after the run.
ceph_up() {
	export IOT_CEPH_SSD=1
	system_up ceph
}

# Change of one of its counters during the load, all OSDs together.
osd_counter() { # SECTION NAME
	sqlite3 :memory: "SELECT COALESCE(SUM(json_extract(value, '\$.$1.$2')), 0) FROM json_each(readfile('$ledger_file'), '\$.engine.change') WHERE key LIKE 'osd.%'"
}

# An OSD asked itself at the start and at the end of the load, inside the run: while the run goes on it writes some KiB a second
# more (its own maps, heartbeats of placement groups), so iot has the same bytes or at most 64 KiB an OSD more.
as_counted() { # COMPONENT COUNTED
	local got

	got=$(component fs_write_bytes ceph "$1" osd)
	between "$1 against the OSDs' own counters" "$got" "$2" $(($2 + 65536 * ${IOT_CEPH_SIZE:-3}))
}

bluestore_agrees() {
	# On devices that rotate, small objects go to the log first and are deferred.
	as_counted object $(($(osd_counter bluestore bluestore_write_big_bytes) - $(osd_counter bluestore bluestore_write_deferred_bytes)))
	as_counted deferred "$(osd_counter bluestore deferred_write_bytes)"
	as_counted wal "$(osd_counter bluefs bytes_written_wal)"
	as_counted journal "$(osd_counter bluefs logged_bytes)"
	[ "$(osd_counter bluestore bluestore_write_big_bytes)" = $(($(led logical_write_bytes) * ${IOT_CEPH_SIZE:-3})) ] ||
		fail "the OSDs counted $(osd_counter bluestore bluestore_write_big_bytes) bytes of objects"
	# Now and then another of its sixty threads writes some blocks of the OSD's own.
	between "unclassified" "$(component fs_write_bytes ceph unclassified osd)" 0 $((65536 * ${IOT_CEPH_SIZE:-3}))
}

# A search for a substring in the current thread's name finds threads of the OSDs that have "ceph" in it. None of them does the I/O.
substring_finds_nothing() {
	local pid task

	awk '$1 ~ /^osd/ { print $2 }' "$IOT_WORK/pids" | while read -r pid; do
		for task in "/proc/$pid/task/"*; do printf '%s|%s\n' "${task##*/}" "$(cat "$task/comm")"; done
	done >threads
	sqlite3 "$store" "CREATE TABLE IF NOT EXISTS thread_name(tid INTEGER, comm TEXT)" "DELETE FROM thread_name" ".import threads thread_name"
	same "bytes by threads called ceph, and by the others" "$(q "SELECT SUM(CASE WHEN t.comm LIKE '%ceph%' THEN e.bytes ELSE 0 END), SUM(e.bytes) > 0
		FROM r JOIN event e ON e.run = r.run JOIN kind k ON k.id = e.kind LEFT JOIN thread_name t ON t.tid = e.tid
		WHERE k.name = 'fs_write' AND (e.dev >> 20) || ':' || (e.dev & 1048575) IN ($(device_list))")" "0 1"
	sqlite3 "$store" "DROP TABLE thread_name"
}

only_ceph() {
	same "programs" "$(programs_of ceph | sort | tr '\n' ' ')" "/usr/bin/ceph-mon /usr/bin/ceph-osd "
	same "clients" "$(q "SELECT COUNT(*) FROM process WHERE run = (SELECT run FROM r) AND system = 'ceph' AND comm IN ('ceph', 'rados', 'python3')")" 0
}

@test "Ceph of size 3: every byte its own, 3.00 to 3.06 and 8.54, as BlueStore counts" {
	all_systems
	ceph_up
	traced_load bulk
	acknowledged_all 67108864
	waf_between 3.00 3.06
	charged_to ceph
	only_ceph
	bluestore_agrees
	substring_finds_nothing
	traced_load small
	waf_between 5.12 11.96
	charged_to ceph
	bluestore_agrees
	substring_finds_nothing
}

@test "Ceph of size 1: every byte its own, 1.00 to 1.02 and 3.05, as BlueStore counts" {
	all_systems
	export IOT_CEPH_SIZE=1
	ceph_up
	traced_load bulk
	waf_between 1.00 1.02
	charged_to ceph
	bluestore_agrees
	traced_load small
	waf_between 1.83 4.27
	charged_to ceph
	bluestore_agrees
	traced_load --no-events -- bulk
	components_sum ceph # without events too: from sums by file
}

@test "Ceph's deferred writes, RocksDB's flush and compaction are BlueStore's counts" {
	all_systems
	export IOT_CEPH_SIZE=1 IOT_CEPH_SSD=1
	system_up ceph
	cat >load <<-'END'
		#!/bin/sh -e
		asok=$IOT_WORK/run/osd.0.asok
		put() { rados -c "$IOT_WORK/run/ceph.conf" -p bench put "$@"; }
		counters() { ceph --admin-daemon "$asok" perf dump >"$1"; }
		head -c 65536 /dev/zero >big
		head -c 1000 /dev/zero >little
		counters before
		for i in 1 2 3 4 5 6 7; do put object$i big; done
		for i in 1 2 3 4 5 6 7; do put object$i little --offset 8292; done
		sleep 5 # deferred writes wait for 3 s
		ceph --admin-daemon "$asok" compact >/dev/null
		counters after
	END
	chmod +x load
	settled "$IOT_WORK"
	mark=$(devices_wrote)
	traced --all --ring 64M -- ./load
	delta=$(($(devices_wrote) - mark))
	charged_to ceph
	change() { sqlite3 :memory: "SELECT json_extract(readfile('after'), '\$.$1') - json_extract(readfile('before'), '\$.$1')"; }
	same "deferred" "$(component fs_write_bytes ceph deferred)" "$(change bluestore.deferred_write_bytes)"
	# one block for each of the seven, and what the OSD itself may defer meanwhile
	[ "$(change bluestore.deferred_write_bytes)" -ge 28672 ] || fail "deferred: $(change bluestore.deferred_write_bytes)"
	as_counted object "$(change bluestore.bluestore_write_big_bytes)"
	as_counted wal "$(change bluefs.bytes_written_wal)"
	as_counted journal "$(change bluefs.logged_bytes)"
	# With the tables go MANIFEST, CURRENT and OPTIONS, some blocks for each of a few new files, which BlueFS counts as neither.
	tables=$(change bluefs.bytes_written_sst)
	[ "$tables" -gt 0 ] || fail "no table was written"
	between "tables" "$(($(component fs_write_bytes ceph flush) + $(component fs_write_bytes ceph compaction)))" "$tables" $((tables + 262144))
	[ "$(component fs_write_bytes ceph flush)" -gt 0 ] && [ "$(component fs_write_bytes ceph compaction)" -gt 0 ]
}

@test "a Ceph and an etcd at once are apart, each with 99 % of its own devices" {
	all_systems
	export IOT_WORK=/var/tmp/iot-test-ceph-$$ IOT_TEST_SYSTEM=ceph IOT_CEPH_SIZE=1 IOT_IMG_DIR
	need ceph-osd ceph-osd
	need etcd etcd-server
	IOT_WORK=$IOT_WORK-a "$root/workloads/ceph.sh" up
	echo ceph >"$IOT_WORK-a/system"
	IOT_WORK=$IOT_WORK-b "$root/workloads/etcd.sh" up
	echo etcd >"$IOT_WORK-b/system"
	settled "$IOT_WORK-a" "$IOT_WORK-b"
	traced --all --ring 64M -- sh -c "IOT_WORK=$IOT_WORK-b '$root/workloads/etcd.sh' load small-one 1009 >b.json &
		IOT_WORK=$IOT_WORK-a '$root/workloads/ceph.sh' load small 1009 >a.json; wait"
	nothing_lost "$UNDER_WAY"
	for one in a b; do
		system=$(cat "$IOT_WORK-$one/system")
		devices=$(device_list "$IOT_WORK-$one")
		all=$(q "SELECT SUM(bytes) FROM c WHERE kind = 'block_write' AND dev IN ($devices)")
		same "device bytes of $system" "$all" "$(q "SELECT SUM(t.end_value - t.begin_value - COALESCE(t.outside, 0)) FROM truth t JOIN r ON r.run = t.run WHERE t.what = 'write_bytes'
			AND (t.dev >> 20) || ':' || (t.dev & 1048575) IN ($devices)")"
		own=$(q "SELECT SUM(c.bytes) FROM c JOIN process p ON p.run = (SELECT run FROM r) AND p.id = c.owner
			WHERE c.kind = 'block_write' AND c.dev IN ($devices) AND p.system = '$system'")
		[ $((own * 100)) -ge $((all * 99)) ] || fail "$own of $all bytes are $system's"
		same "the other's" "$(q "SELECT COUNT(*) FROM c JOIN process p ON p.run = (SELECT run FROM r) AND p.id = c.owner
			WHERE c.kind = 'block_write' AND c.dev IN ($devices) AND p.system <> '$system'")" 0
		components_sum "$system"
		rm "$IOT_WORK-$one/system"
		IOT_WORK=$IOT_WORK-$one "$root/workloads/$system.sh" down
	done
}

@test "an OSD killed in mid-load: the run ends cleanly, bytes equal /sys/block" {
	all_systems
	export IOT_CEPH_SSD=1 # where small objects are no deferred writes
	system_up ceph
	osd=$(awk '$1 == "osd.2" { print $2 }' "$IOT_WORK/pids")
	settled "$IOT_WORK"
	mark=$(devices_wrote)
	stat=/sys/block/$(awk '$1 == "loop" && $2 == "d3" { print $3 }' "$IOT_WORK/undo" | cut -d/ -f3)/stat
	cat >load <<-END
		#!/bin/bash
		wrote() { awk '{ print \$7 }' $stat; }
		begin=\$(wrote)
		"$root/workloads/ceph.sh" load small 4096 >ledger.json &
		load=\$!
		# in the middle: 4 MiB of about 34 are on its device
		while kill -0 \$load 2>/dev/null && [ \$((\$(wrote) - begin)) -lt 8192 ]; do sleep 0.05; done
		kill -0 \$load || exit 3
		kill -KILL $osd
		wait \$load || echo \$? >failed
	END
	chmod +x load
	traced --all --ring 64M -- ./load
	delta=$(($(devices_wrote) - mark))
	ledger_file=ledger.json
	empty "the load" "$(cat failed 2>/dev/null)"
	[ ! -e "/proc/$osd" ] || grep -q '^State:.Z' "/proc/$osd/status"
	same "complete" "$("$analyze" runs "$store" --format csv | grep -c ',complete,')" 1
	charged_to ceph
	# The victim's own bytes are still its own, in its components.
	own=$(q "SELECT SUM(c.bytes) FROM c JOIN process p ON p.run = (SELECT run FROM r) AND p.id = c.owner WHERE c.kind = 'block_write' AND p.pid = $osd AND p.role = 'osd'")
	[ "$own" -gt 1000000 ] || fail "$own bytes of the OSD that was killed"
	[ "$(q "SELECT SUM(i.fs_write_bytes) FROM r JOIN file_io i ON i.run = r.run JOIN process p ON p.run = i.run AND p.id = i.owner
		JOIN component n ON n.id = i.component WHERE p.pid = $osd AND n.name = 'object'")" -gt 0 ]
}

@test "RocksDB: flush, compaction and WAL are the engine's own tickers" {
	all_systems
	system_up rocksdb
	traced_load compact
	acknowledged_all 208000000
	charged_to rocksdb
	ticker() { sqlite3 :memory: "SELECT json_extract(readfile('$ledger_file'), '\$.engine.after.statistics.\"rocksdb.$1\"')"; }
	near() { between "$1 against $2" "$2" $(($3 * 999 / 1000)) $(($3 * 1001 / 1000)); }
	near flush "$(component write_bytes rocksdb flush)" "$(ticker flush.write.bytes)"
	near compaction "$(component write_bytes rocksdb compaction)" "$(ticker compact.write.bytes)"
	# In the log each record has a head of 7 bytes, one more where it goes on in the next 32 KiB, and less than 7 of padding there.
	wal=$(ticker wal.bytes) keys=$(ticker number.keys.written)
	between "wal" "$(component write_bytes rocksdb wal)" $((wal + 7 * keys)) $((wal + 7 * keys + 14 * (wal / 32768 + 1)))
	unclassified_at_most 0.1 rocksdb
}

# Nothing but the system's own programs is found in it.
only_programs() { # SYSTEM REGEX
	local found

	found=$(programs_of "$1")
	[ -n "$found" ] || fail "no program of $1"
	empty "charged to $1 too" "$(grep -vxE "$2" <<<"$found" || :)"
}

# The systems that are not run each time: the same questions for each.
other_system() { # WORKLOAD SYSTEM PROGRAMS PROFILE...
	all_systems
	system_up "$1"
	traced_load "${@:4}"
	charged_to "$2"
	only_programs "$2" "$3"
}

minio=.*/minio gluster='/usr/sbin/gluster(fsd|fs|d)' mariadb=/usr/sbin/mariadbd redis='/usr/bin/redis-(server|check-rdb)' rocksdb='.*/db_bench' etcd='.*/etcd'
postgres='/usr/lib/postgresql/[0-9]+/bin/postgres' python='/usr/bin/python3[.0-9]*'
sqlite="$python|/usr/bin/sqlite3|.*/iot-trace" # who else traces at that time writes a store, with SQLite
@test "GlusterFS: every device byte is its own, components sum to the whole" { other_system gluster gluster "$gluster" bulk; }
@test "MinIO, 4 KiB: every device byte is its own, components sum to the whole" { other_system minio minio "$minio" small; }
@test "MinIO, 64 KiB: every device byte is its own, components sum to the whole" { other_system minio minio "$minio" small-64k; }
@test "MinIO, 16 MiB: every device byte is its own, components sum to the whole" { other_system minio minio "$minio" bulk; }
@test "MinIO on one drive, 16 MiB: every device byte is its own, parts sum to the whole" { IOT_MINIO=single other_system minio minio "$minio" bulk; }
@test "MariaDB: every device byte is its own, components sum to the whole" { other_system mariadb mariadb "$mariadb" small-one 300; }
@test "Redis: every device byte is its own, components sum to the whole" { other_system redis redis "$redis" small-one 500; }
@test "RocksDB: every device byte is its own, components sum to the whole" { other_system rocksdb rocksdb "$rocksdb" bulk; }
@test "SQLite: every device byte is its own, components sum to the whole" { other_system sqlite sqlite "$sqlite" bulk; }
@test "LevelDB: every device byte is its own, components sum to the whole" { other_system leveldb leveldb "$python" small; }

# Those loads on another file system, one short one each time; $data of their drives is apart from log, journal and trees.
on_fs() { # FILE SYSTEM, WORKLOAD SYSTEM PROGRAMS PROFILE...
	local IOT_FS=$1

	export IOT_FS
	need "mkfs.$1" "$([ "$1" = xfs ] && echo xfsprogs || echo btrfs-progs)"
	system_up "$2"
	traced_load "${@:5}"
	charged_to "$3"
	only_programs "$3" "$4"
	data=$(wrote "c.cause IN ('data', 'direct')")
	[ "$data" -ge "$(led logical_write_bytes)" ] || fail "$data bytes are file data"
	between "log and trees" "$(wrote "c.cause IN ('journal', 'metadata')")" 1 $((kernel - data))
	same "data, log and trees" "$(wrote "c.cause IN ('data', 'direct', 'journal', 'metadata')")" "$kernel"
}

@test "PostgreSQL on XFS: every device byte is its own, data apart from the log" { on_fs xfs postgres postgresql "$postgres" small 200; }
@test "etcd on btrfs: every device byte is its own, data apart from the trees" { only_long "etcd on ext4 each time"; on_fs btrfs etcd etcd "$etcd" small-one 211; }
@test "PostgreSQL on btrfs: every device byte is its own, data apart from the trees" { all_systems && on_fs btrfs postgres postgresql "$postgres" small; }
@test "etcd on XFS: every device byte is its own, data apart from the log" { all_systems && on_fs xfs etcd etcd "$etcd" small-one 1009; }
@test "MinIO on XFS: every device byte is its own, data apart from the log" { all_systems && on_fs xfs minio minio "$minio" small; }
@test "MinIO on btrfs: every device byte is its own, data apart from the trees" { all_systems && on_fs btrfs minio minio "$minio" small; }
@test "SQLite on XFS: every device byte is its own, data apart from the log" { all_systems && on_fs xfs sqlite sqlite "$sqlite" small; }
@test "SQLite on btrfs: every device byte is its own, data apart from the trees" { all_systems && on_fs btrfs sqlite sqlite "$sqlite" small; }
@test "RocksDB on XFS: every device byte is its own, data apart from the log" { all_systems && on_fs xfs rocksdb rocksdb "$rocksdb" bulk; }
@test "RocksDB on btrfs: every device byte is its own, data apart from the trees" { all_systems && on_fs btrfs rocksdb rocksdb "$rocksdb" bulk; }

# Bytes that a cold read fetched, as charged_to() has written ones.
reads_charged_to() { # WORKLOAD SYSTEM PROFILE...
	local all mine

	system_up "$1"
	"$root/workloads/$1.sh" prepare "${@:3}"
	traced_load "${@:3}"
	nothing_lost "$UNDER_WAY"
	all=$(q "SELECT SUM(c.bytes) FROM c WHERE c.kind = 'block_read' AND c.dev IN ($(device_list))")
	mine=$(q "SELECT SUM(c.bytes) FROM c JOIN process p ON p.run = (SELECT run FROM r) AND p.id = c.owner
		WHERE c.kind = 'block_read' AND p.system = '$2' AND c.dev IN ($(device_list))")
	same "device bytes read" "$all" "$(q "SELECT SUM(t.end_value - t.begin_value - COALESCE(t.outside, 0)) FROM truth t JOIN r ON r.run = t.run
		WHERE t.what = 'read_bytes' AND (t.dev >> 20) || ':' || (t.dev & 1048575) IN ($(device_list))")"
	[ "$all" -gt 0 ] || fail "nothing was read"
	[ $((mine * 100)) -ge $((all * 99)) ] || fail "$mine of $all bytes are charged to $2; others: $(q "SELECT c.owner, c.comm, c.cause, SUM(c.bytes)
		FROM c WHERE c.kind = 'block_read' AND c.dev IN ($(device_list)) GROUP BY 1, 2, 3")"
	same "components of $2" "$(report_sql breakdown components "SELECT SUM(read) FROM t WHERE who = '$2' AND component <> 'total'")" \
		"$(q "SELECT SUM(c.bytes) FROM c JOIN process p ON p.run = (SELECT run FROM r) AND p.id = c.owner
			WHERE c.kind = 'block_read' AND p.system = '$2' AND c.cause <> 'loopback'")"
}

@test "PostgreSQL, cold reads: every device byte is its own" { reads_charged_to postgres postgresql read-cold; }
@test "etcd, cold reads: every device byte is its own" { only_long "cold reads of PostgreSQL each time" && reads_charged_to etcd etcd read-cold; }
@test "MinIO, cold reads: every device byte is its own" { all_systems && reads_charged_to minio minio read-cold; }
@test "GlusterFS, cold reads: every device byte is its own" { all_systems && reads_charged_to gluster gluster read-cold; }
@test "Ceph, cold reads: every device byte is its own" { all_systems && reads_charged_to ceph ceph read-cold; }

# The breakdown of one drive, in bytes an operation of the ledger.
per_put() { # DEVICE PARTS
	report_sql breakdown anatomy "SELECT COALESCE(SUM(written), 0) * 1.0 / $(led write_ops) FROM t WHERE device = '$1' AND part $2"
}

# Bytes a PUT of 4 KiB: a commit or more, each with what begins and ends it; inodes, directories and bitmaps of what was made. XFS
# writes changes to its log, and what they change to its place later; btrfs writes blocks of 16 KiB twice, with the superblock.
part_bounds='
ext4	journal: descriptor	2048	40960
ext4	journal: commit	2048	40960
ext4	journal: inode_table	2048	40960
ext4	journal: directory	2048	40960
ext4	journal: inode_bitmap	2048	40960
ext4	journal: block_bitmap	2048	40960
ext4	metadata	1024	40960
xfs	journal: log_header	512	1024
xfs	journal: log_op	48	256
xfs	journal: padding	0	1024
xfs	journal: inode	1024	8192
xfs	journal: directory	2048	8192
xfs	journal: ag_header	512	4096
xfs	journal: btree	512	4096
xfs	metadata	0	40960
btrfs	journal: log_tree	65536	262144
btrfs	metadata: superblock	4096	16384
btrfs	metadata: fs_tree	512	32768
btrfs	metadata: extent_tree	64	8192
'

# MinIO's 4 KiB PUTs: what each drive's bytes are, an operation; the parts are the drive's total, and the total the kernel's.
drives_explained() { # DATA_LOW DATA_HIGH
	local drive fs part low high

	nothing_lost "$UNDER_WAY"
	verified
	same "puts" "$(led write_ops)" 500
	for drive in $(awk '$1 == "loop" { sub("/dev/", "", $3); print $3 }' "$IOT_WORK/undo"); do
		same "parts of $drive" "$(report_sql breakdown anatomy "SELECT SUM(CASE part WHEN 'total' THEN -written ELSE written END) FROM t WHERE device = '$drive'")" 0
		same "total of $drive" "$(report_sql breakdown anatomy "SELECT written FROM t WHERE device = '$drive' AND part = 'total'")" \
			"$(sql "SELECT end_value - begin_value - outside FROM truth WHERE what = 'write_bytes' AND source = '/sys/block/$drive/stat'")"
		between "object data a PUT on $drive" "$(per_put "$drive" "IN ('data', 'direct')")" "$1" "$2"
		while IFS=$'\t' read -r fs part low high; do
			[ "$fs" != "${IOT_FS:-ext4}" ] || between "$part a PUT on $drive" "$(per_put "$drive" "= '$part'")" "$low" "$high"
		done <<<"$part_bounds"
		between "what has no name on $drive" "$(per_put "$drive" "NOT IN ('data', 'direct', 'metadata', 'total')
			AND (part NOT LIKE '%: %' OR part LIKE '%: unclassified')")" 0 40
	done
}

@test "MinIO on one drive, 4 KiB PUTs: data, journal, metadata are the drive's bytes" {
	all_systems
	IOT_MINIO=single system_up minio
	IOT_MINIO=single traced_load small 500
	drives_explained 8192 8300 # xl.meta is the object and its 440 bytes
}

@test "MinIO on 2 + 2 drives, 4 KiB PUTs: data, journal, metadata are each drive's" {
	all_systems
	system_up minio
	traced_load small 500
	drives_explained 4096 4200 # half of the object and 440 bytes
}

@test "MinIO whose port is taken says so; killed in a traced load, the sums hold" {
	all_systems
	need python3 python3-minimal
	export IOT_MINIO=single IOT_PORT=19400 IOT_WORK=/var/tmp/iot-test-taken-$$
	python3 -c 'import socket, time; s = socket.create_server(("127.0.0.1", 19400)); print("bound", flush=True); time.sleep(60)' >taken &
	taken=$!
	until grep -q bound taken; do
		kill -0 "$taken" || fail "port 19400 is not free"
		sleep 0.1
	done
	run -1 "$root/workloads/minio.sh" up
	kill "$taken"
	same "message" "$output" "minio.sh: port 19400 is taken by another program: set IOT_PORT"
	[ ! -e "$IOT_WORK" ] || fail "$IOT_WORK was left behind"
	system_up minio
	ledger_file=$BATS_TEST_TMPDIR/ledger.json
	server=$(awk '$1 == "server" { print $2 }' "$IOT_WORK/pids")
	stat=/sys/block/$(awk '$1 == "loop" { print $3 }' "$IOT_WORK/undo" | cut -d/ -f3)/stat
	cat >load <<-END
		#!/bin/bash
		wrote() { awk '{ print \$7 }' $stat; }
		begin=\$(wrote)
		"$root/workloads/minio.sh" load small 5000 >ledger.json &
		load=\$!
		# in the middle: 8 MiB, of about 20 KiB a PUT, are on its device
		while kill -0 \$load 2>/dev/null && [ \$((\$(wrote) - begin)) -lt 16384 ]; do sleep 0.05; done
		kill -KILL $server
		wait \$load || echo \$? >failed
	END
	chmod +x load
	traced --all --ring 64M -- ./load
	same "status of the load" "$(cat failed)" 1
	same "errors" "$(led errors)" 1
	[ "$(led write_ops)" -gt 0 ] || fail "nothing was acknowledged before it was killed"
	same "device bytes" "$(wrote 1)" "$(q "SELECT SUM(t.end_value - t.begin_value - t.outside) FROM truth t JOIN r ON r.run = t.run
		WHERE t.what = 'write_bytes' AND (t.dev >> 20) || ':' || (t.dev & 1048575) IN ($(device_list))")"
}

@test "GlusterFS replica 3: naf_int is three times the payload, waf_norm without it" {
	all_systems
	system_up gluster
	traced_load bulk 1 8388608
	same "payload" "$(led logical_write_bytes)" 8388608
	network() { "$analyze" network "$store" --ledger "$ledger_file" --system gluster --table ratios --format csv | awk -F , -v r="$1" '$1 == r { print $'"$2"' }'; }
	between "naf_int" "$(network naf_int 4)" 3.0 3.1
	same "formula" "$(network naf_int 2)" N_int/L
	ratios() { "$analyze" amplification "$store" --ledger "$ledger_file" --table ratios --format csv | awk -F , -v r="$1" '$2 == "gluster" && $4 == r { print $'"$2"' }'; }
	between "waf_e2e" "$(ratios waf_e2e 7)" 3.0 3.1
	between "waf_norm" "$(ratios waf_norm 7)" 1.0 1.04
	same "L x R" "$(ratios waf_norm 9)" 25165824
	same "what clients wrote to the mount" "$("$analyze" amplification "$store" --table fuse --format csv | awk -F , '$1 == "fuse.glusterfs" { print $3 }')" 8388608
	same "touched, and dirty, on the mount" "$(q "SELECT SUM(l.touched), SUM(l.dirtied), SUM(l.dirty_end) FROM ledger l JOIN r ON r.run = l.run
		JOIN file f ON f.run = l.run AND f.id = l.file JOIN device d ON d.run = f.run AND d.dev = f.dev WHERE d.fs LIKE 'fuse%'")" "8388608 0 0"
}

@test "etcd's own payload: waf_e2e is device bytes over it, naf_cli the client link" {
	system_up etcd
	traced_load small-one 211
	ratios() { "$analyze" amplification "$store" --ledger "$ledger_file" --table ratios --format csv | awk -F , -v r="$1" '$2 == "etcd" && $4 == r { print $'"$2"' }'; }
	same "L" "$(ratios waf_e2e 9)" 216064
	counted
	[ $((100 * $(ratios waf_e2e 8))) -ge $((99 * kernel)) ] || fail "$(ratios waf_e2e 8) of $kernel"
	same "waf_norm with one replica" "$(ratios waf_norm 7)" "$(ratios waf_e2e 7)"
	# keys, JSON and base64: at least 4/3 of the payload
	between "naf_cli" "$("$analyze" network "$store" --ledger "$ledger_file" --system etcd --table ratios --format csv | awk -F , '$1 == "naf_cli" { print $4 }')" 1.34 4
}

# Bytes charged by a tool that looks for a word in the name of the thread which runs when a request is issued or a bio
# queued: the kernel's own trace of these events says the name in brackets.
named_threads() { # EVENT WORD: bytes of the instance's devices by such threads, then of all
	awk -v event="$1:" -v word="$2" '
		index($0, " " event " ") {
			line = substr($0, index($0, event))
			name = substr(line, match(line, /\[[^]]*\]$/) + 1)
			for (n = split(line, field, " "); n; n--) if (field[n] == "+") bytes = field[n + 1] * 512
			split(line, field, " ")
			if (field[3] !~ /W/) next
			all += bytes
			if (index(name, word)) found += bytes
		}
		END { print found + 0, all + 0 }' "$BATS_TEST_TMPDIR/kernel-trace"
}

kernel_trace() { # begin|end
	local dir=/sys/kernel/tracing/instances/iot-test-$$ event filter

	if [ "$1" = end ]; then
		cat "$dir/trace" >"$BATS_TEST_TMPDIR/kernel-trace"
		rmdir "$dir"
		return
	fi
	mkdir "$dir" 2>/dev/null || skip "an instance of the kernel's trace is missing: /sys/kernel/tracing"
	echo 65536 >"$dir/buffer_size_kb"
	filter=$(device_list | tr -d "'" | tr ',' '\n' | awk -F: '{ printf "%sdev == %d", (NR > 1 ? " || " : ""), $1 * 1048576 + $2 }')
	for event in block_rq_issue block_bio_queue; do
		echo "$filter" >"$dir/events/block/$event/filter"
		echo 1 >"$dir/events/block/$event/enable"
	done
}

substring_misses() { # WORKLOAD SYSTEM WORD
	all_systems
	system_up "$1"
	kernel_trace begin
	traced_load bulk
	kernel_trace end
	nothing_lost "$UNDER_WAY"
	all=$(wrote 1)
	mine=$(wrote "p.system = '$2'")
	read -r queued total < <(named_threads block_bio_queue "$3")
	read -r issued _ < <(named_threads block_rq_issue "$3")
	echo "# $2: $mine of $all bytes by iot; by the word '$3' in the thread's name: $queued when queued, $issued when issued" >&3
	[ "$total" -ge "$all" ] || fail "the kernel's trace has $total of $all bytes"
	same "bytes by the word '$3'" "$queued $issued" "0 0"
	[ $((mine * 100)) -ge $((all * 99)) ] || fail "$mine of $all bytes are charged to $2"
}

@test "a search for 'gluster' in thread names finds none of GlusterFS's bytes; iot does" { substring_misses gluster gluster gluster; }
@test "a search for 'ceph' in thread names finds none of Ceph's bytes; iot does" { substring_misses ceph ceph ceph; }

@test "five systems in one run of one store: both tables that compare, and charts" {
	all_systems
	out=$BATS_TEST_TMPDIR/five
	status=0
	"$root/workloads/five.sh" "$out" >tables 2>log || status=$?
	[ "$status" != 77 ] && ! grep -q 'skipped: ' log || skip "$(sed -n 's/.*skipped: //p' log | paste -sd ';')"
	[ "$status" = 0 ] || fail "$(tail -n 20 log)"
	store=$out/run.sqlite
	nothing_lost "$UNDER_WAY"
	same "runs" "$(sql "SELECT COUNT(*) FROM run")" 1
	for word in minio ceph etcd postgresql gluster; do
		[ "$(grep -cE "^$word " tables)" -ge 4 ] || fail "$word is not in each of the tables"
	done
	same "header" "$(sed -n 2p tables | tr -s ' ')" "SYSTEM SYS_R SYS_W VFS_R VFS_W BLK_R BLK_W R_AMP W_AMP"
	for pair in minio:minio ceph:ceph etcd:etcd postgres:postgresql gluster:gluster; do
		system=${pair#*:}
		same "lines of $system in the table of operations" "$(grep -cE "^$system( +[0-9]+){6}( +([0-9]+\.[0-9]{3}|n/a)){2}\$" tables)" 1
		same "writing calls of $system" "$(awk -v s="$system" '$1 == s && NF == 9 { print $3; exit }' tables)" \
			"$(q "SELECT SUM(c.ops) FROM c JOIN process p ON p.run = (SELECT run FROM r) AND p.id = c.owner WHERE p.system = '$system'
				AND c.layer IN ('syscall', 'uring') AND c.dir = 'w' AND c.sub IN ('regular', 'blockdev')")"
		devices=$(sqlite3 :memory: "SELECT group_concat(quote(json_extract(value, '\$.dev'))) FROM json_each(readfile('$out/${pair%:*}-write.json'), '\$.devices')")
		mostly "bytes of $system" "$devices" "p.system = '$system'"
		same "bytes of $system's devices" "$(moved write "$devices" 1)" "$(q "SELECT SUM(t.end_value - t.begin_value - COALESCE(t.outside, 0)) FROM truth t JOIN r ON r.run = t.run
			WHERE t.what = 'write_bytes' AND (t.dev >> 20) || ':' || (t.dev & 1048575) IN ($devices)")"
		components_sum "$system"
	done
	for name in amplification breakdown components latency network timeline; do
		[ -s "$out/$name.svg" ] || fail "no picture of $name"
	done
	empty "left behind" "$(losetup --list --noheadings --output BACK-FILE | grep -F "$IOT_IMG_DIR/" || :)$(find /var/tmp -maxdepth 1 -name 'iot-five.*')"
}
