/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top.c - the processes of a sandbox, as its own ps tells them
 */
#include "control/cli/top.h"

#include <string.h>

#include "control/cli/host.h"
#include "control/cli/infer.h"
#include "control/cli/launch.h"
#include "control/cli/table.h"
#include "control/shared/json.h"
#include "lib/buf.h"
#include "lib/str.h"

#define OUTPUT_MAX (1024u * 1024)
#define FIELD_MAX 512u

static const char *const keys[] = { "pid",     "user",    "cpu",
				    "rss_kib", "elapsed", "command" };

/* The next word of a line, or with @rest all that is left of it. */
static struct slice take_field(struct slice *line, bool rest)
{
	struct slice field, space;
	size_t n = 0;

	while (n < line->len && line->ptr[n] == ' ')
		n++;
	if (slice_take(line, n, &space) < 0)
		return slice_of(NULL, 0);
	for (n = 0; n < line->len && (rest || line->ptr[n] != ' '); n++)
		;
	return slice_take(line, n, &field) < 0 ? slice_of(NULL, 0) : field;
}

static json_t *row_parse(struct slice line)
{
	SCOPED_JSON row = json_object();
	char text[FIELD_MAX];
	size_t i;

	for (i = 0; row && i < ARRAY_SIZE(keys); i++) {
		struct slice field =
			take_field(&line, i == ARRAY_SIZE(keys) - 1);

		if (field.len == 0)
			return NULL;
		str_escape(text, sizeof(text), field.ptr, field.len);
		if (json_object_set_new(row, keys[i], json_string(text)) < 0)
			return NULL;
	}
	return ptr_take(&row);
}

json_t *top_parse(struct slice text)
{
	json_t *rows = json_array();

	while (rows && text.len > 0 && json_array_size(rows) < TOP_ROWS_MAX) {
		const uint8_t *end = memchr(text.ptr, '\n', text.len);
		size_t len = end ? (size_t)(end - text.ptr) : text.len;
		struct slice line, lf;
		json_t *row;

		if (slice_take(&text, len, &line) < 0 ||
		    (end && slice_take(&text, 1, &lf) < 0))
			break;
		row = row_parse(line);
		if (row)
			json_array_append_new(rows, row);
	}
	return rows;
}

static int collect(void *arg, struct slice data)
{
	return buf_append(arg, data.ptr, data.len);
}

static int print_rows(const struct cli *cli, const json_t *rows,
		      struct err *err)
{
	static const struct table_col cols[] = {
		{ "PID", TABLE_RIGHT },     { "USER", 0 },
		{ "%CPU", TABLE_RIGHT },    { "RSS KiB", TABLE_RIGHT },
		{ "ELAPSED", TABLE_RIGHT }, { "COMMAND", TABLE_CUT },
	};
	struct table *t = table_new(cli, cols, ARRAY_SIZE(cols));
	const char *cells[ARRAY_SIZE(keys)];
	size_t i, k;
	int rc = t ? 0 : -ENOMEM;

	for (i = 0; rc == 0 && i < json_array_size(rows); i++) {
		for (k = 0; k < ARRAY_SIZE(keys); k++)
			cells[k] = json_text(json_array_get(rows, i), keys[k]);
		rc = table_row(t, cells);
	}
	rc = rc < 0 ? err_set(err, rc, "out of memory") : table_print(t, err);
	table_free(t);
	return rc;
}

/* ps in the sandbox, its output in @out. Returns its exit code. */
static int run_ps(const struct cli *cli, struct client *c, const char *name,
		  struct buf *out, struct err *err)
{
	char ps[] = "ps", all[] = "-eo",
	     what[] = "pid=,user=,pcpu=,rss=,etime=,args=";
	char *const cmd[] = { ps, all, what };
	/* Its result is a table, never one of a run. */
	struct cli plain = *cli;
	struct launch l = { .cli = &plain,
			    .client = c,
			    .verb = "exec",
			    .what = "ps",
			    .sink = collect,
			    .arg = out };
	SCOPED_JSON body = NULL;

	plain.json = false;
	snprintf(l.name, sizeof(l.name), "%s", name);
	body = launch_body(&l, cmd, ARRAY_SIZE(cmd));
	return launch_go(&l, body, err);
}

int cmd_top(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON rows = NULL;
	char name[AC_NAME_MAX + 1];
	struct buf out;
	int rc = infer_instance(a->words[0], name, err);

	if (rc == 0)
		rc = host_client(cli, false, &c, err);
	if (rc < 0)
		return rc;
	buf_init(&out, OUTPUT_MAX);
	rc = run_ps(cli, c, name, &out, err);
	if (rc == -ENOBUFS)
		err_set(err, rc, "ps in %s says more than fits", name);
	if (rc == 0)
		rows = top_parse(buf_slice(&out));
	buf_done(&out);
	if (rc > 0)
		return err_set(err, -EIO, "ps in %s ended with code %d", name,
			       rc);
	if (rc < 0)
		return rc;
	if (!rows)
		return err_set(err, -ENOMEM, "out of memory");
	return cli->json ? cli_print_json(rows, false, err) :
			   print_rows(cli, rows, err);
}
