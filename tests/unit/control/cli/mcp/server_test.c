/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_test.c - whole conversations of a client with the server; acd is a child
 * that answers each exec by what its command says
 */
#include "control/cli/mcp/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/shared/json.h"
#include "init-guard/link.h"
#include "lib/file.h"
#include "lib/loop.h"
#include "lib/sock.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/ac_mcp_test.XXXXXX";
static char sock[64], began_file[64], left_file[64]; /* files */
static pid_t acd_pid, server_pid;
static int to = -1, from = -1; /* the server's stdin and stdout */
static struct buf got; /* what has come from it */

/* ---- acd ---- */

static void link_answer(int fd, const char *out)
{
	const struct link_exit x = { .kind = LINK_EXITED, .value = 4 };
	struct buf b;

	buf_init(&b, 4096);
	if (buf_printf(&b, "HTTP/1.1 101 Switching Protocols\r\n"
			   "Upgrade: ac-link/1\r\n"
			   "Connection: Upgrade\r\n\r\n") < 0 ||
	    (*out && link_put(&b, LINK_STDOUT, 1, out, strlen(out)) < 0) ||
	    (*out && link_put_exit(&b, 1, &x) < 0))
		_exit(1);
	fd_write_all(fd, buf_slice(&b).ptr, buf_len(&b));
	buf_done(&b);
}

static void mark(const char *path)
{
	close(open(path, O_CREAT | O_WRONLY, 0600));
}

static void answer(int fd)
{
	static const char refusal[] =
		"HTTP/1.1 409 Conflict\r\nContent-Length: 59\r\n\r\n"
		"{\"error\":{\"code\":\"not_running\",\"message\":\"it sleeps"
		"\"}}     ";
	char request[4096];
	ssize_t n = read(fd, request, sizeof(request) - 1);

	if (n <= 0)
		_exit(0);
	request[n] = '\0';
	if (strstr(request, "refused")) {
		fd_write_all(fd, refusal, strlen(refusal));
	} else if (strstr(request, "hangs")) {
		link_answer(fd, "");
		mark(began_file);
		while (read(fd, request, sizeof(request)) > 0)
			; /* until it leaves */
		mark(left_file);
	} else if (strstr(request, "lost")) {
		link_answer(fd, "");
	} else {
		link_answer(fd, "said");
	}
	_exit(0);
}

static void serve_acd(void)
{
	int fd = sock_unix_listen(sock, 0600, 16);

	acd_pid = fork();
	if (acd_pid != 0) {
		close(fd);
		return;
	}
	signal(SIGCHLD, SIG_IGN);
	fd_nonblock(fd, 0);
	for (;;) {
		int one = accept(fd, NULL, NULL);

		if (one >= 0 && fork() == 0)
			answer(one);
		close(one);
	}
}

/* ---- The server ---- */

/* As `ac run` does: it stays until it is ended. */
static int run(const struct cli *cli, const struct args *a, mcp_begun_fn begun,
	       void *arg, struct err *err)
{
	(void)cli;
	if (strcmp(a->words[0], "bad") == 0)
		return err_set(err, -EIO, "no image");
	if (!args_has(a, ARG_RM) || a->n_cmd != 2)
		return err_set(err, -EIO, "no such run");
	begun(arg, a->words[1]);
	for (;;)
		pause();
}

static void start(const char *blueprint)
{
	static char home[] = "/nowhere", host[] = "h";
	static const struct args none;
	const struct cli cli = {
		.home = home, .host = host, .sock = sock, .quiet = true
	};
	const struct mcp_opts o = { .cli = &cli,
				    .args = &none,
				    .blueprint = blueprint,
				    .shell = "/bin/sh",
				    .timeout_ms = 1000,
				    .output_max = 1024,
				    .run = run };
	struct err err = { 0 };
	int in[2], out[2];

	buf_init(&got, 64 * 1024 * 1024);
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return;
	fflush(stdout);
	server_pid = fork();
	if (server_pid == 0) {
		close(in[1]);
		close(out[0]);
		_exit(server_serve(&o, in[0], out[1], &err) == 0 ? 0 : 1);
	}
	close(in[0]);
	close(out[1]);
	to = in[1];
	from = out[0];
}

