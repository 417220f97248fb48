# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# world.bash - the outside, in a network namespace of its own
#
# 198.51.100.0/24 (TEST-NET-2) leads into the namespace; its servers are those
# of tests/fake/upstream.py, its name server is 198.51.100.53, and whatever
# else is sent into it ends in the sink, which takes every port. A sandbox
# could leak to other places than these: so a second sink counts every frame
# that leaves ac-host at all (guard), and a third one listens within ac-host
# (inside), where nothing of a sandbox may arrive but at the gateway.
#
# WORLD is the folder of their logs and of the test CA.

WORLD_NET=198.51.100.0/24
WORLD_DNS=198.51.100.53
WORLD_SERVERS="198.51.100.10 198.51.100.11 198.51.100.12 198.51.100.20
	198.51.100.30 198.51.100.31 198.51.100.32 198.51.100.33 198.51.100.34
	198.51.100.66 $WORLD_DNS"
WORLD_NS=$AC_HOST-world
WORLD_IF=w-${AC_HOST:0:12}
WORLD=$AC_TEST_TMP/world
WORLD_INSIDE="22 25 80 443 2375 2376 3130 7777 8080 8443 9090 9153"

world_pids=()

# started PID WHAT FILE - waits until a server has made its file
started() {
	local i
	world_pids+=("$1")
	echo "$1" >>"$WORLD/pids"
	for ((i = 0; i < 100; i++)); do
		[ ! -e "$3" ] || return 0
		kill -0 "$1" 2>/dev/null || break
		sleep 0.1
	done
	echo "# $2 did not start: $(tail -n 3 "$WORLD/errors")" >&2
	return 1
}

# python WHAT ARGUMENTS... - of tests/fake, in the background; sets $!
python() {
	local what=$1
	shift
	python3 "$AC_SRC/tests/fake/$what.py" "$@" \
		>>"$WORLD/errors" 2>&1 3>&- &
}

# within PID|NAME WHAT ARGUMENTS... - the same in a network namespace
within() {
	local ns=$1 what=$2
	shift 2
	case $ns in
	[0-9]*) ns=/proc/$ns/ns/net ;;
	*) ns=/run/netns/$ns ;;
	esac
	nsenter --net="$ns" python3 "$AC_SRC/tests/fake/$what.py" "$@" \
		>>"$WORLD/errors" 2>&1 3>&- &
}

world_ca() {
	local names=DNS:good.test name
	for name in long tunnel slow ech other evil cdn-good cdn-evil denied \
		cname-public strict spoof bail; do
		names+=,DNS:$name.test
	done
	names+=',DNS:*.wild.test,DNS:*.dig.test'
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-days 2 -subj '/CN=attack test CA' \
		-addext keyUsage=critical,keyCertSign,cRLSign \
		-keyout "$WORLD/ca.key" -out "$WORLD/ca.pem" &&
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
			-subj /CN=good.test -keyout "$WORLD/key.pem" \
			-out "$WORLD/csr.pem" &&
		openssl x509 -req -in "$WORLD/csr.pem" -CA "$WORLD/ca.pem" \
			-CAkey "$WORLD/ca.key" -CAcreateserial -days 2 \
			-extfile <(printf '%s\n' "subjectAltName=$names" \
				authorityKeyIdentifier=keyid) \
			-out "$WORLD/cert.pem"
}

# The links have an address of TEST-NET-3 each, so that all of TEST-NET-2 is
# the servers'.
world_links() {
	local in_ns="ip -n $WORLD_NS"
	ip netns add "$WORLD_NS" &&
		ip link add "$WORLD_IF" type veth peer name world0 \
			netns "$WORLD_NS" &&
		ip addr add 203.0.113.1/30 dev "$WORLD_IF" &&
		ip link set "$WORLD_IF" up &&
		$in_ns addr add 203.0.113.2/30 dev world0 &&
		$in_ns link set world0 up &&
		$in_ns link set lo up &&
		$in_ns route add local "$WORLD_NET" dev lo &&
		$in_ns route add default via 203.0.113.1 &&
		ip route add "$WORLD_NET" via 203.0.113.2
}

# What is for no server goes to port 9, whatever port it was for. One server
# has its echo where SSH would be, too.
world_rules() {
	local nat="ip netns exec $WORLD_NS iptables -w -t nat" address proto
	local ssh=198.51.100.10
	$nat -A PREROUTING -d $ssh -p tcp --dport 22 -j DNAT \
		--to-destination $ssh:7000 || return 1
	for address in $WORLD_SERVERS; do
		$nat -A PREROUTING -d "$address" -j RETURN || return 1
	done
	for proto in tcp udp; do
		$nat -A PREROUTING -p $proto -j REDIRECT --to-ports 9 ||
			return 1
	done
}

# world_up - before ac-host starts
world_up() {
	if ip route show "$WORLD_NET" | grep -q .; then
		echo "# another suite has its world at $WORLD_NET" >&3
		return 1
	fi
	mkdir -p "$WORLD"
	world_ca >"$WORLD/openssl.log" 2>&1 || return 1
	world_links || return 1
	world_rules || return 1
	within "$WORLD_NS" nameserver "$WORLD_DNS" "$WORLD/dns.jsonl"
	started $! nameserver "$WORLD/dns.jsonl" || return 1
	within "$WORLD_NS" upstream "$WORLD/cert.pem" "$WORLD/key.pem" \
		"$WORLD/upstream.jsonl"
	started $! upstream "$WORLD/upstream.jsonl" || return 1
	within "$WORLD_NS" sink accept "$WORLD/sink.jsonl" 9
	started $! sink "$WORLD/sink.jsonl"
}

# hear - one packet of ours that the guard counts. Its answer is waited for, as
# long as it takes: to a closed port it would be an ICMP packet for the guard.
hear() {
	nsenter --net="/proc/$(host_pid)/ns/net" python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(60)
s.sendto(b"the sinks do hear", ("198.51.100.250", 4242))
s.recv(64)'
}

# world_guard - when ac-host is up
world_guard() {
	local networks='{{range .NetworkSettings.Networks}}' address bridge mac
	address=$(docker inspect -f "$networks{{.IPAddress}}{{end}}" "$AC_HOST")
	mac=$(docker inspect -f "$networks{{.MacAddress}}{{end}}" "$AC_HOST")
	bridge=$(ip -o route get "$address" | sed -n 's/.* dev \([^ ]*\).*/\1/p')
	python sink packets "$bridge" "$WORLD/guard.jsonl" "mac=$mac"
	started $! guard "$WORLD/guard.jsonl" || return 1
	# shellcheck disable=SC2086 # a list of ports
	within "$(host_pid)" sink accept "$WORLD/inside.jsonl" $WORLD_INSIDE \
		@ac-attack
	started $! inside "$WORLD/inside.jsonl" || return 1
	# They do hear: the judge wants these words from each of the three.
	hear && nsenter --net="/proc/$(host_pid)/ns/net" python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.sendto(b"the sinks do hear", ("127.0.0.1", 7777))'
}

world_down() {
	local pid
	while read -r pid; do
		kill "$pid" 2>/dev/null
	done < <(cat "$WORLD/pids" 2>/dev/null)
	wait "${world_pids[@]}" 2>/dev/null
	# Both ends of the link and the route go with the namespace.
	! ip netns list | grep -qw "$WORLD_NS" || ip netns del "$WORLD_NS"
	ip link del "$WORLD_IF" 2>/dev/null || true
}
