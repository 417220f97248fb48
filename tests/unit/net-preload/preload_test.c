/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_test.c - net_proxy.so in programs of glibc and of musl
 *
 * Whatever is not denied must come out as the kernel alone has it: each case
 * is also run with AC_NET_PRELOAD=off, and the two are compared.
 */
#include "tests/unit/net-preload/preload_world.h"

#define OFF "AC_NET_PRELOAD=off"
#define NOBODY "198.18.1.1" /* where no gateway listens */

static const char *const calls[] = { "connect", "sendto", "fastopen", "sendmsg",
				     "sendmmsg" };
/* Allowed, denied, passed, and one that refuses the question. */
static const char *const targets[] = { GATE_NAMES "1",    GATE_NAMES "2",
				       GATE_NAMES "3",    NOBODY,
				       GATE_LITERALS "1", GATE_LITERALS "2" };
static const char *const protocols[] = { "tcp", "udp" };
#define ROUND (ARRAY_SIZE(protocols) * ARRAY_SIZE(targets)) /* of a call */

/* TCP without MSG_FASTOPEN looks at no address, and a connect() of UDP sends
 * nothing. */
static const char *denial(const char *call, const char *protocol,
			  const char *target)
{
	bool tcp = strcmp(protocol, "tcp") == 0;
	bool connects = strcmp(call, "connect") == 0;

	if (strcmp(target, targets[1]) != 0 && strcmp(target, targets[5]) != 0)
		return NULL;
	if (tcp)
		return connects || strcmp(call, "fastopen") == 0 ?
			       "ECONNREFUSED ENOTCONN" :
			       NULL;
	return connects ? NULL : "EHOSTUNREACH ENOTCONN";
}

static char *next_line(char **rest)
{
	char *line = *rest ? strsep(rest, "\n") : NULL;

	return line ? line : (char *)(uintptr_t) "";
}

static void compare(const char *call, const char *how, char *on, char *off)
{
	for (size_t i = 0; i < 2 * ROUND; i++) {
		const char *protocol = protocols[i / ARRAY_SIZE(targets) % 2];
		const char *target = targets[i % ARRAY_SIZE(targets)];
		const char *want = denial(call, protocol, target);
		const char *got = next_line(&on);
		const char *kernel = next_line(&off);

		is_str(got, want ? want : kernel, "%s %s %s %s, time %zu", call,
		       how, protocol, target, 1 + i / ROUND);
	}
	ok(on && off && *on == '\0' && *off == '\0', "and that was all");
}

/* Every call, family and mode; each target in one program, twice, so that the
 * second is from the cache. */
static void test_table(const char *guest)
{
	for (size_t i = 0; i < 4 * ARRAY_SIZE(calls); i++) {
		const char *call = calls[i / 4];
		const char *how =
			(const char *[]){ "4:b", "4:n", "6:b", "6:n" }[i % 4];
		SCOPED_STR on = NULL;
		char acts[2048];
		size_t n = 0;

		for (size_t k = 0; k < 2 * ARRAY_SIZE(targets); k++)
			n += (size_t)snprintf(
				acts + n, sizeof(acts) - n, "%s:%s:%s:%s:%d ",
				call, how, protocols[k / ARRAY_SIZE(targets)],
				targets[k % ARRAY_SIZE(targets)], PORT);
		run("", guest, "%s %s", acts, acts);
		on = str_printf("%s", out);
		run(OFF, guest, "%s %s", acts, acts);
		is_int(asked(), 0, "switched off, nobody is asked");
		if (!on || !ok(strlen(on) > 100, "%s %s ran", call, how))
			return;
		compare(call, how, on, out);
	}
}

