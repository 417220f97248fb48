/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.c - the running gateway: start, control thread, end
 *
 * Theory of operation
 *
 * The isolation depends on the order of the start:
 *
 *   1. signals are blocked, so that the control thread gets them all
 *   2. everything that needs root: admin socket, listeners, the audit's
 *      folder, the ready file, the socket that own.c uses
 *   3. isolate.h: mounts, ids, capabilities, system calls
 *   4. the audit is opened and the policy read, with the same rights that a
 *      rotation and a reload will have
 *   5. workers start: the first byte from a sandbox is read
 *   6. the ready file is written
 *
 * Whatever fails, nothing passes: only a worker can let anything out of a
 * sandbox. The control thread then waits for signals, the admin socket, records
 * of the audit, and the end of a reload.
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
#include "ottergate/policy/net/own.h"

#define ADMIN_BACKLOG 64
#define AUDIT_BYTES (64u * 1024 * 1024) /* until the policy sets it */
#define AUDIT_FILES 8u
#define AUDIT_RESERVE (64u * 1024 * 1024)
#define FOLDER_MODE 0750

struct start { /* opened before privileges are dropped */
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
	/* Only after the swap, in this thread: freeing what was compiled from a
	 * million rules would delay a worker's connections. */
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
	int rc;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	rc = loop_signals(g->loop, &set, gate_on_signal, g);
	return rc < 0 ? err_set(err, rc, "signals: %s", err_text(rc)) : 0;
}

/* Raises the limit of descriptors to the maximum; a connection needs two. Then
 * makes the kernel's table of them large while there is one thread. Later, each
 * time that it doubles, the kernel waits for all processors (RCU), and so do the
 * connections: 50 ms of a first second. */
static void files_prepare(void)
{
	SCOPED_FD any = open("/", O_PATH | O_CLOEXEC);
	SCOPED_FD last = -1;
	struct rlimit lim = { 0 };
	rlim_t n;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
		getrlimit(RLIMIT_NOFILE, &lim); /* as it is now */
	}
	n = lim.rlim_cur < GATE_FILES ? lim.rlim_cur : GATE_FILES;
	if (n > 0)
		last = fcntl(any, F_DUPFD_CLOEXEC, (int)n - 1);
	if (last < 0)
		log_warn("no room for %u descriptors ahead: %s", (unsigned)n,
			 err_text(-errno));
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

/* Rotation needs a folder that belongs to the process that will write. One that
 * is new or empty is chowned to us; any other must be ours already, so that a
 * wrong path cannot give a folder of the system away. */
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

/* Returns the folder of @path on the heap; NULL when out of memory. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") :
			       strndup(path, (size_t)(slash - path));
}

/* Runs with the rights that a later rotation will have, which therefore owns
 * the file. */
static int audit_start(struct gate *g, struct err *err)
{
	struct audit_opts opts;

	gate_audit_opts(g, &opts);
	g->audit = audit_new(g->loop, &opts, err);
	return g->audit ? 0 : err->code;
}

/* Without roots no server can be verified, so inspected hosts are unreachable,
 * but all others work. Missing roots that were named are an error. */
static int gate_roots(struct gate *g, struct err *err)
{
	struct err why = { 0 };
	int rc = itls_upstream_ctx(g->opts->roots, &g->tls, &why);

	if (rc < 0 && (g->opts->roots || rc == -ENOMEM)) {
		*err = why;
		return rc;
	}
	if (rc < 0)
		log_warn("nothing can be inspected: %s", why.msg);
	return 0;
}

static int gate_open(struct gate *g, struct start *s, struct err *err)
{
	int rc;

	files_prepare();
	rc = own_open(err);
	if (rc < 0)
		return rc;
	/* First, because it detects another running gateway. */
	if (g->opts->admin) {
		s->admin =
			sock_unix_listen(g->opts->admin, 0600, ADMIN_BACKLOG);
		if (s->admin < 0)
			return err_set(err, s->admin, "admin socket %s: %s",
				       g->opts->admin, err_text(s->admin));
	}
	/* Before the sockets: it takes some 20 ms, in which a client would wait
	 * for its answer. These files belong to the machine; policies are read
	 * without its rights. */
	rc = gate_roots(g, err);
	if (rc < 0)
		return rc;
	rc = gate_listen(g->opts, &s->listeners, err);
	if (rc < 0)
		return rc;
	if (g->opts->audit && !g->opts->keep_root) {
		s->audit_folder = folder_of(g->opts->audit);
		rc = s->audit_folder ? folder_own(s->audit_folder, err) :
				       err_nomem(err);
		if (rc < 0)
			return rc;
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
	int rc;

	if (g->opts->keep_root) {
		log_warn("NOT isolated: all rights of the caller are kept");
		return 0;
	}
	rc = isolate_root(writable, err);
	if (rc >= 0)
		rc = isolate_ids(ISOLATE_UID, ISOLATE_UID, err);
	if (rc >= 0)
		rc = isolate_seccomp(err);
	return rc;
}

static int gate_load(struct gate *g, struct err *err)
{
	struct lint lint = { 0 };
	struct audit_opts opts;
	int rc = gate_state_load(g->opts, &g->state, &lint, err);

	if (rc >= 0) {
		g->last_reload_ok = true;
		gate_audit_opts(g, &opts);
		audit_configure(g->audit, &opts);
		gate_reload_say(g, &lint, err);
	} else if (rc != -ENOMEM) {
		err_name(err, GATE_REFUSED);
	}
	lint_done(&lint);
	return rc;
}

static int gate_start_workers(struct gate *g, struct start *s, struct err *err)
{
	const struct strv *dns = &g->opts->dns;
	struct workers_opts opts = {
		.count = s->listeners.workers,
		.worker = { .self = g->opts->self,
			    .tls = g->tls,
			    .edge = g->opts->edge },
		.listeners = s->listeners.v,
		.n_listeners = s->listeners.n,
		.audit = g->audit,
	};
	int rc;

	if (dns->n == 0)
		dns = &policy_settings(gate_state_policy(g->state))
			       ->dns_upstream;
	for (size_t i = 0; i < dns->n; i++) {
		rc = strv_push(&g->dns, dns->v[i]);
		if (rc < 0)
			return err_set(err, rc, "%s", err_text(rc));
	}
	if (dns->n > 0)
		opts.dns_servers = (const char *const *)dns->v;
	rc = workers_start(&opts, gate_state_table(g->state), &g->workers, err);
	/* the workers own the sockets now */
	gate_listeners_done(&s->listeners, false);
	return rc;
}

/* Starts everything from the policy to the workers. */
static int gate_begin(struct gate *g, struct start *s, struct err *err)
{
	int rc = audit_start(g, err);

	if (rc >= 0)
		rc = gate_load(g, err);
	if (rc >= 0)
		rc = gate_start_workers(g, s, err);
	if (rc < 0)
		return rc;
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
	int rc;

	memory_init();
	g.loop = loop_new();
	if (!g.loop)
		return err_nomem(err);
	rc = signals_take(&g, err);
	if (rc >= 0)
		rc = gate_open(&g, &s, err);
	if (rc >= 0)
		rc = gate_isolate(&g, &s, err);
	if (rc >= 0)
		rc = gate_begin(&g, &s, err);
	if (rc >= 0) {
		rc = loop_run(g.loop);
		if (rc < 0)
			err_set(err, rc, "event loop: %s", err_text(rc));
	}
	gate_stop(&g, &s);
	return rc;
}
