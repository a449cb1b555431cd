/* SPDX-License-Identifier: GPL-3.0-only */
/* opener.c - opens stores, and says why one cannot be opened, read or written. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include "clock.h"
#include "identity.h"
#include "memory.h"
#include "number.h"
#include "opener.h"
#include "out.h"
#include "table.h"

#define BUSY_MS 10000
#define BUSY_STEP_MS 20
#define TEXT_MAX (32 << 20)      /* bytes of one value: lines of a stream have at most 8 MiB */
#define STEPS_BETWEEN_LOOKS 20000

static u64 limit_s = 3600;       /* queries that take longer are interrupted; or IOT_LIMIT_S */
static struct opener *openers;

/* ---- the files that SQLite may open ---- */

/* SQLite's name of a file is "/iot-store:NUMBER/NAME", which no file of the kernel has. */
#define PREFIX "/iot-store:"

/* Finds the store of a path, and the name of its part; *name "": its folder. */
static struct opener *find(const char *path, const char **name)
{
	struct opener *o;
	char *end;
	long number;

	if (strncmp(path, PREFIX, sizeof(PREFIX) - 1))
		return NULL;
	number = strtol(path + sizeof(PREFIX) - 1, &end, 10);
	for (o = openers; o && o->number != number; o = o->next)
		;
	if (!o || (*end && *end != '/'))
		return NULL;
	*name = end + (*end == '/');
	return o;
}

static const char *const companions[] = { "-journal", "-wal", "-shm" };

/* Returns the part of the store that has the name: "" itself, one of `companions`, or NULL. */
static const char *part(const struct opener *o, const char *name)
{
	size_t len = strlen(o->at.name), i;

	if (strncmp(name, o->at.name, len))
		return NULL;
	if (!name[len])
		return "";
	for (i = 0; i < sizeof(companions) / sizeof(*companions); i++)
		if (!strcmp(name + len, companions[i]))
			return companions[i];
	return NULL;
}

static int refuse(struct opener *o, const char *what, int err)
{
	o->refused = err;
	o->culprit = what;
	return errno = EACCES, -1;
}

/* Checks an open file: the store itself must be the one that was judged; a companion is judged
 * now. */
static int check(struct opener *o, const char *what, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!*what)
		return st.st_dev == o->main.st_dev && st.st_ino == o->main.st_ino ? 0 : -PLACE_EXCHANGED;
	return S_ISREG(st.st_mode) ? place_judge(&o->at, fd, &st) : -PLACE_LINK;
}

/* Companions next to a store without a name belong to another store. */
static int no_companion(void)
{
	return errno = ENOENT, -1;
}

const char *opener_self(const struct opener *o, char path[OPENER_SELF])
{
	snprintf(path, OPENER_SELF, "/proc/self/fd/%d", o->fd);
	return path;
}

/* Opens a new description each time: SQLite closes what it opens. */
static int open_nameless(const struct opener *o, const char *what, int flags)
{
	char path[OPENER_SELF];

	if (*what)
		return no_companion();
	return open(opener_self(o, path),
		    (flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_NOFOLLOW)) | O_CLOEXEC);
}

