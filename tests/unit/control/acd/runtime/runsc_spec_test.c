/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_spec_test.c - the configuration of a sandbox that acd starts itself
 */
#include "control/acd/runtime/runsc_spec.h"

#include "lib/attr.h"
#include "tests/unit/tap.h"

static const struct runtime_spec want = {
	.name = "otter-1",
	.image = "ac/base:latest",
	.address = "172.20.1.7",
	.workspace = "/run/ac/mnt/otter-1/workspace",
	.home = "/run/ac/mnt/otter-1/home",
};

static json_t *config(const struct runtime_spec *w)
{
	const struct runsc_spec s = {
		.want = w,
		.root = "/run/ac/images/x",
		.netns = "/run/ac/netns/rs-1",
		.bundle = "/run/ac/bundles/rs-1",
		.nofile = 4096,
	};

	return runsc_spec_json(&s);
}

static bool has_text(const json_t *list, const char *text)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(json_string_value(json_array_get(list, i)), text) ==
		    0)
			return true;
	return false;
}

/* Options of the mount at @target; NULL: there is none, or more than one. */
static const json_t *mount_at(const json_t *conf, const char *target)
{
	const json_t *list = json_object_get(conf, "mounts");
	const json_t *found = NULL;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *m = json_array_get(list, i);

		if (strcmp(json_string_value(json_object_get(m, "destination")),
			   target) != 0)
			continue;
		if (found)
			return NULL;
		found = json_object_get(m, "options");
	}
	return found;
}

static void test_capabilities(void)
{
	static const char *const names[] = { "CAP_SETUID",    "CAP_SETGID",
					     "CAP_SETPCAP",   "CAP_KILL",
					     "CAP_CHOWN",     "CAP_SYS_ADMIN",
					     "CAP_SYS_PTRACE" };
	static const char *const sets[] = { "bounding", "effective",
					    "permitted" };
	json_t *conf = config(&want);
	const json_t *caps = json_object_get(json_object_get(conf, "process"),
					     "capabilities");

	for (size_t s = 0; s < ARRAY_SIZE(sets); s++) {
		const json_t *set = json_object_get(caps, sets[s]);

		is_int(json_array_size(set), ARRAY_SIZE(names),
		       "%s: no more than these", sets[s]);
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			ok(has_text(set, names[i]), "%s: %s", sets[s],
			   names[i]);
	}
	ok(!json_object_get(caps, "inheritable") &&
		   !json_object_get(caps, "ambient"),
	   "none that an exec would keep");
	json_decref(conf);
}

static void test_root(void)
{
	struct runtime_spec w = want;
	json_t *conf = config(&w);
	const json_t *root = json_object_get(conf, "root");

	ok(json_is_true(json_object_get(root, "readonly")),
	   "the image cannot be written to");
	is_str(json_string_value(json_object_get(root, "path")),
	       "/run/ac/images/x", "its place");
	json_decref(conf);
	w.root_rw = true;
	conf = config(&w);
	root = json_object_get(conf, "root");
	ok(json_is_false(json_object_get(root, "readonly")), "if asked for");
	json_decref(conf);
}

static void test_mounts(void)
{
	static const char *const read_only[] = {
		"/sys",
		"/etc/hosts",
		"/etc/hostname",
		"/usr/libexec/ac/vault",
	};
	static const char *const bounded[] = { "/tmp", "/var/tmp", "/run",
					       "/dev/shm" };
	struct runtime_spec w = want;
	json_t *conf = config(&w);

	ok(!mount_at(conf, "/usr/share/agent-skills"), "no skills");
	w.skills = "/run/ac/mnt/one/skills";
	json_decref(conf);
	conf = config(&w);
	ok(has_text(mount_at(conf, "/usr/share/agent-skills"), "ro"),
	   "skills are read-only");
	for (size_t i = 0; i < ARRAY_SIZE(read_only); i++)
		ok(has_text(mount_at(conf, read_only[i]), "ro"),
		   "%s is read-only", read_only[i]);
	ok(!has_text(mount_at(conf, "/usr/libexec/ac/vault"), "nosuid"),
	   "the vault's clients may be setuid");
	for (size_t i = 0; i < ARRAY_SIZE(bounded); i++) {
		const json_t *o = mount_at(conf, bounded[i]);
		bool size = false;

		for (size_t j = 0; j < json_array_size(o); j++)
			size |= strncmp(json_string_value(json_array_get(o, j)),
					"size=", 5) == 0;
		ok(size, "%s has a size", bounded[i]);
		ok(has_text(o, "nosuid") && has_text(o, "nodev"),
		   "%s: no setuid, no devices", bounded[i]);
	}
	ok(!has_text(mount_at(conf, "/tmp"), "noexec"), "builds run in /tmp");
	ok(has_text(mount_at(conf, "/tmp"), "size=1073741824"),
	   "/tmp without a memory limit");
	ok(has_text(mount_at(conf, "/workspace"), "rw") &&
		   has_text(mount_at(conf, "/home/node"), "rw"),
	   "workspace and home");
	json_decref(conf);
	w.tmp_noexec = w.workspace_ro = true;
	w.memory = UINT64_C(512) << 20;
	conf = config(&w);
	ok(has_text(mount_at(conf, "/tmp"), "noexec"), "nothing runs there");
	ok(has_text(mount_at(conf, "/tmp"), "size=134217728") &&
		   has_text(mount_at(conf, "/var/tmp"), "size=134217728"),
	   "/tmp and /var/tmp are a quarter of the memory each");
	ok(has_text(mount_at(conf, "/workspace"), "ro"), "read-only workspace");
	json_decref(conf);
}

