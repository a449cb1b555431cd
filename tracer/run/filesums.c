// SPDX-License-Identifier: GPL-3.0-only
/* filesums.c - sums by file of one second: those since the start minus those of a second ago.
 *
 * The kernel side has a slot for each file, owner and thread name. A slot that was quiet for some
 * seconds is given back, so that the table holds what is in use. This file has one entry per slot,
 * and nothing that grows with the files of a run but two bits for each. A slot that is given back
 * keeps its sums: the next user begins where the last one ended.
 *
 * The component of an operation is that of its thread (detect.h). Writeback has no thread: its
 * component is the one that the file was written as, where that is unique, else `shared`; fileio.c
 * divides that by ranges where there are events.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "filesums.h"
#include "hash.h"
#include "names.h"
#include "open_files.h"
#include "tracer.h"

#define QUIET 3 /* seconds without a change after which a slot is removed from the index, ... */
#define QUIET_FULL 1           /* ... where more than half of them are in use */
#define HIDDEN 2 /* seconds more until it is given back: no program adds to it any more */
/* a process whose thread names tell nothing for so long counts as one where they never do */
#define TOLD_AFTER_NS (5 * NSEC)
/* pairs of file and owner whose written component is remembered; a power of two */
#define WROTE 65536

enum { SLOT_NONE, SLOT_LIVE, SLOT_HIDDEN };

struct slot {
	u8 state, quiet;
	u32 gen;
	struct iot_filesum last;
};

/* A slot that changed, and its additions. */
struct change {
	u32 slot;
	struct iot_filesum_key key;
	struct iot_filesum by;
};

/* Component that an owner wrote to a file through the page cache. The last pair of each position is
 * kept; for others it is not known. */
struct wrote {
	u32 file, owner;
	u8 component;              /* + 1; 0: unused */
};

/* Knowledge about an owner. */
struct owner {
	u64 since_ns;              /* time of its first sum; 0: none */
	bool nameless;             /* the kernel side keeps its sums without thread names */
};

struct filesums {
	struct detect *detect;
	struct slot *slots;
	struct change *changes;
	size_t n_changes;
	struct wrote *wrote;
	struct owner *owners;
	u8 *files;                 /* two bits for each file: it has sums, it has a name */
	size_t files_room;
	bool measured, began;
	filesums_give *give;
	void *arg;
	int err;
};

int filesums_new(struct filesums **out, struct detect *d)
{
	struct filesums *f = calloc(1, sizeof(*f));

	*out = f;
	if (!f)
		return fail(ENOMEM, "sums by file");
	f->detect = d;
	f->slots = calloc(IOT_MAX_FILESUMS, sizeof(*f->slots));
	f->changes = calloc(IOT_MAX_FILESUMS, sizeof(*f->changes));
	f->wrote = calloc(WROTE, sizeof(*f->wrote));
	f->owners = calloc(IOT_MAX_GROUPED, sizeof(*f->owners));
	return f->slots && f->changes && f->wrote && f->owners ? 0 : fail(ENOMEM, "sums by file");
}

void filesums_free(struct filesums *f)
{
	if (!f)
		return;
	free(f->slots);
	free(f->changes);
	free(f->wrote);
	free(f->owners);
	free(f->files);
	free(f);
}

/* --- names --- */

enum { FILE_SUMMED = 1, FILE_NAMED = 2 };

static void mark_file(struct filesums *f, u32 file, u8 bit)
{
	size_t at = file / 4, room = f->files_room ? f->files_room : 1024;
	u8 *more;

	while (at >= room)
		room *= 2;
	if (room != f->files_room) {
		more = realloc(f->files, room);
		if (!more)
			return;
		memset(more + f->files_room, 0, room - f->files_room);
		f->files = more;
		f->files_room = room;
	}
	f->files[at] |= bit << file % 4 * 2;
}

static u8 file_bits(const struct filesums *f, u32 file)
{
	return file / 4 < f->files_room ? f->files[file / 4] >> file % 4 * 2 & 3 : 0;
}

void filesums_named(struct filesums *f, u32 file)
{
	mark_file(f, file, FILE_NAMED);
}

bool filesums_is_named(const struct filesums *f, u32 file)
{
	return file_bits(f, file) & FILE_NAMED;
}

/* Files that wait for a name. */
struct search {
	struct filesums *f;
	struct iot_path *files;
	size_t n, room;
};

static void wants_name(void *arg, u32 id, u32 dev, u64 ino, u32 gen)
{
	struct search *s = arg;

	if (file_bits(s->f, id) != FILE_SUMMED || s->n >= OPEN_FILES_MAX ||
	    grow((void **)&s->files, s->n, &s->room, sizeof(*s->files)))
		return;
	s->files[s->n++] = (struct iot_path){ .file = id, .dev = dev, .ino = ino, .gen = gen };
}

