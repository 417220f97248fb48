/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lint.c - what is well-formed and still no good policy
 *
 * Errors are promises that cannot be kept (methods on a tunnel) or grants
 * wider than anyone means (everything below a public suffix, a host where
 * anyone may put anything). Warnings and infos are for the author.
 */
#include "ottergate/policy/load/parse.h"

#include <libpsl.h>
#include <stdarg.h>
#include <string.h>

struct shared_host {
	const char *name; /* it and what is below */
	unsigned risk;
};

/*
 * Where the name in the TLS hello says little about who gets the bytes: hosts
 * whose content comes from any user, and edges that serve other names on the
 * same address and certificate (catalogue T2, H11).
 */
static const struct shared_host shared_hosts[] = {
	{ "github.com", RISK_MULTI_TENANT },
	{ "githubusercontent.com", RISK_MULTI_TENANT },
	{ "githubassets.com", RISK_SHARED_CDN },
	{ "github.io", RISK_MULTI_TENANT },
	{ "ghcr.io", RISK_MULTI_TENANT },
	{ "gitlab.com", RISK_MULTI_TENANT },
	{ "gitlab.io", RISK_MULTI_TENANT },
	{ "bitbucket.org", RISK_MULTI_TENANT },
	{ "codeberg.org", RISK_MULTI_TENANT },
	{ "sourceforge.net", RISK_MULTI_TENANT },
	{ "huggingface.co", RISK_MULTI_TENANT },
	{ "hf.co", RISK_MULTI_TENANT },
	{ "docker.io", RISK_MULTI_TENANT },
	{ "docker.com", RISK_MULTI_TENANT },
	{ "quay.io", RISK_MULTI_TENANT },
	{ "amazonaws.com", RISK_MULTI_TENANT },
	{ "cloudfront.net", RISK_SHARED_CDN },
	{ "storage.googleapis.com", RISK_MULTI_TENANT },
	{ "firebaseio.com", RISK_MULTI_TENANT },
	{ "firebaseapp.com", RISK_MULTI_TENANT },
	{ "web.app", RISK_MULTI_TENANT },
	{ "run.app", RISK_MULTI_TENANT },
	{ "appspot.com", RISK_MULTI_TENANT },
	{ "googleusercontent.com", RISK_MULTI_TENANT },
	{ "drive.google.com", RISK_MULTI_TENANT },
	{ "docs.google.com", RISK_MULTI_TENANT },
	{ "translate.google.com", RISK_MULTI_TENANT },
	{ "translate.goog", RISK_MULTI_TENANT },
	{ "core.windows.net", RISK_MULTI_TENANT },
	{ "azureedge.net", RISK_SHARED_CDN },
	{ "azurefd.net", RISK_SHARED_CDN },
	{ "azurewebsites.net", RISK_MULTI_TENANT },
	{ "cloudapp.net", RISK_MULTI_TENANT },
	{ "cloudapp.azure.com", RISK_MULTI_TENANT },
	{ "visualstudio.com", RISK_MULTI_TENANT },
	{ "dev.azure.com", RISK_MULTI_TENANT },
	{ "pages.dev", RISK_MULTI_TENANT },
	{ "workers.dev", RISK_MULTI_TENANT },
	{ "r2.dev", RISK_MULTI_TENANT },
	{ "r2.cloudflarestorage.com", RISK_MULTI_TENANT },
	{ "trycloudflare.com", RISK_MULTI_TENANT },
	{ "cdnjs.cloudflare.com", RISK_SHARED_CDN },
	{ "vercel.app", RISK_MULTI_TENANT },
	{ "netlify.app", RISK_MULTI_TENANT },
	{ "netlify.com", RISK_MULTI_TENANT },
	{ "herokuapp.com", RISK_MULTI_TENANT },
	{ "onrender.com", RISK_MULTI_TENANT },
	{ "fly.dev", RISK_MULTI_TENANT },
	{ "surge.sh", RISK_MULTI_TENANT },
	{ "glitch.me", RISK_MULTI_TENANT },
	{ "repl.co", RISK_MULTI_TENANT },
	{ "digitaloceanspaces.com", RISK_MULTI_TENANT },
	{ "ondigitalocean.app", RISK_MULTI_TENANT },
	{ "backblazeb2.com", RISK_MULTI_TENANT },
	{ "wasabisys.com", RISK_MULTI_TENANT },
	{ "supabase.co", RISK_MULTI_TENANT },
	{ "ngrok.io", RISK_MULTI_TENANT },
	{ "ngrok.app", RISK_MULTI_TENANT },
	{ "ngrok-free.app", RISK_MULTI_TENANT },
	{ "loca.lt", RISK_MULTI_TENANT },
	{ "pastebin.com", RISK_MULTI_TENANT },
	{ "transfer.sh", RISK_MULTI_TENANT },
	{ "webhook.site", RISK_MULTI_TENANT },
	{ "dropbox.com", RISK_MULTI_TENANT },
	{ "dropboxusercontent.com", RISK_MULTI_TENANT },
	{ "sharepoint.com", RISK_MULTI_TENANT },
	{ "slack.com", RISK_MULTI_TENANT },
	{ "discord.com", RISK_MULTI_TENANT },
	{ "telegram.org", RISK_MULTI_TENANT },
	{ "notion.so", RISK_MULTI_TENANT },
	{ "jsdelivr.net", RISK_MULTI_TENANT },
	{ "unpkg.com", RISK_MULTI_TENANT },
	{ "archive.org", RISK_MULTI_TENANT },
	{ "readthedocs.io", RISK_MULTI_TENANT },
	{ "fastly.net", RISK_SHARED_CDN },
	{ "fastlylb.net", RISK_SHARED_CDN },
	{ "akamaized.net", RISK_SHARED_CDN },
	{ "akamaihd.net", RISK_SHARED_CDN },
	{ "edgekey.net", RISK_SHARED_CDN },
	{ "edgesuite.net", RISK_SHARED_CDN },
	{ "b-cdn.net", RISK_SHARED_CDN },
	{ "cdn77.org", RISK_SHARED_CDN },
	{ "stackpathdns.com", RISK_SHARED_CDN },
};

