/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_find.h - one record of a store, as it was written
 */
#ifndef TESTS_UNIT_CONTROL_ACD_STORAGE_STORE_FIND_H
#define TESTS_UNIT_CONTROL_ACD_STORAGE_STORE_FIND_H

#include <string.h>

#include "control/acd/storage/store.h"

struct store_found {
	const char *name;
	struct instance_record *ret;
};

static inline int store_find_one(void *arg, const struct instance_record *r)
{
	const struct store_found *f = arg;

	if (strcmp(r->name, f->name) != 0)
		return 0;
	return instance_record_copy(f->ret, r) < 0 ? -ENOMEM : -EEXIST;
}

/* Caller ends @ret with instance_record_done(). */
static inline bool store_find(struct store *s, const char *name,
			      struct instance_record *ret)
{
	struct store_found f = { .name = name, .ret = ret };
	struct err err = { 0 };

	return store_each(s, store_find_one, &f, &err) == -EEXIST;
}

#endif
