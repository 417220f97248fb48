# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# common.bash - what every integration test starts from
#
# AC_TEST_DIR is where the state of the tests lives, AC_TEST_HOST the name of
# their ac-host; two suites at once need two of each. The folder must be on a
# disk that the outer engine can bind-mount. AC_TEST_PROGRAM is another build
# of ac than the launcher's. No test asserts on time: eventually() polls for a
# state with a generous limit, and only the state decides.

bats_require_minimum_version 1.5.0

AC_SRC=$(readlink -f "${BASH_SOURCE[0]%/*}/../..")
AC=${AC_TEST_PROGRAM:-$AC_SRC/ac}
AC_TEST_DIR=${AC_TEST_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ac-test}
AC_HOST=${AC_TEST_HOST:-ac-test}
AC_HOST2=$AC_HOST-2
AC_HOME=$AC_TEST_DIR/home
AC_TEST_TMP=$AC_TEST_DIR/tmp
export AC_SRC AC AC_TEST_DIR AC_HOST AC_HOST2 AC_HOME AC_TEST_TMP
unset AC_ROOT RUNSC AC_DETACH_KEYS NO_COLOR
# Whose git this is must not matter.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
# Only the launcher knows by itself where the scripts of set-up are.
[ -z "${AC_TEST_PROGRAM:-}" ] || export AC_ROOT=$AC_SRC

# Everything of an earlier suite but the cache of set-up.
wipe_home() {
	[ -d "$AC_HOME" ] || return 0
	find "$AC_HOME" -mindepth 1 -maxdepth 1 ! -name cache \
		-exec rm -rf {} +
}

# shellcheck source=tests/integration/machine.bash
. "$AC_SRC/tests/integration/machine.bash"

# borrow_cache DIR - what set-up keeps, for another AC_HOME
borrow_cache() {
	[ ! -d "$AC_HOME/cache" ] ||
		cp -a --reflink=auto "$AC_HOME/cache" "$1/cache"
}

# eventually COMMAND... - true within 60 s, or fail
eventually() {
	local i
	for ((i = 0; i < 300; i++)); do
		if "$@"; then
			return 0
		fi
		sleep 0.2
	done
	echo "never became true: $*"
	return 1
}

# field INSTANCE JQ - one value of its record
field() {
	"$AC" inspect "$1" | jq -r "$2"
}

state_is() { [ "$(field "$1" .state)" = "$2" ]; }

in_host() { docker exec "$AC_HOST" "$@"; }

# host_pid - acd, as the machine sees it
host_pid() { docker inspect -f '{{.State.Pid}}' "$AC_HOST"; }

# engine_pid - the nested dockerd, as the machine sees it
engine_pid() { pgrep -P "$(host_pid)" -x dockerd; }

# box INSTANCE FORMAT - of its container in the nested engine
box() {
	local id
	id=$(in_host docker ps -aq --filter "label=ac.instance=$1")
	in_host docker inspect -f "$2" "$id"
}

# box_id INSTANCE - its sandbox, as the runtime that has it calls it
box_id() {
	local id
	id=$(in_host docker ps -aq --no-trunc --filter "label=ac.instance=$1")
	[ -n "$id" ] || id=$(in_host grep -lx "$1" -r /run/ac/bundles \
		--include=hostname | cut -d/ -f5)
	echo "$id"
}

# box_limit INSTANCE V1-FILE V2-FILE - of its cgroup
box_limit() {
	local id
	id=$(box_id "$1")
	in_host sh -c "find /sys/fs/cgroup -path '*$id/$2' -o -path '*$id/$3' |
		head -n 1 | xargs cat"
}

# is TEXT - $output is exactly that, but for the progress of what took more than a
# second: on a busy machine anything may
# shellcheck disable=SC2154 # set by run
is() {
	local said=$output
	[[ $said != *' s)'* ]] ||
		said=$(sed -E '/^ac: .* \([0-9]+ s\)$/d' <<<"$said")
	if [ "$said" != "$1" ]; then
		echo "it should be '$1', but is:"
		printf '%s\n' "$output" "${stderr:-}"
		return 1
	fi
}

# has TEXT - $output has it
# shellcheck disable=SC2154 # set by run
has() {
	if [[ $output != *"$1"* ]]; then
		echo "not in the output: '$1'; the output:"
		printf '%s\n' "$output"
		return 1
	fi
}

# lacks TEXT - $output does not have it
# shellcheck disable=SC2154 # set by run
lacks() {
	if [[ $output == *"$1"* ]]; then
		echo "in the output: '$1'; the output:"
		printf '%s\n' "$output"
		return 1
	fi
}

# says REGEX - stdout or stderr, any case
says() {
	if ! printf '%s\n%s\n' "$output" "${stderr:-}" | grep -qiE -- "$1"
	then
		echo "nothing matches '$1'; stdout and stderr:"
		printf '%s\n%s\n' "$output" "${stderr:-}"
		return 1
	fi
}

# silent - nothing was printed
# shellcheck disable=SC2154 # set by run
silent() {
	if [ -n "$output" ]; then
		echo "it should have said nothing, but:"
		printf '%s\n' "$output"
		return 1
	fi
}

# ended PID - waits for a background command; sets status for code()
ended() {
	output='' stderr='' status=0
	wait "$1" || status=$?
}

# code N - of the last run
code() {
	# shellcheck disable=SC2154 # set by run
	if [ "$status" -ne "$1" ]; then
		echo "exit code $status, wanted $1; output:"
		printf '%s\n' "$output" "${stderr:-}"
		return 1
	fi
}

# takes_long - what make check-all has, and make check has not
takes_long() {
	[ -n "${AC_CHECK_ALL:-}" ] || skip "make check-all does this"
}
need_root() { [ "$(id -u)" -eq 0 ] || skip "needs root"; }
need() { command -v "$1" >/dev/null || skip "no $1 here"; }

# gone INSTANCE... - without a question and without a complaint
gone() {
	local name
	for name; do
		"$AC" destroy "$name" --force --yes >/dev/null 2>&1 || true
	done
}