void filesums_unnamed(struct filesums *f, struct probes *p,
	void (*found)(void *, const struct iot_path *, const char *), void *arg)
{
	struct search s = { .f = f };
	u32 spare, n;

	if (!probes_sums(p, &spare, &n))
		return;
	probes_files(p, wants_name, &s);
	if (s.n)
		open_files_find(s.files, s.n, found, arg);
	free(s.files);
}

/* --- components --- */

static struct wrote *wrote_at(struct filesums *f, u32 file, u32 owner)
{
	return &f->wrote[hash_pair(file, owner) >> 16 & (WROTE - 1)];
}

static void note_write(struct filesums *f, u32 file, u32 owner, u8 component)
{
	struct wrote *w = wrote_at(f, file, owner);

	if (w->component && w->file == file && w->owner == owner && w->component != component + 1)
		component = COMPONENT_SHARED;
	*w = (struct wrote){ file, owner, component + 1 };
}

/* Component of writeback: the one that the file was written as. */
static u8 written_as(struct filesums *f, u32 file, u32 owner)
{
	const struct wrote *w = wrote_at(f, file, owner);

	if (w->component && w->file == file && w->owner == owner)
		return w->component - 1;
	return owner && detect_threads_tell(f->detect, file, owner) ? COMPONENT_SHARED :
		COMPONENT_NONE;
}

static void give_sum(struct filesums *f, const struct change *c, u8 component,
	const struct iot_filesum *by)
{
	struct rec_file_io r = {
		.file = c->key.file, .owner = c->key.owner, .component = component,
		.read_ops = by->read_ops, .read_bytes = by->read_bytes, .write_ops = by->write_ops,
		.write_bytes = by->write_bytes,
		.sync_ops = by->sync_ops, .fs_read_bytes = by->fs_read_bytes,
		.fs_write_bytes = by->fs_write_bytes,
		.dev_read_bytes = by->dev_read_bytes, .dev_write_bytes = by->dev_write_bytes,
	};
	static const struct iot_filesum none;

	if (!f->err && memcmp(by, &none, sizeof(none)))
		f->err = f->give(f->arg, &r);
}

/* A thread's reads and writes may have different components; its syncs have none. */
static void give_thread(struct filesums *f, const struct change *c)
{
	const struct iot_filesum read = { .read_ops = c->by.read_ops,
		.read_bytes = c->by.read_bytes,
					  .fs_read_bytes = c->by.fs_read_bytes,
					  .dev_read_bytes = c->by.dev_read_bytes };
	const struct iot_filesum write = { .write_ops = c->by.write_ops,
		.write_bytes = c->by.write_bytes,
					   .fs_write_bytes = c->by.fs_write_bytes,
					   .dev_write_bytes = c->by.dev_write_bytes };
	const struct iot_filesum sync = { .sync_ops = c->by.sync_ops };
	char comm[IOT_COMM_LEN + 1] = "";
	u8 as;

	memcpy(comm, c->key.comm, IOT_COMM_LEN);
	give_sum(f, c, c->by.read_ops || c->by.fs_read_bytes || c->by.dev_read_bytes ?
		   detect_component(f->detect, c->key.file, c->key.owner, comm, true,
		   c->key.direct) : 0, &read);
	if (c->by.write_ops || c->by.fs_write_bytes || c->by.dev_write_bytes) {
		as = detect_component(f->detect, c->key.file, c->key.owner, comm, false,
			c->key.direct);
		if (c->by.write_bytes && !c->key.direct &&
		    detect_threads_tell(f->detect, c->key.file, c->key.owner))
			note_write(f, c->key.file, c->key.owner, as);
		give_sum(f, c, as, &write);
	}
	give_sum(f, c, COMPONENT_NONE, &sync);
}

static void give_written(struct filesums *f, const struct change *c)
{
	const struct iot_filesum back = { .fs_write_bytes = c->by.fs_write_bytes,
		.dev_write_bytes = c->by.dev_write_bytes };
	struct iot_filesum rest = c->by;

	rest.fs_write_bytes = rest.dev_write_bytes = 0;
	give_sum(f, c, COMPONENT_NONE, &rest);
	give_sum(f, c, written_as(f, c->key.file, c->key.owner), &back);
}

/* Buffered calls come first: they decide the component of writeback, and of the process's direct
 * I/O. */
static void give_changes(struct filesums *f)
{
	for (size_t i = 0; i < f->n_changes; i++)
		if (f->changes[i].key.owner >= PROC_FIRST)
			detect_used(f->detect, f->changes[i].key.file, f->changes[i].key.owner,
				f->changes[i].by.write_ops);
	for (int direct = 0; direct < 2; direct++)
		for (size_t i = 0; i < f->n_changes; i++)
			if (f->changes[i].key.comm[0] && f->changes[i].key.direct == (u32)direct)
				give_thread(f, &f->changes[i]);
	for (size_t i = 0; i < f->n_changes; i++)
		if (!f->changes[i].key.comm[0])
			give_written(f, &f->changes[i]);
}

