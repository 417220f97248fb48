/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_test.c - the route table against docs/openapi.json, and the routes of
 * the daemon itself over a real socket
 */
#include "control/acd/api/api.h"

#include <signal.h>
#include <sys/wait.h>

#include "control/acd/acd.h"
#include "control/acd/api/spec/openapi.h"
#include "control/acd/blueprint/blueprint.h"
#include "control/acd/blueprint/build.h"
#include "control/acd/daemon/children.h"
#include "control/acd/instance/instance_impl.h" /* one that runs, without a runtime */
#include "control/acd/pool/pool.h"
#include "control/acd/storage/store.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "tests/unit/control/acd/api/http_client.h"
#include "tests/unit/tap.h"

#define SPEC_BYTES_MAX (4u * 1024 * 1024)

static json_t *spec;
static char dir[] = "/tmp/api_test.XXXXXX";
static struct loop *loop;
static unsigned pruned;

/* ---- the two tables ---- */

static json_t *spec_operation(const char *path, const char *method)
{
	char lower[16] = "";

	for (size_t i = 0; i < sizeof(lower) - 1 && method[i]; i++)
		lower[i] = (char)(method[i] | 0x20);
	return json_object_get(
		json_object_get(json_object_get(spec, "paths"), path), lower);
}

static bool table_has(const char *path, const char *method)
{
	for (const struct http_route *r = api_routes; r->method; r++) {
		if (strcmp(r->path, path) == 0 &&
		    strcasecmp(r->method, method) == 0)
			return true;
	}
	return false;
}

static json_t *resolve(json_t *node)
{
	const char *ref = json_string_value(json_object_get(node, "$ref"));
	char key[64];

	if (!ref)
		return node;
	node = spec;
	for (ref += 1; *ref == '/';) {
		size_t n = strcspn(++ref, "/");

		snprintf(key, sizeof(key), "%.*s", (int)n, ref);
		node = json_object_get(node, key);
		ref += n;
	}
	return node;
}

static bool refs_resolve(json_t *node)
{
	const char *key;
	json_t *value;
	size_t i;

	if (!resolve(node)) {
		printf("# dangling: %s\n",
		       json_string_value(json_object_get(node, "$ref")));
		return false;
	}
	json_object_foreach (node, key, value) {
		if (!refs_resolve(value))
			return false;
	}
	json_array_foreach (node, i, value) {
		if (!refs_resolve(value))
			return false;
	}
	return true;
}

/* What the path has in braces are the parameters of the path item, in this
 * order, and none is else. */
static bool params_declared(const char *path, json_t *item)
{
	json_t *list = json_object_get(item, "parameters");
	size_t n = 0;

	while ((path = strchr(path, '{'))) {
		const char *name = json_string_value(json_object_get(
			resolve(json_array_get(list, n++)), "name"));

		path++;
		if (!name || strncmp(path, name, strlen(name)) != 0 ||
		    path[strlen(name)] != '}')
			return false;
	}
	return json_array_size(list) == n;
}

static void test_table(void)
{
	json_t *ids = json_object();
	const char *path, *method;
	json_t *item, *op;

	for (const struct http_route *r = api_routes; r->method; r++)
		ok(spec_operation(r->path, r->method) != NULL,
		   "%s %s is described", r->method, r->path);

	json_object_foreach (json_object_get(spec, "paths"), path, item) {
		ok(params_declared(path, item), "%s: parameters", path);
		json_object_foreach (item, method, op) {
			json_t *id = json_object_get(op, "operationId");

			if (strcmp(method, "parameters") == 0)
				continue;
			ok(table_has(path, method), "%s %s is served", method,
			   path);
			ok(id && !json_object_get(ids, json_string_value(id)),
			   "has a name of its own");
			ok(json_object_size(json_object_get(op, "responses")) >
				   0,
			   "has responses");
			if (id)
				json_object_set(ids, json_string_value(id), id);
		}
	}
	ok(refs_resolve(spec), "all references lead somewhere");
	json_decref(ids);
}

