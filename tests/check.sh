#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check.sh - everything `make check` promises, in the order of its price
#
# Static checks; unit tests and fuzz corpora with gcc and clang, plain and
# sanitised; then the real thing under tests/integration. Goes on after a
# failure, so that one run tells all. The last line is the sum.
#
# AC_CHECK=lint,unit,int picks parts (default: all).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

parts=,${AC_CHECK:-lint,unit,int},
AC_TEST_TALLY=$(mktemp)
export AC_TEST_TALLY
trap 'rm -f "$AC_TEST_TALLY"' EXIT
trap 'exit 130' INT TERM HUP
make=${MAKE:-make}
jobs=-j$(nproc)
begin=$SECONDS

wants() { [[ $parts == *,$1,* ]]; }

# step TITLE COMMAND... - a part that ends without a tally is one failure
step() {
	local title=$1 before after
	shift
	echo
	echo "=== $title ($((SECONDS - begin)) s)"
	before=$(wc -l <"$AC_TEST_TALLY")
	"$@"
	after=$(wc -l <"$AC_TEST_TALLY")
	if [ "$before" -eq "$after" ]; then
		echo "not ok $title: it did not get as far as its tests"
		echo '0 1 0' >>"$AC_TEST_TALLY"
	fi
}

if wants lint; then
	step 'static checks' tests/run.sh --lint fast full
fi
if wants unit; then
	for cc in gcc clang; do
		for san in '' address,undefined; do
			step "unit tests, $cc${san:+, $san}" \
				"$make" -s "$jobs" check-unit CC=$cc SAN=$san
		done
	done
fi
if wants int; then
	step 'integration' "$make" -s "$jobs" check-int
fi

read -r passed failed skipped < <(awk '
	{ p += $1; f += $2; s += $3 }
	END { print p + 0, f + 0, s + 0 }' "$AC_TEST_TALLY")
more=
[ "$skipped" -eq 0 ] || more=", $skipped skipped"
echo
echo "# $((SECONDS - begin)) s"
echo "$passed passed, $failed failed$more"
exit $((failed > 0))
