#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# sweep.sh - amplification against object size: writes, then reads cold, 1 B to 100 MB, with an idle control.
#
# usage: workloads/sweep.sh SYSTEM [--sizes N,N,...] [--repeats N] [--json]
# Every size and repeat has a fresh instance of workloads/SYSTEM.sh: nothing of one size is in another. A step is
# settled before and after (syncfs); then the same instance idles for as long, measured the same way. Prints one
# row a step: bytes that were acknowledged, bytes of the devices, bytes of the devices while idle. An empty field
# was not measured. A size that the system refuses has a row with errors = 1 and the reason.
# IOT_TRACE=path of iot-trace: every step is traced into the store $IOT_STORE (default sweep-SYSTEM.sqlite) as a run
# labelled "sweep SYSTEM OPERATION SIZE REPEAT"; the idle control has "idle" before the operation. The ledger of the step
# is put into its run with $IOT_ANALYZE (default: next to iot-trace): `iot-analyze sizes STORE` needs nothing else.
# IOT_TRACE_OPTIONS: instead of '--all --ring 64M'; '--all --system NAME' keeps the store small on a busy machine.
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
sizes=1,10,100,1024,10240,102400,1048576,10485760,104857600
repeats=3
format=tsv
# shellcheck source=workloads/programs.bash disable=SC1091
. "$here/programs.bash"
usage() {
	sed -n 's/^# usage: /usage: /p' "$0" >&2
	exit 2
}

[ $# -ge 1 ] || usage
system=$1
script=$here/$system.sh
shift
while [ $# -gt 0 ]; do
	case $1 in
	--sizes) sizes=${2:?} && shift ;;
	--repeats) repeats=${2:?} && shift ;;
	--json) format=json ;;
	*) usage ;;
	esac
	shift
done
[[ $system =~ ^[a-z]+$ ]] && grep -q '^system_main ' "$script" 2>/dev/null || {
	echo "sweep.sh: there is no system '$system' in $here" >&2
	exit 2
}
[[ $sizes =~ ^[0-9]+(,[0-9]+)*$ && $repeats =~ ^[1-9][0-9]*$ ]] || usage

read -ra options <<<"${IOT_TRACE_OPTIONS:---all --ring 64M}"
store=${IOT_STORE:-sweep-$system.sqlite}
analyze=${IOT_ANALYZE:-$(dirname "${IOT_TRACE:-}")/iot-analyze}
# A name alone is one that PATH leads to; installed, the two programs are in folders of their own.
[[ ${IOT_TRACE:-/} == */* ]] && command -v "$analyze" >/dev/null || analyze=${IOT_ANALYZE:-$(program iot-analyze)}
[ -z "${IOT_TRACE:-}" ] || command -v "$analyze" >/dev/null || {
	echo "sweep.sh: iot-analyze is not beside $IOT_TRACE: say where with IOT_ANALYZE" >&2
	exit 2
}

tmp=$(mktemp -d /var/tmp/iot-sweep.XXXXXX)
chmod 711 "$tmp" # the account of the server passes through
export IOT_WORK=$tmp/work IOT_NO_ENGINE=1
# Not to be interrupted: what a second ^C left behind nobody would release.
clean_up() {
	trap '' INT TERM HUP
	"$script" down >&2 || :
	rm -rf --one-file-system "$tmp"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The number of objects: enough that one commit or page more does not matter, few enough to end.
count_of() {
	local size=$1

	if [ "$size" -le 10240 ]; then
		echo 100
	elif [ "$size" -le 102400 ]; then
		echo 40
	elif [ "$size" -le 1048576 ]; then
		echo 10
	elif [ "$size" -le 10485760 ]; then
		echo 3
	else
		echo 1
	fi
}

# step LABEL FILE COMMAND...: runs the system's script, traced when asked for; its ledger goes to FILE, and into the run.
step() {
	local label=$1 file=$2 status=0

	shift 2
	[ -n "${IOT_TRACE:-}" ] || { "$script" "$@" >"$file"; return; }
	"$IOT_TRACE" -q "${options[@]}" -o "$store" --label "$label" -- "$script" "$@" >"$file" || status=$?
	[ ! -s "$file" ] || "$analyze" attach "$store" "$file" --run "$label" || exit 1
	return $status
}

# A load that failed has its ledger too, with what was acknowledged and why it ended.
measure() { # OPERATION PROFILE SIZE REPEAT
	local count label="$1 $3 $4"

	count=$(count_of "$3")
	"$script" prepare "$2" "$count" "$3" 1
	step "sweep $system $label" "$tmp/load" load "$2" "$count" "$3" 1 || [ -s "$tmp/load" ] || return 1
	step "sweep $system idle $label" "$tmp/idle" idle "$(/usr/bin/python3 "$here/ledger.py" seconds "$tmp/load")"
	/usr/bin/python3 "$here/ledger.py" row $format "$1" "$3" "$4" "sweep $system $label" "$tmp/load" "$tmp/idle"
}

one_size() { # SIZE REPEAT
	"$script" up
	export IOT_SET=sweep
	measure write write "$1" "$2"
	measure read read "$1" "$2"
	unset IOT_SET
	"$script" down
}

[ $format = json ] || /usr/bin/python3 "$here/ledger.py" head
for size in ${sizes//,/ }; do
	for ((repeat = 1; repeat <= repeats; repeat++)); do
		one_size "$size" "$repeat"
	done
done
