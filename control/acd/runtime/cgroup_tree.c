/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_tree.c - finds the cgroup hierarchies, and their files
 */
#include "control/acd/runtime/cgroup_impl.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/file.h"
#include "lib/log.h"
#include "lib/str.h"

#define PARENT "ac"
#define FILE_MAX (1024u * 1024)

static const char *const part_names[CGROUP_PARTS] = {
	[CGROUP_MEMORY] = "memory",   [CGROUP_CPU] = "cpu",
	[CGROUP_CPUACCT] = "cpuacct", [CGROUP_PIDS] = "pids",
	[CGROUP_FREEZER] = "freezer",
};

struct cgroups cgroups;

bool cgroup_id_is_good(const char *id)
{
	size_t len = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return len > 0 && len <= CGROUP_ID_MAX && !id[len];
}

const char *cgroup_dir(enum cgroup_part part)
{
	return cgroups.dir[cgroups.v2 ? 0 : part];
}

int cgroup_path(struct cgroup_path *p, enum cgroup_part part, const char *id,
		const char *file)
{
	const char *const words[] = { cgroup_dir(part), "/", id,
				      *file ? "/" : "", file };
	size_t n = 0;

	if (!cgroups.ready || !*words[0])
		return -ENODEV;
	if (!cgroup_id_is_good(id))
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t len = strlen(words[i]);

		if (len >= sizeof(p->text) - n)
			return -ENAMETOOLONG;
		memcpy(p->text + n, words[i], len);
		n += len;
	}
	p->text[n] = '\0';
	return 0;
}

int cgroup_put(enum cgroup_part part, const char *id, const char *file,
	       const char *text)
{
	struct cgroup_path p;
	int rc = cgroup_path(&p, part, id, file);

	return rc < 0 ? rc : file_put(p.text, text);
}

int cgroup_take(enum cgroup_part part, const char *id, const char *file,
		char **ret)
{
	struct cgroup_path p;
	int rc = cgroup_path(&p, part, id, file);

	return rc < 0 ? rc : file_read(p.text, FILE_MAX, ret, NULL);
}

int cgroup_take_u64(enum cgroup_part part, const char *id, const char *file,
		    uint64_t *ret)
{
	SCOPED_STR text = NULL;
	int rc = cgroup_take(part, id, file, &text);

	if (rc < 0)
		return rc;
	text[strcspn(text, "\n")] = '\0';
	if (strcmp(text, "max") == 0) {
		*ret = 0;
		return 0;
	}
	return str_parse_u64(text, 0, UINT64_MAX, ret);
}

int cgroup_take_key(enum cgroup_part part, const char *id, const char *file,
		    const char *key, uint64_t *ret)
{
	SCOPED_STR text = NULL;
	char *save = NULL;
	size_t len = strlen(key);
	int rc = cgroup_take(part, id, file, &text);

	if (rc < 0)
		return rc;
	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return str_parse_u64(line + len + 1, 0, UINT64_MAX,
					     ret);
	return -ENODATA;
}

/* ---- hierarchies ---- */

/* Adds the mounted hierarchy @at; if it is not there, neither is the part. */
static int dir_add(const char *at, enum cgroup_part part, struct err *err)
{
	char *dir = cgroups.dir[part];
	struct stat st = { 0 }, other = { 0 };
	int rc;

	snprintf(dir, sizeof(cgroups.dir[part]), "%s/cgroup.procs", at);
	if (access(dir, F_OK) < 0) {
		*dir = '\0';
		return 0;
	}
	snprintf(dir, sizeof(cgroups.dir[part]), "%s/" PARENT, at);
	rc = file_mkdir_p(dir, 0755);
	if (rc == 0 && stat(dir, &st) < 0)
		rc = -errno;
	if (rc < 0)
		return err_set(err, rc, "cgroups: %s: %s", dir, err_text(rc));
	for (int i = 0; i < (int)part; i++)
		if (*cgroups.dir[i] && stat(cgroups.dir[i], &other) == 0 &&
		    st.st_dev == other.st_dev && st.st_ino == other.st_ino)
			cgroups.twin[part] = true;
	return 0;
}

/* For groups below "ac". Which controllers exist shows when a limit is set. */
static void controllers_enable(void)
{
	static const char *const words[] = { "+cpu", "+memory", "+pids" };
	char path[sizeof(cgroups.dir[0]) + 32];

	snprintf(path, sizeof(path), "%s/cgroup.subtree_control",
		 cgroups.dir[0]);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		int rc = file_put(path, words[i]);

		if (rc < 0)
			log_warn("cgroups: %s for the sandboxes: %s", words[i],
				 err_text(rc));
	}
}

int cgroup_init(const char *root, struct err *err)
{
	char at[sizeof(cgroups.dir[0])];
	int rc = 0;

	memset(&cgroups, 0, sizeof(cgroups));
	if (strlen(root) + 32 > sizeof(at))
		return err_set(err, -ENAMETOOLONG, "cgroups: %s", root);
	snprintf(at, sizeof(at), "%s/cgroup.controllers", root);
	cgroups.v2 = access(at, F_OK) == 0;
	if (cgroups.v2) {
		rc = dir_add(root, 0, err);
		if (rc == 0)
			controllers_enable();
	}
	for (int i = 0; !cgroups.v2 && rc == 0 && i < CGROUP_PARTS; i++) {
		snprintf(at, sizeof(at), "%s/%s", root, part_names[i]);
		rc = dir_add(at, (enum cgroup_part)i, err);
	}
	if (rc < 0)
		return rc;
	if (!*cgroup_dir(CGROUP_MEMORY))
		return err_set(err, -ENODEV,
			       "cgroups: no memory controller at %s", root);
	cgroups.ready = true;
	return 0;
}

bool cgroup_part_counts(enum cgroup_part part)
{
	return *cgroups.dir[part] && !cgroups.twin[part];
}
