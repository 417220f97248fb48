/* SPDX-License-Identifier: Apache-2.0 */
/*
 * images.c - `ac images`: the images of ac-host's engine
 *
 * The user agrees to images by their ids, so what is built meanwhile under the
 * same name stays.
 */
#include "control/cli/cmd/images.h"

#include <string.h>
#include <time.h>

#include "control/cli/core/table.h"
#include "control/cli/host/host.h"
#include "control/cli/wire/client.h"
#include "control/shared/json.h"
#include "lib/str.h"

#define ID_MIN 12u /* digits */
#define PREFIX "ac/"

static int get_list(struct client *c, json_t **ret, struct err *err)
{
	return client_call(c, "GET", "/v1/images", NULL, ret, err);
}

/* ---- which ones ---- */

static const char *short_name(const char *tag)
{
	return str_starts(tag, PREFIX) ? tag + strlen(PREFIX) : tag;
}

/* Returns true if @word, without ac/, is the name of @tag, or all of it. */
static bool is_name(const char *tag, const char *word)
{
	const char *name = short_name(tag);
	const char *colon = strrchr(name, ':');
	size_t len = colon ? (size_t)(colon - name) : strlen(name);

	word = short_name(word);
	return strcmp(name, word) == 0 ||
	       (strlen(word) == len && memcmp(name, word, len) == 0);
}

static bool has_name(const json_t *i, const char *word)
{
	const json_t *tag;
	size_t n;

	json_array_foreach (json_object_get(i, "tags"), n, tag) {
		const char *text = json_string_value(tag);

		if (text && is_name(text, word))
			return true;
	}
	return false;
}

static bool is_id(const char *word)
{
	size_t n = strlen(word);

	return n >= ID_MIN && n <= 64 &&
	       !word[strspn(word, "0123456789abcdef")];
}

static int add_once(json_t *ret, json_t *i)
{
	const json_t *other;
	size_t n;

	json_array_foreach (ret, n, other) {
		if (other == i)
			return 0;
	}
	return json_array_append(ret, i) < 0 ? -ENOMEM : 0;
}

int images_pick(const json_t *list, const char *word, json_t *ret,
		struct err *err)
{
	const char *id = str_starts(word, "sha256:") ? word + 7 : word;
	json_t *i, *only = NULL;
	size_t n, found = 0, begun = 0;
	int rc = 0;

	json_array_foreach (list, n, i) {
		if (has_name(i, word)) {
			found++;
			rc = add_once(ret, i);
		} else if (is_id(id) && str_starts(json_text(i, "id"), id)) {
			only = i;
			begun++;
		}
		if (rc < 0)
			return err_nomem(err);
	}
	if (found == 0 && begun > 1)
		return err_set(
			err, -EINVAL,
			"'%s' begins the ids of %zu images: give more of "
			"it",
			word, begun);
	if (found == 0 && begun == 0)
		return err_set(err, -ENOENT,
			       "there is no image '%s'; `ac images` lists them",
			       word);
	if (found == 0 && add_once(ret, only) < 0)
		return err_nomem(err);
	return 0;
}

char *images_label(char *out, size_t size, const json_t *i)
{
	const json_t *tags = json_object_get(i, "tags");
	const char *tag = json_string_value(json_array_get(tags, 0));

	if (tag)
		snprintf(out, size, "%s", short_name(tag));
	else
		snprintf(out, size, "%.12s", json_text(i, "id"));
	return out;
}

/* ---- the table ---- */

/* Returns the texts of @list with @between them, which the caller frees; @def if
 * there are none. NULL without memory. */
static char *join(const json_t *list, const char *between, const char *def)
{
	char *out = strdup(json_array_size(list) ? "" : def);
	const json_t *item;
	size_t n;

	json_array_foreach (list, n, item) {
		char *longer = out ? str_printf("%s%s%s", out, n ? between : "",
						json_string_value(item)) :
				     NULL;

		free(out);
		out = longer;
	}
	return out;
}

/* Returns the tags of @i that have its first name, without that. */
static json_t *tags_of(const json_t *i, char *name, size_t size)
{
	const json_t *tags = json_object_get(i, "tags");
	json_t *out = json_array();
	const json_t *tag;
	size_t n;

	snprintf(name, size, "<none>");
	json_array_foreach (tags, n, tag) {
		const char *text = short_name(json_string_value(tag));
		const char *colon = strrchr(text, ':');

		if (n == 0 && colon)
			snprintf(name, size, "%.*s", (int)(colon - text), text);
		json_array_append_new(out,
				      json_string(is_name(text, name) && colon ?
							  colon + 1 :
							  text));
	}
	if (json_array_size(out) == 0)
		json_array_append_new(out, json_sprintf("%.12s",
							json_text(i, "id")));
	return out;
}

static void format_age(char *out, size_t size, const json_t *i)
{
	long long age = (long long)time(NULL) - json_count(i, "created_at");

	str_format_age(out, size, age > 0 ? (uint64_t)age : 0);
}

