/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tap.h - unit tests that speak TAP
 *
 * A check prints one line and yields whether it held; a failed one says
 * where. A test that cannot go on leaves by `return`, so that scoped
 * variables are released and the leak checker stays honest:
 *
 *	if (!ok(fd >= 0, "open %s", path))
 *		return;
 *
 * main() ends with `return done_testing();`.
 */
#ifndef TESTS_UNIT_TAP_H
#define TESTS_UNIT_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/attr.h"

#define ok(cond, ...) tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, ...)                                           \
	tap_int((long long)(got), (long long)(want), __FILE__, __LINE__, \
		__VA_ARGS__)
#define is_str(got, want, ...) \
	tap_str((got), (want), __FILE__, __LINE__, __VA_ARGS__)
#define skip(...) tap_skip(__VA_ARGS__)

/* How long a test waits for what comes at once: the machine may be busy. */
#define GIVE_UP_MS 30000

static int tap_count, tap_failed;

static inline ATTR_PRINTF(2, 0) bool tap_line(bool cond, const char *fmt,
					      va_list ap)
{
	tap_failed += !cond;
	printf("%sok %d - ", cond ? "" : "not ", ++tap_count);
	vprintf(fmt, ap);
	putchar('\n');
	fflush(stdout); /* a test that forks must not print it twice */
	return cond;
}

static inline ATTR_PRINTF(4, 5) bool tap_ok(bool cond, const char *file,
					    int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_line(cond, fmt, ap);
	va_end(ap);
	if (!cond)
		printf("# failed at %s:%d\n", file, line);
	return cond;
}

static inline ATTR_PRINTF(5, 6) bool tap_int(long long got, long long want,
					     const char *file, int line,
					     const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_line(got == want, fmt, ap);
	va_end(ap);
	if (got != want)
		printf("# failed at %s:%d: got %lld, want %lld\n", file, line,
		       got, want);
	return got == want;
}

static inline ATTR_PRINTF(5, 6) bool tap_str(const char *got, const char *want,
					     const char *file, int line,
					     const char *fmt, ...)
{
	bool same = got && want ? strcmp(got, want) == 0 : got == want;
	va_list ap;

	va_start(ap, fmt);
	tap_line(same, fmt, ap);
	va_end(ap);
	if (!same)
		printf("# failed at %s:%d: got \"%s\", want \"%s\"\n", file,
		       line, got ? got : "(null)", want ? want : "(null)");
	return same;
}

static inline ATTR_PRINTF(1, 2) void tap_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("ok %d # SKIP ", ++tap_count);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

/* Prints the plan; the exit code of the test program. */
static inline int done_testing(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed || tap_count == 0;
}

#endif
