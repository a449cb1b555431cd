# SPDX-License-Identifier: GPL-3.0-only
# lines.bats - lines of the text formats where layers are traced whole: what a call was given, what the VFS, the page cache and
# sockets did, and names that are made to look like other columns.

load ../lib/helper

setup() { own_run; }

# Bytes of the users' own commands, whatever else is in the text.
app_bytes() { grep "APPLICATION.*dd.*WRITE" out.txt | awk '{ sum += $5 } END { print sum }'; }
device_bytes() { grep "DEVICE" out.txt | awk '{ sum += $5 } END { print sum }'; }

# Counts of `WORD` by grep, and of lines of that layer.
words_are_columns() {
	local word

	for word in APPLICATION STORAGE_SVC OS FILESYSTEM DEVICE NETWORK; do
		same "$word" "$(grep -c "$word" out.txt)" "$(awk -v w="$word" '$2 == w' out.txt | wc -l)"
	done
}

# Calls by name on what hostile names name: bytes of a path are given in octal to printf.
hostile() {
	cat > hostile.py <<-'END'
		import os, sys
		names = [b"OS DEVICE", b"line\nDEVICE 1 1", b"\xff\xfe", b"back\\slash", b"APPLICATION dd WRITE", b"tab\there", b"-> x", "caf\u00e9 \u202e".encode()]
		top = os.getcwdb()
		for n, name in enumerate(names):
		    os.mkdir(name)
		    os.rename(name, name + b"'")
		    os.rmdir(name + b"'")
		    print((top + b"/" + name).hex(), (top + b"/" + name + b"'").hex())
	END
	python3 hostile.py > ledger
}

@test "lines have both paths of a call, as one word that gives the name back" {
	need python3 python3-minimal
	"$trace" -q -o "$store" -o out.txt --format text --settle none --layers all -- bash -ec "$(declare -f hostile); hostile"
	cat > back.py <<-'END'
		import re, sys
		def back(word):
		    def one(m):
		        e = m[0][1:]
		        if e[0] == b"x"[0]: return bytes([int(e[1:], 16)])
		        if e[0] == b"u"[0]: return chr(int(e[2:-1], 16)).encode()
		        return {b"n": b"\n", b"t": b"\t", b"\\": b"\\", b"r": b"\r"}[e]
		    return re.sub(rb"\\(x[0-9a-f]{2}|u\{[0-9a-f]+\}|.)", one, word)
		for line in open("out.txt", "rb"):
		    f = line.split()
		    if f[2:3] == [sys.argv[1].encode()] and f[-2] == b"->": print(back(f[-3]).hex(), back(f[-1]).hex())
	END
	same "names of calls" "$(python3 back.py APP_RENAME)" "$(cat ledger)"
	same "names of the VFS" "$(python3 back.py VFS_RENAME)" "$(cat ledger)"
	derived=DERIVED
	[ -n "$(sql "SELECT 1 FROM probe WHERE name = 'vfs__derived'")" ] || derived=-
	same "columns before them" "$(awk '$3 == "VFS_RENAME" && / -> / { print $2, $4, $5, $7, $8, $9 == "DERIVED" ? $9 : "-" }' out.txt | sort -u)" "OS 0 0 python3 [META] $derived"
	words_are_columns
}

@test "lines of calls have flags and errors in words, as the store has them" {
	"$trace" -q -o "$store" -o out.txt --format text --settle none --layers default,vfs -- sh -c '
		dd if=/dev/zero of=f bs=4099 count=23 oflag=append conv=notrunc status=none; mkdir -m 750 d; cat nothing 2> /dev/null || :; truncate -s 7 f; chmod 640 f; rmdir d'
	same "dd's open" "$(grep -c ' APP_OPEN .* dd  *\[META\].* O_WRONLY|O_CREAT|O_APPEND 0666 .*/f$\| APP_OPEN .* dd  *\[META\].* O_WRONLY|O_CREAT|O_APPEND .*/f$' out.txt)" 1
	same "mkdir" "$(grep -c ' APP_MKDIR .* mkdir .* 0750 .*/d$' out.txt)" 1
	same "chmod" "$(grep -c ' APP_CHMOD .* chmod .* 0640 .*/f$' out.txt)" 1
	same "the failed open" "$(grep -c ' APP_OPEN .* cat .* ENOENT O_RDONLY .*/nothing$' out.txt)" 1
	same "lines of calls without bytes" "$(awk '$2 == "APPLICATION" && $4 == 0 { print $7 }' out.txt | sort | uniq -c)" \
		"$(sql "SELECT replace(owner_comm, ' ', '_') FROM v_event WHERE layer = 'syscall' AND owner > 2 AND (bytes = 0 AND (dir NOT IN ('r', 'w') OR sub IN ('regular', 'blockdev')) OR dir = 'o')" | sort | uniq -c)"
	# each operation of the VFS has a line, as the report counts them; so have those that no call asked for
	"$analyze" operations "$store" --format tsv > operations
	"$analyze" operations "$store" --table kernel --format tsv | grep -v '^other processes\|^unattributed' > apart
	awk -F'\t' 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $at["ops"] + 0 > 0 { n[$at["operation"]] += $at["ops"] } END { for (k in n) print k, n[k] }' operations apart |
		sort > counted
	[ -s counted ] || fail "the report has no operations: $(cat operations)"
	awk '$2 == "OS" { n[tolower($3)]++ } END { for (k in n) print k, n[k] }' out.txt | sed 's/^vfs_release/vfs_close/' | sort > lines
	left='^vfs_read \|^vfs_write '
	# the report has the opens and closes of files; measured ones of pipes and devices have lines, too
	[ -n "$(sql "SELECT 1 FROM probe WHERE name = 'vfs__derived'")" ] || left+='\|^vfs_open \|^vfs_close '
	same "operations" "$(grep -v "$left" lines)" "$(grep -v "$left" counted)"
}

