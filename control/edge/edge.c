/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge.c - ac-edge: reaches services on the user's own loopback, and listens at
 * published ports
 *
 * A second container of ac-host's image, in the network of the user's machine,
 * with the user's ids, no capability, a read-only root and one mount: the folder
 * of its sockets. Order of a start; a step that fails ends it:
 *
 *   1. arguments; the loop, signals by signalfd
 *   2. no new privileges, no dumps, the filter of system calls    confine()
 *   3. the connection to acd: its orders say what is listened for, and which
 *      port of 127.0.0.1 or ::1 each is for; and at which ports of this
 *      machine, whose connections go to acd                       boss.c
 *
 * It parses nothing but these orders. It ends with code 0 at SIGTERM, and when
 * acd stays away.
 *
 * usage: ac-edge DIR
 */
#include <signal.h>
#include <string.h>

#include "control/edge/boss.h"
#include "control/edge/confine.h"
#include "control/edge/copy.h"
#include "control/edge/places.h"
#include "control/edge/listeners.h"
#include "control/shared/paths.h"
#include "lib/log.h"
#include "lib/str.h"

static void on_signal(void *arg, int signo)
{
	(void)signo;
	loop_stop(arg, 0);
}

static int signals_init(struct loop *loop)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	signal(SIGPIPE, SIG_IGN);
	return loop_signals(loop, &set, on_signal, loop);
}

static int serve(struct loop *loop, const char *dir, struct err *err)
{
	SCOPED_STR path = str_printf("%s/" EDGE_SOCK_NAME, dir);
	struct copies *copies = path ? copies_new(loop) : NULL;
	struct places *places = copies ? places_new(loop, dir, copies) : NULL;
	struct listeners *ports = places ? listeners_new(loop, dir, copies) :
					   NULL;
	struct boss *boss = ports ? boss_new(loop, path, places, ports) : NULL;
	int rc = boss ? loop_run(loop) : err_nomem(err);

	if (boss && rc < 0)
		err_set(err, rc, "event loop: %s", err_text(rc));
	boss_free(boss);
	listeners_free(ports);
	places_free(places);
	copies_free(copies);
	return rc;
}

int main(int argc, char **argv)
{
	struct loop *loop = loop_new();
	struct err err = { 0 };
	int rc;

	log_init("edge", LOG_LVL_INFO, 0);
	if (argc != 2 || *argv[1] == '-') {
		fprintf(stderr, "usage: ac-edge DIR\n");
		loop_free(loop);
		return 2;
	}
	rc = loop ? signals_init(loop) : -ENOMEM;
	if (rc < 0)
		err_set(&err, rc, "begin: %s", err_text(rc));
	else
		rc = confine(&err);
	if (rc == 0)
		rc = serve(loop, argv[1], &err);
	if (rc < 0)
		log_error("%s", err.msg);
	loop_free(loop);
	return rc < 0 ? 1 : rc;
}
