/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - talk on stderr: "level component message", one line each
 *
 * errno is kept. Control bytes are escaped, so text from a sandbox may be
 * an argument. A failure is logged once, at the top of the request or loop.
 */
#ifndef LIB_LOG_H
#define LIB_LOG_H

#include "lib/attr.h"

enum log_level { LOG_LVL_ERROR, LOG_LVL_WARN, LOG_LVL_INFO, LOG_LVL_DEBUG };

/* @component is kept by reference; @json writes one JSON object a line. */
void log_init(const char *component, enum log_level max, int json);
void log_error(const char *fmt, ...) ATTR_PRINTF(1, 2);
void log_warn(const char *fmt, ...) ATTR_PRINTF(1, 2);
void log_info(const char *fmt, ...) ATTR_PRINTF(1, 2);
void log_debug(const char *fmt, ...) ATTR_PRINTF(1, 2);

#endif
