#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# record.bats - records first-task.session; make.sh runs it, no check does
#
# Everything in it is real but the model: tests/fake/model.py answers under the
# provider's name, so the recording needs nobody's key.

load ../../tests/integration/common

# shellcheck source=tests/attack/world.bash
. "$AC_SRC/tests/attack/world.bash"
# shellcheck source=tests/attack/forge.bash
. "$AC_SRC/tests/attack/forge.bash"

setup_file() {
	"$AC" build claude >&3 2>&1
	forge_host_up </dev/null && forge_vault
}

teardown_file() {
	gone claude-dam
	"$AC" vault rm --yes github gitlab npm pypi anthropic openai gemini \
		service
	forge_host_down
}

@test "the session of the README" {
	local dir=$AC_TEST_TMP/dam
	mkdir -p "$dir" "$AC_TEST_TMP/bin"
	ln -sf "$AC" "$AC_TEST_TMP/bin/ac"
	forge_random 16 >"$dir/word"
	cd "$dir"
	PATH=$AC_TEST_TMP/bin:$PATH python3 "$AC_SRC/docs/recording/record.py" \
		"$AC_SRC/docs/recording/first-task.session" "$AC_CAST"
}
