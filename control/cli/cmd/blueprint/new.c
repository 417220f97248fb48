/* SPDX-License-Identifier: Apache-2.0 */
/*
 * new.c - `ac blueprint new`: a file to begin with
 */
#include "control/cli/cmd/blueprint/new.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/cli/cmd/blueprint/blueprint.h"
#include "control/shared/json.h"
#include "control/shared/names.h"
#include "lib/file.h"
#include "lib/str.h"

#define PARENT_DEFAULT "base"

/* %s: its name, four times; its parent, twice; its name. */
#define STARTER                                                             \
	"# A blueprint of your own: ac run %s\n"                            \
	"# All keys: man ac-blueprint. What comes of it, and from where:\n" \
	"#   ac blueprint check %s\n"                                       \
	"#   ac blueprint show %s --resolved\n"                             \
	"#   ac blueprint diff %s\n"                                        \
	"version: 2\n"                                                      \
	"# What is not said below is as in this one.\n"                     \
	"extends: %s\n"                                                     \
	"description: %s, with settings of our own\n"                       \
	"\n"                                                                \
	"# Your own image: a Dockerfile beside this file (FROM ac/base).\n" \
	"# image: %s\n"                                                     \
	"\n"                                                                \
	"# What is started, and its environment. Words after -- on the\n"   \
	"# command line follow the command (append) or take its place.\n"   \
	"# run:\n"                                                          \
	"#   command: [bash, -l]\n"                                         \
	"#   args: append\n"                                                \
	"#   env: { EXAMPLE: value }\n"                                     \
	"\n"                                                                \
	"# How much it may use; none removes a limit.\n"                    \
	"# resources: { cpus: 2, memory: 4g, pids: 1024, disk: 10g }\n"     \
	"# ttl: 7d   # home and log are removed so long after a run\n"      \
	"# idle: 30m # stopped after so long without activity\n"            \
	"\n"                                                                \
	"# What it reaches, besides what its parent reaches.\n"             \
	"# egress:\n"                                                       \
	"#   use: [github]\n"                                               \
	"#   allow: [\"example.org:443\"]\n"                                \
	"\n"                                                                \
	"# Credentials of the vault (ac vault ls).\n"                       \
	"# credentials: [github]\n"                                         \
	"\n"                                                                \
	"# Paths of the workspace that it never sees.\n"                    \
	"# blocked_paths: [.env]\n"                                         \
	"\n"                                                                \
	"# Rules for the agent, where its parent says that it looks.\n"     \
	"# prompt:\n"                                                       \
	"#   text: |\n"                                                     \
	"#     Write a test first.\n"                                       \
	"\n"                                                                \
	"# Folders beside this file with a SKILL.md, shown read-only.\n"    \
	"# skills:\n"                                                       \
	"#   folders: [skills/review]\n"

static bool has_blueprint(const char *dir, const char *name)
{
	SCOPED_STR path =
		str_printf("%s/blueprints/%s/blueprint.yaml", dir, name);

	return path && access(path, F_OK) == 0;
}

/* Returns the blueprint that the new one extends, or NULL if there is none. One
 * that takes the name of a shipped one extends that. */
static const char *parent_of(const struct cli *cli, const struct args *a)
{
	const char *name = a->words[0];
	const char *parent = a->from;

	if (!parent)
		return has_blueprint(cli->share, name) ? name : PARENT_DEFAULT;
	if (strcmp(parent, name) != 0 && has_blueprint(cli->home, parent))
		return parent;
	return has_blueprint(cli->share, parent) ? parent : NULL;
}

static int write_new(const char *path, const char *text, struct err *err)
{
	SCOPED_FD fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	size_t len = strlen(text);

	if (fd < 0 && errno == EEXIST)
		return err_set(err, -EEXIST,
			       "%s is there already, and stays as it is", path);
	if (fd < 0)
		return err_sys(err, "make %s", path);
	if (write(fd, text, len) != (ssize_t)len) {
		err_sys(err, "write %s", path);
		unlink(path);
		return err->code;
	}
	return 0;
}

int cmd_blueprint_new(const struct cli *cli, const struct args *a,
		      struct err *err)
{
	const char *name = a->words[0], *parent;
	SCOPED_STR dir = str_printf("%s/blueprints/%s", cli->home, name);
	SCOPED_STR path = str_printf("%s/blueprint.yaml", dir ? dir : "");
	SCOPED_STR text = NULL;
	SCOPED_JSON answer = NULL;
	int rc = name_check_blueprint(name, err);

	if (rc < 0)
		return cli_usage(err);
	parent = parent_of(cli, a);
	if (!parent)
		return err_set(
			err, -ENOENT,
			"there is no blueprint '%s' to extend: `ac list` "
			"names them",
			a->from);
	text = str_printf(STARTER, name, name, name, name, parent, parent,
			  name);
	if (!dir || !path || !text)
		return err_nomem(err);
	rc = file_mkdir_p(dir, 0755);
	if (rc < 0)
		return err_set(err, rc, "make %s: %s", dir, err_text(rc));
	rc = write_new(path, text, err);
	if (rc < 0)
		return rc;
	if (!cli->json) {
		puts(path);
		return 0;
	}
	answer = json_pack("{s:o, s:o, s:o}", "name", jsonx_text(name), "file",
			   jsonx_text(path), "extends", jsonx_text(parent));
	return answer ? cli_print_json(answer, false, err) : err_nomem(err);
}
