#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 28_flow.bats - who does not read holds back his own command, nothing else
#
# Limits are bytes: of what a held-back program could write before it stood
# still, and of what acd and init-guard hold meanwhile.

load common

MIB=1048576
LOAD=$((16 * MIB)) # each of the seven that go on

setup_file() {
	"$AC" run base flow -d -- sleep infinity
}

teardown_file() {
	gone flow
}

setup() {
	fifo=$BATS_TEST_TMPDIR/fifo
	mkfifo "$fifo"
	exec 7<>"$fifo" # both ends: whoever opens it does not wait
}

teardown() {
	exec 7>&- # a reader or writer that is left ends
	[ -z "${stalled:-}" ] || kill "$stalled" 2>/dev/null || true
}

# rss PID - kB
rss() { awk '/^VmRSS:/ { print $2 }' "/proc/$1/status"; }

# guard_rss - kB, of PID 1 in the sandbox
# shellcheck disable=SC2016 # awk's own
guard_rss() {
	"$AC" exec flow -- awk '/^VmRSS:/ { print $2 }' /proc/1/status
}

# Writes 64 MiB, and into a file how far it has come.
writer='import os
done = 0
note = os.open("/workspace/written", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
while done < 64 << 20:
    done += os.write(1, bytes(range(256)) * 64)
    os.pwrite(note, b"%d\n" % done, 0)'

written() { "$AC" exec flow -- cat /workspace/written; }

# The same number twice in a row: it stands.
stands() {
	local now
	now=$(written 2>/dev/null) || return 1
	[ "${last_written:-}" = "$now" ] && [ "$now" -gt 0 ] && return 0
	last_written=$now
	return 1
}

# seven NAME - bytes through seven commands at once, each counted
seven() {
	local i pids=()
	for i in 1 2 3 4 5 6 7; do
		"$AC" exec flow -- head -c $LOAD /dev/zero 2>&1 7>&- 3>&- |
			wc -c >"$BATS_TEST_TMPDIR/n$i" &
		pids+=($!)
	done
	wait "${pids[@]}"
	for i in 1 2 3 4 5 6 7; do
		[ "$(cat "$BATS_TEST_TMPDIR/n$i")" -eq $LOAD ]
	done
}

@test "of eight readers one stalls: seven go on, memory stays, no byte is lost" {
	local acd before guard
	acd=$(host_pid)
	seven # once, so that everybody has the memory that it needs
	before=$(rss "$acd")
	guard=$(guard_rss)
	"$AC" exec flow -- python3 -c "$writer" >"$fifo" 7>&- 3>&- &
	stalled=$!
	eventually stands
	seven
	echo "written $(written); acd $before, then $(rss "$acd") kB;" \
		"init-guard $guard, then $(guard_rss) kB"
	# One window each in acd's and in the sandbox's keeping, and pipes.
	[ "$(written)" -le $((8 * MIB)) ]
	[ $(($(rss "$acd") - before)) -le 8192 ]
	[ $(($(guard_rss) - guard)) -le 8192 ]
	kill -0 "$stalled"
	want=$(python3 -c 'import os,sys
for i in range(4096):
    sys.stdout.buffer.write(bytes(range(256)) * 64)' | sha256sum)
	got=$(head -c $((64 * MIB)) <"$fifo" | sha256sum)
	[ "$got" = "$want" ]
	ended $stalled
	stalled=
	code 0
}

@test "a program that does not read its stdin holds back its own input only" {
	local acd before guard
	acd=$(host_pid)
	seven
	before=$(rss "$acd")
	guard=$(guard_rss)
	"$AC" exec -i flow -- sleep 3600 < <(
		exec 7>&- 3>&-
		while head -c 16384 /dev/zero 2>/dev/null; do
			printf . >>"$BATS_TEST_TMPDIR/sent"
		done
	) 7>&- 3>&- &
	stalled=$!
	sent() { stat -c %s "$BATS_TEST_TMPDIR/sent"; }
	stuck() {
		local now
		now=$(sent 2>/dev/null) || return 1
		[ "${last_sent:-}" = "$now" ] && return 0
		last_sent=$now
		return 1
	}
	eventually stuck
	seven
	echo "sent $(($(sent) * 16)) kB; acd $before, then $(rss "$acd") kB;" \
		"init-guard $guard, then $(guard_rss) kB"
	[ $(($(sent) * 16384)) -le $((8 * MIB)) ]
	[ $(($(rss "$acd") - before)) -le 8192 ]
	[ $(($(guard_rss) - guard)) -le 8192 ]
	kill -0 "$stalled"
	kill "$stalled"
	ended $stalled
	stalled=
	run -0 "$AC" exec flow -- echo fine
	is fine
}

@test "24 commands that nobody reads: acd holds no more than their windows" {
	local acd before i pids=()
	acd=$(host_pid)
	before=$(rss "$acd")
	for i in $(seq 24); do
		"$AC" exec flow -- cat /dev/zero >"$fifo" 7>&- 3>&- &
		pids+=($!)
	done
	running() { [ "$("$AC" exec flow -- pgrep -cx cat)" -eq 24 ]; }
	eventually running
	run -0 "$AC" exec flow -- true
	seven
	echo "acd $before, then $(rss "$acd") kB"
	# What is on its way to a client: a window and its frames' heads.
	[ $(($(rss "$acd") - before)) -le $((24 * 1200)) ]
	kill -KILL "${pids[@]}" # a client that is gone ends its command
	wait "${pids[@]}" || true
	none() { ! "$AC" exec flow -- pgrep -x cat; }
	eventually none
}
