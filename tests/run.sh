#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh - run tests, keep what the failing ones said, count
#
# usage: run.sh [--unit BIN...] [--replay BIN...] [--fuzz BIN...]
#               [--lint fast|full|deep] [--bats PATH...] [--fresh MACHINE...]
#
# A unit test or an integration test that fails is run once more, alone: what
# passes then is "flaky" and named at the end. In CI, or with AC_TEST_STRICT=1, it
# counts as failed all the same, since it hides a race; else as passed, since a busy
# machine is no fault of the program. Attacks, fuzzing and lint get one try.
#
# Every suite speaks TAP. One line a suite (a test for bats) as it goes; the
# whole output of each is kept in $BUILD/test-logs, that of a failing one is
# shown at the end. The last line is "N passed, N failed", with ", N skipped"
# when there are some; the exit code is 1 when anything failed. In CI a suite that
# skips all it has is a failure.
#
# FUZZ_CHANGED=1 leaves out fuzz targets that had their time as they are now,
# UNIT_CHANGED=1 unit tests that passed as they are now; AC_TEST_ONLY=REGEX of the
# tests of --bats those whose names match.
# For check.sh: AC_TEST_TALLY=FILE adds the three numbers to FILE, AC_TEST_SHORT=FILE
# what failed or was flaky, in short; AC_TEST_NAME is the name of the log of --bats.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

BUILD=${BUILD:-build}
LOGS=$BUILD/test-logs
FUZZ_TIME=${FUZZ_TIME:-20}
PASSED=${XDG_CACHE_HOME:-$HOME/.cache}/ac-fuzz # what was fuzzed as it is now
UNIT_PASSED=${XDG_CACHE_HOME:-$HOME/.cache}/ac-unit # and the same of unit tests
# So many at once: they wait for clocks and for each other more than they compute.
UNIT_JOBS=${UNIT_JOBS:-$(($(nproc) * 2))}
AC_TEST_STRICT=${AC_TEST_STRICT-${CI:-}}
UNIT_LIMIT=300 # seconds for one binary: a hang is a failure, not a wait
passed=0
failed=0
skipped=0
unchanged=0
failures=() # log files
flaky=() # what passed at its second try
bats=${AC_TEST_NAME:-bats}
begin=$SECONDS

export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:strict_string_checks=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}

usage() {
	echo "usage: run.sh [--unit BIN...] [--replay BIN...] [--fuzz BIN...]" \
		"[--lint fast|full|deep] [--bats PATH...] [--fresh MACHINE...]" >&2
	exit 2
}

now_ms() { date +%s%3N; }

