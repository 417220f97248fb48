#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""preload_cases.py - every program to every place, with the shim and without

usage: preload_cases.py policy NAMESERVER     the policy that they need, YAML
       preload_cases.py run [PROGRAM...]      in the sandbox; results to stdout
       preload_cases.py judge WHAT AUDIT RESULTS

Each case has a name of its own, PROGRAM-MODE-PLACE.wild.test, by which its
lines are found in the audit; a literal address is one of its own too. WHAT:

whole    the audit has a line of each case: the gateway writes them a moment
         after the program has ended
same     with the shim and without: the same lines of the audit, but for what
         the shim alone knows, and the program ends well or not as the other
told     what was denied is told by one message that has the way to allow it,
         and nothing else is
program  the audit has the program that was denied, and the one allowed

Exit code 1: not so; what is wrong goes to stdout.
"""
import collections
import concurrent.futures
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODES = ("on", "off")
# place: port, event, reason, rule
PLACES = {
    "ok": (443, "allow", None, "pre-ok"),
    "alt": (8443, "allow", None, "pre-alt"),
    "db": (5432, "allow", None, "pre-db"),
    "no": (443, "deny", "not-allowed", None),
    "ssh": (22, "deny", "port", None),
    "literal": (443, "deny", None, None),
}
TLS = ("ok", "alt", "no", "literal")
PLAIN = ("db", "ssh")
WEB = ("ok", "alt", "no")
# program: where it goes; the last part of its exe, as the audit has it
PROGRAMS = {
    "curl": (WEB + ("literal",), "curl"),
    "git": (WEB, "git-remote-http"),
    "gitssh": (PLAIN, "ssh"),
    "ssh": (PLAIN, "ssh"),
    "python": (TLS + PLAIN, "python3"),
    "asyncio": (TLS + PLAIN, "python3"),
    "bare": (TLS + PLAIN, "python3"),
    "https": (WEB, "node"),
    "fetch": (WEB, "node"),
    "net": (TLS + PLAIN, "node"),
    "pip": (WEB, "python3"),
    "npm": (WEB, "node"),
    "static": (TLS + PLAIN, None),
    "raw": (TLS + PLAIN, None),
    "cgo": (TLS + PLAIN, None),
    "pure": (TLS + PLAIN, None),
}
SECONDS = 90
# How long a program waits for an answer that comes at once: on a busy machine
# this must not be what decides.
PATIENCE = 45
# What answers there speaks neither git nor SSH: these wait for more.
WAITS = {("git", "alt"), ("gitssh", "db"), ("ssh", "db")}
# What is of one connection, or said by the shim alone.
OWN = {"time", "conn", "pid", "exe", "path", "source", "ms", "prev", "hash",
       "name", "original", "generation", "sni", "up", "down", "dialed",
       "address", "upstream", "bytes_up", "bytes_down", "inspected"}

CONNECT = """
import socket, ssl, sys
host, port, tls, name = sys.argv[1:5]
sock = socket.create_connection((host, int(port)), %d)
if tls == "1":
    c = ssl._create_unverified_context()
    sock = c.wrap_socket(sock, server_hostname=name or None)
else:
    sock.sendall(b"SSH-2.0-ping\\r\\n")
    sock.recv(9) or sys.exit(1)
""" % PATIENCE
ASYNCIO = """
import asyncio, ssl, sys
host, port, tls, name = sys.argv[1:5]
async def main():
    more = {}
    if tls == "1":
        more = {"ssl": ssl._create_unverified_context(),
                "server_hostname": name}
    r, w = await asyncio.open_connection(host, int(port), **more)
    if tls != "1":
        w.write(b"SSH-2.0-ping\\r\\n")
        await r.readexactly(4)
asyncio.run(asyncio.wait_for(main(), %d))
""" % PATIENCE
NET = """
const [host, port, tls, name] = process.argv.slice(1);
const bad = (e) => { process.exit(1); };
if (tls === "1") {
    require("tls").connect({ host, port, servername: name,
        rejectUnauthorized: false }, () => process.exit(0)).on("error", bad);
} else {
    const s = require("net").connect(+port, host);
    s.on("error", bad).on("end", bad).on("data", () => process.exit(0));
    s.on("connect", () => s.write("SSH-2.0-ping\\r\\n"));
}
setTimeout(bad, %d000);
""" % PATIENCE
HTTPS = """
require("https").get(process.argv[1], { rejectUnauthorized: false },
    (r) => process.exit(0)).on("error", () => process.exit(1));
