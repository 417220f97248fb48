/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_edit.c - sets or removes one key of config.yaml
 *
 * What people have written, comments above all, stays byte by byte: only the
 * key's line is changed, added or removed. This works for the plain form, one
 * key a line. The result is parsed and must have the value that was asked for.
 */
#include "control/cli/host/config_file.h"

#include <string.h>

#include "lib/buf.h"
#include "lib/str.h"
#include "ottergate/yaml.h"

/* A line of the text, without its end. */
struct line {
	const char *at;
	size_t len;
};

static struct line line_of(const char *text, unsigned number)
{
	const char *end;

	while (--number > 0) {
		end = strchr(text, '\n');
		text = end ? end + 1 : text + strlen(text);
	}
	return (struct line){ text, strcspn(text, "\n") };
}

static const char *behind(struct line l)
{
	return l.at[l.len] ? l.at + l.len + 1 : l.at + l.len;
}

static const struct yaml_node *child(const struct yaml_node *map,
				     const char *key, size_t len)
{
	const struct yaml_node *n = map && map->kind == YAML_MAP ? map->first :
								   NULL;

	while (n && (strlen(n->key) != len || memcmp(n->key, key, len) != 0))
		n = n->next;
	return n;
}

/* Writes @value in a form that YAML reads as this text. */
static int put_value(struct buf *out, const char *value)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789./_-:";
	int rc;

	/* Numbers with a unit, paths and addresses have one meaning in YAML.
	 * Short words are quoted: one may mean true. */
	if ((*value == '/' || (*value >= '0' && *value <= '9') ||
	     str_starts(value, "http") || strlen(value) > 3) &&
	    strspn(value, plain) == strlen(value) &&
	    strcmp(value, "null") != 0 && strcmp(value, "true") != 0 &&
	    strcmp(value, "false") != 0)
		return buf_append(out, value, strlen(value));
	rc = buf_append(out, "'", 1);
	for (; rc == 0 && *value; value++)
		rc = *value == '\'' ? buf_append(out, "''", 2) :
				      buf_append(out, value, 1);
	return rc < 0 ? rc : buf_append(out, "'", 1);
}

/* Returns where the scalar at @from ends, or NULL if not on this line. */
static const char *scalar_end(const struct yaml_node *n, const char *from,
			      const char *end)
{
	const char *p = from;

	if (!n->quoted) {
		size_t len = strlen(n->text);

		return (size_t)(end - from) >= len &&
				       memcmp(from, n->text, len) == 0 ?
			       from + len :
			       NULL;
	}
	if (*from != '\'' && *from != '"')
		return NULL;
	while (++p < end) {
		if ((*p == '\\' && *from == '"') ||
		    (*p == *from && *from == '\'' && p[1] == '\''))
			p++;
		else if (*p == *from)
			return p + 1;
	}
	return NULL;
}

/* Returns true if the line is "KEY: VALUE", perhaps with a comment. *ret_from
 * and *ret_end: the value. */
static bool is_plain(struct line l, const struct yaml_node *n,
		     const char **ret_from, const char **ret_end)
{
	const char *end = l.at + l.len, *p = l.at, *rest;
	size_t key = strlen(n->key);

	while (p < end && *p == ' ')
		p++;
	if ((size_t)(end - p) <= key || memcmp(p, n->key, key) != 0 ||
	    p[key] != ':' || (size_t)n->column - 1 > l.len)
		return false;
	*ret_from = l.at + n->column - 1;
	*ret_end = scalar_end(n, *ret_from, end);
	if (!*ret_end)
		return false;
	for (rest = *ret_end; rest < end && (*rest == ' ' || *rest == '\r');)
		rest++;
	return rest == end || *rest == '#';
}

static int by_hand(const char *path, struct err *err)
{
	return err_set(err, -ENOTSUP,
		       "%s: this is not written as one key a line, so it "
		       "cannot be changed by itself: ac config edit",
		       path);
}

/* Changes the value on the line of @n, or removes the line. */
static int change(const char *path, const char *text, const struct yaml_node *n,
		  const char *value, struct buf *out, struct err *err)
{
	struct line l = line_of(text, n->line);
	const char *from, *end;
	int rc;

	if (n->kind != YAML_SCALAR || !is_plain(l, n, &from, &end))
		return by_hand(path, err);
	if (!value)
		from = l.at;
	rc = buf_append(out, text, (size_t)(from - text));
	if (rc == 0 && value)
		rc = put_value(out, value);
	if (!value)
		end = behind(l);
	if (rc == 0)
		rc = buf_append(out, end, strlen(end));
	return rc < 0 ? err_nomem(err) : 0;
}

