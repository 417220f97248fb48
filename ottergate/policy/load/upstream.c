/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream.c - static records, the upstream proxy, the DNS servers
 */
#include "ottergate/policy/load/parse.h"

#include <sodium.h>
#include <string.h>

#include "lib/str.h"

#define HOST_ADDRS_MAX 16u
#define SERVERS_MAX 8u
#define USERINFO_MAX 512u

/* --- hosts --------------------------------------------------------------- */

struct host_parse {
	struct addr *v;
	size_t n;
};

static int host_addr(struct load *ld, const struct yaml_node *n, void *to)
{
	struct host_parse *hp = to;
	struct addr *a = &hp->v[hp->n];
	int rc;

	if (hp->n == HOST_ADDRS_MAX)
		return load_refuse(ld, n, "more than %u addresses",
				   HOST_ADDRS_MAX);
	rc = load_address(ld, n, a);
	if (rc < 0)
		return rc;
	hp->n++;
	if (addr_classify(a) != ADDR_PUBLIC)
		lint_node(ld, LINT_WARNING, "host-address", n,
			  "this address is of class %s and will be denied: "
			  "only `services` may name one",
			  addr_class_name(addr_classify(a)));
	return 0;
}

static int host_add(struct load *ld, const struct yaml_node *n)
{
	struct yaml_node key = { .text = n->key,
				 .line = n->key_line,
				 .column = n->key_column };
	struct policy *p = ld->policy;
	struct host_parse hp = { 0 };
	struct static_host *v;
	struct name name;
	int rc = load_exact_name(ld, &key, &name);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < p->host_names.n; i++) {
		struct name other;

		match_entry_name(&p->host_names, &p->host_names.v[i], &other);
		if (strcmp(other.s, name.s) == 0)
			return load_refuse(ld, &key, "'%s' is here twice",
					   name.s);
	}
	hp.v = arena_array(ld->arena, HOST_ADDRS_MAX, sizeof(*hp.v));
	if (!hp.v)
		return load_nomem(ld);
	rc = load_list(ld, n, host_addr, &hp);
	if (rc < 0)
		return rc;
	if (hp.n == 0)
		return load_refuse(ld, n, "an address is wanted here");
	v = realloc(p->hosts, (p->n_hosts + 1) * sizeof(*v));
	if (!v)
		return load_nomem(ld);
	p->hosts = v;
	if (match_add(&p->host_names, &name, MATCH_EXACT,
		      (uint32_t)p->n_hosts) < 0)
		return load_nomem(ld);
	v[p->n_hosts++] = (struct static_host){ .addrs = hp.v, .n = hp.n };
	return 0;
}

static const struct schema addresses_is = { .kind = SCHEMA_LIST,
					    .item = &load_address_is,
					    .min = 1,
					    .max = HOST_ADDRS_MAX };
const struct schema load_hosts_is = { .kind = SCHEMA_NAMED,
				      .item = &addresses_is };

int load_hosts(struct load *ld, const struct yaml_node *n, void *to)
{
	(void)to;
	if (n->kind != YAML_MAP)
		return load_refuse(ld, n, "a map is wanted here, not %s",
				   yaml_kind_name(n));
	for (const struct yaml_node *c = n->first; c; c = c->next) {
		int rc = host_add(ld, c);

		if (rc < 0)
			return rc;
	}
	return 0;
}

/* --- upstream_proxy ------------------------------------------------------ */

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* RFC 3986 §2.1; -EBADMSG also for control bytes. */
static int percent_decode(const char *s, size_t len, char *out, size_t size,
			  size_t *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		int c = (uint8_t)s[i];

		if (c == '%') {
			int high = i + 2 < len ? hex_value(s[i + 1]) : -1;
			int low = high >= 0 ? hex_value(s[i + 2]) : -1;

			if (low < 0)
				return -EBADMSG;
			c = high << 4 | low;
			i += 2;
		}
		if (c < 0x20 || c == 0x7f || n == size)
			return -EBADMSG;
		out[n++] = (char)c;
	}
	*ret = n;
	return 0;
}

/* "user:password" as RFC 7617 wants it. */
static int proxy_auth(struct load *ld, const struct yaml_node *n, const char *s,
		      size_t len)
{
	char plain[USERINFO_MAX];
	char base64[sodium_base64_ENCODED_LEN(USERINFO_MAX,
					      sodium_base64_VARIANT_ORIGINAL)];
	size_t plain_len, size;
	char *auth;

	if (!memchr(s, ':', len) ||
	    percent_decode(s, len, plain, sizeof(plain), &plain_len) < 0)
		return load_refuse(ld, n,
				   "user:password@ is wanted before the host, "
				   "or nothing");
	sodium_bin2base64(base64, sizeof(base64), (const uint8_t *)plain,
			  plain_len, sodium_base64_VARIANT_ORIGINAL);
	size = strlen("Basic ") + strlen(base64) + 1;
	auth = arena_alloc(ld->arena, size);
	if (auth)
		snprintf(auth, size, "Basic %s", base64);
	sodium_memzero(plain, sizeof(plain));
	sodium_memzero(base64, sizeof(base64));
	ld->policy->proxy.authorization = auth;
	return auth ? 0 : load_nomem(ld);
}

