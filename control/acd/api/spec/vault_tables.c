/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_tables.c - calls about the vault
 */
#include "control/acd/api/spec/calls.h"

#include "control/acd/api/spec/words.h"
#include "control/acd/credential/vault.h"

/* ---- what they take ---- */

static const struct schema path_credential = {
	.kind = SCHEMA_FORM,
	.pattern = "[a-z0-9._-]{1,63}",
};
static const struct schema_key passphrase_keys[] = {
	{ "passphrase", TEXT(.about = "base64, at most 1 KiB decoded") },
};
static const struct schema passphrase_body = {
	BODY(passphrase_keys),
	.required = KEYS("passphrase"),
	.name = "PassphraseRequest",
};
static const struct schema_key reseal_keys[] = {
	{ "passphrase",
	  TEXT(.null = true,
	       .about = "base64, at least 8 bytes decoded; null: a key file") },
	{ "old", TEXT(.about = "base64: the present passphrase; required if "
			       "there is one") },
};
static const struct schema reseal_body = {
	BODY(reseal_keys),
	.required = KEYS("passphrase"),
	.name = "ResealRequest",
};
static const struct schema_key import_keys[] = {
	{ "passphrase", TEXT(.about = "base64") },
	{ "data", TEXT(.about = "base64 of the file") },
	{ "replace",
	  FLAG(.about = "replace credentials that have the same name") },
};
static const struct schema import_body = {
	BODY(import_keys),
	.required = KEYS("passphrase", "data"),
	.name = "ImportRequest",
};

/* ---- what they give ---- */

static const struct schema_key login_keys[] = {
	{ "ends", COUNT(.about = "the access token's end, seconds since the "
				 "epoch") },
	{ "state", WORD(KEYS("live", "failing", "over"),
			.about = "over: the user has to log in again") },
	{ "text", TEXT(.about = "why, and what to do; or nothing") },
};
static const struct schema login_is = {
	SCHEMA_ROWS(login_keys),
	.whole = true,
	.null = true,
	.name = "Login",
	.about = "only in a list; null: it is none that is refreshed",
};
static const struct schema_key vault_entry_keys[] = {
	{ "name", &schema_text },
	{ "kind",
	  WORD(KEYS("generic", "github", "gitlab", "npm", "pypi", "anthropic",
		    "openai", "gemini", "aws", "anthropic-login",
		    "openai-login", "google-login")) },
	{ "hosts",
	  LIST(&schema_text,
	       .about =
		       "by name: the gateway sends it to them alone; a service "
		       "as HOST:PORT") },
	{ "methods", LIST(&schema_text, .about = "empty: any") },
	{ "paths", LIST(&schema_text, .about = "empty: any") },
	{ "blueprints",
	  LIST(&schema_text, .about = "for which blueprints; if instances is "
				      "empty as well: for all") },
	{ "instances", LIST(&schema_text) },
	{ "created", COUNT(.null = true, .about = "seconds since the epoch") },
	{ "rotated", COUNT(.null = true, .about = "seconds since the epoch") },
	{ "expires", COUNT(.null = true,
			   .about = "seconds since the epoch; null: never") },
	{ "user", &schema_text },
	{ "form", WORD(KEYS("header", "basic", "query"), .null = true,
		       .about = "how a generic one is sent") },
	{ "field", TEXT(.about = "name of the header or parameter") },
	{ "access_key", &schema_text },
	{ "region", &schema_text },
	{ "service", &schema_text },
	{ "source", TEXT(.about = "where its value came from: cmd:, file:, "
				  "env:, or nothing") },
	{ "note", &schema_text },
	{ "classic", FLAG(.about = "it is a classic token of GitHub, allowed "
				   "by allow_classic") },
	{ "handover", FLAG(.about = "a blueprint may ask for the real value") },
	{ "login", &login_is },
	{ "insecure", FLAG(.about = "it may go to a service in plain http") },
	{ "used_by",
	  LIST(&schema_text, .about = "instances that name it, or whose "
				      "blueprint does; only in a list") },
	{ "warnings",
	  LIST(&schema_text,
	       .about = "only after POST: scopes that fit no blueprint") },
};
static const struct schema vault_listed_is = {
	SCHEMA_ROWS(vault_entry_keys),
	.whole = true,
	.optional = KEYS("methods", "paths", "blueprints", "instances",
			 "created", "rotated", "expires", "user", "form",
			 "field", "access_key", "region", "service", "source",
			 "note", "classic", "handover", "login", "insecure",
			 "used_by", "warnings"),
	.name = "VaultEntry",
	.about = "an entry of the vault: all but its value",
};
static const struct schema_key vault_keys[] = {
	{ "key", WORD(KEYS("file", "passphrase")) },
	{ "entries", LIST(&vault_listed_is) },
};
static const struct schema vault_is = {
	SCHEMA_ROWS(vault_keys),
	.whole = true,
	.name = "Vault",
};
static const struct schema_key vault_image_keys[] = {
	{ "data", TEXT(.about = "base64 of the file") },
};
static const struct schema vault_image_is = {
	SCHEMA_ROWS(vault_image_keys),
	.whole = true,
	.name = "VaultImage",
};
static const struct schema_key imported_keys[] = {
	{ "added", COUNT() },
	{ "replaced", COUNT() },
	{ "kept", COUNT() },
};
static const struct schema imported_is = {
	SCHEMA_ROWS(imported_keys),
	.whole = true,
	.name = "Imported",
};
static const struct schema_key credential_test_keys[] = {
	{ "name", &schema_text },
	{ "host", &schema_text },
	{ "status", COUNT(.about = "of HTTP; 0: no answer") },
	{ "accepted", FLAG(.null = true, .about = "null: unknown") },
	{ "text", &schema_text },
};
static const struct schema credential_test_is = {
	SCHEMA_ROWS(credential_test_keys),
	.whole = true,
	.name = "CredentialTest",
};

