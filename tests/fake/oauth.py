# SPDX-License-Identifier: Apache-2.0
"""oauth.py - of forge.py: token endpoints, and the APIs that their tokens open

Refresh grants (RFC 6749, 6) of OpenAI and Google, with rotation: a refresh token
is taken once, and its answer has the next. FOLDER/tokens.json has the tokens that
are good now, and all that were before, under other names: a search for real tokens
looks for these, too. FOLDER/oauth.json says how the endpoints are: {"mode": …}.

    rotate   new tokens; the default
    revoked  400, invalid_grant
    busy     503
    slow     no answer within a minute
    cut      a part of an answer
    huge     an endless answer
    evil     an access token with a line end and a field in it
    moved    a redirect to another host
"""
import base64
import json
import os
import secrets
import threading
import time
import urllib.parse

from forge_apis import events
import model

lock = threading.Lock()
CLIENTS = {"openai": "app_EMoamEEZ73f0CkXaXp7hrann",
           "google": "681255809395-oo8ft2oprdrnp9e3aqf6av3hmdib135j"
                     ".apps.googleusercontent.com"}
LIFE = 3600


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def jwt(life):
    """As OpenAI's are; nobody verifies the signature."""
    parts = ({"alg": "RS256", "typ": "JWT"}, {
        "exp": int(time.time()) + life, "iat": int(time.time()) + life - LIFE,
        "https://api.openai.com/auth": {"chatgpt_account_id": "acc-otter",
                                        "chatgpt_plan_type": "plus"}})
    return ".".join([base64url(json.dumps(x).encode()) for x in parts] +
                    [base64url(secrets.token_bytes(64))])


def fresh(who, life=LIFE):
    """New tokens of @who: access and refresh token."""
    if who == "openai":
        return jwt(life), "rt_" + secrets.token_urlsafe(40)
    return "ya29." + secrets.token_urlsafe(90), "1//" + secrets.token_urlsafe(
        60)


def replace(folder, who, access, refresh):
    """Puts new tokens into tokens.json; the old ones stay under other names."""
    path = folder + "/tokens.json"
    with open(path) as f:
        all_ = json.load(f)
    for name, value in (("%s-login" % who, access),
                        ("%s-refresh" % who, refresh)):
        if name in all_:
            all_["%s-%d" % (name, len(all_))] = all_[name]
        all_[name] = value
    with open(path + ".new", "w") as f:
        json.dump(all_, f)
    os.replace(path + ".new", path)


def mode(h):
    try:
        with open(h.server.folder + "/oauth.json") as f:
            return json.load(f)["mode"]
    except FileNotFoundError:
        return "rotate"


def asked(h):
    """What a request says, as JSON or a form."""
    if "json" in h.headers.get("content-type", ""):
        return h.json()
    return dict(urllib.parse.parse_qsl(h.body.decode()))


def grant(h, who):
    said = asked(h)
    with lock:
        good = h.server.tokens()["%s-refresh" % who]
        if said.get("client_id") != CLIENTS[who] or said.get(
                "grant_type") != "refresh_token":
            return h.say(400, {"error": "invalid_client"})
        if said.get("refresh_token") != good:
            return h.say(400, {"error": "invalid_grant"})
        access, refresh = fresh(who)
        replace(h.server.folder, who, access, refresh)
    return h.say(200, {"access_token": access, "refresh_token": refresh,
                       "expires_in": LIFE, "token_type": "Bearer"})


def token(h, who):
    """The token endpoint of @who."""
    how = mode(h)
    if how == "revoked":
        return h.say(400, {"error": "invalid_grant"})
    if how == "busy":
        return h.say(503, {"error": "temporarily_unavailable"})
    if how == "slow":
        time.sleep(60)
    if how == "moved":
        return h.say(307, Location="https://evil.cred.test/token")
    if how == "evil":
        return h.say(200, {"access_token": "a\r\nX-Evil: 1", "expires_in": 9})
    if how == "cut":
        h.send_response(200)
        h.send_header("Content-Length", "900")
        h.end_headers()
        h.wfile.write(b'{"access_token": "')
        h.close_connection = True
        return None
    if how == "huge":
        h.begin_chunks("application/json")
        for _ in range(64):
            h.chunk(b" " * 65536)
        return h.end_chunks()
    return grant(h, who)


# --- OpenAI -----------------------------------------------------------------

def openai_auth(h):
    if h.route == "/oauth/token":
        return token(h, "openai")
    return h.say(404, {"error": "not_found"})


def chatgpt(h):
    if not h.has("openai-login"):
        return h.refuse()
    if h.route == "/backend-api/wham/accounts/check":
        return h.say(200, {"accounts": [{
            "id": "acc-otter", "name": "otter", "structure": "personal",
            "plan_type": "plus", "is_deactivated": False,
            "can_access_with_session": True,
            "account_routing_override": "us",
            "workspace_backend_origin": "https://chatgpt.com"}],
            "account_ordering": ["acc-otter"],
            "default_account_id": "acc-otter"})
    if h.route == "/backend-api/codex/models":
        return h.say(200, {"models": []})
    if h.route != "/backend-api/codex/responses":
        return h.say(404, {"detail": "Not Found"})
    if h.command == "GET":
        return h.say(426, {"detail": "no WebSocket here"})
    return model.responses(h, h.json())


# --- Google -----------------------------------------------------------------

def google_auth(h):
    if h.route == "/token":
        return token(h, "google")
    if h.route != "/tokeninfo":
        return h.say(404, {"error": "not_found"})
    if not h.has("google-login"):
        return h.say(400, {"error": "invalid_token"})
    return h.say(200, {"aud": CLIENTS["google"], "expires_in": "3599",
                       "scope": "https://www.googleapis.com/auth/"
                                "cloud-platform"})


def code_assist(h):
    """Gemini's API, in an envelope."""
    if not h.has("google-login"):
        return h.refuse()
    what = h.route.partition(":")[2]
    if what == "loadCodeAssist":
        return h.say(200, {"currentTier": {"id": "standard-tier", "name": "t"},
                           "cloudaicompanionProject": "project-otter"})
    if what == "countTokens":
        return h.say(200, {"totalTokens": 19})
    if "enerateContent" not in what:
        return h.say(200, {})
    whole = model.gemini_answer(h.json().get("request", {}))
    if what == "streamGenerateContent":
        return events(h, [("", {"response": x}) for x in whole])
    return h.say(200, {"response": model.gemini_joined(whole)})
