/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostkey.c - the key by which the user's ssh knows `ac ssh-proxy`
 */
#include "control/cli/ssh/hostkey.h"

#include <assert.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/file.h>

#include "lib/file.h"
#include "lib/str.h"

#define SEED crypto_sign_ed25519_SEEDBYTES
#define FILE_MAX 256u

static_assert(HOSTKEY_PUBLIC == crypto_sign_ed25519_PUBLICKEYBYTES &&
		      HOSTKEY_SECRET == crypto_sign_ed25519_SECRETKEYBYTES &&
		      HOSTKEY_SIGNATURE == crypto_sign_ed25519_BYTES,
	      "the sizes are those of Ed25519");

/* ---- as SSH has it ---- */

static int put_pair(struct buf *out, const void *data, size_t len)
{
	struct buf b;
	struct slice s;
	int rc;

	buf_init(&b, FILE_MAX);
	rc = buf_put_lstr(&b, HOSTKEY_TYPE, strlen(HOSTKEY_TYPE));
	if (rc == 0)
		rc = buf_put_lstr(&b, data, len);
	s = buf_slice(&b);
	if (rc == 0)
		rc = buf_put_lstr(out, s.ptr, s.len);
	buf_done(&b);
	return rc;
}

int hostkey_put_public(const struct hostkey *k, struct buf *out)
{
	return put_pair(out, k->public, HOSTKEY_PUBLIC);
}

int hostkey_put_signature(const struct hostkey *k, const void *data, size_t len,
			  struct buf *out)
{
	uint8_t sig[HOSTKEY_SIGNATURE];

	(void)crypto_sign_ed25519_detached(sig, NULL, data, len, k->secret);
	return put_pair(out, sig, sizeof(sig));
}

/* ---- its files ---- */

static void key_of_seed(const uint8_t seed[SEED], struct hostkey *k)
{
	(void)crypto_sign_ed25519_seed_keypair(k->public, k->secret, seed);
}

/* Sets the key that @path has, a line of hexadecimal digits. */
static int key_read(const char *path, struct hostkey *k)
{
	SCOPED_STR text = NULL;
	uint8_t seed[SEED];
	size_t len = 0, n = 0;
	const char *end = NULL;
	int rc = file_read_at(AT_FDCWD, path, FILE_MAX, &text, &len);

	if (rc < 0)
		return rc;
	if (sodium_hex2bin(seed, sizeof(seed), text, len, NULL, &n, &end) < 0 ||
	    n != SEED || strcmp(end, "\n") != 0)
		rc = -EBADMSG;
	else
		key_of_seed(seed, k);
	sodium_memzero(seed, sizeof(seed));
	sodium_memzero(text, len);
	return rc;
}

static int key_make(const char *path, struct hostkey *k)
{
	uint8_t seed[SEED];
	char text[2 * SEED + 2];
	int rc;

	randombytes_buf(seed, sizeof(seed));
	(void)sodium_bin2hex(text, sizeof(text), seed, sizeof(seed));
	text[2 * SEED] = '\n';
	rc = file_write_atomic(path, text, 2 * SEED + 1, 0600);
	if (rc == 0)
		key_of_seed(seed, k);
	sodium_memzero(seed, sizeof(seed));
	sodium_memzero(text, sizeof(text));
	return rc;
}

/* Writes @path, unless it has this key already. */
static int known_write(const char *path, const struct hostkey *k)
{
	char base64[sodium_base64_ENCODED_LEN(FILE_MAX,
					      sodium_base64_VARIANT_ORIGINAL)];
	SCOPED_STR old = NULL;
	SCOPED_STR line = NULL;
	struct slice s;
	struct buf b;
	int rc;

	buf_init(&b, FILE_MAX);
	rc = hostkey_put_public(k, &b);
	s = buf_slice(&b);
	/* Without the length of the string. */
	if (rc == 0)
		line = str_printf(
			"%s %s %s\n", HOSTKEY_ALIAS, HOSTKEY_TYPE,
			sodium_bin2base64(base64, sizeof(base64), s.ptr + 4,
					  s.len - 4,
					  sodium_base64_VARIANT_ORIGINAL));
	buf_done(&b);
	if (!line)
		return -ENOMEM;
	if (file_read_at(AT_FDCWD, path, FILE_MAX, &old, NULL) == 0 &&
	    strcmp(old, line) == 0)
		return 0;
	return file_write_atomic(path, line, strlen(line), 0600);
}

/* One at a time: the key that was made is the one that known_hosts has. */
static int locked(const char *dir, int *ret, struct err *err)
{
	SCOPED_FD fd = -1;
	int rc = file_mkdir_p(dir, 0700);

	if (rc < 0)
		return err_set(err, rc, "cannot make %s: %s", dir,
			       err_text(rc));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "open %s", dir);
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_sys(err, "lock %s", dir);
	*ret = fd_take(&fd);
	return 0;
}

int hostkey_load(const char *home, struct hostkey *ret, struct err *err)
{
	SCOPED_STR dir = str_printf("%s/" HOSTKEY_DIR, home);
	SCOPED_STR path = str_printf("%s/" HOSTKEY_DIR "/host_key", home);
	SCOPED_STR known = str_printf("%s/" HOSTKEY_DIR "/known_hosts", home);
	SCOPED_FD lock = -1;
	struct hostkey k = { 0 };
	int rc;

	if (!dir || !path || !known || sodium_init() < 0)
		return err_nomem(err);
	rc = locked(dir, &lock, err);
	if (rc < 0)
		return rc;
	k.secret = sodium_malloc(HOSTKEY_SECRET);
	if (!k.secret)
		return err_nomem(err);
	rc = key_read(path, &k);
	if (rc == -ENOENT)
		rc = key_make(path, &k);
	if (rc < 0)
		err_set(err, rc, "%s: %s", path,
			rc == -EBADMSG ? "it is no key; `rm` it, and the "
					 "next call makes another" :
					 err_text(rc));
	if (rc == 0) {
		rc = known_write(known, &k);
		if (rc < 0)
			err_set(err, rc, "%s: %s", known, err_text(rc));
	}
	if (rc < 0) {
		hostkey_done(&k);
		return rc;
	}
	*ret = k;
	return 0;
}

void hostkey_done(struct hostkey *k)
{
	sodium_free(k->secret);
	k->secret = NULL;
}
