#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# quick.sh - what an edit may have broken, in a minute and a half
#
# usage: quick.sh PROGRAM...   unit tests and replays, built; see `make check-quick`
#
# The quick static checks; those unit tests that did not pass before as they are
# now; and, where the image of ac-host need not be built for it, one run in a real
# sandbox. `make check` is what counts.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

units=()
replays=()
for bin; do
	case $bin in
	*/replay/*) replays+=("$bin") ;;
	*) units+=("$bin") ;;
	esac
done
bad=0
lint=$(mktemp)
tests/run.sh --lint fast >"$lint" 2>&1 &
UNIT_CHANGED=1 tests/run.sh --unit "${units[@]}" --replay "${replays[@]}" || bad=1
wait $! || bad=1
cat "$lint"
rm -f "$lint"
tag=$(images/build.sh tag host)
if docker image inspect "ac/host:$tag" >/dev/null 2>&1; then
	AC_TEST_ONLY='^run prints the kernel line' \
		tests/run.sh --bats tests/integration/10_run.bats || bad=1
else
	echo '# no run in a sandbox: the image of ac-host is not built yet'
fi
exit $bad
