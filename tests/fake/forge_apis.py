# SPDX-License-Identifier: Apache-2.0
"""forge_apis.py - of forge.py: what each service answers

As much of each as its real client asks for: gh, glab, pip and twine. A function
gets the request (forge.Handler) and answers it. Models are in model.py.
"""
import base64
import email
import gzip
import hashlib
import io
import json
import re
import time
import urllib.parse
import zipfile

REPO = {
    "id": "R_1", "name": "one", "nameWithOwner": "otter/one",
    "owner": {"id": "U_1", "login": "otter"}, "description": "the first one",
    "isPrivate": True, "isFork": False, "isArchived": False, "isEmpty": False,
    "visibility": "PRIVATE", "hasIssuesEnabled": True,
    "hasWikiEnabled": False, "viewerPermission": "WRITE",
    "pushedAt": "2026-01-02T03:04:05Z", "updatedAt": "2026-01-02T03:04:05Z",
    "createdAt": "2026-01-02T03:04:05Z", "url": "https://github.com/otter/one",
    "defaultBranchRef": {"name": "main"}, "parent": None,
    "mergeCommitAllowed": True, "rebaseMergeAllowed": True,
    "squashMergeAllowed": True,
}


# --- GitHub -----------------------------------------------------------------

def graphql(h):
    text = h.json().get("query", "")
    if "createPullRequest" in text:
        made = h.json()["variables"]["input"]
        h.server.state.setdefault("pulls", []).append(made)
        return {"createPullRequest": {"pullRequest": {
            "id": "PR_7", "number": 7,
            "url": "https://github.com/otter/one/pull/7"}}}
    if "__type" in text:
        # What gh wants to know of the server: which fields there are.
        names = re.findall(r"(\w+) *: *__type", text)
        return {n: {"fields": [], "enumValues": []} for n in names}
    if "repositories(" in text:
        page = {"nodes": [REPO], "totalCount": 1,
                "pageInfo": {"hasNextPage": False, "endCursor": ""}}
        return {"repositoryOwner": {"login": "otter", "repositories": page}}
    if "pullRequests(" in text:
        none = {"nodes": [], "totalCount": 0,
                "pageInfo": {"hasNextPage": False, "endCursor": ""}}
        return {"repository": dict(REPO, pullRequests=none)}
    out = {"viewer": {"login": "otter", "id": "U_1"}}
    for name in re.findall(r"(\w+) *: *repository\(", text):
        out[name] = REPO
    if re.search(r"[{\s]repository\(", text):
        out["repository"] = REPO
    return out


def github(h):
    if not h.has("github"):
        return h.refuse()
    scopes = {"X_OAuth_Scopes": "repo, read:org, gist"}
    if h.route == "/graphql":
        return h.say(200, {"data": graphql(h)}, **scopes)
    if h.route in ("/user", "/users/otter"):
        return h.say(200, {"login": "otter", "id": 1, "type": "User"},
                     **scopes)
    if h.route in ("/", "/rate_limit", "/meta"):
        return h.say(200, {"resources": {}, "rate": {"limit": 5000,
                                                     "remaining": 4999}},
                     **scopes)
    if h.route == "/repos/otter/one":
        return h.say(200, {"id": 1, "name": "one", "node_id": "R_1",
                           "full_name": "otter/one", "private": True,
                           "owner": {"login": "otter"},
                           "default_branch": "main"}, **scopes)
    if h.command == "POST":  # what would be a token, were it let through
        return h.say(201, {"id": 1, "key": "made"})
    return h.say(404, {"message": "Not Found"})


# --- GitLab -----------------------------------------------------------------

