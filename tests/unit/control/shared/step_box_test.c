/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_box_test.c - which steps of a build get a sandbox, and what of their
 * bundle it keeps
 */
#include "control/shared/step_box.h"

#include <string.h>

#include "control/shared/json.h"
#include "lib/file.h"
#include "tests/unit/tap.h"

#define NET "{\"type\":\"network\"}"
#define CONFIG(args, namespaces)                                              \
	"{\"hostname\":\"claude\",\"root\":{\"path\":\"rootfs\"},"            \
	"\"process\":{\"args\":[" args "],\"apparmorProfile\":\"a\","         \
	"\"oomScoreAdj\":5,\"user\":{\"uid\":0},\"capabilities\":{"           \
	"\"bounding\":[\"CAP_MKNOD\",\"CAP_CHOWN\",\"CAP_SYS_ADMIN\"],"       \
	"\"effective\":[\"CAP_NET_RAW\",\"CAP_SETUID\"],"                     \
	"\"permitted\":[\"CAP_SETUID\"],\"ambient\":[\"CAP_CHOWN\"],"         \
	"\"inheritable\":[\"CAP_CHOWN\"]}},"                                  \
	"\"hooks\":{\"prestart\":[{\"path\":\"/x\"}]},"                       \
	"\"mounts\":[{\"destination\":\"/proc\",\"type\":\"proc\"},"          \
	"{\"destination\":\"/dev/mqueue\",\"type\":\"mqueue\"},"              \
	"{\"destination\":\"/sys/fs/cgroup\",\"type\":\"cgroup\"},"           \
	"{\"destination\":\"/etc/resolv.conf\",\"type\":\"bind\",\"source\":" \
	"\"/host\"}],\"linux\":{\"cgroupsPath\":\"/x\",\"seccomp\":{},"       \
	"\"namespaces\":[{\"type\":\"pid\"}" namespaces "]}}"

static void put(const char *text)
{
	file_remove_tree("b");
	if (file_mkdir_p("b", 0700) < 0 ||
	    file_write_atomic("b/config.json", text, strlen(text), 0600) < 0)
		ok(false, "write a bundle");
}

static json_t *config(void)
{
	SCOPED_STR text = NULL;
	struct err err = { 0 };
	json_t *j = NULL;
	size_t len = 0;

	if (file_read("b/config.json", 1 << 20, &text, &len) == 0)
		jsonx_parse(text, len, &j, &err);
	return j;
}

static const char *compact(const json_t *j)
{
	static char out[1024];
	SCOPED_STR text = j ? json_dumps(j, JSON_COMPACT | JSON_ENCODE_ANY) :
			      NULL;

	snprintf(out, sizeof(out), "%s", text ? text : "(none)");
	return out;
}

static void test_read(void)
{
	struct step_bundle b = { 0 };
	struct err err = { 0 };

	put(CONFIG("\"sh\"", "," NET));
	is_int(step_bundle_read("b", &b, &err), 0, "a bundle");
	is_str(b.root, "b/rootfs", "its root is below it");
	is_str(b.image, "claude", "its host name is its image");
	ok(b.boxed && !b.strips, "a network of its own: a sandbox");
	step_bundle_done(&b);

	put(CONFIG("\"sh\"", ""));
	is_int(step_bundle_read("b", &b, &err), 0, "another");
	ok(!b.boxed, "no network of its own: none");
	step_bundle_done(&b);

	put(CONFIG("\"" STEP_STRIP "\"", ""));
	is_int(step_bundle_read("b", &b, &err), 0, "the last step");
	ok(b.strips, "it is known by its only word");
	step_bundle_done(&b);

	put(CONFIG("\"" STEP_STRIP "\",\"x\"", ""));
	is_int(step_bundle_read("b", &b, &err), 0, "a longer one");
	ok(!b.strips, "which is not that");
	step_bundle_done(&b);

	put("{\"a\":");
	ok(step_bundle_read("b", &b, &err) < 0, "no JSON: %s", err.msg);
	file_remove_tree("b");
	is_int(step_bundle_read("b", &b, &err), -ENOENT, "no bundle");
}

static int prepare(struct err *err)
{
	const struct step_box box = { .netns = "/run/ns",
				      .resolv = "/run/resolv",
				      .memory = 77 };

	return step_box_prepare("b", &box, err);
}

static void test_change(void)
{
	struct err err = { 0 };
	const json_t *process, *caps;

	put(CONFIG("\"sh\"", "," NET));
	is_int(prepare(&err), 0, "a step becomes that of a sandbox");
	SCOPED_JSON j = config();

	process = json_object_get(j, "process");
	caps = json_object_get(process, "capabilities");
	is_str(compact(json_object_get(caps, "bounding")), "[\"CAP_CHOWN\"]",
	       "capabilities to install, not those of a kernel");
	is_str(compact(json_object_get(caps, "effective")), "[\"CAP_SETUID\"]",
	       "nor of a network");
	ok(!json_object_get(caps, "ambient") &&
		   !json_object_get(caps, "inheritable"),
	   "and none that a user's program would have");
	ok(!json_object_get(process, "apparmorProfile") &&
		   !json_object_get(j, "hooks"),
	   "nothing of a host");
	is_str(compact(json_object_get(j, "mounts")),
	       "[{\"destination\":\"/proc\",\"type\":\"proc\"},"
	       "{\"destination\":\"/etc/resolv.conf\",\"type\":\"bind\","
	       "\"source\":\"/run/resolv\",\"options\":[\"rbind\",\"ro\"]}]",
	       "its resolver is the gateway");
	is_str(compact(json_object_get(j, "linux")),
	       "{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"ipc\"},"
	       "{\"type\":\"uts\"},{\"type\":\"mount\"},{\"type\":\"network\","
	       "\"path\":\"/run/ns\"}],\"resources\":{\"memory\":{\"limit\":"
	       "77}}}",
	       "its network is that of acd, and it knows its limit");
	is_str(compact(json_object_get(process, "args")), "[\"sh\"]",
	       "its words stay");
}

static void test_refuse(void)
{
	struct err err = { 0 };

	put(CONFIG("\"sh\"", ""));
	is_int(prepare(&err), -EPROTO,
	       "a step with the network of the host is none of a sandbox");
	put("{\"linux\":{\"namespaces\":[" NET "]},\"process\":{}}");
	is_int(prepare(&err), -EPROTO, "nor one without mounts");
}

int main(void)
{
	test_read();
	test_change();
	test_refuse();
	file_remove_tree("b");
	return done_testing();
}
