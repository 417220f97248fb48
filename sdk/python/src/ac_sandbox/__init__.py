# SPDX-License-Identifier: Apache-2.0
"""Client of ac: sandboxes for coding agents on your own machine.

with Sandbox("base", workspace=".") as sandbox:
    print(sandbox.run("make test").stdout)
"""

from . import api_types, errors
from ._async.client import AsyncClient
from ._async.command import AsyncCommand, AsyncEvents
from ._async.files import AsyncFiles
from ._async.policy import AsyncPolicy
from ._async.sandbox import AsyncSandbox
from ._sync.client import Client
from ._sync.command import Command, Events
from ._sync.files import Files
from ._sync.policy import Policy
from ._sync.sandbox import Sandbox
from .changes import Change
from .errors import ApiError, CommandFailed, Error
from .values import Ended, Event, FileInfo, Lost, Output, Result, Started

__all__ = [
    "ApiError",
    "AsyncClient",
    "AsyncCommand",
    "AsyncEvents",
    "AsyncFiles",
    "AsyncPolicy",
    "AsyncSandbox",
    "Change",
    "Client",
    "Command",
    "CommandFailed",
    "Ended",
    "Error",
    "Event",
    "Events",
    "FileInfo",
    "Files",
    "Lost",
    "Output",
    "Policy",
    "Result",
    "Sandbox",
    "Started",
    "api_types",
    "errors",
]
