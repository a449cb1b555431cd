# SPDX-License-Identifier: GPL-3.0-only
# shellcheck shell=bash
# limit.bash - `lim`: a time limit on a call. A device, a mount or a server that never answers ends as status 124.
# IOT_LIMIT: seconds that any one call may take at most.

# So many seconds, or IOT_LIMIT when that is less.
limit() { echo "$((${IOT_LIMIT:-$1} < $1 ? ${IOT_LIMIT:-$1} : $1))"; }

# lim SECONDS COMMAND...: within that time.
lim() { timeout -k 5 "$(limit "$1")" "${@:2}"; }
