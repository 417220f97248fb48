# SPDX-License-Identifier: Apache-2.0
"""requests.py - H: requests that two readers may read differently"""
import hello
from net import PROXY_PORT, GATEWAY, http_answer, http_head, recv, tls_answer

GOOD = b"good.test"
# What a smuggled request would be; no server may ever see it.
HIDDEN = b"GET /smuggled HTTP/1.1\r\nHost: good.test\r\n\r\n"

# Lines after the request line and Host, and the body. {n} is the length of
# HIDDEN. Each is refused by every reader that takes RFC 9112 at its word.
SMUGGLING = {
    "CL and TE": (b"Content-Length: 4\r\nTransfer-Encoding: chunked",
                  b"0\r\n\r\n" + HIDDEN),
    "TE and CL": (b"Transfer-Encoding: chunked\r\nContent-Length: %d",
                  b"0\r\n\r\n" + HIDDEN),
    "two CL": (b"Content-Length: 0\r\nContent-Length: %d", HIDDEN),
    "two CL, the same": (b"Content-Length: 0\r\nContent-Length: 0", HIDDEN),
    "CL list": (b"Content-Length: 0, %d", HIDDEN),
    "CL list of the same": (b"Content-Length: 0, 0", HIDDEN),
    "CL plus": (b"Content-Length: +0", HIDDEN),
    "CL minus": (b"Content-Length: -0", HIDDEN),
    "CL minus one": (b"Content-Length: -1", HIDDEN),
    "CL hex": (b"Content-Length: 0x0", HIDDEN),
    "CL with letters": (b"Content-Length: 0a", HIDDEN),
    "CL empty": (b"Content-Length:", HIDDEN),
    "CL overflow": (b"Content-Length: 18446744073709551616", HIDDEN),
    "CL with an inner blank": (b"Content-Length: 0 0", HIDDEN),
    "CL, blank before colon": (b"Content-Length : %d", HIDDEN),
    "CL, tab before colon": (b"Content-Length\t: %d", HIDDEN),
    "TE twice": (b"Transfer-Encoding: chunked\r\n"
                 b"Transfer-Encoding: identity", b"0\r\n\r\n" + HIDDEN),
    "TE list": (b"Transfer-Encoding: chunked, identity",
                b"0\r\n\r\n" + HIDDEN),
    "TE not last": (b"Transfer-Encoding: chunked, gzip",
                    b"0\r\n\r\n" + HIDDEN),
    "TE unknown": (b"Transfer-Encoding: xchunked", b"0\r\n\r\n" + HIDDEN),
    "TE quoted": (b'Transfer-Encoding: "chunked"', b"0\r\n\r\n" + HIDDEN),
    "TE identity": (b"Transfer-Encoding: identity", HIDDEN),
    "TE vertical tab": (b"Transfer-Encoding: \x0bchunked",
                        b"0\r\n\r\n" + HIDDEN),
    "TE with NUL": (b"Transfer-Encoding: chunked\0", b"0\r\n\r\n" + HIDDEN),
    "TE, blank before colon": (b"Transfer-Encoding : chunked",
                               b"0\r\n\r\n" + HIDDEN),
    "TE by bare LF": (b"X: y\nTransfer-Encoding: chunked",
                      b"0\r\n\r\n" + HIDDEN),
    "TE by bare CR": (b"X: y\rTransfer-Encoding: chunked",
                      b"0\r\n\r\n" + HIDDEN),
    "TE folded": (b"Transfer-Encoding:\r\n chunked", b"0\r\n\r\n" + HIDDEN),
    "folded field": (b"X: y\r\n Content-Length: 0", HIDDEN),
    "folded with tab": (b"X: y\r\n\tz", b""),
    "field without a name": (b": y", b""),
    "field without a colon": (b"Content-Length", HIDDEN),
    "NUL in a field": (b"X: a\0b", b""),
    "NUL in a field's name": (b"X\0: b", b""),
    "blank line begins with LF": (b"X: y\r\n\n" + HIDDEN.rstrip(), b""),
    "chunk of hex prefix": (b"Transfer-Encoding: chunked",
                            b"0x0\r\n\r\n" + HIDDEN),
    "chunk of minus": (b"Transfer-Encoding: chunked",
                       b"-0\r\n\r\n" + HIDDEN),
    "chunk that overflows": (b"Transfer-Encoding: chunked",
                             b"10000000000000000\r\n\r\n" + HIDDEN),
    "chunk with bare LF": (b"Transfer-Encoding: chunked",
                           b"0\n\n" + HIDDEN),
    "chunk with LF extension": (b"Transfer-Encoding: chunked",
                                b"0;\n\r\n\r\n" + HIDDEN),
    "chunk longer than said": (b"Transfer-Encoding: chunked",
                               b"1\r\nab\r\n0\r\n\r\n" + HIDDEN),
}
# Whole heads that no server should take; %s is the target.
HEADS = {
    "line by bare LF": b"GET %s HTTP/1.1\nHost: good.test\n\n",
    "no version": b"GET %s\r\nHost: good.test\r\n\r\n",
    "HTTP/2.0": b"GET %s HTTP/2.0\r\nHost: good.test\r\n\r\n",
    "HTTP/1.10": b"GET %s HTTP/1.10\r\nHost: good.test\r\n\r\n",
    "two blanks": b"GET  %s HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "tabs": b"GET\t%s\tHTTP/1.1\r\nHost: good.test\r\n\r\n",
    "NUL in the target": b"GET %s\0 HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "method with a colon": b"GE:T %s HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "blank first field": b"GET %s HTTP/1.1\r\n X: y\r\nHost: good.test\r\n\r\n",
    "h2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}
HOSTS = {
    "two, evil last": b"Host: good.test\r\nHost: evil.test",
    "two, evil first": b"Host: evil.test\r\nHost: good.test",
    "two, the same": b"Host: good.test\r\nHost: good.test",
    "two, in other case": b"Host: good.test\r\nhOST: evil.test",
    "list": b"Host: good.test, evil.test",
    "userinfo": b"Host: evil.test@good.test",
    "userinfo, evil": b"Host: good.test@evil.test",
    "port, not a number": b"Host: good.test:x",
    "port, too big": b"Host: good.test:65616",
    "port twice": b"Host: good.test:80:80",
    "other port": b"Host: good.test:8443",
    "blank before the colon": b"Host : good.test",
    "empty": b"Host:",
    "none": b"X: y",
    "folded": b"Host: good.test\r\n .evil.test",
    "path in it": b"Host: good.test/evil.test",
}


def smuggle(lines, body, name):
    if b"%d" in lines:
        lines = lines % len(body)

    def run(t):
        target = t.path(b"/H1/" + name.encode().replace(b" ", b"-"))
        outcome, detail = t.request(
            b"POST %s HTTP/1.1\r\nHost: good.test\r\n%s\r\n\r\n%s" %
            (target, lines, body))
        return outcome, detail
    return run


def second_host(t):
    """One connection, two hosts: each request is judged for itself."""
    sock = t.to_http()
    t.send(sock, b"GET %s HTTP/1.1\r\nHost: good.test\r\n\r\n" %
           t.path(b"/H4/first"))
    first = http_answer(sock)
    t.send(sock, b"GET %s HTTP/1.1\r\nHost: evil.test\r\n\r\n" %
           t.path(b"/H4/second", b"evil.test"))
    second = http_answer(sock)
    return second[0], "first %s, then %s" % (first[0], second[1])


def pipelined(t):
    sock = t.to_http()
    t.send(sock, b"GET %s HTTP/1.1\r\nHost: good.test\r\n\r\n"
           b"GET %s HTTP/1.1\r\nHost: evil.test\r\n\r\n" %
           (t.path(b"/H4/pipelined"), t.path(b"/H4/evil", b"evil.test")))
    status, rest = http_head(sock)
    data = b""
    sock.settimeout(1.5)
    try:
        while True:
            more = sock.recv(65536)
            if not more:
                break
            data += more
    except OSError:
        pass
    data = rest + data
    if status != 200:
        return "closed", str(status)
    return ("denied" if b'"sink"' not in data and b" 403 " in data else
            "closed" if b'"sink"' not in data else "open"), "first 200"


def connect(authority):
    return lambda t: tls_answer(after(t, authority, hello.hello(GOOD)))


def after(t, authority, data):
    sock = t.tunnel(authority)
    t.send(sock, data)
    return sock


def plain_inside(data):
    def run(t):
        sock = after(t, b"good.test:8443", data)
        said = recv(sock)
        if not said:
            return "closed", ""
        if said[:1] == b"\x15" or said[:5] == b"HTTP/":
            return "denied", said[:20].hex()
        return "open", said[:40].decode("latin-1")
    return run


def authority_alone(t):
    """CONNECT in the transparent way: to no proxy at all."""
    return t.request(b"CONNECT evil.test:443 HTTP/1.1\r\n"
                     b"Host: evil.test:443\r\n\r\n")


def own_listener(t):
    """The proxy's port by way of a CONNECT to it."""
    sock = t.tunnel(b"172.20.0.53:3128")
    t.send(sock, b"GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n")
    return http_answer(sock)


def proxy_sni(t):
    """TLS straight to the proxy's port is not the transparent listener."""
    sock = t.dial(GATEWAY, PROXY_PORT)
    t.send(sock, hello.hello(b"evil.test"))
    return tls_answer(sock)


def head(raw):
    def run(t):
        text = raw % t.path(b"/H1/head") if b"%s" in raw else raw
        return t.request(text)
    return run


def register(add):
    for name, (lines, body) in SMUGGLING.items():
        row = "H1-body" if name.startswith("chunk") else "H1"
        add(row, name, smuggle(lines, body, name))
    for name, raw in HEADS.items():
        add("H1", name, head(raw))

    def mismatch(host):
        return lambda t: t.request(
            b"GET http://good.test/H2 HTTP/1.1\r\nHost: %s\r\n\r\n" % host)
    add("H2", "evil in Host", mismatch(b"evil.test"))
    add("H2", "other port in Host", mismatch(b"good.test:8443"))
    add("H2", "evil in the target", lambda t: t.request(
        b"GET http://evil.test/H2 HTTP/1.1\r\nHost: good.test\r\n\r\n"))
    add("H2", "https in the target", lambda t: t.request(
        b"GET https://evil.test/H2 HTTP/1.1\r\nHost: evil.test\r\n\r\n"))
    add("H2", "userinfo in the target", lambda t: t.request(
        b"GET http://good.test@evil.test/H2 HTTP/1.1\r\n"
        b"Host: evil.test\r\n\r\n"))
    add("H2-good", "equal but for case and port", lambda t: t.request(
        b"GET http://good.test:80/H2 HTTP/1.1\r\nHost: GOOD.test\r\n"
        b"Connection: close\r\n\r\n"))
    for name, lines in HOSTS.items():
        add("H3", name, lambda t, x=lines: t.request(
            b"GET %s HTTP/1.1\r\n%s\r\n\r\n" % (t.path(b"/H3"), x)))
    add("H4", "second request to another host", second_host)
    add("H4", "pipelined request to another host", pipelined)

    for port in (22, 25, 80, 53, 444, 3128, 3129, 65535):
        add("H5-port", "port %d" % port,
            connect(b"good.test:%d" % port), ways="explicit")
    for text in (b"localhost:443", b"127.0.0.1:443", b"[::1]:443",
                 b"172.20.0.53:3128", b"172.20.0.53:53",
                 b"172.20.0.53:3129", b"ac-host:443", b"evil.test:443",
                 b"good.test", b"good.test:", b"good.test:0",
                 b"good.test:65536", b"good.test:443:443",
                 b"good.test:8443@evil.test:443", b":443", b"/", b"*",
                 b"http://good.test:8443", b"169.254.169.254:80"):
        add("H5", "to " + text.decode(), connect(text), ways="explicit")
    add("H5", "its own port in a CONNECT", own_listener, ways="explicit")
    add("H5", "TLS to the proxy's port", proxy_sni, ways="explicit")
    for what, data in (("http", b"GET / HTTP/1.1\r\nHost: good.test\r\n\r\n"),
                       ("ssh", b"SSH-2.0-x\r\n"), ("zeros", bytes(300)),
                       ("nested CONNECT", b"CONNECT evil.test:443 HTTP/1.1"
                        b"\r\nHost: evil.test\r\n\r\n")):
        add("H5-inside", what, plain_inside(data), ways="explicit")
    add("H5-inside", "other name", lambda t: t.hello(
        hello.hello(b"other.test")), ways="explicit")
    add("H5-inside", "an allowed name, not that one", lambda t: t.hello(
        hello.hello(b"a.wild.test")), ways="explicit")
    add("H5", "CONNECT without a proxy", authority_alone, ways="transparent")
