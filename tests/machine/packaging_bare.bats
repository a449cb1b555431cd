# SPDX-License-Identifier: GPL-3.0-only
# packaging_bare.bats - packages, static programs and the image where there is no clone and no compiler: bare Debian 11, 12 and 13, a machine
# with 6.1, namespaces. Only with IOT_PACKAGES=1 (`make check-packages`): it builds everything twice, and makes bare systems.

load ../lib/helper
bats_require_minimum_version 1.5.0

setup() {
	[ -n "${IOT_PACKAGES-}" ] || skip "IOT_PACKAGES=1 is missing: packages are not made each time"
	need_tracer
	cd "$root"
	store=$BATS_TEST_TMPDIR/run.sqlite
}

# Made once, by whoever needs it first.
debs() {
	need dh debhelper
	[ -e "$BATS_FILE_TMPDIR/debs" ] || {
		make -s B="$IOT_BUILD" deb >"$BATS_FILE_TMPDIR/deb.log" 2>&1 || fail "$(tail -n 20 "$BATS_FILE_TMPDIR/deb.log")"
		cp -r "$IOT_BUILD/deb" "$BATS_FILE_TMPDIR/debs"
	}
	deb=$(echo "$BATS_FILE_TMPDIR"/debs/iot_*.deb)
}
static() { make -s B="$IOT_BUILD" static >&2; }

@test "bare Debian 12 and 13: the .deb alone, exact loads, purge leaves nothing" {
	debs
	cat >"$BATS_TEST_TMPDIR/in" <<-'SCRIPT'
		set -e
		paths() { find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /in -o -path /var/cache -o -path /var/lib/apt \
			-o -path /var/lib/dpkg -o -path /var/log -o -path /tmp \) -prune -o -print | sort; }
		used() { du -sxk --exclude=./in --exclude=./var/cache --exclude=./var/lib/apt . | cut -f1; }
		cd /
		apt-get -qq update
		packages=$(dpkg-query -W | wc -l) kib=$(used)
		apt-get -qq install -y --no-install-recommends fio sqlite3 e2fsprogs >/dev/null 2>&1
		paths >/tmp/before
		dpkg-query -W -f '${Package}\n' | sort >/tmp/packages
		apt-get -qq install -y --no-install-recommends /in/iot_*.deb >/dev/null 2>&1
		more=$(dpkg-query -W -f '${Package}\n' | sort | comm -13 /tmp/packages - | wc -l)
		! command -v gcc && ! command -v clang && ! command -v make
		sh /in/tests/programs
		IOT_IMG_DIR=/dev/shm bash /in/tests/load
		echo "$more packages beside fio, sqlite3 and e2fsprogs; with those $(($(dpkg-query -W | wc -l) - packages)) packages, $(($(used) - kib)) KiB"
		[ "$more" -le 60 ]
		iot-trace -q -o /tmp/s.sqlite -- true
		iot-analyze breakdown /tmp/s.sqlite --plot /tmp 2>&1 >/dev/null | grep -x "iot-analyze: cannot draw: gnuplot is missing: install the Debian package 'gnuplot-nox'"
		apt-get -qq purge -y iot >/dev/null 2>&1
		apt-get -qq autoremove -y --purge >/dev/null 2>&1
		paths | comm -13 /tmp/before - >/tmp/left
		[ ! -s /tmp/left ] || { cat /tmp/left; exit 1; }
	SCRIPT
	for suite in bookworm trixie; do
		tests/tools/bare $suite "$deb" debian/tests "$BATS_TEST_TMPDIR/in" -- bash /in/in >"$BATS_TEST_TMPDIR/said" 2>&1 || fail "$suite: $(cat "$BATS_TEST_TMPDIR/said")"
		grep -E 'load:|packages' "$BATS_TEST_TMPDIR/said" | sed "s/^/# $suite: /" >&3
	done
}

