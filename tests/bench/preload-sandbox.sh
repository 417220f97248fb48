#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# preload-sandbox.sh - what the shim costs in a sandbox of gVisor
#
# usage: preload-sandbox.sh [ROUNDS]
#
# As preload.sh, in the ac-host of $AC_HOST: connect() to loopback, to the
# sandbox's own address (nobody to ask, which is known), to a name that is
# allowed and to an address that is denied (both known, and asked for when that
# has expired; few, since the gateway counts them); and the start of a program, with
# one more copy of the shim than every program has. Prints rows of a table.
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-500}
name=bench-preload-$$

./ac run base "$name" -d --egress locked --allow good.example \
	-- sleep infinity >/dev/null
trap './ac destroy "$name" --force --yes >/dev/null' EXIT
tar -C tests/bench/preload -cf - calls.c |
	./ac exec "$name" -- tar --no-same-owner -xf - -C /tmp
# shellcheck disable=SC2016 # expanded in the sandbox
./ac exec "$name" -- bash -ec '
	cd /tmp
	export AC_NET_QUIET=1
	gcc -std=c17 -D_GNU_SOURCE -O2 -o calls calls.c
	cp /usr/libexec/ac/net_proxy.so more.so
	python3 -c "
import socket
s = socket.create_server((\"\", 4242), backlog=4096)
print(flush=True)
while True:
    s.accept()[0].close()" >ready &
	server=$!
	until [ -s ready ]; do sleep 0.1; done
	own=$(python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((\"198.51.100.1\", 9))
print(s.getsockname()[0])")
	row() {
		local what=$1
		shift
		"$@" | awk -v what="$what" "{
			printf \"| %s | %.2f (%.2f) | %.2f (%.2f) | %+.2f |\\n\",
				what, \$2 / 1000, \$1 / 1000, \$4 / 1000,
				\$3 / 1000, \$5 / 1000 }"
	}
	row "connect, TCP, 127.0.0.1" ./calls tcp 127.0.0.1 4242 "$1"
	row "connect, TCP, own address" ./calls tcp "$own" 4242 "$1"
	row "connect, UDP, 127.0.0.1" ./calls udp 127.0.0.1 4242 "$1"
	kill $server
	there=$(getent hosts good.example | cut -d" " -f1)
	row "connect, TCP, a name, allowed" ./calls tcp "$there" 443 20
	row "connect, TCP, denied" ./calls tcp 203.0.113.9 4242 20
	row "start and end of /bin/true" \
		env LD_PRELOAD=/tmp/more.so ./calls exec /bin/true 20
' - "$rounds"
