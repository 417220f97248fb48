/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspection.c - what a policy says of inspection as a whole: whom the
 * sandbox's CA is for, and how long it lives
 */
#include "ottergate/policy/policy_impl.h"

static int names_of(const struct rule_set *set, const struct rule_entry *e,
		    struct strv *ret)
{
	struct name name;

	for (uint32_t i = 0; i < e->n_names; i++) {
		match_entry_name(&set->names, &set->names.v[e->first_name + i],
				 &name);
		if (strv_push(ret, name.s) < 0)
			return -ENOMEM;
	}
	return 0;
}

int agent_policy_inspected(const struct agent_policy *a, struct strv *ret)
{
	for (size_t s = 0; s < a->n_sets; s++) {
		const struct rule_set *set = a->sets[s];

		for (uint32_t i = 0; i < set->n; i++)
			if (set->rules[i]->r.use == RULE_INSPECT &&
			    !set->rules[i]->r.insecure && /* has no TLS */
			    names_of(set, set->rules[i], ret) < 0)
				return -ENOMEM;
	}
	return 0;
}

uint32_t agent_policy_ca_seconds(const struct agent_policy *a)
{
	return a->policy->inspect.ca_seconds;
}

uint32_t agent_policy_leaf_seconds(const struct agent_policy *a)
{
	return policy_leaf_seconds(a->policy);
}

uint32_t policy_leaf_seconds(const struct policy *p)
{
	return p->inspect.leaf_lifetime / 1000;
}
