/* SPDX-License-Identifier: Apache-2.0 */
/*
 * as_call_test.c - POST /v1/run over a real socket, with real streams, on
 * fake sandboxes: the instance runs as asked, or everything is as before
 */
#include "control/acd/api/http/stream.h"
#include "control/acd/net/services.h"
#include "control/shared/names.h"
#include "lib/file.h"
#include "lib/log.h"
#include "tests/unit/control/acd/api/api_world.h"
#include "tests/unit/control/acd/api/run/client.h"

#define IN "/v1/instances/{name}"
static const struct http_route routes[] = {
	{ "POST", "/v1/run", api_run, &spec_run },
	{ "GET", "/v1/instances", api_instance_list, &spec_instance_list },
	{ "POST", "/v1/instances", api_instance_create, &spec_instance_create },
	{ "GET", IN, api_instance_get, &spec_instance_get },
	{ "DELETE", IN, api_instance_delete, &spec_instance_delete },
	{ "POST", IN "/stop", api_instance_stop, &spec_instance_stop },
	{ "GET", IN "/logs", api_instance_logs, &spec_instance_logs },
	{ NULL, NULL, NULL, NULL },
};

#define NONE "{\"instances\":[]}"
#define ONE "\"blueprint\":\"base\",\"name\":\"one\","
#define DETACHED "\"detached\":true}"

static const char *ask_run(const char *body)
{
	return ask_post("/v1/run", body);
}

static void stop_one(void)
{
	HAS(ask_post("/v1/instances/one/stop", "{\"grace_ms\":1}"),
	    "\"state\":\"stopped\"");
}

/* Which instance a request means, and whether it is made. */
static void talk_names(void)
{
	static const struct {
		const char *body, *answer;
	} bad[] = {
		{ "{" DETACHED, " 400 " },
		{ "{\"word\":\"base\"}", "must be detached" },
		{ "{\"word\":\"base\",\"name\":\"x\"," DETACHED, " 400 " },
		{ "{\"word\":\"../x\"," DETACHED, "\"invalid\"" },
		{ "{\"word\":\"bse\"," DETACHED, "unknown_name" },
		{ "{\"word\":\"bse\"," DETACHED, "blueprints: base" },
		{ "{\"name\":\"xyz\"," DETACHED, "unknown_name" },
		{ "{\"blueprint\":\"bse\",\"name\":\"x1\"," DETACHED,
		  "unknown_blueprint" },
		{ "{" ONE "\"options\":[]," DETACHED, " 400 " },
		{ "{" ONE "\"options\":{\"name\":\"x\"}," DETACHED, " 400 " },
		{ "{" ONE "\"memory\":0," DETACHED, " 400 " },
		{ "{" ONE "\"options\":{\"memory\":5}," DETACHED, "16 MiB" },
		{ "{" ONE "\"cmd\":[\"\"]," DETACHED, " 400 " },
		{ "{" ONE "\"without\":\"x\"," DETACHED, " 400 " },
		{ "{" ONE "\"create\":false," DETACHED, "\"no_instance\"" },
		{ "{" ONE "\"create\":false," DETACHED,
		  "\"instance\":\"one\"" },
		{ "{" ONE "\"build\":true," DETACHED, "image_missing" },
		{ "{" ONE "\"build\":true," DETACHED, "\"image\":\"base\"" },
	};
	uint64_t output = 0;
	const char *head;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		HAS(ask_run(bad[i].body), bad[i].answer);
		HAS(get("/v1/instances"), NONE);
	}
	check(frames_to_exit(upgrade_head("/v1/run",
					  "{\"word\":\"base\",\"cmd\":["
					  "\"exit\",\"7\"]}",
					  &head),
			     &output) == 7);
	HAS(head, "Ac-Instance: base_session\r\n");
	HAS(ask_run("{\"word\":\"my-base\"," DETACHED), "HTTP/1.1 201");
	HAS(ask_run("{\"name\":\"my-base\"," DETACHED), "already_running");
	HAS(ask_run("{\"name\":\"my-base\"," DETACHED),
	    "\"state\":\"running\"");
	HAS(ask_post("/v1/instances/my-base/stop", "{\"grace_ms\":1}"),
	    "stopped");
	HAS(ask_run("{\"name\":\"my-base\",\"create\":false," DETACHED),
	    "HTTP/1.1 200");
	HAS(ask_run("{\"blueprint\":\"other\",\"name\":\"my-base\"," DETACHED),
	    "name_collision");
}

