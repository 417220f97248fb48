/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard_test.c - the real init-guard as PID 1, driven over its link
 *
 * INIT_GUARD is the binary (build/init-guard). Needs root and mounts; where
 * these are not to be had the tests are skipped.
 */
#include <sys/resource.h>

#include "tests/unit/init-guard/guest.h"

#define MB (1024u * 1024)

static struct guest g;

/* Runs a script to its end. Its number, 0 when it did not end. */
static uint32_t run_flags(uint32_t flags, const char *script)
{
	uint32_t id = guest_sh(&g, flags, script);

	return id && guest_until(&g, &g.ch[id].over) ? id : 0;
}

static uint32_t run(const char *script)
{
	return run_flags(0, script);
}

static void test_exits(void)
{
	static const struct {
		const char *script;
		enum link_exit_kind kind;
		uint32_t value;
	} cases[] = {
		{ "true", LINK_EXITED, 0 },
		{ "false", LINK_EXITED, 1 },
		{ "exit 42", LINK_EXITED, 42 },
		{ "kill -9 $$", LINK_SIGNALED, 9 },
		{ "kill -SEGV $$", LINK_SIGNALED, 11 },
	};
	uint32_t id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		id = run(cases[i].script);
		ok(id && g.ch[id].started &&
			   g.ch[id].exit.kind == cases[i].kind &&
			   g.ch[id].exit.value == cases[i].value,
		   "sh -c '%s'", cases[i].script);
	}
	id = run("sleep 0.1");
	ok(id && g.ch[id].exit.wall_ns > 90000000 &&
		   g.ch[id].exit.wall_ns < 10000000000,
	   "the wall time is told");
}

static void test_noexec(void)
{
	static const struct {
		const char *argv0, *cwd;
		uint32_t want;
	} cases[] = {
		{ "no-such-program", "", ENOENT },
		{ "/no/such/program", "", ENOENT },
		{ "/etc/passwd", "", EACCES },
		{ "/etc", "", EACCES },
		{ "/etc/passwd/x", "", ENOTDIR },
		{ "", "", ENOENT },
		{ "true", "/no/such/directory", ENOENT },
		{ "true", "/root", EACCES },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *argv[] = { cases[i].argv0, NULL };
		struct link_exec x = { .argv = argv, .cwd = cases[i].cwd };
		uint32_t id = guest_exec(&g, &x);

		guest_until(&g, &g.ch[id].over);
		ok(!g.ch[id].started &&
			   g.ch[id].exit.kind == (cases[i].cwd[0] ?
							  LINK_NOCWD :
							  LINK_NOEXEC) &&
			   g.ch[id].exit.value == cases[i].want,
		   "exec '%s' in '%s' is refused", cases[i].argv0,
		   cases[i].cwd);
		ok(!cases[i].cwd[0] == !buf_len(&g.ch[id].err),
		   "... and a line tells of a wrong directory only");
	}
}

static void test_path_search(void)
{
	static const char *const argv[] = { "hello", NULL };
	static const char *const env[] = { "PATH=/tmp/nox:/none:/tmp/bin",
					   NULL };
	static const char *const nox[] = { "PATH=/tmp/nox:/none", NULL };
	struct link_exec x = { .argv = argv, .env = env, .cwd = "/tmp" };
	uint32_t id;

	id = run("mkdir /tmp/bin /tmp/nox && cd /tmp && echo no > nox/hello &&"
		 "printf '#!/bin/sh\\necho found\\n' > bin/hello &&"
		 "cp bin/hello hello && chmod 755 bin/hello hello");
	ok(id && g.ch[id].exit.value == 0, "programs made");
	id = guest_exec(&g, &x);
	guest_until(&g, &g.ch[id].over);
	is_str(guest_text(&g, id), "found\n", "the agent's PATH is searched");
	x.env = nox;
	id = guest_exec(&g, &x);
	guest_until(&g, &g.ch[id].over);
	ok(g.ch[id].exit.kind == LINK_NOEXEC && g.ch[id].exit.value == EACCES,
	   "what is found but not executable is EACCES; cwd is not searched");
}

