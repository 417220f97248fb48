#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 50_commands.bats - the other commands: lists, state, clean, destroy, build

# shellcheck disable=SC2016 # the inner shell expands
load common

setup_file() {
	"$AC" run base cmd -d -- sh -c 'echo hello; sleep infinity'
}

teardown_file() {
	gone cmd cmd2 cmd3 cmd4 cmd8 cmd9 cmdold own cfg1 cfg2
	rm -rf "$AC_HOME/blueprints/other" "$AC_HOME/presets"
}

@test "every command of the list answers --help with exit code 0" {
	for c in start stop down restart status stats space df list ls run \
		shell exec attach stop-instance rm logs clean destroy \
		clean-all destroy-all prune build doctor inspect top cp fetch mcp version \
		completion schema presets; do
		run -0 "$AC" "$c" --help
		[ -n "$output" ]
	done
}

@test "an unknown command and an unknown option name themselves, exit 2" {
	run -2 "$AC" frobnicate
	says frobnicate
	run -2 "$AC" ls --frobnicate
	says frobnicate
	run -125 "$AC" run base cmd2 --frobnicate -- true
	says frobnicate
	lacks 'did you mean'
	run -2 "$AC" policy alow cmd x.example
	says 'did you mean `ac policy allow`'
	run -2 "$AC" vault ad github
	says 'did you mean `ac vault add`'
	run -2 "$AC" help vault ad
	says 'did you mean `ac help vault add`'
	run -125 "$AC" run base cmd2 --wrkspace /tmp -- true
	says 'did you mean --workspace'
}

@test "git in a new instance commits as its user, once told" {
	local own="$BATS_TEST_TMPDIR/gitconfig"
	git config --file "$own" user.name 'Ada "L" Love'
	git config --file "$own" user.email ada@x.example
	GIT_CONFIG_GLOBAL=$own run -0 "$AC" run base cfg1 -- \
		git var GIT_AUTHOR_IDENT
	says 'commits as Ada "L" Love <ada@x.example>'
	says '^Ada "L" Love <ada@x.example> '
	GIT_CONFIG_GLOBAL=$own run -0 "$AC" run cfg1 -- sh -c '
		git config --global user.name Inside; git var GIT_AUTHOR_IDENT
		git config protocol.ext.allow'
	says '^Inside <ada@x.example> '
	says '^never'
	lacks 'commits as'
	GIT_CONFIG_GLOBAL=$own run -0 "$AC" run base cfg2 \
		-e GIT_AUTHOR_NAME=Other -e GIT_AUTHOR_EMAIL=o@x.example -- \
		git var GIT_AUTHOR_IDENT
	says '^Other <o@x.example> '
	lacks 'Ada'
	gone cfg1 cfg2
}

@test "config: a default is that of a new instance, unless it is given" {
	run -0 "$AC" config set defaults.pids 111
	run -0 "$AC" config set defaults.egress locked
	run -0 "$AC" run base cfg1 -- true
	says 'defaults of .*--pids 111 --egress locked'
	[ "$(field cfg1 .pids)" = 111 ]
	[ "$(field cfg1 .egress.mode)" = locked ]
	run -0 "$AC" run base cfg2 --pids 99 --egress open -- true
	[ "$(field cfg2 .pids)" = 99 ]
	[ "$(field cfg2 .egress.mode)" = open ]
	run -0 "$AC" config unset defaults.pids
	run -0 "$AC" config unset defaults.egress
	# It stays with the instance, and the next one has none.
	run -0 "$AC" run cfg1 -- true
	[ "$(field cfg1 .pids)" = 111 ]
	gone cfg1 cfg2
	run -0 "$AC" run base cfg1 -- true
	[ "$(field cfg1 .pids)" != 111 ]
	gone cfg1
}

@test "config: keys that are none are refused with their place" {
	run -2 "$AC" config set loop_device 4
	says "did you mean 'loop_devices'"
	run -2 "$AC" config set loop_devices many
	printf 'gpus: all\ndefaults:\n  memmory: 2g\n' >"$AC_HOME/config.yaml"
	run -1 "$AC" config ls
	says 'config.yaml:3:12: .*defaults.memory'
	run -125 "$AC" run base cfg1 -- true
	says 'config.yaml:3:12'
	run ! "$AC" inspect cfg1
	EDITOR='sed -i s/memmory/mem/' run -1 "$AC" config edit
	grep -q memmory "$AC_HOME/config.yaml"
	EDITOR='sed -i s/memmory/memory/' run -0 "$AC" config edit
	run -0 "$AC" config get defaults.memory
	is 2g
	[ ! -e "$AC_HOME/config.edit.yaml" ]
	rm "$AC_HOME/config.yaml"
}

