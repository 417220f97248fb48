# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# agents.bash - the shipped agents with a model, a forge and a task
#
# Each agent is one of a blueprint of the user's own, over the shipped one of its
# name, that may push. The model (tests/fake/model.py) has its agents write a program
# and its test, commit both and push the branch.

# shellcheck source=tests/attack/world.bash
. "$AC_SRC/tests/attack/world.bash"
# shellcheck source=tests/attack/forge.bash
. "$AC_SRC/tests/attack/forge.bash"

# agents_may_push AGENT
agents_may_push() {
	local folder=$AC_HOME/blueprints/$1
	mkdir -p "$folder"
	printf '%s\n' 'version: 2' "extends: $1" 'credentials:' \
		'  - { name: github, git: { push: allow } }' \
		>"$folder/blueprint.yaml"
}

# agents_up AGENT... - their images, a world with the forge, and all tokens
agents_up() {
	local agent
	# By the machine's own way to its registries, so before the forge's CA.
	for agent; do
		"$AC" build "$agent" >"$AC_TEST_TMP/build-$agent.log" 2>&1 \
			3>&- || {
			sed 's/^/# /' "$AC_TEST_TMP/build-$agent.log" >&3
			return 1
		}
	done
	forge_host_up </dev/null && forge_vault || return 1
	for agent; do agents_may_push "$agent"; done
}

agents_down() {
	local agent
	for agent; do
		gone "box-$agent"
		rm -rf "$AC_HOME/blueprints/$agent"
	done
	"$AC" vault rm --yes github gitlab npm pypi anthropic openai gemini \
		service
	rm -rf "$AC_TEST_TMP"/task-* "$AC_TEST_TMP/gitconfig"
	forge_host_down
}

# agent_clone BRANCH - a user's clone, with a word that is in no commit; sets dir and
# word, and whose git it is
agent_clone() {
	dir=$AC_TEST_TMP/task-$1
	rm -rf "$dir"
	git clone -q "$FORGE/repos/otter/one.git" "$dir"
	git -C "$dir" remote set-url origin https://github.com/otter/one.git
	git -C "$dir" checkout -q -b "$1"
	word=$(forge_random 16)
	echo "$word" >"$dir/word"
	export GIT_CONFIG_GLOBAL=$AC_TEST_TMP/gitconfig
	git config --global user.name Otter
	git config --global user.email otter@cred.test
}

# agent_did BRANCH - the files of the task are in the workspace, and a commit of the
# user's with them has arrived
agent_did() {
	local bare=$FORGE/repos/otter/one.git
	grep -qx '    return rain < 42' "$dir/dam.py"
	grep -qx 'import dam' "$dir/dam_test.py"
	[ "$(git -C "$bare" rev-parse "$1")" = \
		"$(git -C "$dir" rev-parse HEAD)" ]
	run -0 git -C "$bare" show --format='%an <%ae> %s' --name-only "$1"
	is 'Otter <otter@cred.test> Hold the rain

dam.py
dam_test.py'
}
