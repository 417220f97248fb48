/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.c - the store of real tokens: keys, reading, changing
 *
 * Theory of operation. Each call locks the folder, checks whether the image is
 * still the one that it knows (its stream's header is random, so no two are
 * alike) and reads it if not. For a change it seals a changed copy of the set
 * and replaces the image. The set in memory is replaced only after the file
 * was. An image that cannot be read is never overwritten.
 */
#include "vault/store.h"

#include <fcntl.h>
#include <sodium.h>
#include <string.h>

#include "vault/store_file.h"

#define STORE "store"
#define BACKUP "store.1"
#define KEYFILE SFILE_KEY
#define ID_LEN 24u /* the stream's header */

struct vstore {
	struct sfile_dir dir;
	char *path;
	uint8_t *key; /* sodium_malloc; valid if @have_key */
	bool have_key;
	struct vstore_head head; /* of the image; source 0: no image */
	uint8_t id[ID_LEN];
	bool loaded;
	struct vstore_set set;
};

int vstore_open(const char *dir, uid_t owner, struct vstore **ret,
		struct err *err)
{
	struct vstore *v;

	if (sodium_init() < 0)
		return err_set(err, -EIO, "libsodium does not start");
	v = calloc(1, sizeof(*v));
	if (!v)
		return err_nomem(err);
	v->path = strdup(dir);
	v->key = sodium_malloc(VSTORE_KEY);
	v->dir = (struct sfile_dir){
		.fd = -1, .lock = -1, .owner = owner, .path = v->path
	};
	if (!v->path || !v->key) {
		vstore_close(v);
		return err_nomem(err);
	}
	*ret = v;
	return 0;
}

/* Wipes credentials and key; the next call reads the files again. */
static void forget(struct vstore *v)
{
	vstore_set_done(&v->set);
	v->loaded = false;
	v->have_key = false;
	if (v->key)
		sodium_memzero(v->key, VSTORE_KEY);
}

void vstore_close(struct vstore *v)
{
	if (!v)
		return;
	forget(v);
	sodium_free(v->key);
	free(v->path);
	free(v);
}

const struct vstore_set *vstore_entries(const struct vstore *v)
{
	return &v->set;
}

enum vstore_source vstore_source(const struct vstore *v)
{
	return v->head.source;
}

/* ---- the key file ---- */

/* Gets the key for a new store: from an existing key file, or a new one. */
static int keyfile_make(struct vstore *v, struct err *err)
{
	int rc = sfile_key_read(&v->dir, v->key, err);

	if (rc == -ENOENT) {
		randombytes_buf(v->key, VSTORE_KEY);
		rc = sfile_key_write(&v->dir, v->key, err);
	}
	v->have_key = rc == 0;
	return rc;
}

/* Verifies before sealing that the key file will open the image; a missing one
 * is written again. */
static int keyfile_confirm(struct vstore *v, struct err *err)
{
	uint8_t key[VSTORE_KEY];
	int rc = sfile_key_read(&v->dir, key, err);

	if (rc == -ENOENT)
		return sfile_key_write(&v->dir, v->key, err);
	if (rc == 0 && sodium_memcmp(key, v->key, VSTORE_KEY) != 0)
		rc = err_set(err, -EKEYREJECTED,
			     "%s/" KEYFILE " is not the key of this store: put "
			     "the right one back; nothing was changed",
			     v->path);
	sodium_memzero(key, sizeof(key));
	return rc;
}

/* Removes the key file of a store that has a passphrase, and the previous
 * generation, which it may open; that one first, because the key alone opens
 * nothing. */
static int keyfile_drop(const struct vstore *v, struct err *err)
{
	static const char *const names[] = { BACKUP, KEYFILE, NULL };

	return sfile_remove(&v->dir, names, err);
}

/* ---- reading ---- */

static int explain(const struct vstore *v, int rc, struct err *err)
{
	switch (rc) {
	case -EBADMSG:
		return err_set(err, rc,
			       "%s/" STORE " is damaged; nothing was changed. "
			       "The one before it is %s/" BACKUP
			       ": move it there, or import an export",
			       v->path, v->path);
	case -EPROTONOSUPPORT:
		return err_set(err, rc,
			       "%s/" STORE " was written by a newer ac: "
			       "this one leaves it alone",
			       v->path);
	case -EKEYREJECTED:
		return v->head.source == VSTORE_PASSPHRASE ?
			       err_set(err, rc, "the passphrase is wrong") :
			       err_set(err, rc,
				       "%s/" KEYFILE " is not the key of this "
				       "store: put the right one back",
				       v->path);
	case -EKEYREVOKED:
		return err_set(err, rc,
			       "%s/" KEYFILE " is gone: put it back from a "
			       "backup; without it only an export can be read",
			       v->path);
	case -ENOKEY:
		return err_set(err, rc,
			       "the vault is locked: `ac vault unlock`");
	default:
		return err_set(err, rc, "%s/" STORE ": %s", v->path,
			       err_text(rc));
	}
}

