/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ac_step.c - the runc that the nested engine finds first, for builds' sake
 *
 * BuildKit starts each RUN by `runc run --bundle DIR ID`, with a bundle that it
 * made and removes. That bundle gets what a build needs of this machine
 * (control/shared/build_step.c). All other calls, those of containers, are left
 * as they are. In all cases the real runc takes the place of this program.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/shared/build_step.h"
#include "control/shared/paths.h"
#include "lib/attr.h"

#define EXIT_FAILED 125

static const struct build_step inputs = {
	.extra = AC_STATE_CA_EXTRA,
	.roots = "/etc/ssl/certs/ca-certificates.crt",
	.env = AC_STATE_BUILD_ENV "/step.env",
	.apt = AC_STATE_BUILD_ENV "/step-apt.conf",
};

int main(int argc, char **argv)
{
	static const char *const real[] = { "/usr/sbin/runc", "/usr/bin/runc" };
	const char *bundle = build_step_bundle(argc, (const char *const *)argv);
	struct err err = { 0 };

	if (bundle && build_step_prepare(bundle, &inputs, &err) < 0) {
		fprintf(stderr, "prepare a step of a build: %s\n", err.msg);
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < ARRAY_SIZE(real); i++)
		execv(real[i], argv);
	err_sys(&err, "run %s", real[0]);
	fprintf(stderr, "ac-step: %s\n", err.msg);
	return EXIT_FAILED;
}