setTimeout(() => process.exit(1), %d000);
""" % PATIENCE
FETCH = """
fetch(process.argv[1], { signal: AbortSignal.timeout(%d000) })
    .then(() => process.exit(0), () => process.exit(1));
""" % PATIENCE
SSH = ["-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o",
       "ConnectTimeout=%d" % PATIENCE, "-o", "UserKnownHostsFile=/dev/null"]


def all_cases():
    out = []
    for program, (places, _) in PROGRAMS.items():
        for place in places:
            for mode in MODES:
                out.append((program, mode, place))
    return out


def target(program, mode, place):
    """The name of a case, or its address."""
    if place == "literal":
        return "198.51.100.%d" % (
            100 + 2 * list(PROGRAMS).index(program) + MODES.index(mode))
    return "%s-%s-%s.wild.test" % (program, mode, place)


def policy(nameserver):
    def names(place):
        return ", ".join(target(*c) for c in all_cases() if c[2] == place)

    print("version: 1\ndefaults:\n  dns: { upstream: [\"%s\"] }\n"
          "presets:\n  preload:\n    rules:" % nameserver)
    for place, more in (("ok", ""), ("alt", ""), ("db", ", proto: tcp")):
        print("      - { id: %s, names: [%s], ports: [%d], use: tunnel%s }" %
              (PLACES[place][3], names(place), PLACES[place][0], more))
    print("      - { id: pre-ssh, names: [%s], ports: [443], use: tunnel }" %
          names("ssh"))


# ---- in the sandbox ----

def command(program, host, port, place):
    """argv, environment to add, input; of one case."""
    tls = "1" if place in TLS else "0"
    name = "" if place == "literal" else host
    url = "https://%s:%d/" % (host, port)
    own = os.path.join(HERE, "")
    four = [host, str(port), tls, name]
    if program == "curl":
        return ["curl", "-skS", "-o", "/dev/null", "-m", str(PATIENCE), url
                ], {}, b""
    if program == "git":
        return ["git", "-c", "http.sslVerify=false", "ls-remote",
                url + "x.git"], {}, b""
    if program == "gitssh":
        return ["git", "ls-remote", "ssh://git@%s:%d/x" % (host, port)], {
            "GIT_SSH_COMMAND": "ssh " + " ".join(SSH)}, b""
    if program == "ssh":
        return ["ssh", *SSH, "-p", str(port), host, "true"], {}, b""
    if program in ("python", "bare"):
        return ["/usr/bin/python3", "-c", CONNECT, *four], {}, b""
    if program == "asyncio":
        return ["python3", "-c", ASYNCIO, *four], {}, b""
    if program == "net":
        return ["node", "-e", NET, *four], {}, b""
    if program == "https":
        return ["node", "-e", HTTPS, url], {}, b""
    if program == "fetch":
        return ["node", "-e", FETCH, url], {
            "NODE_TLS_REJECT_UNAUTHORIZED": "0", "NODE_NO_WARNINGS": "1"}, b""
    if program == "pip":
        return ["pip", "--disable-pip-version-check", "download", "-q",
                "--no-deps", "--retries", "0", "--timeout", str(PATIENCE),
                "--index-url", url + "simple/", "--trusted-host",
                "%s:%d" % (host, port), "-d", "/tmp/pip-none", "nothing"
                ], {}, b""
    if program == "npm":
        return ["npm", "view", "--registry", url, "--fetch-retries=0",
                "--strict-ssl=false", "--fetch-timeout=%d000" % PATIENCE,
                "--update-notifier=false", "nothing"], {}, b""
    sys.path.insert(0, HERE)
    import hello
    data = hello.hello(name.encode() or None) if tls == "1" else \
        b"SSH-2.0-ping\r\n"
    if program in ("cgo", "pure"):
        return [own + "go-" + program, host, str(port)], {}, data
    return [own + program, "tcp", socket.gethostbyname(host), str(port)
            ], {}, data


def run_one(case):
    program, mode, place = case
    host, port = target(*case), PLACES[place][0]
    argv, more, data = command(program, host, port, place)
    env = {} if program == "bare" else dict(os.environ)
    env.update(more)
    env.pop("AC_NET_QUIET", None)
    if mode == "off":
        env["AC_NET_PRELOAD"] = "off"
    begin = time.time()
    try:
        done = subprocess.run(argv, env=env, input=data, capture_output=True,
                              timeout=15 if (program, place) in WAITS
                              else SECONDS)
        code, err = done.returncode, done.stderr.decode("utf-8", "replace")
        # They have no exit code of their own for what is denied.
        if program in ("static", "raw") and done.stdout[:1] in (b"", b"\x15"):
            code = code or 1
    except subprocess.TimeoutExpired:
        code, err = 124, ""
    return {"program": program, "mode": mode, "place": place, "code": code,
            "ms": round(1000 * (time.time() - begin)), "err": err[-3000:]}


def run(wanted):
    printing = threading.Lock()

    def one(case):
        line = json.dumps(run_one(case))
        with printing:
            print(line, flush=True)

    cases = [c for c in all_cases() if not wanted or c[0] in wanted]
    for program in ("cgo", "pure"):  # the machine may have had no compiler
        if not os.path.exists(os.path.join(HERE, "go-" + program)):
            cases = [c for c in cases if c[0] != program]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(one, cases))


# ---- the judge ----

class Judge:
    def __init__(self, audit, results):
        self.bad = []
        self.results = {}
        for x in open(results):
            x = json.loads(x)
            self.results[x["program"], x["mode"], x["place"]] = x
        by_name = {target(*c): c for c in self.results}
        self.lines = collections.defaultdict(list)
        for x in open(audit):
            try:
                x = json.loads(x)
            except ValueError:
                continue  # the last one, not whole yet
            case = by_name.get(x.get("name")) or by_name.get(
                x.get("original"))
            if case and x.get("event") in ("allow", "deny"):
                self.lines[case].append(x)

    def complain(self, case, *words):
        self.bad.append(" ".join([target(*case) + ":"] +
                                 [str(w) for w in words]))

    def verdicts(self, case):
        return sorted({json.dumps({k: v for k, v in x.items()
                                   if k not in OWN}, sort_keys=True)
                       for x in self.lines[case]})

    def whole(self):
        for case in self.results:
            if not self.lines[case]:
                self.complain(case, "no line in the audit")

    def same(self):
        for case, result in self.results.items():
            program, mode, place = case
            _, event, reason, rule = PLACES[place]
            lines = self.lines[case]
            if not lines:
                self.complain(case, "no line in the audit;", result)
            for x in lines:
                if x["event"] != event or (reason and
                                           x.get("reason") != reason) or (
                        rule and not str(x.get("rule", "")).endswith(rule)):
                    self.complain(case, "not as it should be:", x)
            if mode == "on":
                other = (program, "off", place)
                if self.verdicts(case) != self.verdicts(other):
                    self.complain(case, "with:", self.verdicts(case),
                                  "without:", self.verdicts(other))
                if (result["code"] == 0) != (
                        self.results[other]["code"] == 0):
                    self.complain(case, "ends with", result["code"],
                                  "and without the shim with",
                                  self.results[other]["code"],
                                  result["err"][-200:])

    def told(self):
        for case, result in self.results.items():
            program, mode, place = case
            said = re.findall(r"^ac: blocked (\S+) ", result["err"], re.M)
            want = []
            if mode == "on" and place in ("no", "ssh") and \
                    PROGRAMS[program][1]:
                want = ["%s:%d" % (target(*case), PLACES[place][0])]
                if "ac policy allow " not in result["err"]:
                    self.complain(case, "no word of what allows it")
            if said != want:
                self.complain(case, "says", said, "and should", want,
                              result["err"][-300:])

    def program(self):
        for case in self.results:
            program, mode, place = case
            exe = PROGRAMS[program][1]
            for x in self.lines[case]:
                if mode == "off" or not exe:
                    if "exe" in x:
                        self.complain(case, "who said who it is?", x)
                elif place != "literal" and not re.search(
                        r"/%s[0-9.]*$" % re.escape(exe),
                        x.get("exe", "")):
                    self.complain(case, "not known as", exe, x)
                elif place != "literal" and not x.get("pid", 0) > 1:
                    self.complain(case, "has no pid", x)


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == "policy":
        policy(*args)
    elif what == "run":
        run(args)
    else:
        judge = Judge(args[1], args[2])
        getattr(judge, args[0])()
        if len(judge.results) < 100:
            judge.bad.append("only %d cases ran" % len(judge.results))
        for text in judge.bad[:40]:
            print(text)
        if len(judge.bad) > 40:
            print("and", len(judge.bad) - 40, "more")
        sys.exit(bool(judge.bad))


main()
