/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_calls_test.c - /v1/instances over a real socket, with real
 * streams, on fake sandboxes
 */
#include "control/acd/api/http/stream.h"
#include "control/shared/names.h"
#include "tests/unit/control/acd/api/api_world.h"
#include "tests/unit/control/acd/api/run/client.h"

#define IN "/v1/instances/{name}"
static const struct http_route routes[] = {
	{ "GET", "/v1/events", api_events, &spec_events },
	{ "GET", "/v1/stats", api_instance_stats_all, &spec_stats_all },
	{ "GET", "/v1/instances", api_instance_list, &spec_instance_list },
	{ "POST", "/v1/instances", api_instance_create, &spec_instance_create },
	{ "GET", IN, api_instance_get, &spec_instance_get },
	{ "DELETE", IN, api_instance_delete, &spec_instance_delete },
	{ "POST", IN "/run", api_instance_run, &spec_instance_run },
	{ "POST", IN "/exec", api_instance_exec, &spec_instance_exec },
	{ "POST", IN "/attach", api_instance_attach, &spec_instance_attach },
	{ "POST", IN "/stop", api_instance_stop, &spec_instance_stop },
	{ "POST", IN "/kill", api_instance_kill, &spec_instance_kill },
	{ "GET", IN "/processes", api_instance_processes,
	  &spec_instance_processes },
	{ "POST", IN "/pause", api_instance_pause, &spec_instance_pause },
	{ "POST", IN "/resume", api_instance_resume, &spec_instance_resume },
	{ "POST", IN "/touch", api_instance_touch, &spec_instance_touch },
	{ "POST", IN "/clean", api_instance_clean, &spec_instance_clean },
	{ "GET", IN "/logs", api_instance_logs, &spec_instance_logs },
	{ "GET", IN "/stats", api_instance_stats, &spec_instance_stats },
	{ NULL, NULL, NULL, NULL },
};

/* ---- the client ---- */

static void make_one(void)
{
	HAS(ask_post("/v1/instances",
		     "{\"name\":\"one\",\"blueprint\":\"base\"}"),
	    "HTTP/1.1 201");
}

/* ---- conversations ---- */

/* What an instance says that does not run. */
static void talk_idle(void)
{
	HAS(ask_post("/v1/instances/one/kill", "{\"signo\":15}"),
	    "not_running");
	HAS(ask_post("/v1/instances/one/kill", "{}"), " 400 ");
	HAS(ask_post("/v1/instances/one/kill", "{\"signo\":15,\"pids\":[1]}"),
	    " 400 ");
	HAS(ask_post("/v1/instances/one/kill", "{\"signo\":15,\"pids\":[-1]}"),
	    " 400 ");
	HAS(ask_post("/v1/instances/one/kill", "{\"signo\":15,\"pids\":[2]}"),
	    "not_running");
	HAS(ask_post("/v1/instances/one/pause", ""), "not_running");
	HAS(ask_post("/v1/instances/one/touch", ""), "\"touched_at\":1");
	HAS(get("/v1/instances/one/processes"), "not_running");
}

