/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete.c - completion for shells
 *
 * A key press must stay cheap and without effect: acd is asked if it runs,
 * nothing is started, and every failure is silence.
 */
#include "control/cli/complete.h"

#include <string.h>

#include "control/cli/cmd/instance.h"
#include "control/cli/cmd/schema.h"
#include "control/cli/wire/client.h"
#include "control/cli/commands.h"
#include "control/cli/host/config_file.h"
#include "control/cli/core/vault_kind.h"
#include "control/shared/json.h"

/* Options and words before the one that is being completed. */
static enum arg_words kind_after(const struct command *cmd, char *const *words,
				 size_t n, const struct arg_set **ret_options)
{
	const struct arg_set *options = &cmd->rules.options;
	const char *last = words[n - 1];
	size_t i, seen = 0;

	for (i = 1; i + 1 < n; i++) {
		const struct arg_option *o = arg_find(options, words[i]);

		if (strcmp(words[i], "--") == 0)
			return WORDS_NONE;
		if (o && o->kind != ARG_FLAG) {
			if (i + 2 == n)
				return o->words; /* its value */
			i++;
		} else if (words[i][0] != '-') {
			seen++;
		}
	}
	if (last[0] == '-') {
		*ret_options = options;
		return WORDS_NONE;
	}
	if (cmd->rules.options.has[ARG_WORKSPACE] && seen > 0 && last[0] &&
	    strchr("./~", last[0]))
		return WORDS_DIR;
	if (!cmd->verbs && seen >= cmd->rules.words_max)
		return WORDS_NONE;
	return cmd->complete[seen < 1 ? 0 : 1];
}

/* Which kind of word the last of @words (n > 0) is; *ret_options: it begins
 * an option of those, NULL when it begins none. WORDS_COMMAND for the first
 * word. Pure. */
static enum arg_words complete_kind(char *const *words, size_t n,
				    const struct arg_set **ret_options)
{
	const struct command *cmd;

	*ret_options = NULL;
	if (n == 1)
		return WORDS_COMMAND;
	cmd = command_find(words[0]);
	if (cmd && cmd->verbs && n > 2) {
		cmd = command_verb(cmd, words[1]);
		words++;
		n--;
	}
	return cmd ? kind_after(cmd, words, n, ret_options) : WORDS_NONE;
}

static int offer(struct strv *out, const char *prefix, const char *word,
		 const char *what)
{
	if (!str_starts(word, prefix))
		return 0;
	return what && *what ? strv_pushf(out, "%s\t%s", word, what) :
			       strv_push(out, word);
}

static int offer_list(struct strv *out, const char *prefix,
		      const char *const *list, size_t n)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc >= 0 && i < n; i++)
		rc = offer(out, prefix, list[i], NULL);
	return rc;
}

static int offer_commands(struct strv *out, const char *prefix)
{
	const struct command *c;
	int rc = 0;

	for (c = commands; rc >= 0 && c->name; c++) {
		if (!c->group)
			continue;
		rc = offer(out, prefix, c->name, c->summary);
		if (rc >= 0 && c->alias)
			rc = offer(out, prefix, c->alias, c->summary);
	}
	return rc;
}

static int offer_options(struct strv *out, const char *prefix,
			 const struct arg_set *options)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc >= 0 && i < ARG_MAX; i++) {
		const struct arg_option *o = &arg_options[i];
		SCOPED_STR word = str_printf("--%s", o->name);

		if (!word)
			return -ENOMEM;
		if (arg_set_takes(options, i))
			rc = offer(out, prefix, word, o->help);
	}
	return rc;
}

static int offer_instances(struct strv *out, const char *prefix,
			   const json_t *list, bool running, const char *suffix)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc >= 0 && i < json_array_size(list); i++) {
		const json_t *rec = json_array_get(list, i);
		const char *state = json_text(rec, "state");
		SCOPED_STR word =
			str_printf("%s%s", json_text(rec, "name"), suffix);

		if (!word)
			return -ENOMEM;
		if (!running || instance_runs(rec))
			rc = offer(out, prefix, word, state);
	}
	return rc;
}

static int offer_blueprints(struct strv *out, const char *prefix,
			    const json_t *list)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc >= 0 && i < json_array_size(list); i++) {
		const json_t *bp = json_array_get(list, i);

		rc = offer(out, prefix, json_text(bp, "name"), "blueprint");
	}
	return rc;
}

