# SPDX-License-Identifier: GPL-3.0-only
# light.bats - --light against the default on the same loads: device bytes are the kernel's, owners are the same but for files of several
# writers, which are marked; what is not recorded is n/a with the reason; and the kernel side stays small.

bats_require_minimum_version 1.5.0
load ../lib/helper

setup() { own_run; }

# The loads of one file system, each by processes of names of their own. duet and trio write to one file in turn; solo1 and solo2 to one each.
load_make() {
	local name

	for name in buffered director mapper looper duet trio solo1 solo2; do ln -sf "$io" $name; done
	cat >load <<-'S'
		set -e
		for name in buffered director mapper looper solo1 solo2; do
			./$name --api pwrite --file "$1/$name" --count 64 --sync fsync >/dev/null # no block is allocated below
		done
		./buffered --api pwrite --file "$1/buffered" --count 257 --sync fsync
		./director --api direct --file "$1/director" --count 101 --size 8k
		./mapper --api mmap --file "$1/mapper" --count 53 --sync native --every 53
		./looper --api pwrite --file "$1/looper" --count 83 --sync fsync --every 1
		./solo1 --api pwrite --file "$1/solo1" --count 211 & ./solo2 --api pwrite --file "$1/solo2" --count 223; wait
		./duet --api pwrite --file "$1/both" --count 61
		./trio --api pwrite --file "$1/both" --count 67 --at 1M --sync fsync
		sync -f "$1"
	S
}

# Bytes of files by owner and how, as the file system submitted them and as the device wrote them.
of_files() { # KIND CONDITION
	q "SELECT comm, SUM(bytes) FROM c WHERE kind = '$1' AND cause IN ('data', 'direct') AND comm IN
		('buffered', 'director', 'mapper', 'looper', 'solo1', 'solo2') AND $2 GROUP BY comm ORDER BY comm"
}

both_on() { # TYPE
	body() { # TYPE
		local mode wanted

		load_make
		for mode in default light; do
			store=$PWD/$mode.sqlite
			mkdir "$IOT_MNT/$mode"
			# puts in place what that changed: the log's worker of XFS would do it in the run, and it would be nobody's
			fsfreeze --freeze "$IOT_MNT"
			fsfreeze --unfreeze "$IOT_MNT"
			if [ $mode = light ]; then traced --light -- sh load "$IOT_MNT/$mode" >/dev/null
			else traced --no-events -- sh load "$IOT_MNT/$mode" >/dev/null; fi
			# of the run: while a slow guest attaches, others write
			all_known "$(sql "SELECT end_value - begin_value - outside FROM truth WHERE what = 'write_bytes' AND source = '/sys/block/${IOT_DEV#/dev/}/stat'")"
			nothing_lost
			of_files fs_write 1 >$mode.submitted
			of_files block_write 1 >$mode.written
			q "SELECT comm, SUM(bytes) FROM c WHERE dir = 'w' AND layer = 'syscall' AND sub = 'regular' AND comm <> 'sh' GROUP BY comm ORDER BY comm" >$mode.calls
			q "SELECT comm, SUM(ops) FROM c WHERE kind IN ('fsync', 'msync', 'fdatasync') AND comm <> 'sh' GROUP BY comm ORDER BY comm" >$mode.syncs
		done
		for wanted in submitted written calls syncs; do
			same "$1: $wanted" "$(cat light.$wanted)" "$(cat default.$wanted)"
		done
		same "$1: marked although one process wrote" "$(of_files block_write "how = 'file'")" ""
		same "$1: of two writers" "$(total bytes "kind = 'fs_write' AND cause = 'data' AND how = 'file' AND comm IN ('duet', 'trio')")" $((128 * 4096))
		same "$1: of two writers, not marked" "$(total bytes "kind = 'fs_write' AND cause = 'data' AND how <> 'file' AND comm IN ('duet', 'trio')")" 0
		[ "$(total lat_ns "kind = 'fsync' AND comm = 'looper'")" -gt 0 ] || fail "$1: no fsync was timed"
		same "$1: other calls that were timed" "$(total lat_ns "kind IN ('pwrite', 'write', 'read', 'open')")" 0
		[ "$(written "cause = 'journal' AND how <> 'file' AND comm = 'looper'")" -gt 0 ] || fail "$1: looper has no journal bytes"
	}
	with_fs "$1" 320M -- body "$1"
}

