/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pypi.c - the metadata of installed Python packages
 */
#include <errno.h>
#include <string.h>

#include "control/sbom/field.h"
#include "control/sbom/licence.h"
#include "control/sbom/packages.h"

#define CLASS "License ::"

struct metadata {
	char name[SBOM_NAME_MAX + 2], version[SBOM_VERSION_MAX + 2];
	char licence[LICENCE_MAX]; /* as an expression */
	char said[SBOM_TEXT_MAX];
};

/* The first that is an expression counts: the field that has to be one, then the
 * classifiers, then what people write. Only that may be several lines. */
static void take_licence(struct metadata *m, const struct field *f)
{
	char out[LICENCE_MAX];
	bool is_class = f->text.len > strlen(CLASS) &&
			memcmp(f->text.ptr, CLASS, strlen(CLASS)) == 0;
	int rc = -ENOENT;

	if (field_is(f, "License-Expression"))
		rc = licence_spdx(f->text, out);
	else if ((field_is(f, "License") && f->rest.len == 0) ||
		 (field_is(f, "Classifier") && is_class))
		rc = licence_python(f->text, out);
	else if (!field_is(f, "License"))
		return;
	if (rc == 0 && (!m->licence[0] || field_is(f, "License-Expression")))
		memcpy(m->licence, out, strlen(out) + 1);
	if (rc < 0 && f->text.len > 0 && !m->said[0])
		field_copy(m->said, sizeof(m->said), f->text);
}

int sbom_read_pypi(struct sbom *s, struct slice text, const char *at)
{
	struct metadata m = { .name = "" };
	struct sbom_package p = { .kind = SBOM_PYPI,
				  .name = m.name,
				  .version = m.version,
				  .at = at };
	struct field f;
	int rc;

	/* An empty line ends it: the description follows. */
	while ((rc = field_next(&text, &f)) > 0 && f.name.len > 0) {
		if (field_is(&f, "Name"))
			field_copy(m.name, sizeof(m.name), f.text);
		else if (field_is(&f, "Version"))
			field_copy(m.version, sizeof(m.version), f.text);
		else
			take_licence(&m, &f);
	}
	if (rc < 0) {
		s->left_out++;
		return 0;
	}
	if (m.licence[0])
		p.licence = m.licence;
	else if (m.said[0])
		p.said = m.said;
	return sbom_add(s, &p);
}
