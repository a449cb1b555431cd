// SPDX-License-Identifier: GPL-3.0-only
/* complete.c - an option and its value in the completion scripts of bash and zsh. */
#include <stdio.h>
#include <string.h>
#include "complete.h"

void complete_quoted(const char *text, const char *escaped)
{
	for (; *text; text++) {
		if (*text == '\'') {
			fputs("'\\''", stdout);
			continue;
		}
		if (strchr(escaped, *text))
			putchar('\\');
		putchar(*text);
	}
}

static void put_choices(const char *const *choices)
{
	int i;

	for (i = 0; choices[i]; i++)
		printf("%s%s", i ? " " : "", choices[i]);
}

static bool is_folder(const char *value)
{
	return !strcmp(value, "DIR") || !strcmp(value, "PATH");
}

static bool is_path(const char *value)
{
	return is_folder(value) || !strcmp(value, "FILE") || !strcmp(value, "BASE");
}

void complete_bash_name(const struct completed *c)
{
	printf(" %s", c->name);
	if (c->letter)
		printf(" -%c", c->letter);
}

void complete_bash_value(const struct completed *c)
{
	if (!c->value)
		return;
	printf("\t%s", c->name);
	if (c->letter)
		printf(" | -%c", c->letter);
	printf(") ");
	if (c->choices) {
		printf("COMPREPLY=($(compgen %s-W '", c->list ? "-P \"${cur%\"${cur##*,}\"}\" " : "");
		put_choices(c->choices);
		printf("' -- \"%s\"))", c->list ? "${cur##*,}" : "$cur");
	} else if (c->bash) {
		printf("COMPREPLY=($(compgen -W \"%s\" -- \"$cur\"))", c->bash);
	} else if (is_path(c->value)) {
		printf("mapfile -t COMPREPLY < <(compgen -%c -- \"$cur\")", is_folder(c->value) ? 'd' : 'f');
	} else {
		putchar(':');
	}
	printf("; return ;;\n");
}

static void zsh_value(const struct completed *c)
{
	putchar(':');
	complete_quoted(c->value, ":\\");
	putchar(':');
	if (c->choices) {
		printf(c->list ? "_values -s , %s " : "(", c->value);
		put_choices(c->choices);
		if (!c->list)
			putchar(')');
	} else if (c->zsh) {
		fputs(c->zsh, stdout);
	} else if (is_path(c->value)) {
		fputs(is_folder(c->value) ? "_files -/" : "_files", stdout);
	}
}

static void zsh_name(const char *name, const struct completed *c)
{
	printf("\t'%s[", name);
	complete_quoted(c->doc, "[]:\\");
	putchar(']');
	if (c->value)
		zsh_value(c);
	printf("' \\\n");
}

void complete_zsh_option(const struct completed *c)
{
	char letter[] = { '-', c->letter, '\0' };

	zsh_name(c->name, c);
	if (c->letter)
		zsh_name(letter, c);
}
