/* SPDX-License-Identifier: GPL-3.0-only */
/* opener.c - opens stores, and says what is wrong with them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include "memory.h"
#include "number.h"
#include "older.h"
#include "opener.h"
#include "out.h"
#include "schema.h"

#define BUSY_MS 10000
#define BUSY_STEP_MS 20
#define TEXT_MAX (32 << 20)      /* bytes of one value: a line of a stream has at most 8 MiB */
#define STEPS_BETWEEN_LOOKS 20000

static u64 limit_s = 3600;       /* an answer that takes longer is none; IOT_LIMIT_S is another limit */
static struct opener *openers;
static volatile sig_atomic_t interrupted;

/* ---- the files that SQLite may open ---- */

/* "/iot-store:NUMBER/NAME": nothing that the kernel has. */
#define PREFIX "/iot-store:"

/* Which store, and what of it; *name "" : its folder. */
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

/* What the name is of the store: "" itself, one of `companions`, NULL something else. */
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
	errno = EACCES;
	return -1;
}

/* The store itself must be the one that was judged; a companion is judged now. */
static int check(struct opener *o, const char *what, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!*what)
		return st.st_dev == o->main.st_dev && st.st_ino == o->main.st_ino ? 0 : -PLACE_EXCHANGED;
	return S_ISREG(st.st_mode) ? place_judge(&o->at, fd, &st) : -PLACE_LINK;
}

