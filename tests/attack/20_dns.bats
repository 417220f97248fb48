#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 20_dns.bats - D: the name service as a way out
#
# "own" is an address of 198.18.0.0/15, all of which lead to the gateway: the
# one kind of answer there is; "empty" an answer without records. What is asked
# here has "dig-out-this" in it: no sink and no name server may have heard that
# (proven).

load common

T=transparent

@test "D1 what is asked about names outside the policy stays here" {
	holds D1 own - $T
	proven
}

@test "D2 nor is what is asked below an allowed wildcard sent on" {
	holds D2 own - $T
	proven
}

@test "D3 of all types only A has an answer" {
	holds D3 held - $T
	proven
}

@test "D4 another resolver is the gateway, or nobody" {
	holds D4 own - $T
	holds D4-local 'own|dropped|refused' - $T
	holds D4-drop 'dropped|blocked' - $T
	holds D4-tls 'denied|closed' 'builtin-name|port'
	proven
}

@test "D5 DNS over HTTPS is denied by its names" {
	holds D5 'denied|closed' builtin-name
	proven
}

@test "D6 no key of ECH, no other port, no IPv6 comes by DNS" {
	holds D6 empty - $T
	proven
}

@test "D7 nothing of a question is sent on: no option, no case" {
	holds D7 held - $T
	holds D7-case open allowed
	run -0 grep -icF 'this-case-is-not-what-is-sent-on' "$WORLD/dns.jsonl"
	run ! grep -F 'tHiS-cAsE-iS-nOt-WhAt-iS-sEnT-oN' "$WORLD/dns.jsonl"
	run jq -r '.options // ""' "$WORLD/dns.jsonl"
	# An option would make these longer than an empty one with its flags.
	[ -z "$(awk 'length($0) > 40' <<<"$output")" ]
	proven
}

@test "D8 malformed messages break nothing, from either side" {
	holds D8 held - $T
	holds D8-answer 'denied|closed' \
		'dns-failed|no-address|builtin-address'
	proven
}

@test "D9 allowed, denied and impossible names have the same answer" {
	holds D9 held - $T
	proven
}

@test "D10 an answer that was not asked for is not believed" {
	holds D10 open allowed
	holds D10-after open allowed
	judge detail D10 '^good'
	judge detail D10-after '^good'
	proven
}
