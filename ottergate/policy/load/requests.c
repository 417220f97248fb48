/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.c - what a rule says about requests: read and kept for
 * inspection; a tunnel cannot hold any of it
 */
#include "ottergate/policy/parse.h"

#include <stdlib.h>
#include <string.h>

#define CA_SECONDS_MIN UINT64_C(60)
#define CA_SECONDS_MAX (UINT64_C(400) * 24 * 3600) /* what clients accept */
#define ITEMS_MAX 256u /* of one list of methods, paths or matches */
#define BODY_MAX (UINT64_C(1) << 40)

/* The rule's http part, made with the first field that needs one. */
static struct http_rules *http_of(struct load *ld, const struct yaml_node *n,
				  struct rule_parse *rp)
{
	if (!rp->inspect)
		rp->inspect = n;
	if (rp->http)
		return rp->http;
	rp->http = arena_alloc(ld->arena, sizeof(*rp->http));
	if (!rp->http) {
		load_nomem(ld);
		return NULL;
	}
	rp->http->upload_max = rp->http->response_max = UINT64_MAX;
	rp->own.body_max = UINT64_MAX;
	return rp->http;
}

static int list_count(struct load *ld, const struct yaml_node *n, uint32_t *ret)
{
	uint32_t count = 0;

	if (n->kind != YAML_LIST || !n->first)
		return load_refuse(ld, n, "a list is wanted here");
	for (const struct yaml_node *c = n->first; c; c = c->next)
		count++;
	if (count > ITEMS_MAX)
		return load_refuse(ld, n, "more than %u items", ITEMS_MAX);
	*ret = count;
	return 0;
}

static bool is_method(const char *s)
{
	size_t len = strlen(s);

	return strcmp(s, "*") == 0 ||
	       (len > 0 && len <= 16 &&
		strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == len);
}

static bool is_path(const char *s)
{
	return s[0] == '/' && !strpbrk(s, "?\\ ");
}

static int load_words(struct load *ld, const struct yaml_node *n,
		      bool (*good)(const char *s), const char *what,
		      const char *const **ret, uint32_t *ret_n)
{
	const char **v;
	uint32_t count, i = 0;
	int r = list_count(ld, n, &count);

	if (r < 0)
		return r;
	v = arena_array(ld->arena, count, sizeof(const char *));
	if (!v)
		return load_nomem(ld);
	for (const struct yaml_node *c = n->first; c; c = c->next, i++) {
		r = load_string(ld, c, &v[i]);
		if (r < 0)
			return r;
		if (!good(v[i]))
			return load_refuse(ld, c, "%s is wanted here", what);
	}
	*ret = v;
	*ret_n = count;
	return 0;
}

static int match_methods(struct load *ld, const struct yaml_node *n, void *to)
{
	struct http_match *m = to;

	return load_words(ld, n, is_method, "a method such as GET, or \"*\",",
			  &m->methods, &m->n_methods);
}

static int match_paths(struct load *ld, const struct yaml_node *n, void *to)
{
	struct http_match *m = to;

	return load_words(ld, n, is_path, "a path such as /v1/**", &m->paths,
			  &m->n_paths);
}

static int match_body(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_size(ld, n, 0, BODY_MAX,
			 &((struct http_match *)to)->body_max);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int load_names(struct load *ld, const struct yaml_node *n, void *to)
{
	struct igraphql_names *names = to;
	const char *const *v;
	const char **sorted;
	uint32_t count;
	int r = load_words(ld, n, igraphql_is_name, "a name of GraphQL", &v,
			   &count);

	if (r < 0)
		return r;
	sorted = arena_array(ld->arena, count, sizeof(*sorted));
	if (!sorted)
		return load_nomem(ld);
	memcpy(sorted, v, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_text);
	*names = (struct igraphql_names){ sorted, count };
	return 0;
}

static int match_graphql(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "any", "query-only", NULL };
	static const struct field fields[] = {
		{ "mutations", load_names,
		  offsetof(struct igraphql_rule, mutations) },
		{ "push", load_names, offsetof(struct igraphql_rule, push) },
		{ "without", load_names,
		  offsetof(struct igraphql_rule, without) },
	};
	struct igraphql_rule *rule;
	unsigned v = 1;
	int r = 0;

	if (n->kind != YAML_MAP)
		r = load_word(ld, n, words, &v);
	if (r < 0 || v == 0)
		return r;
	rule = arena_alloc(ld->arena, sizeof(*rule));
	if (!rule)
		return load_nomem(ld);
	((struct http_match *)to)->graphql = rule;
	return n->kind == YAML_MAP ?
		       load_map(ld, n, fields, ARRAY_SIZE(fields), rule) :
		       0;
}

