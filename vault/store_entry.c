/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_entry.c - one secret and what belongs to it: memory, rules, bytes
 *
 * Its bytes: u8 version 1, lstr name, u8 kind, u8 form, u32 flags, u64 created,
 * u64 rotated, u64 expires, lstr user, field, access_key, region, service,
 * source, note, then five lists (hosts, methods, paths, blueprints, instances),
 * each u16 count and lstr each, and lstr value.
 */
#include "vault/store.h"

#include <sodium.h>
#include <string.h>

#define ENTRY_VERSION 1u

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
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n; i++)
		r = strv_push(&copy, from->v[i]);
	if (r < 0)
		strv_done(&copy);
	*to = copy;
	return r;
}

struct vstore_entry *vstore_entry_copy(const struct vstore_entry *e)
{
	struct vstore_entry *c = malloc(sizeof(*c));

	if (!c)
		return NULL;
	*c = *e;
	c->value = NULL;
	c->hosts = c->methods = c->paths = (struct strv){ 0 };
	c->blueprints = c->instances = (struct strv){ 0 };
	if (strv_copy(&c->hosts, &e->hosts) == 0 &&
	    strv_copy(&c->methods, &e->methods) == 0 &&
	    strv_copy(&c->paths, &e->paths) == 0 &&
	    strv_copy(&c->blueprints, &e->blueprints) == 0 &&
	    strv_copy(&c->instances, &e->instances) == 0 &&
	    vstore_entry_set_value(c, e->value, e->value_len) == 0)
		return c;
	vstore_entry_free(c);
	return NULL;
}

/* ---- rules ---- */

bool vstore_name_ok(const char *name)
{
	size_t len = strlen(name);

	return len >= 1 && len <= VSTORE_NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == len;
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
		if (host[label] == '\0')
			return true;
		if (host[label] != '.')
			return false;
	}
}

/* Bytes 0x21 to 0x7e, one to @max of them. */
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

/* Blueprints and instances: what they are called, or a pattern of it. */
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
		return err_set(err, -EINVAL, "'%s' is no %s", shown, what);
	}
	return 0;
}

/* What stands in a line of a request's head. */
static int text_check(const char *s, const char *what, bool blanks,
		      struct err *err)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < ' ' || c == 0x7f || (c == ' ' && !blanks))
			return err_set(err, -EINVAL,
				       "the %s has control bytes%s in it", what,
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
			       "a generic secret needs the name of its %s: "
			       "--%s NAME",
			       vstore_form_name(e->form),
			       vstore_form_name(e->form));
	if (e->kind == SECRET_GENERIC && e->form == VSTORE_BASIC && !*e->user)
		return err_set(err, -EINVAL,
			       "a secret for Basic needs a user: --user");
	/* As vault/grant.h has it: git and gh are given it on a line. */
	if (*e->user && (!is_printable(e->user, sizeof(e->user) - 1) ||
			 strchr(e->user, ':')))
		return err_set(err, -EINVAL,
			       "a user has printable ASCII without ':'");
	if (strspn(e->field, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz0123456789-_.") !=
	    strlen(e->field))
		return err_set(err, -EINVAL,
			       "the name of its %s has letters, digits, '-', "
			       "'_' and '.' alone",
			       vstore_form_name(e->form));
	return 0;
}

int vstore_name_check(const char *name, struct err *err)
{
	return vstore_name_ok(name) ?
		       0 :
		       err_set(err, -EINVAL,
			       "a name has 1 to 63 of a-z 0-9 . _ -");
}

int vstore_entry_check(const struct vstore_entry *e, struct err *err)
{
	int r;

	r = vstore_name_check(e->name, err);
	if (r < 0)
		return r;
	if (e->hosts.n == 0)
		return err_set(err, -EINVAL,
			       "no host is named that it may be sent to");
	r = list_check(&e->hosts, VSTORE_HOSTS_MAX, "host", vstore_host_ok,
		       err);
	if (r == 0)
		r = list_check(&e->methods, VSTORE_METHODS_MAX, "method",
			       method_ok, err);
	if (r == 0)
		r = list_check(&e->paths, VSTORE_PATHS_MAX, "path", path_ok,
			       err);
	if (r == 0)
		r = list_check(&e->blueprints, VSTORE_SCOPES_MAX, "blueprint",
			       scope_ok, err);
	if (r == 0)
		r = list_check(&e->instances, VSTORE_SCOPES_MAX, "instance",
			       scope_ok, err);
	if (r == 0)
		r = text_check(e->user, "user", false, err);
	if (r == 0)
		r = text_check(e->access_key, "access key", false, err);
	if (r == 0)
		r = text_check(e->region, "region", false, err);
	if (r == 0)
		r = text_check(e->service, "service", false, err);
	if (r == 0)
		r = text_check(e->source, "source", true, err);
	if (r == 0)
		r = text_check(e->note, "note", true, err);
	return r == 0 ? kind_check(e, err) : r;
}

