#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 80_users.bats - workspace files belong to the caller, root or not
#
# The plain user takes over the test's container name, and with it the volume
# of built images; the suite's own ac-host is started again afterwards.

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

USER_ID=4242

setup_file() {
	user_dir=$(mktemp -d /tmp/ac-test-user.XXXXXX)
	export user_dir
}

teardown_file() {
	gone u1
	docker rm -f "$AC_HOST" >/dev/null 2>&1 || true
	rm -rf "$user_dir"
	"$AC" start --quiet
}

# as_user COMMAND... - uid 4242, in no group but the engine's
as_user() {
	setpriv --reuid $USER_ID --regid $USER_ID \
		--groups "$(stat -c %g /var/run/docker.sock)" \
		env HOME="$user_dir" AC_HOME="$user_dir/home" "$@"
}

# owners DIR - uid:gid of all in it, each once
owners() { find "$1" -mindepth 1 -printf '%U:%G\n' | sort -u; }

@test "files an agent makes belong to the caller outside" {
	local me dir=$AC_TEST_TMP/mine
	me=$(id -u):$(id -g)
	mkdir -p "$dir"
	echo in >"$dir/in"
	run --separate-stderr "$AC" run base u1 --workspace "$dir:live" -- sh -c \
		'stat -c %u:%g in; touch new; mkdir d; ln -s in l; echo >>in'
	code 0
	is 1000:1000
	[ "$(owners "$dir")" = "$me" ]
	[ "$(owners "$AC_HOME/instances/u1/workspace")" = "" ]
	run -0 "$AC" destroy u1 --yes
	run -0 "$AC" run base u1 -- sh -c 'touch own; mkdir d; touch d/e'
	[ "$(owners "$AC_HOME/instances/u1/workspace")" = "$me" ]
}

@test "files of a foreign uid do not become the agent's" {
	need_root
	local dir=$AC_TEST_TMP/foreign
	mkdir -p "$dir"
	echo private >"$dir/f"
	chmod 600 "$dir/f"
	chown 777:777 "$dir/f"
	run --separate-stderr "$AC" run base u1 --workspace "$dir:live" -- sh -c \
		'stat -c %u f; cat f 2>&1'
	lacks private
	[[ $output != 1000* ]]
}

@test "a plain user of the docker group runs it all without root" {
	need_root
	[ -S /var/run/docker.sock ] || skip "no engine socket to share"
	mkdir -p "$user_dir/home"
	borrow_cache "$user_dir/home"
	chown -R $USER_ID:$USER_ID "$user_dir"
	as_user test -x "$AC" || skip "this folder is closed to other users"
	as_user docker version >/dev/null || skip "the engine's group is closed"
	run -0 "$AC" stop
	docker rm -f "$AC_HOST" >/dev/null
	run as_user "$AC" run base u2 -- uname -r
	code 0
	has 4.19.0-gvisor
	as_user mkdir "$user_dir/work"
	run as_user "$AC" run base u2 --workspace "$user_dir/work:live" -- \
		sh -c 'id -u; touch made'
	code 0
	has 1000
	[ "$(owners "$user_dir/work")" = $USER_ID:$USER_ID ]
	run as_user "$AC" run base u3 -- touch own
	code 0
	[ "$(owners "$user_dir/home/instances/u3/workspace")" = \
		$USER_ID:$USER_ID ]
	run as_user "$AC" destroy u3 --yes
	code 0
	[ ! -e "$user_dir/home/instances/u3" ]
	run as_user "$AC" stop
	code 0
}
