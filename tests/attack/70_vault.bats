#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 70_vault.bats - V: what an agent tries to get a real credential
#
# The rows of the vault's catalogue (docs/THREATS.md), by their numbers. A
# sandbox with credentials runs all tries of probe/vault.py and vault_more.py at
# once; the tests read what came of them and what the services saw. What no agent
# can try, since it would have to open the vault's socket, or because the kernel
# would have to lie, is in tests/unit: vault/peer_test (V1, V2, V3, V22, V34, V35),
# vault/hands_test (V1, V22, V23: names forged, connections passed on, orphans),
# vault/env_test (V26 with sanitizers, V29), init-guard/start/vault_test (V21, the limits),
# vault/store_test (V31).

load common

setup_file() {
	forge_vault
	blueprint_put vaulted '  - { name: github, git: { push: allow } }' \
		'  - gitlab' '  - anthropic' \
		'  - { name: service, env: SERVICE_KEY }'
	local name
	for name in at-vault at-other; do
		"$AC" run vaulted "$name" -d --egress inspected -- \
			sleep infinity 3>&-
	done
	probes at-vault
	"$AC" exec at-vault -- env AC_NET_PRELOAD=off python3 /tmp/probe/vault.py \
		>"$WORLD/tries.jsonl" 2>"$WORLD/tries.err" 3>&-
	"$AC" exec at-vault -- env AC_NET_PRELOAD=off \
		AC_CHECK_ALL="${AC_CHECK_ALL:-}" python3 /tmp/probe/vault_more.py \
		>>"$WORLD/tries.jsonl" 2>>"$WORLD/tries.err" 3>&-
}

teardown_file() { gone at-other; }

setup() { forge_mark; }

vault_key() { "$AC" exec "$1" -- printenv SERVICE_KEY; }

# git_surrogate INSTANCE - as its helper gives it to anybody in it
git_surrogate() {
	printf 'protocol=https\nhost=github.com\n\n' |
		"$AC" exec "$1" -- git credential fill |
		sed -n 's/^password=//p'
}

# status INSTANCE CURL-ARGUMENT... - of the answer
status_of() {
	local name=$1
	shift
	"$AC" exec "$name" -- curl -s -m 20 -o /tmp/answer \
		-w '%{http_code}' "$@"
}

@test "all tries were made" { whole; }

@test "V1 the socket is closed to the agent, and open to its clients" {
	row V1
}

@test "V2 a number that comes round is nobody's credential" { row V2; }

@test "V22 a client's connection cannot be had" { row V22; }

@test "V23 orphans of a double fork are given nothing" { row V23; }

@test "V3 V4 V5 no other program passes for the vault's client" {
	row V3 V4 V5
}

@test "V6 V7 V8 V9 what a real git can be made to say is a surrogate" {
	row V6 V7 V8 V9
}

@test "V10 V33 a helper that is asked for other hosts, or oddly, is silent" {
	row V10 V33
}

@test "V11 a surrogate caught by a proxy of one's own is worth nothing" {
	row V11
	caught=$(git_surrogate at-vault)
	[ -n "$caught" ]
	url=https://api.github.com/user
	[ "$(status_of at-vault -H "Authorization: Bearer $caught" $url)" = 200 ]
	forge_saw api.github.com GET /user github
	forge_mark
	[ "$(status_of at-other -H "Authorization: Bearer $caught" $url)" = 403 ]
	forge_silent
}

@test "V12 V26 V27 a hostile environment does not reach the clients" {
	row V12 V26 V27
}

@test "V13 V14 V21 V28 the daemon cannot be read, traced, killed, dumped" {
	row V13 V14 V21 V28
}

@test "V15 gh says a surrogate, whatever it is asked, and whatever it starts" {
	row V15
}

