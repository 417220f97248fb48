/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_text_test.c - entries for instances in a configuration of ssh
 */
#include "control/cli/ssh/config_text.h"

#include "tests/unit/tap.h"

/* Returns the text, which the caller frees, or NULL with its failure. */
static char *text_of(const char *home, const char *program,
		     const char *const *names, bool all, struct err *err)
{
	struct strv list = { 0 };
	const struct config_text ct = {
		.home = home, .program = program, .names = &list, .all = all
	};
	struct buf out;
	char *text = NULL;

	for (; names && *names; names++)
		if (strv_push(&list, *names) < 0)
			return NULL;
	buf_init(&out, CONFIG_TEXT_MAX);
	if (config_text_put(&ct, &out, err) == 0 &&
	    slice_dup_str(buf_slice(&out), &text) < 0)
		text = NULL;
	buf_done(&out);
	strv_done(&list);
	return text;
}

static void test_all(void)
{
	const char *const names[] = { "work", "Claude_session", NULL };
	struct err err = { 0 };
	SCOPED_STR t = text_of("/h/a c", "/opt/10%/ac", names, true, &err);

	if (!ok(t, "a text: %s", err.msg))
		return;
	ok(strstr(t, "\nHost work.ac\n    User agent\n"
		     "Host Claude_session.ac\n    User agent\n"
		     "Host *.ac !*.*.ac !-* \"!*'*\" \"!*\\*\"\n"),
	   "each instance has a line, and names that quotes hold a pattern");
	ok(strstr(t, "    ProxyCommand env AC_HOME='/h/a c' '/opt/10%%/ac' "
		     "ssh-proxy '%n'\n"),
	   "the command is quoted, and %% doubled");
	ok(strstr(t, "    UserKnownHostsFile \"/h/a c/ssh/known_hosts\"\n"),
	   "so is the file of keys");
	ok(strstr(t, "    StrictHostKeyChecking yes\n") &&
		   strstr(t, "    ForwardAgent no\n") &&
		   strstr(t, "    ForwardX11 no\n") &&
		   strstr(t, "    PubkeyAuthentication no\n") &&
		   strstr(t, "    PermitLocalCommand no\n"),
	   "nothing of the user's is offered");
}

/* The hosts of others in the domain .ac have another dot. */
static void test_dots(void)
{
	const char *const names[] = { "my.app", "work", "a.b.c", NULL };
	struct err err = { 0 };
	SCOPED_STR t = text_of("/h", "/bin/ac", names, true, &err);
	const char *at;

	if (!ok(t, "a text: %s", err.msg))
		return;
	ok(strstr(t, "\nHost my.app.ac\n    User agent\nHost work.ac\n"),
	   "each has a line for editors");
	at = strstr(t, "\nHost my.app.ac a.b.c.ac\n    ProxyCommand ");
	ok(at && at > strstr(t, "\nHost *.ac !*.*.ac "),
	   "those with a dot have an entry behind the pattern");
	ok(at && strstr(at, "    ForwardAgent no\n"), "with all options");
}

static void test_some(void)
{
	const char *const names[] = { "work", "other", NULL };
	struct err err = { 0 };
	SCOPED_STR t = text_of("/h", "/bin/ac", names, false, &err);

	if (!ok(t, "a text: %s", err.msg))
		return;
	ok(strstr(t, "\nHost work.ac other.ac\n    ProxyCommand "),
	   "those that are named share one entry");
	ok(!strstr(t, "*"), "and there is no pattern");
}

static void test_paths(void)
{
	static const char *const bad[] = { "/a\"b",    "/a'b",  "/a\\b",
					   "/${HOME}", "/a\nb", "/a`b`",
					   "/a*",      "/a[b]" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = { 0 };
		SCOPED_STR a = text_of(bad[i], "/bin/ac", NULL, true, &err);
		SCOPED_STR b = text_of("/h", bad[i], NULL, true, &err);

		ok(!a && !b && err.code == -EINVAL,
		   "a path that ssh reads otherwise is refused");
	}
}

static void test_names(void)
{
	static const struct {
		const char *host, *name;
	} rows[] = {
		{ "work.ac", "work" },  { "work", "work" },
		{ "a.ac", "a_" },       { "Work.ac", "Work" },
		{ "x.ac.ac", "x.ac" },  { ".ac", NULL },
		{ "-oProxy.ac", NULL }, { "a b.ac", NULL },
		{ "../run.ac", NULL },  { "", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char name[AC_NAME_MAX + 1] = "";
		struct err err = { 0 };
		int rc = config_text_instance(rows[i].host, name, &err);

		ok(rows[i].name ? rc == 0 && strcmp(name, rows[i].name) == 0 :
				  rc == -EINVAL,
		   "'%s' is %s", rows[i].host,
		   rows[i].name ? rows[i].name : "none");
	}
}

int main(void)
{
	test_all();
	test_dots();
	test_some();
	test_paths();
	test_names();
	return done_testing();
}
