/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_list_fuzz.c - the list of commits from a sandbox: what is read has good
 * names, once each, whole object names, and a history of whole lines
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "control/cli/core/fetch_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct fetch_list *l)
{
	if ((l->oid_len != 40 && l->oid_len != 64) ||
	    l->n_refs + l->n_odd > FETCH_REFS_MAX ||
	    l->history.len % (l->oid_len + 1) != 0 ||
	    l->history.len / (l->oid_len + 1) > FETCH_COMMITS_MAX)
		abort();
	for (size_t i = 0; i < l->n_refs; i++) {
		const struct fetch_ref *r = &l->refs[i];

		if ((strcmp(r->name, "HEAD") != 0 &&
		     !fetch_ref_good(r->name)) ||
		    strspn(r->oid, "0123456789abcdef") != l->oid_len ||
		    r->oid[l->oid_len] != '\0' ||
		    (i > 0 && strcmp(l->refs[i - 1].name, r->name) >= 0))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fetch_list l;

	if (fetch_list_parse(slice_of(data, size), &l) == 0)
		check(&l);
	fetch_list_done(&l);
	return 0;
}