/* Returns the exit code of the server, which has been told to end. */
static int ended(void)
{
	int status = -1;

	for (int ms = 0; ms < GIVE_UP_MS; ms += 10) {
		if (waitpid(server_pid, &status, WNOHANG) == server_pid)
			break;
		usleep(10000);
	}
	fd_closep(&to);
	fd_closep(&from);
	buf_done(&got);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void say(const char *text)
{
	if (fd_write_all(to, text, strlen(text)) < 0 ||
	    fd_write_all(to, "\n", 1) < 0)
		printf("# the server has gone\n");
}

/* Returns the next message, to be freed; NULL if none comes. */
static json_t *hear(void)
{
	uint64_t until = clock_ms() + GIVE_UP_MS;

	while (clock_ms() < until) {
		struct slice s = buf_slice(&got);
		const uint8_t *end = s.len ? memchr(s.ptr, '\n', s.len) : NULL;
		struct pollfd p = { .fd = from, .events = POLLIN };
		char piece[4096];
		ssize_t n;

		if (end) {
			size_t len = (size_t)(end - s.ptr);
			json_t *m =
				json_loadb((const char *)s.ptr, len, 0, NULL);

			buf_consume(&got, len + 1);
			return m;
		}
		if (poll(&p, 1, 100) <= 0)
			continue;
		n = read(from, piece, sizeof(piece));
		if (n <= 0 || buf_append(&got, piece, (size_t)n) < 0)
			return NULL;
	}
	return NULL;
}

#define CALL(id, method, params)                                         \
	"{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"" method "\"," \
	"\"params\":{" params "}}"
#define EXEC(id, command)                                                      \
	CALL(id, "tools/call",                                                 \
	     "\"name\":\"sandbox_exec\",\"arguments\":{\"command\":\"" command \
	     "\"}")
#define INIT CALL(0, "initialize", "\"protocolVersion\":\"2025-11-25\"")

static void begin(const char *blueprint)
{
	json_t *m;

	start(blueprint);
	say(INIT);
	m = hear();
	ok(json_object_get(m, "result"), "a session with %s", blueprint);
	json_decref(m);
}

/* The next message answers @id, with the error @code (0: none) or a text with
 * @says. */
static void is_answer(int id, int code, const char *says)
{
	SCOPED_JSON m = hear();
	SCOPED_STR text = m ? json_dumps(m, JSON_COMPACT) : NULL;
	const json_t *n = json_object_get(m, "id");

	ok(id < 0 ? json_is_null(n) : json_integer_value(n) == id,
	   "the answer to %d: %s", id, text ? text : "none");
	is_int(json_count(json_object_get(m, "error"), "code"), code,
	       "the code of its error");
	ok(text && strstr(text, says), "it says %s", says);
}

/* ---- Tests ---- */

static void test_errors(void)
{
	start("base");
	say(CALL(1, "tools/list", ""));
	is_answer(1, -32600, "initialize");
	say(CALL(2, "ping", ""));
	is_answer(2, 0, "result");
	say(INIT);
	is_answer(0, 0, "2025-11-25");
	say("{");
	is_answer(-1, -32700, "JSON");
	say("[]");
	is_answer(-1, -32600, "batch");
	say(CALL(3, "nothing", ""));
	is_answer(3, -32601, "method");
	say(CALL(4, "tools/list", "\"cursor\":\"x\""));
	is_answer(4, -32602, "cursor");
	say(CALL(5, "tools/call", "\"name\":\"other\""));
	is_answer(5, -32602, "tool");
	say(CALL(6, "tools/call", "\"name\":7"));
	is_answer(6, -32602, "name");
	say(CALL(7, "tools/call",
		 "\"name\":\"sandbox_exec\",\"arguments\":[]"));
	is_answer(7, -32602, "arguments");
	say(EXEC(8, ""));
	is_answer(8, 0, "\"isError\":true");
	say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/odd\"}");
	say("{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}");
	say(CALL(9, "tools/list", ""));
	is_answer(9, 0, "sandbox_exec");
	fd_closep(&to);
	is_int(ended(), 0, "it ends with its stdin");
}

static void test_long_message(void)
{
	static char many[1024 * 1024];

	memset(many, ' ', sizeof(many));
	begin("base");
	for (int i = 0; i < 17; i++)
		if (fd_write_all(to, many, sizeof(many)) < 0)
			break;
	say("");
	is_answer(-1, -32600, "16 MiB");
	say(CALL(1, "ping", ""));
	is_answer(1, 0, "result");
	kill(server_pid, SIGTERM);
	is_int(ended(), 0, "it ends with SIGTERM");
}

