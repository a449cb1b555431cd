/* SPDX-License-Identifier: GPL-3.0-only */
/* stream.h - the records of a run, and the sinks that take them: JSON Lines, a SQLite store.
 *
 * Both programs link this folder: iot-trace writes records into a sink; `iot-analyze ingest` reads
 * JSON Lines and writes the same records into a store. Nothing here uses libbpf.
 *
 * The headers in stream/ itself are for other folders. The rooms behind them are record/ (records,
 * JSON Lines, volumes), store/ (the SQLite store) and dirty/ (what events say of dirty pages).
 */
#ifndef IOT_STREAM_H
#define IOT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "../bpf/wire.h"

/* Version of the tables of a store, of records.def and of fields.def together. Raise it when older
 * stores cannot be read any more. A store whose tables only differ in layout is read, but not
 * appended to. Format 2 has flows, file_io, loads, components of threads and process.instance;
 * format 4 has file_io from the kernel's sums; format 5 has carriers and process.uid. */
#define IOT_SCHEMA 5u
#define IOT_APPLICATION_ID 0x696f7431 /* "iot1": PRAGMA application_id of a store */
#define IOT_EVENT_BATCH 8192        /* most events that a sink gets in one call */

enum rec_type {
#define RECORD(name, doc) REC_##name,
#include "records.def"
	REC_MAX
};

/* Components of storage systems: the position in components.def from 1; 0 none. */
enum iot_component {
	COMPONENT_NONE,
#define COMPONENT(sym, name, doc) COMPONENT_##sym,
#include "components.def"
	COMPONENT_MAX
};

/* Number of a component's name; 0 when no component has it, or for NULL. */
u8 component_number(const char *name);

/* C types of the column types in records.def. A STR is borrowed: it must live until the call that
 * takes the record returns. */
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

/* One struct for each record: struct rec_run, struct rec_probe, ... `present` has one bit for each
 * column of records.def, in order; a column whose bit is 0 is absent (NULL). STR columns are absent
 * when they are NULL, whatever their bit says; REQ columns are always present. */
#define RECORD(name, doc) struct rec_##name { u64 present;
#define COL(name, type, presence, unit, doc) col_##type name;
#define END(name) };
#include "records.def"

/* rec_set(&r, run, map_bytes, 123): sets an optional number and marks it present. The bit is found
 * by the offset of the column in its struct (rec_bit() in stream.c): names need no second table. */
