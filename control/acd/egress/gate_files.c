/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_files.c - the files that the gateway may read and write
 *
 * The gateway is not root any more when it reads a policy, and AC_STATE is the
 * user's and closed to others. So it has a place of its own, AC_GATE:
 *
 *	presets/  copies of the shipped ones, made by acd
 *	policy/   copies of the user's policy.yaml, of machine.yaml, and of the
 *	          machine's addresses
 *	agents/   AC_STATE/policy/agents, read-only by its owner
 *	audit/    AC_STATE/log/audit, with the user and the gateway swapped
 *	edge/     AC_STATE_EDGE: the sockets of ac-edge, to connect to
 *	roots.pem a copy of the machine's own CA, if it has one
 *
 * audit/ is an id-mapped mount like those of a workspace: what the gateway
 * writes belongs to the user outside, who can read and remove it.
 */
#include "control/acd/egress/gate.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "control/acd/storage/idmap.h"
#include "control/acd/egress/presets.h"
#include "lib/file.h"
#include "lib/str.h"

#define COPIES_PRESETS AC_GATE "/" GATE_DIR_PRESETS
#define COPIES_POLICY AC_GATE "/" GATE_DIR_POLICY
#define PRESETS_MAX 256u

/* Makes a directory; an existing one must not be a link of the user's. */
static int dir_make(const char *path, mode_t mode, uid_t uid, gid_t gid,
		    struct err *err)
{
	SCOPED_FD fd = -1;

	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return err_sys(err, "make %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchown(fd, uid, gid) < 0 || fchmod(fd, mode) < 0)
		return err_sys(err, "prepare %s", path);
	return 0;
}

/* Mounts @from at @to, with swapped owners if @swap. */
static int show(const char *from, const char *to, bool swap, uid_t uid,
		gid_t gid, struct err *err)
{
	SCOPED_FD fd = idmap_open(from);
	int rc = fd;

	if (rc >= 0 && swap) {
		rc = idmap_apply_as(fd, uid, gid, GATE_UID, false);
		/* Not mapped: the directory itself must be the gateway's. */
		if (rc == 1 && chown(from, GATE_UID, GATE_UID) < 0)
			rc = -errno;
	}
	if (rc >= 0)
		rc = idmap_attach(fd, to);
	return rc < 0 ? err_set(err, rc, "show %s at %s: %s", from, to,
				err_text(rc)) :
			0;
}

/* Makes the file here, so it belongs to the user from the first line on. */
static int audit_make(uid_t uid, gid_t gid, struct err *err)
{
	SCOPED_FD fd = open(GATE_AUDIT,
			    O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || fchown(fd, uid, gid) < 0)
		return err_sys(err, "make %s", GATE_AUDIT);
	return 0;
}

/* Removes policies of an earlier acd: no sandbox runs yet. */
static int agents_clear(struct err *err)
{
	SCOPED_DIR d = opendir(GATE_AGENTS);
	struct dirent *e;

	if (!d)
		return err_sys(err, "open %s", GATE_AGENTS);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' &&
		    unlinkat(dirfd(d), e->d_name, 0) < 0 && errno != ENOENT)
			return err_sys(err, "remove %s/%s", GATE_AGENTS,
				       e->d_name);
	return 0;
}

int gate_files_init(uid_t uid, gid_t gid, struct err *err)
{
	const struct {
		const char *path;
		mode_t mode;
		uid_t uid;
		gid_t gid;
	} dirs[] = {
		{ AC_STATE_POLICY, 0700, uid, gid },
		{ GATE_AGENTS, 0755, uid, gid },
		{ AC_STATE_AUDIT, 0700, uid, gid },
		{ AC_GATE, 0750, 0, GATE_UID },
		{ COPIES_PRESETS, 0750, 0, GATE_UID },
		{ COPIES_POLICY, 0750, 0, GATE_UID },
		{ AC_GATE "/" GATE_DIR_AGENTS, 0755, 0, 0 },
		{ AC_GATE "/audit", 0755, 0, 0 },
		{ AC_STATE_EDGE, 0711, uid, gid },
		{ AC_GATE "/" GATE_DIR_EDGE, 0755, 0, 0 },
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(dirs); i++)
		rc = dir_make(dirs[i].path, dirs[i].mode, dirs[i].uid,
			      dirs[i].gid, err);
	if (rc == 0)
		rc = agents_clear(err);
	if (rc == 0)
		rc = audit_make(uid, gid, err);
	if (rc == 0)
		rc = show(GATE_AGENTS, AC_GATE "/" GATE_DIR_AGENTS, false, uid,
			  gid, err);
	if (rc == 0)
		rc = show(AC_STATE_AUDIT, AC_GATE "/audit", true, uid, gid,
			  err);
	if (rc == 0)
		rc = show(AC_STATE_EDGE, AC_GATE "/" GATE_DIR_EDGE, false, uid,
			  gid, err);
	return rc;
}

