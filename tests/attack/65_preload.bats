#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 65_preload.bats - the shim is no part of the wall
#
# All other rows are tried with AC_NET_PRELOAD=off (setup_suite.bash). Those of
# the calls that the shim hooks were tried once more with it.

load common

# seen FILE - what came of these rows, a line each
seen() {
	jq -r 'select(.row | test("^(K1|K1-good|K2|K2-udp|K5-mapped.*)$")) |
		"\(.row) \(.case): \(.outcome)"' \
		"$AC_TEST_TMP/results/$1.jsonl" | sort
}

@test "K1 K2 with the shim comes through what does without, and nothing else" {
	for runtime in runsc crun; do
		seen "probe-$runtime" >"$AC_TEST_TMP/without"
		seen "probe-$runtime-shim" >"$AC_TEST_TMP/with"
		[ "$(wc -l <"$AC_TEST_TMP/with")" -ge 10 ]
		diff "$AC_TEST_TMP/without" "$AC_TEST_TMP/with"
		# The way was open, for those that may go.
		grep -q 'K1-good static, good: open' "$AC_TEST_TMP/with"
		grep -q 'K5-mapped-good good: open' "$AC_TEST_TMP/with"
	done
}

# evil NAME [ENVIRONMENT...] - from a program of glibc, to a name of no rule
evil() {
	local name=$1
	shift
	"$AC" exec "$name" -- env "$@" /usr/bin/python3 -c '
import socket, ssl
c = ssl._create_unverified_context()
try:
    s = socket.create_connection(("evil.test", 443), 9)
    c.wrap_socket(s, server_hostname="evil.test")
    print("open")
except OSError as e:
    print(type(e).__name__)'
}

@test "K1 without the shim, in any way to be without, the gateway says no" {
	for name in at-runsc at-crun; do
		run -0 --separate-stderr evil "$name"
		is ConnectionRefusedError # it was there
		run -0 evil "$name" AC_NET_PRELOAD=off
		has SSLError
		# It is in root's list, so no variable takes it away.
		for how in LD_PRELOAD= LD_PRELOAD=/nowhere.so -i; do
			run -0 --separate-stderr evil "$name" "$how"
			is ConnectionRefusedError
		done
	done
	proven
}

@test "K2 what is asked in the shim's name opens nothing" {
	# A question for each port of a place, by hand, as some other program.
	for runtime in runsc crun; do
		run -0 "$AC" exec "at-$runtime" -- python3 -c '
import os, socket, struct, sys
host = socket.gethostbyname("evil.test")
name = b"".join(bytes([len(x)]) + x.encode()
                for x in host.split(".")[::-1] + ["in-addr", "arpa"]) + b"\0"
said = []
for port in (443, 8443, 22, 53, 3128):
    exe = b"/usr/bin/\x1b[31mtrue"
    body = struct.pack("!BBHIB", 1, 6, port, 1, len(exe)) + exe
    opt = b"\0" + struct.pack("!HHIH", 41, 1232, 0, len(body) + 4) + \
        struct.pack("!HH", 65313, len(body)) + body
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(5)
    s.connect((host, 53))
    s.send(struct.pack("!6H", 7, 256, 1, 0, 0, 1) + name +
           struct.pack("!HH", 12, 1) + opt)
    s.recv(1232)
    said.append(port)
print(*said)'
		is '443 8443 22 53 3128'
		run -0 evil "at-$runtime" AC_NET_PRELOAD=off
		has SSLError
	done
	audit_copy
	judge audit # what it called itself is not there as bytes
	proven
}
