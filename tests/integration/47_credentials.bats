#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 47_credentials.bats - real clients, with surrogates for their credentials
#
# Each service is one of tests/fake/forge.py, under its real name: the name
# server and the CA of the tests lead there. It answers nobody who has not the
# real token; no real token is ever in the sandbox.

load common

# shellcheck source=tests/attack/world.bash
. "$AC_SRC/tests/attack/world.bash"
# shellcheck source=tests/attack/forge.bash
. "$AC_SRC/tests/attack/forge.bash"

setup_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	forge_host_up </dev/null
	forge_vault
	blueprint_put keys \
		'  - { name: github, git: { push: allow } }' \
		'  - gitlab' '  - anthropic' '  - openai' '  - gemini' \
		'  - { name: npm, env: NPM_TOKEN }' \
		'  - { name: pypi, env: PYPI_TOKEN }' \
		'  - { name: service, env: SERVICE_KEY }'
	blueprint_put asks '  - { name: github, git: { push: ask } }'
	blueprint_put reads '  - { name: github, git: { push: deny } }'
	"$AC" run keys work -d -- sleep infinity 3>&-
	tar -C "$AC_SRC/tests/attack" -cf - probe |
		"$AC" exec work -- tar -xf - -C /tmp
	"$AC" exec work -- sh -c '
		git config --global user.name Otter
		git config --global user.email otter@cred.test'
}

teardown_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	gone work other asks reads rc
	"$AC" vault rm --yes github gitlab npm pypi anthropic openai gemini \
		service
	rm -rf "$AC_HOME"/blueprints/{keys,asks,reads}
	forge_host_down
}

setup() {
	need_root
	forge_mark
}

inside() { "$AC" exec work -- "$@"; }
# script INSTANCE - of bash, from stdin
script() { "$AC" exec "$1" -- bash -se; }

# surrogate VARIABLE - of the environment of work
surrogate() { inside printenv "$1"; }

@test "the environment has surrogates in the shape of tokens" {
	for pair in ANTHROPIC_API_KEY=anthropic OPENAI_API_KEY=openai \
		GEMINI_API_KEY=gemini NPM_TOKEN=npm PYPI_TOKEN=pypi \
		SERVICE_KEY=service; do
		run -0 surrogate "${pair%=*}"
		[ -n "$output" ]
		lacks "$(token "${pair#*=}")"
	done
	[[ $(surrogate ANTHROPIC_API_KEY) == sk-ant-api03-* ]]
	[[ $(surrogate NPM_TOKEN) =~ ^npm_[0-9A-Za-z]{36}$ ]]
}

@test "git clones, fetches and pushes" {
	run -0 script work <<'END'
cd && git clone -q https://github.com/otter/one.git && cd one
git fetch -q origin
git checkout -q -b dam
echo more >more && git add more && git commit -qm more
git push -q origin dam
git ls-remote origin dam
END
	has refs/heads/dam
	forge_saw github.com GET '/otter/one.git/info/refs' github
	forge_saw github.com POST '/otter/one.git/git-receive-pack' github
	[ "$(git -C "$FORGE/repos/otter/one.git" log -1 --format=%s dam)" = \
		more ]
}

@test "git by the names of SSH remotes goes the same way" {
	run -0 script work <<'END'
cd && rm -rf two && git clone -q git@github.com:otter/one.git two
git -C two log -1 --format=%s
END
	has first
	forge_saw github.com POST '/otter/one.git/git-upload-pack' github
}

@test "a push that is to be asked about is denied" {
	"$AC" run asks -d asks -- sleep infinity
	run script asks <<'END'
cd && git clone -q https://github.com/otter/one.git && cd one
git checkout -q -b asked
git -c user.name=o -c user.email=o@cred.test commit -q --allow-empty -m asked
git push -q origin asked 2>&1
END
	[ "$status" -ne 0 ]
	says 403
	# The user of the sandbox reads which command would let it through.
	says '^remote: .*with: ac policy push asks allow$'
	run forge_saw github.com POST '/otter/one.git/git-receive-pack'
	code 1
	run git -C "$FORGE/repos/otter/one.git" rev-parse --verify asked
	code 128
}

@test "a push that is denied stays here, and a fetch works" {
	"$AC" run reads -d reads -- sleep infinity
	run script reads <<'END'
cd && git clone -q https://github.com/otter/one.git && cd one
git fetch -q && echo fetched
git -c user.name=o -c user.email=o@cred.test commit -q --allow-empty -m x
git push -q origin HEAD:refs/heads/denied 2>&1
END
	has fetched
	[ "$status" -ne 0 ]
	run git -C "$FORGE/repos/otter/one.git" rev-parse --verify denied
	code 128
}

@test "gh lists repositories and opens a pull request" {
	run -0 inside gh repo list
	has otter/one
	forge_saw api.github.com POST /graphql github
	run -0 script work <<'END'
cd ~/one && gh pr create --title "Mend the dam" --body now \
	--head dam --base main
END
	has https://github.com/otter/one/pull/7
}

@test "what gh does not need every day is denied, by whichever name" {
	# A control: the same client, the same token.
	run -0 inside gh api -X POST repos/otter/one/issues -f title=leak
	forge_saw api.github.com POST /repos/otter/one/issues github
	forge_mark
	denied() {
		run inside gh api "$@"
		[ "$status" -ne 0 ]
		says 'ac: denied|HTTP 403'
	}
	denied -X PUT organizations/1/memberships/evil -f role=admin
	denied -X POST organizations/1/team/2/hooks -f name=web
	denied -X PATCH organizations/1 -f name=evil
	denied -X PATCH repos/otter/one -F private=false
	denied graphql -f query='mutation { deleteBranchProtectionRule(input:
		{branchProtectionRuleId: "B"}) { clientMutationId } }'
	denied graphql -f query='mutation { ...F } fragment F on Mutation {
		x: updateRepositoryRuleset(input: {}) { clientMutationId } }'
	denied repos/otter/one/actions/secrets
	forge_silent
}

