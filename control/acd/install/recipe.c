/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe.c - the Dockerfile of an image that a blueprint describes
 *
 * One step for each kind of packages, in the order of what changes least; then
 * the files, then the scripts, which may use both. A script is a word of JSON, so
 * no character of it means anything to the Dockerfile. The words of packages have
 * alphabets without quotes (image_keys.c).
 */
#include "control/acd/install/recipe.h"

#include <jansson.h>
#include <string.h>

#include "control/shared/json.h"
#include "lib/file.h"

#define TEXT_MAX (1u * 1024 * 1024)

static int put_packages(struct buf *out, const char *what, const char *before,
			const struct strv *packages, const char *after)
{
	int rc;

	if (packages->n == 0)
		return 0;
	rc = buf_printf(out, "RUN : \"install %s\" && %s", what, before);
	for (size_t i = 0; rc == 0 && i < packages->n; i++)
		rc = buf_printf(out, " '%s'", packages->v[i]);
	return rc == 0 ? buf_printf(out, " && %s\n", after) : rc;
}

/* Appends INSTRUCTION ["word", ...]. */
static int put_json(struct buf *out, const char *instruction, json_t *words)
{
	SCOPED_JSON v = words;
	SCOPED_STR text = v ? json_dumps(v, JSON_ENSURE_ASCII) : NULL;

	return text ? buf_printf(out, "%s %s\n", instruction, text) : -ENOMEM;
}

static int put_file(struct buf *out, const char *file)
{
	const char *to = strchr(file, '\n');
	SCOPED_STR from = strndup(file, (size_t)(to - file));

	return from ? put_json(out, "COPY",
			       json_pack("[o, o]", jsonx_text(from),
					 jsonx_text(to + 1))) :
		      -ENOMEM;
}

int recipe_text(const struct blueprint_build *b, struct buf *out)
{
	int rc = buf_printf(out,
			    "# Written by acd from the blueprint.\n"
			    "FROM ac/%s\nUSER 0:0\nWORKDIR /\n",
			    b->from);

	if (rc == 0)
		rc = put_packages(
			out, "packages of Debian",
			"apt-get update -q && DEBIAN_FRONTEND=noninteractive "
			"apt-get install -qy --no-install-recommends",
			&b->apt,
			"rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin");
	if (rc == 0)
		rc = put_packages(out, "packages of npm",
				  "npm install -g --no-audit --no-fund "
				  "--cache /tmp/npm",
				  &b->npm, "rm -rf /tmp/npm");
	if (rc == 0)
		rc = put_packages(out, "packages of Python",
				  "pip install --no-cache-dir "
				  "--root-user-action=ignore",
				  &b->pip, ":");
	for (size_t i = 0; rc == 0 && i < b->files.n; i++)
		rc = put_file(out, b->files.v[i]);
	for (size_t i = 0; rc == 0 && i < b->run.n; i++)
		rc = put_json(out, "RUN",
			      json_pack("[s, s, o]", "/bin/sh", "-ec",
					jsonx_text(b->run.v[i])));
	return rc;
}

/* Writes or removes one recipe. Sets *ret_from to the image that it begins with,
 * NULL: none of a recipe. */
static int one_write(const char *dir, const char *image, char **ret_from,
		     struct err *err)
{
	SCOPED_STR folder = str_printf("%s/%s", dir, image);
	SCOPED_STR path = str_printf("%s/%s/Dockerfile", dir, image);
	SCOPED_STR old = NULL;
	struct blueprint bp = { 0 };
	struct buf out;
	struct slice text;
	int rc = folder && path ? blueprint_load(image, &bp, err) :
				  err_nomem(err);

	if (rc < 0 && rc != -ENOENT)
		return rc;
	if (rc < 0 || !bp.build.from || strcmp(bp.image, image) != 0) {
		blueprint_done(&bp);
		rc = file_remove_tree(folder);
		return rc < 0 ? err_set(err, rc, "remove %s: %s", folder,
					err_text(rc)) :
				0;
	}
	buf_init(&out, TEXT_MAX);
	rc = recipe_text(&bp.build, &out);
	text = buf_slice(&out);
	if (rc == 0)
		rc = file_mkdir_p(folder, 0755);
	if (rc == 0 && (file_read(path, TEXT_MAX, &old, NULL) < 0 ||
			!slice_eq(slice_str(old), text)))
		rc = file_write_atomic(path, text.ptr, text.len, 0644);
	buf_done(&out);
	if (rc == 0)
		*ret_from = ptr_take(&bp.build.from);
	blueprint_done(&bp);
	return rc < 0 ? err_set(err, rc, "write %s: %s", path, err_text(rc)) :
			0;
}

int recipe_write(const char *dir, const char *image, struct err *err)
{
	SCOPED_STR name = strdup(image);
	int rc = name ? 0 : err_nomem(err);

	for (unsigned i = 0; rc == 0 && name; i++) {
		char *from = NULL;

		if (i == RECIPE_PARENTS_MAX)
			return err_set(err, -ELOOP,
				       "image '%s' is made from more than %u "
				       "others, or from itself",
				       image, RECIPE_PARENTS_MAX);
		rc = one_write(dir, name, &from, err);
		free(name);
		name = from;
	}
	return rc;
}
