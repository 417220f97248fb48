/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_entry.c - credentials of the vault from and to JSON
 */
#include "control/acd/credential/vault.h"

#include <ctype.h>
#include <libpsl.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "control/acd/credential/login_parse.h"
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
	json_object_set_new(j, "insecure",
			    json_boolean(e->flags & VSTORE_INSECURE));
	return j;
}

/* ---- in ---- */

#define TEXTS(max_, about_)                                               \
	{                                                                 \
		.kind = SCHEMA_LIST, .item = &schema_text, .max = (max_), \
		.about = (about_)                                         \
	}

static const struct schema value_is = {
	.kind = SCHEMA_TEXT,
	.about = "base64, at most 8 KiB decoded; one line end is cut"
};
static const char *const kind_words[] = {
	"generic",      "github",       "gitlab", "npm", "pypi",
	"anthropic",    "openai",       "gemini", "aws", "anthropic-login",
	"openai-login", "google-login", NULL
};
static const struct schema kind_is = {
	.kind = SCHEMA_WORD,
	.words = kind_words,
	.about = "absent: by the form of the value, or the name"
};
static const struct schema hosts_are =
	TEXTS(VSTORE_HOSTS_MAX, "absent: those of the kind; a service: by its "
				"name, or HOST:PORT");
static const struct schema methods_are =
	TEXTS(VSTORE_METHODS_MAX, "absent: any");
static const struct schema paths_are = TEXTS(VSTORE_PATHS_MAX, "absent: any");
static const struct schema blueprints_are =
	TEXTS(VSTORE_SCOPES_MAX, "absent: any");
static const struct schema instances_are =
	TEXTS(VSTORE_SCOPES_MAX, "absent: any; may be patterns (ci-*)");
static const char *const form_words[] = { "header", "basic", "query", NULL };
static const struct schema form_is = { .kind = SCHEMA_WORD,
				       .words = form_words,
				       .about = "how a generic one is sent" };
static const struct schema field_is = {
	.kind = SCHEMA_TEXT, .about = "name of the header or parameter"
};
static const struct schema expires_is = { .kind = SCHEMA_NUMBER,
					  .max = EXPIRES_MAX,
					  .about = "seconds since the epoch" };
static const struct schema source_is = {
	.kind = SCHEMA_TEXT,
	.about = "where the value comes from: cmd:, file:, env:"
};
static const struct schema classic_is = {
	.kind = SCHEMA_BOOL, .about = "take a classic token of GitHub"
};
static const struct schema handover_is = {
	.kind = SCHEMA_BOOL, .about = "a blueprint may ask for the real value"
};

static const struct schema insecure_is = {
	.kind = SCHEMA_BOOL, .about = "it may go to a service in plain http"
};

static const struct schema_key entry_keys[] = {
	{ "name", &schema_text },
	{ "value", &value_is },
	{ "kind", &kind_is },
	{ "hosts", &hosts_are },
	{ "methods", &methods_are },
	{ "paths", &paths_are },
	{ "blueprints", &blueprints_are },
	{ "instances", &instances_are },
	{ "user", &schema_text },
	{ "form", &form_is },
	{ "field", &field_is },
	{ "access_key", &schema_text },
	{ "region", &schema_text },
	{ "service", &schema_text },
	{ "expires", &expires_is },
	{ "source", &source_is },
	{ "note", &schema_text },
	{ "allow_classic", &classic_is },
	{ "handover", &handover_is },
	{ "insecure", &insecure_is },
};
static const struct schema_key rotation_keys[] = {
	{ "value", &value_is },           { "expires", &expires_is },
	{ "source", &source_is },         { "access_key", &schema_text },
	{ "allow_classic", &classic_is },
};
static const char *const entry_needs[] = { "name", "value", NULL };
const struct schema vault_entry_is = { SCHEMA_ROWS(entry_keys),
				       .required = entry_needs, .nulls = true,
				       .name = "CredentialRequest" };