static const struct {
	const char *code;
	unsigned risk;
	const char *what;
} risks[] = {
	{ "multi-tenant", RISK_MULTI_TENANT,
	  "anybody can have content there, and a tunnel does not see whose" },
	{ "shared-cdn", RISK_SHARED_CDN,
	  "its servers answer for other names as well, and a tunnel does not "
	  "see which" },
};

unsigned lint_risk_of(const char *code)
{
	for (size_t i = 0; i < ARRAY_SIZE(risks); i++) {
		if (strcmp(risks[i].code, code) == 0)
			return risks[i].risk;
	}
	return 0;
}

void lint_done(struct lint *l)
{
	free(l->v);
	*l = (struct lint){ 0 };
}

const char *lint_file(const struct lint *l, const char *path)
{
	return l && l->path && strcmp(l->path, path) == 0 ? l->called : path;
}

static struct lint_item *lint_grow(struct lint *l)
{
	struct lint_item *v;

	if (!l || l->n == LINT_MAX) {
		if (l)
			l->dropped++;
		return NULL;
	}
	v = realloc(l->v, (l->n + 1) * sizeof(*v));
	if (!v) {
		l->dropped++;
		return NULL;
	}
	l->v = v;
	return &v[l->n++];
}

/* Fills @ret, but for its text, and puts it into the list; NULL: no room. */
static struct lint_item *lint_put(struct load *ld, struct lint_item *ret,
				  const char *code, const char *file)
{
	struct lint_item *item;
	int at = snprintf(ret->text, sizeof(ret->text), "%s:%u:%u: ", file,
			  ret->line, ret->column);

	if (at >= (int)sizeof(ret->text))
		at = sizeof(ret->text) - 1;
	ret->words = (uint16_t)at;
	ret->file_len = (uint16_t)strnlen(file, (size_t)at);
	snprintf(ret->code, sizeof(ret->code), "%s", code);
	snprintf(ret->about, sizeof(ret->about), "%s",
		 ld->about ? ld->about : "");
	item = lint_grow(ld->lint);
	return item;
}