@test "config: registries are those of builds and of the preset" {
	local home="$BATS_TEST_TMPDIR/home"
	mkdir "$home"
	AC_HOME=$home run -0 "$AC" config set registries.npm \
		https://npm.company.example/
	AC_HOME=$home AC_REGISTRY_NPM=https://npm.company.example/ \
		"$AC_SRC/images/setup/build-env.sh"
	grep -q "NPM_CONFIG_REGISTRY='https://npm.company.example/'" \
		"$home/cache/build-env/build.env"
	grep -q npm.company.example "$home/policy/machine.yaml"
}

@test "--json is JSON, everywhere that data is printed" {
	for c in ls list status 'stats --once' df version doctor \
		'inspect cmd' 'top cmd'; do
		# shellcheck disable=SC2086 # words are meant
		run --separate-stderr "$AC" $c --json
		code 0
		jq -es 'length > 0' <<<"$output" >/dev/null ||
			{ echo "$c: $output"; false; }
	done
}

@test "ls shows name, blueprint and state; list shows the blueprints" {
	run -0 "$AC" ls
	grep -E 'cmd +base +running' <<<"$output"
	run -0 "$AC" list
	grep -w base <<<"$output"
}

@test "inspect tells what the run was asked to be" {
	run -0 "$AC" inspect cmd
	jq -e '.name == "cmd" and .blueprint == "base" and
		.state == "running" and .isolation == "runsc" and
		.exit_code == null and .runs == 1 and .detached == true and
		(.cmd | length) == 3' <<<"$output"
}

@test "status names the parts; doctor finds nothing broken" {
	run -0 "$AC" status --json
	jq -e '.state == "ready" and .engine.state == "up" and
		.runtime.state == "ok" and .instances.running >= 1' \
		<<<"$output"
	run "$AC" doctor
	code 0
}

@test "top shows the processes of the sandbox" {
	run -0 "$AC" top cmd
	has 'sleep infinity'
}

@test "--quiet talks to nobody on stderr" {
	run --separate-stderr "$AC" run base cmd2 --quiet -- true
	code 0
	# shellcheck disable=SC2154 # set by run
	[ -z "$output$stderr" ]
}

@test "schema prints what a blueprint, a policy and a request may have" {
	for name in blueprint policy preset; do
		run -0 "$AC" schema "$name"
		# A blueprint is one of two: each version has its keys.
		jq -e '."$schema" and all(.anyOf // [.] | .[];
			.properties.version)' <<<"$output"
	done
	run -0 "$AC" schema openapi
	jq -e '.openapi and .paths."/v1/run".post.requestBody' <<<"$output"
	run -2 "$AC" schema vault
	says 'none of'
}

@test "completion loads in bash, zsh and fish" {
	run -0 bash -c '. <("$AC" completion bash) && complete -p ac'
	if command -v zsh >/dev/null; then
		"$AC" completion zsh | zsh -n
	fi
	if command -v fish >/dev/null; then
		"$AC" completion fish | fish -n
	fi
	run -2 "$AC" completion tcsh
}

@test "completion in bash finds commands, instances and blueprints" {
	complete_words() {
		bash -c '. <("$AC" completion bash)
			COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
			COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
			f=$(complete -p ac |
				sed -E "s/.* -F ([^ ]+).*/\1/")
			"$f" ac "${@: -1}" "${@: -2:1}"
			printf "%s\n" "${COMPREPLY[@]}"' - "$@"
	}
	ln -s "$AC" "$BATS_TEST_TMPDIR/ac"
	PATH=$BATS_TEST_TMPDIR:$PATH
	run complete_words ac destr
	has destroy
	run complete_words ac exec cm
	has cmd
	run complete_words ac run ba
	has base
}

@test "clean of a running instance is refused" {
	run ! "$AC" clean cmd --yes
	says 'running'
	says 'stop-instance cmd'
	state_is cmd running
}

