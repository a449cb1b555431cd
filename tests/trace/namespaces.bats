# SPDX-License-Identifier: GPL-3.0-only
# namespaces.bats - the tracer in a PID namespace, and traced processes in mount namespaces and behind chroot: numbers, paths and
# systems are those that a user inside sees.

load ../lib/helper

setup() {
	need_tracer
	need unshare util-linux
	T=$BATS_TEST_TMPDIR
	store=$T/run.sqlite
	pids=()
}

teardown() {
	local p

	for p in "${pids[@]}"; do kill -KILL "$p" 2>/dev/null || :; done
	for p in "${pids[@]}"; do wait "$p" 2>/dev/null || :; done
}

# A copy of a program that holds what only a system's own programs hold.
program_of() { # TEXT FROM TO
	need objcopy binutils
	printf '%b' "$1" >"$T/mark"
	objcopy --add-section ".go.buildinfo=$T/mark" "$(readlink -f "$(command -v "$2")")" "$3"
}

# Bytes for a program that stays a moment after it wrote them: shorter lives end before their program can be looked at.
slowly() { # BYTES
	head -c "$1" /dev/zero
	sleep 0.4
}

wrote() { # CONDITION ON p: bytes that such processes wrote
	sql "SELECT COALESCE(SUM(t.bytes), 0) FROM agg_total t JOIN kind k ON k.id = t.kind JOIN sub s ON s.id = t.sub
		JOIN process p ON p.id = t.owner WHERE k.name = 'write' AND s.name = 'regular' AND $1"
}

# A root with all that the host has but its own data: in_root DIR
make_root() {
	local d

	mkdir -p "$1"/{proc,data,tmp}
	for d in bin sbin usr lib lib64 etc dev; do
		[ -e "/$d" ] || continue
		mkdir -p "$1/$d"
		mount --rbind "/$d" "$1/$d"
		mount --make-rslave "$1/$d"
	done
}

@test "in a PID namespace a command's 94277 bytes have its number there (defect 17)" {
	unshare -p -f --mount-proc "$trace" -q -o "$store" -- sh -c "echo \$\$ >'$T/pid'; exec '$io' --api write --file '$T/f' --size 4099 --count 23 --pause 20 >/dev/null" ||
		fail "status $?"
	same "bytes" "$(wrote "p.comm = 'iot-io'")" 94277
	same "pid" "$(sql "SELECT pid FROM process WHERE comm = 'iot-io'")" "$(cat "$T/pid")"
	same "executable" "$(sql "SELECT exe FROM process WHERE comm = 'iot-io' AND exe IS NOT NULL")" "$(readlink -f "$io")"
	same "path" "$(sql "SELECT COUNT(*) FROM file WHERE path = '$T/f'")" 1
}

@test "in a PID namespace with the host's /proc too; --pid takes it (defect 17)" {
	unshare -p -f "$trace" -q -o "$store" -- sh -c "echo \$\$ >'$T/pid'; exec '$io' --api write --file '$T/f' --size 4099 --count 23 --pause 20 >/dev/null" ||
		fail "status $?"
	same "bytes" "$(wrote "p.comm = 'iot-io'")" 94277
	same "pid" "$(sql "SELECT pid FROM process WHERE comm = 'iot-io'")" "$(cat "$T/pid")"
	same "executable" "$(sql "SELECT exe FROM process WHERE comm = 'iot-io' AND exe IS NOT NULL")" "$(readlink -f "$io")"
	rm "$store"
	unshare -p -f sh -c "
		(until [ -e '$T/go' ]; do sleep 0.1; done; exec '$io' --api write --file '$T/g' --size 4099 --count 23 >/dev/null) &
		'$trace' -q -o '$store' --settle none --pid \$! -- sh -c ': >\"$T/go\"; sleep 2'"
	same "bytes" "$(wrote "p.comm = 'iot-io'")" 94277
}

