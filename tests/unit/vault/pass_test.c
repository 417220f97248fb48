/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass_test.c - stores with a passphrase, exports
 */
#include "vault/store.h"

#include <sodium.h>

#include "tests/unit/vault/store_world.h"

static void key_of(const struct vstore_head *head, const char *text,
		   struct vstore_pass *ret)
{
	ret->head = *head;
	is_int(vstore_key_derive(head, slice_str(text), ret->key), 0, "a key");
}

static int unlock(struct vstore *v, const char *text, struct err *err)
{
	struct vstore_pass pass;
	struct vstore_head head;
	int rc = vstore_unlock_head(v, &head, err);

	if (rc <= 0)
		return rc;
	key_of(&head, text, &pass);
	return vstore_unlock(v, &pass, err);
}

static void pass_new(const char *text, struct vstore_pass *ret)
{
	struct vstore_head head;

	vstore_head_new(VSTORE_PASSPHRASE, &head);
	key_of(&head, text, ret);
}

static int reseal(struct vstore *v, const char *text, struct err *err)
{
	struct vstore_pass pass;

	if (!text)
		return vstore_reseal(v, NULL, err);
	pass_new(text, &pass);
	return vstore_reseal(v, &pass, err);
}

static int import(struct vstore *v, struct slice image, const char *text,
		  bool replace, struct vstore_import *did, struct err *err)
{
	struct vstore_pass pass;
	struct vstore_head head;
	int rc = vstore_import_head(image, &head, err);

	if (rc < 0)
		return rc;
	key_of(&head, text, &pass);
	return vstore_import(v, image, &pass, replace, did, err);
}

static void test_passphrase(void)
{
	const char *good = "correct horse", *bad = "cow";
	struct vstore *v;
	struct err err = { 0 };
	int code;

	fresh();
	add("one", "1", false);
	v = store();
	is_int(vstore_lock(v, &err), -EINVAL, "a key file is no lock");
	is_int(reseal(v, good, &err), 0, "a passphrase");
	ok(access(path_of("key"), F_OK) < 0 &&
		   access(path_of("store.1"), F_OK) < 0,
	   "the key, and what it opens, are gone");
	is_int(vstore_put(v, entry("two", "2"), false, &err), 0, "still open");
	is_int(vstore_lock(v, &err), 0, "locked");
	is_int(vstore_entries(v)->n, 0, "it knows nothing");
	is_int(vstore_load(v, &err), -ENOKEY, "cannot be read");
	is_str(err.msg, "the vault is locked: `ac vault unlock`",
	       "says what to do");
	is_int(vstore_put(v, entry("three", "3"), false, &err), -ENOKEY,
	       "nor written");
	is_int(unlock(v, bad, &err), -EKEYREJECTED, "a wrong one");
	is_str(err.msg, "the passphrase is wrong", "is told");
	is_int(vstore_load(v, &err), -ENOKEY, "it stays locked");
	is_int(unlock(v, good, &err), 0, "the right one");
	is_int(vstore_entries(v)->n, 2, "opens it");
	is_int(reseal(v, NULL, &err), 0, "a key file again");
	vstore_close(v);
	is_str(content(&code), "one=1 two=2", "with all that was there");
}

/* Another store in the place of the one that is open, and back: what is
 * written then must open with the passphrase that it always had. */
static void test_swapped(void)
{
	const char *good = "correct horse", *bad = "cow";
	SCOPED_STR mine = NULL;
	SCOPED_STR other = NULL;
	struct vstore *v;
	struct err err = { 0 };
	size_t len = 0, n = 0;

	fresh();
	v = store();
	is_int(reseal(v, "another", &err), 0, "one store");
	vstore_close(v);
	is_int(file_read(path_of("store"), 1 << 20, &other, &n), 0, "its file");
	fresh();
	v = store();
	is_int(reseal(v, good, &err), 0, "another, open");
	is_int(vstore_put(v, entry("one", "1"), false, &err), 0, "an entry");
	is_int(file_read(path_of("store"), 1 << 20, &mine, &len), 0,
	       "its file");
	is_int(file_replace(path_of("store"), other, n, 0600), 0, "swapped");
	is_int(vstore_load(v, &err), -ENOKEY, "is locked");
	is_int(unlock(v, bad, &err), -EKEYREJECTED, "a wrong one");
	is_int(file_replace(path_of("store"), mine, len, 0600), 0, "and back");
	is_int(vstore_put(v, entry("two", "2"), false, &err), -ENOKEY,
	       "is not written with what the other left behind");
	is_int(unlock(v, good, &err), 0, "but opened again");
	is_int(vstore_put(v, entry("two", "2"), false, &err), 0, "written");
	vstore_close(v);
	v = store();
	is_int(unlock(v, good, &err), 0, "and opens");
	is_int(vstore_entries(v)->n, 2, "with both");
	is_int(file_replace(path_of("store"), mine, len - 1, 0600), 0, "cut");
	is_int(vstore_lock(v, &err), -EBADMSG, "a lock says what it has met");
	is_int(vstore_entries(v)->n, 0, "and has forgotten all the same");
	vstore_close(v);
}