/* The file is what the tables print. */
static void test_shipped(void)
{
	SCOPED_STR text = NULL;
	struct buf out;
	size_t len = 0;

	buf_init(&out, SPEC_BYTES_MAX);
	is_int(openapi_print(api_routes, &out), 0, "printed");
	is_int(file_read("docs/openapi.json", SPEC_BYTES_MAX, &text, &len), 0,
	       "and shipped");
	ok(text && len == buf_len(&out) &&
		   memcmp(text, buf_slice(&out).ptr, len) == 0,
	   "docs/openapi.json is what the tables say: `make schemas` writes "
	   "it");
	buf_done(&out);
}

/* ---- values against schemas ---- */

static bool type_fits(json_t *type, const json_t *v)
{
	const char *name = json_string_value(type);

	if (json_is_array(type)) {
		for (size_t i = 0; i < json_array_size(type); i++) {
			if (type_fits(json_array_get(type, i), v))
				return true;
		}
		return false;
	}
	return !name || (strcmp(name, "object") == 0 && json_is_object(v)) ||
	       (strcmp(name, "array") == 0 && json_is_array(v)) ||
	       (strcmp(name, "string") == 0 && json_is_string(v)) ||
	       (strcmp(name, "integer") == 0 && json_is_integer(v)) ||
	       (strcmp(name, "boolean") == 0 && json_is_boolean(v)) ||
	       (strcmp(name, "null") == 0 && json_is_null(v));
}

static bool fits(json_t *schema, json_t *v, const char *where)
{
	const char *key = NULL;
	json_t *sub;
	size_t i;

	schema = resolve(schema);
	if (!type_fits(json_object_get(schema, "type"), v)) {
		printf("# %s: wrong type\n", where);
		return false;
	}
	json_array_foreach (json_object_get(schema, "required"), i, sub) {
		if (!json_object_get(v, json_string_value(sub))) {
			printf("# %s: %s is missing\n", where,
			       json_string_value(sub));
			return false;
		}
	}
	json_object_foreach (v, key, sub) {
		json_t *s = json_object_get(
			json_object_get(schema, "properties"), key);

		if (!s)
			printf("# %s: %s is not described\n", where, key);
		if (!s || !fits(s, sub, key))
			return false;
	}
	json_array_foreach (v, i, sub) {
		if (!fits(json_object_get(schema, "items"), sub, where))
			return false;
	}
	return true;
}

/* ---- clients (in children) ---- */

/* The body of an answer that must have this status and fit its schema. */
static json_t *answer(const char *method, const char *path, const char *route,
		      const char *body, const char *status)
{
	char head[256], want[16];
	int fd = dial();
	const char *text, *start;
	json_t *schema, *j = NULL;

	snprintf(head, sizeof(head),
		 "%s %s HTTP/1.0\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
		 method, path, strlen(body));
	say(fd, head);
	say(fd, body);
	text = hear(fd, NULL);
	close(fd);
	snprintf(want, sizeof(want), " %s ", status);
	if (!strstr(text, want))
		printf("# %s\n", text);
	check(strstr(text, want));
	if (strcmp(status, "204") == 0)
		return NULL;
	start = strstr(text, "\r\n\r\n");
	check(start &&
	      jsonx_parse(start + 4, strlen(start + 4), &j, NULL) == 0);
	schema = json_object_get(
		resolve(json_object_get(
			json_object_get(spec_operation(route, method),
					"responses"),
			status)),
		"content");
	schema = json_object_get(json_object_get(schema, "application/json"),
				 "schema");
	check(schema && fits(schema, j, path));
	return j;
}

static const char *error_code(json_t *j)
{
	return json_string_value(
		json_object_get(json_object_get(j, "error"), "code"));
}

