#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 48_preload.bats - the shim: programs are told why, and nothing else changes
#
# The servers and the name server are those of the attack suite. What decides
# is the gateway, with the shim and without it: preload_cases.py has every
# program go to every place in both ways, and compares.

load common

# shellcheck source=tests/attack/world.bash
. "$AC_SRC/tests/attack/world.bash"

PORTS=198.51.100.10 # has its echo at 22 (world.bash), and here at 5432

# helpers - what the cases want in the sandbox, into the folder $kit
helpers() {
	local go
	cp "$AC_SRC"/tests/integration/preload_*.py \
		"$AC_SRC"/tests/attack/probe/{hello.py,static.c} "$kit"
	go=$(command -v go || command -v /usr/local/go/bin/go) || return 0
	CGO_ENABLED=0 "$go" build -o "$kit/go-pure" \
		"$AC_SRC/tests/integration/preload_dial.go" || return 0
	CGO_ENABLED=1 "$go" build -tags netcgo -o "$kit/go-cgo" \
		"$AC_SRC/tests/integration/preload_dial.go" || true
}

# kit_into NAME
kit_into() {
	tar -C "$kit" -cf - . | "$AC" exec "$1" -- sh -c '
		mkdir -p /tmp/kit && tar --no-same-owner -xf - -C /tmp/kit'
}

setup_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	export kit=$AC_TEST_TMP/preload
	mkdir -p "$kit" "$AC_HOME/policy"
	world_up
	ip netns exec "$WORLD_NS" iptables -w -t nat -I PREROUTING \
		-d "$PORTS" -p tcp --dport 5432 -j DNAT \
		--to-destination "$PORTS:7000"
	python3 "$AC_SRC/tests/integration/preload_cases.py" policy \
		"$WORLD_DNS" >"$AC_HOME/policy/policy.yaml"
	# The gateway takes a name server when it starts.
	"$AC" stop 3>&-
	"$AC" start --quiet 3>&-
	"$AC" run base pre -d --egress preload -- sleep infinity 3>&-
	helpers 3>&-
	kit_into pre
	"$AC" exec pre -- sh -c 'cd /tmp/kit &&
		gcc -static -o static static.c && gcc -o raw static.c'
	"$AC" exec pre -- python3 /tmp/kit/preload_cases.py run \
		>"$kit/results" 3>&-
	eventually audit_whole 3>&- || true # the first test names what is missing
}

# audit_whole - the audit of now as $kit/audit, if it has a line of every case
audit_whole() {
	cp "$AC_HOME/log/audit/audit.jsonl" "$kit/audit"
	judged whole >"$kit/missing"
}

teardown_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	gone pre pre-crun pre-pool pre-engine
	"$AC" stop 3>&- || true
	rm -f "$AC_HOME/policy/policy.yaml"
	world_down
	"$AC" start --quiet 3>&-
}

setup() { need_root; }

inside() { "$AC" exec pre -- "$@"; }
# python_in - in the sandbox, from stdin
python_in() { "$AC" exec pre -- python3 - "$@"; }

# judged WHAT
judged() {
	python3 "$AC_SRC/tests/integration/preload_cases.py" judge "$1" \
		"$kit/audit" "$kit/results"
}

# once NAME PORT [ENVIRONMENT...] - a program that goes there and ends
once() {
	local name=$1 port=$2
	shift 2
	inside env "$@" python3 -c '
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 10)
except OSError as e:
    sys.exit(1 if e.errno == 111 else 2)' "$name" "$port"
}

gateway_pid() { pgrep -P "$(host_pid)" -x ottergate | head -n 1; }

@test "the verdict is the same with the shim and without, for every program" {
	judged same
}

@test "who is denied is told so once, and how to allow it" {
	judged told
}

@test "the audit has the program, as it calls itself" {
	judged program
}

@test "the command that it names makes it work" {
	local name=told.wild.test
	run -1 --separate-stderr once "$name" 443
	[[ $stderr == *"ac: blocked $name:443 (not-allowed"* ]]
	line=$(grep -o 'ac policy allow .*' <<<"$stderr")
	[ "$line" = "ac policy allow pre $name:443" ]
	run -0 "$AC" policy allow pre "${line##* }"
	eventually once "$name" 443 # a denial is kept for a moment
	run -0 "$AC" policy log pre --all
	has "$name"
}

@test "AC_NET_QUIET silences it, AC_NET_PRELOAD=off takes it out of the way" {
	run -1 --separate-stderr once quiet.wild.test 443 AC_NET_QUIET=1
	[ -z "$stderr" ]
	# Then the connection is made, and ends when it has said something.
	run -0 --separate-stderr once away.wild.test 443 AC_NET_PRELOAD=off
	[ -z "$stderr" ]
}

