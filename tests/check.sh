#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check.sh - everything `make check` promises, in the order of its price
#
# Static checks; unit tests and fuzz corpora with clang and its sanitizers, beside
# what gcc shows that these do not (make check-plain); then the real thing under
# tests/integration, some of it also with the engine as runtime, the bypass
# catalogue under tests/attack, what strains acd most once more with sanitizers in
# acd, and the README's first command on machines that have nothing (tests/fresh).
# These wait more than they compute, so each fuzz target that is not what had its
# 20 s before gets them beside these. Goes on after a failure, so that one run
# tells all. At the end stand the time of each part, in short what failed, and the
# sum as the last line.
#
# AC_CHECK=lint,unit,fuzz,int,attack,san,fresh picks parts (default: all).
# AC_CHECK_ALL=1 adds all that takes long: the next two, clang's analyser, every
# fuzz target, and a fresh machine that has an engine of its own, empty.
# AC_CHECK_UNIT_ALL=1 runs all of the unit tests with gcc, and with either
# compiler with and without sanitizers; AC_CHECK_SAN_ALL=1 runs the whole
# integration suite on the sanitised acd.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

if [ -n "${AC_CHECK_ALL:-}" ]; then
	AC_CHECK_UNIT_ALL=1
	AC_CHECK_SAN_ALL=1
fi
all=lint,unit,fuzz,int,attack,san,fresh
parts=,${AC_CHECK:-$all},
for name in ${parts//,/ }; do
	[[ ,$all, == *,$name,* ]] || {
		echo "check.sh: AC_CHECK has no part '$name'; there are $all" >&2
		exit 2
	}
done
AC_TEST_TALLY=$(mktemp)
export AC_TEST_TALLY
export AC_TEST_SHORT=$AC_TEST_TALLY.short
times=() # of the parts that ended
part=
fuzz_pid=
trap 'rm -f "$AC_TEST_TALLY" "$AC_TEST_TALLY".*; fuzz_stop' EXIT
trap 'exit 130' INT TERM HUP
make=${MAKE:-make}
jobs=-j$(nproc)
begin=$SECONDS

fuzz_stop() {
	[ -z "$fuzz_pid" ] || kill -- "-$fuzz_pid" 2>/dev/null
}

wants() { [[ $parts == *,$1,* ]]; }

# part [NAME] - what was on ends here, and NAME begins
part() {
	[ -z "$part" ] ||
		times+=("$(printf '%5d s  %s' $((SECONDS - since)) "$part")")
	part=${1:-}
	since=$SECONDS
}

# step TITLE COMMAND... - a part that ends without a tally is one failure
step() {
	local title=$1 before after
	shift
	echo
	echo "=== $title ($((SECONDS - begin)) s)"
	before=$(wc -l <"$AC_TEST_TALLY")
	"$@"
	after=$(wc -l <"$AC_TEST_TALLY")
	if [ "$before" -eq "$after" ]; then
		echo "not ok $title: it did not get as far as its tests"
		echo '0 1 0' >>"$AC_TEST_TALLY"
		echo "not ok: $title: it did not get as far as its tests" \
			>>"$AC_TEST_SHORT"
	fi
}

if wants lint; then
	part 'static checks'
	step 'static checks' tests/run.sh --lint fast full \
		${AC_CHECK_ALL:+deep}
fi
# unit TARGET CC SAN - one build, and what of it is run
unit() {
	step "unit tests, $2${3:+, $3}" "$make" -s "$jobs" "$1" CC="$2" SAN="$3"
}

# What ran already is printed and counted by its last line that counts; make
# adds some of its own when a test failed.
cat_tally() {
	cat "$1"
	sed -nE \
		's/^([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$/\1 \2 \4/p' \
		"$1" | tail -n 1 |
		sed 's/ $/ 0/' >>"$AC_TEST_TALLY"
	rm -f "$1"
}

if wants unit; then
	part 'unit tests'
	if [ -z "${AC_CHECK_UNIT_ALL:-}" ]; then
		unit check-plain gcc ''
	else
		unit check-unit gcc ''
		unit check-unit gcc address,undefined
		unit check-unit clang ''
	fi
	unit check-unit clang address,undefined
fi
if wants fuzz; then
	set -m # a process group of its own, to be stopped with all it runs
	changed=1
	[ -z "${AC_CHECK_ALL:-}" ] || changed=
	AC_TEST_TALLY='' FUZZ_CHANGED=$changed nice -n 19 "$make" -s "$jobs" fuzz \
		>"$AC_TEST_TALLY.fuzz" 2>&1 </dev/null &
	fuzz_pid=$!
	set +m
fi
if wants int; then
	part 'integration'
	step 'integration' "$make" -s "$jobs" check-int
	part 'integration, by the engine'
	# What differs when the engine starts sandboxes of gVisor, too.
	AC_RUNTIME=docker step 'integration, by the engine' \
		"$make" -s "$jobs" check-int BATS="$(printf '%s ' \
			tests/integration/{10_run,30_isolation,40_limits}.bats)"
fi
if wants attack; then
	part 'bypass catalogue'
	step 'bypass catalogue' "$make" -s "$jobs" check-attack
fi
if wants san; then
	part 'integration, acd with sanitizers'
	strained=()
	if [ -z "${AC_CHECK_SAN_ALL:-}" ]; then
		for name in 20_io 40_limits 60_bad_input 70_faults 90_after; do
			strained+=("tests/integration/$name.bats")
		done
	fi
	step 'integration, acd with sanitizers' \
		"$make" -s "$jobs" check-int-san BATS="${strained[*]}"
fi
if wants fresh; then
	part 'fresh machines'
	step 'fresh machines' tests/run.sh --fresh
	[ -z "${AC_CHECK_ALL:-}" ] || AC_FRESH_NOTHING=1 \
		step 'a fresh machine, from nothing' \
		tests/run.sh --fresh trixie-root
fi
part
if wants fuzz; then
	part 'fuzz targets, when all else had ended'
	wait "$fuzz_pid"
	fuzz_pid=
	step 'fuzz targets' cat_tally "$AC_TEST_TALLY.fuzz"
	part
fi

read -r passed failed skipped < <(awk '
	{ p += $1; f += $2; s += $3 }
	END { print p + 0, f + 0, s + 0 }' "$AC_TEST_TALLY")
more=
[ "$skipped" -eq 0 ] || more=", $skipped skipped"
echo
printf '#%s\n' "${times[@]}"
[ ! -s "$AC_TEST_SHORT" ] || cat "$AC_TEST_SHORT"
echo "# $((SECONDS - begin)) s"
echo "$passed passed, $failed failed$more"
exit $((failed > 0))
