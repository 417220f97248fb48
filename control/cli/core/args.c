/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args.c - parses a command line's options and words
 */
#include "control/cli/core/args.h"

#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "control/shared/names.h"
#include "control/shared/publish.h"
#include "control/shared/volume.h"
#include "lib/file.h"
#include "lib/guess.h"

#define ENV_FILE_MAX (1024u * 1024)
#define PIDS_MAX 4194304u /* the kernel's maximum; acd has the same */
#define TAIL_MAX 100000000u
#define FORKS_MAX 64u /* acd has the same */

static int env_push(struct args *a, const char *entry, struct err *err)
{
	if (name_check_env(entry, err) < 0)
		return -EINVAL;
	if (strv_push(&a->env, entry) < 0)
		return err_nomem(err);
	return 0;
}

/* NAME alone takes the value from ac's own environment. */
static int env_add(struct args *a, const char *entry, struct err *err)
{
	SCOPED_STR own = NULL;
	const char *value;

	if (strchr(entry, '='))
		return env_push(a, entry, err);
	value = getenv(entry);
	if (!value)
		return err_set(err, -EINVAL,
			       "--env %s: not set in your environment; give "
			       "%s=VALUE",
			       entry, entry);
	own = str_printf("%s=%s", entry, value);
	if (!own)
		return err_nomem(err);
	return env_push(a, own, err);
}

/* Reads an entry from each line; skips empty lines and those that begin with
 * #. */
static int env_file_add(struct args *a, const char *path, struct err *err)
{
	SCOPED_STR text = NULL;
	char *line, *rest;
	size_t size = 0;
	int rc = file_read(path, ENV_FILE_MAX, &text, &size);

	if (rc < 0)
		return err_set(err, rc, "--env-file %s: %s", path,
			       err_text(rc));
	if (strlen(text) != size)
		return err_set(err, -EINVAL,
			       "--env-file %s: there is a NUL in it", path);
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		size_t len = strlen(line);

		if (len > 0 && line[len - 1] == '\r')
			line[len - 1] = '\0';
		if (*line == '\0' || *line == '#')
			continue;
		if (env_add(a, line, err) < 0)
			return err_wrap(err, "--env-file %s", path);
	}
	return 0;
}

/* "none" drops the credentials before it. */
static int credential_add(struct args *a, const char *value, struct err *err)
{
	if (strcmp(value, "none") == 0) {
		strv_done(&a->credentials);
		strv_done(&a->secrets);
	}
	return strv_push(&a->credentials, value) < 0 ? err_nomem(err) : 0;
}

static int egress_add(struct args *a, const char *value, struct err *err)
{
	return reach_add_egress(&a->reach, value, err);
}

static int allow_add(struct args *a, const char *value, struct err *err)
{
	return reach_add_targets(&a->reach.allow, "--allow", value, err);
}

static int deny_add(struct args *a, const char *value, struct err *err)
{
	return reach_add_targets(&a->reach.deny, "--deny", value, err);
}

/* "none" drops the services before it. */
static int service_add(struct args *a, const char *value, struct err *err)
{
	if (*value == '\0')
		return err_set(err, -EINVAL, "--service needs a value");
	if (strcmp(value, "none") == 0)
		strv_done(&a->reach.services);
	return strv_push(&a->reach.services, value) < 0 ? err_nomem(err) : 0;
}

/* "none" drops the ports before it, and is dropped by one behind it. */
static int publish_add(struct args *a, const char *value, struct err *err)
{
	bool none = strcmp(value, PUBLISH_NONE) == 0;
	struct publish ignored;

	if (!none && publish_parse(value, &ignored, err) < 0)
		return err_wrap(err, "--publish");
	if (none || strv_has(&a->publish, PUBLISH_NONE))
		strv_done(&a->publish);
	return strv_push(&a->publish, value) < 0 ? err_nomem(err) : 0;
}

/* The same for volumes. */
static int volume_add(struct args *a, const char *value, struct err *err)
{
	bool none = strcmp(value, VOLUME_NO_USE) == 0;
	struct volume_use ignored;

	if (!none && volume_parse(value, &ignored, err) < 0)
		return err_wrap(err, "--volume");
	if (none || strv_has(&a->volumes, VOLUME_NO_USE))
		strv_done(&a->volumes);
	return strv_push(&a->volumes, value) < 0 ? err_nomem(err) : 0;
}

