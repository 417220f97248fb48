/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_image.c - seals and unseals the image of a store, without files
 */
#include "vault/store.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#define MAGIC "acvault\n"
#define VERSION 1u
#define SUM_AT 64u /* bytes before the sum */
#define OPEN_HEAD 80u /* with the sum */
#define KDF_CONTEXT "acvault1"
#define ABYTES crypto_secretstream_xchacha20poly1305_ABYTES
#define STREAM_HEADER crypto_secretstream_xchacha20poly1305_HEADERBYTES
#define META_LEN 4u
/* Limits of an imported file: a few seconds at most, in which acd does nothing
 * else. */
#define OPS_MAX 6u
#define MEM_MAX (256u * 1024 * 1024)
#define OPS 3u
#define MEM (64u * 1024 * 1024)

static_assert(OPEN_HEAD + STREAM_HEADER == VSTORE_HEAD, "the head's length");
static_assert(VSTORE_KEY == crypto_kdf_KEYBYTES, "master keys derive others");
static_assert(crypto_secretstream_xchacha20poly1305_KEYBYTES == 32, "stream");

enum { SUB_STREAM = 1, SUB_CHECK = 2 };

/* ---- the head ---- */

static void head_sum(const uint8_t *head, uint8_t sum[16])
{
	crypto_generichash(sum, 16, head, SUM_AT, NULL, 0);
}

int vstore_head_read(struct slice in, struct vstore_head *ret)
{
	struct vstore_head h = { 0 };
	const uint8_t *head = in.ptr;
	struct slice magic, salt, check;
	uint32_t version, source;
	uint8_t sum[16];

	if (in.len < VSTORE_HEAD || slice_take(&in, 8, &magic) < 0 ||
	    memcmp(magic.ptr, MAGIC, 8) != 0)
		return -EBADMSG;
	head_sum(head, sum);
	if (memcmp(sum, head + SUM_AT, sizeof(sum)) != 0)
		return -EBADMSG;
	if (slice_u32(&in, &version) < 0 || slice_u32(&in, &source) < 0 ||
	    slice_u64(&in, &h.ops) < 0 || slice_u64(&in, &h.mem) < 0 ||
	    slice_take(&in, sizeof(h.salt), &salt) < 0 ||
	    slice_take(&in, sizeof(h.check), &check) < 0)
		return -EBADMSG;
	if (version != VERSION)
		return version > VERSION ? -EPROTONOSUPPORT : -EBADMSG;
	if (source != VSTORE_KEYFILE && source != VSTORE_PASSPHRASE)
		return -EBADMSG;
	/* A file from elsewhere must not take all memory, or our time. */
	if (source == VSTORE_PASSPHRASE &&
	    (h.ops < crypto_pwhash_OPSLIMIT_MIN || h.ops > OPS_MAX ||
	     h.mem < crypto_pwhash_MEMLIMIT_MIN || h.mem > MEM_MAX))
		return -EBADMSG;
	h.source = (enum vstore_source)source;
	memcpy(h.salt, salt.ptr, sizeof(h.salt));
	memcpy(h.check, check.ptr, sizeof(h.check));
	*ret = h;
	return 0;
}

void vstore_head_new(enum vstore_source source, struct vstore_head *ret)
{
	*ret = (struct vstore_head){ .source = source };
	if (source == VSTORE_PASSPHRASE) {
		ret->ops = OPS;
		ret->mem = MEM;
	}
	randombytes_buf(ret->salt, sizeof(ret->salt));
}

int vstore_key_derive(const struct vstore_head *h, struct slice passphrase,
		      uint8_t key[VSTORE_KEY])
{
	static_assert(sizeof(h->salt) == crypto_pwhash_SALTBYTES, "salt");

	if (passphrase.len == 0 || passphrase.len > VSTORE_PASS_MAX)
		return -EINVAL;
	return crypto_pwhash(key, VSTORE_KEY, (const char *)passphrase.ptr,
			     passphrase.len, h->salt, h->ops, (size_t)h->mem,
			     crypto_pwhash_ALG_ARGON2ID13) == 0 ?
		       0 :
		       -ENOMEM;
}

