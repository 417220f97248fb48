/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sbom_deb_fuzz.c - dpkg's files: what is read of them is bounded, and a licence
 * that is an expression is one when it is read again
 */
#include <stdlib.h>
#include <string.h>

#include "control/sbom/licence.h"
#include "control/sbom/packages.h"
#include "control/sbom/spdx.h"
#include "lib/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_licence(const char *text)
{
	char once[LICENCE_MAX], again[LICENCE_MAX];

	if (licence_spdx(slice_str(text), once) < 0)
		return;
	if (licence_spdx(slice_str(once), again) < 0 ||
	    strcmp(once, again) != 0)
		abort();
}

static void check_package(const struct sbom *s, const struct sbom_package *p)
{
	char purl[SPDX_PURL_MAX];

	if (!*p->name || strlen(p->name) > SBOM_NAME_MAX || !*p->version ||
	    strlen(p->version) > SBOM_VERSION_MAX || str_has_control(p->name) ||
	    str_has_control(p->version))
		abort();
	spdx_purl(purl, s, p);
	for (const char *c = purl; *c; c++)
		if (*c <= ' ' || *c > '~' || *c == '"' || *c == '#')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct slice text = slice_of(data, size);
	struct sbom s = { 0 };
	char licence[LICENCE_MAX];

	sbom_read_release(&s, text);
	if (sbom_read_dpkg(&s, text) == 0) {
		for (size_t k = 0; k < s.n; k++) {
			if (sbom_read_copyright(&s, &s.v[k], text) < 0)
				abort();
			check_package(&s, &s.v[k]);
			if (s.v[k].licence)
				check_licence(s.v[k].licence);
		}
		sbom_sort(&s);
	}
	if (licence_debian(text, licence) == 0)
		check_licence(licence);
	sbom_done(&s);
	return 0;
}
