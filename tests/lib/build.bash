# SPDX-License-Identifier: GPL-3.0-only
# build.bash - where the tree and its build are, and how a test builds one of its own programs. The other files of tests/lib read it.
# shellcheck shell=bash

root=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
# Another build is tested by naming its folder, below the tree: IOT_BUILD=$PWD/build/dev.
export IOT_BUILD=${IOT_BUILD:-$root/build} root

# Builds programs that only tests need, in the folder that is tested: built forker tests/detect
built() { # PROGRAM...
	local folder

	folder=$(realpath -m --relative-to="$root" "$IOT_BUILD") # as make names what it makes
	make --no-print-directory -s -C "$root" B="$folder" "${@/#/$folder/}" >&2 || { echo "cannot be built: $*" >&2; return 1; }
}
