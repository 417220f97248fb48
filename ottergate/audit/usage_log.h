/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage_log.h - what sandboxes have asked of models, added up from the audit
 */
#ifndef OTTERGATE_AUDIT_USAGE_LOG_H
#define OTTERGATE_AUDIT_USAGE_LOG_H

#include "lib/buf.h"
#include "lib/err.h"

struct usage_ask {
	const char *agent; /* NULL: all */
	uint64_t since; /* seconds since the epoch, 0: from the beginning */
};

/*
 * The audit at @path and its rotated files; into @out
 *	{"usage":[{"name":"coder","api":"anthropic","model":"m","requests":1,
 *	 "errors":0,"tokens_in":1,"tokens_out":1,"tokens_cached":0,
 *	 "p50_ms":1,"p99_ms":1}]}
 * in order of name, API and model. -ENOENT, -EBADMSG (@err names the line),
 * -ENOMEM, -ENOBUFS.
 */
int usage_from_audit(const char *path, const struct usage_ask *ask,
		     struct buf *out, struct err *err);

#endif
