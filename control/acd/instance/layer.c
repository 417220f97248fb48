/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.c - the changes of an instance in its copy of the user's directory
 */
#include "control/acd/instance/instance_impl.h"

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
	struct err ignored = { 0 };

	mounts_disk_path(in->rec.name, disk);
	inside = str_printf("%s/layer", disk);
	if (!own || !inside || !image)
		return err_nomem(err);
	/* Without its blueprint, by what its last run knew. */
	if (!instance_is_live(in))
		(void)instance_load_blueprint(in, &ignored);
	source.dir = own;
	if (instance_disk_is_file(in) && instance_is_live(in))
		source.dir = inside;
	else if (instance_disk_is_file(in))
		source.image = image;
	return treejob_run_to(in->is->loop, layer_send, &source, out, fn, arg,
			      ret, err);
}
