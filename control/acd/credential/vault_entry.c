/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_entry.c - entries of the vault from and to JSON
 */
#include "control/acd/credential/vault.h"

#include <ctype.h>
#include <libpsl.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "control/acd/credential/vault_impl.h"
#include "control/shared/json.h"
#include "lib/str.h"
#include "vault/token.h"

#define EXPIRES_MAX 253402300799u /* the last second of the year 9999 */

/* ---- out ---- */

static json_t *when_json(uint64_t t)
{
	return t ? json_integer((json_int_t)t) : json_null();
}

json_t *vault_entry_json(const struct vstore_entry *e)
{
	json_t *j = json_pack(
		"{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
		e->name, "kind", secret_kind_name(e->kind), "hosts",
		jsonx_from_strv(&e->hosts), "methods",
		jsonx_from_strv(&e->methods), "paths",
		jsonx_from_strv(&e->paths), "blueprints",
		jsonx_from_strv(&e->blueprints), "instances",
		jsonx_from_strv(&e->instances), "created",
		when_json(e->created), "rotated", when_json(e->rotated),
		"expires", when_json(e->expires));
	bool generic = e->kind == SECRET_GENERIC;

	if (!j)
		return NULL;
	json_object_set_new(j, "user", jsonx_text(e->user));
	json_object_set_new(j, "form",
			    generic ? jsonx_text(vstore_form_name(e->form)) :
				      json_null());
	json_object_set_new(j, "field", jsonx_text(e->field));
	json_object_set_new(j, "access_key", jsonx_text(e->access_key));
	json_object_set_new(j, "region", jsonx_text(e->region));
	json_object_set_new(j, "service", jsonx_text(e->service));
	json_object_set_new(j, "source", jsonx_text(e->source));
	json_object_set_new(j, "note", jsonx_text(e->note));
	json_object_set_new(j, "classic",
			    json_boolean(e->flags & VSTORE_CLASSIC));
	json_object_set_new(j, "handover",
			    json_boolean(e->flags & VSTORE_HANDOVER));
	return j;
}

/* ---- in ---- */

int vault_secret_member(json_t *body, const char *key, size_t max, char **ret,
			size_t *ret_len, struct err *err)
{
	const char *text = NULL;
	char *mem;
	size_t len;
	int r = jsonx_str(body, key, NULL, &text, err);

	if (r < 0)
		return r;
	if (!text)
		return err_set(err, -EINVAL, "'%s' is missing", key);
	mem = sodium_malloc(max + 1);
	if (!mem)
		return err_nomem(err);
	if (sodium_base642bin((uint8_t *)mem, max, text, strlen(text), NULL,
			      &len, NULL,
			      sodium_base64_VARIANT_ORIGINAL) != 0) {
		sodium_free(mem);
		return err_set(err, -EINVAL,
			       "'%s' is no base64 of at most %zu bytes", key,
			       max);
	}
	mem[len] = '\0';
	*ret = mem;
	*ret_len = len;
	return 0;
}

/* A text member into a place of @size bytes; absent: it stays. */
static int text_member(json_t *body, const char *key, char *out, size_t size,
		       struct err *err)
{
	const char *text = NULL;
	int r = jsonx_str(body, key, NULL, &text, err);

	if (r < 0 || !text)
		return r;
	if (strlen(text) >= size)
		return err_set(err, -EINVAL, "'%s' is longer than %zu bytes",
			       key, size - 1);
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

static int texts_read(json_t *body, struct vstore_entry *e, struct err *err)
{
	int r = text_member(body, "name", e->name, sizeof(e->name), err);

	if (r == 0)
		r = text_member(body, "user", e->user, sizeof(e->user), err);
	if (r == 0)
		r = text_member(body, "field", e->field, sizeof(e->field), err);
	if (r == 0)
		r = text_member(body, "access_key", e->access_key,
				sizeof(e->access_key), err);
	if (r == 0)
		r = text_member(body, "region", e->region, sizeof(e->region),
				err);
	if (r == 0)
		r = text_member(body, "service", e->service, sizeof(e->service),
				err);
	if (r == 0)
		r = text_member(body, "source", e->source, sizeof(e->source),
				err);
	return r == 0 ? text_member(body, "note", e->note, sizeof(e->note),
				    err) :
			r;
}

static void map(struct strv *l, int (*fn)(int))
{
	for (size_t i = 0; i < l->n; i++)
		for (char *c = l->v[i]; *c; c++)
			*c = (char)fn((unsigned char)*c);
}

static int lists_read(json_t *body, struct vstore_entry *e, struct err *err)
{
	int r = jsonx_strv(body, "hosts", VSTORE_HOSTS_MAX, &e->hosts, err);

	if (r == 0)
		r = jsonx_strv(body, "methods", VSTORE_METHODS_MAX, &e->methods,
			       err);
	if (r == 0)
		r = jsonx_strv(body, "paths", VSTORE_PATHS_MAX, &e->paths, err);
	if (r == 0)
		r = jsonx_strv(body, "blueprints", VSTORE_SCOPES_MAX,
			       &e->blueprints, err);
	if (r == 0)
		r = jsonx_strv(body, "instances", VSTORE_SCOPES_MAX,
			       &e->instances, err);
	map(&e->hosts, tolower);
	map(&e->methods, toupper);
	return r;
}

/* Said, or seen in the value, or the entry is called so; else generic. */
static int kind_read(json_t *body, struct slice value, struct vstore_entry *e,
		     struct err *err)
{
	const char *text = NULL, *form = NULL;
	int r = jsonx_str(body, "kind", NULL, &text, err);

