/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.h - what every kind of sandbox runtime can do
 *
 * acd handles sandboxes through this table only. An operation returns 0 at
 * once, and its callback comes later from the event loop, exactly once; or it
 * returns a negative errno and there is no callback. An operation whose comment
 * says so never has one. In a callback, @err is NULL on success; on failure all
 * other results are NULL or 0, and a descriptor is -1. Strings that an operation or a callback gets are borrowed for the
 * call. An operation that is NULL is not supported: its caller answers
 * -ENOTSUP.
 */
#ifndef CONTROL_RUNTIME_H
#define CONTROL_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/loop.h"

struct buf;
struct runtime; /* an implementation's own state */

#define RUNTIME_MOUNTS_MAX 16u

/* A directory of ac-host that a sandbox is shown besides its own. */
struct runtime_mount {
	const char *from; /* of ac-host */
	const char *to; /* AC_MNT/NAME; AC_MNT itself must have NAME */
	bool ro;
};

/* Borrowed for the time of the call. */
struct runtime_spec {
	const char *name; /* instance's; also the sandbox's host name */
	const char *image; /* "ac/base:latest" */
	const char *isolation; /* "runsc" (default) or "crun" */
	const char *address; /* IPv4 on ac0, dotted */
	const char *workspace; /* directory of ac-host, shown at /workspace */
	bool workspace_ro;
	const char *home; /* directory of ac-host, shown at /home/node */
	const char *skills; /* the same, at AC_SKILLS, read-only; NULL: none */
	const char *mnt; /* the same, at AC_MNT, read-only: the places of
			  * @mounts; NULL: there are none */
	const struct runtime_mount *mounts;
	size_t n_mounts; /* at most RUNTIME_MOUNTS_MAX */
	uint64_t cpu_milli; /* thousandths of a CPU, 0: no limit */
	uint64_t memory; /* bytes, 0: no limit */
	uint64_t pids; /* processes of the agent, 0: as many as there is room
			* for; the sandbox's own limit is higher, since it
			* counts tasks of the host */
	const char *gpus; /* NULL, "all" or device list */
	const char *from_memory; /* directory with the memory of another sandbox
			     * (memory_keep()), from which it goes on; NULL: it
			     * begins */
	const char *runtime; /* "docker": always by the engine; NULL or
			      * "runsc": isolation runsc without the engine
			      * where possible */
	bool root_rw; /* the image's files are writable, for this run only */
	bool tmp_noexec;
	bool covered; /* Mounts of ac-host hide paths of the workspace. Only a
		       * process with these mounts may open, move or remove
		       * files for the sandbox. */
};

/*
 * Returns the bytes that /tmp may hold, and /var/tmp again as many. Both are
 * memory of the sandbox. With a quarter of its limit each there is room for
 * /dev/shm and the processes; a process that fills them gets ENOSPC, and the
 * sandbox survives.
 */
static inline uint64_t runtime_tmp_bytes(const struct runtime_spec *spec)
{
	const uint64_t most = UINT64_C(1) << 30, quarter = spec->memory / 4;

	return spec->memory && quarter < most ? quarter : most;
}

/* Limits that can be changed while a sandbox runs; 0: no limit. */
struct runtime_limits {
	uint64_t cpu_milli, memory, pids; /* as in struct runtime_spec */
};

/* A sandbox was started: @link_fd (now owned by the callee, non-blocking) is
 * the guest link, @id the runtime's name for the sandbox (to be copied). */
typedef void (*runtime_start_fn)(void *arg, int link_fd, const char *id,
				 const struct err *err);
typedef void (*runtime_wake_fn)(void *arg, int link_fd, const struct err *err);
typedef void (*runtime_done_fn)(void *arg, const struct err *err);

/* Usage of one sandbox. */
struct runtime_stats {
	uint64_t cpu_ns; /* since start */
	uint64_t memory, memory_limit; /* bytes */
	uint64_t pids; /* host tasks */
	uint64_t rx_bytes, tx_bytes;
};
typedef void (*runtime_stats_fn)(void *arg, const struct runtime_stats *st,
				 const struct err *err);

