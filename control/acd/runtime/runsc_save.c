/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_save.c - writing the memory of a sandbox: whether there is room, and the
 * call of runsc
 */
#include "control/acd/runtime/runsc_impl.h"

#include <sys/statvfs.h>

#include "lib/proc.h"
#include "lib/str.h"

/* What a sandbox may take to be written or read: this long, and longer by its
 * memory at 20 MB a second. */
#define SLEEP_MS 60000u
#define BYTES_A_MS 20000u
/* Of removed files that are open, and the memory that a byte of them takes
 * (runsc_removed.c). */
#define REMOVED_MOST (UINT64_C(16) << 20)
#define REMOVED_COST 16u
/* Left on the disk besides the memory of the sandboxes, or a tenth of it if that
 * is less: with less acd would warn, and soon pause others
 * (instance/limit/room.c). */
#define ROOM_MORE (UINT64_C(1) << 30)

unsigned runsc_bytes_ms(uint64_t bytes)
{
	return SLEEP_MS + (unsigned)(bytes / BYTES_A_MS);
}

/* While it is saved it may take half of what its memory limit leaves. */
static uint64_t removed_most(const struct runtime_stats *st)
{
	uint64_t left = st->memory_limit > st->memory ?
				st->memory_limit - st->memory :
				0;

	if (st->memory_limit == 0 || left / (2 * REMOVED_COST) > REMOVED_MOST)
		return REMOVED_MOST;
	return left / (2 * REMOVED_COST);
}

static uint64_t saving_bytes(const struct box *b)
{
	return b->state == BOX_SAVING ? sleep_bytes(b) :
	       b->state == BOX_HELD   ? hold_bytes(b) :
					0;
}

/* Sandboxes that are being written have not taken their room yet. */
int runsc_save_check(struct box *b, const char *dir, uint64_t *ret_bytes,
		     struct err *err)
{
	struct runtime_stats st = { 0 };
	const struct box *other;
	struct statvfs fs;
	uint64_t room, need;

	if (cgroup_stats(b->id, &st, err) < 0)
		return err->code;
	if (statvfs(dir, &fs) < 0)
		return err_sys(err, "look at %s", dir);
	need = (uint64_t)fs.f_blocks * fs.f_frsize / 10;
	if (need > ROOM_MORE)
		need = ROOM_MORE;
	LIST_FOREACH (other, &b->rs->boxes, link) {
		need += saving_bytes(other);
	}
	*ret_bytes = st.memory;
	need += st.memory;
	room = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (need <= room)
		return runsc_removed_check(b, removed_most(&st), err);
	return err_set(err, -ENOSPC,
		       "its memory needs %llu MiB on the disk, with "
		       "what is to stay free, and %llu MiB are free",
		       (unsigned long long)(need >> 20),
		       (unsigned long long)(room >> 20));
}

int runsc_save_argv(const struct box *b, const char *dir, struct strv *argv)
{
	int rc = runsc_argv(b, argv);

	if (rc == 0)
		rc = strv_push(argv, "checkpoint");
	/* Zero pages are holes in the file: what was never used costs nothing,
	 * and compressing takes longer than writing. */
	if (rc == 0)
		rc = strv_push(argv, "--compression=none");
	if (rc == 0)
		rc = strv_push(argv, "--exclude-committed-zero-pages");
	if (rc == 0)
		rc = strv_pushf(argv, "--image-path=%s", dir);
	return rc;
}

int runsc_call(struct box *b, const struct strv *argv,
	       void (*fn)(void *arg, pid_t pid, int status), struct err *err)
{
	/* As in maker_run(): nothing of acd's. */
	static const char *const env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
					   NULL };
	struct proc_opts opts = {
		.env = env,
		.fd = { -1, -1, b->theirs[1] },
		.new_session = 1,
	};
	int rc;

	opts.argv = (const char *const *)argv->v;
	rc = proc_spawn(&opts, &b->maker, err);
	if (rc < 0)
		b->maker = 0;
	else if (children_watch(b->rs->children, b->maker, fn, b) < 0)
		rc = err_nomem(err);
	if (rc < 0 && b->maker)
		runsc_maker_end(b);
	return rc;
}
