#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# analyze_ledger.bats - a workload's ledger in the reports, and the report of object-size sweeps. Answers worked out by hand.
#
# The store is that of analyze.bats: dd wrote 10485760 bytes, which cost 10510336 on loop0 (7:0); 16384 bytes were read from it.

load ../lib/analyze

setup_file() {
	make_base
	make_store "$BATS_FILE_TMPDIR/empty.sqlite"
}

setup() {
	S=$BATS_TEST_TMPDIR/run.sqlite
	store_with "$S"
	cd "$BATS_TEST_TMPDIR"
}

# ledger MEMBERS [NAME]: a ledger with those members
ledger() { printf '{"ledger": 1, "system": "sys"%s%s}' "${1:+, }" "$1" > "${2:-ledger.json}"; }

on_loop0='"devices": [{"drive": "d1", "dev": "7:0"}]'
in_time='"begin_wall_ns": 1700000000100000000, "end_wall_ns": 1700000002400000000'

# refused TEXT COMMAND...: status 1 and one line with TEXT
refused() {
	local text=$1
	shift
	run --separate-stderr -1 "$@"
	[ -z "$output" ] && [ "${#stderr_lines[@]}" = 1 ] && [[ $stderr == "iot-analyze: "*"$text"* ]] || { echo "said: $output $stderr, wanted: $text"; false; }
}

@test "payload on the command line: --payload 5000000 --copies 2, --ec 2+1, 64MiB" {
	[ "$(ratio "$S" "all traced" waf_e2e --payload 5000000)" = "exact 2.102 10510336 5000000" ]
	[ "$(ratio "$S" "all traced" waf_norm --payload 5000000 --copies 2)" = "exact 1.051 10510336 10000000" ]
	[ "$(ratio "$S" "all traced" waf_norm --payload=5000000 --ec=2+1)" = "exact 1.401 10510336 7500000" ]
	[ "$(ratio "$S" "all traced" waf_norm --payload 64MiB --ec 1+0)" = "exact 0.157 10510336 67108864" ]
	[ -z "$(ratio "$S" "all traced" waf_norm --payload 64M)" ]
	for bad in "--copies 3" "--ec 2+2" "--payload x" "--payload 64MB" "--payload 8388608T" "--payload 1 --copies 0" "--payload 1 --copies 1000001" "--payload 1 --ec 2" \
		"--payload 1 --ec 0+2" "--payload 1 --ec 2+" "--payload 1 --ec +2" "--payload 1 --ec 2+-1" "--payload 1 --copies 2 --ec 2+2" "--payload 4611686018427387904 --copies 3"; do
		# shellcheck disable=SC2086
		run --separate-stderr -2 "$ANALYZE" amplification "$S" $bad
		[ -z "$output" ] && [ "${#stderr_lines[@]}" = 1 ] || { echo "$bad: $output $stderr"; false; }
	done
}

@test "a ledger of 5000000 bytes kept twice: waf_e2e 2.102, waf_norm 1.051, raf_e2e 2" {
	ledger "\"logical_write_bytes\": 5000000, \"logical_read_bytes\": 8192, \"replicas\": 2, $on_loop0, $in_time"
	[ "$(ratio "$S" "all traced" waf_e2e --ledger ledger.json)" = "exact 2.102 10510336 5000000 devices 7:0" ]
	[ "$(ratio "$S" "all traced" waf_norm --ledger ledger.json)" = "exact 1.051 10510336 10000000 devices 7:0" ]
	[ "$(ratio "$S" "all traced" hop_app --ledger ledger.json)" = "exact 2.097 10485760 5000000 devices 7:0" ]
	[ "$(ratio "$S" "all traced" raf_e2e --ledger ledger.json)" = "exact 2.000 16384 8192 devices 7:0" ]
	[ -z "$(ratio "$S" "all traced" waf_norm)" ]
}