void lint_form(struct load *ld, const char *code, unsigned line,
	       unsigned column, const char *text)
{
	struct lint_item new = { .level = LINT_ERROR,
				 .form = true,
				 .line = line,
				 .column = column };
	struct lint_item *item = lint_put(ld, &new, code, ld->file);

	snprintf(new.text + new.words, sizeof(new.text) - new.words, "%s",
		 text);
	if (item)
		*item = new;
}

struct lint_item *lint_say(struct load *ld, enum lint_level level,
			   const char *code, const char *file, unsigned line,
			   unsigned column, const char *fmt, ...)
{
	struct lint_item new = { .level = level,
				 .line = line,
				 .column = column };
	struct lint_item *item = lint_put(ld, &new, code, file);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(new.text + new.words, sizeof(new.text) - new.words, fmt, ap);
	va_end(ap);
	if (level == LINT_ERROR && ld->n_errors++ == 0)
		err_set(ld->err, -EINVAL, "%s", new.text);
	if (item)
		*item = new;
	return item;
}

/* What a rule other than the one that is read is about. */
static void lint_about(struct lint_item *item, const char *about,
		       const char *by)
{
	if (!item)
		return;
	snprintf(item->about, sizeof(item->about), "%s", about);
	snprintf(item->by, sizeof(item->by), "%s", by);
}

void lint_add(struct lint *l, enum lint_level level, const char *code,
	      const char *fmt, ...)
{
	struct lint_item *item = lint_grow(l);
	va_list ap;

	if (!item)
		return;
	*item = (struct lint_item){ .level = level };
	snprintf(item->code, sizeof(item->code), "%s", code);
	va_start(ap, fmt);
	vsnprintf(item->text, sizeof(item->text), fmt, ap);
	va_end(ap);
}

const char *lint_level_name(enum lint_level level)
{
	static const char *const names[] = { "error", "warning", "info" };

	return names[level];
}

/* --- one name ------------------------------------------------------------ */

/* A top-level domain is one, those that no one registers below too (.internal,
 * .test, .example: RFC 6761 and 8375): all of them at once is what no policy
 * means, and whose names they are this network decides, not the user. */
bool lint_is_public_suffix(const char *name)
{
	const psl_ctx_t *psl = psl_builtin();

	/* A library without its list cannot say no. */
	return !strchr(name, '.') || !psl || strcmp(name, "home.arpa") == 0 ||
	       psl_is_public_suffix(psl, name);
}

/* Is @name equal to @zone or below it, on a label boundary? */
static bool text_below(const char *name, size_t len, const char *zone,
		       size_t zone_len)
{
	if (len < zone_len ||
	    memcmp(name + len - zone_len, zone, zone_len) != 0)
		return false;
	return len == zone_len || name[len - zone_len - 1] == '.';
}

/* Does a pattern for @name have anything in common with the host's names? */
static bool touches(const struct name *name, unsigned kind, const char *host)
{
	size_t len = strlen(host);

	return text_below(name->s, name->len, host, len) ||
	       ((kind & MATCH_BELOW) &&
		text_below(host, len, name->s, name->len));
}

unsigned lint_risks(const struct name *name, unsigned kind)
{
	unsigned found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(shared_hosts); i++) {
		if (touches(name, kind, shared_hosts[i].name))
			found |= shared_hosts[i].risk;
	}
	return found;
}

static void lint_shared(struct load *ld, const struct rule_parse *rp,
			const struct yaml_node *n, const struct name *name,
			unsigned kind)
{
	unsigned found = lint_risks(name, kind) & ~rp->risk_ok;

	for (size_t i = 0; i < ARRAY_SIZE(risks); i++) {
		if (found & risks[i].risk)
			lint_node(ld, LINT_ERROR, risks[i].code, n,
				  "%s: %s; if it must be, add "
				  "`risk_ok: [%s]`",
				  name->s, risks[i].what, risks[i].code);
	}
}

