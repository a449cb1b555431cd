# SPDX-License-Identifier: GPL-3.0-only
# net.bats - bytes on sockets, by owner and by flow, against the ledgers of programs that sent and received a known number.
# Tests whose names begin with "guest:" run in the virtual machines of vm.bats too, where the kernel may have no tracepoints
# for sockets.

load ../lib/helper

setup() { own_run python3:python3-minimal; }

teardown() {
	repeat_skipped
	[ ! -e "$BATS_TEST_TMPDIR/address" ] || ip addr delete 198.18.78.1/32 dev lo
	[ ! -e "$BATS_TEST_TMPDIR/namespace" ] || ip netns delete "iotnet$$" # and the link with it
}

# Runs sockets.py in one trace, once for each line of arguments; the ledgers go into ledger.1, ledger.2, ...
sockets() { # ARGUMENTS...
	printf '%s\n' "$@" > runs
	# shellcheck disable=SC2016 # the command expands them
	traced --no-events --settle none --layers syscall,net,uring -- \
		sh -ec 'n=0; while read -r args; do n=$((n + 1)); python3 "$root/tests/trace/sockets.py" $args > ledger.$n; done < runs'
	read_ledger 1
}

# The facts of one ledger: $client_pid, $server_sent, ...
read_ledger() { # NUMBER
	for side in client server; do
		for fact in pid port sent received; do
			printf -v "${side}_$fact" %s "$(ledger "ledger.$1" "$side.$fact")"
		done
	done
}

# Bytes that one process sent and received, by the sums and by its flows: "sent received sent received".
moved() { # PID
	q "SELECT COALESCE(SUM(CASE kind WHEN 'net_send' THEN bytes END), 0), COALESCE(SUM(CASE kind WHEN 'net_recv' THEN bytes END), 0),
		(SELECT COALESCE(SUM(sent_bytes), 0) || ' ' || COALESCE(SUM(recv_bytes), 0) FROM flow f JOIN r ON r.run = f.run
			JOIN process p ON p.run = f.run AND p.id = f.owner WHERE p.pid = $1)
		FROM c WHERE layer = 'net' AND pid = $1"
}

flow_of() { # PID COLUMNS
	q "SELECT $2 FROM flow f JOIN r ON r.run = f.run JOIN process p ON p.run = f.run AND p.id = f.owner WHERE p.pid = $1"
}

# A preemptible kernel skips a program where a thread was preempted inside the same one, and counts it.
SKIPPED='program skipped by the kernel'

# Numbers that must be equal; where the run says that programs were skipped, none may be too large.
same_bytes() { # WHAT GOT WANTED
	if [ "$(q "SELECT SUM(n) FROM lost WHERE run = (SELECT run FROM r) AND what = '$SKIPPED'")" = 0 ]; then
		same "$@"
		return
	fi
	paste <(tr ' ' '\n' <<< "$2") <(tr ' ' '\n' <<< "$3") | awk '$1 > $2 { exit 1 }' || fail "$1: got '$2', wanted at most '$3'"
}

# Both sides have every byte, in the sums and in the flows, once.
exact() {
	nothing_lost "$SKIPPED"
	same_bytes "bytes of the client" "$(moved "$client_pid")" "$client_sent $client_received $client_sent $client_received"
	same_bytes "bytes of the server" "$(moved "$server_pid")" "$server_sent $server_received $server_sent $server_received"
}

# One flow a side, with its addresses, marked as loopback.
one_flow() { # FAMILY PROTOCOL ADDRESS
	same "the client's flow" "$(flow_of "$client_pid" "family, protocol, remote, remote_port, local_port, loopback")" \
		"$1 $2 $3 $server_port $client_port 1"
	same "the server's flow" "$(flow_of "$server_pid" "family, protocol, remote, remote_port, local, local_port, loopback")" \
		"$1 $2 $3 $client_port $3 $server_port 1"
}

@test "guest: 23 times 4099 bytes over TCP are 94277 bytes at either end, by any call" {
	local n line runs=("127.0.0.1 write read" "::1 send recv" "127.0.0.1 sendmsg recvmsg" "::1 sendfile splice" "::1 splice peek" "127.0.0.1 uring uring")

	runs=("${runs[@]/#/tcp }")
	sockets "${runs[@]/%/ 23 4099}"
	for n in "${!runs[@]}"; do
		line=${runs[n]}
		echo "$line"
		read_ledger $((n + 1))
		same "sent" "$client_sent $server_received" "94277 94277"
		exact
		one_flow "$(case $line in *::*) echo ipv6 ;; *) echo ipv4 ;; esac)" tcp "$(cut -d' ' -f2 <<< "$line")"
		same "roles" "$(flow_of "$client_pid" f.role) $(flow_of "$server_pid" f.role)" "client server"
	done
	same_bytes "bytes of everybody" "$(total bytes "layer = 'net' AND dir <> 'o' AND owner > 2")" $((6 * 2 * (94277 + 1013)))
}

