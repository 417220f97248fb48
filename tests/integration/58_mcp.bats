#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 58_mcp.bats - `ac mcp`, for a client that says what it likes (mcp_raw.py) and for
# the official ones

load common

py() { PYTHONPATH=$AC_SRC/tests/integration python3 -; }
own() { "$AC" ls --json | jq -r '.[].name' | grep -c '^tool-'; }
none_is_left() { [ "$(own)" -eq 0 ]; }

teardown_file() { gone named; }

# sdk_fetch - the official SDK for Python, kept from one suite to the next
sdk_fetch() {
	[ -x "$AC_TEST_DIR/mcp/bin/python" ] ||
		python3 -m venv "$AC_TEST_DIR/mcp" || return
	"$AC_TEST_DIR/mcp/bin/python" -c 'import mcp.client.client' 2>/dev/null ||
		"$AC_TEST_DIR/mcp/bin/pip" install -q 'mcp>=2' >/dev/null 2>&1
}

# node_fetch - the same for node, and its inspector
node_fetch() {
	[ -d "$AC_TEST_DIR/mcp-node/node_modules/@modelcontextprotocol/inspector" ] ||
		npm install --silent --no-audit --no-fund --ignore-scripts \
			--prefix "$AC_TEST_DIR/mcp-node" \
			@modelcontextprotocol/sdk @modelcontextprotocol/inspector \
			>/dev/null 2>&1
}

@test "the official client in Python runs commands, however it begins" {
	need python3
	sdk_fetch || skip "pip of this machine does not bring the SDK"
	local mode version
	while read -r mode version; do
		run -0 --separate-stderr "$AC_TEST_DIR/mcp/bin/python" \
			"$AC_SRC/tests/integration/mcp_sdk.py" "$mode"
		is "$version
sandbox_exec
False 3 'said\n' 'oops\n'
True give either "
	done <<-'END'
		legacy 2025-11-25
		auto 2026-07-28
	END
	eventually none_is_left
}

@test "the official client in TypeScript and its inspector run commands" {
	need npm
	node_fetch || skip "npm of this machine does not bring the SDK"
	cd "$AC_TEST_DIR/mcp-node"
	cat >client.mjs <<-'END'
	import { Client } from "@modelcontextprotocol/sdk/client/index.js";
	import { StdioClientTransport } from
		"@modelcontextprotocol/sdk/client/stdio.js";
	const client = new Client({ name: "test", version: "1" });
	await client.connect(new StdioClientTransport({
		command: process.env.AC, args: ["mcp", "-q"], env: process.env }));
	const said = await client.callTool({ name: "sandbox_exec",
		arguments: { command: "echo $((40 + 2))" } });
	console.log(said.structuredContent.stdout.trim());
	await client.close();
	END
	run -0 --separate-stderr node client.mjs
	is 42
	run -0 --separate-stderr node_modules/.bin/mcp-inspector --cli \
		-e AC_HOME="$AC_HOME" -e AC_HOST="$AC_HOST" "$AC" mcp -q \
		--method tools/call --tool-name sandbox_exec \
		--tool-arg 'command=id -un'
	[ "$(jq -r .structuredContent.stdout <<<"$output")" = node ]
	eventually none_is_left
}

@test "nothing is started until a command comes, and the end removes it" {
	py <<-'END'
	from mcp_raw import *
	for how in None, TERM, KILL:
	    s = Server()
	    assert [t["name"] for t in s.call("tools/list")["tools"]] == [
	        "sandbox_exec"]
	    assert own() == []
	    said = s.exec("echo one > /workspace/kept; pwd; id -un")
	    assert said["stdout"] == "/workspace\nnode\n", said
	    assert len(own()) == 1
	    # Files stay, what the shell knows does not.
	    assert s.exec("x=1; cd /tmp; cat /workspace/kept")["stdout"] == "one\n"
	    assert s.exec("echo $x; pwd")["stdout"] == "\n/workspace\n"
	    assert s.end(how) == (-9 if how == KILL else 0)
	    assert how == KILL or own() == []
	END
	eventually none_is_left
}