@test "light: ext4: device bytes and owners are those of a run without" { both_on ext4; }

@test "light: XFS: device bytes and owners are those of a run without" {
	need mkfs.xfs xfsprogs
	both_on xfs
}

@test "light: btrfs: device bytes and owners are those of a run without" {
	need mkfs.btrfs btrfs-progs
	both_on btrfs
}

@test "light: what is not recorded is n/a with the reason, and the head says so" {
	body() {
		traced --light -- "$io" --api pwrite --file "$IOT_MNT/f" --count 97 --sync fsync --every 8 >/dev/null
	}
	with_fs ext4 64M -- body
	same "tier, events, latency" "$(sql 'SELECT tier, events, latency FROM run')" "light 0 syncs"
	"$analyze" amplification "$store" --format tsv --table ratios >ratios.tsv
	grep -P 'hop_coalesce\t.*\tn/a\t.*D needs events, and the run was recorded with --light' ratios.tsv || fail "$(cat ratios.tsv)"
	grep -P 'waf_sys\t.*\texact\t' ratios.tsv || fail "$(cat ratios.tsv)"
	"$analyze" amplification "$store" >screen
	grep -q 'tier light' screen || fail "$(head screen)"
	grep -q '^recorded with --light: ' screen || fail "$(head screen)"
	same "pages that were dirtied" "$(total ops "layer = 'cache'")" 0
}

@test "light: a ratio that rests on files of several writers is no exact one" {
	local line

	for name in first second; do ln -sf "$io" $name; done
	body() {
		# shellcheck disable=SC2016 # the traced shell's
		traced --light -- sh -ec './first --api pwrite --file "$0/f" --count 500; ./second --api pwrite --file "$0/f" --count 500 --at 4M --sync fsync
			sync -f "$0"' "$IOT_MNT" >/dev/null
	}
	with_fs ext4 64M -- body
	"$analyze" amplification "$store" --by pid --format tsv --table ratios >ratios.tsv
	line=$(grep -P '\tsecond\t.*\twaf_sys\t' ratios.tsv || grep -P 'second.*\twaf_sys\t' ratios.tsv)
	grep -qP '\t<=\t.*may be of others that wrote the same files' <<<"$line" || fail "$(cat ratios.tsv)"
	"$analyze" amplification "$store" | grep -q '^last writer: ' || fail "the head does not say it"
}

@test "light: all maps together take at most 24 MiB" {
	local mib cpus

	cpus=$(getconf _NPROCESSORS_CONF)
	[ "$cpus" -le 8 ] || skip "a machine of at most 8 processors is missing: each has sums of its own"
	"$trace" --light --probes >probes.txt
	mib=$(sed -n 's/^memory  *\([0-9.]*\) MiB.*/\1/p' probes.txt)
	between "MiB in the kernel" "$mib" 1 24
	grep -q '^tier  *light$' probes.txt || fail "$(grep ^tier probes.txt)"
	grep -qE '^cache +cache__dirty .* no .*left out by --light' probes.txt || fail "$(grep cache__dirty probes.txt)"
}

@test "light: options that do not go with it are refused" {
	refused() { # MESSAGE OPTION...
		local message=$1

		shift
		run -2 "$trace" --light "$@" -- true
		grep -qF -- "$message" <<<"$output" || fail "$*: $output"
	}
	refused "does not record layer cache" -l cache,fs -o x.sqlite
	refused "times only syncs" --latency all -o x.sqlite
	refused "not 'x.jsonl'" -o x.jsonl
	refused "not '-'" -f text
}
