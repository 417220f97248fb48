/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor.c - checks the machine and ac-host
 *
 * Checks what is visible without acd first, then adds acd's own checks.
 */
#include "control/cli/cmd/doctor.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "control/cli/host/host.h"
#include "control/cli/host/host_start.h"
#include "control/cli/host/outer.h"
#include "control/cli/core/table.h"
#include "control/shared/json.h"
#include "lib/proc.h"
#include "lib/str.h"

#define PACKAGES_MAX 4096u
#define PACKAGES_MISSING 3 /* exit code of packages.sh */
#define DISK_LOW (UINT64_C(2) * 1024 * 1024 * 1024)

/* Adds a check to @list with the first line of @detail; a caller puts further
 * lines into @hint. */
static int check_add(json_t *list, const char *name, bool good,
		     const char *detail, const char *hint)
{
	SCOPED_STR line =
		str_printf("%.*s", (int)strcspn(detail, "\n"), detail);

	return json_array_append_new(
		list, json_pack("{s:s, s:b, s:o, s:s}", "name", name, "ok",
				good, "detail", jsonx_text(line ? line : ""),
				"hint", good ? "" : hint));
}

/* Adds a check that was not possible; it is no failure. */
static int check_skip(json_t *list, const char *name, const char *detail)
{
	return json_array_append_new(
		list, json_pack("{s:s, s:b, s:b, s:s, s:s}", "name", name, "ok",
				1, "skipped", 1, "detail", detail, "hint", ""));
}

static bool has_check(const json_t *list, const char *name)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++)
		if (strcmp(json_text(json_array_get(list, i), "name"), name) ==
		    0)
			return true;
	return false;
}

/* Adds acd's own checks, which may test the same thing from inside. */
static void check_extend(const struct cli *cli, json_t *list,
			 const json_t *more)
{
	size_t i;

	for (i = 0; i < json_array_size(more); i++) {
		json_t *c = json_array_get(more, i);
		const char *name = json_text(c, "name");
		SCOPED_STR inside = str_printf("%s in %s", name, cli->host);

		if (inside && has_check(list, name))
			json_object_set_new(c, "name", jsonx_text(inside));
		json_array_append(list, c);
	}
}

/* Checks the packages that `ac start` needs. packages.sh prints what is missing
 * in one line and the command that helps in the next. */
static void check_packages(const struct cli *cli, json_t *list)
{
	SCOPED_STR path = str_printf("%s/images/setup/packages.sh", cli->share);
	const char *const argv[] = { path, "run", "--check", NULL };
	const struct proc_opts opts = { .argv = argv, .fd = { -1, -1, -1 } };
	SCOPED_STR out = NULL;
	SCOPED_STR missing = NULL;
	struct err err = { 0 };
	char *help;
	int code = path ? proc_capture(&opts, PACKAGES_MAX, &out, &err) :
			  -ENOMEM;

	check_add(list, "set-up scripts", code >= 0 && code < 126,
		  code >= 0 && code < 126 ? path : "not found",
		  "AC_ROOT names the folder that holds images/");
	if (code < 0 || !out)
		return;
	help = strchr(out, '\n');
	if (code == 0)
		check_add(list, "packages", true, "all there", "");
	else if (code == PACKAGES_MISSING && help) {
		*help++ = '\0';
		help[strcspn(help, "\n")] = '\0';
		missing = str_printf("missing: %s", out);
		check_add(list, "packages", false, missing ? missing : out,
			  help);
	} else {
		check_skip(list, "packages", "not a Debian system");
	}
}

/* Checks the outer engine. *ret is open for further checks, NULL if no engine
 * answers. */
static void check_engine(json_t *list, struct outer **ret)
{
	struct err err = { 0 };
	SCOPED_STR text = NULL;
	int rc;

	*ret = NULL;
	rc = outer_open(ret, &err);
	if (rc < 0) {
		check_add(list, "Docker engine", false,
			  rc == -EACCES ? "permission denied" : err.msg,
			  rc == -ECONNREFUSED ? "`ac start` starts one" :
						err.msg);
		return;
	}
	text = str_printf("version %s", outer_version(*ret));
	check_add(list, "Docker engine", true, text ? text : "", "");
}

static void check_kernel(json_t *list)
{
	struct utsname u;
	bool idmap;
	int major = 0, minor = 0;
	int fd;

	if (uname(&u) < 0 || sscanf(u.release, "%4d.%4d", &major, &minor) != 2)
		return;
	check_add(list, "kernel", major > 5 || (major == 5 && minor >= 12),
		  u.release, "ac needs Linux 5.12 or newer");
	/* EBADF means the system call exists, ENOSYS that it does not. */
	idmap = syscall(SYS_mount_setattr, -1, "", 0, NULL, 0) < 0 &&
		errno != ENOSYS;
	check_add(list, "owners of files", idmap,
		  idmap ? "idmapped mounts" : "no idmapped mounts",
		  "files of an agent will belong to uid 1000 outside");
	fd = open_tree(AT_FDCWD, "/", OPEN_TREE_CLOEXEC);
	check_add(list, "open_tree", fd >= 0,
		  fd >= 0 ? "works" : strerror(errno), "--workspace needs it");
	if (fd >= 0)
		close(fd);
}