@test "guest: 23 datagrams of 1009 bytes and answers of 17 are exact, with addresses" {
	local n line runs=("127.0.0.1 sendto recvfrom" "::1 sendmsg recvmsg" "127.0.0.1 sendmmsg recvmmsg" "::1 sendmmsg recvmmsg"
		"127.0.0.1 write recvfrom" "::1 send recvmsg")

	runs=("${runs[@]/#/udp }")
	sockets "${runs[@]/%/ 23 1009 --answer 17}"
	for n in "${!runs[@]}"; do
		line=${runs[n]}
		echo "$line"
		read_ledger $((n + 1))
		same "sent" "$client_sent" "$((23207 * (1 + (n == 2 || n == 3))))"
		exact
		one_flow "$(case $line in *::*) echo ipv6 ;; *) echo ipv4 ;; esac)" udp "$(cut -d' ' -f2 <<< "$line")"
		same "roles" "$(flow_of "$client_pid" f.role) $(flow_of "$server_pid" f.role)" " "
	done
	same_bytes "bytes of everybody" "$(total bytes "layer = 'net' AND dir <> 'o' AND owner > 2")" $((8 * 2 * (23207 + 391)))
}

@test "guest: a datagram read without its address is of the socket's host, or unknown" {
	local address

	for address in 127.0.0.1 0.0.0.0; do
		traced --settle none --layers syscall,net,uring -- python3 -c "
import os, socket
a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
b.bind(('$address', 0))
for way in (lambda: b.recv(2000), lambda: os.read(b.fileno(), 2000), lambda: b.recvmsg_into([bytearray(2000)])) * 7:
    a.sendto(bytes(1009), ('127.0.0.1', b.getsockname()[1]))
    way()
b.connect(('127.0.0.1', a.getsockname()[1]))
b.send(bytes(17)); os.write(b.fileno(), bytes(19))"
		same "$address: sent" "$(total bytes "kind = 'net_send' AND sub = 'net_loopback' AND comm = 'python3'")" $((21 * 1009 + 36))
		known=0 unknown=$((14 * 1009))
		[ $address = 0.0.0.0 ] || known=$unknown unknown=0
		same "$address: received" "$(total bytes "kind = 'net_recv' AND sub = 'net_loopback' AND comm = 'python3'") $(total bytes "kind = 'net_recv' AND sub = 'net_unknown' AND comm = 'python3'")" \
			"$((known + 7 * 1009)) $unknown"
		same "$address: from elsewhere" "$(total bytes "sub = 'net_remote' AND comm = 'python3'")" 0
		same "$address: report" "$("$analyze" network "$store" --table owners --format tsv | awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $at["who"] == "python3" { print $at["received"], $at["received_loopback"], $at["received_unknown"] }')" \
			"21189 $((known + 7 * 1009)) $unknown"
		rm "$store"*
	done
}

@test "guest: the bytes of a unix socket and of a pipe are no network bytes" {
	sockets "unix socket send recv 23 4099"
	same "sent" "$client_sent" 94277
	same "net bytes" "$(total bytes "kind IN ('net_send', 'net_recv') AND pid IN ($client_pid, $server_pid)")" 0
	same "flows" "$(sql "SELECT COUNT(*) FROM flow f JOIN process p ON p.run = f.run AND p.id = f.owner WHERE p.pid IN ($client_pid, $server_pid)")" 0
	traced --no-events --settle none -- sh -c 'head -c 94277 /dev/zero | cat > /dev/null'
	same "net bytes of a pipe" "$(total bytes "layer = 'net' AND comm IN ('sh', 'head', 'cat')")" 0
}

@test "an IPv4 peer of an IPv6 socket is an IPv4 flow on both sides" {
	sockets "tcp ::ffff:127.0.0.1 send recv 23 4099"
	exact
	one_flow ipv4 tcp 127.0.0.1
}

@test "a peer in another network namespace is not on the loopback device" {
	need ip iproute2
	ip netns add iotnet$$ || skip "network namespaces are missing"
	touch namespace
	ip link add iotv$$ type veth peer name iotw$$ netns iotnet$$ || skip "veth is missing: the kernel has no such device"
	ip addr add 198.18.77.1/30 dev iotv$$
	ip link set iotv$$ up
	ip -n iotnet$$ addr add 198.18.77.2/30 dev iotw$$
	ip -n iotnet$$ link set iotw$$ up
	sockets "tcp 198.18.77.2 send recv 23 4099 --server-netns iotnet$$"
	exact
	same "the client's flow" "$(flow_of "$client_pid" "local, remote, remote_port, f.role, loopback")" "198.18.77.1 198.18.77.2 $server_port client 0"
	same "the server's flow" "$(flow_of "$server_pid" "local, remote, remote_port, f.role, loopback")" "198.18.77.2 198.18.77.1 $client_port server 0"
	same "bytes on the loopback device" "$(total bytes "layer = 'net' AND dir <> 'o' AND sub = 'net_loopback' AND owner > 2")" 0
}

