/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls_test.c - /v1/instances/NAME/commands over a real socket, on fake
 * sandboxes
 */
#include "control/acd/api/http/stream.h"
#include "control/acd/instance/command/command.h"
#include "tests/unit/control/acd/api/api_world.h"
#include "tests/unit/control/acd/api/run/client.h"

#define IN "/v1/instances/{name}"
#define COMMAND IN "/commands/{id}"
#define ONE "/v1/instances/one"

static const struct http_route routes[] = {
	{ "POST", "/v1/instances", api_instance_create, &spec_instance_create },
	{ "DELETE", IN, api_instance_delete, &spec_instance_delete },
	{ "POST", IN "/run", api_instance_run, &spec_instance_run },
	{ "POST", IN "/stop", api_instance_stop, &spec_instance_stop },
	{ "POST", IN "/pause", api_instance_pause, &spec_instance_pause },
	{ "POST", IN "/commands", api_command_start, &spec_command_start },
	{ "GET", IN "/commands", api_command_list, &spec_command_list },
	{ "GET", COMMAND, api_command_get, &spec_command_get },
	{ "DELETE", COMMAND, api_command_remove, &spec_command_remove },
	{ "GET", COMMAND "/events", api_command_events, &spec_command_events },
	{ "POST", COMMAND "/stdin", api_command_stdin, &spec_command_stdin },
	{ "POST", COMMAND "/signal", api_command_signal, &spec_command_signal },
	{ NULL, NULL, NULL, NULL },
};

/* ---- the client ---- */

static void make_one(void)
{
	HAS(ask_post("/v1/instances",
		     "{\"name\":\"one\",\"blueprint\":\"base\"}"),
	    "HTTP/1.1 201");
}

static void run_one(void)
{
	make_one();
	HAS(ask_post(ONE "/run", "{\"cmd\":[\"sleep\"],\"detached\":true}"),
	    "\"state\":\"running\"");
}

static const char *command(const char *body)
{
	return ask_post(ONE "/commands", body);
}

/* Starts a detached command; its id, until the next call. */
static const char *detached(const char *body)
{
	static char id[COMMAND_ID_MAX + 1];
	const char *text = command(body), *at = strstr(text, "\"id\":\"");

	HAS(text, "HTTP/1.1 201");
	HAS(text, "\"id\":\"");
	check(strlen(at + 6) > COMMAND_ID_MAX);
	memcpy(id, at + 6, COMMAND_ID_MAX);
	return id;
}

static const char *path(const char *id, const char *sub)
{
	static char text[128];

	snprintf(text, sizeof(text), ONE "/commands/%s%s", id, sub);
	return text;
}

static const char *delete (const char *what)
{
	char head[256];

	snprintf(head, sizeof(head), "DELETE %s HTTP/1.1\r\n" CLOSE "\r\n",
		 what);
	return ask(head);
}

/* Asks for events; the connection. */
static int follow(const char *what, const char *last)
{
	char head[512];
	int fd = dial();

	snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\n" CLOSE "%s%s%s\r\n",
		 what, last ? "Last-Event-ID: " : "", last ? last : "",
		 last ? "\r\n" : "");
	say(fd, head);
	return fd;
}

static const char *follow_all(const char *what, const char *last)
{
	int fd = follow(what, last);
	const char *text = hear(fd, NULL);

	close(fd);
	return text;
}

/* Starts a command whose output comes as events; the connection. */
static int stream(const char *body)
{
	char head[1024];
	int fd = dial();

	snprintf(head, sizeof(head),
		 "POST " ONE "/commands HTTP/1.1\r\n" CLOSE
		 "Accept: text/event-stream\r\nContent-Length: %zu\r\n\r\n%s",
		 strlen(body), body);
	say(fd, head);
	return fd;
}

static void wait_until_none(void)
{
	while (!strstr(get(ONE "/commands"), "{\"commands\":[]}"))
		usleep(1000);
}

/* ---- conversations ---- */

