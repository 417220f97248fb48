/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare.c - what a guest is told before it is anybody's
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

/* A CA that this machine's own programs were given, for sandboxes behind the
 * same interceptor; NULL where there is none. */
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
	int ret = ca_read(&machine, err);
	struct link_prepare p = {
		.ca = machine,
		.flags = flags | (strcmp(isolation, "runsc") == 0 ?
					  LINK_PREPARE_OWN_KERNEL :
					  0u),
	};

	if (ret < 0)
		return ret;
	ret = session_prepare(s, &p);
	return ret < 0 ? err_set(err, ret, "cannot pass the CA: %s",
				 err_text(ret)) :
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