@test "a connection to an address of this host that is not 127.0.0.1 is loopback too" {
	ip addr add 198.18.78.1/32 dev lo || skip "an address for lo is missing"
	touch address
	sockets "tcp 198.18.78.1 send recv 23 4099"
	exact
	one_flow ipv4 tcp 198.18.78.1
}

@test "a full table of flows loses rows, counts each, and no byte of the sums" {
	traced --no-events --settle none --layers net -- python3 -c '
import os, signal, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
os.kill(os.getppid(), signal.SIGSTOP) # else it takes out flows that are quiet
for n in range(40009):
    try:
        s.sendto(b"1234567", ("127.%d.%d.%d" % (77 + n // 65536, n // 256 % 256, n % 256), 9))
    except ConnectionRefusedError:
        s.sendto(b"1234567", ("127.%d.%d.%d" % (77 + n // 65536, n // 256 % 256, n % 256), 9))
os.kill(os.getppid(), signal.SIGCONT)'
	same "bytes" "$(total bytes "kind = 'net_send' AND comm = 'python3'")" $((40009 * 7))
	same "flows" "$(sql 'SELECT COUNT(*) FROM flow')" 32768
	same "lost" "$(sql "SELECT n, effect FROM lost WHERE what = 'flow table full'")" "$((40009 - 32768)) names"
	same "the report's rest" "$("$analyze" network "$store" --table rest --format csv | tail -n 1 | cut -d, -f3)" $(((40009 - 32768) * 7))
}

@test "a send is an event of when it began: the other end has its bytes before it ends" {
	cat >send.py <<-'P'
		import os, socket, sys, time
		s = socket.socket()
		s.bind(("127.0.0.1", 0))
		s.listen()
		if not os.fork():
		    c = socket.create_connection(s.getsockname())
		    data = bytes(32 << 20) # more than buffers hold
		    sent = os.write(c.fileno(), data) if sys.argv[1] == "write" else c.sendmsg([data]) if sys.argv[1] == "sendmsg" else c.send(data)
		    os._exit(sent != len(data))
		c = s.accept()[0]
		time.sleep(0.2)
		while c.recv(1 << 20): pass
		sys.exit(os.wait()[1] != 0)
	P
	for how in write send sendmsg; do
		rm -f run.sqlite
		traced --settle none --ring 64M -- python3 send.py $how
		same "$how: events, that began before the first byte was read" "$(sql "SELECT COUNT(*), MAX(ts_ns) < (SELECT MIN(ts_ns) FROM v_event WHERE kind = 'net_recv' AND owner > 2)
			FROM v_event WHERE kind = 'net_send' AND bytes = 33554432 AND owner > 2")" "1 1"
	done
}

@test "a client that was not asked for has no flow, and its bytes are others' bytes" {
	python3 "$root/tests/trace/sockets.py" tcp 127.0.0.1 send recv 23 4099 > /dev/null
	traced --no-events --settle none --comm nobody --all -- python3 "$root/tests/trace/sockets.py" tcp 127.0.0.1 send recv 23 4099 > ledger.json
	same "flows" "$(sql 'SELECT COUNT(*) FROM flow')" 0
	[ "$(total bytes "kind = 'net_send' AND owner = 2")" -ge 95290 ]
}

@test "each send and receive is an event, and the text trace has a line for it" {
	"$trace" -q --settle none -o run.sqlite -o trace.txt -f text -- python3 "$root/tests/trace/sockets.py" tcp 127.0.0.1 write read 23 4099 > ledger.json
	same "events" "$(sql "SELECT COUNT(*), SUM(bytes) FROM v_event WHERE kind = 'net_send' AND owner > 2")" "24 95290"
	same "lines" "$(awk '$2 == "NETWORK" && $3 == "NET_SEND" { n++; bytes += $4 } END { print n, bytes }' trace.txt)" "24 95290"
}

@test "the report shows a connection from both ends, and the payload's cost on the wire" {
	sockets "tcp 127.0.0.1 send recv 23 4099"
	report() { "$analyze" network "$store" --by pid --logical-bytes 94277 --format csv --table "$1"; }
	report flows > flows.csv
	report ratios > ratios.csv
	grep -q "^python3,$client_pid,tcp,127.0.0.1:$client_port,127.0.0.1:$server_port,client,connected,1,94277,23,1013,.*,python3 $server_pid$" flows.csv
	grep -q "^python3,$server_pid,tcp,127.0.0.1:$server_port,127.0.0.1:$client_port,server,client,1,1013,1,94277,.*,python3 $client_pid$" flows.csv
	grep -q '^naf_cli,N_cli/L,exact,1.0107449324861844,95290,94277,$' ratios.csv
	grep -q '^naf_int,N_int/L,,n/a,n/a,94277,no connection of a storage system was seen$' ratios.csv
	"$analyze" amplification "$store" --by pid --table clients --format csv | grep -qx "process,python3,$server_pid,94277,1013"
}