@test "k = 4 and m = 2 are a redundancy of 1.5, also where it does not come out even" {
	ledger "\"logical_write_bytes\": 5000000, \"k\": 4, \"m\": 2, $on_loop0"
	[ "$(ratio "$S" "all traced" waf_norm --ledger ledger.json)" = "exact 1.401 10510336 7500000 devices 7:0" ]
	ledger "\"logical_write_bytes\": 5000001, \"k\": 4, \"m\": 2, $on_loop0"
	[ "$(ratio "$S" "all traced" waf_norm --ledger ledger.json)" = "exact 1.401 10510336 7500001.500 devices 7:0" ]
	ledger "\"logical_write_bytes\": 5000000, $on_loop0"
	[ "$(ratio "$S" "all traced" waf_norm --ledger ledger.json)" = "n/a n/a 10510336 n/a the ledger says neither replicas nor k and m" ]
}

@test "only devices of the ledger count: others are in waf_sys and not in waf_e2e" {
	sqlite3 "$S" "UPDATE agg_total SET dev = 266338304 WHERE owner = 3 AND bytes = 10485760 AND kind = (SELECT id FROM kind WHERE name = 'block_write')"
	ledger "\"logical_write_bytes\": 4096, $on_loop0"
	[ "$(ratio "$S" "all traced" waf_e2e --ledger ledger.json | cut -d' ' -f2-4)" = "6.000 24576 4096" ]
	[ "$(ratio "$S" dd waf_sys | cut -d' ' -f3)" = 10510336 ]
	ledger '"logical_write_bytes": 4096'
	[ "$(ratio "$S" "all traced" waf_e2e --ledger ledger.json)" = "exact 2566.000 10510336 4096" ]
}

@test "a ledger put into the run is read by itself; the command line goes before it" {
	ledger "\"logical_write_bytes\": 5000000, \"replicas\": 2, $on_loop0, $in_time"
	run -0 "$ANALYZE" attach "$S" ledger.json --run dd
	[ "$(ratio "$S" "all traced" waf_norm)" = "exact 1.051 10510336 10000000 devices 7:0" ]
	[ "$(ratio "$S" "all traced" waf_e2e --logical-bytes 10510336)" = "exact 1.000 10510336 10510336" ]
	ledger "\"logical_write_bytes\": 2500000, $on_loop0, $in_time"
	[ "$(ratio "$S" "all traced" waf_e2e --ledger ledger.json | cut -d' ' -f4)" = 2500000 ]
	run -0 "$ANALYZE" attach "$S" ledger.json
	[ "$(ratio "$S" "all traced" waf_e2e | cut -d' ' -f4)" = 2500000 ]
	[ "$(sqlite3 "$S" "SELECT COUNT(*), system, devices FROM load")" = "1|sys|7:0" ]
}

@test "a load with errors says so beside its ratios" {
	ledger "\"logical_write_bytes\": 5000000, \"errors\": 1, \"error\": \"the disk is full\", $on_loop0"
	[ "$(ratio "$S" "all traced" waf_e2e --ledger ledger.json)" = "exact 2.102 10510336 5000000 devices 7:0; the load had errors: the disk is full" ]
}

