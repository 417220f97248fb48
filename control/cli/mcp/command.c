/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.c - one command in a sandbox
 *
 * Waits with poll(2): this runs in a job (job.h), and a parent that does not want
 * it any more kills it. acd then kills the command.
 */
#include "control/cli/mcp/command.h"

#include <poll.h>
#include <string.h>

#include "control/cli/mcp/text.h"
#include "control/cli/ssh/exec.h"
#include "control/cli/wire/client.h"
#include "lib/loop.h"
#include "lib/str.h"

#define CREDIT_MAX (1u << 30)

struct running {
	const struct command *c;
	struct command_end *end;
	struct exec x;
	struct slice input; /* what is left of it */
	uint32_t credit; /* for input */
	bool input_ends; /* the end of the input is still to be told */
	bool ended;
};

/* Passes on as much input as acd has room for. */
static int feed(struct running *r)
{
	size_t room = buf_room(&r->x.in);
	size_t n = r->input.len < r->credit ? r->input.len : r->credit;
	struct slice piece;
	int rc;

	if (n > room)
		n = room;
	if (n > 0) {
		rc = slice_take(&r->input, n, &piece);
		if (rc == 0)
			rc = exec_stdin(&r->x, piece);
		if (rc < 0)
			return rc;
		r->credit -= (uint32_t)n;
	}
	if (r->input.len == 0 && r->input_ends) {
		r->input_ends = false;
		exec_eof(&r->x);
	}
	return 0;
}

static int output(struct running *r, const struct link_frame *f)
{
	struct command_end *e = r->end;
	uint64_t room = r->c->output_max - buf_len(&e->out) - buf_len(&e->err);
	size_t n = f->payload.len;

	if (n > room) {
		e->over = r->ended = true;
		n = (size_t)room;
	}
	if (buf_append(f->type == LINK_STDOUT ? &e->out : &e->err,
		       f->payload.ptr, n) < 0)
		return -ENOMEM;
	return exec_taken(&r->x, n);
}

static int credit(struct running *r, const struct link_frame *f)
{
	uint32_t more;

	if (link_get_u32(f, &more) < 0 || more > CREDIT_MAX - r->credit)
		return -EPROTO;
	r->credit += more;
	return 0;
}

static int frame(struct running *r, const struct link_frame *f)
{
	switch (f->type) {
	case LINK_STDOUT:
	case LINK_STDERR:
		return output(r, f);
	case LINK_CREDIT:
		return credit(r, f);
	case LINK_EXIT:
		r->ended = true;
		return link_get_exit(f, &r->end->exit) < 0 ? -EPROTO : 0;
	case LINK_STARTED:
	case LINK_NOTICE: /* its end says the same */
		return 0;
	default:
		return -EPROTO;
	}
}

static int frames(struct running *r)
{
	struct link_frame f;
	int rc;

	while (!r->ended && (rc = exec_next(&r->x, &f)) != 0) {
		if (rc > 0)
			rc = frame(r, &f);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Waits for the link, unless something has come already. */
static int turn(struct running *r)
{
	struct pollfd p = { .fd = r->x.fd, .events = POLLIN };
	int rc = frames(r);

	if (rc < 0 || r->ended)
		return rc;
	rc = feed(r);
	if (rc < 0)
		return rc;
	exec_flush(&r->x);
	if (exec_waits(&r->x))
		p.events |= POLLOUT;
	if (poll(&p, 1, -1) < 0)
		return errno == EINTR ? 0 : -errno;
	return p.revents & (POLLIN | POLLHUP | POLLERR) ? exec_receive(&r->x) :
							  0;
}

static int lost(const struct command *c, struct err *err)
{
	err_set(err, -ECONNRESET,
		"the sandbox '%s' ended while the command ran", c->sandbox);
	return err_name(err, COMMAND_LOST);
}

static int outcome(const struct running *r, int rc, struct err *err)
{
	if (rc == -ECONNRESET ||
	    (rc == 0 && !r->end->over && r->end->exit.kind == LINK_LOST))
		return lost(r->c, err);
	return rc < 0 ? err_set(err, rc, "the connection to acd: %s",
				err_text(rc)) :
			0;
}

int command_run(const struct command *c, struct command_end *ret,
		struct err *err)
{
	bool has_input = json_is_true(json_object_get(c->body, "stdin"));
	struct running r = { .c = c,
			     .end = ret,
			     .input = c->input,
			     .credit = LINK_WINDOW,
			     .input_ends = has_input };
	uint64_t begin = clock_ms();
	int rc;

	*ret = (struct command_end){ .over = false };
	buf_init(&ret->out, c->output_max);
	buf_init(&ret->err, c->output_max);
	exec_init(&r.x);
	rc = exec_start(&r.x, c->sock, c->sandbox, c->body, err);
	if (rc == 0) {
		while (rc == 0 && !r.ended)
			rc = turn(&r);
		rc = outcome(&r, rc, err);
	}
	exec_done(&r.x);
	ret->wall_ms = ret->over ? clock_ms() - begin :
				   ret->exit.wall_ns / 1000000;
	if (rc < 0)
		command_end_done(ret);
	return rc;
}

char *command_reason(const struct command_end *e, const char *program)
{
	switch (e->over ? LINK_EXITED : e->exit.kind) {
	case LINK_LIMIT:
		return strdup("[ac: the sandbox reached its limit of output]");
	case LINK_OOM:
		return strdup("[ac: killed: the sandbox ran out of memory]");
	case LINK_NOEXEC:
		return str_printf("[ac: %s: %s]", program,
				  strerror((int)e->exit.value));
	case LINK_NOCWD:
		return str_printf("[ac: the working directory: %s]",
				  strerror((int)e->exit.value));
	default:
		return strdup("");
	}
}

json_t *command_stderr(const struct command_end *e, bool drops, const char *why)
{
	struct slice said = buf_slice(&e->err);
	json_t *text = NULL;
	struct buf b;

	buf_init(&b, said.len + strlen(why));
	if ((drops || buf_append(&b, said.ptr, said.len) == 0) &&
	    buf_append(&b, why, strlen(why)) == 0)
		text = text_json(buf_slice(&b));
	buf_done(&b);
	return text;
}

void command_end_done(struct command_end *e)
{
	buf_done(&e->out);
	buf_done(&e->err);
}