@test "glab lists merge requests" {
	run -0 inside glab mr list -R otter/one
	has 'Mend the dam'
	forge_saw gitlab.com GET '/api/v4/projects/.*/merge_requests' gitlab
}

@test "pip installs from an index that wants a token" {
	run -0 script work <<'END'
python3 -m venv /tmp/venv
/tmp/venv/bin/pip install -q --index-url \
	"https://__token__:$PYPI_TOKEN@index.test/simple/" otterpkg
/tmp/venv/bin/python -c 'import otterpkg; print(otterpkg.WORD)'
END
	has splash
	forge_saw index.test GET /simple/otterpkg/ pypi
}

@test "a chat streams, and only its counts are written down" {
	# shellcheck disable=SC2016 # expanded in the sandbox
	run -0 script work <<'END'
curl -sfN https://api.anthropic.com/v1/messages \
	-H "x-api-key: $ANTHROPIC_API_KEY" -H 'anthropic-version: 2023-06-01' \
	-d '{"model":"otter-4","stream":true,"max_tokens":9,
	"messages":[{"role":"user","content":"what-i-asked"}]}'
curl -sfN https://api.openai.com/v1/chat/completions \
	-H "Authorization: Bearer $OPENAI_API_KEY" \
	-H 'Content-Type: application/json' \
	-d '{"model":"otter-5","stream":true,"messages":[]}'
curl -sfN https://api.openai.com/v1/responses \
	-H "Authorization: Bearer $OPENAI_API_KEY" \
	-H 'Content-Type: application/json' \
	-d '{"model":"otter-5","stream":true,"input":"x"}'
url=https://generativelanguage.googleapis.com/v1beta/models/otter-6
curl -sfN "$url:streamGenerateContent?alt=sse&key=$GEMINI_API_KEY" -d '{}'
curl -sfN "$url:streamGenerateContent?alt=sse" \
	-H "x-goog-api-key: $GEMINI_API_KEY" -d '{}'
END
	has message_stop
	has '[DONE]'
	has response.completed
	has '"candidatesTokenCount": 37'
	forge_saw api.anthropic.com POST /v1/messages anthropic
	forge_saw api.openai.com POST /v1/chat/completions openai
	forge_saw generativelanguage.googleapis.com POST /v1beta gemini
	usage_has() {
		"$AC" usage work --json | jq -es --arg model "$1" '[.. |
			objects | select(.model? == $model)] |
			any(.tokens_out == ($out | tonumber))' \
			--arg out "$2" >/dev/null
	}
	eventually usage_has otter-4 23
	eventually usage_has otter-6 74 # twice 37
	run -1 grep -ral what-i-asked "$AC_HOME/log"
}

