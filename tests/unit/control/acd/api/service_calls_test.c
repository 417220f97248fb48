/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_calls_test.c - routes about services over a real socket
 */
#include "control/acd/net/services.h"
#include "lib/file.h"
#include "tests/unit/control/acd/api/api_world.h"

static char dir[] = "/tmp/api-service-test.XXXXXX";

static const struct http_route routes[] = {
	{ "GET", "/v1/services", api_service_list, &spec_service_list },
	{ "POST", "/v1/services", api_service_add, &spec_service_add },
	{ "GET", "/v1/services/{name}", api_service_get, &spec_service_get },
	{ "DELETE", "/v1/services/{name}", api_service_remove,
	  &spec_service_remove },
	{ NULL, NULL, NULL, NULL },
};

static const char *add(const char *body)
{
	static char rq[2048];

	snprintf(rq, sizeof(rq),
		 "POST /v1/services HTTP/1.1\r\n" CLOSE
		 "Content-Length: %zu\r\n\r\n%s",
		 strlen(body), body);
	return ask(rq);
}

static const char *drop(const char *name)
{
	static char rq[256];

	snprintf(rq, sizeof(rq),
		 "DELETE /v1/services/%s HTTP/1.1\r\n" CLOSE "\r\n", name);
	return ask(rq);
}

static void talk(void)
{
	const char *text;

	HAS(get("/v1/services"), "{\"services\":[]}");
	text = add("{\"name\":\"llm\",\"address\":\"192.168.1.5\","
		   "\"port\":11434}");
	HAS(text, " 201 ");
	HAS(text, "\"url\":\"http://llm.internal:11434\"");
	HAS(text, "\"used_by\":[]");
	text = add("{\"name\":\"llm\",\"address\":\"192.168.1.6\","
		   "\"port\":11434}");
	HAS(text, " 409 ");
	HAS(text, "ac service rm llm");
	text = add("{\"name\":\"meta\",\"address\":\"169.254.169.254\","
		   "\"port\":80}");
	HAS(text, " 400 ");
	HAS(text, "no service may be there");
	text = add("{\"name\":\"meta\",\"address\":\"10.1.2.3\",\"port\":80,"
		   "\"host\":\"metadata.google.internal\"}");
	HAS(text, " 400 ");
	HAS(text, "can be allowed by no policy");
	HAS(add("{\"name\":\"x\",\"address\":\"10.1.2.3\",\"port\":80,"
		"\"other\":1}"),
	    " 400 ");
	HAS(get("/v1/services/llm"), "\"address\":\"192.168.1.5\"");
	text = add(
		"{\"name\":\"here\",\"address\":\"127.0.0.1\",\"port\":8000}");
	HAS(text, " 201 ");
	HAS(text, "\"local\":true");
	HAS(drop("here"), " 204 ");
	HAS(get("/v1/services/gone"), " 404 ");
	HAS(drop("gone"), " 404 ");
	HAS(drop("llm"), " 204 ");
	HAS(get("/v1/services"), "{\"services\":[]}");
}

int main(void)
{
	char path[64];
	struct api_world a;
	struct err err = { 0 };

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/services.json", dir);
	if (services_open(path, &err) < 0)
		return 1;
	api_world_init(&a);
	api_world_talk(&a, routes, "services", talk);
	world_done(&a.w);
	services_close();
	file_remove_tree(dir);
	return done_testing();
}
