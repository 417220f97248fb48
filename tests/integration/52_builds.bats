#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# 52_builds.bats - images that a user's blueprint makes: what their steps get of
# this machine, what they may reach and take, and what a failure is told by

load common

teardown_file() {
	gone own brk home
	rm -rf "$AC_HOME"/blueprints/{own,broken,caller,greedy,pinned}
	in_host sh -c '{ docker image ls -q ac/own; docker image ls -q ac/broken
		docker image ls -q ac/caller; docker image ls -q ac/greedy; } |
		sort -u | xargs -r docker image rm -f' || true
}

# blueprint NAME - with the Dockerfile on stdin
blueprint() {
	mkdir -p "$AC_HOME/blueprints/$1"
	printf 'version: 1\nimage: %s\n' "$1" \
		>"$AC_HOME/blueprints/$1/blueprint.yaml"
	cat >"$AC_HOME/blueprints/$1/Dockerfile"
}

@test "lines that know nothing of this machine install by npm and pip" {
	blueprint own <<'END'
FROM ac/base
RUN npm install -g semver@7.6.3
RUN ["pip", "install", "six==1.16.0"]
ENV CURL_CA_BUNDLE=/own
RUN env >/seen; ls /dev/ac >/seen-files || :
USER node
RUN cat /dev/ac/* >/dev/null || [ ! -e /dev/ac ]
END
	run -0 "$AC" run own own -- sh -c \
		'semver 1.2.3 && python3 -c "import six; print(six.__version__)"'
	has 1.2.3
	has 1.16.0
	run -0 "$AC" run own -- cat /seen
	has PIP_BREAK_SYSTEM_PACKAGES=1
	has CURL_CA_BUNDLE=/own
	if [ -s "$AC_HOME/ca/extra.pem" ]; then
		has NODE_EXTRA_CA_CERTS=/dev/ac/ca.pem
		has SSL_CERT_FILE=/dev/ac/ca-bundle.crt
		run -0 "$AC" run own -- cat /seen-files
		has ca.pem
	fi
}

@test "nothing of this machine is left in such an image" {
	local id
	run -0 in_host docker image inspect -f '{{json .Config}}' ac/own
	has CURL_CA_BUNDLE=/own
	lacks PIP_BREAK
	lacks /dev/ac
	run -0 in_host docker history --no-trunc ac/own
	has 'npm install -g semver'
	lacks PIP_BREAK
	lacks SSL_CERT_FILE
	id=$(in_host docker create ac/own)
	run -0 in_host sh -c "docker export $id | tar -t; docker rm $id"
	has seen-files
	lacks dev/ac
	lacks run/secrets/ca
}

@test "a build that fails says which line, and is not repeated by itself" {
	local log=$AC_HOME/log/build-broken.log first second
	blueprint broken <<'END'
FROM ac/base
RUN : "fine"
RUN cat /proc/sys/kernel/random/uuid; echo 'error: the dam broke'; echo see help; exit 3
RUN : "never"
END
	run "$AC" run broken brk -- true
	code 125
	has '    see help'
	[[ ${lines[-1]} == *"image broken could not be built; the whole output is in $log: RUN cat /proc/"*"(exit code 3): error: the dam broke" ]]
	first=$(grep -m 1 -E '[0-9a-f]{8}-' "$log")

	run "$AC" run broken brk -- true
	code 125
	[[ ${lines[-1]} =~ could\ not\ be\ built\ at\ [0-9]{2}:[0-9]{2},\ and\ nothing\ has\ changed\ since ]]
	has "\`ac build broken\` tries again; the whole output is in $log: RUN cat"
	[[ ${lines[-1]} == *": error: the dam broke" ]]
	[ "$(grep -m 1 -E '[0-9a-f]{8}-' "$log")" = "$first" ]

	run "$AC" build broken
	[ "$status" -ne 0 ]
	[[ ${lines[-1]} == *": error: the dam broke" ]]
	second=$(grep -m 1 -E '[0-9a-f]{8}-' "$log")
	[ "$second" != "$first" ]

	run "$AC" run --build broken brk -- true
	code 125
	[ "$(grep -m 1 -E '[0-9a-f]{8}-' "$log")" != "$second" ]

	sed -i 's/; exit 3//' "$AC_HOME/blueprints/broken/Dockerfile"
	run -0 "$AC" run broken brk -- true
	gone brk
}

# recipe NAME LINE... - a blueprint whose image is made from base by these lines
recipe() {
	local dir=$AC_HOME/blueprints/$1
	mkdir -p "$dir"
	printf '%s\n' 'version: 2' 'image:' '  from: base' "${@:2}" \
		>"$dir/blueprint.yaml"
}

# caller LINE... - installs a package of the registry, whose own script then
# calls home and does not care whether that works
caller() {
	local dir=$AC_HOME/blueprints/caller
	recipe caller \
		'  files: [ { from: package.json, to: /opt/x/ }, { from: home.js, to: /opt/x/ } ]' \
		'  run: ["cd /opt/x && npm install --no-audit --no-fund && echo installed"]' "$@"
	printf '{ "dependencies": { "semver": "7.6.3" },
		"scripts": { "postinstall": "node home.js" } }\n' >"$dir/package.json"
	cat >"$dir/home.js" <<-'END'
		const net = require('net'), tls = require('tls');
		const quiet = (s) => s.on('error', () => {}).on('close', () => {});
		quiet(tls.connect(443, 'home.example', { servername: 'home.example' }));
		quiet(net.connect(80, '169.254.169.254'));
		setTimeout(() => process.exit(0), 2000);
	END
}

@test "an install step that calls home fails and is named, and reaches the registry" {
	caller
	run "$AC" build caller
	[ "$status" -ne 0 ]
	# What failed: the step, and the places; npm itself had no complaint.
	[[ ${lines[-1]} == *"image caller could not be built"*"npm install"* ]]
	[[ ${lines[-1]} == *"this step tried to reach "*"home.example:443"* ]]
	[[ ${lines[-1]} == *"169.254.169.254:80"*"which was refused"* ]]
	grep -q 'added 1 package' "$AC_HOME/log/build-caller.log"
	grep -q ' installed$' "$AC_HOME/log/build-caller.log"
	run -0 "$AC" logs proxy
	has build.caller

	# What a blueprint denies by itself is no failure; an address cannot be
	# allowed, so the script must not ask for one.
	caller '  egress: { deny: [home.example] }'
	sed -i /169/d "$AC_HOME/blueprints/caller/home.js"
	run -0 "$AC" run caller home -- sh -c \
		'ls /opt/x/node_modules; stat -c %u /opt/x/node_modules'
	has semver
	[ "${lines[-1]}" = 0 ]
}

@test "presets of tools are in the image, and what they work with is allowed" {
	mkdir -p "$AC_HOME/presets/tools"
	printf '%s\n' 'version: 1' 'about: of the tests' 'npm: [semver@7.6.3]' \
		'pip: ["six==1.16.0"]' 'egress: [debian]' \
		>"$AC_HOME/presets/tools/kit.yaml"
	run -0 "$AC" presets show kit
	has 'npm          semver@7.6.3'
	recipe caller '  tools: [kit]'
	# It was built since the start of acd, and not as it is now.
	run -0 "$AC" run caller home -- sh -c \
		'semver 1.2.3 && python3 -c "import six; print(six.__version__)"'
	has 1.2.3
	has 1.16.0
	run -0 "$AC" policy check home https://deb.debian.org/
	rm "$AC_HOME/presets/tools/kit.yaml"
}

@test "an install step has the network of its sandbox alone" {
	recipe caller '  run: ["cat /proc/net/dev /etc/resolv.conf; uname -v"]'
	run -0 "$AC" build caller
	run -0 cat "$AC_HOME/log/build-caller.log"
	has 'eth0:'
	has 172.20.0.53
	lacks ac0:
	lacks docker0:
	[[ $output == *gVisor* || $output == *"#1 SMP Sun Jan 10"* ]]
}

@test "an install step that hangs is stopped, and what it was is told" {
	recipe greedy '  run: ["echo waiting; sleep 1000"]' '  time: 2s'
	run "$AC" build greedy
	[ "$status" -ne 0 ]
	[[ ${lines[-1]} == *"sleep 1000"*"this step was stopped after 2 s"* ]]
	run in_host pgrep -f 'runsc.*steps'
	[ "$status" -ne 0 ]
}

@test "an install step that fills the disk is stopped, and leaves nothing" {
	recipe greedy '  run: ["dd if=/dev/zero of=/big bs=1M count=400; sync; sleep 100"]' '  disk: 64m'
	run "$AC" build greedy
	[ "$status" -ne 0 ]
	[[ ${lines[-1]} == *"this step was stopped: it has written more than 64"* ]]
	run in_host find /var/lib/docker/overlay2 -maxdepth 3 -name big
	[ -z "$output" ]
}

@test "an install step that needs too much memory is stopped, and is told so" {
	recipe greedy "  run: [\": $RANDOM; head -c 900m /dev/zero | tail -n 1 | wc -c\"]" \
		'  memory: 256m'
	run "$AC" build greedy
	[ "$status" -ne 0 ]
	[[ ${lines[-1]} == *"this step needed more memory than 256"*"image: { memory: SIZE }"* ]]
	run in_host pgrep -f 'runsc.*steps'
	[ "$status" -ne 0 ]
	run in_host find /sys/fs/cgroup -maxdepth 3 -name 'step-*'
	is ''
}

@test "ac build --update moves what npm's and pip's locks pin, and says so" {
	local dir=$AC_HOME/blueprints/pinned
	takes_long
	mkdir -p "$dir"
	printf 'version: 2\nimage: pinned\n' >"$dir/blueprint.yaml"
	printf 'FROM ac/base\n' >"$dir/Dockerfile"
	printf '{ "name": "p", "private": true, "dependencies": { "semver": "7.6.0" } }\n' \
		>"$dir/package.json"
	printf '{ "packages": { "node_modules/semver": { "version": "7.6.0" } } }\n' \
		>"$dir/package-lock.json"
	echo six >"$dir/requirements.in"
	echo six==1.15.0 >"$dir/requirements.txt"
	run -0 "$AC" build --update pinned
	[[ $output == *"pinned  semver  7.6.0 -> "* ]]
	[[ $output == *"pinned  six  1.15.0 -> "* ]]
	run -0 cat "$dir/requirements.txt"
	[[ $output =~ ^six==[0-9.]+\ --hash=sha256:[0-9a-f]{64}$ ]]
	run -0 jq -r '.packages["node_modules/semver"].integrity' "$dir/package-lock.json"
	has sha512-
	run -0 jq -r .dependencies.semver "$dir/package.json"
	lacks 7.6.0
	run -0 --separate-stderr "$AC" build --update --json pinned
	run -0 jq -c .changes <<<"$output"
	[ "$output" = '[]' ]
}
