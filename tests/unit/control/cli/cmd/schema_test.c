/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_test.c - `ac schema` prints the shipped files, byte for byte
 */
#include "control/cli/cmd/schema.h"

#include <fcntl.h>
#include <stdlib.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static int schema_of(const char *name, const char *share, struct err *err)
{
	char word[32], dir[256];
	struct args a = { .words = { word }, .n_words = 1 };
	struct cli cli = { .share = dir };

	snprintf(word, sizeof(word), "%s", name);
	snprintf(dir, sizeof(dir), "%s", share);
	return cmd_schema(&cli, &a, err);
}

/* What it writes to standard output; caller frees. */
static char *printed(const char *name)
{
	char path[] = "/tmp/schema_test.XXXXXX";
	int fd = mkstemp(path), was = dup(STDOUT_FILENO);
	struct err err = { 0 };
	char *text = NULL;

	if (fd < 0 || was < 0)
		return NULL;
	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	if (schema_of(name, ".", &err) == 0 && fflush(stdout) == 0)
		file_read(path, 1024 * 1024, &text, NULL);
	dup2(was, STDOUT_FILENO);
	close(was);
	close(fd);
	unlink(path);
	return text;
}

int main(void)
{
	struct err err = { 0 };

	for (size_t i = 0; i < SCHEMA_NAMES; i++) {
		const char *path = schema_file(schema_names[i]);
		SCOPED_STR got = printed(schema_names[i]);
		SCOPED_STR want = NULL;

		is_int(path ? file_read(path, 1024 * 1024, &want, NULL) : -1, 0,
		       "%s is shipped", schema_names[i]);
		ok(got && want && strcmp(got, want) == 0, "and printed");
	}
	is_int(schema_of("../policy", ".", &err), CLI_USAGE, "%s", err.msg);
	ok(strstr(err.msg, "none of '../policy'"), "names what is not known");
	is_int(schema_of("policy", "/nonexistent", &err), -ENOENT, "%s",
	       err.msg);
	return done_testing();
}
