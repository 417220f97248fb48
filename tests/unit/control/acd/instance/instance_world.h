/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_world.h - a world for instances: real store, files and log, fake
 * runtime and guests, and fakes for mounts, builds and blueprints
 *
 * It defines what it stands in for; a test program includes it once.
 */
#ifndef TESTS_UNIT_CONTROL_ACD_INSTANCE_INSTANCE_WORLD_H
#define TESTS_UNIT_CONTROL_ACD_INSTANCE_INSTANCE_WORLD_H

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/acd/blueprint/blueprint.h"
#include "control/acd/blueprint/print.h"
#include "control/acd/instance/instance.h"
#include "control/acd/instance/instance_impl.h" /* instances_later() */
#include "control/acd/storage/mounts.h"
#include "lib/file.h"
#include "tests/fake/runtime.h"
#include "tests/unit/control/acd/instance/project_fakes.h"
#include "tests/unit/step.h"
#include "tests/unit/tap.h"

struct world {
	char dir[64];
	struct loop *loop;
	struct store *store;
	struct fake_runtime *rt;
	struct instances *is;
};

static struct {
	bool image_missing, external_here;
	ino_t external_ino; /* of the directory that was sent */
	int prepare_error;
	int prepared, released;
	char renamed[128]; /* the last, "from to" */
	unsigned pool, built; /* of the blueprint and its image */
	uint64_t disk; /* of the blueprint */
	bool append; /* words to its command, and it takes a prompt */
	uint64_t timeout_ms;
	/* The gateway: answers at once, unless it is to be slow. */
	int bind_error, binds, unbinds;
	bool bind_slow, bind_refused;
	char bound_json[256];
	instance_fn bind_fn; /* of a slow one, until bind_answer() */
	void *bind_arg;
	struct instances *is;
	enum egress_mode blueprint_mode;
	const char *warnings; /* of a bind */
	const char *mount; /* of the blueprint, "/from" or a volume, at
			    * /mnt/docs */
	bool mount_live, extras_here;
	int forgotten_extras;
	const char *home_file; /* a file of the blueprint, "path=text" */
	const char *prompt; /* of the blueprint, for PROMPT.md */
	const char *skill; /* its folder, which has skills/one; in .x/skills */
	const char *rules; /* of its presets, which follow */
	bool inspects; /* what is bound then */
} fake;

/* ---- fakes ---- */

bool build_is_ready(struct builds *b, const char *image)
{
	(void)b;
	(void)image;
	return !fake.image_missing;
}

bool build_is_present(const struct builds *b, const char *image)
{
	(void)b;
	return build_is_ready(NULL, image);
}

unsigned build_count(const struct builds *b, const char *image)
{
	(void)b;
	(void)image;
	return fake.built;
}

#include "tests/unit/control/acd/instance/mounts_fakes.h"

void blueprint_files_done(struct blueprint *bp)
{
	for (size_t i = 0; i < bp->n_files; i++) {
		free(bp->files[i].path);
		free(bp->files[i].text);
	}
	free(bp->files);
}

static void fake_files(struct blueprint *bp)
{
	const char *text = fake.home_file ? strchr(fake.home_file, '=') : NULL;

	if (fake.skill) {
		bp->skills = calloc(1, sizeof(*bp->skills));
		bp->n_skills = 1;
		bp->skills[0] = (struct blueprint_skill){
			.name = strdup("one"),
			.dir = strdup(fake.skill),
			.folder = strdup("skills/one"),
		};
		if (strv_push(&bp->skill_paths, ".x/skills") < 0)
			abort();
	}
	if (fake.mount)
		fake_mount(bp, fake.mount, fake.mount_live);
	if (fake.prompt) {
		bp->prompt = strdup(fake.prompt);
		bp->prompt_rules = fake.rules ? strdup(fake.rules) : NULL;
		if (strv_push(&bp->prompt_paths, "PROMPT.md") < 0)
			abort();
	}
	if (!text)
		return;
	bp->files = calloc(1, sizeof(*bp->files));
	bp->n_files = 1;
	bp->files[0] = (struct blueprint_file){
		.path = strndup(fake.home_file,
				(size_t)(text - fake.home_file)),
		.text = strdup(text + 1),
		.always = true,
		.mode = 0600,
	};
}

int blueprint_load(const char *name, struct blueprint *ret, struct err *err)
{
	if (strcmp(name, "base") != 0)
		return err_set(err, -ENOENT, "there is no blueprint '%s'",
			       name);
	*ret = (struct blueprint){
		.name = strdup("base"),
		.image = strdup("base"),
		.workdir = strdup("/workspace"),
		.isolation = strdup("runsc"),
		.cpu_milli = 250,
		.pool = fake.pool,
		.disk = fake.disk,
		.egress.mode = fake.blueprint_mode,
		.args_append = fake.append,
	};
	if (fake.append && (strv_push(&ret->headless, "cat") < 0 ||
			    strv_push(&ret->headless, "say {prompt}") < 0))
		abort();
	if (strv_push(&ret->command, "sleep") < 0 ||
	    strv_push(&ret->shell, "cat") < 0 ||
	    strv_push(&ret->env, "FROM=blueprint") < 0)
		abort();
	fake_files(ret);
	return 0;
}

