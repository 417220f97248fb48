/* SPDX-License-Identifier: Apache-2.0 */
/*
 * denier_test.c - what changes a denial by rule; whole lines of it are in
 * ottergate/conn/deny_test and control/cli/host/gatelog_test
 */
#include "lib/denier.h"

#include <string.h>

#include "tests/unit/tap.h"

int main(void)
{
	struct denier d = { .source = "agent",
			    .host = "-a.test",
			    .asked = "-A.test",
			    .target = "-A.test:443",
			    .agent = "x" };
	char out[128], few[8];
	size_t n = denier_words(out, sizeof(out), &d);

	is_int(n, strlen(out), "its length");
	is_str(out, "take it back with: ac policy allow x https://-A.test:443",
	       "a name that looks like an option, whatever its case");
	is_int(denier_words(few, sizeof(few), &d), sizeof(few) - 1, "cut");
	is_str(few, "take it", "to what fits");
	is_int(denier_allowance(out, sizeof(out), &d), 19, "what to allow");
	is_str(out, "https://-A.test:443", "is the target");
	d.host = "+a.test";
	denier_allowance(out, sizeof(out), &d);
	is_str(out, "+a.test", "or the pattern that denies it");
	d.host = "";
	is_int(denier_allowance(out, sizeof(out), &d), 0, "none that may be");
	is_str(out, "", "is not named");
	denier_words(out, sizeof(out), &d);
	is_str(out, "the rule is its own: ac policy show x", "and no way told");
	d.host = "-a.test";
	d.source = "blueprint";
	is_int(denier_allowance(out, sizeof(out), &d), 0,
	       "a blueprint's is not taken back so");
	d.source = "of a later gateway";
	is_int(denier_words(out, sizeof(out), &d), 0, "nothing is known");
	is_str(out, "", "and nothing said");
	return done_testing();
}