@test "V16 no token is made by a token" {
	token=$(git_surrogate at-vault)
	for path in /user/keys /user/gpg_keys /user/ssh_signing_keys \
		/repos/otter/one/keys /authorizations /gists /user/emails \
		/repos/otter/one/hooks /repos/otter/one/actions/variables \
		/repos/otter/one/rulesets /orgs/otter/actions/variables \
		/repos/otter/one/actions/runners/registration-token; do
		[ "$(status_of at-vault -X POST -d '{}' -H \
			"Authorization: token $token" \
			"https://api.github.com$path")" = 403 ]
	done
	forge_silent
	[ "$(status_of at-vault -H "Authorization: token $token" \
		https://api.github.com/repos/otter/one)" = 200 ]
	forge_saw api.github.com GET /repos/otter/one github
}

@test "V17 a stranger's token goes nowhere" {
	for field in "Authorization: Bearer ghp_$(forge_random 36)" \
		"Authorization: Basic $(printf x:y | base64)" \
		"PRIVATE-TOKEN: $(forge_random 20)" \
		"X-Api-Key: $(forge_random 30)"; do
		[ "$(status_of at-vault -H "$field" \
			https://api.github.com/user)" = 403 ]
	done
	forge_silent
}

@test "V18 an echo says stars, and TRACE is refused" {
	key=$(vault_key at-vault)
	for path in echo headers error pieces events; do
		run "$AC" exec at-vault -- curl -si -m 20 \
			-H "X-Service-Key: $key" "https://api.cred.test/$path"
		has '********************'
		lacks "$(token service)"
	done
	[ "$(status_of at-vault -X TRACE -H "X-Service-Key: $key" \
		https://api.cred.test/echo)" = 405 ]
}

@test "V19 Host, name and credential are one, or it is refused" {
	key=$(vault_key at-vault)
	[ "$(status_of at-vault -H 'Host: free.cred.test' \
		-H "X-Service-Key: $key" https://api.cred.test/v19)" = 421 ]
	[ "$(status_of at-vault -H "X-Service-Key: $key" \
		-H "X-Service-Key: x$key" https://api.cred.test/v19)" -ge 400 ]
	forge_silent
	[ "$(status_of at-vault -H "X-Service-Key: $key" \
		https://api.cred.test/v19)" = 200 ]
}

@test "V20 Basic is decoded, changed and encoded again" {
	jq -se 'any(.[]; .row == "V20" and .ok)' "$WORLD/tries.jsonl"
	[ "$(status_of at-vault -u "x-access-token:$(git_surrogate at-vault)" \
		'https://github.com/otter/one.git/info/refs?service=git-upload-pack')" = 200 ]
	forge_saw github.com GET /otter/one.git/info/refs github
}

@test "V24 V25 links, copies, odd arguments and closed descriptors" {
	row V24 V25
}

@test "V29 stopped clients do not hold up an honest one" { row V29; }

@test "V30 nobody takes the socket's place" { row V30; }

@test "V31 V32 what comes by exec has the filter, no rights, no secrets" {
	row V31 V32
}

# kept - the vault takes one more credential
kept() {
	"$AC" vault add v31 --kind generic --header X-V31 --host v31.test - \
		<<<"$(forge_random 30)"
}

# refused CHANGE... - after it nothing is kept, for a reason that is told
refused() {
	local said
	"$@" || return 1
	if said=$(kept 2>&1); then
		echo "kept after $*"
		return 1
	fi
	[[ $said == *"$AC_HOME/vault"* ]] || {
		echo "$said"
		return 1
	}
}

@test "V31 a vault that others could read or have written is not used" {
	key=$AC_HOME/vault/key
	owner=$(stat -c %u:%g "$key")
	refused chmod 0640 "$key"
	refused chmod 0604 "$key"
	chmod 0600 "$key"
	refused chown 12345 "$key"
	chown "$owner" "$key"
	refused chmod 0755 "$AC_HOME/vault"
	chmod 0700 "$AC_HOME/vault"
	kept
	"$AC" vault rm v31 --yes
}

@test "V34 a surrogate ends with its sandbox's run" {
	key=$(vault_key at-other)
	[ "$(status_of at-other -H "X-Service-Key: $key" \
		https://api.cred.test/v34)" = 200 ]
	"$AC" stop-instance at-other 3>&-
	"$AC" run vaulted at-other -d --egress inspected -- \
		sleep infinity 3>&-
	forge_mark
	[ "$(status_of at-other -H "X-Service-Key: $key" \
		https://api.cred.test/v34)" = 403 ]
	forge_silent
	[ "$(status_of at-other -H "X-Service-Key: $(vault_key at-other)" \
		https://api.cred.test/v34)" = 200 ]
}

@test "V35 wherever a surrogate is wrong, the answer is the same" {
	key=$(vault_key at-vault)
	texts=
	for at in 0 10 21 42; do
		char=A
		[ "${key:$at:1}" != A ] || char=B
		[ "$(status_of at-vault -H \
			"X-Service-Key: ${key:0:$at}$char${key:$((at + 1))}" \
			https://api.cred.test/v35)" = 403 ]
		texts+=$("$AC" exec at-vault -- md5sum /tmp/answer)$'\n'
	done
	[ "$(printf %s "$texts" | sort -u | wc -l)" = 1 ]
	forge_silent
}

@test "V14 after all this no real token is in it, nor in what ac-host writes" {
	found=$(forge_scan at-vault surrogate "$(vault_key at-vault)")
	forge_unfound "$found" surrogate
	forge_outside
}

@test "each request for a credential was written down, none with its value" {
	log=$("$AC" logs at-vault --all 2>&1 || "$AC" logs at-vault 2>&1)
	audit_copy
	jq -se 'any(.[]; .credential == "github" and .event == "inject")' \
		"$AC_TEST_TMP/audit.jsonl" >/dev/null
	run grep -aE 'ghp_[0-9A-Za-z]{36}' "$AC_TEST_TMP/audit.jsonl"
	code 1
	# What the vault itself was asked: the instance's own file, and the host
	# log as far as that has room for one sandbox.
	local own=$AC_HOME/instances/at-vault/log
	jq -se 'any(.[]; .verdict == "granted" and .secret == "github") and
		any(.[]; .verdict == "denied") and all(.[]; .time)' \
		<(cat "$own/vault.1" "$own/vault" 2>/dev/null) >/dev/null
	run grep -aE 'ghp_[0-9A-Za-z]{36}' "$own"/vault*
	code 1
	[ "$(stat -c %s "$own/vault")" -le 1100000 ]
	[ "$("$AC" logs host -n 100000 |
		grep -ac 'at-vault: init-guard: vault')" -lt 1500 ]
	[ -n "$log" ]
}
