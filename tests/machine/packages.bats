# SPDX-License-Identifier: GPL-3.0-only
# packages.bats - `apt-get install` of a large package on XFS on a logical volume: device bytes are charged to apt, dpkg and their
# children, whichever kernel thread submits them. vm.bats runs it in a guest, where there is device-mapper, with packages that were
# downloaded before: IOT_DEBS is their folder.

load ../lib/helper
load ../lib/stacks

setup() {
	own_run
	mnt=$BATS_TEST_TMPDIR/mnt
	mkdir "$mnt"
	group=''
}

teardown() {
	mountpoint -q "$mnt" && umount "$mnt"
	[ -z "$group" ] || lvm_ vgremove -q -q -f "$group"
	stack_down
}

# Neither udev nor what the machine says of its own volumes.
lvm_() { # COMMAND ARGS...
	"$1" --config "activation { udev_sync = 0 udev_rules = 0 } backup { backup = 0 archive = 0 } devices { use_devicesfile = 0
		obtain_device_list_from_udev = 0 external_device_info_source = none filter = [ \"a|^$leaf\$|\", \"r|.*|\" ] }" "${@:2}" 9>&- 3>&-
}

# A logical volume over the newest leaf: $volume.
lvm_up() {
	lvm_ pvcreate -q -q -f -y "$leaf"
	group=iot$$
	lvm_ vgcreate -q -q "$group" "$leaf"
	lvm_ lvcreate -q -q -W n -Z n -l '100%FREE' -n root "$group"
	volume=/dev/mapper/$group-root
	volume_no=$(lvm_ lvs --noheadings --separator : -o lv_kernel_major,lv_kernel_minor "$group" | tr -d ' ')
}

# A package whose scripts write: what they start is dpkg's too.
package_make() { # FOLDER
	mkdir -p made/DEBIAN
	printf '%s\n' 'Package: iot-scripted' 'Version: 1' 'Architecture: all' 'Maintainer: iot <iot@localhost>' 'Description: scripts' >made/DEBIAN/control
	printf '%s\n' '#!/bin/sh' 'dd if=/bin/busybox of=/var/made bs=4096 count=101' >made/DEBIAN/postinst
	chmod 755 made/DEBIAN/postinst
	dpkg-deb --root-owner-group -b made "$1" >/dev/null
}

# A root without packages, where scripts have a shell, and a source of packages in a folder.
root_make() { # FOLDER
	local deb dir

	for dir in bin dev etc/apt/apt.conf.d etc/apt/preferences.d var/lib/dpkg/info var/lib/dpkg/updates var/lib/apt/lists/partial \
		var/cache/apt/archives/partial var/log/apt tmp; do
		mkdir -p "$mnt/$dir"
	done
	: >"$mnt/var/lib/dpkg/status"
	cp "$(command -v busybox)" "$mnt/bin/busybox"
	for dir in sh dd; do ln -s busybox "$mnt/bin/$dir"; done
	printf '#!/bin/sh\n' >"$mnt/bin/dpkg-maintscript-helper" # of dpkg itself, which has no files here
	chmod 755 "$mnt/bin/dpkg-maintscript-helper"
	echo "deb [trusted=yes] copy:$1 ./" >"$mnt/etc/apt/sources.list"
	for deb in "$1"/*.deb; do
		dpkg-deb -f "$deb"
		printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$(basename "$deb")" "$(stat -c %s "$deb")" "$(sha256sum "$deb" | cut -d' ' -f1)"
	done >"$1/Packages"
	apt=(apt-get -q -o "Dir=$mnt" -o "Dir::State::status=$mnt/var/lib/dpkg/status" -o "DPkg::Options::=--root=$mnt" -o APT::Sandbox::User=root
		-o Dpkg::Use-Pty=false -o Acquire::Languages=none -o "Dir::Log=$mnt/var/log/apt")
	"${apt[@]}" update >&2
}

# Bytes that the leaf wrote, of processes that apt-get is or started, and they in turn.
by_apt() {
	sql "WITH RECURSIVE mine(pid) AS (SELECT pid FROM process WHERE comm = 'apt-get' UNION SELECT p.pid FROM process p JOIN mine m ON p.ppid = m.pid)
		SELECT COALESCE(SUM(t.bytes), 0) FROM agg_total t JOIN kind k ON k.id = t.kind JOIN process p ON p.id = t.owner
		WHERE k.name = 'block_write' AND (t.dev >> 20) || ':' || (t.dev & 1048575) = '$leaf_no' AND p.pid IN mine"
}

# The view of a tool for block devices, the submitting thread, next to the owner that is charged.
issued() { # CONDITION
	sql "SELECT issuer, owner, SUM(bytes) FROM (SELECT CASE WHEN p.comm LIKE 'kworker/%' THEN 'kworker' WHEN p.comm LIKE 'xfsaild/%' THEN 'xfsaild' ELSE p.comm END AS issuer,
			CASE e.owner WHEN 0 THEN 'several' ELSE o.comm END AS owner, e.bytes FROM event e JOIN kind k ON k.id = e.kind LEFT JOIN process p ON p.id = e.task LEFT JOIN process o ON o.id = e.owner
			WHERE k.name = 'fs_write' AND (e.dev >> 20) || ':' || (e.dev & 1048575) = '$volume_no')
		WHERE $1 GROUP BY 1, 2 ORDER BY 3 DESC"
}

@test "guest, apt: apt-get install on XFS on LVM: 99.9 % is of apt, dpkg and children" {
	need_dm
	need lvcreate lvm2
	need mkfs.xfs xfsprogs
	need busybox busybox-static
	need apt-get apt
	[ -n "${IOT_DEBS-}" ] || skip "IOT_DEBS is missing: a folder with a large package and what it needs"
	mkdir debs
	cp "$IOT_DEBS"/*.deb debs
	package_make "$PWD/debs/iot-scripted.deb"
	leaf_up 900M
	lvm_up
	mkfs.xfs -q -f "$volume"
	mount -o noatime "$volume" "$mnt"
	root_make "$PWD/debs"
	for deb in debs/*.deb; do dpkg-deb -f "$deb" Package; done >names
	umount "$mnt"
	mount -o noatime "$volume" "$mnt"
	IOT_DEV=$leaf dev_mark
	traced --ring 64M -- sh -ec 'mnt=$1; shift; "$@" >&2; umount "$mnt"' sh "$mnt" "${apt[@]}" install -y --no-install-recommends $(<names)
	wrote=$(IOT_DEV=$leaf dev_wrote)
	empty "lost" "$(q "SELECT layer, what, n FROM lost WHERE n > 0 AND run = (SELECT run FROM r)")"
	same "device bytes" "$(total bytes "kind = 'block_write' AND dev = '$leaf_no'")" "$wrote"
	[ "$wrote" -gt 100000000 ] || fail "$wrote bytes: that was no large package"
	echo "# $wrote bytes, $(by_apt) of apt, dpkg and what they started; issuer, owner, bytes:" >&3
	issued 1 | sed 's/^/# /' >&3
	[ $(($(by_apt) * 1000)) -ge $((wrote * 999)) ] || fail "$(by_apt) of $wrote bytes are apt's: $(total "bytes, comm, cause, sub" 1)"
	"$analyze" verify "$store" >verify.txt 2>&1 || fail "verify, status $?: $(grep MISMATCH verify.txt || cat verify.txt)"
	same "what the script wrote" "$(total bytes "kind = 'fs_write' AND cause = 'data' AND comm = 'iot-scripted.po' AND dev = '$volume_no'")" $((101 * 4096))
	for thread in kworker xfsaild; do
		[ -n "$(issued "issuer = '$thread' AND owner = 'dpkg' OR issuer = '$thread' AND owner = 'copy'")" ] || fail "nothing was submitted by $thread"
	done
}
