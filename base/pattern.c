/* SPDX-License-Identifier: GPL-3.0-only */
/* pattern.c - compiles patterns to a chain of states, which are all simulated at once. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "pattern.h"

enum tok_kind {
	TOK_CHAR,  /* the byte `arg` */
	TOK_ONE,   /* one byte of set `arg` */
	TOK_LOOP,  /* any number of bytes of set `arg` */
	TOK_DIRS,  /* any number of "component/" */
};

/* Sets that need no class; the pattern's classes come after them. */
enum { SET_ANY, SET_NO_SLASH, SET_DIGIT, SET_HEX, SET_CLASS };

struct tok {
	uint8_t kind, arg;
};

struct set {
	uint64_t bits[4];
};

struct pattern {
	char *text;
	unsigned n, classes;
	struct set sets[SET_CLASS + PATTERN_CLASSES];
	struct tok tok[];
};

/* The state of the compiler; `why` is set by the first error. */
struct compiler {
	struct pattern *p;
	bool path;
	const char *at, *why;
};

static bool wrong(struct compiler *c, const char *why)
{
	c->why = why;
	return false;
}

static void set_add(struct set *s, unsigned char from, unsigned char to)
{
	for (unsigned i = from; i <= to; i++)
		s->bits[i / 64] |= 1ull << (i % 64);
}

static bool set_has(const struct set *s, unsigned char c)
{
	return s->bits[c / 64] >> (c % 64) & 1;
}

static void sets_init(struct set *sets)
{
	set_add(&sets[SET_ANY], 1, 255);
	set_add(&sets[SET_NO_SLASH], 1, '/' - 1);
	set_add(&sets[SET_NO_SLASH], '/' + 1, 255);
	set_add(&sets[SET_DIGIT], '0', '9');
	set_add(&sets[SET_HEX], '0', '9');
	set_add(&sets[SET_HEX], 'a', 'f');
	set_add(&sets[SET_HEX], 'A', 'F');
}

static bool emit(struct compiler *c, enum tok_kind kind, unsigned char arg, unsigned times)
{
	if (times > PATTERN_TOKENS - c->p->n)
		return wrong(c, "too long when compiled");
	while (times--)
		c->p->tok[c->p->n++] = (struct tok){ kind, arg };
	return true;
}

static bool star(struct compiler *c)
{
	struct pattern *p = c->p;
	bool starts = c->path && (c->at == p->text || c->at[-1] == '/');

	if (c->at[1] != '*') {
		c->at++;
		return emit(c, TOK_LOOP, c->path ? SET_NO_SLASH : SET_ANY, 1);
	}
	c->at += 2;
	if (*c->at == '*')
		return wrong(c, "more than two stars in a row");
	if (starts && *c->at == '/') {
		c->at++;
		return emit(c, TOK_DIRS, 0, 1);
	}
	return emit(c, TOK_LOOP, SET_ANY, 1);
}

static bool class_members(struct compiler *c, struct set *set)
{
	const char *first = c->at;

	while (*c->at && (*c->at != ']' || c->at == first)) {
		unsigned char from = *c->at++, to = from;

		if (c->at[0] == '-' && c->at[1] && c->at[1] != ']') {
			to = c->at[1];
			c->at += 2;
		}
		if (to < from)
			return wrong(c, "a class with a range that runs backwards");
		set_add(set, from, to);
	}
	if (*c->at++ != ']')
		return wrong(c, "a class without its ']'");
	return true;
}

static bool class(struct compiler *c)
{
	struct pattern *p = c->p;
	struct set *set = &p->sets[SET_CLASS + p->classes];
	bool negated = c->at[1] == '!' || c->at[1] == '^';

	if (p->classes == PATTERN_CLASSES)
		return wrong(c, "more than 16 classes");
	c->at += 1 + negated;
	if (!class_members(c, set))
		return false;
	for (int i = 0; negated && i < 4; i++)
		set->bits[i] = ~set->bits[i];
	set->bits[0] &= ~(1ull | (c->path ? 1ull << '/' : 0));
	return emit(c, TOK_ONE, SET_CLASS + p->classes++, 1);
}

static bool uuid(struct compiler *c)
{
	static const unsigned char len[] = { 8, 4, 4, 4, 12 };

	for (int i = 0; i < 5; i++) {
		if (i && !emit(c, TOK_CHAR, '-', 1))
			return false;
		if (!emit(c, TOK_ONE, SET_HEX, len[i]))
			return false;
	}
	return true;
}

