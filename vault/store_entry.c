/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_entry.c - one credential: memory, checks, bytes
 *
 * Its bytes: u8 version, lstr name, u8 kind, u8 form, u32 flags, u64 created,
 * u64 rotated, u64 expires, lstr user, field, access_key, region, service,
 * source, note, then five lists (hosts, methods, paths, blueprints, instances),
 * each u16 count and lstr each, and lstr value. Version 1 ends there; in version
 * 2 a login follows (store_login.c), in version 1 there is none.
 */
#include "vault/store.h"

#include <sodium.h>
#include <string.h>

#include "lib/str.h"

#define ENTRY_VERSION 1u
#define LOGIN_VERSION 2u
#define LOGIN_MAX 4096u /* bytes of a login */

const char *vstore_form_name(enum vstore_form f)
{
	static const char *const names[] = { "header", "basic", "query" };

	return f < VSTORE_FORMS ? names[f] : "?";
}

int vstore_form_parse(const char *name, enum vstore_form *ret)
{
	for (enum vstore_form f = VSTORE_HEADER; f < VSTORE_FORMS; f++) {
		if (strcmp(name, vstore_form_name(f)) == 0) {
			*ret = f;
			return 0;
		}
	}
	return -ENOENT;
}

/* ---- memory ---- */

struct vstore_entry *vstore_entry_new(void)
{
	return calloc(1, sizeof(struct vstore_entry));
}

void vstore_entry_free(struct vstore_entry *e)
{
	if (!e)
		return;
	sodium_free(e->value);
	sodium_free(e->login);
	strv_done(&e->hosts);
	strv_done(&e->methods);
	strv_done(&e->paths);
	strv_done(&e->blueprints);
	strv_done(&e->instances);
	free(e);
}

int vstore_entry_set_value(struct vstore_entry *e, const void *value,
			   size_t len)
{
	char *mem;

	if (len > VSTORE_VALUE_MAX)
		return -EMSGSIZE;
	mem = sodium_malloc(len + 1);
	if (!mem)
		return -ENOMEM;
	memcpy(mem, value, len);
	mem[len] = '\0';
	sodium_free(e->value);
	e->value = mem;
	e->value_len = len;
	return 0;
}

static int strv_copy(struct strv *to, const struct strv *from)
{
	struct strv copy = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < from->n; i++)
		rc = strv_push(&copy, from->v[i]);
	if (rc < 0)
		strv_done(&copy);
	*to = copy;
	return rc;
}

struct vstore_entry *vstore_entry_copy(const struct vstore_entry *e)
{
	struct vstore_entry *c = malloc(sizeof(*c));

	if (!c)
		return NULL;
	*c = *e;
	c->value = NULL;
	c->login = NULL;
	c->hosts = c->methods = c->paths = (struct strv){ 0 };
	c->blueprints = c->instances = (struct strv){ 0 };
	if (strv_copy(&c->hosts, &e->hosts) == 0 &&
	    strv_copy(&c->methods, &e->methods) == 0 &&
	    strv_copy(&c->paths, &e->paths) == 0 &&
	    strv_copy(&c->blueprints, &e->blueprints) == 0 &&
	    strv_copy(&c->instances, &e->instances) == 0 &&
	    vstore_entry_set_value(c, e->value, e->value_len) == 0 &&
	    vstore_entry_set_login(c, e->login) == 0)
		return c;
	vstore_entry_free(c);
	return NULL;
}

/* ---- checks ---- */

static bool vstore_name_ok(const char *name)
{
	size_t len = strlen(name);

	return len >= 1 && len <= VSTORE_NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == len;
}

uint16_t vstore_host_split(const char *host, char name[VSTORE_HOST_MAX + 1])
{
	size_t len = strcspn(host, ":");
	uint64_t port = 0;

	if (len > VSTORE_HOST_MAX)
		len = VSTORE_HOST_MAX;
	memcpy(name, host, len);
	name[len] = '\0';
	if (host[len] == ':' &&
	    str_parse_u64(host + len + 1, 1, UINT16_MAX, &port) < 0)
		port = 0;
	return (uint16_t)port;
}

/* ":1" to ":65535", without zeros before it. */
static bool is_port(const char *s)
{
	uint64_t port;

	return *s == ':' && s[1] != '0' &&
	       str_parse_u64(s + 1, 1, UINT16_MAX, &port) == 0;
}

bool vstore_host_ok(const char *host)
{
	size_t len = strlen(host), label;

	if (len == 0 || len > VSTORE_HOST_MAX)
		return false;
	for (;; host += label + 1) {
		label = strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789-_");
		if (label == 0 || label > 63 || *host == '-' ||
		    host[label - 1] == '-')
			return false;
		if (host[label] == '\0' || is_port(host + label))
			return true;
		if (host[label] != '.')
			return false;
	}
}

