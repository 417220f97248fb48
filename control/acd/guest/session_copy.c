/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_copy.c - what acd's end of a guest link is, written down and read
 *
 * Theory of operation: the text is acd's own, kept where only acd writes, but it
 * may be damaged: each number is checked against what a session may be.
 */
#include "control/acd/guest/session_copy.h"

#include <sodium.h>
#include <string.h>
#include <sys/ioctl.h>

#include "control/acd/guest/linkio.h"
#include "control/acd/guest/session_impl.h"

/* ---- written ---- */

void session_mark(struct session *s)
{
	s->slept_id = s->last_id;
	s->slept_len = buf_len(&s->out);
	for (uint32_t i = 0; i < LINK_CHANNELS_MAX; i++) {
		struct channel *c = s->channels[i];

		if (c)
			memset(&c->later, 0, sizeof(c->later));
	}
}

void session_drain(struct session *s)
{
	int there = 0, rc = 0;

	s->depth++;
	while (s->asleep && s->tail >= 0 && rc == 0 &&
	       ioctl(s->tail, FIONREAD, &there) == 0 && there > 0)
		rc = linkio_read(s->tail, &s->rest, session_guest_frame, s);
	/* It ends as it wakes. */
	if (rc < 0 && s->state != OVER)
		s->torn = true;
	session_leave(s);
}

static json_t *hex_json(struct slice bytes)
{
	size_t size = 2 * bytes.len + 1;
	char *hex = malloc(size);
	json_t *v;

	if (!hex)
		return NULL;
	sodium_bin2hex(hex, size, bytes.ptr, bytes.len);
	v = json_string(hex);
	sodium_memzero(hex, size);
	free(hex);
	return v;
}

/* As the sandbox knows it: without what was sent since. */
static json_t *channel_json(const struct channel *c, const struct channel *main)
{
	return json_pack("{s:I, s:I, s:b, s:b, s:b, s:I, s:I, s:b}", "id",
			 (json_int_t)c->id, "flags", (json_int_t)c->flags,
			 "started", c->started, "deaf",
			 c->deaf && !c->later.close, "eof_sent",
			 c->eof_sent && !c->later.eof, "window",
			 (json_int_t)c->window - c->later.credit,
			 "stdin_window",
			 (json_int_t)c->stdin_window + c->later.input, "main",
			 c == main);
}

