/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents_test.c - which blueprints are agents, and what they need
 */
#include "control/cli/cmd/agents.h"

#include "control/shared/json.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static const char blueprints[] =
	"[{\"name\":\"base\",\"image\":\"base\",\"agent\":false},"
	"{\"name\":\"bad\",\"description\":\"\",\"error\":\"f:1:1: no\"},"
	"{\"name\":\"codex\",\"image\":\"codex\",\"agent\":true,"
	"\"ready\":true,\"image_bytes\":5,\"description\":\"d\","
	"\"credentials\":[\"none\",{\"name\":\"openai\"},\"github\"]}]";

static void list_is(const char *vault_text, const char *want, const char *what)
{
	SCOPED_JSON all = json_loads(blueprints, 0, NULL);
	SCOPED_JSON vault = vault_text ? json_loads(vault_text, 0, NULL) : NULL;
	SCOPED_JSON list = agents_list(all, vault);
	SCOPED_STR got = list ? json_dumps(list, JSON_COMPACT) : NULL;

	is_str(got, want, "%s", what);
}

#define BAD "[{\"name\":\"bad\",\"error\":\"f:1:1: no\"},"
#define CODEX                                                         \
	BAD "{\"name\":\"codex\",\"image\":\"codex\",\"built\":true," \
	    "\"image_bytes\":5,\"credentials\":["

int main(void)
{
	list_is("{\"entries\":[{\"name\":\"github\"}]}",
		CODEX "{\"name\":\"openai\",\"in_vault\":false},"
		      "{\"name\":\"github\",\"in_vault\":true}],"
		      "\"description\":\"d\"}]",
		"agents, and what cannot be read");
	list_is(NULL,
		CODEX "{\"name\":\"openai\",\"in_vault\":null},"
		      "{\"name\":\"github\",\"in_vault\":null}],"
		      "\"description\":\"d\"}]",
		"of a vault that is locked");
	return done_testing();
}