def gitlab(h):
    if not h.has("gitlab"):
        return h.refuse()
    project = {"id": 1, "name": "one", "path_with_namespace": "otter/one",
               "default_branch": "main",
               "web_url": "https://gitlab.com/otter/one",
               "http_url_to_repo": "https://gitlab.com/otter/one.git"}
    user = {"id": 1, "username": "otter", "name": "Otter"}
    path = urllib.parse.unquote(h.route)
    if path.endswith("/merge_requests"):
        return h.say(200, [{
            "id": 9, "iid": 3, "project_id": 1, "title": "Mend the dam",
            "state": "opened", "source_branch": "dam",
            "target_branch": "main", "author": user,
            "created_at": "2026-01-02T03:04:05.000Z",
            "references": {"full": "otter/one!3", "short": "!3"},
            "web_url": "https://gitlab.com/otter/one/-/merge_requests/3"}],
            X_Total="1", X_Total_Pages="1", X_Page="1", X_Per_Page="30")
    if path in ("/api/v4/projects/otter/one", "/api/v4/projects/1"):
        return h.say(200, project)
    if path == "/api/v4/user":
        return h.say(200, user)
    if path == "/api/v4/version":
        return h.say(200, {"version": "17.0.0", "revision": "1"})
    if path == "/api/graphql":
        return h.say(200, {"data": {"currentUser": user}})
    return h.say(404, {"message": "404 Not Found"})


# --- packages ---------------------------------------------------------------

