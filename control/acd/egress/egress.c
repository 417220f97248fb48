/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress.c - what an instance may reach, in the user's words
 *
 * Targets are read by lib/target.c: what it takes are names and addresses to
 * the gateway as well, and hold nothing that means something in YAML, so that
 * they can stand between double quotes as they are. Rules of credentials come
 * behind them: for one name inspect goes before tunnel.
 *
 * A name of another script is stored in the form that the gateway knows, xn--…,
 * so that what was typed and what a denial names are one.
 */
#include "control/acd/egress/egress.h"

#include <arpa/inet.h>
#include <idn2.h>
#include <string.h>

#include "control/acd/egress/denied.h"
#include "control/acd/net/services.h"
#include "control/shared/json.h"
#include "control/shared/names.h"
#include "lib/target.h"

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
	strv_done(&e->services);
	free(e->model_url);
	free(e->limits);
	free(e->rules);
	free(e->places);
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
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < more->n; i++)
		rc = list_add(list, more->v[i], max, err);
	return rc;
}

static void list_drop(struct strv *list, size_t i)
{
	free(list->v[i]);
	/* The NULL at the end moves too. */
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

/* A target in the words of a rule. */
struct place {
	const char *proto; /* "tcp", "http", NULL: by port */
	char host[TARGET_HOST_MAX + 2]; /* with its pattern */
	char ports[16]; /* "443", "8000-8010", "" */
	bool address;
};

/* Converts U-labels as ottergate/policy/load/endpoint.c does. What is no host name
 * stays as it is: the gateway says why it refuses it. */
static void host_ascii(char host[static TARGET_HOST_MAX + 2])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
	size_t at = *host == '.' || *host == '+', len;
	char *ascii = NULL;

	if (!target_is_foreign(slice_str(host)) ||
	    idn2_to_ascii_8z(host + at, &ascii,
			     IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT) != IDN2_OK)
		return;
	len = strlen(ascii);
	if (strspn(ascii, plain) == len && at + len <= TARGET_HOST_MAX)
		memcpy(host + at, ascii, len + 1);
	idn2_free(ascii);
}

/* Without a port that is written, that of the scheme. */
static void put_ports(const struct target *t, char out[static 16])
{
	if (t->first < t->last)
		snprintf(out, 16, "%u-%u", t->first, t->last);
	else if (t->first || t->scheme != TARGET_PLAIN)
		snprintf(out, 16, "%u", target_port(t));
	else
		*out = '\0';
}

static int place_parse(const char *text, struct place *ret)
{
	static const char *const protos[] = {
		[TARGET_HTTP] = "http",
		[TARGET_TCP] = "tcp",
	};
	enum target_fault fault;
	struct place p = { 0 };
	struct target t;
	size_t at;

	if (target_parse(slice_str(text), TARGET_RULE, &t, &fault) < 0)
		return -EINVAL;
	p.proto = protos[t.scheme];
	p.host[0] = t.pattern;
	at = t.pattern != 0;
	memcpy(p.host + at, t.host.ptr, t.host.len);
	host_ascii(p.host);
	p.address = t.kind != TARGET_NAME;
	put_ports(&t, p.ports);
	*ret = p;
	return 0;
}

int egress_add_target(struct strv *list, const char *target, struct err *err)
{
	SCOPED_STR ascii = NULL;
	struct place t;
	char shown[128];

	if (place_parse(target, &t) < 0)
		return err_set(
			err, -EINVAL,
			"'%s' is no HOST[:PORT]: a name, .name or +name, "
			"an address; paths cannot be enforced",
			str_escape(shown, sizeof(shown), target,
				   strlen(target)));
	if (!target_is_foreign(slice_str(target)) || t.address ||
	    target_is_foreign(slice_str(t.host)))
		return list_add(list, target, EGRESS_TARGETS_MAX, err);
	ascii = str_printf("%s%s%s%s%s", t.proto ? t.proto : "",
			   t.proto ? "://" : "", t.host, t.ports[0] ? ":" : "",
			   t.ports);
	return ascii ? list_add(list, ascii, EGRESS_TARGETS_MAX, err) :
		       err_nomem(err);
}

int egress_check_allowable(const char *target, struct err *err)
{
	struct place t;

	if (place_parse(target, &t) < 0)
		return 0; /* refused where it is added */
	return t.address ? egress_denied_address(t.host, err) :
			   egress_denied_name(t.host, err);
}

int egress_check_own(const char *target, const char *own, struct err *err)
{
	struct place t;

	return place_parse(target, &t) == 0 && t.address ?
		       egress_denied_own(t.host, own, err) :
		       0;
}

/* An address of IPv6, or a range of them: *ret_len is how long its prefix
 * is. */
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
	struct place x, y;

	return place_parse(a, &x) == 0 && place_parse(b, &y) == 0 &&
	       (strcasecmp(x.host, y.host) == 0 ||
		is_same_address(x.host, y.host));
}

