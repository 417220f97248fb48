# SPDX-License-Identifier: Apache-2.0
"""smuggle.py - requests that two servers may count differently

Each of the corpus has /allowed-N in its first request line, and hides a
request for /smuggled-N from one of the two. A gateway that writes requests
anew either refuses the first, or sends it alone.
"""


def one(name, n, fields, body, line=None):
    start = line or "POST /allowed-%d HTTP/1.1" % n
    return ("%s\r\nHost: %s\r\n%s\r\n" % (start, name, fields)).encode(
        "latin-1") + body


def hidden(n):
    return b"GET /smuggled-%d HTTP/1.1\r\nX-Pad: y\r\n\r\n" % n


LENGTHS = ["+5", "-1", "0x5", "5 5", "5, 5", "5,6", "5;", "\v5", "5\t6",
           "05a", "", "99999999999999999999", "1e1"]
ENCODINGS = ["xchunked", "chunked, identity", "identity, chunked",
             "chunked\r\nTransfer-Encoding: identity", "\vchunked",
             "chunked, chunked", "gzip, chunked", "\"chunked\"", "chunked;",
             "chunked\r\n foo", " chunked, x", "CHUNKED\x0b"]
NAMES = ["Transfer-Encoding ", "Transfer_Encoding", " Transfer-Encoding",
         "Transfer-Encoding\t", "Transfer\rEncoding", "X: y\nTransfer-Encoding",
         "X: y\rTransfer-Encoding", "Transfer-Encoding\0"]
CHUNKS = [b"5;x=\ny\r\nhello\r\n0\r\n\r\n", b"0x5\r\nhello\r\n0\r\n\r\n",
          b"5\nhello\n0\n\n", b"5\r\nhelloXX0\r\n\r\n", b"+5\r\nhello\r\n0"
          b"\r\n\r\n", b"-5\r\nhello\r\n0\r\n\r\n", b"5 \r\nhello\r\n0\r\n\r\n",
          b"fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
          b"5\rhello\r0\r\r", b"0\r\nX: y\r\nContent-Length: 9\r\n\r\n",
          b"00000000000000005\r\nhello\r\n0\r\n\r\n", b"\r\n0\r\n\r\n"]
LINES = ["POST  /allowed-%d HTTP/1.1", "POST\t/allowed-%d HTTP/1.1",
         "POST /allowed-%d  HTTP/1.1", "POST /allowed-%d HTTP/1.1 ",
         "POST /allowed-%d HTTP/1.2", "POST /allowed-%d HTTP/2.0",
         "POST /allowed-%d", "post /allowed-%d HTTP/1.1",
         "POST http://evil.cred.test/allowed-%d HTTP/1.1",
         "POST https://u:p@free.cred.test/allowed-%d HTTP/1.1",
         "\r\n\r\n\r\nPOST /allowed-%d HTTP/1.1", " POST /allowed-%d HTTP/1.1",
         "POST /allowed-%d\0 HTTP/1.1", "POST /allowed-%d\r HTTP/1.1",
         "GET /allowed-%d HTTP/1.1\nX: y", "P\0ST /allowed-%d HTTP/1.1"]
FIELDS = ["X : y\r\n", "X\r\n", ": y\r\n", "X: y\n", "X: \0\r\n",
          "X: y\r\n folded\r\n", "X: a\rb\r\n", "Host: evil.cred.test\r\n",
          "Host: free.cred.test\r\n", "X\xff: y\r\n", "Expect: 200-ok\r\n",
          "Connection: content-length\r\n", "Connection: host\r\n"]


def corpus(name):
    """Pairs of a text and all bytes of one connection."""
    n = 0
    for value in LENGTHS:
        n += 1
        yield "length %r" % value, one(
            name, n, "Content-Length: %s\r\n" % value, hidden(n))
    for value in ENCODINGS:
        n += 1
        yield "encoding %r" % value, one(
            name, n, "Transfer-Encoding: %s\r\nContent-Length: 4\r\n" % value,
            b"0\r\n\r\n" + hidden(n))
        n += 1
        yield "encoding %r alone" % value, one(
            name, n, "Transfer-Encoding: %s\r\n" % value,
            b"0\r\n\r\n" + hidden(n))
    for field in NAMES:
        n += 1
        yield "name %r" % field, one(
            name, n, "%s: chunked\r\nContent-Length: 5\r\n" % field,
            b"0\r\n\r\n" + hidden(n))
    for data in CHUNKS:
        n += 1
        yield "chunk %r" % data[:20], one(
            name, n, "Transfer-Encoding: chunked\r\n", data + hidden(n))
    for line in LINES:
        n += 1
        yield "line %r" % line, one(name, n, "Content-Length: 6\r\n",
                                    b"GET /x" + hidden(n), line % n)
    for field in FIELDS:
        n += 1
        yield "field %r" % field, one(
            name, n, field + "Content-Length: 0\r\n", b"")
    n += 1
    yield "two lengths", one(name, n, "Content-Length: 0\r\n"
                             "Content-Length: 40\r\n", hidden(n))
    n += 1
    yield "GET with a hidden body", one(
        name, n, "Content-Length: 60\r\n", hidden(n),
        "GET /allowed-%d HTTP/1.1" % n)
    n += 1
    yield "HTTP/1.0 with chunks", one(
        name, n, "Transfer-Encoding: chunked\r\n", b"0\r\n\r\n" + hidden(n),
        "POST /allowed-%d HTTP/1.0" % n)


def CLEAN(name):  # beside the corpus
    for i in range(3):
        yield "a clean GET", one(name, 0, "", b"",
                                 "GET /clean-%d HTTP/1.1" % i)
    yield "clean chunks", one(
        name, 0, "Transfer-Encoding: chunked\r\n",
        b"5\r\nhello\r\n0\r\n\r\n", "POST /clean-3 HTTP/1.1")
    yield "a clean body", one(name, 0, "Content-Length: 5\r\n", b"hello",
                              "POST /clean-4 HTTP/1.1")
