#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""vault.py - what an agent may try against the vault in its sandbox

One JSON line a try: the row of the catalogue, what was tried, whether it ended
as it must, and what came of it. A line with "control" true is what an honest
client gets; without these a row proves nothing.
"""
import ctypes
import fcntl
import glob
import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

VAULT = "/usr/libexec/ac/vault"
GIT = VAULT + "/git-credential-ac"
GH = VAULT + "/bin/gh"
SOCKET = "/run/vault/sock"
ASK = b"protocol=https\nhost=github.com\npath=otter/one.git\n\n"
STAND_IN = re.compile(r"\bghp_[0-9A-Za-z]{36}\b")
REAL = re.compile(r"github_pat_|glpat-[0-9A-Za-z]{20}_real")
libc = ctypes.CDLL(None, use_errno=True)
work = tempfile.mkdtemp()


def say(row, case, well, detail="", control=False):
    print(json.dumps({"row": row, "case": case, "ok": bool(well),
                      "detail": str(detail)[:300], "control": control}),
          flush=True)


def run(argv, send=b"", limit=20, **how):
    """Exit code, and both outputs in one text."""
    try:
        done = subprocess.run(argv, input=send, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=limit,
                              check=False, **how)
        return done.returncode, done.stdout.decode("latin-1")
    except subprocess.TimeoutExpired as e:
        return -99, (e.stdout or b"").decode("latin-1")
    except OSError as e:
        return -98, str(e)


def granted(text):
    return bool(STAND_IN.search(text)) and not REAL.search(text)


def born(how):
    """A child that does this and execs; it never comes back into ours."""
    pid = os.fork()
    if pid == 0:
        try:
            how()
        finally:
            os._exit(99)
    return os.waitpid(pid, 0)[1]


def ask(send=ASK, program=GIT, **how):
    return run([program, "get"], send, **how)


def control(row):
    code, text = ask()
    say(row, "an honest client gets a surrogate", code == 0 and granted(text),
        text[:60], True)


def refused(row, case, how):
    """An action that must fail for want of a right."""
    try:
        how()
        say(row, case, False, "it worked")
    except OSError as e:
        say(row, case, e.errno in (1, 13, 30, 16, 2, 3), e)


def vaultd():
    """Its pid: the one whose real uid is 990."""
    for path in glob.glob("/proc/[0-9]*/status"):
        try:
            with open(path) as f:
                if re.search(r"(?m)^Uid:\s*990\s+990", f.read()):
                    return int(path.split("/")[2])
        except OSError:
            pass
    return 0


def peers():
    def connect():
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(SOCKET)
    refused("V1", "connect as the agent", connect)
    refused("V1", "look into the folder", lambda: os.listdir("/run/vault"))
    control("V1")
    forged()
    # Who has let go of its parent cannot be named; nor can who is gone.
    for i in range(30):
        out = os.path.join(work, "orphan%d" % i)

        def orphan(out=out):
            if os.fork() > 0:
                return
            while os.getppid() != 1:
                time.sleep(0.001)
            os.dup2(os.open(out, os.O_CREAT | os.O_WRONLY, 0o600), 1)
            asked()
            os.execv(GIT, [GIT, "get"])
        born(orphan)
    time.sleep(2)
    got = [x for x in glob.glob(work + "/orphan*")
           if STAND_IN.search(open(x).read())]
    say("V23", "orphans of a double fork", not got, got)
    control("V23")
    out = os.path.join(work, "daemon")

    def daemon_of_its_own():
        if os.fork() > 0:
            return
        while os.getppid() != 1:
            time.sleep(0.001)
        os.setsid()
        os.dup2(os.open(out, os.O_CREAT | os.O_WRONLY, 0o600), 1)
        asked()
        os.execv(GIT, [GIT, "get"])
    born(daemon_of_its_own)
    time.sleep(1)
    text = open(out).read()
    say("V23", "one that leads a session may ask", granted(text), text[:60],
        True)


def said(pid, uid, gid):
    """What a socket with SO_PASSCRED hears of who says this of himself."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with here, there:
        there.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        here.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS,
                               struct.pack("3i", pid, uid, gid))])
        _, found, _, _ = there.recvmsg(1, socket.CMSG_SPACE(12))
        return struct.unpack("3i", found[0][2])


