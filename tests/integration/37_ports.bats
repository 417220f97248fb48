#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 37_ports.bats - published ports: opened with a run and closed with it, to what
# listens in the sandbox on its loopback or everywhere, and no way out
#
# The servers and the client are tests/fake/ports.py.

load common

EDGE=$AC_HOST-edge
SERVERS=$AC_SRC/tests/fake/ports.py
# On this machine: of two instances, and of another program.
LOCAL=23181
WIDE=23182
ECHO=23183
SUM=23184
FIRST=23185
NONE=23186
OTHER=23187
TAKEN=23188

# serve INSTANCE OPTIONS... -- ADDRESS:PORT:KIND... - a sandbox with servers
serve() {
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	"$AC" run base "$name" -d "${options[@]}" -- \
		python3 -c "$(cat "$SERVERS")" serve "${@:2}"
}

talk() { python3 "$SERVERS" talk 127.0.0.1 "$@"; }

# answers PORT TEXT - what a web server there says
answers() { [[ $(curl -s -m 20 "http://127.0.0.1:$1/") = *"$2"* ]]; }

# listens PORT - something does, on this machine
listens() { [ -n "$(ss -Hltn "sport = :$1")" ]; }
is_closed() { ! listens "$1"; }
edge_is() { [ "$("$AC" status --json | jq -r .edge.state)" = "$1" ]; }

setup_file() {
	serve web --publish $LOCAL:8000 --publish 127.0.0.1:$WIDE:8001 \
		-p $ECHO:8002 -p $SUM:8003 -p $FIRST:8004 -p $NONE:8005 -- \
		127.0.0.1:8000:http 0.0.0.0:8001:http 127.0.0.1:8002:echo \
		127.0.0.1:8003:sum 127.0.0.1:8004:first
}

teardown_file() {
	gone web other again wide
	docker rm -f "$EDGE" >/dev/null 2>&1 || true
}

@test "a port of the sandbox's loopback is published, and one of all addresses" {
	eventually answers $LOCAL 'port 8000 of web'
	eventually answers $WIDE 'port 8001 of web'
	run -0 "$AC" port web
	has $LOCAL
	has 8000
	has open
	run -0 "$AC" port web --json
	[ "$(jq -r ".ports[] | select(.inner == 8000) |
		\"\(.address) \(.port) \(.state)\"" <<<"$output")" = \
		"127.0.0.1 $LOCAL open" ]
	[ "$(field web '.publish[0]')" = "127.0.0.1:$LOCAL:8000" ]
	edge_is up
}

@test "ac open prints the URL, and what to do without one" {
	run -0 "$AC" open web 8000
	is "http://127.0.0.1:$LOCAL/"
	run -0 "$AC" open web $LOCAL # the outer one will do
	is "http://127.0.0.1:$LOCAL/"
	run -0 "$AC" open web 8000 --json
	[ "$(jq -r .url <<<"$output")" = "http://127.0.0.1:$LOCAL/" ]
	run "$AC" open web http
	[ "$status" -ne 0 ]
	says 'is no port'
}

@test "8 MiB arrive intact, each way at once and one after the other" {
	eventually listens $ECHO
	talk $ECHO echo 8388608
	talk $SUM sum 8388608
}

@test "both sides speak in turn, many times, as over a WebSocket" {
	talk $ECHO turns 400
}

@test "a direction ends by itself: the client's, and the server's" {
	talk $SUM sum 1000 # it answers when the client has ended
	run -0 talk $FIRST first # it ends, and still hears
	is nothing
	heard() { [ "$(talk $FIRST first)" = 'after the end' ]; }
	eventually heard
}

@test "where nothing listens in the sandbox the connection is closed" {
	talk $ECHO echo 10 # one is
	talk $NONE closed
}

