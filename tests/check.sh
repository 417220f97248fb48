#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check.sh - everything `make check` promises, in the order of its price
#
# Static checks; unit tests and fuzz corpora with clang and its sanitizers, beside
# what gcc shows that these do not (make check-plain), while the images of ac-host
# are built: the tests wait a good part of their time; then, in two lanes side by
# side (lanes.sh), the real thing under tests/integration with sanitizers in acd,
# a part of it without and by the engine as runtime, the bypass catalogue under
# tests/attack, and the README's first command on machines that have nothing
# (tests/fresh). These wait more than they compute, so each fuzz target that is
# not what had its 20 s before gets them beside these. Goes on after a failure, so
# that one run tells all. At the end stand the time of each part, in short what
# failed, and the sum as the last line.
#
# AC_CHECK=lint,unit,fuzz,int,plain,attack,fresh picks parts (default: all).
# AC_CHECK_ALL=1 adds all that takes long: the next two, clang's analyser, every
# fuzz target, and a fresh machine that has an engine of its own, empty.
# AC_CHECK_UNIT_ALL=1 runs all of the unit tests with gcc, and with either
# compiler with and without sanitizers; AC_CHECK_PLAIN_ALL=1 runs the whole
# integration suite on the plain acd as well.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

if [ -n "${AC_CHECK_ALL:-}" ]; then
	AC_CHECK_UNIT_ALL=1
	AC_CHECK_PLAIN_ALL=1
fi
all=lint,unit,fuzz,int,plain,attack,fresh
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
images_pid=
trap 'lanes_stop; groups_stop; rm -f "$AC_TEST_TALLY" "$AC_TEST_TALLY".*' EXIT
trap 'exit 130' INT TERM HUP
# shellcheck source=tests/integration/machine.bash
. tests/integration/machine.bash
# shellcheck source=tests/lanes.sh
. tests/lanes.sh
make=${MAKE:-make}
jobs=-j$(nproc)
begin=$SECONDS

groups_stop() {
	local pid
	for pid in $fuzz_pid $images_pid; do
		kill -- "-$pid" 2>/dev/null
	done
}

wants() { [[ $parts == *,$1,* ]]; }

# part [NAME] - what was on ends here, and NAME begins
part() {
	[ -z "$part" ] ||
		times+=("$(printf '%5d s  %s' $((SECONDS - since)) "$part")")
	part=${1:-}
	since=$SECONDS
}

# none TITLE [LOG] - it ended without a tally
none() {
	local said="not ok: $1: it did not get as far as its tests"
	[ ! -s "${2:-}" ] || tail -n 20 "$2"
	echo "$said"
	echo "$said" >>"$AC_TEST_SHORT"
	echo '0 1 0' >>"$AC_TEST_TALLY"
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
	[ "$before" -ne "$after" ] || none "$title"
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

# What the lanes share is made before them, by one.
shared_make() {
	local san=address,undefined
	images/setup/engine.sh &&
		"$make" -s "$jobs" all &&
		AC_SAN=$san "$make" -s "$jobs" BUILD=build-acsan \
			build-acsan/ac &&
		AC_HOME=$LANE_DIR/home images/build.sh ensure host &&
		AC_SAN=$san AC_HOME=$LANE_DIR/home images/build.sh ensure host
}

# images_begin - in the background, unless it is on
images_begin() {
	[ -z "$images_pid" ] || return 0
	set -m # a process group of its own, to be stopped with all it runs
	BUILD=build shared_make >"$AC_TEST_TALLY.images" 2>&1 </dev/null &
	images_pid=$!
	set +m
}

images_end() {
	images_begin
	wait "$images_pid"
	local code=$?
	images_pid=
	cat "$AC_TEST_TALLY.images"
	return "$code"
}

wants_lanes() { wants attack || wants int || wants fresh || wants plain; }

if wants unit; then
	part 'unit tests'
	if [ -z "${AC_CHECK_UNIT_ALL:-}" ]; then
		unit check-plain gcc ''
		# Not before: it is the same build folder.
		! wants_lanes || images_begin
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
# Everything on a machine of CI's own; elsewhere what bears the tests' names.
machine_of_tests() {
	if [ -n "${CI:-}" ]; then
		machine_picture .
	else
		machine_picture "$LANE_HOST"
		machine_picture "${LANE_HOST}b"
	fi
}

machine_same() {
	local i said
	for ((i = 0; i < 60; i++)); do
		said=$(diff -u "$AC_TEST_TALLY.before" <(machine_of_tests)) &&
			break
		sleep 0.5
	done
	if [ -z "$said" ]; then
		echo 'ok - containers, mounts and network namespaces are as before'
		echo '1 0 0' >>"$AC_TEST_TALLY"
	else
		printf '%s\n' "$said" |
			tee -a "$AC_TEST_SHORT"
		echo 'not ok: the machine is not as before' |
			tee -a "$AC_TEST_SHORT"
		echo '0 1 0' >>"$AC_TEST_TALLY"
	fi
}

# The longest first, but for what must not wait for another.
list=()
in_lanes=()
! wants attack || list+=(+attack)
! wants int || list+=(+world limits faults runs)
! wants fresh || list+=(fresh)
if wants plain; then
	if [ -n "${AC_CHECK_PLAIN_ALL:-}" ]; then
		list+=(+plain-world plain-limits plain-faults plain-runs
			engine-all)
	else
		list+=(engine)
	fi
fi
! wants fresh || [ -z "${AC_CHECK_ALL:-}" ] || list+=(nothing)
if [ ${#list[@]} -gt 0 ]; then
	part 'images of ac-host'
	echo
	echo "=== images of ac-host ($((SECONDS - begin)) s)"
	export BUILD=build
	images_end || none 'images of ac-host'
	# Of a check before that was killed: else its end is a change to this one.
	for n in 1 2; do
		(lane_own "$n" && machine_clear_free "$AC_TEST_HOST" "$AC_TEST_DIR")
	done
	part 'the two lanes, in which:'
	machine_of_tests >"$AC_TEST_TALLY.before"
	lanes_run "${list[@]}"
	mapfile -t in_lanes <"$lane_jobs/times"
	step 'the machine is as before' machine_same
	part
	times+=("${in_lanes[@]}")
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