/* Where the value of an option goes. @empty: 0 or "" is a valid value; 0
 * removes a limit that stays with an instance. */
struct place {
	enum {
		PLACE_NONE,
		PLACE_NUMBER,
		PLACE_TEXT,
		PLACE_LIST,
		PLACE_FN
	} kind;
	bool empty;
	size_t offset; /* in struct args */
	int (*fn)(struct args *a, const char *value, struct err *err);
};

/* The member's type decides which values are valid. */
#define PLACE(member, is_empty)                                          \
	{                                                                \
		.kind = _Generic(((struct args *)NULL)->member,        \
				 uint64_t: PLACE_NUMBER,               \
				 const char *: PLACE_TEXT,             \
				 struct strv: PLACE_LIST),             \
		.empty = (is_empty),                                   \
		.offset = offsetof(struct args, member), \
	}
#define BY(function)                                \
	{                                           \
		.kind = PLACE_FN, .fn = (function), \
	}

/* For every option with a value; args_test checks that none is missing. */
static const struct place places[ARG_MAX] = {
	[ARG_CPUS] = PLACE(cpus_milli, true),
	[ARG_MEMORY] = PLACE(memory, true),
	[ARG_GPUS] = PLACE(gpus, false),
	[ARG_PIDS] = PLACE(pids, false),
	[ARG_TIMEOUT] = PLACE(timeout_ms, false),
	[ARG_TTL] = PLACE(ttl_ms, true),
	[ARG_IDLE] = PLACE(idle_ms, true),
	[ARG_HIBERNATE_AFTER] = PLACE(hibernate_ms, true),
	[ARG_DISK] = PLACE(disk, true),
	[ARG_OUTPUT] = PLACE(output, true),
	[ARG_ENV] = BY(env_add),
	[ARG_ENV_FILE] = BY(env_file_add),
	[ARG_WORKDIR] = PLACE(workdir, false),
	[ARG_WORKSPACE] = PLACE(workspace, true), /* "": a private one */
	[ARG_ISOLATION] = PLACE(isolation, false),
	[ARG_RUNTIME] = PLACE(runtime, false),
	[ARG_EGRESS] = BY(egress_add),
	[ARG_ALLOW] = BY(allow_add),
	[ARG_DENY] = BY(deny_add),
	[ARG_USE_SERVICE] = BY(service_add),
	[ARG_MODEL_URL] = PLACE(reach.model_url, false),
	[ARG_PUBLISH] = BY(publish_add),
	[ARG_VOLUME] = BY(volume_add),
	[ARG_CREDENTIAL] = BY(credential_add),
	[ARG_SECRET] = PLACE(secrets, true),
	[ARG_PROMPT] = PLACE(prompt, true), /* refused with its reason */
	[ARG_DETACH_KEYS] = PLACE(detach_keys, true), /* none */
	[ARG_SIGNAL] = PLACE(signal, false),
	[ARG_TAIL] = PLACE(tail, false),
	[ARG_GRACE] = PLACE(grace_ms, true),
	[ARG_INTERVAL] = PLACE(interval_ms, false),
	[ARG_SINCE] = PLACE(since, false),
	[ARG_FROM] = PLACE(from, false),
	[ARG_OLDER] = PLACE(older_ms, false),
	[ARG_INTO] = PLACE(into, false),
	[ARG_LIMIT] = PLACE(limit, false),
	[ARG_FORKS] = PLACE(forks, false),
	[ARG_AS] = PLACE(as, false),
	[ARG_PROTO] = PLACE(proto, false),
	[ARG_SCOPE] = PLACE(scope, false),
	[ARG_LASTS] = PLACE(lasts_ms, false),
	[ARG_TOOLS] = PLACE(mcp.tools, false),
	[ARG_USE_NAME] = PLACE(mcp.name, false),
	[ARG_USE_SHELL] = PLACE(mcp.shell, false),
	[ARG_CALL_TIMEOUT] = PLACE(mcp.timeout_ms, false),
	[ARG_OUTPUT_LIMIT] = PLACE(mcp.output_limit, false),
	[ARG_ABOUT] = PLACE(mcp.about, false),
	[ARG_ABOUT_MORE] = PLACE(mcp.about_more, false),
	[ARG_KIND] = PLACE(vault.kind, false),
	[ARG_HOST] = PLACE(vault.hosts, false),
	[ARG_FROM_FILE] = PLACE(vault.from_file, false),
	[ARG_FROM_ENV] = PLACE(vault.from_env, false),
	[ARG_FROM_CMD] = PLACE(vault.from_cmd, false),
	[ARG_USER] = PLACE(vault.user, false),
	[ARG_HEADER] = PLACE(vault.header, false),
	[ARG_QUERY] = PLACE(vault.query, false),
	[ARG_METHOD] = PLACE(vault.methods, false),
	[ARG_PATH] = PLACE(vault.paths, false),
	[ARG_BLUEPRINT] = PLACE(vault.blueprints, false),
	[ARG_INSTANCE] = PLACE(vault.instances, false),
	[ARG_EXPIRES] = PLACE(vault.expires, false),
	[ARG_NOTE] = PLACE(vault.note, true),
	[ARG_ACCESS_KEY] = PLACE(vault.access_key, false),
	[ARG_REGION] = PLACE(vault.region, false),
	[ARG_SERVICE] = PLACE(vault.service, false),
};

