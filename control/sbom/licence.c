/* SPDX-License-Identifier: Apache-2.0 */
/*
 * licence.c - from the words of packages for their licence to SPDX expressions
 */
#include "control/sbom/licence.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#include "control/sbom/field.h"

/* ids of SPDX's list */
static const char *const ids[] = {
	"0BSD",
	"AFL-2.1",
	"AFL-3.0",
	"AGPL-3.0",
	"AGPL-3.0-only",
	"AGPL-3.0-or-later",
	"Apache-1.1",
	"Apache-2.0",
	"APSL-2.0",
	"Artistic-1.0",
	"Artistic-1.0-Perl",
	"Artistic-2.0",
	"Beerware",
	"BlueOak-1.0.0",
	"BSD-1-Clause",
	"BSD-2-Clause",
	"BSD-2-Clause-Patent",
	"BSD-3-Clause",
	"BSD-3-Clause-Clear",
	"BSD-4-Clause",
	"BSD-4-Clause-UC",
	"BSL-1.0",
	"bzip2-1.0.6",
	"CC-BY-3.0",
	"CC-BY-4.0",
	"CC-BY-SA-3.0",
	"CC-BY-SA-4.0",
	"CC0-1.0",
	"CDDL-1.0",
	"CDDL-1.1",
	"curl",
	"EPL-1.0",
	"EPL-2.0",
	"EUPL-1.2",
	"FSFAP",
	"FTL",
	"GFDL-1.2",
	"GFDL-1.2-only",
	"GFDL-1.2-or-later",
	"GFDL-1.3",
	"GFDL-1.3-only",
	"GFDL-1.3-or-later",
	"GPL-1.0-only",
	"GPL-1.0-or-later",
	"GPL-2.0",
	"GPL-2.0+",
	"GPL-2.0-only",
	"GPL-2.0-or-later",
	"GPL-3.0",
	"GPL-3.0+",
	"GPL-3.0-only",
	"GPL-3.0-or-later",
	"HPND",
	"ICU",
	"IJG",
	"ISC",
	"LGPL-2.0",
	"LGPL-2.0-only",
	"LGPL-2.0-or-later",
	"LGPL-2.1",
	"LGPL-2.1+",
	"LGPL-2.1-only",
	"LGPL-2.1-or-later",
	"LGPL-3.0",
	"LGPL-3.0-only",
	"LGPL-3.0-or-later",
	"Libpng",
	"LPPL-1.3c",
	"MirOS",
	"MIT",
	"MIT-0",
	"MIT-CMU",
	"MPL-1.1",
	"MPL-2.0",
	"MS-PL",
	"NCSA",
	"OFL-1.1",
	"OLDAP-2.8",
	"OpenSSL",
	"PHP-3.01",
	"PostgreSQL",
	"PSF-2.0",
	"Python-2.0",
	"Ruby",
	"SGI-B-2.0",
	"Sleepycat",
	"TCL",
	"Unicode-3.0",
	"Unicode-DFS-2016",
	"Unlicense",
	"UPL-1.0",
	"Vim",
	"W3C",
	"WTFPL",
	"X11",
	"Zlib",
	"zlib-acknowledgement",
	"ZPL-2.1",
};

static const char *const exceptions[] = {
	"Autoconf-exception-2.0", "Autoconf-exception-3.0",
	"Bison-exception-2.2",    "Classpath-exception-2.0",
	"Font-exception-2.0",     "GCC-exception-2.0",
	"GCC-exception-3.1",      "Libtool-exception",
	"Linux-syscall-note",     "LLVM-exception",
};

struct alias {
	const char *from, *to;
};

