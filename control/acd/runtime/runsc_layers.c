/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_layers.c - the layers of the engine's images, mounted for sandboxes
 *
 * Theory of operation. The engine keeps an image as a pile of directories
 * (overlay2). acd lays the same overlay over them once for each image, read
 * only, and every sandbox of the image has that mount as its root: a start
 * mounts nothing, and all share its page cache.
 *
 * The engine knows nothing of such a mount, and would remove the layers of an
 * image under a running sandbox. So acd holds each image it uses by a
 * container of it, created and never started, which the engine respects. An
 * image that its name has left is let go when its last sandbox has gone.
 *
 * At the bottom of the pile lies a layer of our own with all the places that
 * a sandbox mounts something on, so that nothing has to be made in an image
 * that cannot be written to. Whatever an image has itself is above it.
 *
 * Which image a name means is asked at each start: builds, and whoever works
 * by hand in ac-host, move names.
 */
#include "control/acd/runtime/runsc_layers.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "control/acd/runtime/runsc_spec.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/str.h"

#define CALL_TIMEOUT_MS 30000u
#define LINK_MAX_BYTES 64u /* of a layer's file "link" */
#define COPY_MAX (1u << 20) /* of a file of ours */
#define OPTION_MAX 4095u /* what mount(2) takes */
#define HOLDER_LABEL "ac.layers"
#define LIST_PATH                \
	"/containers/json?all=1" \
	"&filters="              \
	"%7B%22label%22%3A%5B%22" HOLDER_LABEL "%22%5D%7D"

/* Somebody who waits for an image. */
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
	char holder[48]; /* the container, a name of its own each time */
	unsigned refs;
	bool mounted;
	struct getters getters; /* while it is being made */
};

struct layers {
	struct loop *loop;
	struct engine *engine;
	char *dir, *base;
	bool swept; /* holders of an earlier life */
	LIST_HEAD(layers_images, layers_image) images;
};

/* ---- the overlay ---- */

/* Appends the short name of one layer: "l/<name>" of ".../<id>/diff". */
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
		  const char *base, char **ret)
{
	char text[OPTION_MAX + 1] = "";
	SCOPED_STR list = *lower ? str_printf("%s:%s", upper, lower) :
				   str_printf("%s", upper);
	size_t n = 0;
	int r = list ? 0 : -ENOMEM;

	for (const char *p = list; r == 0 && *p; n++) {
		size_t len = strcspn(p, ":");

		r = n < LAYERS_MAX ?
			    option_append(text, sizeof(text), root, p, len) :
			    -E2BIG;
		p += len + (p[len] == ':');
	}
	if (r < 0)
		return r;
	if (n == 0 || strpbrk(base, ":,\\"))
		return -ENOTSUP;
	*ret = str_printf("lowerdir=%s%s", text, base);
	return *ret ? 0 : -ENOMEM;
}

/* Short names are relative: the engine's directory is ours for a moment. */
static int overlay_mount(const char *target, unsigned long flags,
			 const char *option)
{
	SCOPED_FD here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = 0;

	if (here < 0 || chdir(LAYERS_ROOT) < 0)
		return -errno;
	if (mount("overlay", target, "overlay", flags, option) < 0)
		r = -errno;
	if (fchdir(here) < 0) {
		/* Told as a failure: nobody would take the mount away. */
		int code = -errno;

		if (r == 0)
			umount2(target, MNT_DETACH | UMOUNT_NOFOLLOW);
		return code;
	}
	return r;
}

int layers_mount_rw(const struct layers_image *img, const char *dir,
		    const char *target)
{
	SCOPED_STR upper = str_printf("%s/upper", dir);
	SCOPED_STR work = str_printf("%s/work", dir);
	SCOPED_STR option = NULL;
	int r;

	if (!upper || !work)
		return -ENOMEM;
	r = file_mkdir_p(upper, 0755);
	if (r == 0)
		r = file_mkdir_p(work, 0700);
	if (r == 0)
		r = file_mkdir_p(target, 0700);
	if (r < 0)
		return r;
	/* volatile: nobody reads it after this life, so nothing is synced. */
	option = str_printf("%s,upperdir=%s,workdir=%s,volatile", img->option,
			    upper, work);
	if (!option)
		return -ENOMEM;
	if (strlen(option) > OPTION_MAX)
		return -E2BIG;
	return overlay_mount(target, MS_NODEV, option);
}

