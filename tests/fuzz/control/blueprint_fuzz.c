/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blueprint_fuzz.c - any text is refused with its position, or gives a
 * blueprint that keeps all promises
 */
#include <string.h>

#include "control/acd/blueprint/blueprint.h"
#include "control/shared/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool cond)
{
	if (!cond)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	int rc = blueprint_parse((const char *)data, size, "f", "name", &bp,
				 &err);

	if (rc < 0) {
		must(err.code == rc && strncmp(err.msg, "f:", 2) == 0);
		must(!bp.name && !bp.command.v && !bp.env.v);
		return 0;
	}
	must(name_check_blueprint(bp.image, NULL) == 0);
	must(bp.command.n > 0 && bp.command.v[0][0] && bp.shell.n > 0);
	must(bp.workdir[0] == '/' && !strchr(bp.description, '\n'));
	must(strcmp(bp.isolation, "runsc") == 0 ||
	     strcmp(bp.isolation, "crun") == 0);
	must(bp.memory <= INT64_MAX && bp.cpu_milli <= UINT32_MAX);
	for (size_t i = 0; i < bp.env.n; i++)
		must(name_check_env(bp.env.v[i], NULL) == 0);
	blueprint_done(&bp);
	return 0;
}
