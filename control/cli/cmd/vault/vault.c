/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault.c - vault add, ls, rotate, test
 */
#include "control/cli/cmd/vault/vault.h"

#include <string.h>
#include <time.h>

#include "control/cli/host/host.h"
#include "control/cli/core/table.h"
#include "control/cli/core/vault_kind.h"
#include "control/shared/json.h"
#include "lib/buf.h"
#include "lib/str.h"

#define DAY 86400u
#define SOON (7 * DAY) /* warned of before it expires */
#define OLD (90 * DAY) /* age of a value to warn of */
#define SHOWN_MAX 4u /* entries of a list; --json has all */
#define EXPIRES_MAX_MS (UINT64_C(100) * 366 * DAY * 1000)

int vault_expires(const char *text, uint64_t now, uint64_t *ret,
		  struct err *err)
{
	struct tm tm = { .tm_isdst = -1 };
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	int day = tm.tm_mday;
	uint64_t ms;
	time_t at;

	if (strcmp(text, "never") == 0) {
		*ret = 0;
		return 0;
	}
	if (end && *end == '\0' && strlen(text) == 10) {
		tm.tm_hour = 23;
		tm.tm_min = tm.tm_sec = 59;
		tm.tm_isdst = -1;
		at = mktime(&tm);
		if (tm.tm_mday != day) /* such as the 31st of February */
			return err_set(err, -EINVAL, "there is no day %s",
				       text);
		if (at > 0 && (uint64_t)at > now) {
			*ret = (uint64_t)at;
			return 0;
		}
		return err_set(err, -EINVAL, "--expires %s is in the past",
			       text);
	}
	if (str_parse_duration(text, &ms) < 0 || ms < 1000 ||
	    ms > EXPIRES_MAX_MS)
		return err_set(err, -EINVAL,
			       "--expires '%s' is no time (90d), date "
			       "(2031-12-24) or never",
			       text);
	*ret = now + ms / 1000;
	return 0;
}

/* ---- bodies ---- */

static int put_text(json_t *body, const char *key, const char *value)
{
	return value ? json_object_set_new(body, key, jsonx_text(value)) : 0;
}

static int put_list(json_t *body, const char *key, const struct strv *l)
{
	return l->n ? json_object_set_new(body, key, jsonx_from_strv(l)) : 0;
}

static int put_expires(json_t *body, const struct args *a, struct err *err)
{
	uint64_t at = 0;
	int rc;

	if (!a->vault.expires)
		return 0;
	rc = vault_expires(a->vault.expires, (uint64_t)time(NULL), &at, err);
	if (rc == 0 &&
	    json_object_set_new(body, "expires", json_integer((json_int_t)at)))
		rc = err_nomem(err);
	return rc;
}

static int put_value(json_t *body, const struct vault_input *in,
		     struct err *err)
{
	if (json_object_set_new(body, "value",
				vault_base64(in->value, in->len)) ||
	    put_text(body, "source", in->source ? in->source : ""))
		return err_nomem(err);
	return 0;
}

/* Sets how the credential is sent: at most one form. */
static int put_form(json_t *body, const struct args *a, struct err *err)
{
	const struct args_vault *v = &a->vault;
	bool basic = args_has(a, ARG_BASIC);
	int n = basic + (v->header != NULL) + (v->query != NULL);

	if (n > 1)
		return err_set(err, -EINVAL,
			       "--header, --basic and --query exclude each "
			       "other");
	/* acd checks this too, but only after the value was typed. */
	if (n > 0 && v->hosts.n == 0 &&
	    (!v->kind || strcmp(v->kind, "generic") == 0))
		return err_set(err, -EINVAL,
			       "--%s goes to no host by itself: --host names "
			       "it",
			       v->header ? "header" :
			       v->query  ? "query" :
					   "basic");
	if (put_text(body, "form",
		     v->header ? "header" :
		     v->query  ? "query" :
		     basic     ? "basic" :
				 NULL) ||
	    put_text(body, "field", v->header ? v->header : v->query))
		return err_nomem(err);
	return 0;
}

static int put_rest(json_t *body, const struct args *a, struct err *err)
{
	const struct args_vault *v = &a->vault;

	if (put_text(body, "name", a->words[0]) ||
	    put_text(body, "kind", v->kind) ||
	    put_text(body, "user", v->user) ||
	    put_text(body, "note", v->note) ||
	    put_text(body, "access_key", v->access_key) ||
	    put_text(body, "region", v->region) ||
	    put_text(body, "service", v->service) ||
	    put_list(body, "hosts", &v->hosts) ||
	    put_list(body, "methods", &v->methods) ||
	    put_list(body, "paths", &v->paths) ||
	    put_list(body, "blueprints", &v->blueprints) ||
	    put_list(body, "instances", &v->instances))
		return err_nomem(err);
	if (args_has(a, ARG_HANDOVER))
		json_object_set_new(body, "handover", json_true());
	if (args_has(a, ARG_INSECURE))
		json_object_set_new(body, "insecure", json_true());
	return put_form(body, a, err);
}

