/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolate.c - drops privileges before the first byte from a sandbox is read
 *
 * Theory of operation
 *
 * isolate_root() creates a mount namespace, whose mounts no longer follow those
 * of ac-host, and makes everything read-only but the named folders.
 * isolate_ids() then gives up root for good: the bounding set first, because
 * that needs the capability which it drops; then the bits that would give
 * capabilities back to uid 0 are set and locked, then the ids, and last the
 * capabilities themselves, which the locked bits keep over the change of ids.
 * CAP_NET_BIND_SERVICE remains. After that this process can gain no privilege:
 * no_new_privs, no dumps, no ptrace by its own uid. isolate_seccomp.c restricts
 * the system calls.
 */
#include "ottergate/run/isolate.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/capability.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static int mount_readonly(const char *path, bool readonly, unsigned flags)
{
	struct mount_attr attr = { 0 };

	if (readonly)
		attr.attr_set = MOUNT_ATTR_RDONLY;
	else
		attr.attr_clr = MOUNT_ATTR_RDONLY;
	return mount_setattr(AT_FDCWD, path, flags, &attr, sizeof(attr));
}

/*
 * mount_setattr() needs Linux 5.12. Before it, only the root becomes read-only:
 * the mounts below would have to be found and remounted one by one, and with
 * the ids dropped and the filter loaded that does not justify a parser of
 * mountinfo.
 */
static int root_readonly(void)
{
	if (mount_readonly("/", true, AT_RECURSIVE) == 0)
		return 0;
	if (errno != ENOSYS)
		return -errno;
	if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0)
		return -errno;
	return 0;
}

static int folder_writable(const char *path)
{
	if (mount_readonly(path, false, 0) == 0 || errno == ENOSYS)
		return 0; /* without that call it never became read-only */
	return -errno;
}

int isolate_root(const char *const *writable, struct err *err)
{
	int rc;

	if (unshare(CLONE_NEWNS) < 0)
		return err_sys(err, "a mount namespace of its own");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(err, "make mounts private");
	/* Workspaces are not needed here, and copies of their mounts would keep
	 * their file systems busy after their runs. */
	if (umount2("/run/ac/mnt", MNT_DETACH) < 0 && errno != EINVAL &&
	    errno != ENOENT && errno != EPERM)
		return err_sys(err, "unmount the workspaces");
	/* A folder can stay writable only as a mount of its own. */
	for (size_t i = 0; writable[i]; i++)
		if (mount(writable[i], writable[i], NULL, MS_BIND, NULL) < 0)
			return err_sys(err, "bind %s", writable[i]);
	rc = root_readonly();
	if (rc < 0)
		return err_set(err, rc, "make the root read-only: %s",
			       err_text(rc));
	for (size_t i = 0; writable[i]; i++) {
		rc = folder_writable(writable[i]);
		if (rc < 0)
			return err_set(err, rc, "keep %s writable: %s",
				       writable[i], err_text(rc));
	}
	return 0;
}

/* The last number differs between kernels, so it is found by trying. */
static int bounding_drop(void)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return -errno;
	return 0;
}

static int securebits_lock(void)
{
	const unsigned long bits =
		SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
		SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
		SECBIT_NO_CAP_AMBIENT_RAISE |
		SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	return prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0 ? -errno : 0;
}

static int ids_drop(uid_t uid, gid_t gid)
{
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		return -errno;
	return 0;
}

static int caps_drop(void)
{
	const cap_value_t keep = CAP_NET_BIND_SERVICE;
	cap_t caps = cap_init();
	int rc = 0;

	if (!caps)
		return -errno;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    cap_set_flag(caps, CAP_PERMITTED, 1, &keep, CAP_SET) < 0 ||
	    cap_set_flag(caps, CAP_EFFECTIVE, 1, &keep, CAP_SET) < 0 ||
	    cap_set_proc(caps) < 0)
		rc = -errno;
	cap_free(caps);
	return rc;
}

static int no_return(void)
{
	const struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &none) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

int isolate_ids(uid_t uid, gid_t gid, struct err *err)
{
	static const struct {
		int (*fn)(void);
		const char *what;
	} before[] = {
		{ bounding_drop, "empty the bounding set" },
		{ securebits_lock, "lock the secure bits" },
	}, after[] = {
		{ caps_drop, "give up capabilities" },
		{ no_return, "give up new privileges and dumps" },
	};
	int rc;

	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		rc = before[i].fn();
		if (rc < 0)
			return err_set(err, rc, "%s: %s", before[i].what,
				       err_text(rc));
	}
	rc = ids_drop(uid, gid);
	if (rc < 0)
		return err_set(err, rc, "become uid %u: %s", (unsigned)uid,
			       err_text(rc));
	for (size_t i = 0; i < ARRAY_SIZE(after); i++) {
		rc = after[i].fn();
		if (rc < 0)
			return err_set(err, rc, "%s: %s", after[i].what,
				       err_text(rc));
	}
	/* Verify that it cannot be undone. */
	if (setresuid(0, 0, 0) == 0 || getuid() != uid || geteuid() != uid)
		return err_set(err, -EPERM, "root could not be given up");
	return 0;
}
