/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml.c - a strict reading of one YAML document, with positions
 *
 * What two readers could see differently is refused: duplicate keys, anchors
 * and aliases (so the tree is never larger than the text), tags, directives,
 * second documents. libyaml's events become nodes without recursion; open
 * collections are a stack of YAML_DEPTH_MAX.
 */
#include "ottergate/yaml.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "lib/str.h"

#define COLUMN_MAX 0xffffffu

const struct yaml_limits yaml_policy = {
	.depth = YAML_DEPTH_MAX,
	.keys = 4096,
	.nodes = 8000000,
	.scalar = 4096,
	.complete = true,
};

const struct yaml_limits yaml_small = {
	.depth = 8,
	.keys = 4096,
	.nodes = 4096,
	.scalar = 8192,
};

struct frame { /* an open collection */
	struct yaml_node *node, *last;
	unsigned keys;
};

struct builder {
	struct yaml_tree *tree;
	const struct yaml_limits *max;
	struct err *err;
	struct frame stack[YAML_DEPTH_MAX];
	unsigned depth, documents;
	size_t nodes;
	const char *key; /* of the map on top, waiting for its value */
	yaml_mark_t key_mark;
};

static int refuse(const struct builder *b, yaml_mark_t at, const char *text)
{
	err_set(b->err, -EINVAL, "%s:%zu:%zu: %s", b->tree->file, at.line + 1,
		at.column + 1, text);
	err_place(b->err, (unsigned)at.line + 1, (unsigned)at.column + 1);
	return -EINVAL;
}

static int refuse_nomem(const struct builder *b)
{
	err_nomem(b->err);
	return -ENOMEM;
}

static bool wants_key(const struct builder *b)
{
	return b->depth && b->stack[b->depth - 1].node->kind == YAML_MAP &&
	       !b->key;
}

static uint32_t column_of(yaml_mark_t at)
{
	return at.column < COLUMN_MAX ? (uint32_t)(at.column + 1) : COLUMN_MAX;
}

static int node_add(struct builder *b, enum yaml_kind kind, yaml_mark_t at,
		    struct yaml_node **ret)
{
	struct frame *top = b->depth ? &b->stack[b->depth - 1] : NULL;
	struct yaml_node *n;

	if (wants_key(b))
		return refuse(b, at, "a key must be a plain word");
	if (!top && kind != YAML_MAP && b->max->complete)
		return refuse(b, at, "a map is wanted here: `version: 1` …");
	if (++b->nodes > b->max->nodes)
		return refuse(b, at, "too many values");
	n = arena_alloc(&b->tree->arena, sizeof(*n));
	if (!n)
		return refuse_nomem(b);
	n->kind = kind & 0xffu;
	n->line = (uint32_t)(at.line + 1);
	n->column = column_of(at) & COLUMN_MAX;
	if (b->key) {
		n->key = b->key;
		n->key_line = (uint32_t)(b->key_mark.line + 1);
		n->key_column = column_of(b->key_mark) & COLUMN_MAX;
		b->key = NULL;
	}
	if (!top)
		b->tree->root = n;
	else if (top->last)
		top->last->next = n;
	else
		top->node->first = n;
	if (top)
		top->last = n;
	*ret = n;
	return 0;
}

static int on_collection(struct builder *b, enum yaml_kind kind, yaml_mark_t at)
{
	struct yaml_node *n;
	int rc;

	if (b->depth == b->max->depth)
		return refuse(b, at, "nested too deeply");
	rc = node_add(b, kind, at, &n);
	if (rc < 0)
		return rc;
	b->stack[b->depth++] = (struct frame){ .node = n };
	return 0;
}

static int on_key(struct builder *b, const char *text, size_t len,
		  yaml_mark_t at)
{
	struct frame *top = &b->stack[b->depth - 1];
	char shown[128], msg[192];

	if (++top->keys > b->max->keys)
		return refuse(b, at, "too many keys in one map");
	for (const struct yaml_node *n = top->node->first; n; n = n->next) {
		if (strcmp(n->key, text) != 0)
			continue;
		snprintf(msg, sizeof(msg), "'%s' is here twice",
			 str_escape(shown, sizeof(shown), text, len));
		return refuse(b, at, msg);
	}
	b->key = arena_strn(&b->tree->arena, text, len);
	b->key_mark = at;
	return b->key ? 0 : refuse_nomem(b);
}

/* A plain word that YAML readers take for "nothing". */
static bool is_null(const char *text)
{
	return !*text || strcmp(text, "~") == 0 ||
	       strcasecmp(text, "null") == 0;
}

