/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pins_pip.c - a requirements.txt of pip
 *
 * pip reads much into such a file: options on lines of their own, lines that go
 * on, comments that say how the rest is coded, ends of lines that are none
 * elsewhere ("Requirements File Format" in its manual). So of one from a stranger
 * nothing passes but printable ASCII in the form that images/update/pip.py
 * writes: NAME==VERSION and, after one blank each, --hash=sha256:HEX.
 */
#include "control/cli/cmd/update/pins.h"

#include <errno.h>
#include <string.h>

#include "control/shared/json.h"
#include "lib/attr.h"
#include "lib/slice.h"

#define PROOF "--hash=sha256:"
#define PROOF_LEN (sizeof(PROOF) - 1 + 64)
#define PROOFS_MAX (16 * (PROOF_LEN + 1)) /* bytes, for a package */

struct pin {
	char name[PINS_NAME_MAX + 1];
	char version[PINS_VERSION_MAX + 1];
	struct slice proof; /* the rest of the line */
};

static bool is_alnum(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

static bool is_hex(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Takes letters, digits and @also; the first and the last is a letter or digit.
 * *@ret gets at most @max characters and a NUL. */
static int part_take(struct slice *s, const char *also, size_t max, char *ret)
{
	size_t n = 0;

	while (n < s->len && s->ptr[n] &&
	       (is_alnum(s->ptr[n]) || strchr(also, s->ptr[n])))
		n++;
	if (n == 0 || n > max || !is_alnum(s->ptr[0]) ||
	    !is_alnum(s->ptr[n - 1]))
		return -EBADMSG;
	memcpy(ret, s->ptr, n);
	ret[n] = '\0';
	s->ptr += n;
	s->len -= n;
	return 0;
}

/* A name as registries compare it: PEP 503, "Normalized Names". */
static void name_normalize(char *name)
{
	char *to = name;

	for (const char *s = name; *s; s++) {
		bool dash = *s == '-' || *s == '_' || *s == '.';

		if (dash && to > name && to[-1] == '-')
			continue;
		*to++ = (char)(dash                   ? '-' :
			       *s >= 'A' && *s <= 'Z' ? *s + ('a' - 'A') :
							*s);
	}
	*to = '\0';
}

/* Returns true if @s is " --hash=sha256:HEX", once or more often. */
static bool is_proof(struct slice s)
{
	size_t n = 0;

	for (; slice_skip(&s, " " PROOF); n++) {
		if (s.len < 64 || n == PROOFS_MAX / (PROOF_LEN + 1))
			return false;
		for (size_t i = 0; i < 64; i++)
			if (!is_hex(s.ptr[i]))
				return false;
		s.ptr += 64;
		s.len -= 64;
	}
	return n > 0 && s.len == 0;
}

static int pin_take(struct slice line, struct pin *ret)
{
	if (part_take(&line, "-_.", PINS_NAME_MAX, ret->name) < 0 ||
	    !slice_skip(&line, "==") ||
	    part_take(&line, ".!+_-", PINS_VERSION_MAX, ret->version) < 0)
		return -EBADMSG;
	name_normalize(ret->name);
	ret->proof = line;
	return 0;
}

/* Adds what a line pins, if anything. */
static int line_add(json_t *pins, struct slice line, bool proven)
{
	char proof[PROOFS_MAX + 1] = "";
	struct pin pin;

	if (pin_take(line, &pin) < 0)
		return proven ? -EBADMSG : 0;
	if (is_proof(pin.proof)) {
		memcpy(proof, pin.proof.ptr, pin.proof.len);
		proof[pin.proof.len] = '\0';
	} else if (proven) {
		return -EBADMSG;
	}
	if (proven && json_object_get(pins, pin.name)) /* twice */
		return -EBADMSG;
	if (json_object_size(pins) >= PINS_MAX)
		return -E2BIG;
	return pins_add(pins, pin.name, pin.version, proof) < 0 ? -ENOMEM : 0;
}

json_t *pins_pip(const char *text, size_t len, bool proven, struct err *err)
{
	SCOPED_JSON pins = json_object();
	struct slice rest = slice_of(text, len);
	int rc = pins ? 0 : -ENOMEM;
	size_t n;

	for (n = 0; rc == 0 && rest.len > 0; n++)
		rc = line_add(pins, slice_line(&rest), proven);
	if (rc == -EBADMSG)
		err_set(err, rc,
			"line %zu of the new requirements.txt is not a version "
			"with its SHA-256",
			n);
	else if (rc == -E2BIG)
		err_set(err, rc, "requirements.txt has more than %u packages",
			PINS_MAX);
	else if (rc < 0)
		err_nomem(err);
	else if (proven && json_object_size(pins) == 0)
		rc = err_set(err, -EBADMSG,
			     "the new requirements.txt has no packages");
	return rc == 0 ? ptr_take(&pins) : NULL;
}
