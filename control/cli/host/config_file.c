/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_file.c - $AC_HOME/config.yaml: settings of this machine
 */
#include "control/cli/host/config_file.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "control/cli/host/outer_spec.h"
#include "lib/file.h"
#include "lib/guess.h"
#include "lib/str.h"
#include "ottergate/yaml.h"

#define CA_BYTES_MAX 57344u /* 56 KiB, acd's maximum */
#define URL_MAX 1024u

#define DEFAULT(key, id)                                                  \
	{                                                                 \
		"defaults." key, CONFIG_OPTION, id, NULL,                 \
			"--" key " of a new instance, unless it is given" \
	}

const struct config_key config_keys[CONFIG_KEYS] = {
	{ "extra_ca", CONFIG_CA, ARG_MAX, "AC_EXTRA_CA",
	  "a PEM file with the CAs that sandboxes trust as well; none" },
	{ "gpus", CONFIG_GPUS, ARG_MAX, "AC_GPUS",
	  "GPUs that ac-host gets: all, or numbers (0,1)" },
	{ "loop_devices", CONFIG_COUNT, ARG_MAX, "AC_LOOP",
	  "loop devices that ac-host gets, for disk limits" },
	{ "registries.npm", CONFIG_URL, ARG_MAX, "AC_REGISTRY_NPM",
	  "npm's registry: builds use it, sandboxes may reach it" },
	{ "registries.pip", CONFIG_URL, ARG_MAX, "AC_REGISTRY_PIP",
	  "pip's index: builds use it, sandboxes may reach it" },
	{ "registries.go", CONFIG_URL, ARG_MAX, "AC_REGISTRY_GO",
	  "Go's module proxy: builds use it, sandboxes may reach it" },
	DEFAULT("cpus", ARG_CPUS),
	DEFAULT("memory", ARG_MEMORY),
	DEFAULT("pids", ARG_PIDS),
	DEFAULT("disk", ARG_DISK),
	DEFAULT("output", ARG_OUTPUT),
	DEFAULT("ttl", ARG_TTL),
	DEFAULT("idle", ARG_IDLE),
	DEFAULT("hibernate-after", ARG_HIBERNATE_AFTER),
	DEFAULT("egress", ARG_EGRESS),
	DEFAULT("isolation", ARG_ISOLATION),
};
static_assert(ARRAY_SIZE(config_keys) == CONFIG_KEYS, "each has its place");

void config_done(struct config *c)
{
	for (size_t i = 0; i < CONFIG_KEYS; i++)
		free(c->value[i]);
	free(c->path);
	*c = (struct config){ 0 };
}

static const struct config_key *find(const char *name)
{
	for (size_t i = 0; i < CONFIG_KEYS; i++)
		if (strcmp(config_keys[i].name, name) == 0)
			return &config_keys[i];
	return NULL;
}

/* Returns the key that @name may be a slip of, or NULL. */
static const char *near(const char *name)
{
	struct guess g;

	guess_begin(&g, name);
	for (size_t i = 0; i < CONFIG_KEYS; i++)
		guess_try(&g, config_keys[i].name);
	return g.found;
}

const struct config_key *config_find(const char *name, struct err *err)
{
	const struct config_key *key = find(name);
	const char *other = key ? NULL : near(name);

	if (!key && other)
		err_set(err, -EINVAL,
			"there is no key '%s'; did you mean '%s'?", name,
			other);
	else if (!key)
		err_set(err, -EINVAL,
			"there is no key '%s'; `ac config ls` lists all", name);
	return key;
}

/* ---- values ---- */

static int check_ca(const char *value, struct err *err)
{
	SCOPED_STR text = NULL;
	int rc;

	if (strcmp(value, "none") == 0)
		return 0;
	if (*value != '/')
		return err_set(err, -EINVAL,
			       "'%s' is no absolute path of a file, and not "
			       "none",
			       value);
	rc = file_read(value, CA_BYTES_MAX - 1, &text, NULL);
	if (rc == -EFBIG)
		return err_set(err, -EINVAL, "%s has more than 56 KiB", value);
	if (rc < 0)
		return err_set(err, -EINVAL, "%s: %s", value, err_text(rc));
	if (!strstr(text, "-----BEGIN CERTIFICATE-----"))
		return err_set(err, -EINVAL, "%s has no certificate in PEM",
			       value);
	return 0;
}

static int check_gpus(const char *value, struct err *err)
{
	const char *p = value;

	if (strcmp(value, "all") == 0)
		return 0;
	while (*p >= '0' && *p <= '9') {
		p += strspn(p, "0123456789");
		if (!*p)
			return 0;
		if (*p++ != ',')
			break;
	}
	return err_set(err, -EINVAL, "'%s' is neither all nor numbers (0,1)",
		       value);
}

