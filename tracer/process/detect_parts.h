/* SPDX-License-Identifier: GPL-3.0-only */
/* detect_parts.h - what is remembered of processes, files and threads, as the files detect*.c share it. */
#ifndef IOT_DETECT_PARTS_H
#define IOT_DETECT_PARTS_H

#include "detect.h"
#include "hash_table.h"
#include "id_table.h"
#include "systems/systems.h"
#include "tracer.h"

#define BUCKETS 4096           /* of process numbers */
#define UNCLEAR 4096         /* files without a component that may turn out to be databases */
#define SPACES_WAYS 8        /* those that share a hash */
#define SPACES 1024          /* mount namespaces and roots of which somebody is remembered */
#define KNOWN_MAX 65536        /* files of which something is: those that are used stay */

/* A process that may tell more later: by a title which it sets after it was forked, by files that it opens. It is looked at when that
 * may have happened, before a short life is over, and later. */
struct again {
	u32 proc, looks;
	u64 seen_ns;
	bool born;                  /* inside the run; who was there before is looked at once */
};

/* One process of the run. */
struct seen {
	struct iot_proc proc;       /* id 0: no record of it came */
	char comm[IOT_COMM_LEN + 1];
	struct sys_match *match;    /* NULL: nothing to be said */
	const char *system;         /* stays when the process is over */
	u32 older;                  /* id of the one before in its bucket; 0 none */
	const struct place *place;  /* of the file that it wrote last: it says nothing new */
	u8 group;
	bool over;
	bool mixed;                 /* struct sys_use */
	bool threads;               /* they tell something; stays when the process is over */
};

/* One file: what its data root says about who writes to it. */
struct place {
	struct sys_file file;
	struct place *next;
};

/* What is known of a file. */
struct known {
	struct place *place;        /* NULL: tells nothing about who writes there */
	const char *component;
	bool threads;               /* threads may tell more */
	bool used;                  /* since the hand of the clock passed by */
	u32 asked;                  /* process that was asked last what the device at `path` is to it */
	char *path;                 /* of a device whose first user told nothing; else NULL */
};

/* A file that no rule knew when it was first written to. */
struct late {
	struct rec_file rec;        /* its path is ours */
	u32 user, tries;
	bool writes, outside;       /* outside: of the root of its user */
};

/* A file without a component, by the hash of its path. The file beside it that would tell, the journal of a database, may come
 * at any time, and may be gone before it can be looked for: what remains is its own record. */
struct unclear {
	u64 path;                   /* 0: unused */
	struct rec_file rec;        /* without its path */
	u32 user;
	bool writes;
};

/* A thread that used such a file, by its number and process. */
struct thread {
	u32 proc, tid;              /* the key */
	char comm[IOT_COMM_LEN];    /* "": it could not be read */
	UT_hash_handle hh;
};

struct detect {
	struct systems *db;
	const char *only;
	struct id_table seen;         /* struct seen by process.id */
	u32 bucket[BUCKETS];
	u32 somebody[SPACES];       /* process.id of one that is there, by the mount namespace and root that are not ours */
	struct id_table file;         /* struct known by file.id */
	u32 known[KNOWN_MAX];       /* ids of these, a clock */
	size_t n_known, hand, n_devices;
	struct late *late;
	size_t late_room, n_late, at_late;
	struct unclear unclear[UNCLEAR]; /* the last one of each slot */
	struct rec_file late_rec;   /* that was given last; its path is ours */
	struct thread *threads;     /* hash table */
	struct place *places;
	size_t n_places;
	const char *group[IOT_HIST_GROUPS];
	u32 *changed;               /* process ids */
	size_t n_changed, at_changed, changed_room;
	struct again *again;        /* in the order in which their processes were seen */
	size_t n_again, again_room;
	char why[3 * SYS_WHY_LEN];  /* of the record that was given last */
};

/* --- processes (detect_processes.c) --- */

struct seen *detect_seen(const struct detect *, u32 id);
/* Decides what a process is that was not seen before; NULL: no memory. */
struct seen *detect_decide(struct detect *, const struct iot_proc *);
/* Whose path it is that a process uses. */
struct sys_view detect_view(struct detect *, const struct seen *, bool outside);
/* A process uses a file that tells what it is. */
void detect_learn(struct detect *, u32 proc, const struct sys_file *);

/* --- files (detect_files.c) --- */

/* A process that ends before its files are looked at again: its last chance to be known by them. */
void detect_end(struct detect *, u32 proc);
void detect_files_free(struct detect *);
/* A file that was seen before is used by a process. */
void detect_use_file(struct detect *, struct known *, u32 proc, bool write);

#endif
