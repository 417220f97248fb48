/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npm.c - package.json of installed packages, and npm's lock files
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "control/sbom/field.h"
#include "control/sbom/licence.h"
#include "control/sbom/packages.h"
#include "lib/jsonr.h"
#include "lib/str.h"

#define INTEGRITY_MAX 512u /* bytes of a word of it */

struct manifest {
	char name[SBOM_NAME_MAX + 2], version[SBOM_VERSION_MAX + 2];
	char licence[SBOM_TEXT_MAX];
};

/* Takes a string to @out, of @size bytes with the NUL. One that is too long, or
 * has a NUL, is "". */
static int take_text(struct jsonr *j, char *out, size_t size)
{
	struct slice raw;
	ssize_t n;
	int rc = jsonr_string(j, &raw);

	if (rc < 0)
		return rc;
	n = jsonr_unescape(raw, out, size - 1);
	if (n == -EBADMSG)
		return -EBADMSG;
	out[n < 0 ? 0 : n] = '\0';
	if (n > 0 && strlen(out) != (size_t)n)
		out[0] = '\0';
	return 0;
}

/* Takes a string, or ignores a value of another kind. */
static int take_if_text(struct jsonr *j, char *out, size_t size)
{
	int kind = jsonr_peek(j);

	if (kind < 0)
		return kind;
	return kind == JSONR_STRING ? take_text(j, out, size) : jsonr_skip(j);
}

/* Takes a licence: a text, or an object with one as its "type". */
static int take_licence(struct jsonr *j, char *out, size_t size)
{
	struct slice key;
	int rc = jsonr_peek(j);

	if (rc != JSONR_OBJECT)
		return rc < 0 ? rc : take_if_text(j, out, size);
	rc = jsonr_open(j, '{');
	while (rc == 0 && (rc = jsonr_next(j, &key)) > 0)
		rc = jsonr_is(key, "type") ? take_if_text(j, out, size) :
					     jsonr_skip(j);
	return rc;
}

/* Takes the list of licences of old packages, any of which may be chosen. */
static int take_licences(struct jsonr *j, char *out, size_t size)
{
	size_t used = 0;
	int rc = jsonr_peek(j);

	if (rc != JSONR_ARRAY)
		return rc < 0 ? rc : jsonr_skip(j);
	rc = jsonr_open(j, '[');
	while (rc == 0 && (rc = jsonr_next(j, NULL)) > 0) {
		char one[128] = "";
		int n;

		rc = take_licence(j, one, sizeof(one));
		n = rc == 0 && one[0] ?
			    snprintf(out + used, size - used, "%s%s",
				     used ? " OR " : "", one) :
			    0;
		if (n > 0)
			used += (size_t)n < size - used ? (size_t)n :
							  size - used - 1;
	}
	return rc;
}

static int take_manifest(struct jsonr *j, struct manifest *m)
{
	struct slice key;
	int rc = jsonr_open(j, '{');

	while (rc == 0 && (rc = jsonr_next(j, &key)) > 0) {
		if (jsonr_is(key, "name"))
			rc = take_if_text(j, m->name, sizeof(m->name));
		else if (jsonr_is(key, "version"))
			rc = take_if_text(j, m->version, sizeof(m->version));
		else if (jsonr_is(key, "license"))
			rc = take_licence(j, m->licence, sizeof(m->licence));
		else if (jsonr_is(key, "licenses"))
			rc = take_licences(j, m->licence, sizeof(m->licence));
		else
			rc = jsonr_skip(j);
	}
	return rc < 0 ? rc : jsonr_end(j);
}

int sbom_read_npm(struct sbom *s, struct slice text, const char *at)
{
	static const uint8_t mark[] = { 0xef, 0xbb, 0xbf }; /* of UTF-8 */
	struct manifest m = { .name = "" };
	struct sbom_package p = {
		.kind = SBOM_NPM, .name = m.name, .version = m.version, .at = at
	};
	char licence[LICENCE_MAX];
	struct jsonr j;

	if (text.len >= sizeof(mark) &&
	    memcmp(text.ptr, mark, sizeof(mark)) == 0) {
		text.ptr += sizeof(mark);
		text.len -= sizeof(mark);
	}
	jsonr_init(&j, text);
	if (take_manifest(&j, &m) < 0) {
		s->left_out++;
		return 0;
	}
	if (licence_spdx(slice_str(m.licence), licence) == 0)
		p.licence = licence;
	else if (m.licence[0])
		p.said = m.licence;
	return sbom_add(s, &p);
}

