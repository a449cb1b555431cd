#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# anonymize.bats - hashes in place of names: no name is left in any output, equal names have equal hashes, and every report has the same numbers.

load ../lib/helper
load ../lib/analyze

setup_file() { make_base; }

setup() { cd "$BATS_TEST_TMPDIR"; }

teardown() {
	fs_down
	repeat_skipped
}

# A store with systems, and names in every column that may hold one.
planted() { # FILE
	python3 "$root/tests/lib/gen-run.py" 400 --systems | "$analyze" ingest "$1"
	python3 - "$1" "$root" <<'E'
import re, sqlite3, sys
text = open(sys.argv[2] + "/stream/records.def").read()
rules = re.findall(r'\{ REC_(\w+), "(\w+)", (\w+) \}', open(sys.argv[2] + "/stream/record/anonymous.c").read())
kept = {(t, c) for t, c, how in rules if how == "KEEP"}
db = sqlite3.connect(sys.argv[1])
db.execute("INSERT INTO machine(run, part, name, key, value) VALUES(1, 'fs', '/', 'device', 'x'), (1, 'net', 'eth0', 'mtu', '1'),"
           " (1, 'kernel', NULL, 'command_line', 'x'), (1, 'loop', 'loop0', 'file', 'x'), (1, 'dm', 'dm-0', 'volume', 'x'),"
           " (1, 'fs', '/', 'options', 'x'), (1, 'fs', '/', 'mount_options', 'x'), (1, 'os', NULL, 'name', 'Debian')")
db.execute("INSERT INTO flow(run, owner, family, protocol, local, local_port, remote, remote_port, role, loopback, sent_bytes, recv_bytes, sends, recvs) VALUES(1, 3, 'ipv4', 'tcp', '10.1.2.3', 1, '10.9.8.7', 2, NULL, 0, 1, 1, 1, 1)")
db.execute("INSERT INTO flow(run, owner, family, protocol, local, local_port, remote, remote_port, role, loopback, sent_bytes, recv_bytes, sends, recvs) VALUES(1, 3, 'ipv4', 'tcp', '127.0.0.1', 1, '::1', 2, NULL, 1, 1, 1, 1, 1)")
db.execute("INSERT INTO level VALUES(1, 7340032, 1, 'loop', 'x')")
for record in re.finditer(r'^RECORD\((\w+),.*?^END', text, re.M | re.S):
    name = record[1]
    for column in re.findall(r'^COL\((\w+),\s*STR', record[0], re.M):
        if (name, column) in kept or name == "flow":
            continue
        where = {"value": " WHERE part NOT IN ('os', 'net')", "name": " WHERE part IN ('fs', 'net')"}.get(column, "") if name == "machine" else ""
        where = " WHERE NOT kthread" if column == "comm" else where
        value = "command comm=PlantA dev=PlantB:sda unit=PlantC PlantD" if column == "filters" else \
            "/PlantA/PlantB-7.PlantC PlantD=PlantE,PlantF:PlantG"
        db.execute('UPDATE "%s" SET %s = ?%s' % ("run_end" if name == "end" else name, column, where), (value,))
db.commit()
E
}

@test "anonymize: no planted name is left in the bytes of the new store" {
	planted old.sqlite
	grep -aq Plant old.sqlite
	"$analyze" anonymize old.sqlite new.sqlite
	if grep -aoE '.{0,30}Plant.{0,30}' new.sqlite; then fail "a name is left"; fi
	if grep -aE '10\.(1\.2\.3|9\.8\.7)' new.sqlite; then fail "an address is left"; fi
	same "loopback" "$(sqlite3 new.sqlite "SELECT local || ' ' || remote FROM flow WHERE loopback")" "127.0.0.1 ::1"
	same "what is no name" "$(sqlite3 new.sqlite "SELECT value FROM machine WHERE part = 'os'")" Debian
	same "systems" "$(sqlite3 new.sqlite "SELECT group_concat(DISTINCT system) FROM process")" "$(sqlite3 old.sqlite "SELECT group_concat(DISTINCT system) FROM process")"
	same "kernel threads" "$(sqlite3 new.sqlite "SELECT group_concat(comm) FROM process WHERE kthread")" "kworker/u4:1,jbd2/loop0-8"
	same "filters" "$(sqlite3 new.sqlite "SELECT filters GLOB 'command comm=* dev=*:sda unit=* *' FROM run")" 1
	same "files beside it" "$(echo ./*)" "./new.sqlite ./old.sqlite"
}

