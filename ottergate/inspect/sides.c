/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sides.c - the two sides of an inspected connection: TLS, or plain HTTP to a
 * service
 */
#include "ottergate/inspect/inspect_impl.h"

static void version_set(const struct inspect *in, SSL *ssl)
{
	SSL_set_min_proto_version(ssl,
				  agent_policy_tls(in->c->policy)->min_version);
}

int inspect_side_upstream(struct inspect *in)
{
	const struct conn *c = in->c;
	bool again = in->engine != NULL; /* for a request in HTTP/1.1 */
	int rc;

	if (in->plain)
		return itls_plain(&in->upstream, c->upstream.fd,
				  slice_of(NULL, 0));
	rc = itls_connect(&in->upstream, c->worker->opts->tls, c->upstream.fd,
			  &in->name, in->offered_h1, in->offered_h2 && !again);
	if (rc == 0)
		version_set(in, in->upstream.ssl);
	return rc;
}

int inspect_side_client(struct inspect *in, enum itls_alpn alpn)
{
	const struct conn *c = in->c;
	int rc;

	if (in->plain)
		return itls_plain(&in->client, c->client.fd, conn_pending(c));
	rc = itls_accept(&in->client, leaf_ctx(in->ca), c->client.fd, alpn,
			 conn_pending(c));
	if (rc == 0 && !leaf_use(in->ca, &in->name, in->client.ssl))
		rc = -ENOMEM;
	if (rc == 0)
		version_set(in, in->client.ssl);
	return rc;
}
