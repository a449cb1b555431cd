# SPDX-License-Identifier: GPL-3.0-only
# doctor.bats - a kernel or rights that are not enough: messages and exit statuses.

load ../lib/helper

setup() {
	cd "$BATS_TEST_TMPDIR"
	tracers=()
	need_tracer
}

# The tracer, by a kernel that refuses a program.
refusing() { # PROGRAM ARGS...
	need cc gcc
	need_plain "$trace" "they must be the first library"
	[ -e refuse.so ] || cc -shared -fPIC -D_GNU_SOURCE -o refuse.so "$root/tests/lib/refuse.c"
	status=0
	IOT_REFUSE=$1 LD_PRELOAD=$PWD/refuse.so "$trace" "${@:2}" >out.log 2>err.log || status=$?
}

@test "a refused program that bytes come from is an error, and no output is left" {
	local name

	for name in syscall__exit block__queue uring__complete; do
		refusing "$name" -q -o run.jsonl -o run.sqlite -- touch ran
		same "status without $name" "$status" 1
		grep -qE "^iot-trace: Linux $(uname -r) refuses program $name of layer [a-z]+ \(made by .*\): Permission denied: 1009: \(85\) refused for a test\$" err.log ||
			fail "$(cat err.log)"
		grep -q -- '--partial for bounds' err.log
		same "lines of $name" "$(wc -l <err.log)" 2
		empty "output" "$(cat out.log)$(ls run.* ran 2>/dev/null || :)"
	done
}

@test "--partial records what is left: n/a where nothing was measured, with the reason" {
	refusing syscall__exit -q --partial -o run.sqlite -- dd if=/dev/zero of=f bs=4099 count=23 status=none
	same status "$status" 0
	store=run.sqlite
	same "calls" "$(total ops "layer = 'syscall'")" 0
	same "loss" "$(sql "SELECT layer, n FROM lost WHERE what = 'program refused by the kernel' AND n > 0")" "syscall 1"
	"$analyze" amplification run.sqlite --table summary --format csv >summary.csv
	same "S" "$(awk -F, '$1 == "all" { print $4 }' summary.csv)" n/a
	"$analyze" amplification run.sqlite --table ratios --format csv >ratios.csv
	grep -q ',waf_sys,.*,n/a,.*layer syscall was not measured (syscall__exit: Permission denied: 1009' ratios.csv || fail "$(cat ratios.csv)"
}

@test "--partial: ratios are bounds where a file system's program was refused" {
	body() {
		refusing ext4__mark -q --partial -o run.sqlite -- dd if=/dev/zero of="$IOT_MNT/f" bs=4099 count=23 conv=fsync status=none
		same status "$status" 0
		store=run.sqlite
		same "S" "$(total bytes "kind = 'write' AND comm = 'dd' AND sub = 'regular'")" 94277
		same "loss" "$(sql "SELECT layer, n FROM lost WHERE what = 'program refused by the kernel' AND n > 0")" "fs 1"
		"$analyze" amplification run.sqlite --table ratios --format csv >ratios.csv
		grep -qE '^process,dd,[0-9]+,waf_sys,[^,]*,>=?,' ratios.csv || fail "$(cat ratios.csv)"
	}
	with_fs ext4 128M -- body
}

@test "a program without which no byte is missing, or not asked for, is no error" {
	refusing core__rename -q -o run.jsonl -- true
	same "status without core__rename" "$status" 0
	refusing block__queue -q --layers syscall -o run.jsonl -- true
	same "status without block__queue" "$status" 0
}

