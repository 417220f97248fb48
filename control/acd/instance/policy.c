/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.c - the policies of instances: a file each, bound at the gateway
 *
 * Theory of operation: changes reach the gateway in the order of the calls
 * (gate_client.h), and the files follow its answers: written after a bind has
 * succeeded, removed after an unbind. So the folder has no more than what was
 * bound last, even if a sandbox stops while its policy changes.
 *
 *	logins (those whose token has ended) → SECRETS (when it uses
 *	credentials) → BIND → CA (when it inspects, once a run) → callback
 *
 * An unbind in between ends the change at its next answer, and nothing of it is
 * sent or kept after that: it would be taken for the next run's. The change
 * fails with -ECANCELED if it was not bound yet.
 *
 * Only the gateway knows whether a policy inspects, as it knows the presets and
 * the shared policy.
 *
 * Secrets of the vault are in no file. They are sent again to a new gateway,
 * and for a sandbox that uses a changed credential of the vault.
 */
#include "control/acd/instance/policy.h"

#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "control/acd/blueprint/blueprint.h"
#include "control/acd/instance/grant/grants.h"
#include "control/acd/instance/policy_text.h"
#include "control/acd/instance/project_use.h"
#include "control/acd/egress/lint_items.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/log.h"

#define REFLECTION "reflection" /* ottergate/reason.h */
#define TEXT_MAX (1u * 1024 * 1024) /* the gateway takes no longer ones */

struct policies {
	struct gate_client *client;
	const char *dir;
	bool (*has_packages)(void);
	struct grants *grants;
	const char *warnings; /* of the change whose callback runs */
	instance_revoked_fn revoked; /* may be NULL */
	void *revoked_arg;
	LIST_HEAD(change_list, change) changes; /* on their way */
};

struct change {
	LIST_ENTRY(change) link;
	struct policies *p;
	char *name;
	struct buf text; /* of a bind */
	char *egress; /* of a bind: the instance's own options */
	char *warnings; /* of a bind: from its answer, for the callback */
	instance_fn fn; /* of a bind */
	void *arg;
	bool over; /* unbound since then */
};

static void change_free(struct change *c)
{
	LIST_REMOVE(c, link);
	buf_done(&c->text);
	free(c->egress);
	free(c->warnings);
	free(c->name);
	free(c);
}

static struct change *change_new(struct policies *p, const char *name)
{
	struct change *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->p = p;
	LIST_INSERT_HEAD(&p->changes, c, link);
	c->name = strdup(name);
	buf_init(&c->text, TEXT_MAX);
	if (c->name)
		return c;
	change_free(c);
	return NULL;
}

static char *file_of(const struct policies *p, const char *name)
{
	return str_printf("%s/%s.yaml", p->dir, name);
}

/* ---- what it says ---- */

int policy_text(const struct policies *p, const struct instance_record *r,
		const char *json, const struct blueprint *bp, struct buf *out,
		struct err *ret_lacks, struct err *err)
{
	return policy_text_make(p->grants, p->has_packages(), r, json, bp,
				ret_lacks, out, err);
}

bool policy_lacks_rule(const struct policies *p,
		       const struct instance_record *r,
		       const struct blueprint *bp, const char *rule)
{
	return grants_lacks_rule(p->grants, r, bp, rule);
}

const char *policy_missing(const struct policies *p,
			   const struct instance_record *r,
			   const struct blueprint *bp,
			   const struct strv *without)
{
	return grants_missing(p->grants, r, bp, without);
}

int policy_may(const struct policies *p, const struct instance_record *r,
	       struct err *err)
{
	struct blueprint bp = { 0 };
	int rc = instance_blueprint(r, &bp, err);

	if (rc == 0)
		rc = grants_may(p->grants, r, &bp, err);
	/* As 404, -ENOENT would mean the instance. */
	if (rc == -ENOENT)
		rc = err->code = -EINVAL;
	blueprint_done(&bp);
	return rc;
}

json_t *policy_effective(const struct policies *p, const char *json,
			 const struct blueprint *bp, struct err *err)
{
	struct egress e = { 0 };
	json_t *v = NULL;

	if (policy_merge(p->has_packages(), json, bp, &e, err) == 0) {
		v = egress_json(&e);
		if (!v)
			err_nomem(err);
	}
	egress_done(&e);
	return v;
}

