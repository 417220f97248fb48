/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preset_fuzz.c - any text is refused with its position, or gives a preset that
 * keeps the limits
 */
#include <string.h>

#include "control/acd/preset/preset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool cond)
{
	if (!cond)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct preset p = { 0 };
	struct err err = { 0 };
	int rc = preset_parse(PRESET_PROMPTS, (const char *)data, size, "f", &p,
			      &err);

	if (rc < 0) {
		must(err.code == rc && strncmp(err.msg, "f:", 2) == 0);
		must(!p.about && !p.text && !p.file);
		return 0;
	}
	must(*p.about && strlen(p.about) <= PRESET_ABOUT_MAX);
	must(!str_has_control(p.about) && strcmp(p.file, "f") == 0);
	must(strlen(p.text) <= PRESET_TEXT_MAX + 1 && str_ends(p.text, "\n"));
	for (const char *c = p.text; *c; c++)
		must((unsigned char)*c >= ' ' || *c == '\n' || *c == '\t');
	preset_done(&p);
	return 0;
}
