/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say_test.c - what net_proxy.so writes and when it does not, and
 * what it is made of
 */
#include "tests/unit/net-preload/preload_world.h"

#include <fcntl.h>
#include <pty.h>
#include <termios.h>

#define DENY "connect:4:b:tcp:198.18.0.2:8080 "
#define DENY_UDP "sendto:4:b:udp:198.18.0.2:8080 "
#define DENIED "ECONNREFUSED ENOTCONN\n"
#define LINES                                                           \
	"ac: blocked denied.example:8080 (not-allowed: no rule allows " \
	"it)\nac: allow it with: ac policy allow x denied.example:8080\n"

static void test_line(const char *guest)
{
	run("", guest, DENY);
	is_str(out, DENIED, "denied");
	is_str(err_out, LINES, "with the reason, and how to allow it");
	run("", guest, DENY DENY "connect:6:n:tcp:198.18.0.2:8080 " DENY_UDP);
	is_str(err_out, LINES, "once for a host");
	run("", guest,
	    "connect:4:b:tcp:198.18.0.12:8080 "
	    "connect:4:b:tcp:198.18.0.12:8080 ");
	is_str(err_out, LINES, "however often it is asked for");
	run("", guest,
	    DENY "connect:4:b:tcp:198.18.0.18:8080 "
		 "connect:4:b:tcp:198.18.0.2:8081");
	is_str(err_out, LINES LINES, "another name: again; another port: not");
	run("", guest, "connect:4:b:tcp:198.18.0.20:8080");
	is_str(out, DENIED, "a denial without a text");
	is_str(err_out, "", "is silent");
	run("", guest, "connect:4:b:tcp:198.18.0.19:8080");
	is_int(strlen(err_out), 512 + 4, "all of the longest text");
	run("", guest, "forks");
	is_str(out, "200 \n", "forked programs");
	is_str(err_out, LINES, "do not repeat what was told before");
	run("", guest, "threads");
	is_str(err_out, LINES, "a thousand threads say it once");
}

