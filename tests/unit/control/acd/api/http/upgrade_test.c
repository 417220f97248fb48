/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade_test.c - connections that are handed over, at once or later
 */
#include "control/acd/api/http/server.h"

#include <fcntl.h>
#include <poll.h>

#include "lib/buf.h"
#include "tests/unit/control/acd/api/http/later.h"

static int upgrades_lost;

/* Sends back what came early, then what comes within the call. */
static void on_raw(void *arg, int fd, struct slice early)
{
	struct buf *b = arg;
	char data[64];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	if (fd < 0) {
		upgrades_lost++;
		free(b);
		return;
	}
	ok((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0, "upgrade: non-blocking");
	ok((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0, "upgrade: close-on-exec");
	ok(write(fd, early.ptr, early.len) == (ssize_t)early.len,
	   "upgrade: early bytes");
	poll(&p, 1, 2000);
	n = read(fd, data, sizeof(data));
	ok(n > 0 && write(fd, data, (size_t)n) == n, "upgrade: later bytes");
	close(fd);
	free(b);
}

static void upgrade(struct http_req *req)
{
	http_upgrade(req, on_raw, calloc(1, sizeof(struct buf)));
}

static void on_upgrade(void *ctx, struct http_req *req)
{
	struct err err = { 0 };

	(void)ctx;
	if (http_wants_upgrade(req) && http_query_flag(req, "later")) {
		arrive();
		later(req, 1000, upgrade);
	} else if (http_wants_upgrade(req)) {
		upgrade(req);
	} else {
		err_set(&err, -EINVAL, "no upgrade wanted");
		http_reply_error(req, &err, NULL);
	}
}

static const struct http_route routes[] = {
	{ "POST", "/up/{name}", on_upgrade, NULL },
	{ NULL, NULL, NULL, NULL },
};

static void upgrade_once(const char *query)
{
	char request[256];
	int fd = dial();
	const char *r;

	snprintf(request, sizeof(request),
		 "POST /up/x%s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
		 "Upgrade: ac-link/1\r\nContent-Length: 2\r\n\r\n{}early",
		 query);
	say(fd, request);
	r = hear(fd, "early");
	check(strstr(r, " 101 ") && strstr(r, "Upgrade: ac-link/1"));
	say(fd, "later");
	check(strcmp(hear(fd, NULL), "later") == 0);
	close(fd);
}

static void client_upgrade(void)
{
	const char *r;

	upgrade_once("");
	upgrade_once("?later=1");
	await(); /* it has come, of course: no byte stays behind */
	r = ask("POST /up/x HTTP/1.1\r\n" CLOSE "Content-Length: 0\r\n\r\n");
	check(strstr(r, " 400 "));
}

static void client_leaves_upgrade(void)
{
	int fd = dial();

	say(fd, "POST /up/x?later=1 HTTP/1.1\r\nHost: x\r\n"
		"Connection: Upgrade\r\nUpgrade: ac-link/1\r\n"
		"Content-Length: 0\r\n\r\n");
	await();
	close(fd);
}

int main(void)
{
	if (pipe(arrived) < 0 || !server_start("http_upgrade_test", routes))
		return done_testing();

	is_int(run_client(client_upgrade), 0, "upgrade");
	is_int(run_client(client_leaves_upgrade), 0, "a client leaves");
	until(&upgrades_lost, 1);
	is_int(upgrades_lost, 1, "the receiver of its socket was told");
	http_free(http);
	loop_free(loop);
	unlink(sock_path);
	return done_testing();
}