@test "a kernel that renamed both tracepoints of a pair has the reduced tier, and why" {
	local here gone

	need cc gcc
	need mkfs.xfs xfsprogs
	need_plain "$trace" "they must be the first library"
	ldd "$trace" | grep -q libbpf || skip "libbpf as a library is missing: names are hidden in front of it"
	cc -shared -fPIC -D_GNU_SOURCE -o refuse.so "$root/tests/lib/refuse.c"
	body() {
		IOT_HIDE="iomap_writeback_folio iomap_writepage" LD_PRELOAD=$PWD/refuse.so "$trace" -o run.sqlite -- true 2>err.log
		grep -qF 'iot-trace: tier reduced: xfs__writeback is not attached: no such tracepoint in the types (BTF) of kernel and modules; nor is xfs__writeback_page attached; --probes lists all' err.log ||
			fail "$(cat err.log)"
		store=run.sqlite
		same "tier" "$(sql "SELECT tier FROM run")" reduced
		same "tier of XFS" "$(sql "SELECT chosen, reason FROM probe WHERE name = 'tier__xfs'")" \
			"0 no such tracepoint in the types (BTF) of kernel and modules; nor is xfs__writeback_page attached"
		# without the one that this kernel does not have anyhow nothing is missing
		here=$(sql "SELECT target FROM probe WHERE name LIKE 'xfs__writeback%' AND reason LIKE 'no such tracepoint%'" | wc -l)
		same "tracepoints hidden" "$here" 2
		"$trace" --probes >whole
		gone=$(awk '$2 ~ /^xfs__writeback/ && $4 == "no" { sub(".*/", "", $3); print $3 }' whole)
		same "names of the other" "$(wc -w <<<"$gone")" 1
		IOT_HIDE=$gone LD_PRELOAD=$PWD/refuse.so "$trace" --probes >probes
		same "tier with one" "$(awk '$1 == "tier" { print $2 }' probes)" "$(awk '$1 == "tier" { print $2 }' whole)"
	}
	with_fs xfs 320M -- body
}

# A program for older kernels alone has another for newer ones; where a kernel has neither, something says so.
@test "each program of a renamed tracepoint is needed, by column or, a feed or full" {
	sed -n '/^const struct program programs/,/^};/p' "$root/tracer/probe/probe_rows.c" >rows
	sed -n '/^const struct feed feeds/,/^};/p' "$root/tracer/probe/probe_rows.c" >feeds
	awk -F'"' 'NF > 2 && /until [0-9]/ && !/reduced/ { print $2 }' rows >older
	[ "$(wc -l <older)" -ge 5 ] || fail "$(cat older)"
	while read -r name; do
		grep -qF ".or = \"$name\"" rows || grep -qF "\"$name\"" feeds || grep -qF "probes_chosen(p, \"$name\")" "$root/tracer/run/flows.c" ||
			fail "$name is in no column .or and in no feed, and nothing is n/a without it"
	done <older
}

@test "a program refused at a mount during the run: status 1, and bounds" {
	need mkfs.xfs xfsprogs
	need_unmounted xfs
	truncate -s 320M "$IOT_IMG_DIR/late.img"
	mkfs.xfs -q "$IOT_IMG_DIR/late.img"
	mkdir mnt
	printf 'mount -o loop "$1" mnt && sleep 3; umount mnt\n' >script
	refusing xfs__commit -q -o run.sqlite -- unshare --mount sh script "$IOT_IMG_DIR/late.img"
	rm "$IOT_IMG_DIR/late.img"
	same status "$status" 1
	grep -q 'a file system was mounted during the run, and the kernel refuses xfs__commit: Permission denied: 1009' err.log || fail "$(cat err.log)"
	store=run.sqlite
	same "loss" "$(sql "SELECT layer, n FROM lost WHERE what = 'program refused by the kernel' AND n > 0")" "fs 1"
	[[ $(sql "SELECT reason FROM probe WHERE name = 'late__xfs'") == "xfs__commit: Permission denied"* ]]
}

# --- the doctor ---

# Its screen, and its status: 0 where no line has a gap.
examined() { # COMMAND...
	status=0
	"$@" >screen 2>err.log || status=$?
	same "status" "$status" "$(grep -q '^GAP' screen && echo 1 || echo 0)"
	grep -qE '^A full run (works here \(tier full\)|does not work here: see the lines? with GAP)\.$' screen || fail "$(cat screen err.log)"
	empty "marks" "$(grep -vE '^((ok|note|\?|GAP) +|A full run | {17}-> | {20}[^ ]| {5}setcap )' screen || :)"
	empty "wide" "$(grep -v '^     setcap ' screen | grep -E '.{81}' || :)"
}

