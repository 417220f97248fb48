#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# words.sh - no marks of unfinished work, no paths of one machine, no riddles,
# no line with blanks at its end or bytes that an editor would hide
#
# usage: words.sh [TREE]
#
# The patterns are written so that this file does not match itself.
set -eu
here=$(dirname "$0")
# shellcheck source=tests/lint/common.sh
. "$here/common.sh"

MARKS='(^|[^[:alnum:]_])(TO[D]O|FIX[M]E|X[X]X|HA[C]K)([^[:alnum:]_]|$)'
UNDONE='(^|[^[:alnum:]_-])(stu[b]s?|place[h]olders?|not (yet )?imple[m]ented)([^[:alnum:]_-]|$)'
# Homes of people and work folders; "node" is the agent's own.
PATHS='(^|[^[:alnum:]_.$}/-])/(work/|home/([^n/[:space:]]|n[^o/[:space:]])[^/[:space:]]*/|Users/)'
REGISTRIES='(registry|proxy|sum|index|files)[.](npm[j]s|goprox[y]|gola[n]g|python[h]osted)[.](org|io)'
# Presets of egress name them, and so do the tests of these.
PRESETS='^blueprints/presets/egress/|/presets?(_rules)?_test[.]c$'
# Words that stand for an actor or a term without naming it. The folders are
# those whose comments have none.
RIDDLES='(^|[^[:alnum:]_])([Nn]obody|[Ww]hoever|[Aa]new|[Ss]tand-ins?)([^[:alnum:]_]|$)'
PLAIN='^(lib|init-guard|vault|net-preload|ottergate|control)/'
bad=0

# look WHAT PATTERN FILE...
look() {
	what=$1
	pattern=$2
	shift 2
	[ $# -gt 0 ] || return 0
	if grep -HnEI -- "$pattern" "$@" | sed "s|\$|   <- $what|"; then :; fi |
		grep . && bad=1
	return 0
}

# shellcheck disable=SC2046 # file names here hold no blanks
code() { sources '*.c' '*.h' '*.go' '*.yaml' Makefile Dockerfile; scripts; }
plain() { sources '*.c' '*.h' | grep -E "$PLAIN" || :; }
# shellcheck disable=SC2046
look 'mark of unfinished work' "$MARKS" $(code; sources '*.md' '*.[1-8]')
# shellcheck disable=SC2046
look 'word of unfinished work' "$UNDONE" $(code)
# shellcheck disable=SC2046
look 'path of one machine' "$PATHS" $(code; sources '*.md' '*.json' '*.[1-8]')
# shellcheck disable=SC2046
look 'name of a registry' "$REGISTRIES" $({ code; sources '*.md' '*.[1-8]'; } |
	grep -Ev "$PRESETS")
# shellcheck disable=SC2046
look 'riddle: name who or what' "$RIDDLES" $(plain)
# shellcheck disable=SC2046
look 'blank at the end of a line' '[[:blank:]]$' $(code; sources '*.md')
cr=$(printf '\r')
esc=$(printf '\033')
# shellcheck disable=SC2046
look 'control byte' "[$cr$esc]" $(code; sources '*.md')
exit $bad
