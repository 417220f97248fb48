/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_image.c - a disk limit by a file system in a file
 *
 * ac-host has no loop device unless it was asked for some (AC_LOOP), and
 * never /dev/loop-control: it takes a free one of those that it was given.
 *
 * A file system must not be mounted twice. The image is locked (flock) by the
 * open file that the loop device keeps, so the lock lasts exactly as long as
 * the device does, whoever dies: also while a lazily unmounted sandbox of an
 * earlier run still holds on to it.
 */
#include "control/acd/disk_image.h"

#include <ctype.h>
#include <endian.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/file.h"
#include "lib/proc.h"
#include "lib/str.h"

/* Of ext4: where its superblock is, and where in it the upper half of the
 * number of blocks. */
#define SUPERBLOCK 1024
#define BLOCKS_HI 0x150
#define LOG_BLOCK_MAX 6u
#define SPAN_SLACK 65536u /* one block of any size: what does not fill it */
#define LOCK_TRIES 100
#define LOCK_PAUSE_NS 100000000L

/* 0, the program's exit code, or a negative errno. */
static int run(const char *const *argv, struct err *err)
{
	const struct proc_opts opts = {
		.argv = argv, .fd = { -1, STDERR_FILENO, STDERR_FILENO }
	};

	return proc_run(&opts, err);
}

static int image_open(const char *image, int flags, struct err *err)
{
	int fd = open(image, flags | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? err_sys(err, "open %s", image) : fd;
}

static int file_make(const char *image, uint64_t bytes, uid_t uid, gid_t gid,
		     struct err *err)
{
	SCOPED_FD fd = -1;

	if (unlink(image) < 0 && errno != ENOENT)
		return err_sys(err, "remove %s", image);
	fd = image_open(image, O_CREAT | O_EXCL, err);
	if (fd < 0)
		return fd;
	if (fchown(fd, uid, gid) < 0 || ftruncate(fd, (off_t)bytes) < 0)
		return err_sys(err, "make %s", image);
	return 0;
}

int disk_image_make(const char *image, uint64_t bytes, uid_t uid, gid_t gid,
		    struct err *err)
{
	SCOPED_STR part = str_printf("%s.new", image);
	const char *const argv[] = {
		"mkfs.ext4", "-q", "-F",
		"-m",        "0",  "-i", /* many small files */
		"8192",      "-E", "lazy_itable_init=1,lazy_journal_init=1",
		part,        NULL
	};
	int r = part ? file_make(part, bytes, uid, gid, err) : err_nomem(err);

	if (r < 0 || !part)
		return r;
	r = run(argv, err);
	if (r > 0)
		r = err_set(err, -EIO, "mkfs.ext4 failed with code %d", r);
	if (r == 0 && rename(part, image) < 0)
		r = err_sys(err, "put %s in place", image);
	if (r < 0)
		unlink(part);
	return r;
}

/* For as long as the open file lives, and whatever it was given to. */
static int image_lock(int fd, const char *image, struct err *err)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK)
			return err_sys(err, "lock %s", image);
		nanosleep(&pause, NULL);
	}
	return err_set(err, -EBUSY,
		       "%s is still mounted, by an earlier run that has not "
		       "quite ended or by another ac-host",
		       image);
}

static int image_check(const char *image, struct err *err)
{
	const char *const argv[] = { "e2fsck", "-f", "-p", image, NULL };
	int r = run(argv, err);

	/* 1: mended. */
	if (r > 1)
		return err_set(err, -EUCLEAN,
			       "the file system in %s is damaged; `e2fsck %s` "
			       "may mend it",
			       image, image);
	return r < 0 ? r : 0;
}

static int image_shrink(const char *image, uint64_t bytes, struct err *err)
{
	SCOPED_STR size = str_printf("%lluK", (unsigned long long)bytes / 1024);
	const char *const argv[] = { "resize2fs", image, size, NULL };
	int r = size ? run(argv, err) : err_nomem(err);

	if (r > 0)
		return err_set(err, -EDQUOT,
			       "what workspace and home hold does not fit into "
			       "less; remove files, or give it more");
	if (r == 0 && truncate(image, (off_t)bytes) < 0)
		return err_sys(err, "shrink %s", image);
	return r;
}

