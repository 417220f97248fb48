/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.c - the running gateway: start, control thread, end
 *
 * Theory of operation
 *
 * The order of the start is what the isolation rests on:
 *
 *	1. signals are blocked, so that each goes to the control thread
 *	2. everything that needs root is done: admin socket, listeners, the
 *	   audit's folder, the ready file, the socket that own.c asks by
 *	3. isolate.h: mounts, ids, capabilities, system calls
 *	4. the audit is opened and the policy read, with no more rights than
 *	   a rotation and a reload will have
 *	5. workers start: the first byte from a sandbox is read
 *	6. the ready file is written
 *
 * Whatever fails, nothing is let through: there is no way out of a sandbox
 * but through a worker. The control thread then waits: for signals, for the
 * admin socket, for records of the audit, for the end of a reload.
 */
#include "ottergate/run/gate.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "lib/log.h"
#include "lib/sock.h"
#include "ottergate/run/gate_impl.h"
#include "ottergate/run/isolate.h"
#include "ottergate/inspect/itls.h"
#include "lib/memory.h"
#include "ottergate/policy/own.h"

#define ADMIN_BACKLOG 64
#define AUDIT_BYTES (64u * 1024 * 1024) /* until the policy says otherwise */
#define AUDIT_FILES 8u
#define AUDIT_RESERVE (64u * 1024 * 1024)
#define FOLDER_MODE 0750

struct start { /* what is open before the rights are gone */
	struct gate_listeners listeners;
	int admin, ready;
	char *audit_folder;
};

static void gate_audit_opts(const struct gate *g, struct audit_opts *ret)
{
	const struct gate_settings *set =
		g->state ? policy_settings(gate_state_policy(g->state)) : NULL;

	*ret = (struct audit_opts){ .path = g->opts->audit,
				    .max_bytes = AUDIT_BYTES,
				    .files = AUDIT_FILES,
				    .reserve = AUDIT_RESERVE,
				    .on_full_deny = true,
				    .events = AUDIT_EVENTS_DEFAULT };
	if (!set)
		return;
	ret->max_bytes = set->audit_max_bytes;
	ret->files = set->audit_files;
	ret->on_full_deny = set->audit_on_full_deny;
	ret->events = set->audit_events;
}

void gate_apply(struct gate *g, struct table *old)
{
	struct audit_opts opts;

	workers_swap(g->workers, gate_state_table(g->state));
	/* Only now: what was compiled of a million rules is not to be freed by
	 * a worker that has others waiting. */
	table_unref(old);
	gate_audit_opts(g, &opts);
	audit_configure(g->audit, &opts);
}

struct metrics_view gate_metrics(const struct gate *g)
{
	return (struct metrics_view){
		.workers = g->workers,
		.table = gate_state_table(g->state),
		.policy = gate_state_policy(g->state),
		.audit = g->audit,
		.started_ms = g->started_ms,
		.reloads = g->reloads,
		.reload_failures = g->reload_failures,
		.last_reload_ok = g->last_reload_ok,
	};
}

static void gate_on_signal(void *arg, int signo)
{
	struct gate *g = arg;

	if (signo == SIGHUP)
		gate_reload_ask(g->reload);
	else
		loop_stop(g->loop, 0);
}

static void gate_trim(void *arg)
{
	struct gate *g = arg;

	memory_trim();
	loop_timer_set(g->trim, MEMORY_TRIM_MS);
}

static int signals_take(struct gate *g, struct err *err)
{
	sigset_t set;
	int r;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	r = loop_signals(g->loop, &set, gate_on_signal, g);
	return r < 0 ? err_set(err, r, "signals: %s", err_text(r)) : 0;
}