@test "Debian 12: an upgrade reads older stores, and names an old make install" {
	debs
	mkdir "$BATS_TEST_TMPDIR/old"
	dpkg-deb -R "$deb" "$BATS_TEST_TMPDIR/old"
	sed -i 's/^Version: .*/Version: 0.0.1/' "$BATS_TEST_TMPDIR/old/DEBIAN/control"
	dpkg-deb --root-owner-group -b "$BATS_TEST_TMPDIR/old" "$BATS_TEST_TMPDIR/old.deb" >/dev/null
	cat >"$BATS_TEST_TMPDIR/in" <<-'SCRIPT'
		set -e
		apt-get -qq update
		apt-get -qq install -y --no-install-recommends /in/old.deb >/dev/null 2>&1
		cd /tmp
		iot-trace -q -o s.sqlite -- true
		mkdir -p /etc/iot/systems.d
		echo '{"systems":[]}' >/etc/iot/systems.d/mine.json
		install -D /bin/true /usr/local/sbin/iot-trace
		apt-get -qq install -y --no-install-recommends /in/iot_*.deb >log 2>&1
		grep -c '^iot: /usr/local/sbin/iot-trace of an earlier `make install` comes before this package in the PATH' log
		rm /usr/local/sbin/iot-trace
		hash -r
		iot-trace -q -o s.sqlite -- true
		iot-analyze runs s.sqlite --format csv | wc -l
		cat /etc/iot/systems.d/mine.json
	SCRIPT
	run -0 --separate-stderr tests/tools/bare bookworm "$deb" "$BATS_TEST_TMPDIR/old.deb" "$BATS_TEST_TMPDIR/in" -- bash /in/in
	same "said, runs, rules of the user" "${lines[*]}" '1 3 {"systems":[]}'
}

@test "lintian has nothing to say about the packages but what is explained" {
	need lintian lintian
	debs
	lintian --fail-on error,warning "$BATS_FILE_TMPDIR"/debs/*.changes >"$BATS_TEST_TMPDIR/said" 2>&1 || fail "$(cat "$BATS_TEST_TMPDIR/said")"
	empty "lintian" "$(grep -E '^[EW]:' "$BATS_TEST_TMPDIR/said" || :)"
}

@test "two builds of one source in two folders give the same release and packages" {
	debs
	cp -r "$BATS_FILE_TMPDIR/debs" "$BATS_TEST_TMPDIR/first"
	make -s B="$IOT_BUILD" dist deb >/dev/null 2>&1
	for file in "$BATS_TEST_TMPDIR"/first/*.deb; do
		cmp "$file" "$IOT_BUILD/deb/${file##*/}"
	done
	mkdir "$BATS_TEST_TMPDIR/elsewhere"
	tar -C "$BATS_TEST_TMPDIR/elsewhere" --strip-components=1 -xf "$IOT_BUILD"/iot-[0-9]*.tar.xz
	make -s -C "$BATS_TEST_TMPDIR/elsewhere" all
	for file in iot-trace iot-analyze iot-io; do
		[ "$file" = iot-trace ] || cmp "$IOT_BUILD/$file" "$BATS_TEST_TMPDIR/elsewhere/build/$file"
	done
	for file in "$IOT_BUILD"/bpf/*.bpf.o; do
		cmp "$file" "$BATS_TEST_TMPDIR/elsewhere/build/bpf/${file##*/}"
	done
}

@test "static programs in bare Debian 11, 12, 13: dd is exact at every layer" {
	static
	cat >"$BATS_TEST_TMPDIR/in" <<-'SCRIPT'
		set -e
		cd "$1"
		/in/static/iot-trace -q -o run.sqlite -- dd if=/dev/zero of=big bs=1M count=10 conv=fsync status=none
		/in/static/iot-analyze verify run.sqlite >verify.txt || { grep MISMATCH verify.txt; exit 1; }
	SCRIPT
	for suite in bullseye bookworm trixie; do
		in_root() {
			mkdir "$IOT_MNT/data"
			IOT_BIND=$IOT_MNT/data tests/tools/bare $suite "$IOT_BUILD/static" "$BATS_TEST_TMPDIR/in" -- sh /in/in /mnt || return
			cp "$IOT_MNT/data/run.sqlite" "$store"
		}
		rm -f "$store"
		with_fs ext4 256M -- in_root
		same "$suite: dd's S" "$(total bytes "layer = 'syscall' AND dir = 'w' AND sub = 'regular' AND comm = 'dd'")" 10485760
		same "$suite: dd's data" "$(total bytes "kind = 'block_write' AND cause = 'data' AND comm = 'dd'")" 10485760
	done
}

