#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 10_run.bats - the main job: a command goes in, its result comes out

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

setup_file() {
	"$AC" run base r1 -d -- sleep infinity
}

teardown_file() {
	gone r1 r2 r3 base_session base_inferred q_
}

@test "run prints the kernel line of gVisor and exits 0" {
	run --separate-stderr "$AC" run base r2 -- uname -a
	code 0
	has '4.19.0-gvisor'
	[ "${#lines[@]}" -eq 1 ]
}

@test "a second run builds nothing and starts nothing" {
	run --separate-stderr "$AC" run base r2 -- echo again
	code 0
	is again
	[ -z "$stderr" ]
}

@test "the exit code is the command's: 0, 1, 2, 42" {
	local ws
	ws=$(mktemp -d -p "$BATS_FILE_TMPDIR")
	run "$AC" run base r3 --workspace "$ws" -- sh -c 'exit 2'
	code 2
	lacks 'passed on'
	gone r3
	for want in 0 1 2 42; do
		run -"$want" "$AC" run base r2 -- sh -c "exit $want"
		run -"$want" "$AC" exec r1 -- sh -c "exit $want"
	done
	[ "$(field r2 .exit_code)" = 42 ]
}

@test "a file that is no program gives 126, a missing one 127" {
	run -126 "$AC" exec r1 -- /etc/passwd
	run -127 "$AC" exec r1 -- no-such-program
	says 'no-such-program'
	run -126 "$AC" run base r2 -- /etc/passwd
	run -127 "$AC" run base r2 -- no-such-program
}

@test "a command killed by a signal gives 128+n" {
	run -137 "$AC" exec r1 -- sh -c 'kill -KILL $$'
	run -143 "$AC" exec r1 -- sh -c 'kill -TERM $$'
	run -139 "$AC" run base r2 -- sh -c 'kill -SEGV $$'
	[ "$(field r2 .exit_code)" = 139 ]
}

@test "our own failure gives 125" {
	run -125 "$AC" run base r2 --memory lots -- true
	says 'memory'
	run -125 "$AC" exec never-made -- true
	says 'never-made'
}

@test "a signal to the client reaches the command" {
	"$AC" run base r2 -- sleep 300 3>&- &
	local pid=$!
	eventually state_is r2 running
	kill -TERM $pid
	ended $pid
	code 143
}

@test "each argument arrives as it was written" {
	run --separate-stderr "$AC" exec r1 -- printf '<%s>' 'a b' '' '$HOME' \
		"it's" '*' $'new\nline' 'ünïcode' --json -d
	code 0
	is "<a b><><\$HOME><it's><*><new
line><ünïcode><--json><-d>"
}

@test "environment, working directory and host name are as asked" {
	run "$AC" run base r2 -e COLOUR=blue --workdir /tmp -- \
		sh -c 'echo $COLOUR $PWD $(hostname) $HOME $USER'
	code 0
	is 'blue /tmp r2 /home/node node'
	HERE=inherited run "$AC" exec r1 -e HERE -- sh -c 'echo $HERE'
	is inherited
	run "$AC" exec r1 -- pwd
	is /workspace
}

@test "the workspace stays from run to run" {
	run "$AC" run base r2 -- sh -c 'echo kept >/workspace/file'
	code 0
	run "$AC" run base r2 -- cat /workspace/file
	is kept
}

@test "-d returns at once and the run goes on" {
	run --separate-stderr "$AC" run base r3 -d -- \
		sh -c 'sleep 1; echo late; sleep 300'
	code 0
	state_is r3 running
	late() { "$AC" logs agent r3 | grep -q late; }
	eventually late
	run -0 "$AC" stop-instance r3
	state_is r3 stopped
}

@test "two runs of one instance do not mix: the second is refused" {
	run -125 "$AC" run base r1 -- true
	says 'running'
}

@test "--rm leaves no record" {
	run -0 "$AC" run base r4 --rm -- true
	removed() { ! "$AC" inspect r4 2>/dev/null; }
	eventually removed
}

@test "one argument: a blueprint gives NAME_session" {
	run -0 "$AC" run base -- true
	[ "$(field base_session .blueprint)" = base ]
}

@test "one argument: a name that holds a blueprint's name" {
	run -0 "$AC" run base_inferred -- true
	[ "$(field base_inferred .blueprint)" = base ]
}

@test "one argument: an instance that exists" {
	run -0 "$AC" run r2 -- true
	[ "$(field r2 .blueprint)" = base ]
}

@test "a name of one character gets an underscore" {
	run -0 "$AC" run base q -- true
	[ "$(field q_ .name)" = q_ ]
}

@test "the tools an agent needs are in the base image" {
	run "$AC" exec r1 -- sh -c 'for t in bash git curl node npm python3 \
		pip3 rg fd jq tmux make gcc ssh less vi ps; do
		command -v $t >/dev/null || echo "no $t"; done
		node -p "+process.version.slice(1, 3) >= 24" |
			grep -qx true || echo "node is old"
		python3 -m venv /tmp/v || echo "no venv"'
	code 0
	silent
}
