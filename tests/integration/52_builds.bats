#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# 52_builds.bats - images that a user's Dockerfile makes: what their lines get of
# this machine, and what a failure of theirs is told by

load common

teardown_file() {
	gone own brk
	rm -rf "$AC_HOME"/blueprints/{own,broken}
	in_host sh -c '{ docker image ls -q ac/own; docker image ls -q ac/broken; } |
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
