# SPDX-License-Identifier: GPL-3.0-only
# csv_streams.bats - CSV streams of a traced run: the sums that scripts of earlier tools make of them.

load ../lib/helper

setup() { own_run; }

# The sum of a column over the rows of a command with an operation.
sum() { # FILE COLUMN OPERATION COMMAND
	awk -F, -v c="$2" -v op="$3" -v comm="$4" '$2 == op && $5 == comm { sum += $c } END { print sum + 0 }' "out/$1.csv"
}

@test "sums of the streams are the bytes of dd: 23 writes of 4099, and requests" {
	"$trace" -q -o out/ --format csv-streams -o run.jsonl -- dd if=/dev/zero of=f bs=4099 count=23 conv=fsync status=none
	same "written by calls" "$(sum fs 9 WRITE dd)" 94277
	same "writes" "$(grep -c ',WRITE,[0-9]*,[0-9]*,dd,' out/fs.csv)" 23
	same "syncs" "$(grep -c ',FSYNC,[0-9]*,[0-9]*,dd,' out/fs.csv)" 1
	same "requests" "$(sum block 7 WRITE dd)" \
		"$(jq -s 'map(select(.t == "event" and .kind == "block_write" and .bytes > 0)) | map(.bytes) | add' run.jsonl)"
	[ "$(sum block 7 WRITE dd)" -ge 98304 ]
	[ ! -e out/nw_conn.csv ]
	complete=$("$analyze" runs out/run.sqlite --format csv | grep -c complete)
	same "the store" "$complete" 1
}

@test "the same sums come from the streams and from the text" {
	"$trace" -q -o out/ -o out.txt --format text -- sh -c 'dd if=/dev/zero of=f bs=4099 count=23 status=none; cat f > g; dd if=f of=/dev/null bs=101 count=7 status=none'
	same "dd writes" "$(sum fs 9 WRITE dd)" "$(grep "APPLICATION.*dd.*WRITE" out.txt | awk '$7 == "dd" { sum += $4 } END { print sum }')"
	same "dd reads" "$(awk -F, '$2 == "READ" && $5 == "dd" && $6 ~ /\/f$/ { sum += $9 } END { print sum }' out/fs.csv)" 707
	same "device" "$(awk -F, 'NR > 1 && ($2 == "READ" || $2 == "WRITE") { sum += $7 } END { print sum + 0 }' out/block.csv)" \
		"$(grep "DEVICE" out.txt | awk '{ sum += $5 } END { print sum + 0 }')"
}

@test "a folder of streams goes with events only, once, and another tool's store stays" {
	run "$trace" -o out/ --no-events -- true
	same "status" "$status" 2
	[[ $output = *"CSV streams are events"* ]]
	run "$trace" -o a/ -o b/ -- true
	same "status" "$status" 2
	run "$trace" --format csv-streams -- true
	same "status" "$status" 2
	[[ $output = *"-o FOLDER/"* ]]
	mkdir out
	echo "not a store" > out/run.sqlite
	run "$trace" -q -o out/ -- true
	same "status" "$status" 1
	same "the file" "$(cat out/run.sqlite)" "not a store"
	status=0
	"$trace" -q -o new/ -- ./nothing-there || status=$?
	same "status" "$status" 127
}
