/* SPDX-License-Identifier: GPL-3.0-only */
/* outputs.h - all outputs of a run as one sink. */
#ifndef IOT_OUTPUTS_H
#define IOT_OUTPUTS_H

#include "options.h"
#include "stream.h"

struct outputs {
	/* gives to all outputs; one that fails is closed as incomplete, the others go on */
	struct sink *sink;
	bool standard;          /* standard output carries data */
	bool has_store; /* an output is a store, which opens files next to itself until the end */
	char *folder, *store;   /* the temporary store when no output was given; else NULL */
	char *streams;          /* folder of CSV streams; NULL: none */
	char *streams_store;    /* the store in it, which iot-analyze makes them of at the end */
	bool streams_made;      /* the folder was created */
	int folder_fd; /* open, because whoever may write the parent directory may rename it */
	/* path of iot-analyze, which reports on the temporary store, or writes CSV streams */
	char *analyzer;
	int analyzer_fd;        /* open for the same reason; -1: none */
};

/* Opens every output before recording begins, without changing the contents of files. Without an
 * output: creates a temporary store, and looks for iot-analyze. Returns 0 or a negative errno after
 * a message. */
int outputs_open(struct outputs *, const struct options *);

/* Truncates the files that are overwritten. Call it before the first record. */
int outputs_begin(struct outputs *);

/* From here on the outputs use only open descriptors, and the helper removes the files next to a
 * store (errands.h). Call it before the first record: inside a transaction of the store it would be
 * too late. */
int outputs_confine(struct outputs *);

/* Closes all outputs. complete: the run ended as it should. Returns the first error. */
int outputs_close(struct outputs *, bool complete);

/* Prints the first screen of iot-analyze for the temporary store, or has it write the CSV
 * streams. */
int outputs_report(struct outputs *);

/* Directory and name of store i. Of an output that is no store *name is NULL and *dir is -1.
 * Returns false when there are no more outputs. */
bool outputs_store(const struct outputs *, size_t i, int *dir, const char **name);

/* Removes the temporary store; needs the right to do so. */
void outputs_tidy(const struct outputs *);

/* Removes the files that this run created, when the set-up failed. Files that existed stay
 * unchanged. */
void outputs_undo(struct outputs *);

/* Frees everything, and has the temporary store removed. */
void outputs_free(struct outputs *);

#endif
