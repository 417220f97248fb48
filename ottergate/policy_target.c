/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_target.c - `check`: what people ask for, and the answer
 */
#include "ottergate/policy_load.h"

#include <string.h>

#include "ottergate/jsonw.h"

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

int check_target_parse(const char *text, struct check_target *ret,
		       struct err *err)
{
	struct check_target t = { .path = PATH_CHECK, .target = "/" };
	uint16_t port = 443;
	size_t len;
	int r;

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
	r = name_authority(slice_of(text, len), port, &t.name, &t.addr,
			   &t.port);
	if (r < 0)
		return err_set(err, -EINVAL,
			       "no host name or address with a port is before "
			       "the path");
	if (t.port == 0)
		return err_set(err, -EINVAL, "the port is missing");
	*ret = t;
	return 0;
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

/* What would allow it; nothing where nothing would. */
static bool may_be_allowed(const struct check_target *t,
			   const struct verdict *v)
{
	return t->name.len && (v->reason == REASON_NOT_ALLOWED ||
			       v->reason == REASON_PORT || v->observed);
}

int verdict_json(const struct agent_policy *a, const struct check_target *t,
		 const struct verdict *v, struct buf *out)
{
	char target[320], hint[512];
	struct jsonw w;

	target_text(t, target);
	snprintf(hint, sizeof(hint), "ac policy allow %s %s",
		 agent_policy_id(a), target);
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
	jsonw_str(&w, "hint", may_be_allowed(t, v) ? hint : NULL);
	jsonw_close(&w, '}');
	return w.r;
}