static int number_parse(const struct arg_option *o, const char *value,
			uint64_t max, uint64_t *ret)
{
	if (o->kind == ARG_SIZE)
		return str_parse_size(value, ret);
	if (o->kind == ARG_MILLI && strcmp(value, "0") == 0)
		return str_parse_u64(value, 0, 0, ret);
	if (o->kind == ARG_MILLI)
		return str_parse_milli(value, ret);
	if (o->kind == ARG_MS)
		return str_parse_duration(value, ret);
	return str_parse_u64(value, 0, max, ret);
}

static int set_number(const struct arg_option *o, uint64_t *place, bool empty,
		      const char *value, struct err *err)
{
	enum arg_id id = arg_id_of(o);
	uint64_t min = id == ARG_FORKS ? 1 : 0;
	uint64_t max = id == ARG_PIDS  ? PIDS_MAX :
		       id == ARG_FORKS ? FORKS_MAX :
					 TAIL_MAX;
	uint64_t ignored;
	int rc = number_parse(o, value, max, place);

	if (rc == 0 && o->kind != ARG_COUNT && *place == 0 && !empty)
		return err_set(err, -EINVAL,
			       "--%s '%s' is out of range: it must be more "
			       "than 0",
			       o->name, value);
	if (rc == 0 && *place < min)
		rc = -ERANGE;
	/* A negative number is never valid. */
	if (rc == -EINVAL && value[0] == '-' &&
	    number_parse(o, value + 1, max, &ignored) != -EINVAL)
		rc = -ERANGE;
	if (rc == -ERANGE && o->kind == ARG_COUNT)
		return err_set(err, -EINVAL,
			       "--%s '%s' is out of range: %llu to %llu",
			       o->name, value, (unsigned long long)min,
			       (unsigned long long)max);
	if (rc == -ERANGE)
		return err_set(err, -EINVAL,
			       "--%s '%s' is out of range: it is %s", o->name,
			       value,
			       value[0] == '-' ? "never negative" :
						 "too small or too large");
	if (rc < 0)
		return err_set(err, -EINVAL, "--%s%s%.1s%s '%s' is not a %s",
			       o->name, o->letter ? " (-" : "", &o->letter,
			       o->letter ? ")" : "", value,
			       o->kind == ARG_SIZE ? "size (512m, 2g)" :
			       o->kind == ARG_MS   ? "time (90s, 15m, 8h, 7d)" :
						     "number");
	return 0;
}

static int place_set(struct args *a, const struct arg_option *o,
		     const char *value, struct err *err)
{
	const struct place *p = &places[arg_id_of(o)];
	void *at = (char *)a + p->offset;

	if (p->kind == PLACE_NUMBER)
		return set_number(o, at, p->empty, value, err);
	if (p->kind == PLACE_FN)
		return p->fn(a, value, err);
	if (p->kind == PLACE_NONE)
		return err_set(err, -ENOSYS, "--%s has no place", o->name);
	if (*value == '\0' && !p->empty)
		return err_set(err, -EINVAL, "--%s needs a value", o->name);
	if (p->kind == PLACE_LIST)
		return strv_push(at, value) < 0 ? err_nomem(err) : 0;
	*(const char **)at = value;
	return 0;
}

