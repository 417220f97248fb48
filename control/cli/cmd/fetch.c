/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.c - the commits of a sandbox, into a repository of the user's
 *
 * Two execs in the sandbox, with the agent's rights and so hostile in all that
 * they print: LIST names its branches and commits, PACK packs what the user's
 * repository lacks. Both are bounded here, and checked by git_fetch.c. An
 * instance that does not run is started for them: its run is a sleep, which ends
 * with our connection, so that no commit goes into the log of a run. That log is
 * an empty one: like any other run, it takes the place of the last one's.
 */
#include "control/cli/cmd/fetch.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "control/cli/cmd/fetch_into.h"
#include "control/cli/cmd/instance.h"
#include "control/cli/core/git_fetch.h"
#include "control/cli/core/git_run.h"
#include "control/cli/core/progress.h"
#include "control/cli/host/host.h"
#include "control/cli/host/launch.h"
#include "control/cli/host/self_addresses.h"
#include "control/cli/host/stopped.h"
#include "control/shared/infer.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/str.h"

#define PACK_MAX (UINT64_C(2) << 30) /* without --limit */
#define LIST_MS (5 * 60 * 1000)
#define PACK_MS (2 * 60 * 60 * 1000)
#define STOP_MS 1000
#define ERRORS_MAX 512u /* bytes of the sandbox's stderr that are kept */

/* Exit codes of the scripts, which git and sh do not use. */
#define THERE_NO_REPOSITORY 80
#define THERE_NO_DIRECTORY 82
#define THERE_NO_GIT 83

/* $1 is the repository. Prints the list of fetch_list.h. */
static char LIST[] =
	"command -v git >/dev/null 2>&1 || exit 83\n"
	"cd -- \"$1\" 2>/dev/null || exit 82\n"
	"g() { git --no-pager -c safe.directory='*' \"$@\"; }\n"
	"f=$(g rev-parse --show-object-format 2>/dev/null) || exit 80\n"
	"s=$(g rev-parse --is-shallow-repository) || exit 80\n"
	"h=\n"
	"g symbolic-ref -q HEAD >/dev/null ||\n"
	"h=$(g rev-parse -q --verify 'HEAD^{commit}') || h=\n"
	"echo \"ac-fetch 1 $f $s\"\n"
	"g for-each-ref --count=1001 "
	"--format='%(objectname) %(refname)' refs/heads || exit\n"
	"[ -z \"$h\" ] || echo \"$h HEAD\"\n"
	"echo\n"
	"g rev-list --max-count=20000 --branches $h 2>/dev/null\n"
	"echo end\n";

/* stdin has the commits that are wanted, and with a ^ those that are not. */
static char PACK[] =
	"cd -- \"$1\" 2>/dev/null || exit 82\n"
	"exec git --no-pager -c safe.directory='*' pack-objects --revs --thin "
	"--stdout --delta-base-offset -q\n";

struct fetch {
	const struct cli *cli;
	struct cli plain; /* without --json: an exec's end is no result */
	struct client *client;
	const struct args *args;
	char name[AC_NAME_MAX + 1];
	char *where; /* in the sandbox, absolute */
	json_t *instances; /* all of them */
	struct workspace into;
	char *temp; /* a directory of ours */
	int lock; /* of the directory above it */
	struct git_fetch git;
	struct progress progress;
	/* Of the exec that runs. */
	struct buf list;
	int pack; /* file, -1: none */
	uint64_t got; /* bytes of it */
	char errors[ERRORS_MAX + 1];
	struct err refused; /* why its output is not taken */
	/* Of what was done while an instance was started for it. */
	bool worked;
	int rc;
	struct err err;
};

/* ---- an exec ---- */

static void on_errors(void *arg, struct slice data)
{
	struct fetch *f = arg;
	size_t have = strlen(f->errors), room = ERRORS_MAX - have;

	if (data.len > room)
		data.len = room;
	for (size_t i = 0; i < data.len; i++)
		f->errors[have + i] = data.ptr[i] ? (char)data.ptr[i] : ' ';
	f->errors[have + data.len] = '\0';
}

