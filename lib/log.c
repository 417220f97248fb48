/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - log lines on stderr: "level component message"
 *
 * A line is made on the stack and written by one write(), so that lines of
 * several processes on one stderr do not mix. Unprintable text is escaped
 * first, in both formats; JSON then has to escape only quotes and backslashes.
 */
#include "lib/log.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "lib/file.h"
#include "lib/str.h"

#define LOG_TEXT_MAX 4608 /* one line of vaultd's audit, and whose it is */
/* A byte becomes \\xNN in JSON at the worst. */
#define LOG_LINE_MAX (5 * LOG_TEXT_MAX)

static const char *const log_names[] = { "error", "warn", "info", "debug" };

static_assert(ARRAY_SIZE(log_names) == LOG_LVL_DEBUG + 1,
	      "one name for each level");

static const char *log_component = "-";
static enum log_level log_max = LOG_LVL_INFO;
static int log_json;

void log_init(const char *component, enum log_level max, int json)
{
	log_component = component ? component : "-";
	log_max = max;
	log_json = json;
}

/* Copies printable text into a JSON string. */
static void log_json_quote(char *out, size_t size, const char *in)
{
	size_t n = 0;

	for (; *in && n + 2 < size; in++) {
		if (*in == '"' || *in == '\\')
			out[n++] = '\\';
		out[n++] = *in;
	}
	out[n] = '\0';
}

static int log_format_json(char *line, size_t size, enum log_level level,
			   const char *text)
{
	char quoted[LOG_LINE_MAX];
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	log_json_quote(quoted, sizeof(quoted), text);
	return snprintf(line, size,
			"{\"ts\":%lld.%03ld,\"level\":\"%s\","
			"\"component\":\"%s\",\"msg\":\"%s\"}\n",
			(long long)now.tv_sec, now.tv_nsec / 1000000,
			log_names[level], log_component, quoted);
}

static ATTR_PRINTF(2, 0) void log_write(enum log_level level, const char *fmt,
					va_list ap)
{
	char text[LOG_TEXT_MAX], escaped[LOG_LINE_MAX];
	char line[LOG_LINE_MAX + 256];
	int saved = errno;
	int len;

	if (level > log_max)
		return;
	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		text[0] = '\0';
	str_escape_utf8(escaped, sizeof(escaped), text, strlen(text));
	if (log_json)
		len = log_format_json(line, sizeof(line), level, escaped);
	else
		len = snprintf(line, sizeof(line), "%s %s %s\n",
			       log_names[level], log_component, escaped);
	/* A log that cannot be written has nowhere to say so. */
	if (len > 0 && (size_t)len < sizeof(line))
		fd_write_all(STDERR_FILENO, line, (size_t)len);
	errno = saved;
}

void log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_write(LOG_LVL_ERROR, fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_write(LOG_LVL_WARN, fmt, ap);
	va_end(ap);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_write(LOG_LVL_INFO, fmt, ap);
	va_end(ap);
}

void log_debug(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_write(LOG_LVL_DEBUG, fmt, ap);
	va_end(ap);
}