# sdk_fetch - the SDKs of models for node, kept from one suite to the next
sdk_fetch() {
	[ -d "$AC_TEST_DIR/sdk/node_modules/openai" ] ||
		npm install --silent --no-audit --no-fund --ignore-scripts \
			--prefix "$AC_TEST_DIR/sdk" openai @anthropic-ai/sdk \
			>/dev/null 2>&1
}

@test "the SDKs of models stream" {
	need npm
	sdk_fetch || skip "the npm registry of this machine has no SDK"
	tar -C "$AC_TEST_DIR/sdk" -cf - node_modules |
		inside sh -c 'mkdir -p /tmp/sdk && tar -xf - -C /tmp/sdk'
	run -0 inside sh -c 'cd /tmp/sdk && cat >chat.mjs && node chat.mjs' \
		<<'END'
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";
const chat = await new OpenAI().chat.completions.create({
	model: "otter-5", stream: true, messages: [] });
for await (const part of chat)
	process.stdout.write(part.choices[0]?.delta?.content ?? "");
console.log("-openai");
const stream = new Anthropic().messages.stream({
	model: "otter-4", max_tokens: 9,
	messages: [{ role: "user", content: "hi" }] });
console.log(await stream.finalText() + "-anthropic");
END
	has splash-openai
	has 'splash!-anthropic'
}

@test "a surrogate is worth nothing elsewhere: sandbox, host, time" {
	"$AC" run keys other -d -- sleep infinity
	theirs=$(surrogate SERVICE_KEY)
	own=$("$AC" exec other -- printenv SERVICE_KEY)
	[ "$own" != "$theirs" ]
	ask() { # KEY URL
		"$AC" exec other -- curl -s -o /dev/null -w '%{http_code}' \
			-H "X-Service-Key: $1" "$2"
	}
	[ "$(ask "$own" https://api.cred.test/echo)" = 200 ]
	forge_saw api.cred.test GET /echo service
	forge_mark
	[ "$(ask "$theirs" https://api.cred.test/echo)" = 403 ]
	[ "$(ask "$own" https://api.anthropic.com/v1/models)" = 403 ]
	"$AC" stop-instance other
	"$AC" run keys other -d -- sleep infinity
	[ "$(ask "$own" https://api.cred.test/echo)" = 403 ]
	forge_silent
	gone other
}

@test "a fork with memory has the same surrogates, and a grant of its own" {
	local key
	key=$(surrogate SERVICE_KEY)
	run -0 "$AC" fork --memory work twin
	run -0 "$AC" exec twin -- printenv SERVICE_KEY
	[ "$output" = "$key" ]
	ask() { # INSTANCE PATH
		"$AC" exec "$1" -- curl -s -m 20 -o /dev/null \
			-w '%{http_code}' -H "X-Service-Key: $key" \
			"https://api.cred.test$2"
	}
	[ "$(ask twin /echo)" = 200 ]
	forge_saw api.cred.test GET /echo service
	# Its vaultd goes on, and what it makes is taken.
	run -0 script twin <<<'git ls-remote https://github.com/otter/one.git'
	has refs/heads
	forge_saw github.com GET '/otter/one.git/info/refs' github
	# What is revoked for it is not for the other.
	run ask twin /as/json
	[ "$(ask twin /echo)" = 403 ]
	[ "$(ask work /echo)" = 200 ]
	# Nor is it of use at any other address.
	"$AC" run keys other -d -- sleep infinity
	[ "$(ask other /echo)" = 403 ]
	# From a gateway that starts again it gets all of that again.
	in_host pkill -KILL -x ottergate
	back() { [ "$(ask twin /other)" != 000 ] && [ "$(ask work /echo)" = 200 ]; }
	eventually back
	[ "$(ask twin /echo)" = 403 ]
	gone other twin
}

# A server that says the token back in a way that has to be decoded.
@test "a token that comes back encoded is an alarm, and is revoked" {
	for way in json entities percent base64 base64-json json-percent \
		json-in-base64; do
		"$AC" run keys alarm -d -- sleep infinity
		key=$("$AC" exec alarm -- printenv SERVICE_KEY)
		say() { # PATH
			"$AC" exec alarm -- curl -s -i -m 20 \
				-H "X-Service-Key: $key" \
				"https://api.cred.test$1"
		}
		run -0 say "/as/$way?other"
		has 'HTTP/1.1 200'
		run say "/as/$way"
		[ "$status" -ne 0 ]
		lacks "$(token service | tail -c 12)"
		run -0 say /echo
		has 'HTTP/1.1 403'
		has 'X-Ac-Denied: revoked'
		run -0 "$AC" policy log alarm
		says 'api.cred.test:443 .reflection: .*ac vault rotate service$'
		run -0 "$AC" inspect alarm
		echo "$output" | jq -e '.revoked | length == 1 and
			.[0].credential == "service" and
			.[0].host == "api.cred.test"'
		# A change of the policy does not bring it back.
		"$AC" policy allow alarm "$way.cred.test"
		run -0 say /echo
		has 'HTTP/1.1 403'
		gone alarm
	done
}

