/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - puts the options of a request into an instance's record
 */
#ifndef CONTROL_ACD_API_RUN_OPTIONS_H
#define CONTROL_ACD_API_RUN_OPTIONS_H

#include <jansson.h>

#include "control/acd/storage/store.h"
#include "lib/err.h"

struct acd;
struct blueprint;

/* Fills @ret with the record that a new instance @name of @blueprint has
 * without options. Returns 0, and the caller releases @ret; -ENOENT if there is
 * no such blueprint; another failure of blueprint_load(). */
int api_options_default(const struct acd *acd, const char *name,
			const char *blueprint, struct instance_record *ret,
			struct err *err);
/* The same for a blueprint that has been read. Fails with -ENOMEM. */
int api_options_default_of(const struct acd *acd, const char *name,
			   const struct blueprint *bp,
			   struct instance_record *ret, struct err *err);

/* Puts the options of the object @body into @r. @def is the record without
 * options, used for those that @body clears. On failure @r may have some of
 * them. Returns 0; -EINVAL for a bad value; -ENOTSUP for what this machine
 * cannot provide; another negative errno. */
int api_options_apply(const struct acd *acd, json_t *body,
		      const struct instance_record *def,
		      struct instance_record *r, struct err *err);

/* Returns warnings for the user of @body, whose options are in @r: more memory
 * or processes than the machine has, a port that is published beyond the
 * machine, a faulty policy file. A new reference,
 * NULL without memory. */
json_t *api_options_warnings(const struct acd *acd, const json_t *body,
			     const struct instance_record *r);

#endif
