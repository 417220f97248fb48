/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - answers that are a text of any length, not JSON
 */
#include "control/acd/api/http/text.h"

#include <string.h>

struct text_reply {
	struct http_stream *stream;
	char *text;
	size_t len, at;
};

static void text_free(void *arg)
{
	struct text_reply *t = arg;

	free(t->text);
	free(t);
}

static void text_pump(void *arg)
{
	struct text_reply *t = arg;

	while (t->at < t->len) {
		size_t n = t->len - t->at;
		size_t room = http_stream_room(t->stream);

		if (room == 0)
			return;
		n = n < room ? n : room;
		if (http_stream_write(t->stream, t->text + t->at, n) < 0)
			return; /* text_free() will be called */
		t->at += n;
	}
	http_stream_end(t->stream);
	text_free(t);
}

void api_reply_text(struct http_req *req, const char *content_type,
		    const char *text, size_t len)
{
	struct text_reply *t = calloc(1, sizeof(*t));
	struct err err = { 0 };

	if (t) {
		t->len = len;
		t->text = malloc(len + 1);
	}
	if (!t || !t->text) {
		free(t);
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
		return;
	}
	memcpy(t->text, text, len);
	t->stream =
		http_reply_stream(req, content_type, text_pump, text_free, t);
	if (t->stream)
		text_pump(t);
	else
		text_free(t);
}