/* --- owners --- */

/* Returns true when the threads' cached slots become void by this. */
static bool look_at_owner(struct filesums *f, struct probes *p, u32 id, u64 now)
{
	struct owner *o = id < IOT_MAX_GROUPED ? &f->owners[id] : NULL;

	if (!o || o->nameless)
		return false;
	if (!o->since_ns)
		o->since_ns = now;
	if (now - o->since_ns < TOLD_AFTER_NS || detect_has_threads(f->detect, id))
		return false;
	o->nameless = !probes_set_nameless(p, id, true);
	return o->nameless;
}

void filesums_changed(struct filesums *f, struct probes *p, u32 proc)
{
	if (proc >= IOT_MAX_GROUPED || !f->owners[proc].nameless ||
	    !detect_has_threads(f->detect, proc))
		return;
	f->owners[proc].nameless = false;
	probes_set_nameless(p, proc, false);
	probes_sums_epoch(p);
}

/* --- slots --- */

/* True when the slot is in use. Notices a new user. */
static bool adopt(struct slot *s, const struct iot_filesum_slot *theirs)
{
	u32 gen = __atomic_load_n(&theirs->gen, __ATOMIC_ACQUIRE);

	if (gen == s->gen)
		return s->state;
	if (!theirs->used)
		return false;
	s->gen = gen;
	s->state = SLOT_LIVE;
	s->quiet = 0;
	return true;
}

static bool subtract(struct iot_filesum *by, const struct iot_filesum *now,
	struct iot_filesum *last)
{
	bool changed = false;

	for (size_t i = 0; i < sizeof(*by) / sizeof(u64); i++) {
		((u64 *)by)[i] = ((const u64 *)now)[i] - ((const u64 *)last)[i];
		changed |= ((u64 *)by)[i];
	}
	*last = *now;
	return changed;
}

/* Handles a slot without changes. Returns true when it was removed from the index. */
static bool age(struct slot *s, struct probes *p, u32 n)
{
	if (!n || ++s->quiet < (s->state != SLOT_LIVE ? HIDDEN : probes_sums_are_many(p) ?
	    QUIET_FULL : QUIET))
		return false;
	s->quiet = 0;
	if (s->state == SLOT_LIVE) {
		s->state = SLOT_HIDDEN;
		probes_sum_hide(p, n);
		return true;
	}
	s->state = SLOT_NONE;
	probes_sum_free(p, n);
	return false;
}

/* Returns true when the slot was removed from the index. */
static bool take_slot(struct filesums *f, struct probes *p, const struct iot_filesum_slot *theirs,
	u32 n)
{
	struct change *c = &f->changes[f->n_changes];
	struct slot *s = &f->slots[n];
	struct iot_filesum now;

	if (n && !adopt(s, theirs))
		return false;
	f->err = f->err ? f->err : probes_sum(p, n, &now);
	if (f->err)
		return false;
	if (!subtract(&c->by, &now, &s->last))
		return age(s, p, n);
	s->quiet = 0;
	c->slot = n;
	c->key = theirs->key;
	if (c->key.file)
		mark_file(f, c->key.file, FILE_SUMMED);
	f->n_changes++;
	return false;
}

int filesums_take(struct filesums *f, struct probes *p)
{
	u32 spare, end;
	const struct iot_filesum_slot *slots = probes_sums(p, &spare, &end);
	u64 now = clock_now(CLOCK_MONOTONIC);
	bool moved = false;

	f->err = 0;
	f->n_changes = 0;
	f->measured = slots;
	if (!slots)
		return 0;
	for (u32 n = 0; n < spare; n++)
		moved |= take_slot(f, p, &slots[n], n);
	for (u32 n = IOT_FILESUM_RESERVE; n < end; n++)
		moved |= take_slot(f, p, &slots[n], n);
	for (size_t i = 0; i < f->n_changes; i++)
		moved |= f->changes[i].key.comm[0] &&
			look_at_owner(f, p, f->changes[i].key.owner, now);
	if (moved)
		probes_sums_epoch(p);
	return f->err;
}

int filesums_tell(struct filesums *f, filesums_give *give, void *arg)
{
	f->give = give;
	f->arg = arg;
	if (f->measured && !f->began && !f->err)
		/* a record even without sums says that the layer is measured */
		f->err = give(arg, &(struct rec_file_io){ 0 });
	f->began = true;
	give_changes(f);
	f->n_changes = 0;
	return f->err;
}
