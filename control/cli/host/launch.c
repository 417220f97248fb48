/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - one process in a sandbox
 *
 * Theory of operation: acd never waits for the user's side. It refuses with a
 * word for what is missing (no_instance, project_needed, project_unapproved,
 * credential_missing, image_missing, workspace_needed, mounts_needed, edge_down,
 * starting, engine_down); we provide it and ask again. Each word but the last two
 * is answered once: a second refusal for the same reason is the result for the
 * user. A refused run has changed nothing, so we may end between any two.
 *
 * An exec is one request. Whether acd runs and speaks our API is asked only
 * after a failure, for its message.
 */
#include "control/cli/host/launch.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "control/cli/host/edge_box.h"
#include "control/cli/host/image_build.h"
#include "control/cli/host/host.h"
#include "control/cli/host/mount_list.h"
#include "control/cli/wire/upgrade.h"
#include "control/shared/json.h"
#include "lib/loop.h"
#include "lib/str.h"

#define WAIT_MS 60000u /* for an engine that restarts */
/* acd answers an exec from memory; more time means that it hangs. */
#define ANSWER_MS 60000u

static bool is_null_device(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
	       st.st_rdev == makedev(1, 3);
}

static bool is_open(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0;
}

void launch_set_stdio(struct launch *l, const struct args *a)
{
	bool in_tty = isatty(STDIN_FILENO) == 1;

	l->in = STDIN_FILENO;
	l->detached = args_has(a, ARG_DETACH);
	l->tty = args_has(a, ARG_TTY) ||
		 (!args_has(a, ARG_NO_TTY) && in_tty && l->cli->out_tty);
	if (l->detached || !is_open(STDIN_FILENO))
		l->use_stdin = false;
	else if (args_has(a, ARG_INTERACTIVE))
		l->use_stdin = true;
	else if (in_tty)
		l->use_stdin = l->tty;
	else
		l->use_stdin = !is_null_device(STDIN_FILENO);
}

int launch_set_keys(struct launch *l, const char *keys, struct err *err)
{
	const char *given = keys ? keys : getenv("AC_DETACH_KEYS");

	if (detach_parse(given ? given : DETACH_KEYS_DEFAULT, &l->detach) == 0)
		return 0;
	return err_set(err, -EINVAL,
		       "%s='%s' is no list of keys such as ctrl-p,ctrl-q",
		       keys ? "--detach-keys" : "AC_DETACH_KEYS", given);
}

static int set_size(json_t *body)
{
	uint16_t rows = 24, cols = 80;

	if (term_size(STDIN_FILENO, &rows, &cols) < 0)
		(void)term_size(STDOUT_FILENO, &rows, &cols);
	return json_object_set_new(body, "rows", json_integer(rows)) |
	       json_object_set_new(body, "cols", json_integer(cols));
}

int launch_refuse_text(const char *option, const char *text, size_t len,
		       struct err *err)
{
	char shown[64];

	return err_set(err, -EINVAL,
		       "%s'%s' is not UTF-8: it cannot be passed on as it is",
		       option, str_escape(shown, sizeof(shown), text, len));
}

/* Appends @word as it is: acd takes UTF-8 alone, and another word than the user's
 * must not be run. */
static int put_word(json_t *words, const char *word, struct err *err)
{
	SCOPED_JSON text = json_string(word);

	if (!text)
		return launch_refuse_text("", word, strlen(word), err);
	return json_array_append(words, text) < 0 ? err_nomem(err) : 0;
}

json_t *launch_body(const struct launch *l, char *const *cmd, size_t n_cmd,
		    struct err *err)
{
	SCOPED_JSON body = json_pack("{s:b, s:b, s:b}", "tty", l->tty, "stdin",
				     l->use_stdin, "detached", l->detached);
	SCOPED_JSON words = json_array();

	if (!body || !words) {
		err_nomem(err);
		return NULL;
	}
	for (size_t i = 0; i < n_cmd; i++)
		if (put_word(words, cmd[i], err) < 0)
			return NULL;
	if ((n_cmd > 0 && json_object_set(body, "cmd", words) < 0) ||
	    (l->tty && set_size(body) < 0)) {
		err_nomem(err);
		return NULL;
	}
	return ptr_take(&body);
}

