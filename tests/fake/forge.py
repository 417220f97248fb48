#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""forge.py - the services that an agent has credentials for, all in one

usage: forge.py FOLDER ADDRESS

A TLS server on port 443 of ADDRESS that is many hosts, by the name of the
hello: git and the API of GitHub and GitLab, an index of Python packages,
endpoints of models, and one that says back what it was sent. FOLDER has cert.pem and key.pem for all of them, NAME.cert.pem for
names with one of their own (expired, of another name, …), repos/ for git, and
tokens.json: {"github": TOKEN, …}. A service answers 401 to whoever has not the
real token. Each request is a JSON line in FOLDER/forge.jsonl before it is
answered: sni, method, path, headers as they came, the body's beginning, and the
numbers of its lines "brick N" (model.py), all of them.
"""
import base64
import gzip
import http.server
import json
import os
import re
import socketserver
import ssl
import subprocess
import sys
import threading
import urllib.parse

import forge_apis
import model
import oauth

BODY_SHOWN = 4096
lock = threading.Lock()


class Forge(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder, where):
        self.folder = folder
        self.state = {}  # packages, pull requests: what was made
        self.contexts = {}
        self.default = self.context("")
        super().__init__(where, Handler)
        self.seen = open(folder + "/forge.jsonl", "a", buffering=1)

    def context(self, name):
        prefix = self.folder + "/" + (name + "." if name else "")
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(prefix + "cert.pem", self.folder + "/key.pem")
        made.set_alpn_protocols(["http/1.1"])
        made.sni_callback = self.named
        return made

    def named(self, sock, name, _):
        sock.sni = name or ""
        own = os.path.join(self.folder, (name or "-") + ".cert.pem")
        if os.path.exists(own):
            with lock:
                if name not in self.contexts:
                    self.contexts[name] = self.context(name)
            sock.context = self.contexts[name]

    def tokens(self):
        with open(self.folder + "/tokens.json") as f:
            return json.load(f)

    def handle_error(self, request, client_address):
        self.note(error=repr(sys.exc_info()[1]))

    def note(self, **what):
        with lock:
            self.seen.write(json.dumps(what) + "\n")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "forge"
    timeout = 120

    def setup(self):
        self.request = self.server.default.wrap_socket(
            self.request, server_side=True, do_handshake_on_connect=False)
        self.request.sni = ""
        self.request.do_handshake()
        self.server.note(tls=self.request.version(), sni=self.request.sni)
        super().setup()

    def log_message(self, *_):
        pass

    # --- what came ---------------------------------------------------------

    def chunked(self):
        whole = b""
        while True:
            size = int(self.rfile.readline().split(b";")[0], 16)
            whole += self.rfile.read(size)
            if size:
                self.rfile.readline()
                continue
            while self.rfile.readline() not in (b"\r\n", b""):
                pass
            return whole

    def take(self):
        if "100-continue" in self.headers.get("expect", "").lower():
            self.send_response_only(100)
            self.end_headers()
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            return self.chunked()
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def credentials(self):
        """Every secret that the request presents, decoded."""
        found = []
        for value in self.headers.get_all("authorization", []):
            scheme, _, rest = value.partition(" ")
            if scheme.lower() == "basic":
                plain = base64.b64decode(rest).decode("latin-1")
                found.append(plain.partition(":")[2])
            else:
                found.append(rest)
        for name in ("private-token", "x-api-key", "x-goog-api-key",
                     "x-service-key"):
            found += self.headers.get_all(name, [])
        query = urllib.parse.parse_qs(self.query)
        for name in ("key", "access_token", "private_token"):
            found += query.get(name, [])
        return found

    def has(self, who):
        """Is the real token of this service there, and nothing else?"""
        return self.credentials() == [self.server.tokens()[who]]

    # --- answers -----------------------------------------------------------

    def say(self, status, body=b"", kind="application/json", **fields):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def begin_chunks(self, kind, **fields):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def chunk(self, data):
        if isinstance(data, str):
            data = data.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def end_chunks(self, *trailers):
        self.wfile.write(b"0\r\n" + b"".join(
            b"%s\r\n" % x.encode() for x in trailers) + b"\r\n")

    def refuse(self):
        self.say(401, {"message": "Bad credentials"},
                 WWW_Authenticate='Basic realm="forge"')

    # --- who answers -------------------------------------------------------

    def one(self):
        self.sni = self.request.sni
        self.route, _, self.query = self.path.partition("?")
        self.body = self.take()
        self.server.note(
            sni=self.sni, method=self.command, path=self.path,
            headers=self.headers.items(), length=len(self.body),
            body=self.body[:BODY_SHOWN].decode("latin-1"),
            bricks=[int(x) for x in re.findall(rb"brick (\d+)", self.body)])
        if ".git/" in self.route and self.sni in ("github.com", "gitlab.com"):
            return self.git("github" if self.sni == "github.com" else
                            "gitlab")
        what = HOSTS.get(self.sni) or (
            forge_apis.echo if self.sni.endswith(".cred.test") else None)
        if what is None:
            return self.say(404, {"message": "no such host"})
        return what(self)

    def git(self, who):
        if not self.has(who):
            return self.refuse()
        env = {
            "PATH": os.environ["PATH"], "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROJECT_ROOT": self.server.folder + "/repos",
            "GIT_CONFIG_NOSYSTEM": "1", "HOME": self.server.folder,
            "PATH_INFO": self.route, "QUERY_STRING": self.query,
            "REQUEST_METHOD": self.command, "REMOTE_USER": "otter",
            "REMOTE_ADDR": self.client_address[0],
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(self.body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
        }
        done = subprocess.run(["git", "http-backend"], input=self.body,
                              stdout=subprocess.PIPE, env=env, check=False)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        fields = dict(x.split(": ", 1) for x in head.decode().split("\r\n"))
        status = int(fields.pop("Status", "200").split()[0])
        kind = fields.pop("Content-Type", "text/plain")
        return self.say(status, body, kind, **{
            k.replace("-", "_"): v for k, v in fields.items()})

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = one
    do_OPTIONS = do_TRACE = one

    def json(self):
        body = self.body
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        return json.loads(body or b"{}")


HOSTS = {
    "api.github.com": forge_apis.github,
    "gitlab.com": forge_apis.gitlab,
    "index.test": forge_apis.pypi,
    "api.anthropic.com": model.anthropic,
    "api.openai.com": model.openai,
    "generativelanguage.googleapis.com": model.gemini,
    "auth.openai.com": oauth.openai_auth,
    "chatgpt.com": oauth.chatgpt,
    "oauth2.googleapis.com": oauth.google_auth,
    "cloudcode-pa.googleapis.com": oauth.code_assist,
}


def main():
    Forge(sys.argv[1], (sys.argv[2], 443)).serve_forever()


if __name__ == "__main__":
    main()
