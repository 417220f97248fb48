#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 70_faults.bats - whatever is killed, no file is lost, nothing is left over,
# and the next command goes on
#
# The tests are in an order that saves restarts, but each begins by itself
# with a running ac-host.

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

setup() {
	"$AC" start --quiet
}

teardown_file() {
	docker rm -f "$AC_HOST2" >/dev/null 2>&1 || true
	docker volume rm -f "$AC_HOST2-docker" >/dev/null 2>&1 || true
	"$AC" start --quiet
	gone f1 f2 f3 f4
}

host_is_gone() { [ "$(docker inspect -f '{{.State.Running}}' "$AC_HOST")" != true ]; }

# no_leftovers - nothing in the nested engine, no sandbox process, no mount
no_leftovers() {
	[ -z "$(in_host docker ps -aq --filter label=ac.instance)" ] &&
		[ -z "$(in_host find /run/ac/bundles /run/ac/netns -mindepth 1)" ] &&
		! in_host pgrep -f 'runsc.*(boot|gofer)' >/dev/null &&
		! in_host grep -q ' /run/ac/mnt/' /proc/mounts
}

@test "kill -9 of the client ends its run" {
	"$AC" run base f1 -- sh -c 'echo alive; sleep 300' \
		>"$BATS_TEST_TMPDIR/out" 3>&- &
	local pid=$!
	eventually grep -q alive "$BATS_TEST_TMPDIR/out"
	kill -KILL $pid
	eventually state_is f1 stopped
	run "$AC" logs agent f1
	has alive
}

@test "kill -9 of a client leaves a run with -d alone" {
	"$AC" run base f2 -d -- sh -c 'while :; do echo tick; sleep 0.2; done'
	"$AC" logs agent f2 -f >"$BATS_TEST_TMPDIR/out" 3>&- &
	local pid=$!
	eventually grep -q tick "$BATS_TEST_TMPDIR/out"
	kill -KILL $pid
	"$AC" exec f2 -- sleep 300 3>&- &
	pid=$!
	sleeping() { "$AC" exec f2 -- pgrep -x sleep >/dev/null; }
	eventually sleeping
	kill -KILL $pid
	run -0 "$AC" exec f2 -- true
	state_is f2 running
}

@test "kill -9 of the client kills what it ran by exec" {
	"$AC" exec f2 -- sleep 4242 3>&- &
	local pid=$!
	there() { "$AC" exec f2 -- pgrep -f 'sleep 4242' >/dev/null; }
	eventually there
	kill -KILL $pid
	not_there() { ! there; }
	eventually not_there
}

@test "kill -9 of the nested engine: sandboxes go on, the engine is back" {
	need_root
	"$AC" run base f3 -d -- sleep infinity
	run -0 "$AC" exec f3 -- sh -c 'echo before >/workspace/f'
	old=$(engine_pid)
	kill -KILL "$old"
	run -0 "$AC" exec f3 -- cat /workspace/f
	back() {
		local pid
		pid=$(engine_pid) && [ "$pid" != "$old" ] &&
			[ "$("$AC" status --json |
				jq -r .engine.state)" = up ]
	}
	eventually back
	"$AC" status --json | jq -e '.engine.restarts >= 1'
	run -0 "$AC" exec f3 -- true
	run -0 "$AC" run base f4 -- echo new
	run -0 "$AC" stop-instance f3
	state_is f3 stopped
}

@test "kill -9 of acd: no file is lost, lost runs are said so" {
	need_root
	"$AC" run base f3 -d -- sh -c 'echo kept >/workspace/f; sync; sleep 999'
	written() { [ -s "$AC_HOME/instances/f3/workspace/f" ]; }
	eventually written
	kill -KILL "$(host_pid)"
	eventually host_is_gone
	run -0 "$AC" start
	[ "$(cat "$AC_HOME/instances/f3/workspace/f")" = kept ]
	[ "$(field f3 .state)" = failed ]
	[[ $(field f3 .reason) == *lost* ]]
	eventually no_leftovers
	run "$AC" run base f3 -- cat /workspace/f
	is kept
}

@test "kill -9 of ac-host: no file is lost, nothing is left over" {
	"$AC" run base f3 -d -- sleep infinity
	"$AC" run base f4 --rm -d -- sleep infinity
	run -0 "$AC" exec f3 -- sh -c 'echo again >/workspace/g; sync'
	docker kill -s KILL "$AC_HOST"
	eventually host_is_gone
	run "$AC" run base f3 -- cat /workspace/g
	code 0
	has again
	run ! "$AC" inspect f4
	eventually no_leftovers
}

@test "the outer container stopped by hand: the next command starts it" {
	docker stop -t 30 "$AC_HOST"
	run "$AC" run base f4 -- echo on
	code 0
	has on
}