/* Cut off between the new image and the end of its old key. */
static void test_key_left(void)
{
	SCOPED_STR key = NULL;
	SCOPED_STR old = NULL;
	struct vstore *v;
	struct err err = { 0 };
	size_t len = 0, n = 0;

	fresh();
	add("one", "1", false);
	is_int(file_read(path_of("key"), 4096, &key, &len), 0, "its key");
	is_int(file_read(path_of("store"), 1 << 20, &old, &n), 0, "its image");
	v = store();
	is_int(reseal(v, "horse", &err), 0, "a passphrase");
	vstore_close(v);
	is_int(file_replace(path_of("key"), key, len, 0600), 0, "a key left");
	is_int(file_replace(path_of("store.1"), old, n, 0600), 0,
	       "and a store");
	v = store();
	is_int(vstore_load(v, &err), -ENOKEY, "locked");
	is_int(access(path_of("key"), F_OK), 0, "nothing is lost unread");
	is_int(unlock(v, "horse", &err), 0, "opened");
	ok(access(path_of("key"), F_OK) < 0 &&
		   access(path_of("store.1"), F_OK) < 0,
	   "what was left is gone");
	is_int(vstore_put(v, entry("two", "2"), false, &err), 0, "put");
	is_int(access(path_of("store.1"), F_OK), 0, "a generation before");
	vstore_close(v);
	v = store();
	is_int(unlock(v, "horse", &err), 0, "opened anew");
	is_int(access(path_of("store.1"), F_OK), 0, "which stays");
	vstore_close(v);
}

/* One that cannot be removed is told, and tried again. */
static void test_key_stuck(void)
{
	struct vstore *v;
	struct err err = { 0 };

	fresh();
	add("one", "1", false);
	v = store();
	is_int(vstore_load(v, &err), 0, "open");
	unlink(path_of("key"));
	mkdir(path_of("key"), 0700);
	is_int(reseal(v, "horse", &err), -EISDIR, "a key that stays");
	ok(strstr(err.msg, "the passphrase is in force"), "%s", err.msg);
	rmdir(path_of("key"));
	is_int(file_replace(path_of("key"), "x", 1, 0600), 0, "a file again");
	is_int(vstore_load(v, &err), 0, "still open");
	ok(access(path_of("key"), F_OK) < 0, "and gone at the next call");
	vstore_close(v);
}

static void test_unlock_swapped(void)
{
	struct vstore_pass pass;
	struct vstore_head head;
	struct vstore *v, *other;
	struct err err = { 0 };

	fresh();
	v = store();
	is_int(reseal(v, "horse", &err), 0, "a passphrase");
	is_int(vstore_lock(v, &err), 0, "locked");
	is_int(vstore_unlock_head(v, &head, &err), 1, "what for");
	key_of(&head, "horse", &pass);
	other = store();
	is_int(unlock(other, "horse", &err), 0, "another opens it");
	is_int(reseal(other, "cow", &err), 0, "and changes it");
	vstore_close(other);
	is_int(vstore_unlock(v, &pass, &err), -EBUSY, "changed: %s", err.msg);
	is_int(unlock(v, "cow", &err), 0, "and again");
	vstore_close(v);
}

static void test_key_of_reseal(void)
{
	struct vstore *v;
	struct err err = { 0 };
	int code;

	fresh();
	add("one", "1", false);
	v = store();
	is_int(vstore_load(v, &err), 0, "open");
	unlink(path_of("key"));
	is_int(reseal(v, NULL, &err), 0,
	       "sealed anew with a key file that was lost");
	vstore_close(v);
	is_str(content(&code), "one=1", "which is there again");
}

/* What a file may ask of us before its passphrase is known. */
static void test_limits(void)
{
	static const struct {
		uint64_t ops, mem;
		int want;
	} rows[] = {
		{ 6, 256u << 20, 0 },
		{ 7, 256u << 20, -EBADMSG },
		{ 6, (256u << 20) + 1, -EBADMSG },
		{ 3, UINT64_MAX, -EBADMSG },
		{ 0, 64u << 20, -EBADMSG },
		{ 3, 0, -EBADMSG },
	};
	uint8_t key[VSTORE_KEY] = { 7 };
	struct vstore_set none = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct vstore_head h;
		struct buf out;

		vstore_head_new(VSTORE_PASSPHRASE, &h);
		h.ops = rows[i].ops;
		h.mem = rows[i].mem;
		buf_init(&out, 4096);
		is_int(vstore_seal(&none, &h, key, &out), 0, "row %zu", i);
		is_int(vstore_head_read(buf_slice(&out), &h), rows[i].want,
		       "its head");
		buf_done(&out);
	}
}

static void test_export(void)
{
	const char *pass = "correct horse";
	struct vstore_pass sealed;
	struct vstore_import did = { 0 };
	struct vstore *v;
	struct err err = { 0 };
	struct buf out;
	int code;

	fresh();
	add("one", SECRET, false);
	add("two", "2", false);
	buf_init(&out, VSTORE_IMAGE_MAX);
	v = store();
	pass_new(pass, &sealed);
	is_int(vstore_export(v, &sealed, &out, &err), 0, "an export");
	vstore_close(v);
	ok(!memmem(buf_slice(&out).ptr, buf_len(&out), SECRET, strlen(SECRET)),
	   "is sealed");
	fresh();
	add("two", "mine", false);
	v = store();
	is_int(import(v, buf_slice(&out), "x", false, &did, &err),
	       -EKEYREJECTED, "a wrong passphrase");
	is_int(import(v, slice_of(buf_slice(&out).ptr, 300), pass, false, &did,
		      &err),
	       -EBADMSG, "half a file");
	is_int(import(v, buf_slice(&out), pass, false, &did, &err), 0,
	       "an import");
	ok(did.added == 1 && did.kept == 1 && did.replaced == 0, "counts");
	is_int(import(v, buf_slice(&out), pass, true, &did, &err), 0,
	       "one that replaces");
	ok(did.added == 0 && did.kept == 0 && did.replaced == 2, "counts");
	vstore_close(v);
	is_str(content(&code), "one=" SECRET " two=2", "all is there");
	buf_done(&out);
}
int main(void)
{
	world_begin();
	test_passphrase();
	test_swapped();
	test_key_left();
	test_key_stuck();
	test_unlock_swapped();
	test_key_of_reseal();
	test_limits();
	test_export();
	return world_end();
}
