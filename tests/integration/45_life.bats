#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 45_life.bats - paused, expired, idle, too talkative; processes and signals;
# execs at the edges of a run
#
# Where a test has to wait for a limit it waits for the state.

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

setup() {
	"$AC" start --quiet
}

teardown_file() {
	"$AC" start --quiet
	gone lf lf2 lf3 lf4
}

# events FILE - of the API, into FILE; the pid is in $events_pid
events() {
	curl -sN --unix-socket "$AC_HOME/run/acd.sock" \
		http://ac/v1/events >"$1" 3>&- &
	events_pid=$!
}

# api METHOD PATH [BODY] - of the API; prints the answer
api() {
	curl -s -X "$1" --unix-socket "$AC_HOME/run/acd.sock" \
		-H 'Content-Type: application/json' -d "${3:-}" \
		"http://ac/v1$2"
}

@test "pause freezes what runs, resume lets it go on" {
	"$AC" run base lf -d -- sh -c \
		'while :; do echo tick; sleep 0.05; done'
	ticks() { "$AC" logs agent lf | wc -l; }
	some() { [ "$(ticks)" -gt 3 ]; }
	eventually some
	run -0 "$AC" pause lf
	state_is lf paused
	run -0 "$AC" ls
	has paused
	local before
	before=$(ticks)
	sleep 0.5
	[ "$(ticks)" -eq "$before" ]
	run -0 "$AC" stats --once --json lf
	[ -n "$output" ]
	run -0 "$AC" resume lf
	state_is lf running
	more() { [ "$(ticks)" -gt "$before" ]; }
	eventually more
}

@test "what cannot be done while it is paused says how it can" {
	"$AC" pause lf
	run -125 "$AC" exec lf -- true
	says 'ac resume lf'
	run -125 "$AC" attach lf
	says 'ac resume lf'
	run -125 "$AC" run base lf -- true
	says 'ac resume lf'
	run -1 "$AC" kill lf
	says 'ac resume lf'
	run -1 "$AC" top lf
	says 'ac resume lf'
	run -0 "$AC" pause lf
	"$AC" resume lf
	run -0 "$AC" exec lf -- true
	run -0 "$AC" resume lf
}

@test "a program that maps memory goes on, however often it is paused" {
	local i paused=0
	gone lf2
	"$AC" run base lf2 -d -- python3 -c '
import mmap, subprocess
while True:
    for _ in range(50):
        with mmap.mmap(-1, 1 << 20) as m:
            for at in range(0, 1 << 20, 4096):
                m[at] = 1
    subprocess.run(["/bin/true"], check=True)
    print("on", flush=True)'
	for ((i = 0; i < 60; i++)); do
		# A freeze that takes too long is undone, and told.
		"$AC" pause lf2 || continue
		paused=$((paused + 1))
		"$AC" resume lf2
	done
	[ "$paused" -ge 50 ]
	state_is lf2 running
	i=$("$AC" logs agent lf2 | wc -l)
	on() { [ "$("$AC" logs agent lf2 | wc -l)" -gt "$i" ]; }
	eventually on
	run -0 "$AC" stop-instance lf2 --grace 0
}

@test "a timeout does not run on while it is paused" {
	takes_long
	# Longer than a busy machine takes from the start to the pause.
	"$AC" run base lf2 --timeout 8s -d -- sleep infinity
	"$AC" pause lf2
	sleep 9
	state_is lf2 paused
	"$AC" resume lf2
	field lf2 ".state + \" \" + .reason" # if it has ended, why
	state_is lf2 running
	eventually state_is lf2 stopped
	[ "$(field lf2 .reason)" = timeout ]
}

@test "what is paused can be stopped, and destroyed" {
	"$AC" run base lf2 -d -- sh -c \
		'trap "echo polite; exit 5" TERM; while :; do sleep 0.1; done'
	run -0 "$AC" exec lf2 -- true
	"$AC" pause lf2
	run -0 "$AC" stop-instance lf2
	eventually state_is lf2 stopped
	[ "$(field lf2 .exit_code)" = 5 ]
	run "$AC" logs agent lf2
	has polite
	"$AC" run base lf2 -d -- sleep infinity
	"$AC" pause lf2
	run -0 "$AC" destroy lf2 --force --yes
}

@test "top lists the processes, kill signals one or all" {
	"$AC" exec lf -- sleep 4243 3>&- &
	local client=$! pid
	listed() {
		pid=$("$AC" top lf --json |
			jq -r '.[] | select(.command == "sleep 4243") | .pid')
		[ -n "$pid" ]
	}
	eventually listed
	run -0 "$AC" top lf --json
	jq -e 'all(.pid > 0 and .rss >= 0 and (.state | length) > 0 and
		(.user | length) > 0) and any(.pid == 1)' <<<"$output"
	run -0 "$AC" kill lf -s KILL "$pid"
	ended $client
	code 137
	run -1 "$AC" kill lf "$pid"
	says 'is not there'
	run -2 "$AC" kill lf 1
	run -2 "$AC" kill lf nonsense
	run -2 "$AC" kill lf -s NONSENSE
	says 'no signal'
	state_is lf running
	run -0 "$AC" kill lf --signal TERM
	eventually state_is lf stopped
	[ "$(field lf .exit_code)" = 143 ]
	run -1 "$AC" kill lf
	says 'not running'
}