@test "--doctor: root's is one screen that names each layer and file system" {
	examined "$trace" --doctor
	for name in kernel 'types (BTF)' lockdown kallsyms 'bpf(2)' capabilities namespaces cgroup memory calls io_uring 'page cache' ext4 xfs btrfs block sockets; do
		same "lines of $name" "$(cut -c7-19 screen | sed 's/ *$//' | grep -cxF "$name")" 1
	done
	if grep -q '^GAP' screen; then skip "a kernel that gives everything is missing: $(grep -A3 '^GAP' screen)"; fi
	[ "$(wc -l <screen)" -le 24 ] || fail "$(cat screen)"
}

@test "--doctor: an ordinary user reads which capabilities are missing, and setcap" {
	need setpriv util-linux
	chmod 711 .
	examined as_user "$trace" --doctor
	same status "$status" 1
	grep -q '^GAP   capabilities  missing: CAP_BPF, CAP_PERFMON, ' screen
	grep -qE "^     setcap cap_bpf,cap_perfmon,.*=ep $trace\$" screen
	grep -q '^GAP   bpf(2)  ' screen
	grep -qE '^\?     layers +processes, calls' screen || grep -qE '^(GAP|note) +calls' screen
}

@test "--doctor: each gap has its cure: types, programs, addresses, namespaces, cgroups" {
	need unshare util-linux
	examined unshare --mount sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$0" --doctor' "$trace"
	same "status without types" "$status" 1
	grep -A5 '^GAP   types' screen | grep -q 'CONFIG_DEBUG_INFO_BTF'
	cp /sys/kernel/btf/vmlinux other
	examined unshare --mount sh -c 'mount --bind other /sys/kernel/btf/vmlinux && exec "$0" --doctor' "$trace"
	same "status with other types" "$status" 1
	tr -s ' \n' ' ' <screen | grep -q "GAP types (BTF) the types in /sys/kernel/btf/vmlinux are not the running kernel's own: something is mounted over"
	sed 's/^[0-9a-f]*/0000000000000000/' /proc/kallsyms >hidden
	examined unshare --mount sh -c 'mount --bind hidden /proc/kallsyms && exec "$0" --doctor' "$trace"
	same "status without addresses" "$status" 1
	grep -A4 '^GAP   kallsyms' screen | grep -q 'kptr_restrict'
	examined unshare --pid --fork --mount-proc "$trace" --doctor
	tr -s ' \n' ' ' <screen | grep -q 'note namespaces a PID namespace: .* -> start it in the host.s: --pid=host'
	examined unshare --mount sh -c 'umount -R /sys/fs/cgroup && exec "$0" --doctor' "$trace"
	grep -q '^note  cgroup        none is mounted: --cgroup does not work' screen
}

