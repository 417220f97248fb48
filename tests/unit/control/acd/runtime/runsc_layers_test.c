/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_layers_test.c - which images acd can mount itself, and how
 */
#include "control/acd/runtime/runsc_layers.h"

#include <unistd.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/fake/engine.h"
#include "tests/unit/tap.h"

static const struct layers_own own = { .base = "/base", .top = "/top" };
static char dir[] = "/tmp/layers_test.XXXXXX";
static struct loop *loop;
static int removals;
static bool list_fails;
static struct {
	int calls, code;
	struct layers_image *img;
} got;

static void layer_make(const char *id, const char *link)
{
	SCOPED_STR path = str_printf("%s/%s", dir, id);
	SCOPED_STR file = str_printf("%s/%s/link", dir, id);

	file_mkdir_p(path, 0700);
	file_write_atomic(file, link, strlen(link), 0600);
}

static int option(const char *upper, const char *lower, char **ret)
{
	SCOPED_STR u = str_printf("%s%s", dir, upper);
	SCOPED_STR l = *lower ? str_printf("%s%s", dir, lower) : strdup("");

	return layers_option(dir, u, l, &own, ret);
}

static void test_option(void)
{
	SCOPED_STR one = NULL;
	SCOPED_STR two = NULL;
	SCOPED_STR none = NULL;
	SCOPED_STR lower = str_printf("/b/diff:%s/a/diff", dir);

	layer_make("a", "AAAA2222");
	layer_make("b", "BBBB");
	layer_make("evil", "../../etc");
	layer_make("comma", "AB,upperdir=X");
	layer_make("empty", "");
	is_int(option("/a/diff", "", &one), 0, "an image of one layer");
	is_str(one, "lowerdir=/top:l/AAAA2222:/base",
	       "ours are at the bottom and at the top");
	is_int(option("/b/diff", lower, &two), 0, "more of them");
	is_str(two, "lowerdir=/top:l/BBBB:l/BBBB:l/AAAA2222:/base",
	       "top first");
	is_int(option("/none/diff", "", &none), -ENOTSUP, "no such layer");
	is_int(option("/evil/diff", "", &none), -ENOTSUP, "a path for a name");
	is_int(option("/comma/diff", "", &none), -ENOTSUP, "an option in it");
	is_int(option("/empty/diff", "", &none), -ENOTSUP, "no name");
	is_int(option("/a", "", &none), -ENOTSUP, "not the engine's layout");
	is_int(layers_option(dir, "/elsewhere/a/diff", "", &own, &none),
	       -ENOTSUP, "not the engine's folder");
	is_int(layers_option(dir, "", "", &own, &none), -ENOTSUP, "none");
}

static void test_many(void)
{
	SCOPED_STR lower = str_printf("/a/diff");
	SCOPED_STR most = NULL;
	SCOPED_STR more = NULL;

	for (unsigned i = 0; i < LAYERS_MAX - 2; i++) {
		char *longer = str_printf("%s:%s/a/diff", lower, dir);

		free(lower);
		lower = longer;
	}
	is_int(option("/b/diff", lower, &most), 0, "%u layers", LAYERS_MAX);
	is_int(option("/b/diff:/b/diff", lower, &more), -ENOTSUP,
	       "two in place of one");
	ok(more == NULL, "and no option");
}

/* ---- what the engine says ---- */

static void on_request(void *arg, const struct fake_request *rq,
		       struct fake_answer *ret)
{
	(void)arg;
	if (strcmp(rq->method, "DELETE") == 0) {
		removals++;
		ret->status = 204;
	} else if (strstr(rq->path, "/containers/json") && list_fails)
		*ret = (struct fake_answer){ .status = 500,
					     .body = "{\"message\":\"no\"}" };
	else if (strstr(rq->path, "/containers/json"))
		ret->body = "[{\"Id\":\"abc\"}]";
	else if (strstr(rq->path, "/images/other/"))
		ret->body = "{\"Id\":\"sha256:1\",\"GraphDriver\":"
			    "{\"Name\":\"btrfs\",\"Data\":{}}}";
	else if (strstr(rq->path, "/images/strange/"))
		ret->body = "{\"Id\":\"sha256:2\",\"GraphDriver\":"
			    "{\"Name\":\"overlay2\",\"Data\":"
			    "{\"UpperDir\":\"/etc/x/diff\"}}}";
	else if (strstr(rq->path, "/images/nameless/"))
		ret->body = "{}";
	else
		*ret = (struct fake_answer){ .status = 404,
					     .body = "{\"message\":\"no\"}" };
}

static void on_got(void *arg, struct layers_image *img, const struct err *err)
{
	(void)arg;
	got.calls++;
	got.img = img;
	got.code = err ? err->code : 0;
	loop_stop(loop, 0);
}

static void on_nothing(void *arg, struct layers_image *img,
		       const struct err *err)
{
	(void)arg;
	(void)img;
	(void)err;
}

static int get(struct layers *ls, const char *name)
{
	got.calls = 0;
	if (!ok(layers_get(ls, name, on_got, NULL) == 0 && got.calls == 0,
		"ask for %s", name))
		return 0;
	loop_run(loop);
	ok(got.calls == 1 && !got.img, "answered once, without an image");
	return got.code;
}

static void test_engine(void)
{
	SCOPED_STR sock = str_printf("%s/sock", dir);
	SCOPED_STR mounts = str_printf("%s/images", dir);
	struct fake_engine *f = fake_engine_new(loop, sock, on_request, NULL);
	struct engine *e = engine_new(loop, sock, NULL);
	struct layers *ls = layers_new(loop, e, mounts);

	list_fails = true;
	ok(get(ls, "other") < 0, "what is held cannot be listed");
	list_fails = false;
	ok(layers_get(ls, "none", on_nothing, NULL) == 0, "two ask at once");
	is_int(get(ls, "other"), -ENOTSUP, "another storage driver");
	is_int(get(ls, "strange"), -ENOTSUP, "layers from elsewhere");
	is_int(get(ls, "none"), -ENOENT, "no such image");
	is_int(get(ls, "nameless"), -EPROTO, "an answer without an id");
	is_int(removals, 1, "an old holder was removed, once");
	is_int(layers_drop(ls), 0, "nothing is held");
	is_int(layers_release(ls, "sha256:1"), 0, "nor is one image");
	got.calls = 0;
	layers_get(ls, "other", on_got, NULL);
	engine_free(e);
	ok(got.calls == 1 && got.code == -ECANCELED, "the end of the engine");
	layers_free(ls);
	fake_engine_free(f);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	loop = loop_new();
	test_option();
	test_many();
	test_engine();
	loop_free(loop);
	file_remove_tree(dir);
	return done_testing();
}