static int open_part(struct opener *o, const char *name, int flags, int mode)
{
	const char *what = part(o, name);
	int fd, err;

	if (!*name)
		return openat(o->at.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!what)
		return errno = EACCES, -1;
	/* not blocking: a FIFO is only looked at */
	fd = openat(o->at.dir, name, (flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
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
	static int why = EACCES; /* a temporary file could not be made: SQLite then tries to read it, and says why not */
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

	return o ? fstatat(o->at.dir, name, st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) : stat(path, st);
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

	return o ? faccessat(o->at.dir, *name ? name : ".", mode, AT_EACCESS) : access(path, mode);
}

/* A journal may name any file to be removed with it. */
static int do_unlink(const char *path)
{
	const char *name, *base = strrchr(path, '/');
	struct opener *o = find(path, &name);

	if (o && o->to_write && part(o, name) && *part(o, name))
		return unlinkat(o->at.dir, name, 0);
	if (!o && base && !strncmp(base, "/etilqs_", 8)) /* SQLite's temporary files */
		return unlink(path);
	return errno = EACCES, -1;
}

/* As root SQLite gives a companion that it makes to the store's owner, whom it asks the name for: that may be another's by now. */
static int do_fchown(int fd, uid_t uid, gid_t gid)
{
	for (const struct opener *o = openers; o; o = o->next)
		if (o->main.st_uid == uid)
			return fchown(fd, uid, gid);
	return errno = EACCES, -1;
}

static int take_calls(void)
{
	static const struct { const char *name; sqlite3_syscall_ptr call; } calls[] = {
		{ "open", (sqlite3_syscall_ptr)do_open }, { "stat", (sqlite3_syscall_ptr)do_stat }, { "lstat", (sqlite3_syscall_ptr)do_lstat },
		{ "access", (sqlite3_syscall_ptr)do_access }, { "unlink", (sqlite3_syscall_ptr)do_unlink }, { "fchown", (sqlite3_syscall_ptr)do_fchown },
	};
	static bool taken;
	int rc = sqlite3_initialize(); /* sqlite3_vfs_find() says nothing of why it failed */
	sqlite3_vfs *vfs = rc ? NULL : sqlite3_vfs_find("unix");
	size_t i;

	for (i = 0; !taken && i < sizeof(calls) / sizeof(*calls); i++)
		if (!vfs || vfs->iVersion < 3 || vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call) != SQLITE_OK)
			return rc ?: SQLITE_MISUSE;
	taken = true;
	return SQLITE_OK;
}

/* ---- errors ---- */

static int fail_refused(const struct opener *o)
{
	const char *why = o->refused == -PLACE_FOREIGN ? "belongs to somebody else" : o->refused == -PLACE_WRITABLE ? "can be written by others" :
			  o->refused == -PLACE_NAMES ? "has other names (hard links)" : o->refused == -PLACE_LINK ? "is no regular file" : NULL;

	if (!why)
		return fail_as(-EPERM, 0, "%s%s: %s", o->path, o->culprit, place_error(o->refused, o->to_write));
	return fail_as(-EPERM, 0, "%s%s %s: no program of yours left that beside the store: remove it, and keep stores in a folder that only you can write",
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
		return fail_as(-ETIME, 0, "%s: no answer after %llu s: it was given up (IOT_LIMIT_S is another limit)", o->path, (unsigned long long)limit_s);
	return fail_as(-EINTR, 0, "%s: interrupted", o->path);
}

int opener_fail(struct opener *o, int rc, const char *what)
{
	int sys = o->db ? sqlite3_system_errno(o->db) : 0, full = rc;
	const char *name = o->path;

	rc &= 0xff;
	if (o->refused)
		return fail_refused(o);
	if (rc == SQLITE_INTERRUPT)
		return fail_interrupt(o);
	if (full == SQLITE_READONLY_ROLLBACK)
		return fail_journal(o);
	if (rc == SQLITE_FULL || (rc == SQLITE_IOERR && (sys == ENOSPC || sys == EDQUOT)))
		return fail_as(-ENOSPC, 0, "%s: %s: no space left on the device (what was committed before is kept)", name, what);
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
		return fail_as(-EUCLEAN, 0, "%s: %s: a value in it is longer than %d MiB: no tracer wrote that", name, what, TEXT_MAX >> 20);
	if (rc == SQLITE_ERROR && o->db && !strcmp(sqlite3_errmsg(o->db), "integer overflow"))
		return fail_as(-EOVERFLOW, 0, "%s: %s: numbers in it add up to more than 64 bits: no tracer wrote that", name, what);
	return fail_as(-EIO, 0, "%s: %s: %s%s%s", name, what, o->db ? sqlite3_errmsg(o->db) : sqlite3_errstr(rc), sys ? ": " : "",
			   sys ? strerror(sys) : "");
}

/* ---- ends of waiting ---- */

void store_interrupt(void)
{
	struct opener *o;

	interrupted = 1;
	for (o = openers; o; o = o->next)
		if (o->db)
			sqlite3_interrupt(o->db);
}

bool store_interrupted(void)
{
	return interrupted;
}

static time_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec;
}

static int look(void *arg)
{
	struct opener *o = arg;

	o->late = o->until && now_s() >= o->until;
	return interrupted || o->late;
}

/* Another program has the lock. */
static int wait_busy(void *arg, int tries)
{
	struct timespec step = { 0, BUSY_STEP_MS * 1000000 };

	if (interrupted || tries >= BUSY_MS / BUSY_STEP_MS || (out_patience && !out_patience(tries * BUSY_STEP_MS * 1000000ULL)))
		return 0;
	nanosleep(&step, NULL);
	return 1;
}

/* ---- what it is ---- */

/* The first column of the first row. Returns an SQLite code; SQLITE_OK when there is a row. */
static int query_number(sqlite3 *db, const char *sql, s64 *out)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*out = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
}

/* Tables that every report reads. quick_check of everything would read every event. */
static int check_pages(struct opener *o)
{
	static const char *const tables[] = { "run", "run_end", "process", "agg_total", "kind" };

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		sqlite3_stmt *st = NULL;
		char sql[64];
		int rc, err = 0;

		snprintf(sql, sizeof(sql), "PRAGMA quick_check('%s')", tables[i]);
		rc = sqlite3_prepare_v2(o->db, sql, -1, &st, NULL);
		if (rc == SQLITE_OK)
			rc = sqlite3_step(st);
		if (rc != SQLITE_ROW)
			err = opener_fail(o, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc, "cannot be checked");
		else if (strcmp((const char *)sqlite3_column_text(st, 0), "ok"))
			err = fail_as(-EUCLEAN, 0, "%s is damaged: table %s: %s", o->path, tables[i], sqlite3_column_text(st, 0));
		sqlite3_finalize(st);
		if (err)
			return err;
	}
	return 0;
}

