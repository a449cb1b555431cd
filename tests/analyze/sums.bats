#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# sums.bats - the parts of a volume of stream/volumes.def sum to the whole, for every split and every symbol, on a store that has every
# kind of operation with causes, details, flags, owners and devices mixed as no run would, and with numbers of no pattern.

bats_require_minimum_version 1.5.0

load ../lib/helper

# The store is made once: each test has a copy.
setup_file() {
	need sqlite3 sqlite3
	need python3 python3
	cd "$BATS_FILE_TMPDIR"
	"$root/tests/lib/gen-run.py" 300 --systems --no-events | "$analyze" ingest run.sqlite
	# owners 0 to 9: nobody, the tracer, others, five processes (four of them of a system) and two kernel threads; 7:0 is a leaf, 8:1 is none
	sqlite3 run.sqlite "
		DELETE FROM agg; DELETE FROM agg_total;
		INSERT INTO process(run, id, pid, start_ns, comm, kthread) VALUES (1, 2, 0, 1, 'others', 0);
		UPDATE device SET bottom = leaf;
		INSERT INTO device(run, dev, name, type, leaf) VALUES (1, (8 << 20) + 1, 'sda1', 'partition', 0);
		UPDATE run SET layers = 'syscall,uring,cache,fs,block,net';
		CREATE TEMP TABLE hows AS SELECT id, ROW_NUMBER() OVER () - 1 AS n FROM how;
		CREATE TEMP TABLE mix AS SELECT *, (k * 7919 + c * 104729 + s * 1299709 + f * 15485863) % 1000003 AS x
			FROM (SELECT k.id AS k, c.id AS c, s.id AS s, f.value AS f FROM kind k, cause c, sub s, json_each('[0, 1, 2, 4, 33]') f);
		INSERT INTO agg(run, sec, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, timed, lat_ns, max_ns)
			SELECT 1, x % 4, k, x / 7 % 10, CASE x % 5 WHEN 0 THEN NULL WHEN 1 THEN (8 << 20) + 1 ELSE 7 << 20 END, c, (SELECT id FROM hows WHERE n = x % (SELECT COUNT(*) FROM hows)), s, f,
			       5 + x % 13, x % 3, x * 17, x * 19, 5 + x % 13, x, x FROM mix WHERE x % 6 = 0
			UNION ALL SELECT 1, 4 + x % 3, k, x / 7 % 10, CASE x % 5 WHEN 0 THEN NULL WHEN 1 THEN (8 << 20) + 1 ELSE 7 << 20 END, c, (SELECT id FROM hows WHERE n = x % (SELECT COUNT(*) FROM hows)), s, f,
			       2, 0, x, x, 2, x, x FROM mix WHERE x % 6 = 0
			UNION ALL SELECT 1, 5, k.id, 4 + k.id % 2, 7 << 20, c.id, 1, 0, 0, 3, 0, 0, 8192 + k.id, 3, 1, 1 FROM kind k JOIN cause c ON c.name = 'discard'
				WHERE k.name IN ('block_zeroes', 'block_discard');
		INSERT INTO agg_total SELECT run, kind, owner, dev, cause, how, sub, carrier, flags, op, SUM(ops), SUM(errors), SUM(bytes), SUM(touched), SUM(timed), SUM(lat_ns),
			MAX(max_ns) FROM agg GROUP BY run, kind, owner, dev, cause, how, sub, flags"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	cp "$BATS_FILE_TMPDIR/run.sqlite" .
	mkdir mine
}