static void test_output(void)
{
	uint64_t t = clock_ns();
	uint32_t id = guest_sh(&g, 0, "head -c 104857600 /dev/zero");

	g.ch[id].discard = true;
	guest_until(&g, &g.ch[id].over);
	t = clock_ns() - t;
	is_int(g.ch[id].bytes, 100 * MB, "100 MB of output arrive");
	printf("# %.0f MB/s\n", 104857.6 / ((double)t / 1e6));

	id = run("printf '\\000\\377\\r\\n\\033[1mno newline'");
	ok(id && slice_eq(buf_slice(&g.ch[id].out),
			  slice_of("\0\377\r\n\033[1mno newline", 18)),
	   "binary output is not touched");
	id = run("echo out; echo err >&2; echo again > /proc/self/fd/1");
	is_str(guest_text(&g, id), "out\nagain\n", "stdout, by name too");
	ok(slice_eq(buf_slice(&g.ch[id].err), slice_str("err\n")), "stderr");
	id = run("head -c 3000000 /dev/zero; exit 5");
	ok(id && g.ch[id].bytes == 3000000 && g.ch[id].exit.value == 5,
	   "all output comes before the exit");
}

/* One channel that nobody reads leaves the others alone. */
static void test_stalled(void)
{
	uint32_t id = guest_sh(&g, 0, "head -c 5000000 /dev/zero"), other;

	g.ch[id].stalled = true;
	g.ch[id].discard = true;
	while (g.ch[id].bytes < LINK_WINDOW && guest_step(&g, 20000))
		;
	other = run("echo hi");
	is_str(guest_text(&g, other), "hi\n", "another channel goes on");
	is_int(g.ch[id].bytes, LINK_WINDOW, "not a byte over the credit");
	ok(!g.ch[id].over, "the stalled program waits");
	g.ch[id].stalled = false;
	guest_put_u32(&g, LINK_CREDIT, id, LINK_WINDOW);
	guest_until(&g, &g.ch[id].over);
	is_int(g.ch[id].bytes, 5000000, "and ends when it is read again");
}

static void test_stdin(void)
{
	static uint8_t chunk[65536];
	const uint32_t id = guest_sh(&g, LINK_EXEC_STDIN, "exec cat");
	size_t sent = 0, i;
	struct slice got;

	while (sent < 10 * MB && !g.ch[id].over) {
		if (LINK_WINDOW + g.ch[id].credit < sent + sizeof(chunk)) {
			if (!guest_step(&g, 20000))
				break;
			continue;
		}
		for (i = 0; i < sizeof(chunk); i++)
			chunk[i] = (uint8_t)((sent + i) * 31 >> 5);
		guest_put(&g, LINK_STDIN, id, chunk, sizeof(chunk));
		sent += sizeof(chunk);
		guest_step(&g, 0);
	}
	guest_put(&g, LINK_STDIN_EOF, id, NULL, 0);
	guest_until(&g, &g.ch[id].over);
	got = buf_slice(&g.ch[id].out);
	for (i = 0; i < got.len; i++) {
		if (got.ptr[i] != (uint8_t)(i * 31 >> 5))
			break;
	}
	is_int(i, 10 * MB, "10 MB through cat come back the same");
	is_int(g.ch[id].exit.value, 0, "... and it ends at the end of input");
}