const struct schema vault_rotation_is = { SCHEMA_ROWS(rotation_keys),
					  .required = entry_needs + 1,
					  .nulls = true,
					  .name = "RotateRequest" };

int vault_secret_member(json_t *body, const char *key, size_t max, char **ret,
			size_t *ret_len, struct err *err)
{
	const char *text = NULL;
	char *mem;
	size_t len;
	int rc = jsonx_str(body, key, NULL, &text, err);

	if (rc < 0)
		return rc;
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

/* Copies a text member to @out of @size bytes; if absent, changes nothing. */
static int text_member(json_t *body, const char *key, char *out, size_t size,
		       struct err *err)
{
	const char *text = NULL;
	int rc = jsonx_str(body, key, NULL, &text, err);

	if (rc < 0 || !text)
		return rc;
	if (strlen(text) >= size)
		return err_set(err, -EINVAL, "'%s' is longer than %zu bytes",
			       key, size - 1);
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

static int texts_read(json_t *body, struct vstore_entry *e, struct err *err)
{
	int rc = text_member(body, "name", e->name, sizeof(e->name), err);

	if (rc == 0)
		rc = text_member(body, "user", e->user, sizeof(e->user), err);
	if (rc == 0)
		rc = text_member(body, "field", e->field, sizeof(e->field),
				 err);
	if (rc == 0)
		rc = text_member(body, "access_key", e->access_key,
				 sizeof(e->access_key), err);
	if (rc == 0)
		rc = text_member(body, "region", e->region, sizeof(e->region),
				 err);
	if (rc == 0)
		rc = text_member(body, "service", e->service,
				 sizeof(e->service), err);
	if (rc == 0)
		rc = text_member(body, "source", e->source, sizeof(e->source),
				 err);
	return rc == 0 ? text_member(body, "note", e->note, sizeof(e->note),
				     err) :
			 rc;
}

static void map(struct strv *l, int (*fn)(int))
{
	for (size_t i = 0; i < l->n; i++)
		for (char *c = l->v[i]; *c; c++)
			*c = (char)fn((unsigned char)*c);
}

static int lists_read(json_t *body, struct vstore_entry *e, struct err *err)
{
	int rc = jsonx_strv(body, "hosts", VSTORE_HOSTS_MAX, &e->hosts, err);

	if (rc == 0)
		rc = jsonx_strv(body, "methods", VSTORE_METHODS_MAX,
				&e->methods, err);
	if (rc == 0)
		rc = jsonx_strv(body, "paths", VSTORE_PATHS_MAX, &e->paths,
				err);
	if (rc == 0)
		rc = jsonx_strv(body, "blueprints", VSTORE_SCOPES_MAX,
				&e->blueprints, err);
	if (rc == 0)
		rc = jsonx_strv(body, "instances", VSTORE_SCOPES_MAX,
				&e->instances, err);
	if (rc == 0)
		rc = vault_service_hosts(&e->hosts, err);
	map(&e->hosts, tolower);
	map(&e->methods, toupper);
	return rc;
}

/* Takes the kind from the request, the value's form or the name; else
 * generic. */
static int kind_read(json_t *body, struct slice value, struct vstore_entry *e,
		     struct err *err)
{
	const char *text = NULL, *form = NULL;
	int rc = jsonx_str(body, "kind", NULL, &text, err);

	if (rc == 0)
		rc = jsonx_str(body, "form", NULL, &form, err);
	if (rc < 0)
		return rc;
	if (form && vstore_form_parse(form, &e->form) < 0)
		return err_set(err, -EINVAL,
			       "'form' is header, basic or query");
	e->kind = SECRET_GENERIC;
	if (text)
		return secret_kind_parse(text, &e->kind) < 0 ?
			       err_set(err, -EINVAL, "'kind' is unknown") :
			       0;
	/* A form of sending excludes kinds that have their own. */
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
	int rc = jsonx_u64(body, "expires", 0, EXPIRES_MAX, expires, &expires,
			   err);

	if (rc == 0 && expires && expires <= now)
		rc = err_set(err, -EINVAL, "it would have expired already");
	if (rc < 0)
		return rc;
	e->expires = expires;
	e->rotated = now;
	if (!e->created)
		e->created = now;
	return 0;
}

/* Returns true if the user gives again what @old began with, and @old has gone on
 * since: a provider ends a login whose refresh token comes twice. */
static bool login_is_used(const struct vstore_login *old,
			  const struct vstore_login *now)
{
	return memcmp(old->origin, now->origin, sizeof(old->origin)) == 0 &&
	       strcmp(old->refresh, now->refresh) != 0;
}

/* Sets the tokens of a login from the file of its client. */
static int login_read(struct slice value, struct vstore_entry *e,
		      struct err *err)
{
	struct login_tokens *t = sodium_malloc(sizeof(*t));
	int rc = t ? login_file_read(e->kind, value, (uint64_t)time(NULL), t,
				     err) :
		     err_nomem(err);

	if (rc == 0)
		vstore_login_begin(&t->login);
	if (rc == 0 && e->login && login_is_used(e->login, &t->login))
		rc = err_set(err, -EINVAL,
			     "that is the login that '%s' has had, with a "
			     "refresh token that is used up: log in again "
			     "first",
			     e->name);
	if (rc == 0 &&
	    (vstore_entry_set_value(e, t->access, strlen(t->access)) < 0 ||
	     vstore_entry_set_login(e, &t->login) < 0))
		rc = err_nomem(err);
	if (rc == 0)
		e->flags &= ~(uint32_t)VSTORE_OVER;
	sodium_free(t);
	return rc;
}

/* Sets the value and its flags; until then those of the old value hold. */
static int value_read(json_t *body, struct slice value, struct vstore_entry *e,
		      struct err *err)
{
	bool allow = false, classic = false;
	int rc;

	if (vstore_kind_is_login(e->kind))
		return login_read(value, e, err);
	rc = jsonx_bool(body, "allow_classic", e->flags & VSTORE_CLASSIC,
			&allow, err);

	if (rc == 0)
		rc = token_check(e->kind, value, allow, &classic, err);
	if (rc == 0 && vstore_entry_set_value(e, value.ptr, value.len) < 0)
		rc = err_nomem(err);
	e->flags &= ~(uint32_t)VSTORE_CLASSIC;
	if (classic)
		e->flags |= VSTORE_CLASSIC;
	return rc;
}

/* A component between slashes in the scope of a signature. */
static bool is_label(const char *s)
{
	return s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

static bool is_word(const char *s)
{
	return s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			   "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* sts answers a signed request with real keys, for any signer. A key
 * without a service would be valid for sts too. */
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

/* Refuses names that a blueprint or --credential could not express. */
static int name_free(const char *name, struct err *err)
{
	int rc = vstore_name_check(name, err);

	if (rc == 0 && strchr("._-", name[0]))
		rc = err_set(err, -EINVAL,
			     "a name begins with a letter or a digit");
	if (rc == 0 && strcmp(name, "none") == 0)
		rc = err_set(err, -EINVAL,
			     "'none' is no name: --credential none means no "
			     "credential at all");
	return rc;
}

/* The gateway sends a token only to names, and not below a domain where anyone
 * can have a name. */
static int hosts_check(const struct strv *hosts, struct err *err)
{
	const psl_ctx_t *psl = psl_builtin();
	char shown[4 * VSTORE_HOST_MAX + 1], host[VSTORE_HOST_MAX + 1];

	for (size_t i = 0; i < hosts->n; i++) {
		const char *last;

		vstore_host_split(hosts->v[i], host);
		last = strrchr(host, '.');
		if (!vstore_host_ok(hosts->v[i])) {
			str_escape(shown, sizeof(shown), hosts->v[i],
				   strlen(hosts->v[i]));
			return err_set(
				err, -EINVAL,
				"'%.100s' is no host: it is a name alone, "
				"as api.example.org, without scheme, "
				"port and path; of a service, name and "
				"port, or what `ac service` calls it",
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

/* Refuses headers that frame or route a request (RFC 9110, 7.6.1 and 8.6), and
 * those that the gateway uses itself. */
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

/* Checks a new credential, or one with a new value, which may be older than the
 * rule. */
static int entry_checks(const struct vstore_entry *e, struct err *err)
{
	int rc = hosts_check(&e->hosts, err);

	if (rc == 0)
		rc = vault_check_services(&e->hosts, e->flags & VSTORE_INSECURE,
					  err);
	if (rc == 0)
		rc = header_check(e, err);
	if (rc == 0)
		rc = aws_check(e, err);
	return rc == 0 ? vstore_entry_check(e, err) : rc;
}

static int entry_fill(struct vault *v, json_t *body, struct slice value,
		      struct vstore_entry *e, struct err *err)
{
	bool handover = false, insecure = false;
	int rc = texts_read(body, e, err);

	if (rc == 0)
		rc = name_free(e->name, err);
	if (rc == 0)
		rc = kind_read(body, value, e, err);
	if (rc == 0)
		rc = value_read(body, value, e, err);
	if (rc == 0)
		rc = lists_read(body, e, err);
	if (rc == 0)
		rc = times_read(body, e, err);
	if (rc == 0)
		rc = jsonx_bool(body, "handover", false, &handover, err);
	if (rc == 0)
		rc = jsonx_bool(body, "insecure", false, &insecure, err);
	if (rc == 0 && handover)
		e->flags |= VSTORE_HANDOVER;
	if (rc == 0 && insecure)
		e->flags |= VSTORE_INSECURE;
	if (rc == 0 && e->hosts.n == 0)
		rc = vault_default_hosts(vault_machine(v), e->kind, &e->hosts,
					 err);
	return rc == 0 ? entry_checks(e, err) : rc;
}

static int entry_renew(json_t *body, struct slice value, struct vstore_entry *e,
		       struct err *err)
{
	int rc = value_read(body, value, e, err);

	/* The old expiry says nothing about the new value. */
	e->expires = 0;
	if (rc == 0)
		rc = times_read(body, e, err);
	if (rc == 0)
		rc = texts_read(body, e, err);
	return rc == 0 ? entry_checks(e, err) : rc;
}

/* Makes a new credential, or @old with @body's changes; @is: what may be in
 * that. */
static int entry_made(struct vault *v, const struct vstore_entry *old,
		      json_t *body, const struct schema *is,
		      struct vstore_entry **ret, struct err *err)
{
	struct vstore_entry *e = NULL;
	struct slice token;
	char *value = NULL;
	size_t len = 0;
	int rc = jsonx_fit(body, is, err);

	if (rc == 0)
		rc = vault_secret_member(body, "value", VSTORE_VALUE_MAX + 2,
					 &value, &len, err);
	if (rc == 0) {
		e = old ? vstore_entry_copy(old) : vstore_entry_new();
		token = token_trim(slice_of(value, len));
		if (!e)
			rc = err_nomem(err);
		else
			rc = old ? entry_renew(body, token, e, err) :
				   entry_fill(v, body, token, e, err);
	}
	sodium_free(value);
	if (rc < 0)
		vstore_entry_free(e);
	else
		*ret = e;
	return rc;
}

int vault_entry_parse(struct vault *v, json_t *body, struct vstore_entry **ret,
		      struct err *err)
{
	return entry_made(v, NULL, body, &vault_entry_is, ret, err);
}

int vault_entry_rotate(const struct vstore_entry *old, json_t *body,
		       struct vstore_entry **ret, struct err *err)
{
	return entry_made(NULL, old, body, &vault_rotation_is, ret, err);
}
