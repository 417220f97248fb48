#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 59_mcp_full.bats - `ac mcp --tools full`, for a client that says what it likes

load common

py() { PYTHONPATH=$AC_SRC/tests/integration:$AC_TEST_TMP python3 -; }

# full.py: a session, and tools that must or must not do it
setup_file() {
	cat >"$AC_TEST_TMP/full.py" <<-'END'
	from mcp_raw import *

	class Full(Server):
	    def __init__(self, *args):
	        super().__init__("--tools", "full", *args)

	    def does(self, tool, /, **arguments):
	        result = self.tool(tool, **arguments)
	        assert result.get("isError") is False, result
	        assert json.loads(result["content"][0]["text"]) == result[
	            "structuredContent"]
	        return result["structuredContent"]

	    def fails(self, tool, /, **arguments):
	        result = self.tool(tool, **arguments)
	        assert result.get("isError") is True, result
	        return result["content"][0]["text"]

	    def sh(self, id, line, **more):
	        return self.does("sandbox_exec", id=id, cmd=["sh", "-c", line],
	                         **more)
	END
	"$AC" run base other -d -- sleep infinity
}

teardown_file() {
	gone other mcp-one mcp-two mcp-three mcp-job
	rm -f "$AC_TEST_TMP/full.py"
}

@test "a sandbox is made, found, used, stopped, started and deleted" {
	py <<-'END'
	from full import *
	s = Full()
	assert "base" in [b["name"] for b in s.does("blueprint_list")["blueprints"]]
	made = s.does("sandbox_create", image="base", name="one", cpus=1.5,
	              memory_mb=512, ttl_seconds=3600, env={"A": "b c"})
	assert made["id"] == "mcp-one" and made["state"] == "running", made
	assert made["cpus"] == 1.5 and made["memory_mb"] == 512, made
	assert [b["id"] for b in s.does("sandbox_list")["sandboxes"]] == ["mcp-one"]
	said = s.sh("mcp-one", "echo $A $D; pwd; cat", env={"D": "e"}, stdin="in",
	            workdir="/tmp")
	assert said["stdout"] == "b c e\n/tmp\nin", said
	assert said["exit_code"] == 0 and not said["timed_out"], said
	none = s.does("sandbox_exec", id="mcp-one", cmd=["no-such-program"])
	assert none["exit_code"] == 127 and "No such" in none["stderr"], none
	s.sh("mcp-one", "echo kept > /workspace/file")
	assert s.does("sandbox_stop", id="mcp-one")["state"] == "stopped"
	assert "not" in s.fails("sandbox_exec", id="mcp-one", cmd=["true"])
	# It stays when the client leaves, and a later one finds it.
	assert s.end() == 0
	s = Full()
	assert s.does("sandbox_get", id="mcp-one")["state"] == "stopped"
	assert s.does("sandbox_start", id="mcp-one")["state"] == "running"
	assert s.sh("mcp-one", "cat /workspace/file")["stdout"] == "kept\n"
	assert "already" in s.fails("sandbox_create", image="base", name="one")
	assert s.does("sandbox_delete", id="mcp-one")["deleted"] is True
	assert s.does("sandbox_list")["sandboxes"] == []
	assert "mcp-one" not in instances()
	assert "no blueprint" in s.fails("sandbox_create", image="none")
	assert s.end() == 0
	END
}

@test "a client sees nothing of its user's other instances, and widens nothing" {
	py <<-'END'
	from full import *
	s = Full()
	for tool, more in (("sandbox_get", {}), ("sandbox_stop", {}),
	                   ("sandbox_delete", {}), ("sandbox_start", {}),
	                   ("sandbox_exec", {"cmd": ["true"]}),
	                   ("file_read", {"path": "/etc/passwd"}),
	                   ("file_write", {"path": "x", "content": ""}),
	                   ("file_list", {}), ("file_delete", {"path": "x"}),
	                   ("snapshot_create", {}), ("snapshot_list", {}),
	                   ("snapshot_restore", {}),
	                   ("snapshot_delete", {"tag": "x"}),
	                   ("sandbox_fork", {"name": "three"}),
	                   ("policy_explain", {"url": "example.com"})):
	    assert "no such sandbox" in s.fails(tool, id="other", **more), tool
	assert s.call("resources/read", {"uri": "ac://sandbox/other/log"})[
	    "code"] == -32002
	assert s.call("resources/list")["resources"] == []
	assert s.does("sandbox_list")["sandboxes"] == []
	for key, value in (("egress", "open"), ("workspace", "/"),
	                   ("credentials", ["x"]), ("volumes", [])):
	    assert "unknown key" in s.fails("sandbox_create", **{key: value})
	assert s.end() == 0
	assert instances()["other"] == "running"
	# But for the one that is named.
	s = Full("--name", "other")
	assert s.sh("other", "id -un")["stdout"] == "node\n"
	assert s.end() == 0
	END
}

