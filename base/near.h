/* SPDX-License-Identifier: GPL-3.0-only */
/* near.h - finds the word that was probably meant: the known word nearest to the given one. */
#ifndef IOT_BASE_NEAR_H
#define IOT_BASE_NEAR_H

#include <stddef.h>

#define NEAR_WORD 64
#define NEAR_HINT (NEAR_WORD + 20)

struct near {
	const char *given;
	char best[NEAR_WORD]; /* "": no word was near enough so far */
	size_t distance;      /* of `best` */
};

/* Compares one known word. Near means a distance of one for up to four letters, two for up to
 * seven, else a third of them. A letter too many, missing, or different, and two that changed
 * places, count one each (optimal string alignment); case does not count. */
void near_try(struct near *, const char *word);

/* Writes " (did you mean --top?)", with `dash` before the word, or "" when no word was near.
 * Returns `hint`. */
const char *near_hint(const struct near *, const char *dash, char hint[NEAR_HINT]);

#endif
