/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build_step_test.c - what a step of a build gets, and what it keeps of its own
 */
#include "control/shared/build_step.h"

#include <string.h>
#include <sys/stat.h>

#include "control/shared/json.h"
#include "lib/file.h"
#include "tests/unit/tap.h"

#define CONFIG                                                          \
	"{\"process\":{\"env\":[\"PATH=/bin\",\"PIP_INDEX_URL=own\"]}," \
	"\"root\":{\"path\":\"rootfs\"},\"mounts\":[{\"destination\":"  \
	"\"/dev\"}],\"linux\":{\"n\":9223372036854775807}}"

static const struct build_step inputs = {
	.extra = "in/extra.pem",
	.roots = "in/roots.pem",
	.env = "in/step.env",
	.apt = "in/apt.conf",
};

static void put(const char *path, const char *text)
{
	if (file_write_atomic(path, text, strlen(text), 0600) < 0)
		ok(false, "write %s", path);
}

static const char *read_all(const char *path)
{
	static char text[4096];
	SCOPED_STR got = NULL;

	if (file_read(path, sizeof(text) - 1, &got, NULL) < 0)
		return "(none)";
	snprintf(text, sizeof(text), "%s", got);
	return text;
}

/* A new bundle and inputs as on a machine that has all of them. */
static void begin(void)
{
	file_remove_tree("b");
	file_remove_tree("in");
	file_mkdir_p("in", 0700);
	file_mkdir_p("b/rootfs/etc/ssl/certs", 0755);
	put("b/config.json", CONFIG);
	put("b/rootfs/etc/ssl/certs/ca-certificates.crt", "image");
	put("in/extra.pem", "extra\n");
	put("in/roots.pem", "host");
	put("in/step.env", "NPM_CONFIG_REGISTRY=https://npm.test/\n"
			   "PIP_INDEX_URL=https://pip.test/\nnonsense\n=x\n");
	put("in/apt.conf", "Acquire::http::Proxy \"p\";\n");
}

static void prepare(const char *what)
{
	struct err err = { 0 };

	is_int(build_step_prepare("b", &inputs, &err), 0, "%s: %s", what,
	       err.msg);
}

static json_t *config(void)
{
	struct err err = { 0 };
	const char *text = read_all("b/config.json");
	json_t *j = NULL;

	is_int(jsonx_parse(text, strlen(text), &j, &err), 0, "it is JSON");
	return j;
}

/* The values of a variable in the bundle, joined. */
static const char *var(const char *name)
{
	static char out[256];
	SCOPED_JSON j = config();
	const json_t *env =
		json_object_get(json_object_get(j, "process"), "env");
	size_t i, len = strlen(name);
	const json_t *e;

	out[0] = '\0';
	json_array_foreach (env, i, e) {
		const char *s = json_string_value(e);

		if (strncmp(s, name, len) == 0 && s[len] == '=')
			snprintf(out + strlen(out), sizeof(out) - strlen(out),
				 "%s", s + len + 1);
	}
	return out;
}

static void test_all(void)
{
	struct stat st;

	begin();
	prepare("a step");
	is_str(var("NPM_CONFIG_REGISTRY"), "https://npm.test/",
	       "the machine's registry");
	is_str(var("PIP_INDEX_URL"), "own", "what the Dockerfile set stays");
	is_str(var("PIP_BREAK_SYSTEM_PACKAGES"), "1", "pip installs");
	is_str(var("SSL_CERT_FILE"), "/dev/ac/ca-bundle.crt", "all roots");
	is_str(var("NODE_EXTRA_CA_CERTS"), "/dev/ac/ca.pem", "further roots");
	is_str(var("APT_CONFIG"), "/dev/ac/apt.conf", "apt's");
	is_str(var("nonsense"), "", "what is no variable is none");
	is_str(read_all("b/ac/ca-bundle.crt"), "image\nextra\n",
	       "the roots of the image and those of the machine");
	is_str(read_all("b/ac/ca.pem"), "extra\n", "and the latter alone");
	is_str(read_all("b/ac/apt.conf"),
	       "Acquire::http::Proxy \"p\";\n"
	       "Acquire::https::CAInfo \"/dev/ac/ca-bundle.crt\";\n",
	       "apt trusts them, too");
	ok(stat("b/ac/ca.pem", &st) == 0 && (st.st_mode & 0777) == 0644 &&
		   stat("b/ac", &st) == 0 && (st.st_mode & 0777) == 0755,
	   "whoever a step runs as can read them");
}

static void test_mount(void)
{
	SCOPED_JSON j = NULL;
	const json_t *mounts, *m;

	begin();
	prepare("a step");
	j = config();
	mounts = json_object_get(j, "mounts");
	m = json_array_get(mounts, 1);
	is_int((long)json_array_size(mounts), 2, "one mount more");
	is_str(jsonx_text_at(m, "destination"), "/dev/ac",
	       "below /dev, of which no image keeps anything");
	is_str(jsonx_text_at(m, "source"), "b/ac", "of the bundle");
	is_str(json_string_value(
		       json_array_get(json_object_get(m, "options"), 1)),
	       "ro", "which a step cannot change");
	ok(json_integer_value(json_object_get(json_object_get(j, "linux"),
					      "n")) == INT64_MAX,
	   "the rest is as it was");
}