static int on_list(void *arg, struct slice data)
{
	struct fetch *f = arg;

	progress_tick(&f->progress, "looking");
	if (buf_append(&f->list, data.ptr, data.len) == 0)
		return 0;
	return err_set(&f->refused, -EFBIG,
		       "%s prints more than a list of its commits has: that "
		       "is not what git prints",
		       f->name);
}

static int pack_refuse(struct fetch *f)
{
	return err_set(&f->refused, -EBADMSG,
		       "what %s sends is no pack of git's", f->name);
}

static int on_pack(void *arg, struct slice data)
{
	static const char magic[] = "PACK";
	struct fetch *f = arg;
	char text[32];
	int rc;

	for (size_t i = 0; i < data.len && f->got + i < 4; i++)
		if (data.ptr[i] != (uint8_t)magic[f->got + i])
			return pack_refuse(f);
	if (data.len > f->git.max - f->got)
		return err_set(&f->refused, -EFBIG,
			       "%s sends more than %s: --limit allows more",
			       f->name,
			       str_format_size(text, sizeof(text), f->git.max));
	rc = fd_write_all(f->pack, data.ptr, data.len);
	if (rc < 0)
		return err_set(&f->refused, rc, "cannot keep it in %s: %s",
			       f->temp, err_text(rc));
	f->got += data.len;
	progress_tick(&f->progress,
		      str_format_size(text, sizeof(text), f->got));
	return 0;
}

static int there_error(const struct fetch *f, int code, struct err *err)
{
	char why[256];

	str_escape_utf8(why, sizeof(why), f->errors,
			strcspn(f->errors, "\r\n"));
	switch (code) {
	case THERE_NO_REPOSITORY:
		return err_set(err, -ENOENT,
			       "there is no git repository in %s:%s; if it is "
			       "in another directory, say -w DIR",
			       f->name, f->where);
	case THERE_NO_DIRECTORY:
		return err_set(err, -ENOENT, "%s:%s: no such directory",
			       f->name, f->where);
	case THERE_NO_GIT:
	case 127:
		return err_set(err, -ENOENT,
			       "there is no git in %s; its blueprint can "
			       "install it",
			       f->name);
	default:
		return err_set(err, -EIO, "git in %s failed (code %d)%s%s",
			       f->name, code, *why ? ": " : "", why);
	}
}

/* Runs @script in the sandbox, for at most @ms. @in becomes its stdin, -1: none. */
static int there(struct fetch *f, char *script, int ms,
		 int (*sink)(void *arg, struct slice data), int in,
		 struct err *err)
{
	char sh[] = "sh", dash_c[] = "-c", self[] = "ac-fetch", root[] = "/";
	char *const cmd[] = { sh, dash_c, script, self, f->where };
	struct launch l = { .cli = &f->plain,
			    .client = f->client,
			    .verb = "exec",
			    .what = sh,
			    .use_stdin = in >= 0,
			    .in = in,
			    .sink = sink,
			    .err_sink = on_errors,
			    .arg = f };
	SCOPED_JSON body = launch_body(&l, cmd, ARRAY_SIZE(cmd), err);
	int rc;

	if (!body)
		return err->code;
	if (json_object_set_new(body, "cwd", json_string(root)) < 0 ||
	    json_object_set_new(body, "timeout_ms", json_integer(ms)) < 0)
		return err_nomem(err);
	str_copy(l.name, sizeof(l.name), f->name);
	f->errors[0] = '\0';
	f->refused = (struct err){ 0 };
	rc = launch_go(&l, body, err);
	if (f->refused.code < 0) {
		*err = f->refused;
		return err->code;
	}
	if (rc == 128 + SIGINT || (rc > 128 && !l.ended))
		return err_set(err, -EINTR, "interrupted");
	return rc > 0 ? there_error(f, rc, err) : rc;
}

/* ---- the work ---- */

static void on_tick(void *arg)
{
	struct fetch *f = arg;

	progress_tick(&f->progress, NULL);
}

