/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_build.h - builds images through acd, with progress
 */
#ifndef CONTROL_CLI_HOST_IMAGE_BUILD_H
#define CONTROL_CLI_HOST_IMAGE_BUILD_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"
#include "lib/buf.h"

/* @obj is borrowed. A negative result ends the reading. */
typedef int (*ndjson_fn)(void *arg, const json_t *obj);
/*
 * Takes the next piece of a stream of lines and calls @fn with the JSON object
 * of each complete line. The beginning of the next line is kept in @line, which
 * the caller has made by buf_init() and whose maximum bounds a line. Returns 0;
 * -EPROTO for a malformed or too long line; or the negative result of @fn.
 */
int ndjson_feed(struct buf *line, const char *data, size_t len, ndjson_fn fn,
		void *arg);

/* Lets acd build the image of @blueprint if needed and waits for it, with
 * progress on stderr and, with --json, acd's lines on stdout. @how: an object,
 * borrowed, whose true members ask for more, such as "force"; NULL: none. A
 * build that has failed, and whose files have not changed since, fails at once
 * unless @how has "retry". Returns 0 or a negative errno with @err. */
int build_image(const struct cli *cli, struct client *c, const char *blueprint,
		const json_t *how, struct err *err);

/* The command `ac build`. */
int cmd_build(const struct cli *cli, const struct args *a, struct err *err);

#endif
