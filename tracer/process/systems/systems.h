/* SPDX-License-Identifier: GPL-3.0-only */
/* systems.h - which storage system a process belongs to, in which role, and which component a file is.
 *
 * The rules are data: systems.json inside the program, /etc/iot/systems.d/NAME.json, and files of the user
 * (tracer/iot-systems.5 is their manual). Needs cJSON; knows nothing of probes or stores. Not thread-safe.
 *
 * Strings that are returned as `const char *` belong to `struct systems` and live as long as it does.
 * Functions that return int return 0 or a negative errno, after having reported the error in one line on stderr.
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

/* The built-in rules, then those of SYSTEMS_DIR in the order of their names, then `files`. A later entry replaces
 * an earlier one of the same name. */
int systems_open(struct systems **out, const char *const *files, size_t n);
/* The same, step by step. A folder that does not exist is no error. After an error only systems_close() may follow. */
int systems_builtin(struct systems **out);
int systems_add_dir(struct systems *, const char *dir);
int systems_add_file(struct systems *, const char *path);
void systems_close(struct systems *);

/* The name of a system from its name or an alias, as in --system NAME; NULL when there is none. */
const char *systems_name(const struct systems *, const char *name);

/* One entry for lists: i from 0; NULL behind the last. `tested`: its rules were run against the real system, but for those that
 * say otherwise. */
struct sys_about {
	const char *name, *title, *origin;   /* origin: the file it was read from */
	bool tested, engine;
};
const struct sys_about *systems_about(const struct systems *, size_t i);

/* --- processes --- */

/* By what a process was recognised, in the order in which it is asked for, and what of it the kernel knows. */
enum sys_by { SYS_BY_NONE, SYS_BY_COMM, SYS_BY_ARGV, SYS_BY_EXE, SYS_BY_CGROUP, SYS_BY_ARGS, SYS_BY_FORK, SYS_BY_FILES };
enum sys_sure {
	SYS_SURE_NONE,
	SYS_SURE_NAME,      /* it only says so: a claim, which makes it no process of the system */
	SYS_SURE_GROUP,     /* it runs in a control group that the machine's own manager made for the system */
	SYS_SURE_PROGRAM,   /* the file that it executes is a program of the system */
	SYS_SURE_FILES,     /* and it uses files that only this system has */
};

/* What a process was found to be. A plain value: copy it, keep it; all zero means "nothing". */
struct sys_match {
	const struct sys_entry *entry;
	const char *system, *role;           /* NULL: not a storage system */
	const char *client_of;               /* when system is NULL: it is a known client or tool of this system */
	const struct sys_entry *claim;       /* when system is NULL: it says that it is this one, and nothing confirms it */
	const char *claim_role;
	const struct sys_entry *refused;     /* its program was looked at and is none of this system */
	const struct sys_entry *maybe;       /* when system is NULL: its arguments fit, its files must show (systems_learn) */
	const char *maybe_role;
	const char *forked_role;             /* what a child of the same program is called; NULL: like itself */
	enum sys_by by;
	enum sys_sure sure;
	bool tested;                         /* false: its rule (also that of `maybe`) comes from documentation, untested */
	bool more_roots;                     /* than fit */
	char roots[SYS_ROOTS_LEN];           /* its data roots in order, each NUL-terminated, ended by an empty one */
	char instance[SYS_INSTANCE_LEN];     /* which of several servers: its data roots, or what its arguments say; "" unknown */
	char container[SYS_CONTAINER_LEN];   /* name of its container, else its id; "" none */
	char why[SYS_WHY_LEN];               /* which rule, on what evidence; systems_why() is what people are told */
};

/* A process as seen from outside. Everything may be NULL or 0 when it is not known; nothing is kept. */
struct sys_proc {
	const char *comm;                    /* of the thread-group leader */
	const char *const *argv;             /* argc strings */
	size_t argc;
	const char *exe;                     /* target of /proc/PID/exe */
	uint32_t pid;                        /* whose executable can be looked at; 0: `program` says what it is */
	bool gone;                           /* it cannot be looked at any more */
	const char *program;                 /* name of the system that it is a program of; NULL: of none */
	const char *cgroup;                  /* path inside the cgroup file system */
	const char *container;               /* as in struct sys_match */
	const char *env;                     /* environment, NUL-separated as in /proc/PID/environ */
	size_t env_len;
	const struct sys_match *parent;      /* what its parent was found to be */
	bool forked;                         /* runs its parent's program: forked, no exec since */
};

/* Decides what a process is; again after every exec, and after a fork when it has set its title. Returns true
 * when it belongs to a system. *out is always filled. */
bool systems_match(const struct systems *, const struct sys_proc *, struct sys_match *out);

/* One line for people: on what evidence a process was recognised, and whether those rules were ever run; or what it claims. */
void systems_why(const struct sys_match *, char *out, size_t size);

