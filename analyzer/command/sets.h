/* SPDX-License-Identifier: GPL-3.0-only */
/* sets.h - which runs are meant, and which of them are repeats of each other.
 *
 * A set is named by a store (all its runs), a folder (those of all *.sqlite in it), STORE:RUNS or
 * FOLDER:RUNS, where RUNS is a label or numbers such as 3, 3-7 or 1,3-7; or a label alone, of the
 * stores named before it, else of those in this folder. Runs with the same label are repeats; the
 * steps of a sweep are so without the number behind their labels. A run whose label ends in "
 * idle" is a control, and in no set unless named by its number. */
#ifndef IOT_ANALYZER_SETS_H
#define IOT_ANALYZER_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct set_run {
	char *store, *label;     /* label: "" for none */
	char *uuid;              /* a run has the same in every store that it was copied to */
	int64_t run;
};

struct set {
	char *name;
	struct set_run *run, *idle; /* idle: its controls */
	size_t runs, idles;
};

struct sets {
	struct set *set;
	size_t n;
};

/* The sets that n arguments name; one place alone has a set for each of its labels. Returns 0 or
 * an exit status, the error reported; free with sets_free() in either case. */
int sets_find(struct sets *out, const char *const *arg, size_t n);
void sets_free(struct sets *s);

#endif