/* A service of the user's own machine, and no ac-edge, which `ac` starts. */
static void talk_edge(void)
{
	HAS(ask_run("{" ONE "\"options\":{\"services\":[\"here\"]}"
		    "," DETACHED),
	    "HTTP/1.1 503");
	HAS(ask_run("{" ONE "\"options\":{\"services\":[\"here\"]}"
		    "," DETACHED),
	    "\"edge_down\"");
	HAS(get("/v1/instances"), NONE);
	HAS(ask_run("{" ONE "\"options\":{\"services\":[\"far\"]}"
		    "," DETACHED),
	    "HTTP/1.1 201");
}

/* A blueprint and a directory mean the instance that has the directory. */
static void talk_dir(void)
{
#define DIR_OF(dir) "{\"word\":\"base\",\"create\":false,\"dir\":\"" dir "\","
	HAS(ask_run(DIR_OF("src") DETACHED), "absolute path");
	HAS(ask_run(DIR_OF("/a/Src") DETACHED), "\"instance\":\"base-src\"");
	HAS(ask_post("/v1/instances", "{\"name\":\"base-src\",\"blueprint\":"
				      "\"base\",\"workspace\":\"/a/src\"}"),
	    "HTTP/1.1 201");
	HAS(ask_run(DIR_OF("/a/src") DETACHED), "workspace_needed");
	HAS(ask_run(DIR_OF("/a/src") DETACHED), "\"instance\":\"base-src\"");
	HAS(ask_run(DIR_OF("/b/src") DETACHED), "no_instance");
	HAS(ask_run(DIR_OF("/b/src") DETACHED), "\"instance\":\"base-src-2\"");
}

/* The options of a run stay; those of one that is refused do not. */
static void talk_options(void)
{
	HAS(ask_run("{" ONE "\"options\":{\"pids\":77,\"env\":[\"A=1\"],"
		    "\"memory\":1125899906842624}," DETACHED),
	    "more than this machine has");
	HAS(get("/v1/instances/one"), "\"pids\":77");
	/* Two at once: the second changes nothing. */
	HAS(ask_run("{" ONE "\"options\":{\"pids\":78}," DETACHED),
	    "already_running");
	HAS(get("/v1/instances/one"), "\"pids\":77");
	stop_one();
	HAS(ask_run("{" ONE
		    "\"options\":{\"pids\":9,\"gpus\":\"1\"}," DETACHED),
	    "no such GPU");
	HAS(ask_run("{" ONE "\"options\":{\"pids\":9,\"env\":[],"
		    "\"workspace\":\"/src\"}," DETACHED),
	    "workspace_needed");
	HAS(ask_run("{" ONE
		    "\"options\":{\"pids\":9},\"build\":true," DETACHED),
	    "image_missing");
	HAS(get("/v1/instances/one"), "\"pids\":77");
	HAS(get("/v1/instances/one"), "\"env\":[\"A=1\"]");
	HAS(get("/v1/instances/one"), "\"workspace\":null");
	HAS(ask_run("{" ONE "\"options\":{\"pids\":9}," DETACHED),
	    "\"pids\":9");
}

/* Lines for the user come on the stream, before the process has begun. */
static void talk_warned(void)
{
	static uint8_t mem[LINK_HEADER + LINK_PAYLOAD_MAX];
	uint64_t output = 0;
	struct slice text;
	struct link_frame f;
	uint8_t level;
	int fd = upgrade("/v1/run", "{" ONE "\"cmd\":[\"exit\",\"0\"],"
				    "\"options\":{\"memory\":"
				    "1125899906842624}}");

	do {
		f = frame(fd, mem, sizeof(mem));
		check(f.type == LINK_CREDIT || f.type == LINK_NOTICE);
	} while (f.type != LINK_NOTICE);
	check(link_get_text(&f, &level, &text) == 0 && level == LOG_LVL_WARN);
	check(text.len > 9 && memcmp(text.ptr, "warning: ", 9) == 0);
	check(frames_to_exit(fd, &output) == 0);
}

