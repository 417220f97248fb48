/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.c - files in, compiled policy out
 *
 * All files are read to trees first, then compiled in three passes over all
 * of them, so that the order of files never matters for what refers to what:
 * defaults and credentials; rules; agents. A fault in any file fails the
 * whole load: half a policy is not what its author wrote.
 */
#include "ottergate/policy/load.h"

#include <dirent.h>
#include <malloc.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/file.h"
#include "lib/loop.h"
#include "lib/str.h"
#include "ottergate/policy/load/parse.h"

#define FILES_MAX 1024u

struct files {
	struct yaml_tree *docs;
	size_t n;
};

/* --- what stands at the top ---------------------------------------------- */

static int section_version(struct load *ld, const struct yaml_node *n, void *to)
{
	*(bool *)to = true;
	if (n->kind != YAML_SCALAR || strcmp(n->text, "1") != 0)
		return load_refuse(ld, n, "the only version is 1");
	return 0;
}

static int section_deny(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)to;
	return load_deny_rules(ld, n, &ld->policy->deny);
}

static int section_services(struct load *ld, const struct yaml_node *n,
			    void *to)
{
	(void)to;
	return load_services(ld, n, &ld->policy->services);
}

static int preset_rules(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_allow_rules(ld, n, to);
}

static const struct field preset_add_fields[] = {
	{ { "rules", &load_allow_rules_is }, preset_rules, 0 },
	{ { "about", &schema_text }, load_ignored, 0 },
	{ { "risk", &schema_text }, load_ignored, 0 },
};
static const struct schema preset_add_is = { SCHEMA_ROWS(preset_add_fields) };

static int preset_add(struct load *ld, const struct yaml_node *n)
{
	struct yaml_node key = { .text = n->key,
				 .line = n->key_line,
				 .column = n->key_column };
	struct policy *p = ld->policy;
	struct preset *v = realloc(p->presets, (p->n_presets + 1) * sizeof(*v));
	struct preset *new;
	int rc;

	if (!v)
		return load_nomem(ld);
	p->presets = v;
	new = &v[p->n_presets];
	*new = (struct preset){ 0 };
	rc = load_id(ld, &key, &new->name);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < p->n_presets; i++) {
		if (strcmp(v[i].name, new->name) == 0)
			return load_refuse(ld, &key,
					   "there is a preset '%s' already",
					   new->name);
	}
	p->n_presets++;
	new->set.source = new->name;
	return load_map(ld, n, preset_add_fields, ARRAY_SIZE(preset_add_fields),
			&new->set);
}

static int section_presets(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)to;
	if (n->kind != YAML_MAP)
		return load_refuse(ld, n, "a map is wanted here, not %s",
				   yaml_kind_name(n));
	for (const struct yaml_node *c = n->first; c; c = c->next) {
		int rc = preset_add(ld, c);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int agent_add(struct load *ld, const struct yaml_node *n, void *to)
{
	struct policy *p = ld->policy;
	struct agent_policy **v = realloc(
		p->agents, (p->n_agents + 1) * sizeof(struct agent_policy *));
	struct agent_policy *a;
	int rc;

	(void)to;
	if (!v)
		return load_nomem(ld);
	p->agents = v;
	rc = load_agent(ld, n, &a);
	if (rc < 0)
		return rc;
	/* From here on it lives and dies with the policy. */
	a->inner = true;
	policy_unref(a->policy);
	v[p->n_agents++] = a;
	for (size_t i = 0; i + 1 < p->n_agents; i++) {
		if (strcmp(v[i]->id, a->id) == 0 ||
		    addr_eq(&v[i]->address, &a->address))
			return load_refuse(ld, n,
					   "agent '%s' has this id or this "
					   "address already",
					   v[i]->id);
	}
	return 0;
}

static int section_agents(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_list(ld, n, agent_add, to);
}

static int section_later(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)ld, (void)n, (void)to;
	return 0;
}

static const char *const version_words[] = { "1", NULL };
static const struct schema version_is = SCHEMA_WORDS(version_words);
static const struct schema presets_is = {
	.kind = SCHEMA_NAMED,
	.item = &preset_add_is,
	.pattern = "[A-Za-z0-9][A-Za-z0-9._-]*",
};
static const struct schema agents_is = SCHEMA_LIST_OF(&load_agent_is);

#define PASSES 3u
static const struct section {
	struct schema_key is;
	unsigned pass;
	field_fn fn;
} sections[] = {
	{ { "version", &version_is }, 0, section_version },
	{ { "defaults", &load_defaults_is }, 0, load_defaults },
	{ { "audit", &load_audit_is }, 0, load_audit },
	{ { "metrics", &load_metrics_is }, 0, load_metrics },
	{ { "inspect", &load_inspect_is }, 0, load_inspect },
	{ { "upstream_proxy", &load_upstream_proxy_is },
	  0,
	  load_upstream_proxy },
	{ { "credentials", &load_credentials_is }, 0, load_credentials },
	{ { "hosts", &load_hosts_is }, 0, load_hosts },
	{ { "deny", &load_deny_rules_is }, 1, section_deny },
	{ { "services", &load_services_is }, 1, section_services },
	{ { "presets", &presets_is }, 1, section_presets },
	{ { "agents", &agents_is }, 2, section_agents },
};

