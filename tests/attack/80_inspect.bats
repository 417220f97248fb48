#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 80_inspect.bats - T and H: what is decided where requests are read
#
# All tries of probe/inspected.py run at once in a sandbox of the preset
# "inspected" (policy.yaml) with one credential, of api.cred.test. The tests
# read what came of them, and what arrived at the servers. HTTP/2 has its
# frames wrong in tests/unit/ottergate/inspect/h2_hostile_test.c; here it is seen to work.

load common

setup_file() {
	"$AC" vault ls --json | grep -q '"service"' || forge_vault
	blueprint_put read '  - { name: service, env: SERVICE_KEY }'
	"$AC" run read at-inspect -d --egress inspected -- \
		sleep infinity 3>&-
	probes at-inspect
	forge_mark
	"$AC" exec at-inspect -- env AC_NET_PRELOAD=off python3 /tmp/probe/inspected.py \
		>"$WORLD/tries.jsonl" 2>"$WORLD/tries.err" 3>&-
	forge_lines >"$WORLD/arrived.jsonl"
}

# arrived JQ - a test of each request that did
arrived() {
	jq -se 'length > 10' "$WORLD/arrived.jsonl" >/dev/null || {
		echo 'hardly anything arrived'
		return 1
	}
	jq -se "all(.[]; $1)" "$WORLD/arrived.jsonl" >/dev/null || {
		echo "arrived, but should not have:"
		jq -c "select($1 | not) | del(.body)" "$WORLD/arrived.jsonl" |
			head -n 20
		return 1
	}
}

# no_header NAME...
no_header() {
	local name
	for name; do
		arrived "all(.headers[]; .[0] | ascii_downcase != \"$name\")"
	done
}

@test "all tries were made" { whole; }

@test "T2 another Host than the name that was dialled: 421" {
	row T2
	arrived '.path | startswith("/t2-front") | not'
}

@test "T10 what is no HTTP does not pass" { row T10; }

@test "T11 T12 no session of another name, no renegotiation" { row T11 T12; }

@test "T13 no hint at HTTP/3" { row T13; }

@test "T15 a server that does not prove its name is not spoken to" {
	row T15
	arrived '.path != "/t15"'
	audit_copy
	jq -se 'any(.[]; .reason == "upstream-cert")' \
		"$AC_TEST_TMP/audit.jsonl" >/dev/null
}

@test "T16 the sandbox's CA is for its names, its key is not there" {
	row T16
	mine=$("$AC" exec at-inspect -- sha256sum /run/ac-guard/ca.pem)
	other=$("$AC" exec at-vault -- sha256sum /run/ac-guard/ca.pem)
	[ "$mine" != "$other" ]
}

@test "H1 H2 H3 H4 a corpus of smuggled requests: none arrives" {
	row H1
	arrived '.path | test("smuggled") | not'
	jq -se '[.[] | select(.path | startswith("/allowed-")) | .path] |
		length == (unique | length)' "$WORLD/arrived.jsonl"
	jq -se '[.[] | select(.path | startswith("/clean-")) | .path] ==
		["/clean-0", "/clean-1", "/clean-2", "/clean-3", "/clean-4"]' \
		"$WORLD/arrived.jsonl"
	arrived '[.headers[] | select(.[0] | ascii_downcase == "host")] ==
		[["Host", .sni]] or ([.headers[] | select(.[0] |
		ascii_downcase == "host") | .[1]] == [.sni])'
	arrived '[.headers[][0] | ascii_downcase | select(. ==
		"content-length" or . == "transfer-encoding")] | length <= 1'
}

@test "H6 an upgrade is one that a rule allows, and that happened" {
	row H6
	no_header http2-settings
	arrived '.sni == "ws.cred.test" or all(.headers[]; .[0] |
		ascii_downcase != "upgrade")'
	arrived '.path != "/h6-smuggled"'
}

@test "H7 HTTP/2 is spoken where both sides do" {
	run -0 "$AC" exec at-inspect -- curl -s --http2 -o /dev/null \
		-w '%{http_version} %{http_code}' https://free.cred.test/h7
	is '1.1 200' # the server has no other
	command -v nghttpd >/dev/null || skip "no nghttpd here"
	nsenter --net="/run/netns/$WORLD_NS" nghttpd -a 198.51.100.31 \
		-d "$FORGE/static" 443 "$FORGE/key.pem" "$FORGE/cert.pem" \
		>>"$WORLD/errors" 2>&1 3>&- &
	echo $! >>"$WORLD/pids"
	mkdir -p "$FORGE/static" && echo splash >"$FORGE/static/h7"
	two() {
		"$AC" exec at-inspect -- curl -s --http2 \
			-w ' %{http_version} %{http_code}' \
			https://h2.cred.test/h7 | tr '\n' ' ' |
			grep -q 'splash  2 200'
	}
	eventually two
	run "$AC" exec at-inspect -- curl -s --http2 -o /dev/null \
		-w '%{http_code}' -H 'Host: free.cred.test' \
		https://h2.cred.test/h7
	is 421
}

@test "H8 no spelling of a path leads out of what is allowed" {
	row H8
	arrived '.sni != "rules.cred.test" or (.path | test("evil") | not)'
}

@test "H9 a method is what it says, and a query is no mutation" {
	row H9
	no_header x-http-method-override x-http-method x-method-override
	arrived '.path | test("_method|h9-not") | not'
	arrived '.body | test("mutation") | not'
}

@test "H10 a redirect is the client's, and the token stays" {
	row H10
	arrived '.sni != "evil.cred.test"'
}

@test "H11 V17 only its own credential, its methods, its length" {
	row H11
	arrived '.path | test("h11-not") | not'
}

@test "H12 H17 what a server says back is masked, or not passed on" {
	row H12 H17
	probes at-inspect
	found=$(forge_scan at-inspect surrogate \
		"$("$AC" exec at-inspect -- printenv SERVICE_KEY)")
	forge_unfound "$found" surrogate
}

@test "H13 a credential goes to the server that proved its name" {
	row H13
	arrived '.path != "/h13-not"'
	run grep -a "$("$AC" exec at-inspect -- printenv SERVICE_KEY)" \
		"$WORLD/sink.jsonl"
	code 1
}

@test "H14 a surrogate anywhere else is refused, and an alarm" {
	row H14
	arrived '.path | startswith("/h14") | not'
	audit_copy
	jq -se 'any(.[]; .reason == "canary")' "$AC_TEST_TMP/audit.jsonl" \
		>/dev/null
}

@test "H15 nobody says who he is by a header" {
	row H15
	no_header x-forwarded-for x-forwarded-host forwarded \
		proxy-authorization proxy-connection x-hop
}

@test "H16 answers that are none are not passed on" { row H16; }