static char *launch_path(const struct launch *l)
{
	SCOPED_STR rest = str_printf("/%s", l->verb);

	if (strcmp(l->verb, "run") == 0)
		return strdup("/v1/run");
	return rest ? client_path("/v1/instances/", l->name, rest) : NULL;
}

/* The workspace that the instance's record names. */
static int workspace_of_record(struct launch *l, struct workspace *ret,
			       struct err *err)
{
	SCOPED_STR path = client_path("/v1/instances/", l->name, "");
	SCOPED_JSON rec = NULL;
	int rc = path ? client_call(l->client, "GET", path, NULL, &rec, err) :
			err_nomem(err);

	if (rc == 0)
		rc = workspace_recorded(l->cli, json_text(rec, "workspace"),
					ret, err);
	if (rc == 0)
		ret->read_only =
			strcmp(json_text(rec, "workspace_mode"), "live") != 0;
	return rc;
}

/* Sends @ws, and writes into @body which directory that is. */
static int send_workspace(struct launch *l, const struct workspace *ws,
			  json_t *body, struct err *err)
{
	struct dir_id id;
	int rc = dirwalk_id(ws->walk.fd, &id);

	if (rc < 0)
		return err_set(err, rc, "workspace %s: %s", ws->path,
			       err_text(rc));
	if (l->on_workspace)
		l->on_workspace(l, ws, l->begun_arg);
	if (json_object_set_new(body, "workspace_dev",
				json_integer((json_int_t)id.dev)) < 0 ||
	    json_object_set_new(body, "workspace_ino",
				json_integer((json_int_t)id.ino)) < 0)
		return err_nomem(err);
	return workspace_send(l->cli, l->name, ws, err);
}

static int bring_workspace(struct launch *l, json_t *body, struct err *err)
{
	SCOPED_WORKSPACE stored = WORKSPACE_NONE;
	int rc;

	l->shows = true;
	if (l->workspace)
		return send_workspace(l, l->workspace, body, err);
	rc = workspace_of_record(l, &stored, err);
	return rc < 0 ? rc : send_workspace(l, &stored, body, err);
}

static int bring_mounts(struct launch *l, json_t *body, struct err *err)
{
	if (json_object_set_new(body, "mounts_sent", json_true()) < 0)
		return err_nomem(err);
	return mount_list_send(l->cli, l->client, l->name, l->blueprint, err);
}

/* Builds as `ac build` does: also what failed and has not changed since. */
static int build_wanted(struct launch *l, json_t *body, struct err *err)
{
	SCOPED_JSON how = json_pack("{s:b}", "retry", true);

	json_object_del(body, "build");
	return how ? build_image(l->cli, l->client, l->blueprint, how, err) :
		     err_nomem(err);
}

static int bring_image(struct launch *l, struct err *err)
{
	struct err ignored = { 0 };
	struct outer *o = NULL;
	int rc;

	/* A user who may not use the outer engine builds without this check. */
	(void)outer_open(&o, &ignored);
	rc = host_check_space(l->cli, o, true, err);
	outer_close(o);
	if (rc < 0)
		return rc;
	return build_image(l->cli, l->client, l->blueprint, NULL, err);
}

static int await_engine(struct launch *l, uint64_t since, struct err *err)
{
	const struct timespec pause = { .tv_nsec = 200 * 1000 * 1000 };

	if (clock_ms() - since > WAIT_MS)
		return err->code;
	nanosleep(&pause, NULL);
	return host_wait_ready(l->cli, l->client, NULL, err);
}

/* What was provided already after a refusal. */
struct asking {
	uint64_t since;
	bool instance, image, workspace, mounts, project, approval, edge;
	char credential[64]; /* the last one */
};

static int is_running(struct launch *l, const char *state, struct err *err)
{
	l->runs = strcmp(state, "running") == 0 ||
		  strcmp(state, "hibernated") == 0;
	return err_set(err, -EALREADY,
		       "'%s' is running already; `ac exec %s -- …` runs "
		       "something in it, `ac attach %s` joins it%s",
		       l->name, l->name, l->name,
		       l->reaches ? "; `ac policy mode` and `ac policy allow` "
				    "change what it may reach" :
				    "");
}

/* Sets which run was meant, which acd alone knows. */
static void take_names(struct launch *l, const char *instance,
		       const char *blueprint)
{
	if (*instance)
		snprintf(l->name, sizeof(l->name), "%s", instance);
	if (*blueprint)
		snprintf(l->blueprint, sizeof(l->blueprint), "%s", blueprint);
}

