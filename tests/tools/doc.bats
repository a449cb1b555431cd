#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# doc.bats - what documents point at exists: links and anchors, paths, functions and programs in backquotes, pictures,
# and each section of a document that code, schema, views or manuals cite.

load ../lib/helper

setup() {
	cd "$root"
	is_path='^(analyzer|base|bpf|debian|doc|packaging|reports|stream|tests|tracer|workloads)/[A-Za-z0-9_.*/-]*$'
}

# The text of a document without blocks of code.
text_of() { awk '/^ *```/ { inside = !inside; next } !inside' "$1"; }

# The words in backquotes, one a line; of the source of a picture all that is drawn.
named() { # FILE
	case $1 in
	*.dot) grep -v '^ *//' "$1" | sed 's/\\[nl]/\n/g' | grep -oE '[A-Za-z0-9_.*/()-]+' ;;
	*) text_of "$1" | grep -oE '`[^`]+`' | tr -d '`' | tr ' ' '\n' ;;
	esac
}

# The anchors of the headings of a document, as GitHub makes them.
anchors() {
	text_of "$1" | sed -n 's/^#\+ \+//p' | tr -d '`' | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# Is there a file of this name? NAME, SYSTEM and FOLDER stand for any.
is_there() {
	local any=${1%/}

	any=${any//NAME/*} any=${any//SYSTEM/*} any=${any//FOLDER/*}
	compgen -G "$any" >/dev/null
}

# "FILE WORD" lines of which the word is checked; there are at least so many.
each() { # LEAST CHECK < LINES
	local n=0 file word

	while read -r file word; do
		n=$((n + 1))
		"$2" "$file" "$word" || echo "$file: $word"
	done
	[ "$n" -ge "$1" ] || echo "only $n were looked at"
}

with_name() { sed "s,^,$1 ,"; } # FILE < WORDS

links() {
	for doc in README.md CONTRIBUTING.md doc/*.md; do
		text_of "$doc" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//' | grep -vE '^[a-z]+:' | with_name "$doc"
	done
}

leads_somewhere() { # DOCUMENT LINK
	local to=$1 file=${2%%#*}

	[ -z "$file" ] || to=$(dirname "$1")/$file
	[ -e "$to" ] || return 1
	[[ $2 != *'#'* ]] || anchors "$to" | grep -qxF -- "${2#*#}"
}

@test "each relative link of the documents leads to a file and a heading" {
	empty "leads nowhere" "$(links | each 20 leads_somewhere)"
}

paths() {
	for doc in CONTRIBUTING.md doc/*.md doc/*.dot; do named "$doc" | grep -E "$is_path" | with_name "$doc"; done | sort -u
}

path_is_there() { is_there "$2"; } # DOCUMENT PATH

@test "each path in backquotes of the documents, and in the pictures, exists" {
	empty "no such file" "$(paths | each 100 path_is_there)"
}

functions() {
	for doc in CONTRIBUTING.md doc/INTERNALS.md doc/*.dot; do
		named "$doc" | grep -oE '[a-z0-9_]+\(\)' | tr -d '()' | with_name "$doc"
	done | sort -u
}

programs() {
	for doc in CONTRIBUTING.md doc/INTERNALS.md doc/*.dot; do named "$doc" | grep -xE '[a-z0-9]+__[a-z_]+' | with_name "$doc"; done | sort -u
}

is_function() { grep -qxF -- "$2" "$BATS_TEST_TMPDIR/words"; } # DOCUMENT NAME
is_program() { grep -rqF "{ \"$2\"," --include='*.c' tracer; } # a row of `programs`

@test "each function and program that the documents name is in the code" {
	find base bpf stream tracer analyzer -name '*.[ch]' -exec cat {} + | tr -cs 'A-Za-z0-9_' '\n' | sort -u >"$BATS_TEST_TMPDIR/words"
	empty "no such function" "$(functions | each 60 is_function)"
	empty "no such program" "$(programs | each 15 is_program)"
}

labels() {
	for dot in doc/*.dot; do
		grep -v '^ *//' "$dot" | grep -oE 'label="[^"]*"' | sed 's/^label="//; s/"$//; s/\\[nl]/ /g' | tr -s ' ' '\n' | grep . | with_name "${dot%.dot}.svg"
	done | sort -u
}

is_drawn() { # PICTURE WORD
	local hyphen='&#45;' # as dot writes it

	grep -qF -- "${2//-/"$hyphen"}" "$1"
}

@test "the pictures say what their sources say (make doc-pictures)" {
	empty "not drawn" "$(labels | each 50 is_drawn)"
}

# A citation may go on in the next line of a comment.
citations() {
	grep -rlIE 'METRICS|INTERNALS' --exclude-dir=.git --exclude-dir=build --exclude-dir=prebuilt . | while read -r file; do
		sed -E 's,^[[:blank:]]*(\*|--|//|#|\.\\")+ *,,' "$file" | tr '\n' ' ' | grep -oE '(METRICS|INTERNALS)(\.md)?[])`]* section [0-9]+' |
			sed -E 's/^([A-Z]+).* ([0-9]+)$/\1 \2/' | with_name "$file"
	done | sort -u
}

section_is_there() { # FILE "DOCUMENT NUMBER"
	grep -qE "^## ${2#* }[. ]" "doc/${2% *}.md"
}

@test "each section that code, schema, views and manuals cite exists" {
	empty "no such section" "$(citations | each 15 section_is_there)"
	empty "no such document" "$(grep -rnIE 'DES''IGN(\.md| section)' --exclude-dir=.git --exclude-dir=build . || :)"
}

in_sources() {
	grep -rIoE '\b(analyzer|base|bpf|packaging|reports|stream|tracer|workloads)/[A-Za-z0-9_/-]+(\.bpf)?\.(c|h|def|sql|gp|sh|json|bash|[1578])\b' \
		--include='*.[ch1578]' --include='*.def' --include='*.sql' --include='*.gp' --include='*.py' --include='*.mk' \
		Makefile analyzer base bpf packaging reports stream tests tracer workloads |
		grep -vE ':bpf/(bpf_[a-z_]+|bpf|btf|libbpf)\.h$' | tr ':' ' ' | sort -u # those are libbpf's own
}

@test "each path from the root that code, comments and manuals name exists" {
	empty "no such file" "$(in_sources | each 50 path_is_there)"
}