def forged():
    me = os.getpid()
    say("V1", "one's own name by SCM_CREDENTIALS",
        said(me, 1000, 1000) == (me, 1000, 1000), me, True)
    for case, name in (("PID 1", (1, 1000, 1000)),
                       ("vaultd", (vaultd(), 1000, 1000)),
                       ("a parent", (os.getppid(), 1000, 1000)),
                       ("the vault's user", (me, 990, 1000)),
                       ("the vault's group", (me, 1000, 990)),
                       ("root", (me, 0, 0))):
        refused("V1", "the name of " + case, lambda n=name: said(*n))


def programs():
    copy = os.path.join(work, "a-copy")
    shutil.copyfile(GIT, copy)
    os.chmod(copy, 0o755)
    code, text = ask(program=copy)
    say("V3", "a copy", not STAND_IN.search(text), text)
    try:
        os.chmod(copy, 0o6755)  # to the agent's own id, where it may
    except OSError:
        pass
    code, text = ask(program=copy)
    say("V24", "a copy with its modes", not STAND_IN.search(text), text)
    refused("V24", "a hard link", lambda: os.link(GIT, GIT + "2"))
    refused("V3", "another file in its place",
            lambda: os.rename(GH, GIT))
    refused("V3", "write to it", lambda: open(GIT, "r+b").close())
    for name, number in (("unshare", 272), ("setns", 308), ("mount", 165)):
        libc.syscall(number, 0x10020000, 0, 0, 0, 0)
        e = ctypes.get_errno()
        say("V3", name, e in (1, 38), os.strerror(e))
    libc.prctl(35, 13, 0, 0, 0)
    e = ctypes.get_errno()
    say("V4", "PR_SET_MM_EXE_FILE", e == 1, os.strerror(e))
    control("V3")
    control("V4")
    fd = os.memfd_create("git")
    os.write(fd, open(GIT, "rb").read())
    code, text = ask(program="/proc/self/fd/%d" % fd, pass_fds=[fd])
    say("V5", "from a memfd", not STAND_IN.search(text), text)
    gone = os.path.join(work, "git (deleted)")
    shutil.copyfile(GIT, gone)
    os.chmod(gone, 0o755)
    code, text = ask(program=gone)
    say("V5", "a file named like a deleted one", not STAND_IN.search(text))
    control("V5")
    script = os.path.join(work, "git")
    with open(script, "w") as f:
        f.write("#!/bin/sh\nexec %s get\n" % GIT)
    os.chmod(script, 0o755)
    code, text = run([script], ASK)
    say("V6", "a script named git gets a surrogate at most",
        not REAL.search(text), text[:60])
    control("V6")
    link = os.path.join(work, "link")
    os.symlink(GH, link)
    code, text = run([link, "auth", "token"])
    say("V24", "by a symbolic link: the tool is the file's",
        granted(text), text[:80])


def asked():
    """What a client asks, as descriptor 0."""
    r, w = os.pipe()
    os.write(w, ASK)
    os.close(w)
    os.dup2(r, 0)


def odd_start():
    null = (ctypes.c_char_p * 1)(None)
    for program in (GIT, GH):
        code = os.waitstatus_to_exitcode(born(
            lambda p=program: libc.execve(p.encode(), null, null)))
        say("V24", "no argv[0], " + program, code == 2, code)
    for case, how in (("umask 0777", lambda: os.umask(0o777)),
                      ("a folder that is gone", lambda: (
                          os.mkdir(work + "/x"), os.chdir(work + "/x"),
                          os.rmdir(work + "/x"))),
                      ("all signals blocked", lambda: signal.pthread_sigmask(
                          signal.SIG_BLOCK, range(1, 64)))):
        code, text = ask(preexec_fn=how)
        say("V24", case, granted(text), text[:60])
    control("V24")
    for closed in ((0,), (1,), (2,), (0, 1, 2)):
        secret = os.path.join(work, "victim")
        with open(secret, "w") as f:
            f.write("untouched")

        def start(closed=closed):
            for fd in closed:
                os.close(fd)
            os.execv(GIT, [GIT, "get"])
        born(start)
        say("V25", "without %s" % (closed,),
            open(secret).read() == "untouched")
    control("V25")


