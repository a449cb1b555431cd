// SPDX-License-Identifier: GPL-3.0-only
/* floor.c - runs a command with the programs of floor.bpf.c attached.
 *
 * usage: floor OBJECT COMMAND [ARGUMENT]...                   those that read the clock, at calls
 *        floor OBJECT TRACEPOINT... -- COMMAND [ARGUMENT]...  the one that does nothing, once for each time that a tracepoint is named
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

/* The end of the tracepoints' names; 0: none are named. */
static int names_end(int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		if (!strcmp(argv[i], "--"))
			return i;
	return 0;
}

static int attach_clocks(struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
		if (bpf_program__autoload(program) && !bpf_program__attach(program))
			return -1;
	return 0;
}

static int attach_empty(struct bpf_program *program, char **name, char **end)
{
	for (; name < end; name++)
		if (!bpf_program__attach_raw_tracepoint(program, *name))
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	int names = names_end(argc, argv), command = names ? names + 1 : 2, status = 1;
	struct bpf_program *program, *empty;
	struct bpf_object *object;
	pid_t pid;

	libbpf_set_print(quiet);
	object = argc > command ? bpf_object__open(argv[1]) : NULL;
	empty = object ? bpf_object__find_program_by_name(object, "floor_empty") : NULL;
	if (!empty)
		return 125;
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, (program == empty) == !!names);
	if (bpf_object__load(object) ||
	    (names ? attach_empty(empty, argv + 2, argv + names) : attach_clocks(object)))
		return 125;
	pid = fork();
	if (!pid) {
		execvp(argv[command], argv + command);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return 125;
	return WEXITSTATUS(status);
}
