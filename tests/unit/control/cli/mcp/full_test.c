/* SPDX-License-Identifier: Apache-2.0 */
/*
 * full_test.c - the tools of a client that names its sandboxes: what they are shown as,
 * and what they take
 */
#include "control/cli/mcp/full.h"

#include "control/cli/mcp/scope.h"
#include "control/shared/json.h"
#include "tests/unit/tap.h"

static const struct cli cli;
static const struct args none;
static const struct mcp_opts opts = {
	.cli = &cli, .args = &none, .blueprint = "base", .full = true
};

static void test_entries(void)
{
	const struct tool *const *t;
	size_t n = 0;

	for (t = full_tools; *t; t++, n++) {
		SCOPED_JSON e = tool_entry(*t, &opts);
		const json_t *in = json_object_get(e, "inputSchema");

		ok(*json_text(e, "name") && *json_text(e, "title") &&
			   *json_text(e, "description"),
		   "%s has its texts", json_text(e, "name"));
		ok(strcmp(json_text(in, "type"), "object") == 0 &&
			   json_is_object(json_object_get(in, "properties")),
		   "and a schema");
		ok(!(*t)->session && !(*t)->raw && (*t)->run, "and is served");
	}
	is_int(n, 18, "all of them");
}

static const struct {
	const struct tool *tool;
	const char *args;
	const char *says; /* NULL: they are taken */
} rows[] = {
	{ &full_create, "{}", NULL },
	{ &full_create,
	  "{\"image\":\"base\",\"cpus\":1.5,\"memory_mb\":16,\"ttl_seconds\":1,"
	  "\"cmd\":[\"a\"],\"env\":{\"A\":\"b\"},\"name\":\"x\"}",
	  NULL },
	{ &full_create, "{\"cpus\":1,\"env\":null,\"name\":null}", NULL },
	{ &full_create, "{\"image\":\"a\",\"profile\":\"b\"}", "give one" },
	{ &full_create, "{\"cpus\":0}", "cpus" },
	{ &full_create, "{\"cpus\":\"1\"}", "cpus" },
	{ &full_create, "{\"memory_mb\":1}", "memory_mb" },
	{ &full_create, "{\"env\":[]}", "env" },
	{ &full_create, "{\"env\":{\"A\":1}}", "env" },
	{ &full_create, "{\"env\":{\"A=\":\"\",\"1\":\"\"}}", "env" },
	{ &full_create, "{\"env\":{\"A\":\"\\u0000\"}}", "env" },
	{ &full_create, "{\"name\":\"a/b\"}", "mcp-a/b" },
	{ &full_create, "{\"egress\":\"open\"}", "egress" },
	{ &full_create, "{\"workspace\":\"/\"}", "workspace" },
	{ &full_list, "{\"id\":\"x\"}", "id" },
	{ &full_get, "{}", "id" },
	{ &full_get, "{\"id\":null}", "id" },
	{ &full_exec, "{\"id\":\"mcp-a\",\"cmd\":[\"x\"]}", NULL },
	{ &full_exec, "{\"id\":\"mcp-a\",\"cmd\":[]}", "cmd" },
	{ &full_exec, "{\"id\":\"mcp-a\"}", "cmd" },
	{ &full_exec, "{\"id\":\"mcp-a\",\"cmd\":\"x\"}", "cmd" },
	{ &full_exec, "{\"id\":\"mcp-a\",\"cmd\":[\"x\"],\"workdir\":\"a\"}",
	  "absolute" },
	{ &full_exec,
	  "{\"id\":\"mcp-a\",\"cmd\":[\"x\"],\"timeout_seconds\":0}",
	  "timeout" },
	{ &full_file_write,
	  "{\"id\":\"a\",\"path\":\"b\",\"content\":\"\\u0000\"}", NULL },
	{ &full_file_write,
	  "{\"id\":\"a\",\"path\":\"b\",\"content\":\"\",\"encoding\":\"x\"}",
	  "encoding" },
	{ &full_file_read, "{\"id\":\"a\",\"path\":\"b\\u0000\"}", "NUL" },
	{ &full_snapshot_create, "{\"id\":\"a\",\"tag\":\"a b\"}", "a b" },
	{ &full_snapshot_delete, "{\"id\":\"a\"}", "tag" },
	{ &full_fork, "{\"id\":\"a\",\"name\":\"a b\"}", "mcp-a b" },
};

static void test_arguments(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_JSON args =
			json_loads(rows[i].args, JSON_ALLOW_NUL, NULL);
		struct tool_call c = { .o = &opts, .args = args };
		struct err err = { 0 };
		int rc = tool_check(rows[i].tool, &c, &err);

		ok((rc < 0) == (rows[i].says != NULL), "%s %s: %s",
		   rows[i].tool->name, rows[i].args, err.msg);
		if (rows[i].says)
			ok(strstr(err.msg, rows[i].says), "says %s",
			   rows[i].says);
	}
}

static void test_scope(void)
{
	struct mcp_opts o = opts;
	char name[AC_NAME_MAX + 1];
	struct err err = { 0 };
	static const char *const ids[] = { "warm", "", "mcp-", "mcp-a/../b",
					   "tool-12345678" };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		SCOPED_JSON args = json_pack("{s:s}", "id", ids[i]);
		struct tool_call c = { .o = &opts, .args = args };
		const char *id = NULL;
		int rc = scope_id(&c, &id, &err);

		/* "mcp-" is a name like others. */
		is_int(rc, strcmp(ids[i], "mcp-") == 0 ? 0 : -ENOENT,
		       "'%s' is out of reach", ids[i]);
	}
	ok(!scope_has(&o, "warm"), "another one is not seen");
	o.name = "warm";
	ok(scope_has(&o, "warm") && scope_has(&o, "mcp-x"), "but by --name");
	is_int(scope_new_name("web", name, &err), 0, "a wish");
	is_str(name, "mcp-web", "has the prefix");
	is_int(scope_new_name("mcp-web", name, &err), 0, "one with it");
	is_str(name, "mcp-web", "has it once");
	is_int(scope_new_name(NULL, name, &err), 0, "no wish");
	is_int(strlen(name), 12, "is a number");
	is_int(scope_new_name("0123456789012345678901234567890123456789012345"
			      "678901234567890123456789",
			      name, &err),
	       -EINVAL, "a long one is refused");
}

int main(void)
{
	test_entries();
	test_arguments();
	test_scope();
	return done_testing();
}
