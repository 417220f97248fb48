/* SPDX-License-Identifier: Apache-2.0 */
/*
 * update.c - `ac build --update`: newer versions of what agents are
 *
 * acd asks the registries, in an install sandbox (images/build-update.sh), and
 * leaves files. They come from a stranger: a lock must prove each package by its
 * digest, and none may name an address of its own, since the registry is the
 * machine's. Only then they replace those of the blueprint, all or none as far as
 * a file system allows: the lock is written first, and npm refuses a pair that
 * does not fit.
 */
#include "control/cli/cmd/update/update.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/cli/cmd/update/pins.h"
#include "control/cli/host/host.h"
#include "control/cli/host/image_build.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/str.h"

#define FILE_BYTES_MAX (8u * 1024 * 1024)
#define SHOWN_MAX 20u /* changes on a terminal; --json has all */

/* What asks for packages, and the lock that pins them. */
static const struct kind {
	const char *asks;
	const char *lock;
	bool moves; /* `asks` has versions, too */
	json_t *(*read)(const char *text, size_t len, bool proven,
			struct err *err);
} kinds[] = {
	{ "package.json", "package-lock.json", true, pins_npm },
	{ "requirements.in", "requirements.txt", false, pins_pip },
};

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

/* Reads a file of a blueprint; the caller frees *@ret_text. */
static int text_read(const char *dir, const char *name, char **ret_text,
		     size_t *ret_len, struct err *err)
{
	SCOPED_STR path = str_printf("%s/%s", dir, name);
	int rc = path ? file_read(path, FILE_BYTES_MAX, ret_text, ret_len) :
			-ENOMEM;

	return rc < 0 ? err_set(err, rc, "read %s/%s: %s", dir, name,
				err_text(rc)) :
			0;
}

static bool has_file(const char *dir, const char *name)
{
	SCOPED_STR path = str_printf("%s/%s", dir, name);

	return path && access(path, F_OK) == 0;
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
		printf("%s  and %zu more, see %s\n", name, n - SHOWN_MAX, dir);
}

/* Compares the lock of a kind in @dir with the new one in @from, and puts that
 * and what asks for it into @dir. */
static int take_kind(const struct kind *kind, const char *from, const char *dir,
		     json_t **ret_changes, struct err *err)
{
	SCOPED_STR asks = NULL;
	SCOPED_STR lock = NULL;
	SCOPED_STR old = NULL;
	SCOPED_JSON now = NULL;
	SCOPED_JSON was = NULL;
	SCOPED_JSON changes = NULL;
	size_t len[3] = { 0 };
	int rc = text_read(from, kind->lock, &lock, &len[0], err);

	if (rc == 0 && kind->moves)
		rc = text_read(from, kind->asks, &asks, &len[1], err);
	if (rc == 0 && has_file(dir, kind->lock))
		rc = text_read(dir, kind->lock, &old, &len[2], err);
	if (rc < 0)
		return rc;
	now = kind->read(lock, len[0], true, err);
	was = !now ? NULL :
	      old  ? kind->read(old, len[2], false, err) :
		     json_object();
	changes = was ? pins_compare(was, now, err) : NULL;
	if (!changes)
		return err->code ? err->code : err_nomem(err);
	if (json_array_size(changes) > 0) {
		rc = text_write(dir, kind->lock, lock, err);
		if (rc == 0 && asks)
			rc = text_write(dir, kind->asks, asks, err);
	}
	if (rc == 0)
		*ret_changes = ptr_take(&changes);
	return rc;
}

/* Takes over the files that acd has left in @from. */
static int take_over(const struct cli *cli, const char *name, const char *from,
		     const char *dir, struct err *err)
{
	SCOPED_JSON changes = json_array();
	int rc = changes ? 0 : err_nomem(err);

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(kinds); i++) {
		SCOPED_JSON more = NULL;

		if (!has_file(dir, kinds[i].asks))
			continue;
		rc = take_kind(&kinds[i], from, dir, &more, err);
		if (rc == 0 && json_array_extend(changes, more) < 0)
			rc = err_nomem(err);
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
