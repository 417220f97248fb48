#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 12_project.bats - a repository brings a blueprint along: it narrows what runs, and
# only as its user has approved it

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

setup() {
	dir=$AC_TEST_TMP/project/code
	rm -rf "${dir%/*}"
	mkdir -p "$dir/.ac"
	echo secret >"$dir/.env"
	chmod -R a+rwX "$dir"
	cd "$dir" || return
}

teardown() {
	gone base-code base-code-2
	"$AC" blueprint forget "$dir" 2>/dev/null || true
	rm -rf "${dir%/*}"
}

# project LINE... - its own blueprint
project() {
	printf '%s\n' 'version: 2' 'extends: base' "$@" >.ac/blueprint.yaml
}

narrow() {
	project 'run: { env: { APP_MODE: one } }' 'blocked_paths: [.env]' \
		'resources: { memory: 256m }' 'egress: { deny: [.example.net] }'
}

@test "it is refused until it is approved, and leaves nothing" {
	narrow
	run -125 "$AC" run . -- true </dev/null
	says 'not approved: `ac blueprint approve'
	run -125 "$AC" run base . --json -- true </dev/null
	says '"code":"project_unapproved"'
	run -125 "$AC" run base . -d </dev/null
	run -1 "$AC" inspect base-code
	# It is the file that stops it.
	run -0 --separate-stderr "$AC" run base . --no-project -- \
		sh -c 'echo "$APP_MODE"; cat .env'
	is $'\nsecret'
}

@test "approved it narrows, and a directory alone is run by it" {
	narrow
	run -0 "$AC" blueprint approve . --yes
	run -0 "$AC" blueprint approve . --yes
	says 'is approved as it is'
	run -0 --separate-stderr "$AC" run . -- \
		sh -c 'echo "$APP_MODE"; cat .env 2>/dev/null; true'
	is one
	[ "$(field base-code '.memory / 1048576')" -eq 256 ]
	run -0 --separate-stderr "$AC" run base . -- hostname
	is base-code
	run -3 "$AC" policy check base-code https://www.example.net/
	run -0 "$AC" blueprint ls --json
	[ "$(jq -r '.projects[0].dir' <<<"$output")" = "$dir" ]
	[ "$(jq -r '.projects[0].hash' <<<"$output")" = \
		"$(field base-code .project)" ]
	run -0 "$AC" blueprint forget .
	run -125 "$AC" run base-code -- true </dev/null
	says 'not approved'
}

@test "what it may not set is refused with its line" {
	local line
	for line in 'image: base' 'run: { command: [sh] }' 'pool: 3' \
		'run: { env: { LD_PRELOAD: /workspace/x.so } }' \
		'egress: { allow: [evil.example] }' 'egress: { mode: open }' \
		'egress: { use: [github] }' 'isolation: crun' \
		'credentials: [{ name: github, mode: handover, env: T }]' \
		'files: [{ path: .profile, text: evil }]' \
		'resources: { memory: none }' 'mounts: [{ from: /srv, to: /mnt/srv }]' 'live: true' \
		'filesystem: { root: writable }' 'a: &a [*a]'; do
		project "$line"
		run "$AC" run . -- true </dev/null
		code 125
		says '\.ac/blueprint\.yaml:3:'
		run -1 "$AC" blueprint approve . --yes
		says '\.ac/blueprint\.yaml:3:'
	done
	run -1 "$AC" inspect base-code
	run -1 "$AC" blueprint check .ac/blueprint.yaml
	# One that says what is to be run, and another is named.
	project
	sed -i 's/extends: .*/extends: claude/' .ac/blueprint.yaml
	run -125 "$AC" run base . -- true </dev/null
	says "extends 'claude'"
	sed -i 's/extends: .*/extends: nobody/' .ac/blueprint.yaml
	run -125 "$AC" run . -- true </dev/null
	says "blueprint.yaml:2:.*no blueprint 'nobody'"
}

@test "each change is asked about, and a file that is gone is one" {
	narrow
	"$AC" blueprint approve . --yes
	run -0 "$AC" run .:live -- sh -c 'echo "# note" >>.ac/blueprint.yaml'
	run -0 "$AC" run . -- sed -i /example.net/d .ac/blueprint.yaml
	run -125 "$AC" run . -- true </dev/null
	says 'has changed since'
	run -125 "$AC" run base-code -- true </dev/null
	says 'has changed since'
	run -0 "$AC" blueprint approve . --yes
	says '^  - +- "\.example\.net"'
	lacks APP_MODE
	run -0 "$AC" run base-code -- rm .ac/blueprint.yaml
	run -125 "$AC" run base . -- true </dev/null
	says 'approved and is gone: `ac blueprint forget'
	run -0 "$AC" blueprint forget .
	run -0 --separate-stderr "$AC" run base . -- \
		sh -c 'echo "$APP_MODE"; cat .env'
	is $'\nsecret'
	[ "$(field base-code .project)" = null ]
	[ "$(field base-code '.memory / 1048576')" -gt 256 ]
}

@test "in its place a link, a pipe or a large file is refused, unread" {
	narrow
	mv .ac/blueprint.yaml ../real.yaml
	ln -s ../../real.yaml .ac/blueprint.yaml
	run -125 "$AC" run base . -- true </dev/null
	says 'is a link'
	rm .ac/blueprint.yaml
	mkfifo .ac/blueprint.yaml
	run -125 "$AC" run base . -- true </dev/null
	says 'not a regular file'
	rm .ac/blueprint.yaml
	truncate -s 1G .ac/blueprint.yaml
	run -125 "$AC" run base . -- true </dev/null
	says 'more than 64 KiB'
	rm -r .ac
	mkdir ../elsewhere
	mv ../real.yaml ../elsewhere/blueprint.yaml
	ln -s ../elsewhere .ac
	run -125 "$AC" run base . -- true </dev/null
	says 'is a link'
	rm .ac
	run -0 "$AC" run base . -- true
}

# on_terminal KEYS - answers when it is asked, after $swap was done
on_terminal() {
	cat >"$BATS_TEST_TMPDIR/script" <<-END
		set timeout 120
		spawn $AC run . -- printenv APP_MODE
		expect {
			"Go on?" {}
			default { exit 99 }
		}
		exec sh -c {$swap}
		send "$1"
		expect eof
		exit [lindex [wait] 3]
	END
	expect -f "$BATS_TEST_TMPDIR/script"
}

@test "on a terminal it is shown and asked about; what was shown is run" {
	need expect
	swap=true
	project 'run: { env: { APP_MODE: "a\e[2Jb\u202ec" } }'
	run on_terminal 'n\r'
	code 125
	says '  \+ +"APP_MODE": .*u001b'
	has 'the file sets: run.env'
	lacks $'\e[2J'
	lacks $'\u202e'
	run -1 "$AC" inspect base-code
	# The file is another one by the time of the answer.
	narrow
	swap='sed -i s/one/two/ .ac/blueprint.yaml'
	run on_terminal 'y\r'
	code 0
	has one
	lacks two
	run -125 "$AC" run . -- true </dev/null
	says 'has changed since'
	swap=true
	run on_terminal 'y\r'
	code 0
	says '  \+ +"APP_MODE": two'
	run -0 --separate-stderr "$AC" run . -- printenv APP_MODE </dev/null
	is two
}
