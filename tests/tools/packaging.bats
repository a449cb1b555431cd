# SPDX-License-Identifier: GPL-3.0-only
# packaging.bats - installed files, completion in real shells, manuals, the front end, a release that needs no clang.

load ../lib/helper
bats_require_minimum_version 1.5.0

# The installed tree, made once.
setup_file() {
	load ../lib/helper
	export INSTALLED=$BATS_FILE_TMPDIR/installed
	make -s -C "$root" B="$IOT_BUILD" install DESTDIR="$INSTALLED" PREFIX=/usr >&2
}

setup() { cd "$BATS_TEST_TMPDIR"; }

files_below() { find "$1" ! -type d -printf '%P\n' | sort; }

@test "make uninstall takes away what make install put there, and nothing else" {
	cp -r "$INSTALLED" d
	mkdir -p d/usr/share/iot d/etc/iot/systems.d
	touch d/usr/bin/iotop d/etc/iot/systems.d/mine.json
	make -s -C "$root" B="$IOT_BUILD" uninstall DESTDIR="$PWD/d" PREFIX=/usr
	same "what is left" "$(files_below d | paste -sd' ')" "etc/iot/systems.d/mine.json usr/bin/iotop"
	[ ! -e d/usr/libexec/iot ] && [ ! -e d/usr/share/iot ]
	make -s -C "$root" B="$IOT_BUILD" uninstall DESTDIR="$PWD/d" PREFIX=/usr # nothing is there: no error
}

@test "make install: programs, scripts, manuals and completions are where they belong" {
	for file in sbin/iot-trace bin/iot-analyze bin/iot-io bin/iot bin/working_trace.sh libexec/iot/sqlite.sh; do
		[ -x "$INSTALLED/usr/$file" ] || fail "$file is missing"
	done
	for file in man1/iot.1 man1/iot-analyze.1 man5/iot-systems.5 man7/iot-cookbook.7 man7/iot-glossary.7 man8/iot-trace.8; do
		[ -s "$INSTALLED/usr/share/man/$file" ] || fail "$file is missing"
	done
	for name in iot iot-trace iot-analyze; do
		bash -n "$INSTALLED/usr/share/bash-completion/completions/$name"
		same "$name" "$(head -n 1 "$INSTALLED/usr/share/zsh/site-functions/_$name")" "#compdef $name"
	done
	same "the rules" "$(sha256sum <"$INSTALLED/usr/share/iot/systems.json")" "$(sha256sum <"$root/tracer/process/systems/systems.json")"
}

completed() { # SHELL LINE WANTED
	PATH=$INSTALLED/usr/sbin:$INSTALLED/usr/bin:$PATH timeout 90 "$root/tests/tools/complete.py" "$1" "$INSTALLED/usr/share" "$2" "$3" >said ||
		fail "$1: '$2' became '$(cat said)', not '$3'"
}

@test "a real bash and a real zsh complete options and their values, and what iot takes" {
	need zsh zsh
	need python3 python3-minimal
	for shell in bash zsh; do
		completed $shell "iot-trace --lay" '^iot-trace --layers'
		completed $shell "iot-trace --layers block,ca" '^iot-trace --layers block,cache'
		completed $shell "iot-trace --settle " '^checkpoint +none +sync'
		completed $shell "iot-trace --system post" '^iot-trace --system postgresql'
		completed $shell "iot-trace --dev " "$(ls /sys/block | head -n 1)"
		completed $shell "iot-trace -o /etc/hostna" '^iot-trace -o /etc/hostname'
		completed $shell "iot system mini" '^iot system minio'
		completed $shell "iot trace --no-e" '^iot trace --no-events'
	done
}