/* Reads the sealed image to the heap. Returns -ENOENT if there is none. */
static int image_read(struct vstore *v, char **ret, size_t *ret_len,
		      struct err *err)
{
	SCOPED_FD fd = -1;
	SCOPED_STR mem = NULL;
	struct stat st;
	int rc = sfile_open(&v->dir, STORE, VSTORE_IMAGE_MAX, &fd, &st, err);

	if (rc < 0)
		return rc;
	mem = malloc((size_t)st.st_size + 1);
	if (!mem)
		return err_nomem(err);
	rc = sfile_read(fd, mem, (size_t)st.st_size);
	if (rc < 0)
		return explain(v, rc, err);
	*ret_len = (size_t)st.st_size;
	*ret = ptr_take(&mem);
	return 0;
}

/* Gets the key for the image whose head is in @v. */
static int key_find(struct vstore *v, struct err *err)
{
	int rc;

	if (v->have_key)
		return 0;
	if (v->head.source == VSTORE_PASSPHRASE)
		return explain(v, -ENOKEY, err);
	rc = sfile_key_read(&v->dir, v->key, err);
	v->have_key = rc == 0;
	return rc == -ENOENT ? explain(v, -EKEYREVOKED, err) : rc;
}

static int image_open(struct vstore *v, struct slice image, struct err *err)
{
	struct vstore_set set = { 0 };
	int rc = vstore_unseal(image, v->key, &set);

	if (rc == -EKEYREJECTED) {
		/* Another process may have sealed it with another key. */
		v->have_key = false;
		rc = key_find(v, err);
		if (rc < 0)
			return rc;
		rc = vstore_unseal(image, v->key, &set);
	}
	if (rc < 0) {
		if (rc == -EKEYREJECTED)
			v->have_key = false;
		return explain(v, rc, err);
	}
	vstore_set_done(&v->set);
	v->set = set;
	memcpy(v->id, image.ptr + VSTORE_HEAD - ID_LEN, ID_LEN);
	v->loaded = true;
	return 0;
}

