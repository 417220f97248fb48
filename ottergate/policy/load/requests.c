/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.c - what a rule says about requests: read and kept for
 * inspection; a tunnel cannot hold any of it
 */
#include "ottergate/policy/load/parse.h"

#include <stdlib.h>
#include <string.h>

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
	int rc = list_count(ld, n, &count);

	if (rc < 0)
		return rc;
	v = arena_array(ld->arena, count, sizeof(const char *));
	if (!v)
		return load_nomem(ld);
	for (const struct yaml_node *c = n->first; c; c = c->next, i++) {
		rc = load_string(ld, c, &v[i]);
		if (rc < 0)
			return rc;
		if (!good(v[i]))
			return load_refuse(ld, c, "%s is wanted here", what);
	}
	*ret = v;
	*ret_n = count;
	return 0;
}

static const struct schema method_is = { .kind = SCHEMA_FORM,
					 .pattern = "\\*|[A-Z-]{1,16}" };
const struct schema load_methods_is = {
	.kind = SCHEMA_LIST, .item = &method_is, .min = 1, .max = ITEMS_MAX
};

static int match_methods(struct load *ld, const struct yaml_node *n, void *to)
{
	struct http_match *m = to;

	return load_words(ld, n, is_method, "a method such as GET, or \"*\",",
			  &m->methods, &m->n_methods);
}

static const struct schema path_is = { .kind = SCHEMA_FORM,
				       .pattern = "/[^?\\\\ ]*" };
const struct schema load_paths_is = {
	.kind = SCHEMA_LIST, .item = &path_is, .min = 1, .max = ITEMS_MAX
};

static int match_paths(struct load *ld, const struct yaml_node *n, void *to)
{
	struct http_match *m = to;

	return load_words(ld, n, is_path, "a path such as /v1/**", &m->paths,
			  &m->n_paths);
}

static const struct schema body_is = LOAD_SIZE_FROM(0, BODY_MAX);

