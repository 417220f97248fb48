/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_layers.c - mounts the layers of the engine's images for sandboxes
 *
 * Theory of operation: the engine stores an image as a stack of directories
 * (overlay2). acd mounts the same overlay once for each image, read-only, and
 * it is the root of all sandboxes of that image. So a start mounts nothing, and
 * all share the page cache.
 *
 * The engine does not know of this mount and might remove the layers of an
 * image while a sandbox runs. So acd holds each image that it uses by a
 * container of it, created and never started, which the engine respects. An
 * image that has lost its name is released when its last sandbox is gone.
 *
 * Below and above the layers of an image are two of our own (runsc_own.h).
 *
 * Each start asks which image a name means: builds, and users who work by hand
 * in ac-host, change names.
 */
#include "control/acd/runtime/runsc_layers.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "control/acd/runtime/runsc_own.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/str.h"

#define CALL_TIMEOUT_MS 30000u
#define LINK_MAX_BYTES 64u /* of a layer's file "link" */
#define OPTION_MAX 4095u /* bytes; mount(2)'s limit */
#define LIST_PATH                \
	"/containers/json?all=1" \
	"&filters="              \
	"%7B%22label%22%3A%5B%22" LAYERS_LABEL "%22%5D%7D"

/* A call of layers_get() that is not answered yet. */
struct getter {
	STAILQ_ENTRY(getter) link;
	struct layers *ls;
	char *name;
	layers_fn fn;
	void *arg;
};
STAILQ_HEAD(getters, getter);

struct layers_image {
	LIST_ENTRY(layers_image) link;
	struct layers *ls;
	char *name, *id;
	char *option; /* "lowerdir=..." */
	char *path; /* of the mount */
	char holder[48]; /* name of the container, unique each time */
	unsigned refs;
	bool mounted;
	struct getters getters; /* waiting for the mount */
};

struct layers {
	struct loop *loop;
	struct engine *engine;
	char *dir;
	char *base, *top; /* our layers */
	bool swept; /* holders of an earlier acd are removed */
	LIST_HEAD(layers_images, layers_image) images;
};

/* ---- the overlay ---- */