/* The names that the images have now, and the tags that are older. */
static int offer_images(struct strv *out, const char *prefix,
			const json_t *list)
{
	const json_t *i, *tag;
	size_t n, t;
	int rc = 0;

	json_array_foreach (list, n, i) {
		json_array_foreach (json_object_get(i, "tags"), t, tag) {
			const char *text = json_string_value(tag);
			size_t len = text ? strlen(text) : 0;
			SCOPED_STR word = NULL;

			if (len < 4 || !str_starts(text, "ac/"))
				continue;
			if (str_ends(text, ":latest"))
				len -= strlen(":latest");
			word = str_printf("%.*s", (int)len - 3, text + 3);
			rc = word ? offer(out, prefix, word, "image") : -ENOMEM;
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

static int offer_verbs(struct strv *out, const char *prefix,
		       const struct command *cmd)
{
	const struct command *v;
	int rc = 0;

	for (v = cmd ? cmd->verbs : NULL; rc >= 0 && v && v->name; v++)
		rc = offer(out, prefix, strchr(v->name, ' ') + 1, v->summary);
	return rc;
}

/* Offers the names of a list; what each is comes from its member @what. */
static int offer_named(struct strv *out, const char *prefix, const json_t *list,
		       const char *what)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc >= 0 && i < json_array_size(list); i++) {
		const json_t *e = json_array_get(list, i);

		rc = offer(out, prefix, json_text(e, "name"),
			   json_text(e, what));
	}
	return rc;
}

/* Is @word an entry of the first @list_len bytes of @list? */
static bool in_list(const char *list, size_t list_len, const char *word)
{
	size_t len = strlen(word), n;

	for (; list_len > 0; list += n, list_len -= n) {
		n = strcspn(list, ",");
		if (n == len && memcmp(list, word, len) == 0)
			return true;
		n += list[n] == ',';
		if (n > list_len)
			break;
	}
	return false;
}

static bool is_egress(const json_t *preset)
{
	return strcmp(json_text(preset, "kind"), "egress") == 0;
}

static int offer_presets(struct strv *out, const char *prefix,
			 const json_t *presets)
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < json_array_size(presets); i++) {
		const json_t *p = json_array_get(presets, i);

		rc = offer(out, prefix, json_text(p, "name"),
			   json_text(p, "description"));
	}
	return rc;
}

/* One more entry of a list by commas, behind those that are there: a preset
 * once, a mode only at the beginning. */
static int offer_egress(struct strv *out, const char *prefix,
			const json_t *presets)
{
	const char *comma = strrchr(prefix, ',');
	int head = comma ? (int)(comma - prefix) + 1 : 0;
	size_t i, n = json_array_size(presets);
	int rc = 0;

	for (i = comma ? REACH_MODES : 0; rc >= 0 && i < REACH_MODES + n; i++) {
		const json_t *p =
			i < REACH_MODES ?
				NULL :
				json_array_get(presets, i - REACH_MODES);
		const char *entry = p ? json_text(p, "name") : reach_modes[i];
		SCOPED_STR word = str_printf("%.*s%s", head, prefix, entry);

		if (!word)
			return -ENOMEM;
		if ((p && !is_egress(p)) ||
		    in_list(prefix, (size_t)head, entry))
			continue;
		rc = offer(out, prefix, word,
			   p ? json_text(p, "description") : "mode");
	}
	return rc;
}

/* Volumes, each with a place of its name if @at. */
static int offer_volumes(struct strv *out, const char *prefix,
			 const json_t *volumes, bool at)
{
	const json_t *v;
	size_t i;
	int rc = 0;

	json_array_foreach (volumes, i, v) {
		const char *name = json_text(v, "name");
		SCOPED_STR word =
			at ? str_printf("%s:" AC_MNT "/%s", name, name) :
			     strdup(name);

		if (!word)
			return -ENOMEM;
		if (rc >= 0)
			rc = offer(out, prefix, word, "volume");
	}
	return rc;
}

static int offer_keys(struct strv *out, const char *prefix)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < CONFIG_KEYS; i++)
		rc = offer(out, prefix, config_keys[i].name, "");
	return rc;
}

/* A file, or a blueprint. */
static int offer_definitions(struct strv *out, const char *prefix,
			     const struct complete_facts *f)
{
	int rc = strv_push(out, ":file");

	return rc < 0 ? rc : offer_blueprints(out, prefix, f->blueprints);
}

/* A file, or one in an instance that runs. */
static int offer_copy(struct strv *out, const char *prefix,
		      const struct complete_facts *f)
{
	int rc = strv_push(out, ":file");

	return rc < 0 ? rc :
			offer_instances(out, prefix, f->instances, true, ":");
}