static int image_grow(const char *image, uint64_t bytes, struct err *err)
{
	const char *const argv[] = { "resize2fs", image, NULL };
	int r;

	if (truncate(image, (off_t)bytes) < 0)
		return err_sys(err, "enlarge %s", image);
	r = run(argv, err);
	return r > 0 ? err_set(err, -EIO, "resize2fs failed with code %d", r) :
		       r;
}

/* Bytes that the file system itself spans, by its superblock; 0: not known.
 * The file may be larger, when an enlargement was cut off. */
static uint64_t image_span(int fd)
{
	struct {
		uint32_t inodes, blocks_lo, unused[4], log_block;
	} sb;
	uint32_t blocks_hi = 0;

	if (pread(fd, &sb, sizeof(sb), SUPERBLOCK) != (ssize_t)sizeof(sb) ||
	    pread(fd, &blocks_hi, sizeof(blocks_hi), SUPERBLOCK + BLOCKS_HI) !=
		    (ssize_t)sizeof(blocks_hi) ||
	    le32toh(sb.log_block) > LOG_BLOCK_MAX)
		return 0;
	return ((uint64_t)le32toh(blocks_hi) << 32 | le32toh(sb.blocks_lo))
	       << (10 + le32toh(sb.log_block));
}

int disk_image_resize(const char *image, uint64_t bytes, struct err *err)
{
	SCOPED_FD fd = image_open(image, 0, err);
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s is not a file", image);
	if ((uint64_t)st.st_size == bytes &&
	    image_span(fd) + SPAN_SLACK > bytes)
		return 0;
	r = image_lock(fd, image, err);
	if (r == 0)
		r = image_check(image, err);
	if (r < 0)
		return r;
	return (uint64_t)st.st_size > bytes ? image_shrink(image, bytes, err) :
					      image_grow(image, bytes, err);
}

static bool is_loop(const char *name)
{
	return str_starts(name, "loop") && isdigit((unsigned char)name[4]);
}

unsigned disk_image_devices(void)
{
	SCOPED_DIR dir = opendir("/dev");
	const struct dirent *e;
	unsigned n = 0;

	while (dir && (e = readdir(dir)))
		n += is_loop(e->d_name);
	return n;
}

/* Gives @fd to a free loop device, whose path goes to @ret; the descriptor
 * keeps it until something is mounted from it. */
static int loop_take(int fd, char ret[32], struct err *err)
{
	const struct loop_config config = {
		.fd = (uint32_t)fd,
		.info = { .lo_flags = LO_FLAGS_AUTOCLEAR },
	};
	SCOPED_DIR dir = opendir("/dev");
	const struct dirent *e;

	while (dir && (e = readdir(dir))) {
		SCOPED_FD dev = -1;

		if (!is_loop(e->d_name))
			continue;
		snprintf(ret, 32, "/dev/%.16s", e->d_name);
		dev = open(ret, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		if (dev >= 0 && ioctl(dev, LOOP_CONFIGURE, &config) == 0)
			return fd_take(&dev);
	}
	return err_set(err, -ENODEV, "%s",
		       disk_image_devices() > 0 ?
			       "no loop device of ac-host is free; `AC_LOOP=N "
			       "ac restart` gives it N of them" :
			       "ac-host has no loop device; `AC_LOOP=4 ac "
			       "restart` gives it some of this machine's");
}

int disk_image_mount(const char *image, const char *at, struct err *err)
{
	SCOPED_FD fd = image_open(image, 0, err);
	SCOPED_FD dev = -1;
	char path[32];
	int r = fd < 0 ? fd : image_lock(fd, image, err);

	if (r < 0)
		return r;
	r = file_mkdir_p(at, 0700);
	if (r < 0)
		return err_set(err, r, "mkdir %s: %s", at, err_text(r));
	dev = loop_take(fd, path, err);
	if (dev < 0)
		return dev;
	if (mount(path, at, "ext4", MS_NOSUID | MS_NODEV,
		  "discard,errors=remount-ro") < 0)
		return err_sys(err, "mount %s", image);
	return 0;
}