static const char *const file_needs[] = { "version", NULL };
const struct schema policy_schema = { SCHEMA_ROWS(sections),
				      .required = file_needs };

static int load_pass(struct load *ld, const struct yaml_tree *d, unsigned pass)
{
	struct field fields[ARRAY_SIZE(sections)];
	bool has_version = pass != 0;
	int rc;

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		const struct section *s = &sections[i];

		fields[i] = (struct field){
			.is = s->is,
			.fn = s->pass == pass ? s->fn : section_later,
		};
	}
	ld->file = d->file;
	rc = load_map(ld, d->root, fields, ARRAY_SIZE(fields), &has_version);
	if (rc == 0 && !has_version)
		return load_refuse(ld, d->root, "`version: 1` is missing");
	return rc;
}

/* --- all files ----------------------------------------------------------- */

static int seal_policy(struct load *ld)
{
	struct policy *p = ld->policy;
	int rc = load_seal_set(ld, &p->deny);

	if (rc == 0)
		rc = load_seal_set(ld, &p->services);
	if (rc == 0)
		rc = load_seal(ld, &p->host_names, "hosts");
	if (rc == 0)
		rc = load_seal(ld, &p->no_proxy, "no_proxy");
	for (size_t i = 0; i < p->n_presets && rc == 0; i++)
		rc = load_seal_set(ld, &p->presets[i].set);
	if (rc < 0)
		return rc;
	lint_deny(ld, &p->services, &p->deny);
	for (size_t i = 0; i < p->n_presets; i++) {
		lint_reach(ld, &p->presets[i].set, NULL, 0);
		lint_deny(ld, &p->presets[i].set, &p->deny);
	}
	return 0;
}

static int compile(struct load *ld, const struct files *f)
{
	for (unsigned pass = 0; pass < PASSES; pass++) {
		for (size_t i = 0; i < f->n; i++) {
			int rc = load_pass(ld, &f->docs[i], pass);

			if (rc < 0)
				return rc;
		}
		if (pass == 1) {
			int rc = seal_policy(ld);

			if (rc < 0)
				return rc;
		}
	}
	lint_credentials(ld);
	return ld->n_errors ? -EINVAL : 0;
}

/* A fault of form is an item as well: `--check` shows one list. */
static void lint_fault(struct load *ld)
{
	struct lint_item *v;

	if (ld->n_errors || !ld->lint || ld->lint->n == LINT_MAX || !ld->err)
		return;
	v = realloc(ld->lint->v, (ld->lint->n + 1) * sizeof(*v));
	if (!v)
		return;
	ld->lint->v = v;
	v += ld->lint->n++;
	*v = (struct lint_item){ .level = LINT_ERROR, .code = "form" };
	snprintf(v->text, sizeof(v->text), "%.*s", (int)sizeof(v->text) - 1,
		 ld->err->msg);
}

static void hash_update(void *arg, const void *data, size_t len)
{
	crypto_hash_sha256_update(arg, data, len);
}

static void hash_end(crypto_hash_sha256_state *state, char ret[65])
{
	uint8_t hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256_final(state, hash);
	sodium_bin2hex(ret, 65, hash, sizeof(hash));
}

static void hash_files(const struct files *f, char ret[65])
{
	crypto_hash_sha256_state state;

	crypto_hash_sha256_init(&state);
	for (size_t i = 0; i < f->n; i++)
		yaml_node_each(f->docs[i].root, hash_update, &state);
	hash_end(&state, ret);
}

/* What an agent may do depends on the policy it was compiled against. */
static void hash_agent(struct agent_policy *a, const struct yaml_node *n)
{
	crypto_hash_sha256_state state;

	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, (const uint8_t *)a->policy->hash,
				  sizeof(a->policy->hash));
	yaml_node_each(n, hash_update, &state);
	hash_end(&state, a->hash);
}

static void hash_all(struct policy *p, const struct files *f)
{
	size_t at = 0;

	hash_files(f, p->hash);
	for (size_t i = 0; i < f->n; i++) {
		const struct yaml_node *n =
			yaml_child(f->docs[i].root, "agents");

		for (n = n ? n->first : NULL; n; n = n->next)
			hash_agent(p->agents[at++], n);
	}
}

/* --- reading ------------------------------------------------------------- */

