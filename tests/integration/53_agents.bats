#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 53_agents.bats - the shipped agents do a task in a real sandbox
#
# Each asks tests/fake/model.py under its provider's name, with a surrogate of a
# key, and is told to write a program, to run its test, to commit and to push to
# tests/fake/forge.py, with a surrogate of a token. The word that the test prints is
# in the workspace alone, so an answer with it has been all the way. No exit code is
# believed by itself. claude and pi always, the others with AC_CHECK_ALL.

load common

# shellcheck source=tests/integration/agents.bash
. "$AC_SRC/tests/integration/agents.bash"

AGENTS="claude pi"
[ -z "${AC_CHECK_ALL:-}" ] || AGENTS+=" codex gemini opencode hermes"

setup_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	# shellcheck disable=SC2086 # a list of words
	agents_up $AGENTS && logins
}

# logins - tokens of subscriptions, which do not end meanwhile, and blueprints with
# them that may push
logins() {
	local who file=$AC_TEST_TMP/login
	for who in claude codex gemini; do agents_may_push "$who-login"; done
	token anthropic-login | "$AC" vault add anthropic-login - || return 1
	for who in openai google; do
		(umask 077 && forge_login $who 3600 >"$file") &&
			"$AC" vault add $who-login --from-file "$file" ||
			return 1
	done
	rm "$file"
}

teardown_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	"$AC" vault rm --yes anthropic-login openai-login google-login
	# shellcheck disable=SC2086 # a list of words
	agents_down $AGENTS claude-login codex-login gemini-login
}

setup() {
	need_root
	forge_mark
}

# wants AGENT - skips what only AC_CHECK_ALL runs
wants() {
	[[ " $AGENTS " == *" $1 "* ]] || skip "AC_CHECK_ALL=1 runs $1"
}

# task AGENT - the task as a prompt for box-AGENT, on a new clone; sets what
# agent_clone and `run` set
task() {
	agent_clone "box-$1"
	run "$AC" run "$1" "box-$1" --workspace "$dir:live" \
		--prompt 'Build a dam, and test it.' </dev/null
}

# did AGENT - the task: its last message, its exit code, and what agent_did checks
did() {
	has "The dam holds. dam: 2 checks passed, $word"
	code 0
	agent_did "box-$1"
}

# asked HOST PATH TOKEN-NAME - the model, with its real token in each request of
# this run, and GitHub with its own, wherever git shows one; and no other host
asked() {
	forge_saw "$1" POST "$2" "$3"
	forge_saw github.com POST /otter/one.git/git-receive-pack github
	# shellcheck disable=SC2016 # of jq
	run -0 jq -rs --arg host "$1" --arg model "$(token "$3")" \
		--arg git "$(token github)" '
		def plain: if startswith("Basic ")
			then .[6:] | @base64d else . end;
		def shows($real): any(.headers[][1]; plain | contains($real))
			or (.path + .body | contains($real));
		def asks: any(.headers[][0];
			ascii_downcase == "authorization");
		[.[] | select((if .sni == $host
			then shows($model) and (shows($git) | not)
			else .sni == "github.com" and (shows($model) | not) and
				(shows($git) or (asks | not)) end) | not) |
			"\(.sni) \(.method) \(.path)"] | unique[]' \
		< <(forge_lines)
	silent
}

# counted AGENT TOKENS - of two answers, in `ac usage`
counted() {
	"$AC" usage "box-$1" --json | jq -es --argjson n "$2" '[.. | objects |
		.tokens_out? // empty] | any(. >= $n)' >/dev/null
}

# unseen AGENT COMMAND TOKEN-NAME - the real token is not in the sandbox, in the
# home that the run left or in what ac-host writes; the surrogate, which the shell
# command prints, is not it
unseen() {
	local box=box-$1 key found
	"$AC" shell "$1" "$box" -- sleep infinity >/dev/null 2>&1 3>&- &
	eventually state_is "$box" running
	key=$("$AC" exec "$box" -- sh -c "$2")
	[ -n "$key" ] && [ "$key" != "$(token "$3")" ]
	tar -C "$AC_SRC/tests/attack" -cf - probe |
		"$AC" exec "$box" -- tar -xf - -C /tmp
	found=$(forge_scan "$box" surrogate "$key" word "$word")
	forge_unfound "$found" surrogate word
	"$AC" stop-instance "$box"
	forge_outside
}

@test "claude writes a program, tests it, and pushes it" {
	task claude
	did claude
	asked api.anthropic.com /v1/messages anthropic
	eventually counted claude 46
	unseen claude 'printenv ANTHROPIC_API_KEY' anthropic
}

