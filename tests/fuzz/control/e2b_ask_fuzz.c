/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_ask_fuzz.c - envelopes of Connect, and what a client of E2B's API asks for
 *
 * The first byte says what. What is refused says why, but for a lack of memory;
 * what is taken keeps its bounds.
 */
#include <stdlib.h>
#include <string.h>

#include "control/acd/api/e2b/ask.h"
#include "control/acd/api/e2b/connect.h"
#include "control/acd/api/e2b/list_ask.h"
#include "control/shared/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void told(int rc, const struct err *err)
{
	if ((rc < 0) != (err->code < 0) || (rc < 0 && !err->msg[0]))
		abort();
}

static void run_box(json_t *body)
{
	struct ask_box ask;
	struct err err = { 0 };
	int rc = ask_box(body, &ask, &err);

	told(rc, &err);
	if (rc == 0 && (!ask.blueprint[0] || strchr(ask.blueprint, '/') ||
			ask.timeout_s > E2B_TIMEOUT_MAX_S))
		abort();
	json_decref(ask.options);
}

static void run_start(json_t *body)
{
	struct ask_start ask;
	struct err err = { 0 };
	int rc = ask_start(body, &ask, &err);

	told(rc, &err);
	if (rc == 0 && (ask.options.argv.n == 0 || ask.options.cwd[0] != '/'))
		abort();
	run_options_done(&ask.options);
}

static void run_input(json_t *body)
{
	struct err err = { 0 };
	struct slice got;
	uint8_t *mem = NULL;
	uint32_t n = 0;

	told(ask_input(body, &mem, &got, &err), &err);
	free(mem);
	err = (struct err){ 0 };
	told(ask_pid(body, &n, &err), &err);
	err = (struct err){ 0 };
	told(ask_signal(body, &n, &err), &err);
}

static void run_text(char *text)
{
	char path[FILEWIRE_PATH_MAX + 1];
	const struct list_query q = { .metadata = text };
	const struct list_query next = { .next = text };
	const struct list_query since = { .since = text };
	struct list_ask a;
	struct err err = { 0 };

	if (ask_path(text, path, &err) == 0 &&
	    (path[0] != '/' || strstr(path, "//") || strstr(path, "/../") ||
	     strstr(path, "/./")))
		abort();
	err = (struct err){ 0 };
	told(list_ask(&q, &a, &err), &err);
	list_ask_done(&a);
	err = (struct err){ 0 };
	told(list_ask(&next, &a, &err), &err);
	list_ask_done(&a);
	err = (struct err){ 0 };
	told(list_ask(&since, &a, &err), &err);
	list_ask_done(&a);
	err = (struct err){ 0 };
	told(ask_user(text, &err), &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const fns[])(json_t *) = { run_box, run_start,
						 run_input };
	SCOPED_JSON body = NULL;
	SCOPED_STR text = NULL;
	struct err err = { 0 };
	struct slice in;

	if (size == 0)
		return 0;
	in = slice_of(data + 1, size - 1);
	if (data[0] % 4 == 3) {
		text = malloc(in.len + 1);
		if (!text)
			return 0;
		memcpy(text, in.ptr, in.len);
		text[in.len] = '\0';
		run_text(text);
		return 0;
	}
	told(data[0] & 4 ? connect_read_one(in, &body, &err) :
			   connect_read(in, &body, &err),
	     &err);
	if (body)
		fns[data[0] % 4](body);
	return 0;
}
