# SPDX-License-Identifier: GPL-3.0-only
# shellcheck shell=bash disable=SC2015
# packages.bash - `need`: installs a Debian package that a workload needs, or ends it with exit status 77 and one line.
# The script that sources it has a function `say` for messages. IOT_NO_INSTALL=1: never install.

# shellcheck source=workloads/limit.bash disable=SC1091
. "$(dirname "${BASH_SOURCE[0]}")/limit.bash"
SKIP=77
skip() { say "skipped: $*"; exit $SKIP; }

# need COMMAND-OR-FILE PACKAGE...: installs the packages when the command is missing, or skips.
need() {
	local what=$1

	shift
	! have "$what" || return 0
	[ "$(id -u)" = 0 ] && [ -z "${IOT_NO_INSTALL:-}" ] && command -v apt-get >/dev/null || skip "needs $what (Debian: $*)"
	say "installing $*"
	apt_install "$@" >/dev/null || true
	have "$what" || skip "needs $what (Debian: $*), and it could not be installed"
}

have() {
	case $1 in
	/*) compgen -G "$1" >/dev/null ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

# Services must not start by themselves: policy-rc.d says no while packages are configured.
apt_install() (
	policy=/usr/sbin/policy-rc.d
	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' >$policy
		chmod 755 $policy
		trap 'rm -f $policy' EXIT
	fi
	apt=(lim 900 env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
	"${apt[@]}" install -y --no-install-recommends "$@" && return 0
	"${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "$@"
)
