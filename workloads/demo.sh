#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# demo.sh - real programs on a loop device with ext4, traced: what was found, on one screen, a picture and a page.
#
# usage: workloads/demo.sh [FOLDER]     default: build/demo; the store, the picture and the page are left there
set -eu -o pipefail

say() { echo "demo: $*" >&2; }

# Random writes with a sync each, then random reads from a cold cache: fio's where it is installed, else iot-io's, of equal sizes.
random_writes() {
	if command -v fio >/dev/null; then
		say "3/5 fio: 1000 random writes of 4 KiB, fsync after each"
		fio --name=rw --filename=random.dat --size=32M --rw=randwrite --bs=4k --number_ios=1000 --fsync=1 --fallocate=none \
			--thread --output=/dev/null
	else
		say "3/5 iot-io: 1000 random writes of 4 KiB, fsync after each"
		"$io" --api pwrite --file random.dat --pattern rand --span 8192 --count 1000 --sync fsync --every 1 >/dev/null
	fi
}

random_reads() {
	if command -v fio >/dev/null; then
		say "4/5 fio: 16 MiB of random reads from a cold cache, through io_uring"
		fio --name=rr --filename=bulk --size=64M --io_size=16M --rw=randread --bs=4k --ioengine=io_uring --iodepth=8 \
			--invalidate=1 --thread --output=/dev/null
	else
		say "4/5 iot-io: 16 MiB of random reads from a cold cache, through io_uring"
		"$io" --api uring-read --file bulk --pattern rand --span 16384 --count 4096 --depth 8 --cold >/dev/null
	fi
}

# The load under the tracer: bulk first, then small synchronous writes, of which every storage paper warns.
load() {
	cd "$IOT_MNT"
	say "1/5 dd: 64 MiB in 1 MiB writes, one fdatasync"
	dd if=/dev/zero of=bulk bs=1M count=64 conv=fdatasync status=none
	say "2/5 dd: 200 synchronous writes of 4 KiB"
	dd if=/dev/zero of=small bs=4k count=200 oflag=sync status=none
	random_writes
	random_reads
	say "5/5 sqlite3: 300 transactions of one row, with a write-ahead log"
	{
		echo "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT);"
		printf 'INSERT INTO t VALUES(%d, hex(randomblob(100)));\n' {1..300}
	} | sqlite3 db > /dev/null
	say "writing back what is dirty, and the store"
}

# Shows each step; on a terminal the seconds that the last one has taken, else a line every ten.
progress() {
	local line part='' step='' begun=$SECONDS status taken

	while :; do
		status=0
		IFS= read -r -t 1 line || status=$?
		taken=$((SECONDS - begun))
		if [ "$status" = 0 ]; then
			[ -t 2 ] && [ -n "$step" ] && printf '\n' >&2
			step=$part$line part='' begun=$SECONDS
			if [ -t 2 ]; then printf '%s' "$step" >&2; else echo "$step" >&2; fi
			continue
		fi
		if [ "$status" -le 128 ]; then
			[ ! -t 2 ] || printf '\n' >&2
			return 0
		fi
		part=$part$line # a line that has not ended when the second has
		if [ -t 2 ]; then
			printf '\r%s (%d s)\033[K' "$step" "$taken" >&2
		elif [ "$taken" -gt 0 ] && [ $((taken % 10)) = 0 ]; then
			echo "$step ($taken s)" >&2
		fi
	done
}

# Is it known whose bytes grew most, and how many times?
finding() { "$analyze" headline "$store" --format tsv | grep '^finding.*(waf_sys = '; }

# Sentences of a report: column `words` of the first rows, or of those whose first column is ABOUT, in lines of the terminal's width.
words() { # REPORT ROWS [ABOUT]
	"$analyze" "$1" "$store" --format tsv | awk -F '\t' -v about="${3-}" -v rows="$2" 'NR > 1 && (about == "" || $1 == about) && n++ < rows {
		sub(/ Rests on:.*To confirm:/, " To confirm:", $2)
		sub(/ \([0-9.]+ [^()]*, [0-9.]+ [^()]*\)/, "", $2) # which blocks a commit has
		sub(/; [0-9]+ cannot be made/, "", $2)
		print $1 "\t" $2 }' | fold_words 10
}

# ABOUT <tab> TEXT in lines that fit, each text next to its word.
fold_words() { # INDENT
	awk -F '\t' -v width="$width" -v indent="$1" '{
		n = split($2, word, " "); head = $1 == last ? "" : $1; last = $1
		line = sprintf("%-" indent "s", head)
		for (i = 1; i <= n; i++) {
			if (length(line) + length(word[i]) >= width && length(line) > indent) {
				sub(/ $/, "", line); print line; line = sprintf("%" indent "s", "")
			}
			line = line word[i] " "
		}
		sub(/ $/, "", line); print line }'
}

# Fits 24 lines of 80 columns; more is said, and the picture drawn if the terminal can, where there is more room.
screen() {
	local store=$shown/run.sqlite parts=1

	[ "$height" -lt 30 ] || parts=3
	[ "$height" -lt 45 ] || "$root/workloads/picture.sh" "$out/waterfall.png" $((height - 34)) || :
	printf '\n%s\n' "$ $analyze $store"
	words headline 1 finding
	words headline "$parts" from
	words headline "$parts" writes
	words headline 1 ledger
	printf '\n%s\n' "$ $analyze explain $store"
	words explain "$parts"
	echo
	printf '%-10s%s\n' picture "$shown/waterfall.png" page "$shown/demo.html" \
		"your own" "sudo $trace -o my.sqlite -- COMMAND" "" "sudo $analyze my.sqlite"
}

report() {
	local said

	finding >/dev/null || { "$analyze" "$store" >&2; say "failed: the run has no waf_sys, and the lines above say why"; return 1; }
	say "drawing the picture, and making the page"
	said=$("$analyze" waterfall "$store" --plot "$out" 2>&1 >/dev/null) || { echo "$said" >&2; return 1; }
	"$analyze" report "$store" -o "$out/demo.html"
	[ -z "${SUDO_UID-}" ] || chown -h "$SUDO_UID:${SUDO_GID:-0}" "$out"/*
	screen
}

traced() {
	say "attaching to the kernel"
	"$trace" --label demo -o "$store" -- "$root/workloads/demo.sh" --load
}

body() {
	local status=0

	sync # what others left dirty is not the demo's
	traced 2>&1 | progress || status=${PIPESTATUS[0]}
	[ "$status" = 0 ] || {
		say "failed: iot-trace ended with status $status, and said why above; 'iot-trace --doctor' says what is missing here, and its cure"
		return "$status"
	}
	report
}

# Before anything else: what runs under the tracer should be the load, not this script's own start.
if [ "${1-}" = --load ]; then
	load
	exit
fi
root=$(dirname "$(dirname "$(readlink -f "$0")")")
. "$root/workloads/scenario.sh"
build=$(realpath --relative-base="$PWD" "${IOT_BUILD:-$root/build}")
trace=$build/iot-trace analyze=$build/iot-analyze
io=$(realpath "$build/iot-io")
export io
out=${1:-$root/build/demo} width=${COLUMNS:-$(tput cols 2>/dev/null || echo 80)}
height=${LINES:-$(tput lines 2>/dev/null || echo 24)}
store=$out/run.sqlite shown=$(realpath --relative-base="$PWD" -m "$out")
[ "$(id -u)" = 0 ] || { echo "demo: run it as root: loop devices and BPF need it" >&2; exit 1; }
mkdir -p "$out"
rm -f "$out"/run.sqlite* "$out"/*.svg "$out"/*.html
with_fs ext4 512M -- body
