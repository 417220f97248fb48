#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 11_typing.bats - few words are enough: a directory names the instance, and a task
# goes to an agent

# shellcheck disable=SC2016,SC2154 # the sandbox expands; run sets stderr
load common

setup() {
	dir=$AC_TEST_TMP/typing
	rm -rf "$dir"
	mkdir -p "$dir/one/My Code" "$dir/two/my-code"
	echo one >"$dir/one/My Code/which"
	echo two >"$dir/two/my-code/which"
	chmod -R a+rwX "$dir"
}

teardown() {
	gone base-my-code base-my-code-2 typed typist_session keyed_session
	rm -rf "$dir" "$AC_HOME"/blueprints/{typist,keyed}
	"$AC" vault rm typed-key --yes 2>/dev/null || true
}

# An agent that says what it was given; a task of "fail" it does not do.
typist() {
	mkdir -p "$AC_HOME/blueprints/typist"
	cat >"$AC_HOME/blueprints/typist/blueprint.yaml" <<'END'
version: 2
description: says what it was given
image: base
run:
  command: [sh, -c, 'echo "$# words: $*"; test ! -t 0 || echo terminal', typist]
  args: append
  headless:
  - sh
  - -c
  - |
    test "$1" != fail || { echo no; exit 7; }
    echo "$(readlink /proc/self/fd/0)" >&2
    printf '{"result":"did %s"}\n{"usage":{"words":%s}}\n' "$1" "$#"
  - typist
  - "{prompt}"
  result: { json: .result, usage: .usage }
  resume: [sh, -c, 'echo "again, $# words: $*"', typist]
END
}

@test "a directory is the workspace, and goes back to its instance" {
	cd "$dir/one/My Code"
	run --separate-stderr "$AC" run base . -- cat which
	code 0
	is one
	[[ $stderr == *"workspace: a copy of $dir/one/My Code;"* ]]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	cd "$dir/two/my-code"
	run --separate-stderr "$AC" run base . -- cat which
	code 0
	is two
	[[ $stderr == *"'base-my-code' has another directory"*"'base-my-code-2'"* ]]
	run --separate-stderr "$AC" run base "$dir/one/My Code" cat which
	code 0
	is one
	[[ $stderr == *"workspace: a copy of"* ]]
	run --separate-stderr "$AC" run base ../my-code:ro -- \
		sh -c 'cat which; touch x 2>/dev/null || hostname'
	code 0
	is 'two
base-my-code-2'
	[[ $stderr == *"workspace: $dir/two/my-code, read-only"* ]]
	run "$AC" ls --json
	[ "$(jq '[.[] | select(.name | startswith("base-my-code"))] | length' \
		<<<"$output")" -eq 2 ]
}

@test "a name beside the directory is the instance, and a program no directory" {
	run -0 --separate-stderr "$AC" run base typed "$dir/two/my-code" -- cat which
	is two
	run -0 --separate-stderr "$AC" run base typed /bin/cat which
	is two
	run -125 "$AC" run base typed "$dir/one/My Code" --workspace . -- true
	says 'twice'
	run -125 "$AC" run base "$dir/nowhere" -- true
	says "$dir/nowhere"
	run -125 "$AC" run . -- true
	says 'which blueprint'
}

@test "agents are listed with the credentials that they need" {
	typist
	echo 'credentials: [typed-key]' \
		>>"$AC_HOME/blueprints/typist/blueprint.yaml"
	run -0 --separate-stderr "$AC" agents
	has 'typist'
	says 'typist +built.* typed-key \(no\) +says what it was given'
	says '^NAME +IMAGE +CREDENTIALS +DESCRIPTION'
	lacks 'base '
	echo 0123456789012345678901234 | "$AC" vault add typed-key \
		--host model.example --header X-Key
	run -0 --separate-stderr "$AC" agents --json
	[ "$(jq -c '.[] | select(.name == "typist") | [.built, .credentials]' \
		<<<"$output")" = '[true,[{"name":"typed-key","in_vault":true}]]' ]
}

# A blueprint that needs a credential.
keyed() {
	mkdir -p "$AC_HOME/blueprints/keyed"
	printf '%s\n' 'version: 1' 'image: base' 'command: [sh, -c, "env; echo on"]' \
		'credentials: [{ name: typed-key, env: TYPED }]' \
		>"$AC_HOME/blueprints/keyed/blueprint.yaml"
}

# on_terminal KEYS - runs it, and types them when it asks
on_terminal() {
	cat >"$BATS_TEST_TMPDIR/script" <<-END
		set timeout 120
		spawn $AC run keyed
		expect {
			-ex "keyed needs a credential 'typed-key': paste" {}
			default { exit 99 }
		}
		expect -ex ": "
		send "$1"
		expect eof
		exit [lindex [wait] 3]
	END
	expect -f "$BATS_TEST_TMPDIR/script"
}

@test "without a terminal a missing credential is named, with what helps" {
	keyed
	run -125 "$AC" run keyed </dev/null
	says 'keyed needs the credential .typed-key.'
	says 'ac vault add typed-key'
	run -1 "$AC" inspect keyed_session
	run -0 "$AC" run keyed --credential none </dev/null
	has on
	lacks TYPED
}

@test "on a terminal it is asked for once, and is kept or left out" {
	need expect
	keyed
	run on_terminal '\r'
	code 0
	has on
	lacks TYPED=
	run on_terminal '\003'
	code 130
	run on_terminal 'ghp_0123456789012345678901234567890123456789\r'
	code 125
	says 'classic'
	run on_terminal 'github_pat_typed0123456789_0123456789\r'
	code 0
	says 'typed-key: kept, github'
	has TYPED=
	lacks github_pat_typed
	run -0 "$AC" run keyed </dev/null
	has TYPED=
}

@test "words for an agent follow its command" {
	typist
	run -0 "$AC" run typist -- one 'two three'
	is '2 words: one two three'
	run -0 "$AC" run typist
	is '0 words: '
	run -0 "$AC" shell typist -- echo a command
	is 'a command'
	"$AC" run typist -d -- four
	said() { "$AC" logs typist_session | grep -q "$1"; }
	eventually said '1 words: four'
	eventually said terminal
}

@test "a task goes to an agent, and its last message and exit code come back" {
	typist
	run --separate-stderr "$AC" run typist --prompt 'the * $work'
	code 0
	is 'did the * $work'
	says '/dev/null'
	echo 'from a file' >"$dir/task.md"
	run -0 --separate-stderr "$AC" run typist --prompt "@$dir/task.md" -- -v
	is 'did from a file'
	run --separate-stderr "$AC" run typist --prompt - --json -- -v \
		<"$dir/task.md"
	code 0
	[ "$(jq -c . <<<"$output")" = \
		'{"exit_code":0,"message":"did from a file","usage":{"words":2}}' ]
	run --separate-stderr "$AC" run typist --prompt fail --rm
	code 7
	is no
	run "$AC" inspect typist_session
	lacks 'the work'
	run -125 "$AC" run typist -T --resume
	says 'no conversation to go on with'
	run -0 "$AC" run typist -T -- begin
	run --separate-stderr "$AC" run typist -T --resume -- and go on
	code 0
	is 'again, 3 words: and go on'
	run -125 "$AC" run base typed --resume
	says "the blueprint 'base' cannot go on"
	run -125 "$AC" run base typed --prompt hello
	says "the blueprint 'base' takes no prompt"
	run -1 "$AC" inspect typed
}
