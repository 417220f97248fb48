/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - running execs, each on a channel of the link
 *
 * Theory of operation:
 *
 *   running --process reaped--> draining --output sent--> (EXIT, freed)
 *     |                                                      ^
 *     +--CLOSE--> closing --process reaped or 2 s, KILL------+
 *
 * Output is read only while the channel has credit and the link has room. A
 * source that must wait is not polled, and continues with the next CREDIT or
 * when the link has drained: so a slow reader stops only its own channel.
 *
 * When the process has ended, its pipes hold at most their capacity of what it
 * wrote. That much is still sent; more would be from a background child, which
 * must not delay EXIT for ever.
 */
#include "init-guard/run/channel.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "init-guard/connect/relay.h"
#include "init-guard/run/exec.h"
#include "init-guard/files/server.h"
#include "init-guard/run/flow.h"
#include "init-guard/run/pty.h"
#include "init-guard/run/reap.h"
#include "init-guard/start/setup.h"
#include "init-guard/run/stdio.h"

#define CREDIT_MAX (1024u * 1024 * 1024)
#define CLOSE_GRACE_MS 2000u

enum channel_state { CHANNEL_RUNNING, CHANNEL_DRAINING, CHANNEL_CLOSING };

struct channel {
	struct channels *set;
	struct channel **slot;
	struct flow flow;
	struct source out[2];
	struct sink in;
	struct loop_timer *grace;
	enum channel_state state;
	bool tty;
	pid_t pid;
	uint64_t started; /* ns, monotonic */
	struct link_exit exit;
};

void channels_init(struct channels *c, struct loop *loop, struct wire *wire,
		   const struct agent *agent)
{
	*c = (struct channels){ .loop = loop, .wire = wire, .agent = agent };
	linger_init(&c->linger, loop);
	stdio_init(&c->spare);
}

void channels_warm_up(struct channels *c)
{
	stdio_spare(&c->spare);
}

static void channel_drop_output(struct channel *ch)
{
	int i, fd;

	for (i = 0; i < 2; i++) {
		fd = source_release(&ch->out[i]);
		if (fd >= 0)
			linger_adopt(&ch->set->linger, fd);
	}
}

static void channel_free(struct channel *ch)
{
	channel_drop_output(ch);
	sink_close(&ch->in);
	loop_timer_free(ch->grace);
	*ch->slot = NULL;
	free(ch);
}

void channels_done(struct channels *c)
{
	size_t i;

	for (i = 0; i < LINK_CHANNELS_MAX; i++) {
		if (c->slot[i])
			channel_free(c->slot[i]);
	}
	stdio_close(&c->spare);
	linger_done(&c->linger);
}

static struct channel *channel_find(struct channels *c, uint32_t id)
{
	size_t i;

	for (i = 0; i < LINK_CHANNELS_MAX; i++) {
		if (c->slot[i] && c->slot[i]->flow.channel == id)
			return c->slot[i];
	}
	return NULL;
}

static struct channel **slot_free(struct channels *c)
{
	size_t i;

	for (i = 0; i < LINK_CHANNELS_MAX; i++) {
		if (!c->slot[i])
			return &c->slot[i];
	}
	return NULL;
}

static void send_exit(struct wire *wire, uint32_t id, const struct link_exit *x)
{
	wire_check(wire, link_put_exit(wire_out(wire), id, x));
	wire_flush(wire);
}

static void send_refusal(struct wire *wire, uint32_t id,
			 enum link_exit_kind kind, int error)
{
	const struct link_exit x = {
		.kind = kind,
		.value = (uint32_t)error,
	};

	send_exit(wire, id, &x);
}

/* Sends EXIT if all output was sent. May free the channel. */
static void channel_check(void *arg)
{
	struct channel *ch = arg;

	if (ch->state != CHANNEL_DRAINING || !ch->out[0].done ||
	    !ch->out[1].done)
		return;
	send_exit(ch->set->wire, ch->flow.channel, &ch->exit);
	channels_warm_up(ch->set);
	channel_free(ch);
}

static void channel_resume(struct channel *ch)
{
	source_pump(&ch->out[0]);
	source_pump(&ch->out[1]);
	channel_check(ch);
}

void channels_resume(struct channels *c)
{
	size_t i;

	for (i = 0; i < LINK_CHANNELS_MAX; i++) {
		if (c->slot[i])
			channel_resume(c->slot[i]);
	}
}

/* ---- the start ---- */

static void channel_grace_over(void *arg)
{
	struct channel *ch = arg;

	reap_kill_session(ch->pid);
}