@test "claude does so with the token of a subscription, by its surrogate" {
	takes_long
	task claude-login
	did claude-login
	asked api.anthropic.com /v1/messages anthropic-login
	unseen claude-login 'printenv CLAUDE_CODE_OAUTH_TOKEN' anthropic-login
}

@test "pi writes a program, tests it, and pushes it" {
	task pi
	did pi
	asked api.anthropic.com /v1/messages anthropic
	eventually counted pi 46
	unseen pi 'printenv ANTHROPIC_API_KEY' anthropic
}

@test "codex writes a program, tests it, and pushes it" {
	wants codex
	task codex
	did codex
	asked api.openai.com /v1/responses openai
	eventually counted codex 58
	unseen codex 'printenv OPENAI_API_KEY' openai
}

@test "gemini writes a program, tests it, and pushes it" {
	wants gemini
	task gemini
	did gemini
	asked generativelanguage.googleapis.com \
		'/v1beta/models/.*:streamGenerateContent' gemini
	eventually counted gemini 74
	unseen gemini 'printenv GEMINI_API_KEY' gemini
}

@test "codex does so with a login, whose file has a surrogate" {
	wants codex
	task codex-login
	did codex-login
	asked chatgpt.com /backend-api/codex/responses openai-login
	unseen codex-login 'jq -r .tokens.access_token ~/.codex/auth.json' \
		openai-login
}

@test "gemini does so with a login, whose file has a surrogate" {
	wants gemini
	task gemini-login
	did gemini-login
	forge_saw oauth2.googleapis.com POST /tokeninfo google-login
	forge_saw cloudcode-pa.googleapis.com POST \
		/v1internal:streamGenerateContent google-login
	unseen gemini-login 'jq -r .access_token ~/.gemini/oauth_creds.json' \
		google-login
}

@test "opencode writes a program, tests it, and pushes it" {
	wants opencode
	task opencode
	did opencode
	asked api.anthropic.com /v1/messages anthropic
	eventually counted opencode 46
	unseen opencode 'printenv ANTHROPIC_API_KEY' anthropic
}

@test "hermes writes a program, tests it, and pushes it" {
	wants hermes
	task hermes
	did hermes
	asked api.anthropic.com /v1/messages anthropic
	eventually counted hermes 46
	unseen hermes 'printenv ANTHROPIC_API_KEY' anthropic
}

# layers IMAGE - of its root file system
layers() {
	in_host docker image inspect -f '{{json .RootFS.Layers}}' "ac/$1:latest"
}

# held IMAGE - the bytes of npm's and PyPI's packages in it
held() {
	# shellcheck disable=SC2016 # of awk, in there
	in_host docker run --rm --network none --entrypoint sh "ac/$1:latest" \
		-c '{ find /opt/*/node_modules -type f -printf "%s\n"
		cat /opt/*/lib/python3*/site-packages/*.dist-info/RECORD |
			cut -d, -f3; } 2>/dev/null | awk "{ n += \$1 } END {
				printf \"%d\", n }"'
}

@test "an image is the base's layers, node among them, and its packages" {
	size() {
		in_host docker image inspect -f '{{.Size}}' "ac/$1:latest"
	}
	base=$(size base)
	for agent in $AGENTS; do
		jq -ne --argjson all "$(layers "$agent")" \
			--argjson base "$(layers base)" \
			'$all[:$base | length] == $base'
		adds=$(($(size "$agent") - base))
		has=$(held "$agent")
		echo "$agent: $adds bytes for packages of $has"
		[ "$has" -gt 10000000 ]
		[ $((adds * 10)) -le $((has * 12)) ]
	done
}

@test "antigravity cannot be pinned: its build says how to bring it" {
	run -1 "$AC" build antigravity
	says "npm's antigravity-cli is not it"
	says 'docs/recipes/antigravity.md'
	# That page's blueprint, with a program in the place of agy.
	folder=$AC_HOME/blueprints/agy
	mkdir -p "$folder"
	printf '%s\n' 'FROM ac/base' 'COPY agy /usr/local/bin/' \
		>"$folder/Dockerfile"
	printf '%s\n' 'version: 2' 'extends: antigravity' 'image: agy' \
		>"$folder/blueprint.yaml"
	# shellcheck disable=SC2016 # of the program
	printf '%s\n' '#!/bin/sh' 'echo "agy was told: $*"' >"$folder/agy"
	chmod 0755 "$folder/agy"
	run -0 "$AC" run agy box-agy --prompt 'Build a dam' </dev/null
	has 'agy was told: --dangerously-skip-permissions -p Build a dam'
	gone box-agy
	rm -rf "$folder"
}