static void test_quiet(const char *guest)
{
	static const struct {
		const char *env, *out, *err;
	} rows[] = {
		{ "AC_NET_QUIET=1", DENIED, "" },
		{ "AC_NET_QUIET=yes", DENIED, "" },
		{ "AC_NET_QUIET=0", DENIED, LINES },
		{ "AC_NET_QUIET=", DENIED, LINES },
		{ "AC_NET_PRELOAD=off", "0 198.18.0.2\n", "" },
		{ "AC_NET_PRELOAD=offside", DENIED, LINES },
		{ "AC_NET_PRELOAD=on", DENIED, LINES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		run(rows[i].env, guest, DENY);
		is_str(out, rows[i].out, "%s", rows[i].env);
		is_str(err_out, rows[i].err, "and its line");
	}
}

/* Descriptor 2 is somebody else's. */
static void test_elsewhere(const char *guest)
{
	run("GUEST_FILE=data", guest, "replaced");
	is_str(out, "ECONNREFUSED 0 \n", "nothing gets into a data file");
	run("", guest, DENY "2>&-");
	is_str(out, DENIED, "standard error closed at the start");
	run("", guest, DENY "2>/dev/null");
	is_str(out, DENIED, "or sent away");
}

/* Neither ends the program, and no signal stays behind. */
static void test_signals(const char *guest)
{
	ok(sh("cd %s && GUEST_LIMIT=1 LD_PRELOAD=%s ./%s no-signal 2>data | "
	      "cat >out",
	      top, shim, guest),
	   "a file at its limit");
	outputs();
	is_str(out, "ECONNREFUSED 1000 \n", "no SIGXFSZ");
	/* It starts after the reader has gone. */
	ok(sh("cd %s && { sleep 0.2; LD_PRELOAD=%s ./%s no-signal 2>&1 >out; } "
	      "| :",
	      top, shim, guest),
	   "a reader that has gone");
	outputs();
	is_str(out, "ECONNREFUSED 1000 \n", "no SIGPIPE");
}

static void test_full(const char *guest)
{
	static const char fill[4096];
	char more[4096];
	bool same = true;
	int p[2];

	if (!ok(pipe(p) == 0, "a pipe"))
		return;
	fcntl(p[1], F_SETFL, O_NONBLOCK);
	while (write(p[1], fill, sizeof(fill)) > 0)
		;
	fcntl(p[1], F_SETFL, 0);
	dup2(p[1], 9);
	run("", guest, DENY "2>&9");
	is_str(out, DENIED, "standard error full: nobody waits for it");
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	while (read(p[0], more, sizeof(more)) == (ssize_t)sizeof(more))
		same = same && memcmp(more, fill, sizeof(fill)) == 0;
	ok(same, "and nothing was added");
	close(p[0]);
	close(p[1]);
	close(9);
}

/* What the guest draws on, as @stty has it: did the line come? */
static bool on_terminal(const char *guest, const char *stty)
{
	char text[4096];
	size_t len = 0;
	int fd, status;
	ssize_t n;
	pid_t pid = forkpty(&fd, NULL, NULL, NULL);

	if (pid == 0) {
		SCOPED_STR words = str_printf(
			"cd %s && stty %s && LD_PRELOAD=%s ./%s " DENY ">out",
			top, stty, shim, guest);

		execl("/bin/sh", "sh", "-c", words, (char *)NULL);
		_exit(127);
	}
	while (len < sizeof(text) - 1 &&
	       (n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	waitpid(pid, &status, 0);
	close(fd);
	outputs();
	ok(status == 0 && strcmp(out, DENIED) == 0, "denied on a terminal");
	return strstr(text, "ac: blocked denied.example") != NULL;
}

static void test_terminal(const char *guest)
{
	ok(on_terminal(guest, "sane"), "a terminal of lines: told");
	ok(!on_terminal(guest, "raw"), "one that is drawn on: not");
	ok(!on_terminal(guest, "sane tostop"), "one that stops us: not");
}

static void test_ipv6(const char *guest)
{
	run("AC_NET_PRELOAD=off", guest, "ipv6");
	if (!strstr(out, "UNREACH") && !strstr(out, "EADDRNOTAVAIL")) {
		skip("no IPv6 here: %s", out);
		return;
	}
	ok(err_out[0] == '\0', "off: nothing");
	run("", guest, "ipv6");
	is_str(err_out,
	       "ac: IPv6 does not leave the sandbox; use a name or an IPv4 "
	       "address\n",
	       "IPv6 is told of once");
	is_int(asked(), 0, "and asked for never");
}

/* Both libcs have these, and no version is asked for. */
static void test_object(void)
{
	ok(sh("! readelf -dW %s | grep -q NEEDED", shim), "needs no library");
	ok(sh("! readelf -VW %s | grep -q 'Name:'", shim), "asks no version");
	ok(sh("readelf --dyn-syms -W %s | awk '$7 ~ /^[0-9]+$/ && $5 != "
	      "\"LOCAL\" { print $8 }' | sort | tr '\\n' ' ' | "
	      "grep -qx 'connect prctl sendmmsg sendmsg sendto '",
	      shim),
	   "exports the hooks alone");
	ok(sh("! readelf --dyn-syms -W %s | awk '$7 == \"UND\" && $8 != \"\" "
	      "{ print $8 }' | grep -qvxE 'syscall|__errno_location|dlsym|"
	      "getenv|getauxval|clock_gettime|memcpy|memset|memcmp|memmove|"
	      "__stack_chk_fail'",
	      shim),
	   "takes only what every libc has");
	ok(sh("test $(readelf -lW %s | grep -c ' LOAD ') = 2", shim),
	   "is two mappings");
	ok(sh("test $(readelf -lW %s | awk '$1 == \"LOAD\" && / RW / "
	      "{ print $6 }' | xargs printf '%%d') -le 4096",
	      shim),
	   "and a page of data");
	ok(sh("! readelf -dW %s | grep -q TEXTREL", shim), "code is shared");
	ok(sh("! readelf -lW %s | grep GNU_STACK | grep -q RWE", shim),
	   "no stack that can be run");
}

int main(void)
{
	if (!preload_begin() || !world_start()) {
		skip("no network namespaces, or no ip(8), here");
		preload_end();
		return done_testing();
	}
	test_object();
	if (ok(guest_make("cc", "guest"), "a program")) {
		test_line("guest");
		test_quiet("guest");
		test_elsewhere("guest");
		test_signals("guest");
		test_full("guest");
		test_terminal("guest");
		test_ipv6("guest");
	}
	preload_end();
	return done_testing();
}
