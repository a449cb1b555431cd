/* SPDX-License-Identifier: GPL-3.0-only */
/* systems.h - storage system and role of a process, and component of a file.
 *
 * The rules are data: systems.json inside the program, /etc/iot/systems.d/NAME.json, and files of
 * the user (described in tracer/iot-systems.5). Needs cJSON, and nothing of probes or stores. Not
 * thread-safe.
 *
 * A returned `const char *` belongs to `struct systems` and lives as long as it does. A function
 * that returns int returns 0 or a negative errno after one line on stderr.
 */
#ifndef IOT_SYSTEMS_H
#define IOT_SYSTEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SYSTEMS_DIR "/etc/iot/systems.d"
#define SYS_INSTANCE_LEN 256
#define SYS_WHY_LEN 256
#define SYS_CONTAINER_LEN 80
#define SYS_ROOT_LEN 1024
#define SYS_ROOTS_LEN 1024

struct systems;
struct sys_entry;

/* --- rules --- */

/* Opens the built-in rules, then those of SYSTEMS_DIR in the order of their names, then `files`. A
 * later entry replaces an earlier one of the same name. */
int systems_open(struct systems **out, const char *const *files, size_t n);
/* The steps of systems_open(). A directory that does not exist is no error. After an error only
 * systems_close() may follow. */
int systems_builtin(struct systems **out);
int systems_add_dir(struct systems *, const char *dir);
int systems_add_file(struct systems *, const char *path);
void systems_close(struct systems *);

/* Name of a system from its name or an alias, as in --system NAME; NULL: none. */
const char *systems_name(const struct systems *, const char *name);

/* An entry for lists: i from 0; NULL after the last. `tested`: its rules were tried on the real
 * system, except those that say otherwise. */
struct sys_about {
	const char *name, *title, *origin;   /* origin: the file that it was read from */
	bool tested, engine;
};
const struct sys_about *systems_about(const struct systems *, size_t i);

/* --- processes --- */

/* Evidence by which a process was recognised, in the order in which it is tried, and its
 * confirmation by the kernel. */
enum sys_by { SYS_BY_NONE, SYS_BY_COMM, SYS_BY_ARGV, SYS_BY_EXE, SYS_BY_CGROUP, SYS_BY_ARGS,
	SYS_BY_FORK, SYS_BY_FILES };
enum sys_sure {
	SYS_SURE_NONE,
	SYS_SURE_NAME, /* the process only says so: a claim does not make it part of the system */
	/* runs in a control group that the machine's own manager made for the system */
	SYS_SURE_GROUP,
	SYS_SURE_PROGRAM,   /* executes a program of the system */
	SYS_SURE_FILES,     /* executes one, and uses files that only this system has */
};

/* Decision about a process. A plain value: copy it, keep it; all zero means "nothing". */
struct sys_match {
	const struct sys_entry *entry;
	const char *system, *role;           /* NULL: not a storage system */
	const char *client_of; /* when system is NULL: a known client or tool of this system */
	/* when system is NULL: it claims to be this one, and nothing confirms that */
	const struct sys_entry *claim;
	const char *claim_role;
	const struct sys_entry *refused; /* its program was examined and is none of this system */
	/* when system is NULL: its arguments fit, its files must confirm it (systems_learn()) */
	const struct sys_entry *maybe;
	const char *maybe_role;
	const char *forked_role; /* role of a child that runs the same program; NULL: as its own */
	enum sys_by by;
	enum sys_sure sure;
	/* false: its rule (also that of `maybe`) comes from documentation and was never tried */
	bool tested;
	bool more_roots;                     /* more roots than fit */
	/* its data roots in order, each NUL-terminated, ended by an empty one */
	char roots[SYS_ROOTS_LEN];
	/* tells several servers apart: data roots, or a name in the arguments; "": not known */
	char instance[SYS_INSTANCE_LEN];
	char container[SYS_CONTAINER_LEN];   /* name of its container, else its id; "": none */
	char why[SYS_WHY_LEN]; /* rule and evidence; systems_why() makes the text for people */
};

/* A process as seen from outside. A member is NULL or 0 when it is not known. Nothing is kept. */
struct sys_proc {
	const char *comm;                    /* of the thread-group leader */
	const char *const *argv;             /* argc strings */
	size_t argc;
	const char *exe;                     /* target of /proc/PID/exe */
	uint32_t pid; /* process whose executable can be examined; 0: see `program` */
	bool gone;                           /* it cannot be examined any more */
	const char *program; /* system that its executable is a program of; NULL: none */
	const char *cgroup;                  /* path inside the cgroup file system */
	const char *container;               /* as in struct sys_match */
	const char *env; /* environment, NUL-separated as in /proc/PID/environ */
	size_t env_len;
	const struct sys_match *parent;      /* decision about its parent */
	bool forked;                         /* runs its parent's program: forked, no exec since */
};

/* Decides what a process is; call it again after every exec, and after a fork when it has set its
 * title. Returns true when it belongs to a system. *out is always filled. */