/* Returns true for 1 to @max bytes, each from 0x21 to 0x7e. */
static bool is_printable(const char *s, size_t max)
{
	size_t len = strlen(s);

	for (size_t i = 0; i < len; i++)
		if (s[i] <= ' ' || s[i] > '~')
			return false;
	return len >= 1 && len <= max;
}

static bool path_ok(const char *s)
{
	return s[0] == '/' && is_printable(s, VSTORE_PATH_MAX);
}

static bool method_ok(const char *s)
{
	size_t len = strlen(s);

	return len >= 1 && len <= 20 &&
	       strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == len;
}

/* Returns true for the name of a blueprint or instance, or a pattern of
 * names. */
static bool scope_ok(const char *s)
{
	return is_printable(s, VSTORE_NAME_MAX) && !strchr(s, '/');
}

static int list_check(const struct strv *l, size_t max, const char *what,
		      bool (*good)(const char *), struct err *err)
{
	char shown[80];

	if (l->n > max)
		return err_set(err, -EINVAL, "more than %zu %ss", max, what);
	for (size_t i = 0; i < l->n; i++) {
		if (good(l->v[i]))
			continue;
		str_escape(shown, sizeof(shown), l->v[i], strlen(l->v[i]));
		return err_set(err, -EINVAL, "'%s' is not a valid %s", shown,
			       what);
	}
	return 0;
}

/* Checks text that becomes part of a header line of a request. */
static int text_check(const char *s, const char *what, bool blanks,
		      struct err *err)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < ' ' || c == 0x7f || (c == ' ' && !blanks))
			return err_set(err, -EINVAL,
				       "the %s contains control bytes%s", what,
				       blanks ? "" : " or blanks");
	}
	return 0;
}

static int kind_check(const struct vstore_entry *e, struct err *err)
{
	if (e->kind == SECRET_AWS && (!*e->access_key || !*e->region))
		return err_set(err, -EINVAL,
			       "an aws key needs its access key and region");
	if (e->kind == SECRET_GENERIC && e->form != VSTORE_BASIC && !*e->field)
		return err_set(err, -EINVAL,
			       "a generic credential needs the name of its %s: "
			       "--%s NAME",
			       vstore_form_name(e->form),
			       vstore_form_name(e->form));
	if (e->kind == SECRET_GENERIC && e->form == VSTORE_BASIC && !*e->user)
		return err_set(err, -EINVAL,
			       "a credential for Basic needs a user: --user");
	/* As in vault/grant.h, because git and gh read it as part of a line. */
	if (*e->user && (!is_printable(e->user, sizeof(e->user) - 1) ||
			 strchr(e->user, ':')))
		return err_set(err, -EINVAL,
			       "a user must be printable ASCII without ':'");
	if (strspn(e->field, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz0123456789-_.") !=
	    strlen(e->field))
		return err_set(err, -EINVAL,
			       "the name of its %s may have only letters, "
			       "digits, '-', '_' and '.'",
			       vstore_form_name(e->form));
	return 0;
}

int vstore_name_check(const char *name, struct err *err)
{
	return vstore_name_ok(name) ? 0 :
				      err_set(err, -EINVAL,
					      "a name has 1 to 63 characters "
					      "of a-z 0-9 . _ -");
}

int vstore_entry_check(const struct vstore_entry *e, struct err *err)
{
	int rc;

	rc = vstore_name_check(e->name, err);
	if (rc < 0)
		return rc;
	if (e->hosts.n == 0)
		return err_set(err, -EINVAL,
			       "it needs a host that it may be sent to");
	rc = list_check(&e->hosts, VSTORE_HOSTS_MAX, "host", vstore_host_ok,
			err);
	if (rc == 0)
		rc = list_check(&e->methods, VSTORE_METHODS_MAX, "method",
				method_ok, err);
	if (rc == 0)
		rc = list_check(&e->paths, VSTORE_PATHS_MAX, "path", path_ok,
				err);
	if (rc == 0)
		rc = list_check(&e->blueprints, VSTORE_SCOPES_MAX, "blueprint",
				scope_ok, err);
	if (rc == 0)
		rc = list_check(&e->instances, VSTORE_SCOPES_MAX, "instance",
				scope_ok, err);
	if (rc == 0)
		rc = text_check(e->user, "user", false, err);
	if (rc == 0)
		rc = text_check(e->access_key, "access key", false, err);
	if (rc == 0)
		rc = text_check(e->region, "region", false, err);
	if (rc == 0)
		rc = text_check(e->service, "service", false, err);
	if (rc == 0)
		rc = text_check(e->source, "source", true, err);
	if (rc == 0)
		rc = text_check(e->note, "note", true, err);
	if (rc == 0)
		rc = vstore_login_check(e, err);
	return rc == 0 ? kind_check(e, err) : rc;
}

/* ---- bytes out ---- */

static int put_str(struct buf *b, const char *s)
{
	return buf_put_lstr(b, s, strlen(s));
}

static int put_list(struct buf *b, const struct strv *l)
{
	int rc = buf_put_u16(b, (uint16_t)l->n);

	for (size_t i = 0; rc == 0 && i < l->n; i++)
		rc = put_str(b, l->v[i]);
	return rc;
}

/* Writes everything but the token; none of it is confidential. */
static int put_open(struct buf *b, const struct vstore_entry *e)
{
	const char *const texts[] = { e->user,   e->field,   e->access_key,
				      e->region, e->service, e->source,
				      e->note };
	const struct strv *const lists[] = { &e->hosts, &e->methods, &e->paths,
					     &e->blueprints, &e->instances };
	int rc = buf_put_u8(b, e->login ? LOGIN_VERSION : ENTRY_VERSION);

	if (rc == 0)
		rc = put_str(b, e->name);
	if (rc == 0)
		rc = buf_put_u8(b, (uint8_t)e->kind);
	if (rc == 0)
		rc = buf_put_u8(b, (uint8_t)e->form);
	if (rc == 0)
		rc = buf_put_u32(b, e->flags);
	if (rc == 0)
		rc = buf_put_u64(b, e->created);
	if (rc == 0)
		rc = buf_put_u64(b, e->rotated);
	if (rc == 0)
		rc = buf_put_u64(b, e->expires);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(texts); i++)
		rc = put_str(b, texts[i]);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(lists); i++)
		rc = put_list(b, lists[i]);
	return rc == 0 ? buf_put_u32(b, (uint32_t)e->value_len) : rc;
}