static void talk_create(void)
{
	static const struct {
		const char *body, *answer;
	} bad[] = {
		{ "{}", " 400 " },
		{ "{\"name\":\"../x\",\"blueprint\":\"base\"}", " 400 " },
		{ "{\"name\":\"one\",\"blueprint\":\"nope\"}",
		  "unknown_blueprint" },
		{ "{\"name\":\"one\",\"blueprint\":\"base\",\"x\":1}",
		  " 400 " },
		{ "{\"name\":\"one\",\"blueprint\":\"base\",\"memory\":5}",
		  "16 MiB" },
		{ "{\"name\":\"one\",\"blueprint\":\"base\",\"memory\":5}",
		  "\"key\":\"memory\"" },
		{ "{\"name\":\"one\",\"blueprint\":\"base\",\"disk\":5}",
		  "must be at least 16 MiB" },
		{ "{\"name\":\"one\",\"blueprint\":\"base\",\"disk\":5}",
		  "\"key\":\"disk\"" },
		{ "{\"name\":\"one\",\"blueprint\":\"base\",\"pids\":-1}",
		  " 400 " },
		{ "{\"name\":\"one\",\"blueprint\":\"base\",\"pids\":-1}",
		  "\"key\":\"pids\"" },
		{ "{\"name\":\"one\",\"blueprint\":\"base\","
		  "\"isolation\":\"none\"}",
		  "runsc or crun" },
		{ "{\"name\":\"one\",\"blueprint\":\"base\","
		  "\"workspace\":\"src\"}",
		  "absolute" },
		{ "{\"name\":\"one\",\"blueprint\":\"base\","
		  "\"gpus\":\"all;rm\"}",
		  " 400 " },
		{ "{\"name\":\"one\",\"blueprint\":\"base\","
		  "\"env\":[\"=x\"]}",
		  " 400 " },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		HAS(ask_post("/v1/instances", bad[i].body), bad[i].answer);
	HAS(get("/v1/instances"), "{\"instances\":[]}");
	make_one();
	HAS(ask_post("/v1/instances",
		     "{\"name\":\"one\",\"blueprint\":\"base\","
		     "\"memory\":1073741824,\"env\":[\"A=b\"]}"),
	    "HTTP/1.1 200");
	HAS(get("/v1/instances/one"), "\"memory\":1073741824");
	HAS(get("/v1/instances/one"), "\"env\":[\"A=b\"]");
	HAS(ask_post("/v1/instances",
		     "{\"name\":\"one\",\"blueprint\":\"other\"}"),
	    "name_collision");
	HAS(get("/v1/instances/two"), "HTTP/1.1 404");
	HAS(ask_post("/v1/instances/one/stop", "{}"), "\"state\":\"created\"");
	talk_idle();
	HAS(get("/v1/instances/one/logs?follow=1"), "HTTP/1.1 200");
	HAS(get("/v1/instances/one/stats"), "not_running");
	HAS(get("/v1/instances/one/stats"), "`ac run one` starts it");
	HAS(ask("DELETE /v1/instances/one HTTP/1.1\r\n" CLOSE "\r\n"),
	    "HTTP/1.1 204");
	HAS(get("/v1/instances/one"), "HTTP/1.1 404");
}

#define ONE "{\"name\":\"one\",\"blueprint\":\"base\","

/* An option can be cleared; what cannot be had here is not stored. */
static void talk_options(void)
{
	static const struct {
		const char *option, *shown;
	} rows[] = {
		{ "\"gpus\":\"all\"}", "no such GPU" },
		{ "\"gpus\":\"0\"}", "\"gpus\":\"0\"" },
		{ "\"gpus\":\"1\"}", "no such GPU" },
		{ "\"pids\":9}", "\"gpus\":\"0\"" },
		{ "\"gpus\":\"\"}", "\"gpus\":null" },
		{ "\"cpus_milli\":7,\"memory\":1073741824}",
		  "\"cpus_milli\":7" },
		{ "\"memory\":0}", "\"memory\":0" },
		{ "\"cpus_milli\":null}", "\"cpus_milli\":250" },
		{ "\"isolation\":\"crun\"}", "\"isolation\":\"crun\"" },
		{ "\"isolation\":\"\"}", "\"isolation\":\"runsc\"" },
		{ "\"workspace\":\"/src\"}", "\"workspace\":\"/src\"" },
		{ "\"workspace\":\"\"}", "\"workspace\":null" },
		{ "\"env\":[\"A=1\",\"AB=1\"]}", "\"env\":[\"A=1\",\"AB=1\"]" },
		{ "\"env\":[\"B=2\"]}", "\"env\":[\"B=2\",\"A=1\",\"AB=1\"]" },
		{ "\"env\":[\"A=3\",\"B=\"]}",
		  "\"env\":[\"A=3\",\"B=\",\"AB=1\"]" },
		{ "\"env\":[]}", "\"env\":[]" },
		{ "\"env\":[\"A=1\"]}", "\"env\":[\"A=1\"]" },
		{ "\"env_clear\":true,\"env\":[\"C=3\"]}",
		  "\"env\":[\"C=3\"]" },
		{ "\"env_clear\":true}", "\"env\":[]" },
	};
	char body[200];
	size_t i;

	HAS(ask_post("/v1/instances", ONE "\"gpus\":\"all\"}"), "no such GPU");
	HAS(ask_post("/v1/instances", ONE "\"gpus\":\"all\"}"), "HTTP/1.1 501");
	HAS(get("/v1/instances"), "{\"instances\":[]}");
	make_one();
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(body, sizeof(body), ONE "%s", rows[i].option);
		HAS(ask_post("/v1/instances", body), rows[i].shown);
	}
	HAS(get("/v1/instances/one"), "\"pids\":9");
}

/* Limits and targets that can be had nowhere, and a limit that no run has made
 * hold yet. */
