/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain.c - reads and verifies the chain of a log
 *
 * A line's hash covers the previous hash and the line up to its own hash. So a
 * changed line does not match its hash, and after a line that was removed,
 * inserted or moved "prev" is not the hash before it. Lines cut off at the end
 * or rotated away at the beginning are not detected; to detect them, store the
 * last hash elsewhere.
 */
#include "ottergate/audit/audit_impl.h"

#include <sodium.h>
#include <string.h>

#define FILES_MAX 10000u

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int hash_read(const char *hex, struct audit_chain *ret)
{
	for (size_t i = 0; i < sizeof(ret->hash); i++) {
		int hi = hex_value(hex[2 * i]), lo = hex_value(hex[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return -EBADMSG;
		ret->hash[i] = (uint8_t)(hi << 4 | lo);
	}
	return 0;
}

int audit_chain_read(const char *line, size_t len, struct audit_chain *prev,
		     struct audit_chain *hash)
{
	static const char key_prev[] = ",\"prev\":\"",
			  key_hash[] = "\",\"hash\":\"", end[] = "\"}";
	const char *seal;

	/* the seal without its newline */
	if (len < AUDIT_SEAL_LEN || line[0] != '{')
		return -EBADMSG;
	seal = line + len - (AUDIT_SEAL_LEN - 1);
	if (memcmp(seal, key_prev, 9) != 0 ||
	    memcmp(seal + 9 + 64, key_hash, 10) != 0 ||
	    memcmp(seal + 9 + 64 + 10 + 64, end, 2) != 0)
		return -EBADMSG;
	if (hash_read(seal + 9, prev) < 0 ||
	    hash_read(seal + 9 + 64 + 10, hash) < 0)
		return -EBADMSG;
	return 0;
}

static bool audit_chain_eq(const struct audit_chain *a,
			   const struct audit_chain *b)
{
	return memcmp(a->hash, b->hash, sizeof(a->hash)) == 0;
}

bool audit_chain_holds(const char *line, size_t len,
		       const struct audit_chain *prev,
		       const struct audit_chain *hash)
{
	size_t covered = len - (AUDIT_SEAL_LEN - 1) + 9 + 64 + 1;
	crypto_hash_sha256_state sha;
	struct audit_chain is;

	crypto_hash_sha256_init(&sha);
	crypto_hash_sha256_update(&sha, prev->hash, sizeof(prev->hash));
	crypto_hash_sha256_update(&sha, (const unsigned char *)line, covered);
	crypto_hash_sha256_final(&sha, is.hash);
	return audit_chain_eq(&is, hash);
}

struct verify {
	struct audit_chain last;
	bool any; /* a line was read: @last is valid */
	uint64_t lines;
};

static int verify_line(struct verify *v, const char *line, size_t len,
		       const char *file, uint64_t n, struct err *err)
{
	struct audit_chain prev, hash;

	if (len == 0 || line[len - 1] != '\n')
		return err_set(err, -EBADMSG,
			       "%s:%llu: the line is cut off or too long", file,
			       (unsigned long long)n);
	len--;
	if (audit_chain_read(line, len, &prev, &hash) < 0)
		return err_set(err, -EBADMSG, "%s:%llu: no hashes at its end",
			       file, (unsigned long long)n);
	if (!audit_chain_holds(line, len, &prev, &hash))
		return err_set(err, -EBADMSG, "%s:%llu: the line was changed",
			       file, (unsigned long long)n);
	if (v->any && !audit_chain_eq(&prev, &v->last))
		return err_set(err, -EBADMSG,
			       "%s:%llu: the line before it is missing", file,
			       (unsigned long long)n);
	v->last = hash;
	v->any = true;
	v->lines++;
	return 0;
}

static int verify_file(struct verify *v, const char *path, struct err *err)
{
	char line[AUDIT_LINE_MAX + 1];
	SCOPED_FILE f = fopen(path, "re");

	if (!f)
		return err_sys(err, "open %s", path);
	for (uint64_t n = 1; fgets(line, sizeof(line), f); n++) {
		/* A NUL cuts the line here, which is refused therefore. */
		int rc = verify_line(v, line, strlen(line), path, n, err);

		if (rc < 0)
			return rc;
	}
	return ferror(f) ? err_sys(err, "read %s", path) : 0;
}

/* Finds the oldest file: the highest number without a gap below. */
static int verify_oldest(const char *path, uint32_t *ret, struct err *err)
{
	uint32_t n = 0;

	for (; n < FILES_MAX; n++) {
		SCOPED_STR next = audit_file_name(path, n + 1);

		if (!next)
			return err_nomem(err);
		if (access(next, F_OK) < 0)
			break;
	}
	*ret = n;
	return 0;
}

int audit_verify(const char *path, struct err *err)
{
	struct verify v = { 0 };
	uint32_t n = 0;
	int rc = verify_oldest(path, &n, err);

	for (; rc >= 0; n--) {
		SCOPED_STR name = audit_file_name(path, n);

		rc = name ? verify_file(&v, name, err) : err_nomem(err);
		if (n == 0)
			break;
	}
	return rc;
}
