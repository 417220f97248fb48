/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_full_test.c - what happens is recorded when the disk is full
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/acd/storage/store.h"
#include "lib/file.h"
#include "tests/unit/tap.h"

#define INSTANCES 20

static char dir[] = "/tmp/store_full_test.XXXXXX";
static char path[64], filler[64];

static char addresses[INSTANCES + 1][16];

static int put(struct store *s, int i)
{
	char base[] = "base", runsc[] = "runsc", name[16];
	struct instance_record r = { .name = name,
				     .blueprint = base,
				     .isolation = runsc,
				     .state = INSTANCE_STOPPED,
				     .exit_code = -1 };
	struct err err = { 0 };
	int rc;

	snprintf(name, sizeof(name), "i%d", i);
	rc = store_insert(s, &r, &err);
	snprintf(addresses[i], sizeof(addresses[i]), "%s",
		 r.address ? r.address : "");
	free(r.address);
	return rc;
}

/* To the last block. */
static void fill(void)
{
	static char block[65536];
	SCOPED_FD fd =
		open(filler, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	struct statvfs fs;

	for (size_t size = sizeof(block); size >= 512; size /= 2)
		while (write(fd, block, size) == (ssize_t)size)
			;
	ok(statvfs(dir, &fs) == 0 && fs.f_bavail == 0, "the disk is full");
}

struct seen {
	int n;
	uint64_t memory;
};

static int see(void *arg, const struct instance_record *r)
{
	struct seen *s = arg;

	s->n++;
	if (r->memory)
		s->memory = r->memory;
	return 0;
}

/* Changes each of the records again and again. */
static void changes(struct store *s, int rounds, const char *when)
{
	char base[] = "base", runsc[] = "runsc", name[16];
	struct err err = { 0 };
	int done = 0;

	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < INSTANCES; i++) {
			struct instance_record r = {
				.name = name,
				.blueprint = base,
				.isolation = runsc,
				.state = INSTANCE_RUNNING,
				.address = addresses[i],
				.exit_code = -1,
				.memory = (uint64_t)round + 1,
			};

			snprintf(name, sizeof(name), "i%d", i);
			done += store_update(s, &r, &err) == 0;
		}
	is_int(done, rounds * INSTANCES, "%s: each change is recorded %s", when,
	       err.msg);
}

static void seen_is(struct store *s, uint64_t memory)
{
	struct seen seen = { 0 };
	struct err err = { 0 };

	is_int(s ? store_each(s, see, &seen, &err) : -1, 0, "read");
	is_int(seen.n, INSTANCES + 1, "all are there");
	is_int(seen.memory, memory, "as they were last");
}

/* A copy of the database alone, put back, is what it was. */
static void put_back(void)
{
	struct store *s = NULL;
	struct err err = { 0 };
	SCOPED_STR copy = NULL;
	size_t len = 0;

	unlink(filler);
	is_int(file_read(path, 1 << 24, &copy, &len), 0, "a copy is made");
	is_int(store_open(path, &s, &err), 0, "opened %s", err.msg);
	if (s)
		changes(s, 3, "since");
	store_close(s);
	s = NULL;
	is_int(file_write_atomic(path, copy, len, 0600), 0, "it is put back");
	is_int(store_open(path, &s, &err), 0, "opened %s", err.msg);
	seen_is(s, 1000);
	store_close(s);
}

int main(void)
{
	struct store *s = NULL;
	struct err err = { 0 };

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/ac.db", dir);
	snprintf(filler, sizeof(filler), "%s/filler", dir);
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", dir, "tmpfs", 0, "size=64m,mode=700") < 0) {
		skip("a file system of our own takes root");
		rmdir(dir);
		return done_testing();
	}
	is_int(store_open(path, &s, &err), 0, "a store %s", err.msg);
	for (int i = 0; s && i < INSTANCES; i++)
		ok(put(s, i) == 0, "instance %d", i);
	fill();
	changes(s, 1000, "full");
	ok(put(s, INSTANCES) == 0, "a new one");
	store_close(s);
	s = NULL;
	fill();
	is_int(store_open(path, &s, &err), 0, "opened again, full %s", err.msg);
	if (s)
		changes(s, 1000, "after a start on a full disk");
	seen_is(s, 1000);
	store_close(s);
	put_back();
	umount2(dir, MNT_DETACH);
	rmdir(dir);
	return done_testing();
}
