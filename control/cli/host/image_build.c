/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_build.c - builds images through acd, with progress
 */
#include "control/cli/host/image_build.h"

#include <string.h>

#include "control/cli/host/host.h"
#include "control/cli/core/lines.h"
#include "control/cli/core/progress.h"
#include "control/shared/json.h"
#include "lib/str.h"

#define LINE_MAX_BYTES (64u * 1024)

struct build {
	const struct cli *cli;
	struct progress progress;
	struct buf line;
	struct err *err;
	bool done;
	bool told; /* a step was reported */
	bool failed; /* acd's last line tells the rest */
};

struct ndjson {
	ndjson_fn fn;
	void *arg;
};

static int ndjson_line(void *arg, const char *text, size_t len)
{
	const struct ndjson *n = arg;
	SCOPED_JSON obj = json_loadb(text, len, 0, NULL);

	return obj ? n->fn(n->arg, obj) : -EPROTO;
}

int ndjson_feed(struct buf *line, const char *data, size_t len, ndjson_fn fn,
		void *arg)
{
	struct ndjson n = { .fn = fn, .arg = arg };
	int rc = lines_feed(line, data, len, ndjson_line, &n);

	return rc == -EMSGSIZE ? -EPROTO : rc;
}

static int on_line(void *arg, const json_t *obj)
{
	struct build *b = arg;
	const json_t *e = json_object_get(obj, "error");
	const char *text = json_text(obj, "line");

	if (b->cli->json && cli_print_json(obj, false, b->err) < 0)
		return -EIO;
	if (e)
		return err_set(b->err, -EIO, "%s", json_text(e, "message"));
	if (json_is_true(json_object_get(obj, "done")))
		b->done = true;
	/* Output of the failed step. */
	if (strncmp(text, "    ", 4) == 0) {
		progress_stop(&b->progress);
		b->failed = true;
		if (!b->cli->json && !b->cli->quiet)
			fprintf(stderr, "%s\n", text);
		return 0;
	}
	b->told = b->told || *text;
	if (*text && !b->failed)
		progress_tick(&b->progress, text);
	return 0;
}

/* acd may be silent for minutes; keeps the seconds moving. */
static void on_idle(void *arg)
{
	struct build *b = arg;

	if (!b->failed)
		progress_tick(&b->progress, NULL);
}

static int on_bytes(void *arg, const char *data, size_t len)
{
	struct build *b = arg;
	int rc = ndjson_feed(&b->line, data, len, on_line, b);

	if (rc == -EPROTO)
		return err_set(b->err, rc,
			       "acd's report of the build is "
			       "malformed");
	return rc;
}

/* build_image(); *ret_built: the image was missing or outdated. */
static int build(const struct cli *cli, struct client *c, const char *blueprint,
		 const json_t *how, bool *ret_built, struct err *err)
{
	SCOPED_STR path = client_path("/v1/blueprints/", blueprint, "/build");
	SCOPED_JSON body = how ? json_deep_copy(how) : json_object();
	SCOPED_STR what = str_printf("building %s", blueprint);
	struct build b = { .cli = cli, .err = err };
	int rc;

	if (!path || !body || !what)
		return err_nomem(err);
	buf_init(&b.line, LINE_MAX_BYTES);
	progress_begin(&b.progress, cli, what);
	client_on_idle(c, on_idle, &b);
	cli_on_interrupt(cli, "What is built so far is kept; the same command "
			      "goes on from there");
	rc = client_stream(c, "POST", path, body, on_bytes, &b, err);
	cli_on_interrupt(cli, NULL);
	client_on_idle(c, NULL, NULL);
	if (rc == 0)
		progress_end(&b.progress);
	else
		progress_stop(&b.progress);
	buf_done(&b.line);
	*ret_built = b.told;
	if (rc == 0 && !b.done)
		rc = err_set(err, -ECONNRESET,
			     "acd went away during the build");
	return rc < 0 ? err_wrap(err, "build %s", blueprint) : 0;
}

int build_image(const struct cli *cli, struct client *c, const char *blueprint,
		const json_t *how, struct err *err)
{
	bool built = false;

	return build(cli, c, blueprint, how, &built, err);
}

int cmd_build(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON how = json_pack("{s:b, s:b, s:b}", "no_cache",
				    args_has(a, ARG_NO_CACHE), "force",
				    args_has(a, ARG_LOOK), "retry", true);
	int rc = host_client(cli, true, &c, err);
	size_t i;

	for (i = 0; rc == 0 && i < a->n_words; i++) {
		bool built = false;

		rc = build(cli, c, a->words[i], how, &built, err);
		if (rc == 0 && !cli->json)
			say_info(cli,
				 built ? "%s is built" :
					 "%s is up to date: nothing had to be "
					 "built",
				 a->words[i]);
	}
	return rc;
}