/* Computes the check of the master key, bound to the salt. */
static void key_check(const struct vstore_head *h, const uint8_t *key,
		      uint8_t check[16])
{
	uint8_t sub[32];

	crypto_kdf_derive_from_key(sub, sizeof(sub), SUB_CHECK, KDF_CONTEXT,
				   key);
	crypto_generichash(check, 16, h->salt, sizeof(h->salt), sub,
			   sizeof(sub));
	sodium_memzero(sub, sizeof(sub));
}

static int head_put(struct buf *out, const struct vstore_head *h,
		    const uint8_t *key)
{
	size_t at = buf_len(out);
	uint8_t check[16], sum[16];
	int rc = buf_append(out, MAGIC, 8);

	key_check(h, key, check);
	if (rc == 0)
		rc = buf_put_u32(out, VERSION);
	if (rc == 0)
		rc = buf_put_u32(out, h->source);
	if (rc == 0)
		rc = buf_put_u64(out, h->ops);
	if (rc == 0)
		rc = buf_put_u64(out, h->mem);
	if (rc == 0)
		rc = buf_append(out, h->salt, sizeof(h->salt));
	if (rc == 0)
		rc = buf_append(out, check, sizeof(check));
	if (rc < 0)
		return rc;
	head_sum(buf_slice(out).ptr + at, sum);
	return buf_append(out, sum, sizeof(sum));
}

/* ---- sealing ---- */

typedef crypto_secretstream_xchacha20poly1305_state stream_state;

static int message_put(struct buf *out, stream_state *st, struct slice plain,
		       struct slice ad, unsigned char tag)
{
	size_t len = plain.len + ABYTES;
	uint8_t *place;
	int rc = buf_put_u32(out, (uint32_t)len);

	if (rc < 0)
		return rc;
	place = buf_reserve(out, len);
	if (!place)
		return buf_room(out) < len ? -ENOBUFS : -ENOMEM;
	crypto_secretstream_xchacha20poly1305_push(
		st, place, NULL, plain.ptr, plain.len, ad.ptr, ad.len, tag);
	buf_commit(out, len);
	return 0;
}

static int entry_put(struct buf *out, stream_state *st,
		     const struct vstore_entry *e)
{
	uint8_t *plain;
	size_t len;
	int rc = vstore_entry_write(e, &plain, &len);

	if (rc < 0)
		return rc;
	rc = message_put(out, st, slice_of(plain, len), slice_of(NULL, 0), 0);
	sodium_free(plain);
	return rc;
}

static int meta_put(struct buf *out, stream_state *st, size_t n,
		    struct slice head)
{
	uint8_t ad[OPEN_HEAD];
	struct buf meta;
	int rc;

	/* @head is a view of @out, which moves when it grows. */
	memcpy(ad, head.ptr, sizeof(ad));
	buf_init(&meta, META_LEN);
	rc = buf_put_u32(&meta, (uint32_t)n);
	if (rc == 0)
		rc = message_put(out, st, buf_slice(&meta),
				 slice_of(ad, sizeof(ad)), 0);
	buf_done(&meta);
	return rc;
}

int vstore_seal(const struct vstore_set *set, const struct vstore_head *h,
		const uint8_t key[VSTORE_KEY], struct buf *out)
{
	uint8_t sub[32], header[STREAM_HEADER];
	size_t at = buf_len(out);
	struct slice head;
	stream_state st;
	int rc = head_put(out, h, key);

	if (rc < 0)
		return rc;
	crypto_kdf_derive_from_key(sub, sizeof(sub), SUB_STREAM, KDF_CONTEXT,
				   key);
	crypto_secretstream_xchacha20poly1305_init_push(&st, header, sub);
	sodium_memzero(sub, sizeof(sub));
	rc = buf_append(out, header, sizeof(header));
	head = slice_of(buf_slice(out).ptr + at, OPEN_HEAD);
	if (rc == 0)
		rc = meta_put(out, &st, set->n, head);
	for (size_t i = 0; rc == 0 && i < set->n; i++)
		rc = entry_put(out, &st, set->v[i]);
	if (rc == 0)
		rc = message_put(
			out, &st, slice_of(NULL, 0), slice_of(NULL, 0),
			crypto_secretstream_xchacha20poly1305_TAG_FINAL);
	sodium_memzero(&st, sizeof(st));
	return rc;
}

