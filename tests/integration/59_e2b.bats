#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 59_e2b.bats - E2B's own SDK for Python, unchanged, on sandboxes of this machine

load common

PORT=23387
EDGE=$AC_HOST-edge
E2B_VERSION=2.63.0

setup_file() {
	"$AC" serve $PORT --e2b-env >"$BATS_FILE_TMPDIR/env"
	python3 -m venv "$BATS_FILE_TMPDIR/venv"
	"$BATS_FILE_TMPDIR/venv/bin/pip" install -q \
		--disable-pip-version-check "e2b==$E2B_VERSION" \
		>"$BATS_FILE_TMPDIR/pip.log" 2>&1 ||
		touch "$BATS_FILE_TMPDIR/no-sdk"
}

teardown_file() {
	local name
	for name in $("$AC" list --json | jq -r '.instances[].name' |
		grep '^e2b-'); do
		gone "$name"
	done
	for name in $("$AC" token ls --json | jq -r '.tokens[].name' |
		grep '^e2b-'); do
		"$AC" token rm "$name"
	done
	"$AC" serve --stop
	docker rm -f "$EDGE" >/dev/null 2>&1 || true
}

setup() {
	[ ! -e "$BATS_FILE_TMPDIR/no-sdk" ] ||
		skip "pip cannot install e2b $E2B_VERSION here"
}

# sdk - runs the program on stdin, with a sandbox s that is killed at its end
sdk() {
	run program
	if [ "$status" -ne 0 ] || [ "${lines[-1]}" != well ]; then
		printf '%s\n' "$output"
		return 1
	fi
}

program() {
	{
		cat <<-'END'
			import io, time
			from e2b import *
			s = Sandbox.create(timeout=240, metadata={"of": "bats"})
			def raises(kind, fn, text=""):
			    try:
			        fn()
			    except kind as e:
			        assert text in str(e), e
			        return e
			    raise AssertionError(f"no {kind.__name__}")
			def body():
		END
		sed 's/^/    /'
		printf '%s\n' try: '    body()' finally: '    s.kill()' \
			'print("well")'
	} >"$BATS_TEST_TMPDIR/program.py"
	# shellcheck source=/dev/null
	(
		set -a
		. "$BATS_FILE_TMPDIR/env"
		timeout 200 "$BATS_FILE_TMPDIR/venv/bin/python" \
			"$BATS_TEST_TMPDIR/program.py"
	)
}

# key CURL-ARGUMENT... - the status of a request with the key
key() {
	curl -s -o /dev/null -w '%{http_code}' -m 20 -H "X-API-KEY: $(sed -n \
		's/^export E2B_API_KEY=//p' "$BATS_FILE_TMPDIR/env")" "$@"
}

@test "a sandbox is made, known, timed, found in lists and killed" {
	sdk <<-'END'
		assert s.is_running()
		i = s.get_info()
		assert i.template_id == "base" and i.metadata == {"of": "bats"}
		assert str(i.state.value) == "running" and i.cpu_count == 2
		s.set_timeout(600)
		assert (s.get_info().end_at - i.end_at).total_seconds() > 300
		o = Sandbox.create(metadata={"of": "bats", "k": "a b/%&="})
		one = Sandbox.list(query=SandboxQuery(metadata={"k": "a b/%&="}))
		assert [x.sandbox_id for x in one.next_items()] == [o.sandbox_id]
		pages, seen = Sandbox.list(
		    query=SandboxQuery(metadata={"of": "bats"}), limit=1), []
		while pages.has_next:
		    seen += [x.sandbox_id for x in pages.next_items()]
		assert seen == [o.sandbox_id, s.sandbox_id], seen
		assert o.kill() and not o.is_running() and not o.kill()
		raises(SandboxNotFoundException, o.get_info)
		assert s.get_metrics()[0].mem_total == 4 << 30
	END
}

@test "a command's output, environment, directory and end are its own" {
	sdk <<-'END'
		r = s.commands.run("echo out; echo err >&2; pwd; echo $A",
		                   envs={"A": "1 2"})
		assert r.stdout == "out\n/home/node\n1 2\n" and r.stderr == "err\n"
		e = raises(CommandExitException,
		           lambda: s.commands.run("echo x; exit 3"))
		assert e.exit_code == 3 and e.stdout == "x\n"
		got = []
		s.commands.run("for i in 1 2 3; do echo $i; sleep 0.1; done",
		               on_stdout=got.append)
		assert got == ["1\n", "2\n", "3\n"], got
		raises(TimeoutException,
		       lambda: s.commands.run("sleep 60", timeout=1))
		raises(SandboxException,
		       lambda: s.commands.run("pwd", cwd="/none"), "cannot be ent")
		raises(SandboxException,
		       lambda: s.commands.run("id", user="root"), "one user")
		n = "head -c 6000000 /dev/zero | base64 -w0"
		assert len(s.commands.run(n).stdout) == 8000000
		def ended():
		    return not s.commands.list()
		while not ended():
		    time.sleep(0.2)
	END
}

