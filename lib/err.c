/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err.c - the error a user will read, on the caller's stack
 *
 * Texts are made in a buffer of their own first: an argument may point into
 * the very message that is being replaced. errno is kept throughout.
 */
#include "lib/err.h"

#include <stdarg.h>
#include <string.h>

static ATTR_PRINTF(3, 0) void err_format(char *out, size_t size,
					 const char *fmt, va_list ap)
{
	if (vsnprintf(out, size, fmt, ap) < 0)
		out[0] = '\0';
}

/* Joins "head: tail" into the message, cut at its end. */
static void err_join(struct err *err, const char *head, const char *tail)
{
	size_t head_len = strnlen(head, sizeof(err->msg) - 1);
	size_t room = sizeof(err->msg) - 1 - head_len;
	size_t tail_len = strnlen(tail, room > 2 ? room - 2 : 0);

	/* The tail first: it may be the message itself, which then moves. */
	if (room > 2) {
		memmove(err->msg + head_len + 2, tail, tail_len);
		memcpy(err->msg + head_len, ": ", 2);
		err->msg[head_len + 2 + tail_len] = '\0';
	} else {
		err->msg[head_len] = '\0';
	}
	memcpy(err->msg, head, head_len);
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	char text[sizeof(err->msg)];
	int saved = errno;
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	err_format(text, sizeof(text), fmt, ap);
	va_end(ap);
	err->code = code;
	err->word[0] = '\0';
	memcpy(err->msg, text, sizeof(text));
	errno = saved;
	return code;
}

int err_sys(struct err *err, const char *fmt, ...)
{
	char text[sizeof(err->msg)];
	int saved = errno;
	/* A failure that left no errno must not read as success. */
	int code = saved > 0 ? -saved : -EIO;
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	err_format(text, sizeof(text), fmt, ap);
	va_end(ap);
	err->code = code;
	err->word[0] = '\0';
	err_join(err, text, err_text(code));
	errno = saved;
	return code;
}

int err_nomem(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

int err_name(struct err *err, const char *word)
{
	size_t len = strnlen(word, sizeof(err->word) - 1);

	if (!err)
		return -EIO; /* nobody kept the code, but it is a failure */
	memcpy(err->word, word, len);
	err->word[len] = '\0';
	return err->code;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char text[sizeof(err->msg)];
	int saved = errno;
	va_list ap;

	if (!err)
		return -EIO; /* nobody kept the code, but it is a failure */
	va_start(ap, fmt);
	err_format(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_join(err, text, err->msg);
	errno = saved;
	return err->code;
}

const char *err_text(int code)
{
	/* Not strerror(): no locale, no shared buffer. */
	const char *text = code > -4096 && code <= 0 ? strerrordesc_np(-code) :
						       NULL;

	return text ? text : "Unknown error";
}
