/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - real tokens at rest: entries, the sealed image, the files
 *
 * A folder of mode 0700 holds:
 *
 *	store	   the image, as below
 *	store.1	   the generation before it
 *	key	   "acvkey1\n", 32 random bytes, 8 bytes of their BLAKE2b;
 *		   absent when a passphrase takes its place
 *	lock	   held (flock) by who reads or writes
 *
 * The image: a head of VSTORE_HEAD bytes, then messages of a libsodium
 * secretstream (XChaCha20-Poly1305), each u32 length ‖ bytes.
 *
 *	head	   "acvault\n", u32 version 1, u32 source (1 key file,
 *		   2 passphrase), u64 opslimit, u64 memlimit, salt (16),
 *		   check (16), sum (16: BLAKE2b of all before), the
 *		   stream's header (24)
 *	message 0  u32 entries; additional data: the head up to and with sum
 *	1 … n	   one entry each (store_entry.c)
 *	n + 1	   empty, TAG_FINAL; nothing follows
 *
 * The stream's key and the check come from the master key by crypto_kdf, so a
 * wrong key and a damaged file are told apart. The passphrase goes through
 * Argon2id (RFC 9106, its second recommended choice: 64 MiB, 3 passes).
 *
 * Values live in sodium_malloc() memory: locked where the limits allow it,
 * kept out of dumps, wiped when freed. No error text has one in it.
 */
#ifndef VAULT_STORE_H
#define VAULT_STORE_H

#include <sys/types.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/str.h"
#include "vault/surrogate.h"

#define VSTORE_ENTRIES_MAX 1024u
#define VSTORE_NAME_MAX 63u
#define VSTORE_VALUE_MAX 8192u /* bytes */
#define VSTORE_HOSTS_MAX 16u
#define VSTORE_HOST_MAX 253u
#define VSTORE_METHODS_MAX 16u
#define VSTORE_PATHS_MAX 64u
#define VSTORE_PATH_MAX 512u
#define VSTORE_SCOPES_MAX 64u /* blueprints, instances */
#define VSTORE_ENTRY_MAX 65536u /* bytes of one, written */
#define VSTORE_IMAGE_MAX (72u * 1024 * 1024)
#define VSTORE_HEAD 104u
#define VSTORE_KEY 32u
#define VSTORE_PASS_MIN 8u /* bytes of a new passphrase */
#define VSTORE_PASS_MAX 1024u /* of any */

/* Of SECRET_GENERIC: where a request bears it. On disk. */
enum vstore_form {
	VSTORE_HEADER = 0, /* the header @field */
	VSTORE_BASIC = 1, /* Basic, with @user */
	VSTORE_QUERY = 2, /* the query's parameter @field */
	VSTORE_FORMS,
};
const char *vstore_form_name(enum vstore_form f); /* "header" */
int vstore_form_parse(const char *name, enum vstore_form *ret) ATTR_WUR;

enum vstore_flags { /* on disk */
		    VSTORE_CLASSIC =
			    1, /* a classic GitHub token, taken knowingly */
		    VSTORE_HANDOVER =
			    2, /* a blueprint may ask for `mode: handover` */
};

struct vstore_entry {
	char name[VSTORE_NAME_MAX + 1];
	enum secret_kind kind;
	enum vstore_form form;
	uint32_t flags;
	uint64_t created, rotated, expires; /* s since the epoch; 0: never */
	char user[64]; /* for Basic */
	char field[128]; /* name of the header or parameter */
	char access_key[132], region[32], service[32]; /* SECRET_AWS */
	char source[1024]; /* "cmd:…", "file:…", "env:…" or "" */
	char note[256];
	struct strv hosts, methods, paths; /* methods, paths empty: any */
	struct strv blueprints, instances; /* both empty: everywhere */
	size_t value_len;
	char *value; /* sodium_malloc; NUL-terminated */
};

/* ---- entries (store_entry.c) ---- */