static void client_daemon(void)
{
	json_t *j = answer("GET", "/v1/version", "/v1/version", "", "200");

	check(json_is_true(json_object_get(j, "pid1")));
	j = answer("GET", "/v1/df", "/v1/df", "", "200");
	check(json_integer_value(json_object_get(j, "images_bytes")) == 1000);
	j = json_array_get(json_object_get(j, "instances"), 0);
	check(json_integer_value(json_object_get(j, "home_bytes")) == 0);
	answer("GET", "/v1/logs/other", "/v1/logs/{source}", "", "404");
	answer("GET", "/v1/logs/proxy", "/v1/logs/{source}", "", "404");
	answer("GET", "/v1/logs/host?tail=x", "/v1/logs/{source}", "", "400");
	answer("POST", "/v1/prune", "/v1/prune", "{\"image\":true}", "400");
	j = answer("POST", "/v1/prune", "/v1/prune", "{}", "409");
	check(strcmp(error_code(j), "busy") == 0);
}

static void client_prune_twice(void)
{
	json_t *j = answer("POST", "/v1/prune", "/v1/prune", "{\"force\":true}",
			   "409");

	check(strcmp(error_code(j), "busy") == 0);
}

static void client_prune(void)
{
	answer("POST", "/v1/prune", "/v1/prune", "{\"images\":true}", "204");
}

static const char *text_of(const json_t *j, const char *key)
{
	const char *text = json_string_value(json_object_get(j, key));

	return text ? text : "";
}

/* As it is written, and as it is. */
static void check_shown(json_t *j)
{
	const json_t *lines = json_object_get(j, "lines");
	const json_t *one = json_array_get(lines, 2);

	check(strcmp(text_of(j, "text"), "version: 1\nimage: base\n") == 0);
	check(strstr(text_of(j, "file"), "/bp/base/blueprint.yaml"));
	check(strstr(text_of(j, "resolved"), "version: 2\n") &&
	      strstr(text_of(j, "resolved"), "\nimage: base\n"));
	check(json_is_null(json_object_get(j, "extends")));
	check(strcmp(text_of(one, "text"), "image: base") == 0 &&
	      strstr(text_of(one, "file"), "/bp/base/blueprint.yaml"));
	check(json_integer_value(json_object_get(one, "line")) == 2);
	check(json_is_true(json_object_get(one, "value")));
	one = json_array_get(lines, 1);
	check(json_is_null(json_object_get(one, "file")) &&
	      json_is_null(json_object_get(one, "line")));
	one = json_array_get(lines, 0);
	check(json_is_false(json_object_get(one, "value")) &&
	      json_is_false(json_object_get(one, "inside")));
}

static const char *first_error(const json_t *j)
{
	return text_of(json_array_get(json_object_get(j, "errors"), 0),
		       "message");
}

/* Of a text without image, and with a misspelt key. */
static void check_mistakes(const json_t *j)
{
	const json_t *all = json_object_get(j, "errors");
	const json_t *one = json_array_get(all, 0);

	check(json_array_size(all) == 2);
	check(strcmp(text_of(one, "code"), "unknown_key") == 0);
	check(strcmp(text_of(one, "file"), "a b") == 0);
	check(json_integer_value(json_object_get(one, "line")) == 2);
	check(json_integer_value(json_object_get(one, "column")) == 9);
	check(strcmp(text_of(one, "suggestion"), "image") == 0);
	one = json_array_get(all, 1);
	check(strcmp(text_of(one, "code"), "missing") == 0);
	check(json_is_null(json_object_get(one, "suggestion")));
	check(json_is_false(json_object_get(j, "more")));
}