@test "destroy of a running instance wants more than --yes" {
	run -1 "$AC" destroy cmd --yes
	says 'stop-instance cmd'
	state_is cmd running
}

@test "clean wipes the home with its credentials, keeps the workspace" {
	run -0 "$AC" run base cmd2 -- sh -c \
		'echo token >~/.netrc; mkdir -p ~/.config/x; echo w >w'
	run -0 "$AC" clean cmd2 --yes
	[ "$(cat "$AC_HOME/instances/cmd2/workspace/w")" = w ]
	[ ! -e "$AC_HOME/instances/cmd2/home/.netrc" ]
	run -0 "$AC" run base cmd2 -- sh -c 'cat w; ls -A ~ | grep netrc; :'
	is w
}

@test "destroy asks; without a terminal it wants --yes" {
	run -2 "$AC" destroy cmd2 </dev/null
	says -- '--yes'
	[ -e "$AC_HOME/instances/cmd2/workspace/w" ]
	run script -qec "$AC destroy cmd2" /dev/null <<<n
	[ -e "$AC_HOME/instances/cmd2/workspace/w" ]
	run -0 "$AC" destroy cmd2 --yes
	[ ! -e "$AC_HOME/instances/cmd2" ]
	run ! "$AC" inspect cmd2
}

@test "destroy never deletes a workspace that the user gave" {
	local dir=$AC_TEST_TMP/own
	mkdir -p "$dir"
	run -0 "$AC" run base own --workspace "$dir:live" -- sh -c 'echo x >made'
	run -0 "$AC" destroy own --yes
	[ "$(cat "$dir/made")" = x ]
}

@test "--workspace :ro can be read and not be written" {
	local dir=$AC_TEST_TMP/ro
	mkdir -p "$dir"
	echo data >"$dir/file"
	run --separate-stderr "$AC" run base own --workspace "$dir:ro" -- \
		sh -c 'cat file; touch new 2>/dev/null || echo refused'
	is "data
refused"
	[ ! -e "$dir/new" ]
}

@test "a workspace that is not there, / and AC_HOME are refused" {
	for dir in "$AC_TEST_TMP/no-such-dir" / "$AC_HOME"; do
		run -125 "$AC" run base cmd3 --workspace "$dir" -- true
		says workspace
	done
}

@test "a tree of hostile names and great depth is destroyed all the same" {
	run -0 "$AC" run base cmd4 -- python3 -c '
import os
open("new\nline\x1b[31m", "w").close()
os.symlink("/etc/passwd", "link")
for i in range(2000):
    os.mkdir("d" * 20)
    os.chdir("d" * 20)
'
	run -0 "$AC" destroy cmd4 --yes
	[ ! -e "$AC_HOME/instances/cmd4" ]
	[ -e /etc/passwd ]
}

@test "a blueprint of the user's own is found, built and run" {
	mkdir -p "$AC_HOME/blueprints/other"
	printf '%s\n' 'version: 1' 'description: of the tests' 'image: base' \
		'command: [sh, -c, "echo $KIND"]' 'env: { KIND: other }' \
		'limits: { cpus: 1, memory: 512m, pids: 99 }' \
		>"$AC_HOME/blueprints/other/blueprint.yaml"
	run --separate-stderr "$AC" run other cmd3
	code 0
	is other
	[ "$(field cmd3 .pids)" = 99 ]
}

@test "presets of prompts are in the file where the agent looks" {
	mkdir -p "$AC_HOME/blueprints/other" "$AC_HOME/presets/prompts"
	printf '%s\n' 'version: 1' 'about: of the tests' 'text: be kind' \
		>"$AC_HOME/presets/prompts/mine.yaml"
	printf '%s\n' 'version: 2' 'extends: base' 'prompt:' \
		'  use: [git-workflow, mine]' '  paths: [.x/RULES.md]' \
		>"$AC_HOME/blueprints/other/blueprint.yaml"
	run -0 "$AC" run other cmd9 -- sh -c 'cat ~/.x/RULES.md'
	has 'You work in a sandbox' # the text of base
	has '## Git'
	[ "$(tail -n 1 <<<"$output")" = 'be kind' ]
	run -0 "$AC" blueprint show other --resolved
	has '# be kind'
	run -0 "$AC" presets show mine
	has 'be kind'
	sed -i 's/mine\]/none-such]/' "$AC_HOME/blueprints/other/blueprint.yaml"
	run -1 "$AC" blueprint check other
	says "blueprint.yaml:4:23: there is no preset 'none-such' of prompts"
}

