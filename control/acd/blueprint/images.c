/* SPDX-License-Identifier: Apache-2.0 */
/*
 * images.c - finds out which images of blueprints the engine has
 *
 * Asked once, when the engine has come up, so that "ready" is right after a
 * restart of acd. This does not tell whether an image's inputs have changed, so
 * a run still ensures the image.
 */
#include "control/acd/blueprint/images.h"

#include <stdlib.h>
#include <string.h>

#include "control/acd/blueprint/blueprint.h"
#include "lib/log.h"
#include "lib/str.h"

struct look {
	struct builds *builds;
	char *image;
};

static void look_free(struct look *l)
{
	if (l)
		free(l->image);
	free(l);
}

static void look_done(void *arg, uint64_t bytes, const struct err *err)
{
	struct look *l = arg;

	if (!err)
		build_note(l->builds, l->image, bytes);
	look_free(l);
}

void image_look(struct runtime *rt, struct builds *builds, const char *image)
{
	SCOPED_STR name = str_printf("ac/%s:latest", image);
	struct look *l = rt->ops->has_image ? calloc(1, sizeof(*l)) : NULL;

	if (l) {
		l->builds = builds;
		l->image = strdup(image);
	}
	if (!name || !l || !l->image ||
	    rt->ops->has_image(rt, name, look_done, l) < 0)
		look_free(l);
}

void images_look(struct runtime *rt, struct builds *builds)
{
	struct strv names = { 0 };
	struct err err = { 0 };
	size_t i;

	if (!rt->ops->has_image)
		return;
	if (blueprint_names(&names, &err) < 0)
		log_debug("images: %s", err.msg);
	for (i = 0; i < names.n; i++) {
		struct blueprint bp = { 0 };

		if (blueprint_load(names.v[i], &bp, &err) < 0)
			continue; /* listing the blueprint reports it */
		image_look(rt, builds, bp.image);
		blueprint_done(&bp);
	}
	strv_done(&names);
}
