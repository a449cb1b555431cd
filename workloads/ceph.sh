#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# ceph.sh - one monitor and three BlueStore OSDs on raw loop devices, pool of size 3; IOT_CEPH_SIZE=1: one OSD, size 1.
# IOT_CEPH_SSD=1 calls the devices non-rotational, else they are rotational: it changes what BlueStore defers. No manager: I/O needs none.
# See system.bash for the commands.
# shellcheck source=/dev/null disable=SC2034,SC2153,SC2154
. "$(dirname "$0")/system.bash"
SIZE_OF_POOL=${IOT_CEPH_SIZE:-3}
SYSTEM=ceph PORT=33300 FS=raw DRIVES=$SIZE_OF_POOL DRIVE_SIZE=6G COPIES="\"replicas\":$SIZE_OF_POOL" COLD=restart
# profile    operation  count  size     clients
PROFILES='
bulk         write      16     4194304  8
small        write      4096   4096     8
small-64k    write      256    65536    8
read-cold    read-cold  16     4194304  8
read-cold-4k read-cold  1000   4096     1
read-warm    read-warm  16     4194304  8
overwrite    overwrite  1000   4096     8
overwrite-in patch      1000   4096     1
mixed        mixed      500    65536    8
write        write      100    4096     1
read         read-cold  100    4096     1
'
FSID=6f3a1c52-7c0e-4b19-9d0f-0a1b2c3d4e5f
POOL=bench

sys_need() {
	need ceph-osd ceph-osd
	need ceph-mon ceph-mon
	need ceph ceph-common
	need uuidgen uuid-runtime
}

conf() { echo "$WORK/run/ceph.conf"; }
ceph_() { lim 60 ceph -c "$(conf)" --connect-timeout 20 "$@"; }

# data_avail: or the monitor leaves when the disk below is nearly full.
write_conf() {
	cat >"$(conf)" <<-END
	[global]
	fsid = $FSID
	mon_host = [v2:127.0.0.1:$PORT,v1:127.0.0.1:$((PORT + 1))]
	mon_initial_members = a
	auth_cluster_required = none
	auth_service_required = none
	auth_client_required = none
	ms_bind_ipv6 = false
	ms_bind_port_min = $((PORT + 2))
	ms_bind_port_max = $((PORT + 99))
	public_addr = 127.0.0.1
	cluster_addr = 127.0.0.1
	public_network = 127.0.0.0/8
	run_dir = $WORK/run
	admin_socket = $WORK/run/\$name.asok
	pid_file = $WORK/run/\$name.pid
	log_file = $WORK/log/\$name.log
	mon_data = $WORK/run/mon
	osd_data = $WORK/run/osd/\$id
	crash_dir = $WORK/run/crash
	osd_objectstore = bluestore
	osd_crush_chooseleaf_type = 0
	osd_pool_default_size = $SIZE_OF_POOL
	osd_pool_default_min_size = 1
	osd_pool_default_pg_num = 8
	osd_pool_default_pg_autoscale_mode = off
	mon_allow_pool_size_one = true
	mon_data_avail_warn = 1
	mon_data_avail_crit = 1
	bluestore_cache_autotune = false
	bluestore_cache_size = 134217728
	END
}

sys_create() {
	local conf i dev rotates=1

	conf=$(conf)
	write_conf
	[ -z "${IOT_CEPH_SSD:-}" ] || rotates=0
	for ((i = 1; i <= DRIVES; i++)); do
		dev=$(readlink "$WORK/run/d$i")
		# A loop device takes it from what is below its image: said, or the answers would depend on the folder and the kernel.
		echo $rotates >"/sys/block/${dev#/dev/}/queue/rotational"
		uuidgen >"$WORK/run/d$i.uuid"
	done
	lim 30 monmaptool --create --clobber --addv a "[v2:127.0.0.1:$PORT,v1:127.0.0.1:$((PORT + 1))]" --fsid $FSID "$WORK/run/monmap"
	lim 60 ceph-mon -c "$conf" --mkfs -i a --monmap "$WORK/run/monmap"
}

sys_start() {
	local conf i id

	conf=$(conf)
	serve mon ceph-mon -c "$conf" -i a -f
	wait_for 60 "the monitor answers" ceph_ -s || return 1
	for ((i = 1; i <= DRIVES; i++)); do
		id=$((i - 1))
		[ -e "$WORK/run/osd/$id/block" ] || new_osd "$i" "$id" || return 1
		serve "osd.$id" ceph-osd -c "$conf" -i "$id" -f
	done
	wait_for 90 "$DRIVES OSDs are up" osds_up || return 1
	ceph_ osd pool ls | grep -qx $POOL || new_pool
}

# new_osd NUMBER ID: names drive NUMBER to the monitor, which gives the identities 0, 1, ... in order.
new_osd() {
	local dir=$WORK/run/osd/$2 uuid

	uuid=$(cat "$WORK/run/d$1.uuid")
	[ "$(ceph_ osd new "$uuid")" = "$2" ] || return 1
	mkdir -p "$dir"
	ln -s "$(readlink "$WORK/run/d$1")" "$dir/block"
	lim 120 ceph-osd -c "$(conf)" -i "$2" --mkfs --osd-uuid "$uuid" --no-mon-config >>"$WORK/log/osd.$2" 2>&1
}

osds_up() { [ "$(ceph_ osd stat -f json | sed -n 's/.*"num_up_osds":\([0-9]*\).*/\1/p')" = "$DRIVES" ]; }

new_pool() {
	ceph_ osd pool create $POOL 8 8
	[ "$SIZE_OF_POOL" != 1 ] || ceph_ osd pool set $POOL size 1 --yes-i-really-mean-it
} 2>/dev/null

sys_ready() { echo ready | lim 30 rados -c "$(conf)" -p $POOL put iot-ready -; }
sys_client() { CLIENT=(radoskv "conf=$(conf)" "pool=$POOL"); }

# Values in the middle of objects that were written whole: what is small goes to the log first, and to its place later.
objects=16 object_bytes=4194304
prepare_patch() {
	local set COUNT=$COUNT SIZE=$SIZE

	set=$(data_set) COUNT=$objects SIZE=$object_bytes
	perform write "$set"
}
load_patch() {
	CLIENT+=("objects=$objects" "object_bytes=$object_bytes")
	perform overwrite "$(data_set)"
}

sys_engine() {
	local i

	for ((i = 0; i < DRIVES; i++)); do
		lim 30 ceph --admin-daemon "$WORK/run/osd.$i.asok" perf dump >"$1/osd.$i.json"
	done
}

system_main "$@"
