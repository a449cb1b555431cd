/* SPDX-License-Identifier: GPL-3.0-only */
/* journal.c - changes the journal mode of a store, and names the program that prevents it.
 *
 * SQLite changes to WAL and back only while no other connection has a lock on the file. A run is
 * written in WAL mode, in which readers do not block the writer. The finished store is left in a
 * rollback mode, because a store in WAL mode cannot be read where the reader may not create files
 * in its folder.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include "file.h"
#include "journal.h"
#include "table.h"

/* The mode is in the header of the store: one page, of which the first sector changes. A journal of
 * it in memory is as safe as one on disk, which after a kill could not be told from a
 * stranger's. */
#define TO_WAL "PRAGMA journal_mode = MEMORY; PRAGMA journal_mode = WAL"
#define TO_ONE_FILE "PRAGMA main.journal_mode = MEMORY"

#define JOIN_MS 100     /* time to wait for a reader to finish */

/* ---- other programs that have the store open ---- */

/* Bytes of a database file that connections lock (https://sqlite.org/lockingv3.html): readers lock
 * all of SHARED; in WAL mode all connections do. */
#define SHARED_FIRST 0x40000002
#define SHARED_BYTES 510

/* Returns "sqlite3 (process 4711)", or less if less is known. Locks of this process do not
 * count. */
static const char *holder_name(const struct opener *o, char *buf, size_t size)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SHARED_FIRST,
			      .l_len = SHARED_BYTES };
	char path[64], comm[64];

	if (fcntl(o->fd, F_GETLK, &lock) || lock.l_type == F_UNLCK || lock.l_pid <= 0)
		return "another program";
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)lock.l_pid);
	if (read_line(path, comm, sizeof(comm)) > 0)
		snprintf(buf, size, "%s (process %d)", comm, (int)lock.l_pid);
	else
		snprintf(buf, size, "process %d", (int)lock.l_pid);
	return buf;
}

static bool is_busy(int rc)
{
	return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED;
}

/* ---- to the log ---- */

static int read_mode(sqlite3 *db, bool *wal)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, "PRAGMA main.journal_mode", -1, &st, NULL);

	if (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW)
		*wal = !strcmp((const char *)sqlite3_column_text(st, 0), "wal");
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

int journal_begin(struct opener *o)
{
	char name[128];
	bool wal = false;
	int rc = read_mode(o->db, &wal);

	if (rc == SQLITE_OK && !wal)
		rc = sqlite3_exec(o->db, TO_WAL, NULL, NULL, NULL);
	if (is_busy(rc))
		return fail_as(-EBUSY, 0,
			       "%s: %s is reading it, and nothing can be written before it has done so: "
			       "end that, or give a new file", o->path, holder_name(o, name, sizeof(name)));
	return rc == SQLITE_OK ? 0 : opener_fail(o, rc, "cannot be set up");
}

/* ---- to one file ---- */

/* The first bytes of the index, stored twice: `frames` (mxFrame) is the number of frames up to the
 * last that was committed (https://sqlite.org/walformat.html). */
struct index_head {
	u32 version, unused, change;
	u8 is_made, big_endian;
	u16 page_size;          /* 1: 65536 */
	u32 frames;
	u32 rest[7];
};
_Static_assert(sizeof(struct index_head) == 48, "the head of a WAL index has 48 bytes");

#define LOG_HEAD 32
#define FRAME_HEAD 24

static int open_beside(const struct opener *o, const char *suffix, int flags)
{
	auto_free char *name = NULL;

	if (asprintf(&name, "%s%s", o->at.name, suffix) < 0)
		return -1;
	return openat(o->at.dir, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

void journal_keep(struct opener *o)
{
	if (o->keeps)
		return;
	o->keeps = true;
	o->index = open_beside(o, "-shm", O_RDONLY);
	o->log = open_beside(o, "-wal", O_RDWR);
}

/* Truncates the log behind its last committed frame: the store itself may need the room that an
 * aborted transaction left. Nobody adds to the log while the lock for writing is held. */
static void cut_log(struct opener *o)
{
	struct index_head head[2];
	struct stat st;
	off_t size;

	journal_keep(o);
	if (o->index < 0 || o->log < 0)
		return;
	/* BEGIN IMMEDIATE would also lock the attached database of batch.c, which is read-only */
	if (sqlite3_exec(o->db, "BEGIN; DELETE FROM main.run WHERE 0", NULL, NULL, NULL) == SQLITE_OK &&
	    pread(o->index, head, sizeof(head), 0) == sizeof(head) &&
	    !memcmp(&head[0], &head[1], sizeof(*head)) &&
	    head->is_made) {
		size = head->page_size == 1 ? 65536 : head->page_size;
		size = LOG_HEAD + (off_t)head->frames * (FRAME_HEAD + size);
		if (!fstat(o->log, &st) && st.st_size > size)
			(void)!ftruncate(o->log, size);
	}
	sqlite3_exec(o->db, "ROLLBACK", NULL, NULL, NULL);
}

static int join(struct opener *o)
{
	int rc;

	sqlite3_busy_timeout(o->db, JOIN_MS);
	rc = sqlite3_exec(o->db, TO_ONE_FILE, NULL, NULL, NULL);
	if (rc == SQLITE_OK || is_busy(rc))
		return rc;
	cut_log(o);
	return sqlite3_exec(o->db, TO_ONE_FILE, NULL, NULL, NULL);
}

int journal_join(struct opener *o)
{
	char name[128];
	int rc = join(o);

	if (rc == SQLITE_OK)
		return 0;
	if (is_busy(rc))
		return fail_as(0, 0,
			       "%s: %s has it open, so the last of it stays in %s-wal, which belongs to it: "
			       "when that has ended, `iot-analyze migrate %s` or the next run makes one file of them",
			       o->path, holder_name(o, name, sizeof(name)), o->path, o->path);
	if (opener_is_full(o, rc))
		return fail_as(-ENOSPC, 0,
			       "%s: no space left on the device to put %s-wal into it: both together are "
			       "the store; make room, then `iot-analyze migrate %s` makes one file of them",
			       o->path, o->path, o->path);
	return opener_fail(o, rc,
			   "it and its -wal, which together are the store, cannot be made one file");
}

int journal_join_to_replace(struct opener *o)
{
	int rc = sqlite3_exec(o->db, TO_ONE_FILE, NULL, NULL, NULL);
	char name[128];

	if (is_busy(rc))
		return fail_as(-EBUSY, 0, "%s: %s has it open: nothing was changed; end that first",
			       o->path, holder_name(o, name, sizeof(name)));
	return rc == SQLITE_OK ? 0 : opener_fail(o, rc, "cannot be made one file");
}