struct vstore_entry *vstore_entry_new(void); /* zeroed; NULL: no memory */
void vstore_entry_free(struct vstore_entry *e); /* wipes; NULL is fine */
/* Takes the place of the value, which is wiped. -EMSGSIZE, -ENOMEM. */
int vstore_entry_set_value(struct vstore_entry *e, const void *value,
			   size_t len) ATTR_WUR;
/* A copy with a value of its own; NULL without memory. */
struct vstore_entry *vstore_entry_copy(const struct vstore_entry *e);
/* Everything but the shape of the value: names, limits, hosts. -EINVAL. */
int vstore_entry_check(const struct vstore_entry *e, struct err *err);
/* Lower-case labels of letters, digits, '-' and '_'; no port, no pattern. */
bool vstore_host_ok(const char *host);
bool vstore_name_ok(const char *name); /* [a-z0-9._-]{1,63} */
/* The same, in words. -EINVAL. */
int vstore_name_check(const char *name, struct err *err);
/* The bytes of one message in a sodium_malloc() area (sodium_free()).
 * -ENOMEM, -EMSGSIZE. */
int vstore_entry_write(const struct vstore_entry *e, uint8_t **ret,
		       size_t *ret_len) ATTR_WUR;
/* -EBADMSG, -ENOMEM; -EPROTONOSUPPORT: a newer kind of entry. */
int vstore_entry_read(struct slice in, struct vstore_entry **ret) ATTR_WUR;

struct vstore_set { /* sorted by name */
	size_t n;
	struct vstore_entry **v;
};
void vstore_set_done(struct vstore_set *s); /* accepts zeroed */
struct vstore_entry *vstore_set_find(const struct vstore_set *s,
				     const char *name);
/* Takes @e; one of that name is freed. -ENOSPC: there are too many (then @e is
 * still the caller's); -ENOMEM, the same. */
int vstore_set_put(struct vstore_set *s, struct vstore_entry *e) ATTR_WUR;
/* -ENOENT */
int vstore_set_remove(struct vstore_set *s, const char *name) ATTR_WUR;

/* ---- the image (store_image.c) ---- */

enum vstore_source { VSTORE_KEYFILE = 1, VSTORE_PASSPHRASE = 2 };

struct vstore_head { /* what a key is made from */
	enum vstore_source source;
	uint64_t ops, mem;
	uint8_t salt[16], check[16];
};
/* -EBADMSG: no head, or damaged; -EPROTONOSUPPORT: of a newer version. */
int vstore_head_read(struct slice in, struct vstore_head *ret) ATTR_WUR;
/* A fresh salt, and the limits of this version. */
void vstore_head_new(enum vstore_source source, struct vstore_head *ret);
/* The master key of a passphrase. -ENOMEM; -EINVAL: it is empty or too long.
 * Takes a moment, and 64 MiB. */
int vstore_key_derive(const struct vstore_head *h, struct slice passphrase,
		      uint8_t key[VSTORE_KEY]) ATTR_WUR;
/* Appends the image to @out. -ENOMEM, -ENOBUFS, -EMSGSIZE. */
int vstore_seal(const struct vstore_set *set, const struct vstore_head *h,
		const uint8_t key[VSTORE_KEY], struct buf *out) ATTR_WUR;
/* -EKEYREJECTED: another key; -EBADMSG: damaged or cut; -EPROTONOSUPPORT;
 * -ENOMEM. Release with vstore_set_done(). */
int vstore_unseal(struct slice image, const uint8_t key[VSTORE_KEY],
		  struct vstore_set *ret) ATTR_WUR;

/* ---- the files (store.c, store_file.c) ---- */

struct vstore;

