# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# lanes.sh - suites that wait more than they compute, two at a time; for check.sh
#
# A lane is a process with an ac-host and a folder of its own (AC_TEST_HOST,
# AC_TEST_DIR). It takes one job after the other from a list until that is empty,
# so that both end at about the same time. What the machine has once belongs to
# one lane: the network of tests/attack/world.bash to the first one, whose own
# list has all who use it; loop devices and their like to one job. `begin` is
# when the check began.
#
# What a job says is kept, and printed when it ends. A job without an end, since
# its lane died, is a failure.
#
# The acd of all integration tests is the one with sanitizers. The one that is
# shipped is tried by the bypass catalogue, on fresh machines, and with the engine as
# runtime by what is about bytes, sizes and isolation.

LANE_HOST=${AC_TEST_HOST:-ac-test}
LANE_DIR=${AC_TEST_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ac-test}
: "${begin:=$SECONDS}" "${AC_TEST_TALLY:?}" "${AC_TEST_SHORT:?}"
lane_pids=()
lane_jobs=$(mktemp -d) # lists, and what is known of each job
: >"$lane_jobs/times"

# lane_own N - the names of a lane. None is a word in one of the other: see
# machine_picture.
lane_own() {
	export AC_TEST_HOST=$LANE_HOST AC_TEST_DIR=$LANE_DIR
	[ "$1" -eq 1 ] || AC_TEST_HOST+=b AC_TEST_DIR+=b
}

# bats_files START... - a number may have no file
bats_files() {
	local start
	for start; do
		compgen -G "tests/integration/$start*.bats"
	done
}

# bats_on ACD NAME FILE... - the files of tests/integration whose names begin
# like this; those at the end look at what the others left behind.
bats_on() {
	local acd=$1 name=$2
	local -a files
	shift 2
	mapfile -t files < <(bats_files "$@")
	files+=(tests/integration/9*.bats)
	if [ "$acd" = san ]; then
		export AC_SAN=address,undefined \
			AC_TEST_PROGRAM=$PWD/build-acsan/ac
	fi
	AC_TEST_NAME=bats-$acd-$name tests/run.sh --bats "${files[@]}"
}

# The title of each job, and what it runs. The numbers are those of the files.
job_title() {
	case $1 in
	attack) echo 'bypass catalogue' ;;
	fresh) echo 'fresh machines' ;;
	nothing) echo 'a fresh machine, from nothing' ;;
	engine*) echo 'plain acd, by the engine' ;;
	plain-*) echo "integration, plain acd: ${1#plain-}" ;;
	*) echo "integration: $1" ;;
	esac
}

job() {
	case $1 in
	attack) AC_TEST_NAME=bats-attack tests/run.sh --bats tests/attack ;;
	fresh | nothing)
		lane_own 1 # for what it keeps
		if [ "$1" = fresh ]; then
			tests/run.sh --fresh
		else
			AC_FRESH_NOTHING=1 tests/run.sh --fresh trixie-root
		fi
		;;
	# What differs when the engine starts sandboxes of gVisor, too.
	engine) AC_RUNTIME=docker bats_on plain engine 10 20 28 30 ;;
	engine-all) AC_RUNTIME=docker bats_on plain engine 10 20 28 30 40 ;;
	plain-*) job_files plain "${1#plain-}" ;;
	*) job_files san "$1" ;;
	esac
}

# job_files ACD NAME - every file is in one of these, and those that use loop
# devices in the same
job_files() {
	case $2 in
	world) bats_on "$@" 47 48 49 53 54_l 54_s 58 59 ;;
	runs) bats_on "$@" 1 2 3 54_o ;;
	limits) bats_on "$@" 40 41 42 43 44 45 46 6 ;;
	faults) bats_on "$@" 50 51 52 55 56 57 7 8 ;;
	esac
}

# take LIST... - the first line of the first that has one
take() {
	local list line
	exec 9>"$lane_jobs/lock"
	flock 9
	for list; do
		[ -s "$lane_jobs/$list" ] || continue
		read -r line <"$lane_jobs/$list"
		sed -i 1d "$lane_jobs/$list"
		echo "$line"
		return 0
	done
	return 1
}

# lane N LIST...
lane() {
	local n=$1 name at out
	shift
	lane_own "$n"
	while name=$(take "$@"); do
		at=$SECONDS
		echo "# lane $n: $(job_title "$name"), from $((at - begin)) s"
		out=$lane_jobs/$name
		(AC_TEST_TALLY=$out.tally AC_TEST_SHORT=$out.short job "$name") \
			>"$out.out" 2>&1 </dev/null
		exec 9>"$lane_jobs/lock"
		flock 9
		job_ended "$n" "$name" "$at"
		exec 9>&-
	done
}

# job_ended N NAME BEGAN
job_ended() {
	local out=$lane_jobs/$2 title
	title=$(job_title "$2")
	echo
	echo "=== $title (lane $1, $(($3 - begin)) to $((SECONDS - begin)) s)"
	cat "$out.out"
	cat "$out.short" >>"$AC_TEST_SHORT" 2>/dev/null
	if [ -s "$out.tally" ]; then
		cat "$out.tally" >>"$AC_TEST_TALLY"
		printf '%5d s  lane %d: %s\n' $((SECONDS - $3)) "$1" "$title" \
			>>"$lane_jobs/times"
		: >"$out.ended"
	fi
}

# lanes_run JOB... - those with a + before them are the first lane's own
lanes_run() {
	local name n
	: >"$lane_jobs/first"
	: >"$lane_jobs/any"
	for name; do
		case $name in
		+*) echo "${name#+}" >>"$lane_jobs/first" ;;
		*) echo "$name" >>"$lane_jobs/any" ;;
		esac
	done
	set -m # a process group each, to be stopped with all it runs
	lane 1 first any &
	lane_pids+=($!)
	lane 2 any &
	lane_pids+=($!)
	set +m
	for n in "${lane_pids[@]}"; do
		wait "$n"
	done
	lane_pids=()
	for name; do
		name=${name#+}
		[ -e "$lane_jobs/$name.ended" ] ||
			none "$(job_title "$name")" \
				"$lane_jobs/$name.out"
	done
}

# lanes_stop - as by Ctrl-C, and what is left of their hosts goes
lanes_stop() {
	local pid i n
	for pid in "${lane_pids[@]}"; do
		kill -INT -- "-$pid" 2>/dev/null
	done
	for ((i = 0; i < 300; i++)); do
		kill -0 "${lane_pids[@]}" 2>/dev/null || break
		sleep 0.1
	done
	for pid in "${lane_pids[@]}"; do
		kill -KILL -- "-$pid" 2>/dev/null
	done
	[ ${#lane_pids[@]} -eq 0 ] || for n in 1 2; do
		lane_own "$n"
		machine_clear "$AC_TEST_HOST" "$AC_TEST_DIR"
	done
	rm -rf "$lane_jobs"
}
