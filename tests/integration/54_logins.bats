#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 54_logins.bats - logins of subscriptions: refreshed outside, surrogates inside
#
# tests/fake/oauth.py is the token endpoints of OpenAI and Google, and what their
# tokens open, under the providers' names. Every token that ever was real is looked
# for in the sandbox and in what ac-host writes. The clients themselves are in
# 53_agents.bats.

load common

# shellcheck source=tests/attack/world.bash
. "$AC_SRC/tests/attack/world.bash"
# shellcheck source=tests/attack/forge.bash
. "$AC_SRC/tests/attack/forge.bash"

# The files of codex-login and gemini-login, on the image of base.
blueprints() {
	mkdir -p "$AC_HOME/blueprints/logins"
	{
		printf '%s\n' 'version: 2' 'extends: base' 'image: base' \
			'credentials: [openai-login, google-login]' 'files:'
		for agent in codex gemini; do
			sed -n '/^files:/,$ { /^files:/d; p }' \
				"$AC_SRC/blueprints/$agent-login/blueprint.yaml"
		done
	} >"$AC_HOME/blueprints/logins/blueprint.yaml"
}

setup_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	forge_host_up </dev/null && forge_logins
	blueprints
	mkdir -p "$AC_TEST_TMP/logins"
}

teardown_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	gone in
	"$AC" vault rm --yes openai-login google-login || true
	rm -rf "$AC_HOME/blueprints/logins" "$AC_TEST_TMP/logins"
	forge_host_down
}

setup() {
	need_root
	forge_mark
	file=$AC_TEST_TMP/logins/openai
}

# login WHO SECONDS - a client's file with new tokens
login() {
	(umask 077 && forge_login "$1" "$2" >"$AC_TEST_TMP/logins/$1")
}

# state NAME STATE - in `ac vault ls`
state() {
	"$AC" vault ls --json | jq -e --arg n "$1" --arg s "$2" \
		'.entries[] | select(.name == $n) | .login.state == $s' \
		>/dev/null
}

# curl_in WHO URL [OPTION...] - in the sandbox, with the token of its own file;
# the status
curl_in() {
	local from=.codex/auth.json key=.tokens.access_token
	[ "$1" = openai ] || from=.gemini/oauth_creds.json key=.access_token
	shift
	# shellcheck disable=SC2016 # in the sandbox
	"$AC" exec in -- sh -c 'token=$(jq -r "$2" "$HOME/$1"); shift 2
		curl -s -m 20 -o /dev/null -w "%{http_code}" \
			-H "Authorization: Bearer $token" "$@"' sh \
		"$from" "$key" "$@"
}

@test "a login comes from its client's file, and is what a client has" {
	login openai 0
	chmod 0644 "$file"
	run "$AC" vault add openai-login --from-file "$file"
	[ "$status" -ne 0 ]
	says 'can be read by others'
	chmod 0600 "$file"
	echo '{"OPENAI_API_KEY": "sk-proj-1"}' >"$file"
	run "$AC" vault add openai-login --from-file "$file"
	[ "$status" -ne 0 ]
	says 'no access token'
	login openai 0
	"$AC" vault add openai-login --from-file "$file"
	login google 0
	"$AC" vault add google-login --from-file "$AC_TEST_TMP/logins/google"
	state openai-login live
}

@test "V36 a start refreshes what has ended, and the sandbox has no real token" {
	local old found
	old=$(token openai-refresh)
	"$AC" run logins in -d -- sleep infinity 3>&-
	forge_saw auth.openai.com POST /oauth/token
	forge_saw oauth2.googleapis.com POST /token
	[ "$(token openai-refresh)" != "$old" ]
	# What the client's file has by now would end the login.
	run "$AC" vault rotate openai-login --from-file "$file"
	[ "$status" -ne 0 ]
	says 'used up'
	run -0 curl_in openai https://chatgpt.com/backend-api/codex/models
	is 200
	run -0 curl_in google -X POST -d '{}' \
		https://cloudcode-pa.googleapis.com/v1internal:loadCodeAssist
	is 200
	forge_saw chatgpt.com GET /backend-api/codex/models openai-login
	# As its client reads it: whose it is, and until long after us.
	"$AC" exec in -- sh -c 'cat ~/.codex/auth.json' | jq -e '
		def claims: split(".") | .[1] | gsub("-"; "+") | gsub("_"; "/")
			| @base64d | fromjson;
		.tokens | .account_id == "acc-otter" and
		(.access_token | claims | .exp == 4102444800) and
		(.id_token | claims | .exp == 4102444800 and
			.["https://api.openai.com/auth"].chatgpt_plan_type
				== "plus")'
	tar -C "$AC_SRC/tests/attack" -cf - probe |
		"$AC" exec in -- tar -xf - -C /tmp
	found=$(forge_scan in here refreshed-outside-of-the-sandbox)
	forge_unfound "$found" here
	forge_outside
}

@test "V37 the agent refreshes nothing, and opens nothing else of the account" {
	local refused
	run curl_in openai https://auth.openai.com/oauth/token -d \
		'grant_type=refresh_token&refresh_token=x'
	lacks 200
	for refused in \
		'openai https://chatgpt.com/backend-api/conversations' \
		'google https://oauth2.googleapis.com/token -d grant_type=x' \
		'google https://oauth2.googleapis.com/revoke -X POST' \
		'google https://chatgpt.com/backend-api/codex/models'; do
		# shellcheck disable=SC2086 # words
		run -0 curl_in $refused
		is 403
	done
	forge_silent
	state_is in running
	run -0 curl_in openai https://chatgpt.com/backend-api/codex/models
	is 200
}

@test "V38 a token that ends during a run is refreshed, whatever came before" {
	local how real
	for how in busy huge evil moved cut; do
		forge_mode "$how"
		login openai 300
		"$AC" vault rotate openai-login --from-file "$file"
		eventually state openai-login failing
		# It has not ended, and goes on.
		run -0 curl_in openai \
			https://chatgpt.com/backend-api/codex/models
		is 200
	done
	real=$(token openai-login)
	forge_mode rotate
	"$AC" vault rotate openai-login --from-file "$file"
	renewed() { [ "$(token openai-login)" != "$real" ]; }
	eventually renewed
	eventually state openai-login live
	run -0 curl_in openai https://chatgpt.com/backend-api/codex/models
	is 200
	forge_saw chatgpt.com GET /backend-api/codex/models openai-login
	run forge_saw evil.cred.test POST /
	[ "$status" -ne 0 ]
}

@test "a login that was revoked is told everywhere, with what to do" {
	forge_mode revoked
	login openai 300
	"$AC" vault rotate openai-login --from-file "$file"
	eventually state openai-login over
	run -0 "$AC" vault ls
	says 'over'
	says 'ac vault rotate openai-login'
	run "$AC" doctor
	says "'openai-login' is over"
	run -0 curl_in openai https://chatgpt.com/backend-api/codex/models
	is 403
	state_is in running
	"$AC" stop-instance in
	run "$AC" run logins in -- true
	[ "$status" -ne 0 ]
	says 'log in again with codex'
	forge_mode rotate
	login openai 0
	"$AC" vault rotate openai-login --from-file "$file"
	run -0 "$AC" run logins in -- true
	state openai-login live
}
