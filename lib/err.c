/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err.c - an error message on the caller's stack
 *
 * Text is formatted into a separate buffer first, because an argument may point
 * into the message that is being replaced. errno is kept.
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

/* Joins head, @mark and tail into the message, cut at its end. */
static void err_join(struct err *err, const char *head, const char *mark,
		     const char *tail)
{
	const size_t mark_len = strlen(mark);
	size_t head_len = strnlen(head, sizeof(err->msg) - 1);
	size_t room = sizeof(err->msg) - 1 - head_len;
	size_t tail_len = strnlen(tail, room > mark_len ? room - mark_len : 0);

	/* The tail first: it may be the message itself, which then moves. */
	if (room > mark_len) {
		memmove(err->msg + head_len + mark_len, tail, tail_len);
		memcpy(err->msg + head_len, mark, mark_len);
		err->msg[head_len + mark_len + tail_len] = '\0';
	} else {
		err->msg[head_len] = '\0';
	}
	memcpy(err->msg, head, head_len);
}

/* All but code and message. */
static void err_clear(struct err *err)
{
	err->word[0] = err->key[0] = err->hint[0] = '\0';
	err->line = err->column = 0;
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
	err_clear(err);
	memcpy(err->msg, text, sizeof(text));
	errno = saved;
	return code;
}

int err_sys(struct err *err, const char *fmt, ...)
{
	char text[sizeof(err->msg)];
	int saved = errno;
	/* A failure that left no errno must not read as success. */
	int rc = saved > 0 ? -saved : -EIO;
	va_list ap;

	if (!err)
		return rc;
	va_start(ap, fmt);
	err_format(text, sizeof(text), fmt, ap);
	va_end(ap);
	err->code = rc;
	err_clear(err);
	err_join(err, text, ": ", err_text(rc));
	errno = saved;
	return rc;
}

int err_nomem(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

int err_name(struct err *err, const char *word)
{
	size_t len = strnlen(word, sizeof(err->word) - 1);

	if (!err)
		return -EIO; /* the code is lost, but it is a failure */
	memcpy(err->word, word, len);
	err->word[len] = '\0';
	return err->code;
}

int err_place(struct err *err, unsigned line, unsigned column)
{
	if (!err)
		return -EIO; /* as above */
	err->line = line;
	err->column = column;
	return err->code;
}

int err_hint(struct err *err, const char *word)
{
	size_t len = strnlen(word, sizeof(err->hint) - 1);

	if (!err)
		return -EIO; /* as above */
	memcpy(err->hint, word, len);
	err->hint[len] = '\0';
	return err->code;
}

int err_key(struct err *err, const char *key)
{
	char text[sizeof(err->key) + 2];
	size_t len = strnlen(key, sizeof(err->key) - 1);

	if (!err)
		return -EIO; /* the code was not kept, but it is a failure */
	memcpy(err->key, key, len);
	err->key[len] = '\0';
	snprintf(text, sizeof(text), "'%s'", err->key);
	err_join(err, text, " ", err->msg);
	return err->code;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char text[sizeof(err->msg)];
	int saved = errno;
	va_list ap;

	if (!err)
		return -EIO; /* the code is lost, but it is a failure */
	va_start(ap, fmt);
	err_format(text, sizeof(text), fmt, ap);
	va_end(ap);
	err->key[0] = '\0';
	err_join(err, text, ": ", err->msg);
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
