/* SPDX-License-Identifier: Apache-2.0 */
/*
 * update.c - `ac build --update`: newer versions of what agents are
 *
 * acd asks the registry, in an install sandbox (images/build-update.sh), and
 * leaves two files. They come from a stranger: they are read as JSON, the lock
 * must prove each package by its SHA-512, and none may name an address of its
 * own, since the registry is the machine's. Only then they replace those of the
 * blueprint, both or none as far as a file system allows: the lock is written
 * first, and npm refuses a pair that does not fit.
 */
#include "control/cli/cmd/update/update.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/cli/host/host.h"
#include "control/cli/host/image_build.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/str.h"

#define PACK "package.json"
#define LOCK "package-lock.json"
#define FILE_BYTES_MAX (8u * 1024 * 1024)
#define SHOWN_MAX 20u /* changes on a terminal; --json has all */

/* ---- comparing ---- */

static json_t *packages_of(const json_t *lock)
{
	return json_object_get(lock, "packages");
}

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

static int change_add(json_t *list, const char *name, const char *from,
		      const char *to)
{
	return json_array_append_new(
		list, json_pack("{s:o, s:o, s:o}", "package",
				jsonx_text(str_starts(name, "node_modules/") ?
						   name + 13 :
						   name),
				"from", from ? jsonx_text(from) : json_null(),
				"to", to ? jsonx_text(to) : json_null()));
}

static const char *version_of(const json_t *packages, const char *name)
{
	const json_t *p = json_object_get(packages, name);

	return p ? jsonx_text_at(p, "version") : NULL;
}

static int new_compare(const json_t *was, json_t *now, json_t *list,
		       struct err *err)
{
	const char *name;
	json_t *p;
	int rc = 0;

	json_object_foreach (now, name, p) {
		const char *from = version_of(was, name);
		const char *to = jsonx_text_at(p, "version");

		if (!*name) /* the folder's own */
			continue;
		rc = package_check(name, p, err);
		if (rc < 0)
			return rc;
		if ((!from || strcmp(from, to) != 0) &&
		    change_add(list, name, from, to) < 0)
			return err_nomem(err);
	}
	return rc;
}

static int gone_compare(json_t *was, const json_t *now, json_t *list,
			struct err *err)
{
	const char *name;
	json_t *p;

	json_object_foreach (was, name, p) {
		if (*name && !json_object_get(now, name) &&
		    change_add(list, name, jsonx_text_at(p, "version"), NULL) <
			    0)
			return err_nomem(err);
	}
	return 0;
}

json_t *build_update_compare(const json_t *was, const json_t *now,
			     struct err *err)
{
	json_t *packages = packages_of(now);
	SCOPED_JSON list = json_array();
	int rc = list ? 0 : err_nomem(err);

	if (rc == 0 && json_object_size(packages) < 2)
		rc = err_set(err, -EBADMSG,
			     "the new lock file has no packages");
	if (rc == 0)
		rc = new_compare(packages_of(was), packages, list, err);
	if (rc == 0)
		rc = gone_compare(packages_of(was), packages, list, err);
	return rc == 0 ? ptr_take(&list) : NULL;
}

/* ---- files ---- */

/* Returns the folder of a blueprint on this machine, to be freed: the user's
 * own, or the shipped one if it may be written. NULL with @err. */
static char *folder_of(const struct cli *cli, const char *name, struct err *err)
{
	SCOPED_STR own = str_printf("%s/blueprints/%s", cli->home, name);
	SCOPED_STR shipped = str_printf("%s/blueprints/%s", cli->share, name);
	SCOPED_STR file = str_printf("%s/blueprint.yaml", own ? own : "");

	if (!own || !shipped || !file) {
		err_nomem(err);
		return NULL;
	}
	if (access(file, F_OK) == 0)
		return ptr_take(&own);
	if (access(shipped, W_OK) == 0)
		return ptr_take(&shipped);
	err_set(err, -EACCES,
		"%s is not yours to change; a copy of it as %s is, and comes "
		"first",
		shipped, own);
	return NULL;
}

static int json_read(const char *dir, const char *name, char **ret_text,
		     json_t **ret, struct err *err)
{
	SCOPED_STR path = str_printf("%s/%s", dir, name);
	size_t len = 0;
	int rc = path ? file_read(path, FILE_BYTES_MAX, ret_text, &len) :
			-ENOMEM;

	if (rc < 0)
		return err_set(err, rc, "read %s/%s: %s", dir, name,
			       err_text(rc));
	rc = jsonx_parse(*ret_text, len, ret, err);
	return rc < 0 ? err_wrap(err, "%s", path) : 0;
}