	if (r == 0)
		r = jsonx_str(body, "form", NULL, &form, err);
	if (r < 0)
		return r;
	if (form && vstore_form_parse(form, &e->form) < 0)
		return err_set(err, -EINVAL,
			       "'form' is header, basic or query");
	e->kind = SECRET_GENERIC;
	if (text)
		return secret_kind_parse(text, &e->kind) < 0 ?
			       err_set(err, -EINVAL,
				       "'kind' is generic, github, gitlab, "
				       "npm, pypi, anthropic, openai, gemini "
				       "or aws") :
			       0;
	/* Who says how it is sent means no kind that has its own ways. */
	if (form || token_guess(value, &e->kind) == 0 ||
	    secret_kind_parse(e->name, &e->kind) == 0)
		return 0;
	return err_set(err, -EINVAL,
		       "what kind of token is this? --kind says it, or "
		       "--header, --basic or --query how it is sent");
}

static int times_read(json_t *body, struct vstore_entry *e, struct err *err)
{
	uint64_t now = (uint64_t)time(NULL), expires = e->expires;
	int r = jsonx_u64(body, "expires", 0, EXPIRES_MAX, expires, &expires,
			  err);

	if (r == 0 && expires && expires <= now)
		r = err_set(err, -EINVAL, "it would have expired already");
	if (r < 0)
		return r;
	e->expires = expires;
	e->rotated = now;
	if (!e->created)
		e->created = now;
	return 0;
}

/* The value and its flags, which are those of the last one till then. */
static int value_read(json_t *body, struct slice value, struct vstore_entry *e,
		      struct err *err)
{
	bool allow = false, classic = false;
	int r = jsonx_bool(body, "allow_classic", e->flags & VSTORE_CLASSIC,
			   &allow, err);

