/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_text.c - the text of an instance's policy, out of all that adds to it
 */
#include "control/acd/instance/policy_text.h"

#include "control/acd/net/services.h"
#include "lib/str.h"

#define TEXT_MAX (1u * 1024 * 1024) /* the gateway takes no longer ones */

int policy_merge(bool packages, const char *json, const struct blueprint *bp,
		 struct egress *ret, struct err *err)
{
	struct egress own = { 0 };
	int rc = egress_load(json, &own, err);

	if (rc < 0)
		return err_wrap(err, "the stored egress");
	if (egress_merge(&bp->egress, &own, packages, ret) < 0)
		rc = err_nomem(err);
	egress_done(&own);
	return rc;
}

/* Adds the rules of its credentials. If @ret_lacks is given, the policy is only
 * shown: rules that the vault does not give are left out, and *ret_lacks says
 * why. */
static int rules_add(struct grants *grants, const struct instance_record *r,
		     const struct blueprint *bp, struct err *ret_lacks,
		     struct egress *e, struct err *err)
{
	struct err why = { 0 };
	struct buf rules;
	int rc;

	buf_init(&rules, TEXT_MAX / 2);
	rc = grants_rules(grants, r, bp, e->push, &e->services, &rules, &why);
	if (rc < 0 && !ret_lacks) {
		*err = why;
	} else if (rc < 0) {
		*ret_lacks = why;
		buf_consume(&rules, buf_len(&rules));
		rc = 0;
	}
	if (rc == 0 && buf_len(&rules) > 0)
		rc = slice_dup_str(buf_slice(&rules), &e->rules);
	buf_done(&rules);
	return rc < 0 && err->code == 0 ? err_set(err, rc, "%s", err_text(rc)) :
					  rc;
}

/* Adds its services. If @ret_lacks is given, none of them is in it if one does
 * not exist, and *ret_lacks says so. */
static int places_add(struct err *ret_lacks, struct egress *e, struct err *err)
{
	struct err why = { 0 };
	struct buf places;
	int rc;

	buf_init(&places, TEXT_MAX / 8);
	rc = services_rules(&e->services, &places, &why);
	if (rc < 0 && ret_lacks) {
		*ret_lacks = why;
		buf_consume(&places, buf_len(&places));
		rc = 0;
	} else if (rc < 0) {
		*err = why;
	}
	if (rc == 0 && buf_len(&places) > 0 &&
	    slice_dup_str(buf_slice(&places), &e->places) < 0)
		rc = err_nomem(err);
	buf_done(&places);
	return rc;
}

int policy_text_make(struct grants *grants, bool packages,
		     const struct instance_record *r, const char *json,
		     const struct blueprint *bp, struct err *ret_lacks,
		     struct buf *out, struct err *err)
{
	struct egress e = { 0 };
	int rc = policy_merge(packages, json, bp, &e, err);

	if (rc == 0)
		rc = places_add(ret_lacks, &e, err);
	if (rc == 0)
		rc = rules_add(grants, r, bp, ret_lacks, &e, err);
	if (rc == 0) {
		rc = egress_yaml(&e, r->name, r->address, out);
		if (rc < 0)
			err_set(err, rc, "the policy of '%s': %s", r->name,
				err_text(rc));
	}
	egress_done(&e);
	return rc;
}
