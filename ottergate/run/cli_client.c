/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_client.c - commands that ask a running gateway over its admin socket
 */
#include "ottergate/run/cli.h"

#include <string.h>
#include <sys/socket.h>

#include "lib/file.h"
#include "lib/sock.h"
#include "ottergate/policy/load.h"

#define ADMIN_PATH "/run/ac/gate.sock"
#define READ_SIZE (64u * 1024)
#define ANSWER_MAX (256u * 1024 * 1024)

/* Called for each DATA frame; a negative result ends the answer. */
typedef int (*data_fn)(void *arg, struct slice data);

static int client_send(int fd, enum admin_verb verb, const char *a,
		       struct slice b)
{
	struct buf out;
	int rc;

	buf_init(&out, ADMIN_REQUEST_MAX + sizeof(uint32_t));
	rc = admin_request_put(&out, verb, slice_str(a ? a : ""), b);
	if (rc >= 0)
		rc = fd_write_all(fd, buf_slice(&out).ptr, buf_len(&out));
	buf_done(&out);
	return rc;
}

/* Returns 1 if the answer is complete, 0 if more is to come, or an error. */
static int client_frames(struct buf *in, data_fn fn, void *arg, struct err *err)
{
	struct slice s = buf_slice(in);
	size_t before = s.len;
	struct admin_frame f;
	int rc;

	while ((rc = admin_frame_read(&s, &f)) == 0) {
		if (f.kind == ADMIN_END)
			return 1;
		if (f.kind == ADMIN_ERROR)
			return err_set(err, -EREMOTEIO, "%.*s",
				       (int)f.payload.len,
				       (const char *)f.payload.ptr);
		rc = fn(arg, f.payload);
		if (rc < 0)
			return err_set(err, rc, "%s", err_text(rc));
	}
	if (rc != -EAGAIN)
		return err_set(err, rc, "the gateway's answer is garbled");
	buf_consume(in, before - s.len);
	return 0;
}

static int client_receive(int fd, data_fn fn, void *arg, struct err *err)
{
	struct buf in;
	int rc = 0;

	buf_init(&in, ADMIN_FRAME_MAX + 2 * READ_SIZE);
	while (rc == 0) {
		uint8_t *to = buf_reserve(&in, READ_SIZE);
		ssize_t n = to ? read(fd, to, READ_SIZE) : 0;

		if (!to) {
			rc = err_nomem(err);
		} else if (n < 0) {
			rc = err_sys(err, "the gateway");
		} else if (n == 0) {
			rc = err_set(err, -ECONNRESET,
				     "the gateway has closed the connection");
		} else {
			buf_commit(&in, (size_t)n);
			rc = client_frames(&in, fn, arg, err);
		}
	}
	buf_done(&in);
	return rc < 0 ? rc : 0;
}

static int client_call(const struct cli *cli, enum admin_verb verb,
		       const char *a, struct slice b, data_fn fn, void *arg,
		       struct err *err)
{
	const char *path = cli->gate.admin ? cli->gate.admin : ADMIN_PATH;
	SCOPED_FD fd = sock_unix_connect(path);
	int rc;

	if (fd < 0)
		return err_set(err, fd, "%s: %s", path, err_text(fd));
	rc = client_send(fd, verb, a, b);
	if (rc < 0)
		return err_set(err, rc, "%s: %s", path, err_text(rc));
	return client_receive(fd, fn, arg, err);
}

static int data_collect(void *arg, struct slice data)
{
	return buf_append(arg, data.ptr, data.len);
}

int cli_ask(const struct cli *cli, enum admin_verb verb, const char *a,
	    struct slice b, struct buf *out, struct err *err)
{
	return client_call(cli, verb, a, b, data_collect, out, err);
}

/* Prints a frame as a line. */
static int data_line(void *arg, struct slice data)
{
	FILE *f = arg;

	fwrite(data.ptr, 1, data.len, f);
	putc('\n', f);
	return fflush(f) == 0 ? 0 : -EPIPE;
}

/* Prints an answer that is one text, with a newline at its end. */
static int client_print(const struct cli *cli, enum admin_verb verb,
			const char *a, struct slice b, struct err *err)
{
	struct slice text;
	struct buf out;
	int rc;

	buf_init(&out, ANSWER_MAX);
	rc = cli_ask(cli, verb, a, b, &out, err);
	text = buf_slice(&out);
	fwrite(text.len ? text.ptr : (const uint8_t *)"", 1, text.len, stdout);
	if (text.len > 0 && text.ptr[text.len - 1] != '\n')
		putchar('\n');
	buf_done(&out);
	return rc;
}

static const struct slice nothing;

int cli_ping(const struct cli *cli, struct err *err)
{
	return client_print(cli, ADMIN_PING, NULL, nothing, err);
}

int cli_stats(const struct cli *cli, struct err *err)
{
	return client_print(cli, ADMIN_STATS, NULL, nothing, err);
}

int cli_metrics(const struct cli *cli, struct err *err)
{
	return client_print(cli, ADMIN_METRICS, NULL, nothing, err);
}

int cli_reload(const struct cli *cli, struct err *err)
{
	return client_print(cli, ADMIN_RELOAD, NULL, nothing, err);
}

int cli_connections(const struct cli *cli, struct err *err)
{
	return client_call(cli, ADMIN_CONNECTIONS, cli->agent, nothing,
			   data_line, stdout, err);
}

int cli_follow(const struct cli *cli, struct err *err)
{
	return client_call(cli, ADMIN_FOLLOW, cli->agent, nothing, data_line,
			   stdout, err);
}

int cli_bind(const struct cli *cli, struct err *err)
{
	SCOPED_STR text = NULL;
	size_t len = 0;
	int rc = file_read(cli->words[1], POLICY_AGENT_FILE_MAX, &text, &len);

	if (rc < 0)
		return err_set(err, rc, "%s: %s", cli->words[1], err_text(rc));
	return client_print(cli, ADMIN_BIND, cli->words[0], slice_of(text, len),
			    err);
}

int cli_unbind(const struct cli *cli, struct err *err)
{
	return client_print(cli, ADMIN_UNBIND, cli->words[0], nothing, err);
}
