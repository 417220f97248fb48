/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.h - one request to the file server of a running sandbox
 *
 * The agent can replace the server, so every answer is hostile.
 * init-guard/filewire.h checks its form and this module its order: callbacks
 * come only as the request allows. What an answer says of files may still be
 * invented.
 */
#ifndef CONTROL_ACD_INSTANCE_FILES_H
#define CONTROL_ACD_INSTANCE_FILES_H

#include "control/acd/instance/instance.h"
#include "init-guard/filewire.h"

/* Longest silence of a server that is waited for. */
#define FILES_QUIET_MS 30000u

struct files;

struct files_ops {
	/* For STAT and READ: called once, before any data. For LIST: at most as
	 * often as the request asks for. @e is a view, valid during the call. A
	 * negative result ends the request with that code. */
	int (*entry)(void *arg, const struct filewire_entry *e);
	/* For READ: @data is a view; give each byte back by files_credit(). */
	void (*data)(void *arg, struct slice data);
	void (*room)(void *arg); /* for WRITE: files_room() has grown */
	/* The last callback; the request is freed when it returns. @err is NULL
	 * on success. Its code is that of the sandbox's kernel, the result of
	 * entry(), or -EPROTO, -ECONNRESET (it ended early) or -ETIMEDOUT
	 * (silent for too long); @d is zeroed then. */
	void (*done)(void *arg, const struct filewire_done *d,
		     const struct err *err);
};

/* Begins the request @rq; @ops must outlive it. Returns 0, and the caller owns
 * *ret until done() is called; no callback comes before that. Else returns a
 * negative errno with @err, such as those of instance_exec(). */
int files_begin(struct loop *loop, struct instance *in,
		const struct filewire_request *rq, const struct files_ops *ops,
		void *arg, struct files **ret, struct err *err);
void files_credit(struct files *f, size_t bytes);
/* Returns how many bytes files_write() accepts now, at most
 * FILEWIRE_DATA_MAX. */
size_t files_room(const struct files *f);
/* Sends data of a WRITE; if it is more than files_room(), nothing is sent. A
 * failure shows in done(). */
void files_write(struct files *f, struct slice data);
void files_end(struct files *f); /* ends a WRITE: all data was sent */
/* Replaces FILES_QUIET_MS, for all timers set from now on. */
void files_set_quiet(unsigned ms);
/* Abandons the request without a callback. NULL is fine. */
void files_free(struct files *f);

#endif
