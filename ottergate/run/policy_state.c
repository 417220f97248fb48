/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_state.c - the loaded policy files and the table made of them
 *
 * Theory of operation
 *
 * Shared files come first and must all be good, or nothing changes: the last
 * good state stays (K12). An agent's own file is judged alone. A bad one leaves
 * that agent out of the table, and an address that is not in the table may
 * reach nothing. If two files claim one id or one address, the first has it:
 * the shared files, then the folder in the order of its names.
 *
 * Each change builds a new table. An agent that keeps its id and its address
 * keeps its counters, so that a reload gives no sandbox a new budget; an
 * address that is given to another id brings nothing along. Credentials and a
 * CA belong to the id (gate_secrets.c).
 */
#include "ottergate/run/policy_state_impl.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "lib/file.h"
#include "ottergate/policy/net/own.h"
#include "ottergate/policy/load.h"

#define SUFFIX ".yaml"

struct gate_files {
	struct policy *policy;
	struct agent_policy **v; /* a reference each */
	size_t n, cap;
};

#define state_say(l, code, ...) lint_add(l, LINT_ERROR, code, __VA_ARGS__)

void gate_files_free(struct gate_files *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++)
		agent_policy_unref(f->v[i]);
	free(f->v);
	policy_unref(f->policy);
	free(f);
}

static bool files_claimed(const struct gate_files *f,
			  const struct agent_policy *a, struct lint *lint)
{
	struct addr address = agent_policy_address(a);

	for (size_t i = 0; i < f->n; i++) {
		struct addr other = agent_policy_address(f->v[i]);

		if (strcmp(agent_policy_id(f->v[i]), agent_policy_id(a)) == 0)
			state_say(lint, "agent-twice",
				  "agent %s is defined already: the second is "
				  "ignored",
				  agent_policy_id(a));
		else if (addr_eq(&other, &address))
			state_say(
				lint, "address-twice",
				"agent %s has the address of %s and is ignored",
				agent_policy_id(a), agent_policy_id(f->v[i]));
		else
			continue;
		return true;
	}
	return false;
}

/* Takes ownership of the reference to @a. */
static int files_add(struct gate_files *f, struct agent_policy *a,
		     struct lint *lint)
{
	if (files_claimed(f, a, lint)) {
		agent_policy_unref(a);
		return 0;
	}
	if (f->n == f->cap) {
		size_t cap = f->cap ? 2 * f->cap : 16;
		struct agent_policy **v =
			reallocarray(f->v, cap, sizeof(struct agent_policy *));

		if (!v) {
			agent_policy_unref(a);
			return -ENOMEM;
		}
		f->v = v;
		f->cap = cap;
	}
	f->v[f->n++] = a;
	return 0;
}

/* Reads one file of the folder. Only -ENOMEM is a failure of the whole load. */
static int files_add_file(struct gate_files *f, int dirfd, const char *folder,
			  const char *name, struct lint *lint)
{
	size_t said = lint ? lint->n : 0, len = 0;
	size_t id_len = strlen(name) - strlen(SUFFIX);
	struct agent_policy *a = NULL;
	struct err why = { 0 };
	SCOPED_STR text = NULL;
	const char *file;
	char path[512];
	int rc;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = lint_file(lint, path);
	rc = file_read_at(dirfd, name, POLICY_AGENT_FILE_MAX, &text, &len);
	if (rc < 0)
		err_set(&why, rc, "%s: %s", file, err_text(rc));
	else
		rc = policy_load_agent(f->policy, text, len, file, &a, lint,
				       &why);
	if (rc >= 0 && (strncmp(agent_policy_id(a), name, id_len) != 0 ||
			agent_policy_id(a)[id_len] != '\0')) {
		rc = err_set(&why, -EINVAL, "%s: it is for agent %s", file,
			     agent_policy_id(a));
		agent_policy_unref(a);
	}
	if (rc >= 0)
		return files_add(f, a, lint);
	/* The loader may have reported it already. */
	if (lint && lint->n == said)
		state_say(lint, "agent-file", "%s", why.msg);
	return rc == -ENOMEM ? rc : 0;
}