@test "in a PID namespace the tracer counts itself apart (defect 17)" {
	unshare -p -f --mount-proc "$trace" -q --all -o "$store" -- sh -c "echo go >'$T/go'; sleep 1" &
	wait_for test -s "$T/go"
	as iot-outside --api write --file "$T/outside" --size 4099 --count 23 >/dev/null
	wait $!
	same "bytes" "$(wrote "p.comm = 'iot-outside' AND p.pid = 0 AND p.exe IS NULL")" 94277
	same "the tracer among the traced" "$(sql "SELECT COUNT(*) FROM process WHERE comm = 'iot-trace' AND pid <> 0 AND id IN (SELECT owner FROM agg_total WHERE bytes > 0)")" 0
	[ "$(sql "SELECT COUNT(*) FROM agg_total WHERE owner = 1")" -gt 0 ] || fail "nothing is the tracer's own"
}

@test "a /proc of another PID namespace is refused with the reason (defect 17)" {
	need_plain "$trace" "they read a /proc of their own, their options too"
	(exec unshare -p -f --mount-proc sleep 60) &
	pids+=($!)
	wait_for pgrep -P "$!" sleep
	inner=$(pgrep -P "$!" sleep)
	pids+=("$inner")
	bats_require_minimum_version 1.5.0
	run -1 nsenter -t "$inner" -m -r "$trace" -q -o "$store" -- true
	same "message" "$output" "iot-trace: /proc is not that of this PID namespace; mount it: mount -t proc proc /proc"
	run -1 unshare -p "$trace" -q -o "$store" -- true
	[[ "$output" == "iot-trace: the command would begin a PID namespace that this process is not in"* ]] || fail "$output"
	[ ! -e "$store" ] || fail "a store was made"
}

@test "behind a chroot: the process's path, components, outer name (defects 19, 57)" {
	program_of 'path\tgo.etcd.io/etcd\n' dd "$T/etcd-program"
	cat >"$T/inside" <<-END
		set -eu
		$(declare -f make_root)
		$(declare -f slowly)
		make_root '$T/root'
		mkdir -p '$T/root/data/member/snap' '$T/root/data/member/wal'
		cp '$T/etcd-program' '$T/root/etcd'
		slowly 94277 | '$trace' -q -o '$store' -- chroot '$T/root' /etcd of=/data/member/wal/0.wal bs=4099 iflag=fullblock status=none 2>'$T/log'
	END
	unshare -m bash "$T/inside" || fail "$(cat "$T/log")"
	same "path and component" "$(sql "SELECT path, component FROM file WHERE path LIKE '%0.wal'")" "/data/member/wal/0.wal wal"
	same "instance" "$(sql "SELECT DISTINCT instance FROM process WHERE system = 'etcd'")" "$T/root/data"
	same "bytes" "$(wrote "p.system = 'etcd'")" 94277
}

@test "a server in a mount namespace is not the one of the same path (defect 19)" {
	program_of 'path\tgo.etcd.io/etcd\n' dd "$T/etcd"
	mkdir -p "$T"/data/member/{snap,wal}
	cat >"$T/load" <<-END
		$(declare -f slowly)
		slowly 94277 | '$T/etcd' of='$T/data/member/wal/0.wal' bs=4099 iflag=fullblock status=none
		slowly 118871 | unshare -m sh -c "mount -t tmpfs none '$T/data' && mkdir -p '$T/data/member/snap' '$T/data/member/wal' &&
			exec '$T/etcd' of='$T/data/member/wal/0.wal' bs=4099 iflag=fullblock status=none"
	END
	"$trace" -q -o "$store" -- bash "$T/load"
	same "outside" "$(wrote "p.system = 'etcd' AND p.instance = '$T/data'")" 94277
	same "inside" "$(wrote "p.system = 'etcd' AND p.instance LIKE '$T/data [0:%]'")" 118871
}

