/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.h - one request to the file server of a running sandbox
 *
 * Everything that comes back is the agent's word, in form checked by
 * init-guard/filewire.h and in order by this module: no callback comes that
 * the request does not call for. What it says of files may be invented.
 */
#ifndef CONTROL_ACD_INSTANCE_FILES_H
#define CONTROL_ACD_INSTANCE_FILES_H

#include "control/acd/instance/instance.h"
#include "init-guard/filewire.h"

/* For so long a server that is waited for may send nothing at all. */
#define FILES_QUIET_MS 30000u

struct files;

struct files_ops {
	/* STAT and READ: one, before any data; LIST: as many as asked for at
	 * most. Views for the time of the call. A negative result ends the
	 * request with it. */
	int (*entry)(void *arg, const struct filewire_entry *e);
	/* READ; files_credit() is due for each byte. */
	void (*data)(void *arg, struct slice data);
	void (*room)(void *arg); /* WRITE: files_room() grew */
	/* The last; the request is gone when it returns. @err NULL: it was
	 * done. Its code is that of the sandbox's kernel, or -EPROTO,
	 * -ECONNRESET, -ETIMEDOUT. */
	void (*done)(void *arg, const struct filewire_done *d,
		     const struct err *err);
};

/* -ENOTCONN: it does not run; others with @err. No callback comes before
 * this has returned. */
int files_begin(struct loop *loop, struct instance *in,
		const struct filewire_request *rq, const struct files_ops *ops,
		void *arg, struct files **ret, struct err *err);
void files_credit(struct files *f, size_t bytes);
/* Of a WRITE: bytes that are taken now, at most FILEWIRE_DATA_MAX. */
size_t files_room(const struct files *f);
/* At most files_room() bytes. A failure shows by done(). */
void files_write(struct files *f, struct slice data);
void files_end(struct files *f); /* that was all of it */
/* Another time than FILES_QUIET_MS, for requests that begin from now on. */
void files_set_quiet(unsigned ms);
/* Gives it up; no callback any more. NULL is fine. */
void files_free(struct files *f);

#endif
