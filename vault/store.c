/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.c - the store of real tokens: keys, reading, changing
 *
 * Theory of operation. Each call takes the lock of the folder, looks whether
 * the image is still the one that it knows (its stream's header is random, so
 * no two are alike), reads it if not, and, for a change, seals a set with the
 * change in it and puts that in its place. The set in memory is taken only
 * when the file is there. Nothing that cannot be read is ever written over.
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
	uint8_t *key; /* sodium_malloc; valid while @have_key */
	bool have_key;
	struct vstore_head head; /* of the image; source 0: there is none */
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

/* Entries and key; what is on the disk is looked at anew. */
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

/* The key for a store that has none yet: that of a file that is there, else a
 * new one. */
static int keyfile_make(struct vstore *v, struct err *err)
{
	int r = sfile_key_read(&v->dir, v->key, err);

	if (r == -ENOENT) {
		randombytes_buf(v->key, VSTORE_KEY);
		r = sfile_key_write(&v->dir, v->key, err);
	}
	v->have_key = r == 0;
	return r;
}

/* Before an image is sealed with the key that we hold: can it be opened again
 * by who has the file alone? One that was lost is put back. */
static int keyfile_confirm(struct vstore *v, struct err *err)
{
	uint8_t key[VSTORE_KEY];
	int r = sfile_key_read(&v->dir, key, err);

	if (r == -ENOENT)
		return sfile_key_write(&v->dir, v->key, err);
	if (r == 0 && sodium_memcmp(key, v->key, VSTORE_KEY) != 0)
		r = err_set(err, -EKEYREJECTED,
			    "%s/" KEYFILE " is not the key of this store: put "
			    "the right one back; nothing was changed",
			    v->path);
	sodium_memzero(key, sizeof(key));
	return r;
}

/* Of a store with a passphrase: the key file, and the generation before, which
 * it may open; that one first, for a key without it opens nothing. */
static int keyfile_drop(const struct vstore *v, struct err *err)
{
	static const char *const names[] = { BACKUP, KEYFILE, NULL };

	return sfile_remove(&v->dir, names, err);
}

/* ---- reading ---- */

static int explain(const struct vstore *v, int r, struct err *err)
{
	switch (r) {
	case -EBADMSG:
		return err_set(err, r,
			       "%s/" STORE " is damaged; nothing was changed. "
			       "The one before it is %s/" BACKUP
			       ": move it there, or import an export",
			       v->path, v->path);
	case -EPROTONOSUPPORT:
		return err_set(err, r,
			       "%s/" STORE " was written by a newer ac: "
			       "this one leaves it alone",
			       v->path);
	case -EKEYREJECTED:
		return v->head.source == VSTORE_PASSPHRASE ?
			       err_set(err, r, "the passphrase is wrong") :
			       err_set(err, r,
				       "%s/" KEYFILE " is not the key of this "
				       "store: put the right one back",
				       v->path);
	case -EKEYREVOKED:
		return err_set(err, r,
			       "%s/" KEYFILE " is gone: put it back from a "
			       "backup; without it only an export can be read",
			       v->path);
	case -ENOKEY:
		return err_set(err, r,
			       "the vault is locked: `ac vault unlock`");
	default:
		return err_set(err, r, "%s/" STORE ": %s", v->path,
			       err_text(r));
	}
}

/* The image on the disk, on the heap: it is no secret. -ENOENT: there is
 * none. */
static int image_read(struct vstore *v, char **ret, size_t *ret_len,
		      struct err *err)
{
	SCOPED_FD fd = -1;
	SCOPED_STR mem = NULL;
	struct stat st;
	int r = sfile_open(&v->dir, STORE, VSTORE_IMAGE_MAX, &fd, &st, err);

	if (r < 0)
		return r;
	mem = malloc((size_t)st.st_size + 1);
	if (!mem)
		return err_nomem(err);
	r = sfile_read(fd, mem, (size_t)st.st_size);
	if (r < 0)
		return explain(v, r, err);
	*ret_len = (size_t)st.st_size;
	*ret = ptr_take(&mem);
	return 0;
}