static void check_judged(void)
{
	static const char path[] = "/v1/blueprints/check";
	json_t *j = answer("POST", path, path,
			   "{\"text\":\"version: 2\\nextends: base\\n\"}",
			   "200");

	check(json_is_true(json_object_get(j, "ok")) &&
	      strstr(text_of(j, "resolved"), "image: base\n"));
	check(strcmp(text_of(j, "extends"), "base") == 0);
	j = answer("POST", path, path,
		   "{\"text\":\"version: 2\\nimmage: x\\n\",\"file\":\"a b\"}",
		   "200");
	check(json_is_false(json_object_get(j, "ok")) &&
	      strcmp(first_error(j), "a b:2:9: unknown key 'immage': did you "
				     "mean 'image'?") == 0);
	check_mistakes(j);
	j = answer("POST", path, path, "{\"text\":\"x\",\"file\":\"a\\nb\"}",
		   "200");
	check(strncmp(first_error(j), "blueprint.yaml:1:1: ", 20) == 0);
	j = answer("POST", path, path, "{\"name\":\"base\"}", "200");
	check(json_is_true(json_object_get(j, "ok")));
	j = answer("POST", path, path, "{\"name\":\"bad\"}", "200");
	check(strstr(first_error(j), "/bad/blueprint.yaml:1:1: 'image'"));
	j = answer("POST", path, path, "{\"name\":\"nix\"}", "404");
	check(strcmp(error_code(j), "unknown_blueprint") == 0);
	answer("POST", path, path, "{}", "400");
	answer("POST", path, path, "{\"text\":1}", "400");
	answer("POST", path, path, "{\"name\":\"base\",\"x\":1}", "400");
}

static void client_blueprints(void)
{
	json_t *j, *list = answer("GET", "/v1/blueprints", "/v1/blueprints", "",
				  "200");

	list = json_object_get(list, "blueprints");
	check(json_array_size(list) == 2);
	check(json_object_get(json_array_get(list, 0), "error"));
	j = answer("GET", "/v1/blueprints/base", "/v1/blueprints/{name}", "",
		   "200");
	check(json_is_false(json_object_get(j, "ready")));
	check_shown(j);
	check_judged();
	check(json_is_false(json_object_get(j, "agent")));
	check(json_is_false(json_object_get(j, "headless")));
	check(strcmp(jsonx_text_at(j, "args"), "replace") == 0);
	check(!json_object_get(j, "result"));
	j = answer("GET", "/v1/blueprints/nix", "/v1/blueprints/{name}", "",
		   "404");
	check(strcmp(error_code(j), "unknown_blueprint") == 0);
	answer("GET", "/v1/blueprints/X", "/v1/blueprints/{name}", "", "400");
	answer("GET", "/v1/blueprints/bad", "/v1/blueprints/{name}", "", "400");
	answer("POST", "/v1/blueprints/nix/build",
	       "/v1/blueprints/{name}/build", "", "404");
}

static void client_build(void)
{
	const char *r = ask_post("/v1/blueprints/base/build", "{}");

	check(strstr(r, "application/x-ndjson"));
	check(strstr(r, "{\"line\":\"ensure base\"}\n"));
	check(strstr(r, "{\"done\":true}\n"));
	r = ask_post("/v1/blueprints/base/build",
		     "{\"no_cache\":true,\"force\":true,\"retry\":true}");
	check(strstr(r, "ensure base --no-cache"));
	check(strstr(r, "{\"error\":{\"code\":\"build_failed\""));
	r = ask_post("/v1/blueprints/base/build", "{\"force\":1}");
	check(strstr(r, " 400 "));
}

/* ---- the server they talk to ---- */

static int fake_df(struct runtime *rt,
		   void (*fn)(void *arg, uint64_t image_bytes,
			      uint64_t cache_bytes, const struct err *err),
		   void *arg)
{
	(void)rt;
	fn(arg, 1000, 10, NULL);
	return 0;
}

static struct acd *served;

static int fake_prune(struct runtime *rt, bool images, runtime_done_fn fn,
		      void *arg)
{
	struct err err = { 0 };
	const char *code = "";

	(void)rt;
	is_int(acd_may_run(served, "runsc", &err, &code), -EAGAIN,
	       "nothing runs while all is being removed");
	is_str(code, "unavailable", "for now");
	pruned += images ? 1 : 100;
	fn(arg, NULL);
	return 0;
}

static const struct runtime_ops fake_ops = {
	.name = "fake",
	.df = fake_df,
	.prune = fake_prune,
};

static void on_signal(void *arg, int signo)
{
	(void)signo;
	children_reap(arg);
}

