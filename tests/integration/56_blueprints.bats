#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# 56_blueprints.bats - blueprints of one's own: all mistakes at once, where each
# line is from, and what their agent is shown

load common

setup_file() {
	mkdir -p "$AC_HOME/blueprints"
}

teardown_file() {
	gone bad able
	rm -rf "$AC_HOME"/blueprints/{begun,wrong,able,abler}
}

@test "a new blueprint is good, and differs from its parent by its description" {
	rm -rf "$AC_HOME/blueprints/begun"
	run -0 "$AC" blueprint new begun
	is "$AC_HOME/blueprints/begun/blueprint.yaml"
	run -0 "$AC" blueprint check begun
	run -0 "$AC" blueprint diff begun
	[ "$(grep -c '^[-+][a-z]' <<<"$output")" -eq 2 ]
	says '^\+description: .*# '"$AC_HOME"'/blueprints/begun/blueprint.yaml:9$'
	run -1 "$AC" blueprint new begun
	says 'stays as it is'
}

@test "what is resolved can be read again" {
	run -0 "$AC" blueprint show begun --resolved
	says '^  memory: 4g  # .*/blueprints/base/blueprint.yaml:[0-9]+$'
	run -0 "$AC" blueprint check - <<<"$output"
}

@test "all mistakes of a blueprint are named at once" {
	mkdir -p "$AC_HOME/blueprints/wrong"
	cat >"$AC_HOME/blueprints/wrong/blueprint.yaml" <<'END'
version: 2
extends: base
resources: { memory: lots }
egres: { mode: open }
run: { args: apend }
END
	run -1 "$AC" blueprint check wrong
	[ "${#lines[@]}" -eq 3 ]
	says ':3:22: memory must be a size'
	says ":4:8: unknown key 'egres': did you mean 'egress'"
	says ':5:14: args must be append or replace'
	run -1 "$AC" blueprint check wrong --json
	[ "$(jq -c '[.errors[] | [.code, .line, .suggestion]]' <<<"$output")" = \
		'[["wrong_value",3,null],["unknown_key",4,"egress"],["wrong_value",5,"append"]]' ]
	run -125 "$AC" run wrong bad -- true
	says 'and 2 more'
}

# able - a blueprint with a skill, a link in which is a secret's
able() {
	rm -rf "$AC_HOME/blueprints/able"
	mkdir -p "$AC_HOME/blueprints/able/skills/review"
	echo 'read it twice' >"$AC_HOME/blueprints/able/skills/review/SKILL.md"
	printf '%s\n' '#!/bin/sh' 'echo reviewed' \
		>"$AC_HOME/blueprints/able/skills/review/run.sh"
	chmod 700 "$AC_HOME/blueprints/able/skills/review/run.sh"
	cat >"$AC_HOME/blueprints/able/blueprint.yaml" <<'END'
version: 2
extends: base
skills: { folders: [skills/review], paths: [.agents/skills] }
END
}

@test "a skill is where the agent looks, and nobody in the sandbox changes it" {
	local kind
	able
	for kind in '--runtime runsc' '--runtime docker' '--isolation crun'; do
		# shellcheck disable=SC2016,SC2086
		run -0 "$AC" run able able $kind -- sh -c '
			cd ~/.agents/skills/review && cat SKILL.md && ./run.sh
			echo more >>SKILL.md || echo kept
			rm -f run.sh || echo kept
			touch new || echo kept
			rm ~/.agents/skills/review && echo unlinked'
		has 'read it twice'
		has reviewed
		[ "$(grep -cx kept <<<"$output")" -eq 3 ]
		has unlinked
		# shellcheck disable=SC2086
		run -0 "$AC" run able able $kind -- \
			cat /home/node/.agents/skills/review/SKILL.md
		has 'read it twice'
		[ "$(cat "$AC_HOME/blueprints/able/skills/review/SKILL.md")" = \
			'read it twice' ]
	done
}

@test "check misses the folder of a skill" {
	able
	sed -i 's,skills/review,skills/reviews,' \
		"$AC_HOME/blueprints/able/blueprint.yaml"
	run -1 "$AC" blueprint check able
	says 'able/blueprint.yaml:3:1: there is no skills/reviews/SKILL.md'
	run -125 "$AC" run able able -- true
	says 'skill skills/reviews: there is no such folder'
}

@test "a link in a skill ends the start, and what it leads to stays hidden" {
	able
	ln -s /etc/shadow "$AC_HOME/blueprints/able/skills/review/shadow"
	run -125 "$AC" run able able -- cat /usr/share/agent-skills/review/shadow
	says 'skills/review/shadow: is a link'
	lacks root:
	rm "$AC_HOME/blueprints/able/skills/review/shadow"
	run -0 --separate-stderr "$AC" run able able -- \
		ls /usr/share/agent-skills/review
	is 'SKILL.md
run.sh'
}