static void test_peer(const char *guest)
{
	run("", guest,
	    "connect:4:b:tcp:198.18.0.1:8080 connect:6:n:tcp:198.18.0.1:8080 "
	    "connect:4:b:udp:198.18.0.1:8080");
	is_str(out,
	       "0 198.18.0.1\nEINPROGRESS 0 ::ffff:198.18.0.1\n0 198.18.0.1\n",
	       "the peer is who was asked for");
	is_int(asked(), 1, "a connect() of UDP is not asked for");
	run("", guest,
	    "sendto:4:b:udp:198.18.0.2:8080 connect:4:b:tcp:198.18.0.2:8080 "
	    "sendto:4:b:udp:198.18.0.2:8080 sendto:4:b:udp:198.18.0.1:8080 "
	    "connect:4:b:tcp:198.18.0.1:8080");
	is_int(asked(), 4, "else one question a protocol");
	run("", guest, "learn");
	is_str(out, "0 1 0 1 0 1 0 1 0 1 0 1 \n",
	       "a resolver learns its own address");
	is_str(err_out, "", "and nothing is said of it");
	is_int(asked(), 0, "or asked for");
	run("", guest,
	    "connect:4:b:tcp:198.18.0.2:8080 connect:4:b:tcp:198.18.0.2:8080 "
	    "connect:4:b:tcp:198.18.0.2:8081 connect:4:b:tcp:198.18.0.12:8080 "
	    "connect:4:b:tcp:198.18.0.12:8080");
	is_int(gate.seen->asks[GATE_DENY], 2, "one a port");
	is_int(gate.seen->asks[GATE_FORGET], 2, "what is not kept, each time");
}

/* What the program says of itself. */
static void test_claim(const char *guest)
{
	SCOPED_STR path = str_printf("%s/%s", top, guest);
	const uint8_t *at = gate.seen->last;

	run("", guest, "connect:4:b:tcp:198.18.0.1:8443");
	at += gate.seen->last_len - strlen(path);
	ok(gate.seen->last_len > 60 && memcmp(at, path, strlen(path)) == 0,
	   "the question ends with the program's path");
	ok(at[-1] == strlen(path) && at[-7] == 8443 >> 8 &&
		   at[-6] == (8443 & 0xff) && at[-8] == 6 && at[-9] == 1,
	   "port, protocol and version before it");
	run("", guest,
	    "connect:4:b:tcp:198.18.0.17:1 connect:4:b:tcp:198.18.0.1:8443");
	ok(memcmp(at, path, strlen(path)) == 0 && at[-6] == (8443 & 0xff) &&
		   asked() == 2,
	   "a second question has it too");
	run("",
	    "a-path-of-many-bytes-a-path-of-many-bytes-a-path-of-many-bytes-"
	    "a-path-of-many-bytes-a-path-of-many-bytes",
	    "connect:4:b:tcp:198.18.0.1:8443");
	ok(at[0] != 0 &&
		   memcmp(gate.seen->last + gate.seen->last_len - 5, "bytes",
			  5) == 0 &&
		   gate.seen->last[gate.seen->last_len - 96] == 95,
	   "of a long one the end");
}

