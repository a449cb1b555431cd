# SPDX-License-Identifier: GPL-3.0-only
# capacity.bats - each table of the kernel side, as small as an option makes it: each loss has a name, no number is wrong, and later
# owners have their bytes. IOT_TABLES=all: one table at a time, which takes four minutes; else several in one run: those of requests
# and pages, with IOT_LONG=1 those of owners too.
#
# To add a table: a row in `rows`.

load ../lib/helper

# TABLE=N GROUP LOSS: what has no room is counted so; "-": it is not a loss, because the table throws out what was not used for long,
# and what is not found then is nobody's, of no kind, or measured later. "~": how many are under way at once is up to the device.
rows() {
	cat <<-END
		writers=1024 io writer table full
		claims=512 io page writer table full
		bios=32 io bio table full
		requests=32 io ~request table full: no queue time
		aios=32 io libaio request table full
		urings=32 io request table full
		filesum_index=32 io table of sums by file full
		ra_chunks=32 io -
		txn_shares=32 io owner of a transaction thrown out
		files=32 io -
		journals=32 io -
		loop_writer=32 io -
		uppers=32 io -
		held=32 io -
		flushers=32 io -
		aio_rings=32 io -
		late=32 io -
		outside=32 io -
		puts=32 io table of what calls put into journals full
		puts_rest=32 io -
		cells=1024 who aggregate table full
		procs=128 all process table full
		want_pids=64 all process table full
	END
}
# Those of sockets are filled in net.bats; functions are not more than iot knows of; those of XFS and btrfs throw out what is oldest, whose bytes then
# have no owner; those of the reduced tier hold what task storage and its numbers do elsewhere.
# Owners of cached pages are forgotten where their table is full, which leaves pages without owner.
# Those of whole layer net (sockets.bats) are as many as closes and connections in progress, or throw out what is oldest.
# That of when requests of libaio wrote is filled in rings.bats, that of asynchronous operations of the VFS exists where that is measured; control groups that are wanted are as many as were asked for.
elsewhere="flow_owners net_closing net_connecting net_dropped_of aio_times btrfs_blocks btrfs_extents btrfs_inodes btrfs_mounts btrfs_unsent flows numbers socket_roles tasks functions cell_index spans stated xfs_checkpoints xfs_inodes xfs_items xfs_logs xfs_sync_writes want_groups want_paths on_disk uring_multi vfs_asyncs"

setup() {
	own_run
	built forker
	for name in early late; do ln -sf "$io" $name; done
	export early_s=$((2 * 1000 * 4096 + 64 * 65536 + 3 * 500 * 4096)) late_s=$((1024 * 1024 + 2 * 64 * 4096))
}

# First everything at once, by many; when they have ended, one that writes 1.5 MiB.
load_of() { # FOLDER
	local pids='' n x

	cd "$1/bin"
	begin() {
		"$@" >/dev/null &
		pids="$pids $!"
	}
	ends() { # reads, syncs a file of its own, and lives on
		read -r x <Makefile
		echo a >"$1/d/x$2"
		sync "$1/d/x$2"
		read -r x <"$1/hold"
		: "$x"
	}
	begin ./early --api libaio --file "$1/aio" --count 1000 --depth 256 --pattern rand --sync fsync
	begin ./early --api uring-async --file "$1/uring" --count 1000 --depth 256 --pattern rand --sync fsync
	begin ./early --api direct --file "$1/direct" --size 64k --count 64 --threads 8
	for n in 1 2 3; do begin ./early --api pwrite --file "$1/shared" --count 500 --pattern rand --seed "$n"; done
	begin ./forker 1000 files "$1/d"
	begin cat "$1/source"
	for n in $(seq 40); do begin ./reap --api libaio-user --file "$1/r$n" --count 16 --depth 4; done
	for n in $(seq 170); do begin ends "$1" "$n"; done
	until [ "$(find "$1/d" -name 'x*' | wc -l)" = 170 ]; do sleep 0.1; done
	exec 9<>"$1/hold"
	printf '%170s' '' | tr ' ' '\n' >&9
	for n in $pids; do wait "$n"; done
	sync -f "$1"
	sleep 8 # writers of clean files leave after three of the tracer's seconds, and those that were dirty in that moment a second later
	./late --api pwrite --file "$1/late" --count 256 --sync fsync >/dev/null
	./late --api libaio --file "$1/lateaio" --count 64 --depth 16 --sync fsync >/dev/null
	./late --api uring --file "$1/lateuring" --count 64 --depth 16 --sync fsync >/dev/null
}

s_of() { total bytes "kind IN ('pwrite64', 'aio_write', 'uring_write') AND comm = '$1'"; }