static void talk_limits(void)
{
	HAS(ask_post("/v1/instances", ONE "\"cpus_milli\":1000000}"),
	    "1000 CPUs are more than this machine has");
	HAS(ask_post("/v1/instances", ONE "\"allow\":[\"10.0.0.1\"]}"),
	    "ac service add");
	HAS(ask_post("/v1/instances", ONE "\"undo\":true}"), " 400 ");
	HAS(get("/v1/instances"), "{\"instances\":[]}");
	HAS(ask_post("/v1/instances",
		     ONE "\"memory\":1125899906842624,\"env\":[\"A=1\"]}"),
	    "a memory limit of 1.0 PiB is more than this machine has");
	HAS(ask_post("/v1/instances",
		     ONE "\"memory\":1073741824,\"disk\":67108864}"),
	    "\"memory\":1073741824");
	HAS(ask_post("/v1/instances", ONE "\"disk\":0}"), "\"disk\":0");
	HAS(ask_post("/v1/instances", ONE "\"ttl_ms\":5000}"), "\"disk\":0");
	LACKS(ask_post("/v1/instances", ONE "\"memory\":0}"), "warnings");
}

static void talk_run(void)
{
	uint64_t output = 0;
	int fd, fd2;

	make_one();
	HAS(ask_post("/v1/instances/one/run", "{\"cmd\":[\"true\"]}"),
	    "must be detached");
	HAS(ask_post("/v1/instances/one/run", "{\"cmd\":[\"\"]}"), " 400 ");
	fd = upgrade("/v1/instances/one/run", "{\"cmd\":[\"exit\",\"7\"]}");
	check(frames_to_exit(fd, &output) == 7);
	/* At once: waits for the end of the first. */
	fd = upgrade("/v1/instances/one/run", "{\"cmd\":[\"noexec\"]}");
	check(frames_to_exit(fd, &output) == 127);
	fd = upgrade("/v1/instances/one/run",
		     "{\"cmd\":[\"flood\",\"3000000\"]}");
	check(frames_to_exit(fd, &output) == 0 && output == 3000000);
	fd = upgrade("/v1/instances/one/run",
		     "{\"cmd\":[\"cat\"],\"stdin\":true,\"tty\":true}");
	HAS(ask_post("/v1/instances/one/run", "{\"detached\":true}"),
	    "already_running");
	output = 0;
	say_frame(fd, LINK_STDIN, "some text");
	fd2 = upgrade("/v1/instances/one/exec", "{\"cmd\":[\"exit\",\"4\"]}");
	check(frames_to_exit(fd2, &output) == 4 && output == 0);
	HAS(get("/v1/instances/one/logs"), "some text");
	fd2 = upgrade("/v1/instances/one/attach", "{}");
	say_frame(fd, LINK_STDIN_EOF, "");
	check(frames_to_exit(fd, &output) == 0 && output == 9);
	check(frames_to_exit(fd2, &output) == 0 && output == 18);
}

static void talk_leave(void)
{
	uint64_t output = 0;
	int fd;

	make_one();
	fd = upgrade("/v1/instances/one/run", "{\"cmd\":[\"sleep\"]}");
	close(fd);
	/* Attached: it ends with its client. */
	while (!strstr(get("/v1/instances/one"), "\"state\":\"stopped\""))
		usleep(1000);
	HAS(get("/v1/instances/one"), "went away");

	fd = upgrade("/v1/instances/one/run", "{\"cmd\":[\"sleep\"]}");
	say_frame(fd, LINK_DETACH, "");
	hear(fd, NULL);
	close(fd);
	HAS(get("/v1/instances/one"), "\"state\":\"running\"");
	HAS(get("/v1/stats"), "\"name\":\"one\"");
	HAS(get("/v1/instances/one/stats"), "memory_limit");
	HAS(ask_post("/v1/instances/one/clean", "{}"), "busy");
	HAS(ask_post("/v1/instances/one/pause", ""), "\"state\":\"paused\"");
	HAS(ask_post("/v1/instances/one/pause", ""), "\"state\":\"paused\"");
	HAS(ask_post("/v1/instances/one/kill", "{\"signo\":15}"), "ac resume");
	HAS(get("/v1/instances/one/processes"), "\"paused\"");
	HAS(ask_post("/v1/instances/one/exec", "{}"), " 400 ");
	HAS(ask_post("/v1/instances/one/exec", "{\"connect\":80}"),
	    "exec needs");
	HAS(ask_post("/v1/instances/one/exec",
		     "{\"connect\":80,\"cmd\":[\"true\"]}"),
	    "excludes all other members");
	HAS(ask_post("/v1/instances/one/exec", "{\"connect\":0}"), " 400 ");
	HAS(ask_post("/v1/instances/one/exec", "{\"connect\":65536}"), " 400 ");
	HAS(ask_post("/v1/instances/one/run", "{\"connect\":80}"),
	    "unknown key");
	HAS(ask_post("/v1/instances/one/run", "{\"detached\":true}"),
	    "ac resume one");
	HAS(get("/v1/instances/one/stats"), "memory_limit");
	HAS(ask_post("/v1/instances/one/resume", ""), "\"state\":\"running\"");
	fd = upgrade("/v1/instances/one/attach", "{}");
	HAS(ask_post("/v1/instances/one/kill", "{\"signo\":15}"), " 204 ");
	check(frames_to_exit(fd, &output) == 143);
	HAS(ask_post("/v1/instances/one/stop", "{\"grace_ms\":1}"),
	    "\"state\":\"stopped\"");
	HAS(ask_post("/v1/instances/one/run", "{\"detached\":true}"),
	    "\"state\":\"running\"");
	HAS(ask("DELETE /v1/instances/one HTTP/1.1\r\n" CLOSE "\r\n"), "busy");
	HAS(ask("DELETE /v1/instances/one?force=1 HTTP/1.1\r\n" CLOSE "\r\n"),
	    " 204 ");
}