static int match_forms(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "any", "judge", NULL };
	unsigned v = 0;
	int r = load_word(ld, n, words, &v);

	((struct http_match *)to)->judge_forms = r == 0 && v == 1;
	return r;
}

static int match_push(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_bool(ld, n, &((struct http_match *)to)->push);
}

static const struct field allow_fields[] = {
	{ "methods", match_methods, 0 }, { "paths", match_paths, 0 },
	{ "body_max", match_body, 0 },   { "graphql", match_graphql, 0 },
	{ "forms", match_forms, 0 },
};

static const struct field deny_fields[] = {
	{ "methods", match_methods, 0 },
	{ "paths", match_paths, 0 },
	{ "push", match_push, 0 },
};

static const struct field within_fields[] = {
	{ "methods", match_methods, 0 },
	{ "paths", match_paths, 0 },
};

static int load_matches(struct load *ld, const struct yaml_node *n,
			struct rule_parse *rp, const struct field *fields,
			size_t n_fields, const struct http_match **ret,
			uint32_t *ret_n)
{
	struct http_match *v;
	uint32_t count, i = 0;
	int r = list_count(ld, n, &count);

	if (r < 0)
		return r;
	v = arena_array(ld->arena, count, sizeof(*v));
	if (!v)
		return load_nomem(ld);
	for (const struct yaml_node *c = n->first; c; c = c->next, i++) {
		v[i].body_max = UINT64_MAX;
		r = load_map(ld, c, fields, n_fields, &v[i]);
		if (r < 0)
			return r;
		if (v[i].n_paths)
			rp->has_paths = true;
	}
	*ret = v;
	*ret_n = count;
	return 0;
}

static int http_allow(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;

	return load_matches(ld, n, rp, allow_fields, ARRAY_SIZE(allow_fields),
			    &rp->http->allow, &rp->http->n_allow);
}

static int http_within(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;

	return load_matches(ld, n, rp, within_fields, ARRAY_SIZE(within_fields),
			    &rp->http->within, &rp->http->n_within);
}

static int http_deny(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;
	bool has_paths = rp->has_paths; /* those of a denial limit nothing */
	int r = load_matches(ld, n, rp, deny_fields, ARRAY_SIZE(deny_fields),
			     &rp->http->deny, &rp->http->n_deny);

	rp->has_paths = has_paths;
	return r;
}

int load_rule_http(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "within", http_within, 0 },
		{ "allow", http_allow, 0 },
		{ "deny", http_deny, 0 },
	};

	if (!http_of(ld, n, to))
		return -ENOMEM;
	return load_map(ld, n, fields, ARRAY_SIZE(fields), to);
}

int load_rule_methods(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;

	if (!http_of(ld, n, rp))
		return -ENOMEM;
	return match_methods(ld, n, &rp->own);
}

int load_rule_paths(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;

	if (!http_of(ld, n, rp))
		return -ENOMEM;
	rp->has_paths = true;
	return match_paths(ld, n, &rp->own);
}

static int auth_use(struct load *ld, const struct yaml_node *n, void *to)
{
	struct policy *p = ld->policy;
	struct rule_parse *rp = to;
	const char *id = NULL;
	int r = load_id(ld, n, &id);

	if (r < 0)
		return r;
	for (size_t i = 0; i < p->n_credentials; i++) {
		if (strcmp(p->credentials[i].id, id) == 0)
			rp->e->r.credential = p->credentials[i].id;
	}
	if (rp->e->r.credential)
		return 0;
	/* An agent's own rules are acd's words, which brings the secret itself
	 * (secrets.h). */
	if (!ld->is_agent)
		return load_refuse(ld, n, "there is no credential '%s'", id);
	rp->e->r.credential = id;
	return 0;
}