/* ---- the calls ---- */

const struct http_call spec_vault_list = {
	.id = "vault_list",
	.summary = "Lists the credentials, without their values",
	.about = VAULT_STATE,
	.answers = ANSWERS(JSON(200, "OK", &vault_is)),
	.fails = { 409, 500, 501, 503 },
};

const struct http_call spec_vault_add = {
	.id = "vault_add",
	.summary = "Adds a credential",
	.about = VAULT_STATE
	" If kind is absent, it follows from the form of the value or from the "
	"name. refused (400): a classic GitHub token without allow_classic.",
	.body = &vault_entry_is,
	.answers = ANSWERS(JSON(201, "Added", &vault_listed_is)),
	.fails = { 409, 413, 500, 501, 503 },
};

const struct http_call spec_vault_unlock = {
	.id = "vault_unlock",
	.summary = "Opens a vault that has a passphrase",
	.about = "wrong_key (400): the passphrase is wrong.",
	.body = &passphrase_body,
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 409, 413, 500, 501, 503 },
};

const struct http_call spec_vault_lock = {
	.id = "vault_lock",
	.summary = "Forgets the key and all values until the vault is unlocked",
	.about = "Refused (400) when the vault has a key file.",
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 409, 500, 501, 503 },
};

const struct http_call spec_vault_passphrase = {
	.id = "vault_passphrase",
	.summary = "Seals the vault with a new passphrase or, if it is null, "
		   "with a key file",
	.about = "wrong_key (400): the old passphrase is wrong. " VAULT_STATE,
	.body = &reseal_body,
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 409, 413, 500, 501, 503 },
};

const struct http_call spec_vault_export = {
	.id = "vault_export",
	.summary = "Returns all credentials in one sealed file",
	.about = "too_large (413): the file would be larger than an import may "
		 "be.",
	.body = &passphrase_body,
	.answers = ANSWERS(JSON(200, "OK", &vault_image_is)),
	.fails = { 409, 413, 500, 501, 503 },
};

const struct http_call spec_vault_import = {
	.id = "vault_import",
	.summary = "Adds the credentials of an export",
	.about = "wrong_key (400): the passphrase is wrong. Either all "
		 "credentials are added, or none.",
	.body = &import_body,
	.answers = ANSWERS(JSON(200, "OK", &imported_is)),
	.fails = { 409, 413, 500, 501, 503 },
};

const struct http_call spec_vault_remove = {
	.id = "vault_remove",
	.summary = "Removes a credential",
	.path = &path_credential,
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 404, 409, 500, 501, 503 },
};

const struct http_call spec_vault_rotate = {
	.id = "vault_rotate",
	.summary = "Gives a credential a new value",
	.about = VAULT_STATE " Without expires the new value does not expire.",
	.path = &path_credential,
	.body = &vault_rotation_is,
	.answers = ANSWERS(JSON(200, "OK", &vault_listed_is)),
	.fails = { 404, 409, 413, 500, 501, 503 },
};

const struct http_call spec_vault_test = {
	.id = "vault_test",
	.summary = "Asks the service of a credential whether it accepts it",
	.about = "Sends one request to the first host of the credential, "
		 "through the machine's proxy, and waits at most 20 seconds "
		 "for the answer.",
	.path = &path_credential,
	.answers = ANSWERS(JSON(200, "OK", &credential_test_is)),
	.fails = { 404, 409, 500, 501, 503 },
};