def wheel():
    """A package with one module, as small as pip takes it."""
    out = io.BytesIO()
    info = "otterpkg-1.0.dist-info/"
    files = {
        "otterpkg.py": "WORD = 'splash'\n",
        info + "METADATA": "Metadata-Version: 2.1\nName: otterpkg\n"
                           "Version: 1.0\n",
        info + "WHEEL": "Wheel-Version: 1.0\nGenerator: forge\n"
                        "Root-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[info + "RECORD"] = "".join("%s,,\n" % x for x in files) + \
        info + "RECORD,,\n"
    with zipfile.ZipFile(out, "w") as z:
        for name, text in files.items():
            z.writestr(zipfile.ZipInfo(name), text)
    return out.getvalue()


def uploaded(h):
    """The file of an upload, (name of the project, of the file, bytes)."""
    form = email.message_from_bytes(b"Content-Type: %s\r\n\r\n" % h.headers[
        "content-type"].encode() + h.body)
    parts = {x.get_param("name", header="content-disposition"): x
             for x in form.get_payload()}
    text = {k: v.get_payload(decode=True) for k, v in parts.items()}
    if text[":action"] != b"file_upload" or hashlib.sha256(
            text["content"]).hexdigest() != text["sha256_digest"].decode():
        return None
    name = re.sub("[-_.]+", "-", text["name"].decode()).lower()
    return name, parts["content"].get_filename(), text["content"]


def pypi(h):
    if not h.has("pypi"):
        return h.refuse()
    kept = h.server.state.setdefault("pypi", {
        "otterpkg": {"otterpkg-1.0-py3-none-any.whl": wheel()}})
    if h.command == "POST" and h.route == "/legacy/":
        got = uploaded(h)
        if got is None:
            return h.say(400, b"not what was said\n", "text/plain")
        kept.setdefault(got[0], {})[got[1]] = got[2]
        return h.say(200, b"", "text/plain")
    _, top, name, *_ = (h.route + "//").split("/")
    if top == "simple" and name in kept:
        return h.say(200, "".join(
            '<a href="../../files/%s#sha256=%s">%s</a>\n' % (
                x, hashlib.sha256(data).hexdigest(), x)
            for x, data in kept[name].items()).encode(), "text/html")
    for files in kept.values():
        if top == "files" and name in files:
            return h.say(200, files[name], "application/octet-stream")
    return h.say(404, b"", "text/plain")


# --- streams ----------------------------------------------------------------

def events(h, parts, pause=0.02):
    """Server-sent events, one by one."""
    h.begin_chunks("text/event-stream")
    for name, data in parts:
        text = data if isinstance(data, str) else json.dumps(data)
        h.chunk(("event: %s\n" % name if name else "") +
                "data: %s\n\n" % text)
        time.sleep(pause)
    h.end_chunks()


# --- what says back what it was sent ----------------------------------------

def forms(text):
    """Everything a client could turn back into @text."""
    raw = text.encode()
    out = [text, urllib.parse.quote(text, safe=""),
           "".join("%%%02x" % c for c in raw),
           "".join("%%%02X" % c for c in raw), json.dumps(text)[1:-1]]
    for pad in (b"", b"x", b"xy"):
        out.append(base64.b64encode(pad + raw).decode())
        out.append(base64.urlsafe_b64encode(pad + raw).decode())
    return out


def mirrored(h):
    """The credentials of the request in all their forms, as lines."""
    lines = ["%s: %s" % x for x in h.headers.items()]
    for value in h.credentials():
        lines += forms(value)
    return "\n".join(lines) + "\n"


def split_up(h, text):
    """In pieces of every small size, so that each border is met."""
    h.begin_chunks("text/plain", Trailer="X-Last")
    size, at = 1, 0
    while at < len(text):
        h.chunk(text[at:at + size])
        at += size
        size = size % 7 + 1
    h.end_chunks("X-Last: " + ",".join(h.credentials()))


def encoded(way, text):
    """A document in which a reader has to decode the text. Lines of Base64 have
    57 bytes; the text begins in one and ends in the next."""
    lines = base64.encodebytes(("x" * 41 + text + "\n").encode()).decode()
    json_all = "".join("\\u%04x" % ord(x) for x in text)
    return {
        "json": '{"t":"%s"}\n' % json_all,
        "entities": "".join("&#%d;" % ord(x) for x in text),
        # Not the first: the 4 of %34 is the character itself.
        "percent": "%s%%%02x%s" % (text[:5], ord(text[5]), text[6:]),
        "base64": lines,
        "base64-json": json.dumps({"t": lines}),
        "json-percent": json_all.replace("\\", "%5C"),
        "json-in-base64": base64.b64encode(
            ('{"some": "text", "t": "%s"}' % json_all).encode()).decode(),
    }[way]


def echo(h):
    text = mirrored(h)
    first = (h.credentials() or ["none"])[0]
    if h.route == "/headers":
        return h.say(200, b"ok\n", "text/plain", X_Back=first,
                     Server_Timing="t;desc=\"%s\"" % first,
                     Set_Cookie="s=" + first)
    if h.route.startswith("/as/"):
        shown = first if h.query != "other" else first[::-1]
        return h.say(200, encoded(h.route[4:], shown).encode(), "text/plain")
    if h.route.startswith("/field/"):
        return h.say(200, b"ok\n", "text/plain",
                     X_Back=" ".join(encoded(h.route[7:], first).split()))
    if h.route == "/redirect":
        return h.say(302, b"", "text/plain",
                     Location="https://evil.cred.test/?t=" + first)
    if h.route == "/error":
        return h.say(500, text.encode(), "text/html")
    if h.route == "/pieces":
        return split_up(h, text)
    if h.route == "/gzip":
        return h.say(200, gzip.compress(text.encode()), "text/plain",
                     Content_Encoding="gzip")
    if h.route == "/until-close":
        h.send_response(200)
        h.send_header("Connection", "close")
        h.end_headers()
        h.close_connection = True
        return h.wfile.write(text.encode())
    if h.route == "/cut":
        h.send_response(200)
        h.send_header("Content-Length", str(len(text) + 100))
        h.end_headers()
        h.close_connection = True
        return h.wfile.write(text.encode())
    if h.route == "/events":
        return events(h, [("", x) for x in text.split("\n") if x])
    if h.route == "/alt-svc":
        return h.say(200, b"ok\n", "text/plain", Alt_Svc='h3=":443"')
    if h.route == "/echo":
        return h.say(200, text.encode() + h.body, "text/plain")
    return hostile(h)


def hostile(h):
    """Answers that are none."""
    raw = {
        "/split": b"HTTP/1.1 200 OK\r\nX-A: b\nSet-Cookie: x=y\r\n"
                  b"Content-Length: 0\r\n\r\n",
        "/two-lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n"
                        b"Content-Length: 5\r\n\r\nabcde",
        "/both": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n"
                 b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "/flood": b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" * 1000 +
                  b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "/no-content": b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n"
                       b"Content-Length: 6\r\n\r\nforged",
        "/trailers": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                     b"0\r\n" + b"X-T: y\r\n" * 20000 + b"\r\n",
        "/fake-101": b"HTTP/1.1 200 OK\r\nUpgrade: websocket\r\n"
                     b"Connection: upgrade\r\nContent-Length: 0\r\n\r\n",
    }.get(h.route)
    if raw is None:
        return h.say(200, {"path": h.path, "method": h.command,
                           "host": h.headers.get("host")})
    h.close_connection = True
    try:
        return h.wfile.write(raw)
    except OSError:
        return None
