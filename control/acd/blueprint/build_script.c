/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build_script.c - what images/build.sh is given, and what it says of a failure
 *
 * The sentence comes in a file, since any line of the script's output may be
 * that of a program that it runs.
 */
#include "control/acd/blueprint/build_script.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/shared/paths.h"
#include "lib/attr.h"
#include "lib/file.h"

#define WHY_MAX 4096u

int build_why_make(char **ret, struct err *err)
{
	SCOPED_STR path = strdup("/tmp/ac-build.XXXXXX");
	SCOPED_FD fd = path ? mkostemp(path, O_CLOEXEC) : -1;

	if (!path)
		return err_nomem(err);
	if (fd < 0)
		return err_sys(err, "make %s", path);
	*ret = ptr_take(&path);
	return 0;
}

char *build_why_read(const char *why)
{
	SCOPED_STR text = NULL;

	if (!why || file_read(why, WHY_MAX, &text, NULL) < 0 || !*text)
		return NULL;
	return ptr_take(&text);
}

void build_why_remove(char *why)
{
	if (why)
		unlink(why);
	free(why);
}

/* Returns true if build_script_env() has another value for @entry. */
static bool is_replaced(const char *entry)
{
	return str_starts(entry, "AC_HOME=") || str_starts(entry, "AC_SAY=") ||
	       str_starts(entry, "AC_WHY=");
}

int build_script_env(const char *why, struct strv *ret, struct err *err)
{
	SCOPED_STR in = str_printf("AC_WHY=%s", why);
	int rc = in ? strv_push(ret, in) : -ENOMEM;

	for (char **e = environ; rc == 0 && *e; e++)
		if (!is_replaced(*e))
			rc = strv_push(ret, *e);
	if (rc == 0)
		rc = strv_push(ret, "AC_SAY=");
	if (rc == 0)
		rc = strv_push(ret, "AC_HOME=" AC_STATE);
	return rc < 0 ? err_nomem(err) : 0;
}

void build_line_escape(char *out, size_t size, struct slice in)
{
	size_t used = 0;

	for (size_t n = 0; in.len > 0 && used + 1 < size; n = 0) {
		while (n < in.len && in.ptr[n] != '\\' && in.ptr[n] != '\t')
			n++;
		str_escape_utf8(out + used, size - used, in.ptr, n);
		used += strlen(out + used);
		if (n < in.len && used + 1 < size)
			out[used++] = in.ptr[n++] == '\t' ? ' ' : '\\';
		in.ptr += n;
		in.len -= n;
	}
	out[used] = '\0';
}