def environment():
    hostile = {"LD_PRELOAD": work + "/spy.so", "LD_AUDIT": work + "/spy.so",
               "LD_LIBRARY_PATH": work, "GCONV_PATH": work, "IFS": "x",
               "MALLOC_CHECK_": "3", "LOCPATH": work, "LANG": "x" * 9000,
               "TMPDIR": work, "HOME": "/nonexistent", "PATH": work,
               "RES_OPTIONS": "debug", "GLIBC_TUNABLES":
               "glibc.malloc.mxfast=glibc.malloc.mxfast=A" * 50}
    for i in range(200):
        hostile["X%d" % i] = "%n%s\x01\xff" * i
    code, text = ask(env=hostile)
    say("V26", "200 hostile variables", code == 0 and granted(text), text[:60])
    control("V26")
    with open(work + "/spy.c", "w") as f:
        f.write("#include <stdio.h>\n#include <unistd.h>\n"
                "__attribute__((constructor)) static void spy(void)\n"
                "{ FILE *f = fopen(\"%s/spied\", \"a\"); if (f) fprintf(f,"
                "\"%%d \", geteuid()); if (f) fclose(f); }\n" % work)
    code, text = run(["gcc", "-shared", "-fPIC", "-o", work + "/spy.so",
                      work + "/spy.c"], limit=60)
    run(["/bin/true"], env={"LD_PRELOAD": work + "/spy.so"})
    ids = open(work + "/spied").read().split()
    say("V12", "the spy works in a program of the agent's", ids == ["1000"],
        ids, True)
    ask(env={"LD_PRELOAD": work + "/spy.so", "LD_AUDIT": work + "/spy.so"})
    run([GH, "auth", "token"], env=dict(os.environ, LD_PRELOAD=work +
                                        "/spy.so"))
    ids = set(open(work + "/spied").read().split())
    say("V12", "it never runs as the vault", ids == {"1000"}, ids)


def limits():
    control("V27")
    for case, what, value in (
            ("3 descriptors", resource.RLIMIT_NOFILE, 3),
            ("files of no size", resource.RLIMIT_FSIZE, 0),
            ("little memory", resource.RLIMIT_AS, 1 << 20),
            ("no stack", resource.RLIMIT_STACK, 4096),
            ("no processor", resource.RLIMIT_CPU, 0)):
        def start(what=what, value=value):
            asked()
            out = os.open(work + "/limited", os.O_CREAT | os.O_TRUNC |
                          os.O_WRONLY, 0o600)
            os.dup2(out, 1)
            os.closerange(3, 64)
            resource.setrlimit(what, (value, resource.getrlimit(what)[1]))
            os.execv(GIT, [GIT, "get"])
        status = born(start)
        text = open(work + "/limited").read()
        say("V27", case, not REAL.search(text) and
            (text == "" or granted(text)), "%d %s" % (status, text[:40]))
    code, text = ask()
    say("V27", "and the vault serves on", granted(text), text[:40], True)


