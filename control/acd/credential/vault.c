/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault.c - the vault: opening, choosing credentials for an instance
 */
#include "control/acd/credential/vault.h"

#include <fnmatch.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "control/acd/credential/logins.h"
#include "control/acd/credential/vault_impl.h"
#include "control/shared/json.h"

struct vault {
	struct vstore *store;
	const char *machine;
};

struct vault *vault_new(const char *dir, uid_t owner, const char *machine,
			struct err *err)
{
	struct vault *v = calloc(1, sizeof(*v));

	if (!v) {
		err_nomem(err);
		return NULL;
	}
	v->machine = machine;
	if (vstore_open(dir, owner, &v->store, err) < 0) {
		free(v);
		return NULL;
	}
	jsonx_wipe_freed();
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return v;
}

void vault_free(struct vault *v)
{
	if (!v)
		return;
	vstore_close(v->store);
	free(v);
}

struct vstore *vault_store(struct vault *v)
{
	return v->store;
}

const char *vault_machine(const struct vault *v)
{
	return v->machine;
}

/* An empty list allows all; an element may be a pattern ("ci-*"). */
static bool in_scope(const struct strv *scope, const char *name)
{
	if (scope->n == 0)
		return true;
	for (size_t i = 0; i < scope->n; i++)
		if (fnmatch(scope->v[i], name, 0) == 0)
			return true;
	return false;
}

int vault_entry_expired(const struct vstore_entry *e, struct err *err)
{
	if (e->flags & VSTORE_OVER)
		return login_over(e, err);
	if (e->expires && e->expires <= (uint64_t)time(NULL))
		return err_set(err, -EKEYEXPIRED,
			       "credential '%s' has expired: `ac vault rotate "
			       "%s --expires TIME` gives it a new value",
			       e->name, e->name);
	return 0;
}

static int may_use(const struct vstore_entry *e, const char *blueprint,
		   const char *instance, struct err *err)
{
	if (!in_scope(&e->blueprints, blueprint))
		return err_set(err, -EACCES,
			       "credential '%s' is not for blueprint '%s'",
			       e->name, blueprint);
	if (!in_scope(&e->instances, instance))
		return err_set(err, -EACCES,
			       "credential '%s' is not for instance '%s'",
			       e->name, instance);
	return vault_entry_expired(e, err);
}

int vault_for_instance(struct vault *v, const char *const *names,
		       const char *blueprint, const char *instance,
		       const struct vstore_entry **ret, size_t max,
		       struct err *err)
{
	size_t n = 0;
	int rc;

	if (!names[0])
		return 0;
	rc = vstore_load(v->store, err);
	for (; rc == 0 && names[n]; n++) {
		const struct vstore_entry *e =
			vstore_set_find(vstore_entries(v->store), names[n]);

		if (n >= max)
			return err_set(err, -E2BIG, "more than %zu credentials",
				       max);
		if (!e)
			return err_set(err, -ENOENT,
				       "there is no credential '%s': `ac vault "
				       "add %s` makes one, `--credential none` "
				       "does without",
				       names[n], names[n]);
		rc = may_use(e, blueprint, instance, err);
		ret[n] = e;
	}
	return rc < 0 ? rc : (int)n;
}
