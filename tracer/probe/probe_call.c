// SPDX-License-Identifier: GPL-3.0-only
/* probe_call.c - runs programs of the kernel side that are attached to nothing. */
#include <errno.h>
#include "probe_parts.h"

/* Descriptor of the program of that name; -1: it is not loaded. */
static int program_fd(const struct probes *p, const char *name)
{
	for (size_t i = 0; i < n_objects; i++) {
		struct bpf_program *g = p->obj[i] ? bpf_object__find_program_by_name(p->obj[i],
			name) : NULL;

		if (g && bpf_program__fd(g) >= 0)
			return bpf_program__fd(g);
	}
	return -1;
}

u32 program_call(const struct probes *p, const char *name, void *ctx, u32 size)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = ctx, .ctx_size_in = size);
	int fd = program_fd(p, name);

	return fd >= 0 && !bpf_prog_test_run_opts(fd, &opts) ? opts.retval : 0;
}

void program_call_each(const struct probes *p, const char *name)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU);
	int fd = program_fd(p, name), processors = libbpf_num_possible_cpus();

	for (int i = 0; fd >= 0 && i < processors; i++) {
		opts.cpu = i;
		bpf_prog_test_run_opts(fd, &opts);
	}
}

void late_share(struct probes *p)
{
	u64 n = __atomic_load_n(&p->state->late, __ATOMIC_ACQUIRE), keys[SHARE_BATCH];
	struct iot_late pieces[SHARE_BATCH];
	u32 at = 0, count;
	int fd, err = 0;

	if (n == p->shared)
		return; /* always, but for transactions of hundreds of owners: no map is looked up */
	fd = map_fd(p, "late");
	for (bool first = true; n != p->shared && fd >= 0 && !err; first = false) {
		count = SHARE_BATCH;
		err = bpf_map_lookup_and_delete_batch(fd, first ? NULL : &at, &at, keys, pieces,
			&count, NULL);
		for (u32 i = 0; i < count && (!err || err == -ENOENT); i++)
			program_call(p, "block__share", &pieces[i], sizeof(pieces[i]));
	}
	p->shared = n;
}
