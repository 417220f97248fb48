/* SPDX-License-Identifier: Apache-2.0 */
/*
 * df_call.c - what takes room: images by the runtime, trees by a child
 *
 * A workspace may hold millions of files, in shapes that a sandbox chose. So a
 * forked child finds the sizes and writes one row of fixed size for each
 * instance or volume to a pipe. It gets SURVEY_LIMIT_MS; what it has not reached is
 * null.
 */
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <sys/statvfs.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/daemon/children.h"
#include "control/acd/storage/disk.h"
#include "control/acd/storage/mounts.h"
#include "control/acd/storage/snapshot.h"
#include "control/acd/storage/store.h"
#include "control/acd/storage/volumes.h"
#include "control/shared/json.h"
#include "control/shared/paths.h"
#include "lib/file.h"
#include "lib/sock.h"
#include "lib/str.h"

#define SURVEY_LIMIT_MS 60000u

enum tree {
	TREE_WORKSPACE,
	TREE_LAYER,
	TREE_HOME,
	TREE_LOG,
	TREE_SNAPSHOTS,
	TREES
};

static const char *const tree_names[TREES] = { "workspace", "layer", "home",
					       "log", NULL };

struct row {
	uint64_t bytes[TREES]; /* UINT64_MAX: unknown */
	struct disk_use disk;
};

struct df {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
	unsigned pending; /* answers of runtime and child */
	struct strv names; /* of instances, then of volumes */
	size_t n_instances;
	struct row *rows; /* one for each name; of a volume its first tree */
	size_t got; /* bytes read */
	uint64_t images, cache;
	struct err err; /* of the runtime */
	pid_t pid; /* 0: ended or not started */
	int fd;
	struct loop_io *io;
	struct loop_timer *timer;
};

static void df_free(struct df *df)
{
	if (df->pid) {
		children_forget(df->acd->children, df->pid);
		kill(df->pid, SIGKILL);
	}
	loop_del(df->io);
	loop_timer_free(df->timer);
	fd_closep(&df->fd);
	strv_done(&df->names);
	free(df->rows);
	free(df);
}

static json_t *bytes_json(uint64_t bytes)
{
	return bytes > INT64_MAX ? json_null() :
				   json_integer((json_int_t)bytes);
}

static const struct row *row_of(const struct df *df, size_t i)
{
	static struct row none;

	memset(none.bytes, 0xff, sizeof(none.bytes));
	return i < df->got / sizeof(*df->rows) ? &df->rows[i] : &none;
}

static json_t *volumes_json(const struct df *df)
{
	json_t *list = json_array();

	for (size_t i = df->n_instances; i < df->names.n; i++)
		json_array_append_new(
			list,
			json_pack("{s:s, s:o}", "name", df->names.v[i], "bytes",
				  bytes_json(row_of(df, i)->bytes[0])));
	return list;
}

static uint64_t tree_bytes(char *new_path)
{
	SCOPED_STR path = new_path;
	uint64_t bytes = UINT64_MAX;

	if (path && file_tree_size(path, &bytes) == -ENOENT)
		return 0; /* it never ran */
	return bytes;
}

/* Three files for each sandbox that hibernates: no work for the child. */
static uint64_t hibernated_bytes(void)
{
	return tree_bytes(strdup(AC_STATE_INSTANCES "/.asleep"));
}

static json_t *df_json(const struct df *df)
{
	json_t *list = json_array();
	struct statvfs fs = { 0 };

	for (size_t i = 0; i < df->n_instances; i++) {
		const struct row *r = row_of(df, i);

		json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
				  df->names.v[i], "workspace_bytes",
				  bytes_json(r->bytes[TREE_WORKSPACE]),
				  "layer_bytes",
				  bytes_json(r->bytes[TREE_LAYER]),
				  "home_bytes", bytes_json(r->bytes[TREE_HOME]),
				  "log_bytes", bytes_json(r->bytes[TREE_LOG]),
				  "snapshots_bytes",
				  bytes_json(r->bytes[TREE_SNAPSHOTS]), "disk",
				  disk_use_json(&r->disk)));
	}
	statvfs(AC_STATE, &fs);
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "hibernated_bytes", bytes_json(hibernated_bytes()),
			 "images_bytes", bytes_json(df->images), "cache_bytes",
			 bytes_json(df->cache), "instances", list, "volumes",
			 volumes_json(df), "disk_free_bytes",
			 bytes_json((uint64_t)fs.f_bavail * fs.f_frsize),
			 "disk_total_bytes",
			 bytes_json((uint64_t)fs.f_blocks * fs.f_frsize));
}

/* One answer is there; after the second the request is answered. */
static void df_done(struct df *df)
{
	if (--df->pending)
		return;
	if (df->req && df->err.code)
		http_reply_error(df->req, &df->err, NULL);
	else if (df->req)
		http_reply_json(df->req, 200, df_json(df));
	df_free(df);
}

