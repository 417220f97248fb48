/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount_sock.c - takes directories of the user's as descriptors
 *
 * mount.sock takes one request a connection: a JSON message of at most 4 KiB
 * with one descriptor of a detached mount; the answer is JSON. The socket is
 * the user's (mode 0600), so a peer is trusted with its own directories; the
 * limits protect against a faulty client.
 */
#include "control/acd/storage/mount_sock.h"

#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control/shared/names.h"
#include "control/shared/paths.h"
#include "lib/file.h"
#include "lib/sock.h"
#include "lib/str.h"

#define MESSAGE_MAX 4096u
#define PEERS_MAX 16u /* connections without a message yet */
#define PEER_LIMIT_MS 10000u /* for the message */

struct peer {
	struct loop_io *io;
	struct loop_timer *limit;
	int fd;
};

static struct {
	struct loop *loop;
	struct loop_io *listener;
	int listen_fd;
	unsigned n_peers, limit_ms;
	mount_sock_fn take;
} sock = { .listen_fd = -1, .limit_ms = PEER_LIMIT_MS };

/* Checks one message and the descriptor in *@fd, which it takes on success. */
static int message_take(const char *text, size_t len, int *fd, struct err *err)
{
	json_t *msg = NULL;
	const char *name, *to = "";
	struct stat st;
	int ro = 0, rc;

	if (len > MESSAGE_MAX)
		return err_set(err, -EMSGSIZE, "message over %u bytes",
			       MESSAGE_MAX);
	if (*fd < 0)
		return err_set(err, -EINVAL, "the message has no descriptor");
	if (fstat(*fd, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, -ENOTDIR, "it is not a directory");
	msg = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	if (json_unpack(msg, "{s:s, s?b, s?s !}", "instance", &name, "readonly",
			&ro, "to", &to) < 0 ||
	    (*to && !name_is_mount(to)))
		rc = err_set(err, -EINVAL,
			     "want {\"instance\": name, \"readonly\": bool, "
			     "\"to\": \"" AC_MNT "/…\"}");
	else
		rc = name_check_instance(name, err);
	if (rc == 0)
		rc = sock.take(name, to, fd_take(fd), ro, err);
	json_decref(msg);
	return rc;
}

static json_t *answer_json(const struct err *err)
{
	if (!err->code)
		return json_pack("{s:b}", "ok", 1);
	return json_pack("{s:{s:s, s:s}}", "error", "code",
			 err->code == -ENOSPC ? "unavailable" : "invalid",
			 "message", err->msg);
}

static void peer_free(struct peer *p)
{
	loop_del(p->io);
	loop_timer_free(p->limit);
	close(p->fd);
	free(p);
	sock.n_peers--;
}

static void on_late(void *arg)
{
	peer_free(arg);
}

static void on_message(void *arg, uint32_t events)
{
	struct peer *p = arg;
	char text[MESSAGE_MAX + 1];
	struct err err = { 0 };
	SCOPED_FD fd = -1;
	ssize_t len = sock_recv_fd(p->fd, &fd, text, sizeof(text));

	(void)events;
	if (len == -EAGAIN)
		return;
	if (len > 0) {
		SCOPED_STR answer = NULL;
		json_t *json;

		message_take(text, (size_t)len, &fd, &err);
		json = answer_json(&err);
		answer = json ? json_dumps(json, JSON_COMPACT) : NULL;
		json_decref(json);
		if (answer)
			send(p->fd, answer, strlen(answer), MSG_NOSIGNAL);
	}
	peer_free(p);
}

static void on_connect(void *arg, uint32_t events)
{
	SCOPED_FD fd = accept4(sock.listen_fd, NULL, NULL,
			       SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct peer *p;

	(void)arg;
	(void)events;
	if (fd < 0 || sock.n_peers >= PEERS_MAX)
		return;
	p = calloc(1, sizeof(*p));
	if (!p)
		return;
	p->io = loop_add(sock.loop, fd, EPOLLIN, on_message, p);
	p->limit = loop_timer_new(sock.loop, on_late, p);
	if (!p->io || !p->limit) {
		loop_del(p->io);
		loop_timer_free(p->limit);
		free(p);
		return;
	}
	loop_timer_set(p->limit, sock.limit_ms);
	p->fd = fd_take(&fd);
	sock.n_peers++;
}

void mount_sock_limit(unsigned ms)
{
	sock.limit_ms = ms;
}

static int listen_at(const char *path, uid_t uid, gid_t gid)
{
	SCOPED_FD fd = socket(AF_UNIX,
			      SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path));
	unlink(path);
	/* Without listen() no peer can connect before the mode is set. */
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    chmod(path, 0600) < 0 || lchown(path, uid, gid) < 0 ||
	    listen(fd, (int)PEERS_MAX) < 0)
		return -errno;
	sock.listener = loop_add(sock.loop, fd, EPOLLIN, on_connect, NULL);
	if (!sock.listener)
		return -errno;
	sock.listen_fd = fd_take(&fd);
	return 0;
}

int mount_sock_open(struct loop *loop, const char *path, uint32_t uid,
		    uint32_t gid, mount_sock_fn take, struct err *err)
{
	int rc;

	sock.loop = loop;
	sock.take = take;
	rc = listen_at(path, uid, gid);
	return rc < 0 ? err_set(err, rc, "listen at %s: %s", path,
				err_text(rc)) :
			0;
}

void mount_sock_close(void)
{
	loop_del(sock.listener);
	sock.listener = NULL;
	fd_closep(&sock.listen_fd);
}
