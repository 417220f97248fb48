#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 35_policy.bats - what an instance may reach: said, kept, changed, refused
#
# Nothing here needs the world: decisions are asked for, or told by the
# gateway itself. Real servers are behind it in tests/attack.

load common

setup_file() {
	"$AC" run base one -d -- sleep infinity
}

teardown_file() {
	gone one two three
	ip addr del "$(own_address)/32" dev lo 2>/dev/null || true
	kill "$(cat "$BATS_FILE_TMPDIR/server" 2>/dev/null)" 2>/dev/null || true
	rm -f "$AC_HOME/policy/policy.yaml"
	"$AC" policy reload >/dev/null 2>&1 || true
}

# verdict URL - what a plain HTTP request of one is answered with; the shim
# would not let it come that far
verdict() {
	run "$AC" exec one -- env AC_NET_PRELOAD=off \
		curl -s -m 10 -o /dev/null -w '%{http_code}' "$1"
}

# answered URL - there is a gateway again, whose answer is in $output
answered() {
	verdict "$1"
	[ "$output" != 000 ]
}

gateway_is() { [ "$("$AC" status --json | jq -r .gateway.state)" = "$1" ]; }

gateway_says() {
	"$AC" status --json | jq -r .gateway.last_error | grep -qF "$1"
}

@test "a policy is checked, changed at once, and kept" {
	run "$AC" policy check one https://a.example/
	code 3
	run -0 "$AC" policy allow one a.example a.example:80
	run -0 "$AC" policy check one https://a.example/
	run "$AC" policy check one a.example:8443
	code 3
	verdict http://a.example/
	[[ $output = 502 || $output = 504 ]] # let through; there is none such
	run -0 "$AC" policy deny one a.example:80
	verdict http://a.example/
	is 403
	[ "$(field one '.egress.allow | join(" ")')" = a.example ]
	run -0 "$AC" policy reset one
	run "$AC" policy check one https://a.example/
	code 3
	[ "$(field one '.egress.allow | length')" = 0 ]
}

@test "what was said last about a host holds, also just after a run" {
	run -0 "$AC" policy deny one e.example
	run -0 "$AC" policy allow one http://e.example
	run -0 "$AC" policy check one http://e.example/
	run -0 "$AC" policy deny one .f.example
	run -0 "$AC" policy allow one x.f.example # and the zone stays
	run "$AC" policy check one https://x.f.example/
	code 3
	run -0 "$AC" policy reset one
	run -0 "$AC" run base two -- true
	run -0 "$AC" policy allow two g.example
	[ "$(field two '.egress.allow | join(" ")')" = g.example ]
	gone two
}

@test "what no policy can allow is refused, says what to do, and is not kept" {
	run "$AC" policy allow one localhost:8088
	code 1
	has "'localhost' (this machine) can be allowed by no policy"
	says "ac service add"
	for host in 10.0.0.1 169.254.169.254 metadata.google.internal intranet; do
		run "$AC" policy allow one "$host"
		code 1
		says "'$host'"
	done
	run "$AC" run base two --allow localhost:8088 -- true
	code 125
	says "'localhost'"
	[ "$(field one '.egress.allow | length')" = 0 ]
	run -0 "$AC" policy allow one a.example # nothing of it follows
	[[ $output != *localhost* ]]
	run -0 "$AC" policy reset one
}

@test "a run tells what is new and not denied on purpose; --last allows it" {
	# shellcheck disable=SC2016 # the sandbox's own
	local get='curl -s -m 10 -o /dev/null http://$0/ || true'
	run -0 "$AC" run base two --deny d.example -- sh -c "$get" d.example
	[[ $output != *"gateway blocked"* ]]
	run -0 "$AC" run base two -- sh -c "$get" a.example
	has 'the gateway blocked 1 connection (a.example:80)'
	run -0 "$AC" run base two -- sh -c "$get" a.example
	[[ $output != *"gateway blocked"* ]]
	run "$AC" policy allow two --last
	code 2
	has 'no terminal to ask on: ac policy allow two a.example:80'
	[ "$(field two '.egress.allow | length')" = 0 ]
	run -0 "$AC" policy allow two --last -y
	says 'two: allowed a.example:80, from its next run on'
	[ "$(field two '.egress.allow | join(" ")')" = a.example:80 ]
	run -0 "$AC" run base two -- sh -c "$get" a.example
	has 'could not reach a.example:80 ('
	gone two
}

