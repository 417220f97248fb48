/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_orders_fuzz.c - what acd and ac-edge read from each other: bounded, and
 * written again it is the same bytes
 */
#include <stdlib.h>
#include <string.h>

#include "control/shared/edge_orders.h"

static void same(struct buf *out, const uint8_t *data, size_t used)
{
	if (buf_len(out) != used || memcmp(buf_slice(out).ptr, data, used) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct edge_orders o;
	struct edge_report r;
	struct buf out;
	size_t used;

	buf_init(&out, EDGE_FRAME_MAX + 4);
	if (edge_orders_get(slice_of(data, size), &o, &used) == 0) {
		if (used > size || o.n > EDGE_ORDERS_MAX ||
		    edge_orders_put(&out, &o) < 0)
			abort();
		for (size_t i = 0; i < o.n; i++)
			if (!edge_name_ok(o.v[i].name) || o.v[i].port == 0)
				abort();
		if (o.n_ports > EDGE_PORTS_MAX)
			abort();
		for (size_t i = 0; i < o.n_ports; i++)
			if (o.ports[i].id <= (i ? o.ports[i - 1].id : 0))
				abort();
		same(&out, data, used);
	}
	buf_done(&out);
	if (edge_report_get(slice_of(data, size), &r, &used) == 0) {
		if (used > size || r.listening > EDGE_ORDERS_MAX ||
		    r.n_ports > EDGE_PORTS_MAX ||
		    strlen(r.text) > EDGE_TEXT_MAX ||
		    edge_report_put(&out, &r) < 0)
			abort();
		same(&out, data, used);
	}
	buf_done(&out);
	return 0;
}