bool systems_match(const struct systems *, const struct sys_proc *, struct sys_match *out);

/* One line for people: the evidence for a process, and whether its rules were ever tried; or its
 * claim. */
void systems_why(const struct sys_match *, char *out, size_t size);

/* Role of a thread by its name, in a matched process, such as "flush" for rocksdb:high; NULL:
 * none. */
const char *systems_thread_role(const struct sys_match *, const char *comm);

/* Operation of a thread on a file, for component rules about threads (inside BlueStore all is one
 * device). */
enum sys_op { SYS_READ, SYS_WRITE };
struct sys_use {
	enum sys_op op;
	bool direct;
	const char *component;               /* component of the file; may be NULL */
	/* in: a rule for buffered I/O held in this process before; out: including this operation */
	bool mixed;
};
/* Component of one operation by the thread's rule; NULL: no rule, it is that of the file. */
const char *systems_thread_component(const struct sys_match *, const char *comm, struct sys_use *);
/* True when thread names of this process tell components. */
bool systems_has_threads(const struct sys_match *);
/* True when a system has threads that tell more than `component`. */
bool systems_threads_tell(const struct systems *, const char *component);

/* Id of the container of a cgroup path (docker, containerd, cri-o, podman, kubernetes, lxc,
 * nspawn); `out` has SYS_CONTAINER_LEN bytes. Returns false, and "", when there is none. */
bool systems_container(const char *cgroup, char *out);

/* Name of the container with this id, from the files of Docker, Podman, containerd and CRI-O below
 * `root` ("" for this machine); in Kubernetes "namespace/pod/container". pid: one of its processes,
 * whose mounts lead to the files of a Docker with another data root; 0: none. `out` as above.
 * Returns false, and "", when there is none. */
bool systems_container_name(const char *root, const char *id, uint32_t pid, char *out);

/* --- files --- */

enum sys_file_by { SYS_FILE_NONE, SYS_FILE_ROOT, SYS_FILE_LAYOUT, SYS_FILE_SIBLING, SYS_FILE_USER };

struct sys_file {
	/* system whose data root contains it, or whose process uses it; NULL: none */
	const char *system;
	const char *component;               /* row of components.def; NULL: no rule says */
	bool threads; /* only thread names tell more: their rules compare with `component` */
	const char *engine; /* embedded engine (rocksdb, leveldb, sqlite) of the file; NULL: none */
	/* markers in the root; shape of the path; files next to it; its user only */
	enum sys_file_by by;
	bool tested;
	size_t main; /* length of the database's path that this file stands next to; else 0 */
	char root[SYS_ROOT_LEN]; /* data root, which tells two instances apart; "": not known */
	/* device and inode of the root when its path is of another mount namespace; else "" */
	char where[48];
};

/* The view in which a path is valid. pid: a process that uses it; 0: none. ours: without that
 * process the path is one of the tracer's mount namespace and root. Otherwise another process of
 * the same namespace and root serves as well, `other`, 0: none; and when none is left, remembered
 * answers about `space`: a number of that namespace and root that is never reused; 0: not known.
 * last: the process has ended, so that a directory which was no data root a moment ago is looked at
 * again. */
struct sys_view {
	uint32_t pid;
	bool ours, last;
	uint32_t other;
	uint64_t space;
};

/* Decides what a file is. `path` is absolute; `user` is the decision about the process that uses
 * it, or NULL. It looks for marker files in the directories above (never at contents, never on
 * network file systems), and remembers the results for seconds in bounded memory. After a rename
 * call it again with the new path. Returns true when system or component is known. */
bool systems_file(struct systems *, const char *path, struct sys_view, const struct sys_match *user,
	struct sys_file *out);

/* Learns that a process uses file `f`. A renamed server is recognised by its program (of process
 * `pid`; 0: it cannot be examined), a claim is confirmed where a system's programs have no marks,
 * an unknown program that writes files of an embedded engine belongs to the engine, and the data
 * roots become the instance. Call it for files that the process writes. Returns true when *m
 * changed. */
bool systems_learn(const struct systems *, struct sys_match *m, const struct sys_file *f,
	uint32_t pid);

/* Learns from everything that a process holds: open files, working directory, and data roots in its
 * arguments. */
bool systems_look(struct systems *, uint32_t pid, struct sys_match *m);

/* --- what runs now --- */

/* Identity of a process from /proc, which owns its strings. `proc.parent` is NULL. */
struct sys_ident {
	uint32_t pid, ppid;
	uint64_t start_ticks;
	bool kthread;
	struct sys_proc proc;
	void *memory;
};
/* Reads it, silently: -ESRCH when the process is gone, -EBUSY when it cannot be examined now. Free
 * it with systems_ident_free(). */
int systems_ident(uint32_t pid, struct sys_ident *out);
void systems_ident_free(struct sys_ident *);

/* Lists the processes of storage systems that run now, the evidence for them, and the roles of
 * their threads. `only` is a name from systems_name(), or NULL for all systems. */
int systems_list(struct systems *, const char *only, FILE *out);
#endif
