/* SPDX-License-Identifier: GPL-3.0-only */
/* question.c - from a question, or a word, to a command and what the word means. */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "analyzer.h"
#include "near.h"
#include "print_text.h"
#include "question.h"

static const struct question {
	const char *question, *command, *words;
} questions[] = {
#define QUESTION(question, command, words) { question, command, words },
#include "questions.def"
};

static const struct term {
	const char *group, *word, *meaning, *command;
} terms[] = {
#define TERM(group, word, meaning, command) { group, word, meaning, command },
#include "terms.def"
};

/* Words that are in every question. */
static const char *const common[] = { "the",  "what", "does",    "how",  "and", "which", "are",
				      "was",  "one",  "for",     "can",  "did", "why",   "you",
				      "much", "many", "another", "when", "its" };

static bool is_common(const char *word, size_t len)
{
	size_t i;

	for (i = 0; i < N_OF(common); i++)
		if (strlen(common[i]) == len && !strncasecmp(common[i], word, len))
			return true;
	return len < 3;
}

/* 2: the text has this word, or its plural; 1: one that begins so; 0: none. */
static int word_fit(const char *text, const char *word, size_t len)
{
	int found = 0;
	const char *p;

	for (p = text; *p; p++) {
		const char *end = p + len;

		if ((p != text && isalnum((unsigned char)p[-1])) || strncasecmp(p, word, len))
			continue;
		if (!isalnum((unsigned char)*end) ||
		    (word[len] == 's' && *end == 's' && !isalnum((unsigned char)end[1])))
			return 2;
		found = 1;
	}
	return found;
}

static int asks(const struct question *q, const char *word, size_t len)
{
	int asked = word_fit(q->question, word, len), command = word_fit(q->command, word, len),
	    other = word_fit(q->words, word, len);

	asked = command > asked ? command : asked;
	return other > asked ? other : asked;
}

/* Weight of a word: less, the more questions have it. */
static int weight(const char *word, size_t len)
{
	int n = 0;
	size_t i;

	for (i = 0; i < N_OF(questions); i++)
		n += asks(&questions[i], word, len) > 0;
	return n ? 5040 / n : 0;
}

/* Weight of those words of a text that the question has; *asked counts those that say something at
 * all. A plural is looked for as what it is of. */
static int count_words(const struct question *q, const char *text, int *asked)
{
	int n = 0;

	while (*text) {
		size_t len = 0, stem;

		while (isalnum((unsigned char)text[len]) || text[len] == '_')
			len++;
		stem = len > 4 && text[len - 1] == 's' ? len - 1 : len;
		if (len && !is_common(text, len)) {
			(*asked)++;
			n += asks(q, text, stem) * weight(text, stem);
		}
		text += len + !len;
	}
	return n;
}

static int score(const struct options *o, const struct question *q, int *asked)
{
	int i, n = 0;

	for (i = 1, *asked = 0; i < o->args; i++)
		n += count_words(q, o->arg[i], asked);
	return n;
}

/* Is the term what was asked for? Letters of volumes are capitals, and a name that ends in _
 * stands for all that begin so. */
static bool is_term(const struct term *t, const char *word)
{
	size_t len = strlen(t->word), given = strlen(word);

	if (given > 2 && word[given - 1] == '*')
		return !strncasecmp(t->word, word, given - 1);
	if (len > 1 && t->word[len - 1] == '_' && given > len)
		return !strncasecmp(t->word, word, len);
	if (given > 3 && !strcmp(word + given - 2, "_r") && t->group[0] == 'v' && given - 2 == len)
		return !strncmp(t->word, word, len);
	return len < 2 ? !strcmp(t->word, word) ||
				 (given == 3 && !strcmp(word + 1, "_r") && *word == *t->word) :
			 !strcasecmp(t->word, word);
}

/* The terms that are asked for, each once. Returns how many. */
static int print_terms(const struct options *o)
{
	int n = 0, a;
	size_t i;

	for (i = 0; i < N_OF(terms); i++) {
		const struct term *t = &terms[i];

		for (a = 1; a < o->args && !is_term(t, o->arg[a]); a++)
			;
		if (a == o->args)
			continue;
		printf("%s\n    ", t->word);
		print_words(t->meaning, 4, 80);
		printf("    iot-analyze %s\n", t->command);
		n++;
	}
	return n;
}

static void try_words(struct near *n, const char *text)
{
	while (*text) {
		size_t len = 0;

		while (isalnum((unsigned char)text[len]) || text[len] == '_')
			len++;
		if (len > 2) {
			auto_free char *word = strndup(text, len);

			near_try(n, word ?: "");
		}
		text += len + !len;
	}
}

static int fail_words(const struct options *o)
{
	struct near n = { .given = o->arg[1] };
	char hint[NEAR_HINT];
	size_t i;

	for (i = 0; i < N_OF(terms); i++)
		near_try(&n, terms[i].word);
	for (i = 0; i < N_OF(questions); i++) {
		try_words(&n, questions[i].command);
		try_words(&n, questions[i].words);
		try_words(&n, questions[i].question);
	}
	return fail_as(EXIT_USAGE, 0,
		       "no question has these words%s (`iot-analyze help` lists all of them)",
		       near_hint(&n, "", hint));
}

/* A question that the tracer answers names its command. */
static void print_question(const struct question *q)
{
	printf("%s\n    %s%s\n", q->question,
	       strncmp(q->command, "iot-trace ", 10) ? "iot-analyze " : "", q->command);
}

const char *question_example(const char *command)
{
	size_t len = strlen(command), i;

	for (i = 0; i < N_OF(questions); i++)
		if (!strncmp(questions[i].command, command, len) && strchr(" ", questions[i].command[len]))
			return questions[i].command;
	return NULL;
}

int help_question(const struct options *o)
{
	int best = 0, asked = 0, known = print_terms(o), n;
	size_t i;

	for (i = 0; i < N_OF(questions); i++) {
		n = score(o, &questions[i], &asked);
		best = n > best ? n : best;
	}
	if (asked && !best && !known)
		return fail_words(o);
	if (known && !best)
		return 0;
	for (i = 0; i < N_OF(questions); i++)
		if (score(o, &questions[i], &asked) == best)
			print_question(&questions[i]);
	return 0;
}
