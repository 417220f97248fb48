/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project_test.c - POST /v1/run with a project's own blueprint, and
 * /v1/projects: nothing runs with one that is not approved as it is
 */
#include "control/acd/api/http/stream.h"
#include "tests/unit/control/acd/api/api_world.h"
#include "tests/unit/control/acd/api/run/client.h"

#define IN "/v1/instances/{name}"
#define P "/v1/projects"
static const struct http_route routes[] = {
	{ "POST", "/v1/run", api_run, &spec_run },
	{ "GET", P, api_project_list, &spec_project_list },
	{ "POST", P, api_project_approve, &spec_project_approve },
	{ "POST", P "/check", api_project_check, &spec_project_check },
	{ "POST", P "/forget", api_project_forget, &spec_project_forget },
	{ "GET", "/v1/instances", api_instance_list, &spec_instance_list },
	{ "POST", "/v1/instances", api_instance_create, &spec_instance_create },
	{ "GET", IN, api_instance_get, &spec_instance_get },
	{ "POST", IN "/run", api_instance_run, &spec_instance_run },
	{ "POST", IN "/stop", api_instance_stop, &spec_instance_stop },
	{ NULL, NULL, NULL, NULL },
};

#define NONE "{\"instances\":[]}"
#define REST                                                          \
	"\"options\":{\"workspace\":\"/a/src\"},\"workspace_dev\":1," \
	"\"workspace_ino\":7,\"detached\":true}"
#define TEXT(text) "\"project\":{\"text\":\"" text "\"},"
#define DIR "{\"dir\":\"/a/src\","
#define APPROVE(text) DIR "\"text\":\"" text "\",\"hash\":\"" text "\"}"
#define IT "/v1/instances/base-src"

static const char *ask_run(const char *body)
{
	return ask_post("/v1/run", body);
}

static void stop(void)
{
	HAS(ask_post(IT "/stop", "{\"grace_ms\":1}"), "\"state\":\"stopped\"");
}

/* A new instance: what is refused leaves nothing. */
static void talk_new(void)
{
	static const struct {
		const char *body, *answer;
	} bad[] = {
		/* A directory alone needs a file that says what it is. */
		{ DIR REST, " 400 " },
		{ DIR "\"project\":{}," REST, " 400 " },
		{ DIR "\"no_project\":true," TEXT("base x") REST, " 400 " },
		{ DIR TEXT("bad") REST, ".ac/blueprint.yaml:1:1: it is bad" },
		{ DIR "\"project\":7," REST, " 400 " },
		{ DIR "\"project\":{\"image\":\"x\"}," REST, " 400 " },
		{ "{\"word\":\"base\"," TEXT("other x") REST,
		  "project_mismatch" },
		{ "{\"word\":\"base\"," TEXT("base x") "\"detached\":true}",
		  "the run has none" },
		{ DIR TEXT("base x") REST, " 409 " },
		{ DIR TEXT("base x") REST, "\"project_unapproved\"" },
		{ DIR TEXT("base x") REST, "\"instance\":\"base-src\"" },
		{ DIR TEXT("base x") REST, "`ac blueprint approve /a/src`" },
		{ DIR TEXT("base x") "\"create\":false," REST, "no_instance" },
	};

	for (size_t i = 0; i + 1 < ARRAY_SIZE(bad); i++) {
		HAS(ask_run(bad[i].body), bad[i].answer);
		HAS(get("/v1/instances"), NONE);
	}
	HAS(get(P), "{\"projects\":[]}");
	/* What was seen is approved, and nothing else. */
	HAS(ask_post(P, DIR "\"text\":\"base x\",\"hash\":\"base y\"}"),
	    "project_changed");
	HAS(ask_post(P, DIR "\"text\":\"bad\",\"hash\":\"bad\"}"), " 400 ");
	HAS(ask_post(P, "{\"dir\":\"src\",\"text\":\"base x\",\"hash\":\"base "
			"x\"}"),
	    "absolute path");
	HAS(ask_post(P, DIR "\"text\":\"base x\"}"), " 409 ");
	HAS(get(P), "{\"projects\":[]}");
	HAS(ask_post(P, APPROVE("base x")), "\"blueprint\":\"base\"");
	HAS(get(P), "\"dir\":\"/a/src\"");
	HAS(ask_run(bad[ARRAY_SIZE(bad) - 1].body), "no_instance");
	HAS(ask_run(DIR TEXT("base x") REST), "HTTP/1.1 201");
	HAS(get(IT), "\"project\":\"base x\"");
	stop();
	/* An approval is that of its directory. */
	HAS(ask_run("{\"dir\":\"/b/src\"," TEXT(
		    "base x") "\"options\":{\"workspace\":\"/b/src\"},"
			      "\"detached\":true}"),
	    "project_unapproved");
}

