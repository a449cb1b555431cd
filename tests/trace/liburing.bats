# SPDX-License-Identifier: GPL-3.0-only
# liburing.bats - liburing's own test programs: each opcode by name, with the completions, bytes and errors that the kernel's own events of io_uring
# have (tests/trace/ring_events.py). Programs that want no completion, or whose completion queue is full, are left out: the kernel has no event then.

load ../lib/helper

setup() {
	own_run python3:python3-minimal
}

teardown() {
	[ ! -d tracing/instances/iot ] || rmdir tracing/instances/iot
	! mountpoint -q tracing || umount tracing
	repeat_skipped
}

# Runs the programs, and compares the sums.
programs() { # NAME...
	local event folder status=0

	folder=$("$BATS_TEST_DIRNAME/../tools/liburing" "$@" 2>build.txt) || status=$?
	[ "$status" != 69 ] || skip "test programs of liburing are missing: $(tail -n 1 build.txt)"
	same "built" "$status" 0
	mkdir tracing work
	mount -t tracefs none tracing || skip "tracefs is missing"
	mkdir tracing/instances/iot
	echo 40000 >tracing/instances/iot/buffer_size_kb
	for event in create submit_req req_failed complete; do
		[ -e "tracing/instances/iot/events/io_uring/io_uring_$event" ] || skip "event io_uring_$event is missing in this kernel"
		echo 1 >"tracing/instances/iot/events/io_uring/io_uring_$event/enable"
	done
	# one at a time; what a program says of the kernel's behaviour is not asked
	# shellcheck disable=SC2016 # a shell of its own
	(cd work && traced --layers uring --settle none -- \
		sh -c 'for t; do timeout -k 1 20 "$0/$t.t" >"$t.txt" 2>&1 </dev/null; done; :' "$folder/test" "$@")
	echo 0 >tracing/instances/iot/tracing_on
	"$BATS_TEST_DIRNAME/ring_events.py" "$@" <tracing/instances/iot/trace >kernel
	same "without an event of their end" "$(sed -n 's/^open //p' kernel)" 0
	same "lost" "$(q "SELECT what, n FROM lost JOIN r USING (run) WHERE n > 0")" ""
	q "SELECT n.name, SUM(a.ops), SUM(a.bytes), SUM(a.errors) FROM agg_total a JOIN r ON r.run = a.run JOIN kind k ON k.id = a.kind AND k.name LIKE 'uring%'
		JOIN op_name n ON n.run = a.run AND n.scope = 'uring' AND n.op = COALESCE(a.op, 0)
		WHERE a.owner > 2 AND NOT (n.name = 'SPLICE' AND k.name = 'uring_read') GROUP BY 1 ORDER BY 1" >ours
	same "sums by opcode" "$(cat ours)" "$(grep -v '^open ' kernel)"
	q "SELECT n.name, COUNT(*), COALESCE(SUM(e.bytes), 0), SUM(e.err IS NOT NULL) FROM event e JOIN r ON r.run = e.run
		JOIN kind k ON k.id = e.kind AND k.name LIKE 'uring%' JOIN op_name n ON n.run = e.run AND n.scope = 'uring' AND n.op = COALESCE(e.op, 0)
		WHERE e.owner > 2 AND NOT (n.name = 'SPLICE' AND k.name = 'uring_read') GROUP BY 1 ORDER BY 1" >events
	same "events by opcode" "$(cat events)" "$(cat ours)"
}

@test "liburing's programs on names, files and sockets: opcodes as the kernel has them" {
	programs nop openat2 rename unlink mkdir symlink hardlink statx splice send_recv xattr fsync poll link
}

@test "liburing's programs on links, workers, polls and rings (IOT_LONG)" {
	only_long "the test before it each time"
	programs accept-link accept-reuse connect fallocate fadvise madvise file-register file-update fixed-link fixed-buf-iter recv-msgall send_recvmsg \
		socket shutdown socket-rw submit-link-fail io-cancel msg-ring sq-poll-share link_drain link-timeout timeout open-close poll-cancel poll-link \
		pipe-reuse lfs-openat short-read sync-cancel eventfd iopoll defer fpos sqpoll-sleep single-issuer self
}
