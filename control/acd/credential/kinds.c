/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds.c - what each kind of credential allows, according to its file
 *
 * Text is copied into a policy between double quotes, so nothing passes that
 * would end them.
 */
#include "control/acd/credential/kinds.h"

#include <string.h>

#include "control/acd/credential/places.h"
#include "lib/file.h"
#include "ottergate/yaml.h"

#define FILE_MAX (256u * 1024)

struct reader {
	const struct yaml_tree *tree;
	struct err *err;
	enum secret_kind kind;
	bool has_kind, has_version, deny;
	struct credential_places places;
	struct credential_kind *to;
};

typedef int (*read_fn)(struct reader *r, const struct yaml_node *n, void *to);
struct key {
	const char *name;
	read_fn fn;
};

struct credential_kinds {
	struct credential_kind v[SECRET_KINDS];
};

static int refuse(const struct reader *r, const struct yaml_node *n,
		  const char *text)
{
	return yaml_tree_refuse(r->tree, n, r->err, "%s", text);
}

/* ---- values ---- */

static int check_known(struct reader *r, const struct yaml_node *k,
		       const struct key *keys, size_t n_keys)
{
	for (size_t i = 0; i < n_keys; i++)
		if (strcmp(keys[i].name, k->key) == 0)
			return 0;
	return yaml_tree_unknown(r->tree, k, r->err);
}

/* Reads in the order of @keys, not of the file: one key may need what another
 * has set. */
static int read_map(struct reader *r, const struct yaml_node *map,
		    const struct key *keys, size_t n_keys, void *to)
{
	int rc = yaml_tree_want_map(r->tree, map, r->err);

	for (const struct yaml_node *k = map->first; k && rc == 0; k = k->next)
		rc = check_known(r, k, keys, n_keys);
	for (size_t i = 0; i < n_keys && rc == 0; i++) {
		const struct yaml_node *k = yaml_child(map, keys[i].name);

		if (k)
			rc = keys[i].fn(r, k, to);
	}
	return rc;
}

