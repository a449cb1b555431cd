// SPDX-License-Identifier: GPL-3.0-only
/* completion.c - scripts by which bash and zsh complete command lines of iot-trace, made from the
 * table of its options.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "completion.h"
#include "options.h"
#include "systems/systems.h"

/* Prints the names of the built-in storage systems. */
static int put_systems(void)
{
	struct systems *rules = NULL;
	const struct sys_about *about;
	int err = systems_builtin(&rules);

	for (size_t i = 0; !err && (about = systems_about(rules, i)); i++)
		printf("%s%s", i ? " " : "", about->name);
	systems_close(rules);
	return err;
}

static bool is_system(const struct completed *c)
{
	return !strcmp(c->name, "--system");
}

static void bash_value(const struct completed *c)
{
	struct completed with = *c;

	if (is_system(c))
		with.bash = "$systems";
	complete_bash_value(&with);
}

static void zsh_option(const struct completed *c)
{
	struct completed with = *c;

	if (is_system(c))
		with.zsh = "{compadd - ${=systems}}";
	complete_zsh_option(&with);
}

/* A command follows "--"; its own completion takes over where bash-completion is loaded. */
static int complete_bash(void)
{
	int err;

	printf("# bash completion of iot-trace, made by `iot-trace --completion bash`.\n_iot_trace() {\n"
	       "\tlocal cur=${COMP_WORDS[COMP_CWORD]} i systems='");
	err = put_systems();
	printf("'\n\tCOMPREPLY=()\n\tfor ((i = 1; i < COMP_CWORD; i++)); do\n\t\t[[ ${COMP_WORDS[i]} = -- ]] || continue\n"
	       "\t\tif declare -F _command_offset >/dev/null; then\n\t\t\t_command_offset $((i + 1))\n"
	       "\t\telif ((COMP_CWORD == i + 1)); then\n\t\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	       "\t\telse\n\t\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n\t\tfi\n\t\treturn\n\tdone\n"
	       "\tcase ${COMP_WORDS[COMP_CWORD - 1]} in\n");
	options_each(bash_value);
	printf("\tesac\n\tCOMPREPLY=($(compgen -W '--");
	options_each(complete_bash_name);
	printf("' -- \"$cur\"))\n}\ncomplete -o filenames -F _iot_trace iot-trace\n");
	return err;
}

static int complete_zsh_script(void)
{
	int err;

	printf("#compdef iot-trace\n# zsh completion of iot-trace, made by `iot-trace --completion zsh`.\n_iot_trace() {\n\tlocal systems='");
	err = put_systems();
	printf("'\n\tlocal at=${words[(i)--]}\n\tif ((at < CURRENT)); then\n\t\tshift $at words\n\t\t((CURRENT -= at))\n"
	       "\t\t_normal\n\t\treturn\n\tfi\n\t_arguments \\\n");
	options_each(zsh_option);
	printf("\t'--[a command and its arguments follow]'\n}\n_iot_trace \"$@\"\n");
	return err;
}

int completion(const char *shell)
{
	int err = strcmp(shell, "zsh") ? complete_bash() : complete_zsh_script();

	if (fflush(stdout))
		err = fail(errno, "cannot write standard output");
	return err ? STATUS_FAILED : STATUS_OK;
}
