// SPDX-License-Identifier: GPL-3.0-only
/* probe_late.c - file systems that are not mounted yet: their programs are loaded and attached when
 * the first one is mounted.
 *
 * The tracer has no right to load programs while it records. A process of its own keeps this right
 * and no other, and reads only the mounted file systems and the names of kernel functions. It ends
 * with the tracer.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "privilege.h"
#include "probe_parts.h"

#define LOOK_MS 200            /* poll interval: programs are attached within a second */
/* events wait during this time. While the process loads programs its answer comes later, and the
 * next reading uses it */
#define ANSWER_MS 100

/* The kernel has a directory for each mounted file system of any namespace, besides these. */
bool fs_is_mounted(const char *type)
{
	static const char *const others[] = { ".", "..", "stats", "debug", "features" };
	char path[64];
	struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "/sys/fs/%s", type);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		found = true;
		for (size_t i = 0; i < N_OF(others); i++)
			found &= !!strcmp(e->d_name, others[i]);
	}
	if (d)
		closedir(d);
	return found;
}

/* True when the file system is no module, loaded or not. */
static bool is_built_in(const char *type)
{
	char line[64], state[64];
	FILE *f = fopen("/proc/filesystems", "re");
	bool known = false;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		known |= *line == '\t' && !strcmp(line + 1, type);
	}
	if (f)
		fclose(f);
	snprintf(state, sizeof(state), "/sys/module/%s/initstate", type);
	return known && access(state, F_OK);
}

bool probes_need_modules(void)
{
	for (size_t i = 0; i < n_objects; i++)
		if (objects[i].fs && fs_is_mounted(objects[i].fs) && !is_built_in(objects[i].fs))
			return true;
	return false;
}

static bool is_waiting(const struct probes *p, size_t n)
{
	u32 layers = p->opts.layers ? p->opts.layers : ~0u;

	return objects[n].fs && !p->obj[n] && !p->lacks && objects[n].layers & layers;
}

void objects_wait(struct probes *p, size_t n)
{
	char prefix[16];

	snprintf(prefix, sizeof(prefix), "%.8s__", objects[n].fs);
	for (size_t i = 0; i < n_programs; i++)
		if (!strncmp(programs[i].name, prefix, strlen(prefix)))
			program_refuse(p, programs[i].name, NOT_MOUNTED);
}

/* Clears the refusals for which only the mount was missing. */
static void forgive(struct probes *p)
{
	for (size_t i = 0; i < n_programs; i++)
		if (p->info[i].reason && !strcmp(p->info[i].reason, NOT_MOUNTED))
			p->info[i].reason = NULL;
}

static void come(struct probes *p, size_t n)
{
	p->symbols.n = 0; /* the functions of its module have addresses only now */
	functions_begin(p);
	functions_tell(p);
	forgive(p);
	p->obj[n] = object_open(p, n);
	if (p->obj[n] && !object_load(p, n)) {
		object_attach(p, p->obj[n]);
		copies_attach(p, p->obj[n]);
	}
	for (size_t i = 0; i < n_programs; i++)
		if (!strncmp(programs[i].name, objects[n].fs, strlen(objects[n].fs)) &&
		    !p->info[i].chosen && !p->info[i].reason)
			program_deny(p, programs[i].name, "its object could not be loaded");
	programs_name_others(p);
	for (size_t i = 0; i < n_programs; i++) {
		if (strncmp(programs[i].name, objects[n].fs, strlen(objects[n].fs)))
			continue;
		if (p->info[i].denied || (p->info[i].reason && program_lacks(p, i)))
			note("%s: %s is not attached: %s", objects[n].fs, p->info[i].name,
				p->info[i].reason);
	}
	late_denied_tell(p);
	types_drop(p);
}

/* Sums the skips of programs in `late`: only the process that loaded them can ask the kernel. */
static void answer(const struct probes *p, const bool late[MAX_OBJECTS])
{
	u32 asked = p->state->late_asked;
	u64 sum = 0;

	for (size_t i = 0; i < n_objects; i++)
		sum += late[i] ? object_skips(p, i) : 0;
	p->state->late_skips = sum;
	__atomic_store_n(&p->state->late_answered, asked, __ATOMIC_RELEASE);
}

u64 late_skips(const struct probes *p)
{
	static const struct timespec pause = { 0, NSEC / 1000 };
	u32 asked;

	if (!p->skips || p->watcher <= 0)
		return 0;
	asked = p->state->late_asked;
	if (__atomic_load_n(&p->state->late_answered, __ATOMIC_ACQUIRE) == asked) {
		p->state->late_asked = ++asked;
		if (write(p->watcher_pipe, "", 1) != 1)
			return p->state->late_skips;
	}
	for (int i = 0; i < ANSWER_MS && __atomic_load_n(&p->state->late_answered,
	    __ATOMIC_ACQUIRE) != asked; i++)
		nanosleep(&pause, NULL);
	return p->state->late_skips;
}

/* Runs until the tracer closes its end of the pipe, or has ended. The programs stay attached while
 * this process holds them. */
static void watch(struct probes *p, int tracer)
{
	struct pollfd asked = { .fd = tracer, .events = POLLIN };
	bool late[MAX_OBJECTS] = { false }, waiting = true;
	char question;

	for (;;) {
		int n = poll(&asked, 1, waiting ? LOOK_MS : -1);

		if (n && (n < 0 || read(tracer, &question, 1) != 1))
			return;
		if (n) {
			answer(p, late);
			continue;
		}
		waiting = false;
		for (size_t i = 0; i < n_objects; i++) {
			if (!is_waiting(p, i))
				continue;
			late[i] = fs_is_mounted(objects[i].fs);
			if (late[i])
				come(p, i);
			waiting |= !p->obj[i];
		}
	}
}

int probes_watch(struct probes *p)
{
	bool waiting = false, modules = false;
	sigset_t all;
	int ends[2];

	for (size_t i = 0; i < n_objects; i++) {
		waiting |= is_waiting(p, i);
		modules |= is_waiting(p, i) && !is_built_in(objects[i].fs);
	}
	if (!waiting)
		return 0;
	if (pipe2(ends, O_CLOEXEC))
		return fail(errno, "cannot make a pipe");
	if (late_denied_begin(p))
		return -ENOMEM;
	p->watcher = fork();
	if (p->watcher < 0)
		return fail(errno, "cannot watch for file systems that come");
	if (p->watcher) {
		close(ends[0]);
		p->watcher_pipe = ends[1];
		return 0;
	}
	close(ends[1]);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_NAME, "iot-trace-watch");
	if (!privilege_keep_loading(modules))
		watch(p, ends[0]);
	_exit(0);
}

void probes_unwatch(struct probes *p)
{
	late_denied_end(p);
	if (p->watcher <= 0)
		return;
	close(p->watcher_pipe);
	waitpid(p->watcher, NULL, 0);
	p->watcher = 0;
}
