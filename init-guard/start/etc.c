/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etc.c - system configuration of one sandbox: host name, git
 *
 * No process of the agent exists while this runs; afterwards no process has the
 * right to mount.
 */
#include "init-guard/start/etc.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "init-guard/start/agent.h"
#include "lib/file.h"

#define GIT_VALUE_MAX 256u
#define GIT_USER_MAX (4 * GIT_VALUE_MAX + 64) /* each byte may be escaped */
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
	int rc = 0;

	/* In memory, and no process can see a part of it. Even root may not
	 * write to an existing one. */
	if (unlink(path) == 0 || errno == ENOENT)
		fd = open(path, ETC_FLAGS, 0444);
	if (fd < 0 || fchmod(fd, 0444) < 0)
		rc = -errno;
	if (rc == 0)
		rc = fd_write_all(fd, data, len);
	if (rc < 0)
		return err_set(err, rc, "write %s: %s", path, err_text(rc));
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
	int rc = 0;

	while (*p && rc == 0) {
		size_t gap = strspn(p, " \t\r\n"), word;

		rc = hosts_put(out, p, gap);
		p += gap;
		word = strcspn(p, *p == '#' ? "\n" : " \t\r\n#");
		if (rc == 0 && word == strlen(from) &&
		    strncmp(p, from, word) == 0) {
			found = true;
			rc = hosts_put(out, to, strlen(to));
		} else if (rc == 0) {
			rc = hosts_put(out, p, word);
		}
		p += word;
	}
	if (found || rc < 0)
		return rc;
	/* the last line may have no newline */
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

/* Mounts an empty file at @target and leaves it open. */
static int late_show(const char *path, const char *target, int *ret_fd,
		     struct err *err)
{
	SCOPED_FD fd = open(path, ETC_FLAGS, 0444);

	/* despite our umask */
	if (fd < 0 || fchmod(fd, 0444) < 0)
		return err_sys(err, "make %s", path);
	if (etc_show(path, target, err) < 0)
		return err->code;
	*ret_fd = fd_take(&fd);
	return 0;
}

static int late_show_all(struct etc_name *n, struct err *err)
{
	int rc = file_read(HOSTS, HOSTS_MAX, &n->hosts, NULL);

	if (rc < 0 && rc != -ENOENT)
		return err_set(err, rc, "read " HOSTS ": %s", err_text(rc));
	if (rc == 0)
		rc = late_show(ETC_DIR "/hosts", HOSTS, &n->hosts_fd, err);
	else
		rc = 0;
	if (rc == 0 && access(HOSTNAME, F_OK) == 0)
		rc = late_show(ETC_DIR "/hostname", HOSTNAME, &n->hostname_fd,
			       err);
	return rc;
}

int etc_name_expect(struct etc_name *n, const struct report *r, struct err *err)
{
	int rc = late_show_all(n, err);

	n->expected = true;
	if (rc < 0 && !r->own_kernel && (rc == -EPERM || rc == -EACCES)) {
		etc_name_done(n);
		*err = (struct err){ 0 };
		rc = 0;
	}
	return rc;
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
	int rc;

	if (n->hosts_fd < 0)
		return 0;
	buf_init(&out, 2 * HOSTS_MAX);
	rc = etc_hosts_rename(n->hosts, from, to, &out);
	if (rc == 0)
		rc = fd_write_all(n->hosts_fd, buf_slice(&out).ptr,
				  buf_len(&out));
	buf_done(&out);
	return rc;
}

static int name_change(const struct etc_name *n, const char *from,
		       const char *name, struct err *err)
{
	int rc;

	if (name[0] && strcmp(from, name) != 0 &&
	    sethostname(name, strlen(name)) < 0)
		return err_sys(err, "set the host name");
	/* The files are empty even if the name is unchanged. */
	rc = hostname_write(n, name[0] ? name : from);
	if (rc == 0)
		rc = hosts_write(n, from, name[0] ? name : from);
	return rc < 0 ? err_set(err, rc, "write the host name: %s",
				err_text(rc)) :
			0;
}

int etc_name_set(struct etc_name *n, const char *name, struct report *r,
		 struct err *err)
{
	char old[LINK_NAME_MAX + 1] = "";
	int rc = 0;

	if (gethostname(old, sizeof(old) - 1) < 0)
		return err_sys(err, "read the host name");
	if (!n->expected && name[0] && strcmp(old, name) != 0)
		rc = err_set(err, -EPERM, "the host name is not %s", name);
	else if (n->expected)
		rc = name_change(n, old, name, err);
	rc = report_judge(r, "hostname", rc, err);
	etc_name_done(n);
	return rc;
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

/* Writes a quoted value (git-config(1)): nothing in it can end the value. */
static int git_value_put(struct buf *out, const char *key, const char *value)
{
	int rc = buf_printf(out, "\t%s = \"", key);

	for (; rc >= 0 && *value; value++) {
		if (*value == '"' || *value == '\\')
			rc = buf_append(out, "\\", 1);
		if (rc >= 0)
			rc = buf_append(out, value, 1);
	}
	return rc < 0 ? rc : buf_append(out, "\"\n", 2);
}

int etc_git_user(char *const *env, struct buf *out)
{
	const char *name = env_value(env, "AC_GIT_NAME");
	const char *email = env_value(env, "AC_GIT_EMAIL");
	bool has_name = git_value_is_good(name);
	bool has_email = git_value_is_good(email);
	int rc = 0;

	if (has_name || has_email)
		rc = buf_append(out, "[user]\n", 7);
	if (rc == 0 && has_name)
		rc = git_value_put(out, "name", name);
	if (rc == 0 && has_email)
		rc = git_value_put(out, "email", email);
	return rc;
}

/* ext:: would run any program that a URL names. The workspace is safe for git,
 * whatever owner the mount shows. The image's own file still counts, but comes
 * first. */
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
	int rc;

	buf_init(&all, GIT_USER_MAX + sizeof(text) + more.len);
	rc = env ? etc_git_user(env, &all) : 0;
	if (rc == 0)
		rc = buf_append(&all, text, sizeof(text) - 1);
	if (rc == 0)
		rc = buf_append(&all, more.ptr, more.len);
	if (rc < 0)
		err_set(err, rc, "git's file: %s", err_text(rc));
	else
		rc = etc_write(ETC_GITCONFIG, buf_slice(&all).ptr,
			       buf_len(&all), err);
	buf_done(&all);
	return rc;
}
