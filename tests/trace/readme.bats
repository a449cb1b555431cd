# SPDX-License-Identifier: GPL-3.0-only
# readme.bats - the README's examples do what it shows, and what it and the pages of doc/ name exists. A block of
# "console" holds commands behind "$ ", which go on in lines that begin with four blanks, and what they print; "..." in
# a line stands for any text, and a line that is only "..." for any lines. Runs of blanks are one blank: columns are as
# wide as their numbers.

load ../lib/helper

setup() {
	need_tracer
	cd "$BATS_TEST_TMPDIR"
	PATH=$IOT_BUILD:$root:$PATH
}

# Writes block number N of the README: commands to cmd, what is expected to want. Fails when there is none.
example() { # N
	awk -v wanted="$1" '
		/^```console/ { n++; inside = 1; next }
		/^```/ { inside = 0 }
		inside && n == wanted { command = sub(/^\$ /, "") || (command && /^    /); print (command ? "c" : "o") $0 }' "$root/README.md" > block
	sed -n 's/^c//p' block > cmd
	sed -n 's/^o//p' block > want
	[ -s cmd ]
}

# The lines of `got` against those of `want`.
matches() {
	awk '
		function pattern(s,   i, c, out) {
			gsub(/\.\.\./, "\001", s)
			for (i = 1; i <= length(s); i++) {
				c = substr(s, i, 1)
				out = out (c == "\001" ? ".*" : index("\\^$.[]|()*+?{}", c) ? "\\" c : c)
			}
			return "^" out "$"
		}
		{ gsub(/ +/, " "); sub(/ $/, "") }
		NR == FNR { got[++n] = $0; next }
		$0 == "..." { any = 1; next }
		{
			for (at++; any && at <= n && got[at] !~ pattern($0); at++) { }
			if (at > n || got[at] !~ pattern($0)) { print "no line like: " $0; bad = 1; exit }
			any = 0
		}
		END { if (!bad && !any && at < n) { print "not in the README: " got[at + 1]; bad = 1 } exit bad }' got want
}

@test "the README has one example in its first screen, and five more" {
	example 6
	head -n 45 "$root/README.md" | grep -q '^!\['
}

# The numbers beside the bars of what was written: the first six of those that are no round ones of an axis.
words_of() { # SVG
	grep -oE '>([-+][0-9.]+|[0-9]+\.[0-9]|2[6-9]6) KiB<' "$1" | head -n 6
}

# The picture of the first example is the one that the README shows.
picture() {
	need gnuplot gnuplot
	mkdir "$BATS_TEST_TMPDIR/shown"
	iot-analyze waterfall "$HOME/app.sqlite" --plot "$BATS_TEST_TMPDIR/shown" --no-head --size page >"$BATS_TEST_TMPDIR/table"
	same "words of the picture" "$(words_of "$BATS_TEST_TMPDIR/shown/waterfall.svg")" "$(words_of "$root/tests/fixtures/waterfall.svg")"
}

@test "the README's examples print what it shows" {
	body() {
		cd "$IOT_MNT"
		export HOME=$BATS_TEST_TMPDIR
		for n in 1 2 3 4 5 6 7 8 9 10; do
			(cd "$BATS_TEST_TMPDIR" && example "$n") || break
			bash -eu "$BATS_TEST_TMPDIR/cmd" > "$BATS_TEST_TMPDIR/got" 2> "$BATS_TEST_TMPDIR/err" ||
				{ cat "$BATS_TEST_TMPDIR/err"; fail "example $n failed"; }
			(cd "$BATS_TEST_TMPDIR" && matches) || { cat "$BATS_TEST_TMPDIR/got"; fail "example $n prints something else"; }
			[ "$n" != 1 ] || picture
		done
	}
	# e2fsprogs 1.47.1 and later write a block of one of these features more
	with_fs ext4 256M -O '^orphan_file,^metadata_csum_seed' -- body
}

@test "every folder and file that the README and the pages of doc/ name exists" {
	cd "$root"
	mapfile -t pages < <(ls README.md CONTRIBUTING.md doc/*.md)
	named=$(grep -ohE '^\| `[a-z]+/`' "${pages[@]}" | tr -d '|` ')
	[ "$(wc -l <<<"$named")" -ge 6 ]
	for dir in $named; do
		[ -d "$dir" ] || fail "no folder $dir"
	done
	named=$(grep -ohE '`(base|bpf|stream|tracer|analyzer|reports|tests|workloads)/[a-z0-9_/.-]+[ `]' "${pages[@]}" | tr -d '` ')
	[ "$(wc -l <<<"$named")" -ge 20 ]
	for path in $named; do
		[ -e "$path" ] || fail "no $path"
	done
	# a row in, or of, `TABLE` in, or of, `FILE`
	tables=$(grep -ohE '(row|and) (of|in) `[A-Za-z_]+(\[\])?` (of|in) `[a-z_/-]+\.[a-z]+`' "${pages[@]}" | sed -E 's/.*`([A-Za-z_]+)(\[\])?`.*`([^`]+)`/\1:\3/')
	[ "$(wc -l <<<"$tables")" -ge 6 ]
	for word in $tables; do
		grep -q "\b${word%%:*}\b" "${word#*:}" || fail "no table ${word%%:*} in ${word#*:}"
	done
}

@test "the README has at most 150 lines" {
	[ "$(wc -l <"$root/README.md")" -le 150 ]
}

@test "the manual says of the cost of an event what doc/RESULTS.md says" {
	cost='[0-9.]+ as JSON Lines, [0-9.]+ into a store'
	said=$(grep -oE "$cost" "$root/doc/RESULTS.md")
	[ -n "$said" ]
	same "the manual" "$(grep -oE "$cost" "$root/tracer/iot-trace.8")" "$said"
}
