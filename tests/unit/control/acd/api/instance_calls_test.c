/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_calls_test.c - /v1/instances over a real socket, with real
 * streams, on fake sandboxes
 */
#include "control/acd/api/stream.h"
#include "control/shared/names.h"
#include "tests/unit/control/acd/api/api_world.h"

static bool refuse_runs;

/* ---- what other parts of acd would do ---- */

int acd_may_run(const struct acd *acd, const char *isolation, struct err *err,
		const char **ret_code)
{
	(void)acd;
	(void)isolation;
	if (!refuse_runs)
		return 0;
	*ret_code = "runtime_refused";
	return err_set(err, -EPERM, "this runtime is not safe");
}

#define IN "/v1/instances/{name}"
static const struct http_route routes[] = {
	{ "GET", "/v1/events", api_events },
	{ "GET", "/v1/stats", api_instance_stats_all },
	{ "GET", "/v1/instances", api_instance_list },
	{ "POST", "/v1/instances", api_instance_create },
	{ "GET", IN, api_instance_get },
	{ "DELETE", IN, api_instance_delete },
	{ "POST", IN "/run", api_instance_run },
	{ "POST", IN "/exec", api_instance_exec },
	{ "POST", IN "/attach", api_instance_attach },
	{ "POST", IN "/stop", api_instance_stop },
	{ "POST", IN "/kill", api_instance_kill },
	{ "GET", IN "/processes", api_instance_processes },
	{ "POST", IN "/pause", api_instance_pause },
	{ "POST", IN "/resume", api_instance_resume },
	{ "POST", IN "/touch", api_instance_touch },
	{ "POST", IN "/clean", api_instance_clean },
	{ "GET", IN "/logs", api_instance_logs },
	{ "GET", IN "/stats", api_instance_stats },
	{ NULL, NULL, NULL },
};

/* ---- the client ---- */

/* Sends a request to be upgraded; the connection, past its 101. */
static int upgrade(const char *path, const char *body)
{
	char head[300];
	const char *text;
	size_t n = 0;
	int fd = dial();

	snprintf(head, sizeof(head),
		 "POST %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
		 "Upgrade: ac-link/1\r\nContent-Length: %zu\r\n\r\n%s",
		 path, strlen(body), body);
	say(fd, head);
	/* The head byte by byte: frames follow at once. */
	for (;;) {
		static char got[1024];

		check(n < sizeof(got) - 1 && recv(fd, got + n, 1, 0) == 1);
		got[++n] = '\0';
		text = got;
		if (strstr(got, "\r\n\r\n"))
			break;
	}
	check(strstr(text, "HTTP/1.1 101") == text);
	return fd;
}

/* Reads one frame into @mem. */
static struct link_frame frame(int fd, uint8_t *mem, size_t size)
{
	struct link_frame f;
	struct slice in;
	size_t n = 0, need = LINK_HEADER;

	for (;;) {
		check(need <= size);
		while (n < need) {
			ssize_t got = recv(fd, mem + n, need - n, 0);

			check(got > 0);
			n += (size_t)got;
		}
		in = slice_of(mem, n);
		if (link_parse(&in, &f, &need) == 0)
			return f;
	}
}

/* Frames up to EXIT, then the end; the exit code. */
static int frames_to_exit(int fd, uint64_t *ret_output)
{
	static uint8_t mem[LINK_HEADER + LINK_PAYLOAD_MAX];
	struct buf b = { .max = 64 };
	struct link_frame f;
	struct link_exit x;

	for (;;) {
		f = frame(fd, mem, sizeof(mem));
		if (f.type == LINK_EXIT)
			break;
		if (f.type != LINK_STDOUT)
			continue;
		*ret_output += f.payload.len;
		check(link_put_u32(&b, LINK_CREDIT, 1,
				   (uint32_t)f.payload.len) == 0);
		put(fd, buf_slice(&b).ptr, buf_len(&b));
		buf_consume(&b, buf_len(&b));
	}
	check(link_get_exit(&f, &x) == 0);
	check(recv(fd, mem, 1, 0) <= 0);
	close(fd);
	return link_exit_code(&x);
}

