/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spdx.c - writes what is in an image as a document of SPDX 2.3, in JSON
 *
 * The image is a package that contains all others. Nothing in the document
 * depends on when and where it is written: its time is that of the image, its
 * namespace has the image's digest, and packages have their place in the sorted
 * list as their number.
 */
#include "control/sbom/spdx.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/jsonw.h"

#define NAMESPACE "https://spdx.org/spdxdocs/"
#define NONE "NOASSERTION"
#define IMAGE_ID "SPDXRef-image"

/* ---- package URLs ---- */

/* Appends @text; all but what a package URL never encodes is encoded. */
static char *put(char *at, const char *end, const char *text)
{
	static const char hex[] = "0123456789ABCDEF";

	for (; *text && at + 3 < end; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c >= '0' && c <= '9') || strchr(".-_~:", c)) {
			*at++ = (char)c;
		} else {
			*at++ = '%';
			*at++ = hex[c >> 4];
			*at++ = hex[c & 15];
		}
	}
	*at = '\0';
	return at;
}

static char *put_plain(char *at, const char *end, const char *text)
{
	while (*text && at + 1 < end)
		*at++ = *text++;
	*at = '\0';
	return at;
}

/* "Zope.Interface" and "zope_interface" are one: in lower case, with one "-". */
static void python_name(char *out, size_t size, const char *name)
{
	size_t n = 0;

	for (; *name && n + 1 < size; name++) {
		char c = *name >= 'A' && *name <= 'Z' ? (char)(*name | 0x20) :
							*name;

		if (!strchr("-_.", c))
			out[n++] = c;
		else if (n == 0 || out[n - 1] != '-')
			out[n++] = '-';
	}
	out[n] = '\0';
}

static char *put_npm(char *at, const char *end, const char *name)
{
	const char *slash = name[0] == '@' ? strchr(name, '/') : NULL;
	char scope[SBOM_NAME_MAX + 1];

	if (!slash)
		return put(at, end, name);
	snprintf(scope, sizeof(scope), "%.*s", (int)(slash - name), name);
	at = put(at, end, scope);
	at = put_plain(at, end, "/");
	return put(at, end, slash + 1);
}

char *spdx_purl(char out[SPDX_PURL_MAX], const struct sbom *s,
		const struct sbom_package *p)
{
	static const char *const types[] = { [SBOM_DEB] = "pkg:deb/",
					     [SBOM_NPM] = "pkg:npm/",
					     [SBOM_PYPI] = "pkg:pypi/" };
	const char *end = &out[SPDX_PURL_MAX - 1];
	char *at = put_plain(out, end, types[p->kind]);
	char name[SBOM_NAME_MAX + 1];

	if (p->kind == SBOM_DEB) {
		at = put(at, end, s->distro[0] ? s->distro : "debian");
		at = put_plain(at, end, "/");
		at = put(at, end, p->name);
	} else if (p->kind == SBOM_NPM) {
		at = put_npm(at, end, p->name);
	} else {
		python_name(name, sizeof(name), p->name);
		at = put(at, end, name);
	}
	at = put_plain(at, end, "@");
	at = put(at, end, p->version);
	if (p->kind != SBOM_DEB)
		return out;
	at = put_plain(at, end, "?arch=");
	at = put(at, end, p->arch ? p->arch : "all");
	if (s->codename[0]) {
		at = put_plain(at, end, "&distro=");
		put(at, end, s->codename);
	}
	return out;
}

/* ---- packages ---- */

static void write_id(struct jsonw *w, const char *key,
		     const struct sbom_package *p, size_t n)
{
	static const char *const kinds[] = {
		[SBOM_DEB] = "deb", [SBOM_NPM] = "npm", [SBOM_PYPI] = "pypi"
	};
	char id[48];

	snprintf(id, sizeof(id), "SPDXRef-%s-%zu", kinds[p->kind], n + 1);
	jsonw_str(w, key, id);
}

static void write_sum(struct jsonw *w, const struct sbom_sum *sum)
{
	char hex[2 * SBOM_SUM_MAX + 1] = "";

	for (size_t i = 0; i < sum->len && i < SBOM_SUM_MAX; i++)
		snprintf(hex + 2 * i, 3, "%02x", sum->bytes[i]);
	jsonw_open(w, "checksums", '[');
	jsonw_open(w, NULL, '{');
	jsonw_str(w, "algorithm", sum->algorithm);
	jsonw_str(w, "checksumValue", hex);
	jsonw_close(w, '}');
	jsonw_close(w, ']');
}

static void write_purl(struct jsonw *w, const char *purl)
{
	jsonw_open(w, "externalRefs", '[');
	jsonw_open(w, NULL, '{');
	jsonw_str(w, "referenceCategory", "PACKAGE-MANAGER");
	jsonw_str(w, "referenceType", "purl");
	jsonw_str(w, "referenceLocator", purl);
	jsonw_close(w, '}');
	jsonw_close(w, ']');
}