/* ---- bind ---- */

static int file_put_text(const struct change *c, struct err *err)
{
	SCOPED_STR path = file_of(c->p, c->name);
	struct slice s = buf_slice(&c->text);
	/* Not synced, as the folder is emptied when acd starts. */
	int rc = path ? file_replace(path, s.ptr, s.len, 0644) : -ENOMEM;

	return rc < 0 ? err_set(err, rc, "write the policy of '%s': %s",
				c->name, err_text(rc)) :
			0;
}

/* Explains a refusal in terms of what the user gave, not of the file. @text:
 * the gateway's answer, or "". */
static void on_refused(struct change *c, const char *text, size_t len,
		       const struct err *err, struct err *failed)
{
	SCOPED_JSON items = lint_items(text, len);
	const json_t *item = lint_error(items);
	char words[sizeof(err->msg)];

	*failed = *err;
	if (item && lint_is_of(item, c->name)) {
		lint_explain(item, c->name, c->name, words, sizeof(words));
		err_set(failed, err->code, "%s", words);
	}
	err_wrap(failed, "the policy of '%s'", c->name);
}

/* Returns what the linter said in @text about the instance's own targets, as
 * lines; NULL: nothing. The caller frees it. */
static char *warnings_of(struct change *c, const char *text, size_t len)
{
	SCOPED_JSON items = lint_items(text, len);
	SCOPED_JSON own = c->egress ? json_loads(c->egress, 0, NULL) : NULL;
	SCOPED_JSON about = NULL;
	char *all = NULL, *more;
	size_t i;
	json_t *v;

	if (!items || !own)
		return NULL;
	about = lint_items_about(items, c->name, c->name, own);
	json_array_foreach (about, i, v) {
		const char *line =
			json_string_value(json_object_get(v, "text"));

		more = str_printf("%s%s%s", all ? all : "", all ? "\n" : "",
				  line ? line : "");
		free(all);
		all = more;
	}
	return all;
}

static void change_end(struct change *c, const struct err *err)
{
	c->p->warnings = c->warnings;
	c->fn(c->arg, err);
	c->p->warnings = NULL;
	change_free(c);
}

static void change_fail(struct change *c, int code)
{
	struct err err = { 0 };

	err_set(&err, code, "the gateway: %s", err_text(code));
	change_end(c, &err);
}

static void on_ca(void *arg, const char *text, size_t len,
		  const struct err *err)
{
	struct change *c = arg;
	struct err failed = { 0 };
	int rc;

	if (c->over) {
		change_end(c, NULL);
		return;
	}
	rc = err ? 0 : grants_take_ca(c->p->grants, c->name, text, len);
	if (err) {
		failed = *err;
		err_wrap(&failed, "the CA of '%s'", c->name);
	} else if (rc < 0) {
		err_set(&failed, rc, "the CA of '%s': %s", c->name,
			err_text(rc));
	}
	change_end(c, failed.code < 0 ? &failed : NULL);
}

/* The gateway has been given the one that the run has already. */
static void on_ca_given(void *arg, const char *text, size_t len,
			const struct err *err)
{
	struct change *c = arg;
	struct err failed = { 0 };

	(void)text;
	(void)len;
	if (err && !c->over) {
		failed = *err;
		err_wrap(&failed, "the CA of '%s'", c->name);
	}
	change_end(c, failed.code < 0 ? &failed : NULL);
}

static bool inspects(const char *text, size_t len)
{
	SCOPED_JSON answer = json_loadb(text, len, 0, NULL);

	return json_is_true(json_object_get(answer, "inspects"));
}

/* Gets a CA from the gateway, or gives it the one that there is. */
static void ca_settle(struct change *c, bool wanted)
{
	struct slice bundle = { 0 };
	bool owed = grants_take_owed_ca(c->p->grants, c->name, &bundle);
	int rc;

	if (!owed && (!wanted || !grants_lacks_ca(c->p->grants, c->name))) {
		change_end(c, NULL);
		return;
	}
	rc = gate_call(c->p->client, ADMIN_CA, slice_str(c->name), bundle,
		       owed ? on_ca_given : on_ca, c);
	if (rc < 0)
		change_fail(c, rc);
}

