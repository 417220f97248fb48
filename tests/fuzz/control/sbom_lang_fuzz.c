/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sbom_lang_fuzz.c - files of npm and of Python: the first byte chooses; what is
 * read makes a document that is within its limit
 */
#include <stdlib.h>
#include <string.h>

#include "control/sbom/licence.h"
#include "control/sbom/packages.h"
#include "control/sbom/spdx.h"
#include "lib/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int each(void *arg, struct slice path, const struct sbom_sum *sum)
{
	(void)arg;
	if (path.len == 0 || path.len > SBOM_PATH_MAX || !sum->algorithm ||
	    sum->len == 0 || sum->len > SBOM_SUM_MAX)
		abort();
	return 0;
}

static void check_licence(const char *text)
{
	char again[LICENCE_MAX];

	if (licence_spdx(slice_str(text), again) < 0 ||
	    strcmp(text, again) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct spdx_image image = { .name = "ac/x",
						 .digest = "00",
						 .tool = "ac" };
	struct sbom s = { 0 };
	struct slice text;
	struct buf out;
	char licence[LICENCE_MAX];

	if (size == 0)
		return 0;
	text = slice_of(data + 1, size - 1);
	if (data[0] == 'l')
		sbom_read_lock(text, each, NULL);
	else if (data[0] == 'p')
		sbom_read_pypi(&s, text, "p/METADATA");
	else
		sbom_read_npm(&s, text, "p/package.json");
	if (licence_python(text, licence) == 0)
		check_licence(licence);
	if (s.n + s.left_out > 1)
		abort();
	if (s.n > 0 && s.v[0].licence)
		check_licence(s.v[0].licence);
	buf_init(&out, SPDX_MAX);
	if (spdx_write(&s, &image, &out) < 0)
		abort();
	buf_done(&out);
	sbom_done(&s);
	return 0;
}
