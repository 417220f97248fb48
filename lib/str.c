/* SPDX-License-Identifier: Apache-2.0 */
/*
 * str.c - strings, string vectors, sizes, durations
 *
 * Quantities are parsed in integers, exactly: a whole part, up to six
 * decimals, a unit. No locale has a say in what a digit or a point is.
 */
#include "lib/str.h"

#include <stdarg.h>
#include <string.h>

#define DECIMALS_SCALE 1000000u /* six decimals */

static ATTR_PRINTF(1, 0) char *text_of(const char *fmt, va_list ap)
{
	char *text;

	return vasprintf(&text, fmt, ap) < 0 ? NULL : text;
}

char *str_printf(const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = text_of(fmt, ap);
	va_end(ap);
	return text;
}

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
	size_t len = strlen(s), suffix_len = strlen(suffix);

	return len >= suffix_len && strcmp(s + len - suffix_len, suffix) == 0;
}

bool str_has_control(const char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	}
	return false;
}

int str_hex_digit(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Invisible, or with a will of their own as to what the line looks like. */
static bool is_odd_char(uint32_t c)
{
	return c < 0xa0 || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
	       c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe0fff);
}

/* How many bytes at @p are a character beyond ASCII to be shown; 0: none. */
static size_t utf8_len(const uint8_t *p, size_t len)
{
	static const uint32_t least[] = { 0x80, 0x800, 0x10000 };
	size_t n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	uint32_t c = p[0] & (0x7fu >> n);

	if (p[0] < 0xc2 || p[0] > 0xf4 || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3fu);
	}
	if (c < least[n - 2] || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
		return 0;
	return is_odd_char(c) ? 0 : n;
}

static char *escape(char *out, size_t out_size, const void *in, size_t in_len,
		    bool utf8)
{
	static const char hex[] = "0123456789abcdef";
	const uint8_t *bytes = in;
	size_t n = 0, plain;

	if (out_size == 0)
		return out;
	for (size_t i = 0; i < in_len; i += plain ? plain : 1) {
		uint8_t c = bytes[i];

		plain = c >= 0x20 && c < 0x7f && c != '\\';
		if (utf8 && c >= 0x80)
			plain = utf8_len(bytes + i, in_len - i);
		if (out_size - n <= (plain ? plain : 4))
			break; /* a cut escape would be read as something else */
		if (plain) {
			memcpy(out + n, bytes + i, plain);
			n += plain;
			continue;
		}
		out[n++] = '\\';
		out[n++] = 'x';
		out[n++] = hex[c >> 4];
		out[n++] = hex[c & 15];
	}
	out[n] = '\0';
	return out;
}

char *str_escape(char *out, size_t out_size, const void *in, size_t in_len)
{
	return escape(out, out_size, in, in_len, false);
}

char *str_escape_utf8(char *out, size_t out_size, const void *in, size_t in_len)
{
	return escape(out, out_size, in, in_len, true);
}

/* Reads decimal digits from the front of *s. Returns 0 or -ERANGE. */
static int digits_take(const char **s, uint64_t *ret)
{
	uint64_t v = 0;

	for (; **s >= '0' && **s <= '9'; (*s)++) {
		uint64_t digit = (uint64_t)(**s - '0');

		if (v > (UINT64_MAX - digit) / 10)
			return -ERANGE;
		v = v * 10 + digit;
	}
	*ret = v;
	return 0;
}

struct decimal {
	uint64_t whole;
	uint32_t micro; /* millionths */
};

/* Reads "12", "12.5" or ".5" from the front of *s. */
static int decimal_take(const char **s, struct decimal *ret)
{
	struct decimal d = { 0 };
	const char *start = *s;
	uint32_t scale = DECIMALS_SCALE;

	if (digits_take(s, &d.whole) < 0)
		return -ERANGE;
	if (**s == '.') {
		start = ++*s;
		for (; **s >= '0' && **s <= '9'; (*s)++) {
			scale /= 10;
			if (scale == 0)
				return -EINVAL; /* finer than we can honour */
			d.micro += (uint32_t)(**s - '0') * scale;
		}
	}
	if (*s == start)
		return -EINVAL;
	*ret = d;
	return 0;
}

/* d * unit, rounded down. A fraction of an indivisible unit is refused. */
static int decimal_scale(struct decimal d, uint64_t unit, uint64_t *ret)
{
	uint64_t part = d.micro * unit / DECIMALS_SCALE;

	if (unit == 1 && d.micro != 0)
		return -EINVAL;
	if (d.whole > (UINT64_MAX - part) / unit)
		return -ERANGE;
	*ret = d.whole * unit + part;
	return 0;
}

static char letter_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

int str_parse_size(const char *s, uint64_t *ret_bytes)
{
	static const char units[] = "bkmgt";
	struct decimal d;
	unsigned shift = 0;
	int rc = decimal_take(&s, &d);

	if (rc < 0)
		return rc;
	if (*s) {
		const char *unit = strchr(units, letter_lower(*s++));

		if (!unit)
			return -EINVAL;
		shift = 10 * (unsigned)(unit - units);
		if (shift && letter_lower(*s) == 'i') {
			s++;
			if (letter_lower(*s) != 'b')
				return -EINVAL;
		}
		if (shift && letter_lower(*s) == 'b')
			s++;
		if (*s)
			return -EINVAL;
	}
	return decimal_scale(d, UINT64_C(1) << shift, ret_bytes);
}

