/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_hosts.c - where a token of a kind is meant to go
 *
 * Services that have one place in the world are named here. Package registries
 * are the machine's own business: the preset `packages`, which set-up writes
 * from what its clients are set to, has rules "npm-1", "pip-2", … for them.
 *
 * A host with a port is that of a service (net/services.h).
 */
#include "control/acd/credential/vault.h"

#include <string.h>

#include "control/acd/credential/vault_impl.h"
#include "control/acd/net/services.h"
#include "lib/file.h"
#include "ottergate/yaml.h"

#define MACHINE_MAX (256u * 1024)

static const struct {
	enum secret_kind kind;
	const char *host;
} known[] = {
	{ SECRET_GITHUB, "github.com" },
	{ SECRET_GITHUB, "api.github.com" },
	{ SECRET_GITHUB, "uploads.github.com" },
	{ SECRET_GITLAB, "gitlab.com" },
	{ SECRET_ANTHROPIC, "api.anthropic.com" },
	{ SECRET_OPENAI, "api.openai.com" },
	{ SECRET_GEMINI, "generativelanguage.googleapis.com" },
	{ SECRET_ANTHROPIC_LOGIN, "api.anthropic.com" },
	{ SECRET_OPENAI_LOGIN, "chatgpt.com" },
	{ SECRET_GOOGLE_LOGIN, "cloudcode-pa.googleapis.com" },
	{ SECRET_GOOGLE_LOGIN, "oauth2.googleapis.com" },
};

/* The names of the rules of @client that are for TLS. */
static int hosts_of(const struct yaml_node *root, const char *client,
		    struct strv *out)
{
	const struct yaml_node *rule = yaml_child(
		yaml_child(yaml_child(root, "presets"), "packages"), "rules");
	int rc = 0;

	rule = rule && rule->kind == YAML_LIST ? rule->first : NULL;
	for (; rc == 0 && rule; rule = rule->next) {
		const struct yaml_node *id = yaml_child(rule, "id");
		const struct yaml_node *names = yaml_child(rule, "names");
		const struct yaml_node *ports = yaml_child(rule, "ports");
		size_t len = strlen(client);

		if (!id || id->kind != YAML_SCALAR ||
		    strncmp(id->text, client, len) != 0 ||
		    id->text[len] != '-' || !names || !names->first || !ports ||
		    !ports->first || names->first->kind != YAML_SCALAR ||
		    ports->first->kind != YAML_SCALAR ||
		    strcmp(ports->first->text, "443") != 0)
			continue;
		if (!strv_has(out, names->first->text))
			rc = strv_push(out, names->first->text);
	}
	return rc;
}

/* A file that cannot be read has no hosts: the user is asked then. */
static int machine_hosts(const char *file, const char *client, struct strv *out)
{
	struct yaml_tree tree = { 0 };
	struct err ignored = { 0 };
	SCOPED_STR text = NULL;
	size_t len = 0;
	int rc = 0;

	if (!file || file_read(file, MACHINE_MAX, &text, &len) < 0)
		return 0;
	if (yaml_tree_parse(text, len, file, &yaml_policy, &tree, &ignored) ==
	    0)
		rc = hosts_of(tree.root, client, out);
	yaml_tree_done(&tree);
	return rc;
}

/* A token is for one registry: of several the user has to choose. */
static int registry_host(const char *machine, enum secret_kind kind,
			 struct strv *ret, struct err *err)
{
	const char *client = kind == SECRET_NPM ? "npm" : "pip";
	struct strv found = { 0 };
	int rc = machine_hosts(machine, client, &found);

	if (rc == 0 && found.n == 1)
		rc = strv_push(ret, found.v[0]);
	if (rc < 0)
		err_nomem(err);
	else if (found.n == 0)
		rc = err_set(err, -EINVAL,
			     "which registry is it for? --host names it");
	else if (found.n > 1)
		rc = err_set(err, -EINVAL,
			     "which registry is it for? --host names it; this "
			     "machine's %s uses %s and %s%s",
			     client, found.v[0], found.v[1],
			     found.n > 2 ? ", …" : "");
	strv_done(&found);
	return rc;
}

int vault_default_hosts(const char *machine, enum secret_kind kind,
			struct strv *ret, struct err *err)
{
	int rc = 0;

	if (kind == SECRET_NPM || kind == SECRET_PYPI)
		return registry_host(machine, kind, ret, err);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(known); i++)
		if (known[i].kind == kind)
			rc = strv_push(ret, known[i].host);
	if (rc < 0)
		return err_nomem(err);
	if (ret->n == 0)
		return err_set(err, -EINVAL,
			       "which host may it be sent to? --host names it");
	return 0;
}

/* ---- services ---- */

int vault_service_hosts(struct strv *hosts, struct err *err)
{
	for (size_t i = 0; i < hosts->n; i++) {
		const struct service *s = services_find(hosts->v[i]);
		char *host = s ? str_printf("%s:%u", s->host, s->port) : NULL;

		if (s && !host)
			return err_nomem(err);
		if (!s)
			continue;
		free(hosts->v[i]);
		hosts->v[i] = host;
	}
	return 0;
}

/* A host without a port is at 443, where a service of that name may not be. */
static int check_bare(const char *host, struct err *err)
{
	const struct service *s;

	if (services_at(host, 443))
		return 0;
	for (size_t i = 0; (s = services_nth(i)); i++)
		if (strcmp(s->host, host) == 0)
			return err_set(err, -EINVAL,
				       "'%s' is the service '%s', at port %u: "
				       "--host %s:%u, or --host %s",
				       host, s->name, s->port, host, s->port,
				       s->name);
	return 0;
}

int vault_check_services(const struct strv *hosts, bool insecure,
			 struct err *err)
{
	char name[VSTORE_HOST_MAX + 1];
	bool clear = false;

	for (size_t i = 0; i < hosts->n; i++) {
		uint16_t port = vstore_host_split(hosts->v[i], name);
		const struct service *s = services_at(name, port ? port : 443);

		if (port == 0 && check_bare(name, err) < 0)
			return err->code;
		if (port && !s)
			return err_set(err, -EINVAL,
				       "'%s' is no service: only one of `ac "
				       "service ls` is at a port, any other "
				       "host is at 443, and has none here",
				       hosts->v[i]);
		if (!s)
			continue;
		if (s->proto == SERVICE_TCP)
			return err_set(err, -EINVAL,
				       "the service '%s' passes any bytes, so "
				       "no credential can be put into its "
				       "requests: add it with --proto http or "
				       "tls",
				       s->name);
		clear |= s->proto == SERVICE_HTTP;
		if (s->proto == SERVICE_HTTP && !insecure)
			return err_set(
				err, -EINVAL,
				"the service '%s' speaks plain http: "
				"who is on the network between can read "
				"the credential; --insecure sends it all "
				"the same",
				s->name);
	}
	if (insecure && !clear)
		return err_set(err, -EINVAL,
			       "--insecure is for a service in plain http: a "
			       "credential goes to any other host by TLS "
			       "alone");
	return 0;
}
