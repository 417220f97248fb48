/* SPDX-License-Identifier: Apache-2.0 */
/*
 * full.h - the tools of `ac mcp --tools full`
 */
#ifndef CONTROL_CLI_MCP_FULL_H
#define CONTROL_CLI_MCP_FULL_H

#include "control/cli/mcp/tool.h"

/* All of them, the last is NULL. */
extern const struct tool *const full_tools[];

extern const struct tool full_create, full_list, full_get, full_start,
	full_exec, full_stop, full_delete; /* full_sandbox.c, full_exec.c */
extern const struct tool full_file_read, full_file_write, full_file_list,
	full_file_delete; /* full_files.c */
extern const struct tool full_snapshot_create, full_snapshot_list,
	full_snapshot_restore, full_snapshot_delete,
	full_fork; /* full_snapshots.c */
extern const struct tool full_policy_explain,
	full_blueprint_list; /* full_look.c */

/* Arguments that many of them have. */
extern const struct schema full_is_id, full_is_path, full_is_env, full_is_tag;

/* Appends "NAME=value" for each member of the argument "env" to @ret. Returns 0,
 * -EINVAL or -ENOMEM. */
int full_env(const json_t *args, struct strv *ret, struct err *err);

#endif
