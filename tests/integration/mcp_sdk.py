# SPDX-License-Identifier: Apache-2.0
"""mcp_sdk.py - the official client of MCP in Python, for 58_mcp.bats

usage: mcp_sdk.py MODE - "legacy" begins with a handshake, "auto" asks first
"""

import asyncio
import os
import sys

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client


async def main(mode):
    keep = {k: v for k, v in os.environ.items() if k.startswith("AC_")}
    server = StdioServerParameters(command=os.environ["AC"],
                                   args=["mcp", "-q"], env=keep)
    async with Client(stdio_client(server), mode=mode) as client:
        print(client.protocol_version)
        tools = await client.list_tools()
        print(*[tool.name for tool in tools.tools])
        done = await client.call_tool("sandbox_exec", {
            "args": ["sh", "-c", "cat; echo oops >&2; exit 3"],
            "stdin": "said\n"})
        got = done.structured_content
        print(done.is_error, got["exit_code"], repr(got["stdout"]),
              repr(got["stderr"]))
        bad = await client.call_tool("sandbox_exec", {})
        print(bad.is_error, bad.content[0].text.split(":")[0][:12])


asyncio.run(main(sys.argv[1]))
