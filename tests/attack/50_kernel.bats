#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 50_kernel.bats - K: every way a byte may take that no proxy is asked about
#
# K13, a channel by time and volume through an allowed host, is not claimed.

load common

NO='denied|closed'
NONE='dropped|refused|blocked'
T=transparent
F=frames

@test "K1 a static program with no library meets the same wall" {
	holds K1 "$NO" 'not-allowed|no-sni' $T
	holds K1-good open - $T
	proven
}

@test "K2 no form of connect or send goes around it" {
	holds K2 "$NO|blocked" not-allowed $T
	holds K2-udp "$NONE" - $T
	proven
}

@test "K3 nor does io_uring" {
	holds K3 "$NO|blocked" - $T
	proven
}

@test "K4 no raw socket, and no protocol but TCP and DNS" {
	holds K4 "$NONE" - $T
	holds K4-frames silent - $F
	holds control-frames own - $F
	proven
}

@test "K5 no IPv6; IPv4 in IPv6 is IPv4" {
	holds K5 "$NONE" - $T
	holds K5-mapped "$NO" not-allowed $T
	holds K5-mapped-good open allowed $T
	holds K5-frames silent - $F
	proven
}

@test "K6 no metadata service by any name or address" {
	holds K6 "$NO" 'address-literal|builtin-address|port|bad-name'
	holds K6-name "$NO" 'builtin-name|not-allowed|bad-name'
	proven
}

@test "K7 neither the machine, nor ac-host, nor its engine can be reached" {
	holds K7 "$NO|dropped" 'address-literal|builtin-address|port|bad-name'
	holds K7-udp "$NONE" - $T
	holds K7-scan held - $T
	holds K7-files held - $T
	proven
}

@test "K8 sockets without an address belong to one sandbox each" {
	holds K8 held - $T
	holds K8-vsock "$NONE" - $T
	proven
}

@test "K9 no sandbox can be another, or reach it" {
	local address
	holds K9 silent - $F
	# To whose MAC it may be: the gateway, and nobody else, has it.
	holds K9-peer 'silent|answered' - $F
	# Nobody was asked for in another's name.
	run ! grep -F 'spoof-' "$AC_TEST_TMP/audit.jsonl"
	grep -qF 'frames-before.wild.test' "$AC_TEST_TMP/audit.jsonl"
	# And ac-host's idea of its neighbours is as before.
	while read -r address; do
		before=$(grep -F "$address " "$AC_TEST_TMP/neigh.before" |
			grep -o 'lladdr [^ ]*')
		after=$(grep -F "$address " "$AC_TEST_TMP/neigh.after" |
			grep -o 'lladdr [^ ]*')
		[ -n "$before" ]
		[ "$before" = "$after" ]
	done < <(cut -d' ' -f2 "$AC_TEST_TMP/agents")
	proven
}

@test "K10 fragments, odd flags and options lead nowhere" {
	holds K10 'silent|answered' - $F
	proven
}

@test "K11 the audit is whole, and says nothing but ASCII" {
	judge audit
	run -0 in_host ottergate audit verify \
		/var/lib/ac/log/audit/audit.jsonl
	proven
}

@test "K14 what is allowed is written nowhere that an agent can write" {
	holds K14 held - $T
	# What was loaded is in the log, by its digest.
	grep -qE '"event":"policy","policy":"[0-9a-f]{64}"' \
		"$AC_TEST_TMP/audit.jsonl"
	proven
}

@test "denials come at once, in every way" {
	judge swift 50
}
