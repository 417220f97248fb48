/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outer.h - the Docker engine of the user's machine, as far as ac-host
 * needs it
 *
 * A local engine at a unix socket: DOCKER_HOST=unix://…, else
 * /var/run/docker.sock. All calls block.
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
	char image[128]; /* as it was created from, "ac/host:<tag>" */
	char build[32]; /* label ac.build */
	char home[4096]; /* label ac.home */
};

/* Connects and agrees on a version of the API. -EACCES: the message says
 * what to run; -ECONNREFUSED; -EPROTO: too old; -ENOTSUP: not local. */
int outer_open(struct outer **ret, struct err *err);
void outer_close(struct outer *o); /* NULL is fine */
const char *outer_version(const struct outer *o); /* of the engine */

/* As client_on_idle(). */
void outer_on_idle(struct outer *o, void (*fn)(void *arg), void *arg);

/* A missing container is a success with exists = false. */
int outer_inspect(struct outer *o, const char *name, struct outer_info *ret,
		  struct err *err);
int outer_create(struct outer *o, const struct outer_spec *spec,
		 struct err *err);
int outer_start(struct outer *o, const char *name, struct err *err);
/* TERM, @seconds, KILL. Not running and missing are successes. */
int outer_stop(struct outer *o, const char *name, unsigned seconds,
	       struct err *err);
int outer_remove(struct outer *o, const char *name, struct err *err);
int outer_volume_remove(struct outer *o, const char *name, struct err *err);
bool outer_has_image(struct outer *o, const char *image);
/* Where the engine keeps images and volumes; "" when it does not say. */
void outer_root_dir(struct outer *o, char *ret, size_t size);
/* The last lines a container wrote, at most @lines; caller frees. */
int outer_logs(struct outer *o, const char *name, unsigned lines, char **ret,
	       struct err *err);

/*
 * Runs @argv in a short-lived container of @image that sees the directory
 * @dir at /workspace and $AC_HOME/run at /run/ac. *ret_out: what it
 * wrote (caller frees). Returns its exit code.
 */
int outer_helper(struct outer *o, const char *image, const char *dir,
		 const char *run_dir, const char *const *argv, char **ret_out,
		 struct err *err);

/* The engine's framing of logs: u8 stream, 3 bytes of nothing, u32 length,
 * bytes. Appends the bytes; cut frames are taken as far as they go. */
int outer_demux(struct slice in, struct buf *out);

#endif