/* Returns true if @code is @word for the first time, which it notes. */
static bool is_first(const char *code, const char *word, bool *asked)
{
	if (*asked || strcmp(code, word) != 0)
		return false;
	*asked = true;
	return true;
}

/* Returns 0 to ask again, else the refusal in @err. */
static int answer_refusal(struct launch *l, const struct client_error *ce,
			  struct asking *asking, json_t *body, struct err *err)
{
	const char *code = ce->code;

	take_names(l, ce->instance, ce->blueprint);
	if (strcmp(code, "no_instance") == 0 && !asking->instance &&
	    l->on_new) {
		asking->instance = true;
		return l->on_new(l, body, err);
	}
	if (is_first(code, "project_needed", &asking->project) ||
	    is_first(code, "project_unapproved", &asking->approval))
		return l->on_project ? l->on_project(l, code, body, err) :
				       err->code;
	if (strcmp(code, "credential_missing") == 0 && l->on_lacks &&
	    strcmp(ce->credential, asking->credential) != 0) {
		snprintf(asking->credential, sizeof(asking->credential), "%s",
			 ce->credential);
		return l->on_lacks(l, ce->credential, body, err);
	}
	if (strcmp(code, "image_missing") == 0 &&
	    json_is_true(json_object_get(body, "build")))
		return build_wanted(l, body, err);
	if (strcmp(code, "image_missing") == 0 && !asking->image &&
	    *l->blueprint) {
		asking->image = true;
		return bring_image(l, err);
	}
	if (strcmp(code, "workspace_needed") == 0 && !asking->workspace) {
		asking->workspace = true;
		return bring_workspace(l, body, err);
	}
	if (is_first(code, "mounts_needed", &asking->mounts))
		return bring_mounts(l, body, err);
	if (is_first(code, "edge_down", &asking->edge))
		return edge_box_start(l->cli, l->client, err);
	/* "gateway_down" is final: the policy is refused, and only the user can
	 * fix it. A gateway that starts is "starting". */
	if (strcmp(code, "starting") == 0 || strcmp(code, "engine_down") == 0)
		return await_engine(l, asking->since, err);
	if (strcmp(code, "already_running") == 0)
		return is_running(l, ce->state, err);
	return err->code;
}

/* For detached runs; others get this message from acd. */
static void tell_open(const struct launch *l, const json_t *rec)
{
	const json_t *egress = json_object_get(rec, "egress");

	if (strcmp(json_text(egress, "mode"), "open") == 0)
		say_info(l->cli,
			 "egress open: it reaches every host that is not "
			 "denied, and all of that is written down; `ac policy "
			 "learn %s` makes a policy of it",
			 l->name);
}

static int start_detached(struct launch *l, const char *path,
			  const json_t *body, struct client_error *ce,
			  struct err *err)
{
	SCOPED_JSON rec = NULL;
	int rc = client_call(l->client, "POST", path, body, &rec, err);

	*ce = *client_error(l->client);
	if (rc < 0)
		return rc;
	take_names(l, json_text(rec, "name"), json_text(rec, "blueprint"));
	say_warnings(rec);
	tell_open(l, rec);
	if (l->silent) {
		l->begun = ptr_take(&rec);
		return 0;
	}
	if (l->cli->json)
		return cli_print_json(rec, false, err);
	/* The name is the result, so --quiet does not suppress it. */
	puts(l->name);
	return 0;
}

static void print_result(const struct launch *l, const struct pump_result *res)
{
	static const char *const kinds[] = { "exited",  "signaled", "noexec",
					     "timeout", "oom",      "lost",
					     "nocwd",   "limit" };
	const struct link_exit *x = &res->exit;
	const char *how = res->end == PUMP_DETACHED   ? "detached" :
			  res->end == PUMP_GIVEN_UP   ? "abandoned" :
			  x->kind < ARRAY_SIZE(kinds) ? kinds[x->kind] :
							"unknown";
	SCOPED_JSON line =
		json_pack("{s:s, s:s, s:i, s:I, s:I, s:I}", "name", l->name,
			  "end", how, "exit_code", res->code, "wall_ms",
			  (json_int_t)(x->wall_ns / 1000000), "user_ms",
			  (json_int_t)(x->user_us / 1000), "system_ms",
			  (json_int_t)(x->system_us / 1000));
	SCOPED_STR text = line ? json_dumps(line, JSON_COMPACT) : NULL;

	/* stdout belongs to the process. */
	if (text)
		fprintf(stderr, "%s\n", text);
}

