/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade.c - a request to acd whose connection becomes a link
 *
 * libcurl does not hand over a connection after 101, so this is a small HTTP
 * client of its own: one request, one head, bounded.
 */
#include "control/cli/upgrade.h"

#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "lib/buf.h"
#include "lib/file.h"
#include "lib/sock.h"
#include "lib/str.h"

/* Takes a line without its CR LF. -EAGAIN: no end of line in sight. */
static int take_line(struct slice *in, struct slice *ret)
{
	const uint8_t *lf = in->len ? memchr(in->ptr, '\n', in->len) : NULL;
	struct slice line;
	size_t len;

	if (!lf)
		return -EAGAIN;
	len = (size_t)(lf - in->ptr) + 1;
	if (slice_take(in, len, &line) < 0)
		return -EBADMSG;
	if (len < 2 || line.ptr[len - 2] != '\r')
		return -EBADMSG;
	line.len = len - 2;
	*ret = line;
	return 0;
}

static int parse_digits(struct slice s, size_t max, size_t *ret)
{
	size_t value = 0, i;

	if (s.len == 0 || s.len > 9)
		return -EBADMSG;
	for (i = 0; i < s.len; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return -EBADMSG;
		value = value * 10 + (size_t)(s.ptr[i] - '0');
	}
	if (value > max)
		return -EBADMSG;
	*ret = value;
	return 0;
}

static int parse_status(struct slice line, struct upgrade_head *ret)
{
	static const char version[] = "HTTP/1.1 ";
	struct slice word;
	size_t status;

	if (slice_take(&line, sizeof(version) - 1, &word) < 0 ||
	    memcmp(word.ptr, version, word.len) != 0 ||
	    slice_take(&line, 3, &word) < 0 ||
	    parse_digits(word, 599, &status) < 0 || status < 100)
		return -EBADMSG;
	if (line.len > 0 && line.ptr[0] != ' ')
		return -EBADMSG;
	ret->status = (int)status;
	return 0;
}

static bool is_word(struct slice s, const char *word)
{
	return s.len == strlen(word) &&
	       strncasecmp((const char *)s.ptr, word, s.len) == 0;
}

static int parse_field(struct slice line, struct upgrade_head *ret)
{
	const uint8_t *colon = memchr(line.ptr, ':', line.len);
	struct slice name, skip;

	if (!colon ||
	    slice_take(&line, (size_t)(colon - line.ptr), &name) < 0 ||
	    name.len == 0 || slice_take(&line, 1, &skip) < 0)
		return -EBADMSG;
	while (line.len > 0 && (line.ptr[0] == ' ' || line.ptr[0] == '\t'))
		if (slice_take(&line, 1, &skip) < 0)
			return -EBADMSG;
	while (line.len > 0 && (line.ptr[line.len - 1] == ' ' ||
				line.ptr[line.len - 1] == '\t'))
		line.len--;
	if (is_word(name, "Upgrade") && is_word(line, "ac-link/1"))
		ret->link = true;
	if (!is_word(name, "Content-Length"))
		return 0;
	if (ret->has_length ||
	    parse_digits(line, UPGRADE_BODY_MAX, &ret->length) < 0)
		return -EBADMSG;
	ret->has_length = true;
	return 0;
}

int upgrade_head_parse(struct slice in, struct upgrade_head *ret)
{
	struct upgrade_head head = { .status = 0 };
	struct slice all = in, line;
	int rc;

	if (in.len > UPGRADE_HEAD_MAX)
		in.len = UPGRADE_HEAD_MAX;
	rc = take_line(&in, &line);
	if (rc == 0)
		rc = parse_status(line, &head);
	while (rc == 0) {
		rc = take_line(&in, &line);
		if (rc < 0 || line.len == 0)
			break;
		rc = parse_field(line, &head);
	}
	if (rc == -EAGAIN && all.len >= UPGRADE_HEAD_MAX)
		return -EBADMSG; /* it will not end in time */
	if (rc < 0)
		return rc;
	head.size = (size_t)(in.ptr - all.ptr);
	*ret = head;
	return 0;
}