# tap_count FILE - prints passed, failed, skipped of a TAP stream; a plan that
# was not kept is a failure, and so is a stream without any test
tap_count() {
	awk '
	/^not ok/ { f++; next }
	/^ok/ { if (tolower($0) ~ /# *skip/) s++; else p++; next }
	/^1\.\.[0-9]+/ { plan = substr($1, 4); planned = 1 }
	/^Bail out!/ { f++ }
	END {
		if (tolower($0) ~ /^1\.\.0 *# *skip/)
			s++
		else if (!planned || plan + 0 != p + f + s || plan + 0 == 0)
			f++
		print p + 0, f + 0, s + 0
	}' "$1"
}

# skips_all LOG PASSED FAILED - true in CI, whose machine has all that there is to
# have, when nothing was tried; but for what a build with sanitizers cannot show
skips_all() {
	[ -n "${CI:-}" ] && [ "$2" -eq 0 ] && [ "$3" -eq 0 ] &&
		! grep -qE '# SKIP (.* sanitizer|unchanged since )' "$1"
}

# settle NAME LOG EXIT MS - counts a finished suite, prints its line
settle() {
	local name=$1 log=$2 code=$3 ms=$4 p f s note=ok
	read -r p f s < <(tap_count "$log")
	if [ "$code" -ne 0 ] && [ "$f" -eq 0 ]; then
		f=1 # it died, or a sanitizer spoke after the last test
	fi
	if skips_all "$log" "$p" "$f"; then
		echo '# all of it was skipped' >>"$log"
		f=1
	fi
	if [ "$f" -gt 0 ]; then
		note='not ok'
		echo "# exit code $code" >>"$log"
		failures+=("$log")
	fi
	passed=$((passed + p))
	failed=$((failed + f))
	skipped=$((skipped + s))
	printf '%-6s %-28s %5d passed %3d failed %3d skipped %6d ms\n' \
		"$note" "$name" "$p" "$f" "$s" "$ms"
}

# bounded SECONDS COMMAND... - in a subshell of its caller's, and no process of it
# is left: one that kept our pipe would be waited for without end. timeout makes
# the group, which no signal to ours reaches.
bounded() {
	local pid code
	timeout -k 10 "$@" </dev/null &
	pid=$!
	trap 'kill -KILL -- "-$pid" "$pid" 2>/dev/null; exit 130' INT TERM
	wait "$pid"
	code=$?
	kill -KILL -- "-$pid" 2>/dev/null
	return "$code"
}

# bare FILE - the digest of a program without what tells where it was compiled
bare() {
	local file sum
	file=$(mktemp "$LOGS/bare.XXXXXX")
	strip -o "$file" "$1" 2>/dev/null || cp "$1" "$file"
	sum=$(sha256sum <"$file")
	rm -f "$file"
	echo "${sum%% *}"
}

# unit_with - the digest of what unit tests read and run beside themselves: all
# files of the tree that are not compiled, and our programs but ac and acd. (Of
# ac setup_test.sh needs what fresh_test.c tests as well.)
unit_with() {
	local file
	{
		git ls-files -z -c -o --exclude-standard |
			grep -zvE '\.[ch]$' | xargs -0 sha256sum 2>/dev/null
		for file in "$BUILD"/*; do
			case $file in
			*/ac | */acd | *.[ah]) ;;
			*) [ ! -f "$file" ] || bare "$file" ;;
			esac
		done
	} | sha256sum | cut -c1-16
}

# one BIN NAME COMMAND... - in a child of pool: one TAP program, its output kept;
# prints for the parent how it ended: BIN NAME EXIT MS. With UNIT_WITH, a program
# that passed as it is now is not run: "same" is printed for EXIT.
one() {
	local bin=$1 name=$2 log=$LOGS/$2.log start code mark='' p f s
	shift 2
	if [ -n "${UNIT_WITH:-}" ]; then
		mark=$UNIT_PASSED/$name-$UNIT_WITH-$(bare "$bin")
		if [ -e "$mark" ]; then
			echo "$bin $name same 0"
			return
		fi
	fi
	start=$(now_ms)
	# A pipe, not the file: a test may lower its own RLIMIT_FSIZE.
	bounded "$UNIT_LIMIT" "$@" 2>&1 | cat >"$log"
	code=${PIPESTATUS[0]}
	[ "$code" -ne 124 ] || echo "# no end after $UNIT_LIMIT s" >>"$log"
	echo $(($(now_ms) - start)) >"$LOGS/$name.ms"
	echo "$bin $name $code $(<"$LOGS/$name.ms")"
	if [ -n "$mark" ] && [ "$code" -eq 0 ]; then
		read -r p f s < <(tap_count "$log")
		[ "$f" -gt 0 ] || : >"$mark"
	fi
}

# suite PROGRAM - its name: where it is among its kind, with "-" for "/"
suite() {
	local name=${1##*/unit/}
	name=${name##*/replay/}
	name=${name##*/fuzz/}
	name=${name%_fuzz}
	echo "${name//\//-}"
}

# corpus PROGRAM - the folder of its inputs below that of all corpora
corpus() {
	local name=${1##*/replay/}
	name=${name##*/fuzz/}
	echo "${name%_fuzz}"
}

one_unit() { one "$1" "$(suite "$1")" "$1"; }

one_replay() {
	export -f replay_tap
	# shellcheck disable=SC2016 # expanded by the inner shell
	one "$1" "replay-$(suite "$1")" "$BASH" -c 'replay_tap "$@"' - "$1" \
		tests/fuzz/corpus/"$(corpus "$1")"/*
}

# longest_first BIN... - those that took long the last time, then the others
longest_first() {
	local bin
	for bin; do
		echo "$(cat "$LOGS/$(suite "$bin").ms" 2>/dev/null || echo 0) $bin"
	done | sort -k1,1nr -s | cut -d' ' -f2-
}

# pool KIND BIN... - UNIT_JOBS at once, so that the last of them does not run long
# and alone. What failed of the unit tests is run once more, alone, when the
# others have ended.
pool() {
	local kind=$1 bin name code ms before
	local -a again=()
	local -A told=()
	shift
	while read -r bin name code ms; do
		told[$bin]=1
		if [ "$code" = same ]; then
			unchanged=$((unchanged + 1))
			continue
		fi
		before=$failed
		settle "$name" "$LOGS/$name.log" "$code" "$ms"
		[ "$failed" -eq "$before" ] || [ "$kind" != unit ] ||
			again+=("$bin")
	done < <(longest_first "$@" | xargs -d '\n' -n 1 -P "$UNIT_JOBS" \
		"$BASH" tests/run.sh --one "$kind")
	# A child that died before it could say how its program ended.
	for bin; do
		[ -z "${told[$bin]:-}" ] || continue
		name=$(suite "$bin")
		echo "# nothing was told of $bin" >"$LOGS/$name.log"
		settle "$name" "$LOGS/$name.log" 1 0
	done
	for bin in "${again[@]}"; do
		once_more "$(suite "$bin")" unit_again "$bin"
	done
}

unit_again() {
	local bin name code ms
	read -r bin name code ms < <(one_unit "$1")
	settle "$name" "$LOGS/$name.log" "$code" "$ms"
}

# once_more NAME COMMAND... - a second try takes the place of the first, whose
# log stays as LOG.first. Where that is strict it only tells whether it is flaky.
once_more() {
	local log=$LOGS/$1.log p f s before file
	local -a others=() counts=("$passed" "$failed" "$skipped")
	shift
	cp "$log" "$log.first"
	read -r p f s < <(tap_count "$log")
	[ "$f" -gt 0 ] || f=1 # as settle counted it
	failed=$((failed - f))
	if [ "$1" != bats_failed ]; then # which runs what failed, no more
		passed=$((passed - p))
		skipped=$((skipped - s))
	fi
	for file in "${failures[@]}"; do
		[ "$file" = "$log" ] || others+=("$file")
	done
	failures=("${others[@]}")
	before=$failed
	"$@"
	[ "$failed" -gt "$before" ] ||
		flaky+=("$(basename "$log" .log): $f failed at first ($(
			grep -m 1 '^not ok' "$log.first")), see $log.first")
	if [ -n "$AC_TEST_STRICT" ]; then
		passed=${counts[0]} failed=${counts[1]} skipped=${counts[2]}
		failures=("${others[@]}" "$log.first")
	fi
}

# A replay has one test a corpus: the target asserts, or it does not.
replay_tap() {
	echo 1..1
	"$@" && echo "ok 1 - $(basename "$1") over $(($# - 1)) inputs"
}

# fuzzed NAME BIN - the file that stands for FUZZ_TIME seconds without a finding
# in this very program, wherever it was compiled
fuzzed() { echo "$PASSED/$1-$FUZZ_TIME-$(bare "$2")"; }

# As a test: FUZZ_TIME seconds of new inputs without a finding. What it finds
# interesting stays in the build folder, for the next time.
fuzz_tap() {
	local name=$1 bin=$2 seen=$BUILD/corpus/$1 mark
	mark=$(fuzzed "$name" "$bin")
	mkdir -p "$seen" "$PASSED"
	echo 1..1
	if [ -n "${FUZZ_CHANGED:-}" ] && [ -e "$mark" ]; then
		echo "ok 1 - $name # SKIP unchanged since it had $FUZZ_TIME s"
		return
	fi
	bounded $((FUZZ_TIME + 120)) "$bin" \
		-max_total_time="$FUZZ_TIME" -timeout=10 -verbosity=0 \
		-rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$BUILD/found-$name-" \
		"$seen" "tests/fuzz/corpus/$(corpus "$bin")" || return
	: >"$mark"
	echo "ok 1 - $name, $FUZZ_TIME s of new inputs"
}

# Two at a time.
fuzz_all() {
	local start i name
	local -a names pids=()
	trap 'kill -TERM "${pids[@]}" 2>/dev/null; exit 130' INT TERM
	while [ $# -gt 0 ]; do
		start=$(now_ms)
		names=() pids=()
		for i in 1 2; do
			[ $# -gt 0 ] || continue
			name=$(suite "$1")
			fuzz_tap "$name" "$1" >"$LOGS/fuzz-$name.log" 2>&1 \
				</dev/null &
			names+=("$name") pids+=($!)
			shift
		done
		for i in "${!names[@]}"; do
			name=fuzz-${names[i]}
			wait "${pids[i]}"
			settle "$name" "$LOGS/$name.log" $? \
				$(($(now_ms) - start))
		done
	done
	trap - INT TERM
}

run_lint() {
	local log=$LOGS/lint-$1.log start code
	start=$(now_ms)
	tests/lint/run.sh "$1" >"$log" 2>&1 </dev/null
	code=$?
	settle "lint-$1" "$log" "$code" $(($(now_ms) - start))
}

# shown NAME COMMAND... - each test as it ends: these take seconds, and need
# Docker.
shown() {
	local name=$1 log=$LOGS/$1.log start code
	shift
	start=$(now_ms)
	"$@" 2>&1 </dev/null | tee "$log" |
		grep --line-buffered -E '^(ok|not ok|1\.\.|# \[)'
	code=${PIPESTATUS[0]}
	settle "$name" "$log" "$code" $(($(now_ms) - start))
}

bats_pass() {
	shown "$bats" bats --tap --timing --print-output-on-failure -r \
		${AC_TEST_ONLY:+--filter "$AC_TEST_ONLY"} "$@"
}

# bats_failed PATH... - those tests of them that failed; their names are taken
# from the log, since bats itself has one place a folder to note them in. It
# looks at them as they are written: two characters may stand for one.
bats_failed() {
	local names
	names=$(sed -nE 's/^not ok [0-9]+ (.*) in [0-9]+ms.*$/\1/p' \
		"$LOGS/$bats.log.first" | sed 's/[^a-zA-Z0-9 ]/.{1,2}/g' |
		paste -sd '|')
	bats_pass --filter "^(${names:-no test has this name})\$" "$@"
}

run_bats() {
	local before=$failed first=$passed
	bats_pass "$@"
	case $* in
	*tests/attack*) ;;
	*)
		[ "$failed" -eq "$before" ] || [ "$passed" -eq "$first" ] ||
			once_more "$bats" bats_failed "$@"
		;;
	esac
}

# Only what belongs to failures: the lines after a "not ok" up to the next.
show_failures() {
	local log
	for log in "${failures[@]}"; do
		echo
		echo "--- $log"
		awk '
		/^not ok/ { show = 200 }
		/^ok/ { show = 0 }
		show-- > 0 { print }
		{ tail[NR % 15] = $0 }
		END {
			print "... its last lines:"
			for (i = NR - 14; i <= NR; i++)
				if (i > 0)
					print tail[i % 15]
		}' "$log"
	done
}

# in_short LOG - what of a failure fits into the end of a long run: the first of
# its failed tests, with what they said, in 24 lines
in_short() {
	echo "not ok: $1"
	awk '
	/^not ok/ { show = 12 }
	/^ok/ { show = 0 }
	show-- > 0 && n++ < 24 { print "  " substr($0, 1, 300) }
	{ last = $0 }
	END { if (!n) print "  " substr(last, 1, 200) }' "$1"
}

[ $# -gt 0 ] || usage
mkdir -p "$LOGS"
if [ "$1" = --one ] && [ $# -eq 3 ]; then
	"one_$2" "$3"
	exit
fi
kind=
unit_bins=()
replay_bins=()
bats_paths=()
fuzz_bins=()
machines=()
for arg; do
	case $arg in
	--unit | --replay | --fuzz | --lint | --bats | --fresh) kind=${arg#--} ;;
	--*) usage ;;
	*)
		case $kind in
		unit) unit_bins+=("$arg") ;;
		replay) replay_bins+=("$arg") ;;
		bats) bats_paths+=("$arg") ;;
		fuzz) fuzz_bins+=("$arg") ;;
		fresh) machines+=("$arg") ;;
		"") usage ;;
		*) "run_$kind" "$arg" ;;
		esac
		;;
	esac
done
if [ -n "${UNIT_CHANGED:-}" ]; then
	UNIT_WITH=$(unit_with)
	export UNIT_WITH
	mkdir -p "$UNIT_PASSED"
	find "$UNIT_PASSED" -type f -mtime +30 -delete
fi
[ ${#unit_bins[@]} -eq 0 ] || pool unit "${unit_bins[@]}"
[ ${#replay_bins[@]} -eq 0 ] || pool replay "${replay_bins[@]}"
[ ${#fuzz_bins[@]} -eq 0 ] || fuzz_all "${fuzz_bins[@]}"
[ ${#bats_paths[@]} -eq 0 ] || run_bats "${bats_paths[@]}"
[ "$kind" != fresh ] || shown fresh tests/fresh/fresh.sh "${machines[@]}"

show_failures
[ ${#flaky[@]} -eq 0 ] || printf '\n# flaky: %s\n' "${flaky[@]}"
[ -z "${AC_TEST_TALLY:-}" ] ||
	echo "$passed $failed $skipped" >>"$AC_TEST_TALLY"
[ -z "${AC_TEST_SHORT:-}" ] || {
	[ ${#flaky[@]} -eq 0 ] || printf 'flaky: %s\n' "${flaky[@]}"
	for log in "${failures[@]}"; do
		in_short "$log"
	done
} >>"$AC_TEST_SHORT"
echo
[ "$unchanged" -eq 0 ] ||
	echo "# $unchanged programs passed before, as they are now"
echo "# $((SECONDS - begin)) s; whole output in $LOGS"
more=
[ "$skipped" -eq 0 ] || more=", $skipped skipped"
echo "$passed passed, $failed failed$more"
exit $((failed > 0))
