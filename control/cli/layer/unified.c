/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unified.c - the difference of two files, as git prints it
 */
#include "control/cli/layer/unified.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/cli/core/linediff.h"
#include "control/cli/layer/quote.h"
#include "lib/file.h"
#include "lib/str.h"

#define CONTEXT 3u /* lines around a change */

#define RESET "\033[m"
#define BOLD "\033[1m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define CYAN "\033[36m"

void text_done(struct text *t)
{
	free(t->mem);
	free(t->lines);
	memset(t, 0, sizeof(*t));
}

/* ---- reading ---- */

/* Cuts @t->mem, @len bytes and one to spare, into lines. */
static int split(struct text *t, size_t len)
{
	size_t n = 0, cap = 1;
	char *p = t->mem, *end = t->mem + len;

	for (size_t i = 0; i < len; i++)
		cap += t->mem[i] == '\n';
	t->lines = calloc(cap, sizeof(*t->lines));
	if (!t->lines)
		return -ENOMEM;
	while (p < end) {
		char *eol = memchr(p, '\n', (size_t)(end - p));

		t->lines[n++] = p;
		if (!eol) {
			/* Such a line differs from one with an end. */
			*end++ = '\n';
			*end = '\0';
			break;
		}
		*eol = '\0';
		p = eol + 1;
	}
	t->n = n;
	return 0;
}

int text_read(int fd, uint64_t size, bool runs, struct text *ret)
{
	ssize_t len;

	*ret = (struct text){ .mode = runs ? 0100755 : 0100644, .size = size };
	if (size > TEXT_MAX) {
		ret->binary = true;
		return 0;
	}
	ret->mem = malloc((size_t)size + 3);
	if (!ret->mem)
		return -ENOMEM;
	len = fd_read_all(fd, ret->mem, (size_t)size);
	if (len == -EMSGSIZE)
		return -EAGAIN; /* it grows */
	if (len < 0)
		return (int)len;
	ret->size = (uint64_t)len;
	ret->mem[len] = '\0';
	if (len > 0 && memchr(ret->mem, 0, (size_t)len)) {
		ret->binary = true;
		return 0;
	}
	return split(ret, (size_t)len);
}

int text_link(const char *target, struct text *ret)
{
	size_t len = strlen(target);

	*ret = (struct text){ .mode = 0120000, .size = len };
	ret->mem = malloc(len + 3);
	if (!ret->mem)
		return -ENOMEM;
	memcpy(ret->mem, target, len + 1);
	return split(ret, len);
}

/* ---- comparison ---- */

bool unified_same(const struct text *a, const struct text *b)
{
	if (a->mode != b->mode || a->size != b->size ||
	    a->binary != b->binary || a->binary || a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->lines[i], b->lines[i]) != 0)
			return false;
	return true;
}

int unified_count(const struct text *a, const struct text *b,
		  struct diff_count *ret)
{
	struct linediff_line *d;
	size_t n = 0;

	*ret = (struct diff_count){ .binary = a->binary || b->binary };
	if (ret->binary)
		return 0;
	d = linediff(a->lines, a->n, b->lines, b->n, &n);
	if (!d)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		ret->added += d[i].op == '+';
		ret->removed += d[i].op == '-';
	}
	free(d);
	return 0;
}

/* ---- printing ---- */

struct printer {
	FILE *out;
	bool colour;
	const struct text *a, *b;
	const struct linediff_line *d;
	size_t n;
};

static const char *paint(const struct printer *p, const char *code)
{
	return p->colour ? code : "";
}

static void put_line(const struct printer *p, const struct linediff_line *l)
{
	const char *s = l->op == '+' ? p->b->lines[l->new] :
				       p->a->lines[l->old];
	size_t len = strlen(s);
	bool open = len > 0 && s[len - 1] == '\n';

	if (l->op != ' ')
		fputs(paint(p, l->op == '+' ? GREEN : RED), p->out);
	fputc(l->op, p->out);
	quote_line(p->out, slice_of(s, len - open));
	if (l->op != ' ')
		fputs(paint(p, RESET), p->out);
	fputs(open ? "\n\\ No newline at end of file\n" : "\n", p->out);
}