static int read_file(struct load *ld, struct files *f, const char *path)
{
	const char *file = lint_file(ld->lint, path);
	SCOPED_STR text = NULL;
	struct yaml_tree *v;
	size_t len;
	int rc;

	if (f->n == FILES_MAX)
		return err_set(ld->err, -E2BIG, "more than %u policy files",
			       FILES_MAX);
	rc = file_read(path, POLICY_FILE_MAX, &text, &len);
	if (rc < 0)
		return err_set(ld->err, rc, "%s: %s", file, err_text(rc));
	file = arena_strn(ld->arena, file, strlen(file));
	v = realloc(f->docs, (f->n + 1) * sizeof(*v));
	if (v)
		f->docs = v;
	if (!v || !file)
		return load_nomem(ld);
	rc = yaml_tree_parse(text, len, file, &yaml_policy, &v[f->n], ld->err);
	if (rc == 0)
		f->n++;
	return rc;
}

static int is_policy_file(const struct dirent *de)
{
	return de->d_name[0] != '.' && str_ends(de->d_name, ".yaml");
}

static int read_path(struct load *ld, struct files *f, const char *path)
{
	struct dirent **names = NULL;
	struct stat st;
	int n, rc = 0;

	if (stat(path, &st) < 0)
		return err_sys(ld->err, "%s", lint_file(ld->lint, path));
	if (!S_ISDIR(st.st_mode))
		return read_file(ld, f, path);
	n = scandir(path, &names, is_policy_file, alphasort);
	if (n < 0)
		return err_sys(ld->err, "%s", path);
	for (int i = 0; i < n; i++) {
		SCOPED_STR file = str_printf("%s/%s", path, names[i]->d_name);

		if (rc == 0)
			rc = file ? read_file(ld, f, file) : load_nomem(ld);
		free(names[i]);
	}
	free(names);
	return rc;
}

static int read_all(struct load *ld, struct files *f, const char *const *paths)
{
	for (; *paths; paths++) {
		int rc = read_path(ld, f, *paths);

		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The trees of a long list are many times what is kept of it. They lie
 * between what stays, so the memory goes back only when asked for. */
static void files_done(struct files *f)
{
	for (size_t i = 0; i < f->n; i++)
		yaml_tree_done(&f->docs[i]);
	free(f->docs);
	malloc_trim(0);
}

int policy_load(const char *const *paths, struct policy **ret,
		struct lint *lint, struct err *err)
{
	struct files f = { 0 };
	struct err local = { 0 };
	struct load ld = {
		.lint = lint,
		.err = err ? err : &local,
		.now = (uint64_t)time(NULL),
		.now_ms = clock_ms(),
	};
	int rc = policy_new(&ld.policy);

	if (rc < 0)
		return err_nomem(err);
	ld.arena = &ld.policy->arena;
	rc = read_all(&ld, &f, paths);
	if (rc == 0)
		rc = compile(&ld, &f);
	if (rc == 0)
		hash_all(ld.policy, &f);
	else
		lint_fault(&ld);
	files_done(&f);
	if (rc < 0) {
		policy_unref(ld.policy);
		return rc;
	}
	*ret = ld.policy;
	return 0;
}

/* --- one agent ----------------------------------------------------------- */

static int agent_of(struct load *ld, const struct yaml_tree *d,
		    const struct yaml_node **ret)
{
	const struct yaml_node *version = yaml_child(d->root, "version");
	const struct yaml_node *agents = yaml_child(d->root, "agents");

	for (const struct yaml_node *n = d->root->first; n; n = n->next) {
		if (n != version && n != agents)
			return load_refuse(ld, n,
					   "only `version` and `agents` can be "
					   "in the file of an agent");
	}
	if (!version || version->kind != YAML_SCALAR ||
	    strcmp(version->text, "1") != 0)
		return load_refuse(ld, version ? version : d->root,
				   "`version: 1` is missing");
	if (!agents || agents->kind != YAML_LIST || !agents->first ||
	    agents->first->next)
		return load_refuse(ld, agents ? agents : d->root,
				   "`agents` with one entry is wanted here");
	*ret = agents->first;
	return 0;
}

int policy_load_agent(struct policy *p, const char *text, size_t len,
		      const char *file, struct agent_policy **ret,
		      struct lint *lint, struct err *err)
{
	struct err local = { 0 };
	struct load ld = {
		.policy = p,
		.file = file,
		.lint = lint,
		.err = err ? err : &local,
		.now = (uint64_t)time(NULL),
		.now_ms = clock_ms(),
	};
	const struct yaml_node *n = NULL;
	struct agent_policy *a = NULL;
	struct yaml_tree d = { 0 };
	int rc;

	if (len > POLICY_AGENT_FILE_MAX)
		return err_set(err, -EFBIG, "%s: larger than %u bytes", file,
			       POLICY_AGENT_FILE_MAX);
	rc = yaml_tree_parse(text, len, file, &yaml_policy, &d, ld.err);
	if (rc == 0)
		rc = agent_of(&ld, &d, &n);
	if (rc == 0)
		rc = load_agent(&ld, n, &a);
	if (rc == 0 && ld.n_errors)
		rc = -EINVAL;
	if (rc == 0)
		hash_agent(a, n);
	else
		lint_fault(&ld);
	yaml_tree_done(&d);
	if (rc < 0) {
		agent_policy_unref(a);
		return rc;
	}
	*ret = a;
	return 0;
}
