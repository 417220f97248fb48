/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.c - whose certificates the sandbox's programs believe
 *
 * There is no one place: some take the system's bundle, some a bundle named
 * by a variable instead of it, some a file with further roots. So there are
 * two files, one with the CA alone and one with all, the system's bundle is
 * replaced by the latter, and every variable gets the file that it means.
 * What the user has set himself stays.
 *
 * Theory of operation: the CAs of the machine are known when the guest is
 * prepared, that of the sandbox only when it is somebody's. The bundle's mount
 * needs a right that is gone by then, and its copy takes most of the time. So
 * both are made ahead, the file stays open, and what comes late is appended.
 */
#include "init-guard/trust.h"

#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "init-guard/etc.h"
#include "init-guard/pem.h"
#include "init-guard/pkcs12.h"
#include "lib/ca_names.h"
#include "lib/file.h"
#include "lib/str.h"

#define ROOTS "/etc/ssl/certs/ca-certificates.crt"
#define ROOTS_MAX (4u * 1024 * 1024)
#define CA_FILE ETC_DIR "/ca.pem"
#define BUNDLE ETC_DIR "/ca-bundle.crt"
#define JAVA_STORE ETC_DIR "/ca-bundle.p12"
#define ALL_MAX (LINK_CA_MAX + 1 + LINK_OWN_CA_MAX) /* besides the roots */

/* Writable only in type: execve() wants char *const. */
static char trust_env[][64] = {
#define BUNDLE_ENTRY(name) name "=" BUNDLE,
#define EXTRA_ENTRY(name) name "=" CA_FILE,
	CA_BUNDLE_NAMES(BUNDLE_ENTRY) CA_EXTRA_NAMES(EXTRA_ENTRY)
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

static int bundle_make(struct trust *t, const char *ca, bool more,
		       struct err *err)
{
	SCOPED_FD fd =
		open(BUNDLE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int ret;

	if (fd < 0)
		return err_sys(err, "make " BUNDLE);
	ret = bundle_fill(fd, ca, err);
	if (ret == 0 && more)
		t->bundle_fd = fd_take(&fd);
	return ret;
}

/* In its place, where the image has one. */
static int bundle_show(struct report *r, struct err *err)
{
	if (access(ROOTS, F_OK) < 0) {
		report_skip(r, "ca-system", "the image has no " ROOTS);
		return 0;
	}
	return report_judge(r, "ca-system", etc_show(BUNDLE, ROOTS, err), err);
}

static int java_store(struct err *err)
{
	SCOPED_STR text = NULL;
	struct buf store;
	size_t len = 0;
	int ret = file_read(BUNDLE, ROOTS_MAX + ALL_MAX, &text, &len);

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

static int java_install(struct trust *t, struct err *err)
{
	int ret = has_java() ? java_store(err) : 0;

	if (ret == 0)
		t->java = access(JAVA_STORE, F_OK) == 0;
	return ret;
}

static int pem_check(const char *pem, struct err *err)
{
	int ret = pem_count(slice_str(pem));

	return ret < 0 ?
		       err_set(err, ret, "the CA given is no PEM certificate") :
		       0;
}

/* What is there to be found is known: nothing more will come. */
static void trust_tell(const struct trust *t, struct report *r)
{
	if (!t->ca) {
		report_skip(r, "ca", "none was given");
		return;
	}
	report_ok(r, "ca");
	if (t->java)
		report_ok(r, "java");
	else
		report_skip(r, "java", "no JRE in the image");
}

void trust_init(struct trust *t)
{
	*t = (struct trust){ .bundle_fd = -1 };
}

void trust_done(struct trust *t)
{
	fd_closep(&t->bundle_fd);
}

int trust_install(struct trust *t, const char *pem, bool more, struct report *r,
		  struct err *err)
{
	int ret = pem[0] ? pem_check(pem, err) : 0;

	t->ca = pem[0];
	if (ret == 0 && t->ca)
		ret = etc_write(CA_FILE, pem, strlen(pem), err);
	if (ret == 0 && (t->ca || more))
		ret = bundle_make(t, pem, more, err);
	if (ret == 0 && t->ca)
		ret = java_install(t, err);
	if (ret == 0 && (t->ca || more))
		ret = bundle_show(r, err);
	if (ret == 0 && !more)
		trust_tell(t, r);
	return ret;
}

bool trust_expects(const struct trust *t)
{
	return t->bundle_fd >= 0;
}

/* Behind those of the machine; the bundle has them already. */
static int file_add(const char *pem, struct err *err)
{
	SCOPED_STR have = NULL;
	SCOPED_STR all = NULL;
	int ret = file_read(CA_FILE, LINK_CA_MAX, &have, NULL);

	if (ret < 0 && ret != -ENOENT)
		return err_set(err, ret, "read " CA_FILE ": %s", err_text(ret));
	all = str_printf("%s%s%s", have ? have : "", have ? "\n" : "", pem);
	return all ? etc_write(CA_FILE, all, strlen(all), err) : err_nomem(err);
}

static int bundle_add(const struct trust *t, const char *pem, struct err *err)
{
	int ret = fd_write_all(t->bundle_fd, "\n", 1);

	if (ret == 0)
		ret = fd_write_all(t->bundle_fd, pem, strlen(pem));
	return ret < 0 ? err_set(err, ret, "write " BUNDLE ": %s",
				 err_text(ret)) :
			 0;
}

int trust_add(struct trust *t, const char *pem, struct report *r,
	      struct err *err)
{
	int ret = 0;

	if (!trust_expects(t))
		return 0; /* all is told */
	if (pem[0]) {
		ret = pem_check(pem, err);
		if (ret == 0)
			ret = file_add(pem, err);
		if (ret == 0)
			ret = bundle_add(t, pem, err);
		if (ret == 0)
			ret = java_install(t, err);
		t->ca = true;
	}
	trust_done(t);
	if (ret == 0)
		trust_tell(t, r);
	return ret;
}

void trust_name(const struct trust *t, struct agent *ag)
{
	size_t i;

	if (t->java)
		agent_default(ag, java_env);
	for (i = 0; t->ca && i < ARRAY_SIZE(trust_env); i++)
		agent_default(ag, trust_env[i]);
}
