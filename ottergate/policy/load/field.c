/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field.c - the values of a policy file, each read strictly
 */
#include "ottergate/policy/load/parse.h"

#include <stdarg.h>
#include <string.h>

#include "lib/str.h"

#define FORM "form" /* the code of what has none of its own */
#define MS_MAX (7u * 24 * 3600 * 1000) /* a week */

static int refuse_at(struct load *ld, const char *code, unsigned line,
		     unsigned column, const char *text)
{
	lint_form(ld, code, line, column, text);
	/* A fault that the linter found before stays the first. */
	if (ld->n_errors == 0)
		err_set(ld->err, -EINVAL, "%s:%u:%u: %s", ld->file, line,
			column, text);
	return -EINVAL;
}

void load_fault(struct load *ld, const struct yaml_node *n, const char *fmt,
		...)
{
	char text[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	refuse_at(ld, FORM, n->line, n->column, text);
}

void load_fault_as(struct load *ld, const char *code, const struct yaml_node *n,
		   const char *fmt, ...)
{
	char text[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	refuse_at(ld, code, n->line, n->column, text);
}

/* Text of the file, for a message about it. */
static const char *shown(char out[96], const char *s)
{
	return str_escape(out, 96, s, strlen(s));
}

static int refuse_key(struct load *ld, const struct yaml_node *n,
		      const struct field *fields, size_t n_fields)
{
	char key[96], text[384];
	int at = snprintf(text, sizeof(text),
			  "'%s' is not known here; known:", shown(key, n->key));

	for (size_t i = 0; i < n_fields && at < (int)sizeof(text); i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s %s",
			       i ? "," : "", fields[i].is.key);
	return refuse_at(ld, FORM, n->key_line, n->key_column, text);
}

int load_map(struct load *ld, const struct yaml_node *n,
	     const struct field *fields, size_t n_fields, void *to)
{
	if (n->kind != YAML_MAP)
		return load_refuse(ld, n, "a map is wanted here, not %s",
				   yaml_kind_name(n));
	for (const struct yaml_node *c = n->first; c; c = c->next) {
		const struct field *f = fields;
		int rc;

		while (f < fields + n_fields && strcmp(f->is.key, c->key) != 0)
			f++;
		if (f == fields + n_fields)
			return refuse_key(ld, c, fields, n_fields);
		rc = f->fn(ld, c, (char *)to + f->offset);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int load_list(struct load *ld, const struct yaml_node *n, field_fn fn, void *to)
{
	if (n->kind != YAML_LIST)
		return load_refuse(ld, n, "a list is wanted here, not %s",
				   yaml_kind_name(n));
	for (const struct yaml_node *c = n->first; c; c = c->next) {
		int rc = fn(ld, c, to);

		if (rc < 0)
			return rc;
	}
	return 0;
}

int load_text(struct load *ld, const struct yaml_node *n, const char **ret)
{
	if (n->kind != YAML_SCALAR)
		return load_refuse(ld, n, "a string is wanted here, not %s",
				   yaml_kind_name(n));
	if (yaml_word_is_ambiguous(n))
		return load_refuse(ld, n,
				   "a string is wanted here: write \"%s\", in "
				   "quotes",
				   n->text);
	*ret = n->text;
	return 0;
}

int load_word(struct load *ld, const struct yaml_node *n,
	      const struct schema *is, unsigned *ret)
{
	const char *const *words = is->words;
	char text[256] = "", was[96];
	const char *s;
	int at = 0, rc = load_text(ld, n, &s);

	if (rc < 0)
		return rc;
	for (unsigned i = 0; words[i]; i++) {
		if (strcmp(s, words[i]) == 0) {
			*ret = i;
			return 0;
		}
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%s",
			       i ? ", " : "", words[i]);
		if (at >= (int)sizeof(text))
			break;
	}
	return load_refuse(ld, n, "'%s' is not known here; known: %s",
			   shown(was, s), text);
}

int load_number(struct load *ld, const struct yaml_node *n,
		const struct schema *is, uint64_t *ret)
{
	if (n->kind != YAML_SCALAR ||
	    str_parse_u64(n->text, is->min, is->max, ret) < 0)
		return load_refuse(ld, n,
				   "a number from %llu to %llu is wanted here",
				   (unsigned long long)is->min,
				   (unsigned long long)is->max);
	return 0;
}

int load_size(struct load *ld, const struct yaml_node *n,
	      const struct schema *is, uint64_t *ret)
{
	uint64_t v;

	if (n->kind != YAML_SCALAR || str_parse_size(n->text, &v) < 0)
		return load_refuse(ld, n,
				   "a size such as 16KiB is wanted "
				   "here");
	if (v < is->min || v > is->max)
		return load_refuse(ld, n, "%llu to %llu bytes are wanted here",
				   (unsigned long long)is->min,
				   (unsigned long long)is->max);
	*ret = v;
	return 0;
}

int load_rate(struct load *ld, const struct yaml_node *n, const char *per,
	      bool bytes, uint64_t max, uint64_t *ret)
{
	char number[64];
	uint64_t v = 0;
	size_t len;
	int rc = -EINVAL;

	if (n->kind == YAML_SCALAR && strcmp(n->text, "none") == 0) {
		*ret = 0;
		return 0;
	}
	if (n->kind == YAML_SCALAR && str_ends(n->text, per)) {
		len = strlen(n->text) - strlen(per);
		if (len < sizeof(number)) {
			memcpy(number, n->text, len);
			number[len] = '\0';
			rc = bytes ? str_parse_size(number, &v) :
				     str_parse_u64(number, 1, max, &v);
		}
	}
	if (rc < 0 || v == 0 || v > max)
		return load_refuse(ld, n,
				   "a rate such as %s%s, or none, is wanted "
				   "here",
				   bytes ? "2MiB" : "50", per);
	*ret = v;
	return 0;
}

const struct schema load_address_is = { .kind = SCHEMA_FORM,
					.pattern = "[0-9A-Fa-f:.]+" };

int load_address(struct load *ld, const struct yaml_node *n, struct addr *ret)
{
	if (n->kind != YAML_SCALAR || addr_parse(slice_str(n->text), ret) < 0)
		return load_refuse(ld, n, "an address is wanted here");
	return 0;
}

#define ID_FIRST "[A-Za-z0-9]"
const struct schema load_id_is = { .kind = SCHEMA_TEXT,
				   .max = POLICY_ID_MAX,
				   .pattern = ID_FIRST "[A-Za-z0-9._-]*" };

/* @to: const char *. What may be in the audit and on a command line. */
int load_id(struct load *ld, const struct yaml_node *n, void *to)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyz0123456789"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ._-";
	const char *s;
	int rc = load_text(ld, n, &s);
	size_t len;

	if (rc < 0)
		return rc;
	len = strlen(s);
	if (len == 0 || len > POLICY_ID_MAX || s[strspn(s, chars)] ||
	    strchr("._-", s[0]))
		return load_refuse(ld, n,
				   "an id has 1 to %u letters, digits, '.', "
				   "'_', '-', and begins with one of the first",
				   POLICY_ID_MAX);
	s = arena_strn(ld->arena, s, len);
	if (!s)
		return load_nomem(ld);
	*(const char **)to = s;
	return 0;
}

/* @to: const char *. */
int load_string(struct load *ld, const struct yaml_node *n, void *to)
{
	const char *s;
	int rc = load_text(ld, n, &s);

	if (rc < 0)
		return rc;
	s = arena_strn(ld->arena, s, strlen(s));
	if (!s)
		return load_nomem(ld);
	*(const char **)to = s;
	return 0;
}

/* @to: bool. Only the two plain words that every YAML reader agrees on. */
int load_bool(struct load *ld, const struct yaml_node *n, void *to)
{
	bool yes = n->kind == YAML_SCALAR && strcmp(n->text, "true") == 0;
	bool no = n->kind == YAML_SCALAR && strcmp(n->text, "false") == 0;

	if (n->quoted || (!yes && !no))
		return load_refuse(ld, n, "true or false is wanted here");
	*(bool *)to = yes;
	return 0;
}

const struct schema load_ms_is = { .kind = SCHEMA_AMOUNT,
				   .pattern = SCHEMA_DURATION };

/* @to: uint32_t, milliseconds. */
int load_ms(struct load *ld, const struct yaml_node *n, void *to)
{
	uint64_t ms;

	if (n->kind != YAML_SCALAR || str_parse_duration(n->text, &ms) < 0 ||
	    ms < 100 || ms > MS_MAX)
		return load_refuse(ld, n,
				   "a time such as 10s is wanted here, from "
				   "100ms to 7d");
	*(uint32_t *)to = (uint32_t)ms;
	return 0;
}

/* A text for people; that it is one is all that matters. */
int load_ignored(struct load *ld, const struct yaml_node *n, void *to)
{
	const char *s;

	(void)to;
	return load_text(ld, n, &s);
}

int load_no_effect(struct load *ld, const struct yaml_node *n, const char *why)
{
	return load_refuse(ld, n, "'%s' would have no effect: %s", n->key, why);
}

int load_only_true(struct load *ld, const struct yaml_node *n, const char *why)
{
	bool on = false;
	int rc = load_bool(ld, n, &on);

	if (rc == 0 && !on)
		rc = load_refuse(ld, n, "'%s' can only be true: %s", n->key,
				 why);
	return rc;
}