static void test_answers(const char *guest)
{
	static const struct {
		const char *first;
		enum gate_way way;
		unsigned asks; /* of two calls */
	} rows[] = {
		{ "0", GATE_SHORT, 1 },     { "0", GATE_LONG, 1 },
		{ "0", GATE_BARE, 1 },      { "0", GATE_REFUSED, 1 },
		{ "0", GATE_ESCAPE, 1 },    { "0", GATE_TWICE, 1 },
		{ "0", GATE_SILENT, 1 },    { "0", GATE_FOREIGN, 1 },
		{ "0", GATE_ELSEWHERE, 1 }, { "0", GATE_QUESTION, 1 },
		{ "E", GATE_SLOW, 1 },      { "E", GATE_LATER, 1 },
		{ "E", GATE_CASE, 1 },      { "E", GATE_SOA, 1 },
		{ "E", GATE_WORDY, 1 },     { "E", GATE_MUTE, 1 },
		{ "0", GATE_PASS, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		run("", guest,
		    "connect:4:b:tcp:" GATE_NAMES "%d:%d "
		    "connect:4:b:tcp:" GATE_NAMES "%d:%d",
		    (int)rows[i].way, PORT, (int)rows[i].way, PORT);
		ok(out[0] == rows[i].first[0], "answer %d: %s", rows[i].way,
		   out);
		is_int(gate.seen->asks[rows[i].way], rows[i].asks,
		       "and asked so often");
	}
}

/* Nobody answers: nobody is asked for a while, and nothing is denied. An
 * address that refuses the question is left alone, others are not. */
static void test_silence(const char *guest)
{
	run("", guest,
	    "connect:4:b:tcp:198.18.0.4:8080 connect:4:b:tcp:198.18.0.2:8080 "
	    "sendto:4:b:udp:198.18.0.2:8080");
	is_str(out, "0 198.18.0.4\n0 198.18.0.2\n0 ENOTCONN\n",
	       "no answer: everything passes");
	is_int(asked(), 1, "after one question");
	run("", guest,
	    "connect:4:b:tcp:" NOBODY ":8080 connect:4:b:tcp:" NOBODY ":8081 "
	    "connect:4:b:tcp:198.18.0.2:8080");
	is_str(out,
	       "0 " NOBODY "\nECONNREFUSED ENOTCONN\nECONNREFUSED ENOTCONN\n",
	       "an address that refuses it");
	is_int(gate.seen->asks[GATE_DENY], 1, "is no reason not to ask others");
}

/* As the kernel has it. */
static void test_same(const char *guest)
{
	static const char *const scenes[] = { "connected",     "in-progress",
					      "failed-before", "odd-sockets",
					      "left-alone",    "epoll" };

	for (size_t i = 0; i < ARRAY_SIZE(scenes); i++) {
		SCOPED_STR off = NULL;

		run(OFF, guest, "%s", scenes[i]);
		off = str_printf("%s", out);
		run("", guest, "%s", scenes[i]);
		is_str(out, off, "%s is as without", scenes[i]);
		is_str(err_out, "", "and silent");
		if (strcmp(scenes[i], "left-alone") == 0)
			is_int(asked(), 0, "nobody is asked");
	}
}

static void test_scenes(const char *guest)
{
	static const struct {
		const char *scene, *want;
	} rows[] = {
		{ "mixed", "2 5 0 EHOSTUNREACH 1 0 EBADF 0 \n" },
		{ "threads", "0 ECONNREFUSED 1000 0 \n" },
		{ "forks", "200 \n" },
		{ "vfork", "ECONNREFUSED 0 ECONNREFUSED \n" },
		{ "handler", "0 \n" },
		{ "jumps", "20 0 0 \n" },
		{ "descriptors", "3 \n" },
		{ "above", "1 -1 \n" },
		{ "one-call", "0 1 \n" },
		{ "no-descriptor", "0 ECONNREFUSED \n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int rc = run("", guest, "%s", rows[i].scene);

		is_str(out, rows[i].want, "%s", rows[i].scene);
		is_int(rc, 0, "and ended well");
	}
}

/* Nobody waits for the one who asks, and nobody asks too. */
static void test_crowd(const char *guest)
{
	run("", guest, "crowd");
	is_str(out, "400 \n", "400 threads to one address");
	is_int(gate.seen->asks[GATE_ALLOW], 1, "ask once");
}

static void test_dlopen(const char *cc, const char *guest)
{
	ok(sh("%s -shared -fPIC -o %s/library.so tests/fake/preload/library.c",
	      cc, top),
	   "a library");
	run("GUEST_LIBRARY=./library.so", guest, "dlopen");
	is_str(out, "ECONNREFUSED 0 ECONNREFUSED 0 ECONNREFUSED 0 \n",
	       "one that is loaded late, and goes again");
}

static void test_guest(const char *cc, const char *name)
{
	if (!guest_make(cc, name)) {
		skip("no %s here", cc);
		return;
	}
	printf("# by %s\n", cc);
	sh("ln -f %s/%s %s/a-path-of-many-bytes-a-path-of-many-bytes-a-path-of-"
	   "many-bytes-a-path-of-many-bytes-a-path-of-many-bytes",
	   top, name, top);
	test_peer(name);
	test_claim(name);
	test_table(name);
	test_answers(name);
	test_silence(name);
	test_same(name);
	test_scenes(name);
	test_crowd(name);
	test_dlopen(cc, name);
}

static void test_valgrind(void)
{
	if (!sh("command -v valgrind >/dev/null")) {
		skip("no valgrind here");
		return;
	}
	sh("printf '#!/bin/sh\\nexec valgrind -q --error-exitcode=99 "
	   "--trace-children=no ./guest \"$@\"\\n' >%s/checked && "
	   "chmod 755 %s/checked",
	   top, top);
	is_int(run("", "checked",
		   "connect:4:b:tcp:198.18.0.1:8080 again mixed vfork "
		   "connect:6:n:tcp:198.18.0.2:8080 descriptors"),
	       0, "valgrind has nothing to say of it");
	ok(strstr(out, "ECONNREFUSED") && !strstr(err_out, "=="), "%s",
	   err_out);
}

int main(void)
{
	if (!preload_begin() || !world_start()) {
		skip("no network namespaces, or no ip(8), here");
		preload_end();
		return done_testing();
	}
	test_guest("cc", "guest");
	test_guest("musl-gcc", "guest-musl");
	test_valgrind();
	preload_end();
	return done_testing();
}