@test "static programs in an initramfs, 6.1: dd of 10 MiB is exact, counters agree" {
	local out=$BATS_TEST_TMPDIR/out

	static
	cat >"$BATS_TEST_TMPDIR/script" <<-'SCRIPT'
		set -e
		read -r _ _ _ _ _ _ before _ </sys/block/vda/stat
		iot-trace -o run.sqlite -- dd if=/dev/zero of=/mnt/f bs=1M count=10 conv=fsync 2>/dev/null
		read -r _ _ _ _ _ _ after _ </sys/block/vda/stat
		echo $(((after - before) * 512)) >device
		iot-analyze verify run.sqlite >verify.txt
	SCRIPT
	tests/vm/initramfs 6.1 "$IOT_BUILD/static" "$BATS_TEST_TMPDIR/script" "$out" || fail "$(cat "$out/log" "$out/verify.txt")"
	cp "$out/run.sqlite" "$store"
	same "dd's data" "$(total bytes "kind = 'block_write' AND cause = 'data' AND comm = 'dd'")" 10485760
	same "device bytes" "$(total bytes "kind = 'block_write'")" "$(cat "$out/device")"
	same "bytes of nobody's" "$(total bytes "kind = 'block_write' AND owner = 0")" 0
}

@test "the image with its manifests' capabilities: 160 writes of 64 KiB are exact" {
	need python3 python3-minimal
	make -s B="$IOT_BUILD" image >&2
	image=$(echo "$IOT_BUILD"/iot-*.oci.tar)
	caps=$(sed -n 's/.*add: \[\(.*\)\].*/\1/p' packaging/container/daemonset.yaml)
	same "of compose.yaml" "$(sed -n 's/.*cap_add: \[\(.*\)\].*/\1/p' packaging/container/compose.yaml)" "$caps"
	same "of iot.container" "$(sed -n 's/^AddCapability=//p' packaging/container/iot.container | sed 's/CAP_//g; s/ /, /g')" "$caps"
	caps=$(tr -d ' ' <<<"${caps,,}")
	in_image() {
		mkdir "$IOT_MNT/data"
		IOT_DEV=$IOT_DEV dev_mark
		tests/machine/confined.py "$image" "$caps" "$IOT_MNT/data" /usr/sbin/iot-trace -q -o /data/run.sqlite -- /usr/bin/iot-io --api pwrite \
			--file /data/log --size 65536 --count 160 --sync fsync >"$BATS_TEST_TMPDIR/ledger"
		tests/machine/confined.py "$image" "$caps" "$IOT_MNT/data" /usr/bin/iot-analyze verify /data/run.sqlite >"$BATS_TEST_TMPDIR/verify" ||
			{ grep MISMATCH "$BATS_TEST_TMPDIR/verify"; return 1; }
		cp "$IOT_MNT/data/run.sqlite" "$store"
		echo "$IOT_DEVNO" >"$BATS_TEST_TMPDIR/devno" # in a process of its own
	}
	with_fs ext4 256M -- in_image
	devno=$(<"$BATS_TEST_TMPDIR/devno")
	same "S" "$(total bytes "kind = 'pwrite64' AND comm = 'iot-io'")" 10485760
	same "data" "$(total bytes "kind = 'block_write' AND cause = 'data' AND comm = 'iot-io' AND dev = '$devno'")" 10485760
}
