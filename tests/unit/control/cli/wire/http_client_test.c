/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_client_test.c - the client with a peer that does as a script says
 */
#include "control/cli/wire/http_client.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "control/cli/wire/client.h"
#include "control/shared/json.h"
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/sock.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"

static char sock_path[64];

/* What the peer does: NULL ends the connection, "" waits for the next request
 * and hangs up without a word, SILENT never answers. */
#define SILENT "\001"
#define HUGE_BODY "\002"
#define HUGE_CHUNKS 1024u /* of 64 KiB */

static void put(int fd, const void *data, size_t len)
{
	if (fd_write_all(fd, data, len) < 0)
		_exit(2);
}

static void put_huge(int fd)
{
	static char chunk[65536];
	unsigned i;

	put(fd, CHUNKED, sizeof(CHUNKED) - 1);
	for (i = 0; i < HUGE_CHUNKS; i++) {
		put(fd, "10000\r\n", 7);
		put(fd, chunk, sizeof(chunk));
		put(fd, "\r\n", 2);
	}
	put(fd, "0\r\n\r\n", 5);
}

static void play(int sock, const char *const *script, size_t n, unsigned slow)
{
	int fd = -1;
	char request[65536];
	size_t i;

	fd_nonblock(sock, 0);
	for (i = 0; i < n; i++) {
		const char *text = script[i];

		if (!text) {
			fd_closep(&fd);
			continue;
		}
		if (fd < 0)
			fd = accept(sock, NULL, NULL);
		if (fd < 0 || read(fd, request, sizeof(request)) <= 0)
			_exit(1);
		if (strcmp(text, SILENT) == 0)
			pause();
		if (strcmp(text, HUGE_BODY) == 0)
			put_huge(fd);
		else if (!slow)
			put(fd, text, strlen(text));
		for (; slow && *text; text++) {
			put(fd, text, 1);
			usleep(slow);
		}
	}
	/* Nobody else may come. */
	fd_nonblock(sock, 1);
	_exit(accept(sock, NULL, NULL) >= 0 ? 3 : 0);
}

static pid_t serve(const char *const *script, size_t n, unsigned slow)
{
	SCOPED_FD sock = sock_unix_listen(sock_path, 0600, 4);
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		signal(SIGPIPE, SIG_IGN);
		play(sock, script, n, slow);
	}
	return pid;
}