/* What Debian calls otherwise than SPDX. */
static const struct alias debian[] = {
	{ "AGPL-3", "AGPL-3.0-only" },
	{ "AGPL-3+", "AGPL-3.0-or-later" },
	{ "Artistic", "Artistic-1.0-Perl" },
	{ "Expat", "MIT" },
	{ "GFDL-1.2", "GFDL-1.2-only" },
	{ "GFDL-1.2+", "GFDL-1.2-or-later" },
	{ "GFDL-1.3", "GFDL-1.3-only" },
	{ "GFDL-1.3+", "GFDL-1.3-or-later" },
	{ "GPL-1", "GPL-1.0-only" },
	{ "GPL-1+", "GPL-1.0-or-later" },
	{ "GPL-2", "GPL-2.0-only" },
	{ "GPL-2+", "GPL-2.0-or-later" },
	{ "GPL-2.0+", "GPL-2.0-or-later" },
	{ "GPL-3", "GPL-3.0-only" },
	{ "GPL-3+", "GPL-3.0-or-later" },
	{ "GPL-3.0+", "GPL-3.0-or-later" },
	{ "LGPL-2", "LGPL-2.0-only" },
	{ "LGPL-2+", "LGPL-2.0-or-later" },
	{ "LGPL-2.0+", "LGPL-2.0-or-later" },
	{ "LGPL-2.1+", "LGPL-2.1-or-later" },
	{ "LGPL-3", "LGPL-3.0-only" },
	{ "LGPL-3+", "LGPL-3.0-or-later" },
	{ "PSF-2", "PSF-2.0" },
};

/* What is in Python's classifiers behind the last "::", and what people write.
 * "BSD License" could be any of several. */
static const struct alias python[] = {
	{ "Apache 2", "Apache-2.0" },
	{ "Apache 2.0", "Apache-2.0" },
	{ "Apache License 2.0", "Apache-2.0" },
	{ "Apache License, Version 2.0", "Apache-2.0" },
	{ "BSD 2-Clause License", "BSD-2-Clause" },
	{ "BSD 3-Clause License", "BSD-3-Clause" },
	{ "3-Clause BSD License", "BSD-3-Clause" },
	{ "GNU General Public License v2 (GPLv2)", "GPL-2.0-only" },
	{ "GNU General Public License v2 or later (GPLv2+)",
	  "GPL-2.0-or-later" },
	{ "GNU General Public License v3 (GPLv3)", "GPL-3.0-only" },
	{ "GNU General Public License v3 or later (GPLv3+)",
	  "GPL-3.0-or-later" },
	{ "GNU Lesser General Public License v2 or later (LGPLv2+)",
	  "LGPL-2.0-or-later" },
	{ "GNU Lesser General Public License v3 (LGPLv3)", "LGPL-3.0-only" },
	{ "ISC License (ISCL)", "ISC" },
	{ "MIT License", "MIT" },
	{ "The MIT License", "MIT" },
	{ "Mozilla Public License 2.0 (MPL 2.0)", "MPL-2.0" },
	{ "The Unlicense (Unlicense)", "Unlicense" },
	{ "Zope Public License", "ZPL-2.1" },
};

static bool is_text(struct slice s, const char *text)
{
	return s.len == strlen(text) &&
	       strncasecmp((const char *)s.ptr, text, s.len) == 0;
}

static const char *find(struct slice s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_text(s, list[i]))
			return list[i];
	return NULL;
}

static const char *find_alias(struct slice s, const struct alias *list,
			      size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_text(s, list[i].from))
			return list[i].to;
	return NULL;
}

/* ---- an expression of SPDX ---- */

struct expression {
	struct slice in;
	struct slice word; /* the next one; empty at the end */
	char out[LICENCE_MAX];
	size_t len;
};

static bool is_bracket(uint8_t c)
{
	return c == '(' || c == ')';
}

static void advance(struct expression *e)
{
	size_t n = 0;

	e->in = slice_trim(e->in);
	while (n < e->in.len && e->in.ptr[n] != ' ' && e->in.ptr[n] != '\t' &&
	       (n == 0 || !is_bracket(e->in.ptr[n]))) {
		n++;
		if (is_bracket(e->in.ptr[n - 1]))
			break;
	}
	e->word = slice_of(e->in.ptr, n);
	e->in = slice_of(e->in.ptr + n, e->in.len - n);
}

