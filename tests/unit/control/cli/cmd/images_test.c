/* SPDX-License-Identifier: Apache-2.0 */
/*
 * images_test.c - which images a word means, and what they are called
 */
#include "control/cli/cmd/images.h"

#include <errno.h>

#include "control/shared/json.h"
#include "tests/unit/tap.h"

#define ID_A "aaaaaaaaaaaa0000000000000000000000000000000000000000000000000000"
#define ID_B "aaaaaaaaaaaa1111111111111111111111111111111111111111111111111111"
#define ID_C "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"

static const char text[] =
	"[{\"id\":\"" ID_A
	"\",\"tags\":[\"ac/claude:1\",\"ac/claude:latest\"]},"
	"{\"id\":\"" ID_B "\",\"tags\":[\"ac/claude:2\"]},"
	"{\"id\":\"" ID_C "\",\"tags\":[]},"
	"{\"id\":\"dddd\",\"tags\":[\"ac/claude-x:latest\",\"reg:5000/n:1\"]}]";

/* Each picked one by the first letter and the 13th of its id. */
static void picks(const char *word, const char *want)
{
	SCOPED_JSON list = json_loads(text, 0, NULL);
	SCOPED_JSON got = json_array();
	char names[32] = "";
	struct err err = { 0 };
	int rc = images_pick(list, word, got, &err);

	for (size_t n = 0; n < json_array_size(got); n++) {
		const char *id = json_text(json_array_get(got, n), "id");
		size_t used = strlen(names);

		snprintf(names + used, sizeof(names) - used, "%c%c ", id[0],
			 strlen(id) > 12 ? id[12] : '-');
	}
	if (rc < 0)
		snprintf(names, sizeof(names), "%s",
			 rc == -ENOENT ? "none" :
			 rc == -EINVAL ? "many" :
					 "?");
	is_str(names, want, "'%s'", word);
	ok((rc < 0) == (err.msg[0] != '\0'), "with a message if it failed");
}

static void label_is(size_t n, const char *want)
{
	SCOPED_JSON list = json_loads(text, 0, NULL);
	char got[64];

	is_str(images_label(got, sizeof(got), json_array_get(list, n)), want,
	       "the name of image %zu", n);
}

int main(void)
{
	picks("claude", "a0 a1 ");
	picks("ac/claude", "a0 a1 ");
	picks("claude:latest", "a0 ");
	picks("ac/claude:2", "a1 ");
	picks("claude:3", "none");
	picks("claud", "none");
	picks("claude-x", "d- ");
	picks("reg:5000/n", "d- ");
	picks("reg:5000/n:1", "d- ");
	picks("reg", "none");
	picks("latest", "none");
	picks("", "none");
	picks("cccccccccccc", "cc ");
	picks("sha256:cccccccccccc", "cc ");
	picks("ccccccccccc", "none");
	picks("aaaaaaaaaaaa", "many");
	picks("aaaaaaaaaaaa1", "a1 ");
	label_is(0, "claude:1");
	label_is(2, "cccccccccccc");
	return done_testing();
}