/* Offers words that are the same everywhere; other kinds have none. */
static int offer_fixed(struct strv *out, const char *prefix,
		       enum arg_words kind)
{
	static const char *const isolations[] = { "runsc", "crun" };
	static const char *const protos[] = { "http", "tls", "tcp" };
	static const char *const tools[] = { "one", "full" };
	static const char *const runtimes[] = { "runsc", "docker" };
	static const char *const shells[] = { "bash", "zsh", "fish" };

	switch (kind) {
	case WORDS_SHELL:
		return offer_list(out, prefix, shells, ARRAY_SIZE(shells));
	case WORDS_SCHEMA:
		return offer_list(out, prefix, schema_names, SCHEMA_NAMES);
	case WORDS_ISOLATION:
		return offer_list(out, prefix, isolations,
				  ARRAY_SIZE(isolations));
	case WORDS_RUNTIME:
		return offer_list(out, prefix, runtimes, ARRAY_SIZE(runtimes));
	case WORDS_MODE:
		return offer_list(out, prefix, reach_modes, REACH_MODES);
	case WORDS_SECRET:
		return offer_list(out, prefix, vault_kinds, VAULT_KINDS);
	case WORDS_TOOLS:
		return offer_list(out, prefix, tools, ARRAY_SIZE(tools));
	case WORDS_PROTO:
		return offer_list(out, prefix, protos, ARRAY_SIZE(protos));
	default:
		return 0;
	}
}

/* A blueprint, or an instance. */
static int offer_either(struct strv *out, const char *prefix,
			const struct complete_facts *f)
{
	int rc = offer_blueprints(out, prefix, f->blueprints);

	return rc < 0 ? rc :
			offer_instances(out, prefix, f->instances, false, "");
}

static int offer_kind(struct strv *out, const char *prefix, enum arg_words kind,
		      const struct complete_facts *f)
{
	static const char *const parts[] = { "host",   "proxy",  "gateway",
					     "gvisor", "engine", "agent" };
	int rc = 0;

	switch (kind) {
	case WORDS_COMMAND:
		return offer_commands(out, prefix);
	case WORDS_BLUEPRINT:
		return offer_blueprints(out, prefix, f->blueprints);
	case WORDS_DEFINITION:
		return offer_definitions(out, prefix, f);
	case WORDS_EITHER:
		return offer_either(out, prefix, f);
	case WORDS_INSTANCE:
	case WORDS_SAVED:
	case WORDS_RUNNING:
		return offer_instances(out, prefix, f->instances,
				       kind == WORDS_RUNNING, "");
	case WORDS_LOG:
		rc = offer_list(out, prefix, parts, ARRAY_SIZE(parts));
		if (rc < 0)
			return rc;
		return offer_instances(out, prefix, f->instances, false, "");
	case WORDS_COPY:
		return offer_copy(out, prefix, f);
	case WORDS_CREDENTIAL:
		return offer_named(out, prefix, f->credentials, "kind");
	case WORDS_SERVICE:
		return offer_named(out, prefix, f->services, "url");
	case WORDS_VOLUME:
	case WORDS_VOLUME_AT:
		return offer_volumes(out, prefix, f->volumes,
				     kind == WORDS_VOLUME_AT);
	case WORDS_EGRESS:
		return offer_egress(out, prefix, f->presets);
	case WORDS_PRESET:
		return offer_presets(out, prefix, f->presets);
	case WORDS_DIR:
		return strv_push(out, ":dir");
	case WORDS_FILE:
		return strv_push(out, ":file");
	default:
		return offer_fixed(out, prefix, kind);
	}
}

int complete_words(char *const *words, size_t n,
		   const struct complete_facts *facts, struct strv *out)
{
	const struct arg_set *options;
	enum arg_words kind = complete_kind(words, n, &options);

	if (options)
		return offer_options(out, words[n - 1], options);
	if (kind == WORDS_VERB)
		return offer_verbs(out, words[n - 1], command_find(words[0]));
	if (kind == WORDS_IMAGE)
		return offer_images(out, words[n - 1], facts->images);
	if (kind == WORDS_CONFIG)
		return offer_keys(out, words[n - 1]);
	return offer_kind(out, words[n - 1], kind, facts);
}

/* Returns the list @key of acd's answer, which is *@ret, or NULL without one. */
static const json_t *get_list(struct client *c, const char *path,
			      const char *key, json_t **ret)
{
	struct err ignored = { 0 };

	return client_call(c, "GET", path, NULL, ret, &ignored) == 0 ?
		       json_object_get(*ret, key) :
		       NULL;
}