static void on_bound(void *arg, const char *text, size_t len,
		     const struct err *err)
{
	struct change *c = arg;
	struct err failed = { 0 };

	if (err) {
		on_refused(c, text, len, err, &failed);
	} else {
		/* Without its file the policy is lost when the gateway
		 * restarts: a failed write fails the bind. */
		file_put_text(c, &failed);
		c->warnings = warnings_of(c, text, len);
	}
	if (failed.code < 0 || c->over)
		change_end(c, failed.code < 0 ? &failed : NULL);
	else
		ca_settle(c, inspects(text, len));
}

static int bind_send(struct change *c)
{
	return gate_call(c->p->client, ADMIN_BIND, slice_str(c->name),
			 buf_slice(&c->text), on_bound, c);
}

static void on_secrets(void *arg, const char *text, size_t len,
		       const struct err *err)
{
	struct change *c = arg;
	struct err failed = { 0 };
	int rc;

	(void)text;
	(void)len;
	if (c->over) {
		err_set(&failed, -ECANCELED,
			"the policy of '%s': the run has ended", c->name);
		change_end(c, &failed);
		return;
	}
	if (err) {
		failed = *err;
		err_wrap(&failed, "the credentials of '%s'", c->name);
		change_end(c, &failed);
		return;
	}
	rc = bind_send(c);
	if (rc < 0)
		change_fail(c, rc);
}

static int secrets_send(struct change *c, const struct secret_bytes *json)
{
	if (json->len == 0)
		return bind_send(c);
	return gate_call(c->p->client, ADMIN_SECRETS, slice_str(c->name),
			 slice_of(json->p, json->len), on_secrets, c);
}

static void on_logins(void *arg)
{
	struct change *c = arg;
	struct secret_bytes json = { 0 };
	struct err err = { 0 };
	int rc = 0;

	if (!c->over && grants_again(c->p->grants, c->name, &json, &err) == 0)
		rc = secrets_send(c, &json);
	else
		on_secrets(c, "", 0, &err);
	secret_bytes_done(&json);
	if (rc < 0)
		change_fail(c, rc);
}

static int policy_bind(void *arg, const struct instance_record *r,
		       const struct blueprint *bp, instance_fn fn, void *fn_arg,
		       struct err *err)
{
	struct policies *p = arg;
	struct change *c = change_new(p, r->name);
	struct secret_bytes json = { 0 };
	int rc;

	if (!c)
		return err_nomem(err);
	c->fn = fn;
	c->arg = fn_arg;
	if (r->egress_json)
		c->egress = strdup(r->egress_json); /* only for warnings */
	rc = policy_text(p, r, r->egress_json, bp, &c->text, NULL, err);
	if (rc == 0)
		rc = grants_bind(p->grants, r, bp, &json, err);
	if (rc == 0 && !grants_wait(p->grants, r->name, on_logins, c)) {
		rc = secrets_send(c, &json);
		if (rc < 0)
			err_set(err, rc, "the gateway: %s", err_text(rc));
	}
	secret_bytes_done(&json);
	if (rc < 0)
		change_free(c);
	return rc;
}

/* ---- a gateway that starts again, a vault that has changed ---- */

static void on_told(void *arg, const char *text, size_t len,
		    const struct err *err)
{
	(void)arg;
	(void)text;
	(void)len;
	if (err && err->code != -ECANCELED)
		log_warn("tell the gateway of credentials: %s", err->msg);
}

static void tell_secrets(void *arg, const char *name, struct slice json,
			 struct slice bundle, const struct err *err)
{
	struct policies *p = arg;

	(void)bundle;
	if (err)
		log_warn("the credentials of '%s' are not at the gateway: %s",
			 name, err->msg);
	else if (json.len > 0 &&
		 gate_call(p->client, ADMIN_SECRETS, slice_str(name), json,
			   on_told, NULL) < 0)
		log_warn("the credentials of '%s' are not at the gateway",
			 name);
}

static void tell_all(void *arg, const char *name, struct slice json,
		     struct slice bundle, const struct err *err)
{
	struct policies *p = arg;

