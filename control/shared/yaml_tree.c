/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_tree.c - a strict reading of one YAML document, with positions
 *
 * libyaml's events are turned into a tree without recursion: the stack of
 * open collections has YAML_DEPTH_MAX entries. Aliases are refused, so the
 * tree is never larger than the text.
 */
#include "control/shared/yaml_tree.h"

#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "lib/str.h"

struct builder {
	struct yaml_tree *tree;
	struct yaml_node *stack[YAML_DEPTH_MAX];
	unsigned depth;
	char *key; /* of the map on top, waiting for its value */
	size_t nodes;
	unsigned documents;
	int code; /* why there is no node */
};

static void node_free(struct yaml_node *n)
{
	free(n->key);
	free(n->text);
	free(n);
}

/* A node's children take its place in the list: no recursion. */
void yaml_tree_done(struct yaml_tree *t)
{
	while (t->root) {
		struct yaml_node *n = t->root;

		if (n->last)
			n->last->next = n->next;
		t->root = n->last ? n->first : n->next;
		node_free(n);
	}
}

static int refuse_at(const char *file, size_t line, size_t column,
		     struct err *err, const char *text)
{
	return err_set(err, -EINVAL, "%s:%zu:%zu: %s", file, line, column,
		       text);
}

static int refuse_mark(const struct builder *b, yaml_mark_t mark,
		       struct err *err, const char *text)
{
	return refuse_at(b->tree->file, mark.line + 1, mark.column + 1, err,
			 text);
}

int yaml_tree_refuse(const struct yaml_tree *t, const struct yaml_node *n,
		     struct err *err, const char *fmt, ...)
{
	char text[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return refuse_at(t->file, n ? n->line : 1, n ? n->column : 1, err,
			 text);
}

int yaml_tree_string(const struct yaml_tree *t, const struct yaml_node *n,
		     const char **ret, struct err *err)
{
	static const char *const ambiguous[] = {
		"",    "~",   "null", "true", "false", "on",
		"off", "yes", "no",   "y",    "n",
	};

	if (n->kind != YAML_SCALAR)
		return yaml_tree_refuse(t, n, err,
					"a string is wanted here, not a %s",
					n->kind == YAML_LIST ? "list" : "map");
	for (size_t i = 0; !n->quoted && i < ARRAY_SIZE(ambiguous); i++) {
		if (strcasecmp(n->text, ambiguous[i]) == 0)
			return yaml_tree_refuse(t, n, err,
						"a string is wanted here: "
						"write \"%s\", in quotes",
						n->text);
	}
	*ret = n->text;
	return 0;
}

static bool map_has(const struct yaml_node *map, const char *key)
{
	for (const struct yaml_node *n = map->first; n; n = n->next) {
		if (strcmp(n->key, key) == 0)
			return true;
	}
	return false;
}

/* The open list or map that comes next goes into, NULL at the top. */
static struct yaml_node *parent_of(const struct builder *b)
{
	return b->depth ? b->stack[b->depth - 1] : NULL;
}

static bool key_is_missing(const struct builder *b)
{
	const struct yaml_node *parent = parent_of(b);

	return parent && parent->kind == YAML_MAP && !b->key;
}

/* Hangs a new node where the builder stands; NULL: b->code says why. */
static struct yaml_node *node_add(struct builder *b, enum yaml_kind kind,
				  yaml_mark_t mark, struct err *err)
{
	struct yaml_node *parent = parent_of(b);
	struct yaml_node *n;

	if (key_is_missing(b)) {
		b->code =
			refuse_mark(b, mark, err, "a key must be a plain word");
		return NULL;
	}
	if (++b->nodes > YAML_NODES_MAX) {
		b->code = refuse_mark(b, mark, err, "too many values");
		return NULL;
	}
	n = calloc(1, sizeof(*n));
	if (!n) {
		b->code = err_nomem(err);
		return NULL;
	}
	n->kind = kind;
	n->line = (unsigned)mark.line + 1;
	n->column = (unsigned)mark.column + 1;
	n->key = ptr_take(&b->key);
	if (!parent)
		b->tree->root = n;
	else if (parent->last)
		parent->last->next = n;
	else
		parent->first = n;
	if (parent)
		parent->last = n;
	return n;
}

static int on_collection(struct builder *b, enum yaml_kind kind,
			 yaml_mark_t mark, struct err *err)
{
	struct yaml_node *n = node_add(b, kind, mark, err);

	if (!n)
		return b->code;
	if (b->depth == YAML_DEPTH_MAX)
		return refuse_mark(b, mark, err, "nested too deeply");
	b->stack[b->depth++] = n;
	return 0;
}

static int on_key(struct builder *b, const char *text, yaml_mark_t mark,
		  struct err *err)
{
	char shown[128], msg[192];

