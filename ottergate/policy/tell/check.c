/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.c - `check`: what people ask for, and the answer
 */
#include "ottergate/policy/load.h"
#include "ottergate/policy/presume.h"

#include <string.h>

#include "lib/denier.h"
#include "lib/str.h"
#include "lib/jsonw.h"
#include "ottergate/policy/parse.h"

static const char *const path_names[] = {
	[PATH_DNS] = "dns",         [PATH_TLS] = "tls",
	[PATH_HTTP] = "http",       [PATH_TCP] = "tcp",
	[PATH_CONNECT] = "connect", [PATH_PROXY] = "proxy",
	[PATH_CHECK] = "check",
};
_Static_assert(ARRAY_SIZE(path_names) == PATHS, "every path has a name");

const char *path_name(enum path p)
{
	return path_names[p];
}

static const struct scheme {
	const char *prefix;
	enum path path;
	uint16_t port; /* 0: must be written */
} schemes[] = {
	{ "https://", PATH_TLS, 443 }, { "wss://", PATH_TLS, 443 },
	{ "http://", PATH_HTTP, 80 },  { "ws://", PATH_HTTP, 80 },
	{ "tcp://", PATH_TCP, 0 },
};

/* The colon before the port of "host:port", "[v6]:port"; NULL: none. */
static const char *port_colon(const char *s)
{
	const char *end = *s == '[' ? strchr(s, ']') : s;

	return end ? strchr(end, ':') : NULL;
}

/* "host:port" with U-labels converted, as policies do it. */
static int authority_ascii(const char *s, char **ret, struct err *err)
{
	const char *colon = port_colon(s), *why = "";
	SCOPED_STR host = strndup(s, colon ? (size_t)(colon - s) : strlen(s));
	SCOPED_STR ascii = NULL;
	char shown[128];
	int r = host ? name_to_ascii(host, &ascii, &why) : -ENOMEM;

	if (r == -EINVAL)
		return err_set(err, r, "'%s' is no host name: %s",
			       str_escape(shown, sizeof(shown), host,
					  strlen(host)),
			       why);
	if (r == 0)
		*ret = str_printf("%s%s", ascii, colon ? colon : "");
	return r < 0 || !*ret ? err_nomem(err) : 0;
}

/* Why name_authority() did not take @s, for people. */
static int authority_refuse(const char *s, struct err *err)
{
	const char *colon = port_colon(s);
	char shown[128];
	struct addr a;
	uint64_t port;

	if (addr_parse(slice_str(s), &a) == 0 && a.family == 6)
		return err_set(err, -EINVAL,
			       "an IPv6 address needs brackets: [%s]", s);
	if (!*s || s == colon)
		return err_set(err, -EINVAL, "the host is missing");
	if (colon && (colon[1] == '0' ||
		      str_parse_u64(colon + 1, 1, UINT16_MAX, &port) < 0))
		return err_set(err, -EINVAL, "the port must be 1 to 65535");
	str_escape(shown, sizeof(shown), s,
		   colon ? (size_t)(colon - s) : strlen(s));
	return err_set(err, -EINVAL, "'%s' is no host name or address", shown);
}

static int target_authority(const char *s, uint16_t port,
			    struct check_target *t, struct err *err)
{
	SCOPED_STR ascii = NULL;

	if (strchr(s, '@'))
		return err_set(err, -EINVAL,
			       "no user name in a URL: https://HOST/, or "
			       "tcp://HOST:22 for SSH");
	for (const char *p = s; *p && !ascii; p++) {
		int r = *p & 0x80 ? authority_ascii(s, &ascii, err) : 0;

		if (r < 0)
			return r;
	}
	if (ascii)
		s = ascii;
	if (name_authority(slice_str(s), port, &t->name, &t->addr, &t->port) <
	    0)
		return authority_refuse(s, err);
	if (t->port == 0)
		return err_set(err, -EINVAL,
			       "the port is missing: tcp://HOST:PORT");
	return 0;
}

int check_target_parse(const char *text, struct check_target *ret,
		       struct err *err)
{
	struct check_target t = { .path = PATH_CHECK,
				  .method = "GET",
				  .target = "/" };
	SCOPED_STR authority = NULL;
	uint16_t port = 443;
	size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");
	int r;

