/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_bind.c - the policy of an instance, for as long as it runs
 *
 * Theory of operation: the policy is bound before the sandbox is started and
 * unbound after the sandbox is removed. So a sandbox never has an address that
 * the gateway takes for another instance's.
 */
#include "control/acd/instance/instance_impl.h"

#include <string.h>

#include "control/acd/egress/gate.h"
#include "control/acd/egress/presets.h"
#include "control/shared/json.h"
#include "lib/log.h"
#include "lib/str.h"

#define PRESETS_OWN AC_STATE_POLICY "/policy.yaml"

struct egress_change {
	struct instance *in; /* NULL: it is gone */
	char *json;
	instance_fn fn;
	void *arg;
};

/* ---- at the start ---- */

struct instance_grant instance_grant(const struct instance *in)
{
	const struct instances *is = in->is;
	const struct instance_grant *g =
		is->egress && is->egress->grant ?
			is->egress->grant(is->egress_arg, in->rec.name) :
			NULL;

	return g ? *g : (struct instance_grant){ 0 };
}

static void warnings_keep(struct instance *in)
{
	const struct instances *is = in->is;
	const char *own = instance_grant(in).warnings;
	const char *text = is->egress && is->egress->warnings ?
				   is->egress->warnings(is->egress_arg) :
				   NULL;

	free(in->policy.warnings);
	/* Without memory the warnings are lost. */
	in->policy.warnings = own || text ? str_printf("%s%s%s", own ? own : "",
						       own && text ? "\n" : "",
						       text ? text : "") :
					    NULL;
}

static void egress_bound(void *arg, const struct err *err)
{
	warnings_keep(arg);
	step_done(arg, err);
}

int instance_egress_begin(struct instance *in, struct err *err)
{
	struct instances *is = in->is;
	int rc;

	if (!is->egress)
		return err_set(err, -ENOTSUP, "there is no gateway");
	json_decref(ptr_take(&in->policy.revoked));
	in->policy.vault_over = false;
	rc = instance_memory_grant(in, err);
	if (rc == 0)
		rc = is->egress->bind(is->egress_arg, &in->rec, &in->bp,
				      egress_bound, in, err);
	if (rc < 0 && in->asked.options.memory)
		is->egress->unbind(is->egress_arg, in->rec.name);
	return rc < 0 ? rc : STEP_WAITS;
}

int instance_egress_undo(struct instance *in, struct err *err)
{
	(void)err;
	if (in->is->egress)
		in->is->egress->unbind(in->is->egress_arg, in->rec.name);
	return 0;
}

void instance_egress_notice(struct instance *in)
{
	char *rest = in->policy.warnings, *line;
	struct egress own = { 0 }, all = { 0 };
	struct err ignored = { 0 };
	SCOPED_STR risk = NULL;
	SCOPED_STR open = str_printf(
		"egress open: it reaches every host that is not denied, and "
		"all of that is written down; 'ac policy learn %s' makes a "
		"policy of it",
		in->rec.name);

	/* Without `packages`, which comes with the mode. */
	if (egress_load(in->rec.egress_json, &own, &ignored) == 0 &&
	    egress_merge(&in->bp.egress, &own, false, &all) == 0)
		risk = presets_warning(GATE_PRESETS, PRESETS_OWN, &all.presets);
	if (open && all.mode == EGRESS_OPEN)
		run_notice(in->main, LOG_LVL_INFO, open);
	else if (risk)
		run_notice(in->main, LOG_LVL_INFO, risk);
	egress_done(&all);
	egress_done(&own);
	while ((line = strsep(&rest, "\n")))
		run_notice(in->main, LOG_LVL_INFO, line);
	free(ptr_take(&in->policy.warnings));
}

/* ---- a server has sent a credential back ---- */

static void credential_tell(struct instance *in, const char *text)
{
	log_warn("%s: %s", in->rec.name, text);
	instance_tell_breach(in, "credential", text);
	if (in->main)
		run_notice(in->main, LOG_LVL_WARN, text);
}

static void login_tell(struct instance *in, const char *credential)
{
	SCOPED_STR text = str_printf("login '%s' is over, and the rest of this "
				     "run goes without it: `ac vault ls` says "
				     "what to do",
				     credential);

	if (text)
		credential_tell(in, text);
}

