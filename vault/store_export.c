/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_export.c - the store's entries as one sealed image, for another machine
 */
#include "vault/store.h"

int vstore_export(struct vstore *v, const struct vstore_pass *pass,
		  struct buf *out, struct err *err)
{
	int rc = vstore_load(v, err);

	if (rc < 0)
		return rc;
	rc = vstore_seal(vstore_entries(v), &pass->head, pass->key, out);
	return rc < 0 ? err_set(err, rc, "export: %s", err_text(rc)) : 0;
}

static int import_explain(int rc, struct err *err)
{
	switch (rc) {
	case 0:
		return 0;
	case -EBADMSG:
		err_set(err, rc, "this is no export, or it is damaged");
		return err_name(err, VSTORE_NO_EXPORT);
	case -EPROTONOSUPPORT:
		return err_set(err, rc, "a newer ac made this export");
	case -EKEYREJECTED:
		return err_set(err, rc, "the passphrase is wrong");
	default:
		return err_set(err, rc, "import: %s", err_text(rc));
	}
}

int vstore_import_head(struct slice image, struct vstore_head *ret,
		       struct err *err)
{
	struct vstore_head head;
	int rc = vstore_head_read(image, &head);

	if (rc < 0)
		return import_explain(rc, err);
	if (head.source != VSTORE_PASSPHRASE)
		return err_set(
			err, -EINVAL,
			"this is a store with a key file, not an export");
	*ret = head;
	return 0;
}

int vstore_import(struct vstore *v, struct slice image,
		  const struct vstore_pass *pass, bool replace_them,
		  struct vstore_import *ret, struct err *err)
{
	struct vstore_set in = { 0 };
	int rc = import_explain(vstore_unseal(image, pass->key, &in), err);

	if (rc == 0)
		rc = vstore_merge(v, &in, replace_them, ret, err);
	vstore_set_done(&in);
	return rc;
}