static int open_part(struct opener *o, const char *name, int flags, int mode)
{
	const char *what = part(o, name);
	int fd, err;

	if (!*name)
		return openat(o->at.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!what)
		return errno = EACCES, -1;
	if (o->nameless)
		return open_nameless(o, what, flags);
	/* not blocking, in case it is a FIFO */
	fd = openat(o->at.dir, name,
		    (flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ELOOP)
		return refuse(o, what, -PLACE_LINK);
	if (fd < 0 && errno == ENOENT && flags & O_CREAT && *what)
		return openat(o->at.dir, name, flags | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode ?: 0600);
	if (fd < 0)
		return -1;
	err = check(o, what, fd);
	if (!err)
		return fd;
	close(fd);
	return refuse(o, what, err);
}

static int do_open(const char *path, int flags, int mode)
{
	static int why = EACCES; /* of the last temporary file that failed: SQLite then opens it */
	const char *name;
	struct opener *o = find(path, &name);
	bool is_temporary = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
	int fd;

	if (o)
		return open_part(o, name, flags, mode);
	if (!is_temporary && strcmp(path, "/dev/null") && strcmp(path, "/dev/urandom"))
		return errno = why, -1;
	fd = open(path, flags | O_CLOEXEC, mode);
	if (is_temporary)
		why = fd < 0 ? errno : EACCES;
	return fd;
}

static int do_stat(const char *path, struct stat *st)
{
	const char *name;
	struct opener *o = find(path, &name);

	if (o && o->nameless)
		return strcmp(name, o->at.name) ? no_companion() : fstat(o->fd, st);
	if (!o)
		return stat(path, st);
	if (!fstatat(o->at.dir, name, st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return 0;
	/* after setuid() the folder may be closed to us, but the store is open */
	return errno == EACCES && !strcmp(name, o->at.name) && o->fd >= 0 ? fstat(o->fd, st) : -1;
}

static int do_lstat(const char *path, struct stat *st)
{
	const char *name;

	return find(path, &name) ? do_stat(path, st) : lstat(path, st);
}

static int do_access(const char *path, int mode)
{
	const char *name;
	struct opener *o = find(path, &name);

	if (o && o->nameless)
		return strcmp(name, o->at.name) ? no_companion() : 0;
	return o ? faccessat(o->at.dir, *name ? name : ".", mode, AT_EACCESS) : access(path, mode);
}

int (*store_unlink)(int dir, const char *name, int flags) = unlinkat;

/* Only companions are removed: a journal may name any file to be removed with it. */
static int do_unlink(const char *path)
{
	const char *name, *base = strrchr(path, '/');
	struct opener *o = find(path, &name);

	if (o && o->nameless)
		return no_companion();
	if (o && o->to_write && part(o, name) && *part(o, name))
		return store_unlink(o->at.dir, name, 0);
	if (!o && base && !strncmp(base, "/etilqs_", 8)) /* SQLite's temporary files */
		return unlink(path);
	return errno = EACCES, -1;
}

/* Changes the owner of a companion only to the owner of a judged store: SQLite, running as root,
 * asks for the store's owner by name, and the name may have another file by now. */
static int do_fchown(int fd, uid_t uid, gid_t gid)
{
	for (const struct opener *o = openers; o; o = o->next)
		if (o->main.st_uid == uid)
			return fchown(fd, uid, gid);
	return errno = EACCES, -1;
}

/* SQLite closes and removes files before it reports a failed write: errno is another by then. */
static int write_error;

static ssize_t note_write(ssize_t result)
{
	if (result < 0)
		write_error = errno;
	return result;
}

static ssize_t do_write(int fd, const void *buf, size_t n)
{
	return note_write(write(fd, buf, n));
}

static ssize_t do_pwrite(int fd, const void *buf, size_t n, off_t at)
{
	return note_write(pwrite(fd, buf, n, at));
}

static int do_ftruncate(int fd, off_t size)
{
	return note_write(ftruncate(fd, size));
}

static int take_calls(void)
{
	static const struct { const char *name; sqlite3_syscall_ptr call; } calls[] = {
		{ "open", (sqlite3_syscall_ptr)do_open }, { "stat", (sqlite3_syscall_ptr)do_stat },
		{ "lstat", (sqlite3_syscall_ptr)do_lstat }, { "access", (sqlite3_syscall_ptr)do_access },
		{ "unlink", (sqlite3_syscall_ptr)do_unlink }, { "fchown", (sqlite3_syscall_ptr)do_fchown },
		{ "write", (sqlite3_syscall_ptr)do_write }, { "pwrite", (sqlite3_syscall_ptr)do_pwrite },
		{ "pwrite64", (sqlite3_syscall_ptr)do_pwrite }, { "ftruncate", (sqlite3_syscall_ptr)do_ftruncate },
	};
	static bool taken;
	int rc = sqlite3_initialize(); /* sqlite3_vfs_find() does not say why it failed */
	sqlite3_vfs *vfs = rc ? NULL : sqlite3_vfs_find("unix");

	for (size_t i = 0; !taken && i < sizeof(calls) / sizeof(*calls); i++)
		if (!vfs || vfs->iVersion < 3 ||
		    vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call) != SQLITE_OK)
			return rc ?: SQLITE_MISUSE;
	taken = true;
	return SQLITE_OK;
}

/* ---- errors ---- */

static int fail_refused(const struct opener *o)
{
	const char *why = o->refused == -PLACE_FOREIGN ? "belongs to somebody else" :
			  o->refused == -PLACE_WRITABLE ? "can be written by others" :
			  o->refused == -PLACE_NAMES ? "has other names (hard links)" :
			  o->refused == -PLACE_LINK ? "is no regular file" : NULL;

	if (!why)
		return fail_as(-EPERM, 0, "%s%s: %s", o->path, o->culprit, place_error(o->refused, o->to_write));
	return fail_as(-EPERM, 0, "%s%s %s: no program of yours left that next to the store: remove it, and keep stores in a folder that only you can write",
			   o->path, o->culprit, why);
}

static int fail_journal(const struct opener *o)
{
	return fail_as(-EUCLEAN, 0, "%s-journal: another program was stopped while it changed the store, or somebody put this there: move it away, "
			   "or have `sqlite3 %s .schema` play it back if you know where it is from", o->path, o->path);
}

static int fail_interrupt(const struct opener *o)
{
	if (o->late)
		return fail_as(-ETIME, 0, "%s: no answer after %llu s: it was given up (IOT_LIMIT_S is another limit)",
			       o->path, (unsigned long long)limit_s);
	return fail_as(-EINTR, 0, "%s: interrupted", o->path);
}

/* Returns the errno behind an SQLite code; 0: unknown. */
static int system_error(const struct opener *o, int rc)
{
	if (rc == SQLITE_IOERR_WRITE || rc == SQLITE_IOERR_TRUNCATE || rc == SQLITE_IOERR_SHMSIZE)
		return write_error;
	return o->db ? sqlite3_system_errno(o->db) : 0;
}

bool opener_is_full(const struct opener *o, int rc)
{
	int sys = system_error(o, rc);

	rc &= 0xff;
	return rc == SQLITE_FULL || (rc == SQLITE_IOERR && (sys == ENOSPC || sys == EDQUOT));
}

int opener_fail(struct opener *o, int rc, const char *what)
{
	int sys = system_error(o, rc), full = rc;
	const char *name = o->path;

	rc &= 0xff;
	if (o->refused)
		return fail_refused(o);
	if (rc == SQLITE_INTERRUPT)
		return fail_interrupt(o);
	if (full == SQLITE_READONLY_ROLLBACK)
		return fail_journal(o);
	if (rc == SQLITE_IOERR && sys == EFBIG)
		return fail_as(-EFBIG, EFBIG, "%s: %s", name, what);
	if (opener_is_full(o, full))
		return fail_as(-ENOSPC, 0, "%s: %s: no space left on the device (what was committed before is kept)",
			       name, what);
	if (rc == SQLITE_NOTADB)
		return fail_as(-EINVAL, 0, "%s is not a store of iot: it is not a SQLite file", name);
	if (rc == SQLITE_CORRUPT)
		return fail_as(-EUCLEAN, 0, "%s is damaged: %s", name, sqlite3_errmsg(o->db));
	if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
		return fail_as(-EBUSY, 0, "%s: %s: another program is writing to it", name, what);
	if (rc == SQLITE_READONLY || rc == SQLITE_PERM)
		return fail_as(-EACCES, 0, "%s: %s: %s", name, what, sqlite3_errmsg(o->db));
	if (rc == SQLITE_NOMEM)
		return fail_as(-ENOMEM, 0, "%s: %s: no memory", name, what);
	if (rc == SQLITE_TOOBIG)
		return fail_as(-EUCLEAN, 0, "%s: %s: a value in it is longer than %d MiB: no tracer wrote that",
			       name, what, TEXT_MAX >> 20);
	if (rc == SQLITE_ERROR && o->db && !strcmp(sqlite3_errmsg(o->db), "integer overflow"))
		return fail_as(-EOVERFLOW, 0, "%s: %s: numbers in it add up to more than 64 bits: no tracer wrote that",
			       name, what);
	return fail_as(-EIO, 0, "%s: %s: %s%s%s", name, what,
		       o->db ? sqlite3_errmsg(o->db) : sqlite3_errstr(rc), sys ? ": " : "",
			   sys ? strerror(sys) : "");
}

/* ---- interruptions and time limits ---- */

void store_interrupt(void)
{
	stream_interrupted = 1;
	for (struct opener *o = openers; o; o = o->next)
		if (o->db)
			sqlite3_interrupt(o->db);
}

bool store_interrupted(void)
{
	return stream_interrupted;
}

static int look(void *arg)
{
	struct opener *o = arg;

	o->late = o->until && clock_seconds() >= o->until;
	return stream_interrupted || o->late;
}

/* Waits while another program has the lock. */
static int wait_busy(void *arg, int tries)
{
	struct timespec step = { 0, BUSY_STEP_MS * 1000000 };

	if (stream_interrupted || tries >= BUSY_MS / BUSY_STEP_MS ||
	    (out_patience && !out_patience(tries * BUSY_STEP_MS * 1000000ULL)))
		return 0;
	nanosleep(&step, NULL);
	return 1;
}

/* ---- open ---- */

/* Makes SQLite run none of the code that a stranger may have put into a store. */
static int tame(struct opener *o)
{
	static const struct { int option, on; } options[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 }, { SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 }, /* but temporary ones */
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 }, { SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < sizeof(options) / sizeof(*options); i++)
		rc = sqlite3_db_config(o->db, options[i].option, options[i].on, NULL);
	sqlite3_limit(o->db, SQLITE_LIMIT_LENGTH, TEXT_MAX);
	sqlite3_limit(o->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_busy_handler(o->db, wait_busy, NULL);
	sqlite3_progress_handler(o->db, STEPS_BETWEEN_LOOKS, look, o);
	sqlite3_extended_result_codes(o->db, 1);
	return rc ?: sqlite3_exec(o->db, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL, NULL, NULL);
}

/* Writes a name for a URI of SQLite, with special characters escaped. */
static void put_name(FILE *f, const char *name)
{
	for (; *name; name++)
		fprintf(f, strchr("%?#", *name) ? "%%%02x" : "%c", (unsigned char)*name);
}

static int connect_as(struct opener *o, int flags, bool immutable)
{
	auto_free char *name = NULL;
	size_t size;
	FILE *f = memory_open(&name, &size);
	int rc;

	if (!f)
		return SQLITE_NOMEM;
	fprintf(f, "%s" PREFIX "%d/", immutable ? "file:" : "", o->number);
	immutable ? put_name(f, o->at.name) : (void)fputs(o->at.name, f);
	fputs(immutable ? "?immutable=1" : "", f);
	if (fclose(f))
		return SQLITE_NOMEM;
	rc = sqlite3_open_v2(name, &o->db, flags | (immutable ? SQLITE_OPEN_URI : 0) | SQLITE_OPEN_NOMUTEX,
			     "unix");
	if (rc == SQLITE_OK)
		rc = tame(o);
	return rc == SQLITE_OK ? sqlite3_exec(o->db, "PRAGMA schema_version", NULL, NULL, NULL) : rc;
}

/* Returns the name of a companion, valid until the next call. */
static const char *companion_name(const struct opener *o, const char *companion)
{
	static char name[NAME_MAX + sizeof("-journal")];

	snprintf(name, sizeof(name), "%s%s", o->at.name, companion);
	return name;
}

static bool has(const struct opener *o, const char *companion)
{
	return place_has(&o->at, companion_name(o, companion));
}

/* A store in WAL mode needs the index of its log even to be read. Where the index cannot be created
 * nobody can write either: without a log, the store is opened as immutable. */
static int connect_reader(struct opener *o)
{
	int rc = connect_as(o, SQLITE_OPEN_READONLY, false);

	if (((rc & 0xff) != SQLITE_CANTOPEN && (rc & 0xff) != SQLITE_READONLY) || o->refused ||
	    has(o, "-wal") || has(o, "-journal"))
		return rc;
	sqlite3_close(o->db);
	o->db = NULL;
	return connect_as(o, SQLITE_OPEN_READONLY, true);
}

/* Judges the companions that exist before SQLite opens anything. */
static int check_companions(struct opener *o)
{
	for (size_t i = 0; i < sizeof(companions) / sizeof(*companions); i++) {
		struct stat st;

		if (fstatat(o->at.dir, companion_name(o, companions[i]), &st, AT_SYMLINK_NOFOLLOW))
			continue;
		o->culprit = companions[i];
		o->refused = S_ISREG(st.st_mode) ? place_judge(&o->at, -1, &st) : -PLACE_LINK;
		if (o->refused)
			return fail_refused(o);
	}
	/* we leave none: a stranger made it, or another program was killed; SQLite would apply it */
	return o->to_write && has(o, "-journal") ? fail_journal(o) : 0;
}

static int open_main(struct opener *o)
{
	int err = place_find(&o->at, o->path);

	o->made = !err && o->to_write && !place_has(&o->at, o->at.name);
	if (!err)
		o->fd = o->to_write ? place_open(&o->at, o->at.name, O_RDWR | O_CREAT) :
				      place_look(&o->at, o->at.name, &o->main);
	err = err ? err : o->fd < 0 ? o->fd : fstat(o->fd, &o->main) ? -errno : 0;
	if (err)
		return o->to_write ? output_fail(o->path, err) : input_fail(o->path, err);
	if (!S_ISREG(o->main.st_mode))
		return fail_as(-EINVAL, 0, "%s is not a regular file: not a store of iot", o->path);
	if (!o->to_write && !o->main.st_size && !has(o, "-wal"))
		return fail_as(-EINVAL, 0, "%s is empty: not a store of iot", o->path);
	if (o->to_write && flock(o->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		o->made = false;
		return fail_as(-EBUSY, 0, "%s: another iot is writing to this store", o->path);
	}
	return 0;
}

/* Opens the connection of an opener whose file is open. */
static int connect(struct opener *o, bool *fresh)
{
	int rc;

	openers = o;
	rc = take_calls() ?: o->to_write ? connect_as(o, SQLITE_OPEN_READWRITE, false) : connect_reader(o);
	return rc == SQLITE_OK ? identity_check(o, fresh) : opener_fail(o, rc, "cannot be opened");
}

static void begin(struct opener *o, const char *path, bool to_write)
{
	static int number;

	*o = (struct opener){ .next = openers, .path = path, .at = { .dir = -1 }, .fd = -1,
			      .number = ++number, .to_write = to_write };
}

static int open_as(struct opener *o, const char *path, bool to_write, bool to_replace, bool *fresh)
{
	const char *limit = secure_getenv("IOT_LIMIT_S");

	begin(o, path, to_write);
	o->to_replace = to_replace;
	if (limit && (parse_number(limit, &limit_s) || !limit_s || limit_s > INT_MAX))
		return fail_as(-EINVAL, 0, "IOT_LIMIT_S: '%s' is not a number of seconds", limit);
	o->until = to_write ? 0 : clock_seconds() + limit_s;
	if (to_replace && access(path, F_OK))
		return fail_as(-errno, 0, "cannot open %s: %s", path, strerror(errno));
	return open_main(o) ?: check_companions(o) ?: connect(o, fresh);
}

int opener_make_nameless(struct opener *o, const struct place *at, const char *path)
{
	char self[OPENER_SELF];
	bool fresh = false;

	begin(o, path, true);
	o->nameless = true;
	o->fd = openat(at->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (o->fd < 0 || access(opener_self(o, self), F_OK)) /* it is opened again, and linked, in /proc */
		return -EOPNOTSUPP;
	o->at = *at;
	o->at.dir = fcntl(at->dir, F_DUPFD_CLOEXEC, 0);
	if (o->at.dir < 0 || fstat(o->fd, &o->main) || flock(o->fd, LOCK_EX | LOCK_NB))
		return fail_as(-errno, errno, "cannot write next to %s", path);
	return connect(o, &fresh);
}

int opener_open(struct opener *o, const char *path, bool to_write, bool *fresh)
{
	return open_as(o, path, to_write, false, fresh);
}

int opener_open_to_replace(struct opener *o, const char *path)
{
	bool fresh = false;
	int err = open_as(o, path, true, true, &fresh);

	if (!err && fresh)
		return fail_as(-EINVAL, 0, "%s is not a store of iot: nothing is in it", path);
	return err;
}

bool opener_has_companions(const struct opener *o)
{
	return has(o, "-wal") || has(o, "-journal");
}

/* Removes a store that was made, and its companions, while no other iot can write to it. Files of
 * strangers stay: a companion, or a file that has replaced the store. */
static void unmake(const struct opener *o)
{
	struct stat st;

	if (fstatat(o->at.dir, o->at.name, &st, AT_SYMLINK_NOFOLLOW) ||
	    st.st_dev != o->main.st_dev || st.st_ino != o->main.st_ino)
		return;
	unlinkat(o->at.dir, o->at.name, 0);
	for (size_t i = 0; i < sizeof(companions) / sizeof(*companions); i++) {
		const char *name = companion_name(o, companions[i]);

		if (!fstatat(o->at.dir, name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode) && !place_judge(&o->at, -1, &st))
			unlinkat(o->at.dir, name, 0);
	}
}

void opener_close(struct opener *o)
{
	struct opener **p;

	sqlite3_close(o->db);
	o->db = NULL;
	if (o->unmakes && o->made)
		unmake(o);
	for (p = &openers; *p && *p != o; p = &(*p)->next)
		;
	if (*p)
		*p = o->next;
	if (o->keeps && o->index >= 0)
		close(o->index);
	if (o->keeps && o->log >= 0)
		close(o->log);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	o->keeps = false;
	place_leave(&o->at);
}
