/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one.c - the tool sandbox_exec
 *
 * A command that was stopped at a limit has a result without output, so that a
 * model does not take a part of it for all: exit code 124 at its time limit, 1 at
 * the limit of its output, and the reason on stderr. A failure of the call (isError)
 * is only what kept the command from being run, or a sandbox that was lost.
 */
#include "control/cli/mcp/one.h"

#include <inttypes.h>
#include <string.h>

#include "control/cli/mcp/text.h"
#include "control/shared/json.h"
#include "lib/str.h"

#define TIMEOUT_MAX_S 316224000u /* of an exec of acd */
#define CODE_OVER 1
#define CODE_TIMEOUT 124

static const struct schema
	is_command = { .kind = SCHEMA_TEXT,
		       .about = "A line for the shell: pipes, && and "
				"redirections work. Excludes args." },
	is_args = { .kind = SCHEMA_LIST,
		    .item = &schema_text,
		    .max = 4000,
		    .about = "A program and its arguments, run without a "
			     "shell. Excludes command." },
	is_stdin = { .kind = SCHEMA_TEXT,
		     .about = "What the command reads from its stdin, at most "
			      "2 MiB. Without it, stdin is empty." },
	is_dir = { .kind = SCHEMA_TEXT,
		   .about = "The directory to run it in, an absolute path." },
	is_timeout = { .kind = SCHEMA_NUMBER,
		       .min = 1,
		       .max = INT64_MAX,
		       .about = "Seconds after which it is killed." },
	is_out = { .kind = SCHEMA_TEXT, .about = "What it wrote to stdout." },
	is_err = { .kind = SCHEMA_TEXT, .about = "What it wrote to stderr." },
	is_code = { .kind = SCHEMA_INTEGER,
		    .about = "Its exit code; 124: it was killed at its time "
			     "limit." },
	is_duration = { .kind = SCHEMA_INTEGER,
			.about = "How long it ran, in ms." };

static const struct schema_key takes_rows[] = {
	{ "command", &is_command }, { "args", &is_args },
	{ "stdin", &is_stdin },     { "working_directory", &is_dir },
	{ "timeout", &is_timeout },
};
static const struct schema_key gives_rows[] = {
	{ "stdout", &is_out },
	{ "stderr", &is_err },
	{ "exit_code", &is_code },
	{ "exec_duration_ms", &is_duration },
};
static const struct schema takes = { SCHEMA_ROWS(takes_rows), .nulls = true };
static const struct schema gives = { SCHEMA_ROWS(gives_rows), .whole = true };

static bool is_given(const json_t *args, const char *key)
{
	const json_t *v = json_object_get(args, key);

	return v && !json_is_null(v);
}

static int check(const struct tool_call *c, struct err *err)
{
	const json_t *args = json_object_get(c->args, "args");
	const json_t *input = json_object_get(c->args, "stdin");
	const char *dir = json_text(c->args, "working_directory");

	if (is_given(c->args, "command") == is_given(c->args, "args"))
		return err_set(err, -EINVAL,
			       "give either 'command' (a line for the shell) "
			       "or 'args' (a program and its arguments)");
	if (is_given(c->args, "command") && !*json_text(c->args, "command"))
		return jsonx_refuse(err, "command", "is empty");
	if (json_is_array(args) && json_array_size(args) == 0)
		return jsonx_refuse(err, "args", "is empty");
	if (is_given(c->args, "working_directory") && *dir != '/')
		return jsonx_refuse(err, "working_directory",
				    "must be an absolute path");
	if (json_string_length(input) > ONE_STDIN_MAX)
		return jsonx_refuse(err, "stdin",
				    "has %zu bytes, at most %u are allowed: "
				    "write a file in several calls",
				    json_string_length(input), ONE_STDIN_MAX);
	return 0;
}

