/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - real tokens at rest: credentials, the sealed image, the files
 *
 * A folder of mode 0700 holds:
 *
 * 	store	   the image, as below
 * 	store.1	   the previous generation
 * 	key	   "acvkey1\n", 32 random bytes, 8 bytes of their BLAKE2b;
 * 		   absent if a passphrase is used
 * 	lock	   locked (flock) by every reader and writer
 *
 * The image: a head of VSTORE_HEAD bytes, then messages of a libsodium
 * secretstream (XChaCha20-Poly1305), each u32 length ‖ bytes.
 *
 * 	head	   "acvault\n", u32 version 1, u32 source (1 key file,
 * 		   2 passphrase), u64 opslimit, u64 memlimit, salt (16),
 * 		   check (16), sum (16: BLAKE2b of all before), the
 * 		   stream's header (24)
 * 	message 0  u32 number of credentials; additional data: the head up to
 * 		   and including sum
 * 	1 … n	   one credential each (store_entry.c)
 * 	n + 1	   empty, TAG_FINAL; nothing follows
 *
 * The stream's key and the check are derived from the master key by crypto_kdf,
 * so a wrong key can be told from a damaged file. A passphrase is hashed by
 * Argon2id (RFC 9106, its second recommended choice: 64 MiB, 3 passes).
 *
 * Tokens are kept in sodium_malloc() memory: locked where the limits allow it,
 * excluded from dumps, wiped when freed. No error message contains one.
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
#define VSTORE_REFRESH_MAX 2048u /* bytes of a refresh token */
#define VSTORE_HOSTS_MAX 16u
#define VSTORE_HOST_MAX 253u
#define VSTORE_METHODS_MAX 16u
#define VSTORE_PATHS_MAX 64u
#define VSTORE_PATH_MAX 512u
#define VSTORE_SCOPES_MAX 64u /* blueprints, instances */
#define VSTORE_ENTRY_MAX 65536u /* bytes of a serialised credential */
#define VSTORE_IMAGE_MAX (72u * 1024 * 1024)
#define VSTORE_HEAD 104u
#define VSTORE_KEY 32u
#define VSTORE_PASS_MIN 8u /* bytes of a new passphrase */
#define VSTORE_PASS_MAX 1024u /* bytes of any passphrase */

/* How a request carries a SECRET_GENERIC. Stored on disk. */
enum vstore_form {
	VSTORE_HEADER = 0, /* the header @field */
	VSTORE_BASIC = 1, /* Basic, with @user */
	VSTORE_QUERY = 2, /* the query's parameter @field */
	VSTORE_FORMS,
};
/* Returns the name in static storage, such as "header". */
const char *vstore_form_name(enum vstore_form f);
/* Returns 0, or -ENOENT for an unknown name. */
int vstore_form_parse(const char *name, enum vstore_form *ret) ATTR_WUR;

enum vstore_flags { /* stored on disk */
		    VSTORE_CLASSIC = 1, /* a classic GitHub token, allowed */
		    VSTORE_HANDOVER = 2, /* `mode: handover` is allowed */
		    VSTORE_OVER = 4, /* a login whose refresh was refused */
		    VSTORE_INSECURE = 8, /* may go to a service in clear */
};

/* What a login has beside its access token, which is the value of the
 * credential. */
struct vstore_login {
	uint64_t ends; /* of the access token, seconds since 1970 */
	uint64_t since; /* when it was given; 0: unknown */
	uint8_t origin[16]; /* a hash of the refresh token that the user gave */
	char account[128], plan[32]; /* the provider's words, or "" */
	char refresh[VSTORE_REFRESH_MAX + 1];
};

