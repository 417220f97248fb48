#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 30_isolation.bats - what an agent is, and what it cannot reach
#
# /dev/fuse and /dev/net/tun exist in each sandbox: they are gVisor's own, and
# want capabilities that nobody has. Each "cannot" has a positive control: the same tool, where it may work.

# shellcheck disable=SC2016 # the shell in the sandbox expands
load common

setup_file() {
	"$AC" run base one -d -- sleep infinity
	"$AC" run base two -d -- sleep infinity
}

teardown_file() {
	gone one two
}

@test "the agent is uid 1000 without groups, in run, exec and shell" {
	for how in "exec one --" "run base three --rm --"; do
		# shellcheck disable=SC2086 # words are meant
		run "$AC" $how sh -c 'id -u; id -g; id -G'
		code 0
		is "1000
1000
1000"
	done
	run "$AC" shell one <<<'id -u'
	has 1000
}

@test "the agent has no capability, and can never gain one" {
	run "$AC" exec one -- grep Cap /proc/self/status
	code 0
	[ "$(grep -c '0000000000000000$' <<<"$output")" -ge 4 ]
	run ! grep -v '0000000000000000$' <<<"$output"
	run ! "$AC" exec one -- unshare -U true
	run ! "$AC" exec one -- mount -t tmpfs none /mnt
	run ! "$AC" exec one -- chroot / true
}

@test "no file of the image is setuid, setgid or a device" {
	# From outside: the agent may not look into every folder.
	image=$(in_host docker image inspect -f '{{.Id}}' ac/base:latest)
	image=/run/ac/images/$(cut -c 8-39 <<<"$image")
	in_host test -d "$image" ||
		image=$(box one '{{.GraphDriver.Data.MergedDir}}')
	run in_host find "$image" -xdev -path "$image/dev" -prune -o \
		\( -type f -perm /6000 -o -type b -o -type c \) -print
	code 0
	silent
	run in_host find "$image/usr/bin/env"
	code 0
}

@test "no setuid file can be made in the workspace" {
	run "$AC" exec one -- sh -c 'cp /bin/true /workspace/s
		chmod 4755 /workspace/s; chmod 2755 /workspace/s
		stat -c %a /workspace/s'
	[[ $output == *755 ]]
	[[ $output != *4755 && $output != *2755 ]]
	run find "$AC_HOME/instances/one/workspace" -perm /6000
	silent
}

@test "PID 1 cannot be killed, read or written by the agent" {
	run ! "$AC" exec one -- sh -c 'kill -KILL 1'
	run "$AC" exec one -- sh -c 'cat /proc/1/environ /proc/1/mem
		echo x >/proc/1/fd/1; ls -l /proc/1/fd; ls -l /proc/1/exe'
	lacks 'socket:'
	run -0 "$AC" exec one -- true
}

@test "no control socket and no device of the machine is in the sandbox" {
	run "$AC" exec one -- sh -c 'find / -xdev -type s 2>/dev/null
		ls /dev | grep -E "^(kvm|mem|kmsg|sd|vd|nvme|loop|dri|snd)"
		ls -d /var/lib/ac /run/docker.sock /run/ac 2>/dev/null'
	silent
}

@test "another sandbox's processes, files and names cannot be seen" {
	run -0 "$AC" exec two -- bash -c 'echo secret >/workspace/s
		(exec -a marker-of-two sleep 300) &'
	run "$AC" exec two -- ps ax
	has marker-of-two
	run "$AC" exec one -- sh -c 'ps ax; cat /workspace/s; hostname'
	lacks marker-of-two
	lacks secret
	has one
}

# The prober says what it could do; everything else is an error to it. A TCP
# connection counts when somebody behind it answers: the gateway takes every
# one of them, and says nothing to what it does not understand.
PROBE='
import socket, sys
def tcp(host, port):
    s = socket.socket()
    s.settimeout(1)
    try:
        s.connect((host, port))
        s.sendall(b"probe")
        return "open" if s.recv(99) else "closed"
    except ConnectionRefusedError:
        return "refused"   # an answer came: the packet got through
    except OSError:
        return "closed"
def udp(host, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(1)
    try:
        s.sendto(b"probe", (host, port))
        return "open" if s.recv(99) else "closed"
    except ConnectionRefusedError:
        return "refused"
    except OSError:
        return "closed"
for a in sys.argv[1:]:
    kind, host, port = a.split(",")
    print(a, dict(tcp=tcp, udp=udp)[kind](host, int(port)))
'
SERVE='
import socket, threading, time
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("0.0.0.0", 7777))
t = socket.socket()
t.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
t.bind(("0.0.0.0", 7777))
t.listen()
def echo():
    while True:
        d, a = u.recvfrom(99)
        u.sendto(d, a)
