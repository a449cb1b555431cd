/* SPDX-License-Identifier: GPL-3.0-only */
/* detect_parts.h - memory of processes, files and threads, shared by the files detect*.c. */
#ifndef IOT_DETECT_PARTS_H
#define IOT_DETECT_PARTS_H

#include "detect.h"
#include "hash.h"
#include "id_table.h"
#include "systems/systems.h"
#include "tracer.h"

#define BUCKETS 4096           /* hash buckets of process numbers */
#define UNCLEAR 4096         /* files without a component that may turn out to be databases */
#define SPACES_WAYS 8        /* entries of one hash value */
#define SPACES 1024          /* mount namespaces and roots for which a process is remembered */
#define KNOWN_MAX 65536        /* files remembered, at most: those in use stay */

/* A process that may reveal more later, by a title that it sets after its fork or by files that it
 * opens. It is examined early, in case its life is short, and again later. */
struct again {
	u32 proc, looks;
	u64 seen_ns;
	bool born; /* born inside the run; a process that existed before is examined once */
};

/* One process of the run. */
struct seen {
	struct iot_proc proc;       /* id 0: it has no record */
	char comm[IOT_COMM_LEN + 1];
	struct sys_match *match;    /* NULL: nothing is known */
	const char *system;         /* kept when the process has ended */
	u32 older;                  /* id of the previous process in its bucket; 0: none */
	const struct place *place;  /* of the file that it wrote last, which says nothing new */
	u8 group;
	bool over;
	bool mixed;                 /* as in struct sys_use */
	bool threads; /* thread names tell components; kept when the process has ended */
};

/* A data root, and what it says about the writers of its files. */
struct place {
	struct sys_file file;
	struct place *next;
};

/* Knowledge about a file. */
struct known {
	struct place *place;        /* NULL: says nothing about its writers */
	const char *component;
	bool threads;               /* thread names may tell more */
	bool used;                  /* used since the hand of the clock passed it */
	u32 asked;                  /* process that was asked last about the device at `path` */
	char *path; /* of a device about which its first user told nothing; else NULL */
};

/* A file that no rule knew at its first write. */
struct late {
	struct rec_file rec;        /* owns its path */
	u32 user, tries;
	bool writes, outside;       /* outside: outside of the root directory of its user */
};

/* A file without a component, by the hash of its path. The file next to it that would identify it,
 * the journal of a database, may appear at any time and be gone before anyone can look for it; what
 * remains is that file's own record. */
struct unclear {
	u64 path;                   /* 0: unused */
	struct rec_file rec;        /* without its path */
	u32 user;
	bool writes;
};

/* A thread that used a file whose component depends on thread names. */
struct thread {
	u32 proc, tid;              /* the key */
	char comm[IOT_COMM_LEN];    /* "": could not be read */
	UT_hash_handle hh;
};

struct detect {
	struct systems *db;
	const char *only;
	struct id_table seen;         /* struct seen by process.id */
	u32 bucket[BUCKETS];
	/* process.id of a live process, by foreign mount namespace and root */
	u32 somebody[SPACES];
	struct id_table file;         /* struct known by file.id */
	u32 known[KNOWN_MAX];       /* ids in `file`, as a clock */
	size_t n_known, hand, n_devices;
	struct late *late;
	size_t late_room, n_late, at_late;
	bool told;                  /* the last of `late` became known by the file next to it */
	struct unclear unclear[UNCLEAR]; /* the last file of each slot */
	struct rec_file late_rec;   /* the record given last; owns its path */
	struct thread *threads;     /* hash table */
	struct place *places;
	size_t n_places;
	const char *group[IOT_HIST_GROUPS];
	u32 *changed;               /* process ids */
	size_t n_changed, at_changed, changed_room;
	struct again *again;        /* in the order in which their processes were seen */
	size_t n_again, again_room;
	char why[3 * SYS_WHY_LEN];  /* of the record given last */
};

/* --- processes (detect_processes.c) --- */

struct seen *detect_seen(const struct detect *, u32 id);
/* Decides what a new process is; NULL: no memory. */
struct seen *detect_decide(struct detect *, const struct iot_proc *);
/* Process and namespace through which to look at a path that this process uses. */
struct sys_view detect_view(struct detect *, const struct seen *, bool outside);
/* Learns from a file that a process uses. */
void detect_learn(struct detect *, u32 proc, const struct sys_file *);

/* --- files (detect_files.c) --- */

/* Examines the files of a process that ends, as the last chance to recognise it by them. */
void detect_end(struct detect *, u32 proc);
void detect_files_free(struct detect *);
/* Notes that a process uses a file that was seen before. */
void detect_use_file(struct detect *, struct known *, u32 proc, bool write);

#endif
