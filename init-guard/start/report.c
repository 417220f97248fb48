/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - what a start has done and tested, for READY
 */
#include "init-guard/start/report.h"

#include <stdarg.h>
#include <string.h>

/* Returns the next place, or the last one again: there are fewer checks than
 * that. */
static char *report_next(struct report *r)
{
	size_t i = r->n < LINK_CHECKS_MAX ? r->n++ : r->n - 1;

	r->list[i] = r->text[i];
	r->list[r->n] = NULL;
	return r->text[i];
}

void report_ok(struct report *r, const char *check)
{
	(void)snprintf(report_next(r), LINK_CHECK_MAX + 1, "%s=ok", check);
}

void report_skip(struct report *r, const char *check, const char *fmt, ...)
{
	char *text = report_next(r), *p;
	va_list ap;
	int n = snprintf(text, LINK_CHECK_MAX + 1, "%s=skipped: ", check);

	if (n < 0 || (size_t)n > LINK_CHECK_MAX)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text + n, LINK_CHECK_MAX + 1 - (size_t)n, fmt, ap);
	va_end(ap);
	for (p = text; *p; p++) {
		if (*p < ' ' || *p > '~')
			*p = '?';
	}
}

int report_judge(struct report *r, const char *check, int rc, struct err *err)
{
	if (rc >= 0) {
		report_ok(r, check);
		return 0;
	}
	if (r->own_kernel || (rc != -EPERM && rc != -EACCES))
		return rc;
	report_skip(r, check, "%s", err->msg);
	*err = (struct err){ 0 };
	return 0;
}