	if (map_has(b->stack[b->depth - 1], text)) {
		snprintf(msg, sizeof(msg), "'%s' is here twice",
			 str_escape(shown, sizeof(shown), text, strlen(text)));
		return refuse_mark(b, mark, err, msg);
	}
	b->key = strdup(text);
	return b->key ? 0 : err_nomem(err);
}

static int on_scalar(struct builder *b, const yaml_event_t *ev, struct err *err)
{
	const char *text = (const char *)ev->data.scalar.value;
	size_t len = ev->data.scalar.length;
	bool quoted = ev->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	struct yaml_node *n;

	if (len > YAML_SCALAR_MAX)
		return refuse_mark(b, ev->start_mark, err,
				   "the text is too long");
	if (memchr(text, 0, len))
		return refuse_mark(b, ev->start_mark, err,
				   "a NUL byte cannot be in a text");
	if (key_is_missing(b))
		return on_key(b, text, ev->start_mark, err);

	n = node_add(b, YAML_SCALAR, ev->start_mark, err);
	if (!n)
		return b->code;
	n->quoted = quoted;
	n->text = strdup(text);
	return n->text ? 0 : err_nomem(err);
}

/* What the document says about itself has no place in ours. */
static int on_document(struct builder *b, const yaml_event_t *ev,
		       struct err *err)
{
	if (++b->documents > 1)
		return refuse_mark(b, ev->start_mark, err,
				   "a second document begins here");
	if (ev->data.document_start.version_directive ||
	    ev->data.document_start.tag_directives.start !=
		    ev->data.document_start.tag_directives.end)
		return refuse_mark(b, ev->start_mark, err,
				   "directives are not allowed");
	return 0;
}

static bool has_anchor_or_tag(const yaml_event_t *ev)
{
	switch (ev->type) {
	case YAML_SCALAR_EVENT:
		return ev->data.scalar.anchor || ev->data.scalar.tag;
	case YAML_SEQUENCE_START_EVENT:
		return ev->data.sequence_start.anchor ||
		       ev->data.sequence_start.tag;
	case YAML_MAPPING_START_EVENT:
		return ev->data.mapping_start.anchor ||
		       ev->data.mapping_start.tag;
	default:
		return false;
	}
}

static int on_event(struct builder *b, const yaml_event_t *ev, struct err *err)
{
	if (ev->type == YAML_ALIAS_EVENT || has_anchor_or_tag(ev))
		return refuse_mark(b, ev->start_mark, err,
				   "anchors, aliases and tags are not "
				   "allowed: write the value out");
	switch (ev->type) {
	case YAML_DOCUMENT_START_EVENT:
		return on_document(b, ev, err);
	case YAML_SCALAR_EVENT:
		return on_scalar(b, ev, err);
	case YAML_SEQUENCE_START_EVENT:
		return on_collection(b, YAML_LIST, ev->start_mark, err);
	case YAML_MAPPING_START_EVENT:
		return on_collection(b, YAML_MAP, ev->start_mark, err);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		b->depth--;
		return 0;
	default:
		return 0;
	}
}

static int parser_refuse(const struct builder *b, const yaml_parser_t *p,
			 struct err *err)
{
	yaml_mark_t mark = p->problem_mark;
	char text[256];

	if (p->error == YAML_MEMORY_ERROR)
		return err_nomem(err);
	/* A byte that is no text at all has an offset, but no mark. */
	if (p->error == YAML_READER_ERROR) {
		snprintf(text, sizeof(text), "%s (at byte %zu)", p->problem,
			 p->problem_offset);
		return refuse_mark(b, p->mark, err, text);
	}
	snprintf(text, sizeof(text), "%s%s%s", p->context ? p->context : "",
		 p->context ? ": " : "", p->problem ? p->problem : "?");
	return refuse_mark(b, mark, err, text);
}

static int build(struct builder *b, yaml_parser_t *parser, struct err *err)
{
	bool ended = false;

	while (!ended) {
		yaml_event_t ev;
		int rc;

		if (!yaml_parser_parse(parser, &ev))
			return parser_refuse(b, parser, err);
		ended = ev.type == YAML_STREAM_END_EVENT;
		rc = on_event(b, &ev, err);
		yaml_event_delete(&ev);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int yaml_tree_parse(const char *text, size_t len, const char *file,
		    struct yaml_tree *ret, struct err *err)
{
	struct yaml_tree tree = { .file = file };
	struct builder b = { .tree = &tree };
	yaml_parser_t parser;
	int rc;

	if (!yaml_parser_initialize(&parser))
		return err_nomem(err);
	/* Not to be guessed from a byte order mark. */
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	rc = build(&b, &parser, err);
	yaml_parser_delete(&parser);
	free(b.key);

	if (rc < 0) {
		yaml_tree_done(&tree);
		return rc;
	}
	*ret = tree;
	return 0;
}