def daemon():
    pid = vaultd()
    say("V13", "vaultd is there, as 990", pid > 0, pid, True)
    for part in ("mem", "environ", "maps", "exe", "fd", "root"):
        path = "/proc/%d/%s" % (pid, part)

        def look(path=path, part=part):
            if part in ("exe", "root"):
                os.readlink(path)
            elif part == "fd":
                if not os.listdir(path):
                    raise PermissionError(13, "nothing to be seen")
            else:
                with open(path, "rb") as f:
                    if not f.read(16):
                        raise PermissionError(13, "nothing to be seen")
        refused("V14" if part != "mem" else "V13", part, look)
    say("V14", "one's own environment can be read",
        open("/proc/self/environ", "rb").read(1), "", True)
    libc.ptrace(16, pid, 0, 0)
    e = ctypes.get_errno()
    say("V13", "ptrace", e == 1, os.strerror(e))
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGABRT):
        refused("V28", "kill %d" % number, lambda n=number: os.kill(pid, n))
    refused("V21", "make it dump core", lambda: os.kill(pid, signal.SIGSEGV))
    libc.kill(-1, signal.SIGURG)
    say("V28", "a signal to all, and it is alive", vaultd() == pid)
    control("V28")
    for case, how in (
            ("unlink", lambda: os.unlink(SOCKET)),
            ("rename", lambda: os.rename(SOCKET, SOCKET + ".old")),
            ("rename the folder", lambda: os.rename("/run/vault",
                                                    "/run/vaul")),
            ("another beside it", lambda: os.mkdir("/run/vault/x")),
            ("chmod", lambda: os.chmod("/run/vault", 0o777)),
            ("chmod the socket", lambda: os.chmod(SOCKET, 0o777)),
            ("one's own in its place", lambda: socket.socket(
                socket.AF_UNIX).bind(SOCKET))):
        refused("V30", case, how)
    control("V30")
    cores = [x for base in ("/", "/tmp", "/run", "/workspace", work)
             for x in glob.glob(base + "/core*")]
    say("V21", "no core file", not cores, cores)
    control("V21")


def floods():
    """Clients that have asked, or are about to, and do not go on."""
    stopped = []
    for i in range(120):
        p = subprocess.Popen([GIT, "get"], stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, process_group=0)
        p.stdin.write(ASK)
        try:
            p.stdin.close()
            time.sleep(0.001 * (i % 5))
            p.send_signal(signal.SIGSTOP)
        except OSError:
            pass
        stopped.append(p)
    code, text = ask(limit=10)
    say("V29", "120 stopped clients, and one is served", granted(text), text)
    for p in stopped:
        try:
            p.kill()
        except OSError:
            pass
        p.wait()
    control("V29")


def protocol():
    base = "protocol=https\nhost=%s\n\n"
    for case, send in (
            ("another host", base % "github.com.evil"),
            ("a port", base % "github.com:8083"),
            ("http", "protocol=http\nhost=github.com\n\n"),
            ("a host below", base % "x.github.com"),
            ("user in the host", base % "github.com@evil.test"),
            ("a path in the host", base % "evil.test/github.com"),
            ("blank", base % "github.com evil.test"),
            ("a dot at the end", base % "github.com.evil.")):
        code, text = ask(send.encode())
        say("V10", case, not STAND_IN.search(text), text)
    control("V10")
    for case, send in (
            ("CR", b"protocol=https\r\nhost=github.com\r\n\r\n"),
            ("NUL", b"protocol=https\nhost=github.com\0.evil\n\n"),
            ("twice", b"protocol=https\nhost=evil.test\nhost=github.com\n\n"),
            ("url", b"url=https://github.com/\n\n"),
            ("no =", b"protocol=https\nhost\n\n"),
            ("64 KiB", b"protocol=https\nhost=github.com\nx=" + b"y" * 65536),
            ("many lines", b"protocol=https\nhost=github.com\n" + b"".join(
                b"k%d=v\n" % i for i in range(500)) + b"\n"),
            ("LF in the path", b"protocol=https\nhost=github.com\n"
             b"path=a%0ahost=evil\x01\n\n")):
        code, text = ask(send)
        say("V33", case, not STAND_IN.search(text), text)
    control("V33")


def git(*words, **more):
    how = dict(os.environ, GIT_TERMINAL_PROMPT="0", **more)
    return run(["git", *words], env=how, limit=40, cwd=work)