/* What each package has to have besides its name and version. */
static void write_unknown(struct jsonw *w, const char *licence)
{
	jsonw_str(w, "downloadLocation", NONE);
	jsonw_bool(w, "filesAnalyzed", false);
	jsonw_str(w, "licenseConcluded", NONE);
	jsonw_str(w, "licenseDeclared", licence ? licence : NONE);
	jsonw_str(w, "copyrightText", NONE);
}

static void write_package(struct jsonw *w, const struct sbom *s, size_t n)
{
	const struct sbom_package *p = &s->v[n];
	char text[SBOM_PATH_MAX + SBOM_NAME_MAX + 64], purl[SPDX_PURL_MAX];

	jsonw_open(w, NULL, '{');
	jsonw_str(w, "name", p->name);
	write_id(w, "SPDXID", p, n);
	jsonw_str(w, "versionInfo", p->version);
	if (p->supplier) {
		/* A distribution has its packages of teams and of people. */
		snprintf(text, sizeof(text), "Organization: %s", p->supplier);
		jsonw_str(w, "supplier", text);
	}
	write_unknown(w, p->licence);
	if (p->said) {
		snprintf(text, sizeof(text), "The package says: %s", p->said);
		jsonw_str(w, "licenseComments", text);
	}
	if (p->sum.algorithm)
		write_sum(w, &p->sum);
	snprintf(text, sizeof(text), "%s%s%sread from /%s",
		 p->source ? "built from " : "", p->source ? p->source : "",
		 p->source ? "; " : "", p->at);
	jsonw_str(w, "sourceInfo", text);
	write_purl(w, spdx_purl(purl, s, p));
	jsonw_close(w, '}');
}

static void write_image(struct jsonw *w, const struct spdx_image *image)
{
	char version[128];

	snprintf(version, sizeof(version), "sha256:%s", image->digest);
	jsonw_open(w, NULL, '{');
	jsonw_str(w, "name", image->name);
	jsonw_str(w, "SPDXID", IMAGE_ID);
	jsonw_str(w, "versionInfo", version);
	write_unknown(w, NULL);
	jsonw_str(w, "primaryPackagePurpose", "CONTAINER");
	jsonw_close(w, '}');
}

static void write_relations(struct jsonw *w, const struct sbom *s)
{
	jsonw_open(w, "relationships", '[');
	jsonw_open(w, NULL, '{');
	jsonw_str(w, "spdxElementId", "SPDXRef-DOCUMENT");
	jsonw_str(w, "relationshipType", "DESCRIBES");
	jsonw_str(w, "relatedSpdxElement", IMAGE_ID);
	jsonw_close(w, '}');
	for (size_t n = 0; n < s->n; n++) {
		jsonw_open(w, NULL, '{');
		jsonw_str(w, "spdxElementId", IMAGE_ID);
		jsonw_str(w, "relationshipType", "CONTAINS");
		write_id(w, "relatedSpdxElement", &s->v[n], n);
		jsonw_close(w, '}');
	}
	jsonw_close(w, ']');
}

/* ---- the document ---- */

static void write_creation(struct jsonw *w, const struct spdx_image *image)
{
	char text[160];
	struct tm tm = { 0 };
	time_t at = (time_t)image->created;

	jsonw_open(w, "creationInfo", '{');
	if (!gmtime_r(&at, &tm) ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(text, sizeof(text), "1970-01-01T00:00:00Z");
	jsonw_str(w, "created", text);
	jsonw_open(w, "creators", '[');
	snprintf(text, sizeof(text), "Tool: %s", image->tool);
	jsonw_str(w, NULL, text);
	jsonw_close(w, ']');
	jsonw_close(w, '}');
}

int spdx_write(const struct sbom *s, const struct spdx_image *image,
	       struct buf *out)
{
	struct jsonw w;
	char text[256];

	jsonw_init(&w, out);
	jsonw_open(&w, NULL, '{');
	jsonw_str(&w, "spdxVersion", "SPDX-2.3");
	jsonw_str(&w, "dataLicense", "CC0-1.0");
	jsonw_str(&w, "SPDXID", "SPDXRef-DOCUMENT");
	jsonw_str(&w, "name", image->name);
	snprintf(text, sizeof(text), NAMESPACE "ac-image-%s", image->digest);
	jsonw_str(&w, "documentNamespace", text);
	write_creation(&w, image);
	if (s->left_out || s->closed) {
		snprintf(text, sizeof(text),
			 "Left out: %u packages whose metadata is broken or "
			 "too long, and %u directories that only root of the "
			 "image can read.",
			 s->left_out, s->closed);
		jsonw_str(&w, "comment", text);
	}
	jsonw_open(&w, "packages", '[');
	write_image(&w, image);
	for (size_t n = 0; n < s->n && w.rc == 0; n++)
		write_package(&w, s, n);
	jsonw_close(&w, ']');
	write_relations(&w, s);
	jsonw_close(&w, '}');
	return w.rc;
}
