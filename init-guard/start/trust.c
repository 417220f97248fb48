/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.c - makes the sandbox's programs trust further CA certificates
 *
 * There is no single place: some programs use the system's bundle, some a
 * bundle named by a variable instead, some a file with additional certificates.
 * So there are two files, one with the CAs alone and one with everything; the
 * system's bundle is replaced by the latter, and every variable gets the file
 * that it means. What the user has set stays.
 *
 * Theory of operation: the CAs of the machine are known when the sandbox is
 * prepared, its own only when it is assigned. The bundle's mount needs a right
 * that is dropped by then, and copying it takes most of the time. So both are
 * done ahead, the file stays open, and the late CA is appended.
 */
#include "init-guard/start/trust.h"

#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "init-guard/start/etc.h"
#include "init-guard/start/pem.h"
#include "init-guard/start/pkcs12.h"
#include "lib/ca_names.h"
#include "lib/file.h"
#include "lib/str.h"

#define ROOTS "/etc/ssl/certs/ca-certificates.crt"
#define ROOTS_MAX (4u * 1024 * 1024)
#define CA_FILE ETC_DIR "/ca.pem"
#define BUNDLE ETC_DIR "/ca-bundle.crt"
#define JAVA_STORE ETC_DIR "/ca-bundle.p12"
/* besides the image's certificates */
#define ALL_MAX (LINK_CA_MAX + 1 + LINK_OWN_CA_MAX)

/* Writable only because execve() wants char *const. */
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

/* Writes the image's certificates and then the CA. Copied by the kernel as far
 * as possible: in gVisor touching a page of memory for the first time costs
 * more than copying it. */
static int bundle_fill(int to, const char *ca, struct err *err)
{
	/* In an image it may be no regular file. */
	SCOPED_FD from = open(ROOTS, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	size_t room = ROOTS_MAX + 1, size = room;
	struct stat st;
	ssize_t n = 0;

	if (from < 0 && errno != ENOENT)
		return err_sys(err, "open " ROOTS);
	/* With its size known, nothing has to look for its end. */
	if (from >= 0 && fstat(from, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size <= ROOTS_MAX)
		size = (size_t)st.st_size;
	while (from >= 0 && size > 0) {
		n = sendfile(to, from, NULL, size);
		if (n <= 0)
			break;
		size -= (size_t)n;
		room -= (size_t)n;
	}
	if (n < 0)
		return err_sys(err, "copy " ROOTS);
	if (room == 0)
		return err_set(err, -EFBIG, ROOTS " is over %u MiB",
			       ROOTS_MAX >> 20);
	/* the last line may have no newline */
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
	int rc;

	if (fd < 0)
		return err_sys(err, "make " BUNDLE);
	rc = bundle_fill(fd, ca, err);
	if (rc == 0 && more)
		t->bundle_fd = fd_take(&fd);
	return rc;
}

/* Mounts the bundle, if the image has one. */
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
	int rc = file_read(BUNDLE, ROOTS_MAX + ALL_MAX, &text, &len);

	if (rc < 0)
		return err_set(err, rc, "read " BUNDLE ": %s", err_text(rc));
	buf_init(&store, ROOTS_MAX);
	rc = pkcs12_put(slice_of(text, len), &store);
	if (rc < 0)
		err_set(err, rc, "make Java's trust store: %s", err_text(rc));
	else
		rc = etc_write(JAVA_STORE, buf_slice(&store).ptr,
			       buf_len(&store), err);
	buf_done(&store);
	return rc;
}

static int java_install(struct trust *t, struct err *err)
{
	const bool java = has_java();
	int rc = java ? java_store(err) : 0;

	if (rc == 0)
		t->java = java;
	return rc;
}

static int pem_check(const char *pem, struct err *err)
{
	int rc = pem_count(slice_str(pem));

	return rc < 0 ? err_set(err, rc,
				"the CA given is not a PEM certificate") :
			0;
}

/* Enters the outcome: nothing more will be added. */
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
	int rc = pem[0] ? pem_check(pem, err) : 0;

	t->ca = pem[0];
	if (rc == 0 && t->ca)
		rc = etc_write(CA_FILE, pem, strlen(pem), err);
	if (rc == 0 && (t->ca || more))
		rc = bundle_make(t, pem, more, err);
	if (rc == 0 && t->ca)
		rc = java_install(t, err);
	if (rc == 0 && (t->ca || more))
		rc = bundle_show(r, err);
	if (rc == 0 && !more)
		trust_tell(t, r);
	return rc;
}

bool trust_expects(const struct trust *t)
{
	return t->bundle_fd >= 0;
}

/* Appends to the CAs of the machine; the bundle has those already. */
static int file_add(const char *pem, struct err *err)
{
	SCOPED_STR have = NULL;
	SCOPED_STR all = NULL;
	int rc = file_read(CA_FILE, LINK_CA_MAX, &have, NULL);

	if (rc < 0 && rc != -ENOENT)
		return err_set(err, rc, "read " CA_FILE ": %s", err_text(rc));
	all = str_printf("%s%s%s", have ? have : "", have ? "\n" : "", pem);
	return all ? etc_write(CA_FILE, all, strlen(all), err) : err_nomem(err);
}

static int bundle_add(const struct trust *t, const char *pem, struct err *err)
{
	int rc = fd_write_all(t->bundle_fd, "\n", 1);

	if (rc == 0)
		rc = fd_write_all(t->bundle_fd, pem, strlen(pem));
	return rc < 0 ? err_set(err, rc, "write " BUNDLE ": %s", err_text(rc)) :
			0;
}

int trust_add(struct trust *t, const char *pem, struct report *r,
	      struct err *err)
{
	int rc = 0;

	if (!trust_expects(t))
		return 0; /* the outcome was entered */
	if (pem[0]) {
		rc = pem_check(pem, err);
		if (rc == 0)
			rc = file_add(pem, err);
		if (rc == 0)
			rc = bundle_add(t, pem, err);
		if (rc == 0)
			rc = java_install(t, err);
		t->ca = true;
	}
	trust_done(t);
	if (rc == 0)
		trust_tell(t, r);
	return rc;
}

void trust_name(const struct trust *t, struct agent *ag)
{
	size_t i;

	if (t->java)
		agent_default(ag, java_env);
	for (i = 0; t->ca && i < ARRAY_SIZE(trust_env); i++)
		agent_default(ag, trust_env[i]);
}