static json_t *channels_json(const struct session *s,
			     const struct channel *main)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < LINK_CHANNELS_MAX; i++) {
		const struct channel *c = s->channels[i];

		if (c && c->id <= s->slept_id &&
		    json_array_append_new(all, channel_json(c, main)) < 0) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

static json_t *report_json(const struct session *s)
{
	json_t *all = json_array();

	for (char **line = s->report; line && *line; line++)
		json_array_append_new(all, json_string(*line));
	return all;
}

json_t *session_save(const struct session *s, const struct channel *main,
		     struct slice unread, struct err *err)
{
	struct slice sent = buf_slice(&s->out);
	json_t *v;

	if (s->state != LIVE || !s->asleep || s->corked || !main ||
	    main->session != s) {
		err_set(err, -EAGAIN, "it moves, or has ended");
		return NULL;
	}
	if (s->torn) {
		err_set(err, -EIO, "its guest link is broken");
		return NULL;
	}
	/* What was sent since waits for this sandbox alone. */
	sent.len = s->slept_len;
	v = json_pack("{s:I, s:I, s:I, s:b, s:o, s:o, s:o, s:o, s:o}",
		      "version", (json_int_t)LINK_VERSION, "last_id",
		      (json_int_t)s->slept_id, "ping", (json_int_t)s->ping,
		      "ping_sent", s->ping_sent, "rest",
		      hex_json(buf_slice(&s->rest)), "unread", hex_json(unread),
		      "out", hex_json(sent), "channels", channels_json(s, main),
		      "report", report_json(s));
	if (!v)
		err_nomem(err);
	return v;
}

/* ---- read ---- */

/* Sets *ret to a member that is a number, at most @max. Returns false if it is
 * none. */
static bool number(const json_t *v, const char *key, uint32_t max,
		   uint32_t *ret)
{
	const json_t *n = json_object_get(v, key);
	json_int_t value = json_integer_value(n);

	*ret = (uint32_t)value;
	return json_is_integer(n) && value >= 0 && value <= (json_int_t)max;
}

static bool flag(const json_t *v, const char *key)
{
	return json_is_true(json_object_get(v, key));
}

static int hex_load(const json_t *v, const char *key, struct buf *to)
{
	const json_t *text = json_object_get(v, key);
	const char *hex = json_string_value(text);
	size_t n = json_string_length(text), len = 0;
	uint8_t *at;

	if (!hex || n % 2 != 0)
		return -EBADMSG;
	if (n == 0)
		return 0;
	at = buf_reserve(to, n / 2);
	if (!at)
		return -ENOBUFS;
	if (sodium_hex2bin(at, n / 2, hex, n, NULL, &len, NULL) < 0 ||
	    len != n / 2)
		return -EBADMSG;
	buf_commit(to, len);
	return 0;
}

/* What the watchers of the other run have not given back of the window is given
 * here: they are not here, and the new run begins to count. */
static int main_load(struct session *s, struct channel *c,
		     const struct session_main *main)
{
	uint32_t owed = LINK_WINDOW - c->window;

	if (*main->ret || c->deaf)
		return -EBADMSG;
	*main->ret = c;
	c->window = LINK_WINDOW;
	return owed > 0 ? link_put_u32(&s->out, LINK_CREDIT, c->id, owed) : 0;
}

static int channel_load(struct session *s, const json_t *v, struct channel **at,
			const struct session_main *main)
{
	struct channel *c = calloc(1, sizeof(*c));
	bool ok;

	if (!c)
		return -ENOMEM;
	*at = c; /* freed with the session */
	c->session = s;
	c->opened_ms = clock_ms();
	c->started = flag(v, "started");
	c->eof_sent = flag(v, "eof_sent");
	c->deaf = flag(v, "deaf");
	c->ops = main->ops;
	c->arg = main->arg;
	ok = number(v, "id", UINT32_MAX, &c->id) && c->id > 0 &&
	     c->id <= s->last_id && number(v, "flags", 0xff, &c->flags) &&
	     number(v, "window", LINK_WINDOW, &c->window) &&
	     number(v, "stdin_window", LINK_WINDOW, &c->stdin_window);
	if (!ok)
		return -EBADMSG;
	if (flag(v, "main"))
		return main_load(s, c, main);
	if (c->deaf)
		return 0; /* it was told so */
	c->deaf = true;
	return link_put(&s->out, LINK_CLOSE, c->id, NULL, 0);
}

static int report_load(struct session *s, const json_t *list)
{
	size_t n = json_array_size(list);

	if (n > LINK_CHECKS_MAX)
		return -EBADMSG;
	s->report = calloc(n + 1, sizeof(*s->report));
	for (size_t i = 0; s->report && i < n; i++) {
		const char *text = json_string_value(json_array_get(list, i));

		s->report[i] = strdup(text ? text : "");
		if (!s->report[i])
			return -ENOMEM;
	}
	return s->report ? 0 : -ENOMEM;
}

static int ping_load(struct session *s, const json_t *v)
{
	s->proving = true;
	s->ping_sent = true;
	if (!number(v, "ping", UINT32_MAX, &s->ping))
		return -EBADMSG;
	/* Its answer, or the question, is on its way. */
	if (flag(v, "ping_sent"))
		return 0;
	return link_put_u32(&s->out, LINK_PING, 0, ++s->ping);
}

/* In the order in which the sandbox reads it. */
static int session_fill(struct session *s, const json_t *v,
			const struct session_main *main)
{
	const json_t *list = json_object_get(v, "channels"), *one;
	uint32_t version;
	size_t i;
	int rc;

	if (!number(v, "version", LINK_VERSION, &version) ||
	    version != LINK_VERSION ||
	    !number(v, "last_id", UINT32_MAX, &s->last_id) ||
	    json_array_size(list) > LINK_CHANNELS_MAX)
		return -EBADMSG;
	buf_secret(&s->out);
	rc = hex_load(v, "rest", &s->rest);
	if (rc == 0)
		rc = hex_load(v, "unread", &s->out);
	if (rc == 0)
		rc = hex_load(v, "out", &s->out);
	if (rc == 0)
		rc = report_load(s, json_object_get(v, "report"));
	json_array_foreach (list, i, one) {
		if (rc == 0)
			rc = channel_load(s, one, &s->channels[i], main);
	}
	if (rc == 0 && !*main->ret)
		rc = -EBADMSG;
	return rc == 0 ? ping_load(s, v) : rc;
}

struct session *session_load(struct loop *loop, int fd, const json_t *v,
			     const struct session_main *main,
			     const struct session_ops *ops, void *arg)
{
	struct session *s = session_new(loop, fd, ops, arg);
	int rc;

	*main->ret = NULL;
	if (!s)
		return NULL;
	s->state = LIVE;
	s->prepared = true;
	/* What was not read comes on top of what a session may hold. */
	s->out.max += json_string_length(json_object_get(v, "unread")) / 2 +
		      LINK_CHANNELS_MAX * (LINK_HEADER + 4);
	rc = session_fill(s, v, main);
	if (rc < 0) {
		session_free(s);
		*main->ret = NULL;
		errno = -rc;
		return NULL;
	}
	loop_timer_set(s->patience, s->limits.pong_ms);
	session_hold_back(s, false); /* sends */
	return s;
}
