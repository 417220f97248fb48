#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 26_commands_api.bats - commands in plain HTTP, as curl and any other client can
# ask for them: waited for, as events, detached

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

setup() {
	"$AC" start --quiet
	[ "$(field co .state 2>/dev/null)" = running ] ||
		"$AC" run base co -d -- sleep 100000
	WORK=$BATS_TEST_TMPDIR
}

teardown_file() {
	gone co
}

# api METHOD PATH [BODY [CURL-OPTION...]] - below the instance
api() {
	local method=$1 path=$2 body=${3:-}
	shift $(($# > 3 ? 3 : $#))
	curl -sSN --unix-socket "$AC_HOME/run/acd.sock" -X "$method" \
		-H 'Content-Type: application/json' -d "$body" "$@" \
		"http://ac/v1/instances/co$path"
}

# sh_body SCRIPT [JQ] - the body of a command that runs it
sh_body() {
	jq -nc --arg s "$1" "{cmd: [\"sh\", \"-c\", \$s]} + ${2:-{\}}"
}

# sh_do SCRIPT [JQ] - runs it to its end
sh_do() { api POST /commands "$(sh_body "$@")"; }

# sh_events SCRIPT [CURL-OPTION...] - with its output as events
sh_events() {
	local script=$1
	shift
	api POST /commands "$(sh_body "$script")" \
		-H 'Accept: text/event-stream' "$@"
}

# sh_detached SCRIPT [JQ] - prints the id
sh_detached() { sh_do "$1" "${2:-{\}} + {detached: true}" | jq -er .id; }

state_of() { api GET "/commands/$1" | jq -r .state; }
has_ended() { [ "$(state_of "$1")" = ended ]; }

# whole FILE - of its events those that are complete
whole() {
	awk '{ e = e $0 "\n" } /^$/ { printf "%s", e; e = "" }' "$1"
}

# text FILE [STREAM] - what the events of a stream say
text() {
	whole "$1" | awk -v s="event: ${2:-stdout}" '
		/^event: / { on = $0 == s }
		/^data: / && on { print substr($0, 7) }' | jq -j .data
}

# last_of FILE NAME - the data of the last event of that name
last_of() {
	whole "$1" | awk -v s="event: $2" '/^event: / { on = $0 == s }
		/^data: / && on { d = substr($0, 7) } END { print d }'
}

# runs WORDS - whether the sandbox has such a process
runs() {
	api GET /processes | jq -e --arg w "$1" \
		'any(.processes[]; .command | endswith($w))' >/dev/null
}
runs_not() { ! runs "$1"; }

@test "a command is waited for, and its answer has code, output and time" {
	run -0 sh_do 'echo out; echo err >&2; echo $A; pwd; exit 7' \
		'{env: ["A=b"], cwd: "/tmp"}'
	[ "$(jq -r .exit_code <<<"$output")" = 7 ]
	[ "$(jq -r .stdout <<<"$output")" = $'out\nb\n/tmp' ]
	[ "$(jq -r .stderr <<<"$output")" = err ]
	jq -e '.signal == null and .reason == "exited" and
		.timed_out == false and .truncated == false and
		.duration_ms >= 0 and .rusage.user_us >= 0' <<<"$output"
	run -0 sh_do 'kill -9 $$'
	jq -e '.exit_code == 137 and .signal == 9 and .reason == "signal"' \
		<<<"$output"
	run -0 api POST /commands '{"cmd":["/no/such/program"]}'
	jq -e '.exit_code == 127 and .reason == "not_started"' <<<"$output"
	[ "$(api GET /commands | jq '.commands | length')" = 0 ]
}

@test "stdin is text or bytes, and output that is no UTF-8 is Base64" {
	run -0 api POST /commands '{"cmd":["cat"],"stdin":"grün €\n"}'
	jq -e '.stdout == "grün €\n" and .stdout_encoding == "utf-8"' \
		<<<"$output"
	head -c 300000 /dev/urandom | base64 -w 0 >"$WORK/bytes"
	jq -nc --rawfile b "$WORK/bytes" '{cmd: ["cat"], stdin_base64: $b}' \
		>"$WORK/body"
	api POST /commands "@$WORK/body" >"$WORK/answer"
	jq -e '.stdout_encoding == "base64" and .stdout_bytes == 300000' \
		"$WORK/answer" >/dev/null
	jq -j .stdout "$WORK/answer" | cmp - "$WORK/bytes"
	# Without stdin there is nothing to wait for.
	run -0 api POST /commands '{"cmd":["wc","-c"]}'
	[ "$(jq -r .stdout <<<"$output")" = 0 ]
}

@test "of much output the first bytes are kept, and that is said" {
	sh_do 'seq 1 1000000; echo short >&2' '{max_output: 10000}' >"$WORK/a"
	jq -e '.truncated and .stderr == "short\n" and
		.stdout_bytes == 6888896' "$WORK/a"
	[ "$(jq -j .stdout "$WORK/a" | cksum)" = \
		"$(seq 1 1000000 | head -c 10000 | cksum)" ]
}

@test "a command that takes too long is ended, and keeps its output" {
	run -0 sh_do 'echo before; exec sleep 4711' '{timeout_ms: 500}'
	jq -e '.exit_code == 124 and .timed_out and .reason == "timeout" and
		.stdout == "before\n"' <<<"$output"
	eventually runs_not 'sleep 4711'
}

@test "a client that vanishes takes its command with it" {
	run -28 api POST /commands '{"cmd":["sleep","4712"]}' -m 2
	eventually runs_not 'sleep 4712'
	sh_events 'echo up; sleep 4713; echo never' >"$WORK/events" 3>&- &
	local pid=$!
	up() { [ "$(text "$WORK/events")" = up ]; }
	eventually up
	runs 'sleep 4713'
	pkill -KILL -P "$pid" || kill -KILL "$pid"
	eventually runs_not 'sleep 4713'
	[ "$(api GET /commands | jq '.commands | length')" = 0 ]
}

@test "output comes as events while the command runs, in its order" {
	sh_events 'echo one; sleep 0.3; echo two >&2; sleep 0.3
		printf "\303"; sleep 0.02; printf "\244\n"; exit 3' >"$WORK/e"
	[ "$(grep -c '^event: start' "$WORK/e")" = 1 ]
	[ "$(text "$WORK/e")" = $'one\nä' ]
	[ "$(text "$WORK/e" stderr)" = two ]
	[ "$(grep '^event:' "$WORK/e" | uniq | tr -d '\n')" = \
"event: startevent: stdoutevent: stderrevent: stdoutevent: exit" ]
	jq -e '.exit_code == 3 and .signal == null and .duration_ms > 0' \
		<<<"$(last_of "$WORK/e" exit)"
}

@test "five megabytes come through events as they were written" {
	sh_events 'yes "grün und €" | head -n 400000' >"$WORK/e"
	[ "$(text "$WORK/e" | cksum)" = \
		"$(yes "grün und €" | head -n 400000 | cksum)" ]
	[ "$(text "$WORK/e" | wc -c)" -gt 5000000 ]
	run ! grep -q '"base64"' "$WORK/e"
	# And bytes, of which a short piece may happen to be text.
	sh_events 'head -c 200000 /dev/urandom | tee /tmp/bytes' >"$WORK/b"
	sed -n 's/^data: //p' "$WORK/b" |
		jq -r 'select(.data) | if .encoding == "base64" then .data
			else (.data | @base64) end' |
		while read -r line; do base64 -d <<<"$line"; done >"$WORK/bytes"
	[ "$(sha256sum <"$WORK/bytes" | cut -c1-64)" = "$(
		"$AC" exec co -- sha256sum /tmp/bytes | cut -c1-64)" ]
}

@test "a reader that stops holds its command up, and costs no memory" {
	rss() { in_host awk '/^VmRSS/ { print $2 }' /proc/1/status; }
	local before
	before=$(rss)
	sh_events 'yes "a line of some length" | head -c 40000000
		touch /tmp/written' --output "$WORK/e" 3>&- &
	local pid=$! curl
	begun() { [ -s "$WORK/e" ] && curl=$(pgrep -P "$pid" -x curl); }
	eventually begun
	kill -STOP "$curl"
	sleep 3
	[ "$(api GET /commands | jq -r '.commands[0].state')" = running ]
	[ "$(sh_do 'ls /tmp/written' | jq .exit_code)" != 0 ]
	[ $(($(rss) - before)) -lt 16000 ]
	kill -CONT "$curl"
	wait "$pid"
	[ "$(text "$WORK/e" | cksum)" = \
		"$(yes "a line of some length" | head -c 40000000 | cksum)" ]
	[ "$(sh_do 'ls /tmp/written' | jq .exit_code)" = 0 ]
}

@test "a detached command goes on by itself and can be asked about" {
	local id
	id=$(sh_detached 'read -r a; echo "got $a"; read -r b; echo "and $b"
		trap "echo TERM; exit 5" TERM; echo ready; while :; do sleep 0.1
		done' '{stdin: "first\n", stdin_open: true}')
	api GET /commands | jq -e --arg id "$id" \
		'.commands[0] | .id == $id and .state == "running" and .detached'
	api GET "/commands/$id/events" '' --output "$WORK/e" 3>&- &
	local pid=$!
	api POST "/commands/$id/stdin" '{"data":"second\n","close":true}'
	ready() { api GET "/commands/$id" | jq -e '.stdout | endswith("ready\n")'; }
	eventually ready
	run -0 api POST "/commands/$id/stdin" '{"data":"x"}'
	has stdin_closed
	api POST "/commands/$id/signal" '{"signal":15}'
	wait "$pid"
	[ "$(text "$WORK/e")" = $'got first\nand second\nready\nTERM' ]
	jq -e '.exit_code == 5' <<<"$(last_of "$WORK/e" exit)"
	api GET "/commands/$id" | jq -e '.state == "ended" and .exit_code == 5 and
		.stdout == "got first\nand second\nready\nTERM\n"'
	api DELETE "/commands/$id"
	run -0 api GET "/commands/$id"
	has unknown_command
}

@test "a detached command that is removed is killed" {
	local id
	id=$(sh_detached 'exec sleep 4714')
	eventually runs 'sleep 4714'
	api DELETE "/commands/$id"
	eventually runs_not 'sleep 4714'
}

@test "Last-Event-ID goes on without a gap and without a byte twice" {
	local id last='' n=0
	id=$(sh_detached 'i=0; while [ $i -lt 200 ]; do seq $i 1 $((i + 500))
		i=$((i + 1)); sleep 0.01; done; echo "ä€" >&2')
	: >"$WORK/all"
	until grep -q '^event: exit' "$WORK/all"; do
		n=$((n + 1))
		[ "$n" -lt 100 ]
		api GET "/commands/$id/events" '' -m 0.3 --output "$WORK/e" \
			${last:+-H "Last-Event-ID: $last"} || true
		whole "$WORK/e" >>"$WORK/all"
		last=$(sed -n 's/^id: //p' "$WORK/all" | tail -n 1)
	done
	[ "$n" -gt 2 ]
	[ "$(grep -c '^event: start' "$WORK/all")" = 1 ]
	[ "$(text "$WORK/all" | cksum)" = "$(for ((i = 0; i < 200; i++)); do
		seq "$i" 1 $((i + 500))
	done | cksum)" ]
	[ "$(text "$WORK/all" stderr)" = 'ä€' ]
	run ! grep -q '^event: lost' "$WORK/all"
	run -0 api GET "/commands/$id/events" '' -H "Last-Event-ID: $last" \
		-o /dev/null -w '%{http_code}'
	is 204
	api DELETE "/commands/$id"
}

@test "what the ring no longer has is counted" {
	local id
	id=$(sh_detached 'seq 1 100000' '{max_output: 4096}')
	eventually has_ended "$id"
	api GET "/commands/$id/events" >"$WORK/e"
	local bytes
	bytes=$(seq 1 100000 | wc -c)
	jq -e --argjson n "$((bytes - 4096))" '.bytes == $n' \
		<<<"$(last_of "$WORK/e" lost)"
	[ "$(text "$WORK/e" | cksum)" = \
		"$(seq 1 100000 | tail -c 4096 | cksum)" ]
	api GET "/commands/$id" | jq -e '.truncated and (.stdout | endswith("\n100000\n"))'
	api DELETE "/commands/$id"
}

@test "a pause holds a command, and one that hibernates wakes for one" {
	local id
	id=$(sh_detached 'i=0; while sleep 0.1; do echo $i; i=$((i + 1)); done')
	lines() { api GET "/commands/$id" | jq -e '.stdout | length > 4' >/dev/null; }
	eventually lines
	"$AC" pause co
	run -0 sh_do true
	has '"paused"'
	[ "$(state_of "$id")" = running ]
	"$AC" resume co
	"$AC" hibernate co
	[ "$(field co .state)" = hibernated ]
	run -0 sh_do 'echo awake'
	[ "$(jq -r .stdout <<<"$output")" = awake ]
	[ "$(field co .state)" = running ]
	local before
	before=$(api GET "/commands/$id" | jq .stdout_bytes)
	more() { [ "$(api GET "/commands/$id" | jq .stdout_bytes)" -gt "$before" ]; }
	eventually more
	api DELETE "/commands/$id"
}

@test "when the sandbox ends, commands end and say so" {
	local id
	id=$(sh_detached 'echo kept; exec sleep 4715')
	sh_do 'exec sleep 4716' >"$WORK/wait" 3>&- &
	local waits=$!
	sh_events 'exec sleep 4717' >"$WORK/e" 3>&- &
	local events=$!
	eventually runs 'sleep 4715'
	eventually runs 'sleep 4716'
	eventually runs 'sleep 4717'
	api POST /stop '{"grace_ms":100}'
	wait "$waits" "$events"
	jq -e '.reason == "sandbox_ended"' "$WORK/wait"
	jq -e '.reason == "sandbox_ended"' <<<"$(last_of "$WORK/e" exit)"
	api GET "/commands/$id" | jq -e '.reason == "sandbox_ended" and
		.stdout == "kept\n"'
	run -0 sh_do true
	has not_running
	"$AC" run base co -d -- sleep 100000
	[ "$(state_of "$id")" = ended ]
	gone co
	"$AC" run base co -d -- sleep 100000
	run -0 api GET "/commands/$id"
	has unknown_command
}
