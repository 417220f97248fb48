/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rm.c - vault rm
 *
 * Removes all named credentials or none: names are checked before the first is
 * removed. The question names the instances that use them.
 */
#include "control/cli/cmd/vault/vault.h"

#include <string.h>

#include "control/cli/host/host.h"
#include "control/shared/json.h"
#include "lib/buf.h"
#include "lib/str.h"

#define TEXT_MAX 4096u
#define SHOWN_MAX 8u /* instances named */

const json_t *vault_listed(const json_t *all, const char *name)
{
	const json_t *list = json_object_get(all, "entries");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *e = json_array_get(list, i);

		if (strcmp(json_text(e, "name"), name) == 0)
			return e;
	}
	return NULL;
}

/* Appends @name to @out. */
static int put_name(struct buf *out, const char *name)
{
	return buf_printf(out, "%s%s", buf_len(out) ? ", " : "", name);
}

static char *text_of(struct buf *out)
{
	char *text = NULL;

	if (slice_dup_str(buf_slice(out), &text) < 0)
		text = NULL;
	buf_done(out);
	return text;
}

/* Returns the instances that use it as "one, two", "" for none; the caller
 * frees it. NULL without memory. */
static char *vault_users(const json_t *entry)
{
	const json_t *list = json_object_get(entry, "used_by");
	size_t n = json_array_size(list);
	struct buf out;
	int rc = 0;

	buf_init(&out, TEXT_MAX);
	for (size_t i = 0; rc >= 0 && i < n && i < SHOWN_MAX; i++)
		rc = put_name(&out, json_string_value(json_array_get(list, i)));
	if (rc >= 0 && n > SHOWN_MAX)
		buf_printf(&out, " and %zu more", n - SHOWN_MAX);
	return text_of(&out);
}

/* Fails with -ENOENT if a word of @a is no entry's name, and names those. */
static int vault_check_listed(const json_t *all, const struct args *a,
			      struct err *err)
{
	SCOPED_STR text = NULL;
	struct buf none;
	size_t n = 0;

	buf_init(&none, TEXT_MAX);
	for (size_t i = 0; i < a->n_words; i++) {
		if (vault_listed(all, a->words[i]))
			continue;
		buf_printf(&none, "%s'%s'", n++ ? ", " : "", a->words[i]);
	}
	text = text_of(&none);
	if (n == 0)
		return 0;
	return err_set(err, -ENOENT,
		       "there is no credential %s: nothing was removed; `ac "
		       "vault ls` shows them",
		       text ? text : "of that name");
}

/* Returns the question, which names the instances that use them; the caller
 * frees it. */
static char *question(const json_t *all, const struct args *a)
{
	struct buf names, users;
	SCOPED_STR text = NULL;
	SCOPED_STR more = NULL;

	buf_init(&names, TEXT_MAX);
	buf_init(&users, TEXT_MAX);
	for (size_t i = 0; i < a->n_words; i++) {
		SCOPED_STR by = vault_users(vault_listed(all, a->words[i]));

		put_name(&names, a->words[i]);
		if (by && *by)
			buf_printf(&users, " %s is used by %s.", a->words[i],
				   by);
	}
	text = text_of(&names);
	more = text_of(&users);
	return text && more ?
		       str_printf("%s will be forgotten.%s", text, more) :
		       NULL;
}

static int remove_one(const struct cli *cli, struct client *c,
		      const json_t *entry, const char *name, struct err *err)
{
	SCOPED_STR path = client_path("/v1/vault/", name, "");
	SCOPED_STR by = vault_users(entry);
	int rc;

	if (!path || !by)
		return err_nomem(err);
	rc = client_call(c, "DELETE", path, NULL, NULL, err);
	if (rc < 0 || cli->json)
		return rc;
	say_info(cli, "%s: forgotten here; revoke it where it was made", name);
	if (*by)
		say_info(cli,
			 "%s: it was used by %s, whose next run is refused "
			 "until it is added again or `--credential none` is "
			 "said",
			 name, by);
	return 0;
}

/* Prints {"removed": [{"name": …, "used_by": […]}]}: what was removed, even if
 * a later one failed. */
static int print_removed(const json_t *gone, struct err *err)
{
	SCOPED_JSON j = json_pack("{s:O}", "removed", gone);

	return j ? cli_print_json(j, false, err) : err_nomem(err);
}

/* Returns true if word @i is a repeated one. */
static bool is_again(const struct args *a, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(a->words[k], a->words[i]) == 0)
			return true;
	return false;
}

static int remove_all(const struct cli *cli, struct client *c,
		      const json_t *all, const struct args *a, struct err *err)
{
	SCOPED_JSON gone = json_array();
	struct err ignored = { 0 };
	size_t i;
	int rc = gone ? 0 : err_nomem(err);

	for (i = 0; rc == 0 && i < a->n_words; i++) {
		const json_t *e = vault_listed(all, a->words[i]);

		if (is_again(a, i))
			continue;
		rc = remove_one(cli, c, e, a->words[i], err);
		if (rc == 0 &&
		    json_array_append_new(
			    gone, json_pack("{s:s, s:O?}", "name", a->words[i],
					    "used_by",
					    json_object_get(e, "used_by"))))
			rc = err_nomem(err);
	}
	if (rc < 0 && i > 1)
		err_wrap(err, "%s (those before it are gone)", a->words[i - 1]);
	if (cli->json)
		print_removed(gone, rc == 0 ? err : &ignored);
	return rc;
}

int cmd_vault_rm(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON all = NULL;
	SCOPED_STR text = NULL;
	int rc = host_client(cli, true, &c, err);

	if (rc == 0)
		rc = client_call(c, "GET", "/v1/vault", NULL, &all, err);
	if (rc == 0)
		rc = vault_check_listed(all, a, err);
	if (rc < 0)
		return rc;
	text = question(all, a);
	if (!text)
		return err_nomem(err);
	rc = cli_confirm(cli, args_has(a, ARG_YES), "%s", text);
	return rc == 0 ? remove_all(cli, c, all, a, err) : rc;
}
