/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare_test.c - the CAs that a guest is to trust, and how large they may be
 */
#include "control/acd/guest/prepare.h"

#include <limits.h>
#include <stdio.h>

#include "tests/unit/control/acd/guest/session_world.h"

static char ca_path[PATH_MAX];
static char text[LINK_CA_MAX + 2];

static void machine_ca(size_t bytes)
{
	SCOPED_FILE f = fopen(ca_path, "w");

	memset(text, 'm', bytes);
	ok(f && fwrite(text, 1, bytes, f) == bytes && fflush(f) == 0,
	   "a CA of %zu bytes", bytes);
}

/* Bytes of CA that reach the guest, or why none do. */
static int prepare(uint32_t flags, uint32_t *ret_flags, struct err *err)
{
	struct link_prepare_args got = { 0 };
	struct link_frame f;
	struct world w;
	int rc;

	world_init(&w);
	guest_hello(&w);
	rc = prepare_guest(w.s, "runsc", flags, err);
	step_for(w.loop, 5);
	if (rc == 0 && guest_next(&w, LINK_PREPARE, &f) &&
	    link_get_prepare(&f, &got) == 0)
		rc = (int)strlen(got.ca);
	*ret_flags = got.flags;
	link_prepare_args_done(&got);
	world_done(&w);
	return rc;
}

int main(void)
{
	struct err err = { 0 };
	uint32_t flags;

	snprintf(ca_path, sizeof(ca_path), "/tmp/prepare_test.%d.pem",
		 (int)getpid());
	prepare_set_ca(ca_path);
	is_int(prepare(0, &flags, &err), 0, "no CA");
	is_int(flags, LINK_PREPARE_OWN_KERNEL, "a kernel of its own");
	is_int(prepare(LINK_PREPARE_NAMELESS | LINK_PREPARE_OWN_CA, &flags,
		       &err),
	       0, "what comes later");
	is_int(flags,
	       LINK_PREPARE_OWN_KERNEL | LINK_PREPARE_NAMELESS |
		       LINK_PREPARE_OWN_CA,
	       "... is expected");
	machine_ca(PREPARE_MACHINE_CA_MAX);
	is_int(prepare(0, &flags, &err), PREPARE_MACHINE_CA_MAX,
	       "the machine's");
	machine_ca(PREPARE_MACHINE_CA_MAX + 1);
	is_int(prepare(0, &flags, &err), -EFBIG, "too large: %s", err.msg);
	ok(strstr(err.msg, ca_path) && strstr(err.msg, "57344"),
	   "its file and the limit are named");
	unlink(ca_path);
	return done_testing();
}