/*
 * The store in @dir, which is made when it is first written to; reads nothing
 * yet. Files have to be @owner's, root's or our own. -ENOMEM.
 *
 * The calls below read the files again when another process has changed them,
 * and return 0 or, with a message for the user:
 *
 *	-ENOKEY		it has a passphrase, which was not given yet
 *	-EKEYREJECTED	the key file, or the passphrase, is another's
 *	-EKEYREVOKED	the key file is gone, or damaged
 *	-EBADMSG	the store is damaged or cut off
 *	-EPROTONOSUPPORT  a newer version wrote it
 *	-EPERM		owner or mode of a file would let others in
 *	-EBUSY		another process holds the lock, for 200 ms by now
 *	-ENOSPC, -EFBIG, -EDQUOT, …  what the kernel said; the store is as it
 *			was before
 */
int vstore_open(const char *dir, uid_t owner, struct vstore **ret,
		struct err *err) ATTR_WUR;
void vstore_close(struct vstore *v); /* wipes; NULL is fine */

int vstore_load(struct vstore *v, struct err *err) ATTR_WUR;
/* Valid until the next call that is given the store. */
const struct vstore_set *vstore_entries(const struct vstore *v);
/* After vstore_load(), also a failed one; 0: there is no store yet. */
enum vstore_source vstore_source(const struct vstore *v);

/* A passphrase, as its key of one head. Deriving takes long; whoever must not
 * wait has it done elsewhere. Wiped by who made it. */
struct vstore_pass {
	struct vstore_head head;
	uint8_t key[VSTORE_KEY];
};

/* What the key of vstore_unlock() is to be derived for. Returns 1; 0: it is open
 * already. -EINVAL: it has a key file. */
int vstore_unlock_head(struct vstore *v, struct vstore_head *ret,
		       struct err *err) ATTR_WUR;
/* What the key of vstore_pass_check() is to be derived for. Returns 1; 0: it has
 * no passphrase, or is not there yet. Wants an open vault. */
int vstore_pass_head(struct vstore *v, struct vstore_head *ret,
		     struct err *err) ATTR_WUR;
/* Does it open with this one? -EKEYREJECTED: no, or it is another store
 * since. */
int vstore_pass_check(const struct vstore *v, const struct vstore_pass *pass,
		      struct err *err);
/* -EBUSY: it is another store since. */
int vstore_unlock(struct vstore *v, const struct vstore_pass *pass,
		  struct err *err) ATTR_WUR;
/* Forgets the entries and the key; one with a key file opens again by itself,
 * and is therefore -EINVAL. */
int vstore_lock(struct vstore *v, struct err *err) ATTR_WUR;

/* Takes @e, also on failure. -EEXIST unless @replace. */
int vstore_put(struct vstore *v, struct vstore_entry *e, bool replace,
	       struct err *err) ATTR_WUR;
int vstore_remove(struct vstore *v, const char *name,
		  struct err *err) ATTR_WUR; /* -ENOENT */
/* Seals it anew: with the passphrase (of a head of vstore_head_new()), or, when
 * that is NULL, with a key file. A key file that is not used any more is removed
 * with the generation that it opens. When that fails the passphrase holds
 * nevertheless, and they are removed when the store is opened the next time. */
int vstore_reseal(struct vstore *v, const struct vstore_pass *pass,
		  struct err *err) ATTR_WUR;
/* Appends an image with a passphrase of its own, of a head of
 * vstore_head_new(). */
int vstore_export(struct vstore *v, const struct vstore_pass *pass,
		  struct buf *out, struct err *err) ATTR_WUR;
/* The head of an export. -EBADMSG, -EINVAL, -EPROTONOSUPPORT, in words. */
int vstore_import_head(struct slice image, struct vstore_head *ret,
		       struct err *err) ATTR_WUR;
struct vstore_import { /* what an import did */
	unsigned added, replaced, kept;
};
/* Adds the entries of such an image; those of a name that is there are kept as
 * they are, or replaced with @replace. All of them or none. */
int vstore_import(struct vstore *v, struct slice image,
		  const struct vstore_pass *pass, bool replace,
		  struct vstore_import *ret, struct err *err) ATTR_WUR;

#endif