static void say_frame(int fd, enum link_type type, const char *text)
{
	struct buf b = { .max = 1024 };

	check(link_put(&b, type, 1, text, strlen(text)) == 0);
	put(fd, buf_slice(&b).ptr, buf_len(&b));
	buf_done(&b);
}

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
		{ "{\"name\":\"one\",\"blueprint\":\"base\",\"pids\":-1}",
		  " 400 " },
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

/* What stays with an instance can be taken back; what cannot be had here is
 * not stored. */
static void talk_wishes(void)
{
	static const struct {
		const char *wish, *shown;
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
		snprintf(body, sizeof(body), ONE "%s", rows[i].wish);
		HAS(ask_post("/v1/instances", body), rows[i].shown);
	}
	HAS(get("/v1/instances/one"), "\"pids\":9");
}

/* Limits and targets that can be had nowhere, and wishes of a run that was
 * refused. */
static void talk_undo(void)
{
	char body[256];

	HAS(ask_post("/v1/instances", ONE "\"cpus_milli\":1000000}"),
	    "1000 CPUs are more than this machine has");
	HAS(ask_post("/v1/instances", ONE "\"allow\":[\"10.0.0.1\"]}"),
	    "services:");
	HAS(get("/v1/instances"), "{\"instances\":[]}");
	HAS(ask_post("/v1/instances", ONE "\"undo\":true}"), " 404 ");
	snprintf(body, sizeof(body),
		 ONE "\"memory\":1125899906842624,\"env\":[\"A=1\"],"
		     "\"host_uid\":%u,\"host_gid\":%u}",
		 (unsigned)getuid(), (unsigned)getgid());
	HAS(ask_post("/v1/instances", body),
	    "a memory limit of 1.0 PiB is more than this machine has");
	HAS(ask_post("/v1/instances", ONE "\"undo\":1}"), " 400 ");
	HAS(ask_post("/v1/instances", ONE "\"undo\":true}"), " 204 ");
	HAS(get("/v1/instances"), "{\"instances\":[]}");
	snprintf(body, sizeof(body),
		 ONE "\"memory\":1073741824,\"disk\":67108864,"
		     "\"host_uid\":%u,\"host_gid\":%u}",
		 (unsigned)getuid(), (unsigned)getgid());
	HAS(ask_post("/v1/instances", body), "\"memory\":1073741824");
	HAS(ask_post("/v1/instances", ONE "\"disk\":0}"), "\"disk\":0");
	/* A wish that no run has made hold stays one. */
	HAS(ask_post("/v1/instances", ONE "\"ttl_ms\":5000}"), "\"disk\":0");
	LACKS(ask_post("/v1/instances", ONE "\"memory\":0}"), "warnings");
	HAS(ask_post("/v1/instances", ONE "\"undo\":true}"),
	    "\"memory\":1073741824");
	HAS(ask_post("/v1/instances", ONE "\"pids\":77}"), "\"pids\":77");
	HAS(ask_post("/v1/instances/one/run", "{\"detached\":true}"),
	    "\"state\":\"running\"");
	HAS(ask_post("/v1/instances", ONE "\"undo\":true}"), "\"pids\":77");
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
	if (talk == talk_undo)
		a.acd.owner = a.acd.owner_group = getuid() + 1;
	api_world_talk(&a, routes, what, talk);
	if (talk == talk_undo) {
		const struct instance *in = instance_find(a.w.is, "one");

		ok(in && instance_record(in)->host_uid == getuid() &&
			   instance_record(in)->host_gid == getgid(),
		   "whose its files are stays");
	}
	stream_close_all();
	world_done(&a.w);
}

int main(void)
{
	serve("create, look, remove", talk_create);
	serve("wishes are taken back", talk_wishes);
	serve("wishes of no run", talk_undo);
	serve("run, exec, attach", talk_run);
	serve("leave, detach, stop", talk_leave);
	serve("leave before it begins", talk_leave_early);
	serve("a runtime that is refused", talk_refused);
	serve("an image that is missing", talk_mend);
	serve("events", talk_events);
	serve("follow a log", talk_follow);
	return done_testing();
}
