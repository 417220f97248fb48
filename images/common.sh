# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# common.sh - what the scripts under images/ share; sourced, never run
#
# Sets AC_HOME, AC_CACHE and AC_LOGS. Messages go to stderr, results to stdout.
# AC_SAY is what each message begins with, for a program that shows them itself;
# AC_WHY is the file that a failure writes its sentence into.

if [ -z "${AC_HOME:-}" ]; then
	AC_HOME=${XDG_DATA_HOME:-${HOME:-/root}/.local/share}/ac
fi
export AC_HOME
AC_CACHE=$AC_HOME/cache
AC_LOGS=$AC_HOME/log

say() { printf '%s%s\n' "${AC_SAY-ac: }" "$*" >&2; }

# fail_say TEXT... - says why it fails, to people and to who runs it
fail_say() {
	[ -z "${AC_WHY:-}" ] || printf '%s' "$*" >"$AC_WHY"
	say "$*"
}

die() {
	_code=$1
	shift
	fail_say "$*"
	exit "$_code"
}

have() { command -v "$1" >/dev/null 2>&1; }

# for_root COMMAND... - how somebody who is not root has them run, in one line
for_root() {
	_line=
	for _one; do
		[ "$(id -u)" -eq 0 ] || ! have sudo || _one="sudo $_one"
		_line="${_line:+$_line && }$_one"
	done
	if [ "$(id -u)" -ne 0 ] && ! have sudo; then
		_line="su - -c '$_line'"
	fi
	echo "$_line"
}

make_home() {
	mkdir -p "$AC_HOME" "$AC_CACHE" "$AC_LOGS" ||
		die 1 "cannot make $AC_HOME (AC_HOME names another place)"
}

# lock_take FILE - the lock stays with descriptor 9 of the caller, and so ends
# with it however it ends. Opened for reading: another uid may have made it.
lock_take() {
	[ -e "$1" ] || : >>"$1" || return 1
	exec 9<"$1"
	flock -n 9 && return 0
	say "waiting for another ac that does the same ($1)"
	flock 9
}

# interrupted KEPT - the words of a Ctrl-C, and the exit code of one
interrupted() {
	say "interrupted. $1; the same command goes on from there"
	exit 130
}

# log_tail FILE [LINES] - the end of a log, for a message of failure
log_tail() {
	tail -n "${2:-20}" "$1" | sed 's/^/    /' >&2
	say "the whole log: $1"
}