/* Sends the names of what is wanted, takes the pack and checks it. */
static int take_pack(struct fetch *f, struct err *err)
{
	SCOPED_FD in = memfd_create("wanted", MFD_CLOEXEC);
	SCOPED_STR path = str_printf("%s/pack", f->temp);
	struct slice wanted = buf_slice(&f->git.wanted);
	int rc = in < 0 ? -errno : fd_write_all(in, wanted.ptr, wanted.len);

	if (rc == 0 && lseek(in, 0, SEEK_SET) < 0)
		rc = -errno;
	if (rc < 0)
		return err_set(err, rc, "a file in memory: %s", err_text(rc));
	if (!path)
		return err_nomem(err);
	f->pack = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (f->pack < 0)
		return err_sys(err, "%s", path);
	rc = there(f, PACK, PACK_MS, on_pack, in, err);
	if (rc == 0 && f->got < 4)
		rc = err_set(err, -EBADMSG, "%s sent no commits", f->name);
	progress_tick(&f->progress, "checking");
	if (rc == 0)
		rc = git_fetch_pack(&f->git, f->pack, err);
	fd_closep(&f->pack);
	unlink(path);
	return rc;
}

static int work(struct fetch *f, struct err *err)
{
	int rc;

	progress_begin(&f->progress, f->cli, "fetching commits");
	rc = there(f, LIST, LIST_MS, on_list, -1, err);
	if (rc == 0)
		rc = git_fetch_list(&f->git, buf_slice(&f->list), err);
	if (rc == 0 && buf_len(&f->git.wanted) > 0)
		rc = take_pack(f, err);
	if (rc == 0)
		rc = git_fetch_end(&f->git, args_has(f->args, ARG_ONLY_SHOW),
				   err);
	if (rc < 0)
		progress_stop(&f->progress);
	else
		progress_end(&f->progress);
	return rc;
}

/* ---- an instance that does not run ---- */

static int drop(void *arg, struct slice data)
{
	(void)arg;
	(void)data;
	return 0;
}

static void drop_errors(void *arg, struct slice data)
{
	(void)arg;
	(void)data;
}

/* Called while the run sleeps. */
static void on_begun(const struct launch *l, void *arg)
{
	struct fetch *f = arg;
	SCOPED_JSON body = json_pack("{s:i}", "grace_ms", STOP_MS);
	struct err ignored = { 0 };

	(void)l;
	f->worked = true;
	f->rc = work(f, &f->err);
	/* If it cannot be stopped, our end stops it. */
	(void)instance_call(f->client, "POST", f->name, "/stop", body, NULL,
			    &ignored);
}

/* Starts the instance, works, and stops it. Its run is "shell" so that the words
 * are not appended to an agent's. */
static int start_and_work(struct fetch *f, struct err *err)
{
	char sleep[] = "sleep", forever[] = "infinity";
	char *const cmd[] = { sleep, forever };
	struct launch l = { .cli = &f->plain,
			    .client = f->client,
			    .verb = "run",
			    .what = sleep,
			    .sink = drop,
			    .err_sink = drop_errors,
			    .on_begun = on_begun,
			    .begun_arg = f };
	SCOPED_JSON body = launch_body(&l, cmd, ARRAY_SIZE(cmd), err);
	int rc = body ? addresses_tell(f->cli, f->client, err) : err->code;

	if (rc < 0)
		return rc;
	if (json_object_set_new(body, "name", json_string(f->name)) < 0 ||
	    json_object_set_new(body, "shell", json_true()) < 0 ||
	    json_object_set_new(body, "create", json_false()) < 0)
		return err_nomem(err);
	str_copy(l.name, sizeof(l.name), f->name);
	say_info(f->cli, "%s does not run: it is started for this, and stopped",
		 f->name);
	rc = launch_go(&l, body, err);
	if (!f->worked)
		return rc > 0 ?
			       err_set(err, -EIO, "%s did not start", f->name) :
			       rc;
	if (f->rc < 0)
		*err = f->err;
	return f->rc;
}