@test "completion of iot-trace has every option of the table, and no other shell" {
	mapfile -t names < <(sed -nE "s/^\t\{ ('.'|0), \"([a-z-]+)\".*/\2/p" "$root/tracer/options/options.c")
	for shell in bash zsh; do
		"$trace" --completion $shell >script
		for name in "${names[@]}"; do grep -qE -- "--$name\b" script || fail "$shell: --$name is missing"; done
	done
	run --separate-stderr -2 "$trace" --completion fish
	same "what it says" "$stderr" "iot-trace: completion: 'fish' is neither bash nor zsh: try 'iot-trace --help'"
	run --separate-stderr -1 bash -c '"$0" --completion zsh >/dev/full' "$trace"
}

@test "mandoc and groff have nothing to say about the manuals" {
	need mandoc mandoc
	need groff groff
	while read -r page; do
		empty "mandoc: $page" "$(mandoc -T lint -W warning "$page" 2>&1)"
		empty "groff: $page" "$(LC_ALL=C.UTF-8 groff -man -t -ww -Tutf8 "$page" 2>&1 >/dev/null)"
	done < <(cd "$root" && find . -path ./build -prune -o -name '*.[1578]' -print | sed "s|^\.|$root|")
}

@test "iot: help lists each command and each system, by the first line of its own file" {
	iot=$INSTALLED/usr/bin/iot
	"$iot" help >list
	for name in trace analyze io watch repeat sweep fs-bench five scenario system; do
		grep -qE "^  $name +[A-Za-z]" list || fail "$name is missing: $(cat list)"
	done
	grep -qF "$(sed -n 's/^# repeat.sh - //p' "$root/workloads/repeat.sh")" list
	same "systems" "$("$iot" system | paste -sd' ')" "$(grep -l '^system_main ' "$root"/workloads/*.sh | xargs -n 1 basename -s .sh | paste -sd' ')"
	"$iot" help repeat | grep -q '^usage: iot repeat N'
	same "of the clone" "$("$root/workloads/iot" help)" "$(cat list)"
}

@test "iot: what is not there is refused in one line with status 2" {
	for words in nonsense "system nonsense" "system ../sqlite" "help nonsense" "completion fish"; do
		# shellcheck disable=SC2086 # several words
		run --separate-stderr -2 "$INSTALLED/usr/bin/iot" $words
		same "lines of $words" "${#stderr_lines[@]}" 1
	done
	mkdir -p alone/bin
	cp "$INSTALLED/usr/bin/iot" alone/bin/
	run --separate-stderr -1 alone/bin/iot help
	[[ $stderr == "iot: its commands are missing: "* ]]
}

@test "installed scripts find the installed programs, from a folder that has none" {
	"$INSTALLED/usr/bin/iot" analyze --version | grep -q '^iot-analyze '
	"$INSTALLED/usr/bin/iot" --version | grep -q '^iot-trace '
	(cd / && IOT_BUILD='' bash -euc '. "$1/libexec/iot/programs.bash" && program iot-trace' bash "$INSTALLED/usr") >where
	same "iot-trace" "$(cat where)" "$INSTALLED/usr/sbin/iot-trace"
	rm -rf copy
	cp -r "$INSTALLED" copy
	rm copy/usr/sbin/iot-trace
	run --separate-stderr -1 env PATH=/usr/bin:/bin IOT_BUILD= copy/usr/bin/iot repeat 1 -- true
	[[ $stderr == *"iot-trace is missing"* ]] || fail "$stderr"
}

# A release that was unpacked: here, with the name $1.
release() { # FOLDER
	[ -e "$BATS_FILE_TMPDIR/release.tar.xz" ] || {
		make -s -C "$root" B="$IOT_BUILD" dist >&2
		cp "$IOT_BUILD"/iot-[0-9]*.tar.xz "$BATS_FILE_TMPDIR/release.tar.xz"
	}
	mkdir "$1"
	tar -C "$1" --strip-components=1 -xf "$BATS_FILE_TMPDIR/release.tar.xz"
}

# make in a release, without clang.
without_clang() { make -s -C "$1" CLANG=no-such-clang "${@:2}"; }

