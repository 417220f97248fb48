/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dpkg.c - what dpkg has installed, and under which licence
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "control/sbom/field.h"
#include "control/sbom/licence.h"
#include "control/sbom/packages.h"

/* ---- /etc/os-release ---- */

/* Copies the value of a line, without quotes, if it is a plain word. */
static void read_word(char *out, size_t size, struct slice value)
{
	char text[64];

	if (value.len >= 2 && value.ptr[0] == '"' &&
	    value.ptr[value.len - 1] == '"')
		value = slice_of(value.ptr + 1, value.len - 2);
	if (value.len >= sizeof(text) || value.len >= size)
		return;
	field_copy(text, sizeof(text), value);
	if (text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-")] ==
	    '\0')
		memcpy(out, text, strlen(text) + 1);
}

void sbom_read_release(struct sbom *s, struct slice text)
{
	static const char id[] = "ID=", codename[] = "VERSION_CODENAME=";
	struct slice line;

	while (field_line(&text, &line)) {
		struct slice value = line;

		if (line.len >= sizeof(id) - 1 &&
		    memcmp(line.ptr, id, sizeof(id) - 1) == 0) {
			value.ptr += sizeof(id) - 1;
			value.len -= sizeof(id) - 1;
			read_word(s->distro, sizeof(s->distro), value);
		} else if (line.len >= sizeof(codename) - 1 &&
			   memcmp(line.ptr, codename, sizeof(codename) - 1) ==
				   0) {
			value.ptr += sizeof(codename) - 1;
			value.len -= sizeof(codename) - 1;
			read_word(s->codename, sizeof(s->codename), value);
		}
	}
}

/* ---- the status file ---- */

struct stanza {
	char name[SBOM_NAME_MAX + 2], version[SBOM_VERSION_MAX + 2];
	char arch[64], source[SBOM_NAME_MAX], supplier[SBOM_TEXT_MAX];
	char status[64];
	bool any;
};

/* Returns true if the files of the package are there. */
static bool is_installed(const struct stanza *st)
{
	static const char *const states[] = { " installed", " unpacked",
					      " half-configured",
					      " triggers-awaited",
					      " triggers-pending" };
	size_t len = strlen(st->status);

	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		size_t n = strlen(states[i]);

		if (len > n && strcmp(st->status + len - n, states[i]) == 0)
			return true;
	}
	return false;
}

static int add_stanza(struct sbom *s, struct stanza *st)
{
	struct sbom_package p = { .kind = SBOM_DEB,
				  .name = st->name,
				  .version = st->version,
				  .arch = st->arch,
				  .at = "var/lib/dpkg/status" };
	int rc = 0;

	/* "gcc-14 (14.2.0-19)": without the version. */
	st->source[strcspn(st->source, " ")] = '\0';
	p.source = st->source[0] ? st->source : NULL;
	p.supplier = st->supplier[0] ? st->supplier : NULL;
	if (st->any && is_installed(st))
		rc = sbom_add(s, &p);
	*st = (struct stanza){ 0 };
	return rc;
}

int sbom_read_dpkg(struct sbom *s, struct slice text)
{
	struct stanza st = { 0 };
	struct field f;
	int rc;

	while ((rc = field_next(&text, &f)) > 0) {
		if (f.name.len == 0) {
			rc = add_stanza(s, &st);
			if (rc < 0)
				return rc;
			continue;
		}
		st.any = true;
		if (field_is(&f, "Package"))
			field_copy(st.name, sizeof(st.name), f.text);
		else if (field_is(&f, "Version"))
			field_copy(st.version, sizeof(st.version), f.text);
		else if (field_is(&f, "Architecture"))
			field_copy(st.arch, sizeof(st.arch), f.text);
		else if (field_is(&f, "Source"))
			field_copy(st.source, sizeof(st.source), f.text);
		else if (field_is(&f, "Maintainer"))
			field_copy(st.supplier, sizeof(st.supplier), f.text);
		else if (field_is(&f, "Status"))
			field_copy(st.status, sizeof(st.status), f.text);
	}
	return rc < 0 ? rc : add_stanza(s, &st);
}

/* ---- copyright files ---- */

#define FORMAT "copyright-format/1.0"
#define NAMES_MAX 16u

struct licences {
	char names[NAMES_MAX][128]; /* as they are written, each once */
	size_t n;
	bool more; /* than fit */
};

static void add_name(struct licences *l, struct slice text)
{
	char name[128];

	if (text.len == 0 || text.len >= sizeof(name)) {
		l->more = true;
		return;
	}
	field_copy(name, sizeof(name), text);
	for (size_t k = 0; k < l->n; k++)
		if (strcmp(l->names[k], name) == 0)
			return;
	if (l->n < NAMES_MAX)
		memcpy(l->names[l->n++], name, sizeof(name));
	else
		l->more = true;
}

/* Collects the licences of the paragraphs about files. Returns false if the file
 * is none of the machine-readable form. */
static bool collect(struct licences *l, struct slice text)
{
	struct field f;
	bool files = false, form = false;
	int rc;

	while ((rc = field_next(&text, &f)) > 0) {
		if (f.name.len == 0)
			files = false;
		else if (field_is(&f, "Format"))
			form |= memmem(f.text.ptr, f.text.len, FORMAT,
				       strlen(FORMAT)) != NULL;
		else if (!form)
			return false; /* it has to be the first field */
		else if (field_is(&f, "Files"))
			files = true;
		else if (field_is(&f, "License") && files)
			add_name(l, f.text);
	}
	return rc == 0 && form && l->n > 0;
}

/* Joins all by AND. Returns false if one is not known. */
static bool join_known(const struct licences *l, char *out)
{
	size_t used = 0;

	for (size_t k = 0; k < l->n; k++) {
		char one[LICENCE_MAX];
		bool wide;
		int n;

		if (licence_debian(slice_str(l->names[k]), one) < 0)
			return false;
		wide = l->n > 1 && strstr(one, " OR ");
		n = snprintf(out + used, LICENCE_MAX - used, "%s%s%s%s",
			     k ? " AND " : "", wide ? "(" : "", one,
			     wide ? ")" : "");
		if (n < 0 || (size_t)n >= LICENCE_MAX - used)
			return false;
		used += (size_t)n;
	}
	return !l->more;
}

static void join_said(const struct licences *l, char *out, size_t size)
{
	size_t used = 0;

	for (size_t k = 0; k < l->n && used < size - 1; k++) {
		int n = snprintf(out + used, size - used, "%s%s", k ? "; " : "",
				 l->names[k]);

		used += n < 0 ? 0 : (size_t)n;
	}
}

int sbom_read_copyright(struct sbom *s, struct sbom_package *p,
			struct slice text)
{
	struct licences l = { .n = 0 };
	char out[LICENCE_MAX] = "";
	const char *copy;
	bool known;

	if (!collect(&l, text))
		return 0;
	known = join_known(&l, out);
	if (!known)
		join_said(&l, out, sizeof(out));
	copy = arena_strn(&s->arena, out, strlen(out));
	if (!copy)
		return -ENOMEM;
	p->licence = known ? copy : NULL;
	p->said = known ? NULL : copy;
	return 0;
}
