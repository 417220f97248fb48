/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_calls_test.c - routes about volumes over a real socket
 */
#include "control/acd/storage/volumes.h"
#include "lib/file.h"
#include "tests/unit/control/acd/api/api_world.h"

static char dir[] = "/tmp/api-volume-test.XXXXXX";

static const struct http_route routes[] = {
	{ "GET", "/v1/volumes", api_volume_list, &spec_volume_list },
	{ "POST", "/v1/volumes", api_volume_create, &spec_volume_create },
	{ "GET", "/v1/volumes/{name}", api_volume_get, &spec_volume_get },
	{ "DELETE", "/v1/volumes/{name}", api_volume_delete,
	  &spec_volume_delete },
	{ NULL, NULL, NULL, NULL },
};

static const char *make(const char *name)
{
	static char rq[512];
	char body[256];

	snprintf(body, sizeof(body), "{\"name\":\"%s\"}", name);
	snprintf(rq, sizeof(rq),
		 "POST /v1/volumes HTTP/1.1\r\n" CLOSE
		 "Content-Length: %zu\r\n\r\n%s",
		 strlen(body), body);
	return ask(rq);
}

static const char *drop(const char *name)
{
	static char rq[256];

	snprintf(rq, sizeof(rq),
		 "DELETE /v1/volumes/%s HTTP/1.1\r\n" CLOSE "\r\n", name);
	return ask(rq);
}

static void talk(void)
{
	const char *text;

	HAS(get("/v1/volumes"), "{\"volumes\":[]}");
	text = make("data");
	HAS(text, " 201 ");
	HAS(text, "\"name\":\"data\"");
	HAS(text, "\"used_by\":[]");
	LACKS(text, "\"bytes\":null");
	LACKS(text, "\"created_at\":0");
	text = make("DATA");
	HAS(text, " 409 ");
	HAS(text, "case does not count");
	HAS(make("../up"), " 400 ");
	HAS(make("x"), " 400 ");
	HAS(make("none"), " 400 ");
	HAS(make("held"), " 201 ");
	text = get("/v1/volumes/missing");
	HAS(text, " 404 ");
	HAS(text, "\"code\":\"volume_missing\"");
	HAS(text, "ac volume create missing");
	HAS(drop("missing"), "\"code\":\"volume_missing\"");
	HAS(drop(".."), " 400 ");
	text = get("/v1/volumes/held");
	HAS(text, "\"used_by\":[{\"instance\":\"one\",\"mode\":\"ro\","
		  "\"running\":false}]");
	text = drop("held");
	HAS(text, " 409 ");
	HAS(text, "\"code\":\"volume_in_use\"");
	HAS(text, "--force");
	HAS(drop("held?force=1"), " 204 ");
	HAS(drop("data"), " 204 ");
	HAS(get("/v1/volumes"), "{\"volumes\":[]}");
}

int main(void)
{
	char path[64];
	struct api_world a;
	struct instance *in;
	struct instance_record r = { 0 };
	struct err err = { 0 };

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/volumes", dir);
	if (volumes_open(path, getuid(), getgid(), &err) < 0)
		return 1;
	api_world_init(&a);
	in = world_create(&a.w, "one", false);
	instance_record_copy(&r, instance_record(in));
	r.volumes_json = strdup("[\"held:/mnt/held:ro\"]");
	is_int(instance_update(in, &r, &err), 0, "an instance with one %s",
	       err.msg);
	instance_record_done(&r);
	api_world_talk(&a, routes, "volumes", talk);
	ok(!instance_record(in)->volumes_json, "force takes it from there");
	world_done(&a.w);
	volumes_close();
	file_remove_tree(dir);
	return done_testing();
}
