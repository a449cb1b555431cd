# SPDX-License-Identifier: GPL-3.0-only
# soak.bats - a long run is a short one many times: each round of the same load has the same owners, memory and bytes in the store.
# IOT_SOAK: so many seconds (default 30, 60 with IOT_LONG=1; ten minutes by hand).

load ../lib/helper

# Rounds of 500 short processes and 8,000 writes until the time is over, three a second at most: those that ended within some seconds are
# remembered, and a machine that gets faster is no leak. A round has one of 200 names: of 3,072 kinds of processes that ended each has its
# line (iot-trace(8)), and ten minutes may have as many rounds. Behind it, what there is by then.
names=200
rounds_of() { # SECONDS STORE
	local n=0 end=$((SECONDS + $1)) pace name

	while [ "$SECONDS" -lt "$end" ]; do
		n=$((n + 1))
		sleep 0.33 3>&- &
		pace=$!
		name=p$((n % names))
		ln -s forker "$name"
		"./$name" 500 read small
		rm "$name"
		./io --api pwrite --file f --size 512 --count 8000 --span 64 >/dev/null
		echo "$n $(awk '/RssAnon/ { print $2 }' "/proc/$PPID/status") $(stat -c %s "$2" "$2-wal" 2>/dev/null | awk '{ s += $1 } END { print s }')" >>samples
		wait "$pace"
	done
	sleep 5 # what has ended is collected
}

@test "a soak of 30 seconds (IOT_SOAK): every round has its 501 owners and its bytes" {
	need_tracer
	need_plain "$trace" "they keep memory that was freed"
	cd "$BATS_TEST_TMPDIR"
	store=$PWD/run.sqlite
	built forker
	cp "$IOT_BUILD/forker" .
	cp "$io" io
	head -c 4096 /dev/zero >small
	BATS_TEST_TIMEOUT=$((${IOT_SOAK:-30} * 3 + 300)) "$trace" -v -o "$store" -- bash -eu -c "names=$names; $(declare -f rounds_of); rounds_of ${IOT_SOAK:-30} '$store'" 2>trace.log ||
		fail "$(tail -n 5 trace.log)"
	rounds=$(wc -l <samples)
	[ "$rounds" -ge 8 ] || fail "only $rounds rounds"
	empty "lost bytes and owners" "$(q "SELECT layer, what, n FROM lost WHERE n > 0 AND effect IN ('bytes', 'owner') AND run = (SELECT run FROM r)")"
	empty "rounds without their owners" "$(sql "SELECT comm, SUM(n) AS all_of FROM (SELECT comm, MAX(COALESCE(folded, 1)) AS n FROM process
		WHERE comm GLOB 'p[0-9]*' AND fold IS NULL GROUP BY pid, start_ns) GROUP BY comm
		HAVING all_of <> 501 * (($rounds - substr(comm, 2)) / $names + (substr(comm, 2) > '0'))")"
	same "names of rounds" "$(sql "SELECT COUNT(DISTINCT comm) FROM process WHERE comm GLOB 'p[0-9]*'")" $((rounds < names ? rounds : names))
	same "S_r of the rounds" "$(total bytes "kind = 'read' AND comm GLOB 'p[0-9]*' AND sub = 'regular' AND bytes >= 100")" $((rounds * 50000))
	same "S" "$(total bytes "kind = 'pwrite64' AND comm = 'io'")" $((rounds * 8000 * 512))
	# largest memory of the second and the last quarter of the rounds; what the store grew by in each half: it does so by tens of MB
	awk -v rounds="$rounds" '
		{ part = int(4 * ($1 - 1) / rounds); if ($2 > rss[part]) rss[part] = $2; last[part] = $3; n[part] = $1 }
		END {
			was = last[1] / n[1]; is = (last[3] - last[1]) / (n[3] - n[1])
			printf "%d rounds; RSS %d KiB, at the end %d; bytes a round %d, at the end %d\n", rounds, rss[1], rss[3], was, is
			exit !(rss[3] < rss[1] + 6144 && is < 1.3 * was + 20000000 / (n[3] - n[1]))
		}' samples >grown || fail "$(cat grown; tail -n 1 samples)"
	events=$(sql "SELECT COUNT(*) FROM event")
	bytes=$(($(wc -c <"$store") / events))
	echo "# $(cat grown); $events events, $bytes bytes each with their processes; $(sed -n 's/.*\(tables in use.*\)/\1/p' trace.log)" >&3
	[ "$bytes" -le 100 ] || fail "$bytes bytes an event"
	read -r cells procs < <(sed -n 's/.*cells \([0-9]*\),.*procs \([0-9]*\),.*/\1 \2/p' trace.log)
	[ "$cells" -lt 4000 ] && [ "$procs" -lt 4000 ] || fail "$(grep 'tables in use' trace.log)"
}