/* Appends @text, after a blank where one is due. */
static int put(struct expression *e, const char *text)
{
	bool tight = e->len == 0 || e->out[e->len - 1] == '(' || *text == ')';
	int n = snprintf(e->out + e->len, sizeof(e->out) - e->len, "%s%s",
			 tight ? "" : " ", text);

	if (n < 0 || (size_t)n >= sizeof(e->out) - e->len)
		return -ENOENT;
	e->len += (size_t)n;
	return 0;
}

static int put_word(struct expression *e, const char *const *list, size_t n)
{
	const char *id = find(e->word, list, n);

	if (!id || put(e, id) < 0)
		return -ENOENT;
	advance(e);
	return 0;
}

static int put_or(struct expression *e, unsigned depth);

static int put_one(struct expression *e, unsigned depth)
{
	int rc;

	if (is_text(e->word, "(")) {
		if (depth == 0 || put(e, "(") < 0)
			return -ENOENT;
		advance(e);
		rc = put_or(e, depth - 1);
		if (rc < 0 || !is_text(e->word, ")") || put(e, ")") < 0)
			return -ENOENT;
		advance(e);
		return 0;
	}
	rc = put_word(e, ids, ARRAY_SIZE(ids));
	if (rc == 0 && is_text(e->word, "WITH")) {
		rc = put(e, "WITH");
		advance(e);
		if (rc == 0)
			rc = put_word(e, exceptions, ARRAY_SIZE(exceptions));
	}
	return rc;
}

static int put_or(struct expression *e, unsigned depth)
{
	int rc = put_one(e, depth);

	while (rc == 0) {
		const char *op = is_text(e->word, "AND") ? "AND" :
				 is_text(e->word, "OR")  ? "OR" :
							   NULL;

		if (!op)
			break;
		rc = put(e, op);
		advance(e);
		if (rc == 0)
			rc = put_one(e, depth);
	}
	return rc;
}

int licence_spdx(struct slice text, char *out)
{
	struct expression e = { .in = text };

	if (text.len >= LICENCE_MAX)
		return -ENOENT;
	advance(&e);
	if (put_or(&e, LICENCE_DEPTH_MAX) < 0 || e.word.len > 0)
		return -ENOENT;
	memcpy(out, e.out, e.len + 1);
	return 0;
}

/* ---- Debian ---- */

/* Takes a word of @in; a comma is one. */
static struct slice take_word(struct slice *in)
{
	struct slice word;
	size_t n = 0;

	*in = slice_trim(*in);
	while (n < in->len && in->ptr[n] != ' ' && in->ptr[n] != '\t' &&
	       in->ptr[n] != ',')
		n++;
	if (n == 0 && in->len > 0)
		n = 1;
	word = slice_of(in->ptr, n);
	*in = slice_of(in->ptr + n, in->len - n);
	return word;
}

/* Without brackets DEP-5 has only "and" before "or"; a comma changes
 * how they bind. Those with commas are quoted. */
int licence_debian(struct slice text, char *out)
{
	struct expression e = { .len = 0 };
	bool want_id = true;

	if (text.len >= LICENCE_MAX)
		return -ENOENT;
	for (struct slice w = take_word(&text); w.len > 0;
	     w = take_word(&text)) {
		const char *word = find_alias(w, debian, ARRAY_SIZE(debian));

		if (!word)
			word = find(w, ids, ARRAY_SIZE(ids));
		if (!want_id)
			word = is_text(w, "and") ? "AND" :
			       is_text(w, "or")  ? "OR" :
						   NULL;
		if (!word || put(&e, word) < 0)
			return -ENOENT;
		want_id = !want_id;
	}
	if (want_id)
		return -ENOENT;
	memcpy(out, e.out, e.len + 1);
	return 0;
}

/* ---- Python ---- */

int licence_python(struct slice text, char *out)
{
	const char *id;

	for (size_t n = text.len; n > 1; n--) {
		if (text.ptr[n - 1] != ':' || text.ptr[n - 2] != ':')
			continue;
		text = slice_of(text.ptr + n, text.len - n);
		break;
	}
	text = slice_trim(text);
	id = find_alias(text, python, ARRAY_SIZE(python));
	if (!id)
		return licence_spdx(text, out);
	memcpy(out, id, strlen(id) + 1);
	return 0;
}
