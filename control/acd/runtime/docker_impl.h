/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_impl.h - shared by the files that make up the docker runtime
 */
#ifndef CONTROL_ACD_RUNTIME_DOCKER_IMPL_H
#define CONTROL_ACD_RUNTIME_DOCKER_IMPL_H

#include <sys/queue.h>

#include "control/acd/runtime/engine.h"
#include "control/acd/guest/links.h"
#include "control/runtime.h"

/* A sandbox's name in the engine is this and its instance's name, to avoid
 * names that are given by hand in ac-host. */
#define DOCKER_NAME_PREFIX "ac-"

struct docker {
	struct runtime rt; /* first */
	struct loop *loop;
	struct engine *engine;
	struct links *links;
	LIST_HEAD(docker_pins, docker_pin) pins;
};

static inline struct docker *docker_of(struct runtime *rt)
{
	return (struct docker *)rt;
}

/* Writes "/containers/<id><verb>" to @out. Returns 0, -EINVAL without an id, or
 * -ENOBUFS. */
int docker_path(char *out, size_t size, const char *id, const char *verb);
/* Makes a call whose answer is only success or failure. Returns 0, and calls
 * @fn later, or a negative errno. */
int docker_do(struct docker *d, const char *method, const char *path,
	      uint64_t timeout_ms, runtime_done_fn fn, void *arg);
/* Removes a container by force, by id or name; it may be gone already. Returns
 * like docker_do(). */
int docker_remove(struct docker *d, const char *id, runtime_done_fn fn,
		  void *arg);

/* docker_net.c: pins the port of the container to @address. Returns like
 * docker_do(). docker_unpin(), which is fine without a pin, or
 * docker_unpin_all() undoes it. */
int docker_pin(struct docker *d, const char *id, const char *address,
	       runtime_done_fn fn, void *arg);
void docker_unpin(struct docker *d, const char *id);
void docker_unpin_all(struct docker *d);
/* See "writer" in control/runtime.h. Knows only containers with a pin. */
pid_t docker_op_writer(struct runtime *rt, const char *id);

/* See the operations of these names in control/runtime.h. */
int docker_op_stats(struct runtime *rt, const char *id, runtime_stats_fn fn,
		    void *arg);
int docker_op_end(struct runtime *rt, const char *id, bool lost,
		  runtime_end_fn fn, void *arg);
int docker_op_list(struct runtime *rt, runtime_each_fn each, runtime_done_fn fn,
		   void *arg);
int docker_op_has_image(struct runtime *rt, const char *image,
			runtime_image_fn fn, void *arg);
int docker_op_df(struct runtime *rt,
		 void (*fn)(void *arg, uint64_t image_bytes,
			    uint64_t cache_bytes, const struct err *err),
		 void *arg);
int docker_op_prune(struct runtime *rt, bool images, runtime_done_fn fn,
		    void *arg);

#endif