# The wholes, from the store's own rows, before owners become lines; and every way that views split them.
cat_report() {
	cat <<-'E'
	-- title: Sums
	-- table: wrong
	WITH raw AS MATERIALIZED (
	       SELECT a.owner, a.sec, a.dev, c.name AS cause, s.name AS sub, p.system, p.kthread, v.sym,
	              CASE v.measure WHEN 0 THEN a.bytes WHEN 1 THEN a.ops WHEN 2 THEN a.ops - a.errors ELSE a.touched END AS n
	       FROM agg a JOIN v_counts v ON v.kind = a.kind JOIN cause c ON c.id = a.cause JOIN sub s ON s.id = a.sub
	       LEFT JOIN device d ON d.dev = a.dev LEFT JOIN process p ON p.id = a.owner
	       WHERE a.run = 1 AND volume_has(v.row, a.cause, a.sub, a.flags, COALESCE(d.leaf, 1) + 2 * COALESCE(d.bottom, d.leaf, 1))),
	     want(what, part, sym, n) AS (
	       SELECT 'total', '', sym, SUM(n) FROM raw GROUP BY sym
	       UNION ALL SELECT 'all', '', sym, SUM(n) FROM raw WHERE owner > 2 GROUP BY sym
	       UNION ALL SELECT 'owner', owner, sym, SUM(n) FROM raw WHERE :per = 'pid' GROUP BY owner, sym
	       UNION ALL SELECT 'system', system, sym, SUM(n) FROM raw WHERE :per = 'system' AND system IS NOT NULL GROUP BY system, sym
	       UNION ALL SELECT 'device', COALESCE(dev, -1), sym, SUM(n) FROM raw GROUP BY dev, sym
	       UNION ALL SELECT 'cause', cause, sym, SUM(n) FROM raw WHERE sym IN ('B', 'B_r') GROUP BY cause, sym
	       UNION ALL SELECT 'second', sec, sym, SUM(n) FROM raw WHERE sym IN ('S', 'S_r', 'B', 'B_r', 'flushes') AND owner NOT IN (1, 2) GROUP BY sec, sym
	       UNION ALL SELECT 'seed', system, sym, SUM(n) FROM raw WHERE owner > 2 AND sym IN ('S', 'S_r') GROUP BY system, sym
	       UNION ALL SELECT 'part', '', sym, SUM(n) FROM raw WHERE sym IN ('B', 'B_r') GROUP BY sym
	       UNION ALL SELECT 'journal', sub, sym, SUM(n) FROM raw WHERE sym = 'B' AND cause = 'journal' GROUP BY sub
	       UNION ALL SELECT 'net', '', sym, SUM(n) FROM raw WHERE sym IN ('sent', 'received') GROUP BY sym
	       UNION ALL SELECT 'no owner', COALESCE(dev, -1), sym, SUM(n) FROM raw WHERE owner = 0 AND cause <> 'before_run' AND sym IN (SELECT sym FROM v_sym WHERE rest = 'device') GROUP BY sym, dev),
	     second AS MATERIALIZED (SELECT sec, S, S_r, B_data + B_journal + B_metadata + B_rest AS B, B_r, flushes FROM v_second),
	     got(what, part, sym, n) AS (
	       SELECT what, '', sym, amount FROM v_line_amount a JOIN v_line l ON l.gid = a.gid WHERE l.what IN ('all', 'total')
	       UNION ALL SELECT 'owner', o.owner, a.sym, a.amount FROM v_owner o JOIN v_line_amount a ON a.gid = o.gid WHERE :per = 'pid'
	       UNION ALL SELECT 'system', l.who, a.sym, a.amount FROM v_line l JOIN v_line_amount a ON a.gid = l.gid WHERE l.what = 'system' AND :per = 'system'
	       UNION ALL SELECT 'device', COALESCE(dev, -1), sym, SUM(amount) FROM v_amount GROUP BY dev, sym
	       UNION ALL SELECT 'cause', cause, 'B', SUM(written) FROM v_cause GROUP BY cause
	       UNION ALL SELECT 'cause', cause, 'B_r', SUM(read) FROM v_cause GROUP BY cause
	       UNION ALL SELECT 'second', sec, s.value, CASE s.value WHEN 'S' THEN S WHEN 'S_r' THEN S_r WHEN 'B' THEN B WHEN 'B_r' THEN B_r ELSE flushes END
	                 FROM second, json_each('["S", "S_r", "B", "B_r", "flushes"]') s
	       UNION ALL SELECT 'seed', system, 'S', S FROM v_system UNION ALL SELECT 'seed', system, 'S_r', S_r FROM v_system
	       UNION ALL SELECT 'part', '', 'B', SUM(written) FROM v_part UNION ALL SELECT 'part', '', 'B_r', SUM(read) FROM v_part
	       UNION ALL SELECT 'journal', structure, 'B', SUM(bytes) FROM v_journal GROUP BY structure
	       UNION ALL SELECT 'net', '', 'sent', SUM(sent) FROM v_net UNION ALL SELECT 'net', '', 'received', SUM(received) FROM v_net
	       UNION ALL SELECT 'no owner', COALESCE(dev, -1), sym, SUM(amount) FROM v_unowned GROUP BY sym, dev)
	SELECT w.what, w.part, w.sym, w.n AS want, g.n AS got
	FROM want w LEFT JOIN got g ON g.what = w.what AND g.part IS w.part AND g.sym = w.sym
	-- what is journal of others, the tracer or of filtered processes is on no line that is shown
	WHERE w.n IS NOT g.n AND NOT (w.what = 'no owner' AND w.n = 0) AND NOT (:system IS NOT NULL AND w.what IN ('second', 'seed', 'journal'))
	UNION ALL
	SELECT g.what, g.part, g.sym, NULL, g.n FROM got g LEFT JOIN want w ON g.what = w.what AND g.part IS w.part AND g.sym = w.sym
	WHERE g.n <> 0 AND w.n IS NULL AND g.sym IN (SELECT sym FROM volume);

	-- table: empty
	SELECT DISTINCT sym FROM volume WHERE sym NOT IN (SELECT sym FROM v_line_amount WHERE gid = 'total:' AND amount > 0)
	       AND sym NOT IN (SELECT sym FROM volume EXCEPT SELECT sym FROM v_counts);

	-- table: columns
	SELECT COUNT(*) AS n FROM v_volume v JOIN v_line_amount a ON a.gid = v.gid AND a.sym = 'S' AND v.S IS NOT a.amount;
	E
}

