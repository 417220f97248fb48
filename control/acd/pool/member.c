/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member.c - one sandbox that is kept ready: its start and its removal
 *
 * Its files are <instances>/.pool/<name>/{workspace,home}, mounted as those of
 * an instance are. A member is freed only when the runtime owes no answer about
 * it, since its address is the argument of each call.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/acd/storage/mounts.h"
#include "control/acd/pool/pool_impl.h"
#include "control/acd/storage/treejob.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/str.h"

#define PREPARED_LIMIT_MS 15000u
#define REST_MIN_MS 50u
#define REST_FAILED_MIN_MS 1000u
#define REST_FAILED_MAX_MS 60000u

static void member_removed(void *arg, const struct err *err);

/* ---- the pool goes on ---- */

void pool_wake(struct pool *p)
{
	if (p->open)
		loop_timer_set(p->timer, 0);
}

/* A start has ended, well or not, and took so long: sets the rest before the
 * next. */
static void pool_started(struct pool *p, bool good, uint64_t took_ms)
{
	uint64_t rest = took_ms > REST_MIN_MS ? took_ms : REST_MIN_MS;

	p->failed_ms = good ? 0 : p->failed_ms * 2;
	if (!good && p->failed_ms < REST_FAILED_MIN_MS)
		p->failed_ms = REST_FAILED_MIN_MS;
	if (p->failed_ms > REST_FAILED_MAX_MS)
		p->failed_ms = REST_FAILED_MAX_MS;
	p->rest_until_ms = clock_ms() + (good ? rest : p->failed_ms);
	pool_wake(p);
}

static bool all_gone(const struct pool *p)
{
	const struct member *m;

	LIST_FOREACH (m, &p->members, link) {
		if (m->state != MEMBER_LEFT)
			return false;
	}
	return true;
}

void pool_member_gone(struct pool *p)
{
	void (*fn)(void *arg) = p->drained;

	if (fn && all_gone(p)) {
		p->drained = NULL;
		fn(p->drained_arg);
	} else {
		pool_wake(p);
	}
}

/* ---- directories ---- */

static void on_tree_removed(void *arg, const struct err *err)
{
	(void)arg;
	if (err)
		log_warn("pool: %s", err->msg);
}

/* Nothing has them mounted any more. What cannot be removed now, the next acd
 * removes. */
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

	int rc;

	if (!path)
		return err_nomem(err);
	rc = file_mkdir_for(path, p->spec.uid, p->spec.gid);
	return rc < 0 ? err_set(err, rc, "make %s: %s", path, err_text(rc)) : 0;
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
	int rc;

	if (!own || !place)
		return err_nomem(err);
	rc = dir_make(p, "", "", err);
	if (rc == 0)
		rc = dir_make(p, own, "", err);
	if (rc == 0)
		rc = dir_make(p, own, "/workspace", err);
	if (rc == 0)
		rc = dir_make(p, own, "/home", err);
	return rc == 0 ? mounts_prepare(&mounts, ret, err) : rc;
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

/* The runtime has no sandbox of it. */
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
	/* Its address stays reserved: the sandbox may still run. */
	log_warn("pool: remove a sandbox: %s", err->msg);
	m->state = MEMBER_LEFT;
	pool_member_gone(m->pool);
}

/* Logs and counts a member that has failed. */
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
	int rc;

	if (why && m->kind)
		member_note(m, why);
	m->kind = NULL;
	if (was == MEMBER_REMOVING || was == MEMBER_STARTING)
		return; /* removed when the runtime answers */
	session_free(m->session);
	m->session = NULL;
	loop_timer_free(m->limit);
	m->limit = NULL;
	m->state = MEMBER_REMOVING;
	rc = rt->ops->remove(rt, m->id, member_removed, m);
	if (rc < 0) {
		m->state = MEMBER_LEFT;
		err_set(&err, rc, "%s", err_text(rc));
		log_warn("pool: remove a sandbox: %s", err.msg);
	}
	if (was == MEMBER_GREETING)
		pool_started(m->pool, !why, clock_ms() - m->born_ms);
	/* Last, as it may end a drain. */
	if (rc < 0)
		pool_member_gone(m->pool);
}

/* ---- its start ---- */

static void on_hello(void *arg)
{
	struct member *m = arg;
	struct err err = { 0 };
	int rc;

	/* Read first: if the CA changes in between, the claim sees it. */
	m->ca = prepare_ca_now();
	/* The instance may need a CA of its own. */
	rc = prepare_guest(m->session, m->kind->bp.isolation,
			   LINK_PREPARE_NAMELESS | LINK_PREPARE_OWN_CA, &err);
	if (rc < 0)
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
	(void)arg; /* cannot come before ASSIGN */
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

/* Ends a member that the runtime has not started. */
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
	int rc;

	m->limit = loop_timer_new(p->spec.loop, on_late, m);
	if (!image || !m->limit)
		return err_nomem(err);
	rc = store_address_reserve(p->spec.store, &m->address, err);
	if (rc == 0)
		rc = dirs_make(m, &paths, err);
	if (rc < 0)
		return rc;
	spec.address = m->address;
	rc = rt->ops->start(rt, &spec, on_started, m);
	return rc < 0 ? err_set(err, rc, "cannot start a sandbox: %s",
				err_text(rc)) :
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
