#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""judge.py - what the probes found, held against what must be so

usage: judge.py FOLDER join
       judge.py FOLDER holds ROW OUTCOME[|...] [REASON[|...]] [WAY...]
       judge.py FOLDER detail ROW PATTERN
       judge.py FOLDER unheard
       judge.py FOLDER swift MILLISECONDS
       judge.py FOLDER audit

join: gives each probe the reasons that the audit has for it, once for all.
holds: each probe of ROW ended so, from both runtimes and in both ways (or
the WAYs given), and the audit has a line on its connection with one of the
REASONs ("-": no line is asked for).
detail: each probe of ROW says this.
unheard: the sinks heard nothing, the servers only what is allowed, and the
controls of each sandbox came through.
swift: half of all denials took no longer.
audit: each line is one JSON object in plain ASCII.

FOLDER has results/*.jsonl, audit.jsonl, agents (lines "RUNTIME ADDRESS"),
and the logs of the world. Exit code 1: not so; what is wrong goes to stdout.
"""
import collections
import datetime
import glob
import json
import re
import statistics
import sys

# What may leave ac-host at all: protocol, to, port.
EXPECTED = [
    ("tcp", r"198\.51\.100\.10", (22, 80, 443, 8443)),
    ("tcp", r"198\.51\.100\.20", (7000,)),
    ("tcp", r"198\.51\.100\.3[01]", (443,)),
    ("tcp|udp", r"198\.51\.100\.53", (53,)),
    # The resolver answered a question that was given up meanwhile.
    ("icmp", r"198\.51\.100\.53", (3,)),
    ("arp", r".*", (0,)),
    # What ac-host's own kernel says on a link: neighbours, groups (MLD).
    ("icmp6", r"ff02::.*", (133, 135, 143)),
    ("ip-0", r"ff02::16", (0,)),
    ("udp", r"198\.51\.100\.250", (4242,)),  # HEAR, of world_guard
]
HEAR = "the sinks do hear"
# The names of rules: the name server may be asked for these, and no others.
ASKED = re.compile(
    r"(good|long|tunnel|slow|ech|strict|flip|flip-loop|flip-meta|many|"
    r"many-meta|cname-private|cname-public|chain|loop|spoof|bail|ptrloop|"
    r"garbage|short|lies|huge|servfail|nx|cdn-good|echo|denied-ip|"
    r"[a-z0-9-]+\.(wild|addr|dig))\.test")
SECRET = re.compile(r"dig-out-this|blocked\.wild|smuggled", re.I)
RUNTIMES = ("runsc", "crun")
WAYS = ("transparent", "explicit")


def lines(path):
    try:
        with open(path) as f:
            return [json.loads(x) for x in f if x.strip()]
    except FileNotFoundError:
        return []


class Case:
    def __init__(self, folder):
        self.folder = folder
        self.probes = lines(folder + "/joined.jsonl")
        self.bad = []

    def complain(self, *words):
        self.bad.append(" ".join(str(x) for x in words))

    def join(self):
        """The lines on its connections: same address and port, same time."""
        agents = dict(x.split() for x in open(self.folder + "/agents"))
        by_end = collections.defaultdict(list)
        for line in lines(self.folder + "/audit.jsonl"):
            when = datetime.datetime.fromisoformat(
                line["time"].replace("Z", "+00:00")).timestamp() * 1000
            by_end[line.get("source")].append((when, line.get("reason")))
        with open(self.folder + "/joined.jsonl", "w") as out:
            for path in glob.glob(self.folder + "/results/*.jsonl"):
                for p in lines(path):
                    ends = ["%s:%d" % (agents[p["runtime"]], port)
                            for port in p["ports"]]
                    p["reasons"] = sorted({
                        str(why) for end in ends for when, why in by_end[end]
                        if p["begin"] - 500 <= when <= p["end"] + 2000})
                    out.write(json.dumps(p) + "\n")

    def of_row(self, row):
        found = [p for p in self.probes if p["row"] == row]
        if not found:
            self.complain("no probe of row", row)
        return found

    def holds(self, row, outcomes, reasons="-", *ways):
        found = self.of_row(row)
        for way in ways or WAYS:
            for runtime in RUNTIMES:
                if not any(p["way"] == way and p["runtime"] == runtime
                           for p in found):
                    self.complain("no probe of", row, way, runtime)
        for p in found:
            name = "%s, %s, %s, %s:" % (row, p["case"], p["way"],
                                        p["runtime"])
            if p["outcome"] not in outcomes.split("|"):
                self.complain(name, p["outcome"], p["detail"])
            if reasons == "-" or not p["ports"] or p["outcome"] in (
                    "dropped", "blocked", "refused"):
                continue
            if not set(p["reasons"]) & set(reasons.split("|")):
                self.complain(name, p["outcome"], "but the audit says",
                              p["reasons"] or "nothing")

    def detail(self, row, pattern):
        for p in self.of_row(row):
            if not re.search(pattern, p["detail"]):
                self.complain(row, p["case"], p["way"], p["runtime"],
                              "says", p["detail"])

    def unheard(self):
        world = self.folder + "/world/"
        for name in ("sink", "inside"):
            heard = lines(world + name + ".jsonl")
            if not any(x["text"] == HEAR for x in heard):
                self.complain(name, "is deaf")
            for x in heard:
                if x["text"] != HEAR:
                    self.complain(name, "heard", x)
        left = lines(world + "guard.jsonl")
        if not any(x["port"] == 4242 for x in left):
            self.complain("the guard is deaf")
        for x in left:
            if SECRET.search(x["text"]) or not any(
                    re.fullmatch(proto, x["proto"]) and
                    re.fullmatch(to, x["to"]) and x["port"] in ports
                    for proto, to, ports in EXPECTED):
                self.complain("left ac-host:", x)
        for x in lines(world + "dns.jsonl"):
            name = x.get("name", "").lower()
            if not ASKED.fullmatch(name) or SECRET.search(name):
                self.complain("asked of the name server:", x)
        for x in lines(world + "upstream.jsonl"):
            if x.get("server") in ("other", "denied", "cdn") or \
                    SECRET.search(json.dumps(x)):
                self.complain("came to a server:", x)
        for path in sorted(glob.glob(world + "peer-*.jsonl")):
            for x in lines(path):
                self.complain("came to another sandbox:", x)
        for p in self.of_row("control"):
            if p["outcome"] not in ("open", "own"):
                self.complain("control", p["case"], p["way"], p["runtime"],
                              p["outcome"], p["detail"])

    def swift(self, limit):
        for runtime in RUNTIMES:
            for way in WAYS:
                took = [p["ms"] for p in self.probes
                        if (p["way"], p["runtime"]) == (way, runtime) and
                        p["outcome"] == "denied"]
                middle = statistics.median(took or [1e9])
                print(runtime, way, "median of denials:", middle, "ms")
                if middle > float(limit):
                    self.complain("too slow:", runtime, way, middle, "ms")

    def audit(self):
        raw = open(self.folder + "/audit.jsonl", "rb").read()
        if re.search(rb"[^\n\x20-\x7e]", raw):
            self.complain("bytes in the audit that a terminal may obey")
        for line in raw.split(b"\n")[:-1]:
            try:
                if not {"time", "event", "prev", "hash"} <= set(
                        json.loads(line)):
                    self.complain("a part is missing:", line)
            except ValueError as e:
                self.complain(e, line)
        if raw.count(b"\n") < 100:
            self.complain("there is hardly anything in it")


def main():
    case = Case(sys.argv[1])
    getattr(case, sys.argv[2])(*sys.argv[3:])
    for text in case.bad[:30]:
        print(text)
    if len(case.bad) > 30:
        print("and", len(case.bad) - 30, "more")
    sys.exit(bool(case.bad))


main()
