/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_image_test.c - an image that is as large as it can be is left alone
 *
 * mkfs.ext4 and resize2fs leave out a last block group that would hold next to
 * nothing. While the test has locked an image, only what needs no work on it
 * succeeds.
 */
#include "control/acd/storage/disk_image.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/file.h"
#include "tests/unit/tap.h"

#define KIB UINT64_C(1024)
#define MIB (KIB << 10)

static char image[64];

static bool is_left_alone(uint64_t bytes)
{
	SCOPED_FD fd = open(image, O_RDWR | O_CLOEXEC);
	struct err err = { 0 };

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	       disk_image_resize(image, bytes, &err) == 0;
}

/* What lies behind the file system's end in the file, as a file has it that
 * was enlarged before the file system was. */
static bool is_mended(uint64_t bytes, uint64_t more)
{
	struct err err = { 0 };

	if (truncate(image, (off_t)(bytes + more)) < 0)
		return false;
	if (disk_image_resize(image, bytes + more, &err) < 0) {
		printf("# %s\n", err.msg);
		return false;
	}
	return is_left_alone(bytes + more);
}

static void test_sizes(void)
{
	/* Some end a little behind a group of 8 or of 128 MiB, with a copy of
	 * the superblock in the next one or without. */
	static const uint64_t kib[] = {
		16384,         21717,         24830,  65536,
		65537,         66048,         66559,  73731,
		100003,        131072,        131080, 136192,
		262145,        266240,        270336, 393216 + 40,
		393216 + 4500, 393216 + 8300, 524289, 528388,
		658596,        659456,        786433, 917504 + 6000,
		1048575,       1048576,
	};

	for (size_t i = 0; i < ARRAY_SIZE(kib); i++) {
		const uint64_t bytes = kib[i] * KIB;
		struct err err = { 0 };
		int rc =
			disk_image_make(image, bytes, getuid(), getgid(), &err);

		ok(rc == 0 && is_left_alone(bytes), "%llu KiB %s",
		   (unsigned long long)kib[i], err.msg);
	}
}

static void test_grown(void)
{
	static const uint64_t more[] = { 137 * MIB, 5 * MIB, 130 * MIB + KIB,
					 6 * MIB };
	uint64_t bytes = 250 * MIB;
	struct err err = { 0 };

	is_int(disk_image_make(image, bytes, getuid(), getgid(), &err), 0,
	       "one %s", err.msg);
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		ok(is_mended(bytes, more[i]), "and %llu KiB more",
		   (unsigned long long)(more[i] / KIB));
		bytes += more[i];
	}
}

int main(void)
{
	if (access("/usr/sbin/mkfs.ext4", X_OK) < 0 &&
	    access("/sbin/mkfs.ext4", X_OK) < 0) {
		skip("no mkfs.ext4");
		return done_testing();
	}
	snprintf(image, sizeof(image), "/tmp/disk_image_test.%d",
		 (int)getpid());
	test_sizes();
	test_grown();
	unlink(image);
	return done_testing();
}