static void test_stdin_unread(void)
{
	static uint8_t chunk[65536];
	uint32_t id = run("cat; echo end");
	size_t sent;

	is_str(guest_text(&g, id), "end\n", "no STDIN: input is empty");
	id = guest_sh(&g, LINK_EXEC_STDIN, "exec <&-; echo closed; sleep 0.5");
	while (buf_len(&g.ch[id].out) == 0 && guest_step(&g, 20000))
		;
	for (sent = 0; sent < 4 * MB; sent += sizeof(chunk)) {
		while (LINK_WINDOW + g.ch[id].credit < sent + sizeof(chunk) &&
		       guest_step(&g, 20000))
			;
		guest_put(&g, LINK_STDIN, id, chunk, sizeof(chunk));
	}
	guest_until(&g, &g.ch[id].over);
	ok(g.ch[id].credit >= 3 * MB, "input that nobody reads is dropped");
	is_int(g.ch[id].exit.value, 0, "... and kills nobody");
}

static void test_pty(void)
{
	const char *script = "stty size; tty >/dev/null && echo tty;"
			     "echo $TERM; read x;"
			     "stty size; echo \"got $x\"; cat";
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	const struct link_exec x = {
		.flags = LINK_EXEC_PTY | LINK_EXEC_STDIN,
		.rows = 30,
		.cols = 100,
		.argv = argv,
	};
	const uint32_t id = guest_exec(&g, &x);
	struct buf b;

	while (!strstr(guest_text(&g, id), "xterm") && guest_step(&g, 20000))
		;
	ok(strstr(guest_text(&g, id), "30 100\r\n"), "a terminal has its size");
	ok(strstr(guest_text(&g, id), "tty\r\n"), "... and a name");
	buf_init(&b, 64);
	ok(link_put_resize(&b, id, 41, 82) == 0 && guest_send(&g, &b) &&
		   guest_put(&g, LINK_STDIN, id, "hey\n", 4),
	   "resize, type");
	while (!strstr(guest_text(&g, id), "got hey") && guest_step(&g, 20000))
		;
	ok(strstr(guest_text(&g, id), "hey\r\n"), "what is typed is echoed");
	ok(strstr(guest_text(&g, id), "41 82\r\n"), "the new size is seen");
	guest_put(&g, LINK_STDIN_EOF, id, NULL, 0);
	ok(guest_until(&g, &g.ch[id].over) && g.ch[id].exit.value == 0,
	   "the end of input is typed");
}

static void test_pty_more(void)
{
	const char *none[] = { NULL };
	const struct link_exec login = {
		.flags = LINK_EXEC_PTY | LINK_EXEC_STDIN | LINK_EXEC_LOGIN,
		.argv = none,
	};
	uint32_t id = guest_exec(&g, &login);

	guest_put(&g, LINK_STDIN, id, "echo $0 $PWD; exit 3\n", 21);
	ok(guest_until(&g, &g.ch[id].over) && g.ch[id].exit.value == 3,
	   "a login shell runs");
	ok(strstr(guest_text(&g, id), "-bash /workspace\r\n") ||
		   strstr(guest_text(&g, id), "-sh /workspace\r\n"),
	   "... and knows that it is one");

	id = guest_sh(&g, LINK_EXEC_PTY | LINK_EXEC_STDIN,
		      "trap 'echo winch; exit 7' WINCH; echo on;"
		      "while :; do sleep 0.05; done");
	while (!strstr(guest_text(&g, id), "on") && guest_step(&g, 20000))
		;
	{
		struct buf b;

		buf_init(&b, 64);
		ok(link_put_resize(&b, id, 5, 6) == 0 && guest_send(&g, &b),
		   "resize");
	}
	guest_until(&g, &g.ch[id].over);
	is_int(g.ch[id].exit.value, 7, "a resize sends SIGWINCH");

	id = guest_sh(&g, LINK_EXEC_PTY | LINK_EXEC_STDIN,
		      "echo on; exec sleep 99");
	while (!strstr(guest_text(&g, id), "on") && guest_step(&g, 20000))
		;
	guest_put(&g, LINK_STDIN, id, "\3", 1);
	guest_until(&g, &g.ch[id].over);
	ok(g.ch[id].exit.kind == LINK_SIGNALED && g.ch[id].exit.value == 2,
	   "Ctrl-C interrupts");
	id = run_flags(LINK_EXEC_PTY, "head -c 200000 /dev/zero; exit 9");
	ok(id && g.ch[id].bytes == 200000 && g.ch[id].exit.value == 9,
	   "all of a terminal's output comes before the exit");
}

