/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_test.c - the variables that go with the shim
 */
#include "init-guard/start/preload.h"

#include <link.h>
#include <stdlib.h>

#include "lib/file.h"
#include "tests/unit/init-guard/guest.h"

static void test_asan(void)
{
	static const struct {
		const char *old, *want; /* NULL: left as it is */
	} cases[] = {
		{ "", "ASAN_OPTIONS=verify_asan_link_order=0" },
		{ "detect_leaks=0",
		  "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0" },
		{ "verify_asan_link_order=1", NULL },
		{ "a=1:verify_asan_link_order=0:b=2", NULL },
		{ "a value that is far too long for the room that there is, "
		  "which is that of eighty bytes in here",
		  NULL },
	};
	char out[80];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool set = preload_asan(cases[i].old, out, sizeof(out));

		is_int(set, cases[i].want != NULL, "'%s': to be changed?",
		       cases[i].old);
		if (set && cases[i].want)
			is_str(out, cases[i].want, "... to this");
	}
}

/* The environment of an agent for whom @env was given. */
static void agent_make(struct agent *ag, const char *env)
{
	struct link_assign_args a = { .env = calloc(2, sizeof(*a.env)) };

	a.env[0] = env ? strdup(env) : NULL;
	*ag = (struct agent){ .shell_env = "SHELL=/bin/sh" };
	if (agent_init(ag, &a) < 0)
		abort();
}

/* What @name is after preload_name(); "-": it is not set. READY: what was
 * entered there. */
static const char *value(const struct preload *p, const char *env,
			 const char *name, char *out, size_t size)
{
	struct report r = { 0 };
	const char *v;
	struct agent ag;

	agent_make(&ag, env);
	preload_name(p, &ag, &r);
	if (strcmp(name, "READY") == 0) {
		snprintf(out, size, "%s", r.list[0]);
		agent_done(&ag);
		return out;
	}
	v = env_value(ag.env, name);
	snprintf(out, size, "%s", v ? v : "-");
	agent_done(&ag);
	return out;
}

static void test_name(void)
{
	static const struct preload none = { 0 };
	static const struct preload listed = { .there = true };
	static const struct preload by_env = { .there = true, .by_env = true };
	static const struct {
		const struct preload *p;
		const char *env, *name, *want, *what;
	} cases[] = {
		{ &none, NULL, "ASAN_OPTIONS", "-", "no shim: no options" },
		{ &none, NULL, "LD_PRELOAD", "-", "... and no variable" },
		{ &listed, NULL, "LD_PRELOAD", "-", "glibc finds it listed" },
		{ &listed, NULL, "ASAN_OPTIONS",
		  "verify_asan_link_order=0:detect_leaks=0",
		  "ASan does not insist on being first" },
		{ &listed, "ASAN_OPTIONS=x=1", "ASAN_OPTIONS",
		  "x=1:verify_asan_link_order=0", "... with the user's own" },
		{ &listed, "ASAN_OPTIONS=verify_asan_link_order=1",
		  "ASAN_OPTIONS", "verify_asan_link_order=1",
		  "... unless he says so" },
		{ &by_env, NULL, "LD_PRELOAD", PRELOAD_SO,
		  "a loader without a list gets a variable" },
		{ &by_env, "LD_PRELOAD=/mine.so", "LD_PRELOAD", "/mine.so",
		  "... but the user's stays" },
		{ &by_env, "LD_PRELOAD=/mine.so", "ASAN_OPTIONS", "-",
		  "... and goes without options" },
		{ &by_env, "LD_PRELOAD=/mine.so", "READY",
		  "preload=skipped: LD_PRELOAD is set to something else",
		  "... which READY says" },
		{ &by_env, "LD_PRELOAD=/a.so:" PRELOAD_SO, "READY",
		  "preload=ok", "... unless it names ours too" },
		{ &listed, "LD_PRELOAD=/mine.so", "READY", "preload=ok",
		  "a list is not asked about it" },
		{ &none, NULL, "READY", "preload=skipped: no " PRELOAD_SO,
		  "no shim: READY says so" },
	};
	char got[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_str(value(cases[i].p, cases[i].env, cases[i].name, got,
			     sizeof(got)),
		       cases[i].want, "%s", cases[i].what);
}

/* ---- a guest whose image has it ---- */

static struct guest g;
static char library[PATH_MAX]; /* any that can be loaded: libc */

static int libc_find(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	snprintf(library, sizeof(library), "%s", info->dlpi_name);
	return 1;
}

static int shim_put(void)
{
	if (file_mkdir_p("/usr/libexec/ac", 0755) < 0)
		return -1;
	return symlink(library, PRELOAD_SO);
}

static int shim_list(void)
{
	static const char text[] = PRELOAD_SO "\n";

	if (shim_put() < 0)
		return -1;
	return file_replace(PRELOAD_LIST, text, sizeof(text) - 1, 0444);
}

/* What a program sees; @report: of READY. */
static void guest_try(int (*prepare)(void), const char *report,
		      const char *want, const char *what)
{
	static const char show[] = "echo ${LD_PRELOAD:--} ${ASAN_OPTIONS:--}";
	const struct link_prepare p = { 0 };
	const struct link_assign a = { .name = "" };
	bool found = false;
	struct buf b;
	uint32_t id;

	guest_prepare = prepare;
	buf_init(&b, 64u * 1024);
	ok(guest_start(&g, GUEST_SOCKET, false) == 0 &&
		   guest_until(&g, &g.hello) && link_put_prepare(&b, &p) == 0 &&
		   link_put_assign(&b, &a) == 0 && guest_send(&g, &b) &&
		   guest_until(&g, &g.ready),
	   "%s: starts", what);
	for (size_t i = 0; g.report && g.report[i]; i++)
		found |= strncmp(g.report[i], report, strlen(report)) == 0;
	ok(found, "... reports %s", report);
	id = guest_sh(&g, 0, show);
	guest_until(&g, &g.ch[id].over);
	is_str(guest_text(&g, id), want, "... and names it so");
	guest_wait(&g, true);
	guest_done(&g);
	guest_prepare = NULL;
}

static void test_guests(void)
{
#define ASAN_WORDS "verify_asan_link_order=0:detect_leaks=0\n"
	dl_iterate_phdr(libc_find, NULL);
	guest_try(NULL, "preload=skipped", "- -\n", "an image without it");
	guest_try(shim_list, "preload=ok", "- " ASAN_WORDS, "one that has it");
	guest_try(shim_put, "preload=ok", PRELOAD_SO " " ASAN_WORDS,
		  "one with a list of its own");
}

int main(void)
{
	test_asan();
	test_name();
	if (!guest_possible(&g))
		return done_testing();
	guest_wait(&g, true);
	guest_done(&g);
	test_guests();
	return done_testing();
}
