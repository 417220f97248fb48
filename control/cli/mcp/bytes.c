/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes.c - the bytes of a file or a log, up to a limit
 */
#include "control/cli/mcp/bytes.h"

#include "lib/str.h"

/* The result of on_data() that ends the call when there is enough. */
#define ENOUGH (-EFBIG)

static int on_data(void *arg, const char *data, size_t len)
{
	struct buf *b = arg;
	size_t room = buf_room(b);

	if (buf_append(b, data, len < room ? len : room) < 0)
		return -ENOMEM;
	return len > room ? ENOUGH : 0;
}

int bytes_read(const struct tool_call *c, const char *rest, uint64_t max,
	       struct buf *ret, bool *ret_cut, struct err *err)
{
	SCOPED_CLIENT client = client_new(c->o->cli->sock, "acd");
	SCOPED_STR path = NULL;
	const char *id = NULL;
	int rc;

	buf_init(ret, max);
	*ret_cut = false;
	rc = client ? scope_id(c, &id, err) : err_nomem(err);
	if (rc < 0)
		return rc;
	path = client_path("/v1/instances/", id, rest);
	if (!path)
		return err_nomem(err);
	rc = client_stream(client, "GET", path, NULL, on_data, ret, err);
	if (rc == ENOUGH) {
		*ret_cut = true;
		return 0;
	}
	return rc == -ENOMEM ? err_nomem(err) : rc;
}
