# SPDX-License-Identifier: GPL-3.0-only
# strangers.bats - root and an unprivileged user share a folder that both can write: files that the user puts there are not opened,
# followed, appended to or trusted.
# shellcheck shell=bash

load ../lib/helper
bats_require_minimum_version 1.5.0

STRANGER=65534
tool=$IOT_BUILD/stream-tool

as_stranger() { setpriv --reuid=$STRANGER --regid=$STRANGER --clear-groups "$@"; }

setup_file() {
	built stream-tool
	for uuid in a b; do
		"$root/tests/lib/gen-run.py" 60 --uuid $uuid >"$BATS_FILE_TMPDIR/$uuid.jsonl"
		"$analyze" ingest "$BATS_FILE_TMPDIR/$uuid.sqlite" "$BATS_FILE_TMPDIR/$uuid.jsonl"
	done
	sqlite3 "$BATS_FILE_TMPDIR/b.sqlite" "UPDATE run SET label = 'forged'"
	chmod 644 "$BATS_FILE_TMPDIR"/*
}

setup() {
	need_root
	need setpriv util-linux
	place=$(mktemp -d "$IOT_IMG_DIR/strangers.XXXXXX")
	chmod 755 "$place"
	mkdir "$place/sticky" "$place/open" "$place/theirs" "$place/ours"
	chmod 1777 "$place/sticky"
	chmod 777 "$place/open"
	chown $STRANGER "$place/theirs"
	cp "$BATS_FILE_TMPDIR"/* "$place"
	cp "$BATS_FILE_TMPDIR/b.sqlite" "$place/forged"
	chmod 644 "$place/forged"
	echo precious >"$place/victim"
	chmod 600 "$place/victim"
	victim=$(stat -c '%u %a %Y %s' "$place/victim")
	cd "$place" || return 1
	as_stranger test -w sticky || skip "the folder of this test cannot be entered by others"
}

teardown() {
	cd /
	rm -rf "$place"
}

# Objects that a stranger can put under a name. A hard link to a file that it may not write needs fs.protected_hardlinks=0: root makes it in its place.
objects='empty writable forged link dangling hard fifo folder'
plant() { # OBJECT NAME
	case $1 in
	empty) as_stranger touch "$2" ;;
	writable) as_stranger sh -c 'echo planted >"$0"; chmod 666 "$0"' "$2" ;;
	forged) as_stranger cp forged "$2" ;;
	link) as_stranger ln -s "$place/victim" "$2" ;;
	dangling) as_stranger ln -s "$place/ours/new" "$2" ;;
	hard) ln victim "$2" ;;
	fifo) as_stranger mkfifo "$2" ;;
	folder) as_stranger mkdir "$2" ;;
	esac
}

# Every object in a sticky folder, some in the others; IOT_STRANGERS=all: every one in each.
pairs() {
	local folder object

	for folder in sticky open theirs; do
		for object in $objects; do
			case $folder:$object:${IOT_STRANGERS-} in
			sticky:* | *:all | *:forged:* | *:link:*) echo "$folder $object" ;;
			esac
		done
	done
}

# An object as seen from outside.
look() { stat -c '%F %u %g %a %s %Y %i' "$1"; }

# Runs a command that must refuse what was planted: in one sentence, without a word on standard output, in time; nothing has changed.
refused() { # PLANTED COMMAND...
	local planted=$1 before
	shift
	before=$(look "$planted")
	run --separate-stderr timeout -k 1 10 "$@"
	[ "$status" = 1 ] || [ "$status" = 2 ] || fail "$planted, $*: status $status: $output$stderr"
	[ -z "$output" ] || fail "$planted, $*: printed $output"
	[ "${#stderr_lines[@]}" = 1 ] || fail "$planted, $*: said $stderr"
	same "$planted after $*" "$(look "$planted")" "$before"
	same "victim of $planted after $*" "$(stat -c '%u %a %Y %s' victim)" "$victim"
	[ ! -e ours/new ] || fail "$planted, $*: something was made through a link"
	count=$((count + 1))
}

unplant() { rm -rf "$1"; }

count=0
told() { echo "# $count planted objects refused: $*" >&3; }

@test "no existing output of a stranger is opened, as store, text or JSON Lines" {
	while read -r folder object; do
		x=$folder/x.sqlite
		plant "$object" $x
		refused $x "$analyze" ingest $x a.jsonl
		refused $x "$tool" open $x
		refused $x "$analyze" attach $x a.jsonl
		unplant $x
	done < <(pairs)
	told "8 kinds where others can write, opened to be created or appended to"
}

@test "a stranger's store, link, FIFO or folder in its place is not read" {
	while read -r folder object; do
		x=$folder/x.sqlite
		plant "$object" $x
		refused $x "$analyze" runs $x
		refused $x "$analyze" ingest ours/y.sqlite $x
		refused $x "$analyze" amplification a.sqlite --ledger $x
		unplant $x
		rm -f ours/y.sqlite*
	done < <(pairs)
	told "8 kinds where others can write, opened to be read"
}

@test "a stranger's -journal, -wal or -shm stops every use of a store" {
	while read -r folder object; do
		for companion in -journal -wal -shm; do
			x=$folder/x.sqlite
			plant "$object" $x$companion
			refused $x$companion "$analyze" ingest $x a.jsonl
			[ ! -s $x ] || fail "$x was written"
			cp a.sqlite $x
			chmod 600 $x
			refused $x$companion "$analyze" ingest $x b.jsonl
			refused $x$companion "$analyze" runs $x
			cmp a.sqlite $x
			unplant $x$companion
			rm $x
		done
	done < <(pairs)
	told "8 kinds of 3 companions where others can write, to create, append, read"
}

# A rollback journal that changes nothing and names another file to be removed with it.
super_journal() { # STORE SUPER
	python3 - "$1" "$2" <<-'PY'
		import struct, sys
		magic, name = bytes.fromhex("d9d505f920a163d7"), sys.argv[2].encode()
		page = 16384
		pages = len(open(sys.argv[1], "rb").read()) // page
		head = magic + struct.pack(">IIIII", 0, 0, pages, 512, page)
		tail = struct.pack(">I", 0x40000000 // page + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
		sys.stdout.buffer.write(head.ljust(512, b"\0") + tail)
	PY
}

@test "a -journal is never played back before an append, whosever it is" {
	cp a.sqlite ours/x.sqlite
	super_journal ours/x.sqlite "$place/victim" >ours/x.sqlite-journal
	run --separate-stderr -1 "$analyze" ingest ours/x.sqlite b.jsonl
	[[ $stderr == *"ours/x.sqlite-journal: another program was stopped while it changed the store, or somebody put this there: move it away"* ]]
	[ -e victim ] && [ -e ours/x.sqlite-journal ]
	cp a.sqlite sticky/x.sqlite
	super_journal sticky/x.sqlite "$place/victim" >planted
	chmod 644 planted
	as_stranger cp planted sticky/x.sqlite-journal
	run --separate-stderr -1 "$analyze" ingest sticky/x.sqlite b.jsonl
	[[ $stderr == *"sticky/x.sqlite-journal belongs to somebody else: no program of yours left that next to the store"* ]]
	[ -e victim ]
	# the way out: it is moved away, and the next one goes in
	rm ours/x.sqlite-journal
	"$analyze" ingest ours/x.sqlite b.jsonl
}

@test "iot itself leaves no journal that could be taken for a stranger's" {
	need strace strace
	export ASAN_OPTIONS=detect_leaks=0 # that cannot be traced
	strace -f -e trace=openat,open,creat -o calls "$analyze" ingest ours/x.sqlite a.jsonl
	strace -f -e trace=openat,open,creat -o more "$analyze" ingest ours/x.sqlite b.jsonl
	grep -q 'x.sqlite-wal' calls
	run -1 grep -h 'x.sqlite-journal' calls more
}

@test "an output of mode 0666 in a folder of others is refused; our own is written" {
	for folder in sticky open; do
		echo old >$folder/x
		chmod 666 $folder/x
		run --separate-stderr -1 "$tool" open $folder/x
		[[ $stderr == *"$folder/x: will not write to what others can write"* ]]
		same kept "$(cat $folder/x)" old
		chmod 644 $folder/x
		"$tool" open $folder/x
		same written "$(cat $folder/x)" x
		"$analyze" ingest $folder/x.sqlite a.jsonl
		"$analyze" ingest $folder/x.sqlite b.jsonl
		same mode "$(stat -c %a $folder/x.sqlite)" 600
		"$analyze" runs $folder/x.sqlite >runs
		grep -c complete runs
	done
	# in a folder of our own it is our own affair
	echo old >ours/x
	chmod 666 ours/x
	"$tool" open ours/x
}

# Gives the stranger all rights in a folder or file, whose mode says nothing of others then: as setfacl -m u:65534:rwx.
allow_stranger() { # NAME
	python3 - "$1" <<-PY
		import os, struct, sys
		entries = [(1, 7, 0xffffffff), (2, 7, $STRANGER), (4, 5, 0xffffffff), (16, 7, 0xffffffff), (32, 5, 0xffffffff)]
		os.setxattr(sys.argv[1], "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries))
	PY
}

@test "a store of ours that has a second name is not used in a folder of others" {
	for folder in sticky open; do
		cp a.sqlite $folder/two.sqlite
		chmod 600 $folder/two.sqlite
		ln $folder/two.sqlite ours/second
		run --separate-stderr -1 "$analyze" ingest $folder/two.sqlite b.jsonl
		[[ $stderr == *"has other names (hard links): will not write over it"* ]]
		run --separate-stderr -1 "$analyze" runs $folder/two.sqlite
		[[ $stderr == *"has other names (hard links)"* ]]
		cmp $folder/two.sqlite a.sqlite
		rm ours/second $folder/two.sqlite
	done
}

@test "an access control list counts as well as the bits of the group" {
	allow_stranger ours 2>/dev/null || skip "access control lists are missing on this file system"
	same mode "$(stat -c '%a %u %g' ours)" "775 0 0"
	as_stranger touch ours/x.sqlite
	refused ours/x.sqlite "$analyze" ingest ours/x.sqlite a.jsonl
}

@test "an access control list counts too: files that a stranger can write are refused" {
	cp a.sqlite sticky/x.sqlite
	allow_stranger sticky/x.sqlite 2>/dev/null || skip "access control lists are missing on this file system"
	same mode "$(stat -c '%a %u %g' sticky/x.sqlite)" "775 0 0"
	as_stranger test -w sticky/x.sqlite
	refused sticky/x.sqlite "$analyze" ingest sticky/x.sqlite b.jsonl
	refused sticky/x.sqlite "$analyze" runs sticky/x.sqlite
	cmp a.sqlite sticky/x.sqlite
	cp a.sqlite sticky/y.sqlite
	chmod 600 sticky/y.sqlite
	touch sticky/y.sqlite-wal
	allow_stranger sticky/y.sqlite-wal
	refused sticky/y.sqlite-wal "$analyze" ingest sticky/y.sqlite b.jsonl
	refused sticky/y.sqlite-wal "$analyze" runs sticky/y.sqlite
}

@test "a folder that a stranger can exchange is not safe; below a sticky one it is" {
	mkdir open/mine sticky/mine
	as_stranger mv open/mine open/away
	as_stranger mkdir open/mine
	for object in $objects; do
		plant "$object" open/mine/x.sqlite
		refused open/mine/x.sqlite "$analyze" ingest open/mine/x.sqlite a.jsonl
		unplant open/mine/x.sqlite
	done
	run -1 as_stranger mv sticky/mine sticky/away
	"$analyze" ingest sticky/mine/x.sqlite a.jsonl
	as_stranger ln -s "$place/ours" sticky/link
	run --separate-stderr -1 "$analyze" ingest sticky/link/x.sqlite a.jsonl
	[[ $stderr == *"will not write through a symbolic link that somebody else made"* ]]
	run --separate-stderr -1 "$analyze" runs sticky/link/x.sqlite
	[[ $stderr == *"will not read through a symbolic link that somebody else made"* ]]
	told "8 kinds in a folder that was exchanged"
}

@test "a store exchanged again and again while it is opened is never the stranger's" {
	cp a.sqlite open/x.sqlite
	chmod 644 open/x.sqlite
	cp open/x.sqlite open/keep
	chmod 666 open/keep
	setpriv --reuid=$STRANGER --regid=$STRANGER --clear-groups sh -c 'cp forged open/evil; until [ -e over ]; do mv open/x.sqlite open/good && mv open/evil open/x.sqlite; mv open/x.sqlite open/evil && mv open/good open/x.sqlite; done' 2>/dev/null &
	pid=$!
	for _ in $(seq "$(sized 25 60)"); do
		run --separate-stderr "$analyze" runs open/x.sqlite
		[ "$status" -le 1 ]
		[[ $output != *forged* ]] || { touch over; fail "read what the stranger put there: $output"; }
		run "$analyze" ingest open/x.sqlite b.jsonl
	done
	touch over # killed it would leave a mv behind, which renames while it is looked
	wait "$pid" || :
	find open -type f -user $STRANGER -exec cmp {} forged \;
	[ "$(find open -type f -user $STRANGER | wc -l)" = 1 ]
}

@test "a store that is exchanged between check and SQLite's open is refused" {
	need cc gcc
	need_plain "$analyze" "another library is loaded first"
	cat >swap.c <<-'C'
		#include <fcntl.h>
		#include <stdarg.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/syscall.h>
		#include <unistd.h>

		/* The first open of the store that is more than a look at it finds another file. */
		int openat(int dir, const char *name, int flags, ...)
		{
			static int done;
			va_list list;
			int mode;

			va_start(list, flags);
			mode = va_arg(list, int);
			va_end(list);
			if (!strcmp(name, "x.sqlite") && !(flags & O_PATH) && !done++)
				renameat(dir, "evil", dir, name);
			return syscall(SYS_openat, dir, name, flags, mode);
		}
		/* with _FORTIFY_SOURCE */
		int __openat_2(int dir, const char *name, int flags)
		{
			return openat(dir, name, flags, 0);
		}
	C
	cc -D_GNU_SOURCE -shared -fPIC -o swap.so swap.c
	for way in "runs open/x.sqlite" "ingest open/x.sqlite b.jsonl"; do
		cp a.sqlite open/x.sqlite
		chmod 644 open/x.sqlite
		cp forged open/evil
		# shellcheck disable=SC2086
		LD_PRELOAD=$place/swap.so run --separate-stderr -1 "$analyze" $way
		[ ! -e open/evil ] || fail "$way: nothing was exchanged"
		[[ $output != *forged* && $stderr == *"somebody exchanged it at this moment"* ]] || fail "$way: $output $stderr"
		cmp open/x.sqlite forged
	done
}