@test "options of run stay with the instance; locked means what was named" {
	run -0 "$AC" run base two --egress locked --allow b.example:8443 -- true
	run -0 "$AC" run base two -- true
	run -0 "$AC" policy check two b.example:8443
	run "$AC" policy check two https://b.example/
	code 3
	# Without a run: the same decision, by the same program.
	[ "$(field two .egress.mode)" = locked ]
	run -0 "$AC" run base two --egress github -- true
	run -0 "$AC" policy check two https://api.github.com/
	gone two
}

@test "open lets through, says so each time, and is written down" {
	run --separate-stderr "$AC" run base two --egress open -- \
		curl -s -m 10 -o /dev/null -w '%{http_code}' http://c.example/
	[[ $output = 502* || $output = 504* ]]
	says 'egress open'
	says 'ac policy learn two'
	run -0 "$AC" policy log two --all
	has c.example
	run -0 "$AC" logs proxy two --json
	has '"agent":"two"'
	[[ $output != *'"agent":"one"'* ]] # that instance's lines alone
	run -0 "$AC" policy learn two # a name without an address is no rule
	has 'Nothing was reached that no rule allows'
	run --separate-stderr "$AC" run base two -- env AC_NET_PRELOAD=off \
		curl -s -m 10 -o /dev/null -w '%{http_code}' \
		http://169.254.169.254/
	is 403
	gone two
}

@test "the gateway's log has times, and a policy its hash" {
	run -0 "$AC" logs gateway -n 1
	[[ $output =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}\ [0-9:]{8}\  ]]
	"$AC" policy show one --json |
		jq -e '[.rules.hash, .rules.policy_hash] | all(length == 64)'
}

@test "what the linter refuses is not taken, and no run starts with it" {
	run "$AC" policy allow one .com
	code 1
	says "'.com': com is a top-level domain"
	run "$AC" run base three --egress nosuch -- true
	code 125
	says "no preset 'nosuch'"
	run "$AC" inspect three # nothing was made
	code 1
	run -0 "$AC" run base three -- true
	run "$AC" policy allow three .com
	code 1
	run "$AC" run base three --egress balanced -- true
	code 0
	gone three
}

@test "a global policy: linted, loaded, refused without harm" {
	mkdir -p "$AC_HOME/policy"
	printf 'version: 1\ndeny:\n  - { id: no-d, names: [d.example] }\n' \
		>"$AC_HOME/policy/policy.yaml"
	run -0 "$AC" policy lint
	run -0 "$AC" policy reload
	run -0 "$AC" policy allow one d.example:80
	verdict http://d.example/
	is 403
	printf 'version: 1\ndeny:\n  - { id: no-d, nmes: [d.example] }\n' \
		>"$AC_HOME/policy/policy.yaml"
	run "$AC" policy lint
	code 1
	says 'policy/policy.yaml:3:'
	run ! "$AC" doctor # the next start would fail
	says 'is not loaded'
	run "$AC" run base two -- true
	code 0
	says 'policy.yaml was changed and is not loaded; the policy before'
	run "$AC" policy reload
	code 1
	run "$AC" run base two -- true
	code 0
	says 'refused at the last reload: .*policy/policy.yaml:3:'
	verdict http://d.example/
	is 403
	rm "$AC_HOME/policy/policy.yaml"
	run -0 "$AC" policy reload
	verdict http://d.example/
	[[ $output = 502 || $output = 504 ]]
	run -0 "$AC" policy reset one
	run "$AC" run base two -- true
	code 0
	lacks 'policy.yaml'
	gone two
}