@test "a user namespace gives no capability for BPF: the doctor and a run say so" {
	need unshare util-linux
	unshare --user true 2>/dev/null || skip "user namespaces are missing here, as in a chroot"
	examined unshare --user --map-root-user "$trace" --doctor
	same "status" "$status" 1
	tr -s ' \n' ' ' <screen | grep -q 'GAP capabilities missing: .* -> BPF takes no capability of a user namespace'
	run unshare --user --map-root-user "$trace" -o run.jsonl -- true
	same "status of a run" "$status" 1
	[ ! -e run.jsonl ]
	[[ ${#lines[@]} = 1 && $output == *"no capability of a user namespace"* ]] || fail "$output"
}

@test "--doctor: a program of a mounted file system that the kernel refuses is a gap" {
	body() {
		refusing ext4__mark --doctor
		same "status" "$status" 1
		tr -s ' \n' ' ' <out.log | grep -q 'GAP ext4 the kernel refuses ext4__mark: Permission denied: 1009: (85) refused for a test -> take a build'
	}
	with_fs ext4 128M -- body
}

@test "types of another kernel, programs for another machine: refused in one sentence" {
	need unshare util-linux
	cp /sys/kernel/btf/vmlinux other
	status=0
	unshare --mount sh -c 'mount --bind other /sys/kernel/btf/vmlinux && exec "$0" -o run.jsonl -- true' "$trace" 2>err.log || status=$?
	same "status" "$status" 1
	same "lines" "$(wc -l <err.log)" 1
	grep -q "not the running kernel's own" err.log || fail "$(cat err.log)"
	[ ! -e run.jsonl ]
	grep -qa ', for x86$' "$trace" || skip "a build whose objects say for which machine they are is missing"
	sed 's/, for x86$/, for arm/' "$trace" >other
	chmod +x other
	run ./other -o run.jsonl -- true
	same status "$status" 1
	[[ $output == *"the kernel objects were made for arm, and this machine is x86"* ]]
}

# --- capabilities of the file (setcap) ---

caps=cap_bpf,cap_perfmon,cap_syslog,cap_sys_ptrace,cap_dac_read_search,cap_sys_nice

as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

# A copy that has them, and a folder of an ordinary user.
given() { # CAPABILITIES
	need setcap libcap2-bin
	need setpriv util-linux
	need_plain "$trace" "a program with capabilities takes no options of theirs"
	place=$(mktemp -d /var/tmp/iot-doctor.XXXXXX)
	chmod 711 "$place"
	cp "$trace" "$analyze" "$place/"
	mkdir "$place/his"
	chown 65534:65534 "$place/his"
	setcap "$1=ep" "$place/iot-trace" || skip "a file system with extended attributes is missing"
	cd "$place/his"
}

teardown() {
	cd /
	[ "${#tracers[@]}" = 0 ] || kill "${tracers[@]}" 2>/dev/null || :
	[ ! -d "${place-/none}/work" ] || "$root/workloads/postgres.sh" down >&2 || :
	[ -z "${place-}" ] || rm -rf --one-file-system "$place"
	repeat_skipped
}

@test "setcap: an ordinary user has the full tier; the command has no capability" {
	given "$caps"
	as_user ../iot-trace -o run.sqlite -o run.jsonl -- sh -c 'grep ^Cap /proc/self/status >caps; exec dd if=/dev/zero of=f bs=4099 count=23 conv=fsync status=none' 2>err.log
	same "whose" "$(stat -c '%u %a' run.sqlite run.jsonl | sort -u)" "65534 600"
	same "capabilities of the command" "$(awk '$1 != "CapBnd:" { print $2 }' caps | sort -u)" 0000000000000000
	store=run.sqlite
	same "tier" "$(sql 'SELECT tier FROM run')" "$("$trace" --probes | awk '$1 == "tier" { print $2 }')"
	same "S" "$(total bytes "kind = 'write' AND comm = 'dd' AND sub = 'regular'")" 94277
	between "memory" "$(sql 'SELECT map_bytes FROM run')" 1000000 400000000
	as_user ../iot-trace -- true >table 2>err.log || fail "$(cat err.log)"
	grep -q '^finding' table
}

@test "setcap: what an ordinary user names is opened with his own rights" {
	given "$caps,cap_dac_override,cap_sys_admin"
	echo '{ "secret": "of root" }' >../secret.json
	chmod 600 ../secret.json
	mkdir -m 700 ../closed
	echo '{}' >../closed/open.json
	chmod 666 ../closed/open.json
	cp ../secret.json ../before
	sleep 30 >../secret.json.out &
	pids=$!
	for file in ../secret.json ../closed/open.json ../closed/new.jsonl ../closed/new.sqlite ../new.jsonl ../new.sqlite "/proc/$pids/fd/1"; do
		status=0
		as_user ../iot-trace --format jsonl -o "$file" -- true >out.log 2>err.log || status=$?
		same "status of $file" "$status" 1
		grep -q 'Permission denied' err.log || fail "$file: $(cat err.log)"
		status=0
		as_user ../iot-trace --ready "$file" -o mine.jsonl -- true >out.log 2>err.log || status=$?
		same "status of --ready $file" "$status" 1
	done
	for file in ../secret.json ../closed/open.json; do
		status=0
		as_user ../iot-trace --systems "$file" -o mine.jsonl -- true >out.log 2>err.log || status=$?
		[ "$status" != 0 ] || fail "rules of $file were read"
		if grep -q 'of root' err.log; then fail "$(cat err.log)"; fi
	done
	kill "$pids"
	empty "made" "$(ls ../new.* ../closed/new.* 2>/dev/null || :)"
	same "secret" "$(cat ../secret.json)" "$(cat ../before)"
	same "what root printed" "$(stat -c %s ../secret.json.out)" 0
	for command in 'cat ../secret.json' 'cat ../closed/open.json' 'ls ../closed'; do
		status=0
		# shellcheck disable=SC2086
		as_user ../iot-trace -q -o mine.jsonl -- $command >out.log 2>err.log || status=$?
		[ "$status" != 0 ] || fail "$command: $(cat out.log)"
	done
	# what the environment names is not trusted either
	as_user env TMPDIR="$PWD/../closed" IOT_LIMIT_S=x LD_PRELOAD=/none.so ../iot-trace -q -o mine.jsonl -- true
}

@test "setcap: each capability that is taken away is named, with what that means" {
	given "$caps"
	for cap in ${caps//,/ }; do
		setcap "$(sed "s/\b$cap\b,\?//; s/,\$//" <<<"$caps")=ep" ../iot-trace
		status=0
		as_user ../iot-trace -o run.jsonl -- true 2>err.log || status=$?
		case $cap in
		cap_bpf | cap_perfmon)
			same "status without $cap" "$status" 1
			grep -qi "^iot-trace: must be run as root, or with capabilities: $cap missing (--doctor has the line for setcap)" err.log
			same "lines" "$(wc -l <err.log)" 1
			;;
		cap_syslog)
			same "status without $cap" "$status" 0
			grep -q 'CAP_SYSLOG' err.log || grep -q '^[0-9a-f]*[1-9a-f]' <(as_user cat /proc/kallsyms) || fail "$(cat err.log)"
			;;
		*)
			same "status without $cap" "$status" 0
			grep -qi "^iot-trace: without $cap less is known (--doctor says what)" err.log || fail "$(cat err.log)"
			;;
		esac
		empty "wide" "$(grep -E '.{240}' err.log || :)"
	done
}

# With IOT_SYSTEMS: at the same time as root's tracer, over the same load.
@test "setcap: PostgreSQL's bytes are root's, kind by kind" {
	[ -n "${IOT_SYSTEMS-}" ] || skip "IOT_SYSTEMS is not set: it starts a PostgreSQL server"
	given "$caps"
	export IOT_WORK=$place/work
	"$root/workloads/postgres.sh" up >"$BATS_TEST_TMPDIR/up" 2>&1 3>&-
	sleep 20 # until the server has logged who runs, which it does by itself
	"$trace" -q --comm postgres --ready "$place/root.ready" -o "$place/root.sqlite" 3>&- &
	tracers+=($!)
	setpriv --reuid=65534 --regid=65534 --clear-groups ../iot-trace -q --comm postgres --ready his.ready -o his.sqlite 3>&- &
	tracers+=($!)
	timeout 120 sh -c 'until [ -e "$0" ] && [ -e his.ready ]; do sleep 0.2; done' "$place/root.ready"
	"$root/workloads/postgres.sh" load small 400 >load.json
	sync -f "$IOT_WORK/mnt/d1"
	sleep 2
	kill -INT "${tracers[@]}"
	wait "${tracers[@]}"
	tracers=()
	for store in "$place/root.sqlite" his.sqlite; do
		q "SELECT layer, kind, cause, SUM(ops), SUM(bytes), SUM(touched) FROM c WHERE comm = 'postgres' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3" >"$store.sums"
	done
	[ "$(wc -l <his.sqlite.sums)" -ge 20 ] || fail "$(cat his.sqlite.sums)"
	diff "$place/root.sqlite.sums" his.sqlite.sums
}

# The sysctl is the machine's: it is put back also when a check fails.
@test "-v says how often each program ran, where the kernel measures it" {
	[ -w /proc/sys/kernel/bpf_stats_enabled ] || skip "kernel.bpf_stats_enabled is missing here"
	(
		stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
		trap 'echo "$stats" > /proc/sys/kernel/bpf_stats_enabled' EXIT
		echo 1 > /proc/sys/kernel/bpf_stats_enabled
		"$trace" -v --no-events -o run.sqlite -- "$io" --api write --file "$PWD/f" --count 1009 > /dev/null 2> said
		runs=$(sed -n 's/^iot-trace: program syscall__exit: \([0-9]*\) runs, [0-9]* ns each$/\1/p' said)
		[ "${runs:-0}" -ge 1009 ] || fail "$(cat said)"
		echo 0 > /proc/sys/kernel/bpf_stats_enabled
		"$trace" -v --no-events -o run.sqlite -- true 2> said
		empty "not measured" "$(grep 'iot-trace: program' said || :)"
	)
}