/* Writes "12,3"; the line before an empty range. */
static void put_range(FILE *out, char sign, size_t from, size_t n)
{
	fprintf(out, "%c%zu", sign, n ? from + 1 : from);
	if (n != 1)
		fprintf(out, ",%zu", n);
}

/* Prints the lines from @from up to @to. */
static void put_hunk(const struct printer *p, size_t from, size_t to)
{
	size_t old = 0, new = 0;

	for (size_t i = from; i < to; i++) {
		old += p->d[i].op != '+';
		new += p->d[i].op != '-';
	}
	fputs(paint(p, CYAN), p->out);
	fputs("@@ ", p->out);
	put_range(p->out, '-', p->d[from].old, old);
	fputc(' ', p->out);
	put_range(p->out, '+', p->d[from].new, new);
	fprintf(p->out, " @@%s\n", paint(p, RESET));
	for (size_t i = from; i < to; i++)
		put_line(p, &p->d[i]);
}

static void put_hunks(const struct printer *p)
{
	size_t i = 0;

	while (i < p->n) {
		size_t from, last;

		if (p->d[i].op == ' ') {
			i++;
			continue;
		}
		from = i > CONTEXT ? i - CONTEXT : 0;
		/* Changes that are no further apart than their context are in
		 * one hunk. */
		for (last = i; i < p->n && i <= last + 2 * CONTEXT; i++)
			if (p->d[i].op != ' ')
				last = i;
		i = last + 1 + CONTEXT < p->n ? last + 1 + CONTEXT : p->n;
		put_hunk(p, from, i);
	}
}

static void put_size(FILE *out, const struct text *t)
{
	char size[32];

	if (t->mode == 0)
		fputs("nothing", out);
	else
		fputs(str_format_size(size, sizeof(size), t->size), out);
}

/* Prints the lines before the hunks. */
static int put_head(const struct printer *p, const char *path)
{
	SCOPED_STR old = quote_path("a/", path);
	SCOPED_STR new = quote_path("b/", path);
	const char *bold = paint(p, BOLD), *reset = paint(p, RESET);

	if (!old || !new)
		return -ENOMEM;
	fprintf(p->out, "%sdiff --git %s %s%s\n", bold, old, new, reset);
	if (p->a->mode == 0)
		fprintf(p->out, "%snew file mode %06o%s\n", bold, p->b->mode,
			reset);
	else if (p->b->mode == 0)
		fprintf(p->out, "%sdeleted file mode %06o%s\n", bold,
			p->a->mode, reset);
	else if (p->a->mode != p->b->mode)
		fprintf(p->out, "%sold mode %06o%s\n%snew mode %06o%s\n", bold,
			p->a->mode, reset, bold, p->b->mode, reset);
	if (p->a->binary || p->b->binary || p->n == 0)
		return 0;
	fprintf(p->out, "%s--- %s%s\n%s+++ %s%s\n", bold,
		p->a->mode ? old : "/dev/null", reset, bold,
		p->b->mode ? new : "/dev/null", reset);
	return 0;
}

int unified_print(FILE *out, bool colour, const char *path,
		  const struct text *a, const struct text *b)
{
	struct printer p = { .out = out, .colour = colour, .a = a, .b = b };
	SCOPED_STR name = quote_path("", path);
	SCOPED_MEM lines = NULL;
	bool changed = false;
	int rc;

	if (!name)
		return -ENOMEM;
	if (!a->binary && !b->binary) {
		lines = linediff(a->lines, a->n, b->lines, b->n, &p.n);
		if (!lines)
			return -ENOMEM;
		p.d = lines;
		for (size_t i = 0; i < p.n && !changed; i++)
			changed = p.d[i].op != ' ';
		if (!changed)
			p.n = 0;
	}
	rc = put_head(&p, path);
	if (rc < 0)
		return rc;
	if (a->binary || b->binary) {
		fprintf(out, "Binary file %s: ", name);
		put_size(out, a);
		fputs(" -> ", out);
		put_size(out, b);
		fputc('\n', out);
	}
	put_hunks(&p);
	return 0;
}
