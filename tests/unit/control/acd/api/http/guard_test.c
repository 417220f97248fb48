/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard_test.c - requests that are judged before they are read, on connections
 * that the server is given
 */
#include "tests/unit/control/acd/api/http/test_server.h"

#define CLIENTS 40 /* more than are held */

static int handled, judged, left;
static struct http_req *parked;
static struct loop_io *accepts;
static int listener = -1;

static void on_call(void *ctx, struct http_req *req)
{
	(void)ctx;
	handled++;
	http_reply_empty(req);
}

static void on_put(void *ctx, struct http_req *req)
{
	on_call(ctx, req);
}

static void on_leave(void *arg)
{
	(void)arg;
	left++;
}

static void on_park(void *ctx, struct http_req *req)
{
	(void)ctx;
	parked = req;
	http_on_abort(req, on_leave, NULL);
}

static const struct http_route routes[] = {
	{ "GET", "/park", on_park, NULL },
	{ "GET", "/a", on_call, NULL },
	{ "POST", "/a", on_call, NULL },
	{ "PUT", "/a", on_put, NULL },
	{ 0 },
};

static bool on_guard(void *arg, struct http_req *req,
		     const struct http_call *call)
{
	const char *word = http_header(req, "Authorization");
	struct err err = { 0 };

	(void)arg;
	(void)call;
	judged++;
	if (word && strcmp(word, "yes") == 0)
		return true;
	err_set(&err, -EACCES, "no");
	if (word)
		http_guard_refuse(req, 403, "forbidden", &err, 100);
	else
		http_guard_refuse(req, 401, "unauthorized", &err, 300);
	return false;
}

static void on_connection(void *arg, uint32_t events)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)arg;
	(void)events;
	if (fd >= 0)
		http_take(http, fd);
}

#define HEAD " /a HTTP/1.1\r\nHost: x\r\n"

static void client_judged(void)
{
	int fd = dial();

	say(fd, "GET" HEAD "Authorization: yes\r\n\r\n");
	hear(fd, "HTTP/1.1 204");
	/* The connection goes on, and the next request is judged for itself. */
	say(fd, "GET" HEAD "Authorization: no\r\n\r\n");
	hear(fd, "HTTP/1.1 403");
	close(fd);
	fd = dial();
	say(fd, "GET" HEAD "\r\n");
	hear(fd, "WWW-Authenticate: Bearer");
	close(fd);
	/* A body that never comes is not waited for. */
	fd = dial();
	say(fd, "POST" HEAD "Content-Length: 100000\r\n\r\n");
	hear(fd, "HTTP/1.1 401");
	close(fd);
	fd = dial();
	say(fd, "PUT" HEAD "Content-Length: 100000\r\n\r\nsome");
	hear(fd, "HTTP/1.1 401");
	close(fd);
	fd = dial();
	say(fd, "GET /none HTTP/1.1\r\nHost: x\r\n\r\n");
	hear(fd, "HTTP/1.1 404");
	close(fd);
	/* One that does not wait for its refusal. */
	fd = dial();
	say(fd, "GET" HEAD "\r\n");
	close(fd);
}

static void client_many(void)
{
	int fds[CLIENTS], late;
	char got[4096];

	for (int i = 0; i < CLIENTS; i++) {
		fds[i] = dial();
		say(fds[i], "GET" HEAD "\r\n");
	}
	/* Who has the word is served beside those that are held back. */
	late = dial();
	say(late, "GET" HEAD "Authorization: yes\r\n\r\n");
	hear(late, "HTTP/1.1 204");
	for (int i = 0, held = 0, many = 0; i < CLIENTS; i++) {
		ssize_t n = recv(fds[i], got, sizeof(got) - 1, 0);

		check(n > 0);
		got[n] = '\0';
		held += strncmp(got, "HTTP/1.1 401", 12) == 0;
		many += strncmp(got, "HTTP/1.1 429", 12) == 0 &&
			strstr(got, "Retry-After: 1") != NULL;
		check(i < CLIENTS - 1 || held + many == CLIENTS);
		check(i < CLIENTS - 1 || many > 0);
		check(i < CLIENTS - 1 || held >= (int)HTTP_HELD_MAX);
		close(fds[i]);
	}
}

/* As ac-edge does for a client of TCP that has closed. */
static void client_half(void)
{
	int fd = dial();

	say(fd, "GET /park HTTP/1.1\r\nHost: x\r\nAuthorization: yes\r\n\r\n");
	usleep(200000);
	check(shutdown(fd, SHUT_WR) == 0);
	usleep(200000);
}

static void start(void)
{
	struct err err = { 0 };
	sigset_t set;

	snprintf(sock_path, sizeof(sock_path), "/tmp/http_guard.%d", getpid());
	loop = loop_new();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	loop_signals(loop, &set, on_signal, NULL);
	listener = sock_unix_listen(sock_path, 0600, 64);
	accepts = loop_add(loop, listener, EPOLLIN, on_connection, NULL);
	http = http_new(loop, routes, NULL, &err);
	http_set_guard(http, on_guard, NULL);
	ok(http_start(http, &err) == 0 && accepts,
	   "a server that does not "
	   "listen %s",
	   err.msg);
}

int main(void)
{
	start();
	is_int(run_client(client_judged), 0, "each request is judged");
	is_int(handled, 1, "one of them may go on");
	handled = 0;
	is_int(run_client(client_many), 0, "few are held back");
	is_int(handled, 1, "and hold up no other");
	is_int(run_client(client_half), 0, "a client ends its half");
	until(&left, 1);
	ok(parked && left == 1, "and has left, for the one who works for it");
	http_free(http);
	loop_del(accepts);
	close(listener);
	loop_free(loop);
	unlink(sock_path);
	return done_testing();
}