int blueprint_print(const struct blueprint *bp, struct buf *out,
		    struct print_lines *lines)
{
	(void)lines;
	return buf_printf(out, "cpus: %llu\n",
			  (unsigned long long)bp->cpu_milli);
}

int blueprint_names(struct strv *ret, struct err *err)
{
	return strv_push(ret, "base") < 0 ? err_nomem(err) : 0;
}

void blueprint_done(struct blueprint *bp)
{
	free(bp->name);
	free(bp->image);
	free(bp->workdir);
	free(bp->isolation);
	strv_done(&bp->command);
	strv_done(&bp->shell);
	strv_done(&bp->env);
	strv_done(&bp->prompt_paths);
	free(bp->prompt);
	free(bp->prompt_rules);
	blueprint_files_done(bp);
	blueprint_skills_done(bp);
	blueprint_mounts_done(bp);
	strv_done(&bp->skill_paths);
	strv_done(&bp->headless);
	egress_done(&bp->egress);
	*bp = (struct blueprint){ 0 };
}

static inline int fake_bind(void *arg, const struct instance_record *r,
			    const struct blueprint *bp, instance_fn fn,
			    void *fn_arg, struct err *err)
{
	struct err refused = { 0 };

	(void)arg;
	(void)bp;
	if (fake.bind_error)
		return err_set(err, fake.bind_error, "no gateway today");
	fake.binds++;
	snprintf(fake.bound_json, sizeof(fake.bound_json), "%s",
		 r->egress_json ? r->egress_json : "");
	if (fake.bind_slow) {
		fake.bind_fn = fn;
		fake.bind_arg = fn_arg;
		return 0;
	}
	if (fake.bind_refused)
		err_set(&refused, -EINVAL, "x:1:1: no such preset");
	return instances_later(fake.is, fn, fn_arg,
			       fake.bind_refused ? &refused : NULL);
}

static inline void fake_unbind(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	fake.unbinds++;
}

static inline const char *fake_warnings(void *arg)
{
	(void)arg;
	return fake.warnings;
}

static inline const struct instance_grant *fake_grant(void *arg,
						      const char *name)
{
	static const char *const surrogates[] = { "other=x", "key=surrogate-1",
						  NULL };
	static const struct instance_grant ca = { .ca = "own",
						  .surrogates = surrogates };

	(void)arg;
	(void)name;
	return fake.inspects ? &ca : NULL;
}

static const struct instance_egress_ops fake_egress = {
	.bind = fake_bind,
	.unbind = fake_unbind,
	.warnings = fake_warnings,
	.grant = fake_grant,
};

/* The slow gateway's answer. */
static inline void bind_answer(const struct err *err)
{
	instance_fn fn = fake.bind_fn;

	fake.bind_fn = NULL;
	fn(fake.bind_arg, err);
}

/* ---- the world ---- */

static inline void world_open(struct world *w)
{
	struct err err = { 0 };
	char db[80];

	snprintf(db, sizeof(db), "%s/ac.db", w->dir);
	w->loop = loop_new();
	w->rt = fake_runtime_new(w->loop);
	if (store_open(db, &w->store, &err) < 0)
		printf("# %s\n", err.msg);
	w->is = instances_new(w->loop, w->store, &w->rt->rt, NULL, &err);
	if (!w->is)
		printf("# %s\n", err.msg);
	instances_set_dir(w->is, w->dir);
	fake.is = w->is;
	instances_set_egress(w->is, &fake_egress, NULL, NULL);
}

static inline void world_close(struct world *w)
{
	instances_free(w->is);
	store_close(w->store);
	fake_runtime_free(w->rt);
	loop_free(w->loop);
}

static inline void world_init(struct world *w)
{
	*w = (struct world){ 0 };
	memset(&fake, 0, sizeof(fake));
	signal(SIGCHLD, SIG_IGN); /* nobody reaps here */
	signal(SIGPIPE, SIG_IGN);
	snprintf(w->dir, sizeof(w->dir), "/tmp/instance-test.XXXXXX");
	if (!mkdtemp(w->dir))
		abort();
	world_open(w);
}

static inline void world_done(struct world *w)
{
	world_close(w);
	file_remove_tree(w->dir);
}

static inline struct instance *world_create(struct world *w, const char *name,
					    bool auto_remove)
{
	char rec_name[64], blueprint[] = "base", isolation[] = "runsc";
	char env[] = "[\"FROM=instance\",\"X=1\"]";
	struct instance_record r = {
		.name = rec_name,
		.blueprint = blueprint,
		.isolation = isolation,
		.env_json = env,
		.memory = 1u << 30,
		.pids = 100,
		.timeout_ms = fake.timeout_ms,
		.auto_remove = auto_remove,
		.host_uid = (uint32_t)getuid(),
		.host_gid = (uint32_t)getgid(),
	};
	struct instance *in = NULL;
	struct err err = { 0 };

	snprintf(rec_name, sizeof(rec_name), "%s", name);
	if (instance_create(w->is, &r, &in, &err) < 0)
		printf("# %s\n", err.msg);
	return in;
}