static void on_runtime(void *arg, uint64_t image_bytes, uint64_t cache_bytes,
		       const struct err *err)
{
	struct df *df = arg;

	if (err)
		df->err = *err;
	df->images = image_bytes;
	df->cache = cache_bytes;
	df_done(df);
}

/* End of the pipe: the child is about to end, or was killed. */
static void survey_end(struct df *df)
{
	loop_del(df->io);
	df->io = NULL;
	loop_timer_clear(df->timer);
	df_done(df);
}

static void on_rows(void *arg, uint32_t events)
{
	struct df *df = arg;
	size_t all = df->names.n * sizeof(*df->rows);
	ssize_t n = read(df->fd, (char *)df->rows + df->got, all - df->got);

	(void)events;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0)
		df->got += (size_t)n;
	else
		survey_end(df);
}

static void on_limit(void *arg)
{
	const struct df *df = arg;

	if (df->pid)
		kill(df->pid, SIGKILL);
}

static void on_child(void *arg, pid_t pid, int status)
{
	struct df *df = arg;

	(void)pid;
	(void)status;
	df->pid = 0;
}

static int survey_one(const char *name, struct row *row)
{
	SCOPED_STR dir = str_printf(AC_STATE_INSTANCES "/%s", name);
	char at[PATH_MAX];

	if (!dir)
		return -ENOMEM;
	mounts_disk_path(name, at);
	disk_look(dir, at, &row->disk);
	row->bytes[TREE_SNAPSHOTS] =
		tree_bytes(snapshot_path(AC_STATE_INSTANCES, name, NULL));
	for (size_t t = 0; t < TREE_SNAPSHOTS; t++) {
		/* Without a mount of disk.img only the sum is known. */
		bool in_file = row->disk.held == DISK_FILE && t != TREE_LOG;

		row->bytes[t] = in_file && access(at, F_OK) < 0 ?
					UINT64_MAX :
					tree_bytes(str_printf(
						"%s/%s", in_file ? at : dir,
						tree_names[t]));
	}
	return 0;
}

/* Runs in the child. Closes all of acd's descriptors: a client whose connection
 * acd closes would not notice. */
static ATTR_NORETURN void survey(const struct df *df, int out)
{
	if (dup2(out, 0) < 0 || close_range(1, ~0u, 0) < 0)
		_exit(1);
	for (size_t i = 0; i < df->names.n; i++) {
		const char *name = df->names.v[i];
		struct row row = { 0 };

		if (i >= df->n_instances)
			row.bytes[0] = volume_bytes(name);
		if ((i < df->n_instances && survey_one(name, &row) < 0) ||
		    fd_write_all(0, &row, sizeof(row)) < 0)
			_exit(1);
	}
	_exit(0);
}

static int survey_start(struct df *df, struct err *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	SCOPED_FD out = fds[1];

	df->fd = fds[0];
	df->io = loop_add(df->acd->loop, df->fd, EPOLLIN, on_rows, df);
	df->timer = loop_timer_new(df->acd->loop, on_limit, df);
	if (!df->io || !df->timer || fd_nonblock(df->fd, 1) < 0)
		return err_sys(err, "watch the survey");
	df->pid = fork();
	if (df->pid < 0) {
		df->pid = 0;
		return err_sys(err, "fork");
	}
	if (df->pid == 0)
		survey(df, out);
	if (children_watch(df->acd->children, df->pid, on_child, df) < 0) {
		kill(df->pid, SIGKILL);
		df->pid = 0;
		return err_nomem(err);
	}
	loop_timer_set(df->timer, SURVEY_LIMIT_MS);
	return 0;
}

static void df_on_abort(void *arg)
{
	struct df *df = arg;

	df->req = NULL;
	on_limit(df);
}

static int add_name(void *arg, const struct instance_record *r)
{
	return strv_push(arg, r->name);
}

static struct df *df_new(struct acd *acd, struct err *err)
{
	struct df *df = calloc(1, sizeof(*df));
	struct err ignored = { 0 };

	if (!df) {
		err_nomem(err);
		return NULL;
	}
	df->acd = acd;
	df->fd = -1;
	if (store_each(acd->store, add_name, &df->names, err) == 0) {
		df->n_instances = df->names.n;
		/* Without a list of volumes, instances are shown. */
		volumes_names(&df->names, &ignored);
		df->rows = calloc(df->names.n + 1, sizeof(*df->rows));
		if (!df->rows)
			err_nomem(err);
	}
	if (!df->rows || survey_start(df, err) < 0) {
		df_free(df);
		return NULL;
	}
	return df;
}

void api_df(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct runtime *rt = acd->runtime;
	struct err err = { 0 };
	struct df *df = df_new(acd, &err);
	int rc = -ENOTSUP;

	if (!df) {
		http_reply_error(req, &err, NULL);
		return;
	}
	df->req = req;
	df->pending = 2;
	http_on_abort(req, df_on_abort, df);
	if (rt->ops->df)
		rc = rt->ops->df(rt, on_runtime, df);
	if (rc < 0) {
		err_set(&df->err, rc, "ask the runtime: %s", err_text(rc));
		df_done(df);
	}
}