@test "a command in the background is listed, fed, left, followed and killed" {
	sdk <<-'END'
		h = s.commands.run("cat; echo end", background=True, stdin=True)
		p = s.commands.list()
		assert [x.pid for x in p] == [h.pid] and p[0].args[2] == "cat; echo end"
		s.commands.send_stdin(h.pid, "a\n")
		s.commands.stream_input(h.pid, ["b\n", "c\n"])
		s.commands.close_stdin(h.pid)
		assert h.wait().stdout == "a\nb\nc\nend\n"
		h = s.commands.run("while sleep 0.1; do echo tick; done",
		                   background=True)
		h.disconnect()
		again = s.commands.connect(h.pid)
		assert next(iter(again))[0] == "tick\n"
		assert s.commands.kill(h.pid)
		e = raises(CommandExitException, again.wait)
		assert e.exit_code == -1
		while s.commands.list():
		    time.sleep(0.1)
		assert not s.commands.kill(h.pid)
		raises(NotFoundException, lambda: s.commands.connect(h.pid))
	END
}

@test "a terminal has a size, and takes input" {
	sdk <<-'END'
		got = []
		p = s.pty.create(PtySize(rows=30, cols=100))
		s.pty.resize(p.pid, PtySize(rows=41, cols=121))
		s.pty.send_stdin(p.pid, b"stty size; exit\n")
		p.wait(on_pty=got.append)
		assert b"41 121" in b"".join(got), got
	END
}

@test "files are written, read, listed, moved and removed" {
	sdk <<-'END'
		w = s.files.write("d/a.txt", "w\u00f6rld")
		assert w.path == "/home/node/d/a.txt"
		assert s.files.read("~/d/a.txt") == "w\u00f6rld"
		big = bytes(range(256)) * 20000 + b"\r\n--"
		s.files.write("/workspace/big", big)
		assert bytes(s.files.read("/workspace/big", format="bytes")) == big
		s.files.write("/workspace/io", io.BytesIO(big))
		assert b"".join(s.files.read("/workspace/io",
		                             format="stream")) == big
		s.files.write_files([{"path": 'm/1 "q".txt', "data": "1"},
		                     {"path": "m/2", "data": b""}])
		assert [e.name for e in s.files.list("m")] == ['1 "q".txt', "2"]
		assert s.files.read("m/2") == ""
		assert {e.path for e in s.files.list(".", depth=2)} >= {
		    "/home/node/d", "/home/node/d/a.txt", "/home/node/m/2"}
		assert s.files.make_dir("n/o") and not s.files.make_dir("n/o")
		assert s.files.rename("d/a.txt", "p/q/b").path == "/home/node/p/q/b"
		assert s.files.exists("p/q/b") and not s.files.exists("d/a.txt")
		i = s.files.get_info("p/q/b")
		assert i.size == 6 and i.permissions == "-rw-r--r--"
		s.files.remove("p")
		s.files.remove("p")
		assert not s.files.exists("p")
		raises(FileNotFoundException, lambda: s.files.read("none"))
		raises(FileNotFoundException, lambda: s.files.list("none"))
		raises(InvalidArgumentException, lambda: s.files.read("m"))
		raises(SandboxException, lambda: s.files.write("/etc/x", ""), "403")
	END
}

@test "a sandbox is paused with its processes, and connecting resumes it" {
	sdk <<-'END'
		h = s.commands.run("sleep 1000", background=True)
		h.disconnect()
		s.pause()
		assert not s.is_running()
		assert str(s.get_info().state.value) == "paused"
		raises(SandboxNotRunningException, lambda: s.commands.run("true"))
		t = Sandbox.connect(s.sandbox_id, timeout=240)
		assert [x.pid for x in t.commands.list()] == [h.pid]
		assert t.commands.run("echo back").stdout == "back\n"
	END
}

