#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 40_http.bats - H: requests that two readers may read differently

load common

NO='denied|closed'

@test "H1 no request can be smuggled in another" {
	holds H1 "$NO" 'bad-http|not-tls'
	holds H1-body 'denied|closed|open' 'bad-http|allowed'
	run ! grep -c smuggled "$WORLD/upstream.jsonl"
	run ! grep -E '"rest"' "$WORLD/upstream.jsonl"
	proven
}

@test "H2 target and Host must say the same" {
	holds H2 "$NO" 'host-mismatch|not-allowed|bad-http|bad-name'
	holds H2-good open allowed
	proven
}

@test "H3 there is one Host, and it is a name" {
	holds H3 "$NO" 'bad-http|bad-name|host-mismatch|port'
	proven
}

@test "H4 each request of a connection is judged for itself" {
	holds H4 "$NO" 'not-allowed|host-mismatch'
	judge detail H4 'first (open|200)'
	proven
}

@test "H5 CONNECT leads to the port, and to the name, that it says" {
	holds H5-port "$NO" 'port|proto' explicit
	holds H5-inside "$NO" 'sni-mismatch|bad-hello|not-tls' explicit
	holds H5 "$NO" - transparent explicit
	proven
}