@test "the users' own sums are the same when layers are traced whole" {
	body() {
		for layers in default all; do
			rm -f run.sqlite* "$IOT_MNT/f"
			"$trace" -q -o "$store" -o out.txt --format text --layers $layers -- dd if=/dev/zero of="$IOT_MNT/f" bs=4099 count=23 conv=fsync status=none
			words_are_columns
			same "$layers: app bytes" "$(app_bytes)" 94277
			same "$layers: device bytes" "$(device_bytes)" "$(sql "SELECT SUM(e.bytes) FROM v_event e JOIN device d ON d.run = e.run AND (d.dev >> 20) || ':' || (d.dev & 1048575) = e.dev
				WHERE e.layer = 'block' AND e.dir IN ('r', 'w') AND e.owner IS NOT 1 AND COALESCE(d.leaf, 1) AND e.cause NOT LIKE 'loop%'")"
			grep -c . out.txt > lines.$layers
		done
		[ "$(cat lines.all)" -gt "$(cat lines.default)" ] || fail "$(cat lines.default) lines, and $(cat lines.all) of all layers"
	}
	with_fs ext4 256M -- body
}

@test "lines of the page cache and of sockets are there where their layers are whole" {
	need python3 python3-minimal
	cat > talk.py <<-'END'
		import os, socket
		fd = os.open("pages", os.O_RDWR | os.O_CREAT)
		os.write(fd, bytes(7 * 4096))
		os.fsync(fd)
		os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
		os.pread(fd, 4096, 2 * 4096)
		server = socket.create_server(("127.0.0.1", 0))
		client = socket.create_connection(server.getsockname())
		end = server.accept()[0]
		client.send(bytes(1009))
		end.recv(2000)
		print(client.getsockname()[1], server.getsockname()[1])
	END
	"$trace" -q -o "$store" -o out.txt --format text --settle none --layers all -- python3 talk.py > ports
	read -r client server < ports
	words_are_columns
	same "connect" "$(grep -c " NET_CONNECT .* $client->$server$" out.txt)" 1
	same "send" "$(grep -c " NET_SEND_CALL  *1009  *1009 .* $client->$server$" out.txt)" 1
	same "receive" "$(grep -c " NET_RECV_CALL  *1009  *1009 .* $server->$client$" out.txt)" 1
	same "dropped pages" "$(grep " CACHE_DROP .*/pages$" out.txt | awk '{ for (i = 9; i < NF; i++) if ($i == "pages") n += $(i + 1) } END { print n + 0 }')" \
		"$(sql "SELECT SUM((size + 4095) / 4096) FROM v_event WHERE kind = 'drop' AND path LIKE '%/pages'")"
	same "misses" "$(grep -c " CACHE_MISS .* page 2 .*/pages$" out.txt)" "$(sql "SELECT COUNT(*) FROM v_event WHERE kind = 'miss' AND path LIKE '%/pages' AND offset = 8192")"
}

@test "the table names operations by layer, VFS and storage system among them" {
	need sqlite3 sqlite3
	"$trace" -q -o "$store" -o out.txt --format table --settle none -- sqlite3 t.db 'CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(9001))'
	same "rows of the system" "$(awk '$3 ~ /^STORAGE_/ { n[tolower(substr($3, 9))]++; if ($10 > 0) b += $10 } END { for (k in n) print "svc_" k, n[k]; print b }' out.txt | sort)" \
		"$(sql "SELECT kind, COUNT(*) FROM v_storage GROUP BY 1 UNION ALL SELECT SUM(bytes), '' FROM v_storage" | sed 's/ $//' | sort)"
	same "components" "$(awk '$3 ~ /^STORAGE_/ { print $11 }' out.txt | sort | uniq -c)" "$(sql "SELECT component FROM v_storage" | sort | uniq -c)"
	same "rows of the VFS" "$(awk '$3 == "VFS_WRITE" { n++; b += $10 } END { print n, b }' out.txt)" "$(sql "SELECT COUNT(*), SUM(bytes) FROM v_event WHERE layer = 'syscall' AND dir = 'w'
		AND sub IN ('regular', 'blockdev') AND owner > 2")"
	same "names twice" "$(awk '{ print $3 }' out.txt | grep -c 'FS_FS_\|BLOCK_BLOCK_\|NET_NET_\|VFS_VFS_' || :)" 0
}
