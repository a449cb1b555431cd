// SPDX-License-Identifier: GPL-3.0-only
/* args.c - the names of args.def, and numbers in words. */
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "args.h"
#include "clean.h"
#include "words.h"

#ifdef __aarch64__
#define ARG_LARGEFILE 0400000
#else
#define ARG_LARGEFILE 0100000
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

enum group {
#define ARG_GROUP(group, rest) GROUP_##group,
#include "args.def"
	GROUP_MAX
};

static const char rests[] = {
#define ARG_GROUP(group, rest) [GROUP_##group] = rest,
#include "args.def"
};

static const struct name {
	enum group group;
	u32 mask, value;
	const char *text;
} names[] = {
#define ARG_NAME(group, mask, value, name) { GROUP_##group, mask, value, name },
#include "args.def"
};

#define FIELD_arg 0
#define FIELD_op 1
static const char *const field_names[] = { "arg", "op" };

/* Group of a field of a kind, plus 1; 0: it has none. */
static const u8 groups[KIND_MAX][2] = {
#define ARG_OF(kind, field, group) [KIND_##kind][FIELD_##field] = GROUP_##group + 1,
#include "args.def"
};

/* As `groups`, of field `arg` of a request of io_uring, by its opcode. */
static const u8 request_groups[256] = {
#define ARG_OF_REQUEST(opcode, group) [opcode] = GROUP_##group + 1,
#include "args.def"
};

static u8 layer_of(u8 kind)
{
	return dictionary[WORDS_KIND].row[kind].layer;
}

u32 args_layers(const char *whole)
{
	u32 layers = 0;

	for (size_t i = LAYER_NONE + 1; whole && i < LAYER_MAX; i++)
		if (strstr(whole, dictionary[WORDS_LAYER].row[i].name))
			layers |= 1u << i;
	return layers;
}

bool args_recorded(u8 kind, u32 layers)
{
	u8 layer;

	if (kind >= KIND_MAX)
		return false;
	layer = layer_of(kind);
	if (layer != LAYER_URING && !groups[kind][FIELD_arg] && !groups[kind][FIELD_op])
		return false;
	return layers >> (layer == LAYER_SYSCALL ? LAYER_VFS : layer) & 1;
}

static size_t put(char *text, size_t at, char separator, const char *word)
{
	size_t len = strlen(word);

	if (at + len + 2 > ARGS_ROOM - sizeof(",\"args\":\"\""))
		return at;
	if (at)
		text[at++] = separator;
	memcpy(text + at, word, len + 1);
	return at + len;
}

/* Appends the names of one number, and what has none. */
static size_t put_group(char *text, size_t at, enum group group, u32 v)
{
	char rest[16], separator = ' ';
	u32 left = v;
	bool any = false;

	for (size_t i = 0; i < N_OF(names); i++) {
		const struct name *n = &names[i];

		if (n->group != group || (v & n->mask) != n->value)
			continue;
		at = put(text, at, separator, n->text);
		left &= ~n->mask;
		separator = '|';
		any = true;
	}
	if (!left && (any || rests[group] != 'o'))
		return at;
	snprintf(rest, sizeof(rest), rests[group] == 'o' ? "%04o" : rests[group] == 'x' ? "0x%x" :
		"%u", left);
	return put(text, at, separator, rest);
}

size_t args_text(const struct iot_event *e, char text[ARGS_ROOM])
{
	size_t at = 0;

	if (e->kind >= KIND_MAX)
		return 0;
	if (layer_of(e->kind) == LAYER_URING)
		return request_groups[e->op] ?
		       put_group(text, 0, request_groups[e->op] - 1, e->arg) : 0;
	if (groups[e->kind][FIELD_op] && (e->op || e->kind == KIND_MMAP))
		at = put_group(text, at, groups[e->kind][FIELD_op] - 1, e->op);
	if (groups[e->kind][FIELD_arg])
		at = put_group(text, at, groups[e->kind][FIELD_arg] - 1, e->arg);
	return at;
}

char *args_json(char *p, const struct iot_event *e)
{
	char text[ARGS_ROOM];

	return args_text(e, text) ? stpcpy(stpcpy(stpcpy(p, ",\"args\":\""), text), "\"") : p;
}

/* Name n of a group, counting down; NULL: it has fewer. */
static const struct name *name_of(u8 group, size_t *n)
{
	for (size_t i = 0; group && i < N_OF(names); i++)
		if (names[i].group == group - 1u && !(*n)--)
			return &names[i];
	return NULL;
}

static const struct arg_name *arg_row(u8 kind, int field, int op, const struct name *n)
{
	static struct arg_name row;

	row = (struct arg_name){ kind, field_names[field], op, n->mask, n->value, n->text };
	return &row;
}

const struct arg_name *args_row(size_t n)
{
	const struct name *name;

	for (u8 kind = 0; kind < KIND_MAX; kind++)
		for (int field = 0; field < 2; field++)
			if ((name = name_of(groups[kind][field], &n)))
				return arg_row(kind, field, -1, name);
	for (u8 kind = KIND_URING_READ; kind <= KIND_URING_OTHER; kind++)
		for (int op = 0; op < 256; op++)
			if ((name = name_of(request_groups[op], &n)))
				return arg_row(kind, FIELD_arg, op, name);
	return NULL;
}
