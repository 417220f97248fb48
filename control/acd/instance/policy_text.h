/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_text.h - the text of an instance's policy, out of all that adds to it
 */
#ifndef CONTROL_ACD_INSTANCE_POLICY_TEXT_H
#define CONTROL_ACD_INSTANCE_POLICY_TEXT_H

#include "control/acd/egress/egress.h"
#include "control/acd/instance/grant/grants.h"

/* Merges the egress of @bp with the options @json (NULL: none). @packages: there
 * is a preset of the machine's registries. Returns 0, and the caller releases @ret
 * by egress_done(). Fails with -EINVAL for @json, or -ENOMEM. */
int policy_merge(bool packages, const char *json, const struct blueprint *bp,
		 struct egress *ret, struct err *err);

/* Appends what policy_text() (policy.h) does, with the credentials of @grants. */
int policy_text_make(struct grants *grants, bool packages,
		     const struct instance_record *r, const char *json,
		     const struct blueprint *bp, struct err *ret_lacks,
		     struct buf *out, struct err *err);

#endif