@test "files are written, read, listed and deleted, whatever is in them" {
	py <<-'END'
	from full import *
	import base64
	s = Full()
	s.does("sandbox_create", name="one")
	s.does("file_write", id="mcp-one", path="a/ü b.txt", content="x\0y\n")
	got = s.does("file_read", id="mcp-one", path="a/ü b.txt")
	assert base64.b64decode(got["content"]) == b"x\0y\n", got
	for size in range(5):
	    data = bytes(range(255, 255 - size, -1))
	    code = base64.b64encode(data).decode()
	    assert s.does("file_write", id="mcp-one", path="bin", content=code,
	                  encoding="base64") == {"bytes": size}
	    got = s.does("file_read", id="mcp-one", path="bin")
	    assert got["bytes"] == size and (
	        size == 0 or got["content"] == code), got
	assert "Base64" in s.fails("file_write", id="mcp-one", path="bin",
	                           content="a", encoding="base64")
	names = [e["name"] for e in s.does("file_list", id="mcp-one")["entries"]]
	assert names == ["a", "bin"], names
	rest = s.does("file_list", id="mcp-one", after="a")["entries"]
	assert [e["name"] for e in rest] == ["bin"], rest
	assert "not empty" in s.fails("file_delete", id="mcp-one", path="a")
	s.does("file_delete", id="mcp-one", path="a", recursive=True)
	assert "No such" in s.fails("file_read", id="mcp-one", path="a")
	# The agent's own rights, no more.
	assert "denied" in s.fails("file_write", id="mcp-one", path="/etc/x",
	                           content="")
	read = s.call("resources/read",
	              {"uri": "ac://sandbox/mcp-one/file/etc/hostname"})
	assert read["contents"][0]["text"].startswith("mcp-one"), read
	assert s.call("resources/read",
	              {"uri": "ac://sandbox/mcp-one/file/none"})["code"] == -32002
	s.does("sandbox_delete", id="mcp-one")
	# What its main process wrote is a resource.
	s.does("sandbox_create", name="job", cmd=["sh", "-c", "echo said; sleep 99"])
	uri = "ac://sandbox/mcp-job/log"
	assert uri in [r["uri"] for r in s.call("resources/list")["resources"]]
	for _ in range(600):
	    log = s.call("resources/read", {"uri": uri})["contents"][0]["text"]
	    if log:
	        break
	assert log == "said\n", log
	s.does("sandbox_delete", id="mcp-job")
	assert s.end() == 0
	END
}

@test "snapshots are kept, restored, forked and deleted" {
	py <<-'END'
	from full import *
	s = Full()
	s.does("sandbox_create", name="one")
	s.sh("mcp-one", "echo first > file")
	assert s.does("snapshot_create", id="mcp-one", tag="t")["tag"] == "t"
	s.sh("mcp-one", "echo second > file")
	assert s.does("sandbox_fork", id="mcp-one", tag="t", name="two")[
	    "id"] == "mcp-two"
	s.does("sandbox_start", id="mcp-two")
	assert s.sh("mcp-two", "cat file")["stdout"] == "first\n"
	s.does("sandbox_stop", id="mcp-one")
	s.does("snapshot_restore", id="mcp-one", tag="t")
	s.does("sandbox_start", id="mcp-one")
	assert s.sh("mcp-one", "cat file")["stdout"] == "first\n"
	tags = [t["tag"] for t in s.does("snapshot_list", id="mcp-one")["snapshots"]]
	assert "t" in tags, tags
	assert all(t["id"].startswith("mcp-")
	           for t in s.does("snapshot_list")["snapshots"])
	s.does("snapshot_delete", id="mcp-one", tag="t")
	for id in "mcp-one", "mcp-two":
	    s.does("sandbox_delete", id=id)
	assert s.end() == 0
	END
}

@test "commands run beside each other, and keep what they wrote until a limit" {
	py <<-'END'
	from full import *
	s = Full("--output-limit", "10k")
	s.does("sandbox_create", name="one")
	waits = s.send("tools/call", {"name": "sandbox_exec", "arguments": {
	    "id": "mcp-one", "cmd": ["sh", "-c", "cat fifo; echo end"]}})
	s.cancel(waits)
	s.sh("mcp-one", "mkfifo fifo")
	waits = s.send("tools/call", {"name": "sandbox_exec", "arguments": {
	    "id": "mcp-one", "cmd": ["cat", "fifo"]}})
	# Each waits for the other.
	tells = s.send("tools/call", {"name": "sandbox_exec", "arguments": {
	    "id": "mcp-one", "cmd": ["sh", "-c", "echo told > fifo"]}})
	got = {}
	while len(got) < 2:
	    message = s.read()
	    got[message["id"]] = message["result"]["structuredContent"]
	assert got[waits]["stdout"] == "told\n" and got[tells]["exit_code"] == 0
	late = s.sh("mcp-one", "echo part; sleep 60", timeout_seconds=1)
	assert late["timed_out"] and late["stdout"] == "part\n", late
	assert late["exit_code"] == 124, late
	much = s.sh("mcp-one", "echo part; head -c 20000 /dev/zero")
	assert much["truncated"] and much["stdout"].startswith("part\n\0")
	assert len(much["stdout"]) == 10240, len(much["stdout"])
	s.does("sandbox_delete", id="mcp-one")
	assert s.end() == 0
	END
}

@test "what a sandbox may reach is explained, and is what the server was told" {
	py <<-'END'
	from full import *
	s = Full("--egress", "locked", "--allow", "allowed.example")
	s.does("sandbox_create", name="one")
	yes = s.does("policy_explain", id="mcp-one",
	             url="https://allowed.example/")
	no = s.does("policy_explain", id="mcp-one", url="https://example.com/")
	# A name that does not resolve is allowed by its rule all the same.
	assert yes["reason"] != no["reason"], (yes, no)
	assert not no["allow"] and "ac policy allow mcp-one" in no["hint"], no
	record = s.does("sandbox_get", id="mcp-one")
	assert record["egress"] == "locked", record
	s.does("sandbox_delete", id="mcp-one")
	assert s.end() == 0
	END
	run -2 "$AC" mcp --tools some
	says 'one or full'
}
