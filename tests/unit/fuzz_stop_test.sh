#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fuzz_stop_test.sh - no program that run.sh runs outlives an interrupted run
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0
failed=0

# until_true COMMAND... - for a minute at most
until_true() {
	local i
	for ((i = 0; i < 600; i++)); do
		! "$@" || return 0
		sleep 0.1
	done
	return 1
}

began() { [ -s "$dir/pid" ]; }
ended() { ! kill -0 "$(cat "$dir/pid")" 2>/dev/null; }

# stops NAME SIGNAL TO KIND - run.sh over a program that stays gets the signal:
# TO is "one" for itself, "group" for its whole process group
stops() {
	local name=$1 signal=$2 to=$3 kind=$4 pid
	n=$((n + 1))
	rm -f "$dir/pid"
	set -m # a process group of its own
	env -u AC_TEST_TALLY -u AC_TEST_SHORT -u AC_TEST_NAME -u FUZZ_CHANGED \
		-u UNIT_CHANGED -u UNIT_WITH --default-signal=INT \
		XDG_CACHE_HOME="$dir/cache" BUILD="$dir/build" DIR="$dir" \
		tests/run.sh "--$kind" "$dir/$kind/stays_$kind" \
		>"$dir/out" 2>&1 </dev/null &
	pid=$!
	set +m
	if until_true began; then
		[ "$to" = one ] || pid=-$pid
		kill "-$signal" -- "$pid"
		wait "${pid#-}"
		if until_true ended; then
			echo "ok $n - $name"
			return
		fi
		kill -KILL "$(cat "$dir/pid")"
	fi
	echo "not ok $n - $name"
	sed 's/^/# /' "$dir/out"
	failed=1
}

mkdir "$dir/fuzz" "$dir/unit"
# shellcheck disable=SC2016 # expanded by the program
printf '#!/bin/sh\necho $$ >"$DIR/pid"\nexec sleep 1000\n' \
	>"$dir/fuzz/stays_fuzz"
chmod +x "$dir/fuzz/stays_fuzz"
cp "$dir/fuzz/stays_fuzz" "$dir/unit/stays_unit"

stops 'a fuzz target, by TERM to run.sh' TERM one fuzz
stops 'a fuzz target, by INT to run.sh' INT one fuzz
stops 'a fuzz target, by TERM to its group, as check.sh does' TERM group fuzz
stops 'a unit test, by Ctrl-C' INT group unit
echo "1..$n"
exit $failed
