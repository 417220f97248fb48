/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress.c - what an instance may reach, in the user's words
 *
 * Targets are checked to hold nothing that means something in YAML, so that
 * they can stand between double quotes as they are; what kind of name or
 * address they are the gateway decides, by the one parser that counts. Rules of
 * credentials come behind them: for one name inspect goes before tunnel.
 *
 * A name of another script is stored in the form that the gateway knows, xn--…,
 * so that what was typed and what a denial names are one.
 */
#include "control/acd/egress/egress.h"

#include <arpa/inet.h>
#include <idn2.h>
#include <string.h>

#include "control/acd/egress/denied.h"
#include "control/shared/json.h"
#include "control/shared/names.h"

static const char *const modes[] = {
	[EGRESS_UNSET] = "",
	[EGRESS_LOCKED] = "locked",
	[EGRESS_BALANCED] = "balanced",
	[EGRESS_OPEN] = "open",
};

const char *egress_mode_name(enum egress_mode m)
{
	return modes[m];
}

int egress_mode_parse(const char *word, enum egress_mode *ret)
{
	for (size_t i = EGRESS_LOCKED; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(modes[i], word) == 0) {
			*ret = (enum egress_mode)i;
			return 0;
		}
	}
	return -ENOENT;
}

void egress_done(struct egress *e)
{
	strv_done(&e->presets);
	strv_done(&e->allow);
	strv_done(&e->deny);
	free(e->limits);
	free(e->rules);
	*e = (struct egress){ 0 };
}

/* ---- lists without repetition ---- */

static int list_add(struct strv *list, const char *s, size_t max,
		    struct err *err)
{
	if (strv_has(list, s))
		return 0;
	if (list->n >= max)
		return err_set(err, -EINVAL,
			       "more than %zu entries in a list of egress",
			       max);
	return strv_push(list, s) < 0 ? err_nomem(err) : 0;
}

static int list_add_all(struct strv *list, const struct strv *more, size_t max,
			struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < more->n; i++)
		r = list_add(list, more->v[i], max, err);
	return r;
}

static void list_drop(struct strv *list, size_t i)
{
	free(list->v[i]);
	/* The NULL at the end moves as well. */
	memmove(&list->v[i], &list->v[i + 1], (list->n - i) * sizeof(*list->v));
	list->n--;
}

int egress_add_preset(struct egress *e, const char *name, struct err *err)
{
	struct err why = { 0 };

	if (name_check_blueprint(name, &why) < 0)
		return err_set(err, -EINVAL,
			       "'%.64s' is neither a mode (open, balanced, "
			       "locked) nor a preset's name",
			       name);
	return list_add(&e->presets, name, EGRESS_PRESETS_MAX, err);
}

int egress_add_word(struct egress *e, const char *word, struct err *err)
{
	enum egress_mode mode;

	if (egress_mode_parse(word, &mode) < 0)
		return egress_add_preset(e, word, err);
	if (e->mode != EGRESS_UNSET && e->mode != mode)
		return err_set(err, -EINVAL, "egress cannot be both %s and %s",
			       egress_mode_name(e->mode), word);
	e->mode = mode;
	return 0;
}

/* ---- targets ---- */

struct target {
	const char *proto; /* "tcp", "http", NULL: by port */
	char host[EGRESS_TARGET_MAX + 1];
	char ports[16]; /* "443", "8000-8010", "" */
	bool address;
};

/* "443" or "8000-8010". */
static int ports_parse(const char *text, char out[static 16])
{
	SCOPED_STR first = strndup(text, strcspn(text, "-"));
	uint64_t a = 0, b = 0;
	bool range;

	if (!first)
		return -ENOMEM;
	range = text[strlen(first)] == '-';
	if (str_parse_u64(first, 1, UINT16_MAX, &a) < 0 ||
	    (range &&
	     str_parse_u64(text + strlen(first) + 1, a, UINT16_MAX, &b) < 0))
		return -EINVAL;
	if (range)
		snprintf(out, 16, "%u-%u", (unsigned)a, (unsigned)b);
	else
		snprintf(out, 16, "%u", (unsigned)a);
	return 0;
}

