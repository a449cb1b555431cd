#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# sampling.bats - sampled timing of calls: drawn at random, whatever the rhythm of the program is.

bats_require_minimum_version 1.5.0
load ../lib/helper

setup() { own_run python3:python3-minimal; }

# Of N calls a sixteenth is timed, give or take five standard deviations of a binomial distribution: it is outside once in a million.
@test "of calls in rhythms of 2 to 32, a sixteenth of each kind is timed" {
	cat >rhythm.py <<-'P'
		import os, sys
		fd = os.open("f", os.O_RDWR)
		for i in range(1600):
		    os.pwrite(fd, b"y", 0)
		    for k in range(int(sys.argv[1]) - 1):
		        os.pread(fd, 16, 0)
	P
	head -c 64 /dev/zero >f
	for period in {2..32}; do named rhythm$period; done
	traced --no-events -- sh -c 'for p in rhythm[0-9]*; do ./$p rhythm.py ${p#rhythm}; done'
	sql "SELECT p.comm, k.name, SUM(t.ops), SUM(t.timed) FROM agg_total t JOIN process p ON p.id = t.owner AND p.run = t.run JOIN kind k ON k.id = t.kind
		WHERE p.comm GLOB 'rhythm*' AND k.name IN ('pread64', 'pwrite64') GROUP BY 1, 2" >timed
	same "rows" "$(wc -l <timed)" 62
	empty "not a sixteenth" "$(awk '{ d = $4 - $3 / 16; if (d * d > 25 * $3 * 15 / 256) print }' timed)"
}

# 3,000 processes of one read and one write: the first call of a thread has the chance of any other.
@test "programs of one call each have a sixteenth of their calls timed" {
	echo x >f
	traced --no-events -- python3 -c '
import os
fd = os.open("f", os.O_RDWR)
for i in range(3000):
    if not os.fork():
        os.pread(fd, 1, 0)
        os._exit(0)
    os.wait()'
	sql "SELECT SUM(t.ops), SUM(t.timed) FROM agg_total t JOIN kind k ON k.id = t.kind WHERE k.name = 'pread64' AND t.owner > 2" >timed
	empty "not a sixteenth" "$(awk '{ d = $2 - $1 / 16; if ($1 < 3000 || d * d > 25 * $1 * 15 / 256) print }' timed)"
}
