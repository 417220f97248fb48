#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 30_tls.bats - T: TLS and what pretends to be
#
# T2, T10, T11, T12, T15 and T16 are not here: a gateway that does not open
# the tunnel cannot see them.

load common

NO='denied|closed'

@test "T1 the name decides where a connection goes, not its address" {
	holds T1 "$NO" 'not-allowed|sni-mismatch'
	holds T1-good open allowed
	judge detail T1-good '^good exact'
	proven
}

@test "T3 an encrypted hello is refused, but where a rule takes the outer" {
	holds T3 "$NO" ech
	holds T3-outer open allowed
	proven
}

@test "T4 a hello in pieces is one hello" {
	holds T4 open allowed
	judge detail T4 '^good (exact|part)'
	holds T4-not "$NO" 'not-allowed|sni-mismatch'
	proven
}

@test "T5 a hello in many records is one hello, and goes on as it was" {
	holds T5 open allowed
	judge detail T5 '^good (exact|part)'
	holds T5-not "$NO" 'hello-records|bad-hello|not-tls|tls-version'
	proven
}

@test "T6 what follows the hello is the server's" {
	holds T6 open allowed
	judge detail T6 '^good'
	proven
}

@test "T7 SSL and TLS before 1.2 are refused" {
	holds T7 "$NO" 'bad-hello|tls-version|not-tls|no-sni'
	proven
}

@test "T8 a hello without measure is refused, a slow one has its time" {
	holds T8 "$NO" 'hello-long|bad-hello'
	holds T8-slow held hello-timeout
	proven
}

@test "T9 what is no TLS is refused at its first byte" {
	holds T9 "$NO" 'not-tls|bad-hello|bad-http|tls-version'
	proven
}

@test "T13 no UDP leaves: QUIC is dropped" {
	holds T13 'dropped|refused|blocked' - transparent
	proven
}

@test "T14 a name is allowed on its ports only" {
	holds T14 "$NO" port
	proven
}

@test "T17 an allowed server shows its own certificate" {
	holds T17 open allowed
	judge detail T17 'attack test CA'
	proven
}

@test "T18 a name with plain TCP on one port has TLS, and no more, on another" {
	holds T18-address held - transparent
	holds T18-tcp open allowed
	judge detail T18-tcp '^echo'
	holds T18-tls open allowed
	judge detail T18-tls 'attack test CA'
	holds T18-not "$NO" 'not-tls|bad-http|port|not-allowed|sni-mismatch'
	proven
}
