/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c - `check`: what people ask for, and the answer
 */
#include "ottergate/policy/load.h"
#include "ottergate/policy/presume.h"

#include <string.h>

#include "lib/denier.h"
#include "lib/str.h"
#include "lib/jsonw.h"
#include "lib/target.h"
#include "ottergate/policy/load/parse.h"

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

/* The host alone of @text, for a message. */
static struct slice host_of(const char *text)
{
	const char *scheme = strstr(text, "://");
	const char *s = scheme ? scheme + 3 : text;
	size_t len = *s == '[' ? strcspn(s, "/?#") : strcspn(s, ":/?#");

	return slice_of(s, len);
}

static int fault_refuse(enum target_fault fault, const char *text,
			struct err *err)
{
	struct slice host = host_of(text);
	char shown[128];

	switch (fault) {
	case TARGET_BAD_SCHEME:
		return err_set(err, -EINVAL,
			       "https, http and tcp are what can be checked");
	case TARGET_BAD_USER:
		return err_set(err, -EINVAL,
			       "no user name in a URL: https://HOST/, or "
			       "tcp://HOST:22 for SSH");
	case TARGET_NO_HOST:
		return err_set(err, -EINVAL, "the host is missing");
	case TARGET_BAD_PORT:
		return err_set(err, -EINVAL, "the port must be 1 to 65535");
	case TARGET_NO_PORT:
		return err_set(err, -EINVAL,
			       "the port is missing: tcp://HOST:PORT");
	default:
		return err_set(err, -EINVAL, "'%s' is no host name or address",
			       str_escape(shown, sizeof(shown), host.ptr,
					  host.len));
	}
}

/* A name with U-labels converted, as policies do it. */
static int read_name(struct slice host, struct name *ret, struct err *err)
{
	SCOPED_STR text = NULL;
	SCOPED_STR ascii = NULL;
	const char *why = "";
	char shown[128];
	int rc = slice_dup_str(host, &text);

	if (rc == 0 && target_is_foreign(host))
		rc = name_to_ascii(text, &ascii, &why);
	if (rc == 0)
		rc = name_canon(ascii ? slice_str(ascii) : host, ret);
	if (rc == 0)
		return 0;
	if (rc == -ENOMEM)
		return err_nomem(err);
	return err_set(err, -EINVAL, "'%s' is no host name%s%s",
		       str_escape(shown, sizeof(shown), host.ptr, host.len),
		       *why ? ": " : "", why);
}

static int read_target(const char *text, struct check_target *t,
		       struct err *err)
{
	static const enum path paths[] = {
		[TARGET_PLAIN] = PATH_CHECK,
		[TARGET_HTTPS] = PATH_TLS,
		[TARGET_HTTP] = PATH_HTTP,
		[TARGET_TCP] = PATH_TCP,
	};
	enum target_fault fault;
	struct target to;

	if (target_parse(slice_str(text), TARGET_URL, &to, &fault) < 0)
		return fault_refuse(fault, text, err);
	if (to.path.len >= sizeof(t->target))
		return err_set(err, -EINVAL, "the path is too long");
	if (to.path.len) {
		memcpy(t->target, to.path.ptr, to.path.len);
		t->target[to.path.len] = '\0';
	}
	t->path = paths[to.scheme];
	t->port = target_port(&to);
	if (to.kind == TARGET_NAME)
		return read_name(to.host, &t->name, err);
	if (addr_parse(to.host, &t->addr) < 0)
		return fault_refuse(TARGET_BAD_HOST, text, err);
	return 0;
}

int check_target_parse(const char *text, struct check_target *ret,
		       struct err *err)
{
	struct check_target t = { .method = "GET", .target = "/" };
	size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");
	int rc;

	if (len > 0 && text[len] == ' ') {
		if (len >= sizeof(t.method))
			return err_set(err, -EINVAL, "there is no such method");
		memcpy(t.method, text, len);
		t.method[len] = '\0';
		text += len + 1;
	}
	rc = read_target(text, &t, err);
	if (rc == 0)
		*ret = t;
	return rc;
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
	/* Where no one speaks TLS, a rule for TLS would not help. */
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
	return w.rc;
}