@test "anonymize: each text column of the records is in the table, or in this list" {
	python3 - "$root" <<'E'
import re, sys
text = open(sys.argv[1] + "/stream/records.def").read()
known = set(re.findall(r'\{ REC_(\w+), "(\w+)", \w+ \}', open(sys.argv[1] + "/stream/record/anonymous.c").read()))
hashed = {"run": "host command only", "node": "host", "device": "mount host", "level": "name", "machine": "host",
          "process": "user exe cmdline cgroup container instance host", "truth": "cgroup", "load": "error", "event_path": "name", "fs_snapshot": "host", "fs_entry": "host"}
known |= {(r, c) for r, cs in hashed.items() for c in cs.split()}
there = {(r[1], c) for r in re.finditer(r'^RECORD\((\w+),.*?^END', text, re.M | re.S) for c in re.findall(r'^COL\((\w+),\s*STR', r[0], re.M)}
assert not there - known, "decide what anonymize does with %s: a row in stream/record/anonymous.c, or here" % sorted(there - known)
assert not known - there, "no such column: %s" % sorted(known - there)
E
}

# SipHash-2-4 and the cutting of names, written a second time.
@test "anonymize: hashes are SipHash-2-4 of the parts of a name, by a second program" {
	printf '000102030405060708090a0b0c0d0e0f\n' >key
	chmod 600 key
	make_store old.sqlite
	sqlite3 old.sqlite "INSERT INTO run(run, schema, uuid, host, kernel, machine, cpus, tool, layers, tier, events, settle, wall_ns, boot_ns, utc_offset_s)
		VALUES(1, 5, 'u', 'node7', '6.1', 'm', 1, '0.1', 'syscall', 'full', 0, 'none', 1, 1, 0)"
	python3 - old.sqlite "$analyze" <<'E'
import sqlite3, subprocess, sys
M = (1 << 64) - 1
def rot(x, b): return (x << b | x >> (64 - b)) & M
def sip(data, key=bytes(range(16))):
    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]
    def rounds(n):
        for _ in range(n):
            v[0] = v[0] + v[1] & M; v[1] = rot(v[1], 13) ^ v[0]; v[0] = rot(v[0], 32)
            v[2] = v[2] + v[3] & M; v[3] = rot(v[3], 16) ^ v[2]
            v[0] = v[0] + v[3] & M; v[3] = rot(v[3], 21) ^ v[0]
            v[2] = v[2] + v[1] & M; v[1] = rot(v[1], 17) ^ v[2]; v[2] = rot(v[2], 32)
    padded = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) & 255])
    for i in range(0, len(padded), 8):
        m = int.from_bytes(padded[i:i + 8], "little")
        v[3] ^= m; rounds(2); v[0] ^= m
    v[2] ^= 255
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]
assert sip(bytes(range(15))) == 0xa129ca6149be45e5  # of the paper
assert sip(b"") == 0x726fdb47dd0e0e31
def letters(s): return "".join(chr(ord("g") + int(c, 16)) for c in "%016x" % sip(s.encode()))
def number(s): return "%020d" % sip(s.encode())
long = "x" * 4095
names = {
    "/data/wal": "/%s/%s" % (letters("data"), letters("wal")),
    "/data/wal-000123.log": "/%s/%s%s%s" % (letters("data"), letters("wal-"), number("000123"), letters(".log")),
    "/a/./../--/b": "/%s/./../--/%s" % (letters("a"), letters("b")),
    "/u/12345678-1234-abcd-ef01-123456789abc/x": "/%s/%s/%s" % (letters("u"), number("12345678-1234-abcd-ef01-123456789abc"), letters("x")),
    "/h/deadbeef01": "/%s/%s" % (letters("h"), number("deadbeef01")),
    "/h/deadbeef": "/%s/%s" % (letters("h"), letters("deadbeef")),
    "/with blank/k=v:w": "/%s %s/%s=%s:%s" % (letters("with"), letters("blank"), letters("k"), letters("v"), letters("w")),
    "/\u00fc\n\"'": "/" + letters("\u00fc\n\"'"),
    "/" + long: "/" + letters(long),
    "/sys/nginx.service": "/%s/%s.service" % (letters("sys"), letters("nginx")),
    "": "",
}
db = sqlite3.connect(sys.argv[1])
for i, name in enumerate(names):
    db.execute("INSERT INTO file(run, id, dev, ino, gen, path) VALUES(1, ?, 1, 1, 1, ?)", (i + 1, name))
