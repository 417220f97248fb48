/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.c - what acd prints about itself, without starting anything
 */
#include "control/acd/describe.h"

#include <stdio.h>
#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/api/spec/openapi.h"
#include "control/acd/blueprint/blueprint.h"
#include "control/acd/preset/preset.h"

#define TEXT_MAX (4u * 1024 * 1024)

static int print_version(struct buf *out)
{
	return buf_printf(out, "acd %s (%s)\n", acd_version(), acd_build_id());
}

static int print_schema(struct buf *out)
{
	return schema_print(&blueprint_schema, BLUEPRINT_SCHEMA_TITLE, out);
}

static int print_preset_schema(struct buf *out)
{
	return schema_print(&preset_schema, PRESET_SCHEMA_TITLE, out);
}

static int print_openapi(struct buf *out)
{
	return openapi_print(api_routes, out);
}

static int print(int (*fn)(struct buf *out))
{
	struct buf out;
	int rc;

	buf_init(&out, TEXT_MAX);
	rc = fn(&out);
	if (rc >= 0 && (fwrite(buf_slice(&out).ptr, 1, buf_len(&out), stdout) <
				buf_len(&out) ||
			fflush(stdout) != 0))
		rc = -EIO;
	buf_done(&out);
	if (rc < 0)
		fprintf(stderr, "acd: error: print: %s\n", err_text(rc));
	return rc < 0;
}

int describe(const char *option)
{
	if (strcmp(option, "--version") == 0)
		return print(print_version);
	if (strcmp(option, "--schema") == 0)
		return print(print_schema);
	if (strcmp(option, "--preset-schema") == 0)
		return print(print_preset_schema);
	if (strcmp(option, "--openapi") == 0)
		return print(print_openapi);
	return -1;
}