@test "build of an image that is there ends at once with 0" {
	run -0 "$AC" build base
}

@test "clean-all and destroy-all ask, and spare the running" {
	run -2 "$AC" clean-all </dev/null
	run -2 "$AC" destroy-all </dev/null
	state_is cmd running
}

@test "prune destroys what stopped long ago, and spares what runs" {
	run -0 "$AC" run -q base cmdold -- true
	run -2 "$AC" prune --older soon
	says 'not a time .90s, 15m, 8h, 7d.'
	run -0 "$AC" prune --older 30d -y
	eventually state_is cmdold stopped # a run returns before it is
	run -0 "$AC" ls -q --running
	[[ $output != *cmdold* ]]
	grep -qx cmd <<<"$output"
	run -0 "$AC" prune --dry-run -q
	grep -qx cmdold <<<"$output"
	state_is cmdold stopped
	run -2 "$AC" prune </dev/null
	state_is cmdold stopped
	run -0 "$AC" prune -y
	run -1 "$AC" inspect cmdold
	state_is cmd running
}

@test "df counts images, workspaces, homes and logs" {
	run -0 "$AC" df --json
	jq -e '.images_bytes > 0 and .disk_free_bytes > 0 and
		([.instances[].name] | index("cmd") != null)' <<<"$output"
}

# extra_ca_left_out - for one call, and what was changed by hand
extra_ca_left_out() {
	AC_EXTRA_CA=none run -0 "$AC" restart
	says 'AC_EXTRA_CA=none holds for this call, not extra_ca'
	says 'no longer trust'
	[ ! -e "$AC_HOME/ca/extra.pem" ]
	cmp "$BATS_TEST_TMPDIR/ca.pem" "$AC_HOME/ca/extra.pem.before"
	run -0 "$AC" restart
	cmp "$BATS_TEST_TMPDIR/ca.pem" "$AC_HOME/ca/extra.pem"
	rm "$AC_HOME/config.yaml"
	# By hand, and nothing says otherwise: it stays.
	echo '# mine' >>"$AC_HOME/ca/extra.pem"
	run -0 "$AC" restart
	says 'changed by hand'
	grep -qx '# mine' "$AC_HOME/ca/extra.pem"
}

@test "config: loop devices and a CA outlive a start without variables" {
	takes_long
	need_root # and what runs here is stopped: the last test of all
	printf '%s\n' '# kept' >"$AC_HOME/config.yaml"
	openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=company -days 2 \
		-keyout /dev/null -out "$BATS_TEST_TMPDIR/ca.pem" 2>/dev/null
	run -0 "$AC" config set extra_ca "$BATS_TEST_TMPDIR/ca.pem"
	says 'ac restart'
	run -0 "$AC" config set loop_devices 1
	grep -qx '# kept' "$AC_HOME/config.yaml"
	run -0 "$AC" restart
	cmp "$BATS_TEST_TMPDIR/ca.pem" "$AC_HOME/ca/extra.pem"
	if [ -e /dev/loop0 ]; then
		[ "$(docker inspect -f '{{len .HostConfig.Devices}}' \
			"$AC_HOST")" -ge 1 ]
	fi
	extra_ca_left_out
	rm -f "$AC_HOME/config.yaml" "$AC_HOME"/ca/extra.pem*
	run -0 "$AC" restart
}

@test "what can mean nothing starts no host" {
	run -0 "$AC" stop
	run -125 "$AC" run bse cmd9 -- true
	says 'no blueprint .bse.'
	run -1 "$AC" clean cmd9 --yes
	says 'no instance .cmd9.'
	run -1 "$AC" destroy cmd9 --yes
	says 'no instance .cmd9.'
	run -3 "$AC" status
	run -0 "$AC" start
}

@test "a stdout that is closed is an error, not a loss" {
	run -0 "$AC" run base cmd8 -- echo hi
	is hi
	run sh -c '"$0" run base cmd8 -- echo hi >&-' "$AC"
	[ "$status" -ne 0 ]
	says 'cannot write to stdout'
}
