/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builtin_names.h - names that no policy can allow
 *
 * X(pattern as in rules, id of the denial, what the name stands for). Rows of
 * one id are adjacent.
 */
#ifndef OTTERGATE_BUILTIN_NAMES_H
#define OTTERGATE_BUILTIN_NAMES_H

/* clang-format off */
#define BUILTIN_NAMES(X) \
	X("metadata", "builtin-metadata", "cloud metadata") \
	X("+metadata.google.internal", "builtin-metadata", "cloud metadata") \
	X("+metadata.goog", "builtin-metadata", "cloud metadata") \
	X("+metadata.azure.com", "builtin-metadata", "cloud metadata") \
	X("+metadata.azure.net", "builtin-metadata", "cloud metadata") \
	X("+metadata.azure.internal", "builtin-metadata", "cloud metadata") \
	X("+metadata.internal", "builtin-metadata", "cloud metadata") \
	X("+metadata.tencentyun.com", "builtin-metadata", "cloud metadata") \
	X("+metadata.packet.net", "builtin-metadata", "cloud metadata") \
	X("+metadata.platformequinix.com", "builtin-metadata", "cloud metadata") \
	X("+instance-data", "builtin-metadata", "cloud metadata") \
	X("+instance-data.ec2.internal", "builtin-metadata", "cloud metadata") \
	X("+localhost", "builtin-local", "this machine") \
	X("+localdomain", "builtin-local", "this machine") \
	X("ip6-localhost", "builtin-local", "this machine") \
	X("ip6-loopback", "builtin-local", "this machine") \
	X("+local", "builtin-local", "multicast DNS") \
	X("+docker.internal", "builtin-local", "the container host") \
	X("+containers.internal", "builtin-local", "the container host") \
	X("+lima.internal", "builtin-local", "the container host") \
	X("kubernetes", "builtin-local", "the cluster's API") \
	X("kubernetes.default", "builtin-local", "the cluster's API") \
	X("+kubernetes.default.svc", "builtin-local", "the cluster's API") \
	X("+cloudflare-dns.com", "builtin-doh", "DNS over HTTPS") \
	X("+one.one.one.one", "builtin-doh", "DNS over HTTPS") \
	X("+cloudflare-gateway.com", "builtin-doh", "DNS over HTTPS") \
	X("+dns.google", "builtin-doh", "DNS over HTTPS") \
	X("dns.google.com", "builtin-doh", "DNS over HTTPS") \
	X("+quad9.net", "builtin-doh", "DNS over HTTPS") \
	X("+opendns.com", "builtin-doh", "DNS over HTTPS") \
	X("doh.umbrella.com", "builtin-doh", "DNS over HTTPS") \
	X("+adguard-dns.com", "builtin-doh", "DNS over HTTPS") \
	X("+dns.adguard.com", "builtin-doh", "DNS over HTTPS") \
	X("+dns-family.adguard.com", "builtin-doh", "DNS over HTTPS") \
	X("+dns-unfiltered.adguard.com", "builtin-doh", "DNS over HTTPS") \
	X("+cleanbrowsing.org", "builtin-doh", "DNS over HTTPS") \
	X("+dns.nextdns.io", "builtin-doh", "DNS over HTTPS") \
	X("+dns.sb", "builtin-doh", "DNS over HTTPS") \
	X("+doh.mullvad.net", "builtin-doh", "DNS over HTTPS") \
	X("+dns.mullvad.net", "builtin-doh", "DNS over HTTPS") \
	X("+controld.com", "builtin-doh", "DNS over HTTPS") \
	X("+dns0.eu", "builtin-doh", "DNS over HTTPS") \
	X("+joindns4.eu", "builtin-doh", "DNS over HTTPS") \
	X("+doh.pub", "builtin-doh", "DNS over HTTPS") \
	X("+dns.pub", "builtin-doh", "DNS over HTTPS") \
	X("+dns.alidns.com", "builtin-doh", "DNS over HTTPS") \
	X("+doh.360.cn", "builtin-doh", "DNS over HTTPS") \
	X("+dns.twnic.tw", "builtin-doh", "DNS over HTTPS") \
	X("+doh.applied-privacy.net", "builtin-doh", "DNS over HTTPS") \
	X("+dns.digitale-gesellschaft.ch", "builtin-doh", "DNS over HTTPS") \
	X("+doh.libredns.gr", "builtin-doh", "DNS over HTTPS") \
	X("+doh.li", "builtin-doh", "DNS over HTTPS") \
	X("+dnsforge.de", "builtin-doh", "DNS over HTTPS") \
	X("+dns.switch.ch", "builtin-doh", "DNS over HTTPS") \
	X("+doh.tiar.app", "builtin-doh", "DNS over HTTPS") \
	X("+doh.xfinity.com", "builtin-doh", "DNS over HTTPS") \
	X("use-application-dns.net", "builtin-doh", "asked by browsers: may I use DNS over HTTPS?")
/* clang-format on */

#endif