/* Tells the user which directory failed; EXIT has only the errno. */
static void send_cwd_failed(struct wire *wire, uint32_t id, const char *cwd,
			    int error)
{
	char line[LINK_TEXT_MAX + 128];
	int n = snprintf(line, sizeof(line),
			 "init-guard: cannot enter %s: %s\n", cwd,
			 err_text(-error));

	if (n < 0 || (size_t)n >= sizeof(line))
		return;
	wire_check(wire,
		   link_put(wire_out(wire), LINK_STDERR, id, line, (size_t)n));
}

static int channel_spawn(struct channel *ch, const struct link_exec_args *x,
			 struct stdio *io, enum link_exit_kind *ret_kind)
{
	static char program[] = FILES_PROGRAM, files[] = FILES_OPTION;
	static char *const files_argv[] = { program, files, NULL };
	static char dial[] = CONNECT_OPTION;
	char *const connect_argv[] = { program, dial, x->argv[0], NULL };
	const struct agent *agent = ch->set->agent;
	struct exec_opts opts = {
		.argv = x->flags & LINK_EXEC_FILES   ? files_argv :
			x->flags & LINK_EXEC_CONNECT ? connect_argv :
						       x->argv,
		.cwd = x->cwd[0] ? x->cwd : AGENT_WORKSPACE,
		.fd = { io->child[0] < 0 ? STDIN_FILENO : io->child[0],
			io->child[1], io->child[2] },
		.tty = ch->tty,
	};
	char **env = agent_env(agent, x->env, ch->tty);
	bool cwd_failed;
	int rc;

	if (!env)
		return -ENOMEM;
	opts.env = env;
	ch->started = clock_ns();
	rc = exec_spawn(agent, &opts, &ch->pid, &cwd_failed);
	free(env);
	if (rc < 0 && cwd_failed) {
		*ret_kind = LINK_NOCWD;
		send_cwd_failed(ch->set->wire, ch->flow.channel, opts.cwd, -rc);
	}
	return rc;
}

/* Starts the program. On failure only the channel's memory is left; *ret_kind
 * is changed if the program is not to blame. */
static int channel_start(struct channel *ch, const struct link_exec_args *x,
			 enum link_exit_kind *ret_kind)
{
	const bool input = x->flags & LINK_EXEC_STDIN;
	struct wire *wire = ch->set->wire;
	struct stdio io;
	int rc;

	ch->tty = x->flags & LINK_EXEC_PTY;
	if (ch->tty)
		rc = stdio_open_tty(&io, x->rows, x->cols);
	else
		rc = stdio_open_pipes(&io, input, &ch->set->spare);
	if (rc < 0)
		return rc;
	rc = channel_spawn(ch, x, &io, ret_kind);
	if (rc < 0) {
		stdio_close(&io);
		return rc;
	}
	/* Sent at once, so that acd continues while the rest is done. */
	wire_check(wire, link_put_u32(wire_out(wire), LINK_STARTED,
				      ch->flow.channel, (uint32_t)ch->pid));
	wire_flush(wire);
	stdio_close_child(&io);
	sink_init(&ch->in, &ch->flow, io.in, input, ch->tty);
	source_init(&ch->out[0], &ch->flow, LINK_STDOUT, io.out[0]);
	source_init(&ch->out[1], &ch->flow, LINK_STDERR, io.out[1]);
	return 0;
}

static struct channel *channel_new(struct channels *c, uint32_t id)
{
	struct channel **slot = slot_free(c);
	struct channel *ch = slot ? calloc(1, sizeof(*ch)) : NULL;

	if (!ch)
		return NULL;
	ch->set = c;
	ch->slot = slot;
	ch->flow = (struct flow){
		.wire = c->wire,
		.channel = id,
		.credit = LINK_WINDOW,
		.progress = channel_check,
		.arg = ch,
	};
	return ch;
}

/* Numbers only rise, so a late frame never meets a newer channel. */
static int channel_number(struct channels *c, const struct link_frame *f)
{
	if (f->channel <= c->last)
		return -EBADMSG;
	c->last = f->channel;
	return 0;
}

static int channel_exec(struct channels *c, const struct link_frame *f)
{
	enum link_exit_kind kind = LINK_NOEXEC;
	struct link_exec_args x;
	struct channel *ch;
	int rc = channel_number(c, f);

	if (rc == 0)
		rc = link_get_exec(f, &x);
	if (rc == -ENOMEM) {
		send_refusal(c->wire, f->channel, kind, ENOMEM);
		return 0;
	}
	if (rc < 0)
		return rc;
	ch = channel_new(c, f->channel);
	rc = ch ? channel_start(ch, &x, &kind) : -EAGAIN;
	link_exec_args_done(&x);
	if (rc < 0) {
		free(ch);
		send_refusal(c->wire, f->channel, kind, -rc);
		return 0;
	}
	*ch->slot = ch;
	return 0;
}

