# SPDX-License-Identifier: GPL-3.0-only
# setup.bats - `make setup` against an apt that refuses: one sentence with the cure. apt-get, apt-cache and dpkg-query are scripts here.

load ../lib/helper

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR"
	mkdir bin says
	echo gcc > installed
	cat > bin/dpkg-query <<-'END'
		#!/bin/bash
		for name in "${@:4}"; do
			grep -x "$name" installed | sed 's/^/installed /' | grep . || absent=1
		done
		[ -z "${absent-}" ]
	END
	cat > bin/apt-get <<-'END'
		#!/bin/bash
		echo "$*" >> calls
		for word in "$@"; do
			case $word in -s) step=simulate ;; update | install) step=${step-$word} ;; esac
		done
		if [ -f "says/$step" ]; then
			cat "says/$step"
			[ ! -f "says/$step.once" ] || rm "says/$step" "says/$step.once"
			exit "$(cat says/status 2>/dev/null || echo 100)"
		fi
		[ "$step" != simulate ] || echo "Inst clang (1:14.0)"
		[ "$step" != install ] || echo clang >> installed
	END
	printf '#!/bin/bash\necho "Installed-Size: %s"\n' 1000 > bin/apt-cache
	chmod +x bin/*
	PATH=$BATS_TEST_TMPDIR/bin:$PATH
	export IOT_SETUP_WAIT=0
}

# The end of setup when a step of apt says this.
refused() { # STEP WORDS
	echo "$2" > "says/$1"
	run -1 --separate-stderr "$root/tests/tools/setup" gcc clang
	empty "output" "$output"
	last=${stderr_lines[-1]}
	[[ $last == "setup: "*"run make again (missing: clang)" ]] || fail "$stderr"
	[ "${#stderr_lines[@]}" -le 4 ] || fail "more than a sentence: $stderr"
}

@test "apt is not called when every package is installed" {
	run -0 "$root/tests/tools/setup" gcc
	empty "output" "$output"
	[ ! -e calls ]
}

@test "setup installs what is missing, and nothing else" {
	run -0 "$root/tests/tools/setup" gcc clang
	[[ $output == *"1 of 2 packages are missing: clang"*installed ]]
	same "the call" "$(tail -n 1 calls | grep -o 'install .*')" "install -y --no-install-recommends clang"
}

@test "a lock of apt is waited for, also that of the lists" {
	for step in update install; do
		sed -i /clang/d installed
		echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 4711 (apt-get)" > "says/$step"
		touch "says/$step.once"
		IOT_SETUP_WAIT=60 run -0 "$root/tests/tools/setup" gcc clang
		[[ $output == *"waiting for another program that has apt's lock"*installed ]]
	done
}

@test "a lock that is never released gives one sentence with who holds it" {
	refused update "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 4711 (apt-get)"
	[[ $last == *"process 4711 (apt-get) has held apt's lock for too long: wait until it has ended"* ]]
	refused update "E: Unable to lock directory /var/lib/apt/lists/"
	[[ $last == *"another program has held apt's lock"* ]]
}

@test "offline, no space, an unknown package: one sentence with the cure each" {
	refused install "E: Failed to fetch http://x/clang.deb  Temporary failure resolving 'x'"
	[[ $last == *"connect this machine, or name a proxy"* ]]
	refused install "E: You don't have enough free space in /var/cache/apt/archives/."
	[[ $last == *"free 1 GB below /usr and /var"* ]]
	refused simulate "E: Unable to locate package clang"
	[[ $last == *"package 'clang' is in no archive that apt knows"* ]]
	refused simulate "E: Package 'clang' has no installation candidate"
	[[ $last == *"package 'clang' is in no archive that apt knows"* ]]
}

@test "an unknown package is not blamed where the lists could not be fetched" {
	echo 0 > says/status
	echo "W: Failed to fetch http://x/InRelease  Could not resolve 'x'" > says/update
	sed -i 's/^\[ "\$step" != simulate.*/[ "$step" != simulate ] || { echo "E: Unable to locate package clang"; exit 100; }/' bin/apt-get
	run -1 --separate-stderr "$root/tests/tools/setup" gcc clang
	[[ ${stderr_lines[-1]} == *"apt cannot reach an archive"* ]]
}

@test "packages for which there is no room are refused before the first is unpacked" {
	printf '#!/bin/bash\necho "Installed-Size: %s"\n' 99999999999 > bin/apt-cache
	run -1 --separate-stderr "$root/tests/tools/setup" gcc clang
	[[ ${stderr_lines[-1]} =~ "the 1 packages to install need "[0-9]+" MB, and /usr has "[0-9]+" MB free: free some" ]]
	run ! grep -e 'install -y' calls
}

@test "a build without space leaves no half-built file, and says what to do" {
	need_root
	PATH=${PATH#*:}
	mkdir small
	mount -t tmpfs -o size=8k tmpfs small
	teardown() { umount "$BATS_TEST_TMPDIR/small"; }
	run -2 --separate-stderr make -C "$root" B="$PWD/small/build" "$PWD/small/build/base/number.o"
	[[ $stderr == *"iot: no space left to build: $PWD/small has 0 MB free, and 64 MB are needed: free some"* ]]
	empty "half-built" "$(find small -name 'number.*')"
	mount -o remount,size=16m small
	make -C "$root" B="$PWD/small/build" "$PWD/small/build/base/number.o"
	[ -s small/build/base/number.o ]
}

@test "the names in the Makefile are packages of this Debian" {
	need apt-cache apt
	PATH=${PATH#*:}
	apt-cache show gcc >/dev/null 2>&1 || skip "lists of packages are missing: run apt-get update"
	make -s -C "$root" --eval 'names: ; @printf "%s\n" $(PKGS_BUILD) $(PKGS_RUN) $(PKGS_TEST)' names | sort > names
	xargs apt-cache show --no-all-versions < names 2>/dev/null | sed -n 's/^Package: //p' | sort -u > known
	empty "no packages of this Debian" "$(comm -23 names known)"
}