/* ---- copies ---- */

/* Copies a file. Returns -ENOENT if there is none; then removes an earlier
 * copy. */
static int copy(const char *from, const char *to, struct err *err)
{
	SCOPED_STR text = NULL;
	struct stat st;
	size_t len = 0;
	int rc = file_read(from, GATE_POLICY_MAX, &text, &len);

	if (rc == -ENOENT) {
		if (unlink(to) < 0 && errno != ENOENT)
			return err_sys(err, "remove %s", to);
		return -ENOENT;
	}
	/* A directory, say. The user knows it below $AC_HOME. */
	if (rc < 0 && stat(from, &st) == 0 && !S_ISREG(st.st_mode)) {
		err_set(err, rc, "$AC_HOME%s is not a file",
			str_starts(from, AC_STATE) ? from + strlen(AC_STATE) :
						     from);
		return err_name(err, GATE_FILES_WORD);
	}
	if (rc == 0)
		rc = file_write_atomic(to, text, len, 0640);
	if (rc == 0 && chown(to, 0, GATE_UID) < 0)
		rc = -errno;
	return rc < 0 ? err_set(err, rc, "copy %s to %s: %s", from, to,
				err_text(rc)) :
			0;
}

static bool is_preset(const struct dirent *e)
{
	return e->d_name[0] != '.' && str_ends(e->d_name, ".yaml");
}

/* Copies the presets of the image, which has a bounded number. */
static int presets_copy(struct err *err)
{
	SCOPED_DIR d = opendir(GATE_PRESETS);
	const struct dirent *e;
	unsigned n = 0;
	int rc = 0;

	if (!d)
		return err_sys(err, "open %s", GATE_PRESETS);
	while (rc == 0 && n < PRESETS_MAX && (e = readdir(d))) {
		SCOPED_STR from = NULL;
		SCOPED_STR to = NULL;

		if (!is_preset(e))
			continue;
		n++;
		from = str_printf("%s/%s", GATE_PRESETS, e->d_name);
		to = str_printf("%s/%s", COPIES_PRESETS, e->d_name);
		rc = from && to ? copy(from, to, err) : err_nomem(err);
	}
	return rc;
}

#define OWN_PATH AC_STATE_POLICY "/addresses"

static unsigned addresses_no = 1, addresses_loaded;

unsigned gate_files_addresses_no(void)
{
	return addresses_no;
}

void gate_files_loaded(unsigned no)
{
	addresses_loaded = no;
}

int gate_files_own(char **ret, struct err *err)
{
	int rc = file_read(OWN_PATH, GATE_POLICY_MAX, ret, NULL);

	if (rc == -ENOENT) {
		*ret = strdup("");
		rc = *ret ? 0 : -ENOMEM;
	}
	return rc < 0 ? err_set(err, rc, "the machine's own addresses: %s",
				err_text(rc)) :
			0;
}

int gate_files_addresses(const char *text, uid_t uid, gid_t gid,
			 struct err *err)
{
	static const char path[] = OWN_PATH;
	SCOPED_STR now = NULL;
	int rc = file_read(path, GATE_POLICY_MAX, &now, NULL);

	if (rc == 0 && strcmp(now, text) == 0)
		return addresses_loaded != addresses_no;
	addresses_no++;
	rc = file_write_atomic(path, text, strlen(text), 0600);
	if (rc == 0 && lchown(path, uid, gid) < 0)
		rc = -errno;
	return rc < 0 ? err_set(err, rc, "write %s: %s", path, err_text(rc)) :
			1;
}

bool gate_files_have_machine(void)
{
	return access(COPIES_POLICY "/machine.yaml", F_OK) == 0;
}

bool gate_files_have_preset(const char *name)
{
	return presets_find(GATE_PRESETS, name) != 0 ||
	       presets_find(AC_STATE_POLICY, name) != 0;
}

int gate_files_copy(struct err *err)
{
	static const struct {
		const char *from, *to;
	} files[] = {
		{ AC_STATE_POLICY "/machine.yaml",
		  COPIES_POLICY "/machine.yaml" },
		{ AC_STATE_POLICY "/policy.yaml",
		  COPIES_POLICY "/policy.yaml" },
		{ OWN_PATH, AC_GATE "/" GATE_OWN },
		{ AC_STATE_CA_EXTRA, AC_GATE "/" GATE_ROOTS },
	};
	int rc = presets_copy(err);

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(files); i++) {
		rc = copy(files[i].from, files[i].to, err);
		if (rc == -ENOENT)
			rc = 0;
	}
	return rc;
}
