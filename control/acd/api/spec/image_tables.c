/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_tables.c - calls about the images of the nested engine
 */
#include "control/acd/api/spec/calls.h"

#include "control/acd/api/spec/words.h"
#include "control/acd/image/use.h"

/* ---- what they take ---- */

#define IMAGE_ID "[0-9a-f]{64}"

static const struct schema path_image = {
	.kind = SCHEMA_FORM,
	.pattern = IMAGE_ID,
	.about = "an id of an Image",
};
static const struct schema_key prune_keys[] = {
	{ "ids",
	  LIST(FORM(IMAGE_ID), .max = IMAGES_MAX,
	       .about = "those that may go; one that is used now stays") },
};
static const struct schema prune_body = {
	BODY(prune_keys),
	.required = KEYS("ids"),
	.name = "ImagePruneRequest",
};

/* ---- what they give ---- */

static const struct schema_key image_keys[] = {
	{ "id", FORM(IMAGE_ID) },
	{ "tags", LIST(&schema_text, .about = "ac/NAME:TAG, sorted; latest is "
					      "what a run takes") },
	{ "created_at", COUNT(.about = "seconds since the epoch") },
	{ "bytes", COUNT(.about = "with all its layers") },
	{ "own_bytes",
	  COUNT(.about = "of the layers that no other image has") },
	{ "shared_bytes", COUNT(.about = "of the others") },
	{ "blueprints", LIST(&schema_text, .about = "that start from it") },
	{ "instances", LIST(&schema_text, .about = "of these blueprints, and "
						   "those that run on it") },
	{ "running", FLAG(.about = "a sandbox has it, or a container made by "
				   "hand in ac-host") },
	{ "used", FLAG(.about = "it has blueprints or instances, or something "
				"runs on it, or such an image is built on it, "
				"or all images are") },
};
static const struct schema image_is = {
	SCHEMA_ROWS(image_keys),
	.whole = true,
	.name = "Image",
};
static const struct schema_key list_keys[] = {
	{ "images", LIST(&image_is) },
	{ "unused_bytes",
	  COUNT(.about = "what removing all that are not used frees, or a "
			 "little more") },
	{ "cache_bytes", COUNT(.about = "of build steps that no image has; a "
					"prune removes them, too") },
};
static const struct schema list_is = {
	SCHEMA_ROWS(list_keys),
	.whole = true,
	.name = "ImageList",
};
static const struct schema_key pruned_keys[] = {
	{ "images", LIST(&image_is, .about = "that were removed") },
	{ "freed_bytes", COUNT(.about = "as unused_bytes and cache_bytes") },
};
static const struct schema pruned_is = {
	SCHEMA_ROWS(pruned_keys),
	.whole = true,
	.name = "ImagePrune",
};

/* What programs for SPDX know better is not repeated. */
static const struct schema_key sbom_keys[] = {
	{ "spdxVersion", &schema_text },
	{ "dataLicense", &schema_text },
	{ "SPDXID", &schema_text },
	{ "name", &schema_text },
	{ "documentNamespace", &schema_text },
	{ "creationInfo",
	  ANY(.about = "its time is that of the image, so that the document of "
		       "an image is the same each time") },
	{ "comment", TEXT(.about = "what could not be read") },
	{ "packages",
	  LIST(ANY(), .about = "the image, and the packages of dpkg, npm and "
			       "Python") },
	{ "relationships", LIST(ANY()) },
};
static const struct schema sbom_is = {
	SCHEMA_ROWS(sbom_keys),
	.whole = true,
	.optional = KEYS("comment"),
	.name = "Sbom",
	.about = "A document of SPDX 2.3.",
};

/* ---- the calls ---- */

const struct http_call spec_image_list = {
	.id = "image_list",
	.summary = "Lists the images of the nested engine",
	.about = "The image of ac-host is not among them: it is the outer "
		 "engine's.",
	.answers = ANSWERS(JSON(200, "OK", &list_is)),
	.fails = { 500, 501, 503 },
};

const struct http_call spec_image_remove = {
	.id = "image_remove",
	.summary = "Removes an image with all its tags",
	.about = "busy (409): a sandbox has it. A run that needs it builds it "
		 "again.",
	.path = &path_image,
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 404, 409, 500, 501, 503 },
};

const struct http_call spec_image_prune = {
	.id = "image_prune",
	.summary = "Removes images that nothing uses, and build steps that no "
		   "image has",
	.about = "It goes on if its client leaves. busy (409): all is being "
		 "removed, or another such call is under way.",
	.body = &prune_body,
	.answers = ANSWERS(JSON(200, "OK", &pruned_is)),
	.fails = { 409, 500, 501, 503 },
};

const struct http_call spec_image_sbom = {
	.id = "image_sbom",
	.summary = "Returns what is installed in an image",
	.about = "The document comes from files of the image, which may lie. "
		 "busy (409): others are being read.",
	.path = &path_image,
	.answers = ANSWERS(JSON(200, "OK", &sbom_is)),
	.fails = { 404, 409, 413, 500, 501, 503 },
};
