/* SPDX-License-Identifier: GPL-3.0-only */
/* outputs.h - everything that a run is written to, as one sink. */
#ifndef IOT_OUTPUTS_H
#define IOT_OUTPUTS_H

#include "options.h"
#include "stream.h"

struct outputs {
	struct sink *sink;      /* gives to all of them; one that fails is closed as incomplete, the others go on */
	bool standard;          /* standard output carries data */
	bool has_store;         /* one of them is a store, which opens files beside itself until the end */
	char *folder, *store;   /* the temporary store when there was no output; else NULL */
	int folder_fd;          /* whoever can write beside the folder may rename it */
	char *analyzer;         /* the program that reports on it */
	int analyzer_fd;        /* likewise; -1: none */
};

/* Opens every output, before anything is recorded and without changing what is in the files. Without an output: makes a
 * temporary store, and looks for iot-analyze. Returns 0 or a negative errno after a message. */
int outputs_open(struct outputs *, const struct options *);

/* Empties the files that are written anew. Call it before the first record. */
int outputs_begin(struct outputs *);

/* From here on the outputs do with what is open, and have somebody else remove what lies beside a store (errands.h). Before the first
 * record: in a transaction it would come too late. */
int outputs_confine(struct outputs *);

/* Closes everything; complete: the run ended as it should. Returns the first error. */
int outputs_close(struct outputs *, bool complete);

/* Prints in words what a temporary store holds: the first screen of iot-analyze. */
int outputs_report(struct outputs *);

/* The folder and name of store i; *name is NULL, and the folder -1, of another output. False: there are no more outputs. */
bool outputs_store(const struct outputs *, size_t i, int *dir, const char **name);

/* Removes the temporary store: by who may. */
void outputs_tidy(const struct outputs *);

/* The set-up failed: removes the files that were made for this run. Those that were there stay what they are. */
void outputs_undo(struct outputs *);

/* Has the temporary store removed. */
void outputs_free(struct outputs *);

#endif
