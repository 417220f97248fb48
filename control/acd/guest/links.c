/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links.c - hands guest links to ac-runtime, and keeps what sandboxes say last
 *
 * Root in ac-host may ask, for an id that acd expects, once. For other ids the
 * answer is "N", and ac-runtime leaves that container alone. So a manual
 * `docker run` in ac-host works as usual.
 *
 * The pipe's bytes come from a sandbox: the pipe is always drained, only the
 * last bytes are kept, and they are never shown unescaped.
 */
#include "control/acd/guest/links.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/log.h"
#include "lib/sock.h"
#include "lib/str.h"

/* Room for whole frames of output; else each costs several wake-ups. */
#define LINK_SOCKET_BYTES (1024 * 1024)
#define WORDS_READS 256u /* 1 MiB: the maximum size of a pipe */
#define ASKERS_MAX 64u
#define ASKER_LIMIT_MS 10000u /* for the whole question */

struct entry {
	struct entry *next;
	struct links *links;
	char id[LINKS_ID_MAX + 1];
	bool handed; /* the other end was given away */
	int link_fd; /* acd's end; -1 before and after */
	int words_fd;
	struct loop_io *words_io;
	char words[LINKS_WORDS_MAX];
	size_t words_len;
};

/* A connection of ac-runtime whose question is not complete yet. */
struct asker {
	struct asker *next;
	struct links *links;
	struct loop_io *io;
	struct loop_timer *limit;
	int fd;
	char text[LINKS_ID_MAX + 1];
	size_t len;
};

struct links {
	struct loop *loop;
	struct loop_io *listener;
	int fd;
	struct entry *entries;
	struct asker *askers;
	unsigned n_entries, n_askers;
	unsigned limit_ms;
};

static struct entry *entry_find(struct links *ls, const char *id)
{
	struct entry *e = ls->entries;

	while (e && strcmp(e->id, id) != 0)
		e = e->next;
	return e;
}

static void words_close(struct entry *e)
{
	loop_del(e->words_io);
	e->words_io = NULL;
	fd_closep(&e->words_fd);
}

static void words_keep(struct entry *e, const char *data, size_t len)
{
	size_t old = e->words_len;

	if (len > LINKS_WORDS_MAX) {
		data += len - LINKS_WORDS_MAX;
		len = LINKS_WORDS_MAX;
	}
	if (old + len > LINKS_WORDS_MAX) {
		size_t drop = old + len - LINKS_WORDS_MAX;

		memmove(e->words, e->words + drop, old - drop);
		old -= drop;
	}
	memcpy(e->words + old, data, len);
	e->words_len = old + len;
}

/* Reads once. Returns true if more may be there. */
static bool words_read(struct entry *e)
{
	char data[4096];
	ssize_t n = read(e->words_fd, data, sizeof(data));

	if (n > 0)
		words_keep(e, data, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		words_close(e);
	return n > 0 || (n < 0 && errno == EINTR);
}

static void on_words(void *arg, uint32_t events)
{
	(void)events;
	words_read(arg);
}

/* Makes the pipe; *ret_fd is the sandbox's end. */
static int words_open(struct entry *e, int *ret_fd)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	e->words_fd = pair[0];
	*ret_fd = pair[1];
	fd_nonblock(e->words_fd, 1);
	e->words_io =
		loop_add(e->links->loop, e->words_fd, EPOLLIN, on_words, e);
	return e->words_io ? 0 : -ENOMEM;
}

