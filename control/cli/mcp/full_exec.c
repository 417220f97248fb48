/* SPDX-License-Identifier: Apache-2.0 */
/*
 * full_exec.c - the tool sandbox_exec of a client that names its sandbox
 *
 * Unlike that of one.c it keeps what a command wrote until it was stopped, and says
 * that this is not all.
 */
#include "control/cli/mcp/full.h"

#include "control/cli/mcp/command.h"
#include "control/cli/mcp/one.h"
#include "control/cli/mcp/scope.h"
#include "control/cli/mcp/text.h"
#include "control/shared/json.h"
#include "lib/str.h"

#define TIMEOUT_MAX_S 316224000u
#define CODE_OVER 1

static const struct schema is_cmd = {
	.kind = SCHEMA_LIST,
	.item = &schema_text,
	.min = 1,
	.max = 4000,
	.about = "A program and its arguments; [\"bash\", \"-c\", LINE] for a "
		 "shell."
};
static const struct schema is_dir = { .kind = SCHEMA_TEXT,
				      .about = "The directory to run it in, an "
					       "absolute path." };
static const struct schema is_stdin = { .kind = SCHEMA_TEXT,
					.about = "What it reads, at most 2 "
						 "MiB." };
static const struct schema is_timeout = {
	.kind = SCHEMA_NUMBER,
	.min = 1,
	.max = TIMEOUT_MAX_S,
	.about = "Seconds after which it is killed."
};
static const struct schema is_out = { .kind = SCHEMA_TEXT };
static const struct schema is_number = { .kind = SCHEMA_INTEGER };
static const struct schema is_timed_out = {
	.kind = SCHEMA_BOOL, .about = "It was killed at its time limit."
};
static const struct schema is_cut = {
	.kind = SCHEMA_BOOL,
	.about = "It was killed because it wrote too much; the rest is "
		 "missing."
};
static const struct schema_key takes_rows[] = {
	{ "id", &full_is_id },   { "cmd", &is_cmd },
	{ "env", &full_is_env }, { "workdir", &is_dir },
	{ "stdin", &is_stdin },  { "timeout_seconds", &is_timeout },
};
static const struct schema_key gives_rows[] = {
	{ "exit_code", &is_number },    { "stdout", &is_out },
	{ "stderr", &is_out },          { "duration_ms", &is_number },
	{ "timed_out", &is_timed_out }, { "truncated", &is_cut },
};
static const char *const needed[] = { "id", "cmd", NULL };
static const struct schema takes = { SCHEMA_ROWS(takes_rows), .nulls = true,
				     .required = needed };
static const struct schema gives = { SCHEMA_ROWS(gives_rows), .whole = true };

static int check(const struct tool_call *c, struct err *err)
{
	const char *dir = json_text(c->args, "workdir");
	const json_t *input = json_object_get(c->args, "stdin");
	struct strv env = { 0 };
	int rc = full_env(c->args, &env, err);

	strv_done(&env);
	if (rc < 0)
		return rc;
	if (json_array_size(json_object_get(c->args, "cmd")) == 0)
		return jsonx_refuse(err, "cmd", "is empty");
	if (*dir && *dir != '/')
		return jsonx_refuse(err, "workdir", "must be an absolute path");
	if (json_string_length(input) > ONE_STDIN_MAX)
		return jsonx_refuse(err, "stdin", "has at most %u bytes",
				    ONE_STDIN_MAX);
	return 0;
}

/* Returns the request for acd, NULL with @err. */
static json_t *exec_body(const struct tool_call *c, struct err *err)
{
	const json_t *timeout = json_object_get(c->args, "timeout_seconds");
	json_int_t ms = json_is_integer(timeout) ?
				json_integer_value(timeout) * 1000 :
				(json_int_t)c->o->timeout_ms;
	struct strv env = { 0 };
	json_t *body = NULL;

	if (full_env(c->args, &env, err) == 0) {
		body = json_pack(
			"{s:O, s:o, s:s, s:b, s:I}", "cmd",
			json_object_get(c->args, "cmd"), "env",
			jsonx_from_strv(&env), "cwd",
			json_text(c->args, "workdir"), "stdin",
			json_is_string(json_object_get(c->args, "stdin")),
			"timeout_ms", ms);
		if (!body)
			err_nomem(err);
	}
	strv_done(&env);
	return body;
}

static json_t *result(const struct command_end *e, const char *program)
{
	SCOPED_STR why = command_reason(e, program);

	bool timed_out = !e->over && e->exit.kind == LINK_TIMEOUT;

	if (!why)
		return NULL;
	return json_pack("{s:i, s:o, s:o, s:I, s:b, s:b}", "exit_code",
			 e->over ? CODE_OVER : link_exit_code(&e->exit),
			 "stdout", text_json(buf_slice(&e->out)), "stderr",
			 command_stderr(e, false, why), "duration_ms",
			 (json_int_t)e->wall_ms, "timed_out", timed_out,
			 "truncated", e->over);
}

static int run(const struct tool_call *c, json_t **ret, struct err *err)
{
	SCOPED_JSON body = exec_body(c, err);
	const json_t *input = json_object_get(c->args, "stdin");
	const json_t *cmd = json_object_get(c->args, "cmd");
	struct command command = {
		.sock = c->o->cli->sock,
		.body = body,
		.input = slice_of(json_string_value(input),
				  json_string_length(input)),
		.output_max = c->o->output_max,
	};
	struct command_end end;
	int rc = body ? scope_id(c, &command.sandbox, err) : err->code;

	if (rc == 0)
		rc = command_run(&command, &end, err);
	if (rc < 0)
		return rc;
	*ret = result(&end, json_string_value(json_array_get(cmd, 0)));
	command_end_done(&end);
	return *ret ? 0 : err_nomem(err);
}

const struct tool full_exec = {
	.name = "sandbox_exec",
	.title = "Run a command in a sandbox",
	.about = "Runs a command in a sandbox and waits for its end. Several "
		 "may run at once. A connection that is not allowed is "
		 "refused at once: policy_explain tells why.",
	.takes = &takes,
	.gives = &gives,
	.check = check,
	.run = run,
};
