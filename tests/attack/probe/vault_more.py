#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""vault_more.py - as vault.py: pids that come round, gh's ways out, crowds

Lines as those of vault.py. V2: no agent can hold the vault's socket, so what
can be tried is what the judgement rests upon, and clients that die while they
ask (the rest is in tests/unit/vault/peer_test.c).
"""
import ctypes
import glob
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import time

import vault
from vault import GH, GIT, granted, run, say, work

HERE = os.path.dirname(os.path.abspath(__file__))
# At most, for one of 65,536 numbers to come round: more than a minute, which make
# check does not have; it only ends what had the number.
SECONDS = 400 if os.environ.get("AC_CHECK_ALL") else 0


def pids():
    """A number that was a client's comes round, to an orphan."""
    program, ask = work + "/pids", work + "/question"
    code, text = run(["gcc", "-O2", "-D_GNU_SOURCE", "-pthread", "-o",
                      program,
                      HERE + "/pids.c"], limit=90)
    if code != 0:
        say("V2", "the program is built", False, text)
        return
    with open(ask, "wb") as f:
        f.write(vault.ASK)
    first, second = work + "/first", work + "/second"
    text = run([program, str(SECONDS), GIT, ask, first, second],
               limit=SECONDS + 60)[1].split("\n")
    say("V2", "a descriptor of /proc of who has ended gives nothing",
        "gone 0" in text, text)
    say("V2", "before, it could be read", "there 1" in text, text, True)
    say("V2", "who had it first was given a surrogate",
        granted(content(first)), content(first)[:80], True)
    if SECONDS:
        comes_round(text, content(second))
    # Orphans that ask and die, in a storm of numbers.
    with subprocess.Popen([program, "30"], stdout=subprocess.DEVNULL) as storm:
        outs, honest = [], 0
        until = time.time() + 20
        while len(outs) < 300 and time.time() < until:
            outs.append(dying_orphan(len(outs)))
            if len(outs) % 20 == 0:
                honest += granted(vault.ask()[1])
        storm.kill()
    got = [x for x in outs if vault.STAND_IN.search(content(x))]
    say("V2", "%d orphans that asked and died" % len(outs), not got, got)
    say("V2", "honest ones among them are served",
        honest >= len(outs) // 20 > 0, honest, True)


def comes_round(text, second):
    """@text: lines of the program; @second: what an orphan was given."""
    reused = [x.split() for x in text if x.startswith("reused")]
    say("V2", "nor when another has its number",
        reused and reused[0][1] == "0", text)
    say("V2", "the number came round", reused and reused[0][2] == "1", text,
        True)
    say("V2", "an orphan that has it next is given nothing",
        "asked" in text and not vault.STAND_IN.search(second), second[:80])


def content(path):
    try:
        with open(path, encoding="latin-1") as f:
            return f.read()
    except OSError:
        return ""


def dying_orphan(i):
    """Its parents are gone when it asks; it is killed soon after."""
    out = "%s/dying%d" % (work, i)
    r, w = os.pipe()

    def first():
        if os.fork() > 0:
            return
        while os.getppid() != 1:
            time.sleep(0.0005)
        os.write(w, b"%d\n" % os.getpid())
        os.dup2(os.open(out, os.O_CREAT | os.O_WRONLY, 0o600), 1)
        vault.asked()
        os.execv(GIT, [GIT, "get"])
    vault.born(first)
    os.close(w)
    pid = int(os.read(r, 32) or b"0")
    os.close(r)
    time.sleep(random.random() * 0.01)
    if pid > 0:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    return out


def stoppable():
    """A client of a group of its own: a stopped one would end ours."""
    return subprocess.Popen([GIT, "get"], stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, process_group=0)


def hands():
    """The connection of a client of one's own that is stopped half-way."""
    control = open(work + "/mine", "w+")
    with subprocess.Popen(["sleep", "60"], stdin=control) as mine:
        seen = os.readlink("/proc/%d/fd/0" % mine.pid)
        say("V22", "a descriptor of a child of one's own is seen",
            seen == work + "/mine", seen, True)
        mine.kill()
    taken = []
    for i in range(60):
        p = stoppable()
        p.stdin.write(vault.ASK)
        p.stdin.close()
        time.sleep(0.0005 * (i % 12))
        p.send_signal(signal.SIGSTOP)
        taken += take(p.pid)
        p.kill()
        p.wait()
    say("V22", "no descriptor of 60 stopped clients is had", not taken, taken)
    vault.control("V22")


def take(pid):
    """What of a client's descriptors can be had."""
    got = []
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        pidfd = -1
    for fd in range(10):
        if pidfd >= 0 and vault.libc.syscall(438, pidfd, fd, 0) >= 0:
            got.append("pidfd_getfd %d" % fd)
        try:
            os.close(os.open("/proc/%d/fd/%d" % (pid, fd), os.O_RDWR))
            got.append("/proc fd %d" % fd)
        except OSError as e:
            if e.errno == 6:  # a socket, and it was seen
                got.append("/proc fd %d is seen" % fd)
    if pidfd >= 0:
        os.close(pidfd)
    if vault.libc.ptrace(16, pid, 0, 0) == 0:
        got.append("ptrace")
    return got


class Piece(ctypes.Structure):
    """An iovec."""
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


def errno_of(code):
    return 0 if code >= 0 else ctypes.get_errno()


def memory_of(pid, address):
    """By which ways the bytes there are had."""
    got, found = [], ctypes.create_string_buffer(16)
    mine = Piece(ctypes.cast(found, ctypes.c_void_p), 16)
    theirs = Piece(address, 16)
    if vault.libc.process_vm_readv(pid, ctypes.byref(mine), 1,
                                   ctypes.byref(theirs), 1, 0) == 16:
        got.append("process_vm_readv")
    try:
        with open("/proc/%d/mem" % pid, "rb", 0) as f:
            f.seek(address)
            if len(f.read(16)) == 16:
                got.append("mem")
    except OSError:
        pass
    for part in ("maps", "environ", "auxv", "syscall", "stack"):
        if content("/proc/%d/%s" % (pid, part)):
            got.append(part)
    return got


def traced(program):
    """It execs while its parent traces it: output, and what that had."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        vault.asked()
        os.dup2(w, 1)
        ctypes.set_errno(0)
        vault.libc.ptrace(0, 0, 0, 0)  # PTRACE_TRACEME
        os.write(2, b"")
        os.execv(program, [program, "get"])
    os.close(w)
    stops = 0
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        stops += 1
        vault.libc.ptrace(7, pid, 0, 0)  # PTRACE_CONT
    text = b""
    while more := os.read(r, 4096):
        text += more
    os.close(r)
    return text.decode("latin-1"), stops


def trace():
    """The clients, by whatever one may have of a process of one's own."""
    mark = ctypes.create_string_buffer(b"sixteen bytes...")
    address = ctypes.addressof(mark)
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    found = memory_of(child, address)
    say("V13", "what of a child of one's own can be read",
        {"mem", "maps", "environ"} <= set(found), found, True)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    text, stops = traced(GIT)
    say("V13", "a client that lets itself be traced", stops == 0 and
        not vault.REAL.search(text), (stops, text[:60]))
    had = set()
    for request, what in ((16, "PTRACE_ATTACH"), (0x4206, "PTRACE_SEIZE")):
        for i in range(40):
            p = stoppable()
            p.stdin.write(vault.ASK)
            p.stdin.close()
            time.sleep(0.0005 * (i % 12))
            p.send_signal(signal.SIGSTOP)
            ctypes.set_errno(0)
            if errno_of(vault.libc.ptrace(request, p.pid, 0, 0)) == 0:
                had.add(what)
            if is_client(p.pid):
                had.add("a client")
                had |= set(memory_of(p.pid, 0x400000))
            p.kill()
            p.wait()
    say("V13", "some of 80 that were stopped were clients",
        "a client" in had, had, True)
    say("V13", "of a client nothing is had", had == {"a client"}, had)


def is_client(pid):
    """Has it the vault's uid yet? Then it is past its exec."""
    return "\t1000\t990\t990\t" in content("/proc/%d/status" % pid)


def spy(name):
    """A program that writes down all that it is given."""
    path = "%s/spy-%s" % (work, name)
    with open(path, "w") as f:
        f.write("#!/bin/sh\n{ echo ran; env; echo \"$@\"; "
                "[ -t 0 ] || cat; } >>%s/spied-%s 2>&1\n" % (work, name))
    os.chmod(path, 0o755)
    return path


def spied(name):
    return content("%s/spied-%s" % (work, name))


def terminal(argv, limit=20, **more):
    """Its output on a terminal of its own."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(more)
        try:
            os.execvp(argv[0], argv)
        finally:
            os._exit(127)
    text = b""
    signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
    signal.alarm(limit)
    try:
        while True:
            got = os.read(fd, 65536)
            if not got:
                break
            text += got
    except OSError:
        pass
    os.waitpid(pid, 0)
    signal.alarm(0)
    os.close(fd)
    return text.decode("latin-1")


def judge(case, text, must=False):
    """Nothing real in it; with @must it had to have the surrogate."""
    say("V15", case, not vault.REAL.search(text) and
        (not must or granted(text)), text[-200:], must)


def gh():
    extension = os.path.expanduser("~/.local/share/gh/extensions/gh-spy")
    os.makedirs(extension, exist_ok=True)
    shutil.copy(spy("extension"), extension + "/gh-spy")
    text = run([GH, "spy"])[1]
    judge("an extension", text + spied("extension"), True)
    text = terminal([GH, "api", "user"], GH_PAGER=spy("pager"))
    judge("a pager", text + spied("pager"), True)
    text = terminal([GH, "browse", "-R", "otter/one"], BROWSER=spy("browser"),
                    GH_BROWSER=work + "/spy-browser")
    judge("a browser", text + spied("browser"))
    editor = spy("editor")
    text = "".join(
        terminal([GH, *words], GH_EDITOR=editor, EDITOR=editor, VISUAL=editor)
        for words in (("issue", "create", "-R", "otter/one", "--editor"),
                      ("gist", "edit", "abcdef"),
                      ("pr", "create", "-R", "otter/one", "--editor")))
    judge("an editor", text + spied("editor"))
    run([GH, "alias", "set", "-s", "spied", spy("alias") + " \"$@\""])
    text = run([GH, "spied", "a"])[1]
    judge("a shell alias", text + spied("alias"), True)
    for case, words, more in (
            ("auth token", ("auth", "token"), {}),
            ("auth status --show-token", ("auth", "status", "--show-token"),
             {}),
            ("auth git-credential", ("auth", "git-credential", "get"), {}),
            ("GH_DEBUG=api", ("api", "user"), {"GH_DEBUG": "api"}),
            ("GH_DEBUG=1, DEBUG", ("api", "user"),
             {"GH_DEBUG": "1", "DEBUG": "api"}),
            ("HTTP_PROXY of one's own", ("api", "user"),
             {"HTTPS_PROXY": "http://127.0.0.1:9"}),
            ("another host", ("api", "https://free.cred.test/echo"), {}),
            ("GH_HOST", ("api", "user"), {"GH_HOST": "free.cred.test"}),
            ("config", ("config", "get", "-h", "github.com", "oauth_token"),
             {}),
            ("headers", ("api", "-i", "user"), {})):
        text = run([GH, *words], vault.ASK, env=dict(os.environ, **more))[1]
        judge(case, text, case == "auth token")
    kept = "".join(open(x, encoding="latin-1").read() for x in glob.glob(
        os.path.expanduser("~/.config/gh/*")) if os.path.isfile(x))
    judge("gh's own files", kept)


def crowds():
    """1,000 that connect, or are about to, and do not go on."""
    served = 0
    for _ in range(10):
        stopped = []
        for i in range(100):
            p = stoppable()
            p.stdin.write(vault.ASK)
            try:
                p.stdin.close()
                time.sleep(0.0005 * (i % 6))
                p.send_signal(signal.SIGSTOP)
            except OSError:
                pass
            stopped.append(p)
        served += granted(vault.ask(limit=10)[1])
        for p in stopped:
            p.kill()
        for p in stopped:
            p.wait()
    say("V29", "1,000 stopped clients, and whoever asks is served",
        served == 10, served)
    vault.control("V29")


def main():
    parts = [globals()[x] for x in sys.argv[1:]] or [pids, hands, trace, gh,
                                                 crowds]
    for part in parts:
        try:
            part()
        except Exception as e:  # the rest goes on
            say("broken", part.__name__, False, repr(e))
    shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
