#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 33_blocked.bats - blocked_paths: what a blueprint hides of the workspace
# stays hidden, whatever the agent does to it and to what is around it

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

setup_file() {
	mkdir -p "$AC_HOME/blueprints/shy"
	cat >"$AC_HOME/blueprints/shy/blueprint.yaml" <<'END'
version: 1
image: base
command: [bash, -l]
blocked_paths: [.env, secrets/keys, later]
END
}

teardown_file() {
	rm -rf "$AC_HOME/blueprints/shy"
}

teardown() {
	gone shy1 shy2
}

# Every kind of sandbox has another way to the files.
kinds=('--runtime runsc' '--runtime docker' '--isolation crun')

# workspace DIR - with secrets in it that everybody may read and write
workspace() {
	rm -rf "$1"
	mkdir -p "$1/secrets/keys"
	echo TOPSECRET >"$1/.env"
	echo TOPSECRET >"$1/secrets/keys/key"
	echo open >"$1/open"
	chmod -R a+rwX "$1"
	listing "$1" >"$1.before"
}

listing() { (cd "$1" && find . -type f -exec sha256sum {} + | sort); }

@test "a blocked path cannot be read, listed, written, moved or removed" {
	for kind in "${kinds[@]}"; do
		workspace "$BATS_TEST_TMPDIR/w"
		# shellcheck disable=SC2086 # words are meant
		run "$AC" run shy shy1 $kind --workspace "$BATS_TEST_TMPDIR/w:live" \
			-- bash -c 'cat open
			cat .env secrets/keys/key; ls -A secrets/keys
			cat /proc/self/root/workspace/.env
			cat /proc/self/cwd/secrets/keys/key
			echo x >.env; echo x >secrets/keys/new
			mv .env seen && cat seen
			mv open .env && cat .env
			ln .env hard && cat hard
			mv secrets/keys keys && cat keys/key
			rm -f .env; rm -rf secrets/keys
			python3 -c "
import os
for f, a in ((os.rename, (\".env\", \"y\")), (os.unlink, (\".env\",)),
             (os.rmdir, (\"secrets/keys\",)), (os.link, (\".env\", \"z\")),
             (os.rename, (\"open\", \".env\")), (os.chmod, (\".env\", 0o644)),
             (os.truncate, (\".env\", 0))):
    try:
        f(*a)
        print(\"DONE\", f.__name__, a)
    except OSError:
        pass"
			grep -r TOPSECRET /workspace && echo FOUND
			true'
		code 0
		has open
		lacks TOPSECRET
		lacks FOUND
		lacks DONE
		listing "$BATS_TEST_TMPDIR/w" >"$BATS_TEST_TMPDIR/after"
		diff "$BATS_TEST_TMPDIR/w.before" "$BATS_TEST_TMPDIR/after"
		gone shy1
	done
}

@test "a directory above it cannot be moved away, so the next run hides it too" {
	for kind in "${kinds[@]}"; do
		workspace "$BATS_TEST_TMPDIR/w"
		# shellcheck disable=SC2086 # words are meant
		run "$AC" run shy shy1 $kind --workspace "$BATS_TEST_TMPDIR/w:live" \
			-- sh -c 'mv secrets moved && echo MOVED
			python3 -c "
import os
for f, a in ((os.rename, (\"secrets\", \"moved\")),
             (os.rmdir, (\"secrets\",))):
    try:
        f(*a)
        print(\"MOVED\", f.__name__)
    except OSError as e:
        print(e.strerror)"
			ls -A moved/keys; cat moved/keys/key
			mkdir secrets; mkdir other; mv other secrets/in
			grep -r TOPSECRET /workspace; echo end'
		code 0
		has 'Device or resource busy'
		has end
		lacks MOVED
		lacks TOPSECRET
		# shellcheck disable=SC2086
		run "$AC" run shy shy1 $kind --workspace "$BATS_TEST_TMPDIR/w:live" \
			-- sh -c 'ls -d secrets/in; cat */keys/key
			grep -r TOPSECRET /workspace; echo end'
		code 0
		has secrets/in
		has end
		lacks TOPSECRET
		grep -q TOPSECRET "$BATS_TEST_TMPDIR/w/secrets/keys/key"
		gone shy1
	done
}

@test "its neighbours, and the same names elsewhere, are as they were" {
	workspace "$BATS_TEST_TMPDIR/w"
	run --separate-stderr "$AC" run shy shy1 \
		--workspace "$BATS_TEST_TMPDIR/w:live" -- sh -c '
		mkdir sub; echo mine >sub/.env; cat sub/.env
		echo more >>open; cat open; echo new >secrets/new'
	code 0
	is "mine
open
more"
	[ "$(cat "$BATS_TEST_TMPDIR/w/secrets/new")" = new ]
	says 'not hidden in this run: later$'
}

@test "another blueprint sees it, and nothing is left of the cover" {
	workspace "$BATS_TEST_TMPDIR/w"
	run -0 "$AC" run shy shy1 --workspace "$BATS_TEST_TMPDIR/w:live" -- true
	run --separate-stderr "$AC" run base shy2 --workspace "$BATS_TEST_TMPDIR/w:live" -- cat .env
	code 0
	is TOPSECRET
	listing "$BATS_TEST_TMPDIR/w" >"$BATS_TEST_TMPDIR/after"
	diff "$BATS_TEST_TMPDIR/w.before" "$BATS_TEST_TMPDIR/after"
	[ ! -e "$BATS_TEST_TMPDIR/w/later" ]
}

@test "it is hidden from exec, and in the next run" {
	run -0 "$AC" run shy shy1 -- true
	workspace "$AC_HOME/instances/shy1/workspace"
	"$AC" run shy shy1 -d -- sleep infinity
	run "$AC" exec shy1 -- sh -c 'cat .env secrets/keys/key; cat open'
	has open
	lacks TOPSECRET
	run -0 "$AC" stop-instance shy1
	run "$AC" run shy shy1 -- sh -c 'cat .env; ls -A secrets/keys; cat open'
	has open
	lacks TOPSECRET
	lacks key
}

@test "a symbolic link in the way refuses the run and says which" {
	workspace "$BATS_TEST_TMPDIR/w"
	rm -rf "$BATS_TEST_TMPDIR/w/secrets"
	ln -s /etc "$BATS_TEST_TMPDIR/w/secrets"
	run -125 "$AC" run shy shy1 --workspace "$BATS_TEST_TMPDIR/w:live" -- \
		echo ran
	says 'secrets/keys.*link'
	lacks ran
	rm "$BATS_TEST_TMPDIR/w/secrets" "$BATS_TEST_TMPDIR/w/.env"
	ln -s open "$BATS_TEST_TMPDIR/w/.env"
	run -125 "$AC" run shy shy1 --workspace "$BATS_TEST_TMPDIR/w:live" -- \
		echo ran
	says "'.env'.*link"
	lacks ran
}

@test "no cover outlives a killed ac-host, and the next run has its own" {
	workspace "$BATS_TEST_TMPDIR/w"
	"$AC" run shy shy1 --workspace "$BATS_TEST_TMPDIR/w:live" -d -- \
		sleep infinity
	kill -9 "$(host_pid)"
	eventually "$AC" start
	listing "$BATS_TEST_TMPDIR/w" >"$BATS_TEST_TMPDIR/after"
	diff "$BATS_TEST_TMPDIR/w.before" "$BATS_TEST_TMPDIR/after"
	run "$AC" run shy shy1 --workspace "$BATS_TEST_TMPDIR/w:live" -- \
		sh -c 'cat .env; cat open'
	has open
	lacks TOPSECRET
}