static void test_signal_close(void)
{
	uint32_t id = guest_sh(&g, 0, "echo on; exec sleep 99");
	uint64_t t;

	while (buf_len(&g.ch[id].out) == 0 && guest_step(&g, 20000))
		;
	guest_put_u32(&g, LINK_SIGNAL, id, SIGTERM);
	guest_until(&g, &g.ch[id].over);
	ok(g.ch[id].exit.kind == LINK_SIGNALED &&
		   g.ch[id].exit.value == SIGTERM,
	   "SIGNAL arrives");

	id = guest_sh(&g, 0,
		      "trap '' HUP; sleep 4242 & setsid sleep 4343 &"
		      "echo on; sleep 4242; sleep 4242");
	while (buf_len(&g.ch[id].out) == 0 && guest_step(&g, 20000))
		;
	t = clock_ms();
	guest_put(&g, LINK_CLOSE, id, NULL, 0);
	guest_until(&g, &g.ch[id].over);
	t = clock_ms() - t;
	ok(t >= 1900, "CLOSE kills what ignores a hang-up (%u ms)",
	   (unsigned int)t);
	id = run("sleep 0.1; grep -lE '4[23]4[23]' /proc/[0-9]*/cmdline |"
		 "grep -v /proc/$$/ | wc -l");
	is_str(guest_text(&g, id), "1\n", "its session is gone, others stay");

	id = guest_sh(&g, 0, "echo on; sleep 99");
	while (buf_len(&g.ch[id].out) == 0 && guest_step(&g, 20000))
		;
	t = clock_ms();
	guest_put(&g, LINK_CLOSE, id, NULL, 0);
	guest_put(&g, LINK_CLOSE, id, NULL, 0);
	guest_until(&g, &g.ch[id].over);
	ok(clock_ms() - t < 1900, "CLOSE hangs up at once");
}

static void test_children(void)
{
	uint32_t id;
	uint64_t t;

	id = run("for i in 1 2 3 4 5 6 7 8; do"
		 " (sh -c 'sleep 0.05 & exec true' &); done;"
		 "for i in $(seq 50); do sleep 0.1;"
		 " n=$(cat /proc/[0-9]*/stat | grep -c ') Z ');"
		 " [ $n -ne 0 ] || break; done; echo $n");
	is_str(guest_text(&g, id), "0\n", "orphans are reaped");

	t = clock_ms();
	id = run("(trap 'touch /tmp/broken' PIPE; sleep 2; echo late &&"
		 " echo later && touch /tmp/alive) & echo soon");
	ok(id && clock_ms() - t < 1900, "a background child delays no exit");
	is_str(guest_text(&g, id), "soon\n", "... and is not heard after it");
	id = run("sleep 2.3; ls /tmp/alive /tmp/broken 2>/dev/null");
	is_str(guest_text(&g, id), "/tmp/alive\n", "... and may go on writing");
	id = run("yes > /dev/null & yes & echo end; exit 4");
	ok(id && g.ch[id].exit.value == 4, "nor does one that floods");
	run("pkill yes || kill $(grep -l '^yes' /proc/[0-9]*/comm |"
	    " cut -d/ -f3)");
}