static void talk_wait(void)
{
	const char *text;
	int fd;

	make_one();
	HAS(command("{\"cmd\":[\"true\"]}"), "not_running");
	HAS(ask_post(ONE "/run", "{\"cmd\":[\"sleep\"],\"detached\":true}"),
	    "\"state\":\"running\"");
	text = command("{\"cmd\":[\"exit\",\"3\"]}");
	HAS(text, "HTTP/1.1 200");
	HAS(text, "\"exit_code\":3");
	HAS(text, "\"reason\":\"exited\"");
	HAS(text, "\"signal\":null");
	HAS(text, "\"stdout\":\"\"");
	HAS(text, "\"truncated\":false");
	text = command("{\"cmd\":[\"signal\",\"9\"]}");
	HAS(text, "\"exit_code\":137");
	HAS(text, "\"signal\":9");
	text = command("{\"cmd\":[\"noexec\"]}");
	HAS(text, "\"exit_code\":127");
	HAS(text, "\"reason\":\"not_started\"");
	HAS(text, "No such file");
	text = command("{\"cmd\":[\"cat\"],\"stdin\":\"gr\\u00fc\\u00df\"}");
	HAS(text, "\"stdout\":\"gr\xc3\xbc\xc3\x9f\"");
	HAS(text, "\"stdout_encoding\":\"utf-8\"");
	text = command("{\"cmd\":[\"cat\"],\"stdin_base64\":\"//4=\"}");
	HAS(text, "\"stdout\":\"//4=\"");
	HAS(text, "\"stdout_encoding\":\"base64\"");
	text = command("{\"cmd\":[\"flood\",\"3000000\"],\"max_output\":4096}");
	HAS(text, "\"stdout_bytes\":3000000");
	HAS(text, "\"truncated\":true");
	text = command("{\"cmd\":[\"sleep\"],\"timeout_ms\":20}");
	HAS(text, "\"exit_code\":124");
	HAS(text, "\"timed_out\":true");
	HAS(command("{\"stdin\":\"a\",\"stdin_base64\":\"YQ==\"}"), " 400 ");
	HAS(command("{\"stdin_base64\":\"YQ\"}"), "stdin_base64");
	HAS(command("{\"stdin_open\":true}"), "stdin_open");
	HAS(command("{\"max_output\":1}"), "max_output");
	HAS(command("{\"prompt\":\"x\"}"), "unknown key");
	wait_until_none();
	fd = dial();
	post(fd, ONE "/commands", "{\"cmd\":[\"sleep\"]}", 17);
	while (!strstr(get(ONE "/commands"), "\"state\":\"running\""))
		usleep(1000);
	close(fd);
	wait_until_none();
}

static void talk_stream(void)
{
	const char *text;
	int fd, fd2;

	run_one();
	fd = stream("{\"cmd\":[\"cat\"],\"stdin\":\"a\\u20acb\"}");
	text = hear(fd, NULL);
	HAS(text, "text/event-stream");
	HAS(text, "id: 0\nevent: start\ndata: {\"id\":\"");
	HAS(text, "id: 5\nevent: stdout\ndata: {\"offset\":0,\"data\":"
		  "\"a\xe2\x82\xac"
		  "b\",\"encoding\":\"utf-8\"}\n\n");
	HAS(text, "id: 5.end\nevent: exit\ndata: {\"exit_code\":0,");
	close(fd);
	fd = stream("{\"cmd\":[\"exit\",\"4\"]}");
	HAS(hear(fd, NULL), "\"exit_code\":4");
	close(fd);
	wait_until_none();

	/* Half of a character does not wait for long. */
	fd = stream("{\"cmd\":[\"cat\"],\"stdin_base64\":\"YeI=\","
		    "\"stdin_open\":true}");
	HAS(hear(fd, "4g=="), "\"data\":\"a\"");
	close(fd);
	wait_until_none();

	/* One that does not read holds up its command alone. */
	fd = stream("{\"cmd\":[\"flood\",\"50000000\"]}");
	fd2 = stream("{\"cmd\":[\"exit\",\"5\"]}");
	HAS(hear(fd2, NULL), "\"exit_code\":5");
	close(fd2);
	HAS(get(ONE "/commands"), "\"state\":\"running\"");
	close(fd);
	wait_until_none();
}

static void talk_detached(void)
{
	const char *text;
	char id[COMMAND_ID_MAX + 1];
	int fd;

	run_one();
	snprintf(id, sizeof(id), "%s",
		 detached("{\"cmd\":[\"cat\"],\"stdin\":\"one\","
			  "\"stdin_open\":true,\"detached\":true}"));
	HAS(get(ONE "/commands"), "\"stdin_open\":true");
	fd = follow(path(id, "/events"), NULL);
	HAS(hear(fd, "one"), "event: start");
	HAS(ask_post(path(id, "/stdin"), "{\"data\":\"two\"}"), " 204 ");
	HAS(hear(fd, "two"), "id: 6\nevent: stdout\ndata: {\"offset\":3");
	HAS(ask_post(path(id, "/stdin"), "{\"base64\":\"!\"}"), " 400 ");
	HAS(ask_post(path(id, "/stdin"),
		     "{\"base64\":\"//4=\",\"close\":true}"),
	    " 204 ");
	HAS(hear(fd, NULL), "//4=");
	close(fd);
	text = get(path(id, ""));
	HAS(text, "\"state\":\"ended\"");
	HAS(text, "\"stdout_bytes\":8");
	HAS(text, "\"stdout_encoding\":\"base64\"");
	HAS(ask_post(path(id, "/stdin"), "{\"data\":\"x\"}"), "\"ended\"");
	HAS(ask_post(path(id, "/signal"), "{\"signal\":15}"), "\"ended\"");
	HAS(ask_post(path(id, "/signal"), "{}"), " 400 ");

	text = follow_all(path(id, "/events"), "4");
	LACKS(text, "event: start");
	HAS(text, "{\"offset\":4,\"data\":");
	HAS(text, "id: 8.end\nevent: exit");
	LACKS(follow_all(path(id, "/events"), "8"), "event: stdout");
	HAS(follow_all(path(id, "/events"), "8.end"), "HTTP/1.1 204");
	HAS(follow_all(path(id, "/events"), "9"), " 400 ");
	HAS(follow_all(path(id, "/events"), "x"), "Last-Event-ID");
	HAS(delete (path(id, "")), " 204 ");
	HAS(delete (path(id, "")), "unknown_command");
	HAS(get(path(id, "")), "HTTP/1.1 404");
	HAS(get(path(id, "/events")), "HTTP/1.1 404");
}

