/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_test.c - snapshots: found by address and id, counted
 */
#include "ottergate/conn/table.h"

#include "tests/unit/ottergate/policies.h"
#include "tests/unit/tap.h"

#define COUNT 3000u

static struct table_entry entry(struct agent_policy *policy, const char *id,
				uint32_t address)
{
	struct addr addr = addr_v4(address);

	return (struct table_entry){
		.agent = agent_new(id, &addr),
		.policy = policy,
	};
}

static void test_find(struct agent_policy *policy)
{
	static struct table_entry v[COUNT];
	const struct table_entry *e;
	struct table *t = NULL;
	struct addr none = addr_v4(0xac150001);
	unsigned wrong = 0;

	for (unsigned i = 0; i < COUNT; i++) {
		char id[16];

		snprintf(id, sizeof(id), "box-%u", i);
		v[i] = entry(policy, id, 0xac140100 + i);
	}
	if (!ok(table_make(v, COUNT, 7, &t) == 0, "a table"))
		return;
	for (unsigned i = 0; i < COUNT; i++) {
		struct addr addr = addr_v4(0xac140100 + i);

		e = table_find(t, &addr);
		wrong += !e || e->agent != v[i].agent;
		e = table_find_id(t, v[i].agent->id);
		wrong += !e || e->agent != v[i].agent;
		agent_unref(v[i].agent); /* the table has its own */
	}
	is_int(wrong, 0, "each is found by its address and its id");
	is_int(table_count(t), COUNT, "count");
	is_int(table_generation(t), 7, "generation");
	ok(table_at(t, 5)->agent == v[5].agent, "in order");
	ok(!table_find(t, &none), "no such address");
	none = (struct addr){ .family = 6, .b = { 0xac, 0x14, 1, 0 } };
	ok(!table_find(t, &none), "the same bytes of another family");
	ok(!table_find_id(t, "box"), "no such id");
	table_ref(t);
	table_unref(t);
	ok(table_count(t) == COUNT, "a reference keeps it");
	table_unref(t);
	table_unref(NULL);
}

static void test_twice(struct agent_policy *policy)
{
	struct table_entry v[] = {
		entry(policy, "a", 1),
		entry(policy, "b", 1),
		entry(policy, "a", 2),
	};
	struct table_entry ids[] = { v[0], v[2] };
	struct table *t = NULL;

	is_int(table_make(v, 2, 1, &t), -EEXIST, "two with one address");
	is_int(table_make(ids, 2, 1, &t), -EEXIST, "two with one id");
	is_int(table_make(v, TABLE_AGENTS_MAX + 1, 1, &t), -E2BIG, "too many");
	ok(!t, "no table");
	is_int(table_make(NULL, 0, 1, &t), 0, "an empty one");
	ok(t && !table_find(t, &v[0].agent->address), "has nobody");
	table_unref(t);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		agent_unref(v[i].agent);
}

int main(void)
{
	struct agent_policy *a = NULL;
	struct policy *p = NULL;

	if (ok(policy_of("version: 1\n", &p, NULL, NULL) == 0 &&
		       agent_of_text(p,
				     "version: 1\nagents:\n- id: x\n"
				     "  match: { address: 172.20.0.9 }\n",
				     &a, NULL, NULL) == 0,
	       "a policy")) {
		test_find(a);
		test_twice(a);
	}
	agent_policy_unref(a);
	policy_unref(p);
	return done_testing();
}
