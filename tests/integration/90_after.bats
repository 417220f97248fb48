#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 90_after.bats - the last file: nothing of these tests is left
#
# Another suite may run beside this one, so only what bears the name of its
# ac-host is looked at; `make check` compares the whole machine.

load common

@test "no instance of the tests above is left running" {
	run "$AC" ls --json
	jq -es '[.. | objects | select(.state? == "running")] == []' \
		<<<"$output" || { echo "$output"; false; }
}

@test "an idle acd does not use the processor" {
	need_root
	ticks() { awk '{ print $14 + $15 }' "/proc/$(host_pid)/stat"; }
	sleep 2 # the tests' last words
	before=$(ticks)
	sleep 3
	[ $(($(ticks) - before)) -le 15 ]
}

@test "its containers, mounts and network namespaces are as before" {
	docker inspect -f '{{.Id}}' "$AC_HOST" >"$AC_TEST_TMP/id"
	run -0 "$AC" stop
	docker logs "$AC_HOST" >"$AC_HOME/log/console.log" 2>&1 || true
	docker rm -f "$AC_HOST" >/dev/null 2>&1 || true
	machine_picture "$AC_HOST" >"$AC_TEST_TMP/after"
	diff -u "$AC_TEST_TMP/before" "$AC_TEST_TMP/after"
}

@test "no process of ac-host outlives it" {
	need_root
	run grep -lsF "$(cat "$AC_TEST_TMP/id")" /proc/[0-9]*/cgroup
	silent
}

# With AC_SAN, acd writes what it finds to files; a leak is found at its end.
@test "acd met no undefined behaviour, no bad access and no leak" {
	[ -s "$AC_HOME/log/host.log" ]
	run grep -nE 'AddressSanitizer|LeakSanitizer|runtime error:' \
		-r "$AC_HOME/log"
	silent
}
