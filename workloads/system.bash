# SPDX-License-Identifier: GPL-3.0-only
# shellcheck shell=bash disable=SC2015,SC2034,SC2153
# system.bash - what all workloads/SYSTEM.sh share: packages, loop devices, servers, waiting, snapshots, the ledger.
#
# A system script sets the variables and functions below, sources this file, and ends with `system_main "$@"`.
#   SYSTEM=name  PORT=first port it uses          FS=ext4 (or raw)      DRIVES=1   DRIVE_SIZE=2G
#   NAME=what systems.json calls it, where that is not SYSTEM
#   SERVICE_USER=account its server drops to, empty: root
#   COPIES='"replicas":3'                         JSON members that say how redundancy multiplies the payload
#   COLD=drop     only the page cache is dropped before a cold read
#        restart  the server is restarted before, unmeasured; start: it is stopped before and its start is measured
#   LIMIT=seconds that one load may take
#   PROFILES='    one row a profile: name, operation of kv.py (or the name of a function load_OP), count, size, clients
#   '
#   sys_need                packages: calls `need`          sys_create   make the data set on the fresh drives, once
#   sys_start               start servers with `serve`      sys_ready    succeeds when requests are answered
#   sys_stop                optional: before the servers are signalled; sys_erase: optional, after they are gone
#   sys_engine DIR          optional: write the engine's own statistics into DIR (NAME.json, NAME.kv, NAME.prom)
#   sys_forget              optional: after a preparation, where the engine's statistics are those of one process: drops them
#   sys_flush               optional: the engine's checkpoint; the last horizon is then after_checkpoint
#   sys_started             optional: after `up` has started the servers: waits for what they still do by themselves
#   sys_client              sets array CLIENT: the backend of kv.py and its key=value options
#   sys_perform OP SET      optional, instead of kv.py: does OP (write, read, overwrite, mixed), COUNT times SIZE bytes by CLIENTS,
#                           and prints what was acknowledged as kv.py does
# Environment: IOT_FS (file system of the drives: ext4, xfs or btrfs), IOT_WORK (state directory), IOT_PORT,
# IOT_NO_INSTALL=1 (never install packages),
# IOT_HORIZON=after_sync (leave the engine's checkpoint out), IOT_IMG_DIR (where the images of the drives are),
# IOT_LIMIT (seconds that any one call may take at most: for servers that may not answer),
# IOT_NO_ENGINE=1 (no engine statistics: asking for them is work of the server too, and warms what a cold read must find cold),
# IOT_SET (name of the keys that `load` writes or reads, so that one load reads what another wrote).
# State: $WORK/undo lists what was taken, in order, so that `down` also cleans up after a crash.

set -euo pipefail
export LC_ALL=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin:${PATH:-}
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=workloads/packages.bash
. "$HERE/packages.bash"
NAME='' FS=ext4 DRIVES=1 DRIVE_SIZE=2G SERVICE_USER='' COPIES='"replicas":1' COLD=drop LIMIT=300 STOP_SIGNAL=TERM

say() { printf '%s.sh: %s\n' "$SYSTEM" "$*" >&2; }
die() { say "$*"; exit 1; }
usage() { say "usage: $SYSTEM.sh up | prepare PROFILE | load PROFILE [COUNT [SIZE [CLIENTS]]] | idle SECONDS | status | down"; exit 2; }
defined() { declare -F "$1" >/dev/null; }
optional() { if defined "$1"; then "$@"; fi; }

# ---- state -------------------------------------------------------------------------------------------------------

