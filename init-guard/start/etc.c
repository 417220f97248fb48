/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etc.c - what this sandbox's programs are to find as system configuration
 *
 * No process of the agent exists while this runs, and later mounts need a
 * right that nobody has any more.
 */
#include "init-guard/etc.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "init-guard/agent.h"
#include "lib/file.h"

#define GIT_VALUE_MAX 256u
#define GIT_USER_MAX (4 * GIT_VALUE_MAX + 64) /* each byte may be quoted */
#define HOSTS_MAX (64u * 1024)
#define HOSTS "/etc/hosts"
#define HOSTNAME "/etc/hostname"
#define ETC_FLAGS (O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC)

int etc_init(struct err *err)
{
	struct stat st;

	if (mkdir(ETC_DIR, 0755) == 0 && chmod(ETC_DIR, 0755) < 0)
		return err_sys(err, "chmod " ETC_DIR);
	if (lstat(ETC_DIR, &st) < 0)
		return err_sys(err, "make " ETC_DIR);
	if (!S_ISDIR(st.st_mode) || st.st_uid != 0 || (st.st_mode & 022))
		return err_set(err, -EPERM, ETC_DIR " is not root's alone");
	return 0;
}

int etc_write(const char *path, const void *data, size_t len, struct err *err)
{
	SCOPED_FD fd = -1;
	int ret = 0;

	/* In memory, and with nobody there to see half of it. Root has no
	 * right to write to one that is there. */
	if (unlink(path) == 0 || errno == ENOENT)
		fd = open(path, ETC_FLAGS, 0444);
	if (fd < 0 || fchmod(fd, 0444) < 0)
		ret = -errno;
	if (ret == 0)
		ret = fd_write_all(fd, data, len);
	if (ret < 0)
		return err_set(err, ret, "write %s: %s", path, err_text(ret));
	return 0;
}

int etc_show(const char *path, const char *target, struct err *err)
{
	if (mount(path, target, NULL, MS_BIND, NULL) < 0)
		return err_sys(err, "mount over %s", target);
	return 0;
}

/* ---- the host name ---- */

static int hosts_put(struct buf *out, const char *text, size_t len)
{
	return len > 0 ? buf_append(out, text, len) : 0;
}

int etc_hosts_rename(const char *text, const char *from, const char *to,
		     struct buf *out)
{
	const char *p = text;
	bool found = false;
	int ret = 0;

	while (*p && ret == 0) {
		size_t gap = strspn(p, " \t\r\n"), word;

		ret = hosts_put(out, p, gap);
		p += gap;
		word = strcspn(p, *p == '#' ? "\n" : " \t\r\n#");
		if (ret == 0 && word == strlen(from) &&
		    strncmp(p, from, word) == 0) {
			found = true;
			ret = hosts_put(out, to, strlen(to));
		} else if (ret == 0) {
			ret = hosts_put(out, p, word);
		}
		p += word;
	}
	if (found || ret < 0)
		return ret;
	/* its last line may have no end */
	return buf_printf(out, "%s127.0.1.1\t%s\n",
			  p > text && p[-1] != '\n' ? "\n" : "", to);
}

void etc_name_init(struct etc_name *n)
{
	*n = (struct etc_name){ .hosts_fd = -1, .hostname_fd = -1 };
}

void etc_name_done(struct etc_name *n)
{
	free(n->hosts);
	fd_closep(&n->hosts_fd);
	fd_closep(&n->hostname_fd);
	etc_name_init(n);
}

/* Shows an empty file of ours at @target and leaves it open. */
static int late_show(const char *path, const char *target, int *ret_fd,
		     struct err *err)
{
	SCOPED_FD fd = open(path, ETC_FLAGS, 0444);

	/* Past our own umask. */
	if (fd < 0 || fchmod(fd, 0444) < 0)
		return err_sys(err, "make %s", path);
	if (etc_show(path, target, err) < 0)
		return err->code;
	*ret_fd = fd_take(&fd);
	return 0;
}

static int late_show_all(struct etc_name *n, struct err *err)
{
	int ret = file_read(HOSTS, HOSTS_MAX, &n->hosts, NULL);

	if (ret < 0 && ret != -ENOENT)
		return err_set(err, ret, "read " HOSTS ": %s", err_text(ret));
	if (ret == 0)
		ret = late_show(ETC_DIR "/hosts", HOSTS, &n->hosts_fd, err);
	else
		ret = 0;
	if (ret == 0 && access(HOSTNAME, F_OK) == 0)
		ret = late_show(ETC_DIR "/hostname", HOSTNAME, &n->hostname_fd,
				err);
	return ret;
}

