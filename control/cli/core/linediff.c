/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linediff.c - which lines two texts share
 *
 * The longest common subsequence by its table, between the lines that both
 * begin and end with: it is exact. Of longer texts it is found by its differences,
 * if these are few.
 */
#include "control/cli/core/linediff.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "control/cli/core/linediff_far.h"

struct diff {
	const char *const *old, *const *new;
	size_t n, m;
	size_t head, tail; /* lines that both have at the ends */
	uint32_t *common; /* [i * (cols + 1) + j]: lines that are common from
			   * the i-th and j-th behind the head on */
	size_t rows, cols;
	struct linediff_line *out;
	size_t n_out;
};

static uint32_t *cell(const struct diff *d, size_t i, size_t j)
{
	return &d->common[i * (d->cols + 1) + j];
}

static bool same(const struct diff *d, size_t i, size_t j)
{
	return strcmp(d->old[d->head + i], d->new[d->head + j]) == 0;
}

static void find_ends(struct diff *d)
{
	size_t less = d->n < d->m ? d->n : d->m;

	while (d->head < less && strcmp(d->old[d->head], d->new[d->head]) == 0)
		d->head++;
	less -= d->head;
	while (d->tail < less && strcmp(d->old[d->n - 1 - d->tail],
					d->new[d->m - 1 - d->tail]) == 0)
		d->tail++;
	d->rows = d->n - d->head - d->tail;
	d->cols = d->m - d->head - d->tail;
}

static bool is_large(const struct diff *d)
{
	return d->cols > 0 && d->rows > LINEDIFF_CELLS_MAX / d->cols;
}

/* Without a table nothing is common in the middle. */
static bool fill_table(struct diff *d)
{
	if (d->rows == 0 || d->cols == 0 || is_large(d))
		return true;
	d->common = calloc((d->rows + 1) * (d->cols + 1), sizeof(*d->common));
	if (!d->common)
		return false;
	for (size_t i = d->rows; i-- > 0;) {
		for (size_t j = d->cols; j-- > 0;) {
			uint32_t down = *cell(d, i + 1, j);
			uint32_t right = *cell(d, i, j + 1);

			*cell(d, i, j) = same(d, i, j) ?
						 *cell(d, i + 1, j + 1) + 1 :
					 down > right ? down :
							right;
		}
	}
	return true;
}

static void put(struct diff *d, char op, size_t i, size_t j)
{
	d->out[d->n_out++] = (struct linediff_line){ op, i, j };
}

static void walk(struct diff *d)
{
	size_t i = 0, j = 0;

	while (i < d->rows || j < d->cols) {
		bool both = d->common && i < d->rows && j < d->cols;

		if (both && same(d, i, j)) {
			put(d, ' ', d->head + i++, d->head + j++);
		} else if (i < d->rows &&
			   (!both ||
			    *cell(d, i + 1, j) >= *cell(d, i, j + 1))) {
			put(d, '-', d->head + i, d->head + j);
			i++;
		} else {
			put(d, '+', d->head + i, d->head + j);
			j++;
		}
	}
}

/* The middle of long texts. Returns false if they differ too much, or without
 * memory. */
static bool walk_far(struct diff *d)
{
	char *ops = malloc(d->rows + d->cols + 1);
	size_t n = 0, i = d->head, j = i;
	bool done = ops &&
		    linediff_far(d->old + d->head, d->rows, d->new + d->head,
				 d->cols, ops, &n) == 0;

	for (size_t k = 0; done && k < n; k++) {
		put(d, ops[k], i, j);
		i += ops[k] != '+';
		j += ops[k] != '-';
	}
	free(ops);
	return done;
}

struct linediff_line *linediff(const char *const *old, size_t n,
			       const char *const *new, size_t m, size_t *ret_n)
{
	struct diff d = { .old = old, .new = new, .n = n, .m = m };

	find_ends(&d);
	d.out = calloc(n + m + 1, sizeof(*d.out));
	if (!d.out || !fill_table(&d)) {
		free(d.out);
		return NULL;
	}
	for (size_t i = 0; i < d.head; i++)
		put(&d, ' ', i, i);
	if (!is_large(&d) || !walk_far(&d))
		walk(&d);
	for (size_t i = d.tail; i > 0; i--)
		put(&d, ' ', n - i, m - i);
	free(d.common);
	*ret_n = d.n_out;
	return d.out;
}
