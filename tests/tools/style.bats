# SPDX-License-Identifier: GPL-3.0-only
# style.bats - the rules of the house that a machine can check: includes, licences, lengths, comments, names, commits, scripts, spelling.

load ../lib/helper

# The files of the project, listed once; without git, everything but build products.
setup_file() {
	cd "$root"
	{ git ls-files --cached --others --exclude-standard 2>/dev/null || find . -type f -not -path './build/*' -not -path './.git/*' -printf '%P\n'; } |
		tr '\n' '\0' | xargs -0 sh -c 'for f; do [ ! -f "$f" ] || echo "$f"; done' sh >"$BATS_FILE_TMPDIR/files"
}

setup() {
	cd "$root"
	mapfile -t files <"$BATS_FILE_TMPDIR/files"
}

sources() { printf '%s\n' "${files[@]}" | grep -E "$1" || :; }

includes() { # FILES_REGEX: "file header" lines
	sources "$1" | xargs -r grep -HoE '^ *# *include *[<"][^>"]+[>"]' | sed -E 's/: *# *include */ /'
}

@test "every source file says its licence in its first lines" {
	# files of debian/ have forms of their own
	printf '%s\n' "${files[@]}" | grep -vE '^(LICENSE|README\.md|\.gitignore|tests/fixtures/.*|.*\.(tsv|json|jsonl|csv|txt)|debian/(changelog|control|copyright|source/.*|iot.*\.[dil].*))$' \
		>"$BATS_TEST_TMPDIR/of_us"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/of_us")" -gt 500 ]
	xargs -d '\n' awk 'FNR <= 3 && /SPDX-License-Identifier: GPL-3.0-only/ { print FILENAME } FNR == 3 { nextfile }' <"$BATS_TEST_TMPDIR/of_us" >"$BATS_TEST_TMPDIR/licensed"
	empty "no SPDX line" "$(grep -vxFf "$BATS_TEST_TMPDIR/licensed" "$BATS_TEST_TMPDIR/of_us" || :)"
}

@test "kernel programs include the kernel side, and libbpf's headers for it" {
	allowed='"([a-z_0-9]+\.(bpf\.)?h|(maps|core|net|syscall|uring|cache|page_cache|file_owner|block|function)\.bpf\.c|kinds\.def|fields\.def|vfs\.def)"|<linux/[a-z_]+\.h>|<bpf/bpf_(helpers|tracing|core_read|endian)\.h>|<asm[a-z-]*/[a-z_]+\.h>'
	empty "foreign includes" "$(includes '^bpf/.*\.bpf\.[ch]$' | grep -vE " ($allowed)\$" || :)"
}

@test "libbpf is included by the tracer's probe files and the bench's yardstick only" {
	empty "libbpf elsewhere" "$(includes '\.[ch]$' | grep -E '<bpf/(libbpf|bpf|btf)\.h>' | grep -vE '^(tracer/probe/[a-z_]+|tests/tools/floor)\.[ch] ' || :)"
}

@test "sqlite3.h is included by the store's writer and the query runner only" {
	empty "SQLite elsewhere" "$(includes '\.[ch]$' | grep -F '<sqlite3.h>' | grep -vE '^(stream/([a-z]+/)?[a-z_]+|analyzer/sql/[a-z_]+|tests/[a-z_/-]+)\.[ch] ' || :)"
	empty "SQLite in the tracer" "$(includes '^(tracer|bpf|workloads)/' | grep -F '<sqlite3.h>' || :)"
}

@test "the analyzer knows nothing of the kernel side or of the tracer" {
	empty "kernel side in the analyzer" "$(includes '^analyzer/.*\.[ch]$' | grep -E '\.bpf\.|"kernel\.h"|<bpf/|"probe\.h"|tracer/' || :)"
	empty "tracer or analyzer in the stream" "$(includes '^stream/.*\.[ch]$' | grep -E '<bpf/|"probe\.h"|tracer/|analyzer/' || :)"
}

@test "reports read views, not tables" {
	tables=$(sed -nE 's/^RECORD\(([a-z_]+),.*/\1/p' stream/records.def | sed 's/^end$/run_end/' | paste -sd '|')
	empty "tables in reports" "$(sources '^reports/.*\.sql$' | grep -v "^reports/views/" | xargs -r grep -nHiE "\\b(from|join) +($tables|event|agg_total|ledger)\\b" || :)"
}