static const struct schema proxy_url_is = { .kind = SCHEMA_FORM,
					    .pattern = "http://.+" };

static int proxy_url(struct load *ld, const struct yaml_node *n, void *to)
{
	struct upstream_proxy *proxy = &ld->policy->proxy;
	char text[ADDR_TEXT_MAX];
	struct slice rest;
	struct addr addr;
	struct name name;
	const char *s, *at;
	int rc = load_text(ld, n, &s);

	(void)to;
	if (rc < 0)
		return rc;
	if (!str_starts(s, "http://"))
		return load_refuse(ld, n,
				   "http://host:port is wanted here (what goes "
				   "through it is encrypted end to end)");
	s += strlen("http://");
	at = strrchr(s, '@');
	if (at) {
		rc = proxy_auth(ld, n, s, (size_t)(at - s));
		if (rc < 0)
			return rc;
		s = at + 1;
	}
	rest = slice_str(s);
	if (rest.len && rest.ptr[rest.len - 1] == '/')
		rest.len--;
	proxy->port = 0;
	if (name_authority(rest, 0, &name, &addr, &proxy->port) < 0 ||
	    proxy->port == 0)
		return load_refuse(ld, n, "http://host:port is wanted here");
	s = name.len ? name.s : addr_text(&addr, text);
	proxy->host = arena_strn(ld->arena, s, strlen(s));
	return proxy->host ? 0 : load_nomem(ld);
}

static int no_proxy_item(struct load *ld, const struct yaml_node *n, void *to)
{
	struct name name;
	unsigned kind;
	int rc = load_pattern(ld, n, &name, &kind);

	(void)to;
	if (rc < 0)
		return rc;
	if (match_add(&ld->policy->no_proxy, &name, kind, 0) < 0)
		return load_nomem(ld);
	return 0;
}

static int proxy_no_proxy(struct load *ld, const struct yaml_node *n, void *to)
{
	return load_list(ld, n, no_proxy_item, to);
}

static const struct field load_upstream_proxy_fields[] = {
	{ { "url", &proxy_url_is }, proxy_url, 0 },
	{ { "no_proxy", &load_patterns_is }, proxy_no_proxy, 0 },
};
static const char *const proxy_needs[] = { "url", NULL };
const struct schema load_upstream_proxy_is = {
	SCHEMA_ROWS(load_upstream_proxy_fields), .required = proxy_needs
};

int load_upstream_proxy(struct load *ld, const struct yaml_node *n, void *to)
{
	int rc;

	if (ld->policy->proxy.host)
		return load_refuse(ld, n,
				   "another file has an `upstream_proxy` "
				   "already");
	rc = load_map(ld, n, load_upstream_proxy_fields,
		      ARRAY_SIZE(load_upstream_proxy_fields), to);
	if (rc == 0 && !ld->policy->proxy.host)
		return load_refuse(ld, n, "`upstream_proxy` without `url`");
	return rc;
}

/* --- defaults.dns.upstream ----------------------------------------------- */

static int server_item(struct load *ld, const struct yaml_node *n, void *to)
{
	struct strv *sv = &ld->policy->settings.dns_upstream;
	struct addr addr = { 0 };
	struct name name;
	const char *s;
	uint16_t port;
	int rc = load_text(ld, n, &s);

	(void)to;
	if (rc < 0)
		return rc;
	if (str_starts(s, "tls://"))
		return load_refuse(ld, n,
				   "DNS over TLS is not spoken: write an "
				   "address, \"9.9.9.9\" or \"9.9.9.9:53\"");
	if (addr_parse(slice_str(s), &addr) < 0 &&
	    (name_authority(slice_str(s), 53, &name, &addr, &port) < 0 ||
	     name.len || port == 0))
		return load_refuse(ld, n,
				   "an address is wanted here, \"9.9.9.9\" or "
				   "\"9.9.9.9:53\"");
	if (sv->n == SERVERS_MAX)
		return load_refuse(ld, n, "more than %u servers", SERVERS_MAX);
	return strv_push(sv, s) < 0 ? load_nomem(ld) : 0;
}

static const struct schema server_is = {
	.kind = SCHEMA_FORM,
	.pattern = "[0-9A-Fa-f:.]+|\\[[0-9A-Fa-f:.]+\\](:[0-9]+)?"
};
const struct schema load_dns_upstream_is = { .kind = SCHEMA_LIST,
					     .item = &server_is,
					     .max = SERVERS_MAX };

int load_dns_upstream(struct load *ld, const struct yaml_node *n, void *to)
{
	strv_done(&ld->policy->settings.dns_upstream);
	return load_list(ld, n, server_item, to);
}
