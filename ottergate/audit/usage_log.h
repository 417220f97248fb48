/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage_log.h - sums up the sandboxes' use of models from the audit
 */
#ifndef OTTERGATE_AUDIT_USAGE_LOG_H
#define OTTERGATE_AUDIT_USAGE_LOG_H

#include "lib/buf.h"
#include "lib/err.h"

struct usage_ask {
	const char *agent; /* NULL: all */
	uint64_t since; /* seconds since 1970, 0: from the beginning */
};

/*
 * Reads the audit at @path and its rotated files, and appends to @out
 * 	{"usage":[{"name":"coder","api":"anthropic","model":"m","requests":1,
 * 	 "errors":0,"tokens_in":1,"tokens_out":1,"tokens_cached":0,
 * 	 "p50_ms":1,"p99_ms":1}]}
 * in order of name, API and model. A line without a newline at the end of a
 * file is still being written and is left out. Returns 0. Fails with -ENOENT if
 * there is no @path, -EBADMSG (the line is in @err), -ENOMEM, -ENOBUFS (@out
 * may have a part of the text) or another negative errno of reading, always
 * with @err.
 */
int usage_from_audit(const char *path, const struct usage_ask *ask,
		     struct buf *out, struct err *err);

#endif
