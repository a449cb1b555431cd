/* SPDX-License-Identifier: GPL-3.0-only */
/* program.c - decides by its contents whether an executable is a program of a system.
 *
 * Names and arguments can be chosen by anyone, but the kernel executes one file. A few strings that
 * only a system's own programs contain are searched for in three of its sections. The answer is
 * kept while the file is unchanged.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "ask.h"
#include "procfs.h"
#include "rules.h"

#define KEPT 512                /* answers kept, at most */
#define SECTIONS 512            /* sections of one file, at most */
#define NAMES_BYTES 65536       /* bytes of section names, at most */
#define SEARCH_BYTES (24u << 20) /* bytes of one section, at most */
/* of all files in one second: somebody may create new ones all the time, and the tracer has other
 * work */
#define SECOND_BYTES (48 << 20)
#define WINDOW (1u << 20)       /* bytes read at once */

/* Sections in the order of their cost: build records of Go, names for the dynamic linker,
 * constants. */
static const char *const searched[] = { ".go.buildinfo", ".dynstr", ".rodata" };

/* An answer about one state of one file, for one system. */
struct answer {
	struct stat file;
	const struct sys_entry *entry;
	bool yes;
};

struct sys_programs {
	time_t second;
	int64_t left;           /* bytes that may still be read in this second */
	struct answer kept[KEPT];
};

struct sys_programs *sys_programs_new(void)
{
	return calloc(1, sizeof(struct sys_programs));
}

static bool is_unchanged(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
		a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
		a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool holds(const char *text, size_t len, const struct sys_strings *marks)
{
	for (size_t i = 0; i < marks->n; i++)
		if (marks->s[i][0] && memmem(text, len, marks->s[i], strlen(marks->s[i])))
			return true;
	return false;
}

static bool search(struct sys_programs *all, int fd, uint64_t from, uint64_t len,
	const struct sys_strings *marks)
{
	const size_t overlap = PATTERN_MAX;
	char *window = malloc(WINDOW + overlap);
	size_t kept = 0;
	bool found = false;

	len = len < SEARCH_BYTES ? len : SEARCH_BYTES;
	while (window && len && !found) {
		ssize_t n = pread(fd, window + kept, len < WINDOW ? len : WINDOW, from);

		if (n <= 0)
			break;
		found = holds(window, kept + n, marks);
		all->left -= n;
		from += n;
		len -= n;
		n += kept;
		kept = (size_t)n < overlap ? (size_t)n : overlap;
		memmove(window, window + n - kept, kept);
	}
	free(window);
	return found;
}

static bool read_at(int fd, void *to, size_t len, uint64_t from)
{
	return pread(fd, to, len, from) == (ssize_t)len;
}

static bool search_sections(struct sys_programs *all, int fd, const Elf64_Shdr *s, size_t n,
	const char *names, size_t names_len,
			    const struct sys_strings *marks)
{
	for (size_t want = 0; want < sizeof(searched) / sizeof(*searched); want++)
		for (size_t i = 0; i < n; i++)
			if (s[i].sh_type != SHT_NOBITS && s[i].sh_name < names_len &&
			    !strcmp(names + s[i].sh_name, searched[want]) &&
			    search(all, fd, s[i].sh_offset, s[i].sh_size, marks))
				return true;
	return false;
}

static bool file_holds(struct sys_programs *all, int fd, const struct sys_strings *marks)
{
	Elf64_Ehdr head;
	Elf64_Shdr *s;
	char *names = NULL;
	size_t len = 0;
	bool found = false;

	if (!read_at(fd, &head, sizeof(head), 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_shentsize != sizeof(*s) || !head.e_shnum || head.e_shnum > SECTIONS ||
	    head.e_shstrndx >= head.e_shnum)
		return false;
	s = calloc(head.e_shnum, sizeof(*s));
	if (s && read_at(fd, s, head.e_shnum * sizeof(*s), head.e_shoff)) {
		len = s[head.e_shstrndx].sh_size;
		len = len < NAMES_BYTES ? len : NAMES_BYTES;
		names = calloc(1, len + 1);
	}
	if (names && read_at(fd, names, len, s[head.e_shstrndx].sh_offset))
		found = search_sections(all, fd, s, head.e_shnum, names, len, marks);
	free(names);
	free(s);
	return found;
}

static struct answer *slot_of(struct sys_programs *kept, const struct stat *st,
	const struct sys_entry *e)
{
	uint64_t h = (st->st_ino * 31 + st->st_dev) * 31 + (uintptr_t)e / sizeof(void *);

	return &kept->kept[(h ^ h >> 17) % KEPT];
}

static bool may_read(struct sys_programs *all)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec != all->second) {
		all->second = now.tv_sec;
		all->left = SECOND_BYTES;
	}
	return all->left > 0;
}

/* Opens the file through the process: its path may lead elsewhere from here, or nowhere. */
static enum sys_program ask_program(const struct systems *db, const struct sys_entry *e,
	uint32_t pid)
{
	struct sys_programs *all = db->programs;
	char path[PROCFS_PATH];
	struct answer *a;
	struct stat st;
	int fd = open(procfs_path(path, pid, "exe"), O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			close(fd);
		return SYS_PROGRAM_GONE;
	}
	a = slot_of(all, &st, e);
	if (a->entry != e || !is_unchanged(&a->file, &st)) {
		if (!may_read(all)) {
			close(fd);
			return SYS_PROGRAM_GONE;
		}
		*a = (struct answer){ st, e, file_holds(all, fd, &e->elf) };
	}
	close(fd);
	return a->yes ? SYS_PROGRAM_YES : SYS_PROGRAM_NO;
}

/* Question to a helper, followed by the path: reading an executable takes as long as its file
 * system does. */
struct asked {
	uint32_t pid, entry;
};

static ssize_t answer_program(void *arg, const void *question, size_t len, void *answer,
	size_t room)
{
	const struct systems *db = arg;
	struct asked a;

	if (len <= sizeof(a) || ((const char *)question)[len - 1] || !room)
		return -EINVAL;
	memcpy(&a, question, sizeof(a));
	if (a.entry >= db->n)
		return -EINVAL;
	if (sys_is_untouchable(db->cache, a.pid, (const char *)question + sizeof(a)))
		*(unsigned char *)answer = SYS_PROGRAM_HIDDEN;
	else
		*(unsigned char *)answer = ask_program(db, db->entry[a.entry], a.pid);
	return 1;
}

void sys_program_serve(const struct systems *db)
{
	ask_serve(ASK_PROGRAM, answer_program, (void *)db);
}

enum sys_program sys_program_is(const struct systems *db, const struct sys_entry *e,
	const struct sys_proc *p)
{
	struct { struct asked a; char exe[PATH_MAX]; } q = { .a.pid = p->pid };
	unsigned char answer = SYS_PROGRAM_GONE;

	if (p->gone)
		return SYS_PROGRAM_GONE;
	if (!p->pid)
		return !p->exe ? SYS_PROGRAM_GONE : p->program && !strcmp(p->program, e->name) ?
			SYS_PROGRAM_YES : SYS_PROGRAM_NO;
	if (!p->exe)
		return SYS_PROGRAM_GONE;
	while (q.a.entry < db->n && db->entry[q.a.entry] != e)
		q.a.entry++;
	sys_text(q.exe, sizeof(q.exe), p->exe);
	sys_program_serve(db);
	if (ask(ASK_PROGRAM, (struct ask_about){ .pid = p->pid }, &q,
	    sizeof(q.a) + strlen(q.exe) + 1, &answer, 1) != 1)
		return SYS_PROGRAM_GONE;
	return answer;
}
