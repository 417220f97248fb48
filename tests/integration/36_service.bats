#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 36_service.bats - services of the user's own network: by name, for those who
# name them, with a credential
#
# A network namespace is the LAN: the service at one port of one address, and
# beside it what must stay out of reach, another port and another address. Two
# more are on the loopback of this machine, one of which is a service. Each
# "cannot" has a control that can. The servers are tests/fake/llm.py.

load common

LAN_NS=$AC_HOST-lan
LAN_IF=l-${AC_HOST:0:12}
LAN=10.213.7
LLM=$LAN.2
# On this machine's own loopback: a service, and another server beside it.
HERE=21434
BESIDE=21435
EDGE=$AC_HOST-edge

# serve ADDRESS PORT [COMMAND...] - in the LAN, or by COMMAND; its log in
# $BATS_FILE_TMPDIR/ADDRESS
serve() {
	local by=("${@:3}")
	[ $# -gt 2 ] || by=(nsenter --net="/run/netns/$LAN_NS")
	mkdir -p "$BATS_FILE_TMPDIR/$1"
	"${by[@]}" \
		python3 "$AC_SRC/tests/fake/llm.py" "$BATS_FILE_TMPDIR/$1" \
		"$1" "$2" >>"$BATS_FILE_TMPDIR/errors" 2>&1 3>&- &
	echo $! >>"$BATS_FILE_TMPDIR/pids"
	mkdir -p "$AC_TEST_TMP/world" # for machine_clear
	echo $! >>"$AC_TEST_TMP/world/pids"
	eventually [ -e "$BATS_FILE_TMPDIR/$1/$2.jsonl" ]
}

setup_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	ip netns add "$LAN_NS"
	ip link add "$LAN_IF" type veth peer name lan0 netns "$LAN_NS"
	ip addr add $LAN.1/29 dev "$LAN_IF"
	ip link set "$LAN_IF" up
	ip -n "$LAN_NS" addr add $LLM/29 dev lan0
	ip -n "$LAN_NS" addr add $LAN.3/29 dev lan0
	ip -n "$LAN_NS" link set lan0 up
	ip -n "$LAN_NS" link set lo up
	ip -n "$LAN_NS" route add default via $LAN.1
	serve $LLM 11434
	serve $LLM 11435
	serve $LAN.3 11434
	serve 127.0.0.1 $HERE env
	serve 127.0.0.1 $BESIDE env
	"$AC" service add llm $LLM:11434
	"$AC" service add near $LAN.3:11434
	"$AC" run base lan -d --service llm -- sleep infinity
	"$AC" run base poor -d -- sleep infinity
}

teardown_file() {
	gone lan poor keyed home
	"$AC" service rm here 2>/dev/null || true
	"$AC" service rm llm 2>/dev/null || true
	"$AC" service rm near 2>/dev/null || true
	"$AC" vault rm --yes lan-key 2>/dev/null || true
	xargs -r kill <"$BATS_FILE_TMPDIR/pids" 2>/dev/null || true
	ip netns del "$LAN_NS" 2>/dev/null || true
	ip link del "$LAN_IF" 2>/dev/null || true
	rm -f "$AC_HOME/policy/policy.yaml"
	"$AC" policy reload >/dev/null 2>&1 || true
}

setup() { need_root; }

# get INSTANCE CURL-ARGUMENTS... - what a request is answered with; the shim
# would not let some come that far
get() {
	local name=$1
	shift
	run "$AC" exec "$name" -- env AC_NET_PRELOAD=off \
		curl -s -m 20 -o /dev/null -w '%{http_code}' "$@"
}

# seen ADDRESS PORT - how many requests came there
seen() { wc -l <"$BATS_FILE_TMPDIR/$1/$2.jsonl"; }

@test "services are added, shown and removed; what is none is refused" {
	run -0 "$AC" service add tmp 192.168.77.5:8443 --as models.corp.example \
		--proto tls
	has 'https://models.corp.example:8443'
	run -0 "$AC" service ls
	has 'llm'
	has "$LLM:11434"
	[ "$("$AC" service show tmp --json | jq -r '.address + .proto')" = \
		192.168.77.5tls ]
	[ "$("$AC" service show llm --json | jq -r '.used_by | join(" ")')" = \
		lan ]
	run -1 "$AC" service add tmp 192.168.77.6:1
	says "there is a service 'tmp' already"
	for bad in 169.254.169.254:80 172.20.0.53:80 224.0.0.1:80; do
		run -1 "$AC" service add bad "$bad"
		says 'no service may be there'
	done
	for bad in nas.local:80 10.1.2.3 10.1.2.0/24:80 10.1.2.3:80-90; do
		run -2 "$AC" service add bad "$bad"
		says 'ADDRESS:PORT'
	done
	run -1 "$AC" service add bad 10.1.2.3:80 --as metadata.google.internal
	run -1 "$AC" service rm llm
	says "'lan' runs and uses"
	run -0 "$AC" service rm tmp --json
	[ "$(jq -r '.removed[0]' <<<"$output")" = tmp ]
	run -1 "$AC" service show tmp
	run -125 "$AC" run base keyed --service tmp -- true
	says "there is no service 'tmp'"
}