static int is_agent_file(const struct dirent *d)
{
	return d->d_name[0] != '.' && str_ends(d->d_name, SUFFIX) &&
	       strlen(d->d_name) > strlen(SUFFIX);
}

/* By bytes, whatever the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int files_add_folder(struct gate_files *f, const char *folder,
			    struct lint *lint, struct err *err)
{
	SCOPED_FD fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **names = NULL;
	int n, rc = 0;

	if (fd < 0)
		return err_sys(err, "open %s", folder);
	n = scandirat(fd, ".", &names, is_agent_file, by_name);
	if (n < 0)
		return err_sys(err, "read %s", folder);
	for (int i = 0; i < n; i++) {
		if (rc >= 0)
			rc = files_add_file(f, fd, folder, names[i]->d_name,
					    lint);
		free(names[i]);
	}
	free(names);
	return rc < 0 ? err_nomem(err) : 0;
}

static int files_add_shared(struct gate_files *f, struct lint *lint)
{
	struct agent_policy *const *v = NULL;
	size_t n = policy_agents(f->policy, &v);
	int rc = 0;

	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = files_add(f, agent_policy_ref(v[i]), lint);
	return rc;
}

static int files_read(struct gate_files *f, const struct gate_opts *opts,
		      struct lint *lint, struct err *err)
{
	static const char *const none[] = { NULL };
	int rc = policy_load(
		opts->policy.v ? (const char *const *)opts->policy.v : none,
		&f->policy, lint, err);
	struct own own;

	if (rc >= 0)
		rc = own_read(&own, err);
	if (rc >= 0 && opts->own)
		rc = own_file(opts->own, &own, err);
	if (rc < 0)
		return rc;
	policy_own_set(f->policy, &own);
	if (files_add_shared(f, lint) < 0)
		return err_nomem(err);
	return opts->agents ? files_add_folder(f, opts->agents, lint, err) : 0;
}

int gate_files_read(const struct gate_opts *opts, struct gate_files **ret,
		    struct lint *lint, struct err *err)
{
	struct gate_files *f = calloc(1, sizeof(*f));
	int rc;

	if (!f) {
		err_nomem(err);
		return -ENOMEM;
	}
	rc = files_read(f, opts, lint, err);
	if (rc < 0) {
		gate_files_free(f);
		return rc;
	}
	*ret = f;
	return 0;
}

/* --- the table ----------------------------------------------------------- */

/* Returns the counters of the same agent, or new ones. */
static struct agent *state_agent(struct gate_state *s,
				 const struct agent_policy *p)
{
	struct addr address = agent_policy_address(p);
	const struct table_entry *e =
		s->table ? table_find_id(s->table, agent_policy_id(p)) : NULL;

	if (e && addr_eq(&e->agent->address, &address))
		return agent_ref(e->agent);
	return agent_new(agent_policy_id(p), &address);
}

static void entries_free(struct table_entry *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		agent_unref(v[i].agent);
	free(v);
}

/* Adds the credentials and the CA of the sandbox; the references are the
 * entry's, until the new table has its own. */
static void state_given(const struct gate_state *s, struct table_entry *e)
{
	const struct gate_given *g = gate_given_find(s, e->agent->id);

	if (!g)
		return;
	e->secrets = g->secrets;
	e->ca = g->ca;
}

