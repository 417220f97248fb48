#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 54_own_model.bats - a shipped agent asks a model of the user's own
#
# The model is tests/fake/llm.py, in plain HTTP at a private address, in a network
# namespace. The task is that of 53_agents.bats: the word that the test prints is in
# the workspace alone. pi always, the others with AC_CHECK_ALL.

load common

AGENTS=pi
[ -z "${AC_CHECK_ALL:-}" ] || AGENTS+=" claude codex gemini opencode hermes"
LAN_NS=$AC_HOST-own
LAN_IF=o-${AC_HOST:0:12}
LAN=10.213.8
LLM=$LAN.2
URL=http://llm.internal:11434

setup_file() {
	local agent
	[ "$(id -u)" -eq 0 ] || return 0
	for agent in $AGENTS; do
		"$AC" build "$agent" >"$AC_TEST_TMP/build-$agent.log" 2>&1 \
			3>&- || {
			sed 's/^/# /' "$AC_TEST_TMP/build-$agent.log" >&3
			return 1
		}
	done
	ip netns add "$LAN_NS"
	ip link add "$LAN_IF" type veth peer name lan0 netns "$LAN_NS"
	ip addr add $LAN.1/30 dev "$LAN_IF"
	ip link set "$LAN_IF" up
	ip -n "$LAN_NS" addr add $LLM/30 dev lan0
	ip -n "$LAN_NS" link set lan0 up
	ip -n "$LAN_NS" route add default via $LAN.1
	nsenter --net="/run/netns/$LAN_NS" \
		python3 "$AC_SRC/tests/fake/llm.py" "$BATS_FILE_TMPDIR" \
		$LLM 11434 >>"$BATS_FILE_TMPDIR/errors" 2>&1 3>&- &
	echo $! >"$BATS_FILE_TMPDIR/pid"
	eventually [ -e "$BATS_FILE_TMPDIR/11434.jsonl" ]
	"$AC" service add llm $LLM:11434
}

teardown_file() {
	local agent
	for agent in $AGENTS; do gone "own-$agent"; done
	"$AC" service rm llm 2>/dev/null || true
	"$AC" service rm near 2>/dev/null || true
	"$AC" vault rm --yes own-key 2>/dev/null || true
	xargs -r kill <"$BATS_FILE_TMPDIR/pid" 2>/dev/null || true
	ip netns del "$LAN_NS" 2>/dev/null || true
	ip link del "$LAN_IF" 2>/dev/null || true
	rm -rf "$AC_TEST_TMP"/own-*
}

setup() {
	need_root
	: >"$BATS_FILE_TMPDIR/11434.jsonl"
}

wants() {
	[[ " $AGENTS " == *" $1 "* ]] || skip "AC_CHECK_ALL=1 runs $1"
}

# task AGENT OPTION... - the task as a prompt; what it did, and that it is done
task() {
	local agent=$1 dir=$AC_TEST_TMP/own-$1 word
	shift
	rm -rf "$dir"
	mkdir -p "$dir"
	word=$(LC_ALL=C tr -dc A-Za-z0-9 </dev/urandom | head -c 16)
	echo "$word" >"$dir/word"
	run "$AC" run "$agent" "own-$agent" --workspace "$dir:live" "$@" \
		--prompt 'Build a dam, and test it.' </dev/null
	has "The dam holds. dam: 2 checks passed, $word"
	grep -qx '    return rain < 42' "$dir/dam.py"
	code 0
}

# asked PATH - the model was asked there
asked() {
	jq -es --arg path "$1" 'any(.method == "POST" and
		(.path | test($path)))' "$BATS_FILE_TMPDIR/11434.jsonl" >/dev/null
}

@test "pi does a task with a model at a private address, without a key" {
	task pi --model-url $URL
	asked '^/v1/messages'
	[ "$(field own-pi .egress.model_url)" = $URL ]
	[ "$(field own-pi '.egress.services | join(" ")')" = llm ]
}

@test "pi does it with a key that is put into its requests, and stays outside" {
	local token=sk-ant-api03-0123456789abcdef0123456789abcdef
	echo "$token" >"$BATS_FILE_TMPDIR/token"
	run -0 "$AC" vault add own-key --kind anthropic --host llm --insecure \
		<<<"$token"
	task pi --credential own-key
	asked '^/v1/messages'
	jq -es --arg t "$token" 'all(.method != "POST" or
		any(.headers[][1]; contains($t)))' \
		"$BATS_FILE_TMPDIR/11434.jsonl" >/dev/null
	run -0 "$AC" run pi own-pi -- env
	lacks "$token"
	rm "$BATS_FILE_TMPDIR/token"
}

@test "pi does a task with a model on this machine's own loopback" {
	mkdir -p "$BATS_FILE_TMPDIR/near"
	python3 "$AC_SRC/tests/fake/llm.py" "$BATS_FILE_TMPDIR/near" \
		127.0.0.1 21534 >>"$BATS_FILE_TMPDIR/errors" 2>&1 3>&- &
	echo $! >>"$BATS_FILE_TMPDIR/pid"
	eventually [ -e "$BATS_FILE_TMPDIR/near/21534.jsonl" ]
	gone own-pi
	run -0 "$AC" service add near 127.0.0.1:21534
	task pi --model-url http://near.internal:21534
	jq -es 'any(.method == "POST")' "$BATS_FILE_TMPDIR/near/21534.jsonl" \
		>/dev/null
	gone own-pi
	run -0 "$AC" service rm near
}

@test "a blueprint that cannot, and what is no URL of a model, are refused" {
	run -125 "$AC" run base own-base --model-url $URL -- true
	says "does not say how its agent asks a model"
	for bad in ftp://llm.internal llm.internal:11434 http://10.1.2.3:11434 \
		"$URL/" "$URL/v1" 'http://u@llm.internal' 'http://llm.internal/?a=b'; do
		run -125 "$AC" run pi own-bad --model-url "$bad" -- true
		says 'no URL of a model'
	done
	# Those places are of services alone, and there is none.
	for bad in http://llm.internal:11435 http://nosuch.internal:9 \
		https://llm.internal; do
		run -125 "$AC" run pi own-bad --model-url "$bad" -- true
		says "no service is at $bad"
	done
	gone own-base own-bad
}

@test "claude does a task with a model at a private address" {
	wants claude
	task claude --model-url $URL
	asked '^/v1/messages'
}

@test "codex does a task with a model at a private address" {
	wants codex
	task codex --model-url $URL
	asked '^/v1/responses'
}

@test "gemini does a task with a model at a private address" {
	wants gemini
	task gemini --model-url $URL
	asked '^/v1beta/models/'
}

@test "opencode does a task with a model at a private address" {
	wants opencode
	task opencode --model-url $URL
	asked '^/v1/messages'
}

@test "hermes does a task with a model at a private address" {
	wants hermes
	task hermes --model-url $URL
	asked '^/v1/(chat/completions|responses)'
}
