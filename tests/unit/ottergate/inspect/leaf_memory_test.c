/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaf_memory_test.c - a CA that is read without memory is not called a bad one
 */
#include "ottergate/inspect/leaf.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>

#include "tests/unit/tap.h"

#define HOUR 3600u
#define STEP 50u /* allocations; reading takes thousands */

static unsigned left; /* allocations until there is no memory; 0: enough */

static bool is_over(void)
{
	if (left > 1)
		left--;
	return left == 1;
}

static void *take(size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	return is_over() ? NULL : malloc(n);
}

static void *take_again(void *p, size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	return is_over() ? NULL : realloc(p, n);
}

static void give(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	free(p);
}

int main(void)
{
	static const char *const names[] = { "test" };
	struct leaf_ca *ca = NULL, *copy = NULL;
	struct err err = { 0 };
	struct buf bundle;
	unsigned n, turns = 0, memory = 0;
	int rc = -ENOMEM, first = 0, last = 0;

	buf_init(&bundle, 65536);
	if (!ok(CRYPTO_set_mem_functions(take, take_again, give) == 1,
		"OpenSSL takes its memory here") ||
	    !ok(leaf_ca_new("coder", names, 1, HOUR, HOUR, &ca, &err) == 0 &&
			leaf_ca_bundle(ca, &bundle) == 0,
		"a CA: %s", err.msg))
		return done_testing();
	for (n = 0; rc < 0 && n < 100000; n += STEP, turns++) {
		left = n + 2;
		rc = leaf_ca_read(buf_slice(&bundle), HOUR, &copy, &err);
		left = 0;
		first = n == 0 ? rc : first;
		last = rc < 0 ? rc : last;
		memory += rc == -ENOMEM;
	}
	is_int(rc, 0, "with enough memory it is read");
	is_int(first, -ENOMEM, "without any it is not");
	is_int(last, -ENOMEM, "and not with too little for the leaves' key");
	/* OpenSSL's decoders of keys keep some of their reasons to themselves. */
	ok(memory > turns / 2, "in between, too: %u of %u", memory, turns);
	leaf_ca_unref(copy);
	leaf_ca_unref(ca);
	buf_done(&bundle);
	return done_testing();
}
