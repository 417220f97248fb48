/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pins.c - what the lock file of a blueprint pins
 *
 * The new one comes from a stranger. npm's is JSON; pip's is lines, of which only
 * the form that images/update/pip.py writes is taken as proof:
 * name==version --hash=sha256:HEX..., see "Requirements File Format" of pip's
 * manual.
 */
#include "control/cli/cmd/update/pins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/shared/json.h"
#include "lib/attr.h"
#include "lib/slice.h"
#include "lib/str.h"

/* ---- npm ---- */

static int package_check(const char *name, const json_t *p, struct err *err)
{
	char shown[128];

	str_escape(shown, sizeof(shown), name, strlen(name));
	if (json_is_true(json_object_get(p, "link")) ||
	    !str_starts(jsonx_text_at(p, "integrity"), "sha512-"))
		return err_set(err, -EBADMSG,
			       "the new lock file proves '%s' by no SHA-512",
			       shown);
	if (json_object_get(p, "resolved"))
		return err_set(err, -EBADMSG,
			       "the new lock file has an address for '%s'",
			       shown);
	return 0;
}

static int npm_add(json_t *pins, const char *name, const json_t *p)
{
	const char *version = jsonx_text_at(p, "version");

	if (str_starts(name, "node_modules/"))
		name += strlen("node_modules/");
	return json_object_set_new(pins, name, jsonx_text(version));
}

json_t *pins_npm(const char *text, size_t len, bool proven, struct err *err)
{
	SCOPED_JSON lock = NULL;
	SCOPED_JSON pins = json_object();
	json_t *packages;
	const char *name;
	json_t *p;
	int rc = pins ? jsonx_parse(text, len, &lock, err) : err_nomem(err);

	packages = json_object_get(lock, "packages");
	json_object_foreach (packages, name, p) {
		if (rc < 0 || !*name) /* the folder's own */
			continue;
		if (proven)
			rc = package_check(name, p, err);
		if (rc == 0 && npm_add(pins, name, p) < 0)
			rc = err_nomem(err);
	}
	if (rc == 0 && proven && json_object_size(pins) == 0)
		rc = err_set(err, -EBADMSG,
			     "the new lock file has no packages");
	return rc == 0 ? ptr_take(&pins) : NULL;
}