static uint64_t timeout_ms(const struct tool_call *c)
{
	const json_t *given = json_object_get(c->args, "timeout");
	json_int_t s = json_integer_value(given);

	if (!json_is_integer(given))
		return c->o->timeout_ms;
	return (s > TIMEOUT_MAX_S ? TIMEOUT_MAX_S : (uint64_t)s) * 1000;
}

/* Returns the request for acd, NULL without memory. */
static json_t *exec_body(const struct tool_call *c)
{
	json_t *args = json_object_get(c->args, "args");
	const char *dir = json_text(c->args, "working_directory");
	const char *own = c->o->args->workdir ? c->o->args->workdir : "";
	json_t *cmd = json_is_array(args) ?
			      json_incref(args) :
			      json_pack("[s, s, s]", c->o->shell, "-c",
					json_text(c->args, "command"));

	return json_pack("{s:o, s:s, s:b, s:I}", "cmd", cmd, "cwd",
			 *dir ? dir : own, "stdin", is_given(c->args, "stdin"),
			 "timeout_ms", (json_int_t)timeout_ms(c));
}

/* Returns the text for stderr about how the command ended, to be freed; "" if it
 * ended by itself, NULL without memory. */
static char *reason(const struct command_end *e, const char *program,
		    uint64_t limit_ms, uint64_t output_max)
{
	char size[32];

	if (e->over)
		return str_printf("[ac: the command wrote more than %s and was "
				  "killed; its output was dropped. Run it "
				  "again with head, tail or grep, or write to "
				  "a file.]",
				  str_format_size(size, sizeof(size),
						  output_max));
	if (e->exit.kind == LINK_TIMEOUT)
		return str_printf("[ac: the command was killed after %" PRIu64
				  " s; its output was dropped]",
				  limit_ms / 1000);
	return command_reason(e, program);
}

json_t *one_result(const struct command_end *e, const char *program,
		   uint64_t limit_ms, uint64_t output_max)
{
	SCOPED_STR why = reason(e, program, limit_ms, output_max);
	bool timed_out = !e->over && e->exit.kind == LINK_TIMEOUT;
	bool drops = e->over || timed_out;
	const struct slice none = slice_of(NULL, 0);

	if (!why)
		return NULL;
	return json_pack("{s:o, s:o, s:i, s:I}", "stdout",
			 text_json(drops ? none : buf_slice(&e->out)), "stderr",
			 command_stderr(e, drops, why), "exit_code",
			 e->over   ? CODE_OVER :
			 timed_out ? CODE_TIMEOUT :
				     link_exit_code(&e->exit),
			 "exec_duration_ms", (json_int_t)e->wall_ms);
}

static int run(const struct tool_call *c, json_t **ret, struct err *err)
{
	SCOPED_JSON body = exec_body(c);
	const json_t *input = json_object_get(c->args, "stdin");
	const json_t *cmd = json_object_get(body, "cmd");
	const struct command command = {
		.sock = c->o->cli->sock,
		.sandbox = c->sandbox,
		.body = body,
		.input = slice_of(json_string_value(input),
				  json_string_length(input)),
		.output_max = c->o->output_max,
	};
	struct command_end end;
	int rc = body ? command_run(&command, &end, err) : err_nomem(err);

	if (rc < 0)
		return rc;
	*ret = one_result(&end, json_string_value(json_array_get(cmd, 0)),
			  timeout_ms(c), c->o->output_max);
	command_end_done(&end);
	return *ret ? 0 : err_nomem(err);
}

const struct tool one_tool = {
	.name = "sandbox_exec",
	.title = "Run a command in the sandbox",
	.about = "Runs a command in an isolated Linux sandbox that is this "
		 "session's own. Files stay from call to call, for as long as "
		 "the session lasts; the shell's state (directory, variables) "
		 "does not. The working directory is /workspace. What the "
		 "sandbox may reach in the network is limited: a connection "
		 "that is not allowed is refused at once.",
	.takes = &takes,
	.gives = &gives,
	.session = true,
	.check = check,
	.run = run,
};
