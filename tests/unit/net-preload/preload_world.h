/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_world.h - a network with a gateway and servers in it, and programs
 * with the shim in them
 *
 * The network is a namespace of the test's own, in which the addresses that
 * stand for names are local: what the shim lets through reaches a server, so
 * whatever is refused was refused by the shim.
 */
#ifndef TESTS_UNIT_NET_PRELOAD_PRELOAD_WORLD_H
#define TESTS_UNIT_NET_PRELOAD_PRELOAD_WORLD_H

#include <arpa/inet.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/fake/preload.h"
#include "tests/unit/control/acd/net/netns_world.h"
#include "tests/unit/tap.h"

#ifndef PRELOAD_SHIM
#define PRELOAD_SHIM "net_proxy.so"
#endif
#define PORT 8080
#define KEPT_OPEN 512 /* connections that the server has at once */
#define COMMAND_MAX 8192
#define OUTPUT_MAX (64u * 1024)
#define SOURCES                       \
	"tests/fake/preload/guest.c " \
	"tests/fake/preload/scenes.c tests/fake/preload/crowds.c"

static char top[] = "/tmp/preload_test.XXXXXX";
static char shim[PATH_MAX]; /* PRELOAD_SHIM of this build */
static struct gate gate;
static pid_t server;

/* What a program wrote, until the next one runs. */
static char *out, *err_out;

static inline int listener(int type)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(PORT) };
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (bind(fd, (void *)&sa, sizeof(sa)) < 0)
		return -1;
	if (type == SOCK_STREAM)
		listen(fd, 4096);
	return fd;
}

/* Takes every connection and closes the oldest; reads nothing. */
static inline void serve(int tcp)
{
	int open_now[KEPT_OPEN];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	memset(open_now, -1, sizeof(open_now));
	for (unsigned i = 0;; i++) {
		int *slot = &open_now[i % KEPT_OPEN];

		if (*slot >= 0)
			close(*slot);
		*slot = accept(tcp, NULL, NULL);
	}
}

static inline bool world_start(void)
{
	int tcp, udp;

	if (unshare(CLONE_NEWNET) < 0 &&
	    unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	if (!sh("ip link set lo up && ip route add local 198.18.0.0/15 dev lo "
		"&& ip route add local 203.0.113.0/24 dev lo"))
		return false;
	tcp = listener(SOCK_STREAM);
	udp = listener(SOCK_DGRAM);
	if (tcp < 0 || udp < 0 || gate_start(&gate) < 0)
		return false;
	server = fork();
	if (server == 0)
		serve(tcp);
	close(tcp);
	close(udp); /* the server has it */
	return server > 0;
}

static inline bool preload_begin(void)
{
	char self[PATH_MAX] = "";
	char *slash;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 ||
	    !(slash = strrchr(self, '/')))
		return false;
	*slash = '\0';
	snprintf(shim, sizeof(shim), "%.4000s/../../" PRELOAD_SHIM, self);
	unsetenv("AC_NET_QUIET");
	unsetenv("AC_NET_PRELOAD");
	return access(shim, R_OK) == 0 && mkdtemp(top);
}

static inline void preload_end(void)
{
	if (server > 0) {
		kill(server, SIGKILL);
		waitpid(server, NULL, 0);
		gate_stop(&gate);
	}
	file_remove_tree(top);
	free(out);
	free(err_out);
}

/* Compiles the guest into top/NAME; false without such a compiler. */
static inline bool guest_make(const char *cc, const char *name)
{
	return sh("command -v %s >/dev/null && %s -D_GNU_SOURCE -I. -O1 -g "
		  "-o %s/%s " SOURCES " -lpthread -ldl",
		  cc, cc, top, name);
}

static inline char *output(const char *name)
{
	SCOPED_STR path = str_printf("%s/%s", top, name);
	char *text = NULL;
	size_t len;

	return file_read(path, OUTPUT_MAX, &text, &len) < 0 ? strdup("?") :
							      text;
}

static inline void outputs(void)
{
	free(out);
	free(err_out);
	out = output("out");
	err_out = output("err");
}

/*
 * Runs top/NAME with the shim (@env before it, as in a shell), and arguments.
 * Its exit status, as system(3) has it; out and err_out.
 */
static inline int run(const char *env, const char *name, const char *fmt, ...)
	ATTR_PRINTF(3, 4);
static inline int run(const char *env, const char *name, const char *fmt, ...)
{
	static char text[COMMAND_MAX];
	va_list ap;
	int n, rc;

	memset(gate.seen->asks, 0, sizeof(gate.seen->asks));
	memset(gate.seen->after, 0, sizeof(gate.seen->after));
	n = snprintf(text, sizeof(text),
		     "cd %s && %s LD_PRELOAD=%s ./%s >out 2>err ", top, env,
		     shim, name);
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	rc = system(text); /* NOLINT(cert-env33-c): a test's own words */
	outputs();
	return rc;
}

static inline unsigned sum(const unsigned counts[256])
{
	unsigned n = 0;

	for (int i = 0; i < 256; i++)
		n += counts[i];
	return n;
}

/* Questions since the last run began, before connections. */
static inline unsigned asked(void)
{
	return sum(gate.seen->asks);
}

#endif
