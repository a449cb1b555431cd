#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# gluster.sh - one GlusterFS volume, replica 3, bricks on three loop devices, mounted through FUSE.
# glusterd keeps its state in /var/lib/glusterd and its lock in /run: one instance a machine.
# See system.bash for the commands.
# shellcheck source=/dev/null disable=SC2034,SC2153,SC2154
. "$(dirname "$0")/system.bash"
SYSTEM=gluster PORT=24007 DRIVES=3 DRIVE_SIZE=1G COPIES='"replicas":3' COLD=restart
# profile    operation  count  size      clients
PROFILES='
bulk         write      1      67108864  1
bulk-4k      write      1      16777216  1
small        write      200    4096      1
read-cold    read-cold  1      67108864  1
read-cold-4k read-cold  1000   4096      1
read-warm    read-warm  1      67108864  1
overwrite    overwrite  200    4096      1
mixed        mixed      200    4096      2
write        write      100    4096      1
read         read-cold  100    4096      1
'
VOLUME=iotgv
HOST=$(hostname)

sys_need() {
	need glusterd glusterfs-server
	need /sbin/mount.glusterfs glusterfs-client
	[ -c /dev/fuse ] || skip "needs /dev/fuse"
	# The command line refuses localhost and 127.* as the host of a brick.
	getent ahostsv4 "$HOST" | grep -q '^127\.' || skip "needs the host name $HOST to resolve to 127.0.0.1 (/etc/hosts)"
	[ ! -e /run/iot-gluster.lock ] || alive_owner || rm -f /run/iot-gluster.lock
	[ ! -e /run/iot-gluster.lock ] && [ "$(ls -A /var/lib/glusterd/vols 2>/dev/null)" = "" ] || die "GlusterFS has another instance or volumes on this machine"
}

alive_owner() { [ -e "$(cat /run/iot-gluster.lock)/undo" ]; }
cli() { lim 60 gluster --mode=script "$@"; }

sys_create() {
	mkdir -p /run/gluster /var/log/glusterfs
	echo "$WORK" >/run/iot-gluster.lock
	undo_note "call rm -f /run/iot-gluster.lock"
	sed '/^end-volume/i\    option transport.socket.bind-address 127.0.0.1\n    option transport.address-family inet' \
		/etc/glusterfs/glusterd.vol >"$WORK/run/glusterd.vol"
}

sys_start() {
	local i bricks=()

	serve glusterd glusterd -f "$WORK/run/glusterd.vol" -N -l "$WORK/log/glusterd.log"
	wait_for 60 "glusterd answers" cli pool list || return 1
	for ((i = 1; i <= DRIVES; i++)); do
		mkdir -p "$WORK/mnt/d$i/brick"
		bricks+=("$HOST:$WORK/mnt/d$i/brick")
	done
	cli volume info $VOLUME >/dev/null 2>&1 || {
		cli volume create $VOLUME replica 3 "${bricks[@]}" force
		cli volume set $VOLUME transport.address-family inet
		cli volume set $VOLUME diagnostics.latency-measurement on
		cli volume set $VOLUME diagnostics.count-fop-hits on
	} >/dev/null
	cli volume start $VOLUME force >/dev/null || return 1
	wait_for 60 "all bricks are online" bricks_online || return 1
	adopt brick glusterfsd "$WORK/mnt"
	adopt heal glusterfs shd/$VOLUME
	mkdir -p "$WORK/run/gv"
	lim 60 mount -t glusterfs -o "log-file=$WORK/log/client.log" "$HOST:/$VOLUME" "$WORK/run/gv" || return 1
	adopt client glusterfs "$WORK/run/gv"
}

bricks_online() { [ "$(cli volume status $VOLUME | grep -c ' Y ')" -ge $((DRIVES + 1)) ]; }

# adopt ROLE COMM TEXT: remembers the processes that glusterd started: name COMM, TEXT among the arguments.
adopt() {
	local pid

	for pid in $(pgrep -x "$2"); do
		! tr '\0' ' ' <"/proc/$pid/cmdline" | grep -qF "$3" || remember "$1" "$pid"
	done
}

sys_ready() { mountpoint -q "$WORK/run/gv" && bricks_online; }

sys_stop() {
	! mountpoint -q "$WORK/run/gv" || lim 60 umount "$WORK/run/gv" || lim 60 umount -l "$WORK/run/gv"
	cli volume stop $VOLUME force >/dev/null
}

sys_erase() { rm -rf "/var/lib/glusterd/vols/$VOLUME" /var/lib/glusterd/glusterd.info; }

sys_client() {
	CLIENT=(filekv "dir=$WORK/run/gv")
	[ "$PROFILE" != bulk ] && [ "$PROFILE" != read-cold ] && [ "$PROFILE" != read-warm ] || CLIENT+=(block=1048576)
	[ "$PROFILE" != bulk-4k ] || CLIENT+=(block=4096)
}

sys_engine() {
	local i=0 brick

	# One section a brick, starting with "Brick: HOST:PATH": bytes and calls since the volume was started.
	cli volume profile $VOLUME info cumulative >"$WORK/run/profile"
	while read -r brick; do
		i=$((i + 1))
		awk -v b="Brick: $brick" '$0 == b { on = 1; next } /^Brick: / { on = 0 }
			on && /Data (Read|Written):/ { sub(/ bytes$/, ""); print }
			on && $NF ~ /^[A-Z]+$/ && $1 ~ /^[0-9.]+$/ && NF == 9 { print "calls_" $NF ": " $8 }' "$WORK/run/profile" |
			sed 's/^ *//' >"$1/brick$i.kv"
	done < <(sed -n 's/^Brick: //p' "$WORK/run/profile")
}

system_main "$@"
