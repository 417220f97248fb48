/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage_call_test.c - what was asked of models: of one, of all, of nobody
 */
#include "control/acd/daemon/children.h"
#include "control/acd/egress/gate_job.h"
#include "tests/unit/control/acd/api/api_world.h"

static char dir[] = "/tmp/api_usage_test.XXXXXX";

static const struct http_route routes[] = {
	{ "GET", "/v1/usage", api_usage, &spec_usage },
	{ NULL, NULL, NULL, NULL },
};

static void on_signal(void *arg, int signo)
{
	(void)signo;
	children_reap(arg);
}

static bool talked;

static void on_talked(void *arg, pid_t pid, int status)
{
	(void)pid;
	talked = true;
	*(int *)arg = status;
}

/* Stands in for the gateway's program: knows an instance that is gone. */
static const char program[] =
	"#!/bin/sh\n"
	"case \"$*\" in\n"
	"*'--agent gone '*) echo '{\"usage\":[{\"name\":\"gone\"}]}' ;;\n"
	"*'--agent broken '*) echo 'no audit' >&2; exit 1 ;;\n"
	"*) echo '{\"usage\":[]}' ;;\n"
	"esac\n";

static void talk(void)
{
	HAS(get("/v1/usage"), "{\"usage\":[]}");
	HAS(get("/v1/usage?name=gone"), "\"name\":\"gone\"");
	HAS(get("/v1/usage?name=nope"), " 404 ");
	HAS(get("/v1/usage?name=nope"), "there is no instance 'nope'");
	HAS(get("/v1/usage?name=broken"), " 500 ");
	HAS(get("/v1/usage?name=broken"), "no audit");
	HAS(get("/v1/usage?name=../x"), " 400 ");
}

int main(void)
{
	char path[64];
	struct api_world a;
	struct err err = { 0 };
	sigset_t set;
	int status = -1;
	pid_t pid;

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/program", dir);
	if (file_replace(path, program, strlen(program), 0700) < 0)
		return 1;
	gate_job_set(path, dir);
	api_world_init(&a);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	a.acd.children = children_new();
	a.acd.http = http_new(a.w.loop, routes, &a.acd, &err);
	if (!a.acd.children || !a.acd.http ||
	    loop_signals(a.w.loop, &set, on_signal, a.acd.children) < 0 ||
	    http_listen(a.acd.http, sock_path, getuid(), getgid(), &err) < 0)
		return 1;
	pid = fork();
	if (pid == 0) {
		alarm(20);
		talk();
		_exit(0);
	}
	if (children_watch(a.acd.children, pid, on_talked, &status) < 0)
		return 1;
	STEP_UNTIL(a.w.loop, talked);
	ok(status == 0, "talk");
	http_free(a.acd.http);
	gate_job_end_all();
	children_free(a.acd.children);
	world_done(&a.w);
	file_remove_tree(dir);
	return done_testing();
}
