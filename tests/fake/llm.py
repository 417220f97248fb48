#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""llm.py - a model of one's own: plain HTTP at an address and a port

usage: llm.py FOLDER ADDRESS PORT

It speaks the APIs of model.py, all of them at one place, as LiteLLM and its like
do, and says back at /echo what it was sent. If FOLDER has a file `token`, it
answers 401 to whoever has not that. Each request is a JSON line in
FOLDER/PORT.jsonl before it is answered: method, path, headers as they came, and
the peer. Of another socket of the same address nothing is known here: two ports
are two of these.
"""
import http.server
import json
import os
import socket
import socketserver
import sys
import threading

import forge
import model

lock = threading.Lock()


class Llm(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder, address, port):
        if ":" in address:
            self.address_family = socket.AF_INET6
        self.folder = folder
        self.state = {}
        super().__init__((address, port), Handler)
        self.seen = open("%s/%d.jsonl" % (folder, port), "a", buffering=1)

    def note(self, **what):
        with lock:
            self.seen.write(json.dumps(what) + "\n")

    def handle_error(self, request, client_address):
        self.note(error=repr(sys.exc_info()[1]))


class Handler(forge.Handler):
    def setup(self):
        http.server.BaseHTTPRequestHandler.setup(self)

    def has(self, _):
        try:
            with open(os.path.join(self.server.folder, "token")) as f:
                return self.credentials() == [f.read().strip()]
        except FileNotFoundError:
            return True

    def one(self):
        self.sni = "llm"
        self.route, _, self.query = self.path.partition("?")
        self.body = self.take()
        self.server.note(method=self.command, path=self.path,
                         headers=self.headers.items(), length=len(self.body),
                         peer=self.client_address[0])
        if self.route == "/echo":
            return self.say(200, {"headers": self.headers.items()})
        if self.route.startswith("/v1beta"):
            return model.gemini(self)
        if self.route.startswith(("/v1/messages", "/api/")):
            return model.anthropic(self)
        return model.openai(self)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = one


if __name__ == "__main__":
    Llm(sys.argv[1], sys.argv[2], int(sys.argv[3])).serve_forever()