static int option_set(struct args *a, const struct arg_option *o,
		      const char *value, struct err *err)
{
	enum arg_id id = arg_id_of(o);

	if (id == ARG_HELP)
		a->help = true;
	else
		a->given.has[id] = true;
	if (o->kind == ARG_FLAG || !value)
		return 0;
	return place_set(a, o, value, err);
}

int args_give(struct args *a, enum arg_id id, const char *value,
	      struct err *err)
{
	return option_set(a, &arg_options[id], value, err);
}

/* Arguments that are not parsed yet. */
struct cursor {
	int argc, i;
	char **argv;
};

/* Refuses an unknown option, with the one that may be meant. */
static int unknown_long(const struct arg_set *options, const char *word,
			size_t len, struct err *err)
{
	char name[65];
	struct guess g;

	snprintf(name, sizeof(name), "%.*s", (int)len, word);
	guess_begin(&g, name);
	for (size_t i = 0; i < ARG_MAX; i++)
		if (arg_set_takes(options, i))
			guess_try(&g, arg_options[i].name);
	return err_set(err, -EINVAL, "unknown option '--%s'%s%s%s", name,
		       g.found ? "; did you mean --" : "",
		       g.found ? g.found : "", g.found ? "?" : "");
}

/* "--name", "--name=value", "--name value". */
static int take_long(struct args *a, const struct arg_set *options,
		     struct cursor *cur, struct err *err)
{
	const char *word = cur->argv[cur->i] + 2;
	size_t len = strcspn(word, "=");
	const struct arg_option *o = arg_find_long(options, word, len);
	const char *value = word[len] == '=' ? word + len + 1 : NULL;

	if (!o)
		return unknown_long(options, word, len, err);
	if (o->kind == ARG_FLAG && value)
		return err_set(err, -EINVAL, "--%s takes no value", o->name);
	if (o->kind != ARG_FLAG && !value) {
		if (cur->i + 1 >= cur->argc)
			return err_set(err, -EINVAL, "--%s needs a value",
				       o->name);
		value = cur->argv[++cur->i];
	}
	return option_set(a, o, value, err);
}

/* "-q", "-dq", "-m 2g", "-m2g". */
static int take_letters(struct args *a, const struct arg_set *options,
			struct cursor *cur, struct err *err)
{
	const char *c = cur->argv[cur->i] + 1;

	for (; *c; c++) {
		const struct arg_option *o = arg_find_letter(options, *c);
		const char *value;
		int rc;

		if (!o)
			return err_set(err, -EINVAL, "unknown option '-%c'",
				       *c);
		if (o->kind == ARG_FLAG) {
			rc = option_set(a, o, NULL, err);
			if (rc < 0)
				return rc;
			continue;
		}
		value = c[1] ? c + 1 : NULL;
		if (!value && cur->i + 1 < cur->argc)
			value = cur->argv[++cur->i];
		if (!value)
			return err_set(err, -EINVAL, "-%c needs a value", *c);
		return option_set(a, o, value, err);
	}
	return 0;
}

static void take_cmd(struct args *a, struct cursor *cur, int from)
{
	a->cmd = cur->argv + from;
	a->n_cmd = (size_t)(cur->argc - from);
	cur->i = cur->argc;
}

/* ---- a directory ---- */

size_t args_dir_mode(const char *word, const char **ret_mode)
{
	static const char *const modes[] = { "copy", "live", "ro" };
	const char *colon = strrchr(word, ':');

	*ret_mode = "";
	for (size_t i = 0; colon && i < ARRAY_SIZE(modes); i++) {
		if (strcmp(colon + 1, modes[i]) != 0)
			continue;
		*ret_mode = modes[i];
		return (size_t)(colon - word);
	}
	return strlen(word);
}

bool args_is_path(const char *word)
{
	const char *mode;
	size_t len = args_dir_mode(word, &mode);
	const char *p = word;

	if (*p == '~')
		return p[1] == '/';
	for (; *p == '.'; p++)
		if (p - word == 2)
			return false;
	return *p == '/' || (p > word && (size_t)(p - word) == len);
}

/* Returns @word with ~/ replaced, or NULL without memory. */
static char *dir_expand(const char *word)
{
	const char *home = getenv("HOME");

	return *word == '~' && home && *home ?
		       str_printf("%s%s", home, word + 1) :
		       strdup(word);
}

