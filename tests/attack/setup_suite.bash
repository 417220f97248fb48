# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# setup_suite.bash - the bypass catalogue, tried from real sandboxes
#
# A world of servers is made in a network namespace (world.bash); its name
# server is the gateway's upstream. Two sandboxes, at-runsc and at-crun, with
# the policy of policy.yaml run all probes of probe/ at once: transparent
# (connections to wherever they like) and explicit (by the proxy). Then frames
# that no socket would send are put onto their links (hostile.py). The tests
# only read what came of it: the outcome of each probe, the gateway's audit,
# and what the sinks heard. Each test is a row of the catalogue, named by its
# id; rows that a gateway which reads names alone cannot decide are not here
# (docs/THREATS.md).

# shellcheck source=tests/attack/common.bash
. "${BASH_SOURCE[0]%/*}/common.bash"

host_up() {
	"$AC_SRC/images/setup/engine.sh" 3>&- || return 1
	mkdir -p "$AC_HOME" "$AC_TEST_TMP"
	exec 8<"$AC_TEST_DIR" # kept to the end of the suite
	if ! flock -n 8; then
		echo "# another suite uses $AC_TEST_DIR" >&3
		return 1
	fi
	suite_owns=1
	machine_clear "$AC_HOST" "$AC_TEST_DIR"
	wipe_home
	rm -rf "$AC_TEST_TMP"
	mkdir -p "$AC_HOME/policy" "$AC_TEST_TMP/results"
	world_up || return 1
	forge_up || return 1
	forge_trust
	cp "$ATTACK/policy.yaml" "$AC_HOME/policy/policy.yaml"
	echo "# [starting $AC_HOST; the first time its images are built]" >&3
	# What a build of base fetches is nothing that an attack sends out.
	"$AC" start --quiet >"$AC_TEST_TMP/start.log" 2>&1 3>&- &&
		"$AC" build base >>"$AC_TEST_TMP/start.log" 2>&1 3>&-
}

# box_up NAME RUNTIME - one to attack from
box_up() {
	"$AC" run base "$1" -d --isolation "$2" --egress attack -- \
		sleep infinity >>"$AC_TEST_TMP/start.log" 2>&1 3>&- &&
		probes "$1" 3>&- &&
		echo "$2 $(field "$1" .address)" >>"$AC_TEST_TMP/agents"
}

# attack RUNTIME - every probe from its sandbox. It is the wall that is tried,
# so the shim stays out of the way as an attacker would have it; the calls that
# it hooks are tried once more with it.
attack() {
	local out=$AC_TEST_TMP/results/probe-$1
	"$AC" exec "at-$1" -- env AC_NET_PRELOAD=off python3 /tmp/probe "$1" \
		>"$out.jsonl" 2>"$out.err" 3>&- &&
		"$AC" exec "at-$1" -- python3 /tmp/probe "$1" K1 K2 K5-mapped \
			>"$out-shim.jsonl" 2>"$out-shim.err" 3>&- ||
		echo "the probes of $1 ended early" >&2
}

# frames RUNTIME OTHER - from the end of its link
frames() {
	local peer=$WORLD/peer-of-$1.jsonl gateway
	gateway=$(in_host cat /sys/class/net/ac0/address)
	nsenter --net="$(netns_of "at-$2")" python3 \
		"$AC_SRC/tests/fake/sink.py" packets eth0 "$peer" \
		"peer=$gateway,$(field "at-$2" .address)" \
		>>"$WORLD/errors" 2>&1 3>&- &
	started $! peer "$peer" || return 1
	nsenter --net="$(netns_of "at-$1")" python3 "$ATTACK/hostile.py" \
		"$1" eth0 "$(mac_of "at-$1")" "$(field "at-$1" .address)" \
		"$(mac_of "at-$2")" "$(field "at-$2" .address)" \
		>"$AC_TEST_TMP/results/frames-$1.jsonl" 2>"$AC_TEST_TMP/results/frames-$1.err" 3>&-
}

setup_suite() {
	local pids=()
	cd "$AC_SRC" || return 1
	[ "$(id -u)" -eq 0 ] || {
		echo "# the world needs root" >&3
		return 1
	}
	if ! host_up || ! world_guard || ! box_up at-runsc runsc ||
		! box_up at-crun crun; then
		cat "$AC_TEST_TMP/start.log" "$WORLD/errors" 2>/dev/null |
			sed 's/^/# /' >&3
		return 1
	fi
	attack runsc &
	pids+=($!)
	attack crun &
	pids+=($!)
	wait "${pids[@]}"
	in_host ip neigh show dev ac0 >"$AC_TEST_TMP/neigh.before"
	frames runsc crun && frames crun runsc || return 1
	in_host ip neigh show dev ac0 >"$AC_TEST_TMP/neigh.after"
	sleep 0.6 # the sinks' last lines
	audit_copy
	judge join
}

teardown_suite() {
	[ -n "${suite_owns:-}" ] || return 0
	gone at-runsc at-crun at-abuse at-vault at-other at-inspect
	"$AC" stop >/dev/null 2>&1 3>&- || true
	docker rm -f "$AC_HOST" >/dev/null 2>&1 || true
	world_down
	wipe_home
	rm -rf "$AC_TEST_TMP"
}