/* Compiles {name} or {name:N}; c->at is at the '{'. */
static bool named(struct compiler *c)
{
	static const struct {
		const char *name;
		unsigned char set;
	} names[] = { { "uuid", 0 }, { "digits", SET_DIGIT }, { "hex", SET_HEX } };
	const char *name = c->at + 1, *end = strchr(name, '}');
	size_t len = strcspn(name, ":}"), i;
	unsigned times = 0;

	for (i = 0; i < 3 && (strncmp(names[i].name, name, len) || names[i].name[len]); i++)
		;
	if (!end || i == 3)
		return wrong(c,
			     "a '{' that does not begin {uuid}, {digits}, {hex}, {digits:N} or {hex:N} (\\{ is the byte)");
	c->at = end + 1;
	if (name[len] == '}')
		return i == 0 ? uuid(c) : emit(c, TOK_ONE, names[i].set, 1) && emit(c, TOK_LOOP, names[i].set, 1);
	for (const char *d = name + len + 1; d < end; d++) {
		if (*d < '0' || *d > '9' || times > PATTERN_TOKENS)
			return wrong(c, "a repeat that is not a number from 1 to 256");
		times = times * 10 + (*d - '0');
	}
	if (!times || i == 0)
		return wrong(c, "a repeat that is not a number from 1 to 256");
	return emit(c, TOK_ONE, names[i].set, times);
}

static bool token(struct compiler *c)
{
	switch (*c->at) {
	case '*':
		return star(c);
	case '[':
		return class(c);
	case '{':
		return named(c);
	case '?':
		c->at++;
		return emit(c, TOK_ONE, c->path ? SET_NO_SLASH : SET_ANY, 1);
	case '\\':
		if (!*++c->at)
			return wrong(c, "a '\\' with nothing behind it");
		break;
	}
	return emit(c, TOK_CHAR, (unsigned char)*c->at++, 1);
}

static bool compile(struct compiler *c)
{
	while (*c->at)
		if (!token(c))
			return false;
	return c->p->n > 0 || wrong(c, "empty");
}

struct pattern *pattern_new(const char *text, bool path, const char **why)
{
	struct compiler c = { .path = path };

	*why = "too long: 512 bytes are allowed";
	if (strlen(text) > PATTERN_MAX)
		return NULL;
	*why = "out of memory";
	c.p = calloc(1, sizeof(*c.p) + PATTERN_TOKENS * sizeof(struct tok));
	if (!c.p)
		return NULL;
	sets_init(c.p->sets);
	c.p->text = strdup(text);
	c.at = c.p->text;
	if (c.at && compile(&c)) {
		struct pattern *small = realloc(c.p, sizeof(*c.p) + c.p->n * sizeof(struct tok));

		return small ? small : c.p;
	}
	if (c.why)
		*why = c.why;
	pattern_free(c.p);
	return NULL;
}

void pattern_free(struct pattern *p)
{
	if (p)
		free(p->text);
	free(p);
}

const char *pattern_text(const struct pattern *p)
{
	return p->text;
}

unsigned pattern_tokens(const struct pattern *p)
{
	return p->n;
}

/* The set of active states: state i means that the tokens before i have matched. */
struct states {
	unsigned n;
	uint16_t list[PATTERN_TOKENS + 1];
	uint64_t on[(PATTERN_TOKENS + 64) / 64];
};

static void clear(struct states *s)
{
	s->n = 0;
	memset(s->on, 0, sizeof(s->on));
}

static bool turn_on(struct states *s, unsigned i)
{
	if (s->on[i / 64] >> (i % 64) & 1)
		return false;
	s->on[i / 64] |= 1ull << (i % 64);
	s->list[s->n++] = i;
	return true;
}

/* Activates state i, and the states behind tokens that may match nothing. */
static void reach(struct states *s, const struct pattern *p, unsigned i)
{
	while (turn_on(s, i) && i < p->n && p->tok[i].kind >= TOK_LOOP)
		i++;
}

static void step(const struct pattern *p, unsigned i, unsigned char c, struct states *next)
{
	struct tok t = p->tok[i];

	switch (t.kind) {
	case TOK_CHAR:
		if (c == t.arg)
			reach(next, p, i + 1);
		return;
	case TOK_ONE:
		if (set_has(&p->sets[t.arg], c))
			reach(next, p, i + 1);
		return;
	case TOK_LOOP:
		if (set_has(&p->sets[t.arg], c))
			reach(next, p, i);
		return;
	case TOK_DIRS:
		/* inside a component: the next token may begin only after its '/' */
		turn_on(next, i);
		if (c == '/')
			reach(next, p, i + 1);
		return;
	}
}

bool pattern_match(const struct pattern *p, const char *subject)
{
	struct states states[2], *now = &states[0], *next = &states[1], *swap;
	unsigned i = 0;

	/* fast path: most patterns begin with plain bytes, and most subjects differ there */
	for (; i < p->n && p->tok[i].kind == TOK_CHAR; i++, subject++)
		if ((unsigned char)*subject != p->tok[i].arg)
			return false;
	if (i == p->n)
		return !*subject;
	clear(now);
	reach(now, p, i);
	for (; *subject && now->n; subject++) {
		clear(next);
		for (unsigned s = 0; s < now->n; s++)
			if (now->list[s] < p->n)
				step(p, now->list[s], (unsigned char)*subject, next);
		swap = now;
		now = next;
		next = swap;
	}
	return now->on[p->n / 64] >> (p->n % 64) & 1;
}
