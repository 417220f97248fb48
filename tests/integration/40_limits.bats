#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 40_limits.bats - limits hold, seen from inside and from outside, and the
# user learns which one ended a run

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

teardown_file() {
	gone lim lim2
}

@test "--cpus, --memory and --pids reach the sandbox" {
	"$AC" run base lim --cpus 1.5 --memory 1g --pids 256 -d -- \
		sleep infinity
	run box_limit lim cpu.cfs_quota_us cpu.max
	[[ $output == 150000* ]]
	run box_limit lim memory.limit_in_bytes memory.max
	is 1073741824
	[ "$(field lim .cpus_milli)" = 1500 ]
	[ "$(field lim .memory)" = 1073741824 ]
	[ "$(field lim .pids)" = 256 ]
}

@test "the sandbox sees its memory limit and its process limit" {
	run "$AC" exec lim -- bash -c \
		'awk "/MemTotal/ { print (\$2 <= 1048576) }" /proc/meminfo
		ulimit -u'
	code 0
	is "1
256"
}

@test "stats show what it uses against what it may" {
	run "$AC" stats --once --json
	code 0
	jq -se '[.. | objects | select(.name? == "lim")] |
		length > 0 and all(.memory_limit == 1073741824 and
		.memory > 0 and .memory < .memory_limit)' <<<"$output"
}

@test "a CPU limit throttles" {
	run -0 "$AC" stop-instance lim
	"$AC" run base lim --cpus 0.2 -d -- sleep infinity
	"$AC" exec lim -- timeout 3 sh -c 'while :; do :; done' || true
	id=$(box_id lim)
	run in_host sh -c "find /sys/fs/cgroup -path '*$id*' -name cpu.stat \
		-exec cat {} + | awk '/^nr_throttled/ { n += \$2 }
			END { print (n > 0) }'"
	is 1
}

@test "out of memory is said so, with 137 and the output so far" {
	run --separate-stderr "$AC" run base lim2 --memory 200m -- \
		python3 -c 'import time
print("before", flush=True)
time.sleep(0.5)
a = []
while True: a.append(bytearray(b"x" * 10_000_000))'
	code 137
	is before
	says 'memory'
	[[ $(field lim2 .reason) == *memory* ]]
	run "$AC" logs agent lim2
	has before
}

@test "/tmp and /var/tmp together are full before the memory is" {
	for runtime in runsc docker; do
		run "$AC" run base lim2 --runtime "$runtime" --memory 512m -- \
			sh -c 'for d in /tmp /var/tmp; do
				dd if=/dev/zero of=$d/big bs=1M; done
			echo alive'
		code 0
		has "'/tmp/big': No space left"
		has "'/var/tmp/big': No space left"
		has alive
		gone lim2
	done
}

@test "the process limit is a clean EAGAIN, and the sandbox lives on" {
	run "$AC" run base lim2 --memory 1g --pids 64 -- python3 -c '
import os, time
n = 0
try:
    while n < 1000:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        n += 1
except BlockingIOError as e:
    print("EAGAIN" if 20 < n <= 64 else n, flush=True)
print("alive")'
	code 0
	is "EAGAIN
alive"
}

# bomb INSTANCE KIND - forks, or makes threads, until that is refused, and says
# how many there were and why no more; all of them stay
bomb() {
	"$AC" exec -i "$1" -- sh -c "cd /tmp && cat >bomb.c &&
		gcc -O1 -static -pthread -o bomb bomb.c || exit
		./bomb $2 >/dev/null 2>&1 </dev/null &
		# There is no process left for anything that is not built in.
		until [ -s $2 ]; do :; done
		read -r line <$2; echo \"\$line\"" <<'END'
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *stay(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static int more(int threads)
{
	pthread_attr_t attr;
	pthread_t t;
	pid_t pid;

	if (threads) {
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, 65536);
		return pthread_create(&t, &attr, stay, NULL);
	}
	pid = fork();
	if (pid == 0)
		stay(NULL);
	return pid < 0 ? errno : 0;
}

int main(int argc, char **argv)
{
	int n = 0, r;
	FILE *f;

	while ((r = more(argv[1][0] == 't')) == 0 && n < 100000)
		n++;
	f = fopen("part", "w");
	fprintf(f, "%d %s\n", n, strerror(r));
	fclose(f);
	rename("part", argv[1]);
	stay(NULL);
}
END
}

@test "at its limit of processes a sandbox has EAGAIN, and exec works under the bomb" {
	local most n
	most=$(($(in_host cat /proc/sys/kernel/threads-max) / 4))
	[ "$most" -lt 4096 ] || most=4096
	for n in 256 ${AC_CHECK_ALL:+64 1024 "$most"}; do
		gone lim2
		"$AC" run base lim2 --memory 4g --pids "$n" -d -- \
			sleep infinity
		run -0 bomb lim2 forks
		has 'Resource temporarily unavailable'
		[ "${output%% *}" -gt $((n - 20)) ]
		[ "${output%% *}" -le "$n" ]
		run -0 "$AC" exec lim2 -- echo still
		is still
		[ "$(field lim2 .state)" = running ]
	done
}

