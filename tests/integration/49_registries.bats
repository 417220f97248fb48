#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 49_registries.bats - real registries and long sessions, with surrogates
#
# What 47_credentials.bats has services of our own for, against servers of
# others: an npm registry with users, twine's uploads, WebSockets, and calls of
# HTTP/2 with trailers (tests/attack/registry.bash).

load common

# shellcheck source=tests/attack/world.bash
. "$AC_SRC/tests/attack/world.bash"
# shellcheck source=tests/attack/forge.bash
. "$AC_SRC/tests/attack/forge.bash"
# shellcheck source=tests/attack/registry.bash
. "$AC_SRC/tests/attack/registry.bash"

# policy OPEN - what more is in policy.yaml; OPEN: the rule that is taken away
policy() {
	printf '%s\n' '  timeouts: { request_header: 1s }' 'presets:' \
		'  sockets:' '    rules:' \
		'      - { id: other, names: [other.cred.test], use: inspect }'
	[ -z "$1" ] || printf '%s\n' "      - { id: open, names:\
 [sockets.cred.test], use: inspect, stream: { websocket: true } }"
}

setup_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	npm_fetch && wheels_fetch || return 0
	policy yes | forge_host_up
	registry_up
	sockets_up
	calls_up
	token npm | "$AC" vault add npm --kind npm --host registry.test -
	token pypi | "$AC" vault add pypi --kind pypi --host index.test -
	token sockets | "$AC" vault add sockets --kind openai \
		--host sockets.cred.test -
	token calls | "$AC" vault add calls --kind openai \
		--host calls.cred.test -
	blueprint_put keys '  - { name: npm, env: NPM_TOKEN }' \
		'  - { name: pypi, env: PYPI_TOKEN }' \
		'  - { name: sockets, env: SOCKETS_KEY }' \
		'  - { name: calls, env: CALLS_KEY }'
	"$AC" run keys work -d -- sleep infinity 3>&-
	wheels_into work
	# shellcheck disable=SC2016 # expanded in the sandbox
	"$AC" exec work -- sh -c 'printf "%s\n" \
		"registry=https://registry.test/" \
		"//registry.test/:_authToken=\${NPM_TOKEN}" >~/.npmrc'
}

# wheels_into INSTANCE - and what an agent does with them
wheels_into() {
	tar -C "$WHEELS" -cf - . | "$AC" exec "$1" -- sh -c 'mkdir /tmp/wheels &&
		tar -xf - -C /tmp/wheels --no-overwrite-dir'
	tar -C "$AC_SRC/tests/attack" -cf - probe |
		"$AC" exec "$1" -- tar -xf - -C /tmp
}

teardown_file() {
	[ -d "$FORGE" ] || return 0
	gone work open
	"$AC" vault rm --yes npm pypi sockets calls
	rm -rf "$AC_HOME"/blueprints/keys
	forge_host_down
}

setup() {
	need_root
	need npm
	[ -e "$FORGE/calls.jsonl" ] ||
		skip "the registries of this machine have not what this needs"
	forge_mark
}

inside() { "$AC" exec work -- "$@"; }
script() { "$AC" exec work -- bash -se; }

@test "npm publishes, views and installs by a registry that knows its user" {
	run -0 script <<'END'
mkdir -p /tmp/pkg && cd /tmp/pkg
printf '{"name":"@otter/pkg","version":"1.0.0","main":"dam.js"}' >package.json
echo 'console.log("splash")' >dam.js
npm publish --silent --access public >/dev/null
npm view @otter/pkg version
npm whoami
mkdir -p /tmp/use && cd /tmp/use && npm init -y >/dev/null
npm install --silent --no-audit --no-fund --cache /tmp/fresh @otter/pkg >/dev/null
node -e 'require("@otter/pkg")'
END
	is $'1.0.0\notter\nsplash'
	registry_saw PUT '/@otter%2[fF]pkg' 201 otter
	registry_saw GET '/@otter%2[fF]pkg' 200 otter
	registry_saw GET '/@otter/pkg/-/.*tgz' 200 otter
	run inside cat /tmp/use/package-lock.json
	lacks "$(token npm)"
}

@test "npm: a surrogate that comes to the registry itself is nobody's" {
	direct() {
		nsenter --net="/run/netns/$WORLD_NS" curl -s -o /dev/null \
			-w '%{http_code}' --cacert "$FORGE/ca.pem" --resolve \
			"registry.test:443:$REGISTRY_ADDRESS" \
			-H "Authorization: Bearer $1" \
			"https://registry.test/$2"
	}
	key=$(inside printenv NPM_TOKEN)
	[[ $key =~ ^npm_[0-9A-Za-z]{36}$ ]]
	[ "$(direct "$(token npm)" @otter%2fpkg)" = 200 ]
	[ "$(direct "$key" @otter%2fpkg)" = 401 ]
	# Nor is another token made with it.
	run inside npm token create --otp 1
	[ "$status" -ne 0 ]
	run registry_saw POST /-/npm/v1/tokens 200
	code 1
}

