/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - one channel of SSH and what it is joined to in the sandbox
 *
 * Theory of operation: SSH and the link have the same kind of flow control, and
 * one window is made of the other. The client may send what acd takes: both begin
 * with LINK_WINDOW, and acd's credit is passed on. Output is read one buffer at a
 * time, and not while a piece of it waits for the client's window or for room in
 * the transport; acd gets credit when the piece is in the transport. So memory is
 * constant.
 *
 * Whatever the sandbox sends is data of its channel, and its exit code a number.
 * What is said about it is acd's, escaped, on the channel's standard error.
 *
 * A connection to a port ends each direction by itself: the sandbox's with a count
 * of its bytes on standard error (init-guard/PROTOCOL, 7). Without it the
 * connection broke, and the channel is closed without an end of its data.
 */
#include "control/cli/ssh/channel.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

#include "control/cli/core/cli.h"
#include "control/shared/json.h"
#include "lib/str.h"

#define COUNT_LEN 8u
#define IN_WINDOW_MAX (1u << 30)
#define NOTICE_WARNING 1 /* as enum log_level has it */

/* The signals that SSH has names of: RFC 4254, section 6.10. */
static const struct {
	uint32_t signo;
	const char *name;
} signals[] = {
	{ SIGABRT, "ABRT" }, { SIGALRM, "ALRM" }, { SIGFPE, "FPE" },
	{ SIGHUP, "HUP" },   { SIGILL, "ILL" },   { SIGINT, "INT" },
	{ SIGKILL, "KILL" }, { SIGPIPE, "PIPE" }, { SIGQUIT, "QUIT" },
	{ SIGSEGV, "SEGV" }, { SIGTERM, "TERM" }, { SIGUSR1, "USR1" },
	{ SIGUSR2, "USR2" },
};

/* ---- messages ---- */

int channel_say(struct channel *c, enum ssh_message type, struct slice rest)
{
	struct buf b;
	int rc;

	buf_init(&b, TRANSPORT_PACKET_MAX);
	rc = buf_put_u8(&b, (uint8_t)type);
	if (rc == 0)
		rc = buf_put_u32(&b, c->peer);
	if (rc == 0)
		rc = buf_append(&b, rest.ptr, rest.len);
	if (rc == 0)
		rc = transport_send(c->home->t, buf_slice(&b));
	buf_done(&b);
	return rc;
}

static int say_data(struct channel *c, struct slice data)
{
	struct buf b;
	int rc;

	buf_init(&b, CHANNEL_PACKET_MAX + 16);
	rc = buf_put_u8(&b, c->pending_err ? SSH_CHANNEL_EXTENDED_DATA :
					     SSH_CHANNEL_DATA);
	if (rc == 0)
		rc = buf_put_u32(&b, c->peer);
	if (rc == 0 && c->pending_err)
		rc = buf_put_u32(&b, SSH_STDERR);
	if (rc == 0)
		rc = buf_put_lstr(&b, data.ptr, data.len);
	if (rc == 0)
		rc = transport_send(c->home->t, buf_slice(&b));
	buf_done(&b);
	return rc;
}

static const char *signal_name(uint32_t signo)
{
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (signals[i].signo == signo)
			return signals[i].name;
	return NULL;
}

uint32_t channel_signal_number(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (strcmp(signals[i].name, name) == 0)
			return signals[i].signo;
	return 0;
}

/* Tells how the process ended. */
static int say_exit(struct channel *c)
{
	const char *name = c->exit.kind == LINK_SIGNALED ?
				   signal_name(c->exit.value) :
				   NULL;
	const char *what = name ? "exit-signal" : "exit-status";
	struct buf b;
	int rc;

	buf_init(&b, 256);
	rc = buf_put_lstr(&b, what, strlen(what));
	if (rc == 0)
		rc = buf_put_u8(&b, 0); /* no answer wanted */
	if (rc == 0 && !name)
		rc = buf_put_u32(&b, (uint32_t)link_exit_code(&c->exit));
	if (rc == 0 && name) {
		rc = buf_put_lstr(&b, name, strlen(name));
		/* No core dump, no message, no language of it. */
		if (rc == 0)
			rc = buf_append(&b, "\0\0\0\0\0\0\0\0\0", 9);
	}
	if (rc == 0)
		rc = channel_say(c, SSH_CHANNEL_REQUEST, buf_slice(&b));
	buf_done(&b);
	return rc;
}

static int say_eof(struct channel *c)
{
	if (c->eof_sent)
		return 0;
	c->eof_sent = true;
	return channel_say(c, SSH_CHANNEL_EOF, slice_of(NULL, 0));
}