sums() { # OPTIONS
	cat_report >mine/sums.sql
	"$analyze" sums run.sqlite --reports mine --format json "$@" >sums.json
	table() { sqlite3 :memory: "SELECT value FROM json_each(readfile('sums.json'), '\$.tables.$1')"; }
	same "tables ($*)" "$(sqlite3 :memory: "SELECT group_concat(key) FROM json_each(readfile('sums.json'), '\$.tables')")" wrong,empty,columns
	empty "sums that differ ($*)" "$(table wrong)"
	empty "symbols that are 0 ($*)" "$(table empty)"
	same "columns ($*)" "$(table columns)" '{"n":0}'
}

@test "every volume is the sum of its owners, systems, devices, causes and seconds" {
	for by in system instance comm pid all; do sums --by "$by"; done
}

@test "a filter for a system changes no volume of its line" {
	for table in volumes reads syncs; do
		"$analyze" amplification run.sqlite --table $table --format csv | grep '^system,etcd,' >without
		"$analyze" amplification run.sqlite --table $table --format csv --system etcd | grep '^system,etcd,' >with
		same "$table" "$(cat with)" "$(cat without)"
		grep -q '[1-9]' with
	done
	sums --system etcd
}

@test "systems keep their operations where their processes are on the line of the rest" {
	sqlite3 run.sqlite "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 700)
		INSERT INTO process(run, id, pid, start_ns, comm, kthread, system) SELECT 1, 100 + n, 1000 + n, n, 'p' || n, 0, CASE n % 3 WHEN 0 THEN 'etcd' WHEN 1 THEN 'minio' END FROM n;
		INSERT INTO agg_total(run, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
			SELECT 1, k.id, p.id, 7 << 20, 0, 0, s.id, 0, 1, 0, p.id, 4096, 0, 0 FROM process p JOIN kind k ON k.name = 'pwrite64' JOIN sub s ON s.name = 'regular' WHERE p.id > 100;
		INSERT INTO agg(run, sec, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns)
			SELECT run, 1, kind, owner, dev, cause, how, sub, flags, ops, errors, bytes, touched, lat_ns, max_ns FROM agg_total WHERE owner > 100"
	"$analyze" amplification run.sqlite --by comm --table summary --format csv | grep -q '^process,(the rest),'
	sums --by comm
}

@test "where the VFS was not measured, what it would have seen sums up from calls" {
	for table in agg agg_total; do
		sqlite3 run.sqlite "DELETE FROM $table WHERE kind IN (SELECT k.id FROM kind k JOIN layer l ON l.id = k.layer WHERE l.name = 'vfs')"
	done
	sums --by pid
}

@test "a sum that is wrong is seen: a write of one byte more, a row that stands nowhere" {
	cat_report >mine/sums.sql
	row="(SELECT a.rowid FROM agg a JOIN kind k ON k.id = a.kind JOIN layer l ON l.id = k.layer JOIN sub s ON s.id = a.sub
		WHERE l.name = 'syscall' AND k.dir = 'w' AND s.name = 'regular' AND a.owner > 2 LIMIT 1)"
	owner=$(sqlite3 run.sqlite "SELECT owner FROM agg WHERE rowid = $row")
	sqlite3 run.sqlite "UPDATE agg SET bytes = bytes + 1 WHERE rowid = $row"
	"$analyze" sums run.sqlite --reports mine --table wrong --format csv --by pid >wrong
	grep -q "^owner,$owner,S," wrong
	grep -q '^total,,S,' wrong
	! grep -q ',B,' wrong
}