/* A credential. */
struct vstore_entry {
	char name[VSTORE_NAME_MAX + 1];
	enum secret_kind kind;
	enum vstore_form form;
	uint32_t flags;
	uint64_t created, rotated, expires; /* seconds since 1970; 0: never */
	char user[64]; /* for Basic */
	char field[128]; /* name of the header or parameter */
	char access_key[132], region[32], service[32]; /* SECRET_AWS */
	char source[1024]; /* "cmd:…", "file:…", "env:…" or "" */
	char note[256];
	struct strv hosts, methods, paths; /* methods or paths empty: any */
	struct strv blueprints, instances; /* both empty: everywhere */
	size_t value_len;
	char *value; /* sodium_malloc; NUL-terminated */
	struct vstore_login *login; /* sodium_malloc; NULL: it is none */
};

/* ---- credentials (store_entry.c) ---- */

/* Returns a zeroed credential, or NULL when out of memory. The caller owns it
 * until a function that takes it; vstore_entry_free() frees it. */
struct vstore_entry *vstore_entry_new(void);
/* Wipes the token and frees @e. NULL is fine. */
void vstore_entry_free(struct vstore_entry *e);
/* Replaces the token by a copy of @value and wipes the old one. Returns 0,
 * -EMSGSIZE beyond VSTORE_VALUE_MAX, or -ENOMEM. */
int vstore_entry_set_value(struct vstore_entry *e, const void *value,
			   size_t len) ATTR_WUR;
/* Returns a deep copy, owned by the caller; NULL when out of memory. */
struct vstore_entry *vstore_entry_copy(const struct vstore_entry *e);
/* Checks names, limits and hosts, but not the token's shape (token_check()).
 * Returns 0, or -EINVAL with a message. */
int vstore_entry_check(const struct vstore_entry *e, struct err *err);
/* Returns true for lower-case labels of letters, digits, '-' and '_', perhaps
 * with a port: NAME or NAME:PORT. */
bool vstore_host_ok(const char *host);
/* Splits such a host: copies its name to @name, and returns its port, 0 if it
 * has none. */
uint16_t vstore_host_split(const char *host, char name[VSTORE_HOST_MAX + 1]);
/* Returns 0 for a name of [a-z0-9._-]{1,63}, or -EINVAL with a message. */
int vstore_name_check(const char *name, struct err *err);
/* Serialises @e into sodium_malloc() memory, which the caller frees by
 * sodium_free(). Returns 0, -ENOMEM, or -EMSGSIZE beyond VSTORE_ENTRY_MAX. */
int vstore_entry_write(const struct vstore_entry *e, uint8_t **ret,
		       size_t *ret_len) ATTR_WUR;
/* Parses one credential; the caller owns *@ret. Returns 0, -EBADMSG, -ENOMEM,
 * or -EPROTONOSUPPORT for a newer format. */
int vstore_entry_read(struct slice in, struct vstore_entry **ret) ATTR_WUR;

/* ---- logins (store_login.c) ---- */

/* Returns true for the kinds whose access token is refreshed. */
bool vstore_kind_is_login(enum secret_kind kind);
/* Replaces the login of @e by a copy of @l, or removes it for NULL, and wipes
 * the old one. Returns 0 or -ENOMEM. */
int vstore_entry_set_login(struct vstore_entry *e,
			   const struct vstore_login *l) ATTR_WUR;
/* Sets the origin of @l to its refresh token. */
void vstore_login_begin(struct vstore_login *l);
/* Returns true for at most @max bytes of printable ASCII without blanks, quotes
 * and backslashes; also for none. */
bool vstore_token_ok(const char *s, size_t max);
/* Returns 0 if @e has a login exactly if its kind is one, in valid texts; else
 * -EINVAL with a message. */
int vstore_login_check(const struct vstore_entry *e, struct err *err);
/* Appends the bytes of @l, which are confidential. Returns what buf_append()
 * does. */
int vstore_login_put(struct buf *b, const struct vstore_login *l) ATTR_WUR;
/* Takes the bytes of a login off the front of @in, into @e. Returns 0, -EBADMSG
 * or -ENOMEM. */
int vstore_login_get(struct slice *in, struct vstore_entry *e) ATTR_WUR;

