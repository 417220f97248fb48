/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_set.c - which of many patterns a path matches, in one walk over it
 *
 * Theory of operation: the patterns are one trie of tokens, so that what they
 * begin with alike is there once. A token is a character, or "%2F". Beside the
 * edges of tokens a node has up to four to nodes that stay while they are fed:
 * two kinds of "*" (which of them takes an encoded slash depends on the rest of
 * its segment), "**", and "#", which alone is entered by a token, its first
 * digit. A walk holds the set of nodes that it may be at, and takes one token at
 * a time; a node is in the set once.
 *
 * The set is small however many patterns there are: it grows with the stars
 * that one path can be below at the same time, and patterns that have the same
 * beginning share these. A path can be made such that it is below many at each
 * of its characters, so a walk has a limit as well.
 *
 * In what denies, a path may also end at each dot of its last segment: what
 * follows is a format to some server (".json", ".JSON", ".json.gz"), or nothing
 * (a dot at the end). The walk finds these on its way, so that they cost no
 * reading more, however many dots there are.
 */
#include "ottergate/policy/request/path_set.h"

#include <string.h>

#include "lib/str.h"
#include "ottergate/policy/request/path.h"

#define TOKEN_OTHER 0u /* no pattern has it */
#define TOKEN_ENCODED 1u /* "%2F" that does not separate */
#define TOKENS 128u

enum kind {
	NODE_PLAIN,
	NODE_STAR, /* stays for all but slashes */
	NODE_STAR_ENCODED, /* stays for all but plain slashes */
	NODE_ANY, /* "**": once in a segment of its own, stays for all */
	NODE_NUMBER, /* stays for digits */
};

struct node { /* 0: there is none, but for the first, which is the root */
	uint64_t edges[TOKENS / 64]; /* tokens that it has a child for */
	uint32_t child; /* the first of them; they lie side by side */
	uint32_t star, star_encoded, any, number;
	uint32_t item; /* the first of its items */
	uint16_t n_items;
	uint8_t kind;
};

struct ipath_set {
	const struct node *nodes;
	uint32_t n;
	const uint16_t *items;
	bool loose;
};

/* --- tokens --------------------------------------------------------------- */

static bool is_encoded_slash(const char *s, size_t len)
{
	return len >= 3 && s[0] == '%' && s[1] == '2' && (s[2] | 0x20) == 'f';
}

static uint8_t fold(char c, bool upper, bool loose)
{
	uint8_t t = (uint8_t)c;

	if (t <= TOKEN_ENCODED || t >= TOKENS)
		return TOKEN_OTHER;
	if (loose)
		return t >= 'A' && t <= 'Z' ? t | 0x20 : t;
	return upper && t >= 'a' && t <= 'f' ? t & 0xdf : t;
}

/* --- making one ----------------------------------------------------------- */

struct draft_node {
	struct node n; /* star … number: drafts; child: the first */
	uint32_t sibling; /* children in the order of their tokens */
	uint32_t items; /* the newest, 1 above its place; 0: none */
	uint8_t token;
};

struct draft_item {
	uint32_t next;
	uint16_t item;
};

struct draft {
	struct draft_node *v;
	uint32_t n, cap;
	struct draft_item *items;
	uint32_t n_items, cap_items;
	bool loose;
};