threading.Thread(target=echo, daemon=True).start()
print("serving", flush=True)
while True:
    c = t.accept()[0]
    print("accepted", flush=True)
    c.sendall(b"here")
    c.close()
'

# probe TARGET... - from sandbox one
# Without the shim: what the packets come to is asked.
probe() {
	run "$AC" exec one -- env AC_NET_PRELOAD=off \
		python3 -c "$PROBE" "$@"
}

# serves INSTANCE - an echo server on port 7777 runs in it
serves() {
	"$AC" exec "$1" -- python3 -c "$SERVE" >"$BATS_TEST_TMPDIR/serve" \
		2>&1 3>&- &
	eventually grep -q serving "$BATS_TEST_TMPDIR/serve"
}

@test "control: TCP and UDP work on a sandbox's own loopback" {
	serves one
	probe tcp,127.0.0.1,7777 udp,127.0.0.1,7777
	has 'tcp,127.0.0.1,7777 open'
	has 'udp,127.0.0.1,7777 open'
	"$AC" exec one -- pkill -f 7777 || true
}

@test "no TCP and no UDP from one sandbox to another" {
	serves two
	address=$(field two .address)
	probe "tcp,$address,7777" "udp,$address,7777"
	has "tcp,$address,7777 closed"
	has "udp,$address,7777 closed"
	run cat "$BATS_TEST_TMPDIR/serve"
	is serving
	"$AC" exec two -- pkill -f 7777 || true
}

@test "no TCP and no UDP from a sandbox to ac-host" {
	need_root
	nsenter -t "$(host_pid)" -n python3 -c "$SERVE" \
		>"$BATS_TEST_TMPDIR/host" 2>&1 3>&- &
	local pid=$!
	eventually grep -q serving "$BATS_TEST_TMPDIR/host"
	# Control: whoever is in that network namespace gets an answer.
	run nsenter -t "$(host_pid)" -n python3 -c "$PROBE" \
		tcp,172.20.0.53,7777 udp,172.20.0.53,7777
	has 'tcp,172.20.0.53,7777 open'
	has 'udp,172.20.0.53,7777 open'
	: >"$BATS_TEST_TMPDIR/host"
	# Its own address, its other ones, and the name service asked nonsense.
	host=$(in_host ip -4 -o addr show dev eth0 |
		sed -n 's/.*inet \([0-9.]*\).*/\1/p')
	probe tcp,172.20.0.53,7777 udp,172.20.0.53,7777 \
		"tcp,$host,7777" "udp,$host,7777" tcp,127.0.0.2,7777 \
		tcp,172.20.0.53,53 udp,172.20.0.53,53
	kill $pid
	lacks open
	lacks '172.20.0.53,7777 refused'
	run cat "$BATS_TEST_TMPDIR/host"
	silent
}

@test "no port of the gateway but its three, and none of its admin socket" {
	# A port in use would be shown as one more listener.
	run in_host sh -c "ss -Htln src 172.20.0.53; ss -Huln src 172.20.0.53"
	code 0
	run in_host sh -c "ss -Htln; ss -Huln"
	[ "$(awk '{ print $4 }' <<<"$output" | grep -v '^127\.' | sort -u |
		tr '\n' ' ')" = '172.20.0.53:3128 172.20.0.53:3129 172.20.0.53:53 ' ]
	run "$AC" exec one -- sh -c 'ls /run/ac /run/gate /run/ac/gate.sock'
	code 2
}

@test "no packet out of a sandbox to the machine or to the world" {
	local machine
	machine=$(docker inspect -f \
		'{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}' \
		"$AC_HOST")
	probe tcp,1.1.1.1,443 udp,8.8.8.8,53 tcp,169.254.169.254,80 \
		"tcp,${machine:-172.17.0.1},22" \
		"udp,${machine:-172.17.0.1},53"
	lacks open
	lacks refused
}

@test "no ICMP and no IPv6 out of a sandbox" {
	run "$AC" exec one -- python3 -c '
import socket
def ping(host):
    try:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM,
                          socket.IPPROTO_ICMP)
        s.settimeout(1)
        s.sendto(b"\x08\0\xf7\xff\0\0\0\0", (host, 0))
        s.recv(99)
        return "open"
    except OSError:
        return "closed"
print("icmp", ping("172.20.0.53"), ping("1.1.1.1"))
try:
    s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    s.settimeout(1)
    s.connect(("2606:4700:4700::1111", 443))
    print("ip6 open")
except OSError:
    print("ip6 closed")
'
	has 'icmp closed closed'
	has 'ip6 closed'
}