/* What an agent sees of itself and of us. */
static const struct {
	const char *what, *script, *want;
} agent_cases[] = {
	{ "ids", "id -u; id -g; id -G", "1000\n1000\n1000\n" },
	{ "no capability in any set",
	  "grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status |"
	  "grep -c 0000000000000000",
	  "5\n" },
	{ "a filter, and no no_new_privs",
	  "grep -E '^(Seccomp|NoNewPrivs):' /proc/self/status |"
	  "tr -d '\\t\\n'",
	  "NoNewPrivs:0Seccomp:2" },
	{ "no signal blocked or ignored",
	  "grep -E 'Sig(Blk|Ign)' /proc/self/status |"
	  "grep -vc 0000000000000000",
	  "0\n" },
	{ "umask, core and files", "umask; ulimit -c; ulimit -n",
	  "0022\n0\n512\n" },
	{ "only 0, 1 and 2 are open",
	  "for i in 0 1 2 3 4 5 6 7 8 9 10 11 12; do"
	  " test -e /proc/$$/fd/$i && echo $i; done",
	  "0\n1\n2\n" },
	{ "a session of its own",
	  "read a b c d e f g < /proc/$$/stat; test $f = $$ && echo y", "y\n" },
	{ "PID 1 is closed",
	  "for i in environ maps fd/0 fd/3 mem; do"
	  " (: < /proc/1/$i) 2>/dev/null && echo $i; done; echo end",
	  "end\n" },
	{ "PID 1 cannot be signalled", "kill -9 1 2>/dev/null || echo no",
	  "no\n" },
	{ "no user namespace", "unshare -U true 2>/dev/null || echo no",
	  "no\n" },
	{ "no setuid file",
	  "cp /bin/true /tmp/s; chmod u+s /tmp/s 2>/dev/null || echo a;"
	  "chmod g+s /tmp/s 2>/dev/null || echo b;"
	  "chmod 755 /tmp/s && echo c",
	  "a\nb\nc\n" },
	{ "PID 1's environment is destroyed, ours is there",
	  "env | grep -E 'SECRET|BOTH|ONE|TERM|^HOME|USER|LANG' | sort",
	  "BOTH=assign\nHOME=/home/node\nLANG=C.UTF-8\nONE=1\n"
	  "USER=node\n" },
	{ "malloc keeps what it has, up to a limit",
	  "env | grep ^MALLOC_ | sort",
	  "MALLOC_MMAP_THRESHOLD_=2097152\nMALLOC_TOP_PAD_=262144\n"
	  "MALLOC_TRIM_THRESHOLD_=4194304\n" },
	{ "home and workspace belong to it",
	  "pwd; touch a ~/b && stat -c %u . ~", "/workspace\n1000\n1000\n" },
};

/* What it is assigned, or less where this machine has less to give. */
static const char *nproc_text(void)
{
	static char text[64];
	struct rlimit r = { 0 };
	rlim_t n = GUEST_NPROC;

	if (getrlimit(RLIMIT_NPROC, &r) == 0 && r.rlim_max < n)
		n = r.rlim_max;
	snprintf(text, sizeof(text), "%llu %llu\n", (unsigned long long)n,
		 (unsigned long long)n);
	return text;
}

static void test_agent(void)
{
	static const char *const env[] = { "BOTH=exec", NULL };
	static const char *const argv[] = { "sh", "-c", "echo $BOTH $ONE",
					    NULL };
	const struct link_exec x = { .argv = argv, .env = env };
	uint32_t id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(agent_cases); i++) {
		id = run(agent_cases[i].script);
		is_str(guest_text(&g, id), agent_cases[i].want, "agent: %s",
		       agent_cases[i].what);
	}
	id = run("awk '/^Max processes/ { print $3, $4 }' /proc/self/limits");
	is_str(guest_text(&g, id), nproc_text(), "agent: processes");
	id = guest_exec(&g, &x);
	guest_until(&g, &g.ch[id].over);
	is_str(guest_text(&g, id), "exec 1\n", "the exec's environment wins");
	id = run("command -v git >/dev/null || exit 0; cd /tmp && git init -q r"
		 " && cd r && echo x > f && git add f && git -c user.name=a"
		 " -c user.email=a@b commit -qm x");
	is_int(g.ch[id].exit.value, 0, "git works");
	id = run("command -v python3 >/dev/null || exit 0; python3 -c 'import"
		 " subprocess,threading,tempfile; t=threading.Thread("
		 "target=lambda: subprocess.run([\"true\"],check=True));"
		 "t.start(); t.join(); tempfile.mkdtemp()'");
	is_int(g.ch[id].exit.value, 0, "python, threads and children work");
}

