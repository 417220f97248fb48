#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gateway.sh - the gateway beside haproxy, nginx, squid, unbound and dnsmasq
#
# usage: gateway.sh [--inspect | --neighbours] [-n ROUNDS] [--quick] [--only PART,...]
#	[--limit S] [--write] | --soak S [--write]
#
# Parts: tls log latency bulk idle dns loris; with --inspect, beside squid's
# ssl-bump and nginx's TLS: requests logged latency mint events connections
# idle windows; with --neighbours, one sandbox beside the attacks of another. All
# runs in one container without a network, each candidate with one worker on processor 0,
# the load on processor 1. The gateway is the binary of ac/host, or $AC_OTTERGATE;
# the peers are Debian's (images/bench). A turn of a candidate that does not end
# within the limit (180 s) is named, with what each process did meanwhile, and has
# no figure. --write puts the table into docs/PERFORMANCE.md, if all has ended.
set -euo pipefail
cd "$(dirname "$0")/../.." || exit 2

write=
program=run.py
block=gateway
args=()
while [ $# -gt 0 ]; do
	case $1 in
	--write) write=1 ;;
	-n | --only | --limit)
		args+=("$1" "${2:?}")
		shift
		;;
	--soak)
		program=soak.py
		block=soak
		args+=("${2:?}")
		shift
		;;
	--inspect)
		program=inspected.py
		block=inspect
		;;
	--neighbours)
		program=neighbour.py
		block=neighbours
		;;
	--quick) args+=("$1") ;;
	*)
		sed -n 's/^# \(usage.*\)/\1/p' "$0" >&2
		exit 2
		;;
	esac
	shift
done

images/setup/engine.sh
[ -n "${AC_OTTERGATE:-}" ] || images/build.sh ensure host
images/build.sh ensure bench
work=$(mktemp -d)
name=ac-bench-$$
trap 'docker rm -f "$name" >/dev/null 2>&1; rm -rf "$work"' EXIT
# The verb's number is the header's to say.
admin_ca=
if [ "$program" = inspected.py ] || [ "$program" = neighbour.py ]; then
	printf '#include <stdio.h>\n#include "ottergate/admin.h"\n%s' \
		'int main(void) { printf("%d", ADMIN_CA); }' >"$work/verb.c"
	gcc -I. -o "$work/verb" "$work/verb.c"
	admin_ca=$("$work/verb")
fi
if [ -n "${AC_OTTERGATE:-}" ]; then
	cp "$AC_OTTERGATE" "$work/ottergate"
else
	id=$(docker create "ac/host:$(images/build.sh tag host)")
	docker cp -q "$id:/usr/sbin/ottergate" "$work/ottergate" 2>/dev/null ||
		docker cp "$id:/usr/sbin/ottergate" "$work/ottergate"
	docker rm "$id" >/dev/null
fi

# Addresses of documentation and of the sandboxes' net, all on loopback.
cat >"$work/inside.sh" <<'END'
set -eu
mkdir -p /tmp/bench
for program in eb shim; do
	gcc -D_GNU_SOURCE -O2 -o "/tmp/bench/$program" "/src/$program.c"
done
for a in 172.20.0.53 172.20.0.2 172.20.0.3; do
	ip addr add "$a/32" dev lo
done
# The server's is a route alone: no policy allows an address of the gateway's
# own machine.
ip route add local 198.51.100.10/32 dev lo
# h2load cannot choose where it asks from: it asks as the sandbox.
[ "$1" != inspected.py ] || ip route replace local 172.20.0.53/32 dev lo \
	table local src 172.20.0.2
sysctl -qw net.ipv4.ip_local_port_range="1024 65535"
sysctl -qw net.core.somaxconn=8192
# Who closes first would else run out of ports: TIME_WAIT is not the subject.
sysctl -qw net.ipv4.tcp_max_tw_buckets=64
cd /tmp/bench
program=$1
shift
# Whatever else the machine does is not the subject here: a group of its own, of
# the highest weight (sched(7), autogroups).
[ "$program" != neighbour.py ] || echo -20 >/proc/self/autogroup || true
exec python3 -B "/src/$program" "$@"
END
docker run --rm --name "$name" --network none -e ADMIN_CA="$admin_ca" --cap-add NET_ADMIN \
	--cap-add SYS_ADMIN --cap-add SYS_NICE --security-opt seccomp=unconfined \
	--security-opt apparmor=unconfined --security-opt systempaths=unconfined \
	-v "$PWD/tests/bench/gateway:/src:ro" -v "$work:/bench:ro" \
	-v "$work/ottergate:/usr/sbin/ottergate:ro" \
	"ac/bench:$(images/build.sh tag bench)" \
	bash /bench/inside.sh "$program" "${args[@]}" | tee "$work/table"

if [ -n "$write" ]; then
	{
		echo "Measured on $(date -u +%F), $(nproc) processors" \
			"($(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo |
				head -n 1)), Linux $(uname -r)."
		echo
		cat "$work/table"
	} >"$work/text"
	sed -i -e "/<!-- $block -->/,/<!-- end $block -->/{//!d}" \
		-e "/<!-- $block -->/r $work/text" docs/PERFORMANCE.md
fi