void lint_name(struct load *ld, const struct rule_parse *rp,
	       const struct yaml_node *n, const struct name *name,
	       unsigned kind)
{
	struct match_key key;

	if ((kind & MATCH_BELOW) && lint_is_public_suffix(name->s))
		lint_node(ld, LINT_ERROR, "public-suffix", n,
			  strchr(name->s, '.') ?
				  "below %s anybody can have a name: no rule "
				  "may allow all of it" :
				  "%s is a top-level domain: no rule may allow "
				  "all of it",
			  name->s);
	else if (rp->e->r.use == RULE_TUNNEL)
		lint_shared(ld, rp, n, name, kind);
	match_key_init(&key, name, ld->policy->seed);
	if (policy_builtin_name(ld->policy, &key))
		lint_node(ld, LINT_WARNING, "builtin-denied", n,
			  "%s is denied always, whatever a rule says", name->s);
	for (size_t i = 0; i < ld->policy->n_credentials; i++) {
		struct credential *c = &ld->policy->credentials[i];

		/* A wildcard is many. */
		if (c->id == rp->e->r.credential)
			c->names += kind & MATCH_BELOW ? 2 : 1;
	}
}

void lint_rule(struct load *ld, const struct rule_parse *rp)
{
	const struct rule *r = &rp->e->r;
	bool plain = r->proto_set ? r->proto == RULE_HTTP :
				    rule_has_port(r, 80);

	if (r->use == RULE_TUNNEL && rp->inspect)
		lint_say(ld, LINT_ERROR, "tunnel-cannot", ld->file,
			 rp->inspect->key_line, rp->inspect->key_column,
			 "`%s` cannot be held in a tunnel, which is encrypted: "
			 "it needs `use: inspect`",
			 rp->inspect->key);
	if (r->use == RULE_INSPECT && !r->insecure &&
	    (rp->ips ||
	     (r->proto_set ? r->proto != RULE_TLS : rule_has_port(r, 80))))
		lint_node(ld, LINT_WARNING, "needs-inspect", rp->node,
			  "only TLS to a name can be inspected: the rest of "
			  "what this rule is for is denied");
	if (rp->has_auth && !rp->has_paths)
		lint_node(ld, LINT_ERROR, "auth-without-paths", rp->node,
			  "`auth` without `paths`: the credential would go to "
			  "every page of the host");
	if (rp->has_auth && plain && !r->insecure)
		lint_node(ld, LINT_ERROR, "auth-plain-http", rp->node,
			  "`auth` on plain HTTP: the credential would go in "
			  "clear");
	for (const struct yaml_node *n = rp->ips ? rp->ips->first : NULL; n;
	     n = n->next) {
		struct cidr c;

		if (n->kind != YAML_SCALAR ||
		    cidr_parse(slice_str(n->text), &c) < 0)
			continue; /* refused when it is read */
		if (c.bits < (c.base.family == 4 ? 8 : 32))
			lint_node(ld, LINT_ERROR, "wide-range", n,
				  "this range is wider than anybody's own");
		else if (addr_classify(&c.base) != ADDR_PUBLIC)
			lint_node(ld, LINT_WARNING, "builtin-denied", n,
				  "addresses of class %s are denied always",
				  addr_class_name(addr_classify(&c.base)));
	}
}

/* --- sealed sets --------------------------------------------------------- */

static bool ports_cover(const struct rule *wide, const struct rule *r)
{
	if (wide->n_ports == 0)
		return true;
	for (unsigned i = 0; i < r->n_ports; i++) {
		uint16_t first = r->ports[2 * i], last = r->ports[2 * i + 1];
		bool in = false;

		for (unsigned j = 0; j < wide->n_ports && !in; j++)
			in = wide->ports[2 * j] <= first &&
			     wide->ports[2 * j + 1] >= last;
		if (!in)
			return false;
	}
	return r->n_ports > 0;
}

/* Would @a, which has the same names, be chosen wherever @b could be? */
static bool rule_beats(const struct rule *a, const struct rule *b, bool before)
{
	if (a->use != b->use)
		before = a->use == RULE_INSPECT;
	return before && a->proto_set == b->proto_set && a->proto == b->proto &&
	       ports_cover(a, b);
}