static void talk_lost(void)
{
	const char *text;
	char id[COMMAND_ID_MAX + 1];
	int fd;

	run_one();
	snprintf(id, sizeof(id), "%s",
		 detached("{\"cmd\":[\"flood\",\"100000\"],"
			  "\"max_output\":4096,\"detached\":true}"));
	while (!strstr(get(path(id, "")), "\"state\":\"ended\""))
		usleep(1000);
	text = follow_all(path(id, "/events"), NULL);
	HAS(text, "id: 95904\nevent: lost\ndata: {\"bytes\":95904}");
	HAS(text, "id: 100000\nevent: stdout\ndata: {\"offset\":95904,");
	HAS(follow_all(path(id, "/events"), "95000"), "{\"bytes\":904}");
	LACKS(follow_all(path(id, "/events"), "95904"), "lost");
	HAS(get(path(id, "")), "\"truncated\":true");

	snprintf(id, sizeof(id), "%s",
		 detached("{\"cmd\":[\"sleep\"],\"detached\":true}"));
	HAS(ask_post(path(id, "/stdin"), "{\"data\":\"x\"}"), "stdin_closed");
	HAS(ask_post(path(id, "/signal"), "{\"signal\":15}"), " 204 ");
	HAS(follow_all(path(id, "/events"), NULL), "\"signal\":15");
	snprintf(id, sizeof(id), "%s",
		 detached("{\"cmd\":[\"sleep\"],\"detached\":true}"));
	fd = follow(path(id, "/events"), NULL);
	HAS(hear(fd, "event: start"), "event: start");
	HAS(delete (path(id, "")), " 204 ");
	HAS(hear(fd, NULL), "event: error\ndata: {\"code\":\"removed\"");
	close(fd);
}

/* What becomes of commands when their sandbox ends, or the instance goes. */
static void talk_end(void)
{
	char id[COMMAND_ID_MAX + 1];
	int wait, fd;

	run_one();
	snprintf(id, sizeof(id), "%s",
		 detached("{\"cmd\":[\"sleep\"],\"detached\":true}"));
	wait = dial();
	post(wait, ONE "/commands", "{\"cmd\":[\"sleep\"]}", 17);
	fd = stream("{\"cmd\":[\"sleep\"]}");
	HAS(hear(fd, "event: start"), "event: start");
	HAS(ask_post(ONE "/pause", ""), "\"state\":\"paused\"");
	HAS(command("{\"cmd\":[\"true\"]}"), "\"paused\"");
	HAS(ask_post(path(id, "/signal"), "{\"signal\":15}"), "\"paused\"");
	HAS(ask_post(ONE "/stop", "{\"grace_ms\":1}"), "\"stopped\"");
	HAS(hear(wait, NULL), "\"reason\":\"sandbox_ended\"");
	HAS(hear(fd, NULL), "\"reason\":\"sandbox_ended\"");
	close(wait);
	close(fd);
	HAS(get(path(id, "")), "\"reason\":\"sandbox_ended\"");
	HAS(delete (ONE), " 204 ");
	make_one();
	HAS(get(path(id, "")), "HTTP/1.1 404");
}

/* ---- acd ---- */

static void serve(const char *what, void (*talk)(void))
{
	struct api_world a;

	api_world_init(&a);
	api_world_talk(&a, routes, what, talk);
	stream_close_all();
	world_done(&a.w);
}

int main(void)
{
	serve("commands that are waited for", talk_wait);
	serve("streams", talk_stream);
	serve("detached commands", talk_detached);
	serve("output that is lost, signals, removal", talk_lost);
	serve("the end of the sandbox", talk_end);
	return done_testing();
}