work_open() {
	WORK=${IOT_WORK:-/var/tmp/iot-$SYSTEM}
	PORT=${IOT_PORT:-$PORT}
	case $WORK in /*) ;; *) die "IOT_WORK must be an absolute path: $WORK" ;; esac
	[ "$(id -u)" = 0 ] || skip "needs root (loop devices, mounts)"
	[ ! -e "$WORK" ] && [ ! -L "$WORK" ] || work_is_ours
}

# Others can write in /var/tmp: a directory planted there is refused.
work_is_ours() {
	[ -d "$WORK" ] && [ ! -L "$WORK" ] && [ "$(stat -c %u "$WORK")" = "$(id -u)" ] && [ ! -g "$WORK" ] &&
		[ "$(( 0$(stat -c %a "$WORK") & 022 ))" = 0 ] || die "$WORK is not a directory of ours alone"
}

# 0700; a server that drops to its own account must be able to pass through, not to list.
work_create() {
	local mode=700

	[ -z "$SERVICE_USER" ] || mode=711
	mkdir -p "$(dirname "$WORK")"
	[ -d "$WORK" ] || mkdir -m $mode "$WORK"
	chmod $mode "$WORK"
	mkdir -m $mode "$WORK/mnt" "$WORK/run"
	mkdir -m 700 "$WORK/img" "$WORK/log"
	[ -z "$SERVICE_USER" ] || chown "$SERVICE_USER:" "$WORK/run"
	: >"$WORK/undo"
	: >"$WORK/pids"
}

is_up() { [ -e "$WORK/undo" ]; }
up_or_die() { is_up || die "not up: $WORK has no running instance"; }
undo_note() { printf '%s\n' "$*" >>"$WORK/undo"; }

# ---- devices -----------------------------------------------------------------------------------------------------

# drive NAME: a loop device of DRIVE_SIZE, with a file system on $WORK/mnt/NAME unless FS=raw. Its node: $WORK/run/NAME.
# lazy_*=0: else the kernel zeroes inode tables in the background, for minutes, into the counters. Nor does it read the
# bitmaps of blocks ahead, up to five seconds after the mount (a kernel before 5.13 does not know the option, nor do so).
drive() {
	local name=$1 mnt=$WORK/mnt/$1 img dev quiet=

	img=$(mktemp "${IOT_IMG_DIR:-$WORK/img}/iot-$SYSTEM-$1.XXXXXX")
	undo_note "image $img"
	truncate -s "$DRIVE_SIZE" "$img"
	dev=$(lim 30 losetup -f --show "$img")
	undo_note "loop $name $dev $img"
	ln -sfn "$dev" "$WORK/run/$name"
	[ "$FS" != raw ] || return 0
	case ${IOT_FS:-ext4} in
	ext4)
		lim 120 mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$dev" >&2
		quiet=,no_prefetch_block_bitmaps
		;;
	xfs | btrfs) lim 120 "mkfs.$IOT_FS" -q -f "$dev" >&2 ;;
	*) die "file system $IOT_FS is not known: ext4, xfs or btrfs" ;;
	esac
	mkdir -p "$mnt"
	undo_note "mount $mnt"
	lim 30 mount -o "noatime$quiet" "$dev" "$mnt" 2>/dev/null || lim 30 mount -o noatime "$dev" "$mnt"
	[ -z "$SERVICE_USER" ] || chown "$SERVICE_USER:" "$mnt"
}

drives() { awk '$1 == "loop" { print $2, $3 }' "$WORK/undo"; }
drives_written() { drives | while read -r _ dev; do awk '{ print $7 }' "/sys/block/${dev#/dev/}/stat"; done; }
mounts() { awk '$1 == "mount" { print $2 }' "$WORK/undo"; }

# Everything that the drives still hold in memory goes to the devices. Twice: the first commit may dirty metadata.
settle() {
	local round name dev mnt

	for round in 1 2; do
		while read -r mnt; do
			lim 120 sync -f "$mnt"
		done < <(mounts)
		[ "$FS" != raw ] || while read -r name dev; do
			lim 120 sync "$dev"
		done < <(drives)
	done
}

drop_caches() { settle; echo 3 >/proc/sys/vm/drop_caches; }

# ---- servers -----------------------------------------------------------------------------------------------------

start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
# A zombie waits for its new parent to notice; it is gone for us. The start time tells a recycled pid.
alive() { [ -n "$2" ] && [ "$(start_time "$1")" = "$2" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }

close_inherited() {
	local fd

	for fd in /proc/"$BASHPID"/fd/*; do
		fd=${fd##*/}
		[ "$fd" -le 2 ] || [ "$fd" = 255 ] || eval "exec $fd>&-"
	done
}

# serve ROLE COMMAND...: runs a server in its own session and remembers it.
serve() {
	local role=$1 pid

	shift
	trap '' INT # until it is remembered: who is interrupted in between leaves it running
	(
		close_inherited
		cd /
		exec setsid "$@" </dev/null >>"$WORK/log/$role" 2>&1
	) &
	pid=$!
	remember "$role" "$pid"
	trap - INT
}

remember() { printf '%s %s %s\n' "$1" "$2" "$(start_time "$2")" >>"$WORK/pids"; }
# become: the words that turn root into the service account, before a command.
become() { BECOME=(setpriv --reuid="$SERVICE_USER" --regid="$SERVICE_USER" --init-groups env -i HOME="$WORK/run" PATH="$PATH" LC_ALL=C.UTF-8); }
as_service() { become; (cd / && lim "$LIMIT" "${BECOME[@]}" "$@"); }

# wait_for SECONDS WHAT COMMAND...
wait_for() {
	local end=$((SECONDS + $(limit "$1"))) what=$2

	shift 2
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { say "gave up waiting until $what"; return 1; }
		sleep 0.1
	done
}

# The first server that is no longer there, and its last words: the line that says FATAL, where advice comes after it.
dead_server() {
	local role pid start

	while read -r role pid start; do
		alive "$pid" "$start" || { echo "$role ended: $(grep -a FATAL "$WORK/log/$role" | tail -n 1 | grep . || tail -n 1 "$WORK/log/$role" 2>/dev/null)"; return 0; }
	done <"$WORK/pids"
	return 1
}