/* A machine without a CA of its own: programs keep their own roots. */
static void test_no_ca(void)
{
	begin();
	put("in/extra.pem", "");
	unlink("in/apt.conf");
	unlink("in/step.env");
	prepare("a machine that adds nothing");
	is_str(var("SSL_CERT_FILE"), "", "the roots are the image's");
	is_str(var("NODE_EXTRA_CA_CERTS"), "", "and no further ones");
	is_str(var("APT_CONFIG"), "", "nothing for apt");
	is_str(var("PIP_BREAK_SYSTEM_PACKAGES"), "1", "pip installs");
	is_str(var("PATH"), "/bin", "what was there");
}

/* A root file system is a stranger's. */
static void test_hostile_roots(void)
{
	static const char roots[] =
		"b/rootfs/etc/ssl/certs/ca-certificates.crt";
	char cwd[256];

	begin();
	unlink(roots);
	prepare("no roots");
	is_str(read_all("b/ac/ca-bundle.crt"), "host\nextra\n",
	       "those of ac-host instead");

	begin();
	put("in/secret", "secret");
	unlink(roots);
	ok(getcwd(cwd, sizeof(cwd)) != NULL, "here");
	SCOPED_STR outside = str_printf("%s/in/secret", cwd);
	ok(symlink(outside, roots) == 0, "a link out of the root");
	prepare("a link");
	is_str(read_all("b/ac/ca-bundle.crt"), "host\nextra\n",
	       "leads nowhere");

	begin();
	put("b/rootfs/inside", "inside");
	unlink(roots);
	ok(symlink("/inside", roots) == 0, "a link within the root");
	prepare("a link");
	is_str(read_all("b/ac/ca-bundle.crt"), "inside\nextra\n",
	       "leads there");

	begin();
	unlink(roots);
	ok(mkfifo(roots, 0644) == 0, "a FIFO");
	prepare("a FIFO");
	is_str(read_all("b/ac/ca-bundle.crt"), "host\nextra\n",
	       "is not waited for");
}

static void test_refused(void)
{
	struct err err = { 0 };

	begin();
	put("b/config.json", "{\"process\":{},\"mounts\":[]}");
	is_int(build_step_prepare("b", &inputs, &err), -EPROTO, "%s", err.msg);
	put("b/config.json", "{");
	ok(build_step_prepare("b", &inputs, &err) < 0, "%s", err.msg);
	ok(build_step_prepare("nowhere", &inputs, &err) < 0, "%s", err.msg);
}

static void test_arguments(void)
{
	const char *run[] = { "runc",     "--log", "l",  "run",
			      "--bundle", "/b",    "id", NULL };
	const char *create[] = {
		"runc", "create", "--bundle", "/b", "id", NULL
	};
	const char *bare[] = { "runc", "run", "--bundle", NULL };

	is_str(build_step_bundle(7, run), "/b", "the bundle of a step");
	ok(!build_step_bundle(5, create), "a container is left alone");
	ok(!build_step_bundle(3, bare), "no bundle");
}

/* Its way out is the gateway, which knows the proxy of this machine. */
static void test_boxed(void)
{
	struct build_step in = inputs;
	struct err err = { 0 };

	in.boxed = true;
	begin();
	put("in/step.env", "https_proxy=p\nHTTP_PROXY=p\nno_proxy=x\n"
			   "GOPROXY=https://go.test/\n");
	put("in/apt.conf", "Acquire::http::Proxy \"p\";\n"
			   "Acquire::Check-Date \"false\";\n"
			   "Acquire::https::Proxy \"p\";\n");
	is_int(build_step_prepare("b", &in, &err), 0, "a step in a sandbox");
	is_str(var("https_proxy"), "", "has no proxy");
	is_str(var("HTTP_PROXY"), "", "in no spelling");
	is_str(var("no_proxy"), "", "nor exceptions");
	is_str(var("GOPROXY"), "https://go.test/", "but its registries");
	is_str(read_all("b/ac/apt.conf"),
	       "Acquire::Check-Date \"false\";\n"
	       "Acquire::https::CAInfo \"/dev/ac/ca-bundle.crt\";\n",
	       "apt has none either");
}

int main(void)
{
	char dir[] = "/tmp/build_step_test.XXXXXX";

	if (!mkdtemp(dir) || chdir(dir) < 0) {
		ok(false, "a directory");
		return 1;
	}
	test_all();
	test_boxed();
	test_mount();
	test_no_ca();
	test_hostile_roots();
	test_refused();
	test_arguments();
	if (chdir("/") == 0)
		file_remove_tree(dir);
	return done_testing();
}
