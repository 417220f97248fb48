/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prompt.c - `ac run --prompt`: a task for an agent, and its last message
 *
 * The blueprint says where the agent's output has the last message: in a member
 * of JSON, which may be all of the output or lines of it. An agent that fails
 * often prints plain text instead, so without such a member all of the output
 * is the message.
 */
#include "control/cli/cmd/prompt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/shared/json.h"
#include "control/shared/names.h"
#include "lib/file.h"
#include "lib/str.h"

void prompt_done(struct prompt *p)
{
	free(p->text);
	free(p->message_path);
	free(p->usage_path);
	buf_done(&p->out);
	*p = (struct prompt){ 0 };
}

/* ---- the task ---- */

static int check_text(char *text, size_t len, struct err *err)
{
	SCOPED_JSON utf8 = NULL;

	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		text[--len] = '\0';
	if (len == 0)
		return err_set(err, -EINVAL, "--prompt: the task is empty");
	if (len > AC_PROMPT_MAX)
		return err_set(err, -EINVAL,
			       "--prompt: more than %u KiB; put the task into "
			       "a file of the workspace and name that in the "
			       "prompt",
			       AC_PROMPT_MAX / 1024);
	utf8 = strlen(text) == len ? json_stringn(text, len) : NULL;
	return utf8 ? 0 :
		      err_set(err, -EINVAL,
			      "--prompt: the task is no text in UTF-8");
}

/* Reads one byte more than allowed, and line ends. */
static int read_stdin(char **ret, size_t *ret_len, struct err *err)
{
	struct buf in;
	ssize_t n = 1;
	int rc = 0;

	buf_init(&in, AC_PROMPT_MAX + 4096);
	while (rc == 0 && n > 0 && buf_len(&in) <= AC_PROMPT_MAX) {
		char part[4096];

		n = read(STDIN_FILENO, part, sizeof(part));
		if (n < 0 && errno != EINTR)
			rc = err_sys(err, "--prompt -: stdin");
		else if (n < 0)
			n = 1;
		else if (n > 0 && buf_append(&in, part, (size_t)n) < 0)
			rc = err_nomem(err);
	}
	*ret_len = buf_len(&in);
	if (rc == 0 && *ret_len == 0)
		rc = err_set(err, -EINVAL, "--prompt -: stdin is empty");
	if (rc == 0 && slice_dup_str(buf_slice(&in), ret) < 0)
		rc = err_set(err, -EINVAL, "--prompt -: there is a NUL in it");
	buf_done(&in);
	return rc;
}

int prompt_read(const char *given, char **ret, struct err *err)
{
	SCOPED_STR text = NULL;
	size_t len = 0;
	int rc = 0;

	if (strcmp(given, "-") == 0) {
		rc = read_stdin(&text, &len, err);
	} else if (*given == '@') {
		rc = file_read(given + 1, AC_PROMPT_MAX + 2, &text, &len);
		if (rc < 0)
			err_set(err, rc, "--prompt %s: %s", given,
				err_text(rc));
	} else {
		text = strdup(given);
		len = strlen(given);
		rc = text ? 0 : err_nomem(err);
	}
	if (rc == 0)
		rc = check_text(text, len, err);
	if (rc == 0)
		*ret = ptr_take(&text);
	return rc;
}

/* ---- the output ---- */

/* Keeps the end of what is too much. */
static int collect(void *arg, struct slice data)
{
	struct prompt *p = arg;

	while (data.len > buf_room(&p->out)) {
		size_t half = buf_len(&p->out) / 2 + 1;

		p->cut = true;
		buf_consume(&p->out, half);
	}
	return buf_append(&p->out, data.ptr, data.len);
}

static int copy_path(const json_t *result, const char *key, char **ret)
{
	const char *path = json_string_value(json_object_get(result, key));

	*ret = path ? strdup(path) : NULL;
	return path && !*ret ? -ENOMEM : 0;
}

/* Returns what acd says of the blueprint, a new reference, or NULL. */
static json_t *blueprint_of(struct launch *l)
{
	SCOPED_STR at = client_path("/v1/instances/", l->name, "");
	SCOPED_STR path = NULL;
	SCOPED_JSON rec = NULL;
	json_t *bp = NULL;
	struct err ignored = { 0 };
	const char *name = l->blueprint;

	if (!*name && at &&
	    client_call(l->client, "GET", at, NULL, &rec, &ignored) == 0)
		name = json_text(rec, "blueprint");
	path = client_path("/v1/blueprints/", name, "");
	if (path &&
	    client_call(l->client, "GET", path, NULL, &bp, &ignored) < 0)
		return NULL;
	return bp;
}

