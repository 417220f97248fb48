/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c - tells whether an instance may reach something, and why
 */
#include "control/cli/cmd/policy/policy.h"

#include <string.h>
#include <strings.h>

#include "control/cli/host/self_addresses.h"
#include "control/cli/cmd/instance.h"
#include "control/cli/host/gatelog.h"
#include "control/cli/host/host.h"
#include "control/cli/core/lines.h"
#include "control/shared/json.h"
#include "lib/str.h"

void policy_print_clean(const char *text)
{
	size_t size = 4 * strlen(text) + 1;
	SCOPED_STR clean = malloc(size);

	if (clean)
		puts(cli_clean(clean, size, text));
}

static char *allowed_words(const json_t *v)
{
	const char *rule = json_text(v, "rule");
	const char *source = json_text(v, "source");

	if (json_is_true(json_object_get(v, "observed")) || !*rule)
		return str_printf("allowed by mode open: no rule names %s",
				  json_text(v, "target"));
	if (!*source || strcmp(source, "agent") == 0)
		return str_printf("allowed by rule %s (its own)", rule);
	return str_printf("allowed by rule %s (preset %s)", rule, source);
}

/* Prints the current addresses of the name, each with its verdict. */
static int print_places(const json_t *v, struct err *err)
{
	const char *lookup = json_text(v, "lookup");
	const char *text = gatelog_reason(lookup);
	const json_t *place;
	size_t i;

	if (strcmp(lookup, "upstream-proxy") == 0)
		puts("  its addresses are the upstream proxy's business");
	else if (strcmp(lookup, "not-judged") == 0)
		puts("  its addresses could not be judged: only the name was");
	else if (*text)
		printf("  its addresses are not known: %s (%s)\n", text,
		       lookup);
	json_array_foreach (json_object_get(v, "addresses"), i, place) {
		bool allow = json_is_true(json_object_get(place, "allow"));
		SCOPED_STR line = str_printf(
			"  %s  %s%s%s%s%s%s", json_text(place, "address"),
			allow ? "allowed" : "blocked", allow ? "" : " (",
			allow ? "" : json_text(place, "reason"),
			allow ? "" : ": class ",
			allow ? "" : json_text(place, "class"),
			allow ? "" : ")");

		if (!line)
			return err_nomem(err);
		policy_print_clean(line);
	}
	return 0;
}

static const char *place_words(const char *source)
{
	return strcmp(source, "deny") == 0 ? " in $AC_HOME/policy/policy.yaml" :
	       strcmp(source, "blueprint") == 0 ? " in its blueprint" :
						  "";
}

/*
 * Returns the words of a denial; if a rule denies, which one and where it is.
 */
static char *blocked_words(const json_t *v)
{
	const char *rule = json_text(v, "rule");
	bool denied = strcmp(json_text(v, "reason"), "deny-rule") == 0;

	return str_printf("blocked: %s (%s: %s%s%s%s)", json_text(v, "target"),
			  json_text(v, "reason"), json_text(v, "text"),
			  denied ? "; rule " : "", denied ? rule : "",
			  denied ? place_words(json_text(v, "source")) : "");
}

static int print_verdict(const json_t *v, bool allow, struct err *err)
{
	const char *hint = json_text(v, "hint");
	SCOPED_STR text = allow ? allowed_words(v) : blocked_words(v);
	SCOPED_STR more = str_printf("allow it with: %s", hint);

	if (!text || !more)
		return err_nomem(err);
	policy_print_clean(text);
	if (!allow && *hint)
		policy_print_clean(more);
	return print_places(v, err);
}

#define METHOD_MAX 16u /* bytes, as in the rules of ac-policy(5) */

/* Returns true if @word has the form of a method in a rule. RFC 9110, 9.1
 * allows any token, but rules name only this form, which all registered methods
 * have. */
static bool is_method(const char *word)
{
	size_t len = strlen(word);

	return len > 0 && len <= METHOD_MAX && word[0] != '-' &&
	       strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == len;
}

/* Returns true if @word is a common method, given in place of a URL. Any other
 * word may be a host. */
static bool is_usual_method(const char *word)
{
	static const char *const usual[] = { "GET",   "HEAD",   "POST",   "PUT",
					     "PATCH", "DELETE", "OPTIONS" };

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		if (strcasecmp(word, usual[i]) == 0)
			return true;
	return false;
}

int policy_check_words(const char *const *words, size_t n, char **ret,
		       struct err *err)
{
	char *url;

	if (!*words[n - 1] || (n == 1 && is_usual_method(words[0])))
		return err_set(err, -EINVAL,
			       "URL is missing: ac policy check NAME [METHOD] "
			       "URL");
	if (n == 2 && !is_method(words[0]))
		return err_set(err, -EINVAL,
			       "'%s' is no method: one has upper-case letters "
			       "and '-', at most %u, as GET or POST",
			       words[0], METHOD_MAX);
	url = n == 2 ? str_printf("%s %s", words[0], words[1]) :
		       strdup(words[0]);
	if (!url)
		return err_nomem(err);
	*ret = url;
	return 0;
}

int cmd_policy_check(const struct cli *cli, const struct args *a,
		     struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON v = NULL;
	SCOPED_STR url = NULL;
	SCOPED_STR rest = NULL;
	struct err untold = { 0 };
	bool allow;
	int rc = policy_check_words(a->words + 1, a->n_words - 1, &url, err);

	if (rc < 0)
		return cli_usage(err);
	rest = client_path("/policy/check?url=", url, "");
	rc = rest ? host_client(cli, false, &c, err) : err_nomem(err);
	/* If that fails, acd judges by the addresses it was told last. */
	if (rc == 0)
		addresses_tell(cli, c, &untold);
	if (rc == 0)
		rc = instance_call(c, "GET", a->words[0], rest, NULL, &v, err);
	if (rc < 0)
		return c && strcmp(client_error(c)->code, "bad_url") == 0 ?
			       cli_usage(err) :
			       rc;
	allow = json_is_true(json_object_get(v, "allow"));
	say_warnings(v);
	rc = cli->json ? cli_print_json(v, false, err) :
			 print_verdict(v, allow, err);
	return rc < 0 ? rc : allow ? 0 : CLI_EXIT_DENIED;
}