static const char *scheme_take(const char *text, struct target *t)
{
	static const struct {
		const char *prefix, *proto, *port;
	} schemes[] = {
		{ "http://", "http", "80" },
		{ "https://", NULL, "443" },
		{ "tcp://", "tcp", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		if (!str_starts(text, schemes[i].prefix))
			continue;
		t->proto = schemes[i].proto;
		snprintf(t->ports, sizeof(t->ports), "%s", schemes[i].port);
		return text + strlen(schemes[i].prefix);
	}
	return text;
}

/* Names may be in any script, so bytes past ASCII are let through. */
static bool host_is_plain(const char *host)
{
	for (const char *p = host; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c <= ' ' || c == 0x7f ||
		    strchr("\"\\'{}[],#&*!|>%@`?<=", c))
			return false;
	}
	return *host != '\0';
}

/* Splits the port off; "[v6]:443" keeps no brackets. */
static int host_split(char *host, struct target *t)
{
	char *colon = strrchr(host, ':');
	char *close = strrchr(host, ']');

	if (host[0] == '[') {
		if (!close || (close[1] && close[1] != ':'))
			return -EINVAL;
		colon = close[1] ? close + 1 : NULL;
		*close = '\0';
		memmove(host, host + 1, strlen(host + 1) + 1);
		if (colon)
			return ports_parse(colon + 1, t->ports);
		return 0;
	}
	if (!colon || strchr(host, ':') != colon)
		return 0; /* none, or IPv6 */
	*colon = '\0';
	return ports_parse(colon + 1, t->ports);
}

/* "*.x" is how others write ".x"; a slash at the end is a browser's. */
static void host_tidy(char *host)
{
	size_t len = strlen(host);

	if (len > 0 && host[len - 1] == '/')
		host[len - 1] = '\0';
	if (str_starts(host, "*."))
		memmove(host, host + 1, strlen(host));
}

static bool is_ascii(const char *s)
{
	for (; *s; s++)
		if (*s & 0x80)
			return false;
	return true;
}

/* As ottergate/policy/names.c has it. What is no host name stays as it is: the
 * gateway says why it takes it not. */
static void host_ascii(char host[static EGRESS_TARGET_MAX + 1])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
	size_t at = *host == '.' || *host == '+', len;
	char *ascii = NULL;

	if (is_ascii(host) ||
	    idn2_to_ascii_8z(host + at, &ascii,
			     IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT) != IDN2_OK)
		return;
	len = strlen(ascii);
	if (strspn(ascii, plain) == len && at + len <= EGRESS_TARGET_MAX)
		memcpy(host + at, ascii, len + 1);
	idn2_free(ascii);
}

static int target_parse(const char *text, struct target *ret)
{
	struct target t = { 0 };
	const char *rest = scheme_take(text, &t);
	const char *slash;
	char *host = t.host;

	if (strlen(rest) > EGRESS_TARGET_MAX)
		return -EINVAL;
	memcpy(host, rest, strlen(rest) + 1);
	host_tidy(host);
	if (host_split(host, &t) < 0 || !host_is_plain(host))
		return -EINVAL;
	host_ascii(host);
	/* Digits and dots, or colons: an address; then a range may follow. */
	t.address = host[strspn(host, "0123456789./")] == '\0' ||
		    strchr(host, ':');
	slash = strchr(host, '/');
	if (slash && !t.address)
		return -EINVAL;
	if (t.proto && strcmp(t.proto, "tcp") == 0 && !t.ports[0])
		return -EINVAL;
	*ret = t;
	return 0;
}

int egress_add_target(struct strv *list, const char *target, struct err *err)
{
	SCOPED_STR ascii = NULL;
	struct target t;
	char shown[128];

	if (target_parse(target, &t) < 0)
		return err_set(
			err, -EINVAL,
			"'%s' is no HOST[:PORT]: a name, .name or +name, "
			"an address; paths cannot be enforced",
			str_escape(shown, sizeof(shown), target,
				   strlen(target)));
	if (is_ascii(target) || t.address || !is_ascii(t.host))
		return list_add(list, target, EGRESS_TARGETS_MAX, err);
	ascii = str_printf("%s%s%s%s%s", t.proto ? t.proto : "",
			   t.proto ? "://" : "", t.host, t.ports[0] ? ":" : "",
			   t.ports);
	return ascii ? list_add(list, ascii, EGRESS_TARGETS_MAX, err) :
		       err_nomem(err);
}

int egress_check_allowable(const char *target, struct err *err)
{
	struct target t;

	if (target_parse(target, &t) < 0)
		return 0; /* refused where it is added */
	return t.address ? egress_denied_address(t.host, err) :
			   egress_denied_name(t.host, err);
}

int egress_check_own(const char *target, const char *own, struct err *err)
{
	struct target t;

	return target_parse(target, &t) == 0 && t.address ?
		       egress_denied_own(t.host, own, err) :
		       0;
}

