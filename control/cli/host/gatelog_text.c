/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatelog_text.c - describes a line of the gateway's audit
 */
#include "control/cli/host/gatelog.h"

#include <string.h>

#include "lib/str.h"
#include "ottergate/reason.h"

static bool is(const json_t *line, const char *key, const char *value)
{
	return strcmp(json_text(line, key), value) == 0;
}

/* The policy allowed it, but it failed. */
static bool is_failure(const json_t *line)
{
	static const char *const codes[] = {
		"no-address",      "dns-failed",      "connect-failed",
		"connect-timeout", "connect-refused", "no-route",
		"upstream-proxy",  "upstream-http",   "upstream-cert",
		"upstream-tls",    "edge-down"
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(codes); i++)
		if (is(line, "reason", codes[i]))
			return true;
	return false;
}

enum gatelog_kind gatelog_kind(const json_t *line)
{
	if (is(line, "event", "deny") || is(line, "event", "limit") ||
	    is(line, "event", "alarm"))
		return is_failure(line) ? GATELOG_FAILED : GATELOG_BLOCKED;
	if (!is(line, "event", "allow"))
		return GATELOG_OTHER;
	return json_is_true(json_object_get(line, "observed")) ?
		       GATELOG_OBSERVED :
		       GATELOG_ALLOWED;
}

/* Returns the name or, without one, the address that was asked for; else where
 * it led to. */
static const char *host_of(const json_t *line)
{
	static const char *const keys[] = { "name", "address", "original",
					    "dialled" };
	const char *host = "";
	size_t i;

	for (i = 0; !*host && i < ARRAY_SIZE(keys); i++)
		host = json_text(line, keys[i]);
	return host;
}

char *gatelog_target(char out[GATELOG_TARGET_MAX], const json_t *line)
{
	const char *host = host_of(line);
	long long port = json_count(line, "port");
	char clean[GATELOG_TARGET_MAX - 16], colon[16] = "";
	bool bare;

	str_escape(clean, sizeof(clean), host, strlen(host));
	if (port > 0 && port <= 65535 && *host)
		snprintf(colon, sizeof(colon), ":%d", (int)port);
	bare = !*colon || !strchr(host, ':');
	snprintf(out, GATELOG_TARGET_MAX, "%s%s%s%s", bare ? "" : "[",
		 *host ? clean : "?", bare ? "" : "]", colon);
	return out;
}

uint64_t gatelog_ms(const json_t *line)
{
	const char *rest;

	return gatelog_stamp(json_text(line, "time"), &rest);
}

uint64_t gatelog_stamp(const char *text, const char **ret_rest)
{
	struct tm tm = { 0 };
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	uint64_t ms = 0;
	time_t t;

	if (!rest)
		return 0;
	t = timegm(&tm);
	if (t < 0)
		return 0;
	if (*rest == '.') {
		SCOPED_STR digits = strndup(rest + 1, 3);

		if (!digits || str_parse_u64(digits, 0, 999, &ms) < 0)
			ms = 0;
		rest += 1 + strspn(rest + 1, "0123456789");
	}
	*ret_rest = rest + (*rest == 'Z');
	return (uint64_t)t * 1000 + ms;
}

char *gatelog_time(char out[GATELOG_TIME_MAX], uint64_t ms, time_t now)
{
	time_t t = (time_t)(ms / 1000);
	struct tm then = { 0 }, today = { 0 };
	bool same;

	snprintf(out, GATELOG_TIME_MAX, "?");
	if (ms == 0 || !localtime_r(&t, &then) || !localtime_r(&now, &today))
		return out;
	same = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;
	if (!strftime(out, GATELOG_TIME_MAX, same ? "%T" : "%F %T", &then))
		snprintf(out, GATELOG_TIME_MAX, "?");
	return out;
}

/* Rules are about names, and about addresses that were asked for as such. No
 * rule can lift a built-in denial. */
bool gatelog_may_be_allowed(const json_t *line)
{
	if (*json_text(line, "address") &&
	    (is(line, "reason", "address-literal") ||
	     is(line, "reason", "no-hello") || is(line, "reason", "no-sni")))
		return json_count(line, "port") > 0;
	return *json_text(line, "name") && json_count(line, "port") > 0 &&
	       (is(line, "reason", "not-allowed") ||
		is(line, "reason", "port") || is(line, "reason", "proto") ||
		is(line, "reason", "observed"));
}

