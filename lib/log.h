/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - log lines on stderr: "level component message"
 *
 * Functions keep errno. Control bytes are escaped, so an argument may be text
 * from a sandbox. A message is cut after 4.5 KiB. A line that cannot be written
 * is lost. Log a failure once, at the top of the request or loop.
 */
#ifndef LIB_LOG_H
#define LIB_LOG_H

#include "lib/attr.h"

enum log_level { LOG_LVL_ERROR, LOG_LVL_WARN, LOG_LVL_INFO, LOG_LVL_DEBUG };

/* Sets the component's name (not copied; NULL is "-"), the most verbose level
 * that is written, and whether each line is a JSON object. The default is "-",
 * LOG_LVL_INFO and plain text. Call it before other threads log. */
void log_init(const char *component, enum log_level max, int json);
void log_error(const char *fmt, ...) ATTR_PRINTF(1, 2);
void log_warn(const char *fmt, ...) ATTR_PRINTF(1, 2);
void log_info(const char *fmt, ...) ATTR_PRINTF(1, 2);
void log_debug(const char *fmt, ...) ATTR_PRINTF(1, 2);

#endif
