/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest_bundle.c - the throw-away sandbox of the self-test, for runsc
 *
 * The flags are those of every sandbox, but for the network, which it has
 * none of, and cgroups, which are the engine's to make.
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

/* runsc, our flags for it (the network differs), its state's place. */
static int runsc_argv(const char *runsc, const char *dir, struct strv *argv)
{
	int r = strv_push(argv, runsc);

	for (const char *const *f = dockerd_runsc_flags; *f && r == 0; f++)
		r = strv_push(argv, str_starts(*f, "--network=") ?
					    "--network=none" :
					    *f);
	if (r == 0)
		r = strv_push(argv, "--ignore-cgroups");
	if (r == 0)
		r = strv_pushf(argv, "--root=%s/state", dir);
	return r;
}

/* Removes @dir with all that an earlier test left there. */
static int dir_clear(const char *dir)
{
	SCOPED_STR netns = str_printf("%s/state/null-netns", dir);

	if (!netns)
		return -ENOMEM;
	/* runsc keeps an empty network namespace mounted with its state. */
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
	int r;

	if (!rootfs || !state || !path)
		return -ENOMEM;
	conf = selftest_config(guard);
	text = conf ? json_dumps(conf, JSON_COMPACT) : NULL;
	json_decref(conf);
	if (!text)
		return -ENOMEM;
	r = dir_clear(dir);
	if (r == 0)
		r = file_mkdir_p(rootfs, 0755);
	if (r == 0)
		r = file_mkdir_p(state, 0700);
	if (r == 0)
		r = file_write_atomic(path, text, strlen(text), 0600);
	return r;
}

int selftest_bundle_make(const char *runsc, const char *guard, const char *dir,
			 struct strv *argv, struct err *err)
{
	int r = bundle_write(guard, dir);

	if (r < 0)
		return err_set(err, r, "make the self-test's bundle in %s: %s",
			       dir, err_text(r));
	r = runsc_argv(runsc, dir, argv);
	if (r == 0)
		r = strv_push(argv, "run");
	if (r == 0)
		r = strv_pushf(argv, "--bundle=%s", dir);
	if (r == 0)
		r = strv_push(argv, SANDBOX_ID);
	if (r < 0) {
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
	int r = runsc_argv(runsc, dir, &argv);

	if (r == 0)
		r = strv_push(&argv, "delete");
	if (r == 0)
		r = strv_push(&argv, "--force");
	if (r == 0)
		r = strv_push(&argv, SANDBOX_ID);
	if (r < 0) {
		strv_done(&argv);
		return err_nomem(err);
	}
	opts.argv = (const char *const *)argv.v;
	r = proc_run(&opts, err); /* fails when there is none: as it should */
	strv_done(&argv);
	if (r < 0)
		return r;
	r = dir_clear(dir);
	if (r < 0)
		return err_set(err, r, "remove %s: %s", dir, err_text(r));
	return 0;
}