static int match_body(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_size(ld, n, &body_is, &((struct http_match *)to)->body_max);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const struct schema load_names_is = {
	.kind = SCHEMA_LIST, .item = &schema_text, .min = 1, .max = ITEMS_MAX
};

static int load_names(struct load *ld, const struct yaml_node *n, void *to)
{
	struct igraphql_names *names = to;
	const char *const *v;
	const char **sorted;
	uint32_t count;
	int rc = load_words(ld, n, igraphql_is_name, "a name of GraphQL", &v,
			    &count);

	if (rc < 0)
		return rc;
	sorted = arena_array(ld->arena, count, sizeof(*sorted));
	if (!sorted)
		return load_nomem(ld);
	memcpy(sorted, v, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_text);
	*names = (struct igraphql_names){ sorted, count };
	return 0;
}

static const char *const match_graphql_words[] = { "any", "query-only", NULL };
static const struct schema graphql_word_is = SCHEMA_WORDS(match_graphql_words);

static const struct field match_graphql_fields[] = {
	{ { "mutations", &load_names_is },
	  load_names,
	  offsetof(struct igraphql_rule, mutations) },
	{ { "push", &load_names_is },
	  load_names,
	  offsetof(struct igraphql_rule, push) },
	{ { "without", &load_names_is },
	  load_names,
	  offsetof(struct igraphql_rule, without) },
};
static const struct schema graphql_map_is = { SCHEMA_ROWS(
	match_graphql_fields) };
static const struct schema *const either_graphql[] = { &graphql_word_is,
						       &graphql_map_is, NULL };
static const struct schema match_graphql_is = { .kind = SCHEMA_EITHER,
						.either = either_graphql };

static int match_graphql(struct load *ld, const struct yaml_node *n, void *to)
{
	struct igraphql_rule *rule;
	unsigned v = 1;
	int rc = 0;

	if (n->kind != YAML_MAP)
		rc = load_word(ld, n, &graphql_word_is, &v);
	if (rc < 0 || v == 0)
		return rc;
	rule = arena_alloc(ld->arena, sizeof(*rule));
	if (!rule)
		return load_nomem(ld);
	((struct http_match *)to)->graphql = rule;
	return n->kind == YAML_MAP ?
		       load_map(ld, n, match_graphql_fields,
				ARRAY_SIZE(match_graphql_fields), rule) :
		       0;
}

static const char *const match_forms_words[] = { "any", "judge", NULL };
static const struct schema match_forms_is = SCHEMA_WORDS(match_forms_words);

static int match_forms(struct load *ld, const struct yaml_node *n, void *to)
{
	unsigned v = 0;
	int rc = load_word(ld, n, &match_forms_is, &v);

	((struct http_match *)to)->judge_forms = rc == 0 && v == 1;
	return rc;
}

static int match_push(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_bool(ld, n, &((struct http_match *)to)->push);
}

static const struct field allow_fields[] = {
	{ { "methods", &load_methods_is }, match_methods, 0 },
	{ { "paths", &load_paths_is }, match_paths, 0 },
	{ { "body_max", &body_is }, match_body, 0 },
	{ { "graphql", &match_graphql_is }, match_graphql, 0 },
	{ { "forms", &match_forms_is }, match_forms, 0 },
};

static const struct field deny_fields[] = {
	{ { "methods", &load_methods_is }, match_methods, 0 },
	{ { "paths", &load_paths_is }, match_paths, 0 },
	{ { "push", &schema_bool }, match_push, 0 },
};

static const struct field within_fields[] = {
	{ { "methods", &load_methods_is }, match_methods, 0 },
	{ { "paths", &load_paths_is }, match_paths, 0 },
};

static int load_matches(struct load *ld, const struct yaml_node *n,
			struct rule_parse *rp, const struct field *fields,
			size_t n_fields, const struct http_match **ret,
			uint32_t *ret_n)
{
	struct http_match *v;
	uint32_t count, i = 0;
	int rc = list_count(ld, n, &count);

	if (rc < 0)
		return rc;
	v = arena_array(ld->arena, count, sizeof(*v));
	if (!v)
		return load_nomem(ld);
	for (const struct yaml_node *c = n->first; c; c = c->next, i++) {
		v[i].body_max = UINT64_MAX;
		rc = load_map(ld, c, fields, n_fields, &v[i]);
		if (rc < 0)
			return rc;
		if (v[i].n_paths)
			rp->has_paths = true;
	}
	*ret = v;
	*ret_n = count;
	return 0;
}

static const struct schema http_allow_item_is = { SCHEMA_ROWS(allow_fields) };
static const struct schema http_allow_is = { .kind = SCHEMA_LIST,
					     .item = &http_allow_item_is,
					     .min = 1,
					     .max = ITEMS_MAX };

static int http_allow(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;

	return load_matches(ld, n, rp, allow_fields, ARRAY_SIZE(allow_fields),
			    &rp->http->allow, &rp->http->n_allow);
}

static const struct schema http_within_item_is = { SCHEMA_ROWS(within_fields) };
static const struct schema http_within_is = { .kind = SCHEMA_LIST,
					      .item = &http_within_item_is,
					      .min = 1,
					      .max = ITEMS_MAX };

static int http_within(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;

	return load_matches(ld, n, rp, within_fields, ARRAY_SIZE(within_fields),
			    &rp->http->within, &rp->http->n_within);
}

static const struct schema http_deny_item_is = { SCHEMA_ROWS(deny_fields) };
static const struct schema http_deny_is = { .kind = SCHEMA_LIST,
					    .item = &http_deny_item_is,
					    .min = 1,
					    .max = ITEMS_MAX };

static int http_deny(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;
	bool has_paths = rp->has_paths; /* those of a denial limit nothing */
	int rc = load_matches(ld, n, rp, deny_fields, ARRAY_SIZE(deny_fields),
			      &rp->http->deny, &rp->http->n_deny);

	rp->has_paths = has_paths;
	return rc;
}

static const struct field load_rule_http_fields[] = {
	{ { "within", &http_within_is }, http_within, 0 },
	{ { "allow", &http_allow_is }, http_allow, 0 },
	{ { "deny", &http_deny_is }, http_deny, 0 },
};
const struct schema load_rule_http_is = { SCHEMA_ROWS(load_rule_http_fields) };

int load_rule_http(struct load *ld, const struct yaml_node *n, void *to)
{
	if (!http_of(ld, n, to))
		return -ENOMEM;
	return load_map(ld, n, load_rule_http_fields,
			ARRAY_SIZE(load_rule_http_fields), to);
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
	int rc = load_id(ld, n, &id);

	if (rc < 0)
		return rc;
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

static int auth_surrogate(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)to;
	return load_no_effect(ld, n, "acd makes one for each run");
}

static int auth_as(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_id(ld, n, &((struct rule_parse *)to)->http->auth_as);
}

static const struct field load_rule_auth_fields[] = {
	{ { "use", &load_id_is }, auth_use, 0 },
	{ { "exclusive", &schema_bool }, auth_exclusive, 0 },
	{ { "surrogate", NULL }, auth_surrogate, 0 },
	{ { "as", &load_id_is }, auth_as, 0 },
};
const struct schema load_rule_auth_is = { SCHEMA_ROWS(load_rule_auth_fields) };

int load_rule_auth(struct load *ld, const struct yaml_node *n, void *to)
{
	struct rule_parse *rp = to;
	int rc;

	if (!http_of(ld, n, rp))
		return -ENOMEM;
	rp->has_auth = true;
	rc = load_map(ld, n, load_rule_auth_fields,
		      ARRAY_SIZE(load_rule_auth_fields), rp);
	if (rc == 0 && !rp->e->r.credential)
		return load_refuse(ld, n, "`auth` without `use`");
	return rc;
}

static int stream_sse(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)to;
	return load_only_true(ld, n,
			      "an answer that is a stream passes as one");
}