static void socket_widen(int fd)
{
	int bytes = LINK_SOCKET_BYTES;

	/* Above the machine's maximum, with CAP_NET_ADMIN. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) <
	    0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static int pair_open(int *ret_ours, int *ret_theirs)
{
	SCOPED_FD ours = -1;
	SCOPED_FD theirs = -1;
	int pair[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	socket_widen(ours);
	socket_widen(theirs);
	rc = fd_nonblock(ours, 1);
	if (rc < 0)
		return rc;
	*ret_ours = fd_take(&ours);
	*ret_theirs = fd_take(&theirs);
	return 0;
}

/* What was sent on one link fits into the buffer of another. */
static int unread_move(int from, int to)
{
	char data[65536];
	ssize_t n;

	while ((n = recv(from, data, sizeof(data), MSG_DONTWAIT)) > 0) {
		if (send(to, data, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) != n)
			return -ENOBUFS;
	}
	return n == 0 || errno == EAGAIN ? 0 : -errno;
}

int links_again(int before, int *ret_ours, int *ret_theirs)
{
	SCOPED_FD ours = -1;
	SCOPED_FD theirs = -1;
	int rc = pair_open(&ours, &theirs);

	if (rc == 0)
		rc = unread_move(before, ours);
	if (rc < 0)
		return rc;
	*ret_ours = fd_take(&ours);
	*ret_theirs = fd_take(&theirs);
	return 0;
}

/* Makes link and pipe; *ret_link and *ret_words are the sandbox's ends. */
static int entry_open(struct entry *e, int *ret_link, int *ret_words)
{
	SCOPED_FD theirs = -1;
	int rc = pair_open(&e->link_fd, &theirs);

	if (rc == 0)
		rc = words_open(e, ret_words);
	if (rc == 0)
		*ret_link = fd_take(&theirs);
	return rc;
}

/* Sends both of the sandbox's ends through @sock. */
static int entry_hand_over(struct entry *e, int sock)
{
	SCOPED_FD theirs = -1;
	SCOPED_FD words = -1;
	int rc = entry_open(e, &theirs, &words);

	if (rc == 0)
		rc = sock_send_fd(sock, theirs, "L", 1);
	if (rc >= 0)
		rc = sock_send_fd(sock, words, "E", 1);
	return rc < 0 ? rc : 0;
}

static void asker_free(struct asker *a)
{
	struct asker **at = &a->links->askers;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	a->links->n_askers--;
	loop_del(a->io);
	loop_timer_free(a->limit);
	close(a->fd);
	free(a);
}

static void asker_answer(struct asker *a)
{
	struct entry *e = entry_find(a->links, a->text);
	int rc;

	if (!e || e->handed) {
		send(a->fd, "N", 1, MSG_NOSIGNAL);
		return;
	}
	e->handed = true;
	rc = entry_hand_over(e, a->fd);
	if (rc < 0) {
		log_error("link of container %.12s: %s", e->id, err_text(rc));
		fd_closep(&e->link_fd);
		words_close(e);
	}
}

static void on_asker(void *arg, uint32_t events)
{
	struct asker *a = arg;
	ssize_t n = read(a->fd, a->text + a->len, sizeof(a->text) - a->len);
	char *end;

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		asker_free(a);
		return;
	}
	end = memchr(a->text + a->len, '\n', (size_t)n);
	a->len += (size_t)n;
	if (!end && a->len < sizeof(a->text))
		return;
	if (end) {
		*end = '\0';
		asker_answer(a);
	}
	asker_free(a);
}

static void on_asker_late(void *arg)
{
	asker_free(arg);
}

