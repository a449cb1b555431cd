// SPDX-License-Identifier: GPL-3.0-only
/* floor.c - runs a command with the programs of floor.bpf.c attached: floor OBJECT COMMAND [ARGUMENT]... */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	struct bpf_program *program;
	int status = 1;
	pid_t pid;

	libbpf_set_print(quiet);
	object = argc > 2 ? bpf_object__open(argv[1]) : NULL;
	if (!object || bpf_object__load(object))
		return 125;
	bpf_object__for_each_program(program, object)
		if (!bpf_program__attach(program))
			return 125;
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return 125;
	return WEXITSTATUS(status);
}