@test "an instance reaches the service that it names, and the check says so" {
	get lan http://llm.internal:11434/echo
	is 200
	[ "$(seen $LLM 11434)" -ge 1 ]
	run -0 "$AC" policy check lan http://llm.internal:11434/echo
	run -0 "$AC" policy check lan http://llm.internal:11434/echo --json
	[ "$(jq -r '.addresses[0].address' <<<"$output")" = $LLM ]
	run -0 "$AC" policy show lan
	has "llm.internal at $LLM"
	has svc-llm
}

@test "N16 it cannot reach another port, another address, nor either by address" {
	get lan http://llm.internal:11434/echo # it can
	is 200
	local before
	before=$(seen $LLM 11435)$(seen $LAN.3 11434)
	for url in http://llm.internal:11435/ http://near.internal:11434/ \
		http://$LLM:11434/ http://$LLM:11435/ http://$LAN.3:11434/ \
		http://$LAN.1:22/ http://x.llm.internal:11434/; do
		get lan "$url"
		[ "$output" = 403 ] || {
			echo "$url: $output"
			return 1
		}
		run -3 "$AC" policy check lan "$url"
	done
	get lan -H 'Host: near.internal:11434' http://llm.internal:11434/
	is 403
	[ "$(seen $LLM 11435)$(seen $LAN.3 11434)" = "$before" ]
	# The control: they do listen.
	curl -s -m 20 -o /dev/null http://$LLM:11435/echo
	curl -s -m 20 -o /dev/null http://$LAN.3:11434/echo
}

@test "N16 one that does not name it cannot reach it, whatever it says" {
	local before
	get lan http://llm.internal:11434/echo # another one can
	is 200
	before=$(seen $LLM 11434)
	get poor http://llm.internal:11434/
	is 403
	get poor http://$LLM:11434/
	is 403
	run -0 "$AC" policy allow poor http://llm.internal:11434
	get poor http://llm.internal:11434/ # by name: the world has no such
	[[ $output = 502 || $output = 504 || $output = 403 ]]
	[ "$(seen $LLM 11434)" = "$before" ]
	run -0 "$AC" policy reset poor
}

@test "N16 a name that leads to the address of a service is not the service" {
	local before
	cat >"$AC_HOME/policy/policy.yaml" <<-YAML
		version: 1
		hosts: { rebind.example: [$LLM] }
	YAML
	run -0 "$AC" policy reload
	run -0 "$AC" policy allow lan http://rebind.example:11434
	before=$(seen $LLM 11434)
	get lan http://rebind.example:11434/
	is 403
	run -3 "$AC" policy check lan http://rebind.example:11434/
	has builtin-address
	[ "$(seen $LLM 11434)" = "$before" ]
	get lan http://llm.internal:11434/echo # the service itself
	is 200
}

@test "N17 a credential for a service: by name and port, in clear only if said" {
	local token=sk-proj-0123456789abcdef0123456789abcdef0123456789abcdef
	run -1 "$AC" vault add lan-key --kind openai --host llm <<<"$token"
	says '\-\-insecure'
	run -1 "$AC" vault add lan-key --kind openai --host llm.internal \
		--insecure <<<"$token"
	says 'llm.internal:11434'
	run -1 "$AC" vault add lan-key --kind openai --host a.example:8443 \
		<<<"$token"
	says 'is no service'
	run -1 "$AC" vault add lan-key --kind openai --host a.example \
		--insecure <<<"$token"
	says '\-\-insecure is for a service'
	run -0 "$AC" vault add lan-key --kind openai --host llm --insecure \
		<<<"$token"
	[ "$("$AC" vault ls --json |
		jq -r '.entries[] | select(.name == "lan-key") | .hosts[0]')" = \
		llm.internal:11434 ]
	run -125 "$AC" run base keyed --credential lan-key -- true
	says '\-\-service llm'

	echo "$token" >"$BATS_FILE_TMPDIR/$LLM/token"
	run -0 "$AC" run base keyed -d --credential lan-key --service llm \
		--service near -- sleep infinity
	# shellcheck disable=SC2016 # the sandbox's own
	run -0 "$AC" exec keyed -- sh -c 'curl -s -m 20 -w "%{http_code}" \
		-H "Authorization: Bearer $OPENAI_API_KEY" \
		http://llm.internal:11434/v1/models; env'
	has '200'
	lacks "$token"
	tail -n 1 "$BATS_FILE_TMPDIR/$LLM/11434.jsonl" | grep -qF "$token"
	run -0 "$AC" policy check keyed http://llm.internal:11434/v1/models --json
	[ "$(jq -r .credential <<<"$output")" = lan-key ]
	# Without it: the service says so itself. And no other place gets it.
	get lan http://llm.internal:11434/v1/models
	is 401
	# shellcheck disable=SC2016
	run -0 "$AC" exec keyed -- sh -c 'curl -s -m 20 -o /dev/null \
		-w "%{http_code}" -H "Authorization: Bearer $OPENAI_API_KEY" \
		http://near.internal:11434/v1/models'
	is 403
	run ! grep -rqF "$token" "$BATS_FILE_TMPDIR/$LAN.3"
	# What was true when it was added may not be any more.
	gone keyed
	run -0 "$AC" vault rm --yes lan-key
	rm "$BATS_FILE_TMPDIR/$LLM/token"
}

