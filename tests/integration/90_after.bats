#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 90_after.bats - the last file: the machine is as it was before

load common

@test "no instance of the tests above is left running" {
	run "$AC" ls --json
	jq -es '[.. | objects | select(.state? == "running")] == []' \
		<<<"$output" || { echo "$output"; false; }
}

@test "neither acd nor a client met undefined behaviour or a leak" {
	docker logs "$AC_HOST" >"$BATS_TEST_TMPDIR/log" 2>&1 || true
	cat "$AC_HOME"/log/*.log >>"$BATS_TEST_TMPDIR/log" 2>/dev/null || true
	[ -s "$BATS_TEST_TMPDIR/log" ]
	run grep -nE 'AddressSanitizer|LeakSanitizer|runtime error:' \
		"$BATS_TEST_TMPDIR/log"
	silent
}

@test "an idle acd does not use the processor" {
	need_root
	ticks() { awk '{ print $14 + $15 }' "/proc/$(host_pid)/stat"; }
	sleep 2 # the tests' last words
	before=$(ticks)
	sleep 3
	[ $(($(ticks) - before)) -le 15 ]
}

@test "containers, mounts and network namespaces are as before" {
	run -0 "$AC" stop
	docker rm -f "$AC_HOST" >/dev/null 2>&1 || true
	machine_picture >"$AC_TEST_TMP/after"
	diff -u "$AC_TEST_TMP/before" "$AC_TEST_TMP/after"
}

@test "no process of ac-host outlives it" {
	run pgrep -x 'acd|runsc-sandbox|runsc-gofer|init-guard'
	if [ -n "$output" ]; then
		# Another ac-host of this machine's user may own them.
		[ -n "$(docker ps -q --filter name=ac-host)" ]
	fi
}
