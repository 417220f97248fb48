#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 40_limits.bats - limits hold, seen from inside and from outside, and the
# user learns which one ended a run

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

teardown_file() {
	gone lim lim2
}

@test "--cpus, --memory and --pids reach the container" {
	"$AC" run base lim --cpus 1.5 --memory 1g --pids 256 -d -- \
		sleep infinity
	run box lim '{{.HostConfig.NanoCpus}} {{.HostConfig.Memory}}'
	is '1500000000 1073741824'
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
	id=$(in_host docker ps -aq --no-trunc --filter label=ac.instance=lim)
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
