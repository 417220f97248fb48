/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.c - a scripted init-guard on the other end of a link
 */
#include "tests/fake/guest.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/log.h"

static void must(int rc)
{
	if (rc < 0)
		abort(); /* the script is wrong, or there is no memory */
}

static void guest_flush(struct fake_guest *g)
{
	struct slice s = buf_slice(&g->out);
	ssize_t n;

	if (g->fd < 0)
		return;
	if (s.len > 0) {
		n = write(g->fd, s.ptr, s.len);
		if (n > 0)
			buf_consume(&g->out, (size_t)n);
	}
	loop_mod(g->io, buf_len(&g->out) ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void proc_end(struct fake_guest *g, struct fake_guest_proc *p,
		     enum link_exit_kind kind, uint32_t value)
{
	const struct link_exit x = { .kind = kind, .value = value };

	must(link_put_exit(&g->out, p->channel, &x));
	*p = (struct fake_guest_proc){ 0 };
}

/* As much of a flood as its credit and the buffer allow. */
static void proc_flood(struct fake_guest *g, struct fake_guest_proc *p)
{
	static const char block[LINK_PAYLOAD_MAX] = "flood";
	size_t part;

	while (p->left > 0 && p->credit > 0 && buf_len(&g->out) < 1u << 20) {
		part = sizeof(block);
		if (part > p->left)
			part = p->left;
		if (part > p->credit)
			part = p->credit;
		must(link_put(&g->out, LINK_STDOUT, p->channel, block, part));
		p->left -= part;
		p->credit -= (uint32_t)part;
	}
	if (p->left == 0)
		proc_end(g, p, LINK_EXITED, 0);
}

static void proc_begin(struct fake_guest *g, struct fake_guest_proc *p,
		       const char *arg)
{
	uint32_t n = arg ? (uint32_t)strtoul(arg, NULL, 10) : 0;

	if (strcmp(p->what, "noexec") == 0) {
		proc_end(g, p, LINK_NOEXEC, ENOENT);
		return;
	}
	must(link_put_u32(&g->out, LINK_STARTED, p->channel, 42));
	if (strcmp(p->what, "true") == 0 || strcmp(p->what, "exit") == 0) {
		proc_end(g, p, LINK_EXITED, n);
	} else if (strcmp(p->what, "signal") == 0) {
		proc_end(g, p, LINK_SIGNALED, n);
	} else if (strcmp(p->what, "flood") == 0) {
		p->left = n;
		proc_flood(g, p);
	} else if (strcmp(p->what, "unvaulted") == 0) {
		while (n-- > 0)
			must(link_put(&g->out, LINK_UNVAULTED, 0, NULL, 0));
		proc_end(g, p, LINK_EXITED, 0);
	} else if (strcmp(p->what, "garbage") == 0) {
		must(buf_append(&g->out, "no frame at all", 15));
	} else if (strcmp(p->what, "vanish") == 0) {
		must(link_put(&g->out, LINK_STDOUT, p->channel, "last", 4));
		guest_flush(g);
		fake_guest_kill(g);
	}
}

static void guest_exec(struct fake_guest *g, const struct link_frame *f)
{
	struct fake_guest_proc *p = g->proc;

	link_exec_args_done(&g->exec);
	must(link_get_exec(f, &g->exec));
	g->execs++;
	while (p->channel)
		p++;
	p->channel = f->channel;
	p->credit = LINK_WINDOW;
	snprintf(p->what, sizeof(p->what), "%s",
		 g->exec.argv[0] ? g->exec.argv[0] : "sleep");
	proc_begin(g, p, g->exec.argv[0] ? g->exec.argv[1] : NULL);
}

static void proc_signal(struct fake_guest *g, struct fake_guest_proc *p,
			uint32_t signo)
{
	g->last_signal = signo;
	if (strcmp(p->what, "immortal") == 0)
		return;
	if (signo == SIGKILL || ((signo == SIGTERM || signo == SIGHUP) &&
				 strcmp(p->what, "stubborn") != 0))
		proc_end(g, p, LINK_SIGNALED, signo);
}

static void proc_stdin(struct fake_guest *g, struct fake_guest_proc *p,
		       const struct link_frame *f)
{
	must(link_put(&g->out, LINK_STDOUT, p->channel, f->payload.ptr,
		      f->payload.len));
	must(link_put_u32(&g->out, LINK_CREDIT, p->channel,
			  (uint32_t)f->payload.len));
}

static void proc_frame(struct fake_guest *g, struct fake_guest_proc *p,
		       const struct link_frame *f)
{
	uint32_t v;
	uint16_t cols;

	switch (f->type) {
	case LINK_STDIN:
		proc_stdin(g, p, f);
		break;
	case LINK_STDIN_EOF:
		if (strcmp(p->what, "cat") == 0)
			proc_end(g, p, LINK_EXITED, 0);
		break;
	case LINK_SIGNAL:
		must(link_get_u32(f, &v));
		proc_signal(g, p, v);
		break;
	case LINK_RESIZE:
		must(link_get_resize(f, &g->rows, &cols));
		break;
	case LINK_CREDIT:
		must(link_get_u32(f, &v));
		p->credit += v;
		if (p->left > 0)
			proc_flood(g, p);
		break;
	case LINK_CLOSE:
		g->closes++;
		proc_end(g, p, LINK_SIGNALED, SIGKILL);
		break;
	default:
		abort();
	}
}

static void guest_frame(struct fake_guest *g, const struct link_frame *f)
{
	size_t i;

	if (f->type == LINK_PREPARE) {
		link_prepare_args_done(&g->prepare);
		must(link_get_prepare(f, &g->prepare));
		if (g->mood == FAKE_GUEST_REFUSES)
			must(link_put_text(&g->out, LINK_FAIL, 0, 78,
					   "unsafe runtime"));
		else
			must(link_put(&g->out, LINK_PREPARED, 0, NULL, 0));
		return;
	}
	if (f->type == LINK_ASSIGN) {
		link_assign_args_done(&g->assign);
		must(link_get_assign(f, &g->assign));
		if (g->mood != FAKE_GUEST_REFUSES)
			must(link_put_ready(&g->out, NULL));
		return;
	}
	if (f->type == LINK_EXEC) {
		guest_exec(g, f);
		return;
	}
	if (f->type == LINK_PING) {
		if (g->mood != FAKE_GUEST_DUMB)
			must(link_put(&g->out, LINK_PONG, 0, f->payload.ptr,
				      f->payload.len));
		return;
	}
	for (i = 0; i < FAKE_GUEST_CHANNELS; i++) {
		if (g->proc[i].channel == f->channel) {
			proc_frame(g, &g->proc[i], f);
			return;
		}
	}
}

static void guest_io(void *arg, uint32_t events)
{
	struct fake_guest *g = arg;
	struct slice all;
	struct link_frame f;
	uint8_t *p = buf_reserve(&g->in, 1u << 18);
	ssize_t n;

	(void)events;
	n = p ? read(g->fd, p, 1u << 18) : -1;
	if (n == 0) {
		fake_guest_kill(g);
		return;
	}
	if (n > 0)
		buf_commit(&g->in, (size_t)n);
	all = buf_slice(&g->in);
	while (g->fd >= 0 && link_parse(&all, &f, NULL) == 0)
		guest_frame(g, &f);
	if (g->fd < 0)
		return;
	buf_consume(&g->in, buf_len(&g->in) - all.len);
	guest_flush(g);
}

struct fake_guest *fake_guest_new(struct loop *loop, int fd,
				  enum fake_guest_mood mood)
{
	struct fake_guest *g = calloc(1, sizeof(*g));

	if (!g)
		abort();
	g->loop = loop;
	g->fd = fd;
	g->mood = mood;
	buf_init(&g->in, 8u << 20);
	buf_init(&g->out, 8u << 20);
	g->io = loop_add(loop, fd, EPOLLIN, guest_io, g);
	if (mood == FAKE_GUEST_RESUMED || mood == FAKE_GUEST_DUMB ||
	    mood == FAKE_GUEST_EXITS)
		g->proc[0] = (struct fake_guest_proc){ .channel = 1,
						       .what = "cat",
						       .credit = LINK_WINDOW };
	else if (mood != FAKE_GUEST_SILENT)
		must(link_put_hello(&g->out, 0));
	if (mood == FAKE_GUEST_EXITS)
		proc_end(g, &g->proc[0], LINK_EXITED, 3);
	guest_flush(g);
	if (mood == FAKE_GUEST_LATE)
		fake_guest_freeze(g, true);
	return g;
}

void fake_guest_kill(struct fake_guest *g)
{
	if (g->fd < 0)
		return;
	loop_del(g->io);
	g->io = NULL;
	close(g->fd);
	g->fd = -1;
}

void fake_guest_freeze(struct fake_guest *g, bool frozen)
{
	if (g->fd >= 0)
		loop_mod(g->io, frozen ? 0 : EPOLLIN | EPOLLOUT);
}

void fake_guest_free(struct fake_guest *g)
{
	if (!g)
		return;
	fake_guest_kill(g);
	buf_done(&g->in);
	buf_done(&g->out);
	link_prepare_args_done(&g->prepare);
	link_assign_args_done(&g->assign);
	link_exec_args_done(&g->exec);
	free(g);
}
