/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare.c - the first message to a sandbox, before it has an instance
 */
#include "control/acd/guest/prepare.h"

#include <string.h>
#include <sys/stat.h>

#include "control/shared/paths.h"
#include "lib/file.h"

static const char *ca_path = AC_STATE_CA_EXTRA;

void prepare_set_ca(const char *path)
{
	ca_path = path;
}

/* Reads the CA that sandboxes trust in addition, for machines behind a TLS
 * proxy. Leaves *ret alone if there is none. */
static int ca_read(char **ret, struct err *err)
{
	int code = file_read(ca_path, PREPARE_MACHINE_CA_MAX, ret, NULL);

	if (code == 0 || code == -ENOENT)
		return 0;
	if (code == -EFBIG)
		return err_set(err, code,
			       "%s (CAs of this machine, for its sandboxes) is "
			       "over %u bytes; leave fewer in it",
			       ca_path, PREPARE_MACHINE_CA_MAX);
	return err_set(err, code, "read %s: %s", ca_path, err_text(code));
}

int prepare_guest(struct session *s, const char *isolation, uint32_t flags,
		  struct err *err)
{
	SCOPED_STR machine = NULL;
	int rc = ca_read(&machine, err);
	struct link_prepare p = {
		.ca = machine,
		.flags = flags | (strcmp(isolation, "runsc") == 0 ?
					  LINK_PREPARE_OWN_KERNEL :
					  0u),
	};

	if (rc < 0)
		return rc;
	rc = session_prepare(s, &p);
	return rc < 0 ? err_set(err, rc, "cannot pass the CA: %s",
				err_text(rc)) :
			0;
}

struct prepare_ca prepare_ca_now(void)
{
	struct stat st;

	if (stat(ca_path, &st) < 0)
		return (struct prepare_ca){ 0 };
	return (struct prepare_ca){ st.st_mtim, st.st_size, st.st_ino };
}

bool prepare_ca_same(const struct prepare_ca *a, const struct prepare_ca *b)
{
	return a->ino == b->ino && a->size == b->size &&
	       a->mtime.tv_sec == b->mtime.tv_sec &&
	       a->mtime.tv_nsec == b->mtime.tv_nsec;
}
