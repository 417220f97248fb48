/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mounts_fakes.h - mounts that are none; a part of instance_world.h
 */
#ifndef TESTS_UNIT_CONTROL_ACD_INSTANCE_MOUNTS_FAKES_H
#define TESTS_UNIT_CONTROL_ACD_INSTANCE_MOUNTS_FAKES_H

int mounts_prepare(const struct mounts_spec *spec, struct mounts_paths *ret,
		   struct err *err)
{
	if (fake.prepare_error)
		return err_set(err, fake.prepare_error, "no mounts today");
	fake.prepared++;
	*ret = (struct mounts_paths){ 0 };
	snprintf(ret->workspace, sizeof(ret->workspace), "/m/%s/w", spec->name);
	snprintf(ret->home, sizeof(ret->home), "/m/%s/h", spec->name);
	return 0;
}

void mounts_release(const char *name)
{
	(void)name;
	fake.released++;
}

void mounts_disk_path(const char *name, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "/m/%s/disk", name);
}

void mounts_skills_path(const char *name, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s/skills", fake.is->dir, name);
}

void mounts_home_path(const char *name, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s/home", fake.is->dir, name);
}

char *mounts_uncovered(const char *name, const struct strv *blocked)
{
	(void)name;
	(void)blocked;
	return NULL;
}

void mounts_place(const char *name, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "/run/mnt/%s", name);
}

int mounts_rename(const char *name, const char *to)
{
	snprintf(fake.renamed, sizeof(fake.renamed), "%s %s", name, to);
	return 0;
}

void mounts_mnt_path(const char *name, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "/m/%s/mnt", name);
}

void mounts_extra_path(const char *name, const char *to, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "/m/%s/mounts%s", name, to + strlen("/mnt"));
}

bool mounts_has_extra(const char *name, const char *to)
{
	return fake.extras_here && name && to;
}

void mounts_forget_extras(const char *name)
{
	fake.forgotten_extras += name != NULL;
}

bool mounts_has_external(const char *name)
{
	(void)name;
	return fake.external_here;
}

void mounts_forget_external(const char *name)
{
	(void)name;
	fake.external_here = false;
}

void mounts_keep_external(const char *name, dev_t dev, ino_t ino)
{
	(void)name;
	(void)dev;
	if (ino != fake.external_ino)
		fake.external_here = false;
}

#endif