@test "a command has its stdin, its directory and its exit code" {
	py <<-'END'
	from mcp_raw import *
	s = Server()
	big = "0123456789abcdef" * (2 * 1024 * 1024 // 16)
	said = s.exec("sha256sum; echo err >&2; exit 7", stdin=big)
	import hashlib
	assert said["stdout"].split()[0] == hashlib.sha256(
	    big.encode()).hexdigest(), said
	assert said["stderr"] == "err\n" and said["exit_code"] == 7
	assert said["exec_duration_ms"] >= 0
	assert "at most" in s.exec("cat", stdin=big + "1")
	# Without one it is at its end; one that reads nothing is no harm.
	assert s.exec("cat; echo end")["stdout"] == "end\n"
	assert s.exec("true", stdin=big)["exit_code"] == 0
	assert s.exec("pwd", working_directory="/tmp")["stdout"] == "/tmp\n"
	missing = s.exec("pwd", working_directory="/none")
	assert missing["exit_code"] == 126 and "No such" in missing["stderr"]
	words = s.tool("sandbox_exec", args=["printf", "%s.", "a b", "", "$HOME"])
	assert words["structuredContent"]["stdout"] == "a b..$HOME."
	none = s.tool("sandbox_exec", args=["no-such-program"])
	assert none["structuredContent"]["exit_code"] == 127, none
	assert s.exec("kill -KILL $$")["exit_code"] == 137
	assert s.exec(r"printf 'a\377\0b'")["stdout"] == "a\ufffd\0b"
	assert s.end() == 0
	END
}

@test "a command that is stopped at a limit has no output, but a reason" {
	py <<-'END'
	from mcp_raw import *
	s = Server("--timeout", "2s", "--output-limit", "100k")
	late = s.exec("echo begun; sleep 60", timeout=1)
	assert late["exit_code"] == 124 and late["stdout"] == "", late
	assert "after 1 s" in late["stderr"], late
	late = s.exec("sleep 60")
	assert late["exit_code"] == 124 and "after 2 s" in late["stderr"], late
	much = s.exec("head -c 102401 /dev/zero")
	assert much["exit_code"] == 1 and much["stdout"] == "", much
	assert "100.0 KiB" in much["stderr"], much
	# Both streams count, and what just fits is whole.
	much = s.exec("head -c 60000 /dev/zero; head -c 60000 /dev/zero >&2")
	assert much["exit_code"] == 1, much
	assert len(s.exec("head -c 102400 /dev/zero")["stdout"]) == 102400
	# What was killed is gone.
	assert s.exec("pgrep -x head; pgrep -fx 'sleep 60'")["exit_code"] == 1
	assert s.end() == 0
	END
}

@test "while a command runs a ping is answered, and it can be cancelled" {
	py <<-'END'
	from mcp_raw import *
	s = Server()
	s.exec("true")
	runs = s.send("tools/call", {
	    "name": "sandbox_exec", "_meta": {"progressToken": "p"},
	    "arguments": {"command": "echo > /tmp/begun; sleep 61"}})
	after = s.send("tools/call", {
	    "name": "sandbox_exec", "arguments": {"command": "pgrep -fx 'sleep 61'"}})
	assert s.call("ping") == {}
	while not s.told:
	    s.told.append(s.read())
	assert s.told[0]["params"]["progressToken"] == "p", s.told
	s.cancel(runs)
	# There is no answer to it, and the next one has its turn.
	said = s.answer(after)["result"]["structuredContent"]
	for _ in range(100):
	    if said["exit_code"] == 1:
	        break
	    said = s.exec("sleep 0.1; pgrep -fx 'sleep 61'")
	assert said["exit_code"] == 1, said
	assert s.end() == 0
	END
}

@test "what is wrong is refused by its code, and the server goes on" {
	py <<-'END'
	from mcp_raw import *
	s = Server(version=None)
	def refused(message, code):
	    s.write(message)
	    got = s.read()
	    assert got["error"]["code"] == code, got
	refused({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, -32600)
	refused("{", -32700)
	refused("[]", -32600)
	refused({"jsonrpc": "2.0", "id": 1, "method": "initialize"}, -32602)
	assert s.call("initialize", {"protocolVersion": "2025-06-18"})[
	    "protocolVersion"] == "2025-06-18"
	refused({"jsonrpc": "2.0", "id": 1, "method": "none"}, -32601)
	refused({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
	         "params": {"name": "none"}}, -32602)
	refused(" " * (16 * 1024 * 1024 + 1), -32600)
	later = {"io.modelcontextprotocol/protocolVersion": "2031-01-01",
	         "io.modelcontextprotocol/clientCapabilities": {}}
	refused({"jsonrpc": "2.0", "id": 1, "method": "tools/list",
	         "params": {"_meta": later}}, -32022)
	assert s.call("ping") == {}
	assert s.end() == 0
	END
}

@test "a sandbox that ended is told of once, and the next call has a new one" {
	py <<-'END'
	from mcp_raw import *
	s = Server()
	s.exec("touch /workspace/file")
	first, = own()
	runs = s.send("tools/call", {"name": "sandbox_exec",
	                             "arguments": {"command": "sleep 62"}})
	subprocess.run([os.environ["AC"], "destroy", first, "--force", "--yes"],
	               check=True, capture_output=True)
	# Its own command was killed, or was lost; that, or the next call, says it.
	told = s.answer(runs)["result"]
	if not told["isError"]:
	    assert told["structuredContent"]["exit_code"] == 137, told
	    told = s.tool("sandbox_exec", command="true")
	assert told["isError"] and "a new one" in told["content"][0]["text"], told
	assert s.exec("ls /workspace")["stdout"] == ""
	assert own() != [first] and len(own()) == 1
	# So it is when it had nothing to do for too long.
	assert s.end() == 0
	s = Server("--idle", "1s")
	s.exec("true")
	for _ in range(600):
	    if not own():
	        break
	    import time
	    time.sleep(0.1)
	assert "has ended" in s.exec("true")
	assert s.exec("true")["exit_code"] == 0
	assert s.end() == 0
	END
}

@test "what it is started with holds for the sandbox" {
	local dir=$BATS_TEST_TMPDIR/project
	mkdir "$dir"
	echo mine >"$dir/file"
	cd "$dir"
	py <<-'END'
	from mcp_raw import *
	s = Server("base", ".", "--env", "GIVEN=yes", "--pids", "77",
	           "--egress", "locked", "--workdir", "/tmp", "--shell", "/bin/sh",
	           "--extended-tool-instruction", "It has a file.")
	about = s.call("tools/list")["tools"][0]["description"]
	assert about.endswith("It has a file."), about
	said = s.exec("cat /workspace/file; echo $GIVEN; pwd; ps -o comm= $$; "
	              "echo its > /workspace/file")
	assert said["stdout"] == "mine\nyes\n/tmp\nsh\n", said
	out = subprocess.run([os.environ["AC"], "inspect", own()[0]],
	                     capture_output=True, text=True).stdout
	record = json.loads(out)
	assert record["pids"] == 77 and record["egress"]["mode"] == "locked", out
	assert s.end() == 0
	END
	[ "$(cat file)" = mine ]
}

@test "an instance that is named is used, started if need be, and left" {
	py <<-'END'
	from mcp_raw import *
	s = Server("--name", "named")
	s.exec("touch /workspace/file")
	assert s.end() == 0
	assert instances()["named"] == "running"
	s = Server("--name", "named")
	assert s.exec("ls /workspace")["stdout"] == "file\n"
	subprocess.run([os.environ["AC"], "stop-instance", "named"], check=True,
	               capture_output=True)
	assert "starts it again" in s.exec("true")
	assert s.exec("ls /workspace")["stdout"] == "file\n"
	assert s.end(TERM) == 0
	assert instances()["named"] == "running"
	END
}

@test "a sandbox that cannot be started is the answer, and is tried again" {
	py <<-'END'
	from mcp_raw import *
	s = Server("no-such-blueprint")
	for _ in range(2):
	    assert "no sandbox: " in s.exec("true")
	assert s.end() == 0
	END
	run -2 "$AC" mcp --tool-instruction-override a \
		--extended-tool-instruction b
	says 'one of them'
	run -2 "$AC" mcp --output-limit 1g
	says 'at most 8m'
}