/* Writes "KEY: VALUE" as a line, after @indent blanks. */
static int put_line(struct buf *out, size_t indent, const char *key,
		    const char *value)
{
	int rc = buf_printf(out, "%*s%s: ", (int)indent, "", key);

	if (rc >= 0)
		rc = put_value(out, value);
	return rc < 0 ? rc : buf_append(out, "\n", 1);
}

/* Adds to a section: before its first key, or after its name. */
static int add_in(const char *text, const struct yaml_node *section,
		  const char *key, const char *value, struct buf *out)
{
	const struct yaml_node *first =
		section->kind == YAML_MAP ? section->first : NULL;
	struct line l = line_of(text, first ? first->line : section->line);
	const char *at = first ? l.at : behind(l);
	size_t indent = first ? strspn(l.at, " ") : 2;
	int rc = buf_append(out, text, (size_t)(at - text));

	if (rc == 0 && at > text && at[-1] != '\n')
		rc = buf_append(out, "\n", 1);
	if (rc == 0)
		rc = put_line(out, indent, key, value);
	return rc < 0 ? rc : buf_append(out, at, strlen(at));
}

static int add(const char *text, const struct yaml_node *root, const char *name,
	       const char *value, struct buf *out)
{
	const char *dot = strchr(name, '.');
	size_t len = strlen(text);
	const struct yaml_node *section =
		dot ? child(root, name, (size_t)(dot - name)) : NULL;
	int rc;

	if (section)
		return add_in(text, section, dot + 1, value, out);
	rc = buf_append(out, text, len);
	if (rc == 0 && len > 0 && text[len - 1] != '\n')
		rc = buf_append(out, "\n", 1);
	if (rc == 0 && dot)
		rc = buf_printf(out, "%.*s:\n", (int)(dot - name), name);
	return rc < 0 ? rc :
			put_line(out, dot ? 2 : 0, dot ? dot + 1 : name, value);
}

static const struct yaml_node *lookup(const struct yaml_node *root,
				      const char *name)
{
	const char *dot = strchr(name, '.');

	if (!dot)
		return child(root, name, strlen(name));
	return child(child(root, name, (size_t)(dot - name)), dot + 1,
		     strlen(dot + 1));
}

static int edit_text(const char *path, const char *text,
		     const struct config_key *key, const char *value,
		     struct buf *out, struct err *err)
{
	struct yaml_tree tree = { 0 };
	const struct yaml_node *n;
	int rc = yaml_tree_parse(text, strlen(text), path, &yaml_small, &tree,
				 err);

	if (rc < 0)
		return rc;
	n = lookup(tree.root, key->name);
	if (n)
		rc = change(path, text, n, value, out, err);
	else if (!value)
		rc = buf_append(out, text, strlen(text));
	else if (add(text, tree.root, key->name, value, out) < 0)
		rc = err_nomem(err);
	yaml_tree_done(&tree);
	return rc;
}

/* Checks that the result is valid and has the value. */
static int check(const char *path, const char *text,
		 const struct config_key *key, const char *value,
		 struct err *err)
{
	struct config c = { 0 };
	const char *got;
	int rc = config_parse(path, text, strlen(text), &c, err);

	if (rc < 0)
		return rc;
	got = c.value[key - config_keys];
	if (value ? !got || strcmp(got, value) != 0 : got != NULL)
		rc = by_hand(path, err);
	config_done(&c);
	return rc;
}

int config_edit(const char *path, const char *text,
		const struct config_key *key, const char *value, char **ret,
		struct err *err)
{
	SCOPED_STR result = NULL;
	struct buf out;
	int rc;

	buf_init(&out, 2 * CONFIG_BYTES_MAX);
	rc = edit_text(path, text, key, value, &out, err);
	if (rc == 0 && slice_dup_str(buf_slice(&out), &result) < 0)
		rc = err_nomem(err);
	buf_done(&out);
	if (rc == 0)
		rc = check(path, result, key, value, err);
	if (rc == 0)
		*ret = ptr_take(&result);
	return rc;
}
