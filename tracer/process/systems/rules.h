/* SPDX-License-Identifier: GPL-3.0-only */
/* rules.h - the compiled rules, shared by the files of this directory. keys.c makes them from JSON.
 */
#ifndef IOT_SYSTEMS_RULES_H
#define IOT_SYSTEMS_RULES_H

#include "pattern.h"
#include "systems.h"

/* Limits of a rule file, which is refused beyond them. */
#define SYS_FILE_BYTES (1u << 20)    /* one file */
#define SYS_ENTRIES 256              /* all systems */
#define SYS_LIST 512                 /* elements of one list */
#define SYS_TOKENS 65536             /* compiled patterns of all systems together */

struct sys_patterns {
	struct pattern **p;
	size_t n;
};

struct sys_strings {
	char **s;
	size_t n;
};

/* All given conditions must hold. A list holds when one element does; of argv and env all must. */
struct sys_process_rule {
	struct sys_patterns name;        /* basename of comm, else of argv[0], else of exe */
	struct sys_patterns title;       /* argv[0] as a whole */
	struct sys_patterns argv, cgroup, env;
	struct sys_strings instance;     /* options whose value names the instance */
	char *role, *forked; /* forked: role of children that run the same program; NULL: role */
	bool files;                      /* only if it uses files of this system */
	bool untested;                   /* never tried, although the system was */
};

struct sys_thread_rule {
	struct sys_patterns comm;
	char *role, *in;                 /* in: only in processes of this role */
	const char *component;           /* row of components.def or NULL */
	const char *of;                  /* only for files of this component */
	char *op;                        /* "read", "write" or NULL */
	bool direct, buffered;           /* only for operations of this kind */
	bool mixed; /* only after a rule with `buffered` held in the same process */
};

struct sys_root_rule {
	struct sys_strings all;          /* markers of a data root; see marker_holds() */
	struct sys_patterns layout;      /* paths below it that no other system has */
};

struct sys_file_rule {
	struct sys_patterns path;
	const char *component;           /* row of components.def or NULL */
	/* another component, after a rule with `operation` held in its directory */
	const char *beside;
	bool operation;                  /* the directory two levels up belongs to one operation */
	bool threads;                    /* only thread names tell the operation */
	char *in;                        /* only for processes of this role */
};

struct sys_sibling_rule {
	char *suffix;
	const char *component;
};

struct sys_entry {
	struct sys_about about;
	char *name, *title, *origin;
	const char *main;                /* component of the file that `siblings` stand next to */
	bool tested, engine;
	struct sys_strings aliases;
	struct sys_patterns clients, programs;
	/* strings that only its programs contain; none: they are known by name alone */
	struct sys_strings elf;
	struct sys_process_rule *processes;
	struct sys_thread_rule *threads;
	struct sys_root_rule *roots;
	struct sys_file_rule *files, *paths;
	struct sys_sibling_rule *siblings;
	size_t n_processes, n_threads, n_roots, n_files, n_paths, n_siblings;
	size_t tokens;
};

struct sys_cache;
struct sys_programs;

struct systems {
	struct sys_entry *entry[SYS_ENTRIES];
	size_t n, tokens;
	struct sys_cache *cache;         /* roots.c */
	struct sys_programs *programs;   /* program.c */
};

/* Whether the executable of a process is a program of a system. */
enum sys_program {
	SYS_PROGRAM_NO,
	SYS_PROGRAM_YES,
	SYS_PROGRAM_GONE,                /* the process ended, or it cannot be examined now */
	/* the file is where it must not be examined: on a network or FUSE file system */
	SYS_PROGRAM_HIDDEN,
};
enum sys_program sys_program_is(const struct systems *, const struct sys_entry *,
	const struct sys_proc *);
/* Name of the system with a program of this file name; NULL: none. */
const char *sys_program_named(const struct systems *, const char *exe);
/* Register the answers to questions about processes, files and mounts (ask.h); the last two answer
 * by these rules. */
void sys_process_serve(void);
void sys_look_serve(void);
void sys_program_serve(const struct systems *);
void sys_roots_serve(const struct systems *);
/* Makes the cache of answers; freed with free(). */
struct sys_programs *sys_programs_new(void);
/* True when a path of a process lies on a file system that could block. */
bool sys_is_untouchable(struct sys_cache *, uint32_t pid, const char *path);

/* True when one of the patterns matches. */
bool sys_any(const struct sys_patterns *, const char *subject);
/* True when both are the same word, and there is one. */
bool sys_is_same(const char *, const char *);
/* Makes and frees the cache of data roots. */
struct sys_cache *sys_cache_new(void);
void sys_cache_free(struct sys_cache *);
/* Reads a regular file of at most SYS_FILE_BYTES, NUL-terminated, to be freed; NULL with *why
 * set. */
char *sys_read_small(const char *path, size_t *len, const char **why);
/* Forgets the contents of the cache. Call it when entries were removed. */
void sys_cache_forget(struct sys_cache *);
/* Copies what fits, NUL-terminated; NULL is "". The bytes are not escaped: the printing code does
 * that. */
void sys_text(char *to, size_t size, const char *from);
#endif