/* How a sandbox, or its main process, ended. */
struct runtime_end {
	bool running; /* has not ended */
	bool oom; /* was killed for its memory limit */
	bool tasks; /* the machine refused it another process or thread */
	int exit_code; /* of PID 1, 128+n for signals */
	char text[256]; /* last text on its stderr or from the engine, or "" */
};
typedef void (*runtime_end_fn)(void *arg, const struct runtime_end *end,
			       const struct err *err);

/* Called by list(), before its callback, for each sandbox of ours that the
 * runtime knows; after a failure perhaps for some of them. */
typedef void (*runtime_each_fn)(void *arg, const char *id, const char *name,
				bool running);

/* @bytes: what the image takes with all its layers, 0 if that is not known.
 * @err is -ENOENT if there is no such image. */
typedef void (*runtime_image_fn)(void *arg, uint64_t bytes,
				 const struct err *err);

struct runtime_ops {
	const char *name;
	/* Starts a sandbox. One that goes on from a memory needs the image, the
	 * mounts and the limit of memory of the one that had it; -ENOTSUP if
	 * the runtime cannot do that. Nothing comes on its link by itself. */
	int (*start)(struct runtime *rt, const struct runtime_spec *spec,
		     runtime_start_fn fn, void *arg);
	/* Sends TERM, waits @grace_ms, sends KILL. Succeeds if it has ended
	 * already. */
	int (*stop)(struct runtime *rt, const char *id, uint64_t grace_ms,
		    runtime_done_fn fn, void *arg);
	/* Kills it if needed and removes it. Succeeds if it is gone. */
	int (*remove)(struct runtime *rt, const char *id, runtime_done_fn fn,
		      void *arg);
	/* Measures what it uses. */
	int (*stats)(struct runtime *rt, const char *id, runtime_stats_fn fn,
		     void *arg);
	/* Returns, without a callback, the host's process that writes all files
	 * of the sandbox (gVisor's kernel); 0 if there is none, it is unknown,
	 * or has ended. NULL: never known. */
	pid_t (*writer)(struct runtime *rt, const char *id);
	/* Tells whether and how it ended. @lost: its link has closed, so waits
	 * a little for its end; else answers at once. */
	int (*end)(struct runtime *rt, const char *id, bool lost,
		   runtime_end_fn fn, void *arg);
	/* Calls @each for all sandboxes, then @fn. */
	int (*list)(struct runtime *rt, runtime_each_fn each,
		    runtime_done_fn fn, void *arg);
	/* Changes the limits. An operation that is NULL: they stay as they were
	 * at the start. */
	int (*update)(struct runtime *rt, const char *id,
		      const struct runtime_limits *limits, runtime_done_fn fn,
		      void *arg);
	/* Pauses all its processes, or resumes them. */
	int (*freeze)(struct runtime *rt, const char *id, bool frozen,
		      runtime_done_fn fn, void *arg);
	/* Returns true if this sandbox can hibernate. NULL, as hibernate() and
	 * wake() then: none can. */
	bool (*hibernates)(struct runtime *rt, const char *id);
	/*
	 * Writes the memory of a sandbox that runs to a new directory in @dir,
	 * which exists, and ends its processes. Its guest link ends, which must
	 * not count as its end; nothing may be sent on it from now on. Fails
	 * with -ENOSPC if @dir has no room for it. After a failure it runs on,
	 * or has ended if the writing broke off.
	 */
	int (*hibernate)(struct runtime *rt, const char *id, const char *dir,
			 runtime_done_fn fn, void *arg);
	/* Lets a sandbox that hibernates go on, with another link (as in
	 * runtime_start_fn; -1: it has not slept), and removes the directory.
	 * What it had not read comes to it first; its connections have ended.
	 * After a failure it has ended. */
	int (*wake)(struct runtime *rt, const char *id, runtime_wake_fn fn,
		    void *arg);
	/* Breaks off a hibernate(), wake() or memory_write() that is under way:
	 * its callback comes soon, and the sandbox runs on or has ended. */
	void (*hibernate_break)(struct runtime *rt, const char *id);
	/*
	 * Stops a sandbox that runs and writes its memory to the empty
	 * directory @dir. Nothing in it moves until memory_resume(); its link and
	 * its connections stay. Fails with -ENOSPC as hibernate(). After a
	 * failure it runs on. NULL, as hibernate() then.
	 */
	int (*memory_write)(struct runtime *rt, const char *id, const char *dir,
			    runtime_done_fn fn, void *arg);
	int (*memory_resume)(struct runtime *rt, const char *id,
			     runtime_done_fn fn, void *arg);
	/*
	 * Completes the memory in @dir for others that go on from it (struct
	 * runtime_spec). It is that of a sandbox which memory_write() has
	 * stopped; or of one that hibernates, whose files become links in @dir,
	 * which has to be in the same file system. Appends to @unread what the
	 * sandbox has not read of its link. Returns 0 or a negative errno with
	 * @err; there is no callback.
	 */
	int (*memory_keep)(struct runtime *rt, const char *id, const char *dir,
			   struct buf *unread, struct err *err);
	/* Directories that a sandbox is shown have been moved from below @from
	 * to below @to, with their mounts. Returns 0 or -ENOMEM; there is no
	 * callback. NULL: the runtime need not know. */
	int (*moved)(struct runtime *rt, const char *id, const char *from,
		     const char *to);
	/* Returns 0 if a sandbox can get @gpus here, else a negative errno with
	 * the reason; there is no callback. An operation that is NULL: no
	 * sandbox gets any. */
	int (*has_gpus)(struct runtime *rt, const char *gpus, struct err *err);
	/* Succeeds if the engine has @image; -ENOENT if it does not. */
	int (*has_image)(struct runtime *rt, const char *image,
			 runtime_image_fn fn, void *arg);
	/* Calls @each at once, with no other callback, for each sandbox that
	 * has the image of this id and is no container of the engine. NULL:
	 * there are none. */
	void (*image_each)(struct runtime *rt, const char *id,
			   void (*each)(void *arg, const char *name),
			   void *arg);
	/* Lets the engine remove the image of this id. Returns 0, or -EBUSY if
	 * a sandbox has it or is about to; there is no callback. NULL: the
	 * engine alone has images. */
	int (*image_release)(struct runtime *rt, const char *id);
	/* Mounts the files of @image, an id or a name, at @dir, read-only; @hold
	 * is to be given to image_close(). NULL: no image can be mounted. */
	int (*image_open)(struct runtime *rt, const char *image,
			  void (*fn)(void *arg, const char *dir, void *hold,
				     const struct err *err),
			  void *arg);
	void (*image_close)(struct runtime *rt, void *hold);
	/* Measures the disk space of images and of the build cache. */
	int (*df)(struct runtime *rt,
		  void (*fn)(void *arg, uint64_t image_bytes,
			     uint64_t cache_bytes, const struct err *err),
		  void *arg);
	/* Removes all containers of the engine, also those that run and those
	 * that are not ours, then the build cache and, with @images, all
	 * images. Ends at the first error. */
	int (*prune)(struct runtime *rt, bool images, runtime_done_fn fn,
		     void *arg);
	/* Frees @rt. Callbacks that are still due are called before it returns,
	 * with -ECANCELED. */
	void (*free)(struct runtime *rt);
};

struct runtime {
	const struct runtime_ops *ops;
};

/* Makes a runtime over the Docker Engine API at @engine_sock. Guest links come
 * through @runtime_sock (/run/ac/runtime.sock) from the OCI runtime wrapper,
 * ac-runtime. Returns a runtime, which the caller frees with its free(), or
 * NULL with @err. */
struct runtime *runtime_docker_new(struct loop *loop, const char *engine_sock,
				   const char *runtime_sock, struct err *err);

struct children;
struct engine;

/*
 * Makes a runtime over runsc alone: acd makes bundle, root file system, network
 * namespace and cgroup. What it does not do itself (other isolation, GPUs,
 * images) goes to @docker. @engine tells which layers an image has. Takes
 * ownership of @docker and @engine, also on failure. @children, borrowed,
 * watches the processes. Removes what an earlier acd has left. Returns a
 * runtime, which the caller frees with its free(), or NULL with @err.
 */
struct runtime *runtime_runsc_new(struct loop *loop, struct children *children,
				  struct engine *engine, struct runtime *docker,
				  struct err *err);

#endif