/* A prompt, of a blueprint that takes none. */
static void talk_prompt(void)
{
	static const struct {
		const char *body, *answer;
	} bad[] = {
		{ "{" ONE "\"prompt\":\"hi\"," DETACHED, "no_headless" },
		{ "{" ONE "\"prompt\":\"\"," DETACHED, "1 to" },
		{ "{" ONE "\"prompt\":[]," DETACHED, " 400 " },
		{ "{" ONE "\"prompt\":\"hi\",\"tty\":true," DETACHED,
		  "excludes tty" },
		{ "{" ONE "\"prompt\":\"hi\",\"stdin\":true," DETACHED,
		  "excludes tty" },
		{ "{" ONE "\"prompt\":\"hi\",\"resume\":true," DETACHED,
		  "excludes tty" },
		{ "{" ONE "\"resume\":true," DETACHED, "no_resume" },
		{ "{" ONE "\"resume\":true,\"shell\":true," DETACHED,
		  "resume excludes shell" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		HAS(ask_run(bad[i].body), bad[i].answer);
		HAS(get("/v1/instances"), NONE);
	}
}

/* The same of one that takes it, and appends words. */
static void talk_append(void)
{
	char body[AC_PROMPT_MAX + 256] = "{" ONE "\"prompt\":\"";
	size_t n = strlen(body);

	HAS(ask_run("{" ONE "\"cmd\":[\"9\"]," DETACHED),
	    "\"cmd\":[\"sleep\",\"9\"]");
	HAS(get("/v1/instances/one"), "\"tty\":true");
	stop_one();
	HAS(ask_run("{" ONE "\"prompt\":\"hi\",\"cmd\":[\"x\"]," DETACHED),
	    "\"cmd\":[\"cat\",\"say {prompt}\",\"x\"]");
	HAS(get("/v1/instances/one"), "\"tty\":false");
	stop_one();
	memset(body + n, 'p', AC_PROMPT_MAX);
	snprintf(body + n + AC_PROMPT_MAX, 64, "\"," DETACHED);
	HAS(ask_run(body), "HTTP/1.1 200");
	stop_one();
	snprintf(body + n + AC_PROMPT_MAX, 64, "p\"," DETACHED);
	HAS(ask_run(body), "1 to");
}

static void talk_refused(void)
{
	HAS(ask_run("{" ONE DETACHED), "HTTP/1.1 503");
	HAS(ask_run("{" ONE DETACHED), "runtime_refused");
	HAS(get("/v1/instances"), NONE);
}

static void talk_no_image(void)
{
	HAS(ask_run("{" ONE DETACHED), "\"image\":\"base\"");
	HAS(ask_run("{" ONE DETACHED), "\"blueprint\":\"base\"");
	HAS(ask_run("{" ONE DETACHED), "image_missing");
	HAS(get("/v1/instances"), NONE);
}

/* A start that was tried: its reason is kept, its options are not. */
static void talk_failed(void)
{
	char whose[128];

	HAS(ask_run("{" ONE "\"options\":{\"pids\":9}," DETACHED),
	    "no gateway today");
	HAS(get("/v1/instances/one"), "\"state\":\"failed\"");
	LACKS(get("/v1/instances/one"), "\"pids\":9,");
	HAS(ask("DELETE /v1/instances/one HTTP/1.1\r\n" CLOSE "\r\n"), " 204 ");
	HAS(ask_run("{" ONE "\"options\":{\"auto_remove\":true}," DETACHED),
	    "no gateway today");
	HAS(get("/v1/instances"), NONE);
	snprintf(whose, sizeof(whose),
		 "{" ONE
		 "\"options\":{\"host_uid\":%u,\"host_gid\":%u}," DETACHED,
		 (unsigned)getuid(), (unsigned)getgid());
	HAS(ask_run(whose), "no gateway today");
}

static int ask_and_starting(const char *body)
{
	char head[512];
	int fd = dial();

	snprintf(head, sizeof(head),
		 "POST /v1/run HTTP/1.1\r\nHost: x\r\n"
		 "Connection: Upgrade\r\nUpgrade: ac-link/1\r\n"
		 "Content-Length: %zu\r\n\r\n%s",
		 strlen(body), body);
	say(fd, head);
	while (!strstr(get("/v1/instances/one"), "\"state\":\"starting\""))
		usleep(1000);
	return fd;
}

/* The client goes before its run has begun: of a new instance nothing stays. */
static void talk_leave_early(void)
{
	int fd = ask_and_starting("{" ONE "\"cmd\":[\"sleep\"]}");

	HAS(ask_run("{" ONE "\"options\":{\"pids\":9}," DETACHED),
	    "already_running");
	close(fd);
	while (!strstr(get("/v1/instances"), NONE))
		usleep(1000);
	/* Nor after a stop meanwhile, and who waits is told. */
	fd = ask_and_starting("{" ONE "\"cmd\":[\"sleep\"]}");
	HAS(ask_post("/v1/instances/one/stop", "{\"grace_ms\":1}"), " 204 ");
	HAS(hear(fd, "\"stopped\""), " 409 ");
	close(fd);
	HAS(get("/v1/instances"), NONE);
}

/* The same of one that was there: it has the options from before. */
static void talk_leave_old(void)
{
	int fd;

	HAS(ask_post("/v1/instances", "{" ONE "\"pids\":77,\"env\":[\"A=1\"]}"),
	    "HTTP/1.1 201");
	fd = ask_and_starting("{" ONE "\"options\":{\"pids\":9,"
			      "\"auto_remove\":true,\"env\":[]}}");
	close(fd);
	while (!strstr(get("/v1/instances/one"), "\"state\":\"stopped\""))
		usleep(1000);
	HAS(get("/v1/instances/one"), "\"pids\":77");
	HAS(get("/v1/instances/one"), "\"env\":[\"A=1\"]");
	HAS(get("/v1/instances/one"), "\"auto_remove\":false");
}

/* ---- acd ---- */

static char services_dir[] = "/tmp/as-call-services-XXXXXX";

static void services_init(void)
{
	struct service here = { .name = "here",
				.host = "here.internal",
				.address = "127.0.0.1",
				.port = 8000 };
	struct service far = { .name = "far",
			       .host = "far.internal",
			       .address = "10.1.2.3",
			       .port = 8000 };
	SCOPED_STR path = NULL;
	struct err err = { 0 };

	if (mkdtemp(services_dir))
		path = str_printf("%s/services.json", services_dir);
	ok(path && services_open(path, &err) == 0 &&
		   services_add(&here, &err) == 0 &&
		   services_add(&far, &err) == 0,
	   "two services %s", err.msg);
}

static void services_end(void)
{
	services_close();
	file_remove_tree(services_dir);
}

static void serve(const char *what, void (*talk)(void))
{
	struct api_world a;

	api_world_init(&a);
	fake.image_missing = talk == talk_no_image;
	fake.bind_error = talk == talk_failed ? -EIO : 0;
	if (talk == talk_leave_early || talk == talk_leave_old)
		a.w.rt->mood = FAKE_GUEST_SILENT;
	refuse_runs = talk == talk_refused;
	fake.append = talk == talk_append;
	if (talk == talk_failed)
		a.acd.owner = a.acd.owner_group = getuid() + 1;
	api_world_talk(&a, routes, what, talk);
	if (talk == talk_failed) {
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
	serve("which instance is meant", talk_names);
	serve("the instance of a directory", talk_dir);
	services_init();
	serve("a service of the user's machine", talk_edge);
	services_end();
	serve("a prompt that nobody takes", talk_prompt);
	serve("words and prompts for an agent", talk_append);
	serve("options of a run", talk_options);
	serve("lines for its user", talk_warned);
	serve("a runtime that is refused", talk_refused);
	serve("an image that is missing", talk_no_image);
	serve("a start that fails", talk_failed);
	serve("leave a new one before it begins", talk_leave_early);
	serve("leave an old one before it begins", talk_leave_old);
	return done_testing();
}
