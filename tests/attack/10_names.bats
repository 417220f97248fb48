#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 10_names.bats - N: one name, many spellings; and where names may lead
#
# denied: the gateway said no; closed: it hung up, where there was no more to
# say it in. What it says to itself is the reason in the audit.

load common

NO='denied|closed'

@test "N1 another case is the same name, and the same denial" {
	holds N1 open allowed
	holds N1-deny "$NO" 'deny-rule|sni-mismatch'
	proven
}

@test "N2 one trailing dot is the same name, two are none" {
	holds N2 open allowed
	holds N2-not "$NO" \
		'bad-name|bad-hello|bad-http|not-allowed|sni-mismatch|host-mismatch'
	holds N2-deny "$NO" 'deny-rule|sni-mismatch'
	proven
}

@test "N3 NUL, blanks, escapes, userinfo, brackets and paths make no name" {
	holds N3 "$NO" \
		'bad-name|bad-hello|bad-http|not-allowed|host-mismatch|address-literal'
	proven
}

@test "N4 nothing but ASCII comes over the wire; denials know A-labels" {
	holds N4 "$NO" 'bad-name|bad-hello|bad-http'
	holds N4-deny "$NO" 'deny-rule|sni-mismatch'
	proven
}

@test "N5 a name is matched by its labels, never as text" {
	holds N5 "$NO" 'not-allowed|sni-mismatch'
	holds N5-below open allowed
	proven
}

@test "N6 no rule may allow a public suffix" {
	for names in .com .github.io .co.uk +zip; do
		cat >"$BATS_TEST_TMPDIR/p.yaml" <<-YAML
			version: 1
			presets:
			  p: { rules: [{ id: r, names: [$names], use: tunnel }] }
		YAML
		run "$AC" policy lint "$BATS_TEST_TMPDIR/p.yaml"
		code 1
		says 'suffix|top-level'
	done
	cat >"$BATS_TEST_TMPDIR/p.yaml" <<-YAML
		version: 1
		presets:
		  p: { rules: [{ id: r, names: [.good.test], use: tunnel }] }
	YAML
	run -0 "$AC" policy lint "$BATS_TEST_TMPDIR/p.yaml"
	proven
}

@test "N7 a hello with two names, or lengths that lie, is refused" {
	holds N7 "$NO" 'bad-hello|bad-name|no-sni'
	proven
}

@test "N8 a hello without a name is refused" {
	holds N8 "$NO" no-sni
	proven
}

@test "N9 an address is no name" {
	holds N9 "$NO" 'address-literal|bad-hello|bad-http|bad-name|sni-mismatch|builtin-address'
	proven
}

@test "N10 an address in any spelling is no name" {
	holds N10 "$NO" 'address-literal|bad-hello|bad-http|bad-name|sni-mismatch|builtin-address'
	proven
}

@test "N11 an allowed name does not lead to a private address" {
	holds N11 "$NO" 'builtin-address|no-address'
	holds N11-deny "$NO" deny-address
	proven
}

@test "N12 a name that changes its address never leads inside" {
	holds N12 held 'allowed|builtin-address'
	proven
}

@test "N13 an alias leads to no private address, and chains end" {
	holds N13 "$NO" builtin-address
	holds N13-long "$NO" 'dns-failed|no-address'
	holds N13-public open allowed
	proven
}

@test "N14 of many addresses only clean ones are dialled; metadata denies all" {
	holds N14 open allowed
	holds N14-meta "$NO" builtin-address
	proven
}

@test "N15 a strict rule takes no alias that leads elsewhere" {
	holds N15 "$NO" deny-address
	proven
}