static int on_scalar(struct builder *b, const yaml_event_t *ev)
{
	const char *text = (const char *)ev->data.scalar.value;
	size_t len = ev->data.scalar.length;
	bool quoted = ev->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	yaml_mark_t at = ev->start_mark;
	struct yaml_node *n;
	int rc;

	if (len > b->max->scalar)
		return refuse(b, at, "the text is too long");
	if (memchr(text, 0, len))
		return refuse(b, at, "a NUL byte cannot be in a text");
	if (wants_key(b))
		return on_key(b, text, len, at);
	if (b->max->complete && !quoted && is_null(text))
		return refuse(b, at, "a value is missing here");
	rc = node_add(b, YAML_SCALAR, at, &n);
	if (rc < 0)
		return rc;
	n->quoted = quoted;
	n->text = arena_strn(&b->tree->arena, text, len);
	return n->text ? 0 : refuse_nomem(b);
}

static int on_document(struct builder *b, const yaml_event_t *ev)
{
	if (++b->documents > 1)
		return refuse(b, ev->start_mark,
			      "a second document begins here");
	if (ev->data.document_start.version_directive ||
	    ev->data.document_start.tag_directives.start !=
		    ev->data.document_start.tag_directives.end)
		return refuse(b, ev->start_mark, "directives are not allowed");
	return 0;
}