/* The mounts of a blueprint. */
static void test_extras(void)
{
	static const struct runtime_mount extras[] = {
		{ "/run/ac/mnt/one/mounts/docs", "/mnt/docs", true },
		{ "/run/ac/mnt/one/mounts/live", "/mnt/live", false },
	};
	struct runtime_spec w = want;
	json_t *conf = config(&w);

	ok(!mount_at(conf, "/mnt"), "no mounts");
	json_decref(conf);
	w.mnt = "/run/ac/mnt/one/mnt";
	w.mounts = extras;
	w.n_mounts = ARRAY_SIZE(extras);
	conf = config(&w);
	ok(has_text(mount_at(conf, "/mnt"), "ro") &&
		   has_text(mount_at(conf, "/mnt/docs"), "ro") &&
		   has_text(mount_at(conf, "/mnt/live"), "rw"),
	   "mounts of the user's directories");
	ok(has_text(mount_at(conf, "/mnt/live"), "nosuid") &&
		   has_text(mount_at(conf, "/mnt/live"), "nodev"),
	   "have no setuid files and no devices");
	json_decref(conf);
}

static void test_limits(void)
{
	struct runtime_spec w = want;
	json_t *conf = config(&w);
	const json_t *res;

	res = json_object_get(json_object_get(conf, "linux"), "resources");
	is_int(json_object_size(res), 0, "without limits it is told of none");
	json_decref(conf);
	w.memory = 1 << 30;
	w.cpu_milli = 1500;
	conf = config(&w);
	res = json_object_get(json_object_get(conf, "linux"), "resources");
	is_int(json_integer_value(json_object_get(
		       json_object_get(res, "memory"), "limit")),
	       1 << 30, "memory");
	is_int(json_integer_value(
		       json_object_get(json_object_get(res, "cpu"), "quota")),
	       150000, "CPU");
	json_decref(conf);
}

/* Whatever is mounted has a place in our layer at the bottom. */
static void test_places(void)
{
	json_t *conf = config(&want);
	const json_t *list = json_object_get(conf, "mounts");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *at = json_string_value(json_object_get(
			json_array_get(list, i), "destination"));
		const struct runsc_place *p = runsc_places;

		/* Below those that the sandbox's kernel makes. */
		if (strncmp(at, "/dev/", 5) == 0 ||
		    strncmp(at, "/sys/", 5) == 0)
			continue;
		while (p->path && strcmp(p->path, at + 1) != 0)
			p++;
		ok(p->path != NULL, "%s has a place", at);
	}
	json_decref(conf);
}

static const struct runsc_place *place(const char *path)
{
	const struct runsc_place *p = runsc_places;

	while (p->path && strcmp(p->path, path) != 0)
		p++;
	return p->path ? p : NULL;
}

/* A mount would cost each start; in the layer it costs none. */
static void test_preload(void)
{
	const struct runsc_place *list = place("etc/ld.so.preload");
	const struct runsc_place *so = place("usr/libexec/ac/net_proxy.so");
	json_t *conf = config(&want);

	ok(list && list->file && list->source, "the list comes from ac-host");
	ok(so && so->file && so->source, "so does the shim");
	ok(!mount_at(conf, "/etc/ld.so.preload") &&
		   !mount_at(conf, "/usr/libexec/ac/net_proxy.so"),
	   "neither is mounted");
	json_decref(conf);
}

/* The same for what no image may have of its own. */
static void test_covers(void)
{
	static const char *const ours[] = { "/etc/resolv.conf",
					    "/usr/libexec/ac/init-guard" };
	json_t *conf = config(&want);

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
		const struct runsc_cover *c = runsc_covers;

		while (c->path && strcmp(c->path, ours[i] + 1) != 0)
			c++;
		ok(c->path && c->source, "%s covers the image's", ours[i]);
		is_int(c->mode & 07022, 0, "and is root's alone");
		ok(!mount_at(conf, ours[i]), "%s is not mounted", ours[i]);
	}
	json_decref(conf);
}

int main(void)
{
	test_capabilities();
	test_root();
	test_mounts();
	test_extras();
	test_limits();
	test_places();
	test_preload();
	test_covers();
	return done_testing();
}
