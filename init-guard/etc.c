/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etc.c - what this sandbox's programs are to find as system configuration
 *
 * No process of the agent exists while this runs, and later mounts need a
 * right that nobody has any more.
 */
#include "init-guard/etc.h"

#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "lib/file.h"

#define HOSTS_MAX (64u * 1024)
#define HOSTS "/etc/hosts"
#define HOSTNAME "/etc/hostname"

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
	int ret = file_write_atomic(path, data, len, 0444);

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

static int hosts_show(const char *from, const char *to, struct err *err)
{
	SCOPED_STR text = NULL;
	struct buf out;
	int ret = file_read(HOSTS, HOSTS_MAX, &text, NULL);

	if (ret == -ENOENT)
		return 0;
	if (ret < 0)
		return err_set(err, ret, "read " HOSTS ": %s", err_text(ret));
	buf_init(&out, 2 * HOSTS_MAX);
	ret = etc_hosts_rename(text, from, to, &out);
	if (ret < 0)
		err_set(err, ret, HOSTS " is too long");
	else
		ret = etc_write(ETC_DIR "/hosts", buf_slice(&out).ptr,
				buf_len(&out), err);
	buf_done(&out);
	return ret < 0 ? ret : etc_show(ETC_DIR "/hosts", HOSTS, err);
}

static int hostname_show(const char *name, struct err *err)
{
	char line[LINK_NAME_MAX + 2];
	int n = snprintf(line, sizeof(line), "%s\n", name), ret;

	if (access(HOSTNAME, F_OK) < 0)
		return 0;
	ret = etc_write(ETC_DIR "/hostname", line, (size_t)n, err);
	return ret < 0 ? ret : etc_show(ETC_DIR "/hostname", HOSTNAME, err);
}

/* A sandbox that was made for this instance has its name already; one that
 * waited in a pool does not. */
int etc_name(const char *name, struct report *r, struct err *err)
{
	char old[LINK_NAME_MAX + 1] = "";
	int ret = 0;

	if (gethostname(old, sizeof(old) - 1) < 0)
		return err_sys(err, "read the host name");
	if (name[0] && strcmp(old, name) != 0) {
		if (sethostname(name, strlen(name)) < 0)
			ret = err_sys(err, "set the host name");
		if (ret == 0)
			ret = hostname_show(name, err);
		if (ret == 0)
			ret = hosts_show(old, name, err);
	}
	return report_judge(r, "hostname", ret, err);
}

/* ---- git ---- */

/* ext:: runs any program that a URL names; the workspace is the agent's in
 * whatever way its owner shows through the mount. The image's own file still
 * counts, but comes first. */
int etc_git(struct err *err)
{
	static const char text[] = "[include]\n"
				   "\tpath = /etc/gitconfig\n"
				   "[protocol \"ext\"]\n"
				   "\tallow = never\n"
				   "[safe]\n"
				   "\tdirectory = /workspace\n"
				   "\tdirectory = /workspace/*\n";

	return etc_write(ETC_GITCONFIG, text, sizeof(text) - 1, err);
}