void instances_revoked(void *arg, const char *name, const char *credential,
		       const char *host)
{
	struct instance *in = instance_find(arg, name);
	SCOPED_STR shown = NULL;
	char clean[300];

	if (!in)
		return;
	if (!host) {
		login_tell(in, credential);
		return;
	}
	if (!in->policy.revoked)
		in->policy.revoked = json_array();
	json_array_append_new(in->policy.revoked,
			      json_pack("{s:o, s:o, s:I}", "credential",
					jsonx_text(credential), "host",
					jsonx_text(host), "at",
					(json_int_t)time(NULL)));
	str_escape(clean, sizeof(clean), host, strlen(host));
	shown = str_printf("%s sent the real value of credential '%s' back in "
			   "another encoding: it is revoked for the rest of "
			   "this run; give it a new value with: ac vault "
			   "rotate %s",
			   clean, credential, credential);
	if (!shown)
		return;
	credential_tell(in, shown);
}

/* ---- vaultd has ended ---- */

/* The text is acd's own: a sandbox must not write notices. */
void instance_egress_vault_over(struct instance *in)
{
	const char *name = in->rec.name;
	SCOPED_STR text = NULL;

	if (in->policy.vault_over)
		return;
	in->policy.vault_over = true;
	text = str_printf("vaultd has ended in this sandbox: git, gh and glab "
			  "get no credential for the rest of this run; "
			  "credentials in variables work as before. For a new "
			  "one: ac stop-instance %s, then ac run",
			  name);
	if (!text)
		return;
	credential_tell(in, text);
}

/* ---- a change while it runs ---- */

static int change_store(struct instance *in, char **json, struct err *err)
{
	char *old = in->rec.egress_json;
	int rc;

	in->rec.egress_json = *json;
	rc = instance_save(in, err);
	if (rc < 0) {
		in->rec.egress_json = old;
		return rc;
	}
	*json = NULL;
	free(old);
	transactions_policy_set(in);
	return 0;
}

static void change_free(struct egress_change *c)
{
	free(c->json);
	free(c);
}

static void change_bound(void *arg, const struct err *err)
{
	struct egress_change *c = arg;
	struct instance *in = c->in;
	struct err failed = { 0 };

	if (in)
		in->policy.change = NULL;
	if (err)
		failed = *err;
	else if (!in)
		err_set(&failed, -ENOENT, "the instance is gone");
	else
		change_store(in, &c->json, &failed);
	c->fn(c->arg, failed.code < 0 ? &failed : NULL);
	change_free(c);
}

/* Binds the policy of the record as @c would make it. */
static int change_bind(struct instance *in, struct egress_change *c,
		       struct err *err)
{
	const struct instance_egress_ops *ops = in->is->egress;
	struct instance_record r = in->rec;

	r.egress_json = c->json;
	return ops->bind(in->is->egress_arg, &r, &in->bp, change_bound, c, err);
}

static int change_refusal(const struct instance *in, struct err *err)
{
	const char *name = in->rec.name;

	if (instance_is_leaving(in))
		return err_set(err, -EBUSY,
			       "the files of '%s' are being "
			       "removed",
			       name);
	if (in->policy.change)
		return err_set(err, -EBUSY,
			       "another change of the policy of "
			       "'%s' is under way",
			       name);
	/* A stopping instance keeps its policy to its end; what is stored now
	 * is for the next run. */
	if (in->rec.state == INSTANCE_STARTING)
		return err_set(err, -EBUSY,
			       "'%s' is starting; try again in a moment", name);
	return 0;
}

int instance_set_egress(struct instance *in, const char *json, instance_fn fn,
			void *arg, struct err *err)
{
	struct egress_change *c;
	int rc = change_refusal(in, err);

	if (rc < 0)
		return rc;
	c = calloc(1, sizeof(*c));
	if (c && json)
		c->json = strdup(json);
	if (!c || (json && !c->json)) {
		free(c);
		return err_nomem(err);
	}
	c->in = in;
	c->fn = fn;
	c->arg = arg;
	if (instance_is_up(in)) {
		rc = change_bind(in, c, err);
		if (rc == 0)
			in->policy.change = c;
		else
			change_free(c);
		return rc;
	}
	/* First what may fail without a trace. */
	rc = instances_later(in->is, fn, arg, NULL);
	if (rc < 0) {
		err_nomem(err);
	} else {
		rc = change_store(in, &c->json, err);
		if (rc < 0)
			instances_not_later(in->is, fn, arg);
	}
	change_free(c);
	return rc;
}

void instance_egress_free(struct instance *in)
{
	if (in->policy.change)
		in->policy.change->in = NULL;
	free(ptr_take(&in->policy.warnings));
	json_decref(ptr_take(&in->policy.revoked));
}