/* A word that begins with '-' would be an option. */
static const char *hint_scheme(const json_t *line)
{
	if (is(line, "path", "tcp"))
		return "tcp://";
	if (*host_of(line) != '-')
		return "";
	return is(line, "path", "http") ? "http://" : "https://";
}

char *gatelog_hint(char out[GATELOG_HINT_MAX], const json_t *line)
{
	char target[GATELOG_TARGET_MAX];
	long long port = json_count(line, "port");

	*out = '\0';
	if (gatelog_may_be_allowed(line))
		snprintf(out, GATELOG_HINT_MAX, "%s%s", hint_scheme(line),
			 gatelog_target(target, line));
	else if (!is(line, "reason", "not-tls") || port <= 0 || port > 65535)
		return out;
	else if (*json_text(line, "name") || *json_text(line, "address"))
		snprintf(out, GATELOG_HINT_MAX, "tcp://%s",
			 gatelog_target(target, line));
	else
		snprintf(out, GATELOG_HINT_MAX, "tcp://HOST:%d", (int)port);
	return out;
}

char *gatelog_program(char out[GATELOG_PROGRAM_MAX], const json_t *line)
{
	const char *exe = json_text(line, "exe");
	long long pid = json_count(line, "pid");
	char clean[GATELOG_PROGRAM_MAX - 40], number[32] = "";

	*out = '\0';
	if (pid > 0)
		snprintf(number, sizeof(number), "%spid %lld%s",
			 *exe ? " (" : "", pid, *exe ? ")" : "");
	str_escape(clean, sizeof(clean), exe, strlen(exe));
	if (*exe || pid > 0)
		snprintf(out, GATELOG_PROGRAM_MAX, " by %s%s", clean, number);
	return out;
}

const char *gatelog_reason(const char *code)
{
#define WORDS(id, word, text) { word, text },
	static const struct {
		const char *code, *text;
	} reasons[] = { REASON_TABLE(WORDS) };
#undef WORDS
	size_t i;

	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		if (strcmp(code, reasons[i].code) == 0)
			return reasons[i].text;
	return "";
}

/* Writes which rule allowed it, or why not, for after the target. */
static void put_why(char *out, size_t size, const json_t *line)
{
	const char *code = json_text(line, "reason");
	const char *rule = json_text(line, "rule");
	const char *text = gatelog_reason(code);
	char word[64], id[80];

	str_escape(word, sizeof(word), code, strlen(code));
	str_escape(id, sizeof(id), rule, strlen(rule));
	if (*id && (strcmp(code, "allowed") == 0 || !*code))
		snprintf(out, size, "rule %s", id);
	else
		snprintf(out, size, "%s%s%s%s%s%s", word, *text ? ": " : "",
			 text, *id ? " (rule " : "", id, *id ? ")" : "");
}

/* Writes an inspected request: "GET /user, with github". The path comes from
 * the sandbox; the gateway has cut a long one. */
static void put_request(char *out, size_t size, const json_t *line)
{
	const char *words[] = { json_text(line, "method"),
				json_text(line, "target"),
				json_text(line, "credential") };
	char clean[3][400];

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		str_escape(clean[i], sizeof(clean[i]), words[i],
			   strlen(words[i]));
	snprintf(out, size, "%s%s%s%s%s", clean[0], *clean[0] ? " " : "",
		 clean[1], *clean[2] ? ", with " : "", clean[2]);
}

/* Writes the use of a model, at its end. */
static void put_usage(char *out, size_t size, const json_t *line)
{
	const char *model = json_text(line, "model");
	char clean[256];

	str_escape(clean, sizeof(clean), model, strlen(model));
	snprintf(out, size, "%s: status %lld, %lld tokens in, %lld out",
		 *clean ? clean : "?", json_count(line, "status"),
		 json_count(line, "tokens_in"), json_count(line, "tokens_out"));
}

