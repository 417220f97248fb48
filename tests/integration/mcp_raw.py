# SPDX-License-Identifier: Apache-2.0
"""mcp_raw.py - an MCP client that says what it is told to, for 58_mcp.bats

It waits for what must come, for a minute at most, and never for a time.
"""

import json
import os
import queue
import signal
import subprocess
import threading

WAIT = 60


class Server:
    """`ac mcp` with these arguments; a session is begun, unless version is None."""

    def __init__(self, *args, version="2025-11-25"):
        self.process = subprocess.Popen(
            [os.environ["AC"], "mcp", "-q", *args],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            encoding="utf-8")
        self.lines = queue.Queue()
        self.number = 0
        self.told = []  # notifications
        threading.Thread(target=self._read, daemon=True).start()
        if version:
            self.hello = self.call("initialize", {
                "protocolVersion": version, "capabilities": {},
                "clientInfo": {"name": "raw", "version": "1"}})
            self.write({"jsonrpc": "2.0",
                        "method": "notifications/initialized"})

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def write(self, message):
        if not isinstance(message, str):
            message = json.dumps(message)
        self.process.stdin.write(message + "\n")
        self.process.stdin.flush()

    def read(self):
        line = self.lines.get(timeout=WAIT)
        return None if line is None else json.loads(line)

    def send(self, method, params=None):
        """Sends a request and returns its id."""
        self.number += 1
        self.write({"jsonrpc": "2.0", "id": self.number, "method": method,
                    "params": params or {}})
        return self.number

    def answer(self, number):
        """Returns the whole answer; notifications are kept in told."""
        while True:
            message = self.read()
            assert message is not None, "the server has ended"
            if "method" in message:
                self.told.append(message)
                continue
            assert message["id"] == number, message
            return message

    def call(self, method, params=None):
        """Returns the result, or the error."""
        message = self.answer(self.send(method, params))
        return message.get("result", message.get("error"))

    def tool(self, name, /, **arguments):
        return self.call("tools/call", {"name": name, "arguments": arguments})

    def exec(self, command, **more):
        """Returns the result of sandbox_exec, or the text of its failure."""
        result = self.tool("sandbox_exec", command=command, **more)
        if result.get("isError"):
            return result["content"][0]["text"]
        said = json.loads(result["content"][0]["text"])
        assert said == result["structuredContent"], result
        return said

    def cancel(self, number):
        self.write({"jsonrpc": "2.0", "method": "notifications/cancelled",
                    "params": {"requestId": number}})

    def end(self, how=None):
        """Ends it by a signal, or the end of its stdin; returns its code."""
        if how is None:
            self.process.stdin.close()
        else:
            self.process.send_signal(how)
        return self.process.wait(WAIT)


def instances():
    """The names of all instances, and their states."""
    out = subprocess.run([os.environ["AC"], "ls", "--json"], check=True,
                         capture_output=True, text=True).stdout
    return {i["name"]: i["state"] for i in json.loads(out)}


def own():
    return [name for name in instances() if name.startswith("tool-")]


TERM, KILL = signal.SIGTERM, signal.SIGKILL