struct vstore_set { /* owned credentials, sorted by name */
	size_t n;
	struct vstore_entry **v;
};
/* Frees all credentials. Accepts zeroed sets. */
void vstore_set_done(struct vstore_set *s);
/* Returns the credential of that name, still owned by @s, or NULL. */
struct vstore_entry *vstore_set_find(const struct vstore_set *s,
				     const char *name);
/* Takes ownership of @e and frees a credential of the same name. Returns 0.
 * Fails with -ENOSPC beyond VSTORE_ENTRIES_MAX or -ENOMEM; @e then remains the
 * caller's. */
int vstore_set_put(struct vstore_set *s, struct vstore_entry *e) ATTR_WUR;
/* Frees the credential of that name. Returns 0, or -ENOENT. */
int vstore_set_remove(struct vstore_set *s, const char *name) ATTR_WUR;

/* ---- the image (store_image.c) ---- */

enum vstore_source { VSTORE_KEYFILE = 1, VSTORE_PASSPHRASE = 2 };

struct vstore_head { /* the parameters from which a key is derived */
	enum vstore_source source;
	uint64_t ops, mem;
	uint8_t salt[16], check[16];
};
/* Parses the head of an image. Returns 0, -EBADMSG if it is missing or damaged,
 * or -EPROTONOSUPPORT for a newer version. */
int vstore_head_read(struct slice in, struct vstore_head *ret) ATTR_WUR;
/* Sets a fresh salt and this version's cost limits. */
void vstore_head_new(enum vstore_source source, struct vstore_head *ret);
/* Derives the master key from a passphrase, which takes a moment and 64 MiB.
 * Returns 0, -EINVAL if the passphrase is empty or too long, or -ENOMEM. */
int vstore_key_derive(const struct vstore_head *h, struct slice passphrase,
		      uint8_t key[VSTORE_KEY]) ATTR_WUR;
/* Appends the sealed image of @set to @out. Returns 0, -ENOMEM, -ENOBUFS or
 * -EMSGSIZE; a failure may leave a part in @out. */
int vstore_seal(const struct vstore_set *set, const struct vstore_head *h,
		const uint8_t key[VSTORE_KEY], struct buf *out) ATTR_WUR;
/* Decrypts a whole image. Returns 0, -EKEYREJECTED for a wrong key, -EBADMSG if
 * it is damaged or cut, -EPROTONOSUPPORT for a newer version, or -ENOMEM.
 * Release with vstore_set_done(). */
int vstore_unseal(struct slice image, const uint8_t key[VSTORE_KEY],
		  struct vstore_set *ret) ATTR_WUR;

/* ---- the files (store.c, store_file.c) ---- */

struct vstore;

/*
 * Opens the store in @dir, which is created at the first write; reads nothing
 * yet. Its files must belong to @owner, to root or to the process itself.
 * Returns 0 and *@ret, which the caller closes, or -ENOMEM.
 *
 * The functions below read the files again if another process has changed them.
 * They return 0, or a code and a message for the user:
 *
 * 	-ENOKEY		it has a passphrase, which was not given yet
 * 	-EKEYREJECTED	the key file or the passphrase is of another store
 * 	-EKEYREVOKED	the key file is missing or damaged
 * 	-EBADMSG	the store is damaged or cut off
 * 	-EPROTONOSUPPORT  a newer version wrote it
 * 	-EPERM		owner or mode of a file gives others access
 * 	-EBUSY		another process has held the lock for 200 ms
 * 	-ENOSPC, -EFBIG, -EDQUOT, …  the kernel's error; the store is
 * 			unchanged
 */
int vstore_open(const char *dir, uid_t owner, struct vstore **ret,
		struct err *err) ATTR_WUR;
/* Wipes keys and tokens and frees @v. NULL is fine. */
void vstore_close(struct vstore *v);

/* Reads the store if it has changed since the last call; a store that does not
 * exist yet is empty. */
int vstore_load(struct vstore *v, struct err *err) ATTR_WUR;
/* Returns the credentials of the last read, owned by @v and valid until the
 * next call with @v. */