ready_or_dead() { dead_server || sys_ready; }

servers_start() {
	sys_start && wait_for 60 "$SYSTEM answers" ready_or_dead || return 1
	! dead_server >&2
}

# No drive is written for a second.
stand_still() {
	local before

	before=$(drives_written)
	sleep 1
	[ "$before" = "$(drives_written)" ]
}

gone() { ! alive "$1" "$2"; }

servers_stop() {
	local role pid start

	[ -s "$WORK/pids" ] || return 0
	optional sys_stop || true
	while read -r role pid start; do
		# A stopped process takes no other signal before it goes on.
		! alive "$pid" "$start" || kill -"$STOP_SIGNAL" "$pid" 2>/dev/null && kill -CONT "$pid" 2>/dev/null || true
		wait_for 60 "$role ($pid) ends" gone "$pid" "$start" || kill -KILL "$pid" 2>/dev/null || true
		wait_for 10 "$role ($pid) is killed" gone "$pid" "$start" || true
	done < <(tac "$WORK/pids")
	: >"$WORK/pids"
}

# ---- snapshots and ledger ----------------------------------------------------------------------------------------

# snapshot HORIZON [engine]: device counters, and the engine's statistics, into $WORK/snap/HORIZON.
snapshot() {
	local dir=$WORK/snap/$1 name dev

	mkdir -p "$dir/engine"
	[ $# = 1 ] || [ -n "${IOT_NO_ENGINE:-}" ] || optional sys_engine "$dir/engine" || say "no engine statistics at $1"
	while read -r name dev; do
		cat "/sys/block/${dev#/dev/}/stat" >"$dir/$name.stat"
	done < <(drives)
	cut -d' ' -f1 /proc/uptime >"$dir/uptime"
	date +%s%N >"$dir/wall_ns"
}

kv() { lim "$LIMIT" /usr/bin/python3 "$HERE/kv.py" "$@"; }

# measure COMMAND...: one load between two settled snapshots; the command prints what was acknowledged, as JSON.
measure() {
	local status=0 last=after_sync

	! defined sys_flush || last=${IOT_HORIZON:-after_checkpoint}
	rm -rf "$WORK/snap"
	mkdir -p "$WORK/snap"
	settle
	snapshot begin engine
	"$@" >"$WORK/snap/client" || status=$?
	snapshot at_ack
	# No sync in between: it would write pages that the engine's checkpoint overwrites.
	[ "$last" = after_sync ] || sys_flush >&2 || status=$?
	settle
	snapshot "$last" engine
	return $status
}

ledger() {
	/usr/bin/python3 "$HERE/ledger.py" join "$WORK" "{\"system\":\"${NAME:-$SYSTEM}\",\"profile\":\"$1\",$COPIES}"
}

# ---- commands ----------------------------------------------------------------------------------------------------

cmd_up() {
	local i

	! is_up || die "already up in $WORK: run '$SYSTEM.sh down' first"
	sys_need
	! port_taken || die "port $PORT is taken by another program: set IOT_PORT"
	work_create
	trap 'up_failed' EXIT
	for ((i = 1; i <= DRIVES; i++)); do
		drive "d$i"
	done
	optional sys_create >"$WORK/log/create" 2>&1
	servers_start
	optional sys_started
	OP="write" optional sys_flush >&2 # what a server's start leaves for later would be in the first load's window
	settle
	trap - EXIT
	say "up in $WORK, port $PORT"
}

# Asked beforehand: a server of another instance would answer for ours, which ends a moment later.
port_taken() { [ "$PORT" != 0 ] && lim 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/$PORT" 2>/dev/null; }

up_failed() {
	say "did not start; the ends of its logs:"
	find "$WORK/log" -type f -size +0 -exec tail -n 3 {} + >&2
	cmd_down
}

# find_profile NAME [COUNT [SIZE [CLIENTS]]] sets PROFILE OP COUNT SIZE CLIENTS.
find_profile() {
	[ $# -ge 1 ] || usage
	read -r PROFILE OP COUNT SIZE CLIENTS < <(awk -v p="$1" '$1 == p' <<<"$PROFILES") ||
		die "no profile '$1'; there are:$(awk '{ printf " %s", $1 }' <<<"$PROFILES")"
	COUNT=${2:-$COUNT} SIZE=${3:-$SIZE} CLIENTS=${4:-$CLIENTS}
	[[ $COUNT$SIZE$CLIENTS =~ ^[0-9]+$ ]] && [ "$COUNT" -gt 0 ] || die "COUNT, SIZE and CLIENTS are whole numbers"
	sys_client
}

data_set() { echo "${IOT_SET:-$PROFILE-$COUNT-$SIZE}"; }
has_set() { grep -qxF "$(data_set)" "$WORK/sets" 2>/dev/null; }
perform() {
	! defined sys_perform || { sys_perform "$1" "$2"; return; }
	kv "${CLIENT[0]}" "$1" "$2" "$COUNT" "$SIZE" "$CLIENTS" "${CLIENT[@]:1}"
}

# Objects that a profile reads or overwrites are written beforehand, once, outside the measurement.
cmd_prepare() {
	up_or_die
	find_profile "$@"
	if ! has_set; then
		case $OP in
		write) settle; return 0 ;; # what the server did since its start is not the load's
		read-cold | read-warm | overwrite | mixed) perform write "$(data_set)" >/dev/null ;;
		*) optional "prepare_$OP" >/dev/null ;;
		esac
		data_set >>"$WORK/sets"
	fi
	case $OP in
	*-cold) make_cold ;;
	*-warm) load_once >/dev/null ;;
	esac
	optional sys_forget
}

