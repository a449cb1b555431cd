// SPDX-License-Identifier: GPL-3.0-only
/* probe_types.c - tracepoints of the running kernel by name. libbpf searches all types of the
 * kernel and of its modules for each program that it loads, which took a third of the time until a
 * run could begin; here they are read once.
 */
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "clean.h"
#include "probe_parts.h"

/* prefix of the types of tracepoints: pointers to functions with their arguments */
#define PREFIX "btf_trace_"

static pthread_mutex_t types_lock = PTHREAD_MUTEX_INITIALIZER;

/* Tracepoints of the kernel, and those of its modules after a name was not found among the
 * kernel's. */
struct types {
	struct module {
		struct btf *types;
		int fd;
	} *module;
	size_t n_modules, modules_room;
	struct known {
		const char *name;      /* points into the types */
		struct tracepoint t;
	} *tracepoints;        /* sorted by name */
	size_t n, room;
	bool modules_read;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct known *)a)->name, ((const struct known *)b)->name);
}

/* Adds the tracepoints among the types from number `from` on; the caller sorts them. */
static void add_all(struct types *y, const struct btf *b, u32 from, int module)
{
	for (u32 id = from, n = btf__type_cnt(b); id < n; id++) {
		const struct btf_type *t = btf__type_by_id(b, id);
		const char *name = btf_is_typedef(t) ? btf__name_by_offset(b, t->name_off) : "";

		if (strncmp(name, PREFIX, strlen(PREFIX)) ||
		    grow((void **)&y->tracepoints, y->n, &y->room, sizeof(*y->tracepoints)))
			continue;
		y->tracepoints[y->n++] = (struct known){ name + strlen(PREFIX),
			{ .types = b, .id = id, .module = module } };
	}
}

static void sort(struct types *y)
{
	if (y->n)
		qsort(y->tracepoints, y->n, sizeof(*y->tracepoints), by_name);
}

/* Keeps the types of a module, NULL: they could not be read, and their descriptor, -1: none. */
static void keep_module(struct probes *p, struct btf *b, int fd)
{
	struct types *y = p->types;

	if (!b || grow((void **)&y->module, y->n_modules, &y->modules_room, sizeof(*y->module))) {
		btf__free(b);
		if (fd >= 0)
			close(fd);
		return;
	}
	y->module[y->n_modules++] = (struct module){ b, fd };
	add_all(y, b, btf__type_cnt(p->vmlinux), fd);
}

/* A module that is unloaded meanwhile has no tracepoints. */
static void add_module(struct probes *p, int fd)
{
	struct bpf_btf_info info = {};
	u32 len = sizeof(info);
	char name[64] = "";
	struct btf *b = NULL;

	info.name = (u64)(unsigned long)name;
	info.name_len = sizeof(name);
	if (!bpf_obj_get_info_by_fd(fd, &info, &len) && info.kernel_btf && strcmp(name, "vmlinux"))
		b = btf__load_from_kernel_by_id_split(info.id, p->vmlinux);
	keep_module(p, b, fd);
}

bool types_hide_modules(void)
{
	u32 id = 0;

	return bpf_btf_get_next_id(id, &id) && errno == EPERM;
}

/* Reads the types of modules from files that everybody can read. To attach programs to them, their
 * descriptors would be needed. */
static void add_module_files(struct probes *p)
{
	struct dirent *e;
	DIR *d = opendir(TYPES_FOLDER);

	while (d && (e = readdir(d))) {
		bool module = *e->d_name != '.' && strcmp(e->d_name, "vmlinux");
		struct btf *b = module ? btf__load_module_btf(e->d_name, p->vmlinux) : NULL;

		keep_module(p, b, -1);
	}
	if (d)
		closedir(d);
}

static void add_loaded_modules(struct probes *p)
{
	u32 id = 0;

	while (!bpf_btf_get_next_id(id, &id)) {
		int fd = bpf_btf_get_fd_by_id(id);

		if (fd >= 0)
			add_module(p, fd);
	}
}

static void add_modules(struct probes *p)
{
	if (p->looks && p->modules_hidden)
		add_module_files(p);
	else
		add_loaded_modules(p);
	sort(p->types);
	p->types->modules_read = true;
}

/* Returns false when the kernel's types cannot be read. */
static bool types_read(struct probes *p)
{
	if (p->types)
		return true;
	if (!p->vmlinux) /* freed; a file system is mounted during the run */
		p->vmlinux = btf__load_vmlinux_btf();
	p->types = p->vmlinux ? calloc(1, sizeof(*p->types)) : NULL;
	if (p->types) {
		add_all(p->types, p->vmlinux, 1, 0);
		sort(p->types);
	}
	return p->types;
}

static void each_function(struct probes *p, const struct btf *b, u32 from, int module,
	void (*body)(struct probes *, const char *name, const struct tracepoint *at))
{
	for (u32 id = from, n = btf__type_cnt(b); id < n; id++) {
		const struct btf_type *t = btf__type_by_id(b, id);

		if (btf_is_func(t))
			body(p, btf__name_by_offset(b, t->name_off),
				&(struct tracepoint){ b, id, module });
	}
}

