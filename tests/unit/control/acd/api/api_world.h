/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_world.h - acd's routes over a real socket, on a world of instances
 *
 * Each conversation is a function that runs as a blocking client in a child;
 * the parent is acd. A test program includes it once, and defines what of acd
 * its routes call beside instances.
 */
#ifndef TESTS_UNIT_CONTROL_ACD_API_API_WORLD_H
#define TESTS_UNIT_CONTROL_ACD_API_API_WORLD_H

#include <sys/wait.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "tests/unit/control/acd/api/http_client.h"
#include "tests/unit/control/acd/instance/instance_world.h"

/* ---- api.c, without its table of routes ---- */

const char *api_param_name(struct http_req *req)
{
	return http_param(req, "name");
}

/* ---- the client ---- */

#define HAS(text, part) check(strstr((text), (part)) != NULL)
#define LACKS(text, part) check(strstr((text), (part)) == NULL)

static inline const char *get(const char *path)
{
	char head[256];

	snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\n" CLOSE "\r\n", path);
	return ask(head);
}

/* ---- acd ---- */

struct api_world {
	struct world w;
	struct acd acd;
};

static inline void api_world_init(struct api_world *a)
{
	*a = (struct api_world){ 0 };
	world_init(&a->w);
	signal(SIGCHLD, SIG_DFL);
	a->acd.loop = a->w.loop;
	a->acd.store = a->w.store;
	a->acd.runtime = &a->w.rt->rt;
	a->acd.instances = a->w.is;
	a->acd.owner = getuid();
	a->acd.owner_group = getgid();
	snprintf(sock_path, sizeof(sock_path), "%.50s/sock", a->w.dir);
}

/* Serves @routes until @talk, in a child, has ended well. */
static inline void api_world_talk(struct api_world *a,
				  const struct http_route *routes,
				  const char *what, void (*talk)(void))
{
	struct err err = { 0 };
	int status = -1;
	pid_t pid;

	a->acd.http = http_new(a->w.loop, routes, &a->acd, &err);
	if (!ok(a->acd.http && http_listen(a->acd.http, sock_path, getuid(),
					   getgid(), &err) == 0,
		"listens %s", err.msg))
		return;
	pid = fork();
	if (pid == 0) {
		alarm(8);
		talk();
		_exit(0);
	}
	STEP_UNTIL(a->w.loop, waitpid(pid, &status, WNOHANG) == pid);
	ok(status == 0, "%s", what);
	kill(pid, SIGKILL);
	http_free(a->acd.http);
}

#endif