/* ---- checksums ---- */

/* Decodes Base64 with its padding to exactly @len bytes. */
static int decode(struct slice text, uint8_t *out, size_t len)
{
	uint32_t bits = 0;
	unsigned have = 0;
	size_t n = 0, digits = (len * 8 + 5) / 6;

	if (text.len != (len + 2) / 3 * 4)
		return -EBADMSG;
	for (size_t i = 0; i < text.len; i++) {
		int v = str_base64_value(text.ptr[i]);

		if (i >= digits) {
			if (text.ptr[i] != '=')
				return -EBADMSG;
			continue;
		}
		if (v < 0)
			return -EBADMSG;
		bits = bits << 6 | (uint32_t)v;
		have += 6;
		if (have >= 8) {
			have -= 8;
			out[n++] = (uint8_t)(bits >> have);
		}
	}
	return n == len ? 0 : -EBADMSG;
}

int sbom_read_integrity(struct slice text, struct sbom_sum *ret)
{
	static const struct {
		const char *prefix, *algorithm;
		size_t len;
	} kinds[] = { { "sha1-", "SHA1", 20 },
		      { "sha256-", "SHA256", 32 },
		      { "sha384-", "SHA384", 48 },
		      { "sha512-", "SHA512", 64 } };
	struct sbom_sum best = { .algorithm = NULL };

	while ((text = slice_trim(text)).len > 0) {
		const uint8_t *end = memchr(text.ptr, ' ', text.len);
		size_t n = end ? (size_t)(end - text.ptr) : text.len;

		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
			size_t head = strlen(kinds[k].prefix);
			struct sbom_sum sum = { .algorithm = kinds[k].algorithm,
						.len = kinds[k].len };

			if (kinds[k].len > best.len && n > head &&
			    memcmp(text.ptr, kinds[k].prefix, head) == 0 &&
			    decode(slice_of(text.ptr + head, n - head),
				   sum.bytes, sum.len) == 0)
				best = sum;
		}
		text = slice_of(text.ptr + n, text.len - n);
	}
	if (!best.algorithm)
		return -EBADMSG;
	*ret = best;
	return 0;
}

/* ---- lock files ---- */

struct lock {
	int (*each)(void *arg, struct slice path, const struct sbom_sum *sum);
	void *arg;
};

static int take_locked(struct jsonr *j, const struct lock *l,
		       struct slice raw_path)
{
	char integrity[INTEGRITY_MAX] = "", path[SBOM_PATH_MAX];
	struct sbom_sum sum;
	struct slice key;
	ssize_t n;
	int rc = jsonr_peek(j);

	if (rc != JSONR_OBJECT)
		return rc < 0 ? rc : jsonr_skip(j);
	rc = jsonr_open(j, '{');
	while (rc == 0 && (rc = jsonr_next(j, &key)) > 0)
		rc = jsonr_is(key, "integrity") ?
			     take_if_text(j, integrity, sizeof(integrity)) :
			     jsonr_skip(j);
	if (rc < 0)
		return rc;
	n = jsonr_unescape(raw_path, path, sizeof(path));
	if (n == -EBADMSG)
		return -EBADMSG;
	if (n <= 0 || sbom_read_integrity(slice_str(integrity), &sum) < 0)
		return 0;
	return l->each(l->arg, slice_of(path, (size_t)n), &sum);
}

static int take_all_locked(struct jsonr *j, const struct lock *l)
{
	struct slice path;
	int rc = jsonr_open(j, '{');

	while (rc == 0 && (rc = jsonr_next(j, &path)) > 0)
		rc = take_locked(j, l, path);
	return rc;
}

int sbom_read_lock(struct slice text,
		   int (*each)(void *arg, struct slice path,
			       const struct sbom_sum *sum),
		   void *arg)
{
	const struct lock l = { .each = each, .arg = arg };
	struct slice key;
	struct jsonr j;
	int rc;

	jsonr_init(&j, text);
	rc = jsonr_open(&j, '{');
	while (rc == 0 && (rc = jsonr_next(&j, &key)) > 0)
		rc = jsonr_is(key, "packages") ? take_all_locked(&j, &l) :
						 jsonr_skip(&j);
	return rc < 0 ? rc : jsonr_end(&j);
}
