# SPDX-License-Identifier: GPL-3.0-only
# demo.bats - `make demo` ends with one screen for a person, and fails where the run did.

load ../lib/helper

bats_require_minimum_version 1.5.0

setup() {
	need_tracer
	mkdir "$BATS_TEST_TMPDIR/build"
	ln -s "$IOT_BUILD/iot-analyze" "$IOT_BUILD/iot-io" "$BATS_TEST_TMPDIR/build/"
	export real=$IOT_BUILD/iot-trace
}

# The demonstration with another program in the place of iot-trace, which calls the real one as $real.
demo_with() { # SCRIPT
	printf '#!/bin/bash\n%s\n' "$1" > "$BATS_TEST_TMPDIR/build/iot-trace"
	chmod +x "$BATS_TEST_TMPDIR/build/iot-trace"
	IOT_BUILD=$BATS_TEST_TMPDIR/build run --separate-stderr "$root/workloads/demo.sh" "$BATS_TEST_TMPDIR/out"
}

@test "the demo ends with a screen of 24 lines of 80 columns" {
	need gnuplot gnuplot-nox
	cd "$BATS_TEST_TMPDIR"
	COLUMNS=80 LINES=24 run -0 --separate-stderr "$root/workloads/demo.sh" out
	echo "$output"
	[ "$(wc -l <<<"$output")" -le 23 ]
	empty "long lines" "$(grep -nE '^.{80,}' <<<"$output" | grep -v iot-trace || :)"
	# the finding and where it comes from, the ledger, the explanation, the picture, the page, the next command
	tr -s ' \n' ' ' <<<"$output" | grep -qE ' finding [a-z-]+ [^a-z]*( procs\))? wrote [0-9.]+ [KM]iB, and devices wrote .* on its behalf: .* times as much .* from Of that '
	grep -q '^writes .* wrote .*, and devices wrote ' <<<"$output"
	grep -q '^ledger    The bytes add up: ' <<<"$output"
	[ "$(sed -n '/^\$ .* explain /,/^$/p' <<<"$output" | wc -l)" -ge 4 ] # what explain says first, in a sentence
	grep -q '^your own  sudo .*iot-trace -o my.sqlite -- COMMAND$' <<<"$output"
	empty "not measured" "$(grep 'n/a' <<<"$output" || :)"
	for path in $(sed -nE 's/^(picture|page) +//p' <<<"$output"); do
		[ -s "$path" ] || fail "no $path"
	done
	grep -q '^demo: 3/5 ' <<<"$stderr"
}

@test "the demo fails with the status of iot-trace, and shows no screen" {
	demo_with 'echo "iot-trace: the kernel refused this" >&2; exit 3'
	same "the status" "$status" 3
	empty "a screen" "$output"
	[[ $stderr == *"the kernel refused this"*"demo: failed: iot-trace ended with status 3, and said why above"* ]]
}

@test "the demo fails where the run does not know how many bytes calls wrote" {
	demo_with 'exec "$real" --layers block -q -o "${4:?}" -- true'
	same "the status" "$status" 1
	empty "a screen" "$output"
	[[ $stderr == *"demo: failed: the run has no waf_sys"* ]]
}

# Draws a picture of two rows in a terminal of that kind.
drawn_in() { # KIND
	timeout 60 "$root/tests/systems/terminal.py" "$1" "$root/workloads/picture.sh" "$BATS_TEST_TMPDIR/two.png" 2 > "$BATS_TEST_TMPDIR/said"
}

@test "a picture is drawn where the terminal says that it draws pictures, only there" {
	need gnuplot gnuplot-nox
	gnuplot -e "set terminal pngcairo size 300,200; set output '$BATS_TEST_TMPDIR/two.png'; plot x"
	for kind in mute plain; do
		run drawn_in "$kind"
		same "status in a terminal that is $kind" "$status" 1
		[ "$(wc -c < "$BATS_TEST_TMPDIR/said")" -lt 100 ] || fail "drawn in a terminal that is $kind"
	done
	drawn_in kitty
	# shellcheck disable=SC1003
	sed -z 's/\x1b_G/\n&/g' "$BATS_TEST_TMPDIR/said" | sed -nE 's/^\x1b_G.*[,q]=?2?,?m=[01];([A-Za-z0-9+\/=]+)\x1b\\.*/\1/p' | base64 -d | cmp - "$BATS_TEST_TMPDIR/two.png"
	# two rows of 20 pixels: 40 high, and 60 wide as the picture is
	drawn_in sixel
	grep -aqF 'q"1;1;60;40' "$BATS_TEST_TMPDIR/said"
	run ! "$root/workloads/picture.sh" "$BATS_TEST_TMPDIR/two.png" 2 </dev/null
	empty "drawn without a terminal" "$output"
}
