/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_bind.c - what an instance may reach, for as long as it runs
 *
 * Theory of operation: the policy is bound before the sandbox is started and
 * taken away when it is gone, so a sandbox never has an address that means
 * somebody else to the gateway. While a bind is under way at the start, an end
 * waits for the answer, as for the runtime's.
 */
#include "control/acd/instance/instance_impl.h"

#include <string.h>

#include "control/shared/json.h"
#include "lib/log.h"
#include "lib/str.h"

struct wishes {
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

	free(in->warnings);
	/* Only told: what there is no memory for is lost. */
	in->warnings = own || text ? str_printf("%s%s%s", own ? own : "",
						own && text ? "\n" : "",
						text ? text : "") :
				     NULL;
}

static void egress_bound(void *arg, const struct err *err)
{
	struct instance *in = arg;
	struct mounts_paths *paths = ptr_take(&in->paths);

	in->waits = WAIT_NONE;
	warnings_keep(in);
	if (err && !in->end_wanted)
		in->why = *err;
	if (err || in->end_wanted ||
	    instance_start_bound(in, paths, &in->why) < 0)
		instance_start_failed(in);
	free(paths);
}

int instance_egress_begin(struct instance *in, const struct mounts_paths *paths,
			  struct err *err)
{
	struct instances *is = in->is;
	int r;

	if (!is->egress)
		return err_set(err, -ENOTSUP, "there is no gateway");
	json_decref(ptr_take(&in->revoked));
	in->vault_over = false;
	in->paths = malloc(sizeof(*in->paths));
	if (!in->paths)
		return err_nomem(err);
	*in->paths = *paths;
	r = is->egress->bind(is->egress_arg, &in->rec, &in->bp, egress_bound,
			     in, err);
	if (r < 0)
		free(ptr_take(&in->paths));
	else
		in->waits = WAIT_POLICY;
	return r;
}

void instance_egress_end(struct instance *in)
{
	if (in->is->egress)
		in->is->egress->unbind(in->is->egress_arg, in->rec.name);
}

void instance_egress_notice(struct instance *in)
{
	char *rest = in->warnings, *line;
	struct egress own = { 0 }, all = { 0 };
	struct err ignored = { 0 };
	SCOPED_STR open = str_printf(
		"egress open: it reaches every host that is not denied, and "
		"all of that is written down; 'ac policy learn %s' makes a "
		"policy of it",
		in->rec.name);

	if (open && egress_load(in->rec.egress_json, &own, &ignored) == 0 &&
	    egress_merge(&in->bp.egress, &own, false, &all) == 0 &&
	    all.mode == EGRESS_OPEN)
		run_notice(in->main, LOG_LVL_INFO, open);
	egress_done(&all);
	egress_done(&own);
	while ((line = strsep(&rest, "\n")))
		run_notice(in->main, LOG_LVL_INFO, line);
	free(ptr_take(&in->warnings));
}

/* ---- a server has sent a credential back ---- */

/* In the log, as an event, and to those who see the run. */
static void credential_tell(struct instance *in, const char *text)
{
	log_warn("%s: %s", in->rec.name, text);
	instance_tell_breach(in, "credential", text);
	if (in->main)
		run_notice(in->main, LOG_LVL_WARN, text);
}

void instance_egress_revoked(void *arg, const char *name,
			     const char *credential, const char *host)
{
	struct instance *in = instance_find(arg, name);
	SCOPED_STR shown = NULL;
	char clean[300];

	if (!in)
		return;
	if (!in->revoked)
		in->revoked = json_array();
	json_array_append_new(in->revoked,
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

/* The words are ours: what a guest says is no notice. */
void instance_egress_vault_over(struct instance *in)
{
	const char *name = in->rec.name;
	SCOPED_STR text = NULL;

	if (in->vault_over)
		return;
	in->vault_over = true;
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

static int wishes_store(struct instance *in, char **json, struct err *err)
{
	char *old = in->rec.egress_json;
	int r;

	in->rec.egress_json = *json;
	r = instance_save(in, err);
	if (r < 0) {
		in->rec.egress_json = old;
		return r;
	}
	*json = NULL;
	free(old);
	return 0;
}

static void wishes_free(struct wishes *w)
{
	free(w->json);
	free(w);
}

static void wishes_bound(void *arg, const struct err *err)
{
	struct wishes *w = arg;
	struct instance *in = w->in;
	struct err failed = { 0 };

	if (in)
		in->wishes = NULL;
	if (err)
		failed = *err;
	else if (!in)
		err_set(&failed, -ENOENT, "the instance is gone");
	else
		wishes_store(in, &w->json, &failed);
	w->fn(w->arg, failed.code < 0 ? &failed : NULL);
	wishes_free(w);
}

/* The record as it would be with @w. */
static int wishes_bind(struct instance *in, struct wishes *w, struct err *err)
{
	const struct instance_egress_ops *ops = in->is->egress;
	struct instance_record r = in->rec;

	r.egress_json = w->json;
	return ops->bind(in->is->egress_arg, &r, &in->bp, wishes_bound, w, err);
}

static int wishes_refusal(const struct instance *in, struct err *err)
{
	const char *name = in->rec.name;

	if (in->tree || in->clean != CLEAN_NOT)
		return err_set(err, -EBUSY,
			       "the files of '%s' are being "
			       "removed",
			       name);
	if (in->wishes)
		return err_set(err, -EBUSY,
			       "another change of the policy of "
			       "'%s' is under way",
			       name);
	/* One that stops has its policy for its last moment: what is stored
	 * now is for the next run. */
	if (in->rec.state == INSTANCE_STARTING)
		return err_set(err, -EBUSY,
			       "'%s' is starting; try again in a moment", name);
	return 0;
}

int instance_set_wishes(struct instance *in, const char *json, instance_fn fn,
			void *arg, struct err *err)
{
	struct wishes *w;
	int r = wishes_refusal(in, err);

	if (r < 0)
		return r;
	w = calloc(1, sizeof(*w));
	if (w && json)
		w->json = strdup(json);
	if (!w || (json && !w->json)) {
		free(w);
		return err_nomem(err);
	}
	w->in = in;
	w->fn = fn;
	w->arg = arg;
	if (instance_is_up(in)) {
		r = wishes_bind(in, w, err);
		if (r == 0)
			in->wishes = w;
		else
			wishes_free(w);
		return r;
	}
	r = wishes_store(in, &w->json, err);
	if (r == 0 && instances_later(in->is, fn, arg, NULL) < 0)
		r = err_nomem(err);
	wishes_free(w);
	return r;
}

void instance_egress_free(struct instance *in)
{
	if (in->wishes)
		in->wishes->in = NULL;
	free(ptr_take(&in->paths));
	free(ptr_take(&in->warnings));
	json_decref(ptr_take(&in->revoked));
}