# In a mount namespace or behind a chroot, with a data folder that only those inside have: what lives for a moment and ends with its namespace.
short_lived() { # DATA FOLDER AS IT IS CALLED INSIDE
	mkdir -p "$1/base/1" "$1/global" "$1/pg_notify"
	echo 15 >"$1/PG_VERSION"
	: >"$1/global/pg_control"
	(head -c 94277 /dev/zero; sleep 0.4) | dd of="$1/base/1/16384" bs=4099 iflag=fullblock status=none # somebody stays for a moment
	for n in 1 2 3 4 5 6 7; do
		dd if=/dev/zero of="$1/pg_notify/000$n" bs=4099 count="$n" status=none
	done
}

@test "files of processes gone with their mount namespace have path and component" {
	cat >"$T/load" <<-END
		$(declare -f short_lived make_root)
		export -f short_lived
		unshare -m bash -c "mkdir '$T/data'; mount -t tmpfs none '$T/data'; short_lived '$T/data'"
		make_root '$T/root'
		chroot '$T/root' bash -c 'short_lived /data/pg'
	END
	unshare -m "$trace" -q -o "$store" -- bash "$T/load"
	for folder in "$T/data" /data/pg; do
		same "files below $folder" "$(sql "SELECT f.component, COUNT(*), SUM(i.write_bytes) FROM file f JOIN file_io i ON i.run = f.run AND i.file = f.id
			WHERE substr(path, 1, length('$folder')) = '$folder' AND (path LIKE '%/pg_notify/%' OR path LIKE '%/base/%') GROUP BY 1 ORDER BY 1" | paste -sd ,)" \
			"data 1 94277,metadata 7 $((28 * 4099))"
	done
}

# The tracer is stopped while the last of a namespace ends, after it has looked at more folders than it remembers.
@test "a data root of a namespace that is gone stays known for any number of folders" {
	cat >"$T/inside" <<-END
		mount -t tmpfs none '$T/data'
		mkdir -p '$T/data/base/1' '$T/data/global' '$T/data/pg_notify' '$T/other'
		echo 15 >'$T/data/PG_VERSION'
		: >'$T/data/global/pg_control'
		(head -c 94277 /dev/zero; sleep 0.4) | dd of='$T/data/base/1/16384' bs=4099 iflag=fullblock status=none
		for n in {1..3000}; do
			mkdir '$T/other/'\$n
			echo >'$T/other/'\$n/file
		done
		sleep 0.5
		kill -STOP "\$1"
		dd if=/dev/zero of='$T/data/pg_notify/0001' bs=4099 count=7 status=none
	END
	cat >"$T/load" <<-END
		mkdir '$T/data'
		unshare -m bash '$T/inside' "\$PPID"
		kill -CONT "\$PPID"
	END
	unshare -m "$trace" -q -o "$store" -- bash "$T/load"
	same "files of the root" "$(sql "SELECT f.component, SUM(i.write_bytes) FROM file f JOIN file_io i ON i.run = f.run AND i.file = f.id
		WHERE path LIKE '%/base/1/16384' OR path LIKE '%/pg_notify/0001' GROUP BY 1 ORDER BY 1" | paste -sd ,)" "data 94277,metadata $((7 * 4099))"
}

@test "exec -a ceph-osd dd, a redis title of dd: charged to dd, a claim (defect 35)" {
	cat >"$T/load" <<-END
		$(declare -f slowly)
		slowly 94277 | (exec -a ceph-osd dd of='$T/a' bs=4099 iflag=fullblock status=none)
		slowly 118871 | (exec -a 'redis-server *:6379' dd of='$T/b' bs=4099 iflag=fullblock status=none)
		cp "\$(command -v dd)" '$T/ceph-osd'
		slowly 127069 | '$T/ceph-osd' of='$T/c' bs=4099 iflag=fullblock status=none
	END
	"$trace" -q -o "$store" -- bash "$T/load"
	same "processes of systems" "$(sql "SELECT COUNT(*) FROM process WHERE system IS NOT NULL")" 0
	same "claims" "$(sql "SELECT COUNT(*) FROM process WHERE matched LIKE 'says it is %; not confirmed: program % is not %' AND system IS NULL")" 3
	same "bytes of dd" "$(wrote "p.comm = 'dd'")" $((94277 + 118871))
	same "systems in the report" "$("$analyze" amplification "$store" --table summary --format csv | grep -cE '^(ceph|redis),' || :)" 0
}