/* Ends what runs, if the client leaves it: as sshd does, by a hang-up. That of a
 * terminal is acd's matter, as is the end of a connection. */
static void leave(struct channel *c)
{
	if (c->over || c->tty || c->forward)
		exec_done(&c->exec);
	else
		exec_hang_up(&c->exec);
}

static int say_close(struct channel *c)
{
	leave(c);
	c->pending = slice_of(NULL, 0);
	if (c->close_sent)
		return 0;
	c->close_sent = true;
	return channel_say(c, SSH_CHANNEL_CLOSE, slice_of(NULL, 0));
}

/* ---- its end ---- */

/* Makes @text, from acd or our own, the next that the client gets. */
static void note(struct channel *c, const char *text)
{
	char line[CHANNEL_NOTE_MAX - 16];

	if (c->forward)
		return;
	cli_clean(line, sizeof(line), text);
	snprintf(c->note, sizeof(c->note), "ac: %s%s", line,
		 c->tty ? "\r\n" : "\n");
	c->pending = slice_str(c->note);
	c->pending_err = c->pending_own = true;
}

static void end(struct channel *c, enum link_exit_kind kind, const char *text)
{
	c->over = true;
	c->exit = (struct link_exit){ .kind = kind };
	if (text)
		note(c, text);
}

static bool is_whole(const struct channel *c)
{
	struct slice s = buf_slice(&c->count);
	uint64_t n;

	return slice_u64(&s, &n) == 0 && n == c->got;
}

/* Tells the client of the end, when it has all that came before. */
static int finish(struct channel *c)
{
	int rc = !c->forward || is_whole(c) ? say_eof(c) : 0;

	if (rc == 0 && !c->forward)
		rc = say_exit(c);
	return rc < 0 ? rc : say_close(c);
}

/* ---- from the sandbox ---- */