/* Refuses words that look like secrets. */
static int check_words(const struct args *a, struct err *err)
{
	const struct args_vault *v = &a->vault;
	const struct {
		const char *word, *what;
	} rows[] = {
		{ a->words[0], "NAME" },         { v->from_env, "--from-env" },
		{ v->user, "--user" },           { v->note, "--note" },
		{ v->header, "--header" },       { v->query, "--query" },
		{ v->from_file, "--from-file" },
	};
	const char *word = a->n_words > 1 ? a->words[1] : NULL;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(rows); i++)
		if (rows[i].word)
			rc = vault_refuse_token(rows[i].word, rows[i].what,
						err);
	if (rc == 0 && v->from_cmd)
		rc = vault_refuse_command(v->from_cmd, err);
	if (rc == 0 && word && strcmp(word, "-") != 0)
		rc = err_set(err, -EINVAL,
			     "a value is never given as a word: what stands "
			     "on a command line is in the shell's history and "
			     "in `ps`. Let ac ask for it, or pipe it in; and "
			     "revoke this one, if it was one");
	return rc;
}

/* ---- add ---- */

static int print_kept(const struct cli *cli, const json_t *e, const char *what,
		      struct err *err)
{
	const json_t *hosts = json_object_get(e, "hosts");

	say_warnings(e);
	if (cli->json)
		return cli_print_json(e, false, err);
	say_info(cli, "%s: %s, %s for %s%s", json_text(e, "name"), what,
		 json_text(e, "kind"),
		 json_string_value(json_array_get(hosts, 0)),
		 json_array_size(hosts) > 1 ? ", …" : "");
	return 0;
}

int vault_keep(const struct cli *cli, struct client *c, const char *name,
	       const char *kind, const struct vault_input *in, struct err *err)
{
	SCOPED_JSON body = json_object();
	SCOPED_JSON e = NULL;
	int rc;

	if (!body || put_text(body, "name", name) ||
	    put_text(body, "kind", kind))
		return err_nomem(err);
	rc = put_value(body, in, err);
	if (rc == 0)
		rc = client_call(c, "POST", "/v1/vault", body, &e, err);
	return rc == 0 ? print_kept(cli, e, "kept", err) : rc;
}

