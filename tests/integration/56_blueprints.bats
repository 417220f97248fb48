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
	gone bad able shown shown2
	rm -rf "$AC_HOME"/blueprints/{begun,wrong,able,abler,shows}
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

@test "a skill is where the agent looks, and no program of the sandbox changes it" {
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

# shows MODE [FROM] - a blueprint that shows a directory at /mnt/docs
shows() {
	mkdir -p "$AC_HOME/blueprints/shows" "$docs"
	cat >"$AC_HOME/blueprints/shows/blueprint.yaml" <<END
version: 2
extends: base
mounts: [ { from: ${2:-$docs}, to: /mnt/docs, mode: $1 } ]
END
}

# A directory beside $AC_HOME.
docs=$AC_TEST_TMP/docs

@test "a mount is read in each runtime, and no program of the sandbox changes it" {
	local kind
	shows ro
	echo 'the manual' >"$docs/manual"
	chmod 600 "$docs/manual"
	for kind in '--runtime runsc' '--runtime docker' '--isolation crun'; do
		# shellcheck disable=SC2016,SC2086
		run -0 "$AC" run shows shown $kind -- sh -c '
			cd /mnt/docs && cat manual
			echo more >>manual || echo kept
			rm -f manual || echo kept
			touch new || echo kept
			mkdir /mnt/other || echo kept
			mv /mnt/docs /mnt/moved || echo kept'
		has 'the manual'
		[ "$(grep -cx kept <<<"$output")" -eq 5 ]
		lacks 'the agent writes to it'
		[ "$(ls -A "$docs")" = manual ]
		[ "$(cat "$docs/manual")" = 'the manual' ]
	done
	run -0 "$AC" inspect shown
	[ "$(jq -c '.mounts | map([.from, .to, .mode])' <<<"$output")" = \
		"[[\"$docs\",\"/mnt/docs\",\"ro\"]]" ]
	run -0 "$AC" blueprint show shows --resolved
	says 'to: /mnt/docs, mode: ro }.*shows/blueprint.yaml:3$'
}

@test "a live mount is the user's directory itself, and the start says so" {
	local kind
	shows live
	for kind in '--runtime runsc' '--runtime docker' '--isolation crun'; do
		# shellcheck disable=SC2086
		run -0 "$AC" run shows shown $kind -- \
			sh -c 'echo "from inside" >/mnt/docs/made'
		has "mount: /mnt/docs is $docs, live"
		[ "$(cat "$docs/made")" = 'from inside' ]
		[ "$(stat -c %u "$docs/made")" = "$(stat -c %u "$docs")" ]
		rm "$docs/made"
	done
	# A run without the mount has none.
	sed -i '/^mounts/d' "$AC_HOME/blueprints/shows/blueprint.yaml"
	run -0 "$AC" run shows shown -- true
	run -2 "$AC" run shows shown -- ls /mnt/docs
	says 'No such file'
	shows live
	run -125 "$AC" run shows shown --disk 64m -- true
	says 'disk limit cannot be kept for the live mounts'
}

@test "a mount never shows AC_HOME, and follows no link" {
	local from
	for from in "$AC_HOME" "$AC_HOME/run" "$(dirname "$AC_HOME")"; do
		shows ro "$from"
		run -125 "$AC" run shows shown2 -- ls /mnt/docs
		says "would show ac's own state"
	done
	shows ro
	rm -rf "$docs"
	ln -s "$AC_HOME" "$docs"
	run -125 "$AC" run shows shown2 -- ls /mnt/docs
	says 'leads through a link'
	rm "$docs"
	run -125 "$AC" run shows shown2 -- ls /mnt/docs
	says "mount $docs \(/mnt/docs\): there is no such directory: make it"
	touch "$docs"
	run -125 "$AC" run shows shown2 -- ls /mnt/docs
	says 'is not a directory'
	rm "$docs"
	# None of them has left an instance.
	run -1 "$AC" inspect shown2
}

@test "a link that an agent made in a live mount is no workspace" {
	shows live
	mkdir -p "$AC_TEST_TMP/private"
	run -0 "$AC" run shows shown -- \
		ln -s "$AC_TEST_TMP/private" /mnt/docs/way
	run -125 "$AC" run base shown2 --workspace "$docs/way" -- true
	says "a link that the instance 'shown' can change"
	rm -rf "$docs" "$AC_TEST_TMP/private"
}