static void test_many(void)
{
	static const char *const argv[] = { "sleep", "0.7", NULL };
	const struct link_exec x = { .argv = argv };
	uint32_t first = g.last + 1, i, ran = 0, refused = 0;

	for (i = 0; i < LINK_CHANNELS_MAX + 1; i++)
		guest_exec(&g, &x);
	for (i = first; i <= g.last; i++) {
		guest_until(&g, &g.ch[i].over);
		ran += g.ch[i].exit.kind == LINK_EXITED;
		refused += g.ch[i].exit.kind == LINK_NOEXEC &&
			   g.ch[i].exit.value == EAGAIN;
	}
	ok(ran == LINK_CHANNELS_MAX && refused == 1,
	   "256 at once run, the next is refused (%u, %u)", ran, refused);
}

static void test_speed(void)
{
	static const char *const argv[] = { "/bin/true", NULL };
	const struct link_exec x = { .argv = argv };
	uint64_t t = clock_ns();
	uint32_t id;
	int i;

	for (i = 0; i < 50; i++) {
		id = guest_exec(&g, &x);
		guest_until(&g, &g.ch[id].over);
	}
	printf("# exec true: %.2f ms\n", (double)(clock_ns() - t) / 50e6);
	ok(guest_put(&g, LINK_PING, 0, "x", 1) && guest_until(&g, &g.pong),
	   "PING is answered");
}

/* Starts @script, which says so when its trap is set, and sends QUIT. Returns
 * its channel when the guest has closed the link. */
static uint32_t quit(const char *script, uint32_t grace_ms)
{
	uint32_t id = guest_sh(&g, 0, script);

	while (id && buf_len(&g.ch[id].out) == 0 && guest_step(&g, 20000))
		;
	guest_put_u32(&g, LINK_QUIT, 0, grace_ms);
	while (guest_step(&g, 20000))
		;
	return id;
}

/* With a grace that a busy machine does not use up: what ends of TERM ends the
 * guest. */
static void test_quit(void)
{
	uint32_t id = quit("trap 'echo bye; exit 6' TERM; echo on;"
			   "while :; do sleep 0.02; done",
			   600000);

	is_str(guest_text(&g, id), "on\nbye\n", "QUIT: TERM to all");
	ok(g.ch[id].over && g.ch[id].exit.value == 6, "... with its exit code");
	is_int(guest_wait(&g, true), 0, "... and exit 0");
	ok(!g.bad, "no frame was out of place");
}

static void test_quit_deaf(void)
{
	const uint64_t grace_ns = UINT64_C(100) * 1000 * 1000;
	uint64_t t = clock_ns();
	uint32_t id;

	g = (struct guest){ 0 };
	ok(guest_up(&g, GUEST_SOCKET), "another guest %s", g.fail_text);
	id = quit("trap '' TERM; echo on; while :; do sleep 0.02; done",
		  (uint32_t)(grace_ns / 1000000));
	ok(g.ch[id].over && g.ch[id].exit.value == SIGKILL,
	   "QUIT: KILL to what does not hear TERM");
	ok(clock_ns() - t >= grace_ns, "... not before the grace is over");
	is_int(guest_wait(&g, true), 0, "... and exit 0");
	ok(!g.bad, "no frame was out of place");
}

int main(void)
{
	if (!guest_possible(&g))
		return done_testing();
	test_exits();
	test_noexec();
	test_path_search();
	test_output();
	test_stalled();
	test_stdin();
	test_stdin_unread();
	test_pty();
	test_pty_more();
	test_signal_close();
	test_children();
	test_agent();
	test_speed();
	test_many();
	test_quit();
	guest_done(&g);
	test_quit_deaf();
	guest_done(&g);
	return done_testing();
}
