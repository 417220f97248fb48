/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_member.c - one sandbox that is kept ready: its start and its removal
 *
 * What it has on disk is <instances>/.pool/<name>/{workspace,home}, mounted
 * as those of an instance are. A member is freed only when the runtime owes
 * it no answer, so that its address serves as the argument of each call.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/acd/storage/mounts.h"
#include "control/acd/instance/pool_impl.h"
#include "control/acd/storage/treejob.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/str.h"

#define PREPARED_LIMIT_MS 15000u

static void member_removed(void *arg, const struct err *err);

/* ---- directories ---- */

static void on_tree_removed(void *arg, const struct err *err)
{
	(void)arg;
	if (err)
		log_warn("pool: %s", err->msg);
}

/* Nobody has it mounted any more. What cannot be removed now is swept when
 * acd starts. */
static void dirs_remove(const struct member *m)
{
	const struct pool *p = m->pool;
	SCOPED_STR path =
		str_printf("%s/" POOL_DIR "/%s", p->spec.dir, m->name);
	const char *const paths[] = { path, NULL };
	struct treejob *job;
	struct err err = { 0 };

	if (path && treejob_start(p->spec.loop, paths, on_tree_removed, NULL,
				  &job, &err) < 0)
		log_warn("pool: %s", err.msg);
}

static int dir_make(const struct pool *p, const char *name, const char *sub,
		    struct err *err)
{
	SCOPED_STR path =
		str_printf("%s/" POOL_DIR "%s%s", p->spec.dir, name, sub);

	int r;

	if (!path)
		return err_nomem(err);
	r = file_mkdir_for(path, p->spec.uid, p->spec.gid);
	return r < 0 ? err_set(err, r, "make %s: %s", path, err_text(r)) : 0;
}

static int dirs_make(const struct member *m, struct mounts_paths *ret,
		     struct err *err)
{
	const struct pool *p = m->pool;
	SCOPED_STR own = str_printf("/%s", m->name);
	SCOPED_STR place = str_printf(POOL_DIR "/%s", m->name);
	const struct mounts_spec mounts = {
		.name = place,
		.host_uid = p->spec.uid,
		.host_gid = p->spec.gid,
	};
	int r;

	if (!own || !place)
		return err_nomem(err);
	r = dir_make(p, "", "", err);
	if (r == 0)
		r = dir_make(p, own, "", err);
	if (r == 0)
		r = dir_make(p, own, "/workspace", err);
	if (r == 0)
		r = dir_make(p, own, "/home", err);
	return r == 0 ? mounts_prepare(&mounts, ret, err) : r;
}

/* ---- its end ---- */

void member_free(struct member *m)
{
	LIST_REMOVE(m, link);
	session_free(m->session);
	loop_timer_free(m->limit);
	if (m->address)
		store_address_release(m->pool->spec.store, m->address);
	free(m->address);
	free(m);
}

/* No container is left of it. */
static void member_gone(struct member *m)
{
	SCOPED_STR place = str_printf(POOL_DIR "/%s", m->name);
	struct pool *p = m->pool;

	if (place)
		mounts_release(place);
	dirs_remove(m);
	member_free(m);
	pool_member_gone(p);
}

static void member_removed(void *arg, const struct err *err)
{
	struct member *m = arg;

	if (!err) {
		member_gone(m);
		return;
	}
	/* Its address stays taken: it may still be there. */
	log_warn("pool: remove a sandbox: %s", err->msg);
	m->state = MEMBER_LEFT;
	pool_member_gone(m->pool);
}

/* It is not what it should be: the next start waits longer. */
static void member_note(struct member *m, const struct err *why)
{
	struct kind *k = m->kind;

	log_warn("pool: a sandbox of '%s': %s", k->blueprint, why->msg);
	k->lost++;
	snprintf(k->last_error, sizeof(k->last_error), "%.*s",
		 (int)sizeof(k->last_error) - 1, why->msg);
}

void member_discard(struct member *m, const struct err *why)
{
	struct runtime *rt = m->pool->spec.runtime;
	enum member_state was = m->state;
	struct err err = { 0 };
	int r;

	if (why && m->kind)
		member_note(m, why);
	m->kind = NULL;
	if (was == MEMBER_REMOVING || was == MEMBER_STARTING)
		return; /* the runtime's answer finds it unwanted */
	session_free(m->session);
	m->session = NULL;
	loop_timer_free(m->limit);
	m->limit = NULL;
	m->state = MEMBER_REMOVING;
	r = rt->ops->remove(rt, m->id, member_removed, m);
	if (r < 0) {
		m->state = MEMBER_LEFT;
		err_set(&err, r, "%s", err_text(r));
		log_warn("pool: remove a sandbox: %s", err.msg);
	}
	if (was == MEMBER_GREETING)
		pool_started(m->pool, !why, clock_ms() - m->born_ms);
	/* The last step: a drain may be waiting for it. */
	if (r < 0)
		pool_member_gone(m->pool);
}

