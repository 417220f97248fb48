/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - all counters as Prometheus text and as JSON
 */
#ifndef OTTERGATE_ADMIN_METRICS_H
#define OTTERGATE_ADMIN_METRICS_H

#include "lib/buf.h"
#include "ottergate/conn/worker.h"

struct metrics_view { /* borrowed */
	const struct workers *workers;
	const struct table *table;
	const struct policy *policy; /* the shared one */
	struct audit *audit;
	/* The first: clock_ms() when the gateway started. */
	uint64_t started_ms, reloads, reload_failures;
	bool last_reload_ok;
};
/* Append the text to @out. Return 0, or the error of buf_append(); @out may
 * have a part of the text then. */
int metrics_text(const struct metrics_view *v, struct buf *out);
int metrics_json(const struct metrics_view *v, struct buf *out);

#endif
