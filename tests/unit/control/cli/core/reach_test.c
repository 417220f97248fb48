/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reach_test.c - what --egress, --allow and --deny are taken to mean
 */
#include "control/cli/core/reach.h"

#include "control/shared/json.h"
#include "tests/unit/tap.h"

static const struct {
	const char *target;
	const char *says; /* part of the message, NULL: it is fine */
} targets[] = {
	{ "example.org", NULL },
	{ "example.org:8443", NULL },
	{ "example.org:8000-8010", NULL },
	{ ".example.org", NULL },
	{ "*.example.org", NULL },
	{ "+example.org:443", NULL },
	{ "b\xc3\xbc"
	  "cher.example",
	  NULL },
	{ "192.0.2.1", NULL },
	{ "192.0.2.1:22", NULL },
	{ "192.0.2.0/24", NULL },
	{ "2001:db8::1", NULL },
	{ "2001:db8::/32", NULL },
	{ "[2001:db8::1]:443", NULL },
	{ "https://example.org", NULL },
	{ "https://example.org/", NULL },
	{ "example.org:443/", NULL },
	{ "HTTPS://example.org", NULL },
	{ "wss://example.org", NULL },
	{ "198.51.100.0/24:443", NULL },
	{ "[2001:db8::/32]:443", NULL },
	{ "[2001:db8::1", "no host name" },
	{ "[2001:db8::1]x", "no host name" },
	{ "[example.org]:443", "no host name" },
	{ "a..b", "no host name" },
	{ "10.0.0.1.2", "no host name" },
	{ "192.0.2.1/24", "first address" },
	{ "http://example.org:8080", NULL },
	{ "tcp://git.example:22", NULL },
	{ "", "missing" },
	{ ":443", "missing" },
	{ "https://", "missing" },
	{ "https://EXAMPLE.org:99999/", "from 1 to 65535" },
	{ "https://u:p@example.org/x", "leave out the user name" },
	{ "git@example.org:x/y", "leave out the user name" },
	{ "example.org:443/x", "a path cannot" },
	{ "tcp://git.example", "needs a port" },
	{ "ftp://example.org", "before ://" },
	{ "ssh://git@example.org", "before ://" },
	{ "https://example.org/a", "path" },
	{ "example.org/a/b", "path" },
	{ "cafe/babe", "path" },
	{ "192.0.2.0/24/x", "path" },
	{ "https://example.org:443/a", "path" },
	{ "/", "path" },
	{ "example.org:0", "port" },
	{ "example.org:65536", "port" },
	{ "example.org:", "port" },
	{ "example.org:https", "port" },
	{ "example.org:20-10", "port" },
	{ "example.org:1-", "port" },
	{ "example.org:00000000000001", "port" },
	{ "example.org:-1", "port" },
	{ "[2001:db8::1]:x", "port" },
	{ "a b", "character" },
	{ "git@example.org", "leave out the user name" },
	{ "example.org\"", "character" },
	{ "exam\tple.org", "character" },
	{ "example.org?x", "character" },
	{ "ex*mple.org", "*" },
	{ "*", "*" },
};

static void test_targets(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(targets); i++) {
		struct err err = { 0 };
		int rc = reach_check_target(targets[i].target, &err);

		is_int(rc, targets[i].says ? -EINVAL : 0, "target %zu: %s", i,
		       err.msg);
		if (targets[i].says)
			ok(strstr(err.msg, targets[i].says) != NULL,
			   "target %zu says '%s'", i, targets[i].says);
	}
}

static void test_long(void)
{
	char name[400];
	struct err err = { 0 };

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	is_int(reach_check_target(name, &err), -EINVAL, "no name is so long");
	name[300] = '\0';
	is_int(reach_check_target(name, &err), -EINVAL, "nor is a label");
	name[63] = '\0';
	is_int(reach_check_target(name, &err), 0, "this may be one");
}

static const struct {
	const char *egress[3], *allow[3], *deny[2];
	const char *want; /* the body, NULL: refused */
	const char *says;
} rows[] = {
	{ { NULL }, { NULL }, { NULL }, "{}", NULL },
	{ { "locked" },
	  { "example.org" },
	  { NULL },
	  "{\"egress\":[\"locked\"],\"allow\":[\"example.org\"]}",
	  NULL },
	{ { "anthropic,github" },
	  { NULL },
	  { NULL },
	  "{\"egress\":[\"anthropic\",\"github\"]}",
	  NULL },
	{ { "open", "gitlab", "open" },
	  { NULL },
	  { NULL },
	  "{\"egress\":[\"open\",\"gitlab\",\"open\"]}",
	  NULL },
	{ { NULL },
	  { "a.example,b.example:22", "tcp://c.example:9418" },
	  { ".d.example" },
	  "{\"allow\":[\"a.example\",\"b.example:22\","
	  "\"tcp://c.example:9418\"],\"deny\":[\".d.example\"]}",
	  NULL },
	{ { "open,locked" }, { NULL }, { NULL }, NULL, "both open and locked" },
	{ { "open", "balanced" }, { NULL }, { NULL }, NULL, "both" },
	{ { "" }, { NULL }, { NULL }, NULL, "--egress is empty" },
	{ { "locked," }, { NULL }, { NULL }, NULL, "empty" },
	{ { "LOCKED" }, { NULL }, { NULL }, NULL, "neither open" },
	{ { "../x" }, { NULL }, { NULL }, NULL, "name of a preset" },
	{ { NULL }, { "" }, { NULL }, NULL, "--allow is empty" },
	{ { NULL }, { "a.example,,b.example" }, { NULL }, NULL, "empty" },
	{ { NULL }, { NULL }, { "https://x/y" }, NULL, "path" },
};

static int add_row(size_t i, struct reach *r, struct err *err)
{
	size_t k;
	int rc = 0;

	for (k = 0; rc == 0 && k < 3 && rows[i].egress[k]; k++)
		rc = reach_add_egress(r, rows[i].egress[k], err);
	for (k = 0; rc == 0 && k < 3 && rows[i].allow[k]; k++)
		rc = reach_add_targets(&r->allow, "--allow", rows[i].allow[k],
				       err);
	for (k = 0; rc == 0 && k < 2 && rows[i].deny[k]; k++)
		rc = reach_add_targets(&r->deny, "--deny", rows[i].deny[k],
				       err);
	return rc;
}

static void test_rows(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_JSON body = json_object();
		SCOPED_STR text = NULL;
		struct reach r = { 0 };
		struct err err = { 0 };
		int rc = add_row(i, &r, &err);

		is_int(rc, rows[i].want ? 0 : -EINVAL, "row %zu: %s", i,
		       err.msg);
		if (rows[i].says)
			ok(strstr(err.msg, rows[i].says) != NULL,
			   "row %zu says '%s'", i, rows[i].says);
		if (rows[i].want) {
			is_int(reach_put(body, &r), 0, "row %zu: body", i);
			text = json_dumps(body, JSON_COMPACT);
			is_str(text, rows[i].want, "row %zu: as acd gets it",
			       i);
			is_int(reach_is_given(&r), i > 0, "row %zu: given", i);
		}
		reach_done(&r);
	}
}

int main(void)
{
	struct err err = { 0 };

	test_targets();
	test_long();
	test_rows();
	is_int(reach_check_mode("balanced", &err), 0, "a mode");
	is_int(reach_check_mode("github", &err), -EINVAL, "no mode");
	return done_testing();
}