/* ---- pip ---- */

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_alnum(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

static bool is_hex(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Takes the next line, without its end; a line whose last character is a
 * backslash goes on with the next one. */
static struct slice line_take(struct slice *text)
{
	struct slice line = { .ptr = text->ptr };

	while (line.len < text->len) {
		if (line.ptr[line.len] == '\n' &&
		    (line.len == 0 || line.ptr[line.len - 1] != '\\'))
			break;
		line.len++;
	}
	text->ptr += line.len;
	text->len -= line.len;
	if (text->len > 0) { /* the newline */
		text->ptr++;
		text->len--;
	}
	return line;
}

/* Takes the next word of a line; empty at its end. */
static struct slice word_take(struct slice *line)
{
	struct slice word;
	size_t i = 0;

	while (i < line->len && (is_blank(line->ptr[i]) ||
				 (line->ptr[i] == '\\' && i + 1 < line->len &&
				  line->ptr[i + 1] == '\n')))
		i++;
	word.ptr = line->ptr + i;
	for (word.len = 0; i < line->len && !is_blank(line->ptr[i]); i++)
		word.len++;
	line->ptr += i;
	line->len -= i;
	return word;
}

/* Takes what begins a word and has only such characters; *@ret has a NUL. */
static int part_take(struct slice *word, const char *also, size_t max,
		     char *ret)
{
	size_t n = 0;

	while (n < word->len && (is_alnum(word->ptr[n]) ||
				 (word->ptr[n] && strchr(also, word->ptr[n]))))
		n++;
	if (n == 0 || n > max)
		return -EBADMSG;
	memcpy(ret, word->ptr, n);
	ret[n] = '\0';
	word->ptr += n;
	word->len -= n;
	return 0;
}

/* A name as the registry compares it: PEP 503, "Normalized Names". */
static void name_normalize(char *name)
{
	char *to = name;

	for (const char *s = name; *s; s++) {
		bool dash = *s == '-' || *s == '_' || *s == '.';

		if (dash && to > name && to[-1] == '-')
			continue;
		*to++ = (char)(dash                   ? '-' :
			       *s >= 'A' && *s <= 'Z' ? *s + ('a' - 'A') :
							*s);
	}
	*to = '\0';
}

static bool is_proof(struct slice word)
{
	static const char prefix[] = "--hash=sha256:";
	const size_t n = sizeof(prefix) - 1;

	if (word.len != n + 64 || memcmp(word.ptr, prefix, n) != 0)
		return false;
	for (size_t i = n; i < word.len; i++)
		if (!is_hex(word.ptr[i]))
			return false;
	return true;
}

/* Returns 1 if @line pins a version, 0 if it pins none, and -EBADMSG if it is not
 * to be believed. */
static int pip_line(struct slice line, bool proven,
		    char name[PINS_NAME_MAX + 1],
		    char version[PINS_VERSION_MAX + 1])
{
	struct slice word = word_take(&line);
	size_t proofs = 0;

	if (word.len == 0 || word.ptr[0] == '#')
		return 0;
	if (part_take(&word, "-_.", PINS_NAME_MAX, name) < 0 || word.len < 2 ||
	    memcmp(word.ptr, "==", 2) != 0)
		return proven ? -EBADMSG : 0;
	word.ptr += 2;
	word.len -= 2;
	if (part_take(&word, ".!+_-", PINS_VERSION_MAX, version) < 0)
		return proven ? -EBADMSG : 0;
	name_normalize(name);
	if (!proven)
		return 1;
	if (word.len > 0)
		return -EBADMSG;
	for (word = word_take(&line); word.len > 0; word = word_take(&line))
		if (!is_proof(word))
			return -EBADMSG;
		else
			proofs++;
	return proofs > 0 ? 1 : -EBADMSG;
}

json_t *pins_pip(const char *text, size_t len, bool proven, struct err *err)
{
	SCOPED_JSON pins = json_object();
	struct slice rest = slice_of(text, len);
	char name[PINS_NAME_MAX + 1];
	char version[PINS_VERSION_MAX + 1];
	int rc = pins ? 0 : err_nomem(err);

	for (size_t n = 1; rc == 0 && rest.len > 0; n++) {
		int found = pip_line(line_take(&rest), proven, name, version);

		if (found < 0)
			rc = err_set(err, found,
				     "line %zu of the new requirements.txt is "
				     "no version with its SHA-256",
				     n);
		else if (found > 0 &&
			 json_object_set_new(pins, name, jsonx_text(version)) <
				 0)
			rc = err_nomem(err);
		if (rc == 0 && json_object_size(pins) > PINS_MAX)
			rc = err_set(err, -E2BIG,
				     "requirements.txt has more than %u "
				     "packages",
				     PINS_MAX);
	}
	if (rc == 0 && proven && json_object_size(pins) == 0)
		rc = err_set(err, -EBADMSG,
			     "the new requirements.txt has no packages");
	return rc == 0 ? ptr_take(&pins) : NULL;
}

/* ---- comparing ---- */

static int change_add(json_t *list, const char *name, json_t *from, json_t *to)
{
	json_t *none = json_null(); /* not counted */

	return json_array_append_new(
		list,
		json_pack("{s:o, s:O, s:O}", "package", jsonx_text(name),
			  "from", from ? from : none, "to", to ? to : none));
}

static int by_package(const void *a, const void *b)
{
	return strcmp(jsonx_text_at(*(json_t *const *)a, "package"),
		      jsonx_text_at(*(json_t *const *)b, "package"));
}

static json_t *sorted(json_t *list, struct err *err)
{
	size_t n = json_array_size(list);
	json_t *all = json_array();
	json_t **v = calloc(n + 1, sizeof(*v));

	if (!all || !v) {
		json_decref(all);
		free(v);
		err_nomem(err);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		v[i] = json_array_get(list, i);
	qsort(v, n, sizeof(*v), by_package);
	for (size_t i = 0; i < n; i++)
		json_array_append(all, v[i]);
	free(v);
	return all;
}

json_t *pins_compare(json_t *was, json_t *now, struct err *err)
{
	SCOPED_JSON list = json_array();
	const char *name;
	json_t *version;
	int rc = list ? 0 : -ENOMEM;

	json_object_foreach (now, name, version) {
		json_t *from = json_object_get(was, name);

		if (rc == 0 && (!from || !json_equal(from, version)))
			rc = change_add(list, name, from, version);
	}
	json_object_foreach (was, name, version) {
		if (rc == 0 && !json_object_get(now, name))
			rc = change_add(list, name, version, NULL);
	}
	if (rc < 0) {
		err_nomem(err);
		return NULL;
	}
	return sorted(list, err);
}