/* The exit code of the peer: 0 when all went by the script. */
static int served(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	unlink(sock_path);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct sink {
	struct buf text;
	uint64_t total;
	int refuse; /* negative: what to answer */
	bool keep;
};

static int to_sink(void *arg, const char *data, size_t len)
{
	struct sink *s = arg;

	s->total += len;
	if (s->refuse < 0)
		return s->refuse;
	return s->keep ? buf_append(&s->text, data, len) : 0;
}

static int call(struct http *h, const char *method, const char *body,
		struct sink *s)
{
	struct http_request rq = {
		.method = method,
		.path = "/v1/x?y=z",
		.body = body,
		.fn = to_sink,
		.arg = s,
	};

	return http_call(h, &rq);
}

/* One request with its answer; @body NULL: not compared. */
static void one(const char *what, const char *answer, int want, int status,
		const char *body)
{
	const char *const script[] = { answer, NULL };
	struct sink s = { .keep = true };
	pid_t pid = serve(script, ARRAY_SIZE(script), 0);
	struct http h;

	buf_init(&s.text, 65536);
	http_init(&h, sock_path);
	is_int(call(&h, "GET", NULL, &s), want, "%s", what);
	is_int(h.status, status, "%s: status", what);
	if (body)
		ok(slice_eq(buf_slice(&s.text), slice_str(body)), "%s: body",
		   what);
	http_done(&h);
	buf_done(&s.text);
	is_int(served(pid), 0, "%s: peer", what);
}

static void test_answers(void)
{
	static char long_head[HTTP_HEAD_MAX + 100];

	one("a length", OK "Content-Length: 2\r\n\r\nhi", 0, 200, "hi");
	one("chunks", CHUNKED "2\r\nhi\r\n0\r\n\r\n", 0, 200, "hi");
	one("to the end", OK "\r\nhi", 0, 200, "hi");
	one("nothing", "HTTP/1.1 204 No\r\n\r\n", 0, 204, "");
	one("an error", "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nhi", 0,
	    404, "hi");
	one("interim answers",
	    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 X\r\nA: b\r\n\r\n" OK
	    "Content-Length: 2\r\n\r\nhi",
	    0, 200, "hi");
	one("interim answers without end",
	    "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\n\r\n"
	    "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\n\r\n"
	    "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 "
	    "C\r\n\r\n",
	    -EBADMSG, 0, "");
	one("101 unasked", "HTTP/1.1 101 X\r\nUpgrade: ac-link/1\r\n\r\n",
	    -EPROTONOSUPPORT, 101, "");
	one("half a head", "HTTP/1.1 2", -ECONNRESET, 0, "");
	one("half a body", OK "Content-Length: 5\r\n\r\nhi", -ECONNRESET, 200,
	    "hi");
	one("half the chunks", CHUNKED "2\r\nhi\r\n", -ECONNRESET, 200, "hi");
	one("a bad chunk", CHUNKED "2\r\nhix", -EBADMSG, 200, "hi");
	one("another service", "220 mail ready\r\n", -EBADMSG, 0, "");
	memset(long_head, 'a', sizeof(long_head) - 1);
	memcpy(long_head, OK, sizeof(OK) - 1);
	one("a head without end", long_head, -EBADMSG, 0, "");
}

#define HI OK "Content-Length: 2\r\n\r\nhi"

/* Two calls of @method over one client; the second, after the peer has ended
 * the kept connection if @ends, gives @want. */
static void two(const char *what, const char *method, bool ends,
		const char *const *script, size_t n_script, int want)
{
	struct sink s = { .total = 0 };
	pid_t pid = serve(script, n_script, 0);
	struct http h;

	http_init(&h, sock_path);
	is_int(call(&h, method, NULL, &s), 0, "%s: the first", what);
	if (ends) {
		struct pollfd p = { h.fd, POLLIN, 0 };

		is_int(poll(&p, 1, -1), 1, "%s: it ends", what);
	}
	is_int(call(&h, method, NULL, &s), want, "%s: the second", what);
	http_done(&h);
	is_int(served(pid), 0, "%s: peer", what);
}

static void test_kept(void)
{
	static const char *const kept[] = { HI, HI, NULL };
	static const char *const ended[] = { HI, NULL, HI, NULL };
	static const char *const deaf[] = { HI, "", NULL, HI, NULL };
	static const char *const deaf_post[] = { HI, "", NULL };
	static const char *const close[] = { OK "Connection: close\r\n"
						"Content-Length: 2\r\n\r\nhi",
					     NULL, HI, NULL };
	static const char *const junk[] = { HI "junk", NULL, HI, NULL };

	two("one connection", "POST", false, kept, ARRAY_SIZE(kept), 0);
	two("one that has ended", "POST", true, ended, ARRAY_SIZE(ended), 0);
	two("ends on a GET: again", "GET", false, deaf, ARRAY_SIZE(deaf), 0);
	two("ends on a POST: never twice", "POST", false, deaf_post,
	    ARRAY_SIZE(deaf_post), -ECONNRESET);
	two("the peer says close", "GET", false, close, ARRAY_SIZE(close), 0);
	two("junk behind an answer is no answer", "GET", false, junk,
	    ARRAY_SIZE(junk), 0);
}

static void test_huge(void)
{
	static const char *const script[] = { HUGE_BODY, NULL };
	pid_t pid = serve(script, ARRAY_SIZE(script), 0);
	struct sink s = { .keep = false };
	struct rusage before, after;
	struct http h;

	http_init(&h, sock_path);
	getrusage(RUSAGE_SELF, &before);
	is_int(call(&h, "GET", NULL, &s), 0, "64 MiB in chunks");
	getrusage(RUSAGE_SELF, &after);
	is_int(s.total, HUGE_CHUNKS * 65536ull, "all of it came");
	ok(after.ru_maxrss - before.ru_maxrss < 8192, "memory stays flat");
	http_done(&h);
	served(pid);
}

static void test_refusing_reader(void)
{
	static const char *const script[] = { HI, NULL };
	pid_t pid = serve(script, ARRAY_SIZE(script), 0);
	struct sink s = { .refuse = -EAGAIN };
	struct http h;

	http_init(&h, sock_path);
	is_int(call(&h, "GET", NULL, &s), -EAGAIN, "the reader's own code");
	is_int(h.fd, -1, "and no connection is kept");
	http_done(&h);
	served(pid);
}

static void test_silence(void)
{
	static const char *const script[] = { SILENT };
	pid_t pid = serve(script, ARRAY_SIZE(script), 0);
	const struct http_request rq = { .method = "GET",
					 .path = "/",
					 .timeout_ms = 50 };
	struct http h;

	http_init(&h, sock_path);
	is_int(http_call(&h, &rq), -ETIMEDOUT, "no answer in time");
	ok(h.reached, "but somebody listens");
	http_done(&h);
	kill(pid, SIGKILL);
	served(pid);
}

static void on_alarm(int signo)
{
	(void)signo;
}

static void test_signals(void)
{
	static const char *const script[] = { CHUNKED "2\r\nhi\r\n0\r\n\r\n",
					      NULL };
	pid_t pid = serve(script, ARRAY_SIZE(script), 1000);
	const struct sigaction act = { .sa_handler = on_alarm };
	struct itimerval often = { { 0, 700 }, { 0, 700 } };
	struct sink s = { .keep = false };
	struct http h;

	http_init(&h, sock_path);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	is_int(call(&h, "GET", NULL, &s), 0, "byte by byte, among signals");
	often = (struct itimerval){ { 0, 0 }, { 0, 0 } };
	setitimer(ITIMER_REAL, &often, NULL);
	is_int(s.total, 2, "all of it came");
	http_done(&h);
	served(pid);
}

static void cannot_reach(const char *what, int want)
{
	struct sink s = { .keep = false };
	struct http h;

	http_init(&h, sock_path);
	is_int(call(&h, "GET", NULL, &s), want, "%s", what);
	ok(!h.reached && h.fd < 0, "%s: not reached", what);
	http_done(&h);
}

static void test_unreachable(void)
{
	const struct http_request bad = { .method = "GET", .path = "/a b" };
	bool root = geteuid() == 0;
	struct http h;
	int sock;

	cannot_reach("no socket", -ENOENT);
	sock = sock_unix_listen(sock_path, 0600, 4);
	chmod(sock_path, 0);
	if (root && seteuid(65534) < 0)
		root = false;
	cannot_reach("no permission", -EACCES);
	if (root && seteuid(0) < 0)
		return;
	close(sock);
	chmod(sock_path, 0600);
	cannot_reach("nobody listens", -ECONNREFUSED);
	http_init(&h, sock_path);
	is_int(http_call(&h, &bad), -EINVAL, "a path with a space");
	unlink(sock_path);
}

/* ---- what users read ---- */

static void says(const char *what, const char *answer, int want,
		 const char *text)
{
	const char *const script[] = { answer, NULL };
	pid_t pid = answer ? serve(script, ARRAY_SIZE(script), 0) : 0;
	SCOPED_CLIENT c = client_new(sock_path, "acd");
	SCOPED_JSON value = NULL;
	struct err err = { 0 };

	is_int(client_call(c, "GET", "/v1/x", NULL, &value, &err), want, "%s",
	       what);
	ok(strstr(err.msg, text), "%s says '%s': %s", what, text, err.msg);
	if (pid)
		served(pid);
}

static void test_messages(void)
{
	says("JSON", OK "Content-Length: 2\r\n\r\n{}", 0, "");
	says("no JSON", HI, -EPROTO, "is no JSON");
	says("no socket", NULL, -ECONNREFUSED, "nothing listens at /tmp/");
	says("cut short", OK "Content-Length: 5\r\n\r\nhi", -EPROTO,
	     "connection to acd: it ended before the answer did");
	says("no HTTP", "220 mail ready\r\n", -EPROTO, "no HTTP");
	says("a reason",
	     "HTTP/1.1 409 Conflict\r\n\r\n{\"error\":{\"code\":\"x\","
	     "\"message\":\"in the way\"}}",
	     -EBUSY, "in the way");
}

int main(void)
{
	snprintf(sock_path, sizeof(sock_path), "/tmp/ac-http-%d.sock",
		 (int)getpid());
	test_answers();
	test_kept();
	test_huge();
	test_refusing_reader();
	test_silence();
	test_signals();
	test_unreachable();
	test_messages();
	return done_testing();
}