make_cold() {
	case $COLD in
	restart) servers_stop; servers_start ;;
	start) servers_stop ;;
	esac
	drop_caches
}

load_once() {
	[ -s "$WORK/pids" ] || [ "$COLD" != start ] || servers_start || { no_server; return 1; }
	case $OP in
	write) write_once ;;
	read-cold | read-warm) perform read "$(data_set)" ;;
	overwrite | mixed) perform "$OP" "$(data_set)" ;;
	*) "load_$OP" ;;
	esac
}

# The report of a load that needed a start, and the server did not start.
# shellcheck disable=SC1003 # tr's own backslash
no_server() { printf '{"errors":1,"error":"%s"}\n' "$( (dead_server || echo "$SYSTEM does not answer") | tr -cd '[:print:]' | tr '"\\' "'/")"; }

# Always new keys, unless they were given a name to be found by.
write_once() {
	[ -n "${IOT_SET:-}" ] || { perform write "$(data_set)-$(date +%s%N)"; return; }
	! has_set || die "the set $IOT_SET was written before"
	data_set >>"$WORK/sets"
	perform write "$IOT_SET"
}

cmd_load() {
	local status=0

	up_or_die
	find_profile "$@"
	# A cold run that was prepared by hand just before is not disturbed: `prepare` leaves the mark.
	[ -e "$WORK/prepared" ] && [ "$(cat "$WORK/prepared")" = "$(data_set)" ] || cmd_prepare "$@"
	rm -f "$WORK/prepared"
	measure load_once || status=$?
	ledger "$PROFILE"
	[ $status != 124 ] || die "load $PROFILE: $SYSTEM did not answer in time; the ledger holds what was acknowledged"
	[ $status = 0 ] || die "load $PROFILE failed with status $status; the ledger holds what was acknowledged"
}

cmd_idle() {
	up_or_die
	[[ ${1:-} =~ ^[0-9]+(\.[0-9]+)?$ ]] || usage
	PROFILE=idle
	measure idle_for "$1"
	ledger idle
}
idle_for() { sleep "$1"; echo '{}'; }

cmd_status() {
	local role pid start state=down

	is_up || { echo "$SYSTEM down"; return 0; }
	echo "$SYSTEM up in $WORK, port $PORT"
	drives | sed 's/^/  drive /'
	while read -r role pid start; do
		state=gone
		! alive "$pid" "$start" || state=runs
		echo "  server $role $pid $state"
	done <"$WORK/pids"
}

undo_one() {
	case $1 in
	mount) ! mountpoint -q "$2" || lim 60 umount "$2" || lim 60 umount -l "$2" ;;
	# The number may have been given to another image since: it is ours only with our image behind it.
	loop) [ "$(lim 30 losetup -nO BACK-FILE "$3" 2>/dev/null)" != "$4" ] || lim 30 losetup -d "$3" ;;
	image) rm -f "$2" ;;
	call) "${@:2}" ;;
	esac
}

cmd_down() {
	local line

	trap - EXIT
	is_up || return 0
	set +e
	servers_stop
	optional sys_erase
	while read -r line; do
		# shellcheck disable=SC2086
		undo_one $line || say "could not undo: $line"
	done < <(tac "$WORK/undo")
	# Only what is ours: IOT_WORK may name a directory that holds other things.
	(cd "$WORK" && rm -rf --one-file-system img mnt run log snap sets prepared pids undo)
	rmdir "$WORK" 2>/dev/null
	set -e
}

system_main() {
	local cmd=${1:-}

	[ $# -ge 1 ] || usage
	shift
	case $cmd in
	up | load | idle | status | down) work_open; "cmd_$cmd" "$@" ;;
	prepare) work_open; cmd_prepare "$@"; data_set >"$WORK/prepared" ;;
	*) usage ;;
	esac
}
