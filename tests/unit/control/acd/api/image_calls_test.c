/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_calls_test.c - images are listed, removed and pruned, by a scripted
 * engine
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/blueprint/blueprint.h"
#include "control/acd/blueprint/build.h"
#include "control/acd/daemon/children.h"
#include "control/acd/runtime/engine.h"
#include "control/acd/storage/store.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/fake/engine.h"
#include "tests/unit/control/acd/api/http_client.h"
#include "tests/unit/step.h"
#include "tests/unit/tap.h"

/* Ids are one digit, 64 times. */
#define ID(d) d d d d d d d d d d d d d d d d
#define ID1 ID("1111")
#define ID2 ID("2222")
#define ID3 ID("3333")
#define ID4 ID("4444")

static const struct http_route routes[] = {
	{ "GET", "/v1/images", api_image_list, &spec_image_list },
	{ "POST", "/v1/images/prune", api_image_prune, &spec_image_prune },
	{ "DELETE", "/v1/images/{id}", api_image_remove, &spec_image_remove },
	{ NULL, NULL, NULL, NULL },
};

static char dir[] = "/tmp/image_calls_test.XXXXXX";
static struct loop *loop;
static char removed[512]; /* in their order, and the build steps */
static int conflicts; /* before a removal succeeds */
static const char *released, *busy;
static unsigned boxes_of;

/* ---- the engine ---- */

/* base is a blueprint's; old was one and has a tag; the third has none; in the
 * fourth runs a sandbox. */
static const char list[] =
	"[{\"Id\":\"sha256:" ID1 "\",\"Created\":7,\"Size\":30,"
	"\"SharedSize\":10,\"RepoTags\":[\"ac/base:latest\",\"ac/base:ab\"]},"
	"{\"Id\":\"sha256:" ID2 "\",\"Created\":6,\"Size\":50,"
	"\"SharedSize\":10,\"RepoTags\":[\"ac/base:old\",\"ac/base:older\"]},"
	"{\"Id\":\"sha256:" ID3 "\",\"Created\":5,\"Size\":20,"
	"\"SharedSize\":10,\"RepoTags\":[]},"
	"{\"Id\":\"sha256:" ID4 "\",\"Created\":4,\"Size\":90,"
	"\"SharedSize\":10,\"RepoTags\":[\"ac/base:running\"]}]";

static const char *layers_of(const char *path)
{
	return strstr(path, ID1) ? "{\"RootFS\":{\"Layers\":[\"r\",\"b\"]}}" :
	       strstr(path, ID2) ? "{\"RootFS\":{\"Layers\":[\"r\",\"c\"]}}" :
	       strstr(path, ID3) ? "{\"RootFS\":{\"Layers\":[\"r\",\"d\"]}}" :
				   "{\"RootFS\":{\"Layers\":[\"r\",\"e\"]}}";
}

static void on_request(void *arg, const struct fake_request *rq,
		       struct fake_answer *ret)
{
	size_t used = strlen(removed);

	(void)arg;
	if (strstr(rq->path, "/images/json"))
		ret->body = strstr(rq->path, "shared-size=1") ? list : "[]";
	else if (strstr(rq->path, "/containers/json"))
		ret->body = "[]";
	else if (strstr(rq->path, "/build/prune"))
		snprintf(removed + used, sizeof(removed) - used, "steps ");
	else if (strcmp(rq->method, "GET") == 0)
		ret->body = layers_of(rq->path);
	else if (conflicts-- > 0)
		*ret = (struct fake_answer){ .status = 409,
					     .body = "{\"message\":\"used\"}" };
	else
		snprintf(removed + used, sizeof(removed) - used, "%.22s ",
			 strstr(rq->path, "/images/") + 8);
}

/* ---- the runtime ---- */

static int fake_df(struct runtime *rt,
		   void (*fn)(void *arg, uint64_t image_bytes,
			      uint64_t cache_bytes, const struct err *err),
		   void *arg)
{
	(void)rt;
	fn(arg, 1000, *removed ? 57 : 7, NULL);
	return 0;
}

static void fake_image_each(struct runtime *rt, const char *id,
			    void (*each)(void *arg, const char *name),
			    void *arg)
{
	(void)rt;
	if (!strstr(id, ID4))
		return;
	boxes_of++;
	each(arg, "two");
	each(arg, "_pool-1");
}

static int fake_release(struct runtime *rt, const char *id)
{
	(void)rt;
	released = strstr(id, ID2) ? "old" : "other";
	return busy && strstr(id, busy) ? -EBUSY : 0;
}

static const struct runtime_ops fake_ops = {
	.name = "fake",
	.df = fake_df,
	.image_each = fake_image_each,
	.image_release = fake_release,
};

/* ---- the clients, in children ---- */

#define HAS(text, part) check(strstr((text), (part)) != NULL)

static const char *call(const char *method, const char *path, const char *body)
{
	char head[512];

	snprintf(head, sizeof(head),
		 "%s %s HTTP/1.1\r\n" CLOSE "Content-Length: %zu\r\n\r\n%s",
		 method, path, strlen(body), body);
	return ask(head);
}