static void on_connect(void *arg, uint32_t events)
{
	struct links *ls = arg;
	SCOPED_FD fd =
		accept4(ls->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct asker *a;
	uid_t uid;

	(void)events;
	if (fd < 0 || sock_peer(fd, NULL, &uid, NULL) < 0 || uid != 0 ||
	    ls->n_askers >= ASKERS_MAX)
		return;
	a = calloc(1, sizeof(*a));
	if (!a)
		return;
	a->links = ls;
	a->io = loop_add(ls->loop, fd, EPOLLIN, on_asker, a);
	a->limit = loop_timer_new(ls->loop, on_asker_late, a);
	if (!a->io || !a->limit) {
		loop_del(a->io);
		loop_timer_free(a->limit);
		free(a);
		return;
	}
	loop_timer_set(a->limit, ls->limit_ms);
	a->fd = fd_take(&fd);
	a->next = ls->askers;
	ls->askers = a;
	ls->n_askers++;
}

struct links *links_new(struct loop *loop, const char *sock_path,
			struct err *err)
{
	struct links *ls = calloc(1, sizeof(*ls));

	if (!ls) {
		err_nomem(err);
		return NULL;
	}
	ls->loop = loop;
	ls->limit_ms = ASKER_LIMIT_MS;
	ls->fd = -1;
	if (!sock_path)
		return ls;
	ls->fd = sock_unix_listen(sock_path, 0600, (int)ASKERS_MAX);
	if (ls->fd >= 0)
		ls->listener = loop_add(loop, ls->fd, EPOLLIN, on_connect, ls);
	if (!ls->listener) {
		err_set(err, ls->fd < 0 ? ls->fd : -ENOMEM, "listen at %s: %s",
			sock_path, err_text(ls->fd < 0 ? ls->fd : -ENOMEM));
		links_free(ls);
		return NULL;
	}
	return ls;
}

void links_set_limit(struct links *ls, unsigned ms)
{
	ls->limit_ms = ms;
}

void links_free(struct links *ls)
{
	if (!ls)
		return;
	while (ls->entries)
		links_forget(ls, ls->entries->id);
	while (ls->askers)
		asker_free(ls->askers);
	loop_del(ls->listener);
	fd_closep(&ls->fd);
	free(ls);
}

int links_expect(struct links *ls, const char *id)
{
	struct entry *e;

	if (strlen(id) > LINKS_ID_MAX)
		return -EINVAL;
	links_forget(ls, id);
	if (ls->n_entries >= LINKS_MAX)
		return -ENOSPC;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	snprintf(e->id, sizeof(e->id), "%s", id);
	e->links = ls;
	e->link_fd = e->words_fd = -1;
	e->next = ls->entries;
	ls->entries = e;
	ls->n_entries++;
	return 0;
}

int links_open(struct links *ls, const char *id, int *ret_link, int *ret_words)
{
	struct entry *e = entry_find(ls, id);
	int rc;

	if (!e || e->handed)
		return -ENOENT;
	e->handed = true;
	rc = entry_open(e, ret_link, ret_words);
	if (rc < 0) {
		fd_closep(&e->link_fd);
		words_close(e);
	}
	return rc;
}

int links_take(struct links *ls, const char *id)
{
	struct entry *e = entry_find(ls, id);

	return e && e->link_fd >= 0 ? fd_take(&e->link_fd) : -ENOENT;
}

/* Returns how much of the beginning of @text must be skipped so that the rest,
 * escaped, fits in @size bytes. */
static size_t words_skip(const char *text, size_t len, size_t size)
{
	size_t room = size - 1, start = len;

	while (start > 0) {
		unsigned char c = (unsigned char)text[start - 1];
		size_t need = c < 0x20 || c > 0x7e || c == '\\' ? 4 : 1;

		if (need > room)
			break;
		room -= need;
		start--;
	}
	return start;
}

void links_words(struct links *ls, const char *id, char *out, size_t size)
{
	struct entry *e = entry_find(ls, id);
	size_t len, skip;

	out[0] = '\0';
	if (!e)
		return;
	/* Reads what was written just now, but not without end. */
	for (size_t i = 0; e->words_io && i < WORDS_READS; i++)
		if (!words_read(e))
			break;
	len = e->words_len;
	while (len > 0 && e->words[len - 1] == '\n')
		len--;
	skip = words_skip(e->words, len, size);
	str_escape(out, size, e->words + skip, len - skip);
}

void links_words_clear(struct links *ls, const char *id)
{
	struct entry *e = entry_find(ls, id);

	if (e)
		e->words_len = 0;
}

void links_forget(struct links *ls, const char *id)
{
	struct entry **at = &ls->entries;
	struct entry *e;

	while (*at && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	e = *at;
	if (!e)
		return;
	*at = e->next;
	ls->n_entries--;
	words_close(e);
	fd_closep(&e->link_fd);
	free(e);
}
