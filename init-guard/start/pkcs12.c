/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pkcs12.c - writes a trust store for Java
 *
 * RFC 7292. A list of CA certificates is not confidential, so it is neither
 * encrypted nor has it a MAC: Java loads that without a password, and no
 * keytool is needed to make it. Java trusts a certificate if its bag has the
 * attribute that the JDK itself writes (trustedKeyUsage with any usage).
 *
 * DER puts the length of an object before it, so headers are written from the
 * inside to the outside, backwards.
 */
#include "init-guard/start/pkcs12.h"

#include <string.h>

#include "init-guard/start/pem.h"

#define DER_INTEGER 0x02
#define DER_OCTETS 0x04
#define DER_SEQUENCE 0x30
#define DER_SET 0x31
#define DER_CONTEXT_0 0xa0

/* Whole objects, with tag and length. */
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

/* The headers of a body of known size; filled from the end. */
struct prefix {
	uint8_t mem[96];
	size_t used;
};

/* Everything written here fits: see the sizes above. */
static void prefix_bytes(struct prefix *p, const uint8_t *bytes, size_t len)
{
	if (len > sizeof(p->mem) - p->used)
		return;
	p->used += len;
	memcpy(p->mem + sizeof(p->mem) - p->used, bytes, len);
}

/* Writes the header of an object with @len bytes of content. */
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

/* SEQUENCE { data, [0] OCTETS { @body bytes } }, without the body. */
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
	int rc;

	prefix_header(&p, DER_OCTETS, len);
	prefix_header(&p, DER_CONTEXT_0, p.used + len);
	prefix_bytes(&p, oid_x509, sizeof(oid_x509));
	prefix_header(&p, DER_SEQUENCE, p.used + len);
	prefix_header(&p, DER_CONTEXT_0, p.used + len);
	prefix_bytes(&p, oid_cert_bag, sizeof(oid_cert_bag));
	prefix_header(&p, DER_SEQUENCE, p.used + len + sizeof(trusted));
	rc = prefix_put(&p, out);
	if (rc == 0)
		rc = buf_append(out, der, len);
	return rc < 0 ? rc : buf_append(out, trusted, sizeof(trusted));
}

static int bags_put(struct slice pem, struct buf *out)
{
	uint8_t der[PEM_DER_MAX];
	int len, rc = 0;

	while (rc == 0 && (len = pem_next(&pem, der)) != 0)
		rc = len < 0 ? len : bag_put(der, (size_t)len, out);
	return rc;
}

int pkcs12_put(struct slice pem, struct buf *out)
{
	struct prefix p = { .used = 0 };
	struct buf bags;
	size_t body;
	int rc;

	buf_init(&bags, out->max);
	rc = bags_put(pem, &bags);
	body = buf_len(&bags);
	prefix_header(&p, DER_SEQUENCE, body); /* SafeContents */
	prefix_content(&p, body);
	prefix_header(&p, DER_SEQUENCE, p.used + body); /* AuthenticatedSafe */
	prefix_content(&p, body);
	prefix_bytes(&p, version_3, sizeof(version_3));
	prefix_header(&p, DER_SEQUENCE, p.used + body);
	if (rc == 0)
		rc = prefix_put(&p, out);
	if (rc == 0 && body > 0)
		rc = buf_append(out, buf_slice(&bags).ptr, body);
	buf_done(&bags);
	return rc;
}