int channels_refuse(struct channels *c, const struct link_frame *f, int error)
{
	int rc = channel_number(c, f);

	if (rc == 0)
		send_refusal(c->wire, f->channel, LINK_NOEXEC, error);
	return rc;
}

/* ---- the end ---- */

static void channel_close(struct channel *ch)
{
	channel_drop_output(ch);
	if (ch->state == CHANNEL_DRAINING) {
		channel_check(ch);
		return;
	}
	ch->state = CHANNEL_CLOSING;
	if (ch->tty)
		pty_signal(ch->in.fd, SIGHUP);
	sink_close(&ch->in);
	kill(-ch->pid, SIGHUP);
	kill(-ch->pid, SIGCONT); /* a stopped process could not die of HUP */
	ch->grace = loop_timer_new(ch->set->loop, channel_grace_over, ch);
	if (ch->grace)
		loop_timer_set(ch->grace, CLOSE_GRACE_MS);
	else
		channel_grace_over(ch);
}

static uint64_t usec_of(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000u + (uint64_t)tv->tv_usec;
}

static void channel_reaped(struct channel *ch, int status,
			   const struct rusage *usage)
{
	const bool signaled = WIFSIGNALED(status);

	ch->exit = (struct link_exit){
		.kind = signaled ? LINK_SIGNALED : LINK_EXITED,
		.value = (uint32_t)(signaled ? WTERMSIG(status) :
					       WEXITSTATUS(status)),
		.wall_ns = clock_ns() - ch->started,
		.user_us = usec_of(&usage->ru_utime),
		.system_us = usec_of(&usage->ru_stime),
	};
	if (ch->state == CHANNEL_CLOSING)
		reap_kill_session(ch->pid);
	ch->state = CHANNEL_DRAINING;
	sink_close(&ch->in);
	source_set_last(&ch->out[0]);
	source_set_last(&ch->out[1]);
	channel_resume(ch);
}

void channels_reaped(struct channels *c, pid_t pid, int status,
		     const struct rusage *usage)
{
	size_t i;

	for (i = 0; i < LINK_CHANNELS_MAX; i++) {
		if (c->slot[i] && c->slot[i]->pid == pid &&
		    c->slot[i]->state != CHANNEL_DRAINING) {
			channel_reaped(c->slot[i], status, usage);
			return;
		}
	}
}

/* ---- frames ---- */

static int channel_signal(struct channel *ch, const struct link_frame *f)
{
	uint32_t signo;

	if (link_get_u32(f, &signo) < 0)
		return -EBADMSG;
	if (ch->state == CHANNEL_RUNNING)
		kill(-ch->pid, (int)signo);
	return 0;
}

static int channel_resize(struct channel *ch, const struct link_frame *f)
{
	uint16_t rows, cols;

	if (!ch->tty || link_get_resize(f, &rows, &cols) < 0)
		return -EBADMSG;
	if (ch->state == CHANNEL_RUNNING)
		pty_resize(ch->in.fd, rows, cols);
	return 0;
}

static int channel_credit(struct channel *ch, const struct link_frame *f)
{
	uint32_t more;

	if (link_get_u32(f, &more) < 0 || more > CREDIT_MAX - ch->flow.credit)
		return -EBADMSG;
	ch->flow.credit += more;
	channel_resume(ch);
	return 0;
}

int channels_frame(struct channels *c, const struct link_frame *f)
{
	struct channel *ch;

	if (f->type == LINK_EXEC)
		return channel_exec(c, f);
	ch = channel_find(c, f->channel);
	if (!ch) /* it may have ended while the frame was on its way */
		return f->channel <= c->last ? 0 : -EBADMSG;
	if (ch->state == CHANNEL_CLOSING)
		return 0;

	switch (f->type) {
	case LINK_STDIN:
		return sink_write(&ch->in, f->payload);
	case LINK_STDIN_EOF:
		return sink_eof(&ch->in);
	case LINK_SIGNAL:
		return channel_signal(ch, f);
	case LINK_RESIZE:
		return channel_resize(ch, f);
	case LINK_CREDIT:
		return channel_credit(ch, f);
	case LINK_CLOSE:
		channel_close(ch);
		return 0;
	default:
		return -EBADMSG;
	}
}