# redis wrote 10485760 bytes that cost 10510336; etcd wrote and read as much again at the same time
beside_a_neighbour() {
	sqlite3 "$S" "UPDATE process SET system = 'redis' WHERE id = 3; UPDATE process SET system = 'etcd' WHERE id = 5;
		INSERT INTO agg_total (run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
		SELECT run, kind, 5, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns FROM agg_total WHERE owner = 3 AND dev = 7340032;
		UPDATE run SET layers = layers || ',net'"
}

@test "a ledger is for its system: a neighbour is no part of its ratios (defect 26)" {
	beside_a_neighbour
	ledger '"logical_write_bytes": 5000000, "logical_read_bytes": 16384, "replicas": 2' x.json
	sed 's/"sys"/"redis"/' x.json > ledger.json
	for options in "" "--system redis"; do
		[ "$(ratio "$S" redis waf_e2e --ledger ledger.json $options)" = "exact 2.102 10510336 5000000" ]
		[ "$(ratio "$S" redis raf_e2e --ledger ledger.json $options)" = "exact 0.000 0 16384" ]
		[ "$(ratio "$S" redis waf_norm --ledger ledger.json $options)" = "exact 1.051 10510336 10000000" ]
	done
	[ -z "$(ratio "$S" "all traced" waf_e2e --ledger ledger.json)" ]
	[ -z "$(ratio "$S" etcd waf_e2e --ledger ledger.json --system etcd)" ]
	[ "$(ratio "$S" "all traced" waf_e2e --ledger ledger.json --by pid)" = "exact 2.102 10510336 5000000 redis" ]
	# a system that the run does not know: everybody, as before
	[ "$(ratio "$S" "all traced" waf_e2e --ledger x.json)" = "exact 4.204 21020672 5000000" ]
}

@test "naf_cli and naf_int are the ledger's system's, with --system too (defect 26)" {
	beside_a_neighbour
	sqlite3 "$S" "INSERT INTO flow(run, owner, family, protocol, local, local_port, remote, remote_port, role, loopback, sent_bytes, recv_bytes, sends, recvs)
		VALUES (1, 3, 'ipv4', 'tcp', '127.0.0.1', 6379, '127.0.0.1', 1000, 'server', 1, 45, 1000, 1, 1),
		(1, 2, 'ipv4', 'tcp', '127.0.0.1', 1000, '127.0.0.1', 6379, 'client', 1, 1000, 45, 1, 1),
		(1, 5, 'ipv4', 'tcp', '127.0.0.1', 2379, '127.0.0.1', 2000, 'server', 1, 45, 2000, 1, 1),
		(1, 5, 'ipv4', 'tcp', '127.0.0.1', 2000, '127.0.0.1', 2379, 'client', 1, 2000, 45, 1, 1)"
	ledger '"logical_write_bytes": 1000' x.json
	sed 's/"sys"/"redis"/' x.json > ledger.json
	naf() { "$ANALYZE" network "$S" --table ratios --format csv --ledger ledger.json "$@" | sed 1d | paste -sd' '; }
	[ "$(naf)" = "naf_cli,N_cli/L,>=,0.000,0,1000,1045 bytes with peers that are not traced naf_int,N_int/L,>=,0.000,0,1000,1045 bytes with peers that are not traced" ]
	sqlite3 "$S" "UPDATE run SET filters = 'system=redis'"
	[ "$(naf)" = "naf_cli,N_cli/L,exact,1.045,1045,1000, naf_int,N_int/L,exact,0.000,0,1000," ]
}

@test "payloads above 2^53 are exact" {
	ledger '"logical_write_bytes": 9007199254740993, "logical_read_bytes": 9223372036854775807' big.json
	refused "the payload does not fit in 63 bits" "$ANALYZE" amplification "$S" --ledger big.json
	ledger '"logical_write_bytes": 9007199254740993'
	[ "$(ratio "$S" "all traced" waf_e2e --ledger ledger.json | cut -d' ' -f4)" = 9007199254740993 ]
}

@test "replica traffic is naf_int: three bricks of 1000 bytes are 3.000 of the payload" {
	sqlite3 "$S" "UPDATE run SET layers = layers || ',net';
		INSERT INTO process (run, id, pid, start_ns, comm, kthread, system) VALUES (1, 10, 910, 9, 'glusterfs', 0, 'gluster'),
			(1, 11, 911, 9, 'glusterfsd', 0, 'gluster'), (1, 12, 912, 9, 'glusterfsd', 0, 'gluster'), (1, 13, 913, 9, 'glusterfsd', 0, 'gluster');"
	local n
	for n in 1 2 3; do
		sqlite3 "$S" "INSERT INTO flow(run, owner, family, protocol, local, local_port, remote, remote_port, role, loopback, sent_bytes, recv_bytes, sends, recvs) VALUES
			(1, 10, 'ipv4', 'tcp', '127.0.0.1', 100$n, '127.0.0.1', 4915$n, 'client', 1, 1000, 40, 1, 1),
			(1, 1$n, 'ipv4', 'tcp', '127.0.0.1', 4915$n, '127.0.0.1', 100$n, 'server', 1, 40, 1000, 1, 1)"
	done
	ledger "\"logical_write_bytes\": 1000, \"replicas\": 3, $on_loop0"
	# 3 x 1000 bytes to the bricks and 3 x 40 back, each counted once, where it was sent
	naf() { "$ANALYZE" network "$S" --table ratios --format csv "$@" | grep ^naf_int; }
	[ "$(naf --ledger ledger.json)" = "naf_int,N_int/L,exact,3.120,3120,1000," ]
	[ "$(naf --ledger ledger.json --system gluster)" = "naf_int,N_int/L,exact,3.120,3120,1000," ]
	ledger "\"logical_write_bytes\": 1000, \"logical_read_bytes\": 560, \"replicas\": 3, $on_loop0"
	[ "$(naf --ledger ledger.json)" = "naf_int,N_int/(L + L_r),exact,2.000,3120,1560," ]
	ledger "\"logical_write_bytes\": 0, \"logical_read_bytes\": 1560, $on_loop0"
	[ "$(naf --ledger ledger.json)" = "naf_int,N_int/L_r,exact,2.000,3120,1560," ]
	sqlite3 "$S" "UPDATE process SET system = 'other' WHERE id = 13"
	[ "$(naf --ledger ledger.json --system gluster)" = "naf_int,N_int/L_r,exact,1.3333333333333333,2080,1560," ]
}

@test "bytes that clients wrote to a FUSE mount are a column without its daemon's" {
	sqlite3 "$S" "INSERT INTO device (run, dev, name, type, leaf, fs, mount) VALUES (1, 77, NULL, 'fs', 0, 'fuse.glusterfs', '/mnt/gv');
		INSERT INTO process (run, id, pid, start_ns, comm, kthread, system) VALUES (1, 10, 910, 9, 'glusterfs', 0, 'gluster');
		INSERT INTO agg_total (run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
		SELECT 1, k.id, o.column1, 77, 0, 1, s.id, 0, 1, 0, o.column2, 0, 0, 0 FROM kind k, sub s, (VALUES (3, 4099), (10, 77)) o WHERE k.name = 'write' AND s.name = 'regular'"
	[ "$("$ANALYZE" amplification "$S" --table fuse --format csv | sed 1d)" = "fuse.glusterfs,/mnt/gv,4099,0,n/a,n/a,n/a,n/a,n/a,n/a" ]
}

@test "a ledger that is missing, empty, a folder or no ledger is one line, status 1" {
	refused "cannot read the ledger none.json: No such file" "$ANALYZE" amplification "$S" --ledger none.json
	: > bad.json
	refused "bad.json is not a ledger: it is empty" "$ANALYZE" amplification "$S" --ledger bad.json
	refused "cannot read the ledger .: Is a directory" "$ANALYZE" amplification "$S" --ledger .
	for text in 'hello' '{"ledger": 1' '[1]' '1' '{"ledger": 1} x' '{"ledger": 1, "system": "a",}' '"' '{"a' '\'; do
		printf '%s' "$text" > bad.json
		refused "bad.json: is not a ledger: not one JSON object" "$ANALYZE" amplification "$S" --ledger bad.json
	done
	printf '{"ledger": 1, "system": "s"}\0' > bad.json
	refused "not one JSON object" "$ANALYZE" amplification "$S" --ledger bad.json
	for text in '{}' '{"written": 4096}' '{"ledger": 2, "system": "s"}' '{"ledger": "1", "system": "s"}' '{"ledger": true, "system": "s"}'; do
		printf '%s' "$text" > bad.json
		refused 'bad.json: is not the ledger of a workload: it has no "ledger": 1' "$ANALYZE" amplification "$S" --ledger bad.json
	done
	printf '{"ledger": 1}' > bad.json
	refused "bad.json: system is missing" "$ANALYZE" amplification "$S" --ledger bad.json
	head -c 17000000 /dev/zero | tr '\0' ' ' > bad.json
	refused "it is longer than 16 MiB" "$ANALYZE" amplification "$S" --ledger bad.json
	head -c 2000 /dev/zero | tr '\0' '[' > bad.json
	refused "not one JSON object" "$ANALYZE" amplification "$S" --ledger bad.json
}

@test "a ledger with a wrong type, a negative or a 64-bit number names the member" {
	bad() { # TEXT MEMBERS
		ledger "$2" bad.json
		refused "bad.json: $1" "$ANALYZE" amplification "$S" --ledger bad.json
	}
	bad "logical_write_bytes is not a number" '"logical_write_bytes": "4096"'
	bad "logical_write_bytes is not a number" '"logical_write_bytes": "#4096"'
	bad "logical_write_bytes is not a number" '"logical_write_bytes": [4096]'
	bad "logical_write_bytes is not a number" '"logical_write_bytes": true'
	bad "logical_write_bytes is negative" '"logical_write_bytes": -1'
	bad "logical_read_bytes is negative" '"logical_read_bytes": -0'
	bad "logical_write_bytes is not a whole number" '"logical_write_bytes": 4096.0'
	bad "logical_write_bytes is not a whole number" '"logical_write_bytes": 4e3'
	bad "logical_write_bytes is not a whole number" '"logical_write_bytes": 007'
	bad "logical_write_bytes does not fit in 63 bits" '"logical_write_bytes": 9223372036854775808'
	bad "logical_write_bytes does not fit in 63 bits" '"logical_write_bytes": 99999999999999999999999999'
	bad "the payload does not fit in 63 bits" '"logical_write_bytes": 9223372036854775807, "replicas": 3'
	bad "errors is not a number" '"errors": "none"'
	bad "error is not a string" '"error": 7'
	bad "replicas is not possible" '"replicas": 0'
	bad "replicas is not possible" '"replicas": 1000001'
	bad "its redundancy must hold either replicas, or k and m" '"replicas": 3, "k": 2, "m": 2'
	bad "its redundancy must hold either replicas, or k and m" '"k": 2'
	bad "k or m is not possible" '"k": 0, "m": 2'
	bad "devices is not a list of devices" '"devices": "7:0"'
	bad "devices is not a list of devices" '"devices": []'
	bad "devices has an entry whose dev is not" '"devices": [{"dev": "loop0"}]'
	bad "devices has an entry whose dev is not" '"devices": ["7:0"]'
	bad "after_sync is not an object" '"after_sync": 3'
	bad "device_write_bytes is negative" '"after_sync": {"device_write_bytes": -4096}'
	printf '{"ledger": 1, "system": ["sys"]}' > bad.json
	refused "bad.json: system is not a string" "$ANALYZE" amplification "$S" --ledger bad.json
}

@test "a ledger of another run is refused: other devices, or another time" {
	ledger '"logical_write_bytes": 1, "devices": [{"dev": "7:0"}, {"dev": "7:1"}]'
	refused "ledger.json is not a ledger of run 1: not every one of its devices (7:0,7:1) is a leaf device of it" "$ANALYZE" amplification "$S" --ledger ledger.json
	ledger "\"logical_write_bytes\": 1, $on_loop0, \"begin_wall_ns\": 1699999998000000000, \"end_wall_ns\": 1700000001000000000"
	refused "is not a ledger of run 1: its load ran -2.0 to +1.0 s from its start, the run for 2.5 s" "$ANALYZE" amplification "$S" --ledger ledger.json
	ledger "\"logical_write_bytes\": 1, $on_loop0, \"begin_wall_ns\": 1700000001000000000, \"end_wall_ns\": 1700000004000000000"
	refused "its load ran +1.0 to +4.0 s" "$ANALYZE" attach "$S" ledger.json
	[ "$(sqlite3 "$S" "SELECT COUNT(*) FROM load")" = 0 ]
}

@test "--ledger next to --logical-bytes, attach without a file or a run: wrong usage" {
	ledger '"logical_write_bytes": 1'
	run --separate-stderr -2 "$ANALYZE" amplification "$S" --ledger ledger.json --logical-bytes 1
	[[ $stderr == *"--ledger and --logical-bytes say the same thing"* ]]
	run --separate-stderr -2 "$ANALYZE" attach "$S"
	[[ $stderr == *"usage: iot-analyze attach STORE LEDGER"* ]]
	run --separate-stderr -2 "$ANALYZE" attach "$S" ledger.json --run none
	[[ $stderr == *"has no run 'none'"* ]]
	refused "cannot open none.sqlite" "$ANALYZE" attach none.sqlite ledger.json
	[ ! -e none.sqlite ]
}

# step RUN LABEL PROFILE PAYLOAD OPS DEVICE [ERROR]: a run of a sweep whose device wrote DEVICE bytes, a quarter of them to the journal
step() {
	sqlite3 "$S" "INSERT INTO run (run, schema, uuid, label, host, kernel, machine, cpus, tool, layers, tier, events, settle, wall_ns, boot_ns, utc_offset_s)
			VALUES ($1, 4, 'u$1', '$2', 'h', 'k', 'm', 1, '0', 'syscall,cache,fs,block', 'full', 1, 'sync', 1700000000000000000, 1, 0);
		INSERT INTO run_end (run, dur_ns, horizon, events) VALUES ($1, 1000000000, 'after_sync', 1);
		INSERT INTO device (run, dev, name, type, leaf) VALUES ($1, 7340032, 'loop0', 'loop', 1), ($1, 266338304, 'vda', 'disk', 1);
		INSERT INTO load (run, system, profile, logical_write_bytes, write_ops, errors, error, devices, horizon, device_write_bytes)
			VALUES ($1, 'sys', '$3', $4, $5, ${7:+1} + 0, '${7:-}', '7:0', 'after_sync', $6);
		INSERT INTO file (run, id, dev, ino, gen, component) VALUES ($1, 1, 7340032, 5, 1, 'wal');
		INSERT INTO file_io VALUES ($1, 1, 3, 0, 0, 0, 1, 1, 0, 0, $6 / 2, 0, $6 / 2);
		INSERT INTO agg_total (run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
			SELECT $1, k.id, 3, d.column2, c.id, 1, 0, 0, 1, 0, d.column3, 0, 0, 0 FROM kind k, cause c,
				(VALUES ('data', 7340032, $6 - $6 / 4), ('journal', 7340032, $6 / 4), ('data', 266338304, 999)) d
			WHERE k.name = 'block_write' AND c.name = d.column1"
}

# Objects of 10 bytes cost 4096 each and of 1010 bytes 6096: 2 for each further byte. The control idles at 1000 bytes a step.
sweep() {
	cp "$BATS_FILE_TMPDIR/empty.sqlite" "$S"
	step 1 "sweep sys write 10 1" write 100 10 41960
	step 2 "sweep sys idle write 10 1" idle NULL NULL 1000
	step 3 "sweep sys write 10 2" write 100 10 51960
	step 4 "sweep sys idle write 10 2" idle NULL NULL 11000
	step 5 "sweep sys write 10 3" write 100 10 45960
	step 6 "sweep sys idle write 10 3" idle NULL NULL 5000
	step 7 "sweep sys write 1010 1" write 4040 4 25384
	step 8 "sweep sys idle write 1010 1" idle NULL NULL 1000
}

row() { "$ANALYZE" sizes "$S" --format csv --table "${2:-sizes}" | grep "^sys,write,$1,"; }

@test "sizes: median and range of three repeats, idle subtracted, cost of a byte more" {
	sweep
	# 41960, 51960, 45960 of 100 bytes; idle 17000 of 139880: (139880 - 17000) / 30 = 4096
	[ "$(row 10)" = "sys,write,10,3,0,30,300,139880,139880,17000,waf_e2e,exact,459.600,419.600,519.600,409.600,4096.000,n/a,after_sync," ]
	[ "$(row 1010)" = "sys,write,1010,1,0,4,4040,25384,25384,1000,waf_e2e,exact,6.283168316831683,6.283168316831683,6.283168316831683,6.035643564356436,6096.000,2.000,after_sync," ]
}

@test "sizes: marginal_waf is the slope over all sizes, fixed the cost without a byte" {
	sweep
	[ "$("$ANALYZE" sizes "$S" --format csv --table marginal | sed 1d)" = "sys,write,marginal_waf,slope of (device - idle)/ops over payload/ops,2.000,4076.000,4,10,1010" ]
}

@test "sizes: shares of components, journal and the unclassified sum to the device's" {
	sweep
	# half of the bytes are file data of the log, a quarter the journal
	[ "$(row 1010 shares | cut -d, -f4-)" = $'wal,12692,0.500\nunclassified,6346,0.250\nfs journal,6346,0.250' ]
}

@test "sizes: the median of two is their mean; a label's newest complete run counts" {
	sweep
	sqlite3 "$S" "DELETE FROM run WHERE run IN (5, 6)"
	[ "$(row 10 | cut -d, -f4,13-15)" = "2,469.600,419.600,519.600" ]
	step 20 "sweep sys write 10 1" write 100 10 51960
	[ "$(row 10 | cut -d, -f4,13-15)" = "2,519.600,519.600,519.600" ]
	sqlite3 "$S" "DELETE FROM run_end WHERE run = 20"
	[ "$(row 10 | cut -d, -f4,13-15)" = "2,469.600,419.600,519.600" ]
}

@test "sizes: a size that the system refused has a row with the reason and no ratio" {
	sweep
	step 30 "sweep sys write 99999 1" write 0 0 8192 "row is too big"
	step 31 "sweep sys idle write 99999 1" idle NULL NULL 0
	[ "$(row 99999)" = "sys,write,99999,1,1,0,0,8192,8192,0,waf_e2e,n/a,n/a,n/a,n/a,n/a,n/a,n/a,after_sync,refused: row is too big" ]
	[ "$("$ANALYZE" sizes "$S" --format csv --table marginal | sed 1d | cut -d, -f5)" = 2.000 ]
	[ -z "$(row 99999 shares)" ] && [ -z "$(row 99999 layers)" ]
}

@test "sizes: an unmeasured layer is n/a, lost bytes bound, no idle subtracts nothing" {
	sweep
	sqlite3 "$S" "UPDATE run SET layers = 'syscall,block' WHERE run = 7; INSERT INTO lost VALUES (7, 'block', 'request table full', 'bytes', 3); DELETE FROM run WHERE run = 8"
	[ "$(row 1010)" = "sys,write,1010,1,0,4,4040,25384,25384,n/a,waf_e2e,>=,6.283168316831683,6.283168316831683,6.283168316831683,n/a,n/a,n/a,after_sync," ]
	[ "$(row 1010 layers | cut -d, -f5-)" = "4040,0,0,n/a,n/a,n/a,n/a,n/a,25384" ]
	sqlite3 "$S" "UPDATE run SET layers = 'syscall' WHERE run = 3"
	[ "$(row 10 | cut -d, -f8)" = n/a ]
}

@test "sizes: five series are five panels in order, and parts sum to 100 % (defect 34)" {
	local n=0 operation
	cp "$BATS_FILE_TMPDIR/empty.sqlite" "$S"
	for operation in a b c d e; do
		n=$((n + 1))
		step $n "sweep sys $operation 10 1" write 100 10 40960
	done
	sqlite3 "$S" "UPDATE file SET component = 'parity' WHERE run = 1; UPDATE file SET component = 'compaction' WHERE run = 2"
	"$ANALYZE" sizes "$S" --plot . > /dev/null
	block() { awk -v b="$1" 'BEGIN { RS = "\n\n\n" } NR == b' sizes.tsv | grep -v '^#' | cut -f"$2"; }
	# e is first: operations are drawn from behind, so that a write comes before a read
	[ "$(block 2 1,2 | tr '\t' : | paste -sd' ')" = "sys e:10 sys d:10 sys c:10 sys b:10 sys a:10" ]
	[ "$(block 5 1,4 | awk -F'\t' '{ n[$1] += $2 } END { for (s in n) if (n[s] < 99.99 || n[s] > 100.01) print s, n[s] }')" = "" ]
	[ "$(block 5 3 | sort -u | paste -sd, )" = "compaction,fs journal,parity,unclassified,wal" ]
	"$ROOT/tests/lib/pictures.py" sizes.svg
}

@test "sizes: labels that only look like a sweep's, or no sweep, give no rows" {
	sweep
	step 40 "sweep sys write 10" write 1 1 4096
	step 41 'sweep "sys write 10 1' write 1 1 4096
	step 42 "sweep sys idle write 10 1 2" write 1 1 4096
	step 43 "sweep sys write 1x 1" write 1 1 4096
	[ "$("$ANALYZE" sizes "$S" --format csv | sed 1d | wc -l)" = 2 ]
	run --separate-stderr -2 "$ANALYZE" sizes "$S" --system none
	[ "$output$stderr" = "iot-analyze: $S has no run of system 'none' that this report is about (\`iot-analyze runs\` lists all)" ]
	[ "$("$ANALYZE" runs "$S" --format csv --system none)" = "$("$ANALYZE" runs "$S" --format csv)" ]
	store_with "$S"
	[ "$("$ANALYZE" sizes "$S" --format csv | sed 1d | wc -l)" = 0 ]
}

@test "sizes: a system has one name in labels, ledgers and questions, alias or not" {
	sweep
	sqlite3 "$S" "UPDATE load SET system = 'postgresql'; UPDATE run SET label = replace(label, ' sys ', ' postgres ');
		UPDATE load SET system = 'postgres' WHERE run > 4; DELETE FROM load WHERE run = 2"
	for name in postgresql postgres pg; do
		[ "$("$ANALYZE" sizes "$S" --format csv --system $name | sed 1d | cut -d, -f1-4 | paste -sd' ')" = "postgresql,write,10,3 postgresql,write,1010,1" ]
	done
	run -2 "$ANALYZE" sizes "$S" --system etcd
}

@test "sizes: the picture is drawn with its data beside it" {
	sweep
	mkdir out
	run -0 "$ANALYZE" sizes "$S" --plot out --table marginal
	[ "$(head -c 8 out/sizes.png | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ]
	python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' out/sizes.svg
	grep -q "marginal_waf of sys write 2.000" out/sizes.svg
	# D is not known of one of the repeats: the picture has no point there, rather than one that is too low
	sqlite3 "$S" "INSERT INTO ledger VALUES (1, 1, 3, 0, 4096, 0, 4096, 0, 0, 0, 0, 0, 0, 0, 4096), (3, 1, 3, 0, 4096, 0, 4096, 0, 0, 0, 0, 0, 0, 0, 4096), (7, 1, 3, 0, 4096, 0, 4096, 0, 0, 0, 0, 0, 0, 0, 4096)"
	run -0 "$ANALYZE" sizes "$S" --plot out --table marginal
	[ "$(awk -F '\t' '/^# panel\tpart\tx/ { on = 1; next } /^$/ { on = 0 } on && $2 == "D dirtied" { print $3, $4 }' out/sizes.tsv)" = "1010 1024.000" ]
	store_with "$S"
	run --separate-stderr -1 "$ANALYZE" sizes "$S" --plot out
	[[ $stderr == "iot-analyze: nothing to draw"* ]]
}
