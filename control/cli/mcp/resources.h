/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resources.h - logs and files of sandboxes as resources of MCP
 *
 * ac://sandbox/ID/log is what its main process wrote, ac://sandbox/ID/file/PATH an
 * absolute path of a running one, percent-encoded.
 */
#ifndef CONTROL_CLI_MCP_RESOURCES_H
#define CONTROL_CLI_MCP_RESOURCES_H

#include "control/cli/mcp/tool.h"
#include "control/shared/paths.h"

/* The requests "resources/list" and "resources/read"; none is a tool. */
extern const struct tool resources_list, resources_read;

/* Returns the result of "resources/templates/list", NULL without memory. */
json_t *resources_templates(void);

struct resource {
	char id[AC_NAME_MAX + 1];
	char path[4096]; /* of a file, absolute; "": it is the log */
};

/* Parses a URI. Has no side effects. Returns 0 or -EINVAL. */
int resource_parse(const char *uri, struct resource *ret) ATTR_WUR;

#endif