const struct vstore_set *vstore_entries(const struct vstore *v);
/* Returns the source of the key after vstore_load(), even one that failed; 0 if
 * there is no store yet. */
enum vstore_source vstore_source(const struct vstore *v);

/* The key derived from a passphrase for one head. As deriving takes long, the
 * caller may do it in another process; it must wipe this afterwards. */
struct vstore_pass {
	struct vstore_head head;
	uint8_t key[VSTORE_KEY];
};

/* Gets the head for which to derive the key for vstore_unlock(). Returns 1, 0
 * if the store is open already, or -EINVAL if it has a key file. */
int vstore_unlock_head(struct vstore *v, struct vstore_head *ret,
		       struct err *err) ATTR_WUR;
/* Gets the head for which to derive the key for vstore_pass_check(). Returns 1,
 * or 0 if the store has no passphrase or does not exist. The store must be
 * open. */
int vstore_pass_head(struct vstore *v, struct vstore_head *ret,
		     struct err *err) ATTR_WUR;
/* Checks the old passphrase. Returns 0, or -EKEYREJECTED if it is wrong or the
 * store was replaced meanwhile. */
int vstore_pass_check(const struct vstore *v, const struct vstore_pass *pass,
		      struct err *err);
/* Opens the store with @pass, whose key is copied. Returns -EBUSY if the store
 * was replaced since vstore_unlock_head(). */
int vstore_unlock(struct vstore *v, const struct vstore_pass *pass,
		  struct err *err) ATTR_WUR;
/* Wipes credentials and key from memory. Fails with -EINVAL for a store with a
 * key file, which would open again by itself. */
int vstore_lock(struct vstore *v, struct err *err) ATTR_WUR;

/* Adds the credential @e, of which it takes ownership even on failure. Fails
 * with -EEXIST if there is one of that name and @replace is false. */
int vstore_put(struct vstore *v, struct vstore_entry *e, bool replace,
	       struct err *err) ATTR_WUR;
/* Removes a credential. Fails with -ENOENT if there is none of that name. */
int vstore_remove(struct vstore *v, const char *name, struct err *err) ATTR_WUR;
struct vstore_import { /* counts of credentials */
	unsigned added, replaced, kept;
};
/* Adds copies of the credentials @in, all or none. Those whose name exists are
 * kept as they are, or replaced if @replace is true. Counts in *@ret. */
int vstore_merge(struct vstore *v, const struct vstore_set *in, bool replace,
		 struct vstore_import *ret, struct err *err) ATTR_WUR;
/*
 * Seals the store again, with the passphrase (for a head of vstore_head_new())
 * or, if @pass is NULL, with a key file. With a passphrase, the key file and
 * the generation that it opens are removed. If only that fails, an error is
 * returned, but the passphrase is in force, and they are removed when the store
 * is opened next.
 */
int vstore_reseal(struct vstore *v, const struct vstore_pass *pass,
		  struct err *err) ATTR_WUR;

/* ---- export and import (store_export.c) ---- */

/* Appends to @out an image sealed with the passphrase @pass, for a head of
 * vstore_head_new(). */
int vstore_export(struct vstore *v, const struct vstore_pass *pass,
		  struct buf *out, struct err *err) ATTR_WUR;
/* The word of the error of an import that was given no export. */
#define VSTORE_NO_EXPORT "no-export"
/* Parses the head of an export. Returns 0, or -EBADMSG, -EINVAL or
 * -EPROTONOSUPPORT with a message. */
int vstore_import_head(struct slice image, struct vstore_head *ret,
		       struct err *err) ATTR_WUR;
/* Opens an export and adds its credentials as vstore_merge() does. Fails with
 * -EBADMSG, -EPROTONOSUPPORT or -EKEYREJECTED if it cannot be opened. */
int vstore_import(struct vstore *v, struct slice image,
		  const struct vstore_pass *pass, bool replace,
		  struct vstore_import *ret, struct err *err) ATTR_WUR;

#endif