/* ---- unsealing ---- */

struct reader {
	stream_state st;
	struct slice in;
	uint8_t *plain; /* sodium_malloc, VSTORE_ENTRY_MAX */
};

/* Decrypts the next message into the reader's own memory. */
static int message_get(struct reader *r, struct slice ad, struct slice *ret,
		       unsigned char *ret_tag)
{
	unsigned long long len;
	struct slice m;

	if (slice_lstr(&r->in, VSTORE_ENTRY_MAX + ABYTES, &m) < 0 ||
	    m.len < ABYTES ||
	    crypto_secretstream_xchacha20poly1305_pull(&r->st, r->plain, &len,
						       ret_tag, m.ptr, m.len,
						       ad.ptr, ad.len) != 0)
		return -EBADMSG;
	*ret = slice_of(r->plain, (size_t)len);
	return 0;
}

static int entries_get(struct reader *r, uint32_t n, struct vstore_set *set)
{
	struct vstore_entry *e;
	unsigned char tag;
	struct slice m;
	int rc = 0;

	while (rc == 0 && n-- > 0) {
		rc = message_get(r, slice_of(NULL, 0), &m, &tag);
		if (rc == 0 && tag != 0)
			rc = -EBADMSG;
		if (rc == 0)
			rc = vstore_entry_read(m, &e);
		if (rc < 0)
			break;
		if (vstore_set_find(set, e->name))
			rc = -EBADMSG;
		else
			rc = vstore_set_put(set, e);
		if (rc < 0)
			vstore_entry_free(e);
	}
	return rc;
}

static int image_get(struct reader *r, struct slice head,
		     struct vstore_set *set)
{
	unsigned char tag;
	struct slice m;
	uint32_t n = 0;
	int rc = message_get(r, head, &m, &tag);

	if (rc == 0 && (tag != 0 || m.len != META_LEN ||
			slice_u32(&m, &n) < 0 || n > VSTORE_ENTRIES_MAX))
		rc = -EBADMSG;
	if (rc == 0)
		rc = entries_get(r, n, set);
	if (rc == 0)
		rc = message_get(r, slice_of(NULL, 0), &m, &tag);
	if (rc == 0 &&
	    (tag != crypto_secretstream_xchacha20poly1305_TAG_FINAL ||
	     m.len != 0 || r->in.len != 0))
		rc = -EBADMSG;
	return rc;
}

int vstore_unseal(struct slice image, const uint8_t key[VSTORE_KEY],
		  struct vstore_set *ret)
{
	struct vstore_set set = { 0 };
	struct vstore_head h;
	struct reader r = { .in = image };
	uint8_t sub[32], check[16];
	struct slice head, header;
	int rc = vstore_head_read(image, &h);

	if (rc < 0)
		return rc;
	key_check(&h, key, check);
	if (sodium_memcmp(check, h.check, sizeof(check)) != 0)
		return -EKEYREJECTED;
	if (slice_take(&r.in, OPEN_HEAD, &head) < 0 ||
	    slice_take(&r.in, STREAM_HEADER, &header) < 0)
		return -EBADMSG;
	r.plain = sodium_malloc(VSTORE_ENTRY_MAX);
	if (!r.plain)
		return -ENOMEM;
	crypto_kdf_derive_from_key(sub, sizeof(sub), SUB_STREAM, KDF_CONTEXT,
				   key);
	rc = crypto_secretstream_xchacha20poly1305_init_pull(&r.st, header.ptr,
							     sub) == 0 ?
		     image_get(&r, head, &set) :
		     -EBADMSG;
	sodium_memzero(sub, sizeof(sub));
	sodium_memzero(&r.st, sizeof(r.st));
	sodium_free(r.plain);
	if (rc < 0)
		vstore_set_done(&set);
	else
		*ret = set;
	return rc;
}