# "layer|what|effect|classes" of each row of bpf/kinds.def
losses() {
	local all
	all=$(sed -n 's/^#define LOSS_ALL "\(.*\)"$/\1/p' "$root/bpf/kinds.def")
	sed -n 's/^LOSS([A-Z_]*, *"\([a-z]*\)", *"\([^"]*\)", *"\([a-z]*\)", *\(.*\))$/\1|\2|\3|\4/p' "$root/bpf/kinds.def" |
		sed "s/|LOSS_ALL$/|\"$all\"/; s/\"//g"
}

@test "each loss bounds the ratios of the volumes that its row names, and no other" {
	"$root/tests/lib/gen-run.py" 300 --systems | "$analyze" ingest base.sqlite
	sqlite3 base.sqlite "DELETE FROM lost"
	printf '%s\n' '-- title: Bounds' '-- table: bounds' \
		"SELECT r.who || ' ' || r.ratio AS ratio, r.bound, ' ' || group_concat(DISTINCT s.class) || ' ' AS classes" \
		"FROM v_ratio r JOIN v_ratio_sym s ON s.sym IN (r.num, r.den) WHERE r.num <> 'W' OR r.den <> 'T' GROUP BY r.gid, r.ratio ORDER BY 1" >mine/bounds.sql
	"$analyze" bounds base.sqlite --reports mine --format tsv | tail -n +2 >before
	[ "$(grep -c exact before)" -gt 30 ]
	losses >losses
	same "rows" "$(wc -l <losses)" "$(grep -c '^LOSS(' "$root/bpf/kinds.def")"
	while IFS='|' read -r layer what effect classes; do
		[[ " $classes " != *" "@(miss|use)" "* ]] || classes+=" hit" # a hit is what was neither missed nor read ahead
		cp base.sqlite lossy.sqlite
		sqlite3 lossy.sqlite "INSERT INTO lost VALUES (1, '$layer', '$what', '$effect', 3)"
		"$analyze" bounds lossy.sqlite --reports mine --format tsv | tail -n +2 >after
		paste before after | awk -F'\t' -v spoils=" $classes " '{
			n = split($3, class, /[ ,]+/); hit = 0
			for (i = 1; i <= n; i++) hit += class[i] != "" && index(spoils, " " class[i] " ") > 0
			if ($1 != $4 || hit && $5 == "exact" || !hit && $5 != $2) print }' >wrong
		empty "$layer: $what ($effect), which spoils '$classes'" "$(cat wrong)"
	done <losses
	# what this program does not know may have spoilt anything
	sqlite3 base.sqlite "INSERT INTO lost VALUES (1, 'block', 'of a newer version', 'bytes', 1)"
	"$analyze" bounds base.sqlite --reports mine --format tsv | awk -F'\t' 'NR > 1 && $2 == "exact"' >wrong
	empty "an unknown loss" "$(cat wrong)"
}
