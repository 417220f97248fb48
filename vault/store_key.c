/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_key.c - the key file of a store
 */
#include <sodium.h>
#include <string.h>

#include "vault/store.h"
#include "vault/store_file.h"

#define KEY_MAGIC "acvkey1\n"
#define KEY_SUM 8u
#define FILE_LEN (8u + VSTORE_KEY + KEY_SUM)

static void key_sum(const uint8_t *file, uint8_t sum[KEY_SUM])
{
	uint8_t whole[16]; /* the smallest hash that libsodium makes */

	crypto_generichash(whole, sizeof(whole), file, 8 + VSTORE_KEY, NULL, 0);
	memcpy(sum, whole, KEY_SUM);
	sodium_memzero(whole, sizeof(whole));
}

static int key_damaged(const struct sfile_dir *d, struct err *err)
{
	return err_set(err, -EKEYREVOKED,
		       "%s/" SFILE_KEY
		       " is damaged: put it back from a backup; "
		       "without it only an export can be read",
		       d->path);
}

int sfile_key_read(const struct sfile_dir *d, uint8_t key[VSTORE_KEY],
		   struct err *err)
{
	uint8_t file[FILE_LEN], sum[KEY_SUM];
	SCOPED_FD fd = -1;
	struct stat st;
	int rc = sfile_open(d, SFILE_KEY, 4096, &fd, &st, err);

	if (rc == -EFBIG)
		return key_damaged(d, err);
	if (rc < 0)
		return rc;
	if (st.st_size != (off_t)sizeof(file))
		return key_damaged(d, err);
	rc = sfile_read(fd, file, sizeof(file));
	key_sum(file, sum);
	if (rc < 0)
		err_set(err, rc, "%s/" SFILE_KEY ": %s", d->path, err_text(rc));
	else if (memcmp(file, KEY_MAGIC, 8) != 0 ||
		 sodium_memcmp(sum, file + 8 + VSTORE_KEY, KEY_SUM) != 0)
		rc = key_damaged(d, err);
	else
		memcpy(key, file + 8, VSTORE_KEY);
	sodium_memzero(file, sizeof(file));
	return rc;
}

int sfile_key_write(const struct sfile_dir *d, const uint8_t key[VSTORE_KEY],
		    struct err *err)
{
	uint8_t file[FILE_LEN] = KEY_MAGIC;
	int rc;

	memcpy(file + 8, key, VSTORE_KEY);
	key_sum(file, file + 8 + VSTORE_KEY);
	rc = sfile_write(d, SFILE_KEY, NULL, slice_of(file, sizeof(file)), err);
	sodium_memzero(file, sizeof(file));
	return rc;
}
