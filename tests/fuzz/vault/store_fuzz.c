/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_fuzz.c - the image of a store, and one entry of it
 *
 * The first byte chooses. An image is opened with the key of 32 times 0x07,
 * with which the corpus was sealed; since nobody meets a MAC by chance, entries
 * are also read as they are. What can be read can be written, and read again.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "vault/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void image(struct slice in)
{
	uint8_t key[VSTORE_KEY];
	struct vstore_set set = { 0 };

	memset(key, 7, sizeof(key));
	if (vstore_unseal(in, key, &set) < 0)
		return;
	if (set.n > VSTORE_ENTRIES_MAX)
		abort();
	for (size_t i = 1; i < set.n; i++)
		if (strcmp(set.v[i - 1]->name, set.v[i]->name) >= 0)
			abort();
	vstore_set_done(&set);
}

static void entry(struct slice in)
{
	struct vstore_entry *e = NULL, *again = NULL;
	uint8_t *bytes = NULL;
	struct err err = { 0 };
	size_t len = 0;

	if (vstore_entry_read(in, &e) < 0)
		return;
	if (vstore_entry_check(e, &err) < 0 || e->value_len == 0 ||
	    strlen(e->value) != e->value_len)
		abort();
	if (vstore_entry_write(e, &bytes, &len) < 0 || len != in.len ||
	    memcmp(bytes, in.ptr, len) != 0 ||
	    vstore_entry_read(slice_of(bytes, len), &again) < 0)
		abort();
	sodium_free(bytes);
	vstore_entry_free(again);
	vstore_entry_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (sodium_init() < 0 || size == 0)
		return 0;
	if (data[0] & 1)
		image(slice_of(data + 1, size - 1));
	else
		entry(slice_of(data + 1, size - 1));
	return 0;
}
