/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_use_test.c - volumes of instances: what a sandbox gets, one writer, and
 * who uses which
 */
#include "control/acd/instance/volume_use.h"
#include "control/acd/storage/volumes.h"
#include "control/shared/json.h"
#include "control/shared/volume.h"
#include "tests/unit/control/acd/instance/instance_world.h"

/* Gives @in the volumes of the list @json; NULL: none. */
static void give(struct instance *in, const char *json)
{
	struct instance_record r = { 0 };
	struct err err = { 0 };

	instance_record_copy(&r, instance_record(in));
	free(r.volumes_json);
	r.volumes_json = json ? strdup(json) : NULL;
	is_int(instance_update(in, &r, &err), 0, "%s %s", json ? json : "none",
	       err.msg);
	instance_record_done(&r);
}

static void uses(struct world *w, const char *volume, const char *want)
{
	SCOPED_JSON all = volume_use_all(w->is);
	SCOPED_STR text = json_dumps(json_object_get(all, volume),
				     JSON_COMPACT | JSON_SORT_KEYS);

	is_str(text ? text : "none", want, "who uses %s", volume);
}

/* Fails at once, and leaves everything as it was. */
static void refused(struct instance *in, int code, const char *word)
{
	struct watcher v = { 0 };
	enum instance_state before = state_of(in);

	is_int(run_cmd(&v, in, "true", NULL), code, "%s", v.begun.err.msg);
	is_str(v.begun.err.word, word, "with a word");
	is_int(state_of(in), before, "nothing has changed");
}

static void stop(struct world *w, struct instance *in)
{
	struct outcome o = { 0 };

	is_int(instance_stop(in, 0, note_outcome, &o), 0, "stop");
	STEP_UNTIL(w->loop, o.calls);
}

static void test_mounted(struct world *w, struct instance *in)
{
	struct watcher v = { 0 };

	give(in, "[\"data:/mnt/data:rw\"]");
	refused(in, -ENOENT, VOLUME_MISSING);
	is_int(volume_create("data", NULL), 0, "now it is there");
	run_through(w, &v, in, "exit", "0");
	is_int(v.begun.err.code, 0, "it runs %s", v.begun.err.msg);
	is_str(w->rt->mounts, "/m/one/mnt:/m/one/mounts/data at /mnt/data rw",
	       "with it");
	uses(w, "data",
	     "[{\"instance\":\"one\",\"mode\":\"rw\",\"running\":false}]");
	/* What its user gave it is in the place of a directory. */
	fake.mount = "/srv/docs";
	fake.mount_live = true;
	give(in, "[\"data:/mnt/docs:ro\"]");
	run_through(w, &v, in, "exit", "0");
	is_int(v.begun.err.code, 0, "no directory is to be sent %s",
	       v.begun.err.msg);
	is_str(w->rt->mounts, "/m/one/mnt:/m/one/mounts/docs at /mnt/docs ro",
	       "the volume is there");
	ok(!instance_record(in)->mounts_json, "and is no directory of the "
					      "user's");
	fake.mount = NULL;
	fake.mount_live = false;
}

static void test_writer(struct world *w, struct instance *one,
			struct instance *two)
{
	struct watcher v = { 0 }, x = { 0 };

	give(one, "[\"data:/mnt/a:ro\",\"data:/mnt/b:rw\"]");
	give(two, "[\"data:/mnt/c:rw\"]");
	run_up(w, &v, one, "sleep", NULL);
	is_int(v.begun.err.code, 0, "one writes %s", v.begun.err.msg);
	refused(two, -EBUSY, VOLUME_IN_USE);
	give(two, "[\"data:/mnt/c:ro\"]");
	run_through(w, &x, two, "exit", "0");
	is_int(x.begun.err.code, 0, "another reads beside it %s",
	       x.begun.err.msg);
	uses(w, "data",
	     "[{\"instance\":\"one\",\"mode\":\"rw\",\"running\":true},"
	     "{\"instance\":\"two\",\"mode\":\"ro\",\"running\":false}]");
	give(two, "[\"data:/mnt/c:rw\"]");
	refused(two, -EBUSY, VOLUME_IN_USE);
	stop(w, one);
	run_up(w, &x, two, "sleep", NULL);
	is_int(x.begun.err.code, 0, "when it has ended, the other writes %s",
	       x.begun.err.msg);
	refused(one, -EBUSY, VOLUME_IN_USE);
	stop(w, two);
}

