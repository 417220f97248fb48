/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_image.c - a disk limit by a file system in a file
 *
 * ac-host has loop devices only if asked for (AC_LOOP), and never
 * /dev/loop-control: it takes a free one of those that it was given.
 *
 * A file system must not be mounted twice. The image is locked (flock) by the
 * open file that the loop device keeps. So the lock lasts exactly as long as
 * the device, whichever process dies; also while a lazily unmounted sandbox of
 * an earlier run still uses it.
 */
#include "control/acd/storage/disk_image.h"

#include <ctype.h>
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

/* Of ext4: where its superblock is, and fields of it, little-endian (the
 * kernel's Documentation/filesystems/ext4/super.rst). */
#define SUPERBLOCK 1024
#define SB_BLOCKS_LO 0x04
#define SB_FIRST_BLOCK 0x14
#define SB_LOG_BLOCK 0x18
#define SB_GROUP_BLOCKS 0x20
#define SB_GROUP_INODES 0x28
#define SB_INODE_SIZE 0x58
#define SB_RESERVED_GDT 0xce
#define SB_BLOCKS_HI 0x150
#define SB_BYTES 0x154
#define LOG_BLOCK_MAX 6u
#define SPAN_SLACK 65536u /* bytes; sizes are rounded to pages or blocks */
#define GROUP_DESC_MAX 64u /* bytes of a group's descriptor */
/* mkfs.ext4 and resize2fs leave out a last group with fewer blocks than these
 * for files, besides its bitmaps and superblock. */
#define GROUP_LEAST 50u
#define GROUP_FIXED 3u
#define LOCK_TRIES 100
#define LOCK_PAUSE_NS 100000000L

/* Returns 0, the program's exit code, or a negative errno. */
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
	const char *const argv[] = {
		"mkfs.ext4", "-q", "-F",
		"-m",        "0",  "-i", /* many small files */
		"8192",      "-E", "lazy_itable_init=1,lazy_journal_init=1",
		image,       NULL
	};
	int rc = file_make(image, bytes, uid, gid, err);

	if (rc < 0)
		return rc;
	rc = run(argv, err);
	if (rc > 0)
		rc = err_set(err, -EIO, "mkfs.ext4 failed with code %d", rc);
	if (rc < 0)
		unlink(image);
	return rc;
}

/* Locks the image for as long as the open file lives. */
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
	int rc = run(argv, err);

	/* 1: errors were corrected. */
	if (rc > 1)
		return err_set(err, -EUCLEAN,
			       "the file system in %s is damaged; `e2fsck %s` "
			       "may mend it",
			       image, image);
	return rc < 0 ? rc : 0;
}

static int image_shrink(const char *image, uint64_t bytes, struct err *err)
{
	SCOPED_STR size = str_printf("%lluK", (unsigned long long)bytes / 1024);
	const char *const argv[] = { "resize2fs", image, size, NULL };
	int rc = size ? run(argv, err) : err_nomem(err);

	if (rc > 0)
		return err_set(err, -EDQUOT,
			       "what workspace and home hold does not fit into "
			       "less; remove files, or give it more");
	if (rc == 0 && truncate(image, (off_t)bytes) < 0)
		return err_sys(err, "shrink %s", image);
	return rc;
}

static int image_grow(const char *image, uint64_t bytes, struct err *err)
{
	const char *const argv[] = { "resize2fs", image, NULL };
	int rc;

	if (truncate(image, (off_t)bytes) < 0)
		return err_sys(err, "enlarge %s", image);
	rc = run(argv, err);
	if (rc > 0)
		return err_set(err, -EIO, "resize2fs failed with code %d", rc);
	/* It cuts off what the file system does not fill. The size of the file
	 * tells the next run that nothing is to be done. */
	if (rc == 0 && truncate(image, (off_t)bytes) < 0)
		return err_sys(err, "enlarge %s", image);
	return rc;
}

static uint32_t sb_u16(const uint8_t *sb, size_t at)
{
	return (uint32_t)sb[at] | (uint32_t)sb[at + 1] << 8;
}

static uint32_t sb_u32(const uint8_t *sb, size_t at)
{
	return sb_u16(sb, at) | sb_u16(sb, at + 2) << 16;
}

/* Returns how many blocks at the end of a file are too few for a group of their
 * own, in the worst case. */
static uint64_t group_least(const uint8_t *sb, uint64_t blocks, uint32_t block)
{
	uint64_t groups = blocks / sb_u32(sb, SB_GROUP_BLOCKS) + 1;
	uint64_t inodes = (uint64_t)sb_u32(sb, SB_GROUP_INODES) *
			  sb_u16(sb, SB_INODE_SIZE);

	return GROUP_LEAST + GROUP_FIXED + inodes / block + 1 +
	       groups * GROUP_DESC_MAX / block + 1 +
	       sb_u16(sb, SB_RESERVED_GDT);
}

/* Returns true if the file system spans a file of @bytes as far as it can. It
 * does not after an interrupted enlargement. What is behind the last whole
 * group may be too little for another one. */
static bool image_spans(int fd, uint64_t bytes)
{
	uint8_t sb[SB_BYTES];
	uint64_t has, blocks;
	uint32_t group;

	if (pread(fd, sb, sizeof(sb), SUPERBLOCK) != (ssize_t)sizeof(sb) ||
	    sb_u32(sb, SB_LOG_BLOCK) > LOG_BLOCK_MAX)
		return false;
	group = sb_u32(sb, SB_GROUP_BLOCKS);
	has = (uint64_t)sb_u32(sb, SB_BLOCKS_HI) << 32 |
	      sb_u32(sb, SB_BLOCKS_LO);
	blocks = bytes >> (10 + sb_u32(sb, SB_LOG_BLOCK));
	if ((has << (10 + sb_u32(sb, SB_LOG_BLOCK))) + SPAN_SLACK > bytes)
		return true;
	return group > 0 && has > sb_u32(sb, SB_FIRST_BLOCK) &&
	       (has - sb_u32(sb, SB_FIRST_BLOCK)) % group == 0 &&
	       blocks - has < group_least(sb, blocks,
					  1024u << sb_u32(sb, SB_LOG_BLOCK));
}

int disk_image_resize(const char *image, uint64_t bytes, struct err *err)
{
	SCOPED_FD fd = image_open(image, 0, err);
	struct stat st;
	int rc;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s is not a file", image);
	if ((uint64_t)st.st_size == bytes && image_spans(fd, bytes))
		return 0;
	rc = image_lock(fd, image, err);
	if (rc == 0)
		rc = image_check(image, err);
	if (rc < 0)
		return rc;
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

/* Attaches @fd to a free loop device and writes its path to @ret. The returned
 * descriptor keeps the device until something is mounted from it. */
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
	int rc = fd < 0 ? fd : image_lock(fd, image, err);

	if (rc < 0)
		return rc;
	rc = file_mkdir_p(at, 0700);
	if (rc < 0)
		return err_set(err, rc, "mkdir %s: %s", at, err_text(rc));
	dev = loop_take(fd, path, err);
	if (dev < 0)
		return dev;
	if (mount(path, at, "ext4", MS_NOSUID | MS_NODEV,
		  "discard,errors=remount-ro") < 0)
		return err_sys(err, "mount %s", image);
	return 0;
}
