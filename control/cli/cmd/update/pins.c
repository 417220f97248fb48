/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pins.c - what changed between two lock files
 */
#include "control/cli/cmd/update/pins.h"

#include <stdlib.h>
#include <string.h>

#include "control/shared/json.h"
#include "lib/attr.h"

int pins_add(json_t *pins, const char *name, const char *version,
	     const char *proof)
{
	return json_object_set_new(pins, name,
				   json_pack("{s:o, s:o}", "version",
					     jsonx_text(version), "proof",
					     jsonx_text(proof)));
}

static int change_add(json_t *list, const char *name, const json_t *from,
		      const json_t *to, bool digest)
{
	json_t *was = json_object_get(from, "version");
	json_t *now = json_object_get(to, "version");
	json_t *none = json_null(); /* not counted */

	return json_array_append_new(
		list, json_pack("{s:o, s:O, s:O, s:b}", "package",
				jsonx_text(name), "from", was ? was : none,
				"to", now ? now : none, "digest", digest));
}

/* Returns true if a word of @was is not in @now. */
static bool lacks_one(const char *was, const char *now)
{
	while (*was) {
		const size_t skip = strspn(was, " ");
		const size_t len = strcspn(was + skip, " ");

		was += skip;
		if (len > 0 && !memmem(now, strlen(now), was, len))
			return true;
		was += len;
	}
	return false;
}

/* Adds what happened to one package, if anything. */
static int change_of(json_t *list, const char *name, const json_t *from,
		     const json_t *to)
{
	const char *was = from ? jsonx_text_at(from, "proof") : "";
	const char *now = to ? jsonx_text_at(to, "proof") : "";
	bool same = from && to &&
		    json_equal(json_object_get(from, "version"),
			       json_object_get(to, "version"));
	bool digest = same && lacks_one(was, now);

	if (same && !digest)
		return 0;
	return change_add(list, name, from, to, digest);
}

struct named {
	json_t *change;
};

static int by_package(const void *a, const void *b)
{
	const struct named *x = a;
	const struct named *y = b;

	return strcmp(jsonx_text_at(x->change, "package"),
		      jsonx_text_at(y->change, "package"));
}

static json_t *sorted(json_t *list, struct err *err)
{
	size_t n = json_array_size(list);
	SCOPED_JSON all = json_array();
	SCOPED_MEM mem = calloc(n + 1, sizeof(struct named));
	struct named *v = mem;

	if (!all || !v) {
		err_nomem(err);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		v[i].change = json_array_get(list, i);
	qsort(v, n, sizeof(*v), by_package);
	for (size_t i = 0; i < n; i++) {
		if (json_array_append(all, v[i].change) < 0) {
			err_nomem(err);
			return NULL;
		}
	}
	return ptr_take(&all);
}

json_t *pins_compare(json_t *was, json_t *now, struct err *err)
{
	SCOPED_JSON list = json_array();
	const char *name;
	json_t *p;
	int rc = list ? 0 : -1;

	json_object_foreach (now, name, p) {
		if (rc == 0)
			rc = change_of(list, name, json_object_get(was, name),
				       p);
	}
	json_object_foreach (was, name, p) {
		if (rc == 0 && !json_object_get(now, name))
			rc = change_of(list, name, p, NULL);
	}
	if (rc < 0) {
		err_nomem(err);
		return NULL;
	}
	return sorted(list, err);
}