static void tell_end(const struct launch *l, const struct pump_result *res)
{
	const struct link_exit *x = &res->exit;

	if (res->end == PUMP_DETACHED &&
	    (res->code == 0 || res->code == 128 + SIGINT)) {
		if (res->mid_line && !l->cli->quiet)
			fputc('\n', stderr);
		say_info(l->cli, "detached; `ac attach %s` comes back",
			 l->name);
	}
	if (res->end != PUMP_EXIT || res->noticed)
		return;
	if (res->mid_line && (x->kind == LINK_TIMEOUT || x->kind == LINK_OOM ||
			      x->kind == LINK_LOST || x->kind == LINK_NOEXEC))
		fputc('\n', stderr);
	if (x->kind == LINK_TIMEOUT)
		say_error("%s was ended at its time limit",
			  strcmp(l->verb, "exec") == 0 ? "the command" :
							 l->name);
	else if (x->kind == LINK_OOM)
		say_error("%s was killed: it ran out of its memory limit",
			  l->name);
	else if (x->kind == LINK_LOST)
		say_error("%s was lost: its sandbox went away (`ac inspect "
			  "%s`)",
			  l->name, l->name);
	else if (x->kind == LINK_NOEXEC)
		say_error("%s: %s", l->what ? l->what : "the command",
			  strerror((int)x->value));
}

static int stay(struct launch *l, const struct upgrade *up, struct err *err)
{
	struct pump_opts opts = {
		.sock = up->fd,
		.early = slice_of(up->early, up->n_early),
		.in = l->use_stdin || l->keys_only ? l->in : -1,
		.out = STDOUT_FILENO,
		.err = STDERR_FILENO,
		.tty = l->tty,
		.keys_only = l->keys_only,
		.shared = l->shared,
		.alone = strcmp(l->verb, "exec") == 0,
		.quiet = l->cli->quiet,
		.detach = l->detach,
		.sink = l->sink,
		.err_sink = l->err_sink,
		.escape_err = l->escape_err,
		.on_stdin = l->on_stdin,
		.arg = l->arg,
	};
	struct pump_result res;
	int rc;

	rc = pump_run(&opts, &res, err);
	if (rc < 0) {
		if (res.mid_line && l->tty)
			fputc('\n', stderr);
		return rc;
	}
	l->ended = res.end == PUMP_EXIT;
	tell_end(l, &res);
	if (l->cli->json)
		print_result(l, &res);
	if (res.out_error < 0)
		return err_set(err, res.out_error,
			       "cannot write to stdout: "
			       "%s",
			       err_text(res.out_error));
	return res.code;
}

/* Checks, once, whether acd could have answered at all. Returns 0 if it could;
 * else @err has the real failure. */
static int prove(struct launch *l, struct err *err)
{
	struct err found = { 0 };

	if (!l->unproven)
		return 0;
	l->unproven = false;
	if (host_connect(l->cli, l->client, &found) == 0)
		return 0;
	*err = found;
	return found.code;
}

int launch_go(struct launch *l, json_t *body, struct err *err)
{
	SCOPED_STR path = launch_path(l);
	struct asking asking = { .since = clock_ms() };
	struct client_error ce = { 0 };
	struct upgrade up = { .fd = -1 };
	int rc;

	if (!path || !body)
		return err_nomem(err);
	for (;;) {
		if (l->detached)
			rc = start_detached(l, path, body, &ce, err);
		else
			rc = upgrade_open(l->cli->sock, path, body,
					  l->unproven ? ANSWER_MS : 0, &up, &ce,
					  err);
		if (rc == 0)
			break;
		rc = prove(l, err);
		if (rc == 0)
			rc = answer_refusal(l, &ce, &asking, body, err);
		if (rc < 0)
			return rc;
	}
	take_names(l, up.instance, "");
	if (l->on_begun)
		l->on_begun(l, l->begun_arg);
	if (l->detached)
		return 0;
	rc = stay(l, &up, err);
	close(up.fd);
	return rc;
}