@test "a renamed server started in the run is known by its files (defect 35)" {
	local options

	need redis-server redis-server
	cp "$(readlink -f "$(command -v redis-server)")" "$T/cachestore"
	cat >"$T/load" <<-END
		mkdir -p '$T/data'
		'$T/cachestore' --bind 127.0.0.1 --port \$1 --dir '$T/data' --appendonly yes --save '' >/dev/null &
		i=0
		until redis-cli -p \$1 set key value | grep -q OK; do i=\$((i + 1)); [ \$i -lt 100 ] || exit 1; sleep 0.1; done
		'$trace' --systems >'$T/systems'
		kill \$!
		wait
		rm -r '$T/data'
	END
	for options in "" --no-events "--no-events --ring 64K"; do
		rm -f "$store"
		# shellcheck disable=SC2086
		"$trace" -q $options -o "$store" -- sh "$T/load" $((20000 + RANDOM % 10000)) >/dev/null 2>&1
		same "instance $options" "$(sql "SELECT DISTINCT system, role, instance FROM process WHERE comm = 'cachestore' AND exe = '$T/cachestore'")" "redis server $T/data"
		grep -qE "^[0-9]+ +redis +server +files .*$T/data$" "$T/systems" || fail "$(cat "$T/systems")"
	done
}

@test "a copied PostgreSQL is PostgreSQL, by rules that were run (defect 36)" {
	local bin

	bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
	[ -n "$bin" ] || skip "postgres is missing: install the Debian package postgresql"
	chmod 711 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/* "$T" 2>/dev/null || :
	install -d -o postgres -g postgres "$T/pg"
	as_postgres() { (cd / && setpriv --reuid=postgres --regid=postgres --init-groups env -i PATH="$bin:/usr/bin:/bin" LC_ALL=C.UTF-8 "$@"); }
	as_postgres initdb -D "$T/pg" -A trust --no-sync >"$T/log" 2>&1 || fail "$(cat "$T/log")"
	# next to the folder of its libraries: it looks for them relative to itself
	cp "$bin/postgres" "$T/pgcopy"
	"$trace" -q -o "$store" -- bash -c "cd / && echo 'create table t as select generate_series(1, 1000);' |
		setpriv --reuid=postgres --regid=postgres --init-groups '$T/pgcopy' --single -D '$T/pg' postgres >'$T/log' 2>&1"
	same "what it is" "$(sql "SELECT DISTINCT system, instance, matched LIKE '%untested%' FROM process WHERE exe = '$T/pgcopy' AND system IS NOT NULL")" "postgresql $T/pg 0"
}

@test "functions that the kernel hides are named, also by --probes (defect 47)" {
	sed 's/^[0-9a-f]*/0000000000000000/' /proc/kallsyms >"$T/kallsyms"
	hidden() { unshare -m sh -c 'mount --bind "$1" /proc/kallsyms && shift && exec "$@"' sh "$T/kallsyms" "$@"; }
	hidden "$trace" --probes >"$T/probes"
	grep -qE '^tier +reduced$' "$T/probes"
	grep -qE '^all +core__functions .*loop_workfn.* no +addresses hidden .*loop devices can count twice' "$T/probes"
	hidden "$trace" -o "$store" -- true 2>"$T/messages"
	grep -qE '^iot-trace: tier reduced: addresses of kernel functions are hidden .*loop devices can count twice' "$T/messages"
	same "tier" "$(sql "SELECT tier FROM run")" reduced
	same "probe" "$(sql "SELECT chosen FROM probe WHERE name = 'core__functions'")" 0
}