/* ---- its start ---- */

static void on_hello(void *arg)
{
	struct member *m = arg;
	struct err err = { 0 };
	int r;

	/* One that changes in between is found changed by the claim. */
	m->ca = prepare_ca_now();
	/* Who will have it may need a CA of its own. */
	r = prepare_guest(m->session, m->kind->bp.isolation,
			  LINK_PREPARE_NAMELESS | LINK_PREPARE_OWN_CA, &err);
	if (r < 0)
		member_discard(m, &err);
}

static void on_prepared(void *arg)
{
	struct member *m = arg;

	m->state = MEMBER_READY;
	loop_timer_clear(m->limit);
	m->kind->started++;
	pool_started(m->pool, true, clock_ms() - m->born_ms);
	m->born_ms = clock_ms();
}

static void on_ready(void *arg)
{
	(void)arg; /* there is none before ASSIGN */
}

static void on_log(void *arg, uint8_t level, const char *text)
{
	const struct member *m = arg;

	(void)level;
	log_info("%s: init-guard: %s", m->name, text);
}

static void on_closed(void *arg, const struct err *err)
{
	member_discard(arg, err);
}

static const struct session_ops member_session_ops = {
	.hello = on_hello,
	.prepared = on_prepared,
	.ready = on_ready,
	.log = on_log,
	.closed = on_closed,
};

static void on_late(void *arg)
{
	struct err err = { 0 };

	err_set(&err, -ETIMEDOUT, "it was not prepared within %u s",
		PREPARED_LIMIT_MS / 1000);
	member_discard(arg, &err);
}

/* Nothing of it is with the runtime. */
static void start_failed(struct member *m, const struct err *why)
{
	struct pool *p = m->pool;
	uint64_t took = clock_ms() - m->born_ms;

	if (m->kind)
		member_note(m, why);
	member_gone(m);
	pool_started(p, false, took);
}

static void on_started(void *arg, int link_fd, const char *id,
		       const struct err *err)
{
	struct member *m = arg;
	SCOPED_FD fd = err ? -1 : link_fd;
	struct err failed = { 0 };

	if (err) {
		start_failed(m, err);
		return;
	}
	m->state = MEMBER_GREETING;
	snprintf(m->id, sizeof(m->id), "%s", id);
	m->session = session_new(m->pool->spec.loop, fd_take(&fd),
				 &member_session_ops, m);
	if (!m->session || !m->kind) {
		if (!m->session)
			err_nomem(&failed);
		member_discard(m, failed.code < 0 ? &failed : NULL);
	} else {
		loop_timer_set(m->limit, PREPARED_LIMIT_MS);
	}
}

static int start_try(struct member *m, struct err *err)
{
	const struct pool *p = m->pool;
	const struct blueprint *bp = &m->kind->bp;
	struct runtime *rt = p->spec.runtime;
	SCOPED_STR image = str_printf("ac/%s:latest", bp->image);
	struct mounts_paths paths;
	struct runtime_spec spec = {
		.name = m->name,
		.image = image,
		.isolation = bp->isolation,
		.workspace = paths.workspace,
		.home = paths.home,
		.cpu_milli = bp->cpu_milli,
		.memory = bp->memory,
		.pids = bp->pids,
		.root_rw = bp->root_rw,
		.tmp_noexec = bp->tmp_noexec,
	};
	int r;

	m->limit = loop_timer_new(p->spec.loop, on_late, m);
	if (!image || !m->limit)
		return err_nomem(err);
	r = store_address_reserve(p->spec.store, &m->address, err);
	if (r == 0)
		r = dirs_make(m, &paths, err);
	if (r < 0)
		return r;
	spec.address = m->address;
	r = rt->ops->start(rt, &spec, on_started, m);
	return r < 0 ? err_set(err, r, "cannot start a sandbox: %s",
			       err_text(r)) :
		       0;
}

void member_start(struct pool *p, struct kind *k)
{
	struct member *m = calloc(1, sizeof(*m));
	struct err err = { 0 };

	if (!m) {
		pool_started(p, false, 0);
		return;
	}
	*m = (struct member){
		.pool = p,
		.kind = k,
		.state = MEMBER_STARTING,
		.born_ms = clock_ms(),
	};
	snprintf(m->name, sizeof(m->name), POOL_NAME_PREFIX "%u", ++p->serial);
	LIST_INSERT_HEAD(&p->members, m, link);
	if (start_try(m, &err) < 0)
		start_failed(m, &err);
}
