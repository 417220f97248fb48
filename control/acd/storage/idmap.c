/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idmap.c - detached mounts whose file owners are swapped with the agent's
 *
 * The kernel takes the mapping of a mount from a user namespace, which needs no
 * process in it. A child makes one, acd writes its maps and keeps a descriptor,
 * and the child is gone before the call returns. Most machines have one user,
 * so the last one is cached.
 *
 * The mapping is a swap, not a shift: every id maps to something, so no file is
 * unreadable, and no two owners become one.
 */
#include "control/acd/storage/idmap.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "control/shared/paths.h"
#include "lib/file.h"

#define ID_END 4294967295u /* (uid_t)-1 is not an id */

static struct {
	uint32_t uid, gid, as;
	int fd;
} userns = { .fd = -1 };

int idmap_swap_lines(char *out, size_t size, uint32_t a, uint32_t b)
{
	uint32_t lo = a < b ? a : b, hi = a < b ? b : a;
	const struct {
		uint32_t inside, outside, count;
	} spans[] = {
		{ 0, 0, lo },
		{ lo, hi, 1 },
		{ lo + 1, lo + 1, hi > lo ? hi - lo - 1 : 0 },
		{ hi, lo, hi > lo ? 1 : 0 },
		{ hi + 1, hi + 1, ID_END - hi - 1 },
	};
	size_t n = 0;

	if (hi == ID_END)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(spans); i++) {
		int len;

		if (spans[i].count == 0)
			continue;
		len = snprintf(out + n, size - n, "%u %u %u\n", spans[i].inside,
			       spans[i].outside, spans[i].count);
		if (len < 0 || (size_t)len >= size - n)
			return -ENOBUFS;
		n += (size_t)len;
	}
	return 0;
}

static int map_put(pid_t pid, const char *file, uint32_t id, uint32_t as)
{
	char path[64], lines[256];
	int rc = idmap_swap_lines(lines, sizeof(lines), id, as);

	if (rc < 0)
		return rc;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return file_put(path, lines);
}

/* The child; @fd is its end of a socket pair. It sends a byte when the
 * namespace exists and exits at end of file. */
static void userns_child(int fd)
{
	char byte = 0;

	if (unshare(CLONE_NEWUSER) == 0 && write(fd, &byte, 1) == 1)
		while (read(fd, &byte, 1) > 0)
			;
	_exit(0);
}

static int userns_make(pid_t pid, int fd, uint32_t uid, uint32_t gid,
		       uint32_t as)
{
	char byte, path[64];
	int rc, ns;

	if (read(fd, &byte, 1) != 1)
		return -EPERM; /* the child has failed */
	rc = map_put(pid, "uid_map", uid, as);
	if (rc == 0)
		rc = map_put(pid, "gid_map", gid, as);
	if (rc < 0)
		return rc;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	return ns < 0 ? -errno : ns;
}

/* Returns a borrowed descriptor of a user namespace that swaps these with
 * @as. */
static int userns_get(uint32_t uid, uint32_t gid, uint32_t as)
{
	int pair[2], ns;
	pid_t pid;

	if (userns.fd >= 0 && userns.uid == uid && userns.gid == gid &&
	    userns.as == as)
		return userns.fd;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		userns_child(pair[1]);
	}
	close(pair[1]);
	ns = pid < 0 ? -EAGAIN : userns_make(pid, pair[0], uid, gid, as);
	close(pair[0]);
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	if (ns < 0)
		return ns;
	idmap_done();
	userns.uid = uid;
	userns.gid = gid;
	userns.as = as;
	userns.fd = ns;
	return ns;
}

int idmap_open(const char *path)
{
	int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path,
			      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
				      AT_SYMLINK_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

int idmap_open_at(int dir)
{
	int fd = (int)syscall(SYS_open_tree, dir, "",
			      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
				      AT_EMPTY_PATH);

	return fd < 0 ? -errno : fd;
}

static int attr_set(int fd, const struct mount_attr *attr)
{
	long rc = syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, attr,
			  sizeof(*attr));

	return rc < 0 ? -errno : 0;
}

int idmap_apply(int mount_fd, uint32_t uid, uint32_t gid, bool ro)
{
	return idmap_apply_as(mount_fd, uid, gid, AC_AGENT_UID, ro);
}

int idmap_apply_as(int mount_fd, uint32_t uid, uint32_t gid, uint32_t as,
		   bool ro)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
	};
	int rc;

	if (ro)
		attr.attr_set |= MOUNT_ATTR_RDONLY;
	rc = attr_set(mount_fd, &attr);
	if (rc < 0)
		return rc;
	if (uid == as && gid == as)
		return 0; /* a swap with itself */
	rc = userns_get(uid, gid, as);
	if (rc < 0)
		return 1;
	attr = (struct mount_attr){ .attr_set = MOUNT_ATTR_IDMAP,
				    .userns_fd = (uint64_t)rc };
	return attr_set(mount_fd, &attr) < 0 ? 1 : 0;
}

int idmap_attach(int mount_fd, const char *path)
{
	long rc = syscall(SYS_move_mount, mount_fd, "", AT_FDCWD, path,
			  MOVE_MOUNT_F_EMPTY_PATH);

	return rc < 0 ? -errno : 0;
}

void idmap_done(void)
{
	if (userns.fd >= 0)
		close(userns.fd);
	userns.fd = -1;
}
