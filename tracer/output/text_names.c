/* SPDX-License-Identifier: GPL-3.0-only */
/* text_names.c - names for the lines of text.c, made fit for a column. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text_names.h"
#include "tracer.h"
#include "utf8.h"

/* Words of the other columns: layers, types of the table, events, directions, tags, flags. A word
 * that contains another one stands before it. */
static const char *const words[] = {
#define LAYER(sym, name, text, doc) text,
#include "kinds.def"
#define LAYER(sym, name, text, doc) #sym,
#include "kinds.def"
#define KIND(sym, layer, name, dir, text, doc) text,
#include "kinds.def"
	"SVC_READ", "SVC_WRITE", "SVC_SYNC", "SVC_META", "READ", "WRITE", "SYNC", "META",
	"OTHER", "FLUSH", "DISCARD", "ZEROES",
#define FLAG(sym, bit, name, doc) name,
#include "kinds.def"
};

static const char *const layer_words[] = {
#define LAYER(sym, name, text, doc) text,
#include "kinds.def"
};

static const char *const components[] = {
#define COMPONENT(sym, name, doc) [COMPONENT_##sym] = name,
#include "components.def"
};

static void lower(char *s, const char *word)
{
	for (char *p = s; *word && (p = strstr(p, word)); )
		for (size_t i = strlen(word); i; i--, p++)
			*p = tolower((unsigned char)*p);
}

/* Hides words of the other columns inside names, in lower case: `grep -c OS` must count the lines
 * of one layer, and "APPLICATION.*dd.*WRITE" the calls that write. */
static void hide_words(char *s)
{
	for (size_t i = 0; i < N_OF(words); i++)
		lower(s, words[i]);
}

void text_hide_layers(char *s)
{
	for (size_t i = 0; i < N_OF(layer_words); i++)
		lower(s, layer_words[i]);
}

/* Words have two letters at least, all in upper case. */
static bool may_have_word(const char *s)
{
	for (; *s; s++)
		if (isupper((unsigned char)s[0]) && isupper((unsigned char)s[1]))
			return true;
	return false;
}

/* Escapes the second letter of each word of another column. s has room for three bytes more for
 * each of its bytes. */
static void break_words(char *s)
{
	char hex[5];

	for (size_t i = 0; i < N_OF(words); i++)
		for (char *p = s; *words[i] && (p = strstr(p, words[i])); p += sizeof(hex)) {
			snprintf(hex, sizeof(hex), "\\x%02x", (unsigned char)p[1]);
			memmove(p + 5, p + 2, strlen(p + 2) + 1);
			memcpy(p + 1, hex, 4);
		}
}

char *text_escape(const char *path, size_t most)
{
	size_t len = strnlen(path, most), n;
	char *text = malloc(2 * UTF8_PLAIN_MAX(len)), *out = text;
	long code;

	for (; text && len; path += n, len -= n) {
		n = utf8_next(path, len, &code);
		out = code == ' ' ? stpcpy(out, "\\x20") : utf8_escape(out, path, n, code);
	}
	if (!text)
		return NULL;
	*out = '\0';
	if (may_have_word(text))
		break_words(text);
	return text;
}

/* Makes a name one column of printable characters: blanks become "_", other bytes that are not
 * printable are escaped (utf8.h). */
static void clean(char to[NAME_MAX_BYTES], const char *from)
{
	size_t len = strnlen(from, NAME_MAX_BYTES / 4), n;
	char *out = to;
	long code;

	for (; len; from += n, len -= n) {
		n = utf8_next(from, len, &code);
		if (code == ' ')
			*out++ = '_';
		else
			out = utf8_escape(out, from, n, code);
	}
	*out = '\0';
	hide_words(to);
}

static int learn_process(struct text_names *n, const struct rec_process *r)
{
	struct who *w;

	while (r->id >= n->room_who) {
		size_t old = n->room_who;

		if (grow((void **)&n->who, n->room_who, &n->room_who, sizeof(*n->who)))
			return fail(ENOMEM, "processes of %s", n->output);
		memset(n->who + old, 0, (n->room_who - old) * sizeof(*n->who));
	}
	w = &n->who[r->id];
	w->pid = r->pid;
	clean(w->comm, *r->comm ? r->comm : "_");
	clean(w->system, r->system ? r->system : "-");
	return 0;
}

static int learn_device(struct text_names *n, const struct rec_device *r)
{
	if (r->leaf || !(r->dev >> 20))
		return 0;
	if (grow((void **)&n->stacked, n->n_stacked, &n->room_stacked, sizeof(*n->stacked)))
		return fail(ENOMEM, "devices of %s", n->output);
	n->stacked[n->n_stacked++] = r->dev;
	return 0;
}

/* A file may be recorded again with another component, after a rename. */
static int learn_file(struct text_names *n, const struct rec_file *r)
{
	while (r->id >= n->room_component) {
		size_t old = n->room_component;

		if (grow((void **)&n->component, n->room_component, &n->room_component,
		    sizeof(*n->component)))
			return fail(ENOMEM, "files of %s", n->output);
		memset(n->component + old, 0, n->room_component - old);
	}
	n->component[r->id] = component_number(r->component);
	return 0;
}

int text_learn(struct text_names *n, enum rec_type type, const void *rec)
{
	switch (type) {
	case REC_process:
		return learn_process(n, rec);
	case REC_device:
		return learn_device(n, rec);
	case REC_file:
		return learn_file(n, rec);
	default:
		return 0;
	}
}

void text_names_free(struct text_names *n)
{
	free(n->who);
	free(n->component);
	free(n->stacked);
}

const struct who *text_who(const struct text_names *n, u32 id)
{
	static struct who unnamed;

	if (id < n->room_who && n->who[id].comm[0])
		return &n->who[id];
	snprintf(unnamed.comm, sizeof(unnamed.comm), "process_%u", id % 10000000);
	strcpy(unnamed.system, "-");
	if (!id || id == PROC_OTHER)
		strcpy(unnamed.comm, id ? "other" : "unattributed");
	return &unnamed;
}

const char *text_component(const struct text_names *n, u32 file, u8 of_thread)
{
	u8 component = of_thread ?: file < n->room_component ? n->component[file] : 0;

	return component && component < N_OF(components) ? components[component] : NULL;
}

bool text_is_leaf(const struct text_names *n, u32 dev)
{
	for (size_t i = 0; i < n->n_stacked; i++)
		if (n->stacked[i] == dev)
			return false;
	return true;
}
