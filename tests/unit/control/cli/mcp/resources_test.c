/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resources_test.c - the URIs of logs and files
 */
#include "control/cli/mcp/resources.h"

#include "control/shared/json.h"
#include "tests/unit/tap.h"

int main(void)
{
	static const struct {
		const char *uri, *id, *path; /* id NULL: refused */
	} rows[] = {
		{ "ac://sandbox/mcp-one/log", "mcp-one", "" },
		{ "ac://sandbox/mcp-one/file/etc/passwd", "mcp-one",
		  "/etc/passwd" },
		{ "ac://sandbox/mcp-one/file/a%20b%2fc", "mcp-one", "/a b/c" },
		{ "ac://sandbox/mcp-one/file/", "mcp-one", "/" },
		{ "ac://sandbox/mcp-one", NULL, NULL },
		{ "ac://sandbox/mcp-one/", NULL, NULL },
		{ "ac://sandbox/mcp-one/logs", NULL, NULL },
		{ "ac://sandbox/mcp-one/file", NULL, NULL },
		{ "ac://sandbox//log", NULL, NULL },
		{ "ac://sandbox/a b/log", NULL, NULL },
		{ "ac://sandbox/mcp-one/file/%00", NULL, NULL },
		{ "ac://sandbox/mcp-one/file/%4", NULL, NULL },
		{ "ac://sandbox/mcp-one/file/%", NULL, NULL },
		{ "ac://sandbox/mcp-one/file/%zz", NULL, NULL },
		{ "file:///etc/passwd", NULL, NULL },
		{ "", NULL, NULL },
	};
	SCOPED_JSON t = resources_templates();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct resource r;
		int rc = resource_parse(rows[i].uri, &r);

		is_int(rc, rows[i].id ? 0 : -EINVAL, "'%s'", rows[i].uri);
		if (rc < 0)
			continue;
		is_str(r.id, rows[i].id, "its sandbox");
		is_str(r.path, rows[i].path, "its path");
	}
	is_int(json_array_size(json_object_get(t, "resourceTemplates")), 2,
	       "two templates");
	return done_testing();
}