#define rec_set(rec, type, col, value) \
	((rec)->col = (value), rec_mark((rec), REC_##type, offsetof(struct rec_##type, col)))

/* rec_drop(&r, run, map_bytes): marks it absent. */
#define rec_drop(rec, type, col) rec_unmark((rec), REC_##type, offsetof(struct rec_##type, col))

/* Mark the column at byte offset `off` of a record as present, or as absent. */
void rec_mark(void *rec, enum rec_type type, size_t off);
void rec_unmark(void *rec, enum rec_type type, size_t off);

/* Calls column() for each column of a record, in order, absent ones with present = false.
 * text: the value of a STR column, else NULL. */
void rec_each(enum rec_type type, const void *rec,
	      void (*column)(void *arg, const char *name, bool present, const char *text, u64 number),
	      void *arg);

/* A receiver of a run: records in the order of records.def, with events among them.
 * All calls return 0 or a negative errno, after having reported the error once on stderr. */
struct sink {
	const char *name;                                   /* for messages; owned by the sink */
	int (*record)(struct sink *, enum rec_type, const void *rec);
	int (*events)(struct sink *, const struct iot_event *, size_t n); /* n <= IOT_EVENT_BATCH */
	int (*commit)(struct sink *);                       /* one second is complete: make it durable */
	int (*close)(struct sink *, bool complete);         /* frees the sink; complete: write the end */
};

/* Makes a sink that writes JSON Lines to a descriptor, which the sink does not close. Lines are
 * buffered and written whole; commit flushes. When the reader has left, -EPIPE is returned without
 * a message. */
int sink_jsonl(struct sink **out, int fd, const char *name);

/* Makes a sink whose event lines also have the layer of the kind; comm, container and system of the
 * owner; and the path, as far as records before them said. sink_jsonl() has only layer and system
 * of these. Programs that read lines into a store ignore all five. */
int sink_jsonl_wide(struct sink **out, int fd, const char *name);

/* Makes a sink that writes a store at `path`, created (mode 0600) or appended to, as opener.h says.
 * Files are refused that are not ours, are corrupt, or do not have the tables of IOT_SCHEMA. A run
 * becomes complete in one transaction with its ledger and its bytes by file. A run that was left
 * incomplete may be given again; the new one replaces it when it is complete. */
int sink_store(struct sink **out, const char *path);
/* Makes sink->close() remove the store if it was created for this sink. */
void store_unmake(struct sink *);

/* Returns the name of a store in its folder, and a descriptor of the folder in *dir. Both live as
 * long as the sink. */
const char *store_place(const struct sink *, int *dir);
/* Makes the store need no more files: SQLite's temporary tables stay in memory, and the companions
 * of the store are open. Returns 0 or a negative errno after a message. */
int store_confine(struct sink *);
/* Removes a companion of a store, such as -wal, from its folder, as unlinkat(2) does. A process
 * that may not remove files sets this to a function that asks another process. */
extern int (*store_unlink)(int dir, const char *name, int flags);

/* Adds one record to run number `run` of the store at `path`, which must exist. Returns 0 or a
 * negative errno, after having reported the error. */
int store_attach(const char *path, s64 run, enum rec_type type, const void *rec);

/* Reads JSON Lines from fd until the end and gives all records to `to`. Stops at the first line
 * that cannot be read; all lines before it are given and committed. `name` is for messages. Returns
 * 0, 1 when the stream had no record `end` (the run is marked incomplete), or a negative errno. */
int jsonl_read(int fd, const char *name, struct sink *to);

/* Reads JSON Lines from fd into the store at `store_path`. Returns as jsonl_read(). */
int ingest(int fd, const char *name, const char *store_path);

/* The part of a run that is kept when its store is rewritten. */
enum keep { KEEP_ALL, KEEP_SUMS, KEEP_NONE };

/* Rewrites the store at `path` in the present format and without gaps, and replaces the file in one
 * step: after an interruption the old store is still there. keep[i] is for run number run[i]; runs
 * that are not named are kept. at_most: the largest size in bytes, or 0; if the new store would be
 * larger, nothing is changed and -EFBIG is returned without a message. Returns 0 or a negative
 * errno, after having reported the error; the sizes of the old and the new store in *before and
 * *after. */
int store_rewrite(const char *path, const s64 *run, const enum keep *keep, size_t n, u64 at_most,
		  u64 *before, u64 *after);

/* One run of one host, to be merged with others. */
struct merge_part {
	const char *path;
	s64 run;
	const char *host;        /* NULL: as in the run; its label where several runs name one host */
};

/* Creates a store at `path`, which must not exist, with one run made of all parts. Returns as
 * store_rewrite(). */
int store_merge(const char *path, const struct merge_part *part, size_t n);

/* Ends queries and reading as soon as possible: for a signal handler. */
void store_interrupt(void);
bool store_interrupted(void);

/* Opens a file for output, created with mode 0600. In a folder that others can write, a symlink
 * that neither root nor we made is not followed anywhere in the path, and an existing file is
 * refused that is not ours, that others can write, or that has other names (place.h).
 * flags: O_RDWR or O_WRONLY, with O_TRUNC, O_APPEND or O_EXCL.
 * *at: the place of a file that was created; its dir is -1 if the file existed. The caller releases
 * it with place_leave() in either case.
 * Returns the descriptor (O_CLOEXEC) or a negative errno, after having reported the error. */
struct place;
int output_open(const char *path, int flags, struct place *at);

/* Prints statements that make the views of a store for one connection: a reader does not trust the
 * views that a store brings along. */
void store_views(FILE *);

/* Text of a device number, "8:1", in a buffer of at least 24 bytes; and back: 0 or -EINVAL. */
const char *dev_text(u32 dev, char buf[24]);
int dev_parse(const char *text, u32 *dev);

#endif