/* The client goes before its run has begun. */
static void talk_leave_early(void)
{
	int fd = dial();

	make_one();
	say(fd, "POST /v1/instances/one/run HTTP/1.1\r\nHost: x\r\n"
		"Connection: Upgrade\r\nUpgrade: ac-link/1\r\n"
		"Content-Length: 17\r\n\r\n{\"cmd\":[\"sleep\"]}");
	while (!strstr(get("/v1/instances/one"), "\"state\":\"starting\""))
		usleep(1000);
	close(fd);
	while (!strstr(get("/v1/instances/one"), "\"state\":\"stopped\""))
		usleep(1000);
	HAS(get("/v1/instances/one"), "stopped while it started");
}

static void talk_refused(void)
{
	int fd;

	make_one();
	HAS(ask_post("/v1/instances/one/run", "{\"detached\":true}"),
	    "runtime_refused");
	HAS(ask_post("/v1/instances/one/run", "{\"detached\":true}"),
	    "HTTP/1.1 503");
	fd = dial();
	close(fd);
}

static void talk_mend(void)
{
	make_one();
	HAS(ask_post("/v1/instances/one/run", "{\"detached\":true}"),
	    "\"image\":\"base\"");
	HAS(ask_post("/v1/instances/one/run", "{\"detached\":true}"),
	    "image_missing");
}

static void talk_events(void)
{
	int fd = dial();

	say(fd, "GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
	HAS(hear(fd, ": alive"), "text/event-stream");
	make_one();
	HAS(hear(fd, "event: instance"), "\"state\":\"created\"");
	close(fd);
}

/* Follows a log to the end of its run, which ends meanwhile. */
static void talk_follow(void)
{
	int fd, run;

	make_one();
	run = upgrade("/v1/instances/one/run",
		      "{\"cmd\":[\"cat\"],\"stdin\":true}");
	fd = dial();
	say(fd,
	    "GET /v1/instances/one/logs?follow=1 HTTP/1.1\r\n" CLOSE "\r\n");
	say_frame(run, LINK_STDIN, "line one\n");
	HAS(hear(fd, "line one"), "line one");
	say_frame(run, LINK_STDIN, "line two\n");
	HAS(hear(fd, "line two"), "line two");
	say_frame(run, LINK_STDIN_EOF, "");
	hear(fd, NULL); /* the end, or the time limit of the test */
	HAS(get("/v1/instances/one/logs?tail=1"), "line two");
	check(!strstr(get("/v1/instances/one/logs?tail=1"), "line one"));
}

/* ---- acd ---- */

static void serve(const char *what, void (*talk)(void))
{
	struct api_world a;

	api_world_init(&a);
	if (talk == talk_mend)
		fake.image_missing = true;
	if (talk == talk_leave_early)
		a.w.rt->mood = FAKE_GUEST_SILENT;
	refuse_runs = talk == talk_refused;
	api_world_talk(&a, routes, what, talk);
	stream_close_all();
	world_done(&a.w);
}

int main(void)
{
	serve("create, look, remove", talk_create);
	serve("options are cleared", talk_options);
	serve("limits that are refused", talk_limits);
	serve("run, exec, attach", talk_run);
	serve("leave, detach, stop", talk_leave);
	serve("leave before it begins", talk_leave_early);
	serve("a runtime that is refused", talk_refused);
	serve("an image that is missing", talk_mend);
	serve("events", talk_events);
	serve("follow a log", talk_follow);
	return done_testing();
}