@test "many connections at once, and no more than may be" {
	run -0 python3 - $ECHO <<-'PY'
		import socket, sys
		port = int(sys.argv[1])
		held = []
		for n in range(40):
		    c = socket.create_connection(("127.0.0.1", port), timeout=60)
		    c.sendall(b"%d" % n)
		    held.append(c)
		for n, c in enumerate(held):
		    assert c.recv(10) == b"%d" % n
		over = [socket.create_connection(("127.0.0.1", port), timeout=60)
		        for n in range(40)]
		closed = 0
		for c in over:
		    try:
		        c.sendall(b"x")
		        closed += c.recv(1) != b"x"
		    except ConnectionError:
		        closed += 1
		# 64 of a sandbox: at most 24 of these are served, and some are.
		assert 16 <= closed < 40, closed
		held[0].sendall(b"still")
		assert held[0].recv(10) == b"still"
	PY
	again() { talk $ECHO echo 10; }
	eventually again # their places are free again
}

@test "only this machine reaches it, unless it is said" {
	run -0 ss -Hltn "sport = :$LOCAL"
	has "127.0.0.1:$LOCAL "
	[ "${#lines[@]}" -eq 1 ]
	run -0 --separate-stderr "$AC" run base wide \
		--publish 0.0.0.0:$OTHER:8000 -- true
	says "everybody who reaches this machine"
	run -0 --separate-stderr "$AC" run base wide --publish $OTHER:8000 -- true
	# shellcheck disable=SC2154 # set by run
	[[ $stderr != *everybody* ]]
	gone wide
}

@test "a port that is taken: the run is refused before it begins" {
	local pid
	run -125 "$AC" run base other -p $LOCAL:80 -- true
	says "port $LOCAL of 127.0.0.1 is in use by instance 'web'"
	run ! "$AC" inspect other
	python3 "$SERVERS" serve 127.0.0.1:$TAKEN:echo 3>&- &
	pid=$!
	eventually listens $TAKEN
	run -125 "$AC" run base other -p $OTHER:80 -p $TAKEN:80 -- true
	says "port $TAKEN of 127.0.0.1 is in use by another program"
	run ! "$AC" inspect other
	is_closed $OTHER # what was open for it is closed again
	kill $pid
	eventually is_closed $TAKEN
	run -0 "$AC" run base other -p $TAKEN:80 -- true
	gone other
	for bad in 0 65536 80:0 1.2.3:80 80/tcp localhost:80; do
		run -125 "$AC" run base other --publish $bad -- true
		says "'$bad' is no .*PORT"
	done
	answers $LOCAL 'port 8000 of web' # which was not disturbed
}

@test "two instances, one at a free port; each reaches its own" {
	local free
	serve other --publish 0:8000 -- 127.0.0.1:8000:http
	free=$("$AC" port other --json | jq -r '.ports[0].port')
	[ "$free" -gt 0 ]
	[ "$("$AC" open other 8000)" = "http://127.0.0.1:$free/" ]
	eventually answers "$free" 'port 8000 of other'
	answers $LOCAL 'port 8000 of web'
	run -0 "$AC" stop-instance other
	eventually is_closed "$free"
	answers $LOCAL 'port 8000 of web'
	run -0 "$AC" port other
	has any
	has closed
	# It is kept with the instance, until it is taken back.
	run -0 "$AC" run other -- true
	[ "$(field other '.publish[0]')" = 127.0.0.1:0:8000 ]
	run -0 "$AC" run other --publish none -- true
	[ "$(field other '.publish | length')" = 0 ]
	gone other
}

@test "ports are opened and closed while it runs" {
	serve other -- 127.0.0.1:$OTHER:http
	run -0 "$AC" port other
	says 'publishes none'
	# ac open publishes what is not.
	run -0 --separate-stderr "$AC" open other $OTHER
	[ "$output" = "http://127.0.0.1:$OTHER/" ]
	eventually answers $OTHER "port $OTHER of other"
	run -0 "$AC" port other --publish $TAKEN:$OTHER
	has $TAKEN
	answers $TAKEN "port $OTHER of other"
	answers $OTHER "port $OTHER of other"
	# One that is taken changes nothing.
	run -1 "$AC" port other --publish $LOCAL:1
	says "in use by instance 'web'"
	[ "$(field other '.publish | length')" = 2 ]
	answers $TAKEN "port $OTHER of other"
	run -0 "$AC" port other --publish none
	eventually is_closed $OTHER
	is_closed $TAKEN
	[ "$(field other '.publish | length')" = 0 ]
	# Of one that does not run: for its next run.
	run -0 "$AC" stop-instance other
	run -0 "$AC" port other -p $OTHER:80
	has closed
	run -1 "$AC" open other 80
	says 'does not run'
	gone other
}