# One run with the tables of some rows small.
try() { # ROWS
	local tables=() expected=() row name size loss delta n

	while read -r size _ loss; do
		tables+=(--table "$size")
		[ "$loss" = - ] || expected+=("$loss")
	done <<<"$1"
	rm -rf "$store"* "$IOT_MNT/run"
	mkdir -p "$IOT_MNT/run/"{bin,d}
	mkfifo "$IOT_MNT/run/hold"
	for name in early late reap; do cp "$io" "$IOT_MNT/run/bin/$name"; done
	cp "$IOT_BUILD/forker" "$root/Makefile" "$IOT_MNT/run/bin"
	chown -R games "$IOT_MNT/run"
	chmod 755 "$IOT_MNT"
	head -c 33554432 /dev/urandom >"$IOT_MNT/run/source"
	sync -f "$IOT_MNT"
	dd if="$IOT_MNT/run/source" iflag=nocache count=0 status=none
	dev_mark
	# not root: what files other processes of root have dirty meanwhile is root's share of the table
	traced --no-events "${tables[@]}" -- setpriv --reuid=games --regid=nogroup --clear-groups bash -eu -c "$(declare -f load_of); load_of '$IOT_MNT/run'"
	delta=$(dev_wrote)
	echo "${tables[*]}: $(q "SELECT group_concat(n || ' ' || what, ', ') FROM lost JOIN r USING (run) WHERE n > 0")"
	for loss in "${expected[@]}"; do
		n=$(q "SELECT n FROM lost JOIN r USING (run) WHERE what = '${loss#\~}'")
		[ "$n" -gt 0 ] || [[ $loss = \~* ]] || fail "there was room: $loss"
	done
	same "device bytes" "$(written 1)" "$delta"
	"$analyze" verify "$store" --format csv >verify.csv || fail "$(grep MISMATCH verify.csv)"
	same "mismatches" "$(grep -c MISMATCH verify.csv || :)" 0
	[ "$(s_of early)" -le "$early_s" ] || fail "early wrote $(s_of early) of $early_s"
	[ "$(written "comm = 'forker' AND cause = 'data'")" -le $((1000 * 4096)) ] || fail "forker is charged what others wrote"
	if [ "$(q "SELECT COUNT(*) FROM lost JOIN r USING (run) WHERE n > 0 AND effect IN ('bytes', 'owner')")" -gt 0 ]; then
		same "exact ratios of those who lost some" \
			"$("$analyze" amplification "$store" --table ratios --format csv | grep -cE '^process,early,.*,waf_sys,[^,]*,exact,' || :)" 0
	fi
	# those before have ended: there is room again
	same "S of who came later" "$(s_of late)" "$late_s"
	same "data of who came later" "$(written "comm = 'late' AND cause IN ('data', 'direct')")" "$late_s"
}

@test "each table that an option makes small is a row here" {
	same "tables" "$(sed -n '/__uint(type, BPF_MAP_TYPE_\(LRU_\)\?HASH);/,/SEC(".maps")/s/^} \(.*\) SEC(".maps");/\1/p' $(find "$root/bpf" -name '*.[ch]') | sort)" \
		"$( (rows | sed 's/=.*//; s/^\(cells\|bios\)$//' && tr ' ' '\n' <<<"$elsewhere") | sed '/^$/d' | sort)"
}

@test "small tables: each loss has a name, no MISMATCH, later owners have their bytes" {
	body() {
		local group row

		if [ "${IOT_TABLES-}" = all ]; then
			while read -r row <&8; do try "$row"; done 8< <(rows)
			return
		fi
		for group in ${IOT_TABLES:-$(sized io "io who all")}; do
			try "$(rows | awk -v group="$group" '$2 == group')"
		done
	}
	with_fs ext4 512M -- body
}

@test "a user who fills the table of claims leaves room for others: theirs are exact" {
	body() {
		install -d -o nobody -m 755 "$IOT_MNT/theirs"
		install -d -o daemon -m 755 "$IOT_MNT/ours"
		cp "$io" "$IOT_MNT/theirs/stranger"
		cp early late "$IOT_MNT/ours"
		chmod 755 "$IOT_MNT"
		# not root: what other root processes of the machine claim meanwhile is root's share
		traced --no-events --table claims=4096 -- bash -eu -c 'as() { setpriv --reuid="$1" --regid=nogroup --clear-groups "${@:2}" >/dev/null; }
			for seed in 1 2; do
				as nobody "$0/theirs/stranger" --api pwrite --file "$0/theirs/f" --count 8000 --span 16000 --pattern rand --seed $seed
			done
			as daemon "$0/ours/early" --api pwrite --file "$0/ours/f" --count 64
			as daemon "$0/ours/late" --api pwrite --file "$0/ours/f" --count 32 --span 64 --pattern rand' "$IOT_MNT"
		[ "$(q "SELECT n FROM lost JOIN r USING (run) WHERE what = 'page writer table full'")" -gt 0 ] || fail "there was room"
		same "who wrote first" "$(written "comm = 'early' AND cause = 'data'")" 131072
		same "who wrote over half of it" "$(written "comm = 'late' AND cause = 'data'")" 131072
	}
	with_fs ext4 256M -- body
}
