/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_flow.c - bytes of a file between a client and a sandbox's file server
 */
#include "control/acd/api/file_flow.h"

bool file_flow_out(struct http_stream *s, struct buf *pending, struct files *f,
		   uint64_t left)
{
	struct slice data = buf_slice(pending);
	size_t room = http_stream_room(s);

	if (data.len > room)
		data.len = room;
	if (data.len > 0 && http_stream_write(s, data.ptr, data.len) == 0) {
		buf_consume(pending, data.len);
		if (f)
			files_credit(f, data.len);
	}
	if (buf_len(pending) > 0 || f)
		return false;
	/* The file became shorter meanwhile. */
	if (left > 0)
		http_stream_fail(s);
	else
		http_stream_end(s);
	return true;
}

size_t file_flow_in(struct files *f, struct slice data)
{
	size_t room = files_room(f);

	if (data.len > room)
		data.len = room;
	files_write(f, data);
	return data.len;
}