/* ---- bytes out ---- */

static int put_str(struct buf *b, const char *s)
{
	return buf_put_lstr(b, s, strlen(s));
}

static int put_list(struct buf *b, const struct strv *l)
{
	int r = buf_put_u16(b, (uint16_t)l->n);

	for (size_t i = 0; r == 0 && i < l->n; i++)
		r = put_str(b, l->v[i]);
	return r;
}

/* All but the value: nothing secret. */
static int put_open(struct buf *b, const struct vstore_entry *e)
{
	const char *const texts[] = { e->user,   e->field,   e->access_key,
				      e->region, e->service, e->source,
				      e->note };
	const struct strv *const lists[] = { &e->hosts, &e->methods, &e->paths,
					     &e->blueprints, &e->instances };
	int r = buf_put_u8(b, ENTRY_VERSION);

	if (r == 0)
		r = put_str(b, e->name);
	if (r == 0)
		r = buf_put_u8(b, (uint8_t)e->kind);
	if (r == 0)
		r = buf_put_u8(b, (uint8_t)e->form);
	if (r == 0)
		r = buf_put_u32(b, e->flags);
	if (r == 0)
		r = buf_put_u64(b, e->created);
	if (r == 0)
		r = buf_put_u64(b, e->rotated);
	if (r == 0)
		r = buf_put_u64(b, e->expires);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
		r = put_str(b, texts[i]);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(lists); i++)
		r = put_list(b, lists[i]);
	return r == 0 ? buf_put_u32(b, (uint32_t)e->value_len) : r;
}

int vstore_entry_write(const struct vstore_entry *e, uint8_t **ret,
		       size_t *ret_len)
{
	struct buf b;
	struct slice s;
	uint8_t *mem = NULL;
	int r;

	buf_init(&b, VSTORE_ENTRY_MAX - VSTORE_VALUE_MAX);
	r = put_open(&b, e);
	s = buf_slice(&b);
	if (r == 0)
		mem = sodium_malloc(s.len + e->value_len);
	if (r == 0 && !mem)
		r = -ENOMEM;
	if (r == 0) {
		memcpy(mem, s.ptr, s.len);
		memcpy(mem + s.len, e->value, e->value_len);
		*ret = mem;
		*ret_len = s.len + e->value_len;
	}
	buf_done(&b);
	return r == -ENOBUFS ? -EMSGSIZE : r;
}

/* ---- bytes in ---- */

static int get_list(struct slice *in, size_t max, size_t len_max,
		    struct strv *out)
{
	uint16_t n;
	int r = slice_u16(in, &n);

	if (r < 0 || n > max)
		return -EBADMSG;
	while (r == 0 && n-- > 0) {
		SCOPED_STR text = NULL;
		struct slice s;

		r = slice_lstr(in, len_max, &s);
		if (r == 0)
			r = slice_dup_str(s, &text);
		if (r == 0)
			r = strv_push(out, text);
	}
	return r;
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

static int get_rest(struct slice *in, struct vstore_entry *e)
{
	struct slice value;
	int r = get_list(in, VSTORE_HOSTS_MAX, VSTORE_HOST_MAX, &e->hosts);

	if (r == 0)
		r = get_list(in, VSTORE_METHODS_MAX, 20, &e->methods);
	if (r == 0)
		r = get_list(in, VSTORE_PATHS_MAX, VSTORE_PATH_MAX, &e->paths);
	if (r == 0)
		r = get_list(in, VSTORE_SCOPES_MAX, VSTORE_NAME_MAX,
			     &e->blueprints);
	if (r == 0)
		r = get_list(in, VSTORE_SCOPES_MAX, VSTORE_NAME_MAX,
			     &e->instances);
	if (r == 0)
		r = slice_lstr(in, VSTORE_VALUE_MAX, &value);
	if (r == 0 &&
	    (in->len > 0 || value.len == 0 || memchr(value.ptr, 0, value.len)))
		r = -EBADMSG;
	return r == 0 ? vstore_entry_set_value(e, value.ptr, value.len) : r;
}

int vstore_entry_read(struct slice in, struct vstore_entry **ret)
{
	struct vstore_entry *e = vstore_entry_new();
	struct err ignored = { 0 };
	uint8_t version;
	int r = e ? slice_u8(&in, &version) : -ENOMEM;

	if (r == 0 && version != ENTRY_VERSION)
		r = -EPROTONOSUPPORT;
	if (r == 0)
		r = get_open(&in, e);
	if (r == 0)
		r = get_rest(&in, e);
	if (r == 0 && vstore_entry_check(e, &ignored) < 0)
		r = -EBADMSG;
	if (r < 0) {
		vstore_entry_free(e);
		return r;
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

/* Where @name is, or has to be put. */
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
