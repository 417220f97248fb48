/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.c - whose certificates the sandbox's programs believe
 *
 * There is no one place: some take the system's bundle, some a bundle named
 * by a variable instead of it, some a file with further roots. So there are
 * two files, one with the CA alone and one with all, the system's bundle is
 * replaced by the latter, and every variable gets the file that it means.
 * What the user has set himself stays.
 */
#include "init-guard/trust.h"

#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "init-guard/etc.h"
#include "init-guard/pem.h"
#include "init-guard/pkcs12.h"
#include "lib/file.h"

#define ROOTS "/etc/ssl/certs/ca-certificates.crt"
#define ROOTS_MAX (4u * 1024 * 1024)
#define CA_FILE ETC_DIR "/ca.pem"
#define BUNDLE ETC_DIR "/ca-bundle.crt"
#define JAVA_STORE ETC_DIR "/ca-bundle.p12"

/* Writable only in type: execve() wants char *const. */
static char trust_env[][64] = {
	/* the roots instead of the program's own */
	"SSL_CERT_FILE=" BUNDLE,
	"REQUESTS_CA_BUNDLE=" BUNDLE,
	"GIT_SSL_CAINFO=" BUNDLE,
	"CURL_CA_BUNDLE=" BUNDLE,
	"PIP_CERT=" BUNDLE,
	"CARGO_HTTP_CAINFO=" BUNDLE,
	"AWS_CA_BUNDLE=" BUNDLE,
	/* besides them */
	"NODE_EXTRA_CA_CERTS=" CA_FILE,
	"DENO_CERT=" CA_FILE,
};
static char java_env[] =
	"JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStoreType=PKCS12 "
	"-Djavax.net.ssl.trustStore=" JAVA_STORE;

static bool has_java(void)
{
	static const char *const places[] = { "/usr/bin/java",
					      "/usr/local/bin/java",
					      "/usr/lib/jvm", "/opt/java" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		if (access(places[i], F_OK) == 0)
			return true;
	}
	return false;
}

/*
 * The image's roots, then the CA. In the kernel's hands as far as possible:
 * in gVisor each page of memory that is touched first costs more than its
 * copy.
 */
static int bundle_fill(int to, const char *ca, struct err *err)
{
	/* What an image has there may be no file at all. */
	SCOPED_FD from = open(ROOTS, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	size_t room = ROOTS_MAX + 1;
	ssize_t n;

	if (from < 0 && errno != ENOENT)
		return err_sys(err, "open " ROOTS);
	do {
		n = from < 0 ? 0 : sendfile(to, from, NULL, room);
		room -= n > 0 ? (size_t)n : 0;
	} while (n > 0 && room > 0);
	if (n < 0)
		return err_sys(err, "copy " ROOTS);
	if (room == 0)
		return err_set(err, -EFBIG, ROOTS " is over %u MiB",
			       ROOTS_MAX >> 20);
	/* Its last line may have no end. */
	if (fd_write_all(to, "\n", 1) < 0 ||
	    fd_write_all(to, ca, strlen(ca)) < 0 || fchmod(to, 0444) < 0)
		return err_sys(err, "write " BUNDLE);
	return 0;
}

static int bundle_make(const char *ca, struct err *err)
{
	SCOPED_FD fd =
		open(BUNDLE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(err, "make " BUNDLE);
	return bundle_fill(fd, ca, err);
}

static int java_store(struct err *err)
{
	SCOPED_STR text = NULL;
	struct buf store;
	size_t len = 0;
	int ret = file_read(BUNDLE, ROOTS_MAX + LINK_CA_MAX, &text, &len);

	if (ret < 0)
		return err_set(err, ret, "read " BUNDLE ": %s", err_text(ret));
	buf_init(&store, ROOTS_MAX);
	ret = pkcs12_put(slice_of(text, len), &store);
	if (ret < 0)
		err_set(err, ret, "make Java's trust store: %s", err_text(ret));
	else
		ret = etc_write(JAVA_STORE, buf_slice(&store).ptr,
				buf_len(&store), err);
	buf_done(&store);
	return ret;
}

static int java_install(struct trust *t, struct report *r, struct err *err)
{
	int ret;

	if (!has_java()) {
		report_skip(r, "java", "no JRE in the image");
		return 0;
	}
	ret = java_store(err);
	if (ret < 0)
		return ret;
	t->java = true;
	report_ok(r, "java");
	return 0;
}

static int files_install(struct trust *t, const char *ca, struct report *r,
			 struct err *err)
{
	int ret = etc_write(CA_FILE, ca, strlen(ca), err);

	if (ret == 0)
		ret = bundle_make(ca, err);
	return ret < 0 ? ret : java_install(t, r, err);
}

int trust_install(struct trust *t, const char *pem, struct report *r,
		  struct err *err)
{
	int ret;

	*t = (struct trust){ .ca = false };
	if (!pem[0]) {
		report_skip(r, "ca", "none was given");
		return 0;
	}
	ret = pem_count(slice_str(pem));
	if (ret < 0)
		return err_set(err, ret, "the CA given is no PEM certificate");
	ret = files_install(t, pem, r, err);
	if (ret < 0)
		return ret;
	t->ca = true;
	report_ok(r, "ca");
	if (access(ROOTS, F_OK) < 0) {
		report_skip(r, "ca-system", "the image has no " ROOTS);
		return 0;
	}
	ret = etc_show(BUNDLE, ROOTS, err);
	return report_judge(r, "ca-system", ret, err);
}

void trust_name(const struct trust *t, struct agent *ag)
{
	size_t i;

	if (t->java)
		agent_default(ag, java_env);
	for (i = 0; t->ca && i < ARRAY_SIZE(trust_env); i++)
		agent_default(ag, trust_env[i]);
}