@test "every name leads to the gateway, and what is not allowed is told" {
	run "$AC" exec one -- getent ahostsv4 example.com
	code 0
	[[ $(awk '{ print $1 }' <<<"$output" | sort -u) = 198.1[89].* ]]
	run ! "$AC" exec one -- getent ahostsv6 nowhere.example.com
	run --separate-stderr "$AC" exec one -- curl -sS -m 10 http://example.com/
	code 7
	says 'ac policy allow one example.com:80'
	run "$AC" exec one -- env AC_NET_PRELOAD=off \
		curl -sS -m 10 http://example.com/
	code 0
	has 'ac: blocked example.com:80 (not-allowed'
	has 'ac policy allow one example.com:80'
	run ! "$AC" exec one -- curl -sS -m 10 https://example.com
	run in_host grep -c '"agent":"one".*"name":"example.com"' \
		/var/lib/ac/log/audit/audit.jsonl
	[ "$output" -ge 2 ]
}

@test "addresses are no way around names: metadata, literals, IPv6" {
	for url in http://169.254.169.254/ http://1.1.1.1/ \
		http://172.20.0.53/ http://localhost.localdomain/ \
		http://metadata.google.internal/ "http://[fd00:ec2::254]/"; do
		for shim in on off; do
			run --separate-stderr "$AC" exec one -- \
				env AC_NET_PRELOAD=$shim curl -s -m 5 \
				-o /dev/null -w '%{http_code}' "$url"
			[[ $output = 403 || $output = 400 || $output = 000 ]]
		done
	done
}

@test "the rules are loaded in ac-host before any sandbox, and open to the gateway" {
	run in_host nft list ruleset
	code 0
	has 'iifname "ac0" drop'
	has 'policy drop'
	has 'tcp redirect to :3129'
	run "$AC" status --json
	[ "$(jq -r .network.state <<<"$output")" = gateway ]
	[ "$(jq -r .gateway.state <<<"$output")" = up ]
}

@test "nothing is forwarded, and the bridge answers for nobody" {
	for file in forwarding proxy_arp route_localnet send_redirects; do
		run in_host cat "/proc/sys/net/ipv4/conf/ac0/$file"
		is 0
	done
}

# pinned - the addresses in the set, a line each
pinned() { in_host nft list set bridge ac pinned | grep -oE '172[0-9.]+'; }

@test "each sandbox's address is bound to its own port and MAC" {
	gone three
	run -0 "$AC" run base three -d --isolation crun -- sleep infinity
	for name in one two three; do
		address=$(field "$name" .address)
		run pinned
		has "$address"
		run in_host ip neigh show dev ac0
		has "$address lladdr"
		lacks "$address REACHABLE"
	done
	address=$(field three .address)
	[ "$(in_host bridge -d link show | grep -c 'learning off flood off')" -ge 3 ]
	[ "$(in_host bridge -d link show | grep -c 'isolated on')" -ge 3 ]
	gone three
	run pinned
	lacks "$address"
	run in_host ls /var/lib/ac/policy/agents
	lacks three
	has one.yaml
}

@test "a sandbox cannot take another's address" {
	need_root
	# From outside: no agent has the right. The guest's own kernel does not
	# matter, its interface is what counts.
	gone three
	run -0 "$AC" run base three -d --isolation crun -- sleep infinity
	pid=$(box three '{{.State.Pid}}')
	inside=$(in_host cat "/proc/$pid/status" | awk '/^NSpid/ { print $2 }')
	other=$(field one .address)
	in_host nsenter -t "$inside" -n sh -c "
		ip addr flush dev eth0; ip addr add $other/16 dev eth0
		ip route add default via 172.20.0.53"
	run in_host nsenter -t "$inside" -n timeout 3 \
		bash -c 'echo >/dev/tcp/172.20.0.53/3128'
	[ "$status" -ne 0 ]
	# Control: with its own address it gets there.
	in_host nsenter -t "$inside" -n sh -c "
		ip addr flush dev eth0
		ip addr add $(field three .address)/16 dev eth0
		ip route add default via 172.20.0.53"
	run -0 in_host nsenter -t "$inside" -n timeout 3 \
		bash -c 'echo >/dev/tcp/172.20.0.53/3128'
	gone three
}

@test "the gateway killed: nothing leaves, and it comes back by itself" {
	in_host pkill -KILL -x ottergate
	run "$AC" exec one -- curl -s -m 1 -o /dev/null -w '%{http_code}' \
		http://172.20.0.53/
	[[ $output != 200 ]]
	eventually gateway_up
	run "$AC" exec one -- env AC_NET_PRELOAD=off \
		curl -sS -m 10 http://example.com/
	has 'ac: blocked example.com:80'
}

gateway_up() { [ "$("$AC" status --json | jq -r .gateway.state)" = up ]; }