static int draft_new(struct draft *d, enum kind kind, uint32_t *ret)
{
	if (d->n == d->cap) {
		uint32_t cap = d->cap ? 2 * d->cap : 256;
		struct draft_node *v = realloc(d->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		d->v = v;
		d->cap = cap;
	}
	if (d->n == IPATH_SET_NODES_MAX)
		return -E2BIG;
	d->v[d->n] = (struct draft_node){ .n.kind = (uint8_t)kind };
	*ret = d->n++;
	return 0;
}

static int draft_child(struct draft *d, uint32_t *at, uint8_t token)
{
	uint32_t before = 0, next = d->v[*at].n.child, made;
	int rc;

	while (next && d->v[next].token < token) {
		before = next;
		next = d->v[next].sibling;
	}
	if (next && d->v[next].token == token) {
		*at = next;
		return 0;
	}
	rc = draft_new(d, NODE_PLAIN, &made);
	if (rc < 0)
		return rc;
	d->v[made].token = token;
	d->v[made].sibling = next;
	if (before)
		d->v[before].sibling = made;
	else
		d->v[*at].n.child = made;
	d->v[*at].n.edges[token / 64] |= UINT64_C(1) << token % 64;
	*at = made;
	return 0;
}

static uint32_t *draft_slot(struct draft_node *d, enum kind kind)
{
	return kind == NODE_STAR         ? &d->n.star :
	       kind == NODE_STAR_ENCODED ? &d->n.star_encoded :
	       kind == NODE_ANY          ? &d->n.any :
					   &d->n.number;
}

/* A node that stays. Behind another of its kind it is the same, but for "#":
 * "##" is two digits or more. */
static int draft_stay(struct draft *d, uint32_t *at, enum kind kind)
{
	uint32_t made;
	int rc;

	if (d->v[*at].n.kind == kind && kind != NODE_NUMBER)
		return 0;
	made = *draft_slot(&d->v[*at], kind);
	if (!made) {
		rc = draft_new(d, kind, &made);
		if (rc < 0)
			return rc;
		*draft_slot(&d->v[*at], kind) = made;
	}
	*at = made;
	return 0;
}

static bool has_encoded_slash(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (is_encoded_slash(s + i, len - i))
			return true;
	return false;
}

static int draft_segment(struct draft *d, uint32_t *at, const char *s,
			 size_t len)
{
	enum kind star = has_encoded_slash(s, len) ? NODE_STAR_ENCODED :
						     NODE_STAR;
	size_t hex = 0; /* digits of "%XX" that follow */
	int rc = draft_child(d, at, '/');

	for (size_t i = 0; i < len && rc == 0; i++) {
		if (is_encoded_slash(s + i, len - i)) {
			rc = draft_child(d, at, TOKEN_ENCODED);
			i += 2;
		} else if (s[i] == '*') {
			rc = draft_stay(d, at, star);
		} else if (s[i] == '#') {
			rc = draft_stay(d, at, NODE_NUMBER);
		} else {
			rc = draft_child(d, at, fold(s[i], hex > 0, d->loose));
			hex = s[i] == '%' ? 2 : hex > 0 ? hex - 1 : 0;
		}
	}
	return rc;
}

static int draft_item(struct draft *d, uint32_t at, uint16_t item)
{
	uint32_t cap = d->cap_items ? 2 * d->cap_items : 64;
	struct draft_item *v;

	/* Patterns of one item come together. */
	if (d->v[at].items && d->items[d->v[at].items - 1].item == item)
		return 0;
	if (d->n_items == d->cap_items) {
		v = realloc(d->items, cap * sizeof(*v));
		if (!v)
			return -ENOMEM;
		d->items = v;
		d->cap_items = cap;
	}
	d->items[d->n_items] = (struct draft_item){ d->v[at].items, item };
	d->v[at].items = ++d->n_items;
	d->v[at].n.n_items++;
	return 0;
}

static bool is_matchable(const char *s)
{
	if (*s != '/')
		return false;
	for (; *s; s++)
		if ((uint8_t)*s <= TOKEN_ENCODED || (uint8_t)*s >= TOKENS)
			return false; /* canonical paths have none */
	return true;
}

static int draft_pattern(struct draft *d, const struct ipath_pattern *p)
{
	const char *s = p->text;
	uint32_t at = 0;
	int rc = 0;

	if (!is_matchable(s))
		return 0;
	while (*s == '/' && rc == 0) {
		size_t len = strcspn(++s, "/");

		if (len == 2 && s[0] == '*' && s[1] == '*')
			rc = draft_stay(d, &at, NODE_ANY);
		else
			rc = draft_segment(d, &at, s, len);
		s += len;
	}
	return rc < 0 ? rc : draft_item(d, at, p->item);
}

/* Breadth first: the children of a node get places side by side. */
static int draft_freeze(const struct draft *d, struct arena *arena,
			struct ipath_set *ret)
{
	struct node *nodes = arena_array(arena, d->n, sizeof(*nodes));
	uint16_t *items = arena_array(arena, d->n_items + 1, sizeof(*items));
	uint32_t *order = calloc(d->n, sizeof(*order));
	uint32_t n = 1, n_items = 0;

	if (!nodes || !items || !order) {
		free(order);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct draft_node *from = &d->v[order[i]];
		struct node *to = &nodes[i];

		*to = from->n;
		to->child = n;
		for (uint32_t c = from->n.child; c; c = d->v[c].sibling)
			order[n++] = c;
		if (from->n.star)
			order[to->star = n++] = from->n.star;
		if (from->n.star_encoded)
			order[to->star_encoded = n++] = from->n.star_encoded;
		if (from->n.any)
			order[to->any = n++] = from->n.any;
		if (from->n.number)
			order[to->number = n++] = from->n.number;
		to->item = n_items;
		for (uint32_t k = from->items; k; k = d->items[k - 1].next)
			items[n_items++] = d->items[k - 1].item;
	}
	free(order);
	*ret = (struct ipath_set){ nodes, n, items, d->loose };
	return 0;
}

int ipath_set_make(struct arena *arena, const struct ipath_pattern *v, size_t n,
		   bool loose, const struct ipath_set **ret)
{
	struct ipath_set *s = arena_alloc(arena, sizeof(*s));
	struct draft d = { .loose = loose };
	uint32_t root;
	int rc = s ? draft_new(&d, NODE_PLAIN, &root) : -ENOMEM;

	for (size_t i = 0; i < n && rc == 0; i++)
		rc = draft_pattern(&d, &v[i]);
	if (rc == 0)
		rc = draft_freeze(&d, arena, s);
	free(d.v);
	free(d.items);
	if (rc == 0)
		*ret = s;
	return rc;
}

/* --- a walk --------------------------------------------------------------- */

/* Where a walk may be: the place of a node, twice, and whether it is "**" with
 * a segment begun. */
struct walk {
	const struct ipath_set *s;
	uint64_t *seen; /* a bit for each */
	uint32_t *now, *next;
	uint32_t n_now, n_next;
	uint64_t work; /* with that of walks before it for the same hits */
};

static int walk_begin(struct walk *w, const struct ipath_set *s,
		      const struct ipath_hits *hits)
{
	size_t states = 2 * (size_t)s->n, words = states / 64 + 1;
	uint8_t *mem = malloc(words * sizeof(uint64_t) +
			      2 * states * sizeof(uint32_t));

	if (!mem)
		return -ENOMEM;
	*w = (struct walk){ .s = s, .seen = (void *)mem, .work = hits->work };
	w->now = (void *)(mem + words * sizeof(uint64_t));
	w->next = w->now + states;
	memset(w->seen, 0, words * sizeof(uint64_t));
	return 0;
}

static int walk_end(struct walk *w, struct ipath_hits *hits)
{
	hits->work = w->work;
	free(w->seen);
	return w->work > IPATH_SET_WORK_MAX ? -E2BIG : 0;
}

/* One state, and what it can also be without another token. */
static void walk_add(struct walk *w, uint32_t place, bool begun)
{
	const struct node *n = &w->s->nodes[place];
	const uint32_t also[] = { n->star, n->star_encoded, n->any };
	uint32_t state = 2 * place + begun;

	if (w->seen[state / 64] >> state % 64 & 1)
		return;
	w->seen[state / 64] |= UINT64_C(1) << state % 64;
	w->next[w->n_next++] = state;
	w->work++;
	for (size_t i = 0; i < ARRAY_SIZE(also); i++)
		if (also[i])
			walk_add(w, also[i], false);
}

static void walk_turn(struct walk *w)
{
	uint32_t *now = w->now;

	for (uint32_t i = 0; i < w->n_next; i++)
		w->seen[w->next[i] / 64] = 0;
	w->now = w->next;
	w->n_now = w->n_next;
	w->next = now;
	w->n_next = 0;
}

/* The child of @n for @token; 0: none. */
static uint32_t child_of(const struct node *n, uint8_t token)
{
	uint64_t below = (UINT64_C(1) << token % 64) - 1;
	uint32_t rank = 0;

	if (!(n->edges[token / 64] >> token % 64 & 1))
		return 0;
	if (token >= 64)
		rank = (uint32_t)__builtin_popcountll(n->edges[0]);
	rank += (uint32_t)__builtin_popcountll(n->edges[token / 64] & below);
	return n->child + rank;
}

static bool is_digit(uint8_t token)
{
	return token >= '0' && token <= '9';
}

static bool stays(const struct node *n, uint8_t token, bool begun)
{
	switch ((enum kind)n->kind) {
	case NODE_STAR:
		return token != '/' && token != TOKEN_ENCODED;
	case NODE_STAR_ENCODED:
		return token != '/';
	case NODE_ANY:
		return begun || token == '/';
	case NODE_NUMBER:
		return is_digit(token);
	case NODE_PLAIN:
		break;
	}
	return false;
}

static void walk_token(struct walk *w, uint8_t token)
{
	for (uint32_t i = 0; i < w->n_now; i++) {
		uint32_t place = w->now[i] / 2, child;
		const struct node *n = &w->s->nodes[place];

		if (stays(n, token, w->now[i] & 1))
			walk_add(w, place, n->kind == NODE_ANY);
		child = child_of(n, token);
		if (child)
			walk_add(w, child, false);
		if (n->number && is_digit(token))
			walk_add(w, n->number, false);
	}
	walk_turn(w);
}

/* Takes the items of the states. @ends: the path ends here for every server,
 * else "**" with a segment begun is left for its end, which it stays until. */
static void walk_hits(struct walk *w, bool ends, struct ipath_hits *hits)
{
	for (uint32_t i = 0; i < w->n_now; i++) {
		const struct node *n = &w->s->nodes[w->now[i] / 2];

		if (!ends && (w->now[i] & 1))
			continue;
		w->work += !ends;
		for (uint32_t k = 0; k < n->n_items; k++) {
			uint16_t item = w->s->items[n->item + k];

			hits->bits[item / 64] |= UINT64_C(1) << item % 64;
		}
	}
}

/* Where the last segment of @path begins. */
static size_t last_segment(struct slice path, bool encoded)
{
	const char *s = (const char *)path.ptr;
	size_t i = path.len;

	while (i > 0 && s[i - 1] != '/' &&
	       !(encoded && i >= 3 && is_encoded_slash(s + i - 3, 3)))
		i--;
	return i;
}

/* One reading of the path. @encoded: encoded slashes separate. */
static void walk_path(struct walk *w, struct slice path, bool encoded,
		      struct ipath_hits *hits)
{
	const char *s = (const char *)path.ptr;
	size_t last = last_segment(path, encoded), hex = 0, step;

	walk_add(w, 0, false);
	walk_turn(w);
	for (size_t i = 0;
	     i < path.len && w->n_now > 0 && w->work <= IPATH_SET_WORK_MAX;
	     i += step) {
		uint8_t token = fold(s[i], hex > 0, w->s->loose);

		if (w->s->loose && s[i] == '.' && i > last)
			walk_hits(w, false, hits);
		step = 1;
		hex = s[i] == '%' ? 2 : hex > 0 ? hex - 1 : 0;
		if (is_encoded_slash(s + i, path.len - i)) {
			token = encoded ? '/' : TOKEN_ENCODED;
			step = 3;
			hex = 0;
		}
		walk_token(w, token);
	}
	walk_hits(w, true, hits);
}

static bool is_path(struct slice path)
{
	return path.len > 0 && path.len <= IPATH_MAX && path.ptr[0] == '/';
}

int ipath_set_match(const struct ipath_set *s, struct slice path,
		    struct ipath_hits *hits)
{
	struct walk w;

	if (!s || !is_path(path))
		return 0;
	if (walk_begin(&w, s, hits) < 0)
		return -ENOMEM;
	walk_path(&w, path, false, hits);
	return walk_end(&w, hits);
}

static void walk_like(struct walk *w, struct slice path,
		      struct ipath_hits *hits)
{
	walk_path(w, path, false, hits);
	if (has_encoded_slash((const char *)path.ptr, path.len))
		walk_path(w, path, true, hits);
}

int ipath_set_like(const struct ipath_set *s, struct slice path,
		   struct ipath_hits *hits)
{
	char plain[IPATH_MAX + 1];
	struct walk w;
	size_t n;

	if (!s || !is_path(path))
		return 0;
	if (walk_begin(&w, s, hits) < 0)
		return -ENOMEM;
	walk_like(&w, path, hits);
	n = ipath_plain(path, plain);
	if (n != path.len)
		walk_like(&w, slice_of(plain, n), hits);
	return walk_end(&w, hits);
}