static void test_commands(void)
{
	begin("base");
	say(EXEC(1, "x"));
	is_answer(1, 0, "\"exit_code\":4");
	/* They come one after the other, in their order. */
	say(EXEC(2, "y"));
	say(EXEC(3, "z"));
	is_answer(2, 0, "said");
	is_answer(3, 0, "said");
	say(EXEC(4, "refused"));
	is_answer(4, 0, "it sleeps. The next call starts a new one");
	say(EXEC(5, "x"));
	is_answer(5, 0, "said");
	say(EXEC(6, "lost"));
	is_answer(6, 0, "ended while the command ran. The next call");
	say(EXEC(7, "x"));
	is_answer(7, 0, "said");
	fd_closep(&to);
	is_int(ended(), 0, "it ends");
}

/* Waits for the file, and removes it. */
static bool is_marked(const char *path)
{
	for (int ms = 0; ms < GIVE_UP_MS && access(path, F_OK) < 0; ms += 10)
		usleep(10000);
	return unlink(path) == 0;
}

static void test_cancel(void)
{
	begin("base");
	say(EXEC(1, "hangs"));
	say(EXEC(1, "again"));
	is_answer(1, -32600, "this id");
	say(EXEC(2, "after"));
	say(CALL(3, "ping", ""));
	is_answer(3, 0, "result");
	ok(is_marked(began_file), "the first one runs");
	say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	    "\"params\":{\"requestId\":99}}");
	say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	    "\"params\":{\"requestId\":1}}");
	is_answer(2, 0, "said");
	ok(is_marked(left_file), "acd saw its connection end");
	say(EXEC(4, "hangs"));
	fd_closep(&to);
	is_int(ended(), 0, "it ends while a command runs");
}

static void test_progress(void)
{
	begin("base");
	say(CALL(1, "tools/call",
		 "\"name\":\"sandbox_exec\",\"arguments\":"
		 "{\"command\":\"hangs\"},"
		 "\"_meta\":{\"progressToken\":\"t\"}"));
	{
		SCOPED_JSON m = hear();
		const json_t *p = json_object_get(m, "params");

		is_str(json_string_value(json_object_get(m, "method")),
		       "notifications/progress", "it tells that it runs");
		is_str(json_string_value(json_object_get(p, "progressToken")),
		       "t", "with the client's token");
	}
	kill(server_pid, SIGINT);
	is_int(ended(), 0, "it ends with SIGINT");
}

static void test_no_sandbox(void)
{
	begin("bad");
	say(EXEC(1, "x"));
	is_answer(1, 0, "no sandbox: no image");
	say(EXEC(2, "x"));
	is_answer(2, 0, "no sandbox: no image");
	fd_closep(&to);
	is_int(ended(), 0, "it ends");
}

static void test_many(void)
{
	int busy = 0;

	begin("base");
	for (int i = 0; i < 70; i++) {
		SCOPED_STR text =
			str_printf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":"
				   "\"tools/call\",\"params\":{\"name\":"
				   "\"sandbox_exec\",\"arguments\":"
				   "{\"command\":\"hangs\"}}}",
				   i);

		say(text);
	}
	for (int i = 0; i < 6; i++) {
		SCOPED_JSON m = hear();

		busy += json_count(json_object_get(m, "error"), "code") ==
			-32000;
	}
	is_int(busy, 6, "more than 64 are refused");
	fd_closep(&from);
	fd_closep(&to);
	is_int(ended(), 0, "it ends when no one reads");
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	if (!ok(mkdtemp(dir), "a folder"))
		return done_testing();
	snprintf(sock, sizeof(sock), "%s/s", dir);
	snprintf(began_file, sizeof(began_file), "%s/b", dir);
	snprintf(left_file, sizeof(left_file), "%s/l", dir);
	serve_acd();
	test_errors();
	test_long_message();
	test_commands();
	test_cancel();
	test_progress();
	test_no_sandbox();
	test_many();
	kill(acd_pid, SIGKILL);
	waitpid(acd_pid, NULL, 0);
	unlink(sock);
	unlink(began_file);
	unlink(left_file);
	rmdir(dir);
	return done_testing();
}