int str_parse_duration(const char *s, uint64_t *ret_ms)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = {
		{ "", 1000 },       { "ms", 1 },          { "s", 1000 },
		{ "m", 60 * 1000 }, { "h", 3600 * 1000 }, { "d", 86400 * 1000 },
	};
	struct decimal d;
	int rc = decimal_take(&s, &d);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(s, units[i].name) == 0)
			return decimal_scale(d, units[i].ms, ret_ms);
	}
	return -EINVAL;
}

int str_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	const char *start = s;
	uint64_t v;

	if (s[strspn(s, "0123456789")] != '\0' || *s == '\0')
		return -EINVAL;
	if (digits_take(&start, &v) < 0 || v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

int str_parse_milli(const char *s, uint64_t *ret)
{
	struct decimal d;
	uint64_t milli;
	int rc = decimal_take(&s, &d);

	if (rc < 0)
		return rc;
	if (*s)
		return -EINVAL;
	rc = decimal_scale(d, 1000, &milli);
	if (rc < 0)
		return rc;
	if (milli == 0)
		return -ERANGE;
	*ret = milli;
	return 0;
}

char *str_format_size(char *out, size_t out_size, uint64_t bytes)
{
	static const char *const units[] = {
		"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB",
	};
	uint64_t whole = bytes, tenths = 0;
	size_t unit = 0;

	while (unit + 1 < ARRAY_SIZE(units) && bytes >> (10 * unit) >= 1024)
		unit++;
	if (unit > 0) {
		unsigned shift = 10 * (unsigned)unit;
		uint64_t one = UINT64_C(1) << shift;

		whole = bytes >> shift;
		tenths = ((bytes & (one - 1)) * 10 + one / 2) >> shift;
	}
	if (tenths == 10) {
		whole++;
		tenths = 0;
	}
	if (whole == 1024 && unit + 1 < ARRAY_SIZE(units)) {
		whole = 1; /* 1023.96 KiB */
		unit++;
	}
	if (unit == 0)
		snprintf(out, out_size, "%u B", (unsigned)whole);
	else
		snprintf(out, out_size, "%u.%u %s", (unsigned)whole,
			 (unsigned)tenths, units[unit]);
	return out;
}

char *str_format_age(char *out, size_t out_size, uint64_t seconds)
{
	static const struct {
		uint64_t seconds;
		const char *name;
	} units[] = {
		{ 365 * 86400, "y" }, { 86400, "d" }, { 3600, "h" },
		{ 60, "min" },        { 1, "s" },
	};
	size_t i = 0;

	/* The largest unit that is there once; years from the second on. */
	while (i + 1 < ARRAY_SIZE(units) &&
	       seconds < units[i].seconds * (i == 0 ? 2 : 1))
		i++;
	snprintf(out, out_size, "%llu %s",
		 (unsigned long long)(seconds / units[i].seconds),
		 units[i].name);
	return out;
}

/* Takes @s, also on failure. */
static int strv_take(struct strv *sv, char *s)
{
	SCOPED_STR owned = s;
	char **v;

	if (!owned)
		return -ENOMEM;
	if (sv->n >= STRV_MAX)
		return -ENOBUFS;
	/* There is room for the next power of two, the NULL included, so that
	 * many entries are not copied once for each. */
	if ((sv->n & (sv->n + 1)) == 0) {
		v = realloc(sv->v, 2 * (sv->n + 1) * sizeof(*v));
		if (!v)
			return -ENOMEM;
		sv->v = v;
	}
	sv->v[sv->n++] = ptr_take(&owned);
	sv->v[sv->n] = NULL;
	return 0;
}

void str_copy(char *out, size_t size, const char *s)
{
	size_t len = s ? strnlen(s, size - 1) : 0;

	if (len)
		memcpy(out, s, len);
	out[len] = '\0';
}

int strv_push(struct strv *sv, const char *s)
{
	return strv_take(sv, strdup(s));
}

int strv_pushf(struct strv *sv, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = text_of(fmt, ap);
	va_end(ap);
	return strv_take(sv, text);
}

bool strv_has(const struct strv *sv, const char *s)
{
	for (size_t i = 0; i < sv->n; i++)
		if (strcmp(sv->v[i], s) == 0)
			return true;
	return false;
}

ssize_t strv_find_env(const struct strv *sv, const char *entry)
{
	size_t len = strcspn(entry, "=") + 1;

	for (size_t i = 0; i < sv->n; i++)
		if (strncmp(sv->v[i], entry, len) == 0)
			return (ssize_t)i;
	return -ENOENT;
}

int strv_put_env(struct strv *sv, const char *entry)
{
	ssize_t at = strv_find_env(sv, entry);
	char *copy;

	if (at < 0)
		return strv_push(sv, entry);
	copy = strdup(entry);
	if (!copy)
		return -ENOMEM;
	free(sv->v[at]);
	sv->v[at] = copy;
	return 0;
}

void strv_done(struct strv *sv)
{
	if (!sv)
		return;
	for (size_t i = 0; i < sv->n; i++)
		free(sv->v[i]);
	free(sv->v);
	*sv = (struct strv){ 0 };
}

int str_base64_value(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}