/* Replaces the table by one of @n policies. */
static int state_set_table(struct gate_state *s, struct agent_policy *const *p,
			   size_t n, struct err *err)
{
	struct table_entry *v = calloc(n ? n : 1, sizeof(*v));
	struct table *table = NULL;
	int rc = v ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < n && rc >= 0; i++) {
		v[i].policy = p[i];
		v[i].agent = state_agent(s, p[i]);
		rc = v[i].agent ? 0 : -ENOMEM;
		if (rc >= 0)
			state_given(s, &v[i]);
	}
	if (rc >= 0)
		rc = table_make(v, n, s->generation + 1, &table);
	if (v)
		entries_free(v, n);
	if (rc == -ENOMEM)
		return err_nomem(err);
	if (rc < 0)
		return err_set(err, rc, "the table of %zu agents: %s", n,
			       err_text(rc));
	table_unref(s->table);
	s->table = table;
	s->generation++;
	return 0;
}

int gate_state_take(struct gate_state *s, const struct gate_files *f,
		    struct err *err)
{
	int rc = state_set_table(s, f->v, f->n, err);

	if (rc < 0)
		return rc;
	policy_unref(s->policy);
	s->policy = policy_ref(f->policy);
	return 0;
}

int gate_state_reload(struct gate_state *s, struct lint *lint, struct err *err)
{
	struct gate_files *f = NULL;
	int rc = gate_files_read(s->opts, &f, lint, err);

	if (rc < 0)
		return rc;
	rc = gate_state_take(s, f, err);
	gate_files_free(f);
	return rc;
}

int gate_state_load(const struct gate_opts *opts, struct gate_state **ret,
		    struct lint *lint, struct err *err)
{
	struct gate_state *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return err_nomem(err);
	s->opts = opts;
	rc = gate_state_reload(s, lint, err);
	if (rc < 0) {
		gate_state_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void gate_state_free(struct gate_state *s)
{
	if (!s)
		return;
	table_unref(s->table);
	gate_given_free(s);
	policy_unref(s->policy);
	free(s);
}

/* Returns the policies of the table except that of @id, with room for one more;
 * the references are the table's. NULL when out of memory. */
static struct agent_policy **state_others(const struct gate_state *s,
					  const char *id, size_t *ret_n)
{
	size_t n = table_count(s->table);
	struct agent_policy **v = calloc(n + 1, sizeof(struct agent_policy *));

	*ret_n = 0;
	for (size_t i = 0; v && i < n; i++) {
		const struct table_entry *e = table_at(s->table, i);

		if (strcmp(e->agent->id, id) != 0)
			v[(*ret_n)++] = e->policy;
	}
	return v;
}

int gate_state_put(struct gate_state *s, const char *id, struct agent_policy *a,
		   struct err *err)
{
	struct addr address = agent_policy_address(a);
	const struct table_entry *e = table_find(s->table, &address);
	struct agent_policy **v;
	size_t n;
	int rc;

	if (strcmp(agent_policy_id(a), id) != 0)
		return err_set(err, -EINVAL, "this is the policy of %s, not %s",
			       agent_policy_id(a), id);
	if (e && strcmp(e->agent->id, id) != 0)
		return err_set(err, -EEXIST, "its address is that of %s",
			       e->agent->id);
	v = state_others(s, id, &n);
	if (!v)
		return err_nomem(err);
	v[n++] = a;
	rc = state_set_table(s, v, n, err);
	free(v);
	if (rc < 0)
		return rc;
	e = table_find_id(s->table, id);
	atomic_store(&e->agent->usage.killed, false);
	return 0;
}

int gate_state_unbind(struct gate_state *s, const char *id, struct err *err)
{
	struct agent_policy **v;
	size_t n;
	int rc;

	/* Given but never bound, for example because the bind was refused. */
	if (!table_find_id(s->table, id))
		return gate_given_drop(s, id) ?
			       0 :
			       err_set(err, -ENOENT, "no agent %s", id);
	v = state_others(s, id, &n);
	if (!v)
		return err_nomem(err);
	rc = state_set_table(s, v, n, err);
	free(v);
	if (rc == 0)
		gate_given_drop(s, id);
	return rc;
}

struct table *gate_state_table(struct gate_state *s)
{
	return s->table;
}

struct policy *gate_state_policy(struct gate_state *s)
{
	return s->policy;
}
