/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_use.c - which instance uses which volume, and who writes to it
 *
 * A sandbox has what its blueprint in memory says, from the check of its start
 * until it is removed: nothing changes that meanwhile. So who writes is read from
 * there, and needs no lock that could stay behind.
 */
#include "control/acd/instance/volume_use.h"

#include <stdlib.h>
#include <string.h>

#include "control/acd/instance/instance_impl.h"
#include "control/acd/storage/volumes.h"
#include "control/shared/json.h"
#include "control/shared/volume.h"
#include "lib/log.h"

int volume_use_add(const struct instance_record *r, struct blueprint *bp,
		   struct err *err)
{
	struct volume_use v[VOLUME_USES_MAX];
	size_t n = 0;
	int rc = volume_load(r->volumes_json, v, &n, err);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct blueprint_mount m = { .volume = strdup(v[i].name),
					     .to = strdup(v[i].to),
					     .live = !v[i].ro };

		if (!m.volume || !m.to) {
			blueprint_mount_done(&m);
			return err_nomem(err);
		}
		rc = blueprint_mount_put(bp, &m);
		if (rc == -ENOMEM)
			err_nomem(err);
		else if (rc < 0)
			rc = err_set(
				err, -EINVAL,
				"'%s' would have more than %u mounts with the "
				"volume '%s'",
				r->name, BLUEPRINT_MOUNTS_MAX, v[i].name);
	}
	return rc;
}

/* Returns true if a sandbox of @in exists, or may. */
static bool has_sandbox(const struct instance *in)
{
	return instance_is_live(in) || in->rec.container_id;
}

/* Returns the other instance whose sandbox writes to @volume, or NULL. */
static const struct instance *writer_of(const struct instance *in,
					const char *volume)
{
	const struct instance *other;

	TAILQ_FOREACH (other, &in->is->all, link) {
		/* @in itself may not be in the set yet. */
		if (!has_sandbox(other) ||
		    strcmp(other->rec.name, in->rec.name) == 0)
			continue;
		for (size_t i = 0; i < other->bp.n_mounts; i++) {
			const struct blueprint_mount *m = &other->bp.mounts[i];

			if (m->volume && m->live &&
			    strcmp(m->volume, volume) == 0)
				return other;
		}
	}
	return NULL;
}

int volume_use_check(const struct instance *in, struct err *err)
{
	for (size_t i = 0; i < in->bp.n_mounts; i++) {
		const struct blueprint_mount *m = &in->bp.mounts[i];
		const struct instance *writer;
		struct volume found;
		int rc;

		if (!m->volume)
			continue;
		rc = volume_find(m->volume, &found, err);
		if (rc < 0)
			return rc;
		writer = m->live ? writer_of(in, m->volume) : NULL;
		if (!writer)
			continue;
		err_set(err, -EBUSY,
			"'%s' writes to the volume '%s', and one instance at a "
			"time may: `ac stop-instance %s` ends that, `--volume "
			"%s:%s:ro` reads beside it",
			writer->rec.name, m->volume, writer->rec.name,
			m->volume, m->to);
		return err_name(err, VOLUME_IN_USE);
	}
	return 0;
}

/* ---- who uses them ---- */

/* The volumes of a blueprint, which many instances may have. */
struct known {
	struct known *next;
	struct blueprint bp;
	char *name;
};

static void known_free(struct known *k)
{
	while (k) {
		struct known *next = k->next;

		blueprint_done(&k->bp);
		free(k->name);
		free(k);
		k = next;
	}
}

/* Returns the blueprint of that name, which is read once; empty if it cannot be.
 * NULL without memory. A project's own blueprint may not have volumes. */
static const struct blueprint *known_get(struct known **all, const char *name)
{
	struct err ignored = { 0 };
	struct known *k = *all;

	while (k && strcmp(k->name, name) != 0)
		k = k->next;
	if (k)
		return &k->bp;
	k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	k->name = strdup(name);
	if (!k->name) {
		free(k);
		return NULL;
	}
	blueprint_load(name, &k->bp, &ignored);
	k->next = *all;
	*all = k;
	return &k->bp;
}

