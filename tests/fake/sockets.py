#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sockets.py - a WebSocket server for who has the token

usage: sockets.py FOLDER ADDRESS

On port 443 of ADDRESS, with the library websockets (PYTHONPATH). FOLDER is
forge.py's: cert.pem, key.pem, and tokens.json, whose "sockets" is asked for as
Authorization: Bearer; 401 to whoever has it not. Each session is two JSON lines
in FOLDER/sockets.jsonl: how it began (path, headers) and how it ended (code,
reason, messages). What comes in goes back, but for these texts:

 count N    N messages, "0" to "N-1", text and binary by turns
 ping       a ping, and "pong" once that was answered
 close N    a close frame with the code N and the reason "as asked"
"""
import json
import ssl
import sys

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

folder = sys.argv[1]
log = open(folder + "/sockets.jsonl", "a", buffering=1)


def note(**what):
    log.write(json.dumps(what) + "\n")


def is_known(connection, request):
    with open(folder + "/tokens.json") as f:
        want = "Bearer " + json.load(f)["sockets"]
    found = request.headers.get_all("Authorization")
    note(begin=request.path, headers=list(request.headers.raw_items()))
    if request.path.startswith("/open") or found == [want]:
        return None
    return connection.respond(401, "Bad credentials\n")


def answer(ws, message):
    words = message.split() if isinstance(message, str) else []
    if words[:1] == ["count"]:
        for i in range(int(words[1])):
            ws.send(str(i).encode() if i % 2 else str(i))
    elif words == ["ping"]:
        ws.ping(b"from the server").wait(30)
        ws.send("pong")
    elif words[:1] == ["close"]:
        ws.close(int(words[1]), "as asked")
    else:
        ws.send(message)


def session(ws):
    messages = 0
    try:
        for message in ws:
            messages += 1
            answer(ws, message)
    except ConnectionClosed:
        pass
    note(end=ws.request.path, code=ws.close_code, reason=ws.close_reason,
         messages=messages)


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder + "/cert.pem", folder + "/key.pem")
    # No pings of its own: what a session does is said by the client.
    with serve(session, sys.argv[2], 443, ssl=context, max_size=4 << 20,
               process_request=is_known, ping_interval=None) as server:
        server.serve_forever()


main()