static int add_image(struct table *t, const json_t *i)
{
	bool used = json_is_true(json_object_get(i, "used"));
	const json_t *users = json_object_get(i, "instances");
	const char *rest = json_is_true(json_object_get(i, "running")) ?
				   "(runs)" :
			   used ? "-" :
				  "nothing";
	char name[128], size[32], own[32], shared[32], age[32];
	SCOPED_JSON tags = tags_of(i, name, sizeof(name));
	SCOPED_STR tag = join(tags, ", ", "");
	SCOPED_STR bps = join(json_object_get(i, "blueprints"), ", ", "-");
	SCOPED_STR by = join(users, ", ", rest);
	const char *cells[] = { name, bps, tag, size, own, shared, age, by };

	if (!tags || !tag || !bps || !by)
		return -ENOMEM;
	str_format_size(size, sizeof(size), (uint64_t)json_count(i, "bytes"));
	str_format_size(own, sizeof(own), (uint64_t)json_count(i, "own_bytes"));
	str_format_size(shared, sizeof(shared),
			(uint64_t)json_count(i, "shared_bytes"));
	format_age(age, sizeof(age), i);
	if (table_row(t, cells) < 0)
		return -ENOMEM;
	table_paint(t, 7, used ? TABLE_PLAIN : TABLE_YELLOW);
	return 0;
}

static int print_images(const struct cli *cli, const json_t *images,
			struct err *err)
{
	static const struct table_col cols[] = {
		{ "NAME", 0 },          { "BLUEPRINT", 0 },
		{ "TAG", 0 },           { "SIZE", TABLE_RIGHT },
		{ "OWN", TABLE_RIGHT }, { "SHARED", TABLE_RIGHT },
		{ "AGE", TABLE_RIGHT }, { "USED BY", TABLE_CUT },
	};
	char label[160];
	size_t i;

	if (!cli->quiet)
		return table_print_list(cli, cols, ARRAY_SIZE(cols), images,
					add_image, err);
	for (i = 0; i < json_array_size(images); i++)
		puts(images_label(label, sizeof(label),
				  json_array_get(images, i)));
	return 0;
}

/* Formats what a prune frees. */
static char *format_freed(char *out, size_t size, const json_t *list)
{
	return str_format_size(out, size,
			       (uint64_t)(json_count(list, "unused_bytes") +
					  json_count(list, "cache_bytes")));
}

int cmd_images_ls(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON list = NULL;
	const json_t *images;
	char freed[32];
	int rc = host_client(cli, false, &c, err);

	(void)a;
	if (rc == 0)
		rc = get_list(c, &list, err);
	if (rc < 0)
		return rc;
	images = json_object_get(list, "images");
	if (cli->json)
		return cli_print_json(images, false, err);
	if (json_array_size(images) == 0)
		say_info(cli, "there are no images: `ac build BLUEPRINT`, or "
			      "its first run, makes one");
	rc = print_images(cli, images, err);
	if (rc == 0 && json_count(list, "unused_bytes") > 0)
		say_info(cli, "`ac images prune` frees %s",
			 format_freed(freed, sizeof(freed), list));
	return rc;
}

/* ---- removal ---- */

/* Returns the labels of @images for a question, which the caller frees. */
static char *labels_of(const json_t *images)
{
	SCOPED_JSON names = json_array();
	char label[160];
	size_t n;

	for (n = 0; n < json_array_size(images); n++)
		json_array_append_new(
			names,
			json_string(images_label(label, sizeof(label),
						 json_array_get(images, n))));
	return join(names, ", ", "none");
}

static int ask_rm(const struct cli *cli, const struct args *a,
		  const json_t *images)
{
	SCOPED_STR labels = labels_of(images);
	SCOPED_JSON users = json_array();
	SCOPED_STR who = NULL;
	const json_t *i;
	size_t n;

	if (args_has(a, ARG_YES))
		return 0;
	json_array_foreach (images, n, i) {
		json_array_extend(users, json_object_get(i, "instances"));
	}
	who = join(users, ", ", "");
	if (!labels || !who)
		return -ENOMEM;
	return cli_confirm(cli, false,
			   "%zu image%s (%.4000s) will be removed%s%.2000s%s.",
			   json_array_size(images),
			   json_array_size(images) == 1 ? "" : "s", labels,
			   *who ? "; the next run of " : "", who,
			   *who ? " builds again" : "");
}

static int remove_one(const struct cli *cli, struct client *c, json_t *i,
		      json_t *gone, struct err *err)
{
	SCOPED_STR path = client_path("/v1/images/", json_text(i, "id"), "");
	char label[160];
	int rc = path ? client_call(c, "DELETE", path, NULL, NULL, err) :
			err_nomem(err);

	images_label(label, sizeof(label), i);
	if (rc < 0)
		return err_wrap(err, "image %s", label);
	say_info(cli, "image %s removed", label);
	return json_array_append(gone, i) < 0 ? err_nomem(err) : 0;
}