@test "output over its limit ends the run, and what was written is kept" {
	events "$BATS_TEST_TMPDIR/events"
	run --separate-stderr bash -c \
		'"$AC" run base lf2 --output 100k -- yes | wc -c'
	is 102400
	run --separate-stderr "$AC" run base lf2 -- yes
	code 124
	says 'output|limit'
	[ "$(field lf2 .reason)" = 'output limit' ]
	[ "$(field lf2 .output)" = 102400 ]
	[ "$("$AC" logs agent lf2 | wc -c)" -eq 102400 ]
	seen() { grep -A1 '^event: breach' "$BATS_TEST_TMPDIR/events" |
		grep -q '"limit":"output"'; }
	eventually seen
	kill $events_pid
	run -0 "$AC" logs host -n 200
	says 'lf2: output limit reached'
	"$AC" destroy lf2 --yes
}

@test "a run that is idle is stopped, one that moves is not" {
	"$AC" run base lf2 --idle 3s -d -- sleep infinity
	"$AC" run base lf3 --idle 3s -d -- sh -c \
		'while :; do echo tick; sleep 0.3; done'
	eventually state_is lf2 stopped
	[ "$(field lf2 .reason)" = idle ]
	[ "$(field lf2 .exit_code)" = 124 ]
	state_is lf3 running
	"$AC" destroy lf2 lf3 --force --yes
}

@test "after its ttl the run ends, home and log go, the workspace stays" {
	"$AC" run base lf2 --ttl 6s -d -- sh -c \
		'echo kept >/workspace/file; echo secret >~/token; echo said
		sleep infinity'
	run -0 "$AC" exec lf2 -- cat /home/node/token
	is secret
	local first
	first=$(field lf2 .expires_at)
	sleep 2
	run -0 "$AC" touch lf2
	[ "$(field lf2 .expires_at)" -gt "$first" ]
	eventually state_is lf2 expired
	[ "$(field lf2 .reason)" = ttl ]
	run -0 "$AC" ls
	has expired
	[ "$(cat "$AC_HOME/instances/lf2/workspace/file")" = kept ]
	[ ! -e "$AC_HOME/instances/lf2/home" ]
	[ ! -e "$AC_HOME/instances/lf2/log" ]
	run -0 "$AC" run base lf2 --ttl 1h -- cat /workspace/file
	is kept
	eventually state_is lf2 stopped
	"$AC" destroy lf2 --yes
}

@test "an exec while the run stops ends with it, one after is refused" {
	"$AC" run base lf2 -d -- sh -c 'trap "" TERM; while :; do sleep 1; done'
	run -0 "$AC" exec lf2 -- true
	"$AC" exec lf2 -- sh -c 'echo begun; exec sleep 300' \
		>"$BATS_TEST_TMPDIR/out" 3>&- &
	local client=$! stop
	eventually grep -q begun "$BATS_TEST_TMPDIR/out"
	"$AC" stop-instance lf2 --grace 3s 3>&- &
	stop=$!
	eventually state_is lf2 stopping
	run -125 "$AC" exec lf2 -- true
	says 'not running'
	ended $stop
	code 0
	ended $client
	[ "$status" -eq 137 ]
	eventually state_is lf2 stopped
}

@test "an exec beyond the limit of a sandbox is refused, the others live" {
	"$AC" run base lf2 -d --pids 0 -- sleep infinity
	run -0 "$AC" exec lf2 -- true
	run python3 - <<-'END'
		import json, os, socket, sys
		path = os.environ["AC_HOME"] + "/run/acd.sock"
		body = json.dumps({"cmd": ["sleep", "300"]})
		head = ("POST /v1/instances/lf2/exec HTTP/1.1\r\nHost: x\r\n"
		        "Connection: Upgrade\r\nUpgrade: ac-link/1\r\n"
		        "Content-Type: application/json\r\n"
		        "Content-Length: %d\r\n\r\n%s" % (len(body), body))
		held, codes = [], []
		for i in range(258):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(path)
		    s.sendall(head.encode())
		    codes.append(s.recv(12).split()[1])
		    held.append(s)
		print(codes.count(b"101"), set(codes[255:]) - {b"101"} != set())
	END
	code 0
	is '255 True'
	free() { "$AC" exec lf2 -- true; }
	eventually free
	state_is lf2 running
	"$AC" destroy lf2 --force --yes
}

@test "execs are reported lost, with their output so far, when acd is killed" {
	"$AC" run base lf4 -d -- sleep infinity
	local i pids=()
	for i in $(seq 20); do
		"$AC" exec lf4 -- sh -c "echo begun $i; exec sleep 300" \
			>"$BATS_TEST_TMPDIR/out$i" \
			2>"$BATS_TEST_TMPDIR/err$i" 3>&- &
		pids+=($!)
	done
	for i in $(seq 20); do
		eventually grep -q "begun $i" "$BATS_TEST_TMPDIR/out$i"
	done
	docker kill "$AC_HOST" >/dev/null
	for i in $(seq 20); do
		ended "${pids[i - 1]}"
		code 125
		[ "$(cat "$BATS_TEST_TMPDIR/out$i")" = "begun $i" ]
		grep -q lost "$BATS_TEST_TMPDIR/err$i"
	done
	"$AC" start --quiet
	[ "$(field lf4 .state)" = failed ]
	[[ $(field lf4 .reason) == lost:* ]]
	run -0 "$AC" run base lf4 -- echo again
	is again
}