/* The runtime does not remove a sandbox: it may still write. */
static void test_left(struct world *w, struct instance *one,
		      struct instance *two)
{
	struct watcher v = { 0 };

	give(one, "[\"data:/mnt/b:rw\"]");
	run_up(w, &v, one, "sleep", NULL);
	w->rt->remove_error = -EIO;
	stop(w, one);
	ok(!instance_is_live(one), "it has ended");
	refused(two, -EBUSY, VOLUME_IN_USE);
	w->rt->remove_error = 0;
	stop(w, one);
	run_through(w, &v, two, "exit", "0");
	is_int(v.begun.err.code, 0, "it is gone now %s", v.begun.err.msg);
}

static void test_blueprint(struct world *w, struct instance *one,
			   struct instance *two)
{
	struct strv names = { 0 };
	struct err err = { 0 };
	SCOPED_STR gone = NULL;

	give(one, "[\"more:/mnt/x:rw\",\"data:/mnt/y:rw\"]");
	give(two, NULL);
	fake.mount = "data";
	uses(w, "data",
	     "[{\"instance\":\"one\",\"mode\":\"rw\",\"running\":false},"
	     "{\"instance\":\"two\",\"mode\":\"ro\",\"running\":false}]");
	give(one, "[\"more:/mnt/docs:ro\",\"data:/mnt/y:rw\"]");
	uses(w, "more",
	     "[{\"instance\":\"one\",\"mode\":\"ro\",\"running\":false}]");
	is_int(volume_use_drop(w->is, "missing", &gone, &err), -ENOENT,
	       "there is none: %s", err.msg);
	is_int(volume_use_drop(w->is, "data", &gone, &err), 0, "removed %s",
	       err.msg);
	ok(gone && access(gone, F_OK) == 0, "its files are to be removed");
	is_str(instance_record(one)->volumes_json, "[\"more:/mnt/docs:ro\"]",
	       "the other stays");
	/* As if acd had been killed when the first of two was without it. */
	is_int(volume_create("more", &err), 0, "another one %s", err.msg);
	is_int(volume_take("more", &err), 0, "taken %s", err.msg);
	volume_use_recover(w->is);
	is_int(volumes_taken(&names), 0, "what is left to do");
	is_int((int)names.n, 0, "is nothing");
	is_int(volume_take("more", &err), -ENOENT, "it is gone: %s", err.msg);
	ok(!instance_record(one)->volumes_json, "there is none any more");
	uses(w, "more", "none");
	fake.mount = NULL;
	uses(w, "data", "none");
	is_int(volume_create("data", &err), 0, "its name is free %s", err.msg);
}

static void test_too_many(struct instance *one)
{
	char json[VOLUME_USES_MAX * 32] = "[";
	size_t used = 1;

	for (unsigned i = 0; i < VOLUME_USES_MAX; i++)
		used += (size_t)snprintf(json + used, sizeof(json) - used,
					 "%s\"data:/mnt/%u:ro\"", i ? "," : "",
					 i);
	snprintf(json + used, sizeof(json) - used, "]");
	fake.mount = "data";
	give(one, json);
	refused(one, -EINVAL, "");
	fake.mount = NULL;
	give(one, NULL);
}

int main(void)
{
	struct world w;
	struct instance *one = world_one(&w);
	struct instance *two = world_create(&w, "two", false);
	struct err err = { 0 };
	char dir[80];

	snprintf(dir, sizeof(dir), "%s/.volumes", w.dir);
	is_int(volumes_open(dir, getuid(), getgid(), &err), 0, "open %s",
	       err.msg);
	test_mounted(&w, one);
	test_writer(&w, one, two);
	test_left(&w, one, two);
	test_blueprint(&w, one, two);
	test_too_many(one);
	volumes_close();
	world_done(&w);
	return done_testing();
}