/* Appends the short name of a layer: "l/<name>" for ".../<id>/diff". */
static int option_append(char *out, size_t size, const char *root,
			 const char *layer, size_t len)
{
	static const char end[] = "/diff";
	size_t head = strlen(root) + 1, used = strlen(out);
	SCOPED_STR path = NULL;
	SCOPED_STR name = NULL;
	int n;

	if (len <= head + sizeof(end) - 1 || !str_starts(layer, root) ||
	    layer[head - 1] != '/' ||
	    memcmp(layer + len - sizeof(end) + 1, end, sizeof(end) - 1) != 0)
		return -ENOTSUP;
	path = str_printf("%.*s/link", (int)(len - sizeof(end) + 1), layer);
	if (!path)
		return -ENOMEM;
	if (file_read(path, LINK_MAX_BYTES, &name, NULL) < 0 || !*name ||
	    name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")])
		return -ENOTSUP;
	n = snprintf(out + used, size - used, "l/%s:", name);
	return n < 0 || (size_t)n >= size - used ? -E2BIG : 0;
}

int layers_option(const char *root, const char *upper, const char *lower,
		  const struct layers_own *own, char **ret)
{
	char text[OPTION_MAX + 1] = "";
	SCOPED_STR list = *lower ? str_printf("%s:%s", upper, lower) :
				   str_printf("%s", upper);
	size_t n = 0;
	int rc = list ? 0 : -ENOMEM;

	for (const char *p = list; rc == 0 && *p; n++) {
		size_t len = strcspn(p, ":");

		rc = n < LAYERS_MAX ?
			     option_append(text, sizeof(text), root, p, len) :
			     -E2BIG;
		p += len + (p[len] == ':');
	}
	if (rc < 0)
		return rc;
	if (n == 0 || strpbrk(own->base, ":,\\") || strpbrk(own->top, ":,\\"))
		return -ENOTSUP;
	*ret = str_printf("lowerdir=%s:%s%s", own->top, text, own->base);
	return *ret ? 0 : -ENOMEM;
}

/* Short names are relative, so changes to the engine's directory for a
 * moment. */
static int overlay_mount(const char *target, unsigned long flags,
			 const char *option)
{
	SCOPED_FD here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc = 0;

	if (here < 0 || chdir(LAYERS_ROOT) < 0)
		return -errno;
	if (mount("overlay", target, "overlay", flags, option) < 0)
		rc = -errno;
	if (fchdir(here) < 0) {
		/* A failure, so the caller will not unmount: do it here. */
		int lost = -errno;

		if (rc == 0)
			umount2(target, MNT_DETACH | UMOUNT_NOFOLLOW);
		return lost;
	}
	return rc;
}

int layers_mount_rw(const struct layers_image *img, const char *dir,
		    const char *target)
{
	SCOPED_STR upper = str_printf("%s/upper", dir);
	SCOPED_STR work = str_printf("%s/work", dir);
	SCOPED_STR option = NULL;
	int rc;

	if (!upper || !work)
		return -ENOMEM;
	rc = file_mkdir_p(upper, 0755);
	if (rc == 0)
		rc = file_mkdir_p(work, 0700);
	if (rc == 0)
		rc = file_mkdir_p(target, 0700);
	if (rc < 0)
		return rc;
	/* volatile: not used after this acd, so never synced. */
	option = str_printf("%s,upperdir=%s,workdir=%s,volatile", img->option,
			    upper, work);
	if (!option)
		return -ENOMEM;
	if (strlen(option) > OPTION_MAX)
		return -E2BIG;
	return overlay_mount(target, MS_NODEV, option);
}

const char *layers_id(const struct layers_image *img)
{
	return img->id;
}

const char *layers_path(const struct layers_image *img)
{
	return img->path;
}

/* ---- one image ---- */

static void getter_done(struct getter *g, struct layers_image *img,
			const struct err *err)
{
	if (img)
		img->refs++;
	g->fn(g->arg, img, err);
	free(g->name);
	free(g);
}

static void image_tell(struct layers_image *img, const struct err *err)
{
	struct getters all = STAILQ_HEAD_INITIALIZER(all);
	struct getter *g;

	/* A callback may drop its reference at once; keep the image. */
	img->refs++;
	STAILQ_CONCAT(&all, &img->getters);
	while ((g = STAILQ_FIRST(&all))) {
		STAILQ_REMOVE_HEAD(&all, link);
		getter_done(g, err ? NULL : img, err);
	}
	if (err)
		img->refs--; /* the caller drops it */
	else
		layers_put(img);
}

static void image_free(struct layers_image *img)
{
	if (img->mounted && umount2(img->path, MNT_DETACH) < 0)
		log_warn("unmount %s: %s", img->path, err_text(-errno));
	if (img->path)
		rmdir(img->path);
	LIST_REMOVE(img, link);
	free(img->name);
	free(img->id);
	free(img->option);
	free(img->path);
	free(img);
}

static void on_holder_removed(void *arg, int status, json_t *body,
			      const struct err *err)
{
	(void)arg;
	(void)body;
	if (err && status != 404 && err->code != -ECANCELED)
		log_warn("remove the container that held an image: %s",
			 err->msg);
}

static void holder_remove(struct layers *ls, const char *name)
{
	char escaped[ENGINE_NAME_MAX], path[ENGINE_NAME_MAX + 32];

	if (engine_escape(escaped, sizeof(escaped), name) < 0)
		return;
	snprintf(path, sizeof(path), "/containers/%s?force=1&v=1", escaped);
	engine_call(ls->engine, "DELETE", path, CALL_TIMEOUT_MS,
		    on_holder_removed, NULL);
}

/* Not used any more: unmounts it and lets the engine remove it. */
static void image_drop(struct layers_image *img)
{
	struct layers *ls = img->ls;
	char holder[sizeof(img->holder)];

	memcpy(holder, img->holder, sizeof(holder));
	image_free(img);
	holder_remove(ls, holder);
}

void layers_put(struct layers_image *img)
{
	const struct layers_image *other;

	if (--img->refs > 0)
		return;
	/* The newest of a name stays mounted for the next start. */
	LIST_FOREACH (other, &img->ls->images, link) {
		if (other == img)
			return;
		if (strcmp(other->name, img->name) == 0) {
			image_drop(img);
			return;
		}
	}
}

static int image_mount(struct layers_image *img, struct err *err)
{
	int rc = own_bottom_make(img->ls->base);

	if (rc == 0)
		rc = own_top_make(img->ls->top, runsc_covers);
	if (rc == 0)
		rc = file_mkdir_p(img->path, 0700);
	if (rc == 0)
		rc = overlay_mount(img->path, MS_RDONLY | MS_NODEV,
				   img->option);
	if (rc < 0)
		return err_set(err, rc, "mount the layers of image '%s': %s",
			       img->name, err_text(rc));
	img->mounted = true;
	return 0;
}

static void on_held(void *arg, int status, json_t *body, const struct err *err)
{
	struct layers_image *img = arg;
	struct err failed = { 0 };

	(void)status;
	(void)body;
	if (err)
		failed = *err;
	else
		image_mount(img, &failed);
	if (failed.code == 0) {
		image_tell(img, NULL);
		return;
	}
	image_tell(img, &failed);
	image_drop(img);
}

static int image_hold(struct layers_image *img)
{
	char path[160];

	snprintf(path, sizeof(path), "/containers/create?name=%s", img->holder);
	return engine_call_json(
		img->ls->engine, "POST", path,
		json_pack("{s:s, s:[s], s:[], s:{s:s}, s:{s:s}}", "Image",
			  img->id, "Entrypoint", "/nonexistent", "Cmd",
			  "Labels", LAYERS_LABEL, img->name, "HostConfig",
			  "NetworkMode", "none"),
		CALL_TIMEOUT_MS, on_held, img);
}

/* @g is the first caller that wants it. */
static int image_new(struct layers *ls, struct getter *g, const char *id,
		     const char *option)
{
	struct layers_image *img = calloc(1, sizeof(*img));
	const char *digest = strchr(id, ':');
	uint64_t serial;
	int rc;

	if (!img)
		return -ENOMEM;
	/* A unique name, as one that is being removed cannot be reused. */
	if (getrandom(&serial, sizeof(serial), 0) != sizeof(serial)) {
		free(img);
		return -EIO;
	}
	digest = digest ? digest + 1 : id;
	img->ls = ls;
	STAILQ_INIT(&img->getters);
	LIST_INSERT_HEAD(&ls->images, img, link);
	img->name = strdup(g->name);
	img->id = strdup(id);
	img->option = strdup(option);
	img->path = str_printf("%s/%.32s", ls->dir, digest);
	snprintf(img->holder, sizeof(img->holder), "ac-layers-%016llx",
		 (unsigned long long)serial);
	rc = img->name && img->id && img->option && img->path ? 0 : -ENOMEM;
	if (rc == 0)
		rc = image_hold(img);
	if (rc < 0) {
		image_free(img);
		return rc;
	}
	STAILQ_INSERT_TAIL(&img->getters, g, link);
	return 0;
}

/* ---- which image is it ---- */

/* Drops unused images whose name means another image now. */
static void drop_old(struct layers *ls, const char *name, const char *id)
{
	struct layers_image *img, *next;

	for (img = LIST_FIRST(&ls->images); img; img = next) {
		next = LIST_NEXT(img, link);
		if (img->refs == 0 && STAILQ_EMPTY(&img->getters) &&
		    strcmp(img->name, name) == 0 && strcmp(img->id, id) != 0)
			image_drop(img);
	}
}

static int image_make(struct layers *ls, struct getter *g, const json_t *body,
		      struct err *err)
{
	const json_t *driver = json_object_get(body, "GraphDriver");
	const json_t *data = json_object_get(driver, "Data");
	const struct layers_own own = { .base = ls->base, .top = ls->top };
	SCOPED_STR option = NULL;
	int rc = -ENOTSUP;

	if (strcmp(jsonx_text_at(driver, "Name"), "overlay2") == 0)
		rc = layers_option(LAYERS_ROOT, jsonx_text_at(data, "UpperDir"),
				   jsonx_text_at(data, "LowerDir"), &own,
				   &option);
	if (rc == 0)
		rc = image_new(ls, g, jsonx_text_at(body, "Id"), option);
	if (rc < 0)
		return err_set(err, rc, "the layers of image '%s': %s", g->name,
			       err_text(rc));
	return 0;
}

static void on_inspected(void *arg, int status, json_t *body,
			 const struct err *err)
{
	struct getter *g = arg;
	struct layers *ls = g->ls;
	const char *id = jsonx_text_at(body, "Id");
	struct layers_image *img;
	struct err failed = { 0 };

	(void)status;
	if (!err && !*id)
		err_set(&failed, -EPROTO, "the engine gave no image id");
	if (err || failed.code < 0) {
		getter_done(g, NULL, err ? err : &failed);
		return;
	}
	drop_old(ls, g->name, id);
	LIST_FOREACH (img, &ls->images, link) {
		if (strcmp(img->id, id) != 0)
			continue;
		if (img->mounted)
			getter_done(g, img, NULL);
		else
			STAILQ_INSERT_TAIL(&img->getters, g, link);
		return;
	}
	if (image_make(ls, g, body, &failed) < 0)
		getter_done(g, NULL, &failed);
}

/* Removes holders of an earlier acd. None of its sandboxes is left, so no
 * holder is needed. */
static void on_listed(void *arg, int status, json_t *body,
		      const struct err *err)
{
	struct getter *g = arg;
	const json_t *entry;
	size_t i;

	(void)status;
	if (err) {
		getter_done(g, NULL, err);
		return;
	}
	/* If two asked, the second list may have a new holder in it. */
	if (!g->ls->swept) {
		json_array_foreach (body, i, entry) {
			holder_remove(g->ls, jsonx_text_at(entry, "Id"));
		}
	}
	g->ls->swept = true;
	if (layers_get(g->ls, g->name, g->fn, g->arg) < 0) {
		struct err failed = { 0 };

		err_nomem(&failed);
		getter_done(g, NULL, &failed);
		return;
	}
	free(g->name);
	free(g);
}

int layers_get(struct layers *ls, const char *name, layers_fn fn, void *arg)
{
	char escaped[ENGINE_NAME_MAX], path[ENGINE_NAME_MAX + 32];
	struct getter *g = calloc(1, sizeof(*g));
	int rc = engine_escape(escaped, sizeof(escaped), name);

	if (g)
		*g = (struct getter){ .ls = ls, .fn = fn, .arg = arg };
	if (!g || !(g->name = strdup(name)))
		rc = -ENOMEM;
	if (rc == 0) {
		snprintf(path, sizeof(path), "/images/%s/json", escaped);
		rc = ls->swept ? engine_call(ls->engine, "GET", path,
					     CALL_TIMEOUT_MS, on_inspected, g) :
				 engine_call(ls->engine, "GET", LIST_PATH,
					     CALL_TIMEOUT_MS, on_listed, g);
	}
	if (rc < 0 && g) {
		free(g->name);
		free(g);
	}
	return rc;
}

/* ---- all of them ---- */

int layers_drop(struct layers *ls)
{
	struct layers_image *img, *next;
	int rc = 0;

	for (img = LIST_FIRST(&ls->images); img; img = next) {
		next = LIST_NEXT(img, link);
		if (img->refs > 0 || !STAILQ_EMPTY(&img->getters))
			rc = -EBUSY;
		else
			image_drop(img);
	}
	return rc;
}

int layers_release(struct layers *ls, const char *id)
{
	struct layers_image *img;

	LIST_FOREACH (img, &ls->images, link) {
		if (strcmp(img->id, id) != 0)
			continue;
		if (img->refs > 0 || !STAILQ_EMPTY(&img->getters))
			return -EBUSY;
		image_drop(img);
		return 0;
	}
	return 0;
}

struct layers *layers_new(struct loop *loop, struct engine *engine,
			  const char *dir)
{
	struct layers *ls = calloc(1, sizeof(*ls));

	if (!ls)
		return NULL;
	ls->loop = loop;
	ls->engine = engine;
	LIST_INIT(&ls->images);
	ls->dir = strdup(dir);
	ls->base = str_printf("%s/base", dir);
	ls->top = str_printf("%s/top", dir);
	if (!ls->dir || !ls->base || !ls->top) {
		layers_free(ls);
		return NULL;
	}
	return ls;
}

void layers_free(struct layers *ls)
{
	if (!ls)
		return;
	while (!LIST_EMPTY(&ls->images))
		image_free(LIST_FIRST(&ls->images));
	free(ls->dir);
	free(ls->base);
	free(ls->top);
	free(ls);
}
