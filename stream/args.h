/* SPDX-License-Identifier: GPL-3.0-only */
/* args.h - the names of flags, modes and advice that calls are given (args.def). */
#ifndef IOT_STREAM_ARGS_H
#define IOT_STREAM_ARGS_H

#include "stream.h"

#define ARGS_ROOM 512          /* bytes of the longest text, with its NUL and its key in JSON */

/* Writes fields `arg` and `op` of an event in words, such as "O_RDWR|O_CREAT", or
 * "PROT_READ MAP_SHARED" of mmap. Returns the length; 0: they have no names, and nothing was
 * written. */
size_t args_text(const struct iot_event *, char text[ARGS_ROOM]);

/* Writes them as a member of a JSON object, `,"args":"O_RDWR"`; returns the end. */
char *args_json(char *p, const struct iot_event *);

/* Layers that a run recorded whole (run.whole; NULL: none), as bits 1 << LAYER_x. */
u32 args_layers(const char *whole);

/* True when such a run recorded numbers of this kind that have names: those of calls on files are
 * recorded where layer vfs is whole. */
bool args_recorded(u8 kind, u32 layers);

/* One name of a number of a kind: it has it when its bits of mask equal value. */
struct arg_name {
	u8 kind;
	const char *field;      /* arg or op */
	int op;                 /* only of requests with this opcode; -1: of all of the kind */
	u32 mask, value;
	const char *name;
};

/* Row n of all names, by kind; NULL: there are no more. */
const struct arg_name *args_row(size_t n);

#endif