bool egress_denial_covers(const char *denial, const char *allowance)
{
	struct place d, a;

	if (!is_same_host(denial, allowance) || place_parse(denial, &d) < 0 ||
	    place_parse(allowance, &a) < 0)
		return false;
	return !d.ports[0] ||
	       strcmp(d.ports, a.ports[0] ? a.ports : "443") == 0;
}

int egress_allow(struct egress *e, const char *target, struct err *err)
{
	int rc = egress_check_allowable(target, err);

	if (rc == 0)
		rc = egress_add_target(&e->allow, target, err);
	for (size_t i = e->deny.n; rc == 0 && i-- > 0;)
		if (is_same_host(e->deny.v[i], target))
			list_drop(&e->deny, i);
	return rc;
}

int egress_deny(struct egress *e, const char *target, struct err *err)
{
	int rc = egress_add_target(&e->deny, target, err);

	for (size_t i = e->allow.n; rc == 0 && i-- > 0;)
		if (egress_denial_covers(target, e->allow.v[i]))
			list_drop(&e->allow, i);
	return rc;
}

int egress_add_service(struct egress *e, const char *name, struct err *err)
{
	struct err why = { 0 };

	if (strcmp(name, SERVICE_NONE) == 0) {
		strv_done(&e->services);
		return 0;
	}
	if (name_check_blueprint(name, &why) < 0)
		return err_set(err, -EINVAL, "'%.64s' is no name of a service",
			       name);
	return list_add(&e->services, name, EGRESS_SERVICES_MAX, err);
}

/* ---- storing ---- */

bool egress_is_empty(const struct egress *e)
{
	return e->mode == EGRESS_UNSET && e->presets.n == 0 &&
	       e->allow.n == 0 && e->deny.n == 0 && e->push == PUSH_UNSET &&
	       e->services.n == 0 && !e->model_url;
}

static int targets_load(const json_t *v, const char *key, struct strv *list,
			struct err *err)
{
	struct strv all = { 0 };
	int rc = jsonx_strv(v, key, EGRESS_TARGETS_MAX, &all, err);

	for (size_t i = 0; rc == 0 && i < all.n; i++)
		rc = egress_add_target(list, all.v[i], err);
	strv_done(&all);
	return rc;
}

static int services_load(const json_t *v, struct egress *e, struct err *err)
{
	struct strv all = { 0 };
	int rc = jsonx_strv(v, "services", EGRESS_SERVICES_MAX, &all, err);

	for (size_t i = 0; rc == 0 && i < all.n; i++)
		rc = egress_add_service(e, all.v[i], err);
	strv_done(&all);
	return rc;
}

static int model_load(const json_t *v, struct egress *e, struct err *err)
{
	const char *url = NULL;
	int rc = jsonx_str(v, "model_url", NULL, &url, err);

	if (rc < 0 || !url)
		return rc;
	e->model_url = strdup(url);
	return e->model_url ? 0 : err_nomem(err);
}

int egress_load(const char *json, struct egress *ret, struct err *err)
{
	struct egress e = { 0 };
	struct strv presets = { 0 };
	SCOPED_JSON v = NULL;
	const char *mode = "", *push = "";
	int rc = 0;

	if (!json || !*json) {
		*ret = e;
		return 0;
	}
	rc = jsonx_parse(json, strlen(json), &v, err);
	if (rc == 0)
		rc = jsonx_str(v, "mode", "", &mode, err);
	if (rc == 0 && *mode && egress_mode_parse(mode, &e.mode) < 0)
		rc = err_set(err, -EINVAL, "no egress mode '%s'", mode);
	if (rc == 0)
		rc = jsonx_str(v, "push", "", &push, err);
	if (rc == 0 && *push && git_push_parse(push, &e.push) < 0)
		rc = err_set(err, -EINVAL, "push cannot be '%.32s'", push);
	if (rc == 0)
		rc = jsonx_strv(v, "presets", EGRESS_PRESETS_MAX, &presets,
				err);
	for (size_t i = 0; rc == 0 && i < presets.n; i++)
		rc = egress_add_preset(&e, presets.v[i], err);
	strv_done(&presets);
	if (rc == 0)
		rc = targets_load(v, "allow", &e.allow, err);
	if (rc == 0)
		rc = targets_load(v, "deny", &e.deny, err);
	if (rc == 0)
		rc = services_load(v, &e, err);
	if (rc == 0)
		rc = model_load(v, &e, err);
	if (rc < 0)
		egress_done(&e);
	else
		*ret = e;
	return rc;
}

json_t *egress_json(const struct egress *e)
{
	json_t *v = json_pack("{s:s, s:o, s:o, s:o}", "mode",
			      egress_mode_name(e->mode), "presets",
			      jsonx_from_strv(&e->presets), "allow",
			      jsonx_from_strv(&e->allow), "deny",
			      jsonx_from_strv(&e->deny));

	int bad = !v;

	if (!bad && e->push != PUSH_UNSET)
		bad = json_object_set_new(v, "push",
					  json_string(git_push_name(e->push)));
	if (!bad && e->services.n)
		bad = json_object_set_new(v, "services",
					  jsonx_from_strv(&e->services));
	if (!bad && e->model_url)
		bad = json_object_set_new(v, "model_url",
					  json_string(e->model_url));
	if (!bad)
		return v;
	json_decref(v);
	return NULL;
}

