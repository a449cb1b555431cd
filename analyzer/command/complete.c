/* SPDX-License-Identifier: GPL-3.0-only */
/* complete.c - scripts by which bash and zsh complete command lines, from the tables of commands,
 * options and reports. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "analyzer.h"
#include "complete.h"
#include "question.h"
#include "report.h"

static void put_name(const char *name, const char *title)
{
	printf(" %s", name);
}

/* The words of "-- table: WORD" in a report. */
static void put_tables(const char *text)
{
	static const char *const heads[] = { "-- table: ", "-- words: " };
	const char *p;
	size_t i;

	for (p = text; p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
		for (i = 0; i < N_OF(heads); i++)
			if (!strncmp(p, heads[i], strlen(heads[i])))
				printf(" %.*s", (int)strcspn(p + strlen(heads[i]), ":\n"), p + strlen(heads[i]));
}

static void put_report_tables(const char *name, const char *title)
{
	auto_free char *file = NULL, *text = NULL;

	if (asprintf(&file, "%s.sql", name) < 0 || !(text = report_text(NULL, file)))
		return;
	printf("\t%s) tables='", name);
	put_tables(text);
	printf("' ;;\n");
}

static struct completed option(const char *name, const char *value, const char *const *choices,
			       const char *doc)
{
	struct completed c = { .name = name, .value = value, .choices = choices, .doc = doc };

	if (!strcmp(name, "--size")) {
		c.bash = "column page screen";
		c.zsh = "(column page screen)";
	} else if (!strcmp(name, "--table")) {
		c.bash = "$tables";
		c.zsh = "->table";
	}
	return c;
}

static void bash_option(const char *name, const char *value, const char *const *choices,
			const char *doc)
{
	struct completed c = option(name, value, choices, doc);

	complete_bash_value(&c);
}

static void bash_name(const char *name, const char *value, const char *const *choices,
		      const char *doc)
{
	printf(" %s", name);
}

static int complete_bash(const struct command_word *words)
{
	int i, err;

	printf("# bash completion of iot-analyze, made by `iot-analyze completion bash`.\n_iot_analyze() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} tables=\n"
	       "\tCOMPREPLY=()\n\tcase ${COMP_WORDS[1]} in\n");
	err = report_each(NULL, put_report_tables);
	printf("\tesac\n\tcase ${COMP_WORDS[COMP_CWORD - 1]} in\n");
	options_each(bash_option);
	printf("\tesac\n\tif [[ $cur == -* ]]; then\n\t\tCOMPREPLY=($(compgen -W '");
	options_each(bash_name);
	printf("' -- \"$cur\"))\n\t\treturn\n\tfi\n\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	       "\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\tCOMPREPLY+=($(compgen -W '");
	for (i = 0; words[i].name; i++)
		printf(" %s", words[i].name);
	err = err ?: report_each(NULL, put_name);
	printf("' -- \"$cur\"))\n\telif [[ ${COMP_WORDS[1]} = completion ]]; then\n\t\tCOMPREPLY=($(compgen -W 'bash zsh' -- \"$cur\"))\n\tfi\n}\n"
	       "complete -o filenames -F _iot_analyze iot-analyze\n");
	return err;
}

static void zsh_option(const char *name, const char *value, const char *const *choices,
		       const char *doc)
{
	struct completed c = option(name, value, choices, doc);

	complete_zsh_option(&c);
}

static void zsh_command(const char *name, const char *doc)
{
	printf("\t\t'%s:", name);
	complete_quoted(doc, ":\\");
	printf("'\n");
}

static int complete_zsh(const struct command_word *words)
{
	int i, err;

	printf("#compdef iot-analyze\n# zsh completion of iot-analyze, made by `iot-analyze completion zsh`.\n_iot_analyze() {\n"
	       "\tlocal -a commands\n\tlocal state line tables\n\tcommands=(\n");
	for (i = 0; words[i].name; i++)
		zsh_command(words[i].name, words[i].doc);
	err = report_each(NULL, zsh_command);
	printf("\t)\n\t_arguments \\\n");
	options_each(zsh_option);
	printf("\t'1: :->first' '*:file:_files'\n\tcase $state in\n\tfirst) _describe command commands; _files ;;\n\ttable)\n\tcase ${words[2]} in\n");
	err = err ?: report_each(NULL, put_report_tables);
	printf("\tesac\n\t_values table ${=tables} ;;\n\tesac\n}\n_iot_analyze \"$@\"\n");
	return err;
}

int completion(const struct options *o, const struct command_word *words)
{
	if (!strcmp(o->arg[1], "bash"))
		return complete_bash(words);
	if (!strcmp(o->arg[1], "zsh"))
		return complete_zsh(words);
	return fail_as(EXIT_USAGE, 0, "completion: '%s' is neither bash nor zsh", o->arg[1]);
}