static void talk_list(void)
{
	const char *text = call("GET", "/v1/images", "");

	HAS(text, " 200 ");
	HAS(text, "{\"id\":\"" ID1 "\",\"tags\":[\"ac/base:ab\","
		  "\"ac/base:latest\"],\"created_at\":7,\"bytes\":30,"
		  "\"own_bytes\":20,\"shared_bytes\":10,\"blueprints\":"
		  "[\"base\"],\"instances\":[\"one\"],\"running\":false,"
		  "\"used\":true}");
	HAS(text, "\"blueprints\":[],\"instances\":[\"two\"],\"running\":true,"
		  "\"used\":true}");
	HAS(text, "\"unused_bytes\":50,\"cache_bytes\":7}");
}

static void talk_remove(void)
{
	HAS(call("DELETE", "/v1/images/" ID("5555"), ""), " 404 ");
	HAS(call("DELETE", "/v1/images/base", ""), " 400 ");
	HAS(call("DELETE", "/v1/images/..", ""), " 400 ");
	HAS(call("DELETE", "/v1/images/" ID4, ""), "\"code\":\"busy\"");
	HAS(call("DELETE", "/v1/images/" ID2, ""), " 204 ");
}

static void talk_conflict(void)
{
	HAS(call("DELETE", "/v1/images/" ID2, ""), " 409 ");
}

static void talk_prune(void)
{
	const char *text = call("POST", "/v1/images/prune",
				"{\"ids\":[\"" ID1 "\",\"" ID2 "\",\"" ID3
				"\"]}");

	HAS(text, " 200 ");
	HAS(text, "\"freed_bytes\":57}");
	check(!strstr(text, ID1) && strstr(text, ID2) && strstr(text, ID3));
	HAS(call("POST", "/v1/images/prune", "{}"), " 400 ");
}

static void talk_prune_busy(void)
{
	HAS(call("POST", "/v1/images/prune", "{\"ids\":[\"" ID3 "\"]}"),
	    " 409 ");
}

static void talk_stopping(void)
{
	HAS(call("GET", "/v1/images", ""), "\"code\":\"starting\"");
}

static void served(const char *what, void (*talk)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		alarm(20);
		talk();
		_exit(0);
	}
	STEP_UNTIL(loop, waitpid(pid, &status, WNOHANG) == pid);
	ok(status == 0, "%s", what);
	kill(pid, SIGKILL);
}

static void test_all(struct acd *acd)
{
	served("list", talk_list);
	ok(boxes_of > 0, "the runtime was asked who runs on what");
	served("remove", talk_remove);
	is_str(removed, "ac%2Fbase%3Aold ac%2Fbase%3Aolder ",
	       "one image with its tags, and no other");
	is_str(released, "old", "the runtime let go of it");
	removed[0] = '\0';
	conflicts = 2;
	served("remove what is being released", talk_remove);
	is_str(removed, "ac%2Fbase%3Aold ac%2Fbase%3Aolder ", "tried again");
	conflicts = 1000;
	served("remove what a container has", talk_conflict);
	conflicts = 0;
	removed[0] = '\0';
	served("prune", talk_prune);
	is_str(removed,
	       "ac%2Fbase%3Aold ac%2Fbase%3Aolder sha256%3A3333333333333 "
	       "steps ",
	       "what is used stays, though it was named");
	busy = ID3;
	served("prune what has got a user", talk_prune_busy);
	acd->phase = ACD_STOPPING;
	served("when acd ends", talk_stopping);
}

static void make_files(void)
{
	static char blueprints[64];
	char path[96];
	static const char text[] = "version: 1\nimage: base\n";

	snprintf(blueprints, sizeof(blueprints), "%s/bp", dir);
	snprintf(path, sizeof(path), "%s/base", blueprints);
	file_mkdir_p(path, 0700);
	snprintf(path, sizeof(path), "%s/base/blueprint.yaml", blueprints);
	file_write_atomic(path, text, strlen(text), 0600);
	blueprint_set_dirs("/nonexistent", blueprints);
}

int main(void)
{
	static char one[] = "one", base[] = "base", runsc[] = "runsc";
	struct instance_record r = { .name = one,
				     .blueprint = base,
				     .isolation = runsc,
				     .state = INSTANCE_STOPPED };
	struct runtime rt = { &fake_ops };
	struct acd acd = { .phase = ACD_READY, .runtime = &rt };
	struct fake_engine *engine;
	char path[96];
	struct err err = { 0 };

	if (!mkdtemp(dir))
		return 1;
	make_files();
	acd.loop = loop = loop_new();
	acd.children = children_new();
	acd.builds = builds_new(loop, acd.children);
	snprintf(path, sizeof(path), "%s/ac.db", dir);
	ok(store_open(path, &acd.store, &err) == 0 &&
		   store_insert(acd.store, &r, &err) == 0,
	   "a store %s", err.msg);
	snprintf(path, sizeof(path), "%s/engine", dir);
	engine = fake_engine_new(loop, path, on_request, NULL);
	acd.engine = engine_new(loop, path, &err);
	snprintf(sock_path, sizeof(sock_path), "%s/sock", dir);
	acd.http = http_new(loop, routes, &acd, &err);
	if (ok(acd.http && http_listen(acd.http, sock_path, getuid(), getgid(),
				       &err) == 0,
	       "listens %s", err.msg))
		test_all(&acd);
	http_free(acd.http);
	engine_free(acd.engine);
	fake_engine_free(engine);
	builds_free(acd.builds);
	store_close(acd.store);
	children_free(acd.children);
	loop_free(loop);
	free(r.address);
	file_remove_tree(dir);
	return done_testing();
}