/* The rule of @in that decides in place of that of entry @e of @set. */
static const struct rule_entry *beaten_in(const struct rule_set *set,
					  const struct rule_set *in,
					  const struct match_entry *e,
					  const struct match_key *key)
{
	const struct rule *own = &set->rules[e->rule]->r;
	const struct match_entry *o = match_first(&in->names, key, 0, e->kind);

	for (; o; o = match_next(&in->names, o, e->kind)) {
		bool same = set == in;

		if ((o->kind & e->kind) != e->kind ||
		    (same && o->rule == e->rule))
			continue;
		if (rule_beats(&in->rules[o->rule]->r, own,
			       same && o->rule < e->rule))
			return in->rules[o->rule];
	}
	return NULL;
}

static void reach_rule(struct load *ld, const struct rule_set *set,
		       const struct rule_entry *r,
		       const struct rule_set *const *others, size_t n_others)
{
	const struct rule_entry *by = NULL;
	char pattern[NAME_LEN_MAX + 2];

	if (r->n_ips)
		return;
	for (uint32_t i = 0; i < r->n_names; i++) {
		const struct match_entry *e = &set->names.v[r->first_name + i];
		struct match_key key;
		struct name name;

		match_entry_name(&set->names, e, &name);
		match_key_init(&key, &name, ld->policy->seed);
		by = beaten_in(set, set, e, &key);
		for (size_t j = 0; j < n_others && !by; j++)
			by = beaten_in(set, others[j], e, &key);
		if (!by)
			return;
	}
	if (!by)
		return;
	name_pattern_text(&set->names, &set->names.v[r->first_name], pattern);
	lint_about(lint_say(ld, LINT_WARNING, "unreachable", r->file, r->line,
			    r->column,
			    "rule '%s' never decides anything: '%s' of %s:%u "
			    "always wins",
			    r->r.id, by->r.id, by->file, by->line),
		   pattern, by->r.id);
}

void lint_reach(struct load *ld, const struct rule_set *set,
		const struct rule_set *const *others, size_t n_others)
{
	for (uint32_t i = 0; i < set->n; i++)
		reach_rule(ld, set, set->rules[i], others, n_others);
}

/* The name that denies all that entry @e of @set allows, NULL: none. */
static const struct match_entry *denied_by(const struct rule_set *set,
					   const struct match_entry *e,
					   const struct rule_set *deny,
					   const struct match_key *key)
{
	for (unsigned i = 0; i < key->n; i++) {
		unsigned kinds = i == 0 ? e->kind : MATCH_BELOW;
		const struct match_entry *o =
			match_first(&deny->names, key, i, kinds);

		for (; o; o = match_next(&deny->names, o, kinds)) {
			const struct rule *r = &deny->rules[o->rule]->r;

			if ((o->kind & kinds) == kinds &&
			    ports_cover(r, &set->rules[e->rule]->r))
				return o;
		}
	}
	return NULL;
}

void lint_deny(struct load *ld, const struct rule_set *set,
	       const struct rule_set *deny)
{
	for (uint32_t i = 0; i < set->names.n && deny->names.n; i++) {
		const struct match_entry *e = &set->names.v[i];
		const struct rule_entry *r = set->rules[e->rule];
		char pattern[NAME_LEN_MAX + 2], denied[NAME_LEN_MAX + 2];
		const struct match_entry *by;
		struct match_key key;
		struct name name;

		match_entry_name(&set->names, e, &name);
		match_key_init(&key, &name, ld->policy->seed);
		by = denied_by(set, e, deny, &key);
		if (!by)
			continue;
		name_pattern_text(&set->names, e, pattern);
		name_pattern_text(&deny->names, by, denied);
		lint_about(lint_say(ld, LINT_INFO, "deny-shadows", r->file,
				    r->line, r->column,
				    "rule '%s' allows %s, which '%s' denies",
				    r->r.id, pattern,
				    deny->rules[by->rule]->r.id),
			   pattern, denied);
	}
}

void lint_credentials(struct load *ld)
{
	for (size_t i = 0; i < ld->policy->n_credentials; i++) {
		const struct credential *c = &ld->policy->credentials[i];

		if (c->names > 1)
			lint_say(ld, LINT_WARNING, "credential-names", c->file,
				 c->line, c->column,
				 "credential '%s' goes to more than one name",
				 c->id);
	}
}
