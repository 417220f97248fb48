/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - the policies of instances: a file each, bound at the gateway
 *
 * The gateway enforces what is bound; it reads the files when it starts.
 */
#ifndef CONTROL_ACD_INSTANCE_POLICY_H
#define CONTROL_ACD_INSTANCE_POLICY_H

#include "control/acd/egress/egress.h"
#include "control/acd/egress/gate_client.h"
#include "control/acd/instance/instance.h"

struct grants;
struct policies;
struct vault;

/* Returns a new object, or NULL with @err. @dir: GATE_AGENTS. @kinds:
 * AC_SHARE_KINDS. @vault holds the values of credentials; NULL: none.
 * @has_packages returns whether there is a preset of the machine's registries.
 * @client, @dir and @vault are borrowed. */
struct policies *policies_new(struct gate_client *client, const char *dir,
			      const char *kinds, struct vault *vault,
			      bool (*has_packages)(void), struct err *err);
void policies_free(struct policies *p); /* after the client; NULL is fine */

/* Called when a new gateway answers: sends it the CAs and credentials of all
 * runs. */
void policies_gate_up(struct policies *p);
/* Called when @credential has a new value or was removed: sends what is left to
 * the gateway, for the runs that use it. */
void policies_vault_changed(struct policies *p, const char *credential);

/* Returns the grants of the runs, borrowed. */
struct grants *policies_grants(struct policies *p);

/* For instances_set_egress(), with the policies as its argument. */
extern const struct instance_egress_ops policy_egress_ops;

/* Appends the policy file of @r with the egress options @json (NULL: none) and
 * the blueprint @bp. If @ret_lacks is given and the vault refuses the
 * credentials of @r, their rules are left out and *ret_lacks says why, else it
 * is unchanged; without @ret_lacks that is a failure. Returns 0 or a negative
 * errno with @err. */
int policy_text(const struct policies *p, const struct instance_record *r,
		const char *json, const struct blueprint *bp, struct buf *out,
		struct err *ret_lacks, struct err *err);
/* Returns what grants_lacks_rule() does. */
bool policy_lacks_rule(const struct policies *p,
		       const struct instance_record *r,
		       const struct blueprint *bp, const char *rule);
/* Returns 0 if @r may use the credentials of its record and its blueprint, else
 * what its run would fail with (grants_rules(), grants_bind()); but -EINVAL for
 * a credential or blueprint that does not exist. What the blueprint names and
 * the vault does not have is left to the run (policy_missing()). */
int policy_may(const struct policies *p, const struct instance_record *r,
	       struct err *err);
/* Returns what grants_missing() does. */
const char *policy_missing(const struct policies *p,
			   const struct instance_record *r,
			   const struct blueprint *bp,
			   const struct strv *without);
/* Returns the merged egress as {"mode", "presets", "allow", "deny"}; a new
 * reference, or NULL with @err. */
json_t *policy_effective(const struct policies *p, const char *json,
			 const struct blueprint *bp, struct err *err);

#endif
