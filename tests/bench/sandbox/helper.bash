# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # tmp, fast and their kin are of bench.sh
# helper.bash - what git waits for when it asks the vault's helper

HELPER=/usr/libexec/ac/vault/git-credential-ac

part_helper() {
	local what='git-credential-ac, the whole call'
	if ! supports vault; then
		skipped helper "$what" 'this ac has no vault'
		return
	fi
	say "$what, $fast times"
	"$AC" vault rm --yes bench >/dev/null 2>&1 || true
	printf 'github_pat_%s' 1234567890abcdefghij |
		"$AC" vault add bench --kind github --host git.bench.test - \
			>/dev/null
	"$AC" run base bench-vault -d --credential bench -- sleep infinity \
		>/dev/null
	"$AC" cp "$BUILD/bench/guest" "bench-vault:$GUEST" >/dev/null
	"$AC" exec bench-vault -- chmod +x "$GUEST"
	"$AC" exec bench-vault -- sh -c "printf 'protocol=https\nhost=%s\n\n' \
		git.bench.test | $HELPER get" | grep -q ^password= || {
		say 'the helper gives no password'
		exit 1
	}
	"$AC" exec bench-vault -- "$GUEST" turns "$fast" $HELPER get >"$tmp/x"
	awk '{ print $1 }' "$tmp/x" >"$tmp/floor"
	awk '{ print $2 }' "$tmp/x" >"$tmp/helper"
	times helper "$what" 'p50 <= 3 ms' "$tmp/helper" \
		'vfork+exec of a static program, the same way' "$tmp/floor"
	"$AC" destroy bench-vault --force --yes >/dev/null
	"$AC" vault rm --yes bench >/dev/null
}
