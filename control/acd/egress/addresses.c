/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addresses.c - the addresses of the user's machine, as clients report them
 *
 * The gateway denies them to all sandboxes, like those of ac-host. It reads
 * them from a file each time it loads its policies.
 */
#include "control/acd/egress/addresses.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/str.h"

#define LINE_MAX_LEN (INET6_ADDRSTRLEN + 1)

static int one(const json_t *item, char out[INET6_ADDRSTRLEN], struct err *err)
{
	const char *text = json_string_value(item);
	struct in6_addr a;
	int family;

	for (family = AF_INET; text; family = AF_INET6) {
		if (inet_pton(family, text, &a) == 1) {
			inet_ntop(family, &a, out, INET6_ADDRSTRLEN);
			return 0;
		}
		if (family == AF_INET6)
			break;
	}
	return err_set(err, -EINVAL, "'addresses': '%.60s' is no address",
		       text ? text : "(no text)");
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int join(char (*v)[INET6_ADDRSTRLEN], size_t n, char **ret)
{
	struct buf out;
	int rc = 0;

	buf_init(&out, ADDRESSES_MAX * LINE_MAX_LEN + 1);
	for (size_t i = 0; rc == 0 && i < n; i++)
		if (i == 0 || strcmp(v[i], v[i - 1]) != 0)
			rc = buf_printf(&out, "%s\n", v[i]);
	if (rc == 0) {
		struct slice s = buf_slice(&out);

		*ret = str_printf("%.*s", (int)s.len,
				  s.len ? (const char *)s.ptr : "");
		rc = *ret ? 0 : -ENOMEM;
	}
	buf_done(&out);
	return rc;
}

int addresses_text(const json_t *list, char **ret, struct err *err)
{
	size_t n = json_array_size(list);
	char(*v)[INET6_ADDRSTRLEN];
	int rc = 0;

	if (!json_is_array(list) || n > ADDRESSES_MAX)
		return err_set(err, -EINVAL,
			       "'addresses' must be a list of at most %u",
			       ADDRESSES_MAX);
	v = calloc(n ? n : 1, sizeof(*v));
	if (!v)
		return err_nomem(err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = one(json_array_get(list, i), v[i], err);
	if (rc == 0) {
		qsort(v, n, sizeof(*v), by_text);
		rc = join(v, n, ret);
		if (rc < 0)
			err_nomem(err);
	}
	free(v);
	return rc;
}