db.commit()
subprocess.run([sys.argv[2], "anonymize", sys.argv[1], "new.sqlite", "--key", "key"], check=True)
new = sqlite3.connect("new.sqlite")
for i, (name, hashed) in enumerate(names.items()):
    got = new.execute("SELECT path FROM file WHERE id = ?", (i + 1,)).fetchone()[0]
    assert got == hashed, (name, got, hashed)
assert new.execute("SELECT host FROM run").fetchone()[0] == letters("node") + number("7")
E
}

# The numbers of all tables of all reports, each column sorted.
same_numbers() { # STORE
	rm -f new.sqlite
	"$analyze" anonymize "$1" new.sqlite
	# shellcheck disable=SC2046 # words
	python3 - "$analyze" "$1" new.sqlite $(reports) <<'E'
import json, subprocess, sys
analyze, old, new = sys.argv[1:4]
more = {"perop": ["--ops", "10"], "check": ["--max", "waf_sys=1000000"]}
def numbers(store, report):
    done = subprocess.run([analyze, report, store, "--format", "json"] + more.get(report, []), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out = json.loads(done.stdout.decode("utf-8", "surrogateescape") or "null")
    columns = {}
    def walk(at, value):
        if isinstance(value, dict):
            for key, one in value.items():
                walk(at + "/" + key, one)
        elif isinstance(value, list):
            for one in value:
                walk(at, one)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            columns.setdefault(at, []).append(value)
    walk("", out)
    return done.returncode, {at: sorted(v) for at, v in columns.items()}
some = 0
for report in sys.argv[4:]:
    if report == "seed":
        continue
    a, b = numbers(old, report), numbers(new, report)
    assert a == b, "%s: %s" % (report, [(at, a[1].get(at), b[1].get(at)) for at in sorted(set(a[1]) | set(b[1])) if a[1].get(at) != b[1].get(at)][:3] or (a[0], b[0]))
    some += sum(len(v) for v in a[1].values())
assert some > 500, some
E
}

@test "anonymize: every report has the same numbers before and after" {
	python3 "$root/tests/lib/gen-run.py" 3000 --systems --processes 9 | "$analyze" ingest old.sqlite
	same_numbers old.sqlite
	for by in unit user container cgroup; do
		"$analyze" breakdown old.sqlite --by "$by" --format tsv --table owners | cut -f 4- | sort >old.tsv
		"$analyze" breakdown new.sqlite --by "$by" --format tsv --table owners | cut -f 4- | sort >new.tsv
		[ -s old.tsv ]
		cmp old.tsv new.tsv
	done
	for by in directory pattern; do
		same "lines of $by" "$("$analyze" files new.sqlite --by "$by" --format tsv | wc -l)" "$("$analyze" files old.sqlite --by "$by" --format tsv | wc -l)"
	done
}

@test "anonymize: a key file is made once, is private, and gives the same hashes" {
	python3 "$root/tests/lib/gen-run.py" 60 | "$analyze" ingest old.sqlite
	paths() { sqlite3 "$1" 'SELECT group_concat(path) FROM file'; }
	"$analyze" anonymize old.sqlite a.sqlite --key key
	same "mode" "$(stat -c %a key)" 600
	before=$(cat key)
	"$analyze" anonymize old.sqlite b.sqlite --key key
	same "the key" "$(cat key)" "$before"
	same "the same names" "$(paths b.sqlite)" "$(paths a.sqlite)"
	"$analyze" anonymize old.sqlite c.sqlite
	[ "$(paths c.sqlite)" != "$(paths a.sqlite)" ]
	"$analyze" anonymize old.sqlite d.sqlite --key other
	[ "$(paths d.sqlite)" != "$(paths a.sqlite)" ]
	same "mode of the store" "$(stat -c %a a.sqlite)" 600
}

@test "anonymize: keys that others read, damaged ones, and taken places are refused" {
	python3 "$root/tests/lib/gen-run.py" 60 | "$analyze" ingest old.sqlite
	refused() { # TEXT ARGUMENTS...
		local text=$1
		shift
		run timeout 20 "$analyze" anonymize "$@"
		same "status of $*" "$status" 1
		[[ $output = *"$text"* ]] || fail "$*: $output"
		[ ! -e new.sqlite ] || fail "$*: a store is there"
	}
	printf '000102030405060708090a0b0c0d0e0f\n' >open
	chmod 644 open
	refused 'others may read' old.sqlite new.sqlite --key open
	for text in '' 'abc' '000102030405060708090a0b0c0d0e0' '000102030405060708090a0b0c0d0e0fxx' '000102030405060708090a0b0c0d0e0G'; do
		printf '%s\n' "$text" >key
		chmod 600 key
		refused 'is no key file' old.sqlite new.sqlite --key key
	done
	mkfifo -m 600 pipe
	refused 'is no file' old.sqlite new.sqlite --key pipe
	refused 'No such file' old.sqlite new.sqlite --key none/key
	refused 'missing.sqlite' missing.sqlite new.sqlite
	cp old.sqlite taken.sqlite
	refused 'is there already' old.sqlite taken.sqlite
	cmp old.sqlite taken.sqlite
}

@test "anonymize: hosts of a merged run are hashed wherever merge puts them" {
	python3 "$root/tests/lib/gen-run.py" 200 --seed 1 | sed 's/"node1"/"PlantOne"/' | "$analyze" ingest one.sqlite
	python3 "$root/tests/lib/gen-run.py" 200 --seed 2 | sed 's/"node1"/"PlantTwo"/; s/86400000000001/990000000000/' | "$analyze" ingest two.sqlite
	"$analyze" merge both.sqlite one.sqlite two.sqlite
	grep -aq PlantTwo both.sqlite
	"$analyze" anonymize both.sqlite new.sqlite
	if grep -aoE '.{0,30}Plant.{0,30}' new.sqlite; then fail "a host is left"; fi
	same "devices" "$(sqlite3 new.sqlite "SELECT COUNT(*) FROM device WHERE name GLOB '*:loop0'")" 2
	same_numbers both.sqlite
}

@test "anonymize: a store of format 4 is read, and its names are replaced too" {
	sqlite3 older.sqlite <"$root/tests/fixtures/format4.sql"
	"$analyze" anonymize older.sqlite new.sqlite
	same "files" "$(sqlite3 new.sqlite 'SELECT COUNT(*) FROM file')" "$(sqlite3 older.sqlite 'SELECT COUNT(*) FROM file')"
	for word in $(sqlite3 older.sqlite "SELECT path FROM file WHERE path NOTNULL UNION SELECT exe FROM process WHERE exe NOTNULL" | tr / '\n' | grep -E '.{5}' | sort -u); do
		if grep -aqF -- "$word" new.sqlite; then fail "$word is left"; fi
	done
}

@test "iot-trace --anonymize: no name in store, JSON Lines or text; the system is known" {
	need_tracer
	fs_up ext4 64M
	mkdir "$IOT_MNT/PlantFolder"
	for out in run.sqlite 'lines.jsonl --wide' 'text.out --format text'; do
		# shellcheck disable=SC2086 # words
		"$trace" -q --anonymize=key -o $out -- sqlite3 "$IOT_MNT/PlantFolder/PlantBase.db" "CREATE TABLE IF NOT EXISTS t(a); INSERT INTO t VALUES(1)"
	done
	for file in run.sqlite lines.jsonl text.out; do
		[ -s "$file" ]
		if grep -aoiE '.{0,20}(Plant|iot-mnt|iot-img|sqlite3).{0,20}' "$file"; then fail "$file: a name is left"; fi
	done
	store=run.sqlite
	same "the system" "$(q "SELECT DISTINCT system FROM process JOIN r USING (run) WHERE system NOTNULL")" sqlite
	[ "$(q "SELECT COUNT(*) FROM file JOIN r USING (run) WHERE component = 'data'")" -gt 0 ]
	[ "$(q "SELECT SUM(bytes) FROM c WHERE kind = 'pwrite64'")" -ge 8192 ]
	same "one key, one hash" "$(grep -o '"host":"[^"]*"' lines.jsonl | head -n 1)" "\"host\":\"$(q 'SELECT host FROM r')\""
	same_numbers run.sqlite
}

@test "iot-trace --anonymize: a key that others read ends it before it records" {
	need_tracer
	printf '000102030405060708090a0b0c0d0e0f\n' >key
	chmod 640 key
	run "$trace" -q --anonymize=key -o run.sqlite -d 0.1
	same "status" "$status" 1
	[[ $output = *'others may read'* ]]
	[ ! -e run.sqlite ]
}