@test "a host is told once in a program, whatever the port" {
	run -0 python_in <<'END'
import socket
for port in (443, 443, 22, 443, 22):
    try:
        socket.create_connection(("twice.wild.test", port), 10)
        print("open")
    except ConnectionRefusedError:
        print("refused")
END
	[ "$(grep -c refused <<<"$output")" = 5 ]
	[ "$(grep -c 'blocked twice.wild.test:443' <<<"$output")" = 1 ]
	lacks 'blocked twice.wild.test:22'
}

@test "nothing is drawn on a terminal that a program draws on" {
	cat >"$kit/screen.py" <<'END'
import socket, sys, tty
if sys.argv[1] == "raw":
    tty.setraw(2)
try:
    socket.create_connection((sys.argv[1] + ".wild.test", 443), 10)
except ConnectionRefusedError:
    print("refused")
END
	kit_into pre
	run -0 inside script -qc 'python3 /tmp/kit/screen.py raw' /dev/null
	has refused
	lacks blocked
	run -0 inside script -qc 'python3 /tmp/kit/screen.py cooked' /dev/null
	has refused
	has 'blocked cooked.wild.test:443'
}

@test "standard error that has become a file gets no line" {
	run -0 python_in <<'END'
import os, socket
os.dup2(os.open("/tmp/data", os.O_RDWR | os.O_CREAT), 2)
try:
    socket.create_connection(("file.wild.test", 443), 10)
except ConnectionRefusedError:
    print("refused", os.fstat(2).st_size)
END
	is 'refused 0'
}

@test "UDP to a name fails at once, and its connect() keeps its silence" {
	run -0 --separate-stderr python_in <<'END'
import errno, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    s.sendto(b"x", ("udp.wild.test", 443))
except OSError as e:
    print(errno.errorcode[e.errno])
for host in ("8.8.8.8", "learn.wild.test"):
    t = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    t.connect((host, 443)) # how programs learn their own address
    print(t.getsockname()[0] != "0.0.0.0")
END
	is $'EHOSTUNREACH\nTrue\nTrue'
	[[ $stderr == *'ac: blocked udp udp.wild.test:443'* ]]
	[[ $stderr != *learn.wild.test* ]]
}

@test "servers in the sandbox are reached: loopback, own address, unix" {
	run -0 python_in <<'END'
import socket
own = socket.gethostbyname(socket.gethostname())
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.connect(("198.51.100.10", 9))
for at in ("127.0.0.1", "127.9.9.9", own, u.getsockname()[0]):
    with socket.create_server(("", 0)) as s:
        port = s.getsockname()[1]
        c = socket.create_connection((at, port), 10)
        p, _ = s.accept()
        p.sendall(b"hi")
        assert c.recv(2) == b"hi" and c.getpeername() == (at, port)
with socket.socket(socket.AF_UNIX) as s:
    s.bind("\0here")
    s.listen()
    c = socket.socket(socket.AF_UNIX)
    c.connect("\0here")
print("all")
END
	is all
	run -0 inside node -e '
		const net = require("net");
		const s = net.createServer((c) => c.end("hi")).listen(0, () =>
			net.connect(s.address().port, "localhost").on("data",
				(d) => { console.log(d + ""); s.close(); }));'
	is hi
}

@test "an allowed peer is who was wanted, and waiting for it is as ever" {
	run -0 python_in <<'END'
import errno, select, socket
name = "python-on-ok.wild.test"
to = (socket.gethostbyname(name), 443)
s = socket.socket()
s.setblocking(False)
e = s.connect_ex(to)
assert e in (0, errno.EINPROGRESS), e
ep = select.epoll()
ep.register(s.fileno(), select.EPOLLOUT)
assert ep.poll(10)[0][1] & select.EPOLLOUT
assert s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
assert s.getpeername() == to
assert s.connect_ex(to) in (0, errno.EISCONN)
assert s.connect_ex(("198.51.100.99", 22)) == errno.EISCONN
print(errno.errorcode.get(e, "0"))
END
	[[ $output = EINPROGRESS || $output = 0 ]]
}

@test "a thousand threads, and a storm of forks" {
	run -0 --separate-stderr python_in <<'END'
import collections, socket, threading
threading.stack_size(128 << 10)
got = collections.Counter()
there = (socket.gethostbyname("threads.wild.test"), 443)
with socket.create_server(("127.0.0.1", 0), backlog=1024) as s:
    here = s.getsockname()
    threading.Thread(target=lambda: [s.accept() for _ in range(500)],
                     daemon=True).start()
    def one(i):
        to = here if i % 2 else there
        try:
            socket.create_connection(to, 60).close()
            got[to, "open"] += 1
        except ConnectionRefusedError:
            got[to, "refused"] += 1
    all = [threading.Thread(target=one, args=(i,)) for i in range(1000)]
    [t.start() for t in all]
    [t.join() for t in all]
# More questions at once than the gateway answers are no reason to wait: some
# may have been let through to it.
assert got[there, "refused"] >= 1
print(got[here, "open"], got[there, "refused"] + got[there, "open"])
END
	is '500 500'
	[ "$(grep -c 'blocked threads' <<<"$stderr")" = 1 ]
	run -0 inside bash -c '
		f() { (exec 3<>/dev/tcp/storm.wild.test/443) 2>/dev/null; }
		for i in {1..100}; do f & done; wait
		for i in {1..100}; do (true) & done; wait; echo over'
	is over
}

