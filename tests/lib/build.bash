# SPDX-License-Identifier: GPL-3.0-only
# build.bash - where the tree and its build are, and how a test builds one of its own programs. The other files of tests/lib read it.
# shellcheck shell=bash

root=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
# Another build is tested by naming its folder, below the tree: IOT_BUILD=$PWD/build/dev.
export IOT_BUILD=${IOT_BUILD:-$root/build} root

# IOT_LONG=1: the whole of every test, also of those files that have a variable of their own for it (tests/run lists them). Without it a long
# test takes a part of its cases, and says so in its name or in its reason to skip.
if [ "${IOT_LONG-}" = 1 ]; then
	export IOT_ALL_VMS=${IOT_ALL_VMS-1} IOT_SENTENCES=${IOT_SENTENCES-1} IOT_SIGNALS=${IOT_SIGNALS-all} IOT_FIO=${IOT_FIO-all}
	export IOT_SOAK=${IOT_SOAK-60} IOT_FUZZ=${IOT_FUZZ-20} IOT_STRANGERS=${IOT_STRANGERS-all}
fi

long() { [ "${IOT_LONG-}" = 1 ]; }

# A number of a long test: the first one each time, the second one with IOT_LONG=1.
sized() { # PART WHOLE
	if long; then echo "$2"; else echo "$1"; fi
}

only_long() { # WHAT
	long || skip "IOT_LONG=1 is missing: $1"
}

# Builds programs that only tests need, in the folder that is tested: built forker tests/detect
built() { # PROGRAM...
	local folder

	folder=$(realpath -m --relative-to="$root" "$IOT_BUILD") # as make names what it makes
	make --no-print-directory -s -C "$root" B="$folder" "${@/#/$folder/}" >&2 || { echo "cannot be built: $*" >&2; return 1; }
}
