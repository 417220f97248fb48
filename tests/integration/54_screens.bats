#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 54_screens.bats - the shipped agents in a terminal
#
# tmux is the terminal: what an agent draws is read from its screen, and it is typed
# to. Compared is what a user looks for there: the box of the prompt, as wide as the
# terminal, and the model's answer. What a paste was is read at the model
# (tests/fake/model.py), which also has the task of 53_agents.bats done. claude and pi
# always, the others with AC_CHECK_ALL.

load common

# shellcheck source=tests/integration/agents.bash
. "$AC_SRC/tests/integration/agents.bash"

AGENTS="claude pi"
[ -z "${AC_CHECK_ALL:-}" ] || AGENTS+=" codex gemini opencode"
SOCKET=$AC_TEST_TMP/screens

setup_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	# shellcheck disable=SC2086 # a list of words
	agents_up $AGENTS
}

teardown_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	# shellcheck disable=SC2086 # a list of words
	agents_down $AGENTS
}

setup() {
	need_root
	command -v tmux >/dev/null || skip 'tmux is missing'
	forge_mark
}

teardown() {
	[ -z "${agent:-}" ] || {
		echo "the screen of $agent:"
		screen
	}
	tmux -S "$SOCKET" kill-server 2>/dev/null || true
}

# wants AGENT - skips what only AC_CHECK_ALL runs
wants() {
	[[ " $AGENTS " == *" $1 "* ]] || skip "AC_CHECK_ALL=1 runs $1"
}

# ---- the terminal ----

# opens AGENT - on a new clone, in a terminal of 100 columns; sets agent and what
# agent_clone sets. What is left of the terminal afterwards is told.
opens() {
	agent_clone "box-$1"
	agent=$1
	# shellcheck disable=SC2016 # of the shell there
	tmux -S "$SOCKET" -f /dev/null -u new-session -d -x 100 -y 30 \
		"AC='$AC' LANG=C.UTF-8"' TERM=screen-256color bash -c '"'
		\"\$AC\" run $1 box-$1 --workspace \"$dir:live\"
		echo \"left with \$?\"
		stty -a | grep -qw -- -echo || echo \"it echoes\"
		exec sleep infinity'" 3>&-
}

screen() { tmux -S "$SOCKET" capture-pane -p; }

# on REGEX, off REGEX - a line of the screen is like this, or none is
on() { screen | LC_ALL=C.UTF-8 grep -qE -- "$1"; }
off() { ! on "$1"; }

# types TEXT, then it is on the screen
types() {
	tmux -S "$SOCKET" send-keys -l "$1"
	eventually on "$1"
}

keys() { tmux -S "$SOCKET" send-keys "$@"; }

# boxed COLUMNS - the prompt is between two lines, and no line of another width is
# there
boxed() {
	[ "$(screen | sed 's/─/-/g' | grep -oE -- '-{9,}' |
		awk '{ print length }' | sort | uniq -c | xargs)" = "2 $1" ]
}

resized() { tmux -S "$SOCKET" resize-window -x "$1" -y "$2"; }

# ---- what each does ----

# asks - for the task, until its answer is there: the word is in the workspace alone
asks() {
	types 'Build a dam, and test it.'
	keys Enter
	eventually on "The dam holds. dam: 2 checks passed, $word"
}

# pastes - 2,000 lines, which arrive as they are, once; the last has no end
pastes() {
	seq -f 'brick %g' 2000 | head -c -1 |
		tmux -S "$SOCKET" load-buffer -
	tmux -S "$SOCKET" paste-buffer -p
	eventually on "$1"
	off 'There are 2000 bricks'
	keys Enter
	eventually on 'There are 2000 bricks\.'
	forge_lines | jq -se 'any(.[]; .bricks == [range(1; 2001)])' >/dev/null
}

# leaves KEY... - by these; Ctrl-C drops what was typed before
leaves() {
	types 'It rains'
	keys C-c
	eventually off 'It rains'
	off 'left with'
	keys "$@"
	eventually on '^left with 0'
	eventually on '^it echoes'
	[ "$(tmux -S "$SOCKET" display -p '#{alternate_on}')" -eq 0 ]
	eventually state_is "box-$agent" stopped
}

# waits KEY REGEX - for a command that does not end, until KEY ends it
waits() {
	types 'Wait for the rain'
	keys Enter
	eventually tails
	keys "$1"
	eventually on "$2"
	eventually ended_all
}

tails() {
	"$AC" exec "box-$agent" -- pgrep -x tail </dev/null >/dev/null 2>&1
}
ended_all() {
	[ "$("$AC" exec "box-$agent" -- sh -c \
		'pgrep -x tail >/dev/null || echo none' </dev/null)" = none ]
}

@test "claude draws, does a task, is resized, interrupted, pasted to, and left" {
	opens claude
	eventually boxed 100
	on '^❯'
	asks
	agent_did box-claude
	resized 70 24
	eventually boxed 70
	on "The dam holds. dam: 2 checks passed, $word"
	resized 120 40
	eventually boxed 120
	waits C-c 'Interrupted'
	pastes '\[Pasted text #1 \+2000 lines\]|\[Pasted text #1 \+1999 lines\]'
	leaves C-c C-c
}

@test "pi draws, does a task, is resized, interrupted, pasted to, and left" {
	opens pi
	eventually boxed 100
	asks
	agent_did box-pi
	resized 70 24
	eventually boxed 70
	on "The dam holds. dam: 2 checks passed, $word"
	resized 120 40
	eventually boxed 120
	waits Escape 'aborted'
	pastes '\[paste #1 \+2000 lines\]'
	leaves C-c C-c
}

@test "codex draws, does a task, is resized, pasted to, and left" {
	wants codex
	opens codex
	eventually on '^› '
	asks
	resized 70 24
	eventually on '^› '
	on "The dam holds. dam: 2 checks passed, $word"
	pastes '\[Pasted Content [0-9]+ chars\]'
	leaves C-c C-c
}

@test "gemini draws, does a task, is resized, pasted to, and left" {
	wants gemini
	opens gemini
	eventually on 'Type your message'
	asks
	resized 70 24
	eventually on '^─{70}$'
	on "The dam holds. dam: 2 checks passed, $word"
	pastes '\[Pasted Text: 2000 lines\]'
	leaves C-c C-c
}

@test "opencode draws, does a task, is resized, pasted to, and left" {
	wants opencode
	opens opencode
	eventually on 'Ask anything'
	asks
	resized 70 24
	eventually on '^  ╹▀{50,67}$'
	on "The dam holds. dam: 2 checks passed, $word"
	pastes '\[Pasted ~2000 lines\]'
	leaves C-c
}