	if (bundle.len > 0 && gate_call(p->client, ADMIN_CA, slice_str(name),
					bundle, on_told, NULL) < 0)
		log_warn("the CA of '%s' is not at the gateway", name);
	tell_secrets(p, name, json, bundle, err);
}

void policies_gate_up(struct policies *p)
{
	grants_each(p->grants, NULL, tell_all, p);
}

void policies_vault_changed(struct policies *p, const char *credential)
{
	grants_each(p->grants, credential, tell_secrets, p);
}

struct grants *policies_grants(struct policies *p)
{
	return p->grants;
}

/* ---- a credential that a server sent back ---- */

static void on_alarm(void *arg, const char *line, size_t len)
{
	SCOPED_JSON v = json_loadb(line, len, 0, NULL);
	const char *name = jsonx_text_at(v, "agent");
	const char *credential = jsonx_text_at(v, "credential");
	struct policies *p = arg;

	if (grants_revoke(p->grants, name, credential) && p->revoked)
		p->revoked(p->revoked_arg, name, credential,
			   jsonx_text_at(v, "name"));
}

static int policy_on_revoked(void *arg, instance_revoked_fn fn, void *fn_arg)
{
	struct policies *p = arg;

	p->revoked = fn;
	p->revoked_arg = fn_arg;
	return gate_follow(p->client, REFLECTION, on_alarm, p);
}

/* ---- unbind ---- */

static void file_remove(const struct policies *p, const char *name)
{
	SCOPED_STR path = file_of(p, name);

	if (!path || (unlink(path) < 0 && errno != ENOENT))
		log_warn("the policy of '%s' stays in its folder: %s", name,
			 path ? strerror(errno) : "out of memory");
}

static void on_unbound(void *arg, const char *text, size_t len,
		       const struct err *err)
{
	struct change *c = arg;

	(void)text;
	(void)len;
	/* A gateway that is down has nothing bound. */
	if (err && err->code == -EINVAL)
		log_info("unbind '%s': %s", c->name, err->msg);
	file_remove(c->p, c->name);
	change_free(c);
}

static void policy_unbind(void *arg, const char *name)
{
	const struct slice none = { 0 };
	struct policies *p = arg;
	struct change *c;

	LIST_FOREACH (c, &p->changes, link)
		if (strcmp(c->name, name) == 0)
			c->over = true;
	c = change_new(p, name);
	grants_unbind(p->grants, name);
	if (c && gate_call(p->client, ADMIN_UNBIND, slice_str(name), none,
			   on_unbound, c) == 0)
		return;
	file_remove(p, name);
	if (c)
		change_free(c);
}

static const char *policy_warnings(void *arg)
{
	const struct policies *p = arg;

	return p->warnings;
}

static const struct instance_grant *policy_grant(void *arg, const char *name)
{
	const struct policies *p = arg;

	return grants_of(p->grants, name);
}

static json_t *policy_grant_save(void *arg, const char *name)
{
	const struct policies *p = arg;

	return grants_save(p->grants, name);
}

static int policy_grant_load(void *arg, const struct instance_record *r,
			     const json_t *v, struct err *err)
{
	struct policies *p = arg;

	return grants_load(p->grants, r->name, r->blueprint, v, err);
}

const struct instance_egress_ops policy_egress_ops = {
	.bind = policy_bind,
	.unbind = policy_unbind,
	.warnings = policy_warnings,
	.grant = policy_grant,
	.grant_save = policy_grant_save,
	.grant_load = policy_grant_load,
	.on_revoked = policy_on_revoked,
};

struct policies *policies_new(struct gate_client *client, const char *dir,
			      const char *kinds, struct vault *vault,
			      bool (*has_packages)(void), struct err *err)
{
	struct policies *p = calloc(1, sizeof(*p));

	if (!p) {
		err_nomem(err);
		return NULL;
	}
	*p = (struct policies){
		.client = client,
		.dir = dir,
		.has_packages = has_packages,
		.grants = grants_new(vault, kinds, err),
	};
	if (p->grants)
		return p;
	free(p);
	return NULL;
}

void policies_free(struct policies *p)
{
	if (!p)
		return;
	/* Those that wait for a login, which has no more callbacks. */
	while (!LIST_EMPTY(&p->changes))
		change_free(LIST_FIRST(&p->changes));
	grants_free(p->grants);
	free(p);
}
