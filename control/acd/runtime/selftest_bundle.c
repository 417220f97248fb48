/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest_bundle.c - the throw-away sandbox of the self-test, for runsc
 *
 * The flags are those of every sandbox, except that it has no network and no
 * cgroup.
 */
#include "control/acd/runtime/selftest_bundle.h"

#include <string.h>
#include <sys/mount.h>

#include "control/acd/runtime/dockerd.h"
#include "control/acd/runtime/runsc_spec.h"
#include "lib/file.h"
#include "lib/proc.h"

#define SANDBOX_ID "ac-selftest"
#define GUARD_IN_SANDBOX "/usr/libexec/ac/init-guard"

static json_t *special_mount(const char *type, const char *target)
{
	return json_pack("{s:s, s:s, s:s}", "destination", target, "type", type,
			 "source", type);
}

json_t *selftest_config(const char *guard)
{
	json_t *mounts = json_pack("[o, o, {s:s, s:s, s:s, s:[s, s]}]",
				   special_mount("proc", "/proc"),
				   special_mount("tmpfs", "/tmp"),
				   "destination", GUARD_IN_SANDBOX, "type",
				   "bind", "source", guard, "options", "bind",
				   "ro");
	json_t *namespaces = json_pack("[{s:s}, {s:s}, {s:s}, {s:s}, {s:s}]",
				       "type", "pid", "type", "network", "type",
				       "ipc", "type", "uts", "type", "mount");

	return json_pack(
		"{s:s, s:s, s:{s:s, s:b}, s:o, s:{s:o},"
		" s:{s:s, s:[s, s], s:[s], s:b, s:b, s:{s:i, s:i}, s:o}}",
		"ociVersion", "1.0.2", "hostname", SANDBOX_ID, "root", "path",
		"rootfs", "readonly", 0, "mounts", mounts, "linux",
		"namespaces", namespaces, "process", "cwd", "/", "args",
		GUARD_IN_SANDBOX, "--self-test", "env", "PATH=/usr/bin:/bin",
		"terminal", 0, "noNewPrivileges", 0, "user", "uid", 0, "gid", 0,
		"capabilities", runsc_caps_json());
}

/* runsc, its flags (with another network), and the place of its state. */
static int runsc_argv(const char *runsc, const char *dir, struct strv *argv)
{
	int rc = strv_push(argv, runsc);

	for (const char *const *f = dockerd_runsc_flags; *f && rc == 0; f++)
		rc = strv_push(argv, str_starts(*f, "--network=") ?
					     "--network=none" :
					     *f);
	if (rc == 0)
		rc = strv_push(argv, "--ignore-cgroups");
	if (rc == 0)
		rc = strv_pushf(argv, "--root=%s/state", dir);
	return rc;
}

/* Removes @dir and what an earlier test left in it. */
static int dir_clear(const char *dir)
{
	SCOPED_STR netns = str_printf("%s/state/null-netns", dir);

	if (!netns)
		return -ENOMEM;
	/* runsc keeps an empty network namespace mounted there. */
	umount2(netns, MNT_DETACH | UMOUNT_NOFOLLOW);
	return file_remove_tree(dir);
}

static int bundle_write(const char *guard, const char *dir)
{
	SCOPED_STR rootfs = str_printf("%s/rootfs", dir);
	SCOPED_STR state = str_printf("%s/state", dir);
	SCOPED_STR path = str_printf("%s/config.json", dir);
	SCOPED_STR text = NULL;
	json_t *conf;
	int rc;

	if (!rootfs || !state || !path)
		return -ENOMEM;
	conf = selftest_config(guard);
	text = conf ? json_dumps(conf, JSON_COMPACT) : NULL;
	json_decref(conf);
	if (!text)
		return -ENOMEM;
	rc = dir_clear(dir);
	if (rc == 0)
		rc = file_mkdir_p(rootfs, 0755);
	if (rc == 0)
		rc = file_mkdir_p(state, 0700);
	if (rc == 0)
		rc = file_write_atomic(path, text, strlen(text), 0600);
	return rc;
}

int selftest_bundle_make(const char *runsc, const char *guard, const char *dir,
			 struct strv *argv, struct err *err)
{
	int rc = bundle_write(guard, dir);

	if (rc < 0)
		return err_set(err, rc, "make the self-test's bundle in %s: %s",
			       dir, err_text(rc));
	rc = runsc_argv(runsc, dir, argv);
	if (rc == 0)
		rc = strv_push(argv, "run");
	if (rc == 0)
		rc = strv_pushf(argv, "--bundle=%s", dir);
	if (rc == 0)
		rc = strv_push(argv, SANDBOX_ID);
	if (rc < 0) {
		strv_done(argv);
		return err_nomem(err);
	}
	return 0;
}

int selftest_bundle_remove(const char *runsc, const char *dir,
			   unsigned limit_ms, struct err *err)
{
	struct proc_opts opts = { .fd = { -1, -1, -1 },
				  .timeout_ms = limit_ms };
	struct strv argv = { 0 };
	int rc = runsc_argv(runsc, dir, &argv);

	if (rc == 0)
		rc = strv_push(&argv, "delete");
	if (rc == 0)
		rc = strv_push(&argv, "--force");
	if (rc == 0)
		rc = strv_push(&argv, SANDBOX_ID);
	if (rc < 0) {
		strv_done(&argv);
		return err_nomem(err);
	}
	opts.argv = (const char *const *)argv.v;
	rc = proc_run(&opts, err); /* fails if there is none, as it should */
	strv_done(&argv);
	if (rc < 0)
		return rc;
	rc = dir_clear(dir);
	if (rc < 0)
		return err_set(err, rc, "remove %s: %s", dir, err_text(rc));
	return 0;
}
