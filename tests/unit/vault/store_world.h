/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_world.h - stores in folders of their own, for the tests of them
 */
#ifndef TESTS_UNIT_VAULT_STORE_WORLD_H
#define TESTS_UNIT_VAULT_STORE_WORLD_H

#include <sys/stat.h>

#include "lib/file.h"
#include "tests/unit/tap.h"
#include "vault/store.h"

#define SECRET "s3cret-value-that-nobody-may-see"

static char base[64], dir[96];

static inline const char *path_of(const char *name)
{
	static char path[4][160];
	static unsigned turn;
	char *p = path[turn++ % 4];

	snprintf(p, 160, "%s/%s", dir, name);
	return p;
}

/* A folder that is not there yet. */
static inline void fresh(void)
{
	static unsigned n;

	snprintf(dir, sizeof(dir), "%s/v%u", base, n++);
}

static inline struct vstore_entry *entry(const char *name, const char *value)
{
	struct vstore_entry *e = vstore_entry_new();

	if (!e || strv_push(&e->hosts, "api.example") < 0 ||
	    vstore_entry_set_value(e, value, strlen(value)) < 0)
		abort();
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->form = VSTORE_HEADER;
	snprintf(e->field, sizeof(e->field), "X-Key");
	return e;
}

static inline struct vstore *store(void)
{
	struct vstore *v = NULL;
	struct err err = { 0 };

	if (vstore_open(dir, getuid(), &v, &err) < 0)
		abort();
	return v;
}

/* Names and values as "a=1 b=2", or the message of the failure. */
static inline const char *content(int *ret_code)
{
	static char text[512];
	struct vstore *v = store();
	struct err err = { 0 };
	const struct vstore_set *set = vstore_entries(v);

	*ret_code = vstore_load(v, &err);
	snprintf(text, sizeof(text), "%s", *ret_code < 0 ? err.msg : "");
	for (size_t i = 0; *ret_code == 0 && i < set->n && i < 8; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%s%s=%s", i ? " " : "", set->v[i]->name,
			 set->v[i]->value);
	vstore_close(v);
	return text;
}

static inline int add(const char *name, const char *value, bool replace)
{
	struct vstore *v = store();
	struct err err = { 0 };
	int rc = vstore_put(v, entry(name, value), replace, &err);

	vstore_close(v);
	return rc;
}

static inline void world_begin(void)
{
	snprintf(base, sizeof(base), "/tmp/vault-test.XXXXXX");
	if (!mkdtemp(base))
		abort();
	umask(022);
}

static inline int world_end(void)
{
	file_remove_tree(base);
	return done_testing();
}

#endif
