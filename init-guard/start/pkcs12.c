/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pkcs12.c - a trust store for Java
 *
 * RFC 7292. There is nothing secret in a list of roots, so it is neither
 * encrypted nor has it a MAC: Java loads that without a password, and no
 * keytool is needed to make it. Java takes a certificate for trusted when
 * its bag has the attribute that the JDK itself writes (trustedKeyUsage with
 * any usage).
 *
 * DER has the length of a thing before the thing, so headers are written
 * from the inside to the outside, backwards.
 */
#include "init-guard/pkcs12.h"

#include <string.h>

#include "init-guard/pem.h"

#define DER_INTEGER 0x02
#define DER_OCTETS 0x04
#define DER_SEQUENCE 0x30
#define DER_SET 0x31
#define DER_CONTEXT_0 0xa0

/* Whole objects, tag and length included. */
static const uint8_t oid_data[] = { 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86,
				    0xf7, 0x0d, 0x01, 0x07, 0x01 };
static const uint8_t oid_cert_bag[] = { 0x06, 0x0b, 0x2a, 0x86, 0x48,
					0x86, 0xf7, 0x0d, 0x01, 0x0c,
					0x0a, 0x01, 0x03 };
static const uint8_t oid_x509[] = { 0x06, 0x0a, 0x2a, 0x86, 0x48, 0x86,
				    0xf7, 0x0d, 0x01, 0x09, 0x16, 0x01 };
/* SET { SEQUENCE { 2.16.840.1.113894.746875.1.1, SET { 2.5.29.37.0 } } } */
static const uint8_t trusted[] = {
	DER_SET, 0x18, DER_SEQUENCE, 0x16, 0x06, 0x0c, 0x60, 0x86, 0x48,
	0x01,    0x86, 0xf9,         0x66, 0xad, 0xca, 0x7b, 0x01, 0x01,
	DER_SET, 0x06, 0x06,         0x04, 0x55, 0x1d, 0x25, 0x00,
};
static const uint8_t version_3[] = { DER_INTEGER, 0x01, 0x03 };

/* What comes before a body of known size; filled from its end. */
struct prefix {
	uint8_t mem[96];
	size_t used;
};

/* The few and small things written here all fit: see the sizes above. */
static void prefix_bytes(struct prefix *p, const uint8_t *bytes, size_t len)
{
	if (len > sizeof(p->mem) - p->used)
		return;
	p->used += len;
	memcpy(p->mem + sizeof(p->mem) - p->used, bytes, len);
}

/* The header of something that holds @len bytes. */
static void prefix_header(struct prefix *p, uint8_t tag, size_t len)
{
	uint8_t head[6] = { tag };
	size_t n = 0, left, i;

	if (len < 0x80) {
		head[1] = (uint8_t)len;
		prefix_bytes(p, head, 2);
		return;
	}
	for (left = len; left > 0; left >>= 8)
		n++;
	head[1] = (uint8_t)(0x80 | n);
	for (i = 0; i < n; i++)
		head[2 + i] = (uint8_t)(len >> 8 * (n - 1 - i));
	prefix_bytes(p, head, 2 + n);
}

/* SEQUENCE { data, [0] OCTETS { @body bytes } }; only what comes before. */
static void prefix_content(struct prefix *p, size_t body)
{
	prefix_header(p, DER_OCTETS, p->used + body);
	prefix_header(p, DER_CONTEXT_0, p->used + body);
	prefix_bytes(p, oid_data, sizeof(oid_data));
	prefix_header(p, DER_SEQUENCE, p->used + body);
}

static int prefix_put(const struct prefix *p, struct buf *out)
{
	return buf_append(out, p->mem + sizeof(p->mem) - p->used, p->used);
}

static int bag_put(const uint8_t *der, size_t len, struct buf *out)
{
	struct prefix p = { .used = 0 };
	int ret;

	prefix_header(&p, DER_OCTETS, len);
	prefix_header(&p, DER_CONTEXT_0, p.used + len);
	prefix_bytes(&p, oid_x509, sizeof(oid_x509));
	prefix_header(&p, DER_SEQUENCE, p.used + len);
	prefix_header(&p, DER_CONTEXT_0, p.used + len);
	prefix_bytes(&p, oid_cert_bag, sizeof(oid_cert_bag));
	prefix_header(&p, DER_SEQUENCE, p.used + len + sizeof(trusted));
	ret = prefix_put(&p, out);
	if (ret == 0)
		ret = buf_append(out, der, len);
	return ret < 0 ? ret : buf_append(out, trusted, sizeof(trusted));
}

static int bags_put(struct slice pem, struct buf *out)
{
	uint8_t der[PEM_DER_MAX];
	int len, ret = 0;

	while (ret == 0 && (len = pem_next(&pem, der)) != 0)
		ret = len < 0 ? len : bag_put(der, (size_t)len, out);
	return ret;
}

int pkcs12_put(struct slice pem, struct buf *out)
{
	struct prefix p = { .used = 0 };
	struct buf bags;
	size_t body;
	int ret;

	buf_init(&bags, out->max);
	ret = bags_put(pem, &bags);
	body = buf_len(&bags);
	prefix_header(&p, DER_SEQUENCE, body); /* SafeContents */
	prefix_content(&p, body);
	prefix_header(&p, DER_SEQUENCE, p.used + body); /* AuthenticatedSafe */
	prefix_content(&p, body);
	prefix_bytes(&p, version_3, sizeof(version_3));
	prefix_header(&p, DER_SEQUENCE, p.used + body);
	if (ret == 0)
		ret = prefix_put(&p, out);
	if (ret == 0 && body > 0)
		ret = buf_append(out, buf_slice(&bags).ptr, body);
	buf_done(&bags);
	return ret;
}
