/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_calls_test.c - routes about snapshots over a real socket, and clients
 * that leave before the answer
 */
#include "tests/unit/control/acd/api/api_world.h"

static const struct http_route routes[] = {
	{ "GET", "/v1/instances/{name}/snapshots", api_instance_snapshots,
	  &spec_instance_snapshots },
	{ "POST", "/v1/instances/{name}/snapshots", api_instance_snapshot,
	  &spec_instance_snapshot },
	{ "POST", "/v1/instances/{name}/restore", api_instance_restore,
	  &spec_instance_restore },
	{ "POST", "/v1/instances/{name}/fork", api_instance_fork,
	  &spec_instance_fork },
	{ "DELETE", "/v1/instances/{name}", api_instance_delete,
	  &spec_instance_delete },
	{ NULL, NULL, NULL, NULL },
};

static struct api_world world;

static void post_body(int fd, const char *path, const char *body)
{
	post(fd, path, body, strlen(body));
}

/* Waits until acd works on files. The tag has a snapshot: there is no other. */
static void await_busy(void)
{
	while (!strstr(ask_post("/v1/instances/one/snapshots",
				"{\"tag\":\"first\"}"),
		       "\"code\":\"busy\""))
		usleep(1000);
}

/* Asks, and leaves when acd is at it. */
static void leave(const char *path, const char *body)
{
	int fd = dial();

	post_body(fd, path, body);
	await_busy();
	close(fd);
}

/* Asks until what a client that left has begun is over. */
static const char *ask_idle(const char *path, const char *body)
{
	const char *text = ask_post(path, body);

	while (strstr(text, "\"code\":\"busy\"")) {
		usleep(5000);
		text = ask_post(path, body);
	}
	return text;
}

static void talk(void)
{
	const char *text;
	int fd;

	HAS(ask_post("/v1/instances/one/snapshots", "{\"tag\":\"first\"}"),
	    " 201 ");
	leave("/v1/instances/one/snapshots", "{\"tag\":\"left\"}");
	HAS(ask_idle("/v1/instances/one/snapshots", "{\"tag\":\"kept\"}"),
	    " 201 ");
	text = get("/v1/instances/one/snapshots");
	LACKS(text, "\"tag\":\"left\"");
	HAS(text, "\"tag\":\"kept\"");
	HAS(text, "\"created_ns\":");
	leave("/v1/instances/one/fork", "{\"names\":[\"two\",\"three\"]}");
	HAS(ask_idle("/v1/instances/one/fork", "{\"names\":[\"two\"]}"),
	    " 201 ");
	leave("/v1/instances/one/restore", "{\"tag\":\"kept\"}");
	HAS(ask_idle("/v1/instances/one/snapshots", "{\"tag\":\"last\"}"),
	    " 201 ");
	LACKS(get("/v1/instances/one/snapshots"), "before-restore");

	/* It is removed meanwhile. */
	fd = dial();
	post_body(fd, "/v1/instances/one/snapshots", "{\"tag\":\"late\"}");
	await_busy();
	HAS(ask("DELETE /v1/instances/one HTTP/1.1\r\n" CLOSE "\r\n"), " 204 ");
	text = hear(fd, NULL);
	HAS(text, " 409 ");
	HAS(text, "\"code\":\"canceled\"");
}

int main(void)
{
	static char big[1024 * 1024];
	char path[96];

	memset(big, 'x', sizeof(big));
	api_world_init(&world);
	world_create(&world.w, "one", false);
	snprintf(path, sizeof(path), "%s/one/home", world.w.dir);
	file_mkdir_p(path, 0755);
	/* Enough that the first answer comes behind the client's end. */
	for (unsigned i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "%s/one/home/%u", world.w.dir, i);
		file_replace(path, big, sizeof(big), 0644);
	}
	api_world_talk(&world, routes, "snapshots", talk);
	ok(!instance_find(world.w.is, "one"), "one is removed");
	ok(instance_find(world.w.is, "two") != NULL, "its fork is there");
	world_done(&world.w);
	return done_testing();
}