def listener():
    """A proxy of the agent's own, that takes what it gets."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(15)
    return server


def clients():
    """A git that does as its user likes: all of it is a surrogate's leak."""
    leaks = {
        "alias": ("-c", "alias.leak=!" + GIT + " get <" + work + "/ask",
                  "leak"),
        "credential fill": ("-c", "x.y=z", "credential", "fill"),
        "pager": ("-c", "core.pager=" + GIT + " get <" + work +
                  "/ask; cat", "-p", "version"),
        "askpass": ("-c", "core.askPass=" + work + "/ask.sh", "ls-remote",
                    "https://github.com/otter/one.git"),
    }
    with open(work + "/ask", "wb") as f:
        f.write(ASK)
    for case, words in leaks.items():
        how = dict(os.environ, GIT_TERMINAL_PROMPT="0")
        code, text = run(["git", *words], ASK, env=how, limit=40, cwd=work)
        say("V7", case, not REAL.search(text), text[:80])
    control("V7")
    store = work + "/stored"
    code, text = run(["git", "credential", "fill"], ASK)
    say("V8", "credential fill is a surrogate", granted(text), text[:80], True)
    text = git("-c", "credential.helper=store --file " + store, "ls-remote",
               "https://github.com/otter/one.git")[1]
    kept = open(store).read() if os.path.exists(store) else ""
    say("V8", "a second helper stores the surrogate",
        "refs/heads/main" in text and not REAL.search(kept), kept or text)
    code, text = git("ls-remote", "https://github.com/otter/one.git",
                     GIT_TRACE_CURL="1", GIT_TRACE_REDACT="0",
                     GIT_CURL_VERBOSE="1")
    say("V9", "a trace of all headers", not REAL.search(text) and
        "Authorization: Basic" in text, text[-80:])
    control("V9")
    code, text = git("-c", "url.https://free.cred.test/.insteadOf="
                     "https://github.com/", "ls-remote",
                     "https://github.com/otter/one.git",
                     GIT_TRACE_CURL="1", GIT_TRACE_REDACT="0")
    say("V10", "insteadOf another host gets nothing",
        "Authorization: Basic" not in text, text[-80:])
    with listener() as server:
        with subprocess.Popen(
                ["git", "-c", "http.sslVerify=false", "-c",
                 "http.proxy=http://127.0.0.1:%d" % server.getsockname()[1],
                 "ls-remote", "https://github.com/otter/one.git"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
            conn = server.accept()[0]
            got = conn.recv(65536).decode("latin-1")
            conn.close()
            p.wait()
        say("V11", "a proxy of one's own sees no real token",
            "CONNECT github.com" in got and not REAL.search(got), got)
    control("V11")
    for case, words in (("auth token", ("auth", "token")),
                        ("alias", ("alias", "set", "-s", "leak",
                                   "echo $GH_TOKEN"))):
        code, text = run([GH, *words])
        say("V15", case, not REAL.search(text), text[:80])
    code, text = run([GH, "leak"])
    say("V15", "a shell alias has the surrogate", granted(text), text[:60],
        True)
    code, text = run([GH, "api", "user"], env=dict(os.environ,
                                                   GH_DEBUG="api"))
    say("V15", "GH_DEBUG=api", code == 0 and not REAL.search(text),
        text[-80:])
    code, text = git("ls-remote", "https://github.com/otter/one.git")
    say("V20", "git by Basic", "refs/heads/main" in text, text, True)


def state():
    with open("/proc/self/status") as f:
        status = dict(x.split(":", 1) for x in f.read().split("\n") if x)
    for name, want in (("CapBnd", 0), ("CapEff", 0), ("CapPrm", 0)):
        say("V32", name, int(status[name], 16) == want, status[name])
    say("V32", "filter", status.get("Seccomp", "2").strip() == "2",
        status.get("Seccomp"))
    say("V32", "uid", os.getresuid() == (1000,) * 3, os.getresuid(), True)
    refused("V31", "init-guard's environment",
            lambda: open("/proc/1/environ", "rb").read(1) or
            (_ for _ in ()).throw(PermissionError(13, "")))
    left = [x for base in ("/run", "/tmp") for d, _, names in os.walk(base)
            for x in names if re.search("grant|secret", x)]
    say("V31", "no file of secrets", not left, left)
    control("V31")


def main():
    fcntl.fcntl(1, fcntl.F_GETFD)
    for part in (peers, programs, odd_start, environment, limits, daemon,
                 protocol, clients, state, floods):
        try:
            part()
        except Exception as e:  # the rest goes on
            say("broken", part.__name__, False, repr(e))
    shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
