/* SPDX-License-Identifier: GPL-3.0-only */
/* stream.h - the records of a run, and the sinks that take them: JSON Lines, a SQLite store.
 *
 * Both programs link this folder: iot-trace writes records into a sink, `iot-analyze ingest` reads JSON
 * Lines and writes the same records into a store. Nothing here knows about libbpf.
 */
#ifndef IOT_STREAM_H
#define IOT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "../bpf/wire.h"

/* Version of the tables of a store and of records.def and fields.def together. Raise it whenever a store of before could
 * no longer be read; one whose tables are only laid out otherwise is read, and not appended to. 2 has flows, file_io, loads,
 * components of threads and process.instance; 4 has file_io from the kernel's sums; 5 has carriers and process.uid. */
#define IOT_SCHEMA 5u
#define IOT_APPLICATION_ID 0x696f7431 /* "iot1": PRAGMA application_id of a store */
#define IOT_EVENT_BATCH 8192        /* events a sink may be given at once */

enum rec_type {
#define RECORD(name, doc) REC_##name,
#include "records.def"
	REC_MAX
};

/* Components of storage systems, by their position in components.def from 1; 0 none. */
enum iot_component {
	COMPONENT_NONE,
#define COMPONENT(sym, name, doc) COMPONENT_##sym,
#include "components.def"
	COMPONENT_MAX
};

/* The number of a component's name; 0 when it is none, or NULL. */
u8 component_number(const char *name);

/* C types of the column types in records.def. STR is not owned by the record: it lives until the call
 * that takes the record returns. */
typedef u64 col_U64;
typedef s64 col_I64;
typedef const char *col_STR;
typedef u32 col_DEV;
typedef u8 col_KIND;
typedef u8 col_CARRIER;
typedef u8 col_CAUSE;
typedef u8 col_HOW;
typedef u8 col_SUB;
typedef u8 col_COMPONENT;

/* One struct a record: struct rec_run, struct rec_probe, ... `present` has one bit for each column of
 * records.def, in order; a column whose bit is 0 is absent (NULL). STR columns are absent when NULL,
 * whatever their bit says; REQ columns are always taken as present. */
#define RECORD(name, doc) struct rec_##name { u64 present;
#define COL(name, type, presence, unit, doc) col_##type name;
#define END(name) };
#include "records.def"

/* rec_set(&r, map_bytes, 123): sets an optional number and marks it present. The bit is found by the
 * offset of the column in its struct (rec_bit() in stream.c), so that names need no second table. */