void prompt_attach(struct prompt *p, struct launch *l)
{
	SCOPED_JSON bp = blueprint_of(l);
	const json_t *result = json_object_get(bp, "result");

	if (copy_path(result, "json", &p->message_path) < 0 ||
	    copy_path(result, "usage", &p->usage_path) < 0)
		say_error("out of memory: the output is shown as it is");
	p->collects = l->cli->json || p->message_path;
	if (!p->collects)
		return;
	buf_init(&p->out, PROMPT_OUTPUT_MAX);
	l->sink = collect;
	l->arg = p;
}

/* ---- members ---- */

/* Returns the member, borrowed, or NULL. */
static json_t *member_of(json_t *v, const char *path)
{
	while (v && *path) {
		char name[128];
		uint64_t index;
		size_t n;

		path += *path == '.';
		n = strcspn(path, ".");
		if (n == 0 || n >= sizeof(name))
			return NULL;
		memcpy(name, path, n);
		name[n] = '\0';
		path += n;
		if (!json_is_array(v))
			v = json_object_get(v, name);
		else if (str_parse_u64(name, 0, SIZE_MAX, &index) == 0)
			v = json_array_get(v, (size_t)index);
		else
			v = NULL;
	}
	return json_is_null(v) ? NULL : v;
}

/* Returns the member of @text if that is JSON and has it: a new reference. */
static json_t *member_in(const char *text, size_t len, const char *path)
{
	SCOPED_JSON v = json_loadb(text, len, 0, NULL);

	return json_incref(member_of(v, path));
}

json_t *prompt_member(struct slice output, const char *path)
{
	const char *text = (const char *)output.ptr;
	size_t end = output.len;
	json_t *found = path && end ? member_in(text, end, path) : NULL;

	while (path && !found && end > 0) {
		size_t at = end;

		while (at > 0 && text[at - 1] != '\n')
			at--;
		if (at < end && text[at] == '{')
			found = member_in(text + at, end - at, path);
		end = at > 0 ? at - 1 : 0;
	}
	return found;
}

/* ---- the result ---- */

/* Returns @text as a JSON string, with ? for each byte beyond ASCII if it is not
 * UTF-8. */
static json_t *text_json(struct slice text)
{
	json_t *j = json_stringn((const char *)text.ptr, text.len);
	char *copy = j || text.len == 0 ? NULL : malloc(text.len);

	if (j || text.len == 0)
		return j ? j : json_string("");
	if (!copy)
		return NULL;
	for (size_t i = 0; i < text.len; i++)
		copy[i] = text.ptr[i] < 0x80 ? (char)text.ptr[i] : '?';
	j = json_stringn(copy, text.len);
	free(copy);
	return j;
}

/* Returns the message: a new reference, NULL without memory. */
static json_t *message_of(const struct prompt *p)
{
	struct slice out = buf_slice(&p->out);
	json_t *found = prompt_member(out, p->message_path);

	return found ? found : text_json(out);
}

static int print_text(const struct prompt *p, struct err *err)
{
	struct slice out = buf_slice(&p->out);
	SCOPED_JSON found = prompt_member(out, p->message_path);
	SCOPED_STR dumped = NULL;
	const char *text = (const char *)out.ptr;
	size_t len = out.len;

	if (found && !json_is_string(found))
		dumped = json_dumps(found, JSON_COMPACT | JSON_ENCODE_ANY);
	if (found) {
		text = dumped ? dumped : json_string_value(found);
		len = dumped ? strlen(dumped) : json_string_length(found);
	}
	if (!text || len == 0)
		return 0;
	fwrite(text, 1, len, stdout);
	if (text[len - 1] != '\n')
		putchar('\n');
	return fflush(stdout) == EOF ? cli_stdout_failed(err) : 0;
}

int prompt_print(struct prompt *p, const struct cli *cli, int code,
		 struct err *err)
{
	SCOPED_JSON result = NULL;
	json_t *usage;

	if (!p->collects)
		return 0;
	if (p->cut)
		say_error("the output is over %u MiB: only its end is kept",
			  PROMPT_OUTPUT_MAX / (1024 * 1024));
	if (!cli->json)
		return print_text(p, err);
	usage = prompt_member(buf_slice(&p->out), p->usage_path);
	result = json_pack("{s:i, s:o, s:o}", "exit_code", code, "message",
			   message_of(p), "usage", usage ? usage : json_null());
	return result ? cli_print_json(result, false, err) : err_nomem(err);
}