/* Calls @fn for each text of the list @n. */
static int read_list(struct reader *r, const struct yaml_node *n,
		     int (*fn)(struct reader *r, const struct yaml_node *n,
			       const char *text, void *to),
		     void *to)
{
	if (n->kind != YAML_LIST || !n->first)
		return refuse(r, n, "a list is wanted here");
	for (const struct yaml_node *i = n->first; i; i = i->next) {
		const char *text = NULL;
		int rc = yaml_tree_string(r->tree, i, &text, r->err);

		if (rc == 0)
			rc = fn(r, i, text, to);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_bool(struct reader *r, const struct yaml_node *n, void *to)
{
	bool yes = n->kind == YAML_SCALAR && strcmp(n->text, "true") == 0;

	if (n->quoted ||
	    (!yes && (n->kind != YAML_SCALAR || strcmp(n->text, "false") != 0)))
		return refuse(r, n, "true or false is wanted here");
	*(bool *)to = yes;
	return 0;
}

/* Text for readers of the file: checked and dropped. */
static int read_words(struct reader *r, const struct yaml_node *n, void *to)
{
	const char *text = NULL;
	int rc = yaml_tree_string(r->tree, n, &text, r->err);

	if (rc == 0 && !*text)
		return refuse(r, n, "some words are wanted here");
	if (rc == 0 && to)
		*(bool *)to = true;
	return rc;
}

static int push(struct reader *r, const struct yaml_node *n, struct strv *to,
		const char *text, size_t max)
{
	if (!to)
		return 0; /* checked, but not stored */
	if (strv_has(to, text))
		return refuse(r, n, "this is here twice");
	if (to->n == max)
		return refuse(r, n, "this list is too long");
	return strv_push(to, text) < 0 ? err_nomem(r->err) : 0;
}

static int take_method(struct reader *r, const struct yaml_node *n,
		       const char *text, void *to)
{
	if (strcmp(text, "*") != 0 &&
	    (!*text || text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-")]))
		return refuse(r, n, "a method such as GET is wanted here");
	return push(r, n, to, text, KIND_ENTRIES_MAX);
}

static int take_name(struct reader *r, const struct yaml_node *n,
		     const char *text, void *to)
{
	static const char known[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				    "abcdefghijklmnopqrstuvwxyz0123456789";

	if (!*text || strchr("0123456789", *text) || text[strspn(text, known)])
		return refuse(r, n, "a name of GraphQL is wanted here");
	return push(r, n, to, text, KIND_NAMES_MAX);
}

/* ---- paths ---- */

static int expand(struct reader *r, const struct yaml_node *n,
		  const struct strv *api, const char *text, struct strv *to)
{
	const char *why = NULL;
	int rc = credential_places_expand(&r->places, api, text, KIND_PATHS_MAX,
					  to, &why);

	if (rc == -ENOMEM)
		return err_nomem(r->err);
	return rc < 0 ? refuse(r, n, why) : 0;
}

/* A denial must cover all places that a server may take for its API. */
static int take_path(struct reader *r, const struct yaml_node *n,
		     const char *text, void *to)
{
	static char root[] = "";
	struct kind_entry *e = to;
	char *shared[] = { r->to->api }, *alone[] = { root, r->to->api };
	const size_t has = r->to->api ? 1 : 0;
	const struct strv api[KIND_HOSTS] = {
		[KIND_HOST_SHARED] = { .v = shared, .n = has },
		[KIND_HOST_API] = { .v = alone, .n = r->deny ? 2 * has : has },
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < KIND_HOSTS; i++)
		rc = expand(r, n, &api[i], text, &e->paths[i]);
	return rc;
}

static int take_plain_path(struct reader *r, const struct yaml_node *n,
			   const char *text, void *to)
{
	return expand(r, n, &(const struct strv){ 0 }, text, to);
}

static int take_place(struct reader *r, const struct yaml_node *n,
		      const char *text, void *to)
{
	return push(r, n, to, text, KIND_PATHS_MAX);
}

static int read_places(struct reader *r, const struct yaml_node *n, void *to)
{
	(void)to;
	if (n->kind != YAML_MAP)
		return refuse(r, n, "a map (key: value) is wanted here");
	for (const struct yaml_node *k = n->first; k; k = k->next) {
		struct strv *paths = credential_places_add(&r->places, k->key);
		int rc = paths ? read_list(r, k, take_place, paths) :
				 refuse(r, k, "this cannot be a place");

		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- entries ---- */

static int entry_reason(struct reader *r, const struct yaml_node *n, void *to)
{
	(void)to;
	return read_words(r, n, NULL);
}

static int entry_push(struct reader *r, const struct yaml_node *n, void *to)
{
	return read_bool(r, n, &((struct kind_entry *)to)->push);
}

static int entry_methods(struct reader *r, const struct yaml_node *n, void *to)
{
	return read_list(r, n, take_method,
			 &((struct kind_entry *)to)->methods);
}

static int entry_paths(struct reader *r, const struct yaml_node *n, void *to)
{
	return read_list(r, n, take_path, to);
}

static int read_forms(struct reader *r, const struct yaml_node *n,
		      const char *want, bool *to)
{
	*to = n->kind == YAML_SCALAR && strcmp(n->text, want) == 0;
	return *to ? 0 :
		     yaml_tree_refuse(r->tree, n, r->err,
				      "forms can be '%s' here", want);
}

static int entry_forms(struct reader *r, const struct yaml_node *n, void *to)
{
	return read_forms(r, n, "any", &((struct kind_entry *)to)->any_forms);
}

static int entries_add(struct reader *r, const struct yaml_node *n,
		       struct kind_entries *to)
{
	static const struct key keys[] = {
		{ "reason", entry_reason },
		{ "methods", entry_methods },
		{ "paths", entry_paths },
		{ "push", entry_push }, /* from here on not in `deny` */
		{ "forms", entry_forms },
	};
	const size_t n_keys = ARRAY_SIZE(keys) - (r->deny ? 2 : 0);
	struct kind_entry *v;
	int rc;

	if (to->n == KIND_ENTRIES_MAX)
		return refuse(r, n, "this list is too long");
	v = reallocarray(to->v, to->n + 1, sizeof(*v));
	if (!v)
		return err_nomem(r->err);
	to->v = v;
	v[to->n] = (struct kind_entry){ 0 };
	rc = read_map(r, n, keys, n_keys, &v[to->n++]);
	if (rc == 0 && (!yaml_child(n, "reason") || !yaml_child(n, "methods") ||
			!yaml_child(n, "paths")))
		return refuse(r, n, "an entry has reason, methods and paths");
	return rc;
}

static int read_entries(struct reader *r, const struct yaml_node *n,
			struct kind_entries *to)
{
	if (n->kind != YAML_LIST || !n->first)
		return refuse(r, n, "a list is wanted here");
	for (const struct yaml_node *i = n->first; i; i = i->next) {
		int rc = entries_add(r, i, to);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_allow(struct reader *r, const struct yaml_node *n, void *to)
{
	r->deny = false;
	return read_entries(r, n, &((struct credential_kind *)to)->allow);
}

static int read_deny(struct reader *r, const struct yaml_node *n, void *to)
{
	r->deny = true;
	return read_entries(r, n, &((struct credential_kind *)to)->deny);
}

/* ---- GraphQL ---- */

struct names {
	bool push, has_reason;
	struct strv v;
};

static int names_reason(struct reader *r, const struct yaml_node *n, void *to)
{
	return read_words(r, n, &((struct names *)to)->has_reason);
}

static int names_push(struct reader *r, const struct yaml_node *n, void *to)
{
	return read_bool(r, n, &((struct names *)to)->push);
}

static int names_list(struct reader *r, const struct yaml_node *n, void *to)
{
	return read_list(r, n, take_name, &((struct names *)to)->v);
}

/* Reads one entry of names into @may, or into @pushed if it is for a push. */
static int names_add(struct reader *r, const struct yaml_node *n,
		     const struct key *keys, size_t n_keys, struct strv *may,
		     struct strv *pushed)
{
	struct names l = { 0 };
	int rc = read_map(r, n, keys, n_keys, &l);

	if (rc == 0 && (!l.has_reason || l.v.n == 0))
		rc = refuse(r, n, "an entry has a reason and a list of names");
	for (size_t i = 0; rc == 0 && i < l.v.n; i++)
		rc = push(r, n, l.push ? pushed : may, l.v.v[i],
			  KIND_NAMES_MAX);
	strv_done(&l.v);
	return rc;
}

static int graphql_allow(struct reader *r, const struct yaml_node *n, void *to)
{
	static const struct key keys[] = {
		{ "reason", names_reason },
		{ "mutations", names_list },
		{ "push", names_push },
	};
	struct credential_kind *k = to;
	int rc = 0;

	if (n->kind != YAML_LIST)
		return refuse(r, n, "a list is wanted here");
	for (n = n->first; rc == 0 && n; n = n->next)
		rc = names_add(r, n, keys, ARRAY_SIZE(keys), &k->mutations,
			       &k->push_mutations);
	return rc;
}

static int graphql_without(struct reader *r, const struct yaml_node *n,
			   void *to)
{
	static const struct key keys[] = {
		{ "reason", names_reason },
		{ "names", names_list },
	};
	struct credential_kind *k = to;
	int rc = 0;

	if (n->kind != YAML_LIST)
		return refuse(r, n, "a list is wanted here");
	for (n = n->first; rc == 0 && n; n = n->next)
		rc = names_add(r, n, keys, ARRAY_SIZE(keys), &k->without, NULL);
	return rc;
}

static int graphql_paths(struct reader *r, const struct yaml_node *n, void *to)
{
	return read_list(r, n, take_plain_path,
			 &((struct credential_kind *)to)->graphql_paths);
}

static int read_graphql(struct reader *r, const struct yaml_node *n, void *to)
{
	static const struct key keys[] = {
		{ "paths", graphql_paths },
		{ "allow", graphql_allow },
		{ "without", graphql_without },
	};
	const struct credential_kind *k = to;
	int rc = read_map(r, n, keys, ARRAY_SIZE(keys), to);

	if (rc == 0 && (k->graphql_paths.n == 0 || k->mutations.n == 0))
		return refuse(r, n, "graphql has paths and allow");
	return rc;
}

/* ---- files ---- */

static int read_version(struct reader *r, const struct yaml_node *n, void *to)
{
	(void)to;
	r->has_version = n->kind == YAML_SCALAR && strcmp(n->text, "1") == 0;
	return r->has_version ? 0 : refuse(r, n, "version must be 1");
}

static int read_kind(struct reader *r, const struct yaml_node *n, void *to)
{
	(void)to;
	r->has_kind = n->kind == YAML_SCALAR &&
		      strcmp(n->text, secret_kind_name(r->kind)) == 0;
	return r->has_kind ? 0 : refuse(r, n, "kind must be the file's name");
}

static int read_about(struct reader *r, const struct yaml_node *n, void *to)
{
	(void)to;
	return read_words(r, n, NULL);
}

static int read_api(struct reader *r, const struct yaml_node *n, void *to)
{
	struct credential_kind *k = to;
	const char *text = NULL;
	int rc = yaml_tree_string(r->tree, n, &text, r->err);

	if (rc < 0)
		return rc;
	if (!credential_path_ok(text))
		return refuse(r, n, "a path such as /api/v3 is wanted here");
	k->api = strdup(text);
	return k->api ? 0 : err_nomem(r->err);
}

static int read_websocket(struct reader *r, const struct yaml_node *n, void *to)
{
	return read_bool(r, n, &((struct credential_kind *)to)->websocket);
}

static int kind_forms(struct reader *r, const struct yaml_node *n, void *to)
{
	return read_forms(r, n, "judge",
			  &((struct credential_kind *)to)->judge_forms);
}

static int read_root(struct reader *r, const struct yaml_node *root)
{
	/* Paths need `api` and `places`. */
	static const struct key keys[] = {
		{ "version", read_version }, { "kind", read_kind },
		{ "about", read_about },     { "websocket", read_websocket },
		{ "forms", kind_forms },     { "api", read_api },
		{ "places", read_places },   { "allow", read_allow },
		{ "deny", read_deny },       { "graphql", read_graphql },
	};
	int rc = read_map(r, root, keys, ARRAY_SIZE(keys), r->to);

	if (rc == 0 && (!r->has_version || !r->has_kind || r->to->allow.n == 0))
		return refuse(r, root, "version, kind and allow are wanted");
	return rc;
}

static int parse(const char *path, enum secret_kind kind, const char *text,
		 size_t len, struct credential_kind *to, struct err *err)
{
	struct yaml_tree tree = { 0 };
	struct reader r = { .tree = &tree, .err = err, .kind = kind, .to = to };
	int rc = yaml_tree_parse(text, len, path, &yaml_small, &tree, err);

	if (rc == 0)
		rc = tree.root ?
			     read_root(&r, tree.root) :
			     err_set(err, -EINVAL, "%s:1:1: it is empty", path);
	credential_places_done(&r.places);
	yaml_tree_done(&tree);
	return rc;
}

static int load_one(const char *dir, enum secret_kind kind,
		    struct credential_kind *to, struct err *err)
{
	SCOPED_STR path = str_printf("%s/%s.yaml", dir, secret_kind_name(kind));
	SCOPED_STR text = NULL;
	size_t len = 0;
	int rc;

	if (!path)
		return err_nomem(err);
	rc = file_read(path, FILE_MAX, &text, &len);
	if (rc < 0)
		return err_set(err, rc, "read %s: %s", path, err_text(rc));
	return parse(path, kind, text, len, to, err);
}

static void entries_done(struct kind_entries *l)
{
	for (size_t i = 0; i < l->n; i++) {
		strv_done(&l->v[i].methods);
		for (size_t k = 0; k < KIND_HOSTS; k++)
			strv_done(&l->v[i].paths[k]);
	}
	free(l->v);
}

void credential_kinds_free(struct credential_kinds *k)
{
	for (size_t i = 0; k && i < SECRET_KINDS; i++) {
		free(k->v[i].api);
		entries_done(&k->v[i].allow);
		entries_done(&k->v[i].deny);
		strv_done(&k->v[i].graphql_paths);
		strv_done(&k->v[i].mutations);
		strv_done(&k->v[i].push_mutations);
		strv_done(&k->v[i].without);
	}
	free(k);
}

int credential_kinds_load(const char *dir, struct credential_kinds **ret,
			  struct err *err)
{
	struct credential_kinds *k = calloc(1, sizeof(*k));
	int rc = k ? 0 : err_nomem(err);

	for (unsigned i = 0; rc == 0 && i < SECRET_KINDS; i++)
		rc = load_one(dir, (enum secret_kind)i, &k->v[i], err);
	if (rc < 0) {
		credential_kinds_free(k);
		return rc;
	}
	*ret = k;
	return 0;
}

const struct credential_kind *
credential_kinds_of(const struct credential_kinds *k, enum secret_kind kind)
{
	return &k->v[kind];
}

bool credential_kind_pushes(const struct credential_kind *k)
{
	for (size_t i = 0; i < k->allow.n; i++)
		if (k->allow.v[i].push)
			return true;
	return false;
}
