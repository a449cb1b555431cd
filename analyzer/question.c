/* SPDX-License-Identifier: GPL-3.0-only */
/* question.c - from a question to a command. */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "analyzer.h"
#include "question.h"

static const struct question {
	const char *question, *command, *words;
} questions[] = {
#define QUESTION(question, command, words) { question, command, words },
#include "questions.def"
};

/* Words that are in every question. */
static const char *const common[] = { "the", "what", "does", "how", "and", "which", "are", "was", "one", "for", "can", "did", "who", "why",
					"you", "much", "many" };

static bool is_common(const char *word, size_t len)
{
	size_t i;

	for (i = 0; i < N_OF(common); i++)
		if (strlen(common[i]) == len && !strncasecmp(common[i], word, len))
			return true;
	return len < 3;
}

/* Does the text have a word that begins so? */
static bool has_word(const char *text, const char *word, size_t len)
{
	const char *p;

	for (p = text; *p; p++)
		if ((p == text || !isalnum((unsigned char)p[-1])) && !strncasecmp(p, word, len))
			return true;
	return false;
}

/* How many of the words of a text the question has; *asked counts those that say something. A plural is looked for as what it is of. */
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
			n += has_word(q->question, text, stem) || has_word(q->command, text, stem) || has_word(q->words, text, stem);
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

int help_question(const struct options *o)
{
	int best = 0, asked = 0, n;
	size_t i;

	for (i = 0; i < N_OF(questions); i++) {
		n = score(o, &questions[i], &asked);
		best = n > best ? n : best;
	}
	if (asked && !best)
		return fail_as(EXIT_USAGE, 0, "no question has these words (`iot-analyze help` lists all of them)");
	for (i = 0; i < N_OF(questions); i++)
		if (score(o, &questions[i], &asked) == best)
			printf("%s\n    iot-analyze %s\n", questions[i].question, questions[i].command);
	return 0;
}
