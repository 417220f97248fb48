/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress_calls.c - egress options of a request
 *
 * "egress" replaces the mode and the presets of an instance. "allow" and "deny"
 * add to its lists (an empty list clears it); the last word on a host counts.
 * "services" adds names of services (net/services.h). "model_url" is where its
 * model is (blueprint/model.h). "push" is what becomes of `git push`
 * (credentials.h). "egress_reset" clears all of these first.
 */
#include "control/acd/api/instance_calls.h"

#include <string.h>

#include "control/acd/blueprint/model.h"
#include "control/acd/egress/egress.h"
#include "control/acd/egress/gate.h"
#include "control/acd/net/services.h"
#include "control/shared/json.h"

/* An empty list in the request clears the stored one. */
static void list_clear(const json_t *body, const char *key, struct strv *list)
{
	const json_t *v = json_object_get(body, key);

	if (json_is_array(v) && json_array_size(v) == 0)
		strv_done(list);
}

/* One request must not allow and deny the same: no order tells which counts. */
static int contradiction(const struct strv *allow, const struct strv *deny,
			 struct err *err)
{
	for (size_t i = 0; i < allow->n; i++)
		for (size_t k = 0; k < deny->n; k++)
			if (egress_denial_covers(deny->v[k], allow->v[i]))
				return err_set(err, -EINVAL,
					       "'%.80s' is to be allowed and "
					       "'%.80s' denied: which?",
					       allow->v[i], deny->v[k]);
	return 0;
}

static int lists_apply(const json_t *body, struct egress *e, struct err *err)
{
	struct strv allow = { 0 }, deny = { 0 };
	SCOPED_STR own = NULL;
	int rc = jsonx_strv(body, "allow", EGRESS_TARGETS_MAX, &allow, err);

	if (rc == 0 && allow.n > 0)
		rc = gate_files_own(&own, err);
	if (rc == 0)
		rc = jsonx_strv(body, "deny", EGRESS_TARGETS_MAX, &deny, err);
	if (rc == 0)
		rc = contradiction(&allow, &deny, err);
	list_clear(body, "allow", &e->allow);
	list_clear(body, "deny", &e->deny);
	for (size_t i = 0; rc == 0 && i < allow.n; i++) {
		rc = egress_check_own(allow.v[i], own, err);
		if (rc == 0)
			rc = egress_allow(e, allow.v[i], err);
	}
	for (size_t i = 0; rc == 0 && i < deny.n; i++)
		rc = egress_deny(e, deny.v[i], err);
	strv_done(&allow);
	strv_done(&deny);
	return rc;
}

/* A preset in @had that does not exist any more is left out: the client repeats
 * what was stored. */
static int word_apply(const char *word, const struct strv *had,
		      struct egress *e, struct err *err)
{
	enum egress_mode mode;
	struct egress check = { 0 };
	int rc = 0;

	if (egress_mode_parse(word, &mode) < 0)
		rc = egress_add_preset(&check, word, err);
	egress_done(&check);
	if (rc < 0 || egress_mode_parse(word, &mode) == 0 ||
	    gate_files_have_preset(word))
		return rc < 0 ? rc : egress_add_word(e, word, err);
	if (strv_has(had, word))
		return 0;
	return err_set(
		err, -EINVAL,
		"there is no preset '%.64s'; `ac presets` lists what there is",
		word);
}

static int words_apply(const json_t *body, struct egress *e, struct err *err)
{
	struct strv all = { 0 }, had = { 0 };
	int rc;

	if (!json_object_get(body, "egress"))
		return 0;
	rc = jsonx_strv(body, "egress", EGRESS_PRESETS_MAX, &all, err);
	if (rc == 0) {
		e->mode = EGRESS_UNSET;
		had = e->presets;
		e->presets = (struct strv){ 0 };
	}
	for (size_t i = 0; rc == 0 && i < all.n; i++)
		rc = word_apply(all.v[i], &had, e, err);
	strv_done(&had);
	strv_done(&all);
	return rc;
}

/* One that was stored may not exist any more: the client repeats it. */
static int service_apply(const char *name, struct egress *e, struct err *err)
{
	int rc = services_ready(err);

	if (rc < 0)
		return rc;
	if (strcmp(name, SERVICE_NONE) == 0 || services_find(name))
		return egress_add_service(e, name, err);
	if (strv_has(&e->services, name))
		return 0;
	return err_set(err, -EINVAL,
		       "there is no service '%.64s': `ac service ls` shows "
		       "those there are, `ac service add` adds one",
		       name);
}

/* An empty list, and the word "none" in it, clear those before. */
static int services_apply(const json_t *body, struct egress *e, struct err *err)
{
	struct strv all = { 0 };
	int rc = jsonx_strv(body, "services", EGRESS_SERVICES_MAX, &all, err);

	list_clear(body, "services", &e->services);
	for (size_t i = 0; rc == 0 && i < all.n; i++)
		rc = service_apply(all.v[i], e, err);
	strv_done(&all);
	return rc;
}

/* "" clears it. A service that is there is named by it. */
static int model_apply(const json_t *body, struct egress *e, struct err *err)
{
	const char *url = NULL;
	const struct service *s;
	char host[254];
	uint16_t port;
	int rc = jsonx_str(body, "model_url", NULL, &url, err);

	if (rc < 0 || !url)
		return rc;
	if (*url)
		rc = model_url_split(url, host, &port, err);
	s = rc == 0 && *url ? services_at(host, port) : NULL;
	if (rc == 0 && *url && !s && services_own(host))
		rc = err_set(err, -EINVAL,
			     "no service is at %s: `ac service ls` shows them, "
			     "`ac service add` makes one",
			     url);
	if (rc < 0)
		return rc;
	free(e->model_url);
	e->model_url = *url ? strdup(url) : NULL;
	if (!*url)
		return 0;
	if (!e->model_url)
		return err_nomem(err);
	return s ? egress_add_service(e, s->name, err) : 0;
}

/* "" clears it. */
static int push_apply(const json_t *body, struct egress *e, struct err *err)
{
	const char *push = NULL;
	int rc = jsonx_str(body, "push", NULL, &push, err);

	if (rc < 0 || !push)
		return rc;
	e->push = PUSH_UNSET;
	if (*push && git_push_parse(push, &e->push) < 0)
		return err_set(err, -EINVAL, "push is ask, allow or deny");
	return 0;
}

int api_egress_apply(const json_t *body, const char *stored, char **ret,
		     struct err *err)
{
	struct egress e = { 0 };
	bool reset = false;
	int rc = jsonx_bool(body, "egress_reset", false, &reset, err);

	if (rc == 0)
		rc = egress_load(reset ? NULL : stored, &e, err);
	if (rc == 0)
		rc = words_apply(body, &e, err);
	if (rc == 0)
		rc = lists_apply(body, &e, err);
	if (rc == 0)
		rc = services_apply(body, &e, err);
	if (rc == 0)
		rc = model_apply(body, &e, err);
	if (rc == 0)
		rc = push_apply(body, &e, err);
	if (rc == 0 && egress_is_empty(&e)) {
		*ret = NULL;
	} else if (rc == 0) {
		*ret = egress_store(&e);
		if (!*ret)
			rc = err_nomem(err);
	}
	egress_done(&e);
	return rc;
}
