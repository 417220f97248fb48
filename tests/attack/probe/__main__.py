# SPDX-License-Identifier: Apache-2.0
"""__main__.py - all probes of a sandbox, one JSON line each

usage: python3 probe RUNTIME [ROW...] (rows by their beginning)

Each line: row (of the catalogue), case, way, runtime, outcome, detail, ports
(of our ends: the audit names them), begin and end (ms of the clock), ms (from
the last connection on).
"""
import concurrent.futures
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import dns  # noqa: E402
import kernel  # noqa: E402
import names  # noqa: E402
import net  # noqa: E402
import requests  # noqa: E402 (ours, not the library)
import tls  # noqa: E402

AT_ONCE = 12  # below the limit of half-open connections
printing = threading.Lock()


def run_one(row, case, way, runtime, run):
    t = net.Try(way, runtime)
    begin = time.time()
    try:
        outcome, detail = run(t)
    except net.Verdict as v:
        outcome, detail = v.outcome, v.detail
    except Exception as e:  # a probe that breaks has proven nothing
        outcome, detail = "broken", "%s: %s" % (type(e).__name__, e)
    end = time.time()
    t.done()
    line = json.dumps({
        "row": row, "case": case, "way": way, "runtime": runtime,
        "outcome": outcome, "detail": str(detail), "ports": t.ports,
        "begin": int(begin * 1000), "end": int(end * 1000),
        "ms": round((end - t.mark) * 1000, 1)})
    with printing:
        print(line, flush=True)


def main():
    runtime, wanted = sys.argv[1], tuple(sys.argv[2:])
    jobs = []

    def add(row, case, run, ways="transparent explicit"):
        if wanted and not row.startswith(wanted):
            return
        for way in ways.split():
            jobs.append((row, case, way, runtime, run))

    for part in (names, tls, requests, dns, kernel):
        part.register(add)
    # Those that wait go first: they take their time beside the others.
    waits = ("T8-slow", "D3", "K7-scan")
    jobs.sort(key=lambda j: not j[0].startswith(waits))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for job in jobs:
            pool.submit(run_one, *job)


main()
