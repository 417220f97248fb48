/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - the policies of instances: a file each, bound at the gateway
 *
 * The file is for the gateway's next start; what is bound is what holds.
 */
#ifndef CONTROL_ACD_INSTANCE_POLICY_H
#define CONTROL_ACD_INSTANCE_POLICY_H

#include "control/acd/egress/egress.h"
#include "control/acd/egress/gate_client.h"
#include "control/acd/instance/instance.h"

struct policies;
struct vault;

/* @dir: GATE_AGENTS; @kinds: AC_SHARE_KINDS; @vault: where the values of
 * credentials come from, NULL: nowhere; @has_packages tells whether there is a preset of the machine's
 * registries. All kept by reference. */
struct policies *policies_new(struct gate_client *client, const char *dir,
			      const char *kinds, struct vault *vault,
			      bool (*has_packages)(void), struct err *err);
void policies_free(struct policies *p); /* after the client; NULL is fine */

/* It answers again: it is told what it has forgotten. */
void policies_gate_up(struct policies *p);
/* An entry has another value, or none any more: those that run and use it are
 * served with what there is. */
void policies_vault_changed(struct policies *p, const char *credential);

/* For instances_set_egress(), with the policies as its argument. */
extern const struct instance_egress_ops policy_egress_ops;

/* The policy file of @r with the wishes @json, of the blueprint @bp. Where the
 * vault does not give its credentials, what they open is left out, and
 * @ret_lacks says why; else that stays as it is. */
int policy_text(const struct policies *p, const struct instance_record *r,
		const char *json, const struct blueprint *bp, struct buf *out,
		struct err *ret_lacks, struct err *err);
/* May @r use the credentials of its record and its blueprint? What is refused
 * here would be when it runs: as grants_rules() and grants_bind(), but that one
 * that is not there is -EINVAL. */
int policy_may(const struct policies *p, const struct instance_record *r,
	       struct err *err);
/* What holds then, as data: {"mode", "presets", "allow", "deny"}; a new
 * reference, NULL: @err. */
json_t *policy_effective(const struct policies *p, const char *json,
			 const struct blueprint *bp, struct err *err);

#endif
