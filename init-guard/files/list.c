/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c - the file server: one page of a directory
 *
 * Theory of operation: a page continues after a name, not at a position, so
 * that entries made or removed meanwhile do not matter. One pass over the
 * directory keeps the smallest names after that one, as many as the page has:
 * memory is limited by the page, whatever the directory holds.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "init-guard/files/impl.h"

struct page {
	char *name[FILEWIRE_LIST_MAX]; /* sorted */
	size_t n, max;
	const char *after;
	bool more; /* some entries did not fit */
};

/* Returns the index at which @name is or belongs. */
static size_t page_find(const struct page *p, const char *name)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(p->name[mid], name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int page_add(struct page *p, const char *name)
{
	size_t at;
	char *copy;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strlen(name) > FILEWIRE_NAME_MAX || strcmp(name, p->after) <= 0)
		return 0;
	at = page_find(p, name);
	if (p->n == p->max) {
		p->more = true;
		if (at == p->max)
			return 0;
	}
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	if (p->n == p->max)
		free(p->name[--p->n]);
	memmove(p->name + at + 1, p->name + at,
		(p->n - at) * sizeof(p->name[0]));
	p->name[at] = copy;
	p->n++;
	return 0;
}

static int page_read(struct page *p, DIR *dir)
{
	struct dirent *de;
	int rc = 0;

	do {
		errno = 0;
		de = readdir(dir);
		if (!de)
			return -errno;
		rc = page_add(p, de->d_name);
	} while (rc == 0);
	return rc;
}

/* Entries removed meanwhile are skipped. */
static int page_send(const struct page *p, int dirfd)
{
	char target[FILEWIRE_PATH_MAX];
	struct filewire_entry e;
	struct stat st;
	size_t i;
	int rc;

	for (i = 0; i < p->n; i++) {
		if (fstatat(dirfd, p->name[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		files_entry(&e, &st, dirfd, p->name[i], target);
		e.name = slice_str(p->name[i]);
		rc = files_send_entry(&e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int files_list(const struct files_request *r, struct filewire_done *ret)
{
	static struct page p;
	SCOPED_DIR dir = opendir(r->path);
	int rc;

	if (!dir)
		return -errno;
	p = (struct page){ .max = (size_t)r->rq.length, .after = r->other };
	rc = page_read(&p, dir);
	if (rc == 0)
		rc = page_send(&p, dirfd(dir));
	for (size_t i = 0; i < p.n; i++)
		free(p.name[i]);
	ret->more = p.more;
	return rc;
}