int etc_name_expect(struct etc_name *n, const struct report *r, struct err *err)
{
	int ret = late_show_all(n, err);

	n->expected = true;
	if (ret < 0 && !r->own_kernel && (ret == -EPERM || ret == -EACCES)) {
		etc_name_done(n);
		*err = (struct err){ 0 };
		ret = 0;
	}
	return ret;
}

static int hostname_write(const struct etc_name *n, const char *name)
{
	char line[LINK_NAME_MAX + 2];
	int len = snprintf(line, sizeof(line), "%s\n", name);

	return n->hostname_fd < 0 ?
		       0 :
		       fd_write_all(n->hostname_fd, line, (size_t)len);
}

static int hosts_write(const struct etc_name *n, const char *from,
		       const char *to)
{
	struct buf out;
	int ret;

	if (n->hosts_fd < 0)
		return 0;
	buf_init(&out, 2 * HOSTS_MAX);
	ret = etc_hosts_rename(n->hosts, from, to, &out);
	if (ret == 0)
		ret = fd_write_all(n->hosts_fd, buf_slice(&out).ptr,
				   buf_len(&out));
	buf_done(&out);
	return ret;
}

static int name_change(const struct etc_name *n, const char *from,
		       const char *name, struct err *err)
{
	int ret;

	if (name[0] && strcmp(from, name) != 0 &&
	    sethostname(name, strlen(name)) < 0)
		return err_sys(err, "set the host name");
	/* They are there and empty, also when the name is the old one. */
	ret = hostname_write(n, name[0] ? name : from);
	if (ret == 0)
		ret = hosts_write(n, from, name[0] ? name : from);
	return ret < 0 ? err_set(err, ret, "write the host name: %s",
				 err_text(ret)) :
			 0;
}

int etc_name_set(struct etc_name *n, const char *name, struct report *r,
		 struct err *err)
{
	char old[LINK_NAME_MAX + 1] = "";
	int ret = 0;

	if (gethostname(old, sizeof(old) - 1) < 0)
		return err_sys(err, "read the host name");
	if (!n->expected && name[0] && strcmp(old, name) != 0)
		ret = err_set(err, -EPERM, "the host name is not %s", name);
	else if (n->expected)
		ret = name_change(n, old, name, err);
	ret = report_judge(r, "hostname", ret, err);
	etc_name_done(n);
	return ret;
}

/* ---- git ---- */

static bool git_value_is_good(const char *value)
{
	size_t len = value ? strlen(value) : 0;

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)value[i] < ' ' || value[i] == 127)
			return false;
	return len > 0 && len <= GIT_VALUE_MAX;
}

/* Quoted, as git-config(1) has it: nothing in it ends the value. */
static int git_value_put(struct buf *out, const char *key, const char *value)
{
	int ret = buf_printf(out, "\t%s = \"", key);

	for (; ret >= 0 && *value; value++) {
		if (*value == '"' || *value == '\\')
			ret = buf_append(out, "\\", 1);
		if (ret >= 0)
			ret = buf_append(out, value, 1);
	}
	return ret < 0 ? ret : buf_append(out, "\"\n", 2);
}

int etc_git_user(char *const *env, struct buf *out)
{
	const char *name = env_value(env, "AC_GIT_NAME");
	const char *email = env_value(env, "AC_GIT_EMAIL");
	bool has_name = git_value_is_good(name);
	bool has_email = git_value_is_good(email);
	int ret = 0;

	if (has_name || has_email)
		ret = buf_append(out, "[user]\n", 7);
	if (ret == 0 && has_name)
		ret = git_value_put(out, "name", name);
	if (ret == 0 && has_email)
		ret = git_value_put(out, "email", email);
	return ret;
}

/* ext:: runs any program that a URL names; the workspace is the agent's in
 * whatever way its owner shows through the mount. The image's own file still
 * counts, but comes first. */
int etc_git(char *const *env, struct slice more, struct err *err)
{
	static const char text[] = "[include]\n"
				   "\tpath = /etc/gitconfig\n"
				   "[protocol \"ext\"]\n"
				   "\tallow = never\n"
				   "[safe]\n"
				   "\tdirectory = /workspace\n"
				   "\tdirectory = /workspace/*\n";

	struct buf all;
	int ret;

	buf_init(&all, GIT_USER_MAX + sizeof(text) + more.len);
	ret = env ? etc_git_user(env, &all) : 0;
	if (ret == 0)
		ret = buf_append(&all, text, sizeof(text) - 1);
	if (ret == 0)
		ret = buf_append(&all, more.ptr, more.len);
	if (ret < 0)
		err_set(err, ret, "git's file: %s", err_text(ret));
	else
		ret = etc_write(ETC_GITCONFIG, buf_slice(&all).ptr,
				buf_len(&all), err);
	buf_done(&all);
	return ret;
}