static int pending_send(struct channel *c)
{
	while (c->pending.len > 0 && c->window > 0 &&
	       transport_has_room(c->home->t)) {
		size_t len = c->pending.len;
		struct slice piece;
		int rc;

		if (len > c->window)
			len = c->window;
		if (len > c->packet_max)
			len = c->packet_max;
		if (slice_take(&c->pending, len, &piece) < 0)
			return -ENOBUFS;
		c->window -= (uint32_t)len;
		rc = say_data(c, piece);
		if (rc == 0 && !c->pending_own)
			rc = exec_taken(&c->exec, len);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void on_output(struct channel *c, const struct link_frame *f)
{
	bool count = c->forward && f->type == LINK_STDERR;

	if (count && f->payload.len <= COUNT_LEN - buf_len(&c->count)) {
		if (buf_append(&c->count, f->payload.ptr, f->payload.len) < 0 ||
		    exec_taken(&c->exec, f->payload.len) < 0)
			end(c, LINK_LOST, NULL);
		return;
	}
	if (count || (c->forward && c->eof_sent)) {
		end(c, LINK_LOST, NULL); /* it says more than there may be */
		return;
	}
	c->got += f->payload.len;
	c->pending = f->payload;
	c->pending_err = f->type == LINK_STDERR;
	c->pending_own = false;
}

static int on_credit(struct channel *c, const struct link_frame *f)
{
	uint32_t more;
	struct buf b;
	int rc;

	if (link_get_u32(f, &more) < 0 || more > IN_WINDOW_MAX - c->in_window) {
		end(c, LINK_LOST, "acd gave impossible credit");
		return 0;
	}
	c->in_window += more;
	buf_init(&b, 16);
	rc = buf_put_u32(&b, more);
	if (rc == 0)
		rc = channel_say(c, SSH_CHANNEL_WINDOW_ADJUST, buf_slice(&b));
	buf_done(&b);
	return rc;
}

static void on_notice(struct channel *c, const struct link_frame *f)
{
	SCOPED_STR line = NULL;
	struct slice text;
	uint8_t level;

	if (link_get_text(f, &level, &text) == 0 && level <= NOTICE_WARNING &&
	    slice_dup_str(text, &line) == 0)
		note(c, line);
}

static void on_exit_frame(struct channel *c, const struct link_frame *f)
{
	static const char *const texts[] = {
		[LINK_TIMEOUT] = "the command was ended at its time limit",
		[LINK_OOM] = "the sandbox ran out of its memory limit",
		[LINK_LOST] = "the sandbox went away",
		[LINK_LIMIT] = NULL,
	};
	struct link_exit x;

	if (link_get_exit(f, &x) < 0) {
		end(c, LINK_LOST, "acd sent a malformed exit");
		return;
	}
	end(c, x.kind, x.kind < ARRAY_SIZE(texts) ? texts[x.kind] : NULL);
	if (x.kind == LINK_NOEXEC || x.kind == LINK_NOCWD)
		note(c, err_text(-(int)x.value));
	c->exit = x;
}

static int on_frame(struct channel *c, const struct link_frame *f)
{
	switch (f->type) {
	case LINK_STARTED:
		return 0;
	case LINK_STDOUT:
	case LINK_STDERR:
		on_output(c, f);
		return 0;
	case LINK_CREDIT:
		return on_credit(c, f);
	case LINK_NOTICE:
		on_notice(c, f);
		return 0;
	case LINK_EXIT:
		on_exit_frame(c, f);
		return 0;
	default:
		end(c, LINK_LOST, "acd sent an unexpected frame");
		return 0;
	}
}

/* Handles the next frame. Returns 1, 0 if none is complete, or a failure. */
static int next_frame(struct channel *c)
{
	struct link_frame f;
	int rc = exec_next(&c->exec, &f);

	if (rc > 0) {
		rc = on_frame(c, &f);
		return rc < 0 ? rc : 1;
	}
	if (rc < 0)
		end(c, LINK_LOST, "acd sent a malformed frame");
	return rc < 0 ? 1 : 0;
}

int channel_move(struct channel *c)
{
	int rc = 1;

	while (c->started && !c->close_sent && rc > 0) {
		rc = pending_send(c);
		if (rc < 0 || c->pending.len > 0)
			break;
		if (c->forward && is_whole(c)) {
			rc = say_eof(c);
			if (rc < 0)
				break;
		}
		if (c->over)
			return finish(c);
		rc = next_frame(c);
	}
	exec_flush(&c->exec);
	return rc < 0 ? rc : 0;
}

void channel_receive(struct channel *c)
{
	if (c->pending.len > 0 || c->over || c->exec.fd < 0)
		return;
	if (exec_receive(&c->exec) < 0)
		end(c, LINK_LOST, "the connection to acd was lost");
}

short channel_events(const struct channel *c)
{
	short events = 0;

	if (c->exec.fd < 0 || c->over)
		return 0;
	if (c->pending.len == 0 && transport_has_room(c->home->t))
		events |= POLLIN;
	if (exec_waits(&c->exec))
		events |= POLLOUT;
	return events;
}

/* ---- from the client ---- */

int channel_data(struct channel *c, struct slice data)
{
	if (data.len > c->in_window || !c->started)
		return -EPROTO;
	c->in_window -= (uint32_t)data.len;
	if (c->exec.fd < 0 || c->over)
		return 0; /* it came too late */
	return exec_stdin(&c->exec, data);
}

int channel_adjust(struct channel *c, uint32_t more)
{
	if (more > UINT32_MAX - c->window)
		return -EPROTO;
	c->window += more;
	return 0;
}

void channel_eof(struct channel *c)
{
	if (c->exec.fd >= 0 && !c->over)
		exec_eof(&c->exec);
}

int channel_closed(struct channel *c)
{
	c->close_got = true;
	return say_close(c);
}

bool channel_is_gone(const struct channel *c)
{
	return c->close_sent && c->close_got;
}

/* ---- its beginning ---- */

struct channel *channel_new(const struct channel_home *home, uint32_t id,
			    uint32_t peer, uint32_t window, uint32_t packet_max)
{
	struct channel *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->home = home;
	c->id = id;
	c->peer = peer;
	c->window = window;
	c->packet_max = packet_max < CHANNEL_PACKET_MAX ? packet_max :
							  CHANNEL_PACKET_MAX;
	c->in_window = LINK_WINDOW;
	exec_init(&c->exec);
	buf_init(&c->count, COUNT_LEN);
	return c;
}

void channel_free(struct channel *c)
{
	if (!c)
		return;
	leave(c);
	buf_done(&c->count);
	json_decref(c->env);
	free(c);
}

void channel_start(struct channel *c, const json_t *body)
{
	struct err err = { 0 };

	c->started = true;
	if (exec_start(&c->exec, c->home->sock, c->home->name, body, &err) < 0)
		end(c, LINK_LOST, err.msg);
}

void channel_fail(struct channel *c, const char *why)
{
	c->started = true;
	end(c, LINK_LOST, why);
}

int channel_connect(struct channel *c, uint16_t port, struct err *err)
{
	SCOPED_JSON body = json_pack("{s:i}", "connect", (int)port);
	int rc = body ? exec_start(&c->exec, c->home->sock, c->home->name, body,
				   err) :
			err_nomem(err);

	c->forward = c->started = true;
	return rc;
}
