/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linger.c - drains output that is no longer sent
 */
#include "init-guard/run/linger.h"

#define SCRAP_SIZE (64u * 1024)

static void linger_close(struct linger_slot *s)
{
	loop_del(s->io);
	s->io = NULL;
	fd_closep(&s->fd);
}

/* One read a round: a fast writer must not delay others. */
static void linger_event(void *arg, uint32_t events)
{
	static uint8_t scrap[SCRAP_SIZE];
	struct linger_slot *s = arg;
	ssize_t n = read(s->fd, scrap, sizeof(scrap));

	(void)events;
	/* a terminal without users ends with EIO */
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		linger_close(s);
}

void linger_init(struct linger *l, struct loop *loop)
{
	size_t i;

	*l = (struct linger){ .loop = loop };
	for (i = 0; i < LINGER_MAX; i++)
		l->slot[i].fd = -1;
}

void linger_done(struct linger *l)
{
	size_t i;

	for (i = 0; i < LINGER_MAX; i++)
		linger_close(&l->slot[i]);
}

void linger_adopt(struct linger *l, int fd)
{
	struct linger_slot *s = NULL;
	size_t i;

	for (i = 0; i < LINGER_MAX && !s; i++) {
		if (l->slot[i].fd < 0)
			s = &l->slot[i];
	}
	if (!s) {
		close(fd);
		return;
	}
	s->fd = fd;
	s->io = loop_add(l->loop, fd, EPOLLIN, linger_event, s);
	if (!s->io)
		linger_close(s);
}
