/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_calls_test.c - files over HTTP, of a file server made of notes
 *
 * The functions of files.c are defined here: what is answered goes by the
 * path.
 */
#include "control/acd/instance/files.h"
#include "tests/unit/control/acd/api/api_world.h"

#define CONTENT "0123456789"

struct files {
	const struct files_ops *ops;
	void *arg;
	struct loop_timer *timer;
	struct filewire_request rq;
	char path[64], other[FILEWIRE_NAME_MAX + 1];
};

static struct loop *the_loop;

static void files_end_of(struct files *f, const struct filewire_done *d)
{
	f->ops->done(f->arg, d, NULL);
	files_free(f);
}

/* Two pages: "a\xff" and "b". */
static void answer_list(struct files *f)
{
	const bool first = f->other[0] == '\0';
	const struct filewire_entry e = {
		.kind = FILEWIRE_FILE,
		.name = slice_str(first ? "a\xff" : "b"),
	};
	const struct filewire_done d = { .more = first };

	f->ops->entry(f->arg, &e);
	files_end_of(f, &d);
}

static void answer_read(struct files *f)
{
	const bool sized = strcmp(f->path, "unsized") != 0;
	const struct filewire_entry e = {
		.kind = FILEWIRE_FILE,
		.size = sized ? strlen(CONTENT) : 0,
	};
	const struct filewire_done d = { 0 };
	struct slice rest = slice_str(CONTENT), part;

	if (slice_take(&rest, (size_t)f->rq.offset, &part) < 0)
		abort();
	if (f->rq.length > 0 && f->rq.length < rest.len)
		rest.len = (size_t)f->rq.length;
	f->ops->entry(f->arg, &e);
	f->ops->data(f->arg, rest);
	files_end_of(f, &d);
}

static void answer(void *arg)
{
	struct files *f = arg;
	const struct filewire_done d = { 0 };
	struct err err = { 0 };

	if (f->rq.type == FILEWIRE_LIST) {
		answer_list(f);
	} else if (f->rq.type == FILEWIRE_READ) {
		answer_read(f);
	} else {
		/* Says what was asked for. */
		err_set(&err, -EINVAL, "mode %o, flags %u", f->rq.mode,
			f->rq.flags);
		f->ops->done(f->arg, &d, &err);
		files_free(f);
	}
}

int files_begin(struct loop *loop, struct instance *in,
		const struct filewire_request *rq, const struct files_ops *ops,
		void *arg, struct files **ret, struct err *err)
{
	struct files *f;

	(void)loop;
	(void)in;
	if (slice_eq(rq->path, slice_str("paused")))
		return err_set(err, INSTANCE_IS_PAUSED, "it is paused");
	f = calloc(1, sizeof(*f));
	if (!f)
		abort();
	f->ops = ops;
	f->arg = arg;
	f->rq = *rq;
	snprintf(f->path, sizeof(f->path), "%.*s", (int)rq->path.len,
		 (const char *)rq->path.ptr);
	if (rq->other.len > 0)
		memcpy(f->other, rq->other.ptr, rq->other.len);
	f->timer = loop_timer_new(the_loop, answer, f);
	loop_timer_set(f->timer, 0);
	*ret = f;
	return 0;
}

void files_free(struct files *f)
{
	if (!f)
		return;
	loop_timer_free(f->timer);
	free(f);
}

void files_credit(struct files *f, size_t bytes)
{
	(void)f;
	(void)bytes;
}

size_t files_room(const struct files *f)
{
	(void)f;
	return 0;
}

void files_write(struct files *f, struct slice data)
{
	(void)f;
	(void)data;
}

void files_end(struct files *f)
{
	(void)f;
}

/* ---- the client ---- */

#define FILES "/v1/instances/one/files"

static const char *get_range(const char *range)
{
	char head[256];

	snprintf(head, sizeof(head),
		 "GET " FILES "?path=ten HTTP/1.1\r\n" CLOSE
		 "Range: bytes=%s\r\n\r\n",
		 range);
	return ask(head);
}

static void talk_ranges(void)
{
	static const char *const others[] = { "5-3", "5-7,9-10", "4-x", "-3",
					      "x" };
	const char *r;
	size_t i;

	r = get_range("5-7");
	HAS(r, " 206 ");
	HAS(r, "Content-Range: bytes 5-7/10");
	HAS(r, "\r\n\r\n567");
	LACKS(r, "5678");
	r = get_range("8-");
	HAS(r, "\r\n\r\n89");
	/* What is no range that is served is served as all. */
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		r = get_range(others[i]);
		HAS(r, " 200 ");
		HAS(r, "\r\n\r\n" CONTENT);
	}
	r = get(FILES "?path=unsized");
	HAS(r, " 200 ");
	HAS(r, CONTENT);
}

static const char *get_long(const char *path)
{
	char head[1024];

	snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\n" CLOSE "\r\n", path);
	return ask(head);
}

static void talk_pages(void)
{
	char path[sizeof(FILES) + FILEWIRE_NAME_MAX + 64];
	const char *r = get(FILES "?path=d&list=1");

	HAS(r, "\"more\":true");
	HAS(r, "\"encoded\":\"a%FF\"");
	HAS(r, "\"next\":\"a%FF\"");
	r = get(FILES "?path=d&list=1&after=a%FF");
	HAS(r, "\"name\":\"b\"");
	HAS(r, "\"more\":false");
	LACKS(r, "\"next\"");
	snprintf(path, sizeof(path), "%s%0*d",
		 FILES "?path=d&list=1&after=", (int)FILEWIRE_NAME_MAX + 1, 1);
	HAS(get_long(path), " 400 ");
}

static void talk_others(void)
{
	const char *r = get(FILES "?path=paused");

	HAS(r, " 409 ");
	HAS(r, "\"paused\"");
	r = ask("PUT " FILES "?path=x&mode=000 HTTP/1.1\r\n" CLOSE
		"Content-Length: 0\r\n\r\n");
	HAS(r, "mode 0, flags 68");
	r = ask("PUT " FILES "?path=x HTTP/1.1\r\n" CLOSE
		"Content-Length: 0\r\n\r\n");
	HAS(r, "mode 0, flags 4\"");
	r = ask("DELETE " FILES "?path=keep%00/sub HTTP/1.1\r\n" CLOSE "\r\n");
	HAS(r, " 400 ");
	HAS(r, "NUL");
}

int main(void)
{
	static const struct http_route routes[] = {
		{ "GET", "/v1/instances/{name}/files", api_files_get,
		  &spec_files_get },
		{ "PUT", "/v1/instances/{name}/files", api_files_put,
		  &spec_files_put },
		{ "DELETE", "/v1/instances/{name}/files", api_files_delete,
		  &spec_files_delete },
		{ NULL, NULL, NULL, NULL },
	};
	struct api_world a;

	api_world_init(&a);
	the_loop = a.w.loop;
	world_create(&a.w, "one", false);
	api_world_talk(&a, routes, "parts of a file", talk_ranges);
	api_world_talk(&a, routes, "pages of a list", talk_pages);
	api_world_talk(&a, routes, "what else is asked", talk_others);
	world_done(&a.w);
	return done_testing();
}
