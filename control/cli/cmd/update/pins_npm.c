/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pins_npm.c - npm's lock file, and the package.json beside it
 *
 * Both come from a stranger. npm fetches a package that has no "resolved" as
 * NAME@VERSION from the machine's registry, so both must be what they are called:
 * a version may be an address for npm. It verifies nothing without a whole
 * digest.
 */
#include "control/cli/cmd/update/pins.h"

#include <errno.h>
#include <string.h>

#include "control/shared/json.h"
#include "lib/attr.h"
#include "lib/str.h"

#define LOCK_VERSION 3 /* the only one that has nothing outside of "packages" */
#define MODULES "node_modules/"
#define SHA512 "sha512-"
#define SHA512_BASE64 86u /* characters of a digest, without the padding */
#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define VERSION_CHARS DIGITS LETTERS ".+-"
#define NAME_CHARS DIGITS LETTERS "@/._-"

static bool only(const char *text, const char *chars)
{
	return *text && text[strspn(text, chars)] == '\0';
}

static bool is_version(const char *text)
{
	return *text >= '0' && *text <= '9' && only(text, VERSION_CHARS);
}

static bool is_proof(const char *text)
{
	if (!str_starts(text, SHA512))
		return false;
	text += strlen(SHA512);
	return strspn(text, DIGITS LETTERS "+/") == SHA512_BASE64 &&
	       strcmp(text + SHA512_BASE64, "==") == 0;
}

/* "1.2.3", or another package by "npm:NAME@1.2.3". */
static bool is_spec(const char *text)
{
	const char *at;

	if (is_version(text))
		return true;
	at = strrchr(text, '@');
	return str_starts(text, "npm:") && at && at > text + 4 &&
	       strspn(text + 4, NAME_CHARS) >= (size_t)(at - text - 4) &&
	       is_version(at + 1);
}

static int refuse(const char *name, const char *why, struct err *err)
{
	char shown[128];

	return err_set(err, -EBADMSG, "the new lock file %s '%s'", why,
		       str_escape(shown, sizeof(shown), name, strlen(name)));
}

static int package_check(const char *name, const json_t *p, struct err *err)
{
	const json_t *alias = json_object_get(p, "name");

	if (!str_starts(name, MODULES) || !only(name, NAME_CHARS) ||
	    (alias && !only(jsonx_text_at(p, "name"), NAME_CHARS)))
		return refuse(name, "has no package of the name", err);
	if (json_object_get(p, "link") || json_object_get(p, "resolved"))
		return refuse(name, "has an address for", err);
	if (!is_version(jsonx_text_at(p, "version")))
		return refuse(name, "has no version for", err);
	if (!is_proof(jsonx_text_at(p, "integrity")))
		return refuse(name, "proves by no SHA-512", err);
	return 0;
}

static int lock_check(const json_t *lock, struct err *err)
{
	const json_t *version = json_object_get(lock, "lockfileVersion");

	if (json_integer_value(version) != LOCK_VERSION ||
	    json_object_get(lock, "dependencies"))
		return err_set(err, -EBADMSG,
			       "the new lock file is not of version %d",
			       LOCK_VERSION);
	return 0;
}

json_t *pins_npm(const char *text, size_t len, bool proven, struct err *err)
{
	SCOPED_JSON lock = NULL;
	SCOPED_JSON pins = json_object();
	const char *name;
	json_t *p;
	int rc = pins ? jsonx_parse(text, len, &lock, err) : err_nomem(err);

	if (rc == 0 && proven)
		rc = lock_check(lock, err);
	json_object_foreach (json_object_get(lock, "packages"), name, p) {
		if (rc < 0 || !*name) /* the folder's own */
			continue;
		if (proven)
			rc = package_check(name, p, err);
		if (rc == 0 && pins_add(pins,
					str_starts(name, MODULES) ?
						name + strlen(MODULES) :
						name,
					jsonx_text_at(p, "version"),
					jsonx_text_at(p, "integrity")) < 0)
			rc = err_nomem(err);
	}
	if (rc == 0 && proven && json_object_size(pins) == 0)
		rc = err_set(err, -EBADMSG,
			     "the new lock file has no packages");
	return rc == 0 ? ptr_take(&pins) : NULL;
}

/* ---- package.json ---- */

/* Puts the versions of @was into @now. Returns -EBADMSG if those of @now are not
 * for the same packages, or not such that they may move. */
static int versions_restore(json_t *was, json_t *now)
{
	const char *name;
	json_t *spec;

	if (json_object_size(was) != json_object_size(now))
		return -EBADMSG;
	json_object_foreach (was, name, spec) {
		if (!is_spec(jsonx_text_at(now, name)))
			return -EBADMSG;
		if (json_object_set(now, name, spec) < 0)
			return -ENOMEM;
	}
	return 0;
}

int pins_npm_moved(const char *was, size_t was_len, const char *now,
		   size_t now_len, struct err *err)
{
	static const char *const kinds[] = { "dependencies",
					     "optionalDependencies" };
	SCOPED_JSON old = NULL;
	SCOPED_JSON new = NULL;
	int rc = jsonx_parse(was, was_len, &old, err);

	if (rc == 0)
		rc = jsonx_parse(now, now_len, &new, err);
	if (rc < 0)
		return err_wrap(err, "package.json");
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(kinds); i++)
		rc = versions_restore(json_object_get(old, kinds[i]),
				      json_object_get(new, kinds[i]));
	if (rc == 0 && !json_equal(old, new))
		rc = -EBADMSG;
	if (rc == -ENOMEM)
		return err_nomem(err);
	return rc < 0 ? err_set(err, rc,
				"the new package.json differs in more than "
				"versions") :
			0;
}
