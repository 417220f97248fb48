/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolate.c - what the gateway gives up before it reads a stranger's byte
 *
 * Theory of operation
 *
 * isolate_root() takes a mount namespace of its own, whose mounts no longer
 * follow those of ac-host, and makes all of it read-only but the folders that
 * are named. isolate_ids() then gives up root for good: the bounding set goes
 * first, because that needs the capability it takes away, then the bits that
 * would give capabilities back to uid 0 are set and locked, then the ids, and
 * last the capabilities themselves, which the locked bits keep over the
 * change of ids. What is left is CAP_NET_BIND_SERVICE. From there on nothing
 * of this process can become more: no_new_privs, no dumps, no ptrace by its
 * own uid. isolate_seccomp.c takes the system calls.
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
 * mount_setattr() came with Linux 5.12. Before it, the root alone: what is
 * mounted below needs to be found and remounted one by one, and behind the
 * lost ids and the filter that is not worth a parser of mountinfo.
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
	int r;

	if (unshare(CLONE_NEWNS) < 0)
		return err_sys(err, "a mount namespace of its own");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(err, "make mounts private");
	/* Workspaces are none of its business, and a copy of their mounts here
	 * would keep their file systems busy when their runs are over. */
	if (umount2("/run/ac/mnt", MNT_DETACH) < 0 && errno != EINVAL &&
	    errno != ENOENT && errno != EPERM)
		return err_sys(err, "let go of the workspaces");
	/* A folder can be writable alone only as a mount of its own. */
	for (size_t i = 0; writable[i]; i++)
		if (mount(writable[i], writable[i], NULL, MS_BIND, NULL) < 0)
			return err_sys(err, "bind %s", writable[i]);
	r = root_readonly();
	if (r < 0)
		return err_set(err, r, "make the root read-only: %s",
			       err_text(r));
	for (size_t i = 0; writable[i]; i++) {
		r = folder_writable(writable[i]);
		if (r < 0)
			return err_set(err, r, "keep %s writable: %s",
				       writable[i], err_text(r));
	}
	return 0;
}

/* The last number is found by asking: kernels differ. */
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
	int r = 0;

	if (!caps)
		return -errno;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    cap_set_flag(caps, CAP_PERMITTED, 1, &keep, CAP_SET) < 0 ||
	    cap_set_flag(caps, CAP_EFFECTIVE, 1, &keep, CAP_SET) < 0 ||
	    cap_set_proc(caps) < 0)
		r = -errno;
	cap_free(caps);
	return r;
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
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		r = before[i].fn();
		if (r < 0)
			return err_set(err, r, "%s: %s", before[i].what,
				       err_text(r));
	}
	r = ids_drop(uid, gid);
	if (r < 0)
		return err_set(err, r, "become uid %u: %s", (unsigned)uid,
			       err_text(r));
	for (size_t i = 0; i < ARRAY_SIZE(after); i++) {
		r = after[i].fn();
		if (r < 0)
			return err_set(err, r, "%s: %s", after[i].what,
				       err_text(r));
	}
	/* What no one may undo must be seen to be done. */
	if (setresuid(0, 0, 0) == 0 || getuid() != uid || geteuid() != uid)
		return err_set(err, -EPERM, "root is not given up");
	return 0;
}
