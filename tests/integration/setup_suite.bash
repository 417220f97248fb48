# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# setup_suite.bash - one ac-host for all the tests, and no trace of it after
#
# The container has a fixed name, so that its volume of nested images stays
# from one suite to the next (`make clean-tests` removes it) and no test
# touches the user's own ac-host. AC_HOME is emptied each time, but for its
# cache: that holds the imported root file system, not state.

# shellcheck source=tests/integration/common.bash
. "${BASH_SOURCE[0]%/*}/common.bash"

setup_suite() {
	cd "$AC_SRC" || return 1
	"$AC_SRC/images/setup/engine.sh" 3>&- || return 1
	mkdir -p "$AC_HOME" "$AC_TEST_TMP"
	exec 8<"$AC_TEST_DIR" # kept to the end of the suite
	if ! flock -n 8; then
		echo "# another suite uses $AC_TEST_DIR: see AC_TEST_DIR and" \
			"AC_TEST_HOST in common.bash" >&3
		return 1
	fi
	suite_owns=1
	machine_clear "$AC_HOST" "$AC_TEST_DIR"
	wipe_home
	mkdir -p "$AC_HOME"
	machine_picture "$AC_HOST" >"$AC_TEST_TMP/before"
	echo "# [starting $AC_HOST; the first time its images are built]" >&3
	if ! "$AC" run base warm -- true >"$AC_TEST_TMP/start.log" 2>&1 3>&-
	then
		sed 's/^/# /' "$AC_TEST_TMP/start.log" >&3
		return 1
	fi
	"$AC" destroy warm --yes >/dev/null 2>&1 3>&-
}

teardown_suite() {
	[ -n "${suite_owns:-}" ] || return 0
	"$AC" stop >/dev/null 2>&1 3>&- || true
	docker rm -f "$AC_HOST" "$AC_HOST-edge" >/dev/null 2>&1 || true
	wipe_home
	rm -rf "$AC_TEST_TMP"
}