/* An address of IPv6, or a range of them: *ret_len is how long its prefix is. */
static bool address_parse(const char *text, uint8_t ret[static 16],
			  uint64_t *ret_len)
{
	size_t len = strcspn(text, "/");
	char address[INET6_ADDRSTRLEN];

	*ret_len = 128;
	if (len >= sizeof(address) ||
	    (text[len] && str_parse_u64(text + len + 1, 0, 128, ret_len) < 0))
		return false;
	memcpy(address, text, len);
	address[len] = '\0';
	return inet_pton(AF_INET6, address, ret) == 1;
}

/* One address, or one range, in two spellings. */
static bool is_same_address(const char *a, const char *b)
{
	uint64_t x_len, y_len;
	uint8_t x[16], y[16];

	return address_parse(a, x, &x_len) && address_parse(b, y, &y_len) &&
	       x_len == y_len && memcmp(x, y, sizeof(x)) == 0;
}

static bool is_same_host(const char *a, const char *b)
{
	struct target x, y;

	return target_parse(a, &x) == 0 && target_parse(b, &y) == 0 &&
	       (strcasecmp(x.host, y.host) == 0 ||
		is_same_address(x.host, y.host));
}

bool egress_denial_covers(const char *denial, const char *allowance)
{
	struct target d, a;

	if (!is_same_host(denial, allowance) || target_parse(denial, &d) < 0 ||
	    target_parse(allowance, &a) < 0)
		return false;
	return !d.ports[0] ||
	       strcmp(d.ports, a.ports[0] ? a.ports : "443") == 0;
}

int egress_allow(struct egress *e, const char *target, struct err *err)
{
	int r = egress_check_allowable(target, err);

	if (r == 0)
		r = egress_add_target(&e->allow, target, err);
	for (size_t i = e->deny.n; r == 0 && i-- > 0;)
		if (is_same_host(e->deny.v[i], target))
			list_drop(&e->deny, i);
	return r;
}

int egress_deny(struct egress *e, const char *target, struct err *err)
{
	int r = egress_add_target(&e->deny, target, err);

	for (size_t i = e->allow.n; r == 0 && i-- > 0;)
		if (egress_denial_covers(target, e->allow.v[i]))
			list_drop(&e->allow, i);
	return r;
}

/* ---- as stored ---- */

bool egress_is_empty(const struct egress *e)
{
	return e->mode == EGRESS_UNSET && e->presets.n == 0 &&
	       e->allow.n == 0 && e->deny.n == 0 && e->push == PUSH_UNSET;
}

static int targets_load(const json_t *v, const char *key, struct strv *list,
			struct err *err)
{
	struct strv all = { 0 };
	int r = jsonx_strv(v, key, EGRESS_TARGETS_MAX, &all, err);

	for (size_t i = 0; r == 0 && i < all.n; i++)
		r = egress_add_target(list, all.v[i], err);
	strv_done(&all);
	return r;
}

int egress_load(const char *json, struct egress *ret, struct err *err)
{
	struct egress e = { 0 };
	struct strv presets = { 0 };
	SCOPED_JSON v = NULL;
	const char *mode = "", *push = "";
	int r = 0;

	if (!json || !*json) {
		*ret = e;
		return 0;
	}
	r = jsonx_parse(json, strlen(json), &v, err);
	if (r == 0)
		r = jsonx_str(v, "mode", "", &mode, err);
	if (r == 0 && *mode && egress_mode_parse(mode, &e.mode) < 0)
		r = err_set(err, -EINVAL, "no egress mode '%s'", mode);
	if (r == 0)
		r = jsonx_str(v, "push", "", &push, err);
	if (r == 0 && *push && git_push_parse(push, &e.push) < 0)
		r = err_set(err, -EINVAL, "push cannot be '%.32s'", push);
	if (r == 0)
		r = jsonx_strv(v, "presets", EGRESS_PRESETS_MAX, &presets, err);
	for (size_t i = 0; r == 0 && i < presets.n; i++)
		r = egress_add_preset(&e, presets.v[i], err);
	strv_done(&presets);
	if (r == 0)
		r = targets_load(v, "allow", &e.allow, err);
	if (r == 0)
		r = targets_load(v, "deny", &e.deny, err);
	if (r < 0)
		egress_done(&e);
	else
		*ret = e;
	return r;
}