/* As many descriptors as this process may ever have: two for a connection. */
static void files_raise(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

static bool folder_is_empty(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	SCOPED_DIR dir = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *d;

	if (!dir) {
		fd_closep(&copy);
		return false;
	}
	while ((d = readdir(dir)))
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			return false;
	return true;
}

/*
 * Rotation needs a folder that belongs to who will write. One that is new or
 * empty is made ours; any other must be already, so that no slip of a path
 * gives a folder of the system away.
 */
static int folder_own(const char *path, struct err *err)
{
	SCOPED_FD fd = -1;
	struct stat st;

	if (mkdir(path, FOLDER_MODE) < 0 && errno != EEXIST)
		return err_sys(err, "make %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "open %s", path);
	if (st.st_uid == ISOLATE_UID)
		return 0;
	if (!folder_is_empty(fd))
		return err_set(err, -EPERM,
			       "%s must belong to uid %u, or be empty", path,
			       ISOLATE_UID);
	if (fchown(fd, ISOLATE_UID, ISOLATE_UID) < 0)
		return err_sys(err, "chown %s", path);
	return 0;
}

/* The folder of @path, heap. NULL: out of memory. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") :
			       strndup(path, (size_t)(slash - path));
}

/* With the rights of who will rotate the file: whatever is made here is his.
 */
static int audit_start(struct gate *g, struct err *err)
{
	struct audit_opts opts;

	gate_audit_opts(g, &opts);
	g->audit = audit_new(g->loop, &opts, err);
	return g->audit ? 0 : err->code;
}

static int gate_open(struct gate *g, struct start *s, struct err *err)
{
	int r;

	files_raise();
	r = own_open(err);
	if (r < 0)
		return r;
	/* The admin socket first: it is what tells of another gateway. */
	if (g->opts->admin) {
		s->admin =
			sock_unix_listen(g->opts->admin, 0600, ADMIN_BACKLOG);
		if (s->admin < 0)
			return err_set(err, s->admin, "admin socket %s: %s",
				       g->opts->admin, err_text(s->admin));
	}
	r = gate_listen(g->opts, &s->listeners, err);
	if (r < 0)
		return r;
	if (g->opts->audit && !g->opts->keep_root) {
		s->audit_folder = folder_of(g->opts->audit);
		r = s->audit_folder ? folder_own(s->audit_folder, err) :
				      err_nomem(err);
		if (r < 0)
			return r;
	}
	if (g->opts->ready) {
		s->ready = open(g->opts->ready,
				O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (s->ready < 0)
			return err_sys(err, "open %s", g->opts->ready);
	}
	return 0;
}

static int gate_isolate(const struct gate *g, const struct start *s,
			struct err *err)
{
	const char *const writable[] = { s->audit_folder, NULL };
	int r;

	if (g->opts->keep_root) {
		log_warn("NOT isolated: all rights of the caller are kept");
		return 0;
	}
	r = isolate_root(writable, err);
	if (r >= 0)
		r = isolate_ids(ISOLATE_UID, ISOLATE_UID, err);
	if (r >= 0)
		r = isolate_seccomp(err);
	return r;
}

static int gate_load(struct gate *g, struct err *err)
{
	struct lint lint = { 0 };
	struct audit_opts opts;
	int r = gate_state_load(g->opts, &g->state, &lint, err);

	if (r >= 0) {
		g->last_reload_ok = true;
		gate_audit_opts(g, &opts);
		audit_configure(g->audit, &opts);
		gate_reload_say(g, &lint, err);
	} else if (r != -ENOMEM) {
		err_name(err, GATE_REFUSED);
	}
	lint_done(&lint);
	return r;
}

static int gate_start_workers(struct gate *g, struct start *s, struct err *err)
{
	const struct strv *dns = &g->opts->dns;
	struct workers_opts opts = {
		.count = s->listeners.workers,
		.worker = { .self = g->opts->self, .tls = g->tls },
		.listeners = s->listeners.v,
		.n_listeners = s->listeners.n,
		.audit = g->audit,
	};
	int r;

	if (dns->n == 0)
		dns = &policy_settings(gate_state_policy(g->state))
			       ->dns_upstream;
	for (size_t i = 0; i < dns->n; i++) {
		r = strv_push(&g->dns, dns->v[i]);
		if (r < 0)
			return err_set(err, r, "%s", err_text(r));
	}
	if (dns->n > 0)
		opts.dns_servers = (const char *const *)dns->v;
	r = workers_start(&opts, gate_state_table(g->state), &g->workers, err);
	gate_listeners_done(&s->listeners, false); /* they are taken */
	return r;
}

/* Without roots no server proves who it is, so what is to be inspected cannot
 * be reached; all else can. Roots that were named and are not there are an
 * error. */
static int gate_roots(struct gate *g, struct err *err)
{
	struct err why = { 0 };
	int r = itls_upstream_ctx(g->opts->roots, &g->tls, &why);

	if (r < 0 && (g->opts->roots || r == -ENOMEM)) {
		*err = why;
		return r;
	}
	if (r < 0)
		log_warn("nothing can be inspected: %s", why.msg);
	return 0;
}

/* From the policy to the first byte of a sandbox. */
static int gate_begin(struct gate *g, struct start *s, struct err *err)
{
	int r = audit_start(g, err);

	if (r >= 0)
		r = gate_load(g, err);
	if (r >= 0)
		r = gate_roots(g, err);
	if (r >= 0)
		r = gate_start_workers(g, s, err);
	if (r < 0)
		return r;
	g->trim = loop_timer_new(g->loop, gate_trim, g);
	if (!g->trim)
		return err_nomem(err);
	loop_timer_set(g->trim, MEMORY_TRIM_MS);
	g->reload = gate_reload_new(g, err);
	if (!g->reload)
		return err->code;
	if (s->admin >= 0) {
		g->admin = admin_server_new(g, fd_take(&s->admin), err);
		if (!g->admin)
			return err->code;
	}
	if (s->ready >= 0 && write(s->ready, "1\n", 2) != 2)
		return err_sys(err, "write %s", g->opts->ready);
	return 0;
}

static void gate_stop(struct gate *g, struct start *s)
{
	loop_timer_free(g->trim);
	admin_server_free(g->admin);
	gate_reload_free(g->reload);
	workers_stop(g->workers);
	SSL_CTX_free(g->tls);
	gate_state_free(g->state);
	audit_free(g->audit);
	gate_listeners_done(&s->listeners, true);
	fd_closep(&s->admin);
	fd_closep(&s->ready);
	free(s->audit_folder);
	strv_done(&g->dns);
	own_close();
	loop_free(g->loop);
}

int gate_run(const struct gate_opts *opts, struct err *err)
{
	struct start s = { .admin = -1, .ready = -1 };
	struct gate g = { .opts = opts, .started_ms = clock_ms() };
	int r;

	memory_init();
	g.loop = loop_new();
	if (!g.loop)
		return err_nomem(err);
	r = signals_take(&g, err);
	if (r >= 0)
		r = gate_open(&g, &s, err);
	if (r >= 0)
		r = gate_isolate(&g, &s, err);
	if (r >= 0)
		r = gate_begin(&g, &s, err);
	if (r >= 0) {
		r = loop_run(g.loop);
		if (r < 0)
			err_set(err, r, "event loop: %s", err_text(r));
	}
	gate_stop(&g, &s);
	return r;
}