@test "a gateway that cannot start: degraded, no run, and mended by a reload" {
	echo 'version: 7' >"$AC_HOME/policy/policy.yaml"
	in_host pkill -KILL -x ottergate
	eventually gateway_is backoff
	run "$AC" status --json
	[ "$(jq -r .state <<<"$output")" = degraded ]
	[ "$(jq -r .network.state <<<"$output")" = closed ]
	eventually gateway_says policy/policy.yaml:1:
	run "$AC" run base two -- true
	code 125
	says 'gateway is down: policy/policy.yaml:1:'
	run "$AC" policy allow one a.example
	code 1
	says 'nothing was changed'
	run "$AC" policy reload # with the same file
	code 1
	says 'policy/policy.yaml:1:'
	run ! "$AC" doctor
	verdict http://a.example/
	[ "$output" = 000 ]
	rm "$AC_HOME/policy/policy.yaml"
	run -0 "$AC" policy reload # it was down: starts now
	gateway_is up
	verdict http://a.example/
	is 403
	gone two
}

@test "the audit is the user's own, whole, and readable" {
	file=$AC_HOME/log/audit/audit.jsonl
	[ "$(stat -c %u "$file")" = "$(stat -c %u "$AC_HOME")" ]
	run -0 in_host ottergate audit verify /var/lib/ac/log/audit/audit.jsonl
	run -0 "$AC" metrics
	has ac_gate_up
	has ac_instances_live
}

@test "presets: those shipped, and the machine's own registries" {
	run -0 "$AC" presets --json
	has anthropic
	has packages
	run -0 "$AC" presets show github
	has 'risk         anybody can have a repository there'
	has 'POST /*/*/git-upload-pack'
	run -0 "$AC" presets show git-workflow
	has 'kind         prompts'
	run -1 "$AC" presets show none-such
}

@test "a start says the risk of a preset that was named, in one line" {
	run --separate-stderr "$AC" run base two -- true
	[[ $stderr != *egress* ]] # packages is not named
	run --separate-stderr "$AC" run base two --egress npm -- true
	[[ $stderr != *egress* ]] # control: it has none
	run --separate-stderr "$AC" run base two --egress github,npm -- true
	[ "$(grep -c 'egress github: anybody can have' <<<"$stderr")" = 1 ]
	run --separate-stderr "$AC" run base two --egress github,openai -- true
	[ "$(grep -c 'egress github, openai: ' <<<"$stderr")" = 1 ]
	gone two
}

@test "a preset lets reads pass, and a policy check says what does not" {
	run -0 "$AC" run base two --egress github -- true
	run -0 "$AC" policy check two https://api.github.com/repos/o/r
	run -0 "$AC" policy check two POST https://github.com/o/r/git-upload-pack
	run -3 "$AC" policy check two POST https://api.github.com/gists
	run -3 "$AC" policy check two \
		POST https://github.com/o/r/git-receive-pack
	gone two
}

# own_address - of a documentation range, for this machine
own_address() {
	echo "203.0.113.$((64 + $(cksum <<<"$AC_HOST" | cut -d' ' -f1) % 60))"
}

# reached ADDRESS PORT - from where the gateway is
reached() {
	nsenter -t "$(host_pid)" -n curl -s -m 10 -o /dev/null "http://$1:$2/"
}

# serve ADDRESS PORT - as me.example; the host was told of this machine's
# addresses before it had this one
serve() {
	printf '%s\n' 'version: 1' 'hosts:' "  me.example: [$1]" \
		>"$AC_HOME/policy/policy.yaml"
	run -0 "$AC" start # tells the addresses of now
	ip addr add "$1/32" dev lo
	python3 -m http.server --bind "$1" "$2" >/dev/null 2>&1 3>&- &
	echo "$!" >"$BATS_FILE_TMPDIR/server"
	eventually reached "$1" "$2"
	run -0 "$AC" policy reload
}