@test "a gateway that is gone holds nobody up, and is asked again" {
	kill -KILL "$(gateway_pid)"
	# While it is away a connection fails as it may; it does end.
	run inside timeout 60 curl -sk -m 30 -o /dev/null \
		https://python-on-ok.wild.test/
	[ "$status" -ne 124 ]
	back() { inside curl -sk -m 10 -o /dev/null \
		https://python-on-ok.wild.test/; }
	eventually back
	told() { once back.wild.test 443 2>&1 | grep -q 'blocked back.wild'; }
	eventually told
}

# held NAME - nothing of the shim can be changed from inside
held() {
	# shellcheck disable=SC2016 # expanded in the sandbox
	"$AC" exec "$1" -- bash -c '
		for f in /etc/ld.so.preload /usr/libexec/ac/net_proxy.so; do
			test -s $f && [ "$(stat -c %u $f)" = 0 ] || exit 1
			for c in "rm -f $f" "mv $f /tmp/x" "ln -sf /tmp/x $f" \
				"chmod 666 $f" "truncate -s 0 $f" \
				"cp /bin/true $f" "mount -t tmpfs x ${f%/*}" \
				"mv ${f%/*} /tmp/y"; do
				! $c 2>/dev/null || { echo "$c"; exit 1; }
			done
			test -s $f || exit 1
		done
		# and it is in a program without an environment
		env -i cat /proc/self/maps | grep -c net_proxy.so'
}

@test "every kind of sandbox has it, and none can change it" {
	mkdir -p "$AC_HOME/blueprints/pooled"
	printf '%s\n' 'version: 1' 'image: base' 'command: [bash, -l]' 'pool: 1' \
		>"$AC_HOME/blueprints/pooled/blueprint.yaml"
	"$AC" run base pre-crun -d --isolation crun -- sleep infinity 3>&-
	AC_RUNTIME=docker "$AC" run base pre-engine -d -- sleep infinity 3>&-
	for name in pre pre-crun pre-engine; do
		run -0 held "$name"
		[ "${lines[-1]}" -ge 1 ]
	done
	gone pre-crun pre-engine
	"$AC" run pooled pre-pool --rm -- true # fills the pool
	ready() {
		[ "$("$AC" status --json | jq -r '.pools[] |
			select(.blueprint == "pooled") | .ready')" = 1 ]
	}
	eventually ready
	"$AC" run pooled pre-pool -d -- sleep infinity 3>&-
	run -0 held pre-pool
	gone pre-pool
	rm -rf "$AC_HOME/blueprints/pooled"
}

@test "programs with sanitizers start, and find what they are for" {
	cat >"$kit/hello.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	char *p = malloc(8);

	p[argc > 1 ? 8 : 0] = argv[0][0];
	puts("hello");
	free(p);
	return 0;
}
END
	kit_into pre
	for kind in address thread undefined; do
		run -0 inside sh -c "cd /tmp/kit &&
			gcc -fsanitize=$kind -o $kind hello.c && ./$kind"
		is hello
	done
	run inside sh -c '/tmp/kit/address more 2>&1'
	[ "$status" -ne 0 ]
	has heap-buffer-overflow
	[ "$("$AC" run base asan -e ASAN_OPTIONS=halt_on_error=0 -- \
		printenv ASAN_OPTIONS)" = \
		halt_on_error=0:verify_asan_link_order=0 ]
	gone asan
}

@test "a program of musl has it by LD_PRELOAD" {
	need musl-gcc
	local loader
	loader=$(echo /lib/ld-musl-*.so.1)
	cat >"$kit/musl.c" <<'END'
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
	struct addrinfo *a, want = { .ai_socktype = SOCK_STREAM };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (getaddrinfo("musl.wild.test", "443", &want, &a) != 0)
		return 2;
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0)
		puts(errno == ECONNREFUSED ? "refused" : strerror(errno));
	return 0;
}
END
	musl-gcc -o "$kit/musl" "$kit/musl.c"
	cp -L "$loader" "$kit/loader"
	kit_into pre
	run -0 --separate-stderr inside env \
		LD_PRELOAD=/usr/libexec/ac/net_proxy.so \
		/tmp/kit/loader /tmp/kit/musl
	is refused
	[[ $stderr == *'ac: blocked musl.wild.test:443'* ]]
}
