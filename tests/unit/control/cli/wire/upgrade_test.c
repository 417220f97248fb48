/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade_test.c - whole conversations over a socket; the head of an answer is
 * in control/cli/wire/http_parse_test.c
 */
#include "control/cli/wire/upgrade.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/sock.h"
#include "tests/unit/tap.h"

#define LINK_HEAD                                                    \
	"HTTP/1.1 101 Switching Protocols\r\nUpgrade: ac-link/1\r\n" \
	"Connection: Upgrade\r\nac-instance: one \r\n\r\n"

/* A child that answers one request with @answer. */
static pid_t serve(const char *path, const char *answer, size_t len)
{
	SCOPED_FD sock = sock_unix_listen(path, 0600, 4);
	char request[4096];
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		SCOPED_FD fd = -1;

		fd_nonblock(sock, 0);
		fd = accept(sock, NULL, NULL);
		if (fd < 0 || read(fd, request, sizeof(request)) <= 0)
			_exit(1);
		/* In two pieces, as a network might. */
		fd_write_all(fd, answer, len / 2);
		usleep(10000);
		fd_write_all(fd, answer + len / 2, len - len / 2);
		_exit(0);
	}
	return pid;
}

static void test_conversation(const char *what, const char *answer, int want,
			      const char *code, const char *says)
{
	char path[64];
	SCOPED_JSON body = json_object();
	struct upgrade up;
	struct client_error ce;
	struct err err = { 0 };
	pid_t pid;

	snprintf(path, sizeof(path), "/tmp/ac-up-%d.sock", (int)getpid());
	pid = serve(path, answer, strlen(answer));
	is_int(upgrade_open(path, "/v1/x", body, 0, &up, &ce, &err), want, "%s",
	       what);
	is_str(ce.code, code, "its word");
	if (says)
		ok(strstr(err.msg, says), "says '%s': %s", says, err.msg);
	if (want == 0) {
		is_str(up.instance, "one", "the name of the instance");
		is_int(up.n_early, 5, "what came behind the head");
		ok(memcmp(up.early, "early", 5) == 0, "as it was");
	}
	fd_closep(&up.fd);
	waitpid(pid, NULL, 0);
	unlink(path);
}

int main(void)
{
	test_conversation("a link", LINK_HEAD "early", 0, "", NULL);
	test_conversation("a refusal with a reason",
			  "HTTP/1.1 409 Conflict\r\nContent-Length: 70\r\n\r\n"
			  "{\"error\":{\"code\":\"image_missing\","
			  "\"message\":\"none\",\"image\":\"base\"}}      ",
			  -EBUSY, "image_missing", "none");
	test_conversation("a refusal without",
			  "HTTP/1.1 500 Oops\r\n\r\nnot json", -EIO, "", "500");
	test_conversation("another protocol", "HTTP/1.1 101 Switching\r\n\r\n",
			  -EPROTO, "", "protocol");
	test_conversation("half a head", "HTTP/1.1 1", -ECONNRESET, "",
			  "closed");
	test_conversation("another service", "220 mail ready\r\n", -EPROTO, "",
			  "HTTP");
	return done_testing();
}
