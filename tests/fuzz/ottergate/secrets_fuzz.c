/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secrets_fuzz.c - sets of secrets as acd sends them
 */
#include <stdlib.h>
#include <string.h>

#include "lib/jsonr.h"
#include "ottergate/inspect/mask/mask.h"
#include "ottergate/inspect/mask/secrets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = slice_of(data, size);
	unsigned checks = SURROGATE_CHECKS_MAX;
	struct secret_set *s;
	struct err err;
	struct jsonr j;

	if (secret_set_read(in, &s, &err) < 0)
		return 0;
	jsonr_init(&j, in);
	if (jsonr_skip(&j) < 0 || jsonr_end(&j) < 0 || !s->key ||
	    s->n > SECRETS_MAX)
		abort();
	for (size_t i = 0; i < s->n; i++) {
		if (secret_set_find(s, s->v[i].id) != &s->v[i] ||
		    s->v[i].value_len < MASK_VALUE_MIN || !s->v[i].mask ||
		    strlen(s->v[i].value) != s->v[i].value_len)
			abort();
	}
	(void)surrogate_seen_of(s, in, 1700000000, &checks);
	secret_set_unref(s);
	return 0;
}