int vstore_entry_write(const struct vstore_entry *e, uint8_t **ret,
		       size_t *ret_len)
{
	struct buf b, end;
	struct slice s, login;
	uint8_t *mem = NULL;
	int rc;

	buf_init(&b, VSTORE_ENTRY_MAX - VSTORE_VALUE_MAX - LOGIN_MAX);
	buf_init(&end, LOGIN_MAX);
	buf_secret(&end);
	rc = put_open(&b, e);
	if (rc == 0 && e->login)
		rc = vstore_login_put(&end, e->login);
	s = buf_slice(&b);
	login = buf_slice(&end);
	if (rc == 0)
		mem = sodium_malloc(s.len + e->value_len + login.len);
	if (rc == 0 && !mem)
		rc = -ENOMEM;
	if (rc == 0) {
		memcpy(mem, s.ptr, s.len);
		memcpy(mem + s.len, e->value, e->value_len);
		if (login.len)
			memcpy(mem + s.len + e->value_len, login.ptr,
			       login.len);
		*ret = mem;
		*ret_len = s.len + e->value_len + login.len;
	}
	buf_done(&b);
	buf_done(&end);
	return rc == -ENOBUFS ? -EMSGSIZE : rc;
}

/* ---- bytes in ---- */

static int get_list(struct slice *in, size_t max, size_t len_max,
		    struct strv *out)
{
	uint16_t n;
	int rc = slice_u16(in, &n);

	if (rc < 0 || n > max)
		return -EBADMSG;
	while (rc == 0 && n-- > 0) {
		SCOPED_STR text = NULL;
		struct slice s;

		rc = slice_lstr(in, len_max, &s);
		if (rc == 0)
			rc = slice_dup_str(s, &text);
		if (rc == 0)
			rc = strv_push(out, text);
	}
	return rc;
}