@test "a run ends with the name of the host that sent a token back" {
	# shellcheck disable=SC2016 # of the sandbox
	run "$AC" run keys alarm -- bash -c 'curl -s -m 20 \
		-H "X-Service-Key: $SERVICE_KEY" https://api.cred.test/field/json
		sleep 1'
	says 'api.cred.test:443 sent the real value of credential .service. '
	has 'ac vault rotate service'
	run -0 "$AC" inspect alarm
	echo "$output" | jq -e '.revoked[0].credential == "service"'
	# The next run may use it again.
	# shellcheck disable=SC2016
	run -0 "$AC" run keys alarm -- bash -c 'curl -s -o /dev/null \
		-w "%{http_code}" -H "X-Service-Key: $SERVICE_KEY" \
		https://api.cred.test/echo'
	has 200
	gone alarm
}

@test "a new value is used at once, a forgotten one no longer" {
	key=$(surrogate SERVICE_KEY)
	ask() {
		inside curl -s -o /dev/null -w '%{http_code}' \
			-H "X-Service-Key: $key" https://api.cred.test/echo
	}
	new=$(forge_random 43)
	jq --arg new "$new" '.service_before = .service | .service = $new' \
		"$FORGE/tokens.json" >"$FORGE/tokens.new"
	mv "$FORGE/tokens.new" "$FORGE/tokens.json"
	printf %s "$new" | "$AC" vault rotate service -
	[ "$(ask)" = 200 ]
	forge_saw api.cred.test GET /echo service
	run forge_saw api.cred.test GET /echo service_before
	code 1
	forge_mark
	"$AC" vault rm service --yes
	[ "$(ask)" = 403 ]
	forge_silent
	run -0 "$AC" policy check work https://api.cred.test/echo
	says "denies what shows a surrogate that is gone: .*'service'"
	run -0 "$AC" policy show work
	says "denies what shows a surrogate that is gone: .*'service'"
	token service | "$AC" vault add service --kind generic \
		--header X-Service-Key --host api.cred.test -
}

@test "the gateway starts again, and all goes on" {
	pid=$(pgrep -P "$(host_pid)" -x ottergate | head -n 1)
	kill -KILL "$pid"
	again() { inside gh repo list | grep -q otter/one; }
	eventually again
	run -0 inside curl -sf -o /dev/null https://api.cred.test/echo \
		-H "X-Service-Key: $(surrogate SERVICE_KEY)"
}

@test "no real token is in the sandbox, nor in what ac-host writes" {
	key=$(surrogate ANTHROPIC_API_KEY)
	inside sh -c 'PLANTED=planted-in-environ sleep 60 &
		echo planted-in-file >/tmp/planted'
	# With all of it in flight, and in its traces and caches.
	script work <<'END' &
exec >/tmp/flight.log 2>&1
cd ~/one
for i in 1 2 3; do
	GIT_TRACE_CURL=1 GIT_TRACE_REDACT=0 git fetch origin
	GH_DEBUG=api gh repo list
	glab mr list -R otter/one
	curl -sv https://api.cred.test/pieces -H "X-Service-Key: $SERVICE_KEY"
done
END
	flight=$!
	found=$(forge_scan work environ planted-in-environ \
		file planted-in-file surrogate "$key")
	wait "$flight"
	forge_unfound "$found" environ file surrogate
	forge_unfound "$(forge_scan work surrogate "$key")" surrogate
	forge_outside
	run in_host find / -xdev -name 'core*' -type f -size +100k \
		-not -path '*/usr/*'
	lacks core.
}

@test "a locked vault, and one without the credential, say what to do" {
	run "$AC" run base rc --credential nosuch -- true
	[ "$status" -ne 0 ]
	says 'ac vault add'
}

@test "under crun there are no credentials, and that is said" {
	run -125 "$AC" run base rc --isolation crun --credential github -- true
	says 'runsc|gVisor'
}