/* One that is there: each change is asked about. */
static void talk_changed(void)
{
	HAS(ask_post(P, APPROVE("base x")), "HTTP/1.1 200");
	HAS(ask_run(DIR TEXT("base x") REST), "HTTP/1.1 201");
	HAS(get(IT), "\"cpus_milli\":250");
	/* While it runs that is all that is said. */
	HAS(ask_run(DIR TEXT("base small") REST), "already_running");
	HAS(ask_run("{\"name\":\"base-src\"," TEXT("bad") REST),
	    "already_running");
	stop();
	HAS(ask_run(DIR TEXT("base small") REST), "has changed since");
	HAS(get(IT), "\"project\":\"base x\"");
	HAS(ask_post(P, APPROVE("base small")), "HTTP/1.1 200");
	/* Now the one that it has is not approved any more. */
	HAS(ask_run("{\"name\":\"base-src\",\"detached\":true}"),
	    "project_unapproved");
	HAS(ask_post(IT "/run", "{\"detached\":true}"), "project_unapproved");
	HAS(ask_run(DIR TEXT("base small") REST), "HTTP/1.1 200");
	HAS(get(IT), "\"project\":\"base small\"");
	HAS(get(IT), "\"cpus_milli\":125");
	stop();
	/* A run that brings none goes on with it. */
	HAS(ask_run("{\"name\":\"base-src\",\"ask_project\":true,"
		    "\"detached\":true}"),
	    "project_needed");
	HAS(ask_run("{\"name\":\"base-src\",\"detached\":true}"),
	    "\"project\":\"base small\"");
	stop();
	HAS(ask_post(IT "/run", "{\"detached\":true}"), "HTTP/1.1 200");
	stop();
	/* The user's own limits stay. */
	HAS(ask_run(DIR TEXT("base small") "\"options\":{\"cpus_milli\":100},"
					   "\"detached\":true}"),
	    "\"cpus_milli\":100");
	stop();
	HAS(ask_run(DIR "\"no_project\":true," REST), "400");
	HAS(ask_run("{\"name\":\"base-src\",\"no_project\":true," REST),
	    "\"project\":null");
	HAS(get(IT), "\"cpus_milli\":100");
	stop();
}

/* A file that is gone was a change, too; so is one that is forgotten. */
static void talk_gone(void)
{
	HAS(ask_run("{\"word\":\"base\",\"dir\":\"/a/"
		    "src\",\"project\":{}," REST),
	    "HTTP/1.1 201");
	stop();
	HAS(ask_post(P, APPROVE("base small")), "HTTP/1.1 200");
	HAS(ask_run("{\"name\":\"base-src\",\"project\":{}," REST),
	    "approved and is gone");
	HAS(ask_run(DIR TEXT("base small") REST), "\"cpus_milli\":125");
	stop();
	HAS(ask_post(P "/forget", "{}"), " 400 ");
	HAS(ask_post(P "/forget", "{\"dir\":\"/a/src\"}"), " 204 ");
	HAS(ask_post(P "/forget", "{\"dir\":\"/a/src\"}"), " 404 ");
	HAS(ask_post(IT "/run", "{\"detached\":true}"), "is not approved");
	HAS(ask_run("{\"name\":\"base-src\",\"project\":{}," REST),
	    "\"project\":null");
	HAS(get(IT), "\"cpus_milli\":250");
	stop();
	/* It is that of a directory. */
	HAS(ask_post(P, APPROVE("base x")), "HTTP/1.1 200");
	HAS(ask_run(DIR TEXT("base x") REST), "\"project\":\"base x\"");
	stop();
	HAS(ask_post("/v1/instances", "{\"name\":\"base-src\",\"blueprint\":"
				      "\"base\",\"workspace\":\"/c\"}"),
	    "\"project\":null");
}

static void talk_check(void)
{
	HAS(ask_post(P "/check", DIR "\"text\":\"bad\"}"), "\"ok\":false");
	HAS(ask_post(P "/check", DIR "\"text\":\"bad\"}"),
	    ".ac/blueprint.yaml:1:1: it is bad");
	HAS(ask_post(P "/check", DIR "\"text\":\"base small\"}"),
	    "\"resolved\":\"cpus: 125\\n\",\"parent\":\"cpus: 250\\n\","
	    "\"before\":null,\"approved\":false");
	HAS(ask_post(P, APPROVE("base small")), "HTTP/1.1 200");
	HAS(ask_post(P "/check", DIR "\"text\":\"base small\"}"),
	    "\"before\":\"cpus: 125\\n\",\"approved\":true");
	HAS(ask_post(P "/check", DIR "\"text\":\"base x\"}"),
	    "\"before\":\"cpus: 125\\n\",\"approved\":false");
	/* The file is gone. */
	HAS(ask_post(P "/check", "{\"dir\":\"/a/src\"}"),
	    "\"hash\":null,\"resolved\":\"cpus: 250\\n\",");
	HAS(ask_post(P "/check", "{\"dir\":\"/a/src\"}"),
	    "\"before\":\"cpus: 125\\n\",\"approved\":false");
	HAS(ask_post(P "/check", "{\"dir\":\"/b\"}"), "\"approved\":true");
	HAS(ask_post(P "/check", "{}"), " 400 ");
	HAS(get(P), "\"hash\":\"base small\"");
}

static void serve(const char *what, void (*talk)(void))
{
	struct api_world a;

	api_world_init(&a);
	fake.external_here = true;
	fake.external_ino = 7;
	api_world_talk(&a, routes, what, talk);
	stream_close_all();
	world_done(&a.w);
}

int main(void)
{
	serve("a new instance of a project", talk_new);
	serve("a project's file that changes", talk_changed);
	serve("a project's file that is gone", talk_gone);
	serve("what a project's file comes to", talk_check);
	return done_testing();
}