/* The key of the image whose head is in @v. */
static int key_find(struct vstore *v, struct err *err)
{
	int r;

	if (v->have_key)
		return 0;
	if (v->head.source == VSTORE_PASSPHRASE)
		return explain(v, -ENOKEY, err);
	r = sfile_key_read(&v->dir, v->key, err);
	v->have_key = r == 0;
	return r == -ENOENT ? explain(v, -EKEYREVOKED, err) : r;
}

static int image_open(struct vstore *v, struct slice image, struct err *err)
{
	struct vstore_set set = { 0 };
	int r = vstore_unseal(image, v->key, &set);

	if (r == -EKEYREJECTED) {
		/* Another process may have sealed it with another one. */
		v->have_key = false;
		r = key_find(v, err);
		if (r < 0)
			return r;
		r = vstore_unseal(image, v->key, &set);
	}
	if (r < 0) {
		if (r == -EKEYREJECTED)
			v->have_key = false;
		return explain(v, r, err);
	}
	vstore_set_done(&v->set);
	v->set = set;
	memcpy(v->id, image.ptr + VSTORE_HEAD - ID_LEN, ID_LEN);
	v->loaded = true;
	return 0;
}

/* There is no image: a new vault, or one that was lost? */
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

/* Under the lock. */
static int refresh(struct vstore *v, struct err *err)
{
	struct err ignored = { 0 };
	SCOPED_STR mem = NULL;
	struct vstore_head head;
	size_t len = 0;
	int r = image_read(v, &mem, &len, err);

	if (r == -ENOENT)
		return image_missing(v, err);
	if (r < 0 || !mem)
		return r;
	r = vstore_head_read(slice_of(mem, len), &head);
	if (r < 0)
		return explain(v, r, err);
	if (v->loaded && memcmp(v->id, mem + VSTORE_HEAD - ID_LEN, ID_LEN) == 0)
		return 0;
	/* From here on head and key may be another image's: should the one
	 * that we know come back, it is to be opened with its own again. */
	v->loaded = false;
	if (head.source != v->head.source)
		v->have_key = false;
	v->head = head;
	r = key_find(v, err);
	if (r == 0)
		r = image_open(v, slice_of(mem, len), err);
	/* Of a reseal that was cut off. Only now: a file that does not open
	 * may be in the place of the one that needs the key. */
	if (r == 0 && head.source == VSTORE_PASSPHRASE &&
	    faccessat(v->dir.fd, KEYFILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		keyfile_drop(v, &ignored);
	return r;
}

int vstore_load(struct vstore *v, struct err *err)
{
	int r = sfile_begin(&v->dir, false, err);

	if (r == -ENOENT) {
		forget(v);
		v->head = (struct vstore_head){ 0 };
		return 0;
	}
	if (r < 0)
		return r;
	r = refresh(v, err);
	sfile_end(&v->dir);
	return r;
}

int vstore_unlock_head(struct vstore *v, struct vstore_head *ret,
		       struct err *err)
{
	struct err why = { 0 };
	int r = vstore_load(v, &why);

	if (r == -ENOKEY) {
		*ret = v->head;
		return 1;
	}
	if (r < 0)
		*err = why;
	else if (v->head.source != VSTORE_PASSPHRASE)
		r = err_set(err, -EINVAL,
			    "the vault has no passphrase: `ac vault "
			    "passphrase` gives it one");
	return r;
}

int vstore_pass_head(struct vstore *v, struct vstore_head *ret, struct err *err)
{
	int r = vstore_load(v, err);

	if (r < 0 || v->head.source != VSTORE_PASSPHRASE)
		return r;
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
	int r = vstore_unlock_head(v, &head, err);

	if (r <= 0)
		return r;
	if (memcmp(head.salt, pass->head.salt, sizeof(head.salt)) != 0)
		return err_set(err, -EBUSY,
			       "the vault has changed meanwhile; try again");
	memcpy(v->key, pass->key, VSTORE_KEY);
	v->have_key = true;
	r = vstore_load(v, err);
	/* The key was dropped, and then missed: it was the wrong one. */
	return r == -ENOKEY ? explain(v, -EKEYREJECTED, err) : r;
}

int vstore_lock(struct vstore *v, struct err *err)
{
	int r = vstore_load(v, err);

	if (r < 0 && r != -ENOKEY) {
		forget(v); /* it is no reason to keep what is in memory */
		return r;
	}
	if (v->head.source != VSTORE_PASSPHRASE)
		return err_set(err, -EINVAL,
			       "the vault has a key file and opens by itself: "
			       "`ac vault passphrase` gives it a passphrase");
	forget(v);
	return 0;
}

/* ---- changing ---- */

/* Under the lock, after refresh(): puts @set (taken when it worked) there,
 * sealed as @head says. */
static int replace(struct vstore *v, struct vstore_set *set,
		   const struct vstore_head *head, struct err *err)
{
	struct slice image;
	struct buf out;
	int r;

	buf_init(&out, VSTORE_IMAGE_MAX);
	r = vstore_seal(set, head, v->key, &out);
	image = buf_slice(&out);
	if (r < 0)
		explain(v, r, err);
	else
		r = sfile_write(&v->dir, STORE, BACKUP, image, err);
	if (r == 0) {
		vstore_set_done(&v->set);
		v->set = *set;
		*set = (struct vstore_set){ 0 };
		v->head = *head;
		memcpy(v->id, image.ptr + VSTORE_HEAD - ID_LEN, ID_LEN);
		v->loaded = true;
	}
	buf_done(&out);
	return r;
}

/* Locks, reads, and gives a copy of the entries to change. */
static int change_begin(struct vstore *v, struct vstore_set *ret,
			struct err *err)
{
	int r = sfile_begin(&v->dir, true, err);

	if (r < 0)
		return r;
	r = refresh(v, err);
	for (size_t i = 0; r == 0 && i < v->set.n; i++) {
		struct vstore_entry *e = vstore_entry_copy(v->set.v[i]);

		r = e ? vstore_set_put(ret, e) : -ENOMEM;
		if (r < 0) {
			vstore_entry_free(e);
			err_nomem(err);
		}
	}
	return r;
}

/* Releases the lock and @set, whatever became of it. @r: of the change. */
static int change_end(struct vstore *v, struct vstore_set *set, int r,
		      struct err *err)
{
	struct vstore_head head = v->head;

	if (r == 0 && head.source == 0) {
		vstore_head_new(VSTORE_KEYFILE, &head);
		r = keyfile_make(v, err);
	} else if (r == 0 && head.source == VSTORE_KEYFILE) {
		r = keyfile_confirm(v, err);
	}
	if (r == 0)
		r = replace(v, set, &head, err);
	vstore_set_done(set);
	sfile_end(&v->dir);
	return r;
}

static int set_put(struct vstore_set *set, struct vstore_entry *e,
		   struct err *err)
{
	int r = vstore_set_put(set, e);

	if (r == -ENOSPC)
		return err_set(err, r,
			       "the vault holds %u entries and takes no more: "
			       "`ac vault rm` makes room",
			       VSTORE_ENTRIES_MAX);
	return r < 0 ? err_nomem(err) : 0;
}

int vstore_put(struct vstore *v, struct vstore_entry *e, bool replace_it,
	       struct err *err)
{
	struct vstore_set set = { 0 };
	int r = vstore_entry_check(e, err);

	if (r == 0 && e->value_len == 0)
		r = err_set(err, -EINVAL, "the value is empty");
	if (r < 0) {
		vstore_entry_free(e);
		return r;
	}
	r = change_begin(v, &set, err);
	if (r == 0 && !replace_it && vstore_set_find(&set, e->name))
		r = err_set(err, -EEXIST,
			    "there is a credential '%s' already: `ac vault "
			    "rotate %s` gives it a new value",
			    e->name, e->name);
	if (r == 0)
		r = set_put(&set, e, err);
	if (r < 0)
		vstore_entry_free(e);
	return change_end(v, &set, r, err);
}

int vstore_remove(struct vstore *v, const char *name, struct err *err)
{
	struct vstore_set set = { 0 };
	int r = change_begin(v, &set, err);

	if (r == 0 && vstore_set_remove(&set, name) < 0)
		r = err_set(err, -ENOENT, "there is no credential '%s'", name);
	return change_end(v, &set, r, err);
}

int vstore_reseal(struct vstore *v, const struct vstore_pass *pass,
		  struct err *err)
{
	struct vstore_set set = { 0 };
	struct vstore_head head;
	uint8_t *before = sodium_malloc(VSTORE_KEY);
	int r = before ? change_begin(v, &set, err) : err_nomem(err);

	if (!before)
		return r;
	memcpy(before, v->key, VSTORE_KEY);
	if (pass)
		head = pass->head;
	else
		vstore_head_new(VSTORE_KEYFILE, &head);
	if (r == 0 && pass)
		memcpy(v->key, pass->key, VSTORE_KEY);
	else if (r == 0)
		r = v->head.source == VSTORE_KEYFILE ? keyfile_confirm(v, err) :
						       keyfile_make(v, err);
	if (r == 0)
		r = replace(v, &set, &head, err);
	if (r < 0)
		memcpy(v->key, before, VSTORE_KEY);
	else
		v->have_key = true;
	/* Not before its place is taken; the generation before needs it, but
	 * must not be read with a key that lies beside it. */
	if (r == 0 && pass && keyfile_drop(v, err) < 0) {
		v->loaded = false; /* opened, and so tried, again */
		r = err_wrap(err, "the passphrase holds from now on, but what "
				  "the key file opened is still there");
	}
	sodium_free(before);
	vstore_set_done(&set);
	sfile_end(&v->dir);
	return r;
}

/* ---- export and import ---- */

int vstore_export(struct vstore *v, const struct vstore_pass *pass,
		  struct buf *out, struct err *err)
{
	int r = vstore_load(v, err);

	if (r < 0)
		return r;
	r = vstore_seal(&v->set, &pass->head, pass->key, out);
	return r < 0 ? err_set(err, r, "export: %s", err_text(r)) : 0;
}

static int import_explain(int r, struct err *err)
{
	switch (r) {
	case 0:
		return 0;
	case -EBADMSG:
		return err_set(err, r, "this is no export, or it is damaged");
	case -EPROTONOSUPPORT:
		return err_set(err, r, "a newer ac made this export");
	case -EKEYREJECTED:
		return err_set(err, r, "the passphrase is wrong");
	default:
		return err_set(err, r, "import: %s", err_text(r));
	}
}

int vstore_import_head(struct slice image, struct vstore_head *ret,
		       struct err *err)
{
	struct vstore_head head;
	int r = vstore_head_read(image, &head);

	if (r < 0)
		return import_explain(r, err);
	if (head.source != VSTORE_PASSPHRASE)
		return err_set(err, -EINVAL,
			       "this is a store with a key file, no export");
	*ret = head;
	return 0;
}

int vstore_import(struct vstore *v, struct slice image,
		  const struct vstore_pass *pass, bool replace_them,
		  struct vstore_import *ret, struct err *err)
{
	struct vstore_set in = { 0 }, set = { 0 };
	struct vstore_import did = { 0 };
	int r = import_explain(vstore_unseal(image, pass->key, &in), err);

	if (r < 0)
		return r;
	r = change_begin(v, &set, err);
	for (size_t i = 0; r == 0 && i < in.n; i++) {
		struct vstore_entry *e = in.v[i];
		bool there = vstore_set_find(&set, e->name) != NULL;

		did.kept += there && !replace_them;
		did.replaced += there && replace_them;
		did.added += !there;
		if (there && !replace_them)
			continue;
		e = vstore_entry_copy(e);
		r = e ? set_put(&set, e, err) : err_nomem(err);
		if (r < 0)
			vstore_entry_free(e);
	}
	vstore_set_done(&in);
	r = change_end(v, &set, r, err);
	if (r == 0)
		*ret = did;
	return r;
}
