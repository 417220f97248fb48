#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 61_sdk_python.bats - the client of Python: its own tests, and the examples of its
# README as they stand there, at the unix socket and over TCP
#
# The package is installed in a venv. What it needs comes from the index of this
# machine, once, as sdk/python/tests/requirements.txt pins and proves it.

load common

# shellcheck source=tests/attack/registry.bash
. "$AC_SRC/tests/attack/registry.bash"

SDK=$AC_SRC/sdk/python
PORT=23285
PY=$AC_TEST_TMP/sdk/bin/python
WORK=$AC_TEST_TMP/sdk-work

sdk_download() {
	python3 -m pip download -q --no-deps --require-hashes \
		--only-binary=:all: --python-version 3.11 --implementation py \
		--abi none --platform any -r "$SDK/tests/requirements.txt" \
		-d "$1"
}

# sdk_install FOLDER - a venv with the package
sdk_install() {
	local wheels
	wheels=$(pinned sdk "$SDK/tests/requirements.txt")
	kept "$wheels" sdk_download && python3 -m venv "$1" &&
		"$1/bin/python" -m pip install -q --no-index \
			--find-links "$wheels" httpx hatchling &&
		"$1/bin/python" -m pip install -q --no-index \
			--find-links "$wheels" --no-deps \
			--no-build-isolation "$SDK"
}

setup_file() {
	export PYTHONDONTWRITEBYTECODE=1
	python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || return 0
	sdk_install "${PY%/bin/python}" >"$AC_TEST_TMP/sdk.log" 2>&1 3>&- || {
		sed 's/^/# /' "$AC_TEST_TMP/sdk.log" >&3
		return 0
	}
	touch "$AC_TEST_TMP/sdk/ready"
	"$AC" serve $PORT
	"$AC" token add sdk --scope admin >"$BATS_FILE_TMPDIR/token"
}

setup() {
	[ -e "$AC_TEST_TMP/sdk/ready" ] ||
		skip "no Python 3.11 with venv, or no index of packages"
	mkdir -p "$WORK"
	printf 'one\ntwo\n' >"$WORK/notes.txt"
	cd "$WORK" || return 1
	export AC_PROGRAM=$AC
}

teardown_file() {
	[ -e "$AC_TEST_TMP/sdk/ready" ] || return 0
	"$AC" serve --stop
	"$AC" token rm sdk
	docker rm -f "$AC_HOST-edge" >/dev/null 2>&1 || true
	"$AC" vault rm --yes sdk-demo >/dev/null 2>&1 || true
	rm -rf "$AC_TEST_TMP/sdk" "$WORK"
}

# over_tcp COMMAND... - with a place and a token instead of AC_HOME
over_tcp() {
	env -u AC_HOME -u AC_PROGRAM AC_API_URL=http://127.0.0.1:$PORT \
		AC_API_TOKEN="$(cat "$BATS_FILE_TMPDIR/token")" "$@"
}

# example N - what it prints, and that it leaves no instance
example() {
	local way
	for way in env over_tcp; do
		printf 'one\ntwo\n' >"$WORK/notes.txt"
		run -0 "$way" "$PY" "$SDK/tests/examples.py" "$1"
		"check_$1"
		[ "$("$AC" ls --json | jq length)" = 0 ]
	done
}

check_1() {
	has '0 2 notes.txt'
	has 'file notes.txt'
	has 'changed   notes.txt'
	[ "$(cat "$WORK/notes.txt")" = "$(printf 'one\ntwo\ndone')" ]
}
check_2() { is "$(printf 'stdout %s\n' 1 2 3 && printf 'apple\npear\n')"; }
check_3() {
	is "$(printf '%s\n' False "['example.com']" False)"
	run "$AC" vault ls
	lacks sdk-demo
}
check_4() {
	local last
	[ "$(grep -cxE 'start|base-[0-9a-f]{8}-[12]' <<<"$output")" = 4 ]
	last=${output##*$'\n'}
	[ "$last" = plan.txt ]
}
check_5() { is "['1', '4', '9']"; }

@test "its own tests pass, with what is installed" {
	cd "$SDK" || return 1
	run -0 "$PY" -m unittest discover -t . -s tests
	has OK
}

@test "a run has no error of types" {
	takes_long
	"$PY" -m pip install -q --no-index --find-links \
		"$(pinned sdk "$SDK/tests/requirements.txt")" mypy
	cd "$SDK" || return 1
	run -0 "$PY" -m mypy --cache-dir "$BATS_TEST_TMPDIR"
}

@test "example 1 works on a copy of a directory" { example 1; }
@test "example 2 streams, and leaves commands running" { example 2; }
@test "example 3 changes what a sandbox may reach" { example 3; }
@test "example 4 tries things from one point" { example 4; }
@test "example 5 runs many at once" { example 5; }
@test "the README has five examples" {
	run -0 grep -c '^```python' "$SDK/README.md"
	is 5
}

@test "without CAP_SYS_ADMIN, a directory goes by ac" {
	need_root
	run -0 setpriv --bounding-set -sys_admin --inh-caps -sys_admin \
		"$PY" "$SDK/tests/examples.py" 1
	check_1
}

@test "an agent has a prompt, or waits for commands; also by ac" {
	need_root
	mkdir -p "$AC_HOME/blueprints/sdkagent"
	printf '%s\n' 'version: 2' 'extends: base' 'run:' \
		'  command: [echo, asked]' '  args: append' \
		'  headless: [echo, "told to", "{prompt}"]' \
		>"$AC_HOME/blueprints/sdkagent/blueprint.yaml"
	cat >"$BATS_TEST_TMPDIR/agent.py" <<'EOF'
from ac_sandbox import Sandbox

with Sandbox("sdkagent", workspace=".", prompt="@mend -it") as box:
    print(box.wait()["exit_code"], box.logs().decode(), end="")
with Sandbox("sdkagent", workspace=".") as box:
    print(box.run("ls; cat /proc/*/cmdline | tr '\\0' ' '").stdout)
EOF
	for way in env 'setpriv --bounding-set -sys_admin'; do
		# shellcheck disable=SC2086 # words are meant
		run -0 $way "$PY" "$BATS_TEST_TMPDIR/agent.py"
		has '0 told to @mend -it'
		has notes.txt
		has 'sleep infinity'
	done
	rm -rf "$AC_HOME/blueprints/sdkagent"
}

@test "a run that is left ends its command, also over TCP" {
	for way in env over_tcp; do
		run -0 "$way" "$PY" - <<'EOF'
import asyncio

from ac_sandbox import AsyncSandbox

async def main():
    async with AsyncSandbox("base") as box:
        run = asyncio.create_task(box.run("sleep 1000"))
        while not await box.commands():
            await asyncio.sleep(0.05)
        run.cancel()
        await asyncio.wait([run])
        for _ in range(600):
            if not await box.commands():
                return print("ended", run.cancelled())
            await asyncio.sleep(0.05)

asyncio.run(main())
EOF
		is "ended True"
	done
}
