/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_vault_lock.c - the vault's passphrase; exports
 */
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

#include "control/cli/cmd_vault.h"
#include "control/cli/host.h"
#include "control/shared/json.h"
#include "lib/file.h"

#define EXPORT_MAX (1024u * 1024) /* of a file; acd takes less */

static int put_passphrase(json_t *body, const struct vault_input *in)
{
	return json_object_set_new(body, "passphrase",
				   vault_base64(in->value, in->len));
}

/* Asks for a passphrase and posts it to @path, with what @body has already. */
static int post(const struct cli *cli, const char *path, const char *prompt,
		bool twice, json_t *body, json_t **ret, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_INPUT in = { 0 };
	int rc = body ? vault_input_guard(err) : err_nomem(err);

	if (rc == 0)
		rc = host_client(cli, true, &c, err);
	if (rc == 0)
		rc = vault_input_passphrase(prompt, twice, &in, err);
	if (rc == 0 && put_passphrase(body, &in))
		rc = err_nomem(err);
	return rc == 0 ? client_call(c, "POST", path, body, ret, err) : rc;
}

int cmd_vault_unlock(const struct cli *cli, const struct args *a,
		     struct err *err)
{
	SCOPED_JSON body = NULL;
	int rc = vault_input_guard(err);

	(void)a;
	if (rc < 0)
		return rc;
	body = json_object();
	rc = post(cli, "/v1/vault/unlock", "passphrase", false, body, NULL,
		  err);
	if (rc == 0)
		say_info(cli, "the vault is open until ac-host stops, or `ac "
			      "vault lock`");
	return rc;
}

int cmd_vault_lock(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	int rc = host_client(cli, true, &c, err);

	(void)a;
	if (rc == 0)
		rc = client_call(c, "POST", "/v1/vault/lock", NULL, NULL, err);
	if (rc == 0)
		say_info(cli, "the vault is locked");
	return rc;
}

int cmd_vault_passphrase(const struct cli *cli, const struct args *a,
			 struct err *err)
{
	SCOPED_JSON body = NULL;
	int rc = vault_input_guard(err);

	(void)a;
	if (rc < 0)
		return rc;
	body = json_object();
	rc = post(cli, "/v1/vault/passphrase", "the new passphrase", true, body,
		  NULL, err);
	if (rc == 0)
		say_info(cli, "the vault has a passphrase; without it nobody "
			      "can read it, you included");
	return rc;
}

int cmd_vault_keyfile(const struct cli *cli, const struct args *a,
		      struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = json_pack("{s:n}", "passphrase");
	int rc = host_client(cli, true, &c, err);

	(void)a;
	if (rc == 0)
		rc = client_call(c, "POST", "/v1/vault/passphrase", body, NULL,
				 err);
	if (rc == 0)
		say_info(cli, "the vault has a key file: %s/vault/key",
			 cli->home);
	return rc;
}

/* ---- export, import ---- */

static int write_new(const char *path, const void *data, size_t len,
		     struct err *err)
{
	SCOPED_FD fd = -1;
	int rc;

	if (strcmp(path, "-") == 0) {
		rc = fd_write_all(STDOUT_FILENO, data, len);
		return rc < 0 ? err_set(err, rc, "stdout: %s", err_text(rc)) :
				0;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, "%s", path);
	rc = fd_write_all(fd, data, len);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	if (rc < 0) {
		unlink(path);
		return err_set(err, rc, "%s: %s", path, err_text(rc));
	}
	return 0;
}

int cmd_vault_export(const struct cli *cli, const struct args *a,
		     struct err *err)
{
	const char *path = a->words[0];
	SCOPED_JSON body = NULL;
	SCOPED_JSON res = NULL;
	SCOPED_MEM image = NULL;
	const char *text;
	size_t len = 0;
	int rc = vault_input_guard(err);

	if (rc < 0)
		return rc;
	if (strcmp(path, "-") == 0 && cli->out_tty) {
		err_set(err, -EINVAL, "an export is nothing for a terminal");
		return cli_usage(err);
	}
	/* Seen before anybody has typed a passphrase twice. */
	if (strcmp(path, "-") != 0 && access(path, F_OK) == 0)
		return err_set(err, -EEXIST, "%s is there already", path);
	body = json_object();
	rc = post(cli, "/v1/vault/export", "a passphrase for the export", true,
		  body, &res, err);
	if (rc < 0)
		return rc;
	text = json_text(res, "data");
	image = malloc(strlen(text) + 1);
	if (!image)
		return err_nomem(err);
	if (sodium_base642bin(image, strlen(text) + 1, text, strlen(text), NULL,
			      &len, NULL,
			      sodium_base64_VARIANT_ORIGINAL) != 0 ||
	    len == 0)
		return err_set(err, -EPROTO, "acd answered without an export");
	rc = write_new(path, image, len, err);
	if (rc == 0)
		say_info(cli, "exported; without its passphrase it is worth "
			      "nothing");
	return rc;
}

int cmd_vault_import(const struct cli *cli, const struct args *a,
		     struct err *err)
{
	SCOPED_JSON body = NULL;
	SCOPED_JSON res = NULL;
	SCOPED_STR image = NULL;
	size_t len = 0;
	int rc = vault_input_guard(err);

	if (rc == 0) {
		rc = file_read(a->words[0], EXPORT_MAX, &image, &len);
		if (rc < 0)
			err_set(err, rc, "%s: %s", a->words[0], err_text(rc));
	}
	if (rc < 0)
		return rc;
	body = json_object();
	if (json_object_set_new(body, "data", vault_base64(image, len)) ||
	    json_object_set_new(body, "replace",
				json_boolean(args_has(a, ARG_REPLACE))))
		return err_nomem(err);
	rc = post(cli, "/v1/vault/import", "the passphrase of the export",
		  false, body, &res, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(res, false, err);
	say_info(cli, "%lld added, %lld replaced, %lld kept as they were",
		 json_count(res, "added"), json_count(res, "replaced"),
		 json_count(res, "kept"));
	return 0;
}