static int text_write(const char *dir, const char *name, const char *text,
		      struct err *err)
{
	SCOPED_STR path = str_printf("%s/%s", dir, name);
	int rc = path ? file_write_atomic(path, text, strlen(text), 0644) :
			-ENOMEM;

	return rc < 0 ? err_set(err, rc, "write %s/%s: %s", dir, name,
				err_text(rc)) :
			0;
}

/* ---- one blueprint ---- */

static void print_changes(const char *name, const char *dir,
			  const json_t *changes)
{
	size_t n = json_array_size(changes);
	char shown[3][128];

	for (size_t i = 0; i < n && i < SHOWN_MAX; i++) {
		const json_t *c = json_array_get(changes, i);
		const char *from = jsonx_text_at(c, "from");
		const char *to = jsonx_text_at(c, "to");

		printf("%s  %s  %s -> %s\n", name,
		       cli_clean(shown[0], sizeof(shown[0]),
				 jsonx_text_at(c, "package")),
		       cli_clean(shown[1], sizeof(shown[1]),
				 *from ? from : "none"),
		       cli_clean(shown[2], sizeof(shown[2]),
				 *to ? to : "none"));
	}
	if (n > SHOWN_MAX)
		printf("%s  and %zu more, see %s/" LOCK "\n", name,
		       n - SHOWN_MAX, dir);
}

/* Takes over the files that acd has left in @from. */
static int take_over(const struct cli *cli, const char *name, const char *from,
		     const char *dir, struct err *err)
{
	SCOPED_STR pack = NULL;
	SCOPED_STR lock = NULL;
	SCOPED_STR old = NULL;
	SCOPED_JSON pack_now = NULL;
	SCOPED_JSON lock_now = NULL;
	SCOPED_JSON lock_was = NULL;
	SCOPED_JSON changes = NULL;
	int rc = json_read(from, PACK, &pack, &pack_now, err);

	if (rc == 0)
		rc = json_read(from, LOCK, &lock, &lock_now, err);
	if (rc == 0)
		rc = json_read(dir, LOCK, &old, &lock_was, err);
	if (rc < 0)
		return rc;
	changes = build_update_compare(lock_was, lock_now, err);
	if (!changes)
		return err->code;
	if (json_array_size(changes) > 0) {
		rc = text_write(dir, LOCK, lock, err);
		if (rc == 0)
			rc = text_write(dir, PACK, pack, err);
	}
	if (rc < 0)
		return rc;
	if (cli->json) {
		SCOPED_JSON all = json_pack("{s:o, s:o, s:O}", "blueprint",
					    jsonx_text(name), "folder",
					    jsonx_text(dir), "changes",
					    changes);

		return all ? cli_print_json(all, false, err) : err_nomem(err);
	}
	print_changes(name, dir, changes);
	say_info(cli,
		 json_array_size(changes) > 0 ?
			 "%s has newer versions: `ac build %s` installs them" :
			 "%s has the newest versions",
		 name, name);
	return 0;
}

static int update_one(const struct cli *cli, struct client *c, const char *name,
		      struct err *err)
{
	static const char kept[] = "cache/update";
	SCOPED_JSON how = json_pack("{s:b}", "update", 1);
	SCOPED_STR from = str_printf("%s/%s/%s", cli->home, kept, name);
	SCOPED_STR dir = folder_of(cli, name, err);
	struct cli quiet = *cli;
	int rc = dir ? 0 : err->code;

	quiet.json = false; /* the result is one object for a blueprint */
	if (rc == 0 && (!how || !from))
		rc = err_nomem(err);
	if (rc == 0)
		rc = build_image(&quiet, c, name, how, err);
	return rc == 0 ? take_over(cli, name, from, dir, err) : rc;
}

int cmd_build_or_update(const struct cli *cli, const struct args *a,
			struct err *err)
{
	SCOPED_CLIENT c = NULL;
	int rc;

	if (!args_has(a, ARG_UPDATE))
		return cmd_build(cli, a, err);
	if (args_has(a, ARG_NO_CACHE) || args_has(a, ARG_LOOK))
		return err_set(err, -EINVAL,
			       "--update builds nothing: it goes with no other "
			       "option of a build");
	rc = host_client(cli, true, &c, err);
	for (size_t i = 0; rc == 0 && i < a->n_words; i++)
		rc = update_one(cli, c, a->words[i], err);
	return rc;
}