@test "looking starts no ac-host that is stopped, and changes nothing" {
	run -0 "$AC" run base f3 -- sh -c 'echo one; echo two'
	run -0 "$AC" run base f4 -d -- sleep infinity
	docker kill -s KILL "$AC_HOST"
	eventually host_is_gone
	store() { (cd "$AC_HOME" && stat -c '%n %s %Y %Z' ac.db* && sha256sum ac.db*); }
	before=$(store)
	for words in ls list "inspect f3" "logs f3" "logs host" "logs proxy" df \
		"policy log"; do
		# shellcheck disable=SC2086 # two words
		run -0 --separate-stderr "$AC" $words
		# shellcheck disable=SC2154 # set by run
		[ "$(grep -c "is stopped" <<<"$stderr")" -eq 1 ]
	done
	run --separate-stderr "$AC" ls
	has f3
	run --separate-stderr "$AC" logs -n 1 f3
	is two
	run --separate-stderr "$AC" ls --json
	jq -e 'map(select(.name == "f4" and .state == "failed" and
		.host == "stopped" and (.reason | startswith("lost")))) |
		length == 1' <<<"$output"
	run --separate-stderr "$AC" inspect --json f3
	jq -e '.state == "stopped" and .exit_code == 0' <<<"$output"
	run --separate-stderr "$AC" df --json
	jq -e '.host == "stopped" and .images_bytes == null and
		([.instances[].name] | contains(["f3"]))' <<<"$output"
	run -3 --separate-stderr "$AC" status --json
	jq -e '.state == "down" and .instances.total >= 2' <<<"$output"
	for words in "policy show f3" presets "vault ls" usage stats; do
		# shellcheck disable=SC2086 # two words
		run -1 "$AC" $words
		has 'ac start'
	done
	run -1 "$AC" inspect nope
	has "there is no instance 'nope'"
	host_is_gone
	[ "$before" = "$(store)" ]
	# The control: what runs something starts it.
	run -0 "$AC" run base f3 -- true
	run ! host_is_gone
	run -0 --separate-stderr "$AC" ls --json
	jq -e 'all(has("host") | not)' <<<"$output"
}

@test "two ac start at once: one ac-host, both succeed" {
	run -0 "$AC" stop
	"$AC" start >"$BATS_TEST_TMPDIR/a" 2>&1 3>&- &
	local a=$!
	"$AC" start >"$BATS_TEST_TMPDIR/b" 2>&1 3>&- &
	local b=$!
	wait $a
	wait $b
	[ "$(docker ps -q --filter "name=^$AC_HOST\$" | wc -l)" -eq 1 ]
	run -0 "$AC" run base f4 -- true
}

@test "an interrupted start goes on with the same command" {
	run -0 "$AC" stop
	for moment in 0.05 0.3 1; do
		timeout -s INT $moment "$AC" start >/dev/null 2>&1 3>&- || true
	done
	run "$AC" run base f4 -- echo on
	code 0
	has on
}

@test "stop ends the runs, keeps their files; status says down with 3" {
	"$AC" run base f3 -d -- sleep infinity
	run -0 "$AC" stop
	run -3 "$AC" status
	run -0 "$AC" start
	[ "$(field f3 .state)" != running ]
	[ -e "$AC_HOME/instances/f3/workspace/g" ]
	eventually no_leftovers
}

@test "restart comes back ready" {
	takes_long
	run -0 "$AC" restart
	run -0 "$AC" status
}

@test "down with a live run asks, and without a terminal wants --yes" {
	"$AC" run base f3 -d -- sleep infinity
	run -2 "$AC" down </dev/null
	says -- '--yes'
	state_is f3 running
	run script -qec "$AC down" /dev/null <<<n
	state_is f3 running
}

@test "down removes nested containers and caches, never workspaces" {
	local second=$AC_TEST_TMP/second
	mkdir -p "$second/instances/x/workspace"
	borrow_cache "$second"
	echo w >"$second/instances/x/workspace/w"
	two() { AC_HOST=$AC_HOST2 AC_HOME=$second "$AC" "$@"; }
	run -0 two start
	tar -cf - -C /bin true | docker exec -i "$AC_HOST2" docker import - t
	run -0 docker exec "$AC_HOST2" docker create --network none t /true
	run -0 two down --yes
	run ! docker inspect "$AC_HOST2"
	[ "$(cat "$second/instances/x/workspace/w")" = w ]
	docker volume inspect "$AC_HOST2-docker"
	run -0 two start
	[ -z "$(docker exec "$AC_HOST2" docker ps -aq)" ]
	run -0 two down --images --yes
	run ! docker volume inspect "$AC_HOST2-docker"
	[ "$(cat "$second/instances/x/workspace/w")" = w ]
	rm -rf "$second"
	run -0 "$AC" status
}

# A pipe of the caller's that an engine keeps open never ends for its reader:
# whoever waits for the end of our output would wait for that of the engine.
@test "an engine that we start keeps no descriptor of its starter" {
	local dir=$BATS_TEST_TMPDIR
	mkdir "$dir/bin"
	printf '#!/bin/sh\ntest -f "%s/fds" && echo 1.41\n' "$dir" \
		>"$dir/bin/docker"
	printf '#!/bin/bash\nls -l /proc/$$/fd >"%s/t"; mv "%s/t" "%s/fds"; sleep 2\n' \
		"$dir" "$dir" "$dir" >"$dir/bin/dockerd"
	chmod +x "$dir/bin/docker" "$dir/bin/dockerd"
	[ ! -d /run/systemd/system ] || skip "systemd starts the engine here"
	exec 4>"$dir/four" 15>"$dir/fifteen"
	PATH=$dir/bin:$PATH AC_DOCKER=$dir/bin/docker AC_HOME=$dir/home \
		"$AC_SRC/images/setup/engine.sh"
	exec 4>&- 15>&-
	cat "$dir/fds"
	grep -q ' 1 -> .*engine.log' "$dir/fds"
	run ! grep -qE 'four|fifteen|pipe:|ac-engine.lock' "$dir/fds"
}
