/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multipart.h - reads multipart/form-data (RFC 7578) as it comes
 *
 * Keeps no data: what a part holds is passed on as views of the input. The heads
 * of parts are bounded. It has no side effects.
 */
#ifndef CONTROL_ACD_API_E2B_BOX_MULTIPART_H
#define CONTROL_ACD_API_E2B_BOX_MULTIPART_H

#include <stdbool.h>

#include "lib/slice.h"

#define MULTIPART_BOUNDARY_MAX 70u /* RFC 2046, section 5.1.1 */
#define MULTIPART_HEAD_MAX 8192u /* bytes of the head of a part */
#define MULTIPART_NAME_MAX 4095u /* bytes of a file's name */

enum multipart_state {
	MULTIPART_BEGIN, /* in the first boundary */
	MULTIPART_BEHIND, /* behind a boundary: a line's end, or "--" */
	MULTIPART_HEAD,
	MULTIPART_BODY,
	MULTIPART_OVER, /* what follows is ignored */
};

struct multipart {
	enum multipart_state state;
	char delim[MULTIPART_BOUNDARY_MAX + 5]; /* "\r\n--BOUNDARY" */
	size_t delim_len;
	size_t matched; /* of delim, at the end of what was read */
	size_t held, given; /* of delim, that were data after all */
	char head[MULTIPART_HEAD_MAX]; /* or the two bytes behind */
	size_t head_len;
	char name[MULTIPART_NAME_MAX + 1]; /* of this part's file, or "" */
};

enum multipart_event {
	MULTIPART_MORE, /* the input is used up */
	MULTIPART_PART, /* a part begins: name is set */
	MULTIPART_DATA,
	MULTIPART_PART_END,
	MULTIPART_END, /* the last part was that; comes once */
};

/* Begins with the value of a Content-Type. Returns 0, or -EINVAL if it is no
 * multipart/form-data with a good boundary. */
int multipart_init(struct multipart *m, const char *content_type);
/* Takes what comes next from the front of @in. *@ret_data, at most @max bytes, is a
 * view of @in or of @m. Returns an event, or -EBADMSG. */
int multipart_next(struct multipart *m, struct slice *in, size_t max,
		   struct slice *ret_data);

#endif