/*
 * The place of a file: empty, for what is mounted over it, or a copy. One
 * that is there stays, under whatever is mounted on it: ac-host's own files do
 * not change while it lives, and neither does its tmpfs outlive it.
 */
static int base_file(const char *path, const char *source)
{
	SCOPED_STR data = NULL;
	size_t len = 0;
	int r = 0;

	if (access(path, F_OK) == 0)
		return 0;
	/* An ac-host without it has nothing to give. */
	if (source)
		r = file_read(source, COPY_MAX, &data, &len);
	if (r < 0 && r != -ENOENT)
		return r;
	return file_replace(path, data ? data : "", len, 0444);
}

/* Our layer at the bottom. */
static int base_make(const char *base)
{
	int r = file_mkdir_p(base, 0755);

	for (const struct runsc_place *p = runsc_places; r == 0 && p->path;
	     p++) {
		SCOPED_STR path = str_printf("%s/%s", base, p->path);

		if (!path)
			return -ENOMEM;
		if (p->file)
			r = base_file(path, p->source);
		else if (mkdir(path, 0755) < 0 && errno != EEXIST)
			r = -errno;
	}
	return r;
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

	/* Whoever hears of it may let it go at once: not below the others. */
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

/* Nobody needs it: the engine may remove it again. */
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
	/* The newest of a name stays for the next start. */
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
	int r = base_make(img->ls->base);

	if (r == 0)
		r = file_mkdir_p(img->path, 0700);
	if (r == 0)
		r = overlay_mount(img->path, MS_RDONLY | MS_NODEV, img->option);
	if (r < 0)
		return err_set(err, r, "mount the layers of image '%s': %s",
			       img->name, err_text(r));
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
			  "Labels", HOLDER_LABEL, img->name, "HostConfig",
			  "NetworkMode", "none"),
		CALL_TIMEOUT_MS, on_held, img);
}

/* @g is the first who wants it. */
static int image_new(struct layers *ls, struct getter *g, const char *id,
		     const char *option)
{
	struct layers_image *img = calloc(1, sizeof(*img));
	const char *digest = strchr(id, ':');
	uint64_t serial;
	int r;

	if (!img)
		return -ENOMEM;
	/* A name that is being removed could not be given again. */
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
	r = img->name && img->id && img->option && img->path ? 0 : -ENOMEM;
	if (r == 0)
		r = image_hold(img);
	if (r < 0) {
		image_free(img);
		return r;
	}
	STAILQ_INSERT_TAIL(&img->getters, g, link);
	return 0;
}

/* ---- which image is it ---- */

/* Images that nobody holds and whose name means another one by now. */
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
	SCOPED_STR option = NULL;
	int r = -ENOTSUP;

	if (strcmp(jsonx_text_at(driver, "Name"), "overlay2") == 0)
		r = layers_option(LAYERS_ROOT, jsonx_text_at(data, "UpperDir"),
				  jsonx_text_at(data, "LowerDir"), ls->base,
				  &option);
	if (r == 0)
		r = image_new(ls, g, jsonx_text_at(body, "Id"), option);
	if (r < 0)
		return err_set(err, r, "the layers of image '%s': %s", g->name,
			       err_text(r));
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

/* Containers that held images for an earlier life of acd. Nothing of it is
 * left, so any that a new one needs it makes again. */
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
	/* Of two that asked, the later may have a new holder in its list. */
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
	int r = engine_escape(escaped, sizeof(escaped), name);

	if (g)
		*g = (struct getter){ .ls = ls, .fn = fn, .arg = arg };
	if (!g || !(g->name = strdup(name)))
		r = -ENOMEM;
	if (r == 0) {
		snprintf(path, sizeof(path), "/images/%s/json", escaped);
		r = ls->swept ? engine_call(ls->engine, "GET", path,
					    CALL_TIMEOUT_MS, on_inspected, g) :
				engine_call(ls->engine, "GET", LIST_PATH,
					    CALL_TIMEOUT_MS, on_listed, g);
	}
	if (r < 0 && g) {
		free(g->name);
		free(g);
	}
	return r;
}

/* ---- all of them ---- */

int layers_drop(struct layers *ls)
{
	struct layers_image *img, *next;
	int r = 0;

	for (img = LIST_FIRST(&ls->images); img; img = next) {
		next = LIST_NEXT(img, link);
		if (img->refs > 0 || !STAILQ_EMPTY(&img->getters))
			r = -EBUSY;
		else
			image_drop(img);
	}
	return r;
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
	if (!ls->dir || !ls->base) {
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
	free(ls);
}