static void check_cgroup(json_t *list)
{
	bool v2 = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
	bool v1 = access("/sys/fs/cgroup/memory", F_OK) == 0;

	check_add(list, "cgroups", v1 || v2,
		  v2 ? "v2" :
		  v1 ? "v1" :
		       "none",
		  "mount cgroup2 at /sys/fs/cgroup");
}

static void check_home(const struct cli *cli, json_t *list)
{
	char left[32];
	struct statvfs st;
	SCOPED_STR text = NULL;
	uint64_t bytes;

	if (access(cli->home, F_OK) < 0 && errno == ENOENT) {
		check_add(list, "state directory", true,
			  "not there yet: the first start makes it", "");
		return;
	}
	check_add(list, "state directory", access(cli->home, W_OK) == 0,
		  cli->home, "it cannot be written to; AC_HOME names another");
	if (statvfs(cli->home, &st) < 0)
		return;
	bytes = (uint64_t)st.f_bavail * st.f_frsize;
	str_format_size(left, sizeof(left), bytes);
	text = str_printf("%s free", left);
	check_add(list, "disk", bytes >= DISK_LOW, text ? text : left,
		  "`ac df` tells what takes room");
}

static void check_container(const struct cli *cli, json_t *list,
			    struct outer *o)
{
	struct outer_info info;
	struct err err = { 0 };
	bool ours;

	if (!o || outer_inspect(o, cli->host, &info, &err) < 0)
		return;
	ours = !info.exists || strcmp(info.home, cli->home) == 0;
	check_add(list, cli->host, ours,
		  !info.exists ? "not made yet" :
		  !ours        ? info.home :
		  info.running ? "running" :
				 "stopped",
		  "it serves another AC_HOME: AC_HOST names another container");
}

static void check_acd(const struct cli *cli, json_t *list)
{
	SCOPED_CLIENT c = client_new(cli->sock, "acd");
	SCOPED_JSON all = NULL;
	struct host_probe probe = { 0 };
	struct err err = { 0 };
	int rc;

	rc = c ? host_probe(c, &probe, &err) : err_nomem(&err);
	if (rc < 0) {
		check_add(list, "acd", false, err.msg,
			  rc == -EACCES ? "" : "`ac restart`");
		return;
	}
	if (!probe.up || probe.stopping) {
		check_skip(list, "acd", probe.up ? "stopping" : "not running");
		return;
	}
	check_add(list, "acd", probe.same,
		  probe.same ? "running" : "running, of another build",
		  "`ac restart` replaces it");
	if (client_call(c, "GET", "/v1/doctor", NULL, &all, &err) < 0)
		check_add(list, "acd's own checks", false, err.msg,
			  "`ac logs host`");
	else
		check_extend(cli, list, json_object_get(all, "checks"));
}

static int add_check(struct table *t, const json_t *c)
{
	bool good = json_is_true(json_object_get(c, "ok"));
	bool skipped = json_is_true(json_object_get(c, "skipped"));
	const char *cells[] = { json_text(c, "name"),
				skipped ? "skipped" :
				good    ? "ok" :
					  "BAD",
				json_text(c, "detail") };

	if (table_row(t, cells) < 0)
		return -ENOMEM;
	table_paint(t, 1,
		    skipped ? TABLE_PLAIN :
		    good    ? TABLE_GREEN :
			      TABLE_RED);
	return 0;
}

static int print_checks(const struct cli *cli, const json_t *list,
			struct err *err)
{
	static const struct table_col cols[] = { { "CHECK", 0 },
						 { "", 0 },
						 { "DETAIL", TABLE_CUT } };
	size_t i;
	int rc = table_print_list(cli, cols, ARRAY_SIZE(cols), list, add_check,
				  err);

	for (i = 0; rc == 0 && i < json_array_size(list); i++) {
		const json_t *c = json_array_get(list, i);

		if (!json_is_true(json_object_get(c, "ok")) &&
		    *json_text(c, "hint"))
			say_error("%s: %s", json_text(c, "name"),
				  json_text(c, "hint"));
	}
	return rc;
}

int cmd_doctor(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_JSON list = json_array();
	SCOPED_JSON all = NULL;
	struct outer *o = NULL;
	bool good = true;
	size_t i;
	int rc;

	(void)a;
	if (!list)
		return err_nomem(err);
	check_packages(cli, list);
	check_engine(list, &o);
	check_kernel(list);
	check_cgroup(list);
	check_home(cli, list);
	check_container(cli, list, o);
	outer_close(o);
	check_acd(cli, list);
	for (i = 0; i < json_array_size(list); i++)
		good = good && json_is_true(json_object_get(
				       json_array_get(list, i), "ok"));
	if (cli->json) {
		all = json_pack("{s:b, s:O}", "ok", good, "checks", list);
		rc = all ? cli_print_json(all, false, err) : -ENOMEM;
	} else {
		rc = print_checks(cli, list, err);
	}
	return rc < 0 ? rc : good ? 0 : CLI_EXIT_FAIL;
}