int cmd_complete(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = client_new(cli->sock, "acd");
	SCOPED_JSON instances = NULL;
	SCOPED_JSON blueprints = NULL;
	SCOPED_JSON more = NULL; /* of the one kind that is wanted */
	struct complete_facts facts = { 0 };
	struct strv out = { 0 };
	struct err ignored = { 0 };
	const struct arg_set *options;
	enum arg_words kind;
	size_t i;

	if (!c || a->n_cmd == 0)
		return err_set(err, -EINVAL, "nothing to complete");
	if (client_call(c, "GET", "/v1/instances", NULL, &instances,
			&ignored) == 0 &&
	    client_call(c, "GET", "/v1/blueprints", NULL, &blueprints,
			&ignored) == 0) {
		facts.instances = json_object_get(instances, "instances");
		facts.blueprints = json_object_get(blueprints, "blueprints");
	}
	kind = complete_kind(a->cmd, a->n_cmd, &options);
	if (kind == WORDS_EGRESS || kind == WORDS_PRESET)
		facts.presets = get_list(c, "/v1/presets", "presets", &more);
	if (kind == WORDS_CREDENTIAL)
		facts.credentials = get_list(c, "/v1/vault", "entries", &more);
	if (kind == WORDS_IMAGE)
		facts.images = get_list(c, "/v1/images", "images", &more);
	if (kind == WORDS_SERVICE)
		facts.services = get_list(c, "/v1/services", "services", &more);
	if (kind == WORDS_VOLUME || kind == WORDS_VOLUME_AT)
		facts.volumes = get_list(c, "/v1/volumes", "volumes", &more);
	if (complete_words(a->cmd, a->n_cmd, &facts, &out) >= 0)
		for (i = 0; i < out.n; i++)
			puts(out.v[i]);
	strv_done(&out);
	return 0;
}

static const char bash_script[] =
	"_ac() {\n"
	"\tlocal line\n"
	"\tCOMPREPLY=()\n"
	"\twhile IFS= read -r line; do\n"
	"\t\tcase $line in\n"
	"\t\t:dir) compopt -o dirnames 2>/dev/null ;;\n"
	"\t\t:file) compopt -o default 2>/dev/null ;;\n"
	"\t\t*) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
	"\t\tesac\n"
	"\tdone < <(\"${COMP_WORDS[0]}\" __complete -- \\\n"
	"\t\t\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
	"}\n"
	"complete -F _ac ac ./ac\n";

static const char zsh_script[] =
	"#compdef ac\n"
	"_ac() {\n"
	"\tlocal line\n"
	"\tlocal -a found\n"
	"\twhile IFS= read -r line; do\n"
	"\t\tcase $line in\n"
	"\t\t:dir) _files -/ ;;\n"
	"\t\t:file) _files ;;\n"
	"\t\t*) found+=(\"${${line//:/\\\\:}/$'\\t'/:}\") ;;\n"
	"\t\tesac\n"
	"\tdone < <(\"${words[1]}\" __complete -- \"${words[@]:1:$((CURRENT - "
	"1))}\" 2>/dev/null)\n"
	"\t(( ${#found} )) && _describe ac found\n"
	"}\n"
	"if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
	"\t_ac \"$@\"\n"
	"else\n"
	"\tcompdef _ac ac\n"
	"fi\n";

static const char fish_script[] =
	"function __ac_complete\n"
	"\tset -l words (commandline -opc) (commandline -ct)\n"
	"\tfor line in ($words[1] __complete -- $words[2..-1] 2>/dev/null)\n"
	"\t\tswitch $line\n"
	"\t\t\tcase :dir\n"
	"\t\t\t\t__fish_complete_directories (commandline -ct)\n"
	"\t\t\tcase :file\n"
	"\t\t\t\t__fish_complete_path (commandline -ct)\n"
	"\t\t\tcase '*'\n"
	"\t\t\t\techo $line\n"
	"\t\tend\n"
	"\tend\n"
	"end\n"
	"complete -c ac -f -a '(__ac_complete)'\n";

int cmd_completion(const struct cli *cli, const struct args *a, struct err *err)
{
	const char *shell = a->words[0];

	(void)cli;
	(void)err;
	if (strcmp(shell, "bash") == 0) {
		fputs(bash_script, stdout);
	} else if (strcmp(shell, "zsh") == 0) {
		fputs(zsh_script, stdout);
	} else if (strcmp(shell, "fish") == 0) {
		fputs(fish_script, stdout);
	} else {
		say_error("completion for bash, zsh and fish, not for '%s'",
			  shell);
		return CLI_EXIT_USAGE;
	}
	return 0;
}
