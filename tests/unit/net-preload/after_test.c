/* SPDX-License-Identifier: Apache-2.0 */
/*
 * after_test.c - what net_proxy.so tells of hosts that were allowed and
 * could not be reached: when a program goes there again, and when it ends
 *
 * The shim here waits 3 s for an answer: a slow machine is not a silent gateway.
 */
#define PRELOAD_SHIM "net_proxy_patient.so"
#include "tests/unit/net-preload/preload_world.h"

#define TO(way) "connect:4:b:tcp:198.18.0." way ":8080 "
#define ALLOWED TO("1")
#define DENIED TO("2")
#define PASSED TO("3")
#define FAILED TO("23")
#define RASH TO("24")
#define BRUSH TO("25")
#define LOST TO("26")
#define HIDDEN TO("27")
#define CHANGED TO("28")
#define LINE "ac: could not reach failed.example:8080 (connect-refused)\n"
#define LINE_OF_HIDDEN \
	"ac: could not reach hidden.example:8080 (connect-refused)\n"

struct after_case {
	const char *what, *env, *acts, *err;
	int status; /* as system(3) has it */
	unsigned asked, after; /* questions before and afterwards */
};

static const struct after_case cases[] = {
	{ "a host that was not reached", "", FAILED, LINE, 0, 1, 1 },
	{ "told once, however often", "", FAILED FAILED FAILED, LINE, 0, 1, 1 },
	{ "each of two", "", FAILED HIDDEN, LINE LINE_OF_HIDDEN, 0, 2, 2 },
	{ "of a mapped address", "", "connect:6:n:tcp:198.18.0.23:8080", LINE,
	  0, 1, 1 },
	{ "of MSG_FASTOPEN", "", "fastopen:4:b:tcp:198.18.0.23:8080", LINE, 0,
	  1, 1 },
	{ "one that was reached", "", ALLOWED, "", 0, 1, 1 },
	{ "one where the bytes decide", "", PASSED, "", 0, 1, 1 },
	{ "going there again tells at once", "", HIDDEN HIDDEN "leave",
	  LINE_OF_HIDDEN, 0, 2, 0 },
	{ "and once for all", "", HIDDEN HIDDEN HIDDEN, LINE_OF_HIDDEN, 0, 3,
	  1 },
	{ "no question without exit(3)", "", FAILED "leave", "", 0, 1, 0 },
	{ "before the first connection nothing can have failed", "",
	  RASH "leave", "", 0, 1, 0 },
	{ "a text that would colour the terminal", "", BRUSH, "", 0, 1, 1 },
	{ "what is denied meanwhile is not told as a failure", "", CHANGED, "",
	  0, 1, 1 },
	{ "nobody answers any more", "", LOST, "", 0, 1, 1 },
	{ "nor is anybody else asked then", "", LOST ALLOWED, "", 0, 2, 1 },
	{ "nothing was allowed", "", "sendto:4:b:udp:198.18.0.23:8080", "", 0,
	  1, 0 },
	{ "no connection", "", "learn", "", 0, 0, 0 },
	{ "told to be quiet", "AC_NET_QUIET=1", FAILED, "", 0, 1, 0 },
	{ "switched off", "AC_NET_PRELOAD=off", FAILED, "", 0, 0, 0 },
	{ "the exit status stays", "", FAILED "nonsense", LINE, 2 << 8, 1, 1 },
	{ "children ask nothing", "", "offspring", LINE, 0, 1, 1 },
	{ "nor who has confined itself", "", "confined", "", 0, 1, 0 },
};

static void test_cases(const char *guest)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct after_case *c = &cases[i];

		is_int(run(c->env, guest, "%s", c->acts), c->status,
		       "%s: its status", c->what);
		is_str(err_out, c->err, "%s", c->what);
		is_int(asked(), c->asked, "%s: asked before", c->what);
		is_int(sum(gate.seen->after), c->after, "%s: and after",
		       c->what);
	}
}

/* A denial of the same host is another line. */
static void test_denied_too(const char *guest)
{
	run("", guest, DENIED FAILED);
	ok(strstr(err_out, "ac: blocked denied.example") &&
		   strstr(err_out, LINE),
	   "a denial and a failure are two lines");
	is_int(gate.seen->after[GATE_DENY], 0, "what was denied is not asked");
}

static void test_many(const char *guest)
{
	char acts[1024];
	size_t n = 0;

	for (int port = 9000; port < 9020; port++)
		n += (size_t)snprintf(acts + n, sizeof(acts) - n,
				      "connect:4:b:tcp:198.18.0.1:%d ", port);
	run("", guest, "%s", acts);
	is_int(asked(), 20, "twenty places");
	is_int(sum(gate.seen->after), 8, "asked about eight");
}

static void test_scenes(const char *guest)
{
	run("", guest, "offspring");
	is_str(out, "0 5 \n", "forked children end as they would");
	run("", guest, "confined");
	is_str(out, "3 \n", "a filter is not broken");
	run("", guest, FAILED "2>&-");
	is_str(out, "0 198.18.0.23\n", "standard error closed");
	is_int(sum(gate.seen->after), 0, "then nobody is asked");
}

static void test_guest(const char *cc, const char *name)
{
	if (!guest_make(cc, name)) {
		skip("no %s here", cc);
		return;
	}
	printf("# by %s\n", cc);
	test_cases(name);
	test_denied_too(name);
	test_many(name);
	test_scenes(name);
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
	preload_end();
	return done_testing();
}