	if (r == 0)
		r = token_check(e->kind, value, allow, &classic, err);
	if (r == 0 && vstore_entry_set_value(e, value.ptr, value.len) < 0)
		r = err_nomem(err);
	e->flags &= ~(uint32_t)VSTORE_CLASSIC;
	if (classic)
		e->flags |= VSTORE_CLASSIC;
	return r;
}

/* What stands between slashes in the scope of a signature. */
static bool is_label(const char *s)
{
	return s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

static bool is_word(const char *s)
{
	return s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			   "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* The token service answers a signed request with keys that are real, whoever
 * signed it; a key for any service is one for that, too. */
static int aws_check(const struct vstore_entry *e, struct err *err)
{
	if (e->kind != SECRET_AWS)
		return 0;
	if (!*e->access_key || !*e->region || !*e->service)
		return err_set(err, -EINVAL,
			       "an aws key needs --access-key, --region and "
			       "the --service that it signs for");
	if (!is_word(e->access_key))
		return err_set(err, -EINVAL,
			       "'%s' is no access key, which has letters and "
			       "digits alone",
			       e->access_key);
	if (!is_label(e->region))
		return err_set(err, -EINVAL,
			       "'%s' is no region such as eu-west-1",
			       e->region);
	if (!is_label(e->service))
		return err_set(err, -EINVAL, "'%s' is no service such as s3",
			       e->service);
	if (strcmp(e->service, "sts") == 0)
		return err_set(err, -EINVAL,
			       "an aws key is not taken for sts, which gives "
			       "out keys that work from anywhere");
	for (size_t i = 0; i < e->hosts.n; i++)
		if (str_starts(e->hosts.v[i], "sts.") ||
		    str_starts(e->hosts.v[i], "sts-fips."))
			return err_set(err, -EINVAL,
				       "an aws key is not taken for %s, which "
				       "gives out keys that work from anywhere",
				       e->hosts.v[i]);
	return 0;
}

/* Names that a blueprint or --credential could not say. */
static int name_free(const char *name, struct err *err)
{
	int r = vstore_name_check(name, err);

	if (r == 0 && strchr("._-", name[0]))
		r = err_set(err, -EINVAL,
			    "a name begins with a letter or a digit");
	if (r == 0 && strcmp(name, "none") == 0)
		r = err_set(err, -EINVAL,
			    "'none' is no name: --credential none means no "
			    "credential at all");
	return r;
}

/* The gateway sends a token to names alone, and not to one under which anybody
 * has a name. */
static int hosts_check(const struct strv *hosts, struct err *err)
{
	const psl_ctx_t *psl = psl_builtin();
	char shown[4 * VSTORE_HOST_MAX + 1];

	for (size_t i = 0; i < hosts->n; i++) {
		const char *host = hosts->v[i];
		const char *last = strrchr(host, '.');

		if (!vstore_host_ok(host)) {
			str_escape(shown, sizeof(shown), host, strlen(host));
			return err_set(
				err, -EINVAL,
				"'%.100s' is no host: it is a name alone, "
				"as api.example.org, without scheme, "
				"port and path",
				shown);
		}
		if (last && last[1 + strspn(last + 1, "0123456789")] == '\0')
			return err_set(err, -EINVAL,
				       "'%s' is an address: the gateway puts a "
				       "credential into requests to names "
				       "alone, whose certificate it can check",
				       host);
		if (!last || (psl && psl_is_public_suffix(psl, host)))
			return err_set(err, -EINVAL,
				       "'%s' is no host's own name: it has no "
				       "dot, or anybody may have a name below "
				       "it; --host names one in full",
				       host);
	}
	return 0;
}

/* Headers that say where a request ends or goes (RFC 9110, 7.6.1 and 8.6), and
 * those that the gateway has uses of its own for. */
static int header_check(const struct vstore_entry *e, struct err *err)
{
	static const char *const taken[] = {
		"host",   "content-length", "transfer-encoding", "connection",
		"te",     "trailer",        "upgrade",           "keep-alive",
		"expect", "cookie",
	};
	bool bad = strncasecmp(e->field, "proxy-", 6) == 0;

	if (e->kind != SECRET_GENERIC || e->form != VSTORE_HEADER)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		bad |= strcasecmp(e->field, taken[i]) == 0;
	return bad ? err_set(err, -EINVAL,
			     "the header '%s' cannot hold a credential",
			     e->field) :
		     0;
}

/* What is asked of a new entry, and of one with a new value: it may be older
 * than the rule. */
static int entry_checks(const struct vstore_entry *e, struct err *err)
{
	int r = hosts_check(&e->hosts, err);

	if (r == 0)
		r = header_check(e, err);
	if (r == 0)
		r = aws_check(e, err);
	return r == 0 ? vstore_entry_check(e, err) : r;
}

static int entry_fill(struct vault *v, json_t *body, struct slice value,
		      struct vstore_entry *e, struct err *err)
{
	bool handover = false;
	int r = texts_read(body, e, err);

	if (r == 0)
		r = name_free(e->name, err);
	if (r == 0)
		r = kind_read(body, value, e, err);
	if (r == 0)
		r = value_read(body, value, e, err);
	if (r == 0)
		r = lists_read(body, e, err);
	if (r == 0)
		r = times_read(body, e, err);
	if (r == 0)
		r = jsonx_bool(body, "handover", false, &handover, err);
	if (r == 0 && handover)
		e->flags |= VSTORE_HANDOVER;
	if (r == 0 && e->hosts.n == 0)
		r = vault_default_hosts(vault_machine(v), e->kind, &e->hosts,
					err);
	return r == 0 ? entry_checks(e, err) : r;
}

static int entry_renew(json_t *body, struct slice value, struct vstore_entry *e,
		       struct err *err)
{
	int r = value_read(body, value, e, err);

	/* That of the old value says nothing about this one. */
	e->expires = 0;
	if (r == 0)
		r = times_read(body, e, err);
	if (r == 0)
		r = texts_read(body, e, err);
	return r == 0 ? entry_checks(e, err) : r;
}

/* A new one, or @old with what @body says anew; @keys are what it may say. */
static int entry_made(struct vault *v, const struct vstore_entry *old,
		      json_t *body, const char *const *keys,
		      struct vstore_entry **ret, struct err *err)
{
	struct vstore_entry *e = NULL;
	struct slice token;
	char *value = NULL;
	size_t len = 0;
	int r = jsonx_known(body, keys, err);

	if (r == 0)
		r = vault_secret_member(body, "value", VSTORE_VALUE_MAX + 2,
					&value, &len, err);
	if (r == 0) {
		e = old ? vstore_entry_copy(old) : vstore_entry_new();
		token = token_trim(slice_of(value, len));
		if (!e)
			r = err_nomem(err);
		else
			r = old ? entry_renew(body, token, e, err) :
				  entry_fill(v, body, token, e, err);
	}
	sodium_free(value);
	if (r < 0)
		vstore_entry_free(e);
	else
		*ret = e;
	return r;
}

int vault_entry_parse(struct vault *v, json_t *body, struct vstore_entry **ret,
		      struct err *err)
{
	static const char *const keys[] = {
		"name",    "kind",       "value",         "hosts",
		"user",    "form",       "field",         "methods",
		"paths",   "blueprints", "note",          "instances",
		"expires", "source",     "access_key",    "service",
		"region",  "handover",   "allow_classic", NULL
	};

	return entry_made(v, NULL, body, keys, ret, err);
}

int vault_entry_rotate(const struct vstore_entry *old, json_t *body,
		       struct vstore_entry **ret, struct err *err)
{
	static const char *const keys[] = { "value",         "expires",
					    "source",        "access_key",
					    "allow_classic", NULL };

	return entry_made(NULL, old, body, keys, ret, err);
}
