/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.h - what every kind of sandbox can do, whoever runs it
 *
 * acd knows sandboxes through this table only. Calls return at once; the
 * outcome comes by callback from the event loop, exactly once, never before
 * the call returned. Errors are a filled struct err; NULL means success.
 * A NULL operation means that this runtime cannot do it (-ENOTSUP).
 */
#ifndef CONTROL_RUNTIME_H
#define CONTROL_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/loop.h"

struct runtime; /* an implementation's own state */

/* Borrowed for the time of the call. */
struct runtime_spec {
	const char *name; /* instance; also the sandbox's host name */
	const char *image; /* "ac/base:latest" */
	const char *isolation; /* "runsc" (default) or "crun" */
	const char *address; /* IPv4 on ac0, dotted */
	const char *workspace; /* directory of ac-host, shown at /workspace */
	bool workspace_ro;
	const char *home; /* directory of ac-host, shown at /home/node */
	uint64_t cpu_milli; /* thousandths of a CPU, 0: no limit */
	uint64_t memory; /* bytes, 0: no limit */
	uint64_t pids; /* processes the agent may have, 0: as many as there
			* is room for; the container's own limit is set above
			* it, since it counts the host's tasks */
	const char *gpus; /* NULL, "all" or device list */
	const char *runtime; /* "docker": through the engine in any case; else
			      * NULL or "runsc", which runs isolation runsc
			      * itself where it can */
	bool root_rw; /* the image's files are writable, for this life only */
	bool tmp_noexec;
	bool covered; /* mounts of ac-host hide paths of the workspace: only
		       * a process that has these mounts may open, move or
		       * remove files for the sandbox */
};

/*
 * How much may lie in /tmp, and as much in /var/tmp. Both are memory of the
 * sandbox: a quarter of its limit for each leaves room for /dev/shm and for who
 * fills them, who so gets ENOSPC instead of the end of the whole sandbox.
 */
static inline uint64_t runtime_tmp_bytes(const struct runtime_spec *spec)
{
	const uint64_t most = UINT64_C(1) << 30, quarter = spec->memory / 4;

	return spec->memory && quarter < most ? quarter : most;
}

/* What can be changed of a sandbox that runs; 0: no limit. */
struct runtime_limits {
	uint64_t cpu_milli, memory, pids; /* as in struct runtime_spec */
};

/* A started sandbox: @link_fd (owned by the receiver, non-blocking) is the
 * guest link, @id the runtime's own name for it (copy it). */
typedef void (*runtime_start_fn)(void *arg, int link_fd, const char *id,
				 const struct err *err);
typedef void (*runtime_done_fn)(void *arg, const struct err *err);

struct runtime_stats {
	uint64_t cpu_ns; /* since start */
	uint64_t memory, memory_limit; /* bytes */
	uint64_t pids; /* host tasks */
	uint64_t rx_bytes, tx_bytes;
};
typedef void (*runtime_stats_fn)(void *arg, const struct runtime_stats *st,
				 const struct err *err);

/* Why a sandbox ended, or who killed its main process. */
struct runtime_end {
	bool running; /* it has not ended */
	bool oom; /* the memory limit killed it */
	bool tasks; /* the machine refused it another task */
	int exit_code; /* of PID 1, 128+n for signals */
	char text
		[256]; /* last words on its stderr or the engine's, may be "" */
};
typedef void (*runtime_end_fn)(void *arg, const struct runtime_end *end,
			       const struct err *err);

/* One sandbox of ours that the runtime knows, for reconciliation. */
typedef void (*runtime_each_fn)(void *arg, const char *id, const char *name,
				bool running);

struct runtime_ops {
	const char *name;
	int (*start)(struct runtime *rt, const struct runtime_spec *spec,
		     runtime_start_fn fn, void *arg);
	/* TERM, @grace_ms, KILL. Already ended is success. */
	int (*stop)(struct runtime *rt, const char *id, uint64_t grace_ms,
		    runtime_done_fn fn, void *arg);
	/* Kills if needed, deletes. Already gone is success. */
	int (*remove)(struct runtime *rt, const char *id, runtime_done_fn fn,
		      void *arg);
	int (*stats)(struct runtime *rt, const char *id, runtime_stats_fn fn,
		     void *arg);
	/* Returns at once the host's process that writes all files of the
	 * sandbox (gVisor's kernel); 0: there is no such process, or it is not
	 * known, or it has ended. NULL: it is never known. */
	pid_t (*writer)(struct runtime *rt, const char *id);
	/* @lost: its link closed, so it is about to end, which is waited for
	 * a little; otherwise the answer is as of now. */
	int (*end)(struct runtime *rt, const char *id, bool lost,
		   runtime_end_fn fn, void *arg);
	int (*list)(struct runtime *rt, runtime_each_fn each,
		    runtime_done_fn fn, void *arg);
	/* NULL: the limits of the start stay. */
	int (*update)(struct runtime *rt, const char *id,
		      const struct runtime_limits *limits, runtime_done_fn fn,
		      void *arg);
	int (*freeze)(struct runtime *rt, const char *id, bool frozen,
		      runtime_done_fn fn, void *arg);
	int (*checkpoint)(struct runtime *rt, const char *id, const char *dir,
			  runtime_done_fn fn, void *arg);
	int (*restore)(struct runtime *rt, const struct runtime_spec *spec,
		       const char *dir, runtime_start_fn fn, void *arg);
	/* At once: can a sandbox get @gpus here? The reason not is in @err.
	 * NULL: never. */
	int (*has_gpus)(struct runtime *rt, const char *gpus, struct err *err);
	/* Images: does it have @image; bytes used; drop what is unused. */
	int (*has_image)(struct runtime *rt, const char *image,
			 runtime_done_fn fn, void *arg); /* -ENOENT: no */
	int (*df)(struct runtime *rt,
		  void (*fn)(void *arg, uint64_t image_bytes,
			     uint64_t cache_bytes, const struct err *err),
		  void *arg);
	int (*prune)(struct runtime *rt, bool images, runtime_done_fn fn,
		     void *arg); /* all containers, build cache, images */
	void (*free)(struct runtime *rt);
};

struct runtime {
	const struct runtime_ops *ops;
};

/* Over the Docker Engine API at a unix socket; link descriptors come through
 * /run/ac/runtime.sock from the OCI runtime wrapper (ac-runtime). */
struct runtime *runtime_docker_new(struct loop *loop, const char *engine_sock,
				   const char *runtime_sock, struct err *err);

struct children;
struct engine;

/*
 * Over runsc alone: bundle, root file system, network namespace and cgroup
 * are made by acd. Whatever it does not do itself (other kinds of isolation,
 * GPUs, images) goes to @docker. @engine answers what layers an image has.
 * It owns both from then on, also when this fails. @children, borrowed, is
 * told of runsc's processes.
 */
struct runtime *runtime_runsc_new(struct loop *loop, struct children *children,
				  struct engine *engine, struct runtime *docker,
				  struct err *err);

#endif
