/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term_log_test.c - what a guest says of its vault's use, in acd's file
 */
#include <jansson.h>
#include <string.h>

#include "tests/unit/control/acd/instance/instance_world.h"

/* The last line of the file behind its "time", which comes first; "" where
 * there is none. */
static const char *last_line(const struct world *w, char line[8192 + 1])
{
	static const char begin[] = "{\"time\":\"2";
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/one/log/vault", w->dir);
	f = fopen(path, "re");
	line[0] = '\0';
	while (f && fgets(line, 8192 + 1, f))
		;
	if (f)
		fclose(f);
	if (strncmp(line, begin, strlen(begin)) != 0)
		return "";
	line[strcspn(line, "\n")] = '\0';
	return strchr(line, ',') ? strchr(line, ',') : "";
}

/* With the instance "one", whose folder for logs a first start has made. */
static struct instance *logged_one(struct world *w)
{
	struct instance *in = world_one(w);
	char path[256];

	snprintf(path, sizeof(path), "%s/one", w->dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/one/log", w->dir);
	if (mkdir(path, 0700) < 0)
		ok(false, "a folder for logs");
	return in;
}

/* Every reader finds acd's "time", whatever the guest has said. */
static void test_audit(void)
{
	static const struct {
		const char *said, *kept, *what;
	} rows[] = {
		{ "{\"verdict\":\"allow\",\"pid\":7,\"chain\":[\"a\",1]}",
		  ",\"verdict\":\"allow\",\"pid\":7,\"chain\":[\"a\",1]}",
		  "an object, in its order" },
		{ "{\"time\":\"1999\",\"verdict\":\"deny\"}",
		  ",\"verdict\":\"deny\"}", "a time of its own is not kept" },
		{ "{\"verdict\":\"deny\",\"t\\u0069me\":\"1999\"}",
		  ",\"verdict\":\"deny\"}", "however it is spelled" },
		{ "{\"a\":{\"time\":1}}", ",\"a\":{\"time\":1}}",
		  "within another it is none of ours" },
		{ "{\"a\":1,\"a\":2}",
		  ",\"text\":\"{\\\"a\\\":1,\\\"a\\\":2}\"}", "a key twice" },
		{ "{\"a\":\"\\u009b\\u001b\"}", ",\"a\":\"\\u009B\\u001B\"}",
		  "what works on a terminal stays escaped" },
		{ "{\"a\":1", ",\"text\":\"{\\\"a\\\":1\"}", "half of one" },
		{ "{\"a\":1},{\"time\":2}",
		  ",\"text\":\"{\\\"a\\\":1},{\\\"time\\\":2}\"}",
		  "more than one" },
		{ "{\"x", ",\"text\":\"{\\\"x\"}", "what only begins so" },
		{ "[1]", ",\"text\":\"[1]\"}", "no object" },
		{ "", ",\"text\":\"\"}", "nothing" },
	};
	char line[8192 + 1];
	struct world w;
	struct instance *in = logged_one(&w);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *json;

		instance_log_audit(in, rows[i].said);
		is_str(last_line(&w, line), rows[i].kept, "%s", rows[i].what);
		json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
		ok(json != NULL, "which is JSON");
		json_decref(json);
	}
	world_done(&w);
}

/* No depth of brackets is more than a line. */
static void test_deep(void)
{
	char deep[2001], line[8192 + 1];
	struct world w;
	struct instance *in = logged_one(&w);

	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	instance_log_audit(in, deep);
	ok(strncmp(last_line(&w, line), ",\"text\":\"[[", 11) == 0,
	   "brackets alone are text");
	world_done(&w);
}

int main(void)
{
	test_audit();
	test_deep();
	return done_testing();
}
