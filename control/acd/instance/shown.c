/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shown.c - an instance as the API shows it
 */
#include "control/acd/instance/instance_impl.h"

#include <string.h>

#include "control/shared/json.h"

/* Returns its own options; what does not parse shows as none. */
static json_t *stored_egress(const char *text)
{
	struct egress e = { 0 };
	struct err ignored = { 0 };
	json_t *v;

	egress_load(text, &e, &ignored);
	v = egress_json(&e);
	egress_done(&e);
	return v;
}

/* Returns the credentials that were given to it; what does not parse shows as
 * none. That they replace the blueprint's is a word in a request's list, but a
 * member of its own here. */
static json_t *stored_credentials(const char *text, bool *ret_only)
{
	struct credentials l = { 0 };
	struct err ignored = { 0 };
	json_t *v;

	credentials_load(text, &l, &ignored);
	*ret_only = l.only;
	l.only = false;
	v = credentials_json(&l);
	credentials_done(&l);
	return v;
}

/* Returns its init-guard's report of the start, {"check": "ok", ...}; null
 * while nothing runs. */
static json_t *guard_json(const struct instance *in)
{
	const char *const *report = in->session ? session_report(in->session) :
						  NULL;
	json_t *all = report ? json_object() : json_null();

	for (; report && *report; report++) {
		const char *value = strchr(*report, '=');

		if (value)
			json_object_setn_new(all, *report,
					     (size_t)(value - *report),
					     json_string(value + 1));
	}
	return all;
}

json_t *instance_json(struct instance *in)
{
	struct err ignored = { 0 };
	json_t *all;
	int64_t expires;
	bool ready, only;

	/* Without its blueprint, no image is ready. */
	if (!in->image)
		instance_load_blueprint(in, &ignored);
	ready = in->image && build_is_present(in->is->builds, in->image);

	all = instance_record_json(&in->rec);
	expires = instance_expires_at(in);
	if (!all ||
	    json_object_set_new(
		    all, "disk",
		    json_integer((json_int_t)instance_disk_wanted(in))) < 0 ||
	    json_object_set_new(all, "expires_at",
				expires ? json_integer(expires) : json_null()) <
		    0 ||
	    json_object_set_new(all, "egress",
				stored_egress(in->rec.egress_json)) < 0 ||
	    json_object_set_new(all, "credentials",
				stored_credentials(in->rec.credentials_json,
						   &only)) < 0 ||
	    json_object_set_new(all, "credentials_only", json_boolean(only)) <
		    0 ||
	    json_object_set_new(all, "revoked",
				in->policy.revoked ?
					json_incref(in->policy.revoked) :
					json_array()) < 0 ||
	    json_object_set_new(all, "phase", json_string(instance_phase(in))) <
		    0 ||
	    json_object_set_new(all, "guard", guard_json(in)) < 0 ||
	    json_object_set_new(all, "disk_use", instance_disk_json(in)) < 0 ||
	    json_object_set_new(all, "image_ready", json_boolean(ready)) < 0) {
		json_decref(all);
		return NULL;
	}
	return all;
}
