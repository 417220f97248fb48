/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sbom.c - has a child list what is in an image (control/ac_sbom.c)
 *
 * The runtime mounts the image's layers, as for a sandbox, and the child is
 * started in them. acd reads the child's output up to a limit and does not look
 * into it.
 */
#include "control/acd/image/sbom.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/shared/paths.h"
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/proc.h"
#include "lib/sock.h"

struct image_sbom {
	struct images_world w;
	struct children *children;
	char *name, *digest, *tool;
	uint64_t created;
	void *hold; /* the mounted image, or NULL */
	pid_t pid; /* 0: not started, or ended */
	int code; /* when it has ended */
	int fd; /* its output; -1: not started, or at its end */
	struct loop_io *io;
	struct loop_timer *timer;
	struct buf out;
	image_sbom_fn fn; /* NULL: canceled */
	void *arg;
};

static unsigned running;
static const char *program = AC_LIBEXEC "/ac-sbom";

void image_sbom_set_program(const char *path)
{
	program = path;
}

static void sbom_free(struct image_sbom *b)
{
	if (b->pid) {
		children_forget(b->children, b->pid);
		kill(b->pid, SIGKILL);
	}
	if (b->hold)
		b->w.runtime->ops->image_close(b->w.runtime, b->hold);
	loop_del(b->io);
	loop_timer_free(b->timer);
	fd_closep(&b->fd);
	buf_done(&b->out);
	free(b->name);
	free(b->digest);
	free(b->tool);
	free(b);
	running--;
}

static void sbom_end(struct image_sbom *b, const struct err *err)
{
	if (b->fn)
		b->fn(b->arg, err ? slice_of(NULL, 0) : buf_slice(&b->out),
		      err);
	sbom_free(b);
}

static void sbom_fail(struct image_sbom *b, int rc, const char *what)
{
	struct err err = { 0 };

	err_set(&err, rc, "list what is in image '%s': %s", b->name,
		what ? what : err_text(rc));
	sbom_end(b, &err);
}

/* Its output and its process have ended. */
static void sbom_judge(struct image_sbom *b)
{
	struct slice out = buf_slice(&b->out);
	char said[200];

	if (b->pid || b->fd >= 0)
		return;
	if (b->code == 0 && out.len > 0) {
		sbom_end(b, NULL);
		return;
	}
	while (out.len > 0 && out.ptr[out.len - 1] == '\n')
		out.len--;
	str_escape(said, sizeof(said), out.ptr, out.len);
	sbom_fail(b, -EIO, said[0] ? said : "its reader died");
}

static void on_child(void *arg, pid_t pid, int status)
{
	struct image_sbom *b = arg;

	(void)pid;
	b->pid = 0;
	b->code = proc_code(status);
	sbom_judge(b);
}

static void on_output(void *arg, uint32_t events)
{
	struct image_sbom *b = arg;
	char mem[65536];
	ssize_t n = read(b->fd, mem, sizeof(mem));

	(void)events;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0) {
		int rc = buf_append(&b->out, mem, (size_t)n);

		if (rc < 0)
			sbom_fail(b, rc == -ENOBUFS ? -EMSGSIZE : rc, NULL);
		return;
	}
	loop_del(b->io);
	b->io = NULL;
	fd_closep(&b->fd);
	sbom_judge(b);
}

static void on_limit(void *arg)
{
	sbom_fail(arg, -ETIMEDOUT, NULL);
}

static int spawn(struct image_sbom *b, const char *dir, struct err *err)
{
	static const char *const env[] = { NULL };
	char created[24];
	const char *const argv[] = { program, b->name, b->digest,
				     created, b->tool, NULL };
	struct proc_opts opts = { .argv = argv,
				  .env = env,
				  .cwd = dir,
				  .fd = { -1, -1, -1 },
				  .die_with_parent = 1 };
	int fds[2], rc;

	snprintf(created, sizeof(created), "%llu",
		 (unsigned long long)b->created);
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	b->fd = fds[0];
	opts.fd[1] = fds[1];
	rc = fd_nonblock(b->fd, 1);
	if (rc == 0)
		rc = proc_spawn(&opts, &b->pid, err);
	close(fds[1]);
	if (rc < 0)
		return err->code < 0 ? rc : err_set(err, rc, "pipe");
	b->io = loop_add(b->w.loop, b->fd, EPOLLIN, on_output, b);
	if (!b->io || children_watch(b->children, b->pid, on_child, b) < 0)
		return err_nomem(err);
	loop_timer_set(b->timer, IMAGE_SBOM_MS);
	return 0;
}

static void on_opened(void *arg, const char *dir, void *hold,
		      const struct err *err)
{
	struct image_sbom *b = arg;
	struct err e = { 0 };

	b->hold = hold;
	if (!err && b->fn && spawn(b, dir, &e) < 0)
		err = &e;
	if (err || !b->fn)
		sbom_end(b, err);
}

/* Copies what the document says of the image. Returns 0 or -ENOMEM. */
static int copy_image(struct image_sbom *b, const struct image *i,
		      const char *tool)
{
	const char *tag = i->tags.n ? i->tags.v[0] : "image";
	const char *colon = strrchr(tag, ':');

	b->name = strndup(tag, colon ? (size_t)(colon - tag) : strlen(tag));
	b->digest = strdup(i->id + strlen("sha256:"));
	b->tool = strdup(tool);
	b->created = (uint64_t)i->created;
	return b->name && b->digest && b->tool ? 0 : -ENOMEM;
}

int image_sbom_start(const struct images_world *w, struct children *children,
		     const struct image *i, const char *tool, image_sbom_fn fn,
		     void *arg, struct image_sbom **ret, struct err *err)
{
	const struct runtime_ops *ops = w->runtime->ops;
	struct image_sbom *b;
	int rc;

	if (!ops->image_open)
		return err_set(err, -ENOTSUP,
			       "this runtime cannot read the files of an image "
			       "(AC_RUNTIME=docker)");
	if (running >= IMAGE_SBOMS_MAX)
		return err_set(err, -EBUSY,
			       "%u images are being read: try again later",
			       running);
	b = calloc(1, sizeof(*b));
	if (!b)
		return err_nomem(err);
	*b = (struct image_sbom){
		.w = *w, .children = children, .fd = -1, .fn = fn, .arg = arg
	};
	running++;
	buf_init(&b->out, IMAGE_SBOM_MAX);
	b->timer = loop_timer_new(w->loop, on_limit, b);
	rc = b->timer ? copy_image(b, i, tool) : -ENOMEM;
	if (rc == 0)
		rc = ops->image_open(w->runtime, i->id, on_opened, b);
	if (rc < 0) {
		sbom_free(b);
		return err_set(err, rc, "read the image: %s", err_text(rc));
	}
	*ret = b;
	return 0;
}

void image_sbom_cancel(struct image_sbom *b)
{
	if (!b)
		return;
	b->fn = NULL;
	/* Before it is mounted, on_opened() ends it. */
	if (b->hold)
		sbom_free(b);
}
