#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 75_link_faults.bats - init-guard and the agent at their worst: one sandbox
# ends, with its reason; acd, its neighbours and the files go on
#
# What a guest may do to the link itself (floods, frames of 4 GB, half frames,
# forged channels, silence) is tried in tests/unit/control/acd/guest/session_hostile_test.c and
# link_test.c, where each byte is at hand.

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

setup() {
	"$AC" start --quiet
}

teardown() {
	gone l1 l2
}

# guard_kill ISOLATION - PID 1 of the only sandbox of that kind, from outside
guard_kill() {
	case $1 in
	crun) in_host pkill -KILL -x init-guard ;;
	runsc) in_host pkill -KILL -f 'runsc.* boot .*--bundle' ;;
	esac
}

@test "init-guard killed: the run is lost and says so, the files stay" {
	for isolation in crun runsc; do
		gone l1
		"$AC" run base l1 --isolation $isolation -- \
			sh -c 'echo kept >/workspace/f; sync; echo alive; sleep 999' \
			>"$BATS_TEST_TMPDIR/out.$isolation" 2>&1 3>&- &
		local pid=$!
		eventually grep -q alive "$BATS_TEST_TMPDIR/out.$isolation"
		guard_kill $isolation
		ended $pid
		code 125
		eventually state_is l1 failed
		[ -n "$(field l1 .reason)" ]
		run --separate-stderr "$AC" run base l1 --isolation \
			$isolation -- cat /workspace/f
		is kept
	done
}

@test "init-guard killed while commands run: each is reported lost, none waits" {
	"$AC" run base l1 -d --isolation crun -- sleep infinity
	local i pids=()
	for i in 1 2 3 4 5; do
		"$AC" exec l1 -- sh -c 'echo on; sleep 999' \
			>"$BATS_TEST_TMPDIR/out$i" 2>&1 3>&- &
		pids+=($!)
		eventually grep -q on "$BATS_TEST_TMPDIR/out$i"
	done
	guard_kill crun
	for i in "${pids[@]}"; do
		ended "$i"
		code 125
	done
	run -0 "$AC" run base l2 -- true
}

@test "init-guard stopped: the next command does not wait for ever" {
	takes_long # the half minute that is waited
	need_root
	"$AC" run base l1 -d --isolation crun -- sleep infinity
	in_host pkill -STOP -x init-guard
	run timeout 120 "$AC" exec l1 -- true
	code 125
	eventually state_is l1 failed
	[[ $(field l1 .reason) == *"does not answer"* ]]
}

# daemon - double-forked, in a session of its own, writes on
DAEMON='setsid sh -c "sh -c \"exec -a outlives sleep 4242\" &
	(while echo more; do sleep 0.1; done) &" & echo left; exit 7'

@test "an agent that double-forks outlives its exec, not its sandbox" {
	for isolation in runsc crun; do
		gone l1
		"$AC" run base l1 -d --isolation $isolation -- sleep infinity
		run "$AC" exec l1 -- bash -c "$DAEMON"
		code 7
		has left
		run -0 "$AC" exec l1 -- pgrep -f 'sleep 4242'
		run "$AC" exec l1 -- sh -c \
			'ps -o ppid= -p "$(pgrep -of "sleep 4242")"'
		[ "${output// /}" = 1 ]
		run -0 "$AC" stop-instance l1
		run ! in_host pgrep -f 'sleep 4242'
		state_is l1 stopped
	done
}

ZOMBIES='
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) / 200 : 0, batch, i, waits = 0;

	for (batch = 0; batch < n; batch++) {
		pid_t parent = fork();

		while (parent < 0 && errno == EAGAIN && ++waits < 60000) {
			usleep(1000);
			parent = fork();
		}

		if (parent == 0) {
			/* None is waited for: all are left to PID 1. */
			for (i = 0; i < 200; i++) {
				pid_t pid = fork();

				if (pid == 0)
					_exit(i);
				/* The limit counts them until PID 1 has
				 * buried them: it gets its time. */
				if (pid < 0 && (errno != EAGAIN ||
						++waits > 60000))
					_exit(1);
				if (pid < 0 && i-- >= 0)
					usleep(1000);
			}
			_exit(0);
		}
		if (parent < 0 || waitpid(parent, &i, 0) < 0 || i != 0)
			return 1;
	}
	printf("%d\n", n * 200);
	return 0;
}
'

@test "thousands of zombies are buried, and commands run meanwhile and after" {
	local isolation n=2000
	[ -z "${AC_CHECK_ALL:-}" ] || n=10000
	for isolation in crun runsc; do
		gone l1
		"$AC" run base l1 -d --isolation $isolation -- sleep infinity
		run -0 "$AC" exec l1 -- gcc -O2 -o /tmp/z -x c - <<<"$ZOMBIES"
		"$AC" exec l1 -- /tmp/z $n >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
		local pid=$!
		run -0 "$AC" exec l1 -- true
		ended $pid
		code 0
		run cat "$BATS_TEST_TMPDIR/out"
		is $n
		buried() {
			[ "$("$AC" exec l1 -- sh -c \
				'ps ax -o stat= | grep -c ^Z')" = 0 ]
		}
		eventually buried
		run "$AC" exec l1 -- echo on
		is on
	done
}

@test "stop: TERM first, the grace is the agent's, then KILL" {
	for isolation in runsc crun; do
		gone l1 l2
		"$AC" run base l1 -d --isolation $isolation -- sh -c '
			trap "echo term >>/workspace/order; sleep 0.5
				echo done >>/workspace/order; exit 3" TERM
			echo up >/workspace/order; while :; do sleep 0.1; done'
		up() { [ -s "$AC_HOME/instances/l1/workspace/order" ]; }
		eventually up
		run -0 "$AC" stop-instance --grace 30s l1
		run cat "$AC_HOME/instances/l1/workspace/order"
		is 'up
term
done'
		[ "$(field l1 .exit_code)" = 3 ]
		"$AC" run base l2 -d --isolation $isolation -- sh -c '
			trap "" TERM; echo up >/workspace/up
			while :; do sleep 0.1; done'
		deaf() { [ -s "$AC_HOME/instances/l2/workspace/up" ]; }
		eventually deaf
		run -0 "$AC" stop-instance --grace 300ms l2
		[ "$(field l2 .exit_code)" = 137 ]
	done
}

@test "a command that comes while the sandbox stops is refused, not lost" {
	"$AC" run base l1 -d -- sh -c 'trap "" TERM; echo up >/workspace/up
		while :; do sleep 0.1; done'
	up() { [ -s "$AC_HOME/instances/l1/workspace/up" ]; }
	eventually up
	"$AC" stop-instance --grace 5s l1 3>&- &
	local pid=$!
	stopping() { [ "$(field l1 .state)" != running ]; }
	eventually stopping
	run timeout 60 "$AC" exec l1 -- echo ran
	lacks ran
	[ "$status" -ne 0 ]
	[ "$status" -ne 124 ]
	ended $pid
	code 0
}

@test "the clock is not the agent's to set" {
	for isolation in runsc crun; do
		gone l1
		run "$AC" run base l1 --isolation $isolation -- sh -c '
			date -s 2001-01-01 2>&1; date +%Y'
		has 'Operation not permitted'
		lacks '
2001'
	done
}