/* Writes the request, if there is one, and why. */
static void put_detail(char *out, size_t size, const json_t *line)
{
	bool request = *json_text(line, "method") != '\0';
	char asked[1300] = "";

	if (is(line, "event", "usage")) {
		put_usage(out, size, line);
		return;
	}
	if (request)
		put_request(asked, sizeof(asked), line);
	if (request && is(line, "event", "inject")) {
		snprintf(out, size, "%s", asked);
		return;
	}
	put_why(out, size, line);
	if (request) {
		size_t n = strlen(out);

		snprintf(out + n, size - n, "; it was %s", asked);
	}
}

static void put_bytes(char *out, size_t size, const json_t *line)
{
	char up[32], down[32];

	str_format_size(up, sizeof(up), (uint64_t)json_count(line, "up"));
	str_format_size(down, sizeof(down), (uint64_t)json_count(line, "down"));
	snprintf(out, size, "%s sent, %s received", up, down);
}

/* Writes "may use github, npm": the gateway has their values for it. */
static bool put_secrets(char *out, size_t size, const json_t *line)
{
	const json_t *list = json_object_get(line, "secrets");
	size_t n = json_array_size(list), used;

	if (!json_is_array(list))
		return false;
	used = (size_t)snprintf(out, size, n ? "may use " : "may use nothing");
	for (size_t i = 0; i < n && used < size - 96; i++) {
		const char *id = json_string_value(json_array_get(list, i));
		char clean[80];

		str_escape(clean, sizeof(clean), id ? id : "?",
			   id ? strlen(id) : 1);
		used += (size_t)snprintf(out + used, size - used, "%s%s",
					 i ? ", " : "", clean);
	}
	return true;
}

/* Describes a policy that was bound, unbound, loaded or refused. Returns false
 * for other lines. */
static bool put_policy(char *out, size_t size, const json_t *line)
{
	const char *refused = json_text(line, "refused");
	const char *hash = json_text(line, "policy");
	const char *audit = json_text(line, "audit");
	long long agents = json_count(line, "agents");
	char clean[1024];

	if (*refused)
		snprintf(out, size, "refused: %s",
			 str_escape(clean, sizeof(clean), refused,
				    strlen(refused)));
	else if (*audit)
		snprintf(out, size, "%s",
			 str_escape(clean, sizeof(clean), audit,
				    strlen(audit)));
	else if (*hash)
		snprintf(out, size, "loaded, for %lld sandbox%s", agents,
			 agents == 1 ? "" : "es");
	else if (json_is_true(json_object_get(line, "bound")))
		snprintf(out, size, "holds for it from now on");
	else if (json_is_true(json_object_get(line, "unbound")))
		snprintf(out, size, "holds for it no longer");
	else
		return put_secrets(out, size, line);
	return true;
}

/* Writes what such a line has besides the common members. */
static void put_note(char *out, size_t size, const json_t *line)
{
	static const char *const common[] = { "time", "event", "agent", "prev",
					      "hash" };
	json_t *rest = json_copy((json_t *)(uintptr_t)line);
	SCOPED_STR text = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(common); i++)
		json_object_del(rest, common[i]);
	text = rest ? json_dumps(rest, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	json_decref(rest);
	snprintf(out, size, "%s", text ? text : "");
}

char *gatelog_text(char out[GATELOG_TEXT_MAX], const json_t *line)
{
	char agent[72], event[24], path[24], target[GATELOG_TARGET_MAX];
	char more[GATELOG_TEXT_MAX - 1024], program[GATELOG_PROGRAM_MAX];
	const char *text = json_text(line, "agent");

	str_escape(agent, sizeof(agent), *text ? text : "-",
		   *text ? strlen(text) : 1);
	text = json_text(line, "event");
	str_escape(event, sizeof(event), text, strlen(text));
	text = json_text(line, "path");
	str_escape(path, sizeof(path), *text ? text : "-",
		   *text ? strlen(text) : 1);
	if (strcmp(event, "policy") == 0) {
		if (!put_policy(more, sizeof(more), line))
			put_note(more, sizeof(more), line);
		snprintf(out, GATELOG_TEXT_MAX, "%-12s %-6s %s", agent, event,
			 more);
		return out;
	}
	if (strcmp(event, "close") == 0)
		put_bytes(more, sizeof(more), line);
	else
		put_detail(more, sizeof(more), line);
	snprintf(out, GATELOG_TEXT_MAX, "%-12s %-6s %-7s %s  %s%s", agent,
		 event, path, gatelog_target(target, line), more,
		 gatelog_program(program, line));
	return out;
}
