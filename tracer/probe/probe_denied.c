// SPDX-License-Identifier: GPL-3.0-only
/* probe_denied.c - programs that the kernel refused to load or attach: without them sums of bytes,
 * or their owners, are wrong.
 *
 * A kernel that lacks a tracepoint is another case: what it cannot report is known and printed as
 * n/a. Here the verifier, or the attachment, refused a program that the same kernel accepts from
 * another compiler.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "probe_parts.h"

void program_refuse(struct probes *p, const char *name, const char *why)
{
	int row = program_row(name);

	if (row < 0)
		return;
	snprintf(p->reason[row], sizeof(p->reason[row]), "%.255s", why);
	p->info[row].reason = p->reason[row];
	p->info[row].chosen = false;
}

void program_deny(struct probes *p, const char *name, const char *why)
{
	int row = program_row(name);

	program_refuse(p, name, why);
	if (row >= 0)
		p->info[row].denied = true;
}

bool program_lacks(const struct probes *p, size_t row)
{
	const char *other = programs[row].or;

	/* runs with --light do not have some programs, and only they have others */
	if (p->info[row].chosen || (p->opts.light ? programs[row].heavy : programs[row].light))
		return false;
	return programs[row].full || (other && !p->info[program_row(other)].chosen);
}

void programs_name_others(struct probes *p)
{
	static const char nor[] = "; nor is ";

	for (size_t i = 0; !p->lacks && i < n_programs; i++) {
		const char *why = p->info[i].reason;
		char both[sizeof(p->reason[i])];

		if (!programs[i].or || !why || !program_lacks(p, i) || strstr(why, nor) ||
		    !strcmp(why, NOT_MOUNTED) || !strcmp(why, NOT_ASKED))
			continue;
		snprintf(both, sizeof(both), "%.160s%s%s attached", why, nor, programs[i].or);
		program_refuse(p, programs[i].name, both);
	}
}

const struct probe_info *probes_denied(const struct probes *p, size_t n)
{
	for (size_t i = 0; i < n_programs; i++)
		if (p->info[i].denied && !programs[i].spare && !n--)
			return &p->info[i];
	return NULL;
}

void probes_group(const struct probes *p, const char *prefix, struct probe_group *out)
{
	size_t n = strlen(prefix);

	*out = (struct probe_group){};
	for (size_t i = n_programs; i--;) {
		const struct probe_info *one = &p->info[i];

		if (strncmp(programs[i].name, prefix, n) || strncmp(programs[i].name + n, "__", 2))
			continue;
		out->chosen += one->chosen;
		out->waits |= one->reason && !strcmp(one->reason, NOT_MOUNTED);
		if (one->denied && !programs[i].spare)
			out->denied = one;
		else if (program_lacks(p, i))
			out->lacking = one;
	}
}

/* Counts refused programs by the layer that all of them name. */
void denied_losses(const struct probes *p, u64 n[LOSS_MAX])
{
	static const struct {
		const char *layer;
		int loss;
	} rows[] = {
		{ "all", LOSS_DENIED }, { "syscall", LOSS_DENIED_CALL }, { "uring", LOSS_DENIED_URING },
		{ "cache", LOSS_DENIED_CACHE },
		{ "fs", LOSS_DENIED_FS }, { "block", LOSS_DENIED_BLOCK },
	};
	const struct probe_info *one;

	for (size_t i = 0; (one = probes_denied(p, i)); i++)
		for (size_t k = 0; k < N_OF(rows); k++)
			n[rows[k].loss] += !strcmp(one->layer, rows[k].layer);
}

/* --- refusals in the process that loads programs of file systems mounted during the run --- */

int late_denied_begin(struct probes *p)
{
	void *shared = mmap(NULL, sizeof(*p->late_denied), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return fail(errno, "cannot share memory with a process");
	p->late_denied = shared;
	return 0;
}

void late_denied_tell(const struct probes *p)
{
	for (size_t i = 0; i < n_programs; i++)
		if (p->info[i].denied)
			memcpy(p->late_denied->reason[i], p->reason[i], sizeof(p->reason[i]));
}

void late_denied_end(struct probes *p)
{
	if (p->late_denied)
		munmap(p->late_denied, sizeof(*p->late_denied));
	p->late_denied = NULL;
}

const struct probe_info *probes_denied_late(struct probes *p, bool *ended)
{
	const struct probe_info *first = NULL;

	*ended = p->watcher > 0 && waitpid(p->watcher, NULL, WNOHANG) == p->watcher;
	if (*ended)
		p->watcher = 0;
	for (size_t i = 0; p->late_denied && i < n_programs; i++) {
		const char *why = p->late_denied->reason[i];

		if (!*why || p->info[i].denied)
			continue;
		program_deny(p, programs[i].name, why);
		if (!first && !programs[i].spare)
			first = &p->info[i];
	}
	return first;
}
