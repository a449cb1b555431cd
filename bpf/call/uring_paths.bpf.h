/* SPDX-License-Identifier: GPL-3.0-only */
/* uring_paths.bpf.h - the paths that requests of io_uring are given, where layer uring is traced
 * whole. They are sent when the request is submitted, before its event, by the same time and
 * thread. The kernel has copied them by then. It has not where it refuses the request, as for a
 * path that is too long: then the submission entry says where they are in memory of the process.
 */
#ifndef IOT_URING_PATHS_BPF_H
#define IOT_URING_PATHS_BPF_H

#include "uring_whole.bpf.h"
#include "whole.bpf.h"

struct uring_paths {
	u64 text, text2, name; /* addresses; 0: none */
	s32 fd, fd2;
	u32 what;              /* PATH_KERNEL, PATH_PLAIN */
};

/* An address that is never in memory: the path is there, and cannot be read. */
#define UNREADABLE 1

/* Offset of the address of a name in the request of this type; 0: not known. */
#define NAME_OFFSET(type, field) \
	(bpf_core_field_exists(struct type, field) ? bpf_core_field_offset(struct type, field) : \
	 bpf_core_field_exists(struct type##___delayed, field) ? \
	 bpf_core_field_offset(struct type##___delayed, field) : 0)

/* The text of a name; 0: it has none, as one that is empty and may be. */
static __always_inline u64 name_text(u64 request, u32 offset)
{
	u64 name = offset ? pointer_at(request + offset) : 0;

	if (!offset)
		return UNREADABLE;
	return name ? pointer_at(name + bpf_core_field_offset(struct filename, name)) : 0;
}

#define NAME_TEXT(request, type, field) name_text(request, NAME_OFFSET(type, field))

static __always_inline u64 attribute_text(u64 request)
{
	if (!bpf_core_field_exists(struct io_xattr, ctx.kname))
		return UNREADABLE;
	return pointer_at(request + bpf_core_field_offset(struct io_xattr, ctx.kname));
}

/* The paths of a request that the kernel has prepared. False: its operation has none. */
static __always_inline bool paths_of_request(u64 r, u8 opcode, struct uring_paths *p)
{
	p->what = PATH_KERNEL;
	p->fd = AT_FDCWD;
	switch (opcode) {
	case IORING_OP_OPENAT:
	case IORING_OP_OPENAT2:
		p->fd = NUMBER_AT(r, struct io_open, dfd);
		p->text = NAME_TEXT(r, io_open, filename);
		return true;
	case IORING_OP_STATX:
		p->fd = NUMBER_AT(r, struct io_statx, dfd);
		p->text = NAME_TEXT(r, io_statx, filename);
		return true;
	case IORING_OP_UNLINKAT:
		p->fd = NUMBER_AT(r, struct io_unlink, dfd);
		p->text = NAME_TEXT(r, io_unlink, filename);
		return true;
	case IORING_OP_MKDIRAT:
		p->fd = NUMBER_AT(r, struct io_mkdir, dfd);
		p->text = NAME_TEXT(r, io_mkdir, filename);
		return true;
	case IORING_OP_RENAMEAT:
		p->fd = NUMBER_AT(r, struct io_rename, old_dfd);
		p->fd2 = NUMBER_AT(r, struct io_rename, new_dfd);
		p->text = NAME_TEXT(r, io_rename, oldpath);
		p->text2 = NAME_TEXT(r, io_rename, newpath);
		return true;
	case IORING_OP_SYMLINKAT:
		p->what |= PATH_PLAIN;
		__attribute__((__fallthrough__));
	case IORING_OP_LINKAT:
		p->fd = NUMBER_AT(r, struct io_link, old_dfd);
		p->fd2 = NUMBER_AT(r, struct io_link, new_dfd);
		p->text = NAME_TEXT(r, io_link, oldpath);
		p->text2 = NAME_TEXT(r, io_link, newpath);
		return true;
	case IORING_OP_SETXATTR:
	case IORING_OP_GETXATTR:
		p->text = NAME_TEXT(r, io_xattr, filename);
		__attribute__((__fallthrough__));
	case IORING_OP_FSETXATTR:
	case IORING_OP_FGETXATTR:
		p->name = attribute_text(r);
		return true;
	}
	return false;
}

/* As paths_of_request(), of a request that was refused, by its submission entry. third: field
 * addr3. */
static __always_inline bool paths_of_entry(const struct sqe_begin *e, u64 third,
					   struct uring_paths *p)
{
	p->fd = e->fd;
	p->fd2 = e->len;
	p->text = e->addr ?: UNREADABLE;
	switch (e->opcode) {
	case IORING_OP_OPENAT:
	case IORING_OP_OPENAT2:
	case IORING_OP_STATX:
	case IORING_OP_UNLINKAT:
	case IORING_OP_MKDIRAT:
		return true;
	case IORING_OP_SYMLINKAT:
		p->fd2 = e->fd;
		p->what = PATH_PLAIN;
		__attribute__((__fallthrough__));
	case IORING_OP_RENAMEAT:
	case IORING_OP_LINKAT:
		p->text2 = e->off ?: UNREADABLE;
		return true;
	case IORING_OP_SETXATTR:
	case IORING_OP_GETXATTR:
		p->fd = AT_FDCWD;
		p->name = p->text;
		p->text = third ?: UNREADABLE;
		return true;
	case IORING_OP_FSETXATTR:
	case IORING_OP_FGETXATTR:
		p->name = p->text;
		p->text = 0;
		return true;
	}
	return false;
}

/* Operations whose name is of the file behind a descriptor. */
static __always_inline bool is_named_by_fd(u8 opcode)
{
	return opcode == IORING_OP_FSETXATTR || opcode == IORING_OP_FGETXATTR;
}

static __always_inline void paths_send(struct task_ctx *c, const struct uring_request *u,
				       const struct uring_paths *p)
{
	u32 what = (p->what & ~PATH_PLAIN) | PATH_REQUEST;

	c->op.ts_ns = u->ts_ns;
	if (!is_named_by_fd(u->opcode))
		whole_send(c, p->text, p->fd, PATH_FIRST | PATH_REQUEST | p->what |
			   (p->text2 || p->name ? 0 : PATH_LAST));
	if (p->text2)
		whole_send(c, p->text2, p->fd2, PATH_SECOND | PATH_LAST | what);
	if (p->name)
		whole_send(c, p->name, AT_FDCWD, PATH_NAME | PATH_LAST | what);
}

/* Sends the paths of a request that is being submitted. */
static __noinline int uring_send_paths(struct task_ctx *c, u64 req, const struct uring_request *u)
{
	struct uring_paths p = {};

	if (paths_of_request(uring_cmd(req), u->opcode, &p))
		paths_send(c, u, &p);
	return 0;
}

/* Fills in a request that is refused, by its submission entry, and sends its paths. */
static __noinline int uring_refused(struct task_ctx *c, const struct io_uring_sqe *entry,
				    struct uring_request *u)
{
	struct uring_paths p = {};
	struct sqe_begin e;

	if (bpf_probe_read_kernel(&e, sizeof(e), entry))
		return 0;
	u->opcode = e.opcode; /* the kernel may not have it */
	uring_of_entry(&e, u);
	if (wants_event(u->proc) && paths_of_entry(&e, BPF_CORE_READ(entry, addr3), &p))
		paths_send(c, u, &p);
	return 0;
}

#endif
