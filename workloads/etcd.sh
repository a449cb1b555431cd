#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-only
# etcd.sh - one etcd member on one loop device. See system.bash for the commands.
# shellcheck source=/dev/null disable=SC2034,SC2153,SC2154
. "$(dirname "$0")/system.bash"
# Its reads come from a mapped file that its start populates: a cold read is measured with the start.
SYSTEM=etcd PORT=52379 COLD=start
# profile    operation  count  size     clients
PROFILES='
bulk         write      64     1048576  1
small        write      10000  1024     8
small-one    write      10000  1024     1
read-cold    read-cold  10000  1024     1
read-warm    read-warm  10000  1024     1
overwrite    overwrite  2000   1024     8
mixed        mixed      2000   1024     8
defrag       defrag     10000  1024     8
write        write      1000   1024     1
read         read-cold  1000   1024     1
'

sys_need() { need etcd etcd-server; need etcdctl etcd-client; need curl curl; }

# The request limit is raised for the object-size sweep; it changes nothing for smaller ones.
sys_start() {
	serve member etcd --name t0 --data-dir "$WORK/mnt/d1/data" \
		--listen-client-urls "http://127.0.0.1:$PORT" --advertise-client-urls "http://127.0.0.1:$PORT" \
		--listen-peer-urls "http://127.0.0.1:$((PORT + 1))" --initial-advertise-peer-urls "http://127.0.0.1:$((PORT + 1))" \
		--initial-cluster "t0=http://127.0.0.1:$((PORT + 1))" --max-request-bytes 209715200 --quota-backend-bytes 8589934592
}

ctl() { lim "$LIMIT" env ETCDCTL_API=3 etcdctl --command-timeout "${LIMIT}s" --endpoints="127.0.0.1:$PORT" "$@"; }
sys_ready() { lim 5 curl -sf "http://127.0.0.1:$PORT/health" | grep -q true; }
# The b+tree is committed up to 100 ms after the answer, a large value longer: a hash of the database waits for it.
sys_flush() {
	case ${OP:-} in
	write | overwrite | mixed) lim "$LIMIT" curl -sf -o /dev/null -d '{}' "http://127.0.0.1:$PORT/v3/maintenance/hash" ;;
	esac
}
sys_client() { CLIENT=(etcdkv "port=$PORT"); }
sys_engine() {
	[ -s "$WORK/pids" ] || return 0
	lim 30 curl -sf "http://127.0.0.1:$PORT/metrics" >"$1/metrics.prom"
}

prepare_defrag() { perform write "$(data_set)"; }
load_defrag() { ctl defrag >&2 && echo '{"defrags":1,"errors":0}'; }

system_main "$@"