@test "a check judges the addresses of a name, also before a run" {
	need_root
	need ip
	local own
	own=$(own_address)
	printf '%s\n' 'version: 1' 'hosts:' "  me.example: [$own]" \
		'  private.example: [10.1.2.3]' '  good.example: [192.0.2.7]' \
		>"$AC_HOME/policy/policy.yaml"
	run -0 "$AC" policy reload
	run -0 "$AC" run base two --allow me.example,private.example \
		--allow good.example,none.example -- true # and it has stopped
	run -0 "$AC" policy allow one me.example private.example good.example
	ip addr add "$own/32" dev lo
	for name in one two; do
		run "$AC" policy check "$name" private.example
		code 3
		has '10.1.2.3  blocked (builtin-address: class private)'
		run -0 "$AC" policy check "$name" good.example
		has '192.0.2.7  allowed'
		run "$AC" policy check "$name" me.example
		code 3
		has "$own  blocked (builtin-address: class self)"
	done
	run -0 "$AC" policy check two none.example --json
	jq -e '.allow and .lookup != null and .addresses == []' <<<"$output"
	ip addr del "$own/32" dev lo
	gone two
	run -0 "$AC" policy reset one
	rm "$AC_HOME/policy/policy.yaml"
	run -0 "$AC" policy reload
}

@test "an allowed host that cannot be reached is named with its reason" {
	need_root
	need ip
	local own shut=8764 open=8765
	own=$(own_address)
	serve "$own" "$open"
	run -0 "$AC" policy allow one "me.example:$shut" "http://me.example:$open"
	run --separate-stderr "$AC" exec one -- \
		curl -s -m 60 "https://me.example:$shut/"
	[ "$status" -eq 35 ] # as without the line: TLS failed
	[[ $stderr == "ac: could not reach me.example:$shut (connect-refused: "*"); the policy allows it: "* ]]
	[ "$(grep -c . <<<"$stderr")" = 1 ]
	run -0 "$AC" policy log one
	has "me.example:$shut"
	has connect-refused
	# One that is reached, before and after, says nothing.
	run -0 --separate-stderr "$AC" exec one -- \
		curl -s -m 60 -o /dev/null "http://me.example:$open/"
	[ -z "$stderr" ]
	kill "$(cat "$BATS_FILE_TMPDIR/server")"
	ip addr del "$own/32" dev lo
	# A name without an address, and the line after the run.
	run --separate-stderr "$AC" run base two --allow none.example -- \
		curl -s -m 60 https://none.example/
	[ "$status" -eq 35 ]
	grep 'could not reach none.example:443 (.*; the policy' <<<"$stderr"
	grep 'could not reach none.example:443 (.*)$' <<<"$stderr"
	gone two
	run -0 "$AC" policy reset one
	rm "$AC_HOME/policy/policy.yaml"
	run -0 "$AC" policy reload
}

@test "a public address of this machine is denied, after a restart as well" {
	need_root
	need ip
	local own port=8765
	own=$(own_address)
	serve "$own" "$port"
	run -0 "$AC" policy allow one "http://me.example:$port"
	verdict "http://me.example:$port/"
	is 200 # nobody has told of it yet
	run -0 "$AC" start
	reached "$own" "$port"
	verdict "http://me.example:$port/"
	is 403
	run -0 "$AC" policy reload
	verdict "http://me.example:$port/"
	is 403
	in_host pkill -KILL -x ottergate
	eventually answered "http://me.example:$port/"
	is 403
	ip addr del "$own/32" dev lo
	run -0 "$AC" run base two --rm -- true
	ip addr add "$own/32" dev lo
	verdict "http://me.example:$port/"
	is 200 # it was not this machine's at the last run
	kill "$(cat "$BATS_FILE_TMPDIR/server")"
	ip addr del "$own/32" dev lo
	run -0 "$AC" policy reset one
	rm "$AC_HOME/policy/policy.yaml"
	run -0 "$AC" policy reload
}
