#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build_failure_test.sh - which line of a build is the error, and when a failed
# build is tried again
set -u
SRC=$(readlink -f "${0%/*}/../../..")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
n=0
failed=0

ok() { # CODE NAME
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		failed=1
		sed 's/^/# /' "$tmp/out" 2>/dev/null
	fi
}

is() { # NAME GOT WANTED
	[ "$2" = "$3" ]
	ok $? "$1"
	[ "$2" = "$3" ] || printf '# got: %s\n# not: %s\n' "$2" "$3"
}

export AC_HOME=$tmp/home
# shellcheck source=images/common.sh
. "$SRC/images/common.sh"
# shellcheck source=images/build-failure.sh
. "$SRC/images/build-failure.sh"
ENV_DIR=$AC_CACHE/build-env
mkdir -p "$ENV_DIR" "$AC_LOGS" "$AC_HOME/ca"

# log LINE... - of a build whose step 6 failed
log() {
	printf '%s\n' "#5 [1/3] FROM docker.io/ac/base" '#5 DONE 0.0s' \
		'#6 [2/3] RUN npm install -g @otter/dam' "$@" >"$tmp/log"
	printf '%s\n' \
		'#6 ERROR: process "/bin/sh -c x" did not complete successfully: exit code: 1' \
		'------' ' > [2/3] RUN npm install -g @otter/dam:' '------' \
		'.dockerfile-web:2' '--------------------' \
		'ERROR: failed to solve: process "/bin/sh -c x" did not complete successfully: exit code: 1' \
		>>"$tmp/log"
}

step='RUN npm install -g @otter/dam (exit code 1)'

test_line() {
	log '#6 0.101 npm warn deprecated an error: of old' \
		'#6 71.2 npm error code SELF_SIGNED_CERT_IN_CHAIN' \
		'#6 71.2 npm error errno SELF_SIGNED_CERT_IN_CHAIN' \
		'#6 71.3 npm error A complete log of this run can be found in: /root/x'
	is 'the first error of npm' "$(failure_text "$tmp/log")" \
		"$step"$'\tnpm error code SELF_SIGNED_CERT_IN_CHAIN'
	log '#6 1.1 npm error code EUSAGE' '#6 1.1 npm error' \
		"#6 1.1 npm error \`npm ci\` can only install packages when" \
		'#6 1.1 npm error Missing: otter@1.0.0 from lock file' \
		'#6 1.2 npm error A complete log of this run can be found in: /root/x'
	is 'the words of npm, not its code' "$(failure_text "$tmp/log")" \
		"$step"$'\t'"npm error \`npm ci\` can only install packages when"
	log '#6 0.2 Traceback (most recent call last):' \
		'#6 0.2 ModuleNotFoundError: No module named otter' '#6 0.3 bye'
	is 'an exception of Python' "$(failure_text "$tmp/log")" \
		"$step"$'\tModuleNotFoundError: No module named otter'
	log '#6 0.2 Reading package lists...' \
		'#6 0.3 E: Unable to locate package otter'
	is "apt's" "$(failure_text "$tmp/log")" \
		"$step"$'\tE: Unable to locate package otter'
	log '#6 0.2 /bin/sh: 1: otter: not found'
	is "a shell's" "$(failure_text "$tmp/log")" \
		"$step"$'\t/bin/sh: 1: otter: not found'
	log '#6 0.2 npm error code ECONNRESET' \
		'#6 0.3 ac: error: this step tried to reach liar.example' \
		'#6 0.4 ac: error: this step tried to reach home.example:443'
	is 'what ended the step says it last' "$(failure_text "$tmp/log")" \
		"$step"$'\tthis step tried to reach home.example:443'
	log '#6 0.2 one' '#6 0.3 two' '#6 0.4 '
	is 'the last line where none speaks of an error' \
		"$(failure_text "$tmp/log")" "$step"$'\ttwo'
	log '#7 [stage 1/2] RUN other' '#7 0.1 error: of a step that went well' \
		'#6 0.2 otter'
	is 'no line of another step' "$(failure_text "$tmp/log")" \
		"$step"$'\totter'
	log
	is 'a step that says nothing' "$(failure_text "$tmp/log")" \
		"$step"$'\tprocess "/bin/sh -c x" did not complete successfully: exit code: 1'
	echo 'ERROR: failed to solve: dockerfile parse error on line 2: unknown instruction: RUNN' >"$tmp/log"
	is 'what is no Dockerfile' "$(failure_text "$tmp/log")" \
		$'the Dockerfile\tdockerfile parse error on line 2: unknown instruction: RUNN'
	log $'#6 0.2 error: \033[2Jgone\007'
	is 'nothing that moves a cursor' "$(failure_text "$tmp/log")" \
		"$step"$'\terror: [2Jgone'
}