@test "threads count as processes do" {
	gone lim2
	"$AC" run base lim2 --memory 1g --pids 256 -d -- sleep infinity
	run -0 bomb lim2 threads
	has 'Resource temporarily unavailable'
	[ "${output%% *}" -le 256 ]
	run -0 "$AC" exec lim2 -- echo still
	is still
}

@test "more processes than there is room for are warned of" {
	gone lim2
	run "$AC" run base lim2 --pids 4000000 -- bash -c 'ulimit -u'
	code 0
	has 'are more than this machine has room for in one sandbox: it gets'
	[ "${lines[-1]}" -lt 2000000 ]
	gone lim2
	run "$AC" run base lim2 --pids 128 -- true
	code 0
	lacks 'room for'
}

has_failed() { [ "$(field "$1" .state)" = failed ]; }

@test "a sandbox that the machine refuses tasks lives on, or says why it ended" {
	local id
	gone lim2
	"$AC" run base lim2 --pids 256 -d -- sleep infinity
	id=$(box_id lim2)
	in_host sh -c "f=\$(find /sys/fs/cgroup -path '*$id/pids.max') &&
		cat \${f%max}current >\$f"
	run "$AC" exec lim2 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do
		sleep 100 & done; wait'
	# gVisor refuses the fork, or its own runtime ends for want of a thread.
	if has_failed lim2; then
		[[ $(field lim2 .reason) == *'the machine refused more host tasks'* ]]
	else
		says 'Cannot allocate memory|Resource temporarily unavailable'
	fi
}

@test "a fork bomb stays in its sandbox, and a neighbour answers meanwhile" {
	for kind in runsc docker; do
		gone lim lim2
		"$AC" run base lim --pids 256 -d -- sleep infinity
		"$AC" run base lim2 --runtime "$kind" --pids 128 --cpus 1 \
			--memory 1g -d -- sh -c 'b() { b | b & b; }; b'
		run -0 "$AC" exec lim -- echo alive
		is alive
		run -0 "$AC" exec lim -- sh -c 'sh -c "echo child"; true'
		is child
		[ "$(field lim .state)" = running ]
		run -0 "$AC" stop-instance lim2 --grace 0
		run -0 "$AC" exec lim -- echo still
		is still
	done
}

@test "out of memory is said so under each runtime" {
	for kind in '--runtime runsc' '--runtime docker' '--isolation crun'; do
		# shellcheck disable=SC2086 # words are meant
		run "$AC" run base lim2 $kind --memory 200m -- python3 -c '
a = []
while True: a.append(bytearray(b"x" * 10_000_000))'
		code 137
		[[ $(field lim2 .reason) == *memory* ]]
		gone lim2
	done
}

# cpu_ns ID-PART - what a sandbox has used, by its cgroup
cpu_ns() {
	"$AC" stats "$1" --once --json | jq -s '[.. | objects |
		select(.name? == "'"$1"'") | .cpu_ns] | max'
}

@test "two busy threads get half a CPU, by the count of their cgroup" {
	for kind in runsc docker; do
		"$AC" run base lim2 --runtime "$kind" --cpus 0.5 -d -- sh -c '
			(while :; do :; done) & while :; do :; done'
		before=$(cpu_ns lim2)
		from=$(date +%s%N)
		sleep 3
		after=$(cpu_ns lim2)
		to=$(date +%s%N)
		# At most what it may, and a period more at each end.
		[ $((after - before)) -le $(((to - from) / 2 + 500000000)) ]
		[ "$after" -gt "$before" ]
		gone lim2
	done
}

@test "/tmp counts as memory and has a bound of its own" {
	for kind in runsc docker; do
		run "$AC" run base lim2 --runtime "$kind" --memory 256m -- sh -c '
			dd if=/dev/zero of=/tmp/big bs=1M count=2000 2>&1 |
				grep -o "No space left on device"; echo alive'
		code 0
		is "No space left on device
alive"
		gone lim2
	done
}

@test "a timeout gives 124, says so and keeps the output so far" {
	run --separate-stderr "$AC" run base lim2 --timeout 2s -- \
		sh -c 'echo partial; sleep 300; echo never'
	code 124
	is partial
	says 'time'
	[[ $(field lim2 .reason) == *time* ]]
	run "$AC" logs agent lim2
	has partial
	run -124 "$AC" run base lim2 --timeout 1s -- \
		sh -c 'trap "" TERM; while :; do sleep 1; done'
}

@test "--gpus without a GPU is a clear error, not a silent run" {
	! ls /dev/nvidia* >/dev/null 2>&1 || skip "this machine has a GPU"
	run -125 "$AC" run base lim2 --gpus all -- true
	says 'gpu|nvidia'
}

@test "limits out of range are refused before anything starts" {
	for bad in '--cpus 0.0001' '--cpus -1' '--cpus many' '--memory 12q' \
		'--pids 0x10' '--timeout soon' '--memory 99999999999999t'; do
		# shellcheck disable=SC2086 # words are meant
		run -125 "$AC" run base lim2 $bad -- true
		says "${bad%% *}|${bad##* }"
	done
}

@test "more CPUs than the machine has are refused, more memory is warned of" {
	run -125 "$AC" run base lim2 --cpus 1000 -- true
	says 'more than this machine has'
	run -0 "$AC" run base lim2 --memory 900t -- true
	says 'more than this machine has'
	run -0 "$AC" run base lim2 --memory 0 -- true
	silent
}