# edge FORMAT - of its container
edge() { docker inspect -f "$1" "$EDGE"; }

edge_gone() { ! docker inspect "$EDGE" >/dev/null 2>&1; }

# edge_is STATE - as acd says
edge_is() { [ "$("$AC" status --json | jq -r .edge.state)" = "$1" ]; }

answers() {
	get home http://here.internal:$HERE/echo
	is 200
}

by_proxy() {
	run "$AC" exec home -- env AC_NET_PRELOAD=off \
		curl -s -m 20 -x http://172.20.0.53:3128 \
		--noproxy '' -o /dev/null -w '%{http_code}' "$1"
}

@test "a service of this machine's own loopback is reached through ac-edge" {
	edge_gone
	edge_is unused
	run -1 "$AC" service add bad 127.0.0.2:80
	says '127.0.0.1 and ::1 can be'
	run -0 "$AC" service add here 127.0.0.1:$HERE
	has "at 127.0.0.1 of this machine"
	edge_is up
	run -0 "$AC" run base home -d --service here -- sleep infinity
	answers
	[ "$(seen 127.0.0.1 $HERE)" -ge 1 ]
	run -0 "$AC" service ls
	has "127.0.0.1:$HERE of this machine"
	run -0 "$AC" policy show home
	has "here.internal at 127.0.0.1 of this machine"
	run -0 "$AC" policy check home http://here.internal:$HERE/echo
	run -0 "$AC" status
	[[ $output =~ edge\ +up ]]
	run -0 "$AC" doctor
	has ac-edge
	# Many bytes, all of which arrive.
	# shellcheck disable=SC2016 # the sandbox's own
	run -0 "$AC" exec home -- sh -c 'head -c 3000000 /dev/zero |
		curl -s -m 60 --data-binary @- -o /dev/null -w "%{http_code}" \
		http://here.internal:'$HERE'/echo'
	is 200
	[ "$(tail -n 1 "$BATS_FILE_TMPDIR/127.0.0.1/$HERE.jsonl" |
		jq -r .length)" -eq 3000000 ]
}

@test "N16 nothing else of this machine's loopback is reached, and by no other" {
	local before url
	answers # it can, also by the way that is tried below
	by_proxy http://here.internal:$HERE/echo
	is 200
	before=$(seen 127.0.0.1 $BESIDE)$(seen 127.0.0.1 $HERE)
	for url in http://127.0.0.1:$HERE/ http://here.internal:$BESIDE/ \
		http://127.0.0.1:$BESIDE/ http://172.20.0.53:$HERE/ \
		http://x.here.internal:$HERE/; do
		by_proxy "$url"
		is 403
	done
	# By no proxy it is the sandbox's own loopback.
	get home http://127.0.0.1:$HERE/
	is 000
	get poor http://here.internal:$HERE/
	is 403
	get lan http://here.internal:$HERE/
	is 403
	run -0 "$AC" policy allow lan http://here.internal:$HERE
	get lan http://here.internal:$HERE/
	[[ $output = 502 || $output = 504 || $output = 403 ]]
	run -0 "$AC" policy reset lan
	[ "$(seen 127.0.0.1 $BESIDE)$(seen 127.0.0.1 $HERE)" = "$before" ]
	curl -s -m 20 -o /dev/null http://127.0.0.1:$BESIDE/echo # it listens
	[ "$(seen 127.0.0.1 $BESIDE)$(seen 127.0.0.1 $HERE)" != "$before" ]
}