/* Adds that @in uses @volume; once, as the writer that it is at one place. */
static int user_put(json_t *all, const struct instance *in, const char *volume,
		    bool writes, bool running)
{
	json_t *users = json_object_get(all, volume);
	json_t *last = json_array_get(users, json_array_size(users) - 1);
	int bad = 0;

	if (!users) {
		users = json_array();
		if (json_object_set_new(all, volume, users) < 0)
			return -ENOMEM;
	}
	if (!last ||
	    strcmp(jsonx_text_at(last, "instance"), in->rec.name) != 0) {
		last = json_pack("{s:s, s:s, s:b}", "instance", in->rec.name,
				 "mode", "ro", "running", 0);
		if (!last || json_array_append_new(users, last) < 0)
			return -ENOMEM;
	}
	if (writes)
		bad |= json_object_set_new(last, "mode", json_string("rw"));
	if (running)
		bad |= json_object_set_new(last, "running", json_true());
	return bad ? -ENOMEM : 0;
}

/* Adds those of @bp, except where @own shows another one. */
static int users_of(json_t *all, const struct instance *in,
		    const struct blueprint *bp, const struct volume_use *own,
		    size_t n, bool running)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < bp->n_mounts; i++) {
		const struct blueprint_mount *m = &bp->mounts[i];
		size_t k = 0;

		while (k < n && strcmp(own[k].to, m->to) != 0)
			k++;
		if (m->volume && k == n)
			rc = user_put(all, in, m->volume, m->live, running);
	}
	return rc;
}

static int uses_of(json_t *all, const struct instance *in, struct known **known)
{
	const struct blueprint *bp = known_get(known, in->rec.blueprint);
	struct volume_use own[VOLUME_USES_MAX];
	struct err ignored = { 0 };
	size_t n = 0;
	int rc = 0;

	if (!bp)
		return -ENOMEM;
	/* A damaged list is no use: no run starts with it. */
	volume_load(in->rec.volumes_json, own, &n, &ignored);
	if (has_sandbox(in))
		rc = users_of(all, in, &in->bp, NULL, 0, true);
	/* A run that waits for the end of the last one has been asked for with
	 * these. */
	if (rc == 0)
		rc = users_of(all, in, bp, own, n, in->next.fn);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = user_put(all, in, own[i].name, !own[i].ro, in->next.fn);
	return rc;
}

json_t *volume_use_all(struct instances *is)
{
	SCOPED_JSON all = json_object();
	struct known *known = NULL;
	const struct instance *in;
	int rc = all ? 0 : -ENOMEM;

	TAILQ_FOREACH (in, &is->all, link) {
		if (rc == 0)
			rc = uses_of(all, in, &known);
	}
	known_free(known);
	return rc < 0 ? NULL : json_incref(all);
}

/* ---- a volume that goes ---- */

static int take(struct instance *in, const char *name, struct err *err)
{
	struct volume_use v[VOLUME_USES_MAX];
	struct err ignored = { 0 };
	char *text = NULL, *old = in->rec.volumes_json;
	size_t n = 0, left = 0;
	int rc;

	if (volume_load(old, v, &n, &ignored) < 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(v[i].name, name) != 0)
			v[left++] = v[i];
	}
	if (left == n)
		return 0;
	text = left > 0 ? volume_store(v, left) : NULL;
	if (left > 0 && !text)
		return err_nomem(err);
	in->rec.volumes_json = text;
	rc = instance_save(in, err);
	if (rc < 0)
		in->rec.volumes_json = old;
	free(rc < 0 ? text : old);
	return rc;
}

static int forget(struct instances *is, const char *name, struct err *err)
{
	struct instance *in;
	int rc = 0;

	TAILQ_FOREACH (in, &is->all, link) {
		if (rc == 0)
			rc = take(in, name, err);
	}
	return rc;
}

/* The volume leaves its place before the first record changes: a name that the
 * next start finds taken says what is left to do. */
int volume_use_drop(struct instances *is, const char *name, char **ret,
		    struct err *err)
{
	int rc = volume_take(name, err);

	if (rc < 0)
		return rc;
	rc = forget(is, name, err);
	if (rc == 0)
		return volume_drop(name, ret, err);
	/* If this fails, the next start removes it. */
	if (volume_take_undo(name) == 0)
		err_wrap(err, "the volume '%s' stays", name);
	return rc;
}

void volume_use_recover(struct instances *is)
{
	struct strv names = { 0 };
	int rc = volumes_taken(&names);

	if (rc < 0)
		log_error("volumes: %s", err_text(rc));
	for (size_t i = 0; i < names.n; i++) {
		SCOPED_STR gone = NULL;
		struct err err = { 0 };

		if (forget(is, names.v[i], &err) < 0 ||
		    volume_drop(names.v[i], &gone, &err) < 0)
			log_error("%s", err.msg);
		else
			log_info("volume '%s' is removed", names.v[i]);
	}
	strv_done(&names);
}