static bool has_anchor_or_tag(const yaml_event_t *ev)
{
	switch (ev->type) {
	case YAML_ALIAS_EVENT:
		return true;
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

static int on_event(struct builder *b, const yaml_event_t *ev)
{
	if (has_anchor_or_tag(ev))
		return refuse(b, ev->start_mark,
			      "anchors, aliases and tags are not allowed: "
			      "write the value out");
	switch (ev->type) {
	case YAML_DOCUMENT_START_EVENT:
		return on_document(b, ev);
	case YAML_SCALAR_EVENT:
		return on_scalar(b, ev);
	case YAML_SEQUENCE_START_EVENT:
		return on_collection(b, YAML_LIST, ev->start_mark);
	case YAML_MAPPING_START_EVENT:
		return on_collection(b, YAML_MAP, ev->start_mark);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		assert(b->depth > 0); /* libyaml's events are balanced */
		b->depth--;
		return 0;
	default:
		return 0;
	}
}

/* libyaml tells where it gave up; what people look for is the bracket or the
 * quote that nothing closes, far above. False: it is something else. */
static bool find_open(const struct builder *b, const yaml_parser_t *p,
		      yaml_mark_t *ret_at, const char **ret_what)
{
	const char *in = p->context ? p->context : "";
	const struct yaml_node *top = b->depth ? b->stack[b->depth - 1].node :
						 NULL;

	*ret_at = p->context_mark;
	if (strcmp(in, "while parsing a flow sequence") == 0) {
		*ret_what = "list";
	} else if (strcmp(in, "while parsing a flow mapping") == 0) {
		*ret_what = "map";
	} else if (strcmp(in, "while scanning a quoted scalar") == 0 &&
		   p->problem && strstr(p->problem, "end of stream")) {
		*ret_what = "quoted text";
	} else if (strcmp(in, "while parsing a flow node") == 0 && top) {
		/* Its value is missing, mostly since nothing follows. */
		*ret_what = top->kind == YAML_LIST ? "list" : "map";
		ret_at->line = top->line - 1;
		ret_at->column = top->column - 1u;
	} else {
		return false;
	}
	return true;
}

static int refuse_syntax(const struct builder *b, const yaml_parser_t *p)
{
	char text[256];
	const char *what;
	yaml_mark_t at;

	if (p->error == YAML_MEMORY_ERROR)
		return refuse_nomem(b);
	/* A byte that is no text at all has an offset, but no mark. */
	if (p->error == YAML_READER_ERROR) {
		snprintf(text, sizeof(text), "%s (at byte %zu)", p->problem,
			 p->problem_offset);
		return refuse(b, p->mark, text);
	}
	if (find_open(b, p, &at, &what)) {
		snprintf(text, sizeof(text),
			 "the %s that begins at line %zu is not closed, or not "
			 "well-formed (line %zu: %s)",
			 what, at.line + 1, p->problem_mark.line + 1,
			 p->problem ? p->problem : "no YAML");
		return refuse(b, at, text);
	}
	snprintf(text, sizeof(text), "%s%s%s", p->context ? p->context : "",
		 p->context ? ": " : "", p->problem ? p->problem : "no YAML");
	return refuse(b, p->problem_mark, text);
}

static int build(struct builder *b, yaml_parser_t *parser)
{
	for (;;) {
		yaml_event_t ev;
		bool ended;
		int rc;

		if (!yaml_parser_parse(parser, &ev))
			return refuse_syntax(b, parser);
		ended = ev.type == YAML_STREAM_END_EVENT;
		rc = on_event(b, &ev);
		yaml_event_delete(&ev);
		if (rc < 0 || ended)
			return rc;
	}
}

int yaml_tree_parse(const char *text, size_t len, const char *file,
		    const struct yaml_limits *max, struct yaml_tree *ret,
		    struct err *err)
{
	struct builder b = { .tree = ret, .max = max, .err = err };
	yaml_parser_t parser;
	int rc;

	assert(max->depth <= YAML_DEPTH_MAX);
	*ret = (struct yaml_tree){ .file = file };
	if (!yaml_parser_initialize(&parser))
		return err_nomem(err);
	/* Not to be guessed from a byte order mark. */
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	rc = build(&b, &parser);
	yaml_parser_delete(&parser);
	if (rc >= 0 && !ret->root && max->complete)
		rc = refuse(&b, (yaml_mark_t){ 0 }, "the file says nothing");
	if (rc < 0)
		yaml_tree_done(ret);
	return rc;
}

void yaml_tree_done(struct yaml_tree *t)
{
	arena_done(&t->arena);
	t->root = NULL;
}

int yaml_tree_refuse(const struct yaml_tree *t, const struct yaml_node *n,
		     struct err *err, const char *fmt, ...)
{
	char text[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(err, -EINVAL, "%s:%u:%u: %s", t->file, n ? n->line : 1,
		n ? n->column : 1u, text);
	err_place(err, n ? n->line : 1, n ? n->column : 1u);
	return -EINVAL;
}

int yaml_tree_string(const struct yaml_tree *t, const struct yaml_node *n,
		     const char **ret, struct err *err)
{
	if (n->kind != YAML_SCALAR)
		return yaml_tree_refuse(t, n, err,
					"a string is wanted here, not %s",
					yaml_kind_name(n));
	if (yaml_word_is_ambiguous(n))
		return yaml_tree_refuse(t, n, err,
					"a string is wanted here: write "
					"\"%s\", in quotes",
					n->text);
	*ret = n->text;
	return 0;
}

int yaml_tree_copy(const struct yaml_tree *t, const struct yaml_node *n,
		   char **ret, struct err *err)
{
	const char *text = NULL;
	char *copy;
	int rc = yaml_tree_string(t, n, &text, err);

	if (rc < 0)
		return rc;
	copy = strdup(text);
	if (!copy)
		return err_nomem(err);
	*ret = copy;
	return 0;
}

int yaml_tree_want_map(const struct yaml_tree *t, const struct yaml_node *n,
		       struct err *err)
{
	if (n->kind == YAML_MAP)
		return 0;
	return yaml_tree_refuse(t, n, err, "a map (key: value) is wanted here");
}

int yaml_tree_unknown(const struct yaml_tree *t, const struct yaml_node *n,
		      struct err *err)
{
	char shown[64];

	return yaml_tree_refuse(t, n, err, "unknown key '%s'",
				str_escape(shown, sizeof(shown), n->key,
					   strlen(n->key)));
}

const struct yaml_node *yaml_child(const struct yaml_node *map, const char *key)
{
	if (!map || map->kind != YAML_MAP)
		return NULL;
	for (const struct yaml_node *n = map->first; n; n = n->next) {
		if (strcmp(n->key, key) == 0)
			return n;
	}
	return NULL;
}

const char *yaml_kind_name(const struct yaml_node *n)
{
	static const char *const names[] = { "a string", "a list", "a map" };

	return names[n->kind];
}

bool yaml_word_is_ambiguous(const struct yaml_node *n)
{
	static const char *const words[] = {
		"true", "false", "on", "off", "yes", "no", "y", "n",
	};

	if (!n->quoted && is_null(n->text))
		return true;
	for (size_t i = 0; !n->quoted && i < ARRAY_SIZE(words); i++) {
		if (strcasecmp(n->text, words[i]) == 0)
			return true;
	}
	return false;
}

bool yaml_word_is_number(const struct yaml_node *n)
{
	const char *s = n->text;
	size_t len;

	if (n->quoted)
		return false;
	s += *s == '+' || *s == '-';
	if (strcasecmp(s, ".inf") == 0 || strcasecmp(s, ".nan") == 0)
		return true;
	if (s[0] == '0' && strchr("xXoObB", s[1]) && s[1])
		return s[2] && !s[2 + strspn(s + 2, "0123456789abcdefABCDEF_")];
	/* Digits, with a fraction, an exponent, or base 60 (YAML 1.1). */
	if (!strpbrk(s, "0123456789"))
		return false;
	len = strspn(s, "0123456789_.:");
	if ((s[len] == 'e' || s[len] == 'E') && len) {
		len++;
		len += s[len] == '+' || s[len] == '-';
		len += strspn(s + len, "0123456789");
	}
	return !s[len];
}

static void each_text(const char *s,
		      void (*fn)(void *arg, const void *data, size_t len),
		      void *arg)
{
	fn(arg, s ? s : "", s ? strlen(s) + 1 : 1);
}

/* The depth was bounded when the tree was made. */
void yaml_node_each(const struct yaml_node *n,
		    void (*fn)(void *arg, const void *data, size_t len),
		    void *arg)
{
	uint8_t kind = n->kind;

	each_text(n->key, fn, arg);
	fn(arg, &kind, sizeof(kind));
	if (n->kind == YAML_SCALAR) {
		each_text(n->text, fn, arg);
		return;
	}
	for (const struct yaml_node *c = n->first; c; c = c->next) {
		fn(arg, "+", 1);
		yaml_node_each(c, fn, arg);
	}
	fn(arg, "-", 1);
}