/* Decides whether a missing image means a new vault or a lost one. */
static int image_missing(struct vstore *v, struct err *err)
{
	struct stat st;

	if (fstatat(v->dir.fd, BACKUP, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(err, -EBADMSG,
			       "%s/" STORE " is gone; the one before it is "
			       "%s/" BACKUP ": move it there",
			       v->path, v->path);
	forget(v);
	v->head = (struct vstore_head){ 0 };
	return 0;
}

/* Reads the image if it has changed. The lock must be held. */
static int refresh(struct vstore *v, struct err *err)
{
	struct err ignored = { 0 };
	SCOPED_STR mem = NULL;
	struct vstore_head head;
	size_t len = 0;
	int rc = image_read(v, &mem, &len, err);

	if (rc == -ENOENT)
		return image_missing(v, err);
	if (rc < 0 || !mem)
		return rc;
	rc = vstore_head_read(slice_of(mem, len), &head);
	if (rc < 0)
		return explain(v, rc, err);
	if (v->loaded && memcmp(v->id, mem + VSTORE_HEAD - ID_LEN, ID_LEN) == 0)
		return 0;
	/* From here on, head and key may belong to another image: if the known
	 * one comes back, it must be opened with its own key again. */
	v->loaded = false;
	if (head.source != v->head.source)
		v->have_key = false;
	v->head = head;
	rc = key_find(v, err);
	if (rc == 0)
		rc = image_open(v, slice_of(mem, len), err);
	/* Left by an interrupted reseal. Removed only now: an image that does
	 * not open may have replaced the one that needs the key. */
	if (rc == 0 && head.source == VSTORE_PASSPHRASE &&
	    faccessat(v->dir.fd, KEYFILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		keyfile_drop(v, &ignored);
	return rc;
}

int vstore_load(struct vstore *v, struct err *err)
{
	int rc = sfile_begin(&v->dir, false, err);

	if (rc == -ENOENT) {
		forget(v);
		v->head = (struct vstore_head){ 0 };
		return 0;
	}
	if (rc < 0)
		return rc;
	rc = refresh(v, err);
	sfile_end(&v->dir);
	return rc;
}

int vstore_unlock_head(struct vstore *v, struct vstore_head *ret,
		       struct err *err)
{
	struct err why = { 0 };
	int rc = vstore_load(v, &why);

	if (rc == -ENOKEY) {
		*ret = v->head;
		return 1;
	}
	if (rc < 0)
		*err = why;
	else if (v->head.source != VSTORE_PASSPHRASE)
		rc = err_set(err, -EINVAL,
			     "the vault has no passphrase: `ac vault "
			     "passphrase` gives it one");
	return rc;
}

int vstore_pass_head(struct vstore *v, struct vstore_head *ret, struct err *err)
{
	int rc = vstore_load(v, err);

	if (rc < 0 || v->head.source != VSTORE_PASSPHRASE)
		return rc;
	*ret = v->head;
	return 1;
}

int vstore_pass_check(const struct vstore *v, const struct vstore_pass *pass,
		      struct err *err)
{
	if (v->have_key && sodium_memcmp(v->key, pass->key, VSTORE_KEY) == 0)
		return 0;
	return err_set(err, -EKEYREJECTED, "the old passphrase is wrong");
}

int vstore_unlock(struct vstore *v, const struct vstore_pass *pass,
		  struct err *err)
{
	struct vstore_head head;
	int rc = vstore_unlock_head(v, &head, err);

	if (rc <= 0)
		return rc;
	if (memcmp(head.salt, pass->head.salt, sizeof(head.salt)) != 0)
		return err_set(err, -EBUSY,
			       "the vault has changed meanwhile; try again");
	memcpy(v->key, pass->key, VSTORE_KEY);
	v->have_key = true;
	rc = vstore_load(v, err);
	/* The key was dropped as wrong, and is therefore missing. */
	return rc == -ENOKEY ? explain(v, -EKEYREJECTED, err) : rc;
}

int vstore_lock(struct vstore *v, struct err *err)
{
	int rc = vstore_load(v, err);

	if (rc < 0 && rc != -ENOKEY) {
		forget(v); /* no reason to keep the credentials in memory */
		return rc;
	}
	if (v->head.source != VSTORE_PASSPHRASE)
		return err_set(err, -EINVAL,
			       "the vault has a key file and opens by itself: "
			       "`ac vault passphrase` gives it a passphrase");
	forget(v);
	return 0;
}

/* ---- changing ---- */

/* Seals @set as @head says and replaces the image; takes ownership of the set
 * on success. The lock must be held, after refresh(). */
static int replace(struct vstore *v, struct vstore_set *set,
		   const struct vstore_head *head, struct err *err)
{
	struct slice image;
	struct buf out;
	int rc;

	buf_init(&out, VSTORE_IMAGE_MAX);
	rc = vstore_seal(set, head, v->key, &out);
	image = buf_slice(&out);
	if (rc < 0)
		explain(v, rc, err);
	else
		rc = sfile_write(&v->dir, STORE, BACKUP, image, err);
	if (rc == 0) {
		vstore_set_done(&v->set);
		v->set = *set;
		*set = (struct vstore_set){ 0 };
		v->head = *head;
		memcpy(v->id, image.ptr + VSTORE_HEAD - ID_LEN, ID_LEN);
		v->loaded = true;
	}
	buf_done(&out);
	return rc;
}

/* Locks, reads, and returns a copy of the credentials to change. */
static int change_begin(struct vstore *v, struct vstore_set *ret,
			struct err *err)
{
	int rc = sfile_begin(&v->dir, true, err);

	if (rc < 0)
		return rc;
	rc = refresh(v, err);
	for (size_t i = 0; rc == 0 && i < v->set.n; i++) {
		struct vstore_entry *e = vstore_entry_copy(v->set.v[i]);

		rc = e ? vstore_set_put(ret, e) : -ENOMEM;
		if (rc < 0) {
			vstore_entry_free(e);
			err_nomem(err);
		}
	}
	return rc;
}

/* Writes @set if the change succeeded (@r is 0); in any case unlocks and frees
 * @set. */
static int change_end(struct vstore *v, struct vstore_set *set, int rc,
		      struct err *err)
{
	struct vstore_head head = v->head;

	if (rc == 0 && head.source == 0) {
		vstore_head_new(VSTORE_KEYFILE, &head);
		rc = keyfile_make(v, err);
	} else if (rc == 0 && head.source == VSTORE_KEYFILE) {
		rc = keyfile_confirm(v, err);
	}
	if (rc == 0)
		rc = replace(v, set, &head, err);
	vstore_set_done(set);
	sfile_end(&v->dir);
	return rc;
}

static int set_put(struct vstore_set *set, struct vstore_entry *e,
		   struct err *err)
{
	int rc = vstore_set_put(set, e);

	if (rc == -ENOSPC)
		return err_set(err, rc,
			       "the vault is full (%u credentials): `ac vault "
			       "rm` makes room",
			       VSTORE_ENTRIES_MAX);
	return rc < 0 ? err_nomem(err) : 0;
}

int vstore_put(struct vstore *v, struct vstore_entry *e, bool replace_it,
	       struct err *err)
{
	struct vstore_set set = { 0 };
	int rc = vstore_entry_check(e, err);

	if (rc == 0 && e->value_len == 0)
		rc = err_set(err, -EINVAL, "the value is empty");
	if (rc < 0) {
		vstore_entry_free(e);
		return rc;
	}
	rc = change_begin(v, &set, err);
	if (rc == 0 && !replace_it && vstore_set_find(&set, e->name))
		rc = err_set(err, -EEXIST,
			     "there is a credential '%s' already: `ac vault "
			     "rotate %s` gives it a new value",
			     e->name, e->name);
	if (rc == 0)
		rc = set_put(&set, e, err);
	if (rc < 0)
		vstore_entry_free(e);
	return change_end(v, &set, rc, err);
}

int vstore_remove(struct vstore *v, const char *name, struct err *err)
{
	struct vstore_set set = { 0 };
	int rc = change_begin(v, &set, err);

	if (rc == 0 && vstore_set_remove(&set, name) < 0)
		rc = err_set(err, -ENOENT, "there is no credential '%s'", name);
	return change_end(v, &set, rc, err);
}

int vstore_merge(struct vstore *v, const struct vstore_set *in,
		 bool replace_them, struct vstore_import *ret, struct err *err)
{
	struct vstore_set set = { 0 };
	struct vstore_import did = { 0 };
	int rc = change_begin(v, &set, err);

	for (size_t i = 0; rc == 0 && i < in->n; i++) {
		struct vstore_entry *e = in->v[i];
		bool there = vstore_set_find(&set, e->name) != NULL;

		did.kept += there && !replace_them;
		did.replaced += there && replace_them;
		did.added += !there;
		if (there && !replace_them)
			continue;
		e = vstore_entry_copy(e);
		rc = e ? set_put(&set, e, err) : err_nomem(err);
		if (rc < 0)
			vstore_entry_free(e);
	}
	rc = change_end(v, &set, rc, err);
	if (rc == 0)
		*ret = did;
	return rc;
}

int vstore_reseal(struct vstore *v, const struct vstore_pass *pass,
		  struct err *err)
{
	struct vstore_set set = { 0 };
	struct vstore_head head;
	uint8_t *before = sodium_malloc(VSTORE_KEY);
	int rc = before ? change_begin(v, &set, err) : err_nomem(err);

	if (!before)
		return rc;
	memcpy(before, v->key, VSTORE_KEY);
	if (pass)
		head = pass->head;
	else
		vstore_head_new(VSTORE_KEYFILE, &head);
	if (rc == 0 && pass)
		memcpy(v->key, pass->key, VSTORE_KEY);
	else if (rc == 0)
		rc = v->head.source == VSTORE_KEYFILE ?
			     keyfile_confirm(v, err) :
			     keyfile_make(v, err);
	if (rc == 0)
		rc = replace(v, &set, &head, err);
	if (rc < 0)
		memcpy(v->key, before, VSTORE_KEY);
	else
		v->have_key = true;
	/* Only after the image was replaced. The previous generation needs the
	 * key file, but must not be readable with a key beside it. */
	if (rc == 0 && pass && keyfile_drop(v, err) < 0) {
		v->loaded = false; /* read again, and so removed again */
		rc = err_wrap(err, "the passphrase is in force, but the key "
				   "file or what it opened is still there");
	}
	sodium_free(before);
	vstore_set_done(&set);
	sfile_end(&v->dir);
	return rc;
}
