/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.c - mcp
 */
#include "control/cli/cmd/program/mcp.h"

#include <string.h>
#include <unistd.h>

#include "control/cli/cmd/run.h"
#include "control/cli/mcp/server.h"
#include "control/shared/infer.h"
#include "control/shared/paths.h"

#define TIMEOUT_MS 120000u /* of a command that names none */
#define OUTPUT_MAX (2u * 1024 * 1024)
#define OUTPUT_MOST (8u * 1024 * 1024) /* --output-limit */
#define SHELL "/bin/bash"
#define BLUEPRINT "base"

static bool is_full(const struct args_mcp *m)
{
	return m->tools && strcmp(m->tools, "full") == 0;
}

static int check(const struct args *a, struct err *err)
{
	const struct args_mcp *m = &a->mcp;

	if (m->tools && strcmp(m->tools, "one") != 0 && !is_full(m))
		return err_set(err, -EINVAL, "--tools is one or full, not '%s'",
			       m->tools);
	if (m->about && m->about_more)
		return err_set(err, -EINVAL,
			       "--tool-instruction-override takes the place of "
			       "the description, so "
			       "--extended-tool-instruction has nothing to "
			       "extend: give one of them");
	if (m->output_limit > OUTPUT_MOST)
		return err_set(err, -EINVAL,
			       "--output-limit is at most 8m: a command can "
			       "write more to a file");
	return 0;
}

int cmd_mcp(const struct cli *cli, const struct args *a, struct err *err)
{
	const struct args_mcp *m = &a->mcp;
	char name[AC_NAME_MAX + 1];
	struct mcp_opts o = {
		.cli = cli,
		.args = a,
		.blueprint = a->n_words > 0 ? a->words[0] : BLUEPRINT,
		.name = m->name ? name : NULL,
		.shell = m->shell ? m->shell : SHELL,
		.timeout_ms = m->timeout_ms ? m->timeout_ms : TIMEOUT_MS,
		.output_max = m->output_limit ? m->output_limit : OUTPUT_MAX,
		.about = m->about,
		.about_more = m->about_more,
		.full = is_full(m),
		.run = run_kept,
	};
	int rc = check(a, err);

	if (rc == 0 && m->name)
		rc = infer_instance(m->name, name, err);
	if (rc < 0)
		return cli_usage(err);
	if (isatty(STDIN_FILENO) == 1)
		say_info(cli, "an MCP client starts this, and speaks JSON-RPC "
			      "to it; Ctrl-D ends it");
	return server_serve(&o, STDIN_FILENO, STDOUT_FILENO, err);
}