static int check_url(const char *value, struct err *err)
{
	size_t len = strlen(value);
	const char *host = str_starts(value, "https://") ? value + 8 :
			   str_starts(value, "http://")  ? value + 7 :
							   "";

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)value[i] <= ' ' || value[i] == 127 ||
		    strchr("'\"\\`<>", value[i]))
			host = "";
	if (len > URL_MAX || !*host || *host == '/' || *host == ':')
		return err_set(err, -EINVAL,
			       "'%s' is no address such as "
			       "https://registry.example.org/",
			       value);
	return 0;
}

int config_check(const struct config_key *key, const char *value,
		 struct err *err)
{
	struct args a = { 0 };
	uint64_t n;
	int rc;

	switch (key->kind) {
	case CONFIG_CA:
		return check_ca(value, err);
	case CONFIG_GPUS:
		return check_gpus(value, err);
	case CONFIG_URL:
		return check_url(value, err);
	case CONFIG_COUNT:
		if (str_parse_u64(value, 1, OUTER_LOOPS_MAX, &n) == 0)
			return 0;
		return err_set(err, -EINVAL, "'%s' is no number from 1 to %u",
			       value, OUTER_LOOPS_MAX);
	case CONFIG_OPTION:
		break;
	}
	rc = args_give(&a, key->option, value, err);
	if (rc == 0 && key->option == ARG_ISOLATION &&
	    strcmp(value, "runsc") != 0 && strcmp(value, "crun") != 0)
		rc = err_set(err, -EINVAL, "'%s' is neither runsc nor crun",
			     value);
	args_done(&a);
	return rc;
}

/* Checks GOPROXY: a list of addresses, "direct" and "off" (go.dev/ref/mod). */
static int check_go(const char *value, struct err *err)
{
	static const char ends[] = ",|";
	char one[URL_MAX + 2];
	int rc = 0;

	for (const char *p = value; rc == 0; p++) {
		size_t len = strcspn(p, ends);

		snprintf(one, sizeof(one), "%.*s", (int)len, p);
		if (strcmp(one, "direct") != 0 && strcmp(one, "off") != 0)
			rc = check_url(one, err);
		p += len;
		if (*p == '\0')
			break;
	}
	return rc;
}

/* Checks the value of a variable. A file of CAs may be relative to the working
 * directory. */
static int check_variable(const struct config_key *key, const char *value,
			  struct err *err)
{
	char path[PATH_MAX];

	if (key->kind == CONFIG_CA && strcmp(value, "none") != 0) {
		if (!realpath(value, path))
			return err_set(err, -EINVAL, "%s", err_text(-errno));
		value = path;
	}
	if (strcmp(key->variable, "AC_REGISTRY_GO") == 0)
		return check_go(value, err);
	return config_check(key, value, err);
}

int config_check_variables(struct err *err)
{
	for (size_t i = 0; i < CONFIG_KEYS; i++) {
		const char *name = config_keys[i].variable;
		const char *value = name ? getenv(name) : NULL;
		struct err why = { 0 };

		if (value && *value &&
		    check_variable(&config_keys[i], value, &why) < 0)
			return err_set(err, -EINVAL,
				       "%s=%s: %s; `unset %s` leaves it to `ac "
				       "config get %s`",
				       name, value, why.msg, name,
				       config_keys[i].name);
	}
	return 0;
}

/* ---- the file ---- */

static int take(const struct yaml_tree *t, const struct yaml_node *n,
		const char *section, struct config *c, struct err *err)
{
	SCOPED_STR name =
		str_printf("%s%s%s", section, *section ? "." : "", n->key);
	const struct config_key *key = name ? find(name) : NULL;
	struct err why = { 0 };
	const char *text;
	int rc;

	if (!name)
		return err_nomem(err);
	if (!key) {
		const char *other = near(name);

		return yaml_tree_refuse(t, n, err,
					other ? "there is no key '%.100s'; did "
						"you mean '%s'?" :
						"there is no key '%.100s'%s",
					name, other ? other : "");
	}
	/* Else one key could be there twice, in two forms. */
	if (!*section && strchr(n->key, '.'))
		return yaml_tree_refuse(t, n, err,
					"'%s' is written as '%s' below '%.*s:'",
					name, strchr(name, '.') + 1,
					(int)strcspn(name, "."), name);
	rc = yaml_tree_string(t, n, &text, err);
	if (rc < 0)
		return rc;
	if (config_check(key, text, &why) < 0)
		return yaml_tree_refuse(t, n, err, "%s: %s", name, why.msg);
	c->value[key - config_keys] = strdup(text);
	return c->value[key - config_keys] ? 0 : err_nomem(err);
}

