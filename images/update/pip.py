# SPDX-License-Identifier: Apache-2.0
"""pip.py - pins what requirements.in asks for, in its newest versions

Writes requirements.txt: a line for each package, name==version, with the SHA-256
of its wheel for each kind of machine that has one. pip chooses versions and packages
for this machine; what only the other one needs is not there. No package of a registry
is built, since of those pip takes wheels alone.
"""

import json
import re
import subprocess
import sys

MACHINES = ("x86_64", "aarch64")
GLIBC = range(17, 42)  # the minor versions of glibc 2 that a wheel may ask for


def report(*args):
    """What pip would install: {name: (version, SHA-256)}; None if a version has no
    wheel there."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet",
         "--ignore-installed", "--only-binary", ":all:", "--no-cache-dir",
         "--report", "/tmp/report.json", *args],
        stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        if "No matching distribution" in done.stderr:
            print(done.stderr, end="")
            return None
        sys.exit(done.stderr)
    with open("/tmp/report.json", encoding="utf-8") as file:
        items = json.load(file)["install"]
    for item in items:
        if item["is_direct"]:
            sys.exit(f"{item['metadata']['name']} has an address of its own: a "
                     "registry cannot prove it")
    return {
        re.sub("[-_.]+", "-", item["metadata"]["name"]).lower(): (
            item["metadata"]["version"],
            item["download_info"]["archive_info"]["hashes"]["sha256"])
        for item in items
    }


def for_machine(machine, pins):
    """The digests of the same versions there; a package without one has none."""
    args = ["--no-deps", "--target", "/tmp/there"]
    for minor in GLIBC:
        args += ["--platform", f"manylinux_2_{minor}_{machine}"]
    args += ["--platform", f"manylinux2014_{machine}"]
    found = report(*args, *pins)
    if found is not None:
        return found
    if len(pins) == 1:
        return {}
    half = len(pins) // 2
    return {**for_machine(machine, pins[:half]),
            **for_machine(machine, pins[half:])}


chosen = report("--requirement", "requirements.in")
if chosen is None:
    sys.exit("ERROR: not all of requirements.in is to be had, see above")
wheels = {name: {sha} for name, (_, sha) in chosen.items()}
for kind in MACHINES:
    there = for_machine(
        kind, [f"{name}=={version}" for name, (version, _) in chosen.items()])
    for name, (_, sha) in there.items():
        wheels[name].add(sha)
with open("requirements.txt", "w", encoding="utf-8") as file:
    for name, (version, _) in sorted(chosen.items()):
        hashes = "".join(f" --hash=sha256:{sha}" for sha in sorted(wheels[name]))
        file.write(f"{name}=={version}{hashes}\n")