@test "ac-edge has no capability, the user's ids, and the sockets alone" {
	local pid
	answers
	pid=$(edge '{{.State.Pid}}')
	[ "$(awk '/^Cap(Inh|Prm|Eff|Bnd|Amb)/ { print $2 }' \
		"/proc/$pid/status" | sort -u)" = 0000000000000000 ]
	grep -q '^NoNewPrivs:[[:space:]]*1' "/proc/$pid/status"
	grep -q '^Seccomp:[[:space:]]*2' "/proc/$pid/status"
	[ "$(stat -c '%u %g' "/proc/$pid/root/run/ac-edge")" = \
		"$(stat -c '%u %g' "$AC_HOME")" ]
	[ "$(edge '{{.Config.User}}')" = "$(stat -c '%u:%g' "$AC_HOME")" ]
	[ "$(edge '{{len .Mounts}} {{(index .Mounts 0).Source}}')" = \
		"1 $AC_HOME/run/edge" ]
	[ "$(edge '{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.NetworkMode}}')" = \
		"true host" ]
	[ "$(edge '{{.HostConfig.Privileged}} {{len .HostConfig.Devices}}')" = \
		"false 0" ]
	[ "$(ls "/proc/$pid/root/run/ac-edge")" = "$(printf 'acd.sock\nhere')" ]
}

@test "N17 a credential for a service of this machine, as for any" {
	local token=sk-proj-9876543210abcdef9876543210abcdef9876543210abcdef
	run -0 "$AC" vault add lan-key --kind openai --host here --insecure \
		<<<"$token"
	echo "$token" >"$BATS_FILE_TMPDIR/127.0.0.1/token"
	run -0 "$AC" run base keyed -d --credential lan-key --service here \
		-- sleep infinity
	# shellcheck disable=SC2016 # the sandbox's own
	run -0 "$AC" exec keyed -- sh -c 'curl -s -m 20 -w "%{http_code}" \
		-H "Authorization: Bearer $OPENAI_API_KEY" \
		http://here.internal:'$HERE'/v1/models; env'
	has 200
	lacks "$token"
	tail -n 1 "$BATS_FILE_TMPDIR/127.0.0.1/$HERE.jsonl" | grep -qF "$token"
	rm "$BATS_FILE_TMPDIR/127.0.0.1/token"
	gone keyed
	run -0 "$AC" vault rm --yes lan-key
}

@test "a service of this machine that does not listen: the reason is its own" {
	run -0 "$AC" service add shut 127.0.0.1:21436
	run -0 "$AC" run base keyed -d --service shut -- sleep infinity
	# shellcheck disable=SC2016
	run -0 "$AC" exec keyed -- env AC_NET_PRELOAD=off curl -s -m 20 \
		http://shut.internal:21436/
	has connect-refused
	gone keyed
	run -0 "$AC" service rm shut
	edge_is up # the other one needs it
	answers
}

@test "ac-edge is killed: a named reason, what helps, and it comes back" {
	local pid
	answers
	docker kill "$EDGE" >/dev/null # as by its owner: it stays down
	eventually edge_is down
	get home http://here.internal:$HERE/
	is 502
	run -0 "$AC" exec home -- env AC_NET_PRELOAD=off curl -s -m 20 \
		http://here.internal:$HERE/
	has edge-down
	has 'ac start'
	run -0 "$AC" status
	has 'ac start'
	run -0 "$AC" policy log home
	has edge-down
	run -0 "$AC" start
	edge_is up
	answers
	# A run starts it as well.
	docker kill "$EDGE" >/dev/null
	eventually edge_is down
	run -0 "$AC" run base keyed --service here -- curl -s -m 20 \
		-o /dev/null -w '%{http_code}' http://here.internal:$HERE/echo
	has 200
	gone keyed
	# By itself, when it was not its owner.
	pid=$(edge '{{.State.Pid}}')
	kill -9 "$pid"
	eventually answers
	[ "$(edge '{{.State.Pid}}')" != "$pid" ]
}

@test "nothing is left of ac-edge after ac stop, nor after its last service" {
	[ -S "$AC_HOME/run/edge/here" ]
	run -0 "$AC" stop
	edge_gone
	[ -d "$AC_HOME/run/edge" ]
	[ -z "$(find "$AC_HOME/run/edge" ! -name acd.sock -type s)" ]
	run -0 "$AC" start
	edge_is up
	run -0 "$AC" destroy --yes home
	run -0 "$AC" service rm here
	edge_gone
	edge_is unused
	run ! grep '^edge' <<<"$("$AC" status)"
	[ -d "$AC_HOME/run/edge" ]
	[ -z "$(find "$AC_HOME/run/edge" ! -name acd.sock -type s)" ]
}
