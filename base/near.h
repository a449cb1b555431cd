/* SPDX-License-Identifier: GPL-3.0-only */
/* near.h - the word that was meant: of those that there are, the one nearest to what was given. */
#ifndef IOT_BASE_NEAR_H
#define IOT_BASE_NEAR_H

#include <stddef.h>

#define NEAR_WORD 64
#define NEAR_HINT (NEAR_WORD + 20)

struct near {
	const char *given;
	char best[NEAR_WORD]; /* "": none was near enough so far */
	size_t distance;      /* of `best` */
};

/* Looks at one word that there is. Near is what differs by one letter of up to four, two of up to seven, else a third of them:
 * a letter more, less, another, or two that changed places (optimal string alignment); a case that differs is none. */
void near_try(struct near *, const char *word);

/* " (did you mean --top?)", with `dash` in front of the word, or "" when none was near. Returns `hint`. */
const char *near_hint(const struct near *, const char *dash, char hint[NEAR_HINT]);

#endif