static int stream_websocket(struct load *ld, const struct yaml_node *n,
			    void *to)
{
	return load_bool(ld, n, &((struct rule_parse *)to)->e->r.websocket);
}

static const struct field load_rule_stream_fields[] = {
	{ { "sse", &schema_true }, stream_sse, 0 },
	{ { "websocket", &schema_bool }, stream_websocket, 0 },
};
const struct schema load_rule_stream_is = { SCHEMA_ROWS(
	load_rule_stream_fields) };

int load_rule_stream(struct load *ld, const struct yaml_node *n, void *to)
{
	if (!http_of(ld, n, to))
		return -ENOMEM;
	return load_map(ld, n, load_rule_stream_fields,
			ARRAY_SIZE(load_rule_stream_fields), to);
}

static int upload_max(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_size(ld, n, &body_is,
			 &((struct rule_parse *)to)->http->upload_max);
}

static const struct field load_rule_upload_fields[] = {
	{ { "body_max", &body_is }, upload_max, 0 }
};
const struct schema load_rule_upload_is = { SCHEMA_ROWS(
	load_rule_upload_fields) };

int load_rule_upload(struct load *ld, const struct yaml_node *n, void *to)
{
	if (!http_of(ld, n, to))
		return -ENOMEM;
	return load_map(ld, n, load_rule_upload_fields,
			ARRAY_SIZE(load_rule_upload_fields), to);
}

static const char *const response_redact_words[] = { "injected", NULL };
static const struct schema response_redact_is =
	SCHEMA_WORDS(response_redact_words);

/* A word for what is done in any case. */
static int response_redact(struct load *ld, const struct yaml_node *n, void *to)
{
	unsigned v;

	(void)to;
	return load_word(ld, n, &response_redact_is, &v);
}

static int response_max(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_size(ld, n, &body_is,
			 &((struct rule_parse *)to)->http->response_max);
}

static const struct field load_rule_response_fields[] = {
	{ { "redact", &response_redact_is }, response_redact, 0 },
	{ { "max", &body_is }, response_max, 0 },
};
const struct schema load_rule_response_is = { SCHEMA_ROWS(
	load_rule_response_fields) };

int load_rule_response(struct load *ld, const struct yaml_node *n, void *to)
{
	if (!http_of(ld, n, to))
		return -ENOMEM;
	return load_map(ld, n, load_rule_response_fields,
			ARRAY_SIZE(load_rule_response_fields), to);
}

static const struct schema limits_requests_is = {
	.kind = SCHEMA_FORM, .pattern = LOAD_COUNT_PER("m")
};

static int limits_requests(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_rate(ld, n, "/m", false, UINT32_MAX,
			 &((struct rule_parse *)to)->http->requests_min);
}

static int limits_tokens(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)to;
	return load_no_effect(ld, n,
			      "no field of an answer is counted (`requests`)");
}

static const struct field load_rule_limits_fields[] = {
	{ { "requests", &limits_requests_is }, limits_requests, 0 },
	{ { "tokens_header", NULL }, limits_tokens, 0 },
};
const struct schema load_rule_limits_is = { SCHEMA_ROWS(
	load_rule_limits_fields) };

int load_rule_limits(struct load *ld, const struct yaml_node *n, void *to)
{
	if (!http_of(ld, n, to))
		return -ENOMEM;
	return load_map(ld, n, load_rule_limits_fields,
			ARRAY_SIZE(load_rule_limits_fields), to);
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
	int rc = v ? 0 : -ENOMEM;

	_Static_assert(2 * ITEMS_MAX <= IPATH_SET_ITEMS, "one bit for each");
	h->restricted = names_methods(h->within, h->n_within) ||
			names_methods(h->allow, h->n_allow) ||
			names_methods(h->deny, h->n_deny);
	if (rc == 0) {
		paths_put(&to, h->allow, h->n_allow, 0);
		paths_put(&to, h->within, h->n_within, h->n_allow);
		rc = ipath_set_make(ld->arena, v, (size_t)(to - v), false,
				    &h->exact);
	}
	if (rc == 0) {
		to = v;
		paths_put(&to, h->deny, h->n_deny, 0);
		paths_put(&to, h->allow, h->n_allow, h->n_deny);
		rc = ipath_set_make(ld->arena, v, (size_t)(to - v), true,
				    &h->alike);
	}
	free(v);
	if (rc == -E2BIG)
		return load_refuse(ld, rp->inspect, "too many paths");
	return rc < 0 ? load_nomem(ld) : 0;
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
