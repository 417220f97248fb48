/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.c - the changes of an instance in its copy of the user's directory
 */
#include "control/acd/instance/instance_impl.h"

#include <unistd.h>

#include "control/acd/storage/disk.h"
#include "control/acd/storage/layer.h"
#include "control/acd/storage/mounts.h"

int instance_layer_send(struct instance *in, int out, treejob_fn fn, void *arg,
			struct treejob **ret, struct err *err)
{
	char disk[PATH_MAX];
	SCOPED_STR own = instance_path(in, "layer");
	SCOPED_STR inside = NULL;
	SCOPED_STR image = instance_path(in, "disk.img");
	struct layer_source source = { .out = TREEJOB_OUT_FD,
				       .at = disk,
				       .blocked = &in->bp.blocked_paths };

	mounts_disk_path(in->rec.name, disk);
	inside = str_printf("%s/layer", disk);
	if (!own || !inside || !image)
		return err_nomem(err);
	if (instance_files_go(in))
		return err_set(err, -EBUSY,
			       "the files of '%s' are being "
			       "removed",
			       in->rec.name);
	/* It says what is blocked. Without it, what its last run knew. A sandbox
	 * that is left, and its volumes, are those of its last run. */
	if (!instance_is_live(in) && !in->rec.container_id &&
	    instance_load_blueprint(in, err) < 0 && !in->bp.name)
		return err_wrap(err, "which paths are blocked is not known");
	source.dir = own;
	if (instance_disk_is_file(in) && !instance_is_live(in)) {
		source.image = image;
	} else if (instance_disk_is_file(in)) {
		if (access(inside, F_OK) < 0)
			return err_set(err, -EBUSY,
				       "'%s' is starting or "
				       "stopping: try again",
				       in->rec.name);
		source.dir = inside;
		source.must = true;
	}
	return treejob_run_to(in->is->loop, layer_send, &source, out, fn, arg,
			      ret, err);
}
