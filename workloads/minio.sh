#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# minio.sh - one MinIO server: one erasure set of four drives, 2 data + 2 parity; IOT_MINIO=single: one drive.
# See system.bash for the commands. The server is $MINIO_BIN, or minio on PATH, or built once by its documented
# route (go install) into ~/.cache/iot/bin.
# shellcheck source=/dev/null disable=SC2034,SC2153,SC2154
. "$(dirname "$0")/system.bash"
# 4G: two flex groups (16 x 128 MiB each). ext4 spreads the directories of the root over flex groups: with one, .minio.sys/tmp,
# where an object is staged, and the bucket, to which it is renamed, share their bitmaps. Journal blocks a commit by
# `iot-analyze breakdown --table journal`, one drive, 1000 PUTs of 4 KiB (one commit each):
#        inode_table directory inode_bitmap block_bitmap others  all    device bytes / payload
#   2G   4.12        4.05      1.00         1.28         5.07    15.52  18.7
#   4G   4.06        4.05      2.00         2.00         5.06    17.17  20.4
SYSTEM=minio PORT=19000 DRIVE_SIZE=4G DRIVES=4 COPIES='"k":2,"m":2'
[ "${IOT_MINIO:-}" != single ] || DRIVES=1 COPIES='"k":1,"m":0'
# profile    operation  count  size      clients
PROFILES='
bulk         write      8      16777216  1
small        write      1000   4096      1
small-64k    write      1000   65536     1
small-1m     write      100    1048576   1
read-cold    read-cold  100    1048576   1
read-cold-4k read-cold  1000   4096      1
read-warm    read-warm  100    1048576   1
overwrite    overwrite  500    4096      1
mixed        mixed      500    65536     4
write        write      100    4096      1
read         read-cold  100    4096      1
'
VERSION=v0.0.0-20260212201848-7aac2a2c5b7c
CACHE=${HOME:-/root}/.cache/iot
export MINIO_ROOT_USER=iotuser MINIO_ROOT_PASSWORD=iot-secret-1

minio_bin() {
	local bin

	for bin in "${MINIO_BIN:-}" "$(command -v minio || true)" "$CACHE/bin/minio"; do
		[ -z "$bin" ] || [ ! -x "$bin" ] || { echo "$bin"; return 0; }
	done
	return 1
}

sys_need() {
	need curl curl
	minio_bin >/dev/null && return 0
	command -v go >/dev/null && [ -z "${IOT_NO_INSTALL:-}" ] || skip "needs minio (not in Debian): set MINIO_BIN, or install Go 1.24 or newer"
	minio_build
	minio_bin >/dev/null || skip "needs minio, and it could not be built: see $CACHE/minio-build.log"
}

# One build at a time, by whoever comes first.
minio_build() (
	mkdir -p "$CACHE/bin"
	exec 9>"$CACHE/minio-build.lock"
	lim 1800 flock 9 || exit 0
	[ ! -x "$CACHE/bin/minio" ] || exit 0
	say "building minio with go install into $CACHE/bin (some minutes, once)"
	lim 1800 nice env GOBIN="$CACHE/bin" GOPATH="$CACHE/go" GOFLAGS=-p=1 go install "github.com/minio/minio@$VERSION" \
		>"$CACHE/minio-build.log" 2>&1 9>&- || true
)

# The scanner and the drive probe are quiet, or an idle window of a second may hold megabytes of theirs.
sys_start() {
	local paths=$WORK/mnt/d1

	# Its own syntax for a set of drives: three dots, which no shell expands.
	[ "$DRIVES" = 1 ] || paths="$WORK/mnt/d{1...$DRIVES}"
	[ "$DRIVES" = 1 ] || export MINIO_STORAGE_CLASS_STANDARD=EC:2
	serve server env MINIO_SCANNER_SPEED=slowest MINIO_BROWSER=off MINIO_PROMETHEUS_AUTH_TYPE=public \
		HOME="$WORK/run" \
		"$(minio_bin)" server --address "127.0.0.1:$PORT" --console-address "127.0.0.1:$((PORT + 1))" "$paths"
}

# Not /health/live or /ready: both answer while all drives are refused.
sys_ready() { lim 10 curl -sf "http://127.0.0.1:$PORT/minio/health/cluster"; }
# It goes on to write its own state for some seconds: megabytes on btrfs.
sys_started() { wait_for 20 "its drives stand still" stand_still || true; }
sys_client() { CLIENT=(s3 "port=$PORT" "user=$MINIO_ROOT_USER" "password=$MINIO_ROOT_PASSWORD"); }
sys_engine() { lim 30 curl -sf "http://127.0.0.1:$PORT/minio/v2/metrics/node" >"$1/node.prom"; }

system_main "$@"
