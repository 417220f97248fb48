/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare_test.c - cgroup v2 preparation on a folder of plain files; log files
 */
#include "control/acd/runtime/prepare.h"

#include <fcntl.h>

#include "control/acd/daemon/logfile.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char top[] = "/tmp/host_test.XXXXXX";

static void put(const char *name, const char *text)
{
	SCOPED_STR path = str_printf("%s/%s", top, name);

	file_write_atomic(path, text, strlen(text), 0644);
}

static void is_file(const char *name, const char *want, const char *what)
{
	SCOPED_STR path = str_printf("%s/%s", top, name);
	SCOPED_STR text = NULL;

	file_read(path, 65536, &text, NULL);
	is_str(text, want, "%s", what);
}

static void test_cgroup2(void)
{
	SCOPED_STR dir = str_printf("%s/init", top);
	struct err err = { 0 };

	is_int(host_cgroup2_prepare(top, &err), -ENOENT, "no cgroup: %s",
	       err.msg);
	put("cgroup.procs", "");
	put("cgroup.controllers", "memory\n");
	put("cgroup.subtree_control", "");
	file_mkdir_p(dir, 0755);
	put("init/cgroup.procs", "");
	is_int(host_cgroup2_prepare(top, NULL), 0, "nothing to move");
	is_file("cgroup.subtree_control", "+memory", "controller switched on");
	/* A plain file never runs empty, so this ends after its rounds. */
	put("cgroup.procs", "0\n17\n");
	is_int(host_cgroup2_prepare(top, NULL), 0, "a process to move");
	is_file("init/cgroup.procs", "17", "is moved, a foreign one is not");
	put("cgroup.procs", "0\n");
	is_int(host_cgroup2_prepare(top, NULL), 0, "only foreign ones");
}

static void test_logfile(void)
{
	SCOPED_STR path = str_printf("%s/log", top);
	SCOPED_FD alias = open("/dev/null", O_WRONLY | O_CLOEXEC);
	const bool root = geteuid() == 0;
	struct logfile *lf = NULL;
	struct err err = { 0 };
	struct stat st = { 0 };

	is_int(logfile_open("/nonexistent/log", 10, &lf, &err), -ENOENT, "%s",
	       err.msg);
	logfile_set_owner(root ? 4711 : geteuid(), root ? 4712 : getegid());
	is_int(logfile_open(path, 10, &lf, NULL), 0, "open");
	logfile_write(lf, "0123456789", 10);
	is_file("log", "0123456789", "as much as fits");
	logfile_write(lf, "a", 1);
	is_file("log", "", "one more: rotated");
	ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0640, "mode 0640");
	ok(st.st_uid == (root ? 4711 : geteuid()) &&
		   st.st_gid == (root ? 4712 : getegid()),
	   "belongs to the user, also after the rotation");
	is_file("log.1", "0123456789a", "nothing lost");
	is_int(logfile_redirect(lf, alias), 0, "redirect");
	is_int(fd_write_all(alias, "by the alias", 12), 0, "write there");
	is_file("log", "by the alias", "is in the file");
	logfile_rotate(lf);
	is_file("log.1", "by the alias", "rotated");
	fd_write_all(alias, "x", 1);
	is_file("log", "x", "the alias follows");
	logfile_close(lf);
	is_int(logfile_open(path, 10, &lf, NULL), 0, "open again");
	logfile_write(lf, "y", 1);
	is_file("log", "xy", "appends");
	logfile_close(lf);
	logfile_close(NULL);
	logfile_trim(path, 2);
	is_file("log", "xy", "not over its maximum: not trimmed");
	logfile_trim(path, 1);
	is_file("log", "", "trimmed");
	logfile_trim("/nonexistent/log", 1);
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	test_cgroup2();
	test_logfile();
	file_remove_tree(top);
	return done_testing();
}
