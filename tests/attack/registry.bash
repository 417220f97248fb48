# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# registry.bash - real programs beside the forge of forge.bash
#
# An npm registry (verdaccio, registry.test), a server of WebSockets
# (sockets.cred.test) and one of calls with trailers (calls.cred.test), each at
# an address of its own in the world; and what a sandbox needs to upload to an
# index of Python packages. What they are made of comes from the registries of
# this machine, as tests/fake/registry pins and proves it, once: it is kept in
# AC_TEST_DIR by the digest of the pins.

REGISTRY_SRC=$AC_SRC/tests/fake/registry
REGISTRY_ADDRESS=198.51.100.32
SOCKETS_ADDRESS=198.51.100.33
CALLS_ADDRESS=198.51.100.34

# pinned NAME FILE... - where what these files pin is kept
pinned() {
	local name=$1
	shift
	echo "$AC_TEST_DIR/$name-$(cat "$@" | sha256sum | cut -c 1-16)"
}

# kept FOLDER COMMAND... - FOLDER, made by COMMAND FOLDER when it is not there;
# what it says is in FOLDER.log
kept() {
	local folder=$1 new=$1.new
	shift
	[ ! -d "$folder" ] || return 0
	rm -rf "$new"
	mkdir -p "$new" && "$@" "$new" >"$folder.log" 2>&1 3>&- &&
		mv "$new" "$folder"
}

npm_install() {
	cp "$REGISTRY_SRC"/package*.json "$1/" &&
		npm ci --prefix "$1" --no-audit --no-fund --ignore-scripts \
			--omit=optional
}

# Wheels that this machine's Python and the sandbox's both take.
wheels_install() {
	python3 -m pip download -q --no-deps --require-hashes \
		--only-binary=:all: --python-version 3.11 --implementation cp \
		--abi abi3 --abi none --platform any \
		--platform "manylinux2014_$(uname -m)" \
		-r "$REGISTRY_SRC/requirements.txt" -d "$1"
}

# npm_fetch, wheels_fetch - REGISTRY and WHEELS are the folders
npm_fetch() {
	REGISTRY=$(pinned registry "$REGISTRY_SRC"/package*.json)
	kept "$REGISTRY" npm_install
}

wheels_fetch() {
	WHEELS=$(pinned wheels "$REGISTRY_SRC/requirements.txt")
	export WHEELS
	kept "$WHEELS" wheels_install
}

# token_put NAME TEXT - into tokens.json
token_put() {
	jq --arg name "$1" --arg text "$2" '.[$name] = $text' \
		"$FORGE/tokens.json" >"$FORGE/tokens.new" &&
		mv "$FORGE/tokens.new" "$FORGE/tokens.json"
}

# in_world LOG COMMAND... - in the background
in_world() {
	local log=$1
	shift
	nsenter --net="/run/netns/$WORLD_NS" "$@" >>"$log" 2>&1 3>&- &
	world_pids+=($!)
	echo $! >>"$WORLD/pids"
}

# within_reach ADDRESS - somebody listens on its port 443
within_reach() {
	nsenter --net="/run/netns/$WORLD_NS" \
		bash -c ": </dev/tcp/$1/443" 2>/dev/null
}

# registry_up - after forge_up; the token "npm" of the forge becomes that of the
# registry's user
registry_up() {
	local folder=$FORGE/registry token
	mkdir -p "$folder"
	cp "$FORGE"/{key,cert}.pem "$REGISTRY_SRC/config.yaml" "$folder/"
	in_world "$folder/log" env -C "$folder" node \
		"$REGISTRY/node_modules/verdaccio/bin/verdaccio" \
		--config config.yaml --listen "https://$REGISTRY_ADDRESS:443/"
	eventually within_reach "$REGISTRY_ADDRESS" || return 1
	token=$(nsenter --net="/run/netns/$WORLD_NS" curl -sf \
		--cacert "$FORGE/ca.pem" -X PUT \
		--resolve "registry.test:443:$REGISTRY_ADDRESS" \
		-H 'Content-Type: application/json' \
		-d "{\"name\":\"otter\",\"password\":\"$(forge_random 20)\"}" \
		https://registry.test/-/user/org.couchdb.user:otter |
		jq -er .token) && token_put npm "$token"
}

# registry_saw METHOD URL STATUS [USER] - in its log; URL is a regular
# expression, and USER whom it took the client for
registry_saw() {
	jq -Rse --arg method "$1" --arg url "^$2\$" --arg status "$3" \
		--arg user "${4:-}" '[split("\n")[] | fromjson? |
		select(.request? and .bytes.out)] |
		any(.[]; .request.method == $method and
			(.request.url | test($url)) and
			(.status | tostring) == $status and
			($user == "" or .user == $user))' \
		"$FORGE/registry/log" >/dev/null || {
		echo "no such request: $*; but these:"
		jq -Rr 'fromjson? | select(.request?) |
			"\(.request.method) \(.request.url) \(.status) \(.user)"' \
			"$FORGE/registry/log"
		return 1
	}
}

# sockets_up - after forge_up
sockets_up() {
	token_put sockets "sk-proj-$(forge_random 48)"
	in_world "$WORLD/errors" env "PYTHONPATH=$(echo "$WHEELS"/websockets-*)" \
		python3 "$AC_SRC/tests/fake/sockets.py" "$FORGE" \
		"$SOCKETS_ADDRESS"
	eventually within_reach "$SOCKETS_ADDRESS"
}

# calls_up - likewise
calls_up() {
	token_put calls "$(forge_random 43)"
	in_world "$WORLD/errors" node "$AC_SRC/tests/fake/calls.mjs" "$FORGE" \
		"$CALLS_ADDRESS"
	eventually within_reach "$CALLS_ADDRESS"
}