char *egress_store(const struct egress *e)
{
	SCOPED_JSON v = egress_json(e);

	return v ? json_dumps(v, JSON_COMPACT) : NULL;
}

/* ---- merging ---- */

int egress_merge(const struct egress *base, const struct egress *own,
		 bool packages, struct egress *ret)
{
	struct egress e = { .mode = own->mode, .push = own->push };
	struct err ignored = { 0 };
	int rc = 0;

	if (e.mode == EGRESS_UNSET)
		e.mode = base->mode;
	if (e.mode == EGRESS_UNSET)
		e.mode = EGRESS_BALANCED;
	if (e.mode != EGRESS_LOCKED)
		rc = list_add_all(&e.presets, &base->presets, STRV_MAX,
				  &ignored);
	if (rc == 0)
		rc = list_add_all(&e.presets, &own->presets, STRV_MAX,
				  &ignored);
	if (rc == 0 && e.mode != EGRESS_LOCKED && packages)
		rc = list_add(&e.presets, EGRESS_PACKAGES, STRV_MAX, &ignored);
	if (rc == 0)
		rc = list_add_all(&e.allow, &base->allow, STRV_MAX, &ignored);
	if (rc == 0)
		rc = list_add_all(&e.allow, &own->allow, STRV_MAX, &ignored);
	if (rc == 0)
		rc = list_add_all(&e.deny, &base->deny, STRV_MAX, &ignored);
	if (rc == 0)
		rc = list_add_all(&e.services, &own->services, STRV_MAX,
				  &ignored);
	if (rc == 0 && own->model_url) {
		e.model_url = strdup(own->model_url);
		rc = e.model_url ? 0 : -ENOMEM;
	}
	e.n_base_deny = e.deny.n;
	if (rc == 0)
		rc = list_add_all(&e.deny, &own->deny, STRV_MAX, &ignored);
	if (rc == 0 && base->limits) {
		e.limits = strdup(base->limits);
		rc = e.limits ? 0 : -ENOMEM;
	}
	if (rc < 0)
		egress_done(&e);
	else
		*ret = e;
	return rc;
}

/* ---- YAML ---- */

/* Users who allow a host by name were told of these risks. */
#define RISKS ", risk_ok: [multi-tenant, shared-cdn]"

/* The first @n_base are the blueprint's. */
static int yaml_targets(struct buf *out, const char *key,
			const struct strv *list, size_t n_base,
			const char *more, const char *rules)
{
	int rc = list->n || rules ? buf_printf(out, "    %s:\n", key) : 0;

	for (size_t i = 0; rc >= 0 && i < list->n; i++) {
		struct place t;

		if (place_parse(list->v[i], &t) < 0)
			return -EINVAL;
		rc = buf_printf(out, "      - { id: %s-%zu, %s: [\"%s\"]", key,
				i + 1, t.address ? "ips" : "names", t.host);
		if (rc >= 0 && t.ports[0])
			rc = buf_printf(out, ", ports: [\"%s\"]", t.ports);
		if (rc >= 0 && *more && t.proto)
			rc = buf_printf(out, ", proto: %s", t.proto);
		if (rc >= 0)
			rc = buf_printf(out, "%s%s }\n", more,
					i < n_base ? ", from: blueprint" : "");
	}
	return rc >= 0 && rules ? buf_append(out, rules, strlen(rules)) : rc;
}

int egress_yaml(const struct egress *e, const char *id, const char *address,
		struct buf *out)
{
	int rc = buf_printf(out,
			    "# Written by acd for each run.\n"
			    "version: 1\n"
			    "agents:\n"
			    "  - id: \"%s\"\n"
			    "    match: { address: %s }\n"
			    "    mode: %s\n",
			    id, address,
			    e->mode == EGRESS_OPEN ? "observe" : "enforce");

	if (rc >= 0 && e->presets.n) {
		rc = buf_printf(out, "    use: [");
		for (size_t i = 0; rc >= 0 && i < e->presets.n; i++)
			rc = buf_printf(out, "%s\"%s\"", i ? ", " : "",
					e->presets.v[i]);
		if (rc >= 0)
			rc = buf_printf(out, "]\n");
	}
	if (rc >= 0 && e->places)
		rc = buf_printf(out, "    services:\n%s", e->places);
	if (rc >= 0)
		rc = yaml_targets(out, "allow", &e->allow, 0, RISKS, e->rules);
	if (rc >= 0)
		rc = yaml_targets(out, "deny", &e->deny, e->n_base_deny, "",
				  NULL);
	if (rc >= 0 && e->limits)
		rc = buf_printf(out, "    limits: %s\n", e->limits);
	return rc < 0 ? rc : 0;
}