test_builder() {
	local last
	for last in 'ERROR: failed to receive status: rpc error: code = Unavailable' \
		'ERROR: failed to solve: Canceled: context canceled' \
		'ERROR: failed to solve: write /x: no space left on device'; do
		echo "$last" >"$tmp/log"
		is "not the build's fault: $last" "$(failure_text "$tmp/log")" ''
	done
}

# note, known - of image web with the tag in $tag
note() { failure_note web "$tag" "$tmp/log" >"$tmp/out" 2>&1; }
known() { failure_known web "$tag" >"$tmp/out" 2>&1; }
unknown() { ! known; }

test_memory() {
	local tag=1234 file
	INSIDE=1
	echo /srv/otter/ac >"$ENV_DIR/home.ref"
	echo +0530 >"$ENV_DIR/zone.ref"
	unknown
	ok $? 'nothing failed yet'
	log '#6 0.1 first' '#6 0.2 error: the dam broke' '#6 0.3 later' '#6 0.4 last'
	note
	is 'the message ends with the error' "$(tail -n 1 "$tmp/out")" \
		"ac: image web could not be built; the whole output is in /srv/otter/ac/log/build-web.log: $step: error: the dam broke"
	is "the step's last lines come before" "$(head -n 4 "$tmp/out")" \
		$'    first\n    error: the dam broke\n    later\n    last'
	sed -i '2s/.*/1000000000/' "$AC_CACHE/failed-web"
	known
	ok $? 'it is remembered'
	is 'with its hour here, the way out, the log and the error' \
		"$(cat "$tmp/out")" \
		"ac: image web could not be built at 07:16, and nothing has changed since; \`ac build web\` tries again; the whole output is in /srv/otter/ac/log/build-web.log: $step: error: the dam broke"
	AC_ASKED=shop
	known
	grep -q "image web could .* \`ac build shop\` tries again" "$tmp/out"
	ok $? 'a parent is tried again by what starts from it'
	unset AC_ASKED
	AC_WHY=$tmp/why AC_SAY='' known
	is 'who runs it gets the sentence' "$(cut -c 1-33 "$tmp/why")" \
		'image web could not be built at 0'
	is 'and may show it as it likes' "$(cut -c 1-33 "$tmp/out")" \
		'image web could not be built at 0'
	tag=5678
	unknown
	ok $? 'another Dockerfile is another build'
	tag=1234
	for file in "$ENV_DIR/step.env" "$ENV_DIR/ca.pem" "$AC_HOME/ca/extra.pem"; do
		echo changed >"$file"
		unknown
		ok $? "so is one with another ${file##*/}"
		rm "$file"
	done
	known
	ok $? 'but not one as before'
	failure_forget web
	unknown
	ok $? 'until it is forgotten'
	echo 'ERROR: failed to receive status: rpc error: EOF' >"$tmp/log"
	note
	[ ! -e "$AC_CACHE/failed-web" ]
	ok $? 'what the engine did is not remembered'
	INSIDE=
	log '#6 0.2 error: x'
	note
	[ ! -e "$AC_CACHE/failed-web" ]
	ok $? 'nor is anything on the machine itself'
}

# Under the options of build.sh, where a filter that finds nothing ends all.
test_silent() {
	: >"$tmp/log"
	(
		set -euo pipefail
		INSIDE=1
		failure_note web 1 "$tmp/log"
	) >"$tmp/out" 2>&1
	is 'a builder that ended without a word' "$(tail -n 1 "$tmp/out" |
		sed 's/.*: the/the/')" 'the builder gave up: without a word'
}

# What a user's Dockerfile runs gets addresses alone.
test_passwords() {
	local dir=$tmp/other/cache/build-env
	AC_HOME=$tmp/other AC_REGISTRY_PIP=https://me:pw1@pip.test/simple \
		AC_REGISTRY_GO=https://pw2@go.test,direct \
		AC_REGISTRY_NPM=https://npm.test/x@y \
		https_proxy=http://me:pw3@proxy.test:3128 \
		"$SRC/images/setup/build-env.sh" >"$tmp/out" 2>&1
	[ "$(grep -c 'pw[123]@' "$dir/build.env")" -eq 3 ]
	ok $? 'control: our own steps get the passwords'
	[ "$(cat "$dir"/step.env "$dir"/step-apt.conf | grep -c 'pw[123]')" -eq 0 ]
	ok $? 'the steps of others do not'
	is 'but all addresses' "$(grep -oE '//[^ ]*(pip|go|npm|proxy).test[^ ]*' \
		"$dir/step.env" | tr '\n' ' ')" \
		'//proxy.test:3128 //npm.test/x@y //pip.test/simple //go.test,direct '
}

test_line
test_builder
test_memory
test_silent
test_passwords
echo "1..$n"
exit $failed
