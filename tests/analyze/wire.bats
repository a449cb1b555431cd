#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# wire.bats - the report network: flows by the peers at either end, wire against disk, and their pictures. Answers worked out by hand.

load ../lib/analyze

setup_file() { make_base; }

setup() {
	cd "$BATS_TEST_TMPDIR"
	S=run.sqlite
	# dd is a server, etcd; cat is its client on this host and another etcd its replica; 10.0.0.9 is traced by nobody
	store_with "$S" "UPDATE run SET layers = layers || ',net';
		UPDATE process SET system = 'etcd' WHERE comm = 'dd';
		INSERT INTO process (run, id, pid, start_ns, comm, kthread, system) VALUES (1, 10, 910, 9, 'etcd', 0, 'etcd');
		INSERT INTO flow(run, owner, family, protocol, local, local_port, remote, remote_port, role, loopback, sent_bytes, recv_bytes, sends, recvs)
		VALUES (1, 3, 'ipv4', 'tcp', '127.0.0.1', 2379, '127.0.0.1', 1000, 'server', 1, 30, 5000, 1, 1),
			(1, 5, 'ipv4', 'tcp', '127.0.0.1', 1000, '127.0.0.1', 2379, 'client', 1, 5000, 30, 1, 1),
			(1, 5, 'ipv4', 'tcp', '127.0.0.1', 1001, '127.0.0.1', 2379, 'client', 1, 200, 10, 1, 1),
			(1, 3, 'ipv4', 'tcp', '127.0.0.1', 2379, '127.0.0.1', 1001, 'server', 1, 10, 200, 1, 1),
			(1, 3, 'ipv4', 'tcp', '192.0.2.1', 2380, '192.0.2.2', 7, 'client', 0, 5200, 77, 1, 1),
			(1, 10, 'ipv4', 'tcp', '192.0.2.2', 7, '192.0.2.1', 2380, 'server', 0, 77, 5200, 1, 1),
			(1, 3, 'ipv4', 'tcp', '192.0.2.1', 2379, '10.0.0.9', 40001, 'server', 0, 1, 100, 1, 1),
			(1, 3, 'ipv4', 'tcp', '192.0.2.1', 2379, '10.0.0.9', 40002, 'server', 0, 1, 100, 1, 1);
		CREATE TEMP TABLE n (owner, kind, sub, bytes);
		INSERT INTO n VALUES (3, 'net_send', 'net_loopback', 40), (3, 'net_recv', 'net_loopback', 5200), (3, 'net_send', 'net_remote', 5202), (3, 'net_recv', 'net_remote', 277),
			(5, 'net_send', 'net_loopback', 5200), (5, 'net_recv', 'net_loopback', 40), (10, 'net_send', 'net_remote', 77), (10, 'net_recv', 'net_remote', 5200);
		INSERT INTO agg_total (run, kind, owner, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
			SELECT 1, k.id, n.owner, 0, 0, s.id, 0, 1, 0, n.bytes, 0, 0, 0 FROM n JOIN kind k ON k.name = n.kind JOIN sub s ON s.name = n.sub"
	mkdir out
}

rows() { "$ANALYZE" network "$S" --format tsv --table "$1" "${@:2}" | sed 1d | tr '\t ' ':_' | paste -sd' '; }

@test "peers: by system or program where they were traced, else by address" {
	[ "$(rows peers)" = "system:etcd:2_procs:etcd:internal:0:2:5277:5277 system:etcd:2_procs:cat:client:1:2:40:5200 system:etcd:2_procs:10.0.0.9:accepted:0:2:2:200 \
process:cat:813:etcd:connected:1:2:5200:40" ]
}

@test "wire against disk: etcd received 10677 bytes, devices wrote 10510336 for them" {
	[ "$(rows wire)" = "system:etcd:2_procs:10677:10485760:10510336:984.390:0:0:5319:0.000 process:cat:813:40:0:0:0.000:16384:16384:5200:3.151 \
all:all_traced::10717:10485760:10510336:980.716:16384:16384:10519:1.558" ]
	sqlite3 "$S" "UPDATE run SET layers = 'net'"
	[ "$(rows wire --system etcd)" = "system:etcd:2_procs:10677:n/a:n/a:n/a:n/a:n/a:5319:n/a all:all_traced::10717:n/a:n/a:n/a:n/a:n/a:10519:n/a" ] ||
		[ "$(rows wire --system etcd)" = "system:etcd:2_procs:10677:n/a:n/a:n/a:n/a:n/a:5319:n/a" ]
}

@test "their pictures place every label, of hostile names and 3,000 peers too" {
	"$ANALYZE" network "$S" --plot out >/dev/null
	"$ROOT/tests/lib/pictures.py" out/network.svg
	grep -q 'etcd \[2 procs\] - 10.0.0.9<' out/network.svg
	sqlite3 "$S" "UPDATE process SET comm = '\`touch pwned\`\$(touch pwned)<b>\"=cmd|' || char(10) || x'ff1b5b33316d' WHERE comm = 'cat';
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
		INSERT INTO flow(run, owner, family, protocol, local, local_port, remote, remote_port, role, loopback, sent_bytes, recv_bytes, sends, recvs)
		SELECT 1, 3, 'ipv4', 'tcp', '192.0.2.1', 2379, '10.1.' || (i / 250) || '.' || (i % 250), 40001, 'server', 0, i, i, 1, 1 FROM n"

	[ "$("$ANALYZE" network "$S" --format tsv --table peers | sed 1d | wc -l)" = 1000 ]
	for size in column screen; do
		"$ANALYZE" network "$S" --plot out --size $size >/dev/null
		"$ROOT/tests/lib/pictures.py" out/network.svg
	done
	grep -qE '>29[0-9]+ others<' out/network.svg
	[ -z "$(find . -name pwned)" ]
	sqlite3 "$S" "DELETE FROM flow; DELETE FROM agg_total WHERE kind IN (SELECT id FROM kind WHERE name LIKE 'net_%')"
	run --separate-stderr -1 "$ANALYZE" network "$S" --plot out
	[ "$stderr" = "iot-analyze: nothing to draw: report 'network' has no rows for this run" ]
}
