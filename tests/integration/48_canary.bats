#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 48_canary.bats - real tokens, looked for where a file is no help
#
# 47_credentials.bats searches files, environments and arguments. Here: the
# memory of each client while it uses its credential, the whole memory of the
# sandbox from outside, what passes between acd and init-guard from the first
# byte on, and every frame of the sandboxes' bridge. Each search has something
# planted that it must find.

load common

# shellcheck source=tests/attack/world.bash
. "$AC_SRC/tests/attack/world.bash"
# shellcheck source=tests/attack/forge.bash
. "$AC_SRC/tests/attack/forge.bash"

LEAKS=$AC_SRC/tests/fake/leaks.py
IO=read,readv,recvfrom,recvmsg,recvmmsg,write,writev,sendto,sendmsg,sendmmsg

# leaks MODE ARGUMENT... - for all tokens and what is planted; sets found
leaks() {
	found=$(python3 "$LEAKS" "$@" <"$WORLD/needles.json") &&
		echo "$1: $(jq -c .searched <<<"$found")"
}

# taps_on - strace of acd's threads, but of none of its children, since gVisor
# traces its own; and a tap of the bridge
taps_on() {
	local acd task threads=()
	acd=$(host_pid)
	for task in "/proc/$acd/task/"*; do
		threads+=(-p "${task##*/}")
	done
	# In acd's network namespace: there the kernel says who a peer is.
	nsenter --net="/proc/$acd/ns/net" strace -q -yy -xx -s 300000 -e "trace=$IO" \
		-o "$WORLD/link.trace" "${threads[@]}" \
		>>"$WORLD/errors" 2>&1 3>&- &
	strace_pid=$!
	nsenter --net="/proc/$acd/ns/net" python3 "$LEAKS" tap ac0 \
		"$WORLD/ac0.tap" >>"$WORLD/errors" 2>&1 3>&- &
	tap_pid=$!
	# A set-up that fails leaves them to teardown_file.
	echo "$strace_pid $tap_pid" >"$WORLD/taps.pid"
	eventually test -e "$WORLD/ac0.tap"
	traced() { grep -q 'TracerPid:[^0-9]*[1-9]' "/proc/$acd/status"; }
	eventually traced
}

taps_off() {
	kill "$strace_pid" "$tap_pid"
	wait "$strace_pid" "$tap_pid" || true
	rm "$WORLD/taps.pid"
}

# flight - all clients at once, with traces, and what is planted
flight() {
	"$AC" exec work -- bash -se <<END
echo planted-in-the-link
# No rule allows it: without the shim the request is made, for the tap to see.
AC_NET_PRELOAD=off curl -s -m 5 \
	http://plain.cred.test/planted-in-a-frame >/dev/null
cd ~/one
GIT_TRACE_CURL=1 GIT_TRACE_REDACT=0 git fetch origin 2>&1
GH_DEBUG=api gh repo list 2>&1
glab mr list -R otter/one
curl -sv https://api.cred.test/pieces -H "X-Service-Key: \$SERVICE_KEY" 2>&1
curl -sN https://api.anthropic.com/v1/messages \
	-H "x-api-key: \$ANTHROPIC_API_KEY" -d '{"model":"o","stream":true}'
END
}

setup_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	forge_host_up </dev/null
	forge_vault
	jq '. + {"link": "planted-in-the-link", "frame": "planted-in-a-frame",
		"memory": "planted-in-the-memory"}' "$FORGE/tokens.json" \
		>"$WORLD/needles.json"
	blueprint_put keys '  - { name: github, git: { push: allow } }' \
		'  - gitlab' '  - anthropic' \
		'  - { name: service, env: SERVICE_KEY }'
	taps_on
	"$AC" run keys work -d -- sleep infinity 3>&-
	tar -C "$AC_SRC/tests/attack" -cf - probe |
		"$AC" exec work -- tar -xf - -C /tmp
	"$AC" exec work -- sh -c 'cd && git clone -q \
		https://github.com/otter/one.git' 3>&-
	flight >"$WORLD/flight.log" 2>&1
	taps_off
	# From here on there is always a client at work.
	flight_goes_on >/dev/null 2>&1 3>&- &
	echo $! >"$WORLD/flight.pid"
}

flight_goes_on() {
	while flight; do :; done
}

