/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builtin.c - names that no policy can allow
 *
 * Addresses are judged on their own (addr.c), after resolution. These names
 * are denied before, since they would only ever be asked to reach something
 * local, or to resolve names where we do not see them (DoH).
 */
#include "ottergate/policy_impl.h"

#include <string.h>

const struct builtin_name builtin_names[] = {
	{ "metadata", "builtin-metadata", "cloud metadata" },
	{ "+metadata.google.internal", "builtin-metadata", "cloud metadata" },
	{ "+metadata.goog", "builtin-metadata", "cloud metadata" },
	{ "+metadata.azure.com", "builtin-metadata", "cloud metadata" },
	{ "+metadata.azure.net", "builtin-metadata", "cloud metadata" },
	{ "+metadata.azure.internal", "builtin-metadata", "cloud metadata" },
	{ "+metadata.internal", "builtin-metadata", "cloud metadata" },
	{ "+metadata.tencentyun.com", "builtin-metadata", "cloud metadata" },
	{ "+metadata.packet.net", "builtin-metadata", "cloud metadata" },
	{ "+metadata.platformequinix.com", "builtin-metadata",
	  "cloud metadata" },
	{ "+instance-data", "builtin-metadata", "cloud metadata" },
	{ "+instance-data.ec2.internal", "builtin-metadata", "cloud metadata" },

	{ "+localhost", "builtin-local", "this machine" },
	{ "+localdomain", "builtin-local", "this machine" },
	{ "ip6-localhost", "builtin-local", "this machine" },
	{ "ip6-loopback", "builtin-local", "this machine" },
	{ "+local", "builtin-local", "multicast DNS" },
	{ "+docker.internal", "builtin-local", "the container host" },
	{ "+containers.internal", "builtin-local", "the container host" },
	{ "+lima.internal", "builtin-local", "the container host" },
	{ "kubernetes", "builtin-local", "the cluster's API" },
	{ "kubernetes.default", "builtin-local", "the cluster's API" },
	{ "+kubernetes.default.svc", "builtin-local", "the cluster's API" },

	{ "+cloudflare-dns.com", "builtin-doh", "DNS over HTTPS" },
	{ "+one.one.one.one", "builtin-doh", "DNS over HTTPS" },
	{ "+cloudflare-gateway.com", "builtin-doh", "DNS over HTTPS" },
	{ "+dns.google", "builtin-doh", "DNS over HTTPS" },
	{ "dns.google.com", "builtin-doh", "DNS over HTTPS" },
	{ "+quad9.net", "builtin-doh", "DNS over HTTPS" },
	{ "+opendns.com", "builtin-doh", "DNS over HTTPS" },
	{ "doh.umbrella.com", "builtin-doh", "DNS over HTTPS" },
	{ "+adguard-dns.com", "builtin-doh", "DNS over HTTPS" },
	{ "+dns.adguard.com", "builtin-doh", "DNS over HTTPS" },
	{ "+dns-family.adguard.com", "builtin-doh", "DNS over HTTPS" },
	{ "+dns-unfiltered.adguard.com", "builtin-doh", "DNS over HTTPS" },
	{ "+cleanbrowsing.org", "builtin-doh", "DNS over HTTPS" },
	{ "+dns.nextdns.io", "builtin-doh", "DNS over HTTPS" },
	{ "+dns.sb", "builtin-doh", "DNS over HTTPS" },
	{ "+doh.mullvad.net", "builtin-doh", "DNS over HTTPS" },
	{ "+dns.mullvad.net", "builtin-doh", "DNS over HTTPS" },
	{ "+controld.com", "builtin-doh", "DNS over HTTPS" },
	{ "+dns0.eu", "builtin-doh", "DNS over HTTPS" },
	{ "+joindns4.eu", "builtin-doh", "DNS over HTTPS" },
	{ "+doh.pub", "builtin-doh", "DNS over HTTPS" },
	{ "+dns.pub", "builtin-doh", "DNS over HTTPS" },
	{ "+dns.alidns.com", "builtin-doh", "DNS over HTTPS" },
	{ "+doh.360.cn", "builtin-doh", "DNS over HTTPS" },
	{ "+dns.twnic.tw", "builtin-doh", "DNS over HTTPS" },
	{ "+doh.applied-privacy.net", "builtin-doh", "DNS over HTTPS" },
	{ "+dns.digitale-gesellschaft.ch", "builtin-doh", "DNS over HTTPS" },
	{ "+doh.libredns.gr", "builtin-doh", "DNS over HTTPS" },
	{ "+doh.li", "builtin-doh", "DNS over HTTPS" },
	{ "+dnsforge.de", "builtin-doh", "DNS over HTTPS" },
	{ "+dns.switch.ch", "builtin-doh", "DNS over HTTPS" },
	{ "+doh.tiar.app", "builtin-doh", "DNS over HTTPS" },
	{ "+doh.xfinity.com", "builtin-doh", "DNS over HTTPS" },
	{ "use-application-dns.net", "builtin-doh",
	  "asked by browsers: may I use DNS over HTTPS?" },
};
const size_t n_builtin_names = ARRAY_SIZE(builtin_names);

int name_pattern_parse(const char *s, struct name *ret, unsigned *ret_kind)
{
	unsigned kind = MATCH_EXACT;
	int r;

	if (*s == '.')
		kind = MATCH_BELOW;
	else if (*s == '+')
		kind = MATCH_EXACT | MATCH_BELOW;
	r = name_canon(slice_str(s + (kind != MATCH_EXACT)), ret);
	if (r < 0)
		return r;
	*ret_kind = kind;
	return 0;
}

char *name_pattern_text(const struct match *m, const struct match_entry *e,
			char *out)
{
	size_t at = 0;

	if (e->kind & MATCH_BELOW)
		out[at++] = e->kind & MATCH_EXACT ? '+' : '.';
	memcpy(out + at, m->text + e->text, e->len);
	out[at + e->len] = '\0';
	return out;
}