@test "a sandbox gains no way out by it, nor a way to the user's network" {
	# shellcheck disable=SC2016 # the sandbox's own
	probe() {
		"$AC" exec web -- env AC_NET_PRELOAD=off python3 -c '
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
    print("open")
except OSError:
    print("closed")' "$@"
	}
	[ "$(probe 127.0.0.1 8000)" = open ] # the control: its own
	# The published port is this machine's, not the sandbox's.
	[ "$(probe 127.0.0.1 $LOCAL)" = closed ]
	# A request to it by the gateway is refused, as any to this machine is.
	run "$AC" exec web -- env AC_NET_PRELOAD=off curl -s -m 20 \
		-x http://172.20.0.53:3128 --noproxy '' -o /dev/null \
		-w '%{http_code}' "http://127.0.0.1:$LOCAL/"
	is 403
	# What a server there sees of a client is the sandbox's own loopback, also
	# one that listens at all addresses.
	answers $LOCAL 'port 8000 of web, asked by 127.0.0.1'
	answers $WIDE 'port 8001 of web, asked by 127.0.0.1'
	# Nothing in there says which port it has here.
	run -0 "$AC" exec web -- env
	has HOME=
	lacks $LOCAL
	# No rule was made for it.
	run -0 in_host nft list ruleset
	lacks 8000
	lacks $LOCAL
}

@test "a paused sandbox keeps its port, which closes what comes" {
	run -0 "$AC" pause web
	listens $LOCAL
	talk $LOCAL closed
	run -0 "$AC" resume web
	eventually answers $LOCAL 'port 8000 of web'
}

@test "by every runtime and isolation" {
	local how
	for how in '--runtime docker' '--isolation crun'; do
		# shellcheck disable=SC2086 # two words
		serve other $how -p $OTHER:8000 -- 127.0.0.1:8000:http
		eventually answers $OTHER 'port 8000 of other'
		gone other
		eventually is_closed $OTHER
	done
}

@test "ac-edge is killed: it is closed, and open again after ac start" {
	docker rm -f "$EDGE" >/dev/null
	eventually is_closed $LOCAL
	run -0 "$AC" port web
	has waiting
	run -1 "$AC" open web 8000
	says 'ac start'
	run -0 "$AC" start
	eventually answers $LOCAL 'port 8000 of web'
}

@test "the sandbox is killed: its ports close, and come with the next run" {
	run -0 "$AC" kill --signal KILL web
	eventually is_closed $LOCAL
	eventually is_closed $ECHO
	run -0 "$AC" run web -d -- python3 -c "$(cat "$SERVERS")" serve \
		127.0.0.1:8000:http
	eventually answers $LOCAL 'port 8000 of web'
	run -0 "$AC" destroy web --force --yes
	eventually is_closed $LOCAL
}

@test "acd is killed: nothing listens, and no connection hangs" {
	takes_long
	serve again -p $LOCAL:8000 -p $ECHO:8002 -- 127.0.0.1:8000:http \
		127.0.0.1:8002:echo
	eventually answers $LOCAL 'port 8000 of again'
	kill -9 "$(host_pid)"
	eventually is_closed $LOCAL
	run -0 "$AC" start
	run -0 "$AC" run again -d -- python3 -c "$(cat "$SERVERS")" serve \
		127.0.0.1:8000:http
	eventually answers $LOCAL 'port 8000 of again'
	gone again
	eventually is_closed $LOCAL
}