static int get_open(struct slice *in, struct vstore_entry *e)
{
	uint8_t kind, form;

	if (slice_lstr_copy(in, sizeof(e->name) - 1, e->name) < 0 ||
	    slice_u8(in, &kind) < 0 || slice_u8(in, &form) < 0)
		return -EBADMSG;
	if (kind >= SECRET_KINDS || form >= VSTORE_FORMS)
		return -EPROTONOSUPPORT;
	e->kind = (enum secret_kind)kind;
	e->form = (enum vstore_form)form;
	if (slice_u32(in, &e->flags) < 0 || slice_u64(in, &e->created) < 0 ||
	    slice_u64(in, &e->rotated) < 0 || slice_u64(in, &e->expires) < 0 ||
	    slice_lstr_copy(in, sizeof(e->user) - 1, e->user) < 0 ||
	    slice_lstr_copy(in, sizeof(e->field) - 1, e->field) < 0 ||
	    slice_lstr_copy(in, sizeof(e->access_key) - 1, e->access_key) < 0 ||
	    slice_lstr_copy(in, sizeof(e->region) - 1, e->region) < 0 ||
	    slice_lstr_copy(in, sizeof(e->service) - 1, e->service) < 0 ||
	    slice_lstr_copy(in, sizeof(e->source) - 1, e->source) < 0 ||
	    slice_lstr_copy(in, sizeof(e->note) - 1, e->note) < 0)
		return -EBADMSG;
	return 0;
}

static int get_rest(struct slice *in, bool login, struct vstore_entry *e)
{
	struct slice value = { 0 };
	int rc = get_list(in, VSTORE_HOSTS_MAX, VSTORE_HOST_MAX, &e->hosts);

	if (rc == 0)
		rc = get_list(in, VSTORE_METHODS_MAX, 20, &e->methods);
	if (rc == 0)
		rc = get_list(in, VSTORE_PATHS_MAX, VSTORE_PATH_MAX, &e->paths);
	if (rc == 0)
		rc = get_list(in, VSTORE_SCOPES_MAX, VSTORE_NAME_MAX,
			      &e->blueprints);
	if (rc == 0)
		rc = get_list(in, VSTORE_SCOPES_MAX, VSTORE_NAME_MAX,
			      &e->instances);
	if (rc == 0)
		rc = slice_lstr(in, VSTORE_VALUE_MAX, &value);
	if (rc == 0 && login)
		rc = vstore_login_get(in, e);
	if (rc == 0 &&
	    (in->len > 0 || value.len == 0 || memchr(value.ptr, 0, value.len)))
		rc = -EBADMSG;
	return rc == 0 ? vstore_entry_set_value(e, value.ptr, value.len) : rc;
}

int vstore_entry_read(struct slice in, struct vstore_entry **ret)
{
	struct vstore_entry *e = vstore_entry_new();
	struct err ignored = { 0 };
	uint8_t version = 0;
	int rc = e ? slice_u8(&in, &version) : -ENOMEM;

	if (rc == 0 && version != ENTRY_VERSION && version != LOGIN_VERSION)
		rc = -EPROTONOSUPPORT;
	if (rc == 0)
		rc = get_open(&in, e);
	if (rc == 0)
		rc = get_rest(&in, version == LOGIN_VERSION, e);
	if (rc == 0 && vstore_entry_check(e, &ignored) < 0)
		rc = -EBADMSG;
	if (rc < 0) {
		vstore_entry_free(e);
		return rc;
	}
	*ret = e;
	return 0;
}

/* ---- sets ---- */

void vstore_set_done(struct vstore_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		vstore_entry_free(s->v[i]);
	free(s->v);
	*s = (struct vstore_set){ 0 };
}

/* Returns the index of @name, or the one to insert it at. */
static size_t set_place(const struct vstore_set *s, const char *name)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(s->v[mid]->name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct vstore_entry *vstore_set_find(const struct vstore_set *s,
				     const char *name)
{
	size_t i = set_place(s, name);

	return i < s->n && strcmp(s->v[i]->name, name) == 0 ? s->v[i] : NULL;
}

int vstore_set_put(struct vstore_set *s, struct vstore_entry *e)
{
	size_t i = set_place(s, e->name);
	struct vstore_entry **v;

	if (i < s->n && strcmp(s->v[i]->name, e->name) == 0) {
		if (s->v[i] != e)
			vstore_entry_free(s->v[i]);
		s->v[i] = e;
		return 0;
	}
	if (s->n >= VSTORE_ENTRIES_MAX)
		return -ENOSPC;
	v = reallocarray(s->v, s->n + 1, sizeof(struct vstore_entry *));
	if (!v)
		return -ENOMEM;
	memmove(v + i + 1, v + i, (s->n - i) * sizeof(struct vstore_entry *));
	v[i] = e;
	s->v = v;
	s->n++;
	return 0;
}

int vstore_set_remove(struct vstore_set *s, const char *name)
{
	size_t i = set_place(s, name);

	if (i >= s->n || strcmp(s->v[i]->name, name) != 0)
		return -ENOENT;
	vstore_entry_free(s->v[i]);
	s->n--;
	memmove(s->v + i, s->v + i + 1,
		(s->n - i) * sizeof(struct vstore_entry *));
	return 0;
}