@test "make dist: the release has each kernel object and uses it where clang is missing" {
	release r
	arch=$(ls r/prebuilt)
	same "objects" "$(ls "r/prebuilt/$arch" | grep -c '\.bpf\.o$')" "$(ls "$IOT_BUILD"/bpf/*.bpf.o | wc -l)"
	grep -qE '^clang [0-9]+\..*, for '"$arch"'$' "r/prebuilt/$arch/made_by"
	for file in Makefile README.md debian/control packaging/packages.mk tests/run bpf/object/pages.bpf.c; do
		[ -e "r/$file" ] || [ ! -e "$root/$file" ] || fail "$file is not in the release"
	done
	without_clang r build/bpf/pages.bpf.o build/bpf/made_by
	cmp r/build/bpf/pages.bpf.o "$IOT_BUILD/bpf/pages.bpf.o"
	grep -q ', prebuilt$' r/build/bpf/made_by
}

@test "iot-doc has each file that the README links to, where the links find it" {
	for file in $(grep -oE '\]\([a-zA-Z][^):#]*' "$root/README.md" | cut -c3-); do
		grep -qxF "$file" "$root/debian/iot-doc.docs" ||
			awk -v wanted="usr/share/doc/iot/$file" '{ n = split($1, part, "/"); at = $2 "/" part[n] } at == wanted || index(wanted, at "/") == 1 { found = 1 }
				END { exit !found }' "$root/debian/iot-doc.install" || fail "$file is in no package"
	done
}

@test "make dist: the same bytes, whatever the folder's times, owners and order are" {
	release r
	make -s -C "$root" B="$IOT_BUILD" dist
	cmp "$BATS_FILE_TMPDIR/release.tar.xz" "$IOT_BUILD"/iot-[0-9]*.tar.xz
}

@test "prebuilt objects missing, of another machine, of other sources: a sentence each" {
	release r
	arch=$(ls r/prebuilt)
	refused() { # TEXT
		run --separate-stderr ! without_clang r build/bpf/pages.bpf.o
		same "lines" "$(grep -c '^iot: ' <<<"$stderr")" 1
		[[ $stderr == *"$1"* ]] || fail "$stderr"
		[ ! -e r/build/bpf/pages.bpf.o ]
	}
	echo '/* changed */' >>r/bpf/core/task.bpf.h
	refused "the prebuilt kernel objects are of other sources than those in bpf/"
	mv "r/prebuilt/$arch" r/prebuilt/sparc
	refused "the prebuilt kernel objects are for sparc, this compiler makes programs for $arch"
	rm -r r/prebuilt
	refused "there are no prebuilt kernel objects here"
}

@test "the programs are hardened, and the flags of who builds are honoured" {
	need readelf binutils
	need_plain "$trace" "flags of a build with sanitizers are its own"
	for program in "$trace" "$analyze"; do
		readelf -hW "$program" | grep -q 'Type: *DYN' || fail "$program is not PIE"
		readelf -dW "$program" | grep -qE 'BIND_NOW|NOW' || fail "$program has no BIND_NOW"
		readelf -lW "$program" | grep -q GNU_RELRO || fail "$program has no RELRO"
		readelf -sW --dyn-syms "$program" | grep -q __stack_chk_fail || fail "$program has no stack protector"
		readelf -sW --dyn-syms "$program" | grep -qE '__[a-z]+_chk' || fail "$program has no FORTIFY_SOURCE"
	done
	make -s -C "$root" B="$PWD/b" CPPFLAGS=-DFROM_OUTSIDE LDFLAGS=-Wl,--hash-style=sysv -n "$PWD/b/base/number.o" "$PWD/b/iot-analyze" >said
	grep -E -- '-DFROM_OUTSIDE .*base/number\.c|base/number\.c.*-DFROM_OUTSIDE' said | grep -q -- '-D_FORTIFY_SOURCE=2'
	grep -E -- '-o [^ ]*/iot-analyze' said | grep -q -- --hash-style=sysv
}