/* Fails if acd would refuse NAME or --kind for any value. */
static int check_first(const struct args *a, struct err *err)
{
	const char *name = a->words[0], *kind = a->vault.kind;
	size_t len = strlen(name);
	SCOPED_STR known = NULL;

	if (len > 63 || strcmp(name, "none") == 0 || strchr("._-", *name) ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") != len)
		return err_set(err, -EINVAL,
			       "'%.100s' is no name for a credential: it has 1 "
			       "to 63 of a-z 0-9 . _ -, begins with a letter "
			       "or a digit, and is not 'none'",
			       name);
	if (!kind || vault_kind_known(kind))
		return 0;
	known = vault_kinds_text();
	return known ? err_set(err, -EINVAL, "--kind is %s", known) :
		       err_nomem(err);
}

/* Returns true if only the value can tell the kind. */
static bool is_of_no_kind(const struct args *a)
{
	const struct args_vault *v = &a->vault;

	return !v->kind && !v->header && !v->query && !args_has(a, ARG_BASIC) &&
	       !vault_kind_known(a->words[0]);
}

/* Reads the value. Returns CLI_USAGE if acd would not know its kind. */
static int value_read(const struct cli *cli, const struct args *a,
		      struct vault_input *ret, struct err *err)
{
	int rc = vault_input_read(cli, a, a->n_words > 1, NULL, ret, err);

	if (rc != 0 || !is_of_no_kind(a) || vault_tells_kind(ret->value))
		return rc;
	err_set(err, -EINVAL,
		"what kind of token is this? --kind says it, or --header, "
		"--basic or --query how it is sent");
	return cli_usage(err);
}

/* Returns true if acd answers, or something is wrong with it. */
static bool host_is_up(const struct cli *cli)
{
	SCOPED_CLIENT c = NULL;
	struct err ignored = { 0 };

	return host_client(cli, false, &c, &ignored) != -ENOTCONN;
}

/* Fails if the vault is locked or has that name. */
static int check_free(struct client *c, const char *name, struct err *err)
{
	SCOPED_JSON all = NULL;
	const json_t *e;
	size_t i;
	int rc = client_call(c, "GET", "/v1/vault", NULL, &all, err);

	if (rc < 0)
		return rc;
	json_array_foreach (json_object_get(all, "entries"), i, e)
		if (strcmp(json_text(e, "name"), name) == 0)
			return err_set(err, -EEXIST,
				       "there is a credential '%s' already: "
				       "`ac vault rotate %s` gives it a new "
				       "value",
				       name, name);
	return 0;
}

int cmd_vault_add(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_INPUT in = { 0 };
	SCOPED_JSON body = NULL;
	SCOPED_JSON e = NULL;
	int rc = check_words(a, err);

	if (rc == 0)
		rc = check_first(a, err);
	if (rc == 0)
		rc = vault_input_guard(err);
	if (rc < 0)
		return cli_usage(err);
	body = json_object();
	rc = put_rest(body, a, err);
	if (rc == 0)
		rc = put_expires(body, a, err);
	if (rc < 0)
		return cli_usage(err);
	/* What will be refused is no reason to start a host. */
	if (is_of_no_kind(a) && !host_is_up(cli))
		rc = value_read(cli, a, &in, err);
	/* Else checked before the value, so that it is not typed in vain. */
	if (rc == 0)
		rc = host_client(cli, true, &c, err);
	if (rc == 0)
		rc = check_free(c, a->words[0], err);
	if (rc == 0 && !in.value)
		rc = value_read(cli, a, &in, err);
	if (rc == 0 && args_has(a, ARG_ALLOW_CLASSIC))
		json_object_set_new(body, "allow_classic", json_true());
	if (rc == 0)
		rc = put_value(body, &in, err);
	if (rc == 0)
		rc = client_call(c, "POST", "/v1/vault", body, &e, err);
	return rc == 0 ? print_kept(cli, e, "kept", err) : rc;
}

/* ---- ls ---- */

/* Returns both lists separated by commas, @none if they are empty; the caller
 * frees it. */
static char *joined(const json_t *list, const json_t *more, const char *none)
{
	const json_t *const lists[] = { list, more };
	char *text = NULL;
	struct buf out;
	int rc = 0;

	buf_init(&out, 65536);
	for (size_t l = 0; l < ARRAY_SIZE(lists); l++) {
		size_t n = json_array_size(lists[l]);

		for (size_t i = 0; rc >= 0 && i < n && i < SHOWN_MAX; i++)
			rc = buf_printf(
				&out, "%s%s", buf_len(&out) ? ", " : "",
				json_string_value(json_array_get(lists[l], i)));
		if (rc >= 0 && n > SHOWN_MAX)
			rc = buf_printf(&out, " and %zu more", n - SHOWN_MAX);
	}
	if (rc >= 0 && buf_len(&out) == 0)
		rc = buf_printf(&out, "%s", none);
	if (rc < 0 || slice_dup_str(buf_slice(&out), &text) < 0)
		text = NULL;
	buf_done(&out);
	return text;
}

static enum table_colour expires_text(uint64_t at, uint64_t now, char *out,
				      size_t size)
{
	char age[24];

	if (at == 0) {
		snprintf(out, size, "never");
		return TABLE_PLAIN;
	}
	if (at <= now) {
		snprintf(out, size, "expired");
		return TABLE_RED;
	}
	snprintf(out, size, "in %s",
		 str_format_age(age, sizeof(age), at - now));
	return at - now < SOON ? TABLE_YELLOW : TABLE_PLAIN;
}

/* A login has no end, unless its access token's is not put off any more. */
static enum table_colour login_text(const json_t *login, char *out, size_t size,
				    enum table_colour colour)
{
	const char *state = json_text(login, "state");

	if (strcmp(state, "over") == 0) {
		snprintf(out, size, "over");
		return TABLE_RED;
	}
	if (strcmp(state, "failing") == 0) {
		snprintf(out, size, "not refreshed");
		return TABLE_YELLOW;
	}
	return colour;
}

/* Says what is to be done about logins. */
static void say_logins(const struct cli *cli, const json_t *list)
{
	const json_t *e;
	size_t i;

	json_array_foreach (list, i, e) {
		const char *text =
			json_text(json_object_get(e, "login"), "text");

		if (*text)
			say_info(cli, "%s", text);
	}
}

static int add_row(struct table *t, const json_t *e)
{
	SCOPED_STR hosts = joined(json_object_get(e, "hosts"), NULL, "");
	SCOPED_STR scope = joined(json_object_get(e, "blueprints"),
				  json_object_get(e, "instances"), "all");
	uint64_t now = (uint64_t)time(NULL);
	uint64_t since = (uint64_t)json_count(e, "rotated");
	uint64_t age = since < now ? now - since : 0;
	char age_text[24], expires[40];
	const char *cells[] = { json_text(e, "name"),
				json_text(e, "kind"),
				hosts,
				scope,
				str_format_age(age_text, sizeof(age_text), age),
				expires };
	enum table_colour colour =
		expires_text((uint64_t)json_count(e, "expires"), now, expires,
			     sizeof(expires));

	colour = login_text(json_object_get(e, "login"), expires,
			    sizeof(expires), colour);
	if (!hosts || !scope || table_row(t, cells) < 0)
		return -ENOMEM;
	table_paint(t, 4, age > OLD ? TABLE_YELLOW : TABLE_PLAIN);
	table_paint(t, 5, colour);
	return 0;
}

int cmd_vault_ls(const struct cli *cli, const struct args *a, struct err *err)
{
	static const struct table_col cols[] = {
		{ "NAME", 0 },        { "KIND", 0 }, { "HOSTS", TABLE_CUT },
		{ "FOR", TABLE_CUT }, { "AGE", 0 },  { "EXPIRES", 0 },
	};
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON all = NULL;
	const json_t *list;
	int rc = host_client(cli, false, &c, err);

	(void)a;
	if (rc == 0)
		rc = client_call(c, "GET", "/v1/vault", NULL, &all, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(all, false, err);
	list = json_object_get(all, "entries");
	rc = table_print_list(cli, cols, ARRAY_SIZE(cols), list, add_row, err);
	say_logins(cli, list);
	if (rc == 0 && json_array_size(list) == 0)
		say_info(cli, "there are none yet: `ac vault add github` asks "
			      "for one, `ac run … --credential github` lets an "
			      "agent use it");
	return rc;
}

/* ---- rotate ---- */

/* Gets the source of the value of @name, "" for none; the caller frees *ret. */
static int stored_source(struct client *c, const char *name, char **ret,
			 struct err *err)
{
	SCOPED_JSON all = NULL;
	int rc = client_call(c, "GET", "/v1/vault", NULL, &all, err);
	const json_t *e = vault_listed(all, name);

	if (rc < 0)
		return rc;
	if (!e)
		return err_set(err, -ENOENT,
			       "there is no credential '%s': `ac vault ls` "
			       "shows them",
			       name);
	*ret = strdup(json_text(e, "source"));
	return *ret ? 0 : err_nomem(err);
}

static int rotate_body(const struct args *a, const struct vault_input *in,
		       json_t *body, struct err *err)
{
	int rc = put_expires(body, a, err);

	if (rc == 0)
		rc = put_value(body, in, err);
	if (rc == 0 && put_text(body, "access_key", a->vault.access_key))
		rc = err_nomem(err);
	if (rc == 0 && args_has(a, ARG_ALLOW_CLASSIC))
		json_object_set_new(body, "allow_classic", json_true());
	return rc;
}

int cmd_vault_rotate(const struct cli *cli, const struct args *a,
		     struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_INPUT in = { 0 };
	SCOPED_JSON body = json_object();
	SCOPED_JSON e = NULL;
	SCOPED_STR path = client_path("/v1/vault/", a->words[0], "/rotate");
	SCOPED_STR source = NULL;
	int rc = check_words(a, err);

	if (rc == 0)
		rc = vault_input_guard(err);
	if (rc < 0)
		return cli_usage(err);
	if (!body || !path)
		return err_nomem(err);
	rc = host_client(cli, true, &c, err);
	if (rc == 0)
		rc = stored_source(c, a->words[0], &source, err);
	if (rc == 0)
		rc = vault_input_read(cli, a, a->n_words > 1, source, &in, err);
	if (rc == 0)
		rc = rotate_body(a, &in, body, err);
	if (rc == 0)
		rc = client_call(c, "POST", path, body, &e, err);
	return rc == 0 ? print_kept(cli, e, "has a new value", err) : rc;
}

/* ---- test ---- */

int cmd_vault_test(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON res = NULL;
	SCOPED_STR path = client_path("/v1/vault/", a->words[0], "/test");
	const json_t *accepted;
	int rc = path ? host_client(cli, true, &c, err) : err_nomem(err);

	if (rc == 0)
		rc = client_call(c, "POST", path, NULL, &res, err);
	if (rc < 0)
		return rc;
	accepted = json_object_get(res, "accepted");
	if (cli->json) {
		rc = cli_print_json(res, false, err);
	} else {
		char text[1024];

		puts(cli_clean(text, sizeof(text), json_text(res, "text")));
	}
	return rc < 0 ? rc : json_is_true(accepted) ? 0 : CLI_EXIT_FAIL;
}
