/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - Prometheus text and JSON of everything that is counted
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
	uint64_t started_ms, reloads, reload_failures;
	bool last_reload_ok;
};
int metrics_text(const struct metrics_view *v, struct buf *out);
int metrics_json(const struct metrics_view *v, struct buf *out);

#endif
