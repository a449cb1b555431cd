// SPDX-License-Identifier: GPL-3.0-only
/* number.c - numbers from users. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "clock.h"
#include "number.h"

#define TEN_YEARS (10ull * 366 * 86400)

/* Reads digits at *text, and moves it behind them. */
static int take_digits(const char **text, uint64_t *out)
{
	uint64_t v = 0;

	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	for (; isdigit((unsigned char)**text); (*text)++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, **text - '0', &v))
			return -EINVAL;
	*out = v;
	return 0;
}

int parse_number(const char *text, uint64_t *out)
{
	return take_digits(&text, out) || *text ? -EINVAL : 0;
}

int parse_number_63(const char *text, uint64_t *out)
{
	return parse_number(text, out) || *out > INT64_MAX ? -EINVAL : 0;
}

int parse_seconds(const char *text, uint64_t *ns)
{
	uint64_t whole, part = 0, unit = NSEC;

	if (take_digits(&text, &whole) || whole > TEN_YEARS)
		return -EINVAL;
	if (*text == '.') {
		if (!isdigit((unsigned char)*++text))
			return -EINVAL;
		for (; isdigit((unsigned char)*text); text++) /* digits below 1 ns are ignored */
			part += (*text - '0') * (unit /= 10);
	}
	*ns = whole * NSEC + part;
	return *text || !*ns ? -EINVAL : 0;
}

int parse_size(const char *text, uint64_t *out)
{
	static const char units[] = "KMGT";
	const char *unit;
	uint64_t factor = 1;

	if (take_digits(&text, out))
		return -EINVAL;
	unit = *text ? strchr(units, toupper((unsigned char)*text)) : NULL;
	if (unit) {
		factor = 1024ull << 10 * (unit - units);
		text += strcmp(text + 1, "iB") ? 1 : 3;
	}
	return *text || __builtin_mul_overflow(*out, factor, out) ? -EINVAL : 0;
}