@test "functions are shorter than 80 lines" {
	# of the files on standard input, functions that begin like this
	long_ones() { # REGEX
		xargs -r awk -v begin="$1" 'FNR == 1 { start = 0 } $0 ~ begin { start = FNR }
			/^\}/ && start { if (FNR - start >= 80) print FILENAME ":" start ": " FNR - start " lines"; start = 0 }'
	}
	empty "long" "$(sources '\.c$' | long_ones '^[{]')"
	empty "long in scripts" "$(sources '^(tests|workloads|\.ci)/' | xargs -r grep -lE '^#!.*sh\b' | long_ones '^[a-z_]+[(][)] [{]$')"
}

@test "no source file has more than 600 lines" {
	empty "longer" "$(sources '\.(c|h|sql|gp|bash|sh)$' | grep -v '^tests/fixtures/' | xargs -r awk 'FNR == 601 { print FILENAME }')"
}

@test "includes have no circles: neither headers nor folders" {
	# "tracer/a.c tracer/b.h": a header is looked for beside who includes it, then in the folders that hold one of its name
	includes '^(base|bpf|stream|tracer|analyzer)/.*\.[ch]$' | grep -v '<' | tr -d '"' | awk '
		NR == FNR { there[$0] = 1; if (/^(base|bpf|stream|tracer|analyzer)\/.*\.[ch]$/) { name = $0; sub(/.*\//, "", name); at[name] = $0 } next }
		{ to = $1; sub(/[^\/]*$/, "", to); to = to $2; while (sub(/[^\/]+\/\.\.\//, "", to)); if (!(to in there)) to = at[$2] }
		to != "" { print $1, to }' "$BATS_FILE_TMPDIR/files" - > "$BATS_TEST_TMPDIR/edges"
	[ "$(wc -l < "$BATS_TEST_TMPDIR/edges")" -gt 200 ]
	tsort "$BATS_TEST_TMPDIR/edges" >/dev/null
	sed -E 's,/[^/ ]+( |$),\1,g' "$BATS_TEST_TMPDIR/edges" | awk '$1 != $2' | sort -u > "$BATS_TEST_TMPDIR/folders"
	tsort "$BATS_TEST_TMPDIR/folders" >/dev/null
	empty "above base/" "$(grep '^base ' "$BATS_TEST_TMPDIR/folders" || :)"
}

# A row of the Makefile names the rooms that a room of bpf/ may include: "inc_bpf/page := $(addprefix -Ibpf/,page task core)".
@test "rooms of the kernel side include those of their row, and of dirty/ its hooks" {
	sed -n 's/^inc_bpf\/\([a-z0-9/]*\) := $(addprefix -Ibpf\/,\(.*\))$/\1 \2/p' Makefile > "$BATS_TEST_TMPDIR/rows"
	[ "$(wc -l < "$BATS_TEST_TMPDIR/rows")" -ge 12 ]
	includes '^bpf/.*\.[ch]$' | grep -v '<' | tr -d '"' | awk -v rows="$BATS_TEST_TMPDIR/rows" -v list="$(sources '^bpf/')" '
		BEGIN {
			while ((getline line < rows) > 0) { n = split(line, r, " "); for (i = 2; i <= n; i++) may[r[1], r[i]] = 1 }
			n = split(list, f, "\n")
			for (i = 1; i <= n; i++) { name = f[i]; sub(/.*\//, "", name); dir = f[i]; sub(/^bpf\//, "", dir); if (!sub(/\/[^\/]*$/, "", dir)) dir = ""; room[name] = dir }
		}
		{
			from = $1; sub(/^bpf\//, "", from); if (!sub(/\/[^\/]*$/, "", from)) from = ""
			to = room[$2]
			if (to != "" && !((from, to) in may)) print $1 " includes " to "/" $2
			if (to == "dirty" && from != "dirty" && from != "object" && $2 != "hooks.bpf.h") print $1 " includes " $2 ", not hooks.bpf.h"
		}' > "$BATS_TEST_TMPDIR/strangers"
	empty "not named" "$(cat "$BATS_TEST_TMPDIR/strangers")"
}

@test "files of the tracer call each other without circles" {
	need nm binutils
	sources '^tracer/.*\.c$' | sed "s|.*|$IOT_BUILD/&|; s|c\$|o|" | xargs nm -AP > "$BATS_TEST_TMPDIR/symbols"
	# "a.o: name T …" defines, "b.o: name U" uses
	awk '{ sub(":", "", $1) } NR == FNR { if ($3 ~ /^[A-TV-Z]$/) at[$2] = $1; next } $3 == "U" && $2 in at && at[$2] != $1 { print $1, at[$2] }' \
		"$BATS_TEST_TMPDIR/symbols" "$BATS_TEST_TMPDIR/symbols" > "$BATS_TEST_TMPDIR/edges"
	[ "$(wc -l < "$BATS_TEST_TMPDIR/edges")" -gt 200 ]
	tsort "$BATS_TEST_TMPDIR/edges" >/dev/null
}

@test "the manuals fit a terminal of 80 columns, but for samples of output" {
	need man man-db
	for page in analyzer/command/iot-analyze.1 tracer/iot-trace.8 tracer/iot-systems.5; do
		LC_ALL=C.UTF-8 MANWIDTH=80 man -l "$page" 2>/dev/null | col -bx > "$BATS_TEST_TMPDIR/page"
		[ "$(wc -l < "$BATS_TEST_TMPDIR/page")" -gt 100 ] || fail "$page is not shown"
		empty "$page" "$(LC_ALL=C.UTF-8 grep -nE '^.{81,}' "$BATS_TEST_TMPDIR/page" | grep -vE '^[0-9]+: *(TIME|[0-9]{2}:[0-9]{2}:[0-9]{2}\.)' || :)"
	done
}

# Another compiler may undo a bare mask (bpf/core/index.h).
@test "indexes of the kernel side are bounded by INDEX(), signs by is_negative()" {
	empty "masks and shifts" "$(grep -nE '\[[^]]*& \(?[A-Za-z0-9_ *]+ ?-? ?1?\)?\]|>> 63|asm volatile\("%' $(sources '^bpf/.*\.[ch]$') | grep -v '^bpf/\(core/index\|hist\)\.h:' || :)"
}

@test "nothing is left to be done later" {
	word='TO''DO|FIX''ME|X''XX'
	empty "unfinished" "$(printf '%s\0' "${files[@]}" | grep -zv LICENSE | xargs -0 grep -nHIwE "$word" || :)"
}

@test "no line ends in blanks, and code lines have at most 160 columns" {
	empty "trailing blanks" "$(printf '%s\0' "${files[@]}" | grep -zvE 'LICENSE|fixtures/|\.tsv$' | xargs -0 grep -nHIE '[ 	]+$' || :)"
	empty "long lines" "$(sources '\.[ch]$' | xargs -r awk 'length($0) > 160 { print FILENAME ":" FNR }')"
}

# The lines of folders of the tree that break a rule: "RULE FILE", with the number of the rule in the order of limits.txt.
broken() {
	local openers='(What|Whose|Which|How|Where|Likewise|The same|Who)\>' dash='--'

	sources / | grep -vE 'fixtures/|\.(svg|md)$' | xargs -r grep -HE "(^|[[:blank:]])(/\*+|//|#|$dash) +$openers" | sed 's/:.*//; s/^/1 /'
	sources '/.*\.[ch]$' | xargs -r awk 'length($0) > (/^\t+\{ / ? 120 : 100) { print 2, FILENAME }'
	sources '/.*\.(def|sql)$' | grep -v fixtures/ | xargs -r awk 'length($0) > 120 { print 3, FILENAME }'
}

@test "no folder has more riddles and long lines than its limits allow" {
	broken >"$BATS_TEST_TMPDIR/broken"
	empty "more than allowed" "$(awk -v rules="comments that begin with What, Whose, Which, How, Where, Likewise, The same, Who|C lines over 100 columns|lines of tables and SQL over 120 columns" '
		NR == FNR { for (i = 1; i <= 3; i++) limit[$1, i] = $(i + 1); next }
		{ sub(/\/.*/, "", $2); if (n[$2, $1]++ == limit[$2, $1] + 0) more[$2, $1] = 1 }
		END { split(rules, rule, "|"); for (key in more) { split(key, k, SUBSEP); print k[1] ": " n[key], rule[k[2]] ", and its limit in tests/tools/limits.txt is " limit[key] + 0 } }' \
		tests/tools/limits.txt "$BATS_TEST_TMPDIR/broken")"
}

@test "names of tests have at most 80 characters, and no two tests have one name" {
	sources '\.bats$' | xargs sed -nE 's/^@test "(.*)" \{.*/\1/p' | sed 's/" {.*//; s/\\//g' >"$BATS_TEST_TMPDIR/names"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/names")" -gt 1000 ]
	empty "too long" "$(LC_ALL=C.UTF-8 grep -E '^.{81,}' "$BATS_TEST_TMPDIR/names" || :)"
	empty "given twice" "$(sort "$BATS_TEST_TMPDIR/names" | uniq -d)"
}

# The rule holds for all that came after this commit.
@test "commits have a subject of at most 72 characters, area: imperative, and a body" {
	local since=9591656

	git rev-parse --git-dir >/dev/null 2>&1 || skip "git's data are missing: not a clone"
	git merge-base --is-ancestor "$since" HEAD 2>/dev/null || skip "the history is missing: a clone without $since"
	empty "too long" "$(git log --no-merges --format=%s "$since..HEAD" | grep -E '^.{73,}' || :)"
	empty "no area" "$(git log --no-merges --format=%s "$since..HEAD" | grep -vE '^[A-Za-z0-9_./, -]+: [^ ]' || :)"
	empty "ends with a full stop" "$(git log --no-merges --format=%s "$since..HEAD" | grep '\.$' || :)"
	# 1889613 came before this test
	empty "no body" "$(git log -z --no-merges --abbrev=7 --format='%h%x09%b' "$since..HEAD" | grep -zP '^[0-9a-f]+\t\s*$' | tr '\0' '\n' | grep -v '^1889613' || :)"
}

@test "lines of views have at most 120 columns" {
	empty "long lines" "$(sources '^reports/views/' | xargs -r awk 'length($0) > 120 { print FILENAME ":" FNR }')"
}

@test "shell scripts pass shellcheck" {
	need shellcheck shellcheck
	mapfile -t scripts < <(printf '%s\0' "${files[@]}" | xargs -0 grep -lIE '^#!/bin/(ba)?sh' | grep -v '\.bats$'; sources '\.bash$')
	shellcheck "${scripts[@]}"
}

# Prose alone: code has names that no dictionary has. To allow a word: a line of tests/tools/words.txt.
@test "prose is spelled right" {
	need codespell codespell
	mapfile -t prose < <(sources '\.(md|[1-8]|[chs]|def|sql|bats|bash|sh|py|txt|json)$|^(tests/(run|tools|vm)|packaging|workloads/iot$)' |
		grep -vE 'fixtures/|^LICENSE|packaging/.*\.c$')
	codespell --ignore-words tests/tools/words.txt --quiet-level 2 "${prose[@]}" >"$BATS_TEST_TMPDIR/misspelled" ||
		fail "$(cat "$BATS_TEST_TMPDIR/misspelled")"
}

@test "a workload's calls that a device, a mount or a server may hold have a time limit" {
	calls='losetup|mkfs|mkfs\.[a-z0-9]+|"mkfs\.\$type"|mount|umount|sync|fsfreeze|debugfs|dumpe2fs|monmaptool|ceph(-mon|-osd)?|rados|gluster|curl|psql|redis-cli'
	calls="$calls|etcdctl|mariadb|mariadb-install-db|db_bench|fio|sqlite3"
	# a command stands where a line begins, after a word of the shell, an operator or the pattern of a case, not in the list of an array; the demonstration is watched by who runs it
	empty "without a limit" "$(sources '^workloads/.*\.(sh|bash)$' | grep -v demo.sh | xargs -r grep -nHE "(^|[;&|{!]|[^=]\(|then|do|else|[a-z0-9*]\))[[:blank:]]*($calls)[[:blank:]]" || :)"
}

@test "nothing generated is in git" {
	git rev-parse --git-dir >/dev/null 2>&1 || skip "git's data are missing: not a clone"
	empty "generated" "$(git ls-files | grep -E '\.(o|d|skel\.h|sqlite|jsonl\.gz|svg|png|log)$|^[^/]*\.(csv|tsv|json|jsonl|html|pdf|txt)$|vmlinux\.h|^build/' | grep -vE '^tests/fixtures/|^doc/[a-z]+\.svg$' || :)"
}

# bpf_rdonly_cast() knows the kernel's types alone: where a file system is a module, the verifier refuses the program ("Unknown type ID").
@test "no type of a module is read by a cast" {
	empty "cast" "$(sources '^bpf/.*\.[ch]$' |
		xargs -r grep -nE '(NUMBER_AT|POINTER_AT|UNTRUSTED)\(.*struct (ext4_|btrfs_|xfs_|xlog|jbd2_|journal_s|transaction_s|async_chunk|extent_buffer|compressed_bio|dm_)' || :)"
}

@test "no two rows of a table of the vocabulary have the same name" {
	for table in LAYER KIND CAUSE HOW SUB FLAG; do
		twice=$(sed -n "s/^$table(\(.*\))\$/\1/p" "$root/bpf/kinds.def" | awk -F '"' '{ print $2 }' | sort | uniq -d)
		[ -z "$twice" ] || fail "$table: $twice"
	done
}
