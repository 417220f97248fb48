/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_list.c - which commits a repository in a sandbox has
 */
#include "control/cli/core/fetch_list.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/attr.h"
#include "lib/str.h"

#define LINE_MAX_BYTES 4096u

/* ---- names ---- */

static bool part_is_good(const char *part, size_t len)
{
	return len > 0 && part[0] != '.' && part[0] != '-' &&
	       !(len >= 5 && memcmp(part + len - 5, ".lock", 5) == 0);
}

static bool bytes_are_good(const char *name)
{
	char shown[4 * FETCH_REF_NAME_MAX + 1];

	if (strpbrk(name, " ~^:?*[\\\177") || strstr(name, "..") ||
	    strstr(name, "@{") || strcmp(name, "@") == 0)
		return false;
	str_escape_utf8(shown, sizeof(shown), name, strlen(name));
	return strcmp(shown, name) == 0;
}

bool fetch_ref_good(const char *name)
{
	size_t len = strlen(name);
	const char *part = name;

	if (len == 0 || len > FETCH_REF_NAME_MAX || name[len - 1] == '.' ||
	    strcmp(name, "HEAD") == 0 || !bytes_are_good(name))
		return false;
	for (;;) {
		size_t n = strcspn(part, "/");

		if (!part_is_good(part, n))
			return false;
		if (part[n] == '\0')
			return true;
		part += n + 1;
	}
}

/* ---- lines ---- */

/* Takes a line without its end. Returns 0, or -EBADMSG if it has none. */
static int take_line(struct slice *in, struct slice *ret)
{
	const uint8_t *end = in->len ? memchr(in->ptr, '\n', in->len) : NULL;
	struct slice newline;

	if (!end || end - in->ptr > (ptrdiff_t)LINE_MAX_BYTES ||
	    slice_take(in, (size_t)(end - in->ptr), ret) < 0 ||
	    slice_take(in, 1, &newline) < 0)
		return -EBADMSG;
	return 0;
}

static bool is_text(struct slice s, const char *text)
{
	return slice_eq(s, slice_str(text));
}

/* git writes them in lower case. */
static bool is_oid(struct slice s, size_t len)
{
	if (s.len != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (str_hex_digit(s.ptr[i]) < 0 ||
		    (s.ptr[i] >= 'A' && s.ptr[i] <= 'F'))
			return false;
	return true;
}

static int head_parse(struct slice line, struct fetch_list *ret)
{
	static const struct {
		const char *line;
		size_t oid_len;
		bool shallow;
	} heads[] = {
		{ "ac-fetch 1 sha1 false", 40, false },
		{ "ac-fetch 1 sha1 true", 40, true },
		{ "ac-fetch 1 sha256 false", 64, false },
		{ "ac-fetch 1 sha256 true", 64, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
		if (is_text(line, heads[i].line)) {
			ret->oid_len = heads[i].oid_len;
			ret->shallow = heads[i].shallow;
			return 0;
		}
	return -EBADMSG;
}

static void note_odd(struct fetch_list *l, struct slice name)
{
	if (l->n_odd++ == 0)
		str_escape_utf8(l->odd, sizeof(l->odd), name.ptr, name.len);
}

/* Adds "OID refs/heads/NAME" or "OID HEAD". */
static int ref_add(struct fetch_list *l, struct slice line)
{
	struct fetch_ref *r = &l->refs[l->n_refs];
	struct slice oid, name = line;
	bool detached;

	if (slice_take(&name, l->oid_len, &oid) < 0 ||
	    !slice_skip(&name, " ") || !is_oid(oid, l->oid_len))
		return -EBADMSG;
	detached = is_text(name, "HEAD");
	if (!detached && !slice_skip(&name, "refs/heads/"))
		return -EBADMSG;
	if (l->n_refs + l->n_odd >= FETCH_REFS_MAX)
		return -E2BIG;
	if (name.len == 0 || name.len > FETCH_REF_NAME_MAX ||
	    memchr(name.ptr, 0, name.len)) {
		note_odd(l, name);
		return 0;
	}
	memcpy(r->name, name.ptr, name.len);
	r->name[name.len] = '\0';
	memcpy(r->oid, oid.ptr, oid.len);
	r->oid[oid.len] = '\0';
	if (detached || fetch_ref_good(r->name))
		l->n_refs++;
	else
		note_odd(l, name);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct fetch_ref *)a)->name,
		      ((const struct fetch_ref *)b)->name);
}

static int refs_parse(struct slice *in, struct fetch_list *l)
{
	struct slice line;
	int rc;

	l->refs = calloc(FETCH_REFS_MAX + 1, sizeof(*l->refs));
	if (!l->refs)
		return -ENOMEM;
	for (;;) {
		if (take_line(in, &line) < 0)
			return -EBADMSG;
		if (line.len == 0)
			break;
		rc = ref_add(l, line);
		if (rc < 0)
			return rc;
	}
	if (l->n_refs > 1)
		qsort(l->refs, l->n_refs, sizeof(*l->refs), by_name);
	for (size_t i = 1; i < l->n_refs; i++)
		if (by_name(&l->refs[i - 1], &l->refs[i]) == 0)
			return -EBADMSG; /* two readers could disagree */
	return 0;
}

static int history_parse(struct slice *in, struct fetch_list *l)
{
	const uint8_t *begin = in->ptr;
	struct slice line;

	for (size_t n = 0; n <= FETCH_COMMITS_MAX; n++) {
		size_t len = (size_t)(in->ptr - begin);

		if (take_line(in, &line) < 0)
			return -EBADMSG;
		if (is_text(line, "end") && in->len == 0) {
			l->history = slice_of(begin, len);
			return 0;
		}
		if (!is_oid(line, l->oid_len))
			return -EBADMSG;
	}
	return -EBADMSG;
}

int fetch_list_parse(struct slice text, struct fetch_list *ret)
{
	struct slice line;
	int rc;

	memset(ret, 0, sizeof(*ret));
	if (text.len > FETCH_LIST_MAX || take_line(&text, &line) < 0)
		return -EBADMSG;
	rc = head_parse(line, ret);
	if (rc == 0)
		rc = refs_parse(&text, ret);
	return rc < 0 ? rc : history_parse(&text, ret);
}

void fetch_list_done(struct fetch_list *l)
{
	free(l->refs);
	memset(l, 0, sizeof(*l));
}