static int auth_exclusive(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_bool(ld, n, &((struct rule_parse *)to)->http->exclusive);
}

static int auth_surrogate(struct load *ld, const struct yaml_node *n,
			  void *to ATTR_UNUSED)
{
	return load_no_effect(ld, n, "acd makes one for each run");
}

static int auth_as(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_id(ld, n, &((struct rule_parse *)to)->http->auth_as);
}

int load_rule_auth(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "use", auth_use, 0 },
		{ "exclusive", auth_exclusive, 0 },
		{ "surrogate", auth_surrogate, 0 },
		{ "as", auth_as, 0 },
	};
	struct rule_parse *rp = to;
	int r;

	if (!http_of(ld, n, rp))
		return -ENOMEM;
	rp->has_auth = true;
	r = load_map(ld, n, fields, ARRAY_SIZE(fields), rp);
	if (r == 0 && !rp->e->r.credential)
		return load_refuse(ld, n, "`auth` without `use`");
	return r;
}

static int stream_sse(struct load *ld, const struct yaml_node *n,
		      void *to ATTR_UNUSED)
{
	return load_only_true(ld, n,
			      "an answer that is a stream passes as one");
}

static int stream_websocket(struct load *ld, const struct yaml_node *n,
			    void *to)
{
	return load_bool(ld, n, &((struct rule_parse *)to)->e->r.websocket);
}

int load_rule_stream(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "sse", stream_sse, 0 },
		{ "websocket", stream_websocket, 0 },
	};

	if (!http_of(ld, n, to))
		return -ENOMEM;
	return load_map(ld, n, fields, ARRAY_SIZE(fields), to);
}

static int upload_max(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_size(ld, n, 0, BODY_MAX,
			 &((struct rule_parse *)to)->http->upload_max);
}

int load_rule_upload(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = { { "body_max", upload_max, 0 } };

	if (!http_of(ld, n, to))
		return -ENOMEM;
	return load_map(ld, n, fields, ARRAY_SIZE(fields), to);
}

/* A word for what is done in any case. */
static int response_redact(struct load *ld, const struct yaml_node *n,
			   void *to ATTR_UNUSED)
{
	static const char *const words[] = { "injected", NULL };
	unsigned v;

	return load_word(ld, n, words, &v);
}

static int response_max(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_size(ld, n, 0, BODY_MAX,
			 &((struct rule_parse *)to)->http->response_max);
}

int load_rule_response(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "redact", response_redact, 0 },
		{ "max", response_max, 0 },
	};

	if (!http_of(ld, n, to))
		return -ENOMEM;
	return load_map(ld, n, fields, ARRAY_SIZE(fields), to);
}

static int limits_requests(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_rate(ld, n, "/m", false, UINT32_MAX,
			 &((struct rule_parse *)to)->http->requests_min);
}

static int limits_tokens(struct load *ld, const struct yaml_node *n,
			 void *to ATTR_UNUSED)
{
	return load_no_effect(ld, n,
			      "no field of an answer is counted (`requests`)");
}

int load_rule_limits(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "requests", limits_requests, 0 },
		{ "tokens_header", limits_tokens, 0 },
	};

	if (!http_of(ld, n, to))
		return -ENOMEM;
	return load_map(ld, n, fields, ARRAY_SIZE(fields), to);
}

static bool names_methods(const struct http_match *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < v[i].n_methods; k++)
			if (strcmp(v[i].methods[k], "*") != 0)
				return true;
	return false;
}

static size_t paths_count(const struct http_match *v, uint32_t n)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += v[i].n_paths;
	return sum;
}

static void paths_put(struct ipath_pattern **to, const struct http_match *v,
		      uint32_t n, uint32_t first)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < v[i].n_paths; k++)
			*(*to)++ = (struct ipath_pattern){
				.text = v[i].paths[k],
				.item = (uint16_t)(first + i),
			};
}