static int work_there(struct fetch *f, const char *state, struct err *err)
{
	if (strcmp(state, "paused") == 0)
		return err_set(err, -EBUSY,
			       "'%s' is paused: `ac resume %s`, then fetch",
			       f->name, f->name);
	return strcmp(state, "running") == 0 ||
			       strcmp(state, "hibernated") == 0 ?
		       work(f, err) :
		       start_and_work(f, err);
}

/* ---- a directory of ours ---- */

/* Makes $AC_HOME/fetch/now, for us alone. What an earlier call left, which could
 * not clean up, is removed. */
static int temp_make(struct fetch *f, struct err *err)
{
	SCOPED_STR above = str_printf("%s/fetch", f->cli->home);
	int rc = above ? file_mkdir_p(above, 0700) : -ENOMEM;

	if (rc < 0)
		return err_set(err, rc, "%s/fetch: %s", f->cli->home,
			       err_text(rc));
	f->lock = open(above, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->lock < 0)
		return err_sys(err, "%s", above);
	if (flock(f->lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ?
			       err_set(err, -EBUSY,
				       "another `ac fetch` is at work: wait "
				       "for it") :
			       err_sys(err, "%s", above);
	f->temp = str_printf("%s/now", above);
	if (!f->temp)
		return err_nomem(err);
	rc = file_remove_tree(f->temp);
	if (rc < 0)
		return err_set(err, rc, "%s: %s", f->temp, err_text(rc));
	return mkdir(f->temp, 0700) < 0 ? err_sys(err, "%s", f->temp) : 0;
}

static void temp_remove(struct fetch *f)
{
	if (f->temp)
		file_remove_tree(f->temp);
	free(f->temp);
	fd_closep(&f->lock);
}

/* ---- output ---- */

static int print_json(const struct fetch *f, struct err *err)
{
	SCOPED_JSON refs = json_array();
	SCOPED_JSON all = NULL;

	for (size_t i = 0; refs && i < f->git.n_changed; i++) {
		const struct git_fetched *c = &f->git.changed[i];
		SCOPED_STR ref = str_printf(GIT_FETCH_NAMESPACE "%s/%s",
					    f->name, c->name);

		if (!ref ||
		    json_array_append_new(
			    refs,
			    json_pack("{s:s, s:s?, s:s, s:I, s:b}", "ref", ref,
				      "old", *c->old ? c->old : NULL, "new",
				      c->new, "commits", (json_int_t)c->commits,
				      "rewritten", c->rewritten)) < 0)
			return err_nomem(err);
	}
	all = json_pack("{s:s, s:o, s:O, s:I, s:b}", "name", f->name,
			"repository", jsonx_text(f->into.path), "refs", refs,
			"refused", (json_int_t)f->git.list.n_odd, "dry_run",
			args_has(f->args, ARG_ONLY_SHOW));
	return all ? cli_print_json(all, false, err) : err_nomem(err);
}

static void print_ref(const struct fetch *f, const struct git_fetched *c)
{
	char name[2 * FETCH_REF_NAME_MAX], count[40] = "no";

	cli_clean(name, sizeof(name), c->name);
	if (c->commits > 0)
		snprintf(count, sizeof(count), "%llu",
			 (unsigned long long)c->commits);
	printf("ac/%s/%s  %s new commit%s ", f->name, name, count,
	       c->commits == 1 ? "" : "s");
	if (*c->old)
		printf("(%.7s%s%.7s%s)\n", c->old, c->rewritten ? "..." : "..",
		       c->new, c->rewritten ? ", rewritten" : "");
	else
		printf("(%s, %.7s)\n",
		       strcmp(c->name, "HEAD") == 0 ? "detached" : "new branch",
		       c->new);
}

static int print(const struct fetch *f, struct err *err)
{
	const struct fetch_list *l = &f->git.list;

	if (l->n_odd > 0)
		say_error("warning: %zu branch%s of %s with a name that is "
			  "refused left out: '%s'%s",
			  l->n_odd, l->n_odd > 1 ? "es" : "", f->name, l->odd,
			  l->n_odd > 1 ? " and others" : "");
	if (f->cli->json)
		return print_json(f, err);
	for (size_t i = 0; i < f->git.n_changed; i++)
		print_ref(f, &f->git.changed[i]);
	if (f->git.n_changed == 0)
		puts("nothing new");
	else if (args_has(f->args, ARG_ONLY_SHOW))
		say_info(f->cli, "nothing was changed (--dry-run)");
	return fflush(stdout) == EOF ? cli_stdout_failed(err) : 0;
}

/* ---- the command ---- */

/* Returns the record, or NULL with @err. */
static json_t *look_up(struct fetch *f, struct err *err)
{
	json_t *rec = NULL;
	int rc = instance_call(f->client, "GET", f->name, "", NULL, &rec, err);

	if (rc == 0)
		rc = client_call(f->client, "GET", "/v1/instances", NULL,
				 &f->instances, err);
	if (rc == 0)
		rc = fetch_into_open(f->cli, rec, f->args->into,
				     json_object_get(f->instances, "instances"),
				     &f->into, err);
	if (rc == 0)
		return rec;
	json_decref(rec);
	return NULL;
}

/* Looks at the user's repository, which may lie elsewhere than the directory: of
 * a linked worktree. */
static int open_repository(struct fetch *f, struct err *err)
{
	struct dirwalk walk = { .fd = -1 };
	int rc;

	progress_begin(&f->progress, f->cli, "looking at your repository");
	rc = git_fetch_open(&f->git, !f->args->into, err);
	progress_stop(&f->progress);
	if (rc == -ENOTDIR)
		return err_wrap(err, "%s", f->into.path);
	if (rc < 0)
		return rc;
	rc = dirwalk_open(f->git.objects, DIRWALK_FOLLOW, &walk);
	if (rc < 0)
		err_set(err, rc, "%s: %s", f->git.objects, err_text(rc));
	else
		rc = fetch_into_check(
			walk.fd, f->git.objects,
			json_object_get(f->instances, "instances"), err);
	dirwalk_done(&walk);
	return rc;
}

static int fetch(struct fetch *f, struct err *err)
{
	SCOPED_JSON rec = look_up(f, err);
	int rc = rec ? temp_make(f, err) : err->code;

	if (rc < 0)
		return rc;
	f->git.dir = f->into.walk.fd;
	f->git.name = f->name;
	f->git.temp = f->temp;
	f->git.max = f->args->limit ? f->args->limit : PACK_MAX;
	f->git.tick = on_tick;
	f->git.arg = f;
	/* Asked before anything is started. */
	rc = open_repository(f, err);
	if (rc == 0)
		rc = work_there(f, json_text(rec, "state"), err);
	return rc < 0 ? rc : print(f, err);
}

static int where_is(struct fetch *f, struct err *err)
{
	const char *given = f->args->workdir;

	f->where = !given        ? str_printf("/workspace") :
		   *given == '/' ? str_printf("%s", given) :
				   str_printf("/workspace/%s", given);
	return f->where ? 0 : err_nomem(err);
}

int cmd_fetch(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	struct fetch f = { .cli = cli,
			   .plain = *cli,
			   .args = a,
			   .into = WORKSPACE_NONE,
			   .lock = -1,
			   .git = GIT_FETCH_INIT,
			   .pack = -1 };
	int rc = infer_instance(a->words[0], f.name, err);

	if (rc == 0)
		rc = where_is(&f, err);
	if (rc == 0)
		rc = host_client_after(cli, stopped_check, a, &c, err);
	f.client = c;
	f.plain.json = false;
	buf_init(&f.list, FETCH_LIST_MAX);
	if (rc == 0) {
		rc = fetch(&f, err);
		temp_remove(&f);
	}
	if (rc == -EINTR)
		rc = 128 + (git_caught() ? git_caught() : SIGINT);
	json_decref(f.instances);
	git_fetch_done(&f.git);
	workspace_done(&f.into);
	buf_done(&f.list);
	free(f.where);
	return rc;
}