/* A new world with the instance "one" in it, which most begin with. */
static inline struct instance *world_one(struct world *w)
{
	world_init(w);
	return world_create(w, "one", false);
}

static inline bool exists(const struct world *w, const char *name,
			  const char *sub)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s/%s", w->dir, name, sub);
	return lstat(path, &st) == 0;
}

/* ---- outcomes ---- */

struct outcome {
	int calls;
	struct err err; /* code 0: success */
};

static void note_outcome(void *arg, const struct err *err)
{
	struct outcome *o = arg;

	o->calls++;
	o->err = err ? *err : (struct err){ 0 };
}

/* A watcher that adds itself when the run has begun. */
struct watcher {
	struct instance *in;
	struct run_watch *watch;
	struct outcome begun;
	bool keep_credit; /* gives none */
	int started, exited, notices;
	char notice[256]; /* the last one */
	uint64_t bytes;
	char text[64]; /* the first bytes of output */
	struct link_exit x;
};

static void watch_started(void *arg, uint32_t pid)
{
	struct watcher *v = arg;

	v->started += pid == 42;
}

static void watch_output(void *arg, enum link_type type, struct slice data)
{
	struct watcher *v = arg;
	size_t i;

	(void)type;
	for (i = 0; i < data.len && v->bytes + i < sizeof(v->text) - 1; i++)
		v->text[v->bytes + i] = (char)data.ptr[i];
	v->bytes += data.len;
	if (!v->keep_credit)
		run_watch_credit(v->watch, (uint32_t)data.len);
}

static void watch_stdin_credit(void *arg)
{
	(void)arg;
}

static void watch_notice(void *arg, uint8_t level, const char *text)
{
	struct watcher *v = arg;

	(void)level;
	v->notices++;
	snprintf(v->notice, sizeof(v->notice), "%s", text);
}

static void watch_exited(void *arg, const struct link_exit *x)
{
	struct watcher *v = arg;

	v->exited++;
	v->x = *x;
	run_watch_free(v->watch);
	v->watch = NULL;
}

static const struct run_watch_ops watch_ops = {
	.started = watch_started,
	.output = watch_output,
	.stdin_credit = watch_stdin_credit,
	.notice = watch_notice,
	.exited = watch_exited,
};

static void watch_begun(void *arg, const struct err *err)
{
	struct watcher *v = arg;

	note_outcome(&v->begun, err);
	if (!err)
		v->watch = run_watch_add(instance_main(v->in), &watch_ops, v);
}

/* A run of @cmd with one argument or none (NULL). */
static inline struct run_options run_of(const char *cmd, const char *arg)
{
	struct run_options o = { 0 };

	if (strv_push(&o.argv, cmd) < 0 || (arg && strv_push(&o.argv, arg) < 0))
		abort();
	return o;
}

static inline int run_cmd(struct watcher *v, struct instance *in,
			  const char *cmd, const char *arg)
{
	struct run_options o = run_of(cmd, arg);
	struct err err = { 0 };
	int rc;

	o.use_stdin = true;
	v->in = in;
	rc = instance_run(in, &o, watch_begun, v, &err);
	if (rc < 0)
		v->begun.err = err;
	return rc;
}

static inline int exec_cmd(struct watcher *v, struct instance *in,
			   const char *cmd, const char *arg, struct run **ret)
{
	struct run_options o = run_of(cmd, arg);
	struct err err = { 0 };
	int rc;

	o.use_stdin = true;
	rc = instance_exec(in, &o, ret, &err);
	run_options_done(&o);
	v->in = in;
	if (rc == 0)
		v->watch = run_watch_add(*ret, &watch_ops, v);
	return rc;
}

static inline enum instance_state state_of(const struct instance *in)
{
	return instance_record(in)->state;
}

/* Runs @cmd and waits for its beginning. */
static inline void run_up(struct world *w, struct watcher *v,
			  struct instance *in, const char *cmd, const char *arg)
{
	*v = (struct watcher){ 0 };
	run_cmd(v, in, cmd, arg);
	STEP_UNTIL(w->loop, v->begun.calls);
}

/* Runs @cmd and waits until all is over. */
static inline void run_through(struct world *w, struct watcher *v,
			       struct instance *in, const char *cmd,
			       const char *arg)
{
	run_up(w, v, in, cmd, arg);
	STEP_UNTIL(w->loop, !instance_is_live(in));
}

/* Pauses or resumes; the code of the answer. */
static inline int pause_wait(struct world *w, struct instance *in, bool paused)
{
	struct outcome o = { 0 };
	struct err err = { 0 };
	int rc = instance_pause(in, paused, note_outcome, &o, &err);

	if (rc < 0)
		return rc;
	STEP_UNTIL(w->loop, o.calls);
	return o.calls == 1 ? o.err.code : -EIO;
}

#endif
