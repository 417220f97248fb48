/* SPDX-License-Identifier: Apache-2.0 */
/*
 * update.c - `ac build --update`: newer versions of what agents are
 *
 * acd asks the registries, in an install sandbox (images/build-update.sh), and
 * leaves files. They come from a stranger: each lock must prove what it pins
 * (pins.h), and package.json may differ in versions alone. All are judged before
 * the first replaces one of the blueprint's. A lock is written before what asks
 * for its packages, and npm refuses a pair that does not fit.
 */
#include "control/cli/cmd/update/update.h"

#include <errno.h>
#include <fcntl.h>
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
	/* Judges a new `asks`, which has versions, too; NULL: it stays. */
	int (*moved)(const char *was, size_t was_len, const char *now,
		     size_t now_len, struct err *err);
	json_t *(*read)(const char *text, size_t len, bool proven,
			struct err *err);
} kinds[] = {
	{ "package.json", "package-lock.json", pins_npm_moved, pins_npm },
	{ "requirements.in", "requirements.txt", NULL, pins_pip },
};

struct text {
	char *ptr; /* NULL: there is no such file */
	size_t len;
};

/* A kind that a blueprint has: its files, and those that acd has left. */
struct update {
	const struct kind *kind;
	struct text asks, lock, new_asks, new_lock;
	json_t *changes;
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

static void update_done(struct update *u)
{
	free(u->asks.ptr);
	free(u->lock.ptr);
	free(u->new_asks.ptr);
	free(u->new_lock.ptr);
	json_decref(u->changes);
	*u = (struct update){ 0 };
}

/* Reads a file of the user's blueprint, which may be a link. */
static int own_read(const char *dir, const char *name, struct text *ret,
		    struct err *err)
{
	SCOPED_STR path = str_printf("%s/%s", dir, name);
	int rc = path ? file_read(path, FILE_BYTES_MAX, &ret->ptr, &ret->len) :
			-ENOMEM;

	return rc < 0 && rc != -ENOENT ? err_set(err, rc, "read %s/%s: %s", dir,
						 name, err_text(rc)) :
					 0;
}

/* Reads a file that a stranger left, which may be anything. */
static int left_read(int dir, const char *name, struct text *ret,
		     struct err *err)
{
	int rc = file_read_at(dir, name, FILE_BYTES_MAX, &ret->ptr, &ret->len);

	return rc < 0 ? err_set(err, rc, "no new %s: %s", name, err_text(rc)) :
			0;
}

/* Replaces a file, unless it is so already. */
static int own_write(const char *dir, const char *name, const struct text *was,
		     const struct text *now, json_t *written, struct err *err)
{
	SCOPED_STR path = str_printf("%s/%s", dir, name);
	int rc;

	if (was->ptr && was->len == now->len &&
	    memcmp(was->ptr, now->ptr, now->len) == 0)
		return 0;
	rc = path ? file_write_atomic(path, now->ptr, now->len, 0644) : -ENOMEM;
	if (rc == 0)
		rc = json_array_append_new(written, jsonx_text(name)) < 0 ?
			     -ENOMEM :
			     0;
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

		cli_clean(shown[0], sizeof(shown[0]),
			  jsonx_text_at(c, "package"));
		cli_clean(shown[1], sizeof(shown[1]), *from ? from : "none");
		cli_clean(shown[2], sizeof(shown[2]), *to ? to : "none");
		if (json_is_true(json_object_get(c, "digest")))
			printf("%s  %s  %s has another digest than before\n",
			       name, shown[0], shown[2]);
		else
			printf("%s  %s  %s -> %s\n", name, shown[0], shown[1],
			       shown[2]);
	}
	if (n > SHOWN_MAX)
		printf("%s  and %zu more, see %s\n", name, n - SHOWN_MAX, dir);
}

/* Reads and judges one kind, if the blueprint has it; kind stays NULL if not. */
static int judge(const struct kind *kind, const char *dir, int left,
		 struct update *u, struct err *err)
{
	SCOPED_JSON now = NULL;
	SCOPED_JSON was = NULL;
	int rc = own_read(dir, kind->asks, &u->asks, err);

	if (rc < 0 || !u->asks.ptr)
		return rc;
	rc = own_read(dir, kind->lock, &u->lock, err);
	if (rc == 0)
		rc = left_read(left, kind->lock, &u->new_lock, err);
	if (rc == 0 && kind->moved)
		rc = left_read(left, kind->asks, &u->new_asks, err);
	if (rc == 0 && kind->moved)
		rc = kind->moved(u->asks.ptr, u->asks.len, u->new_asks.ptr,
				 u->new_asks.len, err);
	if (rc < 0)
		return rc;
	now = kind->read(u->new_lock.ptr, u->new_lock.len, true, err);
	was = !now        ? NULL :
	      u->lock.ptr ? kind->read(u->lock.ptr, u->lock.len, false, err) :
			    json_object();
	u->changes = was ? pins_compare(was, now, err) : NULL;
	if (!u->changes)
		return err->code < 0 ? err->code : err_nomem(err);
	u->kind = kind;
	return 0;
}

static int put(const struct update *u, const char *dir, json_t *changes,
	       json_t *written, struct err *err)
{
	int rc;

	if (!u->kind)
		return 0;
	if (json_array_extend(changes, u->changes) < 0)
		return err_nomem(err);
	rc = own_write(dir, u->kind->lock, &u->lock, &u->new_lock, written,
		       err);
	if (rc == 0 && u->new_asks.ptr)
		rc = own_write(dir, u->kind->asks, &u->asks, &u->new_asks,
			       written, err);
	return rc;
}

/* Returns how many of @changes are of versions. */
static size_t moves(const json_t *changes)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(changes); i++)
		if (!json_is_true(json_object_get(json_array_get(changes, i),
						  "digest")))
			n++;
	return n;
}

static int tell(const struct cli *cli, const char *name, const char *dir,
		json_t *changes, json_t *written, struct err *err)
{
	if (cli->json) {
		SCOPED_JSON all = json_pack("{s:o, s:o, s:O, s:O}", "blueprint",
					    jsonx_text(name), "folder",
					    jsonx_text(dir), "changes", changes,
					    "written", written);

		return all ? cli_print_json(all, false, err) : err_nomem(err);
	}
	print_changes(name, dir, changes);
	say_info(cli,
		 moves(changes) > 0 ?
			 "%s has newer versions: `ac build %s` installs them" :
		 json_array_size(written) > 0 ?
			 "%s has the newest versions; its lock is "
			 "another: `ac build %s` installs by it" :
			 "%s has the newest versions",
		 name, name);
	return 0;
}

int update_take(const struct cli *cli, const char *name, const char *from,
		const char *dir, struct err *err)
{
	struct update updates[ARRAY_SIZE(kinds)] = { 0 };
	SCOPED_FD left =
		open(from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	SCOPED_JSON changes = json_array();
	SCOPED_JSON written = json_array();
	int rc = left < 0             ? err_sys(err, "open %s", from) :
		 !changes || !written ? err_nomem(err) :
					0;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(kinds); i++)
		rc = judge(&kinds[i], dir, left, &updates[i], err);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(kinds); i++)
		rc = put(&updates[i], dir, changes, written, err);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		update_done(&updates[i]);
	return rc == 0 ? tell(cli, name, dir, changes, written, err) : rc;
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
	return rc == 0 ? update_take(cli, name, from, dir, err) : rc;
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