@test "twine uploads, and pip installs what was uploaded" {
	run -0 script <<'END'
python3 -m venv /tmp/twine
/tmp/twine/bin/pip install -q --no-index --no-deps /tmp/wheels/[!w]*.whl
mkdir -p /tmp/dam/src && cd /tmp/dam
python3 - <<'PY'
import zipfile
info = "otterdam-2.0.dist-info/"
files = {"otterdam.py": "WORD = 'gnaw'\n",
         info + "METADATA": "Metadata-Version: 2.1\nName: otterdam\n"
                            "Version: 2.0\nSummary: a dam\n",
         info + "WHEEL": "Wheel-Version: 1.0\nGenerator: test\n"
                         "Root-Is-Purelib: true\nTag: py3-none-any\n"}
files[info + "RECORD"] = "".join("%s,,\n" % x for x in files) + info + \
    "RECORD,,\n"
with zipfile.ZipFile("otterdam-2.0-py3-none-any.whl", "w") as z:
    for name, text in files.items():
        z.writestr(name, text)
PY
TWINE_USERNAME=__token__ TWINE_PASSWORD=$PYPI_TOKEN /tmp/twine/bin/twine \
	upload --non-interactive --disable-progress-bar \
	--repository-url https://index.test/legacy/ *.whl
python3 -m venv /tmp/venv
/tmp/venv/bin/pip install -q --index-url \
	"https://__token__:$PYPI_TOKEN@index.test/simple/" otterdam
/tmp/venv/bin/python -c 'import otterdam; print(otterdam.WORD)'
END
	has gnaw
	forge_saw index.test POST /legacy/ pypi
	forge_saw index.test GET /files/otterdam-2.0 pypi
}

# sessions_saw JQ - in what the server of WebSockets wrote
sessions_saw() {
	jq -se --arg real "Bearer $(token sockets)" "$1" \
		"$FORGE/sockets.jsonl" >/dev/null || {
		cat "$FORGE/sockets.jsonl"
		return 1
	}
}

@test "WebSockets: messages both ways, big ones, pings, rests and codes" {
	run -0 script <<'END'
PYTHONPATH=$(echo /tmp/wheels/websockets-*) \
	python3 /tmp/probe/sockets.py sockets.cred.test
END
	lacks 'not ok'
	for case in many at_once big pings idle 'close 1000 by the server' \
		'close 4999 by the client' stranger; do
		has "ok $case"
	done
	# shellcheck disable=SC2016 # $real is for jq
	sessions_saw 'any(.[]; .begin == "/session" and
		([.headers[] | select(.[0] | ascii_downcase ==
		"authorization") | .[1]] == [$real]))'
	sessions_saw 'any(.[]; .end == "/session" and .messages > 2000)'
	sessions_saw 'any(.[]; .end == "/close-4999" and .code == 4999)'
	sessions_saw 'all(.[]; .begin != "/stranger")'
}

@test "a WebSocket ends when its rule is taken away" {
	"$AC" run base open -d --egress sockets -- sleep infinity
	wheels_into open
	# shellcheck disable=SC2016 # expanded in the sandbox
	"$AC" exec open -- sh -c 'PYTHONPATH=$(echo /tmp/wheels/websockets-*) \
		python3 /tmp/probe/sockets.py sockets.cred.test stay /tmp/stay' &
	stay=$!
	stood() { "$AC" exec open -- grep -q "$1" /tmp/stay; }
	eventually stood up
	{
		sed -n 1,3p "$AC_HOME/policy/policy.yaml"
		policy ''
	} >"$AC_HOME/policy/policy.new"
	cp "$AC_HOME/policy/policy.yaml" "$AC_HOME/policy/policy.old"
	# A reload that changes nothing of it leaves it alone.
	run -0 "$AC" policy reload
	run "$AC" exec open -- grep -q closed /tmp/stay
	code 1
	mv "$AC_HOME/policy/policy.new" "$AC_HOME/policy/policy.yaml"
	run -0 "$AC" policy reload
	eventually stood closed
	wait "$stay" || true
	mv "$AC_HOME/policy/policy.old" "$AC_HOME/policy/policy.yaml"
	run -0 "$AC" policy reload
	gone open
}

@test "calls of HTTP/2 go message by message, with trailers both ways" {
	run -0 inside timeout 120 node /tmp/probe/calls.mjs calls.cred.test
	for name in one two three; do
		has "$name 200 true 0 $name-857750"
	done
	jq -se --arg real "Bearer $(token calls)" 'length >= 3 and all(.[];
		.headers.authorization == $real and
		.headers.te == "trailers" and
		(.trailers["grpc-sum"] | endswith("-857750")) and
		.trailers["x-other"] == null)' \
		"$FORGE/calls.jsonl" >/dev/null
}