int cmd_images_rm(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON list = NULL;
	SCOPED_JSON picked = json_array();
	SCOPED_JSON gone = json_array();
	size_t n;
	int rc = host_client(cli, true, &c, err);

	if (rc == 0)
		rc = get_list(c, &list, err);
	for (n = 0; rc == 0 && n < a->n_words; n++)
		rc = images_pick(json_object_get(list, "images"), a->words[n],
				 picked, err);
	if (rc == 0)
		rc = ask_rm(cli, a, picked);
	if (rc == -ENOMEM)
		return err_nomem(err);
	if (rc != 0)
		return rc;
	/* A failure does not stop the others. */
	for (n = 0; n < json_array_size(picked); n++) {
		struct err why = { 0 };
		int one = remove_one(cli, c, json_array_get(picked, n), gone,
				     &why);

		cli_note(one, &why, &rc, err);
	}
	if (cli->json) {
		int one = cli_print_json(gone, false, rc < 0 ? NULL : err);

		rc = rc < 0 ? rc : one;
	}
	return rc;
}

/* Returns the images of @list that nothing uses; a new reference. */
static json_t *unused_of(const json_t *list)
{
	json_t *out = json_array();
	json_t *i;
	size_t n;

	json_array_foreach (json_object_get(list, "images"), n, i) {
		if (!json_is_true(json_object_get(i, "used")))
			json_array_append(out, i);
	}
	return out;
}

static json_t *ids_of(const json_t *images)
{
	json_t *ids = json_array();
	const json_t *i;
	size_t n;

	json_array_foreach (images, n, i) {
		json_array_append(ids, json_object_get(i, "id"));
	}
	return json_pack("{s:o}", "ids", ids);
}

/* Asks about what goes. Returns like cli_confirm(), or -ENOMEM. */
static int ask_prune(const struct cli *cli, const struct args *a,
		     const json_t *list, const json_t *unused)
{
	size_t n = json_array_size(unused);
	SCOPED_STR labels = labels_of(unused);
	char freed[32];

	if (!labels)
		return -ENOMEM;
	format_freed(freed, sizeof(freed), list);
	return cli_confirm(cli, args_has(a, ARG_YES),
			   "%zu image%s that nothing uses (%.4000s) and build "
			   "steps that no image has will be removed: about %s.",
			   n, n == 1 ? "" : "s", labels, freed);
}

static int tell_prune(const struct cli *cli, const json_t *answer,
		      struct err *err)
{
	size_t n = json_array_size(json_object_get(answer, "images"));
	char freed[32];

	if (cli->json)
		return cli_print_json(answer, false, err);
	str_format_size(freed, sizeof(freed),
			(uint64_t)json_count(answer, "freed_bytes"));
	say_info(cli, "%zu image%s removed, about %s freed", n,
		 n == 1 ? "" : "s", freed);
	return 0;
}

int cmd_images_prune(const struct cli *cli, const struct args *a,
		     struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON list = NULL;
	SCOPED_JSON unused = NULL;
	SCOPED_JSON body = NULL;
	SCOPED_JSON answer = NULL;
	int rc = host_client(cli, true, &c, err);

	if (rc == 0)
		rc = get_list(c, &list, err);
	if (rc < 0)
		return rc;
	unused = unused_of(list);
	if (args_has(a, ARG_DRY_RUN))
		return cli->json ? cli_print_json(unused, false, err) :
				   print_images(cli, unused, err);
	if (json_array_size(unused) == 0 &&
	    json_count(list, "cache_bytes") == 0) {
		say_info(cli, "all images are used: nothing to remove");
		answer = json_pack("{s:[], s:i}", "images", "freed_bytes", 0);
		return cli->json ? cli_print_json(answer, false, err) : 0;
	}
	rc = ask_prune(cli, a, list, unused);
	if (rc == -ENOMEM || !(body = ids_of(unused)))
		return err_nomem(err);
	if (rc != 0)
		return rc;
	rc = client_call(c, "POST", "/v1/images/prune", body, &answer, err);
	return rc < 0 ? rc : tell_prune(cli, answer, err);
}

/* ---- what is in one ---- */

/* Returns the one of @picked that a run takes, or the first. */
static const json_t *latest_of(const json_t *picked)
{
	const json_t *i, *tag;
	size_t n, t;

	json_array_foreach (picked, n, i) {
		json_array_foreach (json_object_get(i, "tags"), t, tag) {
			const char *text = json_string_value(tag);

			if (text && str_ends(text, ":latest"))
				return i;
		}
	}
	return json_array_get(picked, 0);
}

int cmd_images_sbom(const struct cli *cli, const struct args *a,
		    struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON list = NULL;
	SCOPED_JSON picked = json_array();
	SCOPED_JSON document = NULL;
	SCOPED_STR path = NULL;
	int rc = host_client(cli, true, &c, err);

	if (rc == 0)
		rc = get_list(c, &list, err);
	if (rc == 0)
		rc = images_pick(json_object_get(list, "images"), a->words[0],
				 picked, err);
	if (rc < 0)
		return rc;
	path = client_path("/v1/images/", json_text(latest_of(picked), "id"),
			   "/sbom");
	if (!path)
		return err_nomem(err);
	rc = client_call(c, "GET", path, NULL, &document, err);
	return rc < 0 ? rc : cli_print_json(document, !cli->json, err);
}