static const struct known *find(const struct types *y, const char *name)
{
	const struct known key = { .name = name };

	return y->n ? bsearch(&key, y->tracepoints, y->n, sizeof(key), by_name) : NULL;
}

bool tracepoint_find(struct probes *p, const char *name, struct tracepoint *out)
{
	const struct known *k = NULL;

	pthread_mutex_lock(&types_lock);
	if (types_read(p)) {
		k = find(p->types, name);
		if (!k && !p->types->modules_read) {
			add_modules(p);
			k = find(p->types, name);
		}
	}
	if (k)
		*out = k->t;
	pthread_mutex_unlock(&types_lock);
	return k;
}

void types_each_function(struct probes *p, void (*body)(struct probes *, const char *name,
	const struct tracepoint *at))
{
	pthread_mutex_lock(&types_lock);
	if (types_read(p)) {
		if (!p->types->modules_read)
			add_modules(p);
		each_function(p, p->vmlinux, 1, 0, body);
		for (size_t n = 0; n < p->types->n_modules; n++)
			each_function(p, p->types->module[n].types, btf__type_cnt(p->vmlinux),
				p->types->module[n].fd, body);
	}
	pthread_mutex_unlock(&types_lock);
}

int tracepoint_args(const struct tracepoint *tp)
{
	const struct btf_type *t = btf__type_by_id(tp->types, tp->id);

	t = t ? btf__type_by_id(tp->types, t->type) : NULL; /* a pointer */
	t = t ? btf__type_by_id(tp->types, t->type) : NULL;
	return t && btf_is_func_proto(t) ? btf_vlen(t) - 1 : -1; /* all have the same first one */
}

void types_drop(struct probes *p)
{
	struct types *y = p->types;

	if (y) {
		free(y->tracepoints);
		while (y->n_modules) {
			struct module *m = &y->module[--y->n_modules];

			btf__free(m->types);
			if (m->fd >= 0)
				close(m->fd);
		}
		free(y->module);
		free(y);
	}
	btf__free(p->vmlinux);
	p->types = NULL;
	p->vmlinux = NULL;
	malloc_trim(0);
}

/* --- handlers of libbpf for programs whose targets are types of the kernel --- */

/* Target of a program of type fentry or fexit, by its section name. False: it is not known. */
static bool function_find(const struct probes *p, const char *section, struct tracepoint *out)
{
	const char *name = strchr(section, '/');
	int n = name ? vfs_function(name + 1) : -1;

	if (n < 0 || !p->vfs.at[n].id)
		return false;
	*out = (struct tracepoint){ .id = p->vfs.at[n].id, .module = p->vfs.at[n].module };
	return true;
}

/* Sets the target of a program; a copy has that of its first program. */
static int on_load(struct bpf_program *g, struct bpf_prog_load_opts *opts, long probes)
{
	struct probes *p = (struct probes *)probes;
	const char *name = copy_first(bpf_program__name(g), NULL) ?: bpf_program__name(g);
	int row = program_row(name);
	const char *target = row >= 0 ? strchr(p->target[row], '/') : NULL;
	struct tracepoint t;

	if (!target || !(strncmp(p->target[row], TRACEPOINT, strlen(TRACEPOINT)) ?
			 function_find(p, p->target[row], &t) : tracepoint_find(p, target + 1, &t)))
		return -ESRCH;
	opts->attach_btf_id = t.id;
	opts->attach_btf_obj_fd = t.module;
	return 0;
}

static int on_attach(const struct bpf_program *g, long probes, struct bpf_link **link)
{
	(void)probes;
	*link = bpf_program__attach_trace(g);
	return *link ? 0 : -errno;
}

int types_begin(struct probes *p)
{
	static const struct {
		const char *section;
		enum bpf_attach_type type;
	} rows[] = { { "tp_btf+", BPF_TRACE_RAW_TP }, { "fentry+", BPF_TRACE_FENTRY },
		{ "fexit+", BPF_TRACE_FEXIT } };
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)p,
		.prog_prepare_load_fn = on_load, .prog_attach_fn = on_attach);

	_Static_assert(N_OF(rows) == N_OF(p->handlers), "each row has a handler");
	for (size_t i = 0; i < N_OF(rows); i++) {
		int n = libbpf_register_prog_handler(rows[i].section, BPF_PROG_TYPE_TRACING,
			rows[i].type, &opts);

		if (n < 0)
			return fail(n, "cannot tell libbpf how programs are loaded");
		p->handlers[i] = n;
	}
	return 0;
}

void types_end(struct probes *p)
{
	for (size_t i = 0; i < N_OF(p->handlers); i++)
		if (p->handlers[i] > 0)
			libbpf_unregister_prog_handler(p->handlers[i]);
	types_drop(p);
}