teardown_file() {
	local pids
	[ -d "$FORGE" ] || return 0
	for pids in "$WORLD/taps.pid" "$WORLD/flight.pid"; do
		[ ! -e "$pids" ] || xargs kill <"$pids" || true
	done
	gone work
	"$AC" vault rm --yes github gitlab npm pypi anthropic openai gemini \
		service
	rm -rf "$AC_HOME"/blueprints/keys
	forge_host_down
}

setup() { need_root; }

# none_but NAME... - was found but these, each of which was
none_but() {
	jq -e --args '.found | with_entries(select(.value != [])) | keys ==
		($ARGS.positional | sort)' "$@" <<<"$found" >/dev/null || {
		echo "found, though only $* should be:"
		jq -c '.found | with_entries(select(.value != []))' <<<"$found"
		return 1
	}
}

# sentries - the processes outside that are the sandbox work
sentries() { pgrep -f "runsc.*$(box_id work)"; }

@test "the clients were at work" {
	cat "$WORLD/flight.log"
	run cat "$WORLD/flight.log"
	has 'Authorization: Basic'
	has otter/one
	has 'Mend the dam'
	has message_stop
	forge_saw api.cred.test GET /pieces service
	forge_saw github.com GET /otter/one.git github
	forge_saw api.github.com POST /graphql github
}

@test "the guest link bears no real token" {
	local inodes pid
	inodes=$(for pid in $(sentries); do
		find "/proc/$pid/fd" -lname 'socket:*' -printf '%l\n'
	done | tr -dc '0-9\n' | sort -u)
	# shellcheck disable=SC2086 # one argument each
	leaks trace "$WORLD/link.trace" $inodes
	none_but link frame # a frame's text is in the script, which came by it
	# The same search of all that acd says to the gateway does find them.
	leaks trace "$WORLD/link.trace"
	jq -e '.found.github != [] and .found.service != []' <<<"$found"
}

@test "the bridge bears no real token" {
	leaks frames "$WORLD/ac0.tap"
	none_but frame
	jq -e '.searched.streams > 5' <<<"$found"
}

@test "the whole memory of the sandbox has no real token" {
	"$AC" exec work -- env PLANTED=planted-in-the-memory sleep 600 &
	planted=$!
	stands() { "$AC" exec work -- pgrep -x sleep >/dev/null; }
	eventually stands
	# shellcheck disable=SC2046 # one argument each
	leaks memory $(sentries)
	kill "$planted"
	jq -e '.searched.bytes > 20000000' <<<"$found"
	jq -e '.found.memory != []' <<<"$found"
	none_but frame link memory
}

@test "nor has a client's own memory, while it uses its surrogate" {
	local name said
	jq '. + {"surrogate": $key, "asked": "x-access-token:ghp_"}' --arg key \
		"$("$AC" exec work -- printenv SERVICE_KEY)" \
		"$WORLD/needles.json" | python3 "$LEAKS" forms |
		"$AC" exec work -- sh -c 'cat >/tmp/needles'
	run -0 --separate-stderr "$AC" exec work -- \
		env PLANTED=planted-in-the-memory bash -se <<'END'
gcc -O2 -Wall -D_GNU_SOURCE -shared -fPIC -o /tmp/memory.so \
	/tmp/probe/memory.c
export MEMORY_NEEDLES=/tmp/needles MEMORY_FOUND=/tmp/memory.found
export LD_PRELOAD=/tmp/memory.so
cd ~/one && git fetch -q origin
curl -sf -o /dev/null https://api.cred.test/echo \
	-H "X-Service-Key: $SERVICE_KEY"
cat >/tmp/ask.py <<'PY'
import os, urllib.request
ask = urllib.request.Request("https://api.cred.test/echo", headers={
    "X-Service-Key": os.environ["SERVICE_KEY"]})
print(len(urllib.request.urlopen(ask).read()))
PY
python3 /tmp/ask.py
node -e 'fetch("https://api.cred.test/echo", { headers: {
	"X-Service-Key": process.env.SERVICE_KEY } }).then((a) => a.text())
	.then((text) => console.log(text.length))'
unset LD_PRELOAD
sort -u /tmp/memory.found
END
	# What nothing can be loaded into (gh, glab) is in the test above.
	for name in git-remote-https curl python3 node; do
		has "$name searched"
		has "$name memory"
	done
	for name in curl python3 node; do
		has "$name surrogate"
	done
	has 'git-remote-https asked'
	said=$output
	for name in $(jq -r 'keys[]' "$FORGE/tokens.json"); do
		run -1 grep " $name\$" <<<"$said"
	done
}
