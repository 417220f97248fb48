#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 85_runtime.bats - no version is believed: a runtime proves itself or is
# refused with the reason

load common

setup() {
	"$AC" start --quiet
}

teardown_file() {
	"$AC" stop >/dev/null 2>&1
	RUNSC='' "$AC" start --quiet
	gone rt
}

# debian_runsc DIR - Debian's own package, unpacked; not installed anywhere
debian_runsc() {
	need apt-get
	need dpkg-deb
	(cd "$1" && apt-get download runsc >/dev/null 2>&1) ||
		skip "the machine's mirror has no runsc package"
	dpkg-deb -x "$1"/runsc_*.deb "$1/x"
	runsc=$(find "$1/x" -type f -name runsc)
	[ -x "$runsc" ]
}

@test "the runtime passed its self-test before the first run" {
	run "$AC" status --json
	jq -e '.runtime.state == "ok" and .runtime.isolation == "runsc"' \
		<<<"$output"
	run -0 "$AC" doctor --json
	jq -es '[.. | objects | select(.name? | strings |
		test("self-test"))] | length > 0 and all(.ok)' <<<"$output"
}

@test "Debian's own runsc is refused, with the reason" {
	debian_runsc "$BATS_TEST_TMPDIR"
	run -0 "$AC" stop
	RUNSC=$runsc run "$AC" start
	run -125 "$AC" run base rt -- echo ran
	lacks ran
	says 'refused|self-test'
	run "$AC" status --json
	[ "$(jq -r .runtime.state <<<"$output")" = refused ]
	[ -n "$(jq -r .runtime.reason <<<"$output")" ]
	run -1 "$AC" doctor
	says 'self-test'
	run -0 "$AC" stop
	RUNSC='' run "$AC" start
	code 0
	run -0 "$AC" run base rt -- echo ran
}

@test "a RUNSC that is no program is refused, and does not stay" {
	takes_long
	run -0 "$AC" stop
	echo nothing >"$BATS_TEST_TMPDIR/runsc"
	chmod +x "$BATS_TEST_TMPDIR/runsc"
	RUNSC=$BATS_TEST_TMPDIR/runsc run "$AC" start
	run -125 "$AC" run base rt -- true
	run -0 "$AC" stop
	RUNSC='' run -0 "$AC" start
	run -0 "$AC" run base rt -- true
}

@test "ac-host is not privileged, and asked for no device of the machine" {
	run docker inspect -f \
		'{{.HostConfig.Privileged}} {{len .HostConfig.Devices}}' \
		"$AC_HOST"
	is 'false 0'
	run docker inspect -f '{{.HostConfig.CapAdd}}' "$AC_HOST"
	lacks ALL
}