json_t *egress_json(const struct egress *e)
{
	json_t *v = json_pack("{s:s, s:o, s:o, s:o}", "mode",
			      egress_mode_name(e->mode), "presets",
			      jsonx_from_strv(&e->presets), "allow",
			      jsonx_from_strv(&e->allow), "deny",
			      jsonx_from_strv(&e->deny));

	if (v && e->push != PUSH_UNSET &&
	    json_object_set_new(v, "push",
				json_string(git_push_name(e->push))) < 0) {
		json_decref(v);
		return NULL;
	}
	return v;
}

char *egress_store(const struct egress *e)
{
	SCOPED_JSON v = egress_json(e);

	return v ? json_dumps(v, JSON_COMPACT) : NULL;
}

/* ---- what holds ---- */

int egress_merge(const struct egress *base, const struct egress *own,
		 bool packages, struct egress *ret)
{
	struct egress e = { .mode = own->mode, .push = own->push };
	struct err ignored = { 0 };
	int r = 0;

	if (e.mode == EGRESS_UNSET)
		e.mode = base->mode;
	if (e.mode == EGRESS_UNSET)
		e.mode = EGRESS_BALANCED;
	if (e.mode != EGRESS_LOCKED)
		r = list_add_all(&e.presets, &base->presets, STRV_MAX,
				 &ignored);
	if (r == 0)
		r = list_add_all(&e.presets, &own->presets, STRV_MAX, &ignored);
	if (r == 0 && e.mode != EGRESS_LOCKED && packages)
		r = list_add(&e.presets, EGRESS_PACKAGES, STRV_MAX, &ignored);
	if (r == 0)
		r = list_add_all(&e.allow, &base->allow, STRV_MAX, &ignored);
	if (r == 0)
		r = list_add_all(&e.allow, &own->allow, STRV_MAX, &ignored);
	if (r == 0)
		r = list_add_all(&e.deny, &base->deny, STRV_MAX, &ignored);
	e.n_base_deny = e.deny.n;
	if (r == 0)
		r = list_add_all(&e.deny, &own->deny, STRV_MAX, &ignored);
	if (r == 0 && base->limits) {
		e.limits = strdup(base->limits);
		r = e.limits ? 0 : -ENOMEM;
	}
	if (r < 0)
		egress_done(&e);
	else
		*ret = e;
	return r;
}

/* ---- YAML ---- */

/* Whoever allows a host by its name has been told of what he allows. */
#define RISKS ", risk_ok: [multi-tenant, shared-cdn]"

/* The first @n_base are the blueprint's. */
static int yaml_targets(struct buf *out, const char *key,
			const struct strv *list, size_t n_base,
			const char *more, const char *rules)
{
	int r = list->n || rules ? buf_printf(out, "    %s:\n", key) : 0;

	for (size_t i = 0; r >= 0 && i < list->n; i++) {
		struct target t;

		if (target_parse(list->v[i], &t) < 0)
			return -EINVAL;
		r = buf_printf(out, "      - { id: %s-%zu, %s: [\"%s\"]", key,
			       i + 1, t.address ? "ips" : "names", t.host);
		if (r >= 0 && t.ports[0])
			r = buf_printf(out, ", ports: [\"%s\"]", t.ports);
		if (r >= 0 && *more && t.proto)
			r = buf_printf(out, ", proto: %s", t.proto);
		if (r >= 0)
			r = buf_printf(out, "%s%s }\n", more,
				       i < n_base ? ", from: blueprint" : "");
	}
	return r >= 0 && rules ? buf_append(out, rules, strlen(rules)) : r;
}

int egress_yaml(const struct egress *e, const char *id, const char *address,
		struct buf *out)
{
	int r = buf_printf(out,
			   "# Written by acd for each run.\n"
			   "version: 1\n"
			   "agents:\n"
			   "  - id: \"%s\"\n"
			   "    match: { address: %s }\n"
			   "    mode: %s\n",
			   id, address,
			   e->mode == EGRESS_OPEN ? "observe" : "enforce");

	if (r >= 0 && e->presets.n) {
		r = buf_printf(out, "    use: [");
		for (size_t i = 0; r >= 0 && i < e->presets.n; i++)
			r = buf_printf(out, "%s\"%s\"", i ? ", " : "",
				       e->presets.v[i]);
		if (r >= 0)
			r = buf_printf(out, "]\n");
	}
	if (r >= 0)
		r = yaml_targets(out, "allow", &e->allow, 0, RISKS, e->rules);
	if (r >= 0)
		r = yaml_targets(out, "deny", &e->deny, e->n_base_deny, "",
				 NULL);
	if (r >= 0 && e->limits)
		r = buf_printf(out, "    limits: %s\n", e->limits);
	return r < 0 ? r : 0;
}
