/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_build.h - image builds, as acd reports them
 */
#ifndef CONTROL_CLI_HOST_IMAGE_BUILD_H
#define CONTROL_CLI_HOST_IMAGE_BUILD_H

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"
#include "lib/buf.h"

/*
 * Lines of JSON as they come in pieces: calls @fn with each object, borrowed.
 * A line over the buffer's maximum or without sense is -EPROTO; a negative
 * result of @fn ends it.
 */
typedef int (*ndjson_fn)(void *arg, const json_t *obj);
int ndjson_feed(struct buf *line, const char *data, size_t len, ndjson_fn fn,
		void *arg);

/* Has acd see to the image of @blueprint, with progress on stderr, and with
 * --json each of acd's lines on stdout. @how: members of the request that are
 * true, such as "force"; NULL: none. What failed before and has not changed
 * fails at once unless "retry" is in it. */
int build_image(const struct cli *cli, struct client *c, const char *blueprint,
		const json_t *how, struct err *err);

int cmd_build(const struct cli *cli, const struct args *a, struct err *err);

#endif