	if (len > 0 && text[len] == ' ') {
		if (len >= sizeof(t.method))
			return err_set(err, -EINVAL, "there is no such method");
		memcpy(t.method, text, len);
		t.method[len] = '\0';
		text += len + 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t n = strlen(schemes[i].prefix);

		if (strncasecmp(text, schemes[i].prefix, n) != 0)
			continue;
		text += n;
		t.path = schemes[i].path;
		port = schemes[i].port;
		break;
	}
	if (strstr(text, "://"))
		return err_set(err, -EINVAL,
			       "https, http and tcp are what can be checked");
	len = strcspn(text, "/?#");
	if (text[len] == '/') {
		size_t n = strcspn(text + len, "#");

		if (n >= sizeof(t.target))
			return err_set(err, -EINVAL, "the path is too long");
		memcpy(t.target, text + len, n);
		t.target[n] = '\0';
	}
	authority = strndup(text, len);
	if (!authority)
		return err_nomem(err);
	r = target_authority(authority, port, &t, err);
	if (r == 0)
		*ret = t;
	return r;
}

/* "host:port" as a policy and a command line have it. */
static void target_text(const struct check_target *t, char out[320])
{
	char text[ADDR_TEXT_MAX];

	if (t->name.len)
		snprintf(out, 320, "%s:%u", t->name.s, t->port);
	else
		snprintf(out, 320, t->addr.family == 6 ? "[%s]:%u" : "%s:%u",
			 addr_text(&t->addr, text), t->port);
}

/* The scheme that `allow` needs for it: none where the port says it. */
static const char *hint_scheme(const struct check_target *t)
{
	/* Where nobody speaks TLS, a rule for TLS would not help. */
	if (t->path == PATH_TCP ||
	    (t->path == PATH_CHECK && presume_proto(t->port) == RULE_TCP))
		return "tcp://";
	if (t->path == PATH_HTTP && t->port != 80)
		return "http://";
	/* To ac, a word that begins with '-' is an option. */
	return (t->path == PATH_TLS && t->port == 80) || *t->name.s == '-' ?
		       "https://" :
		       "";
}

/* Writes what takes a denial of the instance's own back. Returns 0 if nothing
 * does. */
static size_t own_denial(const struct verdict *v, const char *asked,
			 const char *target, char *out, size_t size)
{
	const struct rule *r = v->reason == REASON_DENY_RULE ? v->rule : NULL;
	const struct denier d = { .source = r && r->source ? r->source : "",
				  .host = r && r->host ? r->host : "",
				  .asked = asked,
				  .target = target };

	return denier_allowance(out, size, &d);
}

/* Says whether an allowance of the target itself would help. */
static bool may_be_allowed(const struct verdict *v)
{
	return v->reason == REASON_NOT_ALLOWED || v->reason == REASON_PORT ||
	       v->reason == REASON_PROTO || v->observed;
}

/* A push to a repository that a credential's rule is for. */
static bool is_push(const struct check_target *t, const struct verdict *v)
{
	return !v->allow && v->reason == REASON_METHOD && v->rule &&
	       v->rule->credential && strstr(t->target, "git-receive-pack");
}

int verdict_json(const struct agent_policy *a, const struct check_target *t,
		 const struct verdict *v, struct buf *out)
{
	static const char *const protos[] = { "tls", "http", "tcp" };
	char target[320], wanted[336], what[336], hint[512] = "";
	struct jsonw w;

	target_text(t, target);
	snprintf(wanted, sizeof(wanted), "%s%s", hint_scheme(t), target);
	if (!own_denial(v, t->name.s, wanted, what, sizeof(what)) &&
	    may_be_allowed(v))
		snprintf(what, sizeof(what), "%s", wanted);
	if (t->name.len && *what)
		snprintf(hint, sizeof(hint), "ac policy allow %s %s",
			 agent_policy_id(a), what);
	if (is_push(t, v))
		snprintf(hint, sizeof(hint), "ac policy push %s allow",
			 agent_policy_id(a));
	jsonw_init(&w, out);
	jsonw_open(&w, NULL, '{');
	jsonw_bool(&w, "allow", v->allow);
	jsonw_str(&w, "reason", reason_code(v->reason));
	jsonw_str(&w, "text", reason_text(v->reason));
	jsonw_str(&w, "agent", agent_policy_id(a));
	jsonw_str(&w, "target", target);
	jsonw_str(&w, "path", path_name(t->path));
	jsonw_str(&w, "rule", v->rule ? v->rule->id : NULL);
	jsonw_str(&w, "source", v->rule ? v->rule->source : NULL);
	jsonw_str(&w, "credential", v->rule ? v->rule->credential : NULL);
	jsonw_str(&w, "mode",
		  agent_policy_mode(a) == POLICY_OBSERVE ? "observe" :
							   "enforce");
	jsonw_bool(&w, "observed", v->observed);
	jsonw_str(&w, "use", v->use == RULE_INSPECT ? "inspect" : "tunnel");
	/* Any bytes pass a tcp rule, those of TLS as well: it says so. */
	jsonw_str(&w, "proto", v->allow ? protos[v->proto] : NULL);
	jsonw_str(&w, "hint", *hint ? hint : NULL);
	jsonw_close(&w, '}');
	return w.r;
}