/* *fresh: there is nothing in it yet. */
static int check_identity(struct opener *o, bool *fresh)
{
	s64 id = 0, version = 0, objects = 0, is_other = 0;
	int rc = query_number(o->db, "PRAGMA application_id", &id);

	if (rc == SQLITE_OK)
		rc = query_number(o->db, "PRAGMA user_version", &version);
	if (rc == SQLITE_OK)
		rc = query_number(o->db, "SELECT count(*) FROM sqlite_schema", &objects);
	if (rc == SQLITE_OK)
		rc = query_number(o->db, "SELECT encoding <> 'UTF-8' FROM pragma_encoding", &is_other);
	if (rc != SQLITE_OK)
		return opener_fail(o, rc, "cannot be read");
	if (is_other) /* SQLite 3.40 mixes it up with that of its temporary schema */
		return fail_as(-EINVAL, 0, "%s is not a store of iot: its text is in UTF-16", o->path);
	*fresh = !id && !version && !objects;
	if (*fresh)
		return o->to_write ? 0 : fail_as(-EINVAL, 0, "%s is not a store of iot: nothing is in it", o->path);
	if (id != IOT_APPLICATION_ID)
		return fail_as(-EINVAL, 0, "%s is not a store of iot: another program made this SQLite file", o->path);
	if (version > IOT_SCHEMA)
		return fail_as(-ENOTSUP, 0, "%s was written by a newer version of iot (format %lld, this is %u): %s", o->path, (long long)version,
				   IOT_SCHEMA, o->to_write && !o->to_replace ? "give a new file" : "update iot-analyze");
	if (version < OLDER_SCHEMA || (o->to_write && !o->to_replace && version < IOT_SCHEMA))
		return fail_as(-ENOTSUP, 0, "%s was written by an older version of iot (format %lld, this is %u): %s", o->path, (long long)version,
				   IOT_SCHEMA, version < OLDER_SCHEMA ? "read it with that version, or record it again" :
				   "`iot-analyze migrate` brings it to this one, or give a new file");
	o->version = version;
	return check_pages(o);
}

/* What is not there is not recorded. */
static int fill_older(struct opener *o)
{
	char which[128] = "";
	int rc = o->version == IOT_SCHEMA ? schema_check_objects(o->db, which, sizeof(which)) : SQLITE_MISMATCH;

	if (rc == SQLITE_MISMATCH)
		rc = older_fill(o->db, o->version, which, sizeof(which));
	if (rc == SQLITE_OK)
		rc = schema_check_words(o->db, which, sizeof(which));
	if (rc == SQLITE_MISMATCH)
		return fail_as(-EUCLEAN, 0, "%s is not as a version of iot made it: %s", o->path, which);
	return rc == SQLITE_OK ? 0 : opener_fail(o, rc, "cannot be read");
}

