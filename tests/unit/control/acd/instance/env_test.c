/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env_test.c - the environment of a sandbox
 */
#include "control/acd/instance/env.h"

#include "tests/unit/tap.h"

static struct strv blueprint;
static const char *const more[] = { "B=grant", "C=grant", NULL };

static void collect(bool live, const char *own, struct strv *ret)
{
	char text[128], name[] = "one", base[] = "base", dir[] = "/w";
	struct instance_record rec = { .name = name,
				       .blueprint = base,
				       .workspace = live ? dir : NULL,
				       .env_json = text };

	snprintf(text, sizeof(text), "%s", own);
	is_int(instance_env(&rec, &blueprint, more, ret), 0, "%s workspace",
	       live ? "a live" : "its own");
}

int main(void)
{
	struct strv own = { 0 }, live = { 0 };

	ok(strv_push(&blueprint, "A=blueprint") == 0 &&
		   strv_push(&blueprint, "B=blueprint") == 0 &&
		   strv_push(&blueprint, "WATCHPACK_POLLING=false") == 0,
	   "a blueprint's variables");
	collect(false, "[\"A=own\"]", &own);
	ok(strv_has(&own, "A=blueprint") && strv_has(&own, "A=own") &&
		   strcmp(own.v[3], "A=own") == 0,
	   "the instance's come behind those of the blueprint");
	ok(strv_has(&own, "AC_INSTANCE=one") &&
		   strv_has(&own, "AC_BLUEPRINT=base"),
	   "its names");
	ok(strv_has(&own, "C=grant") && !strv_has(&own, "B=grant"),
	   "what is set goes before");
	is_int(own.n, 7, "and nothing else");
	collect(true, "[\"CHOKIDAR_USEPOLLING=\"]", &live);
	ok(strv_has(&live, "CHOKIDAR_INTERVAL=1000") &&
		   strv_has(&live, "WATCHFILES_FORCE_POLLING=true") &&
		   strv_has(&live, "DOTNET_USE_POLLING_FILE_WATCHER=true"),
	   "watchers poll");
	ok(!strv_has(&live, "CHOKIDAR_USEPOLLING=true") &&
		   strv_has(&live, "CHOKIDAR_USEPOLLING="),
	   "unless the user says otherwise");
	ok(!strv_has(&live, "WATCHPACK_POLLING=1000"), "or the blueprint");
	strv_done(&own);
	strv_done(&live);
	strv_done(&blueprint);
	return done_testing();
}