@test "a fork and a snapshot have what was written, and are their own" {
	sdk <<-'END'
		s.files.write("f", "then")
		h = s.commands.run("sleep 1000", background=True)
		raises(SandboxException, s.fork, "501")
		raises(SandboxException, s.create_snapshot, "501")
		h.kill()
		raises(CommandExitException, h.wait)
		t = s.create_snapshot()
		s.files.write("f", "now")
		a, b = s.fork(count=2, timeout=240)
		for o in a, b:
		    assert o.files.read("f") == "now"
		    assert o.commands.run("echo run").stdout == "run\n"
		a.files.write("f", "mine")
		assert b.files.read("f") == "now" and s.files.read("f") == "now"
		assert a.kill() and b.kill()
		o = Sandbox.create(t.snapshot_id, timeout=240)
		assert o.files.read("f") == "then" and o.kill()
		ids = [x.snapshot_id for x in s.list_snapshots().next_items()]
		assert ids == [t.snapshot_id], ids
		assert s.kill() and not s.is_running()
		o = Sandbox.create(t.snapshot_id, timeout=240)
		assert o.files.read("f") == "then" and o.kill()
		assert Sandbox.delete_snapshot(t.snapshot_id)
		assert not Sandbox.delete_snapshot(t.snapshot_id)
		raises(SandboxException, lambda: Sandbox.create(t.snapshot_id))
	END
	gone_all() { ! "$AC" list --json | jq -e '.instances[] |
		select(.name | startswith("e2b-"))' >/dev/null; }
	eventually gone_all
}

@test "at its timeout a sandbox is killed, or paused if that was said" {
	sdk <<-'END'
		a = Sandbox.create(timeout=1)
		b = Sandbox.create(timeout=1, lifecycle={"on_timeout": "pause"})
		while a.is_running() or b.is_running():
		    time.sleep(0.2)
		raises(SandboxNotFoundException, a.get_info)
		assert str(b.get_info().state.value) == "paused"
		assert b.kill()
	END
	run -0 "$AC" list
	lacks e2b-
}

@test "without the internet a sandbox reaches nothing" {
	sdk <<-'END'
		o = Sandbox.create(allow_internet_access=False)
		r = o.commands.run("curl -sm 20 https://deb.debian.org || echo no")
		o.kill()
		assert r.stdout.endswith("no\n"), r
	END
}

@test "what is not here says so, and nothing is made" {
	sdk <<-'END'
		for fn in (lambda: Sandbox.create(mcp={"x": {}}),
		           lambda: Sandbox.create(network={"deny_out": ["1.1.1.1"]}),
		           lambda: s.update_network({"deny_out": ["1.1.1.1"]}),
		           lambda: s.pause(keep_memory=False),
		           lambda: s.files.write("z", "x", gzip=True)):
		    raises(SandboxException, fn, "501")
		raises(SandboxException, lambda: Sandbox.create("no-such"), "404")
		raises(TemplateException,
		       lambda: s.files.write("z", "x", metadata={"a": "b"}))
		assert len(Sandbox.list().next_items()) == 1
	END
	[ "$(key http://127.0.0.1:$PORT/templates)" = 501 ]
	[ "$(key -X POST http://127.0.0.1:$PORT/v3/templates)" = 501 ]
	[ "$(key http://127.0.0.1:$PORT/volumes)" = 501 ]
}

@test "a key opens no sandbox, and a sandbox's token no other one" {
	sdk <<-'END'
		import httpx, os
		u = os.environ["E2B_SANDBOX_URL"]
		o = Sandbox.create()
		def status(id, token, path="/health"):
		    h = {"E2b-Sandbox-Id": id, "X-Access-Token": token,
		         "X-API-KEY": os.environ["E2B_API_KEY"]}
		    return httpx.get(u + path, headers=h).status_code
		mine = s._envd_access_token if hasattr(s, "_envd_access_token") \
		    else s.connection_config.sandbox_headers["X-Access-Token"]
		assert status(s.sandbox_id, mine) == 204
		assert status(o.sandbox_id, mine) == 401
		assert status(s.sandbox_id, "0" * 64) == 401
		assert status(s.sandbox_id, os.environ["E2B_API_KEY"]) == 401
		assert status(o.sandbox_id, mine, "/files?path=/etc/passwd") == 401
		o.kill()
		raises(AuthenticationException,
		       lambda: Sandbox.create(api_key="ac_wrong"))
	END
}

@test "a restart ends sandboxes and says so, and loses no file of a paused one" {
	sdk <<-'END'
		import json, os, subprocess
		def ac(*words):
		    return subprocess.run([os.environ["AC"], *words], check=True,
		                          capture_output=True, text=True).stdout
		s.files.write("f", "kept")
		s.pause()
		ac("restart")
		def served():
		    try:
		        return Sandbox.list().next_items() is not None
		    except Exception:
		        return False
		while not served():
		    time.sleep(0.5)
		assert not s.is_running()
		raises(SandboxNotFoundException, s.get_info)
		name = "e2b-" + s.sandbox_id
		assert json.loads(ac("inspect", name))["state"] == "stopped"
		with Sandbox.create() as n:
		    assert n.commands.run("echo new").stdout == "new\n"
		ac("run", "base", name, "-d", "--", "sleep", "infinity")
		assert ac("exec", name, "--", "cat", "/home/node/f") == "kept"
		ac("destroy", name, "--force", "--yes")
	END
}