/* All paths of the rule in two sets, which requests are held against. */
static int paths_compile(struct load *ld, struct rule_parse *rp)
{
	struct http_rules *h = rp->http;
	size_t n = paths_count(h->allow, h->n_allow) +
		   paths_count(h->within, h->n_within) +
		   paths_count(h->deny, h->n_deny);
	struct ipath_pattern *v = calloc(n + 1, sizeof(*v)), *to = v;
	int r = v ? 0 : -ENOMEM;

	_Static_assert(2 * ITEMS_MAX <= IPATH_SET_ITEMS, "one bit for each");
	h->restricted = names_methods(h->within, h->n_within) ||
			names_methods(h->allow, h->n_allow) ||
			names_methods(h->deny, h->n_deny);
	if (r == 0) {
		paths_put(&to, h->allow, h->n_allow, 0);
		paths_put(&to, h->within, h->n_within, h->n_allow);
		r = ipath_set_make(ld->arena, v, (size_t)(to - v), false,
				   &h->exact);
	}
	if (r == 0) {
		to = v;
		paths_put(&to, h->deny, h->n_deny, 0);
		paths_put(&to, h->allow, h->n_allow, h->n_deny);
		r = ipath_set_make(ld->arena, v, (size_t)(to - v), true,
				   &h->alike);
	}
	free(v);
	if (r == -E2BIG)
		return load_refuse(ld, rp->inspect, "too many paths");
	return r < 0 ? load_nomem(ld) : 0;
}

int load_rule_http_end(struct load *ld, struct rule_parse *rp)
{
	struct http_match *own;

	if (!rp->http)
		return 0;
	if (rp->own.n_methods || rp->own.n_paths) {
		if (rp->http->n_allow)
			return load_refuse(ld, rp->inspect,
					   "`methods` and `paths` or `http`, "
					   "not both");
		own = arena_alloc(ld->arena, sizeof(*own));
		if (!own)
			return load_nomem(ld);
		*own = rp->own;
		rp->http->allow = own;
		rp->http->n_allow = 1;
	}
	rp->e->r.http = rp->http;
	return paths_compile(ld, rp);
}

/* --- inspect ------------------------------------------------------------- */

static int ca_per(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "agent", NULL };
	unsigned v;

	(void)to;
	return load_word(ld, n, words, &v);
}

static int ca_key(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "ecdsa-p256", NULL };
	unsigned v;

	(void)to;
	return load_word(ld, n, words, &v);
}

/* Longer than other times may be: it ends a sandbox's inspection, whatever the
 * sandbox is at. */
static int ca_life(struct load *ld, const struct yaml_node *n, void *to)
{
	uint64_t ms;

	if (n->kind != YAML_SCALAR || str_parse_duration(n->text, &ms) < 0 ||
	    ms < CA_SECONDS_MIN * 1000 || ms > CA_SECONDS_MAX * 1000)
		return load_refuse(ld, n,
				   "a time such as 30d is wanted here, from "
				   "1m to 400d");
	*(uint32_t *)to = (uint32_t)(ms / 1000);
	return 0;
}

static int inspect_ca(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "per", ca_per, 0 },
		{ "key", ca_key, 0 },
		{ "lifetime", ca_life,
		  offsetof(struct inspect_settings, ca_seconds) },
		{ "leaf_lifetime", load_ms,
		  offsetof(struct inspect_settings, leaf_lifetime) },
	};

	return load_map(ld, n, fields, ARRAY_SIZE(fields), to);
}

static int inspect_alpn(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char *const words[] = { "mirror", NULL };
	unsigned v;

	(void)to;
	return load_word(ld, n, words, &v);
}

static int inspect_host(struct load *ld, const struct yaml_node *n,
			void *to ATTR_UNUSED)
{
	return load_only_true(ld, n,
			      "another host than that of the hello is refused");
}

int load_inspect(struct load *ld, const struct yaml_node *n, void *to)
{
	static const struct field fields[] = {
		{ "ca", inspect_ca, 0 },
		{ "alpn", inspect_alpn, 0 },
		{ "host_must_equal_sni", inspect_host, 0 },
	};

	(void)to;
	return load_map(ld, n, fields, ARRAY_SIZE(fields),
			&ld->policy->inspect);
}
