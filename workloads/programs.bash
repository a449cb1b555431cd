# SPDX-License-Identifier: GPL-3.0-only
# shellcheck shell=bash
# programs.bash - `program`: where a program of iot is. In the folder IOT_BUILD, if that is given; in build/ of the clone whose script
# asks; next to an installed script; else where PATH leads.

# program NAME: prints its path, or says in one line that it is missing.
program() {
	local scripts file places

	scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
	places=("$scripts/../build" "$scripts/..")
	[[ $scripts != */libexec/iot ]] || places=("$scripts/../../sbin" "$scripts/../../bin")
	for file in "${IOT_BUILD:+$IOT_BUILD/$1}" "${places[@]/%//$1}"; do
		[ ! -x "$file" ] || [ ! -f "$file" ] || { readlink -f "$file"; return; }
	done
	PATH=$PATH:/usr/local/sbin:/usr/sbin command -v "$1" || {
		echo "iot: $1 is missing: run \`make\` in the clone, or install iot; IOT_BUILD says where it is otherwise" >&2
		return 1
	}
}
