/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump_errors_test.c - stderr of a program, where none of it is for the terminal
 */
#include "control/cli/wire/pump.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/buf.h"
#include "tests/unit/tap.h"

static char got[64];

static void keep(void *arg, struct slice data)
{
	size_t *n = arg;

	for (size_t i = 0; i < data.len && *n + 1 < sizeof(got); i++)
		got[(*n)++] = (char)data.ptr[i];
}

int main(void)
{
	const struct link_exit end = { .kind = LINK_EXITED, .value = 3 };
	struct pump_result res;
	struct err err = { 0 };
	struct buf b;
	size_t n = 0;
	struct pump_opts opts = { .in = -1, .err_sink = keep, .arg = &n };
	SCOPED_FD null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	SCOPED_FD from = -1;
	SCOPED_FD to = -1;
	int sock[2], fds[2];
	char byte;

	buf_init(&b, 4096);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) < 0 ||
	    pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0 ||
	    link_put(&b, LINK_STDERR, 1, "one\033", 4) < 0 ||
	    link_put(&b, LINK_STDERR, 1, " two", 4) < 0 ||
	    link_put_exit(&b, 1, &end) < 0)
		return 1;
	from = fds[0];
	to = fds[1];
	opts.sock = sock[0];
	opts.out = null;
	opts.err = to;
	opts.early = buf_slice(&b);
	is_int(pump_run(&opts, &res, &err), 0, "a run %s", err.msg);
	is_int(res.code, 3, "its code");
	is_str(got, "one\033 two", "its stderr is passed on as it is");
	is_int(read(from, &byte, 1), -1, "and not written");
	buf_done(&b);
	close(sock[0]);
	close(sock[1]);
	return done_testing();
}