static bool is_directory(const char *word)
{
	SCOPED_STR path = str_printf("%s", word);
	const char *mode;
	struct stat st;

	if (path)
		path[args_dir_mode(path, &mode)] = '\0';
	return path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Takes the directory. Where a command could stand as well (run base work
 * /bin/ls), only a directory of this machine is one. Returns 1 if @word is
 * none. */
static int take_dir(struct args *a, const struct args_rules *rules,
		    const char *word, struct err *err)
{
	SCOPED_STR path = NULL;

	if (!rules->options.has[ARG_WORKSPACE] || a->dir || !args_is_path(word))
		return 1;
	path = dir_expand(word);
	if (!path)
		return err_nomem(err);
	if (a->n_words >= rules->words_max && !is_directory(path))
		return 1;
	a->dir = ptr_take(&path);
	return 0;
}

static int take_word(struct args *a, const struct args_rules *rules,
		     struct cursor *cur, struct err *err)
{
	const char *word = cur->argv[cur->i];
	unsigned max = rules->words_max < ARGS_WORDS_MAX ? rules->words_max :
							   ARGS_WORDS_MAX;
	int rc = take_dir(a, rules, word, err);

	if (rc <= 0)
		return rc;
	if (a->n_words < max && !a->dir) {
		a->words[a->n_words++] = word;
		return 0;
	}
	if (!rules->takes_cmd)
		return err_set(err, -EINVAL, "one word too many: '%s'", word);
	take_cmd(a, cur, cur->i);
	return 0;
}

static int check_words(const struct args *a, const struct args_rules *rules,
		       struct err *err)
{
	if (args_has(a, ARG_TTY) && args_has(a, ARG_NO_TTY))
		return err_set(err, -EINVAL,
			       "--tty and --no-tty exclude "
			       "each other");
	if (args_has(a, ARG_PROMPT) &&
	    (args_has(a, ARG_TTY) || args_has(a, ARG_INTERACTIVE)))
		return err_set(err, -EINVAL,
			       "--prompt has neither terminal nor input: it "
			       "excludes --tty and --interactive");
	if (args_has(a, ARG_PROMPT) && args_has(a, ARG_RESUME))
		return err_set(err, -EINVAL,
			       "--prompt begins a conversation and --resume "
			       "goes on with one: they exclude each other");
	if (a->dir && args_has(a, ARG_WORKSPACE))
		return err_set(err, -EINVAL,
			       "the workspace is given twice: by --workspace "
			       "and as the word '%s'",
			       a->dir);
	/* A directory alone is run as its project says. */
	if (a->dir && rules->options.has[ARG_NO_PROJECT])
		return 0;
	if (a->n_words < rules->words_min)
		return err_set(err, -ENODATA, "a word is missing");
	return 0;
}

int args_parse(const struct args_rules *rules, int argc, char **argv,
	       struct args *ret, struct err *err)
{
	struct cursor cur = { .argc = argc, .argv = argv };
	const struct arg_set *options = &rules->options;
	int rc = 0;

	memset(ret, 0, sizeof(*ret));
	for (; rc == 0 && cur.i < argc; cur.i++) {
		const char *word = argv[cur.i];

		if (strcmp(word, "--") == 0) {
			if (!rules->takes_cmd && cur.i + 1 < argc)
				return err_set(err, -EINVAL,
					       "nothing may "
					       "follow --");
			take_cmd(ret, &cur, cur.i + 1);
			break;
		}
		if (str_starts(word, "--"))
			rc = take_long(ret, options, &cur, err);
		else if (word[0] == '-' && word[1])
			rc = take_letters(ret, options, &cur, err);
		else
			rc = take_word(ret, rules, &cur, err);
	}
	if (rc < 0 || args_has(ret, ARG_HELP))
		return rc;
	return check_words(ret, rules, err);
}

void args_done(struct args *a)
{
	free(a->dir);
	strv_done(&a->env);
	strv_done(&a->credentials);
	strv_done(&a->secrets);
	strv_done(&a->publish);
	strv_done(&a->volumes);
	reach_done(&a->reach);
	strv_done(&a->vault.hosts);
	strv_done(&a->vault.methods);
	strv_done(&a->vault.paths);
	strv_done(&a->vault.blueprints);
	strv_done(&a->vault.instances);
}