# A program that plants what a stranger can plant while it runs, then draws.
hostile_gnuplot() { # FOLDER
	mkdir -p bin
	cat >bin/gnuplot <<-END
		#!/bin/sh
		setpriv --reuid=$STRANGER --regid=$STRANGER --clear-groups sh -c 'cd "$place/$1" || exit
			for work in .iot-*; do
				[ -d "\$work" ] && mv "\$work" away && mkdir "\$work" || continue
				echo forged >"\$work/breakdown.png"
				: >"\$work/breakdown.tsv"
				chmod -R 777 "\$work"
			done' 2>/dev/null
		exec $(command -v gnuplot) "\$@"
	END
	chmod 755 bin/gnuplot
}

@test "who owns the folder that pictures go to cannot exchange what is drawn" {
	need gnuplot gnuplot-nox
	hostile_gnuplot theirs
	mkdir work
	TMPDIR=$place/work PATH=$place/bin:$PATH run --separate-stderr "$analyze" breakdown a.sqlite --plot theirs
	! grep -l forged theirs/* || fail "a picture of the stranger"
	same status "$status: $stderr" "0: "
	same pictures "$(cd theirs && echo ./* | tr -d ./)" "breakdowndat breakdowngp breakdownpdf breakdownpng breakdownsvg breakdowntsv"
	empty "left behind" "$(ls work)"
}

@test "a stranger's file under a picture's name is not opened, followed or replaced" {
	for folder in sticky theirs; do
		for file in breakdown.svg breakdown.pdf breakdown.dat breakdown.gp; do
			for object in $objects; do
				plant "$object" $folder/$file
				local before
				before=$(look $folder/$file)
				run --separate-stderr timeout 20 "$analyze" breakdown a.sqlite --plot $folder
				[ "$status" = 1 ] && [ "${#stderr_lines[@]}" = 1 ] && [[ $stderr == *"cannot write $folder/$file: "* ]] || fail "$folder/$file, $object: $stderr"
				same "$folder/$file" "$(look $folder/$file)" "$before"
				same victim "$(cat victim)" precious
				unplant $folder/$file
				count=$((count + 1))
			done
		done
	done
	told "8 kinds of 4 names of pictures"
}

# A program of that name that says who ran it.
spy() { # NAME
	printf '#!/bin/sh\n%s -u >>%s/ran\n' "$(command -v id)" "$place" >"$1"
	chmod 755 "$1"
}

@test "gnuplot is not run as root where somebody else can write on the way to it" {
	need gnuplot gnuplot-nox
	mkdir -p ours/bin ours/loose ours/real open/deep/bin sticky/bin
	spy ours/bin/gnuplot
	chmod 777 ours/bin/gnuplot # the file
	spy ours/loose/gnuplot
	chmod 777 ours/loose # its folder
	spy open/deep/bin/gnuplot # one above that
	spy theirs/gnuplot
	chown $STRANGER theirs/gnuplot
	spy ours/real/gnuplot
	chown $STRANGER ours/real/gnuplot # in a folder of root's
	spy sticky/bin/gnuplot
	as_stranger ln -s "$place/sticky/bin/gnuplot" sticky/gnuplot
	mkdir ours/next # bitmaps and PDF take longest, and nobody looks at them here
	# shellcheck disable=SC2016 # the script's own
	printf '%s\n' '#!/bin/sh' "[ \"\$4\" != svg ] || exec $(command -v gnuplot) \"\$@\"" ': >"${3%.gp}.$4"' >ours/next/gnuplot
	chmod 755 ours/next ours/next/gnuplot
	for folder in ours/bin ours/loose open/deep/bin theirs ours/real sticky; do
		mkdir pictures
		run --separate-stderr -1 env PATH="$place/$folder:/nowhere" "$analyze" breakdown a.sqlite --plot pictures
		same "said of $folder" "$stderr" "iot-analyze: cannot draw: $place/$folder/gnuplot: will not run it: somebody else can write it, or a folder on the way to it: take that away (chmod go-w), or the folder out of PATH"
		[ ! -e ran ] || fail "$folder: it was run by $(cat ran)"
		# the next one that PATH leads to
		PATH=$place/$folder:$place/ours/next:$PATH "$analyze" breakdown a.sqlite --plot pictures
		PATH=$place/$folder:$place/ours/next:$PATH "$analyze" report a.sqlite -o page.html
		[ ! -e ran ] || fail "$folder: it was run by $(cat ran)"
		[ -s pictures/breakdown.svg ] && [ -s page.html ]
		rm -r pictures page.html
	done
	# below a sticky folder nobody can exchange it; and whoever is not root trusts his own path
	mkdir pictures
	run env PATH="$place/sticky/bin" "$analyze" breakdown a.sqlite --plot pictures
	same "below a sticky folder" "$(sort -u ran)" 0
	rm ran
	mkdir theirs/pictures
	chown $STRANGER theirs/pictures
	touch ran
	chmod 666 ran
	PATH=$place/ours/bin:$PATH run as_stranger "$analyze" breakdown a.sqlite --plot theirs/pictures
	same "who is not root" "$(sort -u ran)" $STRANGER
}

@test "iot-analyze is not run by the tracer where somebody else can write it" {
	need_tracer
	mkdir -p ours/bin ours/alone
	cp "$trace" ours/alone/
	spy ours/bin/iot-analyze
	chmod 777 ours/bin/iot-analyze
	spy ours/alone/iot-analyze
	chown $STRANGER ours/alone/iot-analyze
	PATH=$place/ours/bin:/usr/bin:/bin run --separate-stderr -1 ours/alone/iot-trace -q -- true
	same said "$stderr" "iot-trace: $place/ours/bin/iot-analyze: will not run it: somebody else can write it, or a folder on the way to it: take that away (chmod go-w), or the folder out of PATH"
	[ ! -e ran ] || fail "it was run by $(cat ran)"
}

@test "working_trace.sh runs no stranger's iot-trace, nor programs of root's path" {
	mkdir -p ours/bin open/copy/build sticky/copy/build ours/path
	cp "$root/working_trace.sh" open/copy
	cp "$root/working_trace.sh" sticky/copy
	spy open/copy/build/iot-trace # a folder above it can be exchanged
	spy sticky/copy/build/iot-trace
	chmod 777 sticky/copy/build/iot-trace
	spy ours/path/iot-trace
	chmod 777 ours/path
	spy ours/path/stat
	for copy in open sticky; do
		PATH=$place/ours/path:/usr/bin:/bin run --separate-stderr -127 timeout 60 $copy/copy/working_trace.sh 1 ours/out.txt
		same said "$stderr" "working_trace.sh: there is no iot-trace that only root can write, in folders that only root can write: \`make install\` makes one"
		[ ! -e ran ] || fail "$copy: it was run by $(cat ran)"
	done
	chmod 755 sticky/copy/build/iot-trace
	sticky/copy/working_trace.sh 1 ours/out.txt
	same "ran" "$(cat ran)" 0
}

@test "reports and rules are code: those of a stranger are not read" {
	while read -r folder object; do
		mkdir -p -m 1777 $folder/views
		for file in breakdown.sql views/run.sql; do
			plant "$object" $folder/$file
			refused $folder/$file "$analyze" breakdown a.sqlite --reports $folder
			unplant $folder/$file
		done
		plant "$object" $folder/rules.json
		refused $folder/rules.json "$trace" --systems --rules $folder/rules.json
		unplant $folder/rules.json
	done < <(pairs)
	told "8 kinds of 4 names where others can write of reports and rules"
}

@test "what lies beside a copy of our programs in a folder of others is not run" {
	mkdir sticky/bin
	cp "$trace" sticky/iot-trace
	cp "$root/working_trace.sh" sticky/working_trace.sh
	as_stranger mkdir sticky/build
	for program in sticky/iot-analyze sticky/build/iot-trace; do
		as_stranger sh -c 'printf "#!/bin/sh\nid -u >>%s/pwned\n" "$1" >"$0"; chmod 755 "$0"' $program "$place/sticky"
	done
	PATH=/usr/bin:/bin run -127 timeout 60 sticky/working_trace.sh 1 ours/out.txt
	[ ! -e sticky/pwned ]
	PATH=/usr/bin:/bin run timeout 60 sticky/iot-trace -q -- true
	[ ! -e sticky/pwned ] || fail "ran as $(cat sticky/pwned)"
	[[ $output == *"cannot find iot-analyze"* ]]
}

@test "the whole tracer: /tmp/x.sqlite and working_trace.sh, with everything planted" {
	need_tracer
	for planted in x.sqlite x.sqlite-shm x.sqlite-journal out.jsonl; do
		for object in writable link; do
			plant $object sticky/$planted
			refused sticky/$planted "$trace" -q -o "sticky/$( [ "$planted" = out.jsonl ] && echo out.jsonl || echo x.sqlite)" -- true
			unplant sticky/$planted
			rm -f sticky/x.sqlite
		done
	done
	for object in $objects; do
		plant $object sticky/began
		refused sticky/began "$trace" -q --ready sticky/began -o ours/run.jsonl -- true
		unplant sticky/began
	done
	plant fifo sticky/out.txt
	refused sticky/out.txt "$root/working_trace.sh" 1 sticky/out.txt
	"$trace" -q -o sticky/x.sqlite -- true
	"$trace" -q -o sticky/x.sqlite -- true
	"$analyze" verify sticky/x.sqlite >/dev/null
	told "of the tracer"
}

# ---- foreign stores ----

@test "a store whose table is an endless view is refused by readers and writers" {
	for name in run process agg_total; do
		cp a.sqlite ours/x.sqlite
		sqlite3 ours/x.sqlite "ALTER TABLE $name RENAME TO old_$name;
			CREATE VIEW $name AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT c.n AS endless, o.* FROM c, old_$name o" 2>/dev/null || :
		for command in "$analyze runs ours/x.sqlite" "$analyze latency ours/x.sqlite" "$analyze ingest ours/x.sqlite b.jsonl"; do
			[ "$name" = run ] || [[ $command != *" runs "* ]] || continue # a list of runs asks for nothing else
			run --separate-stderr timeout -k 1 20 $command
			same "status of $command" "$status: $output" "1: "
			same "lines of $command: $stderr" "${#stderr_lines[@]}" 1
		done
	done
}

@test "an answer that takes too long ends with a sentence; so does an interrupted one" {
	mkdir mine
	printf -- '-- title: Long\n-- scope: store\n-- table: x\nWITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) AS n FROM c;\n' >mine/long.sql
	IOT_LIMIT_S=1 run --separate-stderr -1 timeout -k 1 30 "$analyze" long a.sqlite --reports mine
	[[ $stderr == *"a.sqlite: no answer after 1 s: it was given up (IOT_LIMIT_S is another limit)" ]]
	for signal in INT TERM; do
		run --separate-stderr bash -c 'set -m
			"$0" long a.sqlite --reports mine &
			sleep 1
			kill -'$signal' $!
			wait $!' "$analyze"
		same "status after $signal" "$status" $((128 + $(kill -l $signal)))
		[[ $stderr == *"a.sqlite: interrupted"* ]]
	done
}

@test "Ctrl-C while a run is read from a pipe leaves a sound store to give it again" {
	mkfifo pipe
	"$analyze" ingest ours/x.sqlite pipe 2>said &
	pid=$!
	exec 7>pipe
	head -n 30 a.jsonl >&7
	sleep 1.5
	kill -TERM $pid
	wait $pid || status=$?
	exec 7>&-
	same status "$status" 143
	same lines "$(wc -l <said)" 1
	same left "$(cd ours && echo *)" x.sqlite
	"$analyze" ingest ours/x.sqlite a.jsonl
	same runs "$(sqlite3 ours/x.sqlite 'SELECT count(*), (SELECT count(*) FROM run_end) FROM run')" "1|1"
}

@test "sums beyond 64 bits and infinite numbers are a sentence or n/a; JSON is valid" {
	cp a.sqlite ours/x.sqlite
	sqlite3 ours/x.sqlite "UPDATE hist SET n = 9223372036854775807"
	run --separate-stderr "$analyze" latency ours/x.sqlite
	[ "$status" = 0 ] || [[ $stderr == *"numbers in it add up to more than 64 bits: no tracer wrote that" ]] || fail "$stderr"
	mkdir mine
	printf -- '-- title: Infinite\n-- table: x\nSELECT 9e999 AS a, -9e999 AS b, 9e999 - 9e999 AS c, 1e308 AS d, 9223372036854775807 AS e;\n' >mine/infinite.sql
	run -0 "$analyze" infinite a.sqlite --reports mine --format json
	python3 -c 'import json, sys; json.loads(sys.stdin.read(), parse_constant=lambda c: 1 / 0)' <<<"$output"
	run -0 "$analyze" infinite a.sqlite --reports mine --format csv
	[[ ${lines[1]} == n/a,n/a,n/a,*,9223372036854775807 ]]
	printf -- '-- title: Sum\n-- table: x\nSELECT sum(n) AS n FROM (SELECT 9223372036854775807 AS n UNION ALL SELECT 1);\n' >mine/sum.sql
	run --separate-stderr -1 "$analyze" sum a.sqlite --reports mine
	[[ $stderr == *"a.sqlite: sum: numbers in it add up to more than 64 bits: no tracer wrote that" ]] || fail "$stderr"
}

@test "a value of many megabytes is a sentence" {
	cp a.sqlite ours/x.sqlite
	sqlite3 ours/x.sqlite "UPDATE process SET comm = CAST(zeroblob(40000000) AS TEXT)"
	run --separate-stderr -1 timeout 20 "$analyze" amplification ours/x.sqlite
	[ "${#stderr_lines[@]}" = 1 ]
}

@test "a store with a trigger, view, index or table of its own is refused; none runs" {
	local n=0 sql
	while read -r sql; do
		cp a.sqlite ours/x.sqlite
		sqlite3 ours/x.sqlite "$sql"
		sqlite3 ours/x.sqlite .dump >before
		for command in "$analyze ingest ours/x.sqlite b.jsonl" "$tool ingest ours/x.sqlite"; do
			run --separate-stderr timeout -k 1 20 $command <b.jsonl
			same "status for $sql" "$status" 1
			[[ $stderr == *"ours/x.sqlite was written by another version of iot, or changed: its "*" differs; \`iot-analyze migrate\` brings it to this one, or use a new store" ]] || fail "$sql: $stderr"
		done
		sqlite3 ours/x.sqlite .dump | cmp - before
		n=$((n + 1))
	done <<-'SQL'
		CREATE TRIGGER t AFTER INSERT ON agg BEGIN UPDATE agg_total SET bytes = 0; END
		CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run WHERE run = 1; END
		CREATE TRIGGER t AFTER INSERT ON run BEGIN INSERT INTO truth WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n FROM c) SELECT n, n, n, n, n FROM c; END
		CREATE VIEW more AS SELECT 1
		DROP VIEW v_event; CREATE VIEW v_event AS SELECT 1
		CREATE INDEX more ON event(ts_ns)
		CREATE UNIQUE INDEX more ON run(host)
		CREATE TABLE more(x)
		DROP INDEX agg_total_key
		DROP TABLE lost
		ALTER TABLE run ADD COLUMN more TEXT
		ALTER TABLE run ADD COLUMN more TEXT GENERATED ALWAYS AS (hex(zeroblob(1000)))
		DROP TABLE hist; CREATE TABLE hist(run INTEGER)
	SQL
	echo "# $n foreign schemas refused" >&3
	# comments and blanks are not what a schema is: a store of a version that explains itself in other words is appended to
	cp a.sqlite ours/x.sqlite
	sqlite3 ours/x.sqlite ".dbconfig defensive off" "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(replace(sql, '-- number of the run', '-- the number of a run'), 'run INTEGER', 'run   INTEGER') WHERE name = 'agg'"
	"$analyze" ingest ours/x.sqlite b.jsonl
}

@test "a virtual table, of which code of a library reads the rows, is refused" {
	cp a.sqlite ours/x.sqlite
	sqlite3 ours/x.sqlite "DROP TABLE lost; CREATE VIRTUAL TABLE lost USING fts5(run, layer, what, effect, n)" || skip "FTS5 is missing in this sqlite3"
	run --separate-stderr -1 "$analyze" runs ours/x.sqlite
	[[ $stderr == *"ours/x.sqlite is not as iot made it: 'lost' is a virtual table" ]]
}

@test "a stranger's device under a mount's name is not opened to be synced" {
	need cc gcc
	cc -D_GNU_SOURCE -I"$root/base" -I"$root/bpf" -I"$root/stream" -I"$root/tracer/platform" -o settle "$root/tests/tools/settle.c" "$root"/tracer/platform/{settle,checkpoint,mountpoint}.c \
		"$root"/base/*.c -pthread
	same "a folder" "$(./settle "$place/ours")" 0
	touch ours/file # a file can be mounted on
	same "a file" "$(./settle "$place/ours/file")" 0
	as_stranger mkfifo theirs/fifo
	as_stranger ln -s /dev/zero theirs/link
	mknod theirs/node c 1 5
	for name in fifo link node; do
		run --separate-stderr -1 ./settle "$place/theirs/$name"
		same "said of $name" "$stderr" "settle: cannot sync the file system at $place/theirs/$name: somebody exchanged it at this moment"
	done
}

@test "a server's folder exchanged for a symbolic link is not looked into" {
	built tests/detect
	mkdir -p theirs/data/base/5 theirs/data/global
	echo 15 >theirs/data/PG_VERSION
	touch theirs/data/base/5/1 theirs/data/global/pg_control
	how() { "$IOT_BUILD/tests/detect" file postgres:server "$1" | awk '{ print $NF }'; }
	same "the folder itself" "$(how "$place/theirs/data/base/5/1")" root
	mv theirs/data theirs/away
	ln -s away theirs/data
	same "a link in its place" "$(how "$place/theirs/data/base/5/1")" layout
	ln -s theirs shorter
	same "a link on the way" "$(how "$place/shorter/away/base/5/1")" layout
}

@test "working_trace.sh runs no program of the search path that it is given" {
	mkdir evil
	for name in id stat readlink dirname; do
		printf '#!/bin/sh\necho %s >>"%s/ran"\nexec /usr/bin/%s "$@"\n' $name "$PWD" $name >evil/$name
		chmod 755 evil/$name
	done
	PATH=$PWD/evil:$PATH sh "$root/working_trace.sh" 1 out.txt
	[ -s out.txt ] || fail "nothing was recorded"
	empty "programs of the search path" "$(cat ran 2>/dev/null || :)"
}