#define rec_set(rec, type, col, value) \
	((rec)->col = (value), rec_mark((rec), REC_##type, offsetof(struct rec_##type, col)))

/* rec_drop(&r, map_bytes): makes it absent. */
#define rec_drop(rec, type, col) rec_unmark((rec), REC_##type, offsetof(struct rec_##type, col))

/* Marks the column at byte offset `off` of a record as present, or as absent. */
void rec_mark(void *rec, enum rec_type type, size_t off);
void rec_unmark(void *rec, enum rec_type type, size_t off);

/* Calls back with each column of a record, in order. text: of a STR column, else NULL; a column that is absent is called with
 * present = false. */
void rec_each(enum rec_type type, const void *rec,
	      void (*column)(void *arg, const char *name, bool present, const char *text, u64 number), void *arg);

/* A place that takes a run, record by record, in the order of records.def with events among them.
 * Every call returns 0 or a negative errno, after having reported the error once on stderr. */
struct sink {
	const char *name;                                   /* for messages; owned by the sink */
	int (*record)(struct sink *, enum rec_type, const void *rec);
	int (*events)(struct sink *, const struct iot_event *, size_t n); /* n <= IOT_EVENT_BATCH */
	int (*commit)(struct sink *);                       /* one second is whole: make it durable */
	int (*close)(struct sink *, bool complete);         /* frees the sink; complete: write the end */
};

/* JSON Lines to a file descriptor, which the sink does not close. Lines are collected in a buffer and
 * written whole; commit flushes. EPIPE is returned as -EPIPE without a message: the reader left. */
int sink_jsonl(struct sink **out, int fd, const char *name);

/* Event lines also have layer, of the kind, and system, of the owner. The wide ones also have comm and container of the owner, and path: as far as
 * the records before them told it. Whoever reads lines into a store ignores these five. */
int sink_jsonl_wide(struct sink **out, int fd, const char *name);

/* A store at `path`, created (mode 0600) or appended to, as opener.h says. Refuses files that are not ours, are corrupt, or are not
 * of IOT_SCHEMA and its tables. A run becomes complete in one step with its ledger and its bytes by file; one that was left incomplete
 * may be given again, and is replaced when it is complete. */
int sink_store(struct sink **out, const char *path);
/* When that is closed, a store that was made for it is taken away again. */
void store_unmake(struct sink *);

/* The name of a store in its folder, of which *dir is a descriptor. Both live as long as the sink. */
const char *store_place(const struct sink *, int *dir);
/* Nothing is opened any more for what is written: what SQLite would keep in temporary files stays in memory. Returns 0 or a negative errno
 * after a message. */
int store_confine(struct sink *);
/* Removes what SQLite keeps beside a store, by its folder and name, for who may not: as unlinkat(2) does. */
extern int (*store_unlink)(int dir, const char *name, int flags);

/* Adds one record to run number `run` of the store at `path`, which must be there. Returns 0 or a negative errno, after having
 * reported the error. */
int store_attach(const char *path, s64 run, enum rec_type type, const void *rec);

/* Reads JSON Lines from fd until the end and gives every record to `to`. Stops at the first line that cannot
 * be read, after everything before it was given and committed. `name` is for messages. Returns 0, 1 when the
 * stream had no `end` record (the run is marked incomplete), or a negative errno. */
int jsonl_read(int fd, const char *name, struct sink *to);

/* Reads JSON Lines from fd into the store at `store_path`: what `iot-analyze ingest` does. Returns as jsonl_read(). */
int ingest(int fd, const char *name, const char *store_path);

/* What of a run stays when its store is written anew. */
enum keep { KEEP_ALL, KEEP_SUMS, KEEP_NONE };

/* Writes the store at `path` anew, in the format of this version and without gaps, and puts it in its own place in one step: interrupted
 * at any moment, what was there is there. keep[i] is of run number run[i]; runs that are not named are kept. at_most: what it may take,
 * in bytes, or 0; when it would be more nothing is changed, and -EFBIG is returned without a message. Returns 0 or a negative errno,
 * after having reported the error; what it took, and takes or would take, in *before and *after. */
int store_rewrite(const char *path, const s64 *run, const enum keep *keep, size_t n, u64 at_most, u64 *before, u64 *after);

/* One run of one host, of those that are merged. */
struct merge_part {
	const char *path;
	s64 run;
	const char *host;        /* NULL: as the run says, or its label where several say the same */
};

/* Makes a store at `path`, where nothing may be yet, with one run of all parts. Returns as store_rewrite(). */
int store_merge(const char *path, const struct merge_part *part, size_t n);

/* Ends what is asked of stores, and what is read into them, as soon as can be: for a handler of signals. */
void store_interrupt(void);
bool store_interrupted(void);

/* Opens a file for output, created with mode 0600. In a folder that others can write, a symlink that neither root nor we
 * made is not followed, anywhere in the path, and a file is not opened that is not ours, that others can write or that has other names
 * (place.h). flags: O_RDWR or O_WRONLY, with O_TRUNC, O_APPEND or O_EXCL.
 * *at, to be left in any case: where it was made; its dir is -1 when it was there before.
 * Returns the descriptor (O_CLOEXEC) or a negative errno, after having reported the error. */
struct place;
int output_open(const char *path, int flags, struct place *at);

/* Computes the dirty ledger (METRICS section 3) of one run from its events and writes table `ledger`. Called by
 * the store sink at the end of a run. db is a struct sqlite3 *. Returns 0 or a negative errno. */
int ledger_build(void *db, long long run);

/* Prints statements that make the views of a store for one connection: views that lie in a store are not trusted by who reads it. */
void store_views(FILE *);

/* Text of a device number, "8:1", in a buffer of at least 24 bytes; and back: 0 or -EINVAL. */
const char *dev_text(u32 dev, char buf[24]);
int dev_parse(const char *text, u32 *dev);

#endif
