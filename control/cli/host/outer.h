/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outer.h - client of the outer engine, for what ac-host needs
 *
 * The engine is local, at a unix socket: DOCKER_HOST=unix://…, else
 * /var/run/docker.sock. All calls block. They return 0 or a negative errno with
 * @err, except where another result is given.
 */
#ifndef CONTROL_CLI_HOST_OUTER_H
#define CONTROL_CLI_HOST_OUTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "control/cli/host/outer_spec.h"
#include "lib/err.h"
#include "lib/buf.h"

#define OUTER_API_MAJOR 1
#define OUTER_API_MINOR 41 /* Docker 20.10: private cgroup namespaces */

struct outer;

struct outer_info {
	bool exists, running;
	int exit_code;
	char image[128]; /* it was made from, "ac/host:<tag>" */
	char build[32]; /* label ac.build */
	char home[4096]; /* label ac.home */
};

/* Connects and agrees on a version of the API; the caller closes *ret. Fails
 * with -EACCES and advice, -ECONNREFUSED, -EPROTO if the engine is too old,
 * -ENOTSUP if it is not local. */
int outer_open(struct outer **ret, struct err *err);
void outer_close(struct outer *o); /* NULL is fine */
/* Returns the engine's version, borrowed. */
const char *outer_version(const struct outer *o);

/* Like client_on_idle(). */
void outer_on_idle(struct outer *o, void (*fn)(void *arg), void *arg);

/* Describes a container. For a missing one, exists is false. */
int outer_inspect(struct outer *o, const char *name, struct outer_info *ret,
		  struct err *err);
int outer_create(struct outer *o, const struct outer_spec *spec,
		 struct err *err);
int outer_create_edge(struct outer *o, const struct outer_edge *spec,
		      struct err *err);
int outer_start(struct outer *o, const char *name, struct err *err);
/* Sends TERM, waits @seconds, sends KILL. A stopped or missing one is fine. */
int outer_stop(struct outer *o, const char *name, unsigned seconds,
	       struct err *err);
/* Remove a container, by force, or a volume. A missing one is fine. */
int outer_remove(struct outer *o, const char *name, struct err *err);
int outer_volume_remove(struct outer *o, const char *name, struct err *err);
/* Returns the name of ac-edge's container beside ac-host @host; the caller frees
 * it. NULL without memory. */
char *outer_edge_name(const char *host);
/* Removes that container, by force. One that serves another $AC_HOME than @home
 * stays; a missing one is fine. */
int outer_remove_edge(struct outer *o, const char *host, const char *home,
		      struct err *err);
/* Returns true if the engine has the image, false also after a failure. */
bool outer_has_image(struct outer *o, const char *image);
/* Writes the directory of images and volumes, "" if the engine does not tell
 * it. */
void outer_root_dir(struct outer *o, char *ret, size_t size);
/* Sets *ret to the last lines that a container wrote, at most @lines; to be
 * freed. */
int outer_logs(struct outer *o, const char *name, unsigned lines, char **ret,
	       struct err *err);

/*
 * Runs @argv in a temporary container of @image, with the directory @dir at
 * /workspace and @run_dir, $AC_HOME/run, at /run/ac. Sets *ret_out to its
 * output (to be freed). Returns its exit code or a negative errno.
 */
int outer_helper(struct outer *o, const char *image, const char *dir,
		 const char *run_dir, const char *const *argv, char **ret_out,
		 struct err *err);

/* Appends the bytes of logs in the engine's framing: u8 stream, 3 bytes, u32
 * length, bytes. An incomplete frame is taken as far as it goes. Returns 0 or
 * -ENOBUFS. */
int outer_demux(struct slice in, struct buf *out);

#endif