/* Role of a thread of a matched process by the thread's own name, such as "flush" for rocksdb:high; NULL none. */
const char *systems_thread_role(const struct sys_match *, const char *comm);

/* What a thread does to a file, for component rules that look at threads (inside BlueStore all is one device). */
enum sys_op { SYS_READ, SYS_WRITE };
struct sys_use {
	enum sys_op op;
	bool direct;
	const char *component;               /* what the file is; may be NULL */
	bool mixed;                          /* in: a rule for buffered I/O held in this process before; out: also after this one */
};
/* Component of one operation: what the thread's rule says; NULL: no rule, it is what the file is. */
const char *systems_thread_component(const struct sys_match *, const char *comm, struct sys_use *);
/* Do threads of this process tell anything, whatever they do? */
bool systems_has_threads(const struct sys_match *);
/* Is there a system whose threads may tell more than that a file is `component`? */
bool systems_threads_tell(const struct systems *, const char *component);

/* Id of the container that a cgroup path belongs to (docker, containerd, cri-o, podman, kubernetes, lxc, nspawn);
 * `out` has SYS_CONTAINER_LEN bytes. False, and "", when it is none. */
bool systems_container(const char *cgroup, char *out);

/* Name that people gave to the container with this id, from the files of Docker, Podman, containerd and CRI-O below `root` ("" for the
 * machine's own); of Kubernetes "namespace/pod/container". pid: one of its processes, by whose mounts the files of a Docker with another data
 * root are found; 0 none. Same buffer. False, and "", when there is none. */
bool systems_container_name(const char *root, const char *id, uint32_t pid, char *out);

/* --- files --- */

enum sys_file_by { SYS_FILE_NONE, SYS_FILE_ROOT, SYS_FILE_LAYOUT, SYS_FILE_SIBLING, SYS_FILE_USER };

struct sys_file {
	const char *system;                  /* whose data root it lies in, or whose process uses it; NULL none */
	const char *component;               /* row of components.def; NULL: no rule says */
	bool threads;                        /* only threads tell more: `component` is what their rules compare with */
	const char *engine;                  /* embedded engine (rocksdb, leveldb, sqlite) whose file it is; NULL none */
	enum sys_file_by by;                 /* markers in the root; shape of the path; files beside it; its user only */
	bool tested;
	size_t main;                         /* it lies beside a database, whose path is so many bytes of its own; else 0 */
	char root[SYS_ROOT_LEN];             /* data root: tells two instances apart; "" unknown */
	char where[48];                      /* device and inode of the root, when its path is of another mount namespace; else "" */
};

/* Whose path it is. pid: a process that uses it; 0 none. ours: without that process the path is one of our own mount namespace
 * and root. Else somebody of the same namespace and root serves as well, `other`, 0 none; and when nobody is left, what is remembered
 * of `space`: a number for that namespace and root, which no later ones have; 0 not known. */
struct sys_view {
	uint32_t pid;
	bool ours;
	uint32_t other;
	uint64_t space;
};

/* What a file is. `path` is absolute; `user` is what the process that uses it was found to be, or NULL. Looks for marker files in the folders
 * above (never at contents, never on network file systems), remembers what it found for seconds, in bounded memory.
 * After a rename call it again with the new path. Returns true when system or component is known. */
bool systems_file(struct systems *, const char *path, struct sys_view, const struct sys_match *user, struct sys_file *out);

/* Tells what a process was found to be, that it uses file `f`: a renamed server is then recognised by its program (of process
 * `pid`; 0: it cannot be looked at), a claim is confirmed where a system's programs have no marks, an unknown program that writes
 * files of an embedded engine belongs to the engine, and the instance becomes the data roots. Call it for files that the process
 * writes. Returns true when *m changed. */
bool systems_learn(const struct systems *, struct sys_match *m, const struct sys_file *f, uint32_t pid);

/* The same with all that a process holds: open files, working folder, and data roots that its arguments name. */
bool systems_look(struct systems *, uint32_t pid, struct sys_match *m);

/* --- what runs now --- */

/* What /proc says about a process; strings are owned by it. `parent` of `proc` is left NULL. */
struct sys_ident {
	uint32_t pid, ppid;
	uint64_t start_ticks;
	bool kthread;
	struct sys_proc proc;
	void *memory;
};
/* Reads it, silently: -ESRCH when the process is gone, -EBUSY when it cannot be looked at now. Freed with systems_ident_free(). */
int systems_ident(uint32_t pid, struct sys_ident *out);
void systems_ident_free(struct sys_ident *);

/* Lists the processes of storage systems that run now, why they were recognised, and the roles of their threads. `only` is a
 * name from systems_name(), or NULL for all systems. */
int systems_list(struct systems *, const char *only, FILE *out);
#endif
