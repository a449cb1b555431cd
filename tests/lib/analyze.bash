# SPDX-License-Identifier: GPL-3.0-only
# analyze.bash - stores with known answers, and short ways to ask for one number.

bats_require_minimum_version 1.5.0
# shellcheck source=tests/lib/build.bash
. "${BASH_SOURCE[0]%/*}/build.bash"
ROOT=$root
ANALYZE=$IOT_BUILD/iot-analyze

# An empty store, made by the program itself: one small run is ingested and taken out again.
make_store() {
	local table
	printf '%s\n' \
		'{"t":"run","schema":5,"uuid":"x","host":"h","kernel":"k","machine":"m","cpus":1,"tool":"0","layers":"syscall","tier":"full","events":0,"settle":"none","wall_ns":1,"boot_ns":1,"utc_offset_s":0}' \
		'{"t":"end","dur_ns":1,"horizon":"at_ack","events":0}' | "$ANALYZE" ingest "$1"
	for table in $(sqlite3 "$1" "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'run' WHERE m.type = 'table'"); do
		sqlite3 "$1" "DELETE FROM \"$table\""
	done
}

# For setup(): in a folder of the test's own, with a copy of the base store as $S.
run_store() {
	cd "$BATS_TEST_TMPDIR" || return 1
	S=run.sqlite
	store_with "$S"
}

# The store that store_with() copies.
make_base() {
	make_store "$BATS_FILE_TMPDIR/base.sqlite"
	sqlite3 "$BATS_FILE_TMPDIR/base.sqlite" < "$BATS_TEST_DIRNAME/../fixtures/analyze_base.sql"
}

# The store of fixtures/analyze_base.sql, changed by the SQL in $2.
store_with() {
	cp "$BATS_FILE_TMPDIR/base.sqlite" "$1"
	[ -z "${2:-}" ] || sqlite3 "$1" "$2"
}

# The setup of most files: each test runs in a folder of its own, with a copy of that store.
setup_file() { make_base; }

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	S=run.sqlite
	store_with "$S"
}

# Prints what a command says, which is asked once as long as each file that it is given, its store among them, and the file $also are as they were.
kept() { # COMMAND...
	local file given

	file=$BATS_FILE_TMPDIR/kept.$BATS_SUITE_TEST_NUMBER.$(printf '%s\n' "$PWD" "$@" | cksum | tr ' ' .)
	for given in "$@" ${also:+"$also"}; do
		[ ! -e "$given" ] || [ "$file" -nt "$given" ] || rm -f "$file"
	done
	[ -e "$file" ] || "$@" >"$file" || :
	cat "$file"
}

# ratio STORE WHO NAME [OPTIONS]: "BOUND VALUE NUMERATOR DENOMINATOR NOTE"
ratio() {
	local store=$1 who=$2 name=$3
	shift 3
	kept "$ANALYZE" amplification "$store" --format tsv --table ratios "$@" |
		awk -F'\t' -v w="$who" -v n="$name" '$2 == w && $4 == n { print $6, $7, $8, $9, $10 }' | sed 's/ *$//'
}

# cell STORE REPORT TABLE KEYCOLUMN KEY COLUMN [OPTIONS]: that cell of each row where KEYCOLUMN is KEY
cell() {
	local store=$1 report=$2 table=$3 key=$4 value=$5 column=$6
	shift 6
	kept "$ANALYZE" "$report" "$store" --format tsv --table "$table" "$@" |
		awk -F'\t' -v k="$key" -v v="$value" -v c="$column" \
			'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at[k] == v { print $at[c] }'
}