/* What a reader asks of the schema: views of the store are not used at all, tables with code behind them are none of ours. */
static int check_tables(struct opener *o)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(o->db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND NOT rootpage", -1, &st, NULL), err = 0;

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		err = fail_as(-EINVAL, 0, "%s is not as iot made it: '%s' is a virtual table", o->path, sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	if (!err && rc != SQLITE_DONE)
		err = opener_fail(o, rc, "cannot be read");
	return err ?: fill_older(o);
}

/* Nothing is written before every table, index, view and trigger is known to be ours, and numbers mean what they mean here. */
static int check_schema(struct opener *o)
{
	char which[128] = "";
	int rc = schema_check_objects(o->db, which, sizeof(which)) ?: schema_check_words(o->db, which, sizeof(which));

	if (rc == SQLITE_MISMATCH)
		return fail_as(-ENOTSUP, 0, "%s was written by another version of iot, or changed: %s differs; `iot-analyze migrate` brings it to this "
				   "one, or use a new store", o->path, which);
	return rc == SQLITE_OK ? 0 : opener_fail(o, rc, "cannot be read");
}

/* ---- open ---- */

/* What a store holds may be chosen by a stranger: none of its code runs. */
static int tame(struct opener *o)
{
	static const struct { int option, on; } options[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 }, { SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 }, { SQLITE_DBCONFIG_ENABLE_VIEW, 0 }, /* but temporary ones */
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

/* The name as SQLite wants it in a URI: what is special there is escaped. */
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
	s64 unused;
	int rc;

	if (!f)
		return SQLITE_NOMEM;
	fprintf(f, "%s" PREFIX "%d/", immutable ? "file:" : "", o->number);
	immutable ? put_name(f, o->at.name) : (void)fputs(o->at.name, f);
	fputs(immutable ? "?immutable=1" : "", f);
	if (fclose(f))
		return SQLITE_NOMEM;
	rc = sqlite3_open_v2(name, &o->db, flags | (immutable ? SQLITE_OPEN_URI : 0) | SQLITE_OPEN_NOMUTEX, "unix");
	if (rc == SQLITE_OK)
		rc = tame(o);
	return rc == SQLITE_OK ? query_number(o->db, "PRAGMA schema_version", &unused) : rc;
}

/* The name of a companion, until the next is asked for. */
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

/* A store in WAL mode needs the index of its log even to be read. Where that cannot be made nobody writes either, if there is no log. */
static int connect_reader(struct opener *o)
{
	int rc = connect_as(o, SQLITE_OPEN_READONLY, false);

	if (((rc & 0xff) != SQLITE_CANTOPEN && (rc & 0xff) != SQLITE_READONLY) || o->refused || has(o, "-wal") || has(o, "-journal"))
		return rc;
	sqlite3_close(o->db);
	o->db = NULL;
	return connect_as(o, SQLITE_OPEN_READONLY, true);
}

/* Companions that are there already are judged before anything is asked of SQLite. */
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
	/* we leave none: it is a stranger's, or another program's that was stopped; and what one says is done at once */
	return o->to_write && has(o, "-journal") ? fail_journal(o) : 0;
}

static int open_main(struct opener *o)
{
	int err = place_find(&o->at, o->path);

	o->made = !err && o->to_write && !place_has(&o->at, o->at.name);
	if (!err)
		o->fd = o->to_write ? place_open(&o->at, o->at.name, O_RDWR | O_CREAT) : place_look(&o->at, o->at.name, &o->main);
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

static int open_as(struct opener *o, const char *path, bool to_write, bool to_replace, bool *fresh)
{
	static int number;
	const char *limit = secure_getenv("IOT_LIMIT_S");
	int err, rc;

	*o = (struct opener){ .next = openers, .path = path, .at = { .dir = -1 }, .fd = -1, .number = ++number, .to_write = to_write,
			      .to_replace = to_replace };
	if (limit && (parse_number(limit, &limit_s) || !limit_s || limit_s > INT_MAX))
		return fail_as(-EINVAL, 0, "IOT_LIMIT_S: '%s' is not a number of seconds", limit);
	o->until = to_write ? 0 : now_s() + limit_s;
	if (to_replace && access(path, F_OK))
		return fail_as(-errno, 0, "cannot open %s: %s", path, strerror(errno));
	err = open_main(o) ?: check_companions(o);
	if (err)
		return err;
	openers = o;
	rc = take_calls();
	if (rc == SQLITE_OK)
		rc = to_write ? connect_as(o, SQLITE_OPEN_READWRITE, false) : connect_reader(o);
	err = rc == SQLITE_OK ? check_identity(o, fresh) : opener_fail(o, rc, "cannot be opened");
	if (!err && !*fresh)
		err = to_write && !to_replace ? check_schema(o) : check_tables(o);
	return err;
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

/* While no other iot can write to it. What is a stranger's stays: a companion, or what the store was exchanged for. */
static void unmake(const struct opener *o)
{
	struct stat st;

	if (fstatat(o->at.dir, o->at.name, &st, AT_SYMLINK_NOFOLLOW) || st.st_dev != o->main.st_dev || st.st_ino != o->main.st_ino)
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
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	place_leave(&o->at);
}
