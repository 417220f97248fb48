/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_test.c - what is free goes back to the system
 */
#include "lib/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/tap.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED 0
#endif

#define SMALL 2048u /* below what is mapped apart */
#define BLOCKS 8192u
/* Many times what a count of resident pages can be off by: a processor may hold
 * back 32 pages and more of it. */
#define LARGE (4u << 20)
#define HELD ((size_t)SMALL * BLOCKS)

static char *blocks[BLOCKS];

static size_t resident(void)
{
	unsigned long all = 0, here = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f || fscanf(f, "%lu %lu", &all, &here) != 2)
		abort();
	fclose(f);
	return here * (size_t)sysconf(_SC_PAGESIZE);
}

static void fill(void)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(SMALL);
		if (!blocks[i])
			abort();
		memset(blocks[i], 1, SMALL);
	}
}

/* But for the last one, which keeps the heap from shrinking at its end. */
static void drop(void)
{
	for (size_t i = 0; i < BLOCKS - 1; i++)
		free(blocks[i]);
}

static void test_small(void)
{
	size_t before = resident(), full;

	ok(!memory_trim(), "nothing is given back that was not freed");
	fill();
	full = resident();
	ok(full >= before + HELD, "16 MiB in small blocks");
	drop();
	memory_freed(MEMORY_TRIM_BYTES - 1);
	ok(!memory_trim(), "a little less than enough is left for later");
	ok(SANITIZED || resident() > before + HELD / 2,
	   "the allocator keeps it");
	memory_freed(1);
	ok(memory_trim(), "enough is given back");
	ok(SANITIZED || resident() < before + HELD / 8,
	   "and the system has it: %zu KiB before, %zu full, %zu after",
	   before / 1024, full / 1024, resident() / 1024);
	ok(!memory_trim(), "once");
	free(blocks[BLOCKS - 1]);
}

/* The allocator learns from a large block that is freed to keep the next one:
 * here it must not. */
static void test_large(void)
{
	size_t before = resident();
	char *first = malloc(LARGE), *second;

	if (!first)
		abort();
	explicit_bzero(first, 1); /* the compiler leaves it in, and the block */
	free(first);
	second = malloc(LARGE);
	if (!second)
		abort();
	explicit_bzero(second, LARGE);
	ok(resident() >= before + LARGE / 2, "a large block");
	free(second);
	ok(SANITIZED || resident() < before + LARGE / 2,
	   "goes back when it is freed");
}

int main(void)
{
	memory_init();
	test_large();
	test_small();
	return done_testing();
}
