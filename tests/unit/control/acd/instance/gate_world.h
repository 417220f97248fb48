/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_world.h - a fake of the gateway's admin socket, in the test's own loop
 *
 * It notes what it is asked, and answers as the test wishes.
 */
#ifndef TESTS_UNIT_CONTROL_ACD_INSTANCE_GATE_WORLD_H
#define TESTS_UNIT_CONTROL_ACD_INSTANCE_GATE_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/loop.h"
#include "ottergate/admin.h"

#define PEERS_MAX 8

#define REFUSED                                                 \
	"{\"ok\":false,\"error\":\"x\",\"lint\":[{\"level\":"   \
	"\"error\",\"code\":\"form\",\"text\":\"one:3:1: no\"," \
	"\"file\":\"one\",\"line\":3,\"column\":1,"             \
	"\"message\":\"no such preset\"}]}"

static struct loop *loop;

struct peer {
	int fd;
	struct loop_io *io;
	struct buf in;
	bool waits; /* for its answer */
};

static struct {
	struct peer peers[PEERS_MAX];
	unsigned n, open_most, open_now;
	bool hold;
	enum {
		ANSWER,
		REFUSE,
		CUT,
		GARBAGE,
		LONG,
		PIECES,
		WARN,
		INSPECT,
		TEXT
	} mood;
	const char *say; /* by TEXT */
	char asked[512]; /* "BIND one;" … */
	char text[4096]; /* of the last bind */
} gw;

static inline void put_frame(int fd, enum admin_kind kind, const char *text)
{
	struct buf b;
	struct slice s;

	buf_init(&b, 2 * ADMIN_FRAME_MAX);
	if (admin_frame_put(&b, kind, slice_str(text)) < 0)
		abort();
	s = buf_slice(&b);
	if (send(fd, s.ptr, s.len, MSG_NOSIGNAL) < 0)
		perror("# send");
	buf_done(&b);
}

static inline void peer_end(struct peer *p)
{
	loop_del(p->io);
	close(p->fd);
	buf_done(&p->in);
	gw.open_now--;
}

static inline void peer_answer(struct peer *p)
{
	static char big[200 * 1024];

	p->waits = false;
	switch (gw.mood) {
	case CUT:
		put_frame(p->fd, ADMIN_DATA, "half");
		break;
	case GARBAGE:
		if (send(p->fd, "\377\377\377\377x", 5, MSG_NOSIGNAL) < 0)
			perror("# send");
		break;
	case REFUSE:
		put_frame(p->fd, ADMIN_DATA, REFUSED);
		put_frame(p->fd, ADMIN_ERROR, "one:3:1: no\x1b such preset");
		break;
	case LONG:
		memset(big, 'x', sizeof(big) - 1);
		put_frame(p->fd, ADMIN_DATA, big);
		put_frame(p->fd, ADMIN_END, "");
		break;
	case PIECES:
		put_frame(p->fd, ADMIN_DATA, "{\"a\":1}");
		put_frame(p->fd, ADMIN_DATA, "{\"b\":2}");
		put_frame(p->fd, ADMIN_END, "");
		break;
	case WARN:
		put_frame(p->fd, ADMIN_DATA,
			  "{\"ok\":true,\"lint\":[{\"level\":\"warning\","
			  "\"code\":\"c\",\"text\":\"one:8:32: never\","
			  "\"file\":\"one\",\"line\":8,\"column\":32,"
			  "\"message\":\"never\",\"about\":\"a.example\"},"
			  "{\"level\":\"warning\",\"code\":\"c\",\"text\":"
			  "\"policy/policy.yaml:8:1: odd\",\"file\":"
			  "\"policy/policy.yaml\",\"message\":\"odd\","
			  "\"about\":\"a.example\"}]}");
		put_frame(p->fd, ADMIN_END, "");
		break;
	case INSPECT:
		put_frame(p->fd, ADMIN_DATA,
			  "{\"ok\":true,\"lint\":[],\"inspects\":true,"
			  "\"cert\":\"C\",\"bundle\":\"CK\"}");
		put_frame(p->fd, ADMIN_END, "");
		break;
	case TEXT:
		put_frame(p->fd, ADMIN_DATA, gw.say);
		put_frame(p->fd, ADMIN_END, "");
		break;
	case ANSWER:
		put_frame(p->fd, ADMIN_DATA, "{\"ok\":true}");
		put_frame(p->fd, ADMIN_END, "");
	}
	peer_end(p);
}

static inline void on_peer(void *arg, uint32_t events)
{
	static const char *const verbs[] = {
		[ADMIN_PING] = "PING",
		[ADMIN_METRICS] = "METRICS",
		[ADMIN_RELOAD] = "RELOAD",
		[ADMIN_BIND] = "BIND",
		[ADMIN_UNBIND] = "UNBIND",
		[ADMIN_SHOW] = "SHOW",
		[ADMIN_CONNECTIONS] = "CONNECTIONS",
		[ADMIN_SECRETS] = "SECRETS",
		[ADMIN_CA] = "CA",
	};
	struct peer *p = arg;
	uint8_t data[4096];
	ssize_t n = recv(p->fd, data, sizeof(data), 0);
	struct admin_request rq;
	struct slice in;
	size_t used = strlen(gw.asked);

	(void)events;
	if (n <= 0) {
		peer_end(p);
		return;
	}
	if (buf_append(&p->in, data, (size_t)n) < 0)
		abort();
	in = buf_slice(&p->in);
	if (p->waits || admin_request_read(&in, &rq) < 0)
		return;
	snprintf(gw.asked + used, sizeof(gw.asked) - used, "%s %.*s;",
		 verbs[rq.verb], (int)rq.a.len, (const char *)rq.a.ptr);
	if (rq.verb == ADMIN_BIND)
		snprintf(gw.text, sizeof(gw.text), "%.*s", (int)rq.b.len,
			 (const char *)rq.b.ptr);
	p->waits = true;
	if (!gw.hold)
		peer_answer(p);
}

static inline void on_accept(void *arg, uint32_t events)
{
	struct peer *p = &gw.peers[gw.n++ % PEERS_MAX];

	(void)events;
	*p = (struct peer){ .fd = accept4(*(int *)arg, NULL, NULL,
					  SOCK_CLOEXEC | SOCK_NONBLOCK) };
	buf_init(&p->in, ADMIN_REQUEST_MAX);
	p->io = loop_add(loop, p->fd, EPOLLIN, on_peer, p);
	if (++gw.open_now > gw.open_most)
		gw.open_most = gw.open_now;
}

#endif
