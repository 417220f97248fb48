#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# second_try_test.sh - what fails once and passes then: flaky in a run by hand,
# failed in CI
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0
failed=0

# ok NAME COMMAND...
ok() {
	local name=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$dir/out"
		failed=1
	fi
}

# tries STRICT KIND PATH... - run.sh over these; sets code
tries() {
	local strict=$1
	shift
	rm -f "$dir"/tried-* "$dir/tally"
	env -u AC_TEST_SHORT -u AC_TEST_NAME -u UNIT_CHANGED \
		-u UNIT_WITH AC_TEST_STRICT="$strict" BUILD="$dir/build" \
		DIR="$dir" AC_TEST_TALLY="$dir/tally" tests/run.sh "$@" \
		>"$dir/out" 2>&1 </dev/null
	code=$?
}

says() { grep -qF -- "$1" "$dir/out"; }
counts() { [ "$(cat "$dir/tally")" = "$1" ]; }
ends() { [ "$code" -eq "$1" ]; }
lacks() { ! says "$1"; }

mkdir "$dir/unit"
# A test is good, bad, or bad at its first try.
cat >"$dir/unit/once_test" <<'END'
#!/bin/sh
echo 1..2
echo ok 1 - good
[ -e "$DIR/tried-once" ] && echo ok 2 - once || echo not ok 2 - once
: >"$DIR/tried-once"
END
sed -e 's/tried-once/tried-other/' "$dir/unit/once_test" >"$dir/unit/other_test"
sed -e 's/^\[.*/echo not ok 2 - bad/' "$dir/unit/once_test" >"$dir/unit/bad_test"
chmod +x "$dir"/unit/*_test

tries '' --unit "$dir/unit/once_test"
ok 'by hand: a second try that passes counts' counts '2 0 0'
ok 'by hand: the exit code is 0' ends 0
ok 'by hand: it is said to be flaky' says 'flaky: once_test: 1 failed'
tries true --unit "$dir/unit/once_test"
ok 'strict: what failed once has failed' counts '1 1 0'
ok 'strict: the exit code is 1' ends 1
ok 'strict: it is said to be flaky' says 'flaky: once_test: 1 failed'
ok 'strict: what the first try said is shown' says 'not ok 2 - once'
env -u AC_TEST_STRICT -u AC_TEST_TALLY -u AC_TEST_SHORT -u AC_TEST_NAME \
	-u UNIT_CHANGED -u UNIT_WITH CI=true BUILD="$dir/build" DIR="$dir" \
	tests/run.sh --unit "$dir/unit/other_test" >"$dir/out" 2>&1 </dev/null
code=$?
ok 'CI: what failed once has failed' ends 1
ok 'CI: it is said to be flaky' says 'flaky: other_test: 1 failed'
for strict in '' true; do
	tries "$strict" --unit "$dir/unit/bad_test"
	ok "strict '$strict': what fails twice has failed once" counts '1 1 0'
	ok "strict '$strict': and is not flaky" lacks flaky
done

# Nothing is tried: here, in CI, and of a build with sanitizers.
printf '#!/bin/sh\necho 1..1\necho "ok 1 # SKIP no docker"\n' \
	>"$dir/unit/skips_test"
printf '#!/bin/sh\necho 1..1\necho "ok 1 # SKIP a sanitizer"\n' \
	>"$dir/unit/never_test"
chmod +x "$dir/unit/skips_test" "$dir/unit/never_test"
(
	unset CI
	tries '' --unit "$dir/unit/skips_test"
	counts '0 0 1'
)
ok 'by hand: what skips all it has is skipped' [ $? -eq 0 ]
CI=true tries '' --unit "$dir/unit/skips_test"
ok 'in CI: it has failed' counts '0 1 1'
CI=true tries '' --unit "$dir/unit/never_test"
ok 'in CI: but for what sanitizers cannot show' counts '0 0 1'

mkdir "$dir/fuzz"
printf '#!/bin/sh\nexit 0\n' >"$dir/fuzz/done_fuzz"
chmod +x "$dir/fuzz/done_fuzz"
export XDG_CACHE_HOME=$dir/cache FUZZ_CHANGED=1
CI=true tries '' --fuzz "$dir/fuzz/done_fuzz"
ok 'in CI: a fuzz target has its time' counts '1 0 0'
CI=true tries '' --fuzz "$dir/fuzz/done_fuzz"
ok 'in CI: one that had it is no failure' counts '0 0 1'

if command -v bats >/dev/null; then
	cat >"$dir/once.bats" <<'END'
@test "good" { echo >>"$DIR/tried-good"; }
@test "goods" { echo >>"$DIR/tried-good"; }
@test "once (a \$x.y|z [w]*)" {
	[ -e "$DIR/tried-once" ] || { echo >"$DIR/tried-once"; false; }
}
END
	tries '' --bats "$dir/once.bats"
	ok 'bats by hand: a second try that passes counts' counts '3 0 0'
	ok 'bats by hand: it is said to be flaky' says 'flaky: bats: 1 failed'
	ok 'bats: only what failed is tried again' \
		test "$(wc -l <"$dir/tried-good")" -eq 2
	tries true --bats "$dir/once.bats"
	ok 'bats in CI: what failed once has failed' counts '2 1 0'
	ok 'bats in CI: it is said to be flaky' says 'flaky: bats: 1 failed'
	ok 'bats in CI: the exit code is 1' ends 1
else
	n=$((n + 1))
	echo "ok $n - bats # SKIP no bats here"
fi
echo "1..$n"
exit $failed