static int request_send(int fd, const char *path, const json_t *body,
			struct err *err)
{
	SCOPED_STR text = json_dumps(body, JSON_COMPACT);
	SCOPED_STR all = NULL;
	size_t len, sent = 0;

	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	all = str_printf("POST %s HTTP/1.1\r\nHost: ac\r\n"
			 "Connection: Upgrade\r\nUpgrade: ac-link/1\r\n"
			 "Content-Type: application/json\r\n"
			 "Content-Length: %zu\r\n\r\n%s",
			 path, strlen(text), text);
	if (!all)
		return err_set(err, -ENOMEM, "out of memory");
	len = strlen(all);
	while (sent < len) {
		ssize_t n = send(fd, all + sent, len - sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "send to acd");
		sent += (size_t)n;
	}
	return 0;
}

/* Appends what comes next. 0 at the end of the stream. */
static ssize_t receive(int fd, struct buf *in)
{
	size_t room = buf_room(in) < 4096 ? buf_room(in) : 4096;
	uint8_t *place = room ? buf_reserve(in, room) : NULL;
	ssize_t n;

	if (!place)
		return -ENOBUFS;
	do {
		n = recv(fd, place, room, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	buf_commit(in, (size_t)n);
	return n;
}

/* A refusal: the rest of its body, then what it says. */
static int refusal(int fd, const struct upgrade_head *head, struct buf *in,
		   struct client_error *ce, struct err *err)
{
	struct slice body;
	size_t want = head->has_length ? head->length : UPGRADE_BODY_MAX;

	buf_consume(in, head->size);
	while (buf_len(in) < want && receive(fd, in) > 0)
		;
	body = buf_slice(in);
	return client_error_parse("acd", head->status, (const char *)body.ptr,
				  body.len, ce, err);
}

static int answer_read(int fd, struct buf *in, struct upgrade *ret,
		       struct client_error *ce, struct err *err)
{
	struct upgrade_head head;
	struct slice rest;
	ssize_t n = 0;
	int rc;

	while ((rc = upgrade_head_parse(buf_slice(in), &head)) == -EAGAIN) {
		n = receive(fd, in);
		if (n <= 0)
			break;
	}
	if (rc == -EAGAIN)
		return err_set(err, -ECONNRESET,
			       "acd closed the connection: "
			       "`ac logs host` may tell why");
	if (rc < 0)
		return err_set(err, -EPROTO, "acd's answer is no HTTP");
	if (head.status != 101)
		return refusal(fd, &head, in, ce, err);
	buf_consume(in, head.size);
	rest = buf_slice(in);
	if (!head.link || rest.len > sizeof(ret->early))
		return err_set(err, -EPROTO, "acd offers another protocol");
	if (rest.len > 0)
		memcpy(ret->early, rest.ptr, rest.len);
	ret->n_early = rest.len;
	return 0;
}

int upgrade_open(const char *sock, const char *path, const json_t *body,
		 struct upgrade *ret, struct client_error *ce, struct err *err)
{
	SCOPED_FD fd = sock_unix_connect(sock);
	struct buf in;
	int rc;

	ret->fd = -1;
	ret->n_early = 0;
	memset(ce, 0, sizeof(*ce));
	if (fd < 0)
		return err_set(err, fd, "cannot reach acd at %s: %s", sock,
			       err_text(fd));
	rc = request_send(fd, path, body, err);
	if (rc < 0)
		return rc;
	buf_init(&in, UPGRADE_HEAD_MAX + UPGRADE_BODY_MAX);
	rc = answer_read(fd, &in, ret, ce, err);
	buf_done(&in);
	if (rc == 0)
		ret->fd = fd_take(&fd);
	return rc;
}
