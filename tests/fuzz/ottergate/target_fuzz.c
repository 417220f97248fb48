/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_fuzz.c - what is accepted as a target is a name or an address to
 * the gateway, too
 */
#include <stdlib.h>

#include "lib/target.h"
#include "ottergate/policy/net/addr.h"
#include "ottergate/policy/net/name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool cond)
{
	if (!cond)
		abort();
}

static bool is_inside(struct slice s, const uint8_t *data, size_t size)
{
	return s.len == 0 || (s.ptr >= data && s.ptr + s.len <= data + size);
}

static void check(const struct target *t, enum target_form form)
{
	struct name name;
	struct addr addr;
	struct cidr range;

	must(t->host.len > 0 && t->host.len <= TARGET_HOST_MAX);
	must(t->first <= t->last && (t->first > 0) == (t->last > 0));
	must(t->scheme != TARGET_TCP || t->first > 0);
	must(t->path.len == 0 || t->path.ptr[0] == '/');
	if (form == TARGET_URL)
		must(!t->pattern && t->first == t->last);
	else
		must(t->path.len == 0);
	if (t->kind == TARGET_NAME) {
		if (!target_is_foreign(t->host))
			must(name_canon(t->host, &name) == 0);
		return;
	}
	must(!t->pattern && cidr_parse(t->host, &range) == 0);
	must(range.base.family == (t->kind == TARGET_V6 ? 6 : 4));
	if (form == TARGET_URL)
		must(addr_parse(t->host, &addr) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int form = TARGET_RULE; form <= TARGET_URL; form++) {
		enum target_fault fault = (enum target_fault) - 1;
		struct target t = { 0 };
		int rc = target_parse(slice_of(data, size),
				      (enum target_form)form, &t, &fault);

		if (rc < 0) {
			must(fault <= TARGET_LONG && !t.host.ptr);
			continue;
		}
		must(is_inside(t.host, data, size));
		must(is_inside(t.path, data, size));
		check(&t, (enum target_form)form);
	}
	return 0;
}
