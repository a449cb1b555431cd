/* SPDX-License-Identifier: GPL-3.0-only */
/* process.c - identity of a process from /proc. A helper reads it (ask.h): reading arguments or the
 * environment waits for the lock of the process's memory, which another thread may hold for long.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ask.h"
#include "procfs.h"
#include "rules.h"

#define CMDLINE_BYTES 65536
#define ENVIRON_BYTES 65536
#define CGROUP_BYTES 4096
#define PATH_BYTES 4096
#define ARGS 4096               /* arguments kept, at most */

enum part { CMDLINE, ENVIRON, EXE, CGROUP, CONTAINER, PARTS };

/* Answer of a helper, followed by the parts in their order. */
struct told {
	struct procfs_stat stat;
	uint32_t len[PARTS];
};

/* Everything read of one process. */
struct memory {
	struct procfs_stat stat;
	char cgroup[CGROUP_BYTES], exe[PATH_BYTES];
	char cmdline[CMDLINE_BYTES], env[ENVIRON_BYTES], container[SYS_CONTAINER_LEN];
	const char *argv[ARGS];
};

/* --- in a helper --- */

/* Name of the container that a control group belongs to, where there is one. */
static const char *name_container(const char *cgroup, uint32_t pid, char out[SYS_CONTAINER_LEN])
{
	char name[SYS_CONTAINER_LEN];

	if (!cgroup || !systems_container(cgroup, out))
		return "";
	if (systems_container_name("", out, pid, name))
		strcpy(out, name);
	return out;
}

static ssize_t answer_process(void *arg, const void *question, size_t len, void *answer,
	size_t room)
{
	struct told *t = answer;
	char *to = (char *)(t + 1), path[PROCFS_PATH], cgroup[CGROUP_BYTES],
		container[SYS_CONTAINER_LEN];
	const char *telling;
	uint32_t pid;
	ssize_t n;

	if (len != sizeof(pid) || room < sizeof(*t) + CMDLINE_BYTES + ENVIRON_BYTES + PATH_BYTES +
	    CGROUP_BYTES + SYS_CONTAINER_LEN)
		return -EINVAL;
	memcpy(&pid, question, len);
	*t = (struct told){ .len = { 0 } };
	if (procfs_stat(pid, &t->stat) || t->stat.over)
		return -ESRCH;
	n = procfs_read(pid, "cmdline", to, CMDLINE_BYTES);
	to += t->len[CMDLINE] = n > 0 ? n : 0;
	n = procfs_read(pid, "environ", to, ENVIRON_BYTES);
	to += t->len[ENVIRON] = n > 0 ? n : 0;
	n = readlink(procfs_path(path, pid, "exe"), to, PATH_BYTES - 1);
	to += t->len[EXE] = n > 0 ? n : 0;
	telling = procfs_cgroup(pid, cgroup, sizeof(cgroup)).telling;
	to = mempcpy(to, telling ?: "", t->len[CGROUP] = telling ? strlen(telling) : 0);
	telling = name_container(telling, pid, container);
	to = mempcpy(to, telling, t->len[CONTAINER] = strlen(telling));
	return to - (char *)answer;
}

void sys_process_serve(void)
{
	ask_serve(ASK_PROCESS, answer_process, NULL);
}

/* --- asking side --- */

static void split_args(struct memory *m, size_t len, struct sys_proc *p)
{
	for (size_t at = 0; at < len && p->argc < ARGS; at += strlen(m->cmdline + at) + 1)
		m->argv[p->argc++] = m->cmdline + at;
	p->argv = m->argv;
}

/* Takes the next part, checking the length that the helper gave. Returns its number of bytes. */
static size_t take(const struct told *t, enum part part, const char **from, const char *end,
	char *to, size_t room)
{
	size_t len = t->len[part];

	len = len < (size_t)(end - *from) ? len : (size_t)(end - *from);
	memcpy(to, *from, len < room ? len : room - 1);
	to[len < room ? len : room - 1] = '\0';
	*from += len;
	return len < room ? len : room - 1;
}

static void take_all(struct memory *m, const struct told *t, size_t n, struct sys_proc *p)
{
	const char *from = (const char *)(t + 1), *end = (const char *)t + n;

	split_args(m, take(t, CMDLINE, &from, end, m->cmdline, sizeof(m->cmdline)), p);
	p->env_len = take(t, ENVIRON, &from, end, m->env, sizeof(m->env));
	p->env = p->env_len ? m->env : NULL;
	p->exe = take(t, EXE, &from, end, m->exe, sizeof(m->exe)) ? m->exe : NULL;
	p->cgroup = take(t, CGROUP, &from, end, m->cgroup, sizeof(m->cgroup)) ? m->cgroup : NULL;
	p->container = take(t, CONTAINER, &from, end, m->container, sizeof(m->container)) ?
		m->container : NULL;
}

int systems_ident(uint32_t pid, struct sys_ident *out)
{
	static struct { struct told t; char text[ASK_ROOM - sizeof(struct told)]; } answer;
	struct memory *m;
	ssize_t n = ask(ASK_PROCESS, (struct ask_about){ .pid = pid }, &pid, sizeof(pid), &answer,
		sizeof(answer));

	memset(out, 0, sizeof(*out));
	if (n < (ssize_t)sizeof(answer.t))
		return n == -EBUSY ? -EBUSY : -ESRCH;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->stat = answer.t.stat;
	m->stat.comm[sizeof(m->stat.comm) - 1] = '\0';
	out->pid = out->proc.pid = pid;
	out->memory = m;
	out->ppid = m->stat.ppid;
	out->start_ticks = m->stat.start_ticks;
	out->kthread = m->stat.kthread;
	out->proc.comm = m->stat.comm;
	out->proc.forked = m->stat.forked;
	take_all(m, &answer.t, n, &out->proc);
	return 0;
}

void systems_ident_free(struct sys_ident *id)
{
	free(id->memory);
	memset(id, 0, sizeof(*id));
}