static bool is_section(const char *key)
{
	return strcmp(key, "registries") == 0 || strcmp(key, "defaults") == 0;
}

/* Returns true if nothing follows the colon. */
static bool is_empty(const struct yaml_node *n)
{
	return n->kind == YAML_SCALAR && !n->quoted && !*n->text;
}

static int take_section(const struct yaml_tree *t, const struct yaml_node *n,
			struct config *c, struct err *err)
{
	int rc = 0;

	if (is_empty(n))
		return 0;
	if (n->kind != YAML_MAP)
		return yaml_tree_refuse(t, n, err, "'%s' is a map of keys",
					n->key);
	for (const struct yaml_node *k = n->first; k && rc == 0; k = k->next)
		rc = take(t, k, n->key, c, err);
	return rc;
}

static int take_all(const struct yaml_tree *t, struct config *c,
		    struct err *err)
{
	const struct yaml_node *n = t->root;
	int rc = 0;

	if (!n || is_empty(n))
		return 0;
	if (n->kind != YAML_MAP)
		return yaml_tree_refuse(t, n, err, "a map of keys is wanted");
	for (n = n->first; n && rc == 0; n = n->next)
		rc = is_section(n->key) ? take_section(t, n, c, err) :
					  take(t, n, "", c, err);
	return rc;
}

int config_parse(const char *path, const char *text, size_t len,
		 struct config *ret, struct err *err)
{
	struct config c = { .path = strdup(path) };
	struct yaml_tree tree = { 0 };
	int rc = c.path ? yaml_tree_parse(text, len, path, &yaml_small, &tree,
					  err) :
			  err_nomem(err);

	if (rc == 0)
		rc = take_all(&tree, &c, err);
	yaml_tree_done(&tree);
	if (rc < 0) {
		config_done(&c);
		return rc;
	}
	*ret = c;
	return 0;
}

int config_load(const struct cli *cli, struct config *ret, struct err *err)
{
	SCOPED_STR path = str_printf("%s/config.yaml", cli->home);
	SCOPED_STR text = NULL;
	size_t len = 0;
	int rc = path ? file_read(path, CONFIG_BYTES_MAX, &text, &len) :
			-ENOMEM;

	if (rc == -ENOENT)
		return config_parse(path, "", 0, ret, err);
	if (rc < 0)
		return err_set(err, rc, "%s: %s", path ? path : "config.yaml",
			       err_text(rc));
	return config_parse(path, text, len, ret, err);
}

/* ---- its effects ---- */

int config_export(const struct cli *cli, const struct config *c,
		  struct err *err)
{
	for (size_t i = 0; i < CONFIG_KEYS; i++) {
		const struct config_key *key = &config_keys[i];
		const char *now;

		if (!key->variable || !c->value[i])
			continue;
		now = getenv(key->variable);
		if (!now && setenv(key->variable, c->value[i], 1) < 0)
			return err_sys(err, "set %s", key->variable);
		if (now && strcmp(now, c->value[i]) != 0)
			say_info(cli,
				 "%s=%s holds for this call, not %s: %s of %s",
				 key->variable, now, key->name, c->value[i],
				 c->path);
	}
	return 0;
}

/* A mode and presets are one option. */
static bool is_given(const struct args *a, enum arg_id id)
{
	return args_has(a, id) || (id == ARG_EGRESS && a->reach.words.n > 0);
}

int config_default(const struct cli *cli, const struct config *c,
		   struct args *a, struct err *err)
{
	char said[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < CONFIG_KEYS; i++) {
		const struct config_key *key = &config_keys[i];
		int rc, n;

		if (key->variable || !c->value[i] || is_given(a, key->option))
			continue;
		rc = args_give(a, key->option, c->value[i], err);
		if (rc < 0)
			return err_wrap(err, "%s: %s", c->path, key->name);
		n = snprintf(said + used, sizeof(said) - used, " --%s %s",
			     arg_options[key->option].name, c->value[i]);
		used += n > 0 && (size_t)n < sizeof(said) - used ? (size_t)n :
								   0;
	}
	if (used > 0)
		say_info(cli, "a new instance, with the defaults of %s:%.*s",
			 c->path, (int)used, said);
	return 0;
}

void config_undefault(struct args *a, const struct args *parsed)
{
	if (a->reach.words.v != parsed->reach.words.v)
		strv_done(&a->reach.words);
}
