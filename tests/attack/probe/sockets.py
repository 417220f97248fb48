#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sockets.py - sessions of WebSockets, from a sandbox

usage: sockets.py HOST      (PYTHONPATH: the library websockets)
       sockets.py HOST stay FILE

One line a try: "ok CASE" or "not ok CASE DETAIL". SOCKETS_KEY is the
credential. stay: one session without a credential; FILE has "up" once it
stands, and then how it ended.
"""
import os
import sys
import time

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

host = sys.argv[1]
MIB = os.urandom(1 << 20)


def begin(path="/session", key=None):
    key = key or os.environ["SOCKETS_KEY"]
    return connect("wss://%s%s" % (host, path), max_size=4 << 20,
                   ping_interval=None, additional_headers={
                       "Authorization": "Bearer " + key})


def many(ws):
    for i in range(1000):
        ws.send("to %d" % i if i % 2 else b"to %d" % i)
        got = ws.recv(60)
        assert got == ("to %d" % i if i % 2 else b"to %d" % i), got
    ws.send("count 1000")
    for i in range(1000):
        got = ws.recv(60)
        assert got == (str(i).encode() if i % 2 else str(i)), got


def at_once(ws):
    for i in range(1000):
        ws.send("x%d" % i)
    for i in range(1000):
        assert ws.recv(60) == "x%d" % i


def big(ws):
    ws.send(MIB)
    assert ws.recv(60) == MIB
    text = MIB.hex()[:1 << 20]
    ws.send(text)
    assert ws.recv(60) == text
    ws.send([MIB[:1000], MIB[1000:900000], MIB[900000:]])  # fragments
    assert ws.recv(60) == MIB


def pings(ws):
    for text in (b"", b"x" * 125):
        assert ws.ping(text).wait(30), "no pong"
    ws.send("ping")
    assert ws.recv(60) == "pong"


def idle(ws):
    # Several times what the policy gives a request's head.
    time.sleep(4)
    ws.send("after a rest")
    assert ws.recv(60) == "after a rest"


def closed(code, by_server):
    with begin("/close-%d" % code) as ws:
        if by_server:
            ws.send("close %d" % code)
        else:
            ws.close(code, "our own")
        try:
            ws.recv(60)
        except ConnectionClosed as e:
            got = e.rcvd.code, e.rcvd.reason
    assert got[0] == code, got
    assert not by_server or got[1] == "as asked", got


def stranger():
    try:
        begin("/stranger", "sk-proj-" + "x" * 48).close()
    except InvalidStatus as e:
        assert e.response.status_code == 403, e.response.status_code
        return
    assert False, "let in"


def tried(case, how, *words):
    try:
        how(*words)
        print("ok", case, flush=True)
    except Exception as e:  # what it was is the test's business
        print("not ok", case, repr(e), flush=True)


def stay(path):
    with connect("wss://%s/open" % host, ping_interval=None) as ws:
        ws.send("here")
        ws.recv(60)
        with open(path, "w", buffering=1) as f:
            f.write("up\n")
            try:
                ws.recv()
            except ConnectionClosed as e:
                f.write("closed %s\n" % (e.rcvd and e.rcvd.code))


def main():
    if sys.argv[2:3] == ["stay"]:
        return stay(sys.argv[3])
    with begin() as ws:
        for how in (many, at_once, big, pings, idle):
            tried(how.__name__, how, ws)
    for code in (1000, 1001, 3000, 4999):
        tried("close %d by the server" % code, closed, code, True)
        tried("close %d by the client" % code, closed, code, False)
    tried("stranger", stranger)


main()