static void on_client(void *arg, pid_t pid, int status)
{
	(void)pid;
	loop_stop(arg, WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

static int run_client(struct children *children, void (*fn)(void))
{
	pid_t pid = (fflush(stdout), fork());

	if (pid == 0) {
		fn();
		_exit(0);
	}
	children_watch(children, pid, on_client, loop);
	return loop_run(loop);
}

static void write_file(const char *name, const char *text, mode_t mode)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file_write_atomic(path, text, strlen(text), mode);
}

static struct store *make_state(struct instance_record *r)
{
	static char blueprints[64];
	char path[80];
	struct store *s = NULL;
	struct err err = { 0 };

	snprintf(blueprints, sizeof(blueprints), "%s/bp", dir);
	snprintf(path, sizeof(path), "%s/base", blueprints);
	file_mkdir_p(path, 0700);
	snprintf(path, sizeof(path), "%s/bad", blueprints);
	file_mkdir_p(path, 0700);
	write_file("bp/base/blueprint.yaml", "version: 1\nimage: base\n", 0600);
	write_file("bp/bad/blueprint.yaml", "version: 1\n", 0600);
	blueprint_set_dirs("/nonexistent", blueprints);
	write_file("build.sh", "#!/bin/sh\necho \"$*\"\ntest $# -lt 3\n", 0700);
	snprintf(path, sizeof(path), "%s/ac.db", dir);
	ok(store_open(path, &s, &err) == 0 && store_insert(s, r, &err) == 0,
	   "a state directory %s", err.msg);
	return s;
}

static void test_routes(struct acd *acd)
{
	char script[80];
	struct err err = { 0 };

	snprintf(sock_path, sizeof(sock_path), "%s/sock", dir);
	snprintf(script, sizeof(script), "%s/build.sh", dir);
	acd->http = http_new(loop, api_routes, acd, &err);
	builds_set_script(acd->builds, script);
	if (!ok(acd->http && http_listen(acd->http, sock_path, getuid(),
					 getgid(), &err) == 0,
		"listen %s", err.msg))
		return;
	instance_find(acd->instances, "one")->rec.state = INSTANCE_RUNNING;
	is_int(run_client(acd->children, client_daemon), 0, "daemon");
	instance_find(acd->instances, "one")->rec.state = INSTANCE_STOPPED;
	acd->pruning = true;
	is_int(run_client(acd->children, client_prune_twice), 0, "prune twice");
	acd->pruning = false;
	is_int(run_client(acd->children, client_prune), 0, "prune");
	is_int(pruned, 1, "with its images");
	ok(!acd->pruning, "and it is over");
	is_int(run_client(acd->children, client_blueprints), 0, "blueprints");
	is_int(run_client(acd->children, client_build), 0, "build");
}

int main(void)
{
	static char one[] = "one", base[] = "base", runsc[] = "runsc";
	struct instance_record r = { .name = one,
				     .blueprint = base,
				     .isolation = runsc,
				     .state = INSTANCE_RUNNING };
	struct runtime rt = { &fake_ops };
	struct acd acd = { .phase = ACD_READY, .pid1 = true, .runtime = &rt };
	sigset_t set;

	spec = json_load_file("docs/openapi.json", JSON_REJECT_DUPLICATES,
			      NULL);
	if (!ok(spec && mkdtemp(dir), "docs/openapi.json is JSON"))
		return done_testing();
	test_table();
	test_shipped();

	acd.loop = loop = loop_new();
	acd.children = children_new();
	acd.builds = builds_new(loop, acd.children);
	acd.store = make_state(&r);
	acd.instances = instances_new(loop, acd.store, &rt, acd.builds, NULL);
	acd.pool = pool_new(&(struct pool_spec){ .loop = loop,
						 .store = acd.store,
						 .runtime = &rt,
						 .builds = acd.builds,
						 .dir = dir },
			    NULL);
	served = &acd;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	loop_signals(loop, &set, on_signal, acd.children);
	test_routes(&acd);
	http_free(acd.http);
	pool_free(acd.pool);
	instances_free(acd.instances);
	builds_free(acd.builds);
	store_close(acd.store);
	children_free(acd.children);
	loop_free(loop);
	file_remove_tree(dir);
	free(r.address);
	json_decref(spec);
	return done_testing();
}
